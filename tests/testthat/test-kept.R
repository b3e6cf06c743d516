# Tests that what is made of a lazy tensor once is found again, and answers as what is made anew.

set.seed(5)
x <- matrix(stats::rnorm(24), 8)
y <- matrix(stats::rnorm(18), 6)
b <- stats::rnorm(6)
a <- stats::rnorm(8)
make <- function(s = 0.7) exp(-euclidean(Vi(x), Vj(y)) / s)

products <- list(
  product = function(K) K %*% b,
  columns = function(K) K %*% cbind(u = b, v = 1, w = 2:7),
  integers = function(K) K %*% 1:6,
  truths = function(K) K %*% (b > 0),
  frame = function(K) K %*% data.frame(u = b, v = 1:6),
  sparse = function(K) K %*% Matrix::Matrix(cbind(b, 0), sparse = TRUE),
  elsewhere = function(K) K %*% through("elsewhere", b, 6, FALSE),
  lazy = function(K) K %*% Vj(b),
  complex = function(K) K %*% (b + 1i),
  batches = function(K) K %*% array(b, c(6, 1, 2)),
  crossprod = function(K) crossprod(K, a),
  turned = function(K) t(K) %*% a,
  left = function(K) a %*% K,
  tcrossprod = function(K) tcrossprod(K, t(b)),
  operator = function(K) as_op(K) %*% b,
  rows = function(K) rowSums(K),
  columns_of = function(K) colSums(K),
  sums = function(K) sum(K, index = "j"),
  weighted = function(K) logsumexp(K, index = "i", weight = Vi(a)),
  vectors = function(K) mean(K, index = "ij", drop = TRUE),
  nearest = function(K) argKmin(K, K = 2, index = "j"),
  variance = function(K) variance(K, precision = "float32"),
  several = function(K) reduction(K, c("sum", "max"))
)
if (!length(windows)) products$elsewhere <- NULL

warmed <- function(K = make()) {
  for (k in 1:2) for (f in products) f(K)
  K
}

changes <- list(
  none = function(f, K) f(K),
  precision = function(f, K) with_kernweave(f(K), precision = "float32"),
  reference = function(f, K) with_kernweave(f(K), device = "reference"),
  threads = function(f, K) with_kernweave(f(K), threads = 2),
  checks = function(f, K) with_kernweave(f(K), check = TRUE),
  environment = function(f, K) with_variable("KERNWEAVE_PRECISION", "float32", f(K)),
  set = function(f, K) f(lazy_set(K, precision = "float32", device = "reference")),
  set_back = function(f, K) f(lazy_set(lazy_set(K, precision = "float32"), precision = "float64")),
  permuted = function(f, K) f(K[8:1, 6:1]),
  squared = function(f, K) f(K^2),
  restricted = function(f, K) f(restrict(K, where = Vi(x[, 1]) < Vj(y[, 1]))),
  groups = function(f, K) f(restrict(K, by = list(rep(1:2, 4), rep(1:2, 3)))),
  copied = function(f, K) {
    copy <- K
    f(copy)
  },
  saved = function(f, K) f(unserialize(serialize(K, NULL)))
)

test_that("products and reductions of a tensor that has been used are those of a new one, whatever has changed", {
  K <- warmed()
  value <- function(change, f, K) tryCatch(change(f, K), kernweave_error = conditionMessage)
  for (change in names(changes)) {
    for (f in names(products)) {
      used <- value(changes[[change]], products[[f]], K)
      expect_identical(used, value(changes[[change]], products[[f]], make()), label = paste(f, change))
    }
  }
  for (f in names(products)) expect_identical(products[[f]](K), products[[f]](make()), label = paste(f, "again"))
})

