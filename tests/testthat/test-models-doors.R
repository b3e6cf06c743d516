# Tests that what users of other packages write first is answered in a sentence.

set.seed(12)
d <- data.frame(x = stats::runif(40), y = stats::runif(40), dist = stats::runif(40), site = gl(4, 10))
d$z <- sin(4 * d$x) + d$dist + stats::rnorm(40) / 5
k <- kernel_spec("matern32", scale = 0.5)
fit <- gp_fit(z ~ x + y, d, trend = ~dist, kernel = k, variance = 1, nugget = 0.1)

test_that("what is written as in other packages is answered by what to write", {
  error <- function(code, says, class = "input") {
    expect_error(code, says, fixed = TRUE, class = paste0("kernweave_error_", class))
  }
  error(knn("a"), "`x` is the text \"a\", and points are wanted")
  for (of in list(gp_fit, kernel_ridge, knn_fit)) {
    error(of("z ~ x + y", d), "a formula has no quotation marks")
    error(of(d, z ~ x), "`y` is a formula, which stands first")
  }
  error(gp_fit(z ~ x, d, family = "poison"), "\"poison\"; did you mean `poisson`?", "unsupported")
  error(gp_fit(z ~ x, d, family = "cauchy"), "not \"cauchy\"", "unsupported")
  error(fit_control(maxit = 10), "there is no argument `maxit`; did you mean `max_iter`?")
  error(gp_fit(z ~ x, d, trend = ~ s(dist)), "`s(dist)` in the trend: smooth terms are kernels", "unsupported")
  s <- function(v) v^2
  own <- gp_fit(z ~ x, d, trend = ~ s(dist), kernel = k)
  expect_equal(fitted(own), fitted(gp_fit(z ~ x, d, trend = ~ I(dist^2), kernel = k)))
  expect_length(coef(gp_fit(z ~ x, d, trend = ~ I(dist > 0.5 | dist < 0.2), kernel = k)), 2)
})

test_that("numbers that are stored as texts are refused by name, and labels are not", {
  texts <- transform(d, t = format(x), label = rep(c("12", "12a"), 20), two = rep(c("1", "2"), 20),
                     near = replace(format(x), 7, "n/a"))
  refused <- function(code, remedy, name = "t") {
    expect_said(code, "input", paste0("`", name, "` has numbers that are stored as texts"), remedy)
  }
  frame <- texts[c("t", "y")]
  for (of in list(knn, function(x) kmeans_fit(x, 2), lof_scores, hclust_fit, function(x) gp_fit(x, d$z))) {
    refused(of(frame), "as.numeric(x$t)")
    refused(of(as.matrix(frame)), "as.numeric(x$t)")
    refused(of(frame$t), "as.numeric(x)", "x")
  }
  for (of in list(gp_fit, kernel_ridge, knn_fit, local_reg)) refused(of(z ~ t + y, texts), "as.numeric(data$t)")
  refused(kernel_ridge(z ~ near, texts), "and \"n/a\"", "near")
  refused(gp_fit(z ~ x, texts, trend = ~ t), "as.numeric(t)")
  for (of in list(gp_fit, kernel_ridge, knn_fit)) refused(of(t ~ y, texts), "as.numeric()", "response")
  refused(energy_test(texts$t, texts$near), "as.numeric(x)", "x")
  expect_silent(kernel_ridge(z ~ label + two + factor(t), texts, lambda = 1))
  expect_s3_class(knn_fit(z ~ x, transform(d, z = rep(c("1", "2", "3", "4"), 10)))$y, "factor")
  labels <- kernel_ridge(z ~ t, transform(d, t = factor(rep(1:4, 10))), lambda = 1)
  expect_length(predict(labels, data.frame(t = c("1", "2", "4"))), 3)
})

test_that("a misspelt family is answered by the family that is meant, and by nothing else", {
  for (of in list(gp_fit, kernel_ridge)) {
    said <- tryCatch(of(z ~ x, d, family = "possion"), kernweave_error_unsupported = conditionMessage)
    expect_match(said, "not \"possion\"; did you mean `poisson`?", fixed = TRUE)
    expect_lt(nchar(said), 120)
  }
  expect_said(gp_fit(z ~ x, d, family = "cauchy"), "unsupported", "There are: gaussian()", "\"zip\"")
})

