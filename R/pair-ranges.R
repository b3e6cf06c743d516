# Block sparsity: ranges of points, and the blocks of pairs that exist.

#' Blocks of pairs
#'
#' `ranges()` describes which pairs of points exist, in blocks. The points along i and along j are divided into ranges,
#' and a block is all pairs of one range along i with one range along j. Pass the result to [restrict()] to compute only
#' these blocks, for instance pairs of nearby clusters.
#'
#' @param i_blocks,j_blocks ranges of the points along i and j, in order and without overlap; gaps are allowed. A matrix
#'   of two columns has the first and last point of each range, as made by [cluster_ranges()]; a vector has their
#'   lengths; the runs of a factor are the ranges. A range whose last point comes before its first is empty
#' @param pairs which blocks exist: a logical matrix, possibly sparse, with a row for each range of i and a column for
#'   each range of j; or a matrix of two columns with the numbers of the ranges of i and j. A block given twice counts
#'   once
#' @param dim numbers of points along i and j, needed if ranges given by first and last point do not cover all points
#' @return An object of class `kernweave_ranges`.
#' @seealso [restrict()], [grid_cluster()] and others for making clusters
#' @concept block sparse
#' @concept tapering
#' @export
#' @examples
#' # two ranges of 3 and 2 points, of which the first meets itself and the second all
#' near <- rbind(c(TRUE, FALSE), c(TRUE, TRUE))
#' x <- matrix(1:5)
#' K <- restrict(Vi(x) * Vj(x), ranges = ranges(c(3, 2), c(3, 2), near))
#' as.matrix(K)
#' # clusters that are near each other
#' x <- matrix(runif(2000), 1000)
#' sorted <- sort_by_cluster(x, grid_cluster(x, 0.2))
#' at <- cluster_ranges(sorted$labels)
#' centroids <- cluster_centroids(sorted$x, sorted$labels)
#' near <- as.matrix(dist(centroids)) < 0.5
#' K <- kernel_gaussian(sorted$x, scale = 0.1)
#' density <- rowSums(restrict(K, ranges = ranges(at, at, near)))
ranges <- function(i_blocks, j_blocks, pairs, dim = NULL) {
  i <- block_ranges(i_blocks, "i_blocks")
  j <- block_ranges(j_blocks, "j_blocks")
  at <- block_pairs(pairs, nrow(i), nrow(j))
  rectangles <- list(i_from = i[at[, 1], 1], i_to = i[at[, 1], 2], j_from = j[at[, 2], 1], j_to = j[at[, 2], 2])
  there <- rectangles$i_from <= rectangles$i_to & rectangles$j_from <= rectangles$j_to
  last <- c(max(0, i[, 2]), max(0, j[, 2]))
  extent <- c(attr(i, "points") %or% NA, attr(j, "points") %or% NA)
  if (!is.null(dim)) {
    extent <- c(check_count(dim[1], "dim", least = 0), check_count(dim[2], "dim", least = 0))
    over <- which(extent < last)[1]
    if (!is.na(over)) {
      abort("shape", "`dim` has ", extent[over], " points along ", c("i", "j")[over], ", but the ranges reach ",
            last[over])
    }
  }
  structure(list(rectangles = lapply(rectangles, `[`, there), extent = as.numeric(extent), last = last,
                 blocks = c(nrow(i), nrow(j)), named = nrow(at)), class = "kernweave_ranges")
}

# Returns the first and last points of ranges, in order.
block_ranges <- function(blocks, argument) {
  if (is.factor(blocks)) return(ranges_of_runs(blocks, argument))
  if (is.matrix(blocks) && ncol(blocks) == 2 && is.numeric(blocks)) return(check_matrix_of_ranges(blocks, argument))
  if (!is.numeric(blocks) || is.object(blocks) || length(base::dim(blocks)) > 1) {
    abort("input", "`", argument, "` must be lengths, a matrix of first and last points, or a factor, not ",
          describe(blocks))
  }
  if (anyNA(blocks)) abort("value", "`", argument, "`: ", sum(is.na(blocks)), " of ", length(blocks), " lengths are NA")
  if (any(blocks < 0 | blocks != trunc(blocks))) abort("value", "`", argument, "`: lengths must be whole numbers, not ",
                                                       format(blocks[blocks < 0 | blocks != trunc(blocks)][1]))
  to <- cumsum(as.numeric(blocks))
  structure(cbind(to - blocks + 1, to, deparse.level = 0), points = sum(blocks))
}

