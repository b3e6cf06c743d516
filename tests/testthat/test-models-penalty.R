# The penalty that fits choose, and changes of data and settings that leave fits as they are.

skip_if_not_installed("MASS")

test_that("the penalty makes cross-validation and a say of the likelihood least, as dense formulas have them", {
  skip_below("quick")
  set.seed(31)
  n <- 60
  data <- data.frame(a = stats::rexp(n), b = stats::rnorm(n))
  y <- cbind(one = log(data$a) + data$b + stats::rnorm(n) / 3, two = data$b^2 + stats::rnorm(n))
  w <- stats::runif(n, 0.5, 2)
  criterion <- function(fit, lambda) {
    A <- sqrt(w) * as.matrix(fit$kernel(fit$data$x, fit$data$x)) * rep(sqrt(w), each = n) + diag(lambda, n)
    z <- sqrt(w) * fit$data$y
    solved <- solve(A, z)
    gcv <- n * sum(solved^2) / sum(diag(solve(A)))^2
    c(gcv, log(gcv) + 100 / n * (log(sum(z * solved)) + as.numeric(determinant(A)$modulus) / n))
  }
  for (dense_n in c(1000, 0)) {
    fit <- kernel_ridge(data, y, "matern32", weights = w, control = fit_control(dense_n = dense_n))
    at <- vapply(fit$lambda * c(1, 0.6, 1.6), function(lambda) criterion(fit, lambda), numeric(2))
    expect_lt(at[2, 1], min(at[2, -1]))
    expect_equal(fit$criterion, at[1, 1], tolerance = if (dense_n) 1e-4 else 0.02)
    few <- fit$gcv[c(5, nrow(fit$gcv) - 5), ]
    dense <- vapply(few$lambda, function(lambda) criterion(fit, lambda)[2], 0)
    expect_equal(diff(log(few$criterion)), diff(dense), tolerance = if (dense_n) 1e-8 else 0.02)
  }
})

test_that("where cross-validation alone would follow the noise, leaving one out is nearly as good as it can be", {
  skip_below("quick")
  cases <- list(list(log(brain) ~ log(body), MASS::Animals), list(Volume ~ ., datasets::trees),
                list(mpg ~ wt + qsec, datasets::mtcars), list(time ~ dist + climb, MASS::hills),
                list(depth ~ east + north, stats::setNames(datasets::quakes[seq(4, 1000, by = 4), 1:3],
                                                           c("north", "east", "depth"))))
  for (case in cases[seq_len(by_tier(2, 5, 5))]) {
    fit <- expect_silent(kernel_ridge(case[[1]], case[[2]]))
    out <- suppressWarnings(kernel_ridge(case[[1]], case[[2]], lambda = "loo"))
    errors <- stats::spline(log(out$gcv$lambda), out$gcv$gcv, xout = log(fit$lambda))$y
    expect_lt(errors, 1.25 * min(out$gcv$gcv), label = deparse1(case[[1]]))
    if (nrow(case[[2]]) > 100) next
    products <- kernel_ridge(case[[1]], case[[2]], control = fit_control(dense_n = 0))
    expect_lt(abs(log(products$lambda / fit$lambda)), 0.5, label = deparse1(case[[1]]))
    expect_identical(kernel_ridge(case[[1]], case[[2]], lambda = "gcv")$lambda, fit$lambda)
  }
})

test_that("a penalty at the end of its grid is told with what that means and a remedy", {
  x <- seq(0, 1, length.out = 60)
  smooth <- "without any noise; .*\"loo\""
  expect_warning(kernel_ridge(x, sin(3 * x)), smooth, class = "kernweave_warning_boundary")
  expect_warning(rbf_interpolate(x, exp(x), lambda = "gcv"), smooth, class = "kernweave_warning_boundary")
  expect_warning(kernel_ridge(x, rep(c(-1, 1), 30)), "no dependence on the inputs",
                 class = "kernweave_warning_boundary")
})

test_that("a constant response has no penalty to be chosen, and with one its fit has no R2", {
  w <- stats::runif(40, 0.5, 2)
  for (lambda in list(NULL, "gcv", "loo", c(0.1, 1))) for (weights in list(NULL, w)) {
    expect_error(kernel_ridge(1:40, rep(0.1, 40), lambda = lambda, weights = weights), "response is constant",
                 class = "kernweave_error_data")
  }
  fit <- kernel_ridge(1:40, rep(0.1, 40), lambda = 1, weights = w)
  expect_identical(fit$r.squared, NA_real_)
  expect_identical(c(fitted(fit), predict(fit, 3.5)), rep(0.1, 41))
  two <- kernel_ridge(1:40, cbind(sin(1:40 / 6), 0.1), lambda = c(0.1, 1))
  expect_identical(is.na(unname(two$r.squared)), c(FALSE, TRUE))
})

