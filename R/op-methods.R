# Methods of R's operators and functions for linear operators: arithmetic, products, binding.

#' Algebra of linear operators
#'
#' Operators can be added, multiplied, transposed, bound and scaled; the result is an operator too. Nothing is computed
#' until an operator multiplies numbers. Terms that one pass over the pairs can compute are merged: a sum of lazy
#' tensors becomes one formula, and so does a lazy tensor between diagonals. Lazy tensors, matrices and
#' `Matrix::Diagonal()` can take part.
#'
#' `A %*% B` of two operators, or of two lazy tensors, is an operator; `A %*% v` is a matrix of numbers, with row names
#' from `A` and column names from `v`. `crossprod(A)` is `t(A) %*% A`, `crossprod(A, v)` is `t(A) %*% v`.
#'
#' `2 * A`, `A / 2`, `-A`, `A + B` and `A - B` mean the same as for matrices. `d * A`, with one number per row,
#' multiplies rows, as in R; `A %*% diagonal_op(d)` multiplies columns. Functions of single entries (`A * B`, `A + 1`,
#' `exp(A)`, `A > 0`) are an error, because an operator does not store its entries.
#'
#' `kronecker(A, B)` and `A %x% B`, `cbind()` and `rbind()` take operators together with matrices. Next to an operator,
#' `cbind()` treats a vector as a column and repeats a number.
#'
#' Inside a function given to [gradient()] and similar functions, you can differentiate with respect to anything in an
#' operator: lazy tensors, coefficients, diagonals and matrices. Products, `diag()`, row sums, `as.matrix()`,
#' [solve()][solve.linear_op], [logdet()] and `determinant()` then have derivatives of any order; for [keigen()] and
#' [trace_estimate()] see their help. A [function_op()] is differentiated with its transpose, or by tracing the
#' function. An operation that needs plain numbers is an error of class `kernweave_error_no_gradient`.
#'
#' @param x operators, lazy tensors or matrices, at least one of them an operator. For `+`, `-`, `%*%`, `crossprod`,
#'   `tcrossprod` and `kronecker`, matrices need not be converted
#' @param deparse.level not used
#' @param ... for `cbind` and `rbind`: the operators and matrices to bind
#' @return An operator, or a matrix of numbers if numbers were multiplied.
#' @seealso [linear_op] to make operators, [operator-numbers], [lazy-matrix]
#' @concept Kronecker product
#' @concept matrix multiplication
#' @name operator-algebra
#' @examples
#' x <- matrix(runif(60), 20, 3)
#' K <- kernel_gaussian(x)
#' A <- K + 0.1 * identity_op(20)
#' A - Matrix::Diagonal(20)
#' 2 * t(A) %*% A
#' crossprod(K)
#' (1:20) * A
#' kronecker(diag(2), A) %*% rnorm(40)
#' cbind(A, 1)
NULL

# --- arithmetic ----------------------------------------------------------------------------------------------

# Computes the arithmetic of two operands, at least one an operator, or of one operator if there is no second operand.
operator_arithmetic <- function(symbol, e1, e2) {
  if (missing(e2)) {
    return(switch(symbol, "+" = e1, "-" = sum_ops(list(e1), -1), refuse(symbol, "operator", entries_instead)))
  }
  switch(symbol,
    "+" = added(e1, e2, symbol, 1),
    "-" = added(e1, e2, symbol, -1),
    "*" = if (is_op(e1)) scaled(e1, e2, symbol) else scaled(e2, e1, symbol),
    "/" = if (is_op(e1)) scaled(e1, e2, symbol) else refuse("/", "operator", "nothing is divided by an operator"),
    refuse(symbol, "operator", entries_instead)
  )
}

entries_instead <- "an operator is known by its products, not by its entries; as.matrix(A) gives these"

added <- function(e1, e2, symbol, sign) {
  if (is_zero(e2)) return(e1)
  if (is_zero(e1)) return(sum_ops(list(e2), sign))
  e1 <- as_term(e1, symbol)
  e2 <- as_term(e2, symbol)
  if (any(e1$dim != e2$dim)) {
    abort("shape", "the left side of ", symbol, " is ", size_text(e1), ", the right side ", size_text(e2))
  }
  sum_ops(list(e1, e2), c(1, sign))
}

as_term <- function(value, symbol) {
  plain <- is.numeric(value) && is.null(dim(value))
  if (!plain) return(as_op(value))
  if (length(value) == 1) {
    abort("unsupported", "`", symbol, "` of an operator and a number would change every entry; write A ", symbol, " ",
          format(value), " * identity_op(n) for the diagonal")
  }
  abort("input", "`", symbol, "` of an operator and ", describe(value), "; diagonal_op() makes an operator of it")
}

