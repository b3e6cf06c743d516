// One step per node. A node comes right after its last argument wherever it can, so that a back end may keep the
// value at hand.
#include "plan/linearise.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "base/error.hpp"
#include "expr/show.hpp"
#include "plan/regions.hpp"

namespace kernweave {
namespace {

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

  // The variable whose values bound the row numbers. Computed row numbers have no known bound.
  int row_numbers(Expr rows) const {
    const Expr held = rows->op == Op::Gather ? rows.arg(0) : rows;
    user_check(held->op == Op::Var, Fault::index, "row numbers must be given, not computed: `", show_short(rows), "`");
    return where_.at(held.get()).index;
  }

  LinearPrograms lines_;
  LinearProgram line_;
  std::unordered_map<const Node*, Ref> where_;
};

// Arguments before users, depth first: shared arguments first, since they are kept for others anyway, and the
// one that is not shared last. No recursion: a formula may be as deep as memory allows.
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

}  // namespace kernweave
