# Bounds of estimates: the smallest nugget, and messages about estimates that end at a bound.

# The smallest nugget. `least`: relative to the variance of the response, a constant while the likelihood is maximised;
# as a share of the process' variance it would pull that variance down. `ratio`: the least share of the variance with
# which a matrix stays definite. Factors have errors of a few eps n; products by series of .004e-12 n at the least
# tolerance. Iterations fail below 1e-8 for kernels smoother than Matern, and well below 1e-10 for Matern.
nugget_floor <- function(model) {
  n <- length(model$y) * max(model$w)
  if (model$dense) return(c(least = 1e-12, ratio = 10 * .Machine$double.eps) * n)
  by_series <- is_approximated(c(n, n), model$control)
  rough <- isTRUE(kernel_parts(model$kernel)$name %in% c("matern12", "matern32", "matern52", "matern"))
  if (by_series && rough) return(c(least = 1e-12 * n, ratio = max(1e-10, 1e-13 * n)))
  c(least = 1, ratio = 1) * max(1e-8, 1e-12 * n)
}

# Returns the text of a nugget with which most matrices are definite.
enough_nugget <- function(model) {
  least <- nugget_floor(model)[["least"]] * spread_of(model) * (model$unit %or% 1)^2
  paste("a nugget of", toString(vapply(least, format, "", digits = 2)))
}

# Adds the lower bounds of the nugget, which are at most the nugget of the model.
with_floor <- function(bounds, model, floor, spread) {
  g <- model$layout$part == "nugget"
  own <- if (any(g)) log(model$values$nugget) else Inf
  bounds$lower[g] <- pmin(own, spread + log(floor[["least"]]))
  by_parts <- !any(model$layout$part == "variance") &&
    any(grepl("variance", model$layout$name[model$layout$part == "kernel"]))
  least <- log(floor[["ratio"]] / process_spread(model, 1))
  bounds$floor <- if (by_parts) -Inf else min(own - log(model$values$variance), least)
  bounds
}

# Replaces default bounds by the bounds given in kernel_spec(). A parameter that may be negative and has no bound may
# move by a thousand times its starting value, or by a thousand.
within_own_ends <- function(bounds, start, model) {
  layout <- model$layout
  bounds$longest <- rep(longest_step, nrow(layout))
  bounds$own <- rep(FALSE, nrow(layout))
  ends <- kernel_ends(kernel_parts(model$kernel))
  for (k in which(layout$part == "kernel" & layout$name %in% names(ends))) {
    own <- ends[[layout$name[k]]]
    signed <- layout$link[k] == "identity"
    unit <- if (all(is.finite(own))) diff(own) / 10 else max(1, abs(start[k]))
    if (signed) bounds$longest[k] <- longest_step * unit
    reach <- if (signed) start[k] + c(-1000, 1000) * unit else c(bounds$lower[k], bounds$upper[k])
    found <- ifelse(is.finite(own) & (signed | own > 0), in_link(own, layout[c(k, k), ]), reach)
    bounds$own[k] <- any(is.finite(own) & own != 0)
    bounds$lower[k] <- found[1]
    bounds$upper[k] <- found[2]
  }
  bounds
}

# --- a nugget at its bound ----------------------------------------------------------------------------------

# A move of another estimate, in standard errors, that is negligible.
little_moved <- 0.1

# If a nugget ends at its bound, the model is fitted again, from this point, with a tenth of the bound, which shows by
# how much the bound moves other estimates. If they move much, this is repeated while the matrix is definite. `moves`:
# the moves by the last tenth; the next tenth would move estimates a tenth as much (the likelihood is smooth).
below_floor <- function(found, model, bounds) {
  found <- without_unseen(found, model, bounds)
  # A tenth of the nugget more than doubles the iterations, which are too many with many inputs.
  most <- if (model$dense) 4 else if (ncol(model$x) <= 3) 2 else 0
  for (try in seq_len(most)) {
    at_floor <- low_nuggets(found$state, model, bounds)
    if (!length(at_floor)) break
    lower <- replace(bounds, c("lower", "floor"), list(bounds$lower - (model$layout$part == "nugget") * log(10),
                                                       bounds$floor - log(10)))
    again <- gp_climb(model, within_bounds(replace(found$state$theta, at_floor, -Inf), model, lower), lower,
                      near = if (!model$dense) found$state, most = 10)
    errors <- again$state$se + found$state$se
    if (!again$converged || again$state$value < found$state$value - 4 * errors) break
    moves <- moves_between(found$state, again$state, model, bounds, lower)
    bounds <- lower
    found <- c(replace(again, "steps", found$steps + again$steps), list(moves = moves))
    if (max(moves$in_errors) < little_moved) break
  }
  c(found, list(bounds = bounds))
}

