# Gaussian process regression: kriging with a trend, its parameters by likelihood.

#' Gaussian processes, or kriging
#'
#' A response that is a trend, a Gaussian process and noise: `y = F b + f + e` with `f` of covariance `variance k` and
#' `e` of variance `nugget / weights`. The parameters of the covariance are estimated by restricted maximum likelihood
#' (`"REML"`) or maximum likelihood (`"ML"`), or given; the trend's coefficients by generalised least squares. Up to
#' `control$dense_n` rows the matrix is factored; beyond it is never made, and the same numbers come from products, the
#' log-determinant with a standard error.
#'
#' @section Parameters:
#' `variance` and `nugget` are estimated where they are `NULL`; a number is kept. With `nugget = 0` the process goes
#' through the data. `kernel` says which of its own parameters are estimated, see [kernel_spec()]: a `scale` without a
#' number, and those named in `estimate`; `ard = TRUE` gives each variable a scale. A `variance` of the kernel that is
#' not 1 is kept as if it were given here. Sums of kernels whose variances are all open have these estimated, and 1 in
#' front of them.
#'
#' All are positive, and estimated by their logarithms, in steps of the average information (Gilmour, Thompson and
#' Cullis, 1995) from the best of several starts on at most 300 rows. More than 2400 rows start from the estimates of
#' an eighth of them, half at random and half their nearest neighbours, which have come likewise, so that all rows are
#' asked two to four times. Scales stay between a tenth of the shortest distance and ten times the diameter of the
#' points, the nugget above 1e-8 of the variance, approximated above 1e-10 times the number of rows of it; what ends
#' there is told in a warning of class `kernweave_warning_boundary`. `fit_control()` has other bounds,
#' `lower = c(scale = 2)`, and a `start` of the same form, in place of the search for one.
#'
#' With `estimate_on` the covariance is estimated on so many rows, half of them at random and half their nearest
#' neighbours, and then the process is fitted to all. `logLik()` is of all rows, and computed when it is asked for.
#'
#' `control = fit_control(approximate = TRUE)` has the likelihood, the solution and the means of `predict()` by
#' [approximate()], so that a million points in two dimensions take minutes. Estimates on up to 20 000 rows of more,
#' standard errors of predictions and draws are by exact products as before.
#'
#' @section Likelihoods:
#' `logLik()` is that of [nlme::gls()], whose restricted likelihood has no term of the trend's own determinant: those of
#' different trends are not to be compared, nor are their AIC. By `"ML"` they are. Beyond `control$dense_n` rows it has
#' an attribute `std.error`.
#'
#' @section Predictions:
#' `predict()` tells the trend and the process without the noise, so that it smooths at the observations unless the
#' nugget is 0. Standard errors count what is not known of the trend's coefficients, and take the covariance as known;
#' `interval = "prediction"` adds the nugget. `simulate()` draws the process after the data at new places, or, not
#' `conditional`, before them. Beyond `control$dense_n` rows an exact error takes a system for each place, and draws one
#' for each draw, whatever the number of places: for errors of a large map, `apply(simulate(fit, 100, newdata = map), 1,
#' sd)` is quicker.
#'
#' @param x,y inputs, a matrix, data frame or vector, and the response, a vector; or `x` a formula, whose right side has
#'   the kernel's variables
#' @param data,subset,na.action for a formula: where its variables are, which rows, what is done with missing ones
#' @param trend a formula of regressors, variables of the data or columns of `x`; `~ 0` for none
#' @param kernel as in [kernel_spec()], positive definite
#' @param variance,nugget `NULL` to be estimated, or a number
#' @param method `"REML"` or `"ML"`
#' @param weights of the observations: the variance of the noise of one is `nugget / weight`
#' @param estimate_on how many rows the covariance is estimated on, more than it has parameters and the trend columns
#' @param control [fit_control()]
#' @param ... not used
#' @return An object of class `gp_fit`: `variance`, `nugget`, `kernel` with its numbers, `coefficients` of the trend,
#'   `alpha`, the solution for the response less the trend, `information` of the logarithms of what was estimated.
#' @references Gilmour, A. R., Thompson, R. and Cullis, B. R. (1995) Average information REML. Biometrics 51, 1440-1450.
#' @seealso [predict.gp_fit()] for its methods; [kernel_ridge()] for penalties by cross-validation, [conditional()] for
#'   a covariance that is known
#' @export
#' @examples
#' fit <- gp_fit(accel ~ times, MASS::mcycle, method = "ML")
#' fit
#' predict(fit, data.frame(times = c(10, 30)), interval = "prediction")
#' plot(fit)
#' # points on a map, with a linear trend
#' some <- quakes[seq(1, 1000, by = 5), ]
#' map <- gp_fit(depth ~ long + lat, some, trend = ~ long + lat, kernel = "matern32")
#' summary(map)
gp_fit <- function(x, ...) UseMethod("gp_fit")

