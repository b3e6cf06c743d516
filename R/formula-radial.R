# Radial kernels from tables: Matern kernels of any smoothness, and profiles given by users.

#' Radial kernels from a function or a table of the distance
#'
#' `kernel_radial()` returns the kernel f(d) between points, where d is the Euclidean distance divided by `scale`. The
#' profile f may be any function of the distance, given as a function in R, a table of numbers, or a name.
#' `radial_profile()` prepares a profile once, reports how accurate it is, and has more arguments.
#'
#' The function is evaluated at some 40 000 distances. Piecewise polynomials approximate its values. Sums over pairs
#' read these polynomials at nearly the speed of a Matern kernel, on a CPU and on a GPU, with first derivatives. The
#' polynomials differ from the function by less than 1e-8 of its value at 0, most often by less than 1e-13; the profile
#' prints this error. A function with a kink or a jump is an error, unless `kink` is its distance: a polynomial piece
#' then ends there.
#'
#' A table of numbers is a matrix or data frame with two columns: distances, beginning at 0, and values. A natural cubic
#' spline interpolates the values. Beyond the largest distance, the value stays that of the largest distance.
#'
#' The package does not check that a function is a covariance. If the function is not positive definite for points in
#' the plane, say, the Cholesky factorisation in [gp_fit()] or [solve()][solve.lazy_tensor] stops with an error of class
#' `kernweave_error_indefinite` or `kernweave_error_singular`.
#'
#' [approximate()] needs a bound on the continuation of the function to complex distances. Such a bound exists for
#' mixtures of Gaussians of any widths with positive weights. All Matern, Cauchy and rational quadratic kernels are such
#' mixtures, and so is every covariance that is valid in all dimensions. Set `mixture = TRUE` if the function is such a
#' mixture.
#'
#' @section Ready profiles:
#' Let d be the distance divided by the scale. These profiles are for points of at most three components, and are 0 for
#' d >= 1: \describe{
#' \item{`"spherical"`}{1 - 3/2 d + 1/2 d^3}
#' \item{`"wendland2"`}{(1 - d)^4 (4 d + 1), with two continuous derivatives}
#' \item{`"wendland4"`}{(1 - d)^6 (35 d^2 + 18 d + 3) / 3, with four continuous derivatives}
#' }
#' [kernel_spec()] accepts these names, too. For another profile, give `kernel_spec()` a function of the points:
#' `kernel_spec(function(x, y, scale) kernel_radial(x, y, profile, scale))`.
#'
#' @param x,y,scale as in [kernel_matern()]
#' @param profile a function of a vector of distances; a matrix or data frame with two columns; the name of a ready
#'   profile; or what `radial_profile()` returned
#' @param kink a distance at which the function has a kink or a jump, such as the range of a covariance with compact
#'   support. The default, `NULL`, is for functions without any
#' @param mixture is the function a mixture of Gaussians in the distance, with positive weights? By default `FALSE`
#' @return `kernel_radial()`: a lazy tensor of one component. `radial_profile()`: an object of class `radial_profile`,
#'   a function of distances.
#' @concept own covariance function
#' @concept spherical covariance
#' @concept Wendland functions
#' @concept compact support
#' @seealso [kernel_matern()], [kernel_spec()]
#' @export
#' @examples
#' x <- matrix(runif(200), 100, 2)
#' # a powered exponential, which no ready kernel is
#' f <- radial_profile(function(d) exp(-d^0.7), mixture = TRUE)
#' f
#' kernel_radial(x, profile = f, scale = 0.3) %*% rnorm(100)
#' # compact support
#' sum(kernel_radial(x, profile = "spherical", scale = 0.2), index = "ij")
#' # numbers
#' d <- seq(0, 2, by = 0.1)
#' kernel_radial(x[1:3, ], profile = cbind(d, exp(-d)), scale = 0.3)
kernel_radial <- function(x, y = NULL, profile, scale = 1) {
  if (missing(profile)) {
    abort("input", "`profile` is not given: a function of the distance, a table of two columns, or one of ",
          paste0("\"", names(ready_profiles), "\"", collapse = ", "))
  }
  if (!inherits(profile, "radial_profile")) profile <- as_profile(profile)
  points <- both_points(x, y)
  n <- width(points$x)
  most <- environment(unclass(profile))$parts$most_inputs
  if (n > most) {
    abort("dimension", "this profile is a covariance of points of at most ", most, " components, and these have ", n)
  }
  profile_of_square(profile, scaled_sqdist(points, scale))
}

