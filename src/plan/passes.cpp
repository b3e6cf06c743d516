// Makes one step per node, right after the node's last argument if possible, so that a back end may keep the value in a
// register.
#include "plan/passes.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "expr/parse.hpp"

namespace kernweave {
namespace {

Region region_of(Axes axes) {
  if (axes.has(Axes::ij())) return Region::pair;
  if (axes.has(Axes::i())) return Region::row;
  if (axes.has(Axes::j())) return Region::column;
  return Region::param;
}

class Lineariser {
 public:
  void add_variables(const std::vector<Expr>& formulas) {
    for (Expr f : reachable(formulas)) {
      if (f->op == Op::Var) add(f);
      else note_reading(f);
    }
    note_roots(formulas);
  }

  void add(Expr f) {
    if (where_.count(f.get())) return;
    if (f->op == Op::Var) {
      where_[f.get()] = {Ref::From::variable, number_of(f), width(f)};
    } else if (f->op == Op::Number) {
      where_[f.get()] = {Ref::From::number, static_cast<int>(line_.program.numbers.size()), 1};
      line_.program.numbers.push_back(f->number);
    } else {
      add_step(f);
    }
  }

  // Makes a program of the steps since the last line. Variables stay known, steps and numbers do not.
  void end_line(const std::vector<Expr>& formulas) {
    for (Expr f : formulas) line_.roots.push_back(where_.at(f.get()));
    note_roots(formulas);
    line_.program.note_uses();
    lines_.lines.push_back(std::move(line_));
    line_ = {};
    for (auto it = where_.begin(); it != where_.end();)
      it = it->second.from == Ref::From::variable ? std::next(it) : where_.erase(it);
  }
  LinearPrograms finish() { return std::move(lines_); }

 private:
  int number_of(Expr var) {
    lines_.variables.push_back(variable(var));
    lines_.direct.push_back(false);
    return static_cast<int>(lines_.variables.size()) - 1;
  }

  void note_roots(const std::vector<Expr>& formulas) {
    for (Expr f : formulas)
      if (f->op == Op::Var) lines_.direct[where_.at(f.get()).index] = true;
  }

  // Notes the variables that the node reads along their own axis, and by row numbers.
  void note_reading(Expr f) {
    for (std::size_t k = 0; k < f->args.size(); ++k) {
      const bool gathered = f->op == Op::Gather && k == 0;
      if (f->args[k]->op == Op::Var && !gathered) lines_.direct[where_.at(f->args[k]).index] = true;
    }
    if (f->op == Op::Gather) lines_.gathers.push_back({where_.at(f->args[0]).index, row_numbers(f.arg(1))});
  }

  void add_step(Expr f) {
    Step step{
        f->op, {}, f->attributes, static_cast<int>(line_.program.slots.size()), width(f), region_of(f->type.axes)};
    for (const Node* arg : f->args) step.in.push_back(where_.at(arg));
    note_reading(f);
    line_.program.slots.push_back({step.region, step.width});
    where_[f.get()] = {Ref::From::slot, step.out, step.width};
    line_.program.steps.push_back(std::move(step));
  }

  // Returns the variable whose values bound the row numbers. Computed row numbers have no known bound.
  int row_numbers(Expr rows) const {
    const Expr held = rows->op == Op::Gather ? rows.arg(0) : rows;
    user_check(held->op == Op::Var, Fault::index, "row numbers must be given, not computed: `", show_short(rows), "`");
    return where_.at(held.get()).index;
  }