ranges_of_runs <- function(labels, argument) {
  if (anyNA(labels)) abort("value", "`", argument, "`: ", sum(is.na(labels)), " of ", length(labels), " labels are NA")
  runs <- rle(as.integer(labels))
  if (anyDuplicated(runs$values)) {
    again <- levels(labels)[runs$values[anyDuplicated(runs$values)]]
    abort("input", "`", argument, "`: points of `", again, "` do not lie together; sort points first, as ",
          "sort_by_cluster() does")
  }
  to <- cumsum(as.numeric(runs$lengths))
  structure(cbind(to - runs$lengths + 1, to, deparse.level = 0), points = length(labels))
}

check_matrix_of_ranges <- function(blocks, argument) {
  if (anyNA(blocks)) abort("value", "`", argument, "` has NA in ", sum(rowSums(is.na(blocks)) > 0), " of ",
                           counted(nrow(blocks), "range"))
  wrong <- which(rowSums(blocks != trunc(blocks)) > 0 | blocks[, 1] < 1 | blocks[, 2] < blocks[, 1] - 1)
  if (length(wrong)) {
    abort("value", "`", argument, "`: range ", wrong[1], " goes from ", format(blocks[wrong[1], 1]), " to ",
          format(blocks[wrong[1], 2]), "; there must be whole numbers from 1 on")
  }
  at <- order(blocks[, 1], blocks[, 2])
  there <- at[blocks[at, 1] <= blocks[at, 2]]
  over <- which(blocks[there[-1], 1] <= blocks[there[-length(there)], 2])
  if (length(over)) {
    abort("value", "`", argument, "`: ranges ", there[over[1]], " and ", there[over[1] + 1], " overlap at point ",
          blocks[there[over[1] + 1], 1])
  }
  storage.mode(blocks) <- "double"
  structure(unname(blocks[, 1:2, drop = FALSE]), points = attr(blocks, "points"))
}

# Returns the numbers of the blocks that exist, a row for each block.
block_pairs <- function(pairs, m, n) {
  if (methods::is(pairs, "sparseMatrix") || is.matrix(pairs) && is.logical(pairs)) {
    if (!identical(as.numeric(base::dim(pairs)), as.numeric(c(m, n)))) {
      abort("shape", "`pairs` is ", nrow(pairs), " x ", ncol(pairs), ", but there are ", m, " and ", n, " ranges")
    }
    if (anyNA(pairs)) abort("value", "`pairs`: ", sum(is.na(pairs)), " of ", length(pairs), " blocks are NA")
    if (is.matrix(pairs)) return(which(pairs, arr.ind = TRUE, useNames = FALSE))
    entries <- methods::as(methods::as(pairs, "generalMatrix"), "TsparseMatrix")
    return(cbind(entries@i, entries@j, deparse.level = 0) + 1)
  }
  if (!is.matrix(pairs) || !is.numeric(pairs) || ncol(pairs) != 2) {
    abort("input", "`pairs` must be a logical matrix of blocks, or a matrix of two columns, not ", describe(pairs))
  }
  if (anyNA(pairs)) abort("value", "`pairs` has NA in ", sum(rowSums(is.na(pairs)) > 0), " of ",
                          counted(nrow(pairs), "row"))
  for (side in 1:2) {
    out <- which(pairs[, side] < 1 | pairs[, side] > c(m, n)[side] | pairs[, side] != trunc(pairs[, side]))
    if (length(out)) {
      abort("index", "`pairs`: row ", out[1], " names range ", format(pairs[out[1], side]), " of ", c("i", "j")[side],
            ", of which there are ", c(m, n)[side])
    }
  }
  unname(pairs)
}

# Makes ranges from rectangles of points in a list `order` of `i` and `j`; NULL for points in their own order.
ranges_in_order <- function(rectangles, order, extent) {
  listed <- is.list(rectangles)
  count <- if (listed) length(rectangles$i_from) else NA
  last <- if (listed) c(max(0, rectangles$i_to), max(0, rectangles$j_to)) else extent[1:2]
  structure(list(rectangles = rectangles, order = list(i = order$i, j = order$j),
                 extent = as.numeric(extent[1:2]), last = as.numeric(last),
                 blocks = c(count, count), named = count), class = "kernweave_ranges")
}

# Returns the ranges of points taken along an axis, in the order of their places. Ranges without points are dropped.
ranges_of_points <- function(ranges, axis, rows) {
  side <- match(axis, c("i", "j"))
  of_all <- ranges$order[[axis]]
  places <- if (is.null(of_all)) rows else match(rows, of_all)
  at <- par_order(places)
  places <- places[at]
  ends <- paste0(axis, c("_from", "_to"))
  found <- ranges$rectangles
  found[[ends[1]]] <- findInterval(found[[ends[1]]] - 1, places) + 1
  found[[ends[2]]] <- findInterval(found[[ends[2]]], places)
  found <- lapply(found, `[`, found[[ends[1]]] <= found[[ends[2]]])
  order <- list(i = ranges$order$i, j = ranges$order$j)
  order[axis] <- list(at)
  extent <- ranges$extent
  extent[side] <- length(rows)
  ranges_in_order(found, order, extent)
}

