# Null distributions of statistics of discrete data, by tables of equal rows.

test_that("of two binary variables the p-value is that of all tables, by the hypergeometric distribution", {
  n <- 40
  binary <- function(ones, both, of) {
    x <- rep(1:0, c(ones, n - ones))
    list(x = x, y = c(rep(1:0, c(both, ones - both)), rep(1:0, c(of - both, n - ones - of + both))))
  }
  for (case in list(c(12, 6, 10), c(4, 4, 20), c(20, 13, 20), c(8, 0, 11), c(3, 1, 4))) {
    ones <- case[1]
    of <- case[3]
    both <- seq(max(0, ones + of - n), min(ones, of))
    number <- vapply(both, function(k) {
      at <- binary(ones, k, of)
      sum(centred(dense_distance(at$x)) * centred(dense_distance(at$y))) / n
    }, 0)
    own <- number[both == case[2]]
    probability <- stats::dhyper(both, ones, n - ones, of)
    at <- binary(ones, case[2], of)
    order <- c(seq(2, n, 2), seq(1, n, 2))
    k <- kernel_spec("gaussian", scale = 1)
    for (test in list(dcor_test, function(x, y) hsic_test(x, y, kernel = k))) {
      expect_message(found <- test(at$x[order], factor(at$y[order])), "tables")
      expect_equal(found$p.value, sum(probability[number >= own * (1 - 1e-9) - 1e-12]))
      expect_match(found$method, "exact, of [0-9]+ tables")
    }
    suppressMessages(found <- dcor_test(at$x, at$y))
    mean <- sum(probability * number)
    variance <- sum(probability * (number - mean)^2)
    skewness <- sum(probability * (number - mean)^3) / variance^1.5
    expect_equal(found$moments, c(mean = mean, variance = variance, skewness = skewness))
  }
})

test_that("moments are left for random tables where these have atoms, and not where rows are seldom alike", {
  skip_below("quick")
  set.seed(6)
  x <- sample(1:2, 60, TRUE)
  y <- pmin(stats::rpois(60, 1), 2)
  A <- centred(dense_distance(x))
  B <- centred(dense_distance(y))
  expect_message(found <- dcor_test(x, y, R = 9999), "tables")
  expect_length(found$replicates, 9999)
  others <- replicate(4000, {
    o <- sample.int(60)
    sum(A * B[o, o]) / 60
  })
  expect_gt(stats::ks.test(found$replicates + stats::runif(9999) / 1e3, others + stats::runif(4000) / 1e3)$p.value,
            1e-3)
  expect_equal(unname(found$statistic), sum(A * B) / 60)
  share <- mean(others >= found$statistic * (1 - 1e-10))
  expect_lt(abs(found$p.value - share), 4 * sqrt(0.25 / 4000))
  # nearly all rows of one side alike, and two of the other
  rare <- c(rep(0, 55), stats::rnorm(5))
  few <- replace(numeric(60), 1:2, 1)
  expect_message(dcor_test(rare, few, R = 99), "tables")
  before <- .Random.seed
  expect_silent(smooth <- dcor_test(stats::qnorm(seq(0.01, 0.99, length.out = 60)), y))
  expect_match(smooth$method, "moments")
  expect_match(dcor_test(round(iris[, 1]), iris[, 3])$method, "moments")
  expect_identical(.Random.seed, before)
})

test_that("of binary samples moments give way to relabellings, and p is 1 where none differs", {
  skip_below("quick")
  set.seed(14)
  y <- rep(rep(0:1, c(14, 6)), 2)
  y[1:4] <- 1
  labels <- rep(1:2, each = 20)
  ones <- tapply(y, labels, sum)
  k <- 0:20
  as_far <- abs(k - sum(y) / 2) >= abs(ones[[1]] - sum(y) / 2) - 1e-9
  exact <- sum(stats::dhyper(k, 20, 20, sum(y))[as_far])
  expect_message(found <- energy_test(y, groups = labels, null = "moments", R = 4999), "few values")
  expect_length(found$replicates, 4999)
  expect_lt(abs(found$p.value - exact), 4 * sqrt(exact * (1 - exact) / 4999) + 1 / 5000)
  suppressMessages(one <- energy_test(rep(1:0, c(1, 39)), groups = labels, null = "moments"))
  expect_equal(one$p.value, 1)
})
