# Leverages, standardised residuals, Cook's distances, residuals and densities of observations that are left out.

skip_if_not_installed("MASS")
d <- MASS::mcycle
d$w <- replace(rep(c(0.5, 1, 2), length.out = 133), 5, 0)
curve <- gp_fit(accel ~ times, d, trend = ~ times, weights = w, kernel = "matern32")
ridge <- kernel_ridge(accel ~ times, d, weights = w)

test_that("what leaving an observation out does is what a refit without it gives", {
  found <- list(loo = residuals(curve, "loo"), standard = rstandard(curve), cook = cooks.distance(curve))
  for (i in c(1, 60, 133)) {
    without <- gp_fit(accel ~ times, d[-i, ], trend = ~ times, weights = w, kernel = curve$kernel,
                      variance = curve$variance, nugget = curve$nugget)
    there <- predict(without, d[i, ], se.fit = TRUE)
    left <- d$accel[i] - there$fit
    expect_equal(found$loo[[i]], unname(left), tolerance = 1e-8)
    expect_equal(found$standard[[i]], unname(left / sqrt(there$se.fit^2 + curve$nugget / d$w[i])), tolerance = 1e-8)
    moved <- sum(d$w * (predict(without, d) - fitted(curve))^2)
    expect_equal(found$cook[[i]], moved / (sum(hatvalues(curve)) * curve$nugget), tolerance = 1e-8)
  }
  expect_identical(unname(c(hatvalues(curve)[5], found$cook[5], found$standard[5])), c(0, 0, NA))
  expect_equal(found$loo[[5]], residuals(curve)[[5]])
  expect_named(hatvalues(curve), names(residuals(curve)))
})

test_that("those of a ridge regression are by its smoother matrix", {
  K <- as.matrix(ridge$kernel(ridge$data$x))
  w <- ridge$data$w
  H <- K %*% solve(K + diag(ridge$lambda / w))
  e <- residuals(ridge)[-5]
  h <- diag(H)
  I <- diag(132)
  expect_equal(unname(hatvalues(ridge))[-5], h, tolerance = 1e-9)
  expect_equal(sum(hatvalues(ridge)), ridge$edf, tolerance = 1e-6)
  expect_equal(residuals(ridge, "loo")[-5], e / (1 - h), tolerance = 1e-8)
  left <- diag((I - H) %*% diag(1 / w) %*% t(I - H))
  expect_equal(rstandard(ridge)[-5], e / (ridge$sigma * sqrt(left)), tolerance = 1e-8)
  moved <- colSums(w * t(t(H) * (e / (1 - h)))^2)
  expect_equal(unname(cooks.distance(ridge))[-5], moved / (sum(h) * ridge$sigma2), tolerance = 1e-8)
  criterion <- kernel_ridge(accel ~ times, MASS::mcycle, lambda = "loo")
  expect_equal(mean((residuals(criterion, "loo") / criterion$units$y$width)^2), criterion$criterion, tolerance = 1e-3)
})

test_that("a linear model has lm()'s leverages and Cook's distances", {
  line <- gp_fit(dist ~ speed, cars, trend = ~ speed, variance = 0)
  theirs <- stats::lm(dist ~ speed, cars)
  expect_equal(unname(hatvalues(line)), unname(stats::hatvalues(theirs)))
  expect_equal(unname(cooks.distance(line)), unname(stats::cooks.distance(theirs)))
  expect_equal(unname(rstandard(line)), unname(stats::rstandard(theirs)))
})

test_that("beyond dense_n neighbours tell nearly the same, and never that others know more than they do", {
  skip_below("quick")
  set.seed(2)
  x <- matrix(stats::runif(1200), 600)
  y <- sin(4 * x[, 1]) + x[, 2] + stats::rnorm(600) / 3
  k <- kernel_spec("matern32", scale = 0.2)
  at <- function(dense_n) {
    control <- fit_control(dense_n = dense_n)
    gp_fit(x, y, trend = ~ x1, kernel = k, variance = 1, nugget = 0.1, control = control)
  }
  dense <- at(1000)
  local <- at(0)
  expect_message(h <- hatvalues(local), "by the 60 others nearest")
  expect_silent(again <- residuals(local, "loo"))
  expect_identical(attr(h, "local")$neighbours, attr(again, "local")$neighbours)
  expect_lt(attr(h, "local")$ratio[["largest"]], 1.05)
  expect_gt(min(hatvalues(local) - hatvalues(dense)), -1e-6)
  expect_lt(max(hatvalues(local) - hatvalues(dense)), 0.005)
  expect_equal(as.vector(again), as.vector(residuals(dense, "loo")), tolerance = 0.004)
  expect_equal(as.vector(rstandard(local)), as.vector(rstandard(dense)), tolerance = 0.002)
  expect_silent(cook <- cooks.distance(local))
  expect_lt(max(abs(log(cook / cooks.distance(dense)))), 0.1)
  expect_lt(abs(elpd(local)$elpd - elpd(dense)$elpd), 0.5)
  twins <- gp_fit(rbind(x, x[1:100, ]), c(y, y[1:100] + 0.1), kernel = k, variance = 1, nugget = 0.1)
  many <- suppressMessages(residuals(update(twins, control = fit_control(dense_n = 0)), "loo"))
  expect_equal(as.vector(many), as.vector(residuals(twins, "loo")), tolerance = 0.01)
  lined <- gp_fit(x, y, kernel = "linear", nugget = 0.1, variance = 1, control = fit_control(dense_n = 0))
  expect_error(hatvalues(lined), "no distance", class = "kernweave_error_unsupported")
  by_ridge <- kernel_ridge(x, y, kernel = k, lambda = 0.1, standardize = FALSE)
  beyond <- update(by_ridge, control = fit_control(dense_n = 0))
  suppressMessages({
    expect_lt(max(abs(hatvalues(beyond) - hatvalues(by_ridge))), 0.005)
    expect_equal(as.vector(rstandard(beyond)), as.vector(rstandard(by_ridge)), tolerance = 0.005)
  })
})

