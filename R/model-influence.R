# Influence of each observation on a fit: leverages, standardised residuals, Cook's distances, leave-one-out
# predictions.

#' Influence of observations, and leave-one-out residuals
#'
#' Diagnostics for [gp_fit()] and [kernel_ridge()]. `hatvalues()` tells how much a fitted value follows its own
#' observation (leverage). `cooks.distance()` tells how much all fitted values change if it is left out. `rstandard()`
#' tells which observations are far from their prediction from all others. `residuals(fit, type = "loo")` are
#' observations minus their prediction from all others. Covariance parameters and `lambda` are not refitted.
#'
#' For a Gaussian process `rstandard()` is the leave-one-out residual divided by its standard deviation: standard
#' normal, if the model is right. For a kernel ridge regression it is `e / (sigma * sqrt([(I - H)^2]_ii))`, with
#' residual `e`, smoother matrix `H` and the `sigma` of the fit. This equals the leave-one-out residual divided by the
#' standard deviation of an observation about its prediction. Cook's distance is the sum of squared changes of the
#' fitted values, weighted by `weights`, divided by the degrees of freedom, `sum(hatvalues(fit))`, and the variance of
#' the noise. Observations of weight 0 have leverage 0.
#'
#' For a [gp_fit()] with another `family` all three are as for [glm()][stats::glm()], by the weighted least-squares
#' problem at the mode, whose weights are the curvature of the log-likelihood. Standardised residuals are deviance
#' residuals, and Cook's distance is `(pearson / (1 - hat))^2 hat / sum(hat)`, divided by the dispersion of a Gamma.
#'
#' @section Many rows:
#' Beyond `control$dense_n` rows the variance of an observation given all others is computed from its 60 nearest
#' neighbours, as in `predict(se.fit = TRUE)`: see [predict.gp_fit()]. Standard deviations are then too large, if
#' anything. At 16 observations they are compared with exact standard deviations. If one is more than 1.05 times the
#' exact one, the number of neighbours is doubled, up to 480. The attribute `local` of the result has the number of
#' neighbours, and the mean and largest ratio. The residuals themselves follow from the solution for all observations.
#'
#' A leverage is one minus the share of noise in this variance, so that an error of 1 % in a standard deviation is up to
#' 0.02 in a leverage, which may be more than the leverage itself. The leverages of a smooth process are also compared
#' with exact ones, at the same observations. If a leverage is more than 1.05 times the exact one, `hatvalues()`,
#' `cooks.distance()` and [elpd()] use 30 to 120 neighbours and up to 128 weighted sums of all observations, the most
#' informative ones for a smooth process. Leverages remain too large, if anything. In the attribute `local` of
#' `hatvalues()` and `cooks.distance()`, `ratio` has the mean, smallest and largest ratio of the leverages or Cook's
#' distances to exact ones at the 16 observations. A ratio beyond 1.1, or below 1 / 1.1, gives a warning of class
#' `kernweave_warning_approximate`. Errors at other observations may be larger, most of all where the leverage is small.
#' `sums` is the number of sums. For `hatvalues()`, `leverage` says by how much the sum of all leverages is too large,
#' with its standard error.
#'
#' @param model,object what [gp_fit()] or [kernel_ridge()] returned
#' @param type `"response"`, or `"loo"` for leave-one-out residuals
#' @param ... not used
#' @return One number per observation; for several responses, `rstandard()` and `cooks.distance()` return a matrix.
#' @seealso [elpd()] for the sum of log densities of the left-out observations; [cross_validate()] to leave out groups
#' @concept leave-one-out residuals
#' @concept leverage
#' @concept outliers
#' @name fit-influence
#' @examplesIf requireNamespace("MASS", quietly = TRUE)
#' fit <- gp_fit(accel ~ times, MASS::mcycle)
#' head(cbind(hat = hatvalues(fit), rstandard = rstandard(fit), cook = cooks.distance(fit)))
#' # the observation that the others predict worst
#' MASS::mcycle[which.max(abs(rstandard(fit))), ]
#' sqrt(mean(residuals(fit, type = "loo")^2))
NULL

