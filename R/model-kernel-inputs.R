# Inputs of kernels: factors that multiply a kernel, time, and the bounds of parameters.

# --- inputs that multiply a kernel ------------------------------------------------------------------------------

# Returns w_i w_j, by which `times` multiplies a kernel, or NULL.
kernel_factors <- function(parts, x, y) {
  if (is.null(parts$times)) return(NULL)
  w <- factor_values(parts, x)
  if (!is_lazy(w)) w <- Vi(w, name = "w")
  if (is.null(y)) return(w * t(w))
  v <- factor_values(parts, y)
  w * (if (is_lazy(v)) v else Vj(v, name = "v"))
}

# Returns w_i, the product of the inputs in `times`: by column number for model points, else by name.
factor_values <- function(parts, x) {
  wide <- !is.null(parts$factors) && (if (is_lazy(x)) width(x) else NCOL(x)) >= max(parts$factors)
  if (is_lazy(x)) {
    if (!wide) abort("input", "`times` of a kernel names columns, and lazy points have none: give the data")
    return(Reduce(`*`, lapply(parts$factors, function(k) x[, , k])))
  }
  x <- if (wide && !all(parts$times %in% colnames(x))) as.matrix(x)[, parts$factors, drop = FALSE]
       else if (is.data.frame(x)) named_points(parts$times, x, NULL, "times")
       else as_inputs(x, "x")[, known_inputs(parts$times, colnames(x), "times"), drop = FALSE]
  if (ncol(x) == length(parts$times)) return(apply(x, 1, prod))
  abort("input", "a kernel is `times` ", paste0("`", parts$times, "`", collapse = ", "), ", of which a row has ",
        counted(ncol(x), "number"), ", as factors have: one number for each input is wanted")
}

# Returns the columns of the inputs in `times`, which are numbers.
factor_columns <- function(times, of, names, inputs) {
  for (one in known_inputs(times, names, "times")) check_number_input(one, of, names, inputs, "`times`")
  columns_of_part(list(terms = times), of, names)[seq_along(times)]
}

check_number_input <- function(one, of, names, inputs, role) {
  factor <- names[one] %in% names(inputs$xlevels)
  if (!factor && sum(of == one) == 1) return(invisible())
  abort("input", "the input `", names[one], "` is ", role, " in a kernel and must be one number in each row, not ",
        if (factor) "a factor: as.numeric() or a dummy variable makes a number of it"
        else counted(sum(of == one), "column"))
}

# Returns the mean of w_i^2, which is the size of a kernel's diagonal.
kernel_size <- function(parts, x) {
  if (is.null(parts$op)) return(if (is.null(parts$times)) 1 else mean(factor_values(parts, x)^2))
  each <- vapply(parts$of, function(k) kernel_size(kernel_parts(k), x), 0)
  if (parts$op == "*") prod(each) else max(each)
}

# --- time -------------------------------------------------------------------------------------------------------

# Tells whether the last input of a kernel is time.
has_time <- function(parts) is.null(parts$fun) && startsWith(parts$name, "gneiting")

gneiting_name <- function(nu) {
  if (is.numeric(nu) && length(nu) == 1 && nu %in% c(1 / 2, 3 / 2, 5 / 2)) return(paste0("gneiting", 2 * nu, "2"))
  abort("value", "`nu` of the Gneiting kernel must be 1/2, 3/2 or 5/2, not ", format_value(nu))
}

# Gives the parameters in the list `time` their names in the kernel.
with_time <- function(given, ard) {
  if (ard) abort("unsupported", "the Gneiting kernel has one scale of places and one of time, and no others by `ard`")
  time <- given$time
  if (!"time" %in% names(given)) return(given)
  if (!is.list(time) || length(time) && is.null(names(time))) {
    abort("input", "`time` must be list(scale = , alpha = , beta = ), not ", describe(time))
  }
  names(time)[names(time) == "scale"] <- "time.scale"
  c(given[names(given) != "time"], time)
}

# Tells whether parameters are of a kind, such as "scale". In sums and products a name may begin with the name of a
# kernel, and end with the names of inputs or a number.
is_one_of <- function(names, kind) grepl(paste0(kind, "([._].*)?$"), names)

# Tells which parameters are between 0 and 1.
is_share <- function(names, parts) {
  found <- is_one_of(names, "(^|[.])(alpha|beta)")
  found[found] <- vapply(names[found], function(name) has_time(part_of_parameter(parts, name)), NA)
  found
}

# Gives the kernel's parameters in a layout their links.
with_kernel_links <- function(layout, kernel) {
  mine <- layout$part == "kernel" & layout$name != "turn"
  layout$link[mine] <- parameter_links(layout$name[mine], kernel_parts(kernel))
  layout
}

# Returns the unit of time in the inputs: for POSIXct inputs, which are in seconds, a day is 86 400.
time_unit <- function(parts, x) {
  if (!is.null(parts$unit) || !is.data.frame(x)) return(parts$unit %or% 1)
  name <- utils::tail(parts$terms %or% names(x), 1)
  if (inherits(x[[name]], "POSIXct")) 86400 else 1
}

