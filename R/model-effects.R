# Average marginal effects of a kernel ridge regression, with standard errors.

#' Average marginal effects
#'
#' Computes the effect of each input on the fitted response of a [kernel_ridge()]: the derivative at each point, and the
#' mean of the derivatives with a standard error. Use it to interpret the fit like the slopes of a linear regression.
#'
#' For a factor, a logical or a column with two values, the effect is the mean difference between the fits with a given
#' level and with the first level, all other inputs unchanged.
#'
#' Each mean effect is a linear function `w' alpha` of the weights `alpha`, so its standard error is `sigma` times the
#' length of `(K + lambda)^-1 w`. This takes one linear system per effect instead of a covariance matrix; all systems
#' are solved together. For a column with two values, the standard error of `KRLS` is `sqrt(2)` times as large.
#'
#' `plot()` shows all effects in the unit of the response: derivatives are multiplied by the standard deviation of their
#' input, differences are shown as they are.
#'
#' @param object a fit by [kernel_ridge()], with one response
#' @param variables names of inputs; `NULL` (the default) for all
#' @param newdata points over which effects are averaged; by default the points of the fit, with its weights
#' @param se.fit compute standard errors and tests?
#' @param level confidence level of `conf.low` and `conf.high`
#' @param type for a fit with a `family`: `"link"` for effects on the linear predictor, `"response"` for effects on the
#'   mean: a derivative times the slope of the inverse link at each point, or a difference of two means. Standard errors
#'   take this slope as known
#' @return A data frame of class `marginal_effects`: `term`, `contrast`, `estimate`, `std.error`, `statistic`,
#'   `p.value`, `conf.low`, `conf.high`, and the quartiles of the pointwise effects, `q25`, `q50`, `q75`. The attribute
#'   `pointwise` has the effect at each point, one column per row of the data frame; the attribute `width` has the
#'   factors by which `plot()` multiplies.
#' @seealso [kernel_ridge()]
#' @concept partial derivatives
#' @concept average partial effects
#' @concept variable importance
#' @concept interpretation of a nonlinear regression
#' @export
#' @examples
#' fit <- kernel_ridge(mpg ~ wt + hp + factor(cyl) + am, mtcars)
#' found <- marginal_effects(fit)
#' found
#' confint(found, level = 0.9)
#' plot(found)
#' # the effect of weight, car by car
#' head(attr(found, "pointwise")[, "wt"])
marginal_effects <- function(object, variables = NULL, newdata = NULL, se.fit = TRUE, level = 0.95,
                             type = c("link", "response")) {
  if (!inherits(object, "kernel_ridge")) {
    abort("input", "`object` must be what kernel_ridge() returned, not ", describe(object))
  }
  if (ncol(object$data$y) > 1) abort("unsupported", "effects are those of one response, not of ", ncol(object$data$y))
  if (length(object$units$x$rule$pair)) {
    abort("unsupported", "effects of places on a sphere are not defined: a degree of longitude has no length of its ",
          "own")
  }
  check_flag(se.fit, "se.fit")
  scale <- if (choice_of(type[1], c("link", "response"), "type") == "response") object$family
  wanted <- effect_rows(object)
  if (!is.null(variables)) wanted <- wanted[wanted$term %in% known_terms(variables, wanted$term), , drop = FALSE]
  places <- effect_places(object, newdata)
  found <- lapply(seq_len(nrow(wanted)), function(k) contrast_effect(object, places, wanted, k, scale))
  slopes <- which(!nzchar(wanted$high))
  if (length(slopes)) found[slopes] <- slope_effects(object, places, wanted$column[slopes], scale)
  pointwise <- vapply(found, `[[`, numeric(nrow(places$x)), "at")
  pointwise <- matrix(pointwise, nrow(places$x), dimnames = list(places$names, wanted$label))
  out <- data.frame(term = wanted$term, contrast = wanted$contrast, estimate = colSums(places$w * pointwise))
  if (se.fit) {
    w <- vapply(found, `[[`, numeric(nrow(object$data$x)), "w")
    out <- with_tests(out, object, w, level, vapply(found, function(one) one$intercept %or% 0, 0))
  }
  out[c("q25", "q50", "q75")] <- t(apply(pointwise, 2, stats::quantile, c(0.25, 0.5, 0.75)))
  rownames(out) <- wanted$label
  # The width of an effect in the plot: the sd of the input for a slope, 1 for a contrast.
  widths <- apply(unname(strip_term(object$x)), 2, stats::sd)
  widths <- stats::setNames(ifelse(nzchar(wanted$high), 1, widths[wanted$column]), wanted$label)
  structure(out, pointwise = pointwise, n = nrow(places$x), width = widths,
            class = c("marginal_effects", "data.frame"))
}

