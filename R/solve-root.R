# Roots of covariance matrices: a root times random numbers is a draw.

#' Square root of a kernel matrix
#'
#' `root_op(K, ridge)` is an operator M with `M M' = K + ridge`. Use it to draw from a multivariate normal distribution:
#' `M %*% w`, with independent standard normal numbers `w`, is a draw from N(0, K + ridge), as
#' [simulate()][simulate.lazy_tensor] returns it.
#'
#' M is *a* square root, not necessarily the symmetric one: the function chooses the square root that is fastest to
#' multiply by. For up to 2000 points M is a Cholesky factor. For more points, with the [preconditioner()]
#' `P^-1 = G G'`, M is `G'^-1 (G' (K + ridge) G)^(1/2)`, whose inner square root is computed by the Lanczos method in
#' about ten steps. With `precondition = FALSE`, or for operators other than a lazy tensor plus a diagonal, M is the
#' symmetric square root, in as many steps as needed.
#'
#' A semidefinite matrix has a square root as well; the matrix of a smooth kernel without a ridge is semidefinite to
#' rounding. If at most 2000 landmarks reproduce the matrix within `tol`, M has one column for each landmark, and next
#' to these columns a diagonal with the square root of the ridge. The same holds for operators that are a [lowrank()]
#' plus a diagonal. `ncol(M)` is the number of random numbers that a draw takes.
#'
#' @param K a lazy tensor of one component over the same points along i and j, an operator (see [identity_op()]), or a
#'   matrix; symmetric and positive semidefinite
#' @param ridge a number, or one for each point, added to the diagonal (noise variance)
#' @param tol relative error allowed for a product
#' @param method `"dense"`, `"lanczos"`, or `"auto"`: dense up to 2000 points
#' @param precondition,rank,local as in [solve()][solve.lazy_tensor]
#' @param max_iter largest number of Lanczos steps
#' @param basis_mb memory for 40 Lanczos steps, in megabytes; it limits how many columns are multiplied at once
#' @return An operator, see [linear_op]. A product that does not reach `tol` gives a warning of class
#'   `kernweave_warning_convergence`.
#' @seealso [simulate()][simulate.lazy_tensor], [preconditioner()], [logdet()]
#' @concept Cholesky factor
#' @concept multivariate normal samples
#' @concept Gaussian random field
#' @export
#' @examples
#' x <- matrix(runif(6600), 2200)
#' M <- root_op(kernel_matern(x, x, scale = 0.3, nu = 1.5), ridge = 1e-4)
#' M
#' draws <- M %*% matrix(rnorm(ncol(M) * 4), ncol(M))
root_op <- function(K, ridge = 0, tol = 1e-6, method = c("auto", "dense", "lanczos"), precondition = TRUE, rank = NULL,
                    local = TRUE, max_iter = 200, basis_mb = 1024) {
  op <- set_op(square_op(K, "root_op()"), precision = "float64")
  if (level_of_op(op) > 0L || is_traced(ridge)) {
    abort("no_gradient", "square roots of matrices and random draws have no derivative")
  }
  n <- op$dim[1]
  check_tolerance(tol)
  check_limit(basis_mb, "basis_mb")
  method <- check_method(method, c("auto", "dense", "lanczos"))
  ridge <- check_ridge(ridge, n)
  low <- if (method == "auto") low_rank_and_diagonal(with_ridge(op, ridge))
  if (!is.null(low)) return(low_rank_root(low$factor, low$diagonal, rownames(op)))
  if (n == 0 || method == "dense" || method == "auto" && n <= small_system) return(dense_root_op(op, ridge))
  own <- tensor_and_ridge(op)
  all_ridge <- if (!is.null(own)) own$ridge + ridge
  # A variance of tol^2 / 9 moves a product by a third of `tol`. With this variance the matrix has a preconditioner,
  # whereas a matrix that is semidefinite to rounding takes hundreds of steps.
  if (!is.null(own) && isTRUE(precondition)) all_ridge <- pmax(all_ridge, tol^2 / 9 * mean(abs(as.vector(diag(own$K)))))
  P <- if (!is.null(own)) unless_indefinite(chosen_preconditioner(precondition, own$K, all_ridge, rank, local))
  landmarks <- if (isTRUE(precondition)) smooth_factor(own, P, tol, floor(basis_mb * 2^20 / 8 / n))
  if (!is.null(landmarks)) return(low_rank_root(landmarks, own$ridge + ridge, rownames(op)))
  most <- min(check_count(max_iter, "max_iter"), n)
  together <- as.integer(max(1, min(widest_product, floor(basis_mb * 2^20 / 8 / n / min(most, 40)))))
  check_symmetric_op(op)
  apply <- function(v) {
    system <- if (is.null(own)) native_operator(with_ridge(op, ridge), ncol(v), TRUE)
    else native_system(own$K, all_ridge, ncol(v))
    found <- root_product(system, P, v, tol, most, together)
    if (!found$converged) warn_of_root(found, tol, P)
    structure(found$y, steps = found$steps, products = found$products)
  }
  op_of_function(apply, op$dim, if (is.null(P)) TRUE else NA, NULL, list(rownames(op), NULL), "root")
}

