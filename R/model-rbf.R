# Radial basis functions: interpolation and smoothing of scattered data, with a polynomial part.

#' Interpolation and smoothing with radial basis functions
#'
#' Fits a sum of kernels centred at the points, plus a polynomial, that interpolates the data (`lambda = 0`) or
#' minimises the residual sum of squares plus `lambda` times its roughness. Use it for surfaces through scattered data,
#' thin-plate splines for instance.
#'
#' A thin plate is the spline whose roughness is the integral of all squared second derivatives, the bending energy. Its
#' kernel depends on the dimension: d^3 with one input (the natural cubic spline), d^2 log(d) with two, -d with three.
#' With four and more inputs there is no such spline, and the kernel is d^2 log(d).
#'
#' The kernel weights are orthogonal to the polynomials, so the kernel need only be conditionally positive definite:
#' thin plates, or functions such as the cube of the distance.
#'
#' For a thin plate of one to three inputs `lambda` is the factor of the bending energy, as in
#' `fields::Tps(lambda = , scale.type = "unscaled")`. `lambda = "gcv"` chooses the penalty as [kernel_ridge()] does, by
#' generalised cross-validation, `n rss / (n - edf)^2`, combined with the likelihood. Up to `control$dense_n` points
#' this is exact; for more points one Lanczos process serves all penalties. `fields::Tps()` chooses the minimum of the
#' column `gcv`. The default `scale` is 1 for thin plates and energy kernels, and [median_scale()] for others.
#'
#' @param x,y the inputs (a matrix, data frame, vector or points of sf) and the values (a vector, or a matrix
#'   with one column per response); or `x` a formula, in which `~ geometry` has the places of sf data
#' @param data,subset,na.action for a formula: as in [stats::lm()]
#' @param kernel the kernel, as in [kernel_spec()]
#' @param degree degree of the polynomial, at least the order of the kernel minus 1: 1 for thin plates, 0 for energy
#'   kernels; -1 for no polynomial
#' @param lambda the penalty: a number, 0 or more; or `"gcv"` for generalised cross-validation
#' @param weights weights of the observations: the variance of an observation is proportional to 1 / weight
#' @param control settings from [fit_control()]
#' @param ... not used
#' @return An object of class `rbf_interpolate`: `coefficients` of the polynomial, in powers of the inputs,
#'   `kernel.weights`, `lambda`, `edf` and, after a search, `gcv` (a data frame with the GCV score and the `criterion`
#'   at each penalty) and `criterion` (the GCV score at the chosen penalty).
#' @seealso [gp_fit()] for surfaces with standard errors, which `rbf_interpolate()` does not compute; [local_reg()]
#' @concept thin-plate spline
#' @concept smoothing spline
#' @concept scattered data interpolation
#' @concept radial basis function, RBF
#' @concept regularisation penalty
#' @export
#' @examples
#' set.seed(1)
#' i <- sample(length(volcano), 200)
#' places <- cbind(row(volcano)[i], col(volcano)[i])
#' fit <- rbf_interpolate(places, volcano[i])
#' fit
#' predict(fit, rbind(c(20.5, 30.5), c(44, 31)))
#' predict(fit, rbind(c(20.5, 30.5)), gradient = TRUE)
#' plot(fit)
#' rbf_interpolate(dist ~ speed, cars, lambda = "gcv")
rbf_interpolate <- function(x, ...) UseMethod("rbf_interpolate")

#' @rdname rbf_interpolate
#' @export
rbf_interpolate.default <- function(x, y, kernel = "thin_plate", degree = 1, lambda = 0, weights = NULL,
                                    control = fit_control(), ...) {
  refuse_more(...)
  check_given(y, "y")
  inputs <- fit_matrix(x, told = TRUE)
  rbf_of(inputs, y, kernel_spec(kernel), degree, lambda, weights, control, match.call())
}

#' @rdname rbf_interpolate
#' @export
rbf_interpolate.formula <- function(x, data = NULL, kernel = "thin_plate", degree = 1, lambda = 0, weights = NULL,
                                    subset = NULL, na.action = NULL, control = fit_control(), ...) {
  refuse_more(...)
  found <- formula_inputs(x, data, na.action, substitute(weights), substitute(subset))
  inputs <- found$inputs
  rbf_of(inputs, found$left, kernel_spec(kernel), degree, lambda, inputs$weights, control, match.call())
}

