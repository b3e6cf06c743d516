# A lazy tensor as the matrix it stands for: products, transposes, rows and columns.

#' @export
t.lazy_tensor <- function(x) {
  new_lazy(r_apply("Swap", list(x$formula), NULL), x$extent[c(2, 1, seq_along(x$extent)[-(1:2)])], x$settings, x$pairs)
}

# K %*% v with numbers, or with a lazy tensor along j: a sum over j.
matrix_product <- function(K, v) {
  if (!has_axis(K, "j")) abort("shape", "the left side of %*%, `", r_show(K$formula, 40L), "`, has no points along j to be summed over")
  columns <- if (!is_lazy(v) && width(K) == 1) colnames(v)
  if (!is_lazy(v)) v <- columns_along_j(K, v)
  if (has_axis(v, "i") && has_axis(v, "j")) {
    abort("unsupported", "the product of two matrices of pairs, lazy as it stands, is not built yet")
  }
  if (has_axis(v, "i")) abort("shape", "the right side of %*% varies along i; it must vary along j, as Vj() does")
  out <- reduction(lazy_call("Mult", list(K, v)), "Sum", index = "j")
  if (!is.null(columns) && !is_reduction(out)) attr(out, "dimnames") <- list(rownames(out), columns)
  out
}

columns_along_j <- function(K, v) {
  points <- flat_points(v, "right side of %*%")
  n <- dim(K)[2]
  rows <- NROW(points$values)
  if (!is.na(n) && n != rows) abort("shape", "the formula has ", n, " points along j, but the right side of %*% has ", rows, " rows")
  if (width(K) != 1 && points$width != 1 && points$width != width(K)) {
    abort("shape", "the formula has ", width(K), " components, but the right side of %*% has ", points$width, " columns")
  }
  lazy_operand(new_operand("v", "j", points$width, points$kind, points$values))
}

# v %*% K: t(t(K) %*% t(v)); a plain vector is a row, as base R has it.
left_product <- function(v, K) {
  if (methods::is(v, "Matrix")) v <- as.matrix(v)
  if (is.null(dim(v))) v <- matrix(v, nrow = 1)
  out <- matrix_product(t(K), t(v))
  if (is_reduction(out)) abort("unsupported", "v %*% K of a formula with placeholders; use crossprod(K, t(v))")
  t(out)
}

#' A lazy tensor as a matrix
#'
#' `K %*% v` is the exact product of the matrix of pairs with a vector or matrix of numbers, as a sum
#' over j; `crossprod(K, v)` is `t(K) %*% v`. With several columns in `v` there are as many results per
#' row. With a lazy tensor along j (`Vj(b)`) on the right, the result may be a `lazy_reduction`.
#'
#' Rows bear the names of the points along i, where these have names, and columns those of `v`.
#'
#' `K[I, J]` takes rows and columns and `K[, , k]` components, all lazily; `t(K)` exchanges i and j.
#' `as.matrix(K)` and `diag(K)` give numbers; the former refuses results larger than the option
#' `kernweave.max_dense_mb`.
#'
#' @param x,y lazy tensors, or numbers
#' @param i,j,k points along i, points along j, components: positive, negative or logical
#' @param ... not used
#' @param drop not used: nothing is ever dropped
#' @param nrow,ncol,names not used
#' @return For products, `as.matrix` and `diag` numbers; else a lazy tensor.
#' @seealso [reduction()] for other sums, [lazy-arithmetic], [plot()][plot.lazy_tensor]
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
setMethod("crossprod", signature("lazy_tensor", "ANY"), function(x, y = NULL, ...) matrix_product(t(x), need_right(y)))
#' @rdname lazy-matrix
setMethod("crossprod", signature("lazy_tensor", "missing"), function(x, y = NULL, ...) need_right(NULL))
#' @rdname lazy-matrix
setMethod("crossprod", signature("ANY", "lazy_tensor"), function(x, y = NULL, ...) left_product(t(as.matrix(x)), y))
#' @rdname lazy-matrix
#' @exportMethod tcrossprod
setMethod("tcrossprod", signature("lazy_tensor", "ANY"), function(x, y = NULL, ...) matrix_product(x, t(as.matrix(need_right(y)))))
#' @rdname lazy-matrix
setMethod("tcrossprod", signature("lazy_tensor", "missing"), function(x, y = NULL, ...) need_right(NULL))
#' @rdname lazy-matrix
setMethod("tcrossprod", signature("ANY", "lazy_tensor"), function(x, y = NULL, ...) left_product(as.matrix(x), t(y)))

need_right <- function(y) {
  if (is.null(y)) abort("unsupported", "the product of a matrix of pairs with itself is not built yet; give the right side")
  y
}

#' @rdname lazy-matrix
#' @exportMethod diag
setMethod("diag", "lazy_tensor", function(x = 1, nrow, ncol, names = TRUE) {
  if (!missing(nrow) || !missing(ncol)) abort("input", "diag() of a lazy tensor takes no `nrow` and no `ncol`")
  n <- min(need_extent(x, "i", "diag()"), need_extent(x, "j", "diag()"))
  square <- x[seq_len(n), seq_len(n)]
  along_i <- r_apply("Take", list(square$formula, row_index()$formula), 1L)
  out <- run_single(new_lazy(along_i, c(n, NA), x$settings, x$pairs), "i")
  if (width(x) == 1) as.vector(out) else out
})

