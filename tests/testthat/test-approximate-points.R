# Points made of data and parameters, in the ways to write them, against all pairs: products and gradients.

arguments_of <- function(d, seed, n = 250, m = 200) {
  with_local_seed(seed, list(
    x = matrix(stats::runif(n * d), n), y = matrix(stats::runif(m * d), m), b = matrix(stats::rnorm(2 * m), m),
    g = matrix(stats::rnorm(2 * n), n), u = stats::runif(n, 0.5, 1), w = stats::runif(m, 0.5, 1),
    s = seq(1.5, 2.5, length.out = d), l = 0.4, c = rep(0.1, d),
    A = as.vector(diag(1.5, d) + stats::runif(d^2, -0.4, 0.4))
  ))
}
component <- function(X, k) if (width(X) < k) 0 * X[, , 1] else X[, , k]

# The kernels as somebody may type them: of points that are scaled, turned, shifted or bent before.
typed <- list(
  scaled_points = function(x, y, s) exp(-sqdist(Vi(x) * Pm(s), Vj(y) * Pm(s))),
  one_scale = function(x, y, l) exp(-sqdist(Vi(x) / Pm(l), Vj(y) / Pm(l))),
  scaled_difference = function(x, y, s) exp(-sqnorm2((Vi(x) - Vj(y)) * Pm(s))),
  one_width = function(x, y, l) exp(-norm2((Vj(y) - Vi(x)) / Pm(l))),
  norm_of_scaled = function(x, y, s) exp(-norm2(Vi(x) * Pm(s) - Vj(y) * Pm(s))),
  one_norm = function(x, y, l) 1 / (1 + norm2(Vi(x) / Pm(l) - Vj(y) / Pm(l))),
  opposite = function(x, y, s) exp(-sqnorm2(-Vi(x) * Pm(s) + Vj(y) * Pm(s))),
  squares = function(x, y, s) 1 / (1 + sum((Vi(x) * Pm(s) - Vj(y) * Pm(s))^2)),
  inner = function(x, y, s) exp(-(((Vi(x) - Vj(y)) * Pm(s)) | (Vi(x) - Vj(y)))),
  weighted = function(x, y, s) exp(-weighted_sqdist(Pm(s), Vi(x), Vj(y))),
  one_weight = function(x, y, l) exp(-weighted_sqnorm(Pm(l), Vi(x) - Vj(y))),
  euclidean = function(x, y, s) exp(-euclidean(Vi(x) * Pm(s), Vj(y) * Pm(s))),
  metric = function(x, y, A) exp(-sqdist(matvecmult(Pm(A), Vi(x)), matvecmult(Pm(A), Vj(y)))),
  metric_of_difference = function(x, y, A) exp(-norm2(vecmatmult(Vi(x) - Vj(y), Pm(A)))),
  mahalanobis = function(x, y, A) {
    d <- ncol(x)
    weighted <- vecmatmult(Vi(x) - Vj(y), matmult(Pm(A), Pm(as.vector(diag(d))), inner = d))
    exp(-(weighted | weighted))
  },
  shifted = function(x, y, c) exp(-sqdist(Vi(x) + Pm(c), Vj(y))),
  shifted_difference = function(x, y, c) exp(-sqnorm2(Vi(x) - Vj(y) - Pm(c))),
  affine = function(x, y, s, c) exp(-sqdist(Vi(x) * Pm(s) + Pm(c), Vj(y) * Pm(s))),
  bent = function(x, y, s) exp(-sqdist(sin(Vi(x)) * Pm(s), sin(Vj(y)) * Pm(s))),
  scaled_before = function(x, y, s) exp(-sqdist(sin(Vi(x) * Pm(s)), sin(Vj(y) * Pm(s)))),
  one_before = function(x, y, l) exp(-sqdist(sin(Vi(x) * Pm(l)), sin(Vj(y) * Pm(l)))),
  one_side = function(x, y, l) exp(-sqdist(Vi(x) * Pm(l), Vj(y))),
  of_each_point = function(x, y, u, w) exp(-sqdist(Vi(x) * Vi(u), Vj(y) * Vj(w))),
  components_apart = function(x, y, l) {
    X <- Vi(x)
    Y <- Vj(y)
    squares <- lapply(1:3, function(k) ((component(X, k) - component(Y, k)) / Pm(l * k))^2)
    exp(-Reduce(`+`, squares))
  },
  operands_apart = function(x, y, l) {
    exp(-(((Vi(x[, 1]) - Vj(y[, 1])) / Pm(l))^2 + (Vi(x[, ncol(x)]^2) - Vj(y[, ncol(x)]^2))^2))
  },
  with_factors = function(x, y, s, u, w) Vi(u) * exp(-sqdist(Vi(x) * Pm(s), Vj(y) * Pm(s))) / Vj(w),
  with_outer = function(x, y, s, u, w) matmult(Vi(u), Vj(w), inner = 1) * exp(-sqdist(Vi(x) * Pm(s), Vj(y) * Pm(s))),
  ready = function(x, y, s) kernel_matern(x, y, s, nu = 1.5),
  sum_of_two = function(x, y, s, l) {
    kernel_gaussian(Vi(x) * Pm(s), Vj(y) * Pm(s)) + Pm(l) * kernel_cauchy(Vi(x) * Pm(s), Vj(y) * Pm(s))
  }
)

