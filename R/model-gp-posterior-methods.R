# Methods of posteriors of covariance parameters: tables, plots, draws for package posterior, predictions.

new_posterior <- function(fit, target, top, found, rows) {
  model <- target$model
  u <- rep(top$at$u, each = length(rows)) + tcrossprod(found$z[rows, , drop = FALSE], top$root)
  draws <- natural_draws(theta_of(target$of, u), model)
  shape <- pareto_shape(found$log_weights)
  w <- exp(found$log_weights - max(found$log_weights))
  moments <- stats::cov.wt(found$z, w / sum(w), method = "ML")
  states <- Filter(function(one) is.finite(one$log_posterior), found$states)
  Z <- do.call(rbind, lapply(states, `[[`, "z"))
  about <- c(found[c("off", "agrees", "likelihoods")],
             list(draws = length(rows), fit = fit, prior = target$prior, of = target$of, shape = shape,
                  effective = effective_draws(found$log_weights), states = states,
                  weights = moment_weights(Z, moments$center, moments$cov)))
  warn_of_posterior(about)
  structure(data.frame(draws, log_posterior = found$log_density[rows], .chain = 1L, .iteration = seq_along(rows),
                       .draw = seq_along(rows), check.names = FALSE),
            about = about, class = c("gp_posterior", "data.frame"))
}

warn_of_posterior <- function(about) {
  remedy <- paste0("a value, or a narrower `prior`, for what the data hardly tell",
                   if (!about$fit$data$dense) ", or at most `dense_n` rows,", " would help")
  if (!about$agrees) {
    warn("approximate", "the log posterior is approximated by a polynomial, from which ", points_of_check, " exact ",
         "values differ by a standard deviation of ", format(about$off, digits = 2), ": ", remedy)
  } else if (isTRUE(about$shape > most_shape)) {
    warn("approximate", "few draws have most of the weight (Pareto k ", format(about$shape, digits = 2), ", above ",
         "0.7), and means of the posterior may be off: ", remedy)
  }
}

# Returns draws of parameters on the scale that users see, in columns.
natural_draws <- function(theta, model) {
  layout <- model$layout
  out <- vapply(seq_len(nrow(layout)), function(k) out_of_link(theta[, k], layout[rep(k, nrow(theta)), ]), theta[, 1])
  out <- matrix(out, nrow(theta), dimnames = list(NULL, layout$label))
  if (!is_turning(model$values)) return(out)
  a <- out[, "turn.a"]
  b <- out[, "turn.b"]
  m <- sqrt(a^2 + b^2)
  out[, c("scale.mean", "turn.a", "turn.b")] <- cbind(out[, "scale.mean"] * exp(m / 2), exp(-m), atan2(b, a) * 90 / pi)
  colnames(out) <- told_labels(layout$label)
  out
}

#' @rdname gp_posterior
#' @export
print.gp_posterior <- function(x, digits = 3, ...) {
  about <- about_draws(x)
  if (is.null(about)) return(print(as.data.frame(x), digits = digits))
  say("Posterior of covariance parameters: ", counted(nrow(x), "draw"), ", by ", about$likelihoods, " likelihoods of ",
      count_text(length(about$fit$data$y), "point"), "\n")
  print(summary(x), digits = digits)
  say("  ", format(floor(about$effective), big.mark = ","), " effective draws, Pareto k ",
      format(about$shape, digits = 2), if (!is.null(about$off)) {
        paste0("; ", points_of_check, " exact log posteriors differ by ", format(about$off, digits = 2))
      }, "\n")
  say(paste0("  ", prior_texts(about$prior, digits, about$of$kind), "\n"))
  invisible(x)
}

#' @rdname gp_posterior
#' @export
summary.gp_posterior <- function(object, ...) {
  refuse_more(...)
  t(vapply(draws_of_parameters(object), function(v) {
    c(mean = mean(v), sd = stats::sd(v), median = stats::median(v), stats::quantile(v, c("5 %" = 0.05, "95 %" = 0.95),
                                                                                  names = FALSE))
  }, c(mean = 0, sd = 0, median = 0, "5 %" = 0, "95 %" = 0)))
}