# Arithmetic with Matrix operands, which carry their own S4 methods.
setMethod("Ops", signature("lazy_tensor", "Matrix"), function(e1, e2) methods::callGeneric(e1, as.matrix(e2)))
setMethod("Ops", signature("Matrix", "lazy_tensor"), function(e1, e2) methods::callGeneric(as.matrix(e1), e2))

# The values of a formula themselves: a "sum" of one term each.
run_single <- function(x, keep) {
  out <- run_reduction(new_reduction(list(sum_output(x$formula, keep)), x$extent, x$settings, x$pairs))
  if (type_kind(x) == "logical") storage.mode(out) <- "logical"
  out
}

#' @rdname lazy-matrix
#' @export
as.matrix.lazy_tensor <- function(x, ...) {
  if (...length()) abort("input", "as.matrix() of a lazy tensor takes no other arguments")
  extent <- c(need_extent(x, "i", "as.matrix()"), need_extent(x, "j", "as.matrix()"))
  needed <- prod(extent, width(x)) * 8 / 2^20
  limit <- option("max_dense_mb")
  if (needed > limit) {
    abort("memory", "as.matrix() would take ", format(needed, digits = 3), " MB for ", extent[1], " x ", extent[2], " pairs; the limit is ", limit,
          " MB. Reduce the formula instead, take rows first, or raise options(kernweave.max_dense_mb = )")
  }
  run_single(x, "both")
}

#' @rdname lazy-matrix
#' @export
as.array.lazy_tensor <- function(x, ...) as.matrix.lazy_tensor(x)

# --- rows, columns, components -------------------------------------------------------------------------

#' @rdname lazy-matrix
#' @export
`[.lazy_tensor` <- function(x, i, j, k, ..., drop = FALSE) {
  if (!isFALSE(drop)) abort("unsupported", "`drop = TRUE`: a lazy tensor drops nothing")
  places <- nargs() - !missing(drop)
  if (places == 2 && !missing(i)) {
    abort("index", "`F[k]` is not defined: write F[I, ] for points along i, F[, J] for points along j, F[, , k] for components")
  }
  if (places > 4) abort("index", "a lazy tensor has points along i, points along j and components: F[I, J, k]")
  if (places == 4 && !missing(k)) x <- take_components(x, k)
  if (!missing(i)) x <- take_points(x, i, "i", default_name(substitute(i), "rows"))
  if (!missing(j)) x <- take_points(x, j, "j", default_name(substitute(j), "columns"))
  x
}

take_points <- function(x, which, axis, name) {
  side <- match(axis, c("i", "j"))
  n <- dim(x)[side]
  rows <- positions(which, n, paste("points along", axis))
  if (!has_axis(x, axis)) {
    if (length(rows) != 1) abort("index", "the formula does not vary along ", axis, ": it has one point there")
    return(x)
  }
  refuse_pairs(x)
  operand <- lazy_operand(new_operand(name, axis, 1L, "integer", rows))
  extent <- x$extent
  extent[side] <- length(rows)
  new_lazy(r_apply("Take", list(x$formula, operand$formula), side - 1L), extent, x$settings, x$pairs)
}

refuse_pairs <- function(x) {
  pairs <- Filter(function(operand) operand$axis == "pair", operands_of(x$formula))
  if (length(pairs)) abort("unsupported", "points of a formula with the matrix of pairs `", pairs[[1]]$name, "` cannot be taken yet; take rows and columns of the matrix before Vij()")
}

# Positive, negative or logical places among n, as positive whole numbers. n may be unknown.
positions <- function(which, n, what) {
  if (!(is.numeric(which) || is.logical(which)) || is.object(which)) abort("index", what, " must be given by numbers or logicals, not ", describe(which))
  if (anyNA(which)) abort("index", what, ": NA is not a place")
  if (is.logical(which) && is.na(n)) abort("no_data", what, " by logicals need to know how many there are")
  if (is.logical(which) && length(which) != n) abort("index", what, ": ", length(which), " logicals for ", n)
  if (is.logical(which)) return(as.numeric(base::which(which)))
  if (any(is.infinite(which) | which != trunc(which))) abort("index", what, " must be whole numbers, not ", format(which[is.infinite(which) | which != trunc(which)][1]))
  if (length(which) && all(which <= 0)) {
    if (is.na(n)) abort("no_data", what, " to leave out need to know how many there are")
    return(as.numeric(seq_len(n)[which]))
  }
  if (any(which < 1)) abort("index", what, ": positive and other numbers do not mix")
  if (!is.na(n) && any(which > n)) abort("index", what, " go to ", n, "; there is no ", format(which[which > n][1]))
  as.numeric(which)
}

take_components <- function(x, which) {
  places <- positions(which, width(x), "components")
  if (!length(places)) abort("index", "at least one component must be taken")
  if (all(diff(places) == 1)) return(lazy_call("Extract", list(x), as.integer(c(places[1], length(places)))))
  lazy_call("Pick", list(x), as.integer(c(length(places), places)))
}