  LinearPrograms lines_;
  LinearProgram line_;
  std::unordered_map<const Node*, Ref> where_;
};

// Orders arguments before users, depth first: shared arguments first, since other users keep them anyway, and an
// argument that is not shared last. Uses no recursion: a formula may be as deep as memory allows.
std::vector<Expr> depth_first(const std::vector<Expr>& formulas) {
  std::unordered_map<const Node*, int> users;
  for (Expr f : reachable(formulas))
    for (const Node* arg : f->args) ++users[arg];
  std::vector<Expr> order, open(formulas.rbegin(), formulas.rend());
  std::unordered_map<const Node*, bool> closed;  // false while its arguments are being visited
  while (!open.empty()) {
    const Expr f = open.back();
    const auto [entry, is_new] = closed.emplace(f.get(), false);
    if (!is_new) {
      open.pop_back();
      if (!entry->second) order.push_back(f);
      entry->second = true;
      continue;
    }
    std::vector<const Node*> args(f->args.begin(), f->args.end());
    std::stable_sort(args.begin(), args.end(), [&](const Node* a, const Node* b) { return users[a] < users[b]; });
    for (const Node* arg : args)
      if (!closed.count(arg)) open.push_back(Expr(arg));
  }
  return order;
}

}  // namespace

LinearPrograms linearise(const std::vector<std::vector<Expr>>& programs, const std::vector<Expr>& extents) {
  Lineariser lineariser;
  lineariser.add_variables(extents);
  for (const std::vector<Expr>& formulas : programs) {
    for (Expr f : depth_first(formulas)) lineariser.add(f);
    lineariser.end_line(formulas);
  }
  return lineariser.finish();
}

// --- slots ---------------------------------------------------------------------------------------------------------
// Assigns slots by first fit, region by region. A value that an inner region reads outlives all steps of its own
// region, since steps are sorted by region: no other value of the region takes its memory.

namespace {

constexpr int kForever = std::numeric_limits<int>::max();

// Returns the last step that reads each slot; kForever if an output reads the slot.
std::vector<int> last_reads(const Program& program, const std::vector<Ref>& roots) {
  std::vector<int> last(program.slots.size(), -1);
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    // A group's loop reads its outside arguments again for every component, up to its fold.
    const int until = step.group < 0 ? static_cast<int>(s) : program.groups[step.group].last;
    for (const Ref& ref : step.in) {
      if (ref.from != Ref::From::slot) continue;
      const bool inside = program.slots[ref.index].region == Region::component;
      last[ref.index] = std::max(last[ref.index], inside ? static_cast<int>(s) : until);
    }
  }
  for (const Ref& root : roots)
    if (root.from == Ref::From::slot) last[root.index] = kForever;
  return last;
}

class Shelf {
 public:
  std::int64_t place(int width, int now, int until) {
    const auto dead = [&](const TakenSlot& t) { return t.until < now; };
    taken_.erase(std::remove_if(taken_.begin(), taken_.end(), dead), taken_.end());
    std::int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const TakenSlot& t : taken_)
        if (offset < t.offset + t.width && t.offset < offset + width) {
          offset = t.offset + t.width;
          moved = true;
        }
    }
    taken_.push_back({offset, width, until});
    size_ = std::max(size_, offset + width);
    return offset;
  }
  std::int64_t size() const { return size_; }

 private:
  struct TakenSlot {
    std::int64_t offset;
    int width;
    int until;
  };
  std::vector<TakenSlot> taken_;
  std::int64_t size_ = 0;
};

}  // namespace

SlotPlaces place_slots(const Program& program, const std::vector<Ref>& roots, const std::vector<int>& until) {
  std::vector<int> last = last_reads(program, roots);
  for (std::size_t k = 0; k < until.size(); ++k) last[k] = std::max(last[k], until[k]);
  SlotPlaces places;
  places.offset.resize(program.slots.size());
  Shelf shelves[kRegions];
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const int out = program.steps[s].out;
    const Slot& slot = program.slots[out];
    // A group's fold writes its result only after its loop, which began at the group's first step.
    places.offset[out] = shelves[static_cast<int>(slot.region)].place(slot.width, static_cast<int>(s), last[out]);
  }
  for (int r = 0; r < kRegions; ++r) places.memory[r] = shelves[r].size();
  return places;
}

Program assign_slots(Program program, const std::vector<Ref>& roots) {
  const SlotPlaces places = place_slots(program, roots);
  for (std::size_t k = 0; k < program.slots.size(); ++k) program.slots[k].offset = places.offset[k];
  program.memory = places.memory;
  return program;
}

// --- regions -------------------------------------------------------------------------------------------------------
// A chain of element-wise steps that only a fold reads needs no wide slots: it runs per component.

namespace {

class FoldGroups {
 public:
  FoldGroups(const Program& program, const std::vector<Ref>& roots)
      : program_(program), steps_(program.steps), is_root_(program.slots.size()), group_(steps_.size(), -1) {
    for (const Ref& root : roots)
      if (is_slot(root)) is_root_[root.index] = true;
  }

  // Returns the group of each step; a fold has the number of its own group.
  std::vector<int> groups() {
    int next = 0;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (row(steps_[s].op).form != Form::fold || fold_width(steps_[s]) == 1) continue;
      if (absorb_producers(static_cast<int>(s), next)) group_[s] = next++;
    }
    return group_;
  }

 private:
  // Takes later producers first, so that all readers of a step have been decided before it.
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

// Appends the component steps of a group and, after them, its fold.
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

// --- start ---------------------------------------------------------------------------------------------------------
// A fold whose start is computed later is moved: it runs right before the addition.

namespace {

// The most components of a fold with a start. Each component is rounded to the last digit of the start, so the error
// grows with the number of components.
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
  // Prefers a fold whose start is computed before it to a fold that must be moved.
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
  // Returns the step of a short sum with one reader; -1 if `ref` is no such sum.
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
  std::vector<int> late_;      // by step: the addition before which a moved fold runs, else -1
};

}  // namespace

Program start_folds(Program program, const std::vector<Ref>& roots) { return Starts(std::move(program), roots).find(); }

}  // namespace kernweave
