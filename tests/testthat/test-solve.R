# solve(), preconditioner() and logdet() of lazy tensors against dense linear algebra.

cloud <- function(n, D, seed = 1) {
  set.seed(seed)
  matrix(stats::runif(n * D), n)
}

kernels <- list(
  gaussian = function(x) kernel_gaussian(x, x, 0.2),
  laplacian = function(x) kernel_laplacian(x, x, 0.3),
  matern12 = function(x) kernel_matern(x, x, 0.3, 0.5),
  matern32 = function(x) kernel_matern(x, x, 0.3, 1.5),
  matern52 = function(x) kernel_matern(x, x, 0.3, 2.5),
  multiquadric = function(x) kernel_inverse_multiquadric(x, x, 0.3)
)

dense_of <- function(K, ridge) as.matrix(K) + diag(ridge, nrow(K))
residual <- function(A, x, b) sqrt(colSums((b - A %*% x)^2) / colSums(b^2))

test_that("conjugate gradients reach the tolerance for every kernel, one column or several, any ridge", {
  x <- cloud(by_tier(701, 701, 701, cran = 301), 3)
  b <- matrix(stats::rnorm(3 * nrow(x)), ncol = 3)
  for (name in names(kernels)) for (ridge in sample(c(1e-1, 1e-3, 1e-5), by_tier(1, 2, 3))) {
    K <- kernels[[name]](x)
    found <- solve(K, b, ridge = ridge, method = "cg", report = TRUE)
    expect_lt(max(residual(dense_of(K, ridge), found, b)), 2e-6, label = paste(name, ridge))
    expect_lte(max(solve_report(found)$iterations), 60, label = paste(name, ridge))
  }
})

test_that("the dense way and conjugate gradients to a tight tolerance agree", {
  x <- cloud(300, 2)
  b <- stats::rnorm(300)
  K <- kernels$matern32(x)
  exact <- solve(K, b, ridge = 0.01)
  expect_equal(as.vector(exact), solve(dense_of(K, 0.01), b), tolerance = 1e-10)
  expect_equal(as.vector(solve(K, b, ridge = 0.01, method = "cg", tol = 1e-12)), as.vector(exact), tolerance = 1e-9)
})

test_that("a ridge may be a number for each point", {
  x <- cloud(400, 2)
  b <- stats::rnorm(400)
  ridge <- stats::runif(400, 0.01, 1)
  K <- kernels$matern12(x)
  exact <- solve(as.matrix(K) + diag(ridge), b)
  for (method in c("dense", "cg")) {
    expect_equal(as.vector(solve(K, b, ridge = ridge, method = method, tol = 1e-10)), exact, tolerance = 1e-8)
  }
})

test_that("preconditioned iterations are a tenth of plain ones where the system is ill-conditioned", {
  skip_below("quick")
  x <- cloud(1500, 2)
  K <- kernel_gaussian(x, x, 10 / sqrt(1500))
  b <- stats::rnorm(1500)
  with <- solve_report(solve(K, b, ridge = 1e-6, method = "cg", report = TRUE))
  expect_warning(without <- solve(K, b, ridge = 1e-6, method = "cg", precondition = FALSE, report = TRUE),
                 class = "kernweave_warning_convergence")
  expect_true(with$converged)
  expect_lte(10 * max(with$iterations), max(solve_report(without)$iterations))
})

test_that("what is not reached is a warning with a remedy, and the residual it reports is true", {
  x <- cloud(500, 3)
  K <- kernels$gaussian(x)
  b <- stats::rnorm(500)
  expect_warning(found <- solve(K, b, ridge = 1e-3, method = "cg", max_iter = 3, precondition = FALSE, report = TRUE),
                 "precondition", class = "kernweave_warning_convergence")
  report <- solve_report(found)
  expect_false(report$converged)
  expect_equal(report$residual, residual(dense_of(K, 1e-3), as.matrix(found), as.matrix(b)), tolerance = 1e-6)
})

