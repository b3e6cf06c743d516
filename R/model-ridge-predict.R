# Predictions of kernel ridge regressions: values with standard errors, from a stored Cholesky factor.

# Predicts at places that are in units of the fit.
ridge_values <- function(fit, at) {
  values <- unname(fit_products(kernel_pairs(fit$kernel, at, fit$data$x), fit$control) %*% fit$alpha)
  t(t(values) * fit$units$y$width + fit$units$y$centre)
}

# Returns sds of linear functions of alpha, given by the columns of `w`: a row for each function, a column for each
# response. With a family each function contains `level` times the intercept.
functional_se <- function(fit, w, level = 0) {
  v <- ridge_solved(fit, w)
  if (!is.null(fit$family)) v <- with_intercept(fit, v, level)
  outer(sqrt(colSums(v^2 / fit$data$w)), fit$sigma)
}

# Solves the fit's system, by the factor or with the preconditioner that the first solution made.
ridge_solved <- function(fit, w) {
  K <- kernel_pairs(fit$kernel, fit$data$x)
  ridge <- fit$lambda / fit$data$w
  kept <- fit$kept
  if (nrow(K) <= fit$control$dense_n) {
    if (is.null(kept$root)) kept$root <- chol(unname(as.matrix(K)) + diag(ridge, nrow(K)))
    return(backsolve(kept$root, backsolve(kept$root, w, transpose = TRUE)))
  }
  if (is.null(kept$preconditioner)) kept$preconditioner <- preconditioner(K, ridge, rank = fit$control$rank)
  matrix(fit_solve(K, w, ridge, fit$control, precondition = kept$preconditioner), nrow(w))
}

#' @rdname kernel_ridge
#' @param object,newdata for `predict()`: a fit, and new inputs; by default the inputs of the fit
#' @param se.fit return standard errors?
#' @param interval,level as in [stats::predict.lm()]
#' @param type with a `family`: `"response"` for means of the response, `"link"` for the linear predictor; for two
#'   classes also `"prob"`, a column for each class, and `"class"`, the likelier class
#' @export
predict.kernel_ridge <- function(object, newdata = NULL, se.fit = FALSE,
                                 interval = c("none", "confidence", "prediction"), level = 0.95,
                                 type = c("response", "link", "prob", "class"), ...) {
  refuse_more(...)
  if (is_raster(newdata)) return(over_cells(object, newdata, predict.kernel_ridge, se.fit, interval, level, type))
  type <- choice_of(type[1], c("response", "link", "prob", "class"), "type")
  interval <- choice_of(interval[1], c("none", "confidence", "prediction"), "interval")
  check_flag(se.fit, "se.fit")
  if (type %in% c("prob", "class")) {
    check_of_levels(object, type, se.fit, interval)
    return(class_prediction(object, predict.kernel_ridge(object, newdata), type))
  }
  if (!is.null(object$family) && type == "response") {
    check_level(level)
    link <- function(errors) predict.kernel_ridge(object, newdata, errors, type = "link")
    return(family_prediction(object, link, se.fit, interval, level, type))
  }
  q <- ncol(object$data$y)
  if (interval != "none") refuse_many_of(object, "intervals are those")
  x <- if (is.null(newdata)) object$x else new_points(object, newdata)
  errors <- se.fit || interval != "none"
  found <- at_complete(x, function(at) {
    at <- scaled_columns(unname(at), object$units$x)
    se <- function(rows) {
      functional_se(object, unname(as.matrix(kernel_pairs(object$kernel, object$data$x, at[rows, , drop = FALSE]))), 1)
    }
    cbind(ridge_values(object, at), if (errors && nrow(at)) do.call(rbind, in_row_blocks(nrow(at), se)))
  })
  if (is.null(newdata)) found <- stats::napredict(object$na.action, found)
  shaped <- of_responses(found, x, colnames(object$fitted.values))
  fit <- shaped(seq_len(q))
  if (!errors) return(fit)
  se <- shaped(q + seq_len(q))
  if (!is.null(object$family)) object$df.residual <- Inf
  if (interval != "none") fit <- with_interval(fit, se, object, interval, level)
  if (!se.fit) return(fit)
  list(fit = fit, se.fit = se, df = object$df.residual, residual.scale = object$sigma)
}

#' @rdname kernel_ridge
#' @importFrom stats vcov
#' @export
vcov.kernel_ridge <- function(object, ...) {
  refuse_more(...)
  n <- nrow(object$data$x)
  if (n > object$control$dense_n) {
    abort("memory", "the covariances of ", n, " weights are ", n, " x ", n, " numbers; marginal_effects() and ",
          "predict(se.fit = TRUE) give the standard errors of effects and predictions")
  }
  if (ncol(object$data$y) > 1) abort("unsupported", "covariances are those of one response")
  inverse <- ridge_solved(object, diag(n))
  if (!is.null(object$family)) inverse <- with_intercept(object, inverse, 0)
  (object$sigma / object$units$y$width)^2 * inverse %*% (t(inverse) / object$data$w)
}

#' @rdname kernel_ridge
#' @export
coef.kernel_ridge <- function(object, ...) if (ncol(object$alpha) == 1) object$alpha[, 1] else object$alpha

#' @export
confint.kernel_ridge <- function(object, ...) {
  abort("unsupported", "intervals for the weights of observations are of no use; confint(marginal_effects(fit)) has ",
        "those of effects, predict(interval = ) those of the curve")
}

refuse_many_of <- function(object, what) {
  if (ncol(object$data$y) > 1) abort("unsupported", what, " of one response, not of ", ncol(object$data$y))
}

#' @rdname kernel_ridge
#' @importFrom stats logLik
#' @export
logLik.kernel_ridge <- function(object, ...) {
  refuse_more(...)
  refuse_many_of(object, "a likelihood is")
  if (!is.null(object$family)) {
    abort("unsupported", "a likelihood of kernel_ridge() is built for family = gaussian(); `deviance` is there for all")
  }
  w <- object$data$w
  n <- length(w)
  structure(-n / 2 * (log(2 * pi * deviance(object) / n) + 1) + sum(log(w)) / 2, df = object$edf + 1, nobs = n,
            class = "logLik")
}

#' @rdname kernel_ridge
#' @param nsim,seed for `simulate()`: as in [stats::simulate()]
#' @export
simulate.kernel_ridge <- function(object, nsim = 1, seed = NULL, ...) {
  refuse_more(...)
  refuse_many_of(object, "draws are")
  nsim <- check_count(nsim, "nsim")
  if (!is.null(object$family)) {
    link <- object$linear.predictors
    drawn <- with_state(seed, family_draws(object, matrix(link, length(link), nsim), TRUE, object$weights))
    values <- matrix(drawn$value, length(link), dimnames = list(names(link), NULL))
    values <- stats::naresid(object$na.action, values)  # rows that were left out have no draws
    return(draws_frame(values, rownames(values), drawn$mark))
  }
  mean <- fitted(object)
  n <- length(mean)
  noise <- object$sigma / sqrt(stats::naresid(object$na.action, object$weights %or% rep(1, nrow(object$x))))
  drawn <- with_state(seed, matrix(mean + noise * stats::rnorm(n * nsim), n))
  draws_frame(drawn$value, names(mean), drawn$mark)
}
