# Tests of equal distributions by slices.

# Directions and relabellings as the test draws them, with dense distances along each direction.
dense_slices <- function(x, codes, slices, R, seed, order = function() sample.int(length(codes))) {
  set.seed(seed)
  width <- ncol(x)
  directions <- matrix(stats::rnorm(width * slices), width)
  directions <- sweep(directions, 2, sqrt(colSums(directions^2)), "/")
  unit <- sqrt(pi) * gamma((width + 1) / 2) / gamma(width / 2)
  K <- lapply(seq_len(slices), function(p) -unit * dense_distance(x %*% directions[, p]))
  along <- function(codes) vapply(K, dense_groups_statistic, 0, codes)
  list(each = along(codes), replicates = replicate(R, mean(along(codes[order()]))), K = Reduce(`+`, K) / slices)
}

test_that("the statistic, its error and its replicates are those of all pairs along each direction", {
  set.seed(1)
  x <- matrix(stats::rnorm(4 * 150), 150)
  cases <- list(two = rep(1:2, c(100, 50)), three = rep(1:3, c(90, 11, 49)), five = rep(c(3, 1, 2, 5, 4, 1), 25))
  for (name in names(cases)) {
    codes <- cases[[name]]
    dense <- dense_slices(x, codes, 6, 11, seed = 2)
    set.seed(2)
    found <- energy_test(x, groups = codes, slices = 6, R = 11)
    expect_equal(unname(found$statistic), mean(dense$each), tolerance = 1e-12, label = name)
    expect_equal(found$stderr, stats::sd(dense$each) / sqrt(6), tolerance = 1e-12, label = name)
    expect_equal(found$replicates, dense$replicates, tolerance = 1e-12, label = name)
    a <- codes == 1
    b <- codes == 2
    expect_equal(found$pairwise[1, 2], mean(dense$K[a, a]) + mean(dense$K[b, b]) - 2 * mean(dense$K[a, b]))
    expect_equal(found$pairwise, t(found$pairwise))
    expect_identical(found$slices, 6L)
    expect_match(found$method, "6 slices, 11 permutations")
  }
})

test_that("on a line one slice is the exact statistic, p-value by all relabellings included", {
  skip_below("quick")
  set.seed(3)
  lines <- list(list(stats::rnorm(40), stats::rexp(70)), list(sample(4L, 60, TRUE), sample(5L, 30, TRUE)),
                list(1e6 + stats::runif(20), 1e6 + stats::runif(30)), list(1:2, 5), list(c(1, 2, 3.5), c(7, 8, 9)),
                list(c(0, 0, 0, 0, 1), c(0, 1, 1, 1, 1)))
  shared <- c("statistic", "estimate", "pairwise", "sizes")
  for (line in lines) {
    sliced <- energy_test(line[[1]], line[[2]], slices = 1, R = 300)
    exact <- energy_test(line[[1]], line[[2]], R = 300)
    expect_equal(sliced[shared], exact[shared], tolerance = 1e-10)
    expect_identical(sliced$stderr, 0)
    if (length(exact$replicates) == 300) next
    expect_equal(sliced[c("p.value", "replicates")], exact[c("p.value", "replicates")])
  }
  found <- suppressWarnings(energy_test(c(1, 2, 4), groups = c("a", "b", "c"), slices = 3))
  exact <- suppressWarnings(energy_test(c(1, 2, 4), groups = c("a", "b", "c")))
  expect_equal(found$statistic, exact$statistic)
})

test_that("rows that are alike are ties along every direction, wherever they stand", {
  set.seed(4)
  x <- matrix(stats::rnorm(7 * 1003), 1003)
  expect_identical(unname(energy_test(x, x[sample.int(1003), ], slices = 20, R = 1)$statistic), 0)
  expect_identical(unname(energy_test(x[1:5, ], x[rep(1:5, 300), ], slices = 20, R = 1)$statistic), 0)
  found <- energy_test(rbind(x, x, x), groups = rep(1:3, each = 1003), slices = 3, R = 1)
  expect_identical(found$pairwise, matrix(0, 3, 3, dimnames = dimnames(found$pairwise)))
  k <- matrix(sample(3, 5 * 60, TRUE) + 0, 60)
  set.seed(5)
  found <- energy_test(k, groups = rep(1:2, 30), slices = 40, R = 20)
  dense <- dense_slices(k, rep(1:2, 30), 40, 20, seed = 5)
  expect_equal(unname(found$statistic), mean(dense$each))
  expect_equal(found$replicates, dense$replicates)
})

test_that("the error is honest: the exact statistic is within three of it", {
  skip_below("quick")
  set.seed(6)
  x <- matrix(stats::rnorm(10 * 2000), 2000)
  y <- matrix(stats::rnorm(10 * 2000), 2000)
  y[, 1] <- y[, 1] + 0.3
  exact <- energy_test(x, y, R = 1)$statistic
  off <- vapply(seq_len(by_tier(20, 100, 400)), function(seed) {
    set.seed(seed)
    found <- energy_test(x, y, slices = 50, R = 1)
    (found$statistic - exact) / found$stderr
  }, 0)
  expect_lte(mean(abs(off) > 3), 0.03)
  expect_lt(abs(stats::sd(off) - 1), 5 / sqrt(2 * length(off)))
  expect_lt(abs(mean(off)), 5 / sqrt(length(off)))
})

