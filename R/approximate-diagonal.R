# Approximated matrices without the pairs of a point with itself.

# Is the formula restricted to all pairs but those of a point with itself?
lacks_diagonal <- function(K) {
  said <- said_of(K$pairs)
  others <- said[c("by", "ranges", "pattern")]
  wanted <- row_index() != col_index()
  all(vapply(others, is.null, NA)) && format(said$where) %in% c(format(wanted), format(t(wanted)))
}

# The values of the pairs of a point with itself that series stand for: products are less by these. Near ones may be
# infinite, and are not computed at all. NULL where there are none.
far_diagonal <- function(state, plan) {
  if (is.null(state$tensor$pairs)) return(NULL)
  far <- which(!is_near_to_itself(plan))
  if (!length(far)) return(NULL)
  values <- matrix(0, state$tensor$extent[1], width(state$tensor))
  values[far, ] <- as.matrix(diag(state$all, names = FALSE))[far, ]
  values
}

# Rectangles are in order: by rows, which no other rows overlap, then by columns.
is_near_to_itself <- function(plan) {
  near <- plan$near
  order <- r_far_orders(plan$pointer)
  n <- min(lengths(order))
  if (!length(near$i_from)) return(logical(n))
  i <- match(seq_len(n), order$i)
  j <- match(seq_len(n), order$j)
  rows <- pmax(findInterval(i, near$i_from), 1)
  many <- length(order$j) + 1
  at <- pmax(findInterval(near$i_from[rows] * many + j, near$i_from * many + near$j_from), 1)
  between <- function(x, from, to) from[at] <= x & x <= to[at]
  between(i, near$i_from, near$i_to) & between(j, near$j_from, near$j_to)
}

less_diagonal <- function(plan, out, v, u = NULL) {
  d <- plan$diagonal
  if (is.null(d)) return(out)
  if (NROW(v) != nrow(d)) v <- as.matrix(v)[pmin(seq_len(nrow(d)), NROW(v)), , drop = FALSE]
  if (ncol(d) == 1) return(out - by_rows(as.vector(d) * v, u))
  each <- rep(seq_len(ncol(v)), each = ncol(d))
  out - by_rows(v[, each, drop = FALSE] * d[, rep(seq_len(ncol(d)), ncol(v)), drop = FALSE], u)
}