test_that("what methods take by name is asked for by name where it stands elsewhere", {
  at <- d[1:3, ]
  ridge <- kernel_ridge(z ~ x + y, d, lambda = 1)
  density <- kde_fit(d[c("x", "y")])
  effects <- marginal_effects(ridge)
  said <- function(code, ...) expect_said(code, "input", ...)
  said(simulate(fit, 3, at), "`seed` is an object of class data.frame", "`newdata = `")
  said(simulate(fit, 3, as.matrix(at[c("x", "y")])), "`seed` is a 3 x 2 double matrix", "`newdata = `")
  said(simulate(fit, at), "`nsim` is", "`newdata = `")
  for (other in list(ridge, density)) said(simulate(other, 3, at), "`seed` must be a whole number")
  for (other in list(fit, ridge, local_reg(z ~ x, d, bandwidth = 0.3))) {
    said(predict(other, at, "confidence"), "`se.fit` must be TRUE or FALSE", "`interval = \"confidence\"`")
    said(predict(other, at, 0.9), "`se.fit` must be TRUE or FALSE, not 0.9")
    said(update(other, at), "`formula.` must be a formula", "`data = `")
    said(fitted(other, at), "an argument too many: at")
    expect_s3_class(update(other, "z ~ y"), class(other)[1])
  }
  said(predict(density, at, at), "`log` must be TRUE or FALSE")
  for (other in list(fit, effects)) {
    said(confint(other, 0.9), "`level = 0.9`")
    said(confint(other, at), "`parm` must be names or numbers of parameters")
  }
  said(profile(fit, at), "`which` must be names or numbers")
  before <- get(".Random.seed", globalenv())
  expect_identical(simulate(density, 2, 1), simulate(density, 2, 1))
  expect_identical(get(".Random.seed", globalenv()), before)
})

test_that("arguments by the words of other packages are answered by ours", {
  said <- function(code, meant) expect_said(code, "input", paste0("did you mean `", meant, "`?"))
  test <- energy_test(d$x, d$y, R = 9)
  said(update(test, permutations = 99), "R")
  for (of in list(energy_test, mmd_test, dcor_test, hsic_test)) said(of(d$x, d$y, nperm = 99), "R")
  said(permanova(cbind(x, y) ~ site, d, permutations = 99), "R")
  said(ksd_test(d$x, function(x) -x, B = 99), "R")
  said(energy_test(d$x, grouping = d$site), "groups")
  said(kmeans_fit(d$x, k = 3), "centers")
  said(predict(fit, data = d), "newdata")
  said(predict(fit, d, conf.level = 0.9), "level")
  expect_said(update(fit, foo = 1), "input", "there is no argument `foo`; there are `x`, `data`")
})

test_that("an update finds what a fit's call names where the formula was written, and names what is gone", {
  fitted_in <- function(mine, made, form) {
    control <- fit_control(max_iter = 499)
    list(formula = gp_fit(z ~ x, mine, kernel = made, control = control), named = gp_fit(form, d, kernel = k),
         ridge = kernel_ridge(z ~ x, mine, lambda = 0.1), matrix = gp_fit(mine$x, mine$z, kernel = made))
  }
  fits <- fitted_in(d, k, z ~ x)
  expected <- coef(gp_fit(z ~ x, d, kernel = k, method = "ML"), "covariance")
  again <- update(fits$formula, method = "ML")
  expect_equal(coef(again, "covariance"), expected)
  expect_equal(coef(update(again, trend = ~ 1), "covariance"), expected)
  expect_equal(coef(update(fits$named, method = "ML"), "covariance"), expected)
  expect_equal(update(fits$ridge, lambda = 2)$fitted.values, kernel_ridge(z ~ x, d, lambda = 2)$fitted.values)
  made <- kernel_spec("gaussian", scale = 1)
  expect_identical(format(update(fits$formula, kernel = made)$data$kernel), format(made))
  mine <- d[1:30, ]  # local variables are those of the update, as update() of lm() has them
  expect_identical(nobs(update(fits$formula)), 30L)
  rm(mine, made)
  expect_error(update(fits$matrix, method = "ML"), "`made`, the `kernel` of the fit, is not there", fixed = TRUE,
               class = "kernweave_error_input")
  rm(list = "mine", envir = environment(formula(fits$formula)))
  expect_error(update(fits$formula, method = "ML"), "`mine`, the `data` of the fit, is not there", fixed = TRUE,
               class = "kernweave_error_input")
  expect_equal(coef(update(fits$formula, data = d, method = "ML"), "covariance"), expected)
})

