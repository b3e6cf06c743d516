# Gradients of R functions as users write them: closed forms, differences, second order, shapes, names.

text_of <- function(case) paste(deparse(body(case$f)), collapse = " ")

test_that("53 functions have the value of the untraced function and the gradient of the closed form", {
  expect_length(tape_snippets, 53)
  for (case in tape_snippets) {
    found <- do.call(value_and_gradient(case$f), case$arguments)
    expect_identical(found$value, do.call(case$f, case$arguments), info = text_of(case))
    expect_identical(attributes(found$gradient[[1]]), attributes(case$arguments[[1]]), info = text_of(case))
    expect_equal(as.vector(found$gradient[[1]]), as.vector(case$gradient), tolerance = 1e-10, info = text_of(case))
  }
})

test_that("their gradients are those of central differences", {
  for (case in tape_snippets) {
    slope <- differences(function(x) as.vector(case$f(x)), case$arguments[[1]])
    expect_equal(as.vector(case$gradient), as.vector(slope), tolerance = 1e-5, info = text_of(case))
  }
})

test_that("their second derivatives are differences of the gradients", {
  for (case in tape_snippets) {
    x <- case$arguments[[1]]
    v <- array(stats::rnorm(length(x)), dim(x) %||% length(x))
    if (is.null(dim(x))) v <- as.vector(v)
    H <- hessian(case$f)(x)
    g <- gradient(case$f)
    slope <- (g(x + 1e-5 * v)[[1]] - g(x - 1e-5 * v)[[1]]) / 2e-5
    expect_equal(as.vector(H %*% as.vector(v)), as.vector(slope), tolerance = 1e-5, info = text_of(case))
    expect_equal(as.vector(hvp(case$f)(x, v)[[1]]), as.vector(slope), tolerance = 1e-5, info = text_of(case))
  }
})
