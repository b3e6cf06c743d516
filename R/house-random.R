# Random numbers that are a function of a seed alone.

check_seed <- function(seed) {
  if (is.null(seed)) return(floor(stats::runif(1) * 2^31))
  if (!is_whole(seed, 0)) abort("input", "`seed` must be a whole number of at least 0, not ", format_value(seed))
  as.numeric(seed)
}

# Orders 1 to n at random, by the generator of the engine: that of R gives the seed alone.
random_order <- function(n, seed) order(r_uniforms(n, seed))

# Random signs, equal to those of C++. The seed is not that of random_order(), by which the first points would all have
# one sign.
random_signs <- function(rows, columns, seed) matrix(sign(r_uniforms(rows * columns, seed + 2^40) - 0.5), rows)
