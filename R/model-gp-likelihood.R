# Likelihoods of Gaussian processes: value, score and average information, from a factorisation or from products.
#
# A model has the points `x`, their `term`, the response `y`, weights `w`, the trend `Q` with orthonormal columns and
# `log_R`, the log-determinant of the triangular factor; a kernel of variance 1, `method`, `control`, and `layout`, a
# data frame of the estimated parameters: `label`, `part` ("variance", "kernel", "nugget"), `name` and `index` of the
# parameter, and its `link`, "log" if it is positive, else mostly "identity". Values are list(variance, kernel, groups,
# nugget); theta are parameters on the scale of their links.

# Generalised least squares: b, the coefficients of Q; alpha = P y; U with P = A^-1 - U U'; `form` = y' P y; C, the
# Cholesky factor of Q' A^-1 Q. Iterative solutions are refined until coefficients have errors of at most a thousandth
# of their standard errors, and the log-likelihood has a similar error.
gp_weights <- function(model, system, start = NULL) {
  sides <- cbind(model$y, model$Q)
  tol <- model$control$tol
  repeat {
    solved <- solve(system, sides, tol = tol, start = start)
    found <- generalised_squares(solved_forms(system, sides, solved))
    if (is.null(found)) return(NULL)
    tol <- tol / 10
    if (!isTRUE(found$inaccuracy > 1e-3) || tol < 1e-11 || isFALSE(attr(solved, "converged"))) break
    start <- solved
  }
  of_trend <- solved[, -1, drop = FALSE]
  c(found, list(alpha = solved[, 1] - as.vector(of_trend %*% found$b), U = of_trend %*% inverse_root(found$C),
                solved = matrix(solved, nrow(sides)), logdet_trend = 2 * sum(log(diag(found$C))) + 2 * model$log_R,
                residual = attr(solved, "residual") %or% 0, tol = 10 * tol,
                converged = attr(solved, "converged") %or% TRUE))
}

inverse_root <- function(C) if (length(C)) backsolve(C, diag(nrow(C))) else C

# Solves generalised least squares given G = S' A^-1 S of the response and the regressors, whose error is at most
# outer(off, off). `inaccuracy` bounds the errors of b, in standard errors, and of the log-likelihood. NULL if G is not
# definite.
generalised_squares <- function(forms) {
  G <- forms$value
  of_trend <- G[-1, -1, drop = FALSE]
  C <- if (length(of_trend)) tryCatch(chol.default(of_trend), error = function(e) NULL) else of_trend
  if (is.null(C)) return(NULL)
  root <- t(inverse_root(C))
  along <- root %*% G[-1, 1]
  b <- crossprod(root, along)
  by_errors <- sqrt(sum((abs(root) %*% forms$off[-1])^2))
  in_all <- sum(forms$off * c(1, abs(b)))
  list(b = b, C = C, form = G[1, 1] - sum(along^2), inaccuracy = max(by_errors * (in_all + by_errors), in_all^2 / 2))
}

is_reml <- function(model) model$method == "REML"
gp_rows <- function(model) length(model$y) - is_reml(model) * ncol(model$Q)

gp_log_likelihood <- function(model, logdet, weights) UseMethod("gp_log_likelihood", family_of(model))

#' @export
gp_log_likelihood.gp_gaussian <- function(model, logdet, weights) {
  more <- if (is_reml(model)) weights$logdet_trend else 0
  -(gp_rows(model) * log(2 * pi) + as.numeric(logdet) + more + weights$form) / 2 - log_of_units(model)
}

# Value, score and average information at theta; -Inf if the matrix is not definite. Iterations start from the solutions
# of a near state.
gp_state <- function(model, point, near = NULL) UseMethod("gp_state", family_of(model))

#' @export
gp_state.gp_gaussian <- function(model, point, near = NULL) {
  values <- gp_values(model$values, model$layout, point)
  none <- list(theta = point, values = values, value = -Inf)
  found <- tryCatch({
    system <- unless_indefinite_gp(gp_system(model, values, near))
    weights <- if (!is.null(system)) unless_indefinite_gp(gp_weights(model, system, near$weights$solved))
    slopes <- if (!is.null(weights)) unless_indefinite_gp(system_slopes(system))
  }, kernweave_error_tolerance = identity)
  if (inherits(found, "condition")) return(c(none, list(why = found)))
  if (is.null(slopes)) return(none)
  c(list(theta = point, values = values), gp_value(model, system, weights, slopes$logdet),
    list(weights = weights, preconditioner = system$preconditioner, control = system$products$control),
    gp_score(model, values, system, weights, slopes))
}

# The log-likelihood with its standard error, from the probes and from the error of the quadratic form.
gp_value <- function(model, system, weights, logdet = system_logdet(system)) {
  by <- error_of_form(system, weights$alpha)
  list(value = gp_log_likelihood(model, logdet, weights) + by[["sum"]] / 2,
       se = sqrt((attr(logdet, "se") %or% 0)^2 + by[["se"]]^2) / 2)
}

unless_indefinite_gp <- function(value) {
  tryCatch(value, kernweave_error_indefinite = function(e) NULL, kernweave_error_value = function(e) NULL)
}

# Quadratic forms of iterations that start at 0 have errors of squared residuals: at 50 000 points standard errors were
# known to 2e-3 with 0.01, to 1e-4 with 0.003.
tol_of_information <- 5e-3

# Quadratic forms of the derivatives in alpha and U give the score, and one more system the information. The derivative
# by the variance is A minus noise and groups, where A alpha and A U are known.
gp_score <- function(model, values, system, weights, slopes) {
  layout <- model$layout
  n <- length(model$y)
  u <- cbind(weights$alpha, weights$U)
  p <- ncol(model$Q)
  noises <- noise_parts(system)
  A_u <- cbind(model$y - model$Q %*% weights$b, if (p) model$Q %*% backsolve(weights$C, diag(p)))
  applied <- slopes$applied(u)
  inner <- cumsum(layout$part %in% c("responses", "kernel", "groups"))
  products <- lapply(seq_len(nrow(layout)), function(k) {
    switch(layout$part[k], variance = A_u - system$noise * u - groups_times(group_parts(model, values), u),
           nugget = noises[[layout$index[k]]] * u, applied[[inner[k]]])
  })
  of <- 1 + inner
  last <- length(slopes$traces) - length(noises) + layout$index
  of <- ifelse(layout$part == "variance", 1, ifelse(layout$part == "nugget", last, of))
  noise <- stats::cov(slopes$each[, of, drop = FALSE]) / (4 * nrow(slopes$each))
  forms <- vapply(products, function(B) colSums(u * B), numeric(1 + p))
  forms <- matrix(forms, 1 + p)
  beside <- if (is_reml(model)) colSums(forms[-1, , drop = FALSE]) else 0
  W <- matrix(vapply(products, function(B) B[, 1], numeric(n)), n)
  found <- forms_of_columns(system, W, max(model$control$tol, tol_of_information))
  information <- (found$value - crossprod(crossprod(weights$U, W))) / 2
  dimnames(information) <- list(layout$label, layout$label)
  list(score = stats::setNames((forms[1, ] - slopes$traces[of] + beside) / 2, layout$label),
       information = (information + t(information)) / 2, score_noise = noise, along = W, solved = found$solved)
}
