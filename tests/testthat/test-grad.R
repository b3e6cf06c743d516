# Derivatives of reductions: every axis, every reduction that has one, gathers, transposes, saved results.

set.seed(6)
x <- matrix(stats::rnorm(12), 4)
y <- matrix(stats::rnorm(15), 5)

test_that("every differentiable reduction, over every axis, along i, j, parameters and pairs", {
  skip_below("quick")
  A <- matrix(stats::rnorm(20), 4)
  make <- function(x, y, p, A) {
    list(X = Vi(x, name = "x"), Y = Vj(y, name = "y"), P = Pm(p, name = "p"), A = Vij(A, name = "A"))
  }
  formula <- function(o) norm2(o$X - o$Y * o$P) + 0.3 * o$A
  p <- c(0.5, 1, 2)
  ops <- c("sum", "min", "logsumexp", "min_argmin", "max", "max_argmax", "mean", "variance", "prod", "Kmin",
           "Kmax_argKmax")
  cases <- combinations(op = ops, index = c("j", "i", "ij"), times = 3)
  for (case in seq_len(nrow(cases))) {
    op <- cases$op[case]
    index <- cases$index[case]
    K <- if (grepl("^K", op)) 2
    value <- function(o) {
      out <- reduction(formula(o), op, index = index, K = K)
      if (is.list(out)) out$value else out
    }
    operands <- make(x, y, p, A)
    g <- stats::rnorm(length(value(operands)))
    R <- reduction(formula(operands), op, index = index, K = K, call = FALSE)
    shaped <- if (index == "ij") g else matrix(g, ncol = if (is.null(K)) 1 else K)
    got <- vjp(R, unname(operands), shaped)
    expect_named(got, c("x", "y", "p", "A"))
    expect_slopes(got$x, function(v) sum(g * value(make(v, y, p, A))), x, paste(op, index, "x"))
    expect_slopes(got$y, function(v) sum(g * value(make(x, v, p, A))), y, paste(op, index, "y"))
    expect_slopes(got$p, function(v) sum(g * value(make(x, y, v, A))), p, paste(op, index, "p"))
    expect_slopes(got$A, function(v) sum(g * value(make(x, y, p, v))), A, paste(op, index, "A"))
    tangents <- list(x, y, p, A)
    expect_equal(sum(g * jvp(R, unname(operands), tangents)), sum(mapply(function(a, b) sum(a * b), got, tangents)),
                 tolerance = 1e-10)
  }
})

test_that("weights of logsumexp and softmax have a gradient, each component its own", {
  w <- matrix(stats::runif(10), 5)
  X <- Vi(x)
  W <- Vj(w, name = "w")
  g <- matrix(stats::rnorm(8), 4)
  for (op in c("logsumexp", "sumsoftmaxweight")) {
    value <- function(v, w) reduction(-sqdist(Vi(v), Vj(y)), op, weight = Vj(w))
    R <- reduction(-sqdist(X, Vj(y)), op, weight = W, call = FALSE)
    expect_equal(vjp(R, W, g), differences(function(v) sum(g * value(x, v)), w), tolerance = 1e-6)
    expect_equal(vjp(R, X, g), differences(function(v) sum(g * value(v, w)), x), tolerance = 1e-6)
  }
})

test_that("a product with zeros has the gradient of its other factors", {
  for (zeros in list(integer(), 2L, c(2L, 4L))) {
    f <- c(1.5, 2, -0.5, 3)
    f[zeros] <- 0
    X <- Vj(f, name = "x")
    expect_equal(as.vector(vjp(prod(X, index = "j", call = FALSE), X)), vapply(1:4, function(k) prod(f[-k]), 0))
  }
})

test_that("what a forward pass saved has the settings of the reduction", {
  X <- Vi(x, name = "x")
  R <- variance(sqdist(X, Vj(y)), call = FALSE, precision = "float32")
  saved <- Filter(function(operand) !is.null(operand$from), kernweave:::r_operands(kernweave:::formulas_of(R$outputs)))
  expect_identical(saved[[1]]$from$reduction$settings$precision, "float32")
})

