# The linear operator: a matrix that is known by its products. It is a tree of plain data, which C++ also reads.
#   kind       "lazy": tensor; "diagonal": values; "dense": matrix; "sum": parts, coefficients;
#              "product", "kronecker": parts; "block": parts, a list of rows, NULL for zero;
#              "function": apply, apply_transposed, dimnames, label, and matrix if it is a sparse one;
#              "lowrank": factor, landmarks, residual, dimnames
#   dim        numbers of rows and columns
#   symmetric  TRUE, FALSE, or NA if unknown
#   settings   of its lazy tensors; NULL for none
# The S4 bit is set, for the same reason as for lazy tensors.

new_op <- function(kind, dim, ..., symmetric = NA, settings = NULL) {
  if (dim[1] != dim[2]) symmetric <- FALSE
  x <- list(kind = kind, dim = as.numeric(dim), symmetric = symmetric, settings = settings, ...)
  class(x) <- "linear_op"
  asS4(home_bound(x))
}

lazy_op <- function(tensor) {
  refuse_batches_of(tensor, "an operator")
  new_op("lazy", dim(tensor)[1:2], tensor = tensor, settings = tensor$settings)
}

diagonal_of <- function(values) new_op("diagonal", rep(length(values), 2), values = values, symmetric = TRUE)

# A traced matrix that is symmetric now may be asymmetric at other values.
dense_op <- function(matrix) {
  symmetric <- if (is_traced(matrix)) NA
               else nrow(matrix) == ncol(matrix) && isSymmetric(unname(matrix), tol = 0)
  new_op("dense", dim(matrix), matrix = matrix, symmetric = symmetric)
}

#' Linear operators
#'
#' A linear operator is a matrix that is never stored and known only by its products. Use an operator if the matrix
#' would be too large, or to combine a kernel matrix with diagonal, sparse or low-rank terms. Lazy tensors can be used
#' as operators; the functions on this page make other operators, and [operator-algebra] combines them:
#' `K + 0.1 * identity_op(n)` is the kernel matrix plus a ridge.
#'
#' `identity_op(n)` and `diagonal_op(d)` are diagonal; `Matrix::Diagonal(n)` next to an operator or a lazy tensor does
#' the same. A dense `diag(n)` is treated like any matrix, with all its zeros.
#'
#' `as_op()` takes a matrix (of base R, or a dense, sparse or diagonal one of the Matrix package; a data frame of
#' numbers) or a lazy tensor of one component. A sparse matrix multiplies in time proportional to its nonzero entries.
#'
#' `function_op()` takes a function that multiplies: given a matrix with a row for each column of the operator, it
#' returns a matrix with a row for each row of the operator. `block_op()` makes a block matrix of operators; `NULL` and
#' 0 stand for blocks of zeros.
#'
#' @param n number of rows and columns; for `function_op()` a vector of both numbers if they differ
#' @param d numbers on the diagonal
#' @param x a matrix, a lazy tensor of one component, or an operator
#' @param f a function of a matrix that returns the operator times this matrix
#' @param symmetric is the operator symmetric? `NA` if you do not know
#' @param transposed a function that multiplies by the transpose, needed if the transpose is used and the operator is
#'   not symmetric
#' @param parts a list of rows of blocks, each a list of operators, lazy tensors, matrices, or `NULL`
#' @return An object of class `linear_op`.
#' @seealso [operator-algebra] to combine operators, [operator-numbers] to get numbers, [solve()][solve.linear_op],
#'   [logdet()], [keigen()], [trace_estimate()], [lowrank()], [root_op()]
#' @concept matrix-free methods
#' @concept sparse matrix
#' @concept block matrix
#' @name linear_op
#' @examples
#' x <- matrix(runif(60), 20, 3)
#' A <- kernel_gaussian(x) + 0.1 * identity_op(20)
#' A
#' A %*% rnorm(20)
#' second_difference <- function_op(function(v) rbind(0, v[-nrow(v), , drop = FALSE]) - v, 20)
#' second_difference %*% 1:20
#' block_op(list(list(A, as_op(x)), list(t(x), NULL)))
NULL

#' @rdname linear_op
#' @export
identity_op <- function(n) diagonal_of(rep(1, check_size(n, "n")))

