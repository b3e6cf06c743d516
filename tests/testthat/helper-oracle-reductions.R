# States, in slow and plain base R, what every reduction must return.

oracle_log_sum_exp <- function(values, weights) {
  if (anyNA(values) || anyNA(weights)) return(NaN)
  # A term of weight 0 must not set the scale, or it would underflow all the others.
  # (0 * exp(Inf) is kept: it is NaN.)
  counts <- weights != 0 | values == Inf
  values <- values[counts]
  weights <- weights[counts]
  if (length(values) == 0 || all(values == -Inf)) return(-Inf)
  largest <- max(values)
  # Inf - Inf is NaN, so the scaled exponentials are spelled out when the largest is Inf.
  scaled <- if (largest == Inf) ifelse(values == Inf, Inf, 0) else exp(values - largest)
  suppressWarnings(largest + log(sum(weights * scaled)))
}

oracle_arg_k_min <- function(values, K) {
  candidates <- which(!is.na(values))
  ascending <- candidates[order(values[candidates], candidates)]
  ascending[seq_len(K)] # reading past the end pads with NA
}

oracle_min_arg_min <- function(values) {
  if (length(values) == 0) return(list(value = Inf, index = NA_integer_))
  if (all(is.na(values))) return(list(value = NaN, index = NA_integer_))
  index <- oracle_arg_k_min(values, 1L)
  list(value = values[index], index = index)
}

oracle_min <- function(values) {
  if (anyNA(values)) return(NaN)
  min(values, Inf) # the Inf is the answer for no terms
}

oracle_soft_max <- function(values, weights) {
  if (anyNA(values)) return(NaN)
  top <- max(values, -Inf)
  share <- if (is.infinite(top)) as.numeric(values == top & top > 0) else exp(values - top)
  sum(weights * share) / sum(share)
}

oracle_k_min <- function(values, K) {
  index <- oracle_arg_k_min(values, K)
  list(value = ifelse(is.na(index), Inf, values[index]), index = index)
}

opposite <- function(found) {
  if (!is.null(found$value)) found$value <- -found$value
  found
}

# `weights` matters to Sum, LogSumExp and SumSoftMaxWeight only; `K` to lists.
oracle_reductions <- list(
  Sum = function(values, weights = rep(1, length(values)), K = 1L) list(value = sum(values * weights)),
  Min = function(values, weights = NULL, K = 1L) list(value = oracle_min(values)),
  LogSumExp = function(values, weights = rep(1, length(values)), K = 1L) {
    list(value = oracle_log_sum_exp(values, weights))
  },
  SumSoftMaxWeight = function(values, weights = rep(1, length(values)), K = 1L) {
    list(value = oracle_soft_max(values, weights))
  },
  Prod = function(values, weights = NULL, K = 1L) list(value = prod(values)),
  KMinArgKMin = function(values, weights = NULL, K = 1L) oracle_k_min(values, K),
  MinArgMin = function(values, weights = NULL, K = 1L) oracle_min_arg_min(values),
  Any = function(values, weights = NULL, K = 1L) list(value = any(as.logical(values))),
  Max = function(values, weights = NULL, K = 1L) list(value = if (anyNA(values)) NaN else max(values, -Inf)),
  MaxArgMax = function(values, weights = NULL, K = 1L) opposite(oracle_min_arg_min(-values)),
  ArgMin = function(values, weights = NULL, K = 1L) {
    list(index = if (all(is.na(values))) NA_integer_ else which.min(values))
  },
  ArgMax = function(values, weights = NULL, K = 1L) {
    list(index = if (all(is.na(values))) NA_integer_ else which.max(values))
  },
  ArgKMin = function(values, weights = NULL, K = 1L) list(index = oracle_arg_k_min(values, K)),
  KMin = function(values, weights = NULL, K = 1L) oracle_k_min(values, K)["value"],
  KMaxArgKMax = function(values, weights = NULL, K = 1L) opposite(oracle_k_min(-values, K)),
  ArgKMax = function(values, weights = NULL, K = 1L) list(index = oracle_arg_k_min(-values, K)),
  KMax = function(values, weights = NULL, K = 1L) opposite(oracle_k_min(-values, K))["value"],
  Mean = function(values, weights = NULL, K = 1L) list(value = if (length(values)) mean(values) else NaN),
  Variance = function(values, weights = NULL, K = 1L) {
    list(value = if (length(values) > 1 && !anyNA(values)) stats::var(values) else NaN)
  },
  All = function(values, weights = NULL, K = 1L) list(value = all(as.logical(values))),
  Count = function(values, weights = NULL, K = 1L) list(value = sum(as.logical(values)))
)
oracle_lists <- c("KMinArgKMin", "KMaxArgKMax", "ArgKMin", "ArgKMax", "KMin", "KMax")

