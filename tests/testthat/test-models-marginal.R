# The contract of marginaleffects: four functions, by which it differentiates estimates with respect to coefficients.

skip_below("usual")

# The functions as the package documents them for classes of others (its article "Supported models").
contract <- c("get_coef <- function(model, ...) UseMethod('get_coef')",
              "set_coef <- function(model, coefs, ...) UseMethod('set_coef')",
              "get_vcov <- function(model, ...) UseMethod('get_vcov')",
              "get_predict <- function(model, newdata, type, ...) UseMethod('get_predict')")
library_of_it <- if (!"marginaleffects" %in% loadedNamespaces()) stand_in("marginaleffects", contract)
their <- asNamespace(load_stand_in("marginaleffects", library_of_it))

# An estimate of predictions and its standard error by the delta method, as that package computes them.
estimated <- function(fit, of, step = 1e-5) {
  coefs <- their$get_coef(fit)
  slopes <- vapply(seq_along(coefs), function(k) {
    moved <- function(by) of(their$set_coef(fit, replace(coefs, k, coefs[[k]] + by)))
    (moved(step) - moved(-step)) / (2 * step)
  }, 0)
  V <- their$get_vcov(fit)
  expect_identical(dimnames(V), list(names(coefs), names(coefs)))
  c(of(fit), sqrt(drop(slopes %*% V %*% slopes)))
}
mean_slope <- function(data, variable, ..., step = 1e-4) {
  function(fit) {
    at <- function(by) {
      found <- their$get_predict(fit, replace(data, variable, data[[variable]] + by), ...)
      mean(found$estimate)
    }
    (at(step) - at(-step)) / (2 * step)
  }
}

set.seed(3)
plots <- data.frame(long = stats::runif(50), lat = stats::runif(50), clay = stats::rnorm(50), kind = gl(2, 25))
plots$yield <- sin(5 * plots$long) + plots$clay + stats::rnorm(50) / 5
rough <- kernel_spec("matern32", scale = 0.5)

test_that("methods have the arguments and values of the contract, and classes are admitted", {
  expect_true("kernweave_fit" %in% getOption("marginaleffects_model_classes"))
  map <- gp_fit(yield ~ long + lat, plots, trend = ~clay, kernel = rough, variance = 1, nugget = 0.1)
  expect_identical(their$get_coef(map), coef(map))
  other <- their$set_coef(map, coef(map) + 1)
  expect_identical(class(other), class(map))
  expect_identical(their$get_coef(other), coef(map) + 1)
  expect_identical(their$get_vcov(map), vcov(map))
  expect_null(their$get_vcov(map, vcov = FALSE))
  expect_identical(their$get_vcov(map, vcov = diag(2), type = "response"), diag(2))
  expect_error(their$get_vcov(map, vcov = "HC3"), "robust", class = "kernweave_error_unsupported")
  new <- cbind(plots[1:4, ], rowid = 11:14)
  found <- their$get_predict(map, newdata = new, type = "response", mfx = NULL)
  expect_identical(found, data.frame(rowid = 11:14, estimate = unname(predict(map, new))))
  expect_identical(their$get_predict(map, new[1, 1:3], "trend")$estimate,
                   predict(map, new[1, 1:3], type = "trend")[[1]])
  classes <- knn_fit(kind ~ long + lat, plots)
  found <- their$get_predict(classes, newdata = new, type = "response")
  expect_identical(names(found), c("rowid", "group", "estimate"))
  expect_identical(matrix(found$estimate, 4), unname(predict(classes, new, type = "prob")))
  expect_null(their$get_vcov(classes))
  skip_if_not_installed("insight")
  expect_equal(their$get_predict(map)$estimate, unname(fitted(map)))
})

test_that("slopes of a trend have the errors of its coefficients", {
  map <- gp_fit(yield ~ long + lat, plots, trend = ~ clay * kind, kernel = rough, variance = 1, nugget = 0.1)
  for (type in c("response", "trend")) {
    found <- estimated(map, mean_slope(plots, "clay", type = type))
    w <- c(0, 1, 0, 0.5)
    expect_equal(found, c(sum(w * coef(map)), sqrt(drop(w %*% vcov(map) %*% w))), tolerance = 1e-6)
  }
  of_place <- estimated(map, mean_slope(plots, "long"))
  expect_lt(of_place[2], 1e-6)
})

test_that("mean slopes of a ridge regression, and their errors, are those of marginal_effects()", {
  fit <- kernel_ridge(yield ~ clay + long, plots, lambda = 0.5, kernel = kernel_spec("gaussian", scale = 1.5))
  effects <- marginal_effects(fit)
  for (name in c("clay", "long")) {
    expected <- unlist(effects[name, c("estimate", "std.error")], use.names = FALSE)
    expect_equal(estimated(fit, mean_slope(plots, name)), expected, tolerance = 1e-5)
  }
  counts <- kernel_ridge(I(kind == 1) ~ clay, plots, lambda = 0.5, family = binomial)
  expect_error(their$get_vcov(counts), "vcov = FALSE", class = "kernweave_error_unsupported")
})

# Other files of tests have nothing of it.
unloadNamespace("marginaleffects")
options(marginaleffects_model_classes = NULL)
