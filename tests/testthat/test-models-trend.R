# Trends of gp_fit() whose columns depend on each other, as lm() has them.

test_that("interactions of levels that no row has together are left out as lm() leaves them out", {
  set.seed(4)
  d <- data.frame(x = stats::runif(60), g = gl(3, 20), h = gl(2, 1, 60))
  d <- d[!(d$g == 3 & d$h == 1), ]
  d$z <- stats::rnorm(nrow(d)) + as.numeric(d$g)
  fit <- function(trend) gp_fit(z ~ x, d, trend = trend, kernel = kernel_spec(scale = 0.3), variance = 0)
  expect_message(found <- fit(~ g * h), "without `g3:h2`")
  by_lm <- stats::lm(z ~ g * h, d)
  expect_equal(unname(fitted(found)), unname(stats::fitted(by_lm)))
  expect_equal(coef(found), stats::coef(by_lm)[!is.na(stats::coef(by_lm))])
  expect_warning(predict(found, data.frame(x = 0.5, g = "3", h = "1")), "levels together that no row")
  expect_silent(at <- predict(found, data.frame(x = 0.5, g = "3", h = "2")))
  expect_equal(unname(at), unname(suppressWarnings(stats::predict(by_lm, data.frame(g = "3", h = "2")))))
  expect_error(fit(~ h + I(2 * as.numeric(h))), "not independent", class = "kernweave_error_singular")
})
