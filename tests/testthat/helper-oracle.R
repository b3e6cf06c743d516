# States, in slow and plain base R, what every operation must return.

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

oracle_clamp <- function(x, low, high) {
  width <- max(length(x), length(low), length(high))
  stopifnot(c(length(x), length(low), length(high)) %in% c(1L, width))
  ifelse(rep_len(x, width) < low, low, ifelse(rep_len(x, width) > high, high, x))
}

oracle_if_else <- function(x, yes, no) oracle_select(x >= 0, yes, no)

oracle_metric <- function(metric, x) {
  if (length(metric) == 1) return(metric * sum(x^2))
  if (length(metric) == length(x)) return(sum(metric * x^2))
  sum(x * (matrix(metric, length(x)) %*% x))
}

oracle_polygamma <- function(x, n) {
  n <- round(n)
  suppressWarnings(ifelse(n == 0, digamma(x), ifelse(x <= 0 | n < 0, NaN, psigamma(abs(x), pmax(n, 0)))))
}

oracle_canberra <- function(x, y) sum(ifelse(x == y, 0, abs(x - y) / (abs(x) + abs(y))))

# Computes the distance on the unit sphere, by the angle between the points in space.
oracle_haversine <- function(x, y) {
  point <- function(p) c(cos(p[1]) * cos(p[2]), cos(p[1]) * sin(p[2]), sin(p[1]))
  a <- point(x)
  b <- point(y)
  cross <- c(a[2] * b[3] - a[3] * b[2], a[3] * b[1] - a[1] * b[3], a[1] * b[2] - a[2] * b[1])
  atan2(sqrt(sum(cross^2)), sum(a * b))
}

# Attributes that are lists lie behind their lengths.
listed_attributes <- function(...) {
  kept <- c(...)
  lists <- list()
  while (length(kept)) {
    lists <- c(lists, list(kept[1 + seq_len(kept[1])]))
    kept <- kept[-seq_len(1 + kept[1])]
  }
  lists
}

oracle_unpick <- function(x, n, ...) {
  places <- c(...)[seq_len(n)]
  vapply(seq_len(c(...)[n + 1]), function(place) sum(x[places == place]), 0)
}

oracle_mat_mult <- function(x, y, inner) {
  as.vector(apply(matrix(y, inner), 2, function(column) oracle_mat_vec(x, column)))
}

# Entry by entry, as the sum is defined.
oracle_tensor_dot <- function(x, y, ...) {
  given <- listed_attributes(...)
  entry <- function(data, dims, at) data[1 + sum((at - 1) * cumprod(c(1, dims))[seq_along(dims)])]
  all_of <- function(dims) {
    unname(as.matrix(do.call(expand.grid, c(lapply(dims, seq_len), list(1))))[, seq_along(dims), drop = FALSE])
  }
  left <- setdiff(seq_along(given[[1]]), given[[3]])
  right <- setdiff(seq_along(given[[2]]), given[[4]])
  inner <- all_of(given[[1]][given[[3]]])
  term <- function(at, along) {
    at_x <- replace(integer(length(given[[1]])), c(left, given[[3]]), c(at[seq_along(left)], along))
    at_y <- replace(integer(length(given[[2]])), c(right, given[[4]]), c(at[length(left) + seq_along(right)], along))
    entry(x, given[[1]], at_x) * entry(y, given[[2]], at_y)
  }
  dims <- c(given[[1]][left], given[[2]][right])
  order <- if (length(given[[5]])) given[[5]] else seq_along(dims)
  places <- all_of(dims[order])
  vapply(seq_len(nrow(places)), function(k) {
    at <- replace(integer(length(dims)), order, places[k, ])
    sum(vapply(seq_len(nrow(inner)), function(l) term(at, inner[l, ]), 0))
  }, 0)
}

# Row by row, the three ways to a place by their definition.
oracle_soft_dtw <- function(x, y, gamma) {
  soft_min <- function(ways) {
    ways <- ways[is.finite(ways)]
    powers <- -ways / gamma
    -gamma * (max(powers) + log(sum(exp(powers - max(powers)))))
  }
  cost <- matrix(Inf, length(x) + 1, length(y) + 1)
  cost[1, 1] <- 0
  for (i in seq_along(x)) for (j in seq_along(y))
    cost[i + 1, j + 1] <- (x[i] - y[j])^2 + soft_min(c(cost[i, j], cost[i, j + 1], cost[i + 1, j]))
  cost[length(x) + 1, length(y) + 1]
}

# One spline at one point, as it is defined.
oracle_spline <- function(knots, x, k, degree) {
  if (degree == 0) return(as.numeric(knots[k] <= x && x < knots[k + 1]))
  share <- function(from, to, of) if (from == to) 0 else of / (to - from)
  share(knots[k], knots[k + degree], x - knots[k]) * oracle_spline(knots, x, k, degree - 1) +
    share(knots[k + 1], knots[k + degree + 1], knots[k + degree + 1] - x) * oracle_spline(knots, x, k + 1, degree - 1)
}

