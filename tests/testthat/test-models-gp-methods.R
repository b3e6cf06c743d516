# Methods of Gaussian processes, and mistakes that users make.

skip_if_not_installed("MASS")
curve <- gp_fit(accel ~ times, MASS::mcycle, method = "ML")
few <- quakes[1:150, ]
map <- gp_fit(depth ~ long + lat, few, trend = ~ long, kernel = "matern32")
at <- data.frame(times = c(10, 30, 50))

test_that("intervals are those of the logarithms, and what is given has none", {
  skip_below("quick")
  se <- sqrt(diag(vcov(curve, "covariance")))
  ends <- confint(curve, level = 0.9)
  expect_equal(ends[1:3, 2], coef(curve, "covariance") * exp(stats::qnorm(0.95) * se))
  expect_equal(unname(ends["(Intercept)", ]), unname(coef(curve) + stats::qnorm(c(0.05, 0.95)) * sqrt(vcov(curve)[1])))
  expect_identical(colnames(ends), c("5 %", "95 %"))
  expect_identical(confint(curve, "scale"), confint(curve)["scale", , drop = FALSE])
  expect_error(confint(curve, "scal"), "did you mean `scale`", class = "kernweave_error_input")
  given <- update(curve, nugget = 500)
  expect_identical(rownames(confint(given)), c("variance", "scale", "(Intercept)"))
  expect_identical(attr(logLik(given), "df"), 3L)
  expect_equal(given$nugget, 500)
})

test_that("print, summary, data frames and criteria tell the same", {
  expect_output(print(curve), "Gaussian process, Matern 5/2, ML, 133 points, dense\n  accel ~ times, trend ~ 1\n")
  scale <- format(coef(curve, "covariance")[["scale"]], digits = 4)
  expect_output(print(curve), paste0("scale       ", scale, "  3.07   13.2"), fixed = TRUE)
  expect_output(print(curve), "logLik -622.5 on 4 df", fixed = TRUE)
  expect_output(print(summary(map)), "Covariance:.*Trend:.*z value.*Residuals:.*AIC")
  expect_equal(stats::AIC(curve), 2 * 622.4861528 + 8)
  expect_equal(stats::BIC(curve), 2 * 622.4861528 + 4 * log(133))
  skip_if_not_installed("generics")
  rows <- generics::tidy(map)
  expect_identical(rows$term, c("variance", "scale", "nugget", "(Intercept)", "long"))
  expect_equal(rows$estimate, unname(c(coef(map, "covariance"), coef(map))))
  expect_equal(rows$conf.high, unname(confint(map)[, 2]))
  fixed <- generics::tidy(update(map, nugget = 4000))
  expect_identical(is.na(fixed$conf.low), fixed$term == "nugget")
  expect_identical(generics::tidy(map, effects = c("fixed", "ran_pars")), rows[c(4:5, 1:3), ], ignore_attr = TRUE)
  expect_equal(rows$statistic, c(NA, NA, NA, unname(summary(map)$coefficients[, "z value"])))
  none <- generics::tidy(update(map, trend = ~ 0, method = "ML"), effects = "fixed")
  expect_identical(dim(none), c(0L, 8L))
  expect_error(generics::tidy(map, effects = "fixd"), "did you mean `fixed`", class = "kernweave_error_input")
  expect_equal(generics::glance(map)$BIC, stats::BIC(map))
  expect_named(generics::augment(map, newdata = few[1:3, ], interval = "confidence"),
               c(names(few), ".fitted", ".se.fit", ".lower", ".upper"))
})

test_that("draws after the data have the mean and the covariance of predictions, before them those of the process", {
  skip_below("quick")
  found <- predict(curve, at, se.fit = TRUE)
  draws <- as.matrix(simulate(curve, 2000, seed = 1, newdata = at))
  expect_lt(max(abs(rowMeans(draws) - found$fit) / found$se.fit * sqrt(2000)), 4)
  expect_lt(max(abs(apply(draws, 1, stats::sd) / found$se.fit - 1)), 0.08)
  noisy <- as.matrix(simulate(curve, 2000, seed = 1, newdata = at, noise = TRUE))
  expect_lt(max(abs(apply(noisy, 1, stats::var) / (found$se.fit^2 + curve$nugget) - 1)), 0.15)
  prior <- as.matrix(simulate(curve, 2000, seed = 1, newdata = at, conditional = FALSE))
  K <- curve$variance * as.matrix(kernel_spec("matern52", coef(curve, "covariance")[["scale"]])(at$times))
  expect_lt(max(abs(stats::cov(t(prior)) - K - diag(curve$nugget, 3))) / (curve$variance + curve$nugget), 0.15)
  expect_lt(max(abs(rowMeans(prior) - coef(curve))) / sqrt(curve$variance + curve$nugget), 0.1)
  stats::runif(1)
  before <- .Random.seed
  again <- simulate(curve, 2, seed = 3, newdata = at)
  expect_identical(.Random.seed, before)
  expect_identical(simulate(curve, 2, seed = 3, newdata = at), again)
  gp_fit(accel ~ times, MASS::mcycle, estimate_on = 60)
  expect_identical(.Random.seed, before)
  expect_identical(dim(simulate(curve)), c(133L, 1L))
  expect_error(simulate(curve, n = 3), "`nsim`", class = "kernweave_error_input")
  expect_error(simulate(curve, draws = 3), "no argument `draws`", class = "kernweave_error_input")
  through <- gp_fit(c(1, 2, 4), c(3, 1, 2), nugget = 0, variance = 1, kernel = kernel_spec(scale = 1))
  expect_equal(simulate(through, newdata = c(1, 2, 4))$sim_1, c(3, 1, 2), tolerance = 1e-6)
})

