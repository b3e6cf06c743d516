# Families by products: modes, likelihoods, scores and errors against the dense ones, and by series.

q <- family_places()
k <- kernel_spec("matern32", scale = 4)
left <- family_formulas
families <- known_families
at <- data.frame(long = c(181, 184, 175), lat = c(-18, -30, -15))

test_that("modes, likelihoods and scores by products are the dense ones", {
  for (name in names(left)) {
    dense <- gp_fit(left[[name]], q, kernel = k, variance = 0.4, family = families[[name]])
    fit <- update(dense, control = fit_control(dense_n = 0))
    expect_equal(fit$linear.predictors, dense$linear.predictors, tolerance = if (name == "binomial") 1e-5 else 1e-3)
    if (!nrow(dense$data$layout)) expect_equal(coef(fit), coef(dense), tolerance = 1e-5, label = name)
    model <- dense$data
    model$layout <- rbind(data.frame(label = c("variance", "scale"), part = c("variance", "kernel"),
                                     name = c("variance", "scale"), index = 1, link = "log"), model$layout)
    by_factor <- gp_state_at(model)
    lazy <- utils::modifyList(model, list(dense = FALSE, control = fit_control(dense_n = 0)))
    by_products <- gp_state_at(lazy)
    expect_equal(by_products$e, by_factor$e, tolerance = 1e-5, label = name)
    expect_equal(vcov(fit, "covariance"), vcov(dense, "covariance"), tolerance = 0.1)
    se <- logLik(fit)
    expect_lt(abs(by_products$value - by_factor$value), 3 * attr(se, "std.error") + 1e-3, label = name)
    off <- solve(by_factor$information, by_products$score - by_factor$score)
    expect_true(all(abs(off) < 0.3 / sqrt(diag(by_factor$information))), label = name)
  }
})

test_that("errors, draws and errors by neighbours are the dense ones", {
  dense <- gp_fit(stations ~ long + lat, q, kernel = k, variance = 0.4, family = poisson)
  fit <- update(dense, control = fit_control(dense_n = 0, tol = 1e-8))
  exact <- predict(dense, at, se.fit = TRUE, type = "link")
  found <- predict(fit, at, se.fit = TRUE, type = "link")
  expect_equal(found$fit, exact$fit, tolerance = 1e-6)
  expect_equal(found$se.fit, exact$se.fit, tolerance = 1e-3)
  draws <- simulate(fit, 400, seed = 1, newdata = at)
  expect_equal(apply(log(draws), 1, sd), exact$se.fit, tolerance = 0.15, ignore_attr = TRUE)
  expect_error(residuals(fit, "loo"), class = "kernweave_error_unsupported")
  series <- update(dense, control = fit_control(dense_n = 0, approximate = 1e-6))
  expect_message(near <- predict(series, at, se.fit = TRUE, type = "link"), "nearest observations")
  expect_equal(near$se.fit, exact$se.fit, tolerance = 0.05)
  expect_gte(min(near$se.fit / exact$se.fit), 1 - 1e-3)
  local <- predict(dense, q[1:3, ], method = "local", neighbours = 200, type = "link", se.fit = TRUE)
  expect_equal(local[c("fit", "se.fit")], predict(dense, q[1:3, ], type = "link", se.fit = TRUE)[c("fit", "se.fit")],
               tolerance = 1e-6)
})

test_that("a mode is no other where W is as good as 0", {
  line <- data.frame(x = c(1:30, 31:60) / 10, y = rep(0:1, each = 30))
  fit <- function(...) {
    gp_fit(y ~ x, line, kernel = kernel_spec("gaussian", scale = 2), variance = 2000, family = binomial, ...)
  }
  expect_equal(fitted(fit(control = fit_control(dense_n = 0))), fitted(fit()), tolerance = 1e-4)
})

test_that("estimates by series are near to the dense ones", {
  skip_below("all")
  set.seed(3)
  d <- data.frame(x = runif(1500), y = runif(1500))
  d$n <- rpois(1500, exp(1 + sin(5 * d$x) * cos(4 * d$y)))
  dense <- gp_fit(n ~ x + y, d, kernel = "matern32", family = poisson, control = fit_control(dense_n = 2000))
  series <- update(dense, control = fit_control(dense_n = 0, approximate = TRUE))
  far <- log(coef(series, "covariance") / coef(dense, "covariance"))
  expect_true(all(abs(far) < 0.4 * sqrt(diag(vcov(dense, "covariance")))))
  expect_equal(predict(series, type = "link"), predict(dense, type = "link"), tolerance = 0.02)
})

test_that("few rows by series are what they are dense, fewer than there would be landmarks", {
  set.seed(1)
  d <- data.frame(a = stats::runif(60))
  d$y <- sin(6 * d$a) + stats::rnorm(60, sd = 0.2)
  d$k <- stats::rpois(60, exp(1 + sin(6 * d$a)))
  for (family in c("gaussian", "poisson")) {
    fit <- function(...) {
      gp_fit(if (family == "gaussian") y ~ a else k ~ a, d, kernel = kernel_spec("matern32", scale = 0.5),
             family = family, control = fit_control(...))
    }
    found <- fit(dense_n = 0, approximate = TRUE)
    expect_equal(as.numeric(logLik(found)), as.numeric(logLik(fit())), tolerance = 1e-3, label = family)
  }
})
