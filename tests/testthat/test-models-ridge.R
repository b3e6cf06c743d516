# Kernel ridge regression against dense solutions, and the numbers of KRLS.

skip_if_not_installed("MASS")
prices <- medv ~ crim + nox + rm + dis + ptratio + lstat
of_krls <- kernel_spec("gaussian", scale = sqrt(3))

test_that("without probes there are no degrees of freedom, and all else is as it was", {
  skip_below("quick")
  fit <- function(...) {
    kernel_ridge(dist ~ speed, cars, lambda = 1, control = fit_control(dense_n = 0, tol = 1e-10, ...))
  }
  some <- fit()
  none <- fit(probes = 0)
  expect_identical(c(none$edf, none$df.residual), c(NA_real_, NA_real_))
  expect_identical(none$alpha, some$alpha)
  expect_identical(sigma(none), sqrt(deviance(some) / 50))
  expect_output(print(none), "edf not computed   R2 ")
  at <- predict(none, cars[1:3, ], interval = "confidence", level = 0.9)
  se <- predict(some, cars[1:3, ], se.fit = TRUE)$se.fit * sigma(none) / sigma(some)
  expect_equal(unname(at[, "upr"] - at[, "fit"]), stats::qnorm(0.95) * unname(se), tolerance = 1e-6)
  expect_identical(kernel_ridge(dist ~ speed, cars, lambda = 1, control = fit_control(probes = 0))$edf,
                   kernel_ridge(dist ~ speed, cars, lambda = 1)$edf)
})

test_that("fits, effects and their errors are those of KRLS", {
  skip_below("quick")
  fit <- kernel_ridge(prices, MASS::Boston, of_krls, lambda = 0.25)
  # KRLS divides by 506 where sigma2 has the degrees of freedom
  theirs <- 7.57407124
  wider <- sqrt(506 / (506 - fit$edf))
  expect_equal(c(fit$edf, fit$r.squared, fit$sigma2 / wider^2), c(69.16158185, 0.91028061, theirs), tolerance = 1e-8)
  expect_equal(unname(fitted(fit)[1:3]), c(27.39192405, 23.24098438, 34.30792645), tolerance = 1e-8)
  effects <- marginal_effects(fit)
  expect_equal(effects$estimate,
               c(0.07400271, -16.24359007, 3.77927407, -1.09546782, -0.56750126, -0.56860897), tolerance = 1e-6)
  expect_equal(effects$std.error / wider, c(0.05632584, 3.21562339, 0.35511683, 0.15850478, 0.10198668, 0.04207859),
               tolerance = 1e-6)
  expect_equal(c(effects["rm", "q25"], effects["crim", "q75"]), c(0.9013, 0.1983), tolerance = 1e-4)
  expect_output(print(effects), "Average marginal effects, 506 points")
  expect_output(print(summary(fit)), "lambda 0.25 \\(given\\).*lstat")
  iterated <- kernel_ridge(prices, MASS::Boston, of_krls, lambda = 0.25, control = fit_control(dense_n = 0, tol = 1e-9))
  expect_equal(fitted(iterated), fitted(fit), tolerance = 1e-7)
  expect_equal(marginal_effects(iterated)$std.error / sigma(iterated), effects$std.error / sigma(fit), tolerance = 1e-6)
  expect_lt(abs(iterated$edf - fit$edf), 4 * iterated$edf_se)
  expect_lt(iterated$edf_se, 0.01 * fit$edf)
  expect_output(print(iterated), "edf [0-9.]+ \\(se ")
  expect_identical(fit$edf_se, 0)
})

test_that("cross-validation, leaving one out and the default scale are those known", {
  skip_below("quick")
  fit <- kernel_ridge(prices, MASS::Boston, of_krls)
  least <- least_of_gcv(fit)
  expect_equal(log(least[["lambda"]]), log(0.006938535), tolerance = 1e-3)
  expect_equal(least[["gcv"]], 0.09970619, tolerance = 1e-6)
  expect_equal(least[["edf"]], 163.77, tolerance = 1e-4)
  out <- kernel_ridge(prices, MASS::Boston, of_krls, lambda = "loo")
  expect_equal(out$lambda, 0.0184, tolerance = 5e-3)
  # KRLS tells the sum of squares of the scaled response, times its deviation.
  expect_equal(506 * out$criterion * stats::sd(MASS::Boston$medv), 573.1, tolerance = 1e-4)
  among <- kernel_ridge(prices, MASS::Boston, of_krls, lambda = c(1, 0.01, 0.0001))
  expect_equal(among$lambda, 0.01)
  rough <- kernel_ridge(prices, MASS::Boston, of_krls, control = fit_control(dense_n = 0))
  expect_lt(abs(log(rough$lambda / fit$lambda)), 0.3)
  expect_equal(coef(kernel_ridge(prices, MASS::Boston, lambda = 1)$kernel)[["scale"]], 2.03204352, tolerance = 1e-5)
})