scaled <- function(A, by, symbol) {
  divided <- symbol == "/"
  if (is_lazy(by) && width(by) == 1 && !(has_axis(by, "i") && has_axis(by, "j"))) {
    return(scaled_along(A, if (divided) 1 / by else by))
  }
  if (is.logical(by)) by <- by + 0
  if (!is.numeric(by) || length(dim(by)) > 1 && length(by) != 1) {
    refuse(symbol, "operator", "of two matrices it acts on each entry; %*% multiplies operators")
  }
  values <- if (divided) 1 / plain_vector(by, "by") else plain_vector(by, "by")
  if (length(values) == 1) return(if (is_traced(values)) multiple_of(A, values) else sum_ops(list(A), values[[1]]))
  if (length(values) != A$dim[1]) {
    abort("shape", "an operator of ", counted(A$dim[1], "row"), " beside ", length(values), " numbers; `", symbol,
          "` takes one number, or one for each row")
  }
  product_ops(list(diagonal_of(values), A))
}

# Multiplies an operator by a number for each point: points along i multiply rows, points along j columns.
scaled_along <- function(A, by) {
  side <- if (has_axis(by, "j")) 2 else 1
  values <- as.vector(run_single(by, "both") + 0)
  if (!has_axis(by, "i") && !has_axis(by, "j")) return(scaled(A, values, "*"))
  if (length(values) != A$dim[side]) {
    abort("shape", "an operator of ", size_text(A), " beside a formula of ", length(values), " points along ",
          c("i", "j")[side])
  }
  product_ops(if (side == 1) list(diagonal_of(values), A) else list(A, diagonal_of(values)))
}

# --- products --------------------------------------------------------------------------------------------------

# Tells whether x is an operator in products of operators.
is_factor <- function(x) is_op(x) || is_lazy(x) || methods::is(x, "diagonalMatrix")

operator_matmul <- function(x, y) multiply(x, y, "%*%")

operator_crossprod <- function(x, y = NULL, ...) {
  if (is.null(y)) gram(t(as_op(x)), as_op(x)) else multiply(x, y, "crossprod()", turned = 1)
}

operator_tcrossprod <- function(x, y = NULL, ...) {
  if (is.null(y)) gram(as_op(x), t(as_op(x))) else multiply(x, y, "tcrossprod()", turned = 2)
}

# Multiplies x and y, one of them (`turned` is 1 or 2) transposed. Returns an operator if both are, else numbers.
multiply <- function(x, y, operator, turned = 0) {
  left <- function(x) if (turned == 1) t(x) else x
  right <- function(y) if (turned == 2) t(y) else y
  if (is_factor(x) && is_factor(y)) return(multiplied(left(as_op(x)), right(as_op(y)), operator))
  extents <- c(if (turned == 1) "row" else "column", if (turned == 2) "column" else "row")
  if (is_op(x)) return(times_columns(left(x), right(as_columns(y, "right", operator)), "right", operator, extents))
  x <- as_columns(x, "left", operator, row = turned != 1)
  t(times_columns(t(right(y)), t(left(x)), "left", operator, rev(extents)))
}

multiplied <- function(a, b, operator) {
  if (a$dim[2] == b$dim[1]) return(product_ops(list(a, b)))
  abort("shape", "the sides of ", operator, " do not fit: ", size_text(a), " times ", size_text(b))
}

# Multiplies an operator by columns. The error for unequal extents names both extents as the user sees them.
times_columns <- function(A, v, side, operator, extents) {
  if (nrow(v) != A$dim[2]) {
    abort("shape", "the operator has ", counted(A$dim[2], extents[1]), ", but the ", side, " side of ", operator,
          " has ", counted(nrow(v), extents[2]))
  }
  named(operator_product(A, unname(v)), rownames(A), colnames(v))
}

# Returns numbers as a matrix of doubles; a vector becomes a column, or a row on the left of %*%.
as_columns <- function(v, side, operator, row = FALSE) {
  argument <- paste(side, "side of", operator)
  plain <- plain_value(v)
  points <- if (is.object(plain)) unwrapped(plain, argument) else plain
  numeric <- is.numeric(points) || is.logical(points)
  if (!numeric) abort("input", "the ", argument, " must be numeric, not ", describe(plain))
  values <- check_numbers(points, argument)$values
  refuse_batches(dim(values), argument)
  rearranged(if (is_traced(v)) v else values, function(x) {
    if (length(dim(x)) == 2) return(x)
    if (row) matrix(as.vector(x), 1) else matrix(as.vector(x), ncol = 1)
  })
}

