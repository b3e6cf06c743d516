# The logarithm of the determinant of a kernel matrix, with a standard error where it is an estimate.

#' Log-determinant of a kernel matrix
#'
#' Computes the logarithm of the determinant of `K + ridge I`, as needed for the likelihood of a Gaussian process. Use
#' it when the matrix is too large to factor: the result then has a standard error.
#'
#' Up to 2000 points the result is exact. Beyond, it is the known log-determinant of the [preconditioner()] plus a
#' correction, estimated by stochastic Lanczos quadrature on random probes. The standard error includes the spread of
#' the probes and the truncation error of the quadrature. In functions given to [gradient()], the derivative of the
#' preconditioner's part is exact, and probes estimate that of the rest; higher derivatives likewise, but with the
#' landmarks of the preconditioner only.
#'
#' @param K a lazy tensor of one component over the same points along i and j, symmetric and positive definite; or an
#'   operator, see [identity_op()]. For the result of [approximate()], with a diagonal, the standard error includes the
#'   error of its products; a [lowrank()] with a ridge is exact; other operators are converted to matrices
#' @param ridge a number, or one per point, added to the diagonal
#' @param probes number of random vectors
#' @param seed a whole number; by default drawn with R's random numbers, so that `set.seed()` applies
#' @param se_tol double the number of probes until the standard error is below this
#' @param method `"dense"`, `"lanczos"`, or `"auto"`: dense up to 2000 points
#' @param precondition,rank,local as in [solve()][solve.lazy_tensor]
#' @param along symmetric matrices in whose directions derivatives are wanted: a list of lazy tensors over the same
#'   points, of what [approximate()] made of these, or of numbers, one per point, for diagonal matrices
#' @param x,logarithm,... as in [base::determinant()]
#' @return A number of class `kernweave_estimate`, which prints its standard error; `determinant()` returns base R's
#'   list. For a formula with batches, one number per batch, with standard errors in the attribute `se`. With `along`
#'   an attribute of that name is a list: the derivatives, traces of the inverse times each matrix, as `value`, and what
#'   each probe says of them as the rows of `each`, whose spread is their noise. That needs the neighbours of a
#'   preconditioner, and a default one then has them.
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
  if (is_op(K)) {
    own <- kernel_and_ridge(K)
    if (is.null(own)) return(logdet_of_op(with_ridge(K, check_ridge(ridge, square_extent(K)))))
    ridge <- own$ridge + ridge
    K <- own$K
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
    return(logdet_node(K, ridge, probes, seed, method, precondition, rank, local))
  }
  ridge <- check_ridge(ridge, n)
  if (!is.null(se_tol)) check_wanted_error(se_tol)
  if (n == 0) return(estimate(0, 0))
  if (method == "dense" || method == "auto" && n <= small_system) {
    root <- dense_root(K, ridge)  # by itself: S4 dispatch on an argument that fails would hide the class of its error
    return(with_slopes(estimate(2 * sum(log(diag(root))), 0), dense_slopes(along, root)))
  }
  seed <- check_seed(seed)
  P <- chosen_preconditioner(precondition, K, ridge, rank, local)
  by_probes <- function() logdet_by_probes(K, ridge, P, probes, seed, vectors = length(along) > 0)
  found <- by_probes()
  while (!is.null(se_tol) && found$se > se_tol && probes < 4096) {
    probes <- 2L * probes
    found <- by_probes()
  }
  value <- estimate(found$value, found$se, probes = probes, steps = max(found$steps), bracket = found$bracket)
  structure(with_slopes(value, slopes_by_probes(along, P, found)), each = found$each)
}

with_slopes <- function(value, slopes) structure(value, along = slopes)

dense_slopes <- function(along, root) {
  if (!length(along)) return(NULL)
  inverse <- chol2inv(root)
  one <- function(B) if (is.numeric(B)) sum(diag(inverse) * B) else sum(inverse * as.matrix(kernel_tensor(B)))
  value <- vapply(along, one, 0)
  list(value = value, each = matrix(value, 2, length(along), byrow = TRUE))
}