# Multiplies a root and v. If a matrix is semidefinite to rounding, its factor is missing or cannot be trusted, so the
# Lanczos process runs without the preconditioner.
root_product <- function(system, P, v, tol, most, together) {
  run <- function(P) r_square_root(system, live_pointer(P), v, tol, most, together)
  unless_indefinite(if (!is.null(P)) run(P)) %or% run(NULL)
}

unless_indefinite <- function(value) tryCatch(value, kernweave_error_indefinite = function(e) NULL)

# Finds a factor by landmarks if neighbours seemed necessary but landmarks leave little. A few more landmarks leave
# nothing, and make a root faster than a Lanczos process, which then takes hundreds of steps.
smooth_factor <- function(own, P, tol, most) {
  if (is.null(own) || !can_take(own$K)) return(NULL)
  if (!is.null(P) && (!P$neighbours || P$residual > 1e-4 * mean(diag(own$K)))) return(NULL)
  n <- dim(own$K)[1]
  found <- unless_indefinite(landmark_factor(own$K, min(most, 2000, n %/% 2 + 1), tol^2, 1))
  if (!is.null(found) && found$residual <= tol^2) found$factor
}

low_rank_root <- function(factor, diagonal, names) {
  rownames(factor) <- names
  if (all(diagonal == 0)) as_op(factor) else cbind(as_op(factor), diagonal_op(sqrt(rep_len(diagonal, nrow(factor)))))
}

check_symmetric_op <- function(op) {
  if (isFALSE(op$symmetric)) abort("indefinite", "the operator is not symmetric, so it has no root")
  if (op$dim[1] > 0) check_symmetric_by_products(native_operator(op, 2), op$dim[1])
}

dense_root_op <- function(op, ridge) {
  A <- entries(op)
  names <- list(rownames(A), NULL)
  root <- unname(A)
  if (length(A)) {
    check_symmetric(root)
    diag(root) <- diag(root) + ridge
    # R with R'R = A + ridge: a Cholesky factor, or one by eigenvectors if the matrix is only semidefinite.
    root <- tryCatch(chol.default(root), error = function(failure) {
      e <- eigen(root, symmetric = TRUE)
      if (min(e$values) < -1e-7 * max(abs(e$values))) {
        abort("indefinite", "the matrix is not positive semidefinite: it has eigenvalues of ",
              format(max(e$values), digits = 3), " and ", format(min(e$values), digits = 3))
      }
      sqrt(pmax(e$values, 0)) * t(e$vectors)
    })
  }
  op_of_function(function(v) crossprod(root, v), op$dim, NA, function(v) root %*% v, names, "root")
}

warn_of_root <- function(found, tol, P) {
  off <- max(found$change)
  warn("convergence", "a root after ", max(found$steps), " Lanczos steps may be off by ", format(off, digits = 2),
       ", not ", format(tol), ": a larger `tol`", if (is.null(P)) " or `max_iter`" else ", `max_iter` or `rank`",
       " would help", more = list(off = off))
}
