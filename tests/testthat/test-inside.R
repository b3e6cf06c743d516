# Folded axes inside a point, columns beside the lane, and groups that each point meets its own of.

# Large enough that formulas are written in other forms, small enough for loops.
forms_of_sum <- list(
  sum = list(q[i, k] ~ abs(x[i, a] - mu[k, a]), function(i, k, z) sum(abs(z))),
  bilinear = list(q[i, k] ~ (x[i, a] - mu[k, a]) * W[a, b, k] * (x[i, b] - mu[k, b]), function(i, k, z) {
    sum(z * (W[, , k] %*% z))
  }),
  turned = list(q[k, i] ~ 2 * (x[i, b] - mu[k, b]) * W[a, b, k] / v[k] * exp(x[i, a] - mu[k, a]), function(i, k, z) {
    2 / v[k] * sum(exp(z) * (W[, , k] %*% z))
  }),
  outside = list(q[i, k] ~ v[k] * (x[i, a] - mu[k, a])^2 * exp(-x[i, 1]^2), function(i, k, z) {
    v[k] * exp(-x[i, 1]^2) * sum(z^2)
  })
)
x <- matrix(stats::rnorm(4000 * 3), 4000)
mu <- matrix(stats::rnorm(61 * 3), 61)
W <- array(stats::rnorm(9 * 61), c(3, 3, 61))
v <- stats::runif(61, 1, 2)

test_that("sums with axes inside a point, beside columns or swept, are those of loops in every nest", {
  rows <- c(1:5, 3999:4000)
  for (name in names(forms_of_sum)) {
    formula <- forms_of_sum[[name]][[1]]
    turned <- name == "turned"
    expected <- outer(rows, 1:61, Vectorize(function(i, k) forms_of_sum[[name]][[2]](i, k, x[i, ] - mu[k, ])))
    R <- reduction(formula, "sum", call = FALSE)
    insides <- lapply(R$axes$nests, `[[`, "inside")
    expect_gt(sum(lengths(insides) > 0), 2)
    for (nest in R$axes$nests[!duplicated(insides)]) {
      found <- as.array(R$axes$again(nest))
      if (turned) found <- t(found)
      expect_equal(found[rows, ], expected, tolerance = 1e-12, label = paste(name, nest_text(nest, R$axes$all)))
    }
    expect_identical(reduction(formula, "sum"), as.array(R))
    folded <- if (name %in% c("sum", "outside")) 3 else 9
    expect_equal(reduction(formula, "mean"), as.array(R) / folded, tolerance = 1e-14)
  }
})

test_that("every nest of batches of products is the product", {
  P <- array(stats::rnorm(4 * 3 * 2000), c(4, 3, 2000))
  Q <- array(stats::rnorm(3 * 5 * 2000), c(3, 5, 2000))
  R <- reduction(C[i, j, b] ~ P[i, k, b] * Q[k, j, b], "sum", call = FALSE)
  expected <- vapply(1:2000, function(b) P[, , b] %*% Q[, , b], matrix(0, 4, 5))
  for (nest in R$axes$nests) {
    expect_equal(as.array(R$axes$again(nest)), expected, tolerance = 1e-13, label = nest_text(nest, R$axes$all))
  }
})

test_that("gradients go through axes inside", {
  few <- 1:500
  for (formula in lapply(forms_of_sum, `[[`, 1)) {
    loss <- function(mu, W) sum(reduction(formula, "sum", data = list(x = x[few, ], mu = mu, W = W, v = v))^2)
    environment(formula) <- environment()
    found <- gradient(loss, wrt = "mu")(mu, W)$mu
    h <- 1e-5
    for (at in list(c(1, 1), c(61, 3))) {
      moved <- function(by) {
        mu[at[1], at[2]] <- mu[at[1], at[2]] + by
        loss(mu, W)
      }
      expect_equal(found[at[1], at[2]], (moved(h) - moved(-h)) / (2 * h), tolerance = 1e-6)
    }
  }
})

test_that("formulas of which nothing is folded are matrices of their numbers", {
  u <- stats::rnorm(700)
  w <- stats::rnorm(300)
  expected <- abs(outer(u, w, `-`))
  expect_equal(reduction(D[i, j] ~ abs(u[i] - w[j]), "sum"), expected)
  expect_equal(reduction(D[j, i] ~ abs(u[i] - w[j]), "sum"), t(expected))
  expect_equal(reduction(D[j, i] ~ abs(u[i] - w[j]), "sum", precision = "float32"), t(expected), tolerance = 1e-6)
})

test_that("every point meets the matrix of its own group, whatever groups there are", {
  own <- function(g) {
    vapply(seq_along(g), function(i) {
      z <- x[i, ] - mu[g[i], ]
      sum(z * (W[, , g[i]] %*% z))
    }, 0)
  }
  x <- x[rep_len(1:4000, 30000), ]
  for (g in list(sample(c(2, 5, 61), 30000, TRUE), rep(7, 30000), sort(sample(40, 30000, TRUE)))) {
    found <- reduction(q[i] ~ (x[i, a] - mu[g[i], a]) * W[a, b, g[i]] * (x[i, b] - mu[g[i], b]), "sum")
    expect_equal(found, own(g), tolerance = 1e-12)
  }
  f <- factor(c("a", "b")[1 + (seq_len(30000) %% 2)], levels = c("a", "b", "c"))
  found <- reduction(q[i] ~ x[i, a] * W[a, b, f[i]] * x[i, b] * mu[f[i], 1], "sum")
  expect_equal(found, vapply(1:30000, function(i) sum(x[i, ] * (W[, , f[i]] %*% x[i, ])) * mu[f[i], 1], 0))
  # If an axis does not lie inside, the reduction goes group by group.
  found <- reduction(q[i] ~ x[i, a] * W[a, b, f[i]] * x[i, b], "max")
  expect_equal(found[1:9], vapply(1:9, function(i) max(outer(x[i, ], x[i, ]) * W[, , f[i]]), 0))
})

test_that("schedule() forces what lies inside, and says what does not", {
  R <- reduction(q[i, k] ~ (x[i, a] - mu[k, a]) * W[a, b, k] * (x[i, b] - mu[k, b]), "sum", call = FALSE)
  S <- schedule(R, order = c("a", "b", "k", "i"), inside = c("b", "a"))
  expect_identical(schedule(S)$nest[schedule(S)$chosen], "i 4000 lanes x k 61 columns x a 3 inside x b 3 inside")
  expect_equal(as.array(S), as.array(schedule(R, order = c("k", "a", "b", "i"))), tolerance = 1e-12)
  expect_error(schedule(R, order = c("a", "b", "k", "i"), inside = "k"), "there are",
               class = "kernweave_error_unsupported")
})
