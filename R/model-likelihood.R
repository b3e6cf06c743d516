# Families defined by a log-density in R: automatic differentiation turns it into a row of the table of families.

#' Response distributions of Gaussian processes
#'
#' `gp_family()` makes a family for [gp_fit()] from the log-density of an observation, written in R. Use it for a
#' response that the ready families do not describe. Derivatives are computed by automatic differentiation
#' ([gradient()]).
#'
#' @section Log-density:
#' `f(y, eta, ...)` returns the log-densities of `length(eta)` observations, with all constants. The log-density of
#' observation i depends on `y[i]` and `eta[i]` alone. `eta` is the linear predictor: trend plus process. The other
#' arguments are the parameters, by name, as in `function(y, eta, sigma) dnorm(y, eta, sigma, log = TRUE)`; each is a
#' number, or a vector as long as `eta`. Parameters are estimated with the covariance.
#'
#' Arithmetic, the mathematical functions of base R, `lgamma()`, `digamma()`, `ifelse()` and the usual densities and
#' distribution functions have derivatives, see [gradient()]. Before a fit, the derivative is compared with a difference
#' in a few rows.
#'
#' @section Ready families:
#' The first argument may be a name, and `gp_fit(family = "student")` is short for `gp_family("student")`. Log-densities
#' need not be concave in `eta`: Laplace's approximation uses the observed curvature, as in mgcv and glmmTMB. For a
#' family that is not concave (student, beta, nbinom1, zip, zinb, truncated_negbin, hurdle_negbin, your own) parameters
#' are estimated on at most `dense_n` rows, see [fit_control()]; all rows then determine the process.
#'
#' | name | response | linear predictor | parameters |
#' | --- | --- | --- | --- |
#' | `"student"` | numbers with outliers | location | `sigma`, `df` (more than 2) |
#' | `"beta"` | shares between 0 and 1 | logit of the mean | `precision` |
#' | `"tweedie"` | 0 and positive numbers | log of the mean | `phi`, `p` (1.01 to 1.99) |
#' | `"nbinom1"` | counts, variance `(1 + phi)` times the mean | log of the mean | `phi` |
#' | `"nbinom2"` | counts, as with `"negbin"` of [gp_fit()] | log of the mean | `size` |
#' | `"gamma"` | positive numbers, as with `Gamma("log")` | log of the mean | `shape` |
#' | `"truncated_poisson"` | counts, 1 or more | log of the Poisson mean | |
#' | `"truncated_negbin"` | counts, 1 or more | log of the negative binomial mean | `size` |
#' | `"hurdle_poisson"` | counts, more or fewer zeros | log of the Poisson mean | `zero` |
#' | `"hurdle_negbin"` | counts, more or fewer zeros | log of the negative binomial mean | `zero`, `size` |
#' | `"zip"` | counts with more zeros | log of the Poisson mean | `zero` |
#' | `"zinb"` | counts with more zeros | log of the negative binomial mean | `zero`, `size` |
#' | `"normal"` | numbers | mean | `sigma` |
#' | `"lognormal"` | positive numbers, may be censored | mean of the logarithm | `sigma` |
#' | `"weibull"` | positive numbers, may be censored | log of the scale | `shape` |
#' | `"exponential"` | positive numbers, may be censored | log of the mean | |
#' | `"loglogistic"` | positive numbers, may be censored | log of the median | `shape` (more than 1) |
#' | `"tobit"` | numbers, may be censored | mean | `sigma` |
#' | `"ordinal"` | ordered levels | logit of a higher level | `gap1`, `gap2`, ... |
#'
#' `"zip"` and `"zinb"` are zero-inflated: a count is 0 with probability `zero`, and else Poisson or negative binomial.
#' The mean of the response is `(1 - zero) * exp(eta)`. In a hurdle model a count is 0 with probability `zero`, and else
#' has the distribution of a Poisson or negative binomial count that is not 0. Rows with a count of 0 then determine
#' `zero` alone, and the other rows the process.
#'
#' @section Parameters with a trend:
#' A parameter may depend on variables of the data: `gp_family("normal", sigma = ~ depth)`. The formula has one side and
#' the terms of [lm()]. The logarithm of a positive parameter, the logit of a probability such as `zero`, or else the
#' parameter itself is then a linear function of the regressors. In `coef(fit, "covariance")` the coefficients are
#' called `sigma.(Intercept)` and `sigma.depth`, and refer to the variables as they are in the data. With `variance = 0`
#' and `method = "ML"` fits agree with `dispformula` and `ziformula` of glmmTMB and with variance functions of nlme.
#'
#' Estimation starts with the usual starting value of the parameter, and with slopes of 0. Rows with missing values in
#' these variables are treated as `na.action` says. New rows must have the variables, except for predictions of types
#' `"link"` and `"trend"`. A parameter stays within its bounds `lower` and `upper` in all rows.
#'
#' @section Censored responses:
#' A censored response is known to lie in an interval. The left side of the formula is `Surv()` of package survival,
#' censored on the right, on the left or in intervals (types `"right"`, `"left"`, `"interval"` and `"interval2"`), or
#' `cbind(low, high)` with the ends of the interval. Equal ends are an observed number; an infinite or missing end is
#' no bound. With `variance = 0` and `method = "ML"` the fit is that of `survival::survreg()`, whose `scale` is `1 /
#' shape` or `sigma`.
#'
#' Predictions and draws are of the response without censoring: for times, `type = "response"` is the mean time.
#' Residuals and the scores `rmse`, `mae`, `bias`, `interval_score` and `coverage` of [predictive_scores()] use the
#' point of the interval that is nearest to the prediction, hence the smallest possible error. `logs` is minus the
#' log-probability of the interval, and `crps` the integral outside the interval.
#'
#' @section Ordered levels:
#' The response is an ordered factor, or numbers 1, 2, 3, ... The probability that a level is at most level k is
#' `plogis(cut - eta)` with the cut between k and k + 1. The first cut is -1, as in `mgcv::ocat()`; each further cut is
#' the last one plus a gap, and the gaps are the parameters. `family(fit)$cuts` has the cuts.
#'
#' `predict(type = "prob")` returns the probabilities of the levels, a column for each level, and `type = "class"` the
#' most probable level. Probabilities are averaged over the distribution of `eta`. Means, residuals and prediction
#' intervals are of the number of the level, 1, 2, 3, ...; `simulate(noise = TRUE)` draws levels. `crps` of
#' [predictive_scores()] is the ranked probability score.
#'
#' @section Families of other packages:
#' `gp_fit(family = )` takes objects of package mgcv, `tw()`, `scat()`, `betar()`, `ocat()` and `nb()`, and of package
#' glmmTMB, `nbinom1()`, `nbinom2()`, `beta_family()`, `tweedie()`, `truncated_poisson()` and `t_family()`, for the
#' families above or `"negbin"`. Parameters that an object of mgcv gives, as `tw(1.5)` does, are not estimated.
#'
#' @param f the log-density, a function, or the name of a ready family
#' @param ... by name, values of parameters, which are then not estimated, `gp_family("student", df = 4)`, or formulas
#'   of parameters that depend on variables, `gp_family("normal", sigma = ~ depth)`
#' @param parameters starting values of the parameters of `f`, a named vector; not used for a ready family
#' @param link how parameters are transformed when estimated, by name: `"log"` for positive parameters, the default,
#'   `"logit"` for parameters between 0 and 1, `"identity"` for others
#' @param lower,upper bounds of parameters, by name
#' @param start a function of `y` that returns starting values of the linear predictors; by default `y` itself
#' @param mean a function of `eta` and the parameters: the mean of an observation; by default `eta`
#' @param draw a function of a number n, `eta` and the parameters: n random observations
#' @param below a function of `q`, `eta` and the parameters: the probability of at most `q`
#' @param title the name of the family when printed
#' @return An object of class `gp_family`.
#' @references Wood, S. N., Pya, N. and Saefken, B. (2016) Smoothing parameter and model selection for general smooth
#'   models. Journal of the American Statistical Association 111, 1548-1563.
#' @seealso [gp_fit()], [predictive_scores()]
#' @concept likelihood
#' @concept generalized linear mixed model
#' @concept censored responses and survival times
#' @concept ordinal regression, cumulative logit model
#' @concept dispersion model, heteroscedastic noise, variance function
#' @concept zero-inflated and hurdle models for counts
#' @export
#' @examples
#' # a response with a few wild values
#' wild <- replace(quakes$depth[1:100] / 100, c(7, 50, 90), c(15, -3, 20))
#' places <- cbind(quakes[1:100, c("long", "lat")], depth = wild)
#' k <- kernel_spec("matern32", scale = 4)
#' gp_fit(depth ~ long + lat, places, family = gp_family("student", df = 4), kernel = k)
#'
#' # the same family, written by hand
#' student <- gp_family(function(y, eta, sigma) dt((y - eta) / sigma, 4, log = TRUE) - log(sigma),
#'                      parameters = c(sigma = 1), lower = c(sigma = 0.01))
#' gp_fit(depth ~ long + lat, places, family = student, kernel = k)
#'
#' # noise that is larger in deep places
#' some <- quakes[1:100, ]
#' gp_fit(mag ~ long + lat, some, family = gp_family("normal", sigma = ~ depth), kernel = k)
#'
#' # ordered levels
#' names <- c("shallow", "middle", "deep")
#' places$deep <- cut(quakes$depth[1:100], c(0, 100, 300, 700), names, ordered_result = TRUE)
#' levels <- gp_fit(deep ~ long + lat, places, family = "ordinal", kernel = k)
#' predict(levels, places[1:3, ], type = "prob")
#'
#' # numbers above 6 were not measured
#' places$high <- ifelse(wild > 6, Inf, wild)
#' gp_fit(cbind(pmin(wild, 6), high) ~ long + lat, places, family = "tobit", kernel = k)
gp_family <- function(f, ..., parameters = NULL, link = NULL, lower = NULL, upper = NULL, start = NULL, mean = NULL,
                      draw = NULL, below = NULL, title = "user's") {
  given <- given_parameters(list(...))
  if (is.character(f)) {
    if (!is_word(f) || !f %in% names(likelihood_rows)) {
      abort("unsupported", "there is no family ", format_value(f), " with parameters", if (is_word(f)) family_hint(f))
    }
    row <- c(likelihood_rows[[f]], list(title = f))
  } else {
    if (!is.function(f)) {
      abort("input", "`f` must be a function of y and eta, or the name of a family, not ", describe(f))
    }
    row <- list(title = title, f = f, parameters = check_parameters(parameters, f), link = link, lower = lower,
                upper = upper, start = start, mean = mean, draw = draw, below = below)
  }
  unknown <- setdiff(names(given), names(row$parameters))
  if (length(unknown)) {
    abort("input", "the family ", row$title, " has no parameter `", unknown[1], "`",
          near_hint(unknown[1], names(row$parameters)))
  }
  by_formula <- vapply(given, inherits, NA, "formula")
  row$formulas <- given[by_formula]
  likelihood_family(row, unlist(given[!by_formula]))
}