test_that("a start near the solution saves iterations, and columns of zeros cost none", {
  x <- cloud(400, 2)
  K <- kernels$matern52(x)
  b <- stats::rnorm(400)
  cold <- solve(K, b, ridge = 1e-3, method = "cg", precondition = FALSE, max_iter = 2000)
  warm <- solve(K, b, ridge = 1e-3, method = "cg", precondition = FALSE, start = cold, max_iter = 2000, report = TRUE)
  expect_equal(max(solve_report(warm)$iterations), 0)
  both <- solve(K, cbind(b, 0), ridge = 1e-3, method = "cg", report = TRUE)
  expect_identical(both[, 2], numeric(400))
  expect_identical(solve_report(both)$iterations[2], 0L)
})

test_that("products in float32 reach a float64 tolerance", {
  x <- cloud(900, 3)
  b <- matrix(stats::rnorm(1800), 900)
  K <- lazy_set(kernels$matern32(x), precision = "float32")
  found <- solve(K, b, ridge = 1e-2, method = "cg", tol = 1e-9, report = TRUE)
  exact <- dense_of(kernels$matern32(x), 1e-2)
  expect_lt(max(residual(exact, found, b)), 2e-9)
  expect_true(solve_report(found)$rough)
})

test_that("results are shaped and named as the right-hand side, for sizes from none on", {
  x <- cloud(12, 2)
  rownames(x) <- letters[1:12]
  K <- kernels$gaussian(x)
  b <- stats::setNames(stats::rnorm(12), letters[1:12])
  expect_identical(names(solve(K, b, ridge = 1)), letters[1:12])
  B <- cbind(u = b, v = 2 * b)
  expect_identical(dimnames(solve(K, B, ridge = 1, method = "cg")), dimnames(B))
  one <- kernels$gaussian(x[1, , drop = FALSE])
  for (method in c("dense", "cg")) expect_equal(as.vector(solve(one, 3, ridge = 1, method = method)), 1.5)
  none <- kernels$gaussian(x[0, , drop = FALSE])
  expect_length(solve(none, numeric(), ridge = 1), 0)
  expect_identical(dim(solve(K, matrix(0, 12, 0), ridge = 1)), c(12L, 0L))
})

test_that("points that coincide are solved for where there is a ridge", {
  x <- cloud(300, 2)
  x <- rbind(x, x[1:150, ])
  b <- stats::rnorm(450)
  for (name in c("matern12", "matern32", "gaussian")) {
    K <- kernels[[name]](x)
    found <- solve(K, b, ridge = 1e-4, method = "cg")
    expect_lt(max(residual(dense_of(K, 1e-4), as.matrix(found), as.matrix(b))), 2e-6, label = name)
  }
})

test_that("a trend is that of the augmented system", {
  x <- cloud(250, 2)
  y <- stats::rnorm(250)
  F <- cbind(1, x)
  K <- kernels$matern32(x)
  A <- rbind(cbind(dense_of(K, 0.1), F), cbind(t(F), matrix(0, 3, 3)))
  exact <- solve(A, c(y, 0, 0, 0))
  for (method in c("dense", "cg")) {
    found <- solve(K, y, ridge = 0.1, trend = F, method = method, tol = 1e-10)
    expect_equal(as.vector(found), exact[1:250], tolerance = 1e-7)
    expect_equal(as.vector(attr(found, "trend")), exact[251:253], tolerance = 1e-7)
  }
})

test_that("thin plates and distances, definite only beside their trend, are solved as the saddle system is", {
  x <- cloud(400, 2)
  y <- sin(6 * x[, 1]) + x[, 2]
  cases <- list(plate = list(kernel_thin_plate(x, x), cbind(1, x)),
                energy = list(kernel_energy(x, x), matrix(1, 400)))
  for (name in names(cases)) for (ridge in c(1e-1, 1e-4)) {
    K <- cases[[name]][[1]]
    P <- cases[[name]][[2]]
    q <- ncol(P)
    exact <- solve(rbind(cbind(dense_of(K, ridge), P), cbind(t(P), matrix(0, q, q))), c(y, numeric(q)))
    for (method in c("dense", "cg")) {
      found <- solve(K, y, ridge = ridge, trend = P, method = method, tol = 1e-10, report = TRUE)
      expect_equal(as.vector(found), exact[1:400], tolerance = 1e-6, label = paste(name, ridge, method))
      expect_equal(as.vector(attr(found, "trend")), exact[400 + 1:q], tolerance = 1e-6)
      if (method == "cg") expect_lte(max(solve_report(found)$iterations), 20)
    }
    expect_lt(audit(found)$error, 1e-7)
  }
})

