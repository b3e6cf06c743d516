# The package page, and what is imported from elsewhere.

#' Kernel and distance reductions without the matrix
#'
#' Make operands with [Vi()], [Vj()] and [Pm()], write a formula of them in plain R, and reduce it with
#' [reduction()], `sum()`, `%*%` or their kin. The matrix of all pairs never exists.
#'
#' @examples
#' x <- matrix(runif(300), 100, 3)
#' y <- matrix(runif(600), 200, 3)
#' b <- rnorm(200)
#' K <- exp(-sqdist(Vi(x), Vj(y)) / 2)
#' K
#' head(K %*% b)
#'
#' @keywords internal
#' @useDynLib kernweave, .registration = TRUE
#' @importFrom Rcpp evalCpp
#' @importFrom methods as is new setMethod setOldClass show
#' @importFrom Matrix crossprod tcrossprod diag
#' @importFrom stats median
#' @importFrom utils head
"_PACKAGE"