test_that("by products the least of the curve is that of eigenvalues, at every noise, from few refined ridges", {
  skip_below("quick")
  set.seed(12)
  x <- matrix(stats::rnorm(1200), 400)
  cases <- combinations(noise = c(0.5, 0.05), name = c("gaussian", "matern52"))
  for (case in seq_len(by_tier(1, nrow(cases), nrow(cases)))) {
    noise <- cases$noise[case]
    name <- cases$name[case]
    y <- sin(2 * x[, 1]) + x[, 2] + noise * stats::rnorm(400)
    exact <- kernel_ridge(x, y, kernel_spec(name, 1))
    found <- kernel_ridge(x, y, kernel_spec(name, 1), control = fit_control(dense_n = 0))
    expect_lt(abs(log(found$lambda / exact$lambda)), 0.1)
    expect_equal(found$criterion, exact$criterion, tolerance = 0.01)
    expect_lt(abs(found$edf - exact$edf), 0.02 * exact$edf)
    k <- which.min(found$gcv$gcv)
    both <- merge(found$gcv[k + -1:1, ], transform(exact$gcv, lambda = lambda * (1 + 1e-12)), by = NULL)
    both <- both[abs(log(both$lambda.x / both$lambda.y)) < 1e-6, ]
    expect_identical(nrow(both), 3L)
    expect_equal(both$gcv.x, both$gcv.y, tolerance = 0.01)
    expect_equal(diff(log(both$criterion.x)), diff(log(both$criterion.y)), tolerance = 0.05)
  }
  none <- sin(2 * x[, 1]) + x[, 2]
  expect_warning(kernel_ridge(x, none, kernel_spec("gaussian", 1), control = fit_control(dense_n = 0)),
                 class = "kernweave_warning_boundary")
})

test_that("leaving one out is what leaving each out gives", {
  skip_below("quick")
  set.seed(2)
  x <- matrix(stats::rnorm(60), 20)
  y <- x[, 1]^2 + stats::rnorm(20) / 5
  k <- kernel_spec("gaussian", scale = 1)
  fit <- kernel_ridge(x, y, k, lambda = "loo", standardize = FALSE)
  apart <- function(lambda) {
    mean(vapply(1:20, function(i) {
      one <- kernel_ridge(x[-i, ], y[-i], k, lambda = lambda, standardize = FALSE)
      (y[i] - predict(one, x[i, , drop = FALSE]))^2
    }, 0))
  }
  expect_equal(fit$criterion, apart(fit$lambda), tolerance = 1e-5)
  expect_lt(fit$criterion, min(apart(fit$lambda * 1.3), apart(fit$lambda / 1.3)))
})

