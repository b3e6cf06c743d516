# Cross-validation of fits by folds: random folds, labels, or blocks in space; without refits if a matrix is factored.

#' Cross-validation of fits
#'
#' Predicts the observations of each fold from all other observations. Use it to compare any two models of the same
#' response, or to measure how well a model predicts far from its data.
#'
#' With `refit = FALSE` the covariance parameters, `lambda`, the bandwidth or `k` keep their values from the fit to all
#' data. [gp_fit()] and [kernel_ridge()] of up to `control$dense_n` rows then need no refit: the residuals of a fold `S`
#' are exactly `solve(P[S, S], alpha[S])`, with `alpha = P y` and `P` the inverse covariance matrix, the trend projected
#' out. With `refit = TRUE` these values are chosen again in each fold, so that the errors include their uncertainty;
#' the kernel scale of a [kernel_ridge()] is kept.
#'
#' Random folds make the errors of spatial models too small, because observations that are left out have close
#' neighbours in other folds. With `by = "place"` the folds are blocks: clusters of the inputs by [kmeans_fit()], each
#' input divided by its standard deviation. Their errors are those of predictions without data nearby.
#'
#' @param fit a fit by [gp_fit()], [kernel_ridge()], [local_reg()] or [knn_fit()]
#' @param folds number of folds, or a vector with a label for each observation, such as a year
#' @param by `NULL` (the default) for random folds, or `"place"` for blocks; labels are given as `folds`
#' @param refit choose covariance parameters, `lambda`, bandwidth or `k` again in each fold?
#' @param seed seed for the folds, which makes them reproducible
#' @param level level of the prediction intervals
#' @param ... not used
#' @return A data frame of class `cross_validate` with a row per observation: `.fold`; `.fitted`, its prediction; `.se`,
#'   the standard deviation of the observation about its prediction; `.resid`, observed minus predicted; `.lpd`, its log
#'   predictive density or, for classes, the logarithm of the share of votes for its class; `.crps`, its continuous
#'   ranked probability score; `.lower` and `.upper`, its prediction interval, see [predictive_scores()]. With a
#'   `family` these columns refer to an observation of its weight, see [gp_fit()]. Rows of weight 0 are omitted. Classes
#'   have `.fold`, `.fitted`, `.lpd` and `.wrong`: is the predicted class wrong? The last column, `.observed`, is the
#'   response. Methods use the rows that are left if rows are dropped. `summary()` has, by fold, the root mean squared
#'   error, mean absolute error (for classes the share of errors), mean of `.crps`, share of observations in their
#'   intervals (`coverage`) and sum of `.lpd`.
#' @seealso [predictive_scores()] for standard errors of these means, and to compare fits; [elpd()] and `residuals(fit,
#'   type = "loo")`, which leave out one observation at a time
#' @concept k-fold cross-validation
#' @concept spatial cross-validation
#' @concept prediction error
#' @export
#' @examples
#' some <- quakes[seq(1, 1000, by = 5), ]
#' fit <- gp_fit(depth ~ long + lat, some, kernel = "matern32")
#' cross_validate(fit, seed = 1)
#' # far from other data errors are larger
#' cross_validate(fit, by = "place", seed = 1)
cross_validate <- function(fit, folds = 10, by = NULL, refit = FALSE, seed = NULL, level = 0.9, ...) {
  refuse_more(...)
  if (!inherits(fit, c("gp_fit", "kernel_ridge", "local_reg", "knn_fit"))) {
    abort("input", "`fit` must be what gp_fit(), kernel_ridge(), local_reg() or knn_fit() returned, not ",
          describe(fit))
  }
  check_flag(refit, "refit")
  check_level(level)
  if (!is.null(fit$family) && !is_gp_family(fit)) {
    abort("unsupported", "of kernel_ridge() with a family, residuals(type = \"loo\") leave rows out; folds are built ",
          "for gp_fit(family = )")
  }
  refuse_responses(fit, "cross_validate()", "elpd() and residuals(type = \"loo\") leave out single numbers")
  y <- response_of(fit)
  if (!is.factor(y) && ncol(y) > 1) abort("unsupported", "cross-validation is of one response, not of ", ncol(y))
  rows <- heavy_of(fit)
  labels <- fold_labels(fit, rows, folds, by, seed)
  each <- split(seq_along(rows), labels)
  exact <- !refit && inherits(fit, c("gp_fit", "kernel_ridge")) && is.null(fit$family) &&
    as_process(fit)$data$dense && (is.null(fit$data$panel) || length(rows) <= few_rows)
  begin_work("cross_validate()", steps = length(each), quicker = if (refit) "`refit = FALSE`" else "fewer `folds`",
             whole = TRUE)
  on.exit(end_work("cross_validate()"))
  found <- if (exact) exact_folds(fit, each) else lapply(each, function(out) {
    on.exit(step_work("cross_validate()"))
    part <- suppressMessages(suppressWarnings(refit_to(fit, rows[-out], refit), classes = "kernweave_warning"))
    predicted_rows(part, fit, rows[out])
  })
  table <- do.call(rbind, unname(found))[order(unlist(each)), , drop = FALSE]
  observed <- if (is.factor(y)) y[rows] else unname(y[rows, 1])
  table <- left_out_scores(fit, table, observed, rows, level)
  rownames(table) <- case.names(fit)
  how <- c(if (!is.null(by)) " by place", if (refit) ", all chosen again in each" else if (exact) ", without refits")
  title <- c(paste("Cross-validation of a", class(fit)[1]), paste(how, collapse = ""))
  structure(data.frame(.fold = labels, table, .observed = observed), title = title, level = level,
            scored = c(list(fitted = table$.fitted), places_of_rows(fit)), class = c("cross_validate", "data.frame"))
}

