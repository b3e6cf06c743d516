# Local regression against weighted least squares, row by row, and the numbers of other packages.

skip_if_not_installed("MASS")
cycle <- data.frame(times = MASS::mcycle$times, accel = MASS::mcycle$accel)
at <- data.frame(times = c(10, 20, 30, 40, 50))

# The row of the smoother at one place.
dense_row <- function(p, x, h, degree, w = rep(1, nrow(x))) {
  u <- sweep(sweep(x, 2, p), 2, h, "/")
  w <- w * exp(-rowSums(u^2) / 2)
  m <- if (degree == 0) matrix(1, nrow(x)) else cbind(1, u)
  (solve(crossprod(m, w * m)) %*% t(w * m))[1, ]
}

test_that("fits and standard errors are those of sm", {
  zero <- local_reg(accel ~ times, cycle, degree = 0, bandwidth = 2)
  expect_equal(unname(predict(zero, at)), c(-4.079768267, -93.682618076, 13.668639748, 4.578144491, -6.681871634),
               tolerance = 1e-9)
  one <- local_reg(accel ~ times, cycle, bandwidth = 2)
  expect_equal(fitted(local_reg(accel ~ times, as.matrix(cycle), bandwidth = 2)), fitted(one), ignore_attr = TRUE)
  found <- predict(one, at, se.fit = TRUE)
  expect_equal(unname(found$fit), c(-3.863225963, -100.229616248, 19.548775777, 4.755554538, -5.946724619),
               tolerance = 1e-9)
  expect_equal(unname(found$se.fit), c(6.358979, 4.955052, 5.683526, 6.561848, 9.469038), tolerance = 1e-6)
  expect_equal(c(one$df, one$sigma), c(12.62512, 23.91713), tolerance = 1e-6)
})

test_that("bandwidths by cross-validation and by Akaike's criterion are those of np", {
  skip_below("quick")
  table <- data.frame(degree = c(0, 1, 1), by = c("cv", "cv", "aicc"), h = c(0.9138289, 1.4757940, 1.6445012),
                      value = c(595.9363441, 561.3394535, 7.433882231))
  for (k in 1:3) {
    fit <- local_reg(accel ~ times, cycle, degree = table$degree[k], bandwidth = table$by[k])
    expect_equal(unname(fit$bandwidth), table$h[k], tolerance = 1e-4)
    expect_equal(fit$criterion, table$value[k], tolerance = 1e-8)
  }
})

test_that("each row is a weighted least squares fit, with several inputs, responses and weights, near and far", {
  set.seed(4)
  x <- matrix(stats::rnorm(120), 40)
  y <- cbind(a = x[, 1]^2, b = stats::rnorm(40)) + 1000
  w <- stats::runif(40)
  h <- c(0.8, 1, 1.5)
  new <- matrix(stats::rnorm(15), 5)
  for (degree in 0:1) {
    fit <- local_reg(x, y, degree = degree, bandwidth = h, weights = w)
    S <- t(apply(x, 1, dense_row, x, h, degree, w))
    expect_equal(fitted(fit), S %*% y, ignore_attr = TRUE)
    expect_equal(fit$df, sum(diag(S)))
    expect_equal(fit$df.residual, 40 - 2 * sum(diag(S)) + sum(S^2 * outer(w, 1 / w)))
    L <- t(apply(new, 1, dense_row, x, h, degree, w))
    found <- predict(fit, new, se.fit = TRUE)
    expect_equal(found$fit, L %*% y, ignore_attr = TRUE)
    expect_equal(found$se.fit, outer(sqrt(L^2 %*% (1 / w))[, 1], fit$sigma), ignore_attr = TRUE)
    left_out <- (y - S %*% y) / (1 - diag(S))
    expect_equal(fit$criterion, sum(w * left_out^2) / sum(w))
  }
  narrow <- local_reg(seq(0, 1e4, length.out = 50), sin(1:50), bandwidth = 3)
  expect_equal(unname(fitted(narrow)), sin(1:50), tolerance = 1e-6)
  for (degree in 0:1) {
    fit <- local_reg(accel ~ times, cycle, degree = degree, bandwidth = 1)
    far <- predict(fit, data.frame(times = c(90, 1e6)), se.fit = TRUE)
    expect_equal(unname(far$fit), rep(cycle$accel[133], 2))
    expect_equal(unname(far$se.fit), rep(if (degree == 0) fit$sigma else NA_real_, 2))
    expect_equal(far$n_eff, c(1, 1), ignore_attr = TRUE)
  }
  shifted <- transform(cycle, times = times + 1e6)
  near <- local_reg(accel ~ times, cycle, bandwidth = 2)
  expect_equal(fitted(local_reg(accel ~ times, shifted, bandwidth = 2)), fitted(near))
  corners <- cbind(c(1, 1, 1, 2, 2, 2), c(0, 0, 0, 0, 0, 1))
  groups <- local_reg(corners, 1:6, bandwidth = c(0.01, 0.2))
  expect_equal(unname(fitted(groups)), c(2, 2, 2, 4.5, 4.5, 6), tolerance = 1e-4)
})

