# Sums and means with a tolerance: those of all pairs, whatever weighs them.

test_that("sums and means take a tolerance, and the diagonal may be left out", {
  set.seed(9)
  x <- matrix(stats::runif(4000), ncol = 2)
  y <- matrix(stats::runif(2400), ncol = 2)
  b <- stats::rnorm(1200)
  K <- kernel_matern(x, y, scale = 0.2, nu = 1.5)
  near <- function(found, exact) expect_lt(max(abs(found - exact)), 1e-4 * max(abs(exact)))
  near(sum(K * Vj(b), index = "j", tol = 1e-6), sum(K * Vj(b), index = "j"))
  near(sum(K, index = "i", tol = 1e-6), sum(K, index = "i"))
  near(reduction(K, "mean", tol = 1e-6, drop = TRUE), reduction(K, "mean", drop = TRUE))
  near(reduction(K, "sum", weight = Vj(cbind(b, 1)), tol = 1e-6), reduction(K, "sum", weight = Vj(cbind(b, 1))))
  apart <- exclude_diag(kernel_gaussian(x, scale = 0.1))
  near(sum(apart, index = "j", tol = 1e-6), sum(apart, index = "j"))
  near(reduction(apart, "mean", tol = 1e-6), reduction(apart, "mean"))
  A <- approximate(apart, 1e-7, "proof")
  near(A %*% rep(1, 2000), apart %*% rep(1, 2000))
  expect_lt(audit(A)$error, 1e-4)
  expect_error(reduction(K, "max", tol = 1e-3), "sums and means", class = "kernweave_error_unsupported")
  for (code in expression(reduction(K, "sum", tol = 1e-3, by = rep(1:2, 1000)), reduction(K, "sum", tol = 1e-3, K = 2),
                          reduction(K, "sum", tol = 1e-3, call = FALSE)))
    expect_error(eval(code), "takes no", class = "kernweave_error_unsupported", label = deparse(code))
})

test_that("a weight of a sum with a tolerance may vary along either axis, both or neither, over each axis or both", {
  skip_below("quick")
  set.seed(23)
  x <- matrix(stats::runif(800), ncol = 2)
  y <- matrix(stats::runif(600), ncol = 2)
  K <- kernel_gaussian(x, y, scale = 0.2)
  M <- exp(-outer(x[, 1], y[, 1], "-")^2 / 0.08 - outer(x[, 2], y[, 2], "-")^2 / 0.08)
  a <- stats::rnorm(400)
  b <- stats::rnorm(300)
  weights <- list(rows = Vi(a), columns = Vj(b), both = Vi(a) * Vj(b), number = Pm(3), same = kernel_cauchy(x, y))
  values <- list(rows = a * M, columns = t(t(M) * b), both = outer(a, b) * M, number = 3 * M,
                 same = M / (1 - 0.08 * log(M)))
  for (name in names(weights)) {
    found <- lapply(c("j", "i", "ij"), function(index) sum(K, index = index, weight = weights[[name]], tol = 1e-8))
    exact <- lapply(list(rowSums(values[[name]]), colSums(values[[name]]), sum(values[[name]])), as.matrix)
    expect_equal(found, exact, tolerance = 1e-6, label = name)
  }
  expect_error(sum(K, index = "j", weight = Vij(M), tol = 1e-6), "`F` is not a formula of one distance",
               class = "kernweave_error_not_a_distance")
  expect_error(sum(kernel_gaussian(cbind(x, x)), index = "j", tol = 1e-6), "`F` is a formula of points of 4 components",
               class = "kernweave_error_dimension")
  expect_identical(sum(K, index = "ij", tol = 1e-6, drop = TRUE), sum(K, index = "ij", tol = 1e-6)[1])
  total <- function(x, tol) sum(kernel_gaussian(x, y, scale = 0.2), index = "ij", tol = tol)
  expect_equal(gradient(total, "x")(x, 1e-8), gradient(total, "x")(x, NULL), tolerance = 1e-5)
})

test_that("sums and means of rows and columns take a tolerance and settings, and nothing else", {
  x <- with_local_seed(24, matrix(stats::runif(3000), ncol = 2))
  K <- kernel_matern(x, x[1:900, ], scale = 0.2, nu = 1.5)
  for (f in c(rowSums, colSums, rowMeans, colMeans)) {
    expect_equal(f(K, tol = 1e-7), f(K), tolerance = 1e-6)
    expect_false(identical(f(K, tol = 1e-2), f(K)))
    expect_equal(f(K, precision = "float32"), f(K), tolerance = 1e-5)
    expect_error(f(K, tolerance = 1e-6), "no setting `tolerance`", class = "kernweave_error_settings")
    expect_error(f(as_op(K), tol = 1e-6), "no argument `tol`", class = "kernweave_error_input")
    expect_error(f(exp(1i * K), foo = 1), "no setting `foo`", class = "kernweave_error_settings")
  }
  expect_error(reduction(K, c("sum", "mean"), tol = 1e-3), "one reduction", class = "kernweave_error_unsupported")
})
