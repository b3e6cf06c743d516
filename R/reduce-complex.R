# Complex lazy tensors: pairs of a real and an imaginary part, each a lazy tensor, or traced sums of these. The engine
# knows real numbers only; complex operations are written here as formulas of the parts.

#' Complex numbers in formulas
#'
#' Complex data give complex lazy tensors, for Fourier sums, characteristic functions and the like. Create a complex
#' lazy tensor with `Vi(z)`, `Vj(z)`, `Pm(z)` or `Vij(z)` of complex numbers, by combining a lazy tensor with a complex
#' number, as in `exp(2i * pi * Vi(x) * Vj(w))`, or with `lazy_complex()` from two real lazy tensors.
#'
#' Complex lazy tensors support `+ - * / ^ == !=`, `exp log sqrt sin cos sinh cosh`, `Re Im Mod Arg Conj abs`, `sum` and
#' `mean` over components or, with `index`, over points, `reduction()` with `"sum"` or `"mean"`, `%*%`, `crossprod`,
#' `tcrossprod`, `|`, `matvecmult()` and similar products (without a conjugate, as in base R), `norm2()`, `sqnorm2()`,
#' `sqdist()`, `euclidean()` and `normalize()` (with real lengths, as by `Mod()`), `square()`, `rsqrt()`, `lazy_if()`
#' between complex formulas, `elem()`, `extract()`, `rowSums` and its relatives, `diag`, `t`, `c`, `[` and `as.matrix`.
#' Any other operation is an error of class `kernweave_error_unsupported`. Complex numbers have no order, so minima and
#' comparisons other than equality do not exist.
#'
#' A sum returns complex numbers of R, and takes one pass through the pairs. `Re()`, `Im()`, `Mod()` and `Arg()` return
#' real lazy tensors, which work everywhere.
#'
#' A function given to [gradient()] may use complex formulas inside, as long as its result is real. [vjp()] of a complex
#' reduction R takes a complex cotangent `g` and returns the gradient of `sum(Re(g) * Re(R) + Im(g) * Im(R))`.
#'
#' @param real,imaginary the real and the imaginary part: real lazy tensors, of which one may be numbers instead
#' @param x a real lazy tensor
#' @return A complex lazy tensor. `exp1j(x)` is `exp(1i * x)`, `real2complex(x)` is x + 0i, `imag2complex(x)` is 0 + xi.
#' @seealso [Vi()], [lazy-arithmetic] for real formulas, [reduction()]
#' @concept Fourier transform
#' @concept characteristic function
#' @concept random Fourier features
#' @export
#' @examples
#' # a Fourier sum at frequencies w of points t with weights b
#' t <- runif(50)
#' b <- rnorm(50)
#' w <- 0:9
#' E <- exp(-2i * pi * Vi(w) * Vj(t))
#' E
#' E %*% b
#' # the characteristic function of a sample, and its distance from the normal one
#' phi <- mean(exp1j(Vi(w) * Vj(qnorm(ppoints(100)))), index = "j")
#' Mod(phi - exp(-w^2 / 2))
lazy_complex <- function(real, imaginary) {
  if (!is_lazy(real) && !is_lazy(imaginary)) {
    abort("input", "`real` or `imaginary` must be a lazy tensor; there are ", describe(real), " and ",
          describe(imaginary), "; Vi(), Vj() and Pm() take complex numbers")
  }
  if (!is_lazy(real)) real <- as_lazy(real, imaginary, "real")
  if (!is_lazy(imaginary)) imaginary <- as_lazy(imaginary, real, "imaginary")
  r_meet(list(real, imaginary))
  new_complex(real, imaginary)
}

#' @rdname lazy_complex
#' @export
exp1j <- function(x) {
  if (!is_lazy(x)) abort("input", "`x` must be a real lazy tensor, not ", describe(x))
  new_complex(cos(x), sin(x))
}

#' @rdname lazy_complex
#' @export
real2complex <- function(x) lazy_complex(x, 0)

#' @rdname lazy_complex
#' @export
imag2complex <- function(x) lazy_complex(0, x)

# --- looks --------------------------------------------------------------------------------------------------

#' @export
dim.lazy_complex <- function(x) dim(whole_of(x))

#' @export
length.lazy_complex <- function(x) length(whole_of(x))

