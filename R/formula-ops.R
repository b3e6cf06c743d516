# Base R's operators and functions on lazy tensors. A row of ops.def defines each operation; this file connects R's
# dispatch to these operations.

# Turns a value beside a lazy tensor into a tensor: a number becomes a parameter, a matrix of pairs a Vij; with
# `by_rows`, numbers for the rows become points along i. Anything else is refused.
as_lazy <- function(value, beside, name, by_rows = FALSE) {
  if (is_lazy(value)) return(value)
  if (is_traced(value)) return(traced_lazy(value, beside, name, by_rows))
  if (is.double(value) && length(value) == 1 && !is.object(value)) {
    literal <- new_operand(as.character(value), "param", 1L, "real", as.vector(value), literal = TRUE)
    return(lazy_operand(literal))
  }
  sparse <- isS4(value) && methods::is(value, "sparseMatrix")
  if (sparse) return(as_pairs(value, pair_numbers(value, name), beside, name))
  if (isS4(value)) value <- as.matrix(value)
  numbers <- check_numbers(value, name)
  n <- length(value)
  if (is.matrix(value) && n != 1) return(as_pairs(value, numbers, beside, name))
  if (n != 1 && n != width(beside)) {
    # R multiplies the rows of a matrix by a vector. Likewise, a vector may have a number for each row of a formula.
    column <- by_rows && is.null(dim(value)) && width(beside) == 1 && has_axis(beside, "i") &&
      isTRUE(n == .subset2(beside, "extent")[1])
    if (column) return(lazy_operand(new_operand(name, "i", 1L, numbers$kind, numbers$values)))
    abort("shape", "`", name, "` has ", n, " numbers beside a formula of ", counted(width(beside), "component"),
          "; use ", if (has_named_axes(beside)) "along()" else "Vi() or Vj()", " for one number per point")
  }
  label <- if (n == 1) as.character(as.numeric(value)) else name
  lazy_operand(new_operand(label, "param", n, numbers$kind, as.vector(numbers$values), literal = n == 1))
}

# Makes a traced number a parameter, not a literal, whatever its value.
traced_lazy <- function(x, beside, name, by_rows) {
  lazy <- as_lazy(plain_value(x), beside, name, by_rows)
  operand <- lazy$formula$args
  operand$literal <- FALSE
  operand$name <- name
  bearing(operand, x)
  lazy
}

as_pairs <- function(value, numbers, beside, name) {
  what <- paste0("`", name, "` is a ", nrow(value), " x ", ncol(value), " matrix beside a formula ")
  if (!has_axis(beside, "i") || !has_axis(beside, "j")) {
    abort("shape", what, "that does not vary along both i and j; use ",
          if (has_named_axes(beside)) "along()"
          else paste0("Vi(), Vj() or Vij(), or Pm(as.vector(", name, ")) for a matrix of parameters, by columns, as ",
                      "in matvecmult(Pm(as.vector(M)), x)"))
  }
  extent <- .subset2(beside, "extent")[1:2]
  if (any(!is.na(extent) & dim(value) != extent)) {
    abort("shape", what, "of ", extent[1], " x ", extent[2], " pairs; use Vi() or Vj() for points")
  }
  lazy_operand(new_operand(name, "pair", 1L, numbers$kind, numbers$values))
}

