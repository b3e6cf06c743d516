// Values are numbered as they are found; what lies outside of the pairs is told by its axis.
#include "plan/chain.hpp"

#include <algorithm>

#include "plan/passes.hpp"

namespace kernweave {
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
  std::vector<int> slots_;  // of what has been found, in order
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
