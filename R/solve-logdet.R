# The log-determinant of a kernel matrix, with a standard error if it is an estimate.

#' Log-determinant of a kernel matrix
#'
#' Computes the logarithm of the determinant of `K + ridge I`, as needed for the likelihood of a Gaussian process. Use
#' it when the matrix is too large to factor: the result then has a standard error.
#'
#' For up to 2000 points the result is exact. For more points, it is the known log-determinant of the [preconditioner()]
#' plus a correction, estimated by stochastic Lanczos quadrature on random probes. The standard error includes the
#' spread of the probes and the truncation error of the quadrature. In functions given to [gradient()], the derivative
#' of the preconditioner's log-determinant is exact, and probes estimate the derivative of the correction. Higher
#' derivatives are computed likewise, but with the landmarks of the preconditioner only.
#'
#' @param K a lazy tensor of one component over the same points along i and j, symmetric and positive definite; or an
#'   operator, see [identity_op()]. For the result of [approximate()], with a diagonal, the standard error includes the
#'   error of its products. For a [lowrank()] with a ridge the result is exact. Other operators are converted to
#'   matrices
#' @param ridge a number, or one per point, added to the diagonal
#' @param probes number of random vectors; by default 16
#' @param seed a whole number; by default drawn with R's random numbers, so that `set.seed()` applies
#' @param se_tol the number of probes is doubled until the standard error is at most `se_tol`; `NULL` for no doubling
#' @param method `"dense"`, `"lanczos"`, or `"auto"`: dense up to 2000 points
#' @param precondition,rank,local as in [solve()][solve.lazy_tensor]
#' @param along a list of symmetric matrices in whose directions to compute derivatives: lazy tensors over the same
#'   points, results of [approximate()] for these, or, for diagonal matrices, vectors with one number per point; beside
#'   `tcrossprod(as_op(V))` also sparse matrices `B` with a row for each column of `V`, which stand for `V B V'`
#' @param x,logarithm,... as in [base::determinant()]
#' @return A number of class `kernweave_estimate`, which prints its standard error; `determinant()` returns base R's
#'   list. For a formula with batches, one number per batch, with standard errors in the attribute `se`. With `along`,
#'   the attribute `along` is a list: `value`, the derivatives, traces of the inverse times each matrix; and `each`, the
#'   derivatives by probe, with a row for each probe, whose spread is the noise of `value`. These derivatives need the
#'   neighbours of a preconditioner; a default preconditioner then has neighbours.
#' @seealso [solve()][solve.lazy_tensor], [preconditioner()], [trace_estimate()], [kernweave_estimate] for the number
#' @concept determinant
#' @concept Gaussian process likelihood
#' @concept stochastic Lanczos quadrature
#' @export
#' @examples
#' x <- matrix(runif(6600), 2200)
#' K <- kernel_matern(x, x, scale = 0.3, nu = 1.5)
#' logdet(K, ridge = 0.01)
logdet <- function(K, ridge = 0, probes = 16, seed = NULL, se_tol = NULL, method = c("auto", "dense", "lanczos"),
                   precondition = TRUE, rank = NULL, local = if (length(along)) "always" else TRUE, along = list()) {
  effects <- NULL
  if (is_op(K)) {
    own <- kernel_and_ridge(K, effects = TRUE)
    if (is.null(own)) return(logdet_of_op(with_ridge(K, check_ridge(ridge, square_extent(K)))))
    ridge <- own$ridge + ridge
    K <- own$K
    effects <- own$effects
  }
  if (is_lazy(K) && has_batches(K)) {
    if (length(along)) abort("unsupported", "`along` is for one matrix, not for batches")
    return(logdet_batches(K, ridge = ridge, probes = probes, seed = seed, se_tol = se_tol, method = method,
                          precondition = precondition, rank = rank, local = local))
  }
  n <- check_square(kernel_tensor(K))
  probes <- check_count(probes, "probes")
  if (probes < 2) abort("input", "`probes` must be 2 or more: a standard error needs them")
  method <- check_method(method, c("auto", "dense", "lanczos"))
  if (method == "dense" || method == "auto" && n <= small_system) K <- kernel_tensor(K)
  if (is_traced_system(kernel_tensor(K), ridge)) {
    if (length(along)) abort("no_gradient", "derivatives `along` matrices have no gradient")
    if (!is.null(effects)) {
      abort("no_gradient", "a log-determinant with sparse terms has no gradient; it has derivatives `along` matrices")
    }
    return(logdet_node(K, ridge, probes, seed, method, precondition, rank, local))
  }
  ridge <- check_ridge(ridge, n)
  if (!is.null(se_tol) && !(is.numeric(se_tol) && length(se_tol) == 1 && !is.na(se_tol) && se_tol >= 0)) {
    abort("input", "`se_tol` must be a number that is not negative, not ", format_value(se_tol))
  }
  if (n == 0) return(estimate(0, 0))
  if (method == "dense" || method == "auto" && n <= small_system) {
    root <- dense_root(K, ridge, effects)  # not inside diag(): S4 dispatch would hide an error's class
    return(with_slopes(estimate(2 * sum(log(diag(root))), 0), dense_slopes(along, root, effects)))
  }
  seed <- check_seed(seed)
  P <- chosen_preconditioner(precondition, K, ridge, rank, local, effects)
  if (length(along) && !is.null(P) && !P$neighbours) {
    abort("input", "derivatives along matrices need a preconditioner with neighbours, as of local = \"always\"")
  }
  by_probes <- function() logdet_by_probes(K, ridge, P, probes, seed, along, effects = effects)
  found <- by_probes()
  while (!is.null(se_tol) && found$se > se_tol && probes < 4096) {
    probes <- 2L * probes
    found <- by_probes()
  }
  value <- estimate(found$value, found$se, probes = probes, steps = max(found$steps), bracket = found$bracket)
  slopes <- if (length(along)) {
    each <- found$slopes + rep(traces_of_inverse(P, along), each = probes)
    list(value = colMeans(each), each = each)
  }
  structure(with_slopes(value, slopes), each = found$each)
}

