# Kernel and energy tests of equal distributions.

petals <- iris[, 1:4]

test_that("the energy statistic, its moments and its p-value are those of all pairs, group by group", {
  set.seed(5)
  found <- energy_test(petals, groups = iris$Species, R = 99)
  expect_equal(unname(found$statistic), 357.711928609, tolerance = 1e-9)
  expect_s3_class(found, c("kernweave_test", "htest"), exact = TRUE)
  moments <- energy_test(petals, groups = iris$Species, null = "moments")$moments
  expect_equal(moments, c(mean = 7.6339244, variance = 19.811608, skewness = 1.8286396), tolerance = 1e-7)
  set.seed(5)
  K <- -dense_distance(petals)
  replayed <- replicate(99, dense_groups_statistic(K, as.integer(iris$Species)[sample.int(150)]))
  expect_equal(found$replicates, replayed, tolerance = 1e-9)
  expect_equal(found$p.value, 0.01)
  skip_without_peer("energy")
  sizes <- c(10, 90, 50)
  expect_equal(unname(energy_test(petals, groups = rep(1:3, sizes), R = 1)$statistic),
               as.numeric(energy::eqdist.e(petals, sizes)))
})

test_that("the kernel statistic and its estimates are those of kernlab and of the dense matrix", {
  two <- petals[51:150, ]
  found <- mmd_test(petals[51:100, ], petals[101:150, ], R = 49)
  expect_equal(found$scale, 1.28840987, tolerance = 1e-8)
  expect_equal(unname(found$statistic), 13.688788645, tolerance = 1e-9)
  expect_equal(unname(found$estimate), c(0.535285787005, sqrt(0.547551545793)), tolerance = 1e-9)
  expect_equal(found$pairwise[1, 2], 0.547551545793, tolerance = 1e-9)
  K <- as.matrix(kernel_matern(as.matrix(two), scale = 2))
  labels <- rep(c("b", "a", "c"), length.out = 100)
  by_labels <- mmd_test(two, groups = labels, kernel = kernel_spec("matern52", scale = 2), R = 1)
  expect_equal(unname(by_labels$statistic), dense_groups_statistic(K, labels))
  expect_equal(by_labels$sizes, c(a = 33, b = 34, c = 33))
})

test_that("the formula says the same, with rows that na.action drops and strata among the data", {
  cars <- mtcars
  cars$wt[3] <- NA
  expect_equal(mmd_test(cbind(mpg, wt) ~ cyl, cars, R = 1)$statistic,
               mmd_test(mtcars[-3, c("mpg", "wt")], groups = mtcars$cyl[-3], R = 1)$statistic)
  expect_equal(energy_test(petals ~ Species, data = iris, R = 1)$statistic,
               energy_test(petals, groups = iris$Species, R = 1)$statistic)
  expect_error(energy_test(wt ~ cyl, cars, na.action = na.fail), class = "kernweave_error_data")
  expect_error(energy_test(wt ~ cyl, cars, na.action = na.pass), class = "kernweave_error_data")
  expect_error(energy_test(wt ~ cyl + am, cars), "one factor", class = "kernweave_error_input")
  expect_error(energy_test(wt ~ cyll, cars), "did you mean `cyl`", class = "kernweave_error_input")
  expect_equal(energy_test(. ~ Species, iris, R = 1)$statistic, energy_test(petals ~ Species, iris, R = 1)$statistic)
  set.seed(1)
  within <- energy_test(wt ~ cyl, cars, strata = am, R = 20)
  set.seed(1)
  expect_equal(within$replicates, energy_test(mtcars$wt[-3], groups = mtcars$cyl[-3], strata = mtcars$am[-3],
                                              R = 20)$replicates)
})

test_that("few rows are compared in all their relabellings, by an exact p-value", {
  x <- c(1, 2, 3.5, 7, 8, 9)
  found <- energy_test(x[1:3], x[4:6])
  expect_length(found$replicates, 20)
  expect_equal(found$p.value, 2 / 20)
  expect_match(found$method, "all 20 permutations")
  expect_equal(energy_test(1:2, 5)$p.value, 1 / 3)
  expect_true(is.na(mmd_test(1:2, 5)$estimate[1]))
  coins <- energy_test(c(0, 0, 0, 0, 1), c(0, 1, 1, 1, 1))
  heads <- utils::combn(rep(0:1, 5), 5, sum)
  expect_equal(coins$p.value, mean(abs(heads - 2.5) >= 1.5))
})

