# Checks the arguments of systems: square matrices, ridges, right-hand sides, starts, trends and methods.

# Tells whether anything in a system is traced.
is_traced_system <- function(K, ...) any(vapply(list(...), is_traced, NA)) || length(traced_operands(K)) > 0

check_square <- function(K) {
  if (!is_lazy(K)) {
    abort("input", "`K` must be a lazy tensor, not ", describe(K),
          if (is.matrix(K)) "; as_op() makes an operator of it")
  }
  refuse_batches_of(K, "a system")
  if (width(K) != 1) abort("shape", "the matrix of a system has one number for each pair, not ", width(K))
  extent <- c(need_extent(K, "i", "a system"), need_extent(K, "j", "a system"))
  if (extent[1] != extent[2]) abort("shape", "the matrix of a system is square, not ", extent[1], " x ", extent[2])
  as.numeric(extent[1])
}

check_ridge <- function(ridge, n) {
  if (!is.numeric(ridge)) abort("input", "`ridge` must be numbers, not ", describe(ridge))
  endless <- which(!is.finite(ridge))
  if (length(endless)) abort("value", "`ridge` must be finite numbers, not ", format(plain_value(ridge)[endless[1]]))
  if (!length(ridge) %in% c(1, n)) {
    abort("shape", "`ridge` has ", length(ridge), " numbers for ", n, " points; give one, or one for each")
  }
  if (any(ridge < 0)) abort("value", "`ridge` must not be negative: there is ", format(min(plain_value(ridge))))
  if (is_traced(ridge)) ridge else rep_len(as.numeric(ridge), n)
}

square_extent <- function(op) {
  if (op$dim[1] != op$dim[2]) abort("shape", "the matrix of a system is square, not ", op$dim[1], " x ", op$dim[2])
  op$dim[1]
}

square_op <- function(K, what) {
  op <- as_op(K)
  if (op$dim[1] != op$dim[2]) abort("shape", what, " is of a square matrix, not of ", size_text(op))
  op
}

with_ridge <- function(op, ridge) {
  if (is_traced(ridge) || any(ridge != 0)) op + diagonal_op(rep(ridge, length.out = op$dim[1])) else op
}

# Returns numbers as a matrix, and the properties that give results the same shape.
right_hand_side <- function(b, n, argument = "b", extent = "row") {
  if (methods::is(b, "Matrix") || is.data.frame(b)) b <- as.matrix(b)
  if (!is.numeric(b)) abort("input", "`", argument, "` must be numbers, not ", describe(b))
  if (length(dim(b)) > 2) abort("shape", "`", argument, "` must be a vector or a matrix, not an array")
  rows <- NROW(b)
  if (rows != n) abort("shape", "`", argument, "` has ", counted(rows, "row"), ", but the matrix has ",
                       if (extent == "row") n else counted(n, extent))
  if (any(!is.finite(b))) abort("input", "`", argument, "` has numbers that are not finite")
  values <- if (is.matrix(b)) b else matrix(b, ncol = 1)
  storage.mode(values) <- "double"
  list(values = unname(values), dim = dim(b), names = if (is.matrix(b)) dimnames(b) else names(b))
}

shaped_as <- function(x, b) {
  if (is.null(b$dim)) return(structure(as.vector(x), names = b$names))
  structure(x, dimnames = b$names)
}

solve_methods <- c("auto", "dense", "cg", "block", "minres")

# Finds a method by name. A default that lists all methods means the first.
check_method <- function(method, known = solve_methods, argument = "method") {
  one_of(if (identical(method, known)) known[1] else method, known, argument)
}

# Refuses arguments that the generic's `...` took and the method does not know: most likely misspelt arguments.
refuse_others <- function(others, f, what) {
  if (!length(others)) return(invisible())
  names <- names(others)[nzchar(names(others))]
  abort("input", what, " takes no ", if (length(names)) paste0("argument `", names[1], "`") else "more arguments",
        if (length(names)) near_hint(names[1], setdiff(names(formals(f)), "...")))
}

check_start <- function(start, rows, columns, extent = "row") {
  if (is.null(start)) return(matrix(0, rows, 0))
  given <- right_hand_side(start, rows, "start", extent)$values
  if (ncol(given) == columns) return(given)
  abort("shape", "`start` has ", counted(ncol(given), "column"), ", but `b` has ", columns)
}

check_trend <- function(trend, n) {
  F <- right_hand_side(trend, n, "trend")$values
  rank <- qr(F)$rank
  if (rank < ncol(F)) abort("input", "`trend` has ", ncol(F), " columns, of which ", rank, " are independent")
  F
}
