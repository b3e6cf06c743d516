# Grouped effects of fits by products and of linear fits of many rows, against dense fits and lme4's.

set.seed(8)
n <- 260
d <- data.frame(x = stats::runif(n), y = stats::runif(n), w = stats::rnorm(n), b = factor(1 + (5 * seq_len(n)) %% 12))
d$a <- interaction(cut(d$x, 5), cut(d$y, 5), drop = TRUE)
d$z <- sin(5 * d$x + 3 * d$y) + 0.8 * cos(9 * as.integer(d$a)) + sin(3 * as.integer(d$b)) * (1 + d$w / 2) +
  stats::rnorm(n, sd = 0.3)
d$k <- stats::rpois(n, exp(d$z / 2 + 1))
trends <- list(~ w + (1 | a) + (1 + w | b), ~ (1 | b), ~ (0 + w | a) + (1 | a:b))

test_that("value, score and information by products are those of a factor, as far as probes tell", {
  for (family in list(gaussian(), poisson())) for (trend in trends[if (reaches("usual")) 1:3 else 1]) {
    y <- if (family$family == "gaussian") z ~ x + y else k ~ x + y
    begun <- suppressWarnings(gp_fit(y, d, kernel = "matern32", trend = trend, family = family,
                                     control = fit_control(max_iter = 1)))
    dense <- begun$data
    dense["begun"] <- list(NULL)
    theta <- gp_theta_of(dense)
    lazy <- dense
    lazy$dense <- FALSE
    lazy$control[c("dense_n", "probes", "seed", "max_iter")] <- list(0, 64, 1, 1000)
    exact <- gp_state_at(dense, theta)
    found <- gp_state_at(lazy, theta)
    expect_lt(abs(found$value - exact$value), 4.5 * found$se)
    expect_true(all(abs(found$score - exact$score) < 4.5 * sqrt(diag(found$score_noise)) + 1e-6))
    expect_equal(found$information, exact$information, tolerance = 0.05)
  }
})

test_that("a fit by products has the estimates, effects and predictions of a dense fit", {
  dense <- gp_fit(z ~ x + y, d, kernel = "matern32", trend = trends[[1]])
  by_products <- function(...) {
    gp_fit(z ~ x + y, d, kernel = "matern32", trend = trends[[1]], control = fit_control(dense_n = 0, ...))
  }
  lazy <- by_products(probes = 64)
  links <- function(fit) gp_theta_of(fit$data)
  se <- sqrt(diag(solve(dense$information)))
  expect_true(all(abs(links(lazy) - links(dense)) < 0.1 * se))
  # at the same parameters
  at <- coef(dense, "covariance")
  lazy <- suppressWarnings(by_products(lower = at - 1e-9, upper = at + 1e-9, start = at))
  effects <- function(fit) as.data.frame(nlme::ranef(fit))
  expect_equal(effects(lazy)$condval, effects(dense)$condval, tolerance = 1e-4)
  expect_equal(effects(lazy)$condsd, effects(dense)$condsd, tolerance = 2e-3)
  new <- transform(d[1:9, ], x = x + 0.01)
  levels(new$b)[1] <- "new"
  for (form in list(NULL, NA, ~ (1 | a))) {
    of <- function(fit) predict(fit, new, se.fit = TRUE, re.form = form, allow.new.levels = TRUE, method = "exact")
    expect_equal(of(lazy)$fit, of(dense)$fit, tolerance = 1e-4)
    expect_equal(of(lazy)$se.fit, of(dense)$se.fit, tolerance = 1e-3)
  }
  local <- predict(lazy, new, se.fit = TRUE, allow.new.levels = TRUE, method = "local", neighbours = n)
  expect_equal(local$fit, predict(dense, new, allow.new.levels = TRUE), tolerance = 1e-3)
  few <- predict(lazy, new, se.fit = TRUE, allow.new.levels = TRUE, method = "local", neighbours = 60)
  exact <- predict(dense, new, se.fit = TRUE, allow.new.levels = TRUE)
  expect_true(all(abs(few$fit - exact$fit) < exact$se.fit))
  expect_true(all(few$se.fit > 0.95 * exact$se.fit & few$se.fit < 1.5 * exact$se.fit))
  expect_equal(as.vector(residuals(lazy, type = "loo")), as.vector(residuals(dense, type = "loo")), tolerance = 0.1)
})

test_that("a linear model of many rows and levels is that of lmer()", {
  skip_without_peer("lme4")
  set.seed(9)
  many <- data.frame(one = stats::rnorm(4000), a = factor(sample(300, 4000, TRUE)), b = factor(sample(7, 4000, TRUE)))
  many$y <- many$one + stats::rnorm(300)[many$a] + stats::rnorm(7)[many$b] + stats::rnorm(4000)
  ours <- gp_fit(y ~ one, many, variance = 0, trend = ~ one + (1 | a) + (1 | b))
  theirs <- lme4::lmer(y ~ one + (1 | a) + (1 | b), many)
  expect_equal(as.numeric(logLik(ours)), as.numeric(logLik(theirs)), tolerance = 1e-9)
  expect_equal(coef(ours), lme4::fixef(theirs), tolerance = 1e-6)
  effects <- function(fit) unlist(lapply(lme4::ranef(fit), function(of) of[[1]]))
  expect_equal(effects(ours), effects(theirs), tolerance = 1e-4)
  expect_equal(predict(ours, many[1:5, ], se.fit = TRUE)$fit, predict(theirs, many[1:5, ]), tolerance = 1e-5,
               ignore_attr = TRUE)
})
