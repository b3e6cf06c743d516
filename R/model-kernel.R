# Kernel objects: a built-in kernel, or a user's function, with named parameters.

#' Kernels with parameters
#'
#' Defines a kernel (covariance function) and its parameters, some fixed and some to be estimated. Pass it as the
#' `kernel` argument of models and tests, which also accept the name of a kernel, or a function.
#'
#' The object is a function `k(x, y)` that returns a lazy tensor. A parameter with a value is fixed. If `scale` (the
#' length-scale) is `NULL`, [gp_fit()] estimates it; other models and tests choose it from the points, most of them by
#' [median_scale()]. [gp_fit()] also estimates the parameters named in `estimate`, starting from their values: with
#' `kernel_spec(scale = 900, estimate = "scale")` the search for a scale begins at 900. Estimated parameters other
#' than angles are kept positive by taking logarithms: `coef(k, "free", unconstrained = TRUE)` returns the logarithms,
#' and `update(k, unconstrained = )` sets them. `update(k, scale = 2)` fixes a value.
#'
#' `lower` and `upper` bound the estimates. A parameter of your own kernel that may be negative, such as an angle, gets
#' a negative bound, `lower = c(angle = -Inf)` or `lower = c(angle = -pi), upper = c(angle = pi)`. Such a parameter is
#' estimated without a logarithm, and its interval is symmetric.
#'
#' `k1 + k2` and `k1 * k2` are kernels, and so is `2 * k`, which multiplies the `variance` of `k` by 2. If both kernels
#' have a parameter of the same name, its new name begins with the name of its kernel. The kernels of a sum share the
#' `variance` of [gp_fit()]; with `variance = NULL` a kernel has its own.
#'
#' A parameter may also be a lazy tensor, `k(x, scale = Pm(1, name = "s"))`, or depend on the argument of a function
#' that [gradient()] differentiates.
#'
#' @section Two axes:
#' Along a coast or a seam a response may change more slowly than across it. A single scale does not describe this, and
#' a scale for each input (`ard = TRUE`) does so only if the two directions are those of the inputs. `aniso` is for
#' exactly two inputs: `scale` is the length-scale along the long axis, `ratio` (above 0, at most 1) is the scale along
#' the short axis divided by `scale`, and `angle` is the direction of the long axis in degrees, counter-clockwise from
#' the first input. (The angle in gstat, `anis = c(angle, ratio)` of `vgm()`, is clockwise from the second input, north:
#' `90 - angle`.) With `aniso = TRUE` [gp_fit()] estimates all three parameters; other models take
#' `aniso = c(ratio = , angle = )`. With `aniso`, inputs are not standardised, since that would change angles. Distances
#' are sqrt((x - y)' M (x - y)), with M = exp(-S) / s^2, S = \[a, b; b, -a\] and exp the matrix exponential. The
#' geometric mean of both scales is s. The numbers a, b and log(s) are unrestricted; a = b = 0 if both scales are equal.
#'
#' @section Places and other inputs:
#' With `metric = "chordal"` the inputs are longitudes and latitudes in degrees, in this order. Distances are chords,
#' straight lines through a sphere of radius `radius`, by default that of the earth in kilometres. The `scale` is in the
#' unit of the radius. With chords, every kernel of a distance stays positive definite. A chord is shorter than the
#' great circle, by 0.5 % at 20 degrees. Great-circle distances (`"haversine"`) are for `"matern12"` alone, because
#' other kernels of great-circle distances are not positive definite. With a `metric`, inputs are never standardised.
#'
#' A factor has one column per level, and two levels are at distance 1. For `"linear"` and `"polynomial"` in [gp_fit()]
#' the inner product of a level with itself is 1: a linear kernel of a factor is a random intercept.
#'
#' `of` names the inputs on which a kernel depends, in [gp_fit()] and [kernel_ridge()]. For a model of space and time,
#' `kernel_spec(metric = "chordal", of = c("long", "lat")) * kernel_spec(of = "day")` is the separable kernel. With `+`
#' instead of `*` it is the sum kernel, and the sum of both is the product-sum kernel. One distance of all inputs, with
#' a scale for each (`ard = TRUE`), is the metric model. In sums and products the parameters of a kernel with `of` end
#' in the names of its inputs, as in `scale.day`, `scale.long.lat` or, of `c("x", "y")`, `scale.xy`. Parameters that
#' would have the same name in two kernels begin with the name of their kernel.
#'
#' `times` names inputs that multiply the kernel: with `times = "depth"` it is w_i w_j k(x_i, x_j), where w is the
#' depth. In [gp_fit()] this is a coefficient of `depth` that varies in space, f(x) w, and `variance` is that of the
#' coefficient. Without `of`, the kernel k depends on all inputs that are not in `times`. These inputs are numbers,
#' stand on the right side of the formula, and are not standardised.
#'
#' If the data are points of the sf package, the formula of [gp_fit()] and [kernel_ridge()] may name their geometry, or
#' have 1 on its right side, which stands for the geometry. Points of the terra package (`SpatVector`) and of the sp
#' package are converted to sf; their geometry is called `geometry`. For longitudes and latitudes `metric` is then
#' `"chordal"`, with a message. If the formula does not name the geometry, the model uses the variables alone, again
#' with a message: covariates belong in the `trend`. For points of the sp package the formula may also name the
#' coordinates, as in `z ~ x + y`, which are then columns like others.
#'
#' For other data a message says, once in a session, that two inputs look like longitude and latitude.
#'
#' @section Groups:
#' `"same"` is 1 if two rows agree in all inputs of the kernel, and otherwise 0. Inputs may be factors, texts or
#' numbers; the kernel has no scale. `kernel_spec("same", of = "subject")` is a random intercept of each subject, and
#' `kernel_spec("matern12", of = "day") * kernel_spec("same", of = "subject")` is a process for each subject,
#' independent of the others. In [gp_fit()] intercepts beside such a process belong in the trend, as `(1 | subject)`.
#'
#' @section Space and time:
#' `"gneiting"` is a Matern kernel of places whose scale grows with the lag in time (Gneiting, 2002), so that it is not
#' separable. The last of its inputs, in the order of `of`, is time; `nu` is 1/2 (the default), 3/2 or 5/2. The
#' parameters of time are given as `time = list(scale = , alpha = , beta = )` and named `time.scale`, `alpha` (above 0,
#' at most 1) and `beta` (from 0 to 1). With `beta = 0` the kernel is separable, a product of a kernel of places and a
#' kernel of time. [gp_fit()] estimates parameters without a value, `alpha` and `beta` on the logit scale; other models
#' need values of `alpha` and `beta`. For times of class `Date` or `POSIXct` in a formula, `time.scale` is in days. See
#' [ready-kernels].
#'
#' If each place is observed at each time, separable kernels are fitted exactly and fast, see the section on panels in
#' [gp_fit-estimation].
#'
#' @param kernel a name: `"gaussian"`, `"matern"` (its smoothness `nu` is a number, or is estimated by [gp_fit()] if it
#'   is not given), `"matern12"` (or `"laplacian"`, `"exponential"`), `"matern32"`, `"matern52"`, `"cauchy"`,
#'   `"rational_quadratic"`, `"inverse_multiquadric"`, `"spherical"`, `"wendland2"`, `"wendland4"`, `"periodic"`,
#'   `"polynomial"`, `"linear"`, `"energy"`, `"thin_plate"`, `"same"`, `"gneiting"` (or by its `nu`, `"gneiting12"`,
#'   `"gneiting32"`, `"gneiting52"`), as in [ready-kernels]; or a function of lazy points `x` and `y`, of `scale`
#'   and of any other parameters, that returns a lazy tensor, such as [kernel_cauchy()]
#' @param scale the length-scale: a number, or one per component; `NULL`, the default, leaves it to the model or test
#' @param ... other parameters of the kernel, by name
#' @param variance a number that multiplies the kernel, 1 by default; `NULL` to estimate it
#' @param ard give each variable its own length-scale (automatic relevance determination)? The columns of a factor or of
#'   a matrix share one length-scale
#' @param aniso geometric anisotropy: `TRUE` to estimate scales and axes, `c(ratio = , angle = )` for known axes
#' @param estimate names of the parameters to estimate; parameters without a value are estimated in any case
#' @param metric the distance between inputs: `"euclidean"`, the default, or, on a sphere, `"chordal"` or `"haversine"`,
#'   see below, both in the unit of `radius`: kilometres, as in [knn()]
#' @param radius the radius of the sphere, by default that of the earth in kilometres
#' @param of names of the inputs on which the kernel depends; `NULL`, the default, for all inputs
#' @param times names of inputs by which the kernel is multiplied, see below; `NULL`, the default, for none
#' @param lower,upper bounds on the estimates, by name of the parameter, as in `upper = c(scale = 2)`; by default
#'   parameters are positive
#' @param object,x for methods: a kernel
#' @param which parameters that `coef()` returns: `"all"`, or only the `"free"` parameters, which are estimated
#' @param unconstrained for `coef()`: return the logarithms of the free parameters (logits of those between 0 and 1)?
#'   For `update()`: these numbers, as one vector. `update()` adds to `estimate`, and changes only the bounds given
#' @return A function of class `kernel_spec`, with arguments `x`, `y` and, by name, new values of its parameters.
#' @references Gneiting, T. (2002) Nonseparable, stationary covariance functions for space-time data. Journal of the
#'   American Statistical Association 97, 590-600.
#' @seealso [ready-kernels] for the formulas, [median_scale()]
#' @concept random intercept, grouped process
#' @concept spatially varying coefficient
#' @concept space-time covariance
#' @concept covariance function
#' @concept length-scale hyperparameter
#' @concept automatic relevance determination
#' @concept geometric anisotropy, rotated axes
#' @concept sum and product of kernels
#' @export
#' @examples
#' x <- matrix(runif(30), 10)
#' k <- kernel_spec("matern52", scale = 0.5)
#' k
#' k(x) %*% rnorm(10)
#' both <- 2 * k + kernel_spec("periodic", scale = 1, period = 0.2, estimate = "period")
#' coef(both)
#' update(both, unconstrained = c(period = log(0.3)))
#' # your own kernel
#' bumps <- function(x, y, scale = 1, height = 1) height * kernel_cauchy(x, y, scale)^2
#' kernel_spec(bumps, height = 3)
#' # an angle, which may be negative, in your own kernel
#' turned <- function(x, y, scale, angle) {
#'   east <- x[, , 1] - y[, , 1]
#'   north <- x[, , 2] - y[, , 2]
#'   along <- cos(angle) * east + sin(angle) * north
#'   across <- cos(angle) * north - sin(angle) * east
#'   exp(-sqrt(square(along) + square(3 * across)) / scale)
#' }
#' k <- kernel_spec(turned, angle = 0, estimate = c("scale", "angle"), lower = c(angle = -Inf))
#' fit <- gp_fit(depth ~ long + lat, quakes[seq(1, 1000, by = 10), ], kernel = k)
#' confint(fit, "angle")
#' # further along a direction 30 degrees north of east
#' kernel_spec("matern32", scale = 2, aniso = c(ratio = 0.4, angle = 30))
#' # degrees, by distances in kilometres
#' places <- cbind(c(0, 5, 10), c(50, 50, 50))
#' as.matrix(kernel_spec("matern32", scale = 500, metric = "chordal")(places))
#' # a process of its own for each tree
#' each <- kernel_spec("matern32", of = "age") * kernel_spec("same", of = "Tree")
#' gp_fit(circumference ~ age + Tree, Orange, trend = ~ age, kernel = each)
#' # a coefficient of the magnitude that varies in space, and a kernel of space and time
#' kernel_spec("matern32", of = c("long", "lat"), times = "mag")
#' kernel_spec("gneiting", scale = 2, time = list(scale = 3, alpha = 0.8),
#'             of = c("long", "lat", "day"))
kernel_spec <- function(kernel = "gaussian", scale = NULL, ..., variance = 1, ard = FALSE, aniso = FALSE,
                        estimate = "scale", metric = c("euclidean", "chordal", "haversine"), radius = 6371.0088,
                        of = NULL, times = NULL, lower = NULL, upper = NULL) {
  if (is_kernel(kernel)) return(if (nargs() == 1) kernel else abort("input", "`kernel` is one: update() changes it"))
  check_flag(ard, "ard")
  given <- list(...)
  if (identical(kernel, "matern")) {
    kernel <- matern_name(given$nu)
    if (kernel != "matern") given$nu <- NULL
  }
  if (identical(kernel, "gneiting") && "nu" %in% names(given)) {
    kernel <- gneiting_name(given$nu)
    given$nu <- NULL
  }
  if (is.function(kernel)) known <- own_kernel(kernel, as_typed(substitute(kernel), parent.frame()))
  else {
    if (is_word(kernel) && tolower(kernel) %in% names(kernel_words)) {
      abort("input", "there is no kernel \"", kernel, "\"; did you mean `", kernel_words[[tolower(kernel)]], "`?")
    }
    name <- one_of(kernel, c(names(kernel_rows), names(kernel_aliases)), "kernel")
    if (name %in% names(kernel_aliases)) name <- kernel_aliases[[name]]
    row <- kernel_rows[[name]]
    known <- list(name = name, title = row$title, more = row$more %or% list(), scaled = row$scaled %or% TRUE)
  }
  if (has_time(known)) given <- with_time(given, ard)
  axes <- aniso_parameters(aniso, known, ard, if (!missing(metric)) metric)
  check_parameter_names(c(names(given) %or% rep("", length(given)), if (!known$scaled && !is.null(scale)) "scale"),
                        c(names(known$more), if (known$scaled) "scale", "variance"), known$title)
  parameters <- c(if (known$scaled) list(scale = scale), axes, known$more, list(variance = variance))
  parameters[names(given)] <- given
  for (name in names(parameters)) check_parameter(parameters[[name]], name)
  ends <- ends_of_parameters(lower, upper, known, parameters, !is.null(axes))
  free <- free_parameters(parameters, if (!missing(estimate)) estimate, ends, if (has_time(known)) row$check)
  metric <- if (!missing(metric)) metric else if (!is.null(axes) || has_time(known)) "euclidean"
  new_kernel(c(known[c("name", "title", "fun")],
               list(parameters = parameters, free = free, ends = ends, ard = ard, aniso = !is.null(axes)),
               kernel_places(known, metric, radius, of, times)))
}

