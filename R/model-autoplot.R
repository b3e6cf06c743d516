# autoplot() methods, which draw the pictures of plot() by ggplot2; they are registered if ggplot2 is installed.

#' Plots of fits and tests with ggplot2
#'
#' Methods for `ggplot2::autoplot()`, which draw what `plot()` draws. Use them to add layers, scales and themes.
#'
#' A picture of many points draws some of them, chosen evenly, and a note says how many: 500 on maps, 20 000 in
#' clusters (of each cluster its share), 5000 elsewhere.
#'
#' Maps of two inputs end where there are no data: a place is left out if the nearest observation is farther than 1.8
#' times the mean distance between neighbours, and farther than a twentieth of the map. With `whole = TRUE` the whole
#' rectangle is drawn. Two coordinates have equal scales: those of `sf` points, inputs with names like `x` and `y` or
#' `easting` and `northing`, and longitudes and latitudes, where a degree of longitude is as long as it is in the middle
#' of the map. The argument `asp = NA` of `plot()`, or `ggplot2::coord_cartesian()`, fills the figure instead.
#'
#' @param object an object returned by [kde_fit()], [local_reg()], [rbf_interpolate()], [kernel_ridge()],
#'   [marginal_effects()], [gp_fit()], [variogram()], [cross_validate()], [elpd()], [profile()][profile.gp_fit()],
#'   [gp_posterior()], [kpca_fit()], [kmeans_fit()], [dbscan_fit()], [hdbscan_fit()], [knn_fit()],
#'   [silhouette_widths()], [permanova()], [sinkhorn()], [sinkhorn_barycentre()] or a test of the package
#' @param which names of the parameters, by default all, each in a panel
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

# Maps columns of a layer to the aesthetics of the same names, and others as given.
drawn_by <- function(d, ...) {
  columns <- intersect(c("x", "y", "xmin", "xmax", "ymin", "ymax", "xend", "yend"), names(d))
  do.call(ggplot2::aes, lapply(c(stats::setNames(columns, columns), ...), as.name))
}

geoms <- list(
  surface = function(d) {
    fine <- grid_frame(seen_grid(d))
    list(ggplot2::geom_raster(drawn_by(fine, fill = "z"), fine[!is.na(fine$z), ]),
         ggplot2::scale_fill_gradientn(colours = surface_colours(d), limits = colour_ends(d),
                                       breaks = unname(attr(d, "marks")) %or% ggplot2::waiver(),
                                       labels = names(attr(d, "marks")) %or% ggplot2::waiver()))
  },
  contours = function(d) {
    fine <- grid_frame(seen_grid(d))
    ggplot2::geom_contour(drawn_by(fine, z = "z"), fine, breaks = attr(d, "levels"), colour = "grey20", na.rm = TRUE)
  },
  band = function(d) ggplot2::geom_ribbon(drawn_by(d), d, alpha = 0.15),
  boxes = function(d) {
    if (is.null(d$group)) ggplot2::geom_rect(drawn_by(d), d, fill = "grey85", colour = "grey40")
    else list(ggplot2::geom_rect(drawn_by(d, fill = "group"), d), group_scale(d$group, "fill"))
  },
  origin = function(d) ggplot2::geom_blank(drawn_by(d), d),
  points = function(d) {
    more <- c(colour = if (!is.null(d$group)) "group", size = if (!is.null(d$size)) "size")
    as_drawn <- do.call(drawn_by, c(list(d), more))
    of_points <- function(d, ...) {
      do.call(ggplot2::geom_point, c(list(as_drawn, d, ...), if (is.null(d$size)) list(size = 1)))
    }
    if (is.null(d$group)) return(of_points(d, colour = "grey50"))
    none <- is.na(d$group)
    list(if (any(none)) ggplot2::geom_point(drawn_by(d), d[none, ], colour = "grey75", size = 0.3),
         of_points(d[!none, ]), group_scale(d$group, "colour"))
  },
  map = function(d) {
    colours <- ggplot2::scale_fill_gradientn(colours = diverging_colours(), limits = colour_ends(d))
    list(ggplot2::geom_point(drawn_by(d, fill = "z"), d, shape = 21, colour = "grey50", size = 2), colours)
  },
  labels = function(d) ggplot2::geom_text(drawn_by(d, label = "label"), d, vjust = -0.6, size = 3),
  estimates = function(d) ggplot2::geom_point(drawn_by(d), d, size = 2),
  centres = function(d) ggplot2::geom_point(drawn_by(d), d, shape = 3, size = 2 * size_of_centres(d)),
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
  upright = function(d) {
    colour <- c(colour = if (!is.null(d$group)) "group")
    ggplot2::geom_vline(do.call(drawn_by, c(list(NULL, xintercept = "x"), colour)), d, linetype = 2)
  },
  across = function(d) ggplot2::geom_hline(drawn_by(NULL, yintercept = "y"), d, linetype = 2)
)

