// Groups of outputs that are computed in one sweep over the pairs, the steps of a group, what the steps read, and
// whether they are a chain of calls.
#pragma once
#include <vector>
#include "kernweave/names.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// Outputs with the same lane axis: j for outputs that keep j alone, else i.
struct OutputGroup {
  bool along_i;
  std::vector<int> outputs;
};

std::vector<OutputGroup> output_groups(const Variant& variant);

// Tells for each step of the variant's program whether these outputs need the step.
std::vector<bool> needed_steps(const Variant& variant, const std::vector<int>& outputs);

// Counts the numbers of a point of `axis` that steps of pairs and outputs read: components of variables and of values
// that are computed once a point.
int numbers_read(const Plan& plan, const Program& program, const std::vector<bool>& needed,
                 const std::vector<Ref>& by_outputs, Axis axis);

// Counts the reads of each slot by these steps and outputs.
std::vector<int> count_reads(const Variant& variant, const std::vector<bool>& needed, const std::vector<int>& outputs);

// Tells whether the pairs are computed in float32, which has integers (row numbers, codes) up to 2^24 only.
bool in_float32(const Plan& plan);
// Tells whether the pairs are computed in float32 if no row number exceeds `largest_row`: row numbers up to 2^24 may be
// in float32 if they are only compared with row numbers.
bool in_float32(const Plan& plan, std::int64_t largest_row);

// --- chain ---------------------------------------------------------------------------------------------------------
// Reads a pass's pairs as a fold of a row and a column and a chain of calls, as kernweave/fused.def has them.

struct PairChain {
  Op fold;
  int width = 0;        // components of the fold
  bool starts = false;  // true: the fold starts with the value that the first call adds
  Ref row, column;      // arguments of the fold
  std::vector<CallRow> calls;
  std::vector<const Step*> steps;  // steps of the calls in the plan
  Red reduction;                   // the reduction of the last call's result, for every output
};

// Tells whether the group is a chain. `needed` marks the steps whose results are asked for; rows are the points that
// outputs keep.
bool is_chain(const Plan& plan, const Variant& variant, const OutputGroup& group, const std::vector<bool>& needed,
              PairChain* found);

// Tells whether a chain is of this kind. The planner may have swapped the arguments of calls that commute.
bool is_of_kind(const PairChain& chain, Op fold, Red reduction, const CallRow* calls, int length);

}  // namespace kernweave
