// The simplification rules, as data. The matcher is in rewrite.cpp and knows none of them.
#pragma once
#include <vector>

namespace kernweave {

// Letters in a rule: a b c d any formula;  s t one component;  m n numbers;  k a whole attribute.
// A rule fires only if its right side has the very type of its left side.
struct Rule {
  const char* name;
  const char* from;
  const char* to;
  const char* exactness;  // exact: the same bits;  rounding: the same up to rounding, overflow and underflow
};

const std::vector<Rule>& rules();

}  // namespace kernweave
