# Components as arrays: products, contractions, reorderings; splines; time series. Against base R.

test_that("contractions of arrays are those of base R, with gradients", {
  set.seed(1)
  x <- matrix(stats::rnorm(3 * 24), 3)  # 2 x 3 x 4 for each point
  y <- matrix(stats::rnorm(4 * 12), 4)  # 4 x 3
  F <- tensordot(Vi(x), Vj(y), c(2, 3, 4), c(4, 3), axes_x = c(3, 2), axes_y = c(1, 2))
  expect_identical(width(F), 2L)
  full <- as.matrix(F)
  for (i in 1:3) for (j in 1:4) {
    by_hand <- apply(array(x[i, ], c(2, 3, 4)), 1, function(slice) sum(slice * t(matrix(y[j, ], 4))))
    expect_equal(full[i, j, ], by_hand)
  }
  outer_first <- as.matrix(tensordot(Vi(x), Vj(y), c(2, 3, 4), c(4, 3), 3, 1, order = c(3, 1, 2)))[2, 1, ]
  product <- array(matrix(x[2, ], 6) %*% matrix(y[1, ], 4), c(2, 3, 3))
  expect_equal(outer_first, as.vector(aperm(product, c(3, 1, 2))))
  args <- list(list(axis = "i", data = x, lazy = Vi(x, name = "a")),
               list(axis = "j", data = y, lazy = Vj(y, name = "b")))
  product <- function(args) tensordot(args[[1]]$lazy, args[[2]]$lazy, c(2, 3, 4), c(4, 3), 3, 1, c(2, 3, 1))
  check_gradient(product, args, "tensordot()")
})

test_that("text formulas know arrays, with lists in R's words or KeOps', and print as they are read", {
  operands <- c("x = Vi(6)", "y = Vj(6)")
  text <- c("tensordot(x, y, c(2, 3), c(3, 2), c(2), c(1))",
            "TensorDot(x, y, Ind(2, 3), Ind(3, 2), Ind(2), Ind(1), Ind(2, 1))", "Kron(x, y, c(2, 3), c(3, 2))",
            "matmult(x, y, 3)", "pick(x, c(3, 1, 1)) * extract(y, 1, 3)", "tensordot(x, y, 6, 6, 1, 1)",
            "bspline(x, elem(y, 1), 2)")
  lazy <- declared_as(operands)
  show <- function(text) shown_text(read_text(text, lazy))
  x <- matrix(stats::rnorm(30), 5)
  y <- matrix(stats::rnorm(42), 7)
  for (formula in text) {
    expect_identical(show(show(formula)), show(formula))
    value_of <- function(text) kernel_op(sprintf("Sum_Reduction(%s, 1)", text), operands)(list(x, y))
    expect_identical(value_of(formula), value_of(show(formula)))
  }
  X <- Vi(matrix(1, 2, 6), name = "x")
  expect_match(format(tensordot(X, X, c(2, 3), c(2, 3), 1, 1)), "c(2, 3), c(2, 3), c(1), c(1)", fixed = TRUE)
  expect_match(format(X[, , c(4, 2)]), "pick(x, c(4, 2))", fixed = TRUE)
})

test_that("splines are those of the splines package, with derivatives to any order", {
  knots <- c(0, 0, 0, 0, 0.2, 0.5, 0.5, 0.8, 1, 1, 1, 1)
  x <- sort(stats::runif(50))
  for (degree in 0:3) {
    B <- bspline(Pm(knots), Vi(x), degree)
    expect_identical(width(B), length(knots) - as.integer(degree) - 1L)
    expect_close(as.matrix(B)[, 1, ], splines::splineDesign(knots, x, degree + 1, outer.ok = TRUE), 1e-14)
  }
  X <- Vi(x, name = "x")
  B <- bspline(Pm(knots), X, 3)
  slopes <- as.matrix(lazy_derivative(B, X, Vi(rep(1, 50))))[, 1, ]
  expect_close(slopes, splines::splineDesign(knots, x, 4, derivs = rep(1, 50)), 1e-12, scale = 10)
})

test_that("series are warped: identical ones at no cost once little is smoothed, delayed ones below their distance", {
  set.seed(6)
  s <- cumsum(stats::rnorm(24))
  series <- rbind(s, c(s[1], s[-24]), rev(s))
  W <- softdtw(Vi(series, name = "x"), Vj(series), 1e-3)
  D <- as.matrix(W)
  expect_close(diag(D), rep(0, 3), 0.01)
  expect_lt(D[1, 2], as.matrix(sqdist(Vi(series), Vj(series)))[1, 2])
  expect_equal(D, t(D), tolerance = 1e-6)
  X <- Vi(series[, 1:6], name = "x")
  text <- kernel_op("Sum_Reduction(SoftDTW_SqDist(x, y, g), 1)", c("x = Vi(6)", "y = Vj(6)", "g = Pm(1)"))
  expect_equal(text(series[, 1:6], series[, 1:6], 0.7), sum(softdtw(X, Vj(series[, 1:6]), 0.7), index = "j"))
})

test_that("mistakes with arrays and splines name the numbers that do not fit", {
  X <- Vi(matrix(1, 2, 6), name = "x")
  shape <- function(code, message) expect_error(code, message, class = "kernweave_error_shape", fixed = TRUE)
  shape(tensordot(X, X, c(2, 2), c(2, 3), 1, 1), "`dims_x = c(2, 2)` does not make the 6 components of `x`")
  shape(tensordot(X, X, c(2, 3), c(2, 3), 1, 2), "have dimensions c(2) in `x` and c(3) in `x`")
  shape(tensordot(X, X, c(2, 3), c(2, 3), 3, 1), "`axes_x = c(3)` must name axes from 1 to 2, each once")
  shape(tensordot(X, X, c(2, 3), c(2, 3), 1, 1, order = c(1, 1)), "`order = c(1, 1)` must name axes from 1 to 2")
  shape(tensordot(X, X, c(2, 3), c(2, 3), 1, 1, order = 1), "must name all 2 axes of the result")
  shape(kron(X, X, c(2, 3), 6), "must have as many dimensions")
  shape(matmult(X, X, 4), "must be multiples of the number of inner places")
  shape(bspline(X, elem(X, 1), 5), "6 knots for degree 5; at least 7 are needed")
  shape(bspline(X, X, 2), "`x` has 6 components; 1 is needed")
  shape(softdtw(X, X, X), "`x` has 6 components; 1 is needed")
  shape(softdtw(Vi(matrix(0, 1, 25)), Vj(matrix(0, 1, 24)), 1),
        "series of 25 and 24 components; their product may be at most 576")
  expect_error(tensordot(X, X, "a", 6, 1, 1), "`dims_x` must be whole numbers", class = "kernweave_error_input")
  expect_error(bspline(X, elem(X, 1), -1), "`degree` must be a whole number of at least 0",
               class = "kernweave_error_input")
  for (text in c("Kron(x, x, c(2, 3)", "Kron(x, x, 6, c(2, ))", "Kron(x, x, c(2 3), 6)", "Kron(x, x, 6)",
                 "pick(x, c())", "pick(x, c(7))", "TensorDot(x, x, c(-1), 6, 1, 1)"))
    expect_error(kernel_op(sprintf("Sum_Reduction(%s, 1)", text), "x = Vi(6)"), class = "kernweave_error")
})
