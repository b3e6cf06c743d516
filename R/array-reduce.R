# par_reduce(): reduces arrays as a whole or segment by segment; also the helpers it shares with par_scan().

#' Reduce an array, as a whole or in segments
#'
#' Computes a sum, mean, minimum or other summary of a vector or of each of its segments, in parallel. Use it for
#' grouped summaries ([tapply()], [rowsum()]) of long vectors. It is equally fast for a few long segments, for many
#' short segments, and for one long segment among many short ones.
#'
#' ```
#' x                     1   2 | 3   4   5   6         lengths 2, 0, 4
#' sum of each segment     3   0      18               the sum of an empty segment is 0
#' ```
#'
#' | `op` | result | for no items |
#' |---|---|---|
#' | `"sum"` | integer for integers, unless one sum is too large, as for [sum()]; otherwise double | 0 |
#' | `"count"` | number of items, of any type; with `na.rm = TRUE`, number of items that are not missing | 0 |
#' | `"var"` | variance as by [stats::var()], in two passes; `NA` for one item | `NA` |
#' | `"prod"`, `"mean"`, `"logsumexp"` | double | 1, `NaN`, `-Inf` |
#' | `"min"`, `"max"`, `"range"` | as `x`; double if infinite | `Inf`, `-Inf`, both |
#' | `"any"`, `"all"` | logical, of logical values or integers | `FALSE`, `TRUE` |
#' | `"argmin"`, `"argmax"` | position in `x`, the first of ties | `NA` |
#'
#' Missing values are treated as in base R: a result that depends on a missing value is `NA`. `na.rm = TRUE` omits
#' missing values; `"argmin"` and `"argmax"` always omit them, as [which.min()] does.
#'
#' With segments, the items of a matrix are its rows: each column is reduced separately, as by [rowsum()]. Without
#' segments, the items are the elements of the matrix, as for [sum()]. Each column of a data frame is reduced
#' separately, with its own type and class; the result is a data frame with a row per segment (`"range"` gives two
#' columns for each).
#'
#' Dates and times keep their class if the result is a date or time (`"min"`, `"max"`, `"range"`, `"mean"`), and so do
#' ordered factors. Sums agree with [sum()] to rounding, and are identical to the bit for any number of threads.
#'
#' @section Your own operator:
#' `op` may be a formula of `.x` and `.y`, such as `~ .x + .y + .x * .y`, or a function of two arguments: the item that
#' comes first, and the item that follows it. The operator is compiled like any lazy formula, from the operations that
#' [kernweave_operations()] lists; `pmax()`, `pmin()` and `ifelse()` work. Numbers, and variables from the environment
#' of the formula or function, become parameters. Neighbouring items are combined in their order, in any grouping. The
#' operator must therefore be associative, `op(op(a, b), c)` equal to `op(a, op(b, c))`; `check = TRUE` tests this on a
#' sample. It need not be commutative. Integers and logical values are computed as doubles. An empty segment is an error
#' unless there is an `init`. A result that is `NaN` becomes `NA` if a missing item came before it; comparisons with
#' missing items are `FALSE`, as in all formulas.
#'
#' @param x a vector of numbers or logical values, a matrix of them, or a data frame of such columns
#' @param op the operator: a name from the table, or a formula of `.x` and `.y`, see below
#' @param segments segments made by [par_segments()]; `NULL` reduces all items to one number
#' @param init initial value of each segment, combined in front of its items; `NULL`, the default, for none. Not for
#'   `"mean"`, `"range"`, `"argmin"`, `"argmax"`, `"count"` and `"var"`
#' @param na.rm omit missing values?
#' @param check test on triples of items whether your own operator is associative? It is an error if it is not
#' @return A vector with one number per segment, named by the labels of the segments; for a matrix or a data frame, a
#'   matrix or a data frame with one row per segment. `"range"` gives two columns (two numbers without segments; for a
#'   matrix, an array).
#' @seealso [par_segments()], [par_scan()]; [reduction()] for formulas of pairs
#' @concept group by
#' @concept aggregate
#' @concept segmented reduction
#' @export
#' @examples
#' s <- par_segments(lengths = c(2, 0, 4))
#' par_reduce(1:6, "sum", s)
#' par_reduce(c(3, 1, 2, 2), "range")
#' by_group <- par_segments(by = iris$Species)
#' par_reduce(as.matrix(iris[1:4]), "mean", by_group)
#' par_reduce(iris[1:4], "var", by_group)
#' par_reduce(iris$Sepal.Length, "argmax", by_group)
#' # compound interest: (1 + x) (1 + y) - 1
#' par_reduce(c(0.02, 0.03, 0.01), ~ .x + .y + .x * .y, check = TRUE)
#' par_reduce(1:6, ~ .y, s, init = NA) # the last of each segment
par_reduce <- function(x, op = "sum", segments = NULL, init = NULL, na.rm = FALSE, check = FALSE) {
  check_flag(na.rm, "na.rm")
  check_flag(check, "check")
  if (is.function(op)) {  # mean() and sd() of base R take all items; an operator takes two
    known <- c(array_operators, "var")
    same <- vapply(known, function(name) identical(op, get0(name, baseenv()) %or% get0(name, asNamespace("stats"))), NA)
    if (any(same)) abort("input", "`op` is a name or a function of two items: say op = \"", known[same][1], "\"")
  }
  if (!is_own_operator(op)) op <- one_of(op, c(array_operators, "count", "var"), "op")
  if (is.data.frame(x)) return(reduced_columns(x, op, segments, init, na.rm, check))
  if (is_own_operator(op)) return(reduce_by_own(x, op, segments, init, na.rm, check))
  if (op == "count") return(counted_items(x, segments, init, na.rm))
  if (op == "var") return(variances(x, segments, init, na.rm))
  values <- array_items(x, op)
  segments <- check_segments(segments, x)
  init <- check_init(init, op)
  columns <- if (is.null(segments) || length(dim(x)) != 2) 1L else ncol(x)
  plan <- segments %or% one_segment(length(x))
  found <- r_reduce(values, columns, engine_operator(op, values, init), plan, na.rm, as_init(init),
                    !is.null(segments), array_threads())
  found <- as_result(found, op, values, init)
  as_was(shaped_result(found, op, segments, x, columns), x, op)
}

