// Reads a pass's pairs as a fold of a row and a column and a chain of calls, as kernweave/fused.def has them.
#pragma once
#include <vector>
#include "kernweave/chain.hpp"
#include "plan/output_groups.hpp"

namespace kernweave {

struct PairChain {
  Op fold;
  int width = 0;        // of the fold: components
  bool starts = false;  // with what the first call adds
  Ref row, column;      // its arguments
  std::vector<CallRow> calls;
  std::vector<const Step*> steps;  // those of the calls, in the plan
  Red reduction;                   // of the last call's result, for every output
};

// Tells whether the group is a chain. `needed` marks the steps whose results are asked for; rows are the points that
// outputs keep.
bool is_chain(const Plan& plan, const Variant& variant, const OutputGroup& group, const std::vector<bool>& needed,
              PairChain* found);

// Tells whether a chain is of this kind. The planner may have swapped the arguments of calls that commute.
bool is_of_kind(const PairChain& chain, Op fold, Red reduction, const CallRow* calls, int length);

}  // namespace kernweave