#' @rdname linear_op
#' @export
diagonal_op <- function(d) {
  if (methods::is(d, "diagonalMatrix")) return(as_op(d))
  if (!is.null(dim(d)) && length(dim(d)) != 1) {
    abort("input", "`d` must be a vector of the numbers on the diagonal, not ", describe(d),
          "; as_op() takes a matrix, diag() its diagonal")
  }
  diagonal_of(plain_vector(d, "d"))
}

# Returns doubles with no attributes except names.
plain_vector <- function(x, argument) {
  values <- check_numbers(plain_value(x), argument)$values
  rearranged(if (is_traced(x)) x else values, function(x) structure(as.vector(x), names = names(x)))
}

#' @rdname linear_op
#' @export
as_op <- function(x) {
  if (is_op(x)) return(x)
  if (is_lazy(x)) return(op_of_lazy(x))
  if (methods::is(x, "Matrix")) return(op_of_matrix(x))
  if (is.data.frame(x)) x <- frame_matrix(x, "x")
  if (is.function(x)) abort("input", "`x` is a function; function_op(x, n) makes an operator of it")
  numbers <- check_numbers(plain_value(x), "x")$values
  if (length(dim(numbers)) != 2) {
    abort("input", "`x` must be a matrix, not ", describe(plain_value(x)), "; cbind(x) is a column, diagonal_op(x) ",
          "has it on its diagonal")
  }
  dense_op(if (is_traced(x)) x else numbers)
}

op_of_lazy <- function(x) {
  if (width(x) != 1) {
    abort("shape", "an operator is made of a formula of one component; `", formula_text(x$formula, 40L), "` has ",
          width(x))
  }
  for (axis in c("i", "j")) need_extent(x, axis, "an operator")
  for (operand in operands_of(x$formula)) {
    if (is.null(operand$data) && is.null(operand$from)) {
      abort("no_data", "an operator is made of numbers; `", operand$name, "` is a placeholder")
    }
  }
  # If a formula does not vary along both axes, it is a row or a column.
  if (has_axis(x, "i") && has_axis(x, "j")) lazy_op(x) else dense_op(run_single(x, "both") + 0)
}

op_of_matrix <- function(x) {
  if (methods::is(x, "diagonalMatrix")) return(diagonal_of(check_numbers(Matrix::diag(x), "x")$values + 0))
  if (!methods::is(x, "sparseMatrix")) return(dense_op(check_numbers(as.matrix(x), "x")$values))
  symmetric <- nrow(x) == ncol(x) && Matrix::isSymmetric(x, tol = 0, checkDN = FALSE)
  turned <- Matrix::t(x)
  op <- op_of_function(function(v) as.matrix(x %*% v), dim(x), symmetric, function(v) as.matrix(turned %*% v),
                       dimnames(x), "sparse matrix")
  op$matrix <- x
  op
}

op_of_function <- function(f, dim, symmetric, transposed, dimnames = NULL, label = "function") {
  if (all(vapply(dimnames, is.null, NA))) dimnames <- NULL
  new_op("function", dim, apply = f, apply_transposed = transposed, dimnames = dimnames, label = label,
         symmetric = symmetric)
}

#' @rdname linear_op
#' @export
function_op <- function(f, n, symmetric = NA, transposed = NULL) {
  for (part in list(f, transposed %or% identity)) {
    if (!is.function(part)) abort("input", "`f` and `transposed` must be functions, not ", describe(part))
  }
  known <- is.logical(symmetric) && length(symmetric) == 1
  if (!known) abort("input", "`symmetric` must be TRUE, FALSE or NA, not ", format_value(symmetric))
  if (!length(n) %in% 1:2) abort("input", "`n` must be a number of rows and columns, or both, not ", describe(n))
  extent <- vapply(n, check_size, 0, "n")[c(1, length(n))]
  if (isTRUE(symmetric) && extent[1] != extent[2]) {
    abort("shape", "an operator of ", extent[1], " x ", extent[2], " is not symmetric")
  }
  op_of_function(product_of(f, extent[1]), extent, symmetric,
                 if (!isTRUE(symmetric) && !is.null(transposed)) product_of(transposed, extent[2]))
}

# Wraps a user's function, with a check that its result has `rows` rows.
product_of <- function(f, rows) {
  function(v) {
    out <- f(v)
    if (methods::is(out, "Matrix")) out <- as.matrix(out)
    numbers <- check_numbers(plain_value(out), "the result of the function")$values
    if (length(numbers) != rows * ncol(v) || (is.matrix(numbers) && nrow(numbers) != rows)) {
      abort("shape", "the function of an operator gave ", describe(out), " for ", counted(ncol(v), "column"),
            "; it must be a matrix of ", rows, " x ", ncol(v))
    }
    rearranged(if (is_traced(out)) out else numbers, function(out) matrix(as.vector(out), rows, ncol(v)))
  }
}

