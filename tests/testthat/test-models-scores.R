# Scores of predictions: their formulas, what is left out, new rows, blocks and fits beside each other.

some <- quakes[seq(1, 1000, by = 34), ]
new <- quakes[seq(2, 1000, by = 25), ]
fit <- gp_fit(depth ~ long + lat, some, kernel = kernel_spec("matern32", scale = 4), variance = 2e4, nugget = 2000)
other <- update(fit, kernel = kernel_spec("gaussian", scale = 2))
counts <- gp_fit(stations ~ mag, some, family = poisson, kernel = kernel_spec(scale = 1), variance = 0.3)
table_of <- function(name) c(family_rows[[name]], list(value = c(Gamma = 2.5, negbin = 1.7)[name]))
score_names <- c("logs", "crps", "interval_score", "coverage", "rmse", "mae", "bias")

# Distribution functions by a fine sum over the linear predictor.
dense_below <- function(family, x, a, m, v) {
  z <- seq(-9, 9, length.out = 401)
  mean <- family$base(family$value)$linkinv(m + sqrt(v) * z)
  at <- function(q) if (isTRUE(family$trials)) stats::pbinom(q, a, mean) else family$below(q, mean, family$value, a)
  vapply(x, function(q) sum(stats::dnorm(z) * at(q)) * (z[2] - z[1]), 0)
}

# Twice the mean distance to the draws, less the mean distance between them, halved.
crps_of_draws <- function(y, x) {
  m <- length(x)
  mean(abs(x - y)) - sum((2 * seq_len(m) - m - 1) * sort(x)) / m^2
}

test_that("the score of a normal distribution is the integral, and known numbers", {
  expect_equal(normal_crps(0.3 - 1, 2), 0.5641451322, tolerance = 1e-9)
  for (error in c(-3, 0, 0.2, 7)) for (sd in c(0.1, 1, 20)) {
    below <- function(x) stats::pnorm(x, 0, sd)
    integral <- stats::integrate(function(x) below(x)^2, -Inf, error, rel.tol = 1e-9)$value +
      stats::integrate(function(x) (1 - below(x))^2, error, Inf, rel.tol = 1e-9)$value
    expect_equal(normal_crps(error, sd), integral, tolerance = 1e-6)
  }
  expect_identical(normal_crps(c(-2, 0, 3), 0), c(2, 0, 3))
  expect_identical(normal_crps(1, NA), NA_real_)
})

test_that("scores of draws by their order are those by all pairs, and near those of the distribution", {
  set.seed(1)
  x <- stats::rnorm(400, 1, 2)
  pairs <- mean(abs(x - 0.3)) - mean(abs(outer(x, x, "-"))) / 2
  expect_equal(crps_of_draws(0.3, x), pairs)
  for (name in c("poisson", "negbin", "Gamma")) {
    family <- table_of(name)
    draws <- family$draw(2e5, exp(stats::rnorm(2e5, 1, 0.6)), family$value, 1)
    for (y in c(1, 5)) {
      expect_equal(family_outcomes(family, y, 1, 1, 0.36, 0.9)$crps, crps_of_draws(y, draws), tolerance = 0.02)
    }
  }
})

test_that("counts are the sum over all numbers, whether these are few or many", {
  expect_equal(family_outcomes(table_of("poisson"), 5, 1, 1, 0.36, 0.9)$crps, 1.3432469, tolerance = 1e-5)
  sums_of <- function(family, y, m, v, most) {
    below <- dense_below(family, 0:most, 1, m, v)
    vapply(y, function(y) sum((below - (0:most >= y))^2), 0)
  }
  scores_of <- function(family, y, m, v) {
    same <- rep(1, length(y))
    family_outcomes(family, y, same, m * same, v * same, 0.9)$crps
  }
  for (name in c("poisson", "negbin")) for (v in c(0, 0.1, 0.5)) {
    expect_equal(scores_of(table_of(name), c(0, 4, 90), 1, v), sums_of(table_of(name), c(0, 4, 90), 1, v, 300),
                 tolerance = 1e-6, label = paste(name, v))
  }
  skip_below("quick")
  poisson <- table_of("poisson")
  for (v in c(0.001, 0.1)) {
    expect_equal(scores_of(poisson, c(0, 300, 500), 6, v), sums_of(poisson, c(0, 300, 500), 6, v, 2000),
                 tolerance = 1e-4)
  }
  huge <- family_outcomes(poisson, c(9e5, 1e6), c(1, 1), log(c(1e6, 1e6)), c(0, 0), 0.9)
  expect_equal(huge$crps, normal_crps(c(-1e5, 0), 1e3), tolerance = 1e-3)
})

test_that("positive numbers are the integral over all of them, at any shape", {
  for (shape in c(0.3, 60)) for (v in c(0, 2)) for (y in c(1e-3, 0.9, 30)) {
    family <- replace(table_of("Gamma"), "value", shape)
    u <- seq(-30, 16, length.out = 2001)
    by <- function(power) {
      F <- outcome_below(family, exp(u), rep(1, 2001), rep(0, 2001), rep(v, 2001))
      stats::splinefun(u, power(F) * exp(u), method = "natural")
    }
    part <- function(f, from, to) {
      nodes <- seq(from, to, length.out = 20001)
      mean((f(nodes[-1]) + f(nodes[-20001])) / 2) * (to - from)
    }
    integral <- part(by(function(F) F^2), -30, log(y)) + part(by(function(F) (1 - F)^2), log(y), 16)
    expect_equal(family_outcomes(family, y, 1, 0, v, 0.9)$crps, integral, tolerance = 1e-4,
                 label = paste("shape", shape, "variance", v, "at", y))
  }
  family <- table_of("Gamma")
  x <- c(0.01, 0.3, 1, 4, 20)
  expect_equal(outcome_below(family, x, rep(1, 5), rep(0, 5), rep(0.3, 5)), dense_below(family, x, 1, 0, 0.3),
               tolerance = 1e-7)
  expect_equal(outcome_below(family, x, rep(1, 5), rep(0, 5), rep(3, 5)), dense_below(family, x, 1, 0, 3),
               tolerance = 1e-7)
  unit <- family_outcomes(family, 2, 1, 0, 0.5, 0.9)$crps
  expect_equal(family_outcomes(family, 2e-6, 1, log(1e-6), 0.5, 0.9)$crps, 1e-6 * unit, tolerance = 1e-5)
})

