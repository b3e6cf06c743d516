# Names of points: rows of a result bear them, as base R's matrix product would have it.

set.seed(1)
x <- matrix(runif(8), 4, dimnames = list(c("a", "b", "c", "d"), c("u", "v")))
y <- matrix(runif(6), 3, dimnames = list(c("k", "l", "m"), NULL))
bare <- unname(x)
D <- function(x, y) sqdist(Vi(x), Vj(y))

test_that("rows bear the names of the points kept, whatever the reduction and the device", {
  for (device in c("cpu", "reference")) {
    expect_identical(rownames(reduction(D(x, y), "sum", index = "j", device = device)), rownames(x))
    expect_identical(rownames(reduction(D(x, y), "sum", index = "i", device = device)), rownames(y))
    expect_identical(rownames(reduction(D(x, y), "argKmin", K = 2, device = device)), rownames(x))
    expect_identical(rownames(reduction(Vi(x) - Vj(y), "max", device = device)), rownames(x))
    expect_null(dimnames(reduction(D(x, y), "sum", index = "ij", device = device)))
  }
  both <- reduction(D(x, y), "min_argmin")
  expect_identical(lapply(both, rownames), list(value = rownames(x), index = rownames(x)))
  lists <- reduction(Vi(x) - Vj(y), "Kmin", K = 2)
  expect_identical(dimnames(lists), list(rownames(x), NULL, NULL))
})

test_that("without names there are no dimnames, and the numbers are the same", {
  expect_null(dimnames(sum(D(bare, unname(y)), index = "j")))
  expect_null(dimnames(sum(D(bare, y), index = "j")))
  expect_identical(unname(sum(D(x, y), index = "j")), sum(D(bare, unname(y)), index = "j"))
})

test_that("the first operand with names gives them; vectors have names, tables and data frames have row names", {
  named <- Vi(c(p = 1, q = 2, r = 3, s = 4))
  expect_identical(rownames(sum(Vi(bare) * named - Vj(y), index = "j")), c("p", "q", "r", "s"))
  expect_identical(rownames(sum(D(as.data.frame(x), y), index = "j")), rownames(x))
  expect_null(rownames(sum(D(data.frame(1:4, 4:1), y), index = "j")))
  expect_identical(rownames(sum(D(as.table(x), y), index = "j")), rownames(x))
  whole <- matrix(1:4, 2, dimnames = list(c("e", "f"), NULL))
  expect_identical(rownames(sum(D(whole, y), index = "j")), c("e", "f"))
})

test_that("matrices and products are named as base R names them", {
  K <- exp(-D(x, y))
  dense <- as.matrix(K)
  expect_identical(dimnames(dense), list(rownames(x), rownames(y)))
  expect_identical(dimnames(as.matrix(t(K))), list(rownames(y), rownames(x)))
  right <- matrix(runif(6), 3, dimnames = list(NULL, c("first", "second")))
  left <- matrix(runif(8), 2, dimnames = list(c("one", "two"), NULL))
  pairs <- list(list(K %*% right, dense %*% right), list(left %*% K, left %*% dense),
                list(crossprod(K, x), crossprod(dense, x)))
  for (pair in pairs) {
    expect_equal(pair[[1]], pair[[2]], tolerance = 1e-12)
  }
  expect_identical(rownames(sum(Vij(dense) * Vj(unname(y)), index = "j")), rownames(x))
  expect_identical(rownames(sum(t(Vij(dense)) * Vj(bare), index = "j")), rownames(y))
})

test_that("prepared reductions take the names of each call's data, and gradients those of their points", {
  f <- as.function(sum(sqdist(Vi(dim = 2, name = "x"), Vj(dim = 2, name = "y")), index = "j"))
  expect_identical(rownames(f(x, y)), rownames(x))
  expect_null(dimnames(f(bare, y)))
  X <- Vi(x)
  R <- reduction(exp(-sqdist(X, Vj(y))), "sum", call = FALSE)
  expect_identical(dimnames(vjp(R, X, cotangent = matrix(1, 4, 1))), dimnames(x))
})
