# Kernels that vanish: pairs are left out if their values are provably small. The result is a restriction to ranges.
# Its element `truncated` is a list of
#   formula    the formula of the statement; nothing is stated about other formulas
#   kept       the number of pairs that are kept
#   left_out   an upper bound of the values of the pairs that are left out

#' Sparsify a kernel matrix
#'
#' Restricts a kernel to the pairs of points whose values may exceed `tol` times the largest value. These pairs are
#' computed exactly, and all other pairs are omitted. Use it, in any number of dimensions, for kernels that decay, or
#' are 0 beyond some distance, well within the extent of the points.
#'
#' `F` must be a formula of one distance, as for [approximate()], of points with any number of components; factors that
#' depend on the row or the column alone are allowed. Points are sorted into tight boxes by repeated halving at medians.
#' The formula is bounded on intervals of the distance by interval arithmetic, and pairs of boxes whose distances all
#' have small values are omitted. If an operation has no rule for bounds, its pairs are kept.
#'
#' *Guarantee:* no omitted value is larger than `tol * max|F|` or, with `relative = FALSE`, than `tol`. Here `max|F|` is
#' the largest value of the formula over distances possible for these points, as found from samples, times the largest
#' factors. So the error of a sum over j of `F` times b is at most this limit times the sum of `|b|` over the omitted
#' pairs; `error_bound()` gives the bound row by row. With `tol = 0` all nonzero values are kept.
#'
#' The result is a lazy tensor with restricted pairs ([restrict()]), which all reductions, products,
#' [solve()][solve.lazy_tensor] and gradients respect. Small values do not matter for sums, but `min` or `logsumexp`
#' differ from their values over all pairs. In a gradient, the set of pairs does not change with the points. Linear
#' systems use the preconditioner of the formula with all pairs.
#'
#' @param F a lazy tensor of one component, whose points along i and j have data. It may be restricted, but not by
#'   `ranges`
#' @param tol largest size of an omitted value; by default 1e-6
#' @param relative is `tol` relative to the largest value? By default `TRUE`
#' @return The lazy tensor `F` with the restriction.
#' @seealso [approximate()] for sums over all pairs in up to three dimensions, [restrict()], [error_bound()]
#' @concept compactly supported kernel
#' @concept covariance tapering
#' @concept sparse matrix
#' @export
#' @examples
#' x <- matrix(runif(20000), ncol = 2)
#' K <- sparsify(kernel_gaussian(x, scale = 0.02), tol = 1e-6)
#' K
#' density <- rowSums(K)
#' max(error_bound(K, rep(1, 10000)))
#' # a compactly supported kernel, 0 beyond a distance of 0.05
#' r <- sqrt(sqdist(Vi(x), Vj(x))) / 0.05
#' sparsify(relu(1 - r)^4 * (4 * r + 1), tol = 0)
sparsify <- function(F, tol = 1e-6, relative = TRUE) {
  check_all_pairs(F, "F", "sparsify()")
  if (width(F) != 1) abort("shape", "`F` must have one component, not ", width(F))
  check_flag(relative, "relative")
  usable <- is.numeric(tol) && length(tol) == 1 && !is.na(tol) && tol >= 0 && tol < if (relative) 1 else Inf
  if (!usable) {
    abort("tolerance", "`tol` must be a number from 0 to ", if (relative) "less than 1" else "less than Inf", ", not ",
          format_value(tol))
  }
  plain <- without_pairs(plain_tensor(F))
  found <- r_far_truncated(plan_as_written(plain), as.numeric(F$extent[1:2]), tol, relative, threads_of(F))
  check_is_of_distance(found, "F")
  ranges <- ranges_in_order(found$near, found[c("i", "j")], F$extent)
  ranges$truncated <- list(formula = F$formula, kept = found$kept, left_out = found$left_out)
  restrict(F, ranges = ranges)
}

# Returns the statement about a formula that was truncated itself, or NULL for other formulas with the same pairs.
truncation_of <- function(F) {
  truncated <- if (!is.null(F$pairs)) F$pairs$rule$said$ranges$truncated
  if (identical(truncated$formula, F$formula)) truncated
}

# Returns the formula before small values were left out, for its entries and its preconditioner.
untruncated <- function(F) {
  if (is.null(truncation_of(F))) return(F)
  said <- said_of(F$pairs)
  said["ranges"] <- list(NULL)
  if (all(vapply(said, is.null, NA))) return(without_pairs(F))
  F$pairs <- new_pairs(said)
  F
}

truncation_line <- function(F) {
  truncated <- truncation_of(F)
  if (is.null(truncated)) return(NULL)
  share <- 100 * truncated$kept / max(prod(F$extent[1:2]), 1)
  paste0("  ", format(share, digits = 2), " % of pairs, left-out values <= ", format(truncated$left_out, digits = 3))
}
