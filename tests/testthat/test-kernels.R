# Ready kernels against their formulas in base R.

set.seed(4)
x <- matrix(stats::rnorm(8), 4)
y <- matrix(stats::rnorm(10), 5)

distances <- function(scale) {
  d <- 0
  for (k in 1:2) d <- d + (outer(x[, k], y[, k], "-") / rep_len(scale, 2)[k])^2
  sqrt(d)
}

test_that("every kernel has the values of its formula, with one scale and with one for each component", {
  for (s in list(0.7, c(0.5, 2))) {
    d <- distances(s)
    expected <- list(
      kernel_gaussian = exp(-d^2 / 2), kernel_laplacian = exp(-d), kernel_cauchy = 1 / (1 + d^2),
      kernel_inverse_multiquadric = 1 / sqrt(1 + d^2),
      kernel_energy = -d, kernel_thin_plate = d^2 * log(d), kernel_rational_quadratic = 1 / (1 + d^2 / 2)
    )
    for (name in names(expected)) expect_equal(as.matrix(get(name)(x, y, scale = s)), expected[[name]], label = name)
    matern <- list(exp(-d), (1 + sqrt(3) * d) * exp(-sqrt(3) * d), (1 + sqrt(5) * d + 5 * d^2 / 3) * exp(-sqrt(5) * d),
                   exp(-d^2 / 2))
    for (k in 1:4) expect_equal(as.matrix(kernel_matern(x, y, s, nu = c(0.5, 1.5, 2.5, Inf)[k])), matern[[k]])
    products <- 0
    for (k in 1:2) products <- products + outer(x[, k], y[, k]) / rep_len(s, 2)[k]^2
    expect_equal(as.matrix(kernel_polynomial(x, y, 3, 0.5, s)), (products + 0.5)^3)
    waves <- 0
    for (k in 1:2) waves <- waves + (sin(pi * outer(x[, k], y[, k], "-") / 1.7) / rep_len(s, 2)[k])^2
    expect_equal(as.matrix(kernel_periodic(x, y, s, period = 1.7)), exp(-2 * waves))
  }
})

test_that("the help's formula of Matern's kernel holds, and so does its range elsewhere", {
  of_range <- function(d, nu) 2^(1 - nu) / gamma(nu) * d^nu * besselK(d, nu)
  for (nu in c(1, 3, 5) / 2) {
    by_range <- of_range(distances(1) / (0.7 / sqrt(2 * nu)), nu)
    expect_equal(as.matrix(kernel_matern(x, y, scale = 0.7, nu = nu)), by_range)
  }
})

test_that("without `y` the points are on both sides, lazy tensors and scales to be differentiated are taken", {
  expect_equal(as.matrix(kernel_gaussian(x)), exp(-as.matrix(stats::dist(x))^2 / 2), ignore_attr = TRUE)
  X <- Vi(x)
  expect_equal(as.matrix(kernel_gaussian(X)), as.matrix(kernel_gaussian(x)))
  s <- Pm(0.7, name = "s")
  slope <- vjp(sum(kernel_laplacian(x, y, s), index = "ij", call = FALSE), s)
  total <- function(s) sum(exp(-distances(s)))
  expect_equal(slope, (total(0.7 + 1e-6) - total(0.7 - 1e-6)) / 2e-6, tolerance = 1e-7)
})

test_that("mistakes are refused by class", {
  expect_error(kernel_gaussian(x, y, -1), class = "kernweave_error_input")
  expect_error(kernel_gaussian(x, y, c(1, 2, 3)), class = "kernweave_error_shape")
  expect_error(kernel_gaussian(x, cbind(y, 1)), class = "kernweave_error_shape")
  expect_error(kernel_matern(x, y, nu = 2), class = "kernweave_error_input")
  expect_error(kernel_periodic(x, y, period = c(1, 2)), class = "kernweave_error_input")
})