test_that("products are as near as is proved, however points are written", {
  skip_below("quick")
  cases <- combinations(name = names(typed), d = 1:3, times = 2)
  for (case in seq_len(nrow(cases))) {
    name <- cases$name[case]
    d <- cases$d[case]
    p <- arguments_of(d, 10 * d + match(name, names(typed)))
    K <- do.call(typed[[name]], p[names(formals(typed[[name]]))])
    exact <- lazy_set(K, precision = "float64") %*% p$b
    for (tol in by_tier(10^c(-9, -6, -3)[d], 10^c(-9, -6, -3)[d], 10^-c(3, 6, 10)[seq_len(if (d == 3) 2 else 3)])) {
      label <- paste(name, d, tol)
      A <- eager(approximate(K, tol, "proof"), 1e5)
      if (d < 3) expect_gt(sum(plan_of(A)$levels$far_pairs), 0, label = label)
      expect_true(all(abs(A %*% p$b - exact) <= error_bound(A, p$b) + 1e-12 * sum(abs(p$b))), label = label)
      expect_lte(max(error_bound(A, p$b)), (1 + 1e-9) * tol * plan_of(A)$scale * max(colSums(abs(p$b))), label = label)
    }
    turned <- crossprod(A, p$g)
    expect_lte(max(abs(turned - crossprod(lazy_set(K, precision = "float64"), p$g))),
               2 * tol * plan_of(A)$scale * max(colSums(abs(p$g))), label = name)
  }
})

gradients_of <- function(build, p, tol) {
  f <- function(...) {
    K <- build(...)
    sum(p$g * (if (is.null(tol)) K %*% p$b else eager(approximate(K, tol, "proof"), 1e4) %*% p$b))
  }
  do.call(gradient(f), p[names(formals(build))])
}

test_that("gradients in points and in what they are multiplied by are those of all pairs", {
  skip_below("quick")
  cases <- combinations(name = names(typed), d = 1:3)
  for (case in seq_len(nrow(cases))) {
    name <- cases$name[case]
    d <- cases$d[case]
    p <- arguments_of(d, 50 * d + match(name, names(typed)))
    tol <- 10^c(-8, -6, -4)[d]
    exact <- gradients_of(typed[[name]], p, NULL)
    found <- gradients_of(typed[[name]], p, tol)
    for (argument in names(exact)) {
      off <- sqrt(sum((found[[argument]] - exact[[argument]])^2) / sum(exact[[argument]]^2))
      expect_lt(off, 100 * tol, label = paste(name, d, argument))
    }
  }
})

