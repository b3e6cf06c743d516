# Least squares for rectangular lazy tensors and operators, by products with them and with their transposes.

#' Least squares with a lazy tensor or an operator
#'
#' Finds the x that minimises `sum((A %*% x - b)^2) + sum(ridge * x^2)` for a matrix `A` of any shape, using only
#' products with `A`. Use it for kernel regression on fewer centres than points, or for systems with more unknowns than
#' equations.
#'
#' Without a ridge and a `start`, the result is the minimum of smallest norm if there are several. The method is LSMR
#' (Golub-Kahan bidiagonalisation): each iteration takes a product with `A` and a product with `t(A)`, for all columns
#' of `b` at once. LSMR needs as many iterations as conjugate gradients on the normal equations, but is numerically more
#' stable. There is no preconditioner; columns of `A` of similar length, and a ridge, reduce the number of iterations.
#'
#' The iteration stops when the gradient `t(A) %*% (b - A %*% x) - ridge * x`, recomputed at the end, is at most `tol`
#' times as long as `t(A) %*% b`, column by column. If it does not reach this tolerance, you get a warning of class
#' `kernweave_warning_convergence`. All computations are in double precision.
#'
#' @param A a lazy tensor of one component, a [linear_op] that has a transpose, or a matrix
#' @param b numbers: a vector with one number per row of `A`, or a matrix with a column for each right-hand side
#' @param ridge the penalty: a number, or one per column of `A`; by default 0
#' @param tol residual of the normal equations, relative to `t(A) %*% b`
#' @param max_iter maximum number of iterations, by default four times the smaller dimension of `A`, but at most 2000
#' @param start starting values, with one row per column of `A`; by default 0
#' @param report attach a report on the solution, for [solve_report()]?
#' @return Numbers with one row per column of `A`, a vector if `b` is a vector.
#' @seealso [solve()][solve.lazy_tensor] for square systems, [lowrank()]
#' @concept LSMR
#' @concept ridge regression
#' @concept regularised least squares
#' @concept subset of regressors
#' @export
#' @examples
#' x <- matrix(runif(2000), 1000)
#' y <- sin(6 * x[, 1]) + rnorm(1000, sd = 0.1)
#' centres <- x[1:40, ]
#' A <- kernel_gaussian(x, centres, scale = 0.3)
#' w <- least_squares(A, y, ridge = 1e-3, report = TRUE)
#' solve_report(w)
#' kernel_gaussian(matrix(0.5, 1, 2), centres, scale = 0.3) %*% w
least_squares <- function(A, b, ridge = 0, tol = 1e-6, max_iter = NULL, start = NULL, report = FALSE) {
  op <- as_op(A)
  if (level_of_op(op) > 0L || is_traced(b) || is_traced(ridge)) {
    abort("no_gradient", "least_squares() has no derivatives; solve(crossprod(A) + ridge * identity_op(n), ",
          "crossprod(A, b)) has")
  }
  op <- set_op(op, precision = "float64")
  b <- right_hand_side(b, op$dim[1])
  ridge <- check_ridge(ridge, op$dim[2])
  check_tolerance(tol)
  check_flag(report, "report")
  most <- if (is.null(max_iter)) as.integer(min(4 * min(op$dim), 2000)) else check_count(max_iter, "max_iter")
  started <- proc.time()[["elapsed"]]
  found <- fit_by_products(op, b$values, ridge, tol, most, check_start(start, op$dim[2], ncol(b$values), "column"))
  x <- if (is.null(b$dim)) structure(as.vector(found$x), names = colnames(op))
       else named(found$x, colnames(op), b$names[[2]])
  facts <- c(found[c("iterations", "residual", "history", "products", "end")],
             list(method = "lsmr", converged = found$end == "converged", rough = FALSE, tol = tol, dim = op$dim,
                  ridge = min(ridge, Inf), seconds = proc.time()[["elapsed"]] - started))
  reported(x, facts, report)
}

fit_by_products <- function(op, b, ridge, tol, most, start) {
  if (min(op$dim, ncol(b)) == 0) {
    none <- rep(0, ncol(b))
    return(list(x = matrix(0, op$dim[2], ncol(b)), iterations = none, residual = none, history = numeric(),
                products = 0, end = "converged"))
  }
  native <- function(op) native_operator(op, ncol(b), ladder = TRUE)
  at_middle_scale(b, start, function(b, start) {
    r_least_squares(native(op), native(t(op)), if (any(ridge != 0)) ridge else numeric(), b, start, tol, most)
  })
}
