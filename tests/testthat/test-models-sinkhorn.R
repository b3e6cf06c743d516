# Optimal transport against dense iterations and the numbers of others.

petals <- as.matrix(iris[, 3:4])
from <- petals[1:50, ]
to <- petals[51:100, ]

# Plain matrices, iterated until nothing moves.
dense_transport <- function(C, a, b, epsilon, steps = 5000) {
  softmin <- function(C, h, mass) {
    z <- t((h - t(C)) / epsilon + log(mass))
    most <- z[cbind(seq_len(nrow(z)), max.col(z, "first"))]
    -epsilon * (most + log(rowSums(exp(z - most))))
  }
  f <- numeric(length(a))
  g <- numeric(length(b))
  for (k in seq_len(steps)) {
    before <- f
    f <- softmin(C, g, b)
    g <- softmin(t(C), f, a)
    if (max(abs(f - before)) < 1e-14 * max(abs(f))) break
  }
  plan <- exp((outer(f, g, "+") - C) / epsilon) * outer(a, b)
  list(value = sum(a * f) + sum(b * g), plan = plan, cost = sum(plan * C))
}

test_that("value, cost, divergence and map of two irises are those known", {
  skip_below("quick")
  found <- sinkhorn(from, to, epsilon = 0.1, tol = 1e-9)
  expect_equal(c(found$value, found$cost, found$divergence), c(9.2010868845, 9.1586720179, 9.0959370911),
               tolerance = 1e-8)
  expect_equal(found$distance, sqrt(found$divergence))
  expect_equal(unname(predict(found)[1, ]), c(4.15215108, 1.27284527), tolerance = 1e-6)
  expect_lt(found$marginal_error, 1e-9)
  expect_output(print(sinkhorn(from, to, epsilon = 0.1)), "cost of the plan 9.1587   debiased divergence 9.0959")
  # The exact assignment costs 9.1094.
  expect_equal(sinkhorn(from, to, epsilon = 0.01, debias = FALSE)$cost, 9.1094, tolerance = 1e-3)
})

test_that("masses, any power and one dimension are dense iterations", {
  skip_below("quick")
  set.seed(2)
  x <- matrix(stats::rnorm(30), 15)
  y <- matrix(stats::rnorm(40, 1), 20)
  a <- stats::runif(15)
  b <- stats::runif(20)
  b <- b * sum(a) / sum(b)
  for (p in if (reaches("quick")) c(1, 1.5, 2, 3) else 1.5) {
    found <- sinkhorn(x, y, a, b, epsilon = 0.5, p = p, tol = 1e-10)
    cost <- function(x, y = x) dense_distance(x, y)^p
    dense <- dense_transport(cost(x, y), a / sum(a), b / sum(b), 0.5)
    expect_equal(found$value, dense$value, tolerance = 1e-8)
    expect_equal(found$cost, dense$cost, tolerance = 1e-8)
    own <- c(dense_transport(cost(x), a / sum(a), a / sum(a), 0.5)$value,
             dense_transport(cost(y), b / sum(b), b / sum(b), 0.5)$value)
    expect_equal(found$divergence, dense$value - mean(own), tolerance = 1e-7)
    expect_equal(as.matrix(transport_plan(found)), dense$plan, tolerance = 1e-7, ignore_attr = TRUE)
    expect_equal(predict(found), dense$plan %*% y / rowSums(dense$plan), tolerance = 1e-6, ignore_attr = TRUE)
  }
  line <- sinkhorn(c(0, 1, 2), c(0.5, 1.5, 2.5), epsilon = 1e-3)
  expect_equal(c(line$cost, predict(line)), c(0.25, 0.5, 1.5, 2.5), tolerance = 1e-4)
})

test_that("gradients are differences of divergences and of values", {
  skip_below("quick")
  set.seed(3)
  x <- matrix(stats::rnorm(20), 10)
  y <- matrix(stats::rnorm(24, 1), 12)
  a <- c(0, rep(1, 9)) / 9
  for (debias in c(TRUE, FALSE)) {
    value <- function(x) {
      found <- sinkhorn(x, y, a, epsilon = 0.5, debias = debias, tol = 1e-12)
      if (debias) found$divergence else found$value
    }
    found <- predict(sinkhorn(x, y, a, epsilon = 0.5, debias = debias, tol = 1e-12), gradient = TRUE)
    for (k in c(1, 4, 17)) {
      h <- replace(0 * x, k, 1e-4)
      expect_equal(found[k], (value(x + h) - value(x - h)) / 2e-4, tolerance = 1e-5)
    }
  }
})

