# The lazy tensor: a formula with what is known of its extents, settings and pairs.
#   formula   nested lists (op, args, attributes, type), made by the engine alone
#   extent    numbers of points along i and j, then along batch axes; NA where unknown or absent
#   settings  device, precision, threads where set; NULL for none
#   pairs     which pairs exist; NULL for all
# The S4 bit is set so that `%*%` and Matrix operands dispatch on R before 4.3.

new_lazy <- function(formula, extent, settings = NULL, pairs = NULL) {
  x <- list(formula = formula, extent = extent, settings = settings, pairs = pairs)
  class(x) <- "lazy_tensor"
  asS4(x)
}

setOldClass("lazy_tensor")

# An operation of the engine on lazy tensors: types, extents, settings and pairs are checked there.
lazy_call <- function(op, args, attributes = NULL) r_lazy_call(op, args, attributes)

merge_pairs <- function(a, b) {
  if (is.null(a)) return(b)
  if (is.null(b)) return(a)
  abort("unsupported", "formulas restricted to different pairs cannot meet yet")
}

# Types as the engine codes them.
kind_codes <- c(logical = 0L, integer = 1L, real = 2L, complex = 3L)
axis_bits <- c(i = 1L, j = 2L, param = 0L, pair = 3L)

# `$` on an S4 object looks for methods first; this does not.
type_of <- function(x) .subset2(.subset2(x, "formula"), "type")

type_kind <- function(x) names(kind_codes)[type_of(x)[2] + 1L]
has_axis <- function(x, axis) bitwAnd(type_of(x)[3], axis_bits[[axis]]) > 0L

#' Is this a lazy tensor?
#'
#' @param x any object
#' @return `TRUE` or `FALSE`
#' @seealso [Vi()] makes them; [is_reduction()]
#' @export
#' @examples
#' is_lazy(Vi(matrix(0, 2, 2)))
is_lazy <- function(x) inherits(x, "lazy_tensor")

#' Number of components of a lazy tensor
#'
#' `dim()` of a lazy tensor is the number of points along i and along j (1 where the formula does not
#' vary, `NA` where it is not known yet); `width()` is the number of components at each pair.
#'
#' @param x a lazy tensor
#' @return A whole number.
#' @seealso [Vi()], [lazy-matrix]
#' @export
#' @examples
#' x <- Vi(matrix(0, 10, 3))
#' dim(x)
#' width(x)
width <- function(x) {
  if (!is_lazy(x)) abort("input", "`x` must be a lazy tensor, not ", describe(x))
  type_of(x)[1]
}

#' @export
dim.lazy_tensor <- function(x) {
  extent <- .subset2(x, "extent")
  if (!has_axis(x, "i")) extent[1] <- 1
  if (!has_axis(x, "j")) extent[2] <- 1
  small <- is.na(extent) | extent <= .Machine$integer.max
  if (all(small)) as.integer(extent) else extent
}

#' @export
length.lazy_tensor <- function(x) {
  pairs <- prod(dim(x))
  if (is.na(pairs) || pairs <= .Machine$integer.max) as.integer(pairs) else pairs
}

# A known extent, for what cannot be done without.
need_extent <- function(x, axis, what) {
  n <- dim(x)[match(axis, c("i", "j"))]
  if (is.na(n)) abort("no_data", what, " needs to know how many points there are along ", axis)
  n
}

# The operands a formula stands on.
operands_of <- function(...) r_operands(list(...))
