# Gradients through linear operators, against those of dense matrices and against differences.

set.seed(4)
n <- 6
x <- matrix(stats::runif(2 * n), n)
z <- matrix(stats::runif(8), 4)
distances <- as.matrix(stats::dist(x))^2
between <- outer(seq_len(n), 1:4, Vectorize(function(i, j) sum((x[i, ] - z[j, ])^2)))
M <- matrix(stats::rnorm(n^2), n)
S <- crossprod(M)
d <- stats::rnorm(n)
v <- stats::rnorm(n)
V <- matrix(stats::rnorm(2 * n), n)
theta <- c(0.3, -0.4, 0.8)
lazy <- function(t) exp(-sqdist(Vi(x), Vj(x)) / (2 * exp(2 * t)))
plain <- function(t) exp(-distances / (2 * exp(2 * t)))
low <- lowrank(as_op(S), 3, seed = 1)
thin <- function(t) as_op(exp(-sqdist(Vi(x), Vj(z)) * t))
blank <- matrix(0, n, n)

# Each as an operator and as a matrix of base R, whose derivatives the tape has by other rules.
kinds <- list(
  lazy = list(op = function(t) as_op(lazy(t[1])), matrix = function(t) plain(t[1])),
  ridge = list(op = function(t) exp(t[2]) * lazy(t[1]) + t[3]^2 * identity_op(n),
               matrix = function(t) exp(t[2]) * plain(t[1]) + t[3]^2 * diag(n)),
  multiple = list(op = function(t) (as_op(lazy(t[1])) + 0.5 * identity_op(n)) * t[2] / t[3],
                  matrix = function(t) (plain(t[1]) + 0.5 * diag(n)) * t[2] / t[3]),
  diagonal = list(op = function(t) diagonal_op(t[1] + d * t[2]), matrix = function(t) diag(t[1] + d * t[2])),
  two_diagonals = list(op = function(t) diagonal_op(t[1] * d) %*% as_op(M) %*% diagonal_op(t[2] + d),
                       matrix = function(t) diag(t[1] * d) %*% M %*% diag(t[2] + d)),
  identity_at_this_point = list(op = function(t) diagonal_op(t / theta) %*% as_op(M[1:3, 1:3]) %*% diagonal_op(t),
                                matrix = function(t) diag(t / theta) %*% M[1:3, 1:3] %*% diag(t)),
  dense = list(op = function(t) as_op(M * t[1] + t[2]), matrix = function(t) M * t[1] + t[2]),
  symmetric_at_this_point = list(op = function(t) t(as_op(S + (t[1] - theta[1]) * M)),
                                 matrix = function(t) t(S + (t[1] - theta[1]) * M)),
  rows = list(op = function(t) (t[2] * d) * lazy(t[1]) + as_op(M), matrix = function(t) (t[2] * d) * plain(t[1]) + M),
  sum = list(op = function(t) 2 * as_op(t[3] * M) - lazy(t[1]) + Matrix::Diagonal(n) - multiplies_by(M) * t[2],
             matrix = function(t) 2 * t[3] * M - plain(t[1]) + diag(n) - M * t[2]),
  product = list(op = function(t) thin(t[2]^2) %*% t(thin(t[1])) %*% lazy(t[3]),
                 matrix = function(t) exp(-between * t[2]^2) %*% t(exp(-between * t[1])) %*% plain(t[3])),
  gram = list(op = function(t) crossprod(as_op(t[1] * M) + lazy(t[2])),
              matrix = function(t) crossprod(t[1] * M + plain(t[2]))),
  block = list(op = function(t) block_op(list(list(thin(t[1]), NULL), list(t[2] * M[1:2, 1:4], M[1:2, 1:3] * t[3]))),
               matrix = function(t) rbind(cbind(exp(-between * t[1]), matrix(0, n, 3)),
                                          cbind(t[2] * M[1:2, 1:4], M[1:2, 1:3] * t[3]))),
  bound = list(op = function(t) cbind(as_op(lazy(t[1])), t[2] * d, t[3]),
               matrix = function(t) cbind(plain(t[1]), t[2] * d, t[3])),
  kronecker = list(op = function(t) kronecker(t[2] * M[1:2, 1:3], as_op(lazy(t[1]))),
                   matrix = function(t) kronecker(t[2] * M[1:2, 1:3], plain(t[1]))),
  kronecker_of_operators = list(op = function(t) thin(t[1]) %x% as_op(t[2] * M[1:3, 1:2]),
                                matrix = function(t) exp(-between * t[1]) %x% (t[2] * M[1:3, 1:2])),
  taken = list(op = function(t) (exp(t[2]) * lazy(t[1]) + t[3] * identity_op(n))[c(5, 1, 2), -3],
               matrix = function(t) (exp(t[2]) * plain(t[1]) + t[3] * diag(n))[c(5, 1, 2), -3]),
  sparse = list(op = function(t) as_op(Matrix::Matrix(round(M), sparse = TRUE)) %*% (t[1] * lazy(t[2])),
                matrix = function(t) round(M) %*% (t[1] * plain(t[2]))),
  low_rank = list(op = function(t) exp(t[1]) * low + t[2] * lazy(t[3]) - t[1] * low,
                  matrix = function(t) (exp(t[1]) - t[1]) * as.matrix(low) + t[2] * plain(t[3])),
  rows_of_low_rank = list(op = function(t) (t[3] * low)[c(1, 4, 4), -2],
                          matrix = function(t) (t[3] * as.matrix(low))[c(1, 4, 4), -2]),
  own_function = list(op = function(t) function_op(function(v) (t[1] * M) %*% v, n) + lazy(t[2]),
                      matrix = function(t) t[1] * M + plain(t[2]))
)

