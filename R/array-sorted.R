# Verbs for two sorted vectors: merge, search, sets; also their checks and the classes of their results.

#' Merge two sorted vectors
#'
#' Merges two sorted vectors into one, in parallel. Items of `x` come before equal items of `y`. Use it in place of
#' `sort(c(x, y))`, or with `values` to merge two sorted tables.
#'
#' ```
#' x                    1      3  3
#' y                       2         3
#' par_merge(x, y)      1  2  3  3  3
#' ```
#'
#' @param x,y vectors of one kind, sorted as by [par_sort()]: NA and NaN last, strings by their bytes
#' @param values data that belong to the items: a list of two vectors or data frames, the first as long as `x` and the
#'   second as long as `y`; `NULL`, the default, for none
#' @param check check that `x` and `y` are sorted? The check takes a small part of the time, and no time if R knows that
#'   a vector is sorted, as for the result of [sort()]
#' @return The merged vector, with the class of `x` and without names. With `values`, a list of `keys`, the merged
#'   vector, and `values`, the merged data in the order of `keys`.
#' @seealso [par_sort()], [par_set()], [par_search()]
#' @export
#' @examples
#' par_merge(c(1, 3, 3), c(2, 3))
#' par_merge(c(1, 3, 3), c(2, 3), values = list(c("x1", "x2", "x3"), c("y1", "y2")))
par_merge <- function(x, y, values = NULL, check = TRUE) {
  keys <- sorted_keys(x, y, "x", "y", check)
  merged <- if (is.null(keys$places)) as_class_of(x, r_merge(keys$x, keys$y, FALSE, array_threads()))
  if (is.null(values) && !is.null(merged)) return(merged)
  rows <- r_merge(keys$x, keys$y, TRUE, array_threads())
  if (is.null(merged)) merged <- unname(c(x, y)[rows])
  if (is.null(values)) merged else list(keys = merged, values = take_rows(both_values(values, x, y), rows))
}

both_values <- function(values, x, y) {
  if (!is.list(values) || is.data.frame(values) || length(values) != 2) {
    abort("input", "`values` must be a list of two, for `x` and for `y`, not ", describe(values))
  }
  sizes <- vapply(values, NROW, 0)
  if (any(sizes != c(length(x), length(y)))) {
    abort("shape", "`values` has ", sizes[1], " and ", sizes[2], " items, `x` and `y` have ", length(x), " and ",
          length(y))
  }
  if (is.data.frame(values[[1]]) && is.data.frame(values[[2]])) {
    if (setequal(names(values[[1]]), names(values[[2]]))) return(rbind(values[[1]], values[[2]]))
    abort("input", "`values` must be data frames of the same columns; these have ",
          paste(names(values[[1]]), collapse = ", "), " and ", paste(names(values[[2]]), collapse = ", "))
  }
  check_same_class(values[[1]], values[[2]], c("`values[[1]]`", "`values[[2]]`"))
  c(values[[1]], values[[2]])
}

#' Search in a sorted vector
#'
#' For each needle, `par_search(needles, haystack)` counts the items of the sorted haystack that are smaller than the
#' needle or, with `side = "upper"`, not larger than the needle. Use it in place of [findInterval()], to find the last
#' event before each time, or for an empirical distribution function.
#'
#' ```
#' haystack             0   5   5   7  12  14  16  16
#' counts             0   1   2   3   4   5   6   7   8
#' lower                  3,3          12      16             -> 1 1 4 6
#' upper                  3,3              12          16     -> 1 1 5 8
#' ```
#'
#' The counts equal the results of [findInterval()], with `left.open = TRUE` for the lower side. Sorted needles are
#' found in one pass through both vectors. Unsorted needles, or needles in a much longer haystack, are searched for one
#' by one. The result for a missing needle is NA.
#'
#' @param needles the values to look for
#' @param haystack a sorted vector without missing values, of the same kind
#' @param side `"lower"`, the default, counts the items smaller than a needle; `"upper"` counts equal items too
#' @param match also return the matches of both vectors? `needles` must then be sorted
#' @param check check that `haystack` is sorted and, with `match`, that `needles` is sorted? With `FALSE`, both are
#'   taken to be sorted
#' @return Whole numbers from 0 to `length(haystack)`. With `match`, a list: `at`, these numbers; `matched`, whether the
#'   haystack contains each needle; `haystack_at`, the position of each haystack item among the needles; and
#'   `haystack_matched`, whether the needles contain each haystack item.
#' @seealso [findInterval()], [par_join()]
#' @concept binary search
#' @concept last observation carried forward
#' @export
#' @examples
#' haystack <- c(0, 5, 5, 7, 12, 14, 16, 16)
#' par_search(c(3, 3, 12, 16), haystack)
#' par_search(c(3, 3, 12, 16), haystack, side = "upper")
#' par_search(c(3, 3, 12, 16), haystack, match = TRUE)
par_search <- function(needles, haystack, side = "lower", match = FALSE, check = TRUE) {
  upper <- one_of(side, c("lower", "upper"), "side") == "upper"
  check_flag(match, "match")
  check_flag(check, "check")
  check_key_vector(needles, "needles")
  check_key_vector(haystack, "haystack")
  keys <- shared_keys(needles, haystack, "`needles`", "`haystack`")
  if (check) refuse_unsorted(keys$y, "haystack")
  n <- length(keys$y)
  if (r_ends_missing(keys$y)) abort("value", "`haystack` has missing values: number ", number_text(n), " is the last")
  if (match) {
    if (check) refuse_unsorted(keys$x, "needles")
    return(r_search_both(keys$x, keys$y, upper, array_threads()))
  }
  through <- length(keys$x) * 16 > n && (!check || r_first_unsorted(keys$x, array_threads()) == 0)
  r_search(keys$x, keys$y, upper, through, array_threads())
}

