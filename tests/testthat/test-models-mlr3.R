# The contract of mlr3: a learner is an R6 object with methods .train() and .predict() of a task.

skip_below("usual")
skip_if_not_installed("R6")

# The base classes, with the checks of their constructor, and what train() and predict() do with a learner's methods;
# and parameter sets as paradox makes them.
learners <- "
orders <- list(feature_types = c('logical', 'integer', 'numeric', 'character', 'factor', 'ordered', 'POSIXct'),
               regr = list(types = c('response', 'se'), properties = c('weights', 'missings', 'importance')),
               classif = list(types = c('response', 'prob'), properties = c('weights', 'twoclass', 'multiclass')))
in_order <- function(x, of) stopifnot(x %in% of, !is.unsorted(match(x, of)))
make_base <- function(name, kind) {
  R6::R6Class(name, public = list(
    id = NULL, param_set = NULL, predict_types = NULL, predict_type = NULL, feature_types = NULL, packages = NULL,
    model = NULL, man = NULL,
    initialize = function(id, param_set, predict_types = 'response', feature_types = character(),
                          properties = character(), packages = character(), label = NA_character_,
                          man = NA_character_) {
      in_order(feature_types, orders$feature_types)
      in_order(predict_types, orders[[kind]]$types)
      stopifnot(properties %in% orders[[kind]]$properties, inherits(param_set, 'ParamSet'), is.character(id))
      self$id <- id
      self$param_set <- param_set
      self$predict_types <- predict_types
      self$predict_type <- predict_types[1]
      self$packages <- union('mlr3', packages)
      self$man <- man
    },
    train = function(task) {
      self$model <- private$.train(task)
      invisible(self)
    },
    predict = function(task) private$.predict(task)))
}
LearnerRegr <- make_base('LearnerRegr', 'regr')
LearnerClassif <- make_base('LearnerClassif', 'classif')
"
parameters <- "
p_int <- function(lower = -Inf, upper = Inf, special_vals = list(), default, tags = character()) {
  list(lower, upper, tags)
}
p_dbl <- p_int
p_uty <- function(custom_check = NULL, special_vals = list(), default, tags = character()) list(-Inf, Inf, tags)
ps <- function(...) {
  of <- list(...)
  stopifnot(!anyDuplicated(names(of)))
  Set <- R6::R6Class('ParamSet', active = list(values = function(v) {
    if (missing(v)) return(private$.values)
    stopifnot(names(v) %in% names(of))
    for (name in names(v)) {
      if (is.numeric(v[[name]])) stopifnot(v[[name]] >= of[[name]][[1]], v[[name]] <= of[[name]][[2]])
    }
    private$.values <- v
  }), public = list(ids = function() names(of), get_values = function(tags = NULL) {
    private$.values[vapply(names(private$.values), function(name) all(tags %in% of[[name]][[3]]), NA)]
  }), private = list(.values = list()))
  Set$new()
}
"
is_here <- c("mlr3", "paradox") %in% loadedNamespaces()
skip_if(any(is_here), "mlr3 itself is here")
load_stand_in("mlr3", stand_in("mlr3", learners, "LearnerRegr, LearnerClassif"))
load_stand_in("paradox", stand_in("paradox", parameters))

# A task as mlr3 has it: its data by columns, its formula, the names of its features and its target.
task_of <- function(data, target) {
  features <- setdiff(names(data), target)
  list(data = function(cols = c(target, features)) tibble::as_tibble(data[cols]), feature_names = features,
       formula = function(rhs = NULL) stats::reformulate(features, target), target_names = target)
}

test_that("a learner is the fit, with standard errors, for new rows, and in a copy", {
  learner <- mlr3_learner("gp_fit", kernel = kernel_spec("matern32", scale = 3), variance = 400, nugget = 200)
  learner$train(task_of(cars, "dist"))
  ours <- gp_fit(dist ~ speed, cars, kernel = kernel_spec("matern32", scale = 3), variance = 400, nugget = 200)
  new <- task_of(data.frame(speed = 7:9, dist = 0), "dist")
  expected <- predict(ours, data.frame(speed = 7:9), se.fit = TRUE)
  expect_equal(learner$predict(new), list(response = unname(expected$fit)), tolerance = 1e-12)
  learner$predict_type <- "se"
  expect_identical(learner$predict(new), list(response = unname(expected$fit), se = unname(expected$se.fit)))
  expect_identical(learner$clone(deep = TRUE)$predict(new), learner$predict(new))
  expect_identical(c(learner$id, learner$packages), c("regr.gp_fit", "mlr3", "kernweave"))
  places <- quakes[1:40, c("long", "lat", "stations", "mag")]
  of_places <- mlr3_learner("gp_fit", inputs = c("long", "lat"), kernel = kernel_spec("matern32", scale = 3),
                            trend = ~stations, variance = 0.1, nugget = 0.05)
  of_places$train(task_of(places, "mag"))
  same <- gp_fit(mag ~ long + lat, places, trend = ~stations, kernel = kernel_spec("matern32", scale = 3),
                 variance = 0.1, nugget = 0.05)
  expect_equal(of_places$predict(task_of(quakes[41:45, names(places)], "mag"))$response,
               unname(predict(same, quakes[41:45, ])))
})

test_that("classes have predictions and shares of votes", {
  learner <- mlr3_learner("knn_fit", mode = "classification", k = 7)
  learner$train(task_of(iris, "Species"))
  ours <- knn_fit(Species ~ ., iris, k = 7)
  new <- iris[c(1, 71, 120), ]
  expect_identical(learner$predict(task_of(new, "Species"))$response, unname(predict(ours, new)))
  learner$predict_type <- "prob"
  expect_equal(learner$predict(task_of(new, "Species"))$prob, predict(ours, new, type = "prob"), ignore_attr = TRUE)
  expect_identical(colnames(learner$predict(task_of(new, "Species"))$prob), levels(iris$Species))
})

test_that("parameters are those of the fit", {
  learner <- mlr3_learner("kernel_ridge", lambda = 0.5)
  expect_true(all(c("lambda", "kernel", "control") %in% learner$param_set$ids()))
  expect_false(any(c("x", "data", "subset", "weights") %in% learner$param_set$ids()))
  expect_error(learner$param_set$values <- list(lambda = -1))
  learner$param_set$values <- list(lambda = 2, kernel = "matern52")
  learner$train(task_of(cars, "dist"))
  expect_identical(fitted(learner$model), fitted(kernel_ridge(dist ~ speed, cars, lambda = 2, kernel = "matern52")))
  expect_error(mlr3_learner("kernel_ridge", kernal = 1), "did you mean `kernel`", class = "kernweave_error_input")
  expect_error(mlr3_learner("gp_fit", mode = "classification"), "mode", class = "kernweave_error_input")
})

# Other files of tests have nothing of it.
for (package in c("mlr3", "paradox")) unloadNamespace(package)
