# Gaussian processes with non-normal responses: predictions, draws and residuals on the scale of the response.

#' Gaussian processes for responses that are not normal
#'
#' With a `family` other than `gaussian()`, [gp_fit()] fits a generalised linear model with a Gaussian process in its
#' linear predictor.
#'
#' @section Model:
#' With a `family` other than `gaussian()`, `eta = F b + f` is the linear predictor: its inverse link is the mean of the
#' response, given the process. There is no nugget, since the family describes the noise. A binomial response is a
#' factor of two levels, of which the first is failure; a logical; 0 and 1; `cbind(successes, failures)`; or
#' proportions, with the numbers of trials as `weights`. Counts with different exposures take
#' `trend = ~ offset(log(exposure))`; overdispersed counts take `family = "negbin"`. The `shape` of Gamma and the `size`
#' of `"negbin"` are estimated with the other parameters; `fit_control(start = c(shape = 5))` sets a starting value.
#'
#' `weights` are prior weights, as in [stats::glm()]. A binomial response of weight `w` is a proportion of `w` trials. A
#' Gamma response of weight `w` is a mean of `w` values and has the shape `w * shape`, as in `mgcv::gam()`. A count of
#' weight `w` stands for `w` equal observations: its log-likelihood is `w` times that of one observation. `simulate()`,
#' [elpd()] and [cross_validate()] refer to observations of these weights, for counts to a single observation;
#' prediction intervals are for an observation of weight 1.
#'
#' The process is integrated out by Laplace's approximation at the mode of `eta`. With `"REML"` the trend is integrated
#' out, too, and the likelihood is that of `mgcv::gam(method = "REML")`; with `"ML"` the trend is at the mode, as in
#' `lme4::glmer(nAGQ = 0)`. For 0/1 data with few rows the approximation makes the variance of the process too small.
#' If the inputs separate the two classes, the variance grows without bound: the estimate then ends at 10 000, with a
#' warning of class `kernweave_warning_boundary`.
#'
#' @section Predictions:
#' `type = "link"` is the linear predictor, whose posterior is approximated by a normal distribution. `"response"` is
#' its inverse link; the interval is the inverse link of the interval for `"link"`, and the standard error comes from
#' the delta method. `"mean"` is the posterior mean of the inverse link, with its standard deviation: the expected
#' response, which is larger than `"response"` for counts and nearer to one half for probabilities. For gaussian fits
#' all three types are the same. `interval = "prediction"` gives quantiles of the response over the posterior of the
#' linear predictor; a binomial response has no such interval. Of a response of two classes, `"prob"` is a matrix with
#' the mean probability of each, and `"class"` a factor with the likelier class. `simulate(noise = TRUE)` draws
#' responses, `noise = FALSE` their means; binomial responses are 0 or 1, or proportions if the response was counts, as
#' `cbind()`. `type = "trend"` is the trend of the linear predictor, on the scale of the link and with the offset.
#' Residuals of type `"loo"` are approximate: the mode without an observation is one Newton step from the mode with it.
#' @seealso [gp_fit()], [gp_family()] for more distributions and your own, [predict.gp_fit()]
#' @concept spatial generalised linear mixed model
#' @concept Gaussian process classification
#' @concept counts, logistic and Poisson kriging
#' @concept Laplace approximation
#' @name gp_fit-families
NULL

# type = "response" is the inverse link of the predicted linear predictor, with delta-method errors and transformed
# intervals; "mean" is the expectation of the inverse link, with its sd. `link(errors)`: a function that predicts the
# linear predictor.
family_prediction <- function(object, link, se.fit, interval, level, type, newdata = NULL) {
  family <- family_at(object, new_parameters(object, newdata))
  if (interval == "prediction" && is.null(family$below)) {
    abort("unsupported", "a prediction interval of a binomial response is 0, 1 or both; interval = \"confidence\" is ",
          "that of its probability")
  }
  errors <- se.fit || interval != "none"
  found <- link(errors || type == "mean")
  link <- if (is.list(found)) found$fit else found
  link[!known_parameters(family, length(link))] <- NA
  scale <- scale_of(object, family)
  if (type == "response") {
    fit <- scale$linkinv(link)
    se <- if (errors) abs(scale$mu.eta(link)) * found$se.fit
  } else {
    mean <- mean_over_link(family, link, found$se.fit^2)
    fit <- mean$mean
    se <- mean$sd
  }
  fit <- stats::setNames(as.vector(fit), names(link))
  if (interval != "none") fit <- family_interval(family, scale, fit, link, found$se.fit, interval, level)
  if (!se.fit) return(fit)
  structure(list(fit = fit, se.fit = stats::setNames(as.vector(se), names(link)), df = Inf,
                 residual.scale = object$sigma), local = attr(found, "local"))
}

