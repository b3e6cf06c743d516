# Random numbers that depend on a seed alone, and the accuracy of random draws.

check_seed <- function(seed) {
  if (is.null(seed)) return(floor(stats::runif(1) * 2^31))
  if (!is_whole(seed, 0)) abort("input", "`seed` must be a whole number of at least 0, not ", format_value(seed))
  as.numeric(seed)
}

# Permutes 1 to n at random, by the generator of the engine; the generator of R gives the seed alone.
random_order <- function(n, seed) order(r_uniforms(n, seed))

# Random signs, equal to the signs of C++. The seed differs from the seed of random_order(): with equal seeds the first
# points of the order would all have one sign.
random_signs <- function(rows, columns, seed) matrix(sign(r_uniforms(rows * columns, seed + 2^40) - 0.5), rows)

# The relative error of draws. Prior: 1e-3. Posterior: a hundredth of sd(noise) / sd(process), at most 1e-3; `size` is
# the variance of the process.
tol_of_draws <- function(noise, size, tol) {
  max(tol, min(1e-3, if (length(noise)) 0.01 * sqrt(mean(noise) / max(size, 1e-300))))
}
