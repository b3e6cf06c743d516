# Expected log predictive densities by leave-one-out cross-validation, and comparisons of fits.

#' Leave-one-out expected log predictive density
#'
#' Sums the log densities of all observations, each predicted from all others. The larger the sum, the better a fit
#' predicts new observations. Unlike a likelihood ratio, the sum compares any two models of the same response.
#'
#' The density of an observation is normal, with the mean and standard deviation of its prediction from all other
#' observations, see [rstandard.gp_fit()]. With a `family` of [gp_fit()] it is the density of the family, integrated
#' over the normal distribution of the linear predictor given all other observations, by Laplace's approximation; the
#' integral has six digits. With a weight `w` it is the density of a proportion of `w` trials, or of a mean of `w`
#' values. A count of weight `w` stands for `w` equal observations: all are left out, and the density is that of one.
#'
#' Covariance parameters and `lambda` are estimated from all observations, so the sum is slightly too large, the more so
#' the more parameters were estimated. The standard error of the sum is `sqrt(n)` times the standard deviation of the
#' terms. With several fits, the difference to the best fit has the standard error of the paired differences, which is
#' often much smaller than the standard errors of the sums.
#'
#' Beyond `control$dense_n` rows each observation is predicted from its nearest neighbours and, where a check requires
#' it, from weighted sums of all observations (see [hatvalues.gp_fit()]). The sum of these terms is too small, by an
#' amount that depends on the model, and is corrected: at the 16 observations of the check, see [rstandard.gp_fit()],
#' terms are also computed from all other observations, and the mean difference is added for each observation. The
#' standard error of the correction is part of `se` and `se_diff`; `local$correction` has the correction and its
#' standard error. `pointwise` has the terms by neighbours.
#'
#' @param object,... fits by [gp_fit()] or [kernel_ridge()], of the same response
#' @return An object of class `elpd`: `elpd`, its standard error `se`, and `pointwise`, the terms. For several fits a
#'   data frame of class `elpd_differences`, the best fit first, with columns `elpd_diff`, `se_diff`, `elpd` and `se`,
#'   and the terms as the attribute `pointwise`.
#' @references Vehtari, A., Gelman, A. and Gabry, J. (2017) Practical Bayesian model evaluation using leave-one-out
#'   cross-validation and WAIC. Statistics and Computing 27, 1413-1432.
#' @seealso [anova.gp_fit()] for likelihood ratios, [cross_validate()] to leave out groups of observations
#' @concept leave-one-out cross-validation
#' @concept model comparison
#' @concept log score
#' @export
#' @examplesIf requireNamespace("MASS", quietly = TRUE)
#' smooth <- gp_fit(accel ~ times, MASS::mcycle, kernel = "gaussian")
#' rough <- update(smooth, kernel = "matern12")
#' elpd(smooth)
#' elpd(smooth, rough, ridge = kernel_ridge(accel ~ times, MASS::mcycle))
elpd <- function(object, ...) UseMethod("elpd")

#' @export
elpd.default <- function(object, ...) {
  abort("input", "elpd() is for fits of gp_fit() and kernel_ridge(), not for ", describe(object),
        "; cross_validate() also takes local_reg() and knn_fit()")
}

#' @rdname elpd
#' @export
#' @rawNamespace S3method(elpd, kernel_ridge, elpd.gp_fit)
elpd.gp_fit <- function(object, ...) {
  if (!...length()) return(one_elpd(object))
  fits <- checked_fits(list(object, ...), fit_texts(substitute(list(object, ...))), c("gp_fit", "kernel_ridge"),
                       "elpd() compares fits of gp_fit() and kernel_ridge()")
  each <- lapply(fits, one_elpd)
  terms <- vapply(each, `[[`, each[[1]]$pointwise, "pointwise")
  table <- data.frame(elpd = vapply(each, `[[`, 0, "elpd"), se = vapply(each, `[[`, 0, "se"), row.names = names(each))
  best <- which.max(table$elpd)
  # A correction by audited rows has an error. Fits with the same seed are audited at the same rows.
  b <- each[[best]]
  se <- function(one) one$local$correction[["se"]] %or% 0
  noise <- vapply(each, function(a) {
    if (is.null(a$local) || !identical(a$audit$rows, b$audit$rows)) return(sqrt(se(a)^2 + se(b)^2))
    scaled_up(a$audit$off - b$audit$off, list(own = a$pointwise))[["se"]]
  }, 0)
  table <- cbind(elpd_diff = table$elpd - table$elpd[best],
                 se_diff = sqrt(apply(terms - terms[, best], 2, error_of_sum)^2 + noise^2), table)
  structure(table[order(-table$elpd), ], pointwise = terms, class = c("elpd_differences", "data.frame"))
}

