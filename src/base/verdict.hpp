// Answer to "can you?": yes, or no and why.
#pragma once
#include <string>
#include <utility>

namespace kernweave {

struct Verdict {
  bool yes = true;
  std::string why;

  static Verdict no(std::string why) { return {false, std::move(why)}; }
};

}  // namespace kernweave
