# Gradients through choices, powers and other points where a slope is infinite or none.

gradient_of <- function(formula, at, ...) {
  F <- Vi(at, name = "F")
  as.vector(vjp(sum(formula(F), index = "i", call = FALSE, ...), F))
}

test_that("the gradient of a guarded formula is that of the branch taken, also where the other has none", {
  at <- c(-4, -1, -0, 0, 0.5, 1, 4)
  size <- abs(at)
  cases <- list(
    root = list(function(f) lazy_if(f > 0, sqrt(f), 2 * f), ifelse(at > 0, 0.5 / sqrt(size), 2)),
    log = list(function(f) lazy_if(f > 0, log(f), 0), ifelse(at > 0, 1 / at, 0)),
    reciprocal = list(function(f) lazy_if(f == 0, 1, 1 / f), ifelse(at == 0, 0, -1 / at^2)),
    nested = list(function(f) lazy_if(f > 0, lazy_if(f < 1, log(f), f), -f),
                  ifelse(at > 0, ifelse(at < 1, 1 / at, 1), -1)),
    sides = list(function(f) lazy_if(f == 0, f, lazy_if(f > 0, log(f), log(-f))), ifelse(at == 0, 1, 1 / at)),
    overflow = list(function(f) lazy_if(f < 1, exp(1000 * (f - 1)), f),
                    ifelse(at < 1, 1000 * exp(1000 * (at - 1)), 1)),
    shared = list(function(f) {
      l <- log(f)
      lazy_if(f > 0, l, 0) + lazy_if(f > 1, l^2, 0)
    }, ifelse(at > 0, 1 / at, 0) + ifelse(at > 1, 2 * log(size) / at, 0)),
    chained = list(function(f) relu(log(relu(f) + 0)), ifelse(at >= 1, 1 / at, 0)),
    clamp = list(function(f) clamp(log(abs(f)), -1, 1), ifelse(abs(log(size)) <= 1, 1 / at, 0)),
    relu = list(function(f) relu(log(abs(f))), ifelse(size >= 1, 1 / at, 0)),
    larger = list(function(f) max2(log(abs(f)), -1), ifelse(log(size) >= -1, 1 / at, 0)),
    smaller = list(function(f) min2(1 / abs(f), 1), ifelse(size >= 1, -sign(at) / at^2, 0)),
    largest = list(function(f) max(c(log(abs(f)), f)), ifelse(log(size) >= at, 1 / at, 1)),
    smallest = list(function(f) min(c(1 / abs(f), abs(f))), ifelse(size >= 1, -sign(at) / at^2, sign(at))),
    components = list(function(f) sum(lazy_if(c(f, -f) > 0, log(c(f, -f)), 0)), ifelse(at == 0, 0, 1 / at)),
    places = list(function(f) sum(lazy_if(c(f, f) > c(0, 1), log(c(f, sqrt(f)))[, , 2:1], 0)),
                  ifelse(at > 0, 0.5 / at, 0) + ifelse(at > 1, 1 / at, 0)),
    matrix = list(function(f) sum(lazy_if(c(f, f) > 0, matvecmult(Pm(c(1, 2, 3, 4)), log(c(f, f))), 0)),
                  ifelse(at > 0, 10 / at, 0))
  )
  for (name in names(cases)) everywhere(function(...) {
    # A logarithm of 0 is no smaller or larger than itself: there the derivative is really infinite.
    keep <- !(name == "largest" & at == 0)
    got <- gradient_of(cases[[name]][[1]], at, ...)
    expect_close(got[keep], cases[[name]][[2]][keep], 1e-6, label = paste(name, ...))
  })
})

test_that("missing and infinite numbers that a formula leaves out stay out of its gradient", {
  at <- c(NaN, 2, Inf, -1)
  everywhere(function(...) {
    expect_close(gradient_of(function(f) lazy_if(f == f, f * 3, 0), at, ...), c(0, 3, 3, 3), 1e-6)
    expect_close(gradient_of(function(f) lazy_if(abs(f) < 10, f^2, 0), at, ...), c(0, 4, 0, -2), 1e-6)
  })
})

test_that("a guarded reciprocal distance over one set of points has derivatives of first and second order", {
  p <- matrix(c(0, 0, 2, 1, 0, 0, 1, -1), 4)
  u <- matrix(c(1, -0.5, 0.3, 0.7, 0.2, 0.1, -1, 0.4), 4)
  apart <- as.matrix(stats::dist(p)) > 0
  energy <- function(v) sum(ifelse(apart, 1 / as.matrix(stats::dist(v)), 0))
  R <- function(X, ...) {
    d <- sqdist(X, t(X))
    sum(lazy_if(d > 0, 1 / sqrt(d), 0), index = "ij", call = FALSE, ...)
  }
  slope <- differences(energy, p)
  bend <- (differences(energy, p + 1e-4 * u, 1e-4) - differences(energy, p - 1e-4 * u, 1e-4)) / 2e-4
  everywhere(function(...) {
    X <- Vi(p)
    expect_close(vjp(R(X, ...), X), slope, 1e-5)
    expect_close(jvp(R(X, ...), X, u), sum(slope * u), 1e-5)
    first <- vjp(R(X, ...), X, 1, call = FALSE)
    expect_close(jvp(first, X, u), bend, 1e-4)
    expect_close(vjp(first, X, u), bend, 1e-4)
    expect_close(jvp(jvp(R(X, ...), X, u, call = FALSE), X, u), sum(bend * u), 1e-4)
  })
})

test_that("a power has the gradient of a root at 0 where its exponent is less than 1, in every way to write it", {
  p <- matrix(c(0, 0, 1, 2), 2)
  roots <- list(function(d) sqrt(d), function(d) d^0.5, function(d) d^Pm(0.5), function(d) d^Vi(c(0.5, 0.5)))
  for (root in roots) everywhere(function(...) {
    X <- Vi(p)
    R <- sum(root(sqdist(X, Vj(p))), index = "j", call = FALSE, ...)
    expect_close(vjp(R, X), cbind(c(0, 0), c(-1, 1)), 1e-6)
    expect_true(all(is.finite(jvp(vjp(R, X, 1, call = FALSE), X, p))))
  })
  at <- c(0, 0.5, 2)
  slopes <- function(n) ifelse(at == 0, if (n > 1) 0 else if (n == 1) 1 else if (n >= 0) 0 else -Inf, n * at^(n - 1))
  for (n in c(-1.5, -0.5, 0, 0.3, 0.5, 1, 1.5, 2.5)) everywhere(function(...) {
    expect_close(gradient_of(function(f) f^n, at, ...), slopes(n), 1e-6, label = paste("number", n, ...))
    expect_close(gradient_of(function(f) f^Pm(n), at, ...), slopes(n), 1e-6, label = paste("parameter", n, ...))
  })
  X <- Vi(p)
  expect_identical(vjp(sum(minkowski(X, Vj(p[1, , drop = FALSE]), 3), index = "j", call = FALSE), X)[1, ], c(0, 0))
})

test_that("pairs that are none of the K best leave the gradient finite", {
  x <- matrix(c(0, 1.2, 3))
  y <- c(0, 2, 5)
  best <- function(v) sum(apply(1 / outer(as.vector(v), y, "-")^2, 1, function(row) sum(sort(row)[1:2])))
  X <- Vi(x)
  everywhere(function(...) {
    R <- Kmin(1 / sqdist(X, Vj(y)), K = 2, call = FALSE, ...)
    expect_close(vjp(R, X), differences(best, x), 1e-5)
  })
})
