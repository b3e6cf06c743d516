# HDBSCAN: the clusters of a density that persist longest over all radii.

#' Hierarchical density-based clustering (HDBSCAN)
#'
#' Finds clusters of different densities, and noise, without a radius. `minPts` is the least size of a cluster, and the
#' number of points by which densities are smoothed. Use it for clusters of any shape and unknown number, where
#' [dbscan_fit()] would need more than one `eps`.
#'
#' The core distance of a point is the distance to its `minPts`-th nearest point, itself among them; the mutual
#' reachability distance of two points is the largest of their distance and their core distances. Single linkage of
#' these distances has the clusters of `dbscan_fit()` for all `eps` at once. As `eps` falls, a cluster loses points, or
#' splits into clusters of `minPts` points or more. The stability of a cluster is the sum over its points of
#' `1 / eps` where the point leaves the cluster, less `1 / eps` where the cluster begins. The clusters chosen are those
#' of the largest total stability without overlap (Campello, Moulavi and Sander, 2013). Other points are noise.
#'
#' Core distances and the heights of the tree are those of `dbscan::hdbscan()`, which stores all distances. Mutual
#' reachability distances are often equal. Here all merges of one height are undone together, so that the order of the
#' rows does not matter; `dbscan::hdbscan()` undoes them one by one in an order that depends on the rows, and some of
#' its clusters, stabilities and scores differ. Clusters are numbered by their first points. For coincident points,
#' whose `1 / eps` is infinite, half of the smallest positive height stands for 0.
#'
#' @param metric the distance: `"euclidean"`, `"manhattan"`, `"chebyshev"`, `"cosine"`, `"haversine"` or `"chordal"`
#'   as in [knn()]
#' @param x points, as in [knn()]; for `print()` and `plot()` an object returned by `hdbscan_fit()`
#' @param minPts least number of points of a cluster, at least 2. With many points the default gives many small
#'   clusters, as `print()` says: try 15 or 50, too
#' @param object,newdata for `predict()`: an object returned by `hdbscan_fit()`, and points to assign to the cluster of
#'   their nearest point in a cluster, if that is within its core distance, or to noise. Points that are noise in the
#'   fit may be assigned to a cluster as new points
#' @param ... for `plot()`: more arguments of [graphics::plot()]; otherwise not used
#' @return An object of classes `hdbscan_fit` and `hdbscan`: `call`; `cluster`, with 0 for noise; `minPts`; `coredist`,
#'   the core distances; `cluster_scores`, the stabilities; `membership_prob`, 0 for noise; `outlier_scores`, the
#'   GLOSH scores from 0 to 1; and `hc`, the tree, as [hclust_fit()] returns it. `predict()`: a cluster for each row, 0
#'   for noise, `NA` where values are missing.
#' @references Campello, R. J. G. B., Moulavi, D. and Sander, J. (2013). Density-based clustering based on hierarchical
#'   density estimates. *Advances in Knowledge Discovery and Data Mining*, 160--172.
#' @seealso [dbscan_fit()] for one radius, [hclust_fit()], [lof_scores()]
#' @concept density-based clustering
#' @concept HDBSCAN
#' @concept outlier detection
#' @concept noise points
#' @export
#' @examples
#' found <- hdbscan_fit(quakes[, c("long", "lat")], minPts = 20)
#' found
#' plot(found, quakes[, c("long", "lat")])
#' head(order(found$outlier_scores, decreasing = TRUE))  # the farthest out
#' max(cut_tree(found$hc, h = 0.5))  # clusters and single points at this radius
hdbscan_fit <- function(x, minPts = 5, metric = "euclidean", ...) {
  refuse_more(...)
  given <- sf_neighbours(x, NULL, metric, !missing(metric))
  points <- tree_points(given$x, given$metric, 2, keep = TRUE)
  n <- nrow(points$at)
  if (!is_whole(minPts, 2, n)) {
    abort("value", "`minPts` must be a whole number from 2 to ", n, ", the number of points, not ",
          format_value(minPts))
  }
  minPts <- as.integer(minPts)
  near <- knn(points$at, k = minPts - 1, metric = c("euclidean", "manhattan", "chebyshev")[points$code + 1L])$nn.index
  parts <- r_single_linkage(points$at, near, points$code, array_threads())
  hc <- new_hclust(parts, points, "robust single", match.call())
  hc$dist.method <- "mutual reachability"
  core <- points$back(parts$core)
  found <- r_density_clusters(hc$merge, hc$height, minPts)
  named <- function(v) stats::setNames(v, points$labels)
  scores <- stats::setNames(found$stability, as.character(seq_along(found$stability)))
  structure(list(call = match.call(), cluster = named(found$cluster), minPts = minPts, coredist = named(core),
                 cluster_scores = scores, membership_prob = named(memberships(found$cluster, core)),
                 outlier_scores = named(found$outlier), hc = hc, dist = points$name),
            points = list(x = points$x, like = c(points$like, list(places = given$places)), metric = given$metric),
            class = c("hdbscan_fit", "hdbscan"))
}

