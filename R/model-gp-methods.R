# Methods of Gaussian process fits: parameters with intervals, likelihoods, residuals, print.

#' Methods for Gaussian process fits
#'
#' Base R's methods for fits by [gp_fit()]: predictions with standard errors, simulation, confidence intervals,
#' likelihoods and residuals.
#'
#' `df.residual()` is the number of rows minus the number of all estimated parameters, as in `lme4::lmer()`; for a
#' linear model it is that of [lm()].
#'
#' The covariance parameters are positive and are estimated on the log scale: `vcov(which = "covariance")` is the
#' covariance matrix of their logarithms, and confidence intervals are computed on the log scale and transformed back.
#' The `angle` of a kernel with `aniso = TRUE` has no logarithm: its variance and interval are in degrees.
#'
#' @section Standard errors of predictions:
#' `method = "exact"` solves one linear system per prediction point. `"auto"` does the same where it is fast: if the
#' covariance matrix was factored, or if products are exact and there are at most 20 000 rows. Otherwise (if products
#' are approximated, the default from 5000 rows on in one or two dimensions, or beyond 20 000 rows) `"auto"` computes
#' the variance of the process at a point given only the `neighbours` observations nearest to the point, in the distance
#' of the kernel (for a sum or product, of its first kernel). The mean still uses all data, and the uncertainty of the
#' trend is exact. Kernels without a distance, such as the linear kernel, always have exact standard errors.
#'
#' Conditioning on fewer data never lowers a variance, so these standard errors are never too small. Once per fit and
#' number of neighbours they are checked against exact standard errors (all observations, products of the fit) at 16
#' points: eight between an observation and a near neighbour, eight between two random observations. The check takes as
#' long as a step of the fit. The default is 60 neighbours; if a standard error is more than 1.1 times the exact one,
#' the number is doubled, up to 480. A number that you give is kept. If a standard error is still more than 1.1 times
#' the exact one, there is a warning of class `kernweave_warning_approximate`: most likely for a smooth process with
#' much noise and very many rows. `simulate()` solves one system per draw with the products of the fit, whatever the
#' number of points: `apply(simulate(fit, 100, newdata = map), 1, sd)` gives the standard errors to within 7 %.
#'
#' The list that `predict(se.fit = TRUE)` returns has an attribute `local`: the number of `neighbours`, and the mean and
#' the largest `ratio` of standard errors from neighbours to exact standard errors.
#'
#' `method = "local"` is local kriging: mean, standard error and trend come from the neighbours alone, as with `nmax` of
#' `gstat::krige()`, and are not checked. It needs no linear system of all data, but its mean uses fewer data.
#'
#' @section Blocks:
#' With `block`, `predict()` returns means over blocks (block kriging) by quadrature. Blocks are rectangles about
#' `newdata`, with 4 Gauss-Legendre nodes along each side, as in gstat; sets of nodes of equal weight, whose offsets are
#' the rows of a matrix; or polygons, with about 256 grid nodes in each. Covariances and the regressors of the trend are
#' averaged over the nodes. A block mean does not include the noise. Sides and offsets are in the units of the inputs.
#'
#' @section Rasters:
#' `newdata` may be a raster: a `SpatRaster` of the terra package, or an object of the stars package with two
#' dimensions. The coordinates of the cell centres are the two variables of the fit that are not layers, x before y
#' (unless they are called `lat` and `long`, or `y` and `x`). Layers are the other variables, by name. For a fit to
#' points of the sf package, the raster must be in the same coordinate system. `predict()` returns a raster of the same
#' grid with the layers `fit` and `se.fit`, or `fit`, `lwr` and `upr`; `simulate()` returns a layer for each draw. A
#' cell is missing in the result if a layer of the fit is missing there; if the fit uses no layer, if all layers are
#' missing. With `block = terra::res(newdata)` predictions are means over cells.
#'
#' `terra::interpolate(raster, fit, xyNames = c("long", "lat"))` returns the same `fit`, for rasters without layers or
#' with layers that are covariates; it takes large rasters from files in blocks of rows.
#'
#' @section Responses that are not normal:
#' See [gp_fit-families] for the types `"link"`, `"response"`, `"mean"`, `"prob"` and `"class"`, for prediction
#' intervals and for residuals.
#'
#' @param object,x a fit by [gp_fit()]
#' @param newdata new points, with the variables of the trend, or a raster, see below; by default the data of the fit
#' @param se.fit return standard errors?
#' @param interval,level interval and its level: `"none"` (the default), `"confidence"` for the process, or
#'   `"prediction"` for an observation of weight 1, which adds the nugget
#' @param type for `predict()`: trend plus process, or the `"trend"` alone; with a `family` also `"link"` and `"mean"`,
#'   and `"prob"` and `"class"` of classes and ordered levels, see [gp_fit-families]. For
#'   `residuals()`: observed minus fitted values, `"pearson"` residuals (divided by the standard deviation of the
#'   noise), or `"loo"`, observed values minus their predictions from all other observations with the covariance
#'   parameters fixed, see [rstandard.gp_fit()]; with a `family` also `"deviance"` and `"working"`, as for [glm()], and
#'   `"quantile"`, randomised quantile residuals (Dunn and Smyth 1996): the normal quantile of the distribution function
#'   at the observed value y. For counts its argument is drawn uniformly between P(Y < y) and P(Y <= y). If the model is
#'   true, the residuals are standard normal, apart from the influence of each observation on the fit
#' @param method for `predict()`: the method for standard errors, see below; for `confint()`: `"wald"`, by standard
#'   errors, or `"profile"`, by [profile()][profile.gp_fit()]
#' @param neighbours number of nearest observations for standard errors and, with `method = "local"`, for means; `NULL`
#'   (the default) is as many as the check described below needs, or 60 with `method = "local"`
#' @param se_tol for `logLik()` beyond `dense_n` rows: probes are doubled until the standard error is below `se_tol`
#' @param block lengths of the sides of blocks: one for each input, matched by name if they have names, or one for all;
#'   or a matrix of offsets; or `list(polygons = )`, of the sf, terra or sp packages, without `newdata`
#' @param re.form for fits with grouped effects: `NULL` (the default) for all of them, `NA` or `~ 0` for none, or a
#'   formula of those that predictions include, such as `~ (1 | site)`
#' @param allow.new.levels may `newdata` have levels of grouping factors that the data do not have? The effects of a new
#'   level have mean 0, and their variance is part of the standard error
#' @param nsim,seed as in [stats::simulate()]; for `residuals(type = "quantile")` the seed of the random numbers
#' @param conditional draw from the posterior (given the data), or from the prior?
#' @param noise draw observations, with noise, or the process without noise? By default `!conditional`
#' @param which `"trend"` for the coefficients of the trend, or `"covariance"` for the covariance parameters; for
#'   `plot()` `"fit"`, its standard error `"se"`, the `"variogram"` of the residuals of the trend with the curve of the
#'   fit, or numbers from 1 to 6, see [plot_fit]
#' @param parm names or numbers of parameters; by default all of them
#' @param digits significant digits
#' @param n for `plot()` with one or two inputs: grid points along each input. `simulate()` has no `n`, but `nsim`. If
#'   exact standard errors take long, a plot shows those from 60 neighbours, or from more if `predict()` has used more;
#'   these are at least as large
#' @param whole for `plot()` with two inputs: draw the whole rectangle, or only what is near the data? See
#'   [autoplot-fits]
#' @param at for `plot()`: a list of values of inputs and covariates, as in `list(depth = 2)`. The map or curve is drawn
#'   for the other inputs, at these values, with the points that have these values or near ones. Covariates of the trend
#'   that are not inputs need a value
#' @param ... not used; for `plot()`: more arguments of [graphics::plot()]; on a map, `col` are the colours of the
#'   surface, `zlim` the numbers at their ends, by default those in sight, and `pch` and `cex` are for the points, with
#'   `pch = NA` for none
#' @return `predict()`: numbers; with an interval a matrix with columns `fit`, `lwr` and `upr`; with `se.fit` a list
#'   like that of [stats::predict.lm()], with the attribute `local` if standard errors come from neighbours.
#'   `simulate()`: a data frame of class `kernweave_draws` with one column per draw, which `as_draws()` of the posterior
#'   package turns into draws of the variables `sim[1]`, `sim[2]`, ..., one for each row. With a raster as `newdata`, a
#'   raster.
#' @seealso [gp_fit()]
#' @concept kriging prediction and standard error
#' @concept posterior mean and variance
#' @concept local kriging
#' @concept block kriging
#' @concept conditional simulation
#' @concept leave-one-out residuals
#' @concept confidence intervals of covariance parameters
#' @name gp_fit-methods
#' @examplesIf requireNamespace("MASS", quietly = TRUE)
#' fit <- gp_fit(accel ~ times, MASS::mcycle, method = "ML")
#' confint(fit)
#' AIC(fit, update(fit, kernel = "gaussian"))
#' head(residuals(fit, "loo"))
#' at <- data.frame(times = seq(5, 55, by = 10))
#' predict(fit, at, se.fit = TRUE)$se.fit
#' predict(fit, at, se.fit = TRUE, method = "local", neighbours = 30)$se.fit
#' simulate(fit, nsim = 2, seed = 1, newdata = at)
NULL

