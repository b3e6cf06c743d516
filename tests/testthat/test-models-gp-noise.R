# Gaussian processes without noise: the nugget's bound moves no other estimate, or says by how much.

# A field without noise, of many points to a scale.
calm <- function(n, nu = 2.5, seed = 3) {
  set.seed(seed)
  x <- sqrt(n / 1e4) * matrix(stats::runif(2 * n), n)
  K <- as.matrix(kernel_matern(x, scale = 0.08, nu = nu))
  list(x = x, y = as.vector(crossprod(chol(K), stats::rnorm(n))))
}
kernel_of <- function(nu) c("matern12", "matern32", "matern52")[nu + 0.5]
fitted_to <- function(data, nu = 2.5, ..., n = Inf, by = NULL) {
  control <- fit_control(dense_n = if (is.finite(n)) n else length(data$y), approximate = by)
  suppressMessages(gp_fit(data$x, data$y, kernel = kernel_of(nu), control = control, ...))
}
# Returns the largest difference of estimates from those of another fit, in its standard errors.
errors_apart <- function(fit, other) {
  V <- vcov(other, "covariance")
  names <- setdiff(colnames(V), "nugget")
  apart <- log(coef(fit, "covariance") / coef(other, "covariance"))[names]
  max(abs(apart) / sqrt(diag(V)[names]))
}

test_that("without noise an estimated nugget leaves the others where nugget = 0 has them, by all kinds of products", {
  skip_below("quick")
  held("prices_of_pairs", function(...) c(1e4, 160000), environment())
  for (nu in if (reaches("all")) c(0.5, 1.5, 2.5) else 2.5) {
    data <- calm(by_tier(150, 300, 500), nu)
    exact <- fitted_to(data, nu, nugget = 0)
    for (free in c(TRUE, FALSE)) for (way in list(list(n = Inf), list(n = 0), list(n = 0, by = TRUE))) {
      nugget <- if (!free) 0
      fit <- fitted_to(data, nu, nugget = nugget, n = way$n, by = way$by)
      label <- paste(nu, if (free) "free" else "0", way$n, way$by)
      expect_lt(errors_apart(fit, exact), 0.1, label = label)
      if (nu == 2.5) expect_lt(abs(as.numeric(logLik(fit)) - as.numeric(logLik(exact))), 1, label = label)
      if (free) expect_lt(fit$nugget, 1e-5 * fit$variance, label = label)
    }
  }
})

test_that("the units of a response without noise, and of its places, change nothing else", {
  skip_below("quick")
  data <- calm(120)
  first <- fitted_to(data)
  expect_identical(first$at_bound, "nugget")
  for (by in c(1e6, 1e-6)) {
    other <- fitted_to(list(x = 1e3 * data$x, y = by * data$y))
    expect_equal(coef(other, "covariance") / c(by^2, 1e3, by^2), coef(first, "covariance"), tolerance = 1e-3)
    expect_identical(other$at_bound, "nugget")
  }
})

test_that("what a message says of a bound is what it does, and a bound that does much is lowered", {
  skip_below("quick")
  data <- calm(200)
  exact <- fitted_to(data, nugget = 0)
  spread <- stats::var(data$y)
  floors <- c(1e-9, 1e-10)
  fits <- lapply(floors, function(nugget) fitted_to(data, nugget = nugget * spread))
  held("nugget_floor", function(model) c(least = 1e-9, ratio = 1e-10), environment())
  held("little_moved", Inf, environment())
  expect_message(once <- gp_fit(data$x, data$y), "show no noise.*with ten times as much, `variance` would be")
  expect_equal(once$nugget, 1e-10 * spread, tolerance = 1e-2)
  told <- capture_messages(gp_fit(data$x, data$y))
  told <- as.numeric(sub(".*`variance` would be ([0-9.]+) %.*", "\\1", told)) / 100
  expect_equal(told, abs(fits[[1]]$variance / fits[[2]]$variance - 1), tolerance = 0.1)
  held("little_moved", 1e-3, environment())
  lowered <- suppressWarnings(fitted_to(data))
  expect_lt(lowered$nugget, 1e-10 * spread)
  expect_lt(errors_apart(lowered, exact), errors_apart(fits[[1]], exact) / 5)
})

test_that("a bound that cannot be lowered enough is told with what it does", {
  skip_below("quick")
  expect_warning(fit <- gp_fit(1:60, sin(1:60 / 4), kernel = "gaussian"),
                 "on which other estimates depend: .* a rougher kernel",
                 class = "kernweave_warning_boundary")
  expect_identical(fit$at_bound, "nugget")
  given <- fit_control(lower = c(nugget = 1e-3))
  expect_warning(held <- gp_fit(1:60, sin(1:60 / 4), control = given), "bound of fit_control",
                 class = "kernweave_warning_boundary")
  expect_equal(held$nugget, 1e-3)
})

test_that("nugget = 0 by series is fitted where these are definite, and is else refused with what would do", {
  skip_below("quick")
  held("prices_of_pairs", function(...) c(1e4, 160000), environment())
  data <- calm(400, 1.5)
  smooth <- function(nugget) {
    gp_fit(data$x, data$y, kernel = kernel_spec("gaussian", scale = 0.2), variance = 1, nugget = nugget,
           control = fit_control(dense_n = 0, approximate = TRUE))
  }
  error <- tryCatch(smooth(0), error = identity)
  expect_true(inherits(error, c("kernweave_error_singular", "kernweave_error_tolerance")))
  expect_match(conditionMessage(error), "nugget of [0-9.e-]+, or a rougher kernel|nugget of [0-9.e-]+ would help")
  expect_message(fit <- gp_fit(data$x, data$y, kernel = "matern32", estimate_on = 150,
                               control = fit_control(dense_n = 200, approximate = TRUE)), "show no noise")
  expect_lt(max(abs(fitted(fit) - data$y)), 1e-4 * stats::sd(data$y))
})
