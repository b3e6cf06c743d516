# along(): operands with named axes; what the places of index formulas become.

set.seed(7)
A <- matrix(stats::rnorm(12), 3, 4)
B <- matrix(stats::rnorm(20), 4, 5)
X <- array(stats::rnorm(60), c(3, 4, 5))
x <- matrix(stats::rnorm(6), 3)
y <- matrix(stats::rnorm(10), 5)

test_that("Vi(), Vj(), Vij() and Pm() are places along i and j", {
  of <- function(F) sum(F, index = "j")
  expect_identical(as.matrix(along(x, "i", NA) + 0), as.matrix(Vi(x) + 0))
  expect_identical(of(sqdist(along(x, "i", NA), along(y, "j", NA))), of(sqdist(Vi(x), Vj(y))))
  expect_identical(of(along(A, "i", "j") * 2), of(Vij(A) * 2))
  expect_identical(of(Vij(A) * along(2, NA)), of(Vij(A) * Pm(2)))
  expect_identical(dim(of(along(A, "i", "j"))), c(3L, 1L))  # axes i and j alone: as ever
})

test_that("operands with axes are index formulas", {
  g <- c(2L, 1L, 3L, 3L, 1L)
  w <- c(0.5, 0.25)
  y30 <- stats::rnorm(30)
  square <- matrix(stats::rnorm(16), 4)
  pairs <- list(
    list(reduction(along(A, "i", "k") * along(B, "k", "j"), "sum", index = "k"),
         reduction(C[i, j] ~ A[i, k] * B[k, j], "sum")),
    list(reduction(along(X, "i", "j", "k") * along(A, "i", "j"), "sum", index = c("j", "k")),
         reduction(C[i] ~ X[i, j, k] * A[i, j], "sum")),
    list(reduction(along(B, "a", "b") * along(A, "i", "a", at = list(i = g)), "max", index = "a"),
         reduction(C[b, i] ~ B[a, b] * A[g[i], a], "max")),
    list(reduction(along(y30, c("t", "s")) * along(w, "s"), "sum", index = "s"),
         reduction(m[t] ~ y30[t + s - 1] * w[s], "sum")),
    list(reduction(exp(-sqdist(Vi(x), Vj(y)) - sqdist(Vj(y), along(x, "k", NA))), "sum", index = c("j", "k")),
         reduction(u[i] ~ exp(-sqdist(x[i, ], y[j, ]) - sqdist(y[j, ], x[k, ])), "sum")),
    list(reduction(Vi(x) * along(X, "k", "l", "i", at = list(i = c(5L, 2L, 2L))), "logsumexp", index = c("k", "l")),
         reduction(u[i] ~ x[i, ] * X[k, l, h[i]], "logsumexp", data = list(h = c(5L, 2L, 2L)))),
    list(reduction(along(square, "k", "k") * along(A, "i", "k"), "sum", index = "k"),
         reduction(u[i] ~ square[k, k] * A[i, k], "sum")),
    list(reduction(Pm(2) * along(X, "a", "b", "c"), "min_argmin", index = c("a", "c")),
         reduction(u[b] ~ 2 * X[a, b, c], "min_argmin"))
  )
  for (k in seq_along(pairs)) expect_equal(pairs[[k]][[1]], pairs[[k]][[2]], label = paste("row", k))
})

test_that("kept axes come in order of mention", {
  expect_equal(reduction(along(X, "a", "b", "c"), "sum", index = "b"), apply(X, c(1, 3), sum))
  expect_equal(reduction(along(1:5, "c") * along(X, "a", "b", "c"), "sum", index = "b"),
               t(apply(X, c(1, 3), sum)) * 1:5)
  expect_equal(reduction(along(X, "a", "b", "c"), "sum", index = c("a", "c")), apply(X, 2, sum))
  expect_equal(reduction(along(X, "a", "b", "c"), "sum", index = c("a", "b", "c")), sum(X))
})

test_that("what along() cannot do says so by class", {
  expect_class <- function(code, class) {
    expect_error(code, class = paste0("kernweave_error_", class))
  }
  expect_class(along(A, "i"), "shape")
  expect_class(along(A, "i", "j", "k"), "shape")
  expect_class(along(A, TRUE, "k"), "input")
  expect_class(along("text", "i"), "input")
  expect_class(along(as.data.frame(A), "i", "k"), "input")
  expect_class(along(A, 4, "k"), "index")
  expect_class(reduction(along(A, "i", "k", at = list(i = c(1L, NA))), "sum", index = "k"), "value")
  expect_class(reduction(along(A, "i", "k", at = list(i = 4L)), "sum", index = "k"), "index")
  expect_class(reduction(along(A, "i", "k") * along(B, "j", "k"), "sum", index = "k"), "shape")
  expect_class(reduction(along(A, "i", "k"), "sum", index = "z"), "shape")
})

