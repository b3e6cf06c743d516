# Plots and print methods of variograms, and the curve of a fit.

# --- the curve of a fit -------------------------------------------------------------------------------------

# Returns a fit's parameters, and its variogram at distances up to `most`; NULL if the covariance is not stationary.
fitted_variogram <- function(fit, most, directions, n = 200) {
  # A kernel of some of the inputs has no curve against the distance of all inputs.
  if (length(unique(lapply(leaf_parts(fit$kernel), `[[`, "terms"))) > 1) return(list())
  list(parameters = covariance_parameters(fit), nugget = fit$nugget, curve = fit_curves(fit, most, directions, n))
}

# Returns the `label` of the distance axis and, if a distance mixes inputs of several units, a `note`.
distances_of <- function(fit) {
  parts <- leaf_parts(fit$kernel)
  names <- colnames(fit$x) %or% fit$names
  if (length(unique(lapply(parts, `[[`, "terms"))) > 1 || any(vapply(parts, has_time, NA))) return(mixed_units(names))
  if (is_standardized(fit$data)) {
    return(list(label = "distance of standardized inputs", note = "distances are of standardized inputs"))
  }
  if (is.null(fit$data$rule) || !is_spherical(parts[[1]])) return(distances_between(fit$data$x, names))
  list(label = if (identical(parts[[1]]$radius, earth_radius)) "distance, km" else "distance, in units of the radius")
}

# Inputs whose ranges differ by a factor of ten or more are taken to have different units.
distances_between <- function(x, names) {
  spans <- spans_of(x)
  if (max(spans) > 10 * min(spans) && length(spans) == length(names)) mixed_units(names) else list(label = "distance")
}

mixed_units <- function(names) {
  last <- length(names)
  listed <- paste(toString(names[-last]), "and", names[last])
  list(label = paste("distance of", listed, "together, each in its unit"),
       note = paste0("distances are of ", listed, " together, each in its unit; variogram() of a formula with some of ",
                     "them, and `subset`, has these alone"))
}

fit_curves <- function(fit, most, directions, n) {
  D <- ncol(fit$data$x)
  axes <- if (is.null(directions)) aniso_directions(fit)
  units <- if (!is.null(directions)) t(vapply(directions$alpha, direction_of, numeric(2))) else axes %or% diag(D)
  labels <- if (!is.null(directions)) format(directions$alpha, trim = TRUE)
            else rownames(axes) %or% colnames(fit$x) %or% seq_len(D)
  h <- seq(0, most, length.out = n)
  # A nonstationary covariance differs between these two corners.
  covariances <- lapply(list(apply(fit$data$x, 2, min), apply(fit$data$x, 2, max)), function(corner) {
    vapply(seq_len(nrow(units)), function(k) {
      as.vector(as.matrix(process_cross(fit, outer(h, units[k, ]) + rep(corner, each = n), t(corner))))
    }, h)
  })
  unit <- max(abs(covariances[[1]]))
  if (!isTRUE(max(abs(covariances[[1]] - covariances[[2]])) <= 1e-6 * unit)) return(NULL)
  beside <- fit$nugget + group_spread(fit$data)  # variance between levels of groups is included
  gamma <- beside + rep(covariances[[1]][1, ], each = n) - covariances[[1]]
  # Equal curves are drawn once.
  first <- vapply(seq_len(ncol(gamma)), function(k) {
    which(apply(abs(gamma - gamma[, k]), 2, max) <= 1e-8 * unit)[1]
  }, 1L)
  if (all(first == 1)) return(data.frame(x = h, y = gamma[, 1]))
  some <- unique(first)
  labels <- vapply(some, function(k) toString(labels[first == k]), "")
  data.frame(x = rep(h, length(some)), y = as.vector(gamma[, some]), group = factor(rep(labels, each = n), labels))
}

# --- print and pictures -------------------------------------------------------------------------------------

