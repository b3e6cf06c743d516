# audit(): what it finds is what the whole result would show.

set.seed(4)
x <- matrix(stats::runif(1200), 400)
y <- matrix(stats::runif(900), 300)

test_that("a float64 result has an error near rounding, a float32 one near that of float32", {
  K <- exp(-sqdist(Vi(x), Vj(y)) / 0.1)
  for (index in c("i", "j")) {
    expect_lt(audit(reduction(K, "sum", index = index, call = FALSE))$error, 1e-13)
    rough <- audit(reduction(lazy_set(K, precision = "float32"), "sum", index = index, call = FALSE))$error
    expect_gt(rough, 1e-10)
    expect_lt(rough, 1e-5)
  }
})

test_that("reductions of every kind can be looked at", {
  K <- sqdist(Vi(x), Vj(y))
  for (op in c("min", "max", "mean", "logsumexp", "variance")) {
    expect_lt(audit(reduction(K, op, call = FALSE))$error, 1e-12, label = op)
  }
  expect_lt(audit(reduction(K, "Kmin", K = 3, call = FALSE))$error, 1e-12)
  expect_lt(audit(reduction(K, "min_argmin", call = FALSE))$error, 1e-12)
  expect_lt(audit(reduction(K, "sum", weight = Vj(y[, 1]), call = FALSE))$error, 1e-12)
})

test_that("a solution that was stopped early is found out", {
  K <- kernel_matern(x, x, 0.3)
  b <- stats::rnorm(400)
  good <- audit(solve(K, b, ridge = 0.1, method = "cg", report = TRUE), rows = 400)
  expect_lt(good$error, 1e-5)
  expect_identical(good$share, 0)
  bad <- suppressWarnings(solve(K, b, ridge = 0.1, method = "cg", precondition = FALSE, max_iter = 3, report = TRUE))
  expect_gt(audit(bad)$error, 1e-3)
  with_trend <- solve(K, b, ridge = 0.1, trend = cbind(1, x), method = "cg", report = TRUE)
  expect_lt(audit(with_trend)$error, 1e-4)
})

test_that("it prints the share of rows that may be worse, and refuses what it cannot look at", {
  K <- sqdist(Vi(x), Vj(y))
  expect_output(print(audit(reduction(K, "sum", call = FALSE))), "32 of 400 rows; at most 8.9 % of all")
  expect_error(audit(reduction(K, "sum", index = "ij", call = FALSE)), class = "kernweave_error_unsupported")
  expect_error(audit(1:3), class = "kernweave_error_input")
})
