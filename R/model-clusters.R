# Silhouettes, and k-means by Lloyd's iteration.

#' Silhouette widths without a distance matrix
#'
#' Computes how well each point lies in its cluster, as `cluster::silhouette()` does from `dist(x)`. Use it to choose a
#' number of clusters, or to check a clustering, when there are too many points for a distance matrix: it stores one
#' number per point and cluster.
#'
#' If `a` is the mean distance of a point to the others in its cluster, and `b` the smallest mean distance to another
#' cluster, the silhouette width of the point is `(b - a) / max(a, b)`. A point alone in its cluster has width 0.
#'
#' @param x points: a matrix, a data frame or a vector, without missing values, or points of sf, as in [knn()]
#' @param cluster the cluster of each point: whole numbers, a factor or character strings; or an object returned by
#'   [stats::kmeans()], [kmeans_fit()], `cluster::pam()` or `clara()`
#' @param metric the distance, as in [knn()]
#' @param object,... for methods
#' @return A matrix of class `silhouette`, with columns `cluster`, `neighbor` and `sil_width`. `plot()` draws the widths
#'   with the mean of each cluster; `summary()` calls the method of the cluster package. Labels that are not numbers
#'   become the numbers of their levels; the attribute `labels` has the levels.
#' @seealso [kmeans_fit()], [knn()]
#' @concept cluster validation
#' @concept number of clusters
#' @export
#' @examples
#' found <- silhouette_widths(iris[, 1:4], iris$Species)
#' found
#' tapply(found[, "sil_width"], iris$Species, mean)
silhouette_widths <- function(x, cluster, metric = "euclidean", ...) {
  refuse_more(...)
  call <- sys.call()
  if (missing(cluster)) abort("input", "`cluster` is not given: a label for each row of `x`")
  given <- sf_neighbours(x, NULL, metric, !missing(metric))
  x <- complete_points(given$x, "x")
  if (inherits(cluster, c("dist", "data.frame")) || is.matrix(cluster) && ncol(cluster) > 1) {
    abort("input", "`cluster` must be a label for each row, not ", describe(cluster),
          "; the points go first, as in silhouette_widths(x, cluster)")
  }
  if (inherits(cluster, "kmeans")) cluster <- cluster$cluster
  else if (inherits(cluster, "partition")) cluster <- cluster$clustering
  groups <- grouped(x, cluster, "cluster")
  sizes <- tabulate(groups$codes)
  sums <- metric_pairs(as_metric(given$metric), x) %*% (outer(groups$codes, seq_along(sizes), "==") * 1)
  own <- cbind(seq_len(nrow(x)), groups$codes)
  a <- sums[own] / (sizes[groups$codes] - 1)
  others <- t(t(sums) / sizes)
  others[own] <- Inf
  nearest <- max.col(-others, ties.method = "first")
  b <- others[cbind(own[, 1], nearest)]
  width <- ifelse(sizes[groups$codes] == 1, 0, ifelse(pmax(a, b) == 0, 0, (b - a) / pmax(a, b)))
  numbers <- if (is.numeric(cluster)) sort(unique(cluster)) else seq_along(sizes)
  out <- cbind(cluster = numbers[groups$codes], neighbor = numbers[nearest], sil_width = width)
  rownames(out) <- rownames(x)
  structure(out, Ordered = FALSE, call = call, labels = if (!is.numeric(cluster)) groups$labels,
            class = c("silhouette_widths", "silhouette"))
}

#' @rdname silhouette_widths
#' @export
print.silhouette_widths <- function(x, ...) {
  widths <- x[, "sil_width"]
  by_cluster <- tapply(widths, x[, "cluster"], mean)
  labels <- attr(x, "labels") %or% names(by_cluster)
  say("Silhouette widths of ", count_text(nrow(x), "point"), " in ", length(by_cluster), " clusters: mean ",
      format(mean(widths), digits = 4), "\n")
  print(data.frame(size = as.vector(table(x[, "cluster"])), mean = as.vector(by_cluster),
                   below.0 = as.vector(tapply(widths < 0, x[, "cluster"], sum)), row.names = labels), digits = 4)
  invisible(x)
}

#' @rdname silhouette_widths
#' @export
summary.silhouette_widths <- function(object, ...) {
  if (!requireNamespace("cluster", quietly = TRUE)) {
    abort("input", "summary() of silhouettes is that of the cluster package, which is not installed")
  }
  class(object) <- "silhouette"
  summary(object, ...)
}

