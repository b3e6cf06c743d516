# Scores of predictive distributions: for fits, for cross-validation, for several fits.

#' Scores of predictions
#'
#' Scores the predictions of a fit and their uncertainty. The predictions are for new rows, for the rows of the fit
#' (each predicted from all others), or for the rows that [cross_validate()] left out. Use the scores to compare models
#' of any kind, and to check whether prediction intervals have the coverage that they should have.
#'
#' Each observation y has a predictive distribution F, which includes the noise. Smaller scores are better, but for
#' `coverage` and `bias`:
#'
#' | column | mean of |
#' |---|---|
#' | `logs` | minus the log density of y (logarithmic score) |
#' | `crps` | the integral of (F(x) - 1\{x >= y\})^2 over x (continuous ranked probability score), in units of y |
#' | `interval_score` | the length of the interval, plus 2 / (1 - level) times the distance of y from it |
#' | `coverage` | 1 if y is in the interval: it should be `level` |
#' | `rmse` | the square of y minus its prediction, which is the mean of F; `rmse` is the root of the mean square |
#' | `mae` | the absolute value of y minus its prediction |
#' | `bias` | the prediction minus y: positive where predictions are too large |
#'
#' The first three are proper scores: on average the true distribution has the smallest score. For a prediction without
#' uncertainty `crps` is the absolute error, comparable to `mae`. For two classes `crps` is the Brier score, and there
#' is no interval. `crps` may be compared between a density and probabilities of counts; `logs` may not.
#'
#' For [gp_fit()] and [kernel_ridge()] F is normal, as for [elpd()]. With a `family` of [gp_fit()] F is the distribution
#' of the family, averaged over the normal distribution of the linear predictor. Without `newdata`, a fit is scored by
#' leave-one-out predictions with the covariance parameters or `lambda` of all observations. See [rstandard.gp_fit()],
#' also for fits of many rows, whose standard deviations are computed from neighbours.
#'
#' @section Standard errors:
#' Columns that end in `.se` have standard errors of the means, as if rows were independent. The standard error of
#' `rmse` is by the delta method. If errors of neighbouring points are alike, these standard errors are too small. With
#' blocks of points in `by`, the standard errors for `all` rows are computed over blocks, which may be of different
#' sizes. Folds of [cross_validate()] are such blocks. With few blocks the standard errors are rough.
#'
#' @param object what [gp_fit()], [kernel_ridge()] or [cross_validate()] returned, or a list of such objects, with names
#'   or without, to compare them on the same observations
#' @param newdata new rows, as for `predict()`: if the fit was made from a formula, a data frame that has the response,
#'   too. Rows with missing values are left out
#' @param level level of the prediction interval; for `cross_validate()` the level is given there
#' @param by `NULL`, or a factor or vector with a block for each row, scored block by block
#' @param y the response at `newdata`, if the fit was made from points
#' @param weights weights of the rows of `newdata`: by default the weights named in the call of the fit, or 1
#' @param ... for `newdata`: arguments of `predict()`, such as `method = "local"`
#' @return A data frame of class `predictive_scores`: `n`, the scores and their standard errors. It has a row for each
#'   block, if there are any, and then a row for `all` observations. The attribute `rows` has the scores of each
#'   observation. For a list there is a row per fit; `tidy()` of the generics package and the attribute `differences`
#'   have the differences to the first fit, with standard errors of paired differences. `accuracy()` of the generics
#'   package returns the same scores as a plain data frame.
#' @references Gneiting, T. and Raftery, A. E. (2007) Strictly proper scoring rules, prediction, and estimation. Journal
#'   of the American Statistical Association 102, 359-378.
#' @seealso [elpd()], the sum of `-logs` with corrections for many rows; [cross_validate()]
#' @concept continuous ranked probability score
#' @concept log score
#' @concept Brier score
#' @concept interval score and coverage
#' @concept model comparison
#' @export
#' @examples
#' some <- quakes[seq(1, 1000, by = 5), ]
#' fit <- gp_fit(depth ~ long + lat, some, kernel = "matern32")
#' predictive_scores(fit)
#' predictive_scores(fit, quakes[seq(2, 1000, by = 5), ])
#' # which of two predicts better, far from its data?
#' smooth <- update(fit, kernel = "gaussian")
#' folds <- function(fit) cross_validate(fit, by = "place", seed = 1)
#' predictive_scores(list(rough = folds(fit), smooth = folds(smooth)))
predictive_scores <- function(object, newdata = NULL, level = 0.9, by = NULL, y = NULL, weights = NULL, ...) {
  check_level(level)
  if (is.null(newdata)) {
    if (!is.null(y) || !is.null(weights)) abort("input", "`y` and `weights` are those of `newdata`, which is not given")
    refuse_more(...)
  }
  if (inherits(newdata, c("kernweave_fit", "cross_validate"))) {
    texts <- fit_texts(call("list", substitute(object), substitute(newdata)))
    abort("input", "`newdata` is ", describe(newdata), ": several fits are a list, the `object`, as in ",
          "predictive_scores(list(", toString(texts), "))")
  }
  several <- is.list(object) && !is.object(object)
  fits <- if (several) object else list(object)
  if (several) {
    if (!length(fits)) abort("input", "`object` is a list of no fits")
    call <- substitute(object)
    listed <- is.call(call) && identical(call[[1]], quote(list)) && length(call) == length(fits) + 1
    texts <- if (listed) fit_texts(call) else paste("model", seq_along(fits))
    given <- names(fits) %or% rep("", length(fits))
    names(fits) <- make.unique(ifelse(nzchar(given), given, texts))
  }
  level <- level_of_tables(fits, level, missing(level))
  each <- lapply(fits, function(fit) scored_rows(fit, newdata, level, y, weights, ...))
  if (several) return(compared_scores(each, level, by))
  rows <- each[[1]]$rows
  labels <- if (is.null(by)) each[[1]]$fold else block_labels(by, each[[1]])
  all <- list(all = rows)
  parts <- if (is.null(labels)) all else c(split(rows, labels), all)
  table <- do.call(rbind, lapply(parts, mean_scores, level = level))
  if (!is.null(labels)) table[nrow(table), ] <- mean_scores(rows, level, labels)
  new_scores(table, each, level, title = paste0("Scores of a ", each[[1]]$what, ", ", each[[1]]$how),
             blocks = !is.null(labels))
}