#' @rdname gp_fit-methods
#' @export
coef.gp_fit <- function(object, which = c("trend", "covariance"), ...) {
  refuse_more(...)
  which <- choice_of(which[1], c("trend", "covariance"), "which")
  if (which == "trend") object$coefficients else covariance_parameters(object)
}

#' @rdname gp_fit-methods
#' @export
vcov.gp_fit <- function(object, which = c("trend", "covariance"), ...) {
  refuse_more(...)
  which <- choice_of(which[1], c("trend", "covariance"), "which")
  if (which == "trend") return(object$vcov)
  told_covariances(layout_covariances(object), object$data$values)
}

# Computes the covariances of the estimates, on the scale of their links.
layout_covariances <- function(object) {
  information <- object$information
  if (is.null(information)) return(matrix(0, 0, 0))
  out <- information
  out[] <- NA_real_
  unit <- sqrt(diag(information))
  fixed <- c(object$at_bound, intersect("scale", object$confounded))
  inner <- setdiff(colnames(information)[unit > 0], fixed)
  by <- outer(unit[inner], unit[inner])
  if (length(inner)) {
    own <- information[inner, inner, drop = FALSE] / by
    out[inner, inner] <- tryCatch(solve(own) / by, error = function(e) NA_real_)
  }
  told <- !colnames(out) %in% object$confounded
  replace(out, !outer(told, told), NA)
}

