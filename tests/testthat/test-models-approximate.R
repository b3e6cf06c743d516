# Models by approximate products, against dense matrices and the same models by exact ones.

mapped <- function(n, D, seed = 1) {
  set.seed(seed)
  x <- matrix(stats::runif(n * D), n)
  list(x = x, y = sin(6 * x[, 1]) + x[, D]^2 + stats::rnorm(n, sd = 0.2), new = matrix(stats::runif(200 * D), 200))
}
# Series even of few points, where pairs would be less work.
series_everywhere <- function(frame = parent.frame()) {
  held("prices_of_pairs", function(...) c(1e4, 160000), frame)
}
by_series <- function(approximate, ...) fit_control(dense_n = 0, approximate = approximate, ...)
rms <- function(x) sqrt(mean(x^2))

test_that("ridge regressions are off by what products are, over the ridge, and say so", {
  skip_below("quick")
  series_everywhere()
  cases <- combinations(D = 1:3, kernel = c("gaussian", "matern32"))
  for (case in seq_len(by_tier(1, nrow(cases), nrow(cases)))) {
    D <- cases$D[case]
    data <- mapped(500, D)
    kernel <- kernel_spec(cases$kernel[case], scale = 1.2)
    exact <- kernel_ridge(data$x, data$y, kernel, lambda = 0.1, control = fit_control(dense_n = 500))
    A <- as.matrix(kernel(exact$data$x, exact$data$x)) + diag(0.1, 500)
    at <- predict(exact, data$new)
    tolerances <- c(1e-8, 1e-5)
    for (tol in if (reaches("all")) tolerances else tolerances[1 + case %% 2]) {
      fit <- kernel_ridge(data$x, data$y, kernel, lambda = 0.1, control = by_series(tol, tol = 1e-8))
      label <- paste(D, format(kernel), tol)
      residual <- rms(A %*% fit$alpha - fit$data$y) / rms(fit$data$y)
      expect_lt(residual, 100 * tol, label = label)
      expect_lt(residual, 1.5 * fit$convergence$residual + 1e-12, label = label)
      # The least eigenvalue is the ridge or more, and smoothing makes nothing larger.
      expect_lt(rms(fit$alpha - exact$alpha), 1.01 * residual * rms(fit$data$y) / 0.1 + 1e-9, label = label)
      expect_lt(rms(fitted(fit) - fitted(exact)), 3 * (residual + fit$convergence$off) * stats::sd(data$y) + tol,
                label = label)
      expect_lt(rms(predict(fit, data$new) - at), 50 * tol, label = label)
      expect_equal(fit$edf, exact$edf, tolerance = max(4 * fit$edf_se / exact$edf, 1e-4), label = label)
    }
  }
})

test_that("a penalty by cross-validation, errors and effects are those of exact products", {
  skip_below("usual")
  series_everywhere()
  data <- mapped(600, 2)
  w <- rep(c(1, 2), length.out = 600)
  fits <- lapply(list(NULL, 1e-7), function(tol) {
    kernel_ridge(data$x, data$y, "matern32", weights = w, control = by_series(tol))
  })
  expect_equal(fits[[2]]$lambda, fits[[1]]$lambda, tolerance = 1e-2)
  expect_equal(fits[[2]]$criterion, fits[[1]]$criterion, tolerance = 1e-3)
  expect_equal(fitted(fits[[2]]), fitted(fits[[1]]), tolerance = 1e-3)
  fits <- lapply(list(NULL, 1e-7), function(tol) {
    kernel_ridge(data$x, data$y, "gaussian", lambda = 0.1, weights = w, control = by_series(tol))
  })
  errors <- lapply(fits, function(fit) predict(fit, data$new, se.fit = TRUE)$se.fit)
  expect_equal(errors[[2]], errors[[1]], tolerance = 1e-4)
  effects <- lapply(fits, marginal_effects)
  expect_equal(effects[[2]]$estimate, effects[[1]]$estimate, tolerance = 1e-5)
  expect_equal(effects[[2]]$std.error, effects[[1]]$std.error, tolerance = 1e-4)
})

test_that("iterations end where products are off by more, and a warning tells where that is much", {
  skip_below("quick")
  series_everywhere()
  data <- mapped(2100, 2)
  K <- kernel_matern(data$x, scale = 0.3, nu = 1.5)
  A <- approximate(K, 1e-5)
  x <- expect_silent(solve(A, data$y, ridge = 0.05, tol = 1e-12, report = TRUE))
  report <- solve_report(x)
  expect_lt(report$iterations, 40)
  expect_equal(report$residual, rms(K %*% x + 0.05 * x - data$y) / rms(data$y), tolerance = 0.3)
  expect_gt(report$residual, report$off)
  expect_output(print(report), "asked for 1e-12; approximated products are off by")
  again <- solve(A, data$y, ridge = 0.05, tol = 1e-3, start = x, report = TRUE)
  expect_identical(solve_report(again)$iterations, 0L)
  expect_equal(as.vector(again), as.vector(x))
  smooth <- kernel_gaussian(data$x, scale = 1)
  expect_warning(solve(approximate(smooth, 1e-4), data$y, ridge = 1e-2), "smaller tolerance",
                 class = "kernweave_warning_convergence")
})

