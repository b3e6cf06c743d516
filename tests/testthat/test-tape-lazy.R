# Reductions with traced operands, against central differences, closed forms and dense linear algebra.

list2env(tape_points, environment())
K <- function(x, s = 0.9) exp(-sqdist(Vi(x), Vj(y)) / s^2)
smoothed <- function(x, y, s, b) sum(w * (exp(-sqdist(Vi(x), Vj(y)) / s^2) %*% b))

test_that("operands of every kind remember the value they were made of", {
  skip_below("quick")
  A <- matrix(stats::rnorm(n * (n + 2)), n)
  f <- function(x, y, s, b, w, A) {
    sum(Vi(w) * exp(-sqdist(Vi(x) * Pm(s), Vj(y) * s)) * Vj(b) + A * Vij(A)^2, index = "ij")
  }
  expect_gradient(f, x, y, c(0.5, 1, 0.7), b, w, A)
  expect_gradient(function(s, p) sum(abs(Vi(w) - Vj(b) / s)^p, index = "ij"), 0.8, 1.5)
  expect_gradient(function(s) sum(lazy_if(Vi(w) < Vj(b), s, max2(Vi(w), s)), index = "ij"), 0.8)
  expect_gradient(function(s) sum(kernel_matern(x, y, scale = s), index = "ij"), c(0.5, 1, 2))
  expect_gradient(function(a, p) sum(kernel_polynomial(x, y, offset = a, degree = p)^2, index = "ij"), 9, 1.5)
})

test_that("products with traced numbers on either side, rows, columns, diagonals and whole matrices", {
  skip_below("quick")
  B <- unname(cbind(b, rev(b)))
  expect_gradient(function(x, B) sum((K(x) %*% B)^2), x, B)
  expect_gradient(function(x, w) sum(crossprod(K(x), w)^2), x, w)
  expect_gradient(function(x, w) sum(crossprod(w, K(x))^2), x, w)
  expect_gradient(function(x, v) sum((v %*% K(x))^2), x, w)
  expect_gradient(function(x, B) sum(tcrossprod(K(x), B)^2), x, t(B))
  expect_gradient(function(x, B) sum(tcrossprod(B, t(K(x)))^2), x, t(u))
  expect_gradient(function(x) sum(rowSums(K(x))^2) + sum(colMeans(K(x))^2), x)
  expect_gradient(function(x) sum(diag(K(x))^2), x)
  expect_gradient(function(x) sum(as.matrix(K(x))^2), x)
  expect_gradient(function(x) sum(as.matrix(Vi(x) * Vj(y))^3), x)
  expect_gradient(function(x) sum(K(x)[c(3, 1, 1), -2]^2, index = "ij"), x)
})

# --- every reduction, every order -------------------------------------------------------------------------------

test_that("every reduction has gradients and products with its Hessian, over every axis", {
  skip_below("quick")
  ops <- c("sum", "min", "max", "logsumexp", "sumsoftmaxweight", "prod", "mean", "variance", "Kmin")
  for (op in ops) for (index in c("j", "i", "ij")) {
    f <- function(x, s) {
      F <- 0.2 + sqdist(Vi(x), Vj(y)) / s
      weight <- if (op == "sumsoftmaxweight") sum(Vi(x)) * Vj(b)
      sum(reduction(F, op, index = index, K = if (op == "Kmin") 3, weight = weight)^2)
    }
    scale <- if (op == "prod") 20 else 1
    expect_gradient(f, x, scale, tolerance = 1e-5)
    expect_hvp(f, x, scale, v = u, tolerance = 1e-5, label = paste(op, index))
  }
})

test_that("third derivatives on the tape are those of the formula", {
  f <- function(s) sum(logsumexp(-sqdist(Vi(x), Vj(y)) * s))
  third <- gradient(function(s) hessian(f)(s)[1])(0.7)[[1]]
  h <- 1e-4
  expect_equal(third, (hessian(f)(0.7 + h) - hessian(f)(0.7 - h))[1] / (2 * h), tolerance = 1e-5)
})

test_that("ties go to the first, zeros of a product to each other's factors", {
  expect_identical(gradient(function(v) sum(min(Vj(v), index = "j")))(c(2, 1, 1))[[1]], c(0, 1, 0))
  expect_identical(gradient(function(v) sum(max(Vj(v), index = "j")))(c(3, 1, 3))[[1]], c(1, 0, 0))
  for (v in list(c(2, 0, 3), c(0, 0, 3), c(0, 0, 0, 4))) {
    product <- function(v) sum(prod(Vj(v), index = "j"))
    expect_equal(gradient(product)(v)[[1]], vapply(seq_along(v), function(k) prod(v[-k]), 0))
    H <- outer(seq_along(v), seq_along(v), Vectorize(function(a, b) if (a == b) 0 else prod(v[-c(a, b)])))
    expect_equal(hessian(product)(v), H)
  }
})