# The derivative of a gradient along a direction, by both modes, against differences of gradients.
expect_second_order <- function(make, at, u, g, label, tolerance = 1e-6) {
  X <- Vi(at, name = "x")
  R <- make(X)
  gradient <- function(v) {
    V <- Vi(v)
    vjp(make(V), V, g)
  }
  h <- 1e-5
  slope <- (gradient(at + h * u) - gradient(at - h * u)) / (2 * h)
  first <- vjp(R, X, g, call = FALSE)
  expect_equal(jvp(first, X, u), slope, tolerance = tolerance, label = paste(label, "jvp of vjp"))
  expect_equal(vjp(first, X, u), slope, tolerance = tolerance, label = paste(label, "vjp of vjp"))
  expect_equal(vjp(jvp(R, X, u, call = FALSE), X, g), slope, tolerance = tolerance, label = paste(label, "vjp of jvp"))
}

test_that("every reduction has second derivatives: what its gradient saved of the forward pass moves too", {
  skip_below("quick")
  u <- matrix(stats::rnorm(12), 4)
  w <- matrix(stats::runif(5))
  ops <- c("sum", "min", "logsumexp", "sumsoftmaxweight", "min_argmin", "max", "mean", "variance", "prod", "Kmin",
           "Kmax_argKmax")
  for (op in ops) for (index in c("j", "i", "ij")) {
    K <- if (grepl("^K", op)) 2
    make <- function(X) {
      F <- 0.1 + 0.3 * sqdist(X, Vj(y))
      weight <- if (op == "sumsoftmaxweight") sum(X) * Vj(w)
      reduction(F, op, index = index, K = K, weight = weight, call = FALSE)
    }
    value <- as.function(make(Vi(x)))()
    if (is.list(value)) value <- value$value
    expect_second_order(make, x, u, array(stats::rnorm(length(value)), dim(value)), paste(op, index))
  }
})

test_that("each component of a minimum has the gradient at its own winner, towards operands of any width", {
  b <- matrix(stats::rnorm(10), 5)
  number <- stats::rnorm(4)
  for (index in c("i", "j", "ij")) for (op in c("min", "max")) {
    total <- function(F) function(X) {
      found <- reduction(F(X), op, index = index)
      sum(found * cos(seq_along(found)))
    }
    wide <- total(function(x) sin(Vi(x)) * Vj(b) + Vj(b[, 2:1]))
    x <- matrix(stats::rnorm(8), 4)
    expect_slopes(gradient(wide)(x)[[1]], wide, x, paste(op, index, "of two"))
    expect_slopes(gradient(wide)(number)[[1]], wide, number, paste(op, index, "of one"))
    curvature <- function(x) sum(gradient(wide)(x)[[1]]^2)
    expect_slopes(gradient(curvature)(x)[[1]], curvature, x, paste(op, index, "second order"))
  }
})

test_that("third derivatives of a logsumexp, its weight and its exponents at once", {
  u <- c(0.3, 0.7, 1.1)
  value <- function(u) log(sum(u^2 * exp(2 * u)))
  U <- Vj(u, name = "u")
  R <- logsumexp(2 * U, weight = U^2, call = FALSE)
  first <- vjp(R, U, call = FALSE, cotangent = 1)
  second <- jvp(first, U, c(1, 2, 0), call = FALSE)
  third <- jvp(second, U, c(0, 1, -1))
  gradient <- function(u) (u^2 * exp(2 * u)) * (2 / u + 2) / sum(u^2 * exp(2 * u))
  expect_equal(vjp(R, U), gradient(u))
  along <- function(f, v, h = 1e-4) function(u) (f(u + h * v) - f(u - h * v)) / (2 * h)
  expect_equal(third, along(along(gradient, c(1, 2, 0)), c(0, 1, -1))(u), tolerance = 1e-5)
})

test_that("the second derivative of a product with zeros is the product of all but two factors", {
  for (zeros in list(integer(), 2L, c(2L, 4L), 2:4)) {
    f <- c(1.5, 2, -0.5, 3)
    f[zeros] <- 0
    X <- Vj(f, name = "x")
    slope <- vjp(prod(X, index = "j", call = FALSE), X, call = FALSE, cotangent = 1)
    hessian <- outer(1:4, 1:4, Vectorize(function(a, b) if (a == b) 0 else prod(f[-c(a, b)])))
    for (k in 1:4) expect_equal(as.vector(jvp(slope, X, as.numeric(1:4 == k))), hessian[k, ])
    expect_equal(as.vector(vjp(slope, X, f + 1)), as.vector(hessian %*% (f + 1)))
  }
})

