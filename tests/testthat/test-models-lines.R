# Distance covariance of one variable and of one, by sorting.

distance_sums <- kernweave:::distance_sums

# The test by all pairs: a second column that is constant changes no distance.
by_pairs <- function(x, y, ...) dcor_test(cbind(x, 7), y, ...)

expect_same_sums <- function(x, y, order, tolerance = 1e-12) {
  A <- dense_distance(x)
  B <- dense_distance(y)
  sums <- function(A, B) c(sum(A * B), sum(A^2), sum(B^2))
  found <- distance_sums(x, y, cbind(order, rev(order)))
  expect_equal(found$raw, sums(A, B), tolerance = tolerance)
  expect_equal(found$rows_x, rowSums(A), tolerance = tolerance)
  expect_equal(found$rows_y, rowSums(B), tolerance = tolerance)
  A <- centred(A)
  B <- centred(B)
  size <- 1e-12 * sqrt(sum(A^2) * sum(B^2))
  expect_equal(found$centred + size, sums(A, B) + size, tolerance = tolerance)
  numbers <- vapply(list(order, rev(order)), function(o) sum(A * B[o, o]), 0)
  expect_equal(found$numbers + size, numbers + size, tolerance = tolerance)
}

test_that("sums over pairs are those of dense matrices, with ties and without, of two rows and more", {
  set.seed(31)
  for (n in c(1:9, 64, 300)) for (turn in 1:3) {
    x <- list(stats::rnorm(n), sample(3, n, TRUE) + 0, rep(2, n))[[turn]]
    y <- list(stats::rexp(n), sample(5, n, TRUE) + 0, stats::rnorm(n))[[turn]]
    expect_same_sums(x, y, sample.int(n))
    expect_same_sums(y, x, sample.int(n))
  }
  expect_same_sums(1:50 + 0, 50:1 + 0, 1:50)
  expect_same_sums(c(1e8, 1:40), c(0, 1e-8 * 1:40), sample.int(41))
})

test_that("distance covariance and correlations are the published ones", {
  set.seed(1)
  x <- stats::rnorm(2000)
  y <- x^2 + stats::rnorm(2000) * 2
  found <- dcor_test(x, y)
  expect_equal(unname(found$estimate), c(0.25364954, 0.25393820, 0.06258679), tolerance = 1e-7)
  pairs <- by_pairs(x, y)
  shared <- c("statistic", "estimate", "p.value", "moments")
  expect_equal(unclass(found)[shared], unclass(pairs)[shared], tolerance = 1e-12)
  skip_without_peer("energy")
  expect_equal(found$estimate[["dCor"]]^2, unname(energy::dcor2d(x, y, "V")))
})

test_that("p-values are those of the pairs, with the same seed", {
  set.seed(32)
  x <- stats::rnorm(40)
  cases <- list(list(x, stats::rexp(40)), list(sample(6, 40, TRUE), x), list(1e9 + x, 1e-9 * x^2), list(1:2, c(5, 3)),
                list(1:3, c(2, 9, 4)), list(c(1, 1, 3, 4), 1:4), list(1:5, c(2, 4, 1, 3, 5)),
                list(x[1:9], rep(1:3, 3)))
  for (case in cases) {
    set.seed(1)
    found <- dcor_test(case[[1]], case[[2]], null = "permutation", R = 99)
    set.seed(1)
    pairs <- by_pairs(case[[1]], case[[2]], null = "permutation", R = 99)
    expect_equal(found$p.value, pairs$p.value)
    expect_equal(found$replicates, pairs$replicates, tolerance = 1e-10)
    expect_equal(found$statistic, pairs$statistic, tolerance = 1e-10)
    expect_equal(found$estimate, pairs$estimate, tolerance = 1e-7)
  }
  expect_error(dcor_test(rep(1, 9), 1:9), "`x`", class = "kernweave_error_data")
})

test_that("the order of rows, sides swapped, and any number of threads give the same numbers", {
  set.seed(33)
  x <- stats::rnorm(500)
  y <- round(stats::rnorm(500), 1)
  o <- sample.int(500)
  numbers <- function(t) c(t$statistic, t$estimate)
  expect_equal(numbers(dcor_test(x[o], y[o])), numbers(dcor_test(x, y)), tolerance = 1e-12)
  expect_equal(numbers(dcor_test(y, x)), numbers(dcor_test(x, y)), tolerance = 1e-12)
  orders <- replicate(7, sample.int(500))
  found <- lapply(1:3, function(threads) with_kernweave(distance_sums(x, y, orders), threads = threads))
  expect_identical(found[[2]], found[[1]])
  expect_identical(found[[3]], found[[1]])
})

test_that("the statistic takes n log n", {
  skip_below("quick")
  set.seed(34)
  x <- stats::rnorm(1e5)
  y <- abs(x) + stats::rnorm(1e5)
  expect_lt(system.time(found <- distance_sums(x, y))[["elapsed"]], 3)
  some <- seq(1, 1e5, by = 50)
  alike <- distance_sums(x[some], y[some])
  correlation <- function(s) sqrt(s$centred[1] / sqrt(s$centred[2] * s$centred[3]))
  expect_lt(abs(correlation(found) - correlation(alike)), 0.06)
})
