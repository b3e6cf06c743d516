# Censored responses and ordered levels: derivatives against differences, fits against survival and mgcv, mistakes.

e <- c(-1.3, -0.2, 0, 0.4, 1, 2)
a <- c(1, 2, 0.5, 1, 3, 1)
ranges <- complex(real = c(0.3, -Inf, 1, 0.5, 2, 1.2), imaginary = c(0.3, 2, Inf, 0.7, 9, 1.2))
of_times <- c("lognormal", "weibull", "exponential", "loglogistic")
rows <- c(lapply(c(of_times, "tobit"), function(name) list(gp_family(name), ranges)),
          list(list(kernweave:::ordinal_family(c(1, 2, 3, 4)), c(1, 2, 3, 4, 2, 3))))

test_that("derivatives of log-probabilities of ranges and levels are limits of differences", {
  by <- 1e-5
  for (row in rows) {
    family <- row[[1]]
    y <- row[[2]]
    k <- family$value
    slope <- function(f) (f(e + by) - f(e - by)) / (2 * by)
    found <- family$slopes(y, e, k, a)
    expect_equal(found$g, slope(function(e) family$log_density(y, e, k, a)), tolerance = 1e-7, label = family$title)
    expect_equal(-found$W, slope(function(e) family$slopes(y, e, k, a)$g), tolerance = 1e-7, label = family$title)
    expect_equal(found$W_e, slope(function(e) family$slopes(y, e, k, a)$W), tolerance = 1e-7, label = family$title)
    of_phi <- family$of_phi(y, e, k, a)
    for (j in seq_along(k)) {
      moved <- function(f) (f(replace(k, j, k[j] * exp(by))) - f(replace(k, j, k[j] * exp(-by)))) / (2 * by)
      expect_equal(unname(of_phi$l[, j]), moved(function(k) family$log_density(y, e, k, a)), tolerance = 1e-6)
      expect_equal(unname(of_phi$g[, j]), moved(function(k) family$slopes(y, e, k, a)$g), tolerance = 1e-6)
      expect_equal(unname(of_phi$W[, j]), moved(function(k) family$slopes(y, e, k, a)$W), tolerance = 1e-6)
    }
  }
})

test_that("the log-probability of a range is the difference of the distribution function at its ends", {
  for (row in rows[1:5]) {
    family <- row[[1]]
    below <- function(q) ifelse(q == Inf, 1, do.call(family$below, c(list(q, e), as.list(family$value))))
    known <- below(Im(ranges)) - ifelse(Re(ranges) == -Inf, 0, below(Re(ranges)))
    found <- family$log_density(ranges, e, family$value, 1)
    open <- Re(ranges) != Im(ranges)
    expect_equal(exp(found)[open], known[open], tolerance = 1e-12, label = family$title)
    seen <- family$log_density(Re(ranges), e, family$value, 1)
    expect_equal(found[!open], seen[!open], tolerance = 1e-14)
  }
  far <- gp_family("tobit")$log_density(complex(real = 40, imaginary = 41), 0, c(sigma = 1), 1)
  expect_equal(far, pnorm(40, lower.tail = FALSE, log.p = TRUE), tolerance = 1e-12)
})

test_that("probabilities of levels add up to 1, and means, variances and draws are of them", {
  family <- rows[[6]][[1]]
  k <- c(gap1 = 0.7, gap2 = 1.6)
  p <- exp(vapply(1:4, function(level) family$log_density(rep(level, 6), e, k, 1), e))
  expect_equal(rowSums(p), rep(1, 6), tolerance = 1e-14)
  mean <- as.vector(p %*% 1:4)
  expect_equal(family$base(k)$linkinv(e), mean, tolerance = 1e-13)
  expect_equal(do.call(family$variance, c(list(e), as.list(k))), as.vector(p %*% (1:4)^2) - mean^2, tolerance = 1e-12)
  expect_equal(family$base(k)$cuts, c(`1|2` = -1, `2|3` = -0.3, `3|4` = 1.3))
  set.seed(1)
  draws <- do.call(family$draw, c(list(20000, rep(e[5], 20000)), as.list(k)))
  expect_lt(max(abs(tabulate(draws, 4) / 20000 - p[5, ])), 0.015)
})

q <- quakes[seq(1, 1000, by = 5), ]
q$deep <- cut(q$depth, c(0, 100, 250, 500, 700), c("shallow", "middle", "deep", "deepest"), ordered_result = TRUE)
kernel <- kernel_spec("matern32", scale = 4)

