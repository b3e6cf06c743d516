// Folds a list of units: each kind of span has its folder, and rows that several tasks have begun are merged in order.
// A whole pass, restricted pairs, boxes of points and blocks of the whole are lists of units.
#pragma once
#include <memory>
#include <vector>
#include "base/threads.hpp"
#include "cpu/outputs.hpp"
#include "pairs/units.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

// Folds rectangles of pairs into states of rows, with a worker for each thread. A folder of full spans may compute in
// float32 and a folder of partial spans in float64: the states of rows are the same.
class SpanFolder {
 public:
  virtual ~SpanFolder() = default;
  virtual const Pass& pass() const = 0;
  virtual const RowShape& shape() const = 0;
  // Returns the row of the results for each row of the units; null if they are the same.
  virtual const std::int64_t* order() const { return nullptr; }
  // `columns`: the columns that all blocks of rows meet; 0 if there are several tasks, whose columns differ.
  virtual void begin_spans(const Task& task, int threads, std::int64_t columns) = 0;
  virtual void fold_spans(int worker, const Task& task, const Range& rows, const PairSpan* first,
                          const PairSpan* last, const StatesFrom& states, const Heartbeat& beat) = 0;
};

// The states of some rows; or a single state of all these rows together.
struct StatesOfRows {
  Range rows;
  RowStates states;
};

// The states that a part of the units leaves, in the order of rows: states of rows and, if rows are folded too, states
// of all rows of a task together.
struct SweepStates {
  std::vector<StatesOfRows> rows, totals;

  void take(SweepStates* others);
};

class Sweep {
 public:
  // The sweep of a pass with `lanes` points along the lanes.
  Sweep(SpanFolder* full, std::int64_t lanes) : full_(full), lanes_(lanes) {}

  // Runs some units for each of some tasks, in one list. The first `own` tasks have rows of their own, which the tasks
  // after them go on with. `partial` may be null if no span is partial.
  void run(const std::vector<Task>& tasks, std::int64_t own, int threads, const Units& units, const Range& some,
           SpanFolder* partial);
  // Returns states that others go on with, instead of results: for each task with rows of its own, the states of the
  // shares of all units that begin with a unit of `some`. They are merged later, in the order of a single sweep.
  std::vector<SweepStates> keep(const std::vector<Task>& tasks, std::int64_t own, int threads, const Units& units,
                                const Range& some, SpanFolder* partial);
  // Writes results from the states of all parts, which come by rows and, for equal rows, by columns.
  void finish(const Task& task, SweepStates* all);

 private:
  struct TaskList {
    const std::vector<Task>& tasks;
    std::int64_t own;  // tasks with rows of their own; every `own`-th task has the same rows
    const Units& units;
    Range some, shares;  // the units that are folded; the tasks of the list that have them
    SpanFolder* partial;
    bool keep;
  };
  // Returns the states that each task with rows of its own leaves unfinished.
  std::vector<SweepStates> fold_all(const TaskList& list, int threads);
  void fold_share(int worker, std::int64_t number, const TaskList& list, const Heartbeat& beat);
  void fold(int worker, const TaskList& list, const Task& task, const Unit& unit, const Heartbeat& beat);
  void add_to_total(std::int64_t share, const Unit& unit, RowStates* states);
  bool folds_rows(std::size_t part) const { return shape().parts[part].output->keep == Keep::none; }
  bool folds_rows() const;
  bool keeps_rows() const;
  void finish_rows(const Task& task, const Range& rows, RowStates* states);
  void finish_totals(const Task& task, std::vector<StatesOfRows>* totals);
  const RowShape& shape() const { return full_->shape(); }

  SpanFolder* const full_;
  const std::int64_t lanes_;
  std::vector<RowStates> of_worker_;
  std::vector<std::vector<StatesOfRows>> open_;  // of each task's share of units: rows that begin or end in another
  std::vector<StatesOfRows> totals_;             // of each share
};

// Packs the states of a block of the whole as bytes, which may leave the process: equally many of each shape, one shape
// after the other.
std::vector<char> packed(const std::vector<SweepStates>& states);
std::vector<SweepStates> unpacked(const std::vector<char>& bytes, const std::vector<const RowShape*>& shapes);

}  // namespace kernweave
