# The posterior of covariance parameters: mode, polynomial approximation, draws, and checks of the approximation.
#
# A target has the `model`, `prior` and bounds. Coordinates u are parameters on the scale of their links or, between
# bounds, logit((theta - lower) / (upper - lower)); z = root^-1 (u - mode), where root root' is the inverse Hessian.

#' Posterior of covariance parameters
#'
#' Draws from the posterior distribution of the covariance parameters of a Gaussian process, which shows how uncertain
#' range, variance and noise are. Its `predict()` averages over this uncertainty, which `predict()` of the fit ignores.
#'
#' The posterior is the likelihood times the [gp_prior()]. The trend is integrated out with a flat prior, so that the
#' likelihood is the restricted one, for fits by maximum likelihood as well. Kernel, trend and values that you gave to
#' `gp_fit()` stay as they are.
#'
#' `summary()` returns a matrix: mean, standard deviation, median, and the ends of the 90 % interval. `plot()` draws the
#' density of each parameter, that of its prior as a grey area, and a dashed line at the estimate of the fit. The draws
#' are a data frame with the columns that package posterior asks for, and `posterior::as_draws_df()` takes them.
#'
#' @section Method:
#' With up to six parameters, few likelihoods are computed: at the mode and at points around it, a standard deviation or
#' two away (5, 9, 15, 25, 27 and 45 points for one to six parameters). A polynomial of the fourth degree in the
#' logarithms of the parameters is fitted to the log posteriors at these points and to their gradients. Draws come from
#' a t distribution, 20 000 of them, weighted by the polynomial; `nsim` of these are kept. The likelihoods of ten draws
#' check the polynomial, and are then added to its data. If they differ from it by a standard deviation of more than
#' 0.3, ten others check the new polynomial, twice at most. If it still differs, or with more parameters, 1000 draws are
#' weighted by their likelihoods. Beyond `control$dense_n` rows this would take too long: there is a warning of class
#' `kernweave_warning_approximate` and, with more than six parameters, an error.
#'
#' `print()` shows by how much exact log posteriors differed from the polynomial, the number of effective draws, and the
#' Pareto shape k of the largest weights. If k is above 0.7, few draws have most of the weight, and there is a warning.
#'
#' Beyond `control$dense_n` rows all likelihoods use the same random probes, landmarks and neighbours, so that the error
#' of the log-determinant is one smooth function of the parameters. It moves posterior means by a share of their
#' standard deviations, `convergence$noise` of the fit. The number of probes is such that this share is below 0.1, at
#' least 4 and at most twice that of the fit; above 0.2 there is a warning.
#'
#' Estimates of the fit may be at a bound, such as a nugget of nearly 0 or a very long scale: the mode of the posterior
#' is where likelihood times prior is largest.
#'
#' @section Predictions:
#' `predict()` averages over the parameter values whose likelihoods were computed, with weights that reproduce the mean
#' and covariance of the posterior. Its variance is the mean of the variances plus the variance of the means. No linear
#' system of the data is solved again. Beyond `control$dense_n` rows standard errors come from nearest neighbours, see
#' [predict.gp_fit()]. With a `family` the linear predictor is averaged, and the further parameter of the family is that
#' of the fit.
#'
#' @param fit a fit by [gp_fit()], whose covariance parameters were estimated on all rows
#' @param nsim number of draws
#' @param prior the prior, from [gp_prior()]; or `"flat"`, for a density that is constant in the logarithms of the
#'   parameters, with a warning, since the posterior may then have no finite integral
#' @param seed a number for reproducible draws, which leaves the state of the random number generator unchanged; `NULL`
#'   to draw from that state
#' @param x,object what `gp_posterior()` returned
#' @param newdata,se.fit,interval,level,type,re.form,allow.new.levels as in [predict.gp_fit()]
#' @param digits significant digits
#' @param ... not used; for `plot()`: more arguments of [graphics::plot()]
#' @return `gp_posterior()`: a data frame of class `gp_posterior` with a row for each draw. It has a column for each
#'   estimated parameter, named as in `coef(fit, "covariance")`, and `log_posterior`, the logarithm of likelihood times
#'   prior as a density of the logarithms of the parameters; `.chain`, `.iteration` and `.draw`. `predict()`: as
#'   [predict.gp_fit()].
#' @references Rue, H., Martino, S. and Chopin, N. (2009) Approximate Bayesian inference for latent Gaussian models by
#'   using integrated nested Laplace approximations. Journal of the Royal Statistical Society B 71, 319-392.
#'
#'   Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024) Pareto smoothed importance sampling. Journal of
#'   Machine Learning Research 25, 1-58.
#' @seealso [gp_prior()]; [profile.gp_fit()] for intervals by likelihood alone
#' @concept Bayesian kriging
#' @concept uncertainty of the range
#' @concept posterior of hyperparameters
#' @concept INLA
#' @export
#' @examples
#' some <- quakes[seq(1, 1000, by = 8), ]
#' fit <- gp_fit(depth ~ long + lat, some, kernel = "matern32")
#' post <- gp_posterior(fit, seed = 1)
#' post
#' plot(post)
#' # the probability that the range is longer than 5 degrees
#' mean(2 * post$scale > 5)
#' # standard errors with the uncertainty of the parameters, and without
#' at <- quakes[c(2, 100), ]
#' predict(post, at, se.fit = TRUE)$se.fit
#' predict(fit, at, se.fit = TRUE)$se.fit
#' # a prior of your own
#' summary(gp_posterior(fit, prior = gp_prior(range = c(below = 3, prob = 0.05)), seed = 1))
gp_posterior <- function(fit, nsim = 1000, prior = gp_prior(), seed = NULL, ...) {
  refuse_more(...)
  check_posterior(fit)
  nsim <- check_count(nsim, "nsim")
  begin_work("gp_posterior()", quicker = "a fit to a sample of the rows")
  on.exit(end_work("gp_posterior()"))
  target <- posterior_target(fit, prior)
  p <- nrow(target$of)
  random <- with_state(seed, random_of_posterior(p, max(proposals_of_posterior, nsim)))$value
  top <- with_axes(posterior_mode(target))
  found <- if (p <= most_of_polynomial) posterior_by_polynomial(top, random) else posterior_by_likelihoods(top, random)
  if (!found$agrees && fit$data$dense) found <- posterior_by_likelihoods(top, random, found$states)
  new_posterior(fit, top$target, top, found, resampled(found$log_weights, nsim, random$start))
}

