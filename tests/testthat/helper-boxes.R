# Boxes on and off, and the points and reductions that tests of boxes draw from.

with_boxes <- function(on, code) {
  old <- options(kernweave.boxes = on)
  on.exit(options(old))
  code
}
why_boxes <- function(R) with_boxes(TRUE, explain(lazy_set(R, device = "cpu")))$schedule$why

# Points of all kinds that trees have trouble with.
box_clouds <- list(
  uniform = function(n, d) matrix(runif(n * d), n),
  lattice = function(n, d) matrix(sample(0:3, n * d, replace = TRUE) + 0, n),
  equal = function(n, d) matrix(rep(rnorm(d), each = n), n),
  twins = function(n, d) matrix(rnorm(n * d), n)[sample(ceiling(n / 3), n, replace = TRUE), , drop = FALSE],
  clusters = function(n, d) matrix(rnorm(n * d, sd = 1e-3), n) + sample(c(-1, 0, 7), n, replace = TRUE),
  far = function(n, d) matrix(rnorm(n * d), n) + 1e6,
  line = function(n, d) matrix(rnorm(n * d), n) * rep(c(1, rep(1e-9, d - 1)), each = n),
  wild = function(n, d) {
    x <- matrix(rnorm(n * d), n)
    x[sample(length(x), min(length(x), 3))] <- c(NaN, Inf, -Inf)[seq_len(min(length(x), 3))]
    x
  },
  huge = function(n, d) matrix(rnorm(n * d), n) * rep_len(c(1, 1, 1, 1e200), n)
)

box_reductions <- list(
  function(F, index) reduction(F, "Kmin_argKmin", K = 1, index = index, call = FALSE),
  function(F, index) reduction(F, "Kmin_argKmin", K = 4, index = index, call = FALSE),
  function(F, index) reduction(F, "argKmin", K = 40, index = index, call = FALSE),
  function(F, index) reduction(F, "Kmax_argKmax", K = 3, index = index, call = FALSE),
  function(F, index) reduction(F, "min_argmin", index = index, call = FALSE),
  function(F, index) reduction(F, "argmax", index = index, call = FALSE),
  function(F, index) min(F, index = index, call = FALSE),
  function(F, index) max(F, index = index, call = FALSE),
  function(F, index) reduction(F <= 0.7, "count", index = index, call = FALSE)
)

one_drawn <- function(list) list[[sample(length(list), 1)]]
