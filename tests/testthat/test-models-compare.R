# Gaussian processes compared by likelihood ratios, terms dropped and added, and fits without a process.

some <- quakes[seq(1, 1000, by = 12), ]
fit <- gp_fit(depth ~ long + lat, some, trend = ~ long + mag, kernel = "matern12", method = "ML")
given <- kernel_spec("matern12", scale = 3)
near <- update(fit, kernel = given)

test_that("anova() of trends equals that of nlme::gls()", {
  skip_if_not_installed("nlme")
  found <- anova(update(fit, trend = ~ 1), fit)
  by_gls <- function(formula) {
    nlme::gls(formula, some, method = "ML", correlation = nlme::corExp(c(5, 0.05), form = ~ long + lat, nugget = TRUE))
  }
  theirs <- stats::anova(by_gls(depth ~ 1), by_gls(depth ~ long + mag))
  expect_s3_class(found, c("anova", "data.frame"))
  shared <- c("Model", "df", "AIC", "BIC", "logLik", "Test", "L.Ratio", "p-value")
  expect_named(found, shared)
  expect_equal(found$L.Ratio[2], theirs$L.Ratio[2], tolerance = 1e-3)
  expect_equal(found[["p-value"]][2], theirs[["p-value"]][2], tolerance = 1e-3)
  expect_equal(found$AIC, theirs$AIC, tolerance = 1e-6)
  expect_identical(found$Test, c("", "1 vs 2"))
  expect_output(print(found), "2: Matern 1/2.*trend ~ long \\+ mag.*1 vs 2")
  if (requireNamespace("generics", quietly = TRUE)) {
    expect_equal(generics::tidy(found)$p.value, found[["p-value"]])
  }
  none <- anova(fit, update(fit, trend = ~ 1), test = "none")
  expect_null(none[["p-value"]])
  expect_equal(none$L.Ratio[2], found$L.Ratio[2])
})

test_that("chi-square is for models that are inside each other, and else there is a sentence", {
  skip_below("quick")
  p <- function(...) anova(...)[["p-value"]][2]
  note <- function(...) attr(anova(...), "notes")
  expect_false(is.na(p(near, fit)))
  ard <- update(fit, kernel = kernel_spec("matern12", ard = TRUE))
  expect_false(is.na(p(fit, ard)))
  expect_false(is.na(p(ard, update(fit, nugget = 100))))
  expect_true(is.na(p(update(fit, nugget = 0), fit)))
  expect_match(note(update(fit, nugget = 0), fit), "1 vs 2: no p-value, as the nugget .* on its bound")
  expect_match(note(update(fit, variance = 0), fit), "the variance .*chi-square does not hold; anova.test = \"boot\"")
  expect_match(note(update(fit, kernel = "matern52", trend = ~ 1), fit), "neither kernel")
  expect_match(note(update(fit, trend = ~ lat), fit), "trend of the smaller model is not inside")
  expect_match(note(fit, update(fit, kernel = "matern52")), "as many parameters")
  expect_match(note(near, update(near, kernel = kernel_spec("matern12", scale = 2), trend = ~ long + mag + lat)),
               "neither kernel")
  one <- update(ard, depth ~ long)
  expect_match(note(one, ard), "the scale of an input")
  sum <- suppressWarnings(update(fit, kernel = kernel_spec("matern12") + kernel_spec("linear", variance = NULL)))
  expect_match(note(fit, sum), "the variance of a part")
})

