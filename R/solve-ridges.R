# Quadratic forms, log-determinants and traces for many ridges at once.

#' Likelihood and cross-validation terms for many ridges
#'
#' Computes the terms of generalised cross-validation and of Gaussian likelihoods, for `A = K + ridge` along a grid of
#' ridges: `y' A^-1 y`, `y' A^-2 y`, the log-determinant, the trace of the inverse, and the degrees of freedom (the
#' trace of `K A^-1`). Use it to choose a penalty: all ridges together cost as much as one ridge, since a Lanczos
#' process of `K` is also a Lanczos process of `K + ridge`.
#'
#' Each quantity has an error or a standard error. Quadratic forms of `y` are bounded from both sides. Log-determinants
#' and traces are means over random probes; their standard errors include the spread of the probes and the truncation
#' error of the Lanczos process. If the errors at a ridge are too large, as for small ridges, the ridge is `refined`:
#' its quantities are recomputed from linear systems with a [preconditioner()], whose landmarks and neighbours are kept
#' along the path. Three of the other ridges are refined too and serve as control variates, which makes the standard
#' errors of the remaining ridges several times smaller. `se_tol` refines further ridges, for differences of
#' likelihoods. A single ridge is always refined. For up to 1000 points all quantities are exact and computed from
#' eigenvalues.
#'
#' A covariance `variance K + nugget` is `variance * A` with `ridge = nugget / variance`. For two vectors `u` and `v`,
#' `u' A^-1 v` is a quarter of the difference of the forms of `u + v` and `u - v`.
#'
#' @param K a lazy tensor of one component over the same points along i and j, or an operator; symmetric and positive
#'   semidefinite
#' @param y numbers: a vector, or a matrix whose columns are treated separately; or `NULL`
#' @param ridge the ridges, 0 or positive; by default from 1e-6 to 100 times the mean of the diagonal of `K`
#' @param probes,seed as in [logdet()]
#' @param tol relative error of the quadratic forms of `y`
#' @param se_tol refine a ridge if the standard error of its log-determinant exceeds `se_tol`; by default `Inf`
#' @param max_iter maximum number of Lanczos steps
#' @param refine recompute ridges for which the common Lanczos process is not accurate enough?
#' @param method `"dense"`, `"lanczos"`, or `"auto"`: dense up to 1000 points
#' @param rank,local as in [preconditioner()]
#' @return A data frame with a row for each ridge: `ridge`; `form`, `y' A^-1 y`, and `form_error`; `square`,
#'   `y' A^-2 y`, and `square_error` (these four are matrices if `y` has several columns); `logdet` and `logdet_se`;
#'   `trace` of `A^-1` and `trace_se`; degrees of freedom `df` and `df_se`; and `refined`, whether the ridge was
#'   refined.
#' @seealso [logdet()], [solve()][solve.lazy_tensor]
#' @concept regularisation path
#' @concept generalised cross-validation
#' @concept effective degrees of freedom
#' @concept profile likelihood
#' @export
#' @examples
#' x <- matrix(runif(1000), 500)
#' y <- sin(6 * x[, 1]) + rnorm(500, sd = 0.3)
#' path <- ridge_path(kernel_gaussian(x, x, 0.2), y, ridge = 10^seq(-3, 2, by = 0.25))
#' gcv <- 500 * path$square / path$trace^2        # generalised cross-validation
#' plot(path$ridge, gcv, type = "b", log = "x")
#' path[which.min(gcv), ]
#' likelihood <- -(path$form + path$logdet + 500 * log(2 * pi)) / 2
ridge_path <- function(K, y = NULL, ridge = NULL, probes = 16, seed = NULL, tol = 1e-4, se_tol = Inf, max_iter = 150,
                       refine = TRUE, method = c("auto", "dense", "lanczos"), rank = NULL, local = TRUE) {
  op <- set_op(square_op(K, "ridge_path()"), precision = "float64")
  if (level_of_op(op) > 0L || is_traced(y)) abort("no_gradient", "ridge_path() has no derivatives")
  n <- op$dim[1]
  y <- if (!is.null(y)) right_hand_side(y, n, "y")$values else matrix(0, n, 0)
  ridge <- if (is.null(ridge)) mean(diag(op)) * 10^seq(-6, 2, by = 0.25)
           else unlist(lapply(ridge, check_ridge, 1)) %or% numeric()
  probes <- check_count(probes, "probes", least = 2)
  check_tolerance(tol)
  check_flag(refine, "refine")
  method <- check_method(method, c("auto", "dense", "lanczos"))
  if (n == 0 || method == "dense" || method == "auto" && n <= small_spectrum) {
    return(path_frame(dense_path(op, y, ridge), n))
  }
  check_symmetric_op(op)
  seed <- check_seed(seed)
  own <- kernel_and_ridge(op)
  refine <- refine && !is.null(own)
  if (is_op(own$K)) op <- with_ridge(own$K, own$ridge)
  off <- if (is_op(own$K)) products_off(own$K, random_signs(n, 1, seed)) else 0
  max_iter <- check_count(max_iter, "max_iter", least = 2)
  path <- if (refine && length(ridge) == 1) unknown_path(y, ridge)
  else path_by_rules(op, y, ridge, probes, seed, tol, max_iter)
  path$usable <- off <= ridge / 2 | length(ridge) == 1
  if (refine) path <- refined_path(path, own, y, probes, seed, tol, se_tol, rank, local)
  path_frame(if (off > 0) path_off_by_products(path, off, n) else path, n)
}

