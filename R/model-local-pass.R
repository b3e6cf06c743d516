# The sums over pairs of a local regression: weighted moments, and the local lines that solve for them.

# Fits at places, with leverages, effective numbers of observations, and `square`, the sum of squared shares of the
# observations, each divided by its weight, for variances. `rows`: row numbers of the places, if they are data. For
# others `square` is NA if a fit needs a slope that the observations within reach do not determine.
local_values <- function(part, degree, h, at, rows = NULL) {
  found <- line_values(part, degree, h, at, rows)
  again <- which(found$narrow)
  if (length(again)) {
    near <- pair_values(part, degree, h, at[again, , drop = FALSE], rows[again])
    for (name in names(found)) {
      if (is.matrix(found[[name]])) found[[name]][again, ] <- near[[name]] else found[[name]][again] <- near[[name]]
    }
  }
  if (is.null(rows)) found$square[found$unknown] <- NA
  found
}

# Fits by products with columns, with coordinates centred at the mean of all observations. `narrow`: rounding errors may
# matter, since the observations with weight are far from the mean relative to their spread.
line_values <- function(part, degree, h, at, rows = NULL, errors = TRUE) {
  centre <- colMeans(part$x)
  x <- t((t(part$x) - centre) / h)
  at <- t((t(at) - centre) / h)
  near <- sqdist(Vi(at), Vj(x)) / 2
  shift <- if (is.null(rows)) max(Vj(log(part$w)) - near, index = "j", drop = TRUE) else log(part$w[rows])
  solved_line(line_moments(part, exp(-near - Vi(shift)), if (degree == 1) x, errors), at, part, h)
}

# Fits pair by pair, with coordinates centred at the heaviest observation for each place: slower, but accurate at any
# distance. `left_out`: leaves out the observation at each place.
pair_values <- function(part, degree, h, at, rows = NULL, left_out = FALSE) {
  logs <- Vj(log(part$w)) - sum(((Vj(part$x) - Vi(at)) / h)^2) / 2
  if (left_out) logs <- lazy_if(Vi(rows) != col_index(), logs, -Inf)
  from <- list(anchor = at, shift = log(part$w[rows]))
  if (is.null(rows) || left_out) {
    heaviest <- reduction(logs, "max_argmax")
    from <- list(anchor = part$x[as.vector(heaviest$index), , drop = FALSE], shift = as.vector(heaviest$value))
  }
  W <- exp(logs - Vi(from$shift))
  x <- if (degree == 1) (Vj(part$x) - Vi(from$anchor)) / h
  solved_line(pair_moments(part, W, x, errors = !left_out), t(t(at - from$anchor) / h), part, h)
}

# --- moments ------------------------------------------------------------------------------------------------

# Weighted sums of products of 1 and the coordinates `x` with each other and with the responses. `long`: sums with
# squared weights, divided by prior weights. `decay`: weights without prior weights.
line_moments <- function(part, decay, x, errors) {
  one <- cbind(rep(1, nrow(part$x)), x)
  q <- ncol(part$y)
  pairs <- lower_pairs(ncol(one))
  squares <- part$w * one[, pairs[, 1], drop = FALSE] * one[, pairs[, 2], drop = FALSE]
  of_y <- one[, rep(seq_len(ncol(one)), each = q), drop = FALSE] *
    (part$w * response_about(part))[, rep(seq_len(q), ncol(one)), drop = FALSE]
  named_moments(decay %*% cbind(squares, of_y), if (errors) decay^2 %*% cbind(squares, part$w^2), ncol(one))
}

# Computes the moments of line_moments() pair by pair.
pair_moments <- function(part, W, x, errors) {
  m <- if (is.null(x)) Pm(1) else c(Pm(1), x)
  pairs <- lower_pairs(width(m))
  squares <- if (is.null(x)) m else m[, , pairs[, 1]] * m[, , pairs[, 2]]
  sums <- c(W * squares, W * tensorprod(m, Vj(response_about(part))))
  if (errors) sums <- c(sums, W^2 / Vj(part$w) * squares, W^2)
  sums <- reduction(sums, "sum")
  first <- seq_len(nrow(pairs) + width(m) * ncol(part$y))
  named_moments(sums[, first, drop = FALSE], if (errors) sums[, -first, drop = FALSE], width(m))
}

response_about <- function(part) sweep(part$y, 2, mean_response(part))
mean_response <- function(part) colSums(part$w * part$y) / sum(part$w)

