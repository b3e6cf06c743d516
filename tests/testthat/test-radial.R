# Radial functions from tables: Matern kernels of any smoothness and profiles that users give, against Bessel functions
# and closed forms; derivatives against differences; bounds against values.

# R's Bessel function has one term below 1e-10, where the first powers of the function are all there is.
bessel_matern <- function(d, nu) {
  u <- sqrt(2 * nu) * d
  far <- 2^(1 - nu) / gamma(nu) * u^nu * besselK(u, nu)
  near <- if (nu < 1) 1 - gamma(1 - nu) / gamma(1 + nu) * (u / 2)^(2 * nu) + u^2 / (4 * (1 - nu)) else 1
  ifelse(u < 1e-8, near, ifelse(u > 700, 0, far))
}

smoothnesses <- function() c(0.1, 0.3, 0.5001, 0.6, 0.9, 1, 1.7, 2, 2.3, 3, 4.2, 5)
at_distances <- function(F, d) as.vector(as.matrix(F(matrix(d), 0)))

test_that("a Matern kernel of any smoothness is that of Bessel functions to 1e-13, at 0, next to it and far away", {
  set.seed(1)
  d <- c(0, 1e-300, 1e-8, 10^runif(400, -9, 1.6), 1e3, 1e30)
  for (nu in smoothnesses()) {
    found <- at_distances(function(x, y) kernel_matern(x, y, nu = nu), d)
    expect_lt(max(abs(found - bessel_matern(d, nu))), 1e-13, label = paste("nu", nu))
    single <- at_distances(function(x, y) lazy_set(kernel_matern(x, y, nu = nu), precision = "float32"), d)
    expect_lt(max(abs(single - bessel_matern(d, nu))[d == 0 | d > 1e-6]), 2e-6, label = paste("nu", nu, "in float32"))
  }
})

test_that("the operation reads a table as the oracle does, for every order, device and precision", {
  set.seed(9)
  x <- c(0, 1e-320, 1e-40, 2^-(0:3), 1.999, 2, 10^runif(20, -9, 4), NaN, Inf)
  for (nu in c(0.6, 1, 2.3)) {
    table <- engine$r_matern_table(nu, 2L)
    for (order in 0:2) {
      F <- lazy_call("RadialTable", list(Vi(matrix(x)), Pm(table)), c(order, 2L))
      known <- vapply(x, oracle_radial_table, 0, table, order, 2)
      some <- x == 0 | !(x < 1e-3)  # derivatives that are infinite at 0 are not of float near it
      for (device in test_devices()) {
        expect_close(as.matrix(lazy_set(F, device = device)), known, 1e-13)
        single <- as.matrix(lazy_set(F, device = device, precision = "float32"))
        expect_close(single[some], known[some], 5e-6)
      }
    }
  }
})

test_that("every device and instruction set reads the same numbers, whatever the number of pairs", {
  set.seed(2)
  for (size in list(c(1, 1), c(3, 7), c(37, 53))) {
    x <- matrix(rnorm(3 * size[1]), size[1])
    y <- matrix(rnorm(3 * size[2]), size[2])
    K <- kernel_matern(x, y, scale = 0.7, nu = 0.6)
    known <- bessel_matern(sqrt(outer(rowSums(x^2), rowSums(y^2), "+") - 2 * x %*% t(y)) / 0.7, 0.6)
    b <- rnorm(size[2])
    for (device in devices_here()) {
      expect_close(as.matrix(lazy_set(K, device = device)), known, 1e-12)
      expect_close(lazy_set(K, device = device) %*% b, known %*% b, 1e-12, scale = sum(abs(b)))
    }
    for (isa in instruction_sets) with_isa(isa, expect_close(K %*% b, known %*% b, 1e-12, scale = sum(abs(b))))
  }
})

test_that("NaN stays NaN, and points at infinity have covariance 0", {
  K <- kernel_matern(matrix(c(NaN, Inf, 1)), matrix(0), nu = 0.7)
  expect_identical(is.nan(as.vector(as.matrix(K))), c(TRUE, FALSE, FALSE))
  expect_identical(as.matrix(K)[2, 1], 0)
})

test_that("closed forms and tables are one kernel", {
  d <- c(0, 10^seq(-6, 1, by = 0.5))
  for (nu in c(0.5, 1.5, 2.5)) {
    table <- at_distances(function(x, y) kernel_spec("matern", scale = 1)(x, y, nu = Pm(nu, name = "nu")), d)
    expect_close(table, at_distances(function(x, y) kernel_matern(x, y, nu = nu), d), 1e-13)
  }
})

# --- derivatives ----------------------------------------------------------------------------------------------------

differences <- function(f, at, h) (f(at - 2 * h) - 8 * f(at - h) + 8 * f(at + h) - f(at + 2 * h)) / (12 * h)

