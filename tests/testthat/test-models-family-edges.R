# Families: mistakes, data at their limits, and the same model said in several ways.

q <- quakes[seq(1, 1000, by = 9), ]
q$many <- q$stations > 30
k <- kernel_spec("matern32", scale = 4)
counts <- function(..., data = q) gp_fit(stations ~ long + lat, data, kernel = k, family = poisson, ...)
chances <- function(formula, data = q, ...) {
  gp_fit(formula, data, kernel = k, variance = 0.5, family = binomial, ...)
}

test_that("mistakes are errors that name what would help", {
  refused <- function(fit, class, because) {
    expect_error(fit, because, class = paste0("kernweave_error_", class))
  }
  refused(gp_fit(stations ~ long + lat, q, family = Gamma()), "unsupported", "Gamma\\(\"log\"\\)")
  refused(gp_fit(stations ~ long + lat, q, family = "cauchy"), "unsupported", "binomial")
  refused(counts(nugget = 1), "unsupported", "negbin")
  refused(variogram(counts(variance = 1)), "unsupported", "linear predictor")
  refused(gp_fit(I(stations - 20) ~ long + lat, q, family = poisson), "data", "row [0-9]+ is -")
  refused(gp_fit(I(stations > 0) ~ long + lat, q, family = binomial), "data", "same class")
  refused(gp_fit(factor(round(mag)) ~ long + lat, q, family = binomial), "data", "one against the rest")
  refused(gp_fit(I(depth * (depth > 50)) ~ long + lat, q, family = Gamma("log")), "data", "row [0-9]+ is 0")
})

test_that("a trend that separates the responses is a warning that names its terms, and others are none", {
  d <- data.frame(x = 1:20, y = rep(0:1, each = 10), g = gl(4, 5), count = rep(c(0, 3, 2, 5, 1), each = 4))
  fit <- function(formula, trend, ...) gp_fit(formula, d, trend = trend, variance = 0, ...)
  for (method in c("ML", "REML")) {
    expect_warning(fit(y ~ 1, ~ x, family = "binomial", method = method),
                   "separates the responses: `\\(Intercept\\)`, `x`", class = "kernweave_warning_boundary")
    expect_warning(fit(y ~ 1, ~ g, family = "binomial", method = method), "`g4` would be infinite")
    expect_warning(fit(count ~ 1, ~ factor(x > 4), family = "poisson", method = method), "separates the responses")
    expect_silent(fit(count ~ 1, ~ x, family = "poisson", method = method))
    expect_silent(fit(I(x %% 3 > 0) ~ 1, ~ x + g, family = "binomial", method = method))
  }
})

test_that("places that separate two classes give a warning and a fit", {
  line <- data.frame(x = 1:40 + 0, y = rep(0:1, each = 20))
  expect_warning(fit <- gp_fit(y ~ x, line, kernel = kernel_spec("gaussian", scale = 10), family = binomial),
                 "places decide the response", class = "kernweave_warning_boundary")
  expect_equal(unname(fitted(fit) > 0.5), line$y == 1)
})

test_that("an offset that is not on the link's scale is told of", {
  q$exposure <- 3000
  expect_warning(chances(many ~ long + lat, q, trend = ~ 0 + offset(exposure)), "offset",
                 class = "kernweave_warning_boundary")
  expect_equal(fitted(counts(trend = ~ offset(exposure), variance = 1, data = q)), fitted(counts(variance = 1)))
})

test_that("classes, trials and weights may be said in several ways", {
  fit <- chances(many ~ long + lat)
  q$class <- factor(q$many, labels = c("few", "many"))
  q$zero <- as.numeric(q$many)
  for (formula in list(class ~ long + lat, zero ~ long + lat, cbind(many, !many) ~ long + lat)) {
    expect_equal(fitted(chances(formula, q)), fitted(fit))
  }
  q$n <- rep(2:5, length.out = nrow(q))
  q$some <- ceiling(q$n * q$many / 2)
  trials <- chances(cbind(some, n - some) ~ long + lat, q)
  shares <- gp_fit(some / n ~ long + lat, q, kernel = k, variance = 0.5, family = binomial, weights = n)
  expect_equal(logLik(shares), logLik(trials))
  expect_equal(weights(shares), q$n)
  twice <- gp_fit(stations ~ long + lat, q[rep(seq_len(nrow(q)), 2), ], kernel = k, variance = 1, family = poisson)
  weighed <- counts(variance = 1, weights = rep(2, nrow(q)))
  expect_equal(fitted(twice)[seq_len(nrow(q))], fitted(weighed), ignore_attr = TRUE)
  expect_equal(as.numeric(logLik(twice)), as.numeric(logLik(weighed)))
})

