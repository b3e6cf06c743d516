# What is proved of approximated matrices: every pair once, and the bounds of random problems.

# Series even where pairs would be less work.
eager <- function(A, price = sample(c(1e3, 1e4, 1e5), 1)) {
  state <- kernweave:::approximation_of(A)
  state$plan <- NULL
  state$prices <- c(price, 160000)
  A
}
plan_of <- function(A) kernweave:::plan_of_approximation(kernweave:::approximation_of(A))

# Formulas of a squared distance.
smooth_parts <- list(
  function(s) exp(-s), function(s) exp(-sqrt(s)), function(s) 1 / (1 + s), function(s) sqrt(1 + s),
  function(s) cos(sqrt(s)), function(s) log(1 + s), function(s) tanh(s), function(s) sin(s),
  function(s) s^1.5, function(s) 1 / (0.3 + sqrt(s)),
  function(s) log1p(s), function(s) 1 / cosh(sqrt(s)), function(s) xlogx(s), function(s) sinxdivx(s),
  function(s) erfc(s), function(s) erf(sqrt(s)), function(s) softplus(1 - s), function(s) atan(s),
  function(s) asinh(s), function(s) acos(1 / (1 + s)), function(s) atanh(1 / (2 + s)), function(s) acosh(2 + s)
)
rough_parts <- list(
  function(s) relu(1 - s), function(s) (s < 1), function(s) lazy_if(s < 0.5, 2, 1), function(s) abs(0.5 - s),
  function(s) min2(s, 1), function(s) max2(0.2, 1 - sqrt(s)), function(s) floor(2 * s), function(s) sign(0.4 - s),
  function(s) heaviside(1 - s), function(s) clamp(s, 0.1, 0.9), function(s) sinpi(s),
  function(s) lgamma(1 + s), function(s) s %% 1, function(s) round(s), function(s) 1 / (s - 0.3),
  function(s) log(s), function(s) sqrt(0.7 - s), function(s) digamma(s + 0.5),
  function(s) (s == 0)
)
random_formula <- function(s) {
  part <- function() sample(if (stats::runif(1) < 0.7) smooth_parts else rough_parts, 1)[[1]]
  one <- part()(s)
  switch(sample(5, 1), one, one + part()(s), one * part()(s), one * part()(2 * s) - 0.3, part()(abs(one) / 2))
}
ready <- list(
  function(x, y, h) kernel_gaussian(x, y, h), function(x, y, h) kernel_laplacian(x, y, h),
  function(x, y, h) kernel_matern(x, y, h, nu = 1.5), function(x, y, h) kernel_matern(x, y, h, nu = 2.5),
  function(x, y, h) kernel_cauchy(x, y, h), function(x, y, h) kernel_inverse_multiquadric(x, y, h),
  function(x, y, h) kernel_rational_quadratic(x, y, h, alpha = 0.7), function(x, y, h) kernel_energy(x, y, h),
  function(x, y, h) kernel_energy(x, y, h, exponent = 0.5), function(x, y, h) kernel_thin_plate(x, y, h)
)
# Of a scale for each component, in ways to write it.
written <- list(
  function(x, y, h) sqdist(Vi(x), Vj(y)) / h[1]^2,
  function(x, y, h) sum(square(Vi(x) - Vj(y)) * Pm(rep_len(1 / h^2, ncol(x)))),
  function(x, y, h) sqnorm2((Vi(x) - Vj(y)) / Pm(rep_len(h, ncol(x)))),
  function(x, y, h) square(norm2(Vj(y) - Vi(x))) * (1 / h[1]^2)
)

# Points of one of several kinds, and those they meet.
clouds <- function(n, d) {
  x <- matrix(stats::runif(n * d), n)
  y <- x
  kind <- sample(c("uniform", "clusters", "twice", "outlier", "one place", "apart", "other", "long", "one", "grid"), 1)
  if (kind == "clusters") x <- y <- x[rep_len(1:5, n), , drop = FALSE] + random_size(-4, -1) * x
  if (kind == "twice") x <- y <- x[rep_len(seq_len(n / 2), n), , drop = FALSE]
  if (kind == "outlier") x[1, ] <- y[1, ] <- random_size(1, 9)
  if (kind == "one place") x[] <- y[] <- 0.5
  if (kind == "apart") y <- y[sample(n), , drop = FALSE] + 3
  if (kind == "other") y <- matrix(stats::runif(70 * d), 70)
  if (kind == "long") x[, 1] <- y[, 1] <- 1000 * x[, 1]
  if (kind == "one") x <- x[1, , drop = FALSE]
  if (kind == "grid") x <- y <- round(8 * x)
  list(kind = kind, x = x, y = y)
}

# What is shown of one random problem.
random_problem <- function() {
  d <- sample(3, 1)
  cloud <- clouds(if (d == 3) 120 else 240, d)
  unit <- random_size(-3, 3)
  offset <- sample(c(0, 0, 1e3, 1e6), 1) * unit
  x <- cloud$x * unit + offset
  y <- cloud$y * unit + offset
  h <- random_size(-1.5, 1) * unit * if (stats::runif(1) < 0.3) stats::runif(d, 0.5, 2) else 1
  number <- sample(length(ready) + 14, 1)
  K <- if (number <= length(ready)) ready[[number]](x, y, h) else random_formula(sample(written, 1)[[1]](x, y, h))
  if (stats::runif(1) < 0.3) K <- K * Vj(stats::rnorm(nrow(y)) * random_size(-6, 6))
  if (stats::runif(1) < 0.3) K <- Vi(stats::runif(nrow(x)) * random_size(-6, 6)) * K
  if (stats::runif(1) < 0.3) K <- -K
  if (stats::runif(1) < 0.3) K <- K * random_size(-12, 12)
  tol <- 10^-sample(if (d == 3) 1:6 else 1:10, 1)
  b <- matrix(stats::rnorm(2 * nrow(y)), ncol = 2) * if (stats::runif(1) < 0.2) 10^stats::runif(nrow(y), -10, 10) else 1
  b[, 2] <- abs(b[, 2])
  list(K = K, tol = tol, b = b, text = paste(cloud$kind, "D", d, "unit", format(unit, digits = 3), "offset", offset,
                                             "tol", tol, kernweave:::formula_text(K$formula, 400L)))
}

