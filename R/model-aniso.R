# Anisotropic kernels of two inputs: their axes, and the parameters that are estimated.
#
# The user gives the `scale` along the long axis, the `ratio` of the short axis' scale to it, and the `angle` of the
# long axis. If these are estimated, `values$kernel` has the geometric mean of both scales as `scale`, and as `turn` the
# numbers a and b of S = [a, b; b, -a]: squared distances have the metric exp(-S) / scale^2, which is smooth even if
# both scales are equal and the angle is undefined. The kernel's parameter `axes` is a root of the metric, by columns:
# distances are computed between the points multiplied by `axes`.

# --- the kernel ---------------------------------------------------------------------------------------------------

# Returns the parameters that `aniso` gives a kernel: none, parameters to be estimated, or numbers.
aniso_parameters <- function(aniso, known, ard, metric) {
  if (identical(aniso, FALSE)) return(NULL)
  row <- if (is.null(known$fun)) kernel_rows[[known$name]]
  if (is.null(row$of_square)) {
    abort("unsupported", "`aniso` is for kernels of a distance, such as \"matern32\", and ", known$title, " is none")
  }
  if (ard) abort("input", "`aniso` and `ard` both give inputs scales of their own; give one of them")
  if (!is.null(metric) && metric[1] != "euclidean") {
    abort("unsupported", "`aniso` turns axes of a plane, and metric = \"", metric[1], "\" is on a sphere; project the ",
          "places first")
  }
  if (isTRUE(aniso)) return(list(ratio = NULL, angle = NULL))
  if (!is.numeric(aniso) || !setequal(names(aniso), c("ratio", "angle")) || length(aniso) != 2) {
    abort("input", "`aniso` must be TRUE, FALSE or c(ratio = , angle = ), not ", format_value(aniso))
  }
  check_ratio(aniso[["ratio"]])
  as.list(aniso[c("ratio", "angle")])
}

check_ratio <- function(ratio) {
  if (is_lazy(ratio) || is.numeric(ratio) && length(ratio) == 1 && isTRUE(ratio > 0 && ratio <= 1)) return(invisible())
  abort("value", "`ratio` is that of the short axis to the long one, above 0 and at most 1, not ", format_value(ratio))
}

is_aniso <- function(parts) isTRUE(parts$aniso)

# Tells which parameters are angles of axes, which are not estimated by their logarithms.
is_angle <- function(names, parts) {
  grepl("(^|[.])angle$", names) & any(vapply(leaf_parts(new_kernel(parts)), is_aniso, NA))
}

# Points are rotated before pairs are formed, so that a pair costs as much as without `aniso`.
aniso_value <- function(parts, x, y, parameters) {
  x <- if (is_lazy(x)) x else Vi(strip_term(x), name = "x")
  y <- if (is.null(y)) t(x) else if (is_lazy(y)) y else Vj(strip_term(y), name = "y")
  if (width(x) != 2) {
    abort("shape", "`aniso` is for two inputs, not ", width(x), "; kernel_spec(of = ) names them among others, and ",
          "`ard = TRUE` is for any number")
  }
  axes <- parameters$axes %or% axes_of_angle(parameters)
  if (!is_lazy(axes)) axes <- Pm(axes, name = "axes")
  more <- setdiff(names(parameters), c("axes", "scale", "ratio", "angle"))
  square <- sqdist(matvecmult(axes, x), matvecmult(axes, y))
  do.call(kernel_rows[[parts$name]]$of_square, c(list(square), parameters[more]))
}

axes_of_angle <- function(numbers) {
  check_ratio(numbers$ratio)
  turned <- numbers$angle * (pi / 180)
  short <- numbers$scale * numbers$ratio
  zero <- 0 * short  # if one parameter is a lazy tensor, c() makes one of all four numbers
  c(zero + cos(turned) / numbers$scale, zero - sin(turned) / short, zero + sin(turned) / numbers$scale,
    zero + cos(turned) / short)
}

# --- the parameters that are estimated ----------------------------------------------------------------------------

