# Tests what is proved of approximated matrices: every pair once, and the bounds of random problems.

# --- random problems -----------------------------------------------------------------------------------------------

# Computes by how much an error exceeds its bound, in shares of the sum of sizes, and the bound's share of the promise.
beyond_bounds <- function(problem) {
  K <- problem$K
  A <- eager(approximate(K, problem$tol, "proof"), random_price())
  bound <- error_bound(A, problem$b)
  c(beyond(A %*% problem$b, K %*% problem$b, bound, abs(K) %*% abs(problem$b)), stated(plan_of(A), bound, problem))
}
beyond_bounds_of_difference <- function(problem) {
  F <- problem$F
  b <- problem$b
  state <- new_approximation(F, problem$tol, "proof")
  state$prices <- c(random_price(), 160000)
  bound <- kernweave:::bound_of(state, b)
  beyond <- beyond(approximated_product(state, b), pair_sums(F, b), bound,
                   pair_sums(abs(F), abs(b)))
  c(beyond, stated(plan_of_approximation(state), bound, problem))
}
stated <- function(plan, bound, problem) {
  sizes <- rep(colSums(abs(problem$b)), each = length(bound) / ncol(problem$b))
  list(of_promise = max(bound / (problem$tol * plan$scale * sizes)), series = sum(plan$levels$far_pairs) > 0)
}
beyond <- function(found, exact, bound, sizes) {
  rounding <- 1e-12 * sizes + 1e-300
  usable <- is.finite(rounding)
  off <- abs(found - exact) - bound - rounding
  list(error = max(-1, (off / rounding)[usable]), lost = sum(is.finite(found) != is.finite(exact)))
}

expect_bounded <- function(cases, seed, random, beyond) {
  series <- 0
  with_local_seed(seed, for (k in seq_len(cases)) {
    problem <- random()
    found <- tryCatch(beyond(problem), kernweave_error_input = function(e) NULL)
    if (is.null(found)) next  # a formula that is nowhere a number
    expect_lte(found$error, 0, label = paste(k, problem$text))
    expect_identical(found$lost, 0L, label = paste(k, problem$text))
    expect_lte(found$of_promise, 1 + 1e-9, label = paste(k, problem$text))
    series <- series + found$series
  })
  expect_gt(series, cases / 4)
}

test_that("no error is larger than its proved bound", {
  expect_bounded(by_tier(30, 150, 10000), 32, random_problem, beyond_bounds)
})

test_that("no error of a formula times the difference of the points is", {
  expect_bounded(by_tier(30, 200, 10000), 52, random_difference, beyond_bounds_of_difference)
})

test_that("a proved bound knows the moments of weights: it is far below the promise, but of a single point's", {
  n <- 3000
  x <- with_local_seed(53, matrix(stats::runif(2 * n), n))
  K <- kernel_matern(x, x, scale = 0.2, nu = 1.5)
  A <- eager(approximate(K, 1e-6, "proof"), 100)
  b <- with_local_seed(54, cbind(stats::rnorm(n), 1, sin(5 * x[, 1]), seq_len(n) == 3))
  bound <- error_bound(A, b)
  expect_true(all(abs(A %*% b - K %*% b) <= bound + 1e-12 * n))
  of_promise <- apply(bound, 2, max) / (1e-6 * colSums(abs(b)))
  expect_true(all(of_promise[1:3] < 0.15))
  expect_true(of_promise[4] > 0.2 && of_promise[4] < 1)
  expect_equal(bound[, 1, drop = FALSE], error_bound(A, b[, 1]))
  expect_equal(error_bound(A, -2 * b), 2 * bound)
})

# --- pairs, digits, edges ------------------------------------------------------------------------------------------

test_that("smooth parts have series", {
  x <- with_local_seed(42, matrix(stats::runif(400), 200))
  for (part in smooth_parts) {
    K <- part(sqdist(Vi(x), Vj(x)))
    plan <- plan_of(eager(approximate(K, 1e-6, "proof"), 1e5))
    expect_gt(sum(plan$levels$far_pairs), 0, label = format(K))
    expect_identical(plan$no_series, "", label = format(K))
  }
})

test_that("every pair is counted once", {
  with_local_seed(33, for (d in 1:3) for (k in seq_len(by_tier(2, 4, 60))) {
    cloud <- clouds(if (d == 3) 100 else 200, d)
    K <- 1 + sqdist(Vi(cloud$x), Vj(cloud$y)) / max(1, max(abs(cloud$x), abs(cloud$y))^2)
    if (k %% 2) K <- K + 1e-6 * relu(sqrt(sqdist(Vi(cloud$x), Vj(cloud$y))) - 0.1)  # no series near 0.1
    each <- diag(nrow(cloud$y))
    expect_lt(max(abs(eager(approximate(K, 1e-6, "proof"), 1e5) %*% each - K %*% each)), 1e-3, label = cloud$kind)
  })
})