# Lists the products of a symmetric matrix that are summed: the lower triangle, column by column.
lower_pairs <- function(p) which(lower.tri(diag(p), diag = TRUE), arr.ind = TRUE)

named_moments <- function(sums, long, p) {
  places <- matrix(0L, p, p)
  places[lower_pairs(p)] <- seq_len(p * (p + 1) / 2)
  places <- pmax(places, t(places))
  square <- function(sums) array(unname(sums)[, places], c(nrow(sums), p, p))
  list(M = square(sums), Y = unname(sums)[, -seq_len(max(places)), drop = FALSE],
       long = if (!is.null(long)) square(long), kish = if (!is.null(long)) unname(long)[, ncol(long)])
}

# --- lines --------------------------------------------------------------------------------------------------

# Fits lines through the weighted means of the observations, and evaluates them at `away`. A line has slope 0 in a
# direction in which the observations do not vary.
solved_line <- function(moments, away, part, h) {
  D <- dim(moments$M)[2] - 1
  k <- seq_len(D)
  mass <- moments$M[, 1, 1]
  mean <- matrix(moments$M[, 1, 1 + k] / mass, length(mass), D)
  raw <- moments$M[, 1 + k, 1 + k, drop = FALSE] / mass
  S <- raw
  for (a in k) for (b in k) S[, a, b] <- S[, a, b] - mean[, a] * mean[, b]
  step <- away[, k, drop = FALSE] - mean
  # The slope is 0 in directions below a small share of the variance of the kernel or of all observations (the smaller).
  all <- colMeans(sweep(part$x[, k, drop = FALSE], 2, colMeans(part$x)[k])^2) / h[k]^2
  solved <- solve_each(S, step, raw, 1e-10 * ifelse(all > 0, pmin(1, all), 1))
  slope <- solved$x / mass
  q <- ncol(part$y)
  constant <- moments$Y[, seq_len(q), drop = FALSE] / mass
  fit <- sweep(constant, 2, mean_response(part), "+")
  for (a in k) fit <- fit + slope[, a] * (moments$Y[, a * q + seq_len(q), drop = FALSE] - mean[, a] * constant * mass)
  out <- list(fit = fit, leverage = 1 / mass + rowSums(slope * step), narrow = solved$narrow, unknown = solved$unknown)
  if (is.null(moments$long)) return(out)
  c(out, list(square = squared_shares(moments$long, mass, mean, slope), neff = mass^2 / moments$kish))
}

# Computes the sum of squares of the shares that observations have in a fit.
squared_shares <- function(long, mass, mean, slope) {
  out <- long[, 1, 1] / mass^2
  for (a in seq_len(ncol(mean))) {
    cross <- long[, 1, a + 1] - mean[, a] * long[, 1, 1]
    out <- out + 2 / mass * slope[, a] * cross
    for (b in seq_len(ncol(mean))) {
      both <- long[, a + 1, b + 1] - mean[, a] * long[, 1, b + 1] - mean[, b] * cross
      out <- out + slope[, a] * slope[, b] * both
    }
  }
  out
}

# Solves many small systems by Cholesky; directions with a variance below `level` are left out gradually. `narrow`:
# rounding errors of `raw`, the uncentred squares, may matter in S. `unknown`: b goes in a direction that is left out.
solve_each <- function(S, b, raw, level) {
  D <- ncol(b)
  L <- array(0, dim(S))
  narrow <- unknown <- logical(nrow(b))
  lost <- matrix(FALSE, nrow(b), D)
  for (k in seq_len(D)) for (i in k:D) {
    left <- S[, i, k]
    for (l in seq_len(k - 1)) left <- left - L[, i, l] * L[, k, l]
    if (i == k) {
      narrow <- narrow | left < 2e-7 * raw[, k, k]
      left <- pmax(left, 0)
      lost[, k] <- left < 10 * level[k]
      L[, k, k] <- sqrt(left + level[k] * (level[k] / left)^3)
    } else {
      L[, i, k] <- left / L[, k, k]
    }
  }
  x <- b
  for (k in seq_len(D)) {
    for (l in seq_len(k - 1)) x[, k] <- x[, k] - L[, k, l] * x[, l]
    unknown <- unknown | lost[, k] & abs(x[, k]) > 1e-3
    x[, k] <- x[, k] / L[, k, k]
  }
  for (k in rev(seq_len(D))) {
    for (l in seq_len(D)[seq_len(D) > k]) x[, k] <- x[, k] - L[, l, k] * x[, l]
    x[, k] <- x[, k] / L[, k, k]
  }
  list(x = x, narrow = narrow, unknown = unknown)
}
