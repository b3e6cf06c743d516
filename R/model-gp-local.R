# Standard errors of predictions from the nearest observations, which are never too small; an audit of these against
# exact errors; local kriging, whose means also use the nearest observations.

# Returns the audit of standard errors from neighbours; NULL if predict() computes them exactly.
errors_by_neighbours <- function(object, method, neighbours) {
  if (method == "exact" || !has_slow_errors(object)) return(NULL)
  key <- as.character(neighbours %or% "auto")
  if (!is.null(object$kept$audits[[key]])) return(object$kept$audits[[key]])
  audit <- object$kept$audits[[key]] <- audited_neighbours(object, neighbours)
  largest <- audit$ratio[["largest"]]
  if (largest > most_ratio) {
    warn("approximate", "standard errors by the ", audit$neighbours, " nearest observations are up to ",
         format(largest, digits = 3), " times the exact ones, at ", audit_places, " places; more `neighbours`, ",
         "method = \"exact\", or apply(simulate(fit, 100, newdata = ), 1, sd) would give smaller ones")
  } else {
    tell("kernweave: standard errors are by the ", audit$neighbours, " nearest observations of each place, at most ",
         format(largest, digits = 4), " times the exact ones at ", audit_places, " places; method = \"exact\" uses ",
         "all. (Said once.)")
  }
  audit
}

# Tells whether exact standard errors take long and neighbours can replace them.
has_slow_errors <- function(object) {
  n <- length(object$data$y)
  slow <- is_approximated(c(n, n), object$control) || !object$data$dense && n > many_points
  slow && has_distance(object$data$kernel)
}

# The number of rows up to which the exact error at a place takes about a second.
many_points <- 20000

# Tells whether the kernel, or its first part, decreases with distance. A user's kernel is assumed to; the audit checks.
has_distance <- function(kernel) {
  parts <- first_part(kernel_parts(kernel))
  !is.null(parts$fun) || !is.null(kernel_rows[[parts$name]]$of_square)
}

first_part <- function(parts) if (is.null(parts$op)) parts else first_part(kernel_parts(parts$of[[1]]))

# --- neighbours ---------------------------------------------------------------------------------------------------

# The number of places in a block, whose neighbours take some ten megabytes.
places_at_once <- 2^15

# A block takes some seconds, after which progress is shown: with many neighbours a place takes up to 12 ms.
places_in_block <- function(m) max(1024, floor(places_at_once * min(1, (60 / m)^2.6)))

# Finds the observations nearest to places, in the scaled distance of the kernel or of its first part. With few inputs a
# search by boxes ends before a GPU has compiled a kernel.
nearest_observations <- function(object, x, m) {
  model <- object$data
  numbers <- first_numbers(kernel_parts(model$kernel), gp_numbers(model, model$values))
  part <- first_part(kernel_parts(model$kernel))
  columns <- part$columns %or% seq_len(ncol(model$x))
  scale <- numbers$scale
  each <- is.numeric(scale) && length(scale) == length(columns)
  root <- if (is_aniso(part)) t(matrix(numbers$axes %or% axes_of_angle(numbers), 2))
  in_scales <- function(x) {
    x <- x[, columns, drop = FALSE]  # without the columns of groups
    if (is.null(root)) x / if (each) rep(scale, each = nrow(x)) else 1 else x %*% root
  }
  by_boxes <- function(x, y) lazy_set(sqdist(x, y), device = "cpu")
  knn(in_scales(model$x), in_scales(x), k = m,
      metric = if (length(columns) <= most_axes_of_boxes) by_boxes else "euclidean")
}

# Returns the parameters of a kernel; for a sum or product, the parameters of its first part.
first_numbers <- function(parts, numbers) {
  if (is.null(parts$op)) return(numbers)
  keys <- parts$keys[[1]]
  first_numbers(kernel_parts(parts$of[[1]]), stats::setNames(numbers[names(keys)], keys))
}

