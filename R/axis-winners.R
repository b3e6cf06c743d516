# Gradients of minima and similar reductions over many axes. The engine finds winners along two axes
# (tape-grad-winners.R); here the tape reads every array at the winners, so the formula has kept axes only.

# `places`: the places of `operands`, in their order.
reduce_at_winners <- function(F, row, kept, extents, operands, places, K, ...) {
  if (width(F) > 1) return(of_each_component(F, row, kept, extents, K, ...))
  plain <- of_places(F, operands, lapply(places, function(place) replace(place, "x", list(plain_value(place$x)))))
  # The minimum is NaN if a value is NaN: such points win the search.
  search <- if (row$saves == "nan_or_winner") lazy_if(plain == plain, plain, -Inf * row$sign) else plain
  index <- reduce_named(search, places_only[[row$fn]], kept, K, NULL, TRUE, ..., known = extents)
  axes <- c(extents[kept], .winner = K %or% 1)
  winners <- winner_places(index, extents[setdiff(names(extents), kept)], axes)
  at <- of_places(F, operands, lapply(places, at_winner_places, winners, axes))
  value <- reduce_named(at, "sum", names(axes), NULL, NULL, TRUE, ..., path = FALSE, known = axes)
  value <- rearranged(value, function(x) if (is.null(dim(index))) as.vector(x) else array(x, dim(index)))
  # If there are fewer points than results, a result without a winner has no gradient.
  none <- is.na(index)
  if (any(none)) {
    without <- reduce_named(plain, values_only[[row$fn]], kept, K, NULL, TRUE, ..., known = extents)
    value <- overlay$ifelse(none, unname(without), value)
  }
  value <- with_names_of_axes(value, dimnames(index) %or% names(index))
  if (row$results == "value") value else list(value = value, index = index)
}

# The reductions that return positions alone, and the reductions that return values alone.
places_only <- c(min = "argmin", max = "argmax", min_argmin = "argmin", max_argmax = "argmax", Kmin = "argKmin",
                 Kmax = "argKmax", Kmin_argKmin = "argKmin", Kmax_argKmax = "argKmax")
values_only <- c(min = "min", max = "max", min_argmin = "min", max_argmax = "max", Kmin = "Kmin", Kmax = "Kmax",
                 Kmin_argKmin = "Kmin", Kmax_argKmax = "Kmax")

# Reduces each component, since each has its own winners. Components come after the kept axes, before K.
of_each_component <- function(F, row, kept, extents, K, ...) {
  found <- lapply(seq_len(width(F)), function(k) {
    reduce_named(F[, , k], row$fn, kept, K, NULL, TRUE, ..., known = extents)
  })
  beside <- function(parts) {
    size <- c(extents[kept], K)
    names <- dimnames(parts[[1]]) %or% if (length(kept) == 1 && is.null(K)) list(names(parts[[1]]))
    x <- rearranged(join(parts), function(x) {
      x <- array(x, unname(c(size, length(parts))))
      if (is.null(K)) x else aperm(x, c(seq_along(kept), length(size) + 1L, length(size)))
    })
    if (length(dim(x)) == 1) return(rearranged(x, as.vector))
    with_names_of_axes(x, if (length(names)) append(names, list(NULL), length(kept)))
  }
  if (row$results == "value") return(beside(found))
  lapply(list(value = "value", index = "index"), function(part) beside(lapply(found, `[[`, part)))
}

with_names_of_axes <- function(x, names) {
  if (is.null(names) || is.list(names) && all(vapply(names, is.null, NA))) return(x)
  rearranged(x, function(x) if (is.list(names)) `dimnames<-`(x, names) else structure(x, names = names))
}

# Returns, for each reduced axis, the index of the winner along it, as an array of the given axes.
winner_places <- function(index, folded, axes) {
  index[is.na(index)] <- 1  # the value at this place is not used
  left <- array(as.numeric(index), axes) - 1
  found <- list()
  for (axis in names(folded)) {
    found[[axis]] <- left %% folded[[axis]] + 1
    left <- left %/% folded[[axis]]
  }
  found
}

# Reads a place at the winners: a subscript along a reduced axis becomes a gather.
at_winner_places <- function(place, winners, axes) {
  if (!any(place$axes %in% names(winners))) return(place)
  rows <- function(x) {
    new_place(array(x, axes), lapply(names(axes), function(axis) list(kind = "axis", axes = axis)), "the winners")
  }
  place$names <- NULL
  with_specs(place, function(spec) {
    if (spec$kind == "gather") spec$by <- at_winner_places(spec$by, winners, axes)
    else if (!any(spec$axes %in% names(winners))) return(spec)
    else {
      along <- lapply(spec$axes, function(axis) winners[[axis]] %or% along_dimension(match(axis, names(axes)), axes))
      at <- if (spec$kind == "axis") along[[1]] else Reduce(`+`, Map(`*`, lapply(along, as.vector), spec$by), spec$plus)
      spec <- list(kind = "gather", by = rows(at))
    }
    spec
  })
}
