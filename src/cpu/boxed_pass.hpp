// One output by boxes: rows and columns in the order of trees, strip by strip.
#pragma once
#include <deque>
#include <memory>
#include <vector>
#include "base/threads.hpp"
#include "cpu/box_walk.hpp"
#include "plan/growth.hpp"

namespace kernweave {

template <class T>
class BoxedPass {
 public:
  BoxedPass(const Plan& plan, const Variant& variant, std::size_t output, const TileKernel& kernel,
            const Decision& decision);
  ~BoxedPass();

  // Sets all out for a run. No where a trial tells that all pairs are as fast.
  bool pays(const Task& task, int threads);
  void run(const Task& task, int threads);

 private:
  struct Worker {
    explicit Worker(const BoxJob<T>& job) : walk(job) {}
    BoxWalk<T> walk;
    RowStates states;
    bool begun = false;
  };
  Pass compiled(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel,
                const Loops& loops) const;
  std::vector<int> places(const Pass& pass, bool row) const;
  Worker& worker(int number);
  // Rows and columns of which all pairs are there.
  struct Part {
    Rectangle extent;
    std::unique_ptr<BoxedPoints<T>> rows, columns;
  };
  // Some strips of a part.
  struct Strips {
    const Part* part;
    Range places;
  };
  Coordinates<T> read(bool rows, int threads);
  std::vector<Rectangle> rectangles(const Restriction& restriction) const;
  void set_out(const Restriction& restriction, int threads);
  void add_part(const Rectangle& extent, int threads);
  void deal_out(const Part& part, const Range& places);
  bool most_are_faster(const Task& task);
  bool is_faster(const Strips& some);
  void strip(Worker* worker, const Strips& strips, std::int64_t place, RowStates* total);
  bool folds_rows() const { return shape_.parts[0].output->keep == Keep::none; }

  const std::size_t number_;  // of the output
  const Growth growth_;
  const bool always_;
  const bool conditional_;  // does the formula say which pairs there are?
  const Variant alone_;      // with that output alone
  Variant bounded_;
  const Pass pass_, of_bounds_;
  const RowShape shape_, no_shape_;
  PassRun run_, bounds_;
  BoxJob<T> job_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Coordinates<T> rows_, columns_;  // of all points, as they lie
  std::deque<Part> parts_;
  std::vector<Strips> strips_;
  std::vector<RowStates> totals_;  // of strips, where rows are folded, too
  enum class Paid { untried, yes, no } paid_ = Paid::untried;
};

// All outputs.
template <class T>
class BoxedPasses {
 public:
  BoxedPasses(const Plan& plan, const Variant& variant, const TileKernel& kernel, const Decision& decision);
  ~BoxedPasses();

  // No, where a trial of one of them tells that all pairs are as fast.
  bool run(const Task& task, int threads);

 private:
  std::vector<std::unique_ptr<BoxedPass<T>>> passes_;
};

}  // namespace kernweave
