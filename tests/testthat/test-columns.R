# Columns of solvers that stay on a device: the same numbers as on the host, here by a driver that has the host's memory
# for a device, and on a GPU where there is one.

# Systems of a sum of a kernel and a ridge, with what preconditions them; products are those of the CPU.
solved_on <- function(number, n = 400, columns = 70, local = TRUE) {
  set.seed(3)
  x <- matrix(stats::runif(3 * n), n)
  K <- lazy_set(if (local) kernel_matern(x, x, scale = 0.3, nu = 1.5) else kernel_gaussian(x, x, scale = 0.8),
                device = "cpu")
  P <- preconditioner(K, ridge = 0.01, rank = 40, local = local)
  b <- matrix(stats::rnorm(n * columns), n)
  b[, seq_len(ncol(b)) == 2] <- 0
  start <- if (columns > 3) matrix(0, n, 0) else 0.1 * b
  through("columns", kernweave:::native_system(K, rep(0.01, n), columns), P$pointer,
          kernweave:::thin_products(K, P$landmarks, P$support$order), b, start, local, number)
}

expect_same_columns <- function(there, here) {
  expect_identical(there$iterations, here$iterations)
  expect_identical(there$steps, here$steps)
  there <- unlist(there)
  here <- unlist(here)
  expect_identical(names(there), names(here))
  for (part in unique(sub("[0-9]+$", "", names(here)))) {
    mine <- sub("[0-9]+$", "", names(here)) == part
    expect_lt(max(abs(there[mine] - here[mine])), 1e-8 * max(abs(here[mine]), 1e-3), label = part)
  }
}

test_that("columns on a device are worked on as those on the host are", {
  cases <- list(list(), list(columns = 3), list(local = FALSE), list(n = 60, columns = 1))
  there <- found_under_driver(solved_on, lapply(cases, function(case) c(0, case)))
  for (k in seq_along(cases)) expect_same_columns(there[[k]], do.call(solved_on, c(-1, cases[[k]])))
})

test_that("kernels for columns compile, with no header but ours", {
  skip_without_compiler()
  code <- through("cuda_compile", through("column_kernels"), 90L)
  expect_gt(length(code), 1000)
})

# --- on a GPU -----------------------------------------------------------------------------------------------------

test_that("on a GPU columns find what they find on the host, and the same bits each time", {
  skip_without_gpu()
  for (case in list(list(), list(columns = 3), list(local = FALSE), list(n = 60, columns = 1))) {
    there <- do.call(solved_on, c(0, case))
    expect_same_columns(there, do.call(solved_on, c(-1, case)))
    expect_identical(do.call(solved_on, c(0, case)), there)
  }
})

test_that("on a GPU systems, determinants and their derivatives are those of the CPU", {
  skip_without_gpu()
  n <- 4000
  set.seed(5)
  x <- matrix(stats::runif(3 * n), n)
  b <- matrix(stats::rnorm(3 * n), n)
  likelihood <- function(device, precision, nu) function(theta) {
    K <- if (nu) exp(theta[1]) * kernel_matern(x, x, scale = exp(theta[2]), nu = nu)
         else exp(theta[1]) * kernel_gaussian(x, x, scale = exp(theta[2]))
    K <- lazy_set(K, device = device, precision = precision)
    sum(b * solve(K, b, ridge = exp(theta[3]), tol = 1e-8, method = "cg", rank = 60)) +
      logdet(K, ridge = exp(theta[3]), probes = 4, seed = 1, method = "lanczos", rank = 60)
  }
  for (nu in c(1.5, 0)) {
    theta <- log(c(1.3, 0.4, 0.05))
    here <- value_and_gradient(likelihood("cpu", "float64", nu))(theta)
    there <- value_and_gradient(likelihood("gpu", "float64", nu))(theta)
    expect_equal(there, here, tolerance = 1e-6)
    expect_identical(value_and_gradient(likelihood("gpu", "float64", nu))(theta), there)
    rough <- value_and_gradient(likelihood("gpu", "float32", nu))(theta)
    expect_equal(rough, here, tolerance = 1e-3)
  }
})

test_that("on a GPU a solution in float32 is refined to the tolerance, and one with a start goes on from there", {
  skip_without_gpu()
  n <- 5000
  set.seed(6)
  x <- matrix(stats::runif(2 * n), n)
  b <- stats::rnorm(n)
  K <- lazy_set(kernel_matern(x, x, scale = 0.2, nu = 2.5), device = "gpu", precision = "float32")
  solution <- solve(K, b, ridge = 1e-2, tol = 1e-8, method = "cg", report = TRUE)
  expect_lt(max(solve_report(solution)$residual), 1e-8)
  again <- solve(K, b, ridge = 1e-2, tol = 1e-9, method = "cg", start = solution, report = TRUE)
  expect_lt(max(solve_report(again)$iterations), max(solve_report(solution)$iterations))
  scaled <- diagonal_op(rep(2, n)) %*% (as_op(lazy_set(K, precision = "float64")) + identity_op(n)) %*%
    diagonal_op(rep(2, n))
  expect_equal(as.vector(scaled %*% solve(scaled, b, method = "cg")), b, tolerance = 1e-5)
})