# --- Kronecker products and binding -------------------------------------------------------------------------

operator_kronecker <- function(X, Y, FUN = "*", make.dimnames = FALSE, ...) {
  if (!identical(match.fun(FUN), `*`)) abort("unsupported", "kronecker() of operators multiplies; `FUN` must be \"*\"")
  if (!isFALSE(make.dimnames)) abort("unsupported", "kronecker() of operators makes no names of rows and columns")
  kronecker_op(as_op(columns_of_vector(X)), as_op(columns_of_vector(Y)))
}

columns_of_vector <- function(x) if (is.numeric(x) && is.null(dim(x))) rearranged(x, matrix) else x

#' @rdname operator-algebra
#' @export
cbind.linear_op <- function(..., deparse.level = 1) bound(list(...), "cbind")

#' @rdname operator-algebra
#' @export
rbind.linear_op <- function(..., deparse.level = 1) bound(list(...), "rbind")

# R requires both classes to have one method if operators and lazy tensors are bound together.
#' @export
cbind.lazy_tensor <- cbind.linear_op

#' @export
rbind.lazy_tensor <- rbind.linear_op

bound <- function(parts, generic) {
  parts <- parts[!vapply(parts, is.null, NA)]
  ops <- vapply(parts, is_op, NA)
  if (!any(ops)) {
    refuse(generic, "tensor", "bind the data before Vi() or Vj(), or give as_op() of the parts for an operator")
  }
  columns <- generic == "cbind"
  extent <- parts[[which(ops)[1]]]$dim[if (columns) 1 else 2]
  names <- names(parts) %or% character(length(parts))
  blocks <- lapply(seq_along(parts), function(k) {
    x <- parts[[k]]
    if (!is.numeric(x) || !is.null(dim(x))) return(as_op(x))
    # A vector is a column or a row with the argument's name; a single number is repeated.
    line <- rearranged(if (length(x) == 1) rep(x, extent) else x, function(x) matrix(as.vector(x), ncol = 1))
    line <- named(line, names(x), if (nzchar(names[k])) names[k])
    as_op(if (columns) line else t(line))
  })
  blocks_op(if (columns) list(blocks) else lapply(blocks, list))
}

# --- methods ------------------------------------------------------------------------------------------------

# Sets methods for pairs with every class that has its own methods, so that no other method is nearer.
for (classes in list(c("linear_op", "ANY"), c("linear_op", "linear_op"), c("linear_op", "lazy_tensor"),
                     c("linear_op", "Matrix"), c("linear_op", "diagonalMatrix"), c("lazy_tensor", "diagonalMatrix"))) {
  for (signature in unique(list(classes, rev(classes)))) {
    setMethod("%*%", signature, operator_matmul)
    setMethod("crossprod", signature, operator_crossprod)
    setMethod("tcrossprod", signature, operator_tcrossprod)
    setMethod("kronecker", signature, operator_kronecker)
  }
}
for (class in c("linear_op", "lazy_tensor")) {
  setMethod("crossprod", c(class, "missing"), operator_crossprod)
  setMethod("tcrossprod", c(class, "missing"), operator_tcrossprod)
}
for (classes in list(c("lazy_tensor", "ANY"), c("ANY", "lazy_tensor"), c("lazy_tensor", "lazy_tensor"),
                     c("lazy_tensor", "Matrix"), c("Matrix", "lazy_tensor"))) {
  setMethod("kronecker", classes, operator_kronecker)
}
rm(classes, signature, class)

#' @exportMethod kronecker
NULL

setMethod("Ops", c("linear_op", "Matrix"), function(e1, e2) operator_arithmetic(.Generic, e1, e2))
setMethod("Ops", c("Matrix", "linear_op"), function(e1, e2) operator_arithmetic(.Generic, e1, e2))
setMethod("Ops", c("lazy_tensor", "diagonalMatrix"), function(e1, e2) beside_diagonal(.Generic, e1, e2))
setMethod("Ops", c("diagonalMatrix", "lazy_tensor"), function(e1, e2) beside_diagonal(.Generic, e1, e2))

# Combines a lazy tensor and a diagonal: a sum or difference is an operator, other results are matrices of pairs.
beside_diagonal <- function(symbol, e1, e2) {
  if (symbol %in% c("+", "-")) return(operator_arithmetic(symbol, as_op(e1), as_op(e2)))
  as_pairs <- function(x) if (is_lazy(x)) x else as.matrix(x)
  get(symbol, baseenv())(as_pairs(e1), as_pairs(e2))
}
