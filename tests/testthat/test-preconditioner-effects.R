# Tests systems, determinants and preconditioners of K + V V' of a sparse matrix V, such as of random effects.

# Groups of n points: kinds of levels that a sparse factor and a dense border meet.
kinds_of_levels <- function(n, x) {
  list(one = rep(1, n), each = seq_len(n), scattered = 1 + (7 * seq_len(n)) %% 41,
       local = as.integer(cut(x[, 1], 12)) + 100 * as.integer(cut(x[, 2], 9)),
       pairs = (seq_len(n) + 1) %/% 2)
}

# A sparse matrix with a column for each level, and one for a level of no row.
columns_of_levels <- function(g, by = 1) {
  V <- Matrix::t(Matrix::fac2sparse(factor(g)))
  cbind(by * V, Matrix::sparseMatrix(integer(), integer(), x = numeric(), dims = c(length(g), 1)))
}

test_that("the preconditioner of K + V V' is that of K, plus V V'", {
  set.seed(6)
  n <- 331
  x <- matrix(stats::runif(2 * n), n)
  K <- kernel_matern(x, x, scale = 0.3, nu = 1.5)
  ridge <- stats::runif(n, 0.05, 0.2)
  for (rank in c(1, 25)) {
    of_K <- solve(preconditioner(K, ridge, rank = rank, local = "always"), diag(n))
    for (g in kinds_of_levels(n, x)) {
      V <- columns_of_levels(g, stats::runif(n, 0.2, 2))
      P <- preconditioner(K + tcrossprod(as_op(V)), ridge, rank = rank)
      expect_equal(solve(P, solve(of_K) + as.matrix(Matrix::tcrossprod(V))), diag(n), tolerance = 1e-8)
    }
  }
  again <- unserialize(serialize(P, NULL))
  b <- stats::rnorm(n)
  expect_identical(solve(again, b), solve(P, b))
})

test_that("systems, determinants and their derivatives of K + V V' are those of the matrix", {
  set.seed(7)
  n <- 307
  x <- matrix(stats::runif(2 * n), n)
  K <- kernel_matern(x, x, scale = 0.3, nu = 1.5)
  b <- cbind(stats::rnorm(n), 1)
  for (g in kinds_of_levels(n, x)) {
    V <- cbind(columns_of_levels(g, 0.7), columns_of_levels(rep(1:3, length.out = n)))
    A <- K + tcrossprod(as_op(V))
    dense <- as.matrix(K) + as.matrix(Matrix::tcrossprod(V)) + diag(0.1, n)
    expect_equal(solve(A, b, ridge = 0.1, method = "cg", tol = 1e-10), solve(dense, b), tolerance = 1e-7)
    B <- Matrix::Diagonal(ncol(V), seq_len(ncol(V)) %% 2)
    B <- methods::as(methods::as(B, "generalMatrix"), "CsparseMatrix")
    found <- logdet(A, 0.1, probes = 64, seed = 1, method = "lanczos", along = list(K, B, rep(0.1, n)))
    expect_lt(abs(found - determinant(dense)$modulus), 4.5 * attr(found, "se") + 1e-8)
    inverse <- solve(dense)
    trace <- function(B) sum(inverse * B)
    true <- c(trace(as.matrix(K)), trace(as.matrix(V %*% B %*% Matrix::t(V))), 0.1 * sum(diag(inverse)))
    slopes <- attr(found, "along")
    expect_true(all(abs(slopes$value - true) < 4.5 * apply(slopes$each, 2, stats::sd) / 8 + 1e-8))
    exact <- logdet(A, 0.1, along = list(K, B, rep(0.1, n)))
    expect_equal(as.numeric(exact), as.numeric(determinant(dense)$modulus))
    expect_equal(attr(exact, "along")$value, true)
  }
  expect_equal(solve(A + 0.1 * identity_op(n), b[, 1]), solve(dense, b[, 1]), tolerance = 1e-8)
  V[1, 1] <- NaN
  expect_error(preconditioner(K + tcrossprod(as_op(V)), 0.1), "not finite", class = "kernweave_error_value")
  expect_error(logdet(A, 0.1, method = "lanzcos"), class = "kernweave_error_input")
  expect_error(logdet(A, 0.1, probes = 1), "probes", class = "kernweave_error_input")
  expect_error(gradient(function(r) logdet(A, r, method = "lanczos"))(0.1), class = "kernweave_error_no_gradient")
})

test_that("systems and determinants of K + V V' on the GPU are those of the host", {
  skip_without_gpu()
  set.seed(8)
  n <- 5003
  x <- matrix(stats::runif(2 * n), n)
  V <- cbind(columns_of_levels(as.integer(cut(x[, 1], 20)) + 100 * as.integer(cut(x[, 2], 20)), 0.5),
             columns_of_levels(1 + (7 * seq_len(n)) %% 41))
  b <- stats::rnorm(n)
  of <- function(device) {
    K <- lazy_set(kernel_matern(x, x, scale = 0.2, nu = 1.5), device = device)
    A <- K + tcrossprod(as_op(V))
    P <- preconditioner(A, 0.1, rank = 100)
    logdet <- logdet(A, 0.1, seed = 1, precondition = P, along = list(K, rep(0.1, n)))
    list(x = solve(A, b, ridge = 0.1, tol = 1e-9, precondition = P), applied = solve(P, b), logdet = as.numeric(logdet),
         slopes = attr(logdet, "along")$value)
  }
  expect_equal(of("gpu"), of("cpu"), tolerance = 1e-5)
})
