// An addition of a fold's result and of something that is there before the fold, or may be.
#include "cuda/begin.hpp"

#include <algorithm>

namespace kernweave {
namespace cuda {
namespace {

// Does a fold add its terms to what came before?
bool adds_up(Op op) {
  const OpRow& r = row(op);
  if (r.form != Form::fold) return false;
  const Lane in[] = {Lane(2.0), Lane(7.0)};
  const double term = r.next(r.start(), in).v;
  return r.start().v == 0 && r.next(Lane(-3.0), in).v == term - 3 && r.next(Lane(5.0), in).v == term + 5;
}

class Beginnings {
 public:
  explicit Beginnings(const Pass& pass)
      : pass_(pass),
        program_(pass.program()),
        reads_(count_reads(*pass.variant, pass.needed, pass.group.outputs)),
        found_(program_.steps.size()) {
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      const Step& add = program_.steps[s];
      if (!pass.needed[s] || add.op != Op::Add || add.region != Region::pair || add.width != 1 || add.group >= 0)
        continue;
      if (begins(add.in[0], add.in[1])) found_[s].sum = &add.in[0];
      else if (begins(add.in[1], add.in[0])) found_[s].sum = &add.in[1];
    }
  }
  std::vector<Beginning> take() { return std::move(found_); }

 private:
  bool begins(const Ref& sum, const Ref& with) {
    if (!is_slot(sum) || reads_[sum.index] != 1) return false;
    const int fold = maker(sum);
    if (fold == pass_.product.step || !is_short_sum(program_.steps[fold])) return false;
    const int group = program_.steps[fold].group, from = group >= 0 ? program_.groups[group].first : fold;
    if (!is_there(with, from)) {
      const int made_by = maker(with);
      if (found_[made_by].moved || found_[made_by].sum != nullptr || !can_come_first(program_.steps[made_by], from))
        return false;
      found_[fold].first = &program_.steps[made_by];
      found_[made_by].moved = true;
    }
    found_[fold].before = &with;
    return true;
  }

  // The more components, the more roundings at the size of what comes first.
  static bool is_short_sum(const Step& fold) {
    constexpr int kShort = 8;
    return fold.region == Region::pair && adds_up(fold.op) && fold_width(fold) <= kShort;
  }

  int maker(const Ref& slot) const { return program_.slots[slot.index].maker; }
  // When step `from` comes?
  bool is_there(const Ref& ref, int from) const {
    return !is_slot(ref) || program_.slots[ref.index].region != Region::pair || maker(ref) < from;
  }
  // One operation of what is there.
  bool can_come_first(const Step& step, int from) const {
    const auto there = [&](const Ref& ref) { return is_there(ref, from); };
    return row(step.op).form == Form::elementwise && step.op != Op::Gather && step.width == 1 && step.group < 0 &&
           std::all_of(step.in.begin(), step.in.end(), there);
  }

  const Pass& pass_;
  const Program& program_;
  const std::vector<int> reads_;  // by slot
  std::vector<Beginning> found_;
};

}  // namespace

std::vector<Beginning> beginnings_of(const Pass& pass) { return Beginnings(pass).take(); }

}  // namespace cuda
}  // namespace kernweave
