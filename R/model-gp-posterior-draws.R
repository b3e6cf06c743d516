# Weighted draws of a posterior: diagnostics of the weights, effective sample size, and resampling.

# Resamples row numbers in proportion to weights, systematically.
resampled <- function(log_weights, draws, start) {
  w <- exp(log_weights - max(log_weights))
  findInterval((seq_len(draws) - 1 + start) / draws, cumsum(w) / sum(w)) + 1L
}

effective_draws <- function(log_weights) {
  w <- exp(log_weights - max(log_weights))
  sum(w)^2 / sum(w^2)
}

# The shape k of a generalised Pareto distribution fitted to the largest weights (Zhang and Stephens, 2009), with the
# prior of Vehtari and others, which shrinks k to 1/2 if weights are few. Above 0.7 weighted means are unreliable.
pareto_shape <- function(log_weights) {
  S <- length(log_weights)
  tail <- ceiling(min(0.2 * S, 3 * sqrt(S)))
  x <- exp(sort(log_weights, decreasing = TRUE)[seq_len(tail + 1)] - max(log_weights))
  x <- rev(x[seq_len(tail)] - x[tail + 1])
  if (tail < 5 || x[tail] - x[1] < 1e-10) return(NA_real_)
  m <- 30 + floor(sqrt(tail))
  theta <- 1 / x[tail] + (1 - sqrt(m / (seq_len(m) - 0.5))) / 3 / x[floor(tail / 4 + 0.5)]
  k <- vapply(theta, function(b) mean(log1p(-b * x)), 0)
  value <- tail * (log(-theta / k) - k - 1)
  share <- exp(value - max(value))
  k <- mean(log1p(-sum(theta * share) / sum(share) * x))
  (k * tail + 0.5 * 10) / (tail + 10)
}

# Returns weights for the rows of Z that give the rows the weighted mean and covariance of the arguments: the weights
# nearest to equal ones, nonnegative if possible.
moment_weights <- function(Z, mean, covariance) {
  p <- ncol(Z)
  pairs <- which(upper.tri(diag(p), diag = TRUE), arr.ind = TRUE)
  A <- rbind(1, t(Z), t(Z[, pairs[, 1], drop = FALSE] * Z[, pairs[, 2], drop = FALSE]))
  b <- c(1, mean, (covariance + tcrossprod(mean))[pairs])
  near <- function(open) {
    w <- open / sum(open)
    s <- svd(A[, open, drop = FALSE])
    seen <- s$d > 1e-6 * s$d[1]
    by <- crossprod(s$u[, seen], b - A %*% w) / s$d[seen]
    replace(w, open, w[open] + as.vector(s$v[, seen, drop = FALSE] %*% by))
  }
  w <- near(rep(TRUE, nrow(Z)))
  for (try in seq_len(nrow(Z))) {
    if (all(w > -1e-9)) break
    less <- near(w > 0)
    if (max(abs(A %*% less - b)) > 1e-6) break
    w <- less
  }
  w
}
