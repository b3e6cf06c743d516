# Mistakes in index formulas are errors of a class, and say which arrays, axes and sizes do not agree.

set.seed(8)
A <- matrix(stats::rnorm(35), 5, 7)
B <- matrix(stats::rnorm(77), 11, 7)
X <- array(stats::rnorm(60), c(3, 4, 5))
y <- stats::rnorm(30)
w <- c(.2, .5, .3)

expect_mistake <- function(formula, class, says = character(), op = "sum", ...) {
  label <- paste(deparse(formula), collapse = "")
  caught <- tryCatch(reduction(formula, op, ...), error = identity)
  if (!inherits(caught, "error")) return(testthat::fail(paste(label, "is no mistake")))
  testthat::expect(inherits(caught, paste0("kernweave_error_", class)),
                   sprintf("%s is of class %s: %s", label, class(caught)[1], conditionMessage(caught)))
  for (part in says) {
    found <- grepl(part, conditionMessage(caught), fixed = TRUE)
    testthat::expect(found, sprintf("%s: \"%s\" does not say \"%s\"", label, conditionMessage(caught), part))
  }
}

test_that("extents that differ name both arrays and both sizes", {
  expect_mistake(C[i, j] ~ A[i, k] * B[k, j], "shape", c("axis k", "7", "`A[i, k]`", "11", "`B[k, j]`"))
  expect_mistake(C[i] ~ A[i, i], "shape", c("5", "7", "`A[i, i]`"))
  expect_mistake(C[i] ~ A[i, k] * w[g[i]], "shape", c("5", "4", "`A[i, k]`", "g[i]"),
                 data = list(g = c(1L, 2L, 3L, 1L)))
  expect_mistake(C[i] ~ A[i, k], "shape", c("5", "11", "`A[i, k]`", "`B[i, j]`"), op = "sumsoftmaxweight",
                 weight = ~ B[i, j])
})

test_that("dimensions that are not all named name the array and both numbers", {
  expect_mistake(C[i] ~ X[i, k], "shape", c("`X[i, k]`", "3", "2"))
  expect_mistake(C[i] ~ A[i], "shape", c("`A[i]`", "2", "1"))
  expect_mistake(C[i] ~ y[i, k], "shape", c("`y[i, k]`", "1", "2"))
})

test_that("axes that nothing gives an extent are named", {
  expect_mistake(C[i, l] ~ A[i, k], "shape", "axis l")
  expect_mistake(C[i] ~ A[g[2], k], "shape", "axis i", data = list(g = 1:3))
  expect_mistake(m[t] ~ y[t + s], "shape", c("t", "s"))
})

test_that("windows that do not fit name how far they reach and how long the array is", {
  u <- y[1:28]
  expect_mistake(m[t] ~ y[t + s] * w[s] * u[t], "shape", c("`y[t + s]`", "31", "30"))
  expect_mistake(m[t] ~ w[t + s - 1] * y[s], "shape", c("`w[t + s - 1]`", "30", "3"))
  expect_mistake(m[t] ~ y[t - s] * w[s] * u[t], "shape", c("`y[t - s]`", "-2"))
})

test_that("places out of range name the array, the place and the size", {
  for (place in list(8, 0, -1, 1.5)) {
    f <- C[i] ~ A[i, 1]
    f[[3]][[4]] <- place
    expect_mistake(f, "index", c(deparse(f[[3]]), "7"))
  }
  expect_mistake(C[i] ~ A[g[i], k], "index", c("`g[i]`", "9", "5"), data = list(g = c(1, 9)))
  expect_mistake(C[i] ~ A[g[i], k], "index", c("`g[i]`", "0", "5"), data = list(g = c(0, 2)))
  expect_mistake(C[i] ~ A[g[i], k], "index", "`g[i]`", data = list(g = c(1.5, 2)))
  expect_mistake(C[i] ~ A[g[i], k], "index", c("`g[i]`", "7", "5"), data = list(g = factor(1:7)))
})

