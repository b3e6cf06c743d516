# solve(method = "block"): right-hand sides that search one space together, against dense algebra and lockstep.

set.seed(31)
x <- matrix(stats::runif(1500), 500)
B <- matrix(stats::rnorm(500 * 16), 500)
systems <- list(
  gaussian = list(K = kernel_gaussian(x, x, 0.2), ridge = 1e-2),
  rough = list(K = kernel_matern(x, x, 0.3, 0.5), ridge = 1e-3),
  smooth = list(K = kernel_matern(x, x, 0.5, 2.5), ridge = 1e-2)
)
full_of <- function(system) as.matrix(system$K) + diag(system$ridge, 500)
missed <- function(A, x, b) sqrt(colSums((b - A %*% x)^2)) / pmax(sqrt(colSums(b^2)), .Machine$double.xmin)
by_block <- function(system, b, ...) {
  solve(system$K, b, ridge = system$ridge, method = "block", max_iter = 3000, report = TRUE, ...)
}

test_that("every column reaches the tolerance, with and without a preconditioner, and the report is true", {
  skip_below("quick")
  for (name in names(systems)) for (precondition in c(TRUE, FALSE)) for (tol in c(1e-3, 1e-9)) {
    system <- systems[[name]]
    found <- by_block(system, B, tol = tol, precondition = precondition)
    report <- solve_report(found)
    label <- paste(name, precondition, tol)
    expect_true(report$converged, label = label)
    expect_identical(report$method, "block")
    expect_equal(report$residual, missed(full_of(system), found, B), tolerance = 1e-3, label = label)
    expect_lt(max(report$residual), tol, label = label)
    expect_length(report$iterations, 16)
    expect_gte(length(report$history), max(report$iterations))
    if (tol == 1e-9) expect_equal(unclass(found), solve(full_of(system), B), tolerance = 1e-6, ignore_attr = TRUE)
  }
})

test_that("a block takes a fraction of the iterations of columns in lockstep", {
  skip_below("quick")
  for (name in names(systems)) {
    system <- systems[[name]]
    together <- solve_report(by_block(system, B, precondition = FALSE))
    alone <- solve_report(solve(system$K, B, ridge = system$ridge, method = "cg", precondition = FALSE, max_iter = 3000,
                                report = TRUE))
    expect_lt(2.5 * max(together$iterations), max(alone$iterations), label = name)
    expect_lte(max(solve_report(by_block(system, B))$iterations),
               max(solve_report(solve(system$K, B, ridge = system$ridge, method = "cg", report = TRUE))$iterations))
  }
})

test_that("columns that depend on each other, are zero, or of any size and number are solved", {
  skip_below("quick")
  b <- B[, 1]
  cases <- list(
    one = B[, 1, drop = FALSE], twice = cbind(b, b, B[, 2], b + B[, 2]), zeros = cbind(0, b, 0),
    none = matrix(0, 500, 3),
    sizes = cbind(1e-100 * b, B[, 2], 1e100 * B[, 3]), near = cbind(b, b * (1 + 1e-13), b + 1e-9 * B[, 2]),
    many = matrix(stats::rnorm(500 * 70), 500)
  )
  for (name in names(cases)) for (system in systems[1:2]) {
    sides <- cases[[name]]
    found <- by_block(system, sides)
    expect_true(solve_report(found)$converged, label = name)
    expect_lt(max(missed(full_of(system), found, sides)), 2e-6, label = name)
    zero <- colSums(abs(sides)) == 0
    expect_true(all(found[, zero] == 0))
    expect_true(all(solve_report(found)$iterations[zero] == 0))
  }
  iterations <- function(columns) {
    max(solve_report(by_block(systems$rough, cases$many[, columns], precondition = FALSE))$iterations)
  }
  expect_lt(iterations(1:65), 1.3 * iterations(1:32))
  twice <- by_block(systems$gaussian, cases$twice)
  expect_equal(twice[, 1], twice[, 2], tolerance = 1e-6)
})

test_that("a system may have fewer rows than columns, or hardly any", {
  for (n in c(0, 1, 2, 9)) {
    y <- x[seq_len(n), , drop = FALSE]
    K <- kernel_gaussian(y, y, 0.4)
    sides <- matrix(stats::rnorm(n * 20), n, 20)
    found <- solve(K, sides, ridge = 0.1, method = "block")
    if (n) expect_equal(unclass(found), solve(as.matrix(K) + diag(0.1, n), sides), tolerance = 1e-5, ignore_attr = TRUE)
    expect_identical(dim(found), c(as.integer(n), 20L))
  }
  expect_identical(dim(solve(systems$rough$K, B[, 0], ridge = 1, method = "block")), c(500L, 0L))
})

test_that("operators, matrices of pairs, inverses, trends, starts and float32 go through a block, too", {
  skip_below("quick")
  system <- systems$gaussian
  full <- full_of(system)
  exact <- solve(full, B)
  ops <- list(function_op(function(v) full %*% v, 500, symmetric = TRUE), as_op(full), system$K %*% identity_op(500) +
                0.01 * identity_op(500))
  for (op in ops) {
    expect_equal(unclass(solve(op, B, method = "block", tol = 1e-9)), exact, tolerance = 1e-5, ignore_attr = TRUE)
  }
  expect_equal(solve(system$K, ridge = 0.01, method = "block", tol = 1e-9) %*% B, exact, tolerance = 1e-5)
  pairs <- solve(Vij(full), B, method = "block", precondition = FALSE, tol = 1e-9)
  expect_equal(unclass(pairs), exact, tolerance = 1e-5, ignore_attr = TRUE)
  trended <- by_block(system, B, trend = cbind(1, x), tol = 1e-10)
  expect_lt(max(abs(crossprod(cbind(1, x), trended))), 1e-5)
  warm <- by_block(system, B, start = exact, precondition = FALSE)
  expect_identical(max(solve_report(warm)$iterations), 0L)
  one_off <- exact
  one_off[, 3] <- 0
  warm <- solve_report(by_block(system, B, start = one_off, precondition = FALSE))
  expect_identical(which(warm$iterations > 0), 3L)
  rough <- solve(lazy_set(system$K, precision = "float32"), B, ridge = 0.01, method = "block", tol = 1e-9,
                 report = TRUE)
  expect_lt(max(missed(full, rough, B)), 2e-9)
  expect_true(solve_report(rough)$rough)
})

