# Linear operators with traced values in their leaves: a product is composed of the products of the leaves, each an
# entry of the tape.

# --- leaves -----------------------------------------------------------------------------------------------------

level_of_op <- function(op) {
  found <- lapply(op_leaves(op), function(leaf) {
    switch(leaf$kind, lazy = , `function` = traced_values(leaf$tensor), diagonal = list(leaf$values),
           dense = list(leaf$matrix), lowrank = list(leaf$factor))
  })
  highest_level(unlist(found, recursive = FALSE))
}

traced_values <- function(F) if (!is.null(F)) lapply(traced_operands(F), `[[`, "traced")

# Replaces the values of this level in an operator by the values one level below.
lowered_op <- function(op, level) {
  over_leaves(op, function(leaf) {
    switch(leaf$kind,
      lazy = , `function` = if (!is.null(leaf$tensor)) leaf$tensor <- lowered_formula(leaf$tensor, level)$F,
      diagonal = leaf$values <- lowered(leaf$values, level),
      dense = leaf$matrix <- lowered(leaf$matrix, level),
      lowrank = leaf$factor <- lowered(leaf$factor, level)
    )
    leaf
  })
}

# --- products ---------------------------------------------------------------------------------------------------

# Multiplies an operator and a matrix, at least one of them traced.
followed_product <- function(op, v) {
  switch(op$kind,
    lazy = op$tensor %*% v,
    diagonal = unname(op$values) * v,
    dense = unname(op$matrix) %*% v,
    lowrank = op$factor %*% crossprod(op$factor, v),
    `function` = followed_function(op, v),
    sum = Reduce(`+`, Map(function(part, by) by * operator_product(part, v), op$parts, op$coefficients)),
    product = Reduce(function(v, part) operator_product(part, v), rev(op$parts), v),
    block = block_product(op$parts, v),
    kronecker = kronecker_product(op$parts[[1]], op$parts[[2]], v)
  )
}

block_product <- function(rows, v) {
  sizes <- block_extents(rows)[[2]]
  places <- Map(function(end, size) end - size + seq_len(size), cumsum(sizes), sizes)
  do.call(overlay$rbind, lapply(rows, function(row) {
    there <- which(!vapply(row, is.null, NA))
    Reduce(`+`, lapply(there, function(k) operator_product(row[[k]], v[places[[k]], , drop = FALSE])))
  }))
}

# Each column of v holds a matrix with a row for each column of B: B multiplies it from the left, A from the right.
kronecker_product <- function(A, B, v) {
  columns <- ncol(v)
  by_b <- operator_product(B, rearranged(v, function(v) matrix(v, B$dim[2], A$dim[2] * columns)))
  turned <- rearranged(by_b, function(x) {
    matrix(aperm(array(x, c(B$dim[1], A$dim[2], columns)), c(2, 1, 3)), A$dim[2], B$dim[1] * columns)
  })
  rearranged(operator_product(A, turned), function(x) {
    matrix(aperm(array(x, c(A$dim[1], B$dim[1], columns)), c(2, 1, 3)), A$dim[1] * B$dim[1], columns)
  })
}

# A function whose products are plain is linear in v alone, so the cotangent is a product with the transpose. A function
# that holds traced values, or has no known transpose, is followed as it runs.
followed_function <- function(op, v) {
  if (!is.null(approximation_of(op))) return(approximated_entry(op, v))
  of_numbers <- op$apply(plain_value(v))
  if (!is_traced(v)) return(of_numbers)
  if (!is_traced(of_numbers) && knows_transpose(op)) return(linear_entry(op, v, of_numbers))
  out <- op$apply(v)
  if (is_traced(out)) return(out)
  abort("no_gradient", "the function of an operator made plain numbers of traced ones; give function_op() ",
        "`transposed`, by which derivatives go")
}

linear_entry <- function(op, v, value) {
  level <- level_of(v)
  if (level == 0L) return(value)
  record(list(v), linear_entry(op, lowered(v, level), value), function(g) list(operator_product(t(op), g)))
}

# Refuses traced values, since C++ takes numbers alone.
refuse_traced <- function(x) {
  if (!is_traced(x)) return(x)
  abort("no_gradient", "this asks for the numbers of an operator of traced values, which has no derivative; products, ",
        "diag(), solve() and logdet() have")
}

# --- systems ----------------------------------------------------------------------------------------------------

# The derivative of x = A^-1 b is A^-1 (db - dA x): the derivative of b - A x for constant x, times A^-1.
solution_entry <- function(A, b, turned, ...) {
  level <- max(level_of(b), level_of_op(A))
  lower <- lowered_op(A, level)
  x <- solve(lower, lowered(b, level), ...)
  n <- A$dim[1]
  product <- as.vector(operator_product(A, rearranged(x, function(x) matrix(as.vector(x), n))))
  rest <- if (is_traced(b)) as.vector(b) - product else -product
  record(list(rest), x, function(g) list(as.vector(solve(if (turned) t(lower) else lower, g, ...))))
}

# --- where operators and traced values meet -----------------------------------------------------------------------

setMethod("%*%", signature("lazy_tensor", "kernweave_traced"), function(x, y) matrix_product(x, y))
setMethod("%*%", signature("kernweave_traced", "lazy_tensor"), function(x, y) left_product(x, y))
setMethod("crossprod", signature("lazy_tensor", "kernweave_traced"), function(x, y, ...) lazy_crossprod(x, y))
setMethod("crossprod", signature("kernweave_traced", "lazy_tensor"), function(x, y, ...) crossprod_lazy(x, y))
setMethod("tcrossprod", signature("lazy_tensor", "kernweave_traced"), function(x, y, ...) lazy_tcrossprod(x, y))
setMethod("tcrossprod", signature("kernweave_traced", "lazy_tensor"), function(x, y, ...) tcrossprod_lazy(x, y))

for (signature in list(c("linear_op", "kernweave_traced"), c("kernweave_traced", "linear_op"))) {
  setMethod("%*%", signature, operator_matmul)
  setMethod("crossprod", signature, operator_crossprod)
  setMethod("tcrossprod", signature, operator_tcrossprod)
}
for (signature in list(c("linear_op", "kernweave_traced"), c("kernweave_traced", "linear_op"),
                       c("lazy_tensor", "kernweave_traced"), c("kernweave_traced", "lazy_tensor"))) {
  setMethod("kronecker", signature, operator_kronecker)
}
rm(signature)

# Functions of the overlay whose arguments may be traced values beside operators or lazy tensors.
lazy_versions <- list(
  c = function(...) c.lazy_tensor(...),
  cbind = function(..., deparse.level = 1) cbind.linear_op(...),
  rbind = function(..., deparse.level = 1) rbind.linear_op(...),
  crossprod = function(...) crossprod(...),
  tcrossprod = function(...) tcrossprod(...),
  solve = function(...) solve(...),
  kronecker = function(...) kronecker(...),
  `%x%` = function(...) kronecker(...)
)