new_scores <- function(table, each, level, ...) {
  rows <- lapply(each, function(one) data.frame(one$rows, row_scores(one$rows, level)))
  structure(table, ..., level = level, rows = if (length(rows) == 1) rows[[1]] else rows,
            dropped = each[[1]]$dropped, class = c("predictive_scores", "data.frame"))
}

level_of_tables <- function(fits, level, by_default) {
  own <- unlist(lapply(fits, function(fit) if (inherits(fit, "cross_validate")) attr(fit, "level")))
  if (by_default && length(unique(own)) == 1) level <- own[[1]]
  other <- own[own != level]
  if (length(other)) {
    abort("value", "the table of cross_validate() has intervals of level ", other[1], ", not ", level,
          ": give that level there")
  }
  level
}

# --- rows -----------------------------------------------------------------------------------------------------

# Returns the scored rows of a fit or table: `rows`, outcomes and predictive distributions; `at`, their row numbers
# among `total` rows; `dropped`, rows with missing values; `fold`, of a table; and texts.
scored_rows <- function(object, newdata, level, y, weights, ...) {
  if (inherits(object, "cross_validate")) return(scored_table(object, newdata))
  if (inherits(object, c("local_reg", "knn_fit"))) {
    abort("unsupported", "a ", class(object)[1], " is scored by what it leaves out: predictive_scores(cross_validate(",
          "fit))")
  }
  if (!inherits(object, c("gp_fit", "kernel_ridge"))) {
    abort("input", "`object` must be what gp_fit(), kernel_ridge() or cross_validate() returned, or a list of these, ",
          "not ", describe(object))
  }
  if (inherits(object, "kernel_ridge")) refuse_many_of(object, "scores are")
  refuse_responses(object, "predictive_scores()", "elpd() has the log densities of single numbers")
  if (inherits(object, "kernel_ridge") && !is.null(object$family)) {
    abort("unsupported", "kernel_ridge() with a family has no predictive distribution: its standard errors are those ",
          "of noise alone; gp_fit(family = ) has one")
  }
  found <- if (is.null(newdata)) scored_left_out(object, level)
           else scored_new(object, newdata, level, y, weights, ...)
  c(found, list(what = class(object)[1]))
}