#' @rdname fit-influence
#' @importFrom stats hatvalues
#' @export
#' @rawNamespace S3method(hatvalues, kernel_ridge, hatvalues.gp_fit)
hatvalues.gp_fit <- function(model, ...) {
  refuse_more(...)
  found <- influence_of(model, closely = TRUE)
  local <- found$local
  if (!is.null(local)) {
    exact <- leverage_of(found, found$exact)
    reported <- found$hat[found$exact$rows]
    local$ratio <- audited_ratio(model, "leverages", pmax(reported, least_leverage), pmax(exact, least_leverage))
    local$leverage <- scaled_up(reported - exact, found)
  }
  on_all_rows(model, matrix(found$hat), 0, local, one = TRUE)
}

#' @rdname fit-influence
#' @importFrom stats rstandard
#' @export
#' @rawNamespace S3method(rstandard, kernel_ridge, rstandard.gp_fit)
rstandard.gp_fit <- function(model, ...) {
  refuse_more(...)
  found <- influence_of(model)
  on_all_rows(model, found$loo / found$sd, NA, found$local)
}

#' @rdname fit-influence
#' @importFrom stats cooks.distance
#' @export
#' @rawNamespace S3method(cooks.distance, kernel_ridge, cooks.distance.gp_fit)
cooks.distance.gp_fit <- function(model, ...) {
  refuse_more(...)
  found <- influence_of(model, squares = TRUE, closely = TRUE)
  if (!is.null(found$cook)) return(on_all_rows(model, matrix(found$cook), 0, NULL, one = TRUE))
  moved <- moved_by_one(found, found)
  total <- sum(found$hat)
  local <- found$local
  if (!is.null(local)) {
    exact <- found$exact
    rows <- exact$rows
    # The sum of leverages is corrected by the audit.
    exact_total <- max(total - scaled_up(found$hat[rows] - leverage_of(found, exact), found)[["sum"]], least_leverage)
    local$ratio <- audited_ratio(model, "Cook's distances", moved[rows] / found$own[rows]^2 / total,
                                 moved_by_one(found, exact) / exact$own^2 / exact_total)
  }
  by <- total * ifelse(model$sigma > 0, model$sigma^2, NaN)  # if leverages were 1
  on_all_rows(model, t(t(found$loo^2 * moved) / by), 0, local)
}

# The weighted sum of squares by which fitted values change if an observation changes by 1.
moved_by_one <- function(found, parts) {
  w <- if (is.null(parts$rows)) found$w else found$w[parts$rows]
  pmax(w - 2 * found$ridge * parts$own + found$ridge^2 * parts$square, 0)
}

#' @rdname fit-influence
#' @export
residuals.kernel_ridge <- function(object, type = c("response", "loo"), ...) {
  refuse_more(...)
  if (!is.null(object$family)) return(family_residuals(object, type))
  type <- choice_of(type[1], c("response", "loo"), "type")
  if (type == "loo") return(loo_residuals(object))
  stats::naresid(object$na.action, object$residuals)
}

# Leave-one-out residuals; for a row of weight 0, which is not used, the ordinary residual.
loo_residuals <- function(fit) {
  found <- influence_of(fit)
  on_all_rows(fit, found$loo, fit$residuals, found$local)
}

# Puts values of rows with positive weight into the form of residuals; other rows get `light`.
on_all_rows <- function(fit, values, light, local, one = FALSE) {
  rows <- fit$data$rows %or% heavy_of(fit)
  like <- as.matrix(fit$residuals)
  out <- matrix(light, nrow(like), if (one) 1 else ncol(like))
  out[rows, ] <- values
  out <- if (ncol(out) == 1) stats::setNames(out[, 1], rownames(like)) else structure(out, dimnames = dimnames(like))
  out <- stats::naresid(fit$na.action, out)
  if (!is.null(local)) attr(out, "local") <- local
  out
}

