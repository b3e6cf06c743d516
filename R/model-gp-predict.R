# Predictions of Gaussian processes: means with standard errors, draws, plots.

#' @rdname gp_fit-methods
#' @export
predict.gp_fit <- function(object, newdata = NULL, se.fit = FALSE, interval = c("none", "confidence", "prediction"),
                           level = 0.95, type = c("response", "link", "mean", "trend", "prob", "class"),
                           method = c("auto", "exact", "local"), neighbours = NULL, block = NULL, re.form = NULL,
                           allow.new.levels = FALSE, ...) {
  refuse_more(...)
  if (is_raster(newdata)) {
    return(over_cells(with_groups_of(object, re.form, allow.new.levels), newdata, predict.gp_fit, se.fit, interval,
                      level, type, method, neighbours, block, re.form, allow.new.levels))
  }
  interval <- choice_of(interval[1], c("none", "confidence", "prediction"), "interval")
  type <- choice_of(type[1], c("response", "link", "mean", "trend", "prob", "class"), "type")
  method <- choice_of(method[1], c("auto", "exact", "local"), "method")
  if (!is.null(neighbours)) neighbours <- check_count(neighbours, "neighbours")
  check_level(level)
  if (type == "trend" && interval == "prediction") {
    abort("input", "the trend has a confidence interval; a prediction is that of type = \"response\"")
  }
  check_flag(se.fit, "se.fit")
  check_flag(allow.new.levels, "allow.new.levels")
  object <- with_groups_of(object, re.form, allow.new.levels)
  if (type %in% c("prob", "class")) {
    check_of_levels(object, type, se.fit, interval)
    of <- function(type) predict.gp_fit(object, newdata, type == "link", "none", level, type, method, neighbours, block,
                                        re.form, allow.new.levels)
    if (is.null(object$data$family$levels)) return(class_prediction(object, of("mean"), type))
    return(level_prediction(object, of("link"), type))
  }
  if (!is.null(block)) {
    return(predict_blocks(object, newdata, block, se.fit, interval, level, type, method, neighbours))
  }
  if (!is.null(object$family)) {
    if (type %in% c("response", "mean")) {
      link <- function(errors) {
        predict.gp_fit(object, newdata, errors, type = "link", method = method, neighbours = neighbours,
                       re.form = re.form, allow.new.levels = allow.new.levels)
      }
      return(family_prediction(object, link, se.fit, interval, level, type, newdata))
    }
    if (interval == "prediction") abort("input", "a prediction interval is that of type = \"response\"")
  }
  if (type %in% c("link", "mean")) type <- "response"
  errors <- se.fit || interval != "none"
  local <- method == "local" && type == "response"
  if (is.null(newdata) && !errors && type == "response" && !local && is.null(re.form) && is.null(object$response)) {
    return(stats::napredict(object$na.action, object$linear.predictors %or% object$fitted.values))
  }
  by <- if (errors && type == "response" && !local) errors_by_neighbours(object, method, neighbours)
  found <- at_gp_places(object, newdata, function(x, F, offset) {
    beside <- as.vector(F %*% coef(object)) + offset
    if (!nrow(x)) return(cbind(beside, if (errors) beside))
    if (type == "trend") return(cbind(beside, if (errors) sqrt(rowSums((F %*% object$vcov) * F))))
    if (local) {
      own <- new_regressors(object$data, F)
      near <- local_process(object, x, neighbours %or% fewest_neighbours, object$data$y, if (ncol(F)) own)
      return(cbind(as.vector(own %*% object$data$b) + offset + near[, 1], sqrt(near[, 2]) * !near[, 3]))
    }
    of_data <- with_work("predict()", gp_products(object, x, cbind(model_alpha(object), if (errors) object$U)), 1)
    cbind(beside + of_data[, 1], if (errors) gp_se(object, x, F, of_data[, -1, drop = FALSE], by$neighbours))
  }, trend_alone = type == "trend")
  as_prediction(object, found, se.fit, interval, level, by)
}

# Returns means and standard errors, the columns of `found`, as predict.lm() does.
as_prediction <- function(object, found, se.fit, interval, level, by) {
  column <- function(k) stats::setNames(as.vector(found[, k]), rownames(found))  # one row keeps its name
  fit <- column(1)
  freedom <- trend_freedom(object)
  noise <- list(df.residual = freedom, sigma = object$sigma)
  if (interval != "none") fit <- with_interval(fit, column(2), noise, interval, level)
  if (!se.fit) return(fit)
  structure(list(fit = fit, se.fit = column(2), df = freedom, residual.scale = object$sigma), local = by)
}

