// Each box of a tree knows the first of its points, so that a point looks into no box of points that all come after it.
#include "pairs/box_tree.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/threads.hpp"

namespace kernweave {
namespace {

constexpr std::int64_t kLeaf = 8;  // points of a box that is not halved, or nearly twice as many: 16 took as long
constexpr std::int64_t kQueries = 256;  // points that a thread takes at once, neighbours of each other

using Neighbour = std::pair<double, int>;  // squared distance and number

// The nearest so far, the farthest of them in front.
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
  SearchTree(const Coordinates<double>& points, int threads, const std::function<void(double)>& poll)
      : tree_(points, kLeaf, threads, poll),
        axes_(points.size()),
        order_(tree_.order()),
        first_(std::size_t{2} << tree_.levels()) {
    user_check(tree_.boxed() == static_cast<std::int64_t>(order_.size()), Fault::value,
               "points that are not finite have no neighbours");
    for (std::int64_t box = static_cast<std::int64_t>(first_.size()) - 1; box > 0; --box) set_out(box);
    points_.reserve(axes_ * order_.size());
    for (const std::int64_t number : order_)
      for (const std::vector<double>& axis : points) points_.push_back(axis[static_cast<std::size_t>(number)]);
  }

  int number(std::int64_t place) const { return static_cast<int>(order_[static_cast<std::size_t>(place)]); }

  // The nearest of those before the point at a place of the tree's order.
  void look(std::int64_t place, NearestSoFar* nearest) const { look_into(0, 1, 0, place, nearest); }

 private:
  bool is_leaf(int level) const { return level == tree_.levels(); }

  // Points of a leaf are put in order; of each box the first one is noted.
  void set_out(std::int64_t box) {
    const auto at = static_cast<std::size_t>(box);
    if (2 * at < first_.size()) {
      first_[at] = std::min(first_[2 * at], first_[2 * at + 1]);
      return;
    }
    const Range range = tree_.points_of(tree_.levels(), box);
    std::sort(order_.begin() + range.from, order_.begin() + range.to);
    first_[at] = number(range.from);
  }

  const double* point(std::int64_t place) const { return &points_[static_cast<std::size_t>(place) * axes_]; }

  double distance_to_box(std::int64_t box, std::int64_t place) const {
    double sum = 0;
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      const double x = point(place)[axis],
                   out = std::max({tree_.least(axis)[box] - x, x - tree_.most(axis)[box], 0.0});
      sum += out * out;
    }
    return sum;
  }

  double distance(std::int64_t a, std::int64_t b) const {
    double sum = 0;
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      const double apart = point(a)[axis] - point(b)[axis];
      sum += apart * apart;
    }
    return sum;
  }

  void look_into(int level, std::int64_t box, double away, std::int64_t place, NearestSoFar* nearest) const {
    const int before = number(place);
    if (first_[static_cast<std::size_t>(box)] >= before || !nearest->may_take(away)) return;
    if (is_leaf(level)) {
      const Range range = tree_.points_of(level, box);
      for (std::int64_t k = range.from; k < range.to && number(k) < before; ++k)
        nearest->add({distance(k, place), number(k)});
      return;
    }
    const double left = distance_to_box(2 * box, place), right = distance_to_box(2 * box + 1, place);
    const int nearer = right < left;
    look_into(level + 1, 2 * box + nearer, std::min(left, right), place, nearest);
    look_into(level + 1, 2 * box + 1 - nearer, std::max(left, right), place, nearest);
  }

  const BoxTree<double> tree_;
  const std::size_t axes_;
  std::vector<std::int64_t> order_;
  std::vector<int> first_;      // of the points in each box
  std::vector<double> points_;  // one after the other, in the tree's order
};

}  // namespace

std::vector<int> nearest_before(const Coordinates<double>& points, int m, int threads,
                                const std::function<void(double)>& poll, int* along) {
  const auto n = static_cast<std::int64_t>(points.empty() ? 0 : points[0].size());
  std::vector<int> found(static_cast<std::size_t>(n * m), -1);
  if (found.empty()) return found;
  const SearchTree tree(points, threads, poll);
  share_out(threads, (n + kQueries - 1) / kQueries, poll, [&](int, std::int64_t task, const Heartbeat&) {
    NearestSoFar nearest(static_cast<std::size_t>(m));
    for (std::int64_t place = task * kQueries; place < std::min(n, (task + 1) * kQueries); ++place) {
      nearest.clear();
      tree.look(place, &nearest);
      along[place] = tree.number(place);
      int* to = &found[static_cast<std::size_t>(tree.number(place)) * static_cast<std::size_t>(m)];
      for (const Neighbour& one : nearest.sorted()) *to++ = one.second;
    }
  });
  return found;
}

}  // namespace kernweave
