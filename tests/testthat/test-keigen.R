# Eigenpairs and traces, and other packages' functions for them, against dense algebra.

set.seed(21)
x <- matrix(stats::runif(900), 300)
K <- kernel_gaussian(x, scale = 0.3)
rough <- kernel_laplacian(x, scale = 0.3)
true_residuals <- function(A, e) sqrt(colSums((A %*% e$vectors - e$vectors %*% diag(e$values, length(e$values)))^2))
largest <- function(A, k) eigen(as.matrix(A), symmetric = TRUE)$values[seq_len(k)]

expect_eigen <- function(A, k, ..., tol = 1e-8, label = format(A)) {
  e <- keigen(A, k, tol = tol, ...)
  scale <- max(abs(e$values))
  expect_close(e$values, largest(A, k), 1e-10, scale, label)
  expect_close(crossprod(e$vectors), diag(k), 1e-10, label = label)
  expect_true(all(true_residuals(A, e) <= 1.01 * tol * abs(e$values) + 1e-12 * scale), label = label)
  expect_true(all(abs(true_residuals(A, e) - e$residuals) <= 1e-12 * scale), label = label)
  invisible(e)
}

test_that("the largest eigenvalues of any operator are those of the dense matrix, with honest residuals", {
  skip_below("quick")
  M <- crossprod(matrix(stats::rnorm(3600), 60))
  S <- Matrix::forceSymmetric(Matrix::rsparsematrix(60, 60, 0.1))
  for (A in list(as_op(K), as_op(rough), K + 0.1 * identity_op(300), -as_op(K) + rough, as_op(M), as_op(S),
                 crossprod(kernel_gaussian(x, x[1:40, ], 0.5)), kronecker(as_op(M[1:5, 1:5]), as_op(S)),
                 block_op(list(list(M, S), list(S, NULL))), diagonal_op(stats::rnorm(50)))) {
    for (k in if (reaches("quick")) c(1, 7, 40) else 7) expect_eigen(A, k)
  }
})

test_that("every block, every basis and every size comes to the same pairs", {
  skip_below("quick")
  for (block in c(1, 2, 5, 64)) expect_eigen(rough, 12, block = block, max_iter = 1000)
  # If memory is this small, the basis is exchanged again and again.
  for (block in c(2, 5, 16)) expect_eigen(rough, 12, block = block, max_iter = 1000, basis_mb = 0)
  for (n in c(1, 2, 15, 16, 17, 33)) expect_eigen(as_op(crossprod(matrix(stats::rnorm(n^2), n))), n)
  warm <- keigen(rough, 8)
  expect_lt(expect_eigen(rough, 8, start = warm$vectors)$passes, warm$passes)
})

test_that("equal eigenvalues, a matrix of low rank and one of zeros are no trouble", {
  expect_eigen(identity_op(100), 5)
  F <- matrix(stats::rnorm(300), 100)
  expect_eigen(as_op(F) %*% t(as_op(F)) + 0 * identity_op(100), 10)
  expect_eigen(diagonal_op(rep(c(3, 2, 1), c(10, 20, 70))), 40)
  expect_identical(keigen(as_op(matrix(0, 30, 30)), 3)$values, numeric(3))
})

test_that("the same seed gives the same bits, for lazy tensors, operators and matrices alike", {
  expect_identical(keigen(K, 4), keigen(as_op(K), 4))
  expect_identical(keigen(K, 4, seed = 2), keigen(K, 4, seed = 2))
  expect_equal(keigen(as.matrix(K), 4)$values, keigen(K, 4)$values)
  named <- matrix(stats::runif(40), 20, dimnames = list(sprintf("p%d", 1:20), NULL))
  expect_identical(rownames(keigen(kernel_gaussian(named), 2)$vectors), rownames(named))
})

test_that("float32 products give pairs as good as they can be, and their residuals say so", {
  quick <- keigen(lazy_set(K, precision = "float32"), 5, tol = 1e-5)
  expect_close(quick$values, largest(K, 5), 1e-5, quick$values[1])
  expect_true(all(true_residuals(K, quick) <= 10 * quick$residuals + 1e-5 * quick$values[1]))
})

