// Groups outputs by the axis they keep; finds out whether a group is a chain of calls.
#include "plan/output_groups.hpp"

#include <algorithm>
#include <map>

#include "plan/passes.hpp"

namespace kernweave {

std::vector<OutputGroup> output_groups(const Variant& variant) {
  OutputGroup along_i{true, {}}, along_j{false, {}};
  for (std::size_t k = 0; k < variant.outputs.size(); ++k)
    (variant.outputs[k].keep == Keep::j ? along_j : along_i).outputs.push_back(static_cast<int>(k));
  std::vector<OutputGroup> shares;
  for (const OutputGroup& group : {along_i, along_j})
    if (!group.outputs.empty()) shares.push_back(group);
  return shares;
}

std::vector<bool> needed_steps(const Variant& variant, const std::vector<int>& outputs) {
  const Program& program = variant.program;
  std::vector<bool> needed(program.steps.size(), false);
  const auto need = [&](const Ref& ref) {
    if (const Step* made = program.maker(ref)) needed[program.number(*made)] = true;
  };
  for (int number : outputs) {
    need(variant.outputs[number].value);
    need(variant.outputs[number].weight);
  }
  for (std::size_t s = program.steps.size(); s-- > 0;)
    if (needed[s])
      for (const Ref& ref : program.steps[s].in) need(ref);
  return needed;
}

int numbers_read(const Plan& plan, const Program& program, const std::vector<bool>& needed,
                 const std::vector<Ref>& by_outputs, Axis axis) {
  const Region region = axis == Axis::i ? Region::row : Region::column;
  std::map<std::pair<Ref::From, int>, int> widths;
  const auto note = [&](const Ref& ref) {
    if (region_read(ref, plan, program) == region) widths[{ref.from, ref.index}] = ref.width;
  };
  for (std::size_t s = 0; s < program.steps.size(); ++s)
    if (needed[s] && home(program, program.steps[s]) == Region::pair)
      for (const Ref& ref : program.steps[s].in) note(ref);
  for (const Ref& ref : by_outputs) note(ref);
  int numbers = 0;
  for (const auto& [ref, width] : widths) numbers += width;
  return numbers;
}

std::vector<int> count_reads(const Variant& variant, const std::vector<bool>& needed, const std::vector<int>& outputs) {
  const Program& program = variant.program;
  std::vector<int> reads(program.slots.size());
  for (std::size_t k = 0; k < reads.size(); ++k) {
    const std::vector<int>& readers = program.readers(static_cast<int>(k));
    reads[k] = static_cast<int>(
        std::count_if(readers.begin(), readers.end(), [&](int s) { return needed[static_cast<std::size_t>(s)]; }));
  }
  for (int number : outputs)
    for (const Ref& ref : {variant.outputs[number].value, variant.outputs[number].weight})
      if (is_slot(ref)) ++reads[ref.index];
  return reads;
}

namespace {

// Tells whether a variable is a row number that only comparisons of row numbers read.
bool is_only_compared(const Plan& plan, int number) {
  const auto counts = [&](const Ref& ref) {
    return ref.from == Ref::From::variable && plan.variables[ref.index].source == Source::counter;
  };
  const auto is_it = [&](const Ref& ref) { return ref.from == Ref::From::variable && ref.index == number; };
  if (plan.variables[number].source != Source::counter) return false;
  for (const Variant& variant : plan.variants) {
    for (const Output& o : variant.outputs)
      if (is_it(o.value) || is_it(o.weight)) return false;
    for (const Step& step : variant.program.steps) {
      const bool compares = step.in.size() == 2 && row(step.op).kind == KindRule::logical &&
                            std::all_of(step.in.begin(), step.in.end(), counts);
      if (!compares && std::any_of(step.in.begin(), step.in.end(), is_it)) return false;
    }
  }
  return true;
}

}  // namespace

bool in_float32(const Plan& plan) {
  if (plan.precision.wide()) return false;
  return std::none_of(plan.variables.begin(), plan.variables.end(),
                      [](const Variable& v) { return v.kind == Kind::integer; });
}

bool in_float32(const Plan& plan, std::int64_t largest_row) {
  constexpr std::int64_t kExact = std::int64_t{1} << 24;
  if (plan.precision.wide()) return false;
  for (std::size_t k = 0; k < plan.variables.size(); ++k) {
    if (plan.variables[k].kind != Kind::integer) continue;
    if (largest_row > kExact || !is_only_compared(plan, static_cast<int>(k))) return false;
  }
  return true;
}

// --- chain ---------------------------------------------------------------------------------------------------------
// Values of pairs are numbered in the order of steps; other arguments are denoted by their axis.

namespace {

class Reader {
 public:
  Reader(const Plan& plan, const Variant& variant, bool along_i, PairChain* found)
      : plan_(plan), program_(variant.program), along_i_(along_i), found_(*found) {}

