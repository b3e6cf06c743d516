# Profile likelihoods of Gaussian processes: a parameter is fixed along a grid, the others are estimated.

#' Profile likelihoods of Gaussian process parameters
#'
#' `profile()` fixes one parameter at a time, at values on both sides of its estimate, and maximises the likelihood over
#' all other parameters. `confint(fit, method = "profile")` gives the intervals that follow. These need not be
#' symmetric, even on the log scale, and are more reliable than standard errors if few rows determine a parameter.
#'
#' Covariance parameters are profiled on the log scale, trend coefficients (of fits by maximum likelihood) on their own
#' scale. For a kernel with `aniso = TRUE` the parameters are `scale.mean`, the geometric mean of the scales along both
#' axes, and `turn.a` and `turn.b`, which are 0 if both scales are equal. With a = `turn.a`, b = `turn.b` and m =
#' sqrt(a^2 + b^2), the ratio is `exp(-m)`, and the angle is half the angle of the point (a, b). The signed root is the
#' root of twice the decrease of the log-likelihood, with the sign of the change. The grid is at 0.5, 1, 1.5, 2 and 2.6
#' standard errors, and goes on until the signed root is beyond the normal quantile of `alpha / 2`, or the parameter is
#' at its bound. A step is halved where the signed root grows by more than 1. An interval that is still open at a bound
#' ends at 0 or `Inf`: the data do not exclude a variance or nugget of 0, or an infinite scale.
#'
#' If a value on the grid has a larger likelihood than the fit, the fit starts again from that value, with a message.
#' Beyond `control$dense_n` rows likelihoods are estimates. All of them use the same random probes, so that errors
#' cancel in differences; if the standard error of a difference is still 0.1 or more, there is a warning of class
#' `kernweave_warning_approximate`.
#'
#' @param fitted,object for `profile()` what [gp_fit()] returned; for `confint()` what `profile()` returned
#' @param which,parm names or numbers of parameters, as in `confint(fit)`; by default all
#' @param alpha profiles reach far enough for intervals of level `1 - alpha`
#' @param maxpts maximum number of values on each side of the estimate
#' @param level confidence level
#' @param x what `profile()` returned
#' @param ... not used; for `plot()`: more arguments of [graphics::plot()]
#' @return `profile()`: a list of class `profile.gp_fit` with a data frame per parameter, as from [stats::profile()] of
#'   a [glm()]: `z`, the signed root, and `par.vals`, all parameters. `confint()`: a matrix.
#' @seealso [confint.gp_fit()]
#' @concept likelihood-based confidence intervals
#' @name profile-fits
#' @examplesIf requireNamespace("MASS", quietly = TRUE)
#' fit <- gp_fit(accel ~ times, MASS::mcycle, method = "ML")
#' shape <- profile(fit, c("scale", "nugget"))
#' confint(shape)
#' confint(fit, c("scale", "nugget"))
#' plot(shape)
NULL

#' @rdname profile-fits
#' @importFrom stats profile
#' @export
profile.gp_fit <- function(fitted, which = NULL, alpha = 0.01, maxpts = 12, ...) {
  refuse_more(...)
  check_level(alpha)
  maxpts <- check_count(maxpts, "maxpts")
  if (!is.null(fitted$family)) {
    abort("unsupported", "profiles are built for family = gaussian(); anova() of a fit with a given `variance` or ",
          "kernel compares likelihoods of other families")
  }
  refuse_responses(fitted, "profile()", "confint() has intervals by standard errors")
  if (is_of_some(fitted)) {
    abort("unsupported", "parameters were estimated on ", fitted$estimated_on, " of ", length(fitted$data$y), " rows, ",
          "and the likelihood of all is not largest there; update(fit, estimate_on = Inf) takes all")
  }
  labels <- profiled_labels(fitted, which)
  begin_work("profile()", steps = length(labels), quicker = "fewer parameters in `which`", whole = TRUE)
  on.exit(end_work("profile()"))
  top <- stats::qnorm(1 - alpha / 2)
  found <- profiles_of(fitted, labels, top, maxpts, strict = TRUE)
  for (try in 1:2) {
    if (is.null(found$better)) break
    again <- suppressWarnings(refitted(fitted, start = found$better$start), classes = "kernweave_warning")
    gain <- as.numeric(logLik(again)) - as.numeric(logLik(fitted))
    if (gain > 1e-4) {
      tell("kernweave: with `", found$better$label, "` at ", format(found$better$at, digits = 4), " the likelihood ",
           "is larger than at the estimates; the fit starts again from there, and is better by ",
           format(gain, digits = 3))
      fitted <- again
    }
    found <- profiles_of(fitted, labels, top, maxpts, strict = gain > 1e-4 && try == 1)
  }
  noise <- max(0, vapply(found, attr, 0, "se"))
  if (noise >= 0.1) {
    warn("approximate", "differences of likelihoods have standard errors up to ", format(noise, digits = 2),
         "; more `probes` of fit_control() would give smoother profiles")
  }
  structure(found, original.fit = fitted, class = c("profile.gp_fit", "profile"))
}

