# Batches: every result is that of each batch by itself.

set.seed(3)
x <- array(stats::rnorm(7 * 3 * 4), c(7, 3, 4))
y <- array(stats::rnorm(5 * 3 * 4), c(5, 3, 4))
x1 <- matrix(stats::rnorm(21), 7)

# The results of batches one by one, side by side.
by_batch <- function(f, n = 4) {
  side_by_side <- function(found) array(unlist(found), c(dim(found[[1]]) %or% length(found[[1]]), n))
  found <- lapply(seq_len(n), f)
  if (!is.list(found[[1]])) return(side_by_side(found))
  lapply(stats::setNames(nm = names(found[[1]])), function(name) side_by_side(lapply(found, `[[`, name)))
}
`%or%` <- function(a, b) if (is.null(a)) b else a
slice <- function(a, k) array(a[, , k], dim(a)[1:2])

test_that("every reduction over every axis is that of each batch", {
  skip_below("quick")
  rows <- kernweave_reductions()
  for (k in seq_len(nrow(rows))) for (index in c("i", "j", "ij")) for (precision in test_precisions()) {
    row <- rows[k, ]
    K <- if (row$inputs == "value_k") 2
    reduced <- function(x, y, w) {
      term <- sqdist(Vi(x), Vj(y))
      if (row$fn %in% c("any", "all", "count")) term <- term < 4
      weight <- if (row$fn == "sumsoftmaxweight") Vj(w)
      reduction(term, row$fn, index = index, K = K, weight = weight, precision = precision)
    }
    actual <- reduced(x, y, y[, 1, , drop = FALSE])
    expected <- by_batch(function(k) reduced(slice(x, k), slice(y, k), y[, 1, k]))
    expect_equal(actual, expected, tolerance = 10 * tolerance_of(precision), label = paste(row$fn, index, precision))
  }
})

test_that("what has no batches, or one along an axis, goes with all", {
  expect_equal(sum(sqdist(Vi(x1), Vj(y)), index = "j"), by_batch(function(k) sum(sqdist(Vi(x1), Vj(slice(y, k))), "j")))
  two <- array(stats::rnorm(5 * 3 * 8), c(5, 3, 4, 2))
  one <- array(stats::rnorm(7 * 3 * 2), c(7, 3, 1, 2))
  expected <- array(0, c(7, 1, 4, 2))
  for (a in 1:4) for (b in 1:2) expected[, , a, b] <- sum(sqdist(Vi(one[, , 1, b]), Vj(two[, , a, b])), index = "j")
  expect_equal(sum(sqdist(Vi(one), Vj(two)), index = "j"), expected)
  scale <- array(1:8, c(1, 1, 4, 2))
  expect_equal(sum(sqdist(Vi(one), Vj(two)) / Pm(scale), index = "j"), expected / rep(1:8, each = 7))
  expect_identical(dim(sqdist(Vi(one), Vj(two))), c(7L, 5L, 4L, 2L))
  expect_equal(sum(Vi(x1) * Pm(array(1:12, c(1, 3, 4))), index = "i"),
               by_batch(function(k) sum(Vi(x1) * Pm(1:12 + 0)[, , 1:3 + 3 * (k - 1)], index = "i")))
})

test_that("results know nothing of other batches, of threads and of rows that are counted", {
  F <- exp(-sqdist(Vi(x), Vj(y)))
  counted <- F * lazy_if(row_index() + col_index() > 0, 1, 0)
  for (op in c("sum", "mean", "max", "argmax", "variance", "min_argmin", "logsumexp"))
    expect_equal(reduction(F, op), reduction(counted, op), label = op)
  expect_equal(reduction(F, c("sum", "argmin"), index = "i"), reduction(counted, c("sum", "argmin"), index = "i"))
  expect_equal(sum(F, index = "j", device = "reference"), sum(F, index = "j"), tolerance = 1e-13)
  for (threads in 1:3) expect_identical(sum(F, index = "j", threads = threads), sum(F, index = "j", threads = 1))
})

