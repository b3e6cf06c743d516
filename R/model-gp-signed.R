# The system of a working response with W < 0 in some rows: A = K + 1 / W is symmetric and indefinite. With R = |W|^1/2,
# S = sign(W) and M = S + R K R, A^-1 = R M^-1 R and |I + K W| = |S| |M|.

# Makes the system of a dense model; NULL if the stationary point is not a maximum of the joint density.
signed_gp_system <- function(model, values, noise) {
  K <- model$K %or% dense_gp_covariance(model, values)
  root <- sqrt(abs(model$w))
  M <- root * t(root * K)
  diag(M) <- diag(M) + sign(model$w)
  size <- determinant(M)
  inverse <- if (is.finite(size$modulus) && size$sign == prod(sign(model$w))) {
    tryCatch(solve.default(M), error = function(e) NULL)
  }
  if (is.null(inverse)) return(NULL)
  new_system("gp_signed", model, values, noise, K = K, inverse = root * t(root * inverse),
             logdet = as.numeric(size$modulus))
}

#' @export
solve.gp_signed <- function(a, b, ...) a$inverse %*% b

#' @export
covariance_times.gp_signed <- function(system, x) system$K %*% x

#' @export
system_inverse.gp_signed <- function(system) system$inverse

#' @export
inverse_diagonal.gp_signed <- function(system) diag(system$inverse)

#' @export
inverse_forms.gp_signed <- function(system, k) colSums(k * (system$inverse %*% k))

#' @export
system_slopes.gp_signed <- function(system) slopes_by_inverse(system, system$inverse)