test_that("digits of points far from the origin, and beside one far away, are not lost", {
  skip_below("quick")
  with_local_seed(34, {
    n <- 400
    z <- matrix(stats::runif(2 * n), n)
    near <- function(K, b, tol = 1e-9) {
      off <- abs(eager(approximate(K, tol, "proof"), 1e5) %*% b - K %*% b)
      expect_lt(max(off), 2 * tol * sum(abs(b)))
    }
    b <- stats::rnorm(n)
    for (offset in c(0, 1e3, 1e6)) {
      x <- 1e-3 * z + offset
      near(exp(-sqdist(Vi(x), Vj(x)) * 1e8), b)
      near(exp(-sum(square(Vi(x) - Vj(x)) * Pm(c(3e7, 5e7)))), b)
      near(exp(-norm2((Vi(x) - Vj(x)) / Pm(3e-4))), b)
    }
    # Boxes of units, far beside which a point has polynomials of high degree that are no numbers.
    line <- c(50 * z[-1, 1], 3e9)
    s <- square((Vi(line) - Vj(line)) / 6)
    near(s / (1 + s)^2, b, 1e-6)
    for (far in c(1e4, 1e9)) {
      x <- rbind(z[-1, ], far)
      near(exp(-sqdist(Vi(x), Vj(x))), b)
      near(exp(-3 * sqdist(Vi(-x), Vj(-x))), b)
    }
  })
})

test_that("comparisons are no analytic functions, even where their values are constant", {
  x <- with_local_seed(35, matrix(stats::runif(400), 200))
  s <- sqdist(Vi(x), Vj(x))
  for (K in list((s < 1e-3) * exp(-s), lazy_if(s < 1e-4, 2, 1) + 0 * s, exp(-s) + (s == 0), exp(-s) * (s != s / 2))) {
    expect_equal(eager(approximate(K, 1e-6, "proof")) %*% rep(1, 200), K %*% rep(1, 200), tolerance = 1e-6)
  }
})

test_that("where a formula times 0 is no number, the sum is none", {
  x <- with_local_seed(55, matrix(stats::runif(400), 200))
  s <- sqdist(Vi(x), Vj(x))
  for (K in list(exp(-s) + 0 * sqrt(0.5 - s), 0 * log(s) + 1 / (1 + s), exp(-s) - 0 / (s == 0))) {
    product <- eager(approximate(K, 1e-6, "proof"), 1e5) %*% rep(1, 200)
    expect_identical(is.finite(product), is.finite(K %*% rep(1, 200)), label = format(K))
  }
})

test_that("a formula of numbers as large or small as there are has bounds that hold", {
  skip_below("quick")
  with_local_seed(56, for (big in c(1e10, 1e100, 1e160, 1e250)) for (d in 1:2) {
    x <- matrix(stats::runif(200 * d), 200)
    s <- sqdist(Vi(x), Vj(x))
    b <- cbind(stats::rnorm(200), 1)
    for (K in list(big / (1 + big * s), sqrt(big) / (sqrt(big) + big * s), 1 / (1 / big + s / big) / big)) {
      A <- eager(approximate(K, 1e-3, "proof"), 1e5)
      off <- abs(A %*% b - K %*% b)
      expect_true(all(off <= error_bound(A, b) + 1e-12 * (K %*% abs(b))), label = format(K))
    }
  })
})

test_that("bounds are above the rounding of series, of formulas that are next to 0 wherever points are, too", {
  skip_below("quick")
  x <- 0.1 * (seq_len(400) %% 9)
  b <- with_local_seed(59, cbind(stats::rnorm(400), 1))
  series <- 0
  profiles <- list(function(s) s * exp(-s), function(s) s / (1 + s^4), function(s) log1p(s) * erfc(s))
  for (profile in profiles) for (width in c(1e-3, 3e-3)) for (tol in c(1e-4, 1e-8, 1e-12)) {
    K <- profile(sqdist(Vi(x), Vj(x)) / (width * 0.1^2))
    A <- eager(approximate(K, tol, "proof"), 1e6)
    series <- series + sum(plan_of(A)$levels$far_pairs)
    off <- abs(A %*% b - K %*% b)
    bound <- error_bound(A, b)
    expect_true(all(off <= bound + 1e-12 * (abs(K) %*% abs(b))), label = paste(format(K), tol))
    expect_lte(max(bound), tol * plan_of(A)$scale * max(colSums(abs(b))))
  }
  expect_gt(series, 0)
})

