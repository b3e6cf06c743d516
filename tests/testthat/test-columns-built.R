# Sparse factors that are built on a device: the same numbers as on the host, here by a driver that has the host's
# memory for a device, and on a GPU where there is one.

# A preconditioner built on a device of this number, or with -1 on the host, of a matrix whose entries `device` finds;
# the message where it cannot be built. `twice`: two points lie in one place, the second is not told so, and both are
# neighbours of a third. `signed`: the matrix is not definite as far as the last point tells.
built_on <- function(number, n = 400, rank = 40, neighbours = 30, ridge = 0.01, twice = FALSE, signed = FALSE,
                     device = "cpu") {
  set.seed(3)
  x <- matrix(stats::runif(3 * n), n)
  matrix_of <- function(x) lazy_set(kernel_matern(x, x, scale = 0.3, nu = 1.5), device = device, precision = "float64")
  ridge <- rep_len(ridge, n)
  support <- preconditioner(matrix_of(x), ridge = ridge, rank = rank, neighbours = neighbours)$support
  order <- support$order
  if (twice) {
    x[order[102], ] <- x[order[101], ]
    support$neighbours[, 102:length(order)] <- seq_len(neighbours)
    support$neighbours[1:2, 103] <- 101:102
  }
  if (signed) ridge[order[length(order)]] <- -2
  tryCatch(through("built", kernweave:::native_support(matrix_of(x), ridge, support), number),
           kernweave_error = function(e) e$message)
}

# Points with many neighbours, with few, with fewer than they may have, in two turns; any number of landmarks.
cases <- list(
  list(), list(rank = 70, neighbours = 5, ridge = seq(0.01, 0.1, length.out = 400)), list(n = 30, rank = 1),
  list(n = 300, rank = 20, neighbours = 270), list(n = 50, neighbours = 1), list(ridge = 0, twice = TRUE)
)

expect_same_factor <- function(there, here) {
  expect_identical(there[c("rows", "columns")], here[c("rows", "columns")])
  expect_equal(there$logdet, here$logdet, tolerance = 1e-10)
  expect_lt(max(abs(there$weights - here$weights)), 1e-10 * max(abs(here$weights)))
}

test_that("the factor of points that all before them are neighbours of is the inverse", {
  found <- built_on(-1, n = 60, rank = 10, neighbours = 49)
  set.seed(3)
  x <- matrix(stats::runif(180), 60)
  A <- as.matrix(kernel_matern(x, x, scale = 0.3, nu = 1.5)) + diag(0.01, 60)
  expect_equal(found$logdet, as.numeric(determinant(A)$modulus), tolerance = 1e-10)
  rest <- sort(unique(found$rows))
  inverse <- solve(A)[rest, rest]
  at <- cbind(match(found$rows, rest), match(found$columns, rest))
  sums <- tapply(found$weights, paste(pmax(at[, 1], at[, 2]), pmin(at[, 1], at[, 2])), sum)
  expect_equal(unname(sums[paste(1:50, 1:50)]), diag(inverse), tolerance = 1e-8, ignore_attr = TRUE)
  expect_equal(unname(sums["9 4"]), 2 * inverse[9, 4], tolerance = 1e-8)
})

test_that("a factor built on a device is that of the host", {
  there <- found_under_driver(built_on, lapply(c(cases, list(list(signed = TRUE))), function(case) c(0, case)))
  for (k in seq_along(cases)) expect_same_factor(there[[k]], do.call(built_on, c(-1, cases[[k]])))
  expect_match(there[[length(there)]], "not positive definite, as far as point 360 and its neighbours tell")
  expect_identical(there[[length(there)]], built_on(-1, signed = TRUE))
})

# --- on a GPU -----------------------------------------------------------------------------------------------------

test_that("on a GPU a factor is that of the host, wherever entries are found, and the same bits each time", {
  skip_without_gpu()
  for (case in cases) for (device in c("cpu", "gpu")) {
    there <- do.call(built_on, c(0, case, device = device))
    expect_same_factor(there, do.call(built_on, c(-1, case)))
    expect_identical(do.call(built_on, c(0, case, device = device)), there)
  }
  expect_identical(built_on(0, signed = TRUE, device = "gpu"), built_on(-1, signed = TRUE))
})

test_that("on a GPU a preconditioner and what it solves are those of the CPU", {
  skip_without_gpu()
  n <- 5000
  set.seed(8)
  x <- matrix(stats::runif(3 * n), n)
  b <- stats::rnorm(n)
  K <- function(device) lazy_set(kernel_matern(x, x, scale = 0.3, nu = 1.5), device = device)
  support <- preconditioner(K("cpu"), ridge = 0.05, rank = 100)$support
  P <- lapply(c("cpu", "gpu"), function(device) {
    kernweave:::supported(lazy_set(K(device), precision = "float64"), rep(0.05, n), support)
  })
  expect_equal(solve(P[[2]], b), solve(P[[1]], b), tolerance = 1e-8)
  solutions <- Map(function(P, device) solve(K(device), b, ridge = 0.05, tol = 1e-8, method = "cg", precondition = P),
                   P, c("cpu", "gpu"))
  expect_equal(as.vector(solutions[[2]]), as.vector(solutions[[1]]), tolerance = 1e-6)
})
