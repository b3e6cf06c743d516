# Posteriors of covariance parameters: against grids, against packages, and what draws have to be.

simulated_places <- function(n, seed, scale = 0.2, noise = 0.1) {
  with_local_seed(seed, {
    x <- matrix(stats::runif(2 * n), n)
    A <- posterior_matern32(x, scale) + diag(noise, n)
    data.frame(x = x[, 1], y = x[, 2], z = 3 + drop(crossprod(chol(A), stats::rnorm(n))))
  })
}
posterior_matern32 <- function(x, scale) {
  r <- sqrt(3) * dense_distance(x) / scale
  (1 + r) * exp(-r)
}
d <- simulated_places(100, 1)
k <- kernel_spec("matern32")
fit <- gp_fit(z ~ x + y, d, kernel = k)
post <- gp_posterior(fit, seed = 1)

test_that("draws are a data frame with the parameters of the fit", {
  expect_s3_class(post, c("gp_posterior", "data.frame"), exact = TRUE)
  expect_named(post, c("variance", "scale", "nugget", "log_posterior", ".chain", ".iteration", ".draw"))
  expect_identical(dim(post), c(1000L, 7L))
  expect_true(all(is.finite(as.matrix(post))))
  table <- summary(post)
  expect_identical(colnames(table), c("mean", "sd", "median", "5 %", "95 %"))
  expect_equal(table["scale", c("mean", "sd", "median")],
               c(mean = mean(post$scale), sd = stats::sd(post$scale), median = stats::median(post$scale)))
  expect_output(print(post), "1000 draws, by 28 likelihoods of 100 points.*Pareto k.*P\\(range < 0[.]0.*P\\(sd > ")
  expect_output(print(post[1:3, ]), "log_posterior")
  expect_equal(nrow(gp_posterior(fit, 7, seed = 1)), 7)
})

test_that("pictures show the posterior, the prior and the estimate", {
  expect_named(plot_data(post, "scale")$layers, c("band", "curve", "upright"))
  expect_equal(layer(post, "upright", "scale")$x, coef(fit, "covariance")[["scale"]])
  area <- function(d, y) sum(diff(d$x) * (y[-1] + y[-length(y)]) / 2)
  curve <- layer(post, "curve", "nugget")
  expect_equal(area(curve, curve$y), 1, tolerance = 0.02)
  expect_lt(area(curve, layer(post, "band", "nugget")$ymax), 1)
  expect_identical(in_nowhere(plot(post)), post)
})

test_that("a seed gives the same draws and leaves the random numbers where they were", {
  with_local_seed(4, {
    before <- .Random.seed
    expect_identical(gp_posterior(fit, seed = 1), post)
    expect_identical(.Random.seed, before)
    expect_false(identical(gp_posterior(fit), post))
    expect_false(identical(.Random.seed, before))
  })
})

test_that("the posterior is that of a grid of likelihoods", {
  skip_below("usual")
  d <- simulated_places(300, 2)
  fit <- gp_fit(z ~ x + y, d, kernel = k)
  target <- posterior_target(fit, gp_prior())
  top <- with_axes(posterior_mode(target))
  random <- with_local_seed(1, random_of_posterior(3, 20000))
  found <- posterior_by_polynomial(top, random)
  at <- seq(-4.5, 4.5, length.out = 19)
  axes <- Map(function(u, s) u + s * at, top$at$u, sqrt(rowSums(top$root^2)))
  pairs <- expand.grid(variance = axes[[1]], nugget = axes[[3]])
  restricted <- function(log_scale) {  # for all variances and nuggets, by the eigenvectors of the correlations
    e <- eigen(posterior_matern32(as.matrix(d[1:2]), exp(log_scale)), symmetric = TRUE)
    l <- outer(e$values, exp(pairs$variance)) + rep(exp(pairs$nugget), each = nrow(d))
    a <- drop(crossprod(e$vectors, d$z))
    b <- colSums(e$vectors)
    bb <- colSums(b^2 / l)
    -(colSums(log(l)) + log(bb) + colSums(a^2 / l) - colSums(a * b / l)^2 / bb) / 2
  }
  by_likelihood <- unlist(lapply(axes[[2]], restricted))
  u <- cbind(rep(pairs$variance, length(at)), rep(axes[[2]], each = nrow(pairs)), rep(pairs$nugget, length(at)))
  prior <- rowSums(vapply(1:3, function(k) {
    prior_kinds[[target$of$kind[k]]](u[, k], target$of$D[k], target$of$l[k])[, 1]
  }, u[, 1]))
  share <- function(log) exp(log - max(log)) / sum(exp(log - max(log)))
  exact <- share(by_likelihood + prior)
  ours <- share(found$density(t(solve(top$root, t(u) - top$at$u))))
  expect_lt(sum(abs(exact - ours)) / 2, 0.03)
  expect_lt(found$off, most_off)
  w <- share(found$log_weights)
  means <- top$at$u + as.vector(top$root %*% colSums(w * found$z))
  sds <- sqrt(colSums(exact * u^2) - colSums(exact * u)^2)
  expect_lt(max(abs(colSums(exact * u) - means) / sds), 0.06)
})