test_that("gathers by NA or by text are mistakes", {
  expect_mistake(C[i] ~ A[g[i], k], "value", c("`g[i]`", "NA"), data = list(g = c(1L, NA)))
  expect_mistake(C[i] ~ A[g[i], k], "value", c("`g[i]`", "NA"), data = list(g = c(1, NaN)))
  expect_mistake(C[i] ~ A[g[i], k], "value", c("`g[i]`", "NA"), data = list(g = factor(c("a", NA))))
  expect_mistake(C[i] ~ A[g[i], k], "input", "`g[i]`", data = list(g = c("a", "b")))
})

test_that("what is no array of numbers is refused with a remedy", {
  table <- as.data.frame(A)
  expect_mistake(C[i] ~ table[i, k], "input", c("table", "as.matrix(table), before"))
  expect_error(reduction(list(C[i] ~ w[i], s ~ w[i]), "sum"), "one at a time", class = "kernweave_error_input")
  expect_mistake(C[i] ~ f[i], "input", "as.integer", data = list(f = factor(letters)))
  expect_mistake(C[i] ~ f[i], "input", "character", data = list(f = letters))
  expect_mistake(C[i] ~ f[i], "input", "list", data = list(f = list(1, 2)))
  expect_mistake(C[i] ~ f[i], "unsupported", "complex", data = list(f = 1i * 1:3))
  expect_mistake(C[i] ~ nowhere[i], "input", "nowhere")
  expect_mistake(C[i] ~ A[i, k] * nowhere, "input", "nowhere")
  expect_mistake(C[i] ~ A[i, k] * letters, "input", "letters")
  expect_mistake(C[i] ~ A[i, k] * A, "shape", "`A`")
  expect_mistake(C[i] ~ A[i, k] * w, "shape", "`w`")
  expect_mistake(C[i] ~ (A + 1)[i, k], "input", "A + 1")
  expect_mistake(C[i] ~ A[i, k, drop = FALSE], "input")
  skip_if_not_installed("Matrix")
  expect_mistake(C[i] ~ S[i, k], "input", "as.matrix", data = list(S = Matrix::Matrix(A * (A > 1), sparse = TRUE)))
})

test_that("what is not defined at a point is refused, not left out", {
  expect_mistake(C[i] ~ sum(A[i, ], 5), "input", "sum()")
  expect_mistake(C[i] ~ sum(A[i, ], na.rm = TRUE), "unsupported", "na.rm")
  expect_mistake(C[i] ~ max(A[i, ], 0), "input", "max2")
  expect_mistake(C[i] ~ prod(A[i, ]), "unsupported", "prod()")
  expect_mistake(C[i] ~ sum(E[i, ]), "shape", "`E[i, ]`", data = list(E = matrix(0, 4, 0)))
})

test_that("the left side names axes, each once", {
  for (f in list(C[i, i] ~ A[i, k], C[i, 1] ~ A[i, k], C[i, ] ~ A[i, k], C[i + 1] ~ A[i, k], C[] ~ A[i, k],
                 f(i) ~ A[i, k], 2 ~ A[i, k], ~ A[i, k])) expect_mistake(f, "input", "left side")
})

test_that("what an index formula says itself is no argument beside it", {
  expect_mistake(C[i] ~ A[i, k], "input", "index", index = "k")
  expect_mistake(C[i] ~ A[i, k], "input", "by", by = 1:5)
  expect_mistake(C[i] ~ A[i, k], "input", "tol", tol = 0.1)
  expect_mistake(C[i] ~ A[i, k], "input", "drop", drop = TRUE)
  expect_mistake(C[i] ~ A[i, k], "input", "data", data = 5)
  expect_mistake(C[i] ~ A[i, k], "input", "K", op = "Kmin")
  expect_mistake(C[i] ~ A[i, k], "unsupported", "weight", op = "max", weight = ~ A[i, k])
  expect_mistake(C[i] ~ A[i, k], "unknown_op", op = "summ")
  expect_mistake(C[i] ~ A[i, k], "input", "op", op = 3)
  expect_mistake(C[i] ~ A[i, k], "kind", op = "count")
})

