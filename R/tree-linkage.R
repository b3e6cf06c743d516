# Hierarchical clusters as base R's class "hclust": single linkage and Ward's method, from points alone.

#' Hierarchical clustering of many points
#'
#' `hclust_fit()` computes single linkage or Ward's clusters from points, without their distances. Use it for more
#' points than [stats::hclust()] can take: at most 65,536 points, whose distances are 17 GB. The result is an object of
#' class `hclust`, so that the functions of base R take it.
#'
#' Single linkage is a shortest spanning tree of the points ([spanning_tree()]). Ward's method joins the two clusters
#' whose union adds least to the sum of squares within clusters; in each round all pairs of clusters that are nearest to
#' each other join, which gives the same tree. Heights are those of `hclust(dist(x), method)`. If several distances are
#' equal, there is more than one tree: among equal distances the one of the points with the smaller row numbers comes
#' first, for any number of threads. The time grows a little faster than the number of points in few dimensions, and
#' like its square in many.
#'
#' Average and complete linkage need the distances of all pairs of points. For these, cluster first and then link the
#' centres: `centers <- kmeans_fit(x, 1000)`, `hclust(dist(centers$centers), "average", members = centers$size)`.
#'
#' `cut_tree()` is [stats::cutree()] in a time proportional to the number of points, for trees of any size, from any
#' function whose result [stats::as.hclust()] takes.
#'
#' A tree of more than 2000 points is drawn by its top 50 branches, each labelled with its number of points in
#' parentheses. `as.dendrogram(k = )` returns such a tree of `k` branches; `plot(as.hclust(tree))` draws the whole tree.
#' `plot()` returns, invisibly, the tree that it has drawn. Give `rect.hclust()` this tree, `rect.hclust(plot(tree), k =
#' 3)`, since rectangles of the whole tree would be in wrong places. `identify()` returns the points of the branches
#' that are clicked.
#'
#' @param x points: a matrix, a data frame or a vector, without missing values, or points of the sf package, as in
#'   [knn()]; for methods an object returned by `hclust_fit()`
#' @param method `"single"` or `"ward.D2"`
#' @param metric the distance: `"euclidean"`, `"manhattan"`, `"chebyshev"`, `"cosine"`, `"haversine"` or `"chordal"`
#'   as in [knn()]; for Ward's method `"euclidean"`
#' @param members for `"ward.D2"`: the number of observations of which each row of `x` is the mean. The
#'   heights are those of `hclust(d * sqrt(2 * a * b / (a + b)), "ward.D2", members)`, with `d` the distance of two
#'   rows, and `a` and `b` their members
#' @return `hclust_fit()`: an object of classes `hclust_fit` and `hclust`, with `merge`, `height`, `order`, `labels`,
#'   `method`, `call` and `dist.method` as in [stats::hclust()]. `cut_tree()`: the cluster of each point, numbered by
#'   first points, or a matrix with a column for each of several `k` or `h`.
#' @seealso [hdbscan_fit()] for clusters of a density, [kmeans_fit()], [spanning_tree()], [stats::hclust()]
#' @concept hierarchical clustering
#' @concept single linkage
#' @concept Ward's method
#' @concept dendrogram
#' @export
#' @examples
#' tree <- hclust_fit(iris[, 1:4], "ward.D2")
#' table(cut_tree(tree, k = 3), iris$Species)
#' rect.hclust(plot(tree, labels = FALSE), 3)
#' # a hundred thousand points in three groups
#' set.seed(1)
#' x <- matrix(rnorm(2e5), ncol = 2) + rep_len(c(0, 6, 12), 1e5)
#' many <- hclust_fit(x, "ward.D2")
#' table(cut_tree(many, k = 3))
#' rect.hclust(plot(many), k = 3)
hclust_fit <- function(x, method = c("single", "ward.D2"), metric = "euclidean", members = NULL, ...) {
  refuse_more(...)
  method <- linkage_of(if (missing(method)) "single" else method)
  given <- sf_neighbours(x, NULL, metric, !missing(metric))
  points <- tree_points(given$x, given$metric, 2)
  if (!is.null(members)) members <- check_members(members, nrow(points$at))
  if (method == "ward.D2" && points$name != "euclidean") {
    abort("unsupported", "`metric` is \"", points$name, "\", and Ward's method is of Euclidean distances: method = ",
          "\"single\" takes other distances")
  }
  parts <- if (method == "single") r_single_linkage(points$at, matrix(0L, 0, 0), points$code, array_threads())
           else r_ward(points$at, members %or% rep(1, nrow(points$at)), array_threads())
  new_hclust(parts, points, method, match.call())
}

