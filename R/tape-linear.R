# Linear algebra of traced values: dense matrices, by the usual adjoints.
#
# A symmetric argument has a symmetric cotangent, even though LAPACK reads only one triangle.

matrix_functions <- list(
  multiply = list(base::`%*%`, alist(x = g %*% t(columns(y, ncol(r))), y = t(rows(x, nrow(r))) %*% g)),
  crossprod = list(
    base::crossprod,
    alist(x = if (is.null(y)) columns(x, nrow(r)) %*% (g + t(g)) else columns(y, ncol(r)) %*% t(g),
          y = columns(x, nrow(r)) %*% g)
  ),
  tcrossprod = list(
    base::tcrossprod,
    alist(x = if (is.null(y)) (g + t(g)) %*% rows(x, nrow(r)) else g %*% rows(y, ncol(r)),
          y = t(g) %*% rows(x, nrow(r)))
  ),
  inverse = list(function(a) base::solve.default(a), alist(a = -t(r) %*% g %*% t(r))),
  solution = list(
    function(a, b) base::solve.default(a, b),
    alist(a = -as.matrix(solve(t(as.matrix(a)), g)) %*% t(as.matrix(r)), b = solve(t(as.matrix(a)), g))
  ),
  log_modulus = list(function(x) determinant(x)$modulus, alist(x = g * t(solve(x)))),
  cholesky = list(function(x) definite(base::chol.default(x)), alist(x = cholesky_adjoint(g, r))),
  inverse_of_cholesky = list(function(x) base::chol2inv(x), alist(x = -triangle(x %*% r %*% (g + t(g)) %*% r, TRUE))),
  triangular = list(
    function(a, b, upper, turned) base::backsolve(a, b, upper.tri = upper, transpose = turned),
    alist(a = -triangle(if (turned) as.matrix(r) %*% t(as.matrix(triangular(a, g, upper, FALSE)))
                        else as.matrix(triangular(a, g, upper, TRUE)) %*% t(as.matrix(r)), upper),
          b = triangular(a, g, upper, !turned))
  )
)

matrix_helpers <- list(
  # A vector beside a matrix is a row or a column, to fit the result.
  rows = function(x, n) if (is.matrix(x)) x else matrix(x, nrow = n),
  columns = function(x, n) if (is.matrix(x)) x else matrix(x, ncol = n),

  triangle = function(x, upper) x * (if (upper) row(x) <= col(x) else row(x) >= col(x)),

  cholesky_adjoint = function(g, r) {
    half <- (r %*% t(g)) * ((row(g) > col(g)) + (row(g) == col(g)) / 2)
    backsolve(r, t(backsolve(r, half + t(half)))) / 2
  }
)

# --- functions of base R made of these ---------------------------------------------------------------------------

linear_functions <- list(
  crossprod = function(x, y = NULL) {
    if (highest_level(list(x, y)) == 0L) crossprod(x, y) else backstage$crossprod(x, y)
  },
  tcrossprod = function(x, y = NULL) {
    if (highest_level(list(x, y)) == 0L) tcrossprod(x, y) else backstage$tcrossprod(x, y)
  },

  solve = function(a, b, ...) {
    if (missing(b)) return(if (is_traced(a)) backstage$inverse(a) else solve(a, ...))
    if (highest_level(list(a, b)) == 0L) solve(a, b, ...) else backstage$solution(a, b)
  },

  chol2inv = function(x, size = NCOL(x), LINPACK = FALSE) {
    if (!is_traced(x)) return(chol2inv(x, size))
    backstage$inverse_of_cholesky(leading(as.matrix(x), size))
  },

  backsolve = function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE) {
    if (highest_level(list(r, x)) == 0L) base::backsolve(r, x, k, upper.tri, transpose)
    else triangular_solution(r, x, k, upper.tri, transpose)
  },

  forwardsolve = function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
    if (highest_level(list(l, x)) == 0L) base::forwardsolve(l, x, k, upper.tri, transpose)
    else triangular_solution(l, x, k, upper.tri, transpose)
  }
)

triangular_solution <- function(a, b, k, upper, turned) {
  b <- if (is.matrix(b)) b[seq_len(k), , drop = FALSE] else b[seq_len(k)]
  backstage$triangular(leading(as.matrix(a), k), b, upper, turned)
}

leading <- function(x, k) if (k == ncol(x) && k == nrow(x)) x else x[seq_len(k), seq_len(k), drop = FALSE]

# Turns LAPACK's error into a condition that an optimiser may expect.
definite <- function(factor) {
  tryCatch(factor, error = function(e) {
    abort("indefinite", "chol(): the matrix is not positive definite: ", message_of(e))
  })
}

#' @export
solve.kernweave_traced <- function(a, b, ...) overlay$solve(a, b, ...)

#' @export
chol.kernweave_traced <- function(x, pivot = FALSE, ...) {
  if (pivot) abort("no_gradient", "chol() with `pivot` has no derivative here")
  backstage$cholesky(as.matrix(x))
}

#' @export
determinant.kernweave_traced <- function(x, logarithm = TRUE, ...) {
  modulus <- backstage$log_modulus(x)
  sign <- determinant(plain_value(x))$sign
  structure(list(modulus = if (logarithm) modulus else exp(modulus), sign = sign), class = "det")
}