test_that("weighed fits, effects of slopes, pairs of values and levels, and errors are dense formulas", {
  set.seed(3)
  n <- 40
  data <- data.frame(a = stats::rnorm(n), b = stats::runif(n), two = rep(c(0, 3), length.out = n),
                     g = factor(sample(c("low", "mid", "top"), n, TRUE)))
  data$y <- data$a^2 + 2 * data$two + as.integer(data$g) + stats::rnorm(n) / 10
  w <- stats::runif(n, 0.5, 2)
  k <- kernel_spec("matern52", scale = 2)
  fit <- kernel_ridge(y ~ a + b + two + g, data, k, lambda = 0.3, weights = w)
  columns <- function(d) cbind(d$a, d$b, d$two, sapply(levels(data$g), function(l) (d$g == l) / sqrt(2)))
  m <- colSums(w * columns(data)) / sum(w)
  s <- sqrt(colSums(w * t(t(columns(data)) - m)^2) / sum(w) * n / (n - 1))
  unit <- function(d) t((t(columns(d)) - m) / s)
  my <- sum(w * data$y) / sum(w)
  sy <- sqrt(sum(w * (data$y - my)^2) / sum(w) * n / (n - 1))
  kernel <- function(p, q) {
    r <- sqrt(5) * dense_distance(p, q) / 2
    (1 + r + r^2 / 3) * exp(-r)
  }
  X <- unit(data)
  A <- kernel(X, X) + diag(0.3 / w)
  alpha <- solve(A, (data$y - my) / sy)
  value <- function(d) as.vector(kernel(unit(d), X) %*% alpha) * sy + my
  expect_equal(unname(fitted(fit)), value(data), tolerance = 1e-9)
  expect_equal(fit$edf, sum(diag(kernel(X, X) %*% solve(A))), tolerance = 1e-9)
  expect_equal(fit$sigma2, sum(w * (data$y - value(data))^2) / (n - fit$edf))
  expect_equal(vcov(fit), fit$sigma2 / sy^2 * solve(A) %*% diag(1 / w) %*% solve(A), tolerance = 1e-8)
  effects <- marginal_effects(fit)
  expect_identical(effects$term, c("a", "b", "two", "g", "g"))
  expect_identical(effects$contrast[3:5], c("3 - 0", "mid - low", "top - low"))
  set <- function(name, v) replace(data, name, list(v))
  level <- function(v) factor(rep(v, n), levels(data$g))
  h <- 1e-5
  ends <- list(list(set("a", data$a + h), set("a", data$a - h), 2 * h),
               list(set("b", data$b + h), set("b", data$b - h), 2 * h), list(set("two", 3), set("two", 0), 1),
               list(set("g", level("mid")), set("g", level("low")), 1),
               list(set("g", level("top")), set("g", level("low")), 1))
  for (i in 1:5) {
    at <- (value(ends[[i]][[1]]) - value(ends[[i]][[2]])) / ends[[i]][[3]]
    expect_equal(unname(attr(effects, "pointwise")[, i]), at, tolerance = 1e-6)
    expect_equal(effects$estimate[i], sum(w * at) / sum(w), tolerance = 1e-6)
    v <- colSums(w * (kernel(unit(ends[[i]][[1]]), X) - kernel(unit(ends[[i]][[2]]), X))) / ends[[i]][[3]] / sum(w)
    expect_equal(effects$std.error[i], fit$sigma * sqrt(sum(solve(A, v)^2 / w)), tolerance = 1e-5)
  }
  expect_equal(marginal_effects(fit, "g")$estimate, effects$estimate[4:5])
  expect_equal(marginal_effects(fit, "a", data[1:5, ], se.fit = FALSE)$estimate,
               mean(attr(effects, "pointwise")[1:5, "a"]))
  new <- predict(fit, data[1:4, ], se.fit = TRUE, interval = "confidence")
  expect_equal(unname(new$se.fit), unname(fit$sigma * sqrt(colSums(solve(A, kernel(X, X[1:4, ]))^2 / w))),
               tolerance = 1e-8)
  expect_equal(unname(new$fit[, "upr"] - new$fit[, "fit"]), unname(stats::qt(0.975, n - fit$edf) * new$se.fit))
})

test_that("whole weights are rows repeated, and repeated data have a lambda as much larger", {
  set.seed(4)
  x <- matrix(stats::rnorm(60), 30)
  y <- x[, 1] + stats::rnorm(30)
  k <- kernel_spec("gaussian", scale = 1)
  rows <- c(1:30, 1:10)
  twice <- kernel_ridge(x[rows, ], y[rows], k, lambda = 0.5, standardize = FALSE)
  weighed <- kernel_ridge(x, y, k, lambda = 0.5, weights = rep(2:1, c(10, 20)), standardize = FALSE)
  expect_equal(predict(weighed, x), predict(twice, x), tolerance = 1e-9, ignore_attr = TRUE)
  expect_equal(marginal_effects(weighed)$estimate, marginal_effects(twice)$estimate, tolerance = 1e-9)
  all <- kernel_ridge(x[rep(1:30, 3), ], rep(y, 3), k, lambda = 1.5, standardize = FALSE)
  once <- kernel_ridge(x, y, k, lambda = 0.5, standardize = FALSE)
  expect_equal(predict(all, x), predict(once, x), tolerance = 1e-9, ignore_attr = TRUE)
  none <- kernel_ridge(x, y, k, lambda = 0.5, weights = rep(0:1, c(5, 25)))
  expect_equal(predict(none, x), predict(kernel_ridge(x[-(1:5), ], y[-(1:5)], k, lambda = 0.5), x), tolerance = 1e-9)
})