# Adds the choice of grouped effects, re.form and allow.new.levels, to a fit.
with_groups_of <- function(object, re.form, allow.new.levels) {
  object$re.form <- re.form
  object$allow.new.levels <- allow.new.levels
  lost <- object$trend$groups[!kept_groups(object$trend$groups, re.form)]
  for (term in lost) object$regressors$z[, term$at] <- 0
  object
}

# Evaluates f(inputs, regressors, offset) at complete places; other rows are NA. The inputs are the columns of the
# kernel, then the columns of grouped effects.
at_gp_places <- function(object, newdata, f, trend_alone = FALSE) {
  newdata <- as_sf(newdata, object$variables)
  own <- is.null(newdata)
  trend_alone <- trend_alone && !is.null(object$terms) && is.data.frame(newdata)
  x <- if (own) object$x else if (trend_alone) no_places(newdata) else new_points(object, newdata)
  trend <- if (own) object$regressors else new_trend(object, newdata, nrow(x), object$re.form,
                                                             isTRUE(object$allow.new.levels))
  if (!is.null(object$response)) {
    trend <- trend_of_places(object, trend)
    x <- x[rep(seq_len(nrow(x)), length(object$data$unit)), , drop = FALSE]
  }
  D <- ncol(x)
  p <- ncol(trend$F)
  all <- cbind(strip_term(x), trend$F, trend$offset, trend$z)
  rownames(all) <- rownames(x)
  found <- at_complete(all, function(at) {
    at <- unname(at)
    x <- at[, seq_len(D), drop = FALSE]
    if (!trend_alone) x <- cbind(model_points(object$data$rule, x), at[, -seq_len(D + p + 1), drop = FALSE])
    f(x, at[, D + seq_len(p), drop = FALSE], at[, D + p + 1])
  })
  if (own) stats::napredict(object$na.action, found) else found
}

# Returns a matrix without inputs, which a trend alone does not need.
no_places <- function(newdata) {
  rows <- if (!identical(attr(newdata, "row.names"), seq_len(nrow(newdata)))) row.names(newdata)
  matrix(0, nrow(newdata), 0, dimnames = list(rows, NULL))
}

# Returns standard errors: the variance of the process for a known trend plus the variance of the trend. `of_trend`:
# products with U, so that no system is solved again. `m`: the number of neighbours, or NULL for exact errors.
gp_se <- function(object, x, F, of_trend, m) {
  model <- object$data
  missing <- if (ncol(object$U)) rowSums((new_regressors(model, F) %*% inverse_root(object$C) - of_trend)^2) else 0
  if (!is.null(m)) {
    found <- local_process(object, x, m)
    return(sqrt(found[, 2] + missing) * !found[, 3])
  }
  if (is_approximated(rep(nrow(model$x), 2), object$control)) {
    # Exact errors use all pairs. A system of 64 columns takes 20 times as long as a product with one column, of 20
    # columns 10 to 14 times: 6000 to 25,000 rows in the plane, Matern 3/2 and 5/2, a sixteenth of noise.
    one <- system.time(process_cross(object, model_places(model)) %*% object$alpha)[["elapsed"]]
    tell("Exact standard errors of approximated fits are from all pairs: about ",
         format(20 * one * ceiling(nrow(x) / 64), digits = 2), " s for ", counted(nrow(x), "place"),
         "; for maps, apply(simulate(fit, 100, newdata = map), 1, sd) takes only one system per draw")
  }
  process <- if (model$dense) dense_gp_variance(object, x) else lazy_gp_variance(object, x)
  sqrt(process + missing)
}

# Computes errors from a Cholesky factor, which is made once and stored.
dense_gp_variance <- function(object, x) {
  model <- object$data
  kept <- object$kept
  if (object$variance == 0 && !length(model$groups)) return(numeric(nrow(x)))
  if (is.null(kept$system)) kept$system <- replace(kept_system(object), "model", list(NULL))
  explained <- with_work("predict()", unlist(explained_at_places(kept$system, object, x)), ceiling(nrow(x) / 256))
  pmax(diag(gp_cross(object, x, x)) - explained, 0)
}

# Returns k' A^-1 k, the explained variance at places, by blocks.
explained_at_places <- function(system, object, x) UseMethod("explained_at_places")

#' @export
explained_at_places.gp_system <- function(system, object, x) {
  in_row_blocks(nrow(x), work = "predict()", function(rows) {
    inverse_forms(system, unname(as.matrix(gp_cross(object, model_places(object$data), x[rows, , drop = FALSE]))))
  })
}

