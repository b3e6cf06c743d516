# Arithmetic and functions of complex lazy tensors, as formulas of their parts. A part that is zero everywhere is NULL
# in a formula, so that real and purely imaginary numbers cost no more than they must.

parts_of <- function(x) {
  if (is_lazy_complex(x)) return(list(re = x$re, im = x$im))
  if (!is.complex(x)) return(list(re = x, im = NULL))
  unless_zero <- function(part) if (!all(part %in% 0)) part
  list(re = unless_zero(Re(x)), im = unless_zero(Im(x)))
}

plus <- function(a, b) if (is.null(a)) b else if (is.null(b)) a else a + b
minus <- function(a, b) if (is.null(b)) a else if (is.null(a)) -b else a - b
real_times <- function(a, b) if (!is.null(a) && !is.null(b)) a * b
over <- function(a, b) if (!is.null(a)) a / b

# Makes a complex formula from one or two parts. If one part is a formula, a number in the other also becomes one.
complex_from <- function(z) {
  there <- if (is_lazy(z$re) || is.null(z$im)) z$re else z$im
  part <- function(x) if (is_lazy(there)) as_lazy(x %or% 0, there, "part") else x %or% (there * 0)
  new_complex(part(z$re), part(z$im))
}

complex_operator <- function(symbol, e1, e2) {
  a <- parts_of(e1)
  b <- parts_of(e2)
  switch(symbol,
    "+" = complex_from(list(re = plus(a$re, b$re), im = plus(a$im, b$im))),
    "-" = complex_from(list(re = minus(a$re, b$re), im = minus(a$im, b$im))),
    "*" = complex_from(complex_times(a, b)),
    "/" = complex_from(complex_over(a, b)),
    "^" = complex_power(e1, e2),
    "==" = complex_equal(a, b),
    "!=" = !complex_equal(a, b),
    "|" = complex_operation("Scalprod", list(x = e1, y = e2)),
    abort("unknown_op", "`", symbol, "` is not defined for complex lazy tensors: there is no order; Re(), Im() and ",
          "Mod() are real formulas")
  )
}

complex_sign <- function(symbol, x) {
  switch(symbol, "+" = x, "-" = each_part(x, `-`),
         abort("unknown_op", "`", symbol, "` is not defined for complex lazy tensors"))
}

# (a + bi)(c + di); `times` may be any bilinear product.
complex_times <- function(a, b, times = real_times) {
  list(re = minus(times(a$re, b$re), times(a$im, b$im)), im = plus(times(a$re, b$im), times(a$im, b$re)))
}

complex_over <- function(a, b) {
  if (is.null(b$im)) return(list(re = over(a$re, b$re), im = over(a$im, b$re)))
  size <- plus(real_times(b$re, b$re), real_times(b$im, b$im))
  lapply(complex_times(a, list(re = b$re, im = -b$im)), over, size)
}

# Powers with a whole exponent, by repeated squaring.
complex_power <- function(x, n) {
  if (!is_whole(n, -1024, 1024) || !is_lazy_complex(x)) return(exp(n * log(as_complex_of(x, n))))
  if (n < 0) return(complex_operator("/", 1 + 0i, complex_power(x, -n)))
  if (n == 0) return(each_part(x, function(part) part * 0) + 1)
  power <- NULL
  repeat {
    if (n %% 2 == 1) power <- if (is.null(power)) x else power * x
    n <- n %/% 2
    if (n == 0) return(power)
    x <- x * x
  }
}

# Makes a real formula, or a number beside a formula, complex.
as_complex_of <- function(x, beside) {
  if (is_lazy_complex(x)) return(x)
  if (is_lazy(x)) return(as_complex(x))
  re <- if (is_lazy_complex(beside)) beside$re else beside
  lazy_complex(as_lazy(Re(x), re, "base"), Im(x))
}

complex_equal <- function(a, b) {
  same <- function(a, b) if (is.null(a)) b == 0 else if (is.null(b)) a == 0 else a == b
  parts <- list(if (!is.null(a$re) || !is.null(b$re)) same(a$re, b$re),
                if (!is.null(a$im) || !is.null(b$im)) same(a$im, b$im))
  Reduce(`&`, Filter(Negate(is.null), parts))
}

# Operations, by the engine's names. Norms and distances are those of the vector c(Re, Im); linear and bilinear
# operations apply to the parts.
complex_lengths <- c("SqNorm2", "Norm2", "SqDist", "Euclidean")
complex_choices <- c("Elem", "ElemT", "Extract", "ExtractT")
complex_products <- c("Scalprod", "MatVecMult", "VecMatMult", "TensorProd", "MatMult", "Kron", "TensorDot")

