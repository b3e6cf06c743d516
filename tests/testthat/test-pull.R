# Tests reductions in two steps: factors along the kept axis after the sum, separable terms, softmax with many columns.

how <- function(R) explain(R)$schedule$why
as_sum <- function(F, index = "j", ...) reduction(F, "sum", index = index, call = FALSE, ...)

test_that("factors along the kept axis come after the sum, those of separable terms are summed apart", {
  skip_below("quick")
  set.seed(30)
  M <- 160
  N <- 190
  X <- Vi(matrix(stats::rnorm(M * 3), M))
  Y <- Vj(matrix(stats::rnorm(N * 3), N))
  a <- Vi(stats::rnorm(M))
  b <- Vj(stats::rnorm(N))
  B <- Vj(matrix(stats::rnorm(N * 4), N))
  s <- Pm(1.3)
  K <- exp(-sqdist(X, Y))
  after <- list(
    as_sum(a * K), as_sum(a * K * b), as_sum(s * X * K * b), as_sum(-(a * K) * B), as_sum(K * b / a),
    as_sum(K * b, "i"), as_sum(a * K * B, "i"),
    as_sum(a * K * (X - Y)), vjp(as_sum(K * b), X, cotangent = matrix(1:M), call = FALSE),
    reduction(a * K, "sum", weight = b, call = FALSE)
  )
  apart <- list(
    as_sum((X | Y) * b), as_sum((X | Y) * B), as_sum(a * b), as_sum(X * b), as_sum(a * B), as_sum(-2 * s * (X | Y)),
    as_sum((Y | X) * a * b, "i"),
    as_sum(X * Y), as_sum(sum(X * Y) * X * b), as_sum((X | (Y * s)) * exp(b) * a), as_sum(a * b * s, "i")
  )
  neither <- list(as_sum(K), as_sum(K * b), as_sum((X | Y)^2), as_sum((X | Y) + 1), as_sum(X - Y), as_sum(K * (X | Y)),
                  as_sum(K * b * a, "ij"), reduction(a * K, "min", call = FALSE))
  check <- function(R, precision) {
    exact <- as.matrix(lazy_set(R, device = "reference"))
    expect_close(as.matrix(lazy_set(R, precision = precision)), exact, if (precision == "float64") 1e-13 else 5e-6,
                 scale = 50 * max(1, abs(exact)))
  }
  for (R in after) expect_match(how(R), "after the sum", info = format(R))
  for (R in apart) expect_match(how(R), "separable", info = format(R))
  for (R in neither) expect_false(grepl("after the sum|separable", how(R)), info = format(R))
  for (R in c(after, apart)) for (precision in c("float64", "float32")) check(R, precision)
})

test_that("two steps keep empty axes, missing values and groups of outputs", {
  x <- matrix(stats::rnorm(400), 200)
  y <- matrix(stats::rnorm(300), 150)
  a <- replace(stats::rnorm(200), c(3, 7), c(Inf, NaN))
  R <- as_sum(Vi(a) * exp(-sqdist(Vi(x), Vj(y))))
  expect_identical(as.matrix(R)[c(3, 7), 1], c(Inf, NaN))
  expect_identical(as.matrix(as_sum(Vi(a) * exp(-sqdist(Vi(x), Vj(y[0, ])))))[, 1], numeric(200))
  expect_identical(dim(as.matrix(as_sum(Vi(a[0]) * exp(-sqdist(Vi(x[0, ]), Vj(y)))))), c(0L, 1L))
  b <- replace(stats::rnorm(150), 5, NaN)
  expect_true(all(is.nan(as.matrix(as_sum((Vi(x) | Vj(y)) * Vj(b))))))
  X <- Vi(x, name = "x")
  Y <- Vj(y, name = "y")
  both <- vjp(as_sum(exp(-sqdist(X, Y))), list(X, Y), cotangent = matrix(stats::rnorm(200)))
  one <- vjp(as_sum(exp(-sqdist(X, Y))), list(X, Y), cotangent = matrix(stats::rnorm(200)), device = "reference")
  expect_identical(lapply(both, dim), lapply(one, dim))
})

test_that("a softmax with many columns is a logarithm of a sum and then a sum, at every size, as in one step", {
  skip_below("quick")
  set.seed(31)
  softmax <- function(F, w, index, ...) {
    reduction(F, "sumsoftmaxweight", weight = if (index == "j") Vj(w) else Vi(w), index = index, call = FALSE, ...)
  }
  sizes <- list(c(1, 64), c(70, 1), c(65, 127), c(257, 100))
  for (size in sizes) for (columns in c(7, 8, 61)) for (index in c("i", "j")) {
    x <- matrix(stats::rnorm(3 * size[1]), size[1])
    y <- matrix(stats::rnorm(3 * size[2]), size[2])
    folded <- size[if (index == "j") 2 else 1]
    w <- matrix(stats::rnorm(folded * columns), folded)
    two <- columns >= 8 && folded >= 64
    for (F in list((Vi(x) | Vj(y)), -sqdist(Vi(x), Vj(y)), 300 + 40 * (Vi(x) | Vj(y)))) {
      R <- softmax(F, w, index)
      expect_identical(grepl("after the sum of their exponentials", how(R)), two)
      exact <- as.matrix(lazy_set(R, device = "reference"))
      expect_close(as.matrix(R), exact, 1e-12)
      # An exponent of 300 is known to 1e-5 in float32, and with it a share.
      expect_close(as.matrix(lazy_set(R, precision = "float32")), exact, 2e-4)
    }
  }
})

test_that("a softmax with many columns passes on what is not finite, row by row", {
  set.seed(32)
  x <- matrix(stats::rnorm(100 * 2), 100)
  w <- matrix(stats::rnorm(100 * 9), 100)
  of <- function(F) as.matrix(reduction(F, "sumsoftmaxweight", weight = Vj(w), call = FALSE))
  plain <- of(Vi(x) | Vj(x))
  shift <- replace(numeric(100), c(3, 7, 11, 13), c(-Inf, Inf, NaN, 1e5))
  shifted <- of((Vi(x) | Vj(x)) + Vi(shift))
  expect_true(all(is.nan(shifted[c(3, 7, 11), ])))
  expect_close(shifted[-c(3, 7, 11), ], plain[-c(3, 7, 11), ], 1e-10)
  # Terms of -Inf have no share.
  without <- replace(numeric(100), 1:30, -Inf)
  expect_close(of((Vi(x) | Vj(x)) + Vj(without)),
               as.matrix(sumsoftmaxweight(Vi(x) | Vj(x[-(1:30), ]), weight = Vj(w[-(1:30), ]))), 1e-13)
})

test_that("a separable sum of ten million pairs takes no longer than its points", {
  skip_below("quick")
  X <- Vi(matrix(stats::runif(3e5), 1e5))
  Y <- Vj(matrix(stats::runif(3e5), 1e5))
  expect_lt(system.time(as.matrix(as_sum((X | Y) * Vj(rep(1, 1e5)))))[["elapsed"]], 1)
})
