# Compares the engine with what R users have today, in float64 and in turns: the ratio of times, and the bar. A package
# that is not installed is left out. Rscript bench/peers.R [pattern] [points, where fewer than there are]

source("bench/clock.R")
source("bench/cases.R")
asked <- given(pattern = "", points = Inf)
options(kernweave.precision = "float64")

# --- the same twice: by the engine, by a peer -----------------------------------------------------------------

engine_gauss <- function(x, y, b) exp(-sqdist(Vi(x), Vj(y))) %*% b
engine_nearest <- function(x, y, b) argKmin(sqdist(Vi(x), Vj(y)), K = 10)

kernel_mult <- function(x, y, b) kernlab::kernelMult(kernlab::rbfdot(sigma = 1), x, y, b)
nearest_by <- function(algorithm) function(x, y, b) FNN::get.knnx(y, x, k = 10, algorithm = algorithm)$nn.index

blocked <- function(x, y, b) {
  squares <- rowSums(y^2)
  blocks <- split(seq_len(nrow(x)), (seq_len(nrow(x)) - 1) %/% 500)
  do.call(rbind, lapply(blocks, function(at) {
    here <- x[at, , drop = FALSE]
    exp(-(outer(rowSums(here^2), squares, `+`) - 2 * tcrossprod(here, y))) %*% b
  }))
}

peers <- list(
  list(name = "kernelMult", package = "kernlab", n = 10000, D = 3, bar = 40, engine = engine_gauss, peer = kernel_mult),
  list(name = "kernelMult", package = "kernlab", n = 10000, D = 10, bar = 30, engine = engine_gauss,
       peer = kernel_mult),
  list(name = "kernelMult", package = "kernlab", n = 10000, D = 50, bar = 15, engine = engine_gauss,
       peer = kernel_mult),
  list(name = "blocked", package = "base", n = 10000, D = 3, bar = 33, engine = engine_gauss, peer = blocked),
  list(name = "kd_tree", package = "FNN", n = 20000, D = 3, bar = 0.75, engine = engine_nearest,
       peer = nearest_by("kd_tree")),
  list(name = "kd_tree", package = "FNN", n = 20000, D = 10, bar = 15, engine = engine_nearest,
       peer = nearest_by("kd_tree")),
  list(name = "kd_tree", package = "FNN", n = 20000, D = 50, bar = 100, engine = engine_nearest,
       peer = nearest_by("kd_tree"))
)

# --- in turns -------------------------------------------------------------------------------------------------

compare <- function(case) {
  set.seed(1)
  n <- min(case$n, asked$points)
  x <- points(n, case$D)
  y <- points(n, case$D)
  b <- matrix(stats::rnorm(n))
  ours <- NULL
  theirs <- NULL
  calls <- list(function() ours <<- case$engine(x, y, b), function() theirs <<- case$peer(x, y, b))
  times <- clock(stats::setNames(calls, c("kernweave", case$package)))
  say(sprintf("%s, n = %g, D = %d", case$name, n, case$D), times, bars = stats::setNames(case$bar, case$package),
      also = c(differs = max(abs(theirs - ours)) / max(abs(ours))))
}

begin(paste("beside what R users have today; BLAS", basename(extSoftVersion()[["BLAS"]])), c("kernlab", "FNN"))
for (case in Filter(function(case) grepl(asked$pattern, case$name) && have(case$package), peers)) compare(case)