oracle_ops <- list(
  Pick = function(x, n, ...) x[c(...)],
  Unpick = oracle_unpick,
  MatMult = oracle_mat_mult,
  Kron = function(x, y, ...) {
    as.vector(kronecker(array(x, listed_attributes(...)[[1]]), array(y, listed_attributes(...)[[2]])))
  },
  TensorDot = oracle_tensor_dot,
  SoftDTW_SqDist = oracle_soft_dtw,
  BSpline = function(knots, x, degree) {
    vapply(seq_len(length(knots) - degree - 1), function(k) oracle_spline(knots, x, k, degree), 0)
  },
  Mod = oracle_elementwise(function(x, y) x %% y),
  IntDiv = oracle_elementwise(function(x, y) x %/% y),
  Max2 = oracle_elementwise(pmax),
  Min2 = oracle_elementwise(pmin),
  Clamp = oracle_clamp,
  Tan = function(x) tan(x),
  SinPi = function(x) sinpi(x),
  CosPi = function(x) cospi(x),
  TanPi = oracle_quiet(tanpi),
  Asin = oracle_quiet(asin),
  Acos = oracle_quiet(acos),
  Atan = function(x) atan(x),
  Atan2 = oracle_elementwise(atan2),
  Sinh = function(x) sinh(x),
  Cosh = function(x) cosh(x),
  Asinh = function(x) asinh(x),
  Acosh = oracle_quiet(acosh),
  Atanh = oracle_quiet(atanh),
  Expm1 = function(x) expm1(x),
  Log1p = oracle_quiet(log1p),
  Log2 = oracle_quiet(log2),
  Log10 = oracle_quiet(log10),
  Floor = function(x) floor(x),
  Ceil = function(x) ceiling(x),
  Trunc = function(x) trunc(x),
  Nearest = function(x) round(x),
  Round = oracle_elementwise(function(x, digits) round(x * 10^digits) / 10^digits),
  Step = function(x) as.numeric(x >= 0),
  ReLU = function(x) pmax(x, 0),
  XLogX = oracle_quiet(function(x) ifelse(x == 0, 0, x * log(x))),
  SinXDivX = function(x) ifelse(x == 0, 1, sin(x) / x),
  SincSlope = function(x) ifelse(x == 0, 0, (x * cos(x) - sin(x)) / x^2),
  Sinc = function(x) ifelse(x == 0, 1, sinpi(x) / (pi * x)),
  Sigmoid = function(x) stats::plogis(x),
  Softplus = function(x) -stats::plogis(-x, log.p = TRUE),
  Erf = function(x) sign(x) * stats::pchisq(2 * x^2, 1),
  Erfc = function(x) 2 * stats::pnorm(-x * sqrt(2)),
  Lgamma = oracle_quiet(lgamma),
  Gamma = oracle_quiet(gamma),
  Digamma = oracle_quiet(digamma),
  Trigamma = oracle_quiet(trigamma),
  PolyGamma = oracle_elementwise(oracle_polygamma),
  IfElse = oracle_if_else,
  Max = function(x) max(x),
  Min = function(x) min(x),
  ArgMax = function(x) which.max(x),
  ArgMin = function(x) which.min(x),
  Pow = function(x, n) x^n,
  ClampInt = function(x, low, high) oracle_clamp(x, low, high),
  RadialTable = function(...) oracle_radial_table(...),  # helper-radial.R
  OneHot = function(x, n) as.numeric(seq_len(n) == round(x)),
  ElemT = function(x, width, position) oracle_extract_t(x, position, width),
  Normalize = function(x) if (all(x == 0)) x else x / sqrt(sum(x^2)),
  SqNormIso = function(s, x) s * sum(x^2),
  SqNormDiag = oracle_elementwise(function(s, x) sum(s * x^2)),
  SymSqNorm = function(A, x) sum(x * oracle_mat_vec(A, x)),
  WeightedSqNorm = oracle_metric,
  WeightedSqDist = function(metric, x, y) oracle_metric(metric, oracle_broadcast(x, y)$x - oracle_broadcast(x, y)$y),
  Euclidean = oracle_elementwise(function(x, y) sqrt(sum((x - y)^2))),
  Chebyshev = oracle_elementwise(function(x, y) max(abs(x - y))),
  Minkowski = function(x, y, p) sum(abs(x - y)^p)^(1 / p),
  Cosine = oracle_elementwise(function(x, y) 1 - sum(x * y) / sqrt(sum(x^2) * sum(y^2))),
  Hellinger = oracle_elementwise(function(x, y) suppressWarnings(sqrt(sum((sqrt(x) - sqrt(y))^2) / 2))),
  Canberra = oracle_elementwise(oracle_canberra),
  Haversine = oracle_haversine,
  Matern32 = oracle_quiet(function(x) (1 + sqrt(x)) * exp(-sqrt(x))),
  Matern52 = oracle_quiet(function(x) (1 + sqrt(x) + x / 3) * exp(-sqrt(x))),
  Hypot = oracle_elementwise(function(x, y) sqrt(x^2 + y^2)),
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
