// Walks over the steps of pairs once, and derives the facts of each value from the facts of its arguments.
#include "plan/growth.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "expr/on_lane.hpp"
#include "plan/output_groups.hpp"
#include "plan/outputs.hpp"
#include "plan/passes.hpp"

namespace kernweave {
namespace {

// The facts known of a value of pairs: it is a difference, or has a trend in the sizes of differences and in each part.
struct KnownValue {
  bool difference = false;
  Trend trend = Trend::flat;
  Interval interval = Interval::anything();
  std::vector<Trend> of_parts{};  // trends in the first parts; flat in others

  bool uneven() const {
    return trend == Trend::uneven || std::count(of_parts.begin(), of_parts.end(), Trend::uneven) > 0;
  }
  // Composes trends: this value has the trend `own` in the other.
  void follow(Trend own, const KnownValue& other) {
    const auto seen = [&](Trend theirs) {
      return theirs == Trend::flat ? Trend::flat : theirs == Trend::falls ? opposite(own) : own;
    };
    trend = both(trend, seen(other.trend));
    of_parts.resize(std::max(of_parts.size(), other.of_parts.size()), Trend::flat);
    for (std::size_t p = 0; p < other.of_parts.size(); ++p) of_parts[p] = both(of_parts[p], seen(other.of_parts[p]));
  }
};

class GrowthWalk {
 public:
  GrowthWalk(const Plan& plan, const Variant& variant, Keep keep, const OnceBounds& once, Growth* growth)
      : plan_(plan),
        program_(variant.program),
        folded_(keep == Keep::j ? Region::row : Region::column),
        once_(once),
        growth_(growth),
        known_(program_.slots.size()) {}

  // Derives the facts of a step's value; false, with the reason in `why`, if the value is not monotone.
  bool step(const Step& step) {
    KnownValue found;
    if (points(step, &found) || scaled(step, &found) || square(step, &found) || any(step, &found)) {
      if (found.difference || !found.uneven()) {
        known_[static_cast<std::size_t>(step.out)] = found;
        return true;
      }
    }
    if (why.empty()) why = sentence(row(step.op).fn, "() neither grows nor falls with differences of points");
    return false;
  }
  std::optional<KnownValue> known(const Ref& ref) {
    if (region(ref) == Region::param) return KnownValue{false, Trend::flat, once_(ref)};
    if (region(ref) == folded_) return part(ref);
    if (is_slot(ref) && region(ref) != Region::row && region(ref) != Region::column)
      return known_[static_cast<std::size_t>(ref.index)];
    return std::nullopt;
  }

  std::string why;

 private:
  Region region(const Ref& ref) const { return region_read(ref, plan_, program_); }

