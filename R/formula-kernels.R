# Ready kernels: formulas of two sets of points, under the names that statisticians use.

#' Kernel and covariance functions
#'
#' These functions return the usual kernels between points `x` (along i) and points `y` (along j) as lazy tensors. Use
#' them in products, sums and linear systems. For kernels with parameters to estimate, see [kernel_spec()].
#'
#' Let d be the Euclidean distance of two points after division of each component by its length-scale: \describe{
#' \item{`kernel_gaussian`}{exp(-d^2 / 2)}
#' \item{`kernel_laplacian`}{exp(-d)}
#' \item{`kernel_matern`}{2^(1 - nu) / gamma(nu) u^nu besselK(u, nu) with u = sqrt(2 nu) d. This is exp(-u) for
#'   `nu` 1/2, (1 + u) exp(-u) for 3/2, (1 + u + u^2 / 3) exp(-u) for 5/2, and exp(-d^2 / 2) for Inf. For any other
#'   `nu`, a table gives the values, within 1e-13, at 1.2 to 1.5 times the cost}
#' \item{`kernel_cauchy`}{1 / (1 + d^2)}
#' \item{`kernel_inverse_multiquadric`}{1 / sqrt(1 + d^2)}
#' \item{`kernel_rational_quadratic`}{(1 + d^2 / (2 alpha))^(-alpha)}
#' \item{`kernel_energy`}{-d^exponent; its sums are the terms of energy distances}
#' \item{`kernel_thin_plate`}{d^2 log(d)}
#' \item{`kernel_linear`}{<x, y> / scale^2}
#' \item{`kernel_polynomial`}{(<x, y> / scale^2 + offset)^degree}
#' \item{`kernel_periodic`}{exp(-2 sum(sin(pi (x - y) / period)^2 / scale^2))}
#' }
#'
#' Two more kernels are made by [kernel_spec()] alone: \describe{
#' \item{`"same"`}{1 if x and y are equal in all components, otherwise 0}
#' \item{`"gneiting"`}{M(h / psi^(beta / 2)) / psi^max(1, D / 2) with psi = 1 + (u / time.scale)^(2 alpha), where u is
#'   the distance in the last component, time, h is the distance d in the other D components, and M is the Matern kernel
#'   of `nu` 1/2, 3/2 or 5/2. As a function of time alone it does not depend on `beta`. It is positive definite for
#'   `alpha` in (0, 1] and `beta` in \[0, 1\]}
#' }
#'
#' @section Scales of other packages:
#' The factor sqrt(2 nu) makes the scale comparable between values of `nu` and with the Gaussian kernel, as in Rasmussen
#' and Williams (2006, chapter 4). Other packages define the scale differently:
#'
#' | elsewhere | value for `kernel_matern(scale = s, nu = nu)` |
#' |---|---|
#' | `range` of `fields::Matern()`, `phi` of `geoR::matern()` | `s / sqrt(2 * nu)` |
#' | range of `gstat::vgm(model = "Mat")` | `s / sqrt(2 * nu)` |
#' | range of `gstat::vgm(model = "Ste")` | `s * sqrt(2)` |
#' | `phi` of spBayes, a decay | `sqrt(2 * nu) / s` |
#' | the second number in `m` of mgcv's `s(bs = "gp")`, `nu` 3/2 and 5/2 | `s / sqrt(2 * nu)` |
#' | theta of DiceKriging, of one component | `s` |
#'
#' For `kernel_gaussian(scale = s)`, `sigma` of `kernlab::rbfdot()` is `1 / (2 * s^2)`, the range of `gstat::vgm(model =
#' "Gau")` is `s * sqrt(2)`, and `sd` of [stats::dnorm()] is `s`.
#'
#' @section Derivatives:
#' Points given once, as in `kernel_gaussian(x)`, are a single operand `x` used along both axes. A derivative
#' `wrt = "x"` is then the total derivative: both points of a pair move. In `kernel_gaussian(x, x)` there are two
#' operands, `x` along i and `y` along j, that contain the same numbers. Each operand has its own partial derivative,
#' with the other operand held fixed, and the total derivative is the sum of the two.
#'
#' If two points coincide, derivatives that do not exist are set to 0. These are the first derivatives of
#' `kernel_laplacian`, `kernel_energy` and `kernel_matern` with `nu` 1/2, the second derivatives of these and of
#' `kernel_thin_plate`, and the third derivative of `kernel_matern` with `nu` 3/2. The same formulas written with norms
#' have fewer correct derivatives: the second derivative of `(1 + r) * exp(-r)` with `norm2(x - y)` for r is set to 0,
#' but that of `kernel_matern` with `nu` 3/2 is correct.
#'
#' @param x,y points: matrices with a row per point, vectors, or lazy tensors; without `y`, the points `x` along both
#'   axes
#' @param scale length-scale: one number (default 1), one number per component, or a lazy tensor of either kind, with
#'   respect to which you can differentiate
#' @param nu smoothness: a number from 0.1 to 5 (default 5/2), or `Inf`; or a lazy tensor of one such number, with
#'   respect to which you can differentiate once
#' @param alpha,degree,offset,period,exponent numbers, or lazy tensors of one component; by default 1, `degree` 2
#' @return A lazy tensor of one component.
#' @concept covariance function
#' @concept Gaussian, squared exponential or RBF kernel
#' @concept Matern covariance
#' @concept exponential covariance
#' @concept length-scale
#' @seealso [kernel_spec()] for kernels with parameters that are estimated, [kernel_radial()] for your own covariances,
#'   [sqdist()] and [lazy-operations] to write others, [plot()][plot.lazy_tensor] to see them, [lazy-matrix]
#' @name ready-kernels
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' y <- matrix(runif(60), 20, 3)
#' kernel_gaussian(x, y, scale = 0.5) %*% rnorm(20)
#' sum(kernel_matern(x, y, scale = c(0.5, 1, 2), nu = 3 / 2), index = "j")
#' # the gradient with respect to the length-scales
#' s <- Pm(c(0.5, 1, 2), name = "s")
#' vjp(sum(kernel_gaussian(x, y, s), index = "j", call = FALSE), wrt = s)
#' # the gradient with respect to points that are on both sides
#' vjp(sum(kernel_gaussian(x), index = "ij", call = FALSE), wrt = "x")
NULL