family_interval <- function(family, scale, fit, link, se, interval, level) {
  tails <- c(1 - level, 1 + level) / 2
  known <- which(!is.na(link))
  ends <- vapply(tails, function(p) {
    out <- rep(NA_real_, length(link))
    if (interval == "confidence") return(scale$linkinv(link + stats::qnorm(p) * se))
    out[known] <- mixture_quantile(family_of_rows(family, known), p, link[known], se[known]^2)
    out
  }, numeric(length(link)))
  ends <- matrix(ends, length(link))
  cbind(fit = fit, lwr = ends[, 1], upr = ends[, 2])
}

# Observations, or their means, of drawn linear predictors.
family_draws <- function(object, draws, noise, weights, newdata = NULL) {
  family <- family_at(object, new_parameters(object, newdata))
  known <- stats::complete.cases(draws) & known_parameters(family, nrow(draws))
  draws[!known, ] <- NA
  family <- family_of_rows(family, known)
  eta <- as.vector(pmin(draws[known, ], most_predictor))
  a <- rep((weights %or% rep(1, nrow(draws)))[known], ncol(draws))
  draws[known, ] <- if (noise) observations_at(family, eta, a) else scale_of(object, family)$linkinv(eta)
  draws
}

# Returns the family object of R, with the parameters of each row.
scale_of <- function(object, family) if (length(family$formulas)) family$base(family$value) else object$family

# Computes residuals as glm() does; "loo" residuals keep the covariance parameters, and take one Newton step.
family_residuals <- function(object, type, seed = 1) {
  type <- choice_of(type[1], c("response", "pearson", "deviance", "working", "loo", "quantile"), "type")
  mean <- object$fitted.values
  a <- object$weights %or% 1
  y <- object$ranges %or% (mean + object$residuals)
  left_of <- function(mean) nearest_in(y, mean) - mean
  variance <- if (type == "pearson") pearson_variance(object, mean)
  left <- switch(type, response = object$residuals, pearson = left_of(mean) * sqrt(a / variance),
                 deviance = deviance_residuals(object), quantile = quantile_residuals(object, seed),
                 working = left_of(mean) / object$family$mu.eta(object$linear.predictors),
                 loo = left_of(object$family$linkinv(object$left_out %or% left_out_predictor(object))))
  stats::naresid(object$na.action, stats::setNames(left, names(mean)))
}

pearson_variance <- function(object, mean) {
  if (!is.null(object$family$variance)) return(object$family$variance(mean))
  family <- family_at(object)
  if (is.null(family$variance)) {
    abort("unsupported", "Pearson residuals are for families whose variance is known; type = \"deviance\" is for all")
  }
  of_family(family, "variance", object$linear.predictors)
}

# Computes deviance residuals: the square root of twice the difference of the log-density from its maximum over all
# linear predictors, with the sign of its derivative.
deviance_residuals <- function(object) {
  y <- object$ranges %or% (object$fitted.values + object$residuals)
  a <- rep_len(object$weights %or% 1, length(y))
  mean <- object$fitted.values
  if (!is.null(object$family$dev.resids)) return(sign(y - mean) * sqrt(pmax(object$family$dev.resids(y, mean, a), 0)))
  family <- family_at(object)
  y <- family$as_given(y, a)
  e <- bounded_predictor(object$linear.predictors)
  at <- function(e) family$log_density(y, e, family$value, a)
  sign(family$curvature(y, e, family$value, a)$g) * sqrt(2 * pmax(at(saturated_predictor(family, y, a)) - at(e), 0))
}

# Draws randomised quantile residuals; observations of weight 0 have none. Probabilities that round to 0 or 1 are
# replaced by the next number.
quantile_residuals <- function(object, seed) {
  mean <- object$fitted.values
  y <- object$ranges %or% (mean + object$residuals)
  a <- rep_len(object$weights %or% 1, length(y))
  family <- family_at(object)
  ends <- outcome_ends(family, family$as_given(y, a), object$linear.predictors, as.vector(mean), a)
  draws <- with_state(seed, stats::runif(length(y)))$value
  u <- ends$less * (1 - draws) + ends$most * draws
  ifelse(a > 0, stats::qnorm(pmin(pmax(u, .Machine$double.xmin), 1 - .Machine$double.neg.eps)), NA)
}

