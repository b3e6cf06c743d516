// Blocks of the whole: some rows of all results, or the states that they leave, computed as the whole would be.
#include "execute/run.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace kernweave {
namespace {

// Values of pairs that do not exist are 0. A block of rows of a pair map may end after what was asked for.
void clear_rows(const Range& rows, const Output& output, const Sizes& sizes, const Result& result) {
  const std::int64_t columns = sizes.j * output.width * output.places;
  for (std::int64_t c = 0; c < columns; ++c) std::fill_n(result.values + rows.from + c * sizes.i, rows.size(), 0.0);
}

void check_rows(const Range& rows, const Grain& whole) {
  internal_check(whole.rows > 0, "rows of what is computed as a whole: ", whole.why);
  const auto border = [&](std::int64_t row) { return row == whole.all || (row >= 0 && row % whole.rows == 0); };
  internal_check(border(rows.from) && border(rows.to) && rows.from <= rows.to && rows.to <= whole.all, "rows from ",
                 rows.from + 1, " to ", rows.to, " of ", whole.all, ", of which ", whole.rows, " belong together");
}

}  // namespace

// Runs the first step, or the only step, of a call.
void Execution::run_sum(const std::vector<Task>& tasks, ResultRows* block) {
  if (block) first_->executable(prepared_.get(), host_)->run_rows(tasks, block);
  else first_->run(prepared_.get(), host_, tasks);
}

// A second step has borders of its own: it takes more rows than have a sum, and those have no results.
void Execution::run_after(std::size_t k, const std::vector<Task>& tasks, ResultRows* block) {
  PlanRun& after = *after_[k];
  if (!block) return after.run(prepared_.get(), host_, tasks);
  const Range& rows = block->found[k].range;
  if (!block->told || rows.size() == 0) return;
  const std::shared_ptr<Executable>& executable = after.executable(prepared_.get(), host_);
  const Grain grain = executable->grain();
  const std::int64_t end = (rows.to + grain.rows - 1) / grain.rows * grain.rows;
  ResultRows own{{rows.from / grain.rows * grain.rows, std::min(end, grain.all)}, block->plainly};
  executable->run_rows(tasks, &own);
  block->told = block->told && own.told;
}

bool Execution::boxes_pay(PlanRun* run, const ExistingPairs& pairs) {
  Task task = run->task(settings_, host_, std::vector<Result>(prepared_->plan.variants.back().outputs.size()));
  task.restriction.pairs = pairs;
  return run->executable(prepared_.get(), host_)->boxes_pay(task);
}

// A trial is held before others are told what to do. Several runs would each have an order of their own.
void Execution::settle_boxes() {
  const bool alone = sizes_.runs() == 1;
  const auto settle = [&](PlanRun* run, const ExistingPairs& pairs) {
    const Boxes boxes = run->decision().loops.boxes;
    if (boxes != Boxes::none && !(boxes == Boxes::always && alone)) run->settle(alone && boxes_pay(run, pairs));
  };
  if (partial_) settle(partial_.get(), {pairs_.map->whole, pairs_.swapped});
  if (after_.empty()) settle(first_.get(), pairs_);
}

// Why a call that has rows is not dealt out; empty if it is.
std::string Execution::why_whole() {
  if (sizes_.runs() == 0) return "there is nothing to compute";
  if (!after_.empty() && prepared_->plan.stages->separable) return "separable: the sums are the same for all rows";
  const Grain grain = first_->executable(prepared_.get(), host_)->grain();
  if (!grain.why.empty()) return grain.why;
  const bool special = pairs_.map || sizes_.folded > 0;
  if (grain.rows == 0 || (special && !grain.everywhere))
    return std::string("the back end ") + first_->backend().name() + " computes it as a whole";
  for (const auto& after : after_)
    if (after->executable(prepared_.get(), host_)->grain().rows == 0) return "its second step is computed as a whole";
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
  grain = (masked ? *partial_ : *first_).executable(prepared_.get(), host_)->grain();
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
    const bool more = whole.rows % run->executable(prepared_.get(), host_)->grain().rows != 0;
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
  const std::vector<Output>& outputs = prepared_->plan.variants.back().outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](const Output& o) { return o.keep == keep; });
}

