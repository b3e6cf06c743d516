# Plans of index formulas that are kept: a later call is what it would be without them.

forget_plans <- function() {
  plans <- kernweave:::known_plans
  plans$all <- list()
}
count_plans <- function() length(kernweave:::known_plans$all)

# The arrays of an example with other numbers: row numbers that are there, and the same types.
renumbered <- function(data, seed) {
  with_local_seed(seed, lapply(data, function(x) {
    x[] <- if (!is.double(x)) x[sample.int(length(x))] else sample(-32:32, length(x), TRUE) / 16
    x
  }))
}

fresh <- function(formula, op, data, ...) {
  forget_plans()
  reduction(formula, op, data = data, ...)
}

test_that("random formulas of other numbers are by their kept plans what they are without them", {
  for (op in c("sum", "max", "argmin", "variance", "mean", "Kmin_argKmin")) for (seed in trials(25)) {
    example <- random_index_formula(seed)
    f <- example$formula
    K <- if (op == "Kmin_argKmin") 2
    fresh(f, op, example$data, K = K)
    others <- lapply(1:3, function(s) renumbered(example$data, s))
    found <- lapply(others, function(data) reduction(f, op, data = data, K = K))
    known <- count_plans()
    expect_lte(known, 1)
    label <- sprintf("%s of %s, seed %d", op, paste(deparse(f), collapse = ""), seed)
    expect_identical(found, lapply(others, function(data) fresh(f, op, data, K = K)), label = label)
  }
})

test_that("random contractions of changing extents and types keep their meaning", {
  for (seed in trials(40)) {
    with_local_seed(seed, {
      cases <- lapply(1:12, function(k) {
        n <- sample(1:4, 2, TRUE)
        draw <- pick(list(function(m) sample(-9:9, m, TRUE), function(m) stats::rnorm(m),
                          function(m) sample(c(TRUE, FALSE, NA)[seq_len(pick(2:3))], m, TRUE)))
        names <- if (chance(0.3)) list(letters[seq_len(n[1])], NULL)
        list(A = matrix(draw(prod(n)), n[1], dimnames = names), B = matrix(stats::rnorm(prod(n)), n[2]))
      })
      f <- s[i] ~ A[i, k] * B[k, i] + A[i, k]^2
      found <- lapply(cases, function(data) reduction(f, "max", data = data))
    })
    expect_identical(found, lapply(cases, function(data) fresh(f, "max", data)), label = paste("seed", seed))
  }
})

test_that("variables are looked up at each call, arrays, numbers and functions", {
  forget_plans()
  A <- matrix(1:6 / 2, 2)
  a <- 2
  f <- function() reduction(w[i] ~ A[i, k] * a, "sum")
  expect_equal(f(), rowSums(A) * 2)
  a <- 3
  expect_equal(f(), rowSums(A) * 3)
  A <- matrix(1:6, 3, dimnames = list(letters[1:3], NULL))
  expect_equal(f(), rowSums(A) * 3)
  a <- matrix(1, 3, 2)
  expect_error(f(), class = "kernweave_error_shape")
  exp <- function(x) x + 1
  g <- function() reduction(w[i] ~ exp(A[i, k]), "sum")
  expect_equal(g(), rowSums(A) + 2)
  exp <- function(x) x + a
  a <- 2
  expect_equal(g(), rowSums(A) + 4)
  rm(exp)
  expect_equal(g(), rowSums(base::exp(A)))
})

test_that("values that are drawn or read while planning are drawn and read at each call", {
  A <- matrix(1:6 / 2, 2)
  draws <- replicate(3, reduction(s ~ A[i, k] * stats::runif(1), "sum"))
  expect_length(unique(draws), 3)
  r <- c(0, 1, 2, 3)
  lag <- c(1, 2)
  toeplitz_sum <- function() reduction(s[i] ~ r[abs(i - j) + lag[i]] * A[i, j], "sum", extents = c(j = 3))
  first <- toeplitz_sum()
  lag <- c(2, 1)
  expect_false(identical(first, toeplitz_sum()))
  fit <- list(coef = c(1, 2))
  h <- function() reduction(s ~ A[i, k] * fit$coef[i], "sum")
  expect_equal(h(), sum(A * 1:2))
  fit$coef <- c(3, 4)
  expect_equal(h(), sum(A * 3:4))
})

test_that("row numbers and names are checked and read at each call", {
  forget_plans()
  x <- c(a = 1, b = 2, c = 4)
  y <- unname(x)
  g <- c(3, 1, 1)
  named <- function() reduction(v[i] ~ x[g[i]], "sum")
  plain <- function() reduction(v[i] ~ y[g[i]], "sum")
  expect_equal(named(), x[g])
  expect_equal(plain(), y[g])
  g <- c(2, 2, 3)
  expect_equal(named(), x[g])
  expect_equal(plain(), y[g])
  g <- c(2, 2, 4)
  expect_error(plain(), "row numbers from 2 to 4", class = "kernweave_error_index")
  g <- c("b", "a", "a")
  expect_equal(named(), x[g])
  g <- factor(c("b", "a", "c"))
  expect_equal(plain(), y[g])
})

test_that("options and settings hold for kept plans", {
  forget_plans()
  A <- matrix(stats::rnorm(12), 3)
  f <- function(...) reduction(w[i] ~ A[i, k] / 3, "sum", ...)
  double <- f()
  single <- with_kernweave(f(), precision = "float32")
  expect_false(identical(double, single))
  expect_identical(f(precision = "float32"), single)
  expect_identical(f(), double)
  expect_error(f(index = "i"), class = "kernweave_error_input")
})

test_that("gradients go by the tape, whatever is kept", {
  forget_plans()
  A <- matrix(1:6 / 2, 2)
  loss <- function(A) reduction(s ~ A[i, k]^2, "sum")
  expect_equal(loss(A), sum(A^2))
  expect_equal(gradient(loss)(A)$A, 2 * A)
  expect_equal(loss(A), sum(A^2))
})

test_that("plans are few and hold no numbers of arrays", {
  forget_plans()
  for (n in 1:100) {
    x <- as.numeric(seq_len(n))
    expect_equal(reduction(s ~ x[i], "sum"), sum(x))
  }
  expect_equal(count_plans(), kernweave:::most_plans)
  forget_plans()
  x <- stats::rnorm(1e5)
  reduction(s ~ x[i] * x[i], "sum")
  expect_equal(count_plans(), 1)
  expect_lt(length(serialize(kernweave:::known_plans$all, NULL)), 1e5)
})
