# Registration of fits as models of the parsnip package, and specifications.

# The name of a model in parsnip, its modes, and its tuning parameters: parsnip's name, the name here, and a function of
# dials with its range. Specifications have other class names than fits, whose methods they would otherwise use.
parsnip_rows <- list(
  gp_fit = list(model = "gaussian_process", modes = "regression"),
  kernel_ridge = list(model = "kernel_regression", modes = "regression",
                      tuned = list(parsnip = "penalty", original = "lambda",
                                   func = list(pkg = "dials", fun = "penalty", range = c(-4, 1)))),
  knn_fit = list(model = "nearest_neighbor", modes = c("regression", "classification"),
                 tuned = list(parsnip = "neighbors", original = "k",
                              func = list(pkg = "dials", fun = "neighbors", range = c(1, 50)))))

#' @rdname caret_model
#' @param mode for `parsnip_model()` and `mlr3_learner()`: `"regression"`, or `"classification"` for `knn_fit()` of a
#'   factor
#' @export
parsnip_model <- function(model = c("gp_fit", "kernel_ridge", "knn_fit"), mode = "regression", ...) {
  model <- choice_of(model[1], names(parsnip_rows), "model")
  row <- parsnip_rows[[model]]
  mode <- choice_of(mode, row$modes, "mode")
  more <- list(...)
  known <- c(row$tuned$parsnip, setdiff(formula_arguments(model), row$tuned$original))
  check_parameter_names(names(more) %or% rep("", length(more)), known, model)
  register_parsnip(model, row)
  quoted <- lapply(more, from_package("rlang", "new_quosure"), globalenv())
  main <- names(quoted) %in% row$tuned$parsnip
  of_parsnip("new_model_spec")(row$model, args = quoted[main], eng_args = quoted[!main], mode = mode, method = NULL,
                               engine = "kernweave")
}

# Returns the arguments of a formula method that are neither data nor weights.
formula_arguments <- function(model) {
  taken <- c("x", "data", "subset", "...", if (model != "knn_fit") "weights")
  setdiff(names(formals(get(paste0(model, ".formula"), asNamespace("kernweave")))), taken)
}

# Returns a function of a suggested package.
from_package <- function(package, name) {
  if (!requireNamespace(package, quietly = TRUE)) abort("input", "the ", package, " package is not installed")
  getExportedValue(package, name)
}
of_parsnip <- function(name) from_package("parsnip", name)

# Registers a model, or an engine of an existing model, once.
register_parsnip <- function(fit, row) {
  model <- row$model
  known <- of_parsnip("get_from_env")
  if (!model %in% known("models")) of_parsnip("set_new_model")(model)
  if ("kernweave" %in% known(model)$engine) return(invisible())
  none <- list(predictor_indicators = "none", compute_intercept = FALSE, remove_intercept = FALSE,
               allow_sparse_x = FALSE)
  for (mode in row$modes) {
    of_parsnip("set_model_mode")(model, mode)
    of_parsnip("set_model_engine")(model, mode, "kernweave")
  }
  of_parsnip("set_dependency")(model, "kernweave", "kernweave")
  if (!is.null(row$tuned)) {
    do.call(of_parsnip("set_model_arg"), c(list(model, "kernweave"), row$tuned, list(has_submodel = FALSE)))
  }
  for (mode in row$modes) {
    of_parsnip("set_fit")(model, mode, "kernweave", list(
      interface = "formula", data = c(formula = "x", data = "data"), protect = c("x", "data"),
      func = c(pkg = "kernweave", fun = fit), defaults = list()))
    of_parsnip("set_encoding")(model, mode, "kernweave", none)
    predictions <- parsnip_predictions(fit, mode)
    for (type in names(predictions)) of_parsnip("set_pred")(model, mode, "kernweave", type, predictions[[type]])
  }
}

parsnip_predictions <- function(fit, mode) {
  how <- function(..., post = NULL) {
    list(pre = NULL, post = post, func = c(fun = "predict"),
         args = list(object = quote(object$fit), newdata = quote(new_data), ...))
  }
  if (mode == "classification") {
    prob <- function(results, object) as_tidy(results, check.names = FALSE, row.names = NULL)
    return(list(class = how(), prob = how(type = "prob", post = prob), raw = how()))
  }
  ends <- function(results, object) as_tidy(.pred_lower = unname(results[, 2]), .pred_upper = unname(results[, 3]))
  c(list(numeric = how(), raw = how()),
    if (fit != "knn_fit") list(conf_int = how(interval = "confidence", level = quote(level), post = ends),
                               pred_int = how(interval = "prediction", level = quote(level), post = ends)))
}
