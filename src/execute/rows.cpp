// Blocks of a call: some rows of all results, or their states, equal bit for bit to the rows of the whole call.
#include "execute/run.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace kernweave {
namespace {

void check_rows(const Range& rows, const Grain& whole) {
  internal_check(whole.rows > 0, "rows of what is computed as a whole: ", whole.why);
  const auto border = [&](std::int64_t row) { return row == whole.all || (row >= 0 && row % whole.rows == 0); };
  internal_check(border(rows.from) && border(rows.to) && rows.from <= rows.to && rows.to <= whole.all, "rows from ",
                 rows.from + 1, " to ", rows.to, " of ", whole.all, ", of which ", whole.rows, " belong together");
}

}  // namespace

bool Execution::boxes_pay(PlanRun* run, const ExistingPairs& pairs) {
  Task task = run->task(settings_, host_, std::vector<Result>(outputs().size()));
  task.restriction.pairs = pairs;
  return executable_of(run).boxes_pay(task);
}

// Holds the trial of boxes before blocks are given to other processes. Several runs go without boxes, since each would
// have its own order of points.
void Execution::settle_boxes() {
  const bool alone = sizes_.runs() == 1;
  const auto settle = [&](PlanRun* run, const ExistingPairs& pairs) {
    const Boxes boxes = run->decision().loops.boxes;
    if (boxes != Boxes::none && !(boxes == Boxes::always && alone)) run->settle(alone && boxes_pay(run, pairs));
  };
  if (partial_) settle(partial_.get(), {pairs_.map->whole, pairs_.swapped});
  if (after_.empty()) settle(first_.get(), pairs_);
}

// Tells why a call is not divided into blocks; empty if it is.
std::string Execution::why_whole() {
  if (sizes_.runs() == 0) return "there is nothing to compute";
  if (!after_.empty() && kept_->plan.stages->separable()) return "separable: the sums are the same for all rows";
  const Grain grain = executable_of(first_.get()).grain();
  if (!grain.why.empty()) return grain.why;
  const bool special = pairs_.map || sizes_.folded > 0;
  if (grain.rows == 0 || (special && !grain.everywhere))
    return std::string("the back end ") + first_->backend().name() + " computes it as a whole";
  for (const auto& after : after_)
    if (executable_of(after.get()).grain().rows == 0) return "its second step is computed as a whole";
  if (grain.folded && !after_.empty()) return "sums over all pairs, which a second step goes on with";
  return "";
}

Grain Execution::grain() {
  decide();
  settle_boxes();
  Grain grain;
  grain.why = why_whole();
  if (!grain.why.empty()) return grain;
  const bool masked = partial_ && partial_->decision().loops.boxes != Boxes::none;
  grain = executable_of(masked ? partial_.get() : first_.get()).grain();
  if (!after_.empty() || sizes_.runs() != 1 || keeps(Keep::both)) grain.columns = 0;
  return grain;
}

// Tells which operands are read along the axis alone: none if points are in another order (boxes, restricted pairs), if
// a step takes more rows than a block has, or if results are kept along both axes. Row numbers are read before.
std::vector<bool> Execution::read_along(Axis axis) {
  const Grain whole = grain();
  const std::vector<bool> none(operands_.size(), false);
  if (whole.rows == 0 || pairs_.map) return none;
  std::vector<bool> alone(operands_.size());
  for (std::size_t k = 0; k < alone.size(); ++k) alone[k] = operands_[k].outer.empty();
  std::vector<PlanRun*> steps = others();
  steps.push_back(first_.get());
  for (PlanRun* run : steps) {
    const bool more = whole.rows % executable_of(run).grain().rows != 0;
    if (more || run->decision().loops.boxes != Boxes::none) return none;
    const std::vector<Variable>& variables = run->plan.variables;
    const auto is_read = [&](std::size_t v, bool elsewhere) {
      const int operand = variables[v].operand;
      if (has_operand(variables[v]) && operand < Variable::kResults && elsewhere)
        alone[static_cast<std::size_t>(operand)] = false;
    };
    for (std::size_t v = 0; v < variables.size(); ++v) is_read(v, variables[v].axis != axis || !run->plan.direct[v]);
    for (const GatherBound& bound : run->plan.gathers) is_read(static_cast<std::size_t>(bound.rows), true);
  }
  return alone;
}

bool Execution::keeps(Keep keep) const {
  return std::any_of(outputs().begin(), outputs().end(), [&](const Output& o) { return o.keep == keep; });
}

std::vector<bool> Execution::read_by_rows() {
  if (keeps(Keep::i) && keeps(Keep::j)) return std::vector<bool>(operands_.size(), false);
  return read_along(keeps(Keep::j) ? Axis::j : Axis::i);
}

std::vector<bool> Execution::read_by_columns() { return read_along(keeps(Keep::j) ? Axis::i : Axis::j); }

// Computes a block of rows; the rows found have numbers in the order of the data.
ResultRows Execution::run_rows(const Range& rows, bool plainly) {
  const Grain whole = grain();
  check_rows(rows, whole);
  internal_check(!whole.folded, "rows of a call that keeps none");
  ResultRows block{rows, plainly};
  compute(room_for_results(false), false, &block);
  for (std::size_t k = 0; k < outputs().size() && ordered(); ++k) ordered_->name(outputs()[k].keep, &block.found[k]);
  return block;
}

Execution::PackedStates Execution::run_states(const Range& rows, const Range& columns) {
  const Grain whole = grain();
  check_rows(rows, whole);
  internal_check(columns.size() > 0 ? whole.columns > 0 : whole.folded, "states of a call that leaves none");
  PackedStates found;
  for_all(std::vector<Result>(outputs().size()), nullptr, [&](Executable& executable, const Tasks& tasks) {
    found.push_back(executable.states(tasks, rows, columns));
  });
  return found;
}

void Execution::finish(const std::vector<PackedStates>& in_order) {
  grain();
  std::size_t at = 0;
  for_all(room_for_results(false), nullptr, [&](Executable& executable, const Tasks& tasks) {
    std::vector<const std::vector<char>*> states;
    for (const PackedStates& block : in_order) {
      user_check(at < block.size(), Fault::input, "blocks of another call");
      states.push_back(&block[at]);
    }
    ++at;
    executable.finish(tasks, states);
  });
}

}  // namespace kernweave
