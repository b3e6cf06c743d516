# Nearest neighbours, neighbours within a radius, and neighbourhood graphs.

#' Nearest neighbours
#'
#' `knn()` finds the `k` nearest neighbours in `x` of each point of `x`, or of each row of `query`; `radius_nn()` finds
#' all neighbours within a radius. Use them for many points and any distance: the results are exact, and only the
#' results take memory.
#'
#' If the distance grows with the coordinate differences of points, as Euclidean, Manhattan and Minkowski distances do,
#' a tree of bounding boxes excludes most pairs as too far apart, and their distances are never computed.
#'
#' A point is not its own neighbour unless there is a `query`: it is excluded by its row number, so duplicates at
#' distance 0 remain. Among points at the same distance, those with the smaller row number come first, on any device.
#' Columns are not standardised, nor are they in clustering: divide columns of different units by their scales first.
#'
#' `nn_graph()` returns the neighbour graph as a sparse matrix, with the neighbours of point i in row i. `"union"` links
#' two points if either is a neighbour of the other, `"mutual"` only if both are.
#'
#' `plot()` draws the distances to the k-th neighbour in increasing order: the bend upwards suggests a radius that
#' separates dense from sparse regions, as for DBSCAN. For `radius_nn()` it draws the number of neighbours of each
#' point.
#'
#' @param x points: a matrix, a data frame or a vector, without missing values; a factor has one column per level. Or
#'   points of the sf, terra or sp packages: if these are longitudes and latitudes, distances are `"chordal"` unless you
#'   give a `metric`
#' @param query points whose neighbours are wanted; by default all of `x`. Columns are matched by name if both have
#'   names
#' @param k number of neighbours
#' @param metric the distance: `"euclidean"`, `"sqeuclidean"`, `"manhattan"`, `"chebyshev"`, `"canberra"`, `"cosine"`,
#'   `"hellinger"`, `"braycurtis"`, `"haversine"` (the great-circle distance in kilometres, for longitudes and
#'   latitudes in degrees), `"chordal"` (for the same inputs, the distance in kilometres straight through the earth,
#'   which is faster), or a function of two lazy points. `"hellinger"` takes rows as they are; proportions, as in
#'   vegan, are `x / rowSums(x)`
#' @param exclude_self exclude point i of `x` from the neighbours of point i of `query`?
#' @param radius distance up to which points are neighbours, inclusive; for places, a unit (package units) is converted
#' @param ... for `plot()`: more arguments of [graphics::plot()]; otherwise not used
#' @return `knn()`: a list of class `kernweave_nn` with matrices `nn.index` and `nn.dist`, like `FNN::get.knn()`.
#'   `radius_nn()`: a list with lists `id` and `dist`, nearest first, and `radius`, like `dbscan::frNN()`. `nn_graph()`:
#'   a sparse matrix of class `dgCMatrix`. `as.data.frame()` and `as.matrix()`: a row for each neighbour, with columns
#'   `query`, `neighbour` and `distance`.
#' @seealso [argKmin()], the reduction that finds the neighbours; [knn_fit()] for classification, [dbscan_fit()]. If a
#'   package attached later has its own `knn()`, write `kernweave::knn()`
#' @concept k-nearest neighbours
#' @concept radius search
#' @concept fixed-radius neighbours
#' @concept k-distance plot
#' @concept neighbourhood graph
#' @export
#' @examples
#' nn <- knn(iris[, 1:4], k = 5)
#' nn
#' head(nn$nn.index)
#' # classify by a vote among neighbours
#' train <- c(1:40, 51:90, 101:140)
#' near <- knn(iris[train, 1:4], iris[-train, 1:4], k = 5)$nn.index
#' votes <- apply(near, 1, function(i) names(which.max(table(iris$Species[train][i]))))
#' table(votes, iris$Species[-train])
#' head(as.data.frame(nn))
#' G <- nn_graph(nn, symmetrize = "union")
#' table(Matrix::rowSums(G))
#' radius_nn(iris[, 1:4], radius = 0.5)
#' plot(nn)
knn <- function(x, query = NULL, k = 10, metric = "euclidean", exclude_self = is.null(query), ...) {
  refuse_classes(k, ...)
  refuse_more(...)
  given <- sf_neighbours(x, query, metric, !missing(metric))
  refuse_one_text(given$x)
  points <- neighbour_points(given$x, given$query, exclude_self)
  k <- check_count(k, "k")
  n <- nrow(points$x)
  if (k > n - exclude_self) {
    abort("value", "`k` is ", k, ", and there are ", counted(max(0, n - exclude_self), "point"), " to be neighbours")
  }
  metric <- as_metric(given$metric)
  # One neighbour more than `k` shows ties for the last place; another one is the point itself.
  found <- nearest(points, metric, min(n, k + exclude_self + 1))
  places <- neighbour_places(found$index, exclude_self)
  at <- function(which) {
    list(nn.index = places(found$index, which), nn.dist = rooted(places(found$value, which), metric))
  }
  out <- at(seq_len(k))
  following <- if (k < ncol(found$index) - exclude_self) at(k + 1)
  tied <- sum(following$nn.dist == out$nn.dist[, k] & !is.na(following$nn.index))
  names <- rownames(points$query)
  out <- lapply(out, `dimnames<-`, if (!is.null(names)) list(names, NULL))
  new_neighbours(out, "knn", n, metric, exclude_self, is.null(query), tied)
}

