# Local regression far from the data.

test_that("standard errors do not shrink away from the data, and are NA if a slope there is not determined", {
  fit <- local_reg(dist ~ speed, cars, bandwidth = 2)
  far <- predict(fit, data.frame(speed = c(25, 40, 60, 90, 200, -200)), se.fit = TRUE, interval = "confidence")
  expect_true(all(diff(far$se.fit[1:4]) > 0))
  expect_identical(unname(is.na(far$se.fit)), rep(c(FALSE, TRUE), c(4, 2)))
  expect_identical(is.na(far$fit[, "upr"]), is.na(far$se.fit), ignore_attr = TRUE)
  expect_equal(unname(far$fit[5:6, "fit"]), c(85, mean(cars$dist[cars$speed == 4])))
  # a mean has no slope, and equal inputs have one slope between them
  level <- local_reg(dist ~ speed, cars, bandwidth = 2, degree = 0)
  expect_equal(unname(predict(level, data.frame(speed = 200), se.fit = TRUE)$se.fit), sigma(level))
  twice <- local_reg(dist ~ speed + again, transform(cars, again = speed), bandwidth = 2 * sqrt(2))
  on_line <- predict(twice, data.frame(speed = c(9.3, 25), again = c(9.3, 25)), se.fit = TRUE)
  expect_equal(on_line$se.fit, predict(fit, data.frame(speed = c(9.3, 25)), se.fit = TRUE)$se.fit, tolerance = 1e-6)
  expect_true(is.na(predict(twice, data.frame(speed = 9, again = 15), se.fit = TRUE)$se.fit))
  # alone within reach, an observation knows its own place only
  lone <- local_reg(c(1:9, 100), c(2, 4, 3, 6, 5, 8, 7, 9, 8, 20), bandwidth = 1)
  expect_identical(is.na(predict(lone, c(100, 101), se.fit = TRUE)$se.fit), c(FALSE, TRUE))
})
