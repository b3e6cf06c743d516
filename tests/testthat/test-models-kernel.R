# Kernels as objects, scales from points, and the door for data.

set.seed(8)
x <- matrix(stats::rnorm(24), 8)
y <- matrix(stats::rnorm(15), 5)

test_that("a kernel by name has the values of its function, with every parameter", {
  same <- list(
    gaussian = list(kernel_gaussian, scale = 0.7), matern12 = list(kernel_laplacian, scale = 0.7),
    laplacian = list(kernel_laplacian, scale = 0.7), exponential = list(kernel_laplacian, scale = 0.7),
    matern32 = list(function(...) kernel_matern(..., nu = 1.5), scale = 0.7),
    matern52 = list(kernel_matern, scale = 0.7),
    matern = list(kernel_matern, scale = 0.7, nu = 1.5), cauchy = list(kernel_cauchy, scale = 0.7),
    inverse_multiquadric = list(kernel_inverse_multiquadric, scale = 0.7),
    rational_quadratic = list(kernel_rational_quadratic, scale = 0.7, alpha = 2),
    energy = list(kernel_energy, scale = 1, exponent = 1.5), thin_plate = list(kernel_thin_plate, scale = 1),
    linear = list(kernel_linear, scale = 2), polynomial = list(kernel_polynomial, scale = 2, degree = 3, offset = 0.5),
    periodic = list(kernel_periodic, scale = 0.7, period = 1.3),
    spherical = list(function(...) kernel_radial(..., profile = "spherical"), scale = 2),
    wendland2 = list(function(...) kernel_radial(..., profile = "wendland2"), scale = 2),
    wendland4 = list(function(...) kernel_radial(..., profile = "wendland4"), scale = 2),
    same = list(function(x, y) (dense_distance(x, y) == 0) + 0)
  )
  nus <- c(gneiting = 1 / 2, gneiting12 = 1 / 2, gneiting32 = 3 / 2, gneiting52 = 5 / 2)
  same[names(nus)] <- lapply(nus, function(nu) {
    list(function(x, y, ...) dense_gneiting(x, y, nu, ...), scale = 0.7, time.scale = 0.4, alpha = 0.8, beta = 0.6)
  })
  refused <- tryCatch(kernel_spec("none"), error = conditionMessage)
  known <- setdiff(gsub("\"", "", regmatches(refused, gregexpr("\"[a-z0-9_]+\"", refused))[[1]]), "none")
  expect_setequal(names(same), known)
  for (name in names(same)) {
    parameters <- same[[name]][-1]
    k <- do.call(kernel_spec, c(list(name), parameters))
    expect_equal(as.matrix(k(x, y)), as.matrix(do.call(same[[name]][[1]], c(list(x, y), parameters))), label = name)
    expect_equal(as.matrix(k(x)), as.matrix(k(x, x)), label = name)
  }
  expect_equal(as.matrix(kernel_energy(x, y, exponent = 1.5)), -dense_distance(x, y)^1.5)
  expect_equal(as.matrix(kernel_linear(x, y, 2)), tcrossprod(x, y) / 4)
})