test_that("missing rows, several responses and nuggets of 0 do", {
  holes <- gp_fit(Ozone ~ Temp + Wind, airquality, na.action = stats::na.exclude, kernel = kernel_spec(scale = 10),
                  variance = 900, nugget = 300)
  for (f in list(hatvalues, rstandard, cooks.distance)) {
    expect_identical(is.na(f(holes)), is.na(residuals(holes)))
  }
  both <- kernel_ridge(cbind(mpg, hp) ~ wt + qsec, mtcars)
  expect_identical(dim(rstandard(both)), c(32L, 2L))
  one <- kernel_ridge(hp ~ wt + qsec, mtcars, lambda = both$lambda)
  expect_equal(cooks.distance(both)[, "hp"], cooks.distance(one), tolerance = 1e-6)
  expect_length(hatvalues(both), 32)
  through <- gp_fit(dist ~ speed, cars[!duplicated(cars$speed), ], kernel = "matern32", nugget = 0)
  expect_equal(unname(hatvalues(through)), rep(1, 19))
  expect_true(all(is.nan(cooks.distance(through))))
  expect_true(all(is.finite(rstandard(through))))
  expect_error(elpd(both), "one response", class = "kernweave_error_unsupported")
})

test_that("elpd() sums normal log densities, and compares fits by pairs", {
  found <- elpd(curve)
  loo <- residuals(curve, "loo")[-5]
  expect_equal(found$pointwise, stats::dnorm(loo, 0, loo / rstandard(curve)[-5], log = TRUE))
  expect_equal(found$elpd, sum(found$pointwise))
  expect_equal(found$se, sqrt(132 * stats::var(found$pointwise)))
  other <- update(curve, kernel = "gaussian", trend = ~ 1)
  table <- elpd(curve, other, ridge = ridge)
  expect_identical(sort(rownames(table)), c("curve", "other", "ridge"))
  expect_true(table$elpd_diff[1] == 0 && all(table$elpd_diff <= 0) && !is.unsorted(-table$elpd))
  terms <- attr(table, "pointwise")
  apart <- terms[, rownames(table)[2]] - terms[, rownames(table)[1]]
  expect_equal(table$elpd_diff[2], sum(apart))
  expect_equal(table$se_diff[2], sqrt(132) * stats::sd(apart))
  if (requireNamespace("generics", quietly = TRUE)) {
    expect_equal(generics::tidy(table)$elpd, table$elpd)
  }
  expect_output(print(found), "leaving one out of 132: -6")
  expect_output(print(table), "elpd_diff se_diff")
  expect_error(elpd(curve, gp_fit(dist ~ speed, cars)), "different rows", class = "kernweave_error_input")
})

test_that("a ridge regression has mgcv's likelihood and draws as an lm() has", {
  n <- 132
  rss <- sum(ridge$data$w * residuals(ridge)[-5]^2)
  value <- logLik(ridge)
  expect_equal(as.numeric(value), -n / 2 * (log(2 * pi * rss / n) + 1) + sum(log(ridge$data$w)) / 2)
  expect_equal(attr(value, "df"), ridge$edf + 1)
  expect_equal(stats::AIC(ridge), 2 * (ridge$edf + 1) - 2 * as.numeric(value))
  draws <- simulate(ridge, 400, seed = 1)
  expect_identical(draws, simulate(ridge, 400, seed = 1))
  expect_equal(as.numeric(attr(draws, "seed")), 1)
  spread <- apply(draws[-5, ], 1, stats::sd) / (ridge$sigma / sqrt(ridge$data$w))
  expect_lt(max(abs(spread - 1)), 0.2)
  expect_lt(max(abs(rowMeans(draws[-5, ]) - fitted(ridge)[-5]) / (ridge$sigma / sqrt(ridge$data$w))), 4 / 20)
})

