# Gradients of R functions as users write them: closed forms, differences, second order, shapes, names.

text_of <- function(case) paste(deparse(body(case$f)), collapse = " ")

test_that("arguments without numbers are named with what they are", {
  expect_error(gradient(function(d) sum(d$a))(data.frame(a = 1)), "`d` is an object of class data.frame; as.list()",
               fixed = TRUE, class = "kernweave_error_no_gradient")
  expect_identical(gradient(function(d) sum(d$a^2))(list(a = c(1, 2))), list(d = list(a = c(2, 4))))
  expect_error(gradient(function(s, n) n)("a", TRUE), "`s` is a character vector of length 1, `n` is a logical vector",
               class = "kernweave_error_no_gradient")
})

test_that("53 functions have the value of the untraced function and the gradient of the closed form", {
  skip_below("quick")
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
  skip_below("quick")
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

test_that("gradients are named and shaped like the arguments, lists inside lists too", {
  f <- function(w, par, k) sum(w * par$A) + par$more$s^2 * k + sum(par$more$v["b"])
  w <- matrix(1:4 / 2, 2, dimnames = list(c("p", "q"), NULL))
  par <- list(A = diag(2), label = "a word", more = list(s = 3, n = 5L, v = c(a = 1, b = 2)))
  found <- gradient(f)(w, par, k = 2L)
  expect_identical(names(found), c("w", "par"))
  expect_identical(found$w, array(diag(2), c(2, 2), dimnames(w)))
  expect_identical(found$par, list(A = unname(w), label = NULL, more = list(s = 12, n = NULL, v = c(a = 0, b = 1))))
  expect_identical(gradient(f, wrt = "k")(w, par, k = 2L), list(k = 9))
  expect_identical(gradient(function(...) sum(..1 * ..2))(2, 3), list(..1 = 3, ..2 = 2))
  expect_identical(gradient(function(x) sum(x^2))(1:3), list(x = c(2, 4, 6)))
})

test_that("defaults are those of the function; one that `wrt` names is differentiated in", {
  f <- function(x, a = x^2) a * x
  expect_identical(gradient(f)(2), list(x = 12))
  expect_identical(gradient(f, wrt = "a")(2), list(a = 2))
  expect_identical(names(formals(gradient(f))), c("x", "a"))
  expect_identical(gradient(sum)(c(1, 2)), list(..1 = c(1, 1)))
  expect_equal(gradient(dnorm)(0.5), list(x = -0.5 * dnorm(0.5)))
})

test_that("ties and kinks: the first winner, flat roots and absolute values, 0 log 0", {
  slope <- function(f, x) gradient(f)(x)[[1]]
  expect_identical(slope(function(x) max(x), c(1, 3, 3)), c(0, 1, 0))
  expect_identical(slope(function(x) min(x), c(1, 3, 1)), c(1, 0, 0))
  expect_identical(slope(function(x) sum(pmax(x, 2)), c(1, 2, 3)), c(0, 1, 1))
  expect_identical(slope(function(x) sum(pmax(2, x)), c(1, 2, 3)), c(0, 0, 1))
  expect_identical(slope(function(x) sum(sort(x) * 1:3), c(2, 1, 1)), c(3, 1, 2))
  expect_identical(slope(function(x) median(x), c(2, 1, 2, 3)), c(0.5, 0, 0.5, 0))
  expect_identical(slope(function(x) sum(cummax(x)), c(1, 2, 2, 0)), c(1, 3, 0, 0))
  expect_identical(slope(function(x) abs(x), 0), 0)
  expect_identical(slope(function(x) sqrt(x), 0), 0)
  expect_identical(slope(function(x) sqrt(sum(x^2)), c(0, 0)), c(0, 0))
  expect_identical(slope(function(x) x^0.5, 0), 0)
  expect_identical(slope(function(x) x^2, -3), -6)
  expect_identical(slope(function(x) 0^x, 2), 0)
  expect_identical(slope(function(x) x^0, 0), 0)
  expect_identical(slope(function(x) prod(x), c(0, 2, 3)), c(6, 0, 0))
  expect_identical(slope(function(x) sum(cumprod(x)), c(2, 0, 3)), c(1, 8, 0))
  expect_identical(hessian(function(x) x^2)(0), matrix(2))
})

test_that("the side of ifelse() that is not taken may be anything", {
  for (guarded in list(log, sqrt, function(x) 1 / x, function(x) x^-2, lgamma)) {
    found <- suppressWarnings(gradient(function(x) sum(ifelse(x > 0, guarded(x), 0)))(c(0, 2))$x)
    expect_identical(found[1], 0)
    expect_true(is.finite(found[2]) && found[2] != 0)
  }
})

test_that("functions of the user's own are followed, however they are reached", {
  fill <- function(x) {
    out <- numeric(3)
    for (k in 1:3) out[k] <- square(x[k])
    out
  }
  square <- function(u) u^2
  even <- function(n, x) if (n == 0) x else odd(n - 1, c(x, 1))
  odd <- function(n, x) even(n - 1, x * 2)
  expect_identical(gradient(function(x) sum(fill(x)))(c(1, 2, 3)), list(x = c(2, 4, 6)))
  expect_identical(gradient(function(x) sum(even(4, x)))(c(1, 2)), list(x = c(4, 4)))
  expect_identical(gradient(function(x, f) sum(f(x)))(c(1, 2, 3), fill), list(x = c(2, 4, 6)))
  expect_identical(gradient(function(x) sum(sapply(x, square)))(c(1, 2)), list(x = c(2, 4)))
  expect_identical(gradient(function(x) base::sum(base::c(1, x) * 1:2))(3), list(x = 2))
  expect_identical(body(square), quote(u^2))
  expect_identical(environmentName(environment(square)), environmentName(environment(fill)))
})

test_that("a variable or function of the user's under a name of base R's is the user's", {
  c <- 3
  beta <- 2
  scale <- function(v) 10 * v
  f <- function(x) sum(c(1, x)) * c * beta + sum(scale(x))
  expect_identical(gradient(f)(5), list(x = 16))
  rank <- NULL
  expect_identical(gradient(function(x) if (is.null(rank)) x^2 else x)(3), list(x = 6))
})

test_that("nothing is masked, and plain numbers within the function are treated as ever", {
  before <- search()
  f <- function(x) {
    table <- data.frame(u = 1:3)
    table$v <- table$u^2
    table[2, "v"] <- 7
    rows <- apply(as.matrix(table), 1, max)
    sum(x * rows) + max(sapply(list(1, "a"), nchar)) + length(unlist(list(1, list("b"))))
  }
  expect_identical(value_and_gradient(f)(c(1, 2, 3)), list(value = 45, gradient = list(x = c(1, 7, 9))))
  expect_identical(search(), before)
})

test_that("an estimate beside a traced value is its number", {
  estimate <- structure(2, se = 0.1, class = "kernweave_estimate")
  expect_silent(found <- gradient(function(x) x^2 * estimate - estimate)(3))
  expect_identical(found, list(x = 12))
})

test_that("gradients inside gradients keep their levels apart", {
  f <- function(x) x * gradient(function(z) z^2 * x)(3)$z
  expect_identical(gradient(f)(2), list(x = 24))
  third <- function(x) gradient(function(u) gradient(function(v) gradient(function(w) w^4)(v)$w)(u)$v)(x)$u
  expect_identical(third(2), 48)
  both <- rep(list(c("a", "b")), 2)
  expect_identical(hessian(function(a, b) a^2 * b)(2, 3), matrix(c(6, 4, 4, 0), 2, dimnames = both))
  expect_identical(gradient(function(x) sum(hessian(function(u) sum(u^3))(x)))(c(1, 2)), list(x = c(6, 6)))
  expect_identical(gradient(function(x) hvp(function(u) sum(u^3))(x, x)$u[1])(c(1, 2)), list(x = c(12, 0)))
})

test_that("tangents are of the inputs that they name, in any order and at any depth, and 0 of the others", {
  f <- function(a, b, c, d) sum(a * b^2) * c + c^2 * sum(sin(d)) + b[1] * d[3]
  at <- list(a = c(1, -2), b = c(0.5, 0.3), c = 1.5, d = c(0.1, 0.2, 0.4))
  slope <- do.call(gradient(f), at)
  H <- do.call(hessian(f), at)
  tangents <- list(list(c = 2), list(d = c(1, 2, -1)), list(d = 3:1, a = c(2, 1)),
                   list(c = -1, b = c(1, 4), d = 1:3, a = 3:2), list(b = NULL, a = c(1, 0)))
  for (v in tangents) {
    whole <- unlist(Map(function(part, zero) if (is.null(part)) 0 * zero else part, v[names(at)], at))
    expect_equal(do.call(jvp(f), c(at, list(tangent = v))), sum(unlist(slope) * whole))
    expect_equal(unlist(do.call(hvp(f), c(at, list(v = v)))), drop(H %*% whole))
  }
  expect_equal(do.call(jvp(f, wrt = c("d", "b")), c(at, list(tangent = list(b = c(1, 0))))), slope$b[1])
  expect_equal(do.call(jvp(f, wrt = c("d", "b")), c(at, list(tangent = list(c(0, 1, 0), c(1, 0))))),
               slope$d[2] + slope$b[1])
  expect_identical(do.call(value_and_gradient(f, wrt = c("d", "b")), at)$gradient, slope[c("d", "b")])
  expect_identical(do.call(vjp(f, wrt = "c"), c(at, list(cotangent = 2)))$c, 2 * slope$c)
  g <- function(p, s) p$m * s + sum(p$v^2) * p$m^2
  p <- list(m = 2, v = c(1, 3))
  for (v in list(list(v = c(1, 0), m = 5), list(m = 5, v = c(1, 0)), list(p = list(v = c(1, 0), m = 5)))) {
    expect_equal(jvp(g, wrt = "p")(p, 3, tangent = v), 5 * (3 + 2 * 10 * 2) + 2 * 4)
  }
  expect_equal(jvp(g)(p, 3, tangent = list(s = 1, p = list(v = c(0, 1)))), 2 + 6 * 4)
  wrong <- function(v, message, class) {
    expect_error(do.call(jvp(f), c(at, list(tangent = v))), message, class = paste0("kernweave_error_", class))
  }
  wrong(list(e = 1), "there is no input `e`", "input")
  wrong(list(c = 1, c = 2), "two parts `c`", "input")
  wrong(list(b = 1), "2, 2, 1, 3, not 2, 1, 1, 3", "shape")
  wrong(c(1, 1), "as many numbers", "shape")
})

test_that("a rule's cotangents go to the arguments that they name, and must be as many as these", {
  rule <- function(pullback) gradient(with_gradient(function(x, y) sum(x * y^2), pullback))(c(1, 2), c(3, 4))
  right <- list(x = c(9, 16), y = c(6, 16))
  expect_equal(rule(function(g, r, x, y) list(g * y^2, 2 * g * x * y)), right)
  expect_equal(rule(function(g, r, x, y) list(y = 2 * g * x * y, x = g * y^2)), right)
  expect_equal(rule(function(g, r, x, y) list(y = 2 * g * x * y)), list(x = c(0, 0), y = c(6, 16)))
  expect_error(rule(function(g, r, x, y) g * y^2), "1 cotangent for 2 arguments", class = "kernweave_error_shape")
})
