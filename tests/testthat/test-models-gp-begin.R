# Tests what few rows choose for a Gaussian process: its kernel, and how products are made.

# A field of Matern's covariance with noise, by the factor of its matrix.
matern_field <- function(n, name, seed, scale = 0.3, nugget = 0.01) {
  set.seed(seed)
  x <- matrix(runif(2 * n), n)
  K <- as.matrix(kernel_spec(name, scale = scale)(x)) + diag(nugget, n)
  data.frame(x = x[, 1], y = x[, 2], z = as.vector(crossprod(chol(K), rnorm(n))))
}

test_that("the default kernel is that of the simulated field, and its likelihoods are those of fits", {
  for (name in by_tier("matern52", "matern52", c("matern12", "matern52"))) {
    d <- matern_field(250, name, 1)
    fit <- gp_fit(z ~ x + y, d)
    expect_identical(fit$chosen$kernel[which.min(fit$chosen$worse)], name)
    expect_identical(fit$chosen$rows, rep(250L, 3))
    each <- vapply(fit$chosen$kernel, function(k) {
      as.numeric(logLik(suppressWarnings(gp_fit(z ~ x + y, d, kernel = k))))
    }, 0)
    expect_lt(max(abs(each - fit$chosen$logLik)), 0.05)
    expect_equal(fit$chosen$worse, max(fit$chosen$logLik) - fit$chosen$logLik)
    expect_equal(coef(fit, "covariance"), coef(gp_fit(z ~ x + y, d, kernel = name), "covariance"), tolerance = 1e-3)
    expect_output(print(fit), paste("smoothness", if (name == "matern12") "1/2" else "5/2", "chosen by likelihood: "))
    expect_output(print(summary(fit)), "worse, on\\s+250\\s+rows")
  }
})

test_that("kernels that are near are compared on more rows, the others are not", {
  skip_below("quick")
  d <- matern_field(700, "matern12", 2)
  chosen <- gp_fit(z ~ x + y, d)$chosen
  expect_identical(chosen$kernel[which.min(chosen$worse)], "matern12")
  far <- chosen$rows == 300
  expect_true(all(chosen$worse[far] >= 10))
  expect_true(all(chosen$rows[!far] %in% c(600, if (sum(!far) == 1) 300)))
})

test_that("updates, refits and comparisons keep the kernel that was chosen", {
  skip_below("quick")
  d <- matern_field(120, "matern12", 3)
  fit <- gp_fit(z ~ x + y, d, method = "ML")
  expect_identical(kernweave:::kernel_parts(fit$kernel)$name, "matern12")
  smooth <- transform(d, z = sin(6 * x) + cos(5 * y))
  expect_identical(kernweave:::kernel_parts(update(fit, data = smooth, nugget = 0.01)$kernel)$name, "matern12")
  again <- update(fit, data = smooth, nugget = 0.01, kernel = "auto")
  expect_identical(kernweave:::kernel_parts(again$kernel)$name, "matern52")
  expect_identical(kernweave:::kernel_parts(update(again, . ~ x)$kernel)$name, "matern52")
  expect_false(anyNA(anova(update(fit, trend = ~ x), fit)[2, "p-value"]))
  expect_identical(nrow(drop1(update(fit, trend = ~ x + y))), 3L)
  refit <- kernweave:::refitted(fit, method = "REML")
  expect_identical(refit$chosen, fit$chosen)
  expect_identical(kernweave:::kernel_parts(refit$kernel)$name, "matern12")
  expect_s3_class(cross_validate(fit, 3, refit = TRUE, seed = 1), "cross_validate")
  expect_null(gp_fit(z ~ x + y, d, kernel = "matern32")$chosen)
})

test_that("the default is for families, one input, given numbers and hardly any rows, too", {
  skip_below("quick")
  d <- matern_field(80, "matern32", 4)
  d$count <- rpois(80, exp(1 + d$z))
  expect_identical(gp_fit(count ~ x + y, d, family = poisson)$chosen$rows, rep(80L, 3))
  expect_identical(nrow(gp_fit(z ~ x, d)$chosen), 3L)
  two <- suppressWarnings(gp_fit(z ~ x, d[1:3, ], variance = 1, nugget = 0.1))
  expect_identical(nrow(two$chosen), 3L)
  expect_error(gp_fit(z ~ x, d[1:2, ]), "too few", class = "kernweave_error_data")
  none <- gp_fit(z ~ x, d, variance = 0)
  expect_null(none$chosen)
  expect_equal(unname(coef(none)), mean(d$z))
  started <- gp_fit(z ~ x + y, d, control = fit_control(start = c(scale = 0.3)))
  expect_equal(started$chosen$logLik, gp_fit(z ~ x + y, d)$chosen$logLik, tolerance = 1e-2)
})

