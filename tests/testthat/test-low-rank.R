# lowrank(), and systems of a low rank and a diagonal, against dense linear algebra.

set.seed(21)
x <- matrix(stats::runif(1200), 400)
smooth <- kernel_gaussian(x, x, 0.8)
rough <- kernel_matern(x, x, 0.3, 1.5)
b <- matrix(stats::rnorm(1200), 400)
left_of <- function(A, K) 1 - sum(diag(A)) / sum(diag(as.matrix(K)))
off <- function(A, K) max(abs(as.matrix(A) - as.matrix(K)))
by_products_of <- function(M, ...) function_op(function(v) M %*% v, nrow(M), symmetric = TRUE, ...)

test_that("landmarks stand for the matrix: exact at them, nothing negative left, the residual true", {
  for (K in list(smooth, rough)) {
    A <- lowrank(K, 60, seed = 3)
    expect_identical(dim(A$factor), c(400L, 60L))
    expect_length(unique(A$landmarks), 60)
    rest <- as.matrix(K) - as.matrix(A)
    expect_lt(max(abs(rest[A$landmarks, ])), 1e-7)
    expect_gt(min(eigen(rest, TRUE, TRUE)$values), -1e-7)
    expect_equal(A$residual, sum(diag(rest)) / 400, tolerance = 1e-6)
  }
})

test_that("a tolerance is reached with as few columns as reach it, by landmarks and by a sketch", {
  skip_below("quick")
  for (tol in c(0.5, 1e-1, 1e-3)) {
    A <- lowrank(rough, tol = tol, seed = 1)
    expect_lte(left_of(A, rough), tol * (1 + 1e-9))
    fewer <- A$factor[, -ncol(A$factor), drop = FALSE]
    expect_gt(1 - sum(fewer^2) / 400, tol)
    S <- lowrank(by_products_of(as.matrix(rough)), tol = tol, seed = 1)
    expect_lte(left_of(S, rough), 1.3 * tol)
    expect_lte(ncol(S$factor), ncol(A$factor))
  }
  expect_identical(length(lowrank(rough, 5, tol = 1e-6)$landmarks), 5L)
})

test_that("a sketch is near the best that its rank allows, and says what it leaves", {
  skip_below("quick")
  values <- eigen(as.matrix(smooth), TRUE, TRUE)$values
  best <- sum(values[-(1:40)]) / sum(values)
  for (op in list(by_products_of(as.matrix(smooth)), as_op(as.matrix(smooth)), smooth + 0 * rough + as_op(diag(0, 400)),
                  as_op(Vij(as.matrix(smooth))))) {
    S <- lowrank(op, 40, seed = 2)
    expect_null(S$landmarks)
    expect_lt(left_of(S, smooth), 20 * best)
    expect_lt(abs(log(S$residual / left_of(S, smooth))), log(3))
  }
  expect_lt(off(lowrank(smooth %*% smooth, 400), as.matrix(smooth) %*% as.matrix(smooth)), 1e-8)
})

test_that("diagonals are taken apart and added again, one seed gives one operator", {
  A <- lowrank(rough, 50, ridge = 0.1, seed = 4)
  expect_identical(as.matrix(lowrank(rough + 0.1 * identity_op(400), 50, seed = 4)), as.matrix(A))
  expect_equal(diag(A), rowSums(A$factor^2) + 0.1)
  set.seed(1)
  first <- lowrank(rough, 50)$landmarks
  set.seed(1)
  expect_identical(lowrank(rough, 50)$landmarks, first)
  d <- stats::runif(400)
  S <- by_products_of(as.matrix(rough)) + diagonal_op(d)
  expect_equal(diag(lowrank(S, 400, seed = 1)), 1 + d, tolerance = 1e-6)
})