check_posterior <- function(fit) {
  if (!inherits(fit, "gp_fit")) abort("input", "`fit` must be what gp_fit() returned, not ", describe(fit))
  refuse_responses(fit, "gp_posterior()", "vcov(fit, \"covariance\") has the errors of the parameters")
  layout <- fit$data$layout
  if (!nrow(layout)) {
    abort("unsupported", "all covariance parameters of the fit are given, and have no posterior; with NULL for ",
          "`variance` or `nugget`, or a kernel without values, they are estimated")
  }
  if (is_of_some(fit)) {
    abort("unsupported", "parameters were estimated on ", fit$estimated_on, " of ", length(fit$data$y), " rows; their ",
          "posterior is that of all rows: update(fit, estimate_on = Inf), or a fit to a sample of the rows")
  }
  if (nrow(layout) > most_of_polynomial && !fit$data$dense) {
    abort("unsupported", nrow(layout), " estimated parameters are more than ", most_of_polynomial, ", the most beyond ",
          "`dense_n` rows: give values to some, fit to at most `dense_n` rows, or raise `dense_n` of fit_control()")
  }
}

# The most parameters whose log posterior is approximated by a polynomial.
most_of_polynomial <- 6
proposals_of_posterior <- 20000
df_of_proposals <- 5
points_of_check <- 10
heaviest_of_check <- 3
most_shape <- 0.7  # Pareto k above which means by weights are unreliable
draws_by_likelihoods <- 1000
most_off <- 0.3

random_of_posterior <- function(p, n) {
  normal <- matrix(stats::rnorm(n * p), n)
  list(z = normal / sqrt(stats::rchisq(n, df_of_proposals) / df_of_proposals), start = stats::runif(1),
       checks = stats::runif(3))
}

# --- the log posterior ----------------------------------------------------------------------------------------

