# Pictures of fits and tests: plot_data() says what there is to see, and base graphics draw it.

# A picture: layers, which are data frames named by what they are and drawn in their order, and the texts of the axes.
# Columns are called as ggplot2 calls them. `ticks`: texts at 1, 2, ... of an axis; `log`: as in plot().
picture <- function(xlab, ylab, ..., main = NULL, ticks = list(), log = "") {
  layers <- list(...)
  list(layers = layers[!vapply(layers, is.null, NA)], xlab = xlab, ylab = ylab, main = main, ticks = ticks, log = log)
}

# The picture of a fit or a test. A method for each class.
plot_data <- function(object, ...) UseMethod("plot_data")

# --- pictures that several have -----------------------------------------------------------------------------

response_name <- function(fit) if (is.null(fit$formula)) "response" else deparse1(fit$formula[[2]])

# Places along each input, within the data.
plot_axes <- function(x, n) lapply(seq_len(ncol(x)), function(k) seq(min(x[, k]), max(x[, k]), length.out = n))

refuse_many <- function(responses) {
  if (responses > 1) abort("unsupported", "plot() draws one response, not ", responses)
}

# A function of one input, with a band where there is one, and the observations.
curve_picture <- function(at, value, x, y, xlab, ylab, band = NULL) {
  picture(xlab, ylab, band = if (!is.null(band)) data.frame(x = at, ymin = band[, 1], ymax = band[, 2]),
          points = data.frame(x = as.vector(x), y = as.vector(y)), curve = data.frame(x = at, y = value))
}

# A function of two inputs, x first and fastest.
surface_picture <- function(axes, height, points, labels) {
  grid <- data.frame(x = rep(axes[[1]], length(axes[[2]])), y = rep(axes[[2]], each = length(axes[[1]])),
                     z = as.vector(height))
  picture(labels[1], labels[2], surface = grid, contours = structure(grid, levels = pretty(grid$z, 10)),
          points = data.frame(x = points[, 1], y = points[, 2]))
}

# A function of more: what was seen beside what was fitted.
observed_picture <- function(fitted, y, ylab) {
  picture("fitted", ylab, points = data.frame(x = as.vector(fitted), y = as.vector(y)),
          line = data.frame(intercept = 0, slope = 1))
}

# Bars of heights, side by side, from 0.
bars_picture <- function(heights, labels, ylab, main = NULL) {
  at <- seq_along(heights)
  picture("", ylab, boxes = data.frame(xmin = at - 0.4, xmax = at + 0.4, ymin = 0, ymax = unname(heights)),
          ticks = list(x = labels), main = main)
}

#' @rdname kernweave_fit
#' @importFrom graphics lines
#' @export
lines.kernweave_fit <- function(x, ...) {
  curve <- fitted_curve(x)
  graphics::lines(curve$x, curve$y, ...)
  invisible(x)
}

fitted_curve <- function(fit) {
  if (ncol(fit$x) > 1) abort("unsupported", "lines() draws fits of one input; this has ", ncol(fit$x))
  curve <- (if (inherits(fit, "kernel_ridge")) plot_data(fit, "curve") else plot_data(fit))$layers$curve
  curve %or% abort("unsupported", "lines() draws curves, and a fit of class ", class(fit)[1], " is none")
}

# --- base graphics ------------------------------------------------------------------------------------------

# What `...` says of colours and symbols is said of the layer the picture is of.
main_layers <- c("surface", "boxes", "points", "estimates", "curve")
layer_styles <- c("col", "bg", "pch", "cex", "lwd", "lty", "border")

draw_picture <- function(picture, ...) {
  given <- list(...)
  layers <- picture$layers
  frame <- list(x = layer_range(layers, c("x", "xmin", "xmax", "xend")),
                y = layer_range(layers, c("y", "ymin", "ymax", "yend")), type = "n", log = picture$log,
                xlab = picture$xlab, ylab = picture$ylab, main = picture$main)
  frame[c(x = "xaxt", y = "yaxt")[names(picture$ticks)]] <- "n"
  if (!is.null(layers$surface)) frame[c("xaxs", "yaxs")] <- "i"
  do.call(graphics::plot, utils::modifyList(frame, given[setdiff(names(given), layer_styles)]))
  if (length(picture$ticks$x)) graphics::axis(1, seq_along(picture$ticks$x), picture$ticks$x)
  if (length(picture$ticks$y)) graphics::axis(2, seq_along(picture$ticks$y), picture$ticks$y, las = 1)
  styled <- intersect(main_layers, names(layers))[1]
  for (kind in names(layers)) {
    style <- if (kind == styled) given[intersect(layer_styles, names(given))]
    do.call(painters[[kind]], c(list(layers[[kind]]), style))
  }
}

layer_range <- function(layers, columns) {
  values <- unlist(lapply(layers, function(layer) unlist(unclass(layer)[intersect(columns, names(layer))])))
  range(values[is.finite(values)])
}

# The numbers of a grid as a matrix, and its axes.
grid_matrix <- function(d) {
  x <- unique(d$x)
  list(x = x, y = unique(d$y), z = matrix(d$z, length(x)))
}

group_colours <- function(group, otherwise) {
  if (is.null(group)) otherwise else hcl.colors(max(nlevels(group), 2), "Dark 3")[group]
}

painters <- list(
  surface = function(d, col = hcl.colors(64, "YlOrRd", rev = TRUE), ...) {
    grid <- grid_matrix(d)
    graphics::image(grid$x, grid$y, grid$z, add = TRUE, col = col, useRaster = TRUE)  # cells of it have no seams
    graphics::box()
  },
  contours = function(d) {
    grid <- grid_matrix(d)
    graphics::contour(grid$x, grid$y, grid$z, levels = attr(d, "levels"), labels = attr(d, "labels"), add = TRUE)
  },
  band = function(d) graphics::polygon(c(d$x, rev(d$x)), c(d$ymin, rev(d$ymax)), col = "#0000001A", border = NA),
  boxes = function(d, col = group_colours(d$group, "grey85"), border = "grey40", ...) {
    graphics::rect(d$xmin, d$ymin, d$xmax, d$ymax, col = col, border = border)
  },
  points = function(d, col = group_colours(d$group, "grey50"), pch = 19, cex = 0.5, ...) {
    graphics::points(d$x, d$y, col = col, pch = pch, cex = cex, ...)
  },
  estimates = function(d, pch = 19, ...) graphics::points(d$x, d$y, pch = pch, ...),
  centres = function(d) graphics::points(d$x, d$y, pch = 3, cex = 1.5, lwd = 2),
  curve = function(d, ...) graphics::lines(d$x, d$y, ...),
  spread = function(d) graphics::segments(d$x, d$y, d$xend, d$yend, lwd = 5, col = "grey80"),
  intervals = function(d) graphics::segments(d$x, d$y, d$xend, d$yend),
  arrows = function(d) {
    moved <- d$x != d$xend | d$y != d$yend
    graphics::arrows(d$x[moved], d$y[moved], d$xend[moved], d$yend[moved], length = 0.05, col = "grey60")
  },
  rug = function(d) graphics::rug(d$x),
  line = function(d) graphics::abline(d$intercept, d$slope, lty = 2),
  upright = function(d) graphics::abline(v = d$x, lty = 2, lwd = 2),
  across = function(d) graphics::abline(h = d$y, lty = 2)
)