test_that("fits without a process are those of survreg()", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  set.seed(1)
  d <- data.frame(x = 1:80, z = rnorm(80))
  d$time <- rweibull(80, 1.5, exp(0.5 + 0.4 * d$z))
  d$high <- ifelse(d$time > 2, Inf, d$time + (1:80 %% 5 == 0))
  d$low <- ifelse(1:80 %% 7 == 0 & d$high < Inf, NA, pmin(d$time, 2))
  d$dead <- d$time < 2
  known <- list(
    list(Surv(time, dead) ~ x, "weibull", "weibull"), list(Surv(pmin(time, 2), dead) ~ x, "exponential", "exponential"),
    list(Surv(low, high, type = "interval2") ~ x, "lognormal", "lognormal"),
    list(Surv(low, high, type = "interval2") ~ x, "loglogistic", "loglogistic"),
    list(Surv(time, time > 0.5, type = "left") ~ x, "weibull", "weibull"),
    list(Surv(low, high, type = "interval2") ~ x, "tobit", "gaussian")
  )
  for (row in known) {
    peer <- survival::survreg(update(row[[1]], ~ z), d, dist = row[[3]], rel.tolerance = 1e-12)
    fit <- gp_fit(row[[1]], d, trend = ~ z, variance = 0, method = "ML", family = row[[2]], kernel = "matern32",
                  control = fit_control(tol = 1e-10))
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(peer)), tolerance = 1e-7, label = row[[2]])
    expect_equal(unname(coef(fit)), unname(coef(peer)), tolerance = 1e-6, label = row[[2]])
  }
  by_ends <- update(fit, x = cbind(low, high) ~ x)
  expect_equal(coef(by_ends), coef(fit), tolerance = 1e-10)
})

test_that("a tobit fit that has seen all is that of gaussian() with its nugget, in any unit", {
  tobit <- gp_fit(depth ~ long + lat, q, kernel = kernel, family = "tobit")
  normal <- gp_fit(depth ~ long + lat, q, kernel = kernel)
  expect_equal(as.numeric(logLik(tobit)), as.numeric(logLik(normal)), tolerance = 1e-8)
  expect_equal(coef(tobit, "covariance")[["sigma"]]^2, normal$nugget, tolerance = 1e-2)
  expect_equal(predict(tobit, q[1:5, ]), predict(normal, q[1:5, ]), tolerance = 1e-3)
})

test_that("censored responses have residuals, deviances, predictions and scores", {
  d <- transform(q, high = ifelse(depth > 400, Inf, depth / 100), low = pmin(depth, 400) / 100)
  fit <- gp_fit(cbind(low, high) ~ long + lat, d, kernel = kernel, family = "weibull")
  far <- d$high == Inf
  expect_true(all(residuals(fit)[far] >= 0) && any(residuals(fit)[far] == 0))
  expect_equal(unname(residuals(fit)[!far] + fitted(fit)[!far]), d$low[!far], tolerance = 1e-12)
  for (type in c("pearson", "deviance", "working", "loo")) {
    expect_true(all(is.finite(residuals(fit, type))), label = type)
  }
  expect_equal(deviance(fit), sum(residuals(fit, "deviance")^2), tolerance = 1e-10)
  ends <- predict(fit, d[1:5, ], interval = "prediction")
  expect_true(all(ends[, 2] < ends[, 1] & ends[, 1] < ends[, 3]))
  expect_true(all(is.finite(unlist(predictive_scores(fit)))))
  one <- predictive_scores(fit, d[which(far)[1], ])
  link <- predict(fit, d[which(far)[1], ], type = "link", se.fit = TRUE)
  shape <- coef(fit, "covariance")[["shape"]]
  over <- function(q) {
    vapply(q, function(q) {
      at <- function(z) exp(link$fit + link$se.fit * z)
      integrate(function(z) dnorm(z) * pweibull(q, shape, at(z), lower.tail = FALSE), -8, 8)$value
    }, 0)
  }
  expect_equal(one$logs, -log(over(4)), tolerance = 1e-5)
  expect_equal(one$crps, integrate(function(q) (1 - over(q))^2, 0, 4)$value, tolerance = 1e-3)
  folds <- cross_validate(fit, 4, seed = 1)
  expect_true(all(is.finite(unlist(predictive_scores(folds)[c("logs", "crps", "rmse")]))))
  compared <- predictive_scores(list(fit, update(fit, family = "exponential")), d[1:20, ])
  expect_true(all(is.finite(unlist(compared))))
  expect_equal(as.numeric(logLik(update(fit, subset = rep(TRUE, 200)))), as.numeric(logLik(fit)), tolerance = 1e-8)
})