test_that("minimal residuals solve what is symmetric and not definite", {
  x <- cloud(300, 2)
  K <- sqdist(Vi(x), Vj(x))
  b <- cbind(stats::rnorm(300), 0, stats::rnorm(300))
  A <- dense_of(K, 5)
  expect_lt(min(eigen(A, only.values = TRUE)$values), 0)
  found <- solve(K, b, ridge = 5, method = "minres", tol = 1e-10, report = TRUE)
  expect_equal(unclass(found), solve(A, b), tolerance = 1e-6, ignore_attr = TRUE)
  expect_identical(solve_report(found)$iterations[2], 0L)
})

test_that("operators are solved, those of a lazy tensor and a diagonal as a tensor with a ridge", {
  x <- cloud(200, 2)
  K <- kernels$matern32(x)
  b <- stats::setNames(stats::rnorm(200), seq_len(200))
  A <- 2 * K + 0.1 * identity_op(200) + diagonal_op(seq(0, 1, length.out = 200))
  dense <- 2 * as.matrix(K) + diag(0.1 + seq(0, 1, length.out = 200))
  exact <- solve(dense, b)
  expect_equal(as.vector(solve(A, b)), unname(exact), tolerance = 1e-9)
  found <- solve(A, b, method = "cg", tol = 1e-10, report = TRUE)
  expect_equal(as.vector(found), unname(exact), tolerance = 1e-7)
  expect_identical(names(found), names(b))
  expect_false(is.null(solve_report(found)$preconditioner))
  expect_equal(as.numeric(logdet(A)), as.numeric(determinant(dense)$modulus), tolerance = 1e-9)
  expect_equal(as.numeric(determinant(A)$modulus), as.numeric(determinant(dense)$modulus), tolerance = 1e-9)
})

test_that("other operators are solved by products alone", {
  x <- cloud(150, 2)
  K <- kernels$matern12(x)
  A <- kronecker(as_op(diag(2) + 0.5), K) + identity_op(300)
  dense <- kronecker(diag(2) + 0.5, as.matrix(K)) + diag(300)
  b <- matrix(stats::rnorm(600), 300)
  expect_equal(unclass(solve(A, b)), solve(dense, b), tolerance = 1e-9, ignore_attr = TRUE)
  for (method in c("cg", "minres")) {
    found <- solve(A, b, method = method, tol = 1e-10)
    expect_equal(unclass(found), solve(dense, b), tolerance = 1e-7, ignore_attr = TRUE)
  }
  expect_error(solve(as_op(matrix(1:6, 2)), 1:2), class = "kernweave_error_shape")
  expect_error(solve(as_op(matrix(0, 3, 3)), 1:3), class = "kernweave_error_indefinite")
})

test_that("an inverse is an operator whose preconditioner is built once", {
  x <- cloud(150, 2)
  K <- kernels$matern32(x)
  b <- matrix(stats::rnorm(300), 150)
  exact <- solve(dense_of(K, 0.1), b)
  for (method in c("auto", "cg")) {
    expect_equal(solve(K, ridge = 0.1, method = method, tol = 1e-10) %*% b, exact, tolerance = 1e-7)
    expect_equal(solve(K + 0.1 * identity_op(150), method = method, tol = 1e-10) %*% b, exact, tolerance = 1e-7)
  }
})

test_that("the same seed gives the same bits for any number of threads", {
  x <- cloud(900, 2)
  b <- stats::rnorm(900)
  found <- lapply(1:2, function(threads) {
    set.seed(5)
    as.vector(solve(lazy_set(kernels$matern32(x), threads = threads), b, ridge = 1e-3, method = "cg"))
  })
  expect_identical(found[[1]], found[[2]])
})

test_that("a preconditioner that has been made serves several systems, and applies itself", {
  x <- cloud(300, 2)
  K <- kernels$matern32(x)
  P <- preconditioner(K, ridge = 1e-2, rank = 50)
  expect_output(print(P), "50 landmarks, 30 neighbours")
  b <- stats::rnorm(300)
  found <- solve(K, b, ridge = 1e-2, method = "cg", precondition = P, report = TRUE)
  expect_identical(solve_report(found)$preconditioner, P)
  expect_equal(solve(P, dense_of(K, 1e-2) %*% b), as.matrix(b), tolerance = 0.5)
  # If every point is a landmark, the preconditioner is the inverse.
  whole <- preconditioner(K, ridge = 1e-2, rank = 300)
  expect_equal(as.vector(solve(whole, b)), solve(dense_of(K, 1e-2), b), tolerance = 1e-6)
})

