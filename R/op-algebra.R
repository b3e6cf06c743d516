# Operators made from operators: sums, products, transposes, blocks and Kronecker products, in their simplest form.

# --- sums --------------------------------------------------------------------------------------------------

# Adds up numbers times operators of one size. Sums among the parts are opened; all diagonals become one, all lazy
# tensors one formula, which takes one pass over the pairs, and all matrices one.
sum_ops <- function(parts, coefficients = rep(1, length(parts))) {
  terms <- unlist(Map(terms_of, parts, coefficients), recursive = FALSE)
  kinds <- vapply(terms, function(term) term$op$kind, "")
  for (kind in names(joined_terms)) {
    of_kind <- which(kinds == kind)
    if (length(of_kind) < joined_terms[[kind]]$from || is_alone(terms[of_kind])) next
    terms[[of_kind[1]]] <- list(op = joined_terms[[kind]]$join(terms[of_kind]), by = 1)
    terms[of_kind[-1]] <- NULL
    kinds <- vapply(terms, function(term) term$op$kind, "")
  }
  ops <- lapply(terms, `[[`, "op")
  by <- vapply(terms, `[[`, 0, "by")
  if (is_alone(terms)) return(ops[[1]])
  # A sum is symmetric if all terms are symmetric, and it is not if all terms but one are.
  symmetric <- vapply(ops, `[[`, NA, "symmetric")
  new_op("sum", ops[[1]]$dim, parts = ops, coefficients = by, settings = joint_settings(ops),
         symmetric = if (anyNA(symmetric) || sum(!symmetric) > 1) NA else all(symmetric))
}

terms_of <- function(op, by) {
  if (op$kind != "sum") return(list(list(op = op, by = by)))
  Map(function(part, coefficient) list(op = part, by = by * coefficient), op$parts, op$coefficients)
}

# Tells whether the only term is an operator times 1.
is_alone <- function(terms) length(terms) == 1 && isTRUE(terms[[1]]$by == 1)

# The rules of each kind: `from` is the least number of terms worth joining, and `join` joins the terms.
joined_terms <- list(
  diagonal = list(from = 1, join = function(terms) {
    values <- Reduce(`+`, lapply(terms, function(term) term$by * unname(term$op$values)))
    diagonal_of(stats::setNames(values, first_names(lapply(terms, `[[`, "op"), 1)))
  }),
  lazy = list(from = 1, join = function(terms) {  # a formula with a subtraction for each negative coefficient
    negative <- vapply(terms, function(term) isTRUE(term$by < 0), NA)
    tensors <- lapply(terms, function(term) {
      if (isTRUE(abs(term$by) == 1)) term$op$tensor else abs(term$by) * term$op$tensor
    })
    lazy_op(if (all(negative)) -Reduce(`+`, tensors)
            else Reduce(`-`, tensors[negative], Reduce(`+`, tensors[!negative])))
  }),
  dense = list(from = 2, join = function(terms) {
    total <- Reduce(`+`, lapply(terms, function(term) term$by * unname(term$op$matrix)))
    ops <- lapply(terms, `[[`, "op")
    dense_op(named(total, first_names(ops, 1), first_names(ops, 2)))
  })
)

# Multiplies an operator by a traced number. The number goes into the leaves, since coefficients are plain numbers.
multiple_of <- function(op, by) {
  if (op$kind == "lowrank" && by > 0) {
    op$factor <- sqrt(by) * op$factor
    return(op)
  }
  kept_symmetry(switch(op$kind,
    lazy = lazy_op(by * op$tensor),
    diagonal = diagonal_of(by * op$values),
    dense = dense_op(by * op$matrix),
    sum = sum_ops(lapply(op$parts, multiple_of, by), op$coefficients),
    product_ops(list(diagonal_of(rep(by, op$dim[1])), op))
  ), op)
}

joint_settings <- function(ops) {
  Reduce(function(settings, op) if (is.null(op)) settings else merge_settings(settings, op$settings), ops, NULL)
}

# --- products ----------------------------------------------------------------------------------------------

# Multiplies operators, the leftmost first. Products among the parts are opened; diagonals are multiplied into formulas.
product_ops <- function(parts, symmetric = NA) {
  factors <- unlist(lapply(parts, function(op) if (op$kind == "product") op$parts else list(op)), recursive = FALSE)
  kept <- list()
  for (factor in factors) {
    repeat {
      a <- if (length(kept)) kept[[length(kept)]]
      joined <- if (is.null(a)) NULL else if (is_identity(a)) factor else if (is_identity(factor)) a
      else switch(paste(a$kind, factor$kind),
        "diagonal diagonal" = diagonal_of(a$values * factor$values),
        "diagonal lazy" = lazy_op(Vi(a$values, name = "d") * factor$tensor),
        "lazy diagonal" = lazy_op(a$tensor * Vj(factor$values, name = "d")))
      if (is.null(joined)) break
      kept[[length(kept)]] <- NULL
      factor <- joined
    }
    kept[[length(kept) + 1]] <- factor
  }
  if (length(kept) == 1) return(kept[[1]])
  new_op("product", c(kept[[1]]$dim[1], kept[[length(kept)]]$dim[2]), parts = kept, symmetric = symmetric,
         settings = joint_settings(kept))
}

is_identity <- function(op) {
  op$kind == "diagonal" && !is_traced(op$values) && is.null(names(op$values)) && isTRUE(all(op$values == 1))
}

