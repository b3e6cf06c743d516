# Priors of covariance parameters: from tail probabilities of ranges and sds to densities of a fit's parameters.

#' Priors of covariance parameters
#'
#' A prior for [gp_posterior()], by two probabilities: that a range is shorter, and that a standard deviation is larger,
#' than you believe. The prior prefers a process of long range and small variance unless the data show another one
#' (penalised complexity, Fuglstad and others, 2019).
#'
#' The `range` is twice the `scale` of a kernel: for Matern kernels it is the distance at which the correlation is about
#' 0.14, that of the geostatistical literature, `sqrt(8 nu) / kappa`. With D inputs, r the range and s a standard
#' deviation, the density is
#'
#' `D/2 l1 r^(-D/2 - 1) exp(-l1 r^(-D/2))` with `l1 = -log(prob) below^(D/2)`, times `l2 exp(-l2 s)` with
#' `l2 = -log(prob) / above`.
#'
#' Each scale has the first factor; with `ard = TRUE` D is the number of columns of the variable. Each variance, that of
#' the noise (`nugget`) and of grouped effects as well, has the second factor for its root; that of a slope by group is
#' in units of the response by the root mean square of the regressor. Correlations of grouped effects are uniform. The
#' logarithms of other parameters are uniform between the bounds of the fit; `turn.a` and `turn.b` of a kernel with
#' `aniso = TRUE`, see [profile.gp_fit()], are standard normal.
#'
#' @param range `c(below = , prob = )`: the probability that a range is below a distance, in the units of the inputs.
#'   Without `below` the distance is a twentieth of the diameter of the places: the diagonal of their bounding box, for
#'   `ard = TRUE` that of each variable.
#' @param sd `c(above = , prob = )`: the probability that a standard deviation is above a number, in the units of the
#'   response, with a family in those of the linear predictor. Without `above` it is three times the standard deviation
#'   of the response around the trend.
#' @return A list of class `gp_prior`.
#' @references Fuglstad, G.-A., Simpson, D., Lindgren, F. and Rue, H. (2019) Constructing priors that penalize the
#'   complexity of Gaussian random fields. Journal of the American Statistical Association 114, 445-452.
#' @seealso [gp_posterior()]
#' @concept prior for range and variance
#' @concept penalised complexity prior
#' @export
#' @examples
#' gp_prior()
#' gp_prior(range = c(below = 2, prob = 0.1), sd = c(above = 500, prob = 0.01))
gp_prior <- function(range = c(below = NA, prob = 0.05), sd = c(above = NA, prob = 0.05)) {
  structure(list(range = prior_tail(range, "range", "below", "above"), sd = prior_tail(sd, "sd", "above", "below")),
            class = "gp_prior")
}

# Checks a bound and its probability. `other`: the name of the opposite bound.
prior_tail <- function(tail, argument, end, other) {
  form <- paste0("c(", end, " = , prob = )")
  if (!is.numeric(tail) && !all(is.na(tail)) || is.null(names(tail))) {
    abort("input", "`", argument, "` must be ", form, ", not ", format_value(tail))
  }
  if (other %in% names(tail)) {
    abort("input", "`", argument, "` has a probability ", end, " a bound, not ", other, " it: write ", form, ", where ",
          "`prob` is 1 less the other side's")
  }
  unknown <- setdiff(names(tail), c(end, "prob"))
  if (length(unknown)) abort("input", "`", argument, "` must be ", form, "; there is no `", unknown[1], "`")
  known <- function(name, otherwise) if (name %in% names(tail)) tail[[name]] else otherwise
  tail <- stats::setNames(c(known(end, NA_real_), known("prob", 0.05)), c(end, "prob"))
  if (isTRUE(tail[[1]] <= 0) || is.infinite(tail[[1]])) {
    abort("value", "`", end, "` of `", argument, "` must be positive and finite, not ", format(tail[[1]]))
  }
  if (!isTRUE(tail[[2]] > 0 && tail[[2]] < 1)) {
    abort("value", "`prob` of `", argument, "` is a probability between 0 and 1, and neither, not ", format(tail[[2]]))
  }
  tail
}

#' @rdname gp_prior
#' @param x a prior
#' @param digits significant digits
#' @param ... not used
#' @export
print.gp_prior <- function(x, digits = 3, ...) {
  cat("Prior of covariance parameters\n")
  say(paste0("  ", prior_texts(x, digits), "\n"))
  invisible(x)
}

# Returns "P(range < 0.07) = 0.05", with the source of bounds taken from the data. `kinds`: the kinds of parameters.
prior_texts <- function(prior, digits = 3, kinds = c("range", "sd")) {
  if (is.character(prior)) return("flat prior of the logarithms")
  distance <- "a twentieth of the diameter of the places"
  size <- "3 sd of the response around the trend"
  limit <- function(numbers, words) {
    if (anyNA(numbers)) words else paste(unique(vapply(numbers, format, "", digits = digits)), collapse = " and ")
  }
  told <- function(kind, words) if (isTRUE(prior$by_data[[kind]])) paste0(", ", words)
  c(range = paste0("P(range < ", limit(prior$range[["below"]], distance), ") = ", format(prior$range[["prob"]]),
                   told("range", distance), "; range = 2 scale"),
    sd = paste0("P(sd > ", limit(prior$sd[["above"]], size), ") = ", format(prior$sd[["prob"]]), told("sd", size),
                ", for process and noise"))[intersect(c("range", "sd"), kinds)]
}