known_terms <- function(variables, terms) {
  unknown <- setdiff(variables, terms)
  if (length(unknown)) {
    abort("input", "there is no input `", unknown[1], "`", near_hint(unknown[1], terms, there_are(unique(terms))))
  }
  variables
}

# A row for each effect: its column and, for a contrast of levels, `base`, the column of the first level. `high`: the
# kind of a contrast, "level" or "value" (of a column with two values); "" for a slope.
effect_rows <- function(fit) {
  term <- attr(fit$x, "term")
  names <- colnames(fit$x) %or% fit$term.names
  rows <- lapply(unique(term), function(one) {
    columns <- which(term == one)
    label <- fit$term.names[one]
    levels <- fit$xlevels[[label]]
    if (!is.null(levels)) return(level_rows(label, columns, names, levels))
    do.call(rbind, lapply(columns, function(column) {
      value_rows(if (length(columns) > 1) names[column] else label, column, unname(fit$x[, column]))
    }))
  })
  do.call(rbind, rows)
}

# Matches columns, named by variable and level, to levels; a level without rows has no column.
level_rows <- function(label, columns, names, levels) {
  levels <- vapply(names[columns], function(one) {
    fits <- levels[endsWith(one, levels)]
    fits[which.max(nchar(fits))]
  }, "", USE.NAMES = FALSE)
  data.frame(term = label, contrast = paste(levels[-1], "-", levels[1]), column = columns[-1], base = columns[1],
             high = "level", label = paste0(label, levels[-1]))
}

value_rows <- function(label, column, values) {
  two <- sort(unique(values))
  if (length(two) != 2) {
    return(data.frame(term = label, contrast = "dy/dx", column = column, base = NA, high = "", label = label))
  }
  data.frame(term = label, contrast = paste(format(two[2]), "-", format(two[1])), column = column, base = NA,
             high = "value", label = label)
}

# Returns the points over which effects are averaged, in units of the fit, and their weights.
effect_places <- function(fit, newdata) {
  x <- if (is.null(newdata)) fit$x else new_points(fit, newdata)
  w <- if (is.null(newdata)) fit$weights
  known <- stats::complete.cases(strip_term(x))
  w <- (w %or% rep(1, nrow(x)))[known]
  if (!sum(w) > 0) abort("data", "`newdata` has no complete row")
  raw <- unname(strip_term(x)[known, , drop = FALSE])
  list(raw = raw, x = scaled_columns(raw, fit$units$x), w = w / sum(w), names = rownames(x)[known])
}

# Derivatives with respect to columns at each place (`at`), and the weights of alpha in their mean (`w`).
slope_effects <- function(fit, places, columns, scale = NULL) {
  unit <- fit$units$y$width / fit$units$x$width
  P <- Vi(places$x)
  slopes <- lazy_gradient(kernel_pairs(fit$kernel, P, fit$data$x), P)
  by <- if (is.null(scale)) 1 else scale$mu.eta(ridge_values(fit, places$x)[, 1])
  at <- by * fit_sums(slopes, fit$alpha, "j", fit$control)
  w <- fit_sums(slopes, by * places$w, "i", fit$control)
  lapply(columns, function(d) list(at = at[, d] * unit[d], w = w[, d] * unit[d]))
}

contrast_effect <- function(fit, places, wanted, k, scale = NULL) {
  if (!nzchar(wanted$high[k])) return(NULL)
  ends <- lapply(contrast_ends(fit, places$raw, wanted[k, ]), scaled_columns, fit$units$x)
  pairs <- lapply(ends, function(x) fit_products(kernel_pairs(fit$kernel, x, fit$data$x), fit$control))
  unit <- fit$units$y$width
  values <- lapply(pairs, function(K) as.vector(K %*% fit$alpha))
  if (!is.null(scale)) {
    e <- lapply(values, `+`, fit$units$y$centre)
    values <- lapply(e, scale$linkinv)
    slopes <- lapply(e, scale$mu.eta)
  }
  by <- if (is.null(scale)) list(high = places$w, low = places$w) else lapply(slopes, `*`, places$w)
  w <- as.vector(t(pairs$high) %*% by$high) - as.vector(t(pairs$low) %*% by$low)
  list(at = (values$high - values$low) * unit, w = w * unit, intercept = sum(by$high) - sum(by$low))
}

