# solve() of a lazy tensor: dense if the system is small, else conjugate gradients with a preconditioner.

#' Solve a linear system with a kernel matrix
#'
#' Solves `(K + ridge I) x = b` for a symmetric positive definite kernel matrix `K`. Use it for the weights of kriging
#' or kernel ridge regression: beyond 2000 points the matrix is never formed.
#'
#' For up to 2000 points the matrix is formed and factored. For more points, preconditioned conjugate gradients need
#' only products with the matrix. The tolerance holds for every column: the residual is recomputed in double precision
#' at the end. If the residual exceeds `tol`, you get a warning of class `kernweave_warning_convergence` that names a
#' remedy, and the report has the residual. With `precision = "float32"` products inside the iteration are in float32,
#' residuals in float64, with the same tolerance. For a smooth kernel with a very small ridge, rounding may spoil the
#' preconditioner. The iteration then continues without the preconditioner, though the report lists it.
#'
#' @param a a lazy tensor of one component over the same points along i and j
#' @param b numbers: a vector, or a matrix with a column for each right-hand side; without `b`, the result is the
#'   inverse as an operator, see [solve()][solve.linear_op]
#' @param ridge a number, or one per point, added to the diagonal (the penalty, or nugget); by default 0
#' @param tol tolerance of the relative residual, `|b - (K + ridge I) x| / |b|`; by default 1e-6
#' @param trend a matrix of regressors, to solve `(K + ridge I) x + trend d = b, trend' x = 0` as in universal kriging;
#'   `d` is the attribute `trend` of the result. The matrix need only be positive definite for vectors orthogonal to the
#'   regressors: thin-plate kernels need `cbind(1, x)`, [kernel_energy()] needs a column of ones
#' @param method `"dense"`, `"cg"`, or `"auto"`: dense for up to 2000 points. `"block"` is block conjugate gradients, 64
#'   right-hand sides at a time: fewer iterations if there are many right-hand sides and the preconditioner is weak or
#'   absent. `"minres"` (minimal residuals, without a preconditioner) is for symmetric matrices that are not definite
#' @param precondition `TRUE` to build a [preconditioner()] (not with a [Vij()]), a preconditioner built before, or
#'   `FALSE`
#' @param rank,local as in [preconditioner()]
#' @param start starting values, shaped like `b`
#' @param max_iter maximum number of iterations, by default `100 + 10 sqrt(n)`
#' @param report attach a report on the solution, for [solve_report()] and [audit()]? Not within [gradient()]
#' @param ... not used
#' @return Numbers shaped and named like `b`; without `b`, an operator.
#' @seealso [solve_report()], [logdet()], [preconditioner()], [least_squares()] for matrices that are not square,
#'   [conditional()] for kriging with its variance, [audit()] for the error of any reduction
#' @concept conjugate gradients
#' @name solve.lazy_tensor
#' @export
#' @examples
#' x <- matrix(runif(6600), 2200)
#' y <- sin(6 * x[, 1]) + rnorm(2200, sd = 0.1)
#' K <- kernel_matern(x, x, scale = 0.3, nu = 1.5)
#' weights <- solve(K, y, ridge = 0.01)
#' new <- matrix(runif(6), 2)
#' kernel_matern(new, x, scale = 0.3, nu = 1.5) %*% weights
solve.lazy_tensor <- function(a, b, ridge = 0, tol = 1e-6, trend = NULL,
                              method = c("auto", "dense", "cg", "block", "minres"), precondition = TRUE, rank = NULL,
                              local = TRUE, start = NULL, max_iter = NULL, report = FALSE, ...) {
  refuse_others(list(...), solve.lazy_tensor, "solve() of a lazy tensor")
  check_flag(report, "report")
  if (has_batches(a) && !missing(b)) {
    if (!is.null(start)) abort("unsupported", "`start` is not for systems with batches")
    if (report) abort("unsupported", "`report` is not for systems with batches; take_batch() gives one of them")
    return(solve_batches(a, b, ridge = ridge, tol = tol, trend = trend, method = method,
                         precondition = precondition, rank = rank, local = local, max_iter = max_iter))
  }
  n <- check_square(a)
  if (missing(b)) {
    return(inverse_op(NULL, list(K = a, ridge = 0), n, ridge, tol, check_method(method), max_iter,
                      precondition, rank, local))
  }
  method <- check_method(method)
  if (is_traced_system(a, b, ridge, trend)) {
    how <- list(ridge = ridge, tol = tol, method = method, precondition = precondition, rank = rank, local = local,
                max_iter = max_iter)
    return(if (is.null(trend)) do.call(solve_node, c(list(a, b), how))
           else do.call(solve_with_trend, c(list(a, b, trend), how)))
  }
  b <- right_hand_side(b, n)
  ridge <- check_ridge(ridge, n)
  check_tolerance(tol)
  started <- proc.time()[["elapsed"]]
  regressors <- if (!is.null(trend)) check_trend(trend, n)
  if (!is.null(trend) && any(diag(a) <= 0)) {
    return(solve_reduced(a, b, ridge, regressors, report, tol = tol, method = method, precondition = precondition,
                         rank = rank, local = local, max_iter = max_iter))
  }
  parts <- if (!is.null(trend)) taken_apart(b$values, regressors)
  sides <- if (is.null(parts)) b$values else cbind(parts$left, parts$Q)
  start <- check_start(start, n, ncol(b$values))
  if (ncol(start) && !is.null(parts)) start <- cbind(start, 0 * parts$Q)
  found <- if (n == 0 || !ncol(sides)) list(x = sides, method = "dense")
  else if (method == "dense" || method == "auto" && n <= small_system) solve_dense(a, ridge, sides)
  else solve_by_products(a, ridge, sides, tol, method, precondition, rank, local, start, max_iter)
  of_trend <- if (!is.null(parts)) without_trend(found$x, parts)
  coefficients <- if (!is.null(parts)) trend_coefficients(parts, of_trend$b)
  x <- of_trend$x %or% found$x
  found$x <- NULL
  found$system <- list(K = a, ridge = ridge, b = b$values, trend = regressors, coefficients = coefficients)
  found <- c(found, list(tol = tol, n = n, seconds = proc.time()[["elapsed"]] - started))
  reported(structure(shaped_as(x, b), trend = coefficients), found, report)
}

