# Scores of predictive distributions for single observations: log scores, CRPS, interval bounds.

# A row for each observation: `observed`; `fitted`, the predictive mean; `se`, its sd; `logs`, minus the log-density;
# `crps`, the integral of (F(x) - 1{x >= y})^2; `lower` and `upper`, an interval.

normal_outcomes <- function(y, mean, sd, level) {
  half <- stats::qnorm((1 + level) / 2) * sd
  data.frame(observed = y, fitted = mean, se = sd, logs = -stats::dnorm(y, mean, sd, log = TRUE),
             crps = normal_crps(y - mean, sd), lower = mean - half, upper = mean + half)
}

# Computes the CRPS of a normal distribution; the absolute error if sd = 0.
normal_crps <- function(error, sd) {
  z <- error / sd
  score <- sd * (z * (2 * stats::pnorm(z) - 1) + 2 * stats::dnorm(z) - 1 / sqrt(pi))
  ifelse(is.finite(z) | is.na(sd), score, abs(error))
}

# Scores outcomes of a family with the linear predictor N(m, v). `y`: a count, a positive number, or a share of `a`
# trials. Two classes have the Brier score, and no interval, which would be one class or both.
family_outcomes <- function(family, y, a, m, v, level) UseMethod("family_outcomes")

#' @export
family_outcomes.default <- function(family, y, a, m, v, level) {
  mean <- mean_over_link(family, m, v)
  ranked <- matrix(NA_real_, length(y), 3)
  trials <- isTRUE(family$trials)
  of_two <- trials & a == 1
  ranked[of_two, 1] <- (mean$mean - y)[of_two]^2
  rest <- which(!of_two)
  unit <- if (trials) a else rep(1, length(y))
  whole <- trials || !identical(family$phi, "shape")
  below <- function(x, at) outcome_below(family, x, a[rest][at], m[rest][at], v[rest][at])
  quantile <- function(p, at) outcome_quantile(family, p, a[rest][at], m[rest][at], v[rest][at])
  if (length(rest)) {
    scores <- ranked_outcomes(below, quantile, (unit * y)[rest], (unit * mean$mean)[rest], whole, level)
    ranked[rest, ] <- scores / unit[rest]
  }
  data.frame(observed = y, fitted = mean$mean, se = observation_sd(family, mean$mean, mean$sd, a),
             logs = -mixture_density(family, y, a, m, v),
             crps = ranked[, 1], lower = ranked[, 2], upper = ranked[, 3])
}

# --- distributions of families --------------------------------------------------------------------------------

# P(Y <= x). Y <= x if the linear predictor is below a random threshold, independent of it; the integral is over the
# predictor or the threshold, whichever varies less. Counts may be any real numbers here.
outcome_below <- function(family, x, a, m, v) {
  s <- sqrt(v)
  threshold <- family$threshold(x, a, family$value)
  narrow <- s^2 <= threshold$variance
  out <- as.numeric(x >= threshold$most)
  inner <- which(x > threshold$least & x < threshold$most)
  for (rows in split(inner, narrow[inner])) {
    each <- if (narrow[rows[1]]) {
      e <- bounded_predictor(m[rows] + outer(s[rows], normal_grid))
      family$threshold(x[rows], a[rows], family$value)$above(e)
    } else stats::pnorm((threshold_grid(family, x[rows], a[rows]) - m[rows]) / s[rows])
    out[rows] <- matrix(each, length(rows)) %*% normal_weights
  }
  out
}

# Returns quantiles of thresholds in rows, computed once for each distinct (x, a).
threshold_grid <- function(family, x, a) {
  key <- complex(real = x, imaginary = a)
  own <- which(!duplicated(key))
  at <- family$threshold(x[own], a[own], family$value)$at(rep(stats::pnorm(normal_grid), each = length(own)))
  matrix(at, length(own))[match(key, key[own]), , drop = FALSE]
}

normal_grid <- seq(-6, 6, by = 0.75)
normal_weights <- stats::dnorm(normal_grid) / sum(stats::dnorm(normal_grid))

# Returns quantiles; quantiles of numbers of successes by bisection.
outcome_quantile <- function(family, p, a, m, v) {
  if (!isTRUE(family$trials)) return(mixture_quantile(family, p, m, v, a))
  low <- rep(-1, length(m))
  high <- a
  while (any(high - low > 1)) {
    middle <- floor((low + high) / 2)
    over <- outcome_below(family, middle, a, m, v) >= p
    high <- ifelse(over, middle, high)
    low <- ifelse(over, low, middle)
  }
  high
}

