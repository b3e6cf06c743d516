// A chain of element-wise steps that only a fold reads needs no wide slots: it runs per component.
#include "plan/regions.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace kernweave {
namespace {

class FoldGroups {
 public:
  FoldGroups(const Program& program, const std::vector<Ref>& roots)
      : program_(program), steps_(program.steps), is_root_(program.slots.size()), group_(steps_.size(), -1) {
    for (const Ref& root : roots)
      if (is_slot(root)) is_root_[root.index] = true;
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

 private:
  // Later producers first, so that all readers of a step have been decided before it.
  bool absorb_producers(int fold, int group) {
    std::set<int, std::greater<int>> candidates;
    const auto add_producers = [&](int s) {
      for (const Ref& ref : steps_[s].in)
        if (const Step* const made = program_.maker(ref)) candidates.insert(program_.number(*made));
    };
    bool any = false;
    for (add_producers(fold); !candidates.empty();) {
      const int s = *candidates.begin();
      candidates.erase(candidates.begin());
      if (!belongs(s, fold, group)) continue;
      group_[s] = group;
      add_producers(s);
      any = true;
    }
    return any;
  }

  bool belongs(int s, int fold, int group) const {
    const Step& step = steps_[s];
    const bool alike = row(step.op).form == Form::elementwise && step.width == fold_width(steps_[fold]) &&
                       step.region == steps_[fold].region && group_[s] == -1;
    const auto inside = [&](int reader) { return reader == fold || group_[reader] == group; };
    const std::vector<int>& readers = program_.readers(step.out);
    return alike && !is_root_[step.out] && !readers.empty() && std::all_of(readers.begin(), readers.end(), inside);
  }

  const Program& program_;
  const std::vector<Step>& steps_;
  std::vector<bool> is_root_;  // by slot
  std::vector<int> group_;     // by step
};

// The component steps of a group and, after them, its fold.
void place_group(const std::vector<Step>& steps, const std::vector<std::size_t>& members, std::size_t fold,
                 Program* program) {
  const int number = static_cast<int>(program->groups.size());
  const int first = static_cast<int>(program->steps.size());
  for (std::size_t s : members) {
    program->steps.push_back(steps[s]);
    program->steps.back().region = Region::component;
    program->slots[steps[s].out] = {Region::component, 1};
  }
  program->steps.push_back(steps[fold]);
  const int last = static_cast<int>(program->steps.size()) - 1;
  program->groups.push_back({first, last, fold_width(steps[fold])});
  for (int k = first; k <= last; ++k) program->steps[k].group = number;
}

}  // namespace

Region region_of(Axes axes) {
  if (axes.has(Axes::ij())) return Region::pair;
  if (axes.has(Axes::i())) return Region::row;
  if (axes.has(Axes::j())) return Region::column;
  return Region::param;
}

Region region_read(const Ref& ref, const Plan& plan, const Program& program) {
  if (is_slot(ref)) return program.slots[ref.index].region;
  return ref.from == Ref::From::number ? Region::param : region_of(axes_of(plan.variables[ref.index].axis));
}

Program in_regions(Program program, const std::vector<Ref>& roots) {
  const std::vector<int> group = FoldGroups(program, roots).groups();
  const std::vector<Step> steps = std::move(program.steps);
  const auto is_fold = [&](std::size_t s) { return row(steps[s].op).form == Form::fold; };
  std::map<int, std::vector<std::size_t>> members;  // component steps of each group, in order
  for (std::size_t s = 0; s < steps.size(); ++s)
    if (group[s] >= 0 && !is_fold(s)) members[group[s]].push_back(s);

  program.steps.clear();
  for (Region region : {Region::param, Region::row, Region::column, Region::pair})
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (steps[s].region != region || (group[s] >= 0 && !is_fold(s))) continue;
      if (group[s] >= 0) place_group(steps, members[group[s]], s, &program);
      else program.steps.push_back(steps[s]);
    }
  program.note_uses();
  return program;
}

}  // namespace kernweave