test_that("only reduction() computes formulas with named axes", {
  F <- along(A, "i", "k") * along(B, "k", "l")
  for (code in expression(as.matrix(F), as.array(F), rowSums(F), F %*% 1:4, F[1, 2], head(F), solve(F, 1:3),
                          keigen(F, 1), reduction(F, "sum", index = "k", by = 1:3), as_op(F), diag(F))) {
    expect_error(eval(code), class = "kernweave_error", label = deparse(code))
  }
})

test_that("functions of arrays with named axes have gradients", {
  g <- c(2L, 2L, 1L)
  rows <- list(
    function(A) reduction(along(A, "i", "k") * along(B, "k", "l"), "sum", index = c("i", "k")),
    function(A) reduction(along(A, "i", "k", at = list(i = g)) * along(x, "i", "l"), "sum", index = "i"),
    function(A) reduction(along(A, "l", "k") * Vi(x) * along(X, "l", "k", "i", at = list(i = g)), "sum", index = "l"),
    function(A) reduction(along(A, c("t", "s"), 2) * along(c(1, 2), "s"), "logsumexp", index = "s")
  )
  for (f in rows) {
    total <- function(A) sum(f(A)^2)
    expect_slopes(gradient(total)(A)[[1]], total, A, deparse(body(f)))
  }
})

test_that("axes i and j may be named like others", {
  expect_equal(as.vector(reduction(Vij(A) * 2, "sum", index = c("i", "j"))), sum(A) * 2)
  expect_error(reduction(Vij(A), "sum", index = "k"), class = "kernweave_error_input")
})

test_that("several reductions of an index formula are a list, and explain() says which axis is which", {
  A <- matrix(stats::rnorm(12), 3)
  found <- reduction(C[i] ~ A[i, k], c("sum", best = "argKmin"), K = 2)
  expect_equal(found, list(sum = rowSums(A), best = t(apply(A, 1, order)[1:2, ])))
  R <- reduction(s[j] ~ A[i, k] * A[i, j] * A[1, k], "sum", call = FALSE)
  expect_identical(format(R), "sum over i, k, for each j, of A[i, k] * A[i, j] * A[1, k]")
  expect_match(utils::capture.output(print(explain(R))), "runs that are folded together along i (3)", fixed = TRUE,
               all = FALSE)
  expect_identical(utils::capture.output(print(along(A, "i", "k")))[1], "<lazy tensor> i 3 x k 4, real")
})

test_that("dim() of a formula with named axes has the extent of each axis, by name", {
  F <- along(A, "i", "k") * along(B, "k", "l")
  expect_identical(dim(F), c(i = 3L, k = 4L, l = 5L))
  expect_identical(length(F), 60L)
  expect_identical(dim(Vi(x) * along(1:7, "s")), c(i = 3L, s = 7L))
  expect_identical(dim(sqdist(along(x, "p", NA), along(y, "q", NA))), c(p = 3L, q = 5L))
  expect_identical(dim(along(1:9, c("t", "s")) * along(1:3, "s")), c(t = 7L, s = 3L))
  expect_identical(dim(along(1:9, c("t", "s"))), c(t = NA_integer_, s = NA_integer_))
  expect_identical(dim(along(A, "i", "j") * 2), c(3L, 4L))  # axes i and j alone: as ever
  shown <- function(F) utils::capture.output(print(F))[1]
  expect_identical(shown(sqdist(along(x, "p", NA), along(y, "q", NA))), "<lazy tensor> p 3 x q 5, real")
  expect_identical(shown(along(x, "p", NA) * along(1:2, "q")), "<lazy tensor> p 3 x q 2 x 2 components, real")
  expect_identical(shown(along(1:9, c("t", "s"))), "<lazy tensor> t ? x s ?, integer")
  expect_match(utils::capture.output(print(summary(F)))[1], "i 3 x k 4 x l 5, 1 component", fixed = TRUE)
  expect_error(explain(F), "named axes", class = "kernweave_error_unsupported")
})
