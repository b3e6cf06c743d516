# Numbers of linear operators: entries, diagonals and sums of rows; and operators for some rows and columns.

#' Entries, diagonal and row sums of a linear operator
#'
#' `as.matrix(A)` computes the matrix, if it is no larger than the option `kernweave.max_dense_mb`; no function of base
#' R does so implicitly. `diag(A)` gives the diagonal. It needs no product if the parts of the operator have a known
#' diagonal (lazy tensors, matrices, diagonals, their sums, products of two of them, blocks and Kronecker products of
#' these); otherwise it multiplies the identity matrix, 64 columns at a time. `rowSums(A)`, `colSums(A)`, `rowMeans(A)`
#' and `colMeans(A)` take one product each.
#'
#' `A[I, J]` is the operator of rows `I` and columns `J`, chosen by number, logical value or name.
#'
#' @param x an operator
#' @param i,j rows and columns: positive, negative or logical, or names
#' @param drop,nrow,ncol,na.rm,dims an error unless left at their default
#' @param names,... not used
#' @return Numbers; for `A[I, J]` an operator.
#' @seealso [linear_op], [operator-algebra]
#' @concept diagonal of a matrix product
#' @name operator-numbers
#' @examples
#' x <- matrix(runif(60), 20, 3)
#' A <- kernel_gaussian(x) + 0.1 * identity_op(20)
#' diag(A)
#' rowSums(A)
#' as.matrix(A[1:3, 1:2])
NULL

# --- entries -----------------------------------------------------------------------------------------------

#' @rdname operator-numbers
#' @export
as.matrix.linear_op <- function(x, ...) {
  refuse_unasked("as.matrix", parent.frame(), sys.call(-1), "operator")
  if (...length()) abort("input", "as.matrix() of a linear operator takes no other arguments")
  entries(x)
}

#' @rdname operator-numbers
#' @export
as.array.linear_op <- function(x, ...) {
  refuse_unasked("as.array", parent.frame(), sys.call(-1), "operator")
  entries(x)
}

entries <- function(x) {
  guard_size(x$dim, 1, "entries", "Multiply by what is needed instead, take rows first,")
  named(plain_entries(x), rownames(x), colnames(x))
}

plain_entries <- function(x) {
  switch(x$kind,
    lazy = unname(dense(x$tensor)) + 0,
    diagonal = diag(x$values, length(x$values), names = FALSE),
    dense = unname(x$matrix),
    lowrank = tcrossprod(x$factor),
    sum = Reduce(`+`, Map(function(part, by) by * plain_entries(part), x$parts, x$coefficients)),
    block = block_entries(x$parts),
    kronecker = overlay$kronecker(plain_entries(x$parts[[1]]), plain_entries(x$parts[[2]])),
    if (x$dim[2] > x$dim[1] && knows_transpose(x)) t(all_columns(t(x))) else all_columns(x)
  )
}

block_entries <- function(rows) {
  extents <- block_extents(rows)
  do.call(overlay$rbind, lapply(seq_along(rows), function(r) {
    do.call(overlay$cbind, lapply(seq_along(rows[[r]]), function(k) {
      part <- rows[[r]][[k]]
      if (is.null(part)) matrix(0, extents[[1]][r], extents[[2]][k]) else plain_entries(part)
    }))
  }))
}

# Computes the columns of a matrix that is known by its products, some columns at a time.
all_columns <- function(x) {
  do.call(overlay$cbind, c(list(matrix(0, x$dim[1], 0)), lapply(some_at_a_time(x$dim[2]), column_entries, x = x)))
}

column_entries <- function(x, columns) {
  unit <- matrix(0, x$dim[2], length(columns))
  unit[cbind(columns, seq_along(columns))] <- 1
  operator_product(x, unit)
}

some_at_a_time <- function(n, most = widest_product) {
  lapply(seq_len(ceiling(n / most)), function(k) seq.int((k - 1) * most + 1, min(n, k * most)))
}

