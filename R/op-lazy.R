# A lazy tensor as a matrix: products, transposes, rows and columns.

#' @export
t.lazy_tensor <- function(x) {
  made_once(x, "t", function() {
    refuse_named_axes(operands_of(x$formula))
    extent <- x$extent[c(2, 1, seq_along(x$extent)[-(1:2)])]
    pairs <- x$pairs
    if (!is.null(pairs)) pairs$swapped <- !pairs$swapped
    new_lazy(r_apply("Swap", list(x$formula), NULL), extent, x$settings, pairs)
  })
}

# Every product is computed as K %*% v, with K or v transposed if need be. The user's own product is kept for messages:
# the operator, the formula, the summed axis, the side of the numbers, and their extent along that axis.
written_as <- function(operator, K, axis, side, along) {
  if (is_lazy_complex(K)) K <- whole_of(K)
  list(operator = operator, formula = K$formula, axis = axis, side = side, along = along)
}
side_of <- function(written, side = written$side) paste(side, "side of", written$operator)

# Multiplies K by numbers, or by a lazy tensor along j: a sum over j.
matrix_product <- function(K, v, written = written_as("%*%", K, "j", "right", "rows")) {
  if (is_lazy_complex(K) || is_lazy_complex(v) || is.complex(v)) return(complex_product(K, v, written))
  if (!is_lazy(v)) return(product_with_numbers(K, v, written))
  check_summed(K, written)
  if (has_axis(v, "i") && has_axis(v, "j")) return(multiplied(as_op(K), as_op(v), written$operator))
  if (has_axis(v, "i")) abort("shape", "the ", side_of(written), " varies along i; it must vary along j, as Vj() does")
  reduction(lazy_call("Mult", list(K, v)), "Sum", index = "j")
}

# Multiplies K by numbers, by a reduction that is made at the first product with so many columns, and kept.
product_with_numbers <- function(K, v, written) {
  kept <- r_kept(K)
  points <- points_along_j(K, v, written, kept)
  product <- if (!is_traced(v)) waiting_product(K, points$width, points$kind, kept = kept)
  out <- if (!is.null(product)) run_reduction(product, given = list(points$values))
         else reduction(lazy_call("Mult", list(K, vector_along_j(points, v))), "Sum", index = "j")
  columns <- if (length(dim(points$values)) == 2 && type_of(K)[1] == 1) colnames(points$values)
  if (is.null(columns) || is_reduction(out) || has_batches(K)) return(out)
  rearranged(out, function(out) {
    attr(out, "dimnames") <- list(rownames(out), columns)
    out
  })
}

# Returns the sum over j of K times an operand with `width` components, which waits for its data. NULL if other operands
# also wait for data, or if any operand is traced.
waiting_product <- function(K, width, kind = "real", by = "Mult", kept = r_kept(K)) {
  kept_in(kept, list("product", width, kind, by), function() {
    if (length(traced_operands(K))) return(NULL)
    vector <- lazy_operand(new_operand("v", "j", width, kind))
    R <- reduction(lazy_call(by, list(K, vector)), "Sum", index = "j", call = FALSE)
    if (length(free_operands(R)) == 1) R
  })
}

check_summed <- function(K, written, kept = r_kept(K)) {
  if (has_named_axes(K, kept)) refuse_named_axes(operands_of(K$formula))
  if (has_axis(K, "j")) return(invisible())
  abort("shape", "the ", side_of(written, setdiff(c("left", "right"), written$side)), ", `",
        formula_text(written$formula, 40L), "`, has no points along ", written$axis, " to be summed over; to multiply ",
        "each point by a matrix M of parameters, write vecmatmult(x, Pm(as.vector(M)))")
}

points_along_j <- function(K, v, written, kept = r_kept(K)) {
  check_summed(K, written, kept)
  points <- as_points(plain_value(v), side_of(written))
  n <- .subset2(K, "extent")[2]
  rows <- NROW(points$values)
  if (!is.na(n) && n != rows) {
    abort("shape", "the formula has ", dim(K)[2], " points along ", written$axis, ", but the ", side_of(written),
          " has ", counted(rows, sub("s$", "", written$along)))
  }
  width <- type_of(K)[1]
  if (width != 1 && points$width != 1 && points$width != width) {
    abort("shape", "the formula has ", width, " components, but the ", side_of(written), " has ", points$width,
          if (written$along == "rows") " columns" else " rows")
  }
  points
}

