# The lazy tensor: a formula with what is known of its extents, settings and pairs.
#   formula   nested lists (op, args, attributes, type), made by the engine alone
#   extent    numbers of points along i and j, NA where unknown or where the axis is absent
#   settings  device, precision, threads where set; NULL for none
#   pairs     which pairs exist; NULL for all
# The S4 bit is set so that `%*%` and Matrix operands dispatch on R before 4.3.

new_lazy <- function(formula, extent, settings = NULL, pairs = NULL) {
  x <- list(formula = formula, extent = extent, settings = settings, pairs = pairs)
  class(x) <- "lazy_tensor"
  asS4(x)
}

setOldClass("lazy_tensor")

# An operation of the engine on lazy tensors: types are checked there, extents and settings here.
lazy_call <- function(op, args, attributes = NULL) {
  formula <- r_apply(op, lapply(args, `[[`, "formula"), attributes)
  first <- args[[1]]
  extent <- first$extent
  settings <- first$settings
  pairs <- first$pairs
  for (other in args[-1]) {
    if (!identical(extent, other$extent)) extent <- merge_extent(extent, other$extent, args)
    if (!identical(settings, other$settings)) settings <- merge_settings(settings, other$settings)
    if (!identical(pairs, other$pairs)) pairs <- merge_pairs(pairs, other$pairs)
  }
  new_lazy(formula, extent, settings, pairs)
}

merge_extent <- function(a, b, args) {
  if (any(a != b, na.rm = TRUE)) extent_clash(args, which(a != b)[1])
  ifelse(is.na(a), b, a)
}

# Names the two operands whose numbers of points differ.
extent_clash <- function(args, axis) {
  who <- lapply(args, function(arg) r_show(arg$formula, 40L))
  n <- vapply(args, function(arg) arg$extent[axis], 0)
  known <- which(!is.na(n))
  other <- known[n[known] != n[known[1]]][1]
  abort("shape", "`", who[[known[1]]], "` has ", n[known[1]], " points along ", c("i", "j")[axis], ", but `",
        who[[other]], "` has ", n[other])
}

merge_pairs <- function(a, b) {
  if (is.null(a)) return(b)
  if (is.null(b)) return(a)
  abort("unsupported", "formulas restricted to different pairs cannot meet yet")
}

kind_names <- c("logical", "integer", "real", "complex")
axis_bits <- c(i = 1L, j = 2L)

type_kind <- function(x) kind_names[x$formula$type[2] + 1L]
has_axis <- function(x, axis) bitwAnd(x$formula$type[3], axis_bits[[axis]]) > 0L
batch_bits <- function(x) bitwShiftR(x$formula$type[3], 2L)

#' Is this a lazy tensor?
#'
#' @param x any object
#' @return `TRUE` or `FALSE`
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
#' @export
#' @examples
#' x <- Vi(matrix(0, 10, 3))
#' dim(x)
#' width(x)
width <- function(x) {
  if (!is_lazy(x)) abort("input", "`x` must be a lazy tensor, not ", describe(x))
  x$formula$type[1]
}

#' @export
dim.lazy_tensor <- function(x) {
  extent <- x$extent
  if (!has_axis(x, "i")) extent[1] <- 1
  if (!has_axis(x, "j")) extent[2] <- 1
  small <- is.na(extent) | extent <= .Machine$integer.max
  if (all(small)) as.integer(extent) else extent
}

# A known extent, for what cannot be done without.
need_extent <- function(x, axis, what) {
  n <- dim(x)[match(axis, c("i", "j"))]
  if (is.na(n)) abort("no_data", what, " needs to know how many points there are along ", axis)
  n
}

# The operands a formula stands on.
operands_of <- function(...) r_operands(list(...))
