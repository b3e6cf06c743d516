# What each observation does to a fit: leverages, standardised residuals, Cook's distances, and predictions that leave
# it out.

#' Influence of observations, and residuals that leave them out
#'
#' For [gp_fit()] and [kernel_ridge()]: `hatvalues()` tells how much a fitted value follows its own observation,
#' `cooks.distance()` how much all fitted values move if it is left out, and `rstandard()` which observations are far
#' from what all others predict. `residuals(fit, type = "loo")` are observations minus their prediction from all others.
#' Nothing is refitted; covariance parameters and `lambda` are kept.
#'
#' `rstandard()` of a Gaussian process is the leave-one-out residual divided by its standard deviation: standard normal,
#' if the model is right. Of a kernel ridge regression it is `e / (sigma * sqrt([(I - H)^2]_ii))`, with the `sigma` of
#' the fit, and equals the leave-one-out residual divided by the standard deviation of an observation about its
#' prediction. Cook's distance is the weighted sum of squares by which fitted values move, divided by the degrees of
#' freedom, `sum(hatvalues(fit))`, and the variance of the noise. Observations of weight 0 have leverage 0.
#'
#' Of a [gp_fit()] with another `family` all three are as those of [glm()][stats::glm()], of the weighted least-squares
#' problem at the mode, whose weights are the curvature of the log-likelihood: deviance residuals are standardised, and
#' Cook's distance is `(pearson / (1 - hat))^2 hat / sum(hat)`, divided by the dispersion of a Gamma.
#'
#' @section Many rows:
#' Beyond `control$dense_n` rows an observation is predicted from its 60 nearest neighbours, as in
#' `predict(se.fit = TRUE)`: see [predict.gp_fit()]. Standard deviations are then too large, if anything, and at 16
#' observations they are compared with exact ones; if one is more than 1.05 times that, neighbours are doubled, up to
#' 480. The attribute `local` of the result has the number of neighbours, and the mean and largest ratio. The residuals
#' themselves follow from the solution for all observations.
#'
#' A leverage is one minus the share of noise in that variance. An error of 1 % in a standard deviation is up to 0.02 in
#' a leverage, which may be much of it, so that leverages, too, are too large, if anything. The element `leverage` of
#' the attribute `local` of `hatvalues()` tells by how much their sum is, at the same 16 observations, with its standard
#' error.
#'
#' @param model,object what [gp_fit()] or [kernel_ridge()] returned
#' @param type `"response"` or `"loo"`
#' @param ... not used
#' @return One number per observation; of several responses a matrix for `rstandard()` and `cooks.distance()`.
#' @seealso [elpd()] for the sum of log densities of the left-out observations; [cross_validate()] to leave out groups
#'   of them
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
hatvalues.gp_fit <- function(model, ...) {
  refuse_more(...)
  found <- influence_of(model)
  local <- found$local
  if (!is.null(local)) local$leverage <- scaled_up(found$hat[found$exact$rows] - leverage_of(found, found$exact), found)
  on_all_rows(model, matrix(found$hat), 0, local, one = TRUE)
}

#' @rdname fit-influence
#' @export
hatvalues.kernel_ridge <- hatvalues.gp_fit

#' @rdname fit-influence
#' @importFrom stats rstandard
#' @export
rstandard.gp_fit <- function(model, ...) {
  refuse_more(...)
  found <- influence_of(model)
  on_all_rows(model, found$loo / found$sd, NA, found$local)
}

#' @rdname fit-influence
#' @export
rstandard.kernel_ridge <- rstandard.gp_fit

#' @rdname fit-influence
#' @importFrom stats cooks.distance
#' @export
cooks.distance.gp_fit <- function(model, ...) {
  refuse_more(...)
  found <- influence_of(model, squares = TRUE)
  if (!is.null(found$cook)) return(on_all_rows(model, matrix(found$cook), 0, NULL, one = TRUE))
  moved <- found$w - 2 * found$ridge * found$own + found$ridge^2 * found$square
  by <- sum(found$hat) * ifelse(model$sigma > 0, model$sigma^2, NaN)  # each of its own leverage 1
  on_all_rows(model, t(t(found$loo^2 * pmax(moved, 0)) / by), 0, found$local)
}

#' @rdname fit-influence
#' @export
cooks.distance.kernel_ridge <- cooks.distance.gp_fit

