# Null distributions of a statistic sum_ij A_ij B_ij if rows of B are permuted at random: random permutations, all
# distinct ones if these are few, or the exact first three moments over all permutations.

# Returns a p-value: the share of replicates at least as large as the statistic, up to rounding.
replicate_p <- function(statistic, replicates, exhaustive) {
  spread <- if (length(replicates) > 1) stats::sd(replicates) else 0
  # Statistics are differences of sums, so equal statistics differ by more than their last digits.
  extreme <- sum(replicates >= statistic - 1e-9 * abs(statistic) - 1e-10 * spread)
  if (exhaustive) extreme / length(replicates) else (extreme + 1) / (length(replicates) + 1)
}

# --- relabellings -------------------------------------------------------------------------------------------

# The number of distinct permutations up to which all are taken even if moments are asked for. Pearson's curve is used
# for p >= 1 / few_relabellings; below that, its tail would be smaller than the least p-value of few permutations.
few_relabellings <- 1000

# Returns the largest number of relabellings: R of null = "permutation".
most_relabellings <- function(null, R) if (null == "moments") few_relabellings else check_replicates(R)

# Returns all distinct permutations of labels within strata, in columns; NULL if there are more than `most`. Labels with
# equal `alike` are exchangeable: if there are too many permutations, one represents all exchanges of such labels.
all_arrangements <- function(codes, most, strata = NULL, alike = NULL) {
  blocks <- if (is.null(strata)) list(seq_along(codes)) else split(seq_along(codes), strata)
  counts <- vapply(blocks, function(rows) lfactorial(length(rows)) - sum(lfactorial(tabulate(codes[rows]))), 0)
  if (sum(counts) > log(most + 0.5)) {
    if (!is.null(strata) || is.null(alike)) return(NULL)
    swaps <- sum(lfactorial(tabulate(match(alike, unique(alike)))))
    return(if (counts - swaps <= log(most + 0.5)) arrangements(tabulate(codes), alike))
  }
  out <- matrix(codes, length(codes), 1)
  for (rows in blocks) {
    own <- arrangements(tabulate(codes[rows], max(codes)))
    copies <- rep(seq_len(ncol(out)), each = ncol(own))
    again <- rep(seq_len(ncol(own)), times = ncol(out))
    out <- out[, copies, drop = FALSE]
    out[rows, ] <- own[, again]
  }
  out
}

# Lists the arrangements of `counts` rows of each label. The first free row takes a remaining label (of exchangeable
# labels the first), and the label's other rows are chosen among the free rows. All columns lead to different
# arrangements, so there are never more columns than at the end. Columns with equal remaining labels are joined.
arrangements <- function(counts, alike = seq_along(counts)) {
  begun <- list(list(out = matrix(0L, sum(counts), 1), left = which(counts > 0)))
  for (step in seq_len(sum(counts > 0))) {
    begun <- do.call(c, lapply(begun, function(one) {
      lapply(one$left[!duplicated(alike[one$left])], function(label) {
        list(out = with_first_free(one$out, label, counts[label]), left = setdiff(one$left, label))
      })
    }))
    same <- split(begun, vapply(begun, function(one) paste(one$left, collapse = " "), ""))
    begun <- lapply(unname(same), function(k) list(out = do.call(cbind, lapply(k, `[[`, "out")), left = k[[1]]$left))
  }
  begun[[1]]$out
}

# Copies each column for each choice of `size` free rows (0), always with the first free row, and sets them to `label`.
with_first_free <- function(out, label, size) {
  free <- matrix(row(out)[out == 0], ncol = ncol(out))
  rest <- if (size > 1) utils::combn(nrow(free) - 1, size - 1) + 1 else matrix(0, 0, 1)
  chosen <- rbind(1, rest)
  from <- rep(seq_len(ncol(out)), each = ncol(chosen))
  ranks <- as.vector(chosen[, rep(seq_len(ncol(chosen)), ncol(out))])
  copies <- rep(seq_along(from), each = size)
  places <- free[cbind(ranks, rep(from, each = size))]
  out <- out[, from, drop = FALSE]
  out[cbind(places, copies)] <- label
  out
}

# Numbers distinct rows: equal rows have equal codes.
row_codes <- function(x) {
  codes <- 0
  for (k in seq_len(ncol(x))) {
    pairs <- as.numeric(codes) * nrow(x) + match(x[, k], x[, k])
    codes <- match(pairs, unique(pairs))
  }
  codes
}

# Returns a common number for labels that can be exchanged without changing a symmetric matrix of labels.
swappable <- function(B, sizes) {
  near <- 1e-12 * max(abs(B))
  same <- function(a, b) {
    sizes[a] == sizes[b] && abs(B[a, a] - B[b, b]) <= near && all(abs(B[a, -c(a, b)] - B[b, -c(a, b)]) <= near)
  }
  vapply(seq_along(sizes), function(b) Position(function(a) same(a, b), seq_len(b)), 0L)
}

