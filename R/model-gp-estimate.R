# Parameters of Gaussian processes: starts, bounds, and steps by the average information.

# Estimates the parameters from rows of the model. Returns list(state, steps, rows, converged), the last step's state.
gp_estimate <- function(model, rows) {
  part <- model_rows(model, rows)
  bounds <- gp_bounds(part, model)
  start <- gp_start(part, bounds)
  begun <- part$begun  # a state of the same rows is used again
  same <- isTRUE(begun$rows == nrow(part$x)) && identical(begun$state$theta, start) && !is.null(begun$state$value)
  found <- if (!part$dense) gp_settled(part, start, bounds)
           else gp_climb(part, start, bounds, at = if (same) begun$state else gp_state(part, start))
  if (!is.finite(found$state$value)) {
    if (!is.null(found$state$why)) abort("tolerance", message_of(found$state$why))
    abort("singular", "the covariance matrix is not positive definite at any start: ", enough_nugget(part),
          ", or a rougher kernel, would make it so")
  }
  if (!found$converged) {
    warn("convergence", "the likelihood was still rising after ", found$steps, " steps, by about ",
         format(found$decrement^2 / 2, digits = 2), ": give `start` or bounds in fit_control(), fix a parameter, or ",
         "raise `max_iter`")
  }
  found <- c(below_floor(found, part, bounds), list(model = part))
  warn_of_bounds(found)
  if (length(found$state$theta)) warn_of_vanishing(found)
  found$state$information <- last_information(part, found$state)
  found
}

# Returns the information matrix at the estimates, whose inverse has their covariances.
last_information <- function(model, at) UseMethod("last_information", family_of(model))

#' @export
last_information.gp_gaussian <- function(model, at) at$information

# Maximises an iterative likelihood. Few probes and a loose tolerance lead within three standard errors of the maximum;
# then all probes are used, or twice as many if the score would be too noisy.
gp_settled <- function(model, theta, bounds) {
  probes <- model$control$probes
  rough <- climbing(model)
  found <- gp_climb(rough, theta, bounds, goal = 3, later = 2)
  noise <- found$noise * sqrt(rough$control$probes / probes)
  while (is.finite(found$state$value)) {
    if (isTRUE(noise > most_noise(model))) model$control$probes <- 2 * probes
    last <- gp_climb(model, next_theta(found$state, model, bounds), bounds, near = found$state)
    found <- replace(last, "steps", found$steps + 1 + last$steps)
    noise <- found$noise
    if (!isTRUE(noise > most_noise(model)) || model$control$probes > probes) break
  }
  if (isTRUE(noise > most_noise(model))) {
    warn("convergence", "the score is known to ", format(noise, digits = 2), " standard errors only, by ",
         model$control$probes, " random vectors: more `probes` of fit_control() would tell estimates better")
  }
  found
}

# Noise of 1/5 of a standard error increases standard errors by 2 %, noise of 1/2 by 12 %. With very many rows standard
# errors are small, and a state takes minutes.
very_many_rows <- 2e5
most_noise <- function(model) if (length(model$y) > very_many_rows) 0.5 else 0.2
probes_of_climb <- 4
tol_of_climb <- 1e-4  # of the first climb; gp_weights() reduces it if need be

# Settings of the first climb. With very many rows a state takes longer than its probes, so that few probes save little.
climbing <- function(model) {
  if (model$dense) return(model)
  few <- if (length(model$y) > very_many_rows) model$control$probes / 2 else probes_of_climb
  model$control$probes <- ceiling(max(2, min(few, model$control$probes)))
  model$control$tol <- max(tol_of_climb, model$control$tol)
  model$loose <- 2.5
  model
}

# The largest effect of the score's noise on an estimate, in its standard errors. Estimates with a standard error above
# 1 on the log scale, such as scales of inputs without effect, are left out.
noise_of <- function(at, model, bounds) {
  k <- length(at$score)
  Z <- free_directions(at, model, bounds)
  covariance <- matrix(apply(diag(k), 2, function(e) damped_step(at$information, e, Z, 0)), k)
  moved <- diag(covariance %*% at$score_noise %*% covariance) / diag(covariance)
  sqrt(max(0, moved[diag(covariance) > 0 & diag(covariance) < 1]))
}

# The most rows of a sample for which all pairs are used; with more rows a factorisation takes about as long.
few_rows <- 3000