# Multiplies a matrix and its transpose. The product is symmetric.
gram <- function(left, right) {
  out <- product_ops(list(left, right), symmetric = TRUE)
  if (out$kind == "product") out else as_symmetric(out)
}

# Returns V V' for a sparse matrix V.
sparse_gram <- function(V) gram(as_op(V), as_op(Matrix::t(V)))

# Tells whether an operator is V V' for a sparse matrix V.
is_sparse_gram <- function(op) {
  op$kind == "product" && isTRUE(op$symmetric) && length(op$parts) == 2 && !is.null(op$parts[[1]]$matrix) &&
    op$parts[[1]]$kind == "function"
}

as_symmetric <- function(op) {
  op$symmetric <- TRUE
  op
}

# --- transposes, blocks, Kronecker products ----------------------------------------------------------------

# Transposes the leaves of the tree, so that nothing else is ever transposed. A symmetric operator is its own transpose,
# unless it has names of rows or columns.
#' @rdname operator-algebra
#' @export
t.linear_op <- function(x) {
  if (isTRUE(x$symmetric) && is.null(dimnames(x))) return(x)
  if (isTRUE(x$symmetric) && x$kind == "function") x$apply_transposed <- x$apply
  switch(x$kind,
    diagonal = x,
    lazy = kept_symmetry(lazy_op(t(x$tensor)), x),
    lowrank = {
      x$dimnames <- rev(x$dimnames)
      x
    },
    dense = new_op("dense", rev(x$dim), matrix = t(x$matrix), symmetric = x$symmetric),
    `function` = turned_function(x),
    sum = kept_symmetry(sum_ops(lapply(x$parts, t), x$coefficients), x),
    product = product_ops(rev(lapply(x$parts, t)), x$symmetric),
    block = blocks_op(lapply(block_columns(x$parts), lapply, function(part) if (!is.null(part)) t(part))),
    kronecker = kronecker_op(t(x$parts[[1]]), t(x$parts[[2]]))
  )
}

kept_symmetry <- function(op, like) {
  op$symmetric <- like$symmetric
  op
}

turned_function <- function(x) {
  if (is.null(x$apply_transposed)) {
    abort("unsupported", "the transpose of an operator made of a function is not known; give function_op() ",
          "`symmetric = TRUE` or `transposed`, which multiplies by it")
  }
  state <- approximation_of(x)
  if (!is.null(state)) return(approximation_op(transposed_approximation(state), t(x$tensor %or% state$tensor)))
  op_of_function(x$apply_transposed, rev(x$dim), x$symmetric, x$apply, rev(x$dimnames), x$label)
}

blocks_op <- function(rows) {
  if (length(rows) == 1 && length(rows[[1]]) == 1 && !is.null(rows[[1]][[1]])) return(rows[[1]][[1]])
  extents <- block_extents(rows)
  # A matrix is symmetric if only symmetric blocks on its diagonal are not zero; otherwise its symmetry is unknown.
  symmetric <- length(rows) == length(rows[[1]]) && all(vapply(seq_along(rows), function(k) {
    all(vapply(rows[[k]][-k], is.null, NA)) && isTRUE(rows[[k]][[k]]$symmetric)
  }, NA))
  new_op("block", c(sum(extents[[1]]), sum(extents[[2]])), parts = rows, symmetric = if (symmetric) TRUE else NA,
         settings = joint_settings(unlist(rows, recursive = FALSE)))
}

block_columns <- function(rows) lapply(seq_along(rows[[1]]), function(k) lapply(rows, `[[`, k))

# Returns the numbers of rows of each row of blocks, and of columns of each column of blocks.
block_extents <- function(rows) list(block_sizes(rows, 1, "row"), block_sizes(block_columns(rows), 2, "column"))

block_sizes <- function(lines, side, what) {
  vapply(seq_along(lines), function(k) {
    sizes <- unique(unlist(lapply(lines[[k]], function(part) part$dim[side])))
    if (length(sizes) == 1) return(sizes)
    if (length(sizes)) {
      abort("shape", "the blocks of ", what, " ", k, " have ", sizes[1], " and ", sizes[2], " ", what, "s")
    }
    abort("shape", what, " ", k, " of the blocks is all zero, so it is not known how many ", what, "s it has")
  }, 0)
}

kronecker_op <- function(a, b) {
  if (a$kind == "diagonal" && b$kind == "diagonal") return(diagonal_of(kronecker_vector(a$values, b$values)))
  symmetric <- isTRUE(a$symmetric) && isTRUE(b$symmetric)
  new_op("kronecker", a$dim * b$dim, parts = list(a, b), symmetric = if (symmetric) TRUE else NA,
         settings = joint_settings(list(a, b)))
}

kronecker_vector <- function(a, b) rep(unname(a), each = length(b)) * rep(unname(b), length(a))

# Returns the parts of an operator, without blocks of zeros.
unlist_parts <- function(x) {
  parts <- if (x$kind == "block") unlist(x$parts, recursive = FALSE) else x$parts
  parts[!vapply(parts, is.null, NA)]
}

# Returns the operators at the leaves of the tree.
op_leaves <- function(x) {
  if (is.null(x$parts)) list(x) else unlist(lapply(unlist_parts(x), op_leaves), recursive = FALSE)
}
