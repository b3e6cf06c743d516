# Operators and mathematical functions of traced values: a row for each function, with its adjoint as a formula.
#
# In an adjoint, g is the cotangent of the result r, and x and y are the arguments; all are one level down. An adjoint
# is NULL if nothing flows back. Functions are looked up in the overlay, so that an adjoint of traced values is traced.

binary_adjoints <- list(
  "+" = alist(x = g, y = g),
  "-" = alist(x = g, y = -g),
  "*" = alist(x = g * y, y = g * x),
  "/" = alist(x = g / y, y = -g * r / y),
  "^" = alist(x = g * y * power_below(x, y), y = g * r * log_or_zero(x)),
  "%%" = alist(x = g, y = -g * (x %/% y)),
  "%/%" = alist(x = NULL, y = NULL),
  log = alist(x = g / (x * log(y)), y = -g * r / (y * log(y))),
  round = alist(x = NULL, y = NULL),
  signif = alist(x = NULL, y = NULL)
)

# Comparisons give plain values: `if` and `which` take the branch of the present values.
comparisons <- list("==" = `==`, "!=" = `!=`, "<" = `<`, "<=" = `<=`, ">" = `>`, ">=" = `>=`, "&" = `&`, "|" = `|`)

math_adjoints <- alist(
  exp = g * r, expm1 = g * (r + 1), log = g / x, log1p = g / (1 + x), log2 = g / (x * log(2)),
  log10 = g / (x * log(10)),
  sqrt = g * 0.5 * inverse_or_zero(r), abs = g * sign(x),
  sin = g * cos(x), cos = -g * sin(x), tan = g * (1 + r^2),
  sinpi = g * pi * cospi(x), cospi = -g * pi * sinpi(x), tanpi = g * pi * (1 + r^2),
  asin = g / sqrt(1 - x^2), acos = -g / sqrt(1 - x^2), atan = g / (1 + x^2),
  sinh = g * cosh(x), cosh = g * sinh(x), tanh = g * (1 - r^2),
  asinh = g / sqrt(x^2 + 1), acosh = g / sqrt(x^2 - 1), atanh = g / (1 - x^2),
  gamma = g * r * digamma(x), lgamma = g * digamma(x), digamma = g * trigamma(x), trigamma = g * psigamma(x, 2L),
  cumsum = rev(cumsum(rev(g))), cumprod = cumprod_adjoint(g, r, x),
  sign = NULL, floor = NULL, ceiling = NULL, trunc = NULL, round = NULL, signif = NULL
)

# --- methods ------------------------------------------------------------------------------------------------------

# Repeats the code of trace_call(), written out for speed in loops.
traced_operator <- function(symbol, x, y) {
  rule <- .subset2(rules$binary, symbol)
  if (is.null(rule)) return(.subset2(comparisons, symbol)(plain_value(x), plain_value(y)))
  level_x <- level_of(x)
  level_y <- level_of(y)
  of_x <- level_x >= level_y
  of_y <- level_y >= level_x
  tape <- .subset2(if (of_x) x else y, "tape")
  places <- c(if (of_x) .subset2(x, "place") else 0L, if (of_y) place_on(y, tape) else 0L)
  if (of_x) x <- .subset2(x, "value")
  if (of_y) y <- .subset2(y, "value")
  r <- rule$f(x, y)
  pull <- function(g) {
    list(if (of_x) shaped_like(where_flowing(rule$x(g, r, x, y), g), x),
         if (of_y) shaped_like(where_flowing(rule$y(g, r, x, y), g), y))
  }
  write_entry(r, tape, places, pull)
}

traced_sign <- function(symbol, x) {
  if (symbol == "!") return(!plain_value(x))
  if (symbol == "+") x else write_entry(-value_of(x), .subset2(x, "tape"), .subset2(x, "place"), function(g) list(-g))
}

#' @export
Math.kernweave_traced <- function(x, ...) {
  if (...length()) return(traced_operator(.Generic, x, ..1))
  rule <- .subset2(rules$math, .Generic)
  if (is.null(rule)) {  # each place takes the winner so far, the first of equal ones
    so_far <- get(.Generic, baseenv())(plain_value(x))
    is_new <- c(TRUE, so_far[-1] != so_far[-length(so_far)])[seq_along(so_far)]
    return(take(x, structure(cummax(ifelse(is_new, seq_along(so_far), 0L)), names = names(so_far))))
  }
  value <- .subset2(x, "value")
  r <- rule$f(value)
  write_entry(r, .subset2(x, "tape"), .subset2(x, "place"), function(g) {
    list(where_flowing(rule$x(g, r, value), g))
  })
}

# --- singular points: a comparison with 0 is a plain number, so these have derivatives of any order ---------------

# Returns 1 / x, and 0 at 0: sqrt(x) and |x| are taken to be flat at 0.
inverse_or_zero <- function(x) (x != 0) / (x + (x == 0))

# Returns log(x), and 0 at 0, for x^y log(x).
log_or_zero <- function(x) log(x + (x == 0))

# Returns x^(y - 1), for y x^(y - 1); at x = 0 returns 0 for exponents 0 <= y < 1, such as 1/2 of a square root.
power_below <- function(x, y) {
  if (isTRUE(all(y >= 1))) return(x^(y - 1))
  flat <- x == 0 & y >= 0 & y < 1
  (!flat) * (x + flat)^(y - 1)
}