# Names of kernels in other packages.
kernel_words <- c(rbf = "gaussian", rbfdot = "gaussian", se = "gaussian", sqexp = "gaussian", gau = "gaussian",
                  squared_exponential = "gaussian", exp = "exponential", laplace = "laplacian", sph = "spherical",
                  mat = "matern", ste = "matern", rq = "rational_quadratic", per = "periodic")
kernel_aliases <- c(exponential = "matern12", laplacian = "matern12", gneiting = "gneiting12")

# Returns the expression that the user typed for an argument that functions have passed on, from `frame`.
as_typed <- function(expression, frame) {
  while (is.symbol(expression) && !identical(frame, globalenv())) {
    typed <- do.call(substitute, list(expression, frame))
    at <- Position(function(k) identical(sys.frame(k), frame), seq_len(sys.nframe()))
    if (!is.language(typed) || is.na(at)) break
    expression <- typed
    frame <- sys.frame(sys.parents()[at])
  }
  deparse1(expression)
}

# Describes a user's kernel function. `more`: the parameters with defaults, in the order of the arguments.
own_kernel <- function(fun, typed) {
  arguments <- names(formals(fun))
  if (length(arguments) < 2 || !all(c("x", "y") %in% arguments)) {
    abort("input", "`kernel` must be a function of `x`, `y`, `scale` and more, not of ",
          if (length(arguments)) paste0("`", arguments, "`", collapse = ", ") else "nothing")
  }
  if (nchar(typed) > 30 || startsWith(typed, "function")) typed <- "own kernel"
  defaults <- formals(fun)[setdiff(arguments, c("x", "y", "scale"))]
  more <- lapply(defaults, function(value) if (!identical(value, quote(expr = ))) eval(value, environment(fun)))
  list(name = typed, title = typed, fun = fun, more = more, scaled = "scale" %in% arguments)
}