# Predicts the process at places from the m nearest observations, a row for each place. With the response: mean and
# variance (with `trend`, these observations also estimate the trend); otherwise the variance alone.
local_process <- function(object, x, m, y = NULL, trend = NULL) {
  model <- object$data
  n <- length(model$y)
  size <- places_in_block(m)
  begin_work("predict()", steps = ceiling(nrow(x) / size), quicker = if (m > 60) "fewer `neighbours`")
  on.exit(end_work("predict()"))
  do.call(rbind, in_row_blocks(nrow(x), size = size, work = "predict()", function(rows) {
    at <- x[rows, , drop = FALSE]
    near <- nearest_observations(object, at, min(m, n))
    both <- rbind(model_places(model), at)
    seen <- seq_len(n)
    told <- told_by_others(object, both, near$nn.index)
    both <- told$places
    found <- conditional(gp_cross(object, both, both), if (!is.null(y)) y - told$mean[seen], seen = seen,
                         ridge = model$values$nugget / model$w,
                         trend = if (!is.null(trend)) rbind(model$Q, trend[rows, , drop = FALSE]),
                         neighbours = near$nn.index)
    cbind(found$mean + told$mean[-seen], found$variance,
          known = model$values$nugget == 0 & near$nn.dist[, 1] == 0, deparse.level = 0)
  }))
}

# Shrinks the regressors of grouped effects by the factor by which observations that are not near reduce the sds of the
# effects, and returns the `mean` of the effects given those observations. `both`: the observations, then the places,
# each with its row of `near`. Information on an effect, 1 / variance - 1 / prior variance, is divided in proportion to
# the observations of its level that are near. `own`: observations at a place that are left out.
told_by_others <- function(object, both, near, own = 0) {
  model <- object$data
  if (!length(model$groups)) return(list(places = both, mean = numeric(nrow(both))))
  D <- ncol(model$x)
  n <- length(model$y)
  of_level <- object$kept[[paste("near", ncol(near))]] %or% lapply(model$groups, near_shares, object, ncol(near))
  object$kept[[paste("near", ncol(near))]] <- of_level
  share <- Map(function(term, of_level) {
    code <- both[, D + term$code]
    seen <- code[seq_len(n)]
    new <- code[-seq_len(n)]
    at_place <- (rowSums(matrix(seen[near], nrow(near)) == new) + own) / tabulate(seen, max(code))[new]
    c(of_level[seen], ifelse(is.finite(at_place), at_place, 1))
  }, model$groups, of_level)
  left <- shares_left(object, Map(function(term, share) {
    seq_along(term$levels) %in% both[share < 0.9, D + term$code]
  }, model$groups, share))
  effects <- effects_of_levels(object, group_parts(model, model$values))
  mean <- numeric(nrow(both))
  for (t in seq_along(model$groups)) {
    term <- model$groups[[t]]
    some <- which(share[[t]] < 0.9)
    code <- both[some, D + term$code]
    elsewhere <- 1 - share[[t]][some]
    for (k in seq_along(term$at)) {
      z <- both[some, D + term$at[k]]
      by <- 1 / (1 + elsewhere * (1 / left[[t]][k, code] - 1))  # variance given the others / prior variance
      mean[some] <- mean[some] + z * elsewhere * by / left[[t]][k, code] * effects[[t]][k, code]
      both[some, D + term$at[k]] <- z * sqrt(by)
    }
  }
  list(places = both, mean = mean)
}

# The share of the observations of each level that are among the m nearest neighbours of one of them.
near_shares <- function(term, object, m) {
  model <- object$data
  code <- model$z[, term$code]
  first <- match(seq_along(term$levels), code)
  there <- which(!is.na(first))
  near <- nearest_observations(object, model_places(model)[first[there], , drop = FALSE], m)$nn.index
  own <- matrix(code[near], nrow(near)) == there
  replace(rep(1, length(first)), there, rowSums(own) / tabulate(code, length(first))[there])
}

# Posterior variances of effects relative to prior variances, a row for each regressor and a column for each level.
# Levels asked for the first time are computed and stored.
shares_left <- function(object, asked) {
  kept <- object$kept
  parts <- group_parts(object$data, object$data$values)
  kept$left <- kept$left %or% lapply(parts, function(part) {
    matrix(NA_real_, nrow(part$value), ncol(part$Z) / nrow(part$value))
  })
  new <- Map(function(left, asked) asked & is.na(left[1, ]), kept$left, asked)
  if (!any(unlist(new))) return(kept$left)
  kept$left <- Map(function(left, part, variances, new) {
    own <- matrix(apply(variances, 3, function(v) diag(as.matrix(v))), nrow(left)) / diag(part$value)
    left[, new] <- pmin(pmax(own[, new], 1e-12), 1)
    left
  }, kept$left, parts, effect_variances(object, parts, new), new)
  kept$left
}

