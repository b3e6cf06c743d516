# Unbalanced transport against plain matrices, and bounds of values after any number of iterations.

set.seed(5)
x <- matrix(stats::rnorm(80), 40)
y <- matrix(stats::rnorm(60, 1), 30)
a <- seq(0.5, 1.5, length.out = 40) / 40
b <- seq(3, 1, length.out = 30) / 30
both <- function(rho) c(x = rho[[1]], y = rho[[length(rho)]])

# Scales rows and columns of a matrix until nothing moves, and returns the plan and the value of the primal problem.
dense_unbalanced <- function(C, a, b, epsilon, rho, steps = 20000) {
  power <- ifelse(is.finite(rho), rho / (rho + epsilon), 1)
  K <- exp(-C / epsilon) * outer(a, b)
  u <- rep(1, length(a))
  v <- rep(1, length(b))
  for (k in seq_len(steps)) {
    before <- u
    u <- (a / as.vector(K %*% v))^power[1]
    v <- (b / as.vector(u %*% K))^power[2]
    if (max(abs(u / before - 1)) < 1e-15) break
  }
  plan <- u * K * rep(v, each = length(a))
  kl <- function(p, q) sum(ifelse(p > 0, p * log(p / q), 0) - p + q)
  price <- function(rho, p, q) if (is.finite(rho)) rho * kl(p, q) else 0
  list(plan = plan, cost = sum(plan * C),
       value = sum(plan * C) + epsilon * kl(plan, outer(a, b)) + price(rho[[1]], rowSums(plan), a) +
         price(rho[[2]], colSums(plan), b))
}

test_that("values and masses are those known to their digits", {
  known <- list(list(rho = 1, value = 1.3524755702, mass = 0.4590097719),
                list(rho = c(x = Inf, y = 1), value = 2.3530321288, mass = 1),
                list(rho = c(y = 2, x = 0.3), value = 1.3467212904, mass = 0.5190281106),
                list(rho = Inf, value = 3.5120114318, mass = 1))
  for (one in known) {
    found <- sinkhorn(x, y, epsilon = 0.5, rho = one$rho, debias = FALSE, tol = 1e-12)
    expect_equal(c(found$value, found$mass), c(one$value, one$mass), tolerance = 1e-10)
  }
  expect_equal(sinkhorn(x, y, epsilon = 0.5, rho = 1, tol = 1e-12)$divergence, 0.5061491863, tolerance = 1e-9)
  expect_equal(sinkhorn(x, y, epsilon = 0.5, tol = 1e-12)$divergence, 2.4619155895, tolerance = 1e-10)
})

test_that("dual values are the primal ones of plain matrices, for any masses, prices and powers", {
  skip_below("quick")
  for (rho in list(1, 20, c(x = Inf, y = 1), c(x = 0.3, y = Inf), c(x = 0.3, y = 2))) {
    for (p in c(1, 1.5, 2)) {
      found <- sinkhorn(x, y, a, b, epsilon = 0.5, p = p, rho = rho, tol = 1e-13)
      rho <- both(rho)
      dense <- dense_unbalanced(dense_distance(x, y)^p, a, b, 0.5, rho)
      expect_equal(unlist(found[c("value", "cost", "mass")]), tolerance = 1e-10,
                   c(value = dense$value, cost = dense$cost, mass = sum(dense$plan)))
      expect_equal(as.matrix(transport_plan(found)), dense$plan, tolerance = 1e-9, ignore_attr = TRUE)
      expect_equal(predict(found), dense$plan %*% y / rowSums(dense$plan), tolerance = 1e-9, ignore_attr = TRUE)
      own <- function(x, a, rho) dense_unbalanced(dense_distance(x, x)^p, a, a, 0.5, c(rho, rho))$value
      expect_equal(found$divergence, dense$value - (own(x, a, rho[[1]]) + own(y, b, rho[[2]])) / 2 +
                     0.25 * (sum(a) - sum(b))^2, tolerance = 1e-8)
    }
  }
})

