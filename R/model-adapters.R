# Interfaces of fits to other packages: a model description for caret, and reference grids for emmeans.

#' Fits for caret, parsnip, mlr3, emmeans, insight and marginaleffects
#'
#' `caret_model()` describes [gp_fit()], [kernel_ridge()] or [knn_fit()] to `caret::train()`, for resampling and the
#' choice of tuning parameters. `parsnip_model()` is a model specification of the parsnip package, for workflows of
#' tidymodels, and `mlr3_learner()` a learner of the mlr3 package. Functions of the packages emmeans, insight and
#' marginaleffects take the fits themselves.
#'
#' **caret.** `kernel_ridge()` is tuned over `lambda` and `scale`, `knn_fit()` over `k`; where the tuning grid has 0,
#' the fit chooses the value itself. `gp_fit()` estimates its parameters and has no tuning parameters. `caret_model()`
#' hands further arguments of `train()`, such as `kernel`, `trend`, `metric` or `control`, to the fit. caret codes
#' factors of a formula as 0 and 1 before it calls the fit.
#'
#' **parsnip.** `parsnip_model()` registers the engine `"kernweave"` for the model `nearest_neighbor()`, or a new model,
#' and returns a specification for `parsnip::fit()`. `penalty` (the `lambda` of `kernel_ridge()`) and `neighbors` (the
#' `k` of `knn_fit()`) may be `tune()`. Other arguments, such as `kernel`, `trend` or `metric`, are those of the fit.
#' The fit has a formula and data, so `trend` may name any variable of the data. Predictions are `"numeric"`,
#' `"conf_int"` and `"pred_int"`, or `"class"` and `"prob"`. For example
#' `parsnip_model("kernel_ridge", penalty = tune(), kernel = "matern32")`.
#'
#' **mlr3.** `mlr3_learner()` is a learner for regression, or for classification by `knn_fit()`, whose parameters are
#' the arguments of the fit. `inputs` are features of the task; `trend` may name any of them. Predictions are
#' `"response"` and `"se"`, or `"response"` and `"prob"`. For example
#' `mlr3_learner("gp_fit", inputs = c("long", "lat"), trend = ~ depth)`.
#'
#' **emmeans.** Marginal means are means of the trend, with the generalised least squares covariance matrix of its
#' coefficients and infinite degrees of freedom (those of [lm()] for a linear model). A [kernel_ridge()] has no
#' coefficients and therefore no marginal means; [marginal_effects()] computes its slopes and contrasts.
#'
#' **insight**, and the easystats packages. `find_formula()` of a [gp_fit()] has the trend as `conditional`, grouped
#' effects as `random`, and the inputs of the kernel as `correlation`. `get_predicted()` returns the predictions of
#' `predict()` with their intervals.
#'
#' **marginaleffects.** Predictions, comparisons and slopes of all fits. Standard errors of a [gp_fit()] are of the
#' coefficients of its trend, with the process as the data have it, as those of a mixed model are. Those of a
#' [kernel_ridge()] without a family are the same as in [marginal_effects()]. Other fits have no standard errors there.
#'
#' @param model `"gp_fit"`, `"kernel_ridge"` or `"knn_fit"`
#' @param ... arguments of the function that `model` names, the same in each fit
#' @return `caret_model()`: a list, for the argument `method` of `caret::train()`. `parsnip_model()`: a model
#'   specification. `mlr3_learner()`: a learner.
#' @seealso [kernel_ridge()], [knn_fit()], [gp_fit()], [marginal_effects()]
#' @concept caret package
#' @concept parsnip engine
#' @concept tidymodels
#' @concept mlr3 learner
#' @concept marginaleffects package
#' @concept easystats
#' @concept emmeans package
#' @concept estimated marginal means
#' @concept hyperparameter tuning
#' @export
#' @examplesIf requireNamespace("caret", quietly = TRUE)
#' set.seed(1)
#' found <- caret::train(dist ~ speed, cars, method = caret_model("kernel_ridge", kernel = "matern32"),
#'                       tuneGrid = expand.grid(lambda = c(0.1, 1), scale = c(1, 2)),
#'                       trControl = caret::trainControl("cv", number = 5))
#' found$bestTune
caret_model <- function(model = c("gp_fit", "kernel_ridge", "knn_fit"), ...) {
  if (is.function(model)) abort("input", "`model` is a name: caret_model(\"", deparse1(substitute(model)), "\")")
  model <- choice_of(model[1], c("gp_fit", "kernel_ridge", "knn_fit"), "model")
  more <- list(...)
  if (!is.null(more$family)) {
    abort("unsupported", "caret_model(\"", model, "\") is regression of numbers alone, without a `family`; ",
          "cross_validate() has errors of fits with one")
  }
  known <- names(formals(get(paste0(model, ".default"), asNamespace("kernweave"))))
  taken <- c("x", "y", "...", if (model != "knn_fit") "weights")
  check_parameter_names(names(more) %or% rep("", length(more)), setdiff(known, taken), model)
  tuned <- list(gp_fit = character(), kernel_ridge = c("lambda", "scale"), knn_fit = "k")[[model]]
  parameters <- if (length(tuned)) data.frame(parameter = tuned, class = "numeric", label = tuned)
                else data.frame(parameter = "parameter", class = "character", label = "none")  # caret needs one
  list(label = model, library = "kernweave", type = c("Regression", if (model == "knn_fit") "Classification"),
       parameters = parameters,
       grid = function(x, y, len = NULL, search = "grid") caret_grid(model, x, len),
       fit = function(x, y, wts, param, lev, last, classProbs, ...) {
         caret_fit(model, x, y, wts, param, c(more, list(...)))
       },
       predict = function(modelFit, newdata, submodels = NULL) unname(stats::predict(modelFit, newdata)),
       prob = if (model == "knn_fit") function(modelFit, newdata, submodels = NULL) {
         as.data.frame(stats::predict(modelFit, newdata, type = "prob"))
       },
       sort = function(x) if (length(tuned)) x[do.call(order, lapply(x[tuned], `-`)), , drop = FALSE] else x)
}