# The trend is integrated out with a flat prior, as in REML.
posterior_target <- function(fit, prior) {
  model <- replace(fit$data, "method", "REML")
  bounds <- gp_bounds(model)
  theta <- gp_theta(model$values, model$layout)
  model$control$probes <- probes_of_posterior(fit)
  g <- model$layout$part == "nugget"
  # Start above a nugget's bound, where the likelihood is not flat.
  if (any(g & theta < bounds$lower + 1e-3)) theta[g] <- max(theta[g], log(1e-3 * spread_of(model)))
  c(list(model = model, bounds = bounds, theta = theta, base = NULL, preconditioner = fit$kept$preconditioner),
    prior_of_model(prior, model, bounds))
}

# Returns the number of random vectors with which posterior means have errors below a tenth of an sd (the estimates of
# the fit have the same errors), at most twice the fit's number.
probes_of_posterior <- function(fit) {
  probes <- fit$control$probes
  noise <- fit$convergence$noise
  if (is.null(noise)) probes else min(2 * probes, max(probes_of_climb, ceiling(probes * (noise / 0.07)^2)))
}

# Value, gradient and curvature at coordinates. All states use the landmarks, neighbours and random vectors of the first
# state, so that the noise of log-determinants is a smooth function.
posterior_state <- function(target, u) {
  of <- target$of
  values <- values_within(target, u)
  theta <- gp_theta(values, target$model$layout)
  at <- gp_state(target$model, theta, state_nearby(target, values))
  prior <- prior_at(of, u)
  if (!is.finite(at$value)) return(list(u = u, log_posterior = -Inf))
  by <- ifelse(of$kind == "bounds", (of$upper - of$lower) * stats::dlogis(u), abs(theta - u) < 1e-8)
  c(list(u = u, log_posterior = at$value + prior$value, gradient = at$score * by + prior$slope,
         curvature = at$information * outer(by, by) - diag(prior$curvature, length(u))), at)
}

# Values at coordinates. A nugget is at least its bound, below which the likelihood is flat and matrices are singular.
values_within <- function(target, u) {
  model <- target$model
  theta <- as.vector(theta_of(target$of, rbind(u)))
  lower <- ifelse(model$layout$part == "nugget", lower_bounds(theta, model, target$bounds), -Inf)
  gp_values(model$values, model$layout, pmax(theta, lower))
}

# The log posterior alone, of a dense model.
posterior_value <- function(target, u) {
  at <- unless_indefinite_gp(gp_solved(target$model, values_within(target, u)))
  if (is.null(at)) -Inf else gp_value(at$model, at$system, at$weights)$value + prior_at(target$of, u)$value
}

# The system at values with its solutions; NULL if it is not definite.
gp_solved <- function(model, values) UseMethod("gp_solved", family_of(model))

#' @export
gp_solved.gp_gaussian <- function(model, values) {
  system <- gp_system(model, values)
  weights <- if (!is.null(system)) gp_weights(model, system)
  if (!is.null(weights)) list(model = model, system = system, weights = weights)
}

#' @export
gp_solved.gp_family <- function(model, values) laplace_mode(model, values)

state_nearby <- function(target, values) {
  if (target$model$dense) return(target$base["e"])
  before <- target$base$preconditioner %or% target$preconditioner
  kept <- list2env(list(P = before$P, strength = before$strength, values = values, smallest = Inf), parent = emptyenv())
  replace(target$base[c("e", "weights")], "preconditioner", list(kept))
}

# --- the mode -------------------------------------------------------------------------------------------------

# Maximises likelihood times prior by damped steps, from the third on with BFGS updates of the curvature.
posterior_mode <- function(target) {
  target$base <- at <- posterior_state(target, coordinates_of(target$of, target$theta))
  H <- at$curvature
  off <- Inf
  for (step in 1:50) {
    if (!is.finite(at$log_posterior)) break
    move <- limited_step(H, at$gradient, diag(nrow(H)), 0)
    off <- sqrt(max(0, sum(move * at$gradient)))
    step_work("gp_posterior()", paste0("the mode, ", format(off, digits = 2), " s.e. away"))
    if (off < if (target$model$dense) 1e-3 else 0.05) break
    new <- posterior_step(target, at, move)
    if (is.null(new)) break
    H <- if (step < first_secant) new$curvature else secant(H, new$u - at$u, at$gradient - new$gradient)
    at <- new
  }
  if (off > 0.5) {
    abort("singular", "the posterior has no mode that a climb from the estimates reaches: a value for one of ",
          toString(paste0("`", told_labels(target$model$layout$label), "`")), ", or a narrower `prior`, would help")
  }
  noise <- if (target$model$dense) 0 else noise_of(at, target$model, target$bounds)
  if (noise > 0.2) {
    warn("convergence", "means of the posterior are known to ", format(noise, digits = 2), " standard deviations, by ",
         target$model$control$probes, " random vectors; more `probes` of fit_control() would tell them better")
  }
  list(target = target, at = at)
}

