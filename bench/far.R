# Approximated products beside exact ones: Rscript bench/far.R [points] [more]. By processors on the CPU, where the
# exact product is that of some rows; by the clock on a GPU, data and results there. "first" has plan and audit in it.
# "more" has other clouds, two dimensions, proofs and other tolerances on the CPU, a hundred times the points on a GPU.

source("bench/clock.R")
asked <- given(points = 1e5, more = "")
more <- asked$more == "more"
gpu <- has_gpu()
rows <- 2000

clouds <- list(
  uniform = function(n, d) matrix(stats::runif(n * d), n),
  clusters = function(n, d) {
    matrix(stats::runif(50 * d), 50)[sample(50, n, TRUE), ] + matrix(stats::rnorm(n * d, sd = 0.02), n)
  },
  sphere = function(n, d) {
    x <- matrix(stats::rnorm(n * d), n)
    x / sqrt(rowSums(x^2)) / 2
  },
  roll = function(n, d) {
    t <- 1.5 * pi * (1 + 2 * stats::runif(n))
    cbind(t * cos(t), t * sin(t), 21 * stats::runif(n))[, seq_len(d)] / 28
  })
kernels <- list(
  Gaussian = function(x) kernel_gaussian(x, x, scale = 0.1), `wide Gaussian` = function(x) kernel_gaussian(x, x),
  `narrow Gaussian` = function(x) kernel_gaussian(x, x, scale = 0.01),
  `Matern 3/2` = function(x) kernel_matern(x, x, scale = 0.1, nu = 1.5),
  Laplacian = function(x) kernel_laplacian(x, x, scale = 0.1), Cauchy = function(x) kernel_cauchy(x, x, scale = 0.1),
  energy = function(x) kernel_energy(x, x))

exact_product <- function(K, b, n) {
  precise <- lazy_set(K, precision = if (gpu) "float32" else "float64")
  if (gpu) return(if (n <= 2e6) function() (precise %*% b)[1])
  few <- min(rows, n)
  told(function() spent(function() precise[seq_len(few), ] %*% b) * n / few)
}

line <- function(name, n, d = 3, cloud = "uniform", certify = "audit", tol = 1e-6) {
  x <- on_device(clouds[[cloud]](n, d))
  b <- on_device(matrix(stats::rnorm(n)))
  K <- kernels[[name]](x)
  A <- approximate(K, tol, certify)
  times <- clock(by = if (gpu) "wall" else "cpu", list(
    first = function() (approximate(K, tol, certify) %*% b)[1], plan = function() approximate(K, tol, certify),
    again = function() (A %*% b)[1], exact = exact_product(K, b, n)))
  say(sprintf("%s, %s, D = %d, n = %g, %s, %g", name, cloud, d, n, certify, tol), times,
      also = c(near = explain(A)$near_pairs / n, error = audit(A, b = matrix(b))$error))
}

begin("approximated products")
set.seed(1)
for (n in asked$points * c(1, 10, if (gpu && more) 100)) for (name in names(kernels)[-(2:3)]) line(name, n)
if (more && !gpu) {
  n <- 10 * asked$points
  for (name in names(kernels)[2:3]) line(name, n)
  for (name in names(kernels)) line(name, n, 2)
  for (cloud in names(clouds)[-1]) for (name in c("Laplacian", "energy")) line(name, n, 3, cloud)
  for (name in c("Gaussian", "Matern 3/2", "energy")) line(name, n, certify = "proof")
  for (tol in c(1e-4, 1e-8, 1e-10)) line("energy", n, tol = tol)
}