model_rows <- function(model, rows) {
  if (length(rows) == length(model$y)) return(model)
  q <- qr(model$Q[rows, , drop = FALSE])
  if (q$rank < ncol(model$Q)) {
    abort("data", "the trend's columns are not independent on the ", length(rows), " rows of `estimate_on`; take more")
  }
  model["panel"] <- NULL
  model$x <- model$x[rows, , drop = FALSE]
  model$z <- model$z[rows, , drop = FALSE]
  model$y <- model$y[rows]
  model$w <- model$w[rows]
  model$response <- model$response[rows, , drop = FALSE]
  model$family <- family_of_rows(model$family, rows)
  model$Q <- qr.Q(q)
  model$log_R <- model$log_R + sum(log(abs(diag(qr.R(q)))))
  model$dense <- length(rows) <= model$control$dense_n
  if (length(rows) <= few_rows) model$control$approximate <- NULL
  model
}

some_of_model <- function(model, most) {
  model_rows(model, rows_of_sample(model, most))
}

# Samples rows of a model; with several responses at a place, neighbours are sought beyond the place.
rows_of_sample <- function(model, most) {
  rows_for_estimate(model$x, most, model$control$seed, finest_level(model), 1 + max(1, length(model$unit)))
}

# Samples half of the rows at random, and half among their nearest neighbours, so that short distances occur. With a
# grouping factor `level`, up to half of the rows are all rows of some levels. `k`: a row and its neighbours.
rows_for_estimate <- function(x, most, seed, level = NULL, k = 2) {
  n <- nrow(x)
  if (n <= most) return(seq_len(n))
  order <- privately(seed, sample.int(n))
  levels <- if (!is.null(level)) split(order, factor(level[order], unique(level[order])))
  whole <- unlist(levels[cumsum(lengths(levels)) <= most / 2], use.names = FALSE)
  if (length(whole)) order <- setdiff(order, whole)
  first <- order[seq_len(ceiling((most - length(whole)) / k))]
  near <- as.vector(knn(x, x[first, , drop = FALSE], k = min(k, n), exclude_self = FALSE)$nn.index)
  sort(utils::head(unique(c(whole, first, near, order)), most))
}

# --- bounds and starts --------------------------------------------------------------------------------------

# Bounds: scales between a tenth of the shortest distance and ten times the diameter; variances relative to the variance
# of the response. `all`: the model fitted with the estimates, which may have more rows and a larger nugget.
gp_bounds <- function(model, all = model) {
  layout <- model$layout
  spans <- spans_of(model$x)
  spans[spans == 0] <- 1  # a column may be constant on some of the rows
  spread <- log(spread_of(model))
  start <- gp_theta(model$values, layout)
  alone <- layout$part %in% c("kernel", "phi")
  groups <- layout$part == "groups"
  share <- layout$part == "kernel" & layout$link == "logit"
  far <- log(ifelse(layout$link == "log" | share, 1e3, 100))  # for a turn, the ratio of axes
  of_family <- which(layout$part == "phi")
  units <- (family_of(model)$units %or% rep(NA, max(0, layout$index)))[layout$index[of_family]]
  far[of_family] <- ifelse(is.na(units), far[of_family], 20 * units)
  size <- ifelse(layout$part %in% c("variance", "responses"), log(process_spread(model, 1)), 0)
  lower <- ifelse(alone, start - far, spread + log(1e-6) + size)
  upper <- ifelse(alone, start + far, asked_of(model)$most_variance(spread) + size)
  scales <- which(is_one_of(layout$name, "scale"))
  apart <- rep(NA, nrow(layout))  # scales as long as the shortest distance
  if (length(scales)) {
    ends <- ends_of_scales(model, layout[scales, ], spans)
    apart[scales] <- log(ends$apart)
    lower[scales] <- apart[scales] - log(10)
    upper[scales] <- log(ends$far)
  }
  bounds <- within_own_ends(list(lower = lower, upper = upper), start, model)
  lower <- bounds$lower
  upper <- bounds$upper
  smooth <- of_smoothness(model$layout$name, model$kernel)
  lower[smooth] <- log(0.1)  # range of the tables, beyond which the kernel equals its limits
  upper[smooth] <- log(5)
  ends <- group_ends(model, spread, asked_of(model)$most_variance(spread))
  lower[groups] <- ends$lower[layout$index[groups]]
  upper[groups] <- ends$upper[layout$index[groups]]
  correlation <- layout$part == "responses" & layout$link == "atanh"
  lower[correlation] <- -most_atanh
  upper[correlation] <- most_atanh
  ends <- parameter_ends(family_of(model), layout$index[of_family])
  lower[of_family] <- pmax(lower[of_family], ends$lower)
  upper[of_family] <- pmin(upper[of_family], ends$upper)
  longest <- replace(bounds$longest, of_family, longest_step * pmax(units, 1, na.rm = TRUE))
  bounds <- with_floor(list(lower = lower, upper = upper, apart = apart, longest = longest, own = bounds$own), model,
                       pmax(nugget_floor(model), nugget_floor(all)), spread)
  given <- given_bounds(model$control, layout, unit = user_units(model, layout))
  bounds$given <- given$lower > bounds$lower | given$upper < upper | bounds$own
  replace(bounds, c("lower", "upper"), list(pmax(bounds$lower, given$lower), pmin(upper, given$upper)))
}

