# Fits as learners of the mlr3 package.

#' @rdname caret_model
#' @param inputs for `mlr3_learner()`: names of the features that are inputs of the fit; `NULL` for all
#' @export
mlr3_learner <- function(model = c("gp_fit", "kernel_ridge", "knn_fit"), mode = "regression", inputs = NULL, ...) {
  model <- choice_of(model[1], names(parsnip_rows), "model")
  mode <- choice_of(mode, parsnip_rows[[model]]$modes, "mode")
  more <- list(...)
  check_parameter_names(names(more) %or% rep("", length(more)), formula_arguments(model), model)
  # R6 evaluates the name of the base class here, and puts the methods below into an environment of the learner's.
  base <- from_package("mlr3", if (mode == "regression") "LearnerRegr" else "LearnerClassif")
  train <- function(task) {
    formula <- task$formula()
    if (!is.null(inputs)) formula[[3]] <- stats::reformulate(sprintf("`%s`", inputs))[[2]]
    do.call(get(model), c(list(formula, as.data.frame(task$data())), get("self")$param_set$get_values(tags = "train")))
  }
  methods <- list(.train = train, .predict = function(task) learner_predictions(get("self"), task, mode))
  begin <- function() do.call(get("super")$initialize, learner_facts(model, mode))
  learner <- from_package("R6", "R6Class")("LearnerKernweave", inherit = base, parent_env = environment(),
                                           public = list(initialize = begin), private = methods)
  made <- learner$new()
  made$param_set$values <- more
  made
}

# Tuning parameters have a range; other parameters are untyped.
learner_facts <- function(model, mode) {
  p <- function(name, ...) from_package("paradox", name)(..., tags = "train")
  parameters <- lapply(stats::setNames(nm = formula_arguments(model)), function(name) {
    if (name == "k") p("p_int", lower = 1) else if (name == "lambda") p("p_dbl", lower = 0) else p("p_uty")
  })
  numeric <- mode == "regression"
  list(id = paste0(if (numeric) "regr." else "classif.", model),
       param_set = do.call(from_package("paradox", "ps"), parameters),
       predict_types = c("response", if (!numeric) "prob" else if (model != "knn_fit") "se"),
       feature_types = c("logical", "integer", "numeric", "factor", "ordered"),
       properties = if (numeric) character() else c("twoclass", "multiclass"), packages = "kernweave",
       man = "kernweave::caret_model")
}

learner_predictions <- function(learner, task, mode) {
  new <- as.data.frame(task$data(cols = task$feature_names))
  if (mode == "regression" && learner$predict_type == "se") {
    found <- stats::predict(learner$model, new, se.fit = TRUE)
    return(list(response = unname(found$fit), se = unname(found$se.fit)))
  }
  if (learner$predict_type == "prob") return(list(prob = stats::predict(learner$model, new, type = "prob")))
  list(response = unname(stats::predict(learner$model, new)))
}