# Computes for each row of positive weight, with A = K + ridge / w, P = A^-1 - U U' and alpha = P y: `own` P_ii,
# `square` (P W^-1 P)_ii, the leverage, the leave-one-out residual alpha_i / P_ii, and its sd. The variance is 1 / P_ii
# for a process; for a ridge regression it is the variance of the noise alone.
influence_of <- function(fit, squares = !inherits(fit, "gp_fit"), closely = FALSE) {
  if (!is.null(fit$family)) return(family_influence(fit))
  process <- as_process(fit)
  found <- c(inverse_parts(process, squares, closely), list(w = process$data$w, ridge = process$nugget))
  c(found, left_out_of(fit, process$alpha, found), list(hat = leverage_of(found, found)))
}

# Leave-one-out residuals and their sds, given `own` and `square` of the rows.
left_out_of <- function(fit, alpha, parts) {
  sd <- if (inherits(fit, "gp_fit")) sqrt(1 / parts$own) else outer(sqrt(parts$square) / parts$own, fit$sigma)
  list(loo = alpha / parts$own, sd = as.matrix(sd))
}

leverage_of <- function(found, parts) {
  1 - found$ridge * parts$own / if (is.null(parts$rows)) found$w else found$w[parts$rows]
}

# Returns a fit as a Gaussian process. The fit of a ridge regression is the mean of a process of variance 1 and noise
# lambda / w, in units of the response.
as_process <- function(fit) UseMethod("as_process")

#' @export
as_process.gp_fit <- function(fit) replace(unclass(fit), "alpha", list(as.matrix(model_alpha(fit))))

#' @export
as_process.kernel_ridge <- function(fit) {
  kept <- fit$kept
  if (!is.null(kept$process)) return(kept$process)
  n <- nrow(fit$data$x)
  values <- list(variance = 1, kernel = kernel_parts(fit$kernel)$parameters, nugget = fit$lambda)
  model <- list(x = fit$data$x, y = fit$data$y[, 1], w = fit$data$w, Q = matrix(0, n, 0), kernel = fit$kernel,
                values = values, layout = gp_layout(values, character(), character()), control = fit$control,
                dense = n <= fit$control$dense_n, method = "ML")
  kept$process <- list(data = model, variance = 1, nugget = fit$lambda, control = fit$control, U = model$Q,
                       alpha = t(t(fit$alpha) * fit$units$y$width), kept = new.env(parent = emptyenv()))
}

# Computes P_ii and, with `squares`, (P W^-1 P)_ii, once: from the inverse, or from neighbours, with the results of an
# audit; `closely`: accurately enough for leverages.
inverse_parts <- function(process, squares, closely) {
  kept <- process$kept
  key <- paste0("inverse", if (squares) "_squares", if (closely) "_closely")
  if (!is.null(kept[[key]])) return(kept[[key]])
  begin_work("leaving one out")
  on.exit(end_work("leaving one out"))
  model <- process$data
  system <- kept_system(process)
  if (inherits(system, c("gp_linear", "gp_panel"))) {
    found <- list(own = inverse_diagonal(system), square = inverse_squares(system, model$w))
  } else if (model$dense) {
    inverse <- chol2inv(system$root)
    found <- list(own = diag(inverse), square = as.vector(inverse^2 %*% (1 / model$w)))
  } else found <- local_inverse_parts(process, system, squares, closely)
  out <- c(less_trend(process, system, found, squares), list(local = found$local))
  if (!is.null(found$exact)) out$exact <- c(found$exact["rows"], less_trend(process, system, found$exact, squares))
  kept[[key]] <- out
}

# Computes the parts of P from the parts of A^-1, of all rows or of some.
less_trend <- function(process, system, parts, squares) {
  U <- process$U
  w <- process$data$w
  rows <- parts$rows %or% seq_along(w)
  V <- U[rows, , drop = FALSE]
  square <- parts$square
  if (squares && ncol(U)) {
    solved <- solve(system, U / w)[rows, , drop = FALSE]
    square <- square - 2 * rowSums(V * solved) + rowSums(V %*% crossprod(U, U / w) * V)
  }
  list(own = pmax(parts$own - rowSums(V^2), 1e-8 * parts$own), square = square)
}

