// Computes one output by boxes: its units are strips of rows in the order of trees, and a unit is folded by a walk
// through boxes of columns.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <vector>
#include "cpu/limits.hpp"
#include "cpu/sweep.hpp"
#include "cpu/worker.hpp"
#include "pairs/box_tree.hpp"
#include "plan/growth.hpp"

namespace kernweave {

// --- boxed points ---------------------------------------------------------------------------------------------------
// Holds the values that pairs read of the points of an axis, in the order of a tree of boxes.

// The layout of a panel: `wide` points side by side, of `components` components each.
struct PanelShape {
  std::int64_t wide;
  int components;

  std::int64_t place(std::int64_t point, int component) const {
    return (point / wide * components + component) * wide + point % wide;
  }
};

// A part of the value that depends on the columns alone: its place in the pairs' panel of columns and in the bounds'
// panel of rows; and whether its largest or its smallest number in a box makes the best pair.
struct BoxPart {
  int of_pairs, of_bounds;
  bool largest;
};

template <class T>
class BoxedPoints {
 public:
  // `values`: the numbers of each component of the panel, in the order of the data; the tree has the points from
  // `first` on. Boxes and strips begin at multiples of `grain`.
  BoxedPoints(const Coordinates<T>& values, std::int64_t first, const PanelShape& shape,
              std::shared_ptr<const BoxTree<T>> tree, std::int64_t grain, const std::vector<BoxPart>& parts);

  const BoxTree<T>& tree() const { return *tree_; }

  // The places of points: points in boxes lie from 0 on, as the tree numbers them, other points from `others` on.
  Range boxed() const { return {0, tree_->boxed()}; }
  Range others() const {
    return {first_other_, first_other_ + static_cast<std::int64_t>(tree_->order().size()) - tree_->boxed()};
  }
  // Returns the panel from a place where a strip begins.
  const T* panel(std::int64_t place) const { return panel_.data() + place * shape_.components; }
  // The names of terms: rows of the data by place, both counted from 1.
  const std::vector<Index>& names() const { return names_; }
  // Returns, by box, the best number of a part that pairs of the box can have; NaN if it is unknown.
  const T* best(std::size_t part) const { return best_[part].data(); }

 private:
  void bound_part(const std::vector<T>& numbers, const std::vector<std::int64_t>& rows, std::int64_t first,
                  bool largest);

  PanelShape shape_;
  std::shared_ptr<const BoxTree<T>> tree_;
  Coordinates<T> best_;
  std::int64_t first_other_ = 0;
  std::vector<T> panel_;
  std::vector<Index> names_;
};

// Tells whether the numbers are equal, bit for bit.
template <class T>
bool same_numbers(const Coordinates<T>& a, const Coordinates<T>& b);

// Returns some components of some points.
template <class T>
Coordinates<T> part_of(const Coordinates<T>& values, const std::vector<int>& components, const Range& points);

// --- box_walk.cpp ---------------------------------------------------------------------------------------------------
// Walks a strip of rows through a tree of boxes of columns: nearest boxes first. Skips a box if its best possible pair
// does not matter any more.

// An axis of the boxes: its place in the pairs' panel of rows, and in the bounds' panels of rows and columns.
struct BoxAxis {
  int of_pairs, of_bounds;
};

// The data that all walks of a run share.
template <class T>
struct BoxJob {
  const PassRun* pairs;
  const PassRun* bounds;  // the same formula, kept pair by pair
  std::vector<BoxAxis> axes;
  bool grows;  // does the value grow with differences, or fall?
  bool least;  // do the least terms matter, or the terms that are not 0?
  int joined = 0;  // levels of leaves that are taken as one
  bool exponents = false;  // are exponentials added up, so that the largest matter?
  std::vector<BoxPart> parts{};
};

template <class T>
class BoxWalk {
 public:
  explicit BoxWalk(const BoxJob<T>& job);

