# Functions with kernel sums as users write them, against differences and dense closed forms.

list2env(tape_points, environment())
smoothed <- function(x, y, s, b) sum(w * (exp(-sqdist(Vi(x), Vj(y)) / s^2) %*% b))

dense <- function(x, y, s) exp(-(outer(rowSums(x^2), rowSums(y^2), "+") - 2 * x %*% t(y)) / s^2)

test_that("a kernel sum in points, scale, weights, and all at once; dense closed forms", {
  got <- value_and_gradient(smoothed)(x, y, 0.9, b)
  E <- dense(x, y, 0.9) * outer(w, b)
  expect_equal(got$value, sum(E))
  expect_named(got$gradient, c("x", "y", "s", "b"))
  expect_equal(got$gradient$x, -2 / 0.9^2 * (rowSums(E) * x - E %*% y))
  expect_equal(got$gradient$y, -2 / 0.9^2 * (colSums(E) * y - t(E) %*% x))
  expect_equal(got$gradient$s, 2 / 0.9 * sum(-log(dense(x, y, 0.9)) * E))
  expect_equal(got$gradient$b, as.vector(t(dense(x, y, 0.9)) %*% w))
  expect_gradient(smoothed, x, y, 0.9, b)
  expect_equal(gradient(smoothed, wrt = "s")(x, y, 0.9, b), got$gradient["s"])
})

test_that("sums and products of kernels, a scale for each component", {
  skip_below("quick")
  two <- function(x, s, p) {
    sum(w * ((kernel_gaussian(x, y, s) + 0.3 * kernel_matern(x, y, p, nu = 3 / 2)) %*% b)) +
      sum(w * ((kernel_gaussian(x, y, s) * kernel_periodic(x, y, p)) %*% b))
  }
  expect_gradient(two, x, 0.8, 1.3)
  expect_gradient(function(s) sum(w * (exp(-sum(((Vi(x) - Vj(y)) / Pm(s))^2)) %*% b)), c(0.5, 1, 2))
  expect_gradient(function(s) sum(w * (kernel_gaussian(x, y, s) %*% b)), c(0.5, 1, 2))
})

test_that("ten steps of Sinkhorn, each the input of the next", {
  skip_below("quick")
  sinkhorn <- function(x, eps) {
    f <- numeric(n)
    C <- sqdist(Vi(x), Vj(y))
    for (step in 1:10) {
      g <- -eps * logsumexp((Vi(f) - C) / eps, index = "i", drop = TRUE)
      f <- -eps * logsumexp((Vj(g) - C) / eps, drop = TRUE)
    }
    sum(f) / n + sum(g) / (n + 2)
  }
  expect_gradient(sinkhorn, x, 2)
  expect_hvp(function(x) sinkhorn(x, 2), x, v = u)
})

test_that("nearest points, by gathered places and by values", {
  chamfer <- function(x, y) {
    D <- sqdist(Vi(x), Vj(y))
    mean(rowSums((x - y[argmin(D, drop = TRUE), ])^2)) + mean(min(D, index = "i"))
  }
  expect_gradient(chamfer, x, y)
  expect_gradient(function(x, y) mean(sqrt(Kmin(sqdist(Vi(x), Vj(y)), K = 3))), x, y)
  expect_gradient(function(x) mean(Kmax_argKmax(sqdist(Vi(x), Vj(y)), K = 2)$value^2), x)
  places <- NULL
  expect_gradient(function(x) {
    found <- min_argmin(sqdist(Vi(x), Vj(y)))
    places <<- found$index
    sum(found$value^2)
  }, x)
  expect_identical(places, argmin(sqdist(Vi(x), Vj(y))))
})

test_that("an energy distance, flat where points coincide", {
  energy <- function(x, y) {
    2 * mean(as.matrix(norm2(Vi(x) - Vj(y)))) - mean(rowMeans(norm2(Vi(x) - Vj(x)))) -
      sum(norm2(Vi(y) - Vj(y)), index = "ij") / nrow(y)^2
  }
  expect_gradient(energy, x, y)
  z <- x
  z[2, ] <- y[3, ]
  expect_true(all(is.finite(gradient(energy)(z, y)$x)))
  expect_equal(gradient(function(z) energy(z, x))(x)$z, 0 * x)
})

test_that("the distance of two embeddings, in the scale", {
  mmd <- function(s) {
    mean(rowMeans(kernel_gaussian(x, scale = s))) + mean(rowMeans(kernel_gaussian(y, scale = s))) -
      2 * mean(rowMeans(kernel_gaussian(x, y, s)))
  }
  expect_gradient(mmd, 0.8)
  expect_equal(hessian(mmd)(0.8)[1], differences(function(s) gradient(mmd)(s)[[1]], 0.8), tolerance = 1e-6)
})

test_that("the leave-one-out loss of kernel ridge regression", {
  loss <- function(s, ridge) {
    inverse <- solve(as.matrix(kernel_gaussian(x, scale = s)) + ridge * diag(n))
    mean((inverse %*% w / diag(inverse))^2)
  }
  expect_gradient(loss, 0.8, 0.1)
})

test_that("two clouds registered by a turn and a shift", {
  p <- x[, 1:2]
  q <- y[, 1:2]
  apart <- function(angle, shift) {
    turn <- matrix(c(cos(angle), sin(angle), -sin(angle), cos(angle)), 2)
    moved <- p %*% turn + rep(shift, each = n)
    -sum(kernel_gaussian(moved, q, 0.7), index = "ij")
  }
  expect_gradient(apart, 0.3, c(0.1, -0.2))
})

test_that("leapfrog steps of a Hamiltonian whose own gradient is taken in the function", {
  skip_below("quick")
  shoot <- function(p) {
    q <- x
    for (step in 1:5) {
      force <- vjp(reduction(0.5 * (Vi(p) | Vj(p)) * exp(-sqdist(Q <- Vi(q, name = "q"), t(Q))), "sum", index = "ij",
                             call = FALSE), wrt = Q)
      p <- p - 0.1 * force
      q <- q + 0.1 * (exp(-sqdist(Vi(q), Vj(q))) %*% p)
    }
    sum((q - u)^2)
  }
  expect_gradient(shoot, 0.3 * u)
})

test_that("second derivatives of a kernel sum: along a direction, mixed, whole", {
  expect_hvp(smoothed, x, y, 0.9, b, v = u)
  expect_hvp(function(x) smoothed(x, y, 0.9, b), x, v = u)
  parameters <- function(par) smoothed(x, y, par[1], par[2] * b) + sum(kernel_laplacian(x, y, par[1]) %*% b)
  H <- hessian(parameters)(c(0.9, 1.2))
  expect_equal(H, t(H))
  for (k in 1:2) {
    slope <- function(v) gradient(parameters)(replace(c(0.9, 1.2), k, v))[[1]]
    expect_equal(H[, k], (slope(c(0.9, 1.2)[k] + 1e-5) - slope(c(0.9, 1.2)[k] - 1e-5)) / 2e-5, tolerance = 1e-6)
  }
})

test_that("a helper of one's own that assigns into numbers", {
  bends <- function(x, s) {
    out <- numeric(3)
    for (k in 1:3) out[k] <- sum((exp(-sqdist(Vi(x), Vj(y)) / s) %*% b)^k)
    out
  }
  expect_gradient(function(x, s) sum(bends(x, s)^2), x, 0.9)
})
