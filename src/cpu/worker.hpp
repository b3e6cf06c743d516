// Runs the programs of a pass over tiles: one worker's memory, and the work on one block of rows.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>
#include "cpu/outputs.hpp"
#include "cpu/pass.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

// The data that all workers of a pass share.
struct PassRun {
  const Plan* plan;
  const Variant* variant;
  const Pass* pass;
  const TileKernel* kernel;
  const RowShape* shape;
  std::int64_t lanes, sweep;      // extents of the two axes
  const Task* task = nullptr;     // of the present run
  const void* columns = nullptr;  // panels of all tiles of the sweep axis, if they are computed once

  Point point(std::int64_t lane, std::int64_t column) const {
    return pass->lanes_along_i ? Point{lane, column} : Point{column, lane};
  }
  Axis lane_axis() const { return pass->lanes_along_i ? Axis::i : Axis::j; }
  Axis sweep_axis() const { return pass->lanes_along_i ? Axis::j : Axis::i; }
};

template <class T>
class TileWorker {
 public:
  explicit TileWorker(const PassRun& job);

  // Begins a run: computes the values that do not depend on points. take() does so for another task.
  void begin() { take_up(*job_.task); }
  void take(const Task& task) {
    if (task_ != &task) take_up(task);
  }

  // Counts the numbers in the panel of one tile of columns.
  static std::int64_t panel_numbers(const Pass& pass) { return pass.numbers_in(Space::sweep_panel); }
  // Computes the panel of the tile that begins at `column`; row_panel() computes the panel of a block of rows.
  void panel(std::int64_t column, std::int64_t end_column, T* to);
  void row_panel(std::int64_t first_row, std::int64_t rows, T* to);
  // Folds the columns of some spans into the states of some rows.
  void block(const Range& rows, const PairSpan* first, const PairSpan* last, const StatesFrom& states,
             const std::function<void()>& beat);

  // Begins one strip of rows, for callers that make panels themselves. Terms may come in any order: `names` names them.
  // A worker that folds strips folds no blocks.
  void begin_strip(const Index* names);
  // Folds columns, the first of which is term `number`.
  void fold_strip(const T* rows, const T* columns, std::int64_t count, std::int64_t number) {
    spaces_[static_cast<int>(Space::lane_panel)] = const_cast<T*>(rows);
    spaces_[static_cast<int>(Space::sweep_panel)] = const_cast<T*>(columns);
    Frame frame = frame_of(count);
    run_strip(&frame, 0, 0, number);
  }
  // Looks at columns for a bound (red/list_bound.hpp), before any column has been folded.
  void look_at_strip(const T* rows, const T* columns, std::int64_t count);
  bool looks() const;
  // Returns the limit in the lane and the state in which most terms matter; NaN if all terms matter.
  double limit() const;
  void end_strip(std::int64_t rows, bool adding, const StatesFrom& states) { flush(states, rows, adding); }
  // Returns the values of an output kept pair by pair, in the rows of the first column.
  const T* values() const {
    return spaces_[static_cast<int>(Space::pairs)] + pass_.outputs[0].values * pass_.stride(Space::pairs);
  }

 private:
  void take_up(const Task& task);
  // Tells whether the task's tables differ from the last packed tables. Tasks of one call mostly share their tables.
  bool takes_tables() {
    const std::vector<const double*> last = std::exchange(tables_, pass_.tables_of(task_->data));
    return last != tables_;
  }
  const double* centre(const Packed& p) const {
    const std::vector<double>& centre = task_->centres[p.reading.variable];
    return centre.empty() ? nullptr : centre.data();
  }
  T* space(Space s) { return spaces_[static_cast<int>(s)]; }
  // Returns the panel from a column where a strip begins.
  T* shared_panel(std::int64_t column) const {
    return const_cast<T*>(static_cast<const T*>(job_.columns)) +
           column * pass_.components[static_cast<int>(Space::sweep_panel)];
  }
  void pack_space(Space s, Axis axis, Point first, std::int64_t count, std::int64_t padded, std::int64_t place = 0);
  // Computes the panel from the packed values.
  void finish_panel(Space axis, std::int64_t padded, T* to) {
    run_along(axis == Space::lane ? pass_.lane : pass_.sweep, axis, padded);
    fill_panel(axis, padded, to);
  }
  void expect_share(std::int64_t column, std::int64_t end_column, std::int64_t strip, std::int64_t strips);
  void run_along(const std::vector<Instruction>& program, Space s, std::int64_t padded);
  void fill_panel(Space axis, std::int64_t count, T* to);
  void pack_pairs(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns);
  Frame frame_of(std::int64_t columns);
  void run_strip(Frame* frame, std::int64_t strip, std::int64_t row, std::int64_t column);
  void init_states(std::int64_t strips);
  bool looks_first(std::int64_t columns) const;
  void look(std::int64_t strips, std::int64_t first_row, std::int64_t column, std::int64_t columns);
  template <class F>
  void each_state(std::int64_t strips, F f);
  void flush(const StatesFrom& states, std::int64_t rows, bool adding);
  void multiply(std::int64_t strip, std::int64_t columns);
  void write_pairs(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns);
  Range with_own_panel(const Range& columns) const;
  // The rows that are worked on.
  struct RowBlock {
    Range rows;
    std::int64_t strips;
    StatesFrom states;
    const std::function<void()>* beat;
  };
  void tile(const RowBlock& block, std::int64_t column, std::int64_t columns, const Range& expected);
  void columns_of(const RowBlock& block, const Range& columns, bool shared);
  void take_joined(const RowBlock& block, std::int64_t columns, std::int64_t last);
  void joined_spans(const RowBlock& block, const PairSpan* first, const PairSpan* last);
  void span_alone(const RowBlock& block, const Range& columns);
  char* lane_states(std::int64_t strip) { return states_ + strip * job_.pass->lane_state_bytes; }

  const PassRun& job_;
  const Pass& pass_;
  const Task* task_ = nullptr;
  std::vector<char> memory_;
  std::vector<const double*> tables_;  // the tables that were packed last
  std::array<T*, kSpaces> spaces_{};
  T* own_panel_ = nullptr;  // of the sweep axis, if no panel is shared
  char* states_ = nullptr;
  char* storage_ = nullptr;
  char* scratch_ = nullptr;
  char* room_ = nullptr;
  bool looked_ = false;      // at the first tile of the present block
  std::int64_t unseen_ = 0;  // numbers of columns met since the last look at the clock
};

// The workers of a pass, each made by the thread that first needs it, and kept from run to run.
template <class Work, class Job>
class PassWorkers {
 public:
  explicit PassWorkers(const Job& job) : job_(job) {}

  void begin(int threads) {
    if (static_cast<int>(workers_.size()) < threads) workers_.resize(static_cast<std::size_t>(threads));
    for (const auto& worker : workers_)
      if (worker) worker->begun = false;
  }
  Work& operator[](int number) {
    std::unique_ptr<PassWorker>& worker = workers_[static_cast<std::size_t>(number)];
    if (!worker) worker = std::make_unique<PassWorker>(job_);
    if (!worker->begun) worker->work.begin();
    worker->begun = true;
    return worker->work;
  }

 private:
  struct PassWorker {
    explicit PassWorker(const Job& job) : work(job) {}
    Work work;
    bool begun = false;
  };

  const Job& job_;
  std::vector<std::unique_ptr<PassWorker>> workers_;
};

}  // namespace kernweave