test_that("gathered points give back to where they came from, twice if taken twice", {
  skip_below("quick")
  f <- function(x, y) sum(w[1:3] * (exp(-sqdist(Vi(x), Vj(y)))[c(4, 1, 1), -2] %*% b[-2]))
  expect_gradient(f, x, y)
  expect_hvp(f, x, y, v = u)
  expect_gradient(function(x) sum(min(exp(-sqdist(Vi(x), Vj(y)))[c(4, 1, 1), 9:1], index = "j")^2), x)
})

# --- shapes, kinds, settings ------------------------------------------------------------------------------------

test_that("gradients have the names and shapes of what was given", {
  named <- structure(x, dimnames = list(letters[1:n], c("a", "b", "c")))
  got <- gradient(smoothed)(named, y, c(s = 0.9), stats::setNames(b, LETTERS[1:9]))
  expect_identical(dimnames(got$x), dimnames(named))
  expect_named(got$s, "s")
  expect_named(got$b, LETTERS[1:9])
  parts <- gradient(function(par) smoothed(par$x, y, par$s, b))(list(x = x, s = 0.9))$par
  expect_equal(parts, list(x = got$x, s = unname(got$s)), ignore_attr = "dimnames")
  expect_equal(gradient(function(v) sum(Vi(v) * Vj(b), index = "ij"))(1:3 + 0)[[1]], rep(sum(b), 3))
  row <- function(p) sum(sum(Vi(x) * Pm(p)) * Vj(b), index = "ij")
  expect_identical(dim(gradient(row)(matrix(1, 1, 3))[[1]]), c(1L, 3L))
})

test_that("names of points and columns are those of the plain result", {
  named <- structure(x, dimnames = list(letters[1:n], NULL))
  B <- matrix(b, 9, 2, dimnames = list(NULL, c("p", "q")))
  f <- function(x) exp(-sqdist(Vi(x), Vj(y))) %*% B
  seen <- NULL
  gradient(function(x) {
    seen <<- dimnames(f(x))
    sum(f(x))
  })(named)
  expect_identical(seen, list(letters[1:n], c("p", "q")))
})

test_that("no points, one point, and values that nothing depends on", {
  f <- function(x) sum(exp(-sqdist(Vi(x), Vj(y))) %*% b)
  expect_identical(gradient(f)(x[0, ])[[1]], x[0, ])
  expect_equal(gradient(f)(x[1, , drop = FALSE])[[1]], gradient(f)(x)[[1]][1, , drop = FALSE])
  nearest <- function(x, y) sum(min(sqdist(Vi(x), Vj(y)), index = "j"))
  expect_identical(gradient(nearest)(x, y[0, ]), list(x = 0 * x, y = y[0, ]))
  flat <- function(x) sum(sum(lazy_if(Vi(x) < 0, 1, 2)) * Vj(b), index = "ij")
  expect_identical(gradient(flat)(x)[[1]], 0 * x)
})

test_that("whole numbers, truths and places have no gradient, by class", {
  f <- function(x, codes) sum(Vi(x) * Vj(codes), index = "ij")
  expect_named(gradient(f)(c(1, 2), 1:3), "x")
  expect_error(gradient(function(x) f(x, 1))(c(TRUE, FALSE)), class = "kernweave_error_no_gradient")
  whole <- traced_at(1:3)[[1]]
  for (make in list(Vi, Vj, Pm)) expect_error(make(whole), class = "kernweave_error_no_gradient")
  expect_error(gradient(function(x) sum(K(u)[x, ], index = "ij"))(c(1, 2)), class = "kernweave_error_no_gradient")
  places <- function(x) sum(argmin(sqdist(Vi(x), Vj(y))))
  expect_error(gradient(places)(x), class = "kernweave_error_no_gradient")
  counts <- function(x) sum(reduction(sqdist(Vi(x), Vj(y)) < 1, "count"))
  expect_identical(gradient(counts)(x)[[1]], 0 * x)
})

test_that("settings go with the derivative, on every device and in both precisions", {
  skip_below("quick")
  everywhere(function(device, precision) {
    f <- function(x, s) {
      D <- lazy_set(sqdist(Vi(x), Vj(y)), device = device, precision = precision)
      sum(w * (exp(-D / s^2) %*% b)) + sum(logsumexp(-D / s)) + sum(min(D, index = "i"))
    }
    plain <- function(x, s) {
      D <- sqdist(Vi(x), Vj(y))
      sum(w * (exp(-D / s^2) %*% b)) + sum(logsumexp(-D / s)) + sum(min(D, index = "i"))
    }
    loose <- if (precision == "float64") 1e-12 else 1e-4
    expect_equal(gradient(f)(x, 0.9), gradient(plain)(x, 0.9), tolerance = loose)
    expect_equal(hvp(f)(x, 0.9, v = list(u, 0.5)), hvp(plain)(x, 0.9, v = list(u, 0.5)), tolerance = loose)
    expect_equal(with_kernweave(gradient(plain)(x, 0.9), device = device, precision = precision),
                 gradient(plain)(x, 0.9), tolerance = loose)
  })
})

