# Independence by kernels and by distances.

first <- iris[, 1:2]
second <- iris[, 3:4]

test_that("distance covariance and correlation are those of the energy package", {
  found <- dcor_test(first, second)
  expect_equal(unname(found$statistic), 94.1082837074, tolerance = 1e-11)
  expect_equal(unname(found$estimate[2:3]), c(0.885272722047, 0.781473517536), tolerance = 1e-11)
  skip_without_peer("energy")
  for (exponent in c(0.5, 1, 1.5)) {
    ours <- dcor_test(first, second, exponent = exponent)
    peer <- c(energy::dcov(first, second, exponent), energy::dcor(first, second, exponent))
    expect_equal(unname(ours$estimate[1:2]), peer)
  }
  weak <- dcor_test(airquality$Month, airquality$Wind)
  expect_equal(weak$estimate[["bc-dCor"]], unname(energy::bcdcor(airquality$Month, airquality$Wind)))
})

test_that("the kernel criterion is that of the dense matrices", {
  found <- hsic_test(first, second, kernel = kernel_spec("gaussian", 1))
  expect_equal(found$estimate[["HSIC"]], 0.0714851750116, tolerance = 1e-11)
  A <- centred(dense_gaussian(first, median_scale(first)))
  B <- centred(as.matrix(kernel_matern(as.matrix(second), scale = 2)))
  mixed <- hsic_test(first, second, kernel_y = kernel_spec("matern52", scale = 2))
  expect_equal(unname(mixed$statistic), sum(A * B) / 150)
  expect_equal(mixed$estimate[["normalised"]], sum(A * B) / sqrt(sum(A^2) * sum(B^2)))
  expect_equal(hsic_test(first, first)$estimate[["normalised"]], 1)
})

test_that("replicates are those of dense matrices, moments those of all permutations", {
  set.seed(3)
  x <- matrix(stats::rnorm(40), 20)
  y <- stats::rexp(20)
  A <- centred(dense_distance(x))
  B <- centred(dense_distance(y))
  set.seed(4)
  found <- dcor_test(x, y, null = "permutation", R = 30)
  set.seed(4)
  expect_equal(found$replicates, replicate(30, {
    o <- sample.int(20)
    sum(A * B[o, o]) / 20
  }))
  few <- dcor_test(x[1:7, ], y[1:7])
  A <- centred(dense_distance(x[1:7, ]))
  B <- centred(dense_distance(y[1:7]))
  all <- apply(all_orders(7), 2, function(o) sum(A * B[o, o]) / 7)
  expect_equal(few$moments, moments3(all), tolerance = 1e-8)
  by_variable <- kernel_spec("gaussian", scale = c(1, 2), ard = TRUE)
  set.seed(4)
  scaled <- hsic_test(y, x, kernel_y = by_variable, null = "permutation", R = 5)
  set.seed(4)
  expect_equal(scaled$replicates, hsic_test(y, x %*% diag(c(1, 0.5)), kernel_y = kernel_spec("gaussian", 1),
                                            kernel = "gaussian", null = "permutation", R = 5)$replicates)
  exact <- dcor_test(x[1:5, ], y[1:5], null = "permutation")
  expect_length(exact$replicates, 120)
  expect_equal(exact$p.value * 120, round(exact$p.value * 120))
})

test_that("where rows that are alike leave few orders all are taken, of whichever side has them", {
  skip_below("quick")
  set.seed(9)
  g <- factor(rep(1:3, c(3, 2, 3)))
  x <- matrix(stats::rnorm(16), 8)
  A <- centred(dense_distance(x))
  B <- centred(1 * outer(g, g, "!="))
  numbers <- apply(all_orders(8), 2, function(o) sum(A * B[o, o]))
  exact <- mean(numbers >= sum(A * B) * (1 - 1e-10))
  for (found in list(dcor_test(x, g), dcor_test(g, x), dcor_test(1e9 * x, g, null = "permutation"))) {
    expect_equal(found$p.value, exact)
    expect_match(found$method, "all 560 permutations")
  }
  # three labels of three rows each: one in 280
  h <- factor(rep(1:3, each = 3))
  expect_equal(dcor_test(10 * as.integer(h) + 1:9, h)$p.value, 1 / 280)
  expect_equal(hsic_test(h, 10 * as.integer(h) + 1:9)$p.value, 1 / 280)
  expect_equal(dcor_test(1:5, c(2, 4, 1, 3, 5))$p.value, dcor_test(1:5, c(2, 4, 1, 3, 5), null = "permutation")$p.value)
  expect_match(dcor_test(1:7, c(2, 4, 1, 3, 5, 7, 6))$method, "moments")
})

