# The executor: it knows no R, decides once, and believes nothing that was kept of other data.

settings <- function(device = "cpu", precision = "float64") {
  kernweave:::call_options(list(device = device, precision = precision))
}

test_that("a power iteration of a hundred products runs in C++ and asks R for nothing", {
  skip_below("quick")
  x <- matrix(rnorm(600), 200, 3)
  K <- exp(-sqdist(Vi(x, name = "x"), Vj(x, name = "y")))
  b <- Vj(rep(1, 200), name = "b")
  expected <- eigen(as.matrix(K), symmetric = TRUE, only.values = TRUE)$values[1]
  for (device in c("cpu", "reference")) {
    R <- lazy_set(sum(K * b, index = "j", call = FALSE), device = device)
    ready <- prepared_for(R)
    vector <- match("b", vapply(ready$operands, `[[`, "", "name")) - 1L
    found <- through("power", ready$plan, data_for(ready), R$extent, vector, 100L, settings(device))
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
  made <- function() through("executables", plan_behind(R))
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

test_that("runs of outer axes are decided on together, and are those of each point by one executable", {
  skip_below("quick")
  x <- array(rnorm(150 * 3 * 4), c(150, 3, 4))
  y <- array(rnorm(170 * 3 * 2), c(170, 3, 1, 2))
  s <- array(c(0.5, 1, 2, 4), c(1, 1, 4))
  points <- expand.grid(a = 1:4, b = 1:2)
  for (index in c("j", "i", "ij")) for (device in c("cpu", "reference")) {
    sum_of <- function(x, y, s) sum(exp(-sqdist(Vi(x), Vj(y)) / Pm(s)), index = index, device = device, call = FALSE)
    ready <- prepared_for(sum_of(x, y, s))
    before <- through("executables", ready$plan)
    run <- function(decision = NULL, threads = 1) {
      through("run_decided", ready$plan, data_for(ready), c(NA_real_, NA),
              kernweave:::call_options(list(device = device, threads = threads)), NULL, decision)
    }
    found <- run()
    alone <- mapply(function(a, b) {
      dense <- exp(-outer(rowSums(x[, , a]^2), rowSums(y[, , 1, b]^2), "+") / s[a] +
                     2 * tcrossprod(x[, , a], y[, , 1, b]) / s[a])
      switch(index, j = rowSums(dense), i = colSums(dense), ij = sum(dense))
    }, points$a, points$b)
    expect_equal(found$value, as.vector(alone), tolerance = 1e-12, label = paste(index, device))
    expect_match(through("decision", found$decision, found$decision)$text, "150 x 170 points x 4 x 2")
    expect_identical(run(found$decision, threads = 3)$value, found$value)
    expect_identical(through("executables", ready$plan), before + 1L)
  }
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

test_that("what is kept of an operand's data stays for as long as these do", {
  skip_below("quick")
  x <- Vi(matrix(stats::runif(6000), 3000), name = "x")
  K <- exp(-sqdist(x, Vj(matrix(0.5, 10, 2))))
  operand <- x$formula$args
  pointer_after <- function() {
    sum(K, index = "j")
    gc()
    utils::capture.output(print(operand$kept))
  }
  first <- pointer_after()
  expect_match(first, "pointer")
  expect_identical(pointer_after(), first)
  operand$data <- operand$data + 1
  expect_false(identical(pointer_after(), first))
})

test_that("what was kept of an operand's data is forgotten when it is given others", {
  n <- 5000
  x <- Vi(matrix(rnorm(2 * n), n), name = "x")
  y <- Vj(matrix(rnorm(2 * n), n), name = "y")
  operands <- prepared_for(sum(exp(-sqdist(x, y)), index = "j", call = FALSE))$operands
  other <- matrix(rnorm(2 * n) + 100, n)
  for (precision in c("float32", "float64")) {
    F <- lazy_set(exp(-sqdist(x, y)), device = "cpu", precision = precision)
    sum(F, index = "j")
    before <- lapply(operands, `[[`, "data")
    for (operand in operands) operand$data <- other + 0  # a vector of its own
    expect_equal(sum(F, index = "j"), sum(exp(-sqdist(Vi(other), Vj(other))), index = "j", device = "cpu"),
                 tolerance = 1e-4)
    for (k in seq_along(operands)) operands[[k]]$data <- before[[k]]
  }
})

# --- blocks of the whole ---

block_cases <- function(m, n, D = 3) {
  x <- matrix(rnorm(m * D), m)
  y <- matrix(rnorm(n * D), n)
  d <- sqdist(Vi(x), Vj(y))
  b <- matrix(rnorm(2 * n), n)
  list(
    sum = reduction(exp(-d), "sum", call = FALSE), weighed = reduction(exp(-d) * Vj(b), "sum", call = FALSE),
    logsumexp = reduction(-d, "logsumexp", call = FALSE), nearest = reduction(d, "min_argmin", call = FALSE),
    several = reduction(d, "Kmin_argKmin", K = 7, call = FALSE), product = reduction(1 - d / 100, "prod", call = FALSE),
    columns = reduction(exp(-d), "sum", index = "i", call = FALSE),
    least = reduction(d, "Kmin", K = 3, index = "i", call = FALSE)
  )
}
both_cases <- function(m, n) {
  x <- matrix(rnorm(m * 2), m)
  y <- matrix(rnorm(n * 2), n)
  d <- sqdist(Vi(x), Vj(y))
  list(sum = reduction(exp(-d), "sum", index = "ij", call = FALSE),
       least = reduction(d, "min_argmin", index = "ij", call = FALSE),
       several = reduction(d, "argKmin", K = 4, index = "ij", call = FALSE))
}

in_blocks <- function(R, precision, rows, columns) {
  R <- lazy_set(R, device = "cpu", precision = precision)
  ready <- prepared_for(R)
  data <- data_for(ready)
  options <- settings("cpu", precision)
  grain <- through("grain", ready$plan, data, R$extent, options)
  extents <- vapply(list(data[[1]], data[[2]]), NROW, 1)
  if (extents[1] != grain[1]) extents <- rev(extents)
  border <- function(at, extent, step) unique(pmin(c(at * step, extent), extent))
  found <- through("run_blocks", ready$plan, data, R$extent, options, border(rows, extents[1], grain[2]),
                   border(columns, extents[2], grain[3]))
  list(found = found, plain = unlist(as.function(R)()))
}

test_that("blocks of rows and columns come together from packed states, to the bit where columns are one group", {
  skip_below("quick")
  set.seed(2)
  for (precision in test_precisions()) {
    for (cases in list(block_cases(300, 60013), both_cases(2500, 3001))) for (name in names(cases)) {
      one <- in_blocks(cases[[name]], precision, c(0, 1, 2), 0)
      expect_identical(unname(c(one$found$value, one$found$index)), as.double(unname(one$plain)),
                       label = paste(precision, name))
      several <- in_blocks(cases[[name]], precision, c(0, 1), c(0, 1, 2))
      expect_equal(unname(c(several$found$value, several$found$index)), as.double(unname(several$plain)),
                   tolerance = if (precision == "float64") 1e-12 else 1e-5, label = paste(precision, name))
    }
  }
})
