# Verbs that move items: par_remove(), par_insert(), par_expand(), par_move().

# Applies `move(x, places)`, which calls the engine, to a vector. The bytes of plain items are moved (`places` is
# FALSE). A vector of other items is subscripted by the places that `move` returns.
moved <- function(x, move) {
  if (!has_plain_items(x)) return(x[move(x, TRUE)])
  out <- move(x, FALSE)
  if (!is.null(names(x))) out <- r_dress(out, list(names = names(x)[move(x, TRUE)]))
  like_items(out, x)
}

item_bytes <- function(x) switch(typeof(x), raw = 1, logical = , integer = 4, complex = 16, 8)

plain_classes <- c("factor", "Date", "POSIXct", "difftime", "integer64")
has_plain_items <- function(x) {
  (is.numeric(x) || is.factor(x) || is.logical(x) || is.complex(x) || is.raw(x) || inherits(x, plain_classes)) &&
    (!is.object(x) || inherits(x, plain_classes)) && !is.list(x)
}

# Gives `out` the class and the other attributes of `x`; names stay.
like_items <- function(out, x) {
  if (!is.object(x)) return(out)
  marks <- attributes(x)
  marks[c("names", "dim", "dimnames")] <- NULL
  attributes(out) <- c(attributes(out), marks)
  out
}

check_movable <- function(x, argument) {
  if (is_traced(x)) abort("no_gradient", "array functions have no derivative: `", argument, "` is ", describe(x))
  if (is.data.frame(x) || is_lazy(x) || is_op(x) || !(is.atomic(x) || is.list(x)) || is.null(x)) {
    abort("input", "`", argument, "` must be a vector, not ", describe(x),
          if (is.data.frame(x)) "; move the numbers of its rows")
  }
}

#' Remove items of a vector
#'
#' Returns `x` without the items at the given positions, computed in parallel. Use it in place of `x[-at]` for long
#' vectors.
#'
#' ```
#' x                  a b c d e f g h i j
#' at                   x   x x x   x x             2 4 5 6 8 9
#' par_remove(x, at)  a   c       g     j
#' ```
#'
#' @param x a vector: of numbers, strings, dates, factors, or a list
#' @param at positions of the items to remove, in any order and with repeats; or a logical vector as long as `x`, `TRUE`
#'   for the items to remove. `integer()` removes nothing, whereas `x[-integer()]` is empty
#' @return `x[-at]`, with the names and the class of `x`.
#' @seealso [par_insert()], [par_expand()], [par_move()]
#' @export
#' @examples
#' par_remove(letters[1:10], c(2, 4, 5, 6, 8, 9))
#' par_remove(c(a = 1, b = 2, c = 3), c(FALSE, TRUE, FALSE))
#' par_remove(1:3, integer())
par_remove <- function(x, at) {
  check_movable(x, "x")
  if (is.logical(at)) {
    if (length(at) != length(x)) {
      abort("shape", "`at` has ", count_text(length(at), "flag"), ", and `x` has ", count_text(length(x), "item"))
    }
    if (anyNA(at)) abort("value", "`at` has missing values; number ", which(is.na(at))[1], " is the first")
    at <- which(at)
  }
  at <- check_whole(at, "at", least = 1, most = length(x), class = "index")
  moved(x, function(x, places) r_remove(x, at, places, array_threads()))
}

#' Insert items into a vector
#'
#' Returns `x` with values inserted between its items, computed in parallel: [append()] at many positions at once.
#'
#' ```
#' x                              a   b   c   d   e
#' after                            1 1 2   3 3              positions in `x`, 0 for the front
#' par_insert(x, values, after)   a A B b C c D E d e
#' ```
#'
#' Values inserted at the same position keep their order. Both vectors are converted to a common type as by [c()].
#' Factors must have the same levels; other vectors with a class must have the same class.
#'
#' @param x a vector
#' @param values the values to insert
#' @param after position in `x`, from 0 to `length(x)`, after which each value is inserted; or one position for all
#'   values
#' @return A vector of `length(x) + length(values)` items, with names if `x` or `values` has names.
#' @seealso [par_remove()]; [par_merge()] for vectors that are sorted
#' @export
#' @examples
#' par_insert(letters[1:5], LETTERS[1:5], c(1, 1, 2, 3, 3))
#' par_insert(c(1, 2, 3), c(0, 9), c(0, 3))
#' par_insert(1:3, 10:12, after = 1)
par_insert <- function(x, values, after = length(x)) {
  check_movable(x, "x")
  check_movable(values, "values")
  after <- check_whole(after, "after", most = length(x), class = "index")
  if (length(after) == 1) after <- rep.int(after, length(values))
  if (length(after) != length(values)) {
    abort("shape", "`after` has ", count_text(length(after), "place"), ", and `values` has ",
          count_text(length(values), "item"))
  }
  check_same_class(x, values)
  places <- function() r_insert(x, as_count(length(x) + seq_along(values)), after, TRUE, array_threads())
  if (!has_plain_items(x) || !has_plain_items(values)) return(c(x, values)[places()])
  type <- typeof(c(unclass(x)[0], unclass(values)[0]))
  out <- r_insert(as_type(x, type), as_type(values, type), after, FALSE, array_threads())
  if (!is.null(names(x)) || !is.null(names(values))) {
    out <- r_dress(out, list(names = c(names_or_none(x), names_or_none(values))[places()]))
  }
  like_items(out, x)
}

