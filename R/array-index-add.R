# index_add(): adds slices of an array at the places of an index; also scatters rows for gradients.

#' Add slices to an array at indexed positions
#'
#' `index_add(x, index, source)` adds slice `s` of `source` to slice `index[s]` of `x`, for all `s`. If a number occurs
#' more than once in `index`, all slices with this number are added, whereas `x[index, ] <- x[index, ] + source` keeps
#' only the last. Use it to accumulate counts or weights on a grid or by group.
#'
#' ```
#' x        index    source          index_add(x, index, source)
#'  1  1      3       10  20            1      1
#'  1  1      2       30  40           31     41      1 + 30           , 1 + 40
#'  1  1      3       50  60           61     81      1 + 10 + 50      , 1 + 20 + 60
#' ```
#'
#' In base R this is a loop, `for (s in seq_along(index)) x[index[s], ] <- x[index[s], ] + alpha * source[s, ]`; if `x`
#' is zero, the result has the sums of [rowsum()]. With `dim` the slices lie along another dimension, `x[, index]` for
#' `dim = 2`.
#'
#' | `op` | new value of a slice of `x` that the index names |
#' |---|---|
#' | `"sum"`, `"prod"` | the sum or product of the slice of `x` and its slices of `source` |
#' | `"min"`, `"max"` | the smallest or largest number among them |
#' | `"mean"` | the mean of its slices of `source`; with `include`, of these slices and the slice of `x` |
#'
#' Other slices, names and other attributes do not change. The result is integer if `x` and `source` are integer or
#' logical and `alpha` is a whole number. Totals are then exact; a total too large for an integer is `NA`, with a
#' warning. Otherwise, and for means, the result is double. `NA` and `NaN` propagate as in base R.
#'
#' The index is checked before anything is written. Slices are added in their order in `source`, as in the loop. Only if
#' `x` is small and `source` has many slices, slices are added block by block, and the blocks are then added in their
#' order; the blocks depend only on the sizes.
#'
#' Inside functions that are differentiated (see [gradient()]), `x` and `source` may be traced values if `op` is
#' `"sum"`.
#'
#' @param x a vector, matrix or array of numbers or logical values
#' @param index number, from 1, of the slice of `x` to which each slice of `source` is added; or logical values, one for
#'   each slice of `x`, `TRUE` for the slices that change. If missing, the index from which `plan` was made
#' @param source an array like `x`, with `length(index)` slices along `dim`; an extent of 1 is recycled, and so is a
#'   single number
#' @param dim the dimension to index
#' @param alpha a number that multiplies `source`; by default 1
#' @param op name of the operation, see the table; by default `"sum"`
#' @param deterministic give identical bits for any number of threads? With `FALSE` there are no more blocks than
#'   threads
#' @param plan `NULL`, or [par_segments()]`(by = index)`, which can also replace the index. Integers are added by a
#'   sorted index if `source` has few slices compared with `x`; the plan saves this sorting
#' @param include for `"mean"`: include the slice of `x` in the mean?
#' @return An array like `x`.
#' @seealso [par_segments()], [par_reduce()] for sums by group alone
#' @concept scatter add
#' @concept two-dimensional histogram
#' @export
#' @examples
#' x <- matrix(1, 3, 2)
#' source <- cbind(c(10, 30, 50), c(20, 40, 60))
#' index_add(x, c(3, 2, 3), source)
#' index_add(x, c(2, 2), 5, dim = 2)
#' index_add(c(a = 1L, b = 5L), c(TRUE, FALSE), 3L, op = "max")
#' # Counts of bees on a grid of places:
#' bees <- index_add(integer(9), c(5, 5, 6, 9), 1L)
#' matrix(bees, 3)
#' # Two operations with one plan
#' plan <- par_segments(by = c(3, 2, 3))
#' index_add(x, , source, plan = plan)
#' index_add(x, , source, plan = plan, op = "mean")
index_add <- function(x, index, source, dim = 1L, alpha = 1, op = "sum", deterministic = TRUE, plan = NULL,
                      include = FALSE) {
  if (is_traced(x) || is_traced(source)) return(index_add_traced(x, index, source, dim, alpha, op, plan))
  check_addable(x, "x")
  check_addable(source, "source")
  op <- one_of(op, c("sum", "prod", "min", "max", "mean"), "op")
  check_flag(deterministic, "deterministic")
  check_flag(include, "include")
  alpha <- check_factor(alpha)
  extents <- dim(x) %or% length(x)
  dim <- check_dimension(dim, length(extents))
  plan_alone <- missing(index)
  index <- if (plan_alone) index_of_plan(plan) else slice_numbers(index, extents[dim])
  if (!is.null(plan) && items_in(check_groups(plan)) != length(index)) {
    abort("shape", "`plan` is of ", items_in(plan), " items, and `index` has ", length(index))
  }
  source <- spread_source(source, extents, dim, length(index))
  if (!length(index)) return(x)
  # The type of the result follows R's rules; a whole factor `alpha` counts as the type of the array.
  whole <- !is.double(x) && !is.double(source$values) && op != "mean" &&
    isTRUE(abs(alpha) <= .Machine$integer.max) && alpha == trunc(alpha)
  found <- r_index_add(x, FALSE, if (whole) "integer" else "double", index, source$values, three_extents(extents, dim),
                       source$steps, alpha, op, include, deterministic, plan, plan_alone, array_threads())
  if (found$overflow) {
    warn("overflow", "totals that are too large for an integer are NA; `storage.mode(x) <- \"double\"` has room")
  }
  found$x
}

