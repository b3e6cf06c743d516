# The smoothness of Matern's kernel as a parameter: kernels against those of other packages, and estimates.

bessel_matern <- function(d, nu) {
  u <- sqrt(2 * nu) * d
  ifelse(d == 0, 1, 2^(1 - nu) / gamma(nu) * u^nu * besselK(u, nu))
}

set.seed(7)
n <- 70
x <- matrix(runif(2 * n), n)
y <- drop(crossprod(chol(bessel_matern(dense_distance(x) / 0.3, 1) + diag(1e-10, n)), rnorm(n))) + rnorm(n, sd = 0.05)
open <- kernel_spec("matern")

test_that("a kernel with a smoothness is that of the package fields", {
  skip_if_not_installed("fields")
  k <- kernel_spec("matern", scale = 0.4, nu = 0.7)
  known <- fields::Matern(dense_distance(x), range = 0.4 / sqrt(1.4), smoothness = 0.7)
  expect_lt(max(abs(as.matrix(k(x)) - known)), 1e-12)
})

test_that("its derivative by nu is that of Bessel functions", {
  nu <- Pm(1.3, name = "nu")
  slope <- as.matrix(lazy_gradient(open(x, scale = 0.4, nu = nu), nu))
  d <- dense_distance(x) / 0.4
  expect_lt(max(abs(slope - (bessel_matern(d, 1.301) - bessel_matern(d, 1.299)) / 0.002)), 2e-5)
})

test_that("smoothness with a closed form keeps it, and others are told", {
  expect_identical(format(kernel_spec("matern", nu = 3 / 2, scale = 1)), format(kernel_spec("matern32", scale = 1)))
  expect_identical(format(kernel_spec("matern", nu = Inf, scale = 1)), format(kernel_spec("gaussian", scale = 1)))
  expect_equal(as.matrix(kernel_spec("matern", nu = 5 / 2, scale = 0.3)(x)), as.matrix(kernel_matern(x, scale = 0.3)))
  expect_output(print(open), "nu to be estimated")
  for (nu in list(0, -1, 7, "3/2", 1:2)) {
    expect_error(kernel_spec("matern", nu = nu), class = "kernweave_error_value")
  }
})

test_that("estimates are the top of the dense likelihood by Bessel functions", {
  fit <- gp_fit(x, y, kernel = open, nugget = 0.05^2, method = "ML")
  found <- coef(fit, "covariance")
  expect_named(found, c("variance", "scale", "nu", "nugget"))
  value <- function(p) {
    A <- exp(p[1]) * bessel_matern(dense_distance(x) / exp(p[2]), exp(p[3])) + diag(0.05^2, n)
    root <- chol(A)
    solved <- backsolve(root, backsolve(root, cbind(y, 1), transpose = TRUE))
    left <- y - sum(solved[, 1]) / sum(solved[, 2])
    -(n * log(2 * pi) + sum(left * backsolve(root, backsolve(root, left, transpose = TRUE)))) / 2 - sum(log(diag(root)))
  }
  at <- log(found[c("variance", "scale", "nu")])
  expect_equal(value(at), as.numeric(logLik(fit)), tolerance = 1e-5)
  top <- stats::optim(at, value, method = "BFGS", control = list(fnscale = -1, reltol = 1e-12))
  expect_lt(top$value - value(at), 1e-4)
  near <- update(fit, kernel = "matern32")
  expect_equal(anova(near, fit)$df, c(3, 4))
  expect_false(is.na(anova(near, fit)[["p-value"]][2]))
  expect_true(all(confint(fit)["nu", ] > 0))
  expect_equal(unname(coef(update(fit, kernel = fit$kernel), "covariance")["nu"]), found[["nu"]])
})

test_that("what is smooth beyond the bounds is told", {
  smooth <- sin(3 * x[, 1]) + x[, 2]^2
  expect_warning(gp_fit(x, smooth, kernel = kernel_spec("matern", scale = 0.5), nugget = 1e-6),
                 "as smooth as with a Gaussian", class = "kernweave_warning_boundary")
})

test_that("products and series estimate the smoothness that factors do", {
  set.seed(8)
  n <- by_tier(400, 400, 2400)
  x <- matrix(runif(2 * n), n)
  y <- drop(crossprod(chol(bessel_matern(dense_distance(x) / 0.2, 0.8) + diag(1e-10, n)), rnorm(n))) +
    rnorm(n, sd = 0.3)
  dense <- gp_fit(x, y, kernel = open, control = fit_control(dense_n = n))
  se <- sqrt(diag(solve(dense$information)))
  for (approximate in list(NULL, TRUE)) {
    other <- gp_fit(x, y, kernel = open, control = fit_control(dense_n = 0, approximate = approximate))
    away <- (log(coef(other, "covariance")) - log(coef(dense, "covariance"))) / se
    expect_lt(max(abs(away)), 0.35, label = paste("approximate", format(approximate)))
  }
})

test_that("intervals of the smoothness cover it in simulated fields", {
  skip_below("all")
  inside <- vapply(1:100, function(k) {
    set.seed(k)
    nu <- c(0.6, 1, 1.5, 2.3)[1 + k %% 4]
    x <- matrix(runif(600), 300)
    y <- drop(crossprod(chol(bessel_matern(dense_distance(x) / 0.25, nu) + diag(1e-10, 300)), rnorm(300))) +
      rnorm(300, sd = 0.05)
    interval <- suppressWarnings(confint(gp_fit(x, y, kernel = open, nugget = 0.0025)))["nu", ]
    interval[1] < nu && nu < interval[2]
  }, NA)
  expect_gte(sum(inside), 88)  # 100 intervals of 95 % have fewer once in 700 times
})
