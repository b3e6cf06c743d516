# Tests of independence of two sets of variables: Hilbert-Schmidt criterion of two kernels, and distance covariance.

#' Tests of independence
#'
#' Test whether two sets of variables are independent. `hsic_test()` uses the Hilbert-Schmidt independence criterion
#' (HSIC) of two kernels, `dcor_test()` the distance covariance. Both find dependence of any form, not only linear.
#'
#' If A and B are the two kernel or distance matrices, centred so that rows and columns have mean 0, the statistic is
#' `sum(A * B) / n`: `n` times HSIC, or `n V^2` of `energy::dcov.test()`. `dCor`, the distance correlation, is the
#' square root of `sum(A * B) / sqrt(sum(A^2) * sum(B^2))`, between 0 and 1. `bc-dCor` is corrected for bias; it
#' estimates the square of the distance correlation and may be negative. A factor has one column per level, and two
#' levels are at distance 1. For two single variables and exponent 1, `dcor_test()` computes sums over pairs by sorting,
#' in time n log(n), for the statistic and for each permutation.
#'
#' With `null = "moments"` the p-value comes from Pearson's type III curve with the exact mean, variance and skewness of
#' the statistic over all permutations of the rows of `y`; this takes a few passes over the pairs. With
#' `null = "permutation"` each permutation takes one pass. If the rows have at most 1000 distinct orders (few rows, or
#' many equal rows in `x` or `y`), all orders are used even with `null = "moments"`, and the test is exact.
#'
#' If `x` and `y` are both discrete, the statistic may have few values, each of large probability. No curve fits such a
#' distribution: p-values by moments would be below those of permutations. If two random orders have the same table of
#' distinct rows of `x` and `y` with a probability above 0.001, `null = "moments"` is therefore replaced, with a
#' message. For two distinct rows of `x` and two of `y` the p-value is exact, from the hypergeometric distribution.
#' Otherwise it is from `R` random tables or, with more than 1000 distinct rows, from `R` permutations, with R's random
#' numbers.
#'
#' With `bandwidths`, or with lists of kernels, `hsic_test()` uses all pairs of a kernel of `x` and a kernel of `y`. The
#' statistic is the largest standardised statistic of all pairs, `max z`, with one p-value: see [mmd_test()]. Ten
#' bandwidths give 100 pairs.
#'
#' With moments and more than 20 000 rows, sums over pairs are approximated, see [mmd_test()], if both kernels are
#' Gaussian and `x` and `y` have three columns together at most, and for `dcor_test()` if both have one column. The time
#' is then proportional to the number of rows, a few seconds for a million.
#'
#' @param x,y the two sets of variables, a row per observation: matrices, data frames, vectors, factors or points of sf,
#'   as in [energy_test()]; or `x` a formula with variables on both sides, `cbind(a, b) ~ c + d`
#' @param kernel,kernel_y kernels of `x` and of `y`, as in [kernel_spec()], or lists of kernels; a scale that is not
#'   given is [median_scale()]
#' @param bandwidths length-scales for each of `x` and `y`: a count, or two numbers or more, as in [mmd_test()]; `NULL`,
#'   the default, for one length-scale
#' @param exponent exponent of the distances, above 0 and below 2
#' @param null null distribution: `"moments"` (the default) or `"permutation"`
#' @param R number of permutations
#' @param data,subset,na.action for a formula: as in [stats::lm()]
#' @param ... for a formula: the other arguments
#' @return A test of class [kernweave_test] and `htest`. For `hsic_test()`, `estimate` has HSIC and its normalised form,
#'   which is 1 if the two matrices are equal; for `dcor_test()`, the distance covariance and correlations. With several
#'   kernels, `kernels` is a data frame of the pairs of kernels, their statistics `T` and `z`, and `estimate` is that of
#'   the pair with the largest z. `accuracy` is that of approximated moments.
#' @seealso [energy_test()] for equality of distributions, [kernweave_test] for printing and plotting
#' @concept distance correlation
#' @concept distance covariance
#' @concept HSIC
#' @concept nonlinear dependence
#' @concept permutation test of independence
#' @name independence
#' @examples
#' dcor_test(iris[, 1:2], iris[, 3:4])
#' set.seed(1)
#' angle <- runif(200, 0, 2 * pi)
#' circle <- data.frame(a = cos(angle) + rnorm(200, sd = 0.1), b = sin(angle) + rnorm(200, sd = 0.1))
#' cor.test(~ a + b, circle)$p.value
#' hsic_test(a ~ b, circle)
#' hsic_test(a ~ b, circle, bandwidths = 3)
#' dcor_test(Ozone ~ Wind + Temp, airquality, null = "permutation", R = 199)
NULL

#' @rdname independence
#' @export
hsic_test <- function(x, ...) UseMethod("hsic_test")