vector_along_j <- function(points, v) {
  lazy_operand(bearing(new_operand("v", "j", points$width, points$kind, points$values), v))
}

# v %*% K is t(t(K) %*% t(v)); a plain vector is a row, as in base R.
left_product <- function(v, K, written = NULL) {
  if (has_batches(if (is_lazy_complex(K)) whole_of(K) else K)) {
    abort("unsupported", "v %*% K of a formula with batches is not defined; t(K) %*% t(v) is")
  }
  if (methods::is(v, "Matrix")) v <- as.matrix(v)
  extents <- dim(plain_value(v))
  row <- length(extents) < 2
  refuse_batches(extents, "left side of %*%")
  if (is.null(written)) written <- written_as("%*%", K, "i", "left", if (row) "numbers" else "columns")
  out <- matrix_product(t(K), rearranged(v, if (row) as.vector else t), written)
  if (is_reduction(out)) abort("unsupported", "v %*% K of a formula with placeholders; use crossprod(K, t(v))")
  rearranged(out, t)
}

#' Matrix operations on lazy tensors
#'
#' A lazy tensor behaves like the matrix of pairs it stands for. `K %*% v` is the exact product with a vector or matrix
#' of numbers, computed as sums over j; `crossprod(K, v)` is `t(K) %*% v`. Use these products for kernel regression,
#' densities and Gaussian processes without forming the matrix.
#'
#' Each column of `v` gives a column of the result. The right side may also be a lazy tensor along j (`Vj(b)`); with
#' placeholders the result is a `lazy_reduction`. The product of two matrices of pairs, `K %*% L` or `crossprod(K)`,
#' stays lazy: it is an operator ([operator-algebra]).
#'
#' The rows of the result have the names of the points along i, if any, and the columns have the column names of `v`;
#' `dimnames(K)` are the names of the points along i and along j.
#'
#' `K[I, J]` selects rows and columns, by number, logical value or name, and `K[, , k]` selects components; both stay
#' lazy. `t(K)` exchanges i and j. `as.matrix(K)`, `diag(K)`, `rowSums(K)`, `colSums(K)`, `rowMeans(K)` and
#' `colMeans(K)` give numbers. `as.matrix(K)` refuses results larger than the option `kernweave.max_dense_mb`. No
#' function of base R forms the matrix implicitly: `eigen(K)`, `chol(K)`, `dist(K)` and `apply(K, 1, f)` are errors with
#' a message that says so. Write `eigen(as.matrix(K))` to form the matrix.
#'
#' @param x,y lazy tensors, or numbers
#' @param i,j,k points along i, points along j, components: positive, negative or logical subscripts; points also by
#'   name
#' @param ... for `rowSums()`, `colSums()`, `rowMeans()` and `colMeans()`: `tol` and settings, as for [reduction()];
#'   otherwise not used
#' @param drop must be `FALSE`: nothing is ever dropped
#' @param names not used
#' @return Numbers for products, `as.matrix` and `diag`; otherwise a lazy tensor.
#' @seealso [reduction()] for other sums, [lazy-arithmetic], [plot()][plot.lazy_tensor]
#' @concept kernel matrix
#' @concept Gram matrix
#' @concept matrix multiplication
#' @name lazy-matrix
#' @aliases %*%,lazy_tensor,ANY-method %*%,ANY,lazy_tensor-method %*%,lazy_tensor,lazy_tensor-method
#'   %*%,lazy_tensor,Matrix-method %*%,Matrix,lazy_tensor-method
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' y <- matrix(runif(60), 20, 3)
#' K <- exp(-sqdist(Vi(x), Vj(y)))
#' K %*% rnorm(20)
#' crossprod(K, rnorm(10))
#' as.matrix(K[1:2, 1:3])
#' K[1:5, ]
NULL

#' @exportMethod %*%
setMethod("%*%", signature("lazy_tensor", "ANY"), function(x, y) matrix_product(x, y))
setMethod("%*%", signature("ANY", "lazy_tensor"), function(x, y) left_product(x, y))
setMethod("%*%", signature("lazy_tensor", "lazy_tensor"), function(x, y) matrix_product(x, y))
setMethod("%*%", signature("lazy_tensor", "Matrix"), function(x, y) matrix_product(x, y))
setMethod("%*%", signature("Matrix", "lazy_tensor"), function(x, y) left_product(x, y))

