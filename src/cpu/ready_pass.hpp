// One pass at its sizes, and the memory that its runs work in.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>
#include "base/error.hpp"
#include "base/threads.hpp"
#include "cpu/limits.hpp"
#include "cpu/sweep.hpp"
#include "cpu/worker.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

template <class T>
class ReadyPass : public SpanFolder {
 public:
  ReadyPass(const Plan& plan, const Variant& variant, const Decision& decision, const TileKernel& kernel,
            const Pass& pass)
      : pass_(pass),
        shape_(pass_, variant, kernel),
        job_{&plan,
             &variant,
             &pass_,
             &kernel,
             &shape_,
             pass_.lanes_along_i ? decision.sizes.i : decision.sizes.j,
             pass_.lanes_along_i ? decision.sizes.j : decision.sizes.i},
        split_(split_columns(pass_.tiling, job_.lanes, job_.sweep, decision.loops.split)),
        whole_(units({0, job_.lanes}, {0, job_.sweep})),
        sweep_(this, job_.lanes),
        workers_(job_) {}

  const Pass& pass() const override { return pass_; }
  const RowShape& shape() const override { return shape_; }
  std::int64_t columns_of_split() const { return split_; }

  // Returns the units of all pairs.
  const Units& whole() const { return whole_; }
  Sweep& sweep() { return sweep_; }
  // Returns the units of these rows and columns, which begin at borders of blocks and of splits.
  Units units(const Range& rows, const Range& columns) const {
    const std::int64_t block = pass_.tiling.rows, split = std::max<std::int64_t>(split_, 1);
    internal_check(rows.from % block == 0 && (columns.size() == 0 || columns.from % split == 0), "a block from row ",
                   rows.from, " and column ", columns.from, " where ", block, " rows and ", split,
                   " columns belong together");
    return Units({{rows, columns}}, block, split);
  }

  void begin_spans(const Task& task, int threads, std::int64_t columns_met) override {
    job_.task = &task;
    workers_.begin(threads);
    const bool again = columns_met > kWorthSharing * job_.sweep;
    job_.columns = again && share_columns(threads) ? columns_.data() : nullptr;
  }
  void fold_spans(int worker, const Task& task, const Range& rows, const PairSpan* first, const PairSpan* last,
                  const StatesFrom& states, const Heartbeat& beat) override {
    TileWorker<T>& tiles = workers_[worker];
    tiles.take(task);
    tiles.block(rows, first, last, states, beat);
  }

 private:
  // Computes the values that depend on columns alone once, for all blocks of rows; false if they take too much memory.
  bool share_columns(int threads) {
    const std::int64_t wide = pass_.tiling.columns, tiles = (job_.sweep + wide - 1) / wide;
    const std::int64_t each = TileWorker<T>::panel_numbers(pass_);
    if (tiles * each * static_cast<std::int64_t>(sizeof(T)) > kSharedBytes) return false;
    columns_.resize(static_cast<std::size_t>(tiles * each));
    const auto no_progress = [&](double) { job_.task->poll(0.0); };
    share_out(threads, tiles, no_progress, [&](int worker, std::int64_t tile, const Heartbeat&) {
      workers_[worker].panel(tile * wide, job_.sweep, columns_.data() + tile * each);
    });
    return true;
  }

  const Pass pass_;
  const RowShape shape_;
  PassRun job_;
  const std::int64_t split_;
  const Units whole_;
  Sweep sweep_;
  PassWorkers<TileWorker<T>, PassRun> workers_;
  std::vector<T> columns_;
};

}  // namespace kernweave