refuse_classes <- function(k, cl, ...) {
  if (is.factor(k) || !missing(cl)) {
    abort("input", "knn() finds neighbours; to classify by them, knn_fit() is meant, or ",
          "class::knn(train, test, cl)")
  }
}

neighbour_points <- function(x, query, exclude_self) {
  check_given(x, "x")
  check_flag(exclude_self, "exclude_self")
  if (is.character(query) && is.numeric(x)) {
    abort("input", "`query` must be points as `x` has them, not ", describe(query), ": `metric` is given by name")
  }
  inputs <- fit_matrix(x)
  x <- inputs$x
  if (is.null(query)) return(list(x = x, query = x))
  given <- query
  query <- check_complete(points_like(query, inputs, "query"), "query")
  if (ncol(query) != ncol(x)) {
    abort("shape", "`query` has ", counted(ncol(query), "column"), ", and `x` has ", ncol(x), row_hint(given, ncol(x)),
          if (length(query) == 1) "; the second argument is points: `k` and `radius` are given by name")
  }
  list(x = x, query = query)
}

# Compares squared distances, which is faster; rooted() returns the distances.
nearest <- function(points, metric, K) {
  quicker <- squared(metric)
  if (metric$name == "chordal") quicker$of <- metric_rows$sqeuclidean
  Kmin_argKmin(metric_pairs(quicker, points$query, points$x), K = K)
}

rooted <- function(values, metric) if (metric$name %in% c("euclidean", "chordal")) sqrt(values) else values

# Returns a function that takes `places` of the neighbours found. With `exclude_self` the row itself is removed, or the
# last neighbour if the row is not among them. A restricted distance may have fewer pairs than places, which are then
# NA.
neighbour_places <- function(index, exclude_self, rows = seq_len(nrow(index))) {
  if (!exclude_self) return(function(values, places) values[, places, drop = FALSE])
  K <- ncol(index)
  # Most rows are their own first neighbour.
  others <- which(is.na(index[, 1]) | index[, 1] != rows)
  self <- index[others, , drop = FALSE] == rows[others]
  self[is.na(self)] <- FALSE
  at <- ifelse(rowSums(self) > 0, max.col(self, ties.method = "first"), K)
  kept <- col(self) != at
  function(values, places) {
    out <- values[, 1 + places, drop = FALSE]
    of_others <- matrix(t(values[others, , drop = FALSE])[t(kept)], length(others), K - 1, byrow = TRUE)
    out[others, ] <- of_others[, places, drop = FALSE]
    out
  }
}

new_neighbours <- function(parts, kind, n, metric, exclude_self, same, tied = NULL) {
  about <- list(kind = kind, n = n, metric = metric$name, exclude_self = exclude_self, same = same, tied = tied)
  structure(parts, about = about, class = "kernweave_nn")
}