test_that("products, matrices, diagonals and rows have batches", {
  K <- exp(-sqdist(Vi(x), Vj(y)))
  dense <- by_batch(function(k) as.matrix(exp(-sqdist(Vi(slice(x, k)), Vj(slice(y, k))))))
  expect_equal(as.matrix(K), dense)
  for (b in list(stats::rnorm(5), matrix(stats::rnorm(10), 5), array(stats::rnorm(40), c(5, 2, 4)))) {
    of <- function(k) if (length(dim(b)) == 3) b[, , k] else b
    expect_equal(K %*% b, by_batch(function(k) dense[, , k] %*% of(k)))
  }
  expect_equal(crossprod(K, x1), by_batch(function(k) crossprod(dense[, , k], x1)))
  expect_equal(rowSums(K), by_batch(function(k) rowSums(dense[, , k])))
  expect_equal(colMeans(K), by_batch(function(k) colMeans(dense[, , k])))
  expect_equal(diag(K), by_batch(function(k) diag(dense[, , k])))
  expect_equal(K[2:3, ] %*% 1:5, by_batch(function(k) dense[2:3, , k] %*% 1:5))
  expect_equal(as.matrix(t(K)), aperm(dense, c(2, 1, 3)))
  expect_equal(as.matrix(take_batch(K, 3)), dense[, , 3])
  expect_equal(sum(K, index = "j", drop = TRUE), by_batch(function(k) rowSums(dense[, , k])))
  expect_equal(sum(exclude_diag(K), index = "j", drop = TRUE),
               by_batch(function(k) rowSums(dense[, , k] * (row(dense[, , k]) != col(dense[, , k])))))
})

test_that("systems have batches", {
  S <- exp(-sqdist(Vi(x), Vj(x)))
  b <- matrix(stats::rnorm(14), 7)
  expect_equal(solve(S, b, ridge = 0.1), by_batch(function(k) {
    solve(as.matrix(exp(-sqdist(Vi(slice(x, k)), Vj(slice(x, k))))) + diag(0.1, 7), b)
  }))
  expect_identical(dim(solve(S, b[, 1], ridge = 0.1)), c(7L, 4L))
})

test_that("gradients have the shape of what they are in, and add up where batches share it", {
  X <- Vi(x, name = "x")
  Y <- Vj(y[, , 1], name = "y")
  S <- Pm(array(c(0.5, 1, 1.5, 2), c(1, 1, 4)), name = "s")
  one <- Pm(0.7, name = "t")
  F <- exp(-sqdist(X, Y) / S) * one
  R <- sum(F, index = "j", call = FALSE)
  g <- array(stats::rnorm(28), c(7, 1, 4))
  found <- vjp(R, list(X, Y, S, one), cotangent = g)
  expect_identical(lapply(found, dim), list(x = dim(x), y = c(5L, 3L), s = c(1L, 1L, 4L), t = NULL))
  total <- function(x, y, s, t) sum(g * sum(exp(-sqdist(Vi(x), Vj(y)) / Pm(s)) * Pm(t), index = "j"))
  at <- list(x = x, y = y[, , 1], s = array(c(0.5, 1, 1.5, 2), c(1, 1, 4)), t = 0.7)
  for (name in names(at)) for (k in unique(round(seq(1, length(at[[name]]), length.out = 5)))) {
    moved <- function(h) {
      at[[name]][k] <- at[[name]][k] + h
      do.call(total, at)
    }
    expect_equal(found[[name]][k], (moved(1e-5) - moved(-1e-5)) / 2e-5, tolerance = 1e-6, label = paste(name, k))
  }
  stacked <- sum(exp(-sqdist(X, Y)), index = "j", call = FALSE)
  apart <- function(k) vjp(sum(exp(-sqdist(Vi(slice(x, k), name = "x"), Y)), index = "j", call = FALSE), "x", g[, , k])
  expect_equal(vjp(stacked, X, g), by_batch(apart))
  expect_equal(vjp(stacked, Y, g), Reduce(`+`, lapply(1:4, function(k) {
    vjp(sum(exp(-sqdist(Vi(slice(x, k)), Y)), index = "j", call = FALSE), Y, g[, , k])
  })))
  expect_equal(jvp(stacked, X, tangent = x), by_batch(function(k) {
    jvp(sum(exp(-sqdist(Vi(slice(x, k), name = "x"), Y)), index = "j", call = FALSE), "x", slice(x, k))
  }))
})