# Checks that all arguments of f after y and eta have starting values.
check_parameters <- function(parameters, f) {
  wanted <- setdiff(names(formals(f))[-(1:2)], "...")
  if (length(formals(f)) < 2) abort("input", "`f` must be a function of `y`, `eta` and its parameters")
  if (!is.null(parameters) && (!is.numeric(parameters) || any(!is.finite(parameters)))) {
    abort("input", "`parameters` must be a named vector of finite numbers, not ", format_value(parameters))
  }
  missing <- setdiff(wanted, names(parameters))
  if (length(missing)) {
    abort("input", "`parameters` has no starting value of `", missing[1], "`, an argument of `f`: write ",
          "parameters = c(", missing[1], " = 1)")
  }
  other <- setdiff(names(parameters), wanted)
  if (length(other)) abort("input", "`f` has no argument `", other[1], "`, which `parameters` has")
  parameters[wanted]
}

# Makes a row of the table from a log-density. Built-in families may have closed forms of derivatives.
likelihood_family <- function(row, fixed = NULL, traced = density_by(enclose(row$f))) {
  value <- replace(row$parameters, names(fixed), fixed)
  link <- by_name(row$link, names(value), "log")
  mean <- row$mean %or% function(eta, ...) eta
  lower <- by_name(row$lower, names(value), -Inf)
  upper <- by_name(row$upper, names(value), Inf)
  given <- names(value) %in% names(fixed)
  natural <- if (length(row$formulas)) list(value = value, rows = data.frame(
    links = link, lower = lower, upper = upper, given = given, begin = NA, units = NA
  ))
  structure(list(
    title = row$title, link = row$label %or% "identity", phi = names(value), links = link,
    lower = lower, upper = upper, formulas = row$formulas, natural = natural, least = row$least,
    concave = isTRUE(row$concave), wanted = row$wanted, read = row$read,
    settle = row$settle, levels = row$levels, value = value, given = given,
    f = row$f, log_density = density_by(row$f),
    slopes = row$slopes %or% function(y, e, k, a) tape_slopes(traced, y, e, k, a),
    curvature = row$slopes %or% function(y, e, k, a) tape_slopes(traced, y, e, k, a, FALSE),
    of_phi = row$of_phi %or% function(y, e, k, a) tape_of_phi(traced, y, e, k, a, link),
    start = function(y, a) (row$start %or% identity)(y), as_given = function(y, a) y, dispersion = function(k) 1,
    base = function(k) likelihood_base(row, mean, k), draw = row$draw, below = row$below, spread = row$spread,
    variance = row$variance, whole = isTRUE(row$whole)
  ), class = c("gp_likelihood", "gp_family"))
}