#' @rdname gp_fit
#' @export
gp_fit.default <- function(x, y, trend = ~ 1, kernel = "matern52", variance = NULL, nugget = NULL,
                           method = c("REML", "ML"), weights = NULL, estimate_on = Inf, control = fit_control(), ...) {
  refuse_more(...)
  if (missing(y)) abort("input", "`y` is not given")
  settings <- gp_settings(kernel_spec(kernel), variance, nugget, method, estimate_on, control)
  inputs <- fit_matrix(x)
  found <- trend_variables(trend, trend_data(x, inputs$names))
  gp_of(inputs, y, trend_columns(found, found$frame, nrow(inputs$x)), settings, weights, match.call())
}

#' @rdname gp_fit
#' @export
gp_fit.formula <- function(x, data = NULL, trend = ~ 1, kernel = "matern52", variance = NULL, nugget = NULL,
                           method = c("REML", "ML"), weights = NULL, subset = NULL, na.action = NULL, estimate_on = Inf,
                           control = fit_control(), ...) {
  refuse_more(...)
  settings <- gp_settings(kernel_spec(kernel), variance, nugget, method, estimate_on, control)
  trend <- trend_variables(trend, framed(data), if (length(x) == 3) all.vars(x[[2]]))
  found <- formula_inputs(x, data, na.action, substitute(weights), substitute(subset), beside = trend$frame)
  inputs <- found$inputs
  columns <- trend_columns(trend, found$beside, nrow(inputs$x))
  fit <- gp_of(inputs, found$left, columns, settings, inputs$weights, match.call())
  fit$formula <- x
  fit
}

gp_settings <- function(kernel, variance, nugget, method, estimate_on, control) {
  check_control(control, series = TRUE)
  check_order(kernel, 0, "Gaussian processes")
  one <- function(v) is.numeric(v) && length(v) == 1 && is.finite(v)
  if (!is.null(variance) && !(one(variance) && variance > 0)) {
    abort("value", "`variance` must be a positive number, or NULL to be estimated, not ", format_value(variance))
  }
  if (!is.null(nugget) && !(one(nugget) && nugget >= 0)) {
    abort("value", "`nugget` must be 0 or more, or NULL to be estimated, not ", format_value(nugget))
  }
  if (!identical(estimate_on, Inf)) estimate_on <- check_count(estimate_on, "estimate_on", least = 3)
  c(gp_variance(kernel, variance), list(nugget = nugget, estimate_on = estimate_on, control = control,
    method = choice_of(method[1], c("REML", "ML"), "method")))
}

# One variance in front of a kernel of variance 1: that given here or there, or to be estimated (NULL), or 1 where the
# kernel's own parts have theirs.
gp_variance <- function(kernel, variance) {
  own <- kernel_parts(kernel)$parameters$variance
  if (!is.null(own) && own != 1) {
    if (!is.null(variance)) abort("input", "`variance` is given twice, and once by the kernel, ", format(own))
    variance <- own
  }
  if (is.null(variance) && scaled_by_parts(kernel_parts(kernel), kernel_parts(kernel)$free)) variance <- 1
  list(kernel = update(kernel, variance = 1), variance = variance)
}