knows_transpose <- function(x) {
  if (isTRUE(x$symmetric) || x$kind %in% c("lazy", "dense", "lowrank")) return(TRUE)
  if (x$kind == "function") return(!is.null(x$apply_transposed))
  all(vapply(unlist_parts(x), knows_transpose, NA))
}

# --- diagonals ---------------------------------------------------------------------------------------------

#' @rdname operator-numbers
setMethod("diag", "linear_op", function(x = 1, nrow, ncol, names = TRUE) {
  if (!missing(nrow) || !missing(ncol)) abort("input", "diag() of a linear operator takes no `nrow` and no `ncol`")
  known_diagonal(x) %or% join(lapply(some_at_a_time(min(x$dim)), function(columns) {
    column_entries(x, columns)[cbind(columns, seq_along(columns))]
  })) %or% numeric()
})

# Returns the diagonal if it takes no products, else NULL.
known_diagonal <- function(x) {
  switch(x$kind,
    lazy = if (can_take(x$tensor)) as.vector(diag(x$tensor)) + 0,
    diagonal = unname(x$values),
    dense = diag(unname(x$matrix)),
    `function` = if (!is.null(approximation_of(x))) known_diagonal(lazy_op(kernel_tensor(x))),
    lowrank = rowSums(x$factor^2),
    sum = {
      parts <- lapply(x$parts, known_diagonal)
      if (!any(vapply(parts, is.null, NA))) Reduce(`+`, Map(`*`, parts, x$coefficients))
    },
    product = product_diagonal(x),
    block = block_diagonal(x),
    kronecker = if (all(vapply(x$parts, function(part) part$dim[1] == part$dim[2], NA))) {
      parts <- lapply(x$parts, known_diagonal)
      if (!any(vapply(parts, is.null, NA))) kronecker_vector(parts[[1]], parts[[2]])
    }
  )
}

# Computes the diagonal of A B: the row sums of A * t(B).
product_diagonal <- function(x) {
  if (length(x$parts) != 2) return(NULL)
  n <- seq_len(min(x$dim))
  a <- x$parts[[1]]
  b <- x$parts[[2]]
  if (length(n) < x$dim[1]) a <- take_entries(a, n, NULL)
  if (length(n) < x$dim[2]) b <- take_entries(b, NULL, n)
  if (!a$kind %in% c("lazy", "dense") || !b$kind %in% c("lazy", "dense")) return(NULL)
  as.vector(rowSums(multipliable(a) * multipliable(t(b))))
}

multipliable <- function(op) if (op$kind == "lazy") op$tensor else unname(op$matrix)

block_diagonal <- function(x) {
  extents <- block_extents(x$parts)
  if (!identical(extents[[1]], extents[[2]])) return(NULL)
  of_blocks <- lapply(seq_along(x$parts), function(k) {
    part <- x$parts[[k]][[k]]
    if (is.null(part)) numeric(extents[[1]][k]) else known_diagonal(part)
  })
  if (!any(vapply(of_blocks, is.null, NA))) join(of_blocks)
}

# --- sums of rows and columns --------------------------------------------------------------------------------

#' @rdname operator-numbers
setMethod("rowSums", "linear_op", function(x, na.rm = FALSE, dims = 1, ...) total_rows(x, na.rm, dims, ...))
#' @rdname operator-numbers
setMethod("colSums", "linear_op", function(x, na.rm = FALSE, dims = 1, ...) total_rows(t(x), na.rm, dims, ...))
#' @rdname operator-numbers
setMethod("rowMeans", "linear_op", function(x, na.rm = FALSE, dims = 1, ...) total_rows(x, na.rm, dims, ...) / x$dim[2])
#' @rdname operator-numbers
setMethod("colMeans", "linear_op", function(x, na.rm = FALSE, dims = 1, ...) rowMeans(t(x), na.rm, dims, ...))

total_rows <- function(x, na.rm, dims, ...) {
  refuse_more(...)
  check_na_rm(na.rm)
  if (!identical(as.numeric(dims), 1)) abort("unsupported", "`dims` must be 1, not ", format_value(dims))
  one_column(x %*% rep(1, x$dim[2]))
}

# --- rows and columns --------------------------------------------------------------------------------------

