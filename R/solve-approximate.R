# Systems with approximated products: the entries for preconditioners, and residuals as far as the products allow.

# Splits an operator into a kernel matrix, or an approximated kernel matrix, and the sum of the diagonals. NULL for
# other operators. With `effects`, the operator may have terms V V' of a sparse V, too, which are then returned as one.
kernel_and_ridge <- function(op, effects = FALSE) tensor_and_ridge(op, effects) %or% approximated_and_ridge(op, effects)

tensor_and_ridge <- function(op, effects = FALSE) {
  times <- function(part, by) if (by == 1) part$tensor else by * part$tensor
  one_and_ridge(op, function(part) part$kind == "lazy", times, effects)
}

approximated_and_ridge <- function(op, effects = FALSE) {
  one_and_ridge(op, function(part) !is.null(approximation_of(part)), operator_of_system, effects)
}

# Splits an operator into take(op, coefficient) of the one term for which `is_one` is TRUE, diagonals with a nonnegative
# sum, and sparse terms.
one_and_ridge <- function(op, is_one, take, effects) {
  if (is_one(op)) return(list(K = take(op, 1), ridge = 0))
  if (op$kind != "sum") return(NULL)
  one <- vapply(op$parts, is_one, NA)
  diagonal <- vapply(op$parts, `[[`, "", "kind") == "diagonal"
  sparse <- effects & vapply(op$parts, is_sparse_gram, NA)
  if (sum(one) != 1 || !all(one | diagonal | sparse) || any(op$coefficients[sparse] < 0)) return(NULL)
  ridge <- Reduce(`+`, Map(function(part, by) by * unname(part$values), op$parts[diagonal],
                           op$coefficients[diagonal])) %or% 0
  if (isTRUE(any(plain_value(ridge) < 0))) return(NULL)
  V <- Map(function(part, by) sqrt(by) * part$parts[[1]]$matrix, op$parts[sparse], op$coefficients[sparse])
  list(K = take(op$parts[one][[1]], op$coefficients[one]), ridge = ridge, effects = do.call(cbind, V))
}

# Returns an approximation for systems, times a number. Near pairs are in float64: the rounding of float32 differs from
# one direction to the next, and keeps iterations from coming further.
operator_of_system <- function(op, by) {
  state <- approximation_of(op)
  if (by == 1 && near_precision(state) == "float64") return(op)
  K <- if (by == 1) kernel_tensor(op) else by * kernel_tensor(op)
  fine <- if (by == 1) state$fine
  if (is.null(fine)) {
    fine <- new_approximation(plain_tensor(K), state$tol, state$certify)
    fine$near <- "float64"
    fine$used <- state$used
    fine$prices <- state$prices
    if (by == 1) state$fine <- fine
  }
  approximation_op(fine, K)
}

system_arguments <- function(precondition = TRUE, rank = NULL, local = TRUE, start = NULL, ...) {
  refuse_others(list(...), system_arguments, "solve() of an approximation")
  list(precondition = precondition, rank = rank, local = local, start = start)
}

# Computes the errors of products with vectors: root mean squares over a sample of rows, computed pair by pair.
products_off <- function(K, x) {
  at <- audited_sample(seq_len(nrow(x)))
  exact <- unname(exact_rows(kernel_tensor(K), at) %*% x)
  sqrt(colMeans((operator_product(K, x)[at, , drop = FALSE] - exact)^2))
}

# A residual far below the error of products does not hold for the exact matrix, so iterations end at a third of that
# error. The error is measured at P^-1 b, which has the size of the solution, unless the goal is so large that it would
# hide the error.
approximated_solution <- function(own, b, ridge, tol, method, max_iter, how) {
  size <- pmax(sqrt(colMeans(b^2)), .Machine$double.xmin)
  ridge <- rep_len(as.numeric(own$ridge + ridge), nrow(b))
  P <- if (method != "minres") {
    chosen_preconditioner(how$precondition, own$K, ridge, how$rank, how$local, own$effects)
  }
  off_at <- function(x) products_off(own$K, x) / size
  goal <- if (is.null(P) || tol >= largest_off / 3) tol else max(tol, off_at(r_precondition(live_pointer(P), b)) / 3)
  start <- check_start(how$start, nrow(b), ncol(b))
  A <- with_ridge(if (is.null(own$effects)) own$K else own$K + sparse_gram(own$effects), ridge)
  found <- by_products(A, b, min(goal, largest_off), method, max_iter, P, start)
  off <- off_at(found$x)
  found$converged <- (found$converged || all(found$residual <= off)) && all(off <= max(tol, largest_off))
  found$residual <- sqrt(found$residual^2 + off^2)
  c(found, list(off = max(off)))
}

# The largest error relative to a right-hand side: with more, a solution would have little to do with the exact one.
largest_off <- 0.01

# The error of a sum over eigenvalues if products err by `off`, relative to the ridge: to first order, in both signs.
off_by_products <- function(off, n) sqrt(n) * off + n * off^2 / 2

# Adds the errors of approximated products to a path, at ridges where they were not counted before.
path_off_by_products <- function(path, off, n) {
  of <- off / path$ridge
  k <- which(!path$refined)
  added <- function(a, b) sqrt(a^2 + b^2)
  path$logdet_se[k] <- added(path$logdet_se[k], off_by_products(of, n)[k])
  path$trace_se[k] <- added(path$trace_se[k], (off_by_products(of, n) / path$ridge)[k])
  path$form_error[k, ] <- path$form_error[k, ] + off * path$square[k, ]
  path$square_error[k, ] <- path$square_error[k, ] + 2 * of[k] * path$square[k, ]
  path
}
