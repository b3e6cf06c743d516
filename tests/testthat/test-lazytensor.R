# Operands and the class: what can be data, what dim, width and kind say, how R's dispatch finds us.

x <- matrix(c(1, 2, 3, 4, 5, 6), 3)
y <- matrix(c(0, 1, 2, 3, 4, 5, 6, 7), 4)

test_that("matrices, vectors, data frames, integers, logicals and parameters are operands", {
  expect_identical(dim(Vi(x)), c(3L, 1L))
  expect_identical(dim(Vj(x)), c(1L, 3L))
  expect_identical(width(Vi(x)), 2L)
  expect_identical(width(Vi(1:5)), 1L)
  expect_identical(dim(Vi(as.data.frame(x))), c(3L, 1L))
  expect_identical(dim(Pm(1:4)), c(1L, 1L))
  expect_identical(width(Pm(1:4)), 4L)
  expect_identical(dim(Vij(y)), c(4L, 2L))
  expect_identical(as.matrix(Vij(y)), y)
  expect_identical(as.matrix(Vij(Matrix::Matrix(y, sparse = FALSE))), y)
  expect_identical(as.matrix(t(Vij(y))), t(y))
  expect_identical(dim(LazyTensor(x, "j")), c(1L, 3L))
  expect_identical(dim(LazyTensor(2)), c(1L, 1L))
  expect_equal(as.matrix(row_index(2) * 10 + col_index(3)), outer(1:2 * 10, 1:3, "+"))
})

test_that("integers and logicals keep their kind", {
  kind <- kernweave:::type_kind
  expect_identical(kind(Vi(1:3)), "integer")
  expect_identical(kind(Vi(c(TRUE, FALSE))), "logical")
  expect_identical(kind(Vi(1:3) + Vj(1:2)), "integer")
  expect_identical(kind(Vi(1:3) / 2), "real")
  expect_identical(kind(Vi(1:3) < Vj(1:2)), "logical")
  expect_identical(kind(sum(Vi(x) < 2)), "integer")
  expect_identical(kind(lazy_if(Vi(1:3) < 2, Vi(1:3), Vi(1:3))), "integer")
})

test_that("group generics and functions agree with base R", {
  X <- Vi(x)
  Y <- Vj(y)
  u <- x[, 1]
  v <- y[, 1]
  on_pairs <- function(f) outer(u, v, f)
  U <- Vi(u)
  V <- Vj(v)
  expect_equal(as.matrix(U + V), on_pairs(`+`))
  expect_equal(as.matrix(2 - U * V), on_pairs(function(a, b) 2 - a * b))
  expect_equal(as.matrix(U / (V + 1)), on_pairs(function(a, b) a / (b + 1)))
  expect_equal(as.matrix(-U + +V), on_pairs(function(a, b) b - a))
  for (n in c(-3, -1, 0, 0.5, 1, 2, 5, 10)) expect_equal(as.matrix((U + V)^n), on_pairs(function(a, b) (a + b)^n))
  for (op in c("<", "<=", ">", ">=", "==", "!=")) {
    expect_identical(as.matrix(do.call(op, list(U, V))), on_pairs(match.fun(op)))
  }
  expect_identical(as.matrix(!(U < V)), on_pairs(function(a, b) !(a < b)))
  expect_identical(as.matrix(U < V & V < 3), on_pairs(function(a, b) a < b & b < 3))
  expect_identical(as.matrix(U < V | V < 1), on_pairs(function(a, b) a < b | b < 1))
  expect_equal(as.matrix(X | Vi(x)), matrix(rowSums(x^2)))
  expect_equal(as.matrix(exp(U) + log(V + 1) + sqrt(U)), on_pairs(function(a, b) exp(a) + log(b + 1) + sqrt(a)))
  expect_equal(as.matrix(log(U, 2)), matrix(log(u, 2)))
  expect_equal(as.matrix(c(X, U)), array(cbind(x, u), c(3, 1, 3)))
  expect_equal(as.matrix(sum(X)), matrix(rowSums(x)))
  expect_equal(as.matrix(X * c(1, 10)), array(x * rep(c(1, 10), each = 3), c(3, 1, 2)))
})

test_that("a matrix of pairs beside a formula is a Vij, in either order, Matrix included", {
  A <- matrix(stats::rnorm(12), 3)
  D <- sqdist(Vi(x), Vj(y))
  dense <- as.matrix(D)
  expect_equal(as.matrix(D * A), dense * A)
  expect_equal(as.matrix(A - D), A - dense)
  expect_equal(as.matrix(Matrix::Matrix(A) + D), dense + A)
  expect_equal(as.matrix(D + Matrix::Matrix(A)), dense + A)
})

test_that("the S4 bit stays on through everything R does to an object", {
  K <- exp(-sqdist(Vi(x), Vj(y)))
  expect_true(isS4(K) && isS4(t(K)) && isS4(K[1:2, ]) && isS4(lazy_set(K, threads = 1)))
  path <- tempfile()
  saveRDS(K, path)
  again <- readRDS(path)
  expect_true(isS4(again))
  expect_identical(as.matrix(again), as.matrix(K))
})

test_that("one operand in several formulas is one variable; equal data in two are two", {
  X <- Vi(x)
  expect_length(kernweave:::operands_of((X + X * 1)$formula), 1L)
  expect_length(kernweave:::operands_of((Vi(x) + Vi(x))$formula), 2)
  expect_match(format(Vi(x) + Vi(x)), "x + x.1", fixed = TRUE)
})

test_that("a formula may be deep, and share its parts without end", {
  F <- Vi(x)
  for (k in 1:3000) F <- F + 1
  expect_equal(as.matrix(sum(F)), matrix(rowSums(x) + 6000))
  G <- Vi(x) / 2
  for (k in 1:60) G <- (G + G) / 2
  expect_equal(as.matrix(sum(G)), matrix(rowSums(x) / 2))
  expect_lte(nchar(format(G)), 1e5 + 10)
})

test_that("batch axes are in the types and refused by the devices", {
  B <- Vi(array(stats::rnorm(24), c(3, 2, 4)))
  expect_identical(dim(B), c(3L, 1L, 4L))
  expect_identical(dim(B * Vj(1:2)), c(3L, 2L, 4L))
  expect_error(B + Vi(array(0, c(3, 2, 5))), "batch axis", class = "kernweave_error_shape")
  expect_error(sum(B * Vj(1:2), index = "j"), class = "kernweave_error_unsupported")
})