test_that("second derivatives through a saved result wait for data, and are saved and loaded", {
  X <- Vi(dim = 3, name = "x")
  second <- vjp(vjp(logsumexp(-sqdist(X, Vj(y)), call = FALSE), X, call = FALSE), "cotangent", call = FALSE)
  hessian <- vjp(vjp(logsumexp(-sqdist(X, Vj(y)), call = FALSE), X, call = FALSE), "x", call = FALSE)
  file <- tempfile()
  saveRDS(list(second, hessian), file)
  loaded <- readRDS(file)
  g <- matrix(stats::rnorm(4))
  data <- Vi(x)
  first <- vjp(logsumexp(-sqdist(data, Vj(y)), call = FALSE), data, g, call = FALSE)
  for (k in 1:2) {
    f <- as.function(loaded[[k]])
    arguments <- list(x, g, 0.5 * x)
    names(arguments) <- names(formals(f))
    expect_setequal(names(formals(f)), c("x", "cotangent", "cotangent.1"))
    expect_equal(do.call(f, arguments), if (k == 2) vjp(first, data, 0.5 * x) else
      jvp(logsumexp(-sqdist(data, Vj(y)), call = FALSE), data, 0.5 * x))
  }
})

test_that("gathered rows give back to the rows they came from, transposes to their own axis", {
  rows <- c(4, 1, 1)
  X <- Vi(x, name = "x")
  f <- function(v) sum(exp(-sqdist(Vi(v), Vj(y)))[rows, ], index = "j")
  R <- reduction(exp(-sqdist(X, Vj(y)))[rows, ], "sum", call = FALSE)
  g <- stats::rnorm(3)
  expect_equal(vjp(R, X, g), differences(function(v) sum(g * f(v)), x), tolerance = 1e-6)
  both <- function(X) exp(-sqdist(X, t(X) * 0.5))
  S <- reduction(both(X), "sum", call = FALSE)
  h <- stats::rnorm(4)
  total <- function(v) sum(h * sum(both(Vi(v)), index = "j"))
  expect_equal(vjp(S, X, h), differences(total, x), tolerance = 1e-6)
  twice <- jvp(vjp(S, X, h, call = FALSE), X, x)
  along <- function(step) vjp(reduction(both(Z <- Vi(x + step * x)), "sum", call = FALSE), Z, h)
  expect_equal(twice, (along(1e-5) - along(-1e-5)) / 2e-5, tolerance = 1e-6)
})

test_that("third order: the derivative of a sum is a sum again", {
  u <- c(0.3, 0.7, 1.1)
  U <- Vi(u)
  R <- reduction(U^4 * Vj(c(1, 2)), "sum", call = FALSE)
  third <- vjp(vjp(vjp(R, U, call = FALSE, cotangent = 1), U, call = FALSE, cotangent = 1), U, cotangent = 1)
  expect_equal(third, 3 * 24 * u)
})

test_that("coincident points, and operands a formula does not depend on", {
  X <- Vi(x)
  R <- reduction(norm2(X - Vj(x)), "sum", call = FALSE)
  expect_true(all(is.finite(vjp(R, X))))
  Z <- Vi(x, name = "z")
  S <- reduction(lazy_if(Z < 0, 1, 2) * Vj(y), "sum", call = FALSE)
  expect_identical(vjp(S, Z), 0 * x)
})

test_that("a gradient waits for its data where the formula does", {
  X <- Vi(dim = 3, name = "x")
  Y <- Vj(dim = 3, name = "y")
  for (op in c("sum", "logsumexp", "min")) {
    lazy <- as.function(vjp(reduction(-sqdist(X, Y), op), X, call = FALSE))
    expect_named(formals(lazy), c("x", "y", "cotangent"))
    data <- Vi(x)
    g <- matrix(stats::rnorm(4))
    expect_equal(lazy(x, y, g), vjp(reduction(-sqdist(data, Vj(y)), op, call = FALSE), data, g))
  }
})