# Returns the log-density in the form of the table: with weight a, and for a matrix of linear predictors.
density_by <- function(f) {
  function(y, e, k, a) {
    found <- rep_len(a, length(e)) * do.call(f, c(list(rep_len(y, length(e)), e), stretched(k, length(e))))
    if (is.null(dim(e))) found else array(found, dim(e))
  }
}

# Values by name, `default` for names that have none.
by_name <- function(given, names, default) {
  replace(stats::setNames(rep(default, length(names)), names), names(given), unlist(given))
}

# Returns the family object of R: the mean of an observation is the inverse link of its linear predictor.
likelihood_base <- function(row, mean, k) {
  at <- function(eta) do.call(mean, c(list(eta), stretched(k, length(eta))))
  texts <- vapply(k, function(v) if (length(v) == 1) format(v, digits = 4) else "", "")
  texts[names(row$formulas)] <- vapply(row$formulas, deparse1, "")
  numbers <- paste0(names(k), " = ", texts, collapse = ", ")
  if (length(k)) numbers <- paste0("(", numbers, ")") else numbers <- NULL
  structure(c(list(family = paste0(row$title, numbers), link = row$label %or% "identity", linkinv = at,
                   mu.eta = function(eta) {
                     at <- enclose(mean)
                     slope_of(function(e) sum(do.call(at, c(list(e), stretched(k, length(eta))))), eta)
                   }), if (!is.null(row$told)) do.call(row$told, as.list(unname(k)))), class = "family")
}