# What gradient() has for cotangents of operands (logdet_node()) for given matrices, and probe by probe.
slopes_by_probes <- function(along, P, found) {
  if (!length(along)) return(NULL)
  if (!is.null(P) && !P$neighbours) {
    abort("input", "derivatives along matrices need a preconditioner with neighbours, as of local = \"always\"")
  }
  left <- if (is.null(P)) found$u else found$u - found$v
  product <- function(B) if (is.numeric(B)) B * found$v else unname(as.matrix(B %*% found$v))
  each <- vapply(along, function(B) colSums(left * product(B)), numeric(ncol(left)))
  each <- each + rep(if (is.null(P)) 0 else traces_of_inverse(P, along), each = nrow(each))
  list(value = colMeans(each), each = each)
}

# Traces of P^-1 times matrices, for a preconditioner of two parts.
traces_of_inverse <- function(P, along) {
  W <- r_inverse_weights(live_pointer(P))
  diagonal <- vapply(along, is.numeric, NA)
  out <- numeric(length(along))
  out[diagonal] <- vapply(along[diagonal], function(B) sum(W$diagonal * B), 0)
  of_pairs <- lapply(along[!diagonal], function(B) lazy_set(kernel_tensor(B), precision = "float64"))
  if (!length(of_pairs)) return(out)
  sums <- vapply(of_pairs, function(B) sum(unlist(sums_at_landmarks(B, W, call = TRUE))), 0)
  replace(out, which(!diagonal), sums + r_sums_of_pairs(P$pointer, lapply(of_pairs, native_entries)))
}

check_wanted_error <- function(se_tol) {
  if (is.numeric(se_tol) && length(se_tol) == 1 && !is.na(se_tol) && se_tol >= 0) return(invisible())
  abort("input", "`se_tol` must be a number that is not negative, not ", format_value(se_tol))
}

# What is off by rounding in a sum of n logarithms, relative to it and to n.
rounding_of_logs <- 1e-12

logdet_by_probes <- function(K, ridge, P, probes, seed, vectors = FALSE) {
  n <- length(ridge)
  used <- quadrature_system(K, ridge, probes, seed)
  forms <- r_log_forms(used$system, live_pointer(P), probes, seed, 1e-5, most_iterations(n), vectors)
  # With a diagonal of ones the trace of B - I is 0, which its part of each probe is not.
  each <- n * (forms$value - if (forms$unit) forms$first - 1 else 0)
  value <- forms$logdet + mean(each)
  bracket <- n * mean(forms$bracket)
  se <- sqrt(stats::var(each) / probes + bracket^2 + used$rounding^2 + (rounding_of_logs * (abs(value) + n))^2)
  list(value = value, se = se, each = forms$logdet + each, bracket = bracket, steps = forms$steps, u = forms$u,
       v = forms$v, rounding = used$rounding)
}

# float32 products are used where on random signs they are off by less than a hundredth of the ridge, and what they may
# do to the logarithms, as errors of both signs, counts as error.
quadrature_system <- function(K, ridge, probes, seed) {
  if (is_op(K)) return(approximated_quadrature(K, ridge, probes, seed))
  n <- length(ridge)
  exact <- native_system(lazy_set(K, precision = "float64"), ridge, probes)
  if (call_options(K$settings)$precision == "float64" || min(ridge) == 0) return(list(system = exact, rounding = 0))
  rough <- native_system(K, ridge, probes)
  signs <- random_signs(n, 1, seed)
  off <- sqrt(mean((r_operator_product(exact, signs) - r_operator_product(rough, signs))^2)) / min(ridge)
  if (off > 0.01) list(system = exact, rounding = 0) else list(system = rough, rounding = sqrt(n) * off)
}

#' @rdname logdet
#' @export
determinant.lazy_tensor <- function(x, logarithm = TRUE, ...) {
  as_determinant(logdet(x, ...), logarithm)
}

# What is no lazy tensor: exact.
logdet_of_op <- function(op) {
  found <- determinant(op)
  if (found$sign < 0) {
    abort("indefinite", "the determinant is negative and has no logarithm: the matrix is not positive definite; ",
          "determinant() gives the sign and the modulus")
  }
  estimate(as.numeric(found$modulus), 0)
}

# As base R has it.
as_determinant <- function(value, logarithm) {
  modulus <- if (logarithm) value else exp(as.numeric(value))
  if (!is_traced(modulus)) attr(modulus, "logarithm") <- logarithm
  structure(list(modulus = modulus, sign = 1L), class = "det")
}