# Sets a nugget or a variance of groups to its bound if its score and information are negligible, wherever the climb
# left it.
without_unseen <- function(found, model, bounds) {
  at <- found$state
  layout <- model$layout
  small <- (layout$part == "nugget" | layout$part == "groups" & layout$link == "log") & !bounds$given
  if (!any(small) || !is.finite(at$value)) return(found)
  unseen <- small & abs(at$score) < 0.01 & diag(at$information) < 0.01
  theta <- within_bounds(replace(at$theta, unseen, -Inf), model, bounds)
  if (all(at$theta < theta + 1e-6 | !unseen)) return(found)
  moved <- gp_state(model, theta, if (!model$dense) at)
  if (is.finite(moved$value)) replace(found, "state", list(moved)) else found
}

# Returns the nuggets at a default bound, unless the process itself acts as noise.
low_nuggets <- function(at, model, bounds) {
  g <- which(model$layout$part == "nugget")
  if (!length(g) || !is.finite(at$value) || is_below_distances(at, bounds)) return(integer())
  g[!bounds$given[g] & at$theta[g] <= lower_bounds(at$theta, model, bounds)[g] + 1e-6]
}

# Computes the moves of other estimates, on the log scale and in standard errors. Each state is first moved by its next
# step, since a climb ends where this step is small; iterative states have the same noise.
moves_between <- function(from, to, model, bounds, lower) {
  inner <- which(to$theta > lower_bounds(to$theta, model, lower) + 1e-6 & to$theta < lower$upper - 1e-6)
  by <- (next_theta(to, model, lower) - next_theta(from, model, bounds))[inner]
  unit <- diag(1, length(to$theta))
  Z <- unit[, inner, drop = FALSE]
  errors <- vapply(inner, function(k) damped_step(to$information, unit[, k], Z, 0)[k], 0)
  list(by = stats::setNames(by, model$layout$label[inner]), link = model$layout$link[inner],
       in_errors = c(0, abs(by) / sqrt(pmax(errors, 1e-300))))
}

# Tells whether all scales are shorter than the smallest distance between two points.
is_below_distances <- function(at, bounds) {
  below <- at$theta < bounds$apart
  any(below, na.rm = TRUE) && all(below, na.rm = TRUE)
}

# --- messages ------------------------------------------------------------------------------------------------

warn_of_bounds <- function(found) {
  at <- found$state
  bounds <- found$bounds
  if (!length(at$theta)) return(invisible())
  layout <- found$model$layout
  lower <- lower_bounds(at$theta, found$model, bounds)
  low <- at$theta <= lower + 1e-6
  high <- at$theta >= bounds$upper - 1e-6
  alike <- is_equidistant(found$model) & layout$name == "scale"
  vanished <- any(low & layout$part == "variance")  # the kernel then has no message
  turns <- layout$name == "turn"
  found_at <- out_of_link(at$theta, layout) * user_units(found$model, layout)
  found_at[turns] <- exp(-sqrt(sum(at$theta[turns]^2)))  # the ratio of the axes
  again <- turns & duplicated(turns & (low | high))
  for (k in which((low | high) & !again & !alike & !(vanished & layout$part %in% c("kernel", "nugget")))) {
    number <- found_at[k]
    if (!high[k] && k %in% low_nuggets(at, found$model, bounds)) {
      tell_of_nugget(number, found, layout$label[k])
      next
    }
    meaning <- if (bounds$given[k]) paste("the bound of", if (bounds$own[k]) "kernel_spec()" else "fit_control()")
               else meaning_of_bound(layout[k, ], high[k], is_below_distances(at, bounds), found$model)
    text <- paste0(told_bound(layout$label[k]), " is at its bound, ", format(number, digits = 3), ": ", meaning)
    one_of_many <- layout$name[k] == "scale" && !layout$label[k] %in% c("scale", "scale.mean")
    if (one_of_many && high[k] && !bounds$given[k]) tell(text) else warn("boundary", text)
  }
}