# Each observation from all others, by logarithms of weights.
dense_cv <- function(x, y, h, degree, w = rep(1, nrow(x))) {
  left_out <- vapply(seq_len(nrow(x)), function(i) {
    u <- sweep(sweep(x[-i, , drop = FALSE], 2, x[i, ]), 2, h, "/")
    logs <- log(w[-i]) - rowSums(u^2) / 2
    near <- exp(logs - max(logs))
    m <- if (degree == 0) matrix(1, nrow(u)) else cbind(1, u)
    y[i] - stats::lm.wfit(m[near > 0, , drop = FALSE], y[-i][near > 0], near[near > 0])$coefficients[[1]]
  }, 0)
  sum(w * left_out^2) / sum(w)
}

test_that("cross-validation leaves out where observations stand alone, too, in any units and with any weights", {
  skip_below("quick")
  x <- unname(as.matrix(rock[, c("peri", "shape")]))
  y <- log(rock$perm)
  set.seed(8)
  w <- exp(stats::rnorm(48, sd = 2))
  for (h in list(c(300, 0.05), c(30, 0.01), c(3, 3e-4), c(1e5, 1e-3))) {
    exact <- dense_cv(x, y, h, 0, w)
    expect_equal(local_reg(x, y, 0, h, weights = w)$criterion, exact, tolerance = 1e-12)
    by <- c(1e-6, 1e5)
    expect_equal(local_reg(t(t(x) * by), y, 0, h * by, weights = w)$criterion, exact, tolerance = 1e-12)
  }
  # Two and more beside a lone one are a line for it; a line that rests on next to nothing is level.
  lone <- cbind(c(0, 0.5, 1, 1.5, 8, 20, 20.5, 21))
  z <- c(1, 3, 2, 4, 0, 5, 6, 4)
  for (h in c(1.2, 1.6, 2, 4)) {
    expect_equal(local_reg(lone, z, bandwidth = h)$criterion, dense_cv(lone, z, h, 1), tolerance = 1e-7)
  }
  h <- c(30, 0.02)
  few <- 1:20
  alone <- vapply(few, function(i) {
    at <- setdiff(few, i)
    y[i] - predict(local_reg(x[at, ], y[at], bandwidth = h, weights = w[at]), x[i, , drop = FALSE])
  }, 0)
  expect_equal(local_reg(x[few, ], y[few], bandwidth = h, weights = w[few])$criterion,
               sum(w[few] * alone^2) / sum(w[few]), tolerance = 1e-7)
})

test_that("the criterion goes on where an observation becomes lonely", {
  skip_below("quick")
  x <- c(stats::qnorm(1:30 / 31), 5)
  y <- c(cos(3 * x[1:30]), 4)
  for (degree in 0:1) {
    h <- exp(seq(log(0.05), log(2), length.out = 20))
    value <- function(h) vapply(h, function(h) local_reg(x, y, degree, h)$criterion, 0)
    steps <- abs(value(h * (1 + 1e-7)) / value(h) - 1)
    expect_lt(max(steps), 2e-5)
  }
})