test_that("kernels are added, multiplied and weighed, and keep their parameters by name", {
  a <- kernel_spec("matern52", scale = 0.5)
  b <- kernel_spec("periodic", scale = 1, period = 0.2, estimate = "period")
  M <- as.matrix(kernel_matern(x, y, 0.5))
  P <- as.matrix(kernel_periodic(x, y, 1, period = 0.2))
  expect_equal(as.matrix((a + b)(x, y)), M + P)
  expect_equal(as.matrix((a * b)(x, y)), M * P)
  expect_equal(as.matrix((2 * (a + 3 * b) * a)(x, y)), 2 * (M + 3 * P) * M)
  both <- 2 * a + b
  expect_named(coef(both), c("matern52.scale", "matern52.variance", "periodic.scale", "period", "periodic.variance",
                             "variance"))
  expect_equal(coef(both, "free", unconstrained = TRUE), c(period = log(0.2)))
  moved <- update(both, unconstrained = log(0.3), matern52.scale = 0.1)
  expect_equal(as.matrix(moved(x, y)), 2 * as.matrix(kernel_matern(x, y, 0.1)) +
                 as.matrix(kernel_periodic(x, y, 1, period = 0.3)))
  twice <- a + a
  space <- kernel_spec("matern52", of = c("x", "y"), variance = NULL)
  time <- kernel_spec("periodic", of = "day")
  expect_named(coef(space * time, "free"), c("scale.xy", "variance.xy", "scale.day"))
  expect_named(coef(space + kernel_spec("matern52", of = "day"), "free"), c("scale.xy", "variance.xy", "scale.day"))
  expect_named(coef((space + time) * kernel_spec(of = c("long", "lat")), "free"),
               c("scale.xy", "variance.xy", "scale.day", "scale.long.lat"))
  expect_named(coef(space + kernel_spec("gaussian", of = c("x", "y")), "free"),
               c("matern52.scale.xy", "matern52.variance.xy", "gaussian.scale.xy"))
  expect_named(coef(space + space * kernel_spec("same", of = "year"), "free"),
               c("matern52.scale.xy", "matern52.variance.xy", "product.scale.xy", "product.variance.xy"))
  expect_named(coef(kernel_spec(of = "scale") + kernel_spec(of = "x_scale"), "free"),
               c("gaussian.scale", "gaussian.scale_1"))  # inputs that are called as parameters are
  expect_equal(as.matrix(update(twice, matern52.scale_1 = 2)(x, y)), M + as.matrix(kernel_matern(x, y, 2)))
  expect_equal(as.matrix(unserialize(serialize(both, NULL))(x, y)), 2 * M + P)
})

test_that("a kernel of one's own has its arguments as parameters", {
  bumps <- function(x, y, scale = 1, height = 1) height * kernel_cauchy(x, y, scale)^2
  k <- kernel_spec(bumps, scale = 2, height = 3)
  expect_equal(as.matrix(k(x, y)), 3 / (1 + dense_distance(x, y)^2 / 4)^2)
  expect_output(print(kernel_spec(bumps)), "bumps, scale to be estimated, height 1")
  unscaled <- kernel_spec(function(x, y) Vi(x) | Vj(y))
  expect_equal(as.matrix(unscaled(x, y)), tcrossprod(x, y))
  expect_error(kernel_spec(function(a, b) a), class = "kernweave_error_input")
  expect_error(kernel_spec(function(x, y) 1)(x, y), class = "kernweave_error_input")
})

test_that("derivatives in parameters are those of differences, lazily and on the tape", {
  k <- 2 * kernel_spec("rational_quadratic", scale = 0.9, alpha = 1.5, estimate = c("scale", "alpha"), variance = 1)
  total <- function(scale, alpha) sum(as.matrix(k(x, y, scale = scale, alpha = alpha)))
  s <- Pm(0.9, name = "s")
  slope <- (total(0.9 + 1e-5, 1.5) - total(0.9 - 1e-5, 1.5)) / 2e-5
  expect_equal(vjp(sum(k(x, y, scale = s), index = "ij", call = FALSE), s), slope, tolerance = 1e-7)
  f <- function(theta) sum(update(k, unconstrained = theta)(x, y) %*% rep(1, 5))
  log_slopes <- c((total(0.9 * exp(1e-5), 1.5) - total(0.9 * exp(-1e-5), 1.5)) / 2e-5,
                  (total(0.9, 1.5 * exp(1e-5)) - total(0.9, 1.5 * exp(-1e-5))) / 2e-5)
  expect_equal(unname(value_and_gradient(f)(log(c(0.9, 1.5)))$gradient[[1]]), log_slopes, tolerance = 1e-7)
})