#' @export
dimnames.lazy_complex <- function(x) dimnames(whole_of(x))

#' @export
names.lazy_complex <- function(x) NULL

#' @rdname lazy-print
#' @export
format.lazy_complex <- function(x, digits = getOption("digits"), ...) {
  vapply(list(re = x$re, im = x$im), function(part) formula_text(part$formula, digits = digits), "")
}

#' @rdname lazy-print
#' @export
str.lazy_complex <- function(object, ...) {
  cat("<complex lazy tensor> ", paste(dim(object)[1:2], collapse = " x "), ": ",
      paste(format(object), collapse = ", "), "\n", sep = "")
}

#' @export
t.lazy_complex <- function(x) each_part(x, t)

#' @export
`[.lazy_complex` <- function(x, i, j, k, ..., drop = FALSE) {
  if (nargs() - (!missing(drop)) == 2) refuse_places("[k]")
  taken <- function(x, which, pick) each_part(x, function(part) pick(part, which))
  along <- function(axis, what) {
    function(part, which) if (has_axis(part, axis)) take_points(part, which, axis, what) else part
  }
  if (!missing(k)) x <- taken(x, k, function(part, which) if (width(part) > 1) take_components(part, which) else part)
  if (!missing(i)) x <- taken(x, i, along("i", "rows"))
  if (!missing(j)) x <- taken(x, j, along("j", "columns"))
  x
}

#' @export
c.lazy_complex <- function(...) {
  parts <- lapply(list(...), parts_of)
  if (!all(vapply(parts, function(z) is_lazy(z$re), NA))) {
    abort("input", "c() of a complex lazy tensor takes lazy tensors; Pm() makes one of numbers")
  }
  im <- lapply(parts, function(z) z$im %or% (z$re * 0))
  new_complex(do.call(c, lapply(parts, `[[`, "re")), do.call(c, im))
}

#' @export
as.matrix.lazy_complex <- function(x, ...) {
  whole <- whole_of(x)
  extent <- c(need_extent(whole, "i", "as.matrix()"), need_extent(whole, "j", "as.matrix()"))
  guard_size(extent, 2 * width(whole), "pairs", "Reduce the formula instead, take rows first,")
  outputs <- list(sum_output(x$re$formula, "both"), sum_output(x$im$formula, "both"))
  complex_result(run_reduction(of_complex_numbers(new_reduction(outputs, whole$extent, whole$settings, whole$pairs))))
}

#' @export
as.array.lazy_complex <- function(x, ...) as.matrix(x)

# --- sums ---------------------------------------------------------------------------------------------------

# Marks a reduction of both parts as a reduction of complex numbers.
of_complex_numbers <- function(R) {
  R$results <- c("re", "im")
  R$complex <- TRUE
  R
}

reduce_complex <- function(F, op, index, K, weight, call, drop, ...) {
  row <- if (length(op) == 1) reduction_row(op)
  if (is.null(row) || !row$name %in% c("Sum", "Mean")) {
    abort("unsupported", "a complex formula has sums and means alone, not ", paste0(op, "()", collapse = ", "),
          "; Re(), Im() and Mod() are real formulas")
  }
  check_places(K, row)
  if (!is_lazy(F$re)) abort("input", "`F` must be a lazy tensor, not traced sums of one")
  F <- as_whole(F, strsplit(check_index(index), "")[[1]])
  R <- of_complex_numbers(reduce_several(list(F$re, F$im), row$fn, index, NULL, weight, FALSE, drop, ...))
  if (call && !length(free_operands(R))) run_reduction(R) else R
}

complex_product <- function(K, v, written) {
  K <- as_complex(K)
  whole <- whole_of(K)
  if (!has_axis(whole, "j")) abort("shape", "the left side of %*% has no points along j")
  if (!is_lazy(v) && !is_lazy_complex(v)) {
    v <- lapply(parts_of(v), function(part) {
      if (!is.null(part)) vector_along_j(points_along_j(whole, part, written), part)
    })
    v <- if (is.null(v$im)) v$re else new_complex(v$re, v$im)
  }
  reduction(complex_operator("*", K, v), "sum", index = "j")
}

as_complex <- function(x) if (is_lazy_complex(x)) x else new_complex(x, as_lazy(0, x, "0"))
