# Base R's operators and functions on lazy tensors. What each means is a row of ops.def; here is only
# how R hands it over.

# A number beside a lazy tensor becomes a parameter, a matrix of pairs a Vij; anything else is refused.
as_lazy <- function(value, beside, name) {
  if (is_lazy(value)) return(value)
  if (is.double(value) && length(value) == 1 && !is.object(value)) {
    return(lazy_operand(new_operand(as.character(value), "param", 1L, "real", as.vector(value), literal = TRUE)))
  }
  if (isS4(value) && methods::is(value, "sparseMatrix")) return(as_pairs(value, pair_numbers(value, name), beside, name))
  if (isS4(value)) value <- as.matrix(value)
  numbers <- check_numbers(value, name)
  n <- length(value)
  if (is.matrix(value) && n != 1) return(as_pairs(value, numbers, beside, name))
  if (n != 1 && n != width(beside)) {
    abort("shape", "`", name, "` has ", n, " numbers beside a formula of ", width(beside), if (width(beside) == 1) " component" else " components",
          "; use Vi() or Vj() for one number per point")
  }
  label <- if (n == 1) as.character(as.numeric(value)) else name
  lazy_operand(new_operand(label, "param", n, numbers$kind, as.vector(numbers$values), literal = n == 1))
}

as_pairs <- function(value, numbers, beside, name) {
  if (!has_axis(beside, "i") || !has_axis(beside, "j")) {
    abort("shape", "`", name, "` is a ", nrow(value), " x ", ncol(value), " matrix beside a formula that does not vary along both i and j; say Vi(), Vj() or Vij()")
  }
  extent <- dim(beside)[1:2]
  if (any(!is.na(extent) & dim(value) != extent)) {
    abort("shape", "`", name, "` is a ", nrow(value), " x ", ncol(value), " matrix beside a formula of ", extent[1], " x ", extent[2],
          " pairs; use Vi() or Vj() for points")
  }
  lazy_operand(new_operand(name, "pair", 1L, numbers$kind, numbers$values))
}

#' Arithmetic, comparison and mathematics of lazy tensors
#'
#' Every operation is element-wise in the components and stays lazy. Operands of one component go with
#' any width. A number, or as many numbers as there are components, becomes a parameter; a matrix with
#' one number for each pair becomes a [Vij()]. `a | b` is the inner product of two real formulas and
#' "or" of two logical ones. Whole-number exponents up to 1024 are multiplied out. Of base R's mathematics there is all but
#' `signif` and what accumulates. `round(x, digits)` rounds halves to the even neighbour, `%%` has the sign of its right side.
#'
#' A comparison with NaN or NA is `FALSE`, `!=` included: a formula has no third truth value. Hence
#' `!(a < b)` is `TRUE` where `a` is NaN.
#'
#' `c()` looks at its first argument alone: begin with a lazy tensor, `c(Pm(1), X)` rather than `c(1, X)`.
#'
#' @param e1,e2,x lazy tensors, or numbers beside one
#' @param ... for `log`: `base`; for `c`: more lazy tensors whose components follow those of `x`; for
#'   `sum`, `prod`, `min`, `max`, `range`, `any`, `all`: `index`, as for [reduction()]; without `index`, `sum`, `min` and `max`
#'   are those of the components
#' @param na.rm refused: a formula is computed on all pairs
#' @return A lazy tensor; with `index`, numbers.
#' @seealso [lazy-operations] for what base R has no name for, [lazy-matrix], [reduction()]
#' @name lazy-arithmetic
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' y <- matrix(runif(60), 20, 3)
#' d <- Vi(x) - Vj(y)
#' sum(d^2)
#' sum(exp(-sum(d^2) / 2), index = "j")
NULL

#' @rdname lazy-arithmetic
#' @export
Ops.lazy_tensor <- function(e1, e2) {
  if (missing(e2)) return(unary_operator(.Generic, e1))
  if (.Generic == "^") return(power(e1, e2))
  if (!is_lazy(e1)) e1 <- as_lazy(e1, e2, default_name(substitute(e1), "left operand"))
  if (!is_lazy(e2)) e2 <- as_lazy(e2, e1, default_name(substitute(e2), "right operand"))
  switch(.Generic,
    ">" = lazy_call("LessThan", list(e2, e1)),
    ">=" = lazy_call("LessOrEqual", list(e2, e1)),
    "|" = bar(e1, e2),
    "&" = lazy_call("Mult", both_logical(e1, e2, "&")) == 1,
    binary_operator(.Generic, e1, e2)
  )
}

binary_operator <- function(symbol, e1, e2) {
  op <- operator_rows[symbol]
  if (is.na(op)) abort("unknown_op", "`", symbol, "` is not defined for lazy tensors")
  lazy_call(op[[1]], list(e1, e2))
}

unary_operator <- function(symbol, x) {
  switch(symbol,
    "+" = x,
    "-" = lazy_call("Minus", list(x)),
    "!" = lazy_call("Equal", list(both_logical(x, x, "!")[[1]], as_lazy(0, x, "0"))),
    abort("unknown_op", "`", symbol, "` is not defined for one lazy tensor")
  )
}

