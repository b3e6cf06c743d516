# Diagnostic plots of a fit: residuals, quantiles, spread, Cook's distances, leave-one-out predictions, and residuals on
# a map.

#' Diagnostic plots of fits
#'
#' `plot(fit, which = 1:6)` draws diagnostic plots of a [gp_fit()] or [kernel_ridge()]: the plots of [stats::plot.lm()],
#' and two more for spatial data. `plot(fit, which = "variogram")` shows whether residuals are spatially correlated.
#'
#' 1. Residuals against fitted values, with a smooth line that shows structure missing from the mean.
#' 2. Normal quantiles of [rstandard()][rstandard.gp_fit()], with a line through the quartiles.
#' 3. The square root of the absolute standardised residuals against fitted values, to check for constant variance.
#' 4. Cook's distances, with labels for the largest three.
#' 5. The prediction of each observation from all other observations, against its fitted value: where the two differ,
#'    the fit follows the observation.
#' 6. With two inputs a map of the residuals, blue below 0 and red above; with one input, residuals against the input.
#'
#' With a `family` of [gp_fit()] plots 1, 2, 3 and 6 show randomised quantile residuals, see
#' [residuals()][residuals.gp_fit()], which are standard normal if the model is true, and 1 and 3 have the linear
#' predictor instead of fitted values.
#'
#' With more than 5000 observations, 5000 evenly spaced ones are drawn (of Cook's distances the largest); lines use up
#' to 100 000. Further arguments are passed to [graphics::plot()], for each plot. The fit is returned, invisibly.
#'
#' @seealso [fit-influence], [variogram()]; [autoplot-fits] for the same plots by ggplot2
#' @concept residual plots
#' @concept model checking
#' @name plot_fit
#' @examples
#' some <- quakes[seq(1, 1000, by = 8), ]
#' fit <- gp_fit(depth ~ long + lat, some, trend = ~ long, kernel = "matern32")
#' old <- par(mfrow = c(2, 3))
#' plot(fit, which = 1:6)
#' par(old)
#' plot(fit, which = "variogram")
NULL

# Draws the plots one after the other. An interactive device with too few panels asks before each, as in plot.lm().
draw_diagnostics <- function(fit, which, ...) {
  which <- checked_pictures(which)
  if (length(which) > 1 && ncol(fit$x) > 2 && 6 %in% which) {
    tell("kernweave: a map of residuals is of one or two inputs, and is left out")
    which <- setdiff(which, 6)
  }
  if (prod(graphics::par("mfcol")) < length(which) && grDevices::dev.interactive()) {
    old <- grDevices::devAskNewPage(TRUE)
    on.exit(grDevices::devAskNewPage(old))
  }
  for (one in which) draw_picture(diagnostic_picture(fit, one), ...)
  invisible(fit)
}

checked_pictures <- function(which) {
  if (length(which) && all(which %in% 1:6)) return(which)
  abort("value", "`which` must be numbers from 1 to 6, or a name, not ", format_value(which))
}

diagnostic_picture <- function(fit, which) {
  which <- checked_pictures(which)
  if (length(which) > 1) abort("input", "one picture at a time: `which` has ", length(which), " numbers")
  refuse_many(NCOL(fit$residuals))
  seen <- seen_residuals(fit)
  switch(which,
         smoothed_picture(seen$at, seen$raw(), seen$xlab, seen$ylab, "Residuals and fitted values",
                          across = data.frame(y = 0)),
         quantile_picture(seen),
         smoothed_picture(seen$at, sqrt(abs(seen$standard())), seen$xlab, paste0("sqrt(|", seen$label, "|)"),
                          "Spread and fitted values"),
         cook_picture(fit), loo_picture(fit), residual_map(fit))
}

# Plots y against x with a lowess line of up to 100 000 points.
smoothed_picture <- function(x, y, xlab, ylab, main, ...) {
  known <- is.finite(x) & is.finite(y)
  x <- unname(x[known])
  y <- unname(y[known])
  some <- drawn_rows(length(x), 1e5)
  line <- stats::lowess(x[some], y[some])
  line <- data.frame(x = line$x, y = line$y)[!duplicated(line$x), ]
  picture(xlab, ylab, points = data.frame(x = x, y = y), ..., main = main,
          curve = data.frame(line, row.names = NULL)[drawn_rows(nrow(line), most_drawn), ])
}

