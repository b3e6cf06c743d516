# Joins: finds rows of two tables that have equal keys; makes keys of two vectors comparable.

#' Join two tables by their keys
#'
#' Finds the pairs of rows whose keys are equal, in parallel, as [merge()] does. `par_join(x, y)` returns row numbers.
#' `par_join(x, y, by = "key")` joins two data frames: the result has the keys, the other columns of `x` and the other
#' columns of `y`, with `suffixes` appended to names that both have. Neither table need be sorted.
#'
#' ```
#'            1    2    3    4               inner  left  right  outer
#' x          100  101  103  103       x      1 1    1 1   1 1    1 1
#' y          100  100  102  103       y      1 2    1 2   1 2    1 2
#'                                     x             2            2
#' matching rows share a column        y             -            -
#'                                     x      3 4    3 4   3 4    3 4
#'                                     y      4 4    4 4   4 4    4 4
#' - is NA                             x                   -      -
#'                                     y                   3      3
#' ```
#'
#' Pairs are in the order of `x`, and pairs with the same row of `x` are in the order of `y`. Types `"left"` and
#' `"outer"` keep unmatched rows of `x` at their position; `"right"` and `"outer"` put unmatched rows of `y` last.
#'
#' A key may have several columns, matched by position. For two data frames without `by`, the names of the columns must
#' be the same, in the same order. Integers equal doubles of the same value, factors and strings are equal if their text
#' is equal, and -0 equals 0. NA matches NA and NaN matches NaN, as in [merge()], but NA does not match NaN. With
#' `na = "never"` a row with a missing key matches nothing.
#'
#' @param x,y the keys: vectors, or lists or data frames with equally many columns, of types that [par_order()] accepts
#' @param type which unmatched rows to keep: none (`"inner"`), those of `x` (`"left"`), of `y` (`"right"`) or all
#'   (`"outer"`)
#' @param na `"match"`, the default: a missing key matches another missing key; `"never"`: it matches nothing
#' @param by names of the key columns of two data frames, to get a table; `c(v = "w")` if column `v` of `x` corresponds
#'   to column `w` of `y`
#' @param suffixes two texts, appended to names of other columns that both data frames have
#' @return A list of two vectors of row numbers, `x` and `y`; NA for no match. With `by`, a data frame.
#' @seealso [merge()], [match()], [par_order()]
#' @concept merge data frames
#' @concept inner join
#' @concept left join
#' @export
#' @examples
#' x <- c(100, 101, 103, 103)
#' y <- c(100, 100, 102, 103)
#' as.data.frame(par_join(x, y, "outer"))
#' left <- data.frame(id = c("a", "b", "b"), day = c(1, 1, 2), height = c(10, 20, 30))
#' right <- data.frame(id = c("b", "a"), day = c(2, 1), width = c(7, 8))
#' par_join(left, right, "left", by = c("id", "day"))
#' par_join(left, data.frame(name = "b", age = 3), by = c(id = "name"))
par_join <- function(x, y, type = c("inner", "left", "right", "outer"), na = c("match", "never"), by = NULL,
                     suffixes = c(".x", ".y")) {
  type <- if (missing(type)) "inner" else one_of(type, c("inner", "left", "right", "outer"), "type")
  na <- if (missing(na)) "match" else one_of(na, c("match", "never"), "na")
  if (!is.null(by)) return(joined_table(x, y, type, na, key_names(by, x, y), suffixes))
  if (is_table(x) && is_table(y)) check_column_order(x, y)
  x <- table_columns(x, "x")
  y <- table_columns(y, "y")
  if (length(x) != length(y)) {
    abort("shape", "keys have as many columns in both tables: `x` has ", length(x), ", `y` has ", length(y))
  }
  keys <- Map(join_keys, x, y, names(x), names(y))
  r_join(keys, type %in% c("left", "outer"), type %in% c("right", "outer"), na == "match", option("max_dense_mb"),
         array_threads())
}

# Returns numbers of x and of y that are equal if and only if the keys are equal. Characters need no order: each becomes
# the first position at which it occurs.
join_keys <- function(x, y, x_label, y_label) {
  alike <- is.factor(x) && is.factor(y) && identical(levels(x), levels(y))
  text <- function(v) is.character(v) || is.factor(v)
  if (alike || !text(x) || !text(y)) return(shared_keys(x, y, x_label, y_label))
  both <- c(as.character(x), as.character(y))
  first <- match(both, both)
  if (anyNA(both)) first[is.na(both)] <- NA
  list(first[seq_along(x)], first[length(x) + seq_along(y)])
}

