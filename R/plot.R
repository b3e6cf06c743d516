# Pictures and first looks.

#' Draw, or look at the beginning of, a lazy tensor
#'
#' `plot()` draws the matrix of pairs with a scale of colours; of many points, some at even distances. `head()` and `tail()` take the
#' first or last points along i and stay lazy; `str()` says in a line what there is.
#'
#' @param x,object a lazy tensor
#' @param most points along each axis that are drawn
#' @param col colours, from the smallest value to the largest
#' @param main,xlab,ylab texts of the picture
#' @param n number of points, as for [utils::head()]
#' @param ... for `plot`: more arguments of [graphics::image()]
#' @return For `plot`, the matrix that was drawn, invisibly; for `head` and `tail`, a lazy tensor.
#' @importFrom grDevices hcl.colors
#' @export
#' @examples
#' x <- sort(runif(100))
#' plot(kernel_gaussian(x, scale = 0.1))
#' head(sqdist(Vi(x), Vj(x)), 3)
plot.lazy_tensor <- function(x, most = 200, col = hcl.colors(64), main = formula_text(x$formula, 60L), xlab = "j", ylab = "i", ...) {
  most <- check_count(most, "most")
  if (width(x) != 1) abort("shape", "plot() draws one component, not ", width(x), "; take one by F[, , k]")
  rows <- sampled(need_extent(x, "i", "plot()"), most)
  columns <- sampled(need_extent(x, "j", "plot()"), most)
  if (!length(rows) || !length(columns)) abort("no_data", "plot(): there are no pairs to draw")
  drawn <- if (has_pairs(x)) as.matrix(x)[rows, columns, drop = FALSE] else as.matrix(drawn_points(drawn_points(x, rows, "i"), columns, "j"))
  old <- graphics::par(no.readonly = TRUE)
  on.exit(graphics::par(old))
  graphics::layout(matrix(1:2, 1), widths = c(6, 1))
  # Rows from the top, as a matrix is printed.
  graphics::image(columns, rows, t(drawn), col = col, ylim = rev(range(rows) + c(-0.5, 0.5)), main = main, xlab = xlab, ylab = ylab, useRaster = FALSE, ...)
  draw_scale(drawn, col)
  invisible(drawn)
}

sampled <- function(n, most) unique(round(seq(1, n, length.out = min(n, most))))
has_pairs <- function(x) any(vapply(operands_of(x$formula), function(operand) operand$axis == "pair", NA))
drawn_points <- function(x, places, axis) if (has_axis(x, axis)) take_points(x, places, axis, "places") else x

draw_scale <- function(values, col) {
  finite <- range(c(0, 1)[!any(is.finite(values))], values[is.finite(values)])
  ends <- if (diff(finite) > 0) finite else finite + c(-0.5, 0.5)
  graphics::par(mar = replace(graphics::par("mar"), c(2, 4), c(0.5, 3)))
  graphics::image(1, seq(ends[1], ends[2], length.out = length(col)), t(seq_along(col)), col = col, axes = FALSE, xlab = "", ylab = "")
  graphics::axis(4, las = 1)
}

#' @rdname plot.lazy_tensor
#' @importFrom utils head
#' @export
head.lazy_tensor <- function(x, n = 6L, ...) first_points(x, n, utils::head)

#' @rdname plot.lazy_tensor
#' @importFrom utils tail
#' @export
tail.lazy_tensor <- function(x, n = 6L, ...) first_points(x, n, utils::tail)

first_points <- function(x, n, part) {
  if (!has_axis(x, "i")) return(x)
  take_points(x, part(seq_len(need_extent(x, "i", "head()")), n), "i", "rows")
}

#' @rdname plot.lazy_tensor
#' @importFrom utils str
#' @export
str.lazy_tensor <- function(object, ...) cat("<lazy tensor> ", shape_text(object), ": ", formula_text(object$formula, 60L), "\n", sep = "")