#' @rdname knn
#' @export
radius_nn <- function(x, query = NULL, radius, metric = "euclidean", exclude_self = is.null(query), ...) {
  refuse_more(...)
  if (missing(radius)) {
    abort("input", "`radius` is not given", if (length(query) == 1) "; the second argument is points, it goes by name")
  }
  given <- sf_neighbours(x, query, metric, !missing(metric))
  metric <- as_metric(given$metric)
  radius <- plain_distance(radius, "radius", metric, given$places)
  if (!is.numeric(radius) || length(radius) != 1 || !isTRUE(radius >= 0)) {
    abort("value", "`radius` must be a number of at least 0, not ", format_value(radius))
  }
  points <- neighbour_points(given$x, given$query, exclude_self)
  within <- metric_pairs(squared(metric), points$query, points$x) <= squared_eps(metric, radius)
  counts <- reduction(within, "count", drop = TRUE)
  if (exclude_self) {
    self <- as.vector(diag(within))
    counts[seq_along(self)] <- counts[seq_along(self)] - self
  }
  megabytes <- 12 * sum(counts) / 2^20
  limit <- getOption("kernweave.max_dense_mb", 1024)
  if (megabytes > limit) {
    abort("memory", "there are ", format(sum(counts), big.mark = ","), " neighbours within `radius`, which would take ",
          format(megabytes, digits = 3), " MB; the limit is ", limit, " MB. Choose a smaller radius, or raise ",
          "options(kernweave.max_dense_mb = )")
  }
  out <- filled_lists(points, metric, counts, exclude_self)
  names(out$id) <- names(out$dist) <- rownames(points$query)
  new_neighbours(c(out, list(radius = radius)), "radius", nrow(points$x), metric, exclude_self, is.null(query))
}

# Returns lists of the nearest `counts` neighbours; rows with similar counts are searched together.
filled_lists <- function(points, metric, counts, exclude_self) {
  m <- nrow(points$query)
  id <- rep(list(integer()), m)
  dist <- rep(list(numeric()), m)
  size <- ceiling(log2(pmax(counts, 1)))
  for (rows in split(seq_len(m), size)) {
    most <- min(max(counts[rows], 1) + exclude_self, nrow(points$x))
    found <- nearest(list(query = points$query[rows, , drop = FALSE], x = points$x), metric, most)
    places <- neighbour_places(found$index, exclude_self, rows)
    index <- unname(places(found$index, seq_len(most - exclude_self)))  # the names of a single row are dropped
    value <- rooted(unname(places(found$value, seq_len(most - exclude_self))), metric)
    for (k in seq_along(rows)) {
      here <- seq_len(counts[rows[k]])
      id[[rows[k]]] <- index[k, here]
      dist[[rows[k]]] <- value[k, here]
    }
  }
  list(id = id, dist = dist)
}

#' @rdname knn
#' @param nn what `knn()` or `radius_nn()` returned
#' @param weights weights of the edges: 1 (`"one"`), or the `"distance"`
#' @param symmetrize `"none"`, `"union"` or `"mutual"`
#' @export
nn_graph <- function(nn, weights = c("one", "distance"), symmetrize = c("none", "union", "mutual")) {
  if (!inherits(nn, "kernweave_nn")) {
    abort("input", "`nn` must be what knn() or radius_nn() returned, not ", describe(nn))
  }
  weights <- choice_of(weights[1], c("one", "distance"), "weights")
  symmetrize <- choice_of(symmetrize[1], c("none", "union", "mutual"), "symmetrize")
  about <- attr(nn, "about")
  if (symmetrize != "none" && !about$same) {
    abort("input", "`symmetrize` is for neighbours of points among themselves; these are of `query`")
  }
  edges <- nn_edges(nn, about)
  if (weights == "one") edges$x <- rep(1, length(edges$i))
  if (symmetrize != "none") {
    # Both directions of each edge; an edge found in both directions is repeated.
    both <- list(i = c(edges$i, edges$j), j = c(edges$j, edges$i), x = c(edges$x, edges$x))
    repeated <- duplicated((both$i - 1) * about$n + both$j)
    edges[names(both)] <- lapply(both, `[`, if (symmetrize == "union") !repeated else repeated)
  }
  Matrix::sparseMatrix(edges$i, edges$j, x = edges$x, dims = c(edges$m, about$n), dimnames = edges$names)
}

