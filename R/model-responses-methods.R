# Methods for several responses of a Gaussian process: matrices with a column for each response.

#' Several responses in Gaussian process fits (cokriging)
#'
#' [gp_fit()] fits several responses together if the response is a matrix: `gp_fit(cbind(zinc, cadmium) ~ x + y, data)`.
#' Each response helps to predict the others where it was measured and they were not.
#'
#' @section Model:
#' Each response has a trend with coefficients of its own, a process, and noise with a nugget of its own. All processes
#' have the same kernel `k`. The covariance of the processes of two responses `v` and `w` at the places `x` and `y` is
#' `B[v, w] * k(x, y)` (intrinsic coregionalisation). The matrix `B` is the element `variance` of the fit. In a sum of
#' kernels all parts have the same `B`, up to a factor.
#'
#' The parameters of `B` are the variances and the correlations of the processes: `variance.zinc`, `variance.cadmium`
#' and `correlation.zinc.cadmium`. With three or more responses, those between later responses are partial correlations
#' given all responses before the first of the two: `partial.b.c` is that of `b` and `c` given `a`. Any partial
#' correlations between -1 and 1 make a covariance matrix. `cov2cor(fit$variance)` returns all plain correlations.
#'
#' A given `variance` is the whole matrix `B`, which may be singular, and a given `nugget` has a number for each
#' response. Starts and bounds of [fit_control()] take the names of the parameters: `start = c(variance.zinc = 0.5)`.
#'
#' @section Missing values:
#' Single responses may be missing. The other responses of the row are used; `fitted()` and `residuals()` are `NA` where
#' a response is missing, and `predict()` without `newdata` predicts it. A row is left out if all its responses are
#' missing, or an input.
#'
#' @section Units:
#' The responses may be in any units. For estimation each is divided by the standard deviation of the residuals from its
#' trend, and all results are in the units of the responses.
#'
#' @section Limits:
#' Several responses, at most ten, are for `family = gaussian()`, without grouped effects in the trend.
#' [cross_validate()], [predictive_scores()], [profile()][profile.gp_fit()], [gp_posterior()], [variogram()] and
#' `plot()` are for one response. With many rows a fit of two responses takes two to three times as long as a fit of one
#' response with as many numbers.
#'
#' @param object,model a fit by [gp_fit()] with several responses
#' @param newdata,level,method,neighbours,nsim,seed,conditional,noise as for one response, see [predict.gp_fit()]
#' @param se.fit return standard errors?
#' @param interval `"none"` (the default), `"confidence"` for the process, or `"prediction"`, which adds the nugget
#' @param type `"response"`, or `"trend"` for the trend alone; for `residuals()`: `"response"`, `"pearson"`, or `"loo"`,
#'   which leaves out a single number, not the row
#' @param block,re.form,allow.new.levels not for several responses
#' @param ... not used
#' @return `fitted()`, `residuals()`, `rstandard()`, `hatvalues()` and `cooks.distance()`: a matrix with a column for
#'   each response. `predict()`: such a matrix; with an interval a list with a matrix for each response, whose columns
#'   are `fit`, `lwr` and `upr`; with `se.fit` a list of this `fit`, the matrix `se.fit`, `df` and `residual.scale`.
#'   `simulate()`: a data frame of class `kernweave_draws` with a column per draw, which is a matrix with a column for
#'   each response. `nobs()`: the number of all responses that are not missing.
#' @seealso [gp_fit()], [predict.gp_fit()]
#' @references Goulard, M. and Voltz, M. (1992) Linear coregionalization model: tools for estimation and choice of
#'   cross-variogram matrix. Mathematical Geology 24, 269-286.
#' @concept cokriging
#' @concept multivariate spatial data
#' @concept linear model of coregionalization
#' @concept several outputs, multitask Gaussian process
#' @name gp_fit-responses
#' @examples
#' # two responses, of which the second was measured at every third place
#' set.seed(1)
#' d <- data.frame(x = runif(90))
#' d$a <- sin(6 * d$x) + rnorm(90, sd = 0.2)
#' d$b <- 100 * sin(6 * d$x + 0.3) + rnorm(90, sd = 20)
#' d$b[seq_len(90) %% 3 > 0] <- NA
#' fit <- gp_fit(cbind(a, b) ~ x, d, kernel = "matern32")
#' fit
#' cov2cor(fit$variance)
#' predict(fit, data.frame(x = c(0.2, 0.5)), se.fit = TRUE)
#' predict(fit, data.frame(x = c(0.2, 0.5)), interval = "prediction")$b
NULL

