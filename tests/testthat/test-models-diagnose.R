# Diagnostic pictures of fits hold the numbers that they should, and both kinds of graphics draw them.

some <- quakes[seq(1, 1000, by = 12), ]
field <- gp_fit(depth ~ long + lat, some, trend = ~ long, kernel = kernel_spec("matern32", 2.7), variance = 39000,
                nugget = 3800)
ridge <- kernel_ridge(mpg ~ wt + hp + qsec, mtcars)

test_that("pictures 1 to 6 show residuals, quantiles, distances and what is left out", {
  for (fit in list(field, ridge)) {
    spread <- layer(fit, "points", 1)
    expect_equal(spread, data.frame(x = unname(fitted(fit)), y = unname(residuals(fit))))
    expect_equal(layer(fit, "curve", 1)$y, stats::lowess(spread)$y[!duplicated(stats::lowess(spread)$x)])
    quantiles <- layer(fit, "points", 2)
    theirs <- stats::qqnorm(unname(rstandard(fit)), plot.it = FALSE)
    expect_equal(quantiles$y, sort(theirs$y))
    expect_equal(quantiles$x, sort(theirs$x))
    through <- layer(fit, "line", 2)
    quarters <- stats::quantile(quantiles$y, c(0.25, 0.75), names = FALSE)
    expect_equal(through$intercept + through$slope * stats::qnorm(c(0.25, 0.75)), quarters)
    expect_equal(layer(fit, "points", 3)$y, sqrt(abs(unname(rstandard(fit)))))
    expect_equal(layer(fit, "intervals", 4)$yend, unname(cooks.distance(fit)))
    named <- layer(fit, "labels", 4)
    expect_identical(named$label, names(sort(cooks.distance(fit), decreasing = TRUE))[1:3])
    left <- layer(fit, "points", 5)
    expect_equal(left$x - left$y, unname(residuals(fit, "loo") - residuals(fit)))
  }
  map <- layer(field, "map", 6)
  expect_equal(sort(map$z), sort(unname(residuals(field))))
  expect_false(is.unsorted(abs(map$z)))
  expect_identical(pictured(field, 6)$zlab, "residual")
  beside <- update(field, depth ~ long, trend = ~ 1)
  expect_equal(layer(beside, "points", 6)$x, some$long)
  expect_error(pictured(ridge, 6), "one or two inputs", class = "kernweave_error_unsupported")
  expect_error(plot(field, which = 7), "from 1 to 6", class = "kernweave_error_value")
  expect_warning(gp_fit(dist ~ speed, cars[!duplicated(cars$speed), ], nugget = 0), "`scale` is at its bound",
                 class = "kernweave_warning_boundary")
  through <- gp_fit(dist ~ speed, cars[!duplicated(cars$speed), ], kernel = "matern32", nugget = 0)
  expect_error(pictured(through, 4), "no noise", class = "kernweave_error_unsupported")
})

test_that("variograms of a fit are pictures of it, too", {
  expect_equal(pictured(field, "variogram"), pictured(variogram(field)))
  left <- pictured(ridge, "variogram")$layers$points
  r <- residuals(ridge)
  theirs <- variogram(r ~ wt + hp + qsec, transform(mtcars, r = r), trend = ~ 0)
  expect_equal(left$y, theirs$gamma)
})

test_that("both kinds of graphics draw them, one after the other", {
  skip_below("quick")
  in_nowhere({
    shown <- withVisible(plot(field, which = 1:6, col = "blue"))
    expect_false(shown$visible)
    expect_message(plot(ridge, which = 1:6), "left out")
    plot(field, which = "variogram")
    plot(ridge, which = "variogram")
    expect_equal(stats::qqnorm(ridge)$y, unname(rstandard(ridge)), ignore_attr = TRUE)
    skip_if_not_installed("ggplot2")
    for (k in 1:6) print(ggplot2::autoplot(field, which = k))
    expect_error(ggplot2::autoplot(field, which = 1:2), "one picture at a time", class = "kernweave_error_input")
    clusters <- ggplot2::autoplot(kmeans_fit(as.matrix(iris[, 3:4]), as.matrix(iris[c(1, 51, 101), 3:4])))
    expect_identical(clusters$labels$colour, "cluster")
  })
})

test_that("of many rows some are drawn, and the title says so", {
  skip_below("quick")
  set.seed(1)
  x <- stats::runif(6000)
  many <- gp_fit(x, x + stats::rnorm(6000), trend = ~ x, variance = 0)
  expect_identical(nrow(layer(many, "points", 1)), 5000L)
  expect_match(pictured(many, 1)$main, "(5,000 of 6,000 drawn)", fixed = TRUE)
  expect_identical(nrow(layer(many, "intervals", 4)), 5000L)
  holes <- gp_fit(Ozone ~ Temp + Wind, airquality, na.action = stats::na.exclude, kernel = kernel_spec(scale = 10),
                  variance = 900, nugget = 300)
  for (k in 1:6) expect_false(anyNA(unlist(pictured(holes, k)$layers)), label = paste("NA in", k))
})
