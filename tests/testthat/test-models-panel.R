# Panels: fits by eigenvectors of places and times against fits by a factor of the whole matrix.

panel_data <- function(S = 8, T = 6, seed = 4) {
  with_local_seed(seed, {
    places <- data.frame(x = runif(S), y = runif(S), height = rnorm(S))
    d <- data.frame(places[rep(seq_len(S), T), ], t = rep(cumsum(rexp(T)), each = S))
    d$z <- 1 + d$x + sin(5 * d$x + d$t) + rnorm(S * T, sd = 0.3)
    d[sample(S * T), ]
  })
}

of_places <- kernel_spec("matern32", scale = 0.4, of = c("x", "y"))
of_times <- kernel_spec("matern12", scale = 2, of = "t")

# A fit by a factor, and the one by a panel, in a list.
both_ways <- function(kernel, d, formula = z ~ x + y + t, ..., variance = 2, nugget = 0.2) {
  lapply(c(1000, 0), function(dense_n) {
    gp_fit(formula, d, kernel = kernel, variance = variance, nugget = nugget, ...,
           control = fit_control(dense_n = dense_n))
  })
}

is_panel <- function(fit) !is.null(fit$data$panel)

expect_same_fit <- function(fits, new, tol = 1e-8) {
  expect_identical(vapply(fits, is_panel, NA), c(FALSE, TRUE))
  values <- lapply(fits, function(fit) {
    c(logLik(fit), coef(fit), vcov(fit), fitted(fit), unlist(predict(fit, new, se.fit = TRUE)[c("fit", "se.fit")]))
  })
  expect_equal(values[[2]], values[[1]], tolerance = tol)
}

states_of <- function(fits, move = 0.1) {
  lapply(fits, function(fit) gp_state(fit$data, gp_theta(fit$data$values, fit$data$layout) + move))
}

test_that("a panel's estimates, likelihood, score and information are those of the factor", {
  free <- kernel_spec("matern32", of = c("x", "y")) * kernel_spec("matern12", of = "t")
  for (method in c("REML", "ML")) {
    fits <- both_ways(free, panel_data(), trend = ~ x, method = method, variance = NULL, nugget = NULL)
    expect_same_fit(fits, panel_data(5, 2, 1), 1e-6)
    expect_equal(coef(fits[[2]], "covariance"), coef(fits[[1]], "covariance"), tolerance = 1e-6)
    states <- states_of(fits)
    expect_equal(states[[2]]$value, states[[1]]$value, tolerance = 1e-9)
    expect_equal(states[[2]]$score, states[[1]]$score, tolerance = 1e-8)
    expect_equal(states[[2]]$information, states[[1]]$information, tolerance = 1e-8)
    model <- fits[[2]]$data
    theta <- states[[2]]$theta
    moved <- vapply(seq_along(theta), function(k) {
      diff(vapply(c(-1, 1), function(by) gp_state(model, replace(theta, k, theta[k] + by * 1e-4))$value, 0)) / 2e-4
    }, 0)
    expect_equal(unname(states[[2]]$score), moved, tolerance = 1e-6)
  }
})

test_that("predictions and errors are those of the factor for products of any form", {
  d <- panel_data()
  new <- panel_data(20, 3, 2)
  season <- kernel_spec("periodic", scale = 1, period = 1.5, of = "t")
  by_height <- kernel_spec("linear", scale = 1, of = "height")
  free <- function(k) kernel_spec(k, of = "t")
  expect_same_fit(both_ways(of_places * of_times, d, trend = ~ 0), new)
  expect_same_fit(both_ways(of_times * of_places, d, trend = ~ x + y + t), new)
  expect_same_fit(both_ways(of_places * season * of_times, d), new)
  expect_same_fit(both_ways(season * (of_places * of_times), d), new)
  expect_same_fit(both_ways((of_places + by_height) * of_times, d, z ~ x + y + t + height), new)
  expect_same_fit(both_ways(kernel_spec("matern32", scale = 0.4, of = c("x", "y"), times = "height") * of_times, d,
                            z ~ x + y + t + height), new)
  expect_same_fit(both_ways(2 * of_places * of_times, d, variance = 1), new)
  open <- both_ways(of_places * kernel_spec("periodic", period = 1.5, of = "t") * free("matern32"), d)
  states <- states_of(open)
  expect_equal(states[[2]][c("value", "score", "information")], states[[1]][c("value", "score", "information")],
               tolerance = 1e-8)
})

