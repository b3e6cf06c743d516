# Derivatives of optimal transport in the points of the first cloud.

check_squared <- function(object, what) {
  if (object$p == 2) return(invisible())
  abort("unsupported", what, " is known for p = 2, not for p = ", format(object$p), ": fit with `p = 2`")
}

# The gradient of the divergence, or of the value if there is none. Potentials are stationary, so that squared distances
# alone have a derivative in the points.
transport_gradient <- function(object) {
  check_squared(object, "the gradient")
  x <- object$kept
  pull <- function(f, cloud, g) row_masses(x$mass, f, object$rho[["x"]]) * (x$at - mean_target(x$at, cloud, g, object))
  own <- object$own$x
  out <- 0 * object$x
  out[x$heavy, ] <- 2 * (pull(object$f, object$target, object$g) - if (is.null(own)) 0 else pull(own, x, own))
  out
}
