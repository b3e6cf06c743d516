# The nearest by boxes beside FNN, and beside all pairs, in processors' time on one thread, building included:
# Rscript bench/boxes.R [points] [all]. "all" has the cases of a million points, too.

source("bench/clock.R")
asked <- given(points = 1e5, all = "")
options(kernweave.threads = 1)

nearest <- function(x, y = x, K = 11) Kmin_argKmin(sqdist(Vi(x), Vj(y)), K = K)
# Points that no call has seen: boxes are kept for those that one has.
moves <- 0
moved <- function(...) {
  moves <<- moves + 1
  lapply(list(...), `+`, moves)
}
all_pairs <- function(call) function() {
  old <- options(kernweave.boxes = FALSE)
  on.exit(options(old))
  call()
}
uniform <- function(n, d) matrix(stats::runif(n * d), n)
clusters <- function(n, d) matrix(stats::rnorm(n * d, sd = 0.02), n) + uniform(50, d)[sample(50, n, TRUE), ]

begin("the ten nearest and the point itself", "FNN")
set.seed(1)
cases <- rbind(expand.grid(n = asked$points, d = c(2, 3, 5, 8)),
               if (asked$all == "all") expand.grid(n = 1e6, d = c(2, 3, 5)))
for (k in seq_len(nrow(cases))) for (cloud in c("uniform", "clusters")) {
  n <- cases$n[k]
  d <- cases$d[k]
  x <- get(cloud)(n, d)
  beside_fnn <- have("FNN") && cloud == "uniform" && !(d == 5 && n > 1e5)
  say(sprintf("%s, n = %g, d = %d", cloud, n, d), clock(by = "cpu", list(
    boxes = function() do.call(nearest, moved(x)), again = function() nearest(x),
    FNN = if (beside_fnn) function() FNN::get.knn(x, 10, "kd_tree"),
    "all pairs" = if (n <= 1e5) all_pairs(function() nearest(x)))))
}

# The cases in which boxes do not pay: they show what the trial costs.
worst <- list(
  "all points the same" = function(n) list(matrix(1, n, 3)),
  "lattice of 3 x 3 points" = function(n) list(matrix(sample(0:2, 2 * n, TRUE) + 0, n)),
  "twelve components" = function(n) list(uniform(n, 12)),
  "fifty components" = function(n) list(uniform(n, 50)),
  "far from each other" = function(n) list(uniform(n, 3), uniform(n, 3) + 1e3)
)
for (n in asked$points * c(0.2, 0.5)) for (what in names(worst)) {
  points <- worst[[what]](n)
  call <- function() do.call(nearest, do.call(moved, points))
  say(sprintf("%s, n = %g", what, n), clock(list(kernweave = call, "all pairs" = all_pairs(call)), by = "cpu"),
      bars = c("all pairs" = 0.91))
}