test_that("classes have Brier's score, and shares of trials the sum over successes", {
  logit <- table_of("logit")
  p <- mean_over_link(logit, 0.4, 1.2)$mean
  found <- family_outcomes(logit, c(0, 1), c(1, 1), c(0.4, 0.4), c(1.2, 1.2), 0.9)
  expect_equal(found$crps, c(p^2, (1 - p)^2))
  expect_true(all(is.na(found$lower)))
  for (a in c(2, 30, 1200)) for (v in c(0, 1)) {
    below <- dense_below(logit, 0:a, a, -0.5, v)
    for (share in c(0, 0.5, 1)) {
      one <- family_outcomes(logit, share, a, -0.5, v, 0.8)
      expect_equal(one$crps, sum((below - (0:a >= a * share))^2) / a, tolerance = 1e-4)
    }
    expect_equal(one$lower, (which(below >= 0.1)[1] - 1) / a)
    expect_equal(one$upper, (which(below >= 0.9)[1] - 1) / a)
  }
})

test_that("fits alone are scored by refits to all other rows", {
  skip_below("quick")
  found <- attr(predictive_scores(fit), "rows")
  for (k in c(1, 14, 30)) {
    without <- update(fit, data = some[-k, ])
    one <- attr(predictive_scores(without, some[k, ]), "rows")
    expect_equal(found[k, ], one, tolerance = 1e-6, ignore_attr = TRUE)
  }
  expect_identical(rownames(found), rownames(some))
  table <- predictive_scores(fit)
  expect_equal(-sum(found$logs), elpd(fit)$elpd)
  expect_equal(table$rmse, sqrt(mean(residuals(fit, "loo")^2)))
  expect_equal(table$logs.se, elpd(fit)$se / nrow(some))
  by_fold <- predictive_scores(cross_validate(fit, seq_len(30)))
  expect_equal(unlist(by_fold["all", score_names]), unlist(table[, score_names]))
  expect_equal(by_fold["all", "crps.se"], table$crps.se)
  ridge <- kernel_ridge(depth ~ long + lat, some, lambda = 1)
  expect_equal(-sum(attr(predictive_scores(ridge), "rows")$logs), elpd(ridge)$elpd)
  expect_equal(-sum(attr(predictive_scores(counts), "rows")$logs), elpd(counts)$elpd)
})

test_that("columns are the means that they are called", {
  table <- predictive_scores(fit, new, level = 0.5)
  there <- predict(fit, new, se.fit = TRUE)
  sd <- sqrt(there$se.fit^2 + fit$nugget)
  off <- abs(new$depth - there$fit)
  expect_equal(table$n, nrow(new))
  expect_equal(table$logs, -mean(stats::dnorm(new$depth, there$fit, sd, log = TRUE)))
  expect_equal(table$mae, mean(off))
  expect_equal(table$bias, mean(there$fit - new$depth))
  expect_equal(table$rmse, sqrt(mean(off^2)))
  half <- stats::qnorm(0.75) * sd
  expect_equal(table$coverage, mean(off <= half))
  expect_equal(table$interval_score, mean(2 * half + 4 * pmax(off - half, 0)))
  expect_equal(table$mae.se, stats::sd(off) / sqrt(nrow(new)))
  expect_equal(table$rmse.se, stats::sd(off^2) / sqrt(nrow(new)) / (2 * table$rmse))
})

test_that("intervals of simulated data hold what they say", {
  skip_below("quick")
  set.seed(3)
  held <- vapply(seq_len(by_tier(5, 10, 40)), function(k) {
    data <- data.frame(x = stats::runif(120, 0, 10))
    truth <- exp(-as.matrix(stats::dist(data$x))) + diag(0.2, 120)
    data$y <- as.vector(stats::rnorm(120) %*% chol(truth))
    own <- gp_fit(y ~ x, data[1:40, ], kernel = kernel_spec("matern12", scale = 1), variance = 1, nugget = 0.2)
    unlist(predictive_scores(own, data[41:120, ])[c("coverage", "bias")])
  }, numeric(2))
  expect_lt(abs(mean(held[1, ]) - 0.9), 3.5 * stats::sd(held[1, ]) / sqrt(ncol(held)))
  expect_lt(abs(mean(held[2, ])), 3.5 * stats::sd(held[2, ]) / sqrt(ncol(held)))
})

test_that("two fits are scored as a list, which the error of two arguments says", {
  rough <- gp_fit(dist ~ speed, cars, kernel = kernel_spec("matern12", scale = 9))
  smooth <- gp_fit(dist ~ speed, cars, kernel = kernel_spec("matern52", scale = 9))
  expect_said(predictive_scores(rough, smooth), "input", "`newdata`", "predictive_scores(list(rough, smooth))")
  expect_s3_class(predictive_scores(list(rough, smooth)), "predictive_scores")
})