# Do parameters of the parts of a sum or product multiply all of it?
scaled_by_parts <- function(parts, free, top = TRUE) {
  if (!top && "variance" %in% free) return(TRUE)
  if (is.null(parts$op)) return(FALSE)
  inner <- vapply(1:2, function(k) {
    keys <- parts$keys[[k]]
    scaled_by_parts(kernel_parts(parts$of[[k]]), unname(keys[names(keys) %in% free]), top = FALSE)
  }, NA)
  if (parts$op == "+") all(inner) else any(inner)
}

gp_of <- function(inputs, y, trend, settings, weights, call) {
  inputs <- without_constants(inputs)
  y <- check_response(y, nrow(inputs$x))
  if (ncol(y) > 1) abort("unsupported", "a Gaussian process has one response, not ", ncol(y))
  weights <- fit_weights(weights, nrow(inputs$x))
  model <- gp_model(inputs, as.vector(y), trend, settings, weights)
  check_gp_data(model, settings, inputs)
  found <- gp_fitted(model, settings)
  gp_object(found, inputs, y, trend, settings, weights, call)
}

gp_model <- function(inputs, y, trend, settings, weights) {
  heavy <- (weights %or% rep(1, length(y))) > 0
  y <- unname(y - trend$offset)[heavy]
  basis <- orthonormal_trend(trend$F[heavy, , drop = FALSE], y)
  x <- unname(strip_term(inputs$x))[heavy, , drop = FALSE]
  model <- list(x = x, y = basis$left, size = sum(y^2), w = weights[heavy] %or% rep(1, nrow(x)), Q = basis$Q,
                R = basis$R, log_R = basis$log_R, b = basis$b, term = attr(inputs$x, "term"), kernel = settings$kernel,
                method = settings$method, control = settings$control, dense = nrow(x) <= settings$control$dense_n,
                rows = which(heavy))
  spread <- max(spread_of(model), 1e-300)
  numbers <- gp_start_numbers(settings, model, spread)
  model$values <- list(variance = settings$variance %or% spread, kernel = numbers$values,
                       nugget = settings$nugget %or% (spread / 10))
  free <- c(if (is.null(settings$variance)) "variance", numbers$free, if (is.null(settings$nugget)) "nugget")
  model$layout <- gp_layout(model$values, free, term_labels(inputs))
  model
}

term_labels <- function(inputs) {
  if (length(inputs$names) == max(attr(inputs$x, "term"))) return(inputs$names)
  colnames(inputs$x) %or% seq_len(ncol(inputs$x))
}

# The kernel's parameters, those that are open at a start: scales at the median distance, of each variable for `ard`.
gp_start_numbers <- function(settings, model, spread) {
  parts <- kernel_parts(settings$kernel)
  values <- parts$parameters[setdiff(names(parts$parameters), "variance")]
  free <- setdiff(parts$free, "variance")
  if (identical(parts$name, "linear") && is.null(values$scale) && is.null(settings$variance)) {
    values["scale"] <- 1
    free <- setdiff(free, "scale")
  }
  for (name in names(values)[vapply(values, is.null, NA)]) {
    values[[name]] <- if (grepl("variance$", name)) spread / 2
    else if (!grepl("scale$", name)) 1
    else if (is.null(parts$op) && parts$ard) {
      vapply(seq_len(max(model$term)), function(one) start_scale(model$x[, model$term == one, drop = FALSE]), 0)
    } else start_scale(model$x)
  }
  list(values = values, free = free)
}

start_scale <- function(x) {
  tryCatch(median_scale(x), kernweave_error_data = function(e) {
    sqrt(sum(apply(x, 2, function(v) diff(range(v)))^2)) / 3
  })
}

