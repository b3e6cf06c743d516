# Batches: operands whose data have more than two dimensions. The engine runs a plan for each batch, all in one call.
# This file takes the formula of one batch, and sums gradients of data that batches share.

# Returns the batch dimensions of a call, from those of its data; a dimension of 1 is recycled.
batches_of <- function(data) {
  all <- lapply(data, batch_dim)
  along <- seq_len(max(0L, lengths(all)))
  vapply(along, function(a) {
    here <- vapply(all, function(own) if (a <= length(own)) own[a] else 1L, 0L)
    if (any(here == 0)) 0L else max(here)
  }, 0L)
}

# Returns, for each batch of a call, the number of the array's batch: the only one along a dimension of extent 1.
places_of_batches <- function(own, batches) {
  own <- c(own, rep(1L, length(batches) - length(own)))
  along <- Map(function(own, all) if (own == 1) rep(1, all) else seq_len(all), own, batches)
  as.vector(do.call(`[`, c(list(array(seq_len(prod(own)), own)), along)))
}

# Takes the numbers of one batch, in the form of an operand's data.
one_batch <- function(x, at, axis = "i") {
  if (length(dim(x)) <= 2) return(x)
  size <- dim(x)[1] * dim(x)[2]
  part <- x[(at - 1) * size + seq_len(size)]
  if (axis == "param") part else array(part, dim(x)[1:2], dimnames(x)[1:2])
}

#' Batches: many problems of the same size
#'
#' An array with more than two dimensions, given to [Vi()], [Vj()] or [Pm()], contains batches of points: an array of
#' `n x D x B` holds n points of D components in each of B batches. Use batches to compute many small problems in one
#' call. `take_batch()` extracts the formula of one batch, for functions that do not accept batches: operators and
#' [explain()].
#'
#' An array may have several batch dimensions. The first dimension of an array for `Pm()` is 1. Data without a batch
#' dimension, or with a batch dimension of extent 1, are shared by all batches. Reductions, products and gradients are
#' computed for each batch separately, and their results have the batch dimensions last: a sum is an array of points x
#' components x batches. [solve()][solve.lazy_tensor] solves each batch, and [logdet()] takes the log-determinant of
#' each batch. Many small batches run as one job on all threads; large batches run one after the other.
#'
#' @param F a lazy tensor
#' @param k the number of the batch. It counts all batches, with the first batch dimension varying fastest
#' @return A lazy tensor without batch dimensions.
#' @seealso [Vi()], [reduction()], [restrict()] for groups of different sizes
#' @concept batched computation
#' @concept many small matrices
#' @export
#' @examples
#' x <- array(runif(10 * 3 * 4), c(10, 3, 4))
#' y <- matrix(runif(20 * 3), 20)  # the same in all batches
#' K <- exp(-sqdist(Vi(x), Vj(y)))
#' K
#' dim(sum(K, index = "j"))
#' dim(K %*% rnorm(20))
#' take_batch(K, 2)
take_batch <- function(F, k) {
  if (!is_lazy(F) && !is_lazy_complex(F)) abort("input", "`F` must be a lazy tensor, not ", describe(F))
  batches <- (if (is_lazy_complex(F)) whole_of(F) else F)$extent[-(1:2)]
  k <- check_count(k, "k")
  if (k > prod(batches)) abort("index", "`k` is ", k, "; the formula has ", prod(batches), " in all")
  if (!is_lazy_complex(F)) return(of_batch(F, k, batches))
  parts <- each_part(F, of_batch, k, batches)
  if (!is.null(parts$re$pairs)) parts$im$pairs <- parts$re$pairs  # both parts have the same pairs
  parts
}

# Returns batch k of a formula that has batches, itself or by its restriction.
of_batch <- function(F, k, batches) {
  from <- Filter(function(operand) length(batch_dim(operand$data)) > 0, operands_of(F$formula))
  to <- lapply(from, function(operand) {
    at <- places_of_batches(batch_dim(operand$data), batches)[k]
    new_operand(operand$name, operand$axis, operand$width, operand$kind, one_batch(operand$data, at, operand$axis))
  })
  pairs <- F$pairs
  said <- if (!is.null(pairs)) said_of(pairs)
  if (!is.null(said$where) && has_batches(said$where)) {
    said$where <- of_batch(said$where, k, batches)
    pairs <- new_pairs(said, pairs$swapped)
  }
  new_lazy(home_bound(r_with_operands(list(F$formula), from, to)[[1]]), F$extent[1:2], F$settings, pairs)
}

