# A Gaussian log-likelihood and its gradient in all parameters, Matern 3/2 in three dimensions, on one device.
#   Rscript bench/likelihood.R [device] [sizes, by commas] [rank]

library(kernweave)

given <- commandArgs(TRUE)
device <- if (length(given) > 0) given[1] else "cpu"
sizes <- if (length(given) > 1) as.numeric(strsplit(given[2], ",")[[1]]) else c(3000, 10000)
rank <- if (length(given) > 2) as.integer(given[3]) else 100L

likelihood <- function(theta, x, y, tol, probes = 10) {
  K <- lazy_set(exp(theta[2]) * kernel_matern(x, x, scale = exp(theta[1]), nu = 1.5), device = device)
  noise <- exp(theta[3])
  -(sum(y * solve(K, y, ridge = noise, tol = tol, method = "cg", rank = rank)) +
      logdet(K, ridge = noise, probes = probes, seed = 1, method = "lanczos", rank = rank)) / 2
}

cat(sprintf("%8s %8s %10s %12s %10s\n", "n", "tol", "value s", "and gradient", "mean s"))
for (n in sizes) {
  set.seed(1)
  x <- matrix(stats::runif(3 * n), n)
  y <- sin(6 * x[, 1]) + x[, 2]^2 + 0.1 * stats::rnorm(n)
  theta <- log(c(0.3, 1, 0.05))
  new <- matrix(stats::runif(3e4), 1e4)
  for (tol in c(0.5, 1e-4)) {
    likelihood(theta, x, y, tol)
    value <- system.time(likelihood(theta, x, y, tol))[["elapsed"]]
    both <- system.time(found <- value_and_gradient(function(theta) likelihood(theta, x, y, tol))(theta))[["elapsed"]]
    K <- lazy_set(kernel_matern(x, x, scale = 0.3, nu = 1.5), device = device)
    mean <- system.time({
      weights <- solve(K, y, ridge = 0.05, tol = tol, method = "cg", rank = rank)
      lazy_set(kernel_matern(new, x, scale = 0.3, nu = 1.5), device = device) %*% weights
    })[["elapsed"]]
    cat(sprintf("%8.0f %8.0e %10.3f %12.3f %10.3f\n", n, tol, value, both, mean))
  }
}