  // Begins a run, before the first strip.
  void begin();
  // Returns the worker that reads data.
  TileWorker<T>& reader() { return pairs_; }
  // Takes all terms that matter to a strip of rows into its states. Stops if `give_up`, called between boxes, says so.
  using GiveUp = std::function<bool()>;
  void strip(const T* rows, std::int64_t count, const BoxedPoints<T>& columns, const StatesFrom& states,
             const GiveUp& give_up = nullptr);
  // Returns the number of columns that the last strip has looked at.
  std::int64_t seen() const { return seen_; }
  // Folds the rows with all columns in boxes, in any order. Finds no result: it serves to measure the time.
  void all_columns(const T* rows, const BoxedPoints<T>& columns);

 private:
  struct OpenBox {
    double rank;  // of the best pair it could have: the less, the better
    std::int64_t number;
    int level;
  };
  bool surround(const T* rows, std::int64_t count);
  void bound(std::int64_t first, std::int64_t count);
  bool parts_known(std::int64_t box) const;
  void open(const OpenBox& box);
  void fold(const Range& columns);
  void flush();
  void look_around(OpenBox box);
  void note_limit();
  double limit_of_sums();
  bool matters(double rank) const { return rank == -HUGE_VAL || !(limit_ <= rank); }

  const BoxJob<T>& job_;
  TileWorker<T> pairs_, bounds_;
  std::vector<T> gaps_, zeros_;  // panels that bounds read
  std::vector<T> least_, most_;  // corners of the rows' own box
  std::vector<OpenBox> stack_;
  const BoxedPoints<T>* columns_ = nullptr;
  int leaf_level_ = 0;
  const T* rows_ = nullptr;
  std::int64_t count_ = 0;
  bool any_seen_ = false;
  std::int64_t looked_at_ = 0;  // columns that are looked at for a first limit; 0: none are
  StatesFrom states_{nullptr};
  double limit_ = 0;  // ranks of at least this do not matter; NaN: all do
  std::int64_t seen_ = 0, flushed_ = 0;  // columns of the strip that were folded, and that reached the row states
  std::vector<double> sums_;  // the sums of rows, and their row numbers, which are unused
  std::vector<long long> no_numbers_;
};

template <class T>
class BoxedPass : public SpanFolder {
 public:
  BoxedPass(const Plan& plan, const Variant& variant, std::size_t output, const TileKernel& kernel,
            const Decision& decision);

  // Prepares a run. Returns false if a trial shows that all pairs are as fast.
  bool pays(const Task& task, int threads);
  // Returns the units, of rows in the order of trees. Valid after a call of pays().
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
  std::vector<int> places(const Pass& pass, bool row) const;
  std::vector<int> axes(bool row) const;
  std::shared_ptr<const BoxTree<T>> tree(const Coordinates<T>& points, int threads);
  // Rows and columns whose pairs all exist. Its rows are the rows of units from `first` on.
  struct BoxedRectangle {
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
  const BoxedRectangle& part_with(std::int64_t row) const;
  bool most_are_faster(const Task& task);
  bool is_faster(const Range& some);
  bool passes_over(const Range& some);
  std::int64_t in_strip(const Range& rows) const { return std::min(pass_.tiling.strip_rows(), rows.size()); }

  const Growth growth_;
  const bool always_;
  const bool conditional_;  // does the formula say which pairs exist?
  const Variant alone_;      // the variant with this output alone
  Plan plan_of_bounds_;      // its parts are variables of rows, since boxes are rows
  Variant bounded_;
  const Pass pass_, of_bounds_;
  RowShape shape_;
  const RowShape no_shape_;
  PassRun run_, bounds_;
  BoxJob<T> job_;
  PassWorkers<BoxWalk<T>, BoxJob<T>> workers_;
  Sweep sweep_;
  Coordinates<T> rows_, columns_;  // of all points, in the order of the data
  std::vector<BoxedRectangle> parts_;
  std::vector<std::int64_t> order_;
  std::unique_ptr<const Units> units_;
  // The trees that were made last, for other parts of the same points.
  struct KeptTree {
    Coordinates<T> points;
    std::shared_ptr<const BoxTree<T>> tree;
  };
  std::list<KeptTree> trees_;
  int trees_made_ = 0;
  enum class Paid { untried, yes, no } paid_ = Paid::untried;
  int other_parts_ = 0;  // times that parts changed and points did not
};

}  // namespace kernweave
