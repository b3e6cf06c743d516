# Medians and quantiles of a formula over i, j or both, by bisection: each step counts the values below the middle.

#' Medians and quantiles of lazy tensors
#'
#' `median()` and `quantile()` compute a formula's median and quantiles over i, over j or over both. Use them to
#' summarise distances or kernels robustly; the matrix of the pairs is never stored.
#'
#' The results are exact: they equal those of base R for the same values, with quantiles of type 7. The value of a given
#' rank is searched between the smallest and the largest value. Each pass over the pairs counts, for all rows at once,
#' the values up to a number between the two bounds, and moves one bound. There are some 10 to 30 passes. `NaN` is
#' skipped.
#'
#' @param x a lazy tensor with data
#' @param na.rm not possible; must be `FALSE`
#' @param index the axis to reduce over: `"i"`, `"j"` or `"ij"`
#' @param probs probabilities
#' @param drop if `TRUE`, a result of one column becomes a vector
#' @param ... settings, as for [reduction()]
#' @return `median()`: a matrix with a row for each point kept and a column for each component, as from [reduction()].
#'   `quantile()`: a matrix with a column for each probability; of formulas of one component. Where there are no values,
#'   `NA`.
#' @seealso [lazy-reductions], [reduction()]
#' @concept median distance
#' @concept order statistics
#' @name lazy-quantiles
#' @examples
#' x <- as.matrix(iris[, 1:4])
#' D <- sqrt(sqdist(Vi(x), Vj(x)))
#' head(median(D, index = "j"))
#' quantile(D, c(0.1, 0.9), index = "ij")
#' # the median absolute deviation in each row
#' middle <- median(D, index = "j")
#' head(median(abs(D - Vi(middle)), index = "j"))
NULL

#' @rdname lazy-quantiles
#' @export
median.lazy_tensor <- function(x, na.rm = FALSE, index = NULL, drop = FALSE, ...) {
  check_na_rm(na.rm)
  out <- quantiles_over(x, 0.5, index, "median", ...)[[1]]
  if (drop && ncol(out) == 1) out[, 1] else out
}

#' @rdname lazy-quantiles
#' @importFrom stats quantile
#' @export
quantile.lazy_tensor <- function(x, probs = seq(0, 1, 0.25), na.rm = FALSE, index = NULL, drop = FALSE, ...) {
  check_na_rm(na.rm)
  if (!is.numeric(probs) || !length(probs) || !isTRUE(all(probs >= 0 & probs <= 1))) {
    abort("value", "`probs` must be probabilities, from 0 to 1, not ", format_value(probs))
  }
  if (width(x) > 1) abort("shape", "quantile() is of one component, not of ", width(x), ": take each by x[, , 1]")
  out <- do.call(cbind, quantiles_over(x, probs, index, "quantile", ...))
  colnames(out) <- paste0(format(100 * probs, trim = TRUE, digits = 7), "%")
  if (drop && ncol(out) == 1) out[, 1] else out
}

# Returns a matrix for each probability. A pass, prepared once, counts the values <= a bound for each row, and finds the
# largest value <= the bound and the smallest value > the bound.
quantiles_over <- function(F, probs, index, fn, ...) {
  if (is.null(index)) abort("unsupported", fn, "() needs `index`, the axis to reduce over: \"i\", \"j\" or \"ij\"")
  index <- check_index(index)
  if (has_batches(F)) abort("unsupported", fn, "() is not of batches: take one at a time")
  largest <- reduction(F, "max", index = index, ...)
  if (is_reduction(largest)) abort("input", fn, "() is of formulas with data, and not of placeholders")
  shape <- dim(largest)
  bound <- list(i = Vi, j = Vj, none = Pm)[[kept(index)]](dim = width(F), name = "bound")
  pass <- as.function(reduction(list(count = lazy_if(F <= bound, 1, 0), below = lazy_if(F <= bound, F, -Inf),
                                     above = lazy_if(F > bound, F, Inf)),
                                c("sum", "max", "min"), index = index, call = FALSE, ...))
  at <- function(t) pass(if (index == "ij") as.vector(t) else matrix(t, shape[1], shape[2]))
  first <- at(-Inf)
  last <- at(Inf)
  ends <- list(least = ifelse(first$count > 0, -Inf, first$above), most = last$below)
  n <- last$count
  lapply(probs, function(p) {
    place <- 1 + (n - 1) * p
    rank <- floor(place)
    value <- value_of_rank(at, rank, n, ends)
    share <- place - rank
    if (!any(share > 0)) return(value)
    found <- at(value)
    onward <- ifelse(found$count > rank, value, found$above)
    ifelse(share > 0, (1 - share) * value + share * onward, value)
  })
}

# Finds order statistics by bisection. A middle that changes neither bound is replaced by the lower bound.
value_of_rank <- function(at, rank, n, ends) {
  low <- ends$least
  high <- ends$most
  stuck <- FALSE
  repeat {
    open <- n > 0 & low < high
    if (!any(open)) break
    middle <- low / 2 + high / 2
    # Bounds of one sign and different magnitudes are bisected at their geometric mean.
    sizes <- sqrt(abs(low)) * sqrt(abs(high))
    middle <- ifelse(low * high >= 0 & sizes < abs(middle) / 2, sign(low) * pmax(sizes, .Machine$double.xmin), middle)
    middle <- ifelse(high == Inf, ifelse(low < 3e38, 3e38, .Machine$double.xmax), middle)
    middle <- ifelse(stuck | low == -Inf | middle < low | middle >= high, low, middle)
    found <- at(middle)
    reached <- found$count >= rank
    to <- list(low = ifelse(open & !reached, found$above, low), high = ifelse(open & reached, found$below, high))
    stuck <- to$low == low & to$high == high
    low <- to$low
    high <- ifelse(stuck & middle == low, low, to$high)
  }
  ifelse(n > 0, low, NA)
}
