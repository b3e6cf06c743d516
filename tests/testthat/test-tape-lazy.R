# Reductions with traced operands, against central differences, closed forms and dense linear algebra.

set.seed(11)
n <- 7
x <- matrix(stats::rnorm(3 * n), n)
y <- matrix(stats::rnorm(3 * (n + 2)), n + 2)
b <- stats::rnorm(n + 2)
w <- stats::rnorm(n)
u <- matrix(stats::rnorm(3 * n), n)

# All gradients of f at once, against differences.
expect_gradient <- function(f, ..., tolerance = 1e-6) {
  at <- list(...)
  got <- unname(gradient(f)(...))
  for (k in seq_along(at)) {
    value <- function(v) as.vector(do.call(f, replace(at, k, list(v))))
    expect_equal(got[[k]], differences(value, at[[k]]), tolerance = tolerance, label = paste("argument", k))
  }
}

# hvp() along one direction, against differences of gradients in all arguments.
expect_hvp <- function(f, ..., v, tolerance = 1e-6, h = 1e-5) {
  at <- list(...)
  moved <- function(step) gradient(f)(at[[1]] + step * v)[[1]]
  expect_equal(hvp(f)(at[[1]], v = list(v))[[1]], (moved(h) - moved(-h)) / (2 * h), tolerance = tolerance)
}

K <- function(x, s = 0.9) exp(-sqdist(Vi(x), Vj(y)) / s^2)

test_that("operands of every kind remember the value they were made of", {
  A <- matrix(stats::rnorm(n * (n + 2)), n)
  f <- function(x, y, s, b, w, A) {
    sum(Vi(w) * exp(-sqdist(Vi(x) * Pm(s), Vj(y) * s)) * Vj(b) + A * Vij(A)^2, index = "ij")
  }
  expect_gradient(f, x, y, c(0.5, 1, 0.7), b, w, A)
  expect_gradient(function(s, p) sum(abs(Vi(w) - Vj(b) / s)^p, index = "ij"), 0.8, 1.5)
  expect_gradient(function(s) sum(lazy_if(Vi(w) < Vj(b), s, max2(Vi(w), s)), index = "ij"), 0.8)
  expect_gradient(function(s) sum(kernel_matern(x, y, scale = s), index = "ij"), c(0.5, 1, 2))
  expect_gradient(function(a, p) sum(kernel_polynomial(x, y, offset = a, degree = p)^2, index = "ij"), 9, 1.5)
})

test_that("products with traced numbers on either side, rows, columns, diagonals and whole matrices", {
  B <- unname(cbind(b, rev(b)))
  expect_gradient(function(x, B) sum((K(x) %*% B)^2), x, B)
  expect_gradient(function(x, w) sum(crossprod(K(x), w)^2), x, w)
  expect_gradient(function(x, w) sum(crossprod(w, K(x))^2), x, w)
  expect_gradient(function(x, v) sum((v %*% K(x))^2), x, w)
  expect_gradient(function(x, B) sum(tcrossprod(K(x), B)^2), x, t(B))
  expect_gradient(function(x, B) sum(tcrossprod(B, t(K(x)))^2), x, t(u))
  expect_gradient(function(x) sum(rowSums(K(x))^2) + sum(colMeans(K(x))^2), x)
  expect_gradient(function(x) sum(diag(K(x))^2), x)
  expect_gradient(function(x) sum(as.matrix(K(x))^2), x)
  expect_gradient(function(x) sum(as.matrix(Vi(x) * Vj(y))^3), x)
  expect_gradient(function(x) sum(K(x)[c(3, 1, 1), -2]^2, index = "ij"), x)
})
