# Covariances of grouped effects: Z G Z' of each term, Z a sparse matrix of regressors by levels; derivatives of G.
#
# A term of r regressors has r variances and r (r - 1) / 2 partial correlations of the effects of a level. G = S C S
# with the standard deviations S and C = L L'; row i of L has norm 1 and elements p_ik sqrt(prod(1 - p_im^2, m < k)) for
# k < i. Partial correlations with the first regressor are ordinary correlations.

# Returns the names of the parameters of terms, in the order of `values$groups`.
group_labels <- function(groups) {
  factors <- vapply(groups, `[[`, "", "factor")
  labels <- function(names) {
    unlist(Map(function(term, name, alone) {
      plain <- alone && identical(term$columns, "(Intercept)")
      of <- paste0(".", name, if (!plain) paste0(".", term$columns))
      c(paste0("variance", of), vapply(partial_places(length(of)), function(p) {
        paste0(if (p[2] == 1) "correlation." else "partial.", name, ".", term$columns[p[1]],
               if (p[2] > 1 || length(of) > 2) paste0(".", term$columns[p[2]]))
      }, ""))
    }, groups, names, !factors %in% factors[duplicated(factors)]))
  }
  found <- labels(factors)
  if (anyDuplicated(found)) labels(make.unique(factors)) else found
}

# Returns the positions (i, k), k < i, of the partial correlations of r regressors.
partial_places <- function(r) {
  at <- which(lower.tri(diag(r)), arr.ind = TRUE)
  lapply(seq_len(nrow(at)), function(k) unname(at[k, ]))
}

# Returns the positions of each term's parameters in `values$groups`.
group_index <- function(groups) {
  count <- vapply(groups, function(term) choose(length(term$columns) + 1, 2), 0)
  split(seq_len(sum(count)), rep(factor(seq_along(groups)), count))
}

# The rows of a layout for the parameters of all terms.
group_layout <- function(numbers, part = "groups") {
  if (!length(numbers)) return(NULL)
  data.frame(label = names(numbers), part = part, name = names(numbers), index = seq_along(numbers),
             link = ifelse(is_group_variance(names(numbers)), "log", "atanh"))
}

is_group_variance <- function(labels) startsWith(labels, "variance.")

# Starting values of variances: each regressor explains the same share of the variance of the response.
group_start <- function(groups, z, total) {
  sizes <- group_sizes(groups, z)
  ifelse(is.na(sizes), 0, total / sizes)
}

# Mean squares of the regressors, in the order of `values$groups`, with NA for correlations.
group_sizes <- function(groups, z) {
  as.numeric(unlist(lapply(groups, function(term) {
    size <- pmax(colMeans(z[, term$at, drop = FALSE]^2), 1e-300)
    c(size, rep(NA, choose(length(size), 2)))
  })))
}

# Bounds of the parameters on the scale of their links. A variance below 1e-8 of the response's variance is negligible.
group_ends <- function(model, spread, most) {
  by <- log(group_sizes(model$groups, model$z))
  correlation <- is.na(by)
  list(lower = ifelse(correlation, -most_atanh, spread + log(1e-8) - by),
       upper = ifelse(correlation, most_atanh, most - by))
}

# Correlations stay below 1 - 1e-6.
most_atanh <- atanh(1 - 1e-6)

# Returns each row's level of the factor with the most levels; NULL without groups.
finest_level <- function(model) {
  if (!length(model$groups)) return(NULL)
  count <- vapply(model$groups, function(term) length(term$levels), 0)
  model$z[, model$groups[[which.max(count)]]$code]
}

# Returns the correlation matrix C of partial correlations, and its derivatives.
partial_correlations <- function(r, partial) {
  P <- matrix(0, r, r)
  at <- do.call(rbind, partial_places(r))
  P[at] <- partial
  left <- t(apply(sqrt(1 - P^2), 1, function(row) cumprod(c(1, row))[seq_len(r)]))
  L <- (P + diag(r)) * matrix(left, r)
  slopes <- lapply(seq_along(partial), function(n) {
    i <- at[n, 1]
    k <- at[n, 2]
    dL <- 0 * L
    later <- seq_len(r) > k
    dL[i, later] <- -P[i, k] / (1 - P[i, k]^2) * L[i, later]
    dL[i, k] <- left[i, k]
    tcrossprod(dL, L) + tcrossprod(L, dL)
  })
  list(value = tcrossprod(L), slopes = slopes)
}

# Returns G of a term, and its derivatives by the parameters on the scale of their links.
group_covariance <- function(term, numbers) {
  r <- length(term$columns)
  sd <- sqrt(numbers[seq_len(r)])
  partial <- unname(numbers[-seq_len(r)])
  C <- if (r > 1) partial_correlations(r, partial) else list(value = diag(1))
  in_units <- function(C) sd * t(sd * C)
  G <- in_units(C$value)
  by_sd <- lapply(seq_len(r), function(k) outer(seq_len(r), seq_len(r), function(i, j) ((i == k) + (j == k)) / 2) * G)
  list(value = G, slopes = c(by_sd, Map(function(slope, p) (1 - p^2) * in_units(slope), C$slopes, partial)))
}