check_parameter_names <- function(given, known, title) {
  if (!all(nzchar(given))) abort("input", "parameters of a kernel are given by name, as in scale = 2")
  wrong <- setdiff(given, known)
  if (!length(wrong)) return(invisible())
  hint <- if (length(known)) near_hint(wrong[1], known, there_are(known))
  abort("input", title, " has no parameter `", wrong[1], "`", hint)
}

check_parameter <- function(value, name) {
  if (is.null(value) || is_lazy(value)) return(invisible())
  if (!is.numeric(value) || !length(value)) abort("input", "`", name, "` must be numbers, not ", describe(value))
  if (!all(is.finite(value))) abort("value", "`", name, "` must be finite, not ", format(value[!is.finite(value)][1]))
  if (name %in% c("scale", "time.scale", "variance") && any(value <= 0)) {
    abort("value", "`", name, "` must be positive, not ", format(value[value <= 0][1]))
  }
}

# Makes a kernel. `parts`: name, title, fun (a user's function), parameters, free, ard, and the list of kernel_places();
# in a fit also `columns`, by number. A sum or product has op, of (two kernels), and keys (names of their parameters).
new_kernel <- function(parts) {
  force(parts)
  k <- function(x, y = NULL, ...) kernel_value(parts, x, y, list(...))
  structure(k, class = c("kernel_spec", "function"))
}
kernel_parts <- function(k) environment(unclass(k))$parts
is_kernel <- function(k) inherits(k, "kernel_spec")

