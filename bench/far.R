# Approximated products beside exact ones: Rscript bench/far.R [more]. On the CPU in processors' seconds, the exact
# product from some rows; on a GPU, where there is one, in milliseconds by the clock, medians of seven, data there,
# results not fetched.
# "more" has other clouds, two dimensions, proofs and other tolerances on the CPU, ten million points on a GPU.

suppressPackageStartupMessages(library(kernweave))
gpu <- "gpu" %in% kernweave:::r_devices()
more <- "more" %in% commandArgs(TRUE)
rows <- 2000

now <- function(code) {
  gc(FALSE)
  time <- system.time(code)
  if (gpu) 1000 * time[["elapsed"]] else time[["user.self"]] + time[["sys.self"]]
}
typical <- function(f, times = 5) {
  f()
  median(vapply(seq_len(times), function(k) now(f()), 0))
}

clouds <- list(
  uniform = function(n, d) matrix(runif(n * d), n),
  clusters = function(n, d) matrix(runif(50 * d), 50)[sample(50, n, TRUE), ] + matrix(rnorm(n * d, sd = 0.02), n),
  sphere = function(n, d) {
    x <- matrix(rnorm(n * d), n)
    x / sqrt(rowSums(x^2)) / 2
  },
  roll = function(n, d) {
    t <- 1.5 * pi * (1 + 2 * runif(n))
    cbind(t * cos(t), t * sin(t), 21 * runif(n))[, seq_len(d)] / 28
  })
kernels <- list(
  Gaussian = function(x) kernel_gaussian(x, x, scale = 0.1), `wide Gaussian` = function(x) kernel_gaussian(x, x),
  `narrow Gaussian` = function(x) kernel_gaussian(x, x, scale = 0.01),
  `Matern 3/2` = function(x) kernel_matern(x, x, scale = 0.1, nu = 1.5),
  Laplacian = function(x) kernel_laplacian(x, x, scale = 0.1), Cauchy = function(x) kernel_cauchy(x, x, scale = 0.1),
  energy = function(x) kernel_energy(x, x))

exact_time <- function(K, b, n) {
  if (gpu && n > 2e6) return(NA)
  precise <- lazy_set(K, precision = if (gpu) "float32" else "float64")
  if (gpu) typical(function() (precise %*% b)[1], 3) else now(precise[seq_len(rows), ] %*% b) * n / rows
}

line <- function(name, n, d = 3, cloud = "uniform", certify = "audit", tol = 1e-6) {
  x <- on_device(clouds[[cloud]](n, d))
  b <- on_device(matrix(rnorm(n)))
  K <- kernels[[name]](x)
  exact <- exact_time(K, b, n)
  tries <- replicate(if (gpu) 7 else 1, {
    plan <- now(A <- approximate(K, tol, certify))
    state <- kernweave:::approximation_of(A)
    c(plan, now(kernweave:::unaudited_product(state, b)[1]))
  })
  state <- kernweave:::approximation_of(approximate(K, tol, certify))
  plan <- median(tries[1, ])
  first <- median(tries[2, ])
  again <- typical(function() kernweave:::unaudited_product(state, b)[1])
  error <- kernweave:::relative_error(state, matrix(b), matrix(kernweave:::unaudited_product(state, b)))
  cat(sprintf("%-16s%-9s%3d%8g %-6s%7g%9.3g%8.3g%8.3g%8.3g%8.0fx%8.0fx%7.0f%9.1g\n", name, cloud, d, n, certify, tol,
              exact, plan, first, again, exact / (plan + first), exact / again, state$plan$near_pairs / n, error))
}

set.seed(1)
cat(sprintf("%-16s%-9s%3s%8s %-6s%7s%9s%8s%8s%8s%9s%9s%7s%9s\n", "", "", "D", "n", "", "tol", "exact", "plan", "first",
            "again", "x first", "x again", "near", "error"))
if (gpu) invisible(approximate(kernels$energy(clouds$uniform(1e5, 3)), 1e-6) %*% rnorm(1e5))  # kernels are compiled
for (n in c(1e5, 1e6, if (gpu && more) 1e7)) for (name in names(kernels)[-(2:3)]) line(name, n)
if (more && !gpu) {
  for (name in names(kernels)[2:3]) line(name, 1e6)
  for (name in names(kernels)) line(name, 1e6, 2)
  for (cloud in names(clouds)[-1]) for (name in c("Laplacian", "energy")) line(name, 1e6, 3, cloud)
  for (name in c("Gaussian", "Matern 3/2", "energy")) line(name, 1e6, certify = "proof")
  for (tol in c(1e-4, 1e-8, 1e-10)) line("energy", 1e6, tol = tol)
}
