# The positions in an array of the elements that a place reads.

# Returns the places of the elements in the array, for all points of the axes: the sum of the offsets of each axis,
# added axis by axis, and of the offsets of row numbers along several axes.
positions_of <- function(place, order, size) {
  step <- c(1, cumprod(place$dim))
  whole <- if (prod(place$dim) * (2 + length(order)) <= .Machine$integer.max) as.integer else as.numeric
  several <- vapply(place$specs, function(spec) spec$kind == "gather" && length(spec$by$axes) != 1, NA)
  fixed <- vapply(place$specs, function(spec) switch(spec$kind, number = spec$value, window = spec$plus, 0) + 0, 0)
  at <- whole(1 + sum((fixed - 1) * step[seq_along(place$dim)]))
  for (k in seq_along(order)) {
    own <- whole(steps_along(place, order[[k]], size[k], step, !several))
    at <- rep(at, length(own)) + rep(own, each = length(at))
  }
  for (k in which(several)) {
    rows <- row_numbers_of(place, k)[positions_of(place$specs[[k]]$by, order, size)]
    at <- at + whole(step[k]) * whole(rows)
  }
  at
}

# Returns the offsets of the points of one axis, or component, in the array, in the dimensions that are `wanted`.
steps_along <- function(place, axis, n, step, wanted) {
  found <- numeric(n)
  for (k in which(wanted)) {
    spec <- place$specs[[k]]
    rows <- switch(spec$kind,
      component = if (identical(axis, k)) seq_len(n), axis = if (identical(spec$axes, axis)) seq_len(n),
      window = sum(spec$by[spec$axes == axis]) * seq_len(n),
      gather = if (identical(spec$by$axes, axis)) row_numbers_of(place, k)[positions_of(spec$by, list(axis), n)])
    if (!is.null(rows)) found <- found + step[k] * rows
  }
  found
}

row_numbers_of <- function(place, k) {
  by <- place$specs[[k]]$by
  rows <- plain_value(by$x)
  if (anyNA(rows)) abort("value", "`", by$name, "` has NA: row numbers of `", place$name, "` are whole numbers")
  if (any(rows != round(rows))) {
    abort("index", "`", by$name, "` has ", format(rows[rows != round(rows)][1]), ": row numbers of `", place$name,
          "` are whole numbers")
  }
  if (length(rows) && (min(rows) < 1 || max(rows) > place$dim[k])) {
    abort("index", "`", by$name, "` has row numbers from ", min(rows), " to ", max(rows), ", but `", place$name,
          "` has ", place$dim[k], " in dimension ", k, if (min(rows) < 1) "; they count from 1")
  }
  rows
}

# Returns the index along dimension k of each element of an array with extents `size`.
along_dimension <- function(k, size) {
  before <- prod(size[seq_len(k - 1)])
  rep(rep(seq_len(size[k]), each = before), length.out = prod(size))
}
