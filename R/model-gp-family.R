# Gaussian processes with non-normal responses: Laplace's approximation. At the mode of the linear predictor e the model
# is Gaussian: the working response e + g / W has noise 1 / W, where g = d log p / de and W = -dg / de. With S = K + 1 /
# W and B = 1 + W^1/2 K W^1/2, |S| = |B| / |W|.
#
# A model with a family has two more elements: `family`, whose `value` is its further parameter, and `response`, a data
# frame of y, a and the offset. At a mode `y` is the working response minus the offset, `w` is W, the nugget is 1, `e`
# is the linear predictor, and `joint` is the log-density minus f' alpha / 2, f the process.

family_model <- function(inputs, response, trend, settings) {
  family <- family_of(settings)
  model <- gp_model(inputs, family$start(response$y, response$a), trend, settings, response$a)
  model$y <- model$y + as.vector(model$Q %*% model$b)
  model$b <- 0 * model$b
  model$family <- family_of_rows(family, model$rows)
  model$response <- data.frame(y = response$y, a = response$a, offset = trend$offset)[model$rows, ]
  if (!length(family$phi)) return(model)
  model$values$phi <- begun_parameters(model$family, model$response, spread_of(model))
  model$layout <- with_phi(model$layout, family)
  model
}

# Returns the starting or given values of a family's parameters, or of their coefficients.
begun_parameters <- function(family, response, spread) {
  first <- first_parameters(family, response, spread)
  if (!length(family$formulas)) {
    return(stats::setNames(ifelse(family$given, family$value, first), names(family$value)))
  }
  at <- in_link(first, data.frame(link = family$natural$rows$links))[family$of]
  stats::setNames(ifelse(family$given, family$held, ifelse(is.na(family$begin), first[family$of], family$begin * at)),
                  family$phi)
}

# Checks a log-density written by the user.
check_density <- function(family, response) UseMethod("check_density")

#' @export
check_density.gp_family <- function(family, response) invisible()

# Returns the default starting values of a family's parameters.
first_parameters <- function(family, response, spread) UseMethod("first_parameters")

#' @export
first_parameters.gp_family <- function(family, response, spread) {
  weight <- if (family$phi == "shape") mean(response[, "a"]) else 1  # `shape` belongs to weight 1
  min(max(2 / spread, 0.5), 50) / weight
}

# Returns the bounds of some parameters of a family, on the scale of their links.
parameter_ends <- function(family, index) {
  if (is.null(family$lower)) return(list(lower = rep(-Inf, length(index)), upper = rep(Inf, length(index))))
  layout <- data.frame(link = family$links[index])
  lower <- pmax(family$lower[index], ifelse(layout$link == "identity", -Inf, 0))
  list(lower = in_link(lower, layout), upper = in_link(pmin(family$upper[index],
                                                            ifelse(layout$link == "logit", 1, Inf)), layout))
}

#' @export
gp_of_family.gp_family <- function(inputs, placed, y, trend, settings, weights, call) {
  if (!is.null(settings$family$settle)) settings$family <- settings$family$settle(y)
  settings$family <- with_regressors(settings$family, trend$phi)
  response <- family_response(settings$family, y, weights, nrow(inputs$x), rownames(inputs$x))
  # The determinant of an indefinite system needs a dense matrix.
  if (!is_concave(settings$family)) settings$estimate_on <- min(settings$estimate_on, settings$control$dense_n)
  model <- family_model(placed, response, trend, settings)
  check_gp_data(model, settings, inputs)
  check_density(with_parameters(model$family, model$values$phi), model$response)
  found <- gp_fitted(model, settings)
  if (any(abs(found$model$e) >= most_predictor)) {
    warn("boundary", "linear predictors are beyond ", most_predictor, ": an offset may be on the wrong scale, that of ",
         "the response, where its ", found$model$family$link, " is wanted")
  }
  start <- as.matrix(settings$family$start(response$y, response$a))
  fit <- gp_object(found, inputs, start, trend, settings, response$a, call)
  fit$linear.predictors <- fit$fitted.values
  fit <- on_response_scale(fit, response, trend$offset)
  family <- fit$data$family
  fit$nugget <- 0
  fit$dispersion <- family$dispersion(family$value)
  fit$sigma <- if (identical(family$phi, "shape")) sqrt(fit$dispersion) else 1
  warn_of_separation(fit)
  fit
}

# The standard error of a linear predictor that shows that the data do not bound a coefficient: others are some units.
unbounded_error <- 1e3