# Describes a Matern kernel of places whose scale grows with the time lag; time is the last component. D / 2 is the
# least exponent of psi with which the kernel is positive definite for every `beta`.
gneiting_row <- function(nu, matern) {
  of_points <- function(p, scale, time.scale, alpha, beta) {
    D <- width(p$x) - 1
    if (!D) abort("shape", "the Gneiting kernel is of places and of time, two inputs or more, not 1")
    check_gneiting(alpha, beta)
    places <- lapply(p, function(x) x[, , seq_len(D)])
    psi <- 1 + (((p$x[, , D + 1] - p$y[, , D + 1]) / time.scale)^2)^alpha
    kernel_rows[[matern]]$of_square(scaled_sqdist(places, scale) / psi^beta) / psi^max(1, D / 2)
  }
  list(title = paste("Gneiting", nu), more = list(time.scale = NULL, alpha = NULL, beta = NULL), order = 0,
       of_points = of_points, check = function(...) check_gneiting(...))
}

check_gneiting <- function(alpha, beta, estimate = NULL) {
  for (name in c("alpha", "beta")) {
    number <- get(name)
    if (!is.numeric(number)) next
    inner <- name %in% estimate
    if (number > 0 && number < 1 || !inner && (number == 1 || number == 0 && name == "beta")) next
    abort("value", "`", name, "` of the Gneiting kernel is ", if (name == "alpha" || inner) "above 0" else "0 or more",
          " and ", if (inner) "below 1, as it is estimated" else "at most 1", ", not ", format(number))
  }
}

