# The contract of parsnip: what a package may register there, and how fits and predictions are called by it.

skip_below("usual")
skip_if_not_installed("rlang")

# The functions for packages with models of their own ("How to build a parsnip model"), with the checks of their
# arguments, a fit by formula and data, and predictions by what was registered.
contract <- "
world <- new.env()
get_from_env <- function(items) get0(items, envir = world, inherits = FALSE)
put <- function(name, value) assign(name, value, envir = world)
append_row <- function(name, ...) put(name, rbind(get_from_env(name), data.frame(..., stringsAsFactors = FALSE)))
keep <- function(model, part, mode, eng, value) {
  key <- paste(model, part, mode, eng)
  stopifnot(is.null(get_from_env(key)) || isTRUE(all.equal(get_from_env(key), value)))
  put(key, value)
}
known_model <- function(model) stopifnot(is.character(model), length(model) == 1, model %in% get_from_env('models'))
put('models', 'nearest_neighbor')
put('nearest_neighbor', data.frame(engine = 'kknn', mode = c('classification', 'regression')))
put('nearest_neighbor_modes', c('unknown', 'classification', 'regression'))

set_new_model <- function(model) {
  stopifnot(!model %in% get_from_env('models'))
  put('models', c(get_from_env('models'), model))
  put(paste0(model, '_modes'), 'unknown')
}
set_model_mode <- function(model, mode) {
  known_model(model)
  put(paste0(model, '_modes'), union(get_from_env(paste0(model, '_modes')), mode))
}
set_model_engine <- function(model, mode, eng) {
  known_model(model)
  stopifnot(mode %in% get_from_env(paste0(model, '_modes')))
  append_row(model, engine = eng, mode = mode)
}
set_dependency <- function(model, eng, pkg = 'parsnip', mode = NULL) {
  stopifnot(eng %in% get_from_env(model)$engine)
  append_row(paste0(model, '_pkgs'), engine = eng, pkg = pkg)
}
check_func <- function(func) {
  stopifnot('fun' %in% names(func), names(func) %in% c('fun', 'pkg', 'range', 'trans', 'values'))
}
set_model_arg <- function(model, eng, parsnip, original, func, has_submodel) {
  known_model(model)
  check_func(func)
  stopifnot(is.logical(has_submodel))
  append_row(paste0(model, '_args'), engine = eng, parsnip = parsnip, original = original)
}
check_place <- function(model, mode, eng) {
  engines <- get_from_env(model)
  stopifnot(sum(engines$engine == eng & engines$mode == mode) == 1)
}
set_fit <- function(model, mode, eng, value) {
  check_place(model, mode, eng)
  stopifnot(c('defaults', 'func', 'interface', 'protect') %in% names(value), is.list(value$defaults),
            value$interface %in% c('data.frame', 'formula', 'matrix'))
  check_func(value$func)
  keep(model, 'fit', mode, eng, value)
}
set_encoding <- function(model, mode, eng, options) {
  check_place(model, mode, eng)
  stopifnot(setequal(names(options), c('predictor_indicators', 'compute_intercept', 'remove_intercept',
                                       'allow_sparse_x')))
  keep(model, 'encoding', mode, eng, options)
}
set_pred <- function(model, mode, eng, type, value) {
  check_place(model, mode, eng)
  stopifnot(type %in% c('raw', 'numeric', 'class', 'prob', 'conf_int', 'pred_int', 'quantile', 'linear_pred'),
            identical(sort(names(value)), c('args', 'func', 'post', 'pre')), is.list(value$args))
  check_func(value$func)
  keep(model, paste('predict', type), mode, eng, value)
}
new_model_spec <- function(cls, args, eng_args, mode, user_specified_mode = TRUE, method, engine,
                           user_specified_engine = TRUE) {
  check_place(cls, mode, engine)
  stopifnot(vapply(c(args, eng_args), rlang::is_quosure, NA))
  structure(list(args = args, eng_args = eng_args, mode = mode, method = method, engine = engine),
            class = c(cls, 'model_spec'))
}
fit <- function(object, formula, data) {
  model <- class(object)[1]
  how <- get_from_env(paste(model, 'fit', object$mode, object$engine))
  keys <- get_from_env(paste0(model, '_args'))
  args <- lapply(object$args, rlang::eval_tidy)
  names(args) <- keys$original[match(names(args), keys$parsnip)]
  stopifnot(!names(object$eng_args) %in% how$protect)
  args <- c(args, lapply(object$eng_args, rlang::eval_tidy), how$defaults)
  args[[how$data[['formula']]]] <- formula
  args[[how$data[['data']]]] <- quote(data)
  called <- rlang::call2(how$func[['fun']], !!!args, .ns = how$func[['pkg']])
  list(spec = object, fit = eval(called, list(data = data)), lvl = levels(data[[all.vars(formula)[1]]]))
}
predicted <- function(object, new_data, type, level = 0.95) {
  spec <- object$spec
  how <- get_from_env(paste(class(spec)[1], 'predict', type, spec$mode, spec$engine))
  new_data <- if (is.null(how$pre)) new_data else how$pre(new_data, object)
  found <- eval(rlang::call2(how$func[['fun']], !!!how$args))
  if (is.null(how$post)) found else how$post(found, object)
}
"
library_of_it <- if (!"parsnip" %in% loadedNamespaces()) stand_in("parsnip", contract)
their <- asNamespace(load_stand_in("parsnip", library_of_it))
skip_if(is.null(their$predicted), "the parsnip package itself is here")