#' @rdname independence
#' @export
hsic_test.default <- function(x, y, kernel = "gaussian", kernel_y = kernel, bandwidths = NULL,
                              null = c("moments", "permutation"), R = 999, ...) {
  refuse_more(...)
  name <- paste(deparse1(substitute(x)), "and", deparse1(substitute(y)))
  with_call(hsic_of(both_sets(x, if (!missing(y)) y), kernel, kernel_y, bandwidths, null, R, name), match.call())
}

#' @rdname independence
#' @export
hsic_test.formula <- function(x, data = NULL, kernel = "gaussian", kernel_y = kernel, bandwidths = NULL,
                              null = c("moments", "permutation"), R = 999, subset = NULL, na.action = NULL, ...) {
  refuse_more(...)
  sets <- formula_sets(x, data, na.action, substitute(subset))
  with_call(hsic_of(sets, kernel, kernel_y, bandwidths, null, R, deparse1(x)), match.call(), sets$dropped)
}

#' @rdname independence
#' @export
dcor_test <- function(x, ...) UseMethod("dcor_test")

#' @rdname independence
#' @export
dcor_test.default <- function(x, y, exponent = 1, null = c("moments", "permutation"), R = 999, ...) {
  refuse_more(...)
  name <- paste(deparse1(substitute(x)), "and", deparse1(substitute(y)))
  with_call(dcor_of(both_sets(x, if (!missing(y)) y), exponent, null, R, name), match.call())
}

#' @rdname independence
#' @export
dcor_test.formula <- function(x, data = NULL, exponent = 1, null = c("moments", "permutation"), R = 999,
                              subset = NULL, na.action = NULL, ...) {
  refuse_more(...)
  sets <- formula_sets(x, data, na.action, substitute(subset))
  with_call(dcor_of(sets, exponent, null, R, deparse1(x)), match.call(), sets$dropped)
}

both_sets <- function(x, y) {
  if (is.null(y)) abort("input", "`y` is not given; a formula has variables on both sides")
  check_sets(tested_points(x, "x"), tested_points(y, "y"))
}

formula_sets <- function(formula, data, na.action, subset) {
  sides <- formula_sides(formula, data, na.action, subset = subset_of(subset, data, environment(formula)))
  sets <- check_sets(complete_points(sides$left, "left side"), kernel_inputs(sides), c("left side", "right side"))
  sets$dropped <- sides$dropped
  sets
}

check_sets <- function(x, y, names = c("x", "y")) {
  if (nrow(x) != nrow(y)) {
    abort("shape", "`", names[1], "` has ", counted(nrow(x), "row"), ", and `", names[2], "` ", nrow(y))
  }
  check_distinct(x, names[1])
  check_distinct(y, names[2])
  list(x = x, y = y)
}

hsic_of <- function(sets, kernel, kernel_y, bandwidths, null, R, name) {
  null <- choice_of(null[1], c("moments", "permutation"), "null")
  ks <- test_kernels(kernel, bandwidths, sets$x)
  ls <- test_kernels(kernel_y, bandwidths, sets$y, "kernel_y")
  if (all(vapply(ks, ignores_place, NA))) sets$x <- near_origin(sets$x)
  if (all(vapply(ls, ignores_place, NA))) sets$y <- near_origin(sets$y)
  found <- dependence(sets, ks, ls, null, R)
  statistic <- found$sums[1] * found$unit / found$n
  estimate <- c(HSIC = statistic / found$n, normalised = found$sums[1] / sqrt(found$sums[2] * found$sums[3]))
  several <- !is.null(found$kernels)
  pairs <- if (several) paste0(length(ks), " x ", length(ls), " kernels, ")
  as_test(if (several) c("max z" = max(found$null$z)) else c(nHSIC = statistic), found$null, estimate,
          paste0("Kernel test of independence (", pairs, null_text(found$null), ")"), name, found$n,
          kernel = found$names, kernels = found$kernels, engine = engine_used())
}

dcor_of <- function(sets, exponent, null, R, name) {
  null <- choice_of(null[1], c("moments", "permutation"), "null")
  k <- kernel_spec("energy", scale = 1, exponent = check_exponent(exponent))
  points <- lapply(sets[c("x", "y")], unit_points)
  found <- dependence(list(x = points$x$x, y = points$y$x), list(k), list(k), null, R,
                      lines = exponent == 1 && ncol(sets$x) == 1 && ncol(sets$y) == 1)
  unit <- (points$x$unit * points$y$unit)^exponent
  statistic <- found$sums[1] * found$unit * unit / found$n
  share <- found$sums[1] / sqrt(found$sums[2] * found$sums[3])
  estimate <- c(dCov = sqrt(max(0, statistic / found$n)), dCor = sqrt(max(0, share)), "bc-dCor" = corrected(found))
  as_test(c("nV^2" = statistic), in_unit(found$null, unit), estimate,
          paste0("Distance covariance test of independence (", null_text(found$null), ")"), name, found$n,
          exponent = exponent, engine = engine_used())
}