test_that("the restricted likelihood of ordered levels and their cuts are mgcv's", {
  fit <- gp_fit(deep ~ long + lat, q, kernel = kernel, family = "ordinal")
  expect_equal(-as.numeric(logLik(fit)), 144.3354073, tolerance = 1e-7)
  expect_equal(unname(family(fit)$cuts), c(-1, 2.52277, 6.44092), tolerance = 1e-4)
  expect_named(family(fit)$cuts, c("shallow|middle", "middle|deep", "deep|deepest"))
  link <- predict(fit, q[1:6, ], type = "link", se.fit = TRUE)
  prob <- predict(fit, q[1:6, ], type = "prob")
  expect_identical(dimnames(prob), list(rownames(q)[1:6], levels(q$deep)))
  cuts <- family(fit)$cuts
  below <- function(cut) integrate(function(z) dnorm(z) * plogis(cut - link$fit[2] - link$se.fit[2] * z), -8, 8)$value
  expect_equal(unname(prob[2, ]), diff(c(0, vapply(unname(cuts), below, 0), 1)), tolerance = 1e-6)
  likely <- factor(levels(q$deep)[max.col(prob)], levels(q$deep), ordered = TRUE)
  expect_equal(unname(predict(fit, q[1:6, ], type = "class")), likely)
  expect_equal(predict(fit, q[1:6, ], type = "mean"), (prob %*% 1:4)[, 1], tolerance = 1e-6)
  scores <- predictive_scores(fit, q[2, ])
  expect_equal(scores$crps, sum((cumsum(prob[2, ]) - (1:4 >= as.integer(q$deep[2])))^2), tolerance = 1e-8)
  expect_equal(scores$logs, -log(prob[[2, q$deep[2]]]), tolerance = 1e-6)
  draws <- simulate(fit, 2, seed = 1, newdata = q[1:6, ], noise = TRUE)
  expect_identical(levels(draws$sim_2), levels(q$deep))
  expect_true(is.ordered(draws$sim_1))
  expect_true(all(unlist(simulate(fit, 3, seed = 1, newdata = q[1:6, ])) < 4))
  by_numbers <- gp_fit(as.integer(deep) ~ long + lat, q, kernel = kernel, family = "ordinal")
  expect_equal(coef(by_numbers, "covariance"), coef(fit, "covariance"))
})

test_that("two ordered levels are a binomial response", {
  q$far <- factor(q$deep > "middle", ordered = TRUE)
  levels <- gp_fit(far ~ long + lat, q, kernel = kernel, family = "ordinal")
  classes <- gp_fit(far ~ long + lat, q, kernel = kernel, family = "binomial")
  expect_equal(as.numeric(logLik(levels)), as.numeric(logLik(classes)), tolerance = 1e-8)
  expect_equal(coef(levels), coef(classes) - 1, tolerance = 1e-5)
  mean <- predict(classes, q[1:5, ], type = "mean")
  expect_equal(predict(levels, q[1:5, ], type = "prob")[, 2], mean, tolerance = 1e-4)
})

test_that("mistakes in ranges and levels are told with the remedy", {
  ends <- cbind(c(1, 3, 2), c(2, 1, Inf))
  expect_error(kernweave:::read_ranges(ends), "row 2 has the lower end 3", class = "kernweave_error_data")
  expect_error(gp_fit(q[1:3, 1:2], cbind(1:3, Inf), family = "tobit"), "right", class = "kernweave_error_data")
  surv <- structure(cbind(time = c(1, 2), status = c(1, 0)), class = "Surv", type = "counting")
  expect_error(kernweave:::read_ranges(surv), "interval2", class = "kernweave_error_unsupported")
  attr(surv, "type") <- "right"
  expect_identical(kernweave:::read_ranges(surv), complex(real = 1:2, imaginary = c(1, Inf)))
  two <- matrix(1:4, 2)
  for (family in c("gaussian", "poisson")) {
    expect_error(gp_fit(two, surv, family = family), "weibull", class = "kernweave_error_unsupported")
  }
  expect_error(gp_fit(q[1:2, 1:2], -1:0, family = "weibull"), "more than 0: row 1 is -1",
               class = "kernweave_error_data")
  expect_error(gp_fit(deep ~ long + lat, q[q$deep == "deep", ], family = "ordinal"), "same level",
               class = "kernweave_error_data")
  expect_error(gp_fit(deep ~ long + lat, q[q$depth > 100, ], family = "ordinal"), "droplevels",
               class = "kernweave_error_data")
  expect_error(gp_fit(depth ~ long + lat, q, family = "ordinal"), "level `1`", class = "kernweave_error_data")
  expect_error(gp_fit(as.character(deep) ~ long + lat, q, family = "ordinal"), "ordered = TRUE",
               class = "kernweave_error_input")
  expect_error(gp_fit(deep ~ long + lat, q), "ordinal", class = "kernweave_error_input")
  expect_error(predict(gp_fit(mag ~ long + lat, q, kernel = kernel), type = "prob"), "ordinal",
               class = "kernweave_error_unsupported")
  expect_message(kernweave:::ordered_levels(factor(c("a", "b"))), "a < b")
})
