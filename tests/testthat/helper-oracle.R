# States, in slow and plain base R, what every operation and every reduction must return.

# R would recycle 2 against 4 without a word; only equal widths or a width of 1 are legal.
oracle_broadcast <- function(x, y) {
  width <- max(length(x), length(y))
  if (!length(x) %in% c(1L, width) || !length(y) %in% c(1L, width)) {
    stop("widths ", length(x), " and ", length(y), " do not go together")
  }
  list(x = rep_len(x, width), y = rep_len(y, width))
}

oracle_elementwise <- function(fun) {
  function(x, y) {
    both <- oracle_broadcast(x, y)
    fun(both$x, both$y)
  }
}

# R answers NA where a side is NaN; the engine answers FALSE, for NotEqual too.
oracle_comparison <- function(compare) {
  oracle_elementwise(function(x, y) {
    result <- compare(x, y)
    !is.na(result) & result
  })
}

# Domain errors are a NaN here, not a warning: the tests compare values only.
oracle_quiet <- function(fun) {
  function(x) suppressWarnings(fun(x))
}

oracle_rsqrt <- function(x) {
  result <- suppressWarnings(1 / sqrt(x))
  result[!is.na(x) & x == 0] <- 0
  result
}

oracle_select <- function(test, yes, no) {
  width <- max(length(test), length(yes), length(no))
  stopifnot(is.logical(test), c(length(test), length(yes), length(no)) %in% c(1L, width))
  test <- rep_len(test, width)
  yes <- rep_len(yes, width)
  result <- rep_len(no, width)
  result[test] <- yes[test]
  result
}

oracle_extract <- function(x, start, length) {
  stopifnot(start >= 1, length >= 1, start + length - 1 <= base::length(x))
  x[start + seq_len(length) - 1]
}

oracle_extract_t <- function(x, start, width) {
  stopifnot(start >= 1, start + length(x) - 1 <= width)
  result <- numeric(width)
  result[start + seq_along(x) - 1] <- x
  result
}

# Sums written out: a BLAS product may lose a NaN or an Inf.
oracle_mat_vec <- function(A, b) {
  stopifnot(length(A) %% length(b) == 0)
  A <- matrix(A, ncol = length(b))
  vapply(seq_len(nrow(A)), function(row) sum(A[row, ] * b), numeric(1))
}

oracle_vec_mat <- function(b, A) {
  stopifnot(length(A) %% length(b) == 0)
  A <- matrix(A, nrow = length(b))
  vapply(seq_len(ncol(A)), function(column) sum(b * A[, column]), numeric(1))
}

oracle_ops <- list(
  Add = oracle_elementwise(function(x, y) x + y),
  Subtract = oracle_elementwise(function(x, y) x - y),
  Mult = oracle_elementwise(function(x, y) x * y),
  Divide = oracle_elementwise(function(x, y) x / y),
  Minus = function(x) -x,
  Square = function(x) x * x,
  Exp = function(x) exp(x),
  Log = oracle_quiet(log),
  Sqrt = oracle_quiet(sqrt),
  Rsqrt = oracle_rsqrt,
  InvSqrt = oracle_quiet(function(x) 1 / sqrt(x)),
  Exp2 = function(x) 2^x,
  Exp2Minus = function(x) 2^-x,
  Sin = function(x) sin(x),
  Cos = function(x) cos(x),
  Tanh = function(x) tanh(x),
  Abs = function(x) abs(x),
  Sign = function(x) sign(x),
  Powf = oracle_elementwise(function(x, y) x^y),
  Inv = function(x) 1 / x,
  LessThan = oracle_comparison(function(x, y) x < y),
  LessOrEqual = oracle_comparison(function(x, y) x <= y),
  Equal = oracle_comparison(function(x, y) x == y),
  NotEqual = oracle_comparison(function(x, y) x != y),
  Select = oracle_select,
  Sum = function(x) sum(x),
  Scalprod = oracle_elementwise(function(x, y) sum(x * y)),
  SqDist = oracle_elementwise(function(x, y) sum((x - y)^2)),
  Manhattan = oracle_elementwise(function(x, y) sum(abs(x - y))),
  SqNorm2 = function(x) sum(x^2),
  Norm2 = function(x) sqrt(sum(x^2)),
  SumT = function(x, n) {
    stopifnot(length(x) == 1)
    rep(x, n)
  },
  Extract = oracle_extract,
  ExtractT = oracle_extract_t,
  Elem = function(x, k) oracle_extract(x, k, 1),
  Concat = function(x, y) c(x, y),
  MatVecMult = oracle_mat_vec,
  VecMatMult = oracle_vec_mat,
  TensorProd = function(x, y) as.vector(outer(x, y))
)

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

# `weights` matters to Sum and LogSumExp only; `K` to ArgKMin only.
oracle_reductions <- list(
  Sum = function(values, weights = rep(1, length(values)), K = 1L) list(value = sum(values * weights)),
  Min = function(values, weights = NULL, K = 1L) list(value = oracle_min(values)),
  LogSumExp = function(values, weights = rep(1, length(values)), K = 1L) {
    list(value = oracle_log_sum_exp(values, weights))
  },
  ArgKMin = function(values, weights = NULL, K = 1L) {
    list(index = oracle_arg_k_min(values, K))
  },
  MinArgMin = function(values, weights = NULL, K = 1L) oracle_min_arg_min(values),
  Any = function(values, weights = NULL, K = 1L) list(value = any(as.logical(values)))
)

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

# Rows x width matrix of one field ("value" or "index") of the results.
oracle_field <- function(results, field, width, empty) {
  result <- matrix(empty, length(results), width)
  for (row in seq_along(results)) {
    for (k in seq_len(width)) result[row, k] <- results[[row]][[k]][[field]]
  }
  result
}

# Rows x K for width 1, else rows x K x width.
oracle_indices <- function(results, K, width) {
  result <- array(NA_integer_, c(length(results), K, width))
  for (row in seq_along(results)) {
    for (k in seq_len(width)) result[row, , k] <- results[[row]][[k]]$index
  }
  if (width == 1) matrix(result, length(results), K) else result
}

# `width` is that of the result; give it where there is no pair (1, 1) to ask.
oracle_reduce <- function(term, M, N, op, index, weight = NULL, K = 1L,
                          width = oracle_width(term, weight)) {
  if (!op %in% names(oracle_reductions)) stop("no reduction ", op)
  # Dropping weights in silence would hide a mistake in a test.
  if (!is.null(weight) && !op %in% c("Sum", "LogSumExp")) stop(op, " takes no weight")
  results <- oracle_reduce_all(term, M, N, op, index, weight, K, width)
  switch(op,
    ArgKMin = oracle_indices(results, K, width),
    MinArgMin = list(
      value = oracle_field(results, "value", width, NA_real_),
      index = oracle_field(results, "index", width, NA_integer_)
    ),
    Any = oracle_field(results, "value", width, NA),
    oracle_field(results, "value", width, NA_real_)
  )
}