test_that("functions of arrays have gradients, by tape and by placeholders", {
  f <- function(x) sum(logsumexp(-sqdist(Vi(x), Vj(y)))^2)
  each <- function(k) gradient(function(x) sum(logsumexp(-sqdist(Vi(x), Vj(slice(y, k))))^2))(slice(x, k))[[1]]
  expect_equal(gradient(f)(x)[[1]], by_batch(each))
  own <- array(c(0.5, 1, 2, 4), c(1, 1, 4))
  f <- function(s) sum(sum(exp(-sqdist(Vi(x1), Vj(x1)) / Pm(s)), index = "j"))
  expect_equal(as.vector(gradient(f)(own)[[1]]), vapply(1:4, function(k) gradient(f)(own[k])[[1]], 0))
  h <- as.function(sum(sqdist(Vi(dim = 3), Vj(dim = 3)), index = "j"))
  expect_equal(h(x, y), sum(sqdist(Vi(x), Vj(y)), index = "j"))
  expect_equal(h(x1, y[, , 1]), sum(sqdist(Vi(x1), Vj(y[, , 1])), index = "j"))
})

test_that("determinants are those of each batch", {
  K <- exp(-sqdist(Vi(x), Vj(x)))
  found <- logdet(K, ridge = 0.1)
  expect_equal(as.vector(found), vapply(1:4, function(k) as.numeric(logdet(take_batch(K, k), ridge = 0.1)), 0))
  expect_identical(as.vector(attr(found, "se")), numeric(4))
  two <- exp(-sqdist(Vi(array(x, c(7, 3, 2, 2))), Vj(array(x, c(7, 3, 2, 2)))))
  expect_equal(dim(logdet(two, ridge = 0.1)), c(2L, 2L))
  estimated <- logdet(K, ridge = 0.1, method = "lanczos", seed = 1)
  expect_true(all(abs(estimated - found) <= 6 * attr(estimated, "se") + 1e-8))
  expect_error(gradient(function(s) sum(logdet(exp(-sqdist(Vi(x), Vj(x)) * s), ridge = 0.1)))(1),
               class = "kernweave_error_no_gradient")
  expect_length(logdet(exp(-sqdist(Vi(array(0, c(7, 3, 0))), Vj(array(0, c(7, 3, 0)))))), 0)
})

test_that("a ready reduction runs again with other batches, on other threads, and when what it reads has changed", {
  term <- exp(-sqdist(Vi(dim = 3), Vj(dim = 3)))
  f <- as.function(sum(term, index = "j"))
  for (k in list(1:4, 2:3, 1:4)) {
    expect_equal(f(x[, , k], y[, , k]), by_batch(function(b) sum(exp(-sqdist(Vi(slice(x, k[b])), Vj(slice(y, k[b])))),
                                                                 index = "j"), length(k)))
  }
  expect_equal(f(x[1:3, , ], y), f(x, y)[1:3, , , drop = FALSE])
  R <- sum(exp(-sqdist(Vi(x), Vj(y))), index = "j", call = FALSE)
  first <- as.matrix(R)
  expect_identical(as.matrix(R), first)
  expect_identical(as.matrix(lazy_set(R, threads = 1)), first)
  expect_equal(as.matrix(lazy_set(R, precision = "float32")), first, tolerance = 1e-5)
  expect_identical(as.matrix(unserialize(serialize(R, NULL))), first)
})

