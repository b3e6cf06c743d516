# Fits in the hands of other packages: caret's train(), emmeans, insight, posterior, broom.mixed.

# Packages that caret loads ask for the time zone, and warn where a system has no answer.
if (reaches("quick")) suppressWarnings(requireNamespace("caret", quietly = TRUE))
trained <- function(...) suppressPackageStartupMessages(caret::train(..., trControl = caret::trainControl("cv", 3)))

test_that("caret::train() tunes kernel_ridge(), and predicts as it does at the parameters found", {
  skip_without_peer("caret")
  skip_without_peer("MASS")
  houses <- MASS::Boston[201:350, ]
  grid <- expand.grid(lambda = c(0.1, 1), scale = c(1, 3))
  set.seed(1)
  found <- trained(medv ~ rm + lstat + chas, houses, method = caret_model("kernel_ridge", kernel = "matern52"),
                   tuneGrid = grid)
  best <- found$bestTune
  ours <- kernel_ridge(medv ~ rm + lstat + chas, houses, kernel = kernel_spec("matern52", scale = best$scale),
                       lambda = best$lambda)
  expect_identical(predict(found, houses), unname(predict(ours, houses)))
  expect_identical(names(found$results)[1:2], c("lambda", "scale"))
  expect_true(all(is.finite(found$results$RMSE)))
  weighed <- trained(houses[c("rm", "lstat")], houses$medv, method = caret_model("kernel_ridge"), tuneLength = 1,
                     weights = houses$tax)
  chosen <- kernel_ridge(medv ~ rm + lstat, houses, weights = tax)
  expect_equal(predict(weighed, houses[1:9, c("rm", "lstat")]), unname(predict(chosen, houses[1:9, ])))
})

test_that("caret::train() takes knn_fit() for classes and numbers, and gp_fit() without a grid", {
  skip_without_peer("caret")
  set.seed(2)
  found <- trained(Species ~ ., iris, method = caret_model("knn_fit", weights = "inverse"), tuneLength = 2)
  ours <- knn_fit(Species ~ ., iris, k = found$bestTune$k, weights = "inverse")
  expect_identical(predict(found, iris), predict(ours, iris))
  expect_equal(as.matrix(predict(found, iris, type = "prob")), predict(ours, iris, type = "prob"), ignore_attr = TRUE)
  numbers <- trained(dist ~ speed, cars, method = caret_model("knn_fit"), tuneGrid = data.frame(k = c(3, 0)))
  expect_s3_class(numbers$finalModel, "knn_fit")
  kernel <- kernel_spec("matern32", scale = 9)
  map <- trained(dist ~ speed, cars, method = caret_model("gp_fit", kernel = kernel, variance = 300, nugget = 200))
  ours <- gp_fit(dist ~ speed, cars, kernel = kernel, variance = 300, nugget = 200)
  expect_identical(predict(map, cars[1:4, ]), unname(predict(ours, cars[1:4, ])))
  expect_error(caret_model("kernel_ridge", kernal = 1), "did you mean `kernel`", class = "kernweave_error_input")
  expect_error(caret_model("gp"), NA)
  expect_error(caret_model("lm"), "`model`", class = "kernweave_error_input")
})

