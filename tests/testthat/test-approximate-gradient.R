# Gradients through approximated matrices, against those of the same formula over all pairs.

kernels <- list(
  gaussian = function(x, y, s) kernel_gaussian(x, y, s),
  matern12 = function(x, y, s) kernel_matern(x, y, s, nu = 1 / 2),
  matern32 = function(x, y, s) kernel_matern(x, y, s, nu = 3 / 2),
  matern52 = function(x, y, s) kernel_matern(x, y, s, nu = 5 / 2),
  cauchy = function(x, y, s) kernel_cauchy(x, y, s),
  multiquadric = function(x, y, s) kernel_inverse_multiquadric(x, y, s),
  rational = function(x, y, s) kernel_rational_quadratic(x, y, s, alpha = 0.7),
  energy = function(x, y, s) kernel_energy(x, y, s),
  root_energy = function(x, y, s) kernel_energy(x, y, s, exponent = 0.5),
  thin_plate = function(x, y, s) kernel_thin_plate(x, y, s)
)

problem <- function(n, m, d, seed) {
  with_local_seed(seed, list(x = matrix(stats::runif(n * d), n), y = matrix(stats::runif(m * d), m),
                             b = stats::rnorm(m), g = stats::rnorm(n), u = stats::runif(n), w = stats::runif(m)))
}

# Returns a function that computes one number, with a gradient of all arguments: by pairs if tol is NULL.
as_one <- function(build, g, tol = NULL, certify = "proof", price = 1e4) {
  function(...) {
    made <- build(...)
    K <- if (is.null(tol)) made$K else eager(approximate(made$K, tol, certify), price)
    sum(g * (K %*% made$b))
  }
}

# Expects a gradient of each argument that is near the exact gradient, relative to the gradient's size.
expect_near_gradients <- function(build, arguments, g, label, tol = 1e-6, times = 10, ...) {
  exact <- do.call(gradient(as_one(build, g)), arguments)
  found <- do.call(gradient(as_one(build, g, tol, ...)), arguments)
  for (name in names(exact)) {
    off <- sqrt(sum((found[[name]] - exact[[name]])^2) / sum(exact[[name]]^2))
    expect_lt(off, times * tol, label = paste(label, name))
  }
}

test_that("gradients in points, scales, factors and weights are those of all pairs, however narrow the kernel", {
  skip_below("quick")
  cases <- combinations(name = names(kernels), d = 1:3, times = 2)
  for (case in seq_len(nrow(cases))) {
    name <- cases$name[case]
    d <- cases$d[case]
    p <- problem(300, 250, d, 10 * d + match(name, names(kernels)))
    build <- function(x, y, s, a, b) list(K = a * kernels[[name]](x, y, s), b = b)
    # Each width for some kernels, always the same: a derivative that is one number may cancel to next to nothing.
    widths <- c(0.5, 0.1, 0.02)
    for (h in if (d == 2 && reaches("usual")) widths else widths[(d + match(name, names(kernels))) %% 3 + 1]) {
      expect_near_gradients(build, list(x = p$x, y = p$y, s = h, a = 1.5, b = p$b), p$g, paste(name, d, h))
    }
  }
})

test_that("so are those of points on both sides, scales by component, factors of either side, hand-made kernels", {
  skip_below("quick")
  builds <- list(
    both_sides = function(p) function(x, s, b) list(K = kernel_matern(x, scale = s, nu = 1.5), b = b),
    two_operands = function(p) function(x, s, b) list(K = kernel_gaussian(x, x, s), b = b),
    components = function(p) function(x, s, b) {
      list(K = kernel_matern(x, p$x, c(1, 2) * s + c(0.1, 0.2), nu = 2.5), b = b)
    },
    scales = function(p) function(s, b) {
      list(K = exp(-sum(square(Vi(p$x) - Vj(p$x)) * Pm(c(s, 5)))), b = b)
    },
    factors = function(p) function(x, s, u, w, b) list(K = Vi(u) * kernel_cauchy(x, p$x, s) / Vj(1 + w), b = b),
    norms = function(p) function(x, s, b) {
      r <- norm2(Vi(x) - Vj(p$x)) / s
      list(K = (1 + r) * exp(-r), b = b)
    },
    scaled_norm = function(p) function(s, b) list(K = exp(-norm2((Vi(p$x) - Vj(p$x)) / Pm(s))), b = b),
    of_points = function(p) function(x, b) list(K = exp(-sqdist(2 * sin(Vi(x)), Vj(p$x))), b = b),
    constant = function(p) function(s, a, b) list(K = a - kernel_energy(p$x, p$x, s), b = b),
    constant_row = function(p) function(s, u, b) list(K = Vi(u) * (kernel_gaussian(p$x, p$x, s) + s), b = b),
    squares = function(p) function(x, s, b) list(K = -sqdist(Vi(x), Vj(p$x)) / s, b = b),
    compact = function(p) function(x, s, w, b) {
      list(K = relu(1 - sqdist(Vi(x), Vj(p$x)) / s)^4 * Vj(w), b = b)
    },
    exponent = function(p) function(x, a, w, b) list(K = (1 + sqdist(Vi(x), Vj(p$x)))^(-Pm(a)) * Vj(w), b = b),
    kernels = function(p) function(x, s, a, w, b) {
      list(K = (kernel_gaussian(x, p$x, s) + a * kernel_matern(x, p$x, 2 * s, nu = 1.5)) * Vj(w), b = b)
    },
    twice = function(p) function(x, s, u, b) {
      list(K = Vi(u)^2 * kernel_gaussian(x, p$x, s) - Vi(u)^2 * kernel_cauchy(x, p$x, s), b = b)
    }
  )
  for (name in names(builds)) {
    p <- problem(300, 300, 2, 50 + match(name, names(builds)))
    arguments <- list(x = p$x, s = 0.3, a = 2, u = p$u, w = p$w, b = cbind(p$b, p$w))
    build <- builds[[name]](p)
    g <- cbind(p$g, p$u)
    expect_near_gradients(build, arguments[names(formals(build))], g, name)
  }
})