test_that("derivatives by the distance, the scale and the smoothness are those of differences", {
  d <- c(0.01, 0.1, 0.5, 1.3, 4)
  for (nu in c(0.3, 0.6, 1, 1.4, 2.3, 3.7)) {
    s <- Pm(0.8, name = "s")
    x <- Vi(matrix(d), name = "x")
    by_scale <- as.vector(as.matrix(lazy_gradient(kernel_matern(x, 0, scale = s, nu = nu), s)))
    expect_close(by_scale, differences(function(s) bessel_matern(d / s, nu), 0.8, 1e-3), 1e-8)
    by_point <- as.vector(as.matrix(lazy_gradient(kernel_matern(x, 0, nu = nu), x)))
    expect_close(by_point, differences(function(d) bessel_matern(d, nu), d, 1e-3 * d), 1e-8)
    twice <- lazy_gradient(lazy_gradient(kernel_matern(x, 0, nu = nu), x), x)
    known <- differences(function(d) differences(function(d) bessel_matern(d, nu), d, 1e-2 * d), d, 1e-2 * d)
    expect_close(as.vector(as.matrix(twice)) * d^2, known * d^2, 2e-5)
    n <- Pm(nu, name = "n")
    by_nu <- as.vector(as.matrix(lazy_gradient(kernel_matern(x, 0, nu = n), n)))
    expect_close(by_nu, differences(function(nu) vapply(d, bessel_matern, 0, nu), nu, 1e-3), 1e-8)
  }
})

test_that("gradient() takes the smoothness as an argument, once", {
  set.seed(3)
  x <- matrix(runif(20), 10)
  b <- rnorm(10)
  energy <- function(nu, scale) sum(b * (kernel_matern(x, scale = scale, nu = nu) %*% b))
  value <- function(nu, scale) sum(b * (bessel_matern(dense_distance(x) / scale, nu) %*% b))
  slope <- gradient(energy)(0.8, 0.4)
  expect_close(slope$nu, differences(function(nu) value(nu, 0.4), 0.8, 1e-3), 1e-8)
  expect_close(slope$scale, differences(function(s) value(0.8, s), 0.4, 1e-4), 1e-8)
  n <- Pm(0.8, name = "n")
  F <- lazy_gradient(kernel_matern(x, nu = n), n)
  expect_error(lazy_gradient(F, n), class = "kernweave_error_no_gradient")
})

test_that("coincident points have the derivatives of a smooth kernel, and 0 where there is none", {
  x <- Vi(matrix(c(0, 1)), name = "x")
  expect_identical(as.vector(as.matrix(lazy_gradient(kernel_matern(x, 0, nu = 0.7), x)))[1], 0)
  twice <- as.vector(as.matrix(lazy_gradient(lazy_gradient(kernel_matern(x, 0, nu = 2.2), x), x)))
  expect_close(twice[1], -2.2 / 1.2, 1e-10)  # -nu / (nu - 1)
})

# --- sums by series -------------------------------------------------------------------------------------------------

test_that("approximated products keep their tolerance, for any smoothness, scale and number of points", {
  set.seed(4)
  for (case in seq_len(by_tier(3, 8, 40))) {
    nu <- exp(runif(1, log(0.1), log(5)))
    D <- sample(3, 1)
    n <- sample(c(300, 1501, 4000), 1)
    x <- matrix(runif(n * D), n)
    K <- kernel_matern(x, scale = exp(runif(1, log(0.03), log(2))), nu = nu)
    b <- rnorm(n)
    tol <- 10^-sample(3:9, 1)
    exact <- as.vector(K %*% b)
    A <- approximate(K, tol, certify = "proof")
    expect_true(all(abs(as.vector(A %*% b) - exact) <= as.vector(error_bound(A, b)) + 1e-12 * sum(abs(b))),
                label = paste("nu", nu, "tol", tol, "D", D, "n", n))
    expect_lt(max(abs(as.vector(approximate(K, tol) %*% b) - exact)), tol * sum(abs(b)))
  }
})

test_that("balls of tables hold the values of the functions, real and complex", {
  set.seed(5)
  half <- engine$r_matern_table(0.5, 2L)
  orders <- list(function(z) exp(-sqrt(z)), function(z) -exp(-sqrt(z)) / (2 * sqrt(z)))
  for (case in 1:300) {
    order <- case %% 2
    radius <- 10^runif(1, -6, 1)
    centre <- complex(real = radius * (1 + 10^runif(1, -3, 2)), imaginary = if (case %% 3) rnorm(1) * radius else 0)
    real <- Im(centre) == 0
    ball <- through("table_ball", half, order, centre, radius, real)
    z <- centre + radius * (if (real) runif(30, -1, 1) else sqrt(runif(30)) * exp(2i * pi * runif(30)))
    expect_true(all(Mod(orders[[order + 1]](z) - ball$centre) <= ball$radius * (1 + 1e-9)))
  }
  by_nu <- engine$r_matern_slope_table(0.8)
  for (case in 1:50) {
    ends <- sort(10^runif(2, -6, 2))
    ball <- through("table_ball", by_nu, 0L, mean(ends) + 0i, diff(ends) / 2, case %% 2 == 0)
    values <- engine$r_look_up(by_nu, 0L, seq(ends[1], ends[2], length.out = 50))
    expect_true(all(abs(values - ball$centre) <= ball$radius))
  }
  # A table without a known bound has one on real numbers alone.
  spherical <- environment(unclass(engine$ready_profile("spherical")))$made$numbers
  expect_identical(through("table_ball", spherical, 0L, 2 + 0i, 0.5, TRUE), list(centre = 0, radius = 0))
  expect_identical(through("table_ball", spherical, 0L, 2 + 0i, 0.5, FALSE)$radius, Inf)
})

