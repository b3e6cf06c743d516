# Kernel densities against dense formulas and the numbers of other packages.

dense_density <- function(at, x, H, mass = rep(1 / nrow(x), nrow(x))) {
  x <- as.matrix(x)
  at <- as.matrix(at)
  apply(at, 1, function(p) {
    q <- stats::mahalanobis(x, p, H)
    sum(mass * exp(-q / 2)) / sqrt(det(2 * pi * H))
  })
}
places <- data.frame(eruptions = c(2, 3, 4.5), waiting = c(55, 70, 80))

test_that("densities have the numbers of ks, and any bandwidth that of the formula", {
  fit <- kde_fit(~ eruptions + waiting, faithful)
  expect_equal(unname(fit$bandwidth), matrix(c(0.2010624, 2.1573276, 2.1573276, 28.5255339), 2), tolerance = 1e-7)
  logs <- predict(fit, places, log = TRUE)
  expect_equal(unname(logs), c(-4.08132900660, -5.35477981093, -3.66414091055), tolerance = 1e-11)
  expect_equal(unname(predict(fit, places)), dense_density(places, faithful, fit$bandwidth))
  expect_equal(fitted(fit), predict(fit))
  given <- kde_fit(faithful, c(0.3, 5))
  expect_equal(unname(predict(given, places)), dense_density(places, faithful, diag(c(0.09, 25))))
  one <- kde_fit(precip, 4.8)
  near <- stats::density(precip, bw = 4.8)
  expect_equal(predict(one, near$x), near$y, tolerance = 1e-3)
  expect_equal(predict(one, 500, log = TRUE), log(1 / 70) - (500 - max(precip))^2 / (2 * 4.8^2) -
                 log(4.8 * sqrt(2 * pi)), tolerance = 1e-6)
})

test_that("searched bandwidths and criteria are those of np and ks", {
  skip_below("quick")
  ml <- kde_fit(faithful, "ml")
  expect_equal(unname(sqrt(diag(ml$bandwidth))), c(0.1469703, 2.9257884), tolerance = 1e-4)
  expect_equal(ml$criterion, -4.193801103, tolerance = 1e-9)
  expect_equal(ml$criterion * 272, as.numeric(logLik(ml)))
  expect_equal(unname(ml$loo[1:5]), log(vapply(1:5, function(i) {
    dense_density(faithful[i, ], faithful[-i, ], ml$bandwidth)
  }, 0)))
  apart <- kde_fit(c(1, 2, 50, 50.1), 0.5)
  expect_equal(unname(apart$loo[1:3]), log(stats::dnorm(c(1, 1, 0.1), 0, 0.5) / 3))
  expect_equal(kde_fit(c(0, 30), 1)$loo, rep(stats::dnorm(30, log = TRUE), 2), ignore_attr = TRUE)
  ucv <- kde_fit(faithful, "ucv")
  expect_equal(unname(sqrt(diag(ucv$bandwidth))), c(0.1189292, 3.4020270), tolerance = 1e-4)
  expect_equal(ucv$criterion, -0.0207742282, tolerance = 1e-8)
})

test_that("densities and bandwidths are the same in any units, at any place, in any order, with any unit of weights", {
  skip_below("quick")
  set.seed(3)
  x <- matrix(sample(0:4000, 160) / 1024, 80) %*% diag(c(1, 3))
  at <- x[1:5, ] + 1 / 64
  w <- stats::runif(80, 0.2, 2)
  order <- sample(80)
  for (bandwidth in c(list("ml", c(0.3, 0.5)), if (reaches("usual")) list("nrd", "ucv"))) {
    base <- kde_fit(x, bandwidth, weights = w)
    logs <- predict(base, at, log = TRUE)
    same <- function(x, w, at, unit = 1) {
      given <- if (is.numeric(bandwidth)) bandwidth * unit else bandwidth
      fit <- kde_fit(x, given, weights = w)
      expect_equal(unname(fit$bandwidth), unname(base$bandwidth) * unit^2, tolerance = 1e-4)
      fit <- update(fit, bandwidth = base$bandwidth * unit^2)
      expect_equal(predict(fit, at, log = TRUE) + 2 * log(unit), logs, tolerance = 1e-9)
      expect_equal(sort(fit$loo) + 2 * log(unit), sort(base$loo), tolerance = 1e-9, ignore_attr = TRUE)
    }
    same(x + 1e9, w, at + 1e9)
    same(1e8 * x, w, 1e8 * at, 1e8)
    same(1e-8 * x, w, 1e-8 * at, 1e-8)
    same(x, 100 * w, at)
    same(x[order, ], w[order], at)
  }
})

test_that("least cross-validation is looked for in any units, and beside what repeated points pull to", {
  skip_below("quick")
  skip_if_not_installed("MASS")
  galaxies <- MASS::galaxies
  h <- exp(seq(log(200), log(4000), length.out = 200))
  loss <- vapply(h, function(h) {
    apart <- stats::dnorm(outer(galaxies, galaxies, "-"), 0, h)
    diag(apart) <- 0
    mean(stats::dnorm(outer(galaxies, galaxies, "-"), 0, sqrt(2) * h)) - 2 * sum(apart) / (82 * 81)
  }, 0)
  fit <- kde_fit(galaxies, "ucv")
  expect_equal(sqrt(fit$bandwidth[1, 1]), h[which.min(loss)], tolerance = 0.02)
  expect_lte(fit$criterion, min(loss))
  air <- stats::na.omit(airquality[c("Wind", "Temp", "Ozone")])[1:2]
  expect_lte(kde_fit(air, "ucv")$criterion, -0.00264162)
})

