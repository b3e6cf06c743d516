# Clusters by density (DBSCAN), and the local outlier factor.

#' Density-based clustering (DBSCAN)
#'
#' Finds the clusters of DBSCAN. A point is a core point if at least `minPts` points, itself among them, are within
#' distance `eps`. Core points within `eps` of each other are in the same cluster; other points within `eps` of a core
#' point are border points, and the rest is noise. Use it for clusters of any shape and unknown number. Memory is a few
#' numbers per point, however many neighbours there are.
#'
#' A border point takes the cluster of its nearest core point, and among core points at the same distance the one with
#' the smallest row number. Unless such distances are equal, the order of the rows therefore changes only the numbers of
#' the clusters, which follow the order of their first core points. `dbscan::dbscan()` finds the same core points and
#' clusters of core points, but gives a border point to the cluster that it visits first.
#'
#' For the metrics `"euclidean"`, `"sqeuclidean"`, `"manhattan"`, `"chebyshev"`, `"chordal"` and `"haversine"`, bounding
#' boxes show that most pairs are farther apart than `eps`, and these pairs are never computed. Other metrics compute
#' all pairs, about ten times. The bend in `plot(knn(x, k = minPts - 1))` suggests `eps`.
#'
#' @param x points, as in [knn()]; for `print()` and `plot()` an object returned by `dbscan_fit()`
#' @param eps distance up to which points are neighbours, inclusive; for places, a unit (package units) is converted
#' @param minPts number of points within `eps`, the point itself among them, that make a core point
#' @param metric the distance, as in [knn()]; a function of your own must be symmetric
#' @param borderPoints assign border points to clusters? Otherwise they are noise
#' @param object,newdata for `predict()`: an object returned by `dbscan_fit()`, and points to assign to the cluster of
#'   their nearest core point within `eps`, or to noise
#' @param ... for `plot()`: more arguments of [graphics::plot()]; otherwise not used
#' @return An object of class `dbscan_fit`, which also has the class `dbscan` of the dbscan package: `cluster`, with 0
#'   for noise, `eps`, `minPts`, `dist`, `borderPoints`, `core`, whether each point is a core point, and `points`, the
#'   core points. `predict()`: a cluster for each row, 0 for noise, `NA` where values are missing.
#' @seealso [kmeans_fit()] for a given number of clusters, [knn()], [lof_scores()]
#' @concept density-based clustering
#' @concept DBSCAN
#' @concept noise points
#' @concept clusters of any shape
#' @export
#' @examples
#' found <- dbscan_fit(iris[, 1:4], eps = 0.5)
#' found
#' table(found$cluster, iris$Species)
#' predict(found, iris[c(1, 42, 51), 1:4])
#' plot(found)
dbscan_fit <- function(x, eps, minPts = 5, metric = "euclidean", borderPoints = TRUE, ...) {
  refuse_more(...)
  given <- sf_neighbours(x, NULL, metric, !missing(metric))
  inputs <- c(fit_matrix(given$x), list(places = given$places))
  if (missing(eps)) abort("input", "`eps` is not given: the distance up to which points are neighbours")
  metric <- as_metric(given$metric)
  eps <- plain_distance(eps, "eps", metric, given$places)
  if (!is.numeric(eps) || length(eps) != 1 || !isTRUE(eps >= 0 && is.finite(eps))) {
    abort("value", "`eps` must be a finite number of at least 0, not ", format_value(eps))
  }
  minPts <- check_count(minPts, "minPts")
  check_flag(borderPoints, "borderPoints")
  x <- strip_term(inputs$x)
  n <- nrow(x)
  if (minPts > n) {
    warn("empty", "`minPts` is ", minPts, ", and there ", if (n == 1) "is 1 point" else paste("are", n, "points"),
         ": all of them are noise")
  }
  core <- if (minPts > n) logical(n) else reduction(boxed_pairs(x, metric, eps), "count", drop = TRUE) >= minPts
  cores <- x[core, , drop = FALSE]
  cluster <- integer(n)
  cluster[core] <- linked_groups(cores, metric, eps)
  if (borderPoints) cluster[!core] <- cluster_of_nearest(x[!core, , drop = FALSE], cores, cluster[core], metric, eps)
  found <- list(cluster = stats::setNames(cluster, rownames(x)), eps = eps, minPts = minPts, dist = metric$name,
                borderPoints = borderPoints, core = core, points = cores)
  structure(with_sample(found, x), metric = metric, like = inputs[setdiff(names(inputs), "x")],
            class = c("dbscan_fit", "dbscan_fast", "dbscan"))
}

