# Kernels with a long and a short axis: their formula, estimates of axes, and what is made of these.

set.seed(20)
n <- 130
x <- cbind(a = runif(n), b = runif(n))
dense_turned <- function(x, scale, ratio, angle, y = x) {
  along <- c(cos(angle * pi / 180), sin(angle * pi / 180))
  turned <- function(x) cbind(x %*% along, x %*% c(-along[2], along[1]) / ratio) / scale
  u <- sqrt(3) * dense_distance(turned(x), turned(y))
  (1 + u) * exp(-u)
}
y <- drop(crossprod(chol(dense_turned(x, 0.5, 0.3, 30) + diag(1e-10, n)), rnorm(n))) + rnorm(n, sd = 0.1)
open <- kernel_spec("matern32", aniso = TRUE)
fit <- gp_fit(x, y, kernel = open, method = "ML")

test_that("distances are those along and across the axis, whatever the numbers are given as", {
  k <- kernel_spec("matern32", scale = 0.5, aniso = c(ratio = 0.3, angle = 30))
  known <- dense_turned(x, 0.5, 0.3, 30)
  expect_equal(as.matrix(k(x)), known, tolerance = 1e-13, ignore_attr = TRUE)
  expect_equal(as.matrix(k(x, x[1:3, ])), known[, 1:3], tolerance = 1e-13, ignore_attr = TRUE)
  expect_equal(as.matrix(k(x, angle = Pm(210))), known, tolerance = 1e-13, ignore_attr = TRUE)
  expect_equal(as.matrix(update(k, ratio = 1)(x)), as.matrix(kernel_spec("matern32", scale = 0.5)(x)))
  angle <- Pm(30, name = "angle")
  slope <- as.matrix(lazy_gradient(k(x, angle = angle), angle))
  by_steps <- (dense_turned(x, 0.5, 0.3, 30.001) - dense_turned(x, 0.5, 0.3, 29.999)) / 0.002
  expect_lt(max(abs(slope - by_steps)), 1e-8)
  expect_equal(coef(k), c(scale = 0.5, ratio = 0.3, angle = 30, variance = 1))
  some <- update(open, unconstrained = c(log(0.5), log(0.3), 30))
  expect_equal(coef(some), coef(k))
  expect_equal(coef(some, unconstrained = TRUE), c(scale = log(0.5), ratio = log(0.3), angle = 30))
  expect_output(print(k), "ratio 0.3, angle 30")
})

test_that("the score is the derivative of the likelihood, also where both axes are the same, for any kernel", {
  for (name in c("matern12", "matern52", "gaussian", "rational_quadratic")) {
    more <- if (name == "rational_quadratic") "alpha"
    k <- kernel_spec(name, aniso = TRUE, estimate = c("scale", more))
    model <- suppressWarnings(gp_fit(x, y, kernel = k, control = fit_control(max_iter = 1))$data)
    expect_equal(model$layout$link[model$layout$name == "turn"], rep("identity", 2))
    at <- replace(gp_theta_of(model), grep("scale|alpha", model$layout$name), log(0.4))
    for (turn in list(c(0, 0), c(0.3, -0.5))) {
      theta <- replace(at, grep("turn", names(at)), turn)
      by_steps <- vapply(seq_along(theta), function(k) {
        diff(vapply(c(-1e-4, 1e-4), function(h) gp_state_at(model, replace(theta, k, theta[k] + h))$value, 0)) / 2e-4
      }, 0)
      score <- unname(gp_state_at(model, theta)$score)
      expect_lt(max(abs(score - by_steps)) / max(abs(by_steps)), 1e-5)
    }
  }
})

test_that("the likelihood is the dense formula's, and largest at the estimates", {
  value <- function(p) {
    A <- exp(p[[1]]) * dense_turned(x, exp(p[[2]]), exp(p[[3]]), p[[4]]) + diag(exp(p[[5]]), n)
    root <- chol(A)
    solved <- backsolve(root, backsolve(root, cbind(y, 1), transpose = TRUE))
    left <- y - sum(solved[, 1]) / sum(solved[, 2])
    -(n * log(2 * pi) + 2 * sum(log(diag(root))) + sum(left * (solved[, 1] - (y - left)[1] * solved[, 2]))) / 2
  }
  found <- coef(fit, "covariance")
  expect_named(found, c("variance", "scale", "ratio", "angle", "nugget"))
  at <- ifelse(names(found) == "angle", found, log(found))
  expect_equal(value(at), as.numeric(logLik(fit)), tolerance = 1e-9)
  top <- stats::optim(at, value, method = "BFGS", control = list(fnscale = -1, parscale = c(1, 1, 1, 10, 1)))
  expect_lt(top$value - value(at), 1e-4)
  expect_lt(abs(found[["angle"]] - 30), 15)
  expect_equal(attr(logLik(fit), "df"), 6)
  # the delta method, against the curvature in what is told: average and observed information agree for many rows
  se <- sqrt(diag(vcov(fit, "covariance")))
  observed <- sqrt(diag(solve(-stats::optimHess(at, value, control = list(ndeps = c(1, 1, 1, 10, 1) * 1e-3)))))
  expect_true(all(abs(log(se / observed)) < 0.4))
})

