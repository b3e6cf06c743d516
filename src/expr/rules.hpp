// The simplification rules, as data. The matcher is in rewrite.cpp and knows none of them.
#pragma once
#include <vector>

namespace kernweave {

// Letters in a rule: a b c d any formula;  s t one component;  p one component, the same for all i and j;
// u what is seen not to be negative;  w what is seen to be positive;  m n numbers;  k a whole attribute.
// A rule fires only if its right side has the very type of its left side and does no more work: less for
// every pair, or as much and less for every row, or as much and no more once.
struct Rule {
  const char* name;
  const char* from;
  const char* to;
  const char* exactness;  // exact: the same bits, but for the sign of 0;  rounding: up to rounding and overflow
  // A condition beyond types: empty, "a has k components", "m is negative", or "saves work" where as much would not do.
  const char* when;
};

const std::vector<Rule>& rules();

}  // namespace kernweave