test_that("products that are left open are by series for many rows, and equal exact ones within the tolerance", {
  skip_below("quick")
  set.seed(5)
  n <- kernweave:::rows_for_series[2]
  d <- data.frame(x = runif(n), y = runif(n))
  d$z <- sin(7 * d$x) * cos(5 * d$y) + rnorm(n, 0, 0.4)
  k <- kernel_spec("matern32", scale = 0.4)
  fit <- function(rows, ...) gp_fit(z ~ x + y, d[rows, ], kernel = k, variance = 1, nugget = 0.16, ...)
  series <- fit(seq_len(n))
  expect_output(print(series), "by series to [0-9.e-]+\n")
  exact <- fit(seq_len(n), control = fit_control(approximate = FALSE))
  expect_output(print(exact), "points, by products\n")
  expect_lt(max(abs(fitted(series) - fitted(exact))), 0.01 * sd(d$z))
  expect_null(exact$control$approximate)
  expect_null(fit(seq_len(1500))$control$approximate)
})

test_that("series are not used where kernels have none or the nugget is too small for them", {
  skip_below("quick")
  n <- 2 * kernweave:::rows_for_series[2]
  model <- function(kernel, D = 2, nugget = 0.1) {
    list(x = matrix(seq_len(n * D) / n, n), y = numeric(n), w = rep(1, n), Q = matrix(0, n, 0), log_R = 0,
         kernel = kernel, dense = FALSE, control = fit_control(),
         values = list(variance = 1, kernel = list(scale = 0.2), nugget = nugget))
  }
  expect_true(kernweave:::pays_series(model(kernel_spec("matern12"))))
  expect_false(kernweave:::pays_series(model(kernel_spec("matern12"), nugget = 0)))
  expect_false(kernweave:::pays_series(model(kernel_spec("matern12"), D = 4)))
  expect_false(kernweave:::pays_series(model(kernel_spec("linear"))))
  expect_silent(kde_fit(matrix(1:10 / 10), bandwidth = 1, control = fit_control()))
  expect_error(fit_control(approximate = "yes"), "approximate", class = "kernweave_error_tolerance")
  expect_null(fit_control(approximate = FALSE)$approximate)
})

test_that("advice on units names the kernel that was given", {
  set.seed(2)
  d <- data.frame(x = stats::runif(80), z = 1000 * stats::runif(80))
  d$y <- sin(d$z / 200) + stats::rnorm(80, sd = 0.01)
  said <- testthat::capture_messages(suppressWarnings(gp_fit(y ~ x + z, d, kernel = "matern52")))
  expect_match(paste(said, collapse = " "), "kernel_spec\\(\"matern52\", ard = TRUE")
})

test_that("inputs have scales of their own where BIC says so, in any units, and comparisons keep them", {
  set.seed(3)
  n <- 150
  d <- data.frame(x = stats::runif(n), z = stats::runif(n), none = stats::runif(n))
  d$y <- sin(12 * d$x) + d$z + stats::rnorm(n, sd = 0.1)
  fit <- suppressMessages(gp_fit(y ~ x + z + none, d))
  labels <- paste0("scale.", c("x", "z", "none"))
  expect_identical(names(coef(fit, "covariance"))[2:4], labels)
  expect_output(print(fit), "a scale for each input chosen by BIC: one scale is [0-9]+ worse, on 150 rows")
  # In the second units one scale sees noise alone.
  for (units in list(transform(d, x = 1e4 * x, none = none / 1e3), transform(d, none = 1e6 * none))) {
    other <- suppressMessages(gp_fit(y ~ x + z + none, units))
    expect_equal(logLik(other), logLik(fit), tolerance = 1e-5)
    expect_equal(predict(other, units[1:5, ]), predict(fit, d[1:5, ]), tolerance = 1e-3)
  }
  expect_lt(logLik(gp_fit(y ~ x + z + none, d, kernel = "matern52")), logLik(fit) - 10)
  again <- suppressWarnings(update(fit, method = "ML"))
  expect_identical(names(coef(again, "covariance"))[2:4], labels)
  expect_identical(drop1(fit)$df[1], drop1(again)$df[1])
})

test_that("inputs keep one scale where the process has one, on maps, with few rows, and if it is started", {
  has_one <- function(fit) expect_identical(sum(grepl("^scale", names(coef(fit, "covariance")))), 1L)
  d <- matern_field(200, "matern32", 4)
  fit <- gp_fit(z ~ x + y, d)
  has_one(fit)
  expect_identical(fit$chosen_scales$scales[which.min(fit$chosen_scales$worse)], "one")
  long <- transform(d, z = sin(9 * x) + 0.01 * z)
  expect_gt(gp_fit(z ~ x + y, long)$chosen_scales$worse[1], 10)
  has_one(gp_fit(z ~ x + y, long[1:19, ]))
  has_one(suppressWarnings(gp_fit(z ~ x + y, long, control = fit_control(start = c(scale = 0.3)))))
  testthat::skip_if_not_installed("sf")
  has_one(gp_fit(z ~ 1, sf::st_as_sf(long, coords = c("x", "y"))))
})

