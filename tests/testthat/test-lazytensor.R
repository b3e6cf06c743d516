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
  expect_identical(names_in(X + X * 1), "x")
  expect_identical(names_in(Vi(x) + Vi(x)), c("x", "x.1"))
  expect_match(format(Vi(x) + Vi(x)), "x + x.1", fixed = TRUE)
})

test_that("a formula may be deep, and share its parts without end", {
  skip_below("quick")
  F <- Vi(x)
  for (k in 1:3000) F <- F + 1
  expect_equal(as.matrix(sum(F)), matrix(rowSums(x) + 6000))
  G <- Vi(x) / 2
  for (k in 1:60) G <- (G + G) / 2
  expect_equal(as.matrix(sum(G)), matrix(rowSums(x) / 2))
  expect_lte(nchar(format(G)), 1e5 + 10)
})

test_that("where a matrix is wanted batches are refused", {
  B <- array(0, c(3, 2, 4))
  for (code in expression(Vij(B), B %*% sqdist(Vi(x), Vj(y)))) {
    expect_error(eval(code), "batches: give a matrix", class = "kernweave_error_unsupported", info = code)
  }
  expect_identical(dim(Vi(array(1:3, 3))), c(3L, 1L))
})

test_that("what is no number is refused, and the message says what to write instead", {
  group <- factor(c("u", "v", "u"))
  distances <- stats::dist(x)
  rows <- list(
    list(quote(Vi(group)), "as.integer(x)"),
    list(quote(Vi(group)), "model.matrix(~ x - 1) for one component per level"),
    list(quote(Vj(as.character(group))), "match(x, unique(x))"), list(quote(Pm("a")), "model.matrix"),
    list(quote(Vi(data.frame(x, g = group))), "model.matrix(~ . - 1, x)"),
    list(quote(Vi(distances)), "Vij(as.matrix(d))"),
    list(quote(sqdist(Vi(x), Vj(x)) + distances), "Vij(as.matrix(d))"), list(quote(Vij(distances)), "Vij(as.matrix(d))")
  )
  for (row in rows) expect_error(eval(row[[1]]), row[[2]], fixed = TRUE, class = "kernweave_error_input")
  # The remedies are right.
  same <- Vi(as.integer(group)) == Vj(as.integer(group))
  expect_identical(as.matrix(same), outer(group, group, "=="))
  levels <- stats::model.matrix(~ group - 1)
  expect_equal(as.matrix(Vi(levels) | Vj(levels)), 1 * outer(group, group, "=="), ignore_attr = TRUE)
  expect_equal(as.matrix(Vij(as.matrix(distances))), as.matrix(distances), ignore_attr = TRUE)
})

test_that("sum and its like reduce one formula, over an index that is named or the word behind it", {
  K <- sqdist(Vi(x), Vj(y))
  dense <- as.matrix(K)
  input <- function(code, message) expect_error(code, message, fixed = TRUE, class = "kernweave_error_input")
  input(sum(K, K, index = "ij"), "add the sum of each")
  input(prod(K, 2, index = "ij"), "multiply the product")
  input(max(K, 2, index = "ij"), "max2(K, 2)")
  input(min(K, 0), "min2(K, 0)")
  input(any(K > 2, TRUE, index = "ij"), "`F | G`")
  input(all(K > 2, TRUE), "`F & G`")
  input(range(K, 1, index = "ij"), "take the range of each")
  input(sum(K, "j", index = "j"), "reduces a single formula")
  # If an argument is named, it is what its name says.
  input(sum(K, precision = "float32"), "takes no `precision`; give index =")
  input(sum(K, axis = 1), "takes no `axis`; give index =")
  input(max(K, threads = 1), "takes no `threads`")
  input(mean(K, threads = 1), "takes no `threads`")
  input(sum(K, weight = Vj(1:4)), "takes no `weight`")
  expect_error(sum(K, index = "j", axis = 1), "no setting `axis`", class = "kernweave_error_settings")
  expect_error(mean(K, index = "j", na.rm = TRUE), class = "kernweave_error_unsupported")
  expect_equal(sum(K, "j"), matrix(rowSums(dense)))
  expect_equal(sum(K, index = "j", weight = Vj(1:4)), dense %*% 1:4)
  expect_equal(mean(K, "i", threads = 1), matrix(colMeans(dense)))
  expect_equal(range(K, index = "ij"), list(min = matrix(min(dense)), max = matrix(max(dense))))
  expect_identical(dim(sum(K, index = NULL)), dim(K))
})

test_that("one component is not compared with several, in any distance or inner product", {
  for (code in expression(sqdist(Vi(row), Vj(x)), sqdist(Vj(x), Vi(row)), Vi(row) | Vj(x), manhattan(Vi(row), Vj(x)),
                          euclidean(Vi(row), Vj(x)), chebyshev(Vi(row), Vj(x)), canberra(Vi(row), Vj(x)),
                          cosine(Vi(row), Vj(x)), hellinger(Vi(row), Vj(x)), minkowski(Vi(row), Vj(x), 3),
                          weighted_sqdist(Pm(2), Vi(row), Vj(x)))) {
    wrong <- quote(eval(code, list(row = x[1, ])))
    expect_error(eval(wrong), "has 1 component.*drop = FALSE", class = "kernweave_error_shape", label = deparse(code))
    mended <- eval(code, list(row = x[1, , drop = FALSE]))
    expect_identical(dim(as.matrix(mended)), c(1L, 3L), label = deparse(code))
  }
  # A number, or a parameter, goes with any width; so do points of one component elsewhere.
  expect_equal(as.matrix(sqdist(Vi(x), 1)), matrix(rowSums((x - 1)^2)))
  expect_equal(as.matrix(Vi(x) | Pm(2)), matrix(rowSums(x * 2)))
  expect_equal(as.matrix(sum(Vi(x[, 1]) * Vj(y))), outer(x[, 1], rowSums(y)))
  expect_equal(as.matrix(weighted_sqdist(Vi(1:3), Vi(x), Vj(y))), 1:3 * as.matrix(sqdist(Vi(x), Vj(y))))
  expect_identical(as.matrix(Vi(x > 2) | Vj(c(TRUE, FALSE)))[, , 1], outer(x[, 1] > 2, c(TRUE, FALSE), "|"))
})

test_that("a formula is one thing: it has no parts to be taken out, and no names", {
  K <- sqdist(Vi(x), Vj(y))
  for (code in expression(K$anything, K[[1]], K[["anything"]], K[["a", "b"]])) {
    expect_error(eval(code), "points along i", class = "kernweave_error_index", label = deparse(code))
  }
  for (code in expression(unlist(K), {K$anything <- 1}, image(K), hist(K), aperm(K))) {
    expect_error(eval(code), class = "kernweave_error_unsupported", label = deparse(code))
  }
  expect_null(names(K))
  expect_identical(format(Re(K)), format(K))
  expect_identical(as.matrix(Mod(Vi(-1:1))), as.matrix(abs(Vi(-1:1))))
  expect_identical(format(Conj(K)), format(K))
})