#' @rdname gp_fit-methods
#' @export
confint.gp_fit <- function(object, parm, level = 0.95, method = c("wald", "profile"), ...) {
  refuse_more(...)
  check_level(level)
  if (choice_of(method[1], c("wald", "profile"), "method") == "profile") {
    return(confint(profile(object, if (!missing(parm)) parm, min(0.01, 1 - level)), level = level))
  }
  z <- stats::qnorm((1 + level) / 2)
  V <- vcov(object, "covariance")
  estimates <- covariance_parameters(object)[colnames(V)]
  half <- z * sqrt(ifelse(diag(V) < 0, NA, diag(V)))
  beta <- object$coefficients
  wide <- stats::qt((1 + level) / 2, trend_freedom(object)) * sqrt(diag(object$vcov))
  links <- told_links(object)
  inner <- cbind(out_of_link(in_link(estimates, links) - half, links),
                 out_of_link(in_link(estimates, links) + half, links))
  short <- is_turning(object$data$values) & names(estimates) == "ratio"
  inner[short, 2] <- pmin(inner[short, 2], 1)
  out <- rbind(inner, cbind(beta - wide, beta + wide))
  ends <- c(1 - level, 1 + level) / 2
  dimnames(out) <- list(c(names(estimates), names(beta)), paste(format(100 * ends, trim = TRUE, digits = 3), "%"))
  if (missing(parm)) return(out)
  check_parm(parm)
  unknown <- setdiff(parm, if (is.character(parm)) rownames(out) else c(seq_len(nrow(out)), -seq_len(nrow(out))))
  if (length(unknown)) {
    abort("input", "there is no parameter `", unknown[1], "`",
          near_hint(as.character(unknown[1]), rownames(out), there_are(rownames(out))))
  }
  out[parm, , drop = FALSE]
}

#' @rdname gp_fit-methods
#' @export
logLik.gp_fit <- function(object, se_tol = NULL, ...) {
  refuse_more(...)
  if (!is.null(se_tol)) se_tol <- positive_number(se_tol, "se_tol")
  model <- object$data
  found <- object$log_likelihood
  if (is.null(found) || isTRUE(found$se > se_tol)) {
    system <- kept_system(object)
    found <- gp_value(model, system, gp_weights(model, system),
                      system_logdet(system, if (!is.null(se_tol)) 2 * se_tol))
  }
  structure(found$value, nall = length(model$y), nobs = gp_rows(model), df = length(coef(object)) + nrow(model$layout),
            std.error = found$se, class = c(if (found$se > 0) "gp_logLik", "logLik"))
}

#' @export
print.gp_logLik <- function(x, digits = getOption("digits"), ...) {
  se <- attr(x, "std.error")
  say("logLik ", format(as.numeric(x), nsmall = 1, digits = digits),
      if (se > 0) paste0(" (se ", format(se, digits = 2), ")"), " on ", attr(x, "df"), " df\n")
  invisible(x)
}