# Multiplies regressors at places by R^-1, as in Q = F R^-1.
new_regressors <- function(model, F) F %*% inverse_root(model$R)

# The posterior variance of the process at places, by iterations with a relative tolerance `tol` (sds: half of that).
lazy_gp_variance <- function(object, x) {
  model <- object$data
  both <- rbind(model_places(model), x)
  seen <- seq_along(model$y)
  W <- asked_of(model)$around(model$w)
  begin_work("predict()", quicker = "method = \"local\"")
  on.exit(end_work("predict()"))
  step_work("predict()", paste("exact standard errors at", counted(nrow(x), "place")))
  quietly_solved(conditional(
    weighed_pairs(gp_cross(object, both, both), c(W, rep(1, nrow(x)))), NULL, seen = seen,
    ridge = model$values$nugget * W / model$w, tol = min(100 * object$control$tol, 1e-2), solver = "cg",
    max_iter = object$control$max_iter, rank = object$control$rank,
    precondition = object$kept$preconditioner$P %or% TRUE
  ))$variance
}

#' @rdname gp_fit-methods
#' @export
simulate.gp_fit <- function(object, nsim = 1, seed = NULL, newdata = NULL, conditional = TRUE, noise = !conditional,
                            re.form = NULL, allow.new.levels = FALSE, n, ...) {
  refuse_more(...)
  refuse_points(nsim, "nsim")
  refuse_points(seed, "seed")
  if (is_raster(newdata)) {
    return(over_cells(with_groups_of(object, re.form, allow.new.levels), newdata, function(object, cells) {
      simulate.gp_fit(object, nsim, seed, cells, conditional, noise, re.form, allow.new.levels)
    }))
  }
  if (!missing(n)) abort("input", "there is no argument `n`; the number of draws is `nsim`, as in stats::simulate()")
  nsim <- check_count(nsim, "nsim")
  check_flag(conditional, "conditional")
  check_flag(noise, "noise")
  check_flag(allow.new.levels, "allow.new.levels")
  object <- with_groups_of(object, re.form, allow.new.levels)
  weights <- if (is.null(newdata)) object$weights
  of_family <- !is.null(object$family)
  begin_work("simulate()", quicker = "a smaller `nsim`")
  on.exit(end_work("simulate()"))
  latent <- function() at_gp_places(object, newdata, function(x, F, offset) {
    draws <- if (conditional) draws_after(object, x, F, offset, nsim)
             else as.vector(F %*% coef(object)) + offset + gp_draws(object, x, 0, nsim)
    if (!noise || of_family) return(draws)
    draws + sqrt(noise_of_draws(object, weights, nrow(draws))) * stats::rnorm(length(draws))
  })
  if (of_family && !is.null(weights)) weights <- stats::napredict(object$na.action, weights)
  drawn <- with_state(seed, if (of_family) family_draws(object, latent(), noise, weights, newdata) else latent())
  draws <- draws_frame(drawn$value, rownames(drawn$value), drawn$mark)
  levels <- object$data$family$levels
  if (noise && !is.null(levels)) draws[] <- lapply(draws, level_factor, levels)
  draws
}

# The noise variances of draws, response by response.
noise_of_draws <- function(object, weights, rows) {
  p <- length(object$nugget)
  rep(object$nugget, each = rows / p) / rep(weights %or% 1, p)
}

# Posterior draws by conditioning: a prior draw z at observations (with noise) and places, minus its own kriging at the
# places, plus the predicted mean. With A = K + noise and U the solutions of the trend, the kriging of z is K* (A^-1 z -
# U U'z) + R* C^-1 U'z.
draws_after <- function(object, x, F, offset, nsim) {
  model <- object$data
  if (any(model$w < 0)) return(draws_by_covariance(object, x, F, offset, nsim))
  seen <- seq_along(model$y)
  both <- rbind(model_places(model), x)
  noise <- c(model$values$nugget / model$w, numeric(nrow(x)))
  before <- gp_draws(object, both, noise, nsim)
  z <- before[seen, , drop = FALSE]
  step_work("simulate()", "draws given the data")
  of_trend <- crossprod(object$U, z)
  weights <- matrix(as.vector(solve(kept_system(object), z)), nrow(z)) - object$U %*% of_trend
  kriged <- gp_products(object, x, cbind(model_alpha(object), weights))
  own <- new_regressors(model, F) %*% inverse_root(object$C) %*% of_trend
  as.vector(F %*% coef(object)) + offset + kriged[, 1] + before[-seen, , drop = FALSE] - kriged[, -1] - own
}

