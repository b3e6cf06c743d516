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
#' @param x,logarithm,... as in [base::determinant()]
#' @return A number of class `kernweave_estimate`, which prints its standard error; `determinant()` returns base R's
#'   list. For a formula with batches, one number per batch, with standard errors in the attribute `se`.
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
                   precondition = TRUE, rank = NULL, local = TRUE) {
  if (is_op(K)) {
    own <- kernel_and_ridge(K)
    if (is.null(own)) return(logdet_of_op(with_ridge(K, check_ridge(ridge, square_extent(K)))))
    ridge <- own$ridge + ridge
    K <- own$K
  }
  if (is_lazy(K) && has_batches(K)) {
    return(logdet_batches(K, ridge = ridge, probes = probes, seed = seed, se_tol = se_tol, method = method,
                          precondition = precondition, rank = rank, local = local))
  }
  n <- check_square(kernel_tensor(K))
  probes <- check_count(probes, "probes")
  if (probes < 2) abort("input", "`probes` must be 2 or more: a standard error needs them")
  method <- check_method(method, c("auto", "dense", "lanczos"))
  if (method == "dense" || method == "auto" && n <= small_system) K <- kernel_tensor(K)
  if (is_traced_system(kernel_tensor(K), ridge)) {
    return(logdet_node(K, ridge, probes, seed, method, precondition, rank, local))
  }
  ridge <- check_ridge(ridge, n)
  if (!is.null(se_tol)) check_wanted_error(se_tol)
  if (n == 0) return(estimate(0, 0))
  if (method == "dense" || method == "auto" && n <= small_system) {
    root <- dense_root(K, ridge)  # by itself: S4 dispatch on an argument that fails would hide the class of its error
    return(estimate(2 * sum(log(diag(root))), 0))
  }
  seed <- check_seed(seed)
  P <- chosen_preconditioner(precondition, K, ridge, rank, local)
  found <- logdet_by_probes(K, ridge, P, probes, seed)
  while (!is.null(se_tol) && found$se > se_tol && probes < 4096) {
    probes <- 2L * probes
    found <- logdet_by_probes(K, ridge, P, probes, seed)
  }
  estimate(found$value, found$se, probes = probes, steps = max(found$steps), bracket = found$bracket)
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
  list(value = value, se = se, bracket = bracket, steps = forms$steps, u = forms$u, v = forms$v,
       rounding = used$rounding)
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
