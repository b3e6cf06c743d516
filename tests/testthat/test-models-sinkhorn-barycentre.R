# Barycentres of clouds against translates, means and gradients.

set.seed(1)
cloud <- matrix(stats::rnorm(60), 30)
moved <- function(by) cloud + rep(by, each = 30)
shifts <- list(c(0, 0), c(4, 1), c(-1, 5))
clouds <- lapply(shifts, moved)
weights <- c(1, 2, 3)
centre <- colSums(do.call(rbind, shifts) * weights / 6)

test_that("translates of one cloud have the translate by the mean as their barycentre", {
  skip_below("quick")
  found <- sinkhorn_barycentre(clouds, weights, epsilon = 0.3)
  expect_equal(found$x, moved(centre), tolerance = 1e-12, ignore_attr = TRUE)
  squares <- vapply(shifts, function(shift) sum((shift - centre)^2), 0)
  expect_equal(found$divergence, squares, tolerance = 1e-4)
  expect_equal(found$value, sum(weights * squares) / 6, tolerance = 1e-4)
  # The points of another start come to other places, at no distance from it.
  other <- sinkhorn_barycentre(clouds, weights, epsilon = 1, start = matrix(stats::runif(60), 30))
  expect_lt(sinkhorn(other$x, moved(centre), epsilon = 1)$distance, 0.03)
  expect_equal(colMeans(other$x), colMeans(moved(centre)), tolerance = 1e-4, ignore_attr = TRUE)
})

test_that("the last move is the mean gradient of the divergence, and small", {
  skip_below("quick")
  others <- list(cloud, cloud^2, matrix(stats::runif(44, 1, 3), 22))
  a <- seq(1, 3, length.out = 25)
  b <- list(NULL, 1:30, NULL)
  found <- sinkhorn_barycentre(others, weights, 25, epsilon = 0.5, a = a, b = b, tol = 5e-3)
  gradient <- function(k) {
    predict(sinkhorn(found$x, others[[k]], a / sum(a), if (k == 2) 1:30 / 465, epsilon = 0.5), gradient = TRUE)
  }
  move <- Reduce(`+`, Map(`*`, lapply(1:3, gradient), weights / 6)) / (2 * found$a)
  expect_equal(sqrt(sum(found$a * move^2)), found$move, tolerance = 1e-2)
  expect_lt(found$move, 0.01)
  expect_equal(found$a, a / sum(a))
  expect_equal(found$divergence[2], sinkhorn(found$x, others[[2]], a, 1:30 * sum(a) / 465, epsilon = 0.5)$divergence,
               tolerance = 1e-5)
  swapped <- sinkhorn_barycentre(others[3:1], rev(weights), 25, epsilon = 0.5, a = a, b = rev(b), start = found$x,
                                 tol = 5e-3)
  expect_equal(swapped$x, found$x, tolerance = 1e-3, ignore_attr = TRUE)
})

test_that("one point goes to the mean, one cloud stays, and scales scale", {
  expect_equal(sinkhorn_barycentre(list(1:3, 4:6, 10), c(1, 1, 2), n = 1)$x, matrix((2 + 5 + 20) / 4),
               tolerance = 1e-6, ignore_attr = TRUE)
  expect_equal(sinkhorn_barycentre(list(cloud))$x, cloud, tolerance = 1e-5, ignore_attr = TRUE)
  once <- sinkhorn_barycentre(list(cloud, cloud^2), epsilon = 0.5)
  scaled <- sinkhorn_barycentre(list(3 * cloud, 3 * cloud^2), epsilon = 4.5)
  expect_equal(scaled$x, 3 * once$x, tolerance = 1e-4)
  expect_equal(scaled$value, 9 * once$value, tolerance = 1e-4)
  frame <- data.frame(u = cloud[, 1], v = cloud[, 2])
  frames <- list(May = frame, June = frame[2:1]^2)
  found <- sinkhorn_barycentre(frames, epsilon = 0.5)
  expect_equal(found$x, once$x, tolerance = 1e-10, ignore_attr = TRUE)
  expect_equal(colnames(found$x), c("u", "v"))
  expect_named(found$divergence, c("May", "June"))
  expect_equal(nrow(sinkhorn_barycentre(frames, n = 45, epsilon = 1, tol = 0.1)$x), 45)
  table <- as.data.frame(found)
  expect_equal(as.matrix(table[c("u", "v")]), found$x, ignore_attr = TRUE)
  expect_identical(table$mass, found$a)
  expect_named(as.data.frame(sinkhorn_barycentre(list(1:3, 4:6), epsilon = 1)), c("x", "mass"))
  expect_identical(levels(layer(found, "points")$group), c("May", "June"))
  expect_equal(layer(found, "centres"), data.frame(x = found$x[, 1], y = found$x[, 2]))
  expect_output(print(found), "Barycentre of 2 clouds, 30 points in 2 dimensions, epsilon 0.5")
})

test_that("what is no list of clouds is refused by class, and what still moves is told", {
  expect_error(sinkhorn_barycentre(cloud), "list of clouds", class = "kernweave_error_input")
  expect_error(sinkhorn_barycentre(iris[, 1:2]), "list of clouds", class = "kernweave_error_input")
  expect_error(sinkhorn_barycentre(list()), class = "kernweave_error_input")
  expect_error(sinkhorn_barycentre(list(cloud, cloud[, 1])), "clouds\\[\\[2\\]\\]", class = "kernweave_error_shape")
  expect_error(sinkhorn_barycentre(list(cloud, replace(cloud, 3, NA))), "clouds\\[\\[2\\]\\]",
               class = "kernweave_error_data")
  expect_error(sinkhorn_barycentre(clouds, 1:2), "weights", class = "kernweave_error_shape")
  expect_error(sinkhorn_barycentre(clouds, n = 91), "start", class = "kernweave_error_value")
  expect_error(sinkhorn_barycentre(clouds, n = 0), class = "kernweave_error_input")
  expect_error(sinkhorn_barycentre(clouds, n = 3, start = cloud), class = "kernweave_error_shape")
  expect_error(sinkhorn_barycentre(clouds, b = list(1:30)), class = "kernweave_error_shape")
  expect_error(sinkhorn_barycentre(clouds, epsilon = -1), class = "kernweave_error_value")
  expect_error(sinkhorn_barycentre(clouds, tol = 0), class = "kernweave_error_input")
  expect_error(sinkhorn_barycentre(list(1, 1)), "epsilon", class = "kernweave_error_data")
  expect_warning(sinkhorn_barycentre(list(cloud, cloud^2), epsilon = 0.5, max_iter = 1), "still move",
                 class = "kernweave_warning_convergence")
})
