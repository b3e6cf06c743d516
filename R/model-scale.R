# Length-scales determined from the points.

#' Default length-scales for kernels
#'
#' Choose a length-scale from the points alone. `median_scale()` is the median distance between points, the usual choice
#' in kernel tests; `maxvar_scale()` is the length-scale at which the off-diagonal entries of the kernel matrix have the
#' largest variance, computed from all pairs.
#'
#' `median_scale()` uses the positive distances among at most 2000 of the points, evenly spaced in lexicographic order.
#' The result does not depend on the order of the points, so permutation tests that use it stay exact.
#'
#' @param x points: a matrix, a data frame or a vector; a factor has one column per level
#' @param kernel the kernel, as in [kernel_spec()]
#' @return A number.
#' @seealso [kernel_spec()]
#' @concept median heuristic
#' @concept length-scale
#' @concept bandwidth of a kernel
#' @name kernel-scales
#' @examples
#' x <- as.matrix(iris[, 1:4])
#' median_scale(x)
#' maxvar_scale(scale(x))
NULL

#' @rdname kernel-scales
#' @export
median_scale <- function(x) {
  x <- complete_points(x, "x")
  if (nrow(x) < 2) abort("data", "a scale needs two points, and `x` has ", counted(nrow(x), "row"))
  unit <- points_unit(x)
  distances <- as.vector(stats::dist(some_points(x, 2000) / unit))
  positive <- distances > 0
  if (!any(positive)) {
    abort("data", "all points of `x` coincide, and have no scale: give one, as in kernel_spec(\"gaussian\", scale = 1)")
  }
  stats::median(distances[positive]) * unit
}

# Returns a unit with which squared differences neither overflow nor underflow: a power of two, which changes no digit,
# near the width of the widest column.
points_unit <- function(x) power_of_two(max(apply(x, 2, function(v) max(v) / 2 - min(v) / 2)))

power_of_two <- function(size) if (size > 0) 2^max(-1022, min(1022, round(log2(size)))) else 1

# Centres columns that are far from 0, without loss of digits: products of points would lose the digits in which points
# differ.
near_origin <- function(x) {
  ends <- apply(x, 2, range) / 2
  middle <- colSums(ends)
  middle[abs(middle) <= 4 * (ends[2, ] - ends[1, ])] <- 0
  x - rep(middle, each = nrow(x))
}

unit_points <- function(x) {
  x <- near_origin(x)
  unit <- points_unit(x)
  list(x = x / unit, unit = unit)
}

# Returns row numbers, evenly spaced in sorted order, so that the points do not depend on the order of rows.
rows_in_order <- function(x, most) {
  if (nrow(x) <= most) return(seq_len(nrow(x)))
  sorted <- do.call(order, unname(lapply(seq_len(ncol(x)), function(k) x[, k])))
  sorted[round(seq(1, nrow(x), length.out = most))]
}
some_points <- function(x, most) if (nrow(x) <= most) x else x[rows_in_order(x, most), , drop = FALSE]

#' @rdname kernel-scales
#' @export
maxvar_scale <- function(x, kernel = "gaussian") {
  x <- complete_points(x, "x")
  k <- with_time_scale(kernel_spec(kernel), x)
  n <- nrow(x)
  about <- median_scale(points_of_scale(kernel_parts(k), "scale", x))
  negative_variance <- function(log_scale) {
    K <- k(x, scale = exp(log_scale))
    own <- as.vector(diag(K))
    sums <- vapply(reduction(list(K, K^2), "sum"), sum, 0) - c(sum(own), sum(own^2))
    means <- sums / (n * (n - 1))
    means[1]^2 - means[2]
  }
  exp(stats::optimize(negative_variance, log(about) + log(100) * c(-1, 1), tol = 1e-6)$minimum)
}

# Sets open scales of a kernel: the median distance of the points or, with a scale for each term, of each term.
with_scale <- function(k, x) {
  parts <- kernel_parts(k)
  if (!is.null(parts$op)) {
    waiting <- vapply(parts$parameters, is.null, NA)
    open <- Filter(function(name) is_one_of(name, "scale"), names(parts$parameters)[waiting])
    if (!length(open)) return(k)
    each <- lapply(open, function(name) median_scale(points_of_scale(parts, name, x)))
    return(do.call(update, c(list(k), stats::setNames(each, open))))
  }
  k <- with_time_scale(k, x)
  if (!is.null(parts$parameters$scale) || !"scale" %in% names(parts$parameters)) return(k)
  x <- points_of_scale(parts, "scale", x)
  term <- attr(x, "term") %or% seq_len(ncol(x))
  if (!parts$ard) return(update(k, scale = median_scale(x)))
  update(k, scale = vapply(seq_len(max(term)), function(one) median_scale(x[, term == one, drop = FALSE]), 0))
}