# One row for each kernel: its title, its formula, and its further parameters. The formula is a function either of the
# squared distance divided by the squared scale, or of the points on both sides and the scale. `order`: 0 if the kernel
# is positive definite; m if it is so only on sums that vanish for polynomials of degree below m.
kernel_rows <- list(
  gaussian = list(title = "Gaussian", of_square = function(r) exp(-0.5 * r), order = 0),
  matern12 = list(title = "Matern 1/2", of_square = function(r) exp(-sqrt(r)), order = 0),
  matern32 = list(title = "Matern 3/2", of_square = function(r) operation("Matern32", list(x = 3 * r)), order = 0),
  matern52 = list(title = "Matern 5/2", of_square = function(r) operation("Matern52", list(x = 5 * r)), order = 0),
  matern = list(title = "Matern", more = list(nu = NULL), order = 0,
                of_square = function(r, nu) matern_of_square(r, nu)),
  spherical = list(title = "Spherical", of_square = function(r) profile_of_square(ready_profile("spherical"), r),
                   order = 0, most_inputs = 3),
  wendland2 = list(title = "Wendland C2", of_square = function(r) profile_of_square(ready_profile("wendland2"), r),
                   order = 0, most_inputs = 3),
  wendland4 = list(title = "Wendland C4", of_square = function(r) profile_of_square(ready_profile("wendland4"), r),
                   order = 0, most_inputs = 3),
  cauchy = list(title = "Cauchy", of_square = function(r) 1 / (1 + r), order = 0),
  inverse_multiquadric = list(title = "Inverse multiquadric", of_square = function(r) 1 / sqrt(1 + r), order = 0),
  rational_quadratic = list(title = "Rational quadratic", more = list(alpha = 1), order = 0,
                            of_square = function(r, alpha) (1 + r / (2 * alpha))^(-alpha)),
  energy = list(title = "Energy", more = list(exponent = 1), order = 1, of_square = function(r, exponent) {
    if (identical(exponent, 1)) -sqrt(r) else -r^(exponent / 2)
  }),
  thin_plate = list(title = "Thin plate", of_square = function(r) 0.5 * xlogx(r), order = 2),
  linear = list(title = "Linear", of_points = function(p, scale) sum(p$x * p$y / scale^2), order = 0),
  polynomial = list(title = "Polynomial", more = list(degree = 2, offset = 1), order = 0,
                    of_points = function(p, scale, degree, offset) (sum(p$x * p$y / scale^2) + offset)^degree),
  periodic = list(title = "Periodic", more = list(period = 1), order = 0,
                  of_points = function(p, scale, period) exp(-2 * sum((sinpi((p$x - p$y) / period) / scale)^2))),
  same = list(title = "Same", scaled = FALSE, order = 0,
              of_points = function(p, scale) lazy_if(manhattan(p$x, p$y) == 0, 1, 0)),
  gneiting12 = gneiting_row("1/2", "matern12"), gneiting32 = gneiting_row("3/2", "matern32"),
  gneiting52 = gneiting_row("5/2", "matern52")
)

# Makes the formula of every ready kernel from its row. `...`: further parameters of the kernel, by name.
ready_kernel <- function(name, x, y, scale = 1, ...) {
  row <- kernel_rows[[name]]
  more <- list(...)
  for (one in names(more)) {
    number <- more[[one]]
    if (is_lazy(number) && width(number) == 1) next
    if (!is.numeric(number) || length(number) != 1) {
      abort("input", "`", one, "` must be one number, not ", describe(number))
    }
    if (!is.finite(number)) abort("value", "`", one, "` must be a finite number, not ", format_value(number))
  }
  points <- both_points(x, y)
  if (width(points$x) > (row$most_inputs %or% Inf)) {
    abort("dimension", "the ", tolower(row$title), " kernel is a covariance of points of at most ", row$most_inputs,
          " components, and these have ", width(points$x))
  }
  if (!is.null(row$of_square)) return(row$of_square(scaled_sqdist(points, scale), ...))
  check_scale(scale, points$x)
  row$of_points(points, scale, ...)
}

