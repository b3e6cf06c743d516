# Verbs for two sorted vectors: merge, search, sets. What they check, and what becomes of classes.

#' Merge two sorted vectors
#'
#' `par_merge(x, y)` is the sorted vector of all items of both, those of `x` before equal ones of `y`.
#'
#' ```
#' x                    1      3  3
#' y                       2         3
#' par_merge(x, y)      1  2  3  3  3
#' ```
#'
#' Both are cut into pieces of as many items each, by a search, and the pieces are merged on all threads.
#'
#' @param x,y vectors of one kind, sorted as [par_sort()] sorts them: NA and NaN come last, characters go by their bytes
#' @param values what goes with the items: a list of two, as long as `x` and `y`, each a vector or a data frame
#' @param check shall it be looked at whether `x` and `y` are sorted? Takes a small part of the time, and none where R
#'   knows it, as of what [sort()] gives
#' @return The merged vector, with the class of `x` and without names; with `values` a list of these, `keys`, and the
#'   values in their order.
#' @seealso [par_sort()], [par_set()], [par_search()]
#' @export
#' @examples
#' par_merge(c(1, 3, 3), c(2, 3))
#' par_merge(c(1, 3, 3), c(2, 3), values = list(c("x1", "x2", "x3"), c("y1", "y2")))
par_merge <- function(x, y, values = NULL, check = TRUE) {
  given(list(x, y), environment())
  keys <- sorted_keys(x, y, "x", "y", check)
  if (both_there(x, y)) return(merged_there(x, y, values))
  if (is.null(values) && is.null(keys$places)) return(as_class_of(x, r_merge(keys$x, keys$y, FALSE, array_threads())))
  rows <- r_merge(keys$x, keys$y, TRUE, array_threads())
  merged <- if (is.null(keys$places)) as_class_of(x, one_behind_other(keys)[rows]) else c(x, y)[rows]
  merged <- unname(merged)
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
#' `par_search(needles, haystack)` tells for each needle how many items of the haystack come before it: the items that
#' are less, or, from the upper side, not greater.
#'
#' ```
#' haystack             0   5   5   7  12  14  16  16
#' places             0   1   2   3   4   5   6   7   8
#' lower                  3,3          12      16             -> 1 1 4 6
#' upper                  3,3              12          16     -> 1 1 5 8
#' ```
#'
#' These are the numbers of [findInterval()], of `left.open = TRUE` for the lower side. Sorted needles are found in one
#' way through both vectors, others one by one; a haystack much longer than the needles is searched for each. A missing
#' needle is nowhere: NA.
#'
#' @param needles what is looked for
#' @param haystack a sorted vector without missing values, of the same kind
#' @param side `"lower"`: before all items equal to a needle; `"upper"`: behind them
#' @param match shall more be told of both vectors? Then `needles` must be sorted
#' @param check shall it be looked at whether `haystack` is sorted, and `needles` where they must be? Otherwise needles
#'   are taken to be sorted
#' @return Whole numbers from 0 to `length(haystack)`; with `match` a list of them, `at`; `matched`, whether the
#'   haystack has the needle; and, from the other side, `haystack_at` and `haystack_matched`: where its items would
#'   stand among the needles, and whether they are there.
#' @seealso [findInterval()], [par_join()]
#' @export
#' @examples
#' haystack <- c(0, 5, 5, 7, 12, 14, 16, 16)
#' par_search(c(3, 3, 12, 16), haystack)
#' par_search(c(3, 3, 12, 16), haystack, side = "upper")
#' par_search(c(3, 3, 12, 16), haystack, match = TRUE)
par_search <- function(needles, haystack, side = "lower", match = FALSE, check = TRUE) {
  given(list(needles, haystack), environment())
  upper <- one_of(side, c("lower", "upper"), "side") == "upper"
  check_flag(match, "match")
  check_flag(check, "check")
  keys <- searched_keys(needles, haystack)
  if (check) refuse_unsorted(keys$y, "haystack")
  n <- length(keys$y)
  there <- both_there(keys$x, keys$y)
  missing <- if (there) r_ends_missing_there(keys$y) else n > 0 && is.na(keys$y[n])
  if (missing) abort("value", "`haystack` has missing values: number ", number_text(n), " is the last")
  if (match) {
    if (check) refuse_unsorted(keys$x, "needles")
    if (there) return(r_search_both_there(keys$x, keys$y, upper))
    return(r_search_both(keys$x, keys$y, upper, array_threads()))
  }
  if (there) {
    sorted <- !check || r_first_unsorted_there(keys$x, FALSE) == 0
    return(r_search_there(keys$x, keys$y, upper, sorted && length(keys$x) * 16 > n))
  }
  many <- length(keys$x) * 16 > n
  through <- many && (!check || r_first_unsorted(keys$x, array_threads()) == 0)
  r_search(keys$x, keys$y, upper, through, array_threads())
}

searched_keys <- function(needles, haystack) {
  check_key_vector(needles, "needles")
  check_key_vector(haystack, "haystack")
  if (both_there(needles, haystack)) return(list(x = needles, y = haystack))
  shared_keys(wherever(needles), wherever(haystack), "`needles`", "`haystack`")
}

#' Sets and multisets of sorted vectors
#'
#' A key that is `a` times in `x` and `b` times in `y` is as often in the result as the operation says.
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
#' sorted. NA and NaN are two keys and come last, NA first.
#'
#' @inheritParams par_merge
#' @param op which operation
#' @param multiset do equal items count as often as they are there?
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
  given(list(x, y), environment())
  known <- c("union", "intersect", "setdiff", "symdiff")
  op <- if (missing(op)) "union" else one_of(op, known, "op")
  check_flag(multiset, "multiset")
  keys <- sorted_keys(x, y, "x", "y", check)
  found <- if (both_there(x, y)) r_set_there(x, y, match(op, known) - 1L, multiset)
  if (!is.null(found)) return(found)
  found <- r_set(keys$x, keys$y, match(op, known) - 1L, multiset, array_threads())
  if (is.null(keys$places)) as_class_of(x, found) else keys$places[found]
}

# --- what is sorted ----------------------------------------------------------------------------------------------

check_key_vector <- function(x, argument) {
  if (is_table(x)) abort("input", "`", argument, "` must be a vector, not ", describe(x))
  check_key(x, paste0("`", argument, "`"))
}

# Comparable numbers of two sorted vectors.
sorted_keys <- function(x, y, x_name, y_name, check) {
  check_key_vector(x, x_name)
  check_key_vector(y, y_name)
  keys <- if (both_there(x, y)) list(x = x, y = y)
  else shared_keys(wherever(x), wherever(y), paste0("`", x_name, "`"), paste0("`", y_name, "`"))
  check_flag(check, "check")
  if (check) {
    refuse_unsorted(keys$x, x_name)
    refuse_unsorted(keys$y, y_name)
  }
  keys
}

refuse_unsorted <- function(key, argument) {
  at <- if (plain_there(key)) r_first_unsorted_there(key, FALSE) else r_first_unsorted(key, array_threads())
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