test_that("a low rank and a diagonal are solved, and their determinant known, exactly", {
  skip_below("quick")
  d <- stats::runif(400, 0.5, 2)
  F <- matrix(stats::rnorm(2000), 400)
  thin <- kernel_gaussian(x, x[1:7, ], 0.5)
  rows <- list(
    lowrank(rough, 50, ridge = 0.1), lowrank(rough, 50) + diagonal_op(d),
    2 * lowrank(smooth, 30) + 0.5 * identity_op(400), lowrank(smooth, 30) + lowrank(rough, 20) + identity_op(400),
    as_op(F) %*% t(as_op(F)) + diagonal_op(d),
    tcrossprod(as_op(F)) + diagonal_op(d), tcrossprod(thin) + Matrix::Diagonal(400, d),
    lowrank(rough, 400, ridge = 0.1),
    diagonal_op(d) + tcrossprod(as_op(F[, 0]))
  )
  for (k in seq_along(rows)) {
    A <- rows[[k]]
    full <- as.matrix(A)
    found <- solve(A, b, report = TRUE)
    expect_identical(solve_report(found)$method, "woodbury", label = paste("row", k))
    expect_equal(unclass(found), solve(full, b), tolerance = 1e-9, ignore_attr = TRUE, label = paste("row", k))
    expect_lt(max(solve_report(found)$residual), 1e-12, label = paste("row", k))
    expect_equal(as.numeric(logdet(A)), as.numeric(determinant(full)$modulus), tolerance = 1e-10)
    expect_equal(solve(A) %*% b, solve(full, b), tolerance = 1e-9)
    expect_equal(as.numeric(determinant(A, logarithm = FALSE)$modulus), det(full), tolerance = 1e-8)
  }
  A <- lowrank(smooth, 80)
  found <- solve(A, b, ridge = 1e-9, report = TRUE)
  full <- as.matrix(A) + diag(1e-9, 400)
  dense <- sqrt(colSums((b - full %*% solve(full, b))^2) / colSums(b^2))
  expect_lt(max(solve_report(found)$residual), 10 * max(dense))
  expect_equal(as.numeric(logdet(A, ridge = d)), as.numeric(determinant(as.matrix(A) + diag(d))$modulus))
  expect_output(print(solve_report(found)), "woodbury")
})

test_that("what is no low rank and positive diagonal goes the way of other operators", {
  F <- matrix(stats::rnorm(60), 20)
  rows <- list(identity_op(20) - 0.01 * tcrossprod(as_op(F)), tcrossprod(as_op(F)) - 0.5 * identity_op(20),
               as_op(F) %*% as_op(t(F + 1)) + 3 * identity_op(20))
  for (A in rows) {
    expect_identical(solve_report(solve(A, 1:20, report = TRUE))$method, "dense")
    expect_equal(as.vector(solve(A, 1:20)), solve(as.matrix(A), 1:20))
  }
  A <- lowrank(rough, 10, ridge = 1)
  expect_identical(solve_report(solve(A, b, method = "cg", report = TRUE))$method, "cg")
})

test_that("a low rank without a ridge is not solved for, and what has none is told", {
  expect_error(solve(lowrank(rough, 10), b), "rank 10 and 400 rows", class = "kernweave_error_indefinite")
  expect_error(logdet(lowrank(rough, 10)), class = "kernweave_error_indefinite")
  expect_error(solve(lowrank(rough, 10)), class = "kernweave_error_indefinite")
  expect_error(lowrank(rough, 10, ridge = -1), class = "kernweave_error_input")
  expect_error(lowrank(rough, 10, ridge = 1:3), "3 numbers for 400", class = "kernweave_error_shape")
  expect_error(lowrank(rough, tol = 2), class = "kernweave_error_input")
  expect_error(lowrank(rough, 0), class = "kernweave_error_input")
  expect_error(lowrank(kernel_gaussian(x, x[1:3, ])), "400 x 3", class = "kernweave_error_shape")
  expect_error(lowrank(-sqdist(Vi(x), Vj(x)), 10), class = "kernweave_error_indefinite")
  expect_error(lowrank(1 - sqdist(Vi(x), Vj(x)), 10), class = "kernweave_error_indefinite")
  expect_error(lowrank(-rough, 10), class = "kernweave_error_indefinite")
  expect_error(lowrank(kernel_gaussian(x, x[400:1, ]), 10), class = "kernweave_error_indefinite")
  expect_error(lowrank(as_op(-as.matrix(rough)), 10), class = "kernweave_error_indefinite")
  expect_error(lowrank(by_products_of(-as.matrix(rough)), 10), class = "kernweave_error_indefinite")
  expect_error(lowrank(as_op(b %*% t(b[400:1, ])), 10), class = "kernweave_error_indefinite")
  expect_error(gradient(function(s) sum(lowrank(exp(-sqdist(Vi(x), Vj(x)) * s), 3) %*% b))(1),
               class = "kernweave_error_no_gradient")
  old <- options(kernweave.max_dense_mb = 0.05)
  on.exit(options(old))
  expect_warning(lowrank(rough, tol = 1e-6), "needs? a larger", class = "kernweave_warning_convergence")
})