test_that("marginal means of a trend are those of nlme::gls() at the same covariance", {
  skip_without_peer("emmeans")
  skip_without_peer("nlme")
  places <- quakes[seq(1, 1000, by = 6), ]
  places <- places[!duplicated(places[c("long", "lat")]), ]
  places$side <- cut(places$long, c(0, 175, 182, 200), c("west", "middle", "east"))
  places$stations[3] <- NA
  complete <- places[-3, ]
  correlation <- nlme::corExp(c(3, 0.4), ~ long + lat, nugget = TRUE, fixed = TRUE)
  theirs <- nlme::gls(mag ~ side * stations, places, correlation, na.action = na.omit)
  sill <- theirs$sigma^2
  kernel <- kernel_spec("matern12", scale = 3)
  ours <- gp_fit(mag ~ long + lat, places, trend = ~ side * stations, kernel = kernel, variance = 0.6 * sill,
                 nugget = 0.4 * sill, subset = !is.na(stations))
  quietly <- function(...) suppressMessages(summary(emmeans::emmeans(...)))
  found <- quietly(ours, ~side)
  expected <- quietly(theirs, ~side, mode = "df.error", data = complete)
  expect_equal(found$emmean, expected$emmean, tolerance = 1e-8)
  expect_equal(found$SE, expected$SE, tolerance = 1e-8)
  slopes <- summary(emmeans::emtrends(ours, ~side, "stations"))$stations.trend
  expect_equal(slopes, unname(coef(theirs)[[4]] + c(0, coef(theirs)[5:6])), tolerance = 1e-8)
  expect_identical(unique(found$df), Inf)
  curved <- gp_fit(mag ~ long + lat, places, trend = ~ side + poly(lat, 2), kernel = kernel, variance = 1, nugget = 1)
  middle <- data.frame(side = levels(places$side), lat = mean(places$lat))
  expect_equal(quietly(curved, ~side)$emmean, c(kernweave:::new_trend(curved, middle, 3)$F %*% coef(curved)))
  x <- as.matrix(places[c("long", "lat")])
  of_matrix <- gp_fit(x, places$mag, trend = ~long, kernel = kernel_spec(scale = 3), variance = 1, nugget = 1)
  expect_equal(quietly(of_matrix, ~long)$emmean, sum(coef(of_matrix) * c(1, mean(x[, 1]))))
  ridge <- kernel_ridge(mag ~ long, places, lambda = 1)
  expect_error(emmeans::emmeans(ridge, ~long), "marginal_effects()", fixed = TRUE)
})

test_that("marginal means of a model with an offset have the mean offset, as those of glm() and lm()", {
  skip_without_peer("emmeans")
  set.seed(5)
  d <- data.frame(s = gl(3, 20), e = stats::runif(60, 1, 3))
  d$count <- stats::rpois(60, 2 * d$e)
  d$y <- as.integer(d$s) + log(d$e) + stats::rnorm(60)
  d$y[4] <- NA
  means <- function(fit) as.data.frame(emmeans::emmeans(fit, ~s, type = "response"))[, 2]
  counts <- gp_fit(count ~ 1, d, trend = ~ s + offset(log(e)), family = poisson, variance = 0, method = "ML")
  glm <- stats::glm(count ~ s + offset(log(e)), stats::poisson, d)
  expect_equal(means(counts), means(glm), tolerance = 1e-5)
  flat <- gp_fit(y ~ 1, d, trend = ~ s + offset(log(e)), variance = 0)
  expect_equal(means(flat), means(stats::lm(y ~ s + offset(log(e)), d)), tolerance = 1e-7)
  # beside a process: the trend at the mean offset
  process <- gp_fit(y ~ e, d, trend = ~ s + offset(log(e)), kernel = kernel_spec(scale = 1), variance = 1, nugget = 1)
  expect_equal(means(process), unname(coef(process)[[1]] + c(0, coef(process)[2:3]) + mean(log(d$e[-4]))))
})

set.seed(5)
plots <- data.frame(long = stats::runif(60), lat = stats::runif(60), clay = stats::rnorm(60), kind = gl(3, 20))
plots$yield <- sin(5 * plots$long) + plots$clay + stats::rnorm(60) / 5
plots$count <- stats::rpois(60, exp(plots$yield / 2))
rough <- kernel_spec("matern32", scale = 0.5)
process <- function(formula, trend, ...) gp_fit(formula, plots, trend = trend, kernel = rough, variance = 1, ...)

