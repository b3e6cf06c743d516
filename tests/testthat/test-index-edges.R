# Index formulas where a user's first hour led: what is right there, and what is refused with a way out.

test_that("windows of one axis, of twice the same one, and leads are what R makes of them", {
  set.seed(31)
  z <- stats::rnorm(20)
  expect_equal(reduction(s[t] ~ z[t + 1], "sum"), z[-1])
  expect_equal(reduction(s ~ z[t + 1] * z[t + 2], "sum"), sum(z[2:19] * z[3:20]))
  expect_equal(reduction(s[t] ~ z[2 * t], "sum"), z[2 * 1:10])
  expect_equal(reduction(along(z, c("t", "t")), "sum", index = "t"), sum(z[seq(1, 19, 2)]))
  expect_equal(reduction(d[t] ~ z[t + 1] - z[t + 0], "sum"), diff(z))
  expect_error(reduction(d[t] ~ z[t + 1] - z[t], "sum"), "z[t + 0]", fixed = TRUE, class = "kernweave_error_shape")
  for (part in c(0.5, 1.5)) {
    formula <- eval(bquote(s[t] ~ z[t + .(part)]))
    expect_error(reduction(formula, "sum"), "whole numbers", class = "kernweave_error_input")
  }
})

test_that("`extents` tells lengths that no array does", {
  x <- c(4, 1, 7, 2, 2)
  g <- c(1, 2, 1, 2, 3)
  expect_equal(reduction(c[i] ~ x[j] * (j <= i), "sum", extents = c(i = 5)), cumsum(x))
  expect_equal(reduction(h[t] ~ x[t + s - 1], "max", extents = c(s = 3)), c(7, 7, 7))
  expect_equal(reduction(m[k] ~ x[i] * (g[i] == k), "sum", extents = c(k = 3)), as.vector(rowsum(x, g)))
  expect_error(reduction(h[t] ~ x[t + s - 1], "max"), "extents = c(s", fixed = TRUE, class = "kernweave_error_shape")
  expect_error(reduction(h[t] ~ x[t], "max", extents = c(t = 4)), "4 points in `extents`, but 5 in `x[t]`",
               fixed = TRUE, class = "kernweave_error_shape")
  for (bad in list(3, c(s = NA), c(s = 1.5), c(s = 1, s = 2), "s"))
    expect_error(reduction(h[t] ~ x[t + s - 1], "max", extents = bad), class = "kernweave_error_input")
})

test_that("a formula that bquote() writes is evaluated, and names of functions are no arrays", {
  x <- matrix(1:6, 3)
  two <- 2
  expect_equal(reduction(bquote(C[i] ~ x[i, .(two)]), "sum"), 4:6)
  expect_error(reduction(s ~ t[i], "sum"), "no array `t`", class = "kernweave_error_input")
})

test_that("positions among more points than an integer counts are right", {
  z <- stats::runif(1300)
  z[1300] <- -5
  expect_equal(reduction(s ~ z[i] + z[j] + z[k], "argmin"), 1300^3)
})

test_that("restricted pairs and derivatives at a pair are refused for named axes, with a way out", {
  x <- matrix(stats::rnorm(15), 5)
  w <- 1:3
  K <- exclude_diag(exp(-sqdist(Vi(x), Vj(x))))
  refused <- function(code) expect_error(code, class = "kernweave_error_unsupported")
  expect_match(conditionMessage(refused(reduction(K * along(w, "k"), "sum", index = c("j", "k")))), "lazy_if")
  refused(t(along(x, "p", "q")))
  p <- along(x, "p", NA)
  refused(lazy_gradient(sqdist(p, along(x, "q", NA)), p))
})

test_that("several formulas with named axes keep their axes", {
  A <- matrix(stats::rnorm(6), 2)
  B <- matrix(stats::rnorm(12), 3)
  L <- along(A, "i", "k") * along(B, "k", "l")
  expect_equal(reduction(list(one = L, two = L + 1), "sum", index = "k"), list(one = A %*% B, two = A %*% B + 3))
})