#' @rdname silhouette_widths
#' @export
plot.silhouette_widths <- function(x, ...) drawn(x, plot_data(x), ...)

# Draws the widths as bars, in decreasing order in each cluster, with labels and means in the middle of the clusters.
#' @export
plot_data.silhouette_widths <- function(object, ...) {
  group <- factor(object[, "cluster"], labels = attr(object, "labels") %or% sort(unique(object[, "cluster"])))
  sorted <- order(group, -object[, "sil_width"])
  widths <- object[sorted, "sil_width"]
  ends <- cumsum(table(group))
  texts <- character(length(sorted))
  means <- tapply(widths, group[sorted], mean)
  texts[ceiling(ends - table(group) / 2)] <- paste0(levels(group), "\n", format(means, digits = 2))
  bars <- bars_picture(widths, texts, "silhouette width", paste("mean", format(mean(widths), digits = 3)))
  bars$layers$boxes$group <- group[sorted]
  bars$glab <- "cluster"
  bars
}

#' K-means clustering of many points
#'
#' Clusters points with Lloyd's algorithm: it assigns each point to its nearest centre and moves each centre to the mean
#' of its points, until nothing changes. Use it for many points in many dimensions. From the same starting centres the
#' result equals [stats::kmeans()] with `algorithm = "Lloyd"`, in every field.
#'
#' If `centers` is a number, starting centres are drawn with k-means++, `nstart` times, with R's random numbers, and the
#' best result is kept. A cluster that loses all its points takes the point farthest from its centre, with a warning.
#'
#' @param x points: matrix, data frame or vector, without missing values, or points of the sf, terra or sp packages, in
#'   their coordinates; for `print()` and `plot()` a result of `kmeans_fit()`
#' @param centers the number of clusters, or a matrix of starting centres
#' @param iter.max maximum number of iterations
#' @param nstart number of random starts, if `centers` is a number
#' @param weights weight of each point; by default all weights are 1
#' @param object,newdata for `predict()`: an object returned by `kmeans_fit()`, and points to assign to its clusters
#' @param ... not used
#' @return An object of class `kmeans`, like that of [stats::kmeans()].
#' @seealso [silhouette_widths()], [stats::kmeans()]
#' @concept cluster analysis
#' @concept k-means++
#' @concept vector quantisation
#' @export
#' @examples
#' set.seed(1)
#' found <- kmeans_fit(iris[, 1:4], 3)
#' found$size
#' table(found$cluster, iris$Species)
#' plot(found)
#' predict(found, iris[c(1, 51, 101), 1:4])
#' silhouette_widths(iris[, 1:4], found)
kmeans_fit <- function(x, centers, iter.max = 100, nstart = 5, weights = NULL, ...) {
  refuse_more(...)
  inputs <- fit_matrix(x)
  x <- strip_term(inputs$x)
  if (is.null(inputs$columns)) colnames(x) <- NULL
  iter.max <- check_count(iter.max, "iter.max")
  weights <- check_mass(weights, nrow(x))
  if (missing(centers)) abort("input", "`centers` is not given: a number of clusters, or a matrix of centres")
  number <- length(centers) == 1 && !is.data.frame(centers)
  if (number) centers <- as.vector(centers)
  else {
    centers <- strip_term(check_complete(points_like(centers, inputs, "centers"), "centers"))
    match_width(centers, ncol(x), "`x` has", argument = "centers")
    if (anyDuplicated(centers)) abort("data", "`centers`: row ", anyDuplicated(centers), " is there already")
  }
  if (all(weights > 0)) found <- kmeans_of(x, centers, iter.max, nstart, weights)
  else {
    # Points of weight 0 are left out, and assigned to the nearest centres afterwards.
    heavy <- weights > 0
    found <- kmeans_of(x[heavy, , drop = FALSE], centers, iter.max, nstart, weights[heavy])
    cluster <- nearest_center(x, found$centers)
    found$cluster <- stats::setNames(replace(cluster, heavy, found$cluster), rownames(x))
  }
  # Factors, and places, are converted in the same way for new data; numeric columns need only the names of the centres.
  more <- !identical(inputs$columns, colnames(x)) || !is.null(inputs$places)
  if (more) attr(found, "like") <- inputs[setdiff(names(inputs), "x")]
  with_sample(found, x)
}