test_that("searches find the least criterion there is", {
  skip_below("usual")
  states <- as.data.frame(state.x77)
  names(states) <- make.names(names(states))
  # The least criteria of a fine grid over the logarithms of bandwidths, polished from its best places.
  table <- list(list(Illiteracy ~ Area + Income, states, 0, 0.218452), list(accel ~ times, cycle, 1, 561.33945),
                list(Fertility ~ Agriculture + Education, swiss, 0, 107.989))
  for (row in table) expect_lte(local_reg(row[[1]], row[[2]], row[[3]])$criterion, 1.0001 * row[[4]])
  # More rows than the grid is tried on, of which few tell that a variable says something.
  set.seed(9)
  x <- matrix(stats::runif(2400), ncol = 2)
  y <- sin(6 * x[, 1]) * (1 + x[, 2] / 4) + stats::rnorm(1200) / 5
  given <- min(vapply(c(0.15, 0.3, 0.5, 1, 100), function(h) local_reg(x, y, bandwidth = c(0.045, h))$criterion, 0))
  expect_lte(local_reg(x, y)$criterion, given)
  expect_error(local_reg(1:3, c(1, 3, 2), bandwidth = "aicc"), "so few rows", class = "kernweave_error_data")
})

test_that("fits and errors are the same in any units of response, inputs and weights, at any place, in any order", {
  skip_below("quick")
  set.seed(12)
  x <- matrix(sample(0:4000, 120) / 1024, 60)
  y <- round(1024 * (sin(2 * x[, 1]) + x[, 2] + stats::rnorm(60) / 4)) / 1024
  w <- stats::runif(60, 0.2, 2)
  order <- sample(60)
  at <- x[1:7, ] + 1 / 64
  numbers <- function(degree, h, x, y, w, at, from = 0, unit = 1) {
    fit <- local_reg(x, y, degree, h, weights = w)
    found <- predict(fit, at, se.fit = TRUE)
    c((found$fit - from) / unit, found$se.fit / unit, fit$criterion / unit^2, fit$df, fit$df.residual, found$n_eff)
  }
  cases <- combinations(degree = 0:1, h = 1:2)
  for (case in seq_len(by_tier(1, nrow(cases), nrow(cases)))) {
    degree <- cases$degree[case]
    h <- list(c(0.5, 1), c(0.15, 0.2))[[cases$h[case]]]
    base <- numbers(degree, h, x, y, w, at)
    same <- function(tolerance, ...) expect_equal(numbers(degree, ...), base, tolerance = tolerance)
    same(1e-6, h, x, y + 1e9, w, at, from = 1e9)
    same(1e-9, h, x, 1e8 * y, w, at, unit = 1e8)
    same(1e-9, h, x, 1e-8 * y, w, at, unit = 1e-8)
    same(1e-9, h, x + 1e9, y, w, at + 1e9)
    same(1e-9, 1e8 * h, 1e8 * x, y, w, 1e8 * at)
    same(1e-9, 1e-8 * h, 1e-8 * x, y, w, 1e-8 * at)
    same(1e-9, h, x, y, 100 * w, at)
    same(1e-9, h, x[order, ], y[order], w[order], at)
    same(1e-9, h, rbind(x, 1), c(y, 50), c(w, 0), at)
  }
  search <- function(...) local_reg(..., degree = 0)$bandwidth
  expect_equal(search(x * 1e8, y * 1e-8), search(x, y) * 1e8, tolerance = 1e-4)
  expect_equal(search(x[order, ] + 1e9, y[order] + 1e4), search(x, y), tolerance = 1e-4)
})

