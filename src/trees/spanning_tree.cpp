// Boruvka's algorithm: in each round each component finds the nearest point of another one, in the boxes of a tree.
#include <atomic>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "base/threads.hpp"
#include "trees/trees.hpp"

namespace kernweave::trees {
namespace {

constexpr std::int64_t kPointsTogether = 512;  // points that a thread takes at once, neighbours of each other

// The distance of the best edge of each component, which threads lower; infinite if there is no edge yet.
class ComponentLimits {
 public:
  explicit ComponentLimits(std::size_t components) : best_(new std::atomic<double>[components]) {
    for (std::size_t c = 0; c < components; ++c) best_[c].store(kInfinite, std::memory_order_relaxed);
  }
  double of(int component) const { return best_[component].load(std::memory_order_relaxed); }
  void lower(int component, double to) {
    std::atomic<double>& best = best_[component];
    double now = best.load(std::memory_order_relaxed);
    while (to < now && !best.compare_exchange_weak(now, to, std::memory_order_relaxed)) {}
  }

 private:
  std::unique_ptr<std::atomic<double>[]> best_;
};

// A point is named by its place in the tree's order. Distances are sums over axes until the end.
template <class Metric>
class Boruvka {
 public:
  // Takes over the points, whose memory is needed later.
  Boruvka(Coordinates<double>* points, const std::vector<double>& core, int threads, const Poll& poll)
      : tree_(*points, threads, poll), threads_(threads), poll_(poll), n_(tree_.size()), components_(n_) {
    user_check(n_ == static_cast<std::int64_t>((*points)[0].size()), Fault::value,
               "coordinates of points in a tree must be finite, and no larger than 1e150");
    Coordinates<double>().swap(*points);
    const auto size = static_cast<std::size_t>(n_);
    component_.resize(size);
    for (std::size_t p = 0; p < size; ++p) component_[p] = static_cast<int>(p);
    nearest_.assign(size, -1);
    known_.assign(size, 0);
    if (!core.empty()) set_cores(core);
  }

  // Appends the edges, with sums in place of distances.
  void run(std::vector<Edge>* edges) {
    while (components_ > 1) {
      label_boxes();
      ComponentLimits limits = limits_of_known();
      const std::int64_t tasks = (n_ + kPointsTogether - 1) / kPointsTogether;
      share_out(threads_, tasks, poll_, [&](int, std::int64_t task, const Heartbeat&) {
        for (std::int64_t p = task * kPointsTogether; p < std::min(n_, (task + 1) * kPointsTogether); ++p)
          search(static_cast<int>(p), &limits);
      });
      join(edges);
    }
  }

 private:
  struct PointSearch {
    const double* x;
    int place, component;
    double core;
    ComponentLimits* limits;
    Edge best;
    int nearest;
  };

  void set_cores(const std::vector<double>& core) {
    for (std::int64_t p = 0; p < n_; ++p)
      core_.push_back(Metric::sum_of(core[static_cast<std::size_t>(tree_.row(p))]));
    tree_.fill_boxes(
        &box_core_, [&](std::int64_t p) { return core_[static_cast<std::size_t>(p)]; },
        [](double a, double b) { return std::min(a, b); });
  }

  // Gives a box whose points are all of one component the number of this component, and other boxes -1.
  void label_boxes() {
    tree_.fill_boxes(
        &box_component_, [&](std::int64_t p) { return component_[static_cast<std::size_t>(p)]; },
        [](int a, int b) { return a == b ? a : -1; });
  }

  bool joins_others(int p) const {
    const int q = nearest_[static_cast<std::size_t>(p)];
    return q >= 0 && component_[static_cast<std::size_t>(p)] != component_[static_cast<std::size_t>(q)];
  }

  // A nearest point that is still in another component is still the nearest one.
  ComponentLimits limits_of_known() const {
    ComponentLimits limits(static_cast<std::size_t>(components_));
    for (int p = 0; p < n_; ++p)
      if (joins_others(p)) limits.lower(component_[static_cast<std::size_t>(p)], known_[static_cast<std::size_t>(p)]);
    return limits;
  }

  // Looks for the nearest point of another component, no farther than the best edge of the component. If there is none,
  // this limit is a lower bound for the point from now on.
  void search(int p, ComponentLimits* limits) {
    const auto at = static_cast<std::size_t>(p);
    const int own = component_[at];
    if (joins_others(p) || known_[at] > limits->of(own)) return;
    PointSearch s{tree_.point(p), p, own, core_.empty() ? 0 : core_[at], limits, {kInfinite, 0, 0, 0}, -1};
    tree_.template walk<Metric>(
        s.x, [&](std::int64_t box, double away) { return matters(box, away, s); },
        [&](const Range& leaf) { look_at_points(leaf, &s); });
    const double limit = limits->of(own);
    const bool found = s.best.distance <= limit;
    nearest_[at] = found ? s.nearest : -1;
    known_[at] = found ? s.best.distance : std::max(known_[at], limit);
  }

  double rank(double away, const std::vector<double>& core, std::int64_t at, const PointSearch& s) const {
    return core_.empty() ? away : std::max({away, s.core, core[static_cast<std::size_t>(at)]});
  }

  // Tells whether to search a box. Boxes as far as the limit matter, too: they may have a point with a smaller number.
  bool matters(std::int64_t box, double away, const PointSearch& s) const {
    if (box_component_[static_cast<std::size_t>(box)] == s.component) return false;
    const double limit = std::min(s.best.distance, s.limits->of(s.component)), least = rank(away, box_core_, box, s);
    return least <= limit && (least < s.best.distance || away <= s.best.apart);
  }

