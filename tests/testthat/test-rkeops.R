# Calls as scripts for rkeops make them.

set.seed(2)
x <- matrix(stats::rnorm(12), 4)
y <- matrix(stats::rnorm(15), 5)
b <- matrix(stats::rnorm(10), 5)
args <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(2)", "s = Pm(1)")
gauss <- function(s) exp(-s * as.matrix(sqdist(Vi(x), Vj(y)))) %*% b

test_that("operators take data by name, in any order, and points as columns", {
  op <- keops_kernel("Sum_Reduction(Exp(-s * SqNorm2(x - y)) * b, 1)", args)
  expect_equal(op(list(x, y, b, 0.5)), gauss(0.5))
  expect_equal(op(list(s = 0.5, b = b, y = y, x = x)), gauss(0.5))
  expect_equal(op(list(t(x), t(y), t(b), 0.5), inner_dim = "row"), gauss(0.5))
  expect_true(is_reduction(op()))
  expect_equal(keops_kernel("Sum_Reduction(Exp(-s * SqNorm2(x - y)), 0)", args)(list(x, y, b, 0.5)), matrix(colSums(exp(-0.5 * as.matrix(sqdist(Vi(x), Vj(y)))))))
})

test_that("gradients are adjoint: shaped like the variable, named or counted from 0, and of any order", {
  op <- keops_kernel("Sum_Reduction(Exp(-s * SqNorm2(x - y)) * b, 1)", args)
  g <- matrix(stats::rnorm(8), 4)
  X <- Vi(x, name = "x")
  expected <- vjp(sum(exp(-0.5 * sqdist(X, Vj(y))) * Vj(b), index = "j", call = FALSE), X, g)
  expect_equal(keops_grad(op, "x")(list(x, y, b, 0.5, g)), expected)
  expect_equal(keops_grad(op, 0)(list(x, y, b, 0.5, g)), expected)
  twice <- keops_grad(keops_grad(op, "x"), "b")(list(x, y, b, 0.5, g, x))
  expect_identical(dim(twice), dim(b))
})

test_that("reductions and operations go by KeOps' names", {
  two <- c("x = Vi(3)", "y = Vj(3)")
  D <- sqdist(Vi(x), Vj(y))
  run <- function(text) kernel_op(text, two)(x, y)
  expect_equal(run("Min_ArgMin_Reduction(SqDist(x, y), 1)"), min_argmin(D))
  expect_equal(run("Max_Reduction(SqDist(x, y), 1)"), max(D, index = "j"))
  expect_equal(run("KMin_ArgKMin_Reduction(SqDist(x, y), 2, 1)"), Kmin_argKmin(D, K = 2))
  expect_equal(run("Sum_Reduction(Clamp(x, y, y + 1), 1)"), sum(clamp(Vi(x), Vj(y), Vj(y) + 1), index = "j"))
  expect_equal(run("Sum_Reduction(IfElse(x - y, x, y), 1)"), sum(max2(Vi(x), Vj(y)), index = "j"))
  expect_equal(run("Sum_Reduction(Mod(x, IntCst(2), RatCst(1, 2)) + 0 * y, 1)") / 5, (x - 0.5) %% 2 + 0.5)
  expect_equal(run("Sum_Reduction(Pow(x, 3) * IntInv(2) + Zero(3) * y, 1)"), 5 * x^3 / 2)
})

test_that("declarations may have positions", {
  op <- kernel_op("Sum_Reduction((x | y), 1)", c("y = Vj(1, 3)", "x = Vi(0, 3)"))
  expect_equal(op(x, y), matrix(rowSums(x %*% t(y))))
  expect_error(kernel_op("x", c("x = Vi(1, 3)")), class = "kernweave_error_input")
  expect_error(kernel_op("x", c("x = Vi(0)")), class = "kernweave_error_syntax")
})

test_that("option helpers say what they set", {
  old <- options(kernweave.precision = NULL, kernweave.device = NULL, kernweave.threads = NULL)
  on.exit(options(old))
  expect_message(rkeops_use_float32(), "kernweave.precision")
  expect_identical(getOption("kernweave.precision"), "float32")
  expect_message(rkeops_use_cpu(2), "kernweave.device")
  expect_identical(get_rkeops_options("backend"), list(backend = "CPU"))
  expect_message(set_rkeops_options(list(precision = "float64")), "float64")
  expect_identical(getOption("kernweave.precision"), "float64")
  expect_error(set_rkeops_options(list(backed = "CPU")), class = "kernweave_error_settings")
})