# Returns residuals whose distribution is known if the model is true. With a family: quantile residuals, or deviance
# residuals if there is no distribution function, against the linear predictor.
seen_residuals <- function(fit) {
  if (!is_gp_family(fit)) {
    return(list(at = fit$fitted.values, xlab = "fitted", raw = function() fit$residuals, ylab = "residual",
                standard = function() rstandard_of(fit), label = "standardized residual"))
  }
  family <- family_at(fit)
  type <- if (is.null(family$below) && !isTRUE(family$trials)) "deviance" else "quantile"
  fit["na.action"] <- list(NULL)
  found <- function() as.vector(residuals(fit, type))
  label <- paste(type, "residual")
  list(at = fit$linear.predictors, xlab = "linear predictor", raw = found, ylab = label, standard = found,
       label = label)
}

quantile_picture <- function(seen) {
  found <- sort(unname(seen$standard()))
  at <- stats::qnorm(stats::ppoints(length(found)))
  quartiles <- stats::quantile(found, c(0.25, 0.75), names = FALSE)
  slope <- diff(quartiles) / (2 * stats::qnorm(0.75))
  picture("normal quantile", seen$label, points = data.frame(x = at, y = found),
          line = data.frame(intercept = mean(quartiles), slope = slope), main = "Normal quantiles")
}

# Computes standardised residuals of the rows that were used, whatever the fit's na.action.
rstandard_of <- function(fit) {
  fit["na.action"] <- list(NULL)
  as.vector(rstandard(fit))
}

cook_picture <- function(fit) {
  names <- case.names(fit, full = TRUE)
  fit["na.action"] <- list(NULL)
  found <- as.vector(cooks.distance(fit))
  if (!any(is.finite(found))) {
    abort("unsupported", "Cook's distances are not known where there is no noise (`nugget` 0)")
  }
  down <- order(-found)
  largest <- utils::head(down, 3)
  rows <- sort(utils::head(down, most_drawn))
  picture("observation", "Cook's distance", main = drawn_title("Cook's distances", length(found), length(rows)),
          intervals = data.frame(x = rows, y = 0, xend = rows, yend = found[rows]),
          labels = data.frame(x = largest, y = found[largest], label = names[largest]))
}

loo_picture <- function(fit) {
  fit["na.action"] <- list(NULL)
  y <- as.vector(fit$fitted.values + fit$residuals)
  both <- data.frame(x = as.vector(fit$fitted.values), y = y - as.vector(residuals(fit, type = "loo")))
  picture("fitted", "predicted from all others", points = both, line = data.frame(intercept = 0, slope = 1),
          main = "Predicted from all others, and fitted")
}

residual_map <- function(fit) {
  x <- unname(strip_term(fit$x))
  labels <- colnames(fit$x) %or% fit$names
  seen <- seen_residuals(fit)
  left <- as.vector(seen$raw())
  if (ncol(x) == 1) {
    return(smoothed_picture(x[, 1], left, labels[1], seen$ylab, "Residuals and input", across = data.frame(y = 0)))
  }
  if (ncol(x) > 2) abort("unsupported", "a map of residuals is of one or two inputs; this fit has ", ncol(x))
  rows <- drawn_rows(nrow(x), most_drawn)
  rows <- rows[order(abs(left[rows]))]  # the largest on top
  picture(labels[1], labels[2], map = data.frame(x = x[rows, 1], y = x[rows, 2], z = left[rows]), zlab = seen$ylab,
          main = drawn_title("Residuals on the map", nrow(x), length(rows)), asp = map_aspect(x, labels, fit))
}

# The variogram of a ridge regression's residuals, in the units of its inputs.
residual_variogram <- function(fit) {
  refuse_many(NCOL(fit$residuals))
  rows <- heavy_of(fit)
  x <- unname(strip_term(fit$x))[rows, , drop = FALSE]
  about <- list(formula = fit$formula, trend = ~ 0, na.action = fit$na.action, seed = fit$control$seed,
                distances = distances_between(x, colnames(fit$x)))
  variogram_of(x, as.vector(fit$residuals)[rows], variogram_ends(x, NULL, NULL, NULL), NULL, FALSE, 2e7, about)
}
