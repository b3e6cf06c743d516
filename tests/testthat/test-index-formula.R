# Index formulas, C[i, j] ~ A[i, k] * B[k, j]: the right side is plain R wherever the axes are numbers.

set.seed(6)
A <- matrix(stats::rnorm(35), 5, 7)
B <- matrix(stats::rnorm(77), 7, 11)
v <- stats::rnorm(7)

test_that("products, sums and diagonals are those of base R", {
  expect_equal(reduction(C[i, j] ~ A[i, k] * B[k, j], "sum"), A %*% B)
  expect_equal(reduction(C[j, i] ~ A[i, k] * B[k, j], "sum"), t(A %*% B))
  expect_equal(reduction(w[i] ~ A[i, k] * v[k], "sum"), as.vector(A %*% v))
  expect_equal(reduction(s ~ A[i, k]^2, "sum"), sum(A^2))
  expect_equal(reduction(D[i] ~ A[i, i], "sum", data = list(A = A[, 1:5])), diag(A[, 1:5]))
  expect_equal(reduction(C[i, j] ~ abs(A[i, k] - B[k, j]), "max"),
               outer(1:5, 1:11, Vectorize(function(i, j) max(abs(A[i, ] - B[, j])))))
  expect_equal(reduction(C[i, j] ~ A[i, j] * v[j], "sum"), A * rep(v, each = 5))  # what the left side has is not summed
})

test_that("arrays of three dimensions meet as they do in base R", {
  X <- array(stats::rnorm(60), c(3, 4, 5))
  U <- matrix(stats::rnorm(8), 4)
  W <- matrix(stats::rnorm(10), 5)
  expect_equal(reduction(M[i, r] ~ X[i, j, k] * U[j, r] * W[k, r], "sum"),
               matrix(X, 3) %*% sapply(1:2, function(r) W[, r] %x% U[, r]))
  P <- array(stats::rnorm(24), c(2, 3, 4))
  Q <- array(stats::rnorm(60), c(3, 5, 4))
  expect_equal(reduction(R[i, j, b] ~ P[i, k, b] * Q[k, j, b], "sum"),
               array(sapply(1:4, function(b) P[, , b] %*% Q[, , b]), c(2, 5, 4)))
  expect_equal(reduction(R[b, a, c] ~ X[a, b, c], "sum"), aperm(X, c(2, 1, 3)))
})

test_that("gathers, components and windows mean what R makes of them", {
  x <- matrix(stats::rnorm(40), 20)
  g <- rep(1:4, 5)
  mu <- matrix(stats::rnorm(8), 4)
  S <- array(stats::rnorm(16), c(2, 2, 4))
  expect_equal(reduction(q[i] ~ (x[i, a] - mu[g[i], a]) * S[a, b, g[i]] * (x[i, b] - mu[g[i], b]), "sum"),
               sapply(1:20, function(i) {
                 z <- x[i, ] - mu[g[i], ]
                 sum(z * (S[, , g[i]] %*% z))
               }))
  expect_equal(reduction(u[i] ~ exp(-sqdist(x[i, ], mu[j, ])), "sum"),
               unname(rowSums(exp(-as.matrix(stats::dist(rbind(x, mu)))[1:20, 21:24]^2))))
  y <- stats::rnorm(30)
  w <- c(.2, .5, .3)
  expect_equal(reduction(m[t] ~ y[t + s - 1] * w[s], "sum"), as.vector(stats::filter(y, rev(w)))[2:29])
  expect_equal(reduction(m[t] ~ y[t - s + 3] * w[s], "sum"), as.vector(stats::filter(y, w))[2:29])
  N <- matrix(c(2L, 3L, 1L, 1L, 4L, 4L), 3)  # an index of neighbours
  expect_equal(reduction(s[i] ~ mu[N[i, k], a], "sum"), rowSums(mu[N[, 1], ] + mu[N[, 2], ]))
  expect_equal(reduction(s[k] ~ mu[g[3], k] * mu[2, k], "sum"), mu[3, ] * mu[2, ])
})

