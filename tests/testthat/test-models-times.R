# Tests dates, times and durations of new data, which are converted to those of the fit.

test_that("new dates and times are those of the fit, whatever their class, zone or unit", {
  skip_below("quick")
  day <- as.Date("2020-02-20") + 1:40
  zone <- "America/New_York"
  clock <- function(v) as.POSIXct(format(v), tz = zone)
  gone <- as.difftime(as.numeric(1:40), units = "days")
  y <- cos(1:40 / 5) + 0.2 * (1:40 %% 3 == 0)
  pairs <- list(list(day, clock(day[c(3, 9)]), day[c(3, 9)]),
                list(clock(day), day[c(20, 30)], clock(day[c(20, 30)])),
                list(day, as.POSIXct("2020-03-01 12:00", tz = zone), day[10] + 0.5),
                list(gone, as.difftime(c(36, 240), units = "hours"), as.difftime(c(1.5, 10), units = "days")))
  for (fit in list(gp_fit, kernel_ridge, local_reg, rbf_interpolate, knn_fit)) {
    for (pair in pairs) {
      of_formula <- fit(y ~ t, data.frame(y = y, t = pair[[1]]))
      expected <- predict(of_formula, data.frame(t = pair[[3]]))
      expect_equal(predict(of_formula, data.frame(t = pair[[2]])), expected)
      of_points <- fit(data.frame(t = pair[[1]]), y)
      expect_equal(predict(of_points, data.frame(t = pair[[2]])), predict(of_points, data.frame(t = pair[[3]])))
    }
  }
  trend <- gp_fit(y ~ x, data.frame(y = y, x = 1:40, t = day), trend = ~ t, variance = 0)
  line <- stats::lm(y ~ t, data.frame(y = y, t = day))
  expect_equal(predict(trend, data.frame(x = 1, t = clock(day[5]))), unname(predict(line, data.frame(t = day[5]))))
  expect_equal(knn(day, clock(day[c(7, 8)]), k = 3), knn(day, day[c(7, 8)], k = 3))
})

test_that("a date is no number, and a number no date", {
  skip_below("quick")
  d <- data.frame(day = as.Date("2020-02-20") + 1:40, x = 1:40, y = cos(1:40 / 5))
  wrong <- list(list("day", 1155), list("day", "2020-03-01"), list("x", d$day[1]), list("day", d$day[2] - d$day[1]))
  for (one in wrong) {
    new <- stats::setNames(data.frame(one[[2]]), one[[1]])
    expect_error(predict(local_reg(stats::reformulate(one[[1]], "y"), d), new), paste0("`", one[[1]], "` was"),
                 class = "kernweave_error_input")
    expect_error(predict(knn_fit(d[one[[1]]], d$y), new), paste0("`", one[[1]], "` was"),
                 class = "kernweave_error_input")
  }
  expect_error(predict(local_reg(y ~ day, d), data.frame(day = "2020-03-01")), "Date in the fit, .*as.Date\\(\\)")
  expect_identical(unname(predict(local_reg(y ~ day, d), data.frame(day = NA))), NA_real_)
})

test_that("new data of a formula are a table, and another object is refused with its class", {
  fit <- local_reg(dist ~ speed, cars)
  expected <- predict(fit, data.frame(speed = c(9, 11)))
  expect_equal(predict(fit, list(speed = c(9, 11))), expected)
  expect_equal(predict(fit, cbind(speed = c(9, 11))), expected, ignore_attr = TRUE)
  for (wrong in list("speed", c(9, 11), fit, mean, structure(c(9, 11), class = c("XY", "POINT", "sfg")))) {
    expect_said(predict(fit, wrong), "input", "`newdata` must be a data frame")
  }
})