# Posterior draws of the process and its trend by a root of the covariance matrix, for models in which W is negative:
# noise cannot have a negative variance, so conditioning is not possible.
draws_by_covariance <- function(object, x, F, offset, nsim) {
  model <- object$data
  k <- unname(as.matrix(gp_cross(object, model_places(model), x)))
  of_trend <- new_regressors(model, F) %*% inverse_root(object$C) - crossprod(k, object$U)
  covariance <- unname(as.matrix(gp_cross(object, x, x))) - crossprod(k, kept_system(object)$inverse %*% k) +
    tcrossprod(of_trend)
  found <- eigen(covariance, symmetric = TRUE)
  root <- found$vectors * rep(sqrt(pmax(found$values, 0)), each = nrow(x))
  as.vector(F %*% coef(object)) + offset + as.vector(crossprod(k, model_alpha(object))) +
    root %*% matrix(stats::rnorm(nrow(x) * nsim), nrow(x))
}

# Prior draws of the process and of grouped effects, with noise of given variances.
gp_draws <- function(object, x, noise, nsim) {
  by_sides <- if (!is.null(object$data$panel) && nrow(x)) panel_draws(object, x, nsim)
  draws <- if (!is.null(by_sides)) by_sides + sqrt(noise) * stats::rnorm(length(by_sides)) else if (nrow(x)) {
    K <- fit_products(process_cross(object, x, x), object$control)
    # about a hundred steps of a draw, each a product
    if (nrow(x) > 5000) expect_work("simulate()", expected_seconds(K, rep(1, nrow(x)), 100 * nsim), "a smaller `nsim`")
    step_work("simulate()", "draws of the process")
    seen <- if (any(noise > 0)) noise[noise > 0] else noise[length(noise) > 1]
    tol <- tol_of_draws(seen, object$variance, max(object$control$tol, 1e-6))
    with_gp_arguments(simulate(K, nsim = nsim, ridge = noise, tol = tol, rank = object$control$rank))
  }
  parts <- group_parts(object$data, object$data$values, x[, -seq_len(ncol(object$data$x)), drop = FALSE])
  matrix(as.vector(draws), nrow(x), nsim) + group_draws(parts, nrow(x), nsim)
}

# Replaces warnings about inaccurate draws by warnings that name the arguments of the fit.
with_gp_arguments <- function(draws) {
  withCallingHandlers(draws, kernweave_warning_convergence = function(w) {
    if (isTRUE(w$off <= 1e-3)) invokeRestart("muffleWarning")
    warn("convergence", "draws may be off by ", format(w$off, digits = 2), " of their size: fewer rows of `newdata`, ",
         "or a larger `rank` of fit_control() in gp_fit(), would help")
    invokeRestart("muffleWarning")
  })
}

# --- other rows, and the response ---------------------------------------------------------------------------

#' @export
refit_to.gp_fit <- function(fit, rows, again) {
  free <- if (again) free_parts(fit)
  settings <- settings_again(fit, free)
  settings$estimate_on <- if (again && is.finite(settings$estimate_on)) min(settings$estimate_on, length(rows)) else Inf
  if (!again) settings$kernel <- fit$kernel
  trend <- fit$trend
  trend$F <- fit$regressors$F[rows, , drop = FALSE]
  trend$offset <- fit$regressors$offset[rows]
  trend$z <- fit$regressors$z[rows, , drop = FALSE]
  trend$phi <- lapply(fit$regressors$phi, function(M) M[rows, , drop = FALSE])
  part <- some_rows(fit, rows)
  gp_of(part$inputs, part$y, trend, settings, part$weights, fit$call)
}

# Removes rounding errors of fitted value + residual.
#' @export
response_of.gp_fit <- function(fit) {
  y <- fit$fitted.values + fit$residuals
  if (!is.null(fit$family)) y <- fit$data$family$as_given(y, fit$weights %or% rep(1, length(y)))
  as.matrix(fit$ranges %or% y)
}

# --- pictures -----------------------------------------------------------------------------------------------

#' @rdname gp_fit-methods
#' @export
plot.gp_fit <- function(x, which = c("fit", "se", "variogram"), n = NULL, level = 0.95, whole = FALSE, at = NULL, ...) {
  if (is.numeric(which)) draw_diagnostics(x, which, ...) else drawn(x, plot_data(x, which, n, level, whole, at), ...)
}

