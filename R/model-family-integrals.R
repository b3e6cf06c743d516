# Integrals over a normally distributed linear predictor: densities, moments and quantiles of observations.
#
# The trapezoidal rule in x, where z = centre + width * 2 sinh(x / 2): nodes are dense at the centre and reach the
# tails, and the error decreases exponentially with 1 / step. A step of `widest_step` gives about seven digits of an
# integrand whose width is `width`.

widest_step <- 0.35

# The largest linear predictor e with a finite exp(e).
most_predictor <- 700

bounded_predictor <- function(e) pmin(pmax(e, -most_predictor), most_predictor)

# Returns matrices of nodes z and weights w, with a row for each element of `centre` and `width`.
spread_nodes <- function(centre, width, step, reach) {
  end <- step * ceiling(2 * asinh(reach / 2) / step)
  x <- seq(-end, end, by = step)
  list(z = centre + outer(width, 2 * sinh(x / 2)), w = outer(width, step * cosh(x / 2)))
}

# Calls f(rows, step) for blocks of rows. The step is halved until it changes the linear predictor by at most 0.3, over
# which the densities of all families are smooth; a step of 1 changes it by `width * s`. Rows of NA stay NA.
by_steps <- function(s, width, f) {
  halvings <- pmin(ceiling(pmax(log2(s * width * widest_step / 0.3), 0)), 8)
  out <- rep(NA_real_, length(halvings))
  for (h in unique(halvings[!is.na(halvings)])) {
    rows <- which(halvings == h)
    for (part in split(rows, (seq_along(rows) - 1) %/% (16384 / 2^h))) out[part] <- f(part, widest_step / 2^h)
  }
  out
}

# Finds the mode of density times normal density, in standard deviations from the mean, and its width, from the
# curvature. The logarithm is concave, so the mode is unique and is found by Newton's method within bounds. A step that
# leaves the bounds, or is longer than half of the last step, is replaced by bisection, on the scale of asinh() since
# bounds may be far apart.
density_centre <- function(family, y, a, m, s) {
  slopes <- function(z) family$slopes(y, bounded_predictor(m + s * z), family$value, a)
  z <- 0 * m
  at <- slopes(z)
  low <- pmin(s * at$g, 0)
  high <- pmax(s * at$g, 0)
  last <- Inf
  for (step in 1:200) {
    f <- s * at$g - z
    low <- ifelse(f > 0, z, low)
    high <- ifelse(f > 0, high, z)
    width <- 1 / sqrt(1 + s^2 * pmax(at$W, 0))
    by <- f * width^2
    done <- abs(by) <= 0.01 * width
    if (all(done, na.rm = TRUE)) break
    fine <- done | (abs(by) < last / 2 & z + by > low & z + by < high)
    by <- ifelse(fine %in% TRUE, by, sinh((asinh(low) + asinh(high)) / 2) - z)
    last <- abs(by)
    z <- z + by
    at <- slopes(z)
  }
  list(z = z, width = width)
}

# Computes the log-density of observations whose linear predictor is N(m, v). A weight that counts equal observations
# does not change the density of one observation; the log-density of an observation of weight 0 is 0.
mixture_density <- function(family, y, a, m, v) {
  s <- sqrt(pmax(v, 0))
  y <- rep_len(y, length(m))
  a <- rep_len(a, length(m))
  none <- which(a == 0)
  if (isTRUE(family$copies)) a[] <- 1
  a[none] <- 1
  known <- which(!is.na(m + s + y + a))
  at <- density_centre(family_of_rows(family, known), y[known], a[known], m[known], s[known])
  out <- rep(NA_real_, length(m))
  out[known] <- by_steps(s[known], at$width, function(rows, step) {
    nodes <- spread_nodes(at$z[rows], at$width[rows], step, min(9 / min(at$width[rows]), 400))
    rows <- known[rows]
    k <- family_of_rows(family, rows)$value
    each <- family$log_density(y[rows], m[rows] + s[rows] * nodes$z, k, a[rows]) - nodes$z^2 / 2
    most <- apply(each, 1, max)
    most + log(rowSums(exp(each - most) * nodes$w)) - log(2 * pi) / 2
  })
  replace(out, none, 0)
}

# The mean and standard deviation of the inverse link of N(m, v). For trials the mean is the probability of a success.
mean_over_link <- function(family, m, v) UseMethod("mean_over_link")

#' @export
mean_over_link.default <- function(family, m, v) {
  if (family$link == "log") {
    mean <- exp(m + v / 2)
    return(list(mean = mean, sd = mean * sqrt(expm1(v))))
  }
  mean <- if (is.null(family$mean)) exp(mixture_density(family, 1, 1, m, v)) else family$mean(m, v)
  s <- sqrt(pmax(v, 0))
  inverse <- family$base(family$value)$linkinv
  variance <- by_steps(s, 1 + 0 * m, function(rows, step) {
    nodes <- spread_nodes(0 * rows, 1 + 0 * rows, step, 9)
    at <- m[rows] + s[rows] * nodes$z
    rowSums((array(inverse(at), dim(at)) - mean[rows])^2 * stats::dnorm(nodes$z) * nodes$w)
  })
  list(mean = mean, sd = sqrt(variance))
}