test_that("the shape of the largest weights is that of package loo", {
  skip_without_peer("loo")
  with_local_seed(1, for (heavy in c(0.2, 0.5, 1, 2)) {
    log_weights <- heavy * stats::rexp(by_tier(500, 5000, 20000))
    peer <- suppressWarnings(loo::psis(log_weights, r_eff = 1))
    expect_equal(pareto_shape(log_weights), peer$diagnostics$pareto_k, tolerance = 1e-8)
  })
})

test_that("priors integrate to 1, and have the probabilities that were asked for", {
  for (D in 1:3) {
    l <- -log(0.1) * 0.7^(D / 2)
    range <- function(t) exp(prior_kinds$range(t, D, l)[, 1])
    expect_equal(stats::integrate(range, -20, 40)$value, 1, tolerance = 1e-4)
    expect_equal(stats::integrate(range, -20, log(0.7 / 2))$value, 0.1, tolerance = 1e-4)
  }
  sd <- function(t) exp(prior_kinds$sd(t, 0, -log(0.05) / 3)[, 1])
  expect_equal(stats::integrate(sd, -40, 10)$value, 1, tolerance = 1e-4)
  expect_equal(stats::integrate(sd, 2 * log(3), 10)$value, 0.05, tolerance = 1e-4)
  for (kind in names(prior_kinds)) {
    at <- function(t) prior_kinds[[kind]](t, 2, 1)
    expect_equal(at(0.3)[2:3], (at(0.3 + 1e-5) - at(0.3 - 1e-5))[1:2] / 2e-5, tolerance = 1e-6)
  }
})

test_that("a prior says what it is, with numbers where the data tell them", {
  expect_output(print(gp_prior()), "range < a twentieth of the diameter.*sd > 3 sd of the response")
  expect_output(print(gp_prior(c(below = 2, prob = 0.1))), "P\\(range < 2\\) = 0.1; ")
  expect_identical(gp_prior(sd = c(above = 3)), gp_prior(sd = c(above = 3, prob = 0.05)))
  long <- suppressWarnings(gp_posterior(fit, prior = gp_prior(c(below = 1, prob = 0.01)), seed = 1))
  expect_gt(mean(long$scale), mean(post$scale))
  expect_warning(flat <- gp_posterior(fit, prior = "flat", seed = 1), "no finite integral",
                 class = "kernweave_warning_approximate")
  expect_output(print(flat), "flat prior")
})

test_that("what a prior cannot be is refused with the remedy", {
  refused <- function(code, text, class = "input") {
    expect_error(code, text, class = paste0("kernweave_error_", class))
  }
  refused(gp_prior(range = c(above = 2, prob = 0.05)), "below a bound, not above it: write c\\(below = , prob = \\)")
  refused(gp_prior(sd = c(below = 2, prob = 0.05)), "above a bound")
  refused(gp_prior(range = 2), "must be c\\(below = , prob = \\), not 2")
  refused(gp_prior(range = c(below = 2, p = 0.05)), "there is no `p`")
  refused(gp_prior(range = c(below = -1)), "positive and finite, not -1", "value")
  refused(gp_prior(sd = c(above = 1, prob = 1)), "between 0 and 1", "value")
  refused(gp_posterior(fit, prior = "wide"), "gp_prior\\(\\) or \"flat\", not \"wide\"")
  refused(gp_posterior(stats::lm(z ~ x, d)), "what gp_fit\\(\\) returned")
  refused(gp_posterior(fit, nsim = 0), "nsim")
  refused(predict(post[1:5, ], d), "takes what gp_posterior\\(\\) returned, whole")
  refused(predict(post, d, interval = "both"), "interval")
  given <- gp_fit(z ~ x + y, d, kernel = kernel_spec("matern32", scale = 0.2), variance = 1, nugget = 0.1)
  refused(gp_posterior(given), "are given, and have no posterior", "unsupported")
  some <- gp_fit(z ~ x + y, d, kernel = k, estimate_on = 50)
  refused(gp_posterior(some), "estimate_on = Inf", "unsupported")
  many <- replace(fit, "data", list(replace(fit$data, c("layout", "dense"),
                                            list(fit$data$layout[c(1:3, 1:3, 1), ], FALSE))))
  refused(gp_posterior(many), "7 estimated parameters are more than 6", "unsupported")
})