test_that("by neighbours sums are as far off as the audit says, and elpd() is corrected by it", {
  skip_below("quick")
  set.seed(1)
  d <- data.frame(x = stats::runif(400), y = stats::runif(400), e = stats::rnorm(400))
  d$z <- 2 * d$x + sin(8 * d$x) * cos(7 * d$y) + d$e / 2
  smooth <- gp_fit(z ~ x + y, d, kernel = kernel_spec("matern52", scale = 0.35), variance = 0.5, nugget = 0.25)
  rough <- update(smooth, kernel = kernel_spec("matern12", scale = 0.5))
  ridge <- kernel_ridge(z ~ x + y, d, lambda = 0.5)
  local <- lapply(list(smooth, rough, ridge), function(fit) {
    suppressMessages(hatvalues(fit <- update(fit, control = fit_control(dense_n = 0))))
    fit
  })
  dense <- list(smooth, rough, ridge)
  for (k in 1:3) {
    by <- attr(hatvalues(local[[k]]), "local")$leverage
    expect_lt(abs(sum(hatvalues(local[[k]])) - sum(hatvalues(dense[[k]])) - by[["sum"]]), 3.5 * by[["se"]] + 0.05)
    one <- elpd(local[[k]])
    by <- one$local$correction
    expect_equal(one$elpd, sum(one$pointwise) + by[["sum"]])
    expect_lt(abs(one$elpd - elpd(dense[[k]])$elpd), 3.5 * by[["se"]] + 0.05)
  }
  expect_null(elpd(smooth)$local)
  apart <- elpd(local[[1]], local[[2]])$elpd_diff[2]
  expect_lt(abs(apart - elpd(smooth, rough)$elpd_diff[2]), 1)
  expect_output(print(elpd(local[[1]])), "neighbours, with a correction of")
})

test_that("single leverages and Cook's distances of a smooth process are as far off as their own audit says", {
  skip_below("quick")
  set.seed(3)
  n <- 1200
  middle <- matrix(stats::runif(20), 10)[rep(1:10, each = 60), ]
  x <- rbind(matrix(stats::runif(n), n / 2), middle + stats::rnorm(n) / 50)
  y <- sin(4 * x[, 1]) + x[, 2] + stats::rnorm(n) * 0.3
  w <- stats::runif(n, 0.5, 2)
  at <- function(dense_n, kernel = "matern52") {
    gp_fit(x, y, kernel = kernel_spec(kernel, scale = 0.3), variance = 1, nugget = 0.09, weights = w,
           control = fit_control(dense_n = dense_n))
  }
  dense <- at(2000)
  local <- at(0)
  suppressMessages(hat <- hatvalues(local))
  audit <- attr(hat, "local")
  expect_gt(audit$sums, 50)
  ratio <- as.vector(hat / hatvalues(dense))
  expect_gt(min(ratio), 1 - 1e-4)
  expect_lt(max(ratio), 1.05)
  expect_lt(max(ratio) - 1, 4 * (audit$ratio[["largest"]] - 1) + 1e-3)
  expect_lt(abs(sum(hat) - sum(hatvalues(dense)) - audit$leverage[["sum"]]), 4 * audit$leverage[["se"]] + 1e-3)
  cook <- cooks.distance(local)
  moved <- as.vector(cook / cooks.distance(dense))
  expect_lt(max(abs(log(moved))), 0.05)
  expect_lt(max(abs(log(moved))), 4 * max(abs(log(attr(cook, "local")$ratio))) + 1e-3)
  expect_lt(abs(elpd(local)$elpd - elpd(dense)$elpd), 4 * elpd(local)$local$correction[["se"]] + 1e-2)
})

test_that("leverages that neighbours and sums do not tell are warned of, by their own ratio", {
  skip_below("quick")
  held("most_sums", 1, environment())
  held("neighbours_beside_sums", c(least = 5, most = 5), environment())
  set.seed(4)
  x <- matrix(stats::runif(600), 300)
  fit <- gp_fit(x, sin(4 * x[, 1]) + stats::rnorm(300), kernel = kernel_spec("gaussian", scale = 0.5), variance = 1,
                nugget = 1, control = fit_control(dense_n = 0))
  expect_warning(suppressMessages(hat <- hatvalues(fit)), "leverages are .* times the exact ones",
                 class = "kernweave_warning_approximate")
  exact <- hatvalues(update(fit, control = fit_control(dense_n = 1000)))
  expect_gt(max(hat / exact), 1.1)
  expect_gt(attr(hat, "local")$ratio[["largest"]], 1.1)
  expect_warning(cooks.distance(fit), "Cook's distances are", class = "kernweave_warning_approximate")
  expect_silent(hatvalues(fit))
})