test_that("equal clouds are at no distance, repeated points change nothing, points without mass take no part", {
  skip_below("quick")
  same <- sinkhorn(from, from, epsilon = 0.1)
  expect_lt(abs(same$divergence), 1e-6)
  expect_gte(same$distance, 0)
  once <- sinkhorn(from, to, epsilon = 0.1, tol = 1e-9)
  tiled <- sinkhorn(from[rep(1:50, 3), ], to[rep(1:50, 2), ], epsilon = 0.1, tol = 1e-9)
  expect_equal(c(tiled$value, tiled$divergence), c(once$value, once$divergence), tolerance = 1e-8)
  without <- sinkhorn(rbind(from, 100), to, a = c(rep(1, 50), 0), b = rep(1, 50), epsilon = 0.1, tol = 1e-9)
  expect_equal(without$value, once$value, tolerance = 1e-8)
  expect_equal(dim(predict(without)), c(51, 2))
  scaled <- sinkhorn(10 * from, 10 * to, epsilon = 10, tol = 1e-9)
  expect_equal(scaled$divergence, 100 * once$divergence, tolerance = 1e-8)
})

test_that("a start from some of the points ends where all would", {
  skip_below("usual")
  rows <- rep(1:50, length.out = 10500)
  once <- sinkhorn(from[rows, ], to, epsilon = 1, debias = FALSE, tol = 1e-5)
  expect_equal(once$value, sinkhorn(from, to, epsilon = 1, debias = FALSE)$value, tolerance = 1e-4)
})

test_that("what cannot be moved is refused by class, and what has not converged is told", {
  expect_error(sinkhorn(from, to, rep(1, 50), rep(2, 50)), "50.*100", class = "kernweave_error_value")
  expect_error(sinkhorn(from, to, p = 0.5), class = "kernweave_error_value")
  expect_error(sinkhorn(from, to, epsilon = 0), class = "kernweave_error_value")
  expect_error(sinkhorn(from, to[, 1]), class = "kernweave_error_shape")
  expect_error(sinkhorn(from, to, a = c(-1, rep(1, 49))), class = "kernweave_error_value")
  expect_error(sinkhorn(from, to, a = 1:3), class = "kernweave_error_shape")
  expect_error(sinkhorn(c(1, NA), 1:2), class = "kernweave_error_data")
  expect_error(sinkhorn(c(1, 1), c(1, 1)), "epsilon", class = "kernweave_error_data")
  expect_warning(few <- sinkhorn(from, to, epsilon = 0.001, debias = FALSE, max_iter = 5), "epsilon",
                 class = "kernweave_warning_convergence")
  expect_lt(few$value, 9.12)
  found <- sinkhorn(from, to, epsilon = 0.5, p = 1)
  expect_error(predict(found, gradient = TRUE), class = "kernweave_error_unsupported")
  expect_error(predict(found, from[, 1]), class = "kernweave_error_shape")
  expect_true(all(is.na(predict(found, rbind(c(1, NA), c(1, 2)))[1, ])))
  expect_error(transport_plan(1), class = "kernweave_error_input")
})

test_that("maps are drawn, and results told as data frames", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  found <- sinkhorn(from, to, epsilon = 0.5)
  expect_identical(plot(found), found)
  expect_silent(plot(sinkhorn(1:5, 2:7, epsilon = 0.5)))
  several <- sinkhorn(iris[1:50, 1:4], iris[51:100, 1:4], epsilon = 1)
  expect_silent(plot(several))
  expect_identical(pictured(several)$xlab, "PC1")
  all <- layer(several, "points")
  expect_equal(dist(all[1:2]), dist(stats::prcomp(iris[1:100, 1:4])$x[, 1:2]), ignore_attr = TRUE)
  skip_if_not_installed("generics")
  expect_equal(generics::tidy(found)$divergence, found$divergence)
  expect_equal(generics::glance(found)$iterations, found$iterations)
})

