# Estimates: numbers with a standard error.

# Makes an estimate; `...`: the method, for print(). A traced value is returned as it is, since it has no attributes.
estimate <- function(value, se, ...) {
  if (is_traced(value)) return(value)
  structure(value, se = se, found = list(...), class = "kernweave_estimate")
}

#' Estimates with a standard error
#'
#' [logdet()] and other stochastic functions return an estimate: a number with a standard error, which `print()` shows.
#' Use it like any other number: arithmetic returns plain numbers. `confint()` returns a confidence interval.
#'
#' @param x,object an estimate
#' @param parm not used
#' @param level confidence level of the interval; by default 0.95
#' @param digits significant digits; by default 10
#' @param ... not used
#' @return `print()` returns `x`, invisibly. `confint()` returns a matrix with one row.
#' @seealso [logdet()]
#' @concept Monte Carlo standard error
#' @concept stochastic estimate
#' @name kernweave_estimate
#' @examples
#' x <- matrix(runif(6600), 2200)
#' found <- logdet(kernel_matern(x, x, scale = 0.3, nu = 1.5), ridge = 0.01)
#' found
#' confint(found)
#' found / 2
NULL

#' @rdname kernweave_estimate
#' @export
print.kernweave_estimate <- function(x, digits = 10, ...) {
  found <- attr(x, "found")
  how <- if (length(found)) paste0(", ", paste(names(found), vapply(found, format, "", digits = 2), collapse = ", "))
  say(format(as.numeric(x), digits = digits), " (",
      if (attr(x, "se") == 0) "exact" else paste0("se ", format(attr(x, "se"), digits = 2)), how, ")\n")
  invisible(x)
}

#' @rdname kernweave_estimate
#' @importFrom stats confint
#' @export
confint.kernweave_estimate <- function(object, parm, level = 0.95, ...) {
  refuse_more(...)
  check_level(level)
  freedom <- max(1, (attr(object, "found")$probes %or% Inf) - 1)
  half <- stats::qt((1 + level) / 2, freedom) * attr(object, "se")
  ends <- c(1 - level, 1 + level) / 2
  matrix(as.numeric(object) + c(-half, half), 1, dimnames = list(NULL, paste(format(100 * ends), "%")))
}

# Arithmetic with an estimate returns a plain number.
estimate_arithmetic <- function(symbol, e1, e2) {
  if (is_estimate(e1)) e1 <- as.numeric(e1)
  if (missing(e2)) return(get(symbol)(e1))
  if (is_estimate(e2)) e2 <- as.numeric(e2)
  get(symbol)(e1, e2)
}

is_estimate <- function(x) inherits(x, "kernweave_estimate")

#' @export
Math.kernweave_estimate <- function(x, ...) get(.Generic)(as.numeric(x), ...)

#' @export
as.double.kernweave_estimate <- function(x, ...) as.double(unclass(c(x)))
