# Shapes of traced values. What base R does to the places of the elements says what it does to the elements: one
# function takes them, and its adjoint puts them back.

# The places of the elements of x, in its shape and under its names.
places_of <- function(x) {
  x <- plain_value(x)
  at <- seq_along(x)
  if (!is.null(dim(x))) {
    dim(at) <- dim(x)
    dimnames(at) <- dimnames(x)
  } else if (!is.null(names(x))) names(at) <- names(x)
  at
}

# The elements of x at these places, in the shape and under the names of the places; NA for those that are NA.
take <- function(x, at) {
  if (!is_traced(x)) {
    out <- as.vector(x)[as.vector(at)]
    attributes(out) <- attributes(at)
    return(out)
  }
  value <- .subset2(x, "value")
  n <- length(value)
  extent <- dim(value)
  pull <- function(g) list(put(g, at, n, extent))
  write_entry(take(value, at), .subset2(x, "tape"), .subset2(x, "place"), pull)
}

# The adjoint: n zeros, to which the elements of g are added at their places.
put <- function(g, at, n, extent) {
  if (is_traced(g)) {
    r <- put(.subset2(g, "value"), at, n, extent)
    return(write_entry(r, .subset2(g, "tape"), .subset2(g, "place"), function(g) list(take(g, at))))
  }
  g <- as.vector(g)
  at <- as.vector(at)
  if (anyNA(at)) {
    g <- g[!is.na(at)]
    at <- at[!is.na(at)]
  }
  if (anyDuplicated(at)) out <- as.vector(r_scatter_add(as.matrix(g), at, n))
  else {
    out <- numeric(n)
    out[at] <- g
  }
  dim(out) <- extent
  out
}

#' @export
`[.kernweave_traced` <- function(x, ...) take(x, places_of(x)[...])