test_that("where few relabellings are possible moments are not asked, so that p is none that they could not give", {
  skip_below("quick")
  # all ways to put labels on rows, one by one
  dense_p <- function(K, codes) {
    orders <- all_orders(length(codes))
    numbers <- apply(orders, 2, function(o) dense_groups_statistic(K, codes[o]))
    mean(numbers >= dense_groups_statistic(K, codes) * (1 - 1e-10))
  }
  set.seed(12)
  for (codes in list(rep(1:2, each = 3), c(2, 1, 2, 2, 1, 2), rep(3:1, 2))) {
    for (apart in c(0, 9)) {
      x <- matrix(stats::rnorm(2 * length(codes)), length(codes)) + apart * codes
      by_energy <- energy_test(x, groups = codes, null = "moments")
      expect_equal(by_energy$p.value, dense_p(-dense_distance(x), codes))
      expect_equal(mmd_test(x, groups = codes, null = "moments")$p.value,
                   dense_p(dense_gaussian(x, median_scale(x)), codes))
      expect_equal(energy_test(x, groups = codes, R = 999)$p.value, by_energy$p.value)
      expect_match(by_energy$method, "all [0-9]+ permutations")
    }
  }
  # four groups of two: the least p is one in 105, not in 2520, whether names are swapped or not
  pairs <- rep(1:4, each = 2)
  x <- stats::rnorm(8)
  by_moments <- energy_test(x, groups = pairs, null = "moments")
  expect_equal(by_moments$p.value, energy_test(x, groups = pairs, R = 2520)$p.value)
  expect_equal(energy_test(10 * pairs + c(0, 1), groups = pairs, null = "moments")$p.value, 1 / 105)
  expect_match(energy_test(1:14, groups = rep(1:2, 7), null = "moments")$method, "moments")
  # a label of its own for one row of many
  expect_length(energy_test(stats::rnorm(700), groups = rep(1:2, c(699, 1)))$replicates, 700)
})

test_that("the level of tests of six and eight rows is that of all relabellings, 0 where none is as rare", {
  skip_below("quick")
  set.seed(13)
  p <- t(replicate(by_tier(30, 30, 1000), {
    x <- matrix(stats::rnorm(16), 8)
    c(energy_test(x[1:6, ], groups = rep(1:2, 3), null = "moments")$p.value,
      energy_test(x, groups = rep(1:2, 4), null = "moments")$p.value,
      dcor_test(x[, 1], factor(rep(1:2, 4)))$p.value)
  }))
  expect_gte(min(p[, 1]), 0.1)
  expect_gte(min(p[, -1]), 2 / 70)
  for (k in 2:3) expect_lt(mean(p[, k] <= 0.05), 0.05 + 3.3 * sqrt(0.05 * 0.95 / nrow(p)))
})

test_that("factors, integers, logicals, single columns and constant columns are taken", {
  set.seed(6)
  n <- 40
  frame <- data.frame(f = sample(letters[1:3], n, TRUE), i = sample(9L, n, TRUE), l = stats::runif(n) < 0.5, k = 1)
  labels <- rep(1:2, each = n / 2)
  codes <- cbind(outer(frame$f, letters[1:3], "==") / sqrt(2), frame$i, frame$l, 1)
  K <- -dense_distance(codes)
  expect_equal(unname(energy_test(frame, groups = labels, R = 1)$statistic), dense_groups_statistic(K, labels))
  expect_equal(energy_test(frame[labels == 1, ], frame[labels == 2, c(4, 3, 2, 1)], R = 1)$statistic,
               energy_test(frame, groups = labels, R = 1)$statistic)
  expect_equal(unname(energy_test(factor(frame$f), groups = labels, R = 1)$statistic),
               dense_groups_statistic(-outer(frame$f, frame$f, "!=") * 1, labels))
  expect_equal(unname(energy_test(frame$i, groups = labels, R = 1, exponent = 0.5)$statistic),
               dense_groups_statistic(-dense_distance(frame$i)^0.5, labels))
})