  // Finds a difference, or a function of a difference, of two points, one of each axis.
  bool points(const Step& step, KnownValue* found) {
    if (step.in.size() != 2) return false;
    const bool forth = region(step.in[0]) == Region::row && region(step.in[1]) == Region::column;
    const bool back = region(step.in[0]) == Region::column && region(step.in[1]) == Region::row;
    if ((!forth && !back) || !note(step.in[back], step.in[forth])) return false;
    found->difference = step.op == Op::Subtract;
    if (found->difference) return true;
    const Proved proved = trends_of_points(step.op);
    *found = {false, proved.trends[0], proved.value};
    if (found->trend == Trend::uneven) note_otherwise(step);
    return true;
  }
  void note_otherwise(const Step& step) {
    why = sentence("it depends on points otherwise than by their differences, in ", row(step.op).fn, "()");
  }
  // Notes two values as a difference; false if one of them is a part or has another partner.
  bool note(const Ref& at_row, const Ref& at_column) {
    const auto is_part = [&](const FoldedPart& p) {
      return same_value(p.of_point, at_row) || same_value(p.of_point, at_column);
    };
    if (at_row.width != at_column.width || std::any_of(growth_->parts.begin(), growth_->parts.end(), is_part))
      return false;
    for (const Difference& d : growth_->differences) {
      const bool one = same_value(d.row, at_row), other = same_value(d.column, at_column);
      if (one && other) return true;
      if (one || other) return false;
    }
    growth_->differences.push_back({at_row, at_column});
    return true;
  }
  // Finds a number of a folded point that is in no difference.
  std::optional<KnownValue> part(const Ref& ref) {
    const auto reads = [&](const Difference& d) { return same_value(d.row, ref) || same_value(d.column, ref); };
    if (ref.width != 1 || std::any_of(growth_->differences.begin(), growth_->differences.end(), reads))
      return std::nullopt;
    const auto same = [&](const FoldedPart& p) { return same_value(p.of_point, ref); };
    const auto at = std::find_if(growth_->parts.begin(), growth_->parts.end(), same) - growth_->parts.begin();
    if (at == static_cast<std::ptrdiff_t>(growth_->parts.size())) growth_->parts.push_back({ref, true});
    KnownValue found{false, Trend::flat, Interval(-kMostOfPart, kMostOfPart)};
    found.of_parts.resize(static_cast<std::size_t>(at) + 1, Trend::flat);
    found.of_parts.back() = Trend::grows;
    return found;
  }
  // Finds the opposite or a multiple of a difference.
  bool scaled(const Step& step, KnownValue* found) {
    std::vector<bool> fixed;
    for (const Ref& ref : step.in) fixed.push_back(region(ref) == Region::param);
    const auto linear = linear_arguments(step.op, fixed);
    const bool alone = linear && std::count(linear->begin(), linear->end(), true) == 1;
    if (!alone || row(step.op).form != Form::elementwise) return false;
    const auto at = static_cast<std::size_t>(std::find(linear->begin(), linear->end(), true) - linear->begin());
    const auto of = known(step.in[at]);
    return found->difference = of && of->difference;
  }
  // Finds the product of a difference and itself.
  bool square(const Step& step, KnownValue* found) {
    const std::vector<PowerLaw::Power>& powers = row(step.op).law.powers;
    const bool product = powers.size() == 2 && powers[0].power == 1 && powers[1].power == 1;
    if (!product || !same_value(step.in[0], step.in[1])) return false;
    const auto of = known(step.in[0]);
    if (!of || !of->difference) return false;
    *found = {false, Trend::grows, Interval(0, HUGE_VAL)};
    return true;
  }
  bool any(const Step& step, KnownValue* found) {
    std::vector<Interval> intervals;
    std::vector<KnownValue> args;
    std::size_t differences = 0, at = 0;
    for (std::size_t k = 0; k < step.in.size(); ++k) {
      const auto of = known(step.in[k]);
      if (!of) {
        note_otherwise(step);
        return false;
      }
      args.push_back(*of);
      intervals.push_back(of->interval);
      if (of->difference) ++differences, at = k;
    }
    if (differences > 1 || args.empty()) return false;
    const Proved proved = differences ? trends_of_difference(step.op, intervals, at) : trends_of(step.op, intervals);
    if (differences) args[at].trend = Trend::grows;
    *found = {false, Trend::flat, proved.value};
    for (std::size_t k = 0; k < args.size(); ++k) found->follow(proved.trends[k], args[k]);
    return true;
  }