# The largest matrix whose eigenvalues take only seconds.
small_spectrum <- 1000

# --- by eigenvalues -------------------------------------------------------------------------------------------

dense_path <- function(op, y, ridge) {
  A <- unname(entries(op))
  if (length(A)) check_symmetric(A)
  # If there are no right-hand sides, eigenvalues are enough, in a quarter of the time.
  e <- if (length(A)) eigen(A, symmetric = TRUE, only.values = !ncol(y)) else list(values = numeric(), vectors = A)
  shifted <- outer(e$values, ridge, `+`)
  if (any(shifted <= 0)) {
    abort("indefinite", "the matrix is not positive definite: with a ridge of ", format(min(ridge)),
          " it has an eigenvalue of ", format(min(shifted), digits = 3))
  }
  along <- if (is.null(e$vectors)) matrix(0, nrow(A), 0) else crossprod(e$vectors, y)^2
  none <- numeric(length(ridge))
  list(ridge = ridge, form = crossprod(1 / shifted, along), form_error = matrix(0, length(ridge), ncol(y)),
       square = crossprod(1 / shifted^2, along), square_error = matrix(0, length(ridge), ncol(y)),
       logdet = colSums(log(shifted)), logdet_se = none, trace = colSums(1 / shifted), trace_se = none,
       refined = logical(length(ridge)))
}

# --- by one Lanczos process -----------------------------------------------------------------------------------

path_by_rules <- function(op, y, ridge, probes, seed, tol, max_iter) {
  n <- op$dim[1]
  starts <- cbind(y, random_signs(n, probes, seed))
  rules <- r_spectral_rules(native_operator(op, ncol(starts), TRUE), starts, min(ridge), tol, min(max_iter, n))
  bounds <- function(f) rule_bounds(rules, f, ridge, colSums(starts^2))
  mine <- seq_len(ncol(y))
  inverse <- bounds(function(x) 1 / x)
  square <- bounds(function(x) 1 / x^2)
  logs <- probe_estimate(bounds(log), mine)
  trace <- probe_estimate(inverse, mine)
  list(ridge = ridge, form = inverse$middle[, mine, drop = FALSE], form_error = inverse$half[, mine, drop = FALSE],
       square = square$middle[, mine, drop = FALSE], square_error = square$half[, mine, drop = FALSE],
       logdet = logs$value, logdet_se = logs$se, trace = trace$value, trace_se = trace$se,
       refined = logical(length(ridge)), cut = pmax(logs$cut, trace$cut), plain = list(logdet = logs, trace = trace))
}