test_that("units of the response and of the coordinates are those of the draws", {
  skip_below("quick")
  other <- gp_posterior(gp_fit(z ~ x + y, data.frame(x = 40 * d$x, y = 40 * d$y, z = 10 * d$z), kernel = k), seed = 1)
  expect_equal(other$variance, 100 * post$variance, tolerance = 1e-3)
  expect_equal(other$nugget, 100 * post$nugget, tolerance = 1e-3)
  expect_equal(other$scale, 40 * post$scale, tolerance = 1e-3)
  by_ml <- gp_posterior(gp_fit(z ~ x + y, d, kernel = k, method = "ML"), seed = 1)
  expect_equal(by_ml$scale, post$scale, tolerance = 1e-2)
})

test_that("predictions are the average over fits with the parameters of draws", {
  skip_below("quick")
  new <- data.frame(x = c(0.5, 0.1, 1.3), y = c(0.5, 0.9, 0.2))
  found <- predict(post, new, se.fit = TRUE)
  each <- lapply(seq(1, 1000, length.out = by_tier(40, 60, 300)), function(row) {
    one <- post[row, ]
    fixed <- gp_fit(z ~ x + y, d, kernel = kernel_spec("matern32", scale = one$scale), variance = one$variance,
                    nugget = one$nugget)
    predict(fixed, new, se.fit = TRUE)
  })
  fits <- vapply(each, `[[`, numeric(3), "fit")
  ses <- vapply(each, `[[`, numeric(3), "se.fit")
  se <- sqrt(rowMeans(ses^2) + apply(fits, 1, stats::var))
  by_chance <- apply(fits, 1, stats::sd) / sqrt(ncol(fits))
  expect_lt(max(abs(found$fit - rowMeans(fits)) / (0.04 * se + 3 * by_chance)), 1)
  expect_equal(found$se.fit, se, tolerance = 0.06)
  expect_gt(found$se.fit[3], predict(fit, new, se.fit = TRUE)$se.fit[3])
  ends <- predict(post, new, interval = "prediction")
  expect_equal(unname(ends[, "upr"] - ends[, "fit"]),
               stats::qnorm(0.975) * sqrt(found$se.fit^2 + mean(post$nugget)), tolerance = 0.01)
  expect_equal(predict(post, new), found$fit)
  expect_equal(unname(predict(post)), unname(predict(post, d)))
})

test_that("weights of states have the moments that are asked for", {
  with_local_seed(1, for (p in 1:4) {
    Z <- rbind(design_of_posterior(p), matrix(stats::rnorm(10 * p), 10))
    mean <- stats::rnorm(p) / 10
    covariance <- diag(1, p) + crossprod(matrix(stats::rnorm(p^2), p)) / 50
    w <- moment_weights(Z, mean, covariance)
    expect_equal(sum(w), 1)
    expect_equal(colSums(w * Z), mean)
    expect_equal(crossprod(Z, w * Z), covariance + tcrossprod(mean))
  })
})

test_that("products give the posterior of a factor", {
  skip_below("usual")
  d <- simulated_places(250, 3)
  dense <- gp_posterior(gp_fit(z ~ x + y, d, kernel = k), seed = 1)
  fit <- suppressMessages(gp_fit(z ~ x + y, d, kernel = k, control = fit_control(dense_n = 0)))
  by_products <- suppressMessages(gp_posterior(fit, seed = 1))
  off <- (summary(by_products)[, "mean"] - summary(dense)[, "mean"]) / summary(dense)[, "sd"]
  expect_lt(max(abs(off)), 0.2)
  expect_equal(summary(by_products)[, "sd"], summary(dense)[, "sd"], tolerance = 0.2)
  new <- data.frame(x = c(0.5, 1.3), y = c(0.5, 0.2))
  expect_equal(suppressMessages(predict(by_products, new, se.fit = TRUE)$se.fit),
               predict(dense, new, se.fit = TRUE)$se.fit, tolerance = 0.05)
})

test_that("likelihoods of draws take over where a polynomial does not do, or parameters are many", {
  skip_below("usual")
  top <- with_axes(posterior_mode(posterior_target(fit, gp_prior())))
  found <- posterior_by_likelihoods(top, with_local_seed(1, random_of_posterior(3, 20000)))
  w <- exp(found$log_weights) / sum(exp(found$log_weights))
  means <- top$at$u + as.vector(top$root %*% colSums(w * found$z))
  expect_equal(unname(means), unname(colMeans(log(as.matrix(post[1:3])))), tolerance = 0.1)
  expect_lt(pareto_shape(found$log_weights), 0.7)
  expect_length(found$states, 30)
})

test_that("a nugget at its bound has a posterior", {
  x <- seq(0, 1, length.out = 30)
  fit <- suppressMessages(gp_fit(cbind(x), sin(6 * x) + x, kernel = "matern52"))
  expect_identical(fit$at_bound, "nugget")
  found <- gp_posterior(fit, seed = 1)
  expect_lt(max(found$nugget), 1e-4)
  expect_true(all(found$nugget > 0))
})