as_type <- function(x, type) {
  x <- unclass(x)
  if (typeof(x) != type) storage.mode(x) <- type
  x
}
names_or_none <- function(x) names(x) %or% character(length(x))

# Refuses items of two classes, which cannot go into one vector.
check_same_class <- function(x, values, labels = c("`x`", "`values`")) {
  differ <- if (is.object(x) || is.object(values)) !identical(oldClass(x), oldClass(values))
            else is.raw(x) != is.raw(values) && !is.list(x) && !is.list(values)
  if (differ) {
    abort("input", labels[1], " is ", describe(x), ", and ", labels[2], " is ", describe(values),
          "; make them of one class first")
  }
  if (is.factor(x) && !identical(levels(x), levels(values))) {
    abort("input", labels[1], " and ", labels[2], " are factors of ", nlevels(x), " and ", nlevels(values),
          " levels that differ")
  }
  if (inherits(x, "difftime") && !identical(attr(x, "units"), attr(values, "units"))) {
    abort("input", labels[1], " is in ", attr(x, "units"), ", and ", labels[2], " in ", attr(values, "units"))
  }
}

#' Repeat the items of a vector
#'
#' Repeats each item of `x` as often as its count says, in parallel, as `rep(x, counts)` does. Without `x`, each count
#' stands for an object. The result then gives, for each of the `sum(counts)` copies, the number of the object and the
#' rank of the copy within the object, for example to distribute work.
#'
#' ```
#' counts                2     0   3
#' x                     a     b   c
#' par_expand(x, counts)       a a c c c
#' par_expand(counts = ) object  1 1 3 3 3
#'                       rank    1 2 1 2 3
#' ```
#'
#' @param x a vector; if missing, the result is a list of objects and ranks
#' @param counts number of repeats of each item: one whole number per item of `x`
#' @return `rep(x, times = counts)`, with the names and the class of `x`. Without `x`, a list of two vectors: `object`,
#'   `rep(seq_along(counts), counts)`, and `rank`, `sequence(counts)`.
#' @seealso [par_move()], [par_segments()]; [rep()], [sequence()]
#' @export
#' @examples
#' par_expand(c("a", "b", "c"), c(2, 0, 3))
#' par_expand(counts = c(2, 0, 3))
#' # all pairs of a friend and one of its friends
#' friends <- list(ann = c("bob", "eve"), bob = "ann", eve = character())
#' data.frame(of = par_expand(names(friends), lengths(friends)),
#'            is = unlist(friends, use.names = FALSE))
par_expand <- function(x, counts) {
  counts <- check_whole(counts, "counts")
  ends <- r_offsets(counts, array_threads())
  if (missing(x)) {
    check_room_for(ends$total, 2 * item_bytes(as_count(ends$total)), "`counts` add up to")
    return(r_walk(ends$offsets, ends$total, array_threads()))
  }
  check_movable(x, "x")
  if (length(counts) != length(x)) {
    abort("shape", "`counts` has ", count_text(length(counts), "number"), ", and `x` has ",
          count_text(length(x), "item"))
  }
  check_room_for(ends$total, item_bytes(x), "`counts` add up to")
  moved(x, function(x, places) r_expand(x, ends$offsets, ends$total, places, array_threads()))
}