test_that("insight finds formulas, variables and data as it does those of lm(), gls() and gam()", {
  for (peer in c("insight", "nlme", "mgcv")) skip_without_peer(peer)
  ours <- process(yield ~ long + lat, ~ clay + kind, nugget = 0.1)
  theirs <- stats::lm(yield ~ clay + kind + long + lat, plots)
  smooth <- mgcv::gam(yield ~ clay + kind + s(long, lat, k = 10), data = plots)
  related <- nlme::gls(yield ~ clay + kind, plots, nlme::corExp(0.5, ~ long + lat))
  found <- insight::find_formula(ours)
  expect_equal(found$conditional, insight::find_formula(related)$conditional, ignore_formula_env = TRUE)
  expect_equal(found$correlation, ~ long + lat, ignore_formula_env = TRUE)
  expect_identical(class(found), class(insight::find_formula(theirs)))
  for (peer in list(theirs, smooth)) {
    expect_identical(insight::find_predictors(ours, flatten = TRUE), insight::find_predictors(peer, flatten = TRUE))
    expect_identical(insight::find_response(ours), insight::find_response(peer))
    for (part in list(insight::get_data, insight::get_predictors)) {
      theirs_of <- part(peer, verbose = FALSE)
      expect_equal(part(ours, verbose = FALSE)[names(theirs_of)], theirs_of, ignore_attr = TRUE)
    }
    expect_identical(names(insight::model_info(ours)), names(insight::model_info(theirs)))
  }
  expect_identical(insight::find_parameters(ours), insight::find_parameters(related))
  expect_identical(dim(insight::get_parameters(ours)), dim(insight::get_parameters(related)))
  expect_true(insight::model_info(ours)$is_linear)
  constant <- process(yield ~ long + lat, ~1, nugget = 0.1)
  expect_identical(insight::find_predictors(constant, flatten = TRUE), c("long", "lat"))
  expect_setequal(names(insight::get_data(constant, verbose = FALSE)), c("yield", "long", "lat"))
  expect_null(insight::find_formula(gp_fit(plots[1:2], plots$yield, kernel = rough, variance = 1, nugget = 0.1)))
  classes <- insight::model_info(knn_fit(kind ~ long + lat, plots))
  expect_true(classes$is_multinomial && !classes$is_linear)
})

test_that("insight finds grouped effects, statistics, degrees of freedom and likelihoods", {
  for (peer in c("insight", "lme4", "nlme")) skip_without_peer(peer)
  ours <- suppressWarnings(process(yield ~ long + lat, ~ clay + (1 + clay | kind), nugget = 0.1))
  theirs <- suppressMessages(lme4::lmer(yield ~ clay + (1 + clay | kind), plots))
  found <- insight::find_formula(ours)
  expect_equal(found[c("conditional", "random")], unclass(insight::find_formula(theirs))[c("conditional", "random")],
               ignore_attr = TRUE)
  expect_identical(insight::find_random(ours), insight::find_random(theirs))
  expect_true(insight::is_mixed_model(ours))
  expect_setequal(names(insight::get_data(ours, verbose = FALSE)), c("yield", "clay", "kind", "long", "lat"))
  apart <- suppressWarnings(process(yield ~ long + lat, ~ (1 | kind) + (0 + clay | kind), nugget = 0.1))
  expect_equal(insight::find_formula(apart)$random, list(~ 1 | kind, ~ 0 + clay | kind), ignore_formula_env = TRUE,
               ignore_attr = TRUE)
  map <- process(yield ~ long + lat, ~ clay + kind, nugget = 0.1)
  related <- nlme::gls(yield ~ clay + kind, plots)
  peer <- insight::get_statistic(related)
  statistic <- insight::get_statistic(map)
  expect_identical(statistic$Parameter, peer$Parameter)
  expect_equal(statistic$Statistic, unname(summary(map)$coefficients[, 3]))
  expect_identical(attr(statistic, "statistic"), "z-statistic")
  expect_identical(insight::get_df(map, type = "wald"), Inf)
  expect_identical(insight::get_df(map), df.residual(map))
  expect_identical(insight::get_df(map, type = "model"), attr(logLik(map), "df"))
  expect_identical(insight::get_loglikelihood(map), logLik(map))
  expect_identical(insight::get_varcov(map), vcov(map))
})