test_that("none, one and many batches", {
  none <- array(0, c(7, 3, 0))
  expect_identical(dim(sum(sqdist(Vi(none), Vj(y[, , 1])), index = "j")), c(7L, 1L, 0L))
  X <- Vi(none, name = "x")
  Y <- Vj(y[, , 1], name = "y")
  found <- vjp(sum(exp(-sqdist(X, Y)), index = "j", call = FALSE), list(X, Y))
  expect_identical(found, list(x = none, y = 0 * y[, , 1]))
  expect_identical(dim(solve(exp(-sqdist(X, Vj(none))), 1:7, ridge = 0.1)), c(7L, 0L))
  expect_equal(sum(sqdist(Vi(x[, , 1, drop = FALSE]), Vj(y[, , 1])), index = "j"),
               array(sum(sqdist(Vi(x[, , 1]), Vj(y[, , 1])), index = "j"), c(7, 1, 1)))
  many <- array(stats::rnorm(3 * 2 * 500), c(3, 2, 500))
  expect_equal(sum(sqdist(Vi(many), Vj(many)), index = "ij")[1, 1, 7],
               sum(sqdist(Vi(many[, , 7]), Vj(many[, , 7])), index = "ij")[1])
})

test_that("what does not fit, or has no batches yet, says so", {
  expect_error(sqdist(Vi(x), Vj(y[, , 1:3])), "batch axis 1", class = "kernweave_error_shape")
  K <- exp(-sqdist(Vi(x), Vj(x)))
  for (code in expression(as_op(K), explain(K), solve(K), plot(K)))
    expect_error(eval(code), "take_batch", class = "kernweave_error_unsupported", label = deparse(code))
  expect_error(take_batch(K, 5), "4 in all", class = "kernweave_error_index")
  expect_error(take_batch(x, 1), class = "kernweave_error_input")
  expect_error(Vij(x), "7 x 3 x 4", class = "kernweave_error_unsupported")
  expect_error(Pm(x), class = "kernweave_error_shape")
  expect_error(solve(K, array(1, c(7, 1, 3))), "`b` has batches 3", class = "kernweave_error_shape")
  expect_output(print(K), "x 4 batches")
})

test_that("a condition with batches restricts each batch in its own way, of formulas without batches, too", {
  point <- array(c(0.3, 1.2, -0.4, 0.8, 0.1, 0.9, -0.7, 1.5, 0.2, 0.6, -1.1, 0.4), c(4, 1, 3))
  D <- sqdist(Vi(point), Vj(point))
  near <- as.array(D) < 0.3
  K <- restrict(exp(-D), where = D < 0.3)
  dense <- exp(-as.array(D)) * near
  for (k in 1:3) expect_equal(as.matrix(take_batch(K, k)), dense[, , k])
  expect_equal(unname(drop(solve(K, 1:4, ridge = 1))), sapply(1:3, function(k) solve(dense[, , k] + diag(4), 1:4)),
               tolerance = 1e-5)
  plain <- restrict(exp(-sqdist(Vi(1:4), Vj(1:4))), where = D < 0.3)
  dense <- as.vector(exp(-outer(1:4, 1:4, "-")^2)) * near
  expect_equal(dim(plain), c(4L, 4L, 3L))
  expect_equal(as.array(plain), dense)
  expect_equal(as.array(t(plain)), aperm(dense, c(2, 1, 3)))
  expect_equal(as.matrix(take_batch(plain, 2)), dense[, , 2])
  expect_equal(as.matrix(take_batch(t(plain), 2)), t(dense[, , 2]))
  expect_equal(drop(sum(plain, index = "j")), apply(dense, 3, rowSums))
  expect_error(keigen(plain, 1), "batches", class = "kernweave_error_unsupported")
  expect_error(restrict(Vi(array(0, c(4, 1, 2))) + Vj(1:4), where = D < 0.3), "batch", class = "kernweave_error_shape")
  Z <- restrict(exp(1i * Vi(1:4) * Vj(1:4)), where = D < 0.3)
  expect_equal(as.matrix(take_batch(Z, 3)), exp(1i * outer(1:4, 1:4)) * near[, , 3])
  uneven <- take_batch(lazy_complex(Vi(point), Vj(1:4)), 2)  # the imaginary part has no batches
  expect_equal(as.matrix(uneven), outer(point[, 1, 2], 1i * 1:4, "+"))
})

