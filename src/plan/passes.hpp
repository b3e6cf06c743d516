// The passes from formulas to a plan: steps, regions, slots, sums that start with what is added, checks, texts.
#pragma once
#include <string>
#include <vector>
#include "base/trace.hpp"
#include "plan/job.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// --- linearise -----------------------------------------------------------------------------------------------------
// Graph to steps: shared parts once, one slot per step.

struct LinearProgram {
  Program program;
  std::vector<Ref> roots;  // where each formula's value is
};

// Several programs on the same variables.
struct LinearPrograms {
  std::vector<LinearProgram> lines;
  std::vector<Variable> variables;  // in the order the programs number them
  std::vector<bool> direct;
  std::vector<GatherBound> gathers;
};

// One line for each list of formulas. The variables of `extents` are numbered and noted, their operations left out.
LinearPrograms linearise(const std::vector<std::vector<Expr>>& programs, const std::vector<Expr>& extents);

// --- regions -------------------------------------------------------------------------------------------------------
// Puts every step where it runs least often. Hoisting is nothing but this.

Region region_of(Axes axes);

// Returns the region in which a value varies: data vary along their axis; numbers are in `param`.
Region region_read(const Ref& ref, const Plan& plan, const Program& program);

// Finds the component groups and sorts the steps by region. `roots` stay readable after the last step.
Program in_regions(Program program, const std::vector<Ref>& roots);

// --- slots ---------------------------------------------------------------------------------------------------------
// Lifetimes to places: values that are never alive together share memory.

// The offset of each slot in its region's memory, and the size of each region's memory in numbers.
struct SlotPlaces {
  std::vector<std::int64_t> offset;
  std::array<std::int64_t, kRegions> memory{};
};

// `until`: a step, by slot, up to which its value is to stay besides, for an engine that reads it later than the steps
// say; -1 or less: no longer.
SlotPlaces place_slots(const Program& program, const std::vector<Ref>& roots, const std::vector<int>& until = {});

// Sets every slot's offset and each region's memory. `roots` live to the end.
Program assign_slots(Program program, const std::vector<Ref>& roots);

// --- start.cpp -----------------------------------------------------------------------------------------------------
// Short sums that start with what is added to them, which spares the addition.

// Sets Step::start of folds whose only reader adds something to them, and orders steps so that it is there in time.
// `roots` are read after the last step.
Program start_folds(Program program, const std::vector<Ref>& roots);

// --- check.cpp -----------------------------------------------------------------------------------------------------
// Checks that a plan is as a back end may rely on.

// An internal failure, naming the step, if a step reads what is not there or not its to read.
void check_plan(const Plan& plan);

// --- lower.cpp -----------------------------------------------------------------------------------------------------
// Formulas to plan: the list of passes.

// `trace`, where given, records every pass for explain().
Plan lower(const Job& job, Trace* trace = nullptr);

// --- show.cpp ------------------------------------------------------------------------------------------------------
// A plan as text, all of it: for whoever compares plans.

// Variables, then each variant's numbers, steps and outputs, a line each, and the plans it has in place of one.
// Operands are told apart by their place in the plan, so that equal plans have equal texts.
std::string show(const Plan& plan);

}  // namespace kernweave
