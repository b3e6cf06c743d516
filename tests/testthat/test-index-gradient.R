# Gradients of index formulas, against differences of themselves and of the oracle.

set.seed(9)
A <- matrix(stats::rnorm(35), 5, 7)
B <- matrix(stats::rnorm(77), 7, 11)

# Tests the gradient of a number made of a reduction of a formula, with respect to each array that is not an index.
expect_index_gradient <- function(example, op, label) {
  arrays <- Filter(is.double, example$data[intersect(all.vars(example$formula), names(example$data))])
  signs <- cos(seq_along(index_oracle(example$formula, op, example$data)))
  total <- function(found) sum(found * signs)
  by_oracle <- function(at) total(index_oracle(example$formula, op, replace(example$data, names(at), at)))
  e <- example$formula
  f <- function() NULL
  formals(f) <- stats::setNames(rep(list(quote(expr = )), length(arrays)), names(arrays))
  body(f) <- bquote(total(reduction(.(e), .(op), data = c(mget(names(arrays)), rest))))
  environment(f) <- list2env(list(total = total, arrays = arrays, rest = example$data[setdiff(names(example$data),
                                                                                              names(arrays))]))
  found <- tryCatch(do.call(gradient(f), arrays), error = identity)
  label <- sprintf("%s gradient of %s of %s", label, op, paste(deparse(e), collapse = ""))
  if (inherits(found, "error")) return(testthat::fail(paste0(label, ": ", conditionMessage(found))))
  for (name in names(arrays)) {
    slopes <- differences(function(a) by_oracle(replace(arrays, name, list(a))), arrays[[name]])
    expect_identical(dim(found[[name]]), dim(arrays[[name]]), label = paste(label, name))
    expect_close(found[[name]], slopes, 1e-5, scale = 1 + max(0, abs(slopes)), label = paste(label, name))
  }
}

test_that("the gradient of a sum of squares is that of squares, not of a square of sums", {
  f <- function(A) reduction(s ~ (A[i, k] * B[k, j])^2, "sum")
  expect_equal(gradient(f)(A)$A, 2 * A * rep(rowSums(B^2), each = 5))
})

test_that("products have the gradients of products", {
  f <- function(A, B) sum(reduction(C[i, j] ~ A[i, k] * B[k, j], "sum")^2)
  found <- gradient(f)(A, B)
  expect_equal(found$A, 2 * A %*% B %*% t(B))
  expect_equal(found$B, 2 * t(A) %*% A %*% B)
  R <- reduction(C[j, i] ~ A[i, k] * B[k, j], "sum", call = FALSE)
  G <- matrix(stats::rnorm(55), 11)
  expect_equal(vjp(R, wrt = "A", G), t(G) %*% t(B))
})

test_that("gathers, windows, diagonals and single places add up what is read often", {
  g <- c(1L, 1L, 3L)
  y <- stats::rnorm(8)
  w <- stats::rnorm(3)
  S <- A[, 1:5]
  rows <- list(
    list(function(A) reduction(s ~ A[g[i], k]^2, "sum"), 2 * A * c(2, 0, 1, 0, 0), A),
    list(function(S) reduction(s ~ S[i, i]^3, "sum"), 3 * diag(diag(S)^2), S),
    list(function(A) reduction(s ~ A[i, 2] * A[3, k], "sum"), local({
      out <- 0 * A
      out[, 2] <- sum(A[3, ])
      out[3, ] <- out[3, ] + sum(A[, 2])
      out
    }), A)
  )
  for (row in rows) expect_equal(unname(gradient(row[[1]])(row[[3]]))[[1]], row[[2]], label = deparse(body(row[[1]])))
  expect_index_gradient(list(formula = m[t] ~ (y[t + s - 1] * w[s])^2, data = list(y = y, w = w)), "sum", "window")
  expect_index_gradient(list(formula = m[t] ~ y[t - s + 3] * w[s], data = list(y = y, w = w)), "logsumexp", "window")
  three <- list(y = y, w = w, A = A[1:3, ])
  expect_index_gradient(list(formula = m ~ y[t + s - 1] * w[s] * A[s, k], data = three), "mean", "window")
})

test_that("gradients of random contractions are those of the oracle", {
  for (op in c("sum", "mean", "logsumexp")) for (seed in trials(24)) {
    expect_index_gradient(random_contraction(3000 + seed, most = 60), op, seed)
  }
})

smooth_formulas <- list(
  u[i] ~ exp(-sqdist(x[i, ], y[j, ]) - sqdist(y[j, ], z[k, ])),
  u[j, i] ~ exp(-sqdist(x[i, ], y[j, ])) * w[k],
  s ~ sum(x[i, ] * y[j, ]) * w[k],
  u[k] ~ lazy_if(i < j & j < k, x[i, 1] * y[j, 2] * z[k, 1], w[k]),
  u[i] ~ x[i, a] * W[a, b, g[i]] * x[i, b],
  u[i, a] ~ (x[i, ] - y[j, ]) * W[a, a, k],
  u[a] ~ sin(x[i, a]) / (2 + cos(y[j, a])) * w[k],
  u[i] ~ x[i, ] * y[j, ],
  s ~ x[1, a] * W[a, b, 2] * x[2, b] + w[k] * y[j, 2]
)