# Warns if terms of the trend separate the responses, so that their coefficients have no estimates.
warn_of_separation <- function(fit) {
  unbounded <- sqrt(diag(stats::vcov(fit))) * apply(abs(fit$regressors$F), 2, max) > unbounded_error
  if (!any(unbounded, na.rm = TRUE)) return(invisible())
  warn("boundary", "the trend separates the responses: ", paste0("`", names(which(unbounded)), "`", collapse = ", "),
       " would be infinite, and neither standard errors nor likelihoods hold; drop or pool such terms")
}

# Adds means, residuals and deviances on the scale of the response to a fit with linear predictors.
on_response_scale <- function(fit, response, offset) {
  family <- family_at(fit)
  fit$family <- family$base(family$value)
  mean <- stats::setNames(fit$family$linkinv(as.vector(fit$linear.predictors)), names(fit$linear.predictors))
  fit[c("fitted.values", "residuals")] <- list(mean, nearest_in(response$y, mean) - mean)
  if (is.complex(response$y)) fit$ranges <- response$y
  fit["weights"] <- list(if (any(response$a != 1)) response$a)
  if (is.null(fit$family$dev.resids)) return(fit)
  fit$deviance <- sum(fit$family$dev.resids(response$y, mean, response$a))
  heavy <- response$a > 0
  mean_alone <- suppressWarnings(stats::glm.fit(rep(1, sum(heavy)), response$y[heavy], response$a[heavy],
                                                offset = offset[heavy], family = fit$family))
  fit$null.deviance <- mean_alone$deviance
  fit
}

#' @export
gp_state_of_all.gp_family <- function(model, state) {
  if (is.null(state)) state <- unless_indefinite_gp(laplace_mode(model, model$values))
  if (is.null(state)) {
    abort("singular", "the system of the mode is not positive definite: another kernel, or a smaller `variance`, ",
          "would make it so")
  }
  if (is.null(state[["value"]]) && model$dense) state <- c(state, gp_value(state$model, state$system, state$weights))
  state
}

# --- the mode -------------------------------------------------------------------------------------------------

# The Gaussian model at a bounded linear predictor. If the log-density is not concave, W may be negative in some rows:
# Newton steps use a small share of the largest W instead; with `signed`, W stays negative.
working_model <- function(model, values, e, signed = FALSE) {
  model$family <- with_parameters(model$family, values$phi)
  e <- bounded_predictor(e)
  curvature <- model$family$curvature %or% model$family$slopes
  found <- curvature(model$response[, "y"], e, model$family$value, model$response[, "a"])
  model$w <- if (is_concave(model$family)) pmax(found$W, (model$family$least %or% 0) * max(found$W), 1e-300)
             else if (signed) ifelse(found$W < 0, -1, 1) * pmax(abs(found$W), 1e-7 * max(abs(found$W)))
             else pmax(found$W, 1e-3 * max(abs(found$W)))
  model$y <- e - model$response[, "offset"] + found$g / model$w
  model$e <- e
  model$values <- values
  model
}

# Returns the starting point of Newton's method: a constant mean, and the process 0.
mode_start <- function(model) {
  y <- model$response[, "y"]
  a <- model$response[, "a"]
  level <- mean_predictor(model$family, y, a) - sum(a * model$response[, "offset"]) / sum(a)
  trend <- as.vector(model$Q %*% crossprod(model$Q, rep(level, length(y))))
  mode_point(model, alpha = numeric(length(y)), trend = trend, f = numeric(length(y)))
}

# Returns the linear predictor of a constant mean.
mean_predictor <- function(family, y, a) UseMethod("mean_predictor")

#' @export
mean_predictor.gp_family <- function(family, y, a) family$base(family$value)$linkfun(sum(a * y) / sum(a))

# A point of Newton's method: alpha, trend, process f, linear predictor e, and `joint`, the joint log-density.
mode_point <- function(model, alpha, trend, f) {
  response <- model$response
  e <- response[, "offset"] + trend + f
  density <- sum(model$family$log_density(response[, "y"], bounded_predictor(e), model$family$value, response[, "a"]))
  list(alpha = alpha, trend = trend, f = f, e = e, joint = density - sum(alpha * f) / 2)
}

