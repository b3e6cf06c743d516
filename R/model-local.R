# Local regression: local means and lines with Gaussian weights.

#' Local regression
#'
#' Fits a weighted mean (`degree = 0`) or plane (`degree = 1`) of the observations around each point, with Gaussian
#' weights and standard errors. Use it as a smoother with one bandwidth per variable, chosen by leave-one-out
#' cross-validation or by the corrected Akaike criterion (AICc).
#'
#' Weights are divided by the largest weight, so that far from the data the prediction is that of the nearest
#' observations, not `NaN`. A plane has slope 0 in directions in which the observations within reach do not vary. A
#' place that lies in such a direction, far outside of the data for instance, has no standard error: it is `NA`.
#'
#' Cross-validation is exact: each observation is compared with the fit to all others, even if no other observation is
#' within the bandwidth. The search starts on a grid of bandwidths and refines the best; with more than 500 rows, the
#' grid is evaluated on 500 of the rows.
#'
#' @param x,y the inputs (a matrix, data frame, vector or points of sf) and the response (a vector, or a
#'   matrix with one column per response); or `x` a formula, in which `~ geometry` has the places of sf data
#' @param data,subset,na.action for a formula: as in [stats::lm()]
#' @param degree degree of the local polynomial, 0 or 1
#' @param bandwidth `"cv"`, `"aicc"`, or numbers (one, or one per variable): standard deviations of the Gaussian weights
#' @param weights weights of the observations: the variance of an observation is proportional to 1 / weight, and
#'   observations of weight 0 are left out. `sigma` and prediction intervals are for weight 1, as in [stats::lm()]
#' @param control settings of the bandwidth search, from [fit_control()]
#' @param ... not used
#' @return An object of class `local_reg`: `bandwidth`, `criterion`, `df` (the trace of the smoother matrix),
#'   `df.residual`, `sigma`, `fitted.values`, `residuals`.
#' @seealso [kde_fit()] for densities; [stats::loess()], whose neighbourhoods are a fixed share of the points
#' @concept kernel smoothing
#' @concept Nadaraya-Watson
#' @concept local linear regression
#' @concept nonparametric regression
#' @concept bandwidth selection
#' @export
#' @examplesIf requireNamespace("MASS", quietly = TRUE)
#' fit <- local_reg(accel ~ times, data = MASS::mcycle)
#' fit
#' predict(fit, data.frame(times = c(10, 20, 90)), se.fit = TRUE)
#' plot(fit)
local_reg <- function(x, ...) UseMethod("local_reg")

#' @rdname local_reg
#' @export
local_reg.default <- function(x, y, degree = 1, bandwidth = c("cv", "aicc"), weights = NULL, control = fit_control(),
                              ...) {
  refuse_more(...)
  check_control(control)
  check_given(y, "y")
  inputs <- fit_matrix(x, told = TRUE)
  local_of(inputs, y, degree, bandwidth, weights, control, match.call())
}

#' @rdname local_reg
#' @export
local_reg.formula <- function(x, data = NULL, degree = 1, bandwidth = c("cv", "aicc"), weights = NULL, subset = NULL,
                              na.action = NULL, control = fit_control(), ...) {
  refuse_more(...)
  check_control(control)
  found <- formula_inputs(x, data, na.action, substitute(weights), substitute(subset))
  inputs <- found$inputs
  local_of(inputs, found$left, degree, bandwidth, inputs$weights, control, match.call())
}

local_of <- function(inputs, y, degree, bandwidth, weights, control, call) {
  inputs <- without_constants(inputs)
  y <- check_response(y, nrow(inputs$x), model = inputs$model)
  weights <- fit_weights(weights, nrow(inputs$x))
  if (!identical(as.numeric(degree), 0) && !identical(as.numeric(degree), 1)) {
    abort("value", "`degree` must be 0 or 1, not ", format_value(degree))
  }
  x <- unname(strip_term(inputs$x))
  used <- heavy_rows(x, unname(y), weights)
  if (nrow(used$x) < 2) abort("data", "a regression needs at least 2 rows, not ", nrow(used$x))
  chosen <- local_bandwidth(used, degree, bandwidth, control, colnames(inputs$x) %or% inputs$names)
  own <- local_values(used, degree, chosen$h, used$x, seq_len(nrow(used$x)))
  df <- nrow(used$x) - 2 * sum(own$leverage) + sum(used$w * own$square)
  sigma <- sqrt(colSums(used$w * (used$y - own$fit)^2) / max(df, 1e-8))  # sd of an observation of weight 1
  all <- if (nrow(used$x) == nrow(x)) own else local_values(used, degree, chosen$h, x)
  fit <- new_fit("local_reg", call, inputs, data = used, weights = weights, bandwidth = chosen$h,
                 method = chosen$method, criterion = chosen$criterion %or% local_cv(used, degree, chosen$h, own),
                 degree = degree, df = sum(own$leverage), df.residual = df, sigma = sigma, fitted.values = all$fit,
                 residuals = y - all$fit, leverage = own$leverage, limits = chosen$limits)
  fit[c("fitted.values", "residuals")] <- lapply(fit[c("fitted.values", "residuals")], as_response, y, inputs$x)
  fit
}