test_that("areas of triangles, triangles of graphs and attention are one formula each", {
  p <- matrix(stats::rnorm(24), 12)
  area <- function(a, b, c) abs((b[1] - a[1]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[1] - a[1])) / 2
  found <- reduction(s ~ abs((p[j, 1] - p[i, 1]) * (p[k, 2] - p[i, 2]) -
                               (p[j, 2] - p[i, 2]) * (p[k, 1] - p[i, 1])) / 2 * (i < j & j < k), "sum")
  expect_equal(found, sum(utils::combn(12, 3, function(t) area(p[t[1], ], p[t[2], ], p[t[3], ]))))
  G <- matrix(stats::runif(64) < .4, 8)
  G <- G & t(G)
  diag(G) <- FALSE
  expect_equal(reduction(s ~ G[i, j] & G[j, k] & G[k, i], "count"), sum(diag(G %*% G %*% G)))
  x <- matrix(stats::rnorm(8), 4)
  mu <- matrix(stats::rnorm(10), 5)
  z <- matrix(stats::rnorm(15), 5)
  soft <- prop.table(exp(x %*% t(mu)), 1)
  expect_equal(reduction(o[i] ~ sum(x[i, ] * mu[j, ]), "sumsoftmaxweight", weight = ~ z[j, ]), soft %*% z)
  expect_equal(reduction(o[i] ~ sum(x[i, ] * mu[j, ]), "sumsoftmaxweight", weight = ~ z[j, 2]),
               as.vector(soft %*% z[, 2]))
  expect_equal(reduction(o[i] ~ sum(x[i, ] * mu[j, ]), "logsumexp", weight = ~ z[j, 2]^2),
               as.vector(log(exp(x %*% t(mu)) %*% z[, 2]^2)))
})

test_that("random contractions are what loops and eval() make of them", {
  for (seed in trials(200)) expect_index(random_contraction(seed), "sum", seed)
})

test_that("random formulas are what loops and eval() make of them", {
  for (seed in trials(200)) expect_index(random_index_formula(seed), "sum", seed)
})

test_that("every reduction of random formulas is that of the loops", {
  table <- kernweave_reductions()
  table <- table[table$fn != "sumsoftmaxweight", ]
  for (r in seq_len(nrow(table))) for (seed in trials(40)) {
    example <- random_index_formula(1000 * r + seed, logical = table$fn[r] %in% c("any", "all", "count"))
    expect_index(example, table$fn[r], 1000 * r + seed, K = if (table$inputs[r] == "value_k") 2)
  }
})

test_that("formulas of components and weights are those of the loops", {
  for (op in c("sum", "mean", "variance", "min_argmin")) for (seed in trials(60)) {
    expect_index(random_index_formula(seed, wide = TRUE), op, seed)
  }
  for (seed in trials(60)) expect_index(random_index_formula(seed, wide = TRUE), "Kmax_argKmax", seed, K = 2)
  for (op in c("sum", "logsumexp", "sumsoftmaxweight")) for (seed in trials(60)) {
    expect_index(random_weighted(seed, wide = seed %% 2 == 0), op, seed)
  }
})

test_that("extents of blocks, tiles and tails change nothing", {
  skip_below("quick")
  for (op in c("sum", "max", "argmin", "logsumexp")) for (seed in trials(48)) {
    expect_index(random_large(seed), op, seed, at_once = TRUE, tolerance = 1e-9)
  }
})

test_that("more results than an axis of components may have", {
  skip_below("quick")
  long <- stats::rnorm(2100)
  wide <- matrix(stats::rnorm(1300 * 3), 1300)
  expect_equal(reduction(C[i, j] ~ long[i] * wide[j, k], "sum"), outer(long, rowSums(wide)))
  expect_equal(reduction(C[j, i] ~ long[i] * wide[j, k], "sum"), outer(rowSums(wide), long))
  expect_equal(reduction(C[k, j] ~ pmin(long[i], wide[j, k]), "max"), t(pmin(wide, max(long))))
})

test_that("positions among several folded axes count as in an array of them, the first mentioned fastest", {
  X <- array(sample(60), c(3, 4, 5))
  largest <- function(X) apply(X, 1, which.max)
  expect_equal(reduction(s[i] ~ X[i, j, k], "argmax"), largest(X))
  expect_equal(reduction(s[j] ~ X[i, j, k], "argmax"), largest(aperm(X, c(2, 1, 3))))
  expect_equal(reduction(s ~ X[i, j, k], "argmax"), which.max(X))
  Y <- aperm(X, c(3, 1, 2))
  expect_equal(reduction(s ~ Y[k, i, j], "argmin"), which.min(Y))
  zero <- numeric(5)
  expect_equal(reduction(s ~ zero[k] + X[i, j, k], "argmin"), which.min(aperm(X, c(3, 1, 2))))
  expect_equal(reduction(s[i] ~ X[i, j, k], "argKmin", K = 3), t(apply(X, 1, function(x) order(x)[1:3])))
})

test_that("formulas in single precision are near", {
  skip_below("quick")
  for (op in c("sum", "logsumexp", "max")) for (seed in trials(20)) {
    expect_index(random_contraction(seed), op, seed, precision = "float32", tolerance = 1e-4)
    expect_index(random_index_formula(seed), op, seed, precision = "float32", tolerance = 1e-4)
  }
})