std::vector<bool> Execution::read_by_rows() {
  if (keeps(Keep::i) && keeps(Keep::j)) return std::vector<bool>(operands_.size(), false);
  return read_along(keeps(Keep::j) ? Axis::j : Axis::i);
}

std::vector<bool> Execution::read_by_columns() { return read_along(keeps(Keep::j) ? Axis::i : Axis::j); }

// Calls compute() for tasks that are computed together.
void Execution::for_all(const std::vector<Result>& results, const Compute& compute) {
  if (!pairs_.map) return compute(Together{first_.get(), all_tasks(results)}, results);
  const std::vector<Output>& outputs = prepared_->plan.variants.back().outputs;
  for (std::int64_t run = 0; run < sizes_.runs(); ++run) {
    const std::vector<Result> mine = results_of(run, results);
    Together all = restricted(run, ordered_->any() ? ordered_->room(outputs, mine) : mine);
    if (partial_) all.tasks[0].restriction.task = &*all.of_partial;
    if (partial_ && partial_->decision().loops.boxes != Boxes::none) {
      all.plan = partial_.get();
      all.tasks.clear();
      all.tasks.push_back(*all.of_partial);
    }
    compute(all, mine);
  }
}

// Rows in the order of the data, of points that were put in another.
void Execution::order(ResultRows* block) const {
  const std::vector<Output>& outputs = prepared_->plan.variants.back().outputs;
  for (std::size_t k = 0; k < outputs.size(); ++k) ordered_->name(outputs[k].keep, &block->found[k]);
}

ResultRows Execution::run_rows(const Range& rows, bool plainly) {
  const Grain whole = grain();
  check_rows(rows, whole);
  internal_check(!whole.folded, "rows of a call that keeps none");
  ResultRows block{rows, plainly};
  const std::vector<Output>& outputs = prepared_->plan.variants.back().outputs;
  const std::vector<Result> results = room_for_results(false);
  if (!after_.empty())
    for (std::int64_t run = 0; run < sizes_.runs(); ++run)
      run_in_two_steps(run, false, results_of(run, results), &block);
  else
    for_all(results, [&](const Together& all, const std::vector<Result>& mine) {
      for (std::size_t k = 0; k < outputs.size(); ++k)
        if (pairs_.map && outputs[k].keep == Keep::both && all.tasks[0].results[k].values)
          clear_rows({rows.from, std::min(rows.to + whole.rows, sizes_.i)}, outputs[k], sizes_,
                     all.tasks[0].results[k]);
      const bool told = block.told;
      all.plan->executable(prepared_.get(), host_)->run_rows(all.tasks, &block);
      block.told = block.told && told;
      if (ordered_ && ordered_->any()) ordered_->put_back(outputs, mine, &block.found);
    });
  if (ordered_ && ordered_->any()) order(&block);
  return block;
}

Execution::PackedStates Execution::run_states(const Range& rows, const Range& columns) {
  const Grain whole = grain();
  check_rows(rows, whole);
  internal_check(columns.size() > 0 ? whole.columns > 0 : whole.folded, "states of a call that leaves none");
  PackedStates found;
  const std::vector<Result> nowhere(prepared_->plan.variants.back().outputs.size());
  for_all(nowhere, [&](const Together& all, const std::vector<Result>&) {
    found.push_back(all.plan->executable(prepared_.get(), host_)->run_block(all.tasks, rows, columns)->pack());
  });
  return found;
}

void Execution::finish(const std::vector<PackedStates>& in_order) {
  grain();
  std::size_t at = 0;
  for_all(room_for_results(false), [&](const Together& all, const std::vector<Result>& mine) {
    Executable& executable = *all.plan->executable(prepared_.get(), host_);
    std::vector<std::unique_ptr<States>> states;
    for (const PackedStates& block : in_order) {
      user_check(at < block.size(), Fault::input, "blocks of another call");
      states.push_back(executable.unpack(block[at]));
    }
    ++at;
    executable.finish(all.tasks, std::move(states));
    if (ordered_ && ordered_->any()) ordered_->put_back(prepared_->plan.variants.back().outputs, mine);
  });
}

}  // namespace kernweave