# --- ranked probabilities -------------------------------------------------------------------------------------

# Returns columns crps, lower and upper, given `below(x, rows)` and `quantile(p, rows)`. If the mean of a count is
# small, its values are summed one by one.
ranked_outcomes <- function(below, quantile, y, mean, whole, level) {
  tails <- c(1 - level, 1 + level) / 2
  out <- matrix(NA_real_, length(y), 3)
  few <- which(whole & mean <= most_counted / 4)
  if (length(few)) out[few, ] <- counted_outcomes(function(x, at) below(x, few[at]), y[few], tails)
  rest <- which(is.na(out[, 1]))
  if (length(rest)) {
    ends <- cbind(quantile(tails[1], rest), quantile(tails[2], rest))
    out[rest, ] <- cbind(integrated_score(function(x) below(x, rest), y[rest], ends, whole), ends)
  }
  out
}

# The most values of a count that are added.
most_counted <- 1000

# The sum of (F(k) - 1{k >= y})^2 over k = 0, 1, ...; NA if it has not converged at `most_counted`.
counted_outcomes <- function(below, y, tails) {
  score <- numeric(length(y))
  ends <- matrix(NA_real_, length(y), 2)
  left <- seq_along(y)
  for (k in 0:most_counted) {
    F <- below(rep(k, length(left)), left)
    score[left] <- score[left] + (F - (k >= y[left]))^2
    for (side in 1:2) ends[left[is.na(ends[left, side]) & F >= tails[side] * (1 - 1e-9)], side] <- k
    ended <- F > 1 - 1e-9 & F >= tails[2] * (1 - 1e-9)
    score[left[ended]] <- score[left[ended]] + pmax(y[left[ended]] - 1 - k, 0)
    left <- left[!ended]
    if (!length(left)) break
  }
  cbind(replace(score, left, NA), ends)
}

# Integrates by Gauss-Legendre quadrature in panels between the ends of the distribution, the bounds of the interval and
# the observation, on a log scale except near 0. A sum over whole numbers k is the integral of a smooth F from k - 1/2
# to k + 1/2.
integrated_score <- function(below, y, ends, whole) {
  if (whole) y <- y - 0.5
  least <- if (whole) -0.5 else 0
  unit <- pmax(ends[, 2] - least, 1e-300)
  to <- function(x) log1p(1e3 * pmax(x - least, 0) / unit)
  from <- function(t) least + unit * expm1(t) / 1e3
  F <- function(t) below(from(t))
  ends <- cbind(to(ends[, 1]), to(ends[, 2]))
  step <- pmax(ends[, 2] - ends[, 1], 1e-3)
  bottom <- stepped_out(pmax(ends[, 1] - step, 0), -step, function(t) t <= 0 | F(t) < 1e-6)
  top <- stepped_out(ends[, 2] + step, step, function(t) F(t) > 1 - 1e-7)
  seen <- pmin(pmax(to(y), bottom), top)
  breaks <- cbind(bottom, ends, rowMeans(ends), top, seen)
  breaks <- matrix(breaks[order(row(breaks), breaks)], nrow(breaks), byrow = TRUE)
  nodes <- legendre_nodes(10)
  score <- pmax(from(bottom) - y, 0) + pmax(y - from(top), 0)
  for (panel in seq_len(ncol(breaks) - 1)) {
    width <- breaks[, panel + 1] - breaks[, panel]
    beyond <- breaks[, panel] >= seen
    for (node in seq_along(nodes$x)) {
      t <- breaks[, panel] + width * nodes$x[node]
      score <- score + nodes$w[node] * width * (F(t) - beyond)^2 * unit * exp(t) / 1e3
    }
  }
  score
}

# Steps on from t, each step 1.5 times the last, until all have ended.
stepped_out <- function(t, step, ended) {
  for (k in 1:20) {
    open <- !ended(t)
    if (!any(open)) break
    t <- pmax(t + ifelse(open, step, 0), 0)
    step <- 1.5 * step
  }
  t
}

# Gauss-Legendre nodes and weights on (0, 1), from the Jacobi matrix.
legendre_nodes <- function(count) {
  k <- seq_len(count - 1)
  J <- diag(0, count)
  J[cbind(c(k, k + 1), c(k + 1, k))] <- k / sqrt(4 * k^2 - 1)
  e <- eigen(J, symmetric = TRUE)
  list(x = (1 + e$values) / 2, w = e$vectors[1, ]^2)
}