array_operators <- c("sum", "prod", "min", "max", "range", "mean", "any", "all", "argmin", "argmax", "logsumexp")

# Reduces a data frame column by column.
reduced_columns <- function(x, op, segments, init, na.rm, check) {
  if (identical(op, "range")) {
    check_init(init, op)
    ends <- lapply(c("min", "max"), function(end) reduced_columns(x, end, segments, NULL, na.rm, check))
    both <- do.call(cbind, ends)[order(rep(seq_along(x), 2))]
    return(stats::setNames(both, paste0(rep(names(x), each = 2), c(".min", ".max"))))
  }
  segments <- check_segments(segments, x) %or% one_segment(nrow(x))
  found <- Map(function(column, name) {
    about <- function(e) abort_again(replace(e, "message", paste0("column `", name, "`: ", message_of(e))))
    out <- withCallingHandlers(par_reduce(column, op, segments, init, na.rm, check), kernweave_error = about)
    if (is.null(dim(out))) unname(out) else `rownames<-`(out, NULL)
  }, unclass(x), names(x))
  labels <- as.character(names(segments))
  rows <- if (length(labels) && !anyNA(labels) && !anyDuplicated(labels)) labels else .set_row_names(length(segments))
  structure(found, names = names(x), row.names = rows, class = "data.frame")
}

# Counts items; with `na.rm`, items that are not missing.
counted_items <- function(x, segments, init, na.rm) {
  check_init(init, "count")
  if (is_traced(x) || is.null(x) || !is.atomic(x)) abort("input", "`x` must be a vector or matrix, not ", describe(x))
  there <- if (na.rm) !is.na(x) else r_dress(rep(TRUE, length(x)), attributes(x)[c("dim", "dimnames")])
  par_reduce(there, "sum", segments)
}

# Sums the squares about the mean of each segment, in a second pass.
variances <- function(x, segments, init, na.rm) {
  check_init(init, "var")
  array_items(x, "var")
  means <- par_reduce(x, "mean", segments, na.rm = na.rm)
  counts <- par_reduce(x, "count", segments, na.rm = na.rm)
  if (!is.null(segments)) {
    of_item <- unclass(segments)$codes %or% rep.int(seq_along(segments), lengths(segments))
    centre <- if (is.matrix(means)) means[of_item, , drop = FALSE] else unname(means)[of_item]
  } else centre <- means
  out <- par_reduce((x - centre)^2, "sum", segments, na.rm = na.rm) / pmax(counts - 1, 0)
  replace(out, counts < 2, NA)
}

