# Kernels of groups, of coefficients that vary in space, and of space and time.

set.seed(21)
n <- 60
places <- data.frame(long = stats::runif(n), lat = stats::runif(n), depth = stats::runif(n, 0.5, 3),
                     g = factor(sample(letters[1:8], n, TRUE)), day = sample(1:9, n, TRUE))
of_places <- c("long", "lat")
places$y <- with(places, depth * sin(5 * long + 2 * lat) + as.integer(g) / 4 + stats::rnorm(n) / 5)

# --- groups -------------------------------------------------------------------------------------------------------

test_that("rows are the same where all inputs agree, whatever these are", {
  for (input in list(c("b", "a", "b"), factor(c("u", "v", "u"), levels = c("w", "v", "u")), c(1e-300, 0, 1e-300),
                     c(TRUE, FALSE, TRUE), as.Date("2020-01-01") + c(3, 4, 3))) {
    K <- as.matrix(kernel_spec("same", of = "g")(data.frame(z = 1:3, g = input)))
    expect_identical(K, outer(input, input, "==") + 0, label = class(input)[1])
  }
  expect_identical(as.matrix(kernel_spec("same")(cbind(c(1, 1, 2), c(5, 6, 6)), cbind(1, 6))), cbind(c(0, 1, 0)))
  pair <- kernel_spec("same", of = c("g", "day"))
  expect_identical(as.matrix(pair(places)), with(places, outer(g, g, "==") & outer(day, day, "==")) + 0)
  apart <- kernel_spec("same", of = "g")(data.frame(g = c("a", "b")), data.frame(g = c("b", "c")))
  expect_identical(as.matrix(apart), cbind(c(0, 1), 0))
  expect_output(print(pair), "Same, of g and day", fixed = TRUE)
  expect_named(coef(pair), "variance")
  expect_error(kernel_spec("same", scale = 2), "no parameter `scale`", class = "kernweave_error_input")
})

test_that("derivatives of same rows by points are 0", {
  X <- Vi(cbind(c(1, 2, 1)), name = "x")
  K <- kernel_spec("same")(X, Vj(cbind(1:2)))
  expect_equal(vjp(sum(K * Vj(c(2, 3)), index = "j", call = FALSE), wrt = X), matrix(0, 3, 1), ignore_attr = TRUE)
})

test_that("a kernel of same rows is a grouped intercept, dense and by products", {
  grouped <- gp_fit(y ~ g, places, trend = ~ long, kernel = "same", nugget = 0.3)
  A <- grouped$variance * outer(places$g, places$g, "==") + diag(0.3, n)
  F <- cbind(1, places$long)
  expect_equal(unname(coef(grouped)), as.vector(solve(crossprod(F, solve(A, F)), crossprod(F, solve(A, places$y)))))
  free <- gp_fit(y ~ g, places, trend = ~ long, kernel = kernel_spec("same", of = "g"))
  short <- gp_fit(y ~ g, places, trend = ~ long, kernel = kernel_spec("gaussian", scale = 0.01))
  expect_equal(logLik(free), logLik(short), tolerance = 1e-8)
  none <- gp_fit(y ~ lat, places, trend = ~ long + (1 | g), variance = 0)
  expect_equal(as.numeric(logLik(free)), as.numeric(logLik(none)), tolerance = 1e-7)
  products <- gp_fit(y ~ g, places, trend = ~ long, kernel = "same", control = fit_control(dense_n = 0))
  expect_equal(coef(products, "covariance"), coef(free, "covariance"), tolerance = 1e-4)
  two <- kernel_spec("matern32", of = of_places, variance = NULL) + kernel_spec("same", of = "g", variance = NULL)
  beside <- gp_fit(y ~ long + lat + g, places, kernel = two)
  expect_equal(as.numeric(logLik(beside)),
               as.numeric(logLik(gp_fit(y ~ long + lat, places, trend = ~ (1 | g), kernel = "matern32"))),
               tolerance = 1e-6)
})

test_that("a process of its own for each subject is that of nlme", {
  skip_below("quick")
  skip_if_not_installed("nlme")
  weights <- as.data.frame(nlme::BodyWeight)
  weights$Rat <- factor(as.character(weights$Rat))
  # The range and the logarithm of the likelihood of lme(weight ~ Time * Diet, BodyWeight, random = ~ 1 | Rat,
  # corExp(form = ~ Time | Rat, nugget = TRUE)), whose variance of intercepts is nearly 0.
  at_range <- function(range) {
    each <- kernel_spec("matern12", scale = range, of = "Time") * kernel_spec("same", of = "Rat")
    expect_warning(fit <- gp_fit(weight ~ Time + Rat, weights, trend = ~ Time * Diet + (1 | Rat), kernel = each),
                   class = "kernweave_warning_boundary")
    as.numeric(logLik(fit))
  }
  expect_lt(abs(at_range(976.2967) + 564.76673), 1e-3)
  expect_lt(abs(at_range(NULL) + 564.76673), 0.1)  # the likelihood is flat, and the largest range is a bound
})