with_slopes <- function(value, slopes) structure(value, along = slopes)

dense_slopes <- function(along, root, V) {
  if (!length(along)) return(NULL)
  inverse <- chol2inv(root)
  one <- function(B) {
    if (is.numeric(B)) sum(diag(inverse) * B)
    else sum(inverse * as.matrix(if (methods::is(B, "sparseMatrix")) V %*% B %*% Matrix::t(V) else kernel_tensor(B)))
  }
  value <- vapply(along, one, 0)
  list(value = value, each = matrix(value, 2, length(along), byrow = TRUE))
}

# Computes the traces of P^-1 B for the matrices B, with a preconditioner P of landmarks and neighbours.
traces_of_inverse <- function(P, along) {
  if (is.null(P)) return(numeric(length(along)))
  between <- vapply(along, methods::is, NA, "sparseMatrix")
  if (any(between)) {  # B between levels: tr P^-1 V B V' = tr B - tr C^-1 B, and probes estimate the last term
    out <- vapply(along, function(B) if (methods::is(B, "sparseMatrix")) sum(Matrix::diag(B)) else 0, 0)
    return(replace(out, !between, traces_of_inverse(P, along[!between])))
  }
  diagonal <- vapply(along, is.numeric, NA)
  of_pairs <- lapply(along[!diagonal], function(B) lazy_set(kernel_tensor(B), precision = "float64"))
  out <- colSums(do.call(rbind, each_inverse_weights(P, function(W) {
    numbers <- numeric(length(along))
    numbers[diagonal] <- vapply(along[diagonal], function(B) sum(W$diagonal * B), 0)
    numbers[!diagonal] <- vapply(of_pairs, function(B) sum(unlist(sums_at_landmarks(B, W, call = TRUE))), 0)
    numbers
  })))
  if (!length(of_pairs)) return(out)
  out[!diagonal] <- out[!diagonal] + r_sums_of_pairs(P$pointer, lapply(of_pairs, native_entries))
  out
}

# Calls f with the weights of P's inverse, for some landmarks at a time; the results add up to the whole.
each_inverse_weights <- function(P, f) {
  if (!P$rank) return(list(f(inverse_weights(P, integer()))))
  by_columns(P$rank, P$n, function(at) f(inverse_weights(P, at)))
}

# Returns the weights of P's inverse for consecutive landmarks.
inverse_weights <- function(P, at) {
  c(r_inverse_weights(live_pointer(P), max(0, at[1] - 1, na.rm = TRUE), length(at)),
    list(some = P$landmarks[at], of = P$support))
}

# Calls f for consecutive columns of n numbers, with 128 MB of columns at a time, and at least four columns: a product
# of a million rows by 16 columns takes little longer than a product by two.
by_columns <- function(columns, n, f) {
  lapply(some_at_a_time(columns, max(4, 2^24 %/% n)), function(at) {
    if (at[1] > 1) clear_memory()
    f(at)
  })
}

# The rounding error of a sum of n logarithms, relative to the sum and to n.
rounding_of_logs <- 1e-12