# Returns a profile for each parameter or, if `strict`, a state `better` than the fit.
profiles_of <- function(fitted, labels, top, maxpts, strict) {
  out <- list()
  for (label in labels) {
    out[[label]] <- profile_of(fitted, label, top, maxpts, strict)
    step_work("profile()", label)
    if (!is.null(out[[label]]$better)) return(list(better = c(out[[label]]$better, label = label)))
  }
  out
}

# Checks names of estimated parameters. Trend coefficients have profiles under maximum likelihood only.
profiled_labels <- function(fit, which) {
  known <- c(fit$data$layout$label, if (fit$method == "ML") names(coef(fit)))
  if (is.null(which)) return(known)
  check_parm(which, "which")
  if (is.numeric(which) && all(which %in% seq_along(known))) return(known[which])
  unknown <- setdiff(which, known)
  if (!length(unknown)) return(which)
  if (unknown[1] %in% names(coef(fit))) {
    abort("unsupported", "a restricted likelihood has no trend in it, and no profile of `", unknown[1], "`: fit with ",
          "method = \"ML\"")
  }
  abort("input", "there is no estimated parameter `", unknown[1], "`", near_hint(unknown[1], known, there_are(known)))
}

# Profiles one parameter: values and signed roots on both sides, or a state `better` than the fit.
profile_of <- function(fit, label, top, maxpts, strict) {
  held <- held_parameter(fit, label)
  sides <- lapply(c(-1, 1), function(side) profile_side(held, side, top, maxpts, strict))
  better <- Filter(Negate(is.null), lapply(sides, `[[`, "better"))
  if (length(better)) return(list(better = better[[1]]))
  lower <- sides[[1]]$table
  table <- rbind(lower[rev(seq_len(nrow(lower))), , drop = FALSE], c(0, 0, held$estimates), sides[[2]]$table)
  out <- data.frame(z = table[, "z"])
  out$par.vals <- table[, -(1:2), drop = FALSE]
  structure(out, bounded = c(sides[[1]]$bounded, sides[[2]]$bounded), se = max(table[, "se"]), link = held$link)
}

# Describes a parameter on the scale of its link: estimate, standard error, bounds, and at(value), the state there.
held_parameter <- function(fit, label) {
  model <- fit$data
  beta <- coef(fit)
  theta <- gp_theta(model$values, model$layout)
  covariance <- gp_estimates(model$values, model$layout)
  inner <- label %in% names(covariance)
  bounds <- if (nrow(model$layout)) gp_bounds(model)
  k <- match(label, names(if (inner) covariance else beta))
  se <- if (inner) sqrt(layout_covariances(fit)[k, k]) else sqrt(fit$vcov[k, k])
  estimate <- if (inner) theta[[k]] else beta[[k]]
  base <- likelihood_by_probes(model, fit$kept$preconditioner$P)
  list(label = label, link = if (inner) model$layout$link[k] else "identity", estimate = estimate,
       se = if (is.na(se)) 1 else se, base = base,
       ends = if (inner) c(lower_bounds(theta, model, bounds)[k], bounds$upper[k]) else c(-Inf, Inf),
       estimates = c(covariance, if (fit$method == "ML") beta),
       at = if (inner) function(value, near) hold_covariance(fit, k, value, near, bounds)
            else function(value, near) hold_coefficient(fit, k, value, near, bounds))
}

