// Sweeps over units, and packs states as bytes. A task finishes the rows that it alone has. The units decide the terms
// of a row and their order, so it makes no difference who has computed the terms, or when.
#include "cpu/sweep.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace kernweave {
namespace {

// Merges states of equal rows, in order. `all` is in the order of rows.
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

void SweepStates::take(SweepStates* others) {
  move_to(&rows, &others->rows);
  move_to(&totals, &others->totals);
}

void Sweep::run(const std::vector<Task>& tasks, std::int64_t own, int threads, const Units& units, const Range& some,
                SpanFolder* partial) {
  std::vector<SweepStates> left = fold_all({tasks, own, units, some, units.tasks_with(some), partial, false}, threads);
  for (std::size_t k = 0; k < left.size(); ++k) finish(tasks[k], &left[k]);
}

std::vector<SweepStates> Sweep::keep(const std::vector<Task>& tasks, std::int64_t own, int threads, const Units& units,
                                     const Range& some, SpanFolder* partial) {
  return fold_all({tasks, own, units, {0, units.size()}, units.tasks_from(some), partial, true}, threads);
}

void Sweep::finish(const Task& task, SweepStates* all) {
  put_in_order(&all->rows);
  put_in_order(&all->totals);
  for (StatesOfRows& rows : merged(std::move(all->rows))) finish_rows(task, rows.rows, &rows.states);
  if (folds_rows()) finish_totals(task, &all->totals);
}

std::vector<SweepStates> Sweep::fold_all(const TaskList& list, int threads) {
  const Task& first = list.tasks[0];
  // Columns that were computed ahead lie in tiles that begin elsewhere than spans: with restricted pairs, the columns
  // that all units meet decide.
  const auto all_units = static_cast<double>(std::max<std::int64_t>(list.units.size(), 1));
  const double part = first.restriction.pairs.map ? 1 : static_cast<double>(list.some.size()) / all_units;
  const auto met = [&](bool partial) {
    return static_cast<std::int64_t>(part * static_cast<double>(list.units.columns(partial)));
  };
  full_->begin_spans(first, threads, list.tasks.size() == 1 ? met(false) : 0);
  if (list.partial) list.partial->begin_spans(*first.restriction.task, threads, met(true));
  const std::int64_t shares = list.shares.size() * list.own;
  open_.clear();
  open_.resize(static_cast<std::size_t>(list.keep || list.units.shared_rows() ? shares : 0));
  totals_.clear();
  totals_.resize(static_cast<std::size_t>(folds_rows() ? shares : 0));
  if (of_worker_.size() < static_cast<std::size_t>(threads)) of_worker_.resize(static_cast<std::size_t>(threads));
  const auto count = static_cast<double>(list.own);
  share_out(threads, shares, [&](double share) { first.poll(share * count); },
            [&](int worker, std::int64_t number, const Heartbeat& beat) { fold_share(worker, number, list, beat); });
  std::vector<SweepStates> left(static_cast<std::size_t>(list.own));
  for (std::int64_t t = 0; t < shares; ++t) {
    SweepStates& of_task = left[static_cast<std::size_t>(t / list.shares.size())];
    if (!open_.empty()) move_to(&of_task.rows, &open_[static_cast<std::size_t>(t)]);
    if (!totals_.empty()) of_task.totals.push_back(std::move(totals_[static_cast<std::size_t>(t)]));
  }
  return left;
}

void Sweep::fold_share(int worker, std::int64_t number, const TaskList& list, const Heartbeat& beat) {
  RowStates& states = of_worker_[static_cast<std::size_t>(worker)];
  const Units& units = list.units;
  const auto first = static_cast<std::size_t>(number / list.shares.size()), own = static_cast<std::size_t>(list.own);
  Range mine = units.of_task(list.shares.from + number % list.shares.size());
  mine = {std::max(mine.from, list.some.from), std::min(mine.to, list.some.to)};
  bool whole = false;
  for (std::int64_t u = mine.from; u < mine.to; ++u) {
    const Unit& unit = units[u];
    if (u == mine.from || unit.begins) {
      states.init(shape(), unit.of.size());
      whole = unit.begins && !list.keep;
    }
    for (std::size_t k = first; k < list.tasks.size(); k += own) fold(worker, list, list.tasks[k], unit, beat);
    if (u + 1 < mine.to && !unit.ends) continue;
    if (!totals_.empty()) add_to_total(number, unit, &states);
    if (whole && unit.ends) {
      finish_rows(list.tasks[first], unit.of, &states);
    } else if (keeps_rows()) {
      std::vector<StatesOfRows>& open = open_[static_cast<std::size_t>(number)];
      open.push_back({unit.of, {}});
      std::swap(open.back().states, states);
    }
  }
}

// Takes spans in order, adjacent spans of one kind together: among equal terms, the first one wins.
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

void Sweep::finish_rows(const Task& task, const Range& rows, RowStates* states) {
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (!folds_rows(p))
      states->finish(p, rows.size(), rows.from, lanes_, task.results[shape().parts[p].number], full_->order());
}

void Sweep::finish_totals(const Task& task, std::vector<StatesOfRows>* totals) {
  RowStates all;
  all.init(shape(), 1);
  for (StatesOfRows& total : *totals)
    if (total.rows.size() > 0) all.merge(total.states);
  for (std::size_t p = 0; p < shape().parts.size(); ++p)
    if (folds_rows(p)) all.finish(p, 1, 0, 1, task.results[shape().parts[p].number], nullptr);
}

// --- states as bytes ------------------------------------------------------------------------------------------------
// A state with storage of its own holds addresses in it. Their places are found by trial: two states that begin at
// different addresses differ in these words alone.

namespace {

using Word = std::int64_t;

// Returns the words of a state that are addresses.
std::vector<std::int64_t> addresses_in(const StateKernel& kernel, int places) {
  const std::int64_t words = kernel.row_bytes / 8, storage = kernel.row_storage(places);
  if (storage == 0) return {};
  const auto begun = [&](std::vector<Word>* room, Word* base) {
    room->assign(static_cast<std::size_t>(words + storage / 8 + 1), 0);
    *base = reinterpret_cast<Word>(room->data() + words);
    kernel.row_init(room->data(), 1, room->data() + words, places);
  };
  std::vector<Word> one, other;
  Word at = 0, there = 0;
  begun(&one, &at);
  begun(&other, &there);
  std::vector<std::int64_t> found;
  for (std::int64_t w = 0; w < words; ++w)
    if (one[static_cast<std::size_t>(w)] - other[static_cast<std::size_t>(w)] == at - there) found.push_back(w);
  return found;
}

template <class Value>
void add(const Value& value, std::vector<char>* to) {
  const char* const bytes = reinterpret_cast<const char*>(&value);
  to->insert(to->end(), bytes, bytes + sizeof value);
}
template <class Value>
const char* take(const char* from, Value* value) {
  std::memcpy(value, from, sizeof *value);
  return from + sizeof *value;
}

void add_all(const std::vector<StatesOfRows>& all, std::vector<char>* to) {
  add(static_cast<Word>(all.size()), to);
  for (const StatesOfRows& one : all) {
    add(one.rows, to);
    one.states.pack(to);
  }
}
const char* take_all(const char* from, const RowShape& shape, std::vector<StatesOfRows>* all) {
  Word count = 0;
  from = take(from, &count);
  all->resize(static_cast<std::size_t>(count));
  for (StatesOfRows& one : *all) {
    from = take(from, &one.rows);
    from = one.states.unpack(from, shape);
  }
  return from;
}

}  // namespace

// Turns each state's addresses, in `memory` (memory_ or a copy), into distances from its own storage here, or back.
void RowStates::shift_addresses(std::vector<std::int64_t>* memory, std::int64_t sign) const {
  for (std::size_t p = 0; p < shape_->parts.size(); ++p) {
    const RowShape::OutputState& part = shape_->parts[p];
    const std::vector<std::int64_t> addresses = addresses_in(*part.kernel, part.output->places);
    for (std::int64_t s = 0; s < rows_ * part.output->width && !addresses.empty(); ++s) {
      const Word storage = reinterpret_cast<Word>(memory_.data()) + storage_[p] + s * part.storage;
      Word* const state = memory->data() + (first_[p] + s * part.kernel->row_bytes) / static_cast<Word>(sizeof(Word));
      for (std::int64_t w : addresses) state[w] += sign * storage;
    }
  }
}

void RowStates::pack(std::vector<char>* to) const {
  add(static_cast<Word>(shape_ ? rows_ : -1), to);
  if (!shape_) return;
  std::vector<Word> memory = memory_;
  shift_addresses(&memory, -1);
  const char* const from = reinterpret_cast<const char*>(memory.data());
  to->insert(to->end(), from, from + memory.size() * sizeof(Word));
}

const char* RowStates::unpack(const char* from, const RowShape& shape) {
  Word rows = 0;
  from = take(from, &rows);
  if (rows < 0) return from;
  init(shape, rows);
  std::memcpy(memory_.data(), from, memory_.size() * sizeof(Word));
  shift_addresses(&memory_, 1);
  return from + memory_.size() * sizeof(Word);
}

std::vector<char> packed(const std::vector<SweepStates>& states) {
  std::vector<char> bytes;
  add(Word{0}, &bytes);
  add(static_cast<Word>(states.size()), &bytes);
  for (const SweepStates& one : states) {
    add_all(one.rows, &bytes);
    add_all(one.totals, &bytes);
  }
  const auto size = static_cast<Word>(bytes.size());
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes;
}

std::vector<SweepStates> unpacked(const std::vector<char>& bytes, const std::vector<const RowShape*>& shapes) {
  Word count = 0, size = 0;
  if (bytes.size() >= 2 * sizeof size) take(bytes.data(), &size);
  user_check(size > 0 && size == static_cast<Word>(bytes.size()), Fault::input, "damaged states of a block of rows");
  const char* from = take(bytes.data() + sizeof size, &count);
  std::vector<SweepStates> all(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < all.size(); ++k) {
    const RowShape& shape = *shapes[k * shapes.size() / all.size()];
    from = take_all(from, shape, &all[k].rows);
    from = take_all(from, shape, &all[k].totals);
  }
  return all;
}

}  // namespace kernweave