# Estimates the log-determinant by probes. Derivatives along matrices read the solutions u and v of a few probes at a
# time, or of all probes at once if their solutions are kept anyway (`vectors`).
logdet_by_probes <- function(K, ridge, P, probes, seed, along = list(), vectors = FALSE, effects = NULL) {
  n <- length(ridge)
  used <- quadrature_system(K, ridge, probes, seed, effects)
  some <- by_columns(probes, if (vectors) 1 else n, function(at) {
    forms <- r_log_forms(used$system, live_pointer(P), at[1] - 1, length(at), seed, 1e-5, most_iterations(n),
                         vectors || length(along))
    # The slopes lack the traces of the preconditioner's inverse; logdet_node() computes the same for gradient().
    left <- if (is.null(P)) forms$u else forms$u - forms$v
    levels <- if (length(along) && !is.null(P$effects)) r_level_probes(live_pointer(P), at[1] - 1, length(at), seed)
    forms$slopes <- if (length(along)) {
      matrix(vapply(along, slope_by_probes, numeric(ncol(left)), left, forms$v, levels, effects), ncol(left))
    }
    if (!vectors) forms$u <- forms$v <- NULL
    forms
  })
  of <- function(what) unlist(lapply(some, `[[`, what))
  # If the diagonal of B is 1, tr(B - I) = 0, so that w'(B - I) w of a probe w is only noise, and is subtracted.
  each <- n * (of("value") - if (some[[1]]$unit) of("first") - 1 else 0)
  logdet <- some[[1]]$logdet
  value <- logdet + mean(each)
  bracket <- n * mean(of("bracket"))
  se <- sqrt(stats::var(each) / probes + bracket^2 + used$rounding^2 + (rounding_of_logs * (abs(value) + n))^2)
  list(value = value, se = se, each = logdet + each, bracket = bracket, steps = of("steps"), u = some[[1]]$u,
       v = some[[1]]$v, slopes = do.call(rbind, lapply(some, `[[`, "slopes")), rounding = used$rounding)
}

# Returns the derivative along B by each probe: u'B v, minus the part that `levels` take of the trace of B times the
# inverse of the kernel's preconditioner. The trace itself is not included. A sparse B between levels stands for V B V'.
slope_by_probes <- function(B, u, v, levels, V) {
  if (methods::is(B, "sparseMatrix")) {
    within <- colSums(as.matrix(crossprod(V, u)) * as.matrix(B %*% crossprod(V, v)))
    return(within - colSums(levels$levels * as.matrix(B %*% levels$levels)))
  }
  product <- function(x) if (is.numeric(B)) B * x else unname(as.matrix(B %*% x))
  colSums(u * product(v)) - if (is.null(levels)) 0 else colSums(levels$rows * product(levels$rows))
}

# Uses products in float32 if their error on random signs is less than a hundredth of the ridge. Their error in the
# logarithms, with both signs, is added to the standard error.
quadrature_system <- function(K, ridge, probes, seed, effects = NULL) {
  n <- length(ridge)
  if (is_op(K)) {
    off <- products_off(K, random_signs(n, 1, seed)) / min(ridge)
    return(list(system = native_system(K, ridge, probes, effects), rounding = off_by_products(off, n)))
  }
  exact <- native_system(lazy_set(K, precision = "float64"), ridge, probes, effects)
  if (call_options(K$settings)$precision == "float64" || min(ridge) == 0) return(list(system = exact, rounding = 0))
  rough <- native_system(K, ridge, probes, effects)
  signs <- random_signs(n, 1, seed)
  off <- sqrt(mean((r_operator_product(exact, signs) - r_operator_product(rough, signs))^2)) / min(ridge)
  if (off > 0.01) list(system = exact, rounding = 0) else list(system = rough, rounding = sqrt(n) * off)
}

#' @rdname logdet
#' @export
determinant.lazy_tensor <- function(x, logarithm = TRUE, ...) as_determinant(logdet(x, ...), logarithm)

# Computes the log-determinant of an operator that is no lazy tensor, exactly.
logdet_of_op <- function(op) {
  found <- determinant(op)
  if (found$sign < 0) {
    abort("indefinite", "the determinant is negative and has no logarithm: the matrix is not positive definite; ",
          "determinant() gives the sign and the modulus")
  }
  estimate(as.numeric(found$modulus), 0)
}

# Returns a determinant in base R's form.
as_determinant <- function(value, logarithm) {
  modulus <- if (logarithm) value else exp(as.numeric(value))
  if (!is_traced(modulus)) attr(modulus, "logarithm") <- logarithm
  structure(list(modulus = modulus, sign = 1L), class = "det")
}

logdet_batches <- function(K, ...) {
  batches <- K$extent[-(1:2)]
  found <- lapply(seq_len(prod(batches)), function(k) {
    value <- logdet(take_batch(K, k), ...)
    if (!is_traced(value)) return(c(value, attr(value, "se")))
    abort("no_gradient", "logdet() with batches has no gradient; write it batch by batch, with take_batch()")
  })
  each <- function(k) array(vapply(found, `[`, 0, k), batches)
  structure(each(1), se = each(2))
}