# --- derivatives ----------------------------------------------------------------------------------------------

# Returns the gradient of a sum by its argument. The term with factor 0 makes the sum depend on the argument, up to
# third derivatives. The function is in a list so that it is not enclosed again at each call: it is enclosed already.
slope_of <- function(sum_at, at) {
  held <- list(sum_at)
  gradient(function(x) held[[1]](x) + 0 * sum(x^4))(at)[[1]]
}

# Returns g, W = -g' and W' of each observation. Each depends on its own linear predictor alone, so the gradient of a
# sum contains all derivatives.
tape_slopes <- function(density, y, e, k, a, third = TRUE) {
  g <- function(e) slope_of(function(e) sum(density(y, e, k, a)), e)
  W <- function(e) -slope_of(function(e) sum(g(e)), e)
  list(g = g(e), W = W(e), W_e = if (third) slope_of(function(e) sum(W(e)), e))
}

# Returns derivatives of the log-density, g and W by each parameter on the scale of its link, in columns. A parameter is
# a vector here, with an element for each observation.
tape_of_phi <- function(density, y, e, k, a, link) {
  theta <- lapply(seq_along(k), function(j) rep_len(in_link(k[[j]], data.frame(link = link[[j]])), length(e)))
  theta <- matrix(unlist(theta), length(e), dimnames = list(NULL, names(k)))
  at <- function(e, theta) {
    each <- lapply(seq_along(k), function(j) unlink_parameter(theta[, j], link[[j]]))
    sum(density(y, e, stats::setNames(each, names(k)), a))
  }
  g <- function(e, theta) slope_of(function(e) at(e, theta), e)
  list(l = slope_of(function(theta) at(e, theta), theta), g = slope_of(function(theta) sum(g(e, theta)), theta),
       W = -slope_of(function(theta) sum(slope_of(function(e) sum(g(e, theta)), e)), theta))
}