check_gp_data <- function(model, settings, inputs) {
  n <- length(model$y)
  if (nrow(model$layout) && spread_of(model) <= (450 * .Machine$double.eps)^2 * model$size / n) {
    abort("data", "beside the trend the response is constant, in all ", n, " rows: there is nothing to estimate")
  }
  twins <- if (identical(as.numeric(settings$nugget), 0)) coincident_rows(model$x)
  if (length(twins)) {
    abort("data", "rows ", model$rows[twins[1]], " and ", model$rows[twins[2]], " coincide, and the nugget is 0; ",
          "estimate the nugget (`nugget = NULL`)")
  }
  check_estimate_on(model, settings$estimate_on)
  scales <- sum(model$layout$name == "scale")
  if (scales > 20 && n < 10 * scales) {
    abort("data", n, " rows do not tell ", scales, " scales apart, one for each variable: give ard = FALSE, or 10 ",
          "rows for each")
  }
  spans <- apply(model$x, 2, function(v) diff(range(v)))
  if (scales == 1 && max(spans) > 10 * min(spans)) {
    message("Ranges of the inputs differ by a factor of ", format(max(spans) / min(spans), digits = 2),
            ", and they have one scale: consider kernel_spec(\"", kernel_parts(model$kernel)$name, "\", ard = TRUE)")
  }
}

# Rows that leave no degree of freedom beside what is estimated.
check_estimate_on <- function(model, rows) {
  estimated <- nrow(model$layout)
  least <- estimated + ncol(model$Q) + 1
  if (!estimated || rows >= min(least, length(model$y))) return(invisible())
  abort("value", "`estimate_on` must be at least ", least, ", not ", rows, ": of the covariance there are ",
        counted(estimated, "parameter"), ", and of the trend ", counted(ncol(model$Q), "column"))
}

# --- the fit ------------------------------------------------------------------------------------------------

# Estimates, and what these make of all rows.
gp_fitted <- function(model, settings) {
  started <- proc.time()[["elapsed"]]
  begin_work("gp_fit()", quicker = quicker_gp(model, settings), expected = expected_of_gp(model, settings))
  on.exit(end_work("gp_fit()"))
  rows <- rows_for_estimate(model$x, settings$estimate_on, settings$control$seed)
  estimate <- if (nrow(model$layout)) gp_estimate(model, rows)
  if (!is.null(estimate)) model$values <- estimate$state$values
  given <- model$control$approximate
  all <- length(rows) == length(model$y)
  weights <- if (all) estimate$state$weights
  system <- if (is.null(weights) || !model$dense && all) gp_system(model, model$values, if (all) estimate$state)
  if (is.null(weights)) weights <- if (!is.null(system)) gp_weights(model, system)
  if (is.null(weights)) {
    abort("singular", "the covariance matrix is not positive definite; a nugget would make it so")
  }
  value <- if (all && !is.null(estimate) || model$dense) gp_value(model, estimate, system, weights)
  if (!model$dense) model$control <- system$products$control
  tell_of_tolerance(given, model$control, length(model$y))
  if (isFALSE(weights$converged)) warn_of_residual(model, weights$residual)
  kept <- list2env(list(preconditioner = system$preconditioner), parent = emptyenv())
  list(model = model, weights = weights, value = value, estimate = estimate, estimated_on = length(rows), kept = kept,
       convergence = list(iterations = estimate$steps %or% 0, converged = estimate$converged %or% TRUE,
                          residual = weights$residual, trend = weights$inaccuracy,
                          seconds = proc.time()[["elapsed"]] - started,
                          tolerance = if (!model$dense && !is.null(given)) model$control$approximate))
}

# About a hundred products a state, and three states where all rows have a say.
expected_of_gp <- function(model, settings) {
  if (model$dense || !is.null(model$control$approximate)) return(0)
  K <- gp_pairs(model, gp_numbers(model, model$values))
  expected_seconds(K, model$y, if (asks_all_rows(model, settings)) 300 else 30)
}