# The largest system for which a Cholesky factor is the fastest method.
small_system <- 2000

solve_dense <- function(K, ridge, b) {
  root <- dense_root(K, ridge)
  list(x = backsolve(root, backsolve(root, b, transpose = TRUE)), method = "dense", converged = TRUE)
}

# --- report ---------------------------------------------------------------------------------------------------

#' Report on the solution of a linear system
#'
#' Returns the method, the iterations and the residuals of a solution, to check its convergence.
#'
#' @param x the result of [solve()][solve.lazy_tensor] or [least_squares()] with `report = TRUE`
#' @param ... not used
#' @return An object of class `kernweave_report`: a list with `method`, `converged`, `iterations` and true `residual` of
#'   each column, `history` of the largest residual, number of `products`, `preconditioner`, `seconds`. `plot()` draws
#'   the history.
#' @seealso [solve()][solve.lazy_tensor]
#' @export
#' @examples
#' x <- matrix(runif(6600), 2200)
#' report <- solve_report(solve(kernel_gaussian(x, x, 0.2), rnorm(2200), ridge = 0.1, report = TRUE))
#' report
#' plot(report)
solve_report <- function(x) {
  report <- attr(x, "report")
  if (!inherits(report, "kernweave_report")) {
    abort("input", "`x` has no report: it must be what solve() or least_squares() returned, asked with ",
          "`report = TRUE`")
  }
  report
}

# Returns a solution, with its report if `asked`.
reported <- function(x, report, asked) {
  if (isFALSE(report$converged)) warn_of_convergence(report)
  if (asked) attr(x, "report") <- structure(report, class = "kernweave_report")
  x
}

