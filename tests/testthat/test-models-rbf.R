# Radial basis functions against dense saddle systems, and the numbers of fields.

set.seed(1)
picked <- sample(length(volcano), 200)
places <- cbind(row(volcano)[picked], col(volcano)[picked])
heights <- volcano[picked]
between <- rbind(c(20.5, 30.5), c(44, 31), c(80.2, 5.5))

plate <- function(d) ifelse(d == 0, 0, d^2 * log(d))
cubed <- function(x, y, scale = 1) euclidean(x, y)^3

# Weights and polynomial of (phi + diag(ridge)) c + P b = y, P'c = 0.
dense_saddle <- function(phi, P, y, ridge) {
  m <- ncol(P)
  A <- rbind(cbind(phi + diag(ridge, nrow(phi)), P), cbind(t(P), matrix(0, m, m)))
  solve(A, rbind(as.matrix(y), matrix(0, m, NCOL(y))))
}

test_that("a thin plate goes through its points, and between them is that of fields", {
  fit <- rbf_interpolate(places, heights)
  expect_lt(max(abs(residuals(fit))), 1e-9)
  expect_equal(predict(fit, between), c(184.61332406, 164.93683197, 100.69616584), tolerance = 1e-9)
  everywhere <- cbind(c(row(volcano)), c(col(volcano)))
  expect_equal(sqrt(mean((predict(fit, everywhere) - volcano)^2)), 2.3485596, tolerance = 1e-7)
  expect_equal(unname(coef(fit)), c(287.423, 0.2117, 0.03205), tolerance = 1e-3)
  expect_equal(fit$edf, 200)
  expect_output(print(fit), "polynomial: (Intercept) 287.4, x1 0.2117, x2 0.03205", fixed = TRUE)
  iterated <- rbf_interpolate(places, heights, control = fit_control(tol = 1e-9, dense_n = 0))
  expect_equal(predict(iterated, between), predict(fit, between), tolerance = 1e-6)
  expect_identical(iterated$convergence$method, "cg")
})

test_that("with one input a thin plate is the natural cubic spline, with three that of fields", {
  means <- stats::aggregate(dist ~ speed, cars, mean)
  spline <- stats::splinefun(means, method = "natural")
  at <- c(5, 10.3, 21, 23.5, 30)
  for (scale in c(1, 4)) {
    fit <- rbf_interpolate(dist ~ speed, means, kernel_spec("thin_plate", scale = scale))
    expect_equal(unname(predict(fit, data.frame(speed = at))), spline(at), tolerance = 1e-8)
    expect_equal(predict(fit, data.frame(speed = at), gradient = TRUE)[, 1], spline(at, 1), tolerance = 1e-7)
  }
  expect_output(print(fit), "Thin plate (d^3), scale 4", fixed = TRUE)
  four <- unname(as.matrix(iris[c(1:9, 51:59), 1:4])) + 1:18 / 100
  beyond <- rbf_interpolate(four, 1:18)
  expect_equal(unname(coef(beyond)), dense_saddle(plate(dense_distance(four)), cbind(1, four), 1:18, 0)[19:23],
               tolerance = 1e-6)
  expect_output(print(beyond), "^d\\^2 log\\(d\\), scale 1")
  skip_without_peer("fields")
  set.seed(4)
  cube <- matrix(stats::runif(120), 40)
  y <- cube[, 1] + sin(3 * cube[, 2]) * cube[, 3]
  new <- matrix(stats::runif(15), 5)
  for (lambda in c(0, 0.01)) {
    for (D in c(1, 3)) {
      theirs <- fields::Tps(cube[, 1:D], y, scale.type = "unscaled", lambda = lambda, give.warnings = FALSE)
      ours <- rbf_interpolate(cube[, 1:D], y, lambda = lambda)
      expect_equal(predict(ours, new[, 1:D]), as.vector(predict(theirs, cbind(new[, 1:D]))), tolerance = 1e-6)
      if (lambda > 0) expect_equal(ours$edf, theirs$eff.df, tolerance = 1e-6)
    }
  }
})

test_that("as many points as polynomials have the polynomial through them, for any lambda and kernel", {
  three <- rbind(c(0, 0), c(1, 0), c(0, 1))
  for (lambda in c(0, 2)) for (rows in c(0, 5000)) {
    fit <- function(...) rbf_interpolate(..., lambda = lambda, control = fit_control(dense_n = rows))
    expect_equal(predict(fit(c(1, 2), c(3, 4)), c(0, 7)), c(2, 9))
    plane <- fit(three, cbind(1:3, 6:4))
    expect_equal(predict(plane, cbind(2, 2)), cbind(7, 0), ignore_attr = TRUE)
    expect_equal(plane$edf, 3)
    expect_equal(predict(fit(three, 1:3, kernel_spec("gaussian", scale = 1)), cbind(2, 2)), 7)
  }
  expect_error(rbf_interpolate(three, 1:3, lambda = "gcv"), "4 points", class = "kernweave_error_data")
  # solve() itself, with as many regressors as rows
  P <- cbind(1, three)
  x <- solve(kernel_thin_plate(Vi(three), Vj(three)), 1:3, trend = P, report = TRUE)
  expect_equal(as.vector(x), c(0, 0, 0))
  expect_equal(as.vector(attr(x, "trend")), c(1, 1, 2))
  expect_output(print(solve_report(x)), "dense")
})

