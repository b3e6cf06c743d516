# Approximated products beside exact ones: Rscript bench/far.R [all]. On a GPU, where there is one, by the clock in
# milliseconds, data there and results not fetched; on the CPU in processors' seconds, the exact product from some rows.
# "all" has ten million points, too.

suppressPackageStartupMessages(library(kernweave))
gpu <- "gpu" %in% kernweave:::r_devices()
sizes <- c(1e5, 1e6, if ("all" %in% commandArgs(TRUE)) 1e7)
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
kernels <- list(Gaussian = function(x) kernel_gaussian(x, x, scale = 0.1),
                `Matern 3/2` = function(x) kernel_matern(x, x, scale = 0.1, nu = 1.5),
                energy = function(x) kernel_energy(x, x))
exact_time <- function(K, b, n) {
  if (gpu && n > 2e6) return(NA)
  precise <- lazy_set(K, precision = if (gpu) "float32" else "float64")
  if (gpu) typical(function() (precise %*% b)[1], 3) else now(precise[seq_len(rows), ] %*% b) * n / rows
}

set.seed(1)
cat(sprintf("%-12s%10s%10s%10s%10s%10s%12s%10s\n", "", "n", "exact", "plan", "first", "again", "near a row", "error"))
for (n in sizes) {
  x <- on_device(matrix(runif(3 * n), n))
  b <- on_device(matrix(rnorm(n)))
  approximate(kernels$energy(x), 1e-6) %*% b  # what is compiled and made once
  for (name in names(kernels)) {
    K <- kernels[[name]](x)
    exact <- exact_time(K, b, n)
    plan <- now(A <- approximate(K, 1e-6))
    state <- kernweave:::approximation_of(A)
    first <- now(kernweave:::unaudited_product(state, b)[1])
    again <- typical(function() kernweave:::unaudited_product(state, b)[1])
    A %*% b
    cat(sprintf("%-12s%10g%10.3g%10.3g%10.3g%10.3g%12.0f%10.2g\n", name, n, exact, plan, first, again,
                state$plan$near_pairs / n, state$audit))
  }
}
