# Pictures of fits whose inputs are dates and times, and bands with gaps.

ozone <- transform(airquality, date = as.Date("1973-01-01") + 1:153)
ozone$time <- as.POSIXct("1973-01-01", tz = "UTC") + 86400 * 1:153
ozone <- stats::na.omit(ozone)

# Texts that a drawing writes.
written <- function(code) {
  file <- tempfile(fileext = ".pdf")
  on.exit(unlink(file))
  grDevices::pdf(file, compress = FALSE, useKerning = FALSE)
  tryCatch(force(code), finally = grDevices::dev.off())
  gsub("^.*[(]|[)] Tj.*$", "", grep("[(].*[)] Tj", readLines(file, warn = FALSE), value = TRUE, useBytes = TRUE))
}

test_that("an axis of dates or times has dates, in plot() of every smoother and in autoplot()", {
  month <- format(as.Date("1973-03-01"), "%b")
  fits <- list(local_reg(Ozone ~ date, ozone, bandwidth = 10), local_reg(Ozone ~ time, ozone, bandwidth = 864000),
               rbf_interpolate(Ozone ~ date, ozone, lambda = 100),
               local_reg(Ozone ~ date + Temp, ozone, bandwidth = c(10, 8)),
               local_reg(Ozone ~ Temp + date, ozone, bandwidth = c(8, 10)),
               gp_fit(Ozone ~ date, ozone, kernel = kernel_spec(scale = 10), variance = 400, nugget = 400))
  for (fit in fits) expect_true(month %in% written(plot(fit)))
  expect_true(month %in% written(plot(kernel_ridge(Ozone ~ date, ozone, lambda = 1), which = "curve")))
  expect_true(month %in% written(plot(fits[[6]], which = "se")))
  expect_true(format(as.Date("1973-02-01"), "%b %d") %in%
                written(plot(fits[[1]], xlim = as.Date(c("1973-01-30", "1973-03-02")))))
  expect_false(month %in% written(plot(local_reg(Ozone ~ Temp, ozone, bandwidth = 5))))
  skip_if_not_installed("ggplot2")
  for (k in c(1, 2, 4)) {
    built <- ggplot2::ggplot_build(ggplot2::autoplot(fits[[k]]))
    expect_true(month %in% built$layout$panel_params[[1]]$x$get_labels())
  }
})

test_that("a band has gaps where errors are unknown", {
  lone <- local_reg(y ~ x, data.frame(x = c(1:9, 100), y = c(2, 4, 3, 6, 5, 8, 7, 9, 8, 20)), bandwidth = 1)
  expect_true(anyNA(layer(lone, "band")$ymin))
  expect_silent(in_nowhere(plot(lone)))
  skip_if_not_installed("ggplot2")
  expect_silent(in_nowhere(print(ggplot2::autoplot(lone))))
})