#' @rdname gp_fit-methods
#' @importFrom stats df.residual
#' @export
df.residual.gp_fit <- function(object, ...) {
  freedom <- trend_freedom(object)
  if (is.finite(freedom)) freedom else length(object$data$y) - length(coef(object)) - nrow(object$data$layout)
}

# Tells whether the kernels of a sum have one estimated variance.
shares_variance <- function(fit) {
  known <- vapply(leaf_parts(fit$data$kernel), function(part) is.numeric(part$parameters$variance), NA)
  identical(kernel_parts(fit$data$kernel)$op, "+") && all(known) && "variance" %in% free_parts(fit)
}

# Returns the degrees of freedom of tests of the trend: as in lm() for a linear model, otherwise Inf.
trend_freedom <- function(fit) if (identical(fit$method, "REML")) linear_freedom(fit) else Inf

# Returns the residual degrees of freedom of a linear model with an estimated variance; Inf for other models.
linear_freedom <- function(fit) {
  linear <- is.null(fit$family) && is.null(fit$data$unit) && isTRUE(fit$variance == 0) && !length(fit$data$groups)
  if (linear && "nugget" %in% fit$data$layout$part) fit$estimated_on - length(coef(fit)) else Inf
}

#' @rdname gp_fit-methods
#' @param fit,scale,k as in [stats::extractAIC()]; the AIC is that of the fit by maximum likelihood
#' @importFrom stats extractAIC
#' @export
extractAIC.gp_fit <- function(fit, scale = 0, k = 2, ...) {
  value <- logLik(by_likelihood(fit, "extractAIC()"))
  df <- attr(value, "df")
  c(df, k * df - 2 * as.numeric(value))
}

#' @rdname gp_fit-methods
#' @export
residuals.gp_fit <- function(object, type = c("response", "pearson", "loo", "quantile"), seed = 1, ...) {
  refuse_more(...)
  if (!is.null(object$family)) return(family_residuals(object, type, seed))
  type <- choice_of(type[1], c("response", "pearson", "loo", "quantile"), "type")
  left <- object$residuals
  if (type %in% c("pearson", "quantile")) {
    if (object$nugget == 0) abort("unsupported", "without a nugget there is no noise to divide residuals by")
    left <- left / sqrt(object$nugget / (object$weights %or% 1))
  }
  if (type == "loo") return(loo_residuals(object))
  stats::naresid(object$na.action, left)
}

# --- print --------------------------------------------------------------------------------------------------

#' @rdname gp_fit-methods
#' @export
print.gp_fit <- function(x, digits = 4, ...) {
  print_gp_title(x)
  print(parameter_table(x, digits), quote = FALSE, right = TRUE)
  beta <- coef(x)
  if (length(beta)) {
    each <- paste0(names(beta), " ", vapply(beta, format, "", digits = digits), " (se ",
                   vapply(sqrt(diag(x$vcov)), format, "", digits = digits), ")")
    each <- paste0(each, rep(c(",", ""), c(length(each) - 1, 1)))
    lines <- trimws(utils::capture.output(cat("trend:", each, fill = getOption("width") - 2)), "right")
    writeLines(paste0(ifelse(seq_along(lines) > 1, "  ", ""), lines))
  }
  if (!is.null(x$log_likelihood)) print.gp_logLik(logLik(x), digits)
  invisible(x)
}

print_gp_title <- function(x) {
  model <- x$data
  n <- length(model$y)
  parts <- kernel_parts(x$kernel)
  kernel <- if (is.null(parts$op)) paste0(parts$title, places_text(parts)) else format(x$kernel)
  title <- if (model$values$variance > 0) paste0("Gaussian process, ", kernel)
           else if (is.null(x$family)) paste0("Linear ", if (length(model$groups)) "mixed ", "model")
           else paste0("Generalized linear ", if (length(model$groups)) "mixed ", "model")
  say(title, ", ", family_text(x), x$method, ", ", rows_text(x), ", ",
      if (!is.null(model$panel)) paste("a panel of", paste(dim(model$panel$at), collapse = " x "))
      else how_solved(n, model$control))
  say("  ", if (is.null(x$formula)) counted(ncol(x$x), "input") else deparse1(x$formula), ", trend ", trend_text(x))
  if (x$estimated_on < n && nrow(model$layout)) {
    say("  covariance estimated on ", format(x$estimated_on, big.mark = ","), " of the points")
  }
  if (isTRUE(any(x$chosen$worse >= 0.05))) say("  ", choice_text(x$chosen))
  if (scales_of(x$chosen_scales) != "one") say("  ", scales_text(x$chosen_scales))
  else if (is_standardized(model)) say("  inputs are standardized")
  if (shares_variance(x)) say("  kernels of a sum share one variance; kernel_spec(variance = NULL) gives each its own")
  bounds <- given_ends(model)
  if (is_turning(model$values)) names(bounds) <- sub("^scale$", "mean of both scales", names(bounds))
  if (length(bounds)) say("  bounds given: ", paste(names(bounds), vapply(bounds, ends_text, ""), collapse = ", "))
  say(groups_text(model$groups), left_out_text(x$na.action))
}

