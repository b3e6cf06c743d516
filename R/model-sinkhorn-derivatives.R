# Derivatives of optimal transport with respect to the points of the first cloud.

check_squared <- function(object, what) {
  if (object$p == 2) return(invisible())
  abort("unsupported", what, " is known for p = 2, not for p = ", format(object$p), ": fit with `p = 2`")
}

# The gradient of the divergence, or of the value if there is no divergence. By the envelope theorem only squared
# distances are differentiated.
transport_gradient <- function(object) {
  check_squared(object, "the gradient")
  x <- object$kept
  pull <- function(f, cloud, g) row_masses(x$mass, f, object$rho[["x"]]) * (x$at - mean_target(x$at, cloud, g, object))
  own <- object$own$x
  out <- 0 * object$x
  out[x$heavy, ] <- 2 * (pull(object$f, object$target, object$g) - if (is.null(own)) 0 else pull(own, x, own))
  out
}

#' Products with the Hessian of an optimal transport
#'
#' Computes `H V`, the derivative of the gradient in direction `V`, where `H` is the matrix of second derivatives of the
#' Sinkhorn divergence with respect to the points of `x`. Use it for Newton steps on the points of a cloud, or for the
#' curvature along a direction, `sum(V * hessian_product(object, V))`.
#'
#' With `debias = FALSE` it is the Hessian of the value instead. The derivatives of the potentials are solutions of a
#' linear system, the Schur complement of the Jacobian of the marginals, and are computed by conjugate gradients. Each
#' iteration takes two products with the plan, which is never formed. The smaller `epsilon`, the more iterations are
#' needed. The result is as accurate as the potentials: choose a small `tol` in [sinkhorn()].
#'
#' Cost, masses and `rho` are those of the fit; `p` must be 2.
#'
#' @param object what [sinkhorn()] returned
#' @param V a direction for each point of `x`: a matrix with the size of `x`, a data frame, or a vector
#' @param tol tolerance of the relative residual of the linear system
#' @param max_iter maximum number of iterations
#' @return A matrix of the size of `x`. Points without mass have zeros.
#' @seealso [sinkhorn()], whose `predict(gradient = TRUE)` is the gradient
#' @concept second derivatives of the Sinkhorn divergence
#' @concept Hessian-vector product
#' @export
#' @examples
#' x <- as.matrix(iris[1:50, 3:4])
#' found <- sinkhorn(x, iris[51:100, 3:4], epsilon = 0.5, tol = 1e-9)
#' V <- matrix(rnorm(100), 50)
#' HV <- hessian_product(found, V)
#' sum(V * HV)
#' # The difference of two gradients
#' ahead <- sinkhorn(x + 1e-4 * V, iris[51:100, 3:4], epsilon = 0.5, tol = 1e-9)
#' max(abs(HV - (predict(ahead, gradient = TRUE) - predict(found, gradient = TRUE)) / 1e-4))
hessian_product <- function(object, V, tol = 1e-8, max_iter = 1000) {
  check_sinkhorn(object)
  check_squared(object, "the Hessian")
  how <- list(tol = tol, max_iter = check_count(max_iter, "max_iter"))
  V <- check_complete(points_like(V, object, "V"), "V")
  if (!identical(dim(V), dim(object$x))) {
    abort("shape", "`V` must be ", paste(dim(object$x), collapse = " x "), " numbers, the size of `x`, not ",
          paste(dim(V), collapse = " x "))
  }
  heavy <- object$kept$heavy
  v <- unname(strip_term(V))[heavy, , drop = FALSE]
  out <- 0 * object$x
  out[heavy, ] <- change_across(object, v, how) - if (is.null(object$own)) 0 else change_within(object, v, how)
  out
}

# The derivative of the gradient of OT(x, y) as x moves by v.
change_across <- function(object, v, how) {
  x <- object$kept
  y <- object$target
  plan <- transport_plan(object)
  of_cost <- 2 * ((Vi(x$at) - Vj(y$at)) | Vi(v))
  rows <- as.vector(sum(plan, index = "j"))
  weigh_x <- root_weights(rows, object, "x")
  weigh_y <- root_weights(as.vector(sum(plan, index = "i")), object, "y")^2
  onto_x <- function(g) as.vector(plan %*% g)
  onto_y <- function(f) weigh_y * as.vector(t(plan) %*% f)
  forced_x <- as.vector(sum(plan * of_cost, index = "j"))
  forced_y <- weigh_y * as.vector(sum(plan * of_cost, index = "i"))
  # Balanced plans do not change if a constant moves from f to g; the term with `same` makes the system definite.
  same <- if (is_balanced(object$rho)) sqrt(rows / sum(rows)) else 0
  schur <- function(u) u - weigh_x * onto_x(onto_y(weigh_x * u)) + same * sum(same * u)
  df <- weigh_x * solved_potentials(schur, weigh_x * (forced_x - onto_x(forced_y)), how)
  dg <- forced_y - onto_y(df)
  change_of_pull(x$at, y$at, plan, df, dg, of_cost, object$epsilon) + 2 * rows * v
}

# The derivative of half the gradient of OT(x, x) as both sides move by v.
change_within <- function(object, v, how) {
  x <- object$kept
  plan <- plan_pairs(x, x, list(f = object$own$x, g = object$own$x), object)
  of_cost <- 2 * ((Vi(x$at) - Vj(x$at)) | (Vi(v) - Vj(v)))
  rows <- as.vector(sum(plan, index = "j"))
  weigh <- root_weights(rows, object, "x")
  both <- function(u) u + weigh * as.vector(plan %*% (weigh * u))
  df <- weigh * solved_potentials(both, weigh * as.vector(sum(plan * of_cost, index = "j")), how)
  change_of_pull(x$at, x$at, plan, df, df, of_cost, object$epsilon) + 2 * (rows * v - unname(plan %*% v))
}

# Returns 1 / sqrt(masses / lambda), with lambda = 1 / (1 + epsilon / rho); 0 for points without mass.
root_weights <- function(masses, object, side) {
  ifelse(masses > 0, 1 / sqrt(masses * (1 + object$epsilon / object$rho[[side]])), 0)
}

# The derivative of 2 sum_j P_ij (x_i - y_j) as the plan P changes.
change_of_pull <- function(x, y, plan, df, dg, of_cost, epsilon) {
  sums <- unname((plan * (Vi(df) + Vj(dg) - of_cost) / epsilon) %*% cbind(1, y))
  2 * (sums[, 1] * x - sums[, -1, drop = FALSE])
}

# Solves by conjugate gradients for a function that multiplies.
solved_potentials <- function(A, b, how) {
  op <- function_op(function(u) matrix(A(as.vector(u))), length(b), symmetric = TRUE)
  found <- quietly_solved(solve(op, b, tol = how$tol, method = "cg", max_iter = how$max_iter, report = TRUE))
  report <- solve_report(found)
  if (!report$converged) {
    warn("convergence", "the derivatives of the potentials have a relative residual of ",
         format(max(report$residual), digits = 3), " after ", how$max_iter, " iterations, not ", format(how$tol),
         ": a larger `max_iter` or `epsilon` would help")
  }
  as.vector(found)
}