rbf_of <- function(inputs, y, kernel, degree, lambda, weights, control, call) {
  check_control(control)
  gcv <- identical(lambda, "gcv")
  if (!gcv && !(length(lambda) == 1 && isTRUE(is.numeric(lambda) && is.finite(lambda) && lambda >= 0))) {
    abort("value", "`lambda` must be 0 or more, or \"gcv\", not ", format_value(lambda))
  }
  degree <- rbf_degree(degree, kernel)
  inputs <- without_constants(inputs)
  y <- check_response(y, nrow(inputs$x), model = inputs$model)
  weights <- fit_weights(weights, nrow(inputs$x))
  x <- unname(strip_term(inputs$x))
  used <- heavy_rows(x, unname(y), weights)
  parts <- kernel_parts(kernel)
  if (identical(parts$name, "thin_plate")) {
    plate <- plates[[min(ncol(x), 4)]]
    parts[names(plate)] <- plate
    kernel <- new_kernel(parts)
  }
  free <- parts$name %in% c("thin_plate", "energy")  # the scale only multiplies the kernel and adds polynomials
  if (free && is.null(parts$parameters$scale)) kernel <- update(kernel, scale = 1)
  kernel <- settled_kernel(kernel, structure(used$x, term = attr(inputs$x, "term")))
  basis <- polynomial_basis(used$x, degree)
  used$P <- polynomial(basis, used$x)
  check_unisolvent(used, degree, lambda)
  # The unit makes lambda a factor of the bending energy.
  own <- kernel_parts(kernel)$parameters
  bends <- identical(parts$name, "thin_plate") && ncol(x) <= 3 && length(own$scale) == 1
  theta <- if (bends) c(12, 8 * pi, 8 * pi)[ncol(x)] * own$variance / own$scale^(4 - ncol(x)) else 1
  n <- nrow(used$x)
  through <- n == ncol(used$P)  # the polynomial goes through all points, for any lambda
  on <- if (!through && (gcv || lambda > 0)) beside_polynomial(kernel_pairs(kernel, used$x), used)
  curve <- if (gcv) {
    with_singular(gcv_curve(on$op, on$y, n, on$size * 10^seq(-7, 3, by = 0.125), control, theta), kernel)
  }
  if (gcv) lambda <- curve$lambda
  ridge <- theta * lambda
  found <- rbf_solved(kernel, used, ridge, control)
  edf <- curve$edf %or% if (ridge == 0 || through) n
         else n - ridge * with_singular(fit_trace(on$op, n, ridge, control), kernel)$trace
  fit <- new_fit("rbf_interpolate", call, inputs, kernel = kernel, degree = degree, lambda = lambda, basis = basis,
                 data = used, weights = weights, kernel.weights = found$c, b = found$b,
                 coefficients = raw_coefficients(basis, found$b, colnames(inputs$x) %or% inputs$names),
                 edf = edf, gcv = curve$table, criterion = curve$least, convergence = found$convergence)
  all <- rbf_values(fit, x)
  missed <- max(abs(y - all)[(weights %or% rep(1, nrow(y))) > 0, ])
  if (lambda == 0 && missed > 1e-3 * max(diff(apply(used$y, 2, range)), 1e-5 * abs(used$y))) {
    warn("approximate", "the interpolation misses its ", counted(n, "point"), " by up to ", format(missed, digits = 2),
         ", since some lie too close together for double precision: lambda > 0 smooths them")
  }
  fit[c("fitted.values", "residuals")] <- lapply(list(all, y - all), as_response, y, inputs$x)
  fit
}

# --- kernels and polynomials --------------------------------------------------------------------------------

rbf_degree <- function(degree, kernel) {
  if (!is.numeric(degree) || length(degree) != 1 || !degree %in% -1:5) {
    abort("value", "`degree` must be -1, 0, 1, ... 5, not ", format_value(degree))
  }
  order <- kernel_order(kernel)
  if (isTRUE(degree < order - 1)) {
    abort("value", kernel_parts(kernel)$title, " is conditionally definite of order ", order, ": `degree` must be ",
          order - 1, " or more, not ", degree)
  }
  degree
}

# Thin plates of order 2 in one to three dimensions, and the kernel beyond: the formula, if it is not d^2 log(d).
plates <- list(
  list(title = "Thin plate (d^3)", fun = function(x, y, scale) sqdist(x / scale, y / scale)^1.5),
  list(title = "Thin plate"),
  list(title = "Thin plate (-d)", fun = function(x, y, scale) -sqrt(sqdist(x / scale, y / scale))),
  list(title = "d^2 log(d)")
)

# Monomials of centred and scaled inputs: a row of exponents for each.
polynomial_basis <- function(x, degree) {
  D <- ncol(x)
  powers <- matrix(0, if (degree < 0) 0 else 1, D)
  last <- powers
  for (total in seq_len(max(degree, 0))) {
    last <- unique(do.call(rbind, lapply(seq_len(D), function(d) t(t(last) + (seq_len(D) == d)))))
    powers <- rbind(powers, last)
  }
  list(powers = powers, centre = colMeans(x), width = apply(x, 2, function(v) max(diff(range(v)) / 2, 1e-300)))
}