test_that("errors of weighed observations are those of lm() where the kernel is wide", {
  w <- rep(c(0.1, 3, 40, 2, 0), 10)
  line <- stats::lm(dist ~ speed, cars, weights = w)
  fit <- local_reg(dist ~ speed, cars, bandwidth = 1e5, weights = w)
  new <- data.frame(speed = c(5, 15, 40))
  expect_equal(lapply(predict(fit, new, se.fit = TRUE)[1:3], unname),
               lapply(predict(line, new, se.fit = TRUE)[1:3], unname), tolerance = 1e-7)
  expect_equal(sigma(fit), sigma(line), tolerance = 1e-7)
  expect_equal(unname(predict(local_reg(dist ~ speed, cars, bandwidth = 1e9), new)),
               unname(predict(stats::lm(dist ~ speed, cars), new)))
})

test_that("a range of many bandwidths leaves fits as they are", {
  skip_below("quick")
  set.seed(6)
  x <- stats::runif(50)
  y <- cos(7 * x) + stats::rnorm(50) / 3
  of <- function(gap, degree) fitted(local_reg(c(x, gap + x), c(y, y), degree, bandwidth = 0.1))[1:50]
  for (degree in 0:1) for (gap in 10^(3:8)) {
    expect_equal(of(gap, degree), of(100, degree), tolerance = max(1e-9, 4e-15 * gap))
  }
  seconds <- sort(sample(0:(365 * 86400), 300))
  level <- sin(seconds / 2e4) + stats::rnorm(300) / 5
  for (hours in c(24, 100)) {
    S <- t(vapply(seconds, dense_row, numeric(300), cbind(seconds), 3600 * hours, 1))
    expect_equal(unname(fitted(local_reg(seconds + 1.7e9, level, bandwidth = 3600 * hours))), as.vector(S %*% level),
                 tolerance = 1e-7)
  }
})

test_that("intervals, missing places, padding and subsets are those of lm's methods", {
  fit <- local_reg(accel ~ times, cycle, bandwidth = 2)
  found <- predict(fit, at, se.fit = TRUE, interval = "confidence", level = 0.9)
  expect_equal(colnames(found$fit), c("fit", "lwr", "upr"))
  expect_equal(found$fit[, "upr"] - found$fit[, "fit"], stats::qt(0.95, fit$df.residual) * found$se.fit)
  wide <- predict(fit, at, interval = "prediction")
  expect_equal((wide[, "upr"] - wide[, "fit"])^2,
               stats::qt(0.975, fit$df.residual)^2 * (found$se.fit^2 + fit$sigma^2), ignore_attr = TRUE)
  expect_equal(unname(is.na(predict(fit, data.frame(times = c(NA, 3))))), c(TRUE, FALSE))
  air <- local_reg(Ozone ~ Wind + Temp, airquality, bandwidth = c(3, 8), na.action = na.exclude)
  expect_equal(unname(is.na(residuals(air))), is.na(airquality$Ozone))
  expect_equal(nobs(air), 116)
  few <- local_reg(Ozone ~ Wind, airquality, bandwidth = 3, subset = Month == 7)
  july <- airquality[airquality$Month == 7, ]
  expect_equal(fitted(few), fitted(local_reg(Ozone ~ Wind, july, bandwidth = 3)))
  expect_equal(coef(update(fit, bandwidth = 3)), c(times = 3))
  expect_equal(fitted(update(fit, weights = rep(1, 133))), fitted(fit))
})