#' @export
response_of.kernweave_fit <- function(fit) as.matrix(fit$fitted.values + fit$residuals)

# Scores rows that were left out. `table` has shares of votes (classes), or means and standard deviations: of the linear
# predictor if there is a family; scores are of the response.
left_out_scores <- function(fit, table, y, rows, level) {
  if (is.factor(y)) {
    best <- factor(colnames(table)[max.col(table, "first")], levels(y))
    voted <- table[cbind(seq_along(y), match(y, colnames(table)))]
    return(data.frame(.fitted = best, .lpd = log(voted), .wrong = best != y))
  }
  found <- if (is_gp_family(fit)) {
    a <- (fit$weights %or% rep(1, nrow(fit$x)))[rows]
    family_outcomes(family_of_rows(family_at(fit), rows), y, a, table[, 1], table[, 2]^2, level)
  } else normal_outcomes(y, table[, 1], table[, 2], level)
  data.frame(.fitted = found$fitted, .se = found$se, .resid = nearest_in(found$observed, found$fitted) - found$fitted,
             .lpd = -found$logs, .crps = found$crps, .lower = found$lower, .upper = found$upper)
}

# --- folds ----------------------------------------------------------------------------------------------------

# Returns a factor, the label of the fold of each row.
fold_labels <- function(fit, rows, folds, by, seed) {
  n <- length(rows)
  if (!is.null(by) && !identical(by, "place")) {
    abort("input", "`by` must be \"place\" or NULL, not ", format_value(by), "; labels, one for each row, are given ",
          "as `folds`, as in folds = data$site")
  }
  if (length(folds) > 1) {
    if (!is.null(by)) abort("input", "`folds` are labels, and `by` is given, too")
    return(checked_labels(fit, rows, folds))
  }
  folds <- check_count(folds, "folds", least = 2)
  if (folds > n) abort("value", "`folds` is ", folds, ", and there are ", counted(n, "row"))
  blocks <- function() {
    x <- unname(strip_term(fit$x))[rows, , drop = FALSE]
    unname(kmeans_fit(scaled_columns(x, column_units(x, rep(1, n), TRUE)), folds)$cluster)
  }
  factor(with_state(seed, if (is.null(by)) sample(rep_len(seq_len(folds), n)) else blocks())$value)
}