test_that("a kernel ridge regression is the model that its specification names", {
  spec <- parsnip_model("kernel_ridge", penalty = 0.3, kernel = "matern32")
  found <- their$fit(spec, dist ~ speed, cars)
  ours <- kernel_ridge(dist ~ speed, cars, lambda = 0.3, kernel = "matern32")
  new <- tibble::tibble(speed = 7:9)
  expect_identical(their$predicted(found, new, "numeric"), predict(ours, new))
  for (kind in c(conf_int = "confidence", pred_int = "prediction")) {
    type <- c(confidence = "conf_int", prediction = "pred_int")[[kind]]
    ends <- their$predicted(found, new, type, level = 0.8)
    expected <- predict(ours, new, interval = kind, level = 0.8)
    expect_equal(as.data.frame(ends), data.frame(.pred_lower = expected[, 2], .pred_upper = expected[, 3]),
                 ignore_attr = "row.names")
  }
  expect_identical(their$get_from_env("kernel_regression_args")[1, ],
                   data.frame(engine = "kernweave", parsnip = "penalty", original = "lambda"))
})

test_that("a Gaussian process has a trend of variables of the data, and registers once", {
  data <- quakes[1:60, ]
  kernel <- kernel_spec("matern32", scale = 3)
  arguments <- list(trend = ~stations, kernel = kernel, variance = 0.1, nugget = 0.05)
  spec <- do.call(parsnip_model, c("gp_fit", arguments))
  again <- do.call(parsnip_model, c("gp_fit", arguments))
  expect_identical(class(again), c("gaussian_process", "model_spec"))
  expect_identical(sum(their$get_from_env("models") == "gaussian_process"), 1L)
  found <- their$fit(spec, mag ~ long + lat, data)
  ours <- do.call(gp_fit, c(list(mag ~ long + lat, data), arguments))
  expect_identical(their$predicted(found, quakes[61:70, ], "numeric"), predict(ours, quakes[61:70, ]))
  expect_identical(their$predicted(found, quakes[61:70, ], "raw"), predict(ours, quakes[61:70, ]))
})

test_that("nearest neighbours join those that parsnip has, for numbers and classes", {
  spec <- parsnip_model("knn_fit", mode = "classification", neighbors = 7, weights = "inverse")
  found <- their$fit(spec, Species ~ ., iris)
  ours <- knn_fit(Species ~ ., iris, k = 7, weights = "inverse")
  new <- iris[c(1, 71, 120), ]
  expect_identical(their$predicted(found, new, "class"), predict(ours, new))
  shares <- their$predicted(found, new, "prob")
  expect_identical(names(shares), found$lvl)
  expect_equal(as.matrix(shares), predict(ours, new, type = "prob"), ignore_attr = TRUE)
  numbers <- their$fit(parsnip_model("knn_fit", neighbors = 3), dist ~ speed, cars)
  ours <- knn_fit(dist ~ speed, cars, k = 3)
  expect_identical(their$predicted(numbers, cars[1:3, ], "numeric"), predict(ours, cars[1:3, ]))
  expect_true("kknn" %in% their$get_from_env("nearest_neighbor")$engine)
})

test_that("arguments are known, and what is to be tuned stays a call", {
  spec <- parsnip_model("kernel_ridge", penalty = quote(tune()))
  expect_identical(getExportedValue("rlang", "quo_get_expr")(spec$args$penalty), quote(tune()))
  expect_error(parsnip_model("kernel_ridge", lambda = 1), "no parameter `lambda`", class = "kernweave_error_input")
  expect_error(parsnip_model("gp_fit", kernal = 1), "did you mean `kernel`", class = "kernweave_error_input")
  expect_error(parsnip_model("gp_fit", mode = "classification"), "mode", class = "kernweave_error_input")
})

# Other files of tests have nothing of it.
unloadNamespace("parsnip")