test_that("one component has differences, absolute values and signs", {
  p <- problem(300, 200, 1, 3)
  builds <- list(
    abs = function(x, y, s, b) list(K = exp(-abs(Vi(x) - Vj(y)) / s), b = b),
    square = function(x, y, s, b) list(K = 1 / (1 + square((Vi(x) - Vj(y)) / s)), b = b),
    manhattan = function(x, y, s, b) list(K = exp(-manhattan(Vi(x), Vj(y)) / s), b = b),
    both = function(x, y, s, b) list(K = exp(-abs(Vi(x) - Vj(y)) / s) * square(Vi(x) - Vj(y)), b = b)
  )
  for (name in names(builds)) {
    expect_near_gradients(builds[[name]], list(x = as.vector(p$x), y = as.vector(p$y), s = 0.2, b = p$b), p$g, name)
  }
})

test_that("an audited gradient is as near as it says, and a proof's is bounded", {
  skip_below("quick")
  p <- problem(2000, 2000, 3, 4)
  build <- function(x, s, b) list(K = kernel_matern(x, p$y, s, nu = 1.5), b = b)
  expect_near_gradients(build, list(x = p$x, s = 0.3, b = p$b), p$g, "audit", 1e-5, certify = "audit", price = 100)
})

test_that("sums and means with a tolerance, transposes, systems and restrictions are differentiated", {
  skip_below("quick")
  p <- problem(400, 300, 2, 5)
  near <- function(f, tol = 1e-5) {
    exact <- gradient(f, wrt = c("x", "s", "w"))(p$x, 0.3, p$w, NULL)
    found <- gradient(f, wrt = c("x", "s", "w"))(p$x, 0.3, p$w, 1e-8)
    expect_equal(found, exact, tolerance = tol)
  }
  K <- function(x, s) kernel_matern(x, p$y, s, nu = 1.5)
  near(function(x, s, w, tol) sum(sum(K(x, s) * Vj(w), index = "j", tol = tol)^2))
  near(function(x, s, w, tol) sum(w * as.vector(sum(K(x, s), index = "i", tol = tol))^2))
  near(function(x, s, w, tol) sum(reduction(K(x, s) * Vj(w), "mean", tol = tol, drop = TRUE)^2))
  near(function(x, s, w, tol) sum(reduction(K(x, s), "sum", weight = Vj(cbind(w, 2 * w)), tol = tol)^2))
  near(function(x, s, w, tol) {
    A <- if (is.null(tol)) as_op(K(x, s)) else approximate(K(x, s), tol, "proof")
    sum((A %*% w)^2) + sum(crossprod(A, A %*% w)^2)
  })
  near(function(x, s, w, tol) {
    K <- exclude_diag(kernel_gaussian(x[1:300, ], p$y, s))
    A <- if (is.null(tol)) as_op(K) else eager(approximate(K, tol, "proof"))
    sum((A %*% w)^2)
  })
  ridge <- function(x, s, w, tol) {
    K <- kernel_gaussian(x[1:300, ], scale = s)
    A <- if (is.null(tol)) as_op(K) else approximate(K, tol, "proof")
    sum(w * as.vector(solve(A + diagonal_op(rep(1, 300)), w, tol = 1e-10)))
  }
  near(ridge)
})

test_that("an optimiser goes to the same scale by series as by pairs", {
  skip_below("quick")
  p <- problem(400, 400, 2, 6)
  target <- as.vector(kernel_matern(p$x, p$y, 0.25, nu = 1.5) %*% p$b)
  loss <- function(tol) function(log_scale) {
    K <- kernel_matern(p$x, p$y, exp(log_scale), nu = 1.5)
    sum((as.vector(sum(K * Vj(p$b), index = "j", tol = tol)) - target)^2)
  }
  o <- objective(loss(1e-8), log(0.4))
  expect_equal(o$gr(o$par), objective(loss(NULL), log(0.4))$gr(o$par), tolerance = 1e-6)
  expect_equal(unname(stats::optim(o$par, o$fn, o$gr, method = "BFGS")$par), log(0.25), tolerance = 1e-4)
})

