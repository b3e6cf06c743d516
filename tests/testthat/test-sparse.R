# Sparse matrices of pairs: the numbers of dense ones, whatever class they come in.

sparse_case <- function(M = 13, N = 17) {
  A <- Matrix::rsparsematrix(M, N, 0.2)
  dimnames(A) <- list(sprintf("r%d", seq_len(M)), sprintf("c%d", seq_len(N)))
  A
}

test_that("a sparse matrix gives the numbers of the dense one, along every axis, turned or not, on every device", {
  skip_below("quick")
  set.seed(1)
  for (sizes in list(c(13, 17), c(1, 5), c(5, 1), c(300, 7), c(7, 700), c(129, 130))) {
    A <- sparse_case(sizes[1], sizes[2])
    x <- cloud(sizes[1], 3)
    y <- cloud(sizes[2], 3)
    b <- stats::rnorm(sizes[2])
    formulas <- function(A) {
      list(Vij(A), Vij(A) * exp(-sqdist(Vi(x), Vj(y))) * Vj(b), t(Vij(A)) + Vj(x)[, , 1], Vi(x)[, , 2] - Vij(A),
           Vij(A)^2 + Vij(A))
    }
    for (device in test_devices()) for (precision in test_precisions()) {
      given <- formulas(A)
      expected <- formulas(as.matrix(A))
      for (k in seq_along(given)) for (index in c("i", "j", "ij")) {
        value <- sum(given[[k]], index = index, device = device, precision = precision)
        expect_close(value, sum(expected[[k]], index = index, device = "reference"), tolerance_of(precision),
                     scale = 100 * max(sizes), label = paste(k, index, device))
        expect_identical(dimnames(value),
                         dimnames(sum(expected[[k]], index = index, device = device, precision = precision)))
      }
    }
    expect_identical(argKmin(given[[1]], K = 1), argKmin(expected[[1]], K = 1))
    expect_identical(as.matrix(Vij(A)), as.matrix(A))
  }
})

test_that("all classes of sparse matrices are taken: symmetric, triangular, by rows, as triplets, patterns, logicals", {
  set.seed(2)
  A <- sparse_case(9, 9)
  twice <- Matrix::sparseMatrix(i = c(1, 1, 9), j = c(2, 2, 9), x = c(1, 2, NaN), dims = c(9, 9), repr = "T")
  for (S in list(A, Matrix::forceSymmetric(A), Matrix::triu(A), Matrix::Diagonal(9), Matrix::Diagonal(9, 1:9),
                 methods::as(A, "RsparseMatrix"), twice,
                 methods::as(A, "TsparseMatrix"), A != 0, methods::as(A != 0, "nMatrix"),
                 Matrix::Matrix(0, 9, 9, sparse = TRUE))) {
    D <- as.matrix(S)
    expect_identical(as.matrix(Vij(S)), D, info = class(S))
  }
  expect_identical(reduction(Vij(A != 0), "count", index = "j"),
                   reduction(Vij(as.matrix(A != 0)), "count", index = "j"))
  for (empty in list(c(0, 5), c(5, 0), c(0, 0))) {
    S <- Matrix::sparseMatrix(integer(), integer(), x = numeric(), dims = empty)
    expect_equal(sum(Vij(S), index = "j"), matrix(0, empty[1], 1))
  }
  K <- exp(-sqdist(Vi(cloud(9, 2)), Vj(cloud(9, 2))))
  expect_equal(sum(K * A, index = "j"), sum(K * as.matrix(A), index = "j"))
})

test_that("derivatives in a sparse matrix are matrices of its shape, with its names", {
  set.seed(3)
  A <- sparse_case()
  S <- Vij(A, name = "A")
  D <- Vij(as.matrix(A), name = "A")
  y <- Vj(stats::rnorm(17))
  of <- function(V) vjp(reduction(sin(V) * y, "sum", index = "j", call = FALSE), V, cotangent = matrix(1:13))
  expect_equal(of(S), of(D))
  along <- function(V) jvp(reduction(sin(V) * y, "sum", index = "j", call = FALSE), V, tangent = 2)
  expect_equal(along(S), along(D))
})

test_that("the zeros of a sparse matrix take no memory, and it survives being saved", {
  skip_below("quick")
  set.seed(4)
  A <- Matrix::rsparsematrix(2e5, 400, 1e-3)
  F <- Vij(A) * Vj(stats::rnorm(400))
  expect_lt(utils::object.size(F$formula$args[[1]]$data), 5e6)
  expect_output(print(F), "200,000 points")
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(F, file)
  expect_identical(sum(readRDS(file), index = "j"), sum(F, index = "j"))
})

test_that("a damaged sparse matrix is refused, not read", {
  A <- sparse_case()
  damaged <- function(part, value) {
    F <- Vij(A)
    operand <- F$formula$args
    if (is.list(operand)) operand <- operand[[1]]
    data <- operand$data
    pattern <- attr(data, "sparse")
    pattern[[part]] <- value
    attr(data, "sparse") <- pattern
    operand$data <- data
    expect_error(sum(F, index = "j"), "damaged sparse matrix", class = "kernweave_error_internal")
  }
  starts <- A@p
  damaged(1, replace(starts, 3, 100000L))
  damaged(1, replace(starts, 3, -1L))
  damaged(1, starts[-1])
  damaged(1, NULL)
  damaged(2, replace(A@i, 1, 13L))
  damaged(2, replace(A@i, 1, -1L))
  damaged(2, A@i[-1])
  damaged(3, c(13L, 18L))
})
