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
  over_i <- keops_kernel("Sum_Reduction(Exp(-s * SqNorm2(x - y)), 0)", args)
  expect_equal(over_i(list(x, y, b, 0.5)), matrix(colSums(exp(-0.5 * as.matrix(sqdist(Vi(x), Vj(y)))))))
})

test_that("gradients are adjoint: shaped like the variable, named or counted from 0, and of any order", {
  op <- keops_kernel("Sum_Reduction(Exp(-s * SqNorm2(x - y)) * b, 1)", args)
  g <- matrix(stats::rnorm(8), 4)
  X <- Vi(x, name = "x")
  expected <- vjp(sum(exp(-0.5 * sqdist(X, Vj(y))) * Vj(b), index = "j", call = FALSE), X, g)
  expect_equal(keops_grad(op, "x")(list(x, y, b, 0.5, g)), expected)
  expect_equal(keops_grad(op, 0)(list(x, y, b, 0.5, g)), expected)
  own <- kernel_op("exp(-s * sqnorm2(x - y)) * b", args)
  expect_equal(keops_grad(own, 0)(list(x, y, b, 0.5, g)), expected)
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

test_that("a KeOps text counts places from 0", {
  # One point each along i and j, so that the sum is the formula.
  p <- matrix(c(3, 5, 7), 1)
  value <- function(text) as.vector(keops_kernel(text, c("x = Vi(3)", "y = Vj(3)"))(list(p, 10 * p)))
  expect_equal(value("Sum_Reduction(Elem(x, 1) + Elem(y, 0), 1)"), 5 + 30)
  expect_equal(value("Sum_Reduction(Extract(x, 1, 2) * Elem(y, 2), 1)"), c(5, 7) * 70)
  expect_equal(value("Sum_Reduction(ExtractT(x, 2, 6) * Elem(y, 2), 1)"), c(0, 0, 3, 5, 7, 0) * 70)
  expect_equal(value("Sum_Reduction(ElemT(Elem(x, 0), 4, 3) * Elem(y, 0), 1)"), c(0, 0, 0, 3) * 30)
  expect_equal(value("Sum_Reduction(OneHot(Elem(x, 0) - IntCst(1), 4) * Elem(y, 0), 1)"), c(0, 0, 1, 0) * 30)
  expect_equal(value("Sum_Reduction(ArgMax(x) - ArgMin(y), 1)"), 2)
  expect_equal(value("Sum_Reduction(OneHot(ArgMax(x), 3) * y, 1)"), c(0, 0, 70))
})

test_that("a KeOps text lays matrices and tensors out by rows", {
  set.seed(3)
  A <- stats::runif(6)
  u <- stats::runif(2)
  v <- stats::runif(3)
  args <- c("A = Pm(6)", "u = Vi(2)", "v = Vj(3)")
  value <- function(text) as.vector(keops_kernel(paste0("Sum_Reduction(", text, ", 1)"), args)(list(A, t(u), t(v))))
  rows <- matrix(A, 2, byrow = TRUE)
  flat <- function(m) as.vector(t(m))
  expect_equal(value("MatVecMult(A, v) + 0 * Elem(u, 0)"), as.vector(rows %*% v))
  expect_equal(value("VecMatMult(u, A) + 0 * v"), as.vector(u %*% rows))
  expect_equal(value("TensorProd(u, v)"), flat(u %o% v))
  expect_equal(value("GradMatrix(MatVecMult(A, v), v) + 0 * Elem(u, 0) * Elem(v, 0)"), A)
  expect_equal(value("GradMatrix(VecMatMult(u, A), u) + 0 * Elem(u, 0) * Elem(v, 0)"), flat(t(rows)))
  expect_equal(value("GradMatrix(SqNorm2(v), v) + 0 * Elem(u, 0)"), 2 * v)
  expect_equal(value("Kron(A, TensorProd(u, v), [2, 3], [2, 3])"), flat(kronecker(rows, u %o% v)))
  expect_equal(value("TensorDot(A, v, [2, 3], [3], [1], [0]) + 0 * Elem(u, 0)"), as.vector(rows %*% v))
  expect_equal(value("TensorDot(v, A, [3], [2, 3], [0], [1]) + 0 * Elem(u, 0)"), as.vector(rows %*% v))
  expect_equal(value("TensorDot(u, v, [2], [3], [], [])"), flat(u %o% v))
  expect_equal(value("TensorDot(u, v, [2], [3], [], [], [1, 0])"), flat(v %o% u))
})

test_that("a KeOps tensor product goes where its order says", {
  # The definition: an axis s of the product, the axes of x before the axes of y, comes to the place order[s].
  set.seed(4)
  x <- array(stats::runif(24), 2:4)
  y <- array(stats::runif(12), c(4, 3))
  by_rows <- function(a) as.vector(aperm(a))
  product <- array(matrix(x, 6) %*% y, c(2, 3, 3))
  text <- "Sum_Reduction(TensorDot(x, y, [2, 3, 4], [4, 3], [2], [0], [2, 0, 1]), 1)"
  op <- keops_kernel(text, c("x = Vi(24)", "y = Vj(12)"))
  expect_equal(as.vector(op(list(t(by_rows(x)), t(by_rows(y))))), by_rows(aperm(product, order(c(2, 0, 1)))))
})

test_that("the same text in kernel_op() counts from 1, by columns", {
  two <- c("x = Vi(3)", "y = Vj(3)")
  expect_equal(kernel_op("Elem(x, 1) * Elem(y, 3)", two)(x, y), matrix(x[, 1] * sum(y[, 3])))
  product <- kernel_op("TensorProd(x, y)", two)(x[1, , drop = FALSE], y[1, , drop = FALSE])
  expect_equal(as.vector(product), as.vector(x[1, ] %o% y[1, ]))
})

test_that("places that are not there and tensors that do not fit are told in KeOps' words", {
  said <- function(text) {
    conditionMessage(expect_error(keops_kernel(text, c("x = Vi(3)", "y = Vj(4)")), class = "kernweave_error_shape"))
  }
  expect_identical(said("Sum_Reduction(Elem(x, 3), 1)"), "`Elem(x, 3)`: no component 3; those of `x` count from 0 to 2")
  expect_match(said("Sum_Reduction(OneHot(x, 2), 1)"), "`OneHot(x, 2)`: `x` has 3 components, not one", fixed = TRUE)
  expect_match(said("Sum_Reduction(Extract(x, 0, 0), 1)"), "`Extract(x, 0, 0)`: `x` has 3 components", fixed = TRUE)
  expect_match(said("Sum_Reduction(Elem(x, -1), 1)"), "no component -1; those of `x` count from 0 to 2")
  expect_match(said("Sum_Reduction(ElemT(Elem(x, 0), 3, 3), 1)"), "those of the result count from 0 to 2")
  expect_match(said("Sum_Reduction(MatVecMult(y, x), 1)"), "`MatVecMult(y, x)`: `y` has 4 components, no multiple of",
               fixed = TRUE)
  expect_match(said("Sum_Reduction(VecMatMult(x, y), 1)"), "`VecMatMult(x, y)`: `y` has 4", fixed = TRUE)
  dot <- function(rest) said(paste0("Sum_Reduction(TensorDot(x, y, [3], ", rest, "), 1)"))
  expect_match(dot("[2, 3], [0], [1]"), "dimensions (2, 3) do not make the 4", fixed = TRUE)
  expect_match(dot("[2, 2], [1], [1]"), "no axis 1; KeOps counts them from 0, here to 0")
  expect_match(dot("[4], [], [], [0, 2]"), "no axis 2")
  expect_match(said("Sum_Reduction(Kron(x, y, [3], [5]), 1)"), "(5) do not make the 4", fixed = TRUE)
})

test_that("reductions go by all of KeOps' spellings, the weight before the axis or behind", {
  three <- c("x = Vi(3)", "y = Vj(3)", "w = Vj(2)")
  w <- matrix(stats::runif(10), 5)
  D <- sqdist(Vi(x), Vj(y))
  run <- function(text) keops_kernel(text, three)(list(x, y, w))
  soft <- sumsoftmaxweight(-D, weight = Vj(w))
  expect_equal(run("SumSoftMaxWeight_Reduction(-SqDist(x, y), w, 1)"), soft)
  expect_equal(run("SumSoftMaxWeight_Reduction(-SqDist(x, y), 1, w)"), soft)
  expect_equal(run("SoftMax_Reduction(-SqDist(x, y), w, 1)"), soft)
  expect_equal(run("LogSumExpWeight_Reduction(-SqDist(x, y), w, 1)"), logsumexp(-D, weight = Vj(w)))
  expect_equal(run("LogSumExp_Reduction(-SqDist(x, y), 1)"), logsumexp(-D))
  expect_equal(run("LogSumExp_Reduction(-SqDist(x, y), 1, 2)"), logsumexp(-D, weight = 2))
  expect_equal(run("KMin_Reduction(SqDist(x, y), 2, 0)"), Kmin(D, K = 2, index = "i"))
  two <- three[1:2]
  for (name in c("Min_ArgMin", "MinArgMin", "min_argmin", "Min_ArgMin_Reduction")) {
    expect_equal(kernel_op("SqDist(x, y)", two, reduction = name)(x, y), min_argmin(D), label = name)
  }
  expect_equal(kernel_op("SqDist(x, y)", two, reduction = "KMin_ArgKMin", K = 2)(x, y), Kmin_argKmin(D, K = 2))
  expect_error(kernel_op("SqDist(x, y)", two, reduction = "Min_ArgMan"), class = "kernweave_error_unknown_op")
  expect_error(keops_kernel("Sum_Reduction(x, 1, w, w)", three), class = "kernweave_error_syntax")
})

test_that("Max_SumShiftExp is the largest exponent and the sum of exponentials less that one", {
  E <- -as.matrix(sqdist(Vi(x), Vj(y))) * 100
  m <- apply(E, 1, max)
  weights <- stats::runif(5)
  run <- function(name, rest, F = "-100 * SqDist(x, y)") {
    op <- keops_kernel(paste0(name, "_Reduction(", F, ", ", rest, ")"), c("x = Vi(3)", "y = Vj(3)", "w = Vj(1)"))
    unname(op(list(x, y, weights)))
  }
  expect_equal(run("Max_SumShiftExp", "1"), unname(cbind(m, rowSums(exp(E - m)))))
  expect_equal(run("Max_SumShiftExpWeight", "w, 1"), unname(cbind(m, exp(E - m) %*% weights)))
  n <- apply(E, 2, max)
  expect_equal(run("Max_SumShiftExp", "0"), unname(cbind(n, rowSums(exp(t(E) - n)))))
  expect_equal(run("Max_SumShiftExp", "1", "Log(0 * SqDist(x, y))"), cbind(rep(-Inf, 4), 0))
  expect_error(run("Max_SumShiftExp", "1", "x"), class = "kernweave_error_shape")
})

test_that("derivatives of a sum in a text are adjoint, of any order", {
  four <- c("x = Vi(3)", "y = Vj(3)", "s = Pm(1)", "e = Vi(1)", "u = Vi(3)")
  e <- stats::rnorm(4)
  u <- matrix(stats::rnorm(12), 4)
  run <- function(text) keops_kernel(text, four)(list(x, y, 0.5, e, u))
  X <- Vi(x, name = "x")
  Y <- Vj(y, name = "y")
  S <- Pm(0.5, name = "s")
  R <- sum(exp(-S * sqdist(X, Y)), index = "j", call = FALSE)
  f <- "Sum_Reduction(Exp(-s * SqDist(x, y)), 1)"
  expect_equal(run(paste0("Grad(", f, ", x, e)")), vjp(R, X, e))
  expect_equal(run(paste0("Grad(", f, ", y, e)")), vjp(R, Y, e))
  expect_equal(as.vector(run(paste0("Grad(", f, ", s, e)"))), vjp(R, S, e))
  expect_equal(run(paste0("Grad(", f, ", x, 2 * e)")), vjp(R, X, 2 * e))
  expect_equal(run(paste0("Diff(", f, ", x, u)")), jvp(R, X, u))
  G <- vjp(R, X, e, call = FALSE)
  expect_equal(run(paste0("Grad(Grad(", f, ", x, e), y, u)")), vjp(G, Y, u))
  expect_equal(run("Grad(Sum_Reduction(x + y, 1), x, u)"), 5 * u)
  for (text in c("Grad(LogSumExp_Reduction(x, 1), x, e)", "Divergence(Sum_Reduction(x, 1), x)",
                 "Grad(Sum_Reduction(x, s, 1), x, u)")) {
    expect_error(run(text), class = "kernweave_error_unsupported", label = text)
  }
  expect_error(run(paste0("2 * Grad(", f, ", x, e)")), class = "kernweave_error")
  expect_error(kernel_op(paste0("Grad(", f, ", x, e)"), four, reduction = "max"), class = "kernweave_error_input")
})

test_that("arguments go by their places, and a text may declare more of them", {
  two <- c("x = Vi(3)", "y = Vj(3)")
  f <- "Sum_Reduction(Exp(-SqDist(Var(0,3,0), Var(1, 3, 1))), 1)"
  K <- exp(-sqdist(Vi(x), Vj(y)))
  expect_equal(keops_kernel(f, two)(list(x, y)), sum(K, index = "j"))
  expect_equal(keops_kernel(f, c("x = Var(0, 3, 0)", "y = Var(1, 3, 1)"))(list(x, y)), sum(K, index = "j"))
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * Var(2,2,1) * Var(3,1,2), 1)", two)
  expect_equal(op(list(x, y, b, 7)), 7 * K %*% b)
  slope <- keops_kernel("Grad(Sum_Reduction(Exp(-SqDist(x, y)), 1), x, Var(2,1,0))", two)
  expect_equal(slope(list(x, y, 1:4)), keops_grad(keops_kernel(f, two), 0)(list(x, y, 1:4)))
  for (text in c("Var(0,2,0) + y", "Var(0,3,1) + x", "x * Var(3,3,1)", "x * Var(2,1,1) * Var(2,1,0)")) {
    expect_error(keops_kernel(text, two), class = "kernweave_error_input", label = text)
  }
  expect_error(keops_kernel("x + Var(0,3)", two), class = "kernweave_error_syntax")
  expect_error(keops_kernel("x", "x = Var(0, 3, 4)"), class = "kernweave_error_syntax")
})

with_options <- function(code) {
  old <- options(kernweave.precision = NULL, kernweave.device = NULL, kernweave.threads = NULL)
  on.exit(options(old))
  force(code)
}

test_that("option helpers say what they set", {
  with_options({
    expect_message(rkeops_use_float32(), "kernweave.precision")
    expect_identical(getOption("kernweave.precision"), "float32")
    expect_message(rkeops_use_cpu(2), "kernweave.device")
    expect_identical(getOption("kernweave.threads"), 2L)
    expect_identical(get_rkeops_options("backend"), "CPU")
    expect_identical(get_rkeops_options(c("backend", "precision")), list(backend = "CPU", precision = "float32"))
    expect_message(set_rkeops_options(list(precision = "float64")), "float64")
    expect_identical(getOption("kernweave.precision"), "float64")
  })
})

test_that("helpers may be silent", {
  with_options({
    rkeops_disable_verbosity()
    expect_silent(rkeops_use_float32())
    expect_silent(set_rkeops_options(list(debug = 1)))
    expect_identical(get_rkeops_options("verbosity"), 0L)
    rkeops_enable_verbosity()
    expect_message(rkeops_use_float64())
    expect_identical(get_rkeops_options("verbosity"), 1L)
  })
})

test_that("no cores asked for are all cores, and no GPU is the CPU", {
  with_options({
    suppressMessages(rkeops_use_cpu(0))
    expect_identical(getOption("kernweave.threads"), threads_here()[2])
    suppressMessages(rkeops_use_cpu())
    expect_identical(getOption("kernweave.threads"), threads_here()[2])
    if (gpu_is_ready()) {
      expect_message(rkeops_use_gpu(), "gpu")
      expect_identical(get_rkeops_options("backend"), "GPU")
    } else {
      expect_message(rkeops_use_gpu(), "No GPU")
      expect_identical(get_rkeops_options("backend"), "CPU")
    }
    expect_equal(sum(Vi(1:2) * Vj(1:3), index = "j"), matrix(c(6, 12)))
  })
})

test_that("what cannot be set is refused, and nothing is set", {
  with_options({
    wrong <- expression(
      rkeops_use_cpu("0"), rkeops_use_cpu(-1), rkeops_use_cpu(NA), rkeops_use_gpu("x"), rkeops_use_gpu(-2),
      rkeops_use_gpu(NA), rkeops_use_gpu(0:1), set_rkeops_options(list(backed = "CPU")),
      set_rkeops_options(list(verbosity = 2)), set_rkeops_options(list(device_id = 0.5)), get_rkeops_options("device")
    )
    for (call in wrong) expect_error(eval(call), class = "kernweave_error_settings", label = deparse(call))
    expect_null(getOption("kernweave.device"))
    expect_null(getOption("kernweave.threads"))
    expect_error(check_rkeops(verbose = 1), class = "kernweave_error_input")
  })
})

test_that("check_rkeops() computes something, and prints only if it may", {
  expect_silent(works <- check_rkeops(verbose = FALSE))
  expect_true(works)
  expect_output(check_rkeops(), "kernweave")
})

test_that("lazy tensors are told apart as in rkeops", {
  K <- sqdist(Vi(x), Vj(y))
  kinds <- function(x) c(is.LazyTensor(x), is.LazyParameter(x), is.LazyVector(x), is.LazyMatrix(x))
  expect_identical(kinds(LazyTensor(3.14)), c(TRUE, TRUE, TRUE, FALSE))
  expect_identical(kinds(LazyTensor(c(3, 3))), c(TRUE, FALSE, TRUE, FALSE))
  expect_identical(kinds(LazyTensor(x, index = "i")), c(TRUE, FALSE, FALSE, TRUE))
  expect_identical(kinds(K * Pm(1)), c(TRUE, FALSE, TRUE, TRUE))
  expect_identical(kinds(x), rep(FALSE, 4))
  expect_identical(kinds(NULL), rep(FALSE, 4))
})

test_that("elemT() puts a component among zeros, counted from 1", {
  expect_identical(elemT(7, 2, 3), c(0, 7, 0))
  expect_equal(as.vector(as.matrix(elemT(Pm(7), 3, 3))), c(0, 0, 7))
  expect_error(elemT(7, 4, 3), class = "kernweave_error_input")
  expect_error(elemT(7, 0, 3), class = "kernweave_error_input")
  expect_error(elemT(Vi(x), 1, 3), class = "kernweave_error_shape")
})