#' @rdname linear_op
#' @export
block_op <- function(parts) {
  nested <- is.list(parts) && !is.object(parts) && length(parts) > 0 &&
    all(vapply(parts, function(row) is.list(row) && !is.object(row) && length(row) > 0, NA))
  if (!nested) abort("input", "`parts` must be a list of rows, each a list of blocks: list(list(A, B), list(C, D))")
  widths <- lengths(parts)
  if (any(widths != widths[1])) {
    abort("shape", "row ", which(widths != widths[1])[1], " of `parts` has ", counted(widths[widths != widths[1]][1],
          "block"), ", row 1 has ", widths[1])
  }
  blocks_op(lapply(parts, lapply, function(part) if (!is_zero(part)) as_op(part)))
}

is_zero <- function(part) {
  if (is.null(part) || is_traced(part)) return(is.null(part))
  is.numeric(part) && is.null(dim(part)) && length(part) == 1 && !is.na(part) && part == 0
}

# --- the object ----------------------------------------------------------------------------------------------

op_parts <- c("kind", "dim", "symmetric", "settings", "tensor", "values", "matrix", "apply", "apply_transposed",
              "dimnames", "label", "parts", "coefficients", "factor", "landmarks", "residual")

op_part <- function(x, name, written) {
  if (!is.character(name) || length(name) != 1 || !name %in% op_parts) {
    abort("index", "`", written, "` is not defined: write A[I, J] for rows and columns of an operator")
  }
  if (name %in% c("factor", "landmarks", "residual") && .subset2(x, "kind") == "sum") {
    # A sum of a low rank and a ridge also gives the parts of the low rank.
    parts <- .subset2(x, "parts")
    low <- which(vapply(parts, function(part) .subset2(part, "kind") == "lowrank", NA))
    if (length(low) == 1) x <- parts[[low]]
  }
  .subset2(x, name)
}

#' @export
`$.linear_op` <- function(x, name) op_part(x, name, paste0("A$", name))

#' @export
`[[.linear_op` <- function(x, i, ...) op_part(x, i, "A[[k]]")

#' @export
`$<-.linear_op` <- function(x, name, value) {
  if (!name %in% op_parts) refuse("$<-", "operator", "an operator has no places to assign to")
  NextMethod()
}

#' @export
dim.linear_op <- function(x) {
  extent <- .subset2(x, "dim")
  if (all(extent <= .Machine$integer.max)) as.integer(extent) else extent
}

#' @export
length.linear_op <- function(x) {
  refuse_parallel(parent.frame(), "operator")
  entries <- prod(.subset2(x, "dim"))
  if (entries <= .Machine$integer.max) as.integer(entries) else entries
}

# Returns NULL: a matrix has only names of rows and of columns.
#' @export
names.linear_op <- function(x) NULL

#' @export
dimnames.linear_op <- function(x) {
  names <- list(names_along(x, 1), names_along(x, 2))
  if (!is.null(names[[1]]) || !is.null(names[[2]])) names
}

# Returns the names of the rows (side 1) or columns (side 2): the names of the first part that has names on this side.
names_along <- function(x, side) {
  switch(x$kind,
    lazy = point_names(x$tensor, c("i", "j")[side]),
    diagonal = names(x$values),
    dense = dimnames(x$matrix)[[side]],
    `function` = , lowrank = x$dimnames[[side]],
    sum = first_names(x$parts, side),
    product = {  # a diagonal without names takes those of the factor that it scales
      bears <- function(factor) factor$kind != "diagonal" || !is.null(names(factor$values))
      outer <- Find(bears, if (side == 1) x$parts else rev(x$parts))
      if (!is.null(outer)) names_along(outer, side)
    },
    block = {
      names <- lapply(if (side == 1) x$parts else block_columns(x$parts), first_names, side)
      there <- !all(vapply(names, is.null, NA))
      if (there) unlist(Map(function(some, n) some %or% character(n), names, block_extents(x$parts)[[side]]))
    }
  )
}

first_names <- function(parts, side) {
  for (part in parts) {
    found <- if (!is.null(part)) names_along(part, side)
    if (!is.null(found)) return(found)
  }
}