test_that("an endless price keeps the masses, and a large one nearly", {
  semi <- sinkhorn(x, y, a, b, epsilon = 0.5, rho = c(x = Inf, y = 1), debias = FALSE)
  expect_equal(as.vector(sum(transport_plan(semi), index = "j")), a, tolerance = 1e-12)
  semi <- sinkhorn(x, y, a, b, epsilon = 0.5, rho = c(x = 1, y = Inf), debias = FALSE, tol = 1e-10)
  expect_equal(as.vector(sum(transport_plan(semi), index = "i")), b, tolerance = 1e-8)
  value <- function(rho) sinkhorn(x, y, epsilon = 0.5, rho = rho, tol = 1e-10)$divergence
  expect_equal(value(1e6), value(Inf), tolerance = 1e-5)
  # The mass of the plan is the geometric mean of unequal masses, found in few iterations.
  far <- expect_silent(sinkhorn(x, y, a, b, epsilon = 0.1, rho = 1e5, debias = FALSE))
  expect_equal(far$mass, sqrt(sum(a) * sum(b)), tolerance = 1e-4)
  expect_lt(far$iterations, 100)
})

test_that("clouds swapped, scaled or in another order have the values that they must have", {
  skip_below("quick")
  rho <- c(x = 0.5, y = 2)
  of <- function(found) c(found$value, found$divergence, found$mass)
  once <- sinkhorn(x, y, a, b, epsilon = 0.5, rho = rho, tol = 1e-11)
  swapped <- sinkhorn(y, x, b, a, epsilon = 0.5, rho = c(x = 2, y = 0.5), tol = 1e-11)
  expect_equal(of(swapped), of(once), tolerance = 1e-8)
  rows <- sample(40)
  shuffled <- sinkhorn(x[rows, ], y[30:1, ], a[rows], rev(b), epsilon = 0.5, rho = rho, tol = 1e-11)
  expect_equal(of(shuffled), of(once), tolerance = 1e-8)
  for (p in c(1, 1.5)) {
    of_scale <- function(s) of(sinkhorn(s * x, s * y, a, b, epsilon = 0.5 * s^p, p = p, rho = rho * s^p, tol = 1e-11))
    expect_equal(of_scale(3), of_scale(1) * c(3^p, 3^p, 1), tolerance = 1e-8)
  }
  parted <- sinkhorn(x[c(1:40, 1:40), ], rbind(y, 50), c(a, a) / 2, c(b, 0), epsilon = 0.5, rho = rho, tol = 1e-11)
  expect_equal(of(parted), of(once), tolerance = 1e-8)
  frames <- sinkhorn(data.frame(u = x[, 1], v = x[, 2]), data.frame(v = y[, 2], u = y[, 1]), a, b, epsilon = 0.5,
                     rho = rho, tol = 1e-11)
  expect_equal(of(frames), of(once), tolerance = 1e-12)
})

test_that("the divergence is 0 for equal clouds, and positive for others, which may differ in mass alone", {
  for (rho in list(0.01, 1, 100)) {
    expect_lt(abs(sinkhorn(x, x, a, a, epsilon = 0.5, rho = rho, tol = 1e-10)$divergence), 1e-8)
    expect_gt(sinkhorn(x, x, a, 2 * a, epsilon = 0.5, rho = rho)$divergence, 1e-4)
    expect_gt(sinkhorn(x, y, a, b, epsilon = 0.5, rho = c(x = rho, y = 1))$divergence, 1e-4)
  }
})

test_that("one point, equal points and one dimension have values in closed form", {
  # For masses 1, the mass m of the plan of two points solves cost + eps log m + 2 rho log m = 0.
  for (cost in c(0, 1, 400)) {
    found <- sinkhorn(0, sqrt(cost), epsilon = 0.5, rho = 2, tol = 1e-13)
    mass <- exp(-cost / 4.5)
    expect_equal(found$mass, mass, tolerance = 1e-10)
    expect_equal(found$value, 4.5 * (1 - mass), tolerance = 1e-10)
  }
  expect_equal(sinkhorn(c(1, 1), c(1, 1, 1), epsilon = 1, rho = 1)$divergence, 0)
  expect_equal(sinkhorn(1, 3, epsilon = 1)$value_bounds, c(lower = 4, upper = 4))
  # A point without a partner is left alone.
  near <- sinkhorn(c(1:9, 1000), 2:11, epsilon = 0.1, rho = 10)
  expect_equal(as.vector(sum(transport_plan(near), index = "j"))[10], 0)
  expect_gt(near$mass, 0.8)
})