checked_labels <- function(fit, rows, folds) {
  n <- nrow(fit$x)
  dropped <- length(fit$na.action)
  if (dropped && length(folds) == n + dropped) folds <- folds[-fit$na.action]
  if (length(folds) != n) {
    abort("shape", "`folds` has ", counted(length(folds), "label"), " for ", counted(n, "row"))
  }
  folds <- factor(folds[rows])
  if (anyNA(folds)) abort("data", "`folds` has missing labels ", in_rows_text(rows[is.na(folds)]))
  if (nlevels(folds) < 2) abort("data", "`folds` has one label alone, and nothing would be left to fit to")
  folds
}

# --- without refits -------------------------------------------------------------------------------------------

# Predicts each fold S without S: errors (P_SS)^-1 alpha_S with covariance (P_SS)^-1, P as in influence_of(). The
# variance of a ridge regression is that of the noise alone.
exact_folds <- function(fit, each) {
  process <- as_process(fit)
  model <- process$data
  system <- gp_system(model, model$values)
  P <- system_inverse(system) - tcrossprod(process$U)
  rows <- heavy_of(fit)
  if (!is.null(model$rows)) each <- lapply(each, function(S) order(model$rows)[S])  # the model sorts its rows
  y <- response_of(fit)[model$rows %or% rows, 1]
  lapply(each, function(S) {
    on.exit(step_work("cross_validate()"))
    inner <- P[S, S, drop = FALSE]
    root <- tryCatch(chol(inner), error = function(e) NULL)
    if (is.null(root) || any(diag(root)^2 < 1e-10 * diag(inner))) {
      abort("data", "without a fold of ", counted(length(S), "row"), " the trend is not determined; take smaller folds")
    }
    inverse <- chol2inv(root)
    left <- inverse %*% process$alpha[S, 1]
    by_noise <- if (!inherits(fit, "gp_fit")) inverse %*% P[S, , drop = FALSE]
    variance <- if (is.null(by_noise)) diag(inverse) else fit$sigma2 * as.vector(by_noise^2 %*% (1 / model$w))
    cbind(y[S] - as.vector(left), sqrt(variance))
  })
}

# --- with refits ----------------------------------------------------------------------------------------------

# Predicts rows of a fit's data by `part`, a fit to other rows: means and sds of observations, or shares of votes.
predicted_rows <- function(part, fit, out) UseMethod("predicted_rows")

#' @export
predicted_rows.kernweave_fit <- function(part, fit, out) {
  trend <- fit$regressors
  if (!is.null(trend)) {
    part$regressors <- list(F = trend$F[out, , drop = FALSE], offset = trend$offset[out],
                            z = trend$z[out, , drop = FALSE])
  }
  part$x <- inputs_of_rows(fit, out, part$constant)
  if (!is.null(fit$family)) {
    found <- suppressMessages(predict(part, se.fit = TRUE, type = "link"))
    return(cbind(as.vector(found$fit), as.vector(found$se.fit)))
  }
  found <- suppressMessages(predict(part, se.fit = TRUE))
  w <- (fit$weights %or% rep(1, nrow(fit$x)))[out]
  cbind(as.vector(found$fit), sqrt(as.vector(found$se.fit)^2 + part$sigma[1]^2 / w))
}

# --- print ----------------------------------------------------------------------------------------------------

