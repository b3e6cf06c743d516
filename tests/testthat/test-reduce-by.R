# Rows of a reduction by groups are the reduction of all pairs of a group.

set.seed(4)
x <- matrix(stats::rnorm(30), 10)
y <- matrix(stats::rnorm(21), 7)
g <- c(3, 1, 3, 2, 1, 3, 3, 2, 1, 9)
D <- sqdist(Vi(x), Vj(y))

test_that("each group has what all its pairs have", {
  for (op in c("sum", "mean", "prod", "min", "max", "logsumexp", "any", "all", "count")) for (index in c("i", "j")) {
    F <- if (op %in% c("any", "all", "count")) D < 5 else D
    by <- if (index == "j") g else g[1:7]
    of_group <- function(k) {
      at <- which(by == k)
      one <- if (index == "j") F[at, ] else F[, at]
      reduction(one, op, index = "ij")[1]
    }
    found <- reduction(F, op, index = index, by = by)
    expect_equal(found, matrix(sapply(sort(unique(by)), of_group), dimnames = list(sort(unique(by)), NULL)),
                 label = paste(op, index))
  }
})

test_that("groups may be factors and strings; components and batches keep their places", {
  f <- factor(letters[g], levels = letters)
  expect_equal(sum(D, index = "j", by = f), rowsum(sum(D, index = "j"), letters[g]))
  expect_equal(sum(D, index = "j", by = letters[g]), rowsum(sum(D, index = "j"), letters[g]))
  expect_equal(sum(Vi(x) * Vj(y), index = "j", by = g), rowsum(sum(Vi(x) * Vj(y), index = "j"), g))
  expect_equal(sum(D, index = "j", by = g, drop = TRUE), rowsum(sum(D, index = "j"), g)[, 1])
  a <- array(stats::rnorm(60), c(10, 3, 2))
  found <- sum(sqdist(Vi(a), Vj(y)), index = "j", by = g)
  expect_equal(found[, , 2], rowsum(sum(sqdist(Vi(a[, , 2]), Vj(y)), index = "j"), g)[, 1])
})

test_that("sums and means by groups have gradients", {
  f <- function(x) sum(sum(exp(-sqdist(Vi(x), Vj(y))), index = "j", by = g)^2)
  h <- function(x) sum(rowsum(plain(x), g)^2)
  plain <- function(x) matrix(rowSums(exp(-outer(seq_len(nrow(x)), seq_len(nrow(y)), Vectorize(function(i, j) {
    sum((x[i, ] - y[j, ])^2)
  })))))
  expect_equal(f(x), h(x))
  step <- replace(0 * x, 4, 1e-5)
  expect_equal(gradient(f)(x)[[1]][4], (h(x + step) - h(x - step)) / 2e-5, tolerance = 1e-7)
  m <- function(x) sum(mean(sqdist(Vi(x), Vj(y)), index = "j", by = g)^2)
  expect_equal(gradient(m)(x)[[1]][4], (m(x + step) - m(x - step)) / 2e-5, tolerance = 1e-6)
})

test_that("what has no groups says so", {
  expect_error(sum(D, index = "ij", by = g), "keeps none", class = "kernweave_error_input")
  expect_error(sum(D, index = "j", by = 1:3), "each of the 10 points", class = "kernweave_error_shape")
  expect_error(sum(D, index = "j", by = replace(g, 2, NA)), "1 of 10", class = "kernweave_error_value")
  expect_error(reduction(D, "argmin", by = g), "not with argmin", class = "kernweave_error_unsupported")
  expect_error(reduction(D, c("sum", "max"), by = g), "not with sum, max", class = "kernweave_error_unsupported")
  expect_error(mean(exclude_diag(D), index = "j", by = g), class = "kernweave_error_unsupported")
  expect_error(sum(sqdist(Vi(dim = 3), Vj(y)), index = "j", by = g), class = "kernweave_error_no_data")
})

test_that("groups of no rows are no rows of as many columns", {
  none <- reduction(sqdist(Vi(matrix(0, 0, 2)), Vj(matrix(0, 3, 2))), "sum", by = factor(character()))
  expect_equal(dim(none), c(0L, 1L))
})