# Returns connected components of the graph of pairs within eps, numbered by their first points. A label is the number
# of a point of the same component, at most the point's own number. In each round a label becomes the least label
# among the neighbours of its points, and links between labels are followed to their ends, so components merge fast.
linked_groups <- function(x, metric, eps) {
  n <- nrow(x)
  if (!n) return(integer())
  near <- boxed_pairs(x, metric, eps)  # constant over the rounds
  if (n > 2^24) near <- lazy_set(near, precision = "float64")  # float32 has whole numbers to 2^24
  least_seen <- as.function(reduction(lazy_if(near, Vj(dim = 1, name = "labels"), Inf), "min", drop = TRUE))
  labels <- as.numeric(seq_len(n))
  repeat {
    seen <- as.vector(least_seen(labels))
    at <- which(seen < labels)
    if (!length(at)) break
    at <- at[order(seen[at], decreasing = TRUE)]
    link <- as.numeric(seq_len(n))
    link[labels[at]] <- seen[at]  # the last value assigned, the least, stays
    while (!identical(onward <- link[link], link)) link <- onward
    labels <- link[labels]
  }
  match(labels, sort(unique(labels)))
}

# Pairs within eps, restricted to boxes that are near enough: a distance <= eps of the metric bounds the Euclidean
# distance. The bound is raised slightly, for rounding errors of both distances. With the Euclidean metric the two
# conditions are one.
boxed_pairs <- function(x, metric, eps) {
  near <- metric_pairs(squared(metric), x, x) <= squared_eps(metric, eps)
  more <- function(x, bound) list(x = x, bound = bound * (1 + 1e-6) + 1e-12 * max(abs(x)))
  places <- switch(metric$name,
                   euclidean = list(x = x, bound = eps),
                   sqeuclidean = more(x, sqrt(eps)),
                   manhattan = more(x, eps),
                   chebyshev = more(x, eps * sqrt(ncol(x))),
                   chordal = more(on_sphere(x, earth_radius), eps),
                   haversine = more(on_sphere(x, earth_radius),
                                    2 * earth_radius * sin(min(eps / earth_radius, pi) / 2)))
  if (is.null(places)) return(near)
  boxed <- sparsify(sqdist(Vi(places$x), Vj(places$x)) <= places$bound^2, tol = 0)
  if (metric$name == "euclidean") boxed else boxed & near
}

# Returns the cluster of the nearest core point, 0 if no core point is within eps.
cluster_of_nearest <- function(at, cores, cluster, metric, eps) {
  if (!nrow(at) || !nrow(cores)) return(integer(nrow(at)))
  found <- nearest(list(query = at, x = cores), metric, 1)
  inside <- found$value[, 1] <= if (metric$name == "chordal") eps^2 else squared_eps(metric, eps)
  ifelse(!is.na(inside) & inside, cluster[found$index[, 1]], 0L)
}

#' @rdname dbscan_fit
#' @export
predict.dbscan_fit <- function(object, newdata = NULL, ...) {
  refuse_more(...)
  if (is.null(newdata)) return(object$cluster)
  like <- attr(object, "like")
  at <- points_like(newdata, like, "newdata")
  match_width(at, ncol(object$points), "the points", newdata)
  check_finite(at, "newdata")
  of_cores <- unname(object$cluster)[object$core]
  found <- at_complete(at, function(at) {
    cluster_of_nearest(at, object$points, of_cores, attr(object, "metric"), object$eps)
  })
  storage.mode(found) <- "integer"
  found
}

