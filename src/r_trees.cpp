// Trees of points for R: spanning trees, hierarchies in hclust()'s form, clusters of a density.
#include "r_call.hpp"
#include "base/threads.hpp"
#include "trees/trees.hpp"

namespace kernweave {
namespace {

using trees::Edge;

IntegerVector named(const std::vector<Edge>& edges, int Edge::*point) {
  IntegerVector out(static_cast<R_xlen_t>(edges.size()));
  std::transform(edges.begin(), edges.end(), out.begin(), [point](const Edge& edge) { return edge.*point + 1; });
  return out;
}

NumericVector distances(const std::vector<Edge>& edges) {
  NumericVector out(static_cast<R_xlen_t>(edges.size()));
  std::transform(edges.begin(), edges.end(), out.begin(), [](const Edge& edge) { return edge.distance; });
  return out;
}

// Returns a hierarchy as the fields of hclust().
List hierarchy(std::vector<Edge> edges) {
  const NumericVector height = distances(edges);
  trees::Merges merges = trees::merges_of(edges);
  std::vector<Edge>().swap(edges);
  const int count = static_cast<int>(merges.first.size());
  IntegerMatrix merge(count, 2);
  std::copy(merges.first.begin(), merges.first.end(), merge.begin());
  std::copy(merges.second.begin(), merges.second.end(), merge.begin() + count);
  return List::create(Rcpp::_["merge"] = merge, Rcpp::_["height"] = height,
                      Rcpp::_["order"] = trees::leaf_order(merges.first.data(), merges.second.data(), count));
}

const int* second_of(const IntegerMatrix& merge) { return merge.begin() + merge.nrow(); }

}  // namespace

// Returns the edges of a shortest spanning tree, shortest first. `metric`: 0 Euclidean, 1 Manhattan, 2 Chebyshev.
// [[Rcpp::export(rng = false)]]
List r_spanning_tree(NumericMatrix points, NumericVector core, int metric, int threads) {
  const std::vector<Edge> edges =
      trees::spanning_tree(axes_of(points), {core.begin(), core.end()}, static_cast<trees::Metric>(metric),
                           allowed_threads(threads), poll_r);
  return List::create(Rcpp::_["from"] = named(edges, &Edge::from), Rcpp::_["to"] = named(edges, &Edge::to),
                      Rcpp::_["distance"] = distances(edges));
}

// Returns single linkage as the fields of hclust(). With `neighbours`, which has a row for each point, the core of a
// point is its largest distance to its neighbours, and is returned, too.
// [[Rcpp::export(rng = false)]]
List r_single_linkage(NumericMatrix points, IntegerMatrix neighbours, int metric, int threads) {
  Coordinates<double> axes = axes_of(points);
  const auto of = static_cast<trees::Metric>(metric);
  std::vector<double> core;
  if (neighbours.ncol() > 0) core = trees::largest_distances(axes, neighbours.begin(), neighbours.ncol(), of);
  List out = hierarchy(trees::spanning_tree(std::move(axes), core, of, allowed_threads(threads), poll_r));
  out["core"] = core;
  return out;
}

// Returns Ward's clusters as the fields of hclust().
// [[Rcpp::export(rng = false)]]
List r_ward(NumericMatrix points, NumericVector sizes, int threads) {
  return hierarchy(trees::ward(axes_of(points), {sizes.begin(), sizes.end()}, allowed_threads(threads), poll_r));
}

// Returns the cluster of each point after `merges` merges.
// [[Rcpp::export(rng = false)]]
IntegerVector r_cut(IntegerMatrix merge, int merges) {
  return wrap(trees::cut(merge.begin(), second_of(merge), merge.nrow() + 1, merges));
}

// Returns clusters, their stabilities and outlier scores of HDBSCAN.
// [[Rcpp::export(rng = false)]]
List r_density_clusters(IntegerMatrix merge, NumericVector height, int least) {
  const trees::DensityClusters found =
      trees::density_clusters(merge.begin(), second_of(merge), height.begin(), merge.nrow() + 1, least);
  return List::create(Rcpp::_["cluster"] = found.cluster, Rcpp::_["stability"] = found.stability,
                      Rcpp::_["outlier"] = found.outlier);
}

}  // namespace kernweave