# Bounds of fit_control(), by name of the parameter; without names, of the scales.
given_bounds <- function(control, layout, what = "bound", unit = rep(1, nrow(layout))) {
  one <- function(bound, none) {
    out <- rep(none, nrow(layout))
    if (is.null(bound)) return(out)
    names <- names(bound) %or% if (length(bound) == 1) "scale" else layout$label[layout$name == "scale"]
    for (k in seq_along(bound)) {
      mine <- layout$label == names[k] | layout$name == names[k]
      if (bound[[k]] <= 0 && any(layout$link[mine] %in% c("log", "logit"))) {
        abort("value", "the ", what, " of `", names[k], "` must be positive, not ", format(bound[[k]]))
      }
      out[mine] <- in_link(bound[[k]] / unit[mine], layout[mine, ])
    }
    unknown <- setdiff(names, c(layout$label, layout$name))
    known <- sub("^scale[.]mean$", "scale", layout$label[layout$name != "turn"])
    if (length(unknown)) {
      abort("input", "fit_control() has a ", what, " of `", unknown[1], "`, which is not estimated",
            near_hint(unknown[1], known, there_are(known)))
    }
    out
  }
  list(lower = one(control$lower, -Inf), upper = one(control$upper, Inf))
}

# Returns starting values. Many rows start at the estimates of an eighth of the rows, which start in the same way: a
# step costs 1/64 there, and most steps are made there.
gp_start <- function(model, bounds) {
  n <- nrow(model$x)
  searched <- model$values$variance > 0 && is.null(model$control$start)
  if (searched && !is.null(model$begun) && n <= 8 * max(model$begun$rows, rows_of_start)) {
    return(within_bounds(model$begun$state$theta, model, bounds))
  }
  if (!searched || n <= rows_of_start) return(gp_ends(model, bounds)[[1]])
  whole <- !is.null(model$panel)  # an eighth of a panel is not a panel
  few <- some_of_model(model, if (whole) rows_of_start else max(rows_of_start, ceiling(n / 8)))
  if (whole || n <= 8 * rows_of_start) return(gp_ends(few, bounds)[[1]])
  gp_climb(climbing(few), gp_start(few, bounds), bounds, goal = 0.3)$state$theta
}

# Finds maxima of the likelihood of few rows, the largest first: climbs start from the `most` best points of a grid of
# scales and nuggets. If the user gives starting values, these are returned.
gp_ends <- function(model, bounds, most = 3, goal = 0.1) {
  theta <- within_bounds(gp_theta(model$values, model$layout), model, bounds)
  if (model$values$variance == 0) return(list(theta))
  if (!is.null(model$control$start)) {
    given <- given_bounds(list(lower = model$control$start), model$layout, "start",
                          user_units(model, model$layout))$lower
    return(list(within_bounds(replace(theta, is.finite(given), given[is.finite(given)]), model, bounds)))
  }
  model$dense <- TRUE
  grid <- gp_grid(model, theta, bounds)
  if (!length(grid)) return(list(theta))
  ends <- lapply(utils::head(grid, most), function(start) gp_climb(model, start, bounds, goal = goal)$state)
  ends <- ends[order(-vapply(ends, `[[`, 0, "value"))]
  Reduce(function(kept, at) {  # drops an end within a factor of 2 of a better one
    if (any(vapply(kept, function(end) all(abs(at$theta - end) < log(2)), NA))) kept else c(kept, list(at$theta))
  }, ends, list())
}

