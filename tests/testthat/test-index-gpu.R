# Index formulas on a GPU: more axes than two are folded there as on the CPU.

test_that("formulas of any axes are on a GPU what they are on the CPU", {
  skip_without_gpu()
  set.seed(21)
  A <- matrix(stats::rnorm(90 * 70), 90)
  B <- matrix(stats::rnorm(70 * 40), 70)
  X <- array(stats::rnorm(30 * 20 * 25), c(30, 20, 25))
  U <- matrix(stats::rnorm(20 * 6), 20)
  p <- matrix(stats::runif(80), 40)
  x <- matrix(stats::rnorm(900), 300)
  y <- matrix(stats::rnorm(600), 200)
  z <- matrix(stats::rnorm(150), 50)
  v <- stats::rnorm(500)
  w <- stats::runif(9)
  formulas <- list(C[j, i] ~ A[i, k] * B[k, j], s ~ A[i, k] * B[k, j], M[r, k] ~ abs(X[i, j, k] - U[j, r]),
                   u[i] ~ exp(-sqdist(x[i, ], y[j, ]) - sqdist(y[j, ], z[k, ])),
                   s ~ abs(p[i, 1] * p[j, 2] - p[k, 1]) * (i < j & j < k), m[t] ~ v[t + s - 1] * w[s],
                   d[t, l] ~ abs(v[t - s + 9] - w[s]) * w[l], n[a, b] ~ x[a, 1] * x[b, 2],
                   q[k, j] ~ X[1, j, k] + X[i, j, k])
  ops <- c("sum", "max", "logsumexp", "mean", "prod", "variance")
  for (k in seq_along(formulas)) for (op in ops[1 + (k + 0:1) %% length(ops)]) for (precision in test_precisions()) {
    expect_equal(reduction(formulas[[k]], op, device = "gpu", precision = precision),
                 reduction(formulas[[k]], op, device = "cpu"), tolerance = 20 * tolerance_of(precision),
                 label = paste(deparse1(formulas[[k]]), op, precision))
  }
})

test_that("axes inside a point, columns and each point's own group are on a GPU what they are on the CPU", {
  skip_without_gpu()
  set.seed(22)
  x <- matrix(stats::rnorm(5000 * 5), 5000)
  mu <- matrix(stats::rnorm(70 * 5), 70)
  W <- array(stats::rnorm(25 * 70), c(5, 5, 70))
  P <- array(stats::rnorm(12 * 3000), c(3, 4, 3000))
  g <- rep(1:70, length.out = 40000)
  own <- x[rep(1:5000, 8), ]
  formulas <- list(q[i, k] ~ (x[i, a] - mu[k, a]) * W[a, b, k] * (x[i, b] - mu[k, b]),
                   q[k, i] ~ abs(x[i, a] - mu[k, a]), C[i, j, b] ~ P[i, k, b] * P[j, k, b],
                   o[i] ~ (own[i, a] - mu[g[i], a]) * W[a, b, g[i]] * (own[i, b] - mu[g[i], b]))
  for (formula in formulas) for (precision in test_precisions()) for (op in c("sum", "mean")) {
    expect_equal(reduction(formula, op, device = "gpu", precision = precision),
                 reduction(formula, op, device = "cpu"), tolerance = 20 * tolerance_of(precision),
                 label = paste(deparse1(formula), op, precision))
  }
})
