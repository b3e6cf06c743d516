# Derivatives of formulas pair by pair, against those worked out by hand and against differences.

set.seed(9)
x <- matrix(stats::rnorm(12), 4)
y <- matrix(stats::rnorm(15), 5)
X <- Vi(x, name = "x")
Y <- Vj(y, name = "y")
D2 <- as.matrix(sqdist(X, Y))
K <- exp(-sqdist(X, Y))

test_that("the gradient of a Gaussian is known, and so is its Laplacian", {
  found <- as.array(lazy_gradient(K, X))
  for (d in 1:3) expect_equal(found[, , d], -2 * outer(x[, d], y[, d], "-") * exp(-D2))
  expect_equal(as.matrix(laplacian(K, X)), (4 * D2 - 6) * exp(-D2))
  expect_equal(as.array(lazy_gradient(K, Y)), -found)
})

test_that("reverse and forward mode agree, through operations of every form", {
  p <- Pm(c(0.5, 1, 2), name = "p")
  formulas <- list(X * Y, c(X, square(Y * X)), matvecmult(tensorprod(X, Y), p), normalize(X - Y), max(X * Y),
                   lazy_if(X < Y, X^2, Y), sinh(X) + atan(Y * X),
                   elem(X, 2) * Y, clamp(X, -0.5, 0.5))
  for (F in formulas) {
    u <- stats::rnorm(width(F))
    t <- stats::rnorm(3)
    backward <- as.matrix(sum(lazy_gradient(F, X, u) * t) + 0 * K)
    forward <- as.matrix(sum(lazy_derivative(F, X, t) * u) + 0 * K)
    expect_equal(backward, forward, tolerance = 1e-12, label = format(F))
  }
})

test_that("all derivatives, divergence and trace", {
  A <- matrix(stats::rnorm(9), 3)
  F <- matvecmult(Pm(as.vector(A), name = "A"), X)
  expect_equal(as.array(grad_matrix(F, X) + 0 * K)[2, 3, ], as.vector(A))
  expect_equal(as.matrix(divergence(F, X) + 0 * K)[1, 1], sum(diag(A)))
  expect_equal(as.matrix(operator_trace(F, X) + 0 * K)[1, 1], sum(diag(A)))
  u <- stats::rnorm(3)
  expect_equal(as.array(operator_adjoint(F, X, u) + 0 * K)[1, 1, ], as.vector(t(A) %*% u))
})

test_that("what does not depend on an operand has derivative 0, and misuse is refused by class", {
  expect_equal(as.array(lazy_gradient(square(Y), X) + 0 * K)[1, 1, ], c(0, 0, 0))
  expect_error(laplacian(X * Y, X), class = "kernweave_error_shape")
  expect_error(divergence(K, X), class = "kernweave_error_shape")
  expect_error(lazy_gradient(K, X * 2), class = "kernweave_error_input")
  expect_error(lazy_gradient(K, X, c(1, 2)), class = "kernweave_error_shape")
  expect_error(lazy_gradient(X * t(X), X), class = "kernweave_error_unsupported")
})

test_that("texts know the same derivatives by KeOps' names, nested too", {
  set.seed(8)
  x <- matrix(runif(12), 4)
  y <- matrix(runif(15), 5)
  e <- matrix(runif(12), 4)
  X <- Vi(x, name = "x")
  Y <- Vj(y, name = "y")
  E <- Vi(e, name = "e")
  K <- exp(-sqdist(X, Y))
  cases <- list(
    "Grad(Exp(-SqDist(x, y)), x, 1)" = lazy_gradient(K, X),
    "Grad(x * Exp(-SqDist(x, y)), x, e)" = lazy_gradient(X * K, X, E),
    "AdjointOperator(x * Exp(-SqDist(x, y)), x, e)" = operator_adjoint(X * K, X, E),
    "Diff(Exp(-SqDist(x, y)), x, e)" = lazy_derivative(K, X, E),
    "GradMatrix(x * Exp(-SqDist(x, y)), x)" = grad_matrix(X * K, X),
    "Divergence(x * Exp(-SqDist(x, y)), x)" = divergence(X * K, X),
    "TraceOperator(x * Exp(-SqDist(x, y)), x)" = operator_trace(X * K, X),
    "Laplacian(Exp(-SqDist(x, y)), x)" = laplacian(K, X),
    "Grad((Grad(Exp(-SqDist(x, y)), x, 1) | e), x, 1)" = lazy_gradient((lazy_gradient(K, X) | E), X),
    "y + Grad(Exp(-SqDist(e, y)), x, 1)" = Y + 0 * X
  )
  for (text in names(cases)) {
    found <- kernel_op(text, c("x = Vi(3)", "y = Vj(3)", "e = Vi(3)"))(x, y, e)
    expect_equal(found, sum(cases[[text]], index = "j"), tolerance = 1e-12, info = text)
  }
})

