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
  expect_match(pictured(ridge, "variogram")$xlab, "wt, hp and qsec together")
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

test_that("of many rows some are drawn, and a note says so", {
  skip_below("quick")
  set.seed(1)
  x <- stats::runif(6000)
  many <- gp_fit(x, x + stats::rnorm(6000), trend = ~ x, variance = 0)
  expect_identical(nrow(layer(many, "points", 1)), 5000L)
  expect_match(pictured(many, 1)$note, "5,000 of 6,000 points drawn", fixed = TRUE)
  expect_identical(nrow(layer(many, "intervals", 4)), 5000L)
  holes <- gp_fit(Ozone ~ Temp + Wind, airquality, na.action = stats::na.exclude, kernel = kernel_spec(scale = 10),
                  variance = 900, nugget = 300)
  for (k in 1:6) expect_false(anyNA(unlist(pictured(holes, k)$layers)), label = paste("NA in", k))
})

test_that("quantile residuals are the normal quantiles of Dunn and Smyth, by hand", {
  set.seed(1)
  d <- data.frame(x = stats::runif(80, 0, 3), trials = 5)
  d$count <- stats::rpois(80, exp(d$x))
  d$many <- stats::rnbinom(80, 2, mu = exp(d$x))
  d$none <- d$count * stats::rbinom(80, 1, 0.6)
  d$share <- stats::rbinom(80, 5, stats::plogis(d$x - 1)) / 5
  d$size <- stats::rgamma(80, 2, 2 / exp(d$x))
  set.seed(9)
  draws <- stats::runif(80)
  k <- kernel_spec("matern32", 1)
  # the formula of statmod::qresid(): a uniform number between the probabilities of less than y and of at most y
  by_hand <- function(less, most) stats::qnorm(less * (1 - draws) + most * draws)
  of <- function(formula, family, ...) gp_fit(formula, d, kernel = k, variance = 0.1, family = family, ...)
  counts <- of(count ~ x, stats::poisson())
  m <- fitted(counts)
  expect_equal(unname(residuals(counts, "quantile", seed = 9)),
               unname(by_hand(stats::ppois(d$count - 1, m), stats::ppois(d$count, m))))
  negative <- of(many ~ x, "negbin")
  k_size <- coef(negative, "covariance")[["size"]]
  m <- fitted(negative)
  expect_equal(unname(residuals(negative, "quantile", seed = 9)),
               unname(by_hand(stats::pnbinom(d$many - 1, k_size, mu = m), stats::pnbinom(d$many, k_size, mu = m))))
  shares <- of(share ~ x, stats::binomial(), weights = trials)
  m <- fitted(shares)
  expect_equal(unname(residuals(shares, "quantile", seed = 9)),
               unname(by_hand(stats::pbinom(5 * d$share - 1, 5, m), stats::pbinom(5 * d$share, 5, m))))
  sizes <- of(size ~ x, stats::Gamma("log"))
  shape <- coef(sizes, "covariance")[["shape"]]
  m <- fitted(sizes)
  expect_equal(unname(residuals(sizes, "quantile")), unname(stats::qnorm(stats::pgamma(d$size, shape, shape / m))))
  zeros <- of(none ~ x, "zip")
  zero <- coef(zeros, "covariance")[["zero"]]
  m <- exp(zeros$linear.predictors)
  below <- function(q) (q >= 0) * zero + (1 - zero) * stats::ppois(q, m)
  expect_equal(unname(residuals(zeros, "quantile", seed = 9)), unname(by_hand(below(d$none - 1), below(d$none))))
})

test_that("quantile residuals are reproducible, normal under a true model, and those of pictures", {
  set.seed(2)
  d <- data.frame(x = stats::runif(400, 0, 3))
  d$n <- stats::rpois(400, exp(sin(2 * d$x)))
  fit <- gp_fit(n ~ x, d, family = stats::poisson(), kernel = kernel_spec("gaussian", 1), variance = 1)
  found <- residuals(fit, "quantile")
  expect_identical(residuals(fit, "quantile"), found)
  expect_false(identical(residuals(fit, "quantile", seed = 2), found))
  before <- .Random.seed
  residuals(fit, "quantile")
  expect_identical(.Random.seed, before)
  expect_gt(stats::ks.test(found, stats::pnorm)$p.value, 0.01)
  expect_equal(layer(fit, "points", 1), data.frame(x = unname(fit$linear.predictors), y = unname(found)))
  expect_equal(layer(fit, "points", 2)$y, sort(unname(found)))
  expect_identical(pictured(fit, 2)$ylab, "quantile residual")
  plain <- gp_fit(n ~ x, d, kernel = kernel_spec("gaussian", 1), variance = 1, nugget = 2)
  expect_equal(residuals(plain, "quantile"), residuals(plain, "pearson"))
  # far tails are numbers, and an observation without weight has no residual
  far <- replace(fit, c("fitted.values", "residuals"), list(0 * d$n + 1e-8, d$n - 1e-8))
  expect_true(all(is.finite(kernweave:::quantile_residuals(far, 1))))
  light <- gp_fit(n ~ x, d, family = stats::poisson(), kernel = kernel_spec("gaussian", 1), variance = 1,
                  weights = rep(c(0, 1), 200))
  expect_identical(is.na(unname(residuals(light, "quantile"))), rep(c(TRUE, FALSE), 200))
  own <- gp_family(function(y, eta) -exp(eta) + y * eta - lgamma(y + 1))
  unknown <- gp_fit(n ~ x, d, family = own, kernel = kernel_spec("gaussian", 1), variance = 1)
  expect_identical(pictured(unknown, 1)$ylab, "deviance residual")
  expect_error(residuals(unknown, "quantile"), "below", class = "kernweave_error_unsupported")
})
