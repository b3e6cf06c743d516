# Approximated sums of formulas of different distances.

arguments <- with_local_seed(71, list(x = matrix(stats::runif(600), 300), y = matrix(stats::runif(500), 250),
                                      b = cbind(stats::rnorm(250), 1)))
x <- arguments$x
y <- arguments$y
b <- arguments$b
K1 <- function(x, y, scale = 0.3) kernel_gaussian(x, y, scale)
K2 <- function(x, y, scale = c(0.5, 2)) kernel_cauchy(x, y, scale)
K3 <- function(x, y) kernel_gaussian(x[, 1], y[, 1], 0.2)
parts_of <- function(A) plan_of(A)$parts

test_that("sums, differences and multiples of formulas of different distances are those of their summands", {
  skip_below("quick")
  u <- Vi(x[, 1])
  w <- Vj(y[, 2])
  sums <- list(
    K1(x, y) + K2(x, y), K1(x, y) - K2(x, y), -(K1(x, y) + K2(x, y)), 2 * (K1(x, y) - K2(x, y)) / 3,
    1 + K1(x, y) + K2(x, y), K1(x, y) + K2(x, y) - Pm(2), 1 - (K1(x, y) + K2(x, y)), u * (K1(x, y) + K2(x, y)) / w,
    K1(x, y) + (K2(x, y) - 2 * K3(x, y)), (K1(x, y) + K2(x, y)) * w - u * K3(x, y), (K1(x, y) + K2(x, y))[300:1, 1:250]
  )
  for (K in sums) {
    A <- eager(approximate(K, 1e-7, "proof"), 1e5)
    off <- abs(A %*% b - K %*% b)
    rounding <- 1e-12 * 250
    expect_length(parts_of(A), 2)
    expect_gt(sum(plan_of(A)$levels$far_pairs), 0)
    expect_true(all(off <= error_bound(A, b) + rounding), label = format(K))
    expect_true(all(error_bound(A, b) <= 1e-7 * plan_of(A)$scale * rep(colSums(abs(b)), each = 300)))
    expect_equal(plan_of(A)$scale, sum(vapply(parts_of(A), function(s) plan_of_approximation(s)$scale, 0)))
    expect_equal(t(A) %*% x, t(K) %*% x, tolerance = 1e-6, label = format(K))
    audited <- eager(approximate(K, 1e-6), 1e5)
    expect_equal(audited %*% b, K %*% b, tolerance = 1e-5, label = format(K))
    expect_lt(audit(audited, b = b)$error, 1e-5)
  }
})

test_that("summands of one distance have one series, and reasons of the whole are told where one has none", {
  A <- approximate(K1(x, y) + exp(-sqdist(Vi(x), Vj(y))) + K2(x, y))
  expect_null(plan_of(approximate(K1(x, y) + exp(-sqdist(Vi(x), Vj(y)))))$parts)
  expect_null(plan_of_approximation(parts_of(A)[[1]])$parts)
  s <- sqdist(Vi(x), Vj(y))
  long <- Reduce(`+`, lapply(1:80, function(k) exp(-s * k)))  # that is too long for one series
  expect_equal(approximate(long, 1e-8, "proof") %*% b, long %*% b, tolerance = 1e-8)
  for (K in list(K1(x, y) + manhattan(Vi(x), Vj(y)), K1(x, y) * K2(x, y), exp(K1(x, y) + K2(x, y)))) {
    expect_error(approximate(K), "not a formula of one distance", class = "kernweave_error_not_a_distance")
  }
  four <- cbind(x, x)
  expect_error(approximate(K1(four, four) + K3(four, four)), "4 components", class = "kernweave_error_dimension")
  additive <- kernel_gaussian(four[, 1:2], scale = 0.3) + kernel_matern(four[, 3:4], scale = 2)
  expect_equal(approximate(additive, 1e-8, "proof") %*% x, additive %*% x, tolerance = 1e-7)
})

test_that("a sum of thousands is refused", {
  skip_below("all")
  s <- sqdist(Vi(x), Vj(y))
  expect_error(approximate(Reduce(`+`, lapply(1:4000, function(k) exp(-s * k)))), "too long",
               class = "kernweave_error_not_a_distance")
})

test_that("a failed audit of a sum makes all of its series anew", {
  K <- K1(x, y) + K2(x, y)
  A <- eager(approximate(K, 1e-6), 1e6)
  state <- approximation_of(A)
  state$used <- 0.1
  product <- A %*% b
  expect_lt(state$used, 1e-5)
  expect_identical(vapply(parts_of(A), `[[`, 0, "used"), rep(state$used, 2))
  expect_lte(state$audit$error, 1e-6)
  expect_equal(product, K %*% b, tolerance = 1e-5)
  state <- approximation_of(A <- eager(approximate(K, 1e-6), 1e3))
  state$tol <- 1e-11  # which near pairs in float32 do not meet
  A %*% b
  expect_lte(state$audit$error, 1e-11)
  expect_identical(vapply(parts_of(A), `[[`, "", "near"), rep("float64", 2))
})

test_that("sums with a tolerance, pairs but those of a point with itself, gradients, systems, fits", {
  skip_below("quick")
  K <- K1(x, x) + K2(x, x)
  v <- with_local_seed(72, stats::rnorm(300))
  expect_equal(sum(K, index = "j", tol = 1e-7), sum(K, index = "j"), tolerance = 1e-6)
  expect_equal(approximate(exclude_diag(K), 1e-8, "proof") %*% v, exclude_diag(K) %*% v, tolerance = 1e-7)
  differences <- K * (Vi(x) - Vj(x))
  expect_equal(sum(differences, index = "j", tol = 1e-7), sum(differences, index = "j"), tolerance = 1e-5)
  A <- approximate(K, 1e-8)
  expect_true(A$symmetric)
  expect_equal(diag(A), diag(as.matrix(K)))
  expect_equal(as.vector(solve(A + 0.5 * identity_op(300), v)), as.vector(solve(K, v, ridge = 0.5)), tolerance = 1e-4)
  energy <- function(multiply) {
    function(x, one, two) sum(v * (multiply(K1(x, x, one) + 2 * K2(x, x, two)) %*% v))
  }
  expect_equal(gradient(energy(function(K) approximate(K, 1e-8, "proof")))(x, 0.3, c(0.5, 2)),
               gradient(energy(identity))(x, 0.3, c(0.5, 2)), tolerance = 1e-6)
  kernel <- function(x, y) K1(x, y) + K2(x, y)
  fit <- function(control) kernel_ridge(x, v, kernel = kernel, lambda = 0.1, control = control)
  by_series <- fit(fit_control(approximate = 1e-8, dense_n = 100))
  expect_equal(predict(by_series, y), predict(fit(fit_control()), y), tolerance = 1e-4)
})

test_that("a sum is printed as one, and explained summand by summand", {
  A <- approximate(K1(x, y) + K2(x, y))
  expect_output(print(A), "pairs of boxes by series.*not audited yet")
  A %*% b
  expect_output(print(A), "audited; tol = 1e-06")
  expect_length(explain(A)$parts, 2)
  expect_output(print(explain(A)), "summand 1 of 2.*exp\\(-.*summand 2 of 2.*1 / \\(1 \\+ s\\).*relative error")
})