#' @rdname solve_report
#' @export
print.kernweave_report <- function(x, ...) {
  cat("<solve report> ", if (is.null(x$dim)) count_text(x$n, "point") else size_text(x), ", ", x$method,
      if (!is.null(x$iterations)) if (x$converged) ", converged" else ", not converged", "\n", sep = "")
  if (!is.null(x$iterations)) {
    cat("  iterations ", paste(unique(range(x$iterations)), collapse = " to "), ", ", count_text(x$products, "product"),
        if (x$rough) " (float32 within, float64 residuals)", "\n", sep = "")
    say("  residual   ", format(max(x$residual), digits = 3), ", asked for ", format(x$tol),
        if (!is.null(x$off)) paste0("; approximated products are off by ", format(x$off, digits = 2)), "\n")
    if (!is.null(x$preconditioner)) print(x$preconditioner)
  }
  else if (!is.null(x$residual)) cat("  residual   ", format(max(x$residual, 0), digits = 3), "\n", sep = "")
  cat("  seconds    ", format(x$seconds, digits = 3), "\n", sep = "")
  invisible(x)
}

# Prints one line, since str() of a solution shows its attributes.
#' @export
str.kernweave_report <- function(object, ...) cat(" <solve report>", object$method, "\n")

#' @rdname solve_report
#' @export
plot.kernweave_report <- function(x, ...) {
  if (!length(x$history)) abort("input", "a dense solution has no history to be drawn")
  graphics::plot(seq_along(x$history), x$history, type = "l", log = "y", xlab = "iteration",
                 ylab = "largest relative residual", ...)
  graphics::abline(h = x$tol, lty = 2)
  invisible(x)
}

# Solves the system of each batch; right-hand sides may be the same for all batches.
solve_batches <- function(K, b, ...) {
  batches <- K$extent[-(1:2)]
  if (is_traced(b) || length(traced_operands(K))) {
    abort("no_gradient", "solve() with batches has no gradient; write it batch by batch, with take_batch()")
  }
  if (!is.numeric(b)) abort("input", "`b` must be numbers, not ", describe(b))
  own <- batch_dim(b)
  fits <- length(own) <= length(batches) && all(own == 1 | own == batches[seq_along(own)])
  if (!fits) {
    abort("shape", "`b` has batches ", paste(own, collapse = " x "), ", the formula has ",
          paste(batches, collapse = " x "))
  }
  at <- places_of_batches(own, batches)
  if (!prod(batches)) return(array(0, c(if (length(dim(b)) < 2) length(b) else dim(b)[1:2], batches)))
  found <- lapply(seq_len(prod(batches)), function(k) {
    x <- solve(take_batch(K, k), one_batch(b, at[k]), ...)
    array(x, c(NROW(x), NCOL(x)))
  })
  out <- array(unlist(found), c(dim(found[[1]]), batches))
  if (length(dim(b)) < 2) without_column(out, 2) else out
}

warn_of_convergence <- function(report) {
  remedy <- if (isTRUE(report$off > largest_off)) "a smaller tolerance of the products, or a larger ridge, would help"
  else if (report$method == "lsmr") "a ridge, columns of one length, or a larger `max_iter` would help"
  else if (report$ridge < 1e-8) "a ridge (a nugget) makes the system better conditioned"
  else if (report$rough) "precision = \"float64\" may come further"
  else if (is.null(report$preconditioner)) "precondition = TRUE would help"
  else if (!report$preconditioner$neighbours && report$preconditioner$residual > 100 * report$ridge) {
    "local = TRUE would help: landmarks alone leave much"
  } else "a larger `rank`, or a shorter scale of the kernel, would help"
  how <- switch(report$method, lsmr = "least squares", minres = "minimal residuals", "conjugate gradients")
  warn("convergence", how, " ended after ",
       max(report$iterations), " iterations with a residual of ", format(max(report$residual), digits = 3), ", not ",
       format(report$tol), ": ", remedy)
}

# Solves without warnings of convergence, which are given once at the end.
quietly_solved <- function(value) {
  withCallingHandlers(value, kernweave_warning_convergence = function(w) invokeRestart("muffleWarning"))
}
