# Approximated matrices without the pairs of a point with itself.

# Tells whether the formula is restricted to all pairs of distinct points.
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
  far <- r_far_from_themselves(plan$pointer)
  if (!length(far)) return(NULL)
  values <- matrix(0, state$tensor$extent[1], width(state$tensor))
  values[far, ] <- as.matrix(diag(state$all, names = FALSE))[far, ]
  values
}
