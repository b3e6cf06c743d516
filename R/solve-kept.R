# Preconditioners that serve more than one call. The last one is kept: a system and its determinant are of one matrix.
# Neighbours by distance are kept for other parameters of a kernel; while a function is optimised, landmarks are kept,
# too, since they hardly depend on parameters.

preconditioners <- new.env(parent = emptyenv())
preconditioners$supports <- NULL  # within an objective, an environment

# The preconditioner is a function of what is compared here.
kept_preconditioner <- function(K, ridge, rank, local) {
  K <- lazy_set(K, precision = "float64")
  read <- structure_of(reduction(K, "sum", index = "j", call = FALSE))
  points <- vapply(read$operands, function(operand) operand$axis != "param", NA)
  data <- lapply(read$operands, `[[`, "data")
  key <- list(read$key, data, ridge, rank, local)
  if (identical(preconditioners$key, key) && !is_dead(preconditioners$P$pointer)) return(preconditioners$P)
  P <- by_kept_support(K, ridge, rank, local, list(read$key, data[points], rank, local), data[!points])
  # A number for each slot, its place, and both by rows; the data by which it is known.
  bytes <- 24 * P$n * (P$neighbours + 1) + 8 * sum(lengths(data))
  if (bytes <= most_kept && !any(vapply(data, is_on_device, NA))) {
    preconditioners$key <- key
    preconditioners$P <- P
  }
  P
}

# The most bytes that are kept. Memory kept beyond its use must not be felt, least of all on a GPU.
most_kept <- 256e6

# Parameters and ridges within a factor of two of those that a support was found for may have it. Then probes make of
# both one function, whose noise does not jump.
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

# Evaluates code while supports are kept in an environment.
keeping_supports <- function(code, supports) {
  before <- preconditioners$supports
  on.exit(preconditioners$supports <- before)
  preconditioners$supports <- supports
  force(code)
}