test_that("what has no eigenpairs, or cannot be asked for, is refused by class", {
  L <- kernel_gaussian(x, x[1:10, ])
  refused <- function(code, class) expect_error(code, class = paste0("kernweave_error_", class))
  refused(keigen(L, 2), "shape")
  refused(keigen(Vi(x)[, , 1] * K, 2), "indefinite")
  refused(keigen(matrix(1:9, 3), 2), "indefinite")
  refused(keigen(K, 301), "shape")
  refused(keigen(K, 0), "input")
  refused(keigen(K, 3, tol = 0), "input")
  refused(keigen(K, 3, block = 0), "input")
  refused(keigen(K, 3, start = matrix(0, 3, 3)), "shape")
  refused(keigen(K, 3, seed = -1), "input")
  refused(keigen(diag(c(NaN, 1)), 1), "input")
  refused(keigen(kernel_gaussian(x * NA), 1), "input")
  refused(trace_estimate(L), "shape")
  refused(trace_estimate(K, probes = 3), "input")
  expect_warning(e <- keigen(rough, 20, max_iter = 3), class = "kernweave_warning_convergence")
  expect_gt(max(e$residuals), 1e-8)
  expect_output(print(keigen(K, 3)), "<eigenpairs> 3 of 300, . products, residuals up to")
})

test_that("a trace is exact where the diagonal is known, and within its error where it is not", {
  skip_below("quick")
  dense <- as.matrix(K)
  F <- kernel_gaussian(x, x[1:40, ], 0.5)
  small <- function_op(function(v) dense[1:20, 1:20] %*% v, 20)
  for (A in list(K, K + 0.1 * identity_op(300), tcrossprod(F), F %*% t(F), kronecker(K, diag(2)), dense,
                 block_op(list(list(K, NULL), list(NULL, 2 * K))), small)) {
    found <- trace_estimate(A)
    expect_equal(as.numeric(found), sum(diag(as.matrix(as_op(A)))))
    expect_identical(attr(found, "se"), 0)
  }
  slow <- function_op(function(v) (dense + 0.01 * t(dense)^3) %*% v, 300)
  deviations <- vapply(1:40, function(seed) {
    found <- trace_estimate(slow, probes = 60, seed = seed)
    (as.numeric(found) - sum(diag(dense + 0.01 * dense^3))) / attr(found, "se")
  }, 0)
  expect_gt(mean(abs(deviations) < 3), 0.9)
  cube <- K %*% K %*% K
  expect_equal(as.numeric(trace_estimate(cube, seed = 1)), sum(diag(dense %*% dense %*% dense)), tolerance = 1e-3)
  expect_identical(trace_estimate(cube, seed = 1), trace_estimate(cube, seed = 1))
})

test_that("RSpectra and irlba take lazy tensors and operators", {
  F <- kernel_gaussian(x, x[1:40, ], 0.3)
  A <- K + 0.1 * identity_op(300)
  singular <- svd(as.matrix(F))$d[1:3]
  if (requireNamespace("irlba", quietly = TRUE)) {
    for (op in list(F, as_op(F), t(as_op(F)))) expect_equal(irlba::irlba(op, nv = 3)$d, singular)
    expect_equal(irlba::irlba(as_op(F) %*% t(F), nv = 3)$d, singular^2)
  }
  skip_without_peer("RSpectra")
  for (op in list(K, as_op(K))) expect_equal(RSpectra::eigs_sym(op, 3)$values, largest(K, 3))
  expect_equal(RSpectra::eigs_sym(A, 3)$values, largest(A, 3))
  for (op in list(F, as_op(F))) {
    found <- RSpectra::svds(op, 3)
    expect_equal(found$d, singular)
    expect_equal(abs(diag(crossprod(found$u, as.matrix(F) %*% found$v))), singular)
  }
  expect_equal(Re(RSpectra::eigs((1 + Vi(x)[, , 1]) * K, 2)$values),
               Re(eigen((1 + x[, 1]) * as.matrix(K))$values[1:2]))
  expect_error(RSpectra::eigs_sym(K, 2, sigma = 0), class = "kernweave_error_unsupported")
  expect_error(RSpectra::eigs_sym(F, 2), class = "kernweave_error_shape")
})
