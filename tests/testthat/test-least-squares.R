# least_squares() of matrices, lazy tensors and operators of every shape, against QR, singular values and closed forms.

set.seed(41)
M <- matrix(stats::rnorm(300 * 40), 300)
B <- matrix(stats::rnorm(900), 300)
points <- matrix(stats::runif(600), 300)
K <- kernel_matern(points, points[1:12, ], 0.3, 0.5)

# The shortest minimum, by singular values.
shortest <- function(A, b, ridge = 0) {
  s <- svd(rbind(A, diag(sqrt(ridge), ncol(A))))
  keep <- s$d > 1e-10 * s$d[1]
  s$v[, keep] %*% (crossprod(s$u[, keep], rbind(as.matrix(b), matrix(0, ncol(A), NCOL(b)))) / s$d[keep])
}
slope <- function(A, x, b, ridge) {
  sqrt(colSums((crossprod(A, b - A %*% x) - ridge * x)^2) / colSums(crossprod(A, b)^2))
}
tight <- function(...) least_squares(..., tol = 1e-11, max_iter = 5000, report = TRUE)

test_that("the minimum is that of QR, of lm.fit and of the closed form of ridge regression", {
  expect_equal(unclass(tight(M, B)), qr.solve(M, B), ignore_attr = TRUE, tolerance = 1e-8)
  expect_equal(as.vector(tight(M, B[, 1])), unname(stats::lm.fit(M, B[, 1])$coefficients), tolerance = 1e-8)
  for (ridge in list(3, 1e-4, stats::runif(40), c(0, rep(10, 39)))) {
    exact <- solve(crossprod(M) + diag(ridge, 40), crossprod(M, B))
    expect_equal(unclass(tight(M, B, ridge)), exact, ignore_attr = TRUE, tolerance = 1e-8)
  }
})

test_that("lazy tensors, operators, sparse and dense matrices, tall and wide, are all one", {
  skip_below("quick")
  S <- Matrix::rsparsematrix(300, 40, 0.1)
  ops <- list(K, t(K), as_op(M), S, M + as_op(S), cbind(as_op(M), K), K %*% as_op(matrix(stats::rnorm(60), 12)),
              function_op(function(v) M %*% v, c(300, 40), transposed = function(v) t(M) %*% v), Vij(M),
              as.data.frame(M), lazy_set(K, precision = "float32"), diagonal_op(1:5) %*% kernel_gaussian(points[1:5, ]))
  for (k in seq_along(ops)) for (ridge in c(0, 0.1)) {
    A <- as.matrix(if (is.data.frame(ops[[k]])) ops[[k]] else as_op(ops[[k]]))
    if (k == 11) A <- as.matrix(K)
    b <- matrix(stats::rnorm(nrow(A) * 2), nrow(A))
    found <- tight(ops[[k]], b, ridge)
    expect_equal(unclass(found), shortest(unname(A), b, ridge), ignore_attr = TRUE, tolerance = 1e-6,
                 label = paste("operator", k))
    report <- solve_report(found)
    expect_true(report$converged, label = paste("operator", k))
    expect_identical(report$dim, as.numeric(dim(A)))
  }
})

test_that("of many minima it is the shortest, and from a start the nearest", {
  low <- M[, 1:5] %*% matrix(stats::rnorm(200), 5)
  expect_equal(unclass(tight(low, B)), shortest(low, B), ignore_attr = TRUE, tolerance = 1e-8)
  wide <- t(M)
  b <- stats::rnorm(40)
  x <- tight(wide, b)
  expect_equal(as.vector(x), as.vector(shortest(wide, b)), tolerance = 1e-8)
  from <- stats::rnorm(300)
  near <- tight(wide, b, start = from)
  expect_equal(as.vector(near), from + as.vector(shortest(wide, b - wide %*% from)), tolerance = 1e-8)
})

test_that("the tolerance is that of the normal equations, column by column, and recomputed", {
  sides <- cbind(B, 1e-8 * B[, 1], 0, qr.resid(qr(M), B[, 2]))
  for (tol in c(1e-2, 1e-5)) for (ridge in c(0, 5)) {
    found <- least_squares(M, sides, ridge, tol = tol, report = TRUE)
    report <- solve_report(found)
    expect_lt(max(slope(M, found, sides, ridge)[1:4]), tol)
    expect_equal(report$residual[1:4], slope(M, found, sides, ridge)[1:4], tolerance = 1e-3)
    expect_true(report$converged)
    expect_identical(found[, 5], numeric(40))
    expect_lt(max(abs(found[, 6])), 1e-12)
    expect_identical(report$iterations[5], 0L)
    expect_lte(max(report$iterations), length(report$history))
  }
  warm <- least_squares(M, B, start = qr.solve(M, B), report = TRUE)
  expect_identical(max(solve_report(warm)$iterations), 0L)
  expect_gt(solve_report(warm)$products, 0)
})

test_that("what is not reached is a warning with a remedy, and the residual it reports is true", {
  expect_warning(found <- least_squares(M, B, max_iter = 3, report = TRUE),
                 "least squares ended after 3 iterations.*ridge", class = "kernweave_warning_convergence")
  report <- solve_report(found)
  expect_equal(report$residual, slope(M, found, B, 0), tolerance = 1e-8)
  expect_false(report$converged)
  expect_output(print(report), "300 x 40, lsmr, not converged")
  history <- report$history
  expect_true(all(diff(history) < 0))
})

test_that("results are shaped and named as A's columns and b, for sizes from none on", {
  named <- M
  colnames(named) <- sprintf("v%d", 1:40)
  sides <- B
  colnames(sides) <- c("a", "b", "c")
  expect_identical(names(least_squares(named, stats::setNames(B[, 1], 1:300))), colnames(named))
  expect_identical(dimnames(least_squares(named, sides)), list(colnames(named), colnames(sides)))
  expect_null(dimnames(least_squares(M, B)))
  expect_identical(dim(least_squares(M, B[, 0])), c(40L, 0L))
  expect_length(least_squares(M[, 0], B[, 1]), 0)
  expect_identical(as.vector(least_squares(M[0, ], numeric())), numeric(40))
  expect_equal(as.vector(least_squares(matrix(2), 3)), 1.5)
  expect_equal(as.vector(least_squares(matrix(0, 3, 2), 1:3)), c(0, 0))
})

test_that("mistakes are told by class and size", {
  expect_error(least_squares(M, 1:40), "40 rows, but the matrix has 300", class = "kernweave_error_shape")
  expect_error(least_squares(M, B, ridge = -1), class = "kernweave_error_input")
  expect_error(least_squares(M, B, ridge = 1:3), class = "kernweave_error_shape")
  expect_error(least_squares(M, B, start = B), "300 rows, but the matrix has 40 columns",
               class = "kernweave_error_shape")
  expect_error(least_squares(M, B, start = M[1:40, 1:2]), "2 columns, but `b` has 3", class = "kernweave_error_shape")
  expect_error(least_squares(function_op(function(v) M %*% v, c(300, 40)), B), "transpose",
               class = "kernweave_error_unsupported")
  expect_error(least_squares(replace(M, 1, NaN), B), "not finite", class = "kernweave_error_input")
  expect_error(least_squares(M, replace(B, 1, NA)), class = "kernweave_error_input")
  expect_error(least_squares(M, B, tol = 0), class = "kernweave_error_input")
  expect_error(least_squares(M, B, max_iter = 0), class = "kernweave_error_input")
  expect_error(gradient(function(v) sum(least_squares(M, v)))(B[, 1]), class = "kernweave_error_no_gradient")
})
