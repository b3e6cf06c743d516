# root_op() and simulate() against dense matrices, and against what draws must look like.

places <- function(n, D, seed = 1) {
  set.seed(seed)
  matrix(stats::runif(n * D), n)
}

covariances <- list(
  gaussian = function(x) kernel_gaussian(x, x, 0.3),
  laplacian = function(x) kernel_laplacian(x, x, 0.3),
  matern32 = function(x) kernel_matern(x, x, 0.3, 1.5),
  matern52 = function(x) kernel_matern(x, x, 0.3, 2.5)
)

dense_sum <- function(K, ridge) as.matrix(K) + diag(ridge, nrow(K))
covariance_of <- function(M) tcrossprod(as.matrix(M))

preconditioners <- list(
  "two parts" = function(K, ridge) preconditioner(K, ridge, rank = 5),
  "low rank" = function(K, ridge) preconditioner(K, ridge, rank = 10, local = FALSE),
  none = function(K, ridge) FALSE
)

test_that("a root times its transpose is the matrix, for every kernel and preconditioner", {
  skip_below("quick")
  x <- places(60, 2)
  for (name in names(covariances)) for (with in names(preconditioners)) for (ridge in c(1e-1, 1e-4)) {
    K <- covariances[[name]](x)
    P <- preconditioners[[with]](K, ridge)
    M <- root_op(K, ridge, tol = 1e-12, method = "lanczos", precondition = P)
    expect_equal(covariance_of(M), dense_sum(K, ridge), tolerance = 1e-8, label = paste(name, with, ridge))
  }
  expect_equal(preconditioners$`two parts`(covariances$laplacian(x), 1e-4)$neighbours, 30)
})

test_that("a Cholesky factor is a root, and its transpose multiplies", {
  x <- places(40, 2)
  M <- root_op(covariances$matern32(x), 0.01)
  expect_equal(covariance_of(M), dense_sum(covariances$matern32(x), 0.01), tolerance = 1e-12)
  expect_equal(as.matrix(M %*% t(M)), dense_sum(covariances$matern32(x), 0.01), tolerance = 1e-12)
})

test_that("a ridge may be a number for each point, and a part of the operator", {
  x <- places(50, 2)
  ridge <- stats::runif(50, 0.1, 1)
  K <- covariances$laplacian(x)
  A <- as.matrix(K) + diag(ridge)
  for (method in c("dense", "lanczos")) {
    expect_equal(covariance_of(root_op(K, ridge, 1e-12, method)), A, tolerance = 1e-8)
    expect_equal(covariance_of(root_op(K + diagonal_op(ridge), 0, 1e-12, method)), A, tolerance = 1e-8)
    expect_equal(covariance_of(root_op(2 * as_op(K) + diagonal_op(ridge), 1, 1e-12, method)),
                 2 * as.matrix(K) + diag(ridge + 1), tolerance = 1e-8)
  }
})

test_that("operators of other kinds have a symmetric root", {
  S <- crossprod(matrix(stats::rnorm(900), 30))
  for (op in list(as_op(S), function_op(function(v) S %*% v, 30, symmetric = TRUE))) {
    M <- root_op(op, 0.5, tol = 1e-12, method = "lanczos")
    expect_equal(as.matrix(M), t(as.matrix(M)), tolerance = 1e-8)
    expect_equal(covariance_of(M), S + diag(0.5, 30), tolerance = 1e-8)
  }
  expect_equal(covariance_of(root_op(S)), S, tolerance = 1e-8)
})

test_that("what is but semidefinite has a root, what is not is refused", {
  skip_below("quick")
  x <- places(30, 2)
  twice <- rbind(x, x)
  for (name in names(covariances)) {
    K <- covariances[[name]](twice)
    for (method in c("dense", "lanczos")) {
      M <- root_op(K, tol = 1e-8, method = method)
      expect_equal(covariance_of(M), as.matrix(K), tolerance = 1e-5, label = paste(name, method))
    }
  }
  distances <- sqrt(sqdist(Vi(x), Vj(x)))
  for (method in c("dense", "lanczos")) {
    expect_error(root_op(distances, method = method, precondition = FALSE) %*% 1:30,
                 class = "kernweave_error_indefinite")
  }
})