test_that("widths, precisions and sides in turns do not disturb each other", {
  K <- make()
  single <- lazy_set(K, precision = "float32")
  dense <- as.matrix(K)
  for (k in 1:3) {
    expect_equal(K %*% b, dense %*% b)
    expect_identical(single %*% b, lazy_set(make(), precision = "float32") %*% b)
    expect_equal(K %*% outer(b, 1:k), dense %*% outer(b, 1:k))
    expect_equal(crossprod(K, outer(a, 1:k)), crossprod(dense, outer(a, 1:k)))
    expect_equal(K %*% (2 * b), 2 * (dense %*% b))
  }
  expect_identical(K %*% c(one = 1, 2:6), K %*% (1:6 + 0))
  for (wrong in list(1:5, matrix(1, 5, 1), "a", NULL)) {
    for (tensor in list(K, make())) expect_error(tensor %*% wrong, class = "kernweave_error")
  }
})

made_with <- function(K) length(kernweave:::r_kept(K)$made)

test_that("what was made is found again by copies of the tensor alone, and is not without end", {
  found <- function(K) kernweave:::waiting_product(K, 1L)$cache
  K <- warmed()
  copy <- K
  expect_identical(found(K), found(copy))
  expect_identical(found(t(K)), found(t(copy)))
  for (other in list(make(), K * 2, lazy_set(K, threads = 1), K[1:8, ])) {
    expect_false(identical(found(other), found(K)))
  }
  for (k in 1:40) K %*% matrix(1, 6, k)
  expect_lte(made_with(K), 16)
})

test_that("a tensor weighs as much in a file after its products as before, and computes the same in a new session", {
  K <- make()
  size <- function() length(serialize(K, NULL))
  before <- size()
  first <- c(K %*% b, crossprod(K, a), rowSums(K))
  expect_lt(size(), before + 100)
  file <- tempfile(fileext = ".rds")
  saveRDS(list(K, a, b), file)
  lines <- c(sprintf("s <- readRDS(%s)", deparse(file)), "K <- s[[1]]",
             "lapply(1:2, function(k) c(K %*% s[[3]], Matrix::crossprod(K, s[[2]]), Matrix::rowSums(K)))")
  expect_identical(in_new_process(lines), list(first, first))
})

test_that("gradients of products of a tensor that has been used are those of a new one, before and after values", {
  K <- warmed()
  loss <- function(K) function(b) sum((K %*% b)^2) + sum(crossprod(K, K %*% b))
  for (k in 1:2) {
    expect_identical(gradient(loss(K))(b), gradient(loss(make()))(b))
    expect_identical(hessian(loss(K))(b), hessian(loss(make()))(b))
    expect_identical(loss(K)(b), loss(make())(b))
  }
  of_scale <- function(s) {
    K <- make(s)
    sum((K %*% b) * a) + sum((K %*% b)^2) + sum(rowSums(K) * a) + sum(logsumexp(K, weight = Vj(b^2)))
  }
  slope <- (of_scale(0.7 + 1e-5) - of_scale(0.7 - 1e-5)) / 2e-5
  for (k in 1:2) expect_equal(gradient(of_scale)(0.7)$s, slope, tolerance = 1e-7)
  moved <- function(p) sum((K * p) %*% b) + sum(K %*% (b * p)) + sum(sum(K, index = "j", drop = TRUE) * p)
  expect_equal(gradient(moved)(2)$p, 2 * sum(K %*% b) + sum(rowSums(K)))
})

test_that("values with a history are not kept with a tensor that has none", {
  K <- make()
  held <- function() made_with(K)
  gradient(function(b) sum(K %*% b) + sum(logsumexp(K, weight = Vj(b^2))))(b)
  expect_identical(held(), 0L)
  expect_equal(length(K %*% b), 8L)
  expect_identical(held(), 1L)
})

test_that("a formula that waits for data gives a reduction at each product, and it computes", {
  K <- exp(-sqdist(Vi(dim = 3, name = "p"), Vj(y)))
  for (k in 1:2) {
    R <- K %*% (k * b)
    expect_true(is_reduction(R))
    expect_equal(as.function(R)(x), k * (exp(-sqdist(Vi(x), Vj(y))) %*% b))
  }
})
