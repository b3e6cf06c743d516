# Kernel ridge regressions of non-normal responses: a penalised likelihood. The fit is the mode of a Gaussian process of
# variance 1 / lambda with an unpenalised intercept.

ridge_of_family <- function(inputs, placed, y, terms, lambda, standardize, weights, control, call, family) {
  if (identical(lambda, "gcv")) {
    abort("unsupported", "lambda = \"gcv\" is for gaussian(); NULL, \"loo\" and numbers are for all families")
  }
  if (inherits(family, "gp_likelihood")) {
    abort("unsupported", "kernel_ridge() has the families of glm(); gp_fit(family = ) has the family ", family$title)
  }
  if (identical(family$phi, "size") && !family$given) {
    abort("unsupported", "the size of a negative binomial is to be given, as in MASS::negative.binomial(size); ",
          "gp_fit(family = \"negbin\") estimates it")
  }
  response <- family_response(family, y, weights, nrow(inputs$x), rownames(inputs$x))
  model <- ridge_model(placed, response, standardize, family, control)
  if (!model$dense && identical(lambda, "loo")) refuse_loo(model)
  begin_work("kernel_ridge()")
  on.exit(end_work("kernel_ridge()"))
  chosen <- family_penalty(model, lambda)
  at <- ridge_mode(model, chosen$lambda)
  control <- at$system$products$control %or% control
  tell_of_tolerance(model$control$approximate, control, length(model$y))
  found <- ridge_edf(at, chosen$lambda)
  part <- list(x = model$x, y = as.matrix(at$model$y), w = at$model$w, family = at$model$family)
  fit <- new_fit("kernel_ridge", call, inputs, kernel = model$kernel, data = part,
                 units = list(x = model$units, y = list(centre = at$weights$b[1] * model$Q[1], width = 1)),
                 term.names = terms, alpha = as.matrix(at$weights$alpha / chosen$lambda), lambda = chosen$lambda,
                 method = chosen$method, edf = found$edf, edf_se = found$edf_se, gcv = chosen$table,
                 criterion = chosen$least, standardize = standardize, control = control,
                 kept = new.env(parent = emptyenv()), convergence = list(residual = at$weights$residual))
  with_family_scale(fit, response, if (model$dense) loo_of(at)$mean, model$rows)
}

# Builds the model as gp_fit() does, with a given kernel and an intercept.
ridge_model <- function(placed, response, standardize, family, control) {
  rows <- which(response$a > 0)
  x <- unname(strip_term(placed$inputs$x))[rows, , drop = FALSE]
  a <- response$a[rows]
  n <- length(rows)
  if (n < 2) abort("data", "a regression needs at least 2 rows, not ", n)
  units <- column_units(x, a, standardize, placed$rule)
  x <- scaled_columns(x, units)
  kernel <- ridge_kernel(placed$kernel, structure(x, term = attr(placed$inputs$x, "term")))
  values <- list(variance = 1, kernel = list(), nugget = 1, phi = family$value)
  list(x = x, y = 0 * a, w = a, Q = matrix(1 / sqrt(n), n), R = matrix(sqrt(n)), log_R = log(n) / 2, b = 0,
       kernel = kernel, method = "REML", control = control, dense = n <= control$dense_n, family = family,
       response = cbind(y = response$y[rows], a = a, offset = 0), rows = rows, values = values, units = units,
       layout = gp_layout(values, character(), character()))
}

ridge_mode <- function(model, lambda, near = NULL) {
  at <- unless_indefinite_gp(laplace_mode(model, replace(model$values, "variance", 1 / lambda), near))
  at %or% abort("singular", "the system of the mode is not positive definite at lambda ", format(lambda, digits = 3),
                ": a larger `lambda` would make it so")
}