# Posterior means, and intervals between posterior quantiles.
#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.gp_posterior <- function(x, conf.int = TRUE, conf.level = 0.95, ...) {
  refuse_more(...)
  check_level(conf.level)
  draws <- draws_of_parameters(x)
  ends <- vapply(draws, stats::quantile, c(0, 0), (1 + c(-1, 1) * conf.level) / 2, names = FALSE)
  table <- data.frame(term = names(draws), estimate = vapply(draws, mean, 0),
                      std.error = vapply(draws, stats::sd, 0), conf.low = ends[1, ], conf.high = ends[2, ],
                      row.names = NULL)
  without_ends(table, conf.int)
}

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.gp_posterior <- function(x, ...) {
  about <- about_posterior(x, "glance()")
  as_tidy(nobs = nobs(about$fit), draws = nrow(x), likelihoods = about$likelihoods, effective = about$effective,
          pareto.k = about$shape)
}

draws_of_parameters <- function(x) {
  unclass(x)[setdiff(names(x), c("log_posterior", ".chain", ".iteration", ".draw"))]
}

#' @rdname gp_posterior
#' @export
plot.gp_posterior <- function(x, ...) {
  names <- names(draws_of_parameters(x))
  if (length(names) > 1 && prod(graphics::par("mfrow")) == 1) {
    rows <- ceiling(sqrt(length(names)))
    old <- graphics::par(mfrow = c(ceiling(length(names) / rows), rows))
    on.exit(graphics::par(old))
  }
  for (name in names) draw_picture(plot_data(x, name), ...)
  invisible(x)
}

# Plots the density of a parameter's draws, and the prior density as an area, both estimated on the log scale if the
# parameter is positive. A line marks the estimate.
#' @export
plot_data.gp_posterior <- function(object, which = names(object)[1], ...) {
  v <- object[[which]]
  about <- about_posterior(object, "plot()")
  of <- about$of[match(which, told_labels(about$of$label)), ]
  log <- of$kind != "turn" && all(v > 0)
  found <- stats::density(if (log) log(v) else v)
  by <- if (log) exp(found$x) else 1 + 0 * found$x
  at <- if (log) by else found$x
  seen <- !log | at >= stats::quantile(v, 0.0005) / 1.5 & at <= 1.5 * stats::quantile(v, 0.9995)
  prior <- if (of$kind %in% c("range", "sd")) exp(prior_kinds[[of$kind]](found$x, of$D, of$l)[, 1]) / by
  picture(which, "density", band = if (length(prior)) data.frame(x = at, ymin = 0, ymax = prior)[seen, ],
          curve = data.frame(x = at, y = found$y / by)[seen, ],
          upright = data.frame(x = covariance_parameters(about$fit)[[which]]),
          note = paste0(if (length(prior)) "grey: prior; ", "dashes: estimate of the fit"))
}

# Returns the attributes of a complete posterior; NULL if rows or columns were selected.
about_draws <- function(x) {
  about <- attr(x, "about")
  if (identical(about$draws, nrow(x)) && all(told_labels(about$of$label) %in% names(x))) about
}

about_posterior <- function(x, what) {
  about_draws(x) %or% abort("input", what, " takes what gp_posterior() returned, whole: rows or columns of it are ",
                              "draws alone")
}

#' @rdname gp_posterior
#' @exportS3Method posterior::as_draws_df
as_draws_df.gp_posterior <- function(x, ...) posterior::as_draws_df(as.data.frame(x), ...)

#' @rdname gp_posterior
#' @exportS3Method posterior::as_draws
as_draws.gp_posterior <- function(x, ...) as_draws_df.gp_posterior(x, ...)

#' @rdname gp_posterior
#' @export
as.data.frame.gp_posterior <- function(x, ...) {
  attr(x, "about") <- NULL
  structure(x, class = "data.frame")
}

# --- predictions ----------------------------------------------------------------------------------------------