test_that("the permutation test of a few slices holds its level, and sees what there is to see", {
  skip_below("quick")
  set.seed(7)
  p <- replicate(null_sets(), {
    x <- matrix(stats::rexp(4 * 60), 60)
    energy_test(x, groups = sample(rep(1:3, 20)), slices = 10, R = 99)$p.value
  })
  expect_level(p)
  expect_equal(energy_test(iris[1:4], groups = iris$Species, slices = 10, R = 99)$p.value, 0.01)
})

test_that("a kernel test with the energy kernel has its scales, its variance and the unbiased estimate", {
  set.seed(8)
  x <- matrix(stats::rnorm(3 * 50), 50)
  codes <- rep(1:2, c(20, 30))
  scale <- c(1, 2, 5)
  dense <- dense_slices(sweep(x, 2, scale / 3, "/"), codes, 9, 4, seed = 9)
  set.seed(9)
  found <- mmd_test(x, groups = codes, kernel = kernel_spec("energy", scale = scale, variance = 3), slices = 9, R = 4)
  expect_equal(found$statistic, c(T = mean(dense$each)))
  expect_equal(found$replicates, dense$replicates)
  within <- function(rows) sum(dense$K[rows, rows]) / (length(rows) * (length(rows) - 1))
  unbiased <- within(1:20) + within(21:50) - 2 * mean(dense$K[1:20, 21:50])
  expect_equal(found$estimate, c("unbiased MMD^2" = unbiased, "biased MMD" = sqrt(found$pairwise[1, 2])))
  expect_equal(mmd_test(x, groups = codes, kernel = "energy", slices = 9, R = 1)$scale, median_scale(x))
})

test_that("formulas, factors and strata are as without slices", {
  codes <- as.integer(factor(mtcars$cyl))
  x <- as.matrix(mtcars[c("mpg", "wt", "hp")])
  within <- function() {
    out <- integer(32)
    for (rows in split(1:32, mtcars$am)) out[rows] <- rows[sample.int(length(rows))]
    out
  }
  dense <- dense_slices(x, codes, 5, 20, seed = 1, order = within)
  set.seed(1)
  found <- energy_test(cbind(mpg, wt, hp) ~ cyl, mtcars, strata = am, slices = 5, R = 20)
  expect_equal(found$replicates, dense$replicates)
  expect_equal(names(found$sizes), c("4", "6", "8"))
  set.seed(2)
  by_factor <- energy_test(iris["Species"], groups = rep(1:2, 75), slices = 5, R = 5)
  set.seed(2)
  columns <- outer(as.integer(iris$Species), 1:3, "==") / sqrt(2)
  expect_equal(by_factor$statistic, energy_test(columns, groups = rep(1:2, 75), slices = 5, R = 5)$statistic)
})

test_that("any number of threads finds the same bits, and labels in parts those of all at once", {
  set.seed(10)
  x <- matrix(stats::rnorm(6 * 700), 700)
  codes <- sample.int(4, 700, TRUE)
  found <- lapply(1:3, function(threads) {
    set.seed(11)
    found <- with_kernweave(energy_test(x, groups = codes, slices = 50, R = 21), threads = threads)
    found[c("statistic", "pairwise", "replicates")]
  })
  expect_identical(found[[2]], found[[1]])
  expect_identical(found[[3]], found[[1]])
  labels <- replicate(21, sample.int(4, 700, TRUE))
  directions <- kernweave:::random_directions(6, 5)
  numbers <- lapply(c(1, 5000, 1e6), function(bytes) {
    codes_of <- function(at) labels[, at, drop = FALSE]
    kernweave:::compare_slices(x, directions, codes, matrix(1, 4, 4), 21, codes_of, bytes)
  })
  expect_identical(numbers[[1]], numbers[[3]])
  expect_identical(numbers[[2]], numbers[[3]])
})

test_that("a test by slices prints its error", {
  set.seed(12)
  found <- energy_test(iris[1:50, 1:4], iris[51:100, 1:4], slices = 100, R = 19)
  expect_output(print(found), "2 groups, 100 slices, 19\\s+permutations")
  expect_output(print(found), paste("standard error of E, for its slices:", format(found$stderr, digits = 3)),
                fixed = TRUE)
  one <- energy_test(iris[1:50, 1:4], iris[51:100, 1:4], slices = 1, R = 19)
  expect_true(is.na(one$stderr))
  expect_output(print(one), "1 slice, .*slices: NA")
  expect_equal(found$engine[["device"]], "cpu")
})

test_that("slices that are not a count, or of what is no distance, are refused by class", {
  x <- as.matrix(iris[1:20, 1:4])
  labels <- rep(1:2, 10)
  for (slices in list(0, -1, 2.5, NA, "ten", 1:2, Inf, TRUE)) {
    expect_error(energy_test(x, groups = labels, slices = slices), "`slices`", class = "kernweave_error_input")
  }
  refused <- function(code) expect_error(code, class = "kernweave_error_unsupported")
  refused(energy_test(x, groups = labels, slices = 9, exponent = 1.5))
  refused(mmd_test(x, groups = labels, slices = 9))
  refused(mmd_test(x, groups = labels, slices = 9, kernel = kernel_spec("energy", exponent = 0.5)))
  refused(mmd_test(x, groups = labels, slices = 9, kernel = kernel_spec("energy", 1) + kernel_spec("gaussian", 1)))
  refused(energy_test(x, groups = labels, slices = 9, null = "moments"))
  expect_error(energy_test(x, groups = labels, slices = 9, R = 0), class = "kernweave_error_input")
  expect_error(energy_test(c(1, 1), c(1, 1), slices = 9), class = "kernweave_error_data")
  expect_error(energy_test(c(1, NA), 2, slices = 9), class = "kernweave_error_data")
})