# --- profiles that users give ----------------------------------------------------------------------------------------

test_that("profiles of functions, tables and names are these functions", {
  d <- c(0, 10^runif(100, -6, 1.5))
  cauchy <- radial_profile(function(d) 1 / (1 + d^2), mixture = TRUE)
  expect_close(at_distances(function(x, y) kernel_radial(x, y, cauchy, scale = 2), 2 * d), 1 / (1 + d^2), 1e-12)
  expect_close(cauchy(d), 1 / (1 + d^2), 1e-12)
  powered <- function(d) exp(-d^0.3)
  expect_close(at_distances(function(x, y) kernel_radial(x, y, powered), d), powered(d), 1e-12)
  expect_close(at_distances(function(x, y) kernel_radial(x, y, "spherical"), d),
               ifelse(d < 1, 1 - 1.5 * d + 0.5 * d^3, 0), 1e-11)
  h <- seq(0, 12, by = 0.02)
  expect_lt(max(abs(at_distances(function(x, y) kernel_radial(x, y, cbind(h, exp(-h))), d) - exp(-d))), 1e-4)
  ranged <- radial_profile(function(d) pmax(1 - d / 3, 0)^2, kink = 3)
  expect_close(at_distances(function(x, y) kernel_radial(x, y, ranged), d), pmax(1 - d / 3, 0)^2, 1e-9)
})

test_that("derivatives of profiles are those of differences, and mixtures have series", {
  d <- c(0.02, 0.4, 1.7)
  x <- Vi(matrix(d), name = "x")
  f <- function(d) exp(-d^0.8)
  slope <- as.vector(as.matrix(lazy_gradient(kernel_radial(x, 0, radial_profile(f)), x)))
  expect_close(slope, differences(f, d, 1e-3 * d), 1e-8)
  set.seed(6)
  p <- matrix(runif(6000), 3000)
  b <- rnorm(3000)
  K <- kernel_radial(p, profile = radial_profile(f, mixture = TRUE), scale = 0.2)
  expect_lt(max(abs(approximate(K, 1e-7) %*% b - K %*% b)), 1e-7 * sum(abs(b)))
})

test_that("mistakes in profiles are told by what is wrong", {
  x <- matrix(runif(8), 4)
  expect_error(kernel_radial(x), "is not given", class = "kernweave_error_input")
  expect_error(kernel_radial(x, profile = "sferical"), "spherical", class = "kernweave_error")
  expect_error(kernel_radial(x, profile = function(d) 1 / d), "Inf at distance 0", class = "kernweave_error_value")
  expect_error(kernel_radial(x, profile = function(d) 1), "a number for each distance", class = "kernweave_error_input")
  expect_error(kernel_radial(x, profile = function(d) pmax(1 - d / 0.7, 0)), "kink", class = "kernweave_error_value")
  expect_error(kernel_radial(x, profile = cbind(1:3, 1)), "3 rows", class = "kernweave_error_shape")
  expect_error(kernel_radial(x, profile = cbind(-1:8, 1)), "negative distance", class = "kernweave_error_value")
  expect_error(kernel_radial(x, profile = cbind(1:8, 1)), "not at 0", class = "kernweave_error_value")
  expect_error(kernel_radial(matrix(1, 2, 4), profile = "spherical"), class = "kernweave_error_dimension")
  expect_error(radial_profile(cos, mixture = TRUE), class = "kernweave_error_value")
  expect_error(radial_profile(exp, kink = -1), "`kink`", class = "kernweave_error_value")
  for (nu in list(0, -1, 0.05, 7, "3/2", 1:2, NA)) {
    expect_error(kernel_matern(x, nu = nu), "`nu`", class = "kernweave_error_value")
  }
  expect_error(approximate(kernel_radial(x, profile = "spherical"), 1e-6) %*% 1:4, NA)
})

test_that("numbers that are no table are never read beyond their end", {
  wrong <- list(rep(1e9, 40), rep(NaN, 40), c(0, 0, 0, 0, 30, 0, 1e6, 0, rep(1, 32)), -(1:40))
  for (table in wrong) {
    F <- kernweave:::r_lazy_call("RadialTable", list(Vi(matrix(1:5 / 3)), Pm(table)), c(0L, 1L))
    expect_length(as.matrix(F), 5)
  }
  expect_error(kernweave:::r_lazy_call("RadialTable", list(Vi(matrix(1:5)), Vi(matrix(0, 5, 40))), c(0L, 1L)),
               "must be a parameter", class = "kernweave_error_unsupported")
})
