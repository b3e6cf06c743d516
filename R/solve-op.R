# solve() and logdet() of linear operators, and inverses as operators.

#' Solve a linear system with an operator
#'
#' Solves `A x = b` for a linear operator `A`, or returns its inverse as an operator. Use it for sums and products of
#' kernel matrices, diagonals and low-rank matrices.
#'
#' The method depends on the operator:
#'
#' A lazy tensor plus a diagonal, `K + 0.1 * identity_op(n)`, is solved as [solve()][solve.lazy_tensor] solves `K` with
#' a `ridge`. A low-rank matrix plus a diagonal, such as [lowrank()] with a ridge or
#' `tcrossprod(as_op(F)) + diagonal_op(d)` with a thin `F`, is solved exactly, in time proportional to the size of `F`.
#' Any other operator with up to 2000 rows is converted to a matrix. With more rows it is solved with conjugate
#' gradients; it must then be symmetric and positive definite, and has no preconditioner.
#'
#' A lazy tensor, or the result of [approximate()], plus a diagonal and `tcrossprod(as_op(V))` of a sparse matrix `V`
#' is solved with a [preconditioner()] of the whole sum. With a column of `V` for each level of a factor, this adds a
#' random effect of each level.
#'
#' The result of [approximate()], with or without a diagonal, uses the preconditioner of its formula. Its solution
#' cannot be more accurate than its products, so the iteration stops at a third of the error of the products, or at
#' `tol` if `tol` is larger. The reported residual combines the residual of the iteration and the error of the products,
#' which is estimated on 64 rows computed exactly. If products are wrong by more than 1 % of the right-hand side, you
#' get a warning; a smaller `tol` of [approximate()] improves them.
#'
#' Without `b`, the result is an operator `Ai` for the inverse: `Ai %*% b` solves, with a preconditioner built once.
#'
#' @param a an operator, see [identity_op()]
#' @inheritParams solve.lazy_tensor
#' @param ... for a lazy tensor or an approximation, with or without a diagonal: more arguments of
#'   [solve()][solve.lazy_tensor]; for an approximation `precondition`, `rank`, `local` and `start`
#' @return Numbers shaped and named like `b`; without `b`, an operator.
#' @seealso [solve()][solve.lazy_tensor], [least_squares()], [lowrank()], [solve_report()], [linear_op]
#' @concept inverse of an operator
#' @concept Woodbury formula
#' @concept conjugate gradients
#' @export
#' @examples
#' x <- matrix(runif(60), 20)
#' A <- kernel_gaussian(x, scale = 0.5) + 0.1 * identity_op(20)
#' solve(A, 1:20)
#' Ai <- solve(A)
#' Ai %*% cbind(1:20, 1)
solve.linear_op <- function(a, b, ridge = 0, tol = 1e-6, method = c("auto", "dense", "cg", "block", "minres"),
                            max_iter = NULL, report = FALSE, ...) {
  method <- check_method(method)
  check_flag(report, "report")
  n <- square_extent(a)
  own <- tensor_and_ridge(a, effects = TRUE)
  if (missing(b)) return(inverse_op(a, if (is.null(own$effects)) own, n, ridge, tol, method, max_iter, ...))
  if (!is.null(own) && is.null(own$effects)) {
    return(solve(own$K, b, ridge = own$ridge + ridge, tol = tol, method = method, max_iter = max_iter,
                 report = report, ...))
  }
  approximated <- approximated_and_ridge(a, effects = TRUE)
  how <- if (!is.null(approximated) || !is.null(own)) system_arguments(...)
  else refuse_others(list(...), solve.linear_op, "solve() of this operator")
  ridge <- check_ridge(ridge, n)
  check_tolerance(tol)
  started <- proc.time()[["elapsed"]]
  A <- with_ridge(a, ridge)
  small <- method == "dense" || method == "auto" && n <= small_system
  if (is_traced(b) || level_of_op(A) > 0L) {
    return(solution_entry(A, b, turned = small, tol = tol, method = method, max_iter = max_iter))
  }
  b <- right_hand_side(b, n)
  low <- if (method == "auto") low_rank_and_diagonal(A)
  found <- if (!is.null(low)) c(woodbury_solution(woodbury(low), b$values), method = "woodbury", converged = TRUE)
  else if (small || !ncol(b$values)) list(x = dense_solution(A, b$values), method = "dense", converged = TRUE)
  else if (!is.null(own)) {
    solve_by_products(own$K, check_ridge(own$ridge + ridge, n), b$values, tol, method, how$precondition, how$rank,
                      how$local, check_start(how$start, n, ncol(b$values)), max_iter, own$effects)
  }
  else if (is.null(approximated)) by_products(A, b$values, tol, method, max_iter)
  else approximated_solution(approximated, b$values, ridge, tol, method, max_iter, how)
  x <- found$x
  found$x <- NULL
  found <- c(found, list(tol = tol, n = n, ridge = min(ridge, Inf), seconds = proc.time()[["elapsed"]] - started))
  reported(shaped_as(x, b), found, report)
}

dense_solution <- function(A, b) {
  dense <- refuse_traced(unname(as.matrix(A)))
  tryCatch(solve(dense, b), error = function(failure) {
    abort("indefinite", "the matrix cannot be solved for: ", message_of(failure))
  })
}

inverse_op <- function(a, own, n, ridge, tol, method, max_iter, precondition = TRUE, rank = NULL, local = TRUE) {
  iterates <- method %in% c("cg", "block") || method == "auto" && n > small_system
  if (is.null(own)) {
    A <- with_ridge(a, check_ridge(ridge, n))
    low <- if (method == "auto" && level_of_op(A) == 0L) low_rank_and_diagonal(A)
    if (!is.null(low)) {
      w <- woodbury(low)
      return(function_op(function(v) woodbury_solution(w, v)$x, n, symmetric = TRUE))
    }
    by <- function(a) function(v) plain_columns(solve(a, v, ridge, tol, method, max_iter))
    return(named_inverse(function_op(by(a), n, a$symmetric, function(v) by(t(a))(v))))
  }
  ridge <- check_ridge(own$ridge + ridge, n)
  P <- precondition
  if (iterates) {
    K <- plain_tensor(own$K)
    at <- check_ridge(plain_value(ridge), n)
    check_symmetric_by_products(products_of_system(K, at, 1)$quickest, n)
    P <- chosen_preconditioner(P, K, at, rank, local)
    if (!is.null(P)) P$symmetric <- TRUE  # symmetry is not checked again
  }
  named_inverse(function_op(symmetric = TRUE, n = n, f = function(v) {
    plain_columns(solve(own$K, v, ridge = ridge, tol = tol, method = method, max_iter = max_iter,
                        precondition = P %or% FALSE))
  }))
}

named_inverse <- function(op) {
  op$label <- "inverse"
  op
}

# Returns the columns of a solution without its attributes.
plain_columns <- function(x) rearranged(x, function(x) matrix(as.vector(x), nrow(x)))

#' @rdname logdet
#' @export
determinant.linear_op <- function(x, logarithm = TRUE, ...) {
  own <- kernel_and_ridge(x)
  if (!is.null(own)) return(as_determinant(logdet(own$K, own$ridge, ...), logarithm))
  low <- low_rank_and_diagonal(x)
  if (is.null(low)) determinant(as.matrix(x), logarithm = logarithm)
  else as_determinant(estimate(woodbury(low)$logdet, 0), logarithm)
}
