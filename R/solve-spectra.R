# Methods of RSpectra's functions for lazy tensors and operators, which give RSpectra their products.

#' Eigenvalues and singular values with RSpectra
#'
#' These methods let `RSpectra::eigs_sym()`, `eigs()` and `svds()` accept lazy tensors and operators; `irlba::irlba()`
#' accepts them without a method. For the largest eigenvalues [keigen()] is faster, because it multiplies several
#' vectors at a time.
#'
#' @param A a lazy tensor of one component, or a [linear_op]
#' @param k number of eigenvalues or singular values
#' @param which,opts as in RSpectra
#' @param sigma must be `NULL`. For shifted and inverted systems pass a [function_op()] that calls `solve()`
#' @param nu,nv numbers of singular vectors
#' @param ... passed on to RSpectra
#' @return The list that the function of RSpectra returns.
#' @seealso [keigen()]
#' @concept singular value decomposition
#' @concept Lanczos
#' @name spectra
#' @examples
#' if (requireNamespace("RSpectra", quietly = TRUE)) {
#'   x <- matrix(runif(600), 200)
#'   RSpectra::eigs_sym(kernel_gaussian(x), 3)$values
#'   RSpectra::svds(kernel_gaussian(x[1:50, ], x), 3)$d
#' }
NULL

#' @rdname spectra
#' @exportS3Method RSpectra::eigs_sym
eigs_sym.lazy_tensor <- function(A, k, which = "LM", sigma = NULL, opts = list(), ...) {
  op <- square_op(A, "eigs_sym()")
  if (!isTRUE(op$symmetric)) check_symmetric_by_products(native_operator(op, 2), op$dim[1])
  RSpectra::eigs_sym(one_product(op), k, which, refused_shift(sigma), opts, n = op$dim[1], ...)
}

#' @rdname spectra
#' @exportS3Method RSpectra::eigs
eigs.lazy_tensor <- function(A, k, which = "LM", sigma = NULL, opts = list(), ...) {
  op <- square_op(A, "eigs()")
  RSpectra::eigs(one_product(op), k, which, refused_shift(sigma), opts, n = op$dim[1], ...)
}

#' @rdname spectra
#' @exportS3Method RSpectra::svds
svds.lazy_tensor <- function(A, k, nu = k, nv = k, opts = list(), ...) {
  op <- as_op(A)
  RSpectra::svds(one_product(op), k, nu, nv, opts, Atrans = one_product(t(op)), dim = op$dim, ...)
}

#' @exportS3Method RSpectra::eigs_sym
eigs_sym.linear_op <- eigs_sym.lazy_tensor

#' @exportS3Method RSpectra::eigs
eigs.linear_op <- eigs.lazy_tensor

#' @exportS3Method RSpectra::svds
svds.linear_op <- svds.lazy_tensor

# Reads the operator once for all products.
one_product <- function(op) {
  native <- native_operator(op, 1L)
  function(v, args) as.vector(r_operator_product(native, as.matrix(v)))
}

refused_shift <- function(sigma) {
  if (is.null(sigma)) return(NULL)
  abort("unsupported", "`sigma` asks for solutions of shifted systems; give a function_op() of solve()")
}
