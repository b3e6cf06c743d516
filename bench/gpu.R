# The GPU benchmark: every case through the R function, inputs on the device already and results left there, as beside
# its limit, the peer's time on the same kind of device, and what no kernel can beat. Rscript bench/gpu.R [pattern]

source("bench/clock.R")
asked <- given(pattern = "")
stopifnot("a GPU is needed" = has_gpu())

# One exponential, root or inverse a pair: 16 lanes a clock and multiprocessor, 132 of them at 1.98 GHz.
exponentials <- function(pairs, each = 1) each * pairs / 4.18e12 * 1e3

unit_points <- function(n, d = 3) matrix(stats::runif(n * d), n, d) / sqrt(max(d, 3) / 3)
points <- function(n, d = 3) on_device(unit_points(n, d))
weights <- function(n, width = 1) Vj(on_device(matrix(stats::rnorm(n * width), n)))
# One point so far away that squared distances may not be expanded.
outlier <- function(x) {
  x[1] <- 1e6
  x
}

# A case makes a reduction that is run again and again.
case <- function(name, make, bar, peer, bound, precision = "float32") {
  list(name = name, make = make, bar = bar, peer = peer, bound = bound, precision = precision)
}

gauss <- function(m, n = m, d = 3, width = 1, direct = FALSE) function() {
  x <- if (direct) on_device(outlier(unit_points(m, d))) else points(m, d)
  K <- exp(-sqdist(Vi(x), Vj(points(n, d))))
  reduction(K, "sum", weight = weights(n, width), call = FALSE)
}
kernel <- function(f, n = 1e5) {
  function() reduction(f(sqdist(Vi(points(n)), Vj(points(n)))), "sum", weight = weights(n), call = FALSE)
}
gradient_x <- function(n = 1e5) function() {
  X <- Vi(points(n))
  Y <- Vj(points(n))
  reduction(exp(-sqdist(X, Y)) * weights(n) * (X - Y), "sum", call = FALSE)
}
neighbours <- function(d, n = 1e5) {
  function() reduction(sqdist(Vi(points(n, d)), Vj(points(n, d))), "argKmin", K = 10, call = FALSE)
}

cases <- list(
  case("Gauss D3 10k", gauss(1e4), 0.15, 0.38, exponentials(1e8)),
  case("Gauss D3 100k", gauss(1e5), 3.3, 5.15, exponentials(1e10)),
  case("Gauss D3 1M", gauss(1e6), 312, 438, exponentials(1e12)),
  case("Gauss D3 100k float64", gauss(1e5), 21, 27.1, NA, "float64"),
  case("Gauss D10", gauss(1e5, d = 10), 5.6, 12.4, exponentials(1e10)),
  case("Gauss D50", gauss(1e5, d = 50), 16, 66.9, exponentials(1e10)),
  case("Gauss D100", gauss(1e5, d = 100), 28, 284, exponentials(1e10)),
  case("Gauss D256", gauss(1e5, d = 256), 58, 580, exponentials(1e10)),
  case("Gauss D50 direct", gauss(1e5, d = 50, direct = TRUE), 56, 66.9, exponentials(1e10)),
  case("Gauss D100 direct", gauss(1e5, d = 100, direct = TRUE), 114, 284, exponentials(1e10)),
  case("gradient in x", gradient_x(), 5.2, 8.8, exponentials(1e10)),
  case("logsumexp", function() reduction(-sqdist(Vi(points(1e5)), Vj(points(1e5))), "logsumexp", call = FALSE), 4.8,
       8.6, exponentials(1e10)),
  case("argKmin 10 D3", neighbours(3), 4.6, 10.1, NA),
  case("argKmin 10 D100", neighbours(100), 40, 239, NA),
  case("Laplacian", kernel(function(d) exp(-sqrt(d))), 5.8, 7.3, exponentials(1e10, 2)),
  case("Cauchy", kernel(function(d) 1 / (1 + d)), 4.3, 5.3, exponentials(1e10)),
  case("inverse multiquadric", kernel(function(d) 1 / sqrt(1 + d)), 4.5, 5.6, exponentials(1e10)),
  case("100 x 10M", gauss(100, 1e7), 0.8, 6.3, exponentials(1e9)),
  case("10M x 100", gauss(1e7, 100), 0.74, 0.74, exponentials(1e9)),
  case("10 right-hand sides", gauss(1e5, width = 10), 6.8, 11.5, exponentials(1e10)),
  case("100 right-hand sides", gauss(1e5, width = 100), 47, 188, exponentials(1e10))
)

begin("the engine on a GPU")
# A GPU that has been idle runs slower at first.
warm <- lazy_set(gauss(1e5)(), device = "gpu", precision = "float32")
invisible(clock(function() as.matrix(warm), enough = 2))

wanted <- function(name) grepl(asked$pattern, name)
beside <- function(name, times, limit, peer = NA, bound = NA) {
  if (wanted(name)) say(name, times, known = c(limit = limit, peer = peer, bound = bound), bars = c(limit = 1))
}
for (one in cases) {
  set.seed(1)
  R <- if (wanted(one$name)) lazy_set(one$make(), device = "gpu", precision = one$precision)
  if (!is.null(R)) as.matrix(R)  # compiles, which takes longer than the call and is no part of its time
  beside(one$name, clock(function() as.matrix(R)), one$bar, one$peer, one$bound)
}
x <- unit_points(1e5)
y <- unit_points(1e5)
b <- stats::rnorm(1e5)
K <- exp(-sqdist(Vi(dim = 3, name = "x"), Vj(dim = 3, name = "y")))
f <- as.function(lazy_set(sum(K * Vj(dim = 1, name = "b"), index = "j"), device = "gpu", precision = "float32"))
beside("from R matrices 100k", clock(function() f(x, y, b)), 6, 5.7)
X <- Vi(points(10))
Y <- Vj(points(10))
never_seen <- function() sum(exp(-sqdist(X, Y)) * (1 + square(tanh(X | Y))), index = "j", device = "gpu")
beside("never-seen formula", clock(never_seen, enough = 0), 300)