#' @rdname fit-influence
#' @export
residuals.kernel_ridge <- function(object, type = c("response", "loo"), ...) {
  refuse_more(...)
  if (!is.null(object$family)) return(family_residuals(object, type))
  type <- choice_of(type[1], c("response", "loo"), "type")
  if (type == "loo") return(loo_residuals(object))
  stats::naresid(object$na.action, object$residuals)
}

# Rows of weight 0 have told nothing, and their residuals are of others anyway.
loo_residuals <- function(fit) {
  found <- influence_of(fit)
  on_all_rows(fit, found$loo, fit$residuals, found$local)
}

# Numbers of the rows that weigh something, on all rows, as residuals are; `light` is what others have.
on_all_rows <- function(fit, values, light, local, one = FALSE) {
  rows <- heavy_of(fit)
  like <- as.matrix(fit$residuals)
  out <- matrix(light, nrow(like), if (one) 1 else ncol(like))
  out[rows, ] <- values
  out <- if (ncol(out) == 1) stats::setNames(out[, 1], rownames(like)) else structure(out, dimnames = dimnames(like))
  out <- stats::naresid(fit$na.action, out)
  if (!is.null(local)) attr(out, "local") <- local
  out
}

heavy_of <- function(fit) if (is.null(fit$weights)) seq_len(nrow(fit$x)) else which(fit$weights > 0)

# Of each row that weighs something, with P = A^-1 - U U' and A the kernel's matrix and ridge / w, alpha = P y: `own`
# P_ii, `square` (P W^-1 P)_ii, the leverage, the residual where it is left out, alpha_i / P_ii, and the deviation of
# that. A process has the variance 1 / P_ii there, a ridge regression that of a sum of noises.
influence_of <- function(fit, squares = !inherits(fit, "gp_fit")) {
  if (!is.null(fit$family)) return(family_influence(fit))
  process <- as_process(fit)
  found <- c(inverse_parts(process, squares), list(w = process$data$w, ridge = process$nugget))
  c(found, left_out_of(fit, process$alpha, found), list(hat = leverage_of(found, found)))
}

# Residuals that leave rows out, and their deviations, by the `own` and `square` of the rows.
left_out_of <- function(fit, alpha, parts) {
  sd <- if (inherits(fit, "gp_fit")) sqrt(1 / parts$own) else outer(sqrt(parts$square) / parts$own, fit$sigma)
  list(loo = alpha / parts$own, sd = as.matrix(sd))
}

leverage_of <- function(found, parts) {
  1 - found$ridge * parts$own / if (is.null(parts$rows)) found$w else found$w[parts$rows]
}

# The sum over all rows of what is known at those of an audit, with its standard error.
scaled_up <- function(values, found) {
  n <- length(found$own)
  c(sum = n * mean(values), se = n * stats::sd(values) / sqrt(length(values)) * sqrt(1 - length(values) / n))
}

# A ridge regression as the process whose mean it is, of variance 1 and noise lambda / w, in units of the response.
as_process <- function(fit) {
  if (inherits(fit, "gp_fit")) return(replace(unclass(fit), "alpha", list(as.matrix(fit$alpha))))
  kept <- fit$kept
  if (is.null(kept$process)) {
    n <- nrow(fit$data$x)
    values <- list(variance = 1, kernel = kernel_parts(fit$kernel)$parameters, nugget = fit$lambda)
    model <- list(x = fit$data$x, y = fit$data$y[, 1], w = fit$data$w, Q = matrix(0, n, 0), kernel = fit$kernel,
                  values = values, layout = gp_layout(values, character(), character()), control = fit$control,
                  dense = n <= fit$control$dense_n, method = "ML")
    kept$process <- list(data = model, variance = 1, nugget = fit$lambda, control = fit$control, U = model$Q,
                         alpha = t(t(fit$alpha) * fit$units$y$width), kept = new.env(parent = emptyenv()))
  }
  kept$process
}

# P_ii and, where these are asked for, (P W^-1 P)_ii: from the inverse, or by neighbours, with what an audit says.
inverse_parts <- function(process, squares) {
  kept <- process$kept
  key <- if (squares) "inverse_squares" else "inverse"
  if (is.null(kept[[key]])) {
    begin_work("leaving one out")
    on.exit(end_work("leaving one out"))
    kept[[key]] <- found_inverse_parts(process, squares)
  }
  kept[[key]]
}