polynomial <- function(basis, at) {
  z <- t((t(at) - basis$centre) / basis$width)
  monomials(z, basis$powers)
}

monomials <- function(z, powers) {
  out <- matrix(1, nrow(z), nrow(powers))
  for (m in seq_len(nrow(powers))) for (d in which(powers[m, ] > 0)) out[, m] <- out[, m] * z[, d]^powers[m, d]
  out
}

# Computes the coefficients of the same polynomial in powers of the raw inputs.
raw_coefficients <- function(basis, b, names) {
  A <- basis$powers
  m <- nrow(A)
  expanded <- matrix(1, m, m)
  for (d in seq_len(ncol(A))) {
    a <- matrix(A[, d], m, m)
    less <- pmax(a - t(a), 0)
    expanded <- expanded * choose(a, t(a)) * (-basis$centre[d])^less / basis$width[d]^a
  }
  labels <- apply(A, 1, function(e) {
    paste(paste0(names, ifelse(e > 1, paste0("^", e), ""))[e > 0], collapse = ":")
  })
  out <- crossprod(expanded, b)
  rownames(out) <- if (m) ifelse(labels == "", "(Intercept)", labels)
  if (ncol(b) == 1) out[, 1] else out
}

# --- systems ------------------------------------------------------------------------------------------------

check_unisolvent <- function(used, degree, lambda) {
  least <- max(1, ncol(used$P) + identical(lambda, "gcv"))
  if (nrow(used$x) < least) {
    abort("data", "a polynomial of degree ", degree, if (identical(lambda, "gcv")) ", with lambda = \"gcv\",",
          " needs ", counted(least, "point"), ", not ", nrow(used$x))
  }
  rank <- if (ncol(used$P)) qr(used$P)$rank else 0
  if (rank < ncol(used$P)) {
    abort("singular", "the points lie on a line, a plane or another surface on which polynomials of degree ", degree,
          " are not independent (", rank, " of ", ncol(used$P), "): use degree = ", degree - 1,
          ", with a kernel that allows it, or leave out an input")
  }
  twins <- if (identical(lambda, 0) || identical(lambda, 0L)) coincident_rows(used$x)
  if (length(twins)) {
    abort("data", "points ", twins[1], " and ", twins[2], " coincide, and `lambda` is 0: nothing interpolates both; ",
          "lambda > 0 smooths")
  }
}

# Subtracts a least-squares polynomial from the response first, so that a response far from 0 loses no digits.
rbf_solved <- function(kernel, used, ridge, control) {
  m <- ncol(used$P)
  first <- if (m) qr.coef(qr(used$P), used$y) else matrix(0, 0, ncol(used$y))
  c <- with_singular(fit_solve(kernel_pairs(kernel, used$x), used$y - used$P %*% first, ridge / used$w, control,
                               trend = if (m) used$P), kernel)
  list(c = matrix(c, nrow(used$y)), b = first + if (m) matrix(attr(c, "trend"), m) else 0,
       convergence = convergence_of(c))
}

# Explains an indefinite matrix: by the order of the kernel, unknown for a user's kernel, or by rounding.
with_singular <- function(value, kernel) {
  tryCatch(value, kernweave_error_indefinite = function(e) {
    abort("singular", "the kernel matrix is not positive definite beside this polynomial: ",
          if (is.na(kernel_order(kernel))) "a higher `degree`, " else "a shorter `scale`, ",
          "or lambda > 0, would make it so (", message_of(e), ")")
  })
}

# Returns the weighted matrix on the complement of the polynomials, the response there, and the mean eigenvalue.
beside_polynomial <- function(K, used) {
  root <- sqrt(used$w)
  n <- length(root)
  m <- ncol(used$P)
  all <- sum(used$w * diag(K))
  if (!m) return(list(op = weighed_pairs(K, used$w), y = root * used$y, size = all / n))
  q <- qr(root * used$P)
  rest <- function(v) qr.qty(q, v)[-seq_len(m), , drop = FALSE]
  op <- function_op(function(v) {
    v <- root * qr.qy(q, rbind(matrix(0, m, ncol(v)), v))
    rest(root * unname(K %*% v))
  }, n - m, symmetric = TRUE)
  first <- root * qr.Q(q)
  list(op = op, y = rest(root * used$y), size = (all - sum(first * unname(K %*% first))) / (n - m))
}