test_that("restricted likelihoods of different trends are refitted, and other data refused", {
  skip_below("quick")
  by_reml <- update(fit, method = "REML")
  expect_message(found <- anova(update(by_reml, trend = ~ 1), by_reml), "refitted by maximum likelihood")
  expect_equal(found$L.Ratio, anova(update(fit, trend = ~ 1), fit)$L.Ratio, tolerance = 1e-5)
  expect_silent(anova(update(by_reml, kernel = given), by_reml))
  refused <- function(...) expect_error(anova(fit, ...), class = "kernweave_error_input")
  expect_match(conditionMessage(refused(suppressWarnings(update(fit, subset = 1:40)))), "different rows, 84 and 40")
  expect_match(conditionMessage(refused(update(fit, stations ~ .))), "different responses")
  expect_match(conditionMessage(refused(update(fit, weights = stations))), "different weights")
  expect_match(conditionMessage(refused(fit, tst = "boot")), "did you mean `test`")
  expect_match(conditionMessage(refused()), "two fits or more; drop1")
  expect_match(conditionMessage(refused(stats::lm(depth ~ long, some))), "compares fits of gp_fit")
})

test_that("a variance on its bound has the exact null distribution: RLRsim's, and that of simulated responses", {
  skip_below("quick")
  skip_if_not_installed("RLRsim")
  set.seed(1)
  d <- data.frame(x = rep(1:10, 6), z = stats::rnorm(60), w = stats::runif(60, 0.5, 2))
  d$y <- stats::rnorm(60) / sqrt(d$w)
  # a scale so short that the process is one effect for each of ten groups
  large <- suppressWarnings(gp_fit(y ~ x, d, trend = ~ z, kernel = kernel_spec("matern12", scale = 0.03), weights = w))
  X <- sqrt(d$w) * cbind(1, d$z)
  Z <- sqrt(d$w) * outer(d$x, 1:10, "==")
  same <- function(theirs, small, large) {
    own <- with_local_seed(2, kernweave:::exact_null(small, large, 20000))
    for (at in c(0.001, 0.05, 0.5, 1, 2, 4)) {
      p <- mean(theirs > at)
      expect_lt(abs(mean(own > at) - p), 4 * sqrt(2 * p * (1 - p) / 20000), label = paste("difference at", at))
    }
  }
  same(RLRsim::RLRTSim(X, Z, qr(X), diag(10), nsim = 20000, seed = 1), update(large, variance = 0), large)
  by_ml <- suppressWarnings(update(large, method = "ML"))
  same(RLRsim::LRTSim(X, Z, 1, diag(10), nsim = 20000, seed = 1), update(by_ml, variance = 0, trend = ~ 1), by_ml)
  found <- anova(update(large, variance = 0), large)
  expect_match(attr(found, "notes"), "10,000 draws of the exact null")
  expect_identical(found, anova(update(large, variance = 0), large))
  expect_identical(rev(anova(near, update(near, variance = 0))[["p-value"]])[1], 1 / 10001)
})

test_that("the variance of one grouped effect has RLRsim's p-value; beside a process or another it has none", {
  skip_if_not_installed("RLRsim")
  for (method in c("REML", "ML")) {
    none <- gp_fit(mpg ~ 1, datasets::mtcars, trend = ~ wt, variance = 0, method = method)
    one <- update(none, trend = ~ wt + (1 | gear))
    Z <- stats::model.matrix(~ 0 + factor(gear), datasets::mtcars)
    X <- stats::model.matrix(~ wt, datasets::mtcars)
    sim <- if (method == "REML") RLRsim::RLRTSim(X, Z, qr(X), diag(3), nsim = 20000, seed = 1)
           else RLRsim::LRTSim(X, Z, 0, diag(3), nsim = 20000, seed = 1)
    found <- anova(none, one)
    expect_equal(found[["p-value"]][2], mean(sim >= found$L.Ratio[2]), tolerance = 0.1)
  }
  two <- suppressWarnings(update(one, trend = ~ wt + (1 | gear) + (1 | carb)))
  process <- suppressWarnings(update(one, mpg ~ qsec, variance = NULL, kernel = kernel_spec("matern32", scale = 2)))
  for (pair in list(list(none, two), list(one, two), list(one, process))) {
    expect_match(attr(do.call(anova, pair), "notes"), "of the smaller model is on its bound")
  }
  expect_match(attr(anova(one, suppressWarnings(update(two, trend = ~ wt + (1 | carb) + (0 + wt | cyl)))), "notes"),
               "grouped effects of the smaller model are not inside")
})

