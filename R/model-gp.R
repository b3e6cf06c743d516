# Gaussian process regression: kriging with a trend, its parameters by likelihood.

#' Gaussian process regression (kriging)
#'
#' Fits `y = F b + f + e`: a linear trend `F b`, a Gaussian process `f` with covariance `variance * k`, and noise `e`
#' with variance `nugget / weights`. Use it to interpolate or smooth scattered data, points on a map for instance, with
#' standard errors.
#'
#' The covariance parameters are estimated by restricted maximum likelihood (`"REML"`) or maximum likelihood (`"ML"`),
#' unless you give them. The trend coefficients are estimated by generalised least squares.
#'
#' `gp_fit(z ~ x + y, data)` needs no other argument: the smoothness of the kernel is chosen by likelihood, its scales
#' by BIC, and the method of computation by the number of rows. `print()` shows the choices.
#'
#' @section Kernel:
#' With `kernel = "auto"` the kernel is a Matern kernel of smoothness 1/2, 3/2 or 5/2, whichever has the largest
#' likelihood. All three kernels are fitted to at most 300 rows. Kernels close to the best are then compared on larger
#' samples: at most 600 rows for kernels less than 10 below the best log-likelihood, at most 1500 rows for kernels less
#' than 3 below, and an eighth of the rows, at most 12 000, for kernels still less than 3 below. The fit then starts
#' from the estimates of the best kernel.
#'
#' With several inputs the kernel has one length-scale, one for standardized inputs, or one for each (`ard = TRUE` of
#' [kernel_spec()]), whichever has the smallest BIC on these 300 rows. Inputs are standardized if their standard
#' deviations differ by more than a factor of 2; each has its own scale if there are at most twenty, and ten rows for
#' each. Points on a map have one scale: those of sf, terra or sp, and a longitude with a latitude. A start or a bound
#' of `scale` in [fit_control()] is for one scale, too.
#'
#' The element `chosen` of the fit has a row for each kernel: its `logLik`, the number of `rows`, and `worse`, the
#' difference to the best log-likelihood on these rows. The element `chosen_scales` compares the scales: `worse` is half
#' the difference of BIC. `print()` and `summary()` show the differences.
#'
#' `update()`, `anova()`, `drop1()`, `profile()` and [cross_validate()] keep the kernel that was chosen. `update(fit,
#' kernel = "auto")` chooses again. To choose among other kernels, fit each and compare their [elpd()].
#'
#' @section Parameters:
#' `variance` and `nugget` are estimated if `NULL`, and fixed if you give a number. With `nugget = 0` the process
#' interpolates the data. With `variance = 0` there is no process, and the fit is the linear model of the trend or,
#' with a `family`, its generalised linear model; with grouped effects it is a mixed model. The right side of the
#' formula may then be 1: `gp_fit(y ~ 1, data, trend = ~ x + (1 | site), variance = 0)`. Tests, confidence intervals and
#' prediction intervals of a linear model are those of [lm()] (with `"REML"`); fits with a process or groups, and fits
#' with a `family`, have those of the normal distribution.
#'
#' A given `kernel` determines which of its own parameters are estimated, see [kernel_spec()]: a `scale` (length-scale,
#' or range) without a value, and the parameters that `estimate` names. With `ard = TRUE` each variable has its own
#' length-scale. With `aniso = TRUE` each of two perpendicular axes has its own length-scale, and the direction of the
#' axes is estimated, too. A `variance` of the kernel other than 1 is fixed at its value, as if you had given it here.
#' In a sum of kernels whose variances are all free, these variances are estimated, and the overall variance is 1. The
#' smoothness `nu` of `kernel_spec("matern")` is estimated between 0.1 and 5.
#'
#' [gp_fit-estimation] describes how the parameters are estimated, their bounds, and what is different with many rows.
#'
#' @section Grouped effects:
#' The `trend` may have grouped (random) effects, as in lme4: `trend = ~ x + (1 | site)`. See [gp_fit-groups].
#'
#' @section Several responses:
#' With a matrix as the response, `gp_fit(cbind(zinc, cadmium) ~ x + y, data)`, the responses are fitted together
#' (cokriging). See [gp_fit-responses].
#'
#' @section Predictions:
#' `predict()` returns the trend plus the posterior mean of the process, without the noise: the prediction smooths the
#' observations unless the nugget is 0. Standard errors include the uncertainty of the trend coefficients, but treat the
#' covariance parameters as known; `interval = "prediction"` adds the nugget. `simulate()` draws from the posterior of
#' the process at new points or, with `conditional = FALSE`, from its prior. Beyond `control$dense_n` rows, exact
#' standard errors need one linear system per point. `simulate()` needs one per draw, for any number of points:
#' `apply(simulate(fit, 100, newdata = map), 1, sd)` gives the standard errors of a large map to within 7 %. If products
#' are approximated (by default from 5000 rows on in one or two dimensions), and beyond 20 000 rows, standard errors
#' come from nearest neighbours, in 1 to 15 milliseconds per point; `method = "exact"` uses all rows.
#'
#' @section Responses that are not normal:
#' `family` names the distribution of the response given the process: counts, classes, shares, positive, bounded,
#' ordered or censored numbers, or a log-density of your own. See [gp_fit-families] and [gp_family()].
#'
#' @param x,y the inputs (a matrix, data frame or vector) and the response (a vector, or a matrix with a column for each
#'   of several responses); or `x` is a formula, whose right side names the inputs of the kernel. For points of the sf,
#'   terra or sp packages the right side may be 1, see [kernel_spec()]
#' @param data,subset,na.action for a formula: as in [stats::lm()]
#' @param trend a one-sided formula for the trend, in variables of the data or columns of `x`; `~ 0` for no trend. Terms
#'   such as `(1 | site)` are grouped effects, see below
#' @param kernel a positive definite kernel, as in [kernel_spec()]; the default `"auto"` is a Matern kernel whose
#'   smoothness and number of scales are chosen from the data
#' @param variance,nugget variance of the process and of the noise: a number, or `NULL` (the default) to estimate it;
#'   for several responses a matrix and a vector
#' @param method `"REML"` (the default) or `"ML"`
#' @param weights weights of the observations: the noise variance of an observation is `nugget / weight`. With another
#'   `family` weights are numbers of trials (binomial), of averaged values (Gamma) or of equal observations (counts),
#'   see [gp_fit-families]
#' @param estimate_on number of rows on which to estimate the covariance parameters, by default all; it must exceed the
#'   number of these parameters plus the number of trend columns
#' @param control settings from [fit_control()]
#' @param family the distribution of the response: `gaussian()`, `binomial()` with link `"logit"` or `"probit"`,
#'   `poisson()`, `Gamma("log")`, or negative binomial, `"negbin"` with an estimated size or
#'   `MASS::negative.binomial(size)` with a given one; or a family of [gp_family()] or its name, such as `"student"`,
#'   `"beta"`, `"tweedie"`, `"zip"`, `"weibull"` or `"ordinal"`, or your own log-density
#' @param standardize divide the inputs by their standard deviations? Then `scale` is in units of these, and inputs of
#'   different units may have one scale. By default this is chosen if the kernel is, and otherwise `FALSE`. Places on a
#'   map are not standardized
#' @param ... not used
#' @return A list of class `gp_fit`: `variance`, `nugget`, `kernel` with its parameter values, trend `coefficients`,
#'   `alpha` (the solution of the linear system for the response minus the trend), and `information` (the average
#'   information matrix of the log parameters). With a family other than `gaussian()`, `information` is the observed
#'   information, and there are also `linear.predictors`, `dispersion`, `deviance` and `null.deviance`.
#' @references Gilmour, A. R., Thompson, R. and Cullis, B. R. (1995) Average information REML. Biometrics 51, 1440-1450.
#' @seealso [predict.gp_fit()] for its methods; [gp_fit-groups] for grouped effects, [gp_fit-responses] for several
#'   responses; [kernel_ridge()] to choose a penalty by cross-validation, [conditional()] for a known covariance
#' @concept kriging, cokriging
#' @concept Gaussian process regression
#' @concept spatial interpolation
#' @concept variogram
#' @concept nugget, sill and range
#' @concept length-scale hyperparameter
#' @concept mixed model, random effects, lmer and glmer
#' @export
#' @examplesIf requireNamespace("MASS", quietly = TRUE)
#' fit <- gp_fit(accel ~ times, MASS::mcycle, method = "ML")
#' fit
#' predict(fit, data.frame(times = c(10, 30)), interval = "prediction")
#' plot(fit)
#' # points on a map, with a linear trend
#' some <- quakes[seq(1, 1000, by = 8), ]
#' map <- gp_fit(depth ~ long + lat, some, trend = ~ long + lat, kernel = "matern32")
#' summary(map)
#' # counts, and the probability of a large one
#' k <- kernel_spec("matern32", scale = 4)
#' counts <- gp_fit(stations ~ long + lat, some, trend = ~ mag, kernel = k, family = "negbin")
#' predict(counts, some[1:2, ], interval = "prediction")
gp_fit <- function(x, ...) UseMethod("gp_fit")

