# The pictures of plot() by ggplot2: methods of its autoplot(), registered if ggplot2 is there.

#' Plots of fits and tests with ggplot2
#'
#' Methods for `ggplot2::autoplot()`, which draw what `plot()` draws. Use them to add layers, scales and themes.
#'
#' @param object an object returned by [kde_fit()], [local_reg()], [rbf_interpolate()], [kernel_ridge()],
#'   [marginal_effects()], [gp_fit()], [variogram()], [kpca_fit()], [kmeans_fit()], [dbscan_fit()], [knn_fit()],
#'   [silhouette_widths()], [permanova()], [sinkhorn()] or a test of the package
#' @param ... arguments of the object's `plot()` that choose what is drawn, such as `n`, `which` or `components`
#' @return A `ggplot`.
#' @seealso [kernweave_fit], [kernweave_test], [tidy-fits]
#' @concept ggplot2
#' @concept diagnostic plots
#' @name autoplot-fits
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE) && requireNamespace("MASS", quietly = TRUE)
#' fit <- local_reg(accel ~ times, MASS::mcycle, bandwidth = 2)
#' ggplot2::autoplot(fit) + ggplot2::theme_minimal()
NULL

# Columns of a layer under the names ggplot2 has for them, and others that are said.
drawn_by <- function(d, ...) {
  columns <- intersect(c("x", "y", "xmin", "xmax", "ymin", "ymax", "xend", "yend"), names(d))
  do.call(ggplot2::aes, lapply(c(stats::setNames(columns, columns), ...), as.name))
}

geoms <- list(
  surface = function(d) ggplot2::geom_raster(drawn_by(d, fill = "z"), d, interpolate = TRUE),
  contours = function(d) ggplot2::geom_contour(drawn_by(d, z = "z"), d, breaks = attr(d, "levels"), colour = "grey20"),
  band = function(d) ggplot2::geom_ribbon(drawn_by(d), d, alpha = 0.15),
  boxes = function(d) {
    if (is.null(d$group)) ggplot2::geom_rect(drawn_by(d), d, fill = "grey85", colour = "grey40")
    else ggplot2::geom_rect(drawn_by(d, fill = "group"), d)
  },
  origin = function(d) ggplot2::geom_blank(drawn_by(d), d),
  points = function(d) {
    more <- c(colour = if (!is.null(d$group)) "group", size = if (!is.null(d$size)) "size")
    as_drawn <- do.call(drawn_by, c(list(d), more))
    if (is.null(d$group)) ggplot2::geom_point(as_drawn, d, colour = "grey50") else ggplot2::geom_point(as_drawn, d)
  },
  map = function(d) {
    colours <- ggplot2::scale_fill_gradientn(colours = diverging_colours(), limits = about_zero(d$z))
    list(ggplot2::geom_point(drawn_by(d, fill = "z"), d, shape = 21, colour = "grey50", size = 2), colours)
  },
  labels = function(d) ggplot2::geom_text(drawn_by(d, label = "label"), d, vjust = -0.6, size = 3),
  estimates = function(d) ggplot2::geom_point(drawn_by(d), d, size = 2),
  centres = function(d) ggplot2::geom_point(drawn_by(d), d, shape = 3, size = 3),
  curve = function(d) {
    ggplot2::geom_line(if (is.null(d$group)) drawn_by(d) else drawn_by(d, colour = "group"), d, na.rm = TRUE)
  },
  spread = function(d) ggplot2::geom_segment(drawn_by(d), d, linewidth = 2, colour = "grey80"),
  intervals = function(d) ggplot2::geom_segment(drawn_by(d), d),
  arrows = function(d) {
    tip <- ggplot2::arrow(length = ggplot2::unit(0.05, "inches"))
    ggplot2::geom_segment(drawn_by(d), d, colour = "grey60", arrow = tip)
  },
  rug = function(d) ggplot2::geom_rug(drawn_by(d), d, sides = "b"),
  line = function(d) ggplot2::geom_abline(intercept = d$intercept, slope = d$slope, linetype = 2),
  upright = function(d) ggplot2::geom_vline(xintercept = d$x, linetype = 2),
  across = function(d) ggplot2::geom_hline(yintercept = d$y, linetype = 2)
)

#' @rdname autoplot-fits
#' @exportS3Method ggplot2::autoplot
#' @rawNamespace S3method(ggplot2::autoplot, kernweave_test, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, kernweave_nn, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, marginal_effects, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, kmeans_fit, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, dbscan_fit, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, hdbscan_fit, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, silhouette_widths, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, permanova, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, sinkhorn, autoplot.kernweave_fit)
autoplot.kernweave_fit <- function(object, ...) {
  picture <- plot_data(object, ...)
  drawn <- ggplot2::ggplot()
  for (kind in names(picture$layers)) drawn <- drawn + geoms[[kind]](picture$layers[[kind]])
  drawn <- drawn + ggplot2::labs(x = picture$xlab, y = picture$ylab, title = picture$main, colour = picture$glab,
                                fill = picture$zlab %or% picture$glab)
  for (axis in c("x", "y")) {
    scale <- getExportedValue("ggplot2", paste0("scale_", axis, "_continuous"))
    texts <- picture$ticks[[axis]]
    at <- which(nzchar(texts))
    if (length(at)) drawn <- drawn + scale(breaks = at, labels = texts[at])
    if (grepl(axis, picture$log)) drawn <- drawn + scale(trans = "log10")
  }
  drawn
}

#' @rdname autoplot-fits
#' @exportS3Method ggplot2::autoplot
autoplot.kernweave_variogram <- function(object, ...) {
  autoplot.kernweave_fit(object, ...) + ggplot2::labs(size = "pairs", colour = "direction")
}