nn_edges <- function(nn, about) {
  if (about$kind == "knn") {
    names <- rownames(nn$nn.index)
    m <- nrow(nn$nn.index)
    edges <- list(i = as.vector(row(nn$nn.index)), j = as.vector(nn$nn.index), x = as.vector(nn$nn.dist), m = m)
  } else {
    names <- names(nn$id)
    m <- length(nn$id)
    edges <- list(i = rep(seq_len(m), lengths(nn$id)), j = unlist(nn$id, use.names = FALSE),
                  x = unlist(nn$dist, use.names = FALSE), m = m)
  }
  there <- !is.na(edges$j)
  edges[c("i", "j", "x")] <- lapply(edges[c("i", "j", "x")], `[`, there)
  c(edges, list(names = if (!is.null(names)) list(names, if (about$same) names)))
}

#' @rdname knn
#' @param row.names,optional as in [as.data.frame()]
#' @export
as.data.frame.kernweave_nn <- function(x, row.names = NULL, optional = FALSE, ...) {
  edges <- nn_edges(x, attr(x, "about"))
  by_query <- order(edges$i)  # the nearest first
  columns <- lapply(list(query = edges$i, neighbour = edges$j, distance = edges$x), `[`, by_query)
  data.frame(columns, row.names = row.names)
}

#' @rdname knn
#' @export
as.matrix.kernweave_nn <- function(x, ...) as.matrix(as.data.frame(x))

#' @rdname knn
#' @param digits significant digits
#' @export
print.kernweave_nn <- function(x, digits = 3, ...) {
  about <- attr(x, "about")
  m <- if (about$kind == "knn") nrow(x$nn.index) else length(x$id)
  distances <- if (about$kind == "knn") x$nn.dist else unlist(x$dist)
  among <- if (about$same) "points" else paste0("points among ", format(about$n, big.mark = ","))
  what <- if (about$kind == "knn") counted(ncol(x$nn.index), "nearest neighbour")
          else paste("neighbours within", x$radius)
  say(what, " of ", format(m, big.mark = ","), " ", among, " (", about$metric,
      if (about$exclude_self) ", self left out", ")\n")
  distances <- distances[is.finite(distances)]
  if (about$kind == "radius" && m > 0) {
    counts <- lengths(x$id)
    say("  ", format(sum(counts), big.mark = ","), " in all, ", min(counts), " to ", max(counts), " each, ",
        counted(sum(counts == 0), "point"), " without any\n")
  }
  if (length(distances)) {
    shown <- vapply(c(min(distances), median(distances), max(distances)), format, "", digits = digits)
    say("  distances: min ", shown[1], ", median ", shown[2], ", max ", shown[3], "\n")
  }
  if (isTRUE(about$tied > 0)) {
    say("  ties for the last place: in ", counted(about$tied, "row"), ", smallest index kept\n")
  }
  invisible(x)
}

#' @rdname knn
#' @param object what `knn()` or `radius_nn()` returned
#' @export
summary.kernweave_nn <- function(object, ...) object

#' @rdname knn
#' @export
plot.kernweave_nn <- function(x, ...) drawn(x, plot_data(x), ...)

#' @export
plot_data.kernweave_nn <- function(object, ...) {
  about <- attr(object, "about")
  k <- if (about$kind == "knn") ncol(object$nn.dist)
  of_each <- sort(if (is.null(k)) lengths(object$id) else object$nn.dist[, k])
  label <- if (is.null(k)) paste("neighbours within", object$radius) else paste("distance to neighbour", k)
  rows <- drawn_rows(length(of_each), most_drawn)
  picture("points in order", label, curve = data.frame(x = rows, y = of_each[rows]))
}