  bool step(const Step& step) {
    const bool first = slots_.empty();
    slots_.push_back(step.out);
    return first ? fold(step) : call(step);
  }
  bool ends_with(const Ref& value) const { return is_slot(value) && !slots_.empty() && slots_.back() == value.index; }

 private:
  static constexpr int kOther = -100;

  bool fold(const Step& step) {
    if (row(step.op).form != Form::fold || step.group >= 0 || step.in.size() != 2) return false;
    const bool turned = argument(step.in[0]) == kOfColumn && row(step.op).commutes;
    found_.fold = step.op;
    found_.width = fold_width(step);
    found_.starts = step.start.has_value();
    found_.row = step.in[turned];
    found_.column = step.in[!turned];
    return argument(found_.row) == kOfRow && argument(found_.column) == kOfColumn;
  }
  bool call(const Step& step) {
    const bool looks_up = row(step.op).looks_up;
    if ((row(step.op).form != Form::elementwise && !looks_up) || step.group >= 0 || step.width != 1 ||
        step.in.size() > 2)
      return false;
    const int second = looks_up ? kOfTable : step.in.size() == 2 ? argument(step.in[1]) : static_cast<int>(kNoArgument);
    const CallRow here{step.op, argument(step.in[0]), second};
    found_.calls.push_back(here);
    found_.steps.push_back(&step);
    return here.x != kOther && here.y != kOther;
  }

  int number_of(const Ref& ref) const {
    const auto at = std::find(slots_.begin(), slots_.end(), ref.index);
    return at == slots_.end() ? kOther : static_cast<int>(at - slots_.begin());
  }
  int argument(const Ref& ref) const {
    switch (region_read(ref, plan_, program_)) {
      case Region::param: return kOnce;
      case Region::row: return along_i_ ? kOfRow : kOfColumn;
      case Region::column: return along_i_ ? kOfColumn : kOfRow;
      case Region::pair: return is_slot(ref) ? number_of(ref) : kOther;
      default: return kOther;
    }
  }

  const Plan& plan_;
  const Program& program_;
  const bool along_i_;
  PairChain& found_;
  std::vector<int> slots_;  // the slots of the fold and the calls found so far
};

bool same(const CallRow& a, const CallRow& b) {
  return a.op == b.op && ((a.x == b.x && a.y == b.y) || (row(a.op).commutes && a.x == b.y && a.y == b.x));
}

}  // namespace

bool is_chain(const Plan& plan, const Variant& variant, const OutputGroup& group, const std::vector<bool>& needed,
              PairChain* found) {
  const Program& program = variant.program;
  const auto output = [&](int number) -> const Output& { return variant.outputs[static_cast<std::size_t>(number)]; };
  found->reduction = output(group.outputs.front()).red;
  Reader reader(plan, variant, group.along_i, found);
  // The steps are partitioned, the fold first: the value with which the fold may start was computed before the fold.
  std::vector<const Step*> steps;
  program.for_each_step(Region::pair, needed, [&](const Step& step) { steps.push_back(&step); });
  const auto is_fold = [](const Step* step) { return row(step->op).form == Form::fold; };
  std::stable_partition(steps.begin(), steps.end(), is_fold);
  for (const Step* step : steps)
    if (!reader.step(*step)) return false;
  return std::all_of(group.outputs.begin(), group.outputs.end(), [&](int number) {
    const Output& o = output(number);
    return o.keep != Keep::both && o.red == found->reduction && reader.ends_with(o.value);
  });
}

bool is_of_kind(const PairChain& chain, Op fold, Red reduction, const CallRow* calls, int length) {
  if (chain.fold != fold || chain.reduction != reduction || static_cast<int>(chain.calls.size()) != length)
    return false;
  for (int k = 0; k < length; ++k)
    if (!same(chain.calls[static_cast<std::size_t>(k)], calls[k])) return false;
  return true;
}

}  // namespace kernweave
