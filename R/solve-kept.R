# Preconditioners that serve several calls. The last one is kept, since a system and its determinant have one matrix.
# Neighbours by distance are kept for other parameters of a kernel; during an optimisation, landmarks are also kept,
# since they hardly depend on parameters.

preconditioners <- new.env(parent = emptyenv())
preconditioners$supports <- NULL  # an environment within an objective

# The key has everything that the preconditioner depends on.
kept_preconditioner <- function(K, ridge, rank, local) {
  K <- lazy_set(K, precision = "float64")
  read <- structure_of(reduction(K, "sum", index = "j", call = FALSE))
  points <- vapply(read$operands, function(operand) operand$axis != "param", NA)
  data <- lapply(read$operands, `[[`, "data")
  key <- list(read$key, data, ridge, rank, local)
  if (identical(preconditioners$key, key) && !is_dead(preconditioners$P$pointer)) return(preconditioners$P)
  P <- by_kept_support(K, ridge, rank, local, list(read$key, data[points], rank, local), data[!points])
  # Bytes: a number for each slot, its place, and both by rows; and the data in the key.
  bytes <- 24 * P$n * (P$neighbours + 1) + 8 * sum(lengths(data))
  if (bytes <= most_kept && !any(vapply(data, is_on_device, NA))) {
    preconditioners$key <- key
    preconditioners$P <- P
  }
  P
}

# The most bytes that are kept, so that users do not notice kept memory, least of all on a GPU.
most_kept <- 256e6

# A support also serves parameters and ridges within a factor of two of its own. Estimates by probes are then a single
# function of the parameters, whose noise has no jumps.
by_kept_support <- function(K, ridge, rank, local, structure, parameters) {
  found <- preconditioners$supports$last
  numbers <- c(parameters, list(ridge))
  near <- function(x, y) all(x == y | x * y > 0 & abs(x) <= 2 * abs(y) & abs(y) <= 2 * abs(x))
  if (identical(found$structure, structure) && all(mapply(near, found$numbers, numbers))) {
    return(supported(K, ridge, found$support))
  }
  P <- preconditioner(K, ridge, rank, local)
  if (is.environment(preconditioners$supports)) {
    preconditioners$supports$last <- list(structure = structure, numbers = numbers, support = P$support)
  }
  P
}

# Evaluates code during which supports are kept in an environment.
keeping_supports <- function(code, supports) {
  before <- preconditioners$supports
  on.exit(preconditioners$supports <- before)
  preconditioners$supports <- supports
  force(code)
}
