# Several responses of a Gaussian process (cokriging): stacked rows, their covariances and their units.
#
# A row of the stacked model is an element of one response; its code, the number of the response, is in the matrix `z`,
# as codes of groups are. The covariance of the process is B[v, v'] k(x, x'), and each response has a nugget. Responses
# are divided by their `unit`, so that the same bounds and tolerances suit all.

# --- the data -----------------------------------------------------------------------------------------------------

# Returns NA for rows in which all responses are missing.
seen_responses <- function(left) {
  if (NCOL(left) < 2) return(left)
  ifelse(rowSums(!is.na(as.matrix(left))) > 0, 0, NA)
}

# Names the columns of cbind(log(a), b) by its arguments; cbind() itself names only columns whose arguments are symbols.
named_responses <- function(left, expression) {
  if (NCOL(left) < 2 || !is.call(expression) || !identical(expression[[1]], quote(cbind))) return(left)
  arguments <- as.list(expression)[-1]
  if (length(arguments) != ncol(left)) return(left)
  given <- colnames(left) %or% rep("", ncol(left))
  colnames(left) <- ifelse(nzchar(given), given, vapply(arguments, deparse1, ""))
  left
}

# Returns the regressors of each response, in separate columns.
stacked_trend <- function(trend, row, code, unit) {
  q <- ncol(trend$F)
  F <- trend$F[row, , drop = FALSE]
  out <- trend
  out$F <- do.call(cbind, lapply(seq_along(unit), function(k) F * (code == k)))
  if (q) colnames(out$F) <- paste0(rep(names(unit), each = q), ":", colnames(trend$F))
  out$offset <- trend$offset[row] / unit[code]
  out$z <- matrix(code, ncol = 1)
  out
}

# Decomposes the regressors of each response by themselves.
trends_of_responses <- function(F, y, code) {
  q <- ncol(F) / max(code)
  p <- max(code)
  out <- list(Q = 0 * F, R = matrix(0, p * q, p * q), log_R = 0, b = numeric(p * q), left = y)
  for (k in seq_len(p)) {
    rows <- which(code == k)
    own <- (k - 1) * q + seq_len(q)
    one <- orthonormal_trend(F[rows, own, drop = FALSE], y[rows])
    out$Q[rows, own] <- one$Q
    out$R[own, own] <- one$R
    out$log_R <- out$log_R + one$log_R
    out$b[own] <- one$b
    out$left[rows] <- one$left
  }
  out$Q <- unname(out$Q)
  out
}

refuse_responses <- function(fit, what, instead) {
  responses <- length(fit$data$unit)
  if (responses) abort("unsupported", what, " is for one response, and the fit has ", responses, ": ", instead)
}

# --- the covariances ----------------------------------------------------------------------------------------------

# Returns B, given p variances and p (p - 1) / 2 partial correlations, and its derivatives on the scale of their links.
response_covariance <- function(numbers) {
  p <- (sqrt(8 * length(numbers) + 1) - 1) / 2
  group_covariance(list(columns = seq_len(p)), numbers)
}

# Returns the parameters of B by name.
response_numbers <- function(B, names) {
  at <- partial_places(nrow(B))
  labels <- vapply(at, function(p) {
    paste0(if (p[2] == 1) "correlation." else "partial.", names[p[2]], ".", names[p[1]])
  }, "")
  stats::setNames(c(diag(B), partials_of(stats::cov2cor(B))), c(paste0("variance.", names), labels))
}

# Inverts partial_correlations(): returns the partial correlations of a correlation matrix C, which may be singular.
partials_of <- function(C) {
  L <- P <- 0 * C
  for (k in seq_len(nrow(C))) {
    before <- seq_len(k - 1)
    for (i in k:nrow(C)) {
      left <- C[i, k] - sum(L[i, before] * L[k, before])
      rest <- sqrt(max(0, 1 - sum(L[i, before]^2)))
      if (i == k) L[k, k] <- rest else if (L[k, k] > 1e-7) L[i, k] <- left / L[k, k]
      if (i > k && rest > 1e-7) P[i, k] <- max(-1, min(1, L[i, k] / rest))
    }
  }
  P[lower.tri(P)]
}