asks_all_rows <- function(model, settings) nrow(model$layout) && settings$estimate_on >= length(model$y)

quicker_gp <- function(model, settings) {
  ways <- c(if (asks_all_rows(model, settings)) "`estimate_on = 2000`",
            if (is.null(model$control$approximate) && ncol(model$x) <= 3) "control = fit_control(approximate = 1e-6)")
  if (length(ways)) paste(ways, collapse = " or ")
}

# The logarithm of the likelihood with its standard error.
gp_value <- function(model, estimate, system, weights) {
  if (model$dense && !is.null(estimate) && is.null(system)) return(list(value = estimate$state$value, se = 0))
  logdet <- system$logdet %or% system$value()
  list(value = gp_log_likelihood(model, logdet, weights), se = (attr(logdet, "se") %or% 0) / 2)
}

warn_of_residual <- function(model, residual) {
  ratio <- model$values$nugget / model$values$variance
  warn("convergence", "the system was solved to a residual of ", format(residual, digits = 2), ", not ",
       format(model$control$tol), ", with nugget / variance ", format(ratio, digits = 2),
       ": raise the nugget, or `rank` or `max_iter` of fit_control()",
       if (!is.null(model$control$approximate)) ", or give a smaller `approximate`")
}

gp_object <- function(found, inputs, y, trend, settings, weights, call) {
  model <- found$model
  values <- model$values
  p <- ncol(model$Q)
  root <- if (p) backsolve(model$R, backsolve(found$weights$C, diag(p))) else matrix(0, 0, 0)
  names <- colnames(trend$F)
  beta <- if (p) backsolve(model$R, model$b + found$weights$b) else numeric()
  fit <- new_fit("gp_fit", call, inputs, kernel = do.call(update, c(list(model$kernel), values$kernel)),
                 variance = values$variance, nugget = values$nugget, sigma = sqrt(values$nugget),
                 method = model$method, weights = weights, trend = trend[setdiff(names(trend), c("F", "offset"))],
                 regressors = trend[c("F", "offset")], data = model,
                 coefficients = stats::setNames(as.vector(beta), names),
                 vcov = structure(tcrossprod(root), dimnames = list(names, names)), alpha = found$weights$alpha,
                 U = found$weights$U, C = found$weights$C, kept = found$kept,
                 information = found$estimate$state$information, log_likelihood = found$value,
                 estimated_on = found$estimated_on, at_bound = bounded_labels(found$estimate),
                 control = model$control, convergence = found$convergence)
  all <- as.vector(trend$F %*% beta) + trend$offset
  process <- model$y - as.vector(model$Q %*% found$weights$b) - values$nugget / model$w * fit$alpha
  all[model$rows] <- all[model$rows] + process
  light <- setdiff(seq_along(all), model$rows)
  if (length(light)) all[light] <- all[light] + gp_kriged(fit, unname(strip_term(inputs$x))[light, , drop = FALSE])
  fit[c("fitted.values", "residuals")] <- lapply(list(all, as.vector(y) - all), as_response, y, inputs$x)
  fit
}

# What ended at a bound, and has no standard error.
bounded_labels <- function(estimate) {
  if (is.null(estimate)) return(character())
  theta <- estimate$state$theta
  lower <- lower_bounds(theta, estimate$model, estimate$bounds)
  names(theta)[theta <= lower + 1e-6 | theta >= estimate$bounds$upper - 1e-6]
}

# The process at places, without the trend.
gp_kriged <- function(fit, at) as.vector(gp_products(fit, at, fit$alpha))

# Products of the covariances of places and data with columns.
gp_products <- function(fit, at, x) fit_products(gp_cross(fit, at), fit$control) %*% x

gp_cross <- function(fit, at, to = fit$data$x) {
  fit$variance * do.call(fit$data$kernel, c(list(Vi(at), Vj(to)), gp_numbers(fit$data, fit$data$values)))
}