test_that("the reference gives the same, or says that it cannot", {
  skip_below("quick")
  for (seed in trials(80)) {
    example <- random_index_formula(seed)
    can <- tryCatch(length(reduction(example$formula, "sum", data = example$data, device = "reference")) > 0,
                    kernweave_error = function(e) FALSE)
    if (can) expect_index(example, "sum", seed, device = "reference")
  }
})

test_that("1, 2 and 3 threads give the same bits", {
  long <- stats::rnorm(3000)
  X <- array(stats::rnorm(40 * 3 * 25), c(40, 3, 25))
  formulas <- list(s[i] ~ exp(-abs(long[i] - X[j, k, l])), s ~ long[i] * X[j, k, l], s[k] ~ pmin(long[i], X[j, k, l]),
                   m[t] ~ long[t + s - 1] * X[s, 1, 1], s[l, j] ~ X[j, k, l] * X[m, k, l])
  for (f in formulas) for (op in c("sum", "logsumexp", "argmin")) {
    of <- function(threads) reduction(f, op, threads = threads)
    one <- of(1)
    for (threads in 2:3) expect_identical(of(threads), one, label = paste(deparse(f), op, threads))
  }
})

test_that("no points and one point are ordinary extents", {
  data <- list(a = matrix(0, 0, 3), b = matrix(1:6 + 0, 3, 2), o = matrix(1:3 + 0, 1), n = numeric(0))
  formulas <- list(C[i, j] ~ a[i, k] * b[k, j], C[j, i] ~ a[i, k] * b[k, j], s ~ a[i, k] * b[k, j], s[i] ~ n[i],
                   s[k] ~ a[i, k] * b[k, j], C[i, j] ~ o[i, k] * b[k, j], C[k, i, j] ~ o[i, k] * b[k, j],
                   s[i] ~ o[i, k], s[k, i] ~ a[i, k], s ~ n[i] * b[k, j], s[k, j] ~ n[i] * b[k, j])
  for (f in formulas) for (op in c("sum", "prod", "max", "logsumexp", "mean", "count", "any", "all", "min_argmin")) {
    if (op %in% c("count", "any", "all")) f[[3]] <- call(">", f[[3]], 1)
    expect_index(list(formula = f, data = data), op, "extents 0 and 1:")
  }
  expect_identical(dim(reduction(C[i, j, k] ~ a[i, k] * b[k, j], "sum", data = data)), c(0L, 2L, 3L))
})

test_that("the result has the extents of the left side: an array, a vector, a number", {
  X <- array(0, c(3, 4, 5))
  of <- function(f, op = "sum", ...) dim(reduction(f, op, ...))
  expect_identical(of(R[k, i] ~ X[i, j, k]), c(5L, 3L))
  expect_identical(of(R[k, i, j] ~ X[i, j, k]), c(5L, 3L, 4L))
  expect_null(of(R[i] ~ X[i, j, k]))
  expect_identical(of(R[i] ~ X[i, j, ]), c(3L, 5L))
  expect_identical(of(R[j, i] ~ X[i, j, ]), c(4L, 3L, 5L))
  expect_identical(of(R[i] ~ X[i, , ]), c(3L, 20L))
  expect_identical(of(R[i] ~ X[i, j, k], "argKmin", K = 2), c(3L, 2L))
  expect_identical(of(R[i, j] ~ X[i, j, k], "Kmin", K = 2), c(3L, 4L, 2L))
  expect_identical(of(R[i] ~ X[i, j, ], "Kmin", K = 2), c(3L, 5L, 2L))
  expect_length(reduction(R ~ X[i, j, k], "sum"), 1)
  expect_length(reduction(R ~ X[i, j, ], "sum"), 5)
})

test_that("names come from the first array that names an axis", {
  N <- A
  dimnames(N) <- list(letters[1:5], NULL)
  M <- B
  dimnames(M) <- list(LETTERS[1:7], 11:1)
  found <- reduction(C[i, j] ~ N[i, k] * M[k, j], "sum")
  expect_identical(dimnames(found), list(letters[1:5], as.character(11:1)))
  expect_identical(dimnames(reduction(C[j, i] ~ N[i, k] * M[k, j], "sum")), dimnames(found)[2:1])
  expect_identical(names(reduction(C[i] ~ N[i, k], "sum")), letters[1:5])
  expect_identical(names(reduction(C[k] ~ N[i, k] * M[k, j], "sum")), LETTERS[1:7])
  named <- stats::setNames(v, 7:1)
  expect_identical(names(reduction(C[k] ~ named[k] * M[k, j], "sum")), as.character(7:1))
  expect_null(names(reduction(s ~ named[k] * M[k, j], "sum")))
  expect_null(dimnames(reduction(C[i, j] ~ A[i, k] * B[k, j], "sum")))
  windowed <- reduction(C[t] ~ named[t + s - 1] * A[s, 1], "sum")
  expect_null(names(windowed))  # places of the array are not those of the result
})