test_that("a cotangent may be of a few rows, of one sign, or nothing", {
  p <- problem(500, 400, 2, 7)
  f <- function(tol) function(x, s) {
    K <- kernel_cauchy(x, p$y, s)
    if (is.null(tol)) K %*% p$b else eager(approximate(K, tol)) %*% p$b
  }
  one_row <- replace(numeric(500), 7, 1)
  for (g in list(one_row, rep(1, 500), numeric(500))) {
    exact <- vjp(f(NULL))(p$x, 0.2, cotangent = g)
    found <- vjp(f(1e-8))(p$x, 0.2, cotangent = g)
    expect_equal(found, exact, tolerance = 1e-6)
  }
})

test_that("gradients are the same bits for any number of threads", {
  skip_below("quick")
  p <- problem(3000, 3000, 3, 8)
  f <- function(threads) gradient(function(x, s) {
    K <- lazy_set(kernel_energy(x, p$y, s), threads = threads)
    sum(p$g * (eager(approximate(K, 1e-4), 300) %*% cbind(p$b, p$w)))
  })(p$x, 0.5)
  first <- f(1)
  for (threads in 2:4) expect_identical(f(threads), first)
})

test_that("sums of formulas of several components are those of all pairs", {
  skip_below("quick")
  p <- problem(300, 250, 2, 9)
  X <- Vi(p$x)
  Y <- Vj(p$y)
  s <- sqdist(X, Y)
  formulas <- list(
    exp(-s) * (X - Y), 2 * (X - Y) / (1 + s), -(exp(-s) * (X - Y) + (X - Y) / (1 + s)),
    Vi(p$u) * exp(-s) * (X - Y) * Vj(p$w),
    exp(-s) * (X - Y)^3, exp(-s) * square(X - Y) * (Y - X)^2,
    exp(-s) * square(X - Y) * Pm(c(2, -3)), exp(-s) * (X - Y) * Vi(p$x), exp(-s) * Pm(c(1, 2)) * Vi(p$u)
  )
  for (F in formulas) {
    exact <- sum(F, index = "j")
    found <- sum(F, index = "j", tol = 1e-8)
    expect_equal(found, exact, tolerance = 1e-7, label = kernweave:::formula_text(F$formula, 100L))
    state <- new_approximation(F, 1e-8, "proof")
    state$prices <- c(1e4, 160000)
    v <- cbind(p$b, p$w)
    by_column <- unname(cbind(as.matrix(F %*% v[, 1]), as.matrix(F %*% v[, 2])))
    expect_equal(pair_sums(F, v), by_column, tolerance = 1e-12)
    expect_equal(approximated_product(state, v), pair_sums(F, v), tolerance = 1e-6)
    u <- cbind(p$g, p$u)
    expect_equal(approximated_product(state, v, u), pair_sums(F, v, u), tolerance = 1e-6)
  }
})

test_that("what has no derivative here is refused, by what and why", {
  p <- problem(40, 30, 2, 10)
  refused <- function(f, pattern, ..., class = "no_gradient") {
    expect_error(gradient(f)(...), pattern, class = paste0("kernweave_error_", class))
  }
  slope <- function(x) {
    X <- Vi(x, name = "x")
    sum(approximate(exp(-sqdist(X, Vj(p$y))) * (X - Vj(p$y))[, , 1]) %*% p$b)
  }
  refused(slope, "`x`.*different factors.*itself has one", p$x)
  refused(function(x) sum(approximate(kernel_gaussian(x, p$y)[1:10, ]) %*% p$b), "some rows", p$x)
  refused(function(x) sum(sum(exp(-sqdist(Vi(x), Vj(p$y))) * (Vi(x) - Vj(p$y)), index = "j", tol = 1e-6)),
          "several components", p$x)
  refused(function(x) sum(approximate(Vi(x) | Vj(p$y)) %*% p$b), "scalprod", p$x, class = "not_a_distance")
  f <- function(x) sum((approximate(kernel_gaussian(x, p$y)) %*% p$b)^2)
  expect_error(hessian(f)(p$x), "first derivatives", class = "kernweave_error_no_gradient")
  refused(function(x) sum(c(1, NaN) * as.vector(approximate(kernel_gaussian(x, p$y)) %*% p$b)), "finite", p$x,
          class = "value")
  expect_error(gradient(function(x) sum(approximate(kernel_gaussian(x, p$y)) %*% p$b))(replace(p$x, 3, NaN)),
               "not finite", class = "kernweave_error_input")
  b <- p$b
  quadratic <- function(b) sum((approximate(kernel_gaussian(p$x, p$y), 1e-10, "proof") %*% b)^2)
  dense <- as.matrix(kernel_gaussian(p$x, p$y))
  expect_equal(hessian(quadratic)(b), 2 * crossprod(dense), tolerance = 1e-7)
})