# --- the prior of a fit ---------------------------------------------------------------------------------------

# Returns the prior with numeric bounds, and `of`, a row for each estimated parameter: the `kind` of its density, the
# number `D` of inputs, the rate `l`, and the bounds of its link.
prior_of_model <- function(prior, model, bounds) {
  if (identical(prior, "flat")) {
    warn("approximate", "with prior = \"flat\" the posterior may have no finite integral: the likelihood hardly ",
         "changes as variance and scale grow together; gp_prior() does not let them")
  } else if (!inherits(prior, "gp_prior")) {
    abort("input", "`prior` must be gp_prior() or \"flat\", not ", format_value(prior))
  }
  layout <- model$layout
  ranges <- is_one_of(layout$name, "scale")
  sds <- layout$part == "nugget" | is_one_of(layout$name, "variance") | layout$part == "groups" & layout$link == "log"
  kind <- ifelse(ranges, "range", ifelse(sds, "sd", ifelse(layout$name == "turn", "turn", "bounds")))
  kind[layout$link == "atanh"] <- "correlation"
  D <- l <- numeric(nrow(layout))
  if (is.list(prior)) {
    prior$by_data <- c(range = is.na(prior$range[["below"]]), sd = is.na(prior$sd[["above"]]))
    places <- lapply(which(ranges), function(k) places_of_scale(model, layout, k))
    below <- rep(prior$range[["below"]], length(places))
    if (prior$by_data[["range"]]) below <- vapply(places, function(x) sqrt(sum(spans_of(x)^2)) / 20, 0)
    below[below == 0] <- 1
    if (prior$by_data[["sd"]]) prior$sd[["above"]] <- 3 * sqrt(spread_of(model_of_response(model)))
    D[ranges] <- vapply(places, ncol, 0)
    l[ranges] <- -log(prior$range[["prob"]]) * below^(D[ranges] / 2)
    l[sds] <- -log(prior$sd[["prob"]]) / prior$sd[["above"]]
    of_groups <- sds & layout$part == "groups"
    l[of_groups] <- l[of_groups] * sqrt(group_sizes(model$groups, model$z)[layout$index[of_groups]])
    prior$range <- list(below = below, prob = prior$range[["prob"]])
  } else kind[kind != "bounds"] <- "flat"
  list(prior = prior, of = data.frame(label = layout$label, kind, D, l, lower = bounds$lower, upper = bounds$upper))
}

# Returns the columns of the inputs to which a scale applies.
places_of_scale <- function(model, layout, k) {
  parts <- kernel_parts(model$kernel)
  several <- sum(layout$name == layout$name[k]) > 1
  if (is.null(parts$op)) return(model$x[, !several | model$term == layout$index[k], drop = FALSE])
  x <- kernel_points(part_of_parameter(parts, layout$name[k]), model$x)
  if (several) x[, layout$index[k], drop = FALSE] else x
}

# Replaces the response of a model with a family by the starting linear predictor.
model_of_response <- function(model) {
  if (is.null(model$response)) return(model)
  replace(model, "y", list(as.vector(model$family$start(model$response[, "y"], model$response[, "a"])) -
                             model$response[, "offset"]))
}

# Log-densities, with first and second derivatives, of t: the log of a scale or variance, an element of `turn`, the
# atanh of a correlation, or the logit of a position between bounds.
prior_kinds <- list(
  range = function(t, D, l) {
    by <- l * (2 * exp(t))^(-D / 2)
    cbind(log(D / 2 * l) - D / 2 * (t + log(2)) - by, D / 2 * (by - 1), -(D / 2)^2 * by)
  },
  sd = function(t, D, l) cbind(log(l / 2) + t / 2 - l * exp(t / 2), (1 - l * exp(t / 2)) / 2, -l / 4 * exp(t / 2)),
  turn = function(t, D, l) cbind(stats::dnorm(t, log = TRUE), -t, -1),
  correlation = function(t, D, l) {
    cbind(log(2) + stats::dlogis(2 * t, log = TRUE), 2 - 4 * stats::plogis(2 * t), -8 * stats::dlogis(2 * t))
  },
  bounds = function(t, D, l) cbind(stats::dlogis(t, log = TRUE), 1 - 2 * stats::plogis(t), -2 * stats::dlogis(t)),
  flat = function(t, D, l) cbind(0 * t, 0 * t, 0 * t)
)

# The log prior at coordinates u, with first and second derivatives for each parameter.
prior_at <- function(of, u) {
  each <- Map(function(kind, D, l, t) prior_kinds[[kind]](t, D, l), of$kind, of$D, of$l, u)
  found <- do.call(rbind, each)
  list(value = sum(found[, 1]), slope = found[, 2], curvature = found[, 3])
}

# Converts coordinates, which never reach a bound, to parameters on the scale of their links, and back, in columns.
theta_of <- function(of, u) {
  inner <- of$kind == "bounds"
  u[, inner] <- rep(of$lower[inner], each = nrow(u)) + rep((of$upper - of$lower)[inner], each = nrow(u)) *
    stats::plogis(u[, inner])
  u
}
coordinates_of <- function(of, theta) {
  inner <- of$kind == "bounds"
  share <- ((theta - of$lower) / (of$upper - of$lower))[inner]
  theta[inner] <- stats::qlogis(pmin(pmax(share, 0.01), 0.99))
  theta
}
