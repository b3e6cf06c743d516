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
  const TaskList list{&task, 1, 1, units, {0, units.size()}, {0, units.tasks()}, partial, false};
  fold_all(list, threads);
  finish_all(list);
}

Sweep::TaskList Sweep::all_of(const std::vector<Task>& tasks, std::int64_t own, const Units& units,
                              SpanFolder* partial) {
  const auto all = static_cast<std::int64_t>(tasks.size());
  return {tasks.data(), own, all / own, units, {0, units.size()}, {0, units.tasks()}, partial, false};
}

void Sweep::run_all(const std::vector<Task>& tasks, std::int64_t own, int threads, const Units& units,
                    const Range& some, SpanFolder* partial) {
  TaskList list = all_of(tasks, own, units, partial);
  list.some = some;
  list.shares = units.tasks_with(some);
  fold_all(list, threads);
  finish_all(list);
}

std::vector<SweepStates> Sweep::keep(const std::vector<Task>& tasks, std::int64_t own, int threads, const Units& units,
                                     const Range& some, SpanFolder* partial) {
  TaskList list = all_of(tasks, own, units, partial);
  list.shares = units.tasks_from(some);
  list.keep = true;
  fold_all(list, threads);
  std::vector<SweepStates> all;
  const std::int64_t shares = list.shares.size();
  for (std::int64_t k = 0; k < own; ++k) {
    SweepStates& here = all.emplace_back();
    for (std::int64_t t = k * shares; t < (k + 1) * shares; ++t) {
      move_to(&here.rows, &open_[static_cast<std::size_t>(t)]);
      if (!totals_.empty()) here.totals.push_back(std::move(totals_[static_cast<std::size_t>(t)]));
    }
  }
  return all;
}

void Sweep::finish(const Task& task, std::vector<SweepStates>* parts) {
  SweepStates all;
  for (SweepStates& part : *parts) {
    move_to(&all.rows, &part.rows);
    move_to(&all.totals, &part.totals);
  }
  put_in_order(&all.rows);
  put_in_order(&all.totals);
  for (StatesOfRows& rows : merged(std::move(all.rows))) finish_rows(task, rows.rows, &rows.states);
  if (folds_rows()) finish_totals(task, all.totals.data(), all.totals.data() + all.totals.size());
}

void Sweep::fold_all(const TaskList& list, int threads) {
  const Task& first = list.tasks[0];
  // Columns that were computed ahead lie in tiles that begin elsewhere than spans: of restricted pairs what all units
  // meet decides.
  const auto all_units = static_cast<double>(std::max<std::int64_t>(list.units.size(), 1));
  const double part = first.restriction.pairs.map ? 1 : static_cast<double>(list.some.size()) / all_units;
  const auto met = [&](bool partial) {
    return static_cast<std::int64_t>(part * static_cast<double>(list.units.columns(partial)));
  };
  full_->begin_spans(first, threads, list.count * list.together == 1 ? met(false) : 0);
  if (list.partial) list.partial->begin_spans(*first.restriction.task, threads, met(true));
  const std::int64_t shares = list.shares.size() * list.count;
  open_.clear();
  open_.resize(static_cast<std::size_t>(list.keep || list.units.shared_rows() ? shares : 0));
  totals_.clear();
  totals_.resize(static_cast<std::size_t>(folds_rows() ? shares : 0));
  if (of_worker_.size() < static_cast<std::size_t>(threads)) of_worker_.resize(static_cast<std::size_t>(threads));
  const auto count = static_cast<double>(list.count);
  share_out(threads, shares, [&](double share) { first.poll(share * count); },
            [&](int worker, std::int64_t number, const Heartbeat& beat) { fold_share(worker, number, list, beat); });
}

