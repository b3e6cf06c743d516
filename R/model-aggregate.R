# Tests with several kernels: the largest of their standardised statistics, over the same permutations.

# Returns the kernels of a test: the kernels in a list, or one kernel with each of several bandwidths.
test_kernels <- function(kernel, bandwidths, x, argument = "kernel") {
  if (!is.list(kernel)) {
    scaled <- is_kernel(kernel) && !is.null(kernel_parts(kernel)$parameters$scale)
    k <- test_kernel(kernel, x)
    return(if (is.null(bandwidths)) list(k) else with_bandwidths(k, bandwidths, scaled, argument))
  }
  if (!length(kernel)) {
    abort("input", "`", argument, "` is a list without a kernel; list(kernel_spec(\"gaussian\"), \"matern12\") has two")
  }
  if (!is.null(bandwidths)) {
    abort("input", "`", argument, "` is a list of kernels, which have scales of their own: leave out `bandwidths`, or ",
          "give one kernel")
  }
  lapply(kernel, function(one) do.call(test_kernel, list(one, quote(x))))
}

# Returns row names for a table of kernels: the names of the lists, and numbers for kernels without a name; NULL if no
# kernel has a name.
kernel_labels <- function(...) {
  lists <- list(...)
  if (!length(unlist(lapply(lists, names)))) return(NULL)
  each <- lapply(lists, function(ks) {
    labels <- names(ks) %or% rep("", length(ks))
    ifelse(nzchar(labels), labels, seq_along(ks))
  })
  make.unique(do.call(paste, c(expand.grid(each), sep = ", ")))
}

# Makes kernels of several scales; a count gives scales from 1/8 to 8 times that of `k`. `scaled`: is it the user's?
with_bandwidths <- function(k, bandwidths, scaled, argument) {
  scale <- kernel_parts(k)$parameters$scale
  remedy <- ": a count, as in bandwidths = 10, or two length-scales or more are wanted"
  if (!is.numeric(bandwidths) || !length(bandwidths) || anyNA(bandwidths)) {
    abort("input", "`bandwidths` must be numbers, and none missing, not ", format_value(bandwidths), remedy)
  }
  wrong <- bandwidths[!(is.finite(bandwidths) & bandwidths > 0)]
  if (length(wrong)) abort("value", "`bandwidths` must be positive, not ", format(wrong[1]), remedy)
  one <- length(bandwidths) == 1
  if (one && bandwidths != round(bandwidths)) {
    abort("value", "a single number in `bandwidths` is a count, not ", format(bandwidths), remedy,
          "; kernel_spec(scale = ", format(bandwidths), ") has one length-scale")
  }
  if (is.null(scale)) {
    abort("unsupported", "`", argument, "` has no single scale that `bandwidths` could vary: ", format(k),
          "; give a list of kernels")
  }
  if (scaled && !one) {
    abort("input", "`", argument, "` has the scale ", shown(scale), ", and `bandwidths` are scales, too: leave one out")
  }
  scales <- if (!one) bandwidths else if (bandwidths == 1) scale
            else lapply(2^seq(-3, 3, length.out = bandwidths), function(by) by * scale)
  lapply(scales, function(scale) update(k, scale = scale))
}

# --- the null of the largest statistic ------------------------------------------------------------------------

# The null distribution by permutations: `replicates` has a row for each kernel. Statistics are standardised by the mean
# and sd of all values, the observed one included, so that under the null each value is equally likely to be the
# largest. `sizes`: magnitudes of the sums whose difference the statistic is.
largest_by_replicates <- function(statistics, replicates, exhaustive, sizes, names) {
  if (length(statistics) == 1) return(from_replicates(statistics, replicates[1, ], exhaustive))
  all <- if (exhaustive) replicates else cbind(statistics, replicates)
  spread <- apply(all, 1, stats::sd)
  refuse_without_spread(is.na(spread) | spread <= 1e-14 * sizes, names)
  standardised <- function(values) (values - rowMeans(all)) / spread
  z <- standardised(statistics)
  c(from_replicates(max(z), apply(standardised(replicates), 2, max), exhaustive), list(z = z))
}

refuse_without_spread <- function(constant, names) {
  if (!any(constant)) return(invisible())
  k <- which(constant)[1]
  abort("data", "kernel ", k, " of ", length(names), " (", names[k], ") has the same statistic for every relabelling: ",
        "its scale is far from the distances of the points, or they are all alike to it; give it another scale, or ",
        "leave it out")
}