# The trace of K (K + lambda / W)^-1.
ridge_edf <- function(at, lambda) {
  model <- at$model
  n <- length(model$y)
  if (model$dense) return(list(edf = n - sum(inverse_diagonal(at$system) / model$w), edf_se = 0))
  if (model$control$probes == 0) return(list(edf = NA_real_, edf_se = 0))
  K <- weighed_pairs(kernel_pairs(model$kernel, model$x), model$w)
  control <- tolerable(model$control, lambda, max(diag(K)), n)
  path <- on_definite(system_products(K, control), lambda, function(op) fit_trace(op, n, lambda, control))
  list(edf = n - lambda * path$trace, edf_se = lambda * path$trace_se)
}

# --- the penalty ------------------------------------------------------------------------------------------------

# Chooses lambda, from the largest down; each mode starts from the last one. The criterion is the leave-one-out
# deviance, or, if the fit is iterative, deviance + 2 df (generalised cross-validation if the dispersion is unknown).
# The path ends when the criterion has risen twice: with separable classes all criteria have another minimum without
# smoothing.
family_penalty <- function(model, lambda) {
  if (is.numeric(lambda) && length(lambda) == 1) return(list(lambda = lambda, method = "given"))
  size <- mean(diag(kernel_pairs(model$kernel, model$x)))
  W <- mean(working_model(model, model$values, mode_start(model)$e)$w)
  grid <- if (is.numeric(lambda)) sort(lambda) else size * W * 10^seq(-6, 2, by = 0.5)
  near <- table <- NULL
  for (one in rev(grid)) {
    near <- ridge_mode(model, one, near)
    table <- rbind(penalty_row(near, one), table)
    if (!is.numeric(lambda) && nrow(table) > 2 && all(diff(table$criterion[1:3]) < 0)) break
  }
  table$gcv <- table$criterion
  by <- if (model$dense) "leave-one-out deviance" else if (is.null(model$family$phi)) "deviance and twice the edf"
        else "generalised cross-validation"
  c(least_of(table, among = is.numeric(lambda)), list(table = table, method = by))
}

penalty_row <- function(at, lambda) {
  model <- at$model
  y <- model$response[, "y"]
  a <- model$response[, "a"]
  scale <- model$family$base(model$family$value)
  deviance <- function(e) sum(scale$dev.resids(y, scale$linkinv(e), a))
  found <- ridge_edf(at, lambda)
  n <- length(y)
  criterion <- if (model$dense) deviance(loo_of(at)$mean)
               else if (identical(model$family$phi, "shape")) n * deviance(at$e) / (n - found$edf)^2
               else deviance(at$e) + 2 * found$edf
  data.frame(lambda = lambda, edf = found$edf, se = found$edf_se, criterion = criterion)
}

# --- the fit ----------------------------------------------------------------------------------------------------

# Adds linear predictors, means, deviance, and the dispersion of Gamma from Pearson residuals. `left_out`: leave-one-out
# predictors, if known.
with_family_scale <- function(fit, response, left_out, rows) {
  family <- fit$data$family
  all <- ridge_values(fit, scaled_columns(unname(strip_term(fit$x)), fit$units$x))[, 1]
  fit$linear.predictors <- stats::setNames(all, rownames(fit$x))
  fit <- on_response_scale(fit, response, numeric(length(all)))
  n <- length(rows)
  fit$df.residual <- n - fit$edf
  if (identical(family$phi, "shape")) {
    fit$dispersion <- sum(family_residuals(fit, "pearson")^2) / fit$df.residual
    fit$data$family$value <- 1 / fit$dispersion
  }
  fit$sigma <- if (identical(family$phi, "shape")) sqrt(fit$dispersion) else 1
  fit$r.squared <- 1 - fit$deviance / fit$null.deviance
  if (!is.null(left_out)) fit$left_out <- replace(all, rows, left_out)
  fit
}

# Expresses a linear function of alpha plus `level` times the intercept as a linear function of the working response,
# given solutions v for alpha.
with_intercept <- function(fit, v, level) {
  kept <- fit$kept
  if (is.null(kept$of_one)) kept$of_one <- ridge_solved(fit, matrix(1, nrow(v)))[, 1]
  v + outer(kept$of_one, (level - colSums(v)) / sum(kept$of_one))
}
