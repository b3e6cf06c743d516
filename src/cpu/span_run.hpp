// One pass over restricted pairs: units are folded by whoever has their kind of span, and what tasks leave open is
// merged in order.
#pragma once
#include <memory>
#include <vector>
#include "base/threads.hpp"
#include "cpu/outputs.hpp"
#include "pairs/units.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

// Folds rectangles of pairs into states of rows, with a worker for each thread. Those of full spans may compute in
// float32 and those of partial ones in float64: the states of rows are the same.
class SpanFolder {
 public:
  virtual ~SpanFolder() = default;
  virtual const Pass& pass() const = 0;
  virtual const RowShape& shape() const = 0;
  // `columns`: those of all blocks of rows.
  virtual void begin_spans(const Task& task, int threads, std::int64_t columns) = 0;
  virtual void fold_spans(int worker, const Range& rows, const PairSpan* first, const PairSpan* last,
                          const StatesFrom& states, const Heartbeat& beat) = 0;
};

class SpanRun {
 public:
  // Of points along the lanes: so many.
  SpanRun(SpanFolder* full, SpanFolder* partial, std::int64_t lanes) : full_(full), partial_(partial), lanes_(lanes) {}

  void run(const Task& task, int threads, const Units& units);

 private:
  // Rows of a task that begin or end in another, and all rows of a task together, where these are folded too.
  struct Open {
    Range rows;
    RowStates states;
  };
  struct Found {
    std::vector<Open> open;
    RowStates total;
  };

  void fold(int worker, const Units& units, const Unit& unit, RowStates* states, const Heartbeat& beat);
  bool folds_rows(std::size_t part) const { return shape().parts[part].output->keep == Keep::none; }
  void finish_rows(const Range& rows, RowStates* states);
  void finish_open();
  void finish_totals();
  const RowShape& shape() const { return full_->shape(); }

  SpanFolder* const full_;
  SpanFolder* const partial_;
  const std::int64_t lanes_;
  const Task* task_ = nullptr;
  std::vector<Found> found_;  // of each task
};

}  // namespace kernweave
