# Orders of vectors and columns: checks keys, turns keys into numbers, and sorts.

#' Order and sort, in parallel
#'
#' `par_order(x)` returns the ordering permutation, as [order()][base::order]`(x, method = "radix")` does, computed on
#' the threads of option `kernweave.threads`; `par_sort(x)` returns `x` in that order. Use them for long vectors and
#' tables.
#'
#' ```
#' x                 30  10  20  10
#' par_order(x)       2   4   3   1     the 2nd element comes first; equal ones stay in their order
#' par_sort(x)       10  10  20  30
#'
#' segments           |-----|  |-----|
#' x                  5  1  4  9  2
#' par_order          2  3  1  5  4     each segment separately
#' ```
#'
#' The order is stable: equal elements stay in their order. -0 equals 0. NA and NaN come last, in the order they have in
#' `x`, also with `decreasing = TRUE`. Strings are ordered as in the C locale, by their bytes, factors by their levels.
#' `par_sort()` keeps NA, names, levels and classes.
#'
#' With several columns, later columns break the ties of earlier columns; `decreasing` may then be given for each
#' column.
#'
#' The algorithm is a radix sort that looks only at digits in which the numbers differ: narrow ranges and few distinct
#' values are fastest. If no element is far from its sorted position, as in a series with jittered time stamps, give the
#' largest distance as `nearly`: intervals are then sorted separately. A wrong value of `nearly` costs time but does not
#' change the result. `nearly` is ignored within segments.
#'
#' @param x a vector of logicals, numbers or strings, a factor, dates or times; `integer64` of package bit64; or a list
#'   or data frame of such columns
#' @param segments `NULL`, or segments made by [par_segments()]: each segment is ordered separately, one after the other
#' @param decreasing `TRUE` or `FALSE`, the default; or one value for each column
#' @param nearly upper bound for the number of positions between an element and its sorted position; `NULL` for none
#' @param ... for `par_sort()`: `segments`, `decreasing`, `nearly`
#' @return For `par_order()` row numbers: integers, or doubles if there are too many rows for integers. For `par_sort()`
#'   an object like `x`.
#' @seealso [par_segments()], [order()][base::order], [sort()][base::sort]
#' @concept radix sort
#' @concept stable sort
#' @export
#' @examples
#' par_order(c(30, 10, 20, 10))
#' par_sort(c(b = 2, a = NA, c = 1), decreasing = TRUE)
#' par_sort(data.frame(group = c("b", "a", "b"), size = c(2, 3, 1)))
#' par_order(c(5, 1, 4, 9, 2), segments = par_segments(lengths = c(3, 2)))
#' ticks <- seq_len(1e5) + runif(1e5, -5, 5)
#' identical(par_order(ticks, nearly = 10), order(ticks))
par_order <- function(x, segments = NULL, decreasing = FALSE, nearly = NULL) {
  columns <- table_columns(x, "x")
  decreasing <- check_decreasing(decreasing, length(columns))
  nearly <- check_nearly(nearly)
  alone <- length(columns) == 1 && is.character(columns[[1]]) && is.null(segments)
  if (alone) return(order(columns[[1]], method = "radix", decreasing = decreasing))  # R knows strings by their address
  keys <- unname(lapply(columns, key_numbers))
  if (is.null(segments)) return(order_of(keys, decreasing, nearly = nearly))
  items <- segment_order(check_segments_of(segments, length(keys[[1]]), "x"), keys[[1]])
  if (is.null(items)) return(order_of(keys, decreasing, segments))
  r_take(items, order_of(lapply(keys, r_take, items), decreasing, segments))
}

check_nearly <- function(nearly) if (is.null(nearly)) 0 else check_degree(nearly, "nearly")

#' @rdname par_order
#' @export
par_sort <- function(x, ...) {
  if ((is.numeric(x) || is.logical(x)) && is.null(attributes(x))) return(sorted_numbers(x, ...))
  rows <- par_order(x, ...)  # this call comes first, as it refuses columns that take_rows() cannot take
  take_rows(x, rows)
}

sorted_numbers <- function(x, segments = NULL, decreasing = FALSE, nearly = NULL) {
  if (!is.null(segments)) return(r_take(x, par_order(x, segments, decreasing, nearly)))
  r_sort(x, check_decreasing(decreasing, 1L), check_nearly(nearly), array_threads())
}

take_rows <- function(x, rows) {
  if (is.data.frame(x)) x[rows, , drop = FALSE]
  else if (is.list(x) && !is.object(x)) lapply(x, function(column) column[rows])
  else x[rows]
}

order_of <- function(keys, decreasing = FALSE, segments = NULL, nearly = 0) {
  r_order(keys, decreasing, segments, nearly, array_threads())
}

check_decreasing <- function(decreasing, columns) {
  fits <- is.logical(decreasing) && !anyNA(decreasing) && length(decreasing) %in% c(1L, columns)
  if (fits) return(decreasing)
  each <- if (columns > 1) paste(", once or for each of", columns, "columns")
  abort("input", "`decreasing` must be TRUE or FALSE", each, ", not ", format_value(decreasing))
}

# --- keys ------------------------------------------------------------------------------------------------------

# Returns a vector or columns as a list of checked vectors of one length, named as errors name them.
table_columns <- function(x, argument) {
  columns <- columns_of(x)
  if (!length(columns)) abort("shape", "`", argument, "` has no columns: there is nothing to order by")
  labels <- paste0("`", argument, "`")
  if (is_table(x)) {
    names <- names(columns) %or% rep("", length(columns))
    parts <- ifelse(nzchar(names), paste0("$", names), paste0("[[", seq_along(columns), "]]"))
    labels <- paste0("`", argument, parts, "`")
  }
  sizes <- lengths(columns)
  if (any(sizes != sizes[1])) {
    other <- which(sizes != sizes[1])[1]
    abort("shape", "columns of `", argument, "` have unequal lengths: ", labels[1], " has ", sizes[1], ", ",
          labels[other], " has ", sizes[other])
  }
  Map(check_key, columns, labels)
  stats::setNames(columns, labels)
}

is_table <- function(x) is.list(x) && (!is.object(x) || is.data.frame(x))
columns_of <- function(x) {
  columns <- if (is_table(x)) unclass(x) else list(x)
  attributes(columns) <- list(names = names(columns))
  lapply(columns, function(column) if (inherits(column, "POSIXlt")) as.POSIXct(column) else column)
}

# Returns the numbers that represent a column. Characters become their ranks among the characters of the column.
key_numbers <- function(column) {
  if (is.character(column)) match(column, sort(unique(column), method = "radix")) else column
}

check_key <- function(column, label) {
  if (is_traced(column)) abort("no_gradient", "array functions have no derivative: ", label, " is ", describe(column))
  if (typeof(column) %in% c("logical", "integer", "double", "character")) return(column)
  abort("input", label, " cannot be ordered: it is ", describe(column),
        ", not logicals, numbers, characters or a factor")
}
