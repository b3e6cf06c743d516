# Tests which products of an approximation are taken for its audit.

# Near pairs that float32 has no digits for, so that a product that nobody looks at is off.
faint <- function(x) exp(-98 * (1 + 0.3 * sqdist(Vi(x), Vj(x))))
audit_of <- function(A) approximation_of(A)$audit

test_that("a product is an audit of the rows that are not 0, and of no others", {
  skip_below("quick")
  x <- with_local_seed(61, matrix(stats::runif(2400), ncol = 3))
  b <- with_local_seed(62, stats::runif(800))
  exact <- lazy_set(faint(x), precision = "float64") %*% b
  off <- function(found) sqrt(sum((found - exact)^2) / sum(exact^2))
  blind <- approximation_of(approximate(faint(x), 1e-5))
  expect_gt(off(unaudited_product(blind, b)), 1e-3)
  nothing <- list(function(A) A %*% rep(0, 800), function(A) A %*% matrix(0, 800, 3), function(A) t(A) %*% rep(0, 800),
                  function(A) gradient(function(b) sum((A %*% b)^2))(rep(0, 800)),
                  function(A) A %*% (1e-300 * b))  # all of it underflows
  for (k in seq_along(nothing)) {
    A <- approximate(faint(x), 1e-5)
    copy <- A
    invisible(nothing[[k]](A))
    expect_output(print(A), "tol = 1e-05, not audited yet", fixed = TRUE)
    expect_output(print(explain(copy)), "not audited yet", fixed = TRUE)
    expect_lt(off(if (k %% 2) A %*% b else t(copy) %*% b), 1e-5)
    expect_output(print(A), "on 64 rows (audited;", fixed = TRUE)
  }
  A <- approximate(faint(x), 1e-5)
  gradient(function(b) sum(A %*% b))(rep(0, 800))  # the way back multiplies ones
  expect_gt(audit_of(A)$error, 0)
  expect_lt(off(A %*% b), 1e-5)
})

test_that("optim() from a start of 0 has the minimum that it has from elsewhere", {
  skip_below("quick")
  x <- with_local_seed(63, matrix(stats::runif(600), 300))
  A <- approximate(1e40 * faint(x), 1e-5)
  y <- drop(lazy_set(1e40 * faint(x), precision = "float64") %*% rep(1, 300))
  loss <- function(b) sum((A %*% b - y)^2)
  slope <- gradient(loss)
  found <- stats::optim(rep(0, 300), loss, function(b) slope(b)$b, method = "L-BFGS-B")
  expect_lt(found$value, 1e-6 * sum(y^2))
  expect_gt(audit_of(A)$rows, 16)
})

test_that("rows that are not 0 are counted over products until they are enough", {
  x <- c(with_local_seed(64, stats::runif(500)), 50 + with_local_seed(65, stats::runif(20)))
  A <- approximate(relu(1 - square(Vi(x) - Vj(x))) * 1e-30, 1e-5)
  few <- replace(numeric(520), 501:520, 1)
  rows <- cumsum(rep(checked_rows(approximation_of(A), as.matrix(few), A %*% few)$rows, 20))
  expect_true(rows[1] > 0 && rows[1] < 16)
  while (!kernweave:::is_audited(approximation_of(A))) A %*% few
  expect_identical(audit_of(A)$rows, min(rows[rows >= 16]))
})

test_that("iterations over an approximation do not call R", {
  x <- with_local_seed(12, matrix(stats::runif(1200), 600))
  b <- with_local_seed(13, stats::rnorm(600))
  products <- 0
  suppressMessages(trace("approximated_product", function() products <<- products + 1, print = FALSE,
                         where = asNamespace("kernweave")))
  on.exit(suppressMessages(untrace("approximated_product", where = asNamespace("kernweave"))))
  K <- kernel_matern(x, x, scale = 0.2, nu = 1.5)
  counted <- vapply(c(10, 0.01), function(ridge) {
    products <<- 0
    found <- solve(approximate(K, 1e-8), b, ridge = ridge, method = "cg", precondition = FALSE,
                   report = TRUE)
    expect_equal(as.vector(found), solve(as.matrix(K) + diag(ridge, 600), b), tolerance = 1e-5)
    c(products = products, iterations = sum(solve_report(found)$iterations))
  }, numeric(2))
  expect_gt(counted["iterations", 2], 3 * counted["iterations", 1])
  expect_identical(counted["products", 2], counted["products", 1])
})
