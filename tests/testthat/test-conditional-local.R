# Local kriging by conditional(), against dense formulas of the data of each place.

# Computes local kriging by dense formulas. A: K over the data and then the places; `near`: the row of data of each
# place.
dense_local <- function(A, y, near, ridge, trend = NULL) {
  n <- length(y)
  t(vapply(seq_len(nrow(near)), function(place) {
    S <- near[place, ]
    k <- A[S, n + place]
    w <- solve(A[S, S] + diag(ridge[S], length(S)), cbind(k, y[S], trend[S, ]))
    found <- c(mean = sum(k * w[, 2]), variance = A[n + place, n + place] - sum(k * w[, 1]))
    if (is.null(trend)) return(found)
    F <- trend[S, , drop = FALSE]
    covariance <- solve(crossprod(F, w[, -(1:2)]))
    lacking <- trend[n + place, ] - crossprod(F, w[, 1])
    beta <- covariance %*% crossprod(F, w[, 2])
    found + c(sum(lacking * beta), sum(lacking * (covariance %*% lacking)))
  }, c(mean = 0, variance = 0)))
}

cloud <- function(D, n = 150, places = 20) {
  set.seed(D)
  x <- matrix(stats::runif((n + places) * D), n + places)
  list(x = x, y = sin(5 * x[seq_len(n), 1]) + stats::rnorm(n, sd = 0.1), trend = cbind(1, x[, 1]),
       near = function(m) knn(x[seq_len(n), , drop = FALSE], x[-seq_len(n), , drop = FALSE], k = m)$nn.index)
}

test_that("means and variances are those of the neighbours alone, with a trend and without", {
  for (D in 1:3) for (nu in c(0.5, 2.5)) for (ridge in c(0.1, 1e-3)) {
    data <- cloud(D)
    K <- 2 * kernel_matern(data$x, data$x, 0.3, nu)
    each <- ridge * stats::runif(150, 0.5, 2)
    for (trend in list(NULL, data$trend)) for (m in c(5, 40)) {
      near <- data$near(m)
      found <- conditional(K, data$y, ridge = each, trend = trend, neighbours = near)
      expected <- dense_local(as.matrix(K), data$y, near, each, trend)
      expect_equal(found$mean, expected[, "mean"], tolerance = 1e-9)
      expect_equal(found$variance, expected[, "variance"], tolerance = 1e-9)
      expect_null(found$draws)
    }
  }
})

test_that("with all data as neighbours, local kriging is kriging, wherever data and places stand", {
  data <- cloud(2, 60, 10)
  rownames(data$x) <- sprintf("p%d", 1:70)
  K <- kernel_matern(data$x, data$x, 0.3, 1.5)
  set.seed(3)
  seen <- sample(70, 60)
  all <- matrix(1:60, 10, 60, byrow = TRUE)
  for (trend in list(NULL, data$trend)) {
    exact <- conditional(K, data$y, seen = seen, ridge = 0.01, trend = trend)
    found <- conditional(K, data$y, seen = seen, ridge = 0.01, trend = trend, method = "local", neighbours = all)
    expect_equal(found[c("mean", "variance")], exact[c("mean", "variance")], tolerance = 1e-9)
    alone <- conditional(K, NULL, seen = seen, ridge = 0.01, trend = trend, neighbours = all)
    expect_identical(alone$variance, found$variance)
    expect_true(all(is.na(alone$mean)))
  }
  expect_output(print(found), "10 places after data at 60, local")
  bare <- conditional(K, data$y, ridge = 0.01, neighbours = matrix(0L, 10, 0))
  expect_equal(unname(bare$variance), rep(1, 10))
})

test_that("the variance at a datum without noise is 0, and what neighbours repeat says nothing twice", {
  data <- cloud(2, 80, 3)
  x <- rbind(data$x[1:80, ], data$x[c(7, 30), ], data$x[81:83, ])
  for (K in list(kernel_matern(x, x, 0.3, 0.5), kernel_gaussian(x, x, 0.5))) {
    near <- knn(x[1:80, ], x[81:85, ], k = 30)$nn.index
    found <- conditional(K, data$y, neighbours = near)
    expect_identical(unname(found$variance[1:2]), c(0, 0))
    expect_equal(unname(found$mean[1:2]), data$y[c(7, 30)], tolerance = 1e-6)
  }
  twins <- x[c(1:80, 1:80, 83:85), ]
  K <- kernel_matern(twins, twins, 0.3, 0.5)
  near <- knn(twins[1:80, ], twins[161:163, ], k = 20)$nn.index
  once <- conditional(K, NULL, seen = 1:160, neighbours = near)
  expect_equal(conditional(K, NULL, seen = 1:160, neighbours = cbind(near, near + 80L))$variance, once$variance)
})

test_that("threads do not change a bit, nor does what else is asked for", {
  data <- cloud(3, 400, 60)
  K <- function(rows) kernel_matern(data$x[rows, ], data$x[rows, ], 0.3, 2.5)
  for (m in c(30, 300)) {
    local <- function(K, near) conditional(K, data$y, ridge = 0.1, neighbours = near)$variance
    found <- lapply(c(1, 3), function(n) local(lazy_set(K(1:460), threads = n), data$near(m)))
    expect_identical(found[[1]], found[[2]])
    expect_identical(local(K(c(1:400, 417)), data$near(m)[17, , drop = FALSE]), found[[1]][17])
  }
})

test_that("a trend that neighbours do not determine has a warning and no numbers", {
  data <- cloud(2, 100, 4)
  K <- kernel_matern(data$x, data$x, 0.3, 1.5)
  trend <- cbind(1, c(rep(0, 50), rep(1, 54)))
  near <- rbind(1:20, 1:20 + 40L, 1:20, 1:20 + 35L)
  expect_warning(found <- conditional(K, data$y, ridge = 0.1, trend = trend, neighbours = near),
                 "20 neighbours of 2 places do not determine", class = "kernweave_warning_approximate")
  expect_identical(is.nan(found$variance), c(TRUE, FALSE, TRUE, FALSE))
  expect_identical(is.nan(found$mean), c(TRUE, FALSE, TRUE, FALSE))
})

test_that("mistakes are told", {
  data <- cloud(2, 30, 4)
  K <- kernel_matern(data$x, data$x, 0.3, 1.5)
  local <- function(near, ...) conditional(K, data$y, ridge = 0.1, neighbours = near, ...)
  expect_error(conditional(K, data$y, method = "local"), "`neighbours` is not given", class = "kernweave_error_input")
  expect_error(local(matrix(1L, 3, 1)), "3 rows for 4 new places", class = "kernweave_error_shape")
  for (wrong in c(0, 31, 1.5, NA)) {
    expect_error(local(matrix(wrong, 4, 1)), "from 1 to 30", class = "kernweave_error_index")
  }
  expect_error(local(matrix(c(1L, 2L, 1L), 4, 3, byrow = TRUE)), "twice among", class = "kernweave_error_index")
  expect_error(local(matrix(1L, 4, 1), nsim = 2), "no draws", class = "kernweave_error_input")
  expect_error(local(matrix(1L, 4, 1), method = "exact"), "are for method = \"local\"", class = "kernweave_error_input")
  negative <- -norm2(Vi(data$x) - Vj(data$x))
  expect_error(conditional(negative, data$y, ridge = 0.1, neighbours = data$near(5)), "not positive definite",
               class = "kernweave_error_indefinite")
})