# --- coefficients that vary in space ------------------------------------------------------------------------------

test_that("an input in `times` multiplies the kernel on both sides", {
  k <- kernel_spec("matern32", scale = 0.4, of = of_places, times = "depth")
  K <- as.matrix(kernel_matern(as.matrix(places[of_places]), scale = 0.4, nu = 3 / 2))
  w <- places$depth
  expect_equal(as.matrix(k(places)), outer(w, w) * K)
  expect_equal(as.matrix(k(as.matrix(places[c("depth", "lat", "long")]), as.matrix(places[1:3, 1:3]))),
               (outer(w, w) * K)[, 1:3], ignore_attr = TRUE)
  twice <- kernel_spec("matern32", scale = 0.4, of = of_places, times = c("depth", "day"))
  expect_equal(as.matrix(twice(places)), outer(w * places$day, w * places$day) * K)
  other <- kernel_spec("gaussian", scale = 1, of = "day")
  D <- as.matrix(other(places))
  expect_equal(as.matrix((3 * k + other)(places)), 3 * outer(w, w) * K + D)
  expect_equal(as.matrix((k * other)(places)), outer(w, w) * K * D)
  expect_equal(as.matrix(update(k, scale = 1)(places)), as.matrix(update(k, scale = 1)(places, places)))
  expect_output(print(update(k, scale = 2) * other), "Matern 3/2, scale 2, of long and lat, times depth", fixed = TRUE)
})

test_that("a coefficient that varies is that of the dense model, of a product, and of a divided response", {
  vary <- kernel_spec("matern32", of = of_places, times = "depth")
  fit <- gp_fit(y ~ long + lat + depth, places, kernel = vary)
  product <- kernel_spec("matern32", of = of_places) * kernel_spec("linear", scale = 1, of = "depth")
  expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(gp_fit(y ~ long + lat + depth, places, kernel = product))),
               tolerance = 1e-6)
  rest <- gp_fit(y ~ long + lat + depth, places, kernel = kernel_spec("matern32", times = "depth"))
  expect_equal(coef(rest, "covariance"), coef(fit, "covariance"))
  values <- coef(fit, "covariance")
  K <- as.matrix(kernel_matern(as.matrix(places[of_places]), scale = values[["scale"]], nu = 3 / 2))
  w <- places$depth
  A <- values[["variance"]] * outer(w, w) * K + diag(values[["nugget"]], n)
  left <- places$y - coef(fit)
  C <- A - diag(values[["nugget"]], n)
  expect_equal(unname(predict(fit, places)), as.vector(coef(fit) + C %*% solve(A, left)))
  ridge <- kernel_ridge(y ~ long + lat + depth, places, kernel = update(vary, scale = 0.4), lambda = 0.1)
  R <- outer(w, w) * as.matrix(kernel_matern(scale(places[of_places]), scale = 0.4, nu = 3 / 2))
  z <- as.vector(scale(places$y))
  expect_equal(unname(fitted(ridge)), mean(places$y) + sd(places$y) * as.vector(R %*% solve(R + diag(0.1, n), z)))
  # y / w has the covariance k and a constant nugget if y has the nugget w^2.
  whole <- gp_fit(y ~ long + lat + depth, places, trend = ~ 0 + depth, kernel = vary, method = "ML",
                  weights = 1 / depth^2)
  divided <- gp_fit(I(y / depth) ~ long + lat, places, kernel = "matern32", method = "ML")
  expect_equal(coef(whole, "covariance"), coef(divided, "covariance"), tolerance = 1e-3)
  expect_equal(as.numeric(logLik(whole)), as.numeric(logLik(divided)) - sum(log(w)), tolerance = 1e-7)
})

test_that("coefficients that vary are estimated alike in any units, alone and in a sum", {
  skip_below("quick")
  vary <- kernel_spec("matern32", of = of_places, times = "depth")
  both <- kernel_spec("matern32", of = of_places, times = "depth", variance = NULL) +
    kernel_spec("same", of = "g", variance = NULL)
  fitted_in <- function(unit, formula, k, family = gaussian()) {
    data <- transform(places, depth = depth * unit, count = round(exp(y / 2)))
    fit <- gp_fit(formula, data, kernel = k, family = family)
    values <- coef(fit, "covariance")
    of_depth <- names(values) == if (length(coef(k)) > 2) "variance.long.lat" else "variance"
    c(as.numeric(logLik(fit)), values * ifelse(of_depth, unit^2, 1))
  }
  for (unit in c(1e5, 1e-6)) {
    compare <- function(...) expect_equal(fitted_in(unit, ...), fitted_in(1, ...), tolerance = 1e-3)
    compare(y ~ long + lat + depth, vary)
    compare(y ~ long + lat + depth + g, both)
    compare(count ~ long + lat + depth, vary, stats::poisson())
  }
})

