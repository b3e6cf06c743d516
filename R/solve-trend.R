# Systems with a trend: regressors beside the kernel, as in universal kriging and splines.

# Splits regressors F = Q R with orthonormal Q, and data b = F `least` + `left`, so that the numbers to be solved for
# are no larger than necessary, whatever mean the data have.
taken_apart <- function(b, F) {
  q <- qr(F)
  list(Q = qr.Q(q), R = qr.R(q), least = qr.coef(q, b), left = qr.resid(q, b))
}

# Computes the solutions with the trend and its coefficients from the solutions for the data's remainder and for Q:
# generalised least squares, a small system.
without_trend <- function(x, parts) {
  mine <- seq_len(ncol(x) - ncol(parts$Q))
  of_trend <- x[, setdiff(seq_len(ncol(x)), mine), drop = FALSE]
  information <- crossprod(parts$Q, of_trend)
  b <- solve(information) %*% crossprod(parts$Q, x[, mine, drop = FALSE])
  list(x = x[, mine, drop = FALSE] - of_trend %*% b, b = b, of_trend = of_trend, information = information)
}

# Returns the coefficients of F.
trend_coefficients <- function(parts, b) parts$least + backsolve(parts$R, b)

# Solves a system whose diagonal is not all positive. The matrix is not definite, but may be definite for vectors x that
# are orthogonal to the regressors P. At as many points s as there are regressors, x follows from the other points: x_s
# = N x_r. The matrix for x_r alone is again a formula, K[r, r] plus an inner product of few components.
solve_reduced <- function(K, b, ridge, P, report, ...) {
  s <- qr(t(P), LAPACK = TRUE)$pivot[seq_len(ncol(P))]
  r <- setdiff(seq_len(nrow(P)), s)
  x <- matrix(0, nrow(P), ncol(b$values))
  found <- structure(list(method = "dense", converged = TRUE, n = 0, seconds = 0), class = "kernweave_report")
  if (length(r)) {  # else x is 0, and the trend alone is the answer
    N <- -solve(t(P[s, , drop = FALSE]), t(P[r, , drop = FALSE]))
    Krr <- take_both(K, r, r)
    Krs <- entries_at(K, r, s)
    Ksr <- t(entries_at(K, s, r))
    Kss <- entries_at(K, s, s) + diag(ridge[s], length(s))
    reduced <- Krr + (Vi(cbind(t(N), Krs + t(N) %*% Kss)) | Vj(cbind(Ksr, t(N))))
    sides <- b$values[r, , drop = FALSE] + t(N) %*% b$values[s, , drop = FALSE]
    rest <- solve(reduced, sides, ridge = ridge[r], report = TRUE, ...)
    x[r, ] <- rest
    x[s, ] <- N %*% rest
    found <- solve_report(rest)
  }
  left <- b$values - (K %*% x + ridge * x)
  out <- structure(shaped_as(x, b), trend = qr.solve(P, left))
  if (!report) return(out)
  found$system <- list(K = K, ridge = ridge, b = b$values, trend = P, coefficients = attr(out, "trend"))
  structure(out, report = found)
}

entries_at <- function(K, rows, columns) dense(take_both(lazy_set(K, precision = "float64"), rows, columns))