test_that("without a nugget the process goes through the data, and is sure of them", {
  fit <- gp_fit(dist ~ speed, cars[!duplicated(cars$speed), ], kernel = "matern32", nugget = 0)
  expect_lt(max(abs(residuals(fit))), 1e-10)
  expect_lt(max(predict(fit, se.fit = TRUE)$se.fit), 1e-5)
  expect_output(print(fit), "nugget .*0 .*given")
  expect_error(residuals(fit, "pearson"), class = "kernweave_error_unsupported")
})

test_that("few of the rows tell the covariance, and all the process", {
  skip_below("quick")
  set.seed(4)
  x <- matrix(stats::runif(800), 400)
  y <- sin(5 * x[, 1]) + x[, 2] + stats::rnorm(400) / 5
  part <- gp_fit(x, y, estimate_on = 150)
  expect_output(print(part), "covariance estimated on 150 of the points")
  given <- gp_fit(x, y, kernel = part$kernel, variance = part$variance, nugget = part$nugget)
  expect_equal(fitted(part), fitted(given), tolerance = 1e-10)
  expect_equal(as.numeric(logLik(part)), as.numeric(logLik(given)), tolerance = 1e-10)
  whole <- gp_fit(x, y)
  expect_lt(abs(log(part$nugget / whole$nugget)), 4 * sqrt(diag(vcov(part, "covariance"))[["nugget"]]))
  # by products, too
  other <- update(part, control = fit_control(dense_n = 300))
  expect_equal(fitted(other), fitted(part), tolerance = 1e-4)
  expect_null(other$log_likelihood)
  expect_lt(abs(as.numeric(logLik(other)) - as.numeric(logLik(part))), 5 * attr(logLik(other), "std.error") + 0.01)
})

test_that("copies of rows have the likelihood that the copies' mean and spread give", {
  x <- MASS::mcycle$times[1:40]
  y <- MASS::mcycle$accel[1:40]
  r <- 4
  k <- kernel_spec("matern52", scale = 5)
  many <- gp_fit(rep(x, r), rep(y, r) + rep(c(-1, 1), each = 40), trend = ~ 0, kernel = k, variance = 900, nugget = 50)
  A <- r * 900 * as.matrix(k(x)) + diag(50, 40)
  form <- r * sum(y * solve(A, y)) + r * 40 / 50
  log_det <- 40 * (r - 1) * log(50) + as.numeric(determinant(A)$modulus)
  expect_equal(as.numeric(logLik(many)), -(form + log_det + r * 40 * log(2 * pi)) / 2, tolerance = 1e-10)
})