test_that("factors, mixed types and formulas are taken, missing rows dropped on both sides", {
  set.seed(5)
  g <- factor(sample(letters[1:3], 60, TRUE))
  h <- factor(sample(1:2, 60, TRUE))
  unequal <- function(f) 1 * outer(f, f, "!=")
  expect_equal(unname(dcor_test(g, h)$statistic), sum(centred(unequal(g)) * centred(unequal(h))) / 60)
  frame <- data.frame(g, h, z = stats::rnorm(60), k = 7L)
  expect_equal(dcor_test(cbind(z, k) ~ g + h, frame)$statistic, dcor_test(frame["z"], frame[c("g", "h")])$statistic)
  air <- airquality
  whole <- stats::complete.cases(air[, c("Ozone", "Wind", "Temp")])
  expect_equal(dcor_test(Ozone ~ Wind + Temp, air)$statistic,
               dcor_test(air$Ozone[whole], air[whole, c("Wind", "Temp")])$statistic)
  expect_error(dcor_test(Ozone ~ Wind * Temp, air), "interactions", class = "kernweave_error_input")
  expect_error(dcor_test(Ozone ~ Wind, air, na.action = na.fail), "37 rows", class = "kernweave_error_data")
  expect_error(dcor_test(air$Ozone, air$Wind), class = "kernweave_error_data")
  expect_error(dcor_test(g, h[-1]), class = "kernweave_error_shape")
  expect_error(hsic_test(frame$k, frame$z), "`x`", class = "kernweave_error_data")
  expect_error(dcor_test(g), "`y`", class = "kernweave_error_input")
  expect_error(dcor_test(g, h, exponent = 0), class = "kernweave_error_value")
  expect_error(dcor_test(g, h, nulls = "moments"), class = "kernweave_error_input")
})

test_that("every row r times has the same correlations, and n V^2 times r", {
  skip_below("quick")
  r <- 8
  rows <- rep(1:150, r)
  once <- dcor_test(first, second)
  many <- dcor_test(first[rows, ], second[rows, ])
  expect_equal(many$estimate[1:2], once$estimate[1:2])
  expect_equal(many$statistic, r * once$statistic)
})

test_that("tests hold their level by moments, and see a circle", {
  skip_below("quick")
  set.seed(6)
  p <- t(replicate(null_sets(), {
    x <- stats::rexp(25)
    y <- matrix(stats::rnorm(50), 25)
    c(dcor_test(x, y)$p.value, hsic_test(x, y)$p.value)
  }))
  for (k in 1:2) expect_level(p[, k])
  angle <- stats::runif(150, 0, 2 * pi)
  circle <- cbind(cos(angle), sin(angle)) + stats::rnorm(300, sd = 0.1)
  expect_gt(stats::cor.test(circle[, 1], circle[, 2])$p.value, 0.01)
  expect_lt(hsic_test(circle[, 1], circle[, 2])$p.value, 0.01)
  by_moments <- dcor_test(circle[, 1], circle[, 2])
  by_permutation <- dcor_test(circle[, 1], circle[, 2], null = "permutation", R = 199)
  expect_lt(abs(by_moments$p.value - by_permutation$p.value), 0.06)
  expect_output(print(by_moments), "Distance covariance test of independence .moments of all permutations.")
})

test_that("two numbers against two numbers are Fisher's exact test", {
  exact <- stats::fisher.test(table(mtcars$am, mtcars$vs))$p.value
  expect_equal(unname(suppressMessages(hsic_test(mtcars$am, mtcars$vs))$p.value), exact)
})