test_that("mistakes are refused by class", {
  expect_error(mmd_test(petals, groups = iris$Species, kernel = "thin_plate"), class = "kernweave_error_unsupported")
  expect_error(mmd_test(petals, groups = iris$Species, kernel = kernel_spec("thin_plate") + kernel_spec("gaussian")),
               class = "kernweave_error_unsupported")
  expect_error(energy_test(petals), class = "kernweave_error_input")
  expect_error(energy_test(petals, iris$Species), "groups =", class = "kernweave_error_input")
  expect_error(energy_test(c("a", "b"), 1:3), "texts and numbers", class = "kernweave_error_input")
  expect_error(energy_test(1:3, c("a", "b")), "`y` is texts, and `x` is not", class = "kernweave_error_input")
  expect_s3_class(energy_test(iris$Species[1:60], iris$Species[40:99], R = 9), "htest")
  expect_error(energy_test(petals, petals[, 1:3]), class = "kernweave_error_shape")
  expect_error(energy_test(petals, stats::setNames(petals, letters[1:4])), class = "kernweave_error_shape")
  expect_error(energy_test(petals, groups = 1:3), class = "kernweave_error_shape")
  expect_error(energy_test(petals, groups = rep(1, 150)), class = "kernweave_error_data")
  expect_error(energy_test(petals, groups = c(NA, iris$Species[-1])), class = "kernweave_error_data")
  expect_error(energy_test(petals, groups = iris$Species, exponent = 2), class = "kernweave_error_value")
  expect_error(energy_test(petals, groups = iris$Species, null = "momant"), "moments", class = "kernweave_error_input")
  expect_error(energy_test(petals, groups = iris$Species, weights = 1:150), class = "kernweave_error_unsupported")
  expect_error(energy_test(petals, groups = iris$Species, exponant = 1), class = "kernweave_error_input")
  expect_error(energy_test(c(1, NA), c(2, 3)), class = "kernweave_error_data")
  expect_error(energy_test(c(1, 1), c(1, 1)), class = "kernweave_error_data")
  expect_error(energy_test(petals, groups = iris$Species, strata = iris$Species, null = "moments"),
               class = "kernweave_error_unsupported")
  expect_error(energy_test(stats::dist(petals), groups = iris$Species), class = "kernweave_error_input")
  expect_error(energy_test(matrix(0, 0, 2), groups = integer()), class = "kernweave_error_data")
})

test_that("every row r times has r times the statistic, and moves, turns and units do what they must", {
  r <- 7
  many <- petals[rep(1:150, r), ]
  species <- rep(iris$Species, r)
  expect_equal(unname(energy_test(many, groups = species, R = 1)$statistic), r * 357.711928609, tolerance = 1e-9)
  turn <- qr.Q(qr(matrix(c(1, 2, 3, 4, 2, 2, 1, 5, 0, 1, 7, 1, 3, 1, 1, 1), 4)))
  moved <- 3 * (as.matrix(petals) %*% turn) + 100
  order <- rev(seq_len(150))
  for (test in list(energy_test, mmd_test)) {
    once <- test(petals, groups = iris$Species, null = "moments")
    again <- test(moved[order, ], groups = iris$Species[order], null = "moments")
    expect_equal(unname(again$statistic / once$statistic), if (identical(test, energy_test)) 3 else 1)
    expect_equal(again$moments[["skewness"]], once$moments[["skewness"]])
  }
})

test_that("both nulls hold the level, and moments agree with permutations", {
  skip_below("quick")
  set.seed(11)
  p <- t(replicate(null_sets(), {
    x <- matrix(stats::rexp(60), 30)
    groups <- sample(rep(1:3, 10))
    c(energy_test(x, groups = groups, R = 99)$p.value, energy_test(x, groups = groups, null = "moments")$p.value,
      mmd_test(x, groups = groups, null = "moments")$p.value)
  }))
  for (k in 1:3) expect_level(p[, k])
  expect_lt(max(abs(sort(p[, 2]) - stats::ppoints(nrow(p)))), 2 / sqrt(nrow(p)))
  expect_lt(mean(abs(p[, 1] - p[, 2])), 0.06)
})