# Moves a parameter away from its estimate by multiples of its standard error; each state starts from the last one.
profile_side <- function(held, side, top, maxpts, strict) {
  steps <- c(0.5, 1, 1.5, 2, 2.6, 2.6 + cumsum(0.8 * 1.3^(0:maxpts)))[seq_len(maxpts)]
  end <- held$ends[(side + 3) / 2]
  if (is.finite(end)) steps[maxpts] <- Inf
  bounded <- side * (held$estimate - end) >= -1e-6
  found <- list(list(value = held$estimate, z = 0))
  for (step in steps) {
    value <- held$estimate + side * step * held$se
    bounded <- side * (value - end) >= 0
    if (bounded) value <- end
    if (abs(value - held$estimate) < 1e-6) break
    last <- profile_state(held, side, value, found[[length(found)]]$near, strict)
    if (!is.null(last$better)) return(last)
    found <- c(found, list(last))
    if (abs(last$z) > top || bounded) break
  }
  found <- without_gaps(held, side, found, top, strict)
  if (!is.null(found$better)) return(found)
  none <- matrix(numeric(), 0, 2 + length(held$estimates), dimnames = list(NULL, c("z", "se", names(held$estimates))))
  list(table = do.call(rbind, c(list(none), lapply(found[-1], `[[`, "row"))), bounded = bounded)
}

# Fixes a parameter. Returns signed root, table row and the state `near`, or a state `better` than the fit.
profile_state <- function(held, side, value, near, strict) {
  near <- held$at(value, near)
  falls <- held$base - near$value  # one, or one for each probe
  fall <- mean(falls)
  se <- if (length(falls) > 1) stats::sd(falls) / sqrt(length(falls)) else 0
  if (strict && fall < -max(1e-4, 3 * se)) {
    return(list(better = list(at = out_of_link(value, held), start = near$start)))
  }
  z <- side * sqrt(2 * max(fall, 0))
  list(value = value, z = z, near = near, row = c(z, se, near$estimates[names(held$estimates)]))
}

# Halves a step over which the root increases by more than 1 before it exceeds `top`, since a standard error may be far
# too large as a step. A spline through unequal steps needs increases of at most 0.5. At most twelve halvings are made,
# since the root may jump between two maxima of the likelihood.
without_gaps <- function(held, side, found, top, strict) {
  most <- 1
  for (halving in 1:12) {
    z <- abs(vapply(found, `[[`, 0, "z"))
    gaps <- diff(z) * (utils::head(z, -1) < top)
    k <- which.max(gaps)
    if (!length(gaps) || gaps[k] <= most) break
    most <- 0.5
    value <- (found[[k]]$value + found[[k + 1]]$value) / 2
    middle <- profile_state(held, side, value, found[[k]]$near %or% found[[k + 1]]$near, strict)
    if (!is.null(middle$better)) return(middle)
    found <- append(found, list(middle), k)
  }
  found
}

# --- the likelihood with a fixed parameter -------------------------------------------------------------------------

# Estimates all other parameters, starting from the state `near`.
held_state <- function(fit, model, bounds, near) {
  if (nrow(model$layout)) {
    start <- near$theta %or% gp_theta(model$values, model$layout)
    found <- gp_climb(model, within_bounds(start, model, bounds), bounds)$state
    model$values <- found$values
    theta <- found$theta
  } else theta <- numeric()
  estimates <- gp_estimates(model$values, fit$data$layout)
  list(theta = theta, model = model, value = likelihood_by_probes(model, fit$kept$preconditioner$P), start = estimates)
}

hold_covariance <- function(fit, k, value, near, bounds) {
  model <- fit$data
  model$values <- gp_values(model$values, model$layout[k, ], value)
  model$layout <- model$layout[-k, ]
  each <- c("lower", "upper", "apart", "given")
  bounds[each] <- lapply(bounds[each], `[`, -k)
  state <- held_state(fit, model, bounds, near)
  c(state, list(estimates = c(state$start, stats::setNames(trend_at(state$model), names(coef(fit))))))
}

# Returns the coefficients of the trend at a model's values.
trend_at <- function(model) {
  if (!ncol(model$Q)) return(numeric())
  weights <- gp_weights(model, gp_system(model, model$values))
  as.vector(backsolve(model$R, model$b + weights$b))
}

# Fixes a trend coefficient, by subtracting its column times the value from the response.
hold_coefficient <- function(fit, k, value, near, bounds) {
  model <- fit$data
  F <- fit$regressors$F[model$rows, , drop = FALSE]
  y <- (fit$fitted.values + fit$residuals - fit$regressors$offset)[model$rows]
  basis <- orthonormal_trend(F[, -k, drop = FALSE], as.vector(y) - F[, k] * value)
  model[c("y", "Q", "R", "log_R", "b")] <- basis[c("left", "Q", "R", "log_R", "b")]
  state <- held_state(fit, model, bounds, near)
  beta <- replace(coef(fit), k, value)
  beta[-k] <- trend_at(state$model)
  c(state, list(estimates = c(state$start, beta)))
}

