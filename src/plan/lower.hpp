// The planner: makes a plan of formulas by a list of passes. Its job, and a record of each pass.
#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>
#include "plan/outputs.hpp"
#include "plan/plan.hpp"

namespace kernweave {

struct Job {
  std::vector<OutputFormula> outputs;
  std::vector<Expr> extents;  // formulas whose variables give the numbers of i and j; not computed
  Precision precision;
  Pairs pairs = Pairs::all;
  Expr allowed{};       // for restricted pairs: true if a pair exists; null if no formula says so
  bool rewrite = true;  // false: as written, for the oracle
  bool checks = false;  // verify the graph and the plan between stages
};

// Returns all that a plan depends on: jobs with equal keys have equal plans, including names in messages.
std::string job_key(const Job& job);

// A record of each pass, for explain(): its name, its time, and the formula after it.
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

// Plans a job. `trace`, if given, records every pass for explain().
Plan lower(const Job& job, Trace* trace = nullptr);

}  // namespace kernweave