# Replaces an open ratio and angle, in the values and free parameters of a model, by `turn`.
turned_numbers <- function(numbers, parts) {
  open <- grepl("(^|[.])(ratio|angle)$", numbers$free)
  if (!any(open) || !any(vapply(leaf_parts(new_kernel(parts)), is_aniso, NA))) return(numbers)
  if (!is.null(parts$op)) {
    abort("unsupported", "in a sum or product of kernels `aniso` must be numbers, c(ratio = , angle = ): those that a ",
          "fit with one kernel estimates, for example")
  }
  if (sum(open) < 2 || !"scale" %in% numbers$free) {
    abort("input", "`scale`, `ratio` and `angle` of a kernel are estimated together; with aniso = c(ratio = , angle = ",
          ") the scale alone is")
  }
  kept <- setdiff(names(numbers$values), c("ratio", "angle"))
  list(values = c(numbers$values[kept], list(turn = c(a = 0, b = 0))), free = c(numbers$free[!open], "turn"))
}

is_turning <- function(values) !is.null(values$kernel$turn)

# exp(-S / 2) / scale by hyperbolic functions of m, and its derivatives with respect to log(scale), a and b.
axes_of_turn <- function(scale, turn) {
  a <- turn[[1]] / 2
  b <- turn[[2]] / 2
  m <- sqrt(a^2 + b^2)
  near <- m < 0.01  # series near m = 0
  h <- if (near) 1 + m^2 / 6 + m^4 / 120 else sinh(m) / m
  q <- if (near) 1 / 3 + m^2 / 30 + m^4 / 840 else (cosh(m) - h) / m^2
  unit <- c(1, 0, 0, 1)
  S <- c(a, b, b, -a)
  value <- (cosh(m) * unit - h * S) / scale
  slope <- function(to, by) (h * by * unit - q * by * S - h * to) / (2 * scale)
  list(value = value, slopes = list(scale = list(-value),
                                    turn = list(slope(c(1, 0, 0, -1), a), slope(c(0, 1, 1, 0), b))))
}

# Starting values: isotropic, or four directions with a ratio of 1/4.
turns_to_try <- rbind(0, log(4) * cbind(c(1, 0, -1, 0), c(0, 1, 0, -1)))

# --- values as users see them -------------------------------------------------------------------------------------

# Values of a kernel's parameters as the user sees them.
told_kernel <- function(numbers) {
  if (is.null(numbers$turn)) return(numbers)
  m <- sqrt(sum(numbers$turn^2))
  numbers$scale <- numbers$scale * exp(m / 2)
  after <- match("scale", names(numbers))
  axes <- list(ratio = exp(-m), angle = atan2(numbers$turn[[2]], numbers$turn[[1]]) * 90 / pi)
  append(numbers[names(numbers) != "turn"], axes, after)
}

# Labels of estimates as the user sees them.
told_labels <- function(labels) {
  names <- c(scale.mean = "scale", turn.a = "ratio", turn.b = "angle")
  unname(ifelse(labels %in% names(names), names[labels], labels))
}

# Names the quantity that a bound limits: the geometric mean of both scales, or the ratio.
told_bound <- function(label) {
  if (label == "scale.mean") return("the geometric mean of both scales")
  paste0("`", sub("^turn[.].*", "ratio", label), "`")
}

# Covariances of the logarithms of scale and ratio and of the angle, in degrees, by the delta method.
told_covariances <- function(V, values) {
  if (!is_turning(values) || !length(V)) return(V)
  at <- match(c("scale.mean", "turn.a", "turn.b"), colnames(V))
  turn <- values$kernel$turn
  m <- sqrt(sum(turn^2))
  J <- diag(1, ncol(V))
  J[at[1], at[2:3]] <- turn / (2 * m)
  J[at[2], at[2:3]] <- -turn / m
  J[at[3], at[2:3]] <- c(-turn[[2]], turn[[1]]) / m^2 * 90 / pi
  unknown <- is.na(V)
  V[unknown] <- 0
  out <- J %*% V %*% t(J)
  lost <- is.na(diag(out)) | as.vector((J != 0) %*% diag(unknown)) > 0
  out[lost, ] <- out[, lost] <- NA
  structure(out, dimnames = rep(list(told_labels(colnames(V))), 2))
}

# Unit vectors along both axes of a fit's kernel, a row each.
aniso_directions <- function(fit) {
  parts <- kernel_parts(fit$kernel)
  if (!is_aniso(parts) || length(parts$columns %or% 1:2) != ncol(fit$data$x)) return(NULL)
  turned <- parts$parameters$angle * pi / 180
  rbind(`long axis` = c(cos(turned), sin(turned)), `short axis` = c(-sin(turned), cos(turned)))
}