test_that("logdet is exact where it is dense, and within its standard errors where it is not", {
  x <- cloud(by_tier(700, 700, 700, cran = 300), 2)
  for (name in if (reaches("quick")) names(kernels) else "matern32") {
    K <- kernels[[name]](x)
    exact <- as.numeric(determinant(dense_of(K, 1e-2))$modulus)
    expect_equal(as.numeric(logdet(K, 1e-2)), exact, tolerance = 1e-10)
    distance <- vapply(1:10, function(seed) {
      found <- logdet(K, 1e-2, method = "lanczos", seed = seed, rank = 60)
      expect_lt(attr(found, "se"), 2e-3 * abs(exact), label = name)
      abs(found - exact) / attr(found, "se")
    }, 0)
    expect_gte(sum(distance <= 3), 9, label = name)
  }
})

test_that("a seed decides all that is random in logdet()", {
  K <- kernels$matern52(cloud(300, 2))
  found <- lapply(1:2, function(k) logdet(K, 1e-3, method = "lanczos", seed = 3, rank = 30))
  expect_identical(found[[1]], found[[2]])
})

test_that("probes are doubled until the standard error is small enough", {
  K <- kernels$matern52(cloud(500, 2))
  rough <- logdet(K, 1e-3, method = "lanczos", seed = 1, rank = 30, local = FALSE)
  fine <- logdet(K, 1e-3, method = "lanczos", seed = 1, rank = 30, local = FALSE, se_tol = attr(rough, "se") / 2)
  expect_lt(attr(fine, "se"), attr(rough, "se") / 2)
  expect_output(print(fine), "se .*probes")
  expect_identical(dim(confint(fine)), c(1L, 2L))
})

test_that("determinant() has base R's form", {
  K <- kernels$matern12(cloud(50, 2))
  expect_equal(as.numeric(determinant(K)$modulus), as.numeric(determinant(as.matrix(K))$modulus), tolerance = 1e-10)
  expect_identical(determinant(K)$sign, 1L)
})

test_that("bad input is refused by class, before anything is computed", {
  x <- cloud(20, 2)
  K <- kernels$gaussian(x)
  b <- stats::rnorm(20)
  refused <- list(
    shape = quote(solve(kernel_gaussian(x, x[1:5, ], 1), b)),
    shape = quote(solve(K, b[1:3])),
    input = quote(solve(K, "a")),
    input = quote(solve(K, c(NA, b[-1]))),
    input = quote(solve(K, b, ridge = -1)),
    input = quote(solve(K, b, ridge = NA)),
    shape = quote(solve(K, b, ridge = 1:3)),
    input = quote(solve(K, b, tol = 0)),
    input = quote(solve(K, b, method = "lu")),
    input = quote(solve(K, b, typo = 1)),
    shape = quote(solve(Vi(x) - Vj(x), b)),
    no_data = quote(solve(sqdist(Vi(dim = 2), Vj(dim = 2)), b)),
    indefinite = quote(solve(sqdist(Vi(x), Vj(x)), b)),
    indefinite = quote(solve(-K, b, method = "cg")),
    indefinite = quote(solve(exp(-sqdist(Vi(x), Vj(2 * x))), b, ridge = 9)),
    indefinite = quote(solve(exp(-sqdist(Vi(x), Vj(2 * x))), b, ridge = 9, method = "cg")),
    indefinite = quote(solve(1 - sqdist(Vi(x), Vj(x)), b, method = "cg", precondition = FALSE)),
    input = quote(logdet(K, probes = 1)),
    input = quote(preconditioner(1:3)),
    input = quote(solve_report(1)),
    input = quote(solve(K, b, trend = cbind(1, rep(1, 20))))
  )
  for (k in seq_along(refused)) {
    expect_error(eval(refused[[k]]), class = paste0("kernweave_error_", names(refused)[k]),
                 label = paste(deparse(refused[[k]]), collapse = ""))
  }
})