# The questions to an operator or its matrix, with numbers that move with the parameters.
asked <- list(
  product = function(A, t, m) A %*% m$right,
  products = function(A, t, m) A %*% cbind(t[1] * m$right, t[2]^2, m$right),
  from_left = function(A, t, m) (t[3] * m$left) %*% A,
  crossprod = function(A, t, m) crossprod(A, m$left * t[2]),
  crossprod_left = function(A, t, m) crossprod(m$left * t[2], A),
  tcrossprod = function(A, t, m) tcrossprod(A, rbind(m$right * t[1])),
  tcrossprod_left = function(A, t, m) tcrossprod(rbind(m$right), A),
  diagonal = function(A, t, m) diag(A) * t[1],
  totals = function(A, t, m) c(rowSums(A), colMeans(A)),
  entries = function(A, t, m) as.matrix(A)
)

of_transpose <- c("from_left", "crossprod", "crossprod_left", "tcrossprod_left", "totals")

expect_same_derivatives <- function(f, g, label) {
  expect_equal(f(theta), g(theta), tolerance = 1e-10, label = paste("value of", label))
  expect_equal(gradient(f)(theta), gradient(g)(theta), tolerance = 1e-8, label = paste("gradient of", label))
  expect_equal(hvp(f)(theta, v = 1:3), hvp(g)(theta, v = 1:3), tolerance = 1e-7, label = paste("Hessian of", label))
}

test_that("products, diagonals and sums of rows of every kind have first and second derivatives", {
  skip_below("quick")
  every <- by_tier(6, 3, 1)
  for (kind in names(kinds)) for (verb in names(asked)) {
    if ((match(kind, names(kinds)) + match(verb, names(asked))) %% every) next
    if (kind == "own_function" && verb %in% of_transpose) next
    numbers <- function(A) list(right = sin(seq_len(dim(A)[2])), left = cos(seq_len(dim(A)[1])))
    as_one <- function(build) function(t) {
      A <- build(t)
      out <- asked[[verb]](A, t, numbers(A))
      sum(sin(seq_along(out)) * out^2)
    }
    expect_same_derivatives(as_one(kinds[[kind]]$op), as_one(kinds[[kind]]$matrix), paste(verb, "of", kind))
  }
})