test_that("bounds of one batch leave no pairs of another out", {
  points <- array(c(1:300, 300:1, (7 * 1:300) %% 300), c(300, 1, 3))
  found <- sum(restrict(exp(-Vj(points)), where = Vi(points) - Vj(points) < -200), index = "j")
  of_one <- function(x) rowSums(rep(exp(-x), each = 300) * (outer(x, x, "-") < -200))
  expect_equal(found[, 1, ], apply(points, 3, of_one))
})

test_that("batches that are restricted, gathered or have parameters are those of each", {
  skip_below("quick")
  by <- list(rep(1:3, length.out = 7), c(2, 1, 2, 3, 3))
  scale <- array(c(0.5, 1, 2, 4), c(1, 1, 4))
  formulas <- list(
    plain = function(x, y, s) exp(-sqdist(Vi(x), Vj(y)) / Pm(s)),
    groups = function(x, y, s) restrict(exp(-sqdist(Vi(x), Vj(y)) / Pm(s)), by = by),
    gathered = function(x, y, s) Vi(x)[7:1, ] * Vj(y) * Pm(s),
    counted = function(x, y, s) sqdist(Vi(x), Vj(y)) / Pm(s) + row_index() / col_index()
  )
  for (name in names(formulas)) for (index in c("i", "j", "ij")) for (op in c("sum", "mean", "argmin", "min_argmin")) {
    reduced <- function(x, y, s) reduction(formulas[[name]](x, y, s), op, index = index)
    expect_equal(reduced(x, y, scale), by_batch(function(k) reduced(slice(x, k), slice(y, k), scale[k])),
                 label = paste(name, index, op))
  }
  gathered <- function(X) vjp(sum(X[c(1, 1, 7, 2, 3), ] * Vi(y[, , 1]) * Vj(1:2), index = "j", call = FALSE), X, 1)
  expect_equal(gathered(Vi(x)), by_batch(function(k) gathered(Vi(slice(x, k)))))
})

test_that("a GPU has launches for many batches at once, whose results are those of the CPU", {
  skip_without_gpu()
  rows <- kernweave_reductions()
  both <- function(f, label, precision = "float64") {
    expect_equal(with_kernweave(f(), device = "gpu", precision = precision), with_kernweave(f(), device = "cpu"),
                 tolerance = 10 * tolerance_of(precision), label = label)
  }
  for (k in seq_len(nrow(rows))) for (index in c("i", "j", "ij")) {
    row <- rows[k, ]
    K <- if (row$inputs == "value_k") 2
    both(function() {
      term <- sqdist(Vi(x), Vj(y))
      if (row$fn %in% c("any", "all", "count")) term <- term < 4
      reduction(term, row$fn, index = index, K = K, weight = if (row$fn == "sumsoftmaxweight") Vj(y))
    }, paste(row$fn, index), test_precisions()[k %% length(test_precisions()) + 1])
  }
  many <- array(stats::rnorm(70 * 2 * 1100), c(70, 2, 1100))
  own <- array(stats::runif(1100, 1, 2), c(1, 1, 1100))
  both(function() sum(exp(-sqdist(Vi(many), Vj(many)) / Pm(own)), index = "j"), "a parameter for each batch")
  both(function() sum(exp(-sqdist(Vi(many), Vj(many[, , 1])))), "both axes, one cloud for all")
  both(function() as.matrix(sqdist(Vi(x), Vj(y))), "all pairs")
  two <- array(stats::rnorm(5 * 3 * 8), c(5, 3, 4, 2))
  both(function() sum(sqdist(Vi(x), Vj(two)), index = "i"), "two batch axes")
  long <- array(stats::rnorm(3000 * 3 * 3), c(3000, 3, 3))
  both(function() argKmin(sqdist(Vi(long), Vj(long)), K = 4, index = "j"), "several blocks and splits")
  there <- on_device(many)
  found <- sum(exp(-sqdist(Vi(there), Vj(there))), index = "j", device = "gpu")
  expect_true(is_on_device(found))
  expect_equal(found[], sum(exp(-sqdist(Vi(many), Vj(many))), index = "j", device = "cpu"), tolerance = 1e-12)
})