# P(Y < y) and P(Y <= y), for linear predictors e and means m.
outcome_ends <- function(family, y, e, m, a) {
  k <- family$value
  if (isTRUE(family$trials)) {
    return(list(less = stats::pbinom(round(a * y) - 1, round(a), m), most = stats::pbinom(round(a * y), round(a), m)))
  }
  if (!inherits(family, "gp_likelihood")) {
    most <- family$below(y, m, k, a)
    return(list(less = if (isTRUE(family$copies)) ifelse(y > 0, family$below(pmax(y - 1, 0), m, k, a), 0) else most,
                most = most))
  }
  # P(Y < y) is P(Y <= y - step). If Y is not a count, only y = 0 may have a positive probability.
  step <- if (family$whole) 1 else .Machine$double.xmin
  list(less = of_family(family, "below", lower_end(y) - step, e), most = of_family(family, "below", upper_end(y), e))
}

#' @importFrom stats deviance
#' @export
deviance.gp_fit <- function(object, ...) {
  if (is_gp_family(object) && is.null(object$deviance)) sum(deviance_residuals(object)^2) else NextMethod()
}

# Maximises each row's log-density over its linear predictor by Newton steps; the maximum may be at infinity.
saturated_predictor <- function(family, y, a) {
  e <- family$start(y, a)
  density <- -Inf
  for (step in 1:100) {
    found <- family$curvature(y, e, family$value, a)
    by <- ifelse(found$W > 0, found$g / found$W, sign(found$g))
    new <- bounded_predictor(e + pmin(pmax(by, -2), 2))
    higher <- family$log_density(y, new, family$value, a)
    e <- ifelse(higher >= density, new, e + (new - e) / 8)
    if (max(abs(higher - density)) < 1e-10 * (1 + max(abs(higher)))) break
    density <- pmax(higher, density)
  }
  e
}

# Draws an observation at each linear predictor.
observations_at <- function(family, eta, a) UseMethod("observations_at")

#' @export
observations_at.default <- function(family, eta, a) {
  family$draw(length(eta), family$base(family$value)$linkinv(eta), family$value, a)
}

left_out_predictor <- function(object) {
  if (inherits(object, "kernel_ridge")) refuse_loo(list(control = object$control, y = object$alpha))
  replace(object$linear.predictors, object$data$rows, loo_predictor(object)$mean)
}

refuse_loo <- function(model) {
  abort("unsupported", "leaving one out of a fit with a family needs a dense matrix, for up to ", model$control$dense_n,
        " rows of fit_control(dense_n = ), and there are ", length(model$y))
}

# Leave-one-out mean and variance of each row's linear predictor.
loo_predictor <- function(object) loo_of(dense_mode(object$data))

# Returns the mode of a dense fit, with its system.
dense_mode <- function(model) {
  if (!model$dense) refuse_loo(model)
  system <- gp_system(model, model$values)
  list(model = model, system = system, weights = gp_weights(model, system))
}

is_gp_family <- function(fit) inherits(fit, "gp_fit") && !is.null(fit$family)

# Computes influence as for a glm with weights at the mode: leverage = weight * variance of the linear predictor.
family_influence <- function(fit) {
  if (inherits(fit, "kernel_ridge")) {
    abort("unsupported", "leverages of kernel_ridge() are built for family = gaussian(); gp_fit() has those of all ",
          "families")
  }
  model <- fit$data
  at <- dense_mode(model)
  hat <- predictor_variance(at, list(diagonal = inverse_diagonal(at$system))) * model$w
  phi <- if (model$family$title == "Gamma") fit$dispersion else 1
  residual <- function(type) unname(family_residuals(replace(fit, "na.action", list(NULL)), type)[heavy_of(fit)])
  list(hat = hat, loo = matrix(residual("deviance") / sqrt(1 - hat)), sd = matrix(sqrt(phi), length(hat), 1),
       cook = (residual("pearson") / (1 - hat))^2 * hat / (phi * sum(hat)))
}

loo_of <- function(at) {
  model <- at$model
  v <- predictor_variance(at, list(diagonal = inverse_diagonal(at$system)))
  response <- model$response
  g <- model$family$slopes(response[, "y"], model$e, model$family$value, response[, "a"])$g
  left <- 1 - v * model$w
  list(mean = model$e - v * g / left, variance = v / left)
}

family_text <- function(fit) {
  family <- fit$data$family
  trends <- paste0(", ", names(family$formulas), " ", vapply(family$formulas, deparse1, ""), recycle0 = TRUE)
  if (!is.null(fit$family)) paste0(family$title, " (", family$link, ")", paste(trends, collapse = ""), ", ")
}
