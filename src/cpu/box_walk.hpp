// The walk of a strip of rows through a tree of boxes of columns: the nearest boxes first, and no box of which the best
// that a pair could have does not matter any more.
#pragma once
#include <functional>
#include <vector>
#include "cpu/boxed_points.hpp"

namespace kernweave {

// An axis of the boxes: where pairs find it in a panel of rows, and where bounds do in those of rows and columns.
struct BoxAxis {
  int of_pairs, of_bounds;
};

// The data that all walks of a run share.
template <class T>
struct BoxJob {
  const PassRun* pairs;
  const PassRun* bounds;  // the same formula, kept pair by pair
  std::vector<BoxAxis> axes;
  bool grows;  // with differences, or falls
  bool least;  // do the least terms matter, or those that are not 0?
  int joined = 0;  // levels of leaves that are taken as one
};

template <class T>
class BoxWalk {
 public:
  explicit BoxWalk(const BoxJob<T>& job);

  // Begins a run, before the first strip.
  void begin();
  // Returns the worker that reads data.
  TileWorker<T>& reader() { return pairs_; }
  // All that matters to a strip of rows is taken into their states, unless it is told, between two boxes, to give up.
  using GiveUp = std::function<bool()>;
  void strip(const T* rows, std::int64_t count, const BoxedPoints<T>& columns, const StatesFrom& states,
             const GiveUp& give_up = nullptr);
  // Folds the rows with all columns in boxes, in any order. Finds no result: it serves to measure the time.
  void all_columns(const T* rows, const BoxedPoints<T>& columns);

 private:
  struct Box {
    double rank;  // of the best pair it could have: the less, the better
    std::int64_t number;
    int level;
  };
  bool surround(const T* rows, std::int64_t count);
  void bound(std::int64_t first, std::int64_t count);
  void open(const Box& box);
  void fold(const Range& columns);
  void look_around(Box box);
  void note_limit();
  bool matters(double rank) const { return !(limit_ <= rank); }

  const BoxJob<T>& job_;
  TileWorker<T> pairs_, bounds_;
  std::vector<T> gaps_, zeros_;  // panels of what bounds read
  std::vector<T> least_, most_;  // corners of the rows' own box
  std::vector<Box> stack_;
  const BoxedPoints<T>* columns_ = nullptr;
  int leaf_level_ = 0;
  const T* rows_ = nullptr;
  std::int64_t count_ = 0;
  bool any_seen_ = false;
  std::int64_t looked_at_ = 0;  // columns that are looked at for a first limit; 0: none are
  StatesFrom states_{nullptr};
  double limit_ = 0;  // ranks of at least this do not matter; NaN: all do
};

}  // namespace kernweave