kernel_value <- function(parts, x, y, given) {
  known <- c(names(parts$parameters), if (is_aniso(parts)) "axes")
  check_parameter_names(names(given) %or% rep("", length(given)), known, parts$title)
  parameters <- replace(parts$parameters, names(given), given)
  if ("axes" %in% names(given) && is_aniso(parts)) parameters[c("scale", "ratio", "angle")] <- 1
  times_variance <- function(value) if (identical(parameters$variance, 1)) value else parameters$variance * value
  if (!is.null(parts$op)) {
    values <- lapply(seq_along(parts$of), function(k) {
      do.call(parts$of[[k]], c(list(x, y), stats::setNames(parameters[names(parts$keys[[k]])], parts$keys[[k]])))
    })
    return(times_variance(Reduce(parts$op, values)))
  }
  waiting <- names(parameters)[vapply(parameters, is.null, NA)]
  if (length(waiting)) {
    abort("no_data", "`", waiting[1], "` of the kernel has no number yet; update(k, ", waiting[1], " = ) sets one")
  }
  factors <- kernel_factors(parts, x, y)
  if (has_time(parts)) parameters$time.scale <- parameters$time.scale * time_unit(parts, x)
  first <- x
  x <- kernel_points(parts, x, y)
  if (!is.null(y)) y <- kernel_points(parts, y, first)
  if (any(parts$levels)) {
    x <- with_whole_levels(x, parts$levels)
    if (!is.null(y)) y <- with_whole_levels(y, parts$levels)
  }
  if (!is.null(parameters$scale)) parameters$scale <- scale_of_columns(parameters$scale, x)
  others <- parameters[setdiff(names(parameters), "variance")]
  value <- if (identical(parts$metric, "haversine")) great_circle_value(x, y, parameters$scale, parts$radius)
           else if (is_aniso(parts)) aniso_value(parts, x, y, others)
           else if (is.null(parts$fun)) do.call(ready_kernel, c(list(parts$name, x, y), others))
           else own_value(parts$fun, x, y, others)
  if (!is_lazy(value)) abort("input", parts$title, " must give a lazy tensor, not ", describe(value))
  times_variance(if (is.null(factors)) value else value * factors)
}