# Differentiates op = "sum" alone: it is linear in the array and the source, and the source's cotangent is gathered.
index_add_traced <- function(x, index, source, dim, alpha, op, plan) {
  if (!identical(op, "sum")) abort("no_gradient", "index_add() has a derivative for op = \"sum\" alone")
  alpha <- check_factor(alpha)
  extents <- dim(x) %or% length(x)
  dim <- check_dimension(dim, length(extents))
  index <- if (missing(index)) index_of_plan(plan) else slice_numbers(index, extents[dim])
  want <- replace(extents, dim, length(index))
  have <- source_extents(source, want)
  source <- rearranged(source, function(numbers) repeated(numbers, have, want))
  level <- highest_level(list(x, source))
  r <- index_add(lowered(x, level), index, lowered(source, level), dim, alpha)
  chosen <- replace(lapply(extents, seq_len), dim, list(index))
  places <- do.call(`[`, c(list(array(seq_along(x), extents)), chosen, list(drop = FALSE)))
  record(list(x, source), r, pull_added(places, alpha, dim(source)))
}

pull_added <- function(places, alpha, extent) {
  places; alpha
  dim(places) <- extent
  function(g) list(g, alpha * take(g, places))
}

# Adds the rows of `values` to n rows of zeros, at the places `rows`. Few numbers need no threads.
scatter_rows <- function(values, rows, n) {
  size <- dim(values) %or% c(length(values), 1L)
  if (!is.double(values)) storage.mode(values) <- "double"
  threads <- if (length(values) < 1e4) 1L else array_threads()
  r_index_add(matrix(0, n, size[2]), TRUE, "double", rows, values, c(1, n, size[2]), c(1, 1, size[1]), 1, "sum", FALSE,
              TRUE, NULL, FALSE, threads)$x
}

# --- arguments -------------------------------------------------------------------------------------------------

check_addable <- function(x, argument) {
  if ((is.numeric(x) || is.logical(x)) && !inherits(x, "integer64")) return(invisible())
  abort("input", "`", argument, "` must be numbers or logical values, not ", describe(x))
}

check_factor <- function(alpha) {
  if (!(is.numeric(alpha) || is.logical(alpha)) || length(alpha) != 1) {
    abort("input", "`alpha` must be one number, not ", describe(alpha))
  }
  as.numeric(alpha)
}

check_dimension <- function(dim, rank) {
  if (is.numeric(dim) && length(dim) == 1 && dim %in% seq_len(rank)) return(dim)
  abort("shape", "`dim` must be a dimension of `x`, which has ", rank, ", not ", format_value(dim))
}

# Checks the index and returns numbers of slices. The range of the numbers is checked by the functions that use them.
slice_numbers <- function(index, extent) {
  if (is.logical(index)) {
    if (length(index) != extent) {
      abort("shape", "`index` has ", count_text(length(index), "logical value"), ", and `x` ",
            count_text(extent, "slice"))
    }
    if (anyNA(index)) abort("index", "`index` has NA; number ", which(is.na(index))[1], " is the first")
    return(which(index))
  }
  if (is.numeric(index) && !is.factor(index) && !inherits(index, "integer64")) return(as.vector(unclass(index)))
  abort("input", "`index` must be whole numbers or logical values, not ", describe(index))
}

index_of_plan <- function(plan) {
  if (is.null(plan)) abort("input", "`index` is not given")
  plan <- check_groups(plan)
  plan$kept$index <- plan$kept$index %or%
    if (is.null(plan$codes)) rep(plan$labels, diff(plan$offsets)) else r_take(plan$labels, plan$codes)
}

check_groups <- function(plan) {
  if (inherits(plan, "kernweave_segments") && is.numeric(unclass(plan)$labels)) return(unclass(plan))
  abort("input", "`plan` must be par_segments(by = index), not ",
        if (inherits(plan, "kernweave_segments")) "another plan" else describe(plan))
}

# --- shapes ----------------------------------------------------------------------------------------------------

# Returns the extents before, along and after a dimension.
three_extents <- function(extents, dim) {
  c(prod(extents[seq_len(dim - 1)]), extents[dim], prod(extents[-seq_len(dim)]))
}

# Returns the extents of the source: an extent of 1 is repeated for all places.
source_extents <- function(source, want) {
  have <- if (length(source) == 1) rep(1L, length(want)) else dim(source) %or% length(source)
  if (length(have) == length(want) && all(have == want | have == 1)) return(have)
  if (length(want) == 1 && is.null(dim(source))) {
    abort("shape", "`source` must have ", count_text(want, "number"), ", or one that serves all, not ", length(source))
  }
  abort("shape", "`source` must be of ", paste(want, collapse = " x "), ", with 1 where one serves all, not of ",
        paste(have, collapse = " x "))
}

repeated <- function(source, have, want) {
  places <- Map(rep_len, lapply(have, seq_len), want)
  do.call(`[`, c(list(array(source, have)), places, list(drop = FALSE)))
}

# Returns the numbers of the source, and its steps along three extents: the step is 0 if one number serves all places.
spread_source <- function(source, extents, dim, items) {
  want <- replace(extents, dim, items)
  have <- source_extents(source, want)
  before <- seq_len(dim - 1)
  after <- seq_along(extents)[-seq_len(dim)]
  mixed <- function(sides) any(have[sides] != want[sides]) && any(have[sides] == want[sides] & want[sides] != 1)
  own <- c(if (mixed(before)) before, if (mixed(after)) after)
  if (length(own)) {
    full <- replace(have, own, want[own])
    source <- repeated(source, have, full)
    have <- full
  }
  sizes <- three_extents(have, dim)
  list(values = source, steps = ifelse(sizes == 1, 0, c(1, sizes[1], sizes[1] * sizes[2])))
}