# Refuses columns of equal names in another order and data frames of different names: such tables are a slip that would
# match unrelated columns.
check_column_order <- function(x, y) {
  frames <- is.data.frame(x) && is.data.frame(y) && length(x) && length(y)
  x <- names(x)
  y <- names(y)
  if (identical(x, y)) return(invisible())
  of_both <- paste(paste(x, collapse = ", "), "and", paste(y, collapse = ", "))
  same <- length(x) && length(x) == length(y) && setequal(x, y) && !anyDuplicated(x) && all(nzchar(x))
  if (same) {
    abort("input", "columns are matched by position, and those of `x` and `y` are the same in another order: ",
          of_both)
  }
  if (!frames) return(invisible())
  common <- intersect(x, y)
  other <- c(x = setdiff(x, y)[1], y = setdiff(y, x)[1])
  how <- c(if (length(common)) paste0("those of both are by = ", deparse1(common)),
           if (!anyNA(other)) paste0("say which correspond, as in by = c(", other[1], " = \"", other[2], "\")"))
  abort("input", "the key columns of `x` and `y` have different names, ", of_both, "; ", paste(how, collapse = ", or "))
}

# --- tables --------------------------------------------------------------------------------------------------------

# Returns the names of the key columns of both tables.
key_names <- function(by, x, y) {
  for (argument in c("x", "y")) {
    table <- get(argument)
    if (!is.data.frame(table)) abort("input", "`", argument, "` must be a data frame where there is `by`, not ",
                                     describe(table))
  }
  if (!is.character(by) || !length(by) || anyNA(by)) {
    abort("input", "`by` must be names of columns, not ", describe(by))
  }
  of_x <- names(by) %or% by
  of_x[!nzchar(of_x)] <- by[!nzchar(of_x)]
  known_columns(of_x, x, "x")
  known_columns(by, y, "y")
  list(x = of_x, y = unname(by))
}

known_columns <- function(wanted, table, argument) {
  unknown <- setdiff(wanted, names(table))
  if (length(unknown)) {
    abort("input", "`", argument, "` has no column `", unknown[1], "`", near_hint(unknown[1], names(table)))
  }
  if (anyDuplicated(wanted)) abort("input", "`by` names `", wanted[anyDuplicated(wanted)], "` twice")
}

joined_table <- function(x, y, type, na, by, suffixes) {
  keys <- list(x = unclass(x)[by$x], y = unclass(y)[by$y])
  ok <- is.character(suffixes) && length(suffixes) == 2 && !anyNA(suffixes)
  if (!ok || suffixes[1] == suffixes[2]) {
    abort("input", "`suffixes` must be two different texts, not ", if (ok) "one twice" else describe(suffixes))
  }
  rows <- par_join(keys$x, stats::setNames(keys$y, by$x), type, na)
  alone <- which(is.na(rows$x))
  own <- lapply(seq_along(by$x), function(k) {
    key_column(columns_of(keys$x[k])[[1]], columns_of(keys$y[k])[[1]], rows, alone)
  })
  rest_x <- lapply(unclass(x)[setdiff(names(x), by$x)], rows_of_column, rows$x)
  rest_y <- lapply(unclass(y)[setdiff(names(y), by$y)], rows_of_column, rows$y)
  both <- intersect(names(rest_x), names(rest_y))
  behind <- function(names, some, what) ifelse(names %in% some, paste0(names, what), names)
  names(rest_x) <- behind(names(rest_x), both, suffixes[1])
  names(rest_y) <- behind(names(rest_y), c(both, by$x), suffixes[2])
  structure(c(stats::setNames(own, by$x), rest_x, rest_y), row.names = .set_row_names(length(rows$x)),
            class = "data.frame")
}

rows_of_column <- function(column, rows) {
  if (length(dim(column)) == 2) column[rows, , drop = FALSE] else column[rows]
}

# Returns a key column of the result. In the rows `alone`, which x has not, the key is the key of y.
key_column <- function(x, y, rows, alone) {
  out <- x[rows$x]
  if (!length(alone)) return(out)
  y <- y[rows$y[alone]]
  if (is.factor(out)) {
    y <- as.character(y)
    levels(out) <- union(levels(out), y[!is.na(y)])
  } else if (is.factor(y)) y <- as.character(y)
  out[alone] <- y
  out
}

# --- keys of two vectors -----------------------------------------------------------------------------------------

# Returns numbers of one type for x and y: equal numbers mean equal keys, smaller numbers come first. Characters become
# their ranks among all characters.
shared_keys <- function(x, y, x_label, y_label) {
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
  if (is.character(x)) {
    places <- sort(unique(c(x, y)), method = "radix")
    return(list(x = match(x, places), y = match(y, places), places = places))
  }
  if (is.double(x) != is.double(y)) {
    return(list(x = as.double(unclass(wherever(x))), y = as.double(unclass(wherever(y)))))
  }
  list(x = x, y = y)
}

# Names the kind of key that a vector is. Two vectors of one kind can be compared.
key_kind <- function(x) {
  if (is.factor(x)) "a factor"
  else if (is.object(x)) paste("of class", class(x)[1])
  else if (is.character(x)) "characters"
  else "numbers"
}