complex_operation <- function(op, args, attributes = NULL) {
  x <- args[[1]]
  beside <- Find(is_lazy_complex, args)
  behind <- function(z) c(z$re, z$im)
  if (op %in% complex_lengths) {
    return(lazy_call(op, lapply(unname(args), function(arg) behind(as_complex_of(arg, beside)))))
  }
  if (op %in% complex_choices) return(each_part(x, function(part) lazy_call(op, list(part), attributes)))
  if (op %in% complex_products) {
    product <- function(a, b) if (!is.null(a) && !is.null(b)) operation(op, list(x = a, y = b), attributes)
    return(complex_from(complex_times(parts_of(x), parts_of(args[[2]]), product)))
  }
  if (op == "Select" && !is_lazy_complex(x)) {
    chosen <- lapply(args[-1], as_complex_of, beside)
    return(new_complex(lazy_if(x, chosen$y$re, chosen$z$re), lazy_if(x, chosen$y$im, chosen$z$im)))
  }
  switch(op, Square = x * x, Rsqrt = 1 / sqrt(x), Normalize = x * rsqrt(sqnorm2(x)), {
    known <- kernweave_operations()
    abort("unsupported", known$fn[match(op, known$name)], "() of complex formulas is not defined; Re(), Im() and ",
          "Mod() are real formulas")
  })
}

# The parts of each function, given the parts of its argument.
complex_functions <- list(
  exp = function(a, b) list(exp(a) * cos(b), exp(a) * sin(b)),
  log = function(a, b) list(log(modulus(a, b)), angle(a, b)),
  sqrt = function(a, b) {
    root <- sqrt(modulus(a, b))
    half <- angle(a, b) / 2
    list(root * cos(half), root * sin(half))
  },
  cos = function(a, b) list(cos(a) * cosh(b), -sin(a) * sinh(b)),
  sin = function(a, b) list(sin(a) * cosh(b), cos(a) * sinh(b)),
  cosh = function(a, b) list(cosh(a) * cos(b), sinh(a) * sin(b)),
  sinh = function(a, b) list(sinh(a) * cos(b), cosh(a) * sin(b))
)

modulus <- function(a, b) sqrt(a * a + b * b)
angle <- function(a, b) if (is_lazy(a) || is_lazy(b)) lazy_atan2(b, a) else overlay[["atan2"]](b, a)

#' @rdname lazy_complex
#' @param ... for `log`: `base`; for `sum`: `index`, with the settings of [reduction()]
#' @export
Math.lazy_complex <- function(x, ...) {
  if (.Generic == "abs") return(modulus(x$re, x$im))
  f <- complex_functions[[.Generic]]
  if (is.null(f)) {
    abort("unknown_op", .Generic, "() is not defined for complex lazy tensors",
          near_hint(.Generic, names(complex_functions)))
  }
  out <- f(x$re, x$im)
  out <- new_complex(out[[1]], out[[2]])
  if (...length() == 0) out else out / log(..1)
}

#' @rdname lazy_complex
#' @param z a complex lazy tensor
#' @export
Complex.lazy_complex <- function(z) {
  switch(.Generic, Re = z$re, Im = z$im, Mod = modulus(z$re, z$im), Arg = angle(z$re, z$im),
         Conj = new_complex(z$re, -z$im))
}

#' @rdname lazy_complex
#' @param na.rm must be `FALSE`, the default: a formula is computed for all pairs
#' @export
Summary.lazy_complex <- function(..., na.rm = FALSE) {
  check_na_rm(na.rm)
  if (.Generic != "sum") {
    abort("unsupported", .Generic, "() of complex formulas is not defined: they have sums and means; Re(), Im() and ",
          "Mod() are real formulas")
  }
  given <- summary_arguments("sum", list(...))
  if (!is.null(given$settings$index)) return(do.call(reduction, c(list(given$F, "sum"), given$settings)))
  refuse_settings("sum", given$settings)
  each_part(given$F, sum)
}

#' @rdname lazy_complex
#' @param index the axis to reduce over. Without it, `mean()` is over the components of each pair
#' @export
mean.lazy_complex <- function(x, index = NULL, ..., na.rm = FALSE) {
  check_na_rm(na.rm)
  if (!is.null(index)) return(reduction(x, "mean", index = index, ...))
  each_part(x, mean)
}

# Applies a function to the real and the imaginary part, each varying along both axes.
by_parts <- function(x, f, ...) {
  x <- as_whole(x)
  complex_result(list(f(x$re, ...), f(x$im, ...)))
}
as_whole <- function(x, axes = c("i", "j")) {
  whole <- whole_of(x)
  for (axis in axes[vapply(axes, function(axis) has_axis(whole, axis), NA)]) {
    n <- dim(whole)[match(axis, c("i", "j"))]
    flat <- 0 * switch(axis, i = row_index, j = col_index)(if (!is.na(n)) n)
    x <- each_part(x, function(part) if (has_axis(part, axis)) part else part + flat)
  }
  x
}

#' @export
solve.lazy_complex <- function(a, b, ...) {
  abort("unsupported", "solve() of a complex lazy tensor is not defined; for a small one use as.matrix() and base R")
}

#' @export
plot.lazy_complex <- function(x, ...) {
  abort("unsupported", "plot() draws real formulas: Mod(), Arg(), Re() or Im() of a complex one")
}

#' @export
summary.lazy_complex <- function(object, ...) object
