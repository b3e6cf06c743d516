# The nearest by boxes beside FNN, and beside all pairs: Rscript bench/boxes.R [all] prints processors' time on one
# thread, building included, and ratios of one run. "all" has the cases of a million points, too.

library(kernweave)
options(kernweave.threads = 1)
big <- "all" %in% commandArgs(TRUE)

seconds <- function(code) {
  gc()
  time <- system.time(code)
  time[["user.self"]] + time[["sys.self"]]
}
nearest <- function(x, y = x, K = 11) Kmin_argKmin(sqdist(Vi(x), Vj(y)), K = K)
by <- function(boxes, code) {
  old <- options(kernweave.boxes = boxes)
  on.exit(options(old))
  seconds(code)
}
line <- function(what, ...) cat(sprintf("%-44s", what), sprintf("%s", paste(..., collapse = " ")), "\n")
ratio <- function(a, b) sprintf("%.1fx", a / b)

uniform <- function(n, d) matrix(runif(n * d), n)
clusters <- function(n, d) matrix(rnorm(n * d, sd = 0.02), n) + uniform(50, d)[sample(50, n, TRUE), ]

set.seed(1)
fnn <- requireNamespace("FNN", quietly = TRUE)
cases <- rbind(expand.grid(n = 1e5, d = c(2, 3, 5, 8)), if (big) expand.grid(n = 1e6, d = c(2, 3, 5)))
for (k in seq_len(nrow(cases))) {
  n <- cases$n[k]
  d <- cases$d[k]
  for (cloud in c("uniform", "clusters")) {
    x <- get(cloud)(n, d)
    boxes <- by(NULL, nearest(x))
    again <- by(NULL, nearest(x))
    other <- if (fnn && cloud == "uniform" && !(d == 5 && n > 1e5)) seconds(FNN::get.knn(x, 10, "kd_tree"))
    all <- if (n <= 1e5) by(FALSE, nearest(x))
    line(sprintf("%s, n = %g, d = %d", cloud, n, d), sprintf("boxes %.3f s, again %.3f", boxes, again),
         if (!is.null(other)) sprintf("FNN %.2f, %s", other, ratio(other, boxes)),
         if (!is.null(all)) sprintf("all pairs %.2f, %s", all, ratio(all, boxes)))
  }
}

# Where boxes do not pay: what the trial costs, as all pairs' time of boxes' time; 0.91 is asked for.
worst <- list(
  "all points the same" = function(n) list(matrix(1, n, 3)),
  "lattice of 3 x 3 points" = function(n) list(matrix(sample(0:2, 2 * n, TRUE) + 0, n)),
  "twelve components" = function(n) list(uniform(n, 12)),
  "fifty components" = function(n) list(uniform(n, 50)),
  "far from each other" = function(n) list(uniform(n, 3), uniform(n, 3) + 1e3)
)
for (n in c(2e4, 5e4)) for (what in names(worst)) {
  points <- worst[[what]](n)
  time <- function(on) median(vapply(1:5, function(k) {
    moved <- lapply(points, function(x) x + k)
    by(on, do.call(nearest, moved))
  }, 0))
  line(sprintf("%s, n = %g", what, n), sprintf("all pairs / by themselves %.2f", time(FALSE) / time(NULL)))
}