test_that("a low rank shows what it is, keeps names, is cut, saved and of any size", {
  A <- lowrank(rough, 20, ridge = 0.5)
  expect_output(print(A), "lowrank\\(400 x 400, rank 20\\) \\+ 0.5 \\* I\n  low rank: 20 landmarks leave 0[.]")
  expect_output(print(summary(A)), "low rank: 1")
  expect_output(print(lowrank(as_op(as.matrix(rough)), 5)), "5 columns, from a sketch, leave")
  rownames(x) <- sprintf("p%d", 1:400)
  named <- lowrank(kernel_gaussian(x, x, 0.5), 10)
  expect_identical(rownames(named), rownames(x))
  expect_equal(as.matrix(named[c("p2", "p9"), 3:4]), as.matrix(named)[c("p2", "p9"), 3:4])
  expect_identical(dimnames(t(named)), dimnames(named))
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(A, file)
  expect_identical(readRDS(file) %*% b, A %*% b)
  for (n in 0:2) {
    K <- kernel_gaussian(x[seq_len(n), , drop = FALSE], x[seq_len(n), , drop = FALSE], 0.5)
    small <- lowrank(K, ridge = 1)
    expect_identical(dim(small), c(n, n))
    expect_equal(small %*% solve(small, rep(1, n)), matrix(1, n, 1), tolerance = 1e-10,
                 ignore_attr = TRUE)
  }
})

test_that("derivatives go through products with a low rank, and its solutions", {
  A <- lowrank(rough, 30, seed = 1)
  full <- as.matrix(A)
  v <- stats::rnorm(400)
  expect_equal(gradient(function(v) sum(v * (A %*% v)))(v)[[1]], as.vector(2 * full %*% v))
  B <- A + identity_op(400)
  weights <- solve(full + diag(400), b[, 1])
  expect_equal(gradient(function(v) sum(b[, 1] * solve(B, v)))(v)[[1]], weights)
  expect_equal(gradient(function(r) sum(b[, 1] * solve(A + r * identity_op(400), v)))(1)[[1]],
               -sum(weights * solve(full + diag(400), v)))
  expect_equal(gradient(function(v) sum(b[, 1] * (solve(B) %*% v)))(v)[[1]], weights)
  expect_equal(gradient(function(r) logdet(A + r * identity_op(400)))(1)[[1]], sum(diag(solve(full + diag(400)))))
})

test_that("50 000 points are solved for without a matrix of them", {
  skip_below("quick")
  many <- matrix(stats::runif(1e5), 5e4)
  A <- lowrank(kernel_gaussian(many, many, 0.5), 40, ridge = 0.01, seed = 1)
  y <- stats::rnorm(5e4)
  slope <- gradient(function(s, r) logdet(s * A + r * identity_op(5e4)))(2, 0.1)
  expect_equal(2 * slope$s + 0.1 * slope$r, 5e4, tolerance = 1e-10)
  w <- solve(A, y)
  expect_lt(sqrt(sum((A %*% w - y)^2) / sum(y^2)), 1e-10)
  expect_lt(as.numeric(utils::object.size(A$factor)), 2e7)
})
