// The passes from formulas to a plan: steps, regions, slots, starts of sums.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

// --- linearise -----------------------------------------------------------------------------------------------------
// Turns graphs into steps: shared parts become one step, and each step has one slot.

struct LinearProgram {
  Program program;
  std::vector<Ref> roots;  // the place of each formula's value
};

// Several programs on the same variables.
struct LinearPrograms {
  std::vector<LinearProgram> lines;
  std::vector<Variable> variables;  // in the order the programs number them
  std::vector<bool> direct;
  std::vector<GatherBound> gathers;
};

// Makes a line for each list of formulas. Variables of `extents` are numbered and noted, their operations left out.
LinearPrograms linearise(const std::vector<std::vector<Expr>>& programs, const std::vector<Expr>& extents);

// --- regions -------------------------------------------------------------------------------------------------------
// Moves every step into the region where it runs least often: loop-invariant code motion.

// Returns the region in which a value varies: data vary along their axis; numbers are in `param`.
Region region_read(const Ref& ref, const Plan& plan, const Program& program);

// Finds the component groups and sorts the steps by region. `roots` stay readable after the last step.
Program in_regions(Program program, const std::vector<Ref>& roots);

// --- slots ---------------------------------------------------------------------------------------------------------
// Assigns memory by lifetimes: values that are never alive together share memory.

// The offset of each slot in its region's memory, and the size of each region's memory in numbers.
struct SlotPlaces {
  std::vector<std::int64_t> offset;
  std::array<std::int64_t, kRegions> memory{};
};

// `until`: by slot, the last step at which an engine reads the value, if that is later than the last step that reads
// the slot; negative: not later.
SlotPlaces place_slots(const Program& program, const std::vector<Ref>& roots, const std::vector<int>& until = {});

// Sets every slot's offset and each region's memory. `roots` live to the end.
Program assign_slots(Program program, const std::vector<Ref>& roots);

// --- start ---------------------------------------------------------------------------------------------------------
// Starts short sums with the value that is added to them, which saves the addition.

// Sets Step::start of folds whose only reader is an addition, and moves a fold after the step that makes its start.
// `roots` are read after the last step.
Program start_folds(Program program, const std::vector<Ref>& roots);

}  // namespace kernweave
