# Joins: which rows of two tables have equal keys; and keys of two vectors made comparable.

#' Join two tables by their keys
#'
#' `par_join(x, y)` finds the pairs of rows whose keys are equal, as row numbers: what there is in columns beside the
#' keys is taken by them. Neither table need be sorted.
#'
#' ```
#'            1    2    3    4               inner  left  right  outer
#' x          100  101  103  103       x      1 1    1 1   1 1    1 1
#' y          100  100  102  103       y      1 2    1 2   1 2    1 2
#'                                     x             2            2
#' rows that belong together           y             -            -
#' stand in a column each              x      3 4    3 4   3 4    3 4
#'                                     y      4 4    4 4   4 4    4 4
#' - is NA                             x                   -      -
#'                                     y                   3      3
#' ```
#'
#' Pairs come in the order of `x`, those of a row of `x` in the order of `y`. Rows of `x` without a partner are kept
#' where they are by types `"left"` and `"outer"`; rows of `y` without one come last, by `"right"` and `"outer"`.
#'
#' A key may be of several columns, taken by their places; the same names in another order are an error. Integers equal
#' doubles of the same value, factors have identical levels in both tables, -0 equals 0. NA equals NA and NaN equals
#' NaN, as in [merge()], but not each other; with `na = "never"` rows in which one is missing have no partner.
#'
#' @param x,y the keys: vectors, or lists or data frames of as many columns, of what [par_order()] takes
#' @param type which rows without a partner are kept: none (`"inner"`), those of `x` (`"left"`), of `y` (`"right"`) or
#'   all (`"outer"`)
#' @param na does a missing key `"match"` another, or `"never"`?
#' @return A list of two vectors of row numbers, `x` and `y`; NA for no partner.
#' @seealso [merge()], [match()], [par_order()]
#' @export
#' @examples
#' x <- c(100, 101, 103, 103)
#' y <- c(100, 100, 102, 103)
#' as.data.frame(par_join(x, y, "outer"))
#' left <- data.frame(id = c("a", "b", "b"), day = c(1, 1, 2), height = c(10, 20, 30))
#' right <- data.frame(id = c("b", "a"), day = c(2, 1), width = c(7, 8))
#' rows <- par_join(left[c("id", "day")], right[c("id", "day")])
#' cbind(left[rows$x, ], width = right$width[rows$y])
par_join <- function(x, y, type = c("inner", "left", "right", "outer"), na = c("match", "never")) {
  given(list(x, y), environment())
  if (is_table(x) && is_table(y)) check_column_order(names(x), names(y))
  type <- if (missing(type)) "inner" else one_of(type, c("inner", "left", "right", "outer"), "type")
  na <- if (missing(na)) "match" else one_of(na, c("match", "never"), "na")
  x <- table_columns(x, "x")
  y <- table_columns(y, "y")
  if (length(x) != length(y)) {
    abort("shape", "keys have as many columns in both tables: `x` has ", length(x), ", `y` has ", length(y))
  }
  if (length(x) == 1 && both_there(x[[1]], y[[1]])) {
    return(r_join_there(x[[1]], y[[1]], type %in% c("left", "outer"), type %in% c("right", "outer"), na == "match"))
  }
  lapply(c(x, y), wherever)
  keys <- Map(join_keys, x, y, names(x), names(y))
  r_join(unname(keys), length(x[[1]]), type %in% c("left", "outer"), type %in% c("right", "outer"), na == "match",
         option("max_dense_mb"), array_threads())
}

# Numbers that are equal where keys are, those of x and then those of y. Characters need no order: each becomes the
# place where it is first.
join_keys <- function(x, y, x_label, y_label) {
  if (!is.character(x) || !is.character(y)) return(one_behind_other(shared_keys(x, y, x_label, y_label)))
  both <- c(x, y)
  first <- match(both, both)
  if (anyNA(both)) first[is.na(both)] <- NA
  first
}

# Columns of the same names in another order are a slip that would match what does not belong together.
check_column_order <- function(x, y) {
  if (identical(x, y) || !length(x) || !setequal(x, y) || length(x) != length(y)) return(invisible())
  if (anyDuplicated(x) || !all(nzchar(x))) return(invisible())
  abort("input", "columns are taken by their places, and those of `x` and `y` are the same in another order: ",
        paste(x, collapse = ", "), " and ", paste(y, collapse = ", "))
}

one_behind_other <- function(keys) {
  both <- c(unclass(keys$x), unclass(keys$y))
  if (inherits(keys$x, "integer64")) class(both) <- "integer64"
  both
}

# --- keys of two vectors -----------------------------------------------------------------------------------------

# Numbers of one type that stand for x and y, so that equal ones are equal keys and smaller ones come first; characters
# are their places among all.
shared_keys <- function(x, y, x_label, y_label) {
  same_kind(x, y, x_label, y_label)
  if (is.character(x)) {
    places <- sort(unique(c(x, y)), method = "radix")
    return(list(x = match(x, places), y = match(y, places), places = places))
  }
  if (is.double(x) != is.double(y)) return(list(x = as.double(unclass(x)), y = as.double(unclass(y))))
  list(x = x, y = y)
}

# What kind of key a vector is: two of one kind can be compared.
key_kind <- function(x) {
  if (is.factor(x)) "a factor"
  else if (is.object(x)) paste("of class", class(x)[1])
  else if (is.character(x)) "characters"
  else "numbers"
}

same_kind <- function(x, y, x_label, y_label) {
  kinds <- c(key_kind(x), key_kind(y))
  if (kinds[1] != kinds[2]) {
    abort("input", x_label, " and ", y_label, " cannot be compared: ", x_label, " is ", kinds[1], ", ", y_label, " is ",
          kinds[2])
  }
  if (!identical(levels(x), levels(y))) {
    abort("input", "factors must have identical levels: ", x_label, " has ", nlevels(x), ", ", y_label, " has ",
          nlevels(y), if (nlevels(x) == nlevels(y)) ", and they differ")
  }
  if (!identical(attr(x, "units"), attr(y, "units"))) {
    abort("input", x_label, " is in ", attr(x, "units"), ", ", y_label, " in ", attr(y, "units"))
  }
}