linkage_of <- function(method) {
  others <- c("average", "complete", "mcquitty", "median", "centroid", "ward.D", "ward")
  if (is.character(method) && length(method) == 1 && method %in% others) {
    abort("unsupported", "`method` is \"", method, "\"",
          if (grepl("ward", method)) ": Ward's method is \"ward.D2\" here, of distances that are not squared"
          else paste0(", which needs the distances of all pairs: \"single\" and \"ward.D2\" need points alone. Or ",
                      "cluster first: centers <- kmeans_fit(x, 1000); hclust(dist(centers$centers), \"", method,
                      "\", members = centers$size)"))
  }
  choice_of(method, c("single", "ward.D2"), "method")
}

check_members <- function(members, n) {
  if (!is.numeric(members) || length(members) != n) {
    abort("shape", "`members` must be a number for each of ", counted(n, "row"), ", not ", describe(members))
  }
  if (!all(is.finite(members) & members > 0)) abort("value", "`members` must be positive and finite")
  as.numeric(members)
}

# Returns the points of a tree. `at`: coordinates; their distance number `code` orders pairs as the metric does. `back`:
# a function from these distances to distances of the metric. `x`: the points, if `keep`.
tree_points <- function(x, metric, least = 1, keep = FALSE) {
  if (inherits(x, "dist")) {
    abort("input", "`x` is a dist object: the points themselves are wanted; stats::hclust() takes distances")
  }
  inputs <- fit_matrix(x)
  labels <- rownames(inputs$x)
  at <- strip_term(inputs$x)
  x <- if (keep) at
  inputs$x <- NULL
  dimnames(at) <- NULL
  if (nrow(at) < least) abort("data", "`x` has ", counted(nrow(at), "row"), ", and a tree needs ", least, " or more")
  if (!ncol(at)) abort("shape", "`x` has no columns")
  others <- setdiff(names(metric_rows), tree_metrics)
  name <- if (is.function(metric)) "own metric"
          else if (is_word(metric) && metric %in% c(others, names(metric_aliases))) as_metric(metric)$name
          else choice_of(metric, tree_metrics, "metric")
  as_they_are <- function(d) d
  found <- switch(name, euclidean = list(code = 0L), manhattan = list(code = 1L), chebyshev = list(code = 2L),
                  sqeuclidean = list(code = 0L, back = function(d) d^2),
                  chordal = list(code = 0L, at = on_sphere(at, earth_radius)),
                  haversine = list(code = 0L, at = on_sphere(at, earth_radius), back = function(d) {
                    2 * earth_radius * asin(pmin(d / (2 * earth_radius), 1))
                  }),
                  cosine = list(code = 0L, at = unit_rows(at), back = function(d) d^2 / 2),
                  abort("unsupported", "`metric` is ", if (is.function(metric)) "a function" else dQuote(name, FALSE),
                        ", and a tree takes ", paste(dQuote(tree_metrics, FALSE), collapse = ", ")))
  at <- found$at %or% at
  storage.mode(at) <- "double"
  list(at = at, code = found$code, back = found$back %or% as_they_are, name = name, labels = labels, like = inputs,
       x = x)
}

tree_metrics <- c("euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine", "haversine", "chordal")

unit_rows <- function(x) {
  length <- sqrt(rowSums(x^2))
  if (any(length == 0)) {
    abort("data", "row ", first_few(which(length == 0)), " is 0, and has no angle for the cosine distance")
  }
  x / length
}

new_hclust <- function(parts, points, method, call) {
  structure(list(merge = parts$merge, height = points$back(parts$height), order = parts$order,
                 labels = points$labels, method = method, call = call, dist.method = points$name),
            class = c("hclust_fit", "hclust"))
}

# --- cuts -----------------------------------------------------------------------------------------------------

#' @rdname hclust_fit
#' @param tree a tree: what `hclust_fit()`, [stats::hclust()] or any function returned whose result
#'   [stats::as.hclust()] takes
#' @param k number of clusters, one or several; for `as.dendrogram()` number of branches
#' @param h heights to cut at, one or several, if `k` is not given
#' @export
cut_tree <- function(tree, k = NULL, h = NULL) {
  check_given(tree, "tree")
  if (!inherits(tree, "hclust")) {
    tree <- tryCatch(stats::as.hclust(tree), error = function(e) {
      abort("input", "`tree` must be a tree such as hclust_fit() returns, not ", describe(tree))
    })
  }
  merge <- checked_merge(tree$merge)
  n <- nrow(merge) + 1L
  if (is.null(k) && is.null(h)) abort("input", "`k` or `h` must be given: a number of clusters, or a height to cut at")
  if (!is.null(k)) h <- NULL
  if (is.null(k)) k <- clusters_at(tree, h)
  else if (!is.numeric(k) || !length(k) || anyNA(k) || any(k < 1 | k > n | k != round(k))) {
    abort("value", "`k` must be whole numbers from 1 to ", n, ", the number of points, not ", format_value(k))
  }
  found <- lapply(n - k, function(merges) r_cut(merge, as.integer(merges)))
  if (length(k) == 1) return(stats::setNames(found[[1]], tree$labels))
  matrix(unlist(found), n, dimnames = list(tree$labels, as.character(h %or% k)))
}

