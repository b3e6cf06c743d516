# par_scan(): running reductions of arrays, as a whole or segment by segment.

#' Running reductions of an array
#'
#' Computes running sums, minima, means and the like: for each item, the result over all items up to it, as [cumsum()]
#' does. Runs in parallel, and within segments too, so it also gives cumulative sums by group.
#'
#' ```
#' x                        1   2 | 3   4   5   6          lengths 2, 4
#' par_scan(x, "sum", s)    1   3 | 3   7  12  18
#' exclusive = TRUE         0   1 | 0   3   7  12
#' ```
#'
#' Each result is at the position of its item, also if the segments are groups whose items are scattered. A missing
#' value makes all later results of its segment missing, except for `"any"` and `"all"`, where another item may decide,
#' and for `"argmin"` and `"argmax"`, which skip it. Integers give integers, with `NA` and a warning from the first sum
#' that is too large. Products, means and `"logsumexp"` are double. An `exclusive` scan with `"min"` or `"max"` and
#' without `init` begins with `Inf` or `-Inf`, and is double too.
#'
#' With segments, the items of a matrix are its rows; without segments, they are its elements.
#'
#' @param x,segments,check as for [par_reduce()]
#' @param op name of an operator, or your own as a formula of `.x` and `.y`, as for [par_reduce()]; not `"range"`
#' @param exclusive exclude each item from its own result?
#' @param init initial value of each segment; not for `"mean"`, `"argmin"` and `"argmax"`. An exclusive scan with your
#'   own operator requires an `init`
#' @return A vector as long as `x` with its names; a matrix if `x` is a matrix and there are segments.
#' @seealso [par_reduce()], [par_segments()]; [cumsum()]
#' @concept cumulative sum by group
#' @concept prefix sum
#' @export
#' @examples
#' par_scan(c(1, 7, 4, 0, 9))
#' par_scan(c(1, 7, 4, 0, 9), exclusive = TRUE)
#' par_scan(1:6, "sum", par_segments(lengths = c(2, 4)))
#' # running count of each kind
#' kind <- c("b", "a", "b", "b", "a")
#' par_scan(rep(1L, 5), "sum", par_segments(by = kind))
#' # a running log-sum-exp, as a formula
#' par_scan(log(1:4), ~ log(exp(.x) + exp(.y)))
par_scan <- function(x, op = "sum", segments = NULL, exclusive = FALSE, init = NULL, check = FALSE) {
  check_flag(exclusive, "exclusive")
  check_flag(check, "check")
  if (is_own_operator(op)) return(scan_by_own(x, op, segments, exclusive, init, check))
  op <- one_of(op, setdiff(array_operators, "range"), "op")
  values <- array_items(x, op)
  segments <- check_segments(segments, x)
  init <- check_init(init, op)
  by_rows <- !is.null(segments) && length(dim(x)) == 2
  columns <- if (by_rows) ncol(x) else 1L
  type <- type_of_scan(values, op, exclusive, init)
  found <- r_scan(values, columns, engine_operator(op, values, init), segments %or% one_segment(length(x)), exclusive,
                  as_init(init), type, array_threads())
  if (found$overflow) warn("overflow", "a sum is too large for an integer; use par_scan(as.numeric(x))")
  as_was(like_scanned(found$values, x, by_rows), x, op)
}

like_scanned <- function(out, x, by_rows) {
  kept <- attributes(x)
  r_dress(out, as.list(kept[names(kept) %in% if (by_rows) c("dim", "dimnames") else if (length(dim(x)) < 2) "names"]))
}

type_of_scan <- function(values, op, exclusive, init) {
  if (op %in% c("any", "all")) return("logical")
  if (op %in% c("argmin", "argmax")) return(if (length(values) > .Machine$integer.max) "double" else "integer")
  infinite <- exclusive && is.null(init) && op %in% c("min", "max")
  whole <- op %in% c("sum", "min", "max") && !is.double(values) && !is.double(init) && !infinite
  if (whole) "integer" else "double"
}