#' @export
plot_data.gp_fit <- function(object, which = c("fit", "se", "variogram"), n = NULL, level = 0.95, whole = FALSE,
                             at = NULL, ...) {
  refuse_responses(object, "plot()", "predict(fit, newdata) has a column for each")
  if (is.numeric(which)) return(diagnostic_picture(object, which))
  which <- choice_of(which[1], c("fit", "se", "variogram"), "which")
  if (which == "variogram") return(plot_data(variogram(object)))
  check_held(object, at)
  labels <- colnames(object$x) %or% object$names
  free <- which(!labels %in% names(at))
  labels <- labels[free]
  x <- unname(strip_term(object$x))[, free, drop = FALSE]
  D <- length(free)
  axes <- plot_axes(x, check_count(n %or% c(200, 40)[min(max(D, 1), 2)], "n", least = 2))
  places <- if (D %in% 1:2) grid_places(object, axes, at, free)
  held <- held_rows(object, at)
  response <- response_name(object)
  observed <- object$fitted.values + object$residuals
  if (is.null(places)) {
    lacking <- setdiff(trend_covariates(object), c(names(at), labels))
    more <- if (D > 2) "values of all but two inputs" else if (D && length(lacking)) toString(unique(lacking))
    note <- if (!is.null(more)) paste("for a", if (D == 1) "curve" else "map", "give", more, "in `at`")
    return(observed_picture(object$fitted.values, observed, response, note = note))
  }
  group <- if (which == "fit") response_classes(object)
  fitted <- fitted_name(object)
  title <- paste(c(paste(if (which == "se") "Standard error of" else "Fitted", fitted), held$title), collapse = ", ")
  map <- function(height, what) {
    rows <- object$data$rows
    surface_picture(axes, height, x[rows, , drop = FALSE], labels, what, whole, object, title, held$near[rows],
                    group[rows], response)
  }
  if (D == 2 && which == "fit") return(map(predict(object, places, re.form = NA), fitted))
  found <- pictured_errors(object, places, level)
  near <- attr(found, "local")$neighbours
  what <- paste0("standard error", if (!is.null(near)) paste0(" (", near, " neighbours)"))
  if (D == 2) return(map(found$se.fit, what))
  curve <- data.frame(x = axes[[1]], y = found$se.fit)
  if (which == "se") return(picture(labels, what, curve = curve, main = title))
  curve_picture(axes[[1]], found$fit[, 1], x[held$near, ], observed[held$near], labels, fitted, found$fit[, 2:3], title)
}

# Predictions for a plot. Standard errors from neighbours are not audited, which would take longest.
pictured_errors <- function(object, places, level) {
  if (has_slow_errors(object) && is.null(object$kept$audits$auto)) {
    object$kept <- list2env(as.list(object$kept, all.names = TRUE))  # a copy for this call alone
    object$kept$audits <- list(auto = list(neighbours = fewest_neighbours))
  }
  predict(object, places, se.fit = TRUE, interval = "confidence", level = level, re.form = NA)
}

# Checks `at`, the values that a plot holds fixed.
check_held <- function(fit, at) {
  if (is.null(at)) return(invisible())
  one <- is.list(at) && length(names(at)) == length(at) && all(lengths(at) == 1)
  if (!one) {
    abort("input", "`at` must be a list of single values with names, as in at = list(depth = 2), not ", describe(at))
  }
  known <- unique(c(fit$names, colnames(fit$x), trend_covariates(fit)))
  wrong <- setdiff(names(at), known)
  if (length(wrong)) abort("input", "`at` has `", wrong[1], "`, which the fit has not", near_hint(wrong[1], known))
}

trend_covariates <- function(fit) {
  unlist(lapply(c(list(fit$trend), fit$trend$parameters), function(one) all.vars(one$terms)))
}

# Makes new data of a grid over the inputs in columns `free`, if inputs and the values in `at` determine the trend, too;
# else returns NULL.
grid_places <- function(fit, axes, at, free) {
  variables <- if (is.null(fit$terms)) fit$names else input_variables(fit)
  # plots leave out grouped effects
  needed <- setdiff(trend_covariates(fit), names(at))
  variables <- setdiff(variables, names(at))
  numbers <- unname(as.matrix(expand.grid(axes)))
  grid <- data.frame(row.names = seq_len(nrow(numbers)))
  grid[names(at)] <- at
  if (identical(variables, fit$places$name) && !length(needed)) {
    grid[[variables]] <- numbers
    return(grid)
  }
  if (length(variables) != length(axes) || length(setdiff(names(fit$xlevels), names(at))) ||
        !all(needed %in% variables)) return(NULL)
  kinds <- as.list(fit$kinds %or% attr(fit$variables, "kinds"))[variables]
  grid[variables] <- Map(`attributes<-`, expand.grid(axes), lapply(kinds, attributes))
  if (isTRUE(all.equal(unname(strip_term(new_points(fit, grid)))[, free, drop = FALSE], numbers))) grid
}
