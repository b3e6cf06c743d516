# S4 methods of complex lazy tensors. R/house-classes.R, which is read before this file, sets the classes.

setMethod("%*%", signature("lazy_complex", "ANY"), function(x, y) matrix_product(x, y))
setMethod("%*%", signature("ANY", "lazy_complex"), function(x, y) left_product(x, y))
setMethod("%*%", signature("lazy_complex", "lazy_complex"), function(x, y) matrix_product(x, y))
setMethod("%*%", signature("lazy_complex", "lazy_tensor"), function(x, y) matrix_product(x, y))
setMethod("%*%", signature("lazy_tensor", "lazy_complex"), function(x, y) matrix_product(x, y))
setMethod("crossprod", signature("lazy_complex", "ANY"), function(x, y = NULL, ...) {
  if (is.null(y)) abort("unsupported", "`y` is needed: crossprod(Z, y) of a complex lazy tensor is t(Z) %*% y")
  matrix_product(t(x), y)
})
setMethod("crossprod", signature("ANY", "lazy_complex"), function(x, y = NULL, ...) left_product(t(as.matrix(x)), y))
setMethod("tcrossprod", signature("lazy_complex", "ANY"), function(x, y = NULL, ...) {
  if (is.null(y)) abort("unsupported", "`y` is needed: tcrossprod(Z, y) of a complex lazy tensor is Z %*% t(y)")
  matrix_product(x, t(as.matrix(y)))
})
setMethod("diag", "lazy_complex", function(x = 1, nrow, ncol, names = TRUE) by_parts(x, diag))
setMethod("rowSums", "lazy_complex", function(x, na.rm = FALSE, dims = 1, ...) by_parts(x, rowSums, na.rm, dims, ...))
setMethod("colSums", "lazy_complex", function(x, na.rm = FALSE, dims = 1, ...) by_parts(x, colSums, na.rm, dims, ...))
setMethod("rowMeans", "lazy_complex", function(x, na.rm = FALSE, dims = 1, ...) by_parts(x, rowMeans, na.rm, dims, ...))
setMethod("colMeans", "lazy_complex", function(x, na.rm = FALSE, dims = 1, ...) by_parts(x, colMeans, na.rm, dims, ...))
setMethod("kronecker", signature("lazy_complex", "ANY"), function(X, Y, FUN = "*", make.dimnames = FALSE, ...) {
  refuse("kronecker", "complex", "as.matrix() gives the numbers")
})