grid_frame <- function(grid) {
  data.frame(x = rep(grid$x, length(grid$y)), y = rep(grid$y, each = length(grid$x)), z = as.vector(grid$z))
}

# Gives groups the colours of plot(), with a legend of at most 20 groups.
group_scale <- function(group, what) {
  ggplot2::scale_discrete_manual(what, values = distinct_colours(nlevels(group)), limits = levels(group),
                                 guide = if (nlevels(group) > 20) "none" else ggplot2::guide_legend())
}

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
#' @rawNamespace S3method(ggplot2::autoplot, sinkhorn_barycentre, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, cross_validate, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, elpd, autoplot.kernweave_fit)
#' @rawNamespace S3method(ggplot2::autoplot, elpd_differences, autoplot.kernweave_fit)
autoplot.kernweave_fit <- function(object, ...) ggplot_of(with_times(plot_data(object, ...), object))

ggplot_of <- function(picture) {
  drawn <- ggplot2::ggplot()
  for (kind in names(picture$layers)) drawn <- drawn + geoms[[kind]](picture$layers[[kind]])
  drawn <- drawn + ggplot2::labs(x = picture$xlab, y = picture$ylab, title = picture$main, caption = picture$note,
                                colour = picture$glab, fill = picture$zlab %or% picture$glab)
  for (axis in c("x", "y")) {
    scale <- getExportedValue("ggplot2", paste0("scale_", axis, "_continuous"))
    texts <- picture$ticks[[axis]]
    at <- which(nzchar(texts))
    if (length(at)) drawn <- drawn + scale(breaks = at, labels = texts[at])
    if (!is.null(picture$times[[axis]])) drawn <- drawn + do.call(scale, time_marks(picture, axis))
    if (grepl(axis, picture$log)) drawn <- drawn + scale(trans = "log10")
  }
  if (is.null(picture$asp)) drawn else drawn + ggplot2::coord_fixed(picture$asp)
}

time_marks <- function(picture, axis) {
  at <- pretty(in_time(layer_range(picture$layers, axis), picture$times[[axis]]))
  list(breaks = as.numeric(at), labels = attr(at, "labels"))
}

#' @rdname autoplot-fits
#' @exportS3Method ggplot2::autoplot
autoplot.profile.gp_fit <- function(object, which = names(object), ...) {
  pictures <- lapply(stats::setNames(which, which), function(name) plot_data(object, name, ...))
  if (length(which) == 1) return(ggplot_of(pictures[[1]]))
  panels <- function(kind) {
    parts <- lapply(which, function(name) {
      d <- pictures[[name]]$layers[[kind]]
      if (!is.null(d)) data.frame(d, panel = factor(name, which))
    })
    do.call(rbind, parts)
  }
  kinds <- unique(unlist(lapply(pictures, function(one) names(one$layers))))
  all <- pictures[[1]]
  all$layers <- lapply(stats::setNames(kinds, kinds), panels)
  all$xlab <- NULL
  all$log <- if (all(vapply(pictures, `[[`, "", "log") == "x")) "x" else ""
  ggplot_of(all) + ggplot2::facet_wrap("panel", scales = "free")
}

#' @rdname autoplot-fits
#' @exportS3Method ggplot2::autoplot
autoplot.gp_posterior <- function(object, which = names(draws_of_parameters(object)), ...) {
  autoplot.profile.gp_fit(object, which, ...)
}

#' @rdname autoplot-fits
#' @exportS3Method ggplot2::autoplot
autoplot.kernweave_variogram <- function(object, ...) {
  layers <- plot_data(object)$layers
  groups <- layers$curve$group
  autoplot.kernweave_fit(object, ...) + ggplot2::labs(size = "pairs") +
    (if (is.null(layers$points$group) && !is.null(groups)) group_scale(groups, "colour"))
}