# --- the parts of a family that a Gaussian process uses -----------------------------------------------------------

# A scale parameter starts at half of the response's standard deviation.
#' @export
first_parameters.gp_likelihood <- function(family, response, spread) {
  value <- family$value
  if (!is.null(family$spread)) value[[family$spread]] <- sqrt(spread) / 2
  value
}

#' @export
mean_predictor.gp_likelihood <- function(family, y, a) stats::median(family$start(y, a)[a > 0])

# Checks the log-density in a few rows: its length, that it is finite, and its derivative against a difference.
#' @export
check_density.gp_likelihood <- function(family, response) {
  at <- unique(round(seq(1, nrow(response), length.out = 5)))
  value <- family_of_rows(family, at)$value
  y <- response[at, "y"]
  e <- family$start(response[, "y"], response[, "a"])[at]
  found <- do.call(family$f, c(list(y, e), stretched(value, length(e))))
  if (!is.numeric(found) || length(found) != length(y)) {
    abort("value", "the log-density of the family ", family$title, " returned ", counted(length(found), "number"),
          " for ", counted(length(y), "observation"))
  }
  wrong <- which(!is.finite(found))
  if (length(wrong)) {
    abort("value", "the log-density of the family ", family$title, " is ", format(found[wrong[1]]), " in row ",
          at[wrong[1]], ", where y is ", format(y[wrong[1]]), " and eta ", format(e[wrong[1]]), ": give `start`")
  }
  by <- 1e-4 * (1 + abs(e))
  density <- function(e) family$log_density(y, e, value, 1)
  off <- abs(family$slopes(y, e, value, 1)$g - (density(e + by) - density(e - by)) / (2 * by))
  wrong <- which(!(off <= 1e-3 * (1 + abs(density(e)))))
  if (length(wrong)) {
    abort("value", "the derivative of the log-density of the family ", family$title, " is not that of its values in ",
          "row ", at[wrong[1]], ": observation i must depend on y[i] and eta[i] alone")
  }
}

# Calls a function of a family, such as `below`, with the family's parameters; an error names a missing function.
of_family <- function(family, what, ...) {
  if (is.null(family[[what]])) {
    abort("unsupported", "the family ", family$title, " has no `", what, "`, which this needs: give it to gp_family()")
  }
  given <- list(...)
  do.call(family[[what]], c(given, stretched(family$value, length(given[[length(given)]]))))
}

#' @export
observations_at.gp_likelihood <- function(family, eta, a) of_family(family, "draw", length(eta), eta)

# --- mixtures over a normal linear predictor ------------------------------------------------------------------------