test_that("scores are the gradients of logarithms, points are simulated from what was fitted", {
  fit <- kde_fit(~ eruptions + waiting, faithful)
  e <- 1e-5
  slope <- function(by) (predict(fit, places + by, log = TRUE) - predict(fit, places - by, log = TRUE)) / (2 * e)
  by_hand <- cbind(slope(rep(c(e, 0), each = 3)), slope(rep(c(0, e), each = 3)))
  expect_equal(unname(predict(fit, places, type = "score")), unname(by_hand), tolerance = 1e-7)
  drawn <- simulate(fit, 4000, seed = 1)
  expect_equal(colMeans(drawn), colMeans(faithful), tolerance = 0.02)
  spread <- stats::var(faithful) * 271 / 272 + fit$bandwidth
  expect_equal(stats::var(drawn), spread, tolerance = 0.06, ignore_attr = TRUE)
  expect_identical(simulate(fit, 3, seed = 7), simulate(fit, 3, seed = 7))
})

test_that("weights are mass: rows again, at a bandwidth; those of 0 take no part", {
  w <- rep(c(1, 3), 136)
  again <- faithful[rep(1:272, w), ]
  expect_equal(predict(kde_fit(faithful, c(0.3, 5), weights = w), places),
               predict(kde_fit(again, c(0.3, 5)), places))
  half <- kde_fit(faithful, weights = rep(c(1, 0), 136))
  expect_equal(half$bandwidth, kde_fit(faithful[c(TRUE, FALSE), ])$bandwidth)
  even <- kde_fit(faithful, "ml")
  expect_equal(kde_fit(faithful, "ml", weights = 1)$bandwidth, even$bandwidth)
  expect_equal(update(even, weights = rep(2, 272))$bandwidth, even$bandwidth, tolerance = 1e-6)
})

test_that("formulas drop missing rows or pad them, and new places may be missing", {
  fit <- kde_fit(~ Ozone + log(Wind), airquality)
  expect_equal(nobs(fit), 116)
  padded <- kde_fit(~ Ozone + log(Wind), airquality, na.action = na.exclude)
  expect_length(fitted(padded), 153)
  expect_equal(unname(is.na(fitted(padded))), is.na(airquality$Ozone))
  new <- data.frame(Ozone = c(30, NA), Wind = c(9, 9))
  expect_equal(unname(is.na(predict(fit, new))), c(FALSE, TRUE))
  expect_equal(nobs(kde_fit(~ Wind, airquality, subset = Month == 5)), 31)
  expect_equal(predict(fit, new[1, ]), predict(unserialize(serialize(fit, NULL)), new[1, ]))
})

test_that("mistakes are refused by class", {
  expect_error(kde_fit(c(1, NA)), class = "kernweave_error_data")
  expect_error(kde_fit(1), class = "kernweave_error_data")
  expect_error(kde_fit(cbind(1:5, 2)), "constant", class = "kernweave_error_data")
  expect_error(kde_fit(rep(1:5, 20), "ml"), "95 rows.*nrd", class = "kernweave_error_data")
  expect_error(kde_fit(faithful, matrix(c(1, 2, 2, 1), 2)), class = "kernweave_error_indefinite")
  expect_error(kde_fit(faithful, 0), class = "kernweave_error_value")
  expect_error(kde_fit(faithful, 1:3), class = "kernweave_error_shape")
  expect_error(kde_fit(iris), "factor", class = "kernweave_error_input")
  expect_error(predict(kde_fit(~ waiting, faithful), data.frame(wait = 1)), class = "kernweave_error_input")
  expect_error(kde_fit(faithful, "nrd0"), class = "kernweave_error_input")
  expect_error(kde_fit(faithful, control = list()), class = "kernweave_error_input")
  expect_error(predict(kde_fit(faithful), 1:3), class = "kernweave_error_shape")
  expect_error(kde_fit(~ a:b, data.frame(a = 1:3, b = 1:3)), class = "kernweave_error_input")
})

test_that("a density prints itself and is drawn in one and two dimensions", {
  expect_output(print(kde_fit(faithful, "ml")), "mean -4.1938")
  expect_output(print(kde_fit(faithful)), "with correlation")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(kde_fit(faithful)))
  expect_silent(plot(kde_fit(precip)))
  expect_error(plot(kde_fit(iris[, 1:3])), class = "kernweave_error_unsupported")
  skip_if_not_installed("generics")
  fit <- kde_fit(faithful, "ml")
  expect_equal(generics::tidy(fit)$estimate, unname(sqrt(diag(fit$bandwidth))))
  expect_equal(generics::glance(fit)$criterion, fit$criterion)
  expect_equal(generics::augment(fit)$.fitted, unname(fitted(fit)))
})

test_that("wrong numbers for pictures are refused by class", {
  pdf(NULL)
  on.exit(dev.off())
  fit <- kde_fit(faithful)
  expect_error(plot(fit, mass = 2), "`mass`", class = "kernweave_error_value")
  expect_error(plot(fit, n = 0), "`n`", class = "kernweave_error_input")
  expect_error(plot(local_reg(dist ~ speed, cars, bandwidth = 2), n = -1), "`n`", class = "kernweave_error_input")
  expect_error(plot(energy_test(mpg ~ cyl, mtcars, R = 1)), "replicates", class = "kernweave_error_data")
  expect_output(print(summary(kernel_spec("cauchy"))), "Cauchy")
})
