# Linear operators of every kind at one shape, each beside its dense matrix.

operator_shapes <- list(square = c(6, 6), tall = c(6, 4), wide = c(2, 5), row = c(1, 4), column = c(5, 1),
                        one = c(1, 1), none = c(0, 4), nothing = c(4, 0), empty = c(0, 0))

some_numbers <- function(n, m) matrix(stats::rnorm(n * m), n, m)

gaussian_between <- function(n, m) exp(-sqdist(Vi(some_numbers(n, 2)), Vj(some_numbers(m, 2))))

multiplies_by <- function(M) function_op(function(v) M %*% v, dim(M), transposed = function(v) t(M) %*% v)

# Cuts a matrix of operators in four: lazy, dense, sparse and none.
four_blocks <- function(n, m) {
  r <- n %/% 2
  k <- m %/% 2
  A <- gaussian_between(r, k)
  B <- some_numbers(r, m - k)
  D <- Matrix::rsparsematrix(n - r, m - k, 0.5)
  list(op = block_op(list(list(A, B), list(NULL, D))),
       matrix = rbind(cbind(as.matrix(A), B), cbind(matrix(0, n - r, k), as.matrix(D))))
}

operators_of <- function(n, m) {
  K <- gaussian_between(n, m)
  M <- some_numbers(n, m)
  S <- Matrix::rsparsematrix(n, m, 0.4)
  named <- structure(M, dimnames = list(sprintf("r%d", seq_len(n)), sprintf("c%d", seq_len(m))))
  left <- gaussian_between(n, 3)
  right <- some_numbers(3, m)
  half <- if (n %% 2 == 0) 2 else 1
  small <- some_numbers(half, 1)
  rest <- gaussian_between(n / half, m)
  rows <- list(
    lazy = list(op = as_op(K), matrix = as.matrix(K)),
    dense = list(op = as_op(named), matrix = named),
    sparse = list(op = as_op(S), matrix = as.matrix(S)),
    `function` = list(op = multiplies_by(M), matrix = M),
    sum = list(op = 2 * as_op(K) - multiplies_by(M) + S, matrix = 2 * as.matrix(K) - M + as.matrix(S)),
    product = list(op = as_op(left) %*% as_op(right), matrix = as.matrix(left) %*% right),
    block = four_blocks(n, m),
    kronecker = list(op = kronecker(as_op(small), rest), matrix = kronecker(small, as.matrix(rest)))
  )
  if (n != m) return(rows)
  d <- stats::setNames(stats::rnorm(n), sprintf("p%d", seq_len(n)))
  points <- some_numbers(n, 2)
  rownames(points) <- sprintf("q%d", seq_len(n))
  near <- exp(-sqdist(Vi(points), Vj(points)))
  diagonal <- structure(diag(d, n), dimnames = list(names(d), names(d)))
  c(rows, list(diagonal = list(op = diagonal_op(d), matrix = diagonal),
               identity = list(op = identity_op(n), matrix = diag(n)),
               lowrank = list(op = lowrank(near, n + 1, seed = 1), matrix = as.matrix(near)),
               ridge = list(op = K + 0.5 * identity_op(n), matrix = as.matrix(K) + 0.5 * diag(n))))
}

# Returns an operator or numbers as a plain matrix.
as_numbers <- function(x) {
  if (inherits(x, "linear_op") || inherits(x, "lazy_tensor")) as.matrix(x) else x
}