#' @rdname lazy-matrix
#' @exportMethod crossprod
setMethod("crossprod", signature("lazy_tensor", "ANY"), function(x, y = NULL, ...) lazy_crossprod(x, y))
#' @rdname lazy-matrix
setMethod("crossprod", signature("lazy_tensor", "lazy_tensor"), function(x, y = NULL, ...) {
  matrix_product(t(x), y, written_as("crossprod()", x, "i", "right", "rows"))
})
#' @rdname lazy-matrix
setMethod("crossprod", signature("ANY", "lazy_tensor"), function(x, y = NULL, ...) crossprod_lazy(x, y))
#' @rdname lazy-matrix
#' @exportMethod tcrossprod
setMethod("tcrossprod", signature("lazy_tensor", "ANY"), function(x, y = NULL, ...) lazy_tcrossprod(x, y))
#' @rdname lazy-matrix
setMethod("tcrossprod", signature("lazy_tensor", "lazy_tensor"), function(x, y = NULL, ...) {
  matrix_product(x, t(y), written_as("tcrossprod()", x, "j", "right", "columns"))
})
#' @rdname lazy-matrix
setMethod("tcrossprod", signature("ANY", "lazy_tensor"), function(x, y = NULL, ...) tcrossprod_lazy(x, y))

lazy_crossprod <- function(x, y) {
  if (is.null(y)) return(operator_crossprod(x))
  matrix_product(t(x), y, written_as("crossprod()", x, "i", "right", "rows"))
}
crossprod_lazy <- function(x, y) {
  left_product(rearranged(x, function(x) t(as.matrix(x))), y, written_as("crossprod()", y, "i", "left", "rows"))
}
lazy_tcrossprod <- function(x, y) {
  if (is.null(y)) return(operator_tcrossprod(x))
  matrix_product(x, rearranged(y, function(y) t(as.matrix(y))), written_as("tcrossprod()", x, "j", "right", "columns"))
}
tcrossprod_lazy <- function(x, y) {
  left_product(rearranged(x, as.matrix), t(y), written_as("tcrossprod()", y, "j", "left", "columns"))
}

#' @rdname lazy-matrix
#' @exportMethod diag
setMethod("diag", "lazy_tensor", function(x = 1, nrow, ncol, names = TRUE) {
  if (!missing(nrow) || !missing(ncol)) abort("input", "diag() of a lazy tensor takes no `nrow` and no `ncol`")
  n <- min(need_extent(x, "i", "diag()"), need_extent(x, "j", "diag()"))
  x <- as_masked(x, "diag()")
  square <- take_both(x, seq_len(n), seq_len(n))
  along_i <- r_apply("Take", list(square$formula, row_index()$formula), 1L)
  out <- run_single(new_lazy(along_i, c(n, NA), x$settings), "i")
  if (width(x) == 1) one_column(out) else out
})

# Arithmetic with operands of package Matrix, which has S4 methods of its own.
setMethod("Ops", signature("lazy_tensor", "Matrix"), function(e1, e2) methods::callGeneric(e1, as.matrix(e2)))
setMethod("Ops", signature("Matrix", "lazy_tensor"), function(e1, e2) methods::callGeneric(as.matrix(e1), e2))

#' @rdname lazy-matrix
#' @export
as.matrix.lazy_tensor <- function(x, ...) {
  refuse_unasked("as.matrix", parent.frame(), sys.call(-1))
  dense(x, ...)
}

dense <- function(x, ...) {
  if (...length()) abort("input", "as.matrix() of a lazy tensor takes no other arguments")
  extent <- c(need_extent(x, "i", "as.matrix()"), need_extent(x, "j", "as.matrix()"))
  guard_size(extent, width(x), "pairs", "Reduce the formula instead, take rows first,")
  if (width(x) == 1 || !length(traced_operands(x))) return(run_single(x, "both"))
  # Computes one component at a time, since an operand of pairs, such as their cotangent, has one component.
  parts <- lapply(seq_len(width(x)), function(k) run_single(take_components(x, k), "both"))
  names <- dimnames(x)
  arranged(parts, function(at) array(unlist(at), c(extent, width(x)), if (!is.null(names)) c(names, list(NULL))))
}