test_that("factors among the inputs, constant columns and inputs that say nothing are taken care of", {
  skip_below("quick")
  cars <- transform(mtcars, am = factor(am))
  fit <- local_reg(mpg ~ wt + am, cars, degree = 0, bandwidth = 1)
  x <- cbind(cars$wt, outer(cars$am, levels(cars$am), "==") / sqrt(2))
  expect_equal(unname(fitted(fit)), as.vector(t(apply(x, 1, dense_row, x, rep(1, 3), 0)) %*% cars$mpg))
  expect_equal(predict(fit, cars[3:4, ]), fitted(fit)[3:4])
  expect_error(predict(fit, transform(cars, am = factor(2))), "new level", class = "kernweave_error_data")
  by_frame <- local_reg(cars[c("wt", "am")], cars$mpg, degree = 0, bandwidth = 1)
  expect_equal(predict(by_frame, cars[3, ]), fitted(fit)[3])
  expect_warning(same <- local_reg(mpg ~ wt + one, transform(cars, one = 1), bandwidth = 1, degree = 0),
                 class = "kernweave_warning_dropped")
  expect_equal(fitted(same), fitted(local_reg(mpg ~ wt, cars, bandwidth = 1, degree = 0)))
  expect_equal(predict(same, transform(cars, one = 1)[1:2, ]), fitted(same)[1:2])
  set.seed(1)
  frame <- data.frame(a = stats::runif(200), b = stats::runif(200))
  frame$y <- sin(6 * frame$a) + stats::rnorm(200, sd = 0.1)
  idle <- local_reg(y ~ a + b, frame, degree = 0)
  expect_output(print(idle), "b Inf [(]drops out[)]")
})

test_that("every row r times has the same fit", {
  many <- cycle[rep(1:133, 5), ]
  expect_equal(predict(local_reg(accel ~ times, many, bandwidth = 2), at),
               predict(local_reg(accel ~ times, cycle, bandwidth = 2), at))
})

test_that("mistakes are refused by class, fits print themselves and are drawn", {
  fit <- local_reg(accel ~ times, cycle)
  expect_output(print(fit), "Local linear regression, accel ~ times, 133 points")
  expect_output(print(fit), "times 1.476 [(]cv 561.34[)] +df 16.6 +sigma 23.34")
  expect_error(local_reg(Species ~ Petal.Width, iris), "regression only", class = "kernweave_error_input")
  expect_error(local_reg(1:5, 1:4), class = "kernweave_error_shape")
  expect_error(local_reg(1:5), class = "kernweave_error_input")
  expect_error(local_reg(1:5, c(1:4, NA)), class = "kernweave_error_data")
  expect_error(local_reg(rep(1, 5), 1:5), class = "kernweave_error_data")
  expect_error(local_reg(1:5, 1:5, degree = 2), class = "kernweave_error_value")
  expect_error(local_reg(1:5, 1:5, bandwidth = -1), class = "kernweave_error_value")
  expect_error(local_reg(1:5, 1:5, bandwidth = 1:2), class = "kernweave_error_shape")
  expect_error(local_reg(1:5, 1:5, bandwidth = "gcv"), class = "kernweave_error_input")
  expect_error(fit_control(tol = 0), class = "kernweave_error_value")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(fit))
  expect_silent(plot(local_reg(mpg ~ wt + hp, mtcars, bandwidth = c(1, 50))))
  skip_if_not_installed("generics")
  expect_equal(generics::tidy(fit)$estimate, unname(fit$bandwidth))
  band <- predict(fit, interval = "confidence")
  expect_equal(generics::augment(fit, interval = "confidence")$.lower, unname(band[, "lwr"]))
  expect_equal(generics::glance(fit)$df, fit$df)
})

test_that("what a term took from the data, such as scale() and poly(), holds for new points", {
  skip_below("quick")
  fits <- list(local_reg(mpg ~ scale(wt), mtcars), local_reg(mpg ~ poly(wt, 2), mtcars),
               kde_fit(~ scale(wt) + hp, mtcars))
  for (fit in fits) {
    expect_equal(predict(fit, mtcars[2:9, ]), fitted(fit)[2:9], ignore_attr = TRUE)
    expect_equal(predict(fit, mtcars[3, ]), fitted(fit)[3], ignore_attr = TRUE)
  }
  text <- data.frame(y = c(1, 3, 2, 5, 4, 9), g = rep(c("a", "b", "c"), 2))
  expect_error(predict(local_reg(y ~ g, text, bandwidth = 1), data.frame(g = "z")), "new level `z`",
               class = "kernweave_error_data")
  expect_error(predict(fits[[1]], interval = "confidence", level = 95), "`level`", class = "kernweave_error_value")
})