test_that("scale, ratio and angle are told alike by all that tells them", {
  ends <- confint(fit)
  V <- vcov(fit, "covariance")
  expect_equal(rownames(V), c("variance", "scale", "ratio", "angle", "nugget"))
  found <- coef(fit, "covariance")
  expect_equal(ends["angle", 2], found[["angle"]] + qnorm(0.975) * sqrt(V["angle", "angle"]))
  expect_equal(ends["scale", 2], found[["scale"]] * exp(qnorm(0.975) * sqrt(V["scale", "scale"])))
  expect_lte(ends["ratio", 2], 1)
  table <- generics::tidy(fit)
  expect_equal(table$std.error[table$term == "angle"], sqrt(V["angle", "angle"]))
  expect_equal(table$conf.low[1:5], unname(ends[1:5, 1]))
  expect_output(print(fit), "angle")
  expect_equal(coef(fit$kernel)[c("scale", "ratio", "angle")], found[c("scale", "ratio", "angle")])
  again <- update(fit, kernel = fit$kernel)
  expect_equal(as.numeric(logLik(again)), as.numeric(logLik(fit)), tolerance = 1e-6)
  shape <- confint(profile(fit, "turn.b"))
  theta <- gp_theta_of(fit$data)
  expect_true(shape[1] < theta[["turn.b"]] && theta[["turn.b"]] < shape[2])
})

test_that("a turn of all places turns the axis, and swapped inputs mirror it", {
  angle <- function(fit) coef(fit, "covariance")[["angle"]]
  apart <- function(a, b) abs((a - b + 90) %% 180 - 90)
  turn <- 50 * pi / 180
  moved <- x %*% rbind(c(cos(turn), sin(turn)), c(-sin(turn), cos(turn)))
  expect_lt(apart(angle(gp_fit(moved, y, kernel = open, method = "ML")), angle(fit) + 50), 0.1)
  expect_lt(apart(angle(gp_fit(x[, 2:1], y, kernel = open, method = "ML")), 90 - angle(fit)), 0.1)
})

test_that("anova() tests one scale on two degrees of freedom, and one for each input on one", {
  one <- update(fit, kernel = "matern32")
  each <- update(fit, kernel = kernel_spec("matern32", ard = TRUE))
  table <- anova(one, each, fit)
  expect_equal(table$df, c(4, 5, 6))
  expect_false(anyNA(table[["p-value"]][-1]))
  direct <- anova(one, fit)
  expect_equal(direct[["p-value"]][2], pchisq(direct$L.Ratio[2], 2, lower.tail = FALSE))
  expect_lt(direct[["p-value"]][2], 1e-4)
  known <- update(fit, kernel = kernel_spec("matern32", aniso = c(ratio = 0.3, angle = 30)))
  expect_gt(anova(known, fit)[["p-value"]][2], 0.01)
  expect_equal(anova(known, each)[["p-value"]][2], NA_real_)
})

test_that("predictions are gstat's, whose angle is clockwise from north", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sf")
  k <- kernel_spec("matern32", scale = 0.5, aniso = c(ratio = 0.3, angle = 30))
  data <- data.frame(x, y = y)
  given <- gp_fit(y ~ a + b, data, kernel = k, variance = 1.5, nugget = 0.1)
  new <- data.frame(a = c(0.2, 0.51, 0.93), b = c(0.6, 0.33, 0.1))
  model <- gstat::vgm(1.5, "Mat", 0.5 / sqrt(3), nugget = 0.1, kappa = 1.5, anis = c(60, 0.3))
  places <- function(d) sf::st_as_sf(d, coords = c("a", "b"))
  known <- gstat::krige(y ~ 1, places(data), places(cbind(new, y = 0)), model, debug.level = 0)
  found <- predict(given, new, se.fit = TRUE)
  expect_equal(unname(found$fit), known$var1.pred, tolerance = 1e-8)
  expect_equal(unname(found$se.fit)^2, known$var1.var - 0.1, tolerance = 1e-8)
  near <- predict(given, new, se.fit = TRUE, method = "local", neighbours = 15)
  local <- gstat::krige(y ~ 1, places(data), places(cbind(new, y = 0)), model, nmax = n, debug.level = 0)
  expect_equal(unname(predict(given, new, method = "local", neighbours = n)), local$var1.pred, tolerance = 1e-8)
  expect_true(all(near$se.fit >= found$se.fit - 1e-9))
})