# Compares two sides by each pair of kernels. `sums`: sum(A B), sum(A^2), sum(B^2) of the centred matrices of the pair
# with the largest statistic; `raw`: the same of the uncentred matrices. Each matrix is divided by its unit; `unit` is
# the product of both units. `lines`: both sides are one variable with distances, whose sums are computed by sorting.
dependence <- function(sets, ks, ls, null, R, lines = FALSE) {
  n <- nrow(sets$x)
  kernels <- list(x = unname(ks), y = unname(ls))
  at <- expand.grid(x = seq_along(ks), y = seq_along(ls))
  plan <- independence_plan(sets, kernels, null, R)
  line <- if (lines) distance_sums(as.vector(sets$x), as.vector(sets$y))
  joint <- if (!lines && plan$by_moments && n > most_rows_by_pairs) {
    Map(joint_kernel, kernels$x[at$x], kernels$y[at$y], list(sets$x), list(sets$y))
  }
  far <- plan$by_moments && (lines || length(joint) && !any(vapply(joint, is.null, NA)))
  side <- function(v, kernels, distances) {
    lapply(kernels, function(k) {
      centred_kernel(k(v), if (far) v, if (lines) product_tol else joint_tol(n), distances = distances)
    })
  }
  centred <- list(x = side(sets$x, kernels$x, line$rows_x), y = side(sets$y, kernels$y, line$rows_y))
  units <- lapply(centred, vapply, `[[`, 0, "unit")
  units <- units$x[at$x] * units$y[at$y]
  sums_of <- function(pair) {
    a <- centred$x[[at$x[pair]]]
    b <- centred$y[[at$y[pair]]]
    unit <- c(a$unit * b$unit, a$unit^2, b$unit^2)
    if (lines) c(line$centred / unit, line$raw / unit)
    else if (far) c(joint_sum(joint[[pair]], a, b), kernel_invariants(a)$t2, kernel_invariants(b)$t2)
    else sums_of_pair(a, b)
  }
  sums <- if (nrow(at) == 1) sums_of(1)
  first <- if (nrow(at) == 1) sums[1] else if (far) vapply(seq_len(nrow(at)), function(pair) sums_of(pair)[1], 0)
           else sums_of_products(lapply(centred$x, centred_lazily)[at$x], lapply(centred$y, centred_lazily)[at$y])
  names <- lapply(kernels, vapply, format, "")
  found <- independence_null(first, sets, kernels, centred, at, plan, lines, units / n,
                             paste0(names$x[at$x], ", ", names$y[at$y]))
  best <- if (nrow(at) == 1) 1 else which.max(found$z)
  if (nrow(at) > 1) sums <- sums_of(best)
  list(n = n, unit = units[best], sums = sums[1:3], raw = sums[4:6],
       rows = list(centred$x[[at$x[best]]]$sums, centred$y[[at$y[best]]]$sums), null = found,
       names = c(x = names$x[at$x[best]], y = names$y[at$y[best]]),
       kernels = if (nrow(at) > 1) data.frame(kernel = names$x[at$x], kernel_y = names$y[at$y], T = first * units / n,
                                              z = found$z, row.names = kernel_labels(ks, ls)))
}

sums_of_pair <- function(a, b) {
  A <- centred_lazily(a)
  B <- centred_lazily(b)
  vapply(reduction(list(A * B, A^2, B^2, a$K * b$K, a$K^2, b$K^2), "sum"), sum, 0, USE.NAMES = FALSE)
}

# Plans the null: by moments, by contingency tables of equal rows (`codes`), or by permutations of a side.
independence_plan <- function(sets, kernels, null, R) {
  moved <- moved_side(sets, kernels, most_relabellings(null, R))
  by_moments <- null == "moments" && !moved$plan$exhaustive
  codes <- if (by_moments) lapply(sets[c("x", "y")], row_codes)
  if (by_moments && has_atoms(codes$x, codes$y)) {
    tell_of_atoms()
    moved$plan$count <- check_replicates(R)
    return(list(by_moments = FALSE, moved = moved, codes = if (max(unlist(codes)) <= most_labels) codes))
  }
  list(by_moments = by_moments, moved = moved)
}