# Symmetric and positive definite, or at least regular.
systems <- list(
  ridge = list(op = function(t) exp(t[2]) * lazy(t[1]) + t[3] * identity_op(n),
               matrix = function(t) exp(t[2]) * plain(t[1]) + t[3] * diag(n)),
  ridge_by_point = list(op = function(t) lazy(t[1]) + diagonal_op(t[3] * (1:n)),
                        matrix = function(t) plain(t[1]) + diag(t[3] * (1:n))),
  sum = list(op = function(t) as_op(t[2]^2 * S) + lazy(t[1]) + t[3] * identity_op(n),
             matrix = function(t) t[2]^2 * S + plain(t[1]) + t[3] * diag(n)),
  product = list(op = function(t) crossprod(as_op(M * t[1])) + t[3] * identity_op(n),
                 matrix = function(t) crossprod(M * t[1]) + t[3] * diag(n)),
  not_symmetric = list(op = function(t) as_op(t[2] * M) + lazy(t[1]) + 3 * identity_op(n),
                       matrix = function(t) t[2] * M + plain(t[1]) + 3 * diag(n)),
  low_rank = list(op = function(t) exp(t[2]) * low + diagonal_op(t[3] * (1:n)),
                  matrix = function(t) exp(t[2]) * as.matrix(low) + diag(t[3] * (1:n))),
  thin = list(op = function(t) tcrossprod(as_op(t[1] * M[, 1:2])) + tcrossprod(thin(t[3])) + t[3] * identity_op(n),
              matrix = function(t) {
                tcrossprod(t[1] * M[, 1:2]) + tcrossprod(exp(-between * t[3])) + t[3] * diag(n)
              }),
  kronecker = list(op = function(t) kronecker(t[1] * S[1:2, 1:2], lazy(t[2]) + t[3] * identity_op(n)),
                   matrix = function(t) kronecker(t[1] * S[1:2, 1:2], plain(t[2]) + t[3] * diag(n)))
)

test_that("solutions, inverses and determinants have first and second derivatives", {
  skip_below("quick")
  for (kind in names(systems)) {
    right <- function(A, t) cbind(t[1], sin(seq_len(nrow(A)) * t[2]))
    solution <- function(build, ...) function(t) {
      A <- build(t)
      sum(solve(A, right(A, t), ...)^2)
    }
    op <- systems[[kind]]$op
    matrix <- systems[[kind]]$matrix
    expect_same_derivatives(solution(op), solution(matrix), paste("solve() of", kind))
    expect_same_derivatives(solution(op), function(t) {
      A <- op(t)
      sum((solve(A) %*% right(A, t))^2)
    }, paste("the inverse of", kind))
    reference <- function(t) sum(determinant(matrix(t))$modulus)
    expect_same_derivatives(function(t) sum(logdet(op(t))), reference, paste("logdet() of", kind))
    expect_same_derivatives(function(t) sum(determinant(op(t))$modulus), reference, paste("determinant() of", kind))
    if (kind == "not_symmetric") next
    by_products <- solution(op, method = "cg", tol = 1e-12)
    expect_equal(gradient(by_products)(theta), gradient(solution(matrix))(theta), tolerance = 1e-6, label = kind)
  }
  with_ridge <- function(t) sum(solve(as_op(t[2]^2 * S), v, ridge = t[3] * (1:n)))
  expect_same_derivatives(with_ridge, function(t) sum(solve(t[2]^2 * S + diag(t[3] * (1:n)), v)), "a ridge beside")
  inverse <- solve(systems$not_symmetric$op(theta))
  of_data <- function(v) sum((inverse %*% v)^2)
  expect_equal(gradient(of_data)(v)[[1]], as.vector(2 * t(as.matrix(inverse)) %*% (inverse %*% v)), tolerance = 1e-10)
  with_names <- solve(systems$sum$op(theta), stats::setNames(v, letters[1:n]))
  expect_named(with_names, letters[1:n])
})

test_that("an operator of functions is followed by its transpose, or as the function runs", {
  turned <- 0
  by_rule <- function_op(function(v) .Primitive("%*%")(M, v), n, transposed = function(v) {
    turned <<- turned + 1
    t(M) %*% v
  })
  f <- function(v) sum((by_rule %*% v)^2)
  expect_equal(gradient(f)(v)[[1]], as.vector(2 * t(M) %*% M %*% v), tolerance = 1e-12)
  expect_equal(turned, 1)
  expect_equal(hessian(f)(v), 2 * t(M) %*% M, tolerance = 1e-12)
  as_it_runs <- function_op(function(v) M %*% v, n)
  expect_equal(gradient(function(v) sum((as_it_runs %*% v)^2))(v), gradient(f)(v), tolerance = 1e-12)
  opaque <- function_op(function(v) M %*% as.numeric(format(v, digits = 15)), n)
  expect_error(gradient(function(v) sum(opaque %*% v))(v), "transposed", class = "kernweave_error_no_gradient")
})