test_that("a test prints itself as base R's do, and draws its replicates", {
  set.seed(1)
  found <- energy_test(cbind(mpg, wt) ~ am, mtcars, R = 99)
  expect_output(print(found), "Energy test of equal distributions [(]2 groups, 99 permutations[)]")
  expect_output(print(found), "R = 99, p-value = 0.01")
  by_moments <- energy_test(cbind(mpg, wt) ~ am, mtcars, null = "moments")
  expect_output(print(by_moments), "p-value < 0.001")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(found), found)
  expect_identical(plot(by_moments), by_moments)
})

test_that("the answer is the same on every device, and near it in float32", {
  cpu <- energy_test(petals, groups = iris$Species, null = "moments")
  set.seed(3)
  replicates <- mmd_test(petals, groups = iris$Species, R = 20)$replicates
  other <- with_kernweave(energy_test(petals, groups = iris$Species, null = "moments"), device = "reference")
  expect_equal(other[c("statistic", "moments")], cpu[c("statistic", "moments")])
  expect_equal(other$engine[["device"]], "reference")
  single <- with_kernweave(energy_test(petals, groups = iris$Species, null = "moments"), precision = "float32")
  expect_equal(single[c("statistic", "moments")], cpu[c("statistic", "moments")], tolerance = 1e-4)
  set.seed(3)
  again <- with_kernweave(mmd_test(petals, groups = iris$Species, R = 20), device = "reference", threads = 1)
  expect_equal(again$replicates, replicates)
})

test_that("an argument that is not there is named, whatever it stands for", {
  expect_error(energy_test(mpg ~ am, mtcars, subst = cyl == 4), "no argument `subst`; did you mean `subset`",
               class = "kernweave_error_input")
  expect_error(energy_test(mpg ~ am, mtcars, weights = wt), "weight", class = "kernweave_error_unsupported")
  expect_error(energy_test(1:3, 2:5, NULL, 1, "moments", 9, NULL, NULL, 3), "too many: 3",
               class = "kernweave_error_input")
})

test_that("tests of a formula take some rows, and labels that are no measurements", {
  kept <- mtcars[mtcars$hp > 100, ]
  same <- function(a, b) expect_equal(a$statistic, b$statistic)
  same(energy_test(mpg ~ am, mtcars, subset = hp > 100, R = 9), energy_test(mpg ~ am, kept, R = 9))
  same(mmd_test(mpg ~ am, mtcars, subset = hp > 100, R = 9), mmd_test(mpg ~ am, kept, R = 9))
  same(dcor_test(mpg ~ wt, mtcars, subset = hp > 100), dcor_test(mpg ~ wt, kept))
  same(hsic_test(mpg ~ wt, mtcars, subset = hp > 100), hsic_test(mpg ~ wt, kept))
  expect_equal(permanova(mpg ~ am, mtcars, subset = hp > 100, R = 9)$F, permanova(mpg ~ am, kept, R = 9)$F)
  # strata lose the rows that `subset` and missing values lose
  gone <- transform(mtcars, mpg = replace(mpg, 3:4, NA))
  p_of <- function(data, ...) {
    set.seed(1)
    energy_test(mpg ~ am, data, R = 99, strata = gear, ...)$p.value
  }
  expect_equal(p_of(gone, subset = hp > 100), p_of(gone[gone$hp > 100 & !is.na(gone$mpg), ]))
  expect_error(energy_test(Species ~ Sepal.Length, iris), "whole numbers.*5.1; groups stand on the right",
               class = "kernweave_error_input")
  expect_error(silhouette_widths(iris[, 1:4], iris$Sepal.Width), "`cluster` must be labels",
               class = "kernweave_error_input")
})

test_that("printing names the kernels and their scales", {
  expect_output(print(mmd_test(mpg ~ am, mtcars, R = 9)), "kernel: Gaussian, scale", fixed = TRUE)
  expect_output(print(hsic_test(mpg ~ wt, mtcars)), "kernel: of x Gaussian, scale .*, of y Gaussian, scale")
  expect_output(print(ksd_test(mtcars$wt, function(x) -x, R = 9)), "kernel: Inverse multiquadric, scale")
  expect_false(any(grepl("kernel", capture.output(energy_test(mpg ~ am, mtcars, R = 9)))))
})