#' @rdname gp_fit
#' @importFrom stats gaussian
#' @export
gp_fit.default <- function(x, y, trend = ~ 1, kernel = "auto", variance = NULL, nugget = NULL,
                           method = c("REML", "ML"), weights = NULL, estimate_on = Inf, control = fit_control(),
                           family = gaussian(), standardize = NULL, ...) {
  refuse_more(...)
  check_given(y, "y")
  settings <- gp_settings(gp_kernel(kernel), variance, nugget, method, estimate_on, control, as_family(family),
                          standardize)
  inputs <- fit_matrix(x, y)
  found <- trend_variables(trend, trend_data(x, inputs$names), formulas = settings$family$formulas)
  gp_of(inputs, y, trend_columns(found, found$frame, nrow(inputs$x)), settings, weights, match.call())
}

#' @rdname gp_fit
#' @export
gp_fit.formula <- function(x, data = NULL, trend = ~ 1, kernel = "auto", variance = NULL, nugget = NULL,
                           method = c("REML", "ML"), weights = NULL, subset = NULL, na.action = NULL, estimate_on = Inf,
                           control = fit_control(), family = gaussian(), standardize = NULL, ...) {
  refuse_more(...)
  settings <- gp_settings(gp_kernel(kernel), variance, nugget, method, estimate_on, control, as_family(family),
                          standardize)
  refuse_bars(x)
  placed <- sf_formula(x, data)
  x <- if (identical(as.numeric(variance), 0)) with_an_input(placed$formula, trend) else placed$formula
  trend <- trend_variables(trend, framed(placed$data), if (length(x) == 3) all.vars(x[[2]]),
                           settings$family$formulas)
  found <- formula_inputs(x, placed$data, na.action, substitute(weights), substitute(subset), beside = trend$frame,
                          read = settings$family$read %or% seen_responses)
  inputs <- c(found$inputs, list(places = placed$places))
  columns <- trend_columns(trend, found$beside, nrow(inputs$x))
  fit <- gp_of(inputs, named_responses(found$left, x[[2]]), columns, settings, inputs$weights, match.call())
  if (identical(x, placed$formula)) return(fit)
  fit$formula <- placed$formula
  fit$variables <- structure(setdiff(fit$variables, all.vars(x[[2]])), kinds = attr(fit$variables, "kinds"))
  if (!deparse1(x[[3]]) %in% names(found$beside)) fit$model[deparse1(x[[3]])] <- NULL
  fit
}

