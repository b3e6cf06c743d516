# Several reductions in one pass: results, names, derivatives are those of each by itself.

set.seed(1)
x <- matrix(stats::rnorm(21), 7)
y <- matrix(stats::rnorm(33), 11)
D <- sqdist(Vi(x), Vj(y))

test_that("several reductions of one formula are those of each", {
  ops <- c("sum", "max", "argmin", "mean", "variance", "logsumexp", "min_argmin", "prod")
  for (index in c("i", "j", "ij")) for (precision in test_precisions()) {
    found <- reduction(D, ops, index = index, precision = precision)
    expect_named(found, ops)
    for (op in ops) {
      expect_equal(found[[op]], reduction(D, op, index = index, precision = precision), label = paste(op, index),
                   tolerance = tolerance_of(precision))
    }
  }
})

test_that("several formulas have one reduction, or one each, and their own names", {
  E <- exp(-D)
  expect_equal(reduction(list(a = D, b = E), "sum"), list(a = sum(D, index = "j"), b = sum(E, index = "j")))
  expect_equal(reduction(list(D, E), c(least = "min", all = "sum")),
               list(least = min(D, index = "j"), all = sum(E, index = "j")))
  expect_named(reduction(list(D, E), "sum"), c("sum", "sum.1"))
  expect_named(reduction(list(near = D, E), "sum"), c("near", "sum"))
  expect_equal(reduction(list(D, D < 1), c("sum", "count"))$count, reduction(D < 1, "count"))
  expect_equal(reduction(list(D), "sum"), list(sum = sum(D, index = "j")))
})

test_that("those have K and weight that take them", {
  b <- stats::runif(11)
  found <- reduction(D, c("sum", "argKmin", "logsumexp"), K = 3, weight = Vj(b))
  expect_equal(found, list(sum = reduction(D, "sum", weight = Vj(b)), argKmin = argKmin(D, 3),
                           logsumexp = logsumexp(D, weight = Vj(b))))
  expect_error(reduction(D, c("sum", "max"), K = 3), "none of them takes `K`", class = "kernweave_error_unsupported")
  expect_error(reduction(D, c("min", "max"), weight = Vj(b)), "`weight`", class = "kernweave_error_unsupported")
})

test_that("results drop, wait, are saved and printed as those of one do", {
  expect_equal(reduction(D, c("sum", "max"), drop = TRUE), lapply(reduction(D, c("sum", "max")), as.vector))
  R <- reduction(sqdist(Vi(dim = 3, name = "x"), Vj(dim = 3, name = "y")), c("sum", "max"))
  expect_true(is_reduction(R))
  expect_output(print(R), "sum.*max")
  expect_equal(as.function(R)(x, y), reduction(D, c("sum", "max")))
  file <- tempfile()
  saveRDS(reduction(D, c("sum", "min"), call = FALSE), file)
  expect_equal(as.matrix(readRDS(file)), reduction(D, c("sum", "min")))
})

test_that("derivatives add up over the results", {
  X <- Vi(x, name = "x")
  Y <- Vj(y, name = "y")
  F <- exp(-sqdist(X, Y))
  ops <- c("sum", "variance", "max", "logsumexp")
  R <- reduction(F, ops, call = FALSE)
  g <- lapply(ops, function(op) matrix(stats::rnorm(7), 7))
  one_by_one <- function(wrt) {
    Reduce(`+`, Map(function(op, g) vjp(reduction(F, op, call = FALSE), wrt, g), ops, g))
  }
  expect_equal(vjp(R, X, cotangent = g), one_by_one(X))
  expect_equal(vjp(R, list(X, Y), cotangent = g), list(x = one_by_one(X), y = one_by_one(Y)))
  expect_error(vjp(R, X, cotangent = g[1]), "must be a list of 4", class = "kernweave_error_shape")
  tangent <- matrix(stats::rnorm(21), 7)
  expect_equal(jvp(R, X, tangent), sapply(ops, function(op) jvp(reduction(F, op, call = FALSE), X, tangent),
                                          simplify = FALSE))
})

test_that("functions of several results have gradients", {
  several <- function(x) {
    found <- reduction(exp(-sqdist(Vi(x), Vj(y))), c("sum", "max"))
    sum(found$sum^2) + sum(found$max)
  }
  apart <- function(x) {
    F <- exp(-sqdist(Vi(x), Vj(y)))
    sum(reduction(F, "sum")^2) + sum(reduction(F, "max"))
  }
  expect_equal(gradient(several)(x), gradient(apart)(x))
  waiting <- as.function(reduction(exp(-sqdist(Vi(dim = 3), Vj(y))), c("sum", "max")))
  expect_equal(gradient(function(x) { found <- waiting(x); sum(found$sum^2) + sum(found$max) })(x), gradient(apart)(x))
})

test_that("what is wrong is said by class", {
  expect_error(reduction(list(D, D, D), c("sum", "max")), "3 formulas.*2 reductions", class = "kernweave_error_shape")
  expect_error(reduction(D, character()), "empty", class = "kernweave_error_input")
  expect_error(reduction(list(), "sum"), class = "kernweave_error")
  expect_error(reduction(list(D, 1), "sum"), "lazy tensor", class = "kernweave_error_input")
  expect_error(reduction(D, c("sum", "summ")), "summ", class = "kernweave_error_unknown_op")
  expect_error(reduction(list(D, sqdist(Vi(x[1:3, ]), Vj(y))), "sum"), class = "kernweave_error_shape")
})

test_that("one pass goes through the pairs once", {
  skip_below("usual")
  n <- 4000
  a <- matrix(stats::rnorm(3 * n), n)
  F <- lazy_set(exp(-sqrt(sqdist(Vi(a), Vj(a)))), device = "cpu", threads = 1)
  ops <- c("sum", "max", "min", "mean")
  time <- function(code) min(replicate(3, system.time(code())[["elapsed"]]))
  expect_lt(time(function() reduction(F, ops)), 0.7 * time(function() for (op in ops) reduction(F, op)))
})