test_that("an operand read plainly, gathered, transposed, or all at once has all four derivatives", {
  skip_below("quick")
  A <- matrix(stats::rnorm(12), 4)
  readings <- list(
    plain = function(X) exp(-sqdist(X, Vj(y))),
    gathered = function(X) exp(-sqdist(X, Vj(y)))[c(4, 1, 1), ],
    transposed = function(X) exp(-sqdist(Vi(y), t(X))),
    both = function(X) exp(-sqdist(X[2:4, ], t(X) * 0.5)) + 0.1 * sum(X[2:4, ])
  )
  for (name in names(readings)) {
    read <- readings[[name]]
    X <- Vi(x)
    R <- reduction(read(X), "sum", call = FALSE)
    g <- matrix(stats::rnorm(length(as.function(R)())))
    value <- function(v) sum(g * reduction(read(Vi(v)), "sum"))
    gradient <- function(v) {
      V <- Vi(v)
      vjp(reduction(read(V), "sum", call = FALSE), V, g)
    }
    u <- x * 0.3 + 0.1
    along <- function(f, h = 1e-5) (f(x + h * u) - f(x - h * u)) / (2 * h)
    expect_equal(vjp(R, X, g), differences(value, x), tolerance = 1e-6, label = paste(name, "vjp"))
    expect_equal(sum(g * jvp(R, X, u)), along(value), tolerance = 1e-6, label = paste(name, "jvp"))
    expect_equal(jvp(vjp(R, X, g, call = FALSE), X, u), along(gradient), tolerance = 1e-5,
                 label = paste(name, "jvp of vjp"))
    expect_equal(vjp(vjp(R, X, g, call = FALSE), X, u), along(gradient), tolerance = 1e-5,
                 label = paste(name, "vjp of vjp"))
    slope <- function(v) {
      V <- Vi(v)
      sum(g * jvp(reduction(read(V), "sum", call = FALSE), V, u))
    }
    expect_equal(vjp(jvp(R, X, u, call = FALSE), X, g), differences(slope, x, 1e-5), tolerance = 1e-4,
                 label = paste(name, "vjp of jvp"))
  }
})

test_that("a matrix of pairs has a gradient by rows and by columns", {
  A <- matrix(stats::rnorm(6), 2)
  lazy <- Vij(A)
  expect_equal(vjp(reduction(exp(t(lazy)) * Vi(1:3), "sum", call = FALSE), lazy), exp(A) * rep(1:3, each = 2))
  expect_equal(vjp(reduction(exp(lazy), "sum", call = FALSE), lazy, 2), 2 * exp(A))
  twice <- vjp(vjp(reduction(t(lazy)^3, "sum", call = FALSE), lazy, call = FALSE, cotangent = 1), lazy, A)
  expect_equal(twice, 6 * A * A)
})

test_that("singular losers and empty sums leave a gradient finite", {
  p <- matrix(c(0, 1, 3), 3)
  X <- Vi(p)
  R <- reduction(1 / sqdist(X, Vj(c(0, 2))), "min", call = FALSE)
  expect_equal(vjp(R, X)[2:3, 1],
               differences(function(v) sum(reduction(1 / sqdist(Vi(v), Vj(c(0, 2))), "min")), p + 1e-3)[2:3, 1],
               tolerance = 0.1)
  expect_true(all(is.finite(vjp(R, X))))
  masked <- logsumexp(lazy_if(X < 0.5, -Inf, X) + 0 * Vj(1:2), call = FALSE)
  expect_equal(vjp(masked, X), matrix(c(0, 1, 1)))
})

test_that("the gradient of a minimum that is NaN goes to the NaN", {
  q <- Vj(c(1, NaN, 2), name = "q")
  expect_identical(vjp(reduction(q, "min", call = FALSE), q), c(0, 1, 0))
  expect_identical(vjp(reduction(q, "min_argmin", call = FALSE), q), c(1, 0, 0))
})

test_that("names, settings and leftovers of vjp are heard", {
  X <- Vi(x)
  Y <- Vj(y)
  R <- reduction(sqdist(X, Y), "sum", call = FALSE)
  expect_named(vjp(R, list(a = X, b = Y)), c("a", "b"))
  expect_error(vjp(R, X, device = 99), class = "kernweave_error_no_device")
  expect_error(vjp(R, X, cotangents = 1), class = "kernweave_error_settings")
  expect_error(vjp(R, X, "a"), class = "kernweave_error_input")
})