void Sweep::fold_share(int worker, std::int64_t number, const TaskList& list, const Heartbeat& beat) {
  RowStates& states = of_worker_[static_cast<std::size_t>(worker)];
  const Units& units = list.units;
  const Task& task = list.tasks[number / list.shares.size()];
  Range mine = units.of_task(list.shares.from + number % list.shares.size());
  mine = {std::max(mine.from, list.some.from), std::min(mine.to, list.some.to)};
  bool whole = false;
  for (std::int64_t u = mine.from; u < mine.to; ++u) {
    const Unit& unit = units[u];
    if (u == mine.from || unit.begins) {
      states.init(shape(), unit.of.size());
      whole = unit.begins && !list.keep;
    }
    for (std::int64_t k = 0; k < list.together; ++k) fold(worker, list, (&task)[k * list.count], unit, beat);
    if (u + 1 < mine.to && !unit.ends) continue;
    if (!totals_.empty()) add_to_total(number, unit, &states);
    if (whole && unit.ends) {
      finish_rows(task, unit.of, &states);
    } else if (keeps_rows()) {
      std::vector<StatesOfRows>& open = open_[static_cast<std::size_t>(number)];
      open.push_back({unit.of, {}});
      std::swap(open.back().states, states);
    }
  }
}

// Spans are taken in order, those of a kind that lie side by side together: equal terms go to the first of them.
void Sweep::fold(int worker, const TaskList& list, const Task& task, const Unit& unit, const Heartbeat& beat) {
  const PairSpan* const end = list.units.end(unit);
  for (const PairSpan *first = list.units.begin(unit), *last = first; first != end; first = last) {
    while (last != end && last->partial == first->partial) ++last;
    const StatesFrom here{&of_worker_[static_cast<std::size_t>(worker)], unit.rows.from - unit.of.from};
    if (first->partial) list.partial->fold_spans(worker, *task.restriction.task, unit.rows, first, last, here, beat);
    else full_->fold_spans(worker, task, unit.rows, first, last, here, beat);
  }
}

void Sweep::add_to_total(std::int64_t share, const Unit& unit, RowStates* states) {
  StatesOfRows& total = totals_[static_cast<std::size_t>(share)];
  if (total.rows.size() == 0) total.states.init(shape(), 1);
  total.rows = {total.rows.size() == 0 ? unit.of.from : total.rows.from, unit.of.to};
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (folds_rows(p)) total.states.merge_rows(*states, unit.of.size(), p);
}

bool Sweep::keeps_rows() const {
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (!folds_rows(p)) return true;
  return false;
}
bool Sweep::folds_rows() const {
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (folds_rows(p)) return true;
  return false;
}

// Finishes the open rows of each task, and its totals.
void Sweep::finish_all(const TaskList& list) {
  const std::int64_t shares = list.shares.size();
  for (std::int64_t k = 0; k < list.count; ++k) {
    const Task& task = list.tasks[k];
    std::vector<StatesOfRows>* const open = open_.empty() ? nullptr : open_.data() + k * shares;
    for (StatesOfRows& rows : joined_rows(open, open ? open + shares : nullptr))
      finish_rows(task, rows.rows, &rows.states);
    if (folds_rows()) finish_totals(task, totals_.data() + k * shares, totals_.data() + (k + 1) * shares);
  }
}

std::vector<StatesOfRows> Sweep::joined_rows(std::vector<StatesOfRows>* first, std::vector<StatesOfRows>* end) {
  std::vector<StatesOfRows> all;
  for (; first != end; ++first) move_to(&all, first);
  return merged(std::move(all));
}

void Sweep::finish_rows(const Task& task, const Range& rows, RowStates* states) {
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (!folds_rows(p))
      states->finish(p, rows.size(), rows.from, lanes_, task.results[shape().parts[p].number], full_->order());
}

void Sweep::finish_totals(const Task& task, StatesOfRows* first, StatesOfRows* end) {
  RowStates all;
  all.init(shape(), 1);
  for (; first != end; ++first)
    if (first->rows.size() > 0) all.merge(first->states);
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (folds_rows(p)) all.finish(p, 1, 0, 1, task.results[shape().parts[p].number], nullptr);
}

}  // namespace kernweave
