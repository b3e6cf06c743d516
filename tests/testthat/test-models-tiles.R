# Rows that are repeated: what many rows give follows from what few do, with no peer that could have the many.

r <- by_tier(4L, 7L, 20L)
set.seed(21)
n <- 300
x <- matrix(stats::rnorm(2 * n), n)
y <- sin(2 * x[, 1]) + x[, 2] / 2 + stats::rnorm(n) / 4
to <- matrix(stats::rnorm(2 * n, 0.5), n)
groups <- rep(c("a", "b", "b"), length.out = n)
at <- matrix(stats::rnorm(20), 10)

# A vector, or a matrix's rows, so many times; copies of a row are far from each other.
tiled <- function(x, times = r) {
  rows <- rep(seq_len(NROW(x)), times)
  if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]
}

test_that("the fits' rows are more than a dense matrix is made of", {
  expect_gt(n * r, fit_control()$dense_n)
  expect_lte(n, fit_control()$dense_n)
})

test_that("densities are what they were", {
  one <- kde_fit(x, bandwidth = c(0.3, 0.4))
  all <- kde_fit(tiled(x), bandwidth = c(0.3, 0.4))
  expect_equal(predict(all, at), predict(one, at), tolerance = 1e-12)
  expect_equal(fitted(all), tiled(fitted(one)), tolerance = 1e-12)
  expect_equal(predict(all, at, type = "score"), predict(one, at, type = "score"), tolerance = 1e-10)
  own <- fitted(one) * n - 1 / (2 * pi * 0.3 * 0.4)  # without the point itself, of which there are r
  expect_equal(mean(log((own * r + (r - 1) / (2 * pi * 0.3 * 0.4)) / (n * r - 1))),
               as.numeric(logLik(all)) / (n * r), tolerance = 1e-10)
})

test_that("local lines are what they were, their errors those of the degrees of freedom that are left", {
  for (degree in 0:1) {
    one <- local_reg(x, y, degree, bandwidth = c(0.4, 0.5))
    all <- local_reg(tiled(x), tiled(y), degree, bandwidth = c(0.4, 0.5))
    few <- predict(one, at, se.fit = TRUE)
    many <- predict(all, at, se.fit = TRUE)
    expect_equal(many$fit, few$fit, tolerance = 1e-9)
    left <- sum(residuals(one)^2) / one$sigma^2  # n less the degrees of freedom that are taken
    sigma <- one$sigma * sqrt(r * left / (n * r - (n - left)))
    expect_equal(all$sigma, sigma, tolerance = 1e-8)
    expect_equal(many$se.fit, few$se.fit * sigma / one$sigma / sqrt(r), tolerance = 1e-8)
  }
})

test_that("ridge regressions with as much more penalty are what they were", {
  skip_below("quick")
  k <- kernel_spec("matern52", scale = 1)
  tight <- fit_control(tol = 1e-10)
  one <- kernel_ridge(x, y, k, lambda = 0.3, standardize = FALSE)
  all <- kernel_ridge(tiled(x), tiled(y), k, lambda = 0.3 * r, standardize = FALSE, control = tight)
  expect_equal(predict(all, at), predict(one, at), tolerance = 1e-8)
  expect_equal(coef(all), tiled(coef(one)) / r, tolerance = 1e-6)
  expect_equal(c(all$sigma2 * all$df.residual / r, all$r.squared), c(one$sigma2 * one$df.residual, one$r.squared),
               tolerance = 1e-8)
  expect_lt(abs(all$edf - one$edf), 4 * all$edf_se + 1e-6 * one$edf)
  expect_lt(all$edf_se, 0.01 * one$edf)
  few <- marginal_effects(one)
  many <- marginal_effects(all)
  expect_equal(many$estimate, few$estimate, tolerance = 1e-8)
  expect_equal(many$std.error / all$sigma, few$std.error / one$sigma / sqrt(r), tolerance = 1e-7)
  weighed <- kernel_ridge(x, y, k, lambda = 0.3 * r, standardize = FALSE, weights = r)
  expect_equal(predict(weighed, at), predict(one, at), tolerance = 1e-9)
})

test_that("Gaussian processes with as much more noise are what they were, and so are weights", {
  skip_below("quick")
  of <- function(x, y, nugget, ...) {
    gp_fit(x, y, kernel = kernel_spec("matern32", scale = 0.8), variance = 1.5, nugget = nugget, ...)
  }
  one <- of(x, y, 0.1)
  all <- of(tiled(x), tiled(y), 0.1 * r, control = fit_control(tol = 1e-10))
  expect_equal(coef(all), coef(one), tolerance = 1e-7)
  expect_equal(vcov(all), vcov(one), tolerance = 1e-7)
  expect_equal(predict(all, at, se.fit = TRUE)[1:2], predict(one, at, se.fit = TRUE)[1:2], tolerance = 1e-6)
  weighed <- of(x, y, 0.1 * r, weights = r)
  expect_equal(predict(weighed, at, se.fit = TRUE)[1:2], predict(one, at, se.fit = TRUE)[1:2], tolerance = 1e-9)
})