gp_grid <- function(model, theta, bounds) {
  layout <- model$layout
  parts <- kernel_parts(model$kernel)
  begun <- parts$free[!vapply(parts$parameters[parts$free], is.null, NA)]  # estimated from a given starting value
  scales <- which(is_one_of(layout$name, "scale") & !layout$name %in% begun)
  by <- if (length(scales)) log(c(0.05, 0.15, 0.4, 1.2)) else 0
  ratios <- if (any(layout$part == "nugget")) c(1e-6, 1e-3, 0.1, 1) else asked_of(model)$ratios
  turns <- which(layout$name == "turn")
  ends <- kernel_ends(parts)
  signed <- which(layout$part == "kernel" & has_sign(layout$name, ends) & !layout$name %in% begun)
  places <- expand.grid(by = by, ratio = ratios, turn = if (length(turns)) seq_len(nrow(turns_to_try)) else 1,
                        side = if (length(signed)) c(0.5, 0, -0.5) else 0.5,
                        share = if (any(layout$part == "groups")) c(0.03, 0.5) else NA)
  starts <- lapply(seq_len(nrow(places)), function(k) {
    at <- with_group_share(model, theta, places$share[k])
    at[scales] <- at[scales] + places$by[k]
    for (j in signed) at[j] <- start_between(ends[[layout$name[j]]], 2 * places$side[k] * at[j], places$side[k])
    if (length(turns)) at[turns] <- turns_to_try[places$turn[k], ]
    profiled(model, within_bounds(at, model, bounds), places$ratio[k], bounds)
  })
  values <- vapply(starts, `[[`, 0, "value")
  lapply(starts[order(-values)][is.finite(sort(-values))], `[[`, "theta")
}

# Starting values of the variances of groups: a share of the variance of the response.
with_group_share <- function(model, theta, share) {
  mine <- model$layout$part == "groups" & model$layout$link == "log"
  start <- group_start(model$groups, model$z, share * spread_of(model))
  replace(theta, mine, log(start[model$layout$index[mine]]))
}

# Returns the variance of largest likelihood for a given ratio of nugget to variance, if both are estimated.
profiled <- function(model, point, ratio, bounds) UseMethod("profiled", family_of(model))

#' @export
profiled.gp_gaussian <- function(model, point, ratio, bounds) {
  layout <- model$layout
  v <- of_process(layout)
  g <- which(layout$part == "nugget")
  spread <- spread_of(model)
  if (length(v)) point[v] <- log(process_spread(model, spread))
  if (length(g)) point[g] <- log(ratio * if (length(v)) spread else model$values$variance)
  variances <- which(layout$part == "groups" & layout$link == "log")
  all <- sum(layout$part == "groups") == length(model$values$groups)
  both <- length(v) && all && (length(g) || all(model$values$nugget == 0))
  values <- gp_values(model$values, layout, point)
  system <- gp_system(model, values)
  weights <- if (!is.null(system)) gp_weights(model, system)
  if (is.null(weights)) return(list(theta = point, value = -Inf))
  value <- gp_log_likelihood(model, system_logdet(system), weights)
  if (both) {
    n <- gp_rows(model)
    by <- max(weights$form / n, 1e-300)
    point[c(v, g, variances)] <- point[c(v, g, variances)] + log(by)
    value <- value + (weights$form - n - n * log(by)) / 2
  }
  list(theta = within_bounds(point, model, bounds), value = value)
}

# --- steps --------------------------------------------------------------------------------------------------

# Maximises the likelihood with the average information in a trust region; from the third step on, BFGS updates the
# curvature. A climb ends if the score is within `goal` standard errors of 0; with an iterative likelihood, also if the
# score is within twice its noise, or near that and not reduced by a step; or if two steps have not changed the
# likelihood, whose noise is equal in all states (with hardly any noise in the data, the score's noise is not known
# well). `near`: a state whose preconditioner and solutions are used again. `later`: the number of states computed
# later, if known. The time left supposes that a step divides the distance by five.
gp_climb <- function(model, theta, bounds, goal = goal_of(model), near = NULL, later = NA,
                     most = if (model$dense) 100 else 30, at = gp_state(model, theta, near)) {
  begun <- proc.time()[["elapsed"]]
  H <- at$information
  before <- Inf
  mu <- flat <- 0
  most <- min(model$control$max_iter, most)
  out <- function(converged, steps) {
    list(state = at, steps = steps, converged = converged, decrement = decrement_of(at, at$information, model, bounds),
         noise = noise_of(at, model, bounds))
  }
  if (!is.finite(at$value)) return(list(state = at, steps = 0, converged = FALSE, decrement = Inf))
  for (step in seq_len(most)) {
    away <- decrement_of(at, H, model, bounds)
    enough <- if (model$dense) goal else max(goal, 2 * noise_of(at, model, bounds))
    if (model$control$verbose) tell_step(step, at, away, model)
    step_work("gp_fit()", paste0(format(nrow(model$x), big.mark = ","), " rows, step ", step, ", ",
                                 format(away, digits = 2), " s.e. from the maximum"),
              left = (proc.time()[["elapsed"]] - begun) / step * (later + max(0, ceiling(log(away / enough) / log(5)))))
    if (away < enough || !model$dense && away < 3 * enough && away > before / 2) return(out(TRUE, step - 1))
    before <- away
    found <- gp_step(model, at, H, mu, bounds)
    if (is.null(found)) return(out(decrement_of(at, at$information, model, bounds) < max(0.1, enough), step))
    H <- if (step < first_secant) found$at$information
         else secant(H, found$at$theta - at$theta, at$score - found$at$score)
    flat <- if (model$dense || abs(found$at$value - at$value) > flat_step) 0 else flat + 1
    at <- found$at
    mu <- found$mu
    if (flat == 2) return(out(TRUE, step))
  }
  out(FALSE, most)
}

