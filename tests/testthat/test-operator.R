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
  skip_without_peer("irlba")
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
  skip_on_cran()
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

test_that("sums and means of rows and columns are base R's, components and names included", {
  skip_below("quick")
  named <- matrix(stats::rnorm(6), 3, dimnames = list(c("a", "b", "c"), NULL))
  formulas <- list(K, t(K), sqdist(Vi(named), Vj(named[1:2, ])), sqdist(Vi(named[1, , drop = FALSE]), Vj(y[, 1:2])),
                   Vi(x) - Vj(y), Vi(x), Vj(y), K < 0.1, Vi(x)[, , 1], K[integer(), ], K[, integer()],
                   Vi(1:3) * Vj(1:2))
  for (F in formulas) {
    full <- as.matrix(F)
    for (f in c("rowSums", "colSums", "rowMeans", "colMeans")) {
      ours <- do.call(f, list(F))
      base <- do.call(getExportedValue("base", f), list(full))
      expect_equal(unname(ours), unname(base), label = paste(f, format(F)))
      expect_identical(is.null(dim(ours)), is.null(dim(base)))
      expect_identical(names(ours), names(base))
      expect_identical(rownames(ours), rownames(base))
    }
  }
  expect_equal(rowSums(dense), as.vector(sum(K, index = "j")))
  expect_error(rowSums(K, na.rm = TRUE), class = "kernweave_error_unsupported")
  expect_error(colSums(K, dims = 2), class = "kernweave_error_unsupported")
  expect_error(rowSums(Vi(dim = 2) - Vj(dim = 2)), class = "kernweave_error_no_data")
})

test_that("points are known by their names, keep them when taken, and give them to results", {
  a <- matrix(stats::rnorm(10), 5, dimnames = list(letters[1:5], NULL))
  b <- matrix(stats::rnorm(6), 3, dimnames = list(LETTERS[1:3], NULL))
  G <- exp(-sqdist(Vi(a), Vj(b)))
  full <- as.matrix(G)
  same <- function(F, matrix) {
    expect_identical(dimnames(F), dimnames(matrix))
    expect_equal(as.matrix(F), matrix)
  }
  same(G, full)
  same(t(G), t(full))
  same(G["b", ], full["b", , drop = FALSE])
  same(G[c("d", "a"), "C"], full[c("d", "a"), "C", drop = FALSE])
  same(G[-1, ], full[-1, ])
  same(G[c(TRUE, FALSE, TRUE, FALSE, TRUE), ], full[c(1, 3, 5), ])
  same(G[2:4, ][2:1, ], full[3:2, ])
  same(t(G[2:4, 2:1]), t(full[2:4, 2:1]))
  same(t(G)["B", c("e", "e")], t(full)["B", c("e", "e"), drop = FALSE])
  same(head(G, 2), full[1:2, ])
  same(tail(G, 1), full[5, , drop = FALSE])
  same(G[1:3, ] * 2 + Vi(1:3), full[1:3, ] * 2 + 1:3)
  expect_equal(G[1:3, ] %*% c(1, 2, 3), full[1:3, ] %*% c(1, 2, 3))
  expect_equal(crossprod(G[, c("C", "A")], 1:5), crossprod(full[, c("C", "A")], 1:5))
  expect_identical(rownames(argKmin(G["c", ], K = 2)), "c")
  # The first operand with names gives them, as for results; a vector has names, a matrix of pairs both.
  expect_identical(dimnames(Vi(c(u = 1, v = 2)) * Vj(1:2)), list(c("u", "v"), NULL))
  expect_identical(dimnames(Vij(full)), dimnames(full))
  expect_identical(dimnames(t(Vij(Matrix::Matrix(full, sparse = TRUE)))), dimnames(t(full)))
  expect_identical(dimnames(Vi(unname(a)) + Vi(a) + t(Vj(-a))), list(letters[1:5], NULL))
  expect_null(dimnames(K))
  expect_null(dimnames(Vi(dim = 2, name = "p")))
  expect_error(G["z", ], "none is named `z`", class = "kernweave_error_index")
  expect_error(K["a", ], "they have none", class = "kernweave_error_index")
  deep <- G
  for (k in 1:60) deep <- (deep + deep) / 2
  same(deep[c("a", "e"), ], full[c("a", "e"), ])
})