# Puts a variable of the trend into the formula of a model without a process, which does not use its inputs. The
# variable is a fixed effect, or numbers of groups, which new groups have, too, or the row numbers of the response.
with_an_input <- function(formula, trend) {
  named <- inherits(trend, "formula") && inherits(formula, "formula") && length(formula) == 3
  if (!named || length(all.vars(formula[[3]]))) return(formula)
  groups <- lapply(all.vars(trend), function(name) call("as.numeric", call("as.factor", as.name(name))))
  fixed <- lapply(all.vars(parted_trend(trend)$fixed[[2]]), as.name)
  formula[[3]] <- c(fixed, rev(groups), list(call("seq_len", call("NROW", formula[[2]]))))[[1]]
  formula
}

gp_settings <- function(kernel, variance, nugget, method, estimate_on, control, family, standardize = NULL) {
  check_control(control, series = TRUE)
  if (!is.null(standardize)) check_flag(standardize, "standardize")
  if (isTRUE(standardize) && any(vapply(leaf_parts(kernel), is_aniso, NA))) {
    abort("input", "axes of `aniso` are those of the inputs, and standardized inputs have others: give one of them")
  }
  check_order(kernel, 0, "Gaussian processes")
  noisy <- asked_of(list(family = family))$nugget
  check_amount <- function(v, argument) {
    if (is.null(v) || is.numeric(v) && length(v) == 1 && is.finite(v) && v >= 0) return(invisible())
    if (noisy && is.numeric(v) && length(v) > 1 && all(is.finite(v))) return(invisible())  # several responses
    abort("value", "`", argument, "` must be 0 or more, or NULL to be estimated, not ", format_value(v))
  }
  check_amount(variance, "variance")
  check_amount(nugget, "nugget")
  none <- identical(as.numeric(variance), 0)
  if (none && identical(as.numeric(nugget), 0)) {
    abort("value", "`variance` and `nugget` are both 0, and nothing is left to vary; give one of them")
  }
  if (!noisy && !is.null(nugget) && nugget != 0) {
    abort("unsupported", "`nugget` is for gaussian() alone: other families are the noise; overdispersed counts take ",
          "family = \"negbin\"")
  }
  if (!noisy) nugget <- 1
  if (!identical(estimate_on, Inf)) estimate_on <- check_count(estimate_on, "estimate_on", least = 3)
  c(gp_variance(kernel, variance), list(nugget = nugget, estimate_on = estimate_on, control = control, family = family,
    standardize = standardize, method = choice_of(method[1], c("REML", "ML"), "method")))
}

