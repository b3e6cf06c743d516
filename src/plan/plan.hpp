// A plan: the computation of every pair, as straight-line steps over slots. Knows no number of points,
// no data and no device.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/node.hpp"
#include "expr/table.hpp"

namespace kernweave {

// The region of a step: it runs once, once a row i, once a column j, once a pair, or once per component of a pair.
enum class Region { param, row, column, pair, component };
constexpr int kRegions = 5;

// The axes that index an output; the other axes are folded.
enum class Keep { i, j, none, both };

// Formats of numbers. float16: numbers are in float32, but terms need three digits only, so tensor cores may take each
// number as one float16.
enum class Format { float64, float32, float16 };
struct Precision {
  Format load = Format::float64;
  Format compute = Format::float64;
  Format accumulate = Format::float64;

  bool wide() const { return compute == Format::float64; }
  // The rounding error of a number, and the relative error that a term may have.
  double unit() const { return wide() ? 0x1p-53 : 0x1p-24; }
  double allowed() const { return wide() ? 1e-13 : compute == Format::float32 ? 5e-6 : 1e-3; }
};

// The existing pairs: all, or the pairs of a map that is given when the plan is run.
enum class Pairs { all, restricted };

// A value that a step reads: its place and its width.
struct Ref {
  enum class From { slot, variable, number } from = From::number;
  int index = 0;
  int width = 1;
};

inline bool is_slot(const Ref& ref) { return ref.from == Ref::From::slot; }

struct Step {
  Op op;
  std::vector<Ref> in;
  std::vector<int> attributes;
  int out;    // slot
  int width;  // components of the result
  Region region;
  int group = -1;  // component group: steps of one loop over components, ended by its fold
  // The value that the fold's only reader, an addition, adds to the fold. An engine may start the fold with the value
  // and skip the addition, or run both steps: results are equal up to rounding.
  std::optional<Ref> start{};
};

// Values live in one memory per region; a component slot holds one number.
struct Slot {
  Region region;
  int width;
  std::int64_t offset = 0;
  int maker = -1;              // the step that writes it
  std::vector<int> readers{};  // the steps that read it, in order, once for each argument
};
inline bool overlap(const Slot& a, const Slot& b) {
  return a.region == b.region && a.offset < b.offset + b.width && b.offset < a.offset + a.width;
}

// Steps first..last run once per component, 0 .. width - 1; step `last` is the fold.
struct Group {
  int first;
  int last;
  int width;
};

// Steps are sorted by region (component steps next to their fold), arguments before users.
struct Program {
  std::vector<Step> steps;
  std::vector<Slot> slots;
  std::vector<Group> groups;
  std::vector<double> numbers;
  std::array<std::int64_t, kRegions> memory{};  // numbers each region's memory holds

  // Returns the step that makes a value; null for data and numbers.
  const Step* maker(const Ref& ref) const { return is_slot(ref) ? &steps[slots[ref.index].maker] : nullptr; }
  const std::vector<int>& readers(int slot) const { return slots[slot].readers; }
  // Returns the argument of an addition that is the result of a fold with a start; null for all other steps.
  const Ref* started(const Step& step) const {
    for (const Ref& ref : step.in)
      if (const Step* const made = maker(ref); made && made->start) return &ref;
    return nullptr;
  }
  int number(const Step& step) const { return static_cast<int>(&step - steps.data()); }

  // Visits the steps of a region in the order in which they run; in a group, visits the fold alone.
  template <class Visit>
  void for_each_step(Region region, const std::vector<bool>& needed, Visit visit) const {
    for (std::size_t s = 0; s < steps.size(); ++s)
      if (steps[s].region == region && needed[s]) visit(steps[s]);
  }
  template <class Visit>
  void for_each_step(Region region, Visit visit) const {
    for (const Step& step : steps)
      if (step.region == region) visit(step);
  }

  // Sets makers and readers of all slots. Must be called after steps are added or moved.
  void note_uses();
};

// The last operations on an output: which of its results are returned, and the factor of its values.
struct Finish {
  Results results = Results::value;
  double sign = 1;
  bool per_i = false, per_j = false;  // divided by the points along these axes
  int less = 0;                       // subtracted from the divisor
};

// A value as a factor that does not vary along the folded axis, times the rest.
struct Epilogue {
  Ref factor, rest;
};

struct Output {
  Red red;
  Ref value;
  Ref weight;  // the number 1 if there is none
  int width;   // components of the result
  int places;  // K; 1 for reductions without K
  Keep keep;
  Kind kind;  // the kind of the value
  Finish finish{};
  // Set if the value of a sum is a factor times a rest: an engine may add up the rest and multiply the sum.
  std::optional<Epilogue> epilogue{};
};

// An inequality under which a variant is valid and its rounding errors are small: least <= f (r_x^2 + r_y^2) <= most
// for each component f of `factor`, a value of the region `param`. r_x, r_y are the distances of the farthest points of
// two variables from their centre.
struct Requirement {
  int variables[2];
  Ref factor;
  double least, most;
};

// The requirements of a variant: all must hold. Empty: always valid.
using Condition = std::vector<Requirement>;

// A formula for the outputs. Every plan has the variant `direct`, which is the last.
struct Variant {
  enum class Algebra { contracted, expanded, scaled, direct } form;
  Condition condition;
  Program program;
  std::vector<Output> outputs;
};

// A variable that is read by row numbers; the schedule must check that the numbers lie inside the variable.
struct GatherBound {
  int variable;
  int rows;  // the variable that holds the row numbers
};

struct Stages;

struct Plan {
  std::vector<Variable> variables;
  std::vector<bool> direct;  // is the variable read along its own axis (and not only gathered)?
  std::vector<GatherBound> gathers;
  std::vector<Variant> variants;
  Precision precision;
  Pairs pairs = Pairs::all;
  std::shared_ptr<const Stages> stages;  // the same outputs in two steps, if two steps are less work
  // The plan for partial spans: the same outputs, with the neutral element of the reduction for pairs that do not
  // exist.
  std::shared_ptr<const Plan> partial;
};

// The second of two steps. factors: the sum of a row times factors of the kept axis. separable: a formula of sums
// that are the same for all rows. pairs: another sum over all pairs, whose terms read the sum of their row.
enum class SecondStep { factors, separable, pairs };

// Sums, then for each output a formula of its sum: a plan that folds an axis of one point, or all pairs again. The
// results of the sums are the operands from Variable::kResults on.
struct Stages {
  SecondStep second;
  Plan sums;
  std::vector<Plan> after;

  bool separable() const { return second == SecondStep::separable; }
};

// Returns the number of components that a fold runs over, the width of its widest argument.
int fold_width(const Step& fold);

// Returns the region whose loop a step runs in: a component step runs with its fold.
Region home(const Program& program, const Step& step);

const char* region_name(Region region);
const char* form_name(Variant::Algebra form);

// Returns the key of compiled plans: structure, shapes, kinds, precision and pairs. The values of numbers are not in
// the key, since they are read from the program.
std::string plan_key(const Plan& plan);

// --- show ----------------------------------------------------------------------------------------------------------
// Writes a whole plan as text, for comparisons of plans.

// Writes variables, then each variant's numbers, steps and outputs, a line each, then the plans of two stages.
// Variables are named by their position in the plan, so that equal plans have equal texts.
std::string show(const Plan& plan);

// --- check ---------------------------------------------------------------------------------------------------------
// Checks the properties of a plan on which back ends rely.

// Fails with an internal error that names the step, if a step reads an empty slot or a value of an inner loop.
void check_plan(const Plan& plan);

}  // namespace kernweave
