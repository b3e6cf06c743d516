# Gaussian processes behind other families: value, gradient and mode against numbers of dense base R, estimates against
# mgcv, and what users meet.

q <- family_places()
k <- kernel_spec("matern32", scale = 4)
left <- family_formulas
families <- known_families
fits <- Map(function(formula, family) gp_fit(formula, q, kernel = k, family = family), left, families)

# The model of a fit at variance 1, scale 4 and phi 5, where both of these are estimated.
state_at <- function(fit, ...) {
  model <- fit$data
  scale <- data.frame(label = "scale", part = "kernel", name = "scale", index = 1, link = "log")
  model$layout <- rbind(model$layout[1, ], scale, model$layout[-1, ])
  model$values$variance <- 1
  if (!is.null(model$values$phi)) model$values$phi <- 5
  gp_state_at(utils::modifyList(model, list(...)))
}

test_that("value, coefficient, mode and gradient are those of dense base R", {
  values <- cbind(binomial = c(-136.11601539, -136.25783664, -0.23906013, -0.78135184),
                  poisson = c(-1371.3412008, -1371.2971235, 3.3022714, 3.4218933),
                  Gamma = c(-1206.6908924, -1206.6768703, 4.9847042, 6.2939603),
                  negbin = c(-864.91979909, -864.91139891, 3.4174067, 3.3356817))
  gradients <- list(binomial = c(-2.037700, 1.145369), poisson = c(75.59118, -229.31068),
                    Gamma = c(-2.389244, 9.656261, 41.281432), negbin = c(-7.374365, 4.981473, -22.605582))
  for (name in names(fits)) {
    at <- state_at(fits[[name]])
    b <- at$weights$b / at$model$R[1, 1]
    expect_equal(c(at$value, state_at(fits[[name]], method = "ML")$value, b, at$e[1]), values[, name],
                 tolerance = 1e-7, label = name)
    expect_equal(unname(at$score), gradients[[name]], tolerance = 1e-5, label = name)
  }
})

test_that("gradients are limits of differences, by REML and ML, with weights, offsets and a trend", {
  skip_if_not_installed("numDeriv")
  few <- q[seq(1, 200, by = 4), ]
  few$w <- rep(1:3, length.out = 50)
  for (method in c("REML", "ML")) for (name in c("probit", names(families))) {
    family <- if (name == "probit") binomial("probit") else families[[name]]
    formula <- if (name == "probit") left$binomial else left[[name]]
    settings <- kernweave:::gp_settings(kernel_spec("matern32"), NULL, NULL, method, Inf, fit_control(),
                                        kernweave:::as_family(family))
    y <- eval(formula[[2]], few)
    trend <- kernweave:::trend_variables(~ mag + offset(mag / 10), few)
    response <- kernweave:::family_response(settings$family, y, few$w, 50)
    model <- kernweave:::family_model(kernweave:::fit_matrix(few[c("long", "lat")]), response,
                                      kernweave:::trend_columns(trend, trend$frame, 50), settings)
    theta <- gp_theta_of(model) + 0.3
    by_differences <- numDeriv::grad(function(theta) gp_state_at(model, theta)$value, theta, "simple",
                                     method.args = list(eps = 1e-5))
    expect_equal(unname(gp_state_at(model, theta)$score), by_differences, tolerance = 2e-3, label = paste(name, method))
  }
})

test_that("standard errors are of the curvature of the likelihood", {
  skip_if_not_installed("numDeriv")
  for (name in c("Gamma", "negbin")) {
    model <- fits[[name]]$data
    H <- numDeriv::hessian(function(theta) gp_state_at(model, theta)$value, gp_theta_of(model))
    expect_equal(unname(vcov(fits[[name]], "covariance")), solve(-H), tolerance = 1e-3, label = name)
  }
})