test_that("a log-determinant has a gradient by approximate products, and a standard error", {
  skip_below("quick")
  series_everywhere()
  data <- mapped(600, 2)
  kernels <- list(function(s) kernel_matern(data$x, scale = s, nu = 2.5),
                  function(s) kernel_gaussian(data$x, scale = c(1, 2) * s))
  for (kernel in kernels) {
    g <- function(s, ridge) logdet(2 * approximate(kernel(s), 1e-6), ridge, seed = 1, method = "lanczos")
    dense <- function(s, ridge) sum(log(eigen(2 * as.matrix(kernel(s)), TRUE, TRUE)$values + ridge))
    found <- g(0.3, 0.1)
    expect_lt(abs(found - dense(0.3, 0.1)), 4 * attr(found, "se"))
    expect_lt(attr(found, "se"), 2)
    slope <- gradient(g)(0.3, 0.1)
    h <- 1e-4
    expect_equal(slope$s, (dense(0.3 + h, 0.1) - dense(0.3 - h, 0.1)) / (2 * h), tolerance = 1e-2)
    expect_equal(slope$ridge, (dense(0.3, 0.1 + h) - dense(0.3, 0.1 - h)) / (2 * h), tolerance = 1e-2)
    expect_error(hvp(function(s) g(s, 0.1))(0.3, v = list(s = 1)), class = "kernweave_error_no_gradient")
  }
  A <- approximate(kernels[[1]](0.3), 1e-2)
  expect_error(logdet(A, 1e-8, method = "lanczos"), class = "kernweave_error_indefinite")
  small <- approximate(kernel_matern(data$x[1:300, ], scale = 0.3, nu = 2.5), 1e-2)
  expect_equal(as.numeric(determinant(small + diagonal_op(rep(0.1, 300)))$modulus),
               as.numeric(determinant(as.matrix(kernel_matern(data$x[1:300, ], scale = 0.3, nu = 2.5)) +
                                        diag(0.1, 300))$modulus))
})

test_that("a path of ridges is known within its errors, which are large where products are off by the ridge", {
  skip_below("quick")
  series_everywhere()
  data <- mapped(600, 2)
  K <- kernel_matern(data$x, scale = 0.5, nu = 2.5)
  along <- 10^seq(-5, 2)
  path <- ridge_path(approximate(K, 1e-5), data$y, along, method = "lanczos", seed = 1)
  e <- eigen(as.matrix(K), TRUE)
  weights <- crossprod(e$vectors, data$y)^2
  one <- function(f) vapply(along, function(r) f(pmax(e$values, 0) + r), 0)
  expected <- list(logdet = one(function(v) sum(log(v))), trace = one(function(v) sum(1 / v)),
                   form = one(function(v) sum(weights / v)), square = one(function(v) sum(weights / v^2)))
  usable <- path$trace_se < 0.1 * path$trace
  expect_gt(sum(usable), 3)
  expect_false(usable[1])
  for (what in c("logdet", "trace")) {
    off <- abs(path[[what]] - expected[[what]]) / path[[paste0(what, "_se")]]
    expect_lt(max(off[usable]), 4, label = what)
  }
  for (what in c("form", "square")) {
    off <- abs(path[[what]] - expected[[what]]) - path[[paste0(what, "_error")]]
    expect_lt(max((off / expected[[what]])[usable]), 1e-6, label = what)
  }
})

test_that("Gaussian processes by series are those by pairs", {
  skip_below("quick")
  series_everywhere()
  held("few_rows", 200, environment())
  data <- mapped(600, 2)
  control <- function(tol) by_series(tol, start = c(variance = 1, scale = 0.5, nugget = 0.04), probes = 8)
  for (on in c(200, Inf)) {
    fits <- lapply(list(NULL, 1e-7), function(tol) {
      gp_fit(data$x, data$y, trend = ~ x1, kernel = kernel_spec("gaussian"), estimate_on = on, control = control(tol))
    })
    error <- sqrt(diag(vcov(fits[[1]], "covariance")))
    apart <- log(coef(fits[[2]], "covariance") / coef(fits[[1]], "covariance"))
    expect_lt(max(abs(apart / error)), if (is.finite(on)) 1e-12 else 0.05, label = paste("estimated on", on))
    at <- lapply(fits, predict, data$new)
    expect_equal(at[[2]], at[[1]], tolerance = if (is.finite(on)) 1e-4 else 1e-2)
    values <- lapply(fits, logLik)
    expect_lt(abs(values[[2]] - values[[1]]), 4 * (attr(values[[1]], "std.error") + attr(values[[2]], "std.error")))
    expect_output(print(fits[[2]]), "by series to 1e-07")
  }
})

