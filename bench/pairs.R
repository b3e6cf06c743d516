# Restricted pairs beside all pairs, in processors' time: Rscript bench/pairs.R [threads] [points]. The ratio is that of
# all pairs' time to theirs.

source("bench/clock.R")
asked <- given(threads = 2, points = 30000)
options(kernweave.threads = asked$threads)
n <- asked$points
set.seed(1)

product <- function(K) {
  run <- as.function(reduction(K * Vj(stats::rnorm(ncol(K))), "sum", call = FALSE))
  function() run()
}
gaussian <- function(x, precision) lazy_set(kernel_gaussian(x, scale = 0.1), precision = precision)
cloud <- function(n) matrix(stats::runif(3 * n), ncol = 3)
of_sizes <- function(sizes, precision) {
  product(restrict(gaussian(cloud(sum(sizes)), precision), by = rep(seq_along(sizes), sizes)))
}
beside <- function(what, run, others) say(what, clock(c(list(kernweave = run), others), by = "cpu"))

x <- cloud(n)
sorted <- sort_by_cluster(x, grid_cluster(x, 0.2))
at <- cluster_ranges(sorted$labels)
apart <- as.matrix(stats::dist(cluster_centroids(sorted$x, sorted$labels)))
near <- ranges(at, at, apart < stats::quantile(apart, 0.1))
zipf <- round(n * 2 / 3 / 1:400)
equal <- rep(round(sqrt(sum(zipf^2) / 40)), 40)

begin("restricted pairs beside all pairs")
for (precision in c("float64", "float32")) {
  K <- gaussian(x, precision)
  some <- list("one rectangle" = restrict(K, ranges = ranges(n, n, matrix(TRUE))),
               "without the diagonal" = exclude_diag(K), triangle = restrict(K, where = row_index() < col_index()),
               "a tenth of the blocks" = restrict(gaussian(sorted$x, precision), ranges = near))
  for (what in names(some)) {
    beside(sprintf("%s of %g x %g, %s", what, n, n, precision), product(some[[what]]), list("all pairs" = product(K)))
  }
  beside(paste("blocks of Zipf's sizes,", precision), of_sizes(zipf, precision),
         list("equal blocks" = of_sizes(equal, precision)))
  beside(paste("1000 groups of 100,", precision), of_sizes(rep(100, 1000), precision),
         list("3162 x 3162" = product(gaussian(cloud(3162), precision))))
}
