# Pictures of matrices.

#' Plot a lazy tensor, or take its first rows
#'
#' `plot()` draws the matrix of pairs as an image, first row at the top, with a colour key beside it. If there are more
#' than `most` points along an axis, it draws evenly spaced points. The image is a single plot, so it can share a page
#' with others (`par(mfrow = )`). `head()` and `tail()` take the first or last points along i and stay lazy.
#'
#' @param x a lazy tensor
#' @param most largest number of points to draw along each axis; by default 200
#' @param col colours, from the smallest value to the largest
#' @param zlim the two values at the ends of the colour scale; set it to compare several pictures
#' @param main,xlab,ylab title and axis labels
#' @param n number of points, as for [utils::head()]
#' @param ... for `plot`: more arguments of [graphics::image()]
#' @return For `plot`, the matrix that was drawn, invisibly; for `head` and `tail`, a lazy tensor.
#' @seealso [print.lazy_tensor()], [explain()]; [as.matrix()][as.matrix.lazy_tensor] for the numbers
#' @importFrom grDevices hcl.colors
#' @concept heat map
#' @export
#' @examples
#' x <- sort(runif(100))
#' old <- par(mfrow = c(1, 2))
#' plot(kernel_gaussian(x, scale = 0.1))
#' plot(kernel_matern(x, scale = 0.1, nu = 1 / 2), main = "less smooth")
#' par(old)
#' head(sqdist(Vi(x), Vj(x)), 3)
plot.lazy_tensor <- function(x, most = 200, col = hcl.colors(64), zlim = NULL, main = formula_text(x$formula, 60L),
                             xlab = "j", ylab = "i", ...) {
  refuse_batches_of(x, "plot()")
  most <- check_count(most, "most")
  if (width(x) != 1) abort("shape", "plot() draws one component, not ", width(x), "; take one by F[, , k]")
  rows <- evenly_spaced(need_extent(x, "i", "plot()"), most)
  columns <- evenly_spaced(need_extent(x, "j", "plot()"), most)
  if (!length(rows) || !length(columns)) abort("no_data", "plot(): there are no pairs to draw")
  drawn <- if (!is.null(pairs_of(x))) dense(x)[rows, columns, drop = FALSE]
           else dense(drawn_points(drawn_points(x, rows, "i"), columns, "j"))
  finite <- drawn[is.finite(drawn)]
  apart <- if (!length(finite)) c(0, 1)
           else if (min(finite) < max(finite)) range(finite) else finite[1] + c(-0.5, 0.5) * max(1, abs(finite[1]))
  ends <- zlim %or% apart
  ok <- is.numeric(ends) && length(ends) == 2 && all(is.finite(ends)) && ends[1] < ends[2]
  if (!ok) abort("input", "`zlim` must be two numbers, the smaller one first, not ", format_value(ends))
  # The scale goes into the margin, so that par(mfrow) and layout() keep working.
  old <- graphics::par(mar = pmax(graphics::par("mar"), c(0, 0, 0, 5.1)))
  on.exit(graphics::par(old))
  regular <- function(at) seq(at[1], at[length(at)], length.out = length(at))  # useRaster needs equal steps
  graphics::image(regular(columns), regular(rows), t(drawn), zlim = ends, col = col, main = main, xlab = xlab,
                  ylab = ylab, ylim = rev(range(rows) + c(-0.5, 0.5)), useRaster = TRUE, ...)
  draw_scale(ends, col)
  invisible(drawn)
}

drawn_points <- function(x, places, axis) if (has_axis(x, axis)) take_points(x, places, axis, "places") else x

# Draws a strip of all colours in the right margin, about a line wide, with an axis.
draw_scale <- function(ends, col) {
  corners <- graphics::par("usr")
  line <- graphics::par("mai")[4] / graphics::par("mar")[4] / graphics::par("pin")[1] * diff(corners[1:2])
  height <- function(part) corners[3] + part * (corners[4] - corners[3])
  edges <- height(seq(0, 1, length.out = length(col) + 1))
  graphics::rect(corners[2] + 0.6 * line, edges[-length(edges)], corners[2] + 1.6 * line, edges[-1], col = col,
                 border = NA, xpd = NA)
  ticks <- pretty(ends)
  ticks <- ticks[ticks >= ends[1] & ticks <= ends[2]]
  graphics::axis(4, at = height((ticks - ends[1]) / diff(ends)), labels = format(ticks), line = 1.6, las = 1)
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
  if (!has_axis(x, "i") && !has_named_axes(x)) return(x)
  take_points(x, part(seq_len(need_extent(x, "i", "head()")), n), "i", "rows")
}