#' Arithmetic, comparison and mathematics with lazy tensors
#'
#' R's operators and mathematical functions work on lazy tensors: each builds a larger formula, and nothing is computed
#' until you reduce the formula. All of them act on each component separately.
#'
#' A formula of one component combines with a formula of any width. In distances and inner products, only numbers and
#' parameters of one component combine with wider formulas: points of one component beside points of several are usually
#' a mistake (a row of a matrix from which R dropped a dimension). One number, or one number per component, becomes a
#' parameter; a matrix with one number for each pair becomes a [Vij()]. If `d` has one number per row and `K` has one
#' component, `d * K` and `K / d` act on rows, as for a matrix.
#'
#' `a | b` is the inner product of two real formulas and "or" of two logical formulas. Powers with integer exponents up
#' to 1024 are computed by multiplication. All of base R's mathematical functions are available except `signif` and the
#' cumulative functions. `round(x, digits)` rounds halves to the even neighbour; `x %% y` has the sign of `y`.
#'
#' A comparison with NaN or NA is `FALSE`, also for `!=`, because logical formulas have no `NA`. Hence `!(a < b)` is
#' `TRUE` if `a` is NaN.
#'
#' `c()`, `sum()` and similar functions dispatch on their first argument, so start with a lazy tensor: `c(Pm(1), X)`,
#' not `c(1, X)`. `sum()` and similar functions reduce one formula; combine two formulas with an operation first, as in
#' `max(max2(F, G), index = "j")`.
#'
#' @section Functions that do not work on lazy tensors:
#' Some functions of base R do not dispatch on lazy tensors and stop with base R's own error: `sum(1, K)`, because the
#' number comes first; `which(K > 2)`, for which use [argmax()], [any()] or [reduction()] with `"count"`; `var(K)`, for
#' which use [variance()]; `dnorm(K)`, `besselK(K, 1)` and other special functions, which you write as formulas;
#' `cat(K)`, for which use `cat(format(K))`. `for (k in K)` loops over the internal parts of the object, which is
#' meaningless: write `for (i in seq_len(nrow(K)))` and `K[i, ]`.
#'
#' @param e1,e2,x lazy tensors; beside a lazy tensor, an operand may be numbers
#' @param ... for `log`: `base`; for `c`: more lazy tensors, whose components follow those of `x`; for `sum`, `prod`,
#'   `min`, `max`, `range`, `any`, `all`: one lazy tensor and `index`, with the settings of [reduction()]. Without
#'   `index`, `sum`, `min` and `max` apply to the components
#' @param na.rm must be `FALSE`, the default: a formula is computed for all pairs
#' @return A lazy tensor. With `index`, the numbers that [reduction()] returns.
#' @seealso [lazy-operations] for operations that base R has no name for, [lazy-matrix], [reduction()]
#' @concept element-wise functions
#' @concept operator overloading
#' @name lazy-arithmetic
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' y <- matrix(runif(60), 20, 3)
#' d <- Vi(x) - Vj(y)
#' sum(d^2)
#' sum(exp(-sum(d^2) / 2), index = "j")
NULL

# Operators of all classes of the package share a method: R rejects both methods if two classes have different ones.
#' @rdname lazy-arithmetic
#' @aliases Ops.lazy_tensor
#' @usage \method{Ops}{lazy_tensor}(e1, e2)
#' @rawNamespace S3method(Ops,lazy_tensor,Ops.kernweave)
#' @rawNamespace S3method(Ops,kernweave_traced,Ops.kernweave)
#' @rawNamespace S3method(Ops,linear_op,Ops.kernweave)
#' @rawNamespace S3method(Ops,kernweave_estimate,Ops.kernweave)
#' @rawNamespace S3method(Ops,lazy_complex,Ops.kernweave)
Ops.kernweave <- function(e1, e2) {
  if (is_lazy_complex(e1) || is.complex(e1) || !missing(e2) && (is_lazy_complex(e2) || is.complex(e2))) {
    return(if (missing(e2)) complex_sign(.Generic, e1) else complex_operator(.Generic, e1, e2))
  }
  if (!missing(e2) && (is_traced(e1) && (is.atomic(e2) || is_traced(e2)) || is_traced(e2) && is.atomic(e1))) {
    return(traced_operator(.Generic, e1, e2))
  }
  if (is_estimate(e1) || !missing(e2) && is_estimate(e2)) return(estimate_arithmetic(.Generic, e1, e2))
  if (is_op(e1) || !missing(e2) && is_op(e2)) return(operator_arithmetic(.Generic, e1, e2))
  if (missing(e2)) return(if (is_traced(e1)) traced_sign(.Generic, e1) else unary_operator(.Generic, e1))
  if (!is_lazy(e1) && !is_lazy(e2)) {
    abort("input", "`", .Generic, "` of a traced value and ", describe(if (is_traced(e1)) e2 else e1),
          " is not defined")
  }
  if (.Generic == "^") return(power(e1, e2))
  if (.Generic %in% c("*", "/") && is_one(e2, e1)) return(e1)
  if (.Generic == "*" && is_one(e1, e2)) return(e2)
  by_rows <- .Generic %in% c("*", "/")
  if (.Generic %in% c("+", "-")) hint_at_diagonal(if (is_lazy(e1)) e2 else e1)
  if (!is_lazy(e1)) e1 <- as_lazy(e1, e2, default_name(substitute(e1), "left operand"), by_rows)
  if (!is_lazy(e2)) e2 <- as_lazy(e2, e1, default_name(substitute(e2), "right operand"), by_rows)
  lazy_operator(.Generic, e1, e2)
}