test_that("too many axes and results that fit nowhere are said before anything runs", {
  small <- array(1, rep(1, 17))
  places <- paste0("a", 1:17, collapse = ", ")
  expect_mistake(stats::as.formula(sprintf("s ~ small[%s]", places)), "unsupported", c("17", "16"))
  sixteen <- array(2, rep(1, 16))
  f <- stats::as.formula(sprintf("s ~ sixteen[%s]", paste0("a", 1:16, collapse = ", ")))
  expect_equal(reduction(f, "sum"), 2)
  big <- numeric(2e5)
  expect_mistake(R[i, j, k] ~ big[i] * big[j] * big[k], "memory", "8e+15")
  expect_mistake(R[i] ~ w[i] * (k > 0), "unsupported", c("axis k", "3e+09"), extents = c(k = 3e9))
  # More than any machine has: an array of 1e15 numbers.
  none <- tryCatch(fitting_in_memory(numeric(1e15), list(name = "img[i + a, j]"), c(1e5, 1e5, 1e5)), error = identity)
  expect_s3_class(none, "kernweave_error_memory")
  expect_match(conditionMessage(none), "`img[i + a, j]` reads", fixed = TRUE)
})

test_that("an array without brackets is told which axes fit it", {
  expect_mistake(C[i] ~ A[i, k] * w, "shape", "write w[...]")
  expect_mistake(C[i] ~ A[i, k] * v, "shape", "write v[k]", data = list(v = 1:7))
  expect_mistake(C[i] ~ A[i, k] * t(A), "shape")
  expect_mistake(C[i] ~ A[i, k] * A, "shape", "write A[i, k]")
  expect_mistake(C[i] ~ w * 2, "input", "as in w[...]")
  expect_mistake(C[i] ~ A[i, k], "input", c("the weight", "v[k]"), "logsumexp", weight = ~ v, data = list(v = 1:7))
})

test_that("diagonals of oblong arrays name both extents of the one array", {
  expect_mistake(s ~ A[i, i], "shape", c("axis i", "two dimensions of `A[i, i]`", "5 and 7", "diagonal"))
})

test_that("brackets that base R has, and index formulas do not, name what to write", {
  expect_mistake(C[i] ~ A[[i, k]], "input", "write A[i, k] for A[[i, k]]")
  expect_mistake(C[i] ~ A[i, k, drop = FALSE], "input", "`drop`: leave it out")
  expect_mistake(C[i] ~ A[i][k], "input", "write A[i, k]")
  expect_mistake(C[i] ~ t(A)[i, k], "input", "M[i, k] with M <- t(A) before")
  expect_mistake(C[i] ~ (A)[i, k], "input", "write A[i, k]")
  expect_mistake(C[i] ~ A[i, 1:3], "input", c("1:3", "before the formula"))
  expect_mistake(C[i] ~ A[i, TRUE], "input", "empty place")
  expect_mistake(C[i, j] ~ A[i, k] * y[max(i, j)], "input", c("max(i, j)", "r[i, j]"))
  expect_mistake(C[t] ~ y[t * t], "shape", c("axis t", "extents = c(t = ...)"))
  expect_mistake(C[i, j] ~ A[i, k] * y[abs(i - j) + 1], "shape", "axis j")
  expect_mistake(C[i] ~ A[i, k] * y[i / 2], "index", c("`i/2` has 0.5", "`y[i/2]`"))
  expect_mistake(C[i] ~ A[i, k] * w[i^2], "index", c("from 1 to 25", "has 3 in dimension 1"))
  expect_mistake(C[i] ~ A[i, k] * w[g[i] %% 2], "index", c("cannot be computed", "2 dimensions has 1"),
                 data = list(g = matrix(1, 2, 2)))
  for (place in list(quote(g[i - 1] + 1), quote(g[i + 1] + 1))) {
    f <- eval(bquote(C[i] ~ A[i, k] * w[.(place)]))
    expect_mistake(f, "index", c("cannot be computed", "that has 5"), data = list(g = rep(1, 5)))
  }
  expect_mistake(C[i, j] ~ A[i, ] %*% B[j, ], "unsupported", "sum(x[i, ] * y[j, ])")
  expect_mistake(C[i] ~ ifelse(is.na(A[i, k]), 0, A[i, k]), "unsupported", "M <- is.na(x)")
  expect_mistake(C[i] ~ dnorm(A[i, k]), "input", c("in dnorm()", "kernweave_operations()"))
  expect_mistake(C[i] ~ A[i, k], "unknown_op", "did you mean `argmax`?", op = "which.max")
  expect_mistake(C[i] ~ A[i, k], "unknown_op", "did you mean `variance`?", op = "sd")
  expect_error(reduction("C[i] ~ A[i, k]", "sum"), "as.formula()", fixed = TRUE, class = "kernweave_error_input")
  expect_mistake(C[i] ~ A[-1, i], "index", c("-1", "before the formula"))
  expect_mistake(C[i] ~ if (w[i] > 0) 1 else 2, "input", "ifelse(test, yes, no)")
  expect_mistake(C[i] ~ w[i] > 0 && w[i] < 1, "input", "write & in place of &&", op = "count")
  caught <- tryCatch(reduction(C[i] <- A[i, k], "sum"), error = identity)
  expect_s3_class(caught, "kernweave_error_input")
  expect_match(conditionMessage(caught), "write C[i] ~ A[i, k]", fixed = TRUE)
})

