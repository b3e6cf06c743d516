// One pass by boxes: rows and columns in the order of trees, strip by strip.
#pragma once
#include <memory>
#include <vector>
#include "base/threads.hpp"
#include "cpu/box_walk.hpp"
#include "plan/growth.hpp"

namespace kernweave {

template <class T>
class BoxedPass {
 public:
  BoxedPass(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel,
            const Schedule& schedule);

  // No, having done nothing, where a trial tells that all pairs are as fast.
  bool run(const Task& task, int threads);

 private:
  struct Worker {
    explicit Worker(const BoxJob<T>& job) : walk(job) {}
    BoxWalk<T> walk;
    RowStates states;
    bool begun = false;
  };
  Pass compiled(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel,
                const Traversal& traversal) const;
  std::vector<int> places(const Pass& pass, bool row) const;
  Worker& worker(int number);
  Coordinates<T> read(bool rows, int threads);
  void set_out(int threads);
  bool pays(const Task& task);
  std::int64_t strip(Worker* worker, std::int64_t place, std::int64_t count, bool kept);

  const Growth growth_;
  const bool always_;
  Variant bounded_;
  const Pass pass_, of_bounds_;
  const RowShape shape_, no_shape_;
  PassRun run_, bounds_;
  BoxJob<T> job_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<BoxedPoints<T>> rows_, columns_;
  enum class Paid { untried, yes, no } paid_ = Paid::untried;
};

}  // namespace kernweave