# Tells whether a number is the plain 1 beside a real formula, so that nothing needs to be multiplied.
is_one <- function(number, beside) identical(number, 1) && type_kind(beside) == "real"

lazy_operator <- function(symbol, e1, e2) {
  op <- operator_rows[symbol]
  switch(symbol,
    ">" = lazy_call("LessThan", list(e2, e1)),
    ">=" = lazy_call("LessOrEqual", list(e2, e1)),
    "|" = {  # the engine defines `|`, also for text formulas
      out <- r_meet(list(e1, e2))
      if (type_kind(e1) != "logical") check_alike("Scalprod", list(e1, e2))
      out$formula <- home_bound(r_bar(e1$formula, e2$formula))
      out
    },
    "&" = lazy_call("Mult", both_logical(e1, e2, "&")) == 1,
    if (is.na(op)) abort("unknown_op", "`", symbol, "` is not defined for lazy tensors")
    else lazy_call(op[[1]], list(e1, e2))
  )
}

# Tells, once, that a diagonal matrix beside a formula is read as any other matrix of pairs.
hint_at_diagonal <- function(value) {
  if (!is.matrix(value) || !is.numeric(value) || !is.null(said$diagonal)) return(invisible())
  n <- nrow(value)
  if (n < 2 || n != ncol(value) || value[1] %in% 0) return(invisible())
  for (k in seq_len(n)) if (!all(value[-k, k] %in% 0)) return(invisible())
  say_once("diagonal", "Beside a lazy tensor, diag(", n, ") is a matrix of ", format(n^2), " numbers that is read ",
           "whole; identity_op(", n, "), or diagonal_op(d), is ", n, ". (Said once.)")
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
  other <- kinds[kinds != "logical"]
  if (length(other)) {
    abort("kind", "`", symbol, "` needs logical formulas, not ", other[1], " ones; write the comparison out")
  }
  list(a, b)
}

power <- function(x, n) {
  whole <- is_lazy(x) && !is_traced(n) && is_whole(n, -1024, 1024)
  if (!whole) return(lazy_operator("^", as_lazy(x, n, "base"), as_lazy(n, x, "exponent")))
  if (n == 0) return(lazy_if(x == x, 1, 1))  # as in R, x^0 is 1 even for NaN, so both branches are 1
  x$formula <- home_bound(r_whole_power(x$formula, as.integer(n)))
  x
}

# Operations that compare points with points, and the positions of these points among the arguments.
compares <- list(Scalprod = 1:2, Manhattan = 1:2, SqDist = 1:2, Euclidean = 1:2, Chebyshev = 1:2, Minkowski = 1:2,
                 Cosine = 1:2, Hellinger = 1:2, Canberra = 1:2, WeightedSqDist = 2:3)

# Refuses one component against several. Elsewhere it is repeated; here it is often a row that R made a vector.
check_alike <- function(op, args) {
  points <- args[compares[[op]]]
  widths <- c(type_of(points[[1]])[1], type_of(points[[2]])[1])
  if (widths[1] == widths[2] || min(widths) > 1) return(invisible())
  if (!all(vapply(points, function(x) has_axis(x, "i") || has_axis(x, "j"), NA))) return(invisible())
  texts <- vapply(points, function(x) formula_text(x$formula, 40L), "")
  shown <- paste0("`", texts, "` has ", counted(widths, "component"))
  abort("shape", shown[1], " and ", shown[2], ": points must have equally many; ",
        "x[1, , drop = FALSE] keeps the row of a matrix a point")
}

#' @rdname lazy-arithmetic
#' @export
Math.lazy_tensor <- function(x, ...) {
  if (.Generic == "round") return(rounded(x, ...))
  op <- math_rows[.Generic]
  if (is.na(op)) {
    abort("unknown_op", .Generic, "() is not defined for lazy tensors",
          near_hint(.Generic, names(math_rows), "; kernweave_operations() lists what is"))
  }
  if (...length() == 0) return(lazy_call(op[[1]], list(x)))
  if (.Generic != "log") abort("input", .Generic, "() takes one argument")
  base <- ..1
  if (!is.numeric(base) || length(base) != 1) abort("input", "`base` must be one number, not ", describe(base))
  lazy_call("Log", list(x)) / log(base)
}