test_that("what is not definite is an error, and what is not reached a warning whose residual is true", {
  K <- systems$gaussian$K
  expect_error(solve(as_op(as.matrix(K) - 0.5 * diag(500)), B, method = "block"), class = "kernweave_error_indefinite")
  expect_error(solve(as_op(diag(c(-1, rep(1, 499)))), B, method = "block"), class = "kernweave_error_indefinite")
  expect_error(solve(kernel_gaussian(x, x[500:1, ]), B, method = "block"), class = "kernweave_error_indefinite")
  expect_warning(found <- solve(K, B, ridge = 1e-5, method = "block", precondition = FALSE, max_iter = 4,
                                report = TRUE),
                 "4 iterations", class = "kernweave_warning_convergence")
  expect_equal(solve_report(found)$residual, missed(as.matrix(K) + diag(1e-5, 500), found, B), tolerance = 1e-6)
  expect_error(solve(K, B, method = "blocks"), class = "kernweave_error_input")
})

test_that("right-hand sides of any size are solved as those of size one", {
  skip_below("quick")
  x <- matrix(stats::runif(2 * 300), 300)
  K <- kernel_gaussian(x, x, 0.3)
  b <- cbind(stats::rnorm(300), 0, stats::rnorm(300))
  for (method in c("cg", "block", "minres")) for (size in c(2^-1000, 2^-700, 2^700)) {
    plain <- solve(K, b, ridge = 0.1, method = method)
    expect_equal(c(solve(K, size * b, ridge = 0.1, method = method) / size), c(plain), tolerance = 1e-12,
                 label = paste(method, size))
    expect_equal(c(solve(K, size * b, ridge = 0.1, method = method, start = size * plain) / size), c(plain),
                 tolerance = 1e-5)
  }
  expect_equal(c(least_squares(K, 2^700 * b, ridge = 0.1) / 2^700), c(least_squares(K, b, ridge = 0.1)))
  tiny <- solve(2^-700 * K, b, ridge = 0.1 * 2^-700, method = "cg")
  expect_equal(c(tiny * 2^-700), c(solve(K, b, ridge = 0.1)), tolerance = 1e-5)
  skewed <- 2^700 * K * Vi(x[, 1])
  expect_error(solve(skewed, b, method = "cg"), "not symmetric", class = "kernweave_error_indefinite")
})

test_that("what rounding spoils in a preconditioner is finished without one", {
  skip_below("quick")
  x <- matrix(stats::runif(2 * 600), 600)
  K <- kernel_gaussian(x, x, 100)  # of rank six, as far as rounding tells
  b <- sin(6 * x[, 1])
  for (method in c("cg", "block")) for (ridge in c(1e-6, 1e-7)) {
    found <- solve(K, b, ridge = ridge, method = method, report = TRUE)
    expect_true(solve_report(found)$converged, label = paste(method, ridge))
    left <- missed(as.matrix(K) + diag(ridge, 600), cbind(as.vector(found)), cbind(b))
    expect_lt(left, 1e-6, label = paste(method, ridge))
  }
})

test_that("an iteration that does not arrive is no further off than where it began", {
  x <- matrix(stats::runif(100), 50)
  twice <- rbind(x, x)
  K <- kernel_gaussian(twice, twice, 0.3)
  b <- matrix(stats::rnorm(200), 100)
  for (method in c("cg", "block")) for (max_iter in c(3, 200)) {
    expect_warning(found <- solve(K, b, method = method, precondition = FALSE, max_iter = max_iter),
                   "conjugate gradients", class = "kernweave_warning_convergence")
    found <- matrix(found, 100)
    expect_true(all(colSums(found * (as.matrix(K) %*% found)) <= 2 * colSums(found * b)),
                label = paste(method, max_iter))
  }
})

test_that("minimal residuals of a singular matrix end with the least there is", {
  skip_below("quick")
  for (seed in 1:20) with_local_seed(seed, {
    x <- matrix(stats::runif(100), 50)
    K <- sqdist(Vi(x), Vj(x))  # of rank four
    b <- stats::rnorm(50)
    expect_warning(found <- solve(K, b, method = "minres", report = TRUE), "minimal residuals",
                   class = "kernweave_warning_convergence")
    report <- solve_report(found)
    least <- qr.resid(qr(as.matrix(K)), b)
    expect_equal(report$residual, sqrt(sum(least^2) / sum(b^2)), tolerance = 1e-3, info = seed)
    expect_equal(unname(missed(as.matrix(K), cbind(as.vector(found)), cbind(b))), report$residual, tolerance = 1e-6)
    within <- as.matrix(K) %*% b
    expect_true(solve_report(solve(K, within, method = "minres", report = TRUE))$converged)
  })
})