kmeans_of <- function(x, centers, iter.max, nstart, weights) {
  # A column for each point, with its mass in the last row: index_add() sums the columns of a cluster.
  work <- list(x = x, weights = weights, massed = rbind(t(weighted(x, weights)), weights %or% 1, deparse.level = 0),
               nearest = as.function(argmin(sqdist(Vi(x), Vj(dim = ncol(x), name = "centers")))))
  if (is.matrix(centers)) return(lloyd(work, centers, iter.max))
  k <- check_count(centers, "centers")
  distinct <- nrow(unique(x))
  if (k > distinct) abort("data", "`centers` is ", k, ", and `x` has ", counted(distinct, "distinct row"))
  found <- lapply(seq_len(check_count(nstart, "nstart")), function(start) {
    lloyd(work, spread_centers(x, k, weights), iter.max)
  })
  found[[which.min(vapply(found, `[[`, 0, "tot.withinss"))]]
}

# k-means++: a point becomes the next centre with probability proportional to its squared distance from the centres.
spread_centers <- function(x, k, weights) {
  mass <- weights %or% rep(1, nrow(x))
  chosen <- sample.int(nrow(x), 1, prob = mass)
  far <- Inf
  while (length(chosen) < k) {
    last <- x[chosen[length(chosen)], , drop = FALSE]
    far <- pmin(far, colSums((t(x) - as.vector(last))^2))
    chosen <- c(chosen, sample.int(nrow(x), 1, prob = if (any(mass * far > 0)) mass * far else far))
  }
  x[chosen, , drop = FALSE]
}

weighted <- function(x, weights) if (is.null(weights)) x else weights * x

lloyd <- function(work, centers, iter.max) {
  k <- nrow(centers)
  last <- nrow(work$massed)
  sums_by <- function(cluster) index_add(matrix(0, last, k), cluster, work$massed, dim = 2)
  before <- 0L
  begin_work("kmeans_fit()", steps = iter.max)
  on.exit(end_work("kmeans_fit()"))
  for (iter in seq_len(iter.max)) {
    cluster <- as.vector(work$nearest(unname(centers)))
    sums <- sums_by(cluster)
    if (any(sums[last, ] == 0)) {
      cluster <- refill(cluster, rowSums((work$x - centers[cluster, , drop = FALSE])^2), k)
      sums <- sums_by(cluster)
    }
    step_work("kmeans_fit()")
    settled <- identical(cluster, before)
    if (settled) break
    before <- cluster
    centers <- t(sums[-last, , drop = FALSE]) / sums[last, ]
  }
  if (!settled) {
    warn("convergence", "k-means has not converged in ", counted(iter.max, "iteration"), "; raise `iter.max`")
  }
  as_kmeans(work, cluster, centers, sums[last, ], if (settled) iter else iter + 1L)
}

nearest_center <- function(x, centers) as.vector(argmin(sqdist(Vi(strip_term(x)), Vj(unname(centers)))))

# Gives an empty cluster the point that is farthest from its centre.
refill <- function(cluster, far, k) {
  empty <- which(tabulate(cluster, k) == 0)
  warn("empty", "cluster ", first_few(empty), " lost all its points and takes those farthest from their centres")
  for (one in empty) {
    lonely <- tabulate(cluster, k)[cluster] == 1
    at <- which.max(ifelse(lonely, -Inf, far))
    cluster[at] <- one
    far[at] <- 0
  }
  cluster
}

# Computes sums of squares; centres are means of their clusters, so total = within + between.
as_kmeans <- function(work, cluster, centers, mass, iter) {
  k <- nrow(centers)
  off <- rowSums((work$x - centers[cluster, , drop = FALSE])^2)
  within <- index_add(numeric(k), cluster, weighted(off, work$weights))
  middle <- colSums(mass * centers) / sum(mass)
  between <- sum(mass * colSums((t(centers) - middle)^2))
  dimnames(centers) <- list(seq_len(k), colnames(work$x))
  structure(
    list(cluster = stats::setNames(cluster, rownames(work$x)), centers = centers, totss = sum(within) + between,
         withinss = within, tot.withinss = sum(within), betweenss = between, size = tabulate(cluster, k), iter = iter,
         ifault = NULL),
    class = c("kmeans_fit", "kmeans")
  )
}