test_that("units, origins, weights, the order of rows and the way of solving leave fits what they are", {
  skip_below("quick")
  set.seed(8)
  n <- 80
  x <- cbind(stats::runif(n, 1, 3), stats::rnorm(n))
  y <- sin(2 * x[, 1]) + x[, 2]^2 / 2 + stats::rnorm(n, sd = 0.2)
  w <- rep(c(1, 2, 4, 1), n / 4)
  new <- x[1:5, ] + 0.05
  as_is <- list(shift = 0, by = 1, x_shift = 0, x_by = 1, w_by = 1, order = seq_len(n), limit = 1e-10)
  changes <- list(response_shifted = list(shift = 1e9, limit = 1e-5), response_up = list(by = 1e8),
                  response_down = list(by = 1e-8), inputs_shifted = list(x_shift = 1e9, limit = 1e-5),
                  inputs_up = list(x_by = 1e8), inputs_down = list(x_by = 1e-8), weights = list(w_by = 100),
                  order = list(order = sample(n)))
  # The power of the inputs' unit that multiplies lambda: the unit of the roughness.
  models <- list(list(fit = kernel_ridge, kernel = "gaussian", power = 0),
                 list(fit = rbf_interpolate, kernel = "thin_plate", power = 2),
                 list(fit = rbf_interpolate, kernel = "gaussian", power = 0))
  turn <- 0
  for (model in models) for (dense_n in c(1000, 0)) for (lambda in list(0.5, "gcv")) {
    by_products <- dense_n == 0
    if (by_products && !is.numeric(lambda) && !identical(model$fit, kernel_ridge)) next
    found <- function(change) {
      unit <- change$w_by * change$x_by^model$power
      fit <- model$fit((change$x_by * x + change$x_shift)[change$order, ],
                       (change$by * y + change$shift)[change$order], kernel = model$kernel,
                       lambda = if (is.numeric(lambda)) unit * lambda else lambda,
                       weights = change$w_by * w[change$order],
                       control = fit_control(dense_n = dense_n, tol = 1e-10))
      list(at = (predict(fit, change$x_by * new + change$x_shift) - change$shift) / change$by,
           lambda = fit$lambda / unit)
    }
    plain <- found(as_is)
    # For products, which take long, a fourth of the changes for each of four models and ways of choosing.
    turn <- turn + by_products
    mine <- seq_along(changes) %% by_tier(4, 4, 1) == turn %% by_tier(4, 4, 1)
    for (name in names(changes)[mine | !by_products]) {
      change <- utils::modifyList(as_is, changes[[name]])
      label <- paste(model$kernel, model$power, dense_n, lambda, name)
      # Probes are of the rows as they come, and ends of iterations are rounded.
      estimated <- by_products && !is.numeric(lambda)
      limit <- if (!estimated) max(change$limit, if (by_products) 1e-7) else if (name == "order") 0.05 else 2e-3
      other <- found(change)
      expect_lt(max(abs(other$at - plain$at)), limit, label = label)
      apart <- abs(log(other$lambda / plain$lambda))
      expect_lt(apart, if (name == "order" && estimated) 0.5 else 10 * limit, label = label)
    }
  }
})

test_that("with a linear kernel and hardly a penalty, errors, intervals and the likelihood are those of lm()", {
  set.seed(8)
  x <- matrix(stats::rnorm(90), 30, 3, dimnames = list(NULL, c("a", "b", "c")))
  y <- as.vector(x %*% 1:3 + stats::rnorm(30))
  w <- stats::runif(30, 0.5, 2)
  linear <- stats::lm(y ~ 0 + x, weights = w)
  fit <- kernel_ridge(x, y, kernel_spec("linear", scale = 1), lambda = 1e-6, standardize = FALSE, weights = w)
  expect_equal(c(fit$edf, fit$sigma2, sigma(fit)), c(3, sigma(linear)^2, sigma(linear)), tolerance = 1e-5)
  expect_equal(unname(predict(fit, se.fit = TRUE)$se.fit), unname(predict(linear, se.fit = TRUE)$se.fit),
               tolerance = 1e-5)
  expect_equal(predict(fit, interval = "confidence"), predict(linear, interval = "confidence"), tolerance = 1e-5,
               ignore_attr = TRUE)
  expect_equal(unname(rstandard(fit)), unname(rstandard(linear)), tolerance = 1e-4)
  expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(linear)), tolerance = 1e-6)
  expect_equal(AIC(fit), AIC(linear), tolerance = 1e-5)
  expect_equal(marginal_effects(fit)$std.error, unname(sqrt(diag(vcov(linear)))), tolerance = 1e-4)
  two <- kernel_ridge(x, cbind(y, y^2), kernel_spec("linear", scale = 1), 1e-6, standardize = FALSE, weights = w)
  expect_equal(unname(sigma(two)), c(sigma(linear), sigma(stats::lm(y^2 ~ 0 + x, weights = w))), tolerance = 1e-5)
  # as many degrees of freedom as rows leave a finite variance
  through <- kernel_ridge(x, y, "gaussian", lambda = 1e-13)
  expect_true(is.finite(through$sigma2) && through$sigma2 >= 0)
})

test_that("prediction intervals of a ridge regression with many degrees of freedom cover new observations", {
  skip_below("quick")
  covered <- vapply(1:20, function(seed) {
    set.seed(seed)
    x <- matrix(stats::runif(1000), 200)
    y <- sin(3 * x[, 1]) + x[, 2]^2 + stats::rnorm(200, sd = 0.3)
    fit <- kernel_ridge(x[1:100, ], y[1:100])
    ends <- predict(fit, x[-(1:100), ], interval = "prediction", level = 0.9)
    mean(y[-(1:100)] >= ends[, "lwr"] & y[-(1:100)] <= ends[, "upr"])
  }, 0)
  expect_gt(mean(covered), 0.83)
})