refuse_batches_of <- function(x, what) {
  if (!has_batches(x)) return(invisible())
  abort("unsupported", what, " of a formula with batches is not defined; take_batch() gives the formula of one of them")
}

# --- gradients ----------------------------------------------------------------------------------------------------

# Makes the gradient of one operand: adds up terms, scatters gathered rows, and gives the operand's shape and names.
finish_group <- function(group, out, data, operands, outputs) {
  like <- group$like
  own <- data[[match_operands(list(like), operands)]]
  total <- 0
  for (k in group$outputs) {
    part <- out[[k]]
    rows <- outputs[[k]]$rows
    if (!is.null(rows)) part <- scatter_rows(part, row_numbers(rows, data, operands, NROW(part)), NROW(own))
    if (isTRUE(outputs[[k]]$transposed)) part <- t(part)
    if (like$axis == "param") part <- colSums(part)
    total <- total + part
  }
  shape <- pair_dim(own)
  if (!length(group$outputs)) total <- rep(0, prod(shape %or% length(own)))
  if (is.null(shape)) structure(as.vector(total), names = names(own)) else array(total, shape, pair_dimnames(own))
}

finish_groups <- function(R, out, data, operands) {
  finish <- if (any(lengths(lapply(data, dim)) > 2)) group_of_batches else finish_group
  results <- lapply(R$groups, finish, out, data, operands, R$outputs)
  if (R$single) return(results[[1]])
  structure(results, names = R$labels %or% vapply(R$groups, function(group) group$like$name, ""))
}

# Makes the gradient of one operand with batches, as finish_group() does without.
group_of_batches <- function(group, out, data, operands, outputs) {
  own <- data[[match_operands(list(group$like), operands)]]
  batches <- batches_of(data)
  total <- 0
  for (k in group$outputs) {
    part <- array(out[[k]], c(dim(out[[k]])[1:2], prod(batches)))
    if (!is.null(outputs[[k]]$rows)) part <- scattered(part, outputs[[k]]$rows, data, operands, batches, NROW(own))
    if (isTRUE(outputs[[k]]$transposed)) part <- aperm(part, c(2, 1, 3))
    total <- total + if (group$like$axis == "param") colSums(part) else part
  }
  if (!length(group$outputs)) total <- rep(0, length(own) * prod(batches) / max(1, prod(batch_dim(own))))
  back_to(total, own, batches)
}

# Adds up the rows of each batch at their row numbers.
scattered <- function(part, rows, data, operands, batches, n) {
  at <- lapply(data, function(one) places_of_batches(batch_dim(one), batches))
  axes <- vapply(operands, `[[`, "", "axis")
  vapply(seq_len(prod(batches)), function(b) {
    here <- Map(function(one, places, axis) one_batch(one, places[b], axis), data, at, axes)
    scatter_rows(matrix(part[, , b], nrow(part)), row_numbers(rows, here, operands, nrow(part)), n)
  }, matrix(0, n, ncol(part)))
}

# Evaluates a formula of row numbers: a variable, a variable gathered by another, or the row's own number, which has no
# operand.
row_numbers <- function(formula, data, operands, n) {
  if (formula$op == "Gather") {
    at <- row_numbers(formula$args[[2]], data, operands, n)
    return(row_numbers(formula$args[[1]], data, operands, max(at, 0))[at])
  }
  if (is.null(formula$args)) return(seq_len(n))
  as.vector(data[[match_operands(list(formula$args), operands)]])
}

# Adds up the gradients of data that may be the same in several batches: `columns` has a column for each batch.
back_to <- function(columns, own, batches) {
  if (!prod(batches)) return(own * 0)
  dim(columns) <- c(length(columns) / prod(batches), prod(batches))
  places <- places_of_batches(batch_dim(own), batches)
  sums <- if (anyDuplicated(places) || !length(places)) {
    par <- matrix(0, nrow(columns), max(1, prod(batch_dim(own))))
    for (k in seq_along(places)) par[, places[k]] <- par[, places[k]] + columns[, k]
    par
  } else columns
  if (is.null(dim(own))) structure(as.vector(sums), names = names(own)) else array(sums, dim(own), dimnames(own))
}