test_that("along() refuses what it would have to guess", {
  A <- matrix(1:6, 2)
  for (wrong in list(quote(along(A, "i", "k", at = list(z = 1:2))), quote(along(A, "i", "k", at = 1:2)),
                     quote(along(A, i = "k", k = "i")), quote(along(A, "", "k")), quote(along(1:3, c("t", NA)))))
    expect_error(eval(wrong), class = "kernweave_error_input", label = deparse1(wrong))
})

test_that("paths take axes of one factor first, quotients, and means", {
  skip_below("quick")
  set.seed(32)
  A <- matrix(stats::rnorm(14400), 120)
  B <- A + 1
  v <- stats::runif(120) + 1
  expect_equal(reduction(s ~ A[i, j] * B[j, k], "sum"), sum(A %*% B))
  expect_equal(reduction(s[i] ~ A[i, j] * B[j, k] / v[k] / 2, "mean"), as.vector(A %*% (B %*% (1 / v))) / 2 / 120^2)
  f <- function(v) sum(reduction(s[i] ~ A[i, j] * B[j, k] / v[k], "sum"))
  expect_equal(gradient(f)(v)$v, -as.vector(colSums(A) %*% B) / v^2)
})

test_that("a matrix for each group of points is not gathered for every point, and the numbers are the same", {
  skip_below("quick")
  set.seed(33)
  n <- 4000
  g <- sample(5, n, TRUE)
  h <- sample(20, n, TRUE)
  x <- matrix(stats::rnorm(20 * n), n)
  W <- array(stats::rnorm(2000), c(20, 20, 5))
  by_loop <- vapply(seq_len(n), function(i) sum(x[i, ] * (W[, , g[i]] %*% x[i, ])), 0)
  expect_equal(reduction(q[i] ~ x[i, a] * W[a, b, g[i]] * x[i, b], "sum"), by_loop)
  product <- function(op, data) reduction(q[b, i] ~ W[a, b, g[i]] * x[i, h[i]] + i, op, data = data)
  some <- seq_len(200)  # as few are gathered
  few <- list(g = g[some], h = h[some], x = x[some, ])
  first <- function(found) if (is.list(found)) lapply(found, first) else found[, some]
  for (op in c("max", "min_argmin", "logsumexp")) expect_equal(first(product(op, list())), product(op, few), label = op)
})

test_that("parts of a formula have the lengths of the whole, on paths, by groups and in the variance's two steps", {
  skip_below("quick")
  set.seed(34)
  y <- stats::rnorm(20000)
  v <- stats::rnorm(100)
  w <- stats::runif(4)
  by_window <- function(n) vapply(seq_len(length(y) - 3), function(t) sum(y[t + seq_len(n) - 1]), 0)
  expect_equal(reduction(m[t] ~ y[t + s - 1] * v[k], "sum", extents = c(s = 4)), by_window(4) * sum(v))
  expect_equal(reduction(m[t] ~ y[t + s - 1] * v[k] * y[t + u - 1] * w[u], "sum", extents = c(s = 2)),
               by_window(2) * sum(v) * vapply(seq_len(length(y) - 3), function(t) sum(y[t + 0:3] * w), 0))
  n <- 4000
  g <- rep_len(1:4, n)
  x <- matrix(stats::rnorm(20 * n), n)
  W <- array(stats::rnorm(1600), c(20, 20, 4))
  q <- function(...) reduction(q[i] ~ x[i, a] * W[a, b, g[i]] * x[i, b], "sum", ...)
  expect_equal(q(extents = c(i = n)), q())
  few <- y[1:12]
  f <- function(z) {
    sum(reduction(o[k] ~ z[t + s - 1] * v[k] * w[l], "variance", data = list(v = v[1:3]), extents = c(s = 2)))
  }
  slope <- vapply(seq_along(few), function(k) {
    step <- replace(numeric(12), k, 1e-5)
    (f(few + step) - f(few - step)) / 2e-5
  }, 0)
  expect_equal(gradient(f)(few)[[1]], slope, tolerance = 1e-6)
})