test_that("what cannot be followed is refused by class, never a plain number", {
  A <- function(t) exp(t[2]) * lazy(t[1]) + t[3] * identity_op(n)
  inside <- function(t) function_op(function(v) as.matrix(A(t)) %*% v, n, symmetric = TRUE)
  refused <- list(
    function(t) sum(solve(inside(t), v)),
    function(t) sum(solve(inside(t), v, method = "cg")),
    function(t) sum(RSpectra::eigs_sym(A(t), 2)$values),
    function(t) sum(A(t)[t, ] %*% v),
    function(t) sum(simulate(A(t) + as_op(S), 2, seed = 1)),
    function(t) sum(root_op(lazy(t[1]), ridge = 0.1) %*% v),
    function(t) sum(solve(preconditioner(lazy(t[1]), t[3]), v))
  )
  if (!requireNamespace("RSpectra", quietly = TRUE)) refused[[3]] <- NULL
  for (k in seq_along(refused)) {
    expect_error(gradient(refused[[k]])(theta), class = "kernweave_error_no_gradient", label = paste("case", k))
  }
  expect_error(gradient(function(t) sum((A(t) + t[1]) %*% v))(theta), "change every entry",
               class = "kernweave_error_unsupported")
  expect_error(gradient(function(t) sum(A(t) %*% t))(theta), "6 columns.*3 rows", class = "kernweave_error_shape")
})

test_that("eigenvalues have their derivatives, equal ones in what takes them alike, and vectors none", {
  A <- function(t) exp(t[2]) * lazy(t[1]) + diagonal_op(t[3] * (1:n))
  matrix <- function(t) exp(t[2]) * plain(t[1]) + diag(t[3] * (1:n))
  slopes <- function(values) {
    vapply(1:3, function(k) (values(theta + 1e-5 * (1:3 == k)) - values(theta - 1e-5 * (1:3 == k))) / 2e-5, 0)
  }
  of_values <- function(t) sum(c(1, 3) * log(keigen(A(t), 2, tol = 1e-12)$values))
  by_eigen <- function(t) sum(c(1, 3) * log(eigen(matrix(t))$values[1:2]))
  expect_equal(gradient(of_values)(theta)[[1]], slopes(by_eigen), tolerance = 1e-7)
  twice <- function(t) sum(keigen(kronecker(diag(2), A(t)), 2, tol = 1e-12)$values^2)
  expect_equal(gradient(twice)(theta)[[1]], slopes(function(t) 2 * eigen(matrix(t))$values[1]^2), tolerance = 1e-7)
  expect_error(gradient(function(t) sum(keigen(A(t), 2)$vectors))(theta), "vectors",
               class = "kernweave_error_no_gradient")
  expect_error(hessian(function(t) sum(keigen(A(t), 2)$values))(theta), "second", class = "kernweave_error_no_gradient")
})

test_that("an estimated trace has the derivatives of the estimate, an exact one its own", {
  A <- function(t) lazy(t[1]) + t[3] * identity_op(n)
  exact <- function(t) sum(trace_estimate(A(t) %*% A(t) * t[2]))
  expect_same_derivatives(exact, function(t) t[2] * sum((plain(t[1]) + t[3] * diag(n))^2), "an exact trace")
  x <- some_numbers(100, 2)
  squares <- as.matrix(stats::dist(x))^2
  estimated <- function(t) {
    K <- exp(-sqdist(Vi(x), Vj(x)) * t) + identity_op(100) / 2
    sum(trace_estimate(K %*% K %*% K, seed = 1))
  }
  dense <- function(t) {
    K <- exp(-squares * t) + diag(100) / 2
    sum(K * (K %*% K))
  }
  expect_equal(gradient(estimated)(4), gradient(dense)(4), tolerance = 0.02)
  expect_equal(hessian(estimated)(4), hessian(dense)(4), tolerance = 0.05)
})