test_that("a start from some of the points keeps unequal masses", {
  skip_below("usual")
  rows <- rep(1:40, length.out = 10400)
  of <- function(...) sinkhorn(..., epsilon = 1, rho = 2, debias = FALSE)[c("value", "mass")]
  expect_equal(of(x[rows, ], y, a[rows] / 260, b), of(x, y, a, b), tolerance = 1e-6)
})

test_that("optimal values lie within their bounds after any number of iterations", {
  skip_below("quick")
  for (p in c(1, 1.5, 2)) {
    exact <- sinkhorn(x, y, epsilon = 0.2, p = p, tol = 1e-12)
    for (most in c(1, 2, 5, 20)) {
      few <- suppressWarnings(sinkhorn(x, y, epsilon = 0.2, p = p, tol = 1e-12, max_iter = most))
      expect_identical(few$value_bounds[["lower"]], few$value)
      expect_gte(exact$value, few$value - 1e-12)
      expect_lte(exact$value, few$value_bounds[["upper"]])
      expect_gte(exact$divergence, few$divergence_bounds[["lower"]])
      expect_lte(exact$divergence, few$divergence_bounds[["upper"]])
    }
    expect_lt(diff(exact$divergence_bounds), 1e-9)
  }
  few <- suppressWarnings(sinkhorn(x, y, epsilon = 0.2, max_iter = 3))
  # The cost is at most the squared diagonal of the box of all points, and potentials vary by no more.
  diagonal <- sum(apply(rbind(x, y), 2, function(v) diff(range(v)))^2)
  expect_lte(diff(few$value_bounds), few$marginal_error * (diagonal + diff(range(few$g))) / 2 + 1e-12)
  unbalanced <- sinkhorn(x, y, epsilon = 0.5, rho = 1)
  expect_true(all(is.na(c(unbalanced$value_bounds, unbalanced$divergence_bounds))))
  expect_null(sinkhorn(x, y, epsilon = 0.5, debias = FALSE)$divergence_bounds)
})

test_that("prints tell the price, the masses and the bounds", {
  expect_output(print(sinkhorn(x, y, epsilon = 0.5, rho = 1)), "rho 1   mass of the plan 0.45901 of 1 and 1")
  expect_output(print(sinkhorn(x, y, a, b, epsilon = 0.5, rho = c(x = Inf, y = 1))),
                "rho Inf and 1   mass of the plan 1 of 1 and 2")
  balanced <- sinkhorn(x, y, epsilon = 0.5)
  expect_output(print(balanced), paste("value below", format(diff(balanced$value_bounds), digits = 2)))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(sinkhorn(x, y, epsilon = 0.5, rho = 1)))
})

test_that("prices that are none, and masses that cannot be equal, are refused", {
  for (rho in list(0, -1, NA, NaN, "1", NULL, c(1, 2), c(x = 1, z = 2), c(x = 1, y = 0), c(x = NA, y = 1), 1:3)) {
    expect_error(sinkhorn(x, y, epsilon = 0.5, rho = rho), "`rho` must be a positive number.*Inf",
                 class = "kernweave_error_value")
  }
  expect_error(sinkhorn(x, y, a, b), "`rho` finite", class = "kernweave_error_value")
  expect_silent(sinkhorn(x, y, a, b, epsilon = 0.5, rho = c(x = 1, y = Inf), debias = FALSE))
  expect_error(sinkhorn(x, y, epsilon = 0, rho = 1), class = "kernweave_error_value")
  expect_error(sinkhorn(x, y, a = 0 * a, rho = 1), class = "kernweave_error_value")
  expect_warning(sinkhorn(x, y, epsilon = 0.01, rho = 1, debias = FALSE, max_iter = 2), "units of `epsilon`",
                 class = "kernweave_warning_convergence")
})