test_that("parts of lists, and rows by their names, are read as R reads them", {
  A <- matrix(as.numeric(1:6), 2, dimnames = list(c("a", "b"), c("x", "y", "z")))
  fit <- list(coef = c(2, -1, 1), deep = list(A = A))
  g <- c("b", "a", "b")
  expect_equal(reduction(p[i] ~ A[i, k] * fit$coef[k], "sum"), c(A %*% fit$coef), ignore_attr = TRUE)
  expect_equal(reduction(p[k] ~ fit$deep$A[i, k] * fit[["deep"]]$A[i, k], "sum"), colSums(A^2))
  expect_equal(reduction(p[i] ~ A[i, "z"], "sum"), A[, "z"])
  expect_equal(reduction(p[i] ~ A[g[i], k], "sum"), rowSums(A[g, ]), ignore_attr = TRUE)
  expect_equal(reduction(p[i] ~ A[i, k] * fit$coef[1], "sum"), 2 * rowSums(A), ignore_attr = TRUE)
})

test_that("the first array that names an axis names the result, row numbers too, and gathered rows at last", {
  mu <- matrix(as.numeric(1:6), 3, dimnames = list(c("u", "v", "w"), c("x", "y")))
  g <- c(2, 2, 1, 3)
  named <- c(a = 2, b = 2, c = 1, d = 3)
  x <- matrix(0, 4, 2, dimnames = list(letters[5:8], NULL))
  rows <- function(formula, ...) names(reduction(formula, "sum", data = list(...)))
  expect_identical(rows(r[i] ~ mu[g[i], a]), names(rowSums(mu[g, ])))
  expect_identical(rows(r[i] ~ mu[g[i], a], g = named), letters[1:4])
  expect_identical(rows(r[i] ~ mu[g[i], a] + x[i, a]), letters[5:8])
  expect_identical(rows(r[i] ~ mu[g[i], a] + x[i, a], g = named), letters[1:4])
  expect_identical(rows(r[i] ~ mu[g[i], a], g = c("w", "u")), c("w", "u"))
  expect_identical(rows(r[i] ~ mu[g[i], a], g = factor(c(k = "b", l = "a"))), c("k", "l"))
  expect_identical(dimnames(reduction(r[i, a] ~ mu[g[i], a], "sum")), dimnames(mu[g, ]))
  expect_identical(dimnames(reduction(r[a, i] ~ unname(1) * mu[g[i], a], "max")), dimnames(t(mu[g, ])))
  expect_null(rows(r[i] ~ mu[g[i], a], mu = unname(mu)))
})

test_that("row numbers that are computed are those of R: Toeplitz, seasons, shifted codes", {
  set.seed(35)
  r <- stats::rnorm(9)
  v <- stats::rnorm(9)
  y <- stats::rnorm(36)
  season <- stats::rnorm(12)
  g <- c(1, 3, 2, 2)
  N <- matrix(c(5, 2, 7, 4), 2)
  expect_equal(reduction(o[i] ~ r[abs(i - j) + 1] * v[j], "sum", extents = c(i = 9)), c(stats::toeplitz(r) %*% v))
  expect_equal(reduction(d[t] ~ y[t] - season[(t - 1) %% 12 + 1], "sum"), y - rep(season, 3))
  expect_equal(reduction(s ~ r[g[i] + 1] * v[i], "sum", data = list(v = v[1:4])), sum(r[g + 1] * v[1:4]))
  expect_equal(reduction(s[i] ~ r[5 - g[i]], "max", extents = c(i = 4)), r[5 - g])
  expect_equal(reduction(s[i, j] ~ r[(N[i, j] + 1) %/% 2] * v[i] * v[j], "sum", data = list(v = 1:2)),
               matrix(r[(N + 1) %/% 2], 2) * outer(1:2, 1:2))
  expect_equal(reduction(o[i] ~ v[i] * v[j], "logsumexp", weight = ~ r[abs(i - j) + 1]^2),
               vapply(1:9, function(i) log(sum(exp(v[i] * v) * r[abs(i - 1:9) + 1]^2)), 0))
  expect_equal(reduction(s ~ r[2^2] * v[i], "sum"), r[4] * sum(v))
  f <- function(r) sum(reduction(o[i] ~ r[abs(i - j) + 1] * v[j] * v[i], "sum"))
  expect_slopes(gradient(f)(r)$r, f, r, "Toeplitz")
})
