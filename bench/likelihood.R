# A Gaussian log-likelihood, its gradient in all parameters and the mean at 10 000 new points, Matern 3/2 in three
# dimensions, on one device: Rscript bench/likelihood.R [device] [sizes, by commas] [rank]

source("bench/clock.R")
asked <- given(device = "cpu", sizes = "3000,10000", rank = 100L)

likelihood <- function(theta, x, y, tol, probes = 10) {
  K <- lazy_set(exp(theta[2]) * kernel_matern(x, x, scale = exp(theta[1]), nu = 1.5), device = asked$device)
  noise <- exp(theta[3])
  -(sum(y * solve(K, y, ridge = noise, tol = tol, method = "cg", rank = asked$rank)) +
      logdet(K, ridge = noise, probes = probes, seed = 1, method = "lanczos", rank = asked$rank)) / 2
}
mean_at <- function(new, x, y, tol) {
  kernel <- function(at) lazy_set(kernel_matern(at, x, scale = 0.3, nu = 1.5), device = asked$device)
  kernel(new) %*% solve(kernel(x), y, ridge = 0.05, tol = tol, method = "cg", rank = asked$rank)
}

begin("likelihoods, beside their gradients and means")
for (n in as.numeric(strsplit(asked$sizes, ",")[[1]])) {
  set.seed(1)
  x <- matrix(stats::runif(3 * n), n)
  y <- sin(6 * x[, 1]) + x[, 2]^2 + 0.1 * stats::rnorm(n)
  theta <- log(c(0.3, 1, 0.05))
  new <- matrix(stats::runif(3e4), 1e4)
  for (tol in c(0.5, 1e-4)) {
    value <- function(theta) likelihood(theta, x, y, tol)
    say(sprintf("n = %g, tol = %g", n, tol),
        clock(list(value = function() value(theta), "and gradient" = function() value_and_gradient(value)(theta),
                   mean = function() mean_at(new, x, y, tol))))
  }
}