check_segments <- function(segments, x) {
  if (is.null(segments)) return(NULL)
  check_segments_of(segments, if (length(dim(x)) == 2) nrow(x) else length(x), "x")
}

one_segment <- function(n) new_segments(as_count(c(0, n)))

check_init <- function(init, op) {
  if (is.null(init)) return(NULL)
  without <- c("mean", "range", "argmin", "argmax", "count", "var")
  if (op %in% without) abort("unsupported", "\"", op, "\" takes no `init`")
  if (!(is.numeric(init) || is.logical(init)) || is.object(init) || length(init) != 1) {
    abort("input", "`init` must be a number, not ", describe(init))
  }
  init
}
as_init <- function(init) if (is.null(init)) NULL else as.double(init)

# Returns the numbers of an array; refuses arrays without numbers, or with numbers that the operator cannot use.
array_items <- function(x, op) {
  if (is_traced(x)) abort("no_gradient", "array functions have no derivative: `x` is ", describe(x))
  if (is.na(class_kept(x, op))) {
    named <- if (op %in% c(array_operators, "var")) paste0("\"", op, "\"") else op
    abort("input", named, " of ", describe(x), " has no meaning; ",
          if (is.factor(x)) "as.integer() gives its codes" else "unclass() gives its numbers")
  }
  plain <- if (is.object(x)) unclass(x) else x
  if (is.complex(plain)) abort("unsupported", "`x` is complex; complex numbers are not implemented")
  if (!is.numeric(plain) && !is.logical(plain) || inherits(x, "integer64")) {
    abort("input", "`x` must be a vector or matrix of numbers, not ", describe(x),
          if (is.data.frame(x)) "; as.matrix() makes one of columns of numbers")
  }
  if (op %in% c("any", "all") && is.double(plain)) {
    abort("kind", "\"", op, "\" needs logical values, not numbers; write the comparison out, as in x > 0")
  }
  plain
}

# Returns TRUE if the result has the class of `x`, FALSE if it is a plain number, NA if `op` is not defined for `x`.
class_kept <- function(x, op) {
  if (!is.object(x)) return(FALSE)
  if (op %in% c("argmin", "argmax")) return(FALSE)
  if (is.factor(x)) return(if (is.ordered(x) && op %in% c("min", "max", "range")) TRUE else NA)
  if (inherits(x, "difftime")) return(if (op %in% c("min", "max", "range", "mean", "sum")) TRUE else NA)
  if (inherits(x, c("Date", "POSIXct"))) return(if (op %in% c("min", "max", "range", "mean")) TRUE else NA)
  FALSE
}

# Returns the name of the operator in the engine. Sums of integers are exact.
engine_operator <- function(op, values, init) {
  if (op == "sum" && !is.double(values) && !is.double(init)) "whole_sum" else op
}

# Converts the engine's doubles to the type that base R returns.
as_result <- function(found, op, values, init) {
  if (op %in% c("any", "all")) return(as.logical(found))
  places <- op %in% c("argmin", "argmax")
  if (!places && (!op %in% c("sum", "min", "max", "range") || is.double(values) || is.double(init))) return(found)
  whole <- r_as_integers(found)
  if (!whole$overflow) return(whole$values)
  if (places) replace(found, is.nan(found), NA) else found
}

# Gives a result its dimensions and names.
shaped_result <- function(found, op, segments, x, columns) {
  if (is.null(segments)) return(r_dress(found, list()))
  labels <- names(segments)
  has_ends <- op == "range"
  has_columns <- length(dim(x)) == 2
  if (!has_ends && !has_columns) return(r_dress(found, if (is.null(labels)) list() else list(names = labels)))
  dim <- c(length(segments), if (has_ends) 2L, if (has_columns) columns)
  names <- c(list(labels), if (has_ends) list(c("min", "max")), if (has_columns) list(colnames(x)))
  r_dress(found, c(list(dim = dim), if (!all(vapply(names, is.null, NA))) list(dimnames = names)))
}

# Gives `out` the class of `x` with all attributes that belong to the class, if `op` keeps the class.
as_was <- function(out, x, op) {
  if (!isTRUE(class_kept(x, op))) return(out)
  marks <- attributes(x)
  marks[c("names", "dim", "dimnames")] <- NULL
  if (is.factor(x)) {
    out[is.infinite(out)] <- NA
    storage.mode(out) <- "integer"
  }
  attributes(out) <- c(attributes(out), marks)
  out
}