  const Plan& plan_;
  const Program& program_;
  const Region folded_;
  const OnceBounds& once_;
  Growth* const growth_;
  std::vector<std::optional<KnownValue>> known_;
};

// Returns v if the output's value is `if (condition) v else neutral element`, or swapped; else returns the value.
Ref without_condition(const Variant& variant, const Output& output) {
  const Step* const made = variant.program.maker(output.value);
  if (!made || made->op != Op::Select) return output.value;
  const double neutral = neutral_value(output.red);
  const auto says_nothing = [&](const Ref& ref) {
    if (ref.from != Ref::From::number) return false;
    const double number = variant.program.numbers[static_cast<std::size_t>(ref.index)];
    return number == neutral || (std::isnan(number) && std::isnan(neutral));
  };
  for (const int k : {1, 2})
    if (says_nothing(made->in[static_cast<std::size_t>(k)]) && is_slot(made->in[static_cast<std::size_t>(3 - k)]))
      return made->in[static_cast<std::size_t>(3 - k)];
  return output.value;
}

}  // namespace

int Growth::components() const {
  int components = 0;
  for (const Difference& d : differences) components += d.row.width;
  return components;
}

bool adds_exponentials(const Output& output) { return row(output.red).exponents && row(output.red).adds; }

bool may_be_bounded(const Plan& plan, const Variant& variant) {
  const auto of_pairs = [](const Variable& v) { return v.axis == Axis::pair || v.axis == Axis::pair_swapped; };
  if (std::any_of(plan.variables.begin(), plan.variables.end(), of_pairs)) return false;
  return std::all_of(variant.outputs.begin(), variant.outputs.end(), [&](const Output& o) {
    const bool one_number = o.width == 1 && o.value.width == 1;
    const bool folds_rows = o.keep == Keep::none && row(o.red).results == Results::value;
    const bool kept = o.keep == Keep::i || o.keep == Keep::j || folds_rows;
    const bool weighed = o.weight.from != Ref::From::number || variant.program.numbers[o.weight.index] != 1.0;
    const bool passes_over = row(o.red).matters != red::Matters::all || adds_exponentials(o);
    return one_number && kept && !weighed && passes_over && is_slot(o.value);
  });
}

Verdict verdict_of(const Growths& growths) {
  if (growths.empty()) return Verdict::no("");
  for (const Growth& growth : growths)
    if (!growth.verdict.yes) return growth.verdict;
  return {};
}

bool operator==(const Growth& a, const Growth& b) {
  const auto same = [](const Difference& x, const Difference& y) {
    return same_value(x.row, y.row) && same_value(x.column, y.column);
  };
  const auto alike = [](const FoldedPart& x, const FoldedPart& y) {
    return same_value(x.of_point, y.of_point) && x.grows == y.grows;
  };
  return same_value(a.value, b.value) && a.grows == b.grows &&
         std::equal(a.differences.begin(), a.differences.end(), b.differences.begin(), b.differences.end(), same) &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), alike);
}

Growth growth_of(const Plan& plan, const Variant& variant, std::size_t number, const OnceBounds& once) {
  Growth growth;
  const auto refused = [&](const std::string& why) {
    growth.verdict = Verdict::no(why);
    return growth;
  };
  GrowthWalk walk(plan, variant, variant.outputs[number].keep, once, &growth);
  Variant bounded = variant;
  bounded.outputs[number].value = growth.value = without_condition(variant, variant.outputs[number]);
  const std::vector<bool> needed = needed_steps(bounded, {static_cast<int>(number)});
  for (std::size_t s = 0; s < needed.size(); ++s) {
    const Step& step = variant.program.steps[s];
    if (needed[s] && home(variant.program, step) == Region::pair && !walk.step(step)) return refused(walk.why);
  }
  const Output& output = variant.outputs[number];
  const auto value = walk.known(growth.value);
  if (!value || value->difference) return refused("its value is a difference, or no value of pairs");
  if (value->trend != Trend::grows && value->trend != Trend::falls) return refused("it is the same for all pairs");
  // Sums of numbers 0 and 1 have no rounding error in any order.
  const Interval& i = value->interval;
  if (row(output.red).matters == red::Matters::not_zero && !(i.whole && i.least >= 0 && i.most <= 1))
    return refused("all its terms are added up");
  growth.grows = value->trend == Trend::grows;
  for (std::size_t p = 0; p < value->of_parts.size(); ++p) growth.parts[p].grows = value->of_parts[p] == Trend::grows;
  growth.verdict = {};
  return growth;
}

}  // namespace kernweave