test_that("one time, one place, dates, degrees and equal weights are a panel", {
  new <- panel_data(5, 2, 1)
  expect_same_fit(both_ways(of_times * of_places, panel_data(12, 1)), new)
  expect_same_fit(both_ways(of_times * of_places, panel_data(1, 12), trend = ~ t), new)
  dated <- function(d) transform(d, t = as.Date("2026-01-01") + round(10 * t))
  by_day <- kernel_spec("matern12", scale = 20, of = "t")
  expect_same_fit(both_ways(of_places * by_day, dated(panel_data())), dated(new))
  chords <- kernel_spec("matern32", scale = 50, metric = "chordal", of = c("x", "y"))
  expect_same_fit(both_ways(chords * of_times, panel_data()), new)
  d <- panel_data()
  expect_same_fit(both_ways(of_places * of_times, d, weights = rep(2, nrow(d))), new)
  more <- rbind(d, transform(d[3, ], x = x + 0.1))
  expect_same_fit(both_ways(of_places * of_times, more, weights = rep(1:0, c(48, 1))), new)
  grid <- with_local_seed(1, transform(expand.grid(x = 1:4 / 4, y = c(0.1, 0.5, 0.6), t = 1:3), z = rnorm(36)))
  one_each <- kernel_spec("matern32", scale = 1, of = "x") * kernel_spec("matern12", scale = 1, of = "y") * of_times
  expect_same_fit(both_ways(one_each, grid), new)
})

test_that("what is no panel is fitted as before", {
  d <- panel_data(6, 4)
  panel <- function(kernel, d, ...) is_panel(suppressWarnings(both_ways(kernel, d, ...))[[2]])
  expect_true(panel(of_places * of_times, d))
  expect_false(panel(of_places * of_times, d[-5, ]))
  expect_false(panel(of_places * of_times, rbind(d, d[1, ])))
  expect_false(panel(of_places * of_times, rbind(d[-5, ], d[1, ])))
  expect_false(panel(of_places + of_times, d))
  expect_false(panel(of_places * kernel_spec("matern12", scale = 1, of = c("x", "t")), d))
  expect_false(panel(kernel_spec("gneiting", scale = 1, time = list(scale = 1, alpha = 0.5, beta = 0.5)), d))
  expect_false(panel(of_places * of_times, d, weights = seq_len(nrow(d))))
  expect_false(panel(of_places * of_times, transform(d, g = rep(1:4, 6)), trend = ~ (1 | g)))
  expect_false(panel(of_places * of_times, transform(d, z = round(exp(z))), family = poisson(), nugget = NULL))
  expect_false(is_panel(gp_fit(z ~ x + y + t, d, kernel = of_places * of_times, variance = 1, nugget = 1)))
  missing <- both_ways(of_places * of_times, d[-5, ])
  expect_equal(predict(missing[[2]], d[5, ]), predict(missing[[1]], d[5, ]), tolerance = 1e-4)
})

test_that("leaving out, influence and folds are those of the factor", {
  fits <- both_ways(of_places * of_times, panel_data(), trend = ~ x)
  same <- function(f) expect_equal(f(fits[[2]]), f(fits[[1]]), tolerance = 1e-8, ignore_attr = TRUE)
  same(function(fit) residuals(fit, "loo"))
  same(hatvalues)
  same(cooks.distance)
  same(function(fit) cross_validate(fit, rep_len(1:5, 48)))
  same(function(fit) cross_validate(fit, panel_data()$t))
})

test_that("draws have the means and standard errors of predictions, at many rows, too", {
  fit <- both_ways(of_places * of_times, panel_data(), trend = ~ x)[[2]]
  new <- panel_data(3, 2, 1)
  draws <- as.matrix(simulate(fit, 4000, seed = 1, newdata = new))
  told <- predict(fit, new, se.fit = TRUE)
  expect_lt(max(abs(rowMeans(draws) - told$fit) / told$se.fit), 4 / sqrt(4000))
  expect_lt(max(abs(apply(draws, 1, sd) / told$se.fit - 1)), 4 / sqrt(8000))
  at <- unname(as.matrix(new[c("x", "y", "t")]))
  before <- as.matrix(simulate(fit, 4000, seed = 2, newdata = new, conditional = FALSE, noise = FALSE))
  expect_lt(max(abs(cov(t(before)) - as.matrix(gp_cross(fit, at, at)))), 0.3)
  many <- gp_fit(z ~ x + y + t, panel_data(100, 20), kernel = of_places * of_times, variance = 2, nugget = 0.2)
  expect_true(is_panel(many))
  expect_identical(dim(simulate(many, 2, seed = 1)), c(2000L, 2L))
  expect_output(print(many), "a panel of 100 x 20", fixed = TRUE)
})

test_that("a matrix that is not definite is told", {
  smooth <- kernel_spec("gaussian", scale = 100, of = c("x", "y"))
  expect_error(both_ways(smooth * of_times, panel_data(), nugget = 0), class = "kernweave_error_singular")
})