test_that("estimates, linear predictors and their errors are those of mgcv", {
  tops <- c(binomial = -134.4029205, poisson = -1062.14640, Gamma = -1190.628994, negbin = -849.9798313)
  for (name in names(fits)) expect_equal(as.numeric(logLik(fits[[name]])), tops[[name]], tolerance = 1e-6, label = name)
  expect_equal(fits$binomial$variance, 0.1170994, tolerance = 1e-4)
  expect_equal(coef(fits$negbin, "covariance")[["size"]], 3.37602, tolerance = 1e-4)
  expect_equal(coef(fits$Gamma, "covariance")[["shape"]], 10.3172, tolerance = 1e-4)
  expect_equal(fits$Gamma$dispersion, 1 / 10.3172, tolerance = 1e-4)
  expect_equal(predict(fits$binomial, se.fit = TRUE, type = "link")$se.fit[[1]], 0.230575, tolerance = 1e-4)
  skip_without_peer("mgcv")
  tight <- mgcv::gam.control(epsilon = 1e-12, newton = list(conv.tol = 1e-10))
  peer <- function(formula, family) {
    mgcv::gam(formula, family = family, data = q, method = "REML", control = tight)
  }
  s <- mgcv::s
  gam <- peer(many ~ s(long, lat, bs = "gp", m = c(-3, 4 / sqrt(3)), k = 200), binomial())
  expect_equal(-as.numeric(logLik(fits$binomial)), gam$gcv.ubre[[1]], tolerance = 1e-6)
  theirs <- predict(gam, q[1:9, ], se.fit = TRUE)
  ours <- predict(fits$binomial, q[1:9, ], se.fit = TRUE, type = "link")
  expect_equal(unname(ours$fit), as.vector(theirs$fit), tolerance = 1e-4)
  expect_equal(unname(ours$se.fit), as.vector(theirs$se.fit), tolerance = 1e-4)
})

test_that("without a trend the mode of the logit is that of kernlab::gausspr()", {
  skip_without_peer("kernlab")
  x <- as.matrix(q[c("long", "lat")])
  fit <- gp_fit(x, q$many, trend = ~ 0, kernel = kernel_spec("gaussian", scale = 2), variance = 1,
                family = "binomial")
  peer <- kernlab::gausspr(x, factor(q$many), type = "classification", kernel = "rbfdot",
                           kpar = list(sigma = 1 / 8), scaled = FALSE, tol = 1e-12)
  theirs <- kernlab::predict(peer, x, type = "probabilities")[, 2]
  expect_equal(unname(fitted(fit)), as.vector(theirs), tolerance = 1e-8)
})

test_that("predictions agree on all scales, and their intervals and draws with these", {
  at <- data.frame(long = c(181, 184, NA, 175), lat = c(-18, -30, -20, -15))
  for (name in names(fits)) {
    fit <- fits[[name]]
    scale <- family(fit)
    link <- predict(fit, at, se.fit = TRUE, type = "link", interval = "confidence")
    response <- predict(fit, at, se.fit = TRUE, interval = "confidence")
    expect_equal(response$fit, structure(scale$linkinv(link$fit), dimnames = dimnames(link$fit)), label = name)
    expect_equal(response$se.fit, scale$mu.eta(link$fit[, 1]) * link$se.fit, ignore_attr = TRUE)
    expect_equal(predict(fit, q), fitted(fit), tolerance = 1e-8)
    draws <- scale$linkfun(as.matrix(simulate(fit, 2000, seed = 1, newdata = at)[-3, ]))
    expect_equal(apply(draws, 1, sd), link$se.fit[-3], tolerance = 0.1, ignore_attr = TRUE)
    mean <- predict(fit, at, type = "mean")[-3]
    small <- link$se.fit[-3] < 1  # of others draws do not tell the mean
    expect_equal(mean[small], rowMeans(scale$linkinv(draws))[small], tolerance = 0.1, ignore_attr = TRUE)
    if (name == "binomial") next
    wide <- predict(fit, at, interval = "prediction", level = 0.9)[-3, ]
    observations <- as.matrix(simulate(fit, 2000, seed = 1, newdata = at, noise = TRUE)[-3, ])
    expect_true(all(abs(rowMeans(observations >= wide[, 2] & observations <= wide[, 3]) - 0.9) < 0.06), label = name)
    if (name != "Gamma") expect_equal(wide[, 2:3], round(wide[, 2:3]))
  }
  expect_error(predict(fits$binomial, at, interval = "prediction"), class = "kernweave_error_unsupported")
  expect_error(predict(fits$poisson, at, interval = "prediction", type = "link"), class = "kernweave_error_input")
})