# Returns the bounds given in kernel_spec() and fit_control(), by name of the parameter.
given_ends <- function(model) {
  own <- kernel_ends(kernel_parts(model$kernel))
  named <- function(bound) if (is.null(names(bound)) && length(bound)) list(scale = bound) else as.list(bound)
  lower <- named(model$control$lower)
  upper <- named(model$control$upper)
  ends <- function(name) list(lower[[name]] %or% 0, upper[[name]] %or% Inf)
  c(own[names(own) %in% model$layout$name], lapply(stats::setNames(nm = union(names(lower), names(upper))), ends))
}

# "155 points", or "233 numbers of 2 responses".
rows_text <- function(x) {
  responses <- length(x$data$unit)
  if (!responses) return(count_text(length(x$data$y), "point"))
  paste(count_text(length(x$data$y), "number"), "of", counted(responses, "response"))
}

parameter_table <- function(x, digits) {
  found <- covariance_parameters(x)
  table <- matrix("", length(found), 3, dimnames = list(names(found), c("estimate", "2.5 %", "97.5 %")))
  table[, 1] <- vapply(found, format, "", digits = digits)
  free <- intersect(names(found), told_labels(colnames(x$information)))
  table[setdiff(names(found), free), 2] <- "given"
  bounded <- c(told_labels(x$at_bound), if (any(grepl("^turn[.]", x$at_bound))) c("scale", "ratio", "angle"))
  table[intersect(free, bounded), 2] <- "at its bound"
  inner <- setdiff(free, bounded)
  ends <- confint(x)[inner, , drop = FALSE]
  for (row in inner) table[row, 2:3] <- vapply(ends[row, ], format, "", digits = digits - 1)
  ones <- names(found) != "variance" & is_one_of(names(found), "variance") & found == 1 & !names(found) %in% free
  table[!ones, , drop = FALSE]  # leaves out a variance of 1 of a part of a kernel
}

#' @rdname gp_fit-methods
#' @export
summary.gp_fit <- function(object, ...) {
  beta <- coef(object)
  se <- sqrt(diag(object$vcov))
  freedom <- trend_freedom(object)
  table <- cbind(beta, se, beta / se, 2 * stats::pt(-abs(beta / se), freedom))
  letter <- if (is.finite(freedom)) "t" else "z"
  dimnames(table) <- list(names(beta),
                          c("Estimate", "Std. Error", paste(letter, "value"), sprintf("Pr(>|%s|)", letter)))
  value <- logLik(object)
  structure(list(fit = object, coefficients = table, residuals = quantiles_of(object$residuals), logLik = value,
                 AIC = stats::AIC(value), BIC = stats::BIC(value)), class = "summary.gp_fit")
}

quantiles_of <- function(left) {
  of <- function(v) stats::setNames(stats::quantile(v, na.rm = TRUE), c("Min", "1Q", "Median", "3Q", "Max"))
  if (is.matrix(left)) t(apply(left, 2, of)) else of(left)
}

#' @rdname gp_fit-methods
#' @export
print.summary.gp_fit <- function(x, digits = 4, ...) {
  fit <- x$fit
  print_gp_title(fit)
  cat("\nCovariance:\n")
  print(parameter_table(fit, digits), quote = FALSE, right = TRUE)
  if (nrow(x$coefficients)) {
    cat("\nTrend:\n")
    stats::printCoefmat(x$coefficients, digits = digits, signif.stars = FALSE)
  }
  cat("\nResiduals:\n")
  print(x$residuals, digits = digits)
  cat("\n")
  print.gp_logLik(x$logLik, digits)
  say("AIC ", format(x$AIC, digits = digits + 2), ", BIC ", format(x$BIC, digits = digits + 2), "; ",
      counted(fit$convergence$iterations, "step"), " in ", format(fit$convergence$seconds, digits = 2), " s\n")
  invisible(x)
}
