# Compares groups of points by their projections on directions, so that sorting replaces the sums over all pairs.

# Draws independent random directions, one per column, with R's random numbers.
random_directions <- function(dimensions, count) {
  directions <- matrix(stats::rnorm(dimensions * count), dimensions)
  directions / rep(sqrt(colSums(directions^2)), each = dimensions)
}

# Compares groups and, at the same sorts, `count` labellings of their rows, which codes_of() gives for some numbers.
# `distances`: energy distances, group by group by direction, with mean distances within a group on the diagonal.
# `numbers`: for each labelling the mean over directions of the sum over pairs of groups of distance times `weights`. If
# labellings take more than `bytes`, they are compared in several parts, each part at sorts of its own.
compare_slices <- function(x, directions, codes, weights, count, codes_of, bytes = 256e6) {
  sizes <- tabulate(codes)
  # A distance is `unit` times its mean over directions.
  unit <- sqrt(pi) * exp(lgamma((ncol(x) + 1) / 2) - lgamma(ncol(x) / 2))
  factor <- chol(unit * labelling_form(sizes, weights))
  shares <- sizes[-length(sizes)] / length(codes)
  scan <- function(from) {
    of <- labelling_bytes(codes_of, seq(from, min(count, from + size - 1)), length(sizes))
    r_compare_slices(x, directions, codes, sizes, of, shares, factor, array_threads())
  }
  size <- 8 * max(1, bytes %/% (length(codes) * length(shares)))
  found <- lapply(seq(1, count, by = size), scan)
  list(distances = unit * found[[1]]$distances,
       numbers = unlist(lapply(found, `[[`, "numbers"))[seq_len(count)])
}

# Returns the matrix of twice the weighted sum of squared differences of the groups' shares, as a quadratic form in
# (counts minus expected counts) of all groups but the last, since these differences add up to 0.
labelling_form <- function(sizes, weights) {
  g <- length(sizes)
  diag(weights) <- 0
  shares <- rbind(diag(1 / sizes[-g], g - 1), -1 / sizes[g])
  2 * crossprod(shares, (diag(rowSums(weights), g) - weights) %*% shares)
}

# Packs labellings into raw vectors: for each eight labellings, one vector for each group but the last.
labelling_bytes <- function(codes_of, at, g) {
  eights <- split(at, (seq_along(at) - 1) %/% 8)
  unlist(lapply(eights, function(eight) {
    codes <- t(codes_of(eight))
    codes <- rbind(codes, matrix(g, 8 - nrow(codes), ncol(codes)))
    lapply(seq_len(g - 1), function(group) packBits(codes == group))
  }), recursive = FALSE)
}

# Computes sums over all pairs of rows of distances of two variables, by sorting. `raw`: sums of x and y, of x and x, of
# y and y; `centred`: sums of the centred matrices, whose rows add up to 0; `rows_x`, `rows_y`: row sums; `numbers`: for
# each column of `orders`, the centred sum of x and y[order].
distance_sums <- function(x, y, orders = matrix(0L, length(x), 0)) r_distance_sums(x, y, orders, array_threads())