test_that("linear models have the F tests of lm(), whatever their weights and method", {
  d <- transform(datasets::mtcars, w = seq(0.5, 2, length.out = 32), cyl = factor(cyl))
  for (w in list(NULL, d$w)) for (method in c("ML", "REML")) {
    fit <- suppressMessages(gp_fit(mpg ~ 1, d, trend = ~ wt + cyl, variance = 0, weights = w, method = method))
    known <- stats::lm(mpg ~ wt + cyl, d, weights = w)
    expect_equal(suppressMessages(drop1(fit))[["Pr(>F)"]], drop1(known, test = "F")[["Pr(>F)"]], tolerance = 1e-6)
    small <- update(fit, trend = ~ wt)
    fewer <- stats::lm(mpg ~ wt, d, weights = w)
    expect_equal(suppressMessages(anova(small, fit))[["p-value"]], anova(fewer, known)[["Pr(>F)"]], tolerance = 1e-6)
    added <- suppressMessages(add1(small, ~ . + cyl + qsec))
    expect_equal(added[["F value"]], add1(fewer, ~ . + cyl + qsec, test = "F")[["F value"]], tolerance = 1e-6)
  }
})

test_that("the bootstrap tells what the exact null distribution tells, and is reproducible", {
  skip_below("usual")
  set.seed(5)
  d <- data.frame(x = 1:50 / 50)
  d$y <- stats::rnorm(50) + sin(6 * d$x) / 2.5
  large <- suppressWarnings(gp_fit(y ~ x, d, kernel = kernel_spec("matern32", scale = 0.2)))
  small <- update(large, variance = 0)
  exact <- anova(small, large)[["p-value"]][2]
  draws <- by_tier(40, 40, 200)
  booted <- anova(small, large, test = "boot", R = draws, seed = 1)
  expect_lt(abs(booted[["p-value"]][2] - exact), 4 * sqrt(exact * (1 - exact) / draws))
  expect_match(attr(booted, "notes"), paste(draws, "responses simulated by the smaller fit"))
  few <- anova(small, large, test = "boot", R = 19, seed = 1)
  expect_identical(few, anova(small, large, test = "boot", R = 19, seed = 1))
})

test_that("anova() of trends has chi-square's level", {
  skip_below("all")
  set.seed(5)
  control <- fit_control(start = c(variance = 1, scale = 0.1, nugget = 0.3))
  p <- vapply(seq_len(200), function(set) {
    x <- matrix(stats::runif(240), 120)
    A <- as.matrix(kernel_spec("matern32", scale = 0.1)(x)) + diag(0.3, 120)
    d <- data.frame(a = x[, 1], b = x[, 2], z = stats::rnorm(120), y = drop(crossprod(chol(A), stats::rnorm(120))))
    one <- function(trend) {
      suppressWarnings(gp_fit(y ~ a + b, d, trend, "matern32", method = "ML", control = control))
    }
    anova(one(~ 1), one(~ z))[["p-value"]][2]
  }, 0)
  expect_level(p)
})

test_that("by products both likelihoods take the same probes, and their ratio has its error", {
  skip_below("quick")
  by_products <- fit_control(dense_n = 0, probes = 8)
  at <- function(trend, control = fit_control(), variance = 40000) {
    gp_fit(depth ~ long + lat, some, trend, given, variance = variance, nugget = 2000, method = "ML",
           control = control)
  }
  exact <- anova(at(~ 1), at(~ long))
  found <- anova(at(~ 1, by_products), at(~ long, by_products))
  expect_true("se" %in% names(found))
  expect_lt(abs(found$L.Ratio[2] - exact$L.Ratio[2]), 1e-3)
  expect_lt(found$se[2], 1e-6)
  expect_equal(found[["p-value"]][2], exact[["p-value"]][2], tolerance = 1e-3)
  free <- at(~ 1, by_products, NULL)
  ratio <- anova(at(~ 1, by_products), free)
  dense <- 2 * as.numeric(logLik(at(~ 1, variance = free$variance)) - logLik(at(~ 1)))
  expect_lt(abs(ratio$L.Ratio[2] - dense), 4 * ratio$se[2] + 0.01)
  expect_error(anova(at(~ 1, by_products), at(~ long, by_products), test = "boot"), "dense_n",
               class = "kernweave_error_unsupported")
})