# Returns a kernel of variance 1 and the variance of the process: given as argument or in the kernel, NULL if it is to
# be estimated, or 1 if parts of the kernel have variances.
gp_variance <- function(kernel, variance) {
  own <- kernel_parts(kernel)$parameters$variance
  if (!is.null(own) && own != 1 && !"variance" %in% kernel_parts(kernel)$free) {
    if (!is.null(variance)) abort("input", "`variance` is given twice: that of the kernel is ", format(own))
    variance <- own
  }
  if (is.null(variance) && scaled_by_parts(kernel_parts(kernel), kernel_parts(kernel)$free)) variance <- 1
  list(kernel = update(kernel, variance = 1), variance = variance)
}

gp_of <- function(inputs, y, trend, settings, weights, call) {
  placed <- placed_inputs(settings$kernel, inputs)
  settings[c("kernel", "rule")] <- list(placed$kernel, placed$rule)
  if (is.null(placed$rule)) inputs <- placed$inputs <- without_constants(inputs)
  settings$kernel <- with_levels(settings$kernel, inputs, placed$rule)
  units <- settings$units
  if (length(units) && length(units) == length(inputs$constant)) units <- units[!inputs$constant]
  if (isTRUE(settings$standardize) || !is.null(units)) {
    settings$rule <- standardized_rule(placed$rule, inputs$x, units)
    placed$inputs$x[] <- model_points(settings$rule, inputs$x)
  }
  gp_of_family(inputs, placed$inputs, y, trend, settings, weights, call)
}

# Fits the response. `placed`: the inputs in the form of the kernel. Several responses need gaussian().
gp_of_family <- function(inputs, placed, y, trend, settings, weights, call) {
  family <- family_of(settings)
  several <- inherits(family, "gp_gaussian") && NCOL(y) > 1 && !inherits(y, "Surv")
  if (several) class(family) <- c("gp_several", class(family))
  UseMethod("gp_of_family", family)
}