scored_table <- function(table, newdata) {
  if (!is.null(newdata)) abort("input", "a table of cross_validate() has its rows already, and `newdata` is given")
  if (is.null(table$.crps)) {
    abort("unsupported", "classes of several levels are scored by summary(), which has errors and `elpd`")
  }
  scored <- attr(table, "scored")
  if (!identical(scored$fitted, table$.fitted)) scored <- list(NULL, at = seq_len(nrow(table)), total = nrow(table))
  rows <- data.frame(observed = table$.observed, fitted = table$.fitted, se = table$.se,
                     logs = -table$.lpd, crps = table$.crps, lower = table$.lower, upper = table$.upper,
                     row.names = row.names(table))
  c(list(rows = rows, fold = droplevels(table$.fold), what = "cross-validation",
         how = paste(rows_in_words(rows), "of", counted(length(unique(table$.fold)), "fold"))), scored[-1])
}

scored_left_out <- function(fit, level) {
  at <- heavy_of(fit)
  rows <- if (is.null(fit$family)) {
    found <- influence_of(fit)
    y <- response_of(fit)[at, 1]
    normal_outcomes(y, y - found$loo[, 1], found$sd[, 1], level)
  } else {
    link <- loo_predictor(fit)
    y <- fit$data$response
    family_outcomes(fit$data$family, y[, "y"], y[, "a"], link$mean, link$variance, level)
  }
  row.names(rows) <- make.unique(case.names(fit))
  c(list(rows = rows, how = paste(rows_in_words(rows), "left out one by one")), places_of_rows(fit))
}

rows_in_words <- function(rows) counted(format(nrow(rows), big.mark = ","), "row")

scored_new <- function(fit, newdata, level, y, weights, ...) {
  newdata <- places_like(newdata, fit$places)
  given <- !is.null(y)
  if (!given) y <- response_in(fit, newdata)
  family <- family_at(fit, new_parameters(fit, newdata))
  if (!is.null(family$read)) y <- family$read(y)
  link <- if (is.null(fit$family)) predict(fit, newdata, se.fit = TRUE, ...)
          else predict(fit, newdata, se.fit = TRUE, type = "link", ...)
  n <- length(link$fit)
  if (NROW(y) != n) {
    abort("shape", if (given) "`y` has " else "the response has ", counted(NROW(y), "row"), ", and `newdata` ", n)
  }
  a <- if (is.null(weights)) weights_in(fit, newdata, n) else fit_weights(weights, n)
  known <- !is.na(link$fit) & stats::complete.cases(y) & !is.na(a) & known_parameters(family, n)
  if (!any(known)) abort("data", "`newdata` has no row without missing values, of ", counted(n, "row"))
  response <- new_response(fit, if (is.null(dim(y))) y[known] else y[known, , drop = FALSE], a[known])
  heavy <- response$a > 0
  at <- which(known)[heavy]
  y <- response$y[heavy]
  a <- response$a[heavy]
  mean <- unname(link$fit[at])
  se <- unname(link$se.fit[at])
  rows <- if (is.null(fit$family)) normal_outcomes(y, mean, sqrt(se^2 + fit$sigma[1]^2 / a), level)
          else family_outcomes(family_of_rows(family, at), y, a, mean, se^2, level)
  row.names(rows) <- make.unique(as.character(names(link$fit) %or% seq_len(n))[at])
  list(rows = rows, at = at, total = n, dropped = which(!known),
       how = sub("row", "new row", rows_in_words(rows)))
}