test_that("a derivative that is none says why", {
  op <- function(text) kernel_op(text, c("x = Vi(3)", "y = Vj(3)", "s = Pm(1)"))
  expect_error(op("Grad(SqDist(x, y), x + 1, 1)"), "is no variable", class = "kernweave_error")
  expect_error(op("Grad(SqDist(x, y), x)"), "along which to derive", class = "kernweave_error")
  expect_error(op("Grad(x - y, x, x[0])"), class = "kernweave_error")
  expect_error(op("Laplacian(x - y, x)"), "one component", class = "kernweave_error")
  expect_error(op("Divergence(SqDist(x, y), x)"), "3, not 1", class = "kernweave_error")
  expect_error(op("Diff(x - y, s, x)"), "3 components, not 1", class = "kernweave_error")
  expect_error(op("Gradd(SqDist(x, y), x, 1)"), "did you mean `Grad`", class = "kernweave_error")
})

test_that("a derivative has the axes of what it was taken of, also where it is constant along them", {
  x <- Vi(matrix(as.numeric(1:6), 2), name = "x")
  y <- Vj(matrix(as.numeric(1:9), 3), name = "y")
  everywhere(function(...) {
    total <- function(F) sum(F, index = "j", ...)
    expect_equal(total(divergence(x + y, x)), matrix(9, 2))
    expect_equal(total(divergence(x, x) + 0 * elem(y, 1)), matrix(9, 2))
    expect_equal(total(laplacian(x | y, x)), matrix(0, 2))
    expect_equal(total(lazy_gradient(x | y, x)), matrix(c(6, 15, 24), 2, 3, byrow = TRUE))
    expect_equal(total(lazy_derivative(x + y, x)), matrix(3, 2, 3))
    expect_equal(total(lazy_gradient(lazy_gradient(x * y, x, y), y, x)), total(2 * x * y))
    expect_equal(sum(lazy_gradient(x | y, x), index = "i", ...), 2 * matrix(as.numeric(1:9), 3))
    expect_equal(vjp(sum(x + y, index = "j", call = FALSE, ...), x), matrix(3, 2, 3))
  })
  expect_identical(dim(divergence(x + y, x)), c(2L, 3L))
  expect_identical(dim(grad_matrix(x + y, x)), c(2L, 3L))
  u <- Pm(c(1, 2, 3), name = "u")
  expect_identical(dim(lazy_gradient(lazy_gradient(x + y, x, u), x, u)), c(2L, 3L))
  # Missing numbers among the data are none in a constant.
  z <- Vj(c(NA, 1), name = "z")
  expect_equal(sum(divergence(Vi(c(NaN, 2), name = "v") + z, z), index = "j"), matrix(2, 2))
  # A placeholder knows its number of points when it has data.
  of_placeholders <- kernel_op("Divergence(a + b, a)", c("a = Vi(2)", "b = Vj(2)"), index = "j")
  expect_equal(of_placeholders(matrix(0, 3, 2), matrix(0, 5, 2)), matrix(10, 3))
})

test_that("derivatives of a product in all parameters come in one pass, a column for each", {
  set.seed(3)
  x <- matrix(stats::rnorm(12), 6)
  b <- stats::rnorm(6)
  scales <- Pm(c(0.5, 2))
  size <- Pm(1.5)
  K <- size * exp(-sqdist(Vi(x) / scales, Vj(x) / scales))
  found <- reduction(c(lazy_gradient(K, scales), lazy_gradient(K, size)) * Vj(b), "sum")
  R <- reduction(K * Vj(b), "sum", call = FALSE)
  along <- list(list(scales, c(1, 0)), list(scales, c(0, 1)), list(size, 1))
  each <- do.call(cbind, lapply(along, function(one) jvp(R, wrt = one[[1]], tangent = one[[2]])))
  expect_equal(found, each, tolerance = 1e-12)
})