# By how much an error is larger than its bound, and that than the tolerance; in shares of the sum of sizes.
beyond_bounds <- function(problem) {
  K <- problem$K
  b <- problem$b
  A <- eager(approximate(K, problem$tol, "proof"))
  found <- A %*% b
  exact <- K %*% b
  bound <- error_bound(A, b)
  rounding <- 1e-12 * (abs(K) %*% abs(b)) + 1e-300
  usable <- is.finite(rounding)
  off <- abs(found - exact) - bound - rounding
  list(error = max(-1, (off / rounding)[usable]), lost = sum(is.finite(found) != is.finite(exact)),
       series = sum(plan_of(A)$levels$far_pairs) > 0)
}

test_that("no error is larger than its proved bound", {
  series <- 0
  cases <- by_tier(30, 150, 10000)
  with_local_seed(32, for (k in seq_len(cases)) {
    problem <- random_problem()
    found <- tryCatch(beyond_bounds(problem), kernweave_error_input = function(e) NULL)
    if (is.null(found)) next  # a formula that is nowhere a number
    expect_lte(found$error, 0, label = paste(k, problem$text))
    expect_identical(found$lost, 0L, label = paste(k, problem$text))
    series <- series + found$series
  })
  expect_gt(series, cases / 4)
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
    if (k %% 2) K <- K + 0 * relu(sqrt(sqdist(Vi(cloud$x), Vj(cloud$y))) - 0.1)  # no series near 0.1
    each <- diag(nrow(cloud$y))
    expect_lt(max(abs(eager(approximate(K, 1e-6, "proof"), 1e5) %*% each - K %*% each)), 1e-3, label = cloud$kind)
  })
})

test_that("digits of points far from the origin, and beside one far away, are not lost", {
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

test_that("no points, values that are not finite, long formulas and constants beside factors", {
  none <- matrix(0, 0, 2)
  x <- with_local_seed(36, matrix(stats::runif(200), 100))
  one <- rep(1, 100)
  expect_identical(dim(approximate(kernel_gaussian(none)) %*% matrix(0, 0, 1)), c(0L, 1L))
  expect_equal(as.vector(approximate(kernel_gaussian(x, none)) %*% matrix(0, 0, 1)), rep(0, 100))
  expect_identical(dim(approximate(kernel_gaussian(none, x)) %*% one), c(0L, 1L))
  s <- sqdist(Vi(x), Vj(x))
  expect_identical(as.vector(approximate(log(s)) %*% one), rep(-Inf, 100))
  long <- Reduce(`+`, lapply(1:80, function(k) exp(-s * k)))
  expect_error(approximate(long), "too long", class = "kernweave_error_not_a_distance")
  short <- Reduce(`+`, lapply(1:20, function(k) exp(-s * k)))
  expect_equal(approximate(short, 1e-8, "proof") %*% one, short %*% one, tolerance = 1e-8)
  K <- -2 * (Vi(x[, 1]) * exp(-s)) / 3 * Vj(x[, 2])
  A <- eager(approximate(K, 1e-8, "proof"))
  expect_equal(A %*% one, K %*% one, tolerance = 1e-7)
  expect_equal(plan_of(A)$scale, 2 / 3 * max(x[, 1]) * max(x[, 2]))
})

# --- audits --------------------------------------------------------------------------------------------------------

test_that("an audit that fails makes the series anew with a fourth, and then says so", {
  x <- with_local_seed(37, matrix(stats::runif(6000), 3000))
  b <- with_local_seed(38, stats::rnorm(3000))
  K <- exp(-sqdist(Vi(x), Vj(x)) / 0.01)
  A <- eager(approximate(K, 1e-6), 100)
  state <- kernweave:::approximation_of(A)
  state$used <- 3e-5
  first <- kernweave:::relative_error(state, as.matrix(b), kernweave:::unaudited_product(state, b))
  expect_gt(first, 1e-6)
  A %*% b
  expect_identical(state$used, 1e-6 / 4)
  expect_lte(state$audit, 1e-6)
  A <- eager(approximate(K, 1e-6), 100)
  state <- kernweave:::approximation_of(A)
  state$tol <- 1e-20  # which no rounding allows
  expect_error(A %*% b, "random rows", class = "kernweave_error_audit_failed")
})

test_that("planning takes no longer than pairs would, and no memory for them", {
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

test_that("products are the same bits for any number of threads", {
  x <- with_local_seed(40, matrix(stats::runif(12000), ncol = 3))
  K <- function(threads) lazy_set(kernel_energy(x), threads = threads)
  product <- function(threads) eager(approximate(K(threads), 1e-4), 300) %*% rep(1, 4000)
  first <- product(1)
  for (threads in 2:4) expect_identical(product(threads), first)
})