# Returns a state with a larger log posterior (by the gradients if the value is noisy), NULL if none is found.
posterior_step <- function(target, at, move) {
  for (t in 2^-(0:8)) {
    new <- posterior_state(target, at$u + t * move)
    gain <- if (!is.finite(new$log_posterior)) -Inf
            else if (target$model$dense) new$log_posterior - at$log_posterior
            else sum(move * (at$gradient + new$gradient))
    if (gain > -1e-10 * (1 + abs(at$log_posterior))) return(new)
  }
  NULL
}

# Adds the root of the inverse Hessian, by differences of gradients if the model is dense.
with_axes <- function(top) {
  at <- top$at
  H <- at$curvature
  unit <- sqrt(pmax(diag(H), 1e-4))
  if (top$target$model$dense) {
    found <- vapply(seq_along(unit), function(k) {
      step <- replace(0 * unit, k, 0.05 / unit[k])
      moved <- posterior_state(top$target, at$u + step)
      if (is.finite(moved$log_posterior)) (at$gradient - moved$gradient) / step[k] else H[, k]
    }, unit)
    H <- matrix(found + t(found), length(unit)) / 2
  }
  e <- eigen(H / outer(unit, unit), symmetric = TRUE)
  H <- e$vectors %*% (pmax(e$values, 0.01) * t(e$vectors)) * outer(unit, unit)
  c(top, list(root = inverse_root(chol.default(H))))
}

# --- the polynomial -------------------------------------------------------------------------------------------

# The design: the centre, two points on each axis, and the corners of a cube (half of them if p > 4).
design_of_posterior <- function(p) {
  if (p == 1) return(matrix(c(0, -2, -1, 1, 2)))
  corners <- unname(as.matrix(expand.grid(rep(list(c(-1, 1)), p))))
  if (p > 4) corners <- corners[apply(corners, 1, prod) > 0, ]
  axes <- sqrt(max(p, 3)) * diag(p)
  rbind(0, axes, -axes, corners)
}

# Returns states at rows of z, with the elements that the polynomial and predictions need. `before`: earlier states.
states_of_design <- function(top, z, before = NULL) {
  lapply(seq_len(nrow(z)), function(k) {
    step_work("gp_posterior()", paste("likelihood", length(before) + k))
    at <- if (all(z[k, ] == 0)) top$at else posterior_state(top$target, top$at$u + as.vector(top$root %*% z[k, ]))
    list(z = z[k, ], log_posterior = at$log_posterior, gradient = at$gradient, values = at$values,
         weights = at$weights[c("b", "alpha", "U", "C")], working = at$model[c("w", "y", "e")])
  })
}

# Fits a polynomial of degree 4 in z to the differences between values and gradients of the log posterior and of a
# normal log-density. Far away the polynomial is unbounded, so it is capped at 0.5 above the mode's log posterior, 0,
# and beyond a radius of 3 it falls by at least 1/2 a unit.
capped_polynomial <- function(top, states) {
  states <- states[is.finite(log_posteriors(states))]
  Z <- do.call(rbind, lapply(states, `[[`, "z"))
  p <- ncol(Z)
  powers <- unname(as.matrix(expand.grid(rep(list(0:4), p))))
  powers <- powers[rowSums(powers) <= 4, , drop = FALSE]
  values <- log_posteriors(states) - top$at$log_posterior + rowSums(Z^2) / 2
  slopes <- do.call(rbind, lapply(states, function(one) as.vector(crossprod(top$root, one$gradient)))) + Z
  M <- rbind(power_products(Z, powers), do.call(rbind, lapply(seq_len(p), function(k) power_products(Z, powers, k))))
  root_weight <- rep(exp(-rowSums(Z^2) / 16), 1 + p)
  by <- stats::lm.fit(root_weight * M, root_weight * c(values, slopes))$coefficients
  by[is.na(by)] <- 0
  value <- function(z) pmin(as.vector(power_products(z, powers) %*% by) - rowSums(z^2) / 2, 0.5)
  function(z) {
    r <- sqrt(rowSums(z^2))
    out <- value(z)
    far <- which(r > 3)
    out[far] <- pmin(out[far], value(3 * z[far, , drop = FALSE] / r[far]) - (r[far] - 3) / 2)
    replace(out, r >= 5, -Inf)
  }
}