#' @rdname kernel_radial
#' @export
radial_profile <- function(profile, kink = NULL, mixture = FALSE) {
  if (!is.null(kink) && !(is.numeric(kink) && length(kink) == 1 && isTRUE(kink > 0 && is.finite(kink)))) {
    abort("value", "`kink` must be a positive distance, not ", format_value(kink))
  }
  check_flag(mixture, "mixture")
  as_profile(profile, kink, mixture)
}

#' @rdname kernel_radial
#' @param ... not used
#' @export
print.radial_profile <- function(x, ...) {
  error <- environment(unclass(x))$parts$error
  cat("Radial profile, within ", format(error, digits = 2), " of its value at 0\n", sep = "")
  invisible(x)
}

ready_profiles <- list(
  spherical = function(d) ifelse(d < 1, 1 - 1.5 * d + 0.5 * d^3, 0),
  wendland2 = function(d) pmax(1 - d, 0)^4 * (4 * d + 1),
  wendland4 = function(d) pmax(1 - d, 0)^6 * (35 * d^2 + 18 * d + 3) / 3
)
ready_profile <- function(name) {
  kept_in(tables_kept, c("ready", name), function() new_profile(ready_profiles[[name]], 1, FALSE, most_inputs = 3))
}

# --- profiles -----------------------------------------------------------------------------------------------------

as_profile <- function(profile, kink = NULL, mixture = FALSE) {
  if (is.character(profile)) return(ready_profile(one_of(profile, names(ready_profiles), "profile")))
  if (is.function(profile)) return(new_profile(profile, kink, mixture))
  if (is.data.frame(profile)) profile <- as.matrix(profile)
  if (!is.matrix(profile) || !is.numeric(profile) || ncol(profile) != 2) {
    abort("input", "`profile` must be a function of distances, a table of two columns, or a name, not ",
          describe(profile))
  }
  profile_of_numbers(unname(profile), mixture)
}

fewest_knots <- 6

profile_of_numbers <- function(table, mixture) {
  d <- table[, 1]
  if (!all(is.finite(table))) abort("value", "`profile` has numbers that are not finite")
  if (length(d) < fewest_knots) {
    abort("shape", "`profile` has ", counted(length(d), "row"), ", and a spline needs ", fewest_knots, " distances")
  }
  if (any(d < 0)) abort("value", "`profile` has a negative distance, ", format(min(d)), ", in row ", which.min(d))
  if (anyDuplicated(d)) abort("value", "`profile` has the distance ", format(d[duplicated(d)][1]), " twice")
  if (min(d) > 0) abort("value", "`profile` begins at distance ", format(min(d)), ", not at 0")
  last <- which.max(d)
  spline <- stats::splinefun(d, table[, 2], method = "natural")
  f <- function(h) ifelse(h < d[last], spline(pmin(h, d[last])), table[last, 2])
  new_profile(f, d[last], mixture, tol = 1e-4)
}

# The number of derivatives by the squared distance in a table: one for a function known by its values alone, since
# differences of values give a bad second derivative.
most_derivatives <- 2L
most_of_values <- 1L

# Makes a profile of `f` in units of the kink: polynomials end there, and octaves of the squared distance begin at 1.
new_profile <- function(f, kink, mixture, tol = 1e-8, most_inputs = Inf) {
  unit <- kink %or% 1
  at_zero <- profile_values(f, 0)
  if (at_zero == 0) abort("value", "the profile is 0 at distance 0: a kernel is not")
  octaves <- octaves_of_profile(f, unit, at_zero)
  nodes <- r_table_nodes(octaves[1], octaves[2])
  values <- profile_values(f, sqrt(nodes) * unit)
  made <- r_values_table(values, at_zero, octaves[1], most_of_values, mixture)
  error <- made$error / abs(at_zero)
  if (error > tol) {
    abort("value", "the profile is not smooth near distance ", format(sqrt(made$worst) * unit, digits = 3),
          ": polynomials are off by ", format(error, digits = 2), " of its value at 0; if it has a kink there, ",
          "radial_profile(f, kink = ) says so")
  }
  if (mixture) check_mixture(made$numbers, nodes, at_zero)
  parts <- list(table = Pm(made$numbers, name = "table"), unit = unit, error = error, most_inputs = most_inputs)
  structure(function(d) as.vector(r_look_up(made$numbers, 0L, as.numeric((d / unit)^2))), class = "radial_profile")
}

