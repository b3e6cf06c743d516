# Sliced tests of equal distributions: random projections, sorted, instead of all pairs.

check_slices <- function(slices, ks, null) {
  slices <- check_count(slices, "slices")
  if (length(ks) > 1) abort("unsupported", "`slices` are of one kernel, \"energy\", not of ", length(ks))
  parts <- kernel_parts(ks[[1]])
  if (!identical(parts$name, "energy") || !identical(as.numeric(parts$parameters$exponent), 1)) {
    abort("unsupported", "`slices` are of the distance itself: kernel \"energy\", exponent 1, not ", format(ks[[1]]))
  }
  if (null == "moments") {
    abort("unsupported", "null = \"moments\" needs all pairs, which `slices` do without; they go with permutations")
  }
  slices
}

compared_by_slices <- function(sample, k, R, strata, slices) {
  parameters <- kernel_parts(k)$parameters
  x <- sample$x
  by <- parameters$variance / scale_of_columns(parameters$scale, x)
  if (any(by != 1)) x <- x * rep(by, length.out = ncol(x))[col(x)]  # so that the kernel is minus the distance
  check_distinct(x)
  sizes <- tabulate(sample$codes)
  n <- nrow(x)
  g <- length(sizes)
  strata <- check_strata(strata, n, "permutation")
  weights <- outer(sizes, sizes) / outer(sizes, sizes, "+") * (1 - diag(g))
  directions <- random_directions(ncol(x), slices)
  plan <- relabellings(sample$codes, check_replicates(R), strata, sizes)
  found <- compare_slices(x, directions, sample$codes, weights, plan$count, plan$codes)
  by_slice <- colSums(matrix(found$distances, g^2) * as.vector(weights)) / 2
  means <- rowMeans(found$distances, dims = 2)
  within <- diag(means)
  pairwise <- means * (1 - diag(g))
  dimnames(pairwise) <- list(sample$labels, sample$labels)
  list(statistic = mean(by_slice), null = from_replicates(mean(by_slice), found$numbers, plan$exhaustive),
       S = -outer(sizes, sizes) * unname(pairwise + outer(within, within, "+")) / 2, n = n, g = g,
       sizes = stats::setNames(sizes, sample$labels), pairwise = pairwise, own = rep(0, g), slices = slices, best = 1,
       # Directions are independent; in one dimension there is only one.
       stderr = if (ncol(x) == 1) 0 else stats::sd(by_slice) / sqrt(length(by_slice)))
}