test_that("missing rows, several responses, few rows, equal rows and files do", {
  skip_below("quick")
  holes <- kernel_ridge(Ozone ~ Temp + Wind, airquality, lambda = 0.1, na.action = stats::na.exclude)
  expect_equal(is.na(fitted(holes)), is.na(airquality$Ozone), ignore_attr = TRUE)
  expect_true(is.na(predict(holes, data.frame(Temp = NA, Wind = 3))))
  both <- kernel_ridge(iris[, 1:2], iris[, 3:4], lambda = 0.1)
  alone <- kernel_ridge(iris[, 1:2], iris[, 4], lambda = 0.1)
  expect_equal(predict(both, iris[1:5, 1:2])[, "Petal.Width"], predict(alone, iris[1:5, 1:2]), ignore_attr = TRUE)
  expect_error(marginal_effects(both), class = "kernweave_error_unsupported")
  expect_error(predict(both, interval = "confidence"), class = "kernweave_error_unsupported")
  set.seed(5)
  wide <- kernel_ridge(matrix(stats::rnorm(60), 5), 1:5, lambda = 1)
  expect_equal(nrow(marginal_effects(wide)), 12)
  line <- kernel_ridge(cars$speed, cars$dist, lambda = 0.1)
  expect_equal(dim(attr(marginal_effects(line), "pointwise")), c(50, 1))
  linear <- kernel_ridge(cars$speed, cars$dist, "linear", lambda = 1e-8)
  expect_equal(unname(fitted(linear)), unname(stats::fitted(stats::lm(dist ~ speed, cars))), tolerance = 1e-6)
  expect_equal(marginal_effects(linear)$estimate, stats::coef(stats::lm(dist ~ speed, cars))[["speed"]],
               tolerance = 1e-6)
  file <- tempfile()
  saveRDS(holes, file)
  expect_equal(predict(readRDS(file), airquality[1:3, ]), predict(holes, airquality[1:3, ]))
  expect_equal(update(holes, lambda = 0.2)$lambda, 0.2)
})

test_that("what is wrong or makes no sense is told by class", {
  skip_below("quick")
  x <- as.matrix(cars)
  expect_error(kernel_ridge(x, 1:50, lambda = 0), class = "kernweave_error_value")
  expect_error(kernel_ridge(x, 1:50, "thin_plate"), class = "kernweave_error_unsupported")
  expect_error(kernel_ridge(x, factor(1:50)), class = "kernweave_error_input")
  expect_error(kernel_ridge(x, 1:49), class = "kernweave_error_shape")
  expect_error(kernel_ridge(x[1, , drop = FALSE], 1), class = "kernweave_error_data")
  expect_error(kernel_ridge(dist ~ speed, cars, lambda = "loo", control = fit_control(dense_n = 10)),
               class = "kernweave_error_unsupported")
  wild <- kernel_spec("gaussian", scale = 1e-6)
  expect_warning(kernel_ridge(x + 1:50, 1:50, wild, lambda = 1, standardize = FALSE), "longer",
                 class = "kernweave_warning_boundary")
  expect_warning(kernel_ridge(x, 1:50, kernel_spec("gaussian", scale = 1e6), lambda = 1), "shorter",
                 class = "kernweave_warning_boundary")
  expect_warning(kernel_ridge(cbind(x, 1), 1:50, lambda = 1), class = "kernweave_warning_dropped")
  set.seed(6)
  noise <- matrix(stats::rnorm(200), 100)
  expect_warning(kernel_ridge(noise, noise[, 1] + 2 * noise[, 2], "linear"), class = "kernweave_warning_boundary")
  fit <- kernel_ridge(dist ~ speed, cars, lambda = 1, control = fit_control(dense_n = 10))
  expect_error(vcov(fit), "marginal_effects", class = "kernweave_error_memory")
  expect_error(marginal_effects(fit, "sped"), "speed", class = "kernweave_error_input")
  expect_error(plot(fit, "gcv"), class = "kernweave_error_input")
  expect_error(marginal_effects(stats::lm(dist ~ speed, cars)), class = "kernweave_error_input")
})

test_that("fits, curves and effects are drawn, and told as data frames", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fit <- kernel_ridge(mpg ~ wt + hp + am, mtcars)
  for (which in c("fitted", "gcv", "effects")) expect_identical(plot(fit, which), fit)
  skip_if_not_installed("generics")
  expect_equal(generics::tidy(fit)$estimate, marginal_effects(fit)$estimate)
  expect_equal(generics::glance(fit)$gcv, fit$criterion)
  expect_equal(generics::augment(fit)$.fitted, unname(fitted(fit)))
})

