# Methods of Gaussian process fits: parameters with intervals, likelihoods, residuals, print.

#' Methods for Gaussian process fits
#'
#' Base R's methods for what [gp_fit()] returns: predictions with standard errors, simulation, confidence intervals,
#' likelihoods and residuals.
#'
#' `df.residual()` is the number of rows less that of all estimated parameters, as in `lme4::lmer()`.
#'
#' The covariance parameters are positive and are estimated on the log scale: `vcov(which = "covariance")` is the
#' covariance matrix of their logarithms, and confidence intervals are computed on the log scale and transformed back.
#' The `angle` of a kernel with `aniso = TRUE` has no logarithm: its variance and interval are in degrees.
#'
#' @section Standard errors of predictions:
#' `method = "exact"` solves one linear system per place. `"auto"` does that where it is fast: if the covariance matrix
#' was factored, or products are exact and there are at most 20 000 rows. Otherwise, if the fit is by approximated
#' products or has more rows, the variance of the process at a place is that after the `neighbours` observations nearest
#' to it, in the distance of the kernel (for a sum or product, of its first kernel). The mean is still that of all data,
#' and the uncertainty of the trend is exact. Kernels without a distance, as the linear one, keep exact errors.
#'
#' Conditioning on fewer data never lowers a variance: these standard errors are too large, if anything. By how much is
#' checked once per fit and number of neighbours, at 16 places: eight between an observation and one near it, eight
#' between any two, whose variances are found from all observations with the products of the fit. That takes as long as
#' one step of the fit. By default there are 60 neighbours, and if a standard error is more than 1.1 times the exact
#' one, they are doubled, up to 480. A number that you give is taken as it is. If an error is still more than 1.1 times
#' the exact one, there is a warning of class `kernweave_warning_approximate`: most likely for a smooth process with
#' much noise and very many rows. `simulate()` solves one system for each draw, whatever the number of places, by the
#' products of the fit: `apply(simulate(fit, 100, newdata = map), 1, sd)` are the errors to within 7 %.
#'
#' The list that `predict(se.fit = TRUE)` returns has an attribute `local`: the number of `neighbours`, and the mean and
#' the largest `ratio` to exact standard errors.
#'
#' `method = "local"` is local kriging: mean and error are by the neighbours alone, from which the trend is estimated,
#' too, as with `nmax` of `gstat::krige()`. It is not checked. It needs no linear system of all data, but its mean is
#' that of fewer.
#'
#' @section Blocks:
#' With `block`, predictions are of means over blocks (block kriging): rectangles about `newdata`, by 4 nodes of Gauss
#' and Legendre along each side, as in gstat; the nodes whose offsets are the rows of a matrix, all of the same weight;
#' or polygons, by some 64 nodes of a grid in each. Covariances and the regressors of the trend are averaged over the
#' nodes. The noise is not part of such a mean. Sides and offsets are in the units of the inputs.
#'
#' @section Responses that are not normal:
#' `type = "link"` is the linear predictor, whose posterior is taken as normal, and `"response"` its inverse link, with
#' the ends of the link's interval and a standard error by the delta method. `"mean"` is the posterior mean of the
#' inverse link, with its standard deviation: what one expects of the response, larger than `"response"` for counts and
#' nearer to one half for probabilities. For gaussian fits all three are the same. `interval = "prediction"` has
#' quantiles of the response over the posterior of the linear predictor; a binomial response has none. `simulate(noise =
#' TRUE)` draws responses, otherwise their means; binomial responses are 0 or 1, or shares of the trials if these were
#' counts, as `cbind()`. `type = "trend"` is the trend of the linear predictor, on the scale of the link and with the
#' offset. Residuals of type `"loo"` are approximate: the mode without a row is one step from that with it.
#'
#' @param object,x what [gp_fit()] returned
#' @param newdata new places; by default the fit's own
#' @param se.fit return standard errors?
#' @param interval,level `"confidence"` for the process, or `"prediction"` for an observation of weight 1, which adds
#'   the nugget
#' @param type for `predict()`: trend plus process, or the `"trend"` alone; for `"link"` and `"mean"` see below. For
#'   `residuals()`: observed minus fitted values, `"pearson"` residuals (divided by the standard deviation of the
#'   noise), or `"loo"`, observed values minus their prediction from all others with the covariance parameters fixed,
#'   see [rstandard.gp_fit()]; of families also `"deviance"` and `"working"`, as for [glm()]
#' @param method how `predict()` finds standard errors, see below; for `confint()`, by standard errors or by
#'   [profile()][profile.gp_fit()]
#' @param neighbours number of observations nearest to a place, by which standard errors or, with `method = "local"`,
#'   also means are found; `NULL` for as many as an audit asks for, or 60 with `method = "local"`
#' @param se_tol for `logLik()` beyond `dense_n` rows: double the number of probes until the standard error is below it
#' @param block lengths of the sides of blocks, one for each input, matched by name if they have names, or one for all;
#'   a matrix of offsets; or `list(polygons = )`, of the sf package and without `newdata`
#' @param nsim,seed as in [stats::simulate()]
#' @param conditional draw from the posterior (given the data), or from the prior?
#' @param noise draw observations, with noise, or the process without noise?
#' @param which coefficients of the trend, or covariance parameters; for `plot()` the fit, its standard error, the
#'   variogram of the residuals of the trend with the curve of the fit, or numbers from 1 to 6, see [plot_fit]
#' @param parm names or numbers of parameters; by default all of them
#' @param digits significant digits
#' @param n for `plot()` with one or two inputs: grid points along each. `simulate()` has no `n`, but `nsim`
#' @param ... not used; for `plot()`: more arguments of [graphics::plot()]
#' @return `predict()`: numbers; with an interval a matrix with columns `fit`, `lwr` and `upr`; with `se.fit` a list
#'   like that of [stats::predict.lm()], with the attribute `local` where errors are by neighbours. `simulate()`: a data
#'   frame with one column per draw.
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

