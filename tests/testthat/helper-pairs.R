# Restricted pairs as base R has them: a matrix of all values, and a logical one that says which pairs exist.

# Computes a reduction of the pairs that exist, by its oracle, row by row of the result.
masked_reduction <- function(values, mask, op, index, weights = NULL, K = 1L) {
  reduce <- oracle_reductions[[op]]
  M <- nrow(values)
  N <- ncol(values)
  rows <- switch(index, j = lapply(seq_len(M), function(i) cbind(rep(i, N), seq_len(N))),
                 i = lapply(seq_len(N), function(j) cbind(seq_len(M), rep(j, M))),
                 ij = list(as.matrix(expand.grid(seq_len(M), seq_len(N)))))
  found <- lapply(rows, function(at) {
    there <- which(mask[at])
    at <- at[there, , drop = FALSE]
    one <- reduce(values[at], if (is.null(weights)) rep(1, length(there)) else weights[at], K)
    if (!is.null(one$index)) one$index <- there[one$index]
    one
  })
  fields <- names(found[[1]])
  out <- lapply(structure(fields, names = fields), function(field) {
    do.call(rbind, lapply(found, function(one) as.vector(one[[field]])))
  })
  if (length(out) == 1) out[[1]] else out
}

# Random restrictions of M x N pairs: each a lazy tensor made of F, and its mask.
random_pairs <- function(F, M, N) {
  g <- sample(1 + sample(6, 1), M, TRUE)
  h <- sample(1 + sample(6, 1), N, TRUE)
  lengths <- function(n) tabulate(sample(5, n, TRUE, prob = 1 / (1:5)^2), 5)
  a <- lengths(M)
  b <- lengths(N)
  blocks <- matrix(stats::runif(25) < 0.4, 5)
  pattern <- Matrix::rsparsematrix(M, N, 0.2)
  width <- sample(0:3, 1)
  u <- stats::runif(M)
  v <- stats::runif(N)
  list(
    groups = list(restrict(F, by = list(g, h)), outer(g, h, "==")),
    sorted = list(restrict(F, by = list(factor(sort(g)), sort(h))), outer(sort(g), sort(h), "==")),
    ranges = list(restrict(F, ranges = ranges(a, b, blocks)), blocks[rep(1:5, a), rep(1:5, b), drop = FALSE]),
    diagonal = list(exclude_diag(F), outer(seq_len(M), seq_len(N), "!=")),
    triangle = list(restrict(F, where = row_index() < col_index()), outer(seq_len(M), seq_len(N), "<")),
    band = list(restrict(F, where = abs(row_index() - col_index()) <= width),
                abs(outer(seq_len(M), seq_len(N), "-")) <= width),
    data = list(restrict(F, where = Vi(u) < Vj(v)), outer(u, v, "<")),
    pattern = list(restrict(F, where = pattern), as.matrix(pattern != 0)),
    both = list(restrict(F, by = list(g, h), exclude_diag = TRUE),
                outer(g, h, "==") & outer(seq_len(M), seq_len(N), "!=")),
    matrix = list(restrict(F, where = outer(u, v, "<")), outer(u, v, "<")),
    all_of_it = list(restrict(restrict(F, by = list(g, h), where = pattern), ranges = ranges(a, b, blocks)),
                     outer(g, h, "==") & as.matrix(pattern != 0) & blocks[rep(1:5, a), rep(1:5, b), drop = FALSE]),
    turned = list(t(restrict(restrict(t(F), where = Matrix::t(pattern)), by = list(h, g))),
                  outer(g, h, "==") & as.matrix(pattern != 0)),
    two = list(restrict(restrict(F, where = outer(u, v, "<")), where = pattern),
               outer(u, v, "<") & as.matrix(pattern != 0)),
    none = list(restrict(F, ranges = ranges(M, N, matrix(FALSE))), matrix(FALSE, M, N))
  )
}

# The pairs of a restricted lazy tensor as the engine has them, and how many of them its bounds alone tell.
pair_map_of <- function(K, precision = "float64") kernweave:::pair_argument(K$pairs, dim(K)[1:2], precision)
pair_shares <- function(K, ...) {
  kernweave:::r_pair_counts(pair_map_of(K, ...)$map)[c("full", "partial")] / prod(dim(K)[1:2])
}
