# Gaussian processes of many inputs with hardly any noise: what their systems take, and where their estimates end.

# A smooth function of eight inputs.
noisefree <- function(n, seed = 1) {
  set.seed(seed)
  x <- matrix(stats::runif(8 * n, -1.7, 1.7), n)
  list(x = x, y = as.vector(scale(sin(x[, 1] + x[, 2]) * x[, 3] + cos(x[, 4] - x[, 5]) + x[, 6] * x[, 7] / 3 +
                                    0.1 * x[, 8])))
}
long_scales <- c(4, 4, 5, 3, 3, 5, 5, 12)

by_products_or_not <- function(data, ratio, dense_n, ...) {
  gp_fit(data$x, data$y, kernel = kernel_spec("matern52", ard = TRUE, scale = long_scales), variance = 3,
         nugget = 3 * ratio, control = fit_control(dense_n = dense_n, ...))
}

test_that("a step is that of Newton where it is short, and holds back what would go too far alone", {
  H <- crossprod(matrix(c(3, 1, 0, 1, 2, 1, 0, 1, 4), 3)) / 10
  Z <- diag(3)
  steps <- asNamespace("kernweave")$limited_step
  expect_equal(steps(H, c(0.1, 0.2, -0.1), Z, 0), solve(H, c(0.1, 0.2, -0.1)))
  H[3, ] <- H[, 3] <- H[, 3] * 1e-3
  H[3, 3] <- 1e-6
  score <- c(0.3, 0.2, -0.01)
  move <- steps(H, score, Z, 0)
  expect_gt(max(abs(solve(H, score))), 10)
  expect_identical(move[3], -2)
  expect_equal(as.vector(score - H %*% move)[1:2], c(0, 0))
  expect_identical(max(abs(steps(H, 1e6 * score, Z, 0))), 2)
  expect_identical(steps(H, score, Z[, 0], 0), c(0, 0, 0))
})

test_that("more neighbours take fewer iterations where eight inputs have hardly any noise", {
  skip_below("quick")
  data <- noisefree(1500)
  x <- t(t(data$x) / long_scales)
  K <- kernel_matern(x, x, scale = 1, nu = 2.5)
  iterations <- function(neighbours, rank) {
    P <- preconditioner(K, 1e-8, rank = rank, local = "always", neighbours = neighbours)
    report <- solve_report(solve(K, data$y, ridge = 1e-8, method = "cg", precondition = P, report = TRUE))
    expect_true(report$converged)
    expect_gt(report$smallest, 0)
    report$iterations
  }
  weak <- iterations(30, 300)
  expect_lt(weak, 60)
  expect_lt(iterations(100, 300), 0.7 * weak)
})

test_that("log-likelihoods and predictions by products are those of a factor, however small the nugget", {
  skip_below("quick")
  data <- noisefree(600)
  at <- noisefree(50, 2)$x
  for (ratio in c(1e-8, 1e-6, 1e-3)) {
    exact <- by_products_or_not(data, ratio, 1000)
    found <- by_products_or_not(data, ratio, 100)
    value <- logLik(found)
    se <- attr(value, "std.error")
    expect_lt(se, 5)
    expect_lt(abs(as.numeric(value) - as.numeric(logLik(exact))), 4 * se + 0.01)
    expect_lt(max(abs(predict(found, at) - predict(exact, at))), 1e-4)
    expect_equal(unname(coef(found)), unname(coef(exact)), tolerance = 1e-4)
    expect_lt(found$convergence$trend, 1e-3)
  }
})

test_that("a system that is slow with a weak preconditioner gets a stronger one, which it keeps", {
  skip_below("quick")
  data <- noisefree(900)
  slow <- by_products_or_not(data, 1e-8, 100, rank = 5)
  kept <- slow$kept$preconditioner
  expect_identical(kept$P$neighbours, 100L)
  expect_lt(slow$convergence$residual, 1e-6)
  noisy <- by_products_or_not(data, 0.1, 100)
  expect_identical(noisy$kept$preconditioner$P$neighbours, 30L)
})

test_that("estimates by products end where those of a factor do when there is no noise", {
  skip_below("all")
  data <- noisefree(400)
  kernel <- kernel_spec("matern52", ard = TRUE)
  found <- suppressWarnings(gp_fit(data$x, data$y, kernel = kernel, control = fit_control(dense_n = 100)),
                            classes = "kernweave_warning_boundary")
  expect_lt(found$nugget / found$variance, 1e-3)
  expect_lt(found$convergence$iterations, 25)
  # A factor bears less noise, and would find less.
  exact <- suppressWarnings(gp_fit(data$x, data$y, kernel = kernel, nugget = found$nugget),
                            classes = "kernweave_warning_boundary")
  given <- update(found$kernel, variance = 1)
  at_found <- gp_fit(data$x, data$y, kernel = given, variance = found$variance, nugget = found$nugget)
  expect_gt(as.numeric(logLik(at_found)), as.numeric(logLik(exact)) - 1)
})