#' @rdname lazy-matrix
#' @export
as.array.lazy_tensor <- function(x, ...) {
  refuse_unasked("as.array", parent.frame(), sys.call(-1))
  dense(x)
}

# --- sums and means of rows and columns ------------------------------------------------------------------

#' @rdname lazy-matrix
#' @param na.rm,dims,nrow,ncol an error unless left at their default
#' @importFrom Matrix rowSums colSums rowMeans colMeans
#' @exportMethod rowSums
setMethod("rowSums", "lazy_tensor", function(x, na.rm = FALSE, dims = 1, ...) row_sums(x, na.rm, dims, ...))
#' @rdname lazy-matrix
#' @exportMethod colSums
setMethod("colSums", "lazy_tensor", function(x, na.rm = FALSE, dims = 1, ...) column_sums(x, na.rm, dims, ...))
#' @rdname lazy-matrix
#' @exportMethod rowMeans
setMethod("rowMeans", "lazy_tensor", function(x, na.rm = FALSE, dims = 1, ...) {
  row_sums(x, na.rm, dims, ...) / (need_extent(x, "j", "rowMeans()") * width(x))
})
#' @rdname lazy-matrix
#' @exportMethod colMeans
setMethod("colMeans", "lazy_tensor", function(x, na.rm = FALSE, dims = 1, ...) {
  column_sums(x, na.rm, dims, ...) / need_extent(x, "i", "colMeans()")
})

# Sums the array as.matrix(x) as base R does, over all but the rows; column_sums() sums over the rows alone.
row_sums <- function(x, na.rm, dims, ...) {
  one_column(folded_sum(if (width(x) > 1) sum(x) else x, "j", na.rm, dims, ...))
}

column_sums <- function(x, na.rm, dims, ...) {
  out <- folded_sum(x, "i", na.rm, dims, ...)
  if (width(x) > 1) out else one_column(out)
}

one_column <- function(x) {
  rearranged(x, function(x) {
    if (length(dim(x)) > 2) without_column(x, 2) else stats::setNames(as.vector(x), rownames(x))
  })
}

folded_sum <- function(x, index, na.rm, dims, tol = NULL, ...) {
  check_na_rm(na.rm)
  x <- with_settings(x, ...)
  if (!identical(as.numeric(dims), 1)) abort("unsupported", "`dims` must be 1, not ", format_value(dims))
  for (axis in c("i", "j")) need_extent(x, axis, "the sum of rows or columns")
  if (type_kind(x) == "logical") x <- lazy_if(x, 1, 0)
  # A formula has a single point along an axis on which it does not vary.
  if (has_axis(x, index)) reduction(x, "Sum", index = index, tol = tol) else run_single(x, kept(index))
}

# --- rows, columns, components -------------------------------------------------------------------------

#' @rdname lazy-matrix
#' @export
`[.lazy_tensor` <- function(x, i, j, k, ..., drop = FALSE) {
  if (!isFALSE(drop)) abort("unsupported", "`drop = TRUE`: a lazy tensor drops nothing")
  places <- nargs() - !missing(drop)
  if (places == 2 && !missing(i)) refuse_places("[k]")
  if (places > 4) abort("index", "a lazy tensor has points along i, points along j and components: F[I, J, k]")
  if (places == 4 && !missing(k)) x <- take_components(x, k)
  if (!missing(i)) x <- take_points(check_varies(x, "i"), i, "i", default_name(substitute(i), "rows"))
  if (!missing(j)) x <- take_points(check_varies(x, "j"), j, "j", default_name(substitute(j), "columns"))
  x
}

# Refuses Vi(x)[, 1], which looks like the first component, but means the only point along j.
check_varies <- function(x, axis) {
  if (has_axis(x, axis) || width(x) == 1) return(x)
  abort("index", "the formula does not vary along ", axis, ": it has one point there, with ", width(x),
        " components; ", written_name(), "[, , k] takes components, ", written_name(),
        if (axis == "j") "[I, ] points along i" else "[, J] points along j")
}