test_that("no points, values that are not finite, long formulas and constants beside factors", {
  none <- matrix(0, 0, 2)
  x <- with_local_seed(36, matrix(stats::runif(200), 100))
  one <- rep(1, 100)
  expect_identical(dim(approximate(kernel_gaussian(none)) %*% matrix(0, 0, 1)), c(0L, 1L))
  expect_equal(as.vector(approximate(kernel_gaussian(x, none)) %*% matrix(0, 0, 1)), rep(0, 100))
  expect_identical(dim(approximate(kernel_gaussian(none, x)) %*% one), c(0L, 1L))
  for (far in c(1e200, -1e308)) {
    expect_identical(as.vector(approximate(kernel_laplacian(cbind(0.5, far), x)) %*% one), 0)
  }
  for (tiny in c(1e-200, 1e-310, 1e-322)) {
    expect_equal(as.vector(approximate(kernel_laplacian(tiny * x)) %*% one), rep(100, 100))
  }
  s <- sqdist(Vi(x), Vj(x))
  expect_identical(as.vector(approximate(log(s)) %*% one), rep(-Inf, 100))
  long <- Reduce(`+`, lapply(1:80, function(k) exp(-s * k)))
  expect_error(approximate(sin(long)), "too long", class = "kernweave_error_not_a_distance")
  short <- Reduce(`+`, lapply(1:20, function(k) exp(-s * k)))
  expect_equal(approximate(short, 1e-8, "proof") %*% one, short %*% one, tolerance = 1e-8)
  K <- -2 * (Vi(x[, 1]) * exp(-s)) / 3 * Vj(x[, 2])
  A <- eager(approximate(K, 1e-8, "proof"))
  expect_equal(A %*% one, K %*% one, tolerance = 1e-7)
  expect_equal(plan_of(A)$scale, 2 / 3 * max(x[, 1]) * max(x[, 2]))
})

# --- audits --------------------------------------------------------------------------------------------------------

test_that("an audit that fails makes the series anew with a fourth, and then says so", {
  skip_below("quick")
  x <- with_local_seed(37, matrix(stats::runif(6000), 3000))
  b <- with_local_seed(38, stats::rnorm(3000))
  K <- exp(-sqdist(Vi(x), Vj(x)) / 0.01)
  A <- eager(approximate(K, 1e-6), 100)
  state <- approximation_of(A)
  state$used <- 3e-5
  first <- checked_rows(state, as.matrix(b), unaudited_product(state, b))$error
  expect_gt(first, 1e-6)
  A %*% b
  expect_identical(state$used, 1e-6 / 4)
  expect_lte(state$audit$error, 1e-6)
  A <- eager(approximate(K, 1e-6), 100)
  state <- approximation_of(A)
  state$tol <- 1e-20  # which no rounding allows
  expect_error(A %*% b, "random rows", class = "kernweave_error_audit_failed")
})

test_that("audits are of numbers of any size", {
  skip_below("quick")
  x <- with_local_seed(57, matrix(stats::runif(600), 300))
  b <- with_local_seed(58, stats::rnorm(300))
  for (size in c(1e-200, 1e-160, 1e-100, 1, 1e200)) for (weight in c(1e-90, 1, 1e100)) {
    K <- size * kernel_gaussian(x, x, 0.3)
    A <- eager(approximate(K, 1e-6))
    expect_equal(A %*% (b * weight) / size / weight, kernel_gaussian(x, x, 0.3) %*% b, tolerance = 1e-5)
    state <- approximation_of(A)
    found <- unaudited_product(state, b * weight)
    error <- checked_rows(state, as.matrix(b * weight), 1.01 * found)$error
    expect_true(error > 0.001 && error < 0.1)
  }
})

test_that("planning takes no longer than pairs would, and no memory for them", {
  skip_below("quick")
  x <- with_local_seed(39, matrix(stats::runif(60000), ncol = 3))
  s <- sqdist(Vi(x), Vj(x))
  b <- rep(1, 20000)
  for (K in list(floor(10 * sqrt(s)), cos(100 * sqrt(s)), abs(0.5 - s))) {
    plan <- plan_of(approximate(K))
    expect_lt(nrow(plan$levels), 6)
    expect_lt(plan$bytes, 1e7)
  }
  one_place <- matrix(0.3, 20000, 2)
  expect_equal(as.vector(approximate(kernel_matern(one_place)) %*% b), b * 20000)
  long <- cbind(1000 * x[, 1], x[, 2:3])
  plan <- plan_of(approximate(kernel_matern(long, scale = 0.5)))
  expect_lt(plan$near_pairs, 20000 * 1000)
})

test_that("products and their bounds are the same bits for any number of threads", {
  skip_below("quick")
  x <- with_local_seed(40, matrix(stats::runif(12000), ncol = 3))
  K <- function(threads) lazy_set(kernel_energy(x), threads = threads)
  product <- function(threads) {
    A <- eager(approximate(K(threads), 1e-4), 300)
    P <- eager(approximate(K(threads), 1e-4, "proof"), 300)
    list(A %*% rep(1, 4000), error_bound(P, rep(1, 4000)))
  }
  first <- product(1)
  for (threads in 2:4) expect_identical(product(threads), first)
})