# The null distribution by moments of sums of products of matrices with invariants a and b, times `unit`. With several
# kernels, z is the normal quantile of each kernel's p-value by a Pearson curve, and max(z) is compared with the maximum
# of normal variables with the correlations of `covariances`.
largest_by_moments <- function(statistics, a, b, n, unit, covariances, names, draws = 1e5) {
  if (length(statistics) == 1) return(moments_null(statistics, a[[1]], b[[1]], n, unit))
  vanishes <- function(m) m$t2 <= 1e-28 * n^2 && m$t1 <= 1e-14 * n  # the elements of the matrices are about 1
  moments <- Map(function(a, b) {
    if (!isTRUE(vanishes(a) || vanishes(b))) permutation_moments(a, b, n, constant = TRUE)
  }, a, b)
  refuse_without_spread(vapply(moments, is.null, NA), names)
  p <- mapply(function(statistic, of) {
    pearson_tail((statistic - of[["mean"]]) / sqrt(of[["variance"]]), of[["skewness"]])
  }, statistics, moments)
  z <- stats::qnorm(pmin(pmax(p, 1e-300), 1 - 1e-15), lower.tail = FALSE)
  # The symmetric root is stable if kernels are nearly equal; eigenvectors are not.
  parts <- eigen(stats::cov2cor(covariances), symmetric = TRUE)
  root <- parts$vectors %*% (t(parts$vectors) * sqrt(pmax(parts$values, 0)))
  normal <- privately(1, matrix(stats::rnorm(draws * length(z)), draws)) %*% root
  largest <- normal[cbind(seq_len(draws), max.col(normal, "first"))]
  centre <- mean(largest)
  variance <- mean((largest - centre)^2)
  accuracy <- do.call(rbind, Map(moments_accuracy, a, b, n))
  list(p.value = max(1 / few_relabellings, (1 + sum(largest >= max(z))) / (1 + draws)), exhaustive = FALSE, z = z,
       accuracy = if (!is.null(accuracy)) apply(accuracy, 2, max),
       moments = c(mean = centre, variance = variance, skewness = mean((largest - centre)^3) / variance^1.5))
}

# The exact null of one kernel, standardised, is that of each kernel: on these tables the kernels differ by a factor.
exact_of_kernels <- function(null, count, unit) {
  if (count == 1) return(in_unit(null, unit))
  moments <- null$moments
  null$z <- rep((null$statistic - moments[["mean"]]) / sqrt(moments[["variance"]]), count)
  replace(null, "moments", list(replace(moments, c("mean", "variance"), 0:1)))
}

# Number of rows from which correlations of the statistics are computed; of more rows a sample is taken.
rows_of_correlations <- 4000

# Sums over pairs for the covariances over permutations, for each pair of kernels of one side.
cross_sums <- function(ks, x, centred) {
  if (nrow(x) > rows_of_correlations) {
    x <- structure(some_points(x, rows_of_correlations / 2), term = attr(x, "term"))
    centred <- lapply(ks, function(k) centred_kernel(k(x)))
  }
  A <- lapply(centred, centred_lazily)
  own <- vapply(centred, centred_diagonal, numeric(nrow(x)))
  t2 <- matrix(0, length(A), length(A))
  at <- which(lower.tri(t2, diag = TRUE), arr.ind = TRUE)
  t2[at] <- sums_of_products(A[at[, 1]], A[at[, 2]])
  t2[at[, 2:1]] <- t2[at]
  list(n = nrow(x), t1 = colSums(own), t2 = t2, s2 = crossprod(own))
}

# Sums over all pairs of the products of two lists of formulas, a hundred in a pass.
sums_of_products <- function(A, B) {
  passes <- split(seq_along(A), (seq_along(A) - 1) %/% 100)
  unlist(lapply(passes, function(at) {
    vapply(reduction(Map(`*`, A[at], B[at]), "sum"), sum, 0, USE.NAMES = FALSE)
  }), use.names = FALSE)
}

# Covariances of sum_ij A_ij B_{p(i) p(j)} over all permutations p, for all pairs (A, B); A varies fastest.
permutation_covariances <- function(a, b, n) {
  first <- function(m) (n - 1) * m$t2 - outer(m$t1, m$t1)
  second <- function(m) n * (n + 1) * m$s2 - (n - 1) * (outer(m$t1, m$t1) + 2 * m$t2)
  2 * kronecker(first(b), first(a)) / ((n - 1)^2 * (n + 1) * (n - 2)) +
    kronecker(second(b), second(a)) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
}