# Newton's method; each step solves generalised least squares, and is halved until the joint log-density does not
# decrease. A concave log-density has one mode. A step below 1e-3 leaves an error of some 1e-6; the system is computed
# once more at the end, with the curvature there.
laplace_mode <- function(model, values, near = NULL) {
  model$family <- with_parameters(model$family, values$phi)
  if (model$dense && values$variance > 0) model$K <- dense_gp_covariance(model, values)
  # The mode is predicted from that of the state `near`, to first order.
  by <- if (!is.null(near$moves)) gp_theta(values, model$layout) - near$theta
  at <- if (is.null(near$e)) mode_start(model)
        else list(e = if (length(by) && max(abs(by)) < 1) as.vector(near$e + near$moves %*% by) else near$e,
                  joint = -Inf)
  solved <- near$weights$solved
  for (step in 1:100) {
    found <- laplace_system(model, values, at$e, near, solved)
    if (is.null(found)) return(NULL)
    new <- newton_step(model, at, found)
    if (is.null(new)) {
      if (is.null(near$e)) break
      return(laplace_mode(model, values, near[c("preconditioner", "values")]))
    }
    change <- max(abs(new$e - at$e))
    gain <- abs(new$joint - at$joint) / (1 + abs(new$joint))
    done <- change < 1e-3 || isTRUE(gain <= if (model$dense) 1e-10 else 1e-9)
    at <- new
    near <- list(preconditioner = found$system$preconditioner, values = values, e = near$e)
    solved <- found$weights$solved
    if (done) break
  }
  if (is.null(new) || !done) {
    warn("convergence", "the mode of the linear predictor was not reached in ", counted(step, "step"),
         ": fewer rows, or a given `scale` or `variance`, would help")
  }
  signed <- length(model$y) <= model$control$dense_n && !is_concave(model$family)
  if (change > 1e-8 || !model$dense || signed) {
    near$values <- NULL  # so that the preconditioner is made anew, for this curvature
    found <- laplace_system(model, values, at$e, near, solved, signed)
    # Steps with positive W+ converge slowly, so the last step uses W itself.
    last <- if (signed && !is.null(found)) newton_step(model, at, found)
    if (!is.null(last)) {
      at <- last
      found <- laplace_system(model, values, at$e, near, solved, signed)
    }
  }
  if (is.null(found)) return(NULL)
  found$model$joint <- at$joint
  found$model$K <- NULL
  c(found, list(values = values, e = at$e, preconditioner = found$system$preconditioner,
                control = found$system$products$control))
}

is_concave <- function(family) family$concave %or% TRUE

laplace_system <- function(model, values, e, near, solved, signed = FALSE) {
  model <- working_model(model, values, e, signed)
  system <- gp_system(model, values, near)
  weights <- if (!is.null(system)) gp_weights(model, system, solved)
  if (!is.null(weights)) list(model = model, system = system, weights = weights)
}

# Returns NULL if twenty halvings do not help. The first step from a near state is accepted.
newton_step <- function(model, at, found) {
  working <- found$model
  alpha <- found$weights$alpha
  trend <- as.vector(working$Q %*% found$weights$b)
  f <- if (model$dense) working$y - trend - alpha / working$w else as.vector(covariance_times(found$system, alpha))
  if (is.null(at$f)) {
    new <- mode_point(model, alpha, trend, f)
    return(if (is.finite(new$joint)) new)
  }
  for (t in 2^-(0:20)) {
    new <- mode_point(model, (1 - t) * at$alpha + t * alpha, (1 - t) * at$trend + t * trend, (1 - t) * at$f + t * f)
    if (isTRUE(new$joint >= at$joint - 1e-9 * (1 + abs(at$joint)))) return(new)
  }
  NULL
}

# The diagonal of Cov(e) = 1/W - P / W^2, from the factor or by random signs; the trend's part is left out if maximum
# likelihood is used.
predictor_variance <- function(at, slopes) {
  W <- at$model$w
  of_trend <- if (is_reml(at$model)) rowSums(at$weights$U^2) else 0
  own <- slopes$diagonal %or% {
    signs <- private_signs(length(W), max(2, at$model$control$probes), at$model$control$seed %or% 1)
    rowMeans(signs * solve(at$system, signs / sqrt(W), tol = 1e-3)) * sqrt(W)
  }
  (1 - (own - of_trend) / W) / W
}

# --- value and score --------------------------------------------------------------------------------------------

#' @export
gp_log_likelihood.gp_family <- function(model, logdet, weights) {
  of_trend <- if (is_reml(model)) weights$logdet_trend - ncol(model$Q) * log(2 * pi) else 0
  model$joint - (as.numeric(logdet) + of_trend) / 2
}