# A random order of the rows, within strata.
shuffled_rows <- function(n, strata = NULL) {
  if (is.null(strata)) return(sample.int(n))
  out <- integer(n)
  for (rows in split(seq_len(n), strata)) out[rows] <- rows[sample.int(length(rows))]
  out
}

# Returns the count of permutations (R random or all distinct ones), and a function that returns some of them.
relabellings <- function(codes, R, strata = NULL, alike = NULL) {
  all <- all_arrangements(codes, R, strata, alike)
  if (length(strata) && !is.null(all) && ncol(all) == 1) {
    warn("few", "within each of the `strata` all rows have one label: there is nothing to permute, and p is 1")
  }
  if (!is.null(all)) return(list(count = ncol(all), exhaustive = TRUE, codes = function(at) all[, at, drop = FALSE]))
  list(count = R, exhaustive = FALSE, codes = function(at) {
    vapply(at, function(k) codes[shuffled_rows(length(codes), strata)], codes)
  })
}

# Evaluates f() for blocks of replicates, within 128 columns and 128 megabytes.
in_blocks <- function(count, n, columns, f, cheaper = NULL) {
  size <- max(1, min(128 %/% columns, 128e6 %/% (8 * n * columns)))
  starts <- seq(1, count, by = size)
  out <- vector("list", length(starts))
  begin_work("relabelling", steps = length(starts), quicker = cheaper)
  on.exit(end_work("relabelling"))
  for (k in seq_along(starts)) {
    out[[k]] <- f(seq(starts[k], min(count, starts[k] + size - 1)))
    step_work("relabelling")
  }
  unlist(out)
}

# --- label statistics ---------------------------------------------------------------------------------------

# Computes block sums Z'KZ of each replicate, from products with all labels but one: g x g x replicates. `sums`: K 1.
block_sums <- function(K, codes, sums, g, KZ = K %*% Z) {
  R <- ncol(codes)
  first <- seq_len(g - 1)
  Z <- label_columns(codes, g)
  edge <- matrix(crossprod(Z, sums), g - 1)
  vapply(seq_len(R), function(k) {
    at <- first + (k - 1) * (g - 1)
    inner <- crossprod(Z[, at, drop = FALSE], KZ[, at, drop = FALSE])
    last <- edge[, k] - rowSums(inner)
    rbind(cbind(inner, last), c(last, sum(sums) - sum(edge[, k]) - sum(last)), deparse.level = 0)
  }, matrix(0, g, g))
}

# Columns of 0 and 1 of all labels but the last, for each column of labels.
label_columns <- function(codes, g) {
  Z <- matrix(0, nrow(codes), ncol(codes) * (g - 1))
  in_first <- codes < g
  Z[cbind(row(codes)[in_first], ((col(codes) - 1) * (g - 1) + codes)[in_first])] <- 1
  Z
}

# --- moments ------------------------------------------------------------------------------------------------

# The invariants of a symmetric matrix A with rows that add up to 0, for the first three moments, as a list: tk =
# tr(A^k), sk = sum A_ii^k, u = sum A_ij^3, r = sum A_ii (A^2)_ii, b = sum A_ii A_ij A_jj.

# Centres a kernel by its row means. All numbers are divided by a power of two, so that squares and cubes neither
# overflow nor underflow. If the points `x` are given, many rows are centred by products; see far_kernel(), also for the
# other arguments.
centred_kernel <- function(K, x = NULL, tol = product_tol, beside = NULL, distances = NULL) {
  n <- nrow(K)
  none <- function(e) NULL
  far <- if (!is.null(x) && n > most_rows_by_pairs) {
    tryCatch(far_kernel(K, x, tol, beside, distances), kernweave_error_dimension = none,
             kernweave_error_not_a_distance = none, kernweave_error_unsupported = none,
             kernweave_error_audit_failed = none)
  }
  if (!is.null(far)) return(far)
  sums <- if (is.null(distances)) finite_row_sums(K) else -distances
  own <- as.vector(diag(K))
  unit <- if (is.null(distances)) power_of_two(max(abs(own), abs(sums) / n)) else 1
  sums <- sums / unit
  list(K = if (unit == 1) K else K / unit, n = n, sums = sums, means = sums / n, mean = sum(sums) / n^2,
       own = own / unit, unit = unit)
}

finite_row_sums <- function(K) {
  sums <- as.vector(K %*% rep(1, nrow(K)))
  if (all(is.finite(sums))) sums else refuse_overflow()
}