test_that("products, exact and by series, find the axes of a factor", {
  found <- coef(fit, "covariance")
  for (series in list(NULL, 1e-6)) {
    control <- fit_control(dense_n = 0, approximate = series)
    lazy <- gp_fit(x, y, kernel = open, method = "ML", control = control)
    off <- (gp_theta_of(lazy$data) - gp_theta_of(fit$data)) / sqrt(diag(solve(fit$information)))
    expect_lt(max(abs(off)), 0.3)
  }
  given <- update(fit, kernel = fit$kernel, variance = fit$variance, nugget = fit$nugget)
  lazy <- update(given, control = fit_control(dense_n = 0, approximate = 1e-6))
  expect_equal(fitted(lazy), fitted(given), tolerance = 1e-5)
})

test_that("axes are of two of several inputs, of counts, and of both curves of a variogram", {
  data <- data.frame(x, t = runif(n), y = y)
  k <- kernel_spec("matern32", scale = 0.5, aniso = c(ratio = 0.3, angle = 30), of = c("a", "b"))
  both <- gp_fit(y ~ a + b + t, data, kernel = k * kernel_spec(of = "t", scale = 50), variance = 1, nugget = 0.1)
  alone <- gp_fit(y ~ a + b, data, kernel = update(k), variance = 1, nugget = 0.1)
  expect_equal(fitted(both), fitted(alone), tolerance = 1e-3)
  counts <- gp_fit(x, rpois(n, exp(2 + y)), kernel = open, family = "poisson")
  expect_lt(abs((coef(counts, "covariance")[["angle"]] - 30 + 90) %% 180 - 90), 25)
  curve <- attr(variogram(fit), "about")$fitted$curve
  expect_equal(levels(curve$group), c("long axis", "short axis"))
  same <- kernel_ridge(x, y, kernel = kernel_spec(scale = 0.4, aniso = c(ratio = 1, angle = 77)), lambda = 0.1,
                       standardize = FALSE)
  plain <- kernel_ridge(x, y, kernel = kernel_spec(scale = 0.4), lambda = 0.1, standardize = FALSE)
  expect_equal(fitted(same), fitted(plain))
})

test_that("mistakes are named", {
  refused <- function(class, ...) expect_error(..., class = paste0("kernweave_error_", class))
  refused("shape", gp_fit(cbind(x, 1:n), y, kernel = open))
  refused("shape", kernel_spec(scale = 1, aniso = c(ratio = 0.5, angle = 0))(1:5))
  refused("unsupported", kernel_spec("linear", aniso = TRUE))
  refused("unsupported", kernel_spec(aniso = TRUE, metric = "chordal"))
  refused("unsupported", gp_fit(x, y, kernel = open + kernel_spec("gaussian")))
  refused("input", kernel_spec(aniso = c(0.5, 30)))
  refused("input", kernel_spec(aniso = TRUE, ard = TRUE))
  refused("input", gp_fit(x, y, kernel = kernel_spec(scale = 1, aniso = TRUE)))
  refused("value", kernel_spec(aniso = c(ratio = 2, angle = 30)))
  refused("value", fit_control(start = c(scale = -1)))
  refused("no_data", kernel_ridge(x, y, kernel = kernel_spec(aniso = TRUE)))
  expect_silent(fit_control(start = c(turn.a = -0.5, turn.b = 0)))
})

test_that("a bound is told by names that users have", {
  places <- expand.grid(a = seq(0, 1, length.out = 8), b = seq(0, 1, length.out = 8))
  z <- 3 * places$a + sin(1:64) / 50
  told <- character()
  fit <- withCallingHandlers(gp_fit(places, z, kernel = open, control = fit_control(upper = c(scale = 0.2))),
                             kernweave_warning_boundary = function(w) {
                               told <<- c(told, conditionMessage(w))
                               invokeRestart("muffleWarning")
                             })
  expect_match(told, "the geometric mean of both scales is at its bound, 0.2: the bound of fit_control()", fixed = TRUE,
               all = FALSE)
  expect_false(any(grepl("scale.mean|turn[.]", told)))
  expect_output(print(fit), "bounds given: mean of both scales at most 0.2", fixed = TRUE)
  expect_error(gp_fit(places, z, kernel = open, control = fit_control(upper = c(ratio = 0.5))),
               "there are `variance`, `scale`, `nugget`", fixed = TRUE, class = "kernweave_error_input")
})