test_that("residuals, deviance and data frames are those that glm() would have of these means", {
  for (name in names(fits)) {
    fit <- fits[[name]]
    y <- unname(fitted(fit) + residuals(fit))
    m <- unname(fitted(fit))
    scale <- family(fit)
    expect_equal(deviance(fit), sum(residuals(fit, "deviance")^2))
    expect_equal(unname(residuals(fit, "pearson")), (y - m) / sqrt(scale$variance(m)))
    expect_equal(unname(residuals(fit, "working")), (y - m) / scale$mu.eta(scale$linkfun(m)))
    expect_gt(fit$null.deviance, deviance(fit))
    expect_equal(fit$null.deviance, glm(y ~ 1, scale)$deviance, tolerance = 1e-6)
    expect_output(print(fit), paste0(".*, ", if (name == "negbin") "negative binomial" else name, " \\("))
    if (!requireNamespace("generics", quietly = TRUE)) next
    expect_identical(generics::glance(fit)$deviance, deviance(fit))
    expect_equal(generics::augment(fit)$.fitted, m)
    expect_true(all(names(coef(fit, "covariance")) %in% generics::tidy(fit)$term))
  }
})

test_that("leaving one out is near to fits without that row", {
  smooth <- gp_fit(stations ~ long + lat, q, kernel = k, variance = 0.3, family = poisson)
  found <- residuals(smooth, "loo")
  for (row in c(3, 77)) {
    without <- gp_fit(stations ~ long + lat, q[-row, ], kernel = k, variance = 0.3, family = poisson)
    expect_lt(abs(log(q$stations[row] - found[[row]]) - log(predict(without, q[row, ])[[1]])), 0.02)
  }
})

test_that("leverages, standardised residuals and Cook's distances are glm()'s where the kernel is next to none", {
  q$w <- rep(c(1, 2, 0), length.out = nrow(q))
  heavy <- row.names(q)[q$w > 0]
  for (name in c("binomial", "poisson")) {  # the curvature of others depends on what was observed
    linear <- gp_fit(left[[name]], q, kernel = k, variance = 1e-9, family = families[[name]], trend = ~ mag,
                     weights = w)
    known <- glm(stats::reformulate("mag", left[[name]][[2]]), families[[name]], q, weights = w)
    h <- hatvalues(known)[heavy]
    expect_equal(hatvalues(linear)[heavy], h, tolerance = 1e-4, label = name)
    # rstandard() of R 4.6 leaves weights out
    expect_equal(rstandard(linear)[heavy], residuals(known)[heavy] / sqrt(1 - h), tolerance = 1e-4, label = name)
    expect_equal(cooks.distance(linear)[heavy], cooks.distance(known)[heavy], tolerance = 1e-3, label = name)
  }
})

test_that("pictures of a fit with a family are those of others, and overdispersion is on a bound", {
  for (name in c("binomial", "negbin")) {
    fit <- fits[[name]]
    expect_true(all(hatvalues(fit) > 0 & hatvalues(fit) < 1), label = name)
    grDevices::pdf(NULL)
    expect_identical(plot(fit, which = 1:6), fit, label = name)
    grDevices::dev.off()
  }
  over <- anova(gp_fit(left$poisson, q, kernel = k, family = poisson(), method = "ML"),
                gp_fit(left$negbin, q, kernel = k, family = "negbin", method = "ML"))
  expect_identical(over[["p-value"]][2], NA_real_)
  expect_match(attr(over, "notes"), "the overdispersion of the smaller model is on its bound")
})