test_that("likelihoods of copies that lie apart are a small determinant and a small form", {
  skip_below("quick")
  times <- 2 * ceiling(r / 2)
  apart <- 0.2
  all <- gp_fit(tiled(x, times), tiled(y, times) + apart * rep(c(-1, 1), each = n, length.out = n * times), trend = ~ 0,
                kernel = kernel_spec("exponential", scale = 0.8), variance = 1.5, nugget = 0.3, method = "ML")
  B <- times * 1.5 * exp(-dense_distance(x) / 0.8) + diag(0.3, n)
  form <- times * sum(y * solve(B, y)) + n * times * apart^2 / 0.3
  logdet <- n * (times - 1) * log(0.3) + as.numeric(determinant(B)$modulus)
  found <- logLik(all)
  off <- as.numeric(found) + (form + logdet + n * times * log(2 * pi)) / 2
  expect_lt(abs(off), 4 * attr(found, "std.error") + 1e-6 * n * times)
  expect_lt(attr(found, "std.error"), 0.01 * abs(found))
})

test_that("silhouettes leave one copy out", {
  sums <- rowsum(dense_distance(x), groups)
  counts <- c(table(groups))
  own <- sums[cbind(match(groups, names(counts)), 1:n)] * r / (r * counts[groups] - 1)
  other <- (colSums(sums) - sums[cbind(match(groups, names(counts)), 1:n)]) / (n - counts[groups])
  found <- silhouette_widths(tiled(x), tiled(groups))
  expect_equal(unname(found[, "sil_width"]), unname(tiled((other - own) / pmax(own, other))), tolerance = 1e-12)
})

test_that("statistics of two samples, of dependence and of variance go up with the copies", {
  expect_equal(energy_test(tiled(x), groups = tiled(groups), R = 9)$statistic,
               r * energy_test(x, groups = groups, R = 9)$statistic, tolerance = 1e-12)
  k <- kernel_spec("gaussian", scale = 1)
  expect_equal(mmd_test(tiled(x), groups = tiled(groups), kernel = k, R = 9)$statistic,
               r * mmd_test(x, groups = groups, kernel = k, R = 9)$statistic, tolerance = 1e-10)
  few <- dcor_test(x, y, null = "permutation", R = 9)
  many <- dcor_test(tiled(x), tiled(y), null = "permutation", R = 9)
  expect_equal(many$statistic, r * few$statistic, tolerance = 1e-10)
  expect_equal(many$estimate[1], few$estimate[1], tolerance = 1e-10)
  of_groups <- function(times) {
    data <- data.frame(g = tiled(groups, times))
    permanova(tiled(x, times) ~ g, data, R = 9)$SumOfSqs
  }
  expect_equal(of_groups(r), r * of_groups(1), tolerance = 1e-10)
})

test_that("transport is what it was", {
  skip_below("quick")
  one <- sinkhorn(x, to, epsilon = 0.3, tol = 1e-9)
  all <- sinkhorn(tiled(x), tiled(to, 3), epsilon = 0.3, tol = 1e-9)
  of <- c("value", "cost", "divergence")
  expect_equal(unlist(all[of]), unlist(one[of]), tolerance = 1e-7)
  expect_equal(predict(all, at), predict(one, at), tolerance = 1e-6)
})

test_that("clusters from the same centres are the same, and neighbours have their copies first", {
  skip_below("quick")
  one <- kmeans_fit(x, x[1:4, ])
  all <- kmeans_fit(tiled(x), x[1:4, ])
  expect_equal(all$centers, one$centers, tolerance = 1e-12)
  expect_identical(unname(all$cluster), unname(tiled(one$cluster)))
  expect_equal(c(all$tot.withinss, all$size, all$iter), c(r * one$tot.withinss, r * one$size, one$iter),
               tolerance = 1e-12)
  near <- knn(tiled(x), k = r)$nn.dist
  expect_equal(near, tiled(cbind(matrix(0, n, r - 1), knn(x, k = 1)$nn.dist)), tolerance = 1e-12)
  expect_identical(lengths(radius_nn(tiled(x), radius = 0.3)$id),
                   tiled(r * lengths(radius_nn(x, radius = 0.3)$id) + r - 1L))
})