test_that("axes that only `extents` or only the weight mentions are mistakes", {
  expect_mistake(C[i] ~ A[i, k], "input", c("`extents`", "axis z"), extents = c(z = 3))
  expect_equal(reduction(C[i] ~ w[j] * (i > j), "sum", extents = c(i = 2)), c(0, 0.2))
  expect_mistake(C[i] ~ A[i, k], "shape", c("axis z", "weight alone", "i, k"), "sumsoftmaxweight", weight = ~ w[z])
  expect_equal(dim(reduction(C[i, d] ~ A[i, k], "sumsoftmaxweight", weight = ~ B[d, k])), c(5L, 11L))
})

test_that("row numbers that are logical, or names that no dimension has, are mistakes", {
  named <- A
  rownames(named) <- letters[1:5]
  expect_mistake(C[i] ~ A[g[i], k], "input", c("logical", "which(g)"), data = list(g = c(TRUE, TRUE)))
  expect_mistake(C[i] ~ A[g[i], k], "input", "no names", data = list(g = c("a", "b")))
  expect_mistake(C[i] ~ named[g[i], k], "index", "\"z\"", data = list(g = c("a", "z")))
  expect_mistake(C[i] ~ named[g[i], k], "value", "NA", data = list(g = c("a", NA)))
  expect_mistake(C[k] ~ named["z", k], "index", c("\"z\"", "no such name"))
  expect_mistake(C[i] ~ named[i, "z"], "index", "has no names")
})

test_that("what is no array of numbers is told by the name of the variable", {
  expect_mistake(C[i] ~ d[i], "input", "as.numeric(d) counts days", data = list(d = as.Date("2020-01-01") + 0:2))
  expect_mistake(C[i] ~ d[i], "input", "units = \"secs\"", data = list(d = as.difftime(1:3, units = "mins")))
  expect_mistake(C[i] ~ d[i], "input", "unlist(d)", data = list(d = list(1, 2)))
  expect_mistake(C[i] ~ nothing[i], "input", "`nothing` is NULL", data = list(nothing = NULL))
  expect_mistake(C[i] ~ l$b[i], "input", "`l$b`", data = list(l = list(a = 1:2)))
  expect_mistake(C[i] ~ A[i, k], "input", c("such as \"sum\"", "function"), op = sum)
})

test_that("a logical array with NA is one of integers, as in Vij(): sums are NA, and a logical formula names it", {
  l <- c(TRUE, NA, FALSE)
  n <- c(TRUE, FALSE, FALSE)
  expect_identical(reduction(s ~ l[i], "sum"), NA_real_)
  expect_identical(reduction(s[i] ~ l[i] * 2, "sum"), c(2, NA, 0))
  expect_identical(reduction(s ~ l[i] == TRUE, "count"), reduction(s ~ n[i], "count"))
  for (op in c("any", "all", "count")) expect_mistake(s ~ l[i], "kind", c("`l[i]` has NA", "l[i] == TRUE"), op)
  for (f in list(s ~ l[i] & n[j], s ~ !l[i], s ~ ifelse(l[i], 1, 2)))
    expect_mistake(f, "kind", c("`l[i]` has NA", "l[i] == TRUE"))
  expect_mistake(s ~ w[i], "kind", "write the comparison out", "any")
  expect_error(any(Vij(matrix(l)), index = "ij"), class = "kernweave_error_kind")
})
