# Kernel ridge regressions of other families: glm() where the penalty vanishes, gp_fit() where it is a variance.

skip_if_not_installed("MASS")
d <- MASS::Pima.tr
d$counts <- round(d$glu / 10)
fit <- kernel_ridge(type ~ glu + bmi + age + ped, d, family = binomial)

test_that("of a linear kernel and hardly any penalty the fit is that of glm(), with its standard errors", {
  cases <- list(binomial(), binomial("probit"), poisson(), Gamma("log"), MASS::negative.binomial(3))
  for (family in cases) {
    formula <- if (family$family == "binomial") type ~ bmi + ped else counts ~ bmi + ped
    ours <- kernel_ridge(formula, d, kernel = "linear", lambda = 1e-7, family = family)
    theirs <- glm(formula, family, d, control = glm.control(epsilon = 1e-14, maxit = 100))
    label <- paste(family$family, family$link)
    expect_equal(unname(fitted(ours)), unname(fitted(theirs)), tolerance = 1e-5, label = label)
    expect_equal(c(deviance(ours), ours$null.deviance), c(deviance(theirs), theirs$null.deviance), tolerance = 1e-6)
    expect_equal(ours$edf, 2, tolerance = 1e-4, label = label)
    for (type in c("deviance", "pearson", "working")) {
      expect_equal(unname(residuals(ours, type)), unname(residuals(theirs, type)), tolerance = 1e-4, label = type)
    }
    if (family$family == "Gamma") next  # whose W is the expected one there
    of_link <- predict(ours, d[1:5, ], se.fit = TRUE, type = "link")
    peer <- predict(theirs, d[1:5, ], se.fit = TRUE, dispersion = 1)
    tol <- if (family$link == "log" && family$family != "poisson" || family$link == "probit") 0.1 else 1e-4
    expect_equal(of_link$se.fit, unname(peer$se.fit), tolerance = tol, ignore_attr = TRUE, label = label)
  }
})

test_that("the fit is the mode of a process of variance 1 / lambda, and by products the same", {
  inputs <- scale(as.matrix(d[c("glu", "bmi", "age", "ped")]))
  process <- gp_fit(inputs, d$type, kernel = fit$kernel, variance = 1 / fit$lambda, family = binomial)
  expect_equal(unname(fit$linear.predictors), unname(process$linear.predictors), tolerance = 1e-9)
  expect_equal(unname(residuals(fit, "loo")), unname(residuals(process, "loo")), tolerance = 1e-8)
  lazy <- update(fit, lambda = fit$lambda, control = fit_control(dense_n = 0))
  expect_equal(unname(lazy$linear.predictors), unname(fit$linear.predictors), tolerance = 1e-6)
  expect_lt(abs(lazy$edf - fit$edf), 4 * lazy$edf_se + 1e-3)
  at <- d[1:3, ]
  expect_equal(predict(lazy, at, interval = "confidence"), predict(fit, at, interval = "confidence"), tolerance = 1e-5)
  expect_error(residuals(lazy, "loo"), class = "kernweave_error_unsupported")
})

test_that("penalties are where their criterion is least, or the best of those given", {
  expect_identical(fit$method, "leave-one-out deviance")
  loo <- function(lambda) {
    one <- update(fit, lambda = lambda)
    mean <- family(one)$linkinv(one$left_out)
    sum(family(one)$dev.resids(as.numeric(d$type == "Yes"), mean, 1))
  }
  around <- vapply(fit$lambda * c(1 / 3, 1, 3), loo, 0)
  expect_identical(which.min(around), 2L)
  best <- update(fit, lambda = c(0.01, 0.5, 10))
  expect_identical(best$lambda, 0.5)
  lazy <- update(fit, control = fit_control(dense_n = 0))
  expect_lt(abs(log(lazy$lambda / fit$lambda)), log(4))
  expect_error(update(fit, lambda = "gcv"), class = "kernweave_error_unsupported")
  expect_error(update(fit, lambda = "loo", control = fit_control(dense_n = 0)), class = "kernweave_error_unsupported")
  expect_error(update(fit, family = "negbin"), "negative.binomial\\(size\\)", class = "kernweave_error_unsupported")
})

test_that("effects are derivatives of the linear predictor, or of the mean, and contrasts their differences", {
  h <- 1e-4
  up <- down <- d
  up$bmi <- d$bmi + h
  down$bmi <- d$bmi - h
  for (type in c("link", "response")) {
    found <- marginal_effects(fit, type = type)
    slopes <- unname(predict(fit, up, type = type) - predict(fit, down, type = type)) / (2 * h)
    expect_equal(unname(attr(found, "pointwise")[, "bmi"]), slopes, tolerance = 1e-5, label = type)
    expect_true(all(found$std.error > 0))
  }
  d$old <- factor(d$age > 30)
  two <- kernel_ridge(type ~ glu + old, d, family = binomial, lambda = 0.5)
  high <- low <- d
  high$old[] <- "TRUE"
  low$old[] <- "FALSE"
  found <- marginal_effects(two, "old", type = "response")
  expect_equal(found$estimate, mean(predict(two, high) - predict(two, low)))
})

test_that("print, glance, augment and pictures are on the response's scale", {
  expect_output(print(fit), "binomial \\(logit\\).*deviance .* \\(explained [0-9.]+ %\\)")
  expect_equal(fit$r.squared, 1 - deviance(fit) / fit$null.deviance)
  expect_identical(family(fit)$link, "logit")
  curve <- plot_data(kernel_ridge(counts ~ bmi, d, family = poisson, lambda = 1), "curve")
  expect_true(all(curve$layers$curve$y > 0))
  skip_if_not_installed("generics")
  expect_equal(generics::glance(fit)$deviance, deviance(fit))
  expect_equal(generics::augment(fit)$.fitted, unname(fitted(fit)))
})

test_that("the class of a prediction is the likelier one, with the levels of the response", {
  process <- gp_fit(type ~ glu + bmi, d, kernel = kernel_spec(scale = 30), variance = 4, family = binomial)
  at <- d[1:20, ]
  at$glu[3] <- NA
  for (one in list(list(process, "mean"), list(fit, "response"))) {
    p <- predict(one[[1]], at, type = one[[2]])
    class <- predict(one[[1]], at, type = "class")
    expect_identical(levels(class), levels(d$type))
    expect_identical(as.vector(class), ifelse(unname(p) > 0.5, "Yes", "No"))
    expect_equal(predict(one[[1]], at, type = "prob")[, "Yes"], p)
    expect_error(predict(one[[1]], at, se.fit = TRUE, type = "class"), class = "kernweave_error_unsupported")
  }
  counts <- gp_fit(counts ~ glu, d, kernel = kernel_spec(scale = 30), variance = 4, family = poisson)
  expect_error(predict(counts, type = "class"), "two classes", class = "kernweave_error_unsupported")
})
