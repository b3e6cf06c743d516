# Tests by several kernels: the largest standardised statistic.

two <- function(n = 20, by = 0.7) {
  set.seed(21)
  list(x = matrix(stats::rnorm(2 * n), n), y = matrix(stats::rnorm(2 * n, by), n))
}
# The largest z and its replicates, from dense matrices and orders as the test draws them.
dense_largest <- function(statistic_of, kernels, orders) {
  T <- vapply(kernels, function(K) c(statistic_of(K, NULL), apply(orders, 2, function(o) statistic_of(K, o))),
              numeric(1 + ncol(orders)))
  apply(scale(T), 1, max)
}
scales_of <- function(points, count) stats::median(stats::dist(points)) * 2^seq(-3, 3, length.out = count)

test_that("one kernel in a list is that kernel alone, with the same seed", {
  d <- two()
  same <- function(a, b) {
    parts <- c("statistic", "p.value", "estimate", "replicates", "moments", "kernel", "method")
    expect_identical(unclass(a)[parts], unclass(b)[parts])
  }
  for (null in c("permutation", "moments")) {
    of <- function(f, ...) {
      set.seed(1)
      f(d$x, d$y, null = null, R = 49, ...)
    }
    k <- kernel_spec("matern32", scale = 2)
    same(of(mmd_test, kernel = list(k)), of(mmd_test, kernel = k))
    same(of(mmd_test, kernel = list("gaussian")), of(mmd_test))
    same(of(mmd_test, bandwidths = 1), of(mmd_test))
    same(of(hsic_test, kernel = list(k), kernel_y = list("gaussian")), of(hsic_test, kernel = k, kernel_y = "gaussian"))
    same(of(hsic_test, bandwidths = 1), of(hsic_test))
  }
})

test_that("the largest z of two samples and its replicates are those of dense matrices and the same orders", {
  d <- two()
  pooled <- rbind(d$x, d$y)
  codes <- rep(1:2, each = 20)
  scales <- scales_of(pooled, 4)
  kernels <- lapply(scales, function(s) dense_gaussian(pooled, s))
  set.seed(2)
  found <- mmd_test(d$x, d$y, bandwidths = 4, R = 30)
  set.seed(2)
  orders <- replicate(30, sample.int(40))
  largest <- dense_largest(function(K, o) dense_groups_statistic(K, if (is.null(o)) codes else codes[o]), kernels,
                           orders)
  expect_equal(found$statistic, c("max z" = largest[1]))
  expect_equal(found$replicates, largest[-1])
  expect_equal(found$p.value, mean(largest >= largest[1]))
  expect_equal(found$kernels$T, vapply(kernels, dense_groups_statistic, 0, codes))
  k <- which.max(found$kernels$z)
  expect_equal(found$scale, scales[k])
  expect_equal(found$pairwise[1, 2], found$kernels$T[k] / 10)
  set.seed(2)
  expect_equal(mmd_test(d$x, d$y, bandwidths = scales, R = 30)$replicates, found$replicates)
  set.seed(2)
  by_list <- mmd_test(d$x, d$y, kernel = lapply(scales, function(s) kernel_spec("gaussian", s)), R = 30)
  expect_equal(by_list$replicates, found$replicates)
  set.seed(2)
  frame <- data.frame(rbind(d$x, d$y), g = codes)
  expect_equal(mmd_test(cbind(X1, X2) ~ g, frame, bandwidths = 4, R = 30)$replicates, found$replicates)
})

test_that("the largest z of all pairs of kernels of two sides is that of dense matrices", {
  d <- two(15, 0)
  A <- lapply(scales_of(d$x, 3), function(s) centred(dense_gaussian(d$x, s)))
  B <- lapply(c(1, 2), function(s) centred(dense_gaussian(d$y, s)))
  kernels <- unlist(lapply(B, function(b) lapply(A, function(a) list(a, b))), recursive = FALSE)
  pair <- function(K, o) sum(K[[1]] * (if (is.null(o)) K[[2]] else K[[2]][o, o])) / 15
  set.seed(3)
  by_list <- lapply(1:2, function(s) kernel_spec("gaussian", s))
  by_x <- lapply(scales_of(d$x, 3), function(s) kernel_spec("gaussian", s))
  found <- hsic_test(d$x, d$y, kernel = by_x, kernel_y = by_list, null = "permutation", R = 20)
  set.seed(3)
  largest <- dense_largest(pair, kernels, replicate(20, sample.int(15)))
  expect_equal(found$replicates, largest[-1])
  expect_equal(found$kernels$T, vapply(kernels, pair, 0, NULL))
  expect_equal(nrow(hsic_test(d$x, d$y, bandwidths = 3)$kernels), 9)
})