# Computes the middle of two bounds for each ridge and column, and the distance of the bounds from the middle.
rule_bounds <- function(rules, f, ridge, sizes) {
  sums <- function(kind) {
    one <- function(rule, size) {
      if (!length(rule$nodes)) return(numeric(length(ridge)))
      size * colSums(rule$weights * matrix(f(outer(pmax(rule$nodes, 0), ridge, `+`)), length(rule$nodes)))
    }
    matrix(unlist(Map(one, rules[[kind]], sizes)), length(ridge))
  }
  gauss <- sums("gauss")
  radau <- sums("radau")
  middle <- (gauss + radau) / 2
  largest <- max(0, unlist(lapply(rules$gauss, `[[`, "nodes")))
  list(middle = middle, half = abs(gauss - radau) / 2 + abs(middle) * 1e-15 * (1 + largest / ridge))
}

# `cut`: the truncation error of the process, in units of the standard error over probes.
probe_estimate <- function(bounds, others) {
  all <- ncol(bounds$middle)
  mine <- setdiff(seq_len(all), others)
  each <- bounds$middle[, mine, drop = FALSE]
  half <- rowMeans(bounds$half[, mine, drop = FALSE])
  spread <- apply(each, 1, stats::sd) / sqrt(length(mine))
  list(value = rowMeans(each), se = sqrt(spread^2 + half^2), cut = ifelse(half > 0, half / spread, 0), each = each,
       half = half)
}

# --- by systems -----------------------------------------------------------------------------------------------

# Returns a path without known values, so that all ridges will be refined.
unknown_path <- function(y, ridge) {
  none <- rep(NA_real_, length(ridge))
  of_y <- matrix(NA_real_, length(ridge), ncol(y))
  list(ridge = ridge, form = of_y, form_error = of_y, square = of_y, square_error = of_y, logdet = none,
       logdet_se = none, trace = none, trace_se = none, refined = logical(length(ridge)), cut = none)
}

refined_path <- function(path, own, y, probes, seed, tol, se_tol, rank, local) {
  P <- NULL
  refine <- function(path, which) {
    for (k in which[order(path$ridge[which])]) {
      ridge <- own$ridge + numeric(nrow(y)) + path$ridge[k]
      P <<- if (is.null(P)) chosen_preconditioner(TRUE, own$K, ridge, rank, local)
      else supported(kernel_tensor(own$K), ridge, P$support)
      path <- refined_ridge(path, k, own$K, ridge, P, y, probes, seed, tol)
    }
    path
  }
  over <- function(x, limit) is.na(x) | x > limit
  poor <- cbind(over(path$form_error, tol * path$form), over(path$square_error, tol * path$square), over(path$cut, 1))
  path <- refine(path, which(rowSums(poor) > 0 & path$usable))
  anchors <- anchors_among(which(!path$refined & path$cut < 0.1 & path$usable), path$ridge, probes)
  if (length(anchors)) path <- controlled(refine(path, anchors), anchors)
  refine(path, which(!path$refined & over(path$logdet_se, se_tol) & path$usable))
}

# Chooses ridges whose refined estimates show the error of the probes there, and so, nearly, at other ridges.
anchors_among <- function(which, ridge, probes) {
  count <- min(3, (probes - 4) %/% 4)
  if (length(which) < 6 || count < 1) return(NULL)
  at <- if (count == 1) 0.5 else seq(0, 1, length.out = count)
  which[order(ridge[which])][1 + round(at * (length(which) - 1))]
}

# The factor of standard errors for chance in the slopes: half more than for normal numbers, found over seeds.
chance_of_slopes <- 1.5

