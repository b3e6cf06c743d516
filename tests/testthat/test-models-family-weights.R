# Prior weights of families in fits, draws and left-out densities, against refits and other packages.

# Log densities of rows, each by a refit to the others, on a grid of 80001 nodes.
by_refits <- function(fit, data, rows, log_density) {
  z <- seq(-40, 40, length.out = 80001)
  vapply(rows, function(i) {
    without <- suppressWarnings(update(fit, data = data[-i, , drop = FALSE]))  # a held shape is on its bounds
    eta <- predict(without, data[i, , drop = FALSE], se.fit = TRUE, type = "link")
    h <- log_density(i, eta$fit + eta$se.fit * z) + stats::dnorm(z, log = TRUE)
    max(h) + log(sum(exp(h - max(h))) * (z[2] - z[1]))
  }, 0)
}

set.seed(3)
places <- data.frame(x = sort(stats::runif(25)))
process <- drop(crossprod(chol(exp(-as.matrix(dist(places)) / 0.3)), stats::rnorm(25)))
k <- kernel_spec("matern12", scale = 0.3)

test_that("elpd() of mean counts from 1 to 10 000, and of 400 trials, is that of refits", {
  some <- seq(1, 25, by = 3)
  for (level in c(1, 10, 100, 1e4)) {
    d <- places
    d$y <- stats::rpois(25, level * exp(process))
    fit <- gp_fit(y ~ x, d, kernel = k, variance = 1, family = poisson)
    exact <- by_refits(fit, d, some, function(i, e) d$y[i] * e - exp(e) - lgamma(d$y[i] + 1))
    expect_equal(unname(elpd(fit)$pointwise[some]), exact, tolerance = 0.005, label = paste("mean count", level))
  }
  d$y <- stats::rbinom(25, 400, stats::plogis(process))
  fit <- gp_fit(cbind(y, 400 - y) ~ x, d, kernel = k, variance = 1, family = binomial)
  exact <- by_refits(fit, d, some, function(i, e) stats::dbinom(d$y[i], 400, stats::plogis(e), log = TRUE))
  expect_equal(unname(elpd(fit)$pointwise[some]), exact, tolerance = 0.005)
})

test_that("elpd() and folds of one row agree on weighted responses, and are of one observation of that weight", {
  skip_below("quick")
  d <- places
  d$w <- rep(1:5, 5)
  d$y <- stats::rgamma(25, 3 * d$w, rate = 3 * d$w / exp(process))
  d$n <- stats::rpois(25, 20 * exp(process))
  some <- seq(1, 25, by = 4)
  means <- gp_fit(y ~ x, d, kernel = k, variance = 1, family = Gamma("log"), weights = w)
  shape <- 1 / means$dispersion
  of_mean <- function(i, e) stats::dgamma(d$y[i], d$w[i] * shape, scale = exp(e) / (d$w[i] * shape), log = TRUE)
  held <- means
  held$call$control <- fit_control(start = c(shape = shape), lower = c(shape = shape),
                                   upper = c(shape = shape * (1 + 1e-6)))
  expect_equal(unname(elpd(means)$pointwise[some]), by_refits(held, d, some, of_mean), tolerance = 0.02)
  copies <- gp_fit(n ~ x, d, kernel = k, variance = 1, family = poisson, weights = w)
  of_one <- function(i, e) d$n[i] * e - exp(e) - lgamma(d$n[i] + 1)
  expect_equal(unname(elpd(copies)$pointwise[some]), by_refits(copies, d, some, of_one), tolerance = 0.01)
  for (fit in list(means, copies)) {
    folds <- suppressMessages(cross_validate(fit, folds = seq_len(25)))
    expect_equal(folds$.lpd, unname(elpd(fit)$pointwise), tolerance = 0.02)
  }
})

test_that("the deviation that folds have is of observations, not of their means", {
  skip_below("quick")
  d <- places
  d$n <- stats::rpois(25, 20 * exp(process))
  found <- suppressMessages(cross_validate(gp_fit(n ~ x, d, kernel = k, variance = 1, family = poisson), folds = 5,
                                           seed = 1))
  expect_true(all(found$.se^2 > found$.fitted))
})

test_that("Gamma with weights is of means: the dispersion is that of mgcv, and follows the unit of the weights", {
  skip_below("quick")
  set.seed(8)
  d <- data.frame(x = stats::runif(120), y = stats::runif(120), w = sample(1:8, 120, TRUE))
  d$size <- stats::rgamma(120, 2 * d$w, rate = 2 * d$w / exp(sin(5 * d$x)))
  fit <- gp_fit(size ~ x + y, d, kernel = kernel_spec("matern32", scale = 0.5), family = Gamma("log"), weights = w)
  expect_equal(fit$dispersion, 0.4613, tolerance = 1e-3)
  expect_equal(as.numeric(logLik(fit)), -86.08146, tolerance = 1e-5)
  d$w <- 1000 * d$w
  heavy <- update(fit, data = d)
  expect_equal(heavy$dispersion, 1000 * fit$dispersion, tolerance = 1e-4)
  expect_equal(logLik(heavy), logLik(fit), tolerance = 1e-6)
  ridge <- kernel_ridge(size ~ x + y, d, family = Gamma("log"), weights = w / 1000)
  expect_lt(abs(log(ridge$dispersion / fit$dispersion)), 0.15)
  noise <- as.matrix(simulate(fit, 400, seed = 1, noise = TRUE)) / as.matrix(simulate(fit, 400, seed = 1)) - 1
  expect_equal(mean(noise^2 * (d$w / 1000)), fit$dispersion, tolerance = 0.05)
  skip_without_peer("mgcv")
  s <- mgcv::s
  gam <- mgcv::gam(size ~ s(x, y, bs = "gp", m = c(-3, 0.5 / sqrt(3)), k = 120), family = Gamma("log"), data = d,
                   weights = w / 1000, method = "REML",
                   control = mgcv::gam.control(epsilon = 1e-12, newton = list(conv.tol = 1e-10)))
  expect_equal(as.numeric(logLik(fit)), -gam$gcv.ubre[[1]], tolerance = 1e-6)
  expect_equal(fit$dispersion, gam$reml.scale, tolerance = 1e-4)
})

test_that("prediction intervals of counts of any size hold as many draws as they say", {
  skip_below("quick")
  for (level in c(1, 4, 7, 9)) {
    d <- places
    d$y <- stats::rpois(25, exp(level + process))
    fit <- gp_fit(y ~ x, d, kernel = k, variance = 1, family = poisson)
    at <- data.frame(x = c(0.5, 1.6))
    ends <- predict(fit, at, interval = "prediction")
    eta <- predict(fit, at, type = "link", se.fit = TRUE)
    z <- seq(-9, 9, length.out = 8001)
    for (i in 1:2) {
      below <- function(q) sum(stats::ppois(q, exp(eta$fit[i] + eta$se.fit[i] * z)) * stats::dnorm(z)) * (z[2] - z[1])
      for (end in 2:3) {
        p <- c(0.025, 0.975)[end - 1]
        expect_gt(below(max(ends[i, end], 1.001 * ends[i, end])), p - 1e-7)
        expect_lt(below(min(ends[i, end] - 1, 0.999 * ends[i, end])), p)
      }
    }
  }
})
