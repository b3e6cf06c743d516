# Clusters and neighbours as data frames, with the columns of broom's methods for kmeans() and of dbscan's methods.

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.kernweave_nn <- function(x, ...) as_tidy(columns = as.data.frame(x))

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.kernweave_nn <- function(x, ...) {
  about <- attr(x, "about")
  edges <- nn_edges(x, about)
  as_tidy(nobs = edges$m, points = about$n, neighbours = length(edges$i), k = ncol(x$nn.index) %or% NA_integer_,
          radius = x$radius %or% NA_real_, metric = about$metric, mean.distance = mean(edges$x))
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.kmeans_fit <- function(x, ...) {
  centers <- x$centers
  colnames(centers) <- colnames(centers) %or% paste0("x", seq_len(ncol(centers)))
  as_tidy(centers, size = x$size, withinss = x$withinss, cluster = factor(seq_along(x$size)), check.names = FALSE,
          row.names = NULL)
}

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.kmeans_fit <- function(x, ...) {
  as_tidy(totss = x$totss, tot.withinss = x$tot.withinss, betweenss = x$betweenss, iter = x$iter)
}

#' @rdname tidy-fits
#' @exportS3Method generics::augment
augment.kmeans_fit <- function(x, data = NULL, newdata = NULL, ...) {
  refuse_more(...)
  as_tidy(columns = with_clusters(x, data, newdata, seq_along(x$size)))
}

# Rows of the data, or new rows, with a factor of their clusters.
with_clusters <- function(x, data, newdata, levels) {
  given <- if (is.null(newdata)) data else newdata
  if (is.null(given)) abort("input", "`data` is not given: the points that were clustered, or new ones as `newdata`")
  if (is.null(newdata) && NROW(data) != length(x$cluster)) {
    abort("shape", "`data` must be the points that were clustered, of ", counted(length(x$cluster), "row"), ", not ",
          counted(NROW(data), "row"), "; other places are `newdata`")
  }
  out <- if (inherits(given, c("sf", "sfc"))) sf::st_sf(given)
         else if (is.data.frame(given)) given else data.frame(given, check.names = FALSE)
  out$.cluster <- factor(unname(if (is.null(newdata)) x$cluster else predict(x, newdata)), levels)
  out
}

# Clusters by size, noise first as cluster 0.
#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.dbscan_fit <- function(x, ...) {
  levels <- c(0L, seq_len(max(0L, x$cluster)))
  as_tidy(cluster = factor(levels), size = tabulate(x$cluster + 1L, length(levels)), noise = levels == 0)
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.hdbscan_fit <- function(x, ...) {
  out <- tidy.dbscan_fit(x)
  out$cluster_score <- unname(x$cluster_scores[as.character(out$cluster)])
  out[c("cluster", "size", "cluster_score", "noise")]
}

#' @rdname tidy-fits
#' @exportS3Method generics::glance
#' @rawNamespace S3method(generics::glance, hdbscan_fit, glance.dbscan_fit)
glance.dbscan_fit <- function(x, ...) {
  as_tidy(nobs = length(x$cluster), n.clusters = length(setdiff(x$cluster, 0L)), nexcluded = sum(x$cluster == 0L))
}

#' @rdname tidy-fits
#' @exportS3Method generics::augment
augment.dbscan_fit <- function(x, data = NULL, newdata = NULL, ...) {
  refuse_more(...)
  out <- with_clusters(x, data, newdata, c(0L, seq_len(max(0L, x$cluster))))
  out$noise <- out$.cluster == "0"
  as_tidy(columns = out)
}

#' @rdname tidy-fits
#' @exportS3Method generics::augment
augment.hdbscan_fit <- function(x, data = NULL, newdata = NULL, ...) {
  refuse_more(...)
  out <- with_clusters(x, data, newdata, c(0L, seq_len(max(0L, x$cluster))))
  of_fit <- x[c("coredist", "membership_prob", "outlier_scores")]
  out[paste0(".", names(of_fit))] <- if (is.null(newdata)) lapply(of_fit, unname) else NA_real_
  as_tidy(columns = out)
}