test_that("scores by series are those by pairs, for kernels with several parameters", {
  skip_below("all")
  series_everywhere()
  data <- mapped(400, 2)
  state_of <- function(kernel, tol) {
    control <- by_series(tol, probes = 8, max_iter = 1, rank = 100)
    model <- suppressWarnings(gp_fit(data$x, data$y, trend = ~ x1, kernel = kernel, control = control))$data
    if (is.null(tol)) theta <<- gp_theta_of(model)
    model$control$max_iter <- 500  # systems have as many
    gp_state_at(model, theta)
  }
  theta <- NULL
  for (kernel in list(kernel_spec("gaussian", ard = TRUE), kernel_spec("gaussian") + kernel_spec("matern52"),
                      kernel_spec("rational_quadratic", estimate = c("scale", "alpha")))) {
    exact <- state_of(kernel, NULL)
    found <- state_of(kernel, 1e-8)
    expect_equal(found$value, exact$value, tolerance = 1e-5, label = format(kernel))
    expect_equal(found$score, exact$score, tolerance = 1e-4, label = format(kernel))
    expect_equal(found$information, exact$information, tolerance = 1e-4, label = format(kernel))
  }
})

test_that("up to so many rows nothing is approximated, and what cannot be is refused by name", {
  skip_below("quick")
  data <- mapped(400, 2)
  plain <- kernel_ridge(data$x, data$y)
  series <- kernel_ridge(data$x, data$y, control = fit_control(approximate = 1e-2))
  expect_identical(fitted(series), fitted(plain))
  expect_identical(predict(series, data$new), predict(plain, data$new))
  four <- mapped(100, 4)
  for (fit in list(function(...) kernel_ridge(..., lambda = 1), gp_fit)) {
    expect_error(fit(four$x, four$y, control = by_series(1e-6)), "`approximate` of fit_control\\(\\)",
                 class = "kernweave_error_dimension")
    expect_error(fit(data$x, data$y, kernel = kernel_spec("linear", scale = 1), control = by_series(1e-6)),
                 "`approximate` of fit_control\\(\\): the kernel is not a formula of one distance",
                 class = "kernweave_error_not_a_distance")
  }
  expect_error(rbf_interpolate(data$x, data$y, control = by_series(1e-6)), "kernel_ridge\\(\\) and gp_fit\\(\\)",
               class = "kernweave_error_unsupported")
  expect_error(fit_control(approximate = 1), "`approximate`", class = "kernweave_error_tolerance")
})

test_that("the tolerance follows the penalty: grids end where it does, what is given is the most, and fits say it", {
  skip_below("usual")
  series_everywhere()
  data <- mapped(1100, 2, seed = 5)
  exact <- kernel_ridge(data$x, data$y, control = fit_control(dense_n = 0))
  for (tol in if (reaches("all")) list(1e-4, 1e-5, TRUE) else list(1e-5, TRUE)) {
    fit <- suppressMessages(kernel_ridge(data$x, data$y, control = by_series(tol)))
    least <- 0.4 * 1100 * if (isTRUE(tol)) 1e-6 else tol
    expect_equal(fit$gcv$lambda[1], least)
    expect_match(attr(fit$gcv, "note"), "resolve no lambda below")
    expect_lte(fit$convergence$tolerance, min(fit$lambda / 1100, if (is.numeric(tol)) tol, 1e-4) * (1 + 1e-9))
    expect_output(print(fit), paste("by series to", format(fit$convergence$tolerance, digits = 2)), fixed = TRUE)
    if (exact$lambda > least) expect_lt(abs(log(fit$lambda / exact$lambda)), 0.3)
    expect_lt(rms(fitted(fit) - fitted(exact)), 0.05)
  }
  small <- function(tol) kernel_ridge(data$x, data$y, lambda = 1e-3, control = by_series(tol))
  expect_message(fit <- small(1e-4), "9.1e-07, not 1e-04, too much for 1,100 rows")
  expect_silent(free <- small(TRUE))
  expect_equal(c(fit$convergence$tolerance, free$convergence$tolerance), rep(1e-3 / 1100, 2))
  expect_error(kernel_ridge(data$x, data$y, lambda = 1e-10, control = by_series(TRUE)),
               "1,100 rows and a ridge or nugget of 1e-10 .*9.1e-14.*approximate = NULL",
               class = "kernweave_error_tolerance")
})