test_that("mistakes with `times` are told with what to do", {
  vary <- kernel_spec("matern32", of = of_places, times = "depth")
  expect_error(gp_fit(y ~ long + lat, places, kernel = vary), "right side of a formula",
               class = "kernweave_error_input")
  expect_error(gp_fit(y ~ long + lat + g, places, kernel = kernel_spec("matern32", times = "g")), "as.numeric",
               class = "kernweave_error_input")
  expect_error(kernel_spec("matern32", scale = 1, of = of_places, times = "g")(places), "factors",
               class = "kernweave_error_input")
  expect_error(update(vary, scale = 1)(Vi(places$long)), "give the data", class = "kernweave_error_input")
  expect_error(kernel_spec(times = 3), "names of inputs", class = "kernweave_error_input")
  expect_error(kernel_spec(times = c("a", "a")), "names of inputs", class = "kernweave_error_input")
})

# --- space and time -----------------------------------------------------------------------------------------------

test_that("the kernel of Gneiting is its formula, separable without beta, and positive definite", {
  x <- as.matrix(places[c("long", "lat", "day")])[1:30, ]
  for (nu in c(1, 3, 5) / 2) for (beta in c(0, 0.5, 1)) {
    k <- kernel_spec("gneiting", scale = 0.3, nu = nu, time = list(scale = 2, alpha = 0.7, beta = beta))
    K <- as.matrix(k(x))
    expect_equal(K, dense_gneiting(x, x, nu, 0.3, 2, 0.7, beta), tolerance = 1e-12, ignore_attr = TRUE)
    expect_gt(min(eigen(K, TRUE, TRUE)$values), -1e-12)
  }
  four <- cbind(x, stats::runif(30))
  k <- kernel_spec("gneiting", scale = 0.3, time = list(scale = 2, alpha = 1, beta = 1))
  expect_equal(as.matrix(k(four)), dense_gneiting(four, four, 1 / 2, 0.3, 2, 1, 1), ignore_attr = TRUE)
  expect_gt(min(eigen(as.matrix(k(four)), TRUE, TRUE)$values), -1e-12)
  line <- as.matrix(update(k, beta = 0)(places[, c("long", "day")]))
  apart <- kernel_spec("matern12", scale = 0.3, of = "long") * kernel_spec("cauchy", scale = 2, of = "day")
  expect_equal(line, as.matrix(apart(places)), ignore_attr = TRUE)
})

test_that("parameters of time have names, values and logits", {
  k <- kernel_spec("gneiting", scale = 2, nu = 3 / 2, time = list(scale = 3, alpha = 0.5),
                   of = c("long", "lat", "day"))
  expect_output(print(k), "Gneiting 3/2, scale 2, time.scale 3, alpha 0.5, beta to be estimated, of long", fixed = TRUE)
  expect_named(coef(k), c("scale", "time.scale", "alpha", "beta", "variance"))
  begun <- kernel_spec("gneiting", scale = 2, time.scale = 3, alpha = 0.2, beta = 0.6,
                       estimate = c("time.scale", "alpha", "beta"))
  at <- c(time.scale = log(3), alpha = stats::qlogis(0.2), beta = stats::qlogis(0.6))
  expect_equal(coef(begun, "free", unconstrained = TRUE), at)
  expect_equal(coef(update(begun, unconstrained = at)), coef(begun))
  both <- begun * kernel_spec("rational_quadratic", scale = 1, alpha = 3, estimate = "alpha", of = "depth")
  expect_equal(coef(both, "free", unconstrained = TRUE),
               c(time.scale = log(3), alpha = stats::qlogis(0.2), beta = stats::qlogis(0.6),
                 alpha.depth = log(3)))
  for (wrong in list(list(nu = 1), list(time = list(alpha = 0)), list(time = list(alpha = 1.1)),
                     list(time = list(beta = -0.1)), list(time = list(scale = -1)),
                     list(time = list(beta = 0), estimate = "beta"))) {
    expect_error(do.call(kernel_spec, c("gneiting", wrong)), class = "kernweave_error_value", label = deparse1(wrong))
  }
  expect_error(kernel_spec("gneiting", time = 3), "list(scale", fixed = TRUE, class = "kernweave_error_input")
  expect_error(kernel_spec("gneiting", time = list(gamma = 1)), "gamma", class = "kernweave_error_input")
  expect_error(kernel_spec("gneiting", ard = TRUE), class = "kernweave_error_unsupported")
  expect_error(update(begun, alpha = 2)(matrix(1:6, 2)), "at most 1", class = "kernweave_error_value")
  expect_error(update(begun)(1:3), "two inputs", class = "kernweave_error_shape")
  expect_error(gp_fit(y ~ day, places, kernel = "gneiting"), "two inputs", class = "kernweave_error_shape")
  expect_error(gp_fit(y ~ long + g, places, kernel = kernel_spec("gneiting", of = c("long", "g"))), "not a factor",
               class = "kernweave_error_input")
})