#' Set operations on sorted vectors
#'
#' Computes the union, intersection or difference of two sorted vectors, in parallel. Repeated items count: a key that
#' occurs `a` times in `x` and `b` times in `y` occurs in the result as often as the table says.
#'
#' ```
#'                                             multiset           set
#' x                      1 1 2 3 3 3
#' y                      1 2 2 3 3
#' par_set(, "union")     1 1 2 2 3 3 3        max(a, b)          1 2 3
#' par_set(, "intersect") 1 2 3 3              min(a, b)          1 2 3
#' par_set(, "setdiff")   1 3                  max(a - b, 0)      none
#' par_set(, "symdiff")   1 2 3                |a - b|            none
#' ```
#'
#' With `multiset = FALSE` each key counts once, as in base R's [union()], [intersect()] and [setdiff()]; the result is
#' sorted. NA and NaN are two different keys. Both come last, NA before NaN.
#'
#' @inheritParams par_merge
#' @param op the operation, one of the names in the table; by default `"union"`
#' @param multiset count repeated items? With `FALSE`, each key counts once
#' @return A sorted vector with the class of `x`, without names.
#' @seealso [union()], [par_merge()], [par_sort()]
#' @export
#' @examples
#' x <- c(1, 1, 2, 3, 3, 3)
#' y <- c(1, 2, 2, 3, 3)
#' par_set(x, y, "union")
#' par_set(x, y, "intersect")
#' par_set(x, y, "setdiff")
#' par_set(x, y, "symdiff", multiset = FALSE)
par_set <- function(x, y, op = c("union", "intersect", "setdiff", "symdiff"), multiset = TRUE, check = TRUE) {
  known <- c("union", "intersect", "setdiff", "symdiff")
  op <- if (missing(op)) "union" else one_of(op, known, "op")
  check_flag(multiset, "multiset")
  keys <- sorted_keys(x, y, "x", "y", check)
  found <- r_set(keys$x, keys$y, match(op, known) - 1L, multiset, array_threads())
  if (is.null(keys$places)) as_class_of(x, found) else keys$places[found]
}

# --- the order that verbs need -----------------------------------------------------------------------------------

check_key_vector <- function(x, argument) {
  if (is_table(x)) abort("input", "`", argument, "` must be a vector, not ", describe(x))
  check_key(x, paste0("`", argument, "`"))
}

# Returns comparable numbers of two sorted vectors.
sorted_keys <- function(x, y, x_name, y_name, check) {
  check_key_vector(x, x_name)
  check_key_vector(y, y_name)
  keys <- shared_keys(x, y, paste0("`", x_name, "`"), paste0("`", y_name, "`"))
  check_flag(check, "check")
  if (check) {
    refuse_unsorted(keys$x, x_name)
    refuse_unsorted(keys$y, y_name)
  }
  keys
}

refuse_unsorted <- function(key, argument) {
  at <- r_first_unsorted(key, array_threads())
  if (at == 0) return(invisible())
  abort("value", "`", argument, "` must be sorted, as par_sort() sorts: of ", number_text(length(key)),
        " items, number ", number_text(at), " belongs before the one before it")
}

as_class_of <- function(x, items) {
  kept <- attributes(x)
  kept <- kept[setdiff(names(kept), c("names", "dim", "dimnames", "tsp"))]
  if (length(kept)) attributes(items) <- kept
  items
}
