# The shortest spanning tree of points.

#' Shortest spanning tree of points
#'
#' Finds the edges that connect all points with the least total length: the Euclidean minimum spanning tree, by
#' Boruvka's algorithm over a tree of boxes. Distances of most pairs are never computed, so that ten million points in a
#' plane take a minute.
#'
#' With `core`, a distance is at least the number of either of its points: with the distance to the k-th neighbour this
#' is the mutual reachability distance of HDBSCAN. If several distances are equal, the edges of nearer points and
#' then those with smaller row numbers are taken, for any number of threads.
#'
#' @param metric the distance: `"euclidean"`, `"manhattan"`, `"chebyshev"`, `"cosine"`, `"haversine"` or `"chordal"`
#'   as in [knn()]
#' @param x points: a matrix, a data frame or a vector, without missing values, or points of the sf package
#' @param core a number for each point, at least 0: no edge of the point is shorter
#' @param ... not used
#' @return A data frame with a row for each edge, shortest first: `from` and `to`, row numbers with `from < to`, and
#'   `distance`. `igraph::graph_from_data_frame(tree, directed = FALSE)` makes a graph of it.
#' @seealso [hclust_fit()], [hdbscan_fit()], [nn_graph()]
#' @concept minimum spanning tree
#' @concept Euclidean minimum spanning tree
#' @export
#' @examples
#' tree <- spanning_tree(quakes[, c("long", "lat")])
#' head(tree)
#' plot(quakes$long, quakes$lat, asp = 1)
#' segments(quakes$long[tree$from], quakes$lat[tree$from], quakes$long[tree$to], quakes$lat[tree$to])
spanning_tree <- function(x, core = NULL, metric = "euclidean", ...) {
  refuse_more(...)
  given <- sf_neighbours(x, NULL, metric, !missing(metric))
  points <- tree_points(given$x, given$metric)
  n <- nrow(points$at)
  if (!is.null(core)) {
    if (!is.numeric(core) || length(core) != n) {
      abort("shape", "`core` must be a number for each of ", counted(n, "row"), ", not ", describe(core))
    }
    if (!all(is.finite(core) & core >= 0)) abort("value", "`core` must be distances, finite and at least 0")
  }
  if (!is.null(core) && !identical(points$back(core), core + 0)) {
    abort("unsupported", "`core` is for \"euclidean\", \"manhattan\", \"chebyshev\" or \"chordal\" distances")
  }
  edges <- r_spanning_tree(points$at, as.numeric(core), points$code, array_threads())
  edges$distance <- points$back(edges$distance)
  as.data.frame(edges)
}
