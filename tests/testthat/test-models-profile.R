# Profile likelihoods of Gaussian processes, and intervals by them.

skip_if_not_installed("MASS")
d <- MASS::mcycle[seq(1, 133, by = 2), ]
k <- kernel_spec("matern32")
fit <- gp_fit(accel ~ times, d, method = "ML", trend = ~ times, kernel = k)

# Minus the log likelihood, dense; with a coefficient of `times` where it is held.
minus_log_likelihood <- function(theta, beta = NULL) {
  F <- cbind(1, d$times)
  A <- exp(theta[1]) * dense_matern32(d$times, exp(theta[2])) + diag(exp(theta[3]), nrow(d))
  root <- chol(A)
  y <- d$accel - if (is.null(beta)) 0 else F[, 2] * beta
  Z <- backsolve(root, cbind(y, if (is.null(beta)) F else F[, 1]), transpose = TRUE)
  left <- qr.resid(qr(Z[, -1, drop = FALSE]), Z[, 1])
  sum(log(diag(root))) + sum(left^2) / 2 + nrow(d) / 2 * log(2 * pi)
}
dense_matern32 <- function(x, scale) {
  r <- sqrt(3) * dense_distance(x) / scale
  (1 + r) * exp(-r)
}

test_that("ends of intervals are where the dense profile falls by half a quantile of chi-square", {
  skip_below("quick")
  theta <- log(coef(fit, "covariance"))
  top <- as.numeric(logLik(fit))
  expect_equal(-minus_log_likelihood(theta), top, tolerance = 1e-8)
  ends <- confint(fit, method = "profile")
  expect_identical(rownames(ends), c("variance", "scale", "nugget", "(Intercept)", "times"))
  fall <- function(k, at) {
    one <- function(rest) minus_log_likelihood(replace(theta, c(k, seq_along(theta)[-k]), c(at, rest)))
    stats::optim(theta[-k], one, method = "BFGS", control = list(reltol = 1e-12))$value + top
  }
  for (k in 1:3) for (end in 1:2) {
    at <- log(ends[k, end])
    slope <- abs(fall(k, at + 0.01) - fall(k, at - 0.01)) / 0.02
    off <- (fall(k, at) - stats::qchisq(0.95, 1) / 2) / slope
    expect_lt(abs(off), 2e-3, label = paste("relative error of", rownames(ends)[k], end))
  }
  for (end in 1:2) {
    found <- stats::optim(theta, minus_log_likelihood, beta = ends["times", end], method = "BFGS")$value + top
    expect_lt(abs(found - stats::qchisq(0.95, 1) / 2), 5e-3)
  }
})

test_that("a profile has roots, all parameters, a picture and intervals", {
  skip_below("quick")
  shape <- profile(fit, c("scale", "times"))
  expect_s3_class(shape, c("profile.gp_fit", "profile"), exact = TRUE)
  expect_named(shape, c("scale", "times"))
  for (name in names(shape)) {
    table <- shape[[name]]
    expect_false(is.unsorted(table$z, strictly = TRUE))
    expect_identical(colnames(table$par.vals), c(names(coef(fit, "covariance")), names(coef(fit))))
    expect_equal(table$par.vals[table$z == 0, ], c(coef(fit, "covariance"), coef(fit)))
  }
  expect_equal(confint(shape), confint(fit, c("scale", "times"), method = "profile"))
  expect_lt(diff(confint(shape, "times", level = 0.5)[1, ]), diff(confint(shape, "times")[1, ]))
  middle <- layer(shape, "upright", "scale")$x
  expect_equal(middle, coef(fit, "covariance")[["scale"]])
  expect_equal(layer(shape, "points", "scale")$y, shape$scale$z)
  in_nowhere(expect_false(withVisible(plot(shape))$visible))
  skip_if_not_installed("generics")
  expect_equal(generics::tidy(shape)$conf.low, unname(confint(shape)[, 1]))
})

test_that("an interval that is open at a bound ends at 0 or Inf", {
  skip_below("quick")
  noise <- suppressWarnings(gp_fit(1:60, rep(1:0, 30), method = "ML"))
  ends <- confint(noise, c("variance", "scale"), method = "profile")
  expect_equal(ends[, 1], c(variance = 0, scale = 0))
  expect_equal(ends["scale", 2], Inf)
  expect_output(print(profile(noise, "scale")), "by ML.*open at a bound.*: scale")
  smooth <- suppressWarnings(gp_fit(1:30, sin(1:30 / 4)))
  expect_equal(confint(smooth, "nugget", method = "profile")[1, 1], 0)
})

test_that("a better top is found, and the fit starts again from there", {
  skip_below("quick")
  far <- fit
  far["log_likelihood"] <- list(NULL)
  theta <- replace(kernweave:::gp_theta(fit$data$values, fit$data$layout), 2, log(2))
  far$data$values <- kernweave:::gp_values(fit$data$values, fit$data$layout, theta)
  expect_message(found <- profile(far, "nugget"), "starts again from there")
  expect_equal(as.numeric(logLik(attr(found, "original.fit"))), as.numeric(logLik(fit)), tolerance = 1e-6)
  expect_equal(confint(found), confint(fit, "nugget", method = "profile"), tolerance = 1e-3)
})

test_that("given parameters and products do, and mistakes say what to do", {
  skip_below("quick")
  given <- update(fit, kernel = fit$kernel, variance = fit$variance, method = "REML")
  by_profile <- confint(given, method = "profile")
  expect_identical(rownames(by_profile), "nugget")
  expect_equal(by_profile, confint(given, "nugget"), tolerance = 0.05)
  products <- update(given, control = fit_control(dense_n = 0))
  expect_equal(confint(products, method = "profile"), by_profile, tolerance = 0.01)
  expect_error(profile(given, "times"), "restricted likelihood has no trend", class = "kernweave_error_unsupported")
  few <- update(given, estimate_on = 40)
  expect_error(profile(few), "estimate_on = Inf", class = "kernweave_error_unsupported")
  expect_match(attr(anova(few, update(few, variance = NULL)), "notes"), "estimated on some of the rows")
  expect_error(profile(fit, "scal"), "did you mean `scale`", class = "kernweave_error_input")
  expect_error(confint(profile(fit, "nugget"), "scale"), "no profile of `scale`", class = "kernweave_error_input")
  expect_error(confint(fit, method = "boot"), class = "kernweave_error_input")
})

test_that("an interval ends where the likelihood says, also where standard errors are of no use", {
  skip_below("quick")
  flat <- gp_fit(depth ~ long + lat, quakes[seq(1, 1000, by = 5), ], trend = ~ long + mag, kernel = "matern12")
  expect_gt(sqrt(vcov(flat, "covariance")["variance", "variance"]), 3)
  shape <- profile(flat, "variance")
  z <- shape$variance$z
  expect_lt(max(diff(z)[abs(z[-1]) < 2.5]), 1)
  top <- as.numeric(logLik(attr(shape, "original.fit")))
  for (end in confint(shape)) {
    fall <- 2 * (top - as.numeric(logLik(suppressWarnings(update(flat, variance = end)))))
    expect_lt(abs(sqrt(fall) - 1.96), 0.1)
  }
})
