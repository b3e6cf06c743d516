// Rows of one task alone are finished by it. What a row is made of, and in what order, units decide: so it makes no
// difference who has computed them, or when.
#include "cpu/sweep.hpp"

#include <algorithm>

namespace kernweave {
namespace {

// States of the same rows become one, in order. Rows come in order.
std::vector<StatesOfRows> merged(std::vector<StatesOfRows> all) {
  std::vector<StatesOfRows> out;
  for (StatesOfRows& one : all)
    if (!out.empty() && out.back().rows.from == one.rows.from) out.back().states.merge(one.states);
    else out.push_back(std::move(one));
  return out;
}

void move_to(std::vector<StatesOfRows>* all, std::vector<StatesOfRows>* some) {
  for (StatesOfRows& one : *some) all->push_back(std::move(one));
}

void put_in_order(std::vector<StatesOfRows>* all) {
  std::stable_sort(all->begin(), all->end(),
                   [](const StatesOfRows& a, const StatesOfRows& b) { return a.rows.from < b.rows.from; });
}

}  // namespace

void Sweep::run(const Task& task, int threads, const Units& units, SpanFolder* partial) {
  fold_all(task, threads, units, partial, false);
  for (StatesOfRows& rows : joined_rows()) finish_rows(rows.rows, &rows.states);
  finish_totals(&totals_);
}

SweepStates Sweep::keep(const Task& task, int threads, const Units& units) {
  fold_all(task, threads, units, nullptr, true);
  return {joined_rows(), std::move(totals_)};
}

void Sweep::finish(const Task& task, std::vector<SweepStates>* parts) {
  task_ = &task;
  SweepStates all;
  for (SweepStates& part : *parts) {
    move_to(&all.rows, &part.rows);
    move_to(&all.totals, &part.totals);
  }
  put_in_order(&all.rows);
  put_in_order(&all.totals);
  for (StatesOfRows& rows : merged(std::move(all.rows))) finish_rows(rows.rows, &rows.states);
  finish_totals(&all.totals);
}

void Sweep::fold_all(const Task& task, int threads, const Units& units, SpanFolder* partial, bool keep) {
  task_ = &task;
  full_->begin_spans(task, threads, units.columns(false));
  if (partial) partial->begin_spans(*task.restriction.task, threads, units.columns(true));
  const auto tasks = static_cast<std::size_t>(units.tasks());
  open_.clear();
  open_.resize(keep || units.shared_rows() ? tasks : 0);
  totals_.clear();
  totals_.resize(folds_rows() ? tasks : 0);
  if (of_worker_.size() < static_cast<std::size_t>(threads)) of_worker_.resize(static_cast<std::size_t>(threads));
  share_out(threads, units.tasks(), task.poll, [&](int worker, std::int64_t number, const Heartbeat& beat) {
    fold_task(worker, number, units, partial, keep, beat);
  });
}

void Sweep::fold_task(int worker, std::int64_t number, const Units& units, SpanFolder* partial, bool keep,
                      const Heartbeat& beat) {
  RowStates& states = of_worker_[static_cast<std::size_t>(worker)];
  const Range mine = units.of_task(number);
  bool whole = false;
  for (std::int64_t u = mine.from; u < mine.to; ++u) {
    const Unit& unit = units[u];
    if (u == mine.from || unit.begins) {
      states.init(shape(), unit.of.size());
      whole = unit.begins && !keep;
    }
    fold(worker, units, unit, partial, beat);
    if (u + 1 < mine.to && !unit.ends) continue;
    if (!totals_.empty()) add_to_total(number, unit, &states);
    if (whole && unit.ends) {
      finish_rows(unit.of, &states);
    } else {
      std::vector<StatesOfRows>& open = open_[static_cast<std::size_t>(number)];
      open.push_back({unit.of, {}});
      std::swap(open.back().states, states);
    }
  }
}

// Spans are taken in order, those of a kind that lie side by side together: equal terms go to the first of them.
void Sweep::fold(int worker, const Units& units, const Unit& unit, SpanFolder* partial, const Heartbeat& beat) {
  const PairSpan* const end = units.end(unit);
  for (const PairSpan *first = units.begin(unit), *last = first; first != end; first = last) {
    while (last != end && last->partial == first->partial) ++last;
    const StatesFrom here{&of_worker_[static_cast<std::size_t>(worker)], unit.rows.from - unit.of.from};
    (first->partial ? partial : full_)->fold_spans(worker, unit.rows, first, last, here, beat);
  }
}

void Sweep::add_to_total(std::int64_t task, const Unit& unit, RowStates* states) {
  StatesOfRows& total = totals_[static_cast<std::size_t>(task)];
  if (total.rows.size() == 0) total.states.init(shape(), 1);
  total.rows = {total.rows.size() == 0 ? unit.of.from : total.rows.from, unit.of.to};
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (folds_rows(p)) total.states.merge_rows(*states, unit.of.size(), p);
}

bool Sweep::folds_rows() const {
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (folds_rows(p)) return true;
  return false;
}

// What tasks have left open.
std::vector<StatesOfRows> Sweep::joined_rows() {
  std::vector<StatesOfRows> all;
  for (std::vector<StatesOfRows>& open : open_) move_to(&all, &open);
  return merged(std::move(all));
}

void Sweep::finish_rows(const Range& rows, RowStates* states) {
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (!folds_rows(p))
      states->finish(p, rows.size(), rows.from, lanes_, task_->results[shape().parts[p].number], full_->order());
}

void Sweep::finish_totals(std::vector<StatesOfRows>* totals) {
  if (!folds_rows()) return;
  RowStates all;
  all.init(shape(), 1);
  for (StatesOfRows& total : *totals)
    if (total.rows.size() > 0) all.merge(total.states);
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (folds_rows(p)) all.finish(p, 1, 0, 1, task_->results[shape().parts[p].number], nullptr);
}

}  // namespace kernweave
