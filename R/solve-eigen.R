# The largest eigenvalues of a symmetric operator, and the trace of any square one, from products with blocks.

#' Largest eigenvalues of a kernel matrix or operator
#'
#' Computes the `k` largest eigenvalues of a symmetric operator and their eigenvectors: the first `k` of
#' `eigen(as.matrix(K))`. Use it when the matrix is too large to form or to decompose fully.
#'
#' The method multiplies blocks of columns. A product with 16 columns costs little more than twice as much as a product
#' with a single column, so few products are needed: 10 to 20 for 50 eigenpairs of a smooth or a rough kernel.
#'
#' For each eigenpair, the norm of the residual `K v - value v` bounds the distance from the value to an eigenvalue. The
#' iteration ends when this norm is below `tol` times the value, as far as rounding in the products allows. Equal
#' eigenvalues are found up to multiplicity `block`. The smallest eigenvalues of `K` are minus the largest eigenvalues
#' of `-as_op(K)`, which converge slowly.
#'
#' In functions given to [gradient()], the eigenvalues have first derivatives, the eigenvectors none. The eigenvectors
#' of equal eigenvalues are an arbitrary basis of their space, and the derivative of each of these eigenvalues depends
#' on the basis. Functions that treat equal eigenvalues alike, such as sums, have the right derivative.
#'
#' @param K a symmetric lazy tensor of one component, [linear_op] or matrix; symmetry is checked on random vectors
#' @param k number of eigenpairs
#' @param tol tolerance for the norm of the residual, relative to each eigenvalue; by default 1e-8
#' @param block number of columns in a product
#' @param max_iter maximum number of products
#' @param basis_mb memory for the basis, in megabytes; when the basis is full, its best vectors are kept, and the others
#'   are dropped
#' @param start a matrix whose columns are near the eigenvectors, such as the eigenvectors of a similar kernel; by
#'   default random
#' @param seed seed of the random numbers
#' @param x the result of `keigen()`
#' @param digits significant digits
#' @param ... not used
#' @return A list of class `kernweave_eigen`: `values`, in decreasing order, `vectors` as columns, `residuals`, and
#'   `passes`, the number of products.
#' @seealso [linear_op], [trace_estimate()]; `RSpectra::eigs_sym()`, `RSpectra::svds()` and `irlba::irlba()` also accept
#'   lazy tensors and operators
#' @concept eigenvectors
#' @concept Karhunen-Loeve expansion
#' @concept spectral decomposition
#' @concept truncated eigendecomposition
#' @export
#' @examples
#' x <- matrix(runif(3000), 1000)
#' K <- kernel_gaussian(x, scale = 0.5)
#' e <- keigen(K, 5)
#' e
#' n <- 1000
#' centre <- identity_op(n) - as_op(matrix(1 / n, n)) %*% t(as_op(matrix(1, n)))
#' keigen(centre %*% K %*% centre, 3)$values  # kernel principal components
keigen <- function(K, k, tol = 1e-8, block = 16, max_iter = 200, basis_mb = 1024, start = NULL, seed = 1) {
  op <- square_op(K, "keigen()")
  if (level_of_op(op) > 0L) return(eigen_entry(op, k, tol, block, max_iter, basis_mb, start, seed))
  n <- op$dim[1]
  k <- check_count(k, "k")
  if (k > n) abort("shape", "`k` is ", k, ", but there are ", n, " eigenvalues")
  check_tolerance(tol)
  check_limit(basis_mb, "basis_mb")
  block <- min(check_count(block, "block"), n)
  native <- native_operator(op, block, ladder = TRUE)
  if (!isTRUE(op$symmetric)) check_symmetric_by_products(native_operator(op, 2), n)
  exact <- call_options(op$settings)$precision == "float64"
  start <- if (is.null(start)) matrix(0, n, 0) else as_columns(plain_value(start), "argument", "start")
  if (nrow(start) != n) abort("shape", "`start` has ", counted(nrow(start), "row"), " for an operator of ", n)
  if (!all(is.finite(start))) abort("input", "`start` must be finite numbers")
  basis <- floor(basis_mb * 2^20 / 8 / n)
  most <- check_count(max_iter, "max_iter")
  found <- r_largest_eigenpairs(native, k, block, tol, if (exact) 2e-15 else 1e-6, most, basis, check_seed(seed),
                                unname(start))
  if (!found$converged) {
    warn("convergence", "eigenpairs after ", found$passes, " products have residuals of up to ",
         format(max(found$residuals), digits = 3), "; a larger `max_iter` or a larger `basis_mb` may help")
  }
  found$vectors <- named(found$vectors, rownames(op), NULL)
  structure(found[c("values", "vectors", "residuals", "passes")], class = "kernweave_eigen")
}