# The null of the sums over pairs, of each pair of kernels `at`. `kernels` and `centred` are lists of both sides. A
# statistic is `unit` times a sum.
independence_null <- function(sums, sets, kernels, centred, at, plan, lines, unit, names) {
  n <- nrow(sets$x)
  if (plan$by_moments) {
    invariants <- lapply(centred, lapply, kernel_invariants)
    return(largest_by_moments(sums, invariants$x[at$x], invariants$y[at$y], n, unit, {
      cross <- Map(cross_sums, kernels, sets[c("x", "y")], centred)
      permutation_covariances(cross$x, cross$y, cross$x$n)
    }, names))
  }
  moved <- plan$moved
  A <- lapply(centred, lapply, centred_lazily)
  if (!is.null(plan$codes)) {
    of_labels <- Map(function(A, codes) {
      firsts <- match(seq_len(max(codes)), codes)
      lapply(A, function(A) unname(as.matrix(A[firsts, firsts])))
    }, A, plan$codes)
    found <- null_by_tables(of_labels$x[at$x], of_labels$y[at$y], plan$codes$x, plan$codes$y, moved$plan$count)
    if (is.list(found)) return(exact_of_kernels(found, length(sums), unit[1]))
    found <- found * unit
  } else {
    permuted <- if (lines) line_permutations(sets[[moved$beside]], moved)
                else pair_permutations(A[[moved$beside]], moved, at, vapply(centred[[moved$side]], `[[`, 0, "unit"))
    found <- unname(cbind(sums, permuted)) * (unit * n) / n
  }
  means <- lapply(centred, vapply, function(one) mean(abs(one$means)) * one$unit, 0)
  largest_by_replicates(found[, 1], found[, -1, drop = FALSE], moved$plan$exhaustive,
                        n * means$x[at$x] * means$y[at$y], names)
}

# Chooses the side that is permuted: y, or x if x alone has few distinct permutations, since many of its rows are equal.
moved_side <- function(sets, kernels, most) {
  side <- function(which, beside) {
    v <- sets[[which]]
    codes <- row_codes(v)
    own <- structure(v[match(seq_len(max(codes)), codes), , drop = FALSE], term = attr(v, "term"))
    alike <- if (max(codes) <= 10) {
      each <- vapply(kernels[[which]], function(k) swappable(as.matrix(k(own)), tabulate(codes)), integer(max(codes)))
      row_codes(matrix(each, max(codes)))
    }
    plan <- relabellings(codes, most, alike = alike)
    list(v = v, kernels = kernels[[which]], codes = codes, plan = plan, side = which, beside = beside)
  }
  of_y <- side("y", "x")
  if (of_y$plan$exhaustive) return(of_y)
  of_x <- side("x", "y")
  if (of_x$plan$exhaustive) of_x else of_y
}

# Computes sums over pairs for each permutation, in columns, by one prepared pass for up to 100 pairs of kernels.
pair_permutations <- function(A, moved, at, units) {
  v <- moved$v
  points <- lapply(list(Vi, Vj), function(V) V(dim = ncol(v), name = "moved"))
  Ks <- Map(function(k, unit) {
    K <- k(structure(points[[1]], term = attr(v, "term")), points[[2]])
    if (unit == 1) K else K / unit
  }, moved$kernels, units)
  passes <- lapply(split(seq_len(nrow(at)), (seq_len(nrow(at)) - 1) %/% 100), function(some) {
    terms <- Map(`*`, A[at[[moved$beside]][some]], Ks[at[[moved$side]][some]])
    as.function(reduction(terms, "sum", index = "ij", call = FALSE))
  })
  v <- unname(strip_term(v))
  plan <- moved$plan
  begin_work("relabelling", steps = plan$count, quicker = "null = \"moments\"")
  on.exit(end_work("relabelling"))
  replicates <- lapply(seq_len(plan$count), function(k) {
    order <- match(plan$codes(k)[, 1], moved$codes)
    moved <- v[order, , drop = FALSE]
    out <- unlist(lapply(passes, function(pass) pass(moved, moved)), use.names = FALSE)
    step_work("relabelling")
    out
  })
  do.call(cbind, replicates)
}

line_permutations <- function(beside, moved) {
  n <- length(moved$codes)
  numbers <- in_blocks(moved$plan$count, n, 1, function(at) {
    orders <- matrix(match(moved$plan$codes(at), moved$codes), n)
    distance_sums(as.vector(beside), as.vector(moved$v), orders)$numbers
  }, "null = \"moments\"")
  matrix(numbers, 1)
}

# Returns the bias-corrected correlation, that is, of the U-centred matrices, from sums of the uncentred matrices.
corrected <- function(found) {
  n <- found$n
  if (n < 4) return(NA_real_)
  product <- function(sum, a, b) {
    (sum - 2 / (n - 2) * sum(a * b) + sum(a) * sum(b) / ((n - 1) * (n - 2))) / (n * (n - 3))
  }
  a <- found$rows[[1]]
  b <- found$rows[[2]]
  product(found$raw[1], a, b) / sqrt(product(found$raw[2], a, a) * product(found$raw[3], b, b))
}