# The distance from the maximum, in standard errors, at which a climb ends: for very many rows about a third.
goal_of <- function(model) {
  if (model$dense) 0.1 * sqrt(model$control$tol) else if (length(model$y) > very_many_rows) 0.3 else 0.05
}

# The step from which BFGS updates are used: average information alone divides the distance by two or three a step;
# updates from the third step took a third fewer steps than from the fifth, on nine data sets of R.
first_secant <- 3

# A step that changes the log-likelihood by less counts as flat.
flat_step <- 0.05

tell_step <- function(step, at, away, model) {
  found <- out_of_link(at$theta, model$layout) * user_units(model, model$layout)
  numbers <- paste(names(at$theta), vapply(found, format, "", digits = 4), collapse = ", ")
  tell("step ", step, ": logLik ", format(at$value, digits = 10), ", ", format(away, digits = 2),
       " standard errors from the maximum, ", numbers)
}

# Makes a step that increases the likelihood, NULL if there is none. An iterative value and score have different noise,
# so the gain is then the mean of the scores at both ends, times the step.
gp_step <- function(model, at, H, mu, bounds) {
  Z <- free_directions(at, model, bounds)
  for (try in seq_len(if (model$dense) 12 else 6)) {
    theta <- within_bounds(at$theta + limited_step(H, at$score, Z, mu, bounds$longest), model, bounds)
    moved <- theta - at$theta
    if (max(abs(moved)) < 1e-9) return(NULL)
    promised <- sum(at$score * moved) - sum(moved * (H %*% moved)) / 2
    new <- gp_state(model, theta, at)
    gain <- if (!is.finite(new$value)) -Inf
            else if (model$dense) new$value - at$value
            else sum(moved * (at$score + new$score)) / 2
    if (gain > -1e-10 * (1 + abs(at$value))) {
      good <- gain / max(promised, 1e-12)
      return(list(at = new, mu = if (good > 0.75) mu / 5 else if (good < 0.25) max(4 * mu, 0.1) else mu))
    }
    mu <- max(10 * mu, 0.1)
  }
  NULL
}

# The BFGS update, if the curvature along the step is positive.
secant <- function(H, s, y) {
  Hs <- as.vector(H %*% s)
  if (sum(s * y) <= 1e-3 * sum(s * Hs)) return(H)
  H + outer(y, y) / sum(s * y) - outer(Hs, Hs) / sum(s * Hs)
}

# Warns of parameters, other than scales and variances, that approach 0 and whose logarithms have large standard errors.
warn_of_vanishing <- function(found) {
  at <- found$state
  layout <- found$model$layout
  own <- layout$part == "kernel" & layout$link == "log" & !is_one_of(layout$name, "scale") &
    !is_one_of(layout$name, "variance")
  lower <- found$bounds$lower + 1e-6
  for (k in which(own & at$theta > lower & at$theta < gp_theta(found$model$values, layout) + log(1e-2))) {
    if (damped_step(at$information, diag(nrow(layout))[, k], diag(nrow(layout)), 0)[k] < 4) next
    warn("boundary", "`", layout$label[k], "` has gone to ", format(exp(at$theta[[k]]), digits = 2), ", with no bound ",
         "below: it is positive by its logarithm; `lower = c(", layout$name[k], " = -Inf)` of kernel_spec() lets it ",
         "be negative")
  }
}