test_that("counts have a posterior, and predictions on the scale of the response", {
  skip_below("quick")
  some <- quakes[seq(1, 1000, by = 8), ]
  counts <- gp_fit(stations ~ long + lat, some, trend = ~ mag, kernel = k, family = "poisson")
  found <- gp_posterior(counts, seed = 1)
  expect_named(found[1:2], c("variance", "scale"))
  ends <- predict(found, some[1:3, ], interval = "prediction")
  expect_true(all(ends[, "lwr"] < ends[, "fit"] & ends[, "fit"] < ends[, "upr"]))
  expect_equal(log(unname(predict(found, some[1:3, ]))), unname(predict(found, some[1:3, ], type = "link")))
  expect_error(predict(found, some, type = "link", interval = "prediction"), class = "kernweave_error_input")
})

test_that("axes and smoothness are told as the fit tells them", {
  skip_below("all")
  some <- quakes[seq(1, 1000, by = 8), ]
  turned <- gp_fit(depth ~ long + lat, some, kernel = kernel_spec("matern32", aniso = TRUE))
  found <- suppressWarnings(gp_posterior(turned, seed = 1))
  expect_identical(names(found)[1:5], names(coef(turned, "covariance")))
  expect_true(all(found$ratio > 0 & found$ratio <= 1))
})

test_that("package posterior takes the draws", {
  skip_without_peer("posterior")
  draws <- posterior::as_draws_df(post)
  expect_s3_class(draws, "draws_df")
  expect_setequal(posterior::variables(draws), c("variance", "scale", "nugget", "log_posterior"))
  expect_equal(as.numeric(posterior::summarise_draws(draws, "mean")$mean[1:3]), unname(summary(post)[, "mean"]))
  expect_s3_class(posterior::as_draws(post), "draws")
})

# Parameters from their prior, data from these: the truth is any draw of the posterior.
rank_of_truth <- function(seed) {
  with_local_seed(seed, {
    n <- 100
    x <- matrix(stats::runif(2 * n), n)
    prior <- gp_prior(range = c(below = 0.2, prob = 0.05), sd = c(above = 3, prob = 0.05))
    range <- 0.2 * log(0.05) / log(stats::runif(1))
    sd <- stats::rexp(2, -log(0.05) / 3)
    A <- sd[1]^2 * posterior_matern32(x, range / 2) + diag(sd[2]^2, n)
    d <- data.frame(x = x[, 1], y = x[, 2], z = drop(crossprod(chol(A), stats::rnorm(n))))
    fit <- suppressMessages(suppressWarnings(gp_fit(z ~ x + y, d, kernel = k)))
    found <- tryCatch(suppressWarnings(gp_posterior(fit, prior = prior, seed = seed)), error = function(e) NULL)
    if (is.null(found)) return(rep(NA, 4))
    truth <- c(sd[1]^2, range / 2, sd[2]^2)
    c(colMeans(as.matrix(found[1:3]) < rep(truth, each = nrow(found))), attr(found, "about")$likelihoods > 1000)
  })
}

test_that("ranks of parameters from the prior among their draws are uniform", {
  skip_below("all")
  ranks <- t(vapply(1:200, rank_of_truth, numeric(4)))
  expect_lt(mean(is.na(ranks[, 1])), 0.02)
  for (parameter in 1:3) {
    counts <- table(cut(ranks[, parameter], seq(0, 1, by = 0.1), include.lowest = TRUE))
    expect_gt(stats::chisq.test(counts)$p.value, 0.01)
  }
  expect_lt(mean(ranks[, 4], na.rm = TRUE), 0.1)
})

test_that("grouped effects are part of the posterior, and of its predictions", {
  few <- quakes[seq(1, 1000, by = 10), ]
  few$g <- gl(10, 1, 100)
  few$z <- sqrt(few$depth) + 2 * sin(1.7 * as.integer(few$g)) + cos(2.3 * 1:100)
  fit <- gp_fit(z ~ long + lat, few, kernel = kernel_spec("matern32", scale = 4), trend = ~ (1 | g))
  post <- gp_posterior(fit, nsim = 500, seed = 1)
  expect_equal(colMeans(log(as.data.frame(post)[1:3])), log(coef(fit, "covariance")[-2]), tolerance = 0.2)
  new <- transform(few[1:3, ], g = "new")
  expect_error(predict(post, new), "new level", class = "kernweave_error_data")
  free <- predict(post, new, se.fit = TRUE, allow.new.levels = TRUE)
  without <- predict(post, new, se.fit = TRUE, re.form = NA)
  expect_equal(free$fit, without$fit)
  expect_true(all(free$se.fit^2 > without$se.fit^2 + 0.5 * coef(fit, "covariance")[["variance.g"]]))
})