test_that("lambda, degrees of freedom and cross-validation are those of Tps", {
  skip_below("quick")
  set.seed(3)
  noisy <- heights + stats::rnorm(200, sd = 5)
  fit <- rbf_interpolate(places, noisy, lambda = "gcv")
  # Tps(places, noisy, scale.type = "unscaled"): lambda 1.290604 to its own tolerance
  least <- least_of_gcv(fit)
  expect_equal(unname(least[c("lambda", "edf")]), c(1.290604, 89.95489), tolerance = 5e-4)
  expect_equal(least[["gcv"]], 41.88966, tolerance = 1e-6)
  # of 200 rows the likelihood has half a say
  expect_equal(c(fit$lambda, fit$criterion), c(1.2334, 41.89471), tolerance = 1e-4)
  again <- rbf_interpolate(places, noisy, lambda = least[["lambda"]])
  expect_equal(again$edf, least[["edf"]], tolerance = 1e-4)
  expect_equal(200 * sum(residuals(again)^2) / (200 - again$edf)^2, 41.88966, tolerance = 1e-6)
  set.seed(7)
  before <- stats::runif(1)
  set.seed(7)
  iterated <- rbf_interpolate(places, noisy, lambda = "gcv", control = fit_control(dense_n = 0))
  expect_identical(stats::runif(1), before)
  expect_equal(log(iterated$lambda), log(fit$lambda), tolerance = 0.5)
  expect_equal(iterated$gcv$gcv, fit$gcv$gcv[match(iterated$gcv$lambda, fit$gcv$lambda)], tolerance = 0.1)
  skip_without_peer("fields")
  theirs <- suppressMessages(fields::Tps(places, noisy, scale.type = "unscaled", lambda = 2))
  ours <- rbf_interpolate(places, noisy, lambda = 2)
  expect_equal(unname(fitted(ours)), as.vector(theirs$fitted.values), tolerance = 1e-9)
  expect_equal(ours$edf, theirs$eff.df, tolerance = 1e-8)
})

test_that("kernels of every order, degrees, weights and several responses solve the dense saddle system", {
  skip_below("quick")
  set.seed(5)
  x <- matrix(stats::runif(90, 5, 9), 30)
  y <- cbind(a = sin(x[, 1]), b = x[, 2]^2)
  w <- stats::runif(30, 0.5, 2)
  new <- matrix(stats::runif(12, 5, 9), 4)
  d <- dense_distance(x)
  cases <- list(
    list(kernel = "thin_plate", degree = 1, phi = function(d) -d / 8 / pi),
    list(kernel = "energy", degree = 0, phi = function(d) -d),
    list(kernel = kernel_spec("gaussian", scale = 1), degree = -1, phi = function(d) exp(-d^2 / 2)),
    list(kernel = kernel_spec("matern12", scale = 2), degree = 2, phi = function(d) exp(-d / 2)),
    list(kernel = cubed, degree = 1, phi = function(d) d^3)
  )
  for (case in cases) for (lambda in c(0, 0.1)) {
    fit <- rbf_interpolate(x, y, case$kernel, degree = case$degree, lambda = lambda, weights = w)
    P <- switch(case$degree + 2, matrix(0, 30, 0), cbind(rep(1, 30)), cbind(1, x),
                cbind(1, x, x[, c(1, 1, 1, 2, 2, 3)] * x[, c(1, 2, 3, 2, 3, 3)]))
    Q <- switch(case$degree + 2, matrix(0, 4, 0), cbind(rep(1, 4)), cbind(1, new),
                cbind(1, new, new[, c(1, 1, 1, 2, 2, 3)] * new[, c(1, 2, 3, 2, 3, 3)]))
    dense <- dense_saddle(case$phi(d), P, y, lambda / w)
    expect_equal(predict(fit, new), cbind(case$phi(dense_distance(new, x)), Q) %*% dense, tolerance = 1e-6,
                 ignore_attr = TRUE)
    expect_equal(unname(as.matrix(coef(fit))), unname(dense[-(1:30), , drop = FALSE]), tolerance = 1e-5)
    smoother <- cbind(case$phi(d), P) %*% dense_saddle(case$phi(d), P, diag(30), lambda / w)
    expect_equal(fit$edf, sum(diag(smoother)), tolerance = 1e-7)
  }
})

test_that("gradients are differences of predictions", {
  set.seed(6)
  x <- matrix(stats::runif(80), 40)
  for (case in list(list("thin_plate", 1), list("gaussian", 2), list(cubed, 1), list("energy", 0))) {
    fit <- rbf_interpolate(x, sin(3 * x[, 1]) + x[, 2]^2, case[[1]], degree = case[[2]], lambda = 1e-3)
    at <- matrix(stats::runif(10), 5)
    step <- function(d, h) predict(fit, t(t(at) + h * (1:2 == d)))
    differences <- sapply(1:2, function(d) (step(d, 1e-5) - step(d, -1e-5)) / 2e-5)
    expect_equal(unname(predict(fit, at, gradient = TRUE)), differences, tolerance = 1e-5)
  }
})