# Tells that a nugget is at its bound; a warning if the bound moves other estimates.
tell_of_nugget <- function(number, found, label) {
  moves <- found$moves
  at <- paste0("the data show no noise: `", label, "` is at its bound, ", format(number, digits = 2))
  if (!is.null(moves) && max(moves$in_errors) < little_moved) {
    model <- found$model
    twins <- model$rows[coincident_rows(if (is.null(model$stack)) model$x else cbind(model$x, model$z))]
    if (!is.null(model$stack)) twins <- model$stack[twins]
    pair <- if (length(twins)) paste0(", but rows ", twins[1], " and ", twins[2], " coincide: remove one of each pair")
    return(tell("kernweave: ", at, "; with ten times as much, ", moves_text(moves),
                "; nugget = 0 would interpolate them", pair))
  }
  model <- found$model
  advice <- if (model$dense) "a rougher kernel, or a given `nugget`, would help"
            else if (is.null(model$control$approximate)) "fit_control(dense_n = ), which takes a factor, may go lower"
            else "approximate = NULL, which computes all pairs, or `estimate_on` would help"
  warn("boundary", at, ", on which other estimates depend: with ten times as much, ", moves_text(moves), "; ", advice)
}

moves_text <- function(moves) {
  if (is.null(moves)) return("they would be others")
  share <- moves$link == "log"
  size <- abs(ifelse(share, expm1(-moves$by), moves$by))
  seen <- size >= 1e-4
  if (!any(seen)) return("other estimates are the same")
  size <- ifelse(share, 100 * size, size)
  text <- vapply(signif(size, 2), format, "", scientific = FALSE)
  way <- ifelse(moves$by < 0, " more", " less")  # a tenth of the bound has moved it the other way
  names <- vapply(names(moves$by), told_bound, "")
  each <- paste0(names, " would be ", text, ifelse(share, " %", ""), way)
  each[startsWith(names(moves$by), "turn.")] <- "the axes would be others"
  paste(unique(each[seen]), collapse = ", ")
}

# Explains a bound. `below`: all scales are shorter than the smallest distance between two points.
meaning_of_bound <- function(row, high, below, model) {
  if (row$part == "nugget" && !high && below) {
    "the scale is shorter than the distance of any two points, so that the kernel acts as the noise"
  } else if (row$part == "variance" && high && !asked_of(model)$nugget) {
    if (model$family$title == "binomial") "places decide the response: probabilities are 0 or 1"
    else "the data do not determine it; give `variance`"
  } else if (row$part == "phi" && high) {
    if (row$name == "size") "counts are no more spread than Poisson's; family = poisson() has no `size`"
    else if (row$name == "df") "the tails are no heavier than the normal's; family = gaussian() has no `df`"
    else if (row$name == "p") "the response is nearly gamma, for which there is family = Gamma(\"log\")"
    else "the process explains all of the response"
  } else if (row$part == "responses" && row$link != "log") {
    "the processes of these responses are the same but for a factor"
  } else if (row$part == "groups") {
    if (row$link != "log") "the effects of a level are a line"
    else if (high) "the data do not determine it"
    else "levels differ by no more than the rest of the model explains"
  } else if (row$part %in% c("variance", "responses") && !high) "apart from the trend the data show only noise"
  else if (grepl("(^|[.])nu$", row$name) && has_nu(model$kernel)) {
    if (high) "the process is as smooth as with a Gaussian kernel" else "the process is rougher than the data can tell"
  } else if (row$part == "kernel" && row$link == "logit") {
    paste0("it is ", if (high) "at most 1" else "not below 0", "; a number in `time` of kernel_spec() fixes it")
  } else if (row$name == "turn") "along one axis the response hardly changes, or the data do not determine the axes"
  else if (!is_one_of(row$name, "scale")) {
    own <- !high && !is_one_of(row$name, "variance") &&
      !is.null(Find(function(part) !is.null(part$fun), leaf_parts(model$kernel)))
    paste0("the data do not determine it",
           if (own) paste0(", or it would be negative; `lower = c(", row$name, " = -Inf)` of kernel_spec() lets it"))
  }
  else if (!high) "points do not resemble their neighbours, or are further apart than the scale"
  else if (!row$label %in% c(row$name, "scale.mean")) "the response does not change with this variable, or along a line"
  else paste("the process reaches further than the data, and variance and scale cannot be told apart; a given `scale`,",
             "a bound as in fit_control(upper = c(scale = )), or a trend of the inputs, would help")
}

# Returns the labels of variances and scales that cannot be told apart, since a scale is at its upper bound or all
# distances are the same.
confounded_labels <- function(estimate) {
  if (is.null(estimate)) return(character())
  layout <- estimate$model$layout
  if (is_equidistant(estimate$model)) return(c("variance", "scale"))
  far <- estimate$state$theta >= estimate$bounds$upper - 1e-6 & !estimate$bounds$given & layout$part == "kernel" &
    is_one_of(layout$name, "scale") & layout$label %in% c(layout$name, "scale.mean")
  if (any(far)) intersect(c("variance", sub("scale(.mean)?", "variance", layout$label[far])), layout$label)
}