rbf_values <- function(fit, at) {
  unname(kernel_pairs(fit$kernel, at, fit$data$x) %*% fit$kernel.weights) + polynomial(fit$basis, at) %*% fit$b
}

# --- methods ------------------------------------------------------------------------------------------------

#' @rdname rbf_interpolate
#' @param object,newdata for `predict()`: a fit, and new inputs; by default the inputs of the fit
#' @param gradient return the derivatives with respect to the inputs, one column each, instead of the values?
#' @export
predict.rbf_interpolate <- function(object, newdata = NULL, gradient = FALSE, ...) {
  refuse_more(...)
  if (is_raster(newdata)) return(over_cells(object, newdata, predict.rbf_interpolate, gradient))
  check_flag(gradient, "gradient")
  if (is.null(newdata) && !gradient) return(fitted(object))
  x <- if (is.null(newdata)) object$x else new_points(object, newdata)
  f <- if (gradient) rbf_gradient else rbf_values
  found <- at_complete(x, function(at) f(object, unname(at)))
  if (gradient) return(structure(found, dimnames = list(rownames(x), colnames(object$x) %or% object$names)))
  if (ncol(found) == 1) return(found[, 1])
  structure(found, dimnames = list(rownames(x), colnames(object$data$y)))
}

rbf_gradient <- function(object, at) {
  refuse_many_of(object, "gradients are those")
  if (!nrow(at)) return(at)
  of_kernels <- gradient(function(p) sum(kernel_pairs(object$kernel, p, object$data$x) %*% object$kernel.weights))(at)
  basis <- object$basis
  z <- t((t(at) - basis$centre) / basis$width)
  slopes <- lapply(seq_len(ncol(at)), function(d) {
    lower <- basis$powers
    lower[, d] <- pmax(lower[, d] - 1, 0)
    t(t(monomials(z, lower)) * basis$powers[, d] / basis$width[d]) %*% object$b
  })
  of_kernels$p + do.call(cbind, slopes)
}

#' @rdname rbf_interpolate
#' @param digits significant digits
#' @export
print.rbf_interpolate <- function(x, digits = 4, ...) {
  n <- nrow(x$data$x)
  say(format(x$kernel), ", ", if (x$degree < 0) "no polynomial" else paste("degree", x$degree), ", ",
      if (x$lambda == 0) "interpolates " else "smooths ", format(n, big.mark = ","), " points in ",
      counted(ncol(x$x), "dimension"), "\n")
  if (x$lambda == 0) say("  largest residual ", format(max(abs(x$residuals)), digits = 2), "\n")
  else {
    say("  lambda ", format(x$lambda, digits = digits), if (!is.null(x$gcv)) " by generalised cross-validation",
        ", edf ", format(x$edf, digits = digits), ", sigma ",
        paste(format(sigma(x), digits = digits), collapse = " "), "\n")
  }
  if (is.matrix(x$coefficients)) print(x$coefficients, digits = digits)
  else if (length(x$coefficients)) {
    values <- vapply(x$coefficients, format, "", digits = digits)
    say("  polynomial: ", paste(names(x$coefficients), values, collapse = ", "), "\n")
  }
  cat(left_out_text(x$na.action))
  invisible(x)
}

# Returns the noise sd of an observation of weight 1.
#' @export
sigma.rbf_interpolate <- function(object, ...) {
  left <- object$data$y - rbf_values(object, object$data$x)
  sqrt(colSums(object$data$w * left^2) / max(nrow(left) - object$edf, 1e-8))
}

#' @rdname rbf_interpolate
#' @param n for `plot()` with one or two inputs: number of grid points along each input
#' @param whole for `plot()` with two inputs: draw the whole rectangle, or only what is near the data? See
#'   [autoplot-fits]
#' @export
plot.rbf_interpolate <- function(x, n = NULL, whole = FALSE, ...) drawn(x, plot_data(x, n, whole), ...)

#' @export
plot_data.rbf_interpolate <- function(object, n = NULL, whole = FALSE, ...) {
  part <- object$data
  refuse_many(ncol(part$y))
  D <- ncol(part$x)
  axes <- plot_axes(part$x, check_count(n %or% c(200, 60)[min(D, 2)], "n", least = 2))
  fit <- rbf_values(object, if (D < 3) unname(as.matrix(expand.grid(axes))) else part$x)[, 1]
  labels <- colnames(object$x) %or% object$names
  if (D > 2) return(observed_picture(fit, part$y, response_name(object)))
  if (D == 2) return(surface_picture(axes, fit, part$x, labels, response_name(object), whole))
  curve_picture(axes[[1]], fit, part$x, part$y, labels, response_name(object))
}