test_that("the score of each parameter is the slope of the likelihood", {
  of <- c("long", "lat", "day")
  alone <- kernel_spec("gneiting", of = of, nu = 3 / 2)
  beside <- kernel_spec("matern32", of = of_places, variance = NULL, times = "depth") +
    kernel_spec("gneiting", of = of, variance = NULL) * kernel_spec("same", of = "g")
  for (case in list(list(y ~ day + lat + long, alone), list(y ~ day + lat + long + depth + g, beside))) {
    fit <- suppressWarnings(gp_fit(case[[1]], places, kernel = case[[2]], nugget = 0.05,
                                   control = fit_control(max_iter = 2)))
    model <- fit$data
    theta <- gp_theta_of(model)
    by_steps <- vapply(seq_along(theta), function(k) {
      diff(vapply(c(-1e-4, 1e-4), function(h) gp_state_at(model, replace(theta, k, theta[k] + h))$value, 0)) / 2e-4
    }, 0)
    score <- unname(gp_state_at(model, theta)$score)
    expect_lt(max(abs(score - by_steps)), 1e-5 * max(1, abs(by_steps)))
    expect_setequal(model$layout$link[grepl("alpha|beta", model$layout$name)], "logit")
  }
})

test_that("days count as days in dates and in times, and predictions follow", {
  k <- kernel_spec("gneiting", scale = 0.5, time = list(alpha = 0.8, beta = 0.5), of = c("long", "lat", "day"))
  begin <- as.Date("2020-02-27")
  as_dates <- transform(places, day = begin + day)
  as_times <- transform(places, day = as.POSIXct(format(begin), tz = "UTC") + 86400 * day)
  fits <- lapply(list(places, as_dates, as_times), function(d) gp_fit(y ~ day + lat + long, d, kernel = k))
  for (other in fits[-1]) {
    expect_equal(coef(other, "covariance"), coef(fits[[1]], "covariance"), tolerance = 1e-5)
    expect_equal(logLik(other), logLik(fits[[1]]), tolerance = 1e-8)
  }
  expect_equal(predict(fits[[3]], as_times[1:5, ]), predict(fits[[1]], places[1:5, ]), tolerance = 1e-5)
  given <- update(k, time.scale = 3)
  expect_equal(as.matrix(given(as_times)), as.matrix(given(places)))
  expect_equal(as.matrix(given(as_dates, as_dates[1:2, ])), as.matrix(given(places, places[1:2, ])))
})

test_that("places on a sphere and a time have a kernel", {
  k <- kernel_spec("gneiting", metric = "chordal", scale = 800, time = list(scale = 2, alpha = 1, beta = 0.5),
                   of = c("long", "lat", "day"))
  degrees <- transform(places, long = 40 * long, lat = 40 * lat)
  chords <- as.matrix(kernel_spec("matern12", metric = "chordal", scale = 800, of = of_places)(degrees))
  psi <- 1 + outer(places$day, places$day, "-")^2 / 4
  K <- exp(log(chords) / psi^0.25) / psi^1.5
  expect_equal(as.matrix(k(degrees)), K, tolerance = 1e-8)
  fit <- gp_fit(y ~ day + long + lat, degrees, trend = ~ 0, kernel = k, variance = 1, nugget = 0.5)
  expect_equal(as.vector(fit$alpha), solve(K + diag(0.5, n), places$y), tolerance = 1e-8)
})

test_that("a profile of a parameter between 0 and 1 ends between 0 and 1", {
  skip_below("quick")
  k <- kernel_spec("gneiting", scale = 0.5, time = list(scale = 3, beta = 0.5), of = c("long", "lat", "day"))
  fit <- suppressWarnings(gp_fit(y ~ long + lat + day, places, kernel = k, variance = 2, nugget = 0.3))
  along <- profile(fit, "alpha")
  expect_true(all(along$alpha$par.vals[, "alpha"] > 0 & along$alpha$par.vals[, "alpha"] < 1))
  ends <- confint(along)
  expect_true(all(ends >= 0 & ends <= 1) && ends[1] < coef(fit, "covariance")[["alpha"]])
})
