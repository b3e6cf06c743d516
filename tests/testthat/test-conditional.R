# conditional() against the formulas of kriging, with matrices.

known_kernels <- list(
  gaussian = function(x) kernel_gaussian(x, x, 0.2),
  matern12 = function(x) 2 * kernel_matern(x, x, 0.3, 0.5),
  matern52 = function(x) kernel_matern(x, x, 0.3, 2.5)
)

# Computes kriging by dense formulas, of which the places `seen` are data.
kriging <- function(A, y, seen, ridge, trend = NULL) {
  S <- A[seen, seen] + diag(ridge, length(seen))
  k <- A[seen, -seen, drop = FALSE]
  if (is.null(trend)) {
    return(list(mean = drop(crossprod(k, solve(S, y))), variance = diag(A)[-seen] - colSums(k * solve(S, k))))
  }
  F <- trend[seen, , drop = FALSE]
  new <- t(trend[-seen, , drop = FALSE])
  covariance <- solve(crossprod(F, solve(S, F)))
  beta <- covariance %*% crossprod(F, solve(S, y))
  lacking <- new - crossprod(F, solve(S, k))
  list(mean = drop(crossprod(new, beta) + crossprod(k, solve(S, y - F %*% beta))), coefficients = drop(beta),
       variance = diag(A)[-seen] - colSums(k * solve(S, k)) + colSums(lacking * (covariance %*% lacking)))
}

at_places <- function(n, D = 2, seed = 1) {
  set.seed(seed)
  x <- matrix(stats::runif(n * D), n)
  list(x = x, y = sin(5 * x[, 1]) + stats::rnorm(n, sd = 0.1), trend = cbind(1, x[, 1]))
}

test_that("means and exact variances are those of the formulas, dense or not, with and without a trend", {
  skip_below("quick")
  data <- at_places(260)
  for (name in names(known_kernels)) for (with in c(TRUE, FALSE)) for (ridge in c(0.1, 1e-3)) {
    K <- known_kernels[[name]](data$x)
    trend <- if (with) data$trend
    expected <- kriging(as.matrix(K), data$y[1:200], 1:200, ridge, trend)
    check <- function(solver, tolerance) {
      found <- conditional(K, data$y[1:200], ridge = ridge, trend = trend, solver = solver)
      label <- paste(name, with, ridge, solver)
      expect_lt(max(abs(found$mean - expected$mean)), tolerance, label = label)
      expect_lt(max(abs(found$variance / expected$variance - 1)), tolerance, label = label)
      if (with) expect_equal(unname(found$coefficients), unname(expected$coefficients), tolerance = tolerance)
      expect_identical(found$se, 0)
    }
    check("auto", 1e-7)
    check("cg", 1e-4)
  }
})

test_that("an exact variance falls from above and is never negative", {
  data <- at_places(300)
  K <- known_kernels$matern52(data$x)
  truth <- kriging(as.matrix(K), data$y[1:250], 1:250, 1e-3)$variance
  iterated <- function(...) conditional(K, data$y[1:250], ridge = 1e-3, solver = "cg", precondition = FALSE, ...)
  for (tol in c(0.5, 1e-2, 1e-4)) {
    excess <- iterated(tol = tol)$variance / truth - 1
    expect_gt(min(excess), -1e-8)
    expect_lt(max(excess), 2 * tol)
  }
  expect_warning(expect_warning(cut <- iterated(max_iter = 4), "still falling",
                               class = "kernweave_warning_convergence"),
                 class = "kernweave_warning_convergence")
  expect_gt(min(cut$variance / truth), 1)
  twice <- rbind(data$x[1:50, ], data$x[1:50, ])
  at_data <- conditional(known_kernels$matern12(twice), data$y[1:50], solver = "cg")
  expect_gte(min(at_data$variance), 0)
  expect_lt(max(at_data$variance), 1e-6)
  expect_equal(unname(at_data$mean), data$y[1:50], tolerance = 1e-4)
})

test_that("pathwise draws have the mean and the covariance of the formulas", {
  skip_below("quick")
  data <- at_places(108)
  trend <- data$trend
  K <- known_kernels$matern52(data$x)
  A <- as.matrix(K)
  check <- function(trend, draws, solver = "auto") {
    found <- conditional(K, data$y[1:100], ridge = 0.01, trend = trend, method = "pathwise", nsim = draws, seed = 2,
                         solver = solver)
    expected <- kriging(A, data$y[1:100], 1:100, 0.01, trend)
    expect_equal(unname(found$mean), unname(expected$mean), tolerance = 1e-5)
    expect_equal(found$se, sqrt(2 / draws))
    expect_lt(max(abs(found$variance / expected$variance - 1)), 4.5 * found$se)
    expect_lt(max(abs(rowMeans(found$draws) - expected$mean) / sqrt(expected$variance / draws)), 4.5)
    found
  }
  found <- check(NULL, 2000)
  S <- solve(A[1:100, 1:100] + diag(0.01, 100))
  covariance <- A[101:108, 101:108] - A[101:108, 1:100] %*% S %*% A[1:100, 101:108]
  spread <- sqrt((covariance^2 + outer(diag(covariance), diag(covariance))) / 2000)
  expect_lt(max(abs(tcrossprod(found$draws - found$mean) / 2000 - covariance) / spread), 4.5)
  check(trend, 2000)
  check(NULL, 200, "cg")
  check(trend, 200, "cg")
})