test_that("rows without weight or with missing values take no part", {
  some <- counts(variance = 1, weights = c(0, 0, rep(1, nrow(q) - 2)))
  fewer <- gp_fit(stations ~ long + lat, q[-(1:2), ], kernel = k, variance = 1, family = poisson)
  expect_equal(as.numeric(logLik(some)), as.numeric(logLik(fewer)))
  expect_equal(fitted(some), predict(fewer, q), tolerance = 1e-6, ignore_attr = TRUE)
  q$stations[3] <- NA
  left_out <- counts(variance = 1, na.action = na.exclude, data = q)
  expect_true(is.na(residuals(left_out, "deviance")[3]))
  expect_identical(nobs(left_out), nrow(q) - 1L)
})

test_that("exposure is an offset of its logarithm, and moves the intercept alone", {
  q$exposure <- 10
  plain <- counts(variance = 1)
  exposed <- counts(variance = 1, trend = ~ offset(log(exposure)), data = q)
  expect_equal(coef(exposed), coef(plain) - log(10))
  expect_equal(fitted(exposed), fitted(plain))
  expect_equal(predict(exposed, q[1, ]), predict(plain, q[1, ]))
})

test_that("intervals of level 90 % hold the linear predictor of counts in 87 to 93 % of places", {
  skip_below("all")
  held <- vapply(1:60, function(seed) {
    set.seed(seed)
    d <- data.frame(a = runif(200), b = runif(200))
    D <- dense_distance(d) * sqrt(3) / 0.3
    e <- 1.8 + drop(crossprod(chol(0.5 * (1 + D) * exp(-D) + 1e-10 * diag(200)), rnorm(200)))
    d$y <- rpois(200, exp(e))
    fit <- suppressWarnings(gp_fit(y ~ a + b, d, kernel = "matern32", family = poisson))
    found <- predict(fit, type = "link", interval = "confidence", level = 0.9)
    mean(e >= found[, 2] & e <= found[, 3])
  }, 0)
  expect_gt(mean(held), 0.87)
  expect_lt(mean(held), 0.93)
})

test_that("negative binomial of a given size keeps it, and of a large one is Poisson", {
  skip_if_not_installed("MASS")
  given <- gp_fit(stations ~ long + lat, q, kernel = k, variance = 1, family = MASS::negative.binomial(1e7))
  expect_identical(given$dispersion, 1e7)
  expect_equal(fitted(given), fitted(counts(variance = 1)), tolerance = 1e-4)
  expect_identical(attr(logLik(given), "df"), 1L)
})

test_that("fits are made again, saved and on some of the rows", {
  fit <- gp_fit(stations ~ long + lat, q, kernel = k, family = poisson)
  expect_equal(logLik(update(fit, method = "ML")), logLik(counts(method = "ML")))
  file <- tempfile(fileext = ".rds")
  saveRDS(fit, file)
  expect_equal(predict(readRDS(file), q[1:3, ], se.fit = TRUE), predict(fit, q[1:3, ], se.fit = TRUE))
  unlink(file)
  part <- counts(estimate_on = 60)
  expect_identical(part$estimated_on, 60L)
  expect_equal(as.numeric(logLik(part)), as.numeric(logLik(counts(variance = part$variance))))
})

test_that("elpd() is of densities over the linear predictor, and tells a useful covariate from noise", {
  set.seed(4)
  n <- 60
  d <- data.frame(x = sort(stats::runif(n)), noise = stats::rnorm(n))
  d$y <- stats::rpois(n, exp(1 + sin(6 * d$x)))
  fit <- gp_fit(y ~ x, d, kernel = kernel_spec("matern52", scale = 0.3), variance = 0.5, family = poisson)
  found <- elpd(fit)
  refits <- vapply(1:5, function(i) {
    without <- update(fit, data = d[-i, ])
    eta <- predict(without, d[i, ], se.fit = TRUE, type = "link")
    of <- function(e) stats::dpois(d$y[i], exp(e)) * stats::dnorm(e, eta$fit, eta$se.fit)
    log(stats::integrate(of, eta$fit - 8 * eta$se.fit, eta$fit + 8 * eta$se.fit)$value)
  }, 0)
  expect_equal(unname(found$pointwise[1:5]), refits, tolerance = 0.03)
  table <- elpd(fit, flat = gp_fit(y ~ noise, d, kernel = fit$kernel, variance = 0.5, family = poisson))
  expect_identical(rownames(table)[1], "fit")
  expect_error(elpd(kernel_ridge(y ~ x, d, lambda = 1, family = poisson)), class = "kernweave_error_unsupported")
})