test_that("without the diagonal, audited in float32, and in systems they are as well", {
  skip_below("quick")
  p <- arguments_of(2, 7, 300, 300)
  f <- function(tol, certify = "proof") function(x, s, A) {
    K <- exclude_diag(exp(-sqdist(Vi(x) * Pm(s), Vj(p$y) * Pm(s))))
    L <- 1 / (1 + weighted_sqdist(Pm(A), Vi(x), Vj(p$y)))
    products <- lapply(list(K, L), function(F) {
      if (is.null(tol)) F %*% p$b else eager(approximate(F, tol, certify), 100) %*% p$b
    })
    sum(p$g * products[[1]]) + sum(products[[2]]^2)
  }
  at <- list(p$x, p$s, c(2, 0.5, 0.5, 1))
  exact <- do.call(gradient(f(NULL)), at)
  expect_equal(do.call(gradient(f(1e-8)), at), exact, tolerance = 1e-7)
  expect_equal(do.call(gradient(f(1e-5, "audit")), at), exact, tolerance = 1e-4)
  ridge <- function(tol) function(s) {
    K <- exp(-sqdist(Vi(p$x) * Pm(s), Vj(p$x) * Pm(s)))
    A <- if (is.null(tol)) as_op(K) else eager(approximate(K, tol, "proof"), 1e4)
    sum(p$w * as.vector(solve(A + diagonal_op(rep(1, 300)), p$w, tol = 1e-10)))
  }
  expect_equal(gradient(ridge(1e-9))(p$s), gradient(ridge(NULL))(p$s), tolerance = 1e-6)
})

test_that("points far from the origin keep their digits where they are shifted", {
  skip_below("quick")
  for (d in 1:3) for (offset in c(0, 1e4, 1e8)) {
    p <- arguments_of(d, 70 + d)
    X <- Vi(p$x + offset)
    Y <- Vj(p$y + offset)
    for (K in list(exp(-sqnorm2(X - Y + Pm(p$c))), exp(-norm2((Y - X - 0.3) * Pm(p$s))))) {
      tol <- 10^c(-10, -10, -4)[d]
      A <- eager(approximate(K, tol, "proof"), 1e5)
      off <- abs(A %*% p$b - lazy_set(K, device = "reference", precision = "float64") %*% p$b)
      expect_true(all(off <= error_bound(A, p$b) + 1e-12 * rep(colSums(abs(p$b)), each = nrow(p$x))),
                  label = paste(d, offset, format(K)))
    }
  }
})

test_that("the matrix of scaled points on both sides is symmetric, and a direction in which all are one is none", {
  skip_below("quick")
  x <- with_local_seed(8, matrix(stats::runif(900), 300))
  A <- matrix(c(1, 0.5, 0, 0, 2, 0.3, 0.1, 0, 1.5), 3)
  b <- with_local_seed(9, stats::rnorm(300))
  for (by in list(A, tcrossprod(A[, 1]), crossprod(A[1:2, ]), diag(c(1, 0, 2)))) {
    K <- 1 / (1 + weighted_sqdist(Pm(as.vector(crossprod(by))), Vi(x), Vj(x)))
    op <- eager(approximate(K, 1e-8, "proof"), 1e4)
    expect_true(op$symmetric)
    expect_equal(op %*% b, lazy_set(K, precision = "float64") %*% b, tolerance = 1e-7)
  }
  zero <- function(tol) function(s) {
    K <- exp(-sqdist(Vi(x) * Pm(s), Vj(x) * Pm(s)))
    sum(b * as.vector(if (is.null(tol)) K %*% b else eager(approximate(K, tol, "proof"), 1e4) %*% b))
  }
  expect_equal(gradient(zero(1e-9))(c(1, 0, 2)), gradient(zero(NULL))(c(1, 0, 2)), tolerance = 1e-7)
  expect_equal(dim(approximate(exp(-sqdist(matvecmult(Pm(as.vector(A[1:2, ])), Vi(x)),
                                           matvecmult(Pm(as.vector(A[1:2, ])), Vj(x)))))), c(300L, 300L))
})

test_that("a fit by scales of components goes where that of all pairs goes", {
  skip_below("quick")
  p <- arguments_of(2, 9, 300, 300)
  target <- as.vector(exp(-sqdist(Vi(p$x) * Pm(c(2, 0.7)), Vj(p$y) * Pm(c(2, 0.7)))) %*% p$b[, 1])
  loss <- function(s) {
    K <- exp(-sqdist(Vi(p$x) * Pm(s), Vj(p$y) * Pm(s)))
    sum((as.vector(eager(approximate(K, 1e-8, "proof")) %*% p$b[, 1]) - target)^2)
  }
  o <- objective(loss, c(1.5, 1))
  expect_equal(unname(stats::optim(o$par, o$fn, o$gr, method = "BFGS")$par), c(2, 0.7), tolerance = 1e-3)
})