#' @rdname variogram
#' @export
print.kernweave_variogram <- function(x, digits = 4, ...) {
  about <- attr(x, "about")
  if (!is.null(about)) {
    large <- function(n) format(n, big.mark = ",")
    say(if (about$cressie) "Robust variogram, " else "Variogram, ",
        if (!is.null(about$formula)) paste0(deparse1(about$formula), ", "), "trend ",
        sub("^~", "~ ", deparse1(about$trend)), "\n  ", large(about$n), " points, ",
        if (about$rows == about$n) "all pairs" else paste0(
          "pairs among ", large(about$rows), " of them, half at random, half their nearest neighbours"), "\n")
    cat(left_out_text(about$na.action))
  }
  parameters <- about$fitted$parameters
  if (!is.null(parameters)) {
    say("  fitted: ", paste(names(parameters), vapply(parameters, format, "", digits = digits), collapse = ", "),
        if (is.null(about$fitted$curve)) "; no curve, as the kernel depends on places", "\n")
  }
  if (!is.null(about$distances$note)) cat(strwrap(about$distances$note, 80, indent = 2, exdent = 4), sep = "\n")
  table <- as.data.frame(x)
  if (is.null(about$directions) && all(table$dir.hor == 0)) table$dir.hor <- NULL
  print(table[setdiff(names(table), c("dir.ver", "id"))], digits = digits, row.names = FALSE)
  invisible(x)
}

#' @export
as.data.frame.kernweave_variogram <- function(x, ...) {
  structure(unclass(x)[names(x)], row.names = attr(x, "row.names"), class = "data.frame")
}

#' @rdname variogram
#' @export
plot.kernweave_variogram <- function(x, ...) drawn(x, plot_data(x), ...)

# A curve far above the points ends at twice their height, so that the points stay visible.
#' @export
plot_data.kernweave_variogram <- function(object, ...) {
  fitted <- attr(object, "about")$fitted
  points <- data.frame(x = object$dist, y = object$gamma, size = object$np)
  several <- length(unique(object$dir.hor)) > 1
  if (several) points$group <- factor(object$dir.hor, unique(object$dir.hor))
  curve <- fitted$curve
  if (!is.null(curve)) curve$y[curve$y > 2 * max(points$y)] <- NA
  scales <- fitted$parameters[grepl("scale", names(fitted$parameters))]
  scales <- scales[scales <= max(curve$x, 0)]
  upright <- data.frame(x = unname(scales))
  if (!several && !is.null(curve$group)) upright$group <- group_of_scale(names(scales), curve$group)
  picture(attr(object, "about")$distances$label %or% "distance", "semivariance",
          origin = data.frame(x = 0, y = 0), points = points, curve = curve,
          across = if (!is.null(curve)) data.frame(y = fitted$nugget), upright = if (length(scales)) upright,
          glab = if (several) "direction" else if (!is.null(curve$group)) "curve along")
}

# Returns the curve to which a scale such as `scale.x` belongs, also for the inputs "x, y".
group_of_scale <- function(names, group) {
  inputs <- sub("^scale[.]?", "", names)
  of <- lapply(strsplit(levels(group), ", ", fixed = TRUE), function(listed) inputs %in% listed)
  factor(vapply(seq_along(inputs), function(k) which(vapply(of, `[`, NA, k))[1], 1L), seq_along(of), levels(group))
}

#' @rdname variogram
#' @export
lines.kernweave_variogram <- function(x, ...) {
  curve <- attr(x, "about")$fitted$curve
  if (is.null(curve)) abort("unsupported", "lines() draws the curve of a fit, and this variogram has none")
  painters$curve(curve, ...)
  invisible(x)
}

#' @rdname variogram
#' @param which for `lines()` of a [gp_fit()]: `"fit"`, the fitted function of one input, or `"variogram"`, the curve of
#'   its covariance up to the right end of the plot
#' @param n number of points at which `lines()` computes the curve of the covariance
#' @export
lines.gp_fit <- function(x, which = if (ncol(x$data$x) == 1) "fit" else "variogram", n = 200, ...) {
  which <- choice_of(which[1], c("fit", "variogram"), "which")
  refuse_responses(x, "lines()", "lines(x, predict(fit, newdata)[, 1]) draws the first")
  if (which == "fit") return(lines.kernweave_fit(x, ...))
  curve <- fit_curves(x, graphics::par("usr")[2], NULL, check_count(n, "n", least = 2))
  if (is.null(curve)) abort("unsupported", "lines() draws curves of distances, and this kernel depends on places")
  painters$curve(curve, ...)
  invisible(x)
}
