// A fold waits for what it starts with: it comes right before the addition, as late as it can.
#include "plan/passes.hpp"

#include <algorithm>

namespace kernweave {
namespace {

// The most components of such a fold. A component that is small beside the start is rounded to its last place, so the
// more there are, the more is lost.
constexpr int kMostComponents = 8;

bool is_short_sum(const Step& fold) {
  return fold.region == Region::pair && row(fold.op).adds_up && fold_width(fold) <= kMostComponents;
}

class Starts {
 public:
  Starts(Program program, const std::vector<Ref>& roots)
      : program_(std::move(program)), is_root_(program_.slots.size()), late_(program_.steps.size(), -1) {
    for (const Ref& root : roots)
      if (is_slot(root)) is_root_[root.index] = true;
  }

  Program find() {
    const int steps = static_cast<int>(program_.steps.size());
    for (int s = 0; s < steps; ++s) {
      const Step& add = program_.steps[s];
      if (add.op == Op::Add && add.region == Region::pair && add.width == 1) start(s, add);
    }
    return in_order();
  }

 private:
  // One that need not wait is taken first.
  void start(int addition, const Step& add) {
    for (bool waiting : {false, true})
      for (int k : {0, 1}) {
        const int fold = fold_of(add.in[k]);
        if (fold < 0) continue;
        const Step* const other = program_.maker(add.in[1 - k]);
        const bool waits = other && program_.number(*other) > fold;
        if (waits && !waiting) continue;
        program_.steps[fold].start = add.in[1 - k];
        if (waits) late_[fold] = addition;
        return;
      }
  }
  // A short sum that nobody else reads; -1 if it is none.
  int fold_of(const Ref& ref) const {
    const Step* const made = program_.maker(ref);
    if (!made || !is_short_sum(*made) || is_root_[ref.index] || program_.readers(ref.index).size() != 1) return -1;
    return program_.number(*made);
  }

  Program in_order() {
    if (std::all_of(late_.begin(), late_.end(), [](int addition) { return addition < 0; })) return std::move(program_);
    std::vector<int> fold_before(program_.steps.size(), -1);
    for (std::size_t s = 0; s < late_.size(); ++s)
      if (late_[s] >= 0) fold_before[late_[s]] = static_cast<int>(s);
    std::vector<Step> ordered;
    for (std::size_t s = 0; s < late_.size(); ++s) {
      if (late_[s] >= 0) continue;
      if (fold_before[s] >= 0) ordered.push_back(std::move(program_.steps[fold_before[s]]));
      ordered.push_back(std::move(program_.steps[s]));
    }
    program_.steps = std::move(ordered);
    program_.note_uses();
    return std::move(program_);
  }

  Program program_;
  std::vector<bool> is_root_;  // by slot
  std::vector<int> late_;      // by step: the addition that it has to wait for
};

}  // namespace

Program start_folds(Program program, const std::vector<Ref>& roots) { return Starts(std::move(program), roots).find(); }

}  // namespace kernweave