#' @rdname operator-numbers
#' @export
`[.linear_op` <- function(x, i, j, ..., drop = FALSE) {
  if (!isFALSE(drop)) abort("unsupported", "`drop = TRUE`: a linear operator drops nothing")
  places <- nargs() - !missing(drop)
  if (places > 3 || (places == 2 && !missing(i))) {
    abort("index", "an operator has rows and columns: write A[I, J], A[I, ] or A[, J]")
  }
  rows <- if (!missing(i)) positions(i, x$dim[1], "rows", rownames(x))
  columns <- if (!missing(j)) positions(j, x$dim[2], "columns", colnames(x))
  take_entries(x, rows, columns)
}

# Takes rows and columns; NULL takes all.
take_entries <- function(x, rows, columns) {
  if (is.null(rows) && is.null(columns)) return(x)
  taken <- switch(x$kind,
    lazy = if (can_take(x$tensor)) lazy_op(take_both(x$tensor, rows, columns)),
    dense = dense_op(x$matrix[rows %or% seq_len(x$dim[1]), columns %or% seq_len(x$dim[2]), drop = FALSE]),
    lowrank = {  # F[I, ] F[J, ]'
      part <- function(at, names) dense_op(named(unname(x$factor)[at, , drop = FALSE], names[at], NULL))
      product_ops(list(part(rows %or% seq_len(x$dim[1]), names_along(x, 1)),
                       t(part(columns %or% seq_len(x$dim[2]), names_along(x, 2)))))
    },
    diagonal = if (identical(rows, columns) && !anyDuplicated(rows)) diagonal_of(x$values[rows]),
    sum = sum_ops(lapply(x$parts, take_entries, rows, columns), x$coefficients),
    product = {
      last <- length(x$parts)
      x$parts[[1]] <- take_entries(x$parts[[1]], rows, NULL)
      x$parts[[last]] <- take_entries(x$parts[[last]], NULL, columns)
      product_ops(x$parts)
    }
  )
  if (is.null(taken)) taken <- product_ops(c(selection(x, rows, 1), list(x), selection(x, columns, 2)))
  if (isTRUE(x$symmetric) && identical(rows, columns)) as_symmetric(taken) else taken
}

can_take <- function(tensor) is.null(said_of(tensor$pairs)$pattern) && is.null(pairs_of(tensor))

# Returns the name of a matrix of pairs in a formula; NULL if there is none.
pairs_of <- function(K) {
  for (operand in operands_of(K$formula)) if (operand$axis == "pair") return(operand$name)
}

take_both <- function(K, rows, columns) {
  if (!is.null(rows)) K <- take_points(K, rows, "i", "rows")
  if (is.null(columns)) K else take_points(K, columns, "j", "columns")
}

# Returns an operator that selects rows from the left (side 1) or columns from the right (side 2); NULL if it takes all.
selection <- function(x, which, side) {
  if (is.null(which)) return(NULL)
  n <- x$dim[side]
  take <- function(v) v[which, , drop = FALSE]
  put <- function(v) scatter_rows(v, which, n)
  names <- list(names_along(x, side)[which], NULL)
  op <- op_of_function(take, c(length(which), n), NA, put, names, "selection")
  list(if (side == 1) op else t(op))
}

# --- settings ----------------------------------------------------------------------------------------------

# Settings belong to the lazy tensors among the leaves.
set_op <- function(x, ...) {
  over_leaves(x, function(leaf) {
    if (leaf$kind != "lazy") check_settings(list(...))
    else {
      leaf$tensor <- with_settings(leaf$tensor, ...)
      leaf$settings <- leaf$tensor$settings
    }
    leaf
  })
}

# Replaces each leaf of an operator by f(leaf).
over_leaves <- function(x, f) {
  if (is.null(x$parts)) return(f(x))
  again <- function(part) if (!is.null(part)) over_leaves(part, f)
  x$parts <- if (x$kind == "block") lapply(x$parts, lapply, again) else lapply(x$parts, again)
  x$settings <- joint_settings(unlist_parts(x))
  x
}
