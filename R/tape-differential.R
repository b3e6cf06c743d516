# Derivatives of formulas, pair by pair: again formulas, to be reduced like other formulas.

#' Derivatives of a formula at each pair
#'
#' These functions differentiate the formula itself at each pair, whereas [vjp()] and [jvp()] differentiate a reduction.
#' Use them for kernels that contain derivatives: scores, Laplacians, divergences. The result is lazy, and has the axes
#' of `F` even if the derivative is constant. Every operation has both modes, so the functions work for any formula and
#' can be nested.
#' \describe{
#' \item{`lazy_gradient`}{reverse mode: the derivative of the inner product of `cotangent` and `F`, shaped like `wrt`}
#' \item{`lazy_derivative`}{forward mode: the derivative of `F` along `tangent`, shaped like `F`}
#' \item{`grad_matrix`}{the Jacobian by columns: first the derivatives of all components of `F` with respect to the
#'   first component of `wrt`}
#' \item{`divergence`}{the sum of the derivatives of each component of `F` with respect to the same component of `wrt`}
#' \item{`laplacian`}{the divergence of the gradient of a formula of one component}
#' \item{`operator_trace`, `operator_adjoint`}{trace and adjoint of the linear map from `wrt` to `F`}
#' }
#'
#' @param F a lazy tensor
#' @param wrt an operand made by [Vi()], [Vj()] or [Pm()] that `F` reads along its own axis
#' @param cotangent,tangent,u lazy tensors, or numbers: one, or one per component
#' @return A lazy tensor.
#' @seealso [vjp()] for derivatives of reductions
#' @concept Jacobian
#' @concept Stein kernel
#' @name pair-derivatives
#' @examples
#' x <- Vi(matrix(runif(30), 10, 3), name = "x")
#' y <- Vj(matrix(runif(60), 20, 3), name = "y")
#' K <- exp(-sqdist(x, y))
#' lazy_gradient(K, x)
#' sum(laplacian(K, x), index = "j")
#' # the derivatives of K %*% b with respect to all parameters, a column for each, in one pass
#' scales <- Pm(c(0.5, 1, 2))
#' size <- Pm(1.5)
#' K <- size * exp(-sqdist(x / scales, y / scales))
#' reduction(c(lazy_gradient(K, scales), lazy_gradient(K, size)) * Vj(runif(20)), "sum")
NULL

#' @rdname pair-derivatives
#' @export
lazy_gradient <- function(F, wrt, cotangent = 1) {
  pair_operand(F, wrt)
  derived("Grad", F, wrt, beside_formula(cotangent, F, width(F), "cotangent"))
}

#' @rdname pair-derivatives
#' @export
lazy_derivative <- function(F, wrt, tangent = 1) {
  target <- pair_operand(F, wrt)
  derived("Diff", F, wrt, beside_formula(tangent, wrt, target$width, "tangent"))
}

#' @rdname pair-derivatives
#' @export
grad_matrix <- function(F, wrt) {
  pair_operand(F, wrt)
  derived("GradMatrix", F, wrt)
}

#' @rdname pair-derivatives
#' @export
divergence <- function(F, wrt) {
  n <- pair_operand(F, wrt)$width
  if (width(F) != n) abort("shape", "a divergence needs as many components as `wrt` has: ", n, ", not ", width(F))
  derived("Divergence", F, wrt)
}

#' @rdname pair-derivatives
#' @export
laplacian <- function(F, wrt) {
  pair_operand(F, wrt)
  if (width(F) != 1) abort("shape", "a Laplacian needs a formula of one component, not of ", width(F))
  derived("Laplacian", F, wrt)
}

#' @rdname pair-derivatives
#' @export
operator_trace <- function(F, wrt) divergence(F, wrt)

#' @rdname pair-derivatives
#' @export
operator_adjoint <- function(F, wrt, u) lazy_gradient(F, wrt, u)

pair_operand <- function(F, wrt) {
  if (!is_lazy(F)) abort("input", "`F` must be a lazy tensor, not ", describe(F))
  refuse_named_axes(operands_of(F$formula))
  check_real(bare_operand(wrt, "Vi(), Vj() or Pm()"))
}

# Returns `value` as a lazy tensor, which must have n components, or 1 component for all.
beside_formula <- function(value, F, n, name) {
  value <- as_lazy(value, F, name)
  if (!width(value) %in% c(1, n)) abort("shape", "`", name, "` has ", width(value), " components, not ", n)
  value
}

# Derives F; `name` is the derivative's name in texts.
derived <- function(name, F, wrt, along = NULL) {
  formula <- r_derive(name, F$formula, wrt$formula, along$formula)
  meeting <- r_meet(c(list(F), if (!is.null(along)) list(along)))
  new_lazy(formula, meeting$extent, meeting$settings, meeting$pairs)
}