caret_grid <- function(model, x, len) {
  len <- max(1, len %or% 3)
  if (model == "gp_fit") return(data.frame(parameter = "none"))
  if (model == "knn_fit") return(data.frame(k = unique(pmin(2 * seq_len(len) + 3, NROW(x) - 1))))
  if (len == 1) return(data.frame(lambda = 0, scale = 0))
  about <- median_scale(scale(as_inputs(x)))
  expand.grid(lambda = 10^seq(-2, 0.5, length.out = len), scale = about * 2^seq(-1, 1, length.out = len))
}

caret_fit <- function(model, x, y, wts, param, more) {
  chosen <- lapply(param, function(value) if (value != 0) value)
  if (model == "knn_fit") return(do.call(knn_fit, c(list(x, y, k = chosen$k), more)))
  if (model == "gp_fit") return(do.call(gp_fit, c(list(x, y, weights = wts), more)))
  if (!is.null(chosen$scale)) more$kernel <- update(kernel_spec(more$kernel %or% "gaussian"), scale = chosen$scale)
  do.call(kernel_ridge, c(list(x, y, lambda = chosen$lambda, weights = wts), more))
}

# --- emmeans -----------------------------------------------------------------------------------------------

#' @exportS3Method emmeans::recover_data
recover_data.gp_fit <- function(object, data = NULL, ...) {
  if (is.null(object$terms)) data <- data %or% trend_data(object$x, object$names)
  found <- emmeans::recover_data(object$call, stats::delete.response(object$trend$terms), object$na.action, data = data,
                                 ...)
  offset <- object$regressors$offset
  if (is.data.frame(found) && any(offset != 0)) {  # as lm() has it: the mean offset, not the offset of means
    found$.offset. <- offset
    attr(found, "predictors") <- c(attr(found, "predictors"), ".offset.")
  }
  found
}

#' @exportS3Method emmeans::emm_basis
emm_basis.gp_fit <- function(object, trms, xlev, grid, ...) {
  refuse_responses(object, "emmeans()", "coef() and vcov() have the trend coefficients of each")
  frame <- stats::model.frame(trms, grid, na.action = stats::na.pass, xlev = xlev)
  X <- stats::model.matrix(trms, frame, contrasts.arg = object$trend$contrasts)
  list(X = X, bhat = unname(coef(object)), nbasis = matrix(NA), V = vcov(object),
       dffun = function(k, dfargs) dfargs$df, dfargs = list(df = trend_freedom(object)),
       misc = emmeans::.std.link.labels(object$family, list()))
}

# emmeans shows a character value as an error message.
#' @exportS3Method emmeans::recover_data
recover_data.kernel_ridge <- function(object, ...) {
  "a kernel ridge regression has no coefficients to average; marginal_effects() has its slopes and contrasts"
}