# Uses the probes as control variates of themselves, by regression on their values at the anchors.
controlled <- function(path, anchors) {
  for (what in c("logdet", "trace")) {
    plain <- path$plain[[what]]
    probes <- ncol(plain$each)
    missed <- plain$value[anchors] - path[[what]][anchors]
    off <- sqrt(path[[paste0(what, "_se")]][anchors]^2 + plain$half[anchors]^2)
    design <- cbind(1, t(plain$each[anchors, , drop = FALSE]))
    inflation <- chance_of_slopes^2 * (probes - 2) / (probes - 2 - length(anchors))
    for (k in which(!path$refined)) {
      fit <- stats::lm.fit(design, plain$each[k, ])
      slope <- ifelse(is.na(fit$coefficients[-1]), 0, fit$coefficients[-1])
      spread <- inflation * sum(fit$residuals^2) / fit$df.residual / probes
      found <- list(value = plain$value[k] - sum(slope * missed),
                    se = sqrt(spread + sum((slope * off)^2) + plain$half[k]^2))
      path <- with_better(path, k, what, found)
    }
  }
  path
}

refined_ridge <- function(path, k, K, ridge, P, y, probes, seed, tol) {
  if (ncol(y)) {
    solved <- function() {
      solve(K, y, ridge = ridge, tol = tol / 100, method = "cg", precondition = P %or% FALSE, report = TRUE)
    }
    x <- if (is_op(K)) quietly_solved(solved()) else solved()  # the error of products is among the errors
    left <- solve_report(x)$residual * sqrt(colSums(y^2))
    size <- sqrt(colSums(x^2))
    path$form[k, ] <- colSums(x * y)
    path$form_error[k, ] <- left * size
    path$square[k, ] <- size^2
    path$square_error[k, ] <- 2 * size * left / max(min(ridge), .Machine$double.xmin)
  }
  # If landmarks leave less than the ridge, neighbours may help or harm estimates, so both ways are tried.
  alone <- if (!is.null(P) && P$neighbours > 0 && P$residual <= min(ridge)) {
    list(supported(kernel_tensor(K), ridge, P$support[c("chosen", "residual")]))
  }
  for (Q in c(list(P), alone)) {
    found <- logdet_by_probes(K, ridge, Q, probes, seed, vectors = TRUE)
    path <- with_better(path, k, "logdet", found)
    path <- with_better(path, k, "trace", trace_by_systems(Q, found$u, found$v, found$rounding / min(ridge)))
  }
  path$refined[k] <- TRUE
  path
}

# Replaces an estimate of a path if `found` has a smaller standard error.
with_better <- function(path, k, what, found) {
  se <- paste0(what, "_se")
  if (is.na(path[[se]][k]) || found$se < path[[se]][k]) {
    path[[what]][k] <- found$value
    path[[se]][k] <- found$se
  }
  path
}

# The relative rounding error of the trace if landmarks depend on each other.
rounding_of_traces <- 1e-6

# Estimates tr A^-1 = tr P^-1 + tr(A^-1 - P^-1): the first term is known, the second is small.
trace_by_systems <- function(P, u, v, rounding) {
  rest <- colSums((u - v) * v)
  known <- if (is.null(P)) 0
  else if (P$neighbours) sum(unlist(each_inverse_weights(P, function(W) sum(W$diagonal))))
  else r_low_rank_inverse_trace(live_pointer(P))
  if (is.null(P)) rest <- colSums(u * v)
  value <- known + mean(rest)
  list(value = value, se = sqrt(stats::var(rest) / length(rest) + (rounding_of_traces * value)^2 + rounding^2))
}

# --- the result -----------------------------------------------------------------------------------------------

path_frame <- function(path, n) {
  plain <- function(x) if (ncol(x) == 1) x[, 1] else x
  out <- data.frame(ridge = path$ridge)
  of_y <- c("form", "form_error", "square", "square_error")
  if (ncol(path$form)) for (name in of_y) out[[name]] <- plain(path[[name]])
  for (name in c("logdet", "logdet_se", "trace", "trace_se")) out[[name]] <- path[[name]]
  out$df <- n - path$ridge * path$trace
  out$df_se <- path$ridge * path$trace_se
  out$refined <- path$refined
  out
}