# --- intervals and pictures -----------------------------------------------------------------------------------

#' @rdname profile-fits
#' @export
confint.profile.gp_fit <- function(object, parm = names(object), level = 0.95, ...) {
  refuse_more(...)
  check_level(level)
  check_parm(parm)
  if (is.numeric(parm)) parm <- names(object)[parm]
  unknown <- setdiff(parm, names(object))
  if (length(unknown)) abort("input", "there is no profile of `", unknown[1], "`", near_hint(unknown[1], names(object)))
  ends <- c(1 - level, 1 + level) / 2
  out <- t(vapply(parm, function(name) profile_ends(object[[name]], name, stats::qnorm(ends)), numeric(2)))
  dimnames(out) <- list(parm, paste(format(100 * ends, trim = TRUE, digits = 3), "%"))
  out
}

# Finds the values at which a monotone spline through the roots reaches the quantiles; 0 or infinite beyond a bound.
profile_ends <- function(table, name, quantiles) {
  link <- attr(table, "link")
  value <- table$par.vals[, name]
  curve <- root_curve(table, name)
  range <- range(table$z)
  found <- curve(pmin(pmax(quantiles, range[1]), range[2]))
  found <- out_of_link(found, list(link = link))
  beyond <- c(quantiles[1] < range[1], quantiles[2] > range[2])
  open <- out_of_link(c(-Inf, Inf), list(link = link))
  ifelse(beyond, ifelse(attr(table, "bounded"), open, NA), found)
}

# Returns the parameter, on the scale of its link, as a function of the root.
root_curve <- function(table, name) {
  value <- table$par.vals[, name]
  value <- in_link(value, attributes(table)["link"])
  kept <- !duplicated(table$z)
  z <- table$z[kept]
  if (length(z) < 2) return(function(at) rep(value[1], length(at)))
  stats::splinefun(z, value[kept], method = if (is.unsorted(z)) "natural" else "hyman")
}

#' @rdname profile-fits
#' @param digits significant digits
#' @export
print.profile.gp_fit <- function(x, digits = 4, ...) {
  say("Profile likelihoods of a Gaussian process by ", attr(x, "original.fit")$method, ", intervals of 95 %\n")
  ends <- confint(x)
  print(ends, digits = digits)
  open <- vapply(x, function(table) out_of_link(c(-Inf, Inf), attributes(table)["link"]), c(0, 0))
  open <- rownames(ends)[ends[, 1] == open[1, ] & open[1, ] == 0 | ends[, 2] == open[2, ]]
  if (length(open)) say("Still open at a bound, and end with their range: ", toString(open), "\n")
  invisible(x)
}

#' @export
summary.profile.gp_fit <- function(object, ...) object

#' @rdname profile-fits
#' @export
plot.profile.gp_fit <- function(x, ...) {
  count <- length(x)
  if (count > 1 && prod(graphics::par("mfrow")) == 1) {
    rows <- ceiling(sqrt(count))
    old <- graphics::par(mfrow = c(ceiling(count / rows), rows))
    on.exit(graphics::par(old))
  }
  for (name in names(x)) draw_picture(plot_data(x, name), ...)
  invisible(x)
}

# Plots the signed root, with lines at the ends of 95 % intervals. `which`: the parameter.
#' @export
plot_data.profile.gp_fit <- function(object, which = names(object)[1], ...) {
  table <- object[[which]]
  z <- seq(min(table$z), max(table$z), length.out = 200)
  at <- root_curve(table, which)(z)
  link <- attr(table, "link")
  picture(which, "signed root", points = data.frame(x = table$par.vals[, which], y = table$z),
          curve = data.frame(x = out_of_link(at, list(link = link)), y = z),
          across = data.frame(y = stats::qnorm(c(0.025, 0.975))),
          upright = data.frame(x = table$par.vals[table$z == 0, which][1]), log = if (link == "log") "x" else "")
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.profile.gp_fit <- function(x, conf.int = TRUE, conf.level = 0.95, ...) {
  refuse_more(...)
  ends <- confint(x, level = conf.level)
  estimates <- vapply(names(x), function(name) x[[name]]$par.vals[x[[name]]$z == 0, name][[1]], 0)
  without_ends(data.frame(term = names(x), estimate = unname(estimates), conf.low = unname(ends[, 1]),
                          conf.high = unname(ends[, 2])), conf.int)
}
