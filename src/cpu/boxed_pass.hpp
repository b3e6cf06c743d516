// One output by boxes: its units are strips of rows in the order of trees, and folding one is a walk through boxes of
// columns.
#pragma once
#include <memory>
#include <vector>
#include "cpu/box_walk.hpp"
#include "cpu/limits.hpp"
#include "cpu/pass_workers.hpp"
#include "cpu/sweep.hpp"
#include "plan/growth.hpp"

namespace kernweave {

template <class T>
class BoxedPass : public SpanFolder {
 public:
  BoxedPass(const Plan& plan, const Variant& variant, std::size_t output, const TileKernel& kernel,
            const Decision& decision);

  // Sets all out for a run. No where a trial tells that all pairs are as fast.
  bool pays(const Task& task, int threads);
  // Its units are of rows in the order of trees. Once pays() was asked.
  const Units& whole() const { return *units_; }
  Sweep& sweep() { return sweep_; }
  std::int64_t rows_of_block() const { return pass_.tiling.strip_rows() * kStripsOfTask; }

  const Pass& pass() const override { return pass_; }
  const RowShape& shape() const override { return shape_; }
  const std::int64_t* order() const override { return order_.data(); }
  void begin_spans(const Task& task, int threads, std::int64_t columns) override;
  void fold_spans(int worker, const Task& task, const Range& rows, const PairSpan* first, const PairSpan* last,
                  const StatesFrom& states, const Heartbeat& beat) override;

 private:
  Pass compiled(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel,
                const Loops& loops) const;
  std::vector<int> places(const Pass& pass, bool row) const;
  // Rows and columns of which all pairs are there. Its rows are those of units from `first` on.
  struct Part {
    Rectangle extent;
    std::int64_t first;
    std::unique_ptr<BoxedPoints<T>> rows, columns;

    const T* strip(std::int64_t row) const { return rows->panel(row - first); }
  };
  Coordinates<T> read(bool rows, int threads);
  std::vector<Rectangle> rectangles(const Restriction& restriction) const;
  void set_out(const Restriction& restriction, int threads);
  void add_part(const Rectangle& extent, int threads);
  void deal_out();
  const Part& part_with(std::int64_t row) const;
  bool most_are_faster(const Task& task);
  bool is_faster(const Range& some);
  std::int64_t in_strip(const Range& rows) const { return std::min(pass_.tiling.strip_rows(), rows.size()); }

  const Growth growth_;
  const bool always_;
  const bool conditional_;  // does the formula say which pairs there are?
  const Variant alone_;      // with that output alone
  Variant bounded_;
  const Pass pass_, of_bounds_;
  RowShape shape_;
  const RowShape no_shape_;
  PassRun run_, bounds_;
  BoxJob<T> job_;
  PassWorkers<BoxWalk<T>, BoxJob<T>> workers_;
  Sweep sweep_;
  Coordinates<T> rows_, columns_;  // of all points, as they lie
  std::vector<Part> parts_;
  std::vector<std::int64_t> order_;
  std::unique_ptr<const Units> units_;
  enum class Paid { untried, yes, no } paid_ = Paid::untried;
};

}  // namespace kernweave