test_that("gradients of random formulas are those of the oracle", {
  skip_below("quick")
  for (op in c("sum", "logsumexp", "prod", "min")) for (seed in trials(16)) for (wide in c(FALSE, TRUE)) {
    expect_index_gradient(jittered(random_index_formula(seed, most = 40, wide = wide), seed), op, seed)
  }
})

test_that("gradients of smooth formulas are those of the oracle", {
  numbers <- function(...) array(stats::runif(prod(...), -1, 1), c(...))
  data <- list(x = numbers(c(4, 2)), y = numbers(c(3, 2)), z = numbers(c(5, 2)), w = stats::runif(5),
               W = numbers(c(2, 2, 5)), g = c(2L, 5L, 2L, 1L))
  all <- c("sum", "mean", "logsumexp")
  cases <- combinations(f = seq_along(smooth_formulas), op = if (reaches("quick")) all else "sum")
  for (case in seq_len(nrow(cases))) {
    expect_index_gradient(list(formula = smooth_formulas[[cases$f[case]]], data = data), cases$op[case], "smooth")
  }
})

test_that("where nothing is folded, or no point is, gradients have their shapes", {
  none <- matrix(0, 0, 7)
  found <- gradient(function(none, B) reduction(s ~ none[i, k] * B[k, j], "sum"))(none, B)
  expect_identical(found$none, none)
  expect_identical(found$B, 0 * B)
  f <- function(A, B) sum(reduction(C[i, j, k] ~ A[i, k] * B[k, j], "sum")^2)
  expect_equal(gradient(f)(A, B)$A, 2 * A * rep(rowSums(B^2), each = 5))
})

test_that("variances, maxima and minima have gradients, over any number of axes", {
  data <- list(x = stats::rnorm(4), y = stats::rnorm(3), z = stats::rnorm(5), A = matrix(stats::rnorm(12), 4),
               g = c(2L, 2L, 1L, 3L, 4L))
  expect_gradients <- function(formulas, operators, label) {
    cases <- combinations(f = seq_along(formulas), op = operators, times = 2)
    for (case in seq_len(nrow(cases))) {
      expect_index_gradient(list(formula = formulas[[cases$f[case]]], data = data), cases$op[case], label)
    }
  }
  expect_gradients(list(s ~ x[i] * y[j], s[i] ~ x[i] - y[j]^2, s[j, k] ~ x[i] * y[j] - z[k], s ~ x[i]^3),
                   c("max", "min", "variance", "mean"), "short")
  long <- list(s ~ x[i] * y[j] * z[k], s[j] ~ x[i] * y[j] - z[k]^2, s[t] ~ z[t + s - 1] * y[u] * A[s, u] - u,
               s[i] ~ A[g[j], a] * x[i] * z[k], s[j, i] ~ A[i, ] * A[j, ] * z[k] * y[l])
  expect_gradients(long, c("max", "min", "variance"), "long")
})

test_that("the smallest and largest values of many axes have the gradients of their points, and 0 beyond the last", {
  x <- c(a = 1.3, b = -0.7, c = 2.1)
  y <- stats::rnorm(2)
  z <- stats::rnorm(2)
  A <- matrix(stats::rnorm(6), 3)
  f <- s[j] ~ x[i] * y[j] - z[k]^2 * x[i]
  wide <- s[i] ~ A[i, ] * y[j] - z[k]^2 * A[l, ]
  by_x <- list(function(x) reduction(f, "Kmin", K = 3, data = list(x = x)),
               function(x) reduction(f, "Kmax_argKmax", K = 2, data = list(x = x))$value,
               function(x) reduction(f, "min_argmin", data = list(x = x))$value)
  for (g in by_x) expect_slopes(gradient(function(x) sum(g(x)^2))(x)[[1]], function(x) sum(g(x)^2), x, deparse(body(g)))
  by_A <- function(A) sum(cos(1:12) * reduction(wide, "Kmin", K = 2, data = list(A = A)))
  expect_slopes(gradient(by_A)(A)[[1]], by_A, A, "components")
  seen <- NULL
  gradient(function(A) {
    seen <<- reduction(wide, "max_argmax", data = list(A = A))
    sum(seen$value)
  })(A)
  seen$value <- value_of(seen$value)
  expect_identical(seen, reduction(wide, "max_argmax"))
  found <- value_and_gradient(function(x) {
    all <- reduction(f, "Kmin", K = 8, data = list(x = x))
    expect_identical(dim(all), c(2L, 8L))
    sum(all[, 1:6])
  })(x)
  expect_equal(found$value, reduction(s ~ x[i] * y[j] - z[k]^2 * x[i], "sum"))
  expect_equal(found$gradient$x, gradient(function(x) reduction(s ~ x[i] * y[j] - z[k]^2 * x[i], "sum"))(x)$x)
})