# Returns (max - core distance) / max in each cluster, where max is its largest core distance; 0 for noise.
memberships <- function(cluster, core) {
  if (!any(cluster > 0)) return(numeric(length(cluster)))
  most <- c(0, tapply(core[cluster > 0], cluster[cluster > 0], max))[cluster + 1]
  ifelse(cluster == 0, 0, ifelse(most == 0, 1, (most - core) / most))
}

#' @rdname hdbscan_fit
#' @export
predict.hdbscan_fit <- function(object, newdata = NULL, ...) {
  refuse_more(...)
  if (is.null(newdata)) return(object$cluster)
  kept <- attr(object, "points")
  at <- points_like(newdata, kept$like, "newdata")
  match_width(at, ncol(kept$x), "the points", newdata)
  inside <- unname(object$cluster) > 0
  found <- at_complete(at, function(at) {
    if (!any(inside) || !nrow(at)) return(integer(nrow(at)))
    near <- knn(unname(kept$x[inside, , drop = FALSE]), unname(at), k = 1, metric = kept$metric)
    index <- which(inside)[near$nn.index[, 1]]
    ifelse(near$nn.dist[, 1] <= unname(object$coredist)[index], unname(object$cluster)[index], 0L)
  })
  storage.mode(found) <- "integer"
  found
}

#' @importFrom stats as.hclust
#' @export
as.hclust.hdbscan_fit <- function(x, ...) stats::as.hclust(x$hc)

#' @rdname hdbscan_fit
#' @export
print.hdbscan_fit <- function(x, ...) {
  size <- table(x$cluster[x$cluster > 0])
  say("Density clusters at all radii of ", count_text(length(x$cluster), "point"), " (", x$dist, ", minPts = ",
      x$minPts, ")\n  ", counted(length(size), "cluster"), ", ", format(sum(x$cluster == 0), big.mark = ","),
      " noise\n")
  if (length(size)) {
    table <- data.frame(size = as.vector(size), stability = x$cluster_scores, row.names = names(size))
    print(table[largest_first(size), ], digits = 4)
    if (length(size) > 10) say("  ... ", counted(length(size) - 10, "smaller cluster"), "\n")
    if (length(size) > 20 && stats::median(size) < 4 * x$minPts) {
      say("  half of the clusters have at most ", floor(stats::median(size)), " points: with a larger `minPts`, such ",
          "as ", 4 * x$minPts, ", there are fewer\n")
    }
  }
  invisible(x)
}

#' @rdname hdbscan_fit
#' @param y for `plot()`: the points; without `y` those of the fit are drawn
#' @export
plot.hdbscan_fit <- function(x, y = NULL, ...) drawn(x, plot_data(x, y), ...)

#' @export
plot_data.hdbscan_fit <- function(object, points = NULL, ...) {
  kept <- attr(object, "points")
  at <- if (is.null(points)) kept$x else check_complete(points_like(points, kept$like, "y"), "y")
  clusters_picture(at, object, kept$x)
}