both_logical <- function(a, b, symbol) {
  kinds <- c(type_kind(a), type_kind(b))
  if (any(kinds != "logical")) abort("kind", "`", symbol, "` needs logical formulas, not ", kinds[kinds != "logical"][1], " ones; write the comparison out")
  list(a, b)
}

# The engine says what `|` means, for text formulas too.
bar <- function(a, b) {
  out <- r_meet(list(a, b))
  out$formula <- r_bar(a$formula, b$formula)
  out
}

power <- function(x, n) {
  whole <- is_lazy(x) && is.numeric(n) && length(n) == 1 && is.finite(n) && n == round(n) && abs(n) <= 1024
  if (!whole) return(binary_operator("^", as_lazy(x, n, "base"), as_lazy(n, x, "exponent")))
  if (n == 0) return(lazy_if(x == x, 1, 1))  # as in R, x^0 is 1 even for NaN: both answers are 1
  x$formula <- r_whole_power(x$formula, as.integer(n))
  x
}

#' @rdname lazy-arithmetic
#' @export
Math.lazy_tensor <- function(x, ...) {
  if (.Generic == "round") return(rounded(x, ...))
  op <- math_rows[.Generic]
  if (is.na(op)) refuse_function(.Generic, names(math_rows))
  if (...length() == 0) return(lazy_call(op[[1]], list(x)))
  if (.Generic != "log") abort("input", .Generic, "() takes one argument")
  base <- ..1
  if (!is.numeric(base) || length(base) != 1) abort("input", "`base` must be one number, not ", describe(base))
  lazy_call("Log", list(x)) / log(base)
}

rounded <- function(x, digits = 0) {
  if (!is.numeric(digits) || length(digits) != 1 || !is.finite(digits)) abort("input", "`digits` must be one number, not ", describe(digits))
  if (digits == 0) lazy_call("Nearest", list(x)) else lazy_call("Round", list(x, as_lazy(as.double(digits), x, "digits")))
}

#' @rdname lazy-arithmetic
#' @export
Summary.lazy_tensor <- function(..., na.rm = FALSE) {
  args <- list(...)
  if (!isFALSE(na.rm)) abort("unsupported", "`na.rm` is not possible: a formula is computed on all pairs; leave out such points before")
  if (.Generic == "range") return(smallest_and_largest(...))
  op <- summary_rows[.Generic]
  given <- names(args) %or% rep("", length(args))
  if (sum(!nzchar(given)) > 2) abort("input", .Generic, "() takes a lazy tensor, `index` and named settings; there are ", sum(!nzchar(given)), " arguments without a name")
  index <- if ("index" %in% given) args[["index"]] else if (length(args) > 1) args[[2]]
  if (is.na(op)) refuse_function(.Generic, names(summary_rows), "kernweave_reductions()")
  if (is.null(index)) {
    if (.Generic %in% c("sum", "min", "max") && length(args) == 1) return(lazy_call(op[[1]], args))
    abort("unsupported", .Generic, "() of the components is not built yet; give `index` to reduce over points")
  }
  do.call(reduction, c(list(args[[1]], op[[1]], index = index), args[setdiff(given, c("", "index"))]))
}

smallest_and_largest <- function(F, index = NULL, ...) {
  if (is.null(index)) abort("unsupported", "range() of the components is not built; give `index` to reduce over points")
  list(min = reduction(F, "min", index = index, ...), max = reduction(F, "max", index = index, ...))
}

#' @rdname lazy-arithmetic
#' @param index the axis folded away; without it, the mean is that of the components
#' @export
mean.lazy_tensor <- function(x, index = NULL, ...) {
  if (is.null(index)) sum(x) / width(x) else reduction(x, "mean", index = index, ...)
}

#' @rdname lazy-arithmetic
#' @export
c.lazy_tensor <- function(...) {
  parts <- list(...)
  Reduce(function(a, b) lazy_call("Concat", list(as_lazy(a, b, "part"), as_lazy(b, a, "part"))), parts)
}

refuse_function <- function(name, known, where = "kernweave_operations()") {
  abort("unknown_op", name, "() is not defined for lazy tensors", near_hint(name, known, paste0("; ", where, " lists what is")))
}

# Arguments of an operation, at least one of them a lazy tensor, the others numbers beside it.
lazy_arguments <- function(args) {
  lazy <- vapply(args, is_lazy, NA)
  beside <- args[lazy][[which.max(vapply(args[lazy], width, 0L))]]
  for (k in which(!lazy)) args[[k]] <- as_lazy(args[[k]], beside, names(args)[k])
  unname(args)
}

#' The tables of operations, reductions and rewrite rules
#'
#' @return A data frame with one row per operation, reduction or rule, as the engine has them.
#' @seealso [lazy-operations], [lazy-reductions], [explain()]
#' @export
#' @examples
#' head(kernweave_operations())
#' kernweave_reductions()
#' head(kernweave_rules())
kernweave_operations <- function() r_operations()

#' @rdname kernweave_operations
#' @export
kernweave_reductions <- function() r_reductions()

#' @rdname kernweave_operations
#' @export
kernweave_rules <- function() r_rules()
