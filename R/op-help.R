# The help page that all S4 methods of products share, since R wants a page for each.

#' Methods for products of lazy tensors, operators and traced values
#'
#' See the help of each class: [lazy-matrix], [lazy_complex()], [operator-algebra] and [gradient()].
#'
#' @name kernweave-methods
#' @keywords internal
#' @seealso [lazy-matrix], [operator-algebra], [gradient()]
#' @eval method_aliases()
NULL

# Lists the methods with a class of ours for roxygen, except methods with a help page of their own.
method_aliases <- function() {
  of_generic <- function(generic) {
    signatures <- methods::findMethods(generic, where = topenv(), inherited = FALSE)@signatures
    own <- Filter(function(classes) {
      sides <- if (length(classes) == 1) "linear_op" else if (generic != "kronecker") c("ANY", "Matrix")
      any(classes %in% our_classes) && !(length(sides) && all(classes %in% c("lazy_tensor", sides)))
    }, signatures)
    paste0(generic, ",", vapply(own, paste, "", collapse = ","), "-method")
  }
  generics <- c("%*%", "crossprod", "tcrossprod", "kronecker", "diag", "rowSums", "colSums", "rowMeans", "colMeans")
  paste("@aliases", sort(unlist(lapply(generics, of_generic)), method = "radix"))
}