#' @rdname cross_validate
#' @param object,x a data frame returned by `cross_validate()`
#' @param ... not used
#' @export
summary.cross_validate <- function(object, ...) {
  refuse_more(...)
  one <- function(part) {
    errors <- if (is.null(part$.wrong)) c(rmse = sqrt(mean(part$.resid^2)), mae = mean(abs(part$.resid)))
              else c(errors = mean(part$.wrong))
    ranked <- if (!is.null(part$.crps)) c(crps = mean(part$.crps), coverage = mean(part$within))
    c(n = nrow(part), errors, ranked, elpd = sum(part$.lpd))
  }
  whole <- structure(object, class = "data.frame")
  observed <- nearest_in(whole$.observed, whole$.fitted)
  if (!is.null(whole$.crps)) whole$within <- observed >= whole$.lower & observed <= whole$.upper
  parts <- c(split(whole, droplevels(whole$.fold)), list(all = whole))
  table <- as.data.frame(do.call(rbind, lapply(parts, one)))
  structure(table, class = c("summary.cross_validate", "data.frame"))
}

#' @rdname cross_validate
#' @export
print.summary.cross_validate <- function(x, digits = 4, ...) {
  print.data.frame(x[!vapply(x, function(v) all(is.na(v)), NA)], digits = digits)
  invisible(x)
}

#' @rdname cross_validate
#' @param digits significant digits
#' @export
print.cross_validate <- function(x, digits = 4, ...) {
  table <- structure(summary(x), class = "data.frame")
  total <- length(attr(x, "scored")$at)
  title <- attr(x, "title")
  say(title[1], ", ", counted(nrow(table) - 1, "fold"), title[2],
      if (nrow(x) < total) paste0(", ", nrow(x), " of ", total, " rows"), "\n")
  last <- table[nrow(table), ]
  known <- !vapply(last, is.na, NA)
  say("  ", paste(names(last)[known][-1], vapply(last[known][-1], format, "", digits = digits), collapse = ", "),
      if (!anyNA(x$.lpd)) paste0(" (se ", format(error_of_sum(x$.lpd), digits = 2), ")"), "\n")
  if (nrow(table) <= 21) print(table[-nrow(table), known], digits = digits)
  invisible(x)
}

#' @rdname cross_validate
#' @param which what `plot()` shows: observed values against their predictions (`"fitted"`), or by fold (`"folds"`) the
#'   root mean squared error. For classes it is the share of errors by fold
#' @export
plot.cross_validate <- function(x, which = c("fitted", "folds"), ...) drawn(x, plot_data(x, which), ...)

#' @export
plot_data.cross_validate <- function(object, which = c("fitted", "folds"), ...) {
  which <- choice_of(which[1], c("fitted", "folds"), "which")
  label <- if (is.null(object$.wrong)) "rmse" else "errors"
  if (which == "folds" || label == "errors") {
    table <- summary(object)
    all <- nrow(table)
    bars <- bars_picture(table[[label]][-all], row.names(table)[-all], label)
    bars$layers$across <- data.frame(y = table[[label]][all])
    return(bars)
  }
  observed_picture(object$.fitted, nearest_in(object$.observed, object$.fitted), "observed", "predicted")
}

# A subset of rows or columns is a plain data frame.
#' @export
`[.cross_validate` <- function(x, ...) {
  out <- NextMethod()
  if (is.data.frame(out)) as_plain_rows(out) else out
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.cross_validate <- function(x, ...) {
  table <- summary(x)
  as_tidy(fold = rownames(table)[-nrow(table)], table[-nrow(table), ], row.names = NULL)
}

# Returns the rows of `x`, a row for each observation.
#' @rdname tidy-fits
#' @exportS3Method generics::augment
augment.cross_validate <- function(x, ...) {
  refuse_more(...)
  as_tidy(columns = as_plain_rows(x))
}

as_plain_rows <- function(x) structure(x, class = "data.frame", title = NULL, level = NULL, scored = NULL)

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.cross_validate <- function(x, ...) {
  table <- summary(x)
  as_tidy(folds = nrow(table) - 1, table[nrow(table), ], elpd.se = error_of_sum(x$.lpd), row.names = NULL)
}
