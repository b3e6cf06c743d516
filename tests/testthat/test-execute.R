# The executor: it knows no R, decides once, and believes nothing that was kept of other data.

settings <- function(device = "cpu", precision = "float64") {
  kernweave:::call_options(list(device = device, precision = precision))
}

test_that("a power iteration of a hundred products runs in C++ and asks R for nothing", {
  x <- matrix(rnorm(600), 200, 3)
  K <- exp(-sqdist(Vi(x, name = "x"), Vj(x, name = "y")))
  b <- Vj(rep(1, 200), name = "b")
  expected <- eigen(as.matrix(K), symmetric = TRUE, only.values = TRUE)$values[1]
  for (device in c("cpu", "reference")) {
    R <- lazy_set(sum(K * b, index = "j", call = FALSE), device = device)
    ready <- kernweave:::prepared(R)
    data <- kernweave:::operand_data(ready$operands, list(), list())
    vector <- match("b", vapply(ready$operands, `[[`, "", "name")) - 1L
    found <- kernweave:::r_power(ready$plan, data, R$extent, vector, 100L, settings(device))
    expect_equal(found$value, expected, tolerance = 1e-12)
    expect_identical(found$asked, 0L)
    expect_identical(found$made, 1L)
  }
})

test_that("what is made of a plan for some sizes serves all later calls of these sizes", {
  x <- Vi(dim = 2, name = "x")
  y <- Vj(dim = 2, name = "y")
  R <- lazy_set(sum(1 / (1 + sqdist(x, y) * 1.2345), index = "j"), device = "cpu")
  f <- as.function(R)
  made <- function() kernweave:::r_executables(kernweave:::prepared(R)$plan)
  points <- function(n) matrix(rnorm(2 * n), n)
  f(points(20), points(30))
  f(points(20), points(30))
  expect_identical(made(), 1L)
  f(points(21), points(30))
  expect_identical(made(), 2L)
  f(points(20), points(30))
  expect_identical(made(), 2L)
  for (n in 1:40) f(points(n), points(3))
  expect_lte(made(), 16L)
})

test_that("an executable that has run before gives the same bits as a fresh one", {
  x <- matrix(rnorm(3000), 1000)
  y <- matrix(rnorm(6000), 2000)
  for (op in c("sum", "min_argmin", "logsumexp", "argKmin")) for (precision in c("float64", "float32")) {
    run <- function() {
      reduction(-sqdist(Vi(x), Vj(y)), op, K = if (op == "argKmin") 5, device = "cpu", precision = precision)
    }
    first <- run()
    sum(exp(-sqdist(Vi(y), Vj(x))), index = "j")
    expect_identical(run(), first)
    expect_identical(run(), first)
  }
})

test_that("what was kept of an operand's data is forgotten when it is given others", {
  n <- 5000
  x <- Vi(matrix(rnorm(2 * n), n), name = "x")
  y <- Vj(matrix(rnorm(2 * n), n), name = "y")
  operands <- kernweave:::prepared(sum(exp(-sqdist(x, y)), index = "j", call = FALSE))$operands
  other <- matrix(rnorm(2 * n) + 100, n)
  for (precision in c("float32", "float64")) {
    F <- lazy_set(exp(-sqdist(x, y)), device = "cpu", precision = precision)
    sum(F, index = "j")
    before <- lapply(operands, `[[`, "data")
    for (operand in operands) operand$data <- other
    expect_equal(sum(F, index = "j"), sum(exp(-sqdist(Vi(other), Vj(other))), index = "j", device = "reference"),
                 tolerance = 1e-4)
    for (k in seq_along(operands)) operands[[k]]$data <- before[[k]]
  }
})