#' @rdname gp_fit-responses
#' @export
predict.gp_responses <- function(object, newdata = NULL, se.fit = FALSE,
                                 interval = c("none", "confidence", "prediction"), level = 0.95,
                                 type = c("response", "trend"), method = c("auto", "exact", "local"), neighbours = NULL,
                                 block = NULL, re.form = NULL, allow.new.levels = FALSE, ...) {
  refuse_more(...)
  interval <- choice_of(interval[1], c("none", "confidence", "prediction"), "interval")
  type <- choice_of(type[1], c("response", "trend"), "type")
  if (!is.null(block)) abort("unsupported", "blocks are of one response; predict(newdata = ) takes places")
  check_flag(se.fit, "se.fit")
  check_level(level)
  errors <- se.fit || interval != "none"
  if (is_raster(newdata)) {
    if (errors) abort("unsupported", "rasters of several responses have no errors; predict() of their cells has")
    return(over_cells(object, newdata, predict.gp_responses, type = type, method = method, neighbours = neighbours))
  }
  if (type == "trend" && interval == "prediction") {
    abort("input", "the trend has a confidence interval; a prediction is that of type = \"response\"")
  }
  found <- predict.gp_fit(fit_of_places(object), newdata, errors, level = level, type = type, method = method,
                          neighbours = neighbours)
  fit <- of_all_responses(object, if (errors) found$fit else found, is.null(newdata))
  if (!errors) return(fit)
  se <- of_all_responses(object, found$se.fit, is.null(newdata))
  if (interval != "none") {
    fit <- lapply(stats::setNames(nm = colnames(fit)), function(name) {
      one <- with_interval(fit[, name], se[, name], list(df.residual = Inf, sigma = object$sigma[[name]]), interval,
                           level)
      structure(one, dimnames = list(rownames(fit), colnames(one)))
    })
  }
  if (!se.fit) return(fit)
  structure(list(fit = fit, se.fit = se, df = Inf, residual.scale = object$sigma), local = attr(found, "local"))
}

# Numbers of all places, response after response, as a matrix in the user's units.
of_all_responses <- function(object, values, own) {
  unit <- object$data$unit
  n <- length(values) / length(unit)
  out <- matrix(values * rep(unit, each = n), n, length(unit), dimnames = list(names(values)[seq_len(n)], names(unit)))
  if (own) stats::napredict(object$na.action, out) else out
}

#' @rdname gp_fit-responses
#' @export
simulate.gp_responses <- function(object, nsim = 1, seed = NULL, newdata = NULL, conditional = TRUE,
                                  noise = !conditional, ...) {
  refuse_more(...)
  if (is_raster(newdata)) abort("unsupported", "a raster has no draws of several responses; its cells as places have")
  drawn <- simulate.gp_fit(fit_of_places(object), nsim, seed, newdata, conditional, noise)
  names <- rownames(if (is.null(newdata)) object$x else newdata) %or% seq_len(nrow(drawn) / length(object$data$unit))
  each <- lapply(drawn, function(values) of_all_responses(object, stats::setNames(values, names), is.null(newdata)))
  structure(each, row.names = rownames(each[[1]]), seed = attr(drawn, "seed"), class = class(drawn))
}

#' @rdname gp_fit-responses
#' @export
residuals.gp_responses <- function(object, type = c("response", "pearson", "loo"), ...) {
  refuse_more(...)
  type <- choice_of(type[1], c("response", "pearson", "loo"), "type")
  left <- object$residuals
  if (type == "loo") return(by_cells(object, residuals.gp_fit(stacked_fit(object), "loo"), in_units = TRUE))
  if (type == "pearson") {
    if (any(object$nugget == 0)) abort("unsupported", "without a nugget there is no noise to divide residuals by")
    left <- left * sqrt(object$weights %or% 1) / rep(object$sigma, each = nrow(left))
  }
  stats::naresid(object$na.action, left)
}

# Puts values of the stacked rows into a matrix; other elements are NA.
by_cells <- function(object, values, in_units = FALSE) {
  by <- if (in_units) object$data$unit[object$cells[, 2]] else 1
  out <- stats::naresid(object$na.action, replace(0 * object$residuals, object$cells, as.vector(values) * by))
  if (is.null(attr(values, "local"))) out else structure(out, local = attr(values, "local"))
}

#' @rdname gp_fit-responses
#' @export
rstandard.gp_responses <- function(model, ...) {
  refuse_more(...)
  by_cells(model, rstandard.gp_fit(stacked_fit(model)))
}

#' @rdname gp_fit-responses
#' @export
hatvalues.gp_responses <- function(model, ...) {
  refuse_more(...)
  by_cells(model, hatvalues.gp_fit(stacked_fit(model)))
}

#' @rdname gp_fit-responses
#' @export
cooks.distance.gp_responses <- function(model, ...) {
  refuse_more(...)
  by_cells(model, cooks.distance.gp_fit(stacked_fit(model)))
}

#' @rdname gp_fit-responses
#' @export
nobs.gp_responses <- function(object, ...) nrow(object$cells)

#' @export
response_of.gp_responses <- function(fit) fit$fitted.values + fit$residuals