#' Copy intervals of a vector
#'
#' Copies many intervals of a vector at once, in parallel. The intervals are gathered one after the other, scattered to
#' given positions, or both.
#'
#' ```
#' x        a b c d e f g          from 5 1, counts 2 3
#' no `to`    gather   e f a b c                     one interval after the other
#' no `from`  scatter  intervals of `x` in order, to the positions `to`
#' both       into     . e f . a b c .               to 2 5
#' ```
#'
#' @param x a vector
#' @param from position in `x` of the first item of each interval; `NULL`: the intervals follow each other in `x`
#' @param to position in the result of the first item of each interval; `NULL`: the intervals follow each other
#' @param counts number of items of each interval, or one number for all intervals
#' @param into a vector like `x` to copy into; `NULL` makes a vector with missing values where nothing is copied
#' @param check make it an error if intervals overlap in the result? The test sorts `to`. With `FALSE` you must make
#'   sure that they do not overlap
#' @return The vector `into`, changed as by `into[sequence(counts, to)] <- x[sequence(counts, from)]`.
#' @seealso [par_expand()], [par_remove()]
#' @concept gather and scatter
#' @export
#' @examples
#' par_move(letters[1:7], from = c(5, 1), counts = c(2, 3))
#' par_move(1:5, to = c(7, 1), counts = c(2, 3))
#' par_move(letters[1:7], from = c(5, 1), to = c(2, 5), counts = c(2, 3), into = rep(".", 8))
par_move <- function(x, from = NULL, to = NULL, counts, into = NULL, check = TRUE) {
  check_movable(x, "x")
  check_flag(check, "check")
  intervals <- check_intervals(from, to, counts, length(x))
  ends <- r_offsets(intervals$counts, array_threads())
  if (is.null(from) && ends$total != length(x)) {
    abort("shape", "`counts` add up to ", number_text(ends$total), ", and `x` has ",
          count_text(length(x), "item"))
  }
  if (is.null(to)) check_room_for(ends$total, item_bytes(x), "`counts` add up to")
  gather <- function(x, from, to, into, places, made = FALSE) {
    r_move(x, from, to, ends$offsets, ends$total, into, made, places, array_threads())
  }
  if (is.null(into) && is.null(to)) return(moved(x, function(x, places) gather(x, intervals$from, NULL, NULL, places)))
  made <- is.null(into)
  if (made) into <- empty_target(x, intervals)
  check_movable(into, "into")
  check_same_class(x, into, c("`x`", "`into`"))
  check_reach(intervals$to, intervals$counts, "to", length(into), "into")
  if (check) check_apart(intervals)
  if (has_plain_items(x) && has_plain_items(into) && typeof(x) == typeof(into)) {
    return(gather(x, intervals$from, intervals$to, into, FALSE, made))
  }
  into[gather(into, intervals$to, NULL, NULL, TRUE)] <- wherever(x)[gather(x, intervals$from, NULL, NULL, TRUE)]
  into
}

check_intervals <- function(from, to, counts, n) {
  if (is.null(from) && is.null(to)) abort("input", "`from` or `to` must be given, or both")
  if (!is.null(from)) from <- check_whole(from, "from", least = 1, class = "index")
  if (!is.null(to)) to <- check_whole(to, "to", least = 1, class = "index")
  counts <- check_whole(counts, "counts")
  sizes <- c(from = length(from), to = length(to))[c(!is.null(from), !is.null(to))]
  if (length(counts) == 1) counts <- rep.int(counts, sizes[1])
  if (!all(sizes == length(counts))) {
    abort("shape", paste0("`", names(sizes), "` has ", sizes, collapse = ", "), ", and `counts` ", length(counts),
          " numbers; there must be as many of each")
  }
  if (!is.null(from)) check_reach(from, counts, "from", n, "x")
  list(from = from, to = to, counts = counts)
}

# Refuses stretches that reach beyond their vector.
check_reach <- function(starts, counts, argument, n, vector) {
  ends <- as.double(starts) + counts - 1
  if (!any(counts > 0 & ends > n)) return(invisible())
  k <- which(counts > 0 & ends > n)[1]
  abort("index", "`", argument, "`: stretch ", k, " goes from ", number_text(starts[k]), " to ", number_text(ends[k]),
        ", and `", vector, "` has ", count_text(n, "item"))
}

# Refuses stretches that overlap.
check_apart <- function(intervals) {
  some <- which(intervals$counts > 0)
  to <- as.double(intervals$to[some])
  order <- if (is.unsorted(to)) par_order(to) else seq_along(to)
  before <- order[-length(order)]
  over <- which(to[before] + intervals$counts[some][before] > to[order[-1]])
  if (!length(over)) return(invisible())
  pair <- some[order[over[1] + 0:1]]
  abort("value", "`to`: stretches ", pair[1], " and ", pair[2], " would both be written to place ",
        number_text(intervals$to[pair[2]]))
}

# Makes a vector of missing values that is as long as the stretches reach.
empty_target <- function(x, intervals) {
  some <- intervals$counts > 0
  n <- if (any(some)) max(as.double(intervals$to[some]) + intervals$counts[some] - 1) else 0
  check_room_for(n, item_bytes(x), "`to` reaches to")
  none <- unname(x[0])
  if (is.list(x) && !is.object(x)) vector("list", n)
  else if (is.raw(x)) raw(n)
  else none[rep_len(NA_integer_, n)]
}
