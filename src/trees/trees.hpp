// Trees of points by their distances: spanning trees, the merges of clusters, clusters of a density.
#pragma once
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "pairs/point_tree.hpp"

namespace kernweave::trees {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

// An edge of two points, or of two clusters, each by one of its points; from < to. `apart` is the distance of the
// points if `distance` is at least a core.
struct Edge {
  double distance, apart;
  int from, to;
};

// The order of edges: by distance, then by `apart`, then by the numbers of points.
inline bool operator<(const Edge& a, const Edge& b) {
  if (a.distance != b.distance) return a.distance < b.distance;
  if (a.apart != b.apart) return a.apart < b.apart;
  return a.from != b.from ? a.from < b.from : a.to < b.to;
}

// Disjoint sets that are joined; each is named by one of its points.
class JoinedSets {
 public:
  explicit JoinedSets(std::size_t points) : parent_(points) { std::iota(parent_.begin(), parent_.end(), 0); }
  int of(int point) {
    while (parent(point) != point) point = parent(point) = parent(parent(point));
    return point;
  }
  // Joins set b to set a; both are given by the points that name them.
  void join(int a, int b) { parent(b) = a; }

 private:
  int& parent(int point) { return parent_[static_cast<std::size_t>(point)]; }
  std::vector<int> parent_;
};

enum class Metric { euclidean, manhattan, chebyshev };

// --- twins.cpp -----------------------------------------------------------------------------------------------------
// The points that are not in the same place as an earlier point.
struct Distinct {
  std::vector<int> first;  // the first point in the same place, for each point
  std::vector<int> rows;   // the points that are their own first
  bool all() const { return rows.size() == first.size(); }
};
Distinct distinct(const Coordinates<double>& points);
Coordinates<double> rows_of(const Coordinates<double>& points, const std::vector<int>& rows);
std::vector<double> rows_of(const std::vector<double>& numbers, const std::vector<int>& rows);

// Gives the points of edges, from number `begin` on, their numbers among all points.
void name_points(const std::vector<int>& rows, std::size_t begin, std::vector<Edge>* edges);

// --- spanning_tree.cpp ---------------------------------------------------------------------------------------------
// Returns the edges of a shortest spanning tree, shortest first. With `core`, a number for each point, a distance is at
// least the core of either point (mutual reachability).
std::vector<Edge> spanning_tree(Coordinates<double> points, const std::vector<double>& core, Metric metric, int threads,
                                const Poll& poll);

// Returns the largest distance of each point from some others, `each` for a point: columns of numbers from 1. Distances
// are rounded as in the tree, so that equal distances are equal.
std::vector<double> largest_distances(const Coordinates<double>& points, const int* others, int each, Metric metric);

// --- ward.cpp ------------------------------------------------------------------------------------------------------
// Returns the merges of Ward's clusters in rising order, each as a point of either cluster and the root of twice the
// growth of the sum of squares. `sizes`: the mass of each point.
std::vector<Edge> ward(const Coordinates<double>& points, const std::vector<double>& sizes, int threads,
                       const Poll& poll);

// --- merges.cpp ----------------------------------------------------------------------------------------------------
// Merges as in R's hclust(): a point is minus its number, a cluster is the number of its merge.
struct Merges {
  std::vector<int> first, second;
};
Merges merges_of(const std::vector<Edge>& rising);

// Returns the points from left to right, as numbers from 1, so that no branches cross.
std::vector<int> leaf_order(const int* first, const int* second, int merges);

// Returns the cluster of each point after some merges; clusters are numbered by their first point.
std::vector<int> cut(const int* first, const int* second, int points, int merges);

// --- density.cpp ---------------------------------------------------------------------------------------------------
// Clusters of HDBSCAN: the clusters of at least `least` points that last longest as the height falls.
struct DensityClusters {
  std::vector<int> cluster;      // 0: noise
  std::vector<double> stability; // the stability of each cluster
  std::vector<double> outlier;   // the GLOSH score of each point
};
DensityClusters density_clusters(const int* first, const int* second, const double* height, int points, int least);

}  // namespace kernweave::trees