test_that("gradients of weighted reductions are right, and so are gradients of gradients", {
  x <- stats::rnorm(4)
  y <- stats::rnorm(3)
  z <- stats::rnorm(5)
  w <- matrix(stats::runif(6), 3)
  rows <- list(
    function(x) reduction(s[i] ~ exp(-(x[i] - y[j] * z[k])^2), "sumsoftmaxweight", weight = ~ w[j, ]),
    function(x) reduction(s[j] ~ exp(-(x[i] - y[j] * z[k])^2), "sumsoftmaxweight", weight = ~ x[i] * z[k]),
    function(x) reduction(s[j] ~ exp(-(x[i] - y[j] * z[k])^2), "logsumexp", weight = ~ x[i]^2),
    function(x) reduction(s[j] ~ exp(-(x[i] - y[j] * z[k])^2), "variance"),
    function(x) reduction(s[k, j] ~ exp(-(x[i] - y[j] * z[k])^2), "mean"),
    function(x) reduction(s[k, j, i] ~ sin(x[i] - y[j] * z[k]), "sum")
  )
  for (f in rows) {
    total <- function(x) sum(f(x)^2)
    expect_slopes(gradient(total)(x)[[1]], total, x, deparse(body(f)))
    curvature <- function(x) sum(gradient(total)(x)[[1]]^2)
    expect_slopes(gradient(curvature)(x)[[1]], curvature, x, paste("second order", deparse(body(f))))
  }
})

test_that("vjp() and jvp() of prepared index formulas go towards arrays by name, wherever these are read", {
  G <- matrix(stats::rnorm(55), 5)
  square <- matrix(stats::rnorm(25), 5)
  fit <- list(w = stats::rnorm(7))
  R <- reduction(C[i, j] ~ A[i, k] * B[k, j], "sum", call = FALSE)
  expect_equal(vjp(R, c("A", "B"), G), list(A = G %*% t(B), B = t(A) %*% G))
  expect_equal(vjp(R, "A"), matrix(rowSums(B), 5, 7, byrow = TRUE))
  expect_equal(jvp(R, c("A", "B"), list(A, B)), 2 * A %*% B)
  expect_equal(jvp(R, "A", 3 * A), 3 * A %*% B)
  expect_equal(vjp(schedule(R, order = c("j", "k", "i")), "A", G), G %*% t(B))
  twice <- reduction(C[i, j] ~ A[i, k] * A[j, k], "sum", call = FALSE)
  expect_equal(vjp(twice, "A", square), (square + t(square)) %*% A)
  part <- reduction(C[i] ~ A[i, k] * fit$w[k], "max_argmax", call = FALSE)
  best <- max.col(A * rep(fit$w, each = 5))
  expect_equal(vjp(part, "fit$w", 1:5), as.vector(rowsum(c(1:5 * A[cbind(1:5, best)], numeric(7)), c(best, 1:7))))
  weighted <- function(A) reduction(C[i] ~ A[i, k]^2, "sumsoftmaxweight", weight = ~ B[k, 1] * A[i, k])
  prepared <- reduction(C[i] ~ A[i, k]^2, "sumsoftmaxweight", weight = ~ B[k, 1] * A[i, k], call = FALSE)
  expect_equal(vjp(prepared, "A", 1:5), vjp(weighted)(A, cotangent = 1:5)$A)
  curved <- function(A) sum(vjp(reduction(C[i] ~ A[i, k]^3, "sum", call = FALSE), "A")^2)
  expect_equal(gradient(curved)(A)$A, 36 * A^3)
})

test_that("vjp() of operands with named axes takes them, and what it cannot do is said by class", {
  a <- along(A, "i", "k")
  R <- reduction(a * along(B, "k", "j"), "sum", index = "k", call = FALSE)
  G <- matrix(stats::rnorm(55), 5)
  expect_equal(vjp(R, a, G), G %*% t(B))
  expect_equal(vjp(R, list(a, "B"), G), list(A = G %*% t(B), B = t(A) %*% G))
  fails <- function(code, class, says) {
    expect_error(code, says, fixed = TRUE, class = paste0("kernweave_error_", class))
  }
  fails(vjp(R, "Z", G), "input", "there are `A`, `B`")
  fails(vjp(R, along(A, "i", "k"), G), "input", "each call of along()")
  fails(vjp(R, 3, G), "input", "not a double vector")
  fails(vjp(R, "A", 1:3), "shape", "3 numbers")
  fails(vjp(R, "A", G, call = FALSE), "unsupported", "at once")
  fails(jvp(R, "A"), "shape", "0 given for 1 array")
  fails(jvp(R, "A", 1:3), "shape", "35, not 3")
  both <- reduction(a * along(A + 1, "i", "k", name = "A"), "sum", index = "k", call = FALSE)
  fails(vjp(both, "A"), "input", "along(name =)")
  logical <- reduction(s ~ l[i], "sum", call = FALSE, data = list(l = c(TRUE, FALSE)))
  fails(vjp(logical, "l"), "no_gradient", "logical")
})