# Sets the time unit of a space-time kernel. `at`: the columns of the kernel.
with_time_unit <- function(part, at, of, names, inputs) {
  if (!has_time(part)) return(part)
  if (length(at) < 2) abort("shape", "the Gneiting kernel is of places and of time, two inputs or more, not 1")
  last <- of[at[length(at)]]
  check_number_input(last, of, names, inputs, "time")
  replace(part, "unit", time_unit(list(terms = names[last]), inputs$model))
}

# Sets the time scale of a space-time kernel, if it is not given, to the median lag.
with_time_scale <- function(k, x) {
  parts <- kernel_parts(k)
  if (!is.null(parts$op) || !has_time(parts) || !is.null(parts$parameters$time.scale)) return(k)
  update(k, time.scale = median_scale(points_of_scale(parts, "time.scale", x)))
}

# Returns the points to which a scale applies.
points_of_scale <- function(parts, name, x) {
  part <- part_of_parameter(parts, name)
  x <- kernel_points(part, x)
  if (!has_time(part)) return(x)
  last <- ncol(x)
  if (is_one_of(name, "time[.]scale")) x[, last, drop = FALSE] / time_unit(part, x)
  else x[, -last, drop = FALSE]
}

# --- estimated parameters and their bounds --------------------------------------------------------------------------

# Returns the names of the parameters to be estimated: parameters without a number, and parameters in `estimate`.
# `check`: a function that checks the parameters of a space-time kernel.
free_parameters <- function(parameters, estimate = NULL, ends = list(), check = NULL) {
  check_parameter_names(estimate, names(parameters), "the kernel")
  free <- union(names(parameters)[vapply(parameters, is.null, NA)], estimate)
  for (name in free) {
    if (!is.null(parameters[[name]]) && any(parameters[[name]] <= 0) && !has_sign(name, ends)) {
      abort("value", "`", name, "` is estimated by its logarithm and must be positive, not ",
            format(min(parameters[[name]])), "; lower = c(", name, " = -Inf) lets that of your own kernel be negative")
    }
    if (any(parameters[[name]] < ends[[name]][1] | parameters[[name]] > ends[[name]][2])) {
      abort("value", "`", name, "` begins at ", format(parameters[[name]][1]), ", outside of its bounds, ",
            paste(format(ends[[name]]), collapse = " to "))
    }
  }
  fixed <- setdiff(names(ends), free)
  if (length(fixed)) {
    abort("input", "`", fixed[1], "` has a bound and is not estimated; estimate = \"", fixed[1], "\" would be")
  }
  free <- names(parameters)[names(parameters) %in% free]
  if (!is.null(check)) check(parameters$alpha, parameters$beta, free)
  free
}

# Returns the user's bounds of estimates: for each parameter its lower and upper bound.
ends_of_parameters <- function(lower, upper, known, parameters, aniso) {
  for (bound in list(lower, upper)) {
    if (!is.null(bound) && (!is.numeric(bound) || anyNA(bound) || is.null(names(bound)))) {
      abort("input", "`lower` and `upper` must be numbers with the names of parameters, as in c(scale = 2), not ",
            format_value(bound))
    }
    check_parameter_names(names(bound), names(parameters), known$title)
  }
  if (aniso && length(c(lower, upper))) {
    abort("unsupported", "`lower` and `upper` are not for a kernel with `aniso`; fit_control(lower = ) is")
  }
  names <- union(names(lower), names(upper))
  end <- function(bound, name, none) if (name %in% names(bound)) bound[[name]] else none
  stats::setNames(lapply(names, function(name) {
    ends <- c(end(lower, name, 0), end(upper, name, Inf))
    if (ends[1] >= ends[2]) abort("value", "`lower` of `", name, "`, ", format(ends[1]), ", is not below `upper`")
    if (ends[1] < 0 && (is.null(known$fun) || name %in% c("scale", "variance"))) {
      abort("value", "`lower` of `", name, "` must not be negative: parameters of your own kernels may be, other than ",
            "`scale`")
    }
    ends
  }), names)
}

# Tells which parameters may be negative.
has_sign <- function(names, ends) vapply(names, function(name) isTRUE(ends[[name]][1] < 0), NA, USE.NAMES = FALSE)

# Returns the bounds of a kernel's parameters; bounds of parts have the names of the sum or product.
kernel_ends <- function(parts) {
  if (is.null(parts$op)) return(parts$ends)
  do.call(c, Map(function(k, keys) {
    ends <- kernel_ends(kernel_parts(k))
    stats::setNames(ends, names(keys)[match(names(ends), keys)])
  }, parts$of, parts$keys))
}

# Returns the links of a kernel's parameters: "identity" for angles and parameters that may be negative, "logit" for
# parameters between 0 and 1, else "log".
parameter_links <- function(names, parts) {
  plain <- is_angle(names, parts) | has_sign(names, kernel_ends(parts))
  ifelse(plain, "identity", ifelse(is_share(names, parts), "logit", "log"))
}