# --- methods ------------------------------------------------------------------------------------------------

#' @rdname local_reg
#' @param object,newdata for `predict()`: a fit, and new inputs; by default the inputs of the fit
#' @param se.fit return standard errors?
#' @param interval,level as in [stats::predict.lm()]
#' @export
predict.local_reg <- function(object, newdata = NULL, se.fit = FALSE,
                              interval = c("none", "confidence", "prediction"), level = 0.95, ...) {
  refuse_more(...)
  if (is_raster(newdata)) return(over_cells(object, newdata, predict.local_reg, se.fit, interval, level))
  interval <- choice_of(interval[1], c("none", "confidence", "prediction"), "interval")
  check_flag(se.fit, "se.fit")
  q <- ncol(object$data$y)
  if (interval != "none") refuse_many_of(object, "intervals are those")
  x <- if (is.null(newdata)) object$x else new_points(object, newdata)
  found <- at_complete(x, function(at) {
    values <- local_values(object$data, object$degree, object$bandwidth, matrix(at, ncol = ncol(object$data$x)))
    cbind(values$fit, values$square, values$neff)
  })
  if (is.null(newdata)) found <- stats::napredict(object$na.action, found)
  fit <- found[, seq_len(q), drop = FALSE]
  if (q == 1) fit <- fit[, 1] else colnames(fit) <- colnames(object$fitted.values)
  se <- outer(sqrt(found[, q + 1]), object$sigma)
  if (q == 1) se <- stats::setNames(se[, 1], names(fit))
  if (interval != "none") fit <- with_interval(fit, se, object, interval, level)
  if (!se.fit) return(fit)
  list(fit = fit, se.fit = se, df = object$df.residual, residual.scale = object$sigma, n_eff = found[, q + 2])
}

#' @rdname local_reg
#' @param digits significant digits
#' @export
print.local_reg <- function(x, digits = 4, ...) {
  title <- if (is.null(x$formula)) counted(ncol(x$x), "input") else deparse1(x$formula)
  say("Local ", c("constant", "linear")[x$degree + 1], " regression, ", title, ", ",
      format(nrow(x$x), big.mark = ","), " points\n")
  widths <- ifelse(x$bandwidth > 0.3 * x$limits, c("Inf (drops out)", "Inf (linear)")[x$degree + 1],
                   vapply(x$bandwidth, format, "", digits = digits))
  how <- if (x$method == "given") "given" else paste(x$method, format(x$criterion, digits = digits + 1))
  say("  bandwidth: ", paste(names(x$bandwidth), widths, collapse = ", "), " (", how, ")   df ",
      format(x$df, digits = digits - 1), "   sigma ", paste(format(x$sigma, digits = digits), collapse = " "), "\n")
  cat(left_out_text(x$na.action))
  invisible(x)
}

#' @rdname local_reg
#' @param n for `plot()` with one or two inputs: number of grid points along each input
#' @param whole for `plot()` with two inputs: draw the whole rectangle, or only what is near the data? See
#'   [autoplot-fits]
#' @export
plot.local_reg <- function(x, n = NULL, level = 0.95, whole = FALSE, ...) {
  drawn(x, plot_data(x, n, level, whole), ...)
}

#' @export
plot_data.local_reg <- function(object, n = NULL, level = 0.95, whole = FALSE, ...) {
  part <- object$data
  refuse_many(ncol(part$y))
  D <- ncol(part$x)
  axes <- plot_axes(part$x, check_count(n %or% c(200, 60)[min(D, 2)], "n", least = 2))
  at <- if (D < 3) unname(as.matrix(expand.grid(axes))) else part$x
  values <- local_values(part, object$degree, object$bandwidth, at)
  fit <- values$fit[, 1]
  labels <- names(object$bandwidth)
  if (D > 2) return(observed_picture(fit, part$y, response_name(object)))
  if (D == 2) return(surface_picture(axes, fit, part$x, labels, response_name(object), whole))
  band <- with_interval(fit, object$sigma * sqrt(values$square), object, "confidence", level)
  curve_picture(at[, 1], fit, part$x, part$y, labels, response_name(object), band[, 2:3])
}

#' @export
refit_to.local_reg <- function(fit, rows, again) {
  h <- if (again && fit$method != "given") fit$method else fit$bandwidth
  part <- some_rows(fit, rows)
  local_of(part$inputs, part$y, fit$degree, h, part$weights, fit_control(), fit$call)
}