profile_values <- function(f, d) {
  values <- f(d)
  if (!is.numeric(values) || length(values) != length(d)) {
    abort("input", "the profile must return a number for each distance, and returned ", describe(values), " for ",
          counted(length(d), "distance"))
  }
  wrong <- which(!is.finite(values))
  if (length(wrong)) {
    abort("value", "the profile is ", format(values[wrong[1]]), " at distance ", format(d[wrong[1]], digits = 3),
          "; it must be finite at all distances, 0 included")
  }
  as.numeric(values)
}

# Finds the octaves of the squared distance from f = f(0) up to f = 0, or up to a limit if f does not vanish.
octaves_of_profile <- function(f, unit, at_zero) {
  at <- function(octave) profile_values(f, 2^(octave / 2) * unit)
  first <- -50
  while (first > -1000 && abs(at(first) - at_zero) > 1e-15 * abs(at_zero)) first <- first - 25
  end <- 1
  while (end < 60 && abs(at(end)) > 1e-18 * abs(at_zero)) end <- end + 1
  c(first, end)
}

# Checks a mixture of Gaussians: it is positive and decreasing.
check_mixture <- function(table, nodes, at_zero) {
  some <- nodes[nodes > 2^-20 & nodes < 2^8][c(TRUE, rep(FALSE, 6))]
  for (order in 0:1) {
    signed <- (-1)^order * r_look_up(table, order, some) * some^order / at_zero
    if (all(signed > -1e-9)) next
    abort("value", "the profile is no mixture of Gaussians: ", c("it", "its slope")[order + 1],
          " has the wrong sign at distance ", format(sqrt(some[which.min(signed)]), digits = 3),
          "; give mixture = FALSE")
  }
}

profile_of_square <- function(profile, r) {
  parts <- environment(unclass(profile))$parts
  table_at(if (parts$unit == 1) r else r / parts$unit^2, parts$table, most_of_values)
}

# --- tables -------------------------------------------------------------------------------------------------------

table_at <- function(s, table, most = most_derivatives) operation("RadialTable", list(x = s, y = table), c(0L, most))

# The tables that were made last, with the arguments that they were made from.
tables_kept <- new.env(parent = emptyenv())

# --- Matern -------------------------------------------------------------------------------------------------------

# Computes the Matern function of smoothness `nu` at squared distance / squared scale. If `nu` is to be differentiated,
# adds a term whose value is 0: (nu - its value) times the table of the derivative.
matern_of_square <- function(r, nu) {
  number <- plain_value(if (is_lazy(nu)) as.matrix(nu) else nu)
  rounding <- 1e-12  # rounding errors of logarithms of the bounds
  if (!is.numeric(number) || length(number) != 1 || !isTRUE(number >= 0.1 - rounding && number <= 5 + rounding)) {
    abort("value", "`nu` must be from 0.1 to 5, or Inf, not ", format_value(number))
  }
  number <- min(max(as.numeric(number), 0.1), 5)
  s <- (2 * number) * r
  value <- table_at(s, kept_in(tables_kept, c("matern", number), function() {
    Pm(r_matern_table(number, most_derivatives), name = "matern")
  }))
  if (!is_lazy(nu) && !is_traced(nu)) return(value)
  slope <- kept_in(tables_kept, c("slope", number), function() Pm(r_matern_slope_table(number), name = "slope"))
  value + nothing_with_slope(if (is_lazy(nu)) nu else Pm(nu, name = "nu")) * table_at(s, slope, 1L)
}

# Returns a function of a parameter that has the value 0 and the derivative 1. It has no second derivative, since there
# is no table of one: an error says so.
nothing_with_slope <- function(parameter) {
  constant <- function(value) c(value, numeric(7), value, numeric(3))  # a row for double, one for float
  heads <- c(0, 0, 0, 0, 12, 0, 1, 0, 24, 0, 1, 0)
  table_at(parameter, Pm(c(heads, constant(0), constant(1), numeric(4)), name = "once"), 1L)
}

# Returns the name of the kernel of this smoothness: a kernel with a formula of its own, or "matern" with a table.
matern_name <- function(nu) {
  closed <- c(matern12 = 1 / 2, matern32 = 3 / 2, matern52 = 5 / 2, gaussian = Inf)
  if (is.null(nu) || is_lazy(nu) || is.environment(nu)) return("matern")  # the tape differentiates an environment
  one <- is.numeric(nu) && length(nu) == 1
  if (one && nu %in% closed) return(names(closed)[match(nu, closed)])
  if (one && isTRUE(nu >= 0.1 && nu <= 5)) return("matern")
  abort("value", "`nu` must be from 0.1 to 5, or Inf, or NULL to be estimated, not ", format_value(nu))
}