test_that("covariances over permutations are those over all 5040", {
  set.seed(4)
  x <- matrix(stats::rnorm(14), 7)
  y <- stats::rexp(7)
  ks <- list(kernel_spec("gaussian", 1), kernel_spec("matern12", 2), kernel_spec("linear", 1))
  sums_of <- function(v) {
    v <- as.matrix(v)
    kernweave:::cross_sums(ks, v, lapply(ks, function(k) kernweave:::centred_kernel(k(v))))
  }
  found <- kernweave:::permutation_covariances(sums_of(x), sums_of(y), 7)
  A <- lapply(ks, function(k) centred(as.matrix(k(x))))
  B <- lapply(ks, function(k) centred(as.matrix(k(as.matrix(y)))))
  T <- apply(all_orders(7), 2, function(o) unlist(lapply(B, function(b) lapply(A, function(a) sum(a * b[o, o])))))
  expect_equal(stats::cov2cor(found), stats::cov2cor(tcrossprod(T - rowMeans(T))), tolerance = 1e-8)  # in units
})

test_that("by moments the p-value is that of the largest of correlated normal numbers, and permutations agree", {
  d <- two(60, 0.25)
  by_moments <- mmd_test(d$x, d$y, bandwidths = 5, null = "moments")
  expect_match(by_moments$method, "5 kernels, moments of all permutations")
  one <- vapply(scales_of(rbind(d$x, d$y), 5), function(s) {
    mmd_test(d$x, d$y, kernel = kernel_spec("gaussian", s), null = "moments")$p.value
  }, 0)
  expect_equal(by_moments$kernels$z, stats::qnorm(one, lower.tail = FALSE))
  expect_gt(by_moments$p.value, min(one))
  expect_lt(by_moments$p.value, 5 * min(one))
  set.seed(5)
  expect_lt(abs(mmd_test(d$x, d$y, bandwidths = 5, R = 499)$p.value - by_moments$p.value), 0.05)
  same <- rep(list(kernel_spec("gaussian", 1)), 3)
  alone <- mmd_test(d$x, d$y, kernel = same[[1]], null = "moments")$p.value
  expect_lt(abs(mmd_test(d$x, d$y, kernel = same, null = "moments")$p.value - alone), 0.004)
  before <- .Random.seed
  expect_identical(hsic_test(d$x, d$y, bandwidths = 2)$p.value, hsic_test(d$x, d$y, bandwidths = 2)$p.value)
  expect_identical(.Random.seed, before)
})

test_that("the order of rows, of samples and of sides does not matter", {
  d <- two(30)
  o <- sample.int(30)
  numbers <- function(t) c(t$statistic, p = t$p.value)
  mmd <- function(x, y) numbers(mmd_test(x, y, bandwidths = 4, null = "moments"))
  expect_equal(mmd(d$x[o, ], d$y[rev(o), ]), mmd(d$x, d$y))
  expect_equal(mmd(d$y, d$x), mmd(d$x, d$y))
  hsic <- function(x, y) numbers(hsic_test(x, y, bandwidths = 3))
  expect_equal(hsic(d$x[o, ], d$y[o, ]), hsic(d$x, d$y))
  expect_equal(hsic(d$y, d$x), hsic(d$x, d$y), tolerance = 0.01)  # other normal numbers
  few <- function(x, y) numbers(mmd_test(x, y, bandwidths = 4))
  expect_equal(few(d$x[4:1, ], d$y[c(2, 3, 1), ]), few(d$x[1:4, ], d$y[1:3, ]))
  expect_equal(few(d$y[1:3, ], d$x[1:4, ]), few(d$x[1:4, ], d$y[1:3, ]))
})

test_that("equal rows are by tables, and of two values on either side all kernels say the same", {
  g <- rep(1:3, c(30, 20, 30))
  h <- rep(c(1, 2, 1), c(25, 20, 35))
  ks <- list(kernel_spec("gaussian", 1), kernel_spec("matern12", 1))
  set.seed(6)
  expect_message(found <- hsic_test(g, h, kernel = ks, R = 50), "alike")
  expect_length(found$replicates, 50)
  expect_message(found <- hsic_test(h, rev(h), kernel = ks), "alike")
  expect_message(alone <- hsic_test(h, rev(h), kernel = ks[[1]]), "alike")
  expect_equal(found$p.value, alone$p.value)
  expect_equal(diff(found$kernels$z), rep(0, 3))
  expect_message(mmd_test(g, h, bandwidths = c(1, 3), null = "moments", R = 20), "alike")
})