test_that("mistakes with kernels are refused by class and named", {
  expect_error(kernel_spec("matern72"), "matern52", class = "kernweave_error_input")
  expect_error(kernel_spec("gaussian", alpha = 3), "alpha", class = "kernweave_error_input")
  expect_error(kernel_spec("gaussian", scale = -1), class = "kernweave_error_value")
  expect_error(kernel_spec("gaussian", scale = "1"), class = "kernweave_error_input")
  expect_error(kernel_spec("gaussian")(x), "scale", class = "kernweave_error_no_data")
  expect_error(kernel_spec("gaussian", scale = 1)(x, scal = 2), "did you mean `scale`", class = "kernweave_error_input")
  expect_error(kernel_spec("gaussian", 1, 2), "by name", class = "kernweave_error_input")
  expect_error(kernel_spec("gaussian") - kernel_spec("cauchy"), class = "kernweave_error_unsupported")
  expect_error(1 + kernel_spec("gaussian"), class = "kernweave_error_input")
  expect_error(update(kernel_spec("gaussian"), unconstrained = numeric()), class = "kernweave_error_shape")
  expect_error(kernel_spec("polynomial", offset = 0, estimate = "offset"), class = "kernweave_error_value")
})

test_that("scales come from the points alone, whatever their order, and have the numbers of other packages", {
  skip_below("quick")
  expect_equal(median_scale(iris[51:150, 1:4]), 1.28840987, tolerance = 1e-8)
  many <- matrix(stats::rnorm(6000), 3000)
  expect_identical(median_scale(many), median_scale(many[sample(3000), ]))
  skip_if_not_installed("MASS")
  inputs <- scale(MASS::Boston[, c("crim", "nox", "rm", "dis", "ptratio", "lstat")])
  expect_equal(maxvar_scale(inputs), 2.03204352, tolerance = 1e-5)
  # Points that coincide have no distance.
  expect_identical(median_scale(rep(c(0, 3), c(90, 10))), 3)
  expect_error(median_scale(rep(1, 5)), "kernel_spec", class = "kernweave_error_data")
  expect_error(median_scale(1), class = "kernweave_error_data")
})

test_that("factors, texts, logicals, integers and matrices among the data become columns", {
  frame <- data.frame(f = factor(c("a", "b", "a")), t = c("u", "u", "v"), l = c(TRUE, FALSE, NA), i = 1:3)
  frame$m <- matrix(1:6, 3)
  as_inputs <- kernweave:::as_inputs
  columns <- as_inputs(frame, "frame")
  expect_identical(attr(columns, "term"), rep(1:5, c(2, 2, 1, 1, 2)))
  expect_type(columns, "double")
  expect_equal(sqrt(sum((columns[1, 1:2] - columns[2, 1:2])^2)), 1)
  expect_equal(unname(columns[, 5]), c(1, 0, NA))
  expect_error(median_scale(frame), "1 row: 3", class = "kernweave_error_data")
  expect_error(median_scale(c(1, Inf)), class = "kernweave_error_data")
  expect_error(median_scale(stats::dist(1:3)), "dist", class = "kernweave_error_input")
  expect_error(median_scale(list(1)), class = "kernweave_error_input")
  expect_equal(as_inputs(Matrix::Diagonal(2), "x"), diag(2), ignore_attr = TRUE)
  grouped <- kernel_spec("gaussian", scale = c(1, 2, 1, 1, 5), ard = TRUE)
  numbers <- as_inputs(frame[1:2, ], "frame")
  scaled <- sweep(numbers, 2, c(1, 1, 2, 1, 1, 5, 5), "/")
  expect_equal(as.matrix(grouped(numbers)), dense_gaussian(scaled), ignore_attr = TRUE)
})

