# Random numbers that are a function of a seed alone, and how good draws are.

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

# Draws before the data are good to a thousandth. Draws given the data are good to a hundredth of the noise, which these
# leave of a process whose variance is `size`.
tol_of_draws <- function(noise, size, tol) {
  max(tol, min(1e-3, if (length(noise)) 0.01 * sqrt(mean(noise) / max(size, 1e-300))))
}