# Returns the rows with one level, or value, of a contrast (`high`) and with the other (`low`).
contrast_ends <- function(fit, raw, row) {
  high <- low <- raw
  if (row$high == "value") {
    low[, row$column] <- min(fit$x[, row$column])
    high[, row$column] <- max(fit$x[, row$column])
  } else {
    term <- attr(fit$x, "term")
    high[, term == term[row$column]] <- low[, term == term[row$column]] <- 0
    high[, row$column] <- low[, row$base] <- 1 / sqrt(2)
  }
  list(high = high, low = low)
}

with_tests <- function(out, fit, w, level, intercept) {
  check_level(level)
  out$std.error <- functional_se(fit, matrix(w, nrow(fit$data$x)), intercept)[, 1] / fit$units$y$width
  out$statistic <- out$estimate / out$std.error
  out$p.value <- 2 * stats::pnorm(-abs(out$statistic))
  half <- stats::qnorm((1 + level) / 2) * out$std.error
  out$conf.low <- out$estimate - half
  out$conf.high <- out$estimate + half
  out
}

#' @rdname marginal_effects
#' @param x,digits,... for methods: an object returned by `marginal_effects()`; significant digits
#' @export
print.marginal_effects <- function(x, digits = 4, ...) {
  if (is.null(attr(x, "n")) || !all(c("contrast", "estimate", "q25", "q50", "q75") %in% names(x))) {
    return(print(as.data.frame(unclass(x)), digits = digits))
  }
  say("Average marginal effects, ", count_text(attr(x, "n"), "point"), "\n")
  labels <- ifelse(x$contrast == "dy/dx", row.names(x), paste(x$term, x$contrast))
  table <- data.frame(estimate = x$estimate, row.names = labels)
  if (!is.null(x$std.error)) {
    table[c("std.error", "z value")] <- x[c("std.error", "statistic")]
    table[["Pr(>|z|)"]] <- format.pval(x$p.value, digits = 2)
  }
  table[c("25%", "50%", "75%")] <- x[c("q25", "q50", "q75")]
  print(table, digits = digits)
  invisible(x)
}

#' @rdname marginal_effects
#' @export
coef.marginal_effects <- function(object, ...) stats::setNames(object$estimate, row.names(object))

#' @rdname marginal_effects
#' @param parm for `confint()`: names or numbers of effects; by default all
#' @importFrom stats confint
#' @export
confint.marginal_effects <- function(object, parm, level = 0.95, ...) {
  refuse_more(...)
  if (is.null(object$std.error)) abort("input", "`se.fit = FALSE` left the standard errors out: there are no intervals")
  check_level(level)
  if (!missing(parm)) check_parm(parm)
  parm <- if (missing(parm)) row.names(object) else if (is.numeric(parm)) row.names(object)[parm] else parm
  at <- match(known_terms(parm, row.names(object)), row.names(object))
  tails <- c((1 - level) / 2, (1 + level) / 2)
  out <- object$estimate[at] + outer(object$std.error[at], stats::qnorm(tails))
  dimnames(out) <- list(parm, paste(format(100 * tails, trim = TRUE, digits = 3), "%"))
  out
}

#' @rdname marginal_effects
#' @export
plot.marginal_effects <- function(x, ...) drawn(x, plot_data(x), ...)

# Plots estimates with intervals, and quartiles of pointwise effects in grey, all in units of the response: a slope is
# multiplied by the sd of its input.
#' @export
plot_data.marginal_effects <- function(object, ...) {
  at <- rev(seq_len(nrow(object)))
  width <- attr(object, "width")
  by <- if (is.null(width)) 1 else unname(width[row.names(object)])
  across <- function(from, to) {
    if (!is.null(object[[from]])) data.frame(x = by * object[[from]], y = at, xend = by * object[[to]], yend = at)
  }
  label <- if (is.null(width)) "effect" else "effect of one standard deviation, or of a contrast"
  picture(label, "", spread = across("q25", "q75"), intervals = across("conf.low", "conf.high"),
          estimates = data.frame(x = by * object$estimate, y = at), upright = data.frame(x = 0),
          ticks = list(y = rev(row.names(object))))
}