#' @rdname ready-kernels
#' @export
kernel_gaussian <- function(x, y = NULL, scale = 1) ready_kernel("gaussian", x, y, scale)

#' @rdname ready-kernels
#' @export
kernel_laplacian <- function(x, y = NULL, scale = 1) ready_kernel("matern12", x, y, scale)

#' @rdname ready-kernels
#' @export
kernel_matern <- function(x, y = NULL, scale = 1, nu = 5 / 2) {
  name <- matern_name(nu)
  if (name == "matern") ready_kernel(name, x, y, scale, nu = nu) else ready_kernel(name, x, y, scale)
}

#' @rdname ready-kernels
#' @export
kernel_cauchy <- function(x, y = NULL, scale = 1) ready_kernel("cauchy", x, y, scale)

#' @rdname ready-kernels
#' @export
kernel_inverse_multiquadric <- function(x, y = NULL, scale = 1) ready_kernel("inverse_multiquadric", x, y, scale)

#' @rdname ready-kernels
#' @export
kernel_rational_quadratic <- function(x, y = NULL, scale = 1, alpha = 1) {
  ready_kernel("rational_quadratic", x, y, scale, alpha = alpha)
}

#' @rdname ready-kernels
#' @export
kernel_energy <- function(x, y = NULL, scale = 1, exponent = 1) ready_kernel("energy", x, y, scale, exponent = exponent)

#' @rdname ready-kernels
#' @export
kernel_thin_plate <- function(x, y = NULL, scale = 1) ready_kernel("thin_plate", x, y, scale)

#' @rdname ready-kernels
#' @export
kernel_linear <- function(x, y = NULL, scale = 1) ready_kernel("linear", x, y, scale)

#' @rdname ready-kernels
#' @export
kernel_polynomial <- function(x, y = NULL, degree = 2, offset = 1, scale = 1) {
  ready_kernel("polynomial", x, y, scale, degree = degree, offset = offset)
}

#' @rdname ready-kernels
#' @export
kernel_periodic <- function(x, y = NULL, scale = 1, period = 1) ready_kernel("periodic", x, y, scale, period = period)

scaled_sqdist <- function(points, scale) {
  check_scale(scale, points$x)
  one <- if (is_lazy(scale)) width(scale) == 1 else length(scale) == 1
  if (one) sqdist(points$x, points$y) / scale^2 else sum(((points$x - points$y) / scale)^2)
}

# Returns the points of both sides. Without `y` both sides are one operand, and a derivative in `x` moves both.
both_points <- function(x, y) {
  x <- points_along(x, "i")
  y <- points_along(if (is.null(y)) x else y, "j")
  if (width(x) != width(y)) abort("shape", "`x` has ", width(x), " components, `y` ", width(y))
  list(x = x, y = y)
}

# Returns data or a lazy tensor along `axis`; a tensor along the other axis is turned, so one set serves both sides.
points_along <- function(x, axis) {
  if (!is_lazy(x)) return(if (axis == "i") Vi(x, name = "x") else Vj(x, name = "y"))
  if (has_axis(x, axis) || !has_axis(x, if (axis == "i") "j" else "i")) x else t(x)
}

check_scale <- function(scale, x) {
  if (is_lazy(scale)) return(invisible())
  if (!is.numeric(scale)) abort("input", "`scale` must be positive numbers, not ", format_value(scale))
  wrong <- which(!is.finite(scale) | scale <= 0)
  if (length(wrong)) abort("value", "`scale` must be positive numbers, not ", format(plain_value(scale)[wrong[1]]))
  if (!length(scale) %in% c(1, width(x))) {
    abort("shape", "`scale` has ", length(scale), " numbers for points of ", counted(width(x), "component"))
  }
}