test_that("a test by several kernels says which is the largest, and is drawn", {
  d <- two()
  for (found in list(mmd_test(d$x, d$y, bandwidths = 3, R = 19), mmd_test(d$x, d$y, bandwidths = 3, null = "moments"),
                     hsic_test(d$x, d$y, bandwidths = 2))) {
    k <- which.max(found$kernels$z)
    expect_output(print(found), paste0("of the largest z, .*, number ", k, " of ", nrow(found$kernels)))
    expect_output(print(found), "max z = ")
    expect_equal(max(found$kernels$z), unname(found$statistic))
    grDevices::pdf(NULL)
    expect_silent(plot(found))
    grDevices::dev.off()
  }
})

test_that("bandwidths and lists of kernels that make no test are refused by class", {
  d <- two()
  input <- function(code, text) expect_error(code, text, class = "kernweave_error_input")
  for (wrong in list(NA, c(1, NA), "ten", numeric(), TRUE)) input(mmd_test(d$x, d$y, bandwidths = wrong), "a count")
  for (wrong in list(0, -1, c(1, 0), c(1, Inf), 0.5)) {
    expect_error(mmd_test(d$x, d$y, bandwidths = wrong), "a count", class = "kernweave_error_value")
  }
  input(mmd_test(d$x, d$y, kernel = list()), "list\\(kernel_spec")
  input(hsic_test(d$x, d$y, kernel_y = list()), "`kernel_y`")
  input(mmd_test(d$x, d$y, kernel = list("gaussian"), bandwidths = 3), "leave out")
  input(mmd_test(d$x, d$y, kernel = kernel_spec("gaussian", 2), bandwidths = 1:2), "the scale 2")
  expect_equal(mmd_test(d$x, d$y, kernel = kernel_spec("gaussian", 2), bandwidths = 3, R = 1)$kernels$kernel[2],
               "Gaussian, scale 2")
  expect_error(mmd_test(d$x, d$y, kernel = "same", bandwidths = 3), "list of kernels",
               class = "kernweave_error_unsupported")
  expect_error(mmd_test(d$x, d$y, bandwidths = 3, slices = 9), class = "kernweave_error_unsupported")
  for (scale in c(1e9, 1e-9)) for (null in c("moments", "permutation")) {
    flat <- list("gaussian", kernel_spec("gaussian", scale))
    refused <- function(code) expect_error(code, "leave it out", class = "kernweave_error_data")
    refused(mmd_test(d$x, d$y, kernel = flat, null = null, R = 19))
    refused(hsic_test(d$x, d$y, kernel = flat, null = null, R = 19))
  }
})

test_that("tests by several kernels hold their level, and find what the median scale does not", {
  skip_below("quick")
  set.seed(7)
  p <- t(replicate(null_sets() / 8, {
    x <- matrix(stats::rnorm(60), 30)
    c(mmd_test(x, groups = rep(1:2, 15), bandwidths = 6, R = 59)$p.value,
      mmd_test(x, groups = rep(1:2, 15), bandwidths = 6, null = "moments")$p.value,
      hsic_test(x[, 1], x[, 2], bandwidths = 3)$p.value)
  }))
  for (k in 1:3) expect_level(p[, k])
  x <- stats::runif(1200)
  waves <- x[stats::runif(1200) < (1 + sin(16 * pi * x)) / 2][1:250]
  expect_lt(mmd_test(x[901:1150], waves, bandwidths = 10, null = "moments")$p.value, 0.01)
  expect_gt(mmd_test(x[901:1150], waves, null = "moments")$p.value, 0.01)
})

test_that("kernels of a list keep its names in the table and the print", {
  ks <- list(wide = kernel_spec(scale = 9), "energy", near = kernel_spec(scale = 1))
  found <- mmd_test(iris[, 1:4], groups = iris$Species, kernel = ks, null = "moments")
  expect_identical(row.names(found$kernels), c("wide", "2", "near"))
  plain <- mmd_test(iris[, 1:4], groups = iris$Species, kernel = unname(ks), null = "moments")
  expect_identical(found$p.value, plain$p.value)
  expect_identical(unname(as.matrix(found$kernels)), unname(as.matrix(plain$kernels)))
  expect_named(found$statistic, "max z")
  best <- row.names(found$kernels)[which.max(found$kernels$z)]
  expect_output(print(found), paste0("kernel of the largest z, .*`", best, "`, number"))
  one <- mmd_test(iris[, 1:4], groups = iris$Species, kernel = list(a = kernel_spec(scale = 9)), null = "moments")
  expect_named(one$statistic, "T")
  pairs <- hsic_test(iris[, 1:4][, 1], iris[, 1:4][, 3], kernel = ks[c(1, 3)], kernel_y = list(kernel_spec(scale = 2)))
  expect_identical(row.names(pairs$kernels), c("wide, 1", "near, 1"))
})