# All of them, those that were given, too.
covariance_parameters <- function(fit) {
  family <- fit$data$family
  values <- fit$data$values
  values$kernel <- told_kernel(values$kernel)
  kernel <- if (fit$variance > 0) names(values$kernel)
  layout <- gp_layout(values, c("variance", kernel, if (is.null(family)) "nugget"), term_labels(fit))
  if (!is.null(family$phi)) layout <- with_phi(layout, family)
  gp_estimates(values, layout)
}

#' @rdname gp_fit-methods
#' @export
vcov.gp_fit <- function(object, which = c("trend", "covariance"), ...) {
  refuse_more(...)
  which <- choice_of(which[1], c("trend", "covariance"), "which")
  if (which == "trend") return(object$vcov)
  told_covariances(layout_covariances(object), object$data$values)
}

# Computes the covariances of the estimates, in the links of the layout.
layout_covariances <- function(object) {
  information <- object$information
  if (is.null(information)) return(matrix(0, 0, 0))
  out <- information
  out[] <- NA_real_
  unit <- sqrt(diag(information))
  inner <- setdiff(colnames(information)[unit > 0], object$at_bound)
  by <- outer(unit[inner], unit[inner])
  if (length(inner)) {
    own <- information[inner, inner, drop = FALSE] / by
    out[inner, inner] <- tryCatch(solve(own) / by, error = function(e) NA_real_)
  }
  out
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
  half <- z * sqrt(diag(V))
  beta <- object$coefficients
  wide <- z * sqrt(diag(object$vcov))
  of_logs <- !is_angle(names(estimates), kernel_parts(object$kernel))
  inner <- cbind(ifelse(of_logs, estimates * exp(-half), estimates - half),
                 ifelse(of_logs, estimates * exp(half), estimates + half))
  short <- is_turning(object$data$values) & names(estimates) == "ratio"
  inner[short, 2] <- pmin(inner[short, 2], 1)
  out <- rbind(inner, cbind(beta - wide, beta + wide))
  ends <- c(1 - level, 1 + level) / 2
  dimnames(out) <- list(c(names(estimates), names(beta)), paste(format(100 * ends, trim = TRUE, digits = 3), "%"))
  if (missing(parm)) return(out)
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
    found <- gp_value(model, system, gp_weights(model, system), if (!is.null(se_tol)) 2 * se_tol)
  }
  structure(found$value, nall = length(model$y), nobs = gp_rows(model), df = length(coef(object)) + nrow(model$layout),
            std.error = found$se, class = c(if (found$se > 0) "gp_logLik", "logLik"))
}

#' @export
print.gp_logLik <- function(x, digits = getOption("digits"), ...) {
  print_gp_likelihood(x, digits)
  invisible(x)
}