#' @export
gp_state.gp_family <- function(model, point, near = NULL) {
  values <- gp_values(model$values, model$layout, point)
  none <- list(theta = point, values = values, value = -Inf)
  at <- unless_indefinite_gp(laplace_mode(model, values, near))
  slopes <- if (!is.null(at)) unless_indefinite_gp(system_slopes(at$system))
  if (is.null(slopes)) return(none)
  logdet <- slopes$logdet
  c(list(theta = point, value = gp_log_likelihood(at$model, logdet, at$weights), se = (attr(logdet, "se") %or% 0) / 2),
    at[c("values", "weights", "preconditioner", "e", "model", "control")],
    laplace_score(model$layout, at, slopes))
}

# The Gaussian score and information of the working response, plus the effect of W moving with the mode: u = P s / W.
laplace_score <- function(layout, at, slopes) {
  model <- at$model
  weights <- at$weights
  model$layout <- layout[layout$part != "phi", ]
  found <- if (nrow(model$layout)) gp_score(model, at$values, at$system, weights, slopes)
  V <- predictor_variance(at, slopes)
  y <- model$response[, "y"]
  a <- model$response[, "a"]
  s <- V * model$family$slopes(y, model$e, model$family$value, a)$W_e
  K_s <- as.vector(covariance_times(at$system, s))
  solved <- as.vector(solve(at$system, K_s))
  of_trend <- function(x) backsolve(weights$C, crossprod(model$Q, x), transpose = TRUE)
  p <- ncol(model$Q)
  u <- s - solved + as.vector(weights$U %*% (crossprod(weights$U, K_s) - if (p) of_trend(s) else 0))
  score <- if (!is.null(found)) found$score - as.vector(crossprod(found$along, u)) / 2
  moves <- if (!is.null(found)) found$solved - weights$U %*% crossprod(weights$U, found$along)
  moves <- cbind(moves, matrix(0, length(s), nrow(layout) - nrow(model$layout))) / model$w
  if (nrow(layout) == nrow(model$layout)) {
    return(list(score = score, information = found$information, score_noise = found$score_noise, moves = moves))
  }
  moved <- as.vector(covariance_times(at$system, u))
  if (p) moved <- moved + as.vector(model$Q %*% backsolve(weights$C, of_trend(s - solved)))
  by_phi <- model$family$of_phi(y, model$e, model$family$value, a)
  by_phi <- lapply(by_phi, function(one) {
    by_coefficients(model$family, as.matrix(one))[, layout$index[layout$part == "phi"], drop = FALSE]
  })
  of_phi <- colSums(by_phi$l) - colSums(V * by_phi$W + moved * by_phi$g) / 2
  information <- noise <- diag(0, nrow(layout))
  known <- seq_len(nrow(model$layout))
  if (length(known)) information[known, known] <- found$information
  if (length(known)) noise[known, known] <- found$score_noise
  further <- layout$part == "phi"
  information[further, further] <- crossprod(by_phi$l)
  dimnames(information) <- list(layout$label, layout$label)
  list(score = stats::setNames(c(score, of_phi), layout$label), information = information, score_noise = noise,
       moves = moves)
}

# Starts from a given ratio of the process' variance to that of the response.
#' @export
profiled.gp_family <- function(model, point, ratio, bounds) {
  point[model$layout$part == "variance"] <- log(process_spread(model)) + log(ratio)
  gp_state(model, within_bounds(point, model, bounds))[c("theta", "value")]
}

# Returns the negative Hessian, by differences of the score, if it is positive definite. Otherwise returns the
# information used by the steps, which ignores that W depends on the mode, and the covariances of the family's parameter
# with other parameters. A variance near 0 has hardly any information; its difference is over one longest step.
#' @export
last_information.gp_family <- function(model, at) {
  own <- sqrt(diag(at$information))
  most <- ifelse(model$layout$link == "identity", Inf, longest_step)
  by <- ifelse(own > 0, pmin((if (model$dense) 1e-3 else 0.2) / own, most), 0)
  found <- vapply(seq_along(by), function(k) {
    if (!by[k]) return(at$information[, k])
    moved <- gp_state(model, replace(at$theta, k, at$theta[[k]] + by[k]), at)
    if (is.finite(moved$value)) (at$score - moved$score) / by[k] else at$information[, k]
  }, at$score)
  found <- matrix(found, length(by), dimnames = dimnames(at$information))
  found <- (found + t(found)) / 2
  if (is.null(tryCatch(chol.default(found), error = function(e) NULL))) at$information else found
}