test_that("insight's predictions are those of predict(), in the shape of those of lm() and glm()", {
  skip_without_peer("insight")
  new <- plots[1:4, ]
  same <- function(ours, theirs, ...) {
    found <- insight::get_predicted(ours, data = new, ...)
    peer <- insight::get_predicted(theirs, data = new, ...)
    expect_identical(class(found), class(peer))
    expect_identical(names(as.data.frame(found)), names(as.data.frame(peer)))
    as.data.frame(found)
  }
  columns <- function(fit, ...) {
    found <- predict(fit, new, se.fit = TRUE, level = 0.8, ...)
    data.frame(found$fit, se = found$se.fit)[c(1, 4, 2, 3)]
  }
  linear <- stats::lm(yield ~ clay, plots)
  fits <- list(process(yield ~ long + lat, ~clay, nugget = 0.1),
               kernel_ridge(yield ~ long + clay, plots, lambda = 0.1, kernel = rough),
               local_reg(yield ~ clay, plots, bandwidth = 1))
  for (fit in fits) {
    expect_equal(same(fit, linear)$Predicted, unname(predict(fit, new)))
    expect_equal(same(fit, linear, ci = 0.8), columns(fit, interval = "confidence"), ignore_attr = TRUE)
    ahead <- same(fit, linear, ci = 0.8, predict = "prediction")
    expect_equal(ahead[c(1, 3, 4)], columns(fit, interval = "prediction")[c(1, 3, 4)], ignore_attr = TRUE)
    expect_equal(ahead$CI_high - ahead$CI_low, 2 * stats::qt(0.9, predict(fit, new, se.fit = TRUE)$df) * ahead$SE)
    same(fit, linear, ci = c(0.5, 0.9))
    expect_equal(as.vector(insight::get_predicted(fit)), unname(fitted(fit)))
  }
  counts <- process(count ~ long + lat, ~clay, family = "poisson")
  theirs <- stats::glm(count ~ clay, stats::poisson, plots)
  expect_equal(same(counts, theirs, ci = 0.8), columns(counts, interval = "confidence"), ignore_attr = TRUE)
  expect_equal(same(counts, theirs, predict = "link")$Predicted, unname(predict(counts, new, type = "link")))
  ahead <- same(counts, theirs, ci = 0.8, predict = "prediction")
  expect_equal(ahead[-1], columns(counts, interval = "prediction")[3:4], ignore_attr = TRUE)
  expect_equal(insight::link_inverse(counts)(0.3), exp(0.3))
  expect_true(insight::model_info(counts)$is_poisson)
  near <- knn_fit(kind ~ long + lat, plots)
  expect_identical(as.character(insight::get_predicted(near, predict = "classification")), as.character(fitted(near)))
  expect_error(insight::get_predicted(near), "classification", class = "kernweave_error_unsupported")
  expect_error(insight::get_predicted(fits[[1]], predict = "classification"), "expectation",
               class = "kernweave_error_unsupported")
  curve <- rbf_interpolate(yield ~ clay, plots, lambda = 1)
  expect_error(insight::get_predicted(curve, ci = 0.9), "leave out `ci`", class = "kernweave_error_unsupported")
})

test_that("simulated draws are draws of the posterior package, a variable for each row", {
  skip_without_peer("posterior")
  fit <- process(yield ~ long + lat, ~clay, nugget = 0.1)
  drawn <- simulate(fit, 5, seed = 1, newdata = plots[c(7, 3), ])
  table <- posterior::as_draws_df(drawn)
  expect_s3_class(table, "draws_df")
  expect_identical(posterior::variables(table), c("sim[1]", "sim[2]"))
  expect_identical(table[["sim[2]"]], unname(unlist(drawn[2, ])))
  expect_identical(posterior::as_draws(drawn), table)
  expect_equal(posterior::as_draws_matrix(drawn), posterior::as_draws_matrix(table))
  expect_equal(as.numeric(posterior::summarise_draws(drawn)$mean), unname(rowMeans(drawn)))
  expect_identical(dim(posterior::as_draws_rvars(drawn)$sim), 2L)
  ridge <- kernel_ridge(yield ~ clay, plots, lambda = 1, kernel = rough)
  expect_identical(posterior::ndraws(posterior::as_draws(simulate(ridge, 3, seed = 1))), 3L)
})

test_that("tidy() has the rows and columns of a mixed model", {
  for (peer in c("broom.mixed", "lme4")) skip_without_peer(peer)
  mixed <- suppressMessages(lme4::lmer(yield ~ clay + (1 | kind), plots))
  theirs <- broom.mixed::tidy(mixed, effects = c("fixed", "ran_pars"), conf.int = TRUE)
  ours <- generics::tidy(process(yield ~ long + lat, ~clay), effects = c("fixed", "ran_pars"))
  expect_identical(names(ours), names(theirs))
  expect_identical(vapply(ours, typeof, ""), vapply(theirs, typeof, ""))
  fixed <- theirs$effect == "fixed"
  expect_identical(as.data.frame(ours[1:2, 1:3]), as.data.frame(theirs[fixed, 1:3]))
  expect_identical(ours$group[3:5], c("process", "process", "Residual"))
  expect_identical(ours$group[nrow(ours)], theirs$group[nrow(theirs)])
})