test_that("a large system takes few products for many draws, and few columns at a time give the same ones", {
  skip_below("quick")
  x <- places(2500, 3)
  w <- matrix(stats::rnorm(2500 * 16), 2500)
  for (name in names(covariances)) {
    K <- covariances[[name]](x)
    P <- preconditioner(K, 1e-2, seed = 1)
    M <- root_op(K, 1e-2, precondition = P)
    y <- M$apply(w)
    expect_lte(attr(y, "products"), 15, label = name)
    again <- root_op(K, 1e-2, precondition = P, basis_mb = 5)$apply(w)
    expect_gt(attr(again, "products"), attr(y, "products"))
    expect_equal(as.vector(again), as.vector(y), tolerance = 1e-6)
  }
})

test_that("each of a thousand draws is within the tolerance, not their mean alone", {
  skip_below("usual")
  set.seed(5)
  x <- places(800, 2)
  K <- kernel_matern(x, x, scale = 0.4, nu = 2.5)
  P <- preconditioner(K, 0.08, rank = 15, local = FALSE)
  v <- matrix(stats::rnorm(800 * 1500), 800)
  draws <- function(tol) root_op(K, 0.08, tol = tol, method = "lanczos", precondition = P)$apply(v)
  exact <- draws(1e-7)
  expect_lt(max(sqrt(colSums((draws(1e-3) - exact)^2) / colSums(exact^2))), 1e-3)
})

test_that("a smooth matrix with hardly a ridge has its landmarks for a root", {
  skip_below("quick")
  x <- places(2100, 2)
  K <- kernel_gaussian(x, x, 0.2)
  A <- as.matrix(K)
  for (ridge in list(0, rep(c(0, 0.01), c(100, 2000)))) {
    M <- root_op(K, ridge)
    expect_lt(ncol(M) - 2100 * any(ridge > 0), 500)
    w <- stats::rnorm(2100)
    image <- M %*% (t(M) %*% w)
    expect_lt(max(abs(image - A %*% w - ridge * w)), 1e-8)
    expect_identical(dim(simulate(K, 3, ridge = ridge)), c(2100L, 3L))
  }
})

test_that("a low rank and a diagonal are their own root", {
  F <- matrix(stats::rnorm(120), 40, dimnames = list(sprintf("p%d", 1:40), NULL))
  L <- lowrank(covariances$gaussian(places(40, 2)), rank = 5, seed = 1)
  expect_equal(covariance_of(root_op(L, 0.1)), dense_sum(L, 0.1), tolerance = 1e-10)
  expect_identical(ncol(root_op(L)), 5L)
  A <- as_op(F) %*% t(as_op(F)) + diagonal_op(rep(0.5, 40))
  expect_equal(covariance_of(root_op(A)), F %*% t(F) + diag(0.5, 40), tolerance = 1e-10, ignore_attr = TRUE)
  expect_identical(rownames(simulate(A)), rownames(F))
})

test_that("steps that do not come far enough are a warning", {
  x <- places(100, 2)
  M <- root_op(covariances$laplacian(x), method = "lanczos", precondition = FALSE, max_iter = 5)
  expect_warning(M %*% stats::rnorm(100), "off by", class = "kernweave_warning_convergence")
  caught <- tryCatch(simulate(covariances$laplacian(x), 1, tol = 1e-8, method = "lanczos", precondition = FALSE,
                              max_iter = 2), warning = identity)
  expect_gt(caught$off, 1e-8)
  expect_match(conditionMessage(caught), "a larger `tol` or `max_iter` would help", fixed = TRUE)
  expect_true(all(c("tol", "max_iter", "rank") %in% names(formals(conditional))))
})