refuse_overflow <- function() {
  abort("data", "some numbers of pairs are not finite: distances, or numbers of the kernel, overflow; ",
        "give the points in other units")
}

centred_lazily <- function(centred) {
  rho <- centred$means - centred$mean / 2
  centred$K - Vi(rho) - Vj(rho)
}

centred_diagonal <- function(centred) centred$own - 2 * centred$means + centred$mean

kernel_invariants <- function(centred, exact_n = 2000) {
  if (!is.null(centred$invariants)) return(centred$invariants)
  A <- centred_lazily(centred)
  a <- centred_diagonal(centred)
  rows <- reduction(list(square = A^2, cube = A^3, along = A * Vj(a)), "sum")
  t3 <- third_trace(A, exact_n)
  list(t1 = sum(a), t2 = sum(rows$square), t3 = t3$value, s2 = sum(a^2), s3 = sum(a^3), u = sum(rows$cube),
       r = sum(a * rows$square), b = sum(a * rows$along), t3.se = t3$se)
}

# Computes the trace of A^3, and each row's part of it: exactly if A has few rows; else exactly on the span of some
# products, and by random signs, always the same, on the complement.
third_trace <- function(A, exact_n = 2000, columns = 32) {
  if (nrow(A) <= exact_n) {
    all <- unname(as.matrix(A))
    parts <- all * (A %*% all)
    return(list(value = sum(parts), se = 0, rows = rowSums(parts)))
  }
  signs <- private_signs(nrow(A), 2 * columns)
  Q <- qr.Q(qr(A %*% signs[, seq_len(columns)]))
  rest <- signs[, columns + seq_len(columns)]
  rest <- rest - Q %*% crossprod(Q, rest)
  once <- A %*% cbind(Q, rest)
  parts <- once * (A %*% once)
  each <- colSums(parts)
  own <- seq_len(columns)
  beside <- each[-own]
  list(value = sum(each[own]) + mean(beside), se = stats::sd(beside) / sqrt(columns),
       rows = rowSums(parts[, own]) + rowMeans(parts[, -own]))
}

# Computes the invariants of a matrix that is constant on blocks: b its elements, n the sizes of the blocks.
block_invariants <- function(b, n) {
  bn <- t(t(b) * n)
  d <- diag(b)
  list(t1 = sum(n * d), t2 = sum(outer(n, n) * b^2), t3 = sum(diag(bn %*% bn %*% bn)), s2 = sum(n * d^2),
       s3 = sum(n * d^3), u = sum(outer(n, n) * b^3), r = sum(n * d * diag(bn %*% b)), b = sum(outer(n * d, n * d) * b))
}

# Computes the invariants of Q Q', where columns of Q are orthonormal with sum 0.
projection_invariants <- function(Q) {
  d <- rowSums(Q^2)
  q <- ncol(Q)
  cubes <- if (q == 1) sum(Q^3)^2 else sum((Vi(Q) | Vj(Q))^3, index = "ij")[1]
  list(t1 = q, t2 = q, t3 = q, s2 = sum(d^2), s3 = sum(d^3), u = cubes, r = sum(d^2), b = sum(crossprod(Q, d)^2))
}

# Mean, variance and skewness of sum_ij A_ij B_{p(i) p(j)} over all permutations p (Kazi-Aoual, Hitier, Sabatier and
# Lebreton, 1995), in units of the traces, since the third moment is a small difference of large numbers. `constant`:
# NULL is returned if the sum is the same for all permutations; else that is an error.
permutation_moments <- function(a, b, n, constant = FALSE) {
  if (n < 6) abort("data", "three moments need at least 6 rows, not ", n, "; null = \"permutation\" takes any number")
  unit <- unit_of(a) * unit_of(b)
  a <- in_units(a)
  b <- in_units(b)
  mean <- a$t1 * b$t1 / (n - 1)
  variance <- as.vector(permutation_covariances(a, b, n))
  if (isTRUE(variance <= 1e-14 * mean^2) && constant) return(NULL)
  if (!is.finite(variance) || variance <= 1e-14 * mean^2) {
    abort("data", "the statistic is the same for every permutation: one side is constant, or all its pairs of points ",
          "are alike to the kernel or the distance")
  }
  terms <- function(m) c(m$t1^3, m$t1 * m$t2, m$t3, m$t1 * m$s2, m$s3, m$u, m$r, m$b)
  third <- sum(terms(a) * (third_weights(n) %*% terms(b))) / prod(n - 0:5)
  skewness <- (third - 3 * mean * variance - mean^3) / variance^1.5
  c(mean = mean * unit, variance = variance * unit^2, skewness = skewness)
}