rounded <- function(x, digits = 0) {
  number <- is.numeric(digits) && length(digits) == 1 && is.finite(digits)
  if (!number) abort("input", "`digits` must be one number, not ", describe(digits))
  if (digits == 0) return(lazy_call("Nearest", list(x)))
  lazy_call("Round", list(x, as_lazy(as.double(digits), x, "digits")))
}

#' @rdname lazy-arithmetic
#' @param z a real lazy tensor: `Re` and `Conj` return `z`, and `Mod` returns its absolute value. For complex lazy
#'   tensors see [lazy_complex()]
#' @export
Complex.lazy_tensor <- function(z) {
  switch(.Generic,
    Re = , Conj = z,
    Mod = abs(z),
    Im = lazy_if(z == z, 0, 0),
    Arg = lazy_atan2(0, z)
  )
}

#' @rdname lazy-arithmetic
#' @export
Summary.lazy_tensor <- function(..., na.rm = FALSE) {
  check_na_rm(na.rm)
  given <- summary_arguments(.Generic, list(...))
  index <- given$settings$index
  if (is.null(index)) {
    refuse_settings(.Generic, given$settings[names(given$settings) != "index"])
    if (.Generic %in% c("sum", "min", "max")) return(lazy_call(summary_rows[[.Generic]], list(given$F)))
    abort("unsupported", .Generic, "() of the components is not built yet; give `index` to reduce over points")
  }
  reduced <- function(op) do.call(reduction, c(list(given$F, op), given$settings))
  if (.Generic == "range") list(min = reduced("Min"), max = reduced("Max")) else reduced(summary_rows[[.Generic]])
}

# Splits arguments into one formula and named settings; an unnamed word after the formula is the index.
summary_arguments <- function(fn, args) {
  named <- nzchar(names(args) %or% character(length(args)))
  named[1] <- FALSE
  settings <- args[named]
  others <- args[!named][-1]
  if (length(others) == 1 && is.character(others[[1]]) && !"index" %in% names(settings)) {
    settings$index <- others[[1]]
  } else if (length(others)) {
    other <- if (is.numeric(others[[1]]) && length(others[[1]]) == 1) format(others[[1]]) else "G"
    one <- written_name()
    two <- paste0("(", one, ", ", other, ")")
    abort("input", fn, "() reduces a single formula: ", switch(fn,
      sum = "add the sum of each", prod = "multiply the product of each", range = "take the range of each",
      min = paste0("min2", two, " is the smaller of two at each pair"),
      max = paste0("max2", two, " is the larger of two at each pair"),
      any = paste0("`", one, " | ", other, "` joins two tests at each pair"),
      all = paste0("`", one, " & ", other, "` joins two tests at each pair")
    ))
  }
  list(F = args[[1]], settings = settings)
}

# Refuses settings without an index: nothing is reduced, and nothing can be set.
refuse_settings <- function(fn, settings) {
  if (!length(settings)) return(invisible())
  word <- names(settings)[nzchar(names(settings))]
  what <- if (length(word)) paste0("takes no `", word[1], "`") else "takes nothing else"
  abort("input", fn, "() without `index` is over the components of each pair and ", what,
        "; give index = \"j\", \"i\" or \"ij\" to reduce over points")
}

check_na_rm <- function(na.rm) {
  if (isFALSE(na.rm)) return(invisible())
  abort("unsupported", "`na.rm` is not possible: a formula is computed on all pairs; leave out such points first")
}

#' @rdname lazy-arithmetic
#' @param index the axis to reduce over. Without it, `mean()` is over the components of each pair
#' @export
mean.lazy_tensor <- function(x, index = NULL, ..., na.rm = FALSE) {
  check_na_rm(na.rm)
  if (!is.null(index)) return(reduction(x, "mean", index = index, ...))
  refuse_settings("mean", list(...))
  sum(x) / width(x)
}

#' @rdname lazy-arithmetic
#' @export
c.lazy_tensor <- function(...) {
  Reduce(function(a, b) lazy_call("Concat", list(as_lazy(a, b, "part"), as_lazy(b, a, "part"))), list(...))
}

#' Tables of operations, reductions and rewrite rules
#'
#' These functions list, as data frames, what a formula can contain: operations, reductions, and the rules that simplify
#' formulas.
#'
#' @return A data frame with one row per operation, reduction or rule of the engine.
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
