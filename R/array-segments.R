# The plan of segments: which items belong together, in which order, under which name.
#   offsets  the number of items before each segment, then the number of all items: length(segments) + 1 numbers
#   codes    the segment number of each item; NULL if items are ordered by segment
#   labels   the label of each segment: names, or values of `by`; NULL for none
#   kept     an environment for results that are computed once: `order`, item numbers ordered by segment

new_segments <- function(offsets, codes = NULL, labels = NULL, order = NULL) {
  kept <- new.env(parent = emptyenv())
  kept$order <- order
  structure(list(offsets = offsets, codes = codes, labels = labels, kept = kept), class = "kernweave_segments")
}

# Lists the items segment after segment, ascending within each; NULL if items are in this order already. The list is on
# the GPU if `like` is, else in R's memory.
segment_order <- function(segments, like = NULL) r_segment_order(segments, like, array_threads())

#' Segments of an array
#'
#' Describes which items of an array belong together, for [par_reduce()] and [par_scan()]. The segments are found once,
#' and can then be used to reduce many arrays.
#'
#' ```
#' items                        1   2 | 3   4   5   6        and an empty segment between
#' par_segments(lengths = )     2       0   4
#' par_segments(offsets = )     0       2   2              6
#' par_segments(heads = )       1       3   3                        with n = 6
#' par_segments(by = )          b   a   b   a   a   b        -> a: 2 4 5, b: 1 3 6
#' ```
#'
#' Give one of `lengths`, `offsets`, `heads` and `by`. With `by`, groups are sorted as by [rowsum()]: numbers by size,
#' factors by their levels, strings by their bytes, as [sort()] does with `method = "radix"`. Missing values form a
#' separate group, the last one. Items of a group keep their order, and levels without items are dropped.
#'
#' The name differs from [graphics::segments()], which draws lines.
#'
#' @param lengths number of items of each segment, 0 for an empty segment. Names become labels
#' @param offsets number of items before each segment, followed by the number of all items. `offsets` starts with 0 and
#'   has one number more than there are segments, like the slot `p` of a sparse matrix
#' @param heads position of the first item of each segment, starting with 1, together with `n`; or a logical vector that
#'   is `TRUE` where a segment begins
#' @param by a vector or factor with the group of each item
#' @param n number of all items, if `heads` are numbers
#' @param x,object an object made by `par_segments()`
#' @param use.names use labels as names?
#' @param ... not used
#' @return An object of class `kernweave_segments`; `length()` gives the number of segments, `lengths()` their lengths,
#'   `names()` their labels.
#' @seealso [par_reduce()], [par_scan()]
#' @concept group by
#' @concept ragged array
#' @export
#' @examples
#' s <- par_segments(lengths = c(2, 0, 4))
#' s
#' lengths(s)
#' par_segments(by = c("b", "a", "b", NA, "a"))
par_segments <- function(lengths, offsets, heads, by, n = NULL) {
  given <- c(lengths = !missing(lengths), offsets = !missing(offsets), heads = !missing(heads), by = !missing(by))
  if (sum(given) != 1) {
    abort("input", "one of `lengths`, `offsets`, `heads` and `by` must be given, not ",
          if (any(given)) paste0("`", names(given)[given], "`", collapse = " and ") else "none")
  }
  if (!is.null(n) && !given[["heads"]]) abort("input", "`n` goes with `heads`, not with `", names(given)[given], "`")
  if (given[["lengths"]]) {
    offsets <- r_offsets(check_whole(lengths, "lengths"), array_threads())$offsets
    new_segments(offsets, labels = names(lengths))
  } else if (given[["offsets"]]) {
    offsets <- check_whole(offsets, "offsets")
    if (!length(offsets) || offsets[1] != 0) {
      abort("value", "`offsets` must begin with 0, not ", if (length(offsets)) format_value(offsets[1]) else "be empty")
    }
    check_ascending(offsets, "offsets")
    new_segments(as_count(offsets))
  } else if (given[["heads"]]) segments_of_heads(heads, n)
  else segments_by(by)
}

segments_of_heads <- function(heads, n) {
  if (is.logical(heads)) {
    if (anyNA(heads)) abort("value", "`heads` has missing values; number ", which(is.na(heads))[1], " is the first")
    if (!is.null(n) && check_size(n, "n") != length(heads)) {
      abort("shape", "`n` is ", format_value(n), ", and `heads` has ", length(heads), " flags")
    }
    n <- length(heads)
    heads <- which(heads)
  } else {
    if (is.null(n)) abort("input", "`heads` as numbers needs `n`, how many items there are")
    n <- check_size(n, "n")
    heads <- check_whole(heads, "heads", least = 1, most = n + 1)
    check_ascending(heads, "heads")
  }
  if (n > 0 && (!length(heads) || heads[1] != 1)) {
    abort("value", "`heads`: the first segment must begin with item 1, not ",
          if (length(heads)) paste("with item", heads[1]) else "nowhere")
  }
  new_segments(as_count(c(heads - 1, n)))
}