# The null by moments, for a statistic divided by `unit`; p = 1 if all permutations have the same statistic.
moments_null <- function(statistic, a, b, n, unit) {
  moments <- permutation_moments(a, b, n, constant = TRUE)
  if (is.null(moments)) return(in_unit(from_replicates(statistic, statistic, TRUE), unit))
  c(from_moments(statistic, moments, unit), list(accuracy = moments_accuracy(a, b, n)))
}

# The relative error of the variance, and the standard error of the skewness, if invariants are estimates.
moments_accuracy <- function(a, b, n) {
  error <- function(m, name) if (is.null(m[[name]])) 0 else m[[name]]
  skewness <- function(a, b) permutation_moments(a, b, n)[["skewness"]]
  by_trace <- function(m) replace(m, "t3", m$t3 + error(m, "t3.se"))
  moved <- if (error(a, "t3.se") > 0 || error(b, "t3.se") > 0) c(skewness(by_trace(a), b), skewness(a, by_trace(b)))
  found <- c(variance = error(a, "t2.error") + error(b, "t2.error"),
             skewness = if (length(moved)) sqrt(sum((moved - skewness(a, b))^2)) else 0)
  if (any(found > 0)) found
}

unit_of <- function(m) if (abs(m$t1) > 1e-8 * sqrt(m$t2)) m$t1 else sqrt(m$t2)
in_units <- function(m) {
  powers <- c(t1 = 1, t2 = 2, t3 = 3, s2 = 2, s3 = 3, u = 3, r = 3, b = 3)
  unit <- unit_of(m)
  Map(function(value, power) value / unit^power, m[names(powers)], powers)
}

third_weights <- function(n) {
  upper <- list(
    c(n^3 - 9 * n^2 + 23 * n - 14, 6 * (n - 4), 8, -(n - 2) * (3 * n^2 - 15 * n + 6), 2 * n * (n - 1) * (n - 2), -16,
      -24 * (n - 2), -(6 * n^2 - 30 * n + 24)),
    c(6 * (n^3 - 9 * n^2 + 24 * n - 14), 24 * (n - 3), -6 * (n - 2) * (n^2 - 5 * n + 6), 12 * n * (n - 1) * (n - 2),
      -6 * (2 * n^2 - 10 * n + 16), -6 * (n - 2) * (2 * n^2 - 10 * n + 24), -6 * (4 * n^2 - 20 * n + 24)),
    c(8 * (n^3 - 9 * n^2 + 26 * n - 22), -48 * (n - 2), 16 * n * (n - 1) * (n - 2), -8 * (3 * n^2 - 15 * n + 16),
      -8 * (n - 2) * (3 * n^2 - 15 * n + 24), -8 * (3 * n^2 - 15 * n + 24)),
    c(3 * (n^4 - 4 * n^3 - 2 * n^2 + 9 * n - 12), -3 * n * (n - 1)^2 * (n + 4), 12 * (n^2 - n + 4),
      12 * (n^3 - 2 * n^2 + 9 * n - 12), 6 * (2 * n^3 - 7 * n^2 - 3 * n + 12)),
    c(n^2 * (n + 1) * (n^2 + 15 * n - 4), -4 * n * (n - 1) * (n^2 - n + 4), -12 * n * (n - 1)^2 * (n + 4),
      -6 * n * (n - 1) * (n^2 - n + 4)),
    c(4 * (n^4 - 8 * n^3 + 19 * n^2 - 4 * n - 16), 24 * (n^3 - 3 * n^2 - 2 * n + 8), 24 * (n^2 - n - 4)),
    c(12 * (n^4 - n^3 - 8 * n^2 + 36 * n - 48), 24 * (n^3 - 2 * n^2 - 3 * n + 12)),
    6 * (n^4 - 8 * n^3 + 21 * n^2 - 6 * n - 24)
  )
  C <- matrix(0, 8, 8)
  for (k in 1:8) C[k, k:8] <- C[k:8, k] <- upper[[k]]
  C
}

# The upper tail probability of a standardised Pearson type III distribution of skewness g.
pearson_tail <- function(z, g) {
  if (abs(g) < 1e-6) return(stats::pnorm(z, lower.tail = FALSE))
  stats::pgamma(sign(g) * z + 2 / abs(g), shape = 4 / g^2, scale = abs(g) / 2, lower.tail = g < 0)
}

pearson_density <- function(x, moments) {
  z <- (x - moments[["mean"]]) / sqrt(moments[["variance"]])
  g <- moments[["skewness"]]
  density <- if (abs(g) < 1e-6) stats::dnorm(z)
             else stats::dgamma(sign(g) * z + 2 / abs(g), shape = 4 / g^2, scale = abs(g) / 2)
  density / sqrt(moments[["variance"]])
}
