# Functions for optimisers: the vector, the kept history, and what is not positive definite.

test_that("value, gradient and Hessian of the vector are those of the arguments", {
  f <- function(a, b, shift) sum((a - 1)^2) * b$s + prod(b$v) + shift
  start <- list(a = c(x = 1, y = 2), b = list(s = 3, k = 2L, v = c(1, 4)))
  o <- objective(f, start, shift = 10)
  expect_identical(o$par, c(a.x = 1, a.y = 2, b.s = 3, b.v1 = 1, b.v2 = 4))
  par <- o$par + 0.5
  expect_identical(o$arguments(par), list(a = c(x = 1.5, y = 2.5), b = list(s = 3.5, k = 2L, v = c(1.5, 4.5))))
  expect_identical(o$fn(par), do.call(f, c(o$arguments(par), shift = 10)))
  expect_equal(o$gr(par), differences(o$fn, par), tolerance = 1e-6)
  expect_equal(o$he(par)[, 3], differences(function(p) o$gr(p)[3], par), tolerance = 1e-6)
  expect_identical(dimnames(o$he(par)), list(names(par), names(par)))
  expect_identical(objective(function(x) sum(x^2), c(1, 2))$gr(c(3, 4)), c(6, 8))
  expect_error(o$fn(1:2), "`par`", class = "kernweave_error_shape")
  expect_output(print(o), "objective of 5 numbers")
})

test_that("the function runs once for value and gradient at a point", {
  runs <- 0
  o <- objective(function(x) {
    runs <<- runs + 1
    sum(x^2)
  }, c(1, 2))
  o$fn(c(1, 2))
  o$gr(c(1, 2))
  o$gr(c(1, 2))
  expect_identical(runs, 1)
  o$gr(c(1, 3))
  o$fn(c(1, 3))
  expect_identical(runs, 2)
})

test_that("only what `wrt` names moves", {
  o <- objective(function(a, b) a^2 * b, list(a = 2, b = 5), wrt = "a")
  expect_identical(o$par, c(a = 2)[[1]])
  expect_identical(o$fn(3), 45)
  expect_identical(o$gr(3), 30)
})

test_that("where a matrix is not positive definite the value is Inf, said once, and a line search turns round", {
  o <- objective(function(x) sum(log(diag(chol(matrix(c(1, x, x, 1), 2))))) - x, start = list(x = 0))
  expect_message(expect_identical(o$fn(2), Inf), "positive definite")
  expect_silent(expect_identical(o$fn(3), Inf))
  expect_identical(o$gr(3), NaN)
  fit <- suppressMessages(stats::optim(0.1, function(p) -o$fn(p), function(p) -o$gr(p), method = "BFGS"))
  expect_lt(abs(o$gr(fit$par)), 1e-3)
})

test_that("a likelihood is fitted as by hand", {
  set.seed(1)
  y <- stats::rgamma(200, 3, rate = 2)
  o <- objective(function(shape, rate) -sum(dgamma(y, exp(shape), exp(rate), log = TRUE)), list(shape = 0, rate = 0))
  with <- stats::nlminb(o$par, o$fn, o$gr, o$he)
  without <- stats::nlminb(o$par, o$fn)
  expect_equal(with$par, without$par, tolerance = 1e-5)
  expect_lt(max(abs(o$gr(with$par))), 1e-4)
})

test_that("numbers out of range are told by class and name, and turn an optimiser round", {
  skip_below("quick")
  set.seed(5)
  x <- matrix(stats::runif(60), 30)
  y <- sin(6 * x[, 1]) + 0.1 * stats::rnorm(30)
  loss <- function(range, noise) {
    K <- kernel_gaussian(x, scale = exp(range))
    sum(y * solve(K, y, ridge = exp(noise))) + logdet(K, ridge = exp(noise))
  }
  for (f in list(loss, gradient(loss))) {
    expect_error(f(800, 0), "`scale`.*Inf", class = "kernweave_error_value")
    expect_error(f(-800, 0), "`scale`.* 0", class = "kernweave_error_value")
    expect_error(f(0, 800), "`ridge`.*Inf", class = "kernweave_error_value")
  }
  multiple <- function(size) sum(solve(exp(size) * kernel_gaussian(x), y, ridge = 1))
  for (f in list(multiple, gradient(multiple))) expect_error(f(800), "has Inf", class = "kernweave_error_value")
  o <- objective(loss, list(range = 0, noise = 0))
  expect_message(expect_identical(o$fn(c(800, 0)), Inf), "`scale`")
  expect_identical(o$gr(c(800, 0)), c(range = NaN, noise = NaN))
  # Steps are a thousand times what they should be, so that the first ones overflow.
  fast <- suppressMessages(objective(function(p) loss(1e3 * p, -4) + (1e3 * p)^2, 0))
  jumps <- 0
  fn <- function(p) {
    at <- fast$fn(p)
    jumps <<- jumps + is.infinite(at)
    at
  }
  best <- stats::optimize(function(range) loss(range, -4) + range^2, c(-3, 3))$minimum
  for (optimiser in list(function(...) stats::optim(..., method = "BFGS"), stats::nlminb)) {
    expect_equal(1e3 * suppressMessages(optimiser(0, fn, fast$gr))$par, best, tolerance = 1e-2)
  }
  expect_gt(jumps, 0)
})

test_that("a start that is not of the function's arguments is refused at once", {
  f <- function(level, slope) level^2 + slope^2
  expect_error(objective(f, list(level = 1, slop = 2)), "no argument `slop`; did you mean `slope`",
               class = "kernweave_error_input")
  expect_error(objective(f, list(1, 2)), "`start`", class = "kernweave_error_input")
  expect_error(objective(f, list(level = 1), slope = 2)$fn("a"), "`par`", class = "kernweave_error_input")
  of_dots <- objective(function(...) sum(...), list(a = 1, b = 2))
  expect_identical(of_dots$fn(c(1, 2)), 3)
})