test_that("where all components count for nothing, the distance is 0", {
  x <- with_local_seed(11, matrix(stats::runif(600), 300))
  b <- with_local_seed(12, stats::rnorm(300))
  X <- Vi(x)
  Y <- Vj(x)
  none <- Pm(c(0, 0))
  of_zero <- list(exp(-sqdist(X * 0, Y * 0)), exp(-sqdist(X, Y) * 0), exp(-weighted_sqdist(none, X, Y)),
                  exp(-norm2((X - Y) * none)), kernel_gaussian(X, Y, Pm(Inf)))
  for (K in of_zero) {
    for (A in list(approximate(K), eager(approximate(K, certify = "proof"), 1e6), sparsify(K))) {
      expect_equal(as.vector(A %*% b), rep(sum(b), 300), tolerance = 1e-6, label = format(K))
    }
  }
  slope <- function(s) sum(b * (approximate(kernel_gaussian(X * s, Y * s), 1e-8, "proof") %*% b))
  expect_equal(gradient(slope)(c(0, 0))$s, c(0, 0))
  weights <- function(w) sum(b * (approximate(exp(-sum(square(X - Y) * w)), 1e-8, "proof") %*% b))
  exact <- function(w) sum(b * (exp(-sum(square(X - Y) * w)) %*% b))
  expect_equal(gradient(weights)(c(0, 0)), gradient(exact)(c(0, 0)), tolerance = 1e-6)
})

test_that("what is no formula of one distance says by what", {
  x <- with_local_seed(10, matrix(stats::runif(60), 20))
  X <- Vi(x, name = "x")
  Y <- Vj(x, name = "y")
  s <- Pm(1:3, name = "s")
  refused <- list(
    list(exp(-(sqnorm2(X) + sqnorm2(Y) - 2 * (X | Y))), "`x` enters beside the distance.*sqdist"),
    list(exp(-sqdist(X, Y)) * exp(-sqdist(X * s, Y * s)), "several distances.*own approximation"),
    list(exp(-sqdist(X, Y)) + sin(X[, , 1] * Y[, , 1]), "beside the distance"),
    list(exp(X | Y), "scalprod"), list(exp(-manhattan(X, Y)), "manhattan"),
    list(exp(-weighted_sqdist(Pm(c(1, 0, 0, 0, -1, 0.1, 0, 0.1, 1)), X, Y)), "metric is not positive"),
    list(exp(-sqnorm2(matvecmult(Pm(c(1, 0, 0, 1, 1e-7, 0, 0, 0, 1)), X - Y))), "nearly singular"),
    list(exp(-sum(square(X - Y) * Pm(c(1, -1, 1)))), "weight of -1"),
    list(1 / (1 + square(sqdist(X, Y) * Pm(1e-160))), "too large, or too small"),
    list(exp(-sqdist(X * Pm(1e-160), Y * Pm(1e-160))), "too large, or too small"),
    list(kernel_gaussian(X, Y, Pm(c(0, 0, 0))), "not finite, as 1 over a scale of 0"),
    list(kernel_cauchy(X, Y, Pm(c(0, 1, 1))), "not finite, as 1 over a scale of 0"),
    list(exp(-sqdist(X, Y) * NA_real_), "not finite"),
    list((X - Y)[, , 1] * exp(-square((X - Y)[, , 2])), "component of points that the distance does not")
  )
  for (case in refused) {
    expect_error(approximate(case[[1]]), case[[2]], class = "kernweave_error_not_a_distance", label = format(case[[1]]))
  }
})

test_that("points of integers, of TRUE and FALSE and of data frames stand on both sides, and in differences", {
  x <- with_local_seed(71, matrix(sample(30L, 600, TRUE), 300))
  b <- with_local_seed(72, stats::rnorm(300))
  for (points in list(x, x > 15, as.data.frame(x))) {
    F <- (Vi(points) - Vj(points)) * exp(-sqdist(Vi(points), Vj(points)) / 100)
    z <- data.matrix(as.data.frame(points)) + 0
    K <- exp(-as.matrix(stats::dist(z))^2 / 100)
    expected <- z * as.vector(K %*% b) - K %*% (z * b)
    expect_equal(unname(as.matrix(sum(F, index = "j", weight = Vj(b), tol = 1e-9))), unname(expected), tolerance = 1e-7)
  }
})