# The derivative of an eigenvalue is v'dK v for constant v: the derivative of a product.
eigen_entry <- function(op, ...) {
  lower <- lowered_op(op, level_of_op(op))
  if (level_of_op(lower) > 0L) abort("no_gradient", "keigen() has no second derivatives")
  found <- keigen(lower, ...)
  quotients <- colSums(found$vectors * operator_product(op, unname(found$vectors)))
  found$values <- record(list(quotients), found$values, function(g) list(g))
  found$vectors <- record(list(quotients), found$vectors, function(g) {
    abort("no_gradient", "the vectors of keigen() have no derivative; its values have")
  })
  found
}

#' @rdname keigen
#' @export
print.kernweave_eigen <- function(x, digits = getOption("digits"), ...) {
  say("<eigenpairs> ", length(x$values), " of ", format(nrow(x$vectors), big.mark = ","), ", ", x$passes, " products, ",
      "residuals up to ", format(max(x$residuals), digits = 2), "\n")
  print(x$values, digits = digits)
  invisible(x)
}

#' Trace of an operator
#'
#' Computes or estimates the trace of a square operator. Use it for effective degrees of freedom, or for derivatives of
#' likelihoods.
#'
#' The trace is exact if the parts of the operator give its diagonal (see [diag()][operator-numbers]), or if the
#' operator has no more rows than there are probes. Otherwise the estimator is Hutch++: a third of the probes find a
#' subspace on which the trace is exact, and the rest of the trace is estimated with random signs and has a standard
#' error. In functions given to [gradient()] the trace has derivatives of any order, estimated with the same signs.
#'
#' @param op a square [linear_op], a lazy tensor or a matrix; it need not be symmetric
#' @param probes total number of columns to multiply, at least 6; by default 48
#' @param seed a whole number; by default drawn with R's random numbers, so that `set.seed()` applies
#' @return A [kernweave_estimate]: a number with its standard error, which is 0 if the trace is exact.
#' @seealso [logdet()], [keigen()]
#' @concept stochastic trace estimation
#' @concept Hutchinson estimator
#' @concept effective degrees of freedom
#' @export
#' @examples
#' x <- matrix(runif(900), 300)
#' K <- kernel_gaussian(x, scale = 0.2)
#' trace_estimate(K)
#' trace_estimate(K %*% K %*% K)
trace_estimate <- function(op, probes = 48, seed = NULL) {
  op <- square_op(op, "trace_estimate()")
  probes <- check_count(probes, "probes", least = 6)
  known <- known_diagonal(op)
  if (!is.null(known)) return(estimate(sum(known), 0))
  n <- op$dim[1]
  if (n <= probes) return(estimate(sum(diag(op)), 0))
  third <- probes %/% 3
  signs <- random_signs(n, probes - third, check_seed(seed))
  plain <- op
  while (level <- level_of_op(plain)) plain <- lowered_op(plain, level)
  range <- qr.Q(qr(operator_product(plain, signs[, seq_len(third), drop = FALSE])))
  exact <- sum(range * operator_product(op, range))
  rest <- signs[, -seq_len(third), drop = FALSE]
  rest <- rest - range %*% crossprod(range, rest)
  each <- colSums(rest * operator_product(op, rest))
  estimate(exact + sum(each) / length(each), stats::sd(plain_value(each)) / sqrt(length(each)), probes = length(each))
}
