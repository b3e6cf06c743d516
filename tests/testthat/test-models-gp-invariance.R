# Gaussian processes in any units and with any origin, by the factor, by products and by approximations.

set.seed(9)
n <- 120
data <- data.frame(a = stats::runif(n), b = stats::runif(n), w = stats::runif(n, 0.5, 2))
data$y <- sin(5 * data$a) + data$b + stats::rnorm(n) / 5
places <- data.frame(a = c(0.1, 0.5, 1.1), b = c(0.9, 0.2, 0.4))

# Returns what a fit says, in its own units.
said <- function(fit, new) {
  found <- suppressWarnings(predict(fit, new, se.fit = TRUE))
  list(fit = unname(found$fit), se = unname(found$se.fit), coef = unname(coef(fit)),
       coef_se = unname(sqrt(diag(vcov(fit)))), likelihood = as.numeric(logLik(fit)),
       fitted = unname(fitted(fit)), loo = if (fit$data$dense) unname(residuals(fit, "loo")))
}

# Returns what a fit of changed data says, in units of the data: `of` and `by` change the response, `at` and `times` the
# inputs.
changed <- function(of = 0, by = 1, at = 0, times = 1, weigh = 1, order = seq_len(n), trend = ~ 1, ...) {
  moved <- function(d) transform(d, a = times * a + at, b = times * b + at)
  other <- transform(moved(data), y = by * y + of, w = weigh * w)[order, ]
  fit <- suppressMessages(gp_fit(
    y ~ a + b, other, trend = trend, kernel = kernel_spec("matern52", scale = 0.4 * times), variance = by^2,
    nugget = 0.04 * by^2 * weigh, weights = w, ...
  ))
  found <- said(fit, moved(places))
  found[c("fit", "fitted")] <- lapply(found[c("fit", "fitted")], function(v) (v - of) / by)
  found[c("se", "coef_se", "loo")] <- lapply(found[c("se", "coef_se", "loo")], `/`, by)
  slope <- length(found$coef) > 1
  found$likelihood <- found$likelihood + (n - length(found$coef)) * log(by) + slope * log(times)
  found$coef <- if (slope) found$coef[-1] * times / by else (found$coef - of) / by
  found$coef_se <- if (slope) found$coef_se[-1] * times else found$coef_se
  found[c("fitted", "loo")] <- lapply(found[c("fitted", "loo")], function(v) v[order(order)])
  found
}

# `off`: what the change leaves of the numbers it is told by, relative to their spread.
changes <- list(
  list(off = 0, of = 1e5), list(off = 1e9 * 2^-52, of = 1e9), list(off = 1e12 * 2^-52, of = -1e12),
  list(off = 0, by = 1e8), list(off = 0, by = 1e-8), list(off = 1e9 * 2^-52, at = 1e9), list(off = 0, times = 1e8),
  list(off = 0, times = 1e-8), list(off = 0, weigh = 100), list(off = 0, order = n:1)
)

test_that("a process is the same in any units, from any origin and in any order of rows, by factor and by products", {
  skip_below("quick")
  trends <- list(~ 1, ~ a)
  for (way in c("dense", "products")) for (number in 1:2) {
    trend <- trends[[number]]
    # For products, which take long, each change has a single trend, at night all trends; in a hurry some changes.
    mine <- way == "dense" | (seq_along(changes) + number) %% by_tier(8, 2, 1) == 0
    control <- fit_control(dense_n = if (way == "dense") 1000 else 0, tol = if (way == "dense") 1e-6 else 1e-10)
    first <- changed(trend = trend, control = control)
    for (change in changes[mine]) {
      found <- do.call(changed, c(change[-1], list(trend = trend, control = control)))
      # For products, likelihoods are estimates whose probes follow the places: compared for changes of order alone.
      if (way == "products" && is.null(change$order)) found$likelihood <- first$likelihood
      expect_equal(found, first, tolerance = (if (way == "dense") 1e-9 else 1e-6) + 100 * change$off,
                   label = paste(way, deparse1(trend), names(change)[2], deparse1(change[[2]])))
    }
  }
})

test_that("estimates do not depend on the mean of the response", {
  skip_below("quick")
  first <- gp_fit(y ~ a, data, kernel = "matern32")
  for (of in c(1e5, 1e7, 1e9)) {
    there <- update(first, data = transform(data, y = y + of))
    expect_equal(coef(there, "covariance"), coef(first, "covariance"), tolerance = 1e-5, label = of)
    expect_equal(as.numeric(logLik(there)), as.numeric(logLik(first)), tolerance = 1e-8 + 100 * of * 2^-52, label = of)
  }
})