test_that("tests of no rows name the argument that has none", {
  none <- function(code, argument) {
    expect_error(code, paste0("`", argument, "` has no rows"), class = "kernweave_error_data")
  }
  for (test in list(energy_test, mmd_test)) {
    none(test(petals[1:5, ], petals[0, ]), "y")
    none(test(numeric(), 1:3), "x")
    none(test(petals[0, ], groups = character()), "x")
  }
  none(energy_test(1:4, integer(), slices = 3, R = 9), "y")
  for (test in list(dcor_test, hsic_test)) none(test(petals[0, 1:2], petals[0, 3:4]), "x")
  expect_error(dcor_test(petals[1:5, ], petals[0, ]), "`y` has no rows", class = "kernweave_error_data")
  expect_error(energy_test(mpg ~ am, mtcars[0, ]), "no rows", class = "kernweave_error_data")
  expect_error(ksd_test(numeric(), numeric()), "0 rows", class = "kernweave_error_data")
})

test_that("tests print how many rows they compare, in which groups, and how many were left out", {
  set.seed(1)
  gone <- transform(mtcars, mpg = replace(mpg, c(2, 9, 30), NA))
  found <- energy_test(mpg ~ cyl, gone, R = 19)
  expect_output(print(found), "n = 29, R = 19, p-value", fixed = TRUE)
  expect_output(print(found), "\n(3 rows with missing values left out)\n", fixed = TRUE)
  expect_output(print(found), "groups: 4 (10), 6 (5), 8 (14)", fixed = TRUE)
  expect_equal(names(found$na.action), rownames(mtcars)[c(2, 9, 30)])
  one <- transform(mtcars, mpg = replace(mpg, 5, NA))
  left_out <- "\n(1 row with missing values left out)\n"
  expect_output(print(mmd_test(mpg ~ am, one, null = "moments")), left_out, fixed = TRUE)
  expect_output(print(mmd_test(mpg ~ am, one, null = "moments")), "T = [0-9.]+, n = 31, p-value")
  expect_output(print(dcor_test(mpg ~ wt, one)), left_out, fixed = TRUE)
  expect_output(print(hsic_test(mpg ~ wt, one)), left_out, fixed = TRUE)
  table <- permanova(mpg ~ wt, one, R = 9)
  expect_output(print(table), paste0("9 permutations, terms in order)", left_out), fixed = TRUE)
  expect_false(any(grepl("left out", capture.output(energy_test(mpg ~ am, mtcars, R = 9)))))
  many <- energy_test(1:40, groups = rep(1:20, each = 2), R = 9)
  expect_output(print(many), "groups: 20, of 2 to 2 rows", fixed = TRUE)
})

test_that("numbers in the place of groups get a warning that turns the formula round", {
  turned <- function(code, ...) expect_warning(code, ..., class = "kernweave_warning_groups")
  turned(energy_test(cyl ~ hp, mtcars, R = 9),
         "`hp` has 22 groups for 32 rows, 15 of them of one row: groups stand on the right .* as in hp ~ cyl")
  turned(mmd_test(cyl ~ hp, mtcars, R = 9), "as in hp ~ cyl", fixed = TRUE)
  turned(energy_test(cbind(cyl, am) ~ hp, mtcars, R = 9), "on the right of the formula$")
  turned(energy_test(mtcars$cyl, groups = mtcars$hp, R = 9, slices = 2), "`groups` their labels", fixed = TRUE)
  singles <- c(rep(1, 20), 2:9)
  turned(energy_test(seq_along(singles), groups = singles, R = 9), "9 groups for 28 rows, 8 of them of one row")
  for (labels in list(c(1, 1, 2), rep(1:5, each = 2), c(1, 2, rep(3:6, 3)), mtcars$gear)) {
    expect_no_warning(energy_test(sin(seq_along(labels)), groups = labels, R = 9))
  }
})
