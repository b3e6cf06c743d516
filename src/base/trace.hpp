// A record of what each pass did, for explain(): names, times, and how the formula looked after it.
#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace kernweave {

struct Trace {
  struct TimedPass {
    std::string pass;
    double microseconds;
    std::string outcome;
  };
  std::vector<TimedPass> entries;

  // Runs `pass` and notes its name, its time and, through `describe`, its outcome.
  template <class Pass, class Describe>
  auto operator()(const char* name, Pass pass, Describe describe) {
    const auto start = std::chrono::steady_clock::now();
    auto result = pass();
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    entries.push_back({name, spent.count(), describe(result)});
    return result;
  }
};

}  // namespace kernweave