test_that("mistakes are errors that say what to do", {
  twins <- data.frame(a = c(1, 2, 3, 2, 5, 6), y = c(1, 3, 2, 4, 5, 9))
  expect_error(gp_fit(y ~ a, twins, nugget = 0), "rows 2 and 4 coincide", class = "kernweave_error_data")
  smooth <- data.frame(a = seq(0, 4, length.out = 30)[c(1:30, 7, 12)])
  smooth$y <- sin(smooth$a)
  told <- function(d) paste(capture_messages(suppressWarnings(gp_fit(y ~ a, d, kernel = "matern12"))), collapse = "")
  expect_match(gsub("\\s+", " ", told(smooth)), "but rows 7 and 31 coincide: remove one of each pair", fixed = TRUE)
  expect_match(gsub("\\s+", " ", told(smooth[1:30, ])), "nugget = 0 would interpolate them $")
  expect_error(gp_fit(y ~ a, twins, nugget = 0, weights = c(0, 1, 1, 1, 1, 1)), "rows 2 and 4")
  expect_error(gp_fit(y ~ a, twins[1:2, ], trend = ~ a), "needs more rows", class = "kernweave_error_data")
  expect_error(gp_fit(y ~ a, transform(twins, y = 3)), "constant", class = "kernweave_error_data")
  expect_error(gp_fit(y ~ a, twins, trend = ~ a + I(2 * a)), "I\\(2 \\* a\\)", class = "kernweave_error_singular")
  expect_error(gp_fit(y ~ a, twins, trend = y ~ a), "one side", class = "kernweave_error_input")
  expect_error(gp_fit(y ~ a, twins, trend = ~ A), "did you mean `a`", class = "kernweave_error_input")
  expect_error(gp_fit(y ~ a, twins, kernel = "energy"), class = "kernweave_error_unsupported")
  expect_error(gp_fit(cbind(y, a) ~ a, twins, family = "student"), class = "kernweave_error_unsupported")
  expect_error(gp_fit(y ~ a, twins, nugget = -1), "`nugget` must be 0 or more", class = "kernweave_error_value")
  expect_error(gp_fit(y ~ a, twins, kernel = kernel_spec(variance = 2), variance = 3), "twice")
  expect_error(gp_fit(y ~ a, twins, control = fit_control(lower = c(scal = 1))), "did you mean `scale`")
  smooth <- kernel_spec("gaussian", scale = 2)
  expect_error(gp_fit(1:40 / 10, cos(1:40), kernel = smooth, nugget = 0), class = "kernweave_error_singular")
  expect_error(gp_fit(y ~ a, twins, method = "reml"), "did you mean", class = "kernweave_error_input")
  expect_error(predict(map, few[1:2, "lat", drop = FALSE]), "no variable `long`", class = "kernweave_error_input")
  expect_error(predict(map, transform(few, long = "a")), "was numbers", class = "kernweave_error_input")
  expect_error(predict(curve, at, level = 95), class = "kernweave_error_value")
  wide <- matrix(stats::rnorm(22 * 60), 60)
  expect_error(gp_fit(wide, wide[, 1], kernel = kernel_spec(ard = TRUE)), "22 scales", class = "kernweave_error_data")
  expect_message(gp_fit(cbind(1:20, 1000 * (1:20) %% 7), sin(1:20), kernel = "matern32", variance = 1, nugget = 1),
                 "consider kernel_spec")
})

test_that("parameters that run off stop at a bound, with a warning that tells what it means", {
  skip_below("quick")
  set.seed(2)
  i <- sample(length(volcano), 150)
  places <- 10 * arrayInd(i, dim(volcano))
  expect_warning(fit <- gp_fit(places, volcano[i], nugget = 5, trend = ~ x1 + x2, kernel = "matern12"), "scale",
                 class = "kernweave_warning_boundary")
  expect_identical(fit$at_bound, "scale")
  expect_true(is.na(vcov(fit, "covariance")["scale", "scale"]))
  expect_output(print(fit), "at its bound")
  expect_message(smooth <- gp_fit(1:30, sin(1:30 / 4)), "show no noise: `nugget` is at its bound.*with ten times as")
  expect_identical(smooth$at_bound, "nugget")
  noise <- with_local_seed(7, stats::rnorm(64))
  expect_warning(short <- gp_fit(as.matrix(expand.grid(1:8, 1:8)), noise, kernel = "matern32"),
                 "nugget.*the scale is shorter", class = "kernweave_warning_boundary")
  expect_lt(coef(short, "covariance")[["scale"]], 1)
  expect_warning(none <- gp_fit(1:60, rep(1:0, 30)), "variance.*only noise", class = "kernweave_warning_boundary")
  expect_equal(none$nugget, stats::var(rep(1:0, 30)), tolerance = 1e-3)
  expect_false(is.na(vcov(none, "covariance")["nugget", "nugget"]))
  expect_warning(held <- suppressMessages(
    gp_fit(places, volcano[i], kernel = "matern32", variance = 2000, nugget = 1, control = fit_control(upper = 80))
  ), "bound of fit_control", class = "kernweave_warning_boundary")
  expect_lte(coef(held, "covariance")[["scale"]], 80 + 1e-9)
})

