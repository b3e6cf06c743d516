# Linear operators as objects: what they become, how they show themselves, whom they meet.

set.seed(12)
x <- matrix(stats::runif(18), 6)
y <- matrix(stats::runif(12), 4)
K <- kernel_gaussian(x)
L <- kernel_gaussian(x, y)
dense <- as.matrix(K)
A <- K + 0.1 * identity_op(6)
kind <- function(op) op$kind
kinds <- function(op) vapply(op$parts, kind, "")

test_that("operators are as simple as they can be", {
  expect_identical(kind(as_op(K) + L %*% t(L) - as_op(K)), "sum")
  rows <- list(
    list(as_op(K), "lazy"), list(as_op(Vij(dense)), "lazy"), list(as_op(Vj(y)[, , 1]), "dense"),
    list(as_op(Vi(1:3)), "dense"), list(as_op(Pm(2)), "dense"), list(as_op(Matrix::Diagonal(3)), "diagonal"),
    list(as_op(Matrix::Diagonal(3, 1:3)), "diagonal"), list(as_op(Matrix::Matrix(dense)), "dense"),
    list(as_op(Matrix::rsparsematrix(3, 4, 0.2)), "function"), list(as_op(as.data.frame(y)), "dense"),
    list(diagonal_op(Matrix::Diagonal(2)), "diagonal"), list(2 * as_op(K), "lazy"), list(as_op(K) + K, "lazy"),
    list(K + (A - 0.1 * Matrix::Diagonal(6)), "sum"), list(-3 * identity_op(3), "diagonal"),
    list(diagonal_op(1:6) %*% K, "lazy"), list(K %*% diagonal_op(1:6), "lazy"),
    list(K %*% Matrix::Diagonal(6, 1:6), "lazy"), list(Matrix::Diagonal(6, 1:6) %*% K, "lazy"),
    list(diagonal_op(1:6) %*% as_op(L) %*% diagonal_op(4:1), "lazy"), list(identity_op(6) %*% A, "sum"),
    list(diagonal_op(1:6) %*% diagonal_op(6:1), "diagonal"),
    list(kronecker(identity_op(2), diagonal_op(1:2)), "diagonal"),
    list(kronecker(K, L), "kronecker"), list(K %x% diag(2), "kronecker"), list(block_op(list(list(K))), "lazy"),
    list(A[1:2, 2:3], "sum"), list(A[1:2, 1:2], "sum"), list(identity_op(4)[2:3, 2:3], "diagonal"),
    list(crossprod(L), "product"), list(t(L) %*% L, "product"), list(tcrossprod(L, L), "product"),
    list(crossprod(L, K), "product"), list(crossprod(diagonal_op(1:3)), "diagonal")
  )
  for (k in seq_along(rows)) expect_identical(kind(rows[[k]][[1]]), rows[[k]][[2]], label = paste("row", k))
  expect_identical(kinds(A + 2 * A - K + identity_op(6)), c("lazy", "diagonal"))
  expect_identical(kinds(A %*% A %*% A), rep("sum", 3))
  expect_identical(kinds((L %*% t(L)) %*% (K %*% L)), rep("lazy", 4))
  expect_identical(kinds(dense + A + dense), c("dense", "lazy", "diagonal"))
  expect_identical(kinds(t(function_op(identity, 6, transposed = identity)) + A), c("function", "lazy", "diagonal"))
})

test_that("a number for each row multiplies the rows of a formula, which stays one", {
  d <- stats::rnorm(6)
  expect_true(is_lazy(d * K))
  expect_equal(as.matrix(d * K), d * dense)
  expect_equal(as.matrix(K * d), dense * d)
  expect_equal(as.matrix(K / d), dense / d)
  expect_equal(as.matrix(d / K), d / dense)
  expect_equal(as.matrix((1:6) * L), (1:6) * as.matrix(L))
  expect_error((1:4) * L, class = "kernweave_error_shape")
  expect_error(d + K, class = "kernweave_error_shape")
  D <- Vi(x) - Vj(y)
  expect_equal(as.matrix(D * 1:3), as.matrix(D * Pm(1:3)))
  expect_equal(as.matrix(Vi(d) * A), d * as.matrix(A))
  expect_equal(as.matrix(A * Vj(d)), as.matrix(A) * rep(d, each = 6))
  expect_equal(as.matrix(A / Vi(d)), as.matrix(A) / d)
  expect_equal(as.matrix(Pm(2) * A), 2 * as.matrix(A))
})