test_that("a matrix that is semidefinite to rounding has a root in few steps", {
  x <- places(300, 2) * rep(c(1, 0.01), each = 150)
  both <- rbind(x, x)
  K <- kernel_matern(both, both, 0.2, nu = 2.5)
  ridge <- rep(c(0.01, 0), each = 300)
  M <- root_op(K, ridge, 1e-3, "lanczos", max_iter = 60)
  w <- matrix(stats::rnorm(600 * 2), 600)
  expect_silent(y <- M %*% w)
  expect_equal(colSums(y * solve(as.matrix(K) + diag(pmax(ridge, 1e-7)), y)), colSums(w^2), tolerance = 0.05)
})

test_that("draws have the covariance they are asked to have", {
  x <- places(8, 2)
  K <- covariances$matern52(x)
  A <- dense_sum(K, 0.1)
  n <- 4000
  spread <- sqrt((A^2 + outer(diag(A), diag(A))) / n)
  for (method in c("dense", "lanczos")) {
    draws <- simulate(K, n, seed = 3, ridge = 0.1, method = method)
    expect_lt(max(abs(tcrossprod(draws) / n - A) / spread), 4.5, label = method)
    expect_lt(max(abs(rowMeans(draws)) / sqrt(diag(A) / n)), 4.5, label = method)
    scores <- solve(chol(A), diag(8), transpose = TRUE)
    expect_gt(stats::ks.test(as.vector(crossprod(scores, draws)), "pnorm")$p.value, 1e-3)
  }
})

test_that("a large draw has the quadratic form of one", {
  skip_below("quick")
  x <- places(3000, 3)
  K <- covariances$matern32(x)
  draws <- simulate(K, 10, seed = 2, ridge = 1e-3)
  forms <- colSums(draws * solve(K, draws, ridge = 1e-3))
  expect_lt(max(abs(forms - 3000) / sqrt(2 * 3000)), 4)
})

test_that("set.seed() rules, or a seed does and leaves the generator alone", {
  x <- structure(places(5, 2), dimnames = list(letters[1:5], NULL))
  K <- covariances$laplacian(x)
  set.seed(7)
  state <- .Random.seed
  one <- simulate(K, 2)
  expect_identical(attr(one, "seed"), state)
  expect_identical(dimnames(one), list(letters[1:5], c("sim_1", "sim_2")))
  set.seed(7)
  expect_identical(simulate(K, 2), one)
  state <- .Random.seed
  seeded <- simulate(K, 2, seed = 7)
  expect_identical(.Random.seed, state)
  expect_equal(as.vector(seeded), as.vector(one))
  expect_identical(attr(seeded, "seed"), structure(7, kind = as.list(RNGkind())))
  expect_equal(as.vector(simulate(K + 0 * identity_op(5), 2, seed = 7)), as.vector(one))
})

test_that("sizes of none and one are drawn, and mistakes are named", {
  x <- places(4, 2)
  none <- simulate(covariances$laplacian(x[0, , drop = FALSE]), 3)
  expect_identical(dim(none), c(0L, 3L))
  for (method in c("dense", "lanczos")) {
    expect_identical(dim(simulate(covariances$laplacian(x[1, , drop = FALSE]), method = method)), c(1L, 1L))
  }
  K <- covariances$laplacian(x)
  expect_error(simulate(K, 0), "nsim", class = "kernweave_error_input")
  expect_error(simulate(K, ridge = 1:3), "3 numbers for 4", class = "kernweave_error_shape")
  expect_error(simulate(K, ridge = -1), class = "kernweave_error_input")
  expect_error(simulate(K[, 1:3]), "4 x 3", class = "kernweave_error_shape")
  expect_error(simulate(K[, 4:1], method = "lanczos"), "not symmetric", class = "kernweave_error_indefinite")
  expect_error(gradient(function(s) sum(simulate(kernel_gaussian(x, x, s))))(1), class = "kernweave_error_no_gradient")
})
