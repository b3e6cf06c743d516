// Rows of one task alone are finished by it. What a row is made of, and in what order, units decide.
#include "cpu/span_run.hpp"

namespace kernweave {

void SpanRun::run(const Task& task, int threads, const Units& units) {
  task_ = &task;
  full_->begin_spans(task, threads, units.columns(false));
  if (partial_) partial_->begin_spans(*task.restriction.task, threads, units.columns(true));
  found_.clear();
  found_.resize(static_cast<std::size_t>(units.tasks()));
  std::vector<RowStates> of_worker(static_cast<std::size_t>(threads));
  share_out(threads, units.tasks(), task.poll, [&](int worker, std::int64_t number, const Heartbeat& beat) {
    Found& found = found_[static_cast<std::size_t>(number)];
    RowStates& states = of_worker[static_cast<std::size_t>(worker)];
    const Range mine = units.of_task(number);
    found.total.init(shape(), 1);
    bool whole = false;
    for (std::int64_t u = mine.from; u < mine.to; ++u) {
      const Unit& unit = units[u];
      if (u == mine.from || unit.begins) {
        states.init(shape(), unit.of.size());
        whole = unit.begins;
      }
      fold(worker, units, unit, &states, beat);
      if (u + 1 < mine.to && !unit.ends) continue;
      for (std::size_t p = 0; p < shape().parts.size(); ++p)
        if (folds_rows(p)) found.total.merge_rows(states, unit.of.size(), p);
      if (whole && unit.ends) {
        finish_rows(unit.of, &states);
      } else {
        found.open.push_back({unit.of, {}});
        std::swap(found.open.back().states, states);
      }
    }
  });
  finish_open();
  finish_totals();
}

// Spans are taken in order, those of a kind that lie side by side together: equal terms go to the first of them.
void SpanRun::fold(int worker, const Units& units, const Unit& unit, RowStates* states, const Heartbeat& beat) {
  const PairSpan* const end = units.end(unit);
  for (const PairSpan *first = units.begin(unit), *last = first; first != end; first = last) {
    while (last != end && last->partial == first->partial) ++last;
    const StatesFrom here{states, unit.rows.from - unit.of.from};
    (first->partial ? partial_ : full_)->fold_spans(worker, unit.rows, first, last, here, beat);
  }
}

void SpanRun::finish_rows(const Range& rows, RowStates* states) {
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (!folds_rows(p)) states->finish(p, rows.size(), rows.from, lanes_, task_->results[shape().parts[p].number]);
}

void SpanRun::finish_open() {
  Open* first = nullptr;
  for (Found& found : found_)
    for (Open& open : found.open) {
      if (first && first->rows.from == open.rows.from) {
        first->states.merge(open.states);
        continue;
      }
      if (first) finish_rows(first->rows, &first->states);
      first = &open;
    }
  if (first) finish_rows(first->rows, &first->states);
}

void SpanRun::finish_totals() {
  RowStates& all = found_.front().total;
  for (std::size_t k = 1; k < found_.size(); ++k) all.merge(found_[k].total);
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (folds_rows(p)) all.finish(p, 1, 0, 1, task_->results[shape().parts[p].number]);
}

}  // namespace kernweave