check_ascending <- function(x, argument) {
  if (!is.unsorted(x)) return(invisible())
  at <- which(diff(x) < 0)[1]
  abort("value", "`", argument, "` must ascend; number ", at + 1, " is ", format_value(x[at + 1]), " behind ",
        format_value(x[at]))
}

segments_by <- function(by) {
  if (is.data.frame(by) || is.list(by) || !is.atomic(by) || length(dim(by)) > 1 || is.complex(by) || is.null(by)) {
    abort("input", "`by` must be a vector or a factor, not ", describe(by))
  }
  texts <- if (is.character(by)) sort(unique(by), method = "radix")
  numbers <- if (is.null(texts)) check_key(by, "`by`") else match(by, texts)
  if (!inherits(by, "integer64")) numbers <- as.vector(unclass(numbers))
  found <- r_group(numbers, array_threads())
  keys <- found$keys %or% r_take(numbers, found$heads)
  labels <- if (is.null(texts)) if (is.factor(by)) levels(by)[keys] else keys else texts[keys]
  new_segments(found$offsets, found$codes, labels_like(labels, by), found$order)
}

# Gives labels the class of `by`; drops names.
labels_like <- function(labels, by) {
  labels <- unname(if (is.logical(by)) as.logical(labels) else labels)
  if (!is.object(by) || is.factor(by) || is.object(labels)) return(labels)
  storage.mode(labels) <- typeof(by)
  attributes(labels) <- attributes(by)[c("class", "tzone", "units")]
  labels
}

#' @rdname par_segments
#' @exportS3Method length kernweave_segments
length.kernweave_segments <- function(x) length(unclass(x)$offsets) - 1L

#' @rdname par_segments
#' @method lengths kernweave_segments
#' @exportS3Method lengths kernweave_segments
lengths.kernweave_segments <- function(x, use.names = TRUE) {
  out <- diff(unclass(x)$offsets)
  if (use.names && !is.null(names(x))) stats::setNames(out, names(x)) else out
}

#' @rdname par_segments
#' @exportS3Method names kernweave_segments
names.kernweave_segments <- function(x) {
  labels <- unclass(x)$labels
  if (is.null(labels)) NULL else as.character(labels)
}

#' @rdname par_segments
#' @export
print.kernweave_segments <- function(x, ...) {
  cat(sprintf("<%s of %s%s>\n", count_text(length(x), "segment"), count_text(items_in(x), "item"),
              if (is.null(unclass(x)$codes)) "" else ", by group"))
  first <- utils::head(lengths(x), 8)
  shown <- if (is.null(names(x))) paste(first, collapse = " ") else toString(paste0(names(first), ": ", first))
  if (length(x)) cat("lengths: ", shown, if (length(x) > 8) ", ...", "\n", sep = "")
  invisible(x)
}

#' @rdname par_segments
#' @export
str.kernweave_segments <- function(object, ...) print(object)

#' @rdname par_segments
#' @export
summary.kernweave_segments <- function(object, ...) {
  sizes <- lengths(object)
  out <- c(segments = length(sizes), items = items_in(object), empty = sum(sizes == 0), shortest = NA, median = NA,
           longest = NA)
  if (length(sizes)) out[c("shortest", "median", "longest")] <- c(min(sizes), stats::median(sizes), max(sizes))
  out
}

#' @rdname par_segments
#' @param row.names,optional not used
#' @export
as.data.frame.kernweave_segments <- function(x, row.names = NULL, optional = FALSE, ...) {
  out <- data.frame(items = lengths(x, use.names = FALSE))
  labels <- unclass(x)$labels
  if (is.null(labels)) out else cbind(data.frame(group = labels), out)
}

# Refuses to take parts out of a plan: the elements of its list are internal.
whole_plan <- function(operation) {
  abort("index", operation, " of a plan of segments is not defined: lengths() and names() look at it, as.data.frame() ",
        "lists its segments, par_segments() makes another")
}

#' @export
`[.kernweave_segments` <- function(x, ...) whole_plan("`[`")

#' @export
`[[.kernweave_segments` <- function(x, ...) whole_plan("`[[`")

#' @export
`$.kernweave_segments` <- function(x, name) whole_plan("`$`")

#' @export
c.kernweave_segments <- function(...) whole_plan("c()")

items_in <- function(segments) {
  offsets <- unclass(segments)$offsets
  offsets[length(offsets)]
}

# Refuses an object that is not a plan, and a plan whose number of items differs from the number of `argument`.
check_segments_of <- function(segments, n, argument) {
  if (!inherits(segments, "kernweave_segments")) {
    abort("input", "`segments` must be a plan by par_segments(), not ", describe(segments))
  }
  if (items_in(segments) != n) {
    abort("shape", "`segments` are of ", items_in(segments), " items, and `", argument, "` has ", n)
  }
  segments
}