# --- by neighbours --------------------------------------------------------------------------------------------

# Computes 1 / (A^-1)_ii, the variance of an observation given all others, from neighbours.
local_inverse_parts <- function(process, system, squares, closely) {
  if (!has_distance(process$data$kernel)) {
    abort("unsupported", "beyond ", process$control$dense_n, " rows of fit_control(dense_n = ) leaving one out is by ",
          "neighbours, and this kernel has no distance")
  }
  kept <- process$kept
  if (is.null(kept$left_out)) kept$left_out <- audited_left_out(process, system)
  audit <- kept$left_out
  if (closely && is.null(kept$closer)) kept$closer <- list(audited_sums(process, system, audit))
  closer <- if (closely) kept$closer[[1]]
  found <- parts_left_out(process, audit$neighbours, closer, squares)
  local <- audit[c("neighbours", "ratio")]
  if (!is.null(closer)) {
    local[c("neighbours", "sums")] <- list(closer$neighbours, ncol(closer$sums$B))
    ratio <- sqrt(audit$exact$own / found$own[audit$exact$rows])
    local$ratio <- c(mean = mean(ratio), largest = max(ratio))
  }
  c(found, list(local = local, exact = audit$exact))
}

# The variance of each observation given its m nearest neighbours.
variance_left_out <- function(process, m, rows = seq_along(process$data$y)) {
  model <- process$data
  n <- length(model$y)
  unlist(in_row_blocks(length(rows), size = places_at_once, function(k) {
    rows <- rows[k]
    at <- model_places(model)[rows, , drop = FALSE]
    near <- without_self(nearest_observations(process, at, min(m + 1, n))$nn.index, rows)
    both <- told_by_others(process, rbind(model_places(model), at), near, own = 1)$places
    noise <- process$nugget / model$w
    found <- conditional(gp_cross(process, both, both), NULL, seen = seq_len(n), ridge = noise, neighbours = near)
    unname(found$variance) + noise[rows]
  }))
}

# Removes each row from its own neighbours, or the last neighbour if coincident rows have displaced the row.
without_self <- function(near, rows) {
  self <- near == rows
  out <- ifelse(rowSums(self) > 0, max.col(self, "first"), ncol(near))
  kept <- matrix(TRUE, nrow(near), ncol(near))
  kept[cbind(seq_along(rows), out)] <- FALSE
  matrix(t(near)[t(kept)], nrow(near), byrow = TRUE)
}

# The largest ratio of leave-one-out sds. Leverages depend on its square, so it is smaller than most_ratio.
most_ratio_of_rows <- 1.05

# Audits leave-one-out variances at a few observations, as audited_neighbours() does, and reports the result.
audited_left_out <- function(process, system) {
  n <- length(process$data$y)
  rows <- privately(process$control$seed %or% 1, sort(sample.int(n, min(n, audit_places))))
  sides <- matrix(0, n, length(rows))
  sides[cbind(rows, seq_along(rows))] <- 1
  step_work("leaving one out", paste("an audit at", length(rows), "rows"))
  solved <- solve(system, sides, tol = tol_of_audit / 30)  # squares have first-order errors
  exact <- 1 / diag(solved_forms(system, sides, solved)$value)
  m <- min(60, n - 1)
  repeat {
    ratio <- sqrt(variance_left_out(process, m, rows) / exact)
    if (max(ratio) <= most_ratio_of_rows || m >= min(most_neighbours, n - 1)) break
    m <- min(2 * m, most_neighbours, n - 1)
  }
  text <- paste0("an observation is left out by the ", m, " others nearest to it, whose standard deviation of it is ",
                 "at most ", format(max(ratio), digits = 4), " times that of all others, at ", audit_places, " rows")
  if (max(ratio) > most_ratio_of_rows) warn("approximate", text) else tell("kernweave: ", text, ". (Said once.)")
  list(neighbours = m, ratio = c(mean = mean(ratio), largest = max(ratio)),
       exact = list(rows = rows, own = 1 / exact, square = colSums(solved^2 / process$data$w)))
}
