# The classes of the package: the class of an object, and the value of an object that derivatives are traced through.

our_classes <- c("lazy_tensor", "lazy_complex", "linear_op", "kernweave_traced")
for (class in our_classes) setOldClass(class)
rm(class)

#' Test whether an object is a lazy tensor
#'
#' Tests whether an object is a (real) lazy tensor.
#'
#' @param x any object
#' @return `TRUE` or `FALSE`. A complex lazy tensor gives `FALSE`, see [lazy_complex()]; its `Re()` and `Im()` give
#'   `TRUE`
#' @seealso [Vi()], which makes lazy tensors; [is_reduction()]
#' @export
#' @examples
#' is_lazy(Vi(matrix(0, 2, 2)))
is_lazy <- function(x) inherits(x, "lazy_tensor")

is_lazy_complex <- function(x) inherits(x, "lazy_complex")

is_op <- function(x) inherits(x, "linear_op")

#' Is this a lazy reduction?
#'
#' Tests whether an object is a reduction that is not computed yet.
#'
#' @param x any object
#' @return `TRUE` or `FALSE`
#' @seealso [reduction()], [is_lazy()]
#' @export
#' @examples
#' x <- Vi(dim = 2)
#' y <- Vj(dim = 2)
#' is_reduction(sum(sqdist(x, y), index = "j"))
is_reduction <- function(x) inherits(x, "lazy_reduction")

is_traced <- function(x) is.environment(x) && inherits(x, "kernweave_traced")

plain_value <- function(x) {
  while (is_traced(x)) x <- .subset2(x, "value")
  x
}

# An external pointer does not survive saveRDS.
is_dead <- function(pointer) identical(pointer, dead_pointer)

dead_pointer <- methods::new("externalptr")
