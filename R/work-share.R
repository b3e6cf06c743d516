# A block of the rows of a reduction, for processes that each compute a block and exchange the results, as under MPI.

#' Block of rows of a reduction
#'
#' Computes one of `of` blocks of the rows of a reduction, with the same bits as in the whole reduction. Use it if many
#' processes run one script, as under MPI: each process computes its own block and sends it to the others. If one
#' process has the data and asks others to compute, [kernweave_workers()] are simpler.
#'
#' A reduction of a formula of some of the points differs from the whole in the last digits; a block does not. For this,
#' each process needs all data, the same version and settings (`precision`, `device`), and processors and GPUs of the
#' same model. Blocks begin at multiples of a fixed number of rows, and are of nearly equal size: if there are more
#' blocks than such multiples, some blocks have no rows.
#'
#' @param R a reduction made with `call = FALSE` that gives one result for each point (not over both axes)
#' @param block number of the block, from 1
#' @param of number of blocks
#' @return The rows of the block, in the form that [reduction()] with `call = TRUE` returns: a matrix, or a list of
#'   several. The attribute `"rows"` has the row numbers.
#' @seealso [reduction()], [kernweave_workers()], [kernweave_job()]
#' @concept MPI
#' @concept SPMD
#' @concept distributed computing
#' @export
#' @examples
#' x <- matrix(runif(3000), 1000)
#' R <- reduction(exp(-sqdist(Vi(x), Vj(x))), "sum", call = FALSE)
#' s <- matrix(NA_real_, 1000, 1)
#' for (k in 1:3) {
#'   part <- reduction_block(R, k, of = 3)
#'   s[attr(part, "rows"), ] <- part
#' }
#' identical(s, as.matrix(R))
reduction_block <- function(R, block, of) {
  of <- check_count(of, "of")
  block <- check_count(block, "block")
  if (block > of) abort("input", "`block` must be a number from 1 to `of`, which is ", of, ", not ", block)
  whole <- whole_by_rows(R)
  if (!is.null(R$groups) || !is.null(R$axes)) {
    abort("unsupported", if (is.null(R$axes)) "a gradient" else "an index formula", " has no blocks of rows")
  }
  ends <- pmin(whole$rows, whole$grain * round(ceiling(whole$rows / whole$grain) * c(block - 1, block) / of))
  empty <- ends[1] == ends[2]
  found <- rows_decided(whole, if (empty) c(1, min(whole$rows, whole$grain)) else c(ends[1] + 1, ends[2]))
  if (length(unique(found$rows)) > 1) abort("unsupported", "results of this reduction have other rows, each its own")
  rows <- if (empty) integer() else sort(numbers_of_rows(found$rows[[1]]))
  # Results of other rows are missing, so all rows are finished, and the rows of this block are selected.
  out <- finish_results(R, bind_blocks(list(found), whole$rows), whole$data, whole$operands)
  structure(rows_among(out, rows), rows = rows)
}

rows_among <- function(x, rows) {
  if (is.list(x)) return(lapply(x, rows_among, rows))
  do.call(`[`, c(list(x, rows), rep(list(TRUE), max(0, length(dim(x)) - 1)), drop = FALSE))
}
