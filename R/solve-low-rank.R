# Low-rank operators F F': by landmarks if a matrix has entries, else by products with random columns.

#' Low-rank approximation of a kernel matrix
#'
#' Approximates `K` by F F', where F has `rank` columns, and returns the operator F F' plus the ridge. Use it for the
#' Nystrom or subset-of-regressors approximation of a kernel method. Products take time and memory for F only (n x rank
#' numbers), and [solve()][solve.linear_op] and [logdet()] of the result are exact, by the Woodbury formula and the
#' determinant of a small matrix.
#'
#' For a lazy tensor, F comes from *landmarks*, points chosen by randomly pivoted Cholesky, and needs one column of `K`
#' per landmark; F F' equals `K` at the landmarks. Other operators, and formulas with `Vij()`, are multiplied by `rank`
#' random columns (the Nystrom method on a *sketch*). If the diagonal of the operator is not available, 16 more random
#' columns estimate the remainder.
#'
#' A diagonal in the operator is removed first and added again: `lowrank(K + 0.1 * identity_op(n))` is `lowrank(K, ridge
#' = 0.1)`.
#'
#' The result is a [linear_op]: use it with `%*%`, `crossprod()`, `diag()`, `t()`, `+` and `A[I, J]`. `$factor` is F,
#' `$landmarks` gives the row numbers of the landmarks (`NULL` for a sketch), and `$residual` the share of the trace of
#' `K` that F F' does not explain.
#'
#' @param K a lazy tensor of one component, a [linear_op] or a matrix; symmetric and positive semi-definite
#' @param rank maximum number of columns of F. The default is 300 to 1000 landmarks as in [preconditioner()], 128 for a
#'   sketch, or, with `tol`, as many as `tol` requires; F then takes no more memory than the option
#'   `kernweave.max_dense_mb`
#' @param tol share of the trace, between 0 and 1, that may remain unexplained; F has as few columns as reach this share
#' @param ridge a number, or one per point, added to the diagonal; must be positive to solve with the result; by default
#'   0
#' @param seed a whole number; by default drawn with R's random numbers, so that `set.seed()` applies
#' @return An operator, see [linear_op].
#' @seealso [linear_op], [solve()][solve.linear_op], [logdet()], [preconditioner()], [keigen()]
#' @concept Nystrom approximation
#' @concept subset of regressors
#' @concept inducing points
#' @concept randomly pivoted Cholesky
#' @export
#' @examples
#' x <- matrix(runif(4000), 2000)
#' K <- kernel_gaussian(x, x, scale = 0.3)
#' A <- lowrank(K, tol = 1e-6, ridge = 0.01)
#' A
#' length(A$landmarks)
#' w <- solve(A, sin(6 * x[, 1]))
#' logdet(A)
#' lowrank(K %*% K, rank = 50)$residual
lowrank <- function(K, rank = NULL, tol = NULL, ridge = 0, seed = NULL) {
  op <- square_op(K, "lowrank()")
  if (level_of_op(op) > 0L || is_traced(ridge)) {
    abort("no_gradient", "lowrank() has no derivatives: its landmarks are chosen at random")
  }
  n <- op$dim[1]
  ridge <- check_ridge(ridge, n)
  if (!is.null(tol)) check_tolerance(tol)
  apart <- without_diagonal(op)
  op <- apart$op
  most <- most_columns(rank, tol, op)
  found <- if (n == 0) list(factor = matrix(0, 0, 0), residual = 0)
  else if (!tells_entries(op)) sketched_factor(op, most, tol, check_seed(seed))
  else landmark_factor(lazy_set(op$tensor, precision = "float64"), most, tol, check_seed(seed))
  made <- new_op("lowrank", op$dim, factor = found$factor, landmarks = found$landmarks, residual = found$residual,
                 dimnames = dimnames(op), symmetric = TRUE)
  if (!is.null(tol) && is.null(rank) && made$residual > tol) {
    warn("convergence", "a low rank of ", ncol(made$factor), " leaves ", format(made$residual, digits = 3),
         " of the trace, not ", format(tol), ": more columns need a larger `rank`, or option kernweave.max_dense_mb")
  }
  with_ridge(made, ridge + apart$ridge)
}

# Splits a sum into its other terms and the ridge, if its diagonals are ridges.
without_diagonal <- function(op) {
  none <- list(op = op, ridge = 0)
  if (op$kind != "sum") return(none)
  diagonal <- vapply(op$parts, `[[`, "", "kind") == "diagonal"
  if (!any(diagonal)) return(none)
  ridge <- Reduce(`+`, Map(function(part, by) by * unname(part$values), op$parts[diagonal], op$coefficients[diagonal]))
  if (!all(is.finite(ridge)) || any(ridge < 0)) return(none)
  list(op = sum_ops(op$parts[!diagonal], op$coefficients[!diagonal]), ridge = ridge)
}

tells_entries <- function(op) op$kind == "lazy" && can_take(op$tensor)

most_columns <- function(rank, tol, op) {
  n <- op$dim[1]
  if (!is.null(rank)) return(min(check_count(rank, "rank"), n))
  room <- max(1, min(n, floor(option("max_dense_mb") * 2^20 / 8 / n)))
  if (!is.null(tol)) room else min(room, if (tells_entries(op)) default_rank(n) else 2 * widest_product)
}