test_that("a diagonal beside a lazy tensor is recognised, a dense one hinted at once", {
  for (op in list(K + 0.1 * Matrix::Diagonal(6), 0.1 * Matrix::Diagonal(6) + K)) {
    expect_identical(kinds(op), c("lazy", "diagonal")[if (kind(op$parts[[1]]) == "lazy") 1:2 else 2:1])
    expect_equal(as.matrix(op), dense + 0.1 * diag(6))
  }
  expect_equal(as.matrix(Matrix::Diagonal(6) - K), diag(6) - dense)
  expect_equal(as.matrix(K * Matrix::Diagonal(6)), dense * diag(6))
  forget_said("diagonal")
  expect_silent(K + dense)
  expect_silent(K + matrix(0, 6, 6)[, c(1:5, 5)] + outer(1:6, 1:6))
  expect_message(sum <- K + 0.1 * diag(6), "identity_op(6)", fixed = TRUE)
  expect_true(is_lazy(sum))
  expect_silent(K + diag(6))
})

test_that("symmetry is known where it follows from the parts", {
  S <- Matrix::forceSymmetric(Matrix::rsparsematrix(6, 6, 0.2))
  F <- function_op(function(v) dense %*% v, 6, symmetric = TRUE)
  yes <- list(identity_op(3), as_op(dense), as_op(S), F, F + identity_op(6), 2 * F, crossprod(L), tcrossprod(L),
              crossprod(A), t(F), kronecker(F, identity_op(2)), block_op(list(list(F, NULL), list(NULL, F))),
              F[2:1, 2:1], as_op(matrix(1)))
  no <- list(as_op(L), as_op(y[, 1:2] + 0), as_op(matrix(1:4, 2)), F + matrix(stats::rnorm(36), 6), F[1:2, ],
             as_op(x[2:1, ]))
  unknown <- list(as_op(K), A, F %*% F, F %*% identity_op(6) %*% A, function_op(identity, 3),
                  cbind(rbind(F, F), rbind(F, F)))
  for (op in yes) expect_true(op$symmetric, label = format(op))
  for (op in no) expect_false(op$symmetric, label = format(op))
  for (op in unknown) expect_identical(op$symmetric, NA, label = format(op))
})

test_that("names of rows and columns go with an operator and its products", {
  names <- list(letters[1:6], LETTERS[1:6])
  M <- structure(dense, dimnames = names)
  rows <- matrix(stats::runif(18), 6, dimnames = list(letters[1:6], NULL))
  G <- kernel_gaussian(rows)
  B <- G + 0.1 * identity_op(6)
  full <- as.matrix(G) + 0.1 * diag(6)
  expect_identical(dimnames(B), dimnames(full))
  expect_equal(B %*% 1:6, full %*% 1:6)
  expect_equal(B %*% M, full %*% M)
  expect_equal(M %*% B, M %*% full)
  expect_equal(crossprod(M, B), crossprod(M, full))
  expect_equal(as.matrix(B["b", ]), full["b", , drop = FALSE])
  expect_equal(as.matrix(B[c("c", "a"), c("f", "f")]), full[c("c", "a"), c("f", "f")])
  expect_equal(as.matrix(t(as_op(M))), t(M))
  expect_equal(as.matrix(cbind(as_op(M), M)), cbind(M, M))
  expect_equal(as.matrix(cbind(as_op(M), trend = 1:6, 1)), cbind(M, trend = 1:6, 1))
  expect_error(cbind(as_op(M), c(a = 1)), "1 name, of which the first is \"a\", for 6 rows",
               class = "kernweave_error_shape")
  expect_equal(as.matrix(rbind(as_op(M), last = 1)), rbind(M, last = 1))
  S <- Matrix::Matrix(M, sparse = TRUE)
  expect_equal(as.matrix(as_op(S)["b", ]), M["b", , drop = FALSE])
  expect_equal(as_op(S) %*% 1:6, M %*% 1:6)
  expect_equal(rowSums(B), rowSums(full))
  expect_equal(as.matrix(as_op(M) %*% G), M %*% as.matrix(G))
  expect_equal(as.matrix(diagonal_op(c(u = 1, v = 2))), structure(diag(1:2), dimnames = rep(list(c("u", "v")), 2)))
  expect_equal(as.matrix(cbind(G, B)[c("a", "b"), ]), cbind(as.matrix(G), full)[c("a", "b"), ])
})