#' @rdname gp_posterior
#' @export
predict.gp_posterior <- function(object, newdata = NULL, se.fit = FALSE,
                                 interval = c("none", "confidence", "prediction"), level = 0.95,
                                 type = c("response", "link", "mean"), re.form = NULL, allow.new.levels = FALSE,
                                 ...) {
  refuse_more(...)
  interval <- choice_of(interval[1], c("none", "confidence", "prediction"), "interval")
  type <- choice_of(type[1], c("response", "link", "mean"), "type")
  check_flag(se.fit, "se.fit")
  check_level(level)
  about <- about_posterior(object, "predict()")
  check_flag(allow.new.levels, "allow.new.levels")
  about$fit <- fit <- with_groups_of(about$fit, re.form, allow.new.levels)
  if (is_raster(newdata)) {
    return(over_cells(fit, newdata, function(fit, cells) {
      predict.gp_posterior(object, cells, se.fit, interval, level, type, re.form, allow.new.levels)
    }))
  }
  if (is.null(fit$family)) return(mixed_prediction(about, newdata, se.fit, interval, level))
  if (type == "link") {
    if (interval == "prediction") abort("input", "a prediction interval is that of type = \"response\"")
    return(mixed_prediction(about, newdata, se.fit, interval, level))
  }
  family_prediction(fit, function(errors) mixed_prediction(about, newdata, errors), se.fit, interval, level, type,
                    newdata)
}

# Mixes the predictions at several parameter values: weighted mean, and variance within and between them.
mixed_prediction <- function(about, newdata, se.fit, interval = "none", level = 0.95) {
  fit <- about$fit
  used <- about$weights != 0
  w <- about$weights[used]
  states <- about$states[used]
  errors <- se.fit || interval != "none"
  m <- if (errors) neighbours_of_mixture(fit)
  found <- at_gp_places(fit, newdata, function(x, F, offset) {
    if (!nrow(x)) return(cbind(offset, if (errors) offset))
    each <- lapply(states, function(one) state_prediction(fit, one, x, F, offset, errors, m))
    column <- function(k) matrix(vapply(each, function(one) one[, k], offset), length(offset))
    mean <- as.vector(column(1) %*% w)
    cbind(mean, if (errors) sqrt(pmax(as.vector((column(2)^2 + (column(1) - mean)^2) %*% w), 0)))
  })
  nuggets <- vapply(states, function(one) one$values$nugget, 0)
  as_prediction(list(sigma = sqrt(max(sum(w * nuggets), 0))), found, se.fit, interval, level, NULL)
}

state_prediction <- function(fit, state, x, F, offset, errors, m) {
  at <- fit_of_state(fit, state)
  of_data <- gp_products(at, x, cbind(model_alpha(at), if (errors) at$U))
  cbind(as.vector(F %*% at$coefficients) + offset + of_data[, 1],
        if (errors) gp_se(at, x, F, of_data[, -1, drop = FALSE], m))
}

# Replaces the covariance parameters of a fit, as far as predictions need it.
fit_of_state <- function(fit, state) {
  model <- fit$data
  model$values <- state$values
  if (!is.null(model$family)) model[c("w", "y", "e")] <- state$working
  fit$data <- model
  fit[c("variance", "nugget", "U", "C")] <- c(state$values[c("variance", "nugget")], state$weights[c("U", "C")])
  fit$alpha <- state$weights$alpha[order(model$rows)]
  if (ncol(model$Q)) fit$coefficients <- as.vector(backsolve(model$R, model$b + state$weights$b))
  fit$kept <- list2env(list(preconditioner = fit$kept$preconditioner), parent = emptyenv())
  fit
}

# Returns the number of neighbours for standard errors if the fit is not dense, so that no state solves a system.
neighbours_of_mixture <- function(fit) {
  if (fit$data$dense || !has_distance(fit$data$kernel)) return(NULL)
  (errors_by_neighbours(fit, "auto", NULL) %or% audited_neighbours(fit, NULL))$neighbours
}
