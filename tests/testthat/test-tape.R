# The tape itself: values, levels, reading backwards. What it differentiates is tested where the rules are.

pulled <- function(result, cotangent, ...) kernweave:::pull_back(result, cotangent, list(...))
record <- kernweave:::record

test_that("a history is read backwards, and what is used twice gets both cotangents", {
  x <- traced_at(c(1, 2, 3))[[1]]
  y <- sin(x) * x + x
  expect_identical(plain(y), sin(c(1, 2, 3)) * c(1, 2, 3) + c(1, 2, 3))
  expect_equal(pulled(y, c(1, 1, 2), x)[[1]], c(1, 1, 2) * (cos(1:3) * 1:3 + sin(1:3) + 1))
})

test_that("what a result does not depend on gets no cotangent", {
  at <- traced_at(1, 2)
  expect_identical(pulled(at[[1]] * 3, 1, at[[1]], at[[2]]), list(3, NULL))
})

test_that("levels nest: adjoints are traced, and so differentiated in their turn", {
  outer <- traced_at(2)[[1]]
  inner <- traced_at(outer, level = 2L)[[1]]
  first <- pulled(inner^4, 1, inner)[[1]]
  expect_equal(plain(first), 32)
  expect_equal(pulled(first, 1, outer)[[1]], 48)
})

test_that("record() takes parents of all levels, and asks for cotangents of the highest alone", {
  low <- traced_at(2)[[1]]
  high <- traced_at(5, level = 2L)[[1]]
  asked <- NULL
  pull <- function(g) {
    asked <<- g
    list(NULL, g * 10, g)
  }
  out <- record(list(low, high, 3), low * 5, pull)
  expect_identical(kernweave:::level_of(out), 2L)
  expect_equal(pulled(out, 7, high), list(70))
  expect_identical(asked, 7)
  expect_identical(record(list(1, 2), 3, stop), 3)
})

test_that("values of two gradients at the same level do not meet", {
  expect_error(traced_at(1)[[1]] + traced_at(2)[[1]], class = "kernweave_error_no_gradient")
  expect_error(record(c(traced_at(1), traced_at(2)), 3, identity), class = "kernweave_error_no_gradient")
})

test_that("long histories are read without a deep stack", {
  skip_below("quick")
  x <- traced_at(1)[[1]]
  y <- x
  for (k in 1:20000) y <- y + x
  gc()
  expect_identical(pulled(y, 1, x), list(20001))
})

test_that("mistakes in a function, and what is not a number, are told as what they are", {
  expect_error(gradient(function(a, b) sum(a * b))(1), "\"b\" is missing")
  expect_error(gradient(function(x) x[[3]])(c(1, 2)), "^subscript out of bounds")
  expect_error(gradient(function(x) x[3, 1])(c(1, 2)), "^incorrect number of dimensions")
  expect_error(gradient(function(x) for (k in x) k)(1), "seq_along(x)", fixed = TRUE,
               class = "kernweave_error_no_gradient")
  expect_error(gradient(function(x) Vi(x))(diag(2)), "a lazy tensor, which is no number yet",
               class = "kernweave_error_no_gradient")
  expect_error(gradient(function(x) list(x))(1), "take the number out", class = "kernweave_error_no_gradient")
  expect_error(hvp(sum)(1, v = "a"), "`v` must be numbers", class = "kernweave_error_input")
  expect_error(jvp(exp)(1, tangent = "a"), "`tangent` must be numbers", class = "kernweave_error_input")
  expect_error(vjp(exp)(1:2 + 0.5, cotangent = "a"), "`cotangent` must be numbers", class = "kernweave_error_input")
  wordy <- with_gradient(function(x) x^2, function(g, r, x) "a")
  expect_error(gradient(wordy)(1), "pullback", class = "kernweave_error_input")
})

test_that("numbers may be shown on the way, and functions that a package made generic are known by themselves", {
  f <- function(x) {
    expect_identical(sprintf("%.1f", x), "2.0")
    expect_identical(paste0("x", x), "x2")
    expect_message(message("at ", x), "at 2")
    x^2
  }
  expect_identical(gradient(f)(2), list(x = 4))
  expect_identical(gradient(Matrix::crossprod)(c(1, 2)), list(x = c(2, 4)))
  expect_identical(gradient(function(x) do.call(Matrix::crossprod, list(x)))(c(1, 2)), list(x = c(2, 4)))
})

test_that("attributes of a traced value are changed in its copy alone, and it is given no class", {
  through <- function(change) function(x) {
    before <- x
    x <- change(x)
    sum(before) + sum(x^2)
  }
  changes <- list(
    function(x) `class<-`(x, NULL), function(x) `oldClass<-`(x, NULL), function(x) unclass(x),
    function(x) `attributes<-`(x, NULL), function(x) `attributes<-`(x, list(dimnames = list(NULL, "k"), dim = 2:1)),
    function(x) {
      class(x) <- "numeric"
      unclass(x)
    }
  )
  for (change in changes) expect_identical(gradient(through(change))(c(a = 1, b = 2))$x, c(a = 3, b = 5))
  for (dress in c(function(x) `class<-`(x, "foo"), function(x) `attributes<-`(x, list(class = "foo")))) {
    expect_error(gradient(through(dress))(1), "cannot be given a class", class = "kernweave_error_no_gradient")
  }
  bare <- function(x) {
    attributes(x) <- list(dim = c(1, 2))
    expect_identical(dim(x), 1:2)
    x %*% x[1, ]
  }
  expect_identical(gradient(bare)(c(a = 1, b = 2))$x, c(a = 2, b = 4))
})

test_that("assigning beyond the end by [[ makes a vector longer, as by [", {
  by_one <- function(x) {
    out <- numeric()
    for (k in seq_along(x)) out[[k]] <- x[k]^k
    out[["last"]] <- 2 * x[[1]]
    sum(out)
  }
  expect_equal(gradient(by_one)(c(1, 2, 3))$x, c(3, 4, 27))
  lengthen <- function(x) {
    x[[3]] <- x[[1]]^2
    sum(x)
  }
  expect_identical(gradient(lengthen)(c(2, 5))$x, c(5, 1))
  outside <- function(x) {
    m <- matrix(x, 1)
    m[[2, 2]] <- x[1]
    sum(m)
  }
  expect_error(gradient(outside)(c(1, 2)), "subscript out of bounds")
})