test_that("Matrix's classes stand on either side of everything", {
  skip_below("quick")
  S <- Matrix::rsparsematrix(6, 6, 0.3)
  full <- as.matrix(A)
  for (M in list(S, Matrix::Matrix(dense), Matrix::forceSymmetric(S), Matrix::triu(S), Matrix::Matrix(x %*% t(x)))) {
    D <- as.matrix(M)
    expect_equal(A %*% M, full %*% D)
    expect_equal(M %*% A, D %*% full)
    expect_equal(crossprod(A, M), crossprod(full, D))
    expect_equal(crossprod(M, A), crossprod(D, full))
    expect_equal(tcrossprod(A, M), tcrossprod(full, D))
    expect_equal(tcrossprod(M, A), tcrossprod(D, full))
    expect_equal(as.matrix(A + M), full + D)
    expect_equal(as.matrix(M - A), D - full)
    expect_equal(as.matrix(kronecker(M, A)), kronecker(D, full))
    expect_equal(as.matrix(cbind(M, A)), cbind(D, full), ignore_attr = TRUE)
    expect_equal(as.matrix(rbind(A, M)), rbind(full, D), ignore_attr = TRUE)
    expect_error(A * M, class = "kernweave_error_unsupported")
  }
  D <- Matrix::Diagonal(6, 1:6)
  for (op in list(A %*% D, D %*% A, crossprod(D, A), tcrossprod(K, D), crossprod(K, D))) {
    expect_true(inherits(op, "linear_op"))
  }
  expect_equal(as.matrix(crossprod(D, A)), (1:6) * full)
  expect_equal(as.matrix(tcrossprod(K, D)), dense %*% diag(1:6))
})

test_that("products of lazy tensors are operators, those with points along j sums", {
  expect_equal(as.matrix(crossprod(L)), crossprod(as.matrix(L)))
  expect_equal(as.matrix(tcrossprod(L)), tcrossprod(as.matrix(L)))
  expect_equal(as.matrix(K %*% L), dense %*% as.matrix(L))
  expect_equal(crossprod(L, Vj(1:6)), crossprod(as.matrix(L), 1:6))
  expect_equal(diag(K %*% K), diag(dense %*% dense))
  expect_equal(diag(L %*% as_op(y)[, 1:3]), diag(as.matrix(L) %*% y))
  expect_equal((K < 0.9) %*% 1:6, (dense < 0.9) %*% 1:6)
  expect_equal(as.matrix(as_op(K < 0.9)), 1 * (dense < 0.9))
})

test_that("an operator shows its algebra", {
  skip_below("quick")
  said <- function(op) format(op, digits = 3)
  G <- Vi(x[, 1], name = "u") * Vj(x[, 2], name = "v")
  expect_identical(said(as_op(G) + identity_op(6) / 4), "u * v + 0.25 * I")
  expect_identical(said(dense - 2 * function_op(identity, 6)), "matrix(6 x 6) - 2 * function(6 x 6)")
  expect_identical(said(as_op(dense) %*% (as_op(G) + diagonal_op(1:6))), "matrix(6 x 6) %*% (u * v + diag(d))")
  expect_identical(said(as_op(G) - G), "u * v - u * v")
  expect_identical(said(block_op(list(list(G, NULL), list(diag(6), dense)))),
                   "[u * v, 0; matrix(6 x 6), matrix(6 x 6)]")
  expect_identical(said(kronecker(G, diag(2))), "kronecker(u * v, matrix(2 x 2))")
  expect_output(print(as_op(dense)), "<linear operator> 6 x 6, symmetric\n  matrix(6 x 6)", fixed = TRUE)
  expect_output(print(lazy_set(A, threads = 1)), "set: threads = 1")
  expect_output(str(A), "^<linear operator> 6 x 6: ")
  s <- summary(A + Matrix::rsparsematrix(6, 6, 0.2))
  expect_identical(s$pairs, 36)
  expect_output(print(s), "lazy tensor: 1, sparse matrix: 1")
  expect_identical(said(solve(as_op(dense))), "inverse(6 x 6)")
  expect_identical(said(solve(kernel_gaussian(x), ridge = 1)), "inverse(6 x 6)")
  one <- summary(approximate(kernel_gaussian(x)) + as_op(kernel_gaussian(x)))
  expect_identical(c(one$pairs, one$series), c(72, 0))
  far <- summary(approximate(kernel_cauchy(seq(0, 1, length.out = 20000))))
  expect_gt(far$series, 0)
  expect_output(print(far), "pairs of points, [0-9,]+ pairs of boxes")
  long <- Reduce(`%*%`, rep(list(A), 60))
  expect_lt(nchar(utils::capture.output(print(long))[2]), 510)
})