test_that("a kernel of one's own may be any formula of two points, with a scale or without", {
  skip_below("quick")
  plain <- function(x, y) exp(-sqdist(x, y) / 2)
  scaled <- function(x, y, scale) exp(-sqdist(x, y) / (2 * scale^2))
  known <- kernel_spec("gaussian", scale = 1)
  expect_equal(as.matrix(kernel_spec(plain)(1:4)), as.matrix(known(1:4)))
  expect_equal(as.matrix(kernel_spec(plain)(Vi(1:4))), as.matrix(known(1:4)))
  itself <- function(x, y) exp(-sqdist(Vi(x), Vj(y)) / 2)
  expect_equal(as.matrix(kernel_spec(itself)(1:4)), as.matrix(known(1:4)))
  for (kernel in list(plain, kernel_spec(scaled, scale = 1))) {
    expect_equal(mmd_test(1:5, 3:9, kernel = kernel, null = "moments")[c("statistic", "p.value")],
                 mmd_test(1:5, 3:9, kernel = known, null = "moments")[c("statistic", "p.value")])
    expect_equal(ksd_test(c(0.3, -1, 2), function(x) -x, kernel = kernel)$estimate,
                 ksd_test(c(0.3, -1, 2), function(x) -x, kernel = known)$estimate)
  }
  restricted <- function(x, y) exclude_diag(exp(-sqdist(x, y) / 2))
  K <- dense_gaussian(c(1:5, 3:9)) * (1 - diag(12))
  expect_equal(mmd_test(1:5, 3:9, kernel = restricted, R = 1)$statistic[["T"]],
               dense_groups_statistic(K, rep(1:2, c(5, 7))))
})

test_that("a scale with a value is estimated from there if `estimate` names it, and is fixed if not", {
  for (name in c("gaussian", "matern32", "periodic", "rational_quadratic")) {
    begun <- kernel_spec(name, scale = 3, estimate = "scale")
    expect_equal(coef(begun, "free"), c(scale = 3))
    expect_output(print(begun), "scale 3 (estimated from here)", fixed = TRUE)
    for (fixed in list(kernel_spec(name, scale = 3), kernel_spec(name, scale = 3, estimate = NULL),
                       update(begun, scale = 3))) {
      expect_length(coef(fixed, "free"), 0)
    }
    expect_named(coef(kernel_spec(name), "free"), "scale")
    expect_named(coef(kernel_spec(name, estimate = NULL), "free"), "scale")
  }
  sum <- kernel_spec("gaussian", scale = 2, estimate = "scale") + kernel_spec("matern32", scale = 5)
  expect_equal(coef(sum, "free"), c(gaussian.scale = 2))
  expect_error(kernel_spec(function(x, y) exp(-sqdist(x, y)), estimate = "scale"), "no parameter `scale`",
               class = "kernweave_error_input")
  expect_error(kernel_spec("gaussian", scale = 2, estimate = "scal"), "did you mean `scale`",
               class = "kernweave_error_input")
})

test_that("the search begins at the scale that is given, and ends in the maximum nearest to it", {
  set.seed(1)
  x <- seq(0, 10, length.out = 60)
  y <- sin(6 * x) / 2 + 0.3 * x + stats::rnorm(60) * 0.3  # waves or noise: the likelihood has a maximum for each
  from <- function(scale) gp_fit(x, y, trend = ~0, kernel = kernel_spec("gaussian", scale = scale, estimate = "scale"))
  short <- from(0.5)
  long <- from(15)
  expect_lt(coef(short, "covariance")[["scale"]], 1)
  expect_gt(coef(long, "covariance")[["scale"]], 10)
  for (fit in list(short, long)) {
    # either is a maximum of the likelihood along the scale, all else being estimated
    at <- coef(fit, "covariance")[["scale"]]
    beside <- vapply(at * c(0.9, 1, 1.1), function(s) {
      as.numeric(logLik(gp_fit(x, y, trend = ~0, kernel = kernel_spec("gaussian", scale = s))))
    }, 0)
    expect_true(beside[2] > beside[1] && beside[2] > beside[3])
    expect_equal(as.numeric(logLik(fit)), beside[2], tolerance = 1e-6)
  }
  expect_equal(logLik(gp_fit(x, y, trend = ~0, kernel = "gaussian")), logLik(long), tolerance = 1e-8)
  each <- kernel_spec("gaussian", scale = 2, ard = TRUE, estimate = "scale")
  both <- suppressWarnings(gp_fit(cbind(a = x, b = cos(3 * x)), y, kernel = each))
  expect_named(coef(both, "covariance"), c("variance", "scale.a", "scale.b", "nugget"))
  three <- kernel_spec("gaussian", scale = 1, variance = 3, estimate = "variance")
  expect_equal(coef(gp_fit(x, y, kernel = three), "covariance"),
               coef(gp_fit(x, y, kernel = kernel_spec("gaussian", scale = 1)), "covariance"), tolerance = 1e-4)
})

