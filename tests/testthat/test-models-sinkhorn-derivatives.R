# Gradients and products with Hessians of transport against differences and plain matrices.

set.seed(5)
x <- matrix(stats::rnorm(80), 40)
y <- matrix(stats::rnorm(60, 1), 30)
V <- matrix(stats::rnorm(80), 40)
a <- c(0, rep(1, 39)) / 39
b <- seq(3, 1, length.out = 30) / 30
prices <- list(1, c(x = Inf, y = 1), c(x = 0.3, y = 2))

# The whole Jacobian of the marginals, and its pseudo-inverse. `within`: the points of both sides move.
dense_change <- function(x, y, v, plan, epsilon, rho, within = FALSE) {
  of_cost <- 2 * (rowSums(x * v) - tcrossprod(v, y))
  if (within) of_cost <- of_cost + 2 * t(rowSums(y * v) - tcrossprod(v, x))
  rows <- rowSums(plan)
  jacobian <- rbind(cbind(diag(rows * (1 + epsilon / rho[[1]])), plan),
                    cbind(t(plan), diag(colSums(plan) * (1 + epsilon / rho[[2]]))))
  parts <- svd(jacobian)
  inverse <- ifelse(parts$d > 1e-12 * parts$d[1], 1 / parts$d, 0)
  moved <- parts$v %*% (inverse * crossprod(parts$u, c(rowSums(plan * of_cost), colSums(plan * of_cost))))
  n <- nrow(x)
  of_plan <- plan * (outer(moved[seq_len(n)], moved[-seq_len(n)], "+") - of_cost) / epsilon
  2 * (rowSums(of_plan) * x - of_plan %*% y + rows * v - if (within) plan %*% v else 0)
}

test_that("gradients of unbalanced transport are differences of values and of divergences", {
  skip_below("quick")
  for (rho in prices) {
    for (debias in c(TRUE, FALSE)) {
      of <- function(x) sinkhorn(x, y, a, b, epsilon = 0.5, rho = rho, debias = debias, tol = 1e-13)
      value <- function(x) if (debias) of(x)$divergence else of(x)$value
      found <- predict(of(x), gradient = TRUE)
      expect_true(all(found[1, ] == 0))
      for (k in c(2, 17, 63)) {
        h <- replace(0 * x, k, 1e-4)
        expect_equal(found[k], (value(x + h) - value(x - h)) / 2e-4, tolerance = 1e-6)
      }
    }
  }
})

test_that("curvature is that known, and products with the Hessian are differences of gradients", {
  skip_below("quick")
  found <- sinkhorn(x, y, epsilon = 0.5, tol = 1e-13)
  expect_equal(sum(V * hessian_product(found, V, tol = 1e-12)), 0.2851580569, tolerance = 1e-9)
  for (rho in c(Inf, prices)) {
    for (debias in c(TRUE, FALSE)) {
      mass <- if (all(is.infinite(rho))) b / sum(b) else b
      of <- function(x) sinkhorn(x, y, a, mass, epsilon = 0.5, rho = rho, debias = debias, tol = 1e-13)
      gradient <- function(h) predict(of(x + h * V), gradient = TRUE)
      expect_equal(hessian_product(of(x), V, tol = 1e-10), (gradient(1e-4) - gradient(-1e-4)) / 2e-4, tolerance = 1e-6)
    }
  }
})

test_that("products with the Hessian are those of plain matrices", {
  skip_below("quick")
  for (rho in list(Inf, 1, c(x = 0.3, y = Inf))) {
    found <- sinkhorn(x, y, epsilon = 0.5, rho = rho, tol = 1e-13)
    own <- exp((outer(found$own$x, found$own$x, "+") - dense_distance(x, x)^2) / 0.5) / 40^2
    plan <- as.matrix(transport_plan(found))
    sides <- rep(rho, length.out = 2)
    expect_equal(hessian_product(found, V, tol = 1e-12), tolerance = 1e-8, ignore_attr = TRUE,
                 dense_change(x, y, V, plan, 0.5, sides) - dense_change(x, x, V, own, 0.5, sides[c(1, 1)], TRUE))
  }
})

test_that("the Hessian is symmetric, the same in other units, and known for a common direction", {
  found <- sinkhorn(x, y, epsilon = 0.5, tol = 1e-12)
  product <- hessian_product(found, V, tol = 1e-10)
  U <- sin(V * 3)
  expect_equal(sum(U * product), sum(V * hessian_product(found, U, tol = 1e-10)), tolerance = 1e-8)
  scaled <- sinkhorn(3 * x, 3 * y, epsilon = 4.5, tol = 1e-12)
  expect_equal(hessian_product(scaled, V, tol = 1e-10), product, tolerance = 1e-8)
  expect_equal(hessian_product(found, -2 * V, tol = 1e-10), -2 * product, tolerance = 1e-8)
  # A cloud that moves as a whole changes the cost by the squares of means alone.
  shift <- matrix(c(1, -2), 40, 2, byrow = TRUE)
  expect_equal(hessian_product(found, shift), shift / 20, tolerance = 1e-6, ignore_attr = TRUE)
})

test_that("Hessians take one point, equal points, points without mass, vectors and data frames", {
  one <- sinkhorn(c(1, 5), 3, a = c(1, 0), b = 1, epsilon = 1)
  expect_equal(hessian_product(one, 1:2), matrix(c(2, 0), 2), ignore_attr = TRUE)
  expect_equal(hessian_product(sinkhorn(c(1, 1), c(1, 1), epsilon = 1), c(1, 1)), matrix(c(1, 1)), tolerance = 1e-6,
               ignore_attr = TRUE)
  frame <- data.frame(u = x[, 1], v = x[, 2])
  found <- sinkhorn(frame, data.frame(u = y[, 1], v = y[, 2]), epsilon = 0.5)
  expect_equal(hessian_product(found, data.frame(v = V[, 2], u = V[, 1])), tolerance = 1e-5, ignore_attr = TRUE,
               hessian_product(sinkhorn(x, y, epsilon = 0.5), V))
  expect_equal(colnames(hessian_product(found, V)), c("u", "v"))
  expect_equal(hessian_product(found, 0 * V), 0 * V, ignore_attr = TRUE)
})

test_that("what has no Hessian is refused by class, and too few iterations are told with their residual", {
  found <- sinkhorn(x, y, epsilon = 0.05, debias = FALSE)
  expect_error(hessian_product(1, V), class = "kernweave_error_input")
  expect_error(hessian_product(found, V[1:3, ]), "40 x 2", class = "kernweave_error_shape")
  expect_error(hessian_product(found, V[, 1]), class = "kernweave_error_shape")
  expect_error(hessian_product(found, replace(V, 3, NA)), class = "kernweave_error_data")
  expect_error(hessian_product(found, V, tol = 0), class = "kernweave_error_input")
  expect_error(hessian_product(found, V, max_iter = 0), class = "kernweave_error_input")
  other <- sinkhorn(x, y, epsilon = 0.5, p = 1.5)
  expect_error(hessian_product(other, V), "p = 2", class = "kernweave_error_unsupported")
  expect_warning(hessian_product(found, V, max_iter = 2), "residual of .*2 iterations.*epsilon",
                 class = "kernweave_warning_convergence")
})