#' @export
gp_of_family.gp_gaussian <- function(inputs, placed, y, trend, settings, weights, call) {
  y <- check_response(y, nrow(inputs$x), families = TRUE, model = inputs$model)
  if (max(lengths(settings[c("variance", "nugget")])) > 1) {
    abort("shape", "`variance` and `nugget` are one number each, since there is one response")
  }
  weights <- fit_weights(weights, nrow(inputs$x))
  model <- gp_model(placed, as.vector(y), trend, settings, weights)
  check_gp_data(model, settings, inputs)
  found <- gp_fitted(model, settings)
  gp_object(found, inputs, y, trend, settings, weights, call)
}

# --- the fit ------------------------------------------------------------------------------------------------

# Estimates parameters, and computes the fit of all rows.
gp_fitted <- function(model, settings) {
  started <- proc.time()[["elapsed"]]
  begin_work("gp_fit()")
  on.exit(end_work("gp_fit()"))
  rows <- rows_of_sample(model, settings$estimate_on)
  model <- begun_model(model, rows)
  n <- length(model$y)
  fewer <- is.null(model$panel) && nrow(model$layout) && settings$estimate_on >= n && n > 3000
  expect_work("gp_fit()", expected_of_gp(model, rows), if (fewer) "`estimate_on = 2000`")
  estimate <- if (nrow(model$layout)) gp_estimate(model, rows)
  if (!is.null(estimate)) model$values <- estimate$state$values
  model["begun"] <- NULL
  given <- model$control$approximate
  at <- gp_state_of_all(model, if (length(rows) == length(model$y)) estimate$state)
  model <- at$model %or% model
  weights <- at$weights
  if (!model$dense) model$control["approximate"] <- list(at$control$approximate)
  tell_of_tolerance(given, model$control, length(model$y))
  if (isFALSE(weights$converged)) warn_of_residual(model, weights)
  kept <- list2env(list(preconditioner = at$preconditioner), parent = emptyenv())
  list(model = model, weights = weights, value = if (!is.null(at[["value"]])) at[c("value", "se")], estimate = estimate,
       estimated_on = length(rows), kept = kept,
       convergence = list(iterations = estimate$steps %or% 0, converged = estimate$converged %or% TRUE,
                          residual = weights$residual, trend = weights$inaccuracy, noise = estimate$noise,
                          seconds = proc.time()[["elapsed"]] - started,
                          tolerance = if (!model$dense && !is.null(given)) model$control$approximate))
}

# Computes the state of all rows, if parameters were not estimated on all. The log-likelihood of a fit that is not dense
# is computed when it is needed.
gp_state_of_all <- function(model, state) UseMethod("gp_state_of_all", family_of(model))

#' @export
gp_state_of_all.gp_gaussian <- function(model, state) {
  if (!is.null(state)) return(state)
  system <- unless_indefinite_gp(gp_system(model, model$values))
  weights <- if (!is.null(system)) unless_indefinite_gp(gp_weights(model, system))
  if (is.null(weights)) {
    abort("singular", "the covariance matrix is not positive definite; ", enough_nugget(model),
          ", or a rougher kernel, would make it so")
  }
  c(list(weights = weights, preconditioner = system$preconditioner, control = system$products$control),
    if (model$dense) gp_value(model, system, weights))
}

# Estimates the seconds of a fit: 100 products a state, and three states if all rows are used; twice that by series.
expected_of_gp <- function(model, rows) {
  all <- nrow(model$layout) && length(rows) == length(model$y)
  if (model$dense) return(0)
  values <- begun_values(model)
  K <- values$variance * gp_pairs(model, gp_numbers(model, values))
  series <- is_approximated(dim(K), model$control)
  products <- fit_products(K, gp_tolerance(model, values))
  expected_seconds(products, model$y, if (!all) 30 else if (series) 600 else 300)
}

warn_of_residual <- function(model, weights) {
  residual <- weights$residual
  if (!asked_of(model)$nugget) {
    return(warn("convergence", "the system of the mode was solved to a residual of ", format(residual, digits = 2),
                ", not ", format(model$control$tol), ": raise `rank` or `max_iter` of fit_control()"))
  }
  ratio <- min(model$values$nugget) / model$values$variance
  warn("convergence", "the system was solved to a residual of ", format(residual, digits = 2), ", not ",
       format(weights$tol), ", with nugget / variance ", format(ratio, digits = 2),
       ": raise the nugget, or `rank` or `max_iter` of fit_control()",
       if (!is.null(model$control$approximate)) ", or give a smaller `approximate`")
}

