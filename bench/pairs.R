# Restricted pairs beside all pairs: processors' and wall time, the least of several turns in one run.
#
#   Rscript bench/pairs.R [threads] [points]

library(kernweave)
arguments <- as.numeric(commandArgs(TRUE))
options(kernweave.threads = if (length(arguments)) arguments[1] else 2)
n <- if (length(arguments) > 1) arguments[2] else 30000
set.seed(1)

least <- function(runs, turns = 7) {
  times <- array(0, c(turns, length(runs), 2), list(NULL, names(runs), c("cpu", "wall")))
  for (turn in seq_len(turns)) for (k in seq_along(runs)) {
    took <- system.time(runs[[k]]())
    times[turn, k, ] <- c(sum(took[1:2]), took[3])
  }
  t(apply(times, 2:3, min))
}
product <- function(K) {
  run <- as.function(reduction(K * Vj(rnorm(ncol(K))), "sum", call = FALSE))
  run()
  run
}
gaussian <- function(x, precision) lazy_set(kernel_gaussian(x, scale = 0.1), precision = precision)
of_sizes <- function(sizes, precision) {
  product(restrict(gaussian(matrix(runif(3 * sum(sizes)), ncol = 3), precision), by = rep(seq_along(sizes), sizes)))
}

x <- matrix(runif(3 * n), n)
sorted <- sort_by_cluster(x, grid_cluster(x, 0.2))
at <- cluster_ranges(sorted$labels)
apart <- as.matrix(dist(cluster_centroids(sorted$x, sorted$labels)))
near <- ranges(at, at, apart < stats::quantile(apart, 0.1))

zipf <- round(n * 2 / 3 / 1:400)
equal <- rep(round(sqrt(sum(zipf^2) / 40)), 40)
small <- rep(100, 1000)

for (precision in c("float64", "float32")) {
  K <- gaussian(x, precision)
  upper <- restrict(K, where = row_index() < col_index())
  cases <- list(all = K, one_rectangle = restrict(K, ranges = ranges(n, n, matrix(TRUE))),
                exclude_diag = exclude_diag(K), triangle = upper,
                near = restrict(gaussian(sorted$x, precision), ranges = near))
  times <- least(lapply(cases, product))
  cat("\n", precision, ", of all ", n, " x ", n, " pairs\n", sep = "")
  print(round(times / times[, "all"], 3))
  times <- least(list(equal = of_sizes(equal, precision), zipf = of_sizes(zipf, precision)))
  cat("blocks of Zipf's sizes, of equal blocks with as many pairs:", round(times[, "zipf"] / times[, "equal"], 3), "\n")
  times <- least(list(all = product(gaussian(matrix(runif(3 * 3162), ncol = 3), precision)),
                      small = of_sizes(small, precision)), 21)
  cat("1000 groups of 100, of 3162 x 3162 pairs:", round(times[, "small"] / times[, "all"], 2), "\n")
}