# The linear predictors of a grid: a row for each observation.
predictor_grid <- function(m, v) bounded_predictor(m + outer(sqrt(pmax(v, 0)), normal_grid))

# Integrates numbers at the linear predictors of a grid.
over_predictors <- function(each, eta) as.vector(matrix(each, nrow(eta)) %*% normal_weights)

#' @export
mean_over_link.gp_likelihood <- function(family, m, v) {
  eta <- predictor_grid(m, v)
  means <- family$base(family$value)$linkinv(as.vector(eta))
  mean <- over_predictors(means, eta)
  list(mean = mean, sd = sqrt(pmax(over_predictors(means^2, eta) - mean^2, 0)))
}

likelihood_below <- function(family, q, eta) {
  over_predictors(of_family(family, "below", rep_len(q, length(eta)), as.vector(eta)), eta)
}

# Quantiles by bisection, between bounds that are widened until they contain the quantile.
#' @export
mixture_quantile.gp_likelihood <- function(family, p, m, v, a = 1) {
  eta <- predictor_grid(m, v)
  below <- function(q) likelihood_below(family, q, eta)
  centre <- family$base(family$value)$linkinv(bounded_predictor(m))
  step <- pmax(sqrt(pmax(v, 0)), abs(centre), 1e-3)
  low <- high <- centre
  for (k in 1:60) {
    down <- below(low) >= p
    up <- below(high) < p
    if (!any(down | up, na.rm = TRUE)) break
    low <- ifelse(down, low - step, low)
    high <- ifelse(up, high + step, high)
    step <- 2 * step
  }
  for (k in 1:60) {
    middle <- (low + high) / 2
    over <- below(middle) >= p
    low <- ifelse(over, low, middle)
    high <- ifelse(over, middle, high)
    if (all(high - low <= 1e-9 * (abs(high) + 1e-9), na.rm = TRUE)) break
  }
  if (family$whole) return(ceiling(high - 1e-6))
  if (identical(family$link, "identity")) high else ifelse(below(0 * centre) >= p, 0, pmax(high, 0))
}

# Computes scores. The CRPS is the integral of (F(x) - 1{x >= y})^2, by Gauss-Legendre quadrature in panels on both
# sides of y, or a sum over counts; for an interval, the integral outside it.
#' @export
family_outcomes.gp_likelihood <- function(family, y, a, m, v, level) {
  eta <- predictor_grid(m, v)
  mean <- mean_over_link(family, m, v)
  variance <- mean$sd^2 + if (is.null(family$variance)) NA
                          else over_predictors(of_family(family, "variance", as.vector(eta)), eta)
  tails <- c(1 - level, 1 + level) / 2
  quantile <- function(p) mixture_quantile(family, p, m, v)
  data.frame(observed = y, fitted = mean$mean, se = sqrt(variance),
             logs = -mixture_density(family, y, a, m, v), crps = likelihood_crps(family, y, eta, quantile),
             lower = quantile(tails[1]), upper = quantile(tails[2]))
}

likelihood_crps <- function(family, y, eta, quantile) {
  ends <- list(quantile(1e-6), quantile(1 - 1e-6))
  y <- list(lower_end(y), upper_end(y))
  y <- Map(function(seen, end) ifelse(is.finite(seen), seen, end), y, ends)
  low <- pmin(ends[[1]], y[[1]])
  high <- pmax(ends[[2]], y[[2]])
  score <- numeric(nrow(eta))
  if (family$whole) {
    for (k in seq(min(low), max(high))) score <- score + (likelihood_below(family, k, eta) - (k >= y[[1]]))^2
    return(score)
  }
  nodes <- legendre_nodes(10)
  for (side in 1:2) {
    from <- if (side == 1) low else y[[2]]
    width <- ((if (side == 1) y[[1]] else high) - from) / 6
    for (panel in 0:5) for (node in seq_along(nodes$x)) {
      F <- likelihood_below(family, from + width * (panel + nodes$x[node]), eta)
      score <- score + nodes$w[node] * width * (F - (side == 2))^2
    }
  }
  score
}