test_that("names are looked for in data, then where the formula was written", {
  expected <- 2 * A %*% B
  given <- list(X = 2 * A)
  expect_equal(reduction(C[i, j] ~ X[i, k] * B[k, j], "sum", data = given), expected)
  expect_equal(reduction(C[i, j] ~ X[i, k] * B[k, j], "sum", data = list2env(given)), expected)
  X <- NULL
  expect_equal(reduction(C[i, j] ~ X[i, k] * B[k, j], "sum", data = given), expected)
  rows <- data.frame(u = 1:5, h = factor(c("b", "a", "b", "b", "a")))
  level <- c(10, 20)
  expect_equal(reduction(s[i] ~ u[i] * level[h[i]], "sum", data = rows), rows$u * level[rows$h])
  written <- function(scale) C[i] ~ scale * A[i, k]
  expect_equal(reduction(written(3), "sum"), 3 * rowSums(A))
  i <- 100
  expect_equal(reduction(C[i] ~ A[i, k] * (i > 2), "sum"), rowSums(A) * (1:5 > 2))  # i is the axis, not a number
  C <- "not looked at"
  expect_equal(reduction(C[i] ~ A[i, k], "sum"), rowSums(A))
})

test_that("a factor gathers by its levels", {
  h <- factor(c("x", "z", "x", "y", "z"), levels = c("z", "x", "y"))
  mu <- matrix(1:6 + 0, 3)
  expect_equal(reduction(C[i, a] ~ mu[h[i], a] * A[i, k], "sum"), mu[as.integer(h), ] * rowSums(A))
})

test_that("whole numbers, truth values and numbers beside arrays are read as in R", {
  whole <- matrix(1:6, 2)
  truth <- whole > 2
  two <- 2
  expect_equal(reduction(s[i] ~ two * whole[i, k] + truth[i, k], "sum"), rowSums(2 * whole + truth))
  expect_equal(reduction(s[i] ~ ifelse(truth[i, k], whole[i, k], -i), "sum"),
               rowSums(ifelse(truth, whole, -row(whole))))
  expect_equal(reduction(s ~ whole[2, 3] * two, "sum"), 12)
  expect_equal(reduction(s[i, k] ~ i * 10 + k + 0 * whole[i, k], "sum"), outer(1:2 * 10, 1:3, "+"))
  scale <- c(1, 10, 100)
  expect_equal(reduction(s[i] ~ whole[i, ] * scale, "sum"), whole * rep(scale, each = 2))
})

test_that("windows step, turn round and are gathered; components have a length and moments", {
  data <- list(y = stats::rnorm(10), w = stats::rnorm(3), g = c(2L, 1L, 3L, 3L), h = c(3L, 1L, 4L), A = A[1:3, 1:4])
  formulas <- list(s[t] ~ y[2 * t - 1], s[t] ~ y[11 - t], s[t] ~ y[2 * t + k - 2] * w[k],
                   s[t] ~ y[t - k + 3] * w[4 - k] * w[k],
                   s[t] ~ A[g[t + k - 1], j] * w[k], s[i] ~ A[g[h[i]], k], s[i] ~ length(A[i, ]) * A[i, k],
                   s[i] ~ mean(A[i, ]) - max(A[i, ]) * min(A[k, ]), s[i] ~ mean(w) * A[i, k] + i %% 2)
  for (f in formulas) expect_index(list(formula = f, data = data), "sum", "more places:")
  values <- A[1:3, 1:4]
  values[2, 2] <- NaN
  values[1, 3] <- Inf
  special <- list(s[i] ~ A[i, k], s[k] ~ A[i, k] * w[i], s ~ A[i, k] * w[j])
  for (f in special) for (op in c("sum", "max", "min", "argmax")) {
    expect_index(list(formula = f, data = list(A = values, w = data$w)), op, "NaN and Inf:")
  }
})

test_that("a reduction that is not called is computed later, and again from a file", {
  R <- reduction(C[i, j] ~ A[i, k] * B[k, j], "sum", call = FALSE)
  expect_equal(as.matrix(R), A %*% B)
  expect_equal(as.matrix(unserialize(serialize(R, NULL))), A %*% B)
  three <- reduction(C[i, j, k] ~ A[i, k] * B[k, j], "sum", call = FALSE)
  expect_equal(as.array(three), array(A[, rep(1:7, each = 11)] * rep(t(B), each = 5), c(5, 11, 7)))
})
