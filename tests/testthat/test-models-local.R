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
    expect_equal(fit$df.residual, 40 - 2 * sum(diag(S)) + sum(S^2))
    L <- t(apply(new, 1, dense_row, x, h, degree, w))
    found <- predict(fit, new, se.fit = TRUE)
    expect_equal(found$fit, L %*% y, ignore_attr = TRUE)
    expect_equal(found$se.fit, outer(sqrt(rowSums(L^2)), fit$sigma), ignore_attr = TRUE)
    left_out <- (y - S %*% y) / (1 - diag(S))
    expect_equal(fit$criterion, sum(w * left_out^2) / sum(w))
  }
  expect_warning(narrow <- local_reg(seq(0, 1e4, length.out = 50), sin(1:50), bandwidth = 3), "alone")
  expect_equal(unname(fitted(narrow)), sin(1:50), tolerance = 1e-6)
  for (degree in 0:1) {
    fit <- local_reg(accel ~ times, cycle, degree = degree, bandwidth = 1)
    far <- predict(fit, data.frame(times = c(90, 1e6)), se.fit = TRUE)
    expect_equal(unname(far$fit), rep(cycle$accel[133], 2))
    expect_equal(unname(far$se.fit), rep(fit$sigma, 2))
    expect_equal(far$n_eff, c(1, 1), ignore_attr = TRUE)
  }
  shifted <- transform(cycle, times = times + 1e6)
  near <- local_reg(accel ~ times, cycle, bandwidth = 2)
  expect_equal(fitted(local_reg(accel ~ times, shifted, bandwidth = 2)), fitted(near))
  corners <- cbind(c(1, 1, 1, 2, 2, 2), c(0, 0, 0, 0, 0, 1))
  expect_warning(groups <- local_reg(corners, 1:6, bandwidth = c(0.01, 0.2)), "1 observation alone")
  expect_equal(unname(fitted(groups)), c(2, 2, 2, 4.5, 4.5, 6), tolerance = 1e-4)
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
  expect_warning(local_reg(c(1:10, 100), 1:11, bandwidth = 0.8), class = "kernweave_warning_approximate")
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
  fits <- list(local_reg(mpg ~ scale(wt), mtcars), local_reg(mpg ~ poly(wt, 2), mtcars),
               kde_lazy(~ scale(wt) + hp, mtcars))
  for (fit in fits) {
    expect_equal(predict(fit, mtcars[2:9, ]), fitted(fit)[2:9], ignore_attr = TRUE)
    expect_equal(predict(fit, mtcars[3, ]), fitted(fit)[3], ignore_attr = TRUE)
  }
  text <- data.frame(y = c(1, 3, 2, 5, 4, 9), g = rep(c("a", "b", "c"), 2))
  expect_error(predict(local_reg(y ~ g, text, bandwidth = 1), data.frame(g = "z")), "new level `z`",
               class = "kernweave_error_data")
  expect_error(predict(fits[[1]], interval = "confidence", level = 95), "`level`", class = "kernweave_error_value")
})