#' @rdname gp_fit-methods
#' @importFrom stats df.residual
#' @export
df.residual.gp_fit <- function(object, ...) length(object$data$y) - length(coef(object)) - nrow(object$data$layout)

#' @rdname gp_fit-methods
#' @param fit,scale,k as in [stats::extractAIC()], which is that of the fit by maximum likelihood
#' @importFrom stats extractAIC
#' @export
extractAIC.gp_fit <- function(fit, scale = 0, k = 2, ...) {
  value <- logLik(by_likelihood(fit, "extractAIC()"))
  df <- attr(value, "df")
  c(df, k * df - 2 * as.numeric(value))
}

#' @rdname gp_fit-methods
#' @export
residuals.gp_fit <- function(object, type = c("response", "pearson", "loo"), ...) {
  refuse_more(...)
  if (!is.null(object$data$family)) return(family_residuals(object, type))
  type <- choice_of(type[1], c("response", "pearson", "loo"), "type")
  left <- object$residuals
  if (type == "pearson") {
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
    cat("trend:", paste0(each, rep(c(",", ""), c(length(each) - 1, 1))), fill = getOption("width"))
  }
  if (!is.null(x$log_likelihood)) print_gp_likelihood(logLik(x), digits)
  invisible(x)
}

print_gp_title <- function(x) {
  model <- x$data
  n <- length(model$y)
  parts <- kernel_parts(x$kernel)
  kernel <- if (is.null(parts$op)) paste0(parts$title, places_text(parts)) else format(x$kernel)
  title <- if (x$variance > 0) paste0("Gaussian process, ", kernel) else "Linear model"
  cat(title, ", ", family_text(x), x$method, ", ", format(n, big.mark = ","), " points, ",
      how_solved(n, model$control), "\n  ",
      if (is.null(x$formula)) counted(ncol(x$x), "input") else deparse1(x$formula), ", trend ",
      sub("^~", "~ ", deparse1(x$trend$formula)), "\n", sep = "")
  if (x$estimated_on < n && nrow(model$layout)) {
    cat("  covariance estimated on ", format(x$estimated_on, big.mark = ","), " of the points\n", sep = "")
  }
  if (!is.null(x$chosen)) cat("  ", choice_text(x$chosen), "\n", sep = "")
  cat(left_out_text(x$na.action))
}

parameter_table <- function(x, digits) {
  found <- covariance_parameters(x)
  table <- matrix("", length(found), 3, dimnames = list(names(found), c("estimate", "2.5 %", "97.5 %")))
  table[, 1] <- vapply(found, format, "", digits = digits)
  free <- intersect(names(found), told_labels(colnames(x$information)))
  table[setdiff(names(found), free), 2] <- "given"
  table[intersect(free, told_bounds(x$at_bound)), 2] <- "at its bound"
  inner <- setdiff(free, told_bounds(x$at_bound))
  ends <- confint(x)[inner, , drop = FALSE]
  for (row in inner) table[row, 2:3] <- vapply(ends[row, ], format, "", digits = digits - 1)
  table
}

print_gp_likelihood <- function(value, digits) {
  se <- attr(value, "std.error")
  cat("logLik ", format(as.numeric(value), nsmall = 1, digits = digits),
      if (se > 0) paste0(" (se ", format(se, digits = 2), ")"), " on ", attr(value, "df"), " df\n", sep = "")
}

#' @rdname gp_fit-methods
#' @export
summary.gp_fit <- function(object, ...) {
  beta <- coef(object)
  se <- sqrt(diag(object$vcov))
  table <- cbind(Estimate = beta, `Std. Error` = se, `z value` = beta / se,
                 `Pr(>|z|)` = 2 * stats::pnorm(-abs(beta / se)))
  value <- logLik(object)
  structure(list(fit = object, coefficients = table, residuals = stats::quantile(object$residuals), logLik = value,
                 AIC = stats::AIC(value), BIC = stats::BIC(value)), class = "summary.gp_fit")
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
  print(stats::setNames(x$residuals, c("Min", "1Q", "Median", "3Q", "Max")), digits = digits)
  cat("\n")
  print_gp_likelihood(x$logLik, digits)
  cat("AIC ", format(x$AIC, digits = digits + 2), ", BIC ", format(x$BIC, digits = digits + 2), "; ",
      counted(fit$convergence$iterations, "step"), " in ", format(fit$convergence$seconds, digits = 2), " s\n",
      sep = "")
  invisible(x)
}