test_that("a product that does not fit says which side and which axis, as it was written", {
  shape <- function(code, message) expect_error(code, message, fixed = TRUE, class = "kernweave_error_shape")
  shape(1:9 %*% K, "the formula has 5 points along i, but the left side of %*% has 9 numbers")
  shape(matrix(0, 2, 9) %*% K, "5 points along i, but the left side of %*% has 9 columns")
  shape(K %*% 1:9, "7 points along j, but the right side of %*% has 9 rows")
  shape(crossprod(K, 1:9), "5 points along i, but the right side of crossprod() has 9 rows")
  shape(crossprod(1:9, K), "5 points along i, but the left side of crossprod() has 9 rows")
  shape(tcrossprod(K, matrix(0, 2, 9)), "7 points along j, but the right side of tcrossprod() has 9 columns")
  shape(tcrossprod(matrix(0, 2, 9), K), "7 points along j, but the left side of tcrossprod() has 9 columns")
  shape(1:5 %*% Vj(y), "the right side of %*%, `y`, has no points along i to be summed over")
  shape(Vi(x) %*% 1:5, "the left side of %*%, `x`, has no points along j to be summed over")
  shape(matrix(0, 2, 5) %*% (Vi(x) - Vj(y)), "3 components, but the left side of %*% has 2 rows")
  expect_error("a" %*% K, "`left side of %*%` must be numeric", fixed = TRUE, class = "kernweave_error_input")
  expect_error(array(0, c(2, 5, 2)) %*% K, class = "kernweave_error_unsupported")
  expect_equal(c(u = 1, v = 2, w = 3, x = 4, y = 5) %*% K, 1:5 %*% dense)
})

test_that("no function of base R makes the matrix of all pairs unasked", {
  square <- exp(-sqdist(Vi(x), Vj(x)))
  unasked <- expression(chol(square), eigen(square), svd(square), qr(square), dist(square), scale(square),
                        apply(square, 1, sum), apply(Vi(x) - Vj(x), 1:2, sum), prcomp(square), max.col(square),
                        mahalanobis(square, 0, 1), backsolve(square, 1:5), matplot(square))
  for (code in unasked) {
    name <- as.character(code[[1]])
    expect_error(eval(code), "as.matrix[(](square|F)[)]", class = "kernweave_error_unsupported", label = name)
  }
  said <- function(code) tryCatch(code, error = function(e) c(conditionMessage(e), deparse(conditionCall(e))))
  expect_match(said(eigen(square)), "write eigen(as.matrix(square)) if", fixed = TRUE, all = FALSE)
  expect_match(said(apply(square, 1, sum)), "write apply(as.matrix(square), ...) if", fixed = TRUE, all = FALSE)
  expect_identical(said(chol(square))[2], "chol(square)")
  # Whoever writes as.matrix() gets it, in whatever wrapping.
  asked <- expression(as.matrix(square), base::as.matrix(square), lapply(list(square), as.matrix)[[1]],
                      Map(as.matrix, list(square))[[1]], vapply(list(square), as.matrix, square_of_5)[, , 1],
                      do.call(as.matrix, list(square)), do.call("as.matrix", list(square)),
                      tryCatch(as.matrix(square)), with(list(K = square), as.matrix(K)), local(as.matrix(square)),
                      eval(quote(as.matrix(square))), (function(K) as.matrix(K))(square), as.array(square))
  square_of_5 <- matrix(0, 5, 5)
  made <- exp(-as.matrix(stats::dist(x))^2)
  for (code in asked) expect_equal(eval(code), made, label = deparse(code), ignore_attr = TRUE)
  for (name in c("pmin", "pmax")) {
    for (args in list(list(square, 0.5), list(0.5, square))) {
      instead <- sub("p", "", paste0(name, "2(a, b)"))
      expect_error(do.call(name, args), instead, fixed = TRUE, class = "kernweave_error_unsupported")
    }
  }
  expect_error(pmin(exp(-sqdist(Vi(numeric(1e6)), Vj(numeric(1e6)))), 0.5), class = "kernweave_error_unsupported")
  expect_error(ifelse(square < 1, 1, 0), "lazy_if", class = "kernweave_error_unsupported")
})

test_that("a point along an axis that is not there is no component", {
  D <- Vi(x)
  expect_error(D[, 1], "D[, , k] takes components", fixed = TRUE, class = "kernweave_error_index")
  expect_error(D[2:3, 1], "D[, , k] takes components", fixed = TRUE, class = "kernweave_error_index")
  expect_error(Vj(y)[1, ], "F[, J] points along j", fixed = TRUE, class = "kernweave_error_index")
  expect_equal(as.matrix(D[, , 1]), x[, 1, drop = FALSE])
  expect_equal(as.matrix(D[, , 1][, 1]), x[, 1, drop = FALSE])
  expect_equal(diag(D), x[1, , drop = FALSE])
})
