# Tests where tensor cores have a part: what they compute is float32's, or they leave it alone.

test_that("what tensor cores take part in compiles for a GPU", {
  skip_without_compiler()
  x <- numbers_between(9, 8, 0, 1)
  expect_compiles(logsumexp(-sqdist(Vi(x), Vj(x)), index = "j", call = FALSE), "no numbers beside products", "float32")
  cases <- combinations(D = c(3, 8, 50, 300), W = c(1, 4, 24, 100))
  for (k in seq_len(by_tier(1, 1, nrow(cases)))) {
    x <- numbers_between(9, cases$D[k], 0, 1)
    w <- numbers_between(9, cases$W[k], 0, 1)
    D2 <- sqdist(Vi(x), Vj(x))
    R <- list(reduction(exp(-D2), "sum", weight = Vj(w), call = FALSE),
              reduction(1 / (1 + D2), "sum", index = "i", weight = Vi(w), call = FALSE))
    # Their numbers are float32's. By turns along one axis and the other, at night along both.
    label <- paste(cases[k, ], collapse = " ")
    for (one in if (reaches("all")) R else R[1 + k %% 2]) expect_compiles(one, label, "float32")
  }
})

test_that("inner products on tensor cores are float32's, in any units and at every size", {
  skip_without_gpu()
  set.seed(12)
  for (D in c(8, 16, 50, 301)) for (size in list(c(128, 128), c(129, 1000), c(1500, 131))) {
    unit <- 10^stats::runif(1, -6, 6)
    x <- unit * matrix(stats::runif(size[1] * D), ncol = D) / sqrt(D)
    y <- unit * matrix(stats::runif(size[2] * D), ncol = D) / sqrt(D)
    near <- seq_len(min(size))
    y[near, ] <- x[near, ]  # coincident points
    b <- matrix(stats::rnorm(2 * size[2]), size[2])
    D2 <- sqdist(Vi(x), Vj(y)) * (3 / unit^2)
    run <- function(device) {
      K <- lazy_set(exp(-D2), device = device, precision = "float32")
      list(K %*% b, crossprod(K, matrix(stats::rnorm(1), size[1])), sum(K, index = "i"),
           sum(square(K) * Vj(b[, 1]), index = "j"),
           reduction(K, "sum", index = "ij"),
           logsumexp(lazy_set(-D2, device = device, precision = "float32"), index = "j"))
    }
    set.seed(1)
    actual <- run("gpu")
    set.seed(1)
    expected <- run("reference")
    for (k in seq_along(actual))
      expect_close(actual[[k]], expected[[k]], 5e-6, scale = if (k == 5) prod(size) else max(size),
                   label = paste(D, paste(size, collapse = "x"), k))
  }
})

test_that("sums with many weights on tensor cores are float32's, whatever the sizes of terms and weights", {
  skip_without_gpu()
  set.seed(13)
  for (D in c(3, 50)) for (W in c(24, 57, 113)) for (size in list(c(1, 1), c(63, 65), c(129, 500), c(500, 129))) {
    x <- matrix(stats::runif(size[1] * D), ncol = D) / sqrt(D)
    y <- matrix(stats::runif(size[2] * D), ncol = D) / sqrt(D)
    # Rows whose terms are tiny, and columns of weights of all sizes.
    x[sample(size[1], 1), 1] <- 3
    b <- matrix(stats::rnorm(W * size[2]), size[2]) * rep(10^stats::runif(W, -20, 20), each = size[2])
    for (f in list(function(d) exp(-d), function(d) 1 / (1 + d))) {
      K <- f(sqdist(Vi(x), Vj(y)))
      expected <- lazy_set(K, device = "reference") %*% b
      size_of_terms <- lazy_set(K, device = "reference") %*% abs(b)
      expect_close((lazy_set(K, device = "gpu", precision = "float32") %*% b) / size_of_terms, expected / size_of_terms,
                   5e-6, label = paste(D, W, paste(size, collapse = "x")))
    }
  }
})

test_that("where halves cannot tell a number, tensor cores stand back", {
  skip_without_gpu()
  set.seed(14)
  x <- matrix(stats::runif(3 * 300), ncol = 3)
  b <- matrix(stats::runif(30 * 300), 300)
  b[7, 3] <- Inf
  b[9, 4] <- NaN
  b[11, 5] <- 1e38
  same <- function(K, b) {
    actual <- lazy_set(K, device = "gpu", precision = "float32") %*% b
    expected <- lazy_set(K, device = "reference") %*% b
    expect_identical(is.finite(actual), is.finite(expected))
    expect_identical(is.nan(actual), is.nan(expected))
    finite <- is.finite(expected)
    expect_close(actual[finite] / 1e3, expected[finite] / 1e3, 1e-5, scale = max(1, abs(expected[finite])))
  }
  same(exp(-sqdist(Vi(x), Vj(x))), b)
  same(1 / sqdist(Vi(x), Vj(x)), matrix(stats::runif(30 * 300), 300))  # infinite where points meet
  x[5, 2] <- NaN
  same(exp(-sqdist(Vi(x), Vj(x))), matrix(stats::runif(30 * 300), 300))
})

test_that("few components, expanded, keep the accuracy of every term on the GPU", {
  skip_without_gpu()
  set.seed(15)
  for (D in 3:4) for (unit in c(1e-6, 1, 1e6)) for (precision in test_precisions()) {
    x <- unit * matrix(stats::runif(300 * D), ncol = D)
    y <- x[sample(300, 260), ]
    reach <- 2 * max(rowSums(sweep(x, 2, colMeans(x))^2))
    bound <- if (precision == "float64") 1e-13 / 2^-53 else 5e-6 / 2^-24
    s <- 0.9 * bound / max(1 + 1.8 + 0.7 * sqrt(D), D / 22) / reach
    R <- sum(exp(-sqdist(Vi(x), Vj(y)) * s), index = "j", call = FALSE)
    expect_match(explain(lazy_set(R, device = "gpu", precision = precision))$schedule$why, "expanded")
    exact <- as.matrix(lazy_set(R, device = "reference"))
    expect_close(as.matrix(lazy_set(R, device = "gpu", precision = precision)) / exact, exact / exact,
                 tolerance_of(precision), label = paste(D, unit, precision))
  }
})

test_that("potentials of any size stay beside their distance in the exponent", {
  skip_without_gpu()
  set.seed(17)
  x <- matrix(stats::runif(900), ncol = 3)
  y <- matrix(stats::runif(900), ncol = 3)
  for (size in c(1, 60, 5000)) {
    f <- size + stats::runif(300)
    g <- -size + stats::runif(300)
    K <- exp(Vi(f) + Vj(g) - sqdist(Vi(x), Vj(y)))
    for (precision in test_precisions()) {
      expected <- sum(K, index = "j", device = "reference")
      # In float32 a potential of 5000 is known to 2.4e-4.
      tolerance <- if (precision == "float64") 1e-12 else max(5e-6, size * 2^-22)
      expect_close(sum(K, index = "j", device = "gpu", precision = precision) / expected, expected / expected,
                   tolerance, label = paste(size, precision))
    }
  }
})
