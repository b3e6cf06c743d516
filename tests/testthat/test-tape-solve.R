# Gradients through solve() and logdet(), against differences and dense linear algebra.

set.seed(2)
x <- matrix(stats::runif(100), 50)
y <- sin(5 * x[, 1]) + 0.1 * stats::rnorm(50)

likelihood <- function(x, scale, variance, noise, y) {
  K <- variance * exp(-sqdist(Vi(x), Vj(x)) / (2 * scale^2))
  -(sum(y * solve(K, y, ridge = noise)) + logdet(K, ridge = noise)) / 2
}
arguments <- list(x = x, scale = 0.4, variance = 1.3, noise = 0.05, y = y)

test_that("a Gaussian log-likelihood has its gradient in points, parameters and data", {
  found <- value_and_gradient(likelihood)(x, 0.4, 1.3, 0.05, y)
  expect_equal(found$value, do.call(likelihood, arguments))
  for (name in names(arguments)) {
    at <- function(value) do.call(likelihood, utils::modifyList(arguments, stats::setNames(list(value), name)))
    places <- seq_len(min(length(arguments[[name]]), 5))
    differences <- vapply(places, function(k) {
      step <- function(h) { value <- arguments[[name]]; value[k] <- value[k] + h; as.numeric(at(value)) }
      (step(1e-5) - step(-1e-5)) / 2e-5
    }, 0)
    expect_equal(as.vector(found$gradient[[name]])[places], differences, tolerance = 1e-5, label = name)
  }
})

test_that("it is that of the dense likelihood, and so is its Hessian", {
  distances <- as.matrix(stats::dist(x))^2
  dense <- function(theta) {
    K <- exp(theta[1]) * exp(-distances / (2 * exp(2 * theta[2]))) + exp(theta[3]) * diag(50)
    R <- chol(K)
    a <- backsolve(R, y, transpose = TRUE)
    -sum(log(diag(R))) - sum(a^2) / 2
  }
  lazy <- function(theta) likelihood(x, exp(theta[2]), exp(theta[1]), exp(theta[3]), y)
  theta <- log(c(1.3, 0.4, 0.05))
  expect_equal(gradient(lazy)(theta), gradient(dense)(theta), tolerance = 1e-8)
  expect_equal(hessian(lazy)(theta), hessian(dense)(theta), tolerance = 1e-6)
})

test_that("conjugate gradients and probes give what the dense way gives", {
  skip_below("quick")
  set.seed(3)
  x <- matrix(stats::runif(1400), 700)
  y <- stats::rnorm(700)
  solution <- function(scale, noise, method) {
    sum(y * solve(exp(-norm2(Vi(x) - Vj(x)) / scale), y, ridge = noise, method = method, tol = 1e-10))
  }
  quadratic <- lapply(c("dense", "cg"), function(method) {
    gradient(function(scale, noise) solution(scale, noise, method))(0.3, 0.05)
  })
  expect_equal(quadratic[[1]], quadratic[[2]], tolerance = 1e-7)
  determinant <- function(...) {
    gradient(function(scale, noise) {
      logdet(exp(-norm2(Vi(x) - Vj(x)) / scale), ridge = noise, ...)
    })(0.3, 0.05)
  }
  exact <- determinant(method = "dense")
  expect_equal(determinant(method = "lanczos", seed = 3), exact, tolerance = 3e-3)
  expect_equal(determinant(method = "lanczos", seed = 3, precondition = FALSE, probes = 64), exact, tolerance = 0.05)
})

test_that("several right-hand sides, a ridge for each point, and a trend have their gradients", {
  B <- cbind(y, y^2)
  F <- cbind(1, x)
  f <- function(ridge, B) sum(solve(exp(-sqdist(Vi(x), Vj(x))), B, ridge = ridge, trend = F)^2)
  ridge <- seq(0.1, 0.3, length.out = 50)
  found <- gradient(f)(ridge, B)
  nudged <- function(h) { ridge[7] <- ridge[7] + h; f(ridge, B) }
  expect_equal(found$ridge[7], (nudged(1e-5) - nudged(-1e-5)) / 2e-5, tolerance = 1e-5)
  nudged <- function(h) { B[9, 2] <- B[9, 2] + h; f(ridge, B) }
  expect_equal(unname(found$B[9, 2]), (nudged(1e-5) - nudged(-1e-5)) / 2e-5, tolerance = 1e-5)
})

test_that("where landmarks stand alone and leave nothing, the gradient of a log-determinant has no noise", {
  skip_below("quick")
  set.seed(6)
  x <- matrix(stats::runif(600), 300)
  ridge <- seq(0.01, 0.03, length.out = 300)
  of <- function(...) gradient(function(x, scale, ridge) {
    logdet(exp(-sqdist(Vi(x), Vj(x)) / (2 * scale^2)), ridge = ridge, ...)
  })
  exact <- of(method = "dense")(x, 0.5, ridge)
  expect_equal(of(method = "lanczos", seed = 1)(x, 0.5, ridge), exact, tolerance = 1e-6)
  expect_equal(of(method = "lanczos", seed = 1)(x, 0.5, 0.02), of(method = "dense")(x, 0.5, 0.02), tolerance = 1e-6)
  few <- vapply(1:12, function(seed) {
    of(method = "lanczos", seed = seed, rank = 20, local = FALSE)(x, 0.5, 0.02)$scale
  }, 0)
  expect_lt(stats::sd(few), 3)  # of -130; random vectors alone leave 12
  expect_lt(abs(mean(few) - of(method = "dense")(x, 0.5, 0.02)$scale), 4 * stats::sd(few) / sqrt(12))
})

test_that("an estimated log-determinant has second derivatives, with little noise where landmarks tell much", {
  skip_below("quick")
  set.seed(8)
  x <- matrix(stats::runif(600), 300)
  value <- function(kernel, ...) {
    function(scale, size, ridge) logdet(exp(size) * kernel(exp(scale)), ridge = exp(ridge), ...)
  }
  smooth <- function(scale) exp(-sqdist(Vi(x), Vj(x)) / (2 * scale^2))
  rough <- function(scale) kernel_matern(x, scale = scale, nu = 1.5)
  at <- list(scale = -1, size = 0.2, ridge = -4)
  second <- function(...) do.call(hessian(value(...)), at)
  expect_equal(second(smooth, method = "lanczos", seed = 1), second(smooth, method = "dense"), tolerance = 0.01)
  expect_equal(second(rough, method = "lanczos", seed = 1), second(rough, method = "dense"), tolerance = 0.06)
  expect_equal(second(rough, method = "lanczos", seed = 1, precondition = FALSE, probes = 256),
               second(rough, method = "dense"), tolerance = 0.1)
  of_points <- function(method) {
    f <- function(x, ridge) logdet(exp(-sqdist(Vi(x), Vj(x)) / 0.3), ridge = ridge, method = method, seed = 2)
    hvp(f)(x, rep(0.02, 300), v = list(x^2, sin(1:300)))
  }
  expect_equal(of_points("lanczos"), of_points("dense"), tolerance = 0.01)
})
