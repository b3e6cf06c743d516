# Linear operators against dense algebra: every kind, every verb, every shape.

set.seed(11)

# The verbs for an operator or its matrix, with numbers of its shape; both ways must agree.
verbs <- list(
  entries = function(A, z) A,
  product = function(A, z) A %*% z$v,
  products = function(A, z) A %*% z$V,
  none = function(A, z) A %*% z$V[, 0, drop = FALSE],
  from_left = function(A, z) z$u %*% A,
  rows_from_left = function(A, z) t(z$U) %*% A,
  frame = function(A, z) A %*% (if (inherits(A, "linear_op")) as.data.frame(z$V) else as.matrix(as.data.frame(z$V))),
  crossprod = function(A, z) crossprod(A, z$U),
  crossprod_left = function(A, z) crossprod(z$U, A),
  tcrossprod = function(A, z) tcrossprod(A, t(z$V)),
  tcrossprod_left = function(A, z) tcrossprod(t(z$V), A),
  gram = function(A, z) crossprod(A),
  outer_gram = function(A, z) tcrossprod(A),
  transpose = function(A, z) t(A),
  back = function(A, z) t(t(A)),
  turned_product = function(A, z) t(A) %*% z$U,
  multiple = function(A, z) 2 * A,
  integer_multiple = function(A, z) A * 3L,
  quotient = function(A, z) A / 4,
  minus = function(A, z) -A,
  plus = function(A, z) +A,
  twice = function(A, z) A + A,
  gone = function(A, z) A - A,
  sum_with_matrix = function(A, z) z$M + A,
  difference = function(A, z) z$M - A,
  rows = function(A, z) z$u * A,
  rows_again = function(A, z) A / (2 + z$u^2),
  columns = function(A, z) A %*% (if (inherits(A, "linear_op")) diagonal_op(z$v) else diag(z$v, length(z$v))),
  both = function(A, z) if (inherits(A, "linear_op")) diagonal_op(z$u) %*% A else diag(z$u, length(z$u)) %*% A,
  squares = function(A, z) A %*% t(A),
  three = function(A, z) A %*% t(A) %*% A,
  kronecker = function(A, z) kronecker(A, z$M[, seq_len(min(ncol(A), 1)), drop = FALSE]),
  kronecker_left = function(A, z) z$w %x% A,
  cbind = function(A, z) cbind(A, z$M, A),
  rbind = function(A, z) rbind(z$M, A),
  column_of_ones = function(A, z) cbind(A, if (inherits(A, "linear_op")) 1 else rep(1, nrow(A)), z$u),
  diag = function(A, z) unname(diag(A)),
  totals = function(A, z) c(rowSums(A), colSums(A)),
  means = function(A, z) c(rowMeans(A), colMeans(A)),
  taken = function(A, z) A[z$I, z$J, drop = FALSE],
  rows_taken = function(A, z) A[z$I, , drop = FALSE],
  columns_taken = function(A, z) A[, z$J, drop = FALSE],
  principal = function(A, z) A[z$P, z$P, drop = FALSE],
  left_out = function(A, z) A[-1, , drop = FALSE],
  dim = function(A, z) c(dim(A), nrow(A), ncol(A), length(A))
)

numbers_for <- function(n, m) {
  list(v = stats::rnorm(m), V = some_numbers(m, 2), u = stats::rnorm(n), U = some_numbers(n, 3), M = some_numbers(n, m),
       w = some_numbers(2, 3), I = rev(seq_len(n))[seq_len(min(n, 3))], J = rep(seq_len(m), length.out = m + min(m, 1)),
       P = rev(seq_len(min(n, m))))
}

# Every verb of every kind at every shape at night; else each verb of each kind at some of the shapes.
test_that("every verb of every kind gives what the dense matrix does, at every shape", {
  every <- by_tier(8, 4, 1, cran = 23)
  for (shape in names(operator_shapes)) {
    n <- operator_shapes[[shape]][1]
    m <- operator_shapes[[shape]][2]
    z <- numbers_for(n, m)
    rows <- operators_of(n, m)
    for (kind in names(rows)) for (verb in names(verbs)) {
      if ((match(shape, names(operator_shapes)) + match(kind, names(rows)) + match(verb, names(verbs))) %% every) next
      expected <- verbs[[verb]](rows[[kind]]$matrix, z)
      actual <- as_numbers(verbs[[verb]](rows[[kind]]$op, z))
      expect_equal(unname(actual), unname(expected), label = paste(verb, kind, shape), ignore_attr = "names")
    }
  }
})
