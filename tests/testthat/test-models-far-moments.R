# Moments of many rows, by products of the kernel and of its powers.

invariants_of <- function(A) {
  d <- diag(A)
  list(t1 = sum(d), t2 = sum(A^2), s2 = sum(d^2), s3 = sum(d^3), u = sum(A^3), r = sum(d * rowSums(A^2)),
       b = sum(outer(d, d) * A), t3 = sum(A * (A %*% A)))
}

test_that("invariants by products are those of the dense matrix, of any kernel", {
  set.seed(41)
  x <- matrix(stats::rnorm(1000), 500)
  for (k in list(kernel_spec("gaussian", 1), kernel_spec("gaussian", 4), kernel_spec("energy", 1),
                 kernel_spec("polynomial", 1))) {
    centred_at <- kernweave:::centred_kernel(k(x))
    dense <- as.matrix(centred_at$K)
    product <- function(power, v) dense^power %*% v
    found <- kernweave:::invariants_by_products(centred_at, product, 1:500, 1e-5)
    expected <- invariants_of(centred(dense))
    size <- abs(unlist(expected)) + 1e-6  # b of a matrix of wide kernels is 0
    expect_lt(max(abs(unlist(found[names(expected)]) - unlist(expected)) / size), 1e-9, label = format(k))
    expect_equal(found$t3.se, 0)
    some <- kernweave:::invariants_by_products(centred_at, product, kernweave:::rows_in_order(x, 300), 1e-5)
    expect_lt(abs(some$t3 - expected$t3), 4 * some$t3.se + 1e-9)
    expect_lt(some$t3.se, 0.2 * expected$t3)
  }
})

test_that("approximated products are as good as they say, wide kernels included, in any unit", {
  set.seed(42)
  for (D in 1:3) {
    x <- matrix(stats::rnorm(500 * D), 500)
    for (k in list(kernel_spec("gaussian", 0.3), kernel_spec("gaussian", 16, variance = 1e6), kernel_spec("energy", 1),
                   kernel_spec("energy", 1, exponent = 0.5))) {
      found <- kernweave:::far_kernel(k(x), x, 1e-5, beside = cbind(seq_len(500)))
      K <- as.matrix(k(x)) / found$unit
      expected <- invariants_of(centred(K))
      invariants <- found$invariants
      expect_equal(found$sums, rowSums(K), tolerance = 1e-5)
      expect_equal(as.vector(found$beside), as.vector(K %*% seq_len(500)), tolerance = 1e-5)
      expect_lt(invariants$t2.error, 1e-3)
      expect_lt(abs(invariants$t2 / expected$t2 - 1), invariants$t2.error + 1e-12)
      expect_equal(invariants$t3, expected$t3, tolerance = 1e-3)
      expect_lt(abs(invariants$u - expected$u), 0.02 * expected$t2^1.5)
    }
  }
})

# The tests of many rows, as if six hundred were many.
many <- function(code, frame = parent.frame()) {
  held("most_rows_by_pairs", 600, environment())
  code()
}

test_that("tests of many rows are those by pairs, and by permutations", {
  set.seed(43)
  n <- 800
  x <- matrix(stats::rnorm(3 * n), n)
  y <- 0.05 * x[, 1]^2 + stats::rnorm(n)
  g <- rep(1:2, each = n / 2)
  x[g == 2, 1] <- 1.05 * x[g == 2, 1]
  tests <- list(
    energy_1 = function(...) energy_test(x[, 1], groups = g, ...),
    energy_3 = function(...) energy_test(1e6 * x, groups = sample.int(3, n, TRUE, seq(1, 3)), ...),
    mmd = function(...) mmd_test(x[, 1:2], groups = g, ...),
    several = function(...) mmd_test(x, groups = g, bandwidths = 4, ...),
    sum = function(...) mmd_test(x[, 1:2], groups = g, kernel = kernel_spec("gaussian", 1) + kernel_spec("matern12", 2),
                                 ...),
    hsic = function(...) hsic_test(x[, 1], y, ...),
    hsic_3 = function(...) hsic_test(x[, 1:2], y, kernel = kernel_spec("gaussian", c(1, 2), ard = TRUE, variance = 3),
                                     kernel_y = "gaussian", ...),
    dcor = function(...) dcor_test(x[, 1], y, ...),
    hsic_several = function(...) hsic_test(x[, 1], y, bandwidths = 2, ...)
  )
  for (name in names(tests)) {
    run <- function(...) {
      set.seed(1)
      tests[[name]](...)
    }
    pairs <- run(null = "moments")
    far <- many(function() run(null = "moments"))
    expect_equal(far$statistic, pairs$statistic, tolerance = if (is.null(far$kernels)) 1e-5 else 1e-3, label = name)
    expect_equal(far$estimate, pairs$estimate, tolerance = 1e-4, label = name)
    expect_lt(abs(far$p.value - pairs$p.value), 1e-3, label = name)
    expect_equal(far$moments[1:2], pairs$moments[1:2], tolerance = 1e-3, label = name)
    expect_lt(abs(far$moments[[3]] - pairs$moments[[3]]), 4 * far$accuracy[["skewness"]] + 2e-3, label = name)
    expect_lt(far$accuracy[["variance"]], 1e-3)
    if (!name %in% c("energy_1", "mmd", "hsic_3")) next
    expect_lt(abs(run(null = "permutation", R = 99)$p.value - far$p.value), 0.16, label = name)
  }
})

test_that("the order of many rows does not matter, and a test says how accurate it is", {
  set.seed(44)
  x <- matrix(stats::rnorm(1600), 800)
  g <- rep(1:2, 400)
  o <- sample.int(800)
  held("rows_of_trace", function(n) 500, environment())
  first <- many(function() energy_test(x, groups = g, null = "moments"))
  again <- many(function() energy_test(x[o, ], groups = 3 - g[o], null = "moments"))
  expect_equal(again$statistic, first$statistic)
  expect_equal(again$moments, first$moments, tolerance = 1e-3)
  expect_output(print(first), "relative error of the variance .*\n  standard error of the skewness ")
  first$accuracy[["variance"]] <- 0
  expect_output(print(first), "the variance is exact\n  standard error", fixed = TRUE)
  swapped <- lapply(list(1:2, 2:1), function(k) many(function() hsic_test(x[, k[1]], x[, k[2]])))
  expect_equal(swapped[[1]]$statistic, swapped[[2]]$statistic, tolerance = 1e-4)
})

test_that("what is no distance in three dimensions is summed over pairs, many rows or few", {
  set.seed(45)
  x <- matrix(stats::rnorm(2600), 650)
  y <- x[, 1] + stats::rnorm(650)
  g <- rep(1:2, 325)
  same <- function(run) {
    expect_null(many(run)$accuracy)
    expect_equal(many(run)[c("statistic", "p.value")], run()[c("statistic", "p.value")])
  }
  same(function() energy_test(x, groups = g, null = "moments"))
  same(function() hsic_test(x[, 1:3], y))
  same(function() hsic_test(x[, 1], y, kernel_y = kernel_spec("matern32", 1)))
  same(function() dcor_test(x[, 1:2], y))
  same(function() mmd_test(x[, 1:2], groups = g, kernel = "linear", null = "moments"))
})
