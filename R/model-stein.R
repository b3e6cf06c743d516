# The kernel Stein discrepancy: a test whether a sample has a density that is known up to a constant.

#' Kernel Stein test of goodness of fit
#'
#' Tests whether the independent draws `x` come from a density of which you only know the score, the gradient of the log
#' density. Use it when the normalising constant is unknown, for instance to check the (thinned) draws of a sampler.
#'
#' The statistic is the kernel Stein discrepancy. With the score s and a kernel k, it is the mean of `h(x, x')` over
#' pairs of points, where h is the inner product of s(x) and s(x') times k, plus terms with derivatives of k. The
#' expectation of h is 0 for the given density and positive for others.
#'
#' The p-value comes from the distribution of `w' H w` over random vectors of signs w, where H is the matrix of h. With
#' `null = "moments"` it comes from the exact first three moments over all signs, matched by Pearson's type III curve.
#' With at most ten points there are at most 512 different vectors w: all are used, even with `null = "moments"`.
#' Parameters of the score are taken as known; if they were estimated from the same data, the test is conservative.
#'
#' @param x points: a matrix, a data frame or a vector of numbers
#' @param score a matrix with a row for each point, or a function of the points that returns such a matrix, such as
#'   [gradient()] of the sum of log densities
#' @param kernel the kernel, as in [kernel_spec()]; without a scale, it uses [median_scale()]
#' @param null the null distribution: `"signs"`, the default, or `"moments"`
#' @param R number of random signs
#' @param ... not used
#' @return A test of class [kernweave_test] and `htest`. `estimate` has U, the mean of `h` over pairs of different
#'   points, which may be negative, and V, the mean over all pairs. `statistic` is `n` times V.
#' @seealso [pair-derivatives], [kernweave_test]
#' @concept kernel Stein discrepancy
#' @concept goodness of fit
#' @concept score function
#' @concept wild bootstrap
#' @export
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(200), 100)
#' ksd_test(x, function(x) -x)
#' ksd_test(rt(200, 3), function(x) -x, null = "moments")
ksd_test <- function(x, score, kernel = "inverse_multiquadric", null = c("signs", "moments"), R = 999,
                     ...) {
  refuse_more(...)
  null <- choice_of(null[1], c("signs", "moments"), "null")
  name <- deparse1(substitute(x))
  if (missing(score)) abort("input", "`score` is not given: gradients of a log density at `x`, or a function of `x`")
  x <- complete_points(x, "x")
  if (nrow(x) < 2) abort("data", "`x` has ", counted(nrow(x), "row"), "; two are needed")
  check_span(x, 1e75)  # derivatives contain fourth powers
  k <- smooth_kernel(test_kernel(kernel, x, most = 0))
  scores <- score_matrix(score, x)
  doubt_score(score, scores, strip_term(x))
  H <- stein_pairs(strip_term(x), scores, k)
  n <- nrow(x)
  own <- as.vector(diag(H))
  total <- sum(finite_row_sums(H))
  found <- sign_null(total / n, H, own, null, most_relabellings(null, R))
  as_test(c(nV = total / n), found, c(U = (total - sum(own)) / (n * (n - 1)), V = total / n^2),
          paste0("Kernel Stein test of fit (", null_text(found, "signs"), ")"), name, n, kernel = format(k),
          scale = kernel_parts(k)$parameters$scale, engine = engine_used(), call = match.call())
}

# Refuses kernels without second derivatives at equal points.
smooth_kernel <- function(k) {
  parts <- kernel_parts(k)
  lapply(parts$of, smooth_kernel)
  if (!identical(parts$name, "matern12") || is.function(parts$fun)) return(k)
  abort("unsupported", parts$title, " has a cusp where two points are one, and no derivatives there; \"matern32\" has")
}

# Warns if all scores have one sign; if the score is a function, only if it keeps this sign far away on both sides.
doubt_score <- function(score, scores, x) {
  one_sign <- function(s) all(s >= 0) || all(s <= 0)
  if (!any(scores != 0) || !one_sign(scores) || sum(!duplicated(x)) < 20) return(invisible())
  far <- if (is.function(score)) {
    tryCatch(suppressWarnings(score_matrix(score, rbind(1e3 * x, -1e3 * x))), error = function(e) NULL)
  }
  if (!one_sign(c(scores, far))) return(invisible())
  warn("score", "all scores are ", if (all(scores >= 0)) "positive" else "negative", ": `score` is the derivative ",
       "of the log density, such as function(z) -z for a standard normal, not a density or distribution function")
}

score_matrix <- function(score, x) {
  if (is.function(score)) score <- score(strip_term(x))
  if (is_reduction(score)) score <- as.matrix(score)
  if (is.list(score) && !is.data.frame(score)) score <- score[[1]]
  if (!is.numeric(score) && !is.data.frame(score)) {
    abort("input", "`score` must be or give a matrix with a row for each point, not ", describe(score))
  }
  score <- unname(as.matrix(score))
  if (!identical(dim(score), dim(x))) {
    abort("shape", "`score` is ", nrow(score), " x ", ncol(score), ", and `x` ", nrow(x), " x ", ncol(x))
  }
  check_complete(score, "score")
}

stein_pairs <- function(x, score, k) {
  X <- Vi(x, name = "x")
  Y <- Vj(x, name = "y")
  K <- k(X, Y)
  of_x <- Vi(score, name = "score_x")
  of_y <- Vj(score, name = "score_y")
  in_y <- lazy_gradient(K, Y)
  (of_x | of_y) * K + (of_x | in_y) + (of_y | lazy_gradient(K, X)) + divergence(in_y, X)
}

# Returns the null by random signs, or all of them if there are at most `most`; w and -w give the same statistic.
sign_null <- function(statistic, H, own, null, most) {
  n <- length(own)
  exhaustive <- n <= 40 && 2^(n - 1) <= most
  if (null == "moments" && !exhaustive) return(sign_moments(statistic, H, own))
  count <- if (exhaustive) 2^(n - 1) else most
  replicates <- in_blocks(count, n, 1, function(at) {
    W <- if (exhaustive) outer(seq_len(n), at - 1, function(i, code) 1 - 2 * (code %/% 2^(i - 1)) %% 2)
         else matrix(sample(c(-1, 1), n * length(at), replace = TRUE), n)
    colSums(W * (H %*% W)) / n
  }, "null = \"moments\"")
  from_replicates(statistic, replicates, exhaustive)
}

sign_moments <- function(statistic, H, own) {
  n <- length(own)
  unit <- power_of_two(max(abs(own)))
  apart <- H / unit * (row_index() != col_index())
  variance <- 2 * sum(apart^2, index = "ij")[1]
  if (!isTRUE(variance > 0)) abort("data", "the statistic is the same for all signs: the kernel is 0 off its diagonal")
  skewness <- 8 * third_trace(apart)$value / variance^1.5
  from_moments(statistic * n / unit, c(mean = sum(own / unit), variance = variance, skewness = skewness), unit / n)
}