test_that("a table has potentials by cloud and point, or the largest entries of the plan", {
  masses <- replace(rep(1, 50), c(3, 7), 0)
  found <- sinkhorn(from, to, a = masses, epsilon = 0.5)
  table <- as.data.frame(found)
  expect_named(table, c("cloud", "point", colnames(from), "mass", "potential"))
  expect_identical(table$potential, c(found$f, found$g))
  of_x <- table[table$cloud == "x", ]
  expect_identical(of_x$point, setdiff(1:50, c(3, 7)))
  expect_identical(as.matrix(of_x[colnames(from)]), from[of_x$point, ], ignore_attr = TRUE)
  expect_equal(c(tapply(table$mass, table$cloud, sum)), c(x = 1, y = 1))
  plan <- as.matrix(transport_plan(found))
  for (most in c(1, 40, 500, length(plan) + 1)) {
    largest <- as.data.frame(found, which = "plan", most = most)
    expect_equal(largest$mass, utils::head(sort(plan, decreasing = TRUE), most), tolerance = 1e-12)
    expect_equal(largest$mass, plan[cbind(match(largest$i, of_x$point), largest$j)], tolerance = 1e-12)
    expect_false(anyDuplicated(largest[1:2]) > 0)
  }
  # One row has all of the largest entries.
  one <- sinkhorn(c(0, 100), c(1:20, 99), a = c(40, 1), b = c(rep(2, 20), 1), epsilon = 1)
  expect_true(all(as.data.frame(one, which = "plan", most = 15)$i == 1))
  expect_named(as.data.frame(one), c("cloud", "point", "x", "mass", "potential"))
  expect_error(as.data.frame(one, which = "plans"), "plan", class = "kernweave_error")
})

test_that("a small epsilon has right masses after few iterations, also where plain steps crawl", {
  skip_below("quick")
  for (epsilon in c(0.3, 0.1)) {
    found <- expect_silent(sinkhorn(1:5, 2:6, epsilon = epsilon))
    expect_lt(found$iterations, 60)
    plan <- as.matrix(transport_plan(found))
    expect_equal(rowSums(plan), rep(0.2, 5), tolerance = 1e-12)
    expect_lt(sum(abs(colSums(plan) - 0.2)), 1e-6)
    # For this form and these masses, there is one plan.
    of_potentials <- log(0.04) + (outer(found$f, found$g, "+") - outer(1:5, 2:6, "-")^2) / epsilon
    expect_equal(log(plan), of_potentials, tolerance = 1e-12, ignore_attr = TRUE)
  }
  hard <- expect_silent(sinkhorn(iris[1:50, 3:4], iris[51:100, 3:4], epsilon = 0.001, debias = FALSE))
  expect_equal(hard$cost, 9.1094003, tolerance = 1e-7)
})

test_that("transport of many pairs, begun in float16, has the value of float64 and scales with its points", {
  skip_below("usual")
  set.seed(8)
  x <- matrix(stats::rnorm(6400), 3200)
  y <- matrix(stats::rnorm(6400), 3200) + 0.5
  found <- suppressWarnings(sinkhorn(x, y, epsilon = 0.5, debias = FALSE))
  kept <- rough_pairs
  begin_at <- function(pairs) {
    house <- asNamespace("kernweave")
    unlockBinding("rough_pairs", house)
    assign("rough_pairs", pairs, house)
  }
  on.exit(begin_at(kept))
  huge <- suppressWarnings(sinkhorn(1e25 * x, 1e25 * y, epsilon = 0.5e50, debias = FALSE))
  begin_at(Inf)
  exact <- suppressWarnings(sinkhorn(x, y, epsilon = 0.5, debias = FALSE))
  expect_equal(found$value, exact$value, tolerance = 1e-7)
  expect_equal(huge$value / 1e50, exact$value, tolerance = 1e-7)
  expect_lt(found$marginal_error, 1e-6)
  expect_lt(huge$marginal_error, 1e-6)
})