test_that("the trend is predicted without the inputs of the kernel", {
  at <- d[3:6, ]
  for (interval in c("none", "confidence")) {
    expect_equal(predict(fit, at["dist"], type = "trend", interval = interval),
                 predict(fit, at, type = "trend", interval = interval))
  }
  expect_equal(unname(predict(fit, at["dist"], type = "trend")), as.vector(cbind(1, at$dist) %*% coef(fit)))
  constant <- gp_fit(z ~ x, d, kernel = k)
  expect_equal(unname(predict(constant, at["dist"], type = "trend")), rep(coef(constant)[[1]], 4))
  expect_error(predict(fit, at["x"], type = "trend"), "dist", class = "kernweave_error_input")
  expect_error(predict(fit, at["dist"]), "`newdata` has no variable", class = "kernweave_error_input")
})

test_that("one other row among many that are alike is no evidence, by moments as by permutations", {
  z <- replace(rep(0, 60), 7, 1)
  groups <- rep(1:2, 30)
  for (test in list(energy_test, mmd_test)) {
    arguments <- if (identical(test, mmd_test)) list(kernel = kernel_spec("gaussian", scale = 1))
    p <- function(...) do.call(test, c(list(z, groups = groups, ...), arguments))$p.value
    expect_equal(p(null = "moments"), 1)
  }
  expect_equal(energy_test(z, groups = groups, R = 99)$p.value, 1)
  expect_equal(suppressWarnings(dcor_test(z, groups, null = "moments"))$p.value, 1)
})

test_that("the warning of a residual has the tolerance that was asked for", {
  weights <- list(residual = 2.2e-9, tol = 1e-11)
  model <- fit$data
  expect_warning(kernweave:::warn_of_residual(model, weights), "residual of 2.2e-09, not 1e-11",
                 class = "kernweave_warning_convergence")
  many <- gp_fit(z ~ x + y, d, kernel = k, variance = 1, nugget = 0.1, control = fit_control(dense_n = 0, tol = 1e-4))
  model <- many$data
  system <- kernweave:::gp_system(model, model$values)
  asked <- numeric()
  noted <- function(a, b, tol, ...) {
    asked <<- c(asked, tol)
    NextMethod()
  }
  registerS3method("solve", "noting_system", noted)
  class(system) <- c("noting_system", class(system))
  found <- kernweave:::gp_weights(model, system)
  expect_equal(found$tol, asked[length(asked)])
})

test_that("a parameter that is positive by its logarithm, and would be negative, is spoken of", {
  x <- matrix(stats::runif(120), 60)
  shear <- function(x, y, scale = 1, b = 1) {
    turned <- function(z) c(z[, , 1] + b * z[, , 2], z[, , 2])
    exp(-sqdist(turned(x), turned(y)) / (2 * scale^2))
  }
  along <- function(b) {
    K <- dense_gaussian(cbind(x[, 1] + b * x[, 2], x[, 2]), 0.2)
    as.vector(crossprod(chol(K + diag(1e-8, 60)), stats::rnorm(60))) + stats::rnorm(60) / 10
  }
  sheared <- kernel_spec(shear, estimate = "b")
  expect_warning(gp_fit(x, along(-0.5), kernel = sheared), "`b`", class = "kernweave_warning_boundary")
  expect_no_warning(gp_fit(x, along(0.5), kernel = sheared), class = "kernweave_warning_boundary")
})

test_that("variograms of kernels of other inputs have no curve, and Z of places is spoken of once", {
  apart <- kernel_spec("gaussian", scale = 0.2, of = "x") * kernel_spec("gaussian", scale = 1, of = "y")
  both <- variogram(gp_fit(z ~ x + y, d, kernel = apart, variance = 1, nugget = 0.1))
  expect_null(attr(both, "about")$fitted$curve)
  expect_false(any(grepl("fitted", utils::capture.output(print(both)))))
  expect_false(is.null(attr(variogram(fit), "about")$fitted$curve))
  skip_without_peer("sf")
  places <- sf::st_as_sf(transform(d, h = 1), coords = c("x", "y", "h"))
  expect_message(high <- gp_fit(z ~ 1, places, kernel = k, variance = 1, nugget = 0.1), "Z of their points is not used")
  expect_no_message(predict(high, places[1:3, ]))
  flat <- gp_fit(z ~ x + y, d, kernel = k, variance = 1, nugget = 0.1)
  expect_equal(unname(fitted(high)), unname(fitted(flat)))
})
