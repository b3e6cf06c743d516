# A lazy tensor as a matrix: products, transposes, rows and columns, and packages that take it for one.

set.seed(3)
x <- matrix(stats::rnorm(15), 5)
y <- matrix(stats::rnorm(21), 7)
K <- exp(-sqdist(Vi(x), Vj(y)))
dense <- as.matrix(K)

test_that("products agree with the dense matrix, in every order and with every kind of right side", {
  b <- stats::rnorm(7)
  B <- matrix(stats::rnorm(21), 7)
  a <- stats::rnorm(5)
  expect_equal(K %*% b, dense %*% b)
  expect_equal(K %*% B, dense %*% B)
  expect_equal(K %*% Matrix::Matrix(B), dense %*% B)
  expect_equal(K %*% as.data.frame(B), dense %*% as.matrix(as.data.frame(B)))
  expect_equal(K %*% Vj(b), dense %*% b)
  expect_equal(a %*% K, a %*% dense)
  expect_equal(t(B[1:5, ]) %*% K, t(B[1:5, ]) %*% dense)
  expect_equal(Matrix::Matrix(t(B[1:5, ])) %*% K, t(B[1:5, ]) %*% dense)
  expect_equal(crossprod(K, a), crossprod(dense, a))
  expect_equal(tcrossprod(K, t(b)), tcrossprod(dense, t(b)))
  expect_equal(t(K) %*% a, t(dense) %*% a)
  expect_identical(dim(K %*% b), c(5L, 1L))
  expect_equal(dim(K %*% matrix(0, 7, 0 + 1)), c(5L, 1L))
})

test_that("t, diag, dim and subsets agree with the dense matrix", {
  expect_equal(as.matrix(t(K)), t(dense))
  expect_identical(dim(t(K)), c(7L, 5L))
  expect_equal(as.matrix(t(t(K))), dense)
  expect_equal(diag(K), diag(dense))
  expect_equal(diag(t(K)), diag(dense))
  for (rows in list(2, c(4, 1, 4), -1, c(TRUE, FALSE, TRUE, FALSE, TRUE), integer())) {
    expect_equal(as.matrix(K[rows, ]), dense[rows, , drop = FALSE])
    expect_equal(as.matrix(K[rows, 3:2]), dense[rows, 3:2, drop = FALSE])
  }
  expect_equal(as.matrix(K[4:2, ][2, ]), dense[3, , drop = FALSE])
  expect_equal(as.matrix(t(K[4:2, 7])), t(dense[4:2, 7, drop = FALSE]))
  expect_equal(as.matrix(t(K)[1:2, c(5, 5)]), t(dense)[1:2, c(5, 5)])
  expect_equal(K[2:3, ] %*% y, dense[2:3, ] %*% y)
  expect_equal(as.matrix((row_index(4) * 10 + col_index(5))[c(3, 1), 2:4]), outer(c(30, 10), 2:4, "+"))
})

test_that("components are taken by the third place", {
  D <- Vi(x) - Vj(y)
  full <- as.matrix(D)
  expect_equal(dim(full), c(5L, 7L, 3L))
  expect_equal(as.matrix(D[, , 2]), full[, , 2])
  expect_equal(as.matrix(D[, , 2:3]), full[, , 2:3])
  expect_equal(as.matrix(D[, , c(3, 1)]), full[, , c(3, 1)])
  expect_equal(as.matrix(D[1:2, 3, -1]), full[1:2, 3, -1, drop = FALSE])
})

test_that("adjoint, split, permutation and translation properties hold", {
  a <- stats::rnorm(5)
  b <- stats::rnorm(7)
  expect_equal(sum(a * (K %*% b)), sum(b * (t(K) %*% a)))
  expect_equal(K %*% b, K[, 1:3] %*% b[1:3] + K[, 4:7] %*% b[4:7])
  shuffle <- sample(7)
  expect_equal(exp(-sqdist(Vi(x), Vj(y[shuffle, ]))) %*% b[shuffle], K %*% b)
  expect_equal(exp(-sqdist(Vi(x + 3), Vj(y + 3))) %*% b, K %*% b)
  expect_identical(argKmin(sqdist(Vi(x), Vj(y)), K = 3), argKmin(sqdist(Vi(x + 4), Vj(y + 4)), K = 3))
})

test_that("as.matrix is guarded by size and names it", {
  big <- sqdist(Vi(numeric(1e5)), Vj(numeric(1e5)))
  expect_error(as.matrix(big), "1e\\+05 x 1e\\+05|100000 x 100000", class = "kernweave_error_memory")
  expect_error(with_kernweave(as.matrix(K), max_dense_mb = 1e-6), class = "kernweave_error_memory")
})

test_that("irlba takes a lazy tensor for a matrix", {
  skip_if_not_installed("irlba")
  big <- exp(-sqdist(Vi(matrix(stats::rnorm(120), 40)), Vj(matrix(stats::rnorm(90), 30))))
  singular <- irlba::irlba(big, nv = 3)$d
  expect_equal(singular, svd(as.matrix(big))$d[1:3])
})

test_that("crossprod and tcrossprod take the formula on the right too", {
  a <- stats::rnorm(5)
  B <- matrix(stats::rnorm(21), 3)
  expect_equal(crossprod(a, K), crossprod(a, dense))
  expect_equal(tcrossprod(B, K), tcrossprod(B, dense))
})

test_that("long formulas are built, shown, computed and differentiated in time", {
  took <- system.time({
    G <- Vi(x[, 1])
    for (k in 1:400) G <- G * Vj(y[, 1]) + 1
    sum(G, index = "j")
    H <- Vi(x)
    for (k in 1:400) H <- norm2(H) + H
    R <- reduction(H, "sum", index = "i", call = FALSE)
    vjp(R, "x")
    jvp(R, "x", x)
  })[["elapsed"]]
  expect_lt(took, 3)
})