test_that("a variance and a scale that cannot be told apart have no limits, and the reason is said", {
  expect_message(levels <- gp_fit(Sepal.Width ~ Species, iris), "cannot be told apart.* trend = ~ Species or")
  expect_false(any(grepl("smoothness", utils::capture.output(print(levels)))))
  line <- data.frame(x = 1:40, y = 1:40 + rep(c(-0.1, 0.1), 20))
  expect_warning(far <- gp_fit(y ~ x, line, kernel = "exponential"), "variance and scale cannot be told apart")
  for (fit in list(levels, far)) expect_true(all(is.na(confint(fit)[c("variance", "scale"), ])))
  expect_false(anyNA(confint(levels, "nugget")))
  # without an intercept levels tell both
  expect_false(anyNA(confint(gp_fit(Sepal.Width ~ Species, iris, trend = ~ 0))))
})

test_that("inputs of different units have one scale of standardized inputs where BIC says so, in any units", {
  fit <- gp_fit(mpg ~ wt + hp + qsec, mtcars)
  expect_identical(fit$chosen_scales$scales[which.min(fit$chosen_scales$worse)], "standardized")
  expect_output(print(fit), "one scale of standardized inputs chosen by BIC: one scale is [0-9]+ worse")
  by_hand <- gp_fit(mpg ~ scale(wt) + scale(hp) + scale(qsec), mtcars, kernel = kernel_parts(fit$kernel)$name)
  other <- gp_fit(mpg ~ wt + hp + qsec, transform(mtcars, hp = 1e4 * hp, wt = wt / 7))
  some <- mtcars[1:5, ] + 0.1
  expect_equal(coef(fit, "covariance"), coef(by_hand, "covariance"), tolerance = 1e-3)
  for (get in list(logLik, function(fit) unname(residuals(fit, "loo")), function(fit) unname(confint(fit)[, 1]),
                   function(fit) predict(fit, se.fit = TRUE)$se.fit)) {
    expect_equal(c(get(fit)), c(get(by_hand)), tolerance = 1e-3)
    expect_equal(c(get(fit)), c(get(other)), tolerance = 1e-3)
  }
  expect_equal(predict(fit, some), predict(by_hand, some), tolerance = 1e-4)
  expect_equal(predict(fit, some), predict(other, transform(some, hp = 1e4 * hp, wt = wt / 7)), tolerance = 1e-4)
  expect_equal(coef(update(fit, . ~ .), "covariance"), coef(fit, "covariance"), tolerance = 1e-3)
})

test_that("standardize = TRUE is for any kernel, family and weight, and leaves places on a map alone", {
  told <- transform(mtcars, count = round(mpg))
  both <- function(y, ...) {
    list(gp_fit(stats::reformulate(c("wt", "hp"), y), told, kernel = "matern32", standardize = TRUE, ...),
         gp_fit(stats::reformulate(c("scale(wt)", "scale(hp)"), y), told, kernel = "matern32", ...))
  }
  light <- replace(rep(1, 32), 3:6, 0)  # with the standard deviations of all rows
  for (fits in suppressWarnings(list(both("mpg"), both("count", family = "poisson"), both("mpg", weights = light)))) {
    expect_equal(fitted(fits[[1]]), fitted(fits[[2]]), tolerance = 1e-3)
    expect_output(print(fits[[1]]), "inputs are standardized")
  }
  expect_null(suppressMessages(gp_fit(mpg ~ wt + hp, mtcars, standardize = FALSE))$data$rule)
  expect_error(gp_fit(mpg ~ wt + hp, mtcars, kernel = kernel_spec(aniso = TRUE), standardize = TRUE), "aniso",
               class = "kernweave_error_input")
  expect_error(gp_fit(mpg ~ wt + hp, mtcars, standardize = "yes"), "standardize", class = "kernweave_error_input")
  skip_if_not_installed("sf")
  d <- sf::st_as_sf(data.frame(matern_field(60, "matern32", 4), w = 1:60), coords = c("x", "y"))
  k <- kernel_spec("matern32", of = "geometry") * kernel_spec("matern32", of = "w")
  fit <- suppressMessages(suppressWarnings(gp_fit(z ~ geometry + w, d, kernel = k, standardize = TRUE)))
  expect_equal(fit$data$rule$width, c(1, 1, stats::sd(1:60)))
})

test_that("fits that are made again keep the units of standardized inputs", {
  fits <- list(gp_fit(mpg ~ wt + hp + gear, mtcars, kernel = "matern32", standardize = TRUE),
               gp_fit(mpg ~ scale(wt) + scale(hp) + scale(gear), mtcars, kernel = "matern32"))
  same <- function(get, tolerance = 1e-3) {
    found <- suppressMessages(suppressWarnings(lapply(fits, get)))
    expect_equal(found[[1]], found[[2]], tolerance = tolerance)
  }
  same(function(fit) as.numeric(logLik(kernweave:::refitted(fit, method = "ML"))))
  same(function(fit) anova(fit, update(fit, trend = ~ wt))$logLik)
  of_four <- ifelse(mtcars$gear == 4, 1, 2)  # an input is constant on the rows beside the second fold
  for (fold in list(rep(1:4, 8), of_four)) {
    for (refit in c(FALSE, TRUE)) same(function(fit) cross_validate(fit, fold, refit = refit)$.fitted)
  }
  same(function(fit) coef(kernweave:::refit_to(fit, 1:20, TRUE), "covariance"))
})