found_inverse_parts <- function(process, squares) {
  model <- process$data
  w <- model$w
  U <- process$U
  system <- kept_system(process)
  if (process$variance == 0) {
    found <- list(own = 1 / system$noise, square = 1 / (system$noise * process$nugget))
  } else if (model$dense) {
    inverse <- chol2inv(system$root)
    found <- list(own = diag(inverse), square = as.vector(inverse^2 %*% (1 / w)))
  } else found <- local_inverse_parts(process, system, squares)
  of_trend <- rowSums(U^2)
  out <- list(own = pmax(found$own - of_trend, 1e-8 * found$own), local = found$local, exact = found$exact)
  if (!is.null(out$exact)) out$exact$own <- pmax(out$exact$own - of_trend[out$exact$rows], 1e-8 * out$exact$own)
  if (squares && ncol(U)) {
    solved <- system$solve(U / w)
    found$square <- found$square - 2 * rowSums(U * solved) + rowSums(U %*% crossprod(U, U / w) * U)
  }
  if (squares) out$square <- found$square
  out
}

# --- by neighbours --------------------------------------------------------------------------------------------

# 1 / (A^-1)_ii is the variance of an observation after all others, and the slope of that in the ridge is the sum of
# squares of a row of A^-1, divided by w and the square of its own entry.
local_inverse_parts <- function(process, system, squares) {
  if (!has_distance(process$data$kernel)) {
    abort("unsupported", "beyond ", process$control$dense_n, " rows of fit_control(dense_n = ) leaving one out is by ",
          "neighbours, and this kernel has no distance")
  }
  if (is.null(process$kept$left_out)) process$kept$left_out <- audited_left_out(process, system)
  audit <- process$kept$left_out
  m <- audit$neighbours
  found <- list(own = 1 / variance_left_out(process, m), local = audit[c("neighbours", "ratio")], exact = audit$exact)
  if (squares) {
    by <- 1e-3
    ends <- lapply(c(1 - by, 1 + by), function(k) {
      variance_left_out(replace(process, "nugget", k * process$nugget), m)
    })
    found$square <- found$own^2 * (ends[[2]] - ends[[1]]) / (2 * by * process$nugget)
  }
  found
}

# The variance of observations after the m others nearest to each.
variance_left_out <- function(process, m, rows = seq_along(process$data$y)) {
  model <- process$data
  n <- length(model$y)
  blocks <- split(rows, (seq_along(rows) - 1) %/% places_at_once)
  unlist(lapply(unname(blocks), function(rows) {
    at <- model$x[rows, , drop = FALSE]
    near <- without_self(nearest_observations(process, at, min(m + 1, n))$nn.index, rows)
    both <- rbind(model$x, at)
    noise <- process$nugget / model$w
    found <- conditional(gp_cross(process, both, both), NULL, seen = seq_len(n), ridge = noise, neighbours = near)
    unname(found$variance) + noise[rows]
  }))
}

# Neighbours of rows without the row, which twins may have put out of the list already.
without_self <- function(near, rows) {
  self <- near == rows
  out <- ifelse(rowSums(self) > 0, max.col(self, "first"), ncol(near))
  kept <- matrix(TRUE, nrow(near), ncol(near))
  kept[cbind(seq_along(rows), out)] <- FALSE
  matrix(t(near)[t(kept)], nrow(near), byrow = TRUE)
}

# As audited_neighbours(), at a few observations.
audited_left_out <- function(process, system) {
  n <- length(process$data$y)
  rows <- privately(process$control$seed %or% 1, sort(sample.int(n, min(n, audit_places))))
  sides <- matrix(0, n, length(rows))
  sides[cbind(rows, seq_along(rows))] <- 1
  step_work("leaving one out", paste("an audit at", length(rows), "rows"))
  solved <- system$solve(sides, tol = tol_of_audit)
  exact <- 1 / diag(system$forms(sides, solved)$value)
  m <- min(60, n - 1)
  repeat {
    ratio <- sqrt(variance_left_out(process, m, rows) / exact)
    if (max(ratio) <= most_ratio || m >= min(most_neighbours, n - 1)) break
    m <- min(2 * m, most_neighbours, n - 1)
  }
  tell_of_rows(list(neighbours = m, ratio = c(mean = mean(ratio), largest = max(ratio)),
                    exact = list(rows = rows, own = 1 / exact, square = colSums(solved^2 / process$data$w))))
}

tell_of_rows <- function(audit) {
  largest <- audit$ratio[["largest"]]
  text <- paste0("an observation is left out by the ", audit$neighbours, " others nearest to it, whose standard ",
                 "deviation of it is at most ", format(largest, digits = 4), " times that of all others, at ",
                 audit_places, " rows")
  if (largest > most_ratio) warn("approximate", text) else message("kernweave: ", text, ". (Said once.)")
  audit
}
