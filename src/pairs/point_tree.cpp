// Stores points and corners of their boxes; finds for each point the nearest points before it.
#include "pairs/point_tree.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/threads.hpp"

namespace kernweave {
namespace {

constexpr std::int64_t kLeaf = 8;  // points of a box that is not halved, or nearly twice as many: 16 took as long

}  // namespace

PointTree::PointTree(const Coordinates<double>& points, int threads, const Poll& poll)
    : axes_(points.size()), shape_{kLeaf} {
  const BoxTree<double> tree(points, kLeaf, threads, poll);
  shape_ = tree.shape();
  corners_.resize(2 * axes_ * static_cast<std::size_t>(shape_.boxes()));
  double* to = corners_.data();
  for (std::int64_t box = 0; box < shape_.boxes(); ++box)
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      *to++ = tree.least(axis)[box];
      *to++ = tree.most(axis)[box];
    }
  points_.reserve(axes_ * static_cast<std::size_t>(shape_.boxed));
  rows_.reserve(static_cast<std::size_t>(shape_.boxed));
  for (std::int64_t place = 0; place < shape_.boxed; ++place) {
    const std::int64_t row = tree.order()[static_cast<std::size_t>(place)];
    rows_.push_back(static_cast<int>(row));
    for (const std::vector<double>& axis : points) points_.push_back(axis[static_cast<std::size_t>(row)]);
  }
}

// --- nearest before ------------------------------------------------------------------------------------------------
// Stores the least number of each box's points, so that a point skips boxes whose points all come after it.

namespace {

constexpr std::int64_t kQueries = 256;  // points that a thread takes at once, neighbours of each other

using Neighbour = std::pair<double, int>;  // squared distance and number

// The nearest points so far, as a heap with the farthest of them in front.
class NearestSoFar {
 public:
  explicit NearestSoFar(std::size_t most) : most_(most) { heap_.reserve(most); }

  void clear() { heap_.clear(); }
  bool may_take(double distance) const { return heap_.size() < most_ || distance <= heap_.front().first; }
  void add(const Neighbour& one) {
    if (heap_.size() == most_) {
      if (!(one < heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(one);
    std::push_heap(heap_.begin(), heap_.end());
  }
  const std::vector<Neighbour>& sorted() {
    std::sort_heap(heap_.begin(), heap_.end());
    return heap_;
  }

 private:
  std::vector<Neighbour> heap_;
  const std::size_t most_;
};

class SearchTree {
 public:
  SearchTree(const Coordinates<double>& points, int threads, const Poll& poll)
      : tree_(points, threads, poll) {
    user_check(tree_.size() == static_cast<std::int64_t>(points[0].size()), Fault::value,
               "points that are not finite have no neighbours");
    tree_.fill_boxes(
        &first_, [&](std::int64_t place) { return row(place); }, [](int a, int b) { return std::min(a, b); });
  }

  int row(std::int64_t place) const { return tree_.row(place); }

  // Finds the nearest points before the point at a place of the tree's order.
  void look(std::int64_t place, NearestSoFar* nearest) const {
    const int before = row(place);
    const double* const x = tree_.point(place);
    tree_.walk<SumOfSquares>(
        x,
        [&](std::int64_t box, double away) {
          return first_[static_cast<std::size_t>(box)] < before && nearest->may_take(away);
        },
        [&](const Range& leaf) {
          for (std::int64_t k = leaf.from; k < leaf.to; ++k)
            if (row(k) < before) nearest->add({tree_.apart<SumOfSquares>(tree_.point(k), x), row(k)});
        });
  }

 private:
  const PointTree tree_;
  std::vector<int> first_;  // the least number of the points in each box
};

}  // namespace

std::vector<int> nearest_before(const Coordinates<double>& points, int m, int threads,
                                const Poll& poll, int* along) {
  const auto n = static_cast<std::int64_t>(points.empty() ? 0 : points[0].size());
  std::vector<int> found(static_cast<std::size_t>(n * m), -1);
  if (found.empty()) return found;
  const SearchTree tree(points, threads, poll);
  share_out(threads, (n + kQueries - 1) / kQueries, poll, [&](int, std::int64_t task, const Heartbeat&) {
    NearestSoFar nearest(static_cast<std::size_t>(m));
    for (std::int64_t place = task * kQueries; place < std::min(n, (task + 1) * kQueries); ++place) {
      nearest.clear();
      tree.look(place, &nearest);
      along[place] = tree.row(place);
      int* to = &found[static_cast<std::size_t>(tree.row(place)) * static_cast<std::size_t>(m)];
      for (const Neighbour& one : nearest.sorted()) *to++ = one.second;
    }
  });
  return found;
}

}  // namespace kernweave