# Returns sds of observations of weight a, given the mean and sd of their means. Variance functions of all families are
# polynomials of degree 2 in the mean. The weight of a count does not change the variance of one observation.
observation_sd <- function(family, mean, sd, a) {
  variance <- family$base(family$value)$variance
  noise <- variance(mean) + (variance(2) / 2 - variance(1)) * sd^2
  if (identical(family$phi, "shape")) noise <- noise / family$value
  sqrt(sd^2 + if (isTRUE(family$copies)) noise else noise / a)
}

# --- quantiles ----------------------------------------------------------------------------------------------------

# P(Y <= q) for a linear predictor e ~ N(m, s^2), where u = log(y), and y is q, or q + 1 for counts. Y <= q if e <= T,
# where T is independent of e and has the density y f(y | T). The integral is over e or T, whichever has the smaller
# standard deviation.
mixture_below <- function(family, u, m, s, a) {
  y <- exp(u)
  k <- family$value
  width <- 1 / sqrt(family$slopes(y, u, k, a)$W)
  below <- family$below
  out <- numeric(length(u))
  of_T <- s > pmin(width, 1)
  predictors <- which(!of_T)
  out[predictors] <- by_steps(s[predictors], 1 + 0 * predictors, function(rows, step) {
    nodes <- spread_nodes(0 * rows, 1 + 0 * rows, step, 9)
    rows <- predictors[rows]
    means <- exp(bounded_predictor(m[rows] + s[rows] * nodes$z))
    each <- array(below(y[rows] - isTRUE(family$copies), means, k, a[rows]), dim(means))
    rowSums(each * stats::dnorm(nodes$z) * nodes$w)
  })
  others <- which(of_T & width > 1e-4 * s)
  others <- others[order(width[others])]
  out[others] <- by_steps(1, width[others], function(rows, step) {
    rows <- others[rows]
    nodes <- spread_nodes(u[rows], width[rows], step, min(9 + 30 * max(width[rows]), 400))
    density <- exp(family$log_density(y[rows], nodes$z, k, a[rows]) + u[rows])
    rowSums(density * stats::pnorm((nodes$z - m[rows]) / s[rows]) * nodes$w)
  })
  point <- which(of_T & width <= 1e-4 * s)
  replace(pmin(out, 1), point, stats::pnorm((u[point] - m[point]) / s[point]))
}

# Quantiles of observations of weight a whose linear predictor is N(m, v); whole numbers for counts. Between whole
# numbers the distribution function is interpolated by that of the gamma or beta distribution.
mixture_quantile <- function(family, p, m, v, a = 1) UseMethod("mixture_quantile")

#' @export
mixture_quantile.default <- function(family, p, m, v, a = 1) {
  s <- sqrt(pmax(v, 0))
  counts <- isTRUE(family$copies)
  a <- if (counts) rep(1, length(m)) else rep_len(a, length(m))
  below <- function(u, rows) mixture_below(family, u, m[rows], s[rows], a[rows])
  spread <- function(u, rows) sqrt(s[rows]^2 + 1 / family$slopes(exp(u), u, family$value, a[rows])$W)
  if (!counts) return(exp(quantile_logarithm(p, m, seq_along(m), -most_predictor, below, spread)))
  some <- which(below(0 * m, seq_along(m)) < p)
  u <- quantile_logarithm(p, m, some, 0, below, spread)
  q <- pmax(ceiling(exp(u) * (1 - 1e-12) - 1), 1)
  enough <- function(q) below(log(q + 1), some) >= p * (1 - 1e-12)
  q <- q + !enough(q)
  replace(0 * m, some, q - enough(q - 1))
}

# Logarithms of quantiles of `rows`, at least `least`, by the secant method for qnorm(distribution function), which is
# nearly linear with a slope of about 1 / `spread`.
quantile_logarithm <- function(p, m, rows, least, below, spread) {
  inside <- function(u) pmin(pmax(u, least), most_predictor)
  u <- inside(m[rows])
  u <- inside(m[rows] + stats::qnorm(p) * spread(u, rows))
  low <- rep(least, length(u))
  high <- rep(most_predictor, length(u))
  from <- height <- rep(NA_real_, length(u))
  open <- seq_along(u)
  for (step in 1:100) {
    at <- u[open]
    f <- stats::qnorm(p) - pmin(pmax(stats::qnorm(below(at, rows[open])), -9), 9)
    low[open] <- ifelse(f > 0, at, low[open])
    high[open] <- ifelse(f > 0, high[open], at)
    width <- spread(at, rows[open])
    slope <- (height[open] - f) / (at - from[open]) * width
    by <- f * width / pmin(pmax(ifelse(is.finite(slope), slope, 1), 0.25), 4)
    by <- pmin(pmax(by, -4 * width), 4 * width)
    done <- abs(by) <= 1e-6 * width | abs(f) <= 1e-9
    by <- ifelse(done | (at + by > low[open] & at + by < high[open]), by,
                 (pmax(low[open], at - 4 * width) + pmin(high[open], at + 4 * width)) / 2 - at)
    from[open] <- at
    height[open] <- f
    u[open] <- at + by
    open <- open[!done]
    if (!length(open)) break
  }
  u
}