# --- the audit ----------------------------------------------------------------------------------------------------

# The largest ratio of a standard error to the exact one that needs neither more neighbours nor a warning. A place takes
# a processor 55 us with 60 neighbours and 12 ms with 480.
most_ratio <- 1.1
fewest_neighbours <- 60
most_neighbours <- 480
audit_places <- 16

# Finds exact variances at a few places by one system. If the user gives no number, neighbours are doubled until no
# standard error is more than `most_ratio` times the exact one.
audited_neighbours <- function(object, given) {
  kept <- object$kept
  n <- length(object$data$y)
  if (is.null(kept$exact)) kept$exact <- exact_at_some(object)
  m <- min(given %or% fewest_neighbours, n)
  repeat {
    ratio <- sqrt(local_process(object, kept$exact$x, m)[, 2] / kept$exact$variance)
    ratio <- ratio[is.finite(ratio)]
    if (!is.null(given) || max(ratio, 0) <= most_ratio || m >= min(most_neighbours, n)) break
    m <- min(2 * m, most_neighbours, n)
  }
  list(neighbours = m, ratio = c(mean = mean(ratio), largest = max(ratio)))
}

exact_at_some <- function(object) {
  model <- object$data
  places <- model_places(model)
  x <- some_places(places, object$control$seed %or% 1, ncol(model$x))
  begin_work("predict()", quicker = "method = \"local\"")
  on.exit(end_work("predict()"))
  step_work("predict()", paste("an audit of standard errors at", nrow(x), "places"))
  system <- kept_system(object)
  k <- vapply(seq_len(nrow(x)), function(row) {
    as.vector(as.matrix(gp_cross(object, places, x[row, , drop = FALSE])))
  }, numeric(nrow(model$x)))
  own <- diag(gp_cross(object, x, x))
  list(x = x, variance = variance_given_all(system, k, own, local_weights(object, x, k)))
}

# Returns variances `own` - k' A^-1 k with a relative error of 0.01. With small noise the difference is nearly 0, so a
# fixed tolerance of the residuals would not suffice.
variance_given_all <- function(system, k, own, start = NULL) {
  for (tol in tol_of_audit / 10^(0:5)) {
    start <- solve(system, k, tol = tol, start = start)
    forms <- solved_forms(system, k, start)
    left <- own - diag(forms$value)
    if (isTRUE(all(forms$rest <= 0.01 * abs(left)))) break
  }
  left
}

tol_of_audit <- 3e-5  # the first tolerance of an audit

# Computes starting values of iterations: kriging weights of the nearest observations alone.
local_weights <- function(object, x, k) {
  model <- object$data
  near <- nearest_observations(object, x, min(60, nrow(k)))$nn.index
  places <- model_places(model)
  for (place in seq_len(ncol(k))) {
    S <- near[place, ]
    own <- places[S, , drop = FALSE]
    A <- unname(as.matrix(gp_cross(object, own, own)))
    weights <- solve(A + diag(model$values$nugget / model$w[S] + 1e-8 * diag(A), length(S)), k[S, place])
    k[, place] <- replace(numeric(nrow(k)), S, weights)
  }
  k
}

# Makes places similar to the places of predictions: half of them between an observation and a near one, half between
# any two observations, with the groups of the first. The first D columns are inputs of the kernel. Places depend on the
# fit alone, so that its errors do not depend on earlier predictions.
some_places <- function(x, seed, D) {
  n <- nrow(x)
  privately(seed, {
    from <- x[sample.int(n, audit_places, replace = TRUE), , drop = FALSE]
    near <- knn(x[, seq_len(D), drop = FALSE], from[, seq_len(D), drop = FALSE], k = min(9, n))$nn.index
    half <- seq_len(audit_places / 2)
    to <- c(near[cbind(half, 1 + sample.int(ncol(near) - 1, length(half), replace = TRUE))],
            sample.int(n, audit_places - length(half), replace = TRUE))
    kernel <- col(from) <= D
    from + 0.38 * kernel * (x[to, , drop = FALSE] - from)  # not at a grid point
  })
}