landmark_factor <- function(K, most, tol, seed) {
  diagonal <- semidefinite_diagonal(as.vector(diag(K)))
  found <- r_landmark_factor(native_entries(K), diagonal, most, tol %or% 0, seed)
  if (found$asymmetry > 1e-8 * max(diagonal)) {
    abort("indefinite", "the matrix is not symmetric: entries at the landmarks differ from those across the diagonal ",
          "by ", format(found$asymmetry, digits = 3))
  }
  if (found$lowest < -1e-6 * max(diagonal)) {
    abort("indefinite", "the matrix is not positive semi-definite: landmarks leave ", format(found$lowest, digits = 3),
          " on its diagonal, of at most ", format(max(diagonal), digits = 3))
  }
  found
}

sketched_factor <- function(op, most, tol, seed) {
  if (isFALSE(op$symmetric)) abort("indefinite", "the operator is not symmetric: a low rank F F' would not be near it")
  diagonal <- known_diagonal(op)
  trace <- if (is.null(diagonal)) NA_real_ else sum(semidefinite_diagonal(diagonal))
  r_sketched_factor(native_operator(op, min(most, widest_product), ladder = TRUE), most, tol %or% 0, trace, seed)
}

# Checks the diagonal of a matrix, which may show that the matrix is not positive semi-definite.
semidefinite_diagonal <- function(diagonal) {
  if (anyNA(diagonal)) abort("value", "the diagonal of the matrix has NaN at point ", which(is.na(diagonal))[1])
  if (any(diagonal < 0) || all(diagonal == 0)) {
    abort("indefinite", "the matrix is not positive semi-definite: its diagonal has ",
          format(min(diagonal), digits = 3), " at point ", which.min(diagonal),
          if (all(diagonal == 0)) ", and is zero throughout")
  }
  diagonal
}

# --- a low rank and a diagonal ---------------------------------------------------------------------------------

# Splits F F' + diag(d) with few columns of F into F and d. NULL for other operators.
low_rank_and_diagonal <- function(op) {
  terms <- terms_of(op, 1)
  diagonal <- numeric(op$dim[1])
  factors <- list()
  for (term in terms) {
    if (term$op$kind == "diagonal") diagonal <- diagonal + term$by * unname(term$op$values)
    else {
      factor <- gram_factor(term$op)
      if (is.null(factor) || term$by < 0) return(NULL)
      factors <- c(factors, list(sqrt(term$by) * factor))
    }
  }
  F <- if (length(factors)) do.call(overlay$cbind, factors)
  meant <- any(vapply(terms, function(term) term$op$kind == "lowrank", NA))
  if (is.null(F) || !meant && (ncol(F) >= op$dim[1] || !all(diagonal > 0))) return(NULL)
  list(factor = F, diagonal = diagonal)
}

# Returns F for an operator F F': a low rank, or the product of a thin matrix with its transpose.
gram_factor <- function(op) {
  if (op$kind == "lowrank") return(op$factor)
  if (op$kind != "product" || length(op$parts) != 2) return(NULL)
  left <- op$parts[[1]]
  right <- op$parts[[2]]
  if (!left$kind %in% c("lazy", "dense") || left$dim[2] >= left$dim[1]) return(NULL)
  same <- isTRUE(op$symmetric) ||
    left$kind == "dense" && right$kind == "dense" && identical(unname(left$matrix), t(unname(right$matrix)))
  if (same) plain_entries(left)
}

# Prepares solutions with F F' + diag(d): the root of the small matrix I + F' diag(d)^-1 F, and the log-determinant.
woodbury <- function(low) {
  F <- low$factor
  d <- low$diagonal
  if (!all(d > 0)) {
    abort("indefinite", "a matrix of rank ", ncol(F), " and ", counted(nrow(F), "row"), " can only be solved with ",
          "a positive ridge; the diagonal added to it has ", format(min(plain_value(d)), digits = 3), " at point ",
          which.min(plain_value(d)))
  }
  if (!ncol(F)) return(c(low, list(logdet = sum(log(d)))))
  root <- chol(diag(ncol(F)) + crossprod(F / sqrt(d)))
  c(low, list(root = root, logdet = sum(log(d)) + 2 * sum(log(diag(root)))))
}

# Solves, and refines while this helps, since the formula subtracts large numbers if the diagonal is small.
woodbury_solution <- function(w, b) {
  once <- function(b) {
    y <- b / w$diagonal
    if (is.null(w$root)) return(y)
    few <- overlay$backsolve(w$root, overlay$backsolve(w$root, crossprod(w$factor, y), transpose = TRUE))
    y - (w$factor %*% few) / w$diagonal
  }
  missed <- function(x) b - w$factor %*% crossprod(w$factor, x) - w$diagonal * x
  x <- once(b)
  left <- missed(x)
  for (step in 1:2) {
    nearer <- x + once(left)
    then <- missed(nearer)
    if (sum(then^2) >= sum(left^2)) break
    x <- nearer
    left <- then
  }
  list(x = x, residual = relative_size(left, b))
}