checked_merge <- function(merge) {
  if (!is.numeric(merge) || !is.matrix(merge) || ncol(merge) != 2 || anyNA(merge) ||
      any(merge == 0 | merge >= row(merge) | merge < -nrow(merge) - 1)) {
    abort("data", "`tree$merge` is no matrix of merges as hclust() makes it")
  }
  storage.mode(merge) <- "integer"
  merge
}

clusters_at <- function(tree, h) {
  if (!is.numeric(h) || !length(h) || anyNA(h)) abort("value", "`h` must be heights, not ", format_value(h))
  if (is.unsorted(tree$height)) {
    abort("data", "`tree$height` falls somewhere, so that a height has no clusters: give `k`")
  }
  length(tree$height) + 1L - findInterval(h, tree$height)
}

# --- top branches ---------------------------------------------------------------------------------------------

# The most leaves of a tree that is drawn whole; larger trees are drawn by their top branches.
most_leaves <- 2000
top_branches <- 50

# Returns the tree of the top `k` branches, each a leaf that is labelled by its number of points.
top_of_tree <- function(tree, k) {
  n <- length(tree$order)
  cluster <- unname(cut_tree(tree, k))
  below <- n - k
  # Find a point of each merge, by links that double their length.
  member <- tree$merge[, 1]
  while (any(up <- member > 0)) member[up] <- member[member[up]]
  leaf <- function(at) -cluster[-ifelse(at < 0, at, member[pmax(at, 1)])]
  merge <- tree$merge[below + seq_len(k - 1), , drop = FALSE]
  merge[] <- ifelse(merge > below, merge - below, leaf(merge))
  swapped <- ifelse(merge[, 1] < 0 & merge[, 2] < 0, merge[, 1] < merge[, 2], merge[, 1] > merge[, 2])
  merge[swapped, ] <- merge[swapped, 2:1]
  size <- tabulate(cluster, k)
  alone <- match(seq_len(k), cluster)
  labels <- ifelse(size == 1, tree$labels[alone] %or% as.character(alone), paste0("(", size, ")"))
  structure(list(merge = merge, height = tree$height[below + seq_len(k - 1)], order = unique(cluster[tree$order]),
                 labels = labels, method = tree$method, call = tree$call, dist.method = tree$dist.method),
            class = "hclust")
}

shown_tree <- function(tree, k = NULL, hint = NULL) {
  n <- length(tree$order)
  if (is.null(k) && n > most_leaves) {
    k <- top_branches
    tell("a tree of ", format(n, big.mark = ","), " points: its top ", k, " branches, with their numbers of points",
         hint)
  }
  if (is.null(k) || k == n) return(structure(tree, class = "hclust"))
  k <- check_count(k, "k")
  if (k < 2 || k > n) abort("value", "`k` must be from 2 to ", n, ", the number of points, not ", k)
  top_of_tree(tree, k)
}

#' @rdname hclust_fit
#' @param labels,... arguments of the methods for `hclust` objects
#' @param cex size of the labels, by default 1 or as small as labels that do not overlap need
#' @export
plot.hclust_fit <- function(x, labels = NULL, cex = NULL, ...) {
  name <- substitute(x)
  tree <- shown_tree(x, hint = paste0("\nrectangles around clusters of this plot: rect.hclust(plot(",
                                      if (is.name(name)) name else "tree", "), k), for k clusters"))
  if (length(labels) == length(x$order) && length(tree$order) < length(labels)) labels <- NULL
  plot(tree, labels = labels, cex = cex %or% label_size(length(tree$order)), ...)
  invisible(tree)
}

# Returns the size of text at which vertical labels of `n` leaves do not overlap: letters are 3/4 of a line high.
label_size <- function(n) {
  max(0.3, min(1, graphics::par("pin")[1] / (0.75 * n * graphics::par("cin")[2] * graphics::par("cex"))))
}

#' @rdname hclust_fit
#' @importFrom graphics identify
#' @export
identify.hclust_fit <- function(x, ...) {
  tree <- structure(x, class = "hclust")
  if (length(x$order) <= most_leaves) return(identify(tree, ...))
  branch <- cut_tree(tree, top_branches)
  found <- identify(top_of_tree(tree, top_branches), ...)
  invisible(lapply(found, function(branches) which(branch %in% branches)))
}

#' @importFrom stats as.hclust
#' @export
as.hclust.hclust_fit <- function(x, ...) structure(x, class = "hclust")

#' @rdname hclust_fit
#' @param object an object returned by `hclust_fit()`
#' @importFrom stats as.dendrogram
#' @export
as.dendrogram.hclust_fit <- function(object, k = NULL, ...) stats::as.dendrogram(shown_tree(object, k), ...)
