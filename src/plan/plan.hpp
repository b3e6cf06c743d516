// A plan: what to compute for every pair, as straight-line steps over slots. Knows no number of points,
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

// Formats of numbers. float16: numbers are in float32, but terms need three digits only, as tensor cores give them that
// take a number as one half.
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

// A value a step reads: where it lies, how wide it is.
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
  int width;  // of the result
  Region region;
  int group = -1;  // component group: steps of one loop over components, ended by its fold
  // The value that the next reader adds to a fold, if it does nothing else: an engine may start the fold with the
  // value, and the addition is done. An engine that runs the steps as they stand finds the same up to rounding.
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

// Steps are sorted by region (component steps beside their fold), arguments before users.
struct Program {
  std::vector<Step> steps;
  std::vector<Slot> slots;
  std::vector<Group> groups;
  std::vector<double> numbers;
  std::array<std::int64_t, kRegions> memory{};  // numbers each region's memory holds

  // The step that makes a value; null of data and numbers.
  const Step* maker(const Ref& ref) const { return is_slot(ref) ? &steps[slots[ref.index].maker] : nullptr; }
  const std::vector<int>& readers(int slot) const { return slots[slot].readers; }
  // The fold's result that a step adds its start to; null of all other steps.
  const Ref* started(const Step& step) const {
    for (const Ref& ref : step.in)
      if (const Step* const made = maker(ref); made && made->start) return &ref;
    return nullptr;
  }
  int number(const Step& step) const { return static_cast<int>(&step - steps.data()); }

  // The steps of a region in the order in which they run. Of a group, its fold stands for all.
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

  // Notes makers and readers. To be called by whoever has added or moved steps.
  void note_uses();
};

// The part of an output that the user sees: which of its results, and values times a number.
struct Finish {
  Results results = Results::value;
  double sign = 1;
  bool per_i = false, per_j = false;  // divided by the points along these axes
  int less = 0;                       // less so many
};

// A value as a factor that does not vary along the folded axis, times the rest.
struct Epilogue {
  Ref factor, rest;
};

struct Output {
  Red red;
  Ref value;
  Ref weight;  // the number 1 where there is none
  int width;   // components of the result
  int places;  // K; 1 for reductions without
  Keep keep;
  Kind kind;  // of the value
  Finish finish{};
  // The epilogue of a sum whose value is such a product: an engine may add up the rest and multiply the sum.
  std::optional<Epilogue> epilogue{};
};

// Something that must hold of sizes and facts for a variant to be right and its rounding errors small: the squared
// distances of two variables' farthest points from their centre, added up and taken times each component of a factor,
// are at least `least` and at most `most`. The factor is a value of the region `param`.
struct Requirement {
  int variables[2];
  Ref factor;
  double least, most;
};

// All of these, for a variant to be chosen. Empty: always.
using Condition = std::vector<Requirement>;

// The algebra by which the outputs are computed. `direct` is always there and comes last.
struct Variant {
  enum class Algebra { contracted, expanded, scaled, direct } form;
  Condition condition;
  Program program;
  std::vector<Output> outputs;
};

// Row numbers by which a variable is read; the schedule must see that they lie inside it.
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
  std::shared_ptr<const Stages> stages;  // the same in two steps, where that is less work
  // The plan for restricted pairs that a formula tells apart: the same outputs with their neutral element where a pair
  // does not exist.
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

// Counts the components that a fold runs over: those of its widest argument.
int fold_width(const Step& fold);

// The region whose loop a step runs in: a component step runs with its fold.
Region home(const Program& program, const Step& step);

const char* region_name(Region region);
const char* form_name(Variant::Algebra form);

// Structure, shapes, kinds, precision and pairs: the only key under which a compiled plan may be kept. The
// values of numbers are not in it: they travel with the program.
std::string plan_key(const Plan& plan);

// --- show ----------------------------------------------------------------------------------------------------------
// A plan as text, all of it: for whoever compares plans.

// Variables, then each variant's numbers, steps and outputs, a line each, and the plans it has in place of one.
// Operands are told apart by their place in the plan, so that equal plans have equal texts.
std::string show(const Plan& plan);

// --- check ---------------------------------------------------------------------------------------------------------
// Checks that a plan is as a back end may rely on.

// An internal failure, naming the step, if a step reads what is not there or not its to read.
void check_plan(const Plan& plan);

}  // namespace kernweave