# Columns of factor levels are scaled back from 1 / sqrt(2), which suits distances, to 1 for inner products.
with_whole_levels <- function(x, levels) {
  if (all(levels)) return(x * sqrt(2))
  by <- ifelse(levels, sqrt(2), 1)
  if (is_lazy(x)) x * Pm(by, name = "levels") else t(t(x) * by)
}

# Calls a user's function with lazy points or, if it calls Vi() itself, with the points as given.
own_value <- function(fun, x, y, parameters) {
  lazily <- !"Vi" %in% all.names(body(fun))
  if (is.null(y)) y <- if (lazily && is_lazy(x)) t(x) else x
  if (lazily && !is_lazy(x)) x <- Vi(strip_term(x), name = "x")
  if (lazily && !is_lazy(y)) y <- Vj(strip_term(y), name = "y")
  arguments <- c(list(x, y), parameters[names(parameters) %in% names(formals(fun))])
  withCallingHandlers(do.call(fun, arguments), error = function(e) {
    if (inherits(e, "kernweave_error")) return()
    abort("input", "`kernel` must be a function of lazy points `x` and `y` that makes a lazy tensor, as ",
          "kernel_cauchy() does; this one says: ", message_of(e))
  })
}

# Returns the order of sums on which a kernel is positive definite: the highest of its parts; NA for a user's kernel.
kernel_order <- function(k) {
  parts <- kernel_parts(k)
  if (!is.null(parts$op)) return(max(vapply(parts$of, kernel_order, 0)))
  if (is.null(parts$fun)) kernel_rows[[parts$name]]$order else NA_real_
}