# Evaluates the left side of the fit's formula in new data. Constants may be found elsewhere, but variables with a value
# for each row must be in the new data.
response_in <- function(fit, newdata) {
  if (is.null(fit$terms)) abort("input", "the fit was made from points: give `y`, the response at `newdata`")
  response <- stats::formula(fit$terms)[[2]]
  where <- environment(fit$terms)
  newdata <- new_frame(newdata)
  absent <- absent_from(newdata, response, where)
  if (length(absent)) {
    abort("data", "`newdata` has no variable `", absent[1], "`, the response, to which predictions are compared",
          near_hint(absent[1], names(newdata)))
  }
  found_variables(eval(response, newdata, where), newdata, "`newdata`")
}

absent_from <- function(data, expression, where) {
  Filter(function(name) {
    beside <- get0(name, where)
    !name %in% names(data) && (is.null(beside) || is.function(beside) || NROW(beside) != 1)
  }, all.vars(expression))
}

# Returns weights of new observations: 1, as in predict(), or, for a weighted fit, the weights that its call names.
weights_in <- function(fit, newdata, n) {
  expression <- fit$call$weights
  if (is.null(expression)) return(rep(1, n))
  where <- environment(fit$terms)
  absent <- if (is.null(fit$terms)) "weights" else absent_from(newdata, expression, where)
  values <- if (!length(absent)) eval(expression, newdata, where)
  if (length(values) != 1 && length(values) != n) {
    abort("data", "the fit has weights, and `newdata` does not",
          if (length(absent) && !is.null(fit$terms)) paste0(": it has no variable `", absent[1], "`"),
          "; give `weights`, such as 1")
  }
  fit_weights(ifelse(is.na(values), 0, values), n)
}

# Checks new observations, and returns them with trials or weights; classes need not all occur.
new_response <- function(fit, y, a) {
  family <- fit$data$family
  n <- NROW(y)
  if (!isTRUE(family$trials)) {
    if (is.null(family)) family <- gaussian_family
    return(list(y = wanted_response(family, y, n), a = a))
  }
  if (is.data.frame(y)) y <- as.matrix(y)
  if (is.factor(y) || is.character(y)) y <- new_classes(fit, y)
  if (NCOL(y) == 2) {
    all <- rowSums(y)
    return(list(y = ifelse(all > 0, y[, 1] / all, 0), a = a * all))
  }
  y <- as.vector(check_response(y, n))
  wrong <- which(y < 0 | y > 1 | abs(a * y - round(a * y)) > 1e-6)
  if (length(wrong)) {
    abort("data", "a binomial response must be 0, 1 or a share of `weights` trials: row ", wrong[1], " is ",
          format(y[wrong[1]]), " of ", format(a[wrong[1]]))
  }
  list(y = y, a = a)
}

# Converts classes to 0 and 1 by the levels of the fit; the second level is a success.
new_classes <- function(fit, y) {
  own <- fit$model[[1]]
  levels <- if (is.character(own)) sort(unique(own)) else levels(own)
  if (is.null(levels)) levels <- levels(factor(y))
  new <- setdiff(as.character(y), levels)
  if (length(new) || length(levels) != 2) {
    abort("data", "the response has ", if (length(new)) paste0("the new level `", new[1], "`")
                                       else paste(length(levels), "levels; 0 and 1 are two classes, too"))
  }
  as.numeric(as.character(y) != levels[1])
}