test_that("rows that are missing or few, files, subsets, other kernels and own ones do", {
  skip_below("quick")
  holes <- gp_fit(Ozone ~ Temp + Wind, airquality, kernel = "matern32", na.action = stats::na.exclude,
                  subset = Month > 5)
  expect_equal(length(fitted(holes)), sum(airquality$Month > 5))
  expect_identical(is.na(residuals(holes, "loo")), is.na(residuals(holes)))
  expect_equal(predict(holes, data.frame(Temp = c(80, NA), Wind = 9)) |> unname() |> is.na(), c(FALSE, TRUE))
  file <- tempfile()
  saveRDS(map, file)
  expect_equal(predict(readRDS(file), few[1:3, ], se.fit = TRUE), predict(map, few[1:3, ], se.fit = TRUE))
  own <- function(x, y, scale = 1, period = 1) kernel_periodic(x, y, scale, period) * kernel_matern(x, y, 90)
  season <- gp_fit(1:60, as.vector(co2)[1:60], trend = ~ x, kernel = kernel_spec(own, period = 12, scale = NULL))
  expect_identical(names(coef(season, "covariance")), c("variance", "scale", "period", "nugget"))
  expect_lt(stats::sd(residuals(season)), 0.5)
  both <- kernel_spec("gaussian", variance = NULL) + kernel_spec("matern12", variance = NULL)
  sum <- suppressWarnings(gp_fit(accel ~ times, MASS::mcycle, kernel = both, method = "ML"))
  expect_equal(sum$variance, 1)
  expect_gt(as.numeric(logLik(sum)), as.numeric(logLik(update(curve, kernel = "gaussian"))) - 1e-2)
  for (fit in list(curve, map, holes)) {
    grDevices::pdf(NULL)
    plot(fit, n = 10)
    plot(fit, "se", n = 10)
    grDevices::dev.off()
  }
  drawn <- layer(map, "surface", "se", n = 3)
  corner <- predict(map, stats::setNames(drawn[1, 1:2], c("long", "lat")), se.fit = TRUE)
  expect_equal(drawn$z[1], unname(corner$se.fit))
  beside <- gp_fit(depth ~ long + lat, few, trend = ~ mag, kernel = kernel_spec(scale = 2))
  expect_named(pictured(beside)$layers, c("points", "line"))
  level <- gp_fit(depth ~ long + lat, few, trend = ~ poly(long, 2) + (mag > 4.5), kernel = kernel_spec(scale = 2))
  expect_equal(predict(level, few[7:9, ]), fitted(level)[7:9], ignore_attr = TRUE)
  expect_equal(formula(update(map, . ~ . - lat, trend = ~ 1)), depth ~ long, ignore_formula_env = TRUE)
  expect_equal(sigma(map)^2, map$nugget)
  bad <- update(curve, control = fit_control(start = c(scale = 30, nugget = 10)))
  expect_equal(as.numeric(logLik(bad)), as.numeric(logLik(curve)), tolerance = 1e-7)
})

test_that("a column that only rows without weight tell apart does no harm", {
  skip_below("quick")
  two <- cbind(few$long, rep(0:1, c(140, 10)))[101:150, ]
  for (ard in c(FALSE, TRUE)) {
    fit <- suppressWarnings(suppressMessages(
      gp_fit(two, few$depth[101:150], weights = rep(1:0, c(40, 10)), kernel = kernel_spec("matern32", ard = ard))
    ))
    expect_true(all(is.finite(fitted(fit))))
  }
})

test_that("draws are to a thousandth, or a hundredth of the noise, and those that are off name what there is", {
  tol <- function(noise) kernweave:::tol_of_draws(noise, 1, 1e-6)
  expect_identical(tol(numeric()), 1e-3)
  expect_identical(tol(c(0.01, 0.02)), 1e-3)
  expect_equal(tol(1e-6), 1e-5)
  expect_identical(tol(0), 1e-6)
  off <- function(by) kernweave:::with_gp_arguments(kernweave:::warn("convergence", "root", more = list(off = by)))
  expect_silent(off(1e-4))
  expect_warning(off(0.01), "fewer rows of `newdata`, or a larger `rank` of fit_control()", fixed = TRUE)
})

test_that("prints of posteriors and priors are at most 80 columns wide", {
  chord <- kernel_spec("matern12", scale = 500, estimate = "scale", metric = "chordal")
  fit <- suppressMessages(gp_fit(depth ~ long + lat, quakes[seq(1, 1000, by = 40), ], kernel = chord, nugget = 500))
  for (x in list(suppressWarnings(gp_posterior(fit, nsim = 50, seed = 1)), gp_prior(),
                 gp_prior(c(below = 123456.789)))) {
    expect_lte(max(nchar(utils::capture.output(print(x)))), 80)
  }
})

test_that("a fit with a sum of kernels says whether they share a variance", {
  of <- function(input, ...) kernel_spec("matern32", scale = 3, of = input, ...)
  k <- function(...) of("long", ...) + of("lat", ...)
  says <- function(...) {
    fit <- suppressWarnings(suppressMessages(gp_fit(depth ~ long + lat, datasets::quakes[1:60, ], ...)))
    any(grepl("share one variance", utils::capture.output(print(fit))))
  }
  expect_true(says(kernel = k()))
  expect_false(says(kernel = k(variance = NULL)))
  expect_false(says(kernel = k(), variance = 1e4))
  expect_false(says(kernel = kernel_spec("matern32", scale = 3)))
})