test_that("effects have coef() and confint()", {
  fit <- kernel_ridge(mpg ~ wt + hp + factor(cyl), mtcars, lambda = 1)
  effects <- marginal_effects(fit, level = 0.9)
  expect_equal(coef(effects), setNames(effects$estimate, c("wt", "hp", "factor(cyl)6", "factor(cyl)8")))
  expect_equal(unname(confint(effects, level = 0.9)), unname(cbind(effects$conf.low, effects$conf.high)))
  expect_equal(colnames(confint(effects)), c("2.5 %", "97.5 %"))
  expect_equal(confint(effects, "hp"), confint(effects)[2, , drop = FALSE])
  expect_equal(confint(effects, 2), confint(effects, "hp"))
  expect_error(confint(effects, "weight"), "no input `weight`; there are `wt`", class = "kernweave_error_input")
  expect_error(confint(effects, level = 2), "`level`", class = "kernweave_error_value")
  expect_error(confint(marginal_effects(fit, se.fit = FALSE)), "no intervals", class = "kernweave_error_input")
})

test_that("augment() has the rows that were complete, and takes no standard errors that are not asked for", {
  skip_if_not_installed("generics")
  holes <- airquality[1:40, ]
  complete <- !is.na(holes$Ozone)
  fits <- list(kernel_ridge(Ozone ~ Temp, holes, lambda = 1, na.action = na.exclude),
               local_reg(Ozone ~ Temp, holes, bandwidth = 5, na.action = na.exclude),
               gp_fit(Ozone ~ Temp, holes, kernel = kernel_spec("gaussian", 10), nugget = 300, na.action = na.exclude))
  for (fit in fits) {
    all <- generics::augment(fit)
    expect_equal(all$.fitted, unname(fitted(fit))[complete], label = class(fit)[1])
    expect_equal(all$.resid, unname(residuals(fit))[complete])
    expect_equal(generics::augment(fit, se_fit = FALSE), all[names(all) != ".se.fit"])
    both <- generics::augment(fit, se_fit = FALSE, interval = "confidence")
    expect_equal(both$.upper - both$.fitted, both$.fitted - both$.lower)
  }
  density <- kde_fit(~Ozone, holes, na.action = na.exclude)
  expect_identical(generics::augment(density)$Ozone, holes$Ozone[complete])
})

test_that("several responses have a summary, weights of observations no intervals, and data their own variables", {
  two <- kernel_ridge(cbind(mpg, qsec) ~ wt + hp, mtcars, lambda = 1)
  expect_output(print(summary(two)), "R2 0[.][0-9]+ 0[.][0-9]+   sigma")
  expect_error(confint(two), "marginal_effects", class = "kernweave_error_unsupported")
  kept <- kernel_ridge(log(Ozone) ~ Temp, airquality, subset = Wind > 8, weights = Wind, lambda = 1)
  expect_equal(model.frame(kept), model.frame(log(Ozone) ~ Temp, airquality, subset = Wind > 8, weights = Wind),
               ignore_attr = TRUE)
  expect_identical(names(model.frame(kde_fit(~ eruptions, faithful))), "eruptions")
  process <- gp_fit(mpg ~ ., mtcars[1:3], kernel = kernel_spec("matern32", 100), nugget = 1)
  expect_identical(names(model.frame(process)), c("mpg", "cyl", "disp"))
  expect_error(model.frame(kernel_ridge(mtcars$wt, mtcars$mpg, lambda = 1)), "not of a formula",
               class = "kernweave_error_input")
})

test_that("errors of predictions take the factor that the first of them made", {
  skip_below("quick")
  fit <- kernel_ridge(dist ~ speed, cars, lambda = 0.5)
  expect_null(fit$kept$root)
  first <- predict(fit, data.frame(speed = c(5, 15)), se.fit = TRUE)
  expect_equal(crossprod(fit$kept$root), unname(as.matrix(fit$kernel(Vi(fit$data$x), Vj(fit$data$x)))) + diag(0.5, 50))
  expect_equal(predict(update(fit), data.frame(speed = c(5, 15)), se.fit = TRUE), first)
  by_products <- update(fit, control = fit_control(dense_n = 0, tol = 1e-10))
  expect_equal(predict(by_products, data.frame(speed = c(5, 15)), se.fit = TRUE)$se.fit, first$se.fit, tolerance = 1e-4)
  expect_s3_class(by_products$kept$preconditioner, "kernweave_preconditioner")
})