test_that("where approximated products are not definite the tolerance becomes a fourth, and in the end an error", {
  series_everywhere()
  K <- kernel_gaussian(mapped(1100, 2)$x, scale = 0.3)
  indefinite <- structure(class = c("kernweave_error_indefinite", "kernweave_error", "error", "condition"),
                          list(message = "a direction has d'Ad <= 0", call = NULL))
  products <- kernweave:::system_products(K, by_series(1e-4))
  until <- function(most) kernweave:::on_definite(products, 1e-3, function(A) {
    if (products$control$approximate > most) stop(indefinite)
    products$control$approximate
  })
  expect_equal(until(3e-5), 2.5e-5)
  expect_error(until(0), "1,100 rows .*0.001 times .*d'Ad <= 0", class = "kernweave_error_tolerance")
})

test_that("the tolerance of a Gaussian process follows its nugget as far as it goes, and a smaller nugget is fitted", {
  skip_below("all")
  series_everywhere()
  data <- mapped(600, 2, seed = 9)
  fit <- function(tol, nugget = 0.04) {
    gp_fit(data$x, data$y, kernel = kernel_spec("matern32", scale = 0.5), variance = 2, nugget = nugget,
           control = by_series(tol))
  }
  exact <- fit(NULL)
  expect_message(given <- fit(1e-2), "approximated to 3.3e-05, not 0.01, too much for 600 rows")
  for (found in list(given, expect_silent(fit(TRUE)))) {
    expect_equal(found$convergence$tolerance, 0.04 / 600 / 2)
    expect_lt(rms(predict(found, data$new) - predict(exact, data$new)), 5e-3)
    expect_output(print(found), "by series to 3.3e-05")
    expect_lt(abs(logLik(found) - logLik(exact)), 4 * (attr(logLik(found), "std.error") + 1))
  }
  for (nugget in c(0, 1e-10)) {
    found <- fit(TRUE, nugget)
    expect_equal(found$convergence$tolerance, 1e-12)
    expect_equal(predict(found, data$new), predict(fit(NULL, nugget), data$new), tolerance = 1e-5)
  }
  smooth <- function(tol) {
    gp_fit(data$x, sin(2 * data$x[, 1]), kernel = kernel_spec("matern12", scale = 2), variance = 1,
           control = by_series(tol, start = c(nugget = 1e-3)))
  }
  expect_message(low <- smooth(TRUE), "`nugget` is at its bound.* with ten times as much")
  expect_lt(low$nugget, 6e-9)
})

test_that("estimates of many rows by series are those by all pairs", {
  skip_below("all")
  set.seed(3)
  x <- matrix(stats::runif(40000), 20000)
  wave <- function(k) cos(x %*% (stats::rnorm(2) / sqrt(stats::rgamma(1, 1.5, 1.5)) / 0.1) + 2 * pi * stats::runif(1))
  y <- 2 * x[, 1] + rowSums(vapply(1:200, wave, numeric(20000))) / 10 + stats::rnorm(20000) / 3
  fits <- lapply(list(NULL, TRUE), function(tol) {
    gp_fit(x, y, trend = ~ x1, kernel = "matern32", control = fit_control(approximate = tol))
  })
  se <- sqrt(diag(vcov(fits[[1]], "covariance")))
  expect_lt(max(abs(log(coef(fits[[2]], "covariance") / coef(fits[[1]], "covariance"))) / se), 0.1)
  expect_equal(sqrt(diag(vcov(fits[[2]], "covariance"))), se, tolerance = 0.02)
  expect_lt(max(abs(coef(fits[[2]]) - coef(fits[[1]])) / sqrt(diag(vcov(fits[[1]])))), 0.1)
  error <- sqrt(attr(logLik(fits[[1]]), "std.error")^2 + attr(logLik(fits[[2]]), "std.error")^2)
  expect_lt(abs(logLik(fits[[2]]) - logLik(fits[[1]])), 4 * error)
})

test_that("likelihoods by approximated products are as near as their errors say, far from the data's parameters too", {
  skip_below("quick")
  series_everywhere()
  data <- mapped(800, 2)
  k <- kernel_spec("matern52", scale = 0.3)
  at <- function(...) {
    gp_fit(data$x, data$y + stats::rnorm(800) / 2, kernel = k, variance = 1, nugget = 1e-3, control = fit_control(...))
  }
  set.seed(2)
  dense <- as.numeric(logLik(at(dense_n = 1000)))
  for (rows in c(2048, 400)) {
    held("rows_of_form", eval(bquote(function(n) .(rows))), environment())
    set.seed(2)
    found <- logLik(at(dense_n = 0, approximate = TRUE))
    expect_lt(abs(as.numeric(found) - dense), 4 * attr(found, "std.error"))
    expect_lt(attr(found, "std.error"), 1e-4 * abs(dense))
  }
})