test_that("kernels of one name in a sum are estimated alike in any units of inputs and response", {
  set.seed(2)
  d <- data.frame(x = stats::runif(60), t = stats::runif(60))
  d$y <- sin(5 * d$x) + cos(4 * d$t) + stats::rnorm(60) * 0.1
  k <- kernel_spec("matern52", of = "x", variance = NULL) + kernel_spec("matern52", of = "t", variance = NULL)
  found <- coef(gp_fit(y ~ x + t, d, kernel = k), "covariance")
  other <- coef(gp_fit(y ~ x + t, transform(d, t = 1e6 * t, y = 1e4 * y), kernel = k), "covariance")
  expect_equal(other, found * c(1, 1, 1e8, 1e6, 1e8, 1e8), tolerance = 1e-3)
})

test_that("bounds of a kernel are printed, and update() changes them", {
  k <- kernel_spec("matern32", lower = c(scale = 0.1), upper = c(scale = 2))
  expect_identical(format(k), "Matern 3/2, scale to be estimated (from 0.1 to 2)")
  expect_identical(format(update(k, upper = c(scale = 3))), "Matern 3/2, scale to be estimated (from 0.1 to 3)")
  expect_identical(format(update(k, lower = c(scale = 0), upper = c(scale = Inf))), format(kernel_spec("matern32")))
  given <- update(k, scale = 1)
  expect_identical(format(given), "Matern 3/2, scale 1")
  expect_error(update(given, upper = c(scale = 4)), "estimate = \"scale\" would", class = "kernweave_error_input")
  expect_identical(format(update(given, estimate = "scale", upper = c(scale = 4))),
                   "Matern 3/2, scale 1 (estimated from here, from 0.1 to 4)")
  expect_error(update(k, upper = c(scale = 0.1)), "is not below", class = "kernweave_error_value")
  expect_error(kernel_spec(k, upper = c(scale = 4)), "`kernel` is one: update()", fixed = TRUE,
               class = "kernweave_error_input")
  both <- update(k + kernel_spec("gaussian"), upper = c(matern32.scale = 5, gaussian.scale = 9))
  expect_match(format(both), "(from 0.1 to 5)) + (Gaussian, scale to be estimated (at most 9))", fixed = TRUE)
  expect_error(update(both, upper = c(variance = 2)), "has no bound", class = "kernweave_error_unsupported")
  x <- matrix(seq_len(80) / 10, 40)
  fit <- gp_fit(x, sin(x[, 1]) + rep(c(-1, 1), 20) / 5, kernel = update(k, upper = c(scale = 20)),
                control = fit_control(upper = c(nugget = 3)))
  for (shown in list(fit, summary(fit))) {
    expect_output(print(shown), "bounds given: scale from 0.1 to 20, nugget at most 3", fixed = TRUE)
  }
  narrow <- suppressWarnings(update(fit, kernel = update(k, lower = c(scale = 0.01), upper = c(scale = 0.05))))
  expect_equal(coef(narrow, "covariance")[["scale"]], 0.05)
})