gp_object <- function(found, inputs, y, trend, settings, weights, call) {
  model <- found$model
  values <- model$values
  alpha <- found$weights$alpha
  p <- ncol(model$Q)
  root <- if (p) backsolve(model$R, backsolve(found$weights$C, diag(p))) else matrix(0, 0, 0)
  names <- colnames(trend$F)
  beta <- if (p) backsolve(model$R, model$b + found$weights$b) else numeric()
  fit <- new_fit("gp_fit", call, inputs, kernel = do.call(update, c(list(model$kernel), told_kernel(values$kernel))),
                 variance = values$variance, nugget = values$nugget, sigma = sqrt(values$nugget),
                 method = model$method, weights = weights,
                 trend = trend[setdiff(names(trend), c("F", "offset", "z", "phi"))],
                 regressors = c(trend[c("F", "offset", "z")], list(phi = trend$phi)), data = model,
                 coefficients = stats::setNames(as.vector(beta), names),
                 vcov = structure(tcrossprod(root), dimnames = list(names, names)),
                 alpha = alpha[order(model$rows)], U = found$weights$U, C = found$weights$C,
                 kept = found$kept,
                 information = found$estimate$state$information, log_likelihood = found$value,
                 estimated_on = found$estimated_on, at_bound = bounded_labels(found$estimate),
                 confounded = confounded_labels(found$estimate),
                 control = model$control, convergence = found$convergence)
  fit$chosen <- model$chosen
  fit$chosen_scales <- model$chosen_scales
  all <- as.vector(trend$F %*% beta) + trend$offset
  process <- model$y - as.vector(model$Q %*% found$weights$b) - gp_noise(model) * alpha
  all[model$rows] <- all[model$rows] + process
  light <- setdiff(seq_along(all), model$rows)
  at <- cbind(unname(model_points(model$rule, strip_term(inputs$x))), trend$z)[light, , drop = FALSE]
  if (length(light)) all[light] <- all[light] + as.vector(gp_products(fit, at, alpha))
  fit[c("fitted.values", "residuals")] <- lapply(list(all, as.vector(y) - all), as_response, y, inputs$x)
  fit
}

# Returns the labels of the parameters that ended at a bound, and have no standard error.
bounded_labels <- function(estimate) {
  if (is.null(estimate)) return(character())
  theta <- estimate$state$theta
  lower <- lower_bounds(theta, estimate$model, estimate$bounds)
  names(theta)[theta <= lower + 1e-6 | theta >= estimate$bounds$upper - 1e-6]
}

# Multiplies the covariances of places and data by columns.
gp_products <- function(fit, at, x) {
  if (!is.null(fit$data$panel)) return(panel_products(fit, at, x))
  process <- if (fit$variance == 0) matrix(0, nrow(at), NCOL(x))
             else as.matrix(fit_products(process_cross(fit, at), fit$control) %*% x)
  groups <- function(places) group_parts(fit$data, fit$data$values, places[, -seq_len(ncol(fit$data$x)), drop = FALSE])
  process + groups_times(groups(model_places(fit$data)), x, groups(at))
}

# Covariances of the process and of grouped effects at pairs of places.
gp_cross <- function(fit, at, to = model_places(fit$data)) {
  z <- function(places) places[, -seq_len(ncol(fit$data$x)), drop = FALSE]
  Reduce(`+`, group_pairs(fit$data, fit$data$values, z(at), z(to)), process_cross(fit, at, to))
}

process_cross <- function(fit, at, to = model_places(fit$data)) {
  own <- seq_len(ncol(fit$data$x))
  numbers <- gp_numbers(fit$data, fit$data$values)
  pairs <- list(Vi(at[, own, drop = FALSE]), Vj(to[, own, drop = FALSE]))
  K <- do.call(fit$data$kernel, c(pairs, numbers[names(numbers) != "responses"]))
  fit$variance * over_responses(K, numbers$responses, at[, -own], to[, -own])
}
