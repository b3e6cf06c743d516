# Methods for the insight package, on which the packages of easystats are built: formulas and predictions.

# The trend takes the place of the formula of lm(), the inputs of the kernel that of a correlation structure of
# nlme::gls(), and grouped effects that of random effects of lme4::lmer().
#' @exportS3Method insight::find_formula
find_formula.gp_fit <- function(x, verbose = TRUE, ...) {
  if (is.null(x$terms)) return(NULL)
  trend <- stats::formula(x$trend$terms)
  trend[2:3] <- list(stats::formula(x)[[2]], trend[[2]])
  bars <- lapply(x$trend$groups, function(term) {
    stats::as.formula(call("~", call("|", term$terms[[2]], term$expression)), environment(trend))
  })
  random <- if (length(bars)) list(random = if (length(bars) == 1) bars[[1]] else unname(bars))
  inputs <- if (!has_no_input(x)) list(correlation = stats::formula(input_terms(x)))
  structure(c(list(conditional = trend), random, inputs),
            class = c("insight_formula", "list"))
}

# Tests of trend coefficients use the normal distribution, tests of a linear model Student's t.
#' @exportS3Method insight::get_statistic
get_statistic.gp_fit <- function(x, ...) {
  beta <- coef(x)
  structure(data.frame(Parameter = names(beta) %or% character(), Statistic = unname(beta / sqrt(diag(x$vcov)))),
            statistic = if (is.finite(trend_freedom(x))) "t-statistic" else "z-statistic")
}

#' @exportS3Method insight::get_df
get_df.gp_fit <- function(x, type = "residual", ...) {
  type <- choice_of(type[1], c("residual", "normal", "wald", "model"), "type")
  switch(type, residual = stats::df.residual(x), model = attr(logLik(x), "df"), wald = trend_freedom(x), Inf)
}

#' @exportS3Method insight::get_loglikelihood
get_loglikelihood.gp_fit <- function(x, ...) logLik(x)

# Fits of classes have no family, and are not linear models.
#' @exportS3Method insight::model_info
model_info.knn_fit <- function(x, ...) {
  info <- NextMethod()
  if (!is.factor(x$y)) return(info)
  two <- nlevels(x$y) == 2
  kinds <- if (two) c("is_binomial", "is_bernoulli") else c("is_multinomial", "is_categorical")
  info[c("is_linear", kinds)] <- list(FALSE, TRUE, TRUE)
  replace(info, "family", if (two) "binomial" else "multinomial")
}

# Words of insight and the corresponding types of predict().
insight_types <- c(expectation = "response", expected = "response", response = "response", link = "link",
                   prediction = "response", predicted = "response", classification = "class")

#' @exportS3Method insight::get_predicted
get_predicted.kernweave_fit <- function(x, data = NULL, predict = "expectation", ci = NULL, ...) {
  predict <- choice_of(predict[1], names(insight_types), "predict")
  type <- insight_types[[predict]]
  of_classes <- is.factor(x[["y"]])
  if (of_classes != (type == "class")) {
    abort("unsupported", if (of_classes) "classes are predicted by predict = \"classification\""
                         else "the response has no classes: predict = \"expectation\" has its means")
  }
  known <- names(formals(utils::getS3method("predict", class(x)[1])))
  arguments <- list(x, data)
  if ("type" %in% known && type %in% c("link", "class")) arguments$type <- type
  found <- if (!is.null(ci)) predicted_ends(x, arguments, ci, known, predict %in% c("prediction", "predicted"))
           else list(fit = do.call(stats::predict, arguments))
  if (!is.null(dim(found$fit))) abort("unsupported", "get_predicted() is of one response, not of ", ncol(found$fit))
  kind <- if (of_classes) "factor" else "numeric"
  structure(found$fit, ci_data = found$ends, data = data %or% insight::get_data(x, verbose = FALSE), ci = ci,
            predict = predict, class = c("get_predicted", kind))
}

# Returns predictions with standard errors and interval bounds, under the names of insight.
predicted_ends <- function(x, arguments, ci, known, of_observation) {
  if (!"interval" %in% known) {
    abort("unsupported", "predictions of a ", class(x)[1], " have no intervals: leave out `ci`")
  }
  each <- lapply(ci, function(level) {
    interval <- if (of_observation) "prediction" else "confidence"
    do.call(stats::predict, c(arguments, list(se.fit = TRUE, interval = interval, level = level)))
  })
  ends <- do.call(cbind, lapply(each, function(one) one$fit[, 2:3, drop = FALSE]))
  colnames(ends) <- paste0(c("CI_low", "CI_high"), if (length(ci) > 1) paste0("_", rep(ci, each = 2)))
  se <- each[[1]]$se.fit
  if (of_observation) se <- if (is.null(x$family)) sqrt(se^2 + each[[1]]$residual.scale^2)
  fit <- each[[1]]$fit
  list(fit = stats::setNames(fit[, 1], rownames(fit)),
       ends = data.frame(c(if (!is.null(se)) list(SE = as.vector(se)), as.data.frame(ends)), row.names = NULL,
                         check.names = FALSE))
}