test_that("places may be seen anywhere, by name too, and each may have a noise of its own", {
  data <- at_places(60)
  x <- structure(data$x, dimnames = list(sprintf("p%d", 1:60), NULL))
  K <- known_kernels$matern12(x)
  seen <- sample(60, 45)
  ridge <- stats::runif(45, 0.01, 1)
  A <- as.matrix(K)
  S <- A[seen, seen] + diag(ridge)
  new <- setdiff(1:60, seen)
  for (which in list(seen, sprintf("p%d", seen))) {
    found <- conditional(K, data$y[seen], seen = which, ridge = ridge, nsim = 2, seed = 1)
    expect_equal(found$mean, stats::setNames(drop(A[new, seen] %*% solve(S, data$y[seen])), sprintf("p%d", new)))
    expect_equal(found$variance, 2 - colSums(A[seen, new] * solve(S, A[seen, new])))
    expect_identical(dimnames(found$draws), list(sprintf("p%d", new), c("sim_1", "sim_2")))
  }
  known <- seq_len(60) %in% seen
  expect_equal(conditional(K, data$y[known], seen = known)$mean, kriging(A, data$y[known], which(known), 0)$mean)
})

test_that("the way is chosen by the numbers of places, and seeds rule draws", {
  skip_below("quick")
  data <- at_places(700, 3)
  K <- known_kernels$matern52(data$x)
  expect_identical(conditional(K, data$y[1:100], ridge = 0.1)$method, "exact")
  iterated <- function(n, ...) conditional(K, data$y[1:n], ridge = 0.1, solver = "cg", ...)
  set.seed(5)
  found <- iterated(100)
  expect_identical(found$method, "pathwise")
  expect_identical(ncol(found$draws), 64L)
  state <- .Random.seed
  again <- iterated(100, seed = 5)
  expect_identical(.Random.seed, state)
  expect_equal(again$draws, found$draws)
  expect_identical(iterated(300)$method, "exact")
})

test_that("its methods print, tabulate and give quantiles", {
  data <- at_places(40)
  found <- conditional(known_kernels$matern12(data$x), data$y[1:30], ridge = 0.1, trend = data$trend, nsim = 3)
  expect_output(print(found), "10 places after data at 30, exact, 3 draws.*standard deviation.*trend")
  frame <- as.data.frame(found)
  expect_equal(frame, data.frame(mean = found$mean, sd = sqrt(found$variance)))
  q <- quantile(found, c(0.025, 0.5))
  expect_identical(colnames(q), c("2.5%", "50%"))
  expect_equal(unname(q), unname(cbind(found$mean + stats::qnorm(0.025) * frame$sd, found$mean)))
  expect_error(quantile(found, 2), class = "kernweave_error_input")
})

test_that("sizes of none are answered, and mistakes are named", {
  data <- at_places(12)
  K <- known_kernels$matern12(data$x)
  none <- conditional(K, numeric(), nsim = 2)
  expect_equal(unname(none$mean), numeric(12))
  expect_equal(unname(none$variance), rep(2, 12))
  expect_identical(dim(none$draws), c(12L, 2L))
  expect_length(conditional(K, data$y)$mean, 0)
  expect_error(conditional(K, 1:13), class = "kernweave_error_index")
  expect_error(conditional(K, 1:3, seen = 1:4), "3 numbers for 4 places", class = "kernweave_error_shape")
  expect_error(conditional(K, 1:3, seen = c(1, 2, 1)), "place 1 is seen twice", class = "kernweave_error_index")
  expect_error(conditional(K, cbind(1:3, 1), seen = 1:3), class = "kernweave_error_shape")
  expect_error(conditional(K, c(1, NA)), "`y`", class = "kernweave_error_input")
  expect_error(conditional(K, 1:3, ridge = 1:2), class = "kernweave_error_shape")
  expect_error(conditional(K, 1:3, trend = cbind(1, 1:3)), "`trend` has 3 rows", class = "kernweave_error_shape")
  expect_error(conditional(K, 1:3, trend = matrix(1, 12, 2)), "independent", class = "kernweave_error_input")
  expect_error(conditional(K, 1:3, nsim = 0), "nsim", class = "kernweave_error_input")
  expect_error(conditional(K[, 1:4], 1:3), class = "kernweave_error_shape")
})