# Multiplies a kernel by S[v, v'] for rows and columns with codes v and v': a sum of terms a_i K_ij b_j, which can be
# approximated if the kernel can.
over_responses <- function(K, S, rows, columns = rows) {
  if (is.null(S)) return(K)
  found <- eigen(S, symmetric = TRUE)
  size <- abs(found$values)
  Reduce(`+`, lapply(which(size > 1e-14 * max(size)), function(r) {
    a <- sqrt(size[r]) * found$vectors[, r]
    Vi(sign(found$values[r]) * a[rows]) * K * Vj(a[columns])
  }))
}

# Returns starting or given values. `spread`: variances of process and noise.
values_of_responses <- function(model, settings, spread) {
  names <- names(model$unit)
  B <- settings$variance %or% (spread[[1]] * begun_correlations(model))
  nugget <- settings$nugget %or% rep(spread[[2]], length(names))
  list(variance = 1, kernel = model$values$kernel, responses = response_numbers(B, names),
       nugget = stats::setNames(nugget, names))
}

# Starting values of the correlations: 0.7 times the correlations of responses at the same places.
begun_correlations <- function(model) {
  p <- length(model$unit)
  place <- do.call(paste, as.data.frame(model$x))
  y <- matrix(NA_real_, length(unique(place)), p)
  y[cbind(match(place, unique(place)), model$z[, 1])] <- model$y
  C <- suppressWarnings(stats::cor(y, use = "pairwise.complete.obs"))
  C[!is.finite(C)] <- 0
  0.7 * C * (1 - diag(p)) + diag(p)
}

# --- units --------------------------------------------------------------------------------------------------------

# Returns the factors that convert estimates to the user's units.
user_units <- function(model, layout) {
  out <- rep(1, nrow(layout))
  if (is.null(model$unit)) return(out)
  square <- layout$part == "nugget" | layout$part == "responses" & layout$link == "log"
  replace(out, square, model$unit[layout$index[square]]^2)
}

# Returns the log Jacobian of the division of responses by their units.
log_of_units <- function(model) {
  if (is.null(model$unit)) return(0)
  trend <- ncol(model$Q) / length(model$unit)
  sum(log(model$unit)[model$z[, 1]]) - (model$method == "REML") * trend * sum(log(model$unit))
}

# Settings with the user's `variance` and `nugget` in the units of the model.
settings_of_responses <- function(settings, unit) {
  names <- names(unit)
  p <- length(unit)
  B <- settings$variance
  if (!is.null(B)) {
    if (!is.matrix(B) || any(dim(B) != p)) {
      abort("shape", "with ", p, " responses `variance` is a matrix of ", p, " rows and columns, or NULL to be ",
            "estimated", if (length(B) == 1) "; in a sum of kernels, give one of them its variance")
    }
    if (setequal(rownames(B), names) && setequal(colnames(B), names)) B <- B[names, names]
    if (!isSymmetric(unname(B)) || any(diag(B) <= 0) || min(eigen(B, TRUE, TRUE)$values) < -1e-8 * max(diag(B))) {
      abort("value", "`variance` must be a covariance matrix: symmetric, with no negative eigenvalue")
    }
    settings$variance <- B / outer(unit, unit)
  }
  nugget <- settings$nugget
  if (!is.null(nugget)) {
    if (!length(nugget) %in% c(1, p) || any(nugget < 0)) {
      abort("shape", "with ", p, " responses `nugget` has ", p, " numbers of 0 or more, or NULL to be estimated")
    }
    if (setequal(names(nugget), names)) nugget <- nugget[names]
    settings$nugget <- rep_len(unname(nugget), p) / unit^2
  }
  c(settings, list(responses = list(unit = unit)))
}