test_that("systems with a trend and conditional distributions bear any mean", {
  K <- kernel_matern(data$a, scale = 0.3)
  F <- cbind(1, data$b)
  x <- solve(K, data$y, ridge = 0.1, trend = F)
  seen <- seq_len(100)
  at <- conditional(K, data$y[seen], ridge = 0.1, trend = F)
  for (way in c("dense", "cg")) for (of in c(1e6, 1e9)) {
    tolerance <- 1e-5 + 1e3 * of * 2^-52
    there <- solve(K, data$y + of, ridge = 0.1, trend = F, method = way, tol = 1e-9)
    expect_equal(as.vector(there), as.vector(x), tolerance = tolerance, label = paste(way, of))
    expect_equal(attr(there, "trend")[, 1] - c(of, 0), attr(x, "trend")[, 1], tolerance = tolerance)
    moved <- conditional(K, data$y[seen] + of, ridge = 0.1, trend = F, solver = way, tol = 1e-9)
    expect_equal(moved$mean - of, at$mean, tolerance = tolerance)
    expect_equal(unname(moved$coefficients) - c(of, 0), unname(at$coefficients), tolerance = tolerance)
  }
  alone <- conditional(K, NULL, seen, ridge = 0.1, trend = F)
  expect_equal(alone$variance, at$variance)
  expect_true(all(is.na(alone$mean)))
  expect_null(alone$coefficients)
})

test_that("coefficients by products are as exact as they say, though solutions are not", {
  skip_below("quick")
  set.seed(3)
  x <- matrix(stats::runif(3000), 1500)
  y <- 40 + 3 * x[, 1] + sin(9 * x[, 2]) + stats::rnorm(1500) / 10
  given <- function(...) {
    gp_fit(x, y, trend = ~ x1, kernel = kernel_spec("matern52", scale = 1), variance = 4, nugget = 0.01,
           control = fit_control(...))
  }
  exact <- given(dense_n = 2000)
  rough <- given(dense_n = 0, tol = 1e-3, probes = 2)
  off <- max(abs(coef(rough) - coef(exact)) / sqrt(diag(vcov(exact))))
  expect_lt(off, 1e-3)
  expect_lt(rough$convergence$trend, 1e-3)
  expect_equal(vcov(rough), vcov(exact), tolerance = 2e-3)
})

test_that("estimates by products do not depend on the order of rows, and all that is told of rows follows it", {
  skip_below("quick")
  set.seed(10)
  n <- by_tier(400, 400, 1500)
  d <- data.frame(a = stats::runif(n), b = round(stats::runif(n), 1), w = sample(c(0, 1, 2), n, TRUE, c(1, 8, 8)))
  d[1:20, c("a", "b")] <- d[21:40, c("a", "b")]  # coincident places
  d$y <- 1 + d$a + sin(6 * d$a) * d$b + stats::rnorm(n) / 3
  control <- fit_control(dense_n = 0)
  of <- function(rows, estimate_on = Inf) {
    gp_fit(y ~ a + b, d[rows, ], trend = ~ a, kernel = "matern32", weights = w, control = control,
           estimate_on = estimate_on)
  }
  first <- of(seq_len(n))
  order <- sample.int(n)
  second <- of(order)
  values <- function(fit) c(unlist(fit$data$values), coef(fit), vcov(fit), logLik(fit))
  expect_equal(values(second), values(first), tolerance = 1e-6)
  back <- match(seq_len(n), order)
  told <- function(fit) {
    suppressMessages(cbind(fitted(fit), residuals(fit), residuals(fit, "loo"), rstandard(fit), hatvalues(fit),
                           cooks.distance(fit)))
  }
  expect_equal(unname(told(second)[back, ]), unname(told(first)), tolerance = 1e-6)
  rows <- which(d$w > 0)
  alpha <- numeric(n)
  alpha[order[d$w[order] > 0]] <- second$alpha
  expect_equal(alpha[rows], first$alpha, tolerance = 1e-5)
  scores <- list(suppressMessages(elpd(first)), elpd(second))
  expect_equal(scores[[2]]$elpd, scores[[1]]$elpd, tolerance = 1e-6)
  expect_equal(unname(scores[[2]]$pointwise[as.character(rows)]), unname(scores[[1]]$pointwise), tolerance = 1e-6)
  # what it is of
  left <- d$y - fitted(first)
  expect_equal(unname(residuals(first)), unname(left))
  K <- first$variance * as.matrix(first$kernel(as.matrix(d[rows, c("a", "b")])))
  trend <- cbind(1, d$a[rows]) %*% coef(first)
  expect_equal(as.vector(K %*% first$alpha + trend), unname(fitted(first))[rows], tolerance = 1e-4)
  new <- data.frame(a = c(0.2, 0.7), b = c(0.35, 0.9))
  expect_equal(predict(second, new, se.fit = TRUE)$se.fit, predict(first, new, se.fit = TRUE)$se.fit, tolerance = 1e-6)
  some <- lapply(list(seq_len(n), order), of, estimate_on = 200)
  expect_equal(values(some[[2]]), values(some[[1]]), tolerance = 1e-6)
})