  void look_at_points(const Range& range, PointSearch* s) const {
    for (std::int64_t q = range.from; q < range.to; ++q) {
      if (component_[static_cast<std::size_t>(q)] == s->component) continue;
      const double apart = tree_.template apart<Metric>(s->x, tree_.point(q)), sum = rank(apart, core_, q, *s);
      if (sum > s->best.distance) continue;
      const Edge edge = edge_of(sum, apart, s->place, static_cast<int>(q));
      if (!(edge < s->best)) continue;
      s->best = edge;
      s->nearest = static_cast<int>(q);
      s->limits->lower(s->component, sum);
    }
  }

  Edge edge_of(double sum, double apart, int p, int q) const {
    const int a = tree_.row(p), b = tree_.row(q);
    return {sum, apart, std::min(a, b), std::max(a, b)};
  }

  // Joins each component to the nearest other one. The least edges of all components make no cycle, since no two edges
  // are equal in their order.
  void join(std::vector<Edge>* edges) {
    std::vector<int> end(static_cast<std::size_t>(components_), -1);
    std::vector<Edge> best(end.size(), Edge{kInfinite, 0, 0, 0});
    for (int p = 0; p < n_; ++p) {
      if (!joins_others(p)) continue;
      const auto c = static_cast<std::size_t>(component_[static_cast<std::size_t>(p)]);
      const int q = nearest_[static_cast<std::size_t>(p)];
      const double sum = known_[static_cast<std::size_t>(p)];
      const double apart = core_.empty() ? sum : tree_.template apart<Metric>(tree_.point(p), tree_.point(q));
      const Edge edge = edge_of(sum, apart, p, q);
      if (!(edge < best[c])) continue;
      best[c] = edge;
      end[c] = component_[static_cast<std::size_t>(q)];
    }
    JoinedSets sets(end.size());
    for (std::size_t c = 0; c < end.size(); ++c) {
      internal_check(end[c] >= 0, "a component without an edge to another one");
      const int a = sets.of(static_cast<int>(c)), b = sets.of(end[c]);
      if (a == b) continue;
      sets.join(std::min(a, b), std::max(a, b));
      edges->push_back(best[c]);
    }
    renumber(&sets);
  }

  void renumber(JoinedSets* sets) {
    std::vector<int> number(static_cast<std::size_t>(components_), -1);
    int next = 0;
    for (int& c : component_) {
      int& own = number[static_cast<std::size_t>(sets->of(c))];
      if (own < 0) own = next++;
      c = own;
    }
    components_ = next;
  }

  const PointTree tree_;
  const int threads_;
  const Poll& poll_;
  const std::int64_t n_;
  std::int64_t components_;
  std::vector<int> component_, nearest_;  // by place; nearest_: -1 if it is not known
  std::vector<double> known_;             // the sum of the nearest point, or a lower bound of it
  std::vector<double> core_, box_core_;
  std::vector<int> box_component_;
};

template <class Metric>
void add_edges(Coordinates<double>* points, const std::vector<double>& core, int threads, const Poll& poll,
               std::vector<Edge>* edges) {
  const std::size_t before = edges->size();
  Boruvka<Metric>(points, core, threads, poll).run(edges);
  for (std::size_t k = before; k < edges->size(); ++k) (*edges)[k].distance = Metric::distance((*edges)[k].distance);
}

template <class Metric>
double distance_of(const Coordinates<double>& points, std::size_t a, std::size_t b) {
  double sum = 0;
  for (const std::vector<double>& axis : points) sum = Metric::add(sum, axis[a] - axis[b]);
  return Metric::distance(sum);
}

}  // namespace

std::vector<double> largest_distances(const Coordinates<double>& points, const int* others, int each, Metric metric) {
  const auto distance = metric == Metric::euclidean   ? distance_of<SumOfSquares>
                        : metric == Metric::manhattan ? distance_of<SumOfAbsolutes>
                                                      : distance_of<LargestDifference>;
  const std::size_t n = points[0].size();
  std::vector<double> largest(n, 0);
  for (int k = 0; k < each; ++k)
    for (std::size_t p = 0; p < n; ++p)
      largest[p] = std::max(largest[p], distance(points, p, static_cast<std::size_t>(*others++) - 1));
  return largest;
}

std::vector<Edge> spanning_tree(Coordinates<double> points, const std::vector<double>& core, Metric metric, int threads,
                                const Poll& poll) {
  const auto add = metric == Metric::euclidean   ? add_edges<SumOfSquares>
                   : metric == Metric::manhattan ? add_edges<SumOfAbsolutes>
                                                 : add_edges<LargestDifference>;
  const Distinct places = distinct(points);
  std::vector<Edge> edges;
  edges.reserve(places.first.size());
  // No edge of a point is shorter than its core, which twins share.
  for (std::size_t p = 0; p < places.first.size(); ++p)
    if (places.first[p] != static_cast<int>(p))
      edges.push_back({core.empty() ? 0 : core[p], 0, places.first[p], static_cast<int>(p)});
  if (places.all()) {
    add(&points, core, threads, poll, &edges);
  } else {
    const std::size_t twins = edges.size();
    points = rows_of(points, places.rows);
    add(&points, core.empty() ? core : rows_of(core, places.rows), threads, poll, &edges);
    name_points(places.rows, twins, &edges);
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

}  // namespace kernweave::trees