#' @rdname kmeans_fit
#' @importFrom stats predict
#' @export
predict.kmeans_fit <- function(object, newdata = NULL, ...) {
  refuse_more(...)
  if (is.null(newdata)) return(object$cluster)
  x <- points_beside(newdata, object, "newdata")
  match_width(x, ncol(object$centers), "the centres have", newdata)
  known <- rowSums(is.na(x)) == 0
  out <- rep(NA_integer_, nrow(x))
  if (any(known)) {
    out[known] <- nearest_center(check_finite(x[known, , drop = FALSE], "newdata"), object$centers)
  }
  stats::setNames(out, rownames(x))
}

points_beside <- function(x, clusters, argument) {
  points_like(x, attr(clusters, "like") %or% kept_of_points(clusters$centers), argument)
}

#' @rdname kmeans_fit
#' @param digits significant digits
#' @export
print.kmeans_fit <- function(x, digits = 4, ...) {
  k <- nrow(x$centers)
  say("K-means clustering of ", count_text(length(x$cluster), "point"), ": ", counted(k, "cluster"), ", ",
      counted(x$iter, "iteration"), "\n  ", format(100 * x$betweenss / x$totss, digits = 3),
      " % of the sum of squares is between clusters\n")
  columns <- seq_len(min(ncol(x$centers), 5))
  centres <- structure(x$centers[, columns, drop = FALSE], dimnames = list(NULL, colnames(x$centers)[columns]))
  table <- data.frame(size = x$size, within.ss = x$withinss, centre = centres)
  print(utils::head(table, 20), digits = digits)
  more <- c(if (k > 20) counted(k - 20, "more cluster"),
            if (ncol(x$centers) > 5) counted(ncol(x$centers) - 5, "more column"))
  if (length(more)) say("  ... ", paste(more, collapse = ", "), "\n")
  invisible(x)
}

#' @rdname kmeans_fit
#' @param y for `plot()`: the points; by default some of them, at most 2000, which the object keeps
#' @export
plot.kmeans_fit <- function(x, y = NULL, ...) drawn(x, plot_data(x, y), ...)

# Plots two columns, or, of more, the first two principal components of the points, or of the centres alone.
#' @export
plot_data.kmeans_fit <- function(object, points = NULL, ...) {
  if (!is.null(points)) points <- check_complete(points_beside(points, object, "y"), "y")
  clusters_picture(points, object, object$centers, unname(object$centers))
}

# Stores a sample of the points, which plot() draws by default.
with_sample <- function(found, x) {
  rows <- drawn_rows(nrow(x), max(100, min(2000, floor(2e5 / ncol(x)))), found$cluster)
  structure(found, sample = list(rows = rows, x = unname(x[rows, , drop = FALSE])))
}

# Draws points with the columns of `like` (by default the stored sample) and centres, if any, with the label `centre`.
# Group 0 is noise.
clusters_picture <- function(at, found, like, centers = matrix(0, 0, ncol(like)), centre = "centre") {
  group <- unname(found$cluster)
  main <- NULL
  if (is.null(at)) {
    sample <- attr(found, "sample")
    at <- sample$x
    group <- group[sample$rows]
    main <- drawn_title(NULL, length(found$cluster), length(group))
  }
  at <- unname(strip_term(at))
  group[group == 0] <- NA
  if (nrow(at) != length(group) || ncol(at) != ncol(like)) {
    abort("shape", "`y` is ", nrow(at), " x ", ncol(at), ", and the clusters are of ", counted(length(group), "point"),
          " and ", counted(ncol(like), "column"))
  }
  names <- colnames(like) %or% paste0("x", seq_len(ncol(like)))
  if (ncol(at) == 1) {
    at <- cbind(at, group)
    centers <- cbind(centers, seq_len(nrow(centers)))
    names <- c(names, "cluster")
  } else if (ncol(at) > 2 && nrow(rbind(at, centers)) > 1) {
    turned <- stats::prcomp(at)
    centers <- cbind(stats::predict(turned, centers), numeric(nrow(centers)))
    at <- cbind(turned$x, 0)  # a single point has one component
    names <- c("PC1", "PC2")
  }
  beside <- rbind(if (anyNA(group)) data.frame(label = "noise", pch = 20, lty = NA, col = "grey75"),
                  if (nrow(centers)) data.frame(label = centre, pch = 3, lty = NA, col = "black"))
  picture(names[1], names[2], points = data.frame(x = at[, 1], y = at[, 2], group = factor(group)),
          centres = if (nrow(centers)) data.frame(x = centers[, 1], y = centers[, 2]), glab = "cluster",
          beside = beside, main = main, asp = map_aspect(at, names), most = 20000)
}