#' @rdname dbscan_fit
#' @export
print.dbscan_fit <- function(x, ...) {
  size <- table(x$cluster[x$cluster > 0])
  say("Density clusters of ", count_text(length(x$cluster), "point"), " (", x$dist, ", eps = ",
      format(x$eps), ", minPts = ", x$minPts, ")\n")
  say("  ", counted(length(size), "cluster"), ", ", count_text(sum(x$core), "core"), ", ",
      count_text(sum(x$cluster > 0 & !x$core), "border point"), ", ",
      format(sum(x$cluster == 0), big.mark = ","), " noise\n")
  if (length(size)) {
    shown <- size[largest_first(size)]
    say(if (length(size) > 10) "  largest: " else "  sizes: ",
        paste(names(shown), format(shown, big.mark = ",", trim = TRUE), sep = ": ", collapse = ", "),
        if (length(size) > 10) ", ...", "\n")
  }
  invisible(x)
}

# Orders the ten largest of more than ten clusters; up to ten clusters keep their order.
largest_first <- function(size) {
  if (length(size) <= 10) return(seq_along(size))
  utils::head(order(size, decreasing = TRUE), 10)
}

#' @rdname dbscan_fit
#' @param y for `plot()`: the points; by default some of them, at most 2000, which the object keeps. Noise is drawn in
#'   grey
#' @export
plot.dbscan_fit <- function(x, y = NULL, ...) drawn(x, plot_data(x, y), ...)

# Plots two columns, or, of more, the first two principal components.
#' @export
plot_data.dbscan_fit <- function(object, points = NULL, ...) {
  if (!is.null(points)) points <- check_complete(points_like(points, attr(object, "like"), "y"), "y")
  clusters_picture(points, object, object$points)
}

#' Local outlier factors
#'
#' Computes how much sparser a point lies than its `k` nearest neighbours. A factor near 1 means a region of even
#' density; the larger the factor, the more the point is an outlier of its neighbourhood.
#'
#' The reachability distance of a point i from its neighbour j is `max(d(i, j), d_k(j))`, where `d_k(j)` is the distance
#' of j to its own k-th neighbour. The density of a point is the inverse of its mean reachability distance. The factor
#' is the mean density of the neighbours divided by the density of the point.
#'
#' `dbscan::lof(minPts = k + 1)` has the same values. If several points are at the distance of the k-th neighbour,
#' `dbscan::lof()` takes all of them, and `lof_scores()` the points with the smallest row numbers, as [knn()] does. A
#' point whose `k` neighbours are its copies has infinite density and, with a message, the factor 1. A point of finite
#' density with such a neighbour has the factor `Inf`.
#'
#' @inheritParams knn
#' @param ... not used
#' @return A numeric vector: the factor of each point.
#' @seealso [knn()], [dbscan_fit()]
#' @concept outlier detection
#' @concept anomaly score
#' @concept LOF
#' @export
#' @examples
#' factor <- lof_scores(iris[, 1:4], k = 10)
#' head(sort(factor, decreasing = TRUE))
#' plot(iris$Sepal.Length, iris$Sepal.Width, cex = factor)
lof_scores <- function(x, k = 4, metric = "euclidean", ...) {
  refuse_more(...)
  nn <- if (missing(metric)) knn(x, k = k) else knn(x, k = k, metric = metric)
  index <- nn$nn.index
  if (anyNA(index)) abort("data", "`metric` leaves some points with fewer than ", counted(k, "neighbour"))
  of_neighbours <- function(v) matrix(v[index], nrow(index))
  reach <- pmax(nn$nn.dist, of_neighbours(nn$nn.dist[, k]))
  density <- 1 / rowMeans(reach)
  factor <- rowMeans(of_neighbours(density)) / density
  among_copies <- is.nan(factor)
  if (any(among_copies)) {
    tell(count_text(sum(among_copies), "point"), " with as many copies as neighbours, ", k,
         " or more: the factor is 1")
  }
  factor[among_copies] <- 1
  stats::setNames(factor, rownames(index))
}
