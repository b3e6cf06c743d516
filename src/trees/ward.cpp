// Finds Ward's clusters by rounds: in each round all pairs of clusters that are nearest to each other join.
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "base/threads.hpp"
#include "trees/trees.hpp"

namespace kernweave::trees {
namespace {

constexpr std::int64_t kClustersTogether = 64;   // clusters that a thread takes at once
constexpr std::size_t kFewBeside = 64;   // clusters beside a tree that cost less than a new tree

// A cluster is named by its first point. The distance of two clusters is 2 a b / (a + b) times the squared distance of
// their centres, with the sizes a and b.
class Ward {
 public:
  Ward(const Coordinates<double>& points, const std::vector<double>& sizes, int threads, const Poll& poll)
      : axes_(points.size()), size_(sizes), threads_(threads), poll_(poll) {
    const std::size_t n = sizes.size();
    centre_.reserve(n * axes_);
    for (std::size_t p = 0; p < n; ++p) {
      for (const std::vector<double>& axis : points) centre_.push_back(axis[p]);
      live_.push_back(static_cast<int>(p));
    }
    height_.assign(n, 0);
    place_.assign(n, -1);
    nearest_.assign(n, -1);
    cost_.assign(n, 0);
    head_.assign(n, -1);
    next_.assign(n, -1);
    left_ = n;
    plant();
    seekers_ = live_;
  }

  void run(std::vector<Edge>* edges) {
    while (left_ > 1) {
      search_all();
      const std::vector<Edge> pairs = mutual();
      // The nearest pair of all is mutual if all clusters know their nearest one. With ties, a new cluster may be as
      // near as one that is known.
      internal_check(!pairs.empty() || seekers_.size() < left_, "no two clusters are nearest to each other");
      if (pairs.empty()) forget();
      else seekers_.clear();
      for (const Edge& pair : pairs) join(pair, edges);
      const std::size_t beside = beside_.size();
      if (beside > kFewBeside && beside * beside > left_) plant();
    }
  }

 private:
  std::size_t at(int cluster) const { return static_cast<std::size_t>(cluster); }
  const double* centre(int cluster) const { return &centre_[at(cluster) * axes_]; }
  static double factor(double a, double b) { return 2 * a * b / (a + b); }

  // Plants a tree of the centres of all clusters.
  void plant() {
    std::vector<int> still;
    for (const int cluster : live_)
      if (height_[at(cluster)] >= 0) still.push_back(cluster);
    live_.swap(still);
    Coordinates<double> centres(axes_);
    for (std::size_t axis = 0; axis < axes_; ++axis)
      for (const int cluster : live_) centres[axis].push_back(centre(cluster)[axis]);
    tree_ = std::make_unique<PointTree>(centres, threads_, poll_);
    user_check(tree_->size() == static_cast<std::int64_t>(live_.size()), Fault::value,
               "coordinates of points in a tree must be finite, and no larger than 1e150");
    in_tree_.resize(live_.size());
    in_tree_size_.resize(live_.size());
    for (std::int64_t place = 0; place < tree_->size(); ++place) {
      const int cluster = live_[static_cast<std::size_t>(tree_->row(place))];
      in_tree_[static_cast<std::size_t>(place)] = cluster;
      in_tree_size_[static_cast<std::size_t>(place)] = size_[at(cluster)];
      place_[at(cluster)] = place;
    }
    tree_->fill_boxes(
        &least_size_, [&](std::int64_t place) { return in_tree_size_[static_cast<std::size_t>(place)]; },
        [](double a, double b) { return std::min(a, b); });
    beside_.clear();
  }

  void search_all() {
    const auto count = static_cast<std::int64_t>(seekers_.size());
    const std::int64_t tasks = (count + kClustersTogether - 1) / kClustersTogether;
    share_out(threads_, tasks, poll_, [&](int, std::int64_t task, const Heartbeat&) {
      for (std::int64_t k = task * kClustersTogether; k < std::min(count, (task + 1) * kClustersTogether); ++k)
        search(seekers_[static_cast<std::size_t>(k)]);
    });
    // Each cluster has a list of the clusters whose nearest cluster it is.
    for (const int cluster : seekers_) {
      int& head = head_[at(nearest_[at(cluster)])];
      next_[at(cluster)] = head;
      head = cluster;
    }
  }

  void search(int cluster) {
    Edge best{kInfinite, 0, 0, 0};
    const double size = size_[at(cluster)];
    tree_->walk<SumOfSquares>(
        centre(cluster),
        [&](std::int64_t box, double away) {
          return factor(size, least_size_[static_cast<std::size_t>(box)]) * away <= best.distance;
        },
        [&](const Range& leaf) { look_at_clusters(leaf, cluster, &best); });
    for (const int other : beside_)
      if (height_[at(other)] >= 0) compare(cluster, other, centre(other), size_[at(other)], &best);
    cost_[at(cluster)] = best.distance;
    nearest_[at(cluster)] = best.from == cluster ? best.to : best.from;
  }