test_that("prepared functions, text formulas and operations on numbers alone are traced", {
  kde <- as.function(sum(exp(-sqdist(Vi(dim = 3, name = "p"), Vj(y)) / Pm(dim = 1, name = "s")), index = "j"))
  expect_gradient(function(x, s) sum(kde(x, s)^2), x, 0.9)
  gauss <- kernel_op("exp(-s * sqdist(x, y)) * b", c("x = Vi(3)", "y = Vj(3)", "b = Vj(1)", "s = Pm(1)"))
  expect_gradient(function(x, b, s) sum(gauss(x, y, b, s)^2), x, b, 0.9)
  expect_gradient(function(v) sum(relu(v)^2) + sqdist(v, c(1, 2, 3)), c(-1, 2, 0.5))
})

test_that("cotangents and tangents may be traced, of reductions in the function", {
  f <- function(x, g) {
    X <- Vi(x, name = "x")
    R <- reduction(exp(-sqdist(X, Vj(y))), "sum", call = FALSE)
    sum(vjp(R, X, g)^2) + sum(jvp(R, X, x)^3)
  }
  expect_gradient(f, x, w)
})

test_that("a function that is called again plans and differentiates nothing anew", {
  f <- function(x, s) sum(w * (exp(-sqdist(Vi(x), Vj(y)) / s) %*% b)) + sum(variance(sqdist(Vi(x), Vj(y))))
  # The cache is emptied first: templates of other tests may fill it just now, and a full cache is emptied.
  templates <- kernweave:::templates
  rm(list = ls(templates), envir = templates)
  gradient(f)(x, 0.9)
  before <- length(templates$keys)
  expect_gt(before, 0)
  steps <- lapply(templates$values, function(t) t$reduction$cache$steps)
  for (k in 1:3) gradient(f)(x + k, 0.9 + k)
  expect_length(templates$keys, before)
  expect_identical(lapply(templates$values, function(t) t$reduction$cache$steps), steps)
})

test_that("forward mode, cotangents of any shape, and objectives go through reductions", {
  f <- function(x, s) exp(-sqdist(Vi(x), Vj(y)) / s) %*% b
  slope <- (f(x + 1e-6 * u, 0.9 + 1e-6) - f(x - 1e-6 * u, 0.9 - 1e-6)) / 2e-6
  expect_equal(jvp(f)(x, 0.9, tangent = list(u, 1)), slope, tolerance = 1e-6)
  back <- vjp(f)(x, 0.9, cotangent = matrix(w))
  expect_equal(sum(back$x * u) + back$s, sum(w * slope), tolerance = 1e-6)
  fit <- objective(function(s) sum((f(x, exp(s)) - f(x, 0.9))^2), 0.5)
  found <- stats::optim(fit$par, fit$fn, fit$gr, method = "BFGS", control = list(reltol = 1e-14))
  expect_equal(exp(found$par), 0.9, tolerance = 1e-4, ignore_attr = TRUE)
})

test_that("traced numbers for rows, components bound to them, and reductions that were not called at once", {
  skip_below("quick")
  expect_gradient(function(w, x) sum((w * K(x)) %*% b) + sum((K(x) / w)^2, index = "ij"), w, x)
  expect_gradient(function(s) sum(sqdist(c(Vi(w), s), c(Vj(b), s)), index = "ij"), 0.7)
  expect_gradient(function(x) sum(as.matrix(reduction(K(x), "logsumexp", call = FALSE))^2), x)
  expect_gradient(function(x) sum(logsumexp(K(x), drop = TRUE)^2), x)
})

test_that("gradients go through a diagonal, whose rows are numbered by themselves", {
  x <- matrix(c(0.3, -0.5, 0.8, 0.1, 0.6, -0.2), 3)
  y <- matrix(c(0.2, 0.4, -0.6, 0.9, 0.5, -0.1, 0.7, -0.3), 4)
  w <- c(1, -2, 3)
  through <- list(
    square = function(x) sum(w * diag(exp(sum(Vi(x) * Vj(x))))^2),
    wide = function(x) sum(w * diag(exp(sum(Vi(x) * Vj(y))))),
    long = function(x) sum(w * diag(exp(sum(Vi(y) * Vj(x))))),
    taken = function(x) sum(w[1:2] * diag(exp(sum(Vi(x) * Vj(x)))[c(3, 1), 2:3])),
    restricted = function(x) sum(w * diag(restrict(exp(sum(Vi(x) * Vj(x))), by = c(1, 2, 1)))),
    complex = function(x) sum(w * Re(diag(exp(1i * sum(Vi(x) * Vj(x))))))
  )
  for (name in names(through)) {
    f <- through[[name]]
    slope <- vapply(1:6, function(k) diff(vapply(c(-1, 1), function(s) f(x + s * 1e-5 * (1:6 == k)), 0)) / 2e-5, 0)
    expect_equal(as.vector(gradient(f)(x)[[1]]), slope, tolerance = 1e-6, info = name)
  }
})