#' @export
print.kernweave_ranges <- function(x, ...) {
  blocks <- counted(length(x$rectangles$i_from), "block")
  cat("<ranges> ", blocks, " of ", x$blocks[1], " x ", x$blocks[2], "\n", sep = "")
  invisible(x)
}

#' Clusters of points, for blocks of pairs
#'
#' These functions prepare the arguments of [ranges()]: they label points by cluster, sort points by label, and return
#' the ranges and centroids of the clusters. \describe{
#' \item{`grid_cluster`}{labels each point by its cell of a regular grid: 1, 2, ... for the cells that have points, in
#'   order of position}
#' \item{`sort_by_cluster`}{sorts points by their labels}
#' \item{`cluster_ranges`}{returns the first and last point of each cluster, for sorted points}
#' \item{`cluster_centroids`}{returns the weighted means of the points of each cluster}
#' }
#' Labels may also come from other functions: `kmeans(x, 50)$cluster`, `cutree()`, or a factor.
#'
#' @param x a matrix with a row for each point, or a vector
#' @param eps side length of the cells: one number, or one for each column of `x`
#' @param labels the cluster of each point: a factor, whole numbers or strings
#' @param weights weights of the points, one number each; `NULL` (default) for equal weights
#' @return `grid_cluster()` returns whole numbers. `sort_by_cluster()` returns a list: `x` and `labels` after sorting,
#'   and the `order` that sorts them; `result[order(sorted$order)]` puts results back in the order of the data.
#'   `cluster_ranges()` returns a matrix of two columns, `cluster_centroids()` a matrix with the columns of `x`; both
#'   have a row for each cluster, in the order of the sorted points.
#' @seealso [ranges()], [restrict()]
#' @concept spatial grid
#' @concept binning
#' @export
#' @examples
#' x <- matrix(runif(200), 100)
#' labels <- grid_cluster(x, 0.25)
#' sorted <- sort_by_cluster(x, labels)
#' cluster_ranges(sorted$labels)
#' cluster_centroids(sorted$x, sorted$labels)
grid_cluster <- function(x, eps) {
  points <- cluster_points(x)
  sides <- is.numeric(eps) && length(eps) %in% c(1, ncol(points)) && all(is.finite(eps)) && all(eps > 0)
  if (!sides) abort("input", "`eps` must be a side of cubes, or one for each of ", ncol(points), " columns, not ",
                    format_value(eps))
  if (!all(is.finite(points))) abort("value", "`x` has numbers that are not finite")
  cubes <- floor(sweep(points, 2, eps, `/`))
  columns <- lapply(seq_len(ncol(cubes)), function(k) cubes[, k])
  at <- do.call(order, columns)
  new <- Reduce(`|`, lapply(columns, function(column) c(TRUE, diff(column[at]) != 0)[seq_along(at)]))
  labels <- integer(length(at))
  labels[at] <- cumsum(new)
  labels
}

cluster_points <- function(x) {
  points <- as_points(x)$values
  if (is.matrix(points)) points else matrix(points, ncol = 1)
}

#' @rdname grid_cluster
#' @export
sort_by_cluster <- function(x, labels) {
  check_labels(labels, NROW(x))
  at <- par_order(if (is.factor(labels)) as.integer(labels) else labels)
  list(x = if (is.null(base::dim(x))) x[at] else x[at, , drop = FALSE], labels = labels[at], order = at)
}

check_labels <- function(labels, n) {
  group_codes(labels, "labels")
  if (length(labels) != n) abort("shape", "`labels` has ", length(labels), " labels for ", counted(n, "point"))
}

#' @rdname grid_cluster
#' @export
cluster_ranges <- function(labels) {
  codes <- group_codes(labels, "labels")
  found <- ranges_of_runs(factor(codes$codes), "labels")
  dimnames(found) <- list(as.character(unique(labels)), c("from", "to"))
  found
}

#' @rdname grid_cluster
#' @export
cluster_centroids <- function(x, labels, weights = NULL) {
  points <- cluster_points(x)
  check_labels(labels, nrow(points))
  if (is.null(weights)) weights <- rep(1, nrow(points))
  if (!is.numeric(weights) || length(weights) != nrow(points)) {
    abort("shape", "`weights` must be ", counted(nrow(points), "number"), ", not ", describe(weights))
  }
  codes <- group_codes(labels, "labels")$codes
  sums <- rowsum(cbind(points * weights, weights), codes)
  out <- sums[, seq_len(ncol(points)), drop = FALSE] / sums[, ncol(points) + 1]
  dimnames(out) <- list(as.character(unique(labels)), colnames(points))
  out
}
