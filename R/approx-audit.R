# Audits of approximated products: some rows are computed pair by pair; if an audit fails, better settings are tried.

audit_rows <- 64

exact_rows <- function(K, at) lazy_set(take_points(K, at, "i", "rows"), precision = "float64")
audited_sample <- function(rows) rows[random_order(length(rows), 1)[seq_len(min(audit_rows, length(rows)))]]

# Computes some rows of a product pair by pair and compares. `error`: the largest error of a column, relative to the
# norm of the exact rows or, if terms cancel, to the norm for random signs; `rows`: the number of rows that are not 0,
# since rows of 0 show nothing. Numbers are divided by the largest, as squares of large ones are infinite.
checked_rows <- function(state, v, found, u = NULL) {
  rows <- if (is.null(u)) seq_len(state$tensor$extent[1]) else which(rowSums(u != 0) > 0)
  at <- audited_sample(rows)
  if (!length(at)) return(list(error = 0, rows = 0))
  shares <- c(plan_of_approximation(state)$scale, largest_size(v), if (!is.null(u)) largest_size(u))
  some <- exact_rows(state$tensor, at) / shares[1]
  v <- v / shares[2]
  of_rows <- if (!is.null(u)) u[at, , drop = FALSE] / shares[3]
  exact <- pair_sums(some, v, of_rows)
  squares <- if (is.null(u)) pair_sums(some^2, v^2)
             else reduction(((Vi(of_rows) | Vj(v)) * some)^2, "sum")
  found <- Reduce(`/`, shares, found[at, , drop = FALSE])
  # A row shows nothing if its product has no finite number, or is too small for a double.
  tiny <- log(pmax(abs(exact), sqrt(squares))) + sum(log(shares)) < log(.Machine$double.xmin)
  none <- !is.finite(found) & !is.finite(exact) | tiny %in% TRUE
  found[none] <- exact[none] <- squares[none] <- 0
  list(error = error_of_columns(found, exact, squares, state$tol * sum(abs(v))),
       rows = sum(rowSums(exact != 0 | squares != 0) > 0))
}

error_of_columns <- function(found, exact, squares, promised) {
  most <- largest_size(c(exact, found))
  found <- found / most
  exact <- exact / most
  squares <- squares / most / most
  off <- colSums((found - exact)^2)
  if (anyNA(off)) return(Inf)
  size <- pmax(colSums(exact^2), colSums(squares))
  # If the product is 0, an absolute error within `promised` counts as none.
  off[size == 0 & sqrt(off) <= promised / most] <- 0
  error <- sqrt(max(0, ifelse(off == 0, 0, off / size)))
  if (is.na(error)) Inf else error
}

# Tells whether enough rows were audited for the error to be known. The rows of several products are counted together.
is_audited <- function(state) {
  isTRUE(state$audit$rows >= min(audit_rows, state$tensor$extent[1]) / 4)
}

wants_audit <- function(state) state$certify == "audit" && !is_audited(state)

# Returns the largest absolute value of the finite numbers, or 1 if all are 0.
largest_size <- function(x) {
  most <- max(abs(x[is.finite(x)]), 0)
  if (most > 0) most else 1
}

#' @rdname audit
#' @param b numbers that an approximation multiplies in the comparison; by default random signs
#' @export
audit.linear_op <- function(x, rows = 300, seed = NULL, b = NULL, ...) {
  refuse_more(...)
  state <- approximation_of(x)
  if (is.null(state)) abort("input", "`x` must be the result of approximate(): products of other operators are exact")
  n <- x$dim[1]
  at <- audited_rows(n, rows, seed)
  v <- if (is.null(b)) random_signs(x$dim[2], 1, 1) else unname(as.matrix(b))
  exact <- exact_rows(state$tensor, at) %*% v
  found <- unaudited_product(state, v)[at, , drop = FALSE]
  audited(max(abs(found - exact)) / max(abs(exact), .Machine$double.xmin), at, n)
}

# --- a failed audit: is anything better now? ----------------------------------------------------------------------

# Computes near pairs in float64, and tells whether they were in float32 before.
near_in_float64 <- function(state, error = NULL) {
  if (!is.null(state$plan$parts)) {
    state$near <- "float64"
    return(any(vapply(state$plan$parts, near_in_float64, NA)))
  }
  if (precision_beside(state, state$plan) == "float64" || state$plan$near_pairs == 0) return(FALSE)
  state$near <- "float64"
  TRUE
}
# Adds terms. Errors fall more slowly than the tolerance, above all if boxes are left out: each try lowers it by more.
series_of_more_terms <- function(state, error) {
  state$times <- (state$times %or% 0) + 1
  enough <- if (is.finite(error)) state$used * state$tol / error / 2 else Inf
  state$used <- min(min(state$tol, state$used) / 4^state$times, enough)
  state$plan <- NULL
  TRUE
}