# Z of a term at places z: a column for each regressor of each level, sparse.
group_columns <- function(term, z) {
  r <- length(term$columns)
  code <- z[, term$code]
  Matrix::sparseMatrix(rep(seq_len(nrow(z)), r), rep((code - 1) * r, r) + rep(seq_len(r), each = nrow(z)),
                       x = as.vector(z[, term$at]), dims = c(nrow(z), r * max(length(term$levels), code)))
}

# Returns the Kronecker product of I and G, with as many columns as Z.
for_levels <- function(G, Z) {
  force(G)  # S4 generics wrap the errors of their arguments
  Matrix::kronecker(Matrix::Diagonal(ncol(Z) / nrow(G)), G)
}

# Returns Z, G and the derivatives of G for each term, an empty list without terms.
group_parts <- function(model, values, z = model$z) {
  Map(function(term, index) {
    c(list(Z = group_columns(term, z)), group_covariance(term, values$groups[index]))
  }, model$groups, group_index(model$groups))
}

# Returns a sparse V, where V V' is the covariance of all grouped effects, with a column for each standardised effect,
# and a matrix B for each parameter, where V B V' is the derivative. NULL without groups.
group_effects <- function(model, values) {
  if (!length(model$groups)) return(NULL)
  parts <- group_parts(model, values)
  sizes <- vapply(parts, function(part) ncol(part$Z), 0)
  columns <- Map(function(part) part$Z %*% for_levels(t(root_of_covariance(part$value)), part$Z), parts)
  slopes <- Map(function(part, before) {
    inverse <- inverse_root_of_covariance(part$value)
    lapply(part$slopes, function(slope) {
      one <- methods::as(for_levels(crossprod(inverse, slope %*% inverse), part$Z), "TsparseMatrix")
      Matrix::sparseMatrix(one@i + before, one@j + before, x = one@x, dims = rep(sum(sizes), 2), index1 = FALSE)
    })
  }, parts, cumsum(sizes) - sizes)
  V <- do.call(cbind, unname(columns))
  list(V = if (is.null(model$root)) V else model$root * V, slopes = unlist(unname(slopes), recursive = FALSE))
}

# Multiplies the derivatives V B V' by columns u.
slopes_times <- function(slopes, V, u) lapply(slopes, function(B) as.matrix(V %*% (B %*% crossprod(V, u))))

# Adds V V' to K.
beside_effects <- function(K, V) if (is.null(V)) K else as_op(K) + tcrossprod(as_op(V))

# Returns Z G Z' u, or Z_2 G Z' u with the regressors Z_2 of other places, `to`.
groups_times <- function(parts, u, to = parts) {
  Reduce(`+`, Map(function(part, other) {
    inner <- as.matrix(for_levels(part$value, part$Z) %*% crossprod(part$Z, u))
    both <- seq_len(min(ncol(part$Z), ncol(other$Z)))  # levels that one side lacks have no covariance
    as.matrix(other$Z[, both, drop = FALSE] %*% inner[both, , drop = FALSE])
  }, parts, to), 0)
}

groups_matrix <- function(parts) {
  Reduce(`+`, lapply(parts, function(part) as.matrix(part$Z %*% tcrossprod(for_levels(part$value, part$Z), part$Z))), 0)
}

# The mean variance of all grouped effects at the places of a model.
group_spread <- function(model) {
  of <- function(term, index) {
    z <- model$z[, term$at, drop = FALSE]
    mean(rowSums((z %*% group_covariance(term, model$values$groups[index])$value) * z))
  }
  sum(unlist(Map(of, model$groups, group_index(model$groups))))
}

# Derivatives of Z G Z' as parts; trace_with() returns tr(B Z dG Z').
group_slopes <- function(parts) {
  each <- lapply(parts, function(part) lapply(part$slopes, function(slope) replace(part, "value", list(slope))))
  unlist(each, recursive = FALSE)
}

trace_with <- function(part, inverse) {
  sum(as.matrix(part$Z %*% for_levels(part$value, part$Z)) * (inverse %*% part$Z))
}

# Draws the effects of all levels, and returns their sum at places.
group_draws <- function(parts, n, nsim) {
  Reduce(`+`, lapply(parts, function(part) {
    r <- nrow(part$value)
    effects <- matrix(stats::rnorm(ncol(part$Z) * nsim), r)
    as.matrix(part$Z %*% matrix(crossprod(root_of_covariance(part$value), effects), ncol(part$Z)))
  }), matrix(0, n, nsim))
}

# Returns R with R'R = G, which may be singular.
root_of_covariance <- function(G) {
  if (!all(is.finite(G))) abort("indefinite", "a covariance of grouped effects is not finite")  # after too long a step
  found <- eigen(G, symmetric = TRUE)
  sqrt(pmax(found$values, 0)) * t(found$vectors)
}

# Returns R^-1; eigenvalues of G are at least 1e-14 of the largest.
inverse_root_of_covariance <- function(G) {
  found <- eigen(G, symmetric = TRUE)
  found$vectors / rep(sqrt(pmax(found$values, 1e-14 * found$values[1])), each = nrow(G))
}

# The covariances of grouped effects at pairs of places, as a formula.
group_pairs <- function(model, values, at, to) {
  Map(function(term, index) {
    G <- group_covariance(term, values$groups[index])$value
    weight <- sum(Vi(at[, term$at, drop = FALSE]) * Vj(to[, term$at, drop = FALSE] %*% G))
    lazy_if(Vi(at[, term$code]) == Vj(to[, term$code]), weight, 0)
  }, model$groups, group_index(model$groups))
}
