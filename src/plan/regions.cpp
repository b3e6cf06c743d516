// A chain of element-wise steps that only a fold reads needs no wide slots: it runs per component.
#include "plan/regions.hpp"

#include <algorithm>

namespace kernweave {
namespace {

bool is_slot(const Ref& ref) { return ref.from == Ref::From::slot; }

// Before sorting, slot k is written by step k.
class Grouping {
 public:
  Grouping(const Program& program, const std::vector<Ref>& roots)
      : steps_(program.steps), readers_(program.slots.size()), group_(steps_.size(), -1) {
    for (std::size_t s = 0; s < steps_.size(); ++s)
      for (const Ref& ref : steps_[s].in)
        if (is_slot(ref)) readers_[ref.index].push_back(static_cast<int>(s));
    for (const Ref& root : roots)
      if (is_slot(root)) readers_[root.index].push_back(kOutside);
  }

  // The group of each step; a fold carries the number of its own group.
  std::vector<int> groups() {
    int next = 0;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (row(steps_[s].op).form != Form::fold || fold_width(steps_[s]) == 1) continue;
      if (absorb_producers(static_cast<int>(s), next)) group_[s] = next++;
    }
    return group_;
  }

  static int fold_width(const Step& fold) {
    int widest = 1;
    for (const Ref& ref : fold.in) widest = std::max(widest, ref.width);
    return widest;
  }

 private:
  static constexpr int kOutside = -1;

  // Later producers first, so that all readers of a step have been decided before it.
  bool absorb_producers(int fold, int group) {
    bool any = false;
    for (int s = fold - 1; s >= 0; --s)
      if (belongs(s, fold, group)) {
        group_[s] = group;
        any = true;
      }
    return any;
  }

  bool belongs(int s, int fold, int group) const {
    const Step& step = steps_[s];
    const bool alike = row(step.op).form == Form::elementwise && step.width == fold_width(steps_[fold]) &&
                       step.region == steps_[fold].region && group_[s] == -1;
    const auto inside = [&](int reader) { return reader == fold || (reader != kOutside && group_[reader] == group); };
    const std::vector<int>& readers = readers_[s];
    return alike && !readers.empty() && std::all_of(readers.begin(), readers.end(), inside);
  }

  const std::vector<Step>& steps_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> group_;
};

}  // namespace

Region region_of(Axes axes) {
  if (axes.has(Axes::ij())) return Region::pair;
  if (axes.has(Axes::i())) return Region::row;
  if (axes.has(Axes::j())) return Region::column;
  return Region::param;
}

Program in_regions(Program program, const std::vector<Ref>& roots) {
  const std::vector<int> group = Grouping(program, roots).groups();
  std::vector<Step> steps = std::move(program.steps);
  program.steps.clear();
  for (Region region : {Region::param, Region::row, Region::column, Region::pair})
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const bool fold = row(steps[s].op).form == Form::fold;
      if (steps[s].region != region || (group[s] >= 0 && !fold)) continue;
      const int first = static_cast<int>(program.steps.size());
      for (std::size_t c = 0; group[s] >= 0 && c < s; ++c)
        if (group[c] == group[s]) {
          program.steps.push_back(steps[c]);
          program.steps.back().region = Region::component;
          program.slots[steps[c].out] = {Region::component, 1};
        }
      program.steps.push_back(steps[s]);
      const int last = static_cast<int>(program.steps.size()) - 1;
      if (group[s] < 0) continue;
      const int number = static_cast<int>(program.groups.size());
      program.groups.push_back({first, last, Grouping::fold_width(steps[s])});
      for (int k = first; k <= last; ++k) program.steps[k].group = number;
    }
  return program;
}

}  // namespace kernweave