# The pairs folded into one row of the result, in the order in which they are counted.
oracle_pairs <- function(row, M, N, index) {
  switch(index,
    j = data.frame(i = rep(row, N), j = seq_len(N)),
    i = data.frame(i = seq_len(M), j = rep(row, M)),
    ij = expand.grid(i = seq_len(M), j = seq_len(N)), # the first factor runs fastest
    stop("index must be \"i\", \"j\" or \"ij\"")
  )
}

# One row per pair, one column per component; width 1 is repeated.
oracle_terms <- function(fun, pairs, width) {
  result <- matrix(0, nrow(pairs), width)
  for (pair in seq_len(nrow(pairs))) {
    term <- fun(pairs$i[pair], pairs$j[pair])
    stopifnot(length(term) %in% c(1L, width))
    result[pair, ] <- rep_len(term, width)
  }
  result
}

oracle_width <- function(term, weight) {
  max(length(term(1, 1)), if (!is.null(weight)) length(weight(1, 1)))
}

# The answer for every row of the result and every component: results[[row]][[component]].
oracle_reduce_all <- function(term, M, N, op, index, weight, K, width) {
  reduce <- oracle_reductions[[op]]
  rows <- switch(index, j = M, i = N, ij = 1L, stop("unknown index"))
  ones <- function(i, j) 1
  lapply(seq_len(rows), function(row) {
    pairs <- oracle_pairs(row, M, N, index)
    values <- oracle_terms(term, pairs, width)
    weights <- oracle_terms(if (is.null(weight)) ones else weight, pairs, width)
    lapply(seq_len(width), function(k) reduce(values[, k], weights[, k], K))
  })
}

# One field ("value" or "index") of the results: rows x K x width, of which K is left out where there are no lists, and
# the width of a list where it is 1.
oracle_field <- function(op, results, field, K, width) {
  places <- if (op %in% oracle_lists) K else 1L
  sample <- oracle_reductions[[op]](c(1, 0), c(1, 1), places)[[field]]
  result <- array(sample[NA][1], c(length(results), places, width))
  for (row in seq_along(results)) for (k in seq_len(width)) result[row, , k] <- results[[row]][[k]][[field]]
  if (!op %in% oracle_lists) return(matrix(result, length(results), width))
  if (width == 1) matrix(result, length(results), places) else result
}

# `width` is that of the result; give it where there is no pair (1, 1) to ask.
oracle_reduce <- function(term, M, N, op, index, weight = NULL, K = 1L,
                          width = oracle_width(term, weight)) {
  if (!op %in% names(oracle_reductions)) stop("no reduction ", op)
  # Dropping weights in silence would hide a mistake in a test.
  if (!is.null(weight) && !op %in% c("Sum", "LogSumExp", "SumSoftMaxWeight")) stop(op, " takes no weight")
  results <- oracle_reduce_all(term, M, N, op, index, weight, K, width)
  fields <- names(oracle_reductions[[op]](c(1, 0), c(1, 1), 1L))
  found <- lapply(structure(fields, names = fields), function(field) oracle_field(op, results, field, K, width))
  if (length(found) == 1) found[[1]] else found
}
