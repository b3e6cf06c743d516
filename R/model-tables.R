# Null distributions if rows of both sides are repeated, so that the statistic is discrete: by contingency tables of the
# rows of both sides. A continuous approximation does not hold.

# The largest probability of equal tables for which moments are used: a continuous curve has an error of half an atom.
most_chance_of_table <- 1e-3

# Tells whether two random permutations are too likely to give the same table, from all pairs of some permutations.
# Equal tables have equal sums of products of random numbers, one for each label.
has_atoms <- function(x, y, orders = 200) {
  if (!anyDuplicated(x) || !anyDuplicated(y)) return(FALSE)
  sums <- privately(1, {
    a <- stats::rnorm(max(x))[x]
    b <- stats::rnorm(max(y))[y]
    vapply(seq_len(orders), function(k) sum(a * b[sample.int(length(b))]), 0)
  })
  near <- 1e-9 * sqrt(sum(a^2) * sum(b^2) / length(a))
  alike <- tabulate(cumsum(c(TRUE, diff(sort(sums)) > near)))
  sum(choose(alike, 2)) / choose(orders, 2) > most_chance_of_table
}

# The most labels for which kernels are stored as matrices, and multiplied by each table.
most_labels <- 1000

# Returns sum_ij A_ij B_ij for the observed table and for random ones, in columns, with a row for each pair of centred
# matrices A and B of labels. A 2 x 2 table has one free count, which is hypergeometric, and all kernels order tables
# alike: then the exact null is returned.
null_by_tables <- function(A, B, x, y, R) {
  rows <- tabulate(x)
  columns <- tabulate(y)
  mean <- outer(rows, columns) / length(x)
  value <- function(table) unlist(Map(function(A, B) sum((A %*% (table - mean) %*% B) * (table - mean)), A, B))
  own <- matrix(tabulate(x + length(rows) * (y - 1), length(mean)), length(rows))
  if (all(dim(own) == 2)) return(exact_by_tables(own, mean, function(table) value(table)[1]))
  do.call(cbind, lapply(c(list(own), stats::r2dtable(R, rows, columns)), value))
}

# The statistic increases with the distance of the free count from its mean.
exact_by_tables <- function(own, mean, value) {
  n <- sum(own)
  k <- seq(max(0, sum(own[1, ]) + sum(own[, 1]) - n), min(sum(own[1, ]), sum(own[, 1])))
  probability <- stats::dhyper(k, sum(own[1, ]), sum(own[2, ]), sum(own[, 1]))
  away <- abs(k - mean[1])
  far <- away >= abs(own[1] - mean[1]) - 1e-9 * n
  numbers <- value(mean + matrix(c(1, -1, -1, 1), 2)) * away^2
  centre <- sum(probability * numbers)
  variance <- sum(probability * (numbers - centre)^2)
  third <- if (variance > 0) sum(probability * (numbers - centre)^3) / variance^1.5 else 0
  list(p.value = min(1, sum(probability[far])), statistic = value(own),
       moments = c(mean = centre, variance = variance, skewness = third),
       exact = paste("exact, of", counted(length(k), "table")), exhaustive = TRUE)
}

tell_of_atoms <- function() {
  tell("kernweave: so many rows are alike that the statistic has few values, and p-values by moments would be too ",
       "small: they are by tables of equal rows, or permutations, instead")
}
