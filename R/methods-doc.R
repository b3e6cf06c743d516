# The help page that all S4 methods of products share, since R asks for one.

#' Methods for products of lazy tensors, operators and traced values
#'
#' They are documented where the classes are: [lazy-matrix], [operator-algebra] and [gradient()].
#'
#' @name kernweave-methods
#' @keywords internal
#' @seealso [lazy-matrix], [operator-algebra], [gradient()]
#' @aliases %*%,ANY,kernweave_traced-method
#' @aliases %*%,ANY,linear_op-method
#' @aliases %*%,Matrix,kernweave_traced-method
#' @aliases %*%,Matrix,linear_op-method
#' @aliases %*%,diagonalMatrix,lazy_tensor-method
#' @aliases %*%,diagonalMatrix,linear_op-method
#' @aliases %*%,kernweave_traced,ANY-method
#' @aliases %*%,kernweave_traced,Matrix-method
#' @aliases %*%,kernweave_traced,kernweave_traced-method
#' @aliases %*%,kernweave_traced,lazy_tensor-method
#' @aliases %*%,lazy_tensor,diagonalMatrix-method
#' @aliases %*%,lazy_tensor,kernweave_traced-method
#' @aliases %*%,lazy_tensor,linear_op-method
#' @aliases %*%,linear_op,ANY-method
#' @aliases %*%,linear_op,Matrix-method
#' @aliases %*%,linear_op,diagonalMatrix-method
#' @aliases %*%,linear_op,lazy_tensor-method
#' @aliases %*%,linear_op,linear_op-method
#' @aliases colMeans,kernweave_traced-method
#' @aliases colSums,kernweave_traced-method
#' @aliases crossprod,ANY,kernweave_traced-method
#' @aliases crossprod,ANY,linear_op-method
#' @aliases crossprod,Matrix,linear_op-method
#' @aliases crossprod,diagonalMatrix,lazy_tensor-method
#' @aliases crossprod,diagonalMatrix,linear_op-method
#' @aliases crossprod,kernweave_traced,ANY-method
#' @aliases crossprod,kernweave_traced,lazy_tensor-method
#' @aliases crossprod,kernweave_traced,missing-method
#' @aliases crossprod,lazy_tensor,diagonalMatrix-method
#' @aliases crossprod,lazy_tensor,kernweave_traced-method
#' @aliases crossprod,lazy_tensor,linear_op-method
#' @aliases crossprod,lazy_tensor,missing-method
#' @aliases crossprod,linear_op,ANY-method
#' @aliases crossprod,linear_op,Matrix-method
#' @aliases crossprod,linear_op,diagonalMatrix-method
#' @aliases crossprod,linear_op,lazy_tensor-method
#' @aliases crossprod,linear_op,linear_op-method
#' @aliases crossprod,linear_op,missing-method
#' @aliases diag,kernweave_traced-method
#' @aliases kronecker,ANY,lazy_tensor-method
#' @aliases kronecker,ANY,linear_op-method
#' @aliases kronecker,Matrix,lazy_tensor-method
#' @aliases kronecker,Matrix,linear_op-method
#' @aliases kronecker,diagonalMatrix,lazy_tensor-method
#' @aliases kronecker,diagonalMatrix,linear_op-method
#' @aliases kronecker,lazy_tensor,ANY-method
#' @aliases kronecker,lazy_tensor,Matrix-method
#' @aliases kronecker,lazy_tensor,diagonalMatrix-method
#' @aliases kronecker,lazy_tensor,lazy_tensor-method
#' @aliases kronecker,lazy_tensor,linear_op-method
#' @aliases kronecker,linear_op,ANY-method
#' @aliases kronecker,linear_op,Matrix-method
#' @aliases kronecker,linear_op,diagonalMatrix-method
#' @aliases kronecker,linear_op,lazy_tensor-method
#' @aliases kronecker,linear_op,linear_op-method
#' @aliases rowMeans,kernweave_traced-method
#' @aliases rowSums,kernweave_traced-method
#' @aliases tcrossprod,ANY,kernweave_traced-method
#' @aliases tcrossprod,ANY,linear_op-method
#' @aliases tcrossprod,Matrix,linear_op-method
#' @aliases tcrossprod,diagonalMatrix,lazy_tensor-method
#' @aliases tcrossprod,diagonalMatrix,linear_op-method
#' @aliases tcrossprod,kernweave_traced,ANY-method
#' @aliases tcrossprod,kernweave_traced,lazy_tensor-method
#' @aliases tcrossprod,kernweave_traced,missing-method
#' @aliases tcrossprod,lazy_tensor,diagonalMatrix-method
#' @aliases tcrossprod,lazy_tensor,kernweave_traced-method
#' @aliases tcrossprod,lazy_tensor,linear_op-method
#' @aliases tcrossprod,lazy_tensor,missing-method
#' @aliases tcrossprod,linear_op,ANY-method
#' @aliases tcrossprod,linear_op,Matrix-method
#' @aliases tcrossprod,linear_op,diagonalMatrix-method
#' @aliases tcrossprod,linear_op,lazy_tensor-method
#' @aliases tcrossprod,linear_op,linear_op-method
#' @aliases tcrossprod,linear_op,missing-method
NULL