# Returns a kernel for a test, of at most the order of the statistic, with its scale set from the points.
test_kernel <- function(kernel, x, most = 1) {
  k <- kernel_spec(kernel)
  check_span(x, 1e150)
  if (isTRUE(kernel_order(k) > most)) {
    abort("unsupported", kernel_parts(k)$title, " is conditionally definite of order ", kernel_order(k),
          ", and the test takes kernels of order ", most, if (most > 0) " and less")
  }
  with_scale(k, x)
}

# Refuses points whose squared distances overflow, or underflow to 0.
check_span <- function(x, most) {
  unit <- points_unit(x)
  if (unit > 1 / most && unit < most) return(invisible())
  how <- if (unit < 1) c("near each other", "multiply") else c("far apart", "divide")
  abort("data", "points that differ by about ", format(unit, digits = 1), " are too ", how[1],
        " for squares in double precision; ", how[2], " them by a large number")
}

# Tells whether sums over pairs with weights of sum 0 in each row are invariant under translations of all points.
ignores_place <- function(k) {
  parts <- kernel_parts(k)
  if (!is.null(parts$op)) return(parts$op == "+" && all(vapply(parts$of, ignores_place, NA)))
  is.null(parts$fun) && parts$name != "polynomial" && !is_spherical(parts) && is.null(parts$times)
}

# Repeats a scale for each column of its term.
scale_of_columns <- function(scale, x) {
  term <- attr(x, "term")
  if (is_lazy(scale) || length(scale) == 1 || is.null(term) || length(scale) != max(term)) return(scale)
  scale[term]
}

#' @rdname kernel_spec
#' @param e1,e2 kernels, or a kernel and a positive number
#' @export
Ops.kernel_spec <- function(e1, e2) {
  if (missing(e2) || !.Generic %in% c("+", "*")) {
    abort("unsupported", "kernels are added and multiplied; `", .Generic, "` of a kernel is not defined")
  }
  if (is_kernel(e1) && is_kernel(e2)) return(composite(.Generic, e1, e2))
  number <- if (is_kernel(e1)) e2 else e1
  if (.Generic == "+" || !is.numeric(number) || length(number) != 1) {
    abort("input", "`", .Generic, "` of a kernel and ", describe(number), " is not defined; 2 * k and k1 + k2 are")
  }
  k <- if (is_kernel(e1)) e1 else e2
  update(k, variance = number * (kernel_parts(k)$parameters$variance %or% 1))
}

# Returns a suffix of parameter names, from the names in `of`: ".xy", ".long.lat". It distinguishes the parameters of
# parts. It is empty if an input has the name of a parameter.
inputs_suffix <- function(parts) {
  of <- if (is.null(parts$op)) parts$terms
  known <- "(^|[._])(scale|variance|nu|alpha|beta|time|period|ratio|angle|turn|mean)($|[._])"
  if (!length(of) || any(grepl(known, of))) return("")
  paste0(".", paste(of, collapse = if (all(nchar(of) == 1)) "" else "."))
}

composite <- function(op, a, b) {
  of <- list(a, b)
  parts <- lapply(of, kernel_parts)
  keys <- lapply(parts, function(p) names(p$parameters))
  own <- lapply(1:2, function(k) paste0(keys[[k]], inputs_suffix(parts[[k]])))
  clash <- intersect(own[[1]], own[[2]])
  unique_keys <- lapply(1:2, function(k) {
    ifelse(own[[k]] %in% c(clash, "variance"), paste0(parts[[k]]$name, ".", own[[k]]), own[[k]])
  })
  all_keys <- make.unique(unlist(unique_keys), sep = "_")
  unique_keys <- split(all_keys, rep(1:2, lengths(keys)))
  parameters <- do.call(c, lapply(parts, `[[`, "parameters"))
  free <- unlist(lapply(1:2, function(k) unique_keys[[k]][keys[[k]] %in% parts[[k]]$free]))
  new_kernel(list(
    name = if (op == "+") "sum" else "product", title = if (op == "+") "A sum of kernels" else "A product of kernels",
    op = op, of = of, keys = lapply(1:2, function(k) stats::setNames(keys[[k]], unique_keys[[k]])),
    parameters = c(stats::setNames(parameters, all_keys), list(variance = 1)), free = as.character(free), ard = FALSE
  ))
}
