# Tests what other functions make of fits with a family: the same family in every refit, or an error that says so.

q <- quakes[seq(1, 1000, by = 10), ]
k <- kernel_spec("matern32", scale = 4)
counts <- gp_fit(stations ~ long + lat, q, trend = ~ mag, kernel = k, family = poisson, method = "ML")
classes <- gp_fit(I(stations > 30) ~ long + lat, q, trend = ~ mag, kernel = k, family = binomial, method = "ML")
spread <- gp_fit(stations ~ long + lat, q, trend = ~ mag, kernel = k, family = "negbin", variance = 0.02, method = "ML")
sizes <- gp_fit(depth ~ long + lat, q, kernel = k, family = Gamma("log"), variance = 0.5, method = "ML")

test_that("a fit made again from what it keeps is the same fit", {
  for (fit in list(counts, classes, spread, sizes)) {
    again <- refitted(fit)
    label <- fit$family$family
    expect_identical(again$family$family, fit$family$family, label = label)
    expect_equal(as.numeric(logLik(again)), as.numeric(logLik(fit)), tolerance = 1e-6, label = label)
    expect_equal(coef(again), coef(fit), tolerance = 1e-3, label = label)
  }
})

test_that("terms are dropped and added, and fits compared, by likelihoods of their family", {
  flat <- update(counts, trend = ~ 1)
  ratio <- 2 * (as.numeric(logLik(counts)) - as.numeric(logLik(flat)))
  expect_equal(drop1(counts)$LRT[2], ratio, tolerance = 1e-5)
  expect_equal(suppressMessages(drop1(update(counts, method = "REML")))$LRT[2], ratio, tolerance = 1e-4)
  expect_equal(anova(flat, counts)$L.Ratio[2], ratio, tolerance = 1e-8)
  expect_equal(add1(flat, ~ . + mag)$LRT[2], ratio, tolerance = 1e-5)
})

test_that("a bootstrap draws and refits responses of the family", {
  skip_below("all")
  set.seed(2)
  d <- q
  d$y <- stats::rnbinom(100, mu = fitted(counts), size = 4)
  small <- gp_fit(y ~ long + lat, d, trend = ~ mag, kernel = k, family = poisson, method = "ML")
  large <- suppressWarnings(update(small, kernel = "matern32"))  # the scale ends at its bound
  expect_equal(anova(small, large, test = "boot", R = 19, seed = 1)[["p-value"]][2], 0.05)
})

test_that("folds that are left out are predicted on the scale of the response, by a loop of refits", {
  fold <- rep(1:4, 25)
  found <- cross_validate(counts, folds = fold, refit = TRUE)
  for (f in 1:2) {
    part <- suppressWarnings(update(counts, data = q[fold != f, ]))
    mean <- predict(part, q[fold == f, ], type = "mean")
    expect_equal(found$.fitted[fold == f], unname(mean), tolerance = 1e-3)
  }
  expect_equal(found$.resid, q$stations - found$.fitted)
  kept <- cross_validate(counts, folds = fold)
  expect_lt(summary(kept)["all", "rmse"], 1.2 * summary(found)["all", "rmse"])
  expect_true(all(kept$.lpd < 0))
  shares <- cross_validate(classes, folds = fold)
  expect_true(all(shares$.fitted > 0 & shares$.fitted < 1))
})

test_that("what is not built for a family says so", {
  ridge <- kernel_ridge(I(stations > 30) ~ mag, q, lambda = 1, family = binomial)
  refused <- list(quote(profile(counts)), quote(confint(counts, method = "profile")),
                  quote(predict(counts, q[1:2, ], block = c(0.1, 0.1))), quote(cross_validate(ridge)),
                  quote(logLik(ridge)), quote(hatvalues(ridge)))
  for (call in refused) expect_error(eval(call), class = "kernweave_error_unsupported", label = deparse1(call))
  expect_length(predict(counts, q[1:2, ], block = c(0.1, 0.1), type = "link"), 2)
  expect_true(all(unlist(simulate(ridge, 2, seed = 1)) %in% 0:1))
})

test_that("errors of blocks by all neighbours are the exact ones, with the family's noise", {
  block <- c(0.5, 0.5)
  exact <- predict(counts, q[1:2, ], block = block, type = "link", se.fit = TRUE)
  near <- local_blocks(counts, complete_nodes(counts, block_nodes(counts, q[1:2, ], block)), NULL, 0, nrow(q))
  process <- exact_block_variance(counts, complete_nodes(counts, block_nodes(counts, q[1:2, ], block)))
  expect_equal(near[, 2]^2, process, tolerance = 1e-6)
  expect_true(all(exact$se.fit^2 >= process))
})