test_that("a shift and units of the inputs change nothing but the units of lambda", {
  fit <- rbf_interpolate(places, heights, lambda = 2)
  moved <- rbf_interpolate(1e-2 * places + 5e3, heights, lambda = 2 * 1e-4)
  expect_equal(fitted(moved), fitted(fit), tolerance = 1e-6)
  scaled <- rbf_interpolate(places, heights, kernel_spec("thin_plate", scale = 30), lambda = 2)
  expect_equal(fitted(scaled), fitted(fit), tolerance = 1e-8)
  twice <- rbf_interpolate(places[c(1:200, 1:50), ], heights[c(1:200, 1:50)], lambda = 2)
  expect_equal(predict(rbf_interpolate(places, heights, lambda = 2, weights = rep(2:1, c(50, 150))), between),
               predict(twice, between), tolerance = 1e-7)
})

test_that("formulas, missing rows, weights of 0 and names go through the door", {
  fit <- rbf_interpolate(dist ~ speed, cars, lambda = 5)
  expect_equal(formula(fit), dist ~ speed)
  expect_named(coef(fit), c("(Intercept)", "speed"))
  expect_equal(unname(predict(fit, data.frame(speed = c(10, NA)))[2]), NA_real_)
  expect_equal(predict(update(fit, lambda = 6), cars[1:3, ]),
               predict(rbf_interpolate(dist ~ speed, cars, lambda = 6), cars[1:3, ]))
  holes <- rbf_interpolate(Ozone ~ Temp + Wind, airquality, lambda = 1, na.action = stats::na.exclude)
  expect_equal(is.na(residuals(holes)), is.na(airquality$Ozone), ignore_attr = TRUE)
  without <- rbf_interpolate(cars$speed, cars$dist, lambda = 5, weights = rep(0:1, c(5, 45)))
  expect_equal(predict(without, 12), predict(rbf_interpolate(cars$speed[-(1:5)], cars$dist[-(1:5)], lambda = 5), 12))
  expect_length(fitted(without), 50)
  expect_warning(rbf_interpolate(cbind(places, 1), heights), class = "kernweave_warning_dropped")
})

test_that("what has no one solution is refused by class, and says what would do", {
  line <- cbind(1:9, 1:9)
  expect_error(rbf_interpolate(line, 1:9), "degree = 0", class = "kernweave_error_singular")
  expect_equal(fitted(rbf_interpolate(line, 1:9, "energy", degree = 0)), 1:9, tolerance = 1e-8)
  expect_error(rbf_interpolate(places[c(1:200, 3), ], c(heights, 1)), "3 and 201", class = "kernweave_error_data")
  expect_error(rbf_interpolate(places[1:2, ], 1:2), "3 points", class = "kernweave_error_data")
  expect_error(rbf_interpolate(places, heights, degree = 0), "order 2", class = "kernweave_error_value")
  expect_error(rbf_interpolate(places, heights, cubed, degree = 0), "degree", class = "kernweave_error_singular")
  expect_error(rbf_interpolate(places, heights, cubed, degree = 0, control = fit_control(dense_n = 0)), "degree",
               class = "kernweave_error_singular")
  expect_error(rbf_interpolate(places, heights, "gaussian", degree = -1), "scale", class = "kernweave_error_singular")
  expect_error(rbf_interpolate(places, heights, lambda = -1), class = "kernweave_error_value")
  expect_error(rbf_interpolate(places, heights, lambda = "cv"), class = "kernweave_error_value")
  expect_error(rbf_interpolate(places, factor(heights)), class = "kernweave_error_input")
  expect_error(rbf_interpolate(places, c(NA, heights[-1])), class = "kernweave_error_data")
  expect_silent(rbf_interpolate(places, rep(5, 200)))
  set.seed(500)
  close <- stats::runif(500)
  expect_warning(rbf_interpolate(close, sin(20 * close) + stats::rnorm(500)), "misses its 500 points by up to",
                 class = "kernweave_warning_approximate")
  expect_warning(rbf_interpolate(places, heights, lambda = "gcv"), class = "kernweave_warning_boundary")
})

test_that("curves, surfaces and fits are drawn, and told as data frames", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  plate <- rbf_interpolate(places, heights)
  expect_identical(plot(plate), plate)
  expect_silent(plot(rbf_interpolate(dist ~ speed, cars, lambda = 5)))
  expect_silent(plot(rbf_interpolate(Sepal.Length ~ ., iris[1:4], "energy", degree = 0, lambda = 1)))
  skip_if_not_installed("generics")
  expect_equal(generics::tidy(plate)$estimate, unname(coef(plate)))
  expect_equal(generics::glance(plate)$edf, 200)
  expect_equal(generics::augment(plate)$.fitted, heights, tolerance = 1e-9)
})
