# A test of each pair of groups, against a loop of two-sample tests.

test_that("pairs have the tests of their rows, with p-values adjusted as by p.adjust()", {
  x <- iris[, 1:4]
  g <- iris$Species
  tests <- list(list(energy_test), list(mmd_test, kernel = "matern32"), list(energy_test, null = "moments"))
  for (test in tests) {
    set.seed(1)
    given <- c(list(x, g, test[[1]], R = 19, p.adjust.method = "BH"), test[-1])
    found <- suppressWarnings(do.call(pairwise_test, given), classes = "kernweave_warning_few")
    set.seed(1)
    loop <- lapply(list(1:2, c(1, 3), 2:3), function(pair) {
      rows <- g %in% levels(g)[pair]
      do.call(test[[1]], c(list(x[rows, ], groups = g[rows], R = 19), test[-1]))
    })
    at <- cbind(c(1, 2, 2), c(1, 1, 2))
    expect_identical(found$p.value[at], p.adjust(vapply(loop, `[[`, 0, "p.value"), "BH"))
    expect_identical(found$statistic[at], vapply(loop, function(test) unname(test$statistic), 0))
    expect_identical(dimnames(found$statistic), dimnames(found$p.value))
    expect_true(is.na(found$p.value[1, 2]))
  }
  expect_identical(dimnames(found$p.value), dimnames(pairwise.t.test(iris$Sepal.Length, g)$p.value))
  expect_output(print(found), "using energy tests of equal distributions.*method: BH.*setosa \\(50\\)")
  expect_s3_class(found, "pairwise.htest")
  skip_if_not_installed("generics")
  rows <- data.frame(group1 = c("versicolor", "virginica", "virginica"), group2 = c("setosa", "setosa", "versicolor"),
                     statistic = found$statistic[at], p.value = found$p.value[at])
  expect_identical(as.data.frame(generics::tidy(found)), rows)
})

test_that("two groups have the p-value of the test itself, by formula and strata, too", {
  cars <- mtcars
  cars$wt[3] <- NA
  set.seed(2)
  found <- pairwise_test(cbind(mpg, wt) ~ am, cars, strata = vs, R = 49, subset = cyl < 8)
  set.seed(2)
  expected <- energy_test(cbind(mpg, wt) ~ am, cars, strata = vs, R = 49, subset = cyl < 8)
  expect_identical(c(found$p.value), expected$p.value)
  expect_identical(c(found$statistic), unname(expected$statistic))
  expect_output(print(found), "1 row with missing values left out")
  set.seed(3)
  found <- pairwise_test(cbind(mpg, hp) ~ am, mtcars, test = permanova, strata = vs, R = 49, distance = "manhattan")
  set.seed(3)
  expected <- permanova(cbind(mpg, hp) ~ am, mtcars, strata = vs, R = 49, distance = "manhattan")
  expect_identical(c(found$p.value), expected[["Pr(>F)"]][1])
  expect_identical(found$method, "permanova")
  set.seed(4)
  found <- pairwise_test(mtcars$wt, mtcars$am, function(x, groups) t.test(x ~ groups))
  expect_equal(c(found$p.value), t.test(wt ~ am, mtcars)$p.value)
})

test_that("many groups are said, and slips are named", {
  set.seed(5)
  x <- matrix(rnorm(208), 104)
  expect_message(found <- pairwise_test(x, rep(1:52, 2), function(x, groups) t.test(x[, 1], x[, 2])), "1,326 pairs")
  few <- function() suppressWarnings(pairwise_test(x[1:8, ], c(1, 1, 2:7), R = 9), classes = "kernweave_warning_few")
  expect_warning(few(), "7 groups for 8 rows", class = "kernweave_warning_groups")
  error <- function(code, says, class = "input") {
    expect_error(code, says, fixed = TRUE, class = paste0("kernweave_error_", class))
  }
  error(pairwise_test(x), "`g`, the group of each row, is not given")
  error(pairwise_test(x, 1:3), "`g` has 3 labels for 104 rows", "shape")
  error(pairwise_test(x, rep("a", 104)), "1 group; two are needed", "data")
  error(pairwise_test(replace(x, 3, NA), rep(1:2, 52)), "missing values in 1 row: 3", "data")
  error(pairwise_test(x, rep(1:2, 52), "energy"), "`test` must be a function such as energy_test")
  error(pairwise_test(x, rep(1:2, 52), function(x, groups) 1), "`test` must return an `htest`")
  error(pairwise_test(x, rep(1:2, 52), strata = 1:3), "`strata` has 3 labels for 104 rows", "shape")
  error(pairwise_test(x, rep(1:2, 52), p.adjust.method = "holmes"), "did you mean `holm`")
  error(pairwise_test(wt ~ cyll, mtcars), "did you mean `cyl`")
})

test_that("tests have a call, and update() tests again", {
  tests <- list(energy_test(mpg ~ am, mtcars, R = 19), mmd_test(mtcars$mpg, groups = mtcars$am, R = 19),
                hsic_test(mpg ~ wt, mtcars, null = "permutation", R = 19),
                dcor_test(mtcars$mpg, mtcars$wt, null = "permutation", R = 19),
                ksd_test(mtcars$wt, function(x) -x, R = 19))
  for (test in tests) {
    again <- update(test, R = 9)
    expect_identical(again$statistic, test$statistic)
    expect_length(again$replicates, 9)
  }
  pairs <- pairwise_test(mpg ~ am, mtcars, null = "moments")
  expect_identical(update(pairs, p.adjust.method = "none")$statistic, pairs$statistic)
})

test_that("a sum of variables on the left side of a formula is not taken for several variables", {
  for (test in list(energy_test, mmd_test, pairwise_test)) {
    expect_error(test(mpg + wt ~ am, mtcars), "cbind\\(mpg, wt\\)", class = "kernweave_error_input")
  }
})