test_that("drop1() and add1() have a row for each term", {
  skip_below("quick")
  dropped <- drop1(fit)
  expect_identical(rownames(dropped), c("<none>", "long", "mag"))
  expect_equal(dropped["mag", "LRT"], anova(update(fit, trend = ~ long), fit)$L.Ratio[2])
  expect_equal(dropped["mag", "AIC"], stats::AIC(update(fit, trend = ~ long)))
  expect_identical(rownames(drop1(fit, ~ mag)), c("<none>", "mag"))
  added <- add1(update(fit, trend = ~ mag), ~ . + long + stations)
  expect_identical(rownames(added), c("<none>", "long", "stations"))
  expect_equal(added["long", "LRT"], dropped["long", "LRT"], tolerance = 1e-4)
  expect_error(drop1(update(fit, trend = ~ 1)), "no terms to drop", class = "kernweave_error_input")
  expect_error(drop1(fit, ~ magg), "did you mean `mag`", class = "kernweave_error_input")
  expect_error(add1(fit), "`scope` is not given", class = "kernweave_error_input")
  ard <- update(fit, kernel = kernel_spec("matern12", ard = TRUE), trend = ~ 1)
  inputs <- drop1(ard)
  expect_identical(rownames(inputs), c("<none>", "scale.long", "scale.lat"))
  expect_identical(is.na(inputs[["Pr(>Chi)"]]), rep(TRUE, 3))
  expect_message(drop1(update(fit, method = "REML")), "refits by maximum likelihood")
  inside <- function() {
    mine <- some
    drop1(gp_fit(depth ~ long + lat, mine, trend = ~ mag, kernel = given, method = "ML"))
  }
  expect_identical(rownames(inside()), c("<none>", "mag"))
})

test_that("without a process a fit is the linear model", {
  w <- c(0, rep(1:2, c(20, 29)))
  line <- gp_fit(dist ~ speed, cars, trend = ~ speed, variance = 0, method = "ML", weights = w)
  theirs <- stats::lm(dist ~ speed, cars, weights = w)
  expect_equal(as.numeric(logLik(line)), as.numeric(logLik(theirs)), tolerance = 1e-12)
  expect_equal(coef(line), coef(theirs), tolerance = 1e-12)
  expect_equal(unname(fitted(line)), unname(fitted(theirs)), tolerance = 1e-12)
  restricted <- update(line, method = "REML")
  expect_equal(vcov(restricted), vcov(theirs), tolerance = 1e-12)
  expect_equal(unname(predict(restricted, cars[1:3, ], se.fit = TRUE)$se.fit),
               unname(predict(theirs, cars[1:3, ], se.fit = TRUE)$se.fit), tolerance = 1e-12)
  expect_identical(names(coef(line, "covariance")), c("variance", "nugget"))
  expect_output(print(line), "Linear model, ML, 49 points")
  expect_equal(as.numeric(logLik(update(line, control = fit_control(dense_n = 0)))), as.numeric(logLik(line)))
  expect_error(gp_fit(dist ~ speed, cars, variance = 0, nugget = 0), "both 0", class = "kernweave_error_value")
  draws <- simulate(restricted, 500, seed = 1, newdata = cars[c(2, 50), ])
  se <- predict(restricted, cars[c(2, 50), ], se.fit = TRUE)$se.fit
  expect_lt(max(abs(apply(draws, 1, stats::sd) / se - 1)), 0.15)
})
