# Tests that only units change in a test: not with where points lie, how they are measured, or in what order they come.

# Numbers with few digits, so that a move by 1e9 loses none.
rounded <- function(x, digits = 2^20) round(x * digits) / digits
set.seed(31)
points <- rounded(matrix(stats::rnorm(48), 24))
groups <- rep(c("a", "b", "c"), each = 8)
points[groups == "b", ] <- points[groups == "b", ] + 0.5
response <- rounded(points[, 1]^2 + stats::rnorm(24))

# A test of points x with labels g and a response y; `power` of the unit of x that its statistic has; `far`: does it
# take points whose squared distances are beyond double precision? `least` unit that it takes.
both_kernels <- kernel_spec("linear", scale = 2) + kernel_spec("gaussian", scale = 1)
invariants <- list(
  energy = list(f = function(x, g, y) energy_test(x, groups = g, null = "moments"), power = 1, far = TRUE),
  energy_half = list(f = function(x, g, y) energy_test(x, groups = g, null = "moments", exponent = 0.5), power = 0.5,
                     far = TRUE),
  permuted = list(f = function(x, g, y) energy_test(x, groups = g, R = 39), power = 1, far = TRUE),
  slices = list(f = function(x, g, y) energy_test(x, groups = g, slices = 7, R = 39), power = 1, far = TRUE),
  mmd = list(f = function(x, g, y) mmd_test(x, groups = g, null = "moments"), power = 0),
  mmd_linear = list(f = function(x, g, y) mmd_test(x, groups = g, kernel = "linear", null = "moments"), power = 0),
  mmd_permuted = list(f = function(x, g, y) mmd_test(x, groups = g, kernel = "linear", R = 39), power = 0),
  mmd_unscaled = list(f = function(x, g, y) {
    mmd_test(x, groups = g, kernel = kernel_spec("linear", scale = 1), null = "moments")
  }, power = 2),
  mmd_sum = list(f = function(x, g, y) mmd_test(x, groups = g, kernel = both_kernels, null = "moments"), power = NA),
  dcor = list(f = function(x, g, y) dcor_test(x, y), power = 1, far = TRUE),
  dcor_permuted = list(f = function(x, g, y) dcor_test(y, x, null = "permutation", R = 39), power = 1, far = TRUE),
  hsic = list(f = function(x, g, y) hsic_test(x, y), power = 0),
  hsic_linear = list(f = function(x, g, y) hsic_test(x, y, kernel = "linear", kernel_y = "gaussian"), power = 0),
  permanova = list(f = function(x, g, y) permanova(x ~ g, null = "moments"), power = 2, least = 1e-144),
  permanova_permuted = list(f = function(x, g, y) permanova(x ~ g, R = 39), power = 2, least = 1e-144)
)
statistic_of <- function(found) if (is.data.frame(found)) found$SumOfSqs[1] else unname(found$statistic)
p_of <- function(found) if (is.data.frame(found)) found[["Pr(>F)"]][1] else found$p.value
ran <- function(test, x = points, g = groups, y = response) {
  set.seed(32)
  found <- test$f(x, g, y)
  c(statistic = statistic_of(found), p = p_of(found))
}

test_that("tests are the same wherever the points lie", {
  skip_below("quick")
  for (name in names(invariants)) {
    plain <- ran(invariants[[name]])
    for (to in list(1e9, -1e9, c(1e9, 0))) {
      moved <- points + rep(rep(to, length.out = 2), each = 24)
      expect_equal(ran(invariants[[name]], moved, y = response - 1e9), plain, tolerance = 1e-9, label = name)
    }
  }
})

test_that("tests are the same in all units, or say that squares of distances go beyond double precision", {
  skip_below("quick")
  for (name in names(invariants)) {
    test <- invariants[[name]]
    if (is.na(test$power)) next
    plain <- ran(test)
    for (unit in c(1e-8, 1e8, 1e-120, 1e120, 1e-150, 1e149, 1e-170, 1e160)) {
      beyond <- !isTRUE(test$far) && abs(log10(unit)) > 150 || unit < max(0, test$least)
      if (beyond) expect_error(ran(test, points * unit), class = "kernweave_error_data", label = paste(name, unit))
      else expect_equal(ran(test, points * unit), plain * c(unit^test$power, 1), tolerance = 1e-9,
                        label = paste(name, unit))
    }
  }
  found <- energy_test(points * 1e160, groups = groups, R = 39)
  expect_equal(found$pairwise / 1e160, energy_test(points, groups = groups, R = 39)$pairwise)
})

test_that("tests are the same whatever the order of rows and the names of groups", {
  skip_below("quick")
  order <- rev(seq_len(24))
  for (name in c("energy", "energy_half", "mmd", "mmd_linear", "dcor", "hsic", "hsic_linear", "permanova")) {
    plain <- ran(invariants[[name]])
    expect_equal(ran(invariants[[name]], points[order, ], groups[order], response[order]), plain, label = name)
    renamed <- unname(c(a = "z", b = "x", c = "y")[groups])
    expect_equal(ran(invariants[[name]], g = renamed), plain, label = name)
    expect_equal(ran(invariants[[name]], g = factor(groups, levels = letters[3:1])), plain, label = name)
  }
  # few rows, all of whose relabellings are taken
  few <- c(1:3, 9:11)
  expect_equal(dcor_test(points[few, ], response[few])$p.value,
               dcor_test(points[rev(few), ], response[rev(few)])$p.value)
})

test_that("a test of fit is the same where points and score move and change units together", {
  skip_below("quick")
  score <- function(x) -2 * x
  for (null in c("moments", "signs")) {
    run <- function(unit, to) {
      set.seed(33)
      found <- ksd_test(points * unit + to, score(points) / unit, null = null, R = 39)
      c(unname(found$statistic), found$p.value)
    }
    plain <- run(1, 0)
    for (to in c(1e6, 1e9)) expect_equal(run(1, to), plain, tolerance = 1e-9)
    for (unit in c(1e-8, 1e8, 1e-60, 1e60)) expect_equal(run(unit, 0), plain * c(unit^-2, 1), tolerance = 1e-9)
    for (unit in c(1e-100, 1e100)) expect_error(run(unit, 0), "too", class = "kernweave_error_data")
  }
})

test_that("a polynomial kernel sees where the points lie", {
  quadratic <- kernel_spec("polynomial", scale = 1)
  at <- function(to) unname(mmd_test(points + to, groups = groups, kernel = quadratic, R = 1)$statistic)
  K <- (tcrossprod(points + 3) + 1)^2
  expect_equal(at(3), dense_groups_statistic(K, groups))
  expect_gt(abs(at(3) - at(0)), 1)
})

test_that("numbers that overflow are an error that says so", {
  cubic <- kernel_spec("polynomial", scale = 1, degree = 3)
  for (null in c("moments", "permutation")) {
    expect_error(mmd_test(points * 1e60, groups = groups, kernel = cubic, null = null), "overflow",
                 class = "kernweave_error_data")
  }
  expect_error(permanova(points * 1e160 ~ groups, R = 9), "not finite", class = "kernweave_error_data")
  expect_error(permanova(points * 1e-170 ~ groups, R = 9), "0 in double precision", class = "kernweave_error_data")
  expect_error(mmd_test(points * 1e-170, groups = groups), "multiply", class = "kernweave_error_data")
  expect_equal(median_scale(points * 1e-170) * 1e170, median_scale(points))
  expect_equal(median_scale(points * 1e170) / 1e170, median_scale(points))
})
