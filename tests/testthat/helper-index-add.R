# The loop that index_add() stands for, in base R, and arrays of random shapes for both.

# In the order of items; integers are what their exact totals are.
loop_index_add <- function(x, index, source, dim = 1L, alpha = 1, op = "sum", include = FALSE) {
  extents <- dim(x) %||% length(x)
  places <- array(seq_along(x), extents)
  slice <- function(array, k) {
    as.vector(do.call(`[`, c(list(array), replace(lapply(dim(array), seq_len), dim, k))))
  }
  full <- repeated_source(source, replace(extents, dim, length(index)))
  combine <- switch(op, sum = `+`, mean = `+`, prod = `*`, min = pmin, max = pmax)
  whole <- !is.double(x) && !is.double(source) && op != "mean" && alpha == trunc(alpha)
  storage.mode(x) <- "double"
  if (op == "mean") {
    counts <- tabulate(index, extents[dim])
    for (d in which(counts > 0)) if (!include) x[slice(places, d)] <- 0
  }
  for (s in seq_along(index)) {
    at <- slice(places, index[s])
    x[at] <- combine(x[at], alpha * slice(full, s))
  }
  if (op == "mean") for (d in which(counts > 0)) {
    at <- slice(places, d)
    x[at] <- x[at] / (counts[d] + include)
  }
  if (whole) {
    x[!is.na(x) & abs(x) > .Machine$integer.max] <- NA
    storage.mode(x) <- "integer"
  }
  x
}

`%||%` <- function(x, otherwise) if (is.null(x)) otherwise else x

# A source with extents of 1, or one number, in full.
repeated_source <- function(source, want) {
  have <- dim(source) %||% length(source)
  if (length(source) == 1) return(array(source, want))
  do.call(`[`, c(list(array(source, have)), Map(function(h, w) rep_len(seq_len(h), w), have, want), list(drop = FALSE)))
}

random_array <- function(extents, type) {
  n <- prod(extents)
  values <- switch(type, integer = sample(c(-9:9, NA), n, TRUE, c(rep(1, 19), 0.3)), logical = stats::runif(n) < 0.5,
                   double = round(stats::rnorm(n), 2), awkward = sample(c(-0, 0, 1.5, -2, Inf, NA), n, TRUE))
  if (length(extents) == 1 && stats::runif(1) < 0.7) values else array(values, extents)
}