one_elpd <- function(fit) {
  fit <- stacked_fit(fit)
  rows <- fit$data$rows %or% heavy_of(fit)
  link <- if (is_gp_family(fit)) loo_predictor(fit)
  y <- fit$data$response
  found <- if (is.null(link)) influence_of(fit, closely = TRUE)
           else list(terms = mixture_density(fit$data$family, y[, "y"], y[, "a"], link$mean, link$variance))
  if (is.null(found$terms)) {
    if (ncol(found$loo) > 1) refuse_many_of(fit, "elpd() is")
    found$terms <- stats::dnorm(found$loo[, 1], 0, found$sd[, 1], log = TRUE)
    if (!is.null(fit$data$unit)) found$terms <- found$terms - log(fit$data$unit)[fit$data$z[, 1]]
  }
  pointwise <- stats::setNames(found$terms, rownames(as.matrix(fit$residuals))[rows])[order(rows)]
  exact <- found$exact  # the audited rows, given all others, not neighbours alone
  off <- if (is.null(exact)) numeric() else {
    at <- left_out_of(fit, as_process(fit)$alpha[exact$rows, 1], exact)
    stats::dnorm(at$loo, 0, at$sd[, 1], log = TRUE) - found$terms[exact$rows]
  }
  by <- if (length(off)) scaled_up(off, found) else c(sum = 0, se = 0)
  structure(list(elpd = sum(pointwise) + by[["sum"]], se = sqrt(error_of_sum(pointwise)^2 + by[["se"]]^2),
                 pointwise = pointwise, local = if (!is.null(found$local)) c(found$local, list(correction = by)),
                 audit = list(rows = rows[exact$rows], off = off)), class = "elpd")
}

error_of_sum <- function(terms) sqrt(length(terms)) * stats::sd(terms)

#' @rdname elpd
#' @export
#' @rawNamespace S3method(plot, elpd_differences, plot.elpd)
plot.elpd <- function(x, ...) drawn(x, plot_data(x), ...)

# The terms in the order of the rows, with labels for the three lowest.
#' @export
plot_data.elpd <- function(object, ...) {
  terms <- object$pointwise
  rows <- utils::head(order(terms), 3)
  lowest <- data.frame(x = rows, y = unname(terms[rows]), label = names(terms)[rows] %or% rows)
  picture("observation", "log predictive density", points = data.frame(x = seq_along(terms), y = unname(terms)),
          estimates = lowest, labels = lowest, across = data.frame(y = mean(terms)),
          main = paste("Sum", format(object)))
}

#' @export
plot_data.elpd_differences <- function(object, ...) {
  at <- rev(seq_len(nrow(object)))
  across <- data.frame(x = object$elpd_diff - object$se_diff, y = at, xend = object$elpd_diff + object$se_diff,
                       yend = at)
  picture("difference of elpd, and its standard error", "", intervals = across, upright = data.frame(x = 0),
          origin = data.frame(x = 0, y = c(0.5, nrow(object) + 0.5)),
          estimates = data.frame(x = object$elpd_diff, y = at), ticks = list(y = rev(row.names(object))))
}

#' @rdname elpd
#' @param x an object returned by `elpd()`
#' @param digits digits after the point
#' @export
print.elpd <- function(x, digits = 1, ...) {
  say("Expected log predictive density, leaving one out of ", format(length(x$pointwise), big.mark = ","), ": ",
      format(x, digits), "\n")
  by <- x$local$correction
  if (!is.null(by)) {
    say("by ", x$local$neighbours, " neighbours, with a correction of ", formatC(by[["sum"]], digits, format = "f"),
        " (se ", formatC(by[["se"]], digits, format = "f"), ") for all others\n")
  }
  invisible(x)
}

#' @rdname elpd
#' @export
print.elpd_differences <- function(x, digits = 1, ...) {
  say("Expected log predictive densities, leaving one out of ", format(nrow(attr(x, "pointwise")), big.mark = ","),
      ", the best fit first\n")
  print(round(as.data.frame(unclass(x), row.names = row.names(x)), digits))
  invisible(x)
}

#' @export
format.elpd <- function(x, digits = 1, ...) {
  paste0(formatC(x$elpd, digits, format = "f"), " (se ", formatC(x$se, digits, format = "f"), ")")
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.elpd <- function(x, ...) as_tidy(term = "elpd", estimate = x$elpd, std.error = x$se)

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.elpd_differences <- function(x, ...) {
  as_tidy(model = row.names(x), as.data.frame(unclass(x)), row.names = NULL)
}
