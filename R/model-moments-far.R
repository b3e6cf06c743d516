# Invariants of a kernel matrix of many rows: all but one follow from approximated products with the kernel and its
# powers; the trace of the cube is estimated from some rows.

# The number of rows up to which all pairs are computed, which takes seconds.
most_rows_by_pairs <- 20000

# The largest relative errors: of products; of products for a single statistic, in double precision; and of the
# variance, which determines the other tolerances.
product_tol <- 1e-5
statistic_tol <- 5e-7
variance_tol <- 1e-4

# Returns a centred kernel in the form of centred_kernel(), with its invariants, by products; an error if K or its
# square is no function of a distance in one to three dimensions. `tol`: the largest relative error of products with K.
# `beside`: further columns that are multiplied by K. `distances`: row sums of distances on a line, if known.
far_kernel <- function(K, x, tol, beside = NULL, distances = NULL) {
  rows <- rows_in_order(x, 500)
  few <- as.matrix(K[rows, rows])
  unit <- power_of_two(max(abs(few)))
  if (unit != 1) K <- K / unit
  power_tol <- min(product_tol, max(1e-12, variance_tol * centred_share(few)))
  P <- approximate(K, min(tol, power_tol))
  n <- nrow(x)
  first <- if (is.null(distances)) unname(P %*% cbind(rep(1, n), beside)) else cbind(-distances / unit)
  if (!all(is.finite(first))) refuse_overflow()
  sums <- first[, 1]
  centred <- list(K = K, n = n, sums = sums, means = sums / n, mean = sum(sums) / n^2, own = as.vector(diag(K)),
                  unit = unit, beside = first[, -1, drop = FALSE])
  # The sum of cubes is a small part of the skewness, the smaller the more rows there are.
  tols <- c(tol, power_tol, min(1e-3, power_tol * sqrt(n)))
  product <- function(power, v) unname((if (power == 1) P else approximate(K^power, tols[power])) %*% v)
  centred$invariants <- invariants_by_products(centred, product, rows_in_order(x, rows_of_trace(n)), power_tol)
  centred
}

# The number of rows from which the trace of the cube is estimated.
rows_of_trace <- function(n) min(n, 20000, max(5000, round(n / 100)))

# The share of the squared off-diagonal elements of a matrix that is left after centring.
centred_share <- function(K) {
  A <- t(K - rowMeans(K)) - rowMeans(K) + mean(K)
  apart <- row(K) != col(K)
  sum(A[apart]^2) / max(sum(K[apart]^2), .Machine$double.xmin)
}

# Computes the invariants of kernel_invariants() from products with powers of the kernel, product(power, v). `tol`: the
# relative error of sums; `t2.error`: the relative error of t2.
invariants_by_products <- function(centred, product, rows, tol) {
  n <- centred$n
  rho <- centred$means - centred$mean / 2
  a <- centred_diagonal(centred)
  own <- centred$own
  K1 <- centred$sums
  constant <- all(own == own[1])
  found <- product(1, cbind(a, if (!constant) centred$means))
  Ka <- found[, 1]
  Km <- if (constant) ((own[1] + centred$mean) * K1 - Ka) / 2 else found[, 2]
  Krho <- Km - centred$mean / 2 * K1
  squares <- as.vector(product(2, rep(1, n)))
  q <- squares - 2 * Krho - 2 * rho * K1 + n * rho^2 + 2 * rho * sum(rho) + sum(rho^2)
  u <- sum(product(3, rep(1, n))) - 6 * sum(rho * squares) + 6 * sum(rho^2 * K1) + 6 * sum(rho * Krho) -
    2 * n * sum(rho^3) - 6 * sum(rho) * sum(rho^2)
  out <- list(t1 = sum(a), t2 = sum(q), s2 = sum(a^2), s3 = sum(a^3), u = u, r = sum(a * q),
              b = sum(a * Ka) - 2 * sum(a) * sum(a * rho), t2.error = tol * sum(squares) / sum(q))
  c(out, trace_of_rows(centred$K[rows, rows] - Vi(rho[rows]) - Vj(rho[rows]), a[rows], out, n))
}

# Estimates the trace of the cube from a submatrix A of some rows, with diagonal a. Triples of distinct rows are scaled
# up so that squares of distinct pairs have their known total; triples with a repeated row are known exactly. The
# standard error contains the errors of the sketch and of the choice of rows, as if it were random.
trace_of_rows <- function(A, a, all, n) {
  m <- length(a)
  some <- third_trace(A)
  squares <- as.vector(A^2 %*% rep(1, m))
  twice <- function(r, s3) 3 * (r - s3) + s3
  distinct <- some$value - twice(sum(a * squares), sum(a^3))
  in_pairs <- (all$t2 - all$s2) / (sum(squares) - sum(a^2)) * prod((m - 0:1) / (n - 0:1))
  times <- in_pairs^1.5 * prod((n - 0:2) / (m - 0:2))
  by_row <- if (m < n) 3 * sqrt(m) * stats::sd(some$rows - squares * some$value / sum(squares)) else 0
  list(t3 = distinct * times + twice(all$r, all$s3), t3.se = times * sqrt(some$se^2 + by_row^2))
}

# --- two sides ------------------------------------------------------------------------------------------------

# Returns the product of two Gaussian kernels as a Gaussian kernel of the joint, scaled points; NULL for other kernels,
# and in more than three dimensions.
joint_kernel <- function(k, l, x, y) {
  parts <- lapply(list(k, l), kernel_parts)
  plain <- vapply(parts, function(p) {
    identical(p$name, "gaussian") && is.null(p$fun) && is.null(p$op) && !is_aniso(p) && is.null(p$times) &&
      is.null(p$of) && (is.null(p$metric) || p$metric == "euclidean")
  }, NA)
  if (!all(plain) || ncol(x) + ncol(y) > 3) return(NULL)
  points <- Map(function(p, v) {
    scale <- rep_len(scale_of_columns(p$parameters$scale, v), ncol(v))
    unname(strip_term(v)) / rep(scale, each = nrow(v))
  }, parts, list(x, y))
  K <- kernel_gaussian(cbind(points[[1]], points[[2]]), scale = 1)
  variance <- parts[[1]]$parameters$variance * parts[[2]]$parameters$variance
  if (variance == 1) K else variance * K
}

# The admissible error of sums over pairs: the statistic of independence is a small difference of such sums.
joint_tol <- function(n) max(1e-12, 1e-3 / n)

# The sum over pairs of the product of two centred kernels, from the sum of the product of the kernels.
joint_sum <- function(joint, a, b) {
  n <- a$n
  KL <- sum(approximate(joint, joint_tol(n)) %*% rep(1, n)) / (a$unit * b$unit)
  KL - 2 / n * sum(a$sums * b$sums) + sum(a$sums) * sum(b$sums) / n^2
}
