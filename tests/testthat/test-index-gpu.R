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