test_that("settings are those of the lazy tensors, and travel", {
  set <- lazy_set(block_op(list(list(A, L), list(t(L), NULL))), device = "reference", threads = 1)
  expect_identical(set$settings, list(device = "reference", threads = 1L))
  expect_identical((set[1:2, ] %*% set)$settings, set$settings)
  expect_identical(t(2 * set + set)$settings, set$settings)
  expect_identical((lazy_set(K, threads = 1) + identity_op(6))$settings, list(threads = 1L))
  expect_null(lazy_set(identity_op(3), threads = 1)$settings)
  expect_equal(as.matrix(2 * lazy_set(K)), 2 * as.matrix(K))
  expect_equal(set %*% 1:10, as.matrix(set) %*% 1:10)
})

test_that("an operator survives being saved, and the S4 bit all that is done to it", {
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(A, file)
  again <- readRDS(file)
  expect_equal(again %*% 1:6, A %*% 1:6)
  for (op in list(A, again, t(A), A[1:2, ], -A, lazy_set(A, threads = 1), kronecker(A, A))) expect_true(isS4(op))
  expect_identical(head(letters), letters[1:6])
  expect_equal(as.matrix(head(A, 2)), as.matrix(A)[1:2, ])
  expect_equal(as.matrix(tail(A, 2)), as.matrix(A)[5:6, ])
})

test_that("a function of R may be what an operator is made of, and its faults are named", {
  shift <- function_op(function(v) v[c(2:6, 1), , drop = FALSE], 6,
                       transposed = function(v) v[c(6, 1:5), , drop = FALSE])
  P <- diag(6)[c(2:6, 1), ]
  expect_equal(as.matrix(shift), P)
  expect_equal(as.matrix(A %*% shift), as.matrix(A) %*% P)
  expect_equal(crossprod(shift, 1:6), crossprod(P, 1:6))
  expect_equal(function_op(function(v) v[, 1], 3) %*% 1:3, matrix(1:3))
  expect_error(function_op(function(v) v[1:2, ], 3) %*% diag(3), "must be a matrix of 3 x 3",
               class = "kernweave_error_shape")
  expect_error(function_op(function(v) "a", 3) %*% 1:3, class = "kernweave_error_input")
  expect_error(function_op(function(v) stop("inside"), 3) %*% 1:3, "inside")
})

test_that("as.matrix is guarded by size, and rows are taken of what is too large", {
  big <- kernel_gaussian(matrix(stats::runif(2e5), 1e5)) + identity_op(1e5)
  expect_error(as.matrix(big), "100000 x 100000|1e\\+05 x 1e\\+05", class = "kernweave_error_memory")
  expect_identical(dim(as.matrix(big[1:2, 1:3])), 2:3)
  expect_identical(length(big), 1e10)
})

test_that("functions that would take an operator for a list, or for a wrong argument, are refused", {
  A <- as_op(diag(3))
  expect_error(c(A, A), "rbind(A, B)", fixed = TRUE, class = "kernweave_error_unsupported")
  expect_error(plot(A), "plot()", fixed = TRUE, class = "kernweave_error_unsupported")
  expect_error(isSymmetric(A), "A$symmetric", fixed = TRUE, class = "kernweave_error_unsupported")
  expect_true(A$symmetric)
})

test_that("TRUE and NA beside an operator are the numbers that R takes them for", {
  A <- as_op(diag(3))
  expect_identical(as.matrix(A * TRUE), diag(3))
  expect_identical(as.matrix(c(TRUE, FALSE, TRUE) * A), diag(c(1, 0, 1)))
  expect_true(all(is.na(as.matrix(NA * A))))
})
