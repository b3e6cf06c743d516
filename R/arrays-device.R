# Verbs for arrays whose numbers lie on a GPU: what each asks of the engine there. `_there` is on the GPU of the array.

# A plan's numbers on the GPU, where they are kept.
plan_there <- function(segments, like) {
  kept <- unclass(segments)$kept
  if (is.null(kept$there)) {
    send <- function(x) if (is.null(x) || r_lies_there(x)) x else r_send_there(x, like)
    kept$there <- list(offsets = send(unclass(segments)$offsets), order = send(segment_order(segments)))
  }
  kept$there
}

# One number comes to R, those of segments stay.
reduced_there <- function(values, columns, op, segments, na.rm, init) {
  plan <- plan_there(segments %or% one_segment(length(values)), values)
  r_reduce_there(values, columns, op, plan$offsets, plan$order, na.rm, init, !is.null(segments))
}

# NULL where an integer was too large: what comes after it is known to the CPU.
scanned_there <- function(values, columns, op, segments, exclusive, init, type) {
  plan <- plan_there(segments %or% one_segment(length(values)), values)
  found <- r_scan_there(values, columns, op, plan$offsets, plan$order, exclusive, init, type)
  if (found$overflow) NULL else found
}

segments_by_there <- function(by) {
  found <- r_group_there(by)
  new_segments(found$offsets, found$codes, r_take_there(by, found$heads), found$order)
}

# --- moves -------------------------------------------------------------------------------------------------------

# Places in their order, each once.
rising_there <- function(at, n) {
  if (!plain_there(at)) return(if (is.unsorted(at, strictly = TRUE)) rising_places(at, n) else at)
  if (r_first_unsorted_there(at, TRUE) == 0) at else r_rising_there(at, n)
}

inserted_there <- function(x, values, after) {
  sorted <- if (plain_there(after)) r_first_unsorted_there(after, FALSE) == 0 else !is.unsorted(after)
  if (sorted) return(r_insert_there(x, values, after))
  if (!plain_there(after)) after <- r_send_there(after, x)
  if (!plain_there(values)) values <- r_send_there(values, x)
  order <- r_order_there(list(after), FALSE, NULL)
  r_insert_there(x, r_take_there(values, order), r_take_there(after, order))
}

transferred_there <- function(x, intervals, offsets, into, check) {
  if (!is.null(intervals$to)) into <- check_target(into, x, intervals, check)
  r_move_there(x, intervals$from, intervals$to, offsets, offsets[length(offsets)], into)
}

# --- orders ------------------------------------------------------------------------------------------------------

order_there <- function(columns, segments, decreasing) {
  if (is.null(segments)) return(r_order_there(columns, decreasing, NULL))
  plan <- plan_there(check_segments_of(segments, length(columns[[1]]), "x"), columns[[1]])
  if (is.null(plan$order)) return(r_order_there(columns, decreasing, plan$offsets))
  order <- r_order_there(lapply(columns, r_take_there, plan$order), decreasing, plan$offsets)
  r_take_there(plan$order, order)
}

# Numbers are sorted without their order, unless NaN or -0 are among them.
sorted_there <- function(x, segments = NULL, decreasing = FALSE, nearly = NULL) {
  found <- if (is.null(segments)) r_sort_there(x, check_decreasing(decreasing, 1L))
  found %or% r_take_there(x, par_order(x, segments, decreasing, nearly))
}

merged_there <- function(x, y, values) {
  keys <- r_merge_there(x, y, FALSE)
  if (is.null(values)) return(keys)
  list(keys = keys, values = take_rows(both_values(values, x, y), r_merge_there(x, y, TRUE)))
}

# --- index_add() -------------------------------------------------------------------------------------------------

# Of a plan alone, the order of its index is kept.
added_there <- function(x, index, source, extents, alpha, op, include, plan, type) {
  kept <- if (!is.null(plan)) unclass(plan)$kept
  if (is.null(kept$index)) index <- index_there(index, extents[2], x) else index <- kept$index
  sorted <- kept$sorted
  if (!is.null(kept) && is.null(sorted)) {
    kept$index <- index
    kept$sorted <- sorted <- r_sort_index_there(index, extents[2])
  }
  if (typeof(x) != type) x <- r_dress(r_as_doubles_there(x, x), as.list(attributes(x)))
  terms <- source$values
  if (typeof(terms) == "logical") storage.mode(terms) <- "integer"
  if (typeof(terms) != type) terms <- r_as_doubles_there(terms, x)
  r_index_add_there(x, FALSE, index, terms, extents, source$steps, alpha, op, include, sorted)
}

# An index as integers, each the number of a slice.
index_there <- function(index, extent, like) {
  there <- plain_there(index)
  at <- if (there) r_first_not_whole_there(index, 1, extent) else r_first_not_whole(index, 1, extent)$at
  if (at > 0) {
    abort("index", "`index` must be whole numbers of at least 1 and at most ", number_text(extent),
          ", the extent of `x`; number ", number_text(at), " of ", number_text(length(index)), " is ",
          format(index[[at]], digits = 15))
  }
  if (!there) r_send_there(as.integer(index), like)
  else if (is.double(index)) r_as_integers_there(index)$values
  else index
}
