# The S3 class of traced values: generics about the numbers, generics that would lose the history, matrix products.

# Generics that ask about the numbers, and are answered from the plain numbers.
asking_methods <- c("anyNA", "dim", "dimnames", "duplicated", "format", "is.array", "is.finite", "is.infinite",
                    "is.matrix", "is.na", "is.nan", "is.numeric", "isSymmetric", "length", "names", "xtfrm")

# Generics whose result would lose its history, and the remedy for each.
losing_methods <- c(
  as.integer = "whole numbers have no derivative: leave what counts or points to places out of `wrt`",
  as.logical = "write the comparison out",
  as.character = "format() shows the numbers",
  as.complex = "complex numbers have no derivatives here",
  as.data.frame = "use a list or a matrix",
  `$` = "it has no parts; x[[\"name\"]] takes an element",
  `$<-` = "it has no parts; x[[\"name\"]] <- value assigns an element",
  `levels<-` = "it has no levels"
)

register_traced <- function() {
  register <- function(name, method) registerS3method(name, traced_class, method, envir = home_of_generic(name))
  for (name in arranging_methods) register(name, by_places(get(name, home_of_generic(name))))
  lapply(asking_methods, function(name) {
    f <- get(name, home_of_generic(name))
    register(name, function(x, ...) f(plain_value(x), ...))
  })
  lapply(names(losing_methods), function(name) {
    register(name, function(x, ...) {
      abort("no_gradient", name, "() of a traced value has no derivative: ", losing_methods[[name]])
    })
  })
}

#' @export
print.kernweave_traced <- function(x, ...) {
  cat("<traced, level ", level_of(x), ">\n", sep = "")
  print(plain_value(x), ...)
  invisible(x)
}

#' @export
str.kernweave_traced <- function(object, ...) {
  cat(" traced")
  str(plain_value(object), ...)
}

#' @export
as.list.kernweave_traced <- function(x, ...) lapply(places_of(x), function(place) take(x, place))

#' @export
split.kernweave_traced <- function(x, f, drop = FALSE, ...) {
  lapply(split(seq_along(x), f, drop, ...), function(places) x[places])
}

#' @export
c.kernweave_traced <- function(...) overlay$c(...)

#' @export
cbind.kernweave_traced <- function(..., deparse.level = 1) {
  bound_together(base::cbind, substitute(list(...)), deparse.level, ...)
}

#' @export
rbind.kernweave_traced <- function(..., deparse.level = 1) {
  bound_together(base::rbind, substitute(list(...)), deparse.level, ...)
}

# --- S4 ---------------------------------------------------------------------------------------------------------

setMethod("show", "kernweave_traced", function(object) print.kernweave_traced(object))

# Multiplies. A matrix of package Matrix becomes a dense matrix.
traced_product <- function(x, y) backstage$multiply(without_s4(x), without_s4(y))
without_s4 <- function(x) if (isS4(x) && methods::is(x, "Matrix")) as.matrix(x) else x

setMethod("%*%", signature("kernweave_traced", "ANY"), function(x, y) traced_product(x, y))
setMethod("%*%", signature("ANY", "kernweave_traced"), function(x, y) traced_product(x, y))
setMethod("%*%", signature("kernweave_traced", "kernweave_traced"), function(x, y) traced_product(x, y))
setMethod("%*%", signature("kernweave_traced", "Matrix"), function(x, y) traced_product(x, y))
setMethod("%*%", signature("Matrix", "kernweave_traced"), function(x, y) traced_product(x, y))
setMethod("Ops", signature("kernweave_traced", "Matrix"), function(e1, e2) methods::callGeneric(e1, as.matrix(e2)))
setMethod("Ops", signature("Matrix", "kernweave_traced"), function(e1, e2) methods::callGeneric(as.matrix(e1), e2))

# Methods for generics of package Matrix, for calls from packages, which do not look up functions in the overlay.
setMethod("crossprod", signature("kernweave_traced", "ANY"), function(x, y = NULL, ...) overlay$crossprod(x, y))
setMethod("crossprod", signature("kernweave_traced", "missing"), function(x, y = NULL, ...) overlay$crossprod(x))
setMethod("crossprod", signature("ANY", "kernweave_traced"), function(x, y = NULL, ...) overlay$crossprod(x, y))
setMethod("tcrossprod", signature("kernweave_traced", "ANY"), function(x, y = NULL, ...) overlay$tcrossprod(x, y))
setMethod("tcrossprod", signature("kernweave_traced", "missing"), function(x, y = NULL, ...) overlay$tcrossprod(x))
setMethod("tcrossprod", signature("ANY", "kernweave_traced"), function(x, y = NULL, ...) overlay$tcrossprod(x, y))
setMethod("diag", "kernweave_traced", function(x = 1, nrow, ncol, names = TRUE) overlay$diag(x, nrow, ncol, names))
setMethod("rowSums", "kernweave_traced", function(x, na.rm = FALSE, dims = 1, ...) overlay$rowSums(x, na.rm, dims))
setMethod("colSums", "kernweave_traced", function(x, na.rm = FALSE, dims = 1, ...) overlay$colSums(x, na.rm, dims))
setMethod("rowMeans", "kernweave_traced", function(x, na.rm = FALSE, dims = 1, ...) overlay$rowMeans(x, na.rm, dims))
setMethod("colMeans", "kernweave_traced", function(x, na.rm = FALSE, dims = 1, ...) overlay$colMeans(x, na.rm, dims))