  void look_at_clusters(const Range& places, int cluster, Edge* best) const {
    for (std::int64_t p = places.from; p < places.to; ++p) {
      const int other = in_tree_[static_cast<std::size_t>(p)];
      if (other >= 0) compare(cluster, other, tree_->point(p), in_tree_size_[static_cast<std::size_t>(p)], best);
    }
  }

  void compare(int cluster, int other, const double* where, double size, Edge* best) const {
    if (other == cluster) return;
    const double cost = factor(size_[at(cluster)], size) * tree_->apart<SumOfSquares>(centre(cluster), where);
    if (cost > best->distance) return;
    const Edge edge{cost, 0, std::min(cluster, other), std::max(cluster, other)};
    if (edge < *best) *best = edge;
  }

  // Lists pairs of clusters that are nearest to each other, if one of the two has just searched.
  std::vector<Edge> mutual() const {
    std::vector<Edge> pairs;
    for (const int a : seekers_) {
      const int b = nearest_[at(a)];
      if (nearest_[at(b)] == a) pairs.push_back({cost_[at(a)], 0, std::min(a, b), std::max(a, b)});
    }
    std::sort(pairs.begin(), pairs.end());
    const auto same = [](const Edge& x, const Edge& y) { return x.from == y.from && x.to == y.to; };
    pairs.erase(std::unique(pairs.begin(), pairs.end(), same), pairs.end());
    return pairs;
  }

  // Lets all clusters search again.
  void forget() {
    seekers_.clear();
    for (const int cluster : live_) {
      if (height_[at(cluster)] >= 0) seekers_.push_back(cluster);
      head_[at(cluster)] = -1;
    }
  }

  // Joins two clusters, named by the first point of both. Clusters whose nearest one has joined search again; others
  // keep their nearest one, since no cluster comes nearer by joining another one.
  void join(const Edge& pair, std::vector<Edge>* edges) {
    const std::size_t a = at(pair.from), b = at(pair.to);
    const double whole = size_[a] + size_[b];
    for (std::size_t axis = 0; axis < axes_; ++axis)
      centre_[a * axes_ + axis] =
          (size_[a] * centre_[a * axes_ + axis] + size_[b] * centre_[b * axes_ + axis]) / whole;
    size_[a] = whole;
    height_[a] = std::max({pair.distance, height_[a], height_[b]});
    height_[b] = -1;
    edges->push_back({height_[a], 0, pair.from, pair.to});
    --left_;
    for (const std::size_t one : {a, b}) {
      if (place_[one] >= 0) in_tree_[static_cast<std::size_t>(place_[one])] = -1;
      place_[one] = -1;
      for (int p = head_[one]; p >= 0; p = next_[at(p)])
        if (p != pair.from && p != pair.to) seekers_.push_back(p);
      head_[one] = -1;
    }
    beside_.push_back(pair.from);
    seekers_.push_back(pair.from);
  }

  const std::size_t axes_;
  std::vector<double> centre_, size_;
  std::vector<double> height_;  // the largest distance within; -1 if the cluster has joined another one
  std::vector<std::int64_t> place_;  // places in the tree, or -1
  std::vector<int> nearest_;
  std::vector<double> cost_;
  std::vector<int> head_, next_;  // lists of the clusters whose nearest cluster this is
  std::vector<int> live_, seekers_, beside_;  // beside_: clusters that are not in the tree
  std::size_t left_ = 0;
  std::unique_ptr<PointTree> tree_;
  std::vector<int> in_tree_;  // clusters by place; -1 if the cluster has joined another one
  std::vector<double> in_tree_size_, least_size_;  // by place; least_size_: by box
  const int threads_;
  const Poll& poll_;
};

}  // namespace

std::vector<Edge> ward(const Coordinates<double>& points, const std::vector<double>& sizes, int threads,
                       const Poll& poll) {
  const Distinct places = distinct(points);
  std::vector<Edge> edges;
  edges.reserve(sizes.size());
  std::vector<double> together(sizes.size(), 0);
  for (std::size_t p = 0; p < sizes.size(); ++p) {
    together[static_cast<std::size_t>(places.first[p])] += sizes[p];
    if (places.first[p] != static_cast<int>(p)) edges.push_back({0, 0, places.first[p], static_cast<int>(p)});
  }
  const std::size_t twins = edges.size();
  Ward(rows_of(points, places.rows), rows_of(together, places.rows), threads, poll).run(&edges);
  name_points(places.rows, twins, &edges);
  // Joins are in an order in which a cluster follows its parts; equal heights keep this order.
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.distance < b.distance; });
  for (Edge& edge : edges) edge.distance = std::sqrt(edge.distance);
  return edges;
}

}  // namespace kernweave::trees