# Monomials in the columns of Z, or their derivatives with respect to column `by`.
power_products <- function(Z, powers, by = 0) {
  out <- matrix(1, nrow(Z), nrow(powers))
  for (k in seq_len(ncol(Z))) {
    e <- powers[, k] - (k == by)
    one <- outer(Z[, k], pmax(e, 0), `^`)
    out <- out * if (k == by) one * rep(powers[, k], each = nrow(Z)) else one
  }
  out
}

# Draws from a t distribution at the mode, and weights the draws by the polynomial. Exact likelihoods check the
# polynomial at a few draws and at the largest weights, and are added to its data. If they differ from the polynomial,
# or if few weights dominate, this is repeated, at most twice.
posterior_by_polynomial <- function(top, random) {
  states <- states_of_design(top, design_of_posterior(length(top$at$u)))
  density <- capped_polynomial(top, states)
  for (round in seq_along(random$checks)) {
    drawn <- weighted_proposals(density, random$z)
    rows <- resampled(drawn$log_weights, points_of_check, random$checks[round])
    check <- drawn$z[c(rows, heaviest_apart(drawn, heaviest_of_check)), , drop = FALSE]
    exact <- states_of_design(top, check, states)
    off <- stats::sd((log_posteriors(exact) - top$at$log_posterior - density(check))[seq_along(rows)])
    states <- c(states, exact)
    density <- capped_polynomial(top, states)
    drawn <- weighted_proposals(density, random$z)
    if (isTRUE(off < most_off) && !isTRUE(pareto_shape(drawn$log_weights) > most_shape)) break
  }
  list(z = drawn$z, log_density = density(drawn$z) + top$at$log_posterior, log_weights = drawn$log_weights,
       states = states, density = density, off = off, agrees = isTRUE(off < most_off), likelihoods = length(states))
}

# Rows of the largest weights, at least 1 apart in z.
heaviest_apart <- function(drawn, count) {
  left <- order(-drawn$log_weights)[seq_len(min(1000, nrow(drawn$z)))]
  rows <- integer()
  while (length(rows) < count && length(left)) {
    rows <- c(rows, left[1])
    away <- drawn$z[left, , drop = FALSE] - rep(drawn$z[left[1], ], each = length(left))
    left <- left[rowSums(away^2) > 1]
  }
  rows
}

# Moves t draws to their weighted mean and covariance, twice, so that they cover a skew density.
weighted_proposals <- function(density, draws) {
  z <- draws
  for (pass in 1:3) {
    log_weights <- density(z) - log_t(draws)
    if (pass == 3) break
    w <- exp(log_weights - max(log_weights))
    moments <- stats::cov.wt(z, w / sum(w), method = "ML")
    root <- chol.default(moments$cov + diag(1e-4, ncol(z)))
    z <- rep(moments$center, each = nrow(z)) + draws %*% root
  }
  list(z = z, log_weights = log_weights)
}

log_posteriors <- function(states) vapply(states, `[[`, 0, "log_posterior")

# The log-density of the t distribution, up to a constant.
log_t <- function(z) -(df_of_proposals + ncol(z)) / 2 * log1p(rowSums(z^2) / df_of_proposals)

# Samples by importance with exact likelihoods; `states`: the states of a polynomial that did not fit.
posterior_by_likelihoods <- function(top, random, states = NULL) {
  z <- random$z[seq_len(draws_by_likelihoods), , drop = FALSE]
  exact <- vapply(seq_len(nrow(z)), function(k) {
    step_work("gp_posterior()", paste("likelihood", k, "of", nrow(z)))
    posterior_value(top$target, top$at$u + as.vector(top$root %*% z[k, ]))
  }, 0)
  log_weights <- exact - top$at$log_posterior - log_t(z)
  if (is.null(states)) states <- states_of_design(top, z[resampled(log_weights, 30, random$start), , drop = FALSE])
  list(z = z, log_density = exact, log_weights = log_weights, states = states, agrees = TRUE,
       likelihoods = nrow(z) + length(states))
}
