# Tests of equal distributions: maximum mean discrepancy and energy distance of two groups or more.

#' Tests of equal distributions
#'
#' Test whether two or more samples, of any dimension, come from the same distribution. `mmd_test()` uses the maximum
#' mean discrepancy (MMD) of a kernel. `energy_test()` uses the energy distance, which is the MMD of the kernel
#' `-d^exponent`. Use them when samples may differ in more than their means.
#'
#' The statistic is the sum over pairs of groups a and b of `n_a n_b / (n_a + n_b)` times their squared discrepancy,
#' computed from all pairs of points. With the energy distance it equals the statistic of `energy::eqdist.etest()`. A
#' kernel without a scale uses [median_scale()] of all points, which does not depend on the labels. A factor among the
#' variables has one column per level, and two levels are at distance 1.
#'
#' @section P-values:
#' With `null = "permutation"` the p-value comes from `R` random relabellings of the rows, or from all relabellings if
#' there are at most `R`. With `null = "moments"` it comes from the exact mean, variance and skewness of the statistic
#' over all relabellings, matched by Pearson's type III curve. Moments are faster for large samples and reliable down to
#' p = 0.001; smaller values are reported as < 0.001. Use permutations if you need smaller p-values.
#'
#' If there are at most 1000 relabellings, the test uses all of them even with `null = "moments"`. It is then exact: its
#' p-value is never below the smallest that relabellings can give. If the samples are discrete, the statistic has few
#' values and no curve fits: `null = "moments"` then uses `R` random relabellings, with a message (see [hsic_test()]).
#' Relabellings that only swap the names of groups of equal size have the same statistic; if all relabellings are too
#' many, the test uses one relabelling of each such set. Random numbers come from R's generator, so use `set.seed()`.
#'
#' @section Several kernels:
#' The power of a kernel test depends on the length-scale: a test with a large scale does not detect differences in
#' detail. `bandwidths = 10` uses one kernel with ten length-scales, from an eighth to eight times its scale, by default
#' the median distance. Two numbers or more are the length-scales themselves. With a list, `kernel = list(k1, k2)`, the
#' kernels may differ in more than their scales. In any case there is one test with one p-value, which is valid although
#' several kernels are used (Schrab and others, 2023, and Biggs and others, 2023, describe similar tests).
#'
#' The statistics of all kernels are computed for the same relabellings. Each is standardised by its mean and standard
#' deviation over all of them, the observed labels included, and the largest one is the test statistic, `max z`. Its
#' p-value is the proportion of relabellings with a `max z` at least as large: the level is exact for any set of
#' kernels, as long as it does not depend on the labels. With `null = "moments"`, z is the normal quantile of the
#' p-value of each kernel, and `max z` is compared with the largest of normal random numbers with the correlations of
#' the statistics over all relabellings (computed from 2000 of the rows if there are more than 4000).
#'
#' @section Many rows:
#' With `null = "moments"` and more than 20 000 rows in one, two or three dimensions, sums over pairs are approximated
#' sums, see [approximate()], of the kernel, its square and its cube. Time is proportional to the number of rows: a
#' million rows take seconds for one kernel, and less than a minute for ten. The skewness also needs the trace of the
#' third power of the kernel matrix, which is estimated from 5000 to 20 000 of the rows. The printed test has the
#' relative error of the variance and the standard error of the skewness, `accuracy`. The kernel must be a function of
#' the Euclidean distance; other kernels, and points in more dimensions, take all pairs.
#'
#' @section Slices:
#' With `slices`, no pairs are computed. Up to a known factor, the distance of two points is the mean distance of their
#' projections on lines in all directions. On a line, sorting replaces the pairs. Independent random directions thus
#' give an unbiased estimate of the statistic, with a standard error; for a single variable the statistic is exact. The
#' standard error depends on the number of directions, not of points, while the time is proportional to the number of
#' points times `slices`. Use slices for many points in four or more dimensions. The permutation test uses the same
#' directions for all relabellings, so that its level is exact even with few slices. Slices are available for the
#' distance itself (`energy_test()` with exponent 1, or `kernel = "energy"`) with permutations, and run on the CPU.
#'
#' @section Precision and warnings:
#' Energy statistics are computed from rescaled points, so that coordinates may be as large or small as double precision
#' allows. With other kernels, squared distances beyond the range of double precision give an error. If the kernel is
#' linear or a function of differences, points far from 0 are first moved to 0, which does not change the statistic.
#'
#' A warning of class `kernweave_warning_groups` says that there are more groups than half the number of rows, or that
#' most groups have a single row. Usually the two sides of the formula have been swapped.
#'
#' @param x the points of the first sample, or of all samples (a matrix, data frame, vector or points of sf: longitudes
#'   and latitudes by chords of the globe); or a formula, with the variables on the left and the groups on the right
#' @param y the points of the second sample; columns are matched by name if both have names
#' @param groups instead of `y`: the group of each row of `x`, two or more groups
#' @param kernel the kernel, as in [kernel_spec()], or a list of kernels
#' @param bandwidths length-scales: a count, or two numbers or more; `NULL`, the default, for one length-scale
#' @param exponent the exponent of the distance, above 0 and below 2
#' @param null the null distribution: `"permutation"`, the default, or `"moments"`
#' @param R number of permutations
#' @param strata labels; rows are permuted only within strata
#' @param slices number of random directions to use instead of all pairs, from a hundred to some thousands; `NULL` for
#'   the exact statistic
#' @param data,subset,na.action for a formula: as in [stats::lm()]; the printed test gives the number of rows left out
#' @param ... for a formula: the other arguments
#' @return A test of class [kernweave_test] and `htest`. For two groups, `estimate` of `mmd_test()` has the unbiased
#'   squared discrepancy, which may be negative, and the biased discrepancy, not squared. `estimate` of `energy_test()`
#'   is the energy distance. `pairwise` has the squared discrepancies, or energy distances, between all groups;
#'   `replicates` or `moments` describe the null distribution. With several kernels, `kernels` is a data frame of the
#'   kernels, their statistics `T`, and `z`; `kernel`, `scale`, `estimate` and `pairwise` are those of the kernel with
#'   the largest z. `accuracy` is that of approximated moments. With `slices`, `stderr` is the standard error of the
#'   statistic as an estimate of the statistic from all pairs.
#' @references
#' Biggs, F., Schrab, A. and Gretton, A. (2023) MMD-FUSE: Learning and combining kernels for two-sample testing without
#' data splitting. Advances in Neural Information Processing Systems 36.
#'
#' Schrab, A., Kim, I., Albert, M., Laurent, B., Guedj, B. and Gretton, A. (2023) MMD aggregated two-sample test.
#' Journal of Machine Learning Research 24, 1-81.
#' @seealso [dcor_test()] for dependence, [permanova()] for designs, [kernweave_test] for plotting
#' @concept two-sample test
#' @concept maximum mean discrepancy
#' @concept energy distance
#' @concept permutation test
#' @concept multivariate nonparametric test
#' @concept sliced distance
#' @concept aggregated test, choice of the bandwidth
#' @name two-samples
#' @examples
#' set.seed(1)
#' energy_test(iris[1:50, 1:4], iris[51:100, 1:4], R = 199)
#' mmd_test(cbind(mpg, wt) ~ cyl, data = mtcars, R = 199)
#' mmd_test(cbind(mpg, wt) ~ cyl, data = mtcars, null = "moments")
#' # forty dimensions: 200 random directions instead of all pairs
#' x <- matrix(rnorm(40 * 500), 500)
#' y <- matrix(rnorm(40 * 500, sd = 1.1), 500)
#' energy_test(x, y, R = 99, slices = 200)
#' # ten length-scales in one test, and kernels of your choice
#' mmd_test(cbind(mpg, wt) ~ am, data = mtcars, bandwidths = 10, R = 199)
#' mmd_test(mtcars$wt, groups = mtcars$am, kernel = list("gaussian", "energy"), R = 199)
#' # one variable, with a kernel and a length-scale of your choice
#' mmd_test(mtcars$wt, groups = mtcars$am, kernel = kernel_spec("matern32", scale = 0.5), R = 199)
NULL

#' @rdname two-samples
#' @export
mmd_test <- function(x, ...) UseMethod("mmd_test")

#' @rdname two-samples
#' @export
mmd_test.default <- function(x, y = NULL, groups = NULL, kernel = "gaussian", bandwidths = NULL,
                             null = c("permutation", "moments"), R = 999, strata = NULL, slices = NULL, ...) {
  refuse_more(...)
  name <- samples_name(substitute(x), substitute(y), substitute(groups))
  with_call(mmd_of(pooled(x, y, groups), kernel, bandwidths, null, R, strata, slices, name), match.call())
}

#' @rdname two-samples
#' @export
mmd_test.formula <- function(x, data = NULL, kernel = "gaussian", bandwidths = NULL,
                             null = c("permutation", "moments"), R = 999, strata = NULL, slices = NULL, subset = NULL,
                             na.action = NULL, ...) {
  refuse_more(...)
  sample <- formula_sample(x, data, na.action, substitute(strata), substitute(subset))
  found <- mmd_of(sample, kernel, bandwidths, null, R, sample$strata, slices, deparse1(x))
  with_call(found, match.call(), sample$dropped)
}

#' @rdname two-samples
#' @export
energy_test <- function(x, ...) UseMethod("energy_test")

#' @rdname two-samples
#' @export
energy_test.default <- function(x, y = NULL, groups = NULL, exponent = 1, null = c("permutation", "moments"), R = 999,
                                strata = NULL, slices = NULL, ...) {
  refuse_more(...)
  name <- samples_name(substitute(x), substitute(y), substitute(groups))
  with_call(energy_of(pooled(x, y, groups), exponent, null, R, strata, slices, name), match.call())
}

#' @rdname two-samples
#' @export
energy_test.formula <- function(x, data = NULL, exponent = 1, null = c("permutation", "moments"), R = 999,
                                strata = NULL, slices = NULL, subset = NULL, na.action = NULL, ...) {
  refuse_more(...)
  sample <- formula_sample(x, data, na.action, substitute(strata), substitute(subset))
  found <- energy_of(sample, exponent, null, R, sample$strata, slices, deparse1(x))
  with_call(found, match.call(), sample$dropped)
}

# --- the samples --------------------------------------------------------------------------------------------

samples_name <- function(x, y, groups) {
  if (!is.null(y)) return(paste(deparse1(x), "and", deparse1(y)))
  paste(deparse1(x), "by", deparse1(groups))
}

# Returns all points, and the group number of each point.
pooled <- function(x, y, groups) {
  if (is.null(y) == is.null(groups)) {
    abort("input", "give either `y`, the second sample, or `groups`, a label for each row of `x`")
  }
  given <- point_numbers(x, by_chords = TRUE)
  x <- given$x
  if (is.null(y)) {
    sample <- grouped(tested_points(x, "x"), groups, "groups")
    check_group_sizes(sample, "groups", "`x` has the variables, `groups` their labels")
    return(sample)
  }
  if ((is.factor(y) || is.character(y)) && !is.factor(x) && !is.character(x)) {
    abort("input", "`y` is texts, and `x` is not; labels of the rows of `x` are given by `groups = `, a second sample ",
          "by `y`")
  }
  both <- matched_columns(x, place_numbers(y, given$places, "y"))
  tested_points(both$x, "x")
  tested_points(both$y, "y", told = TRUE)
  list(x = as_inputs(rbind_inputs(both$x, both$y), "x and y"), codes = rep(1:2, c(NROW(both$x), NROW(both$y))),
       labels = c("x", "y"))
}

# Matches the columns of both samples; a variable that is in one sample only is an error.
matched_columns <- function(x, y) {
  if (NCOL(x) != NCOL(y)) {
    abort("shape", "`x` has ", counted(NCOL(x), "column"), " and `y` ", NCOL(y), ": the same variables are wanted")
  }
  y <- columns_like(y, list(columns = colnames(x)), "y")
  texts <- function(v) {
    if (is.data.frame(v)) vapply(v, texts, NA) else is.character(v) || is.factor(v)
  }
  differ <- which(texts(x) != texts(y))
  if (length(differ)) {
    abort("input", "`x` and `y` are ", if (texts(x)[differ[1]]) "texts and numbers" else "numbers and texts",
          if (NCOL(x) > 1) paste(", in column", differ[1]), ": the same variables are wanted")
  }
  list(x = x, y = y)
}

rbind_inputs <- function(x, y) {
  if (is.data.frame(x) || is.data.frame(y)) {
    x <- as.data.frame(x)
    return(rbind(x, stats::setNames(as.data.frame(y), names(x)), make.row.names = FALSE))
  }
  if (is.factor(x)) return(factor(c(as.character(x), as.character(y))))
  if (is.null(dim(x)) && is.null(dim(y))) return(c(x, y))
  rbind(as.matrix(x), as.matrix(y))
}

# Returns points with codes and labels of groups. `hint`: text that the error adds if numbers are not labels.
grouped <- function(x, groups, argument, hint = NULL) {
  if (is.data.frame(groups) && ncol(groups) == 1) groups <- groups[[1]]
  if (!is.atomic(groups) || length(dim(groups)) > 1) {
    abort("input", "`", argument, "` must be a label for each row, not ", describe(groups))
  }
  if (length(groups) != nrow(x)) {
    abort("shape", "`", argument, "` has ", counted(length(groups), "label"), " for ", counted(nrow(x), "row"))
  }
  if (anyNA(groups)) {
    abort("data", "`", argument, "` has missing labels in ", counted(sum(is.na(groups)), "row"), ": ",
          first_few(which(is.na(groups))))
  }
  if (is.double(groups) && !is.object(groups) && any(groups != round(groups))) {
    abort("input", "`", argument, "` must be labels: whole numbers, a factor or texts, not ",
          format(groups[groups != round(groups)][1]), hint)
  }
  groups <- droplevels(as.factor(groups))
  if (nlevels(groups) < 2) abort("data", "`", argument, "` has ", counted(nlevels(groups), "group"), "; two are needed")
  list(x = x, codes = as.integer(groups), labels = levels(groups))
}

# Warns if there are more groups than half the rows, or if most groups have one row: the groups may be a measurement.
check_group_sizes <- function(sample, argument, hint) {
  sizes <- tabulate(sample$codes)
  g <- length(sizes)
  single <- sum(sizes == 1)
  if (g < 3 || 2 * g <= sum(sizes) && 2 * single <= g) return(invisible())
  warn("groups", "`", argument, "` has ", counted(g, "group"), " for ", counted(sum(sizes), "row"),
       if (single) paste0(", ", single, " of them of one row"), ": ", hint)
}

formula_sample <- function(formula, data, na.action, strata, subset) {
  subset <- subset_of(subset, data, environment(formula))
  refuse_sum(formula)
  sides <- formula_sides(formula, data, na.action, subset = subset)
  if (ncol(sides$right) != 1) {
    abort("input", "the right side of the formula must be one factor, the groups, not ",
          counted(ncol(sides$right), "variable"), "; the variables stand on the left, as in cbind(u, v) ~ group")
  }
  x <- complete_points(sides$left, "left side")
  sample <- grouped(x, sides$right[[1]], names(sides$right), "; groups stand on the right, the variables on the left")
  turned <- if (is.name(formula[[2]]) && formula[[2]] != quote(.))
    paste0(", as in ", deparse1(formula[[3]]), " ~ ", formula[[2]])
  check_group_sizes(sample, names(sides$right), paste0("groups stand on the right of the formula", turned))
  sample[c("left", "dropped")] <- sides[c("left", "dropped")]
  sample$strata <- strata_of(strata, data, environment(formula), subset, sides$dropped)
  sample
}

# Evaluates strata in the data, and drops the rows that the formula dropped.
strata_of <- function(strata, data, where, subset, dropped) {
  strata <- found_variables(eval(strata, if (is.data.frame(data)) data, where), data, "`strata`")
  if (!is.null(subset)) strata <- kept_rows(strata, subset)
  if (is.null(dropped) || is.null(strata)) strata else strata[-dropped]
}

# --- the statistics -----------------------------------------------------------------------------------------

mmd_of <- function(sample, kernel, bandwidths, null, R, strata, slices, name) {
  null <- choice_of(null[1], c("permutation", "moments"), "null")
  ks <- test_kernels(kernel, bandwidths, sample$x)
  if (all(vapply(ks, ignores_place, NA))) sample$x <- near_origin(sample$x)
  found <- compared(sample, ks, null, R, strata, slices)
  k <- ks[[found$best]]
  estimate <- if (found$g == 2) {
    n <- found$sizes
    own <- sum((unname(diag(found$S)) - found$own) / (n * (n - 1)))  # without pairs of a point with itself
    unbiased <- if (all(n > 1)) own - 2 * found$S[[1, 2]] / prod(n) else NA_real_
    c("unbiased MMD^2" = unbiased, "biased MMD" = sqrt(max(0, found$pairwise[1, 2])))
  }
  statistic <- if (length(ks) == 1) c(T = found$statistic) else c("max z" = max(found$null$z))
  samples_test(statistic, found, estimate, "Kernel test of equal distributions", name, kernel = format(k),
               scale = kernel_parts(k)$parameters$scale, kernels = found$kernels)
}

energy_of <- function(sample, exponent, null, R, strata, slices, name) {
  null <- choice_of(null[1], c("permutation", "moments"), "null")
  k <- kernel_spec("energy", scale = 1, exponent = check_exponent(exponent))
  points <- unit_points(sample$x)
  sample$x <- points$x
  found <- compared(sample, list(k), null, R, strata, slices)
  unit <- points$unit^exponent
  found$null <- in_unit(found$null, unit)
  for (one in intersect(c("statistic", "pairwise", "stderr"), names(found))) found[[one]] <- found[[one]] * unit
  estimate <- if (found$g == 2) c("energy distance" = found$pairwise[1, 2])
  samples_test(c(E = found$statistic), found, estimate, "Energy test of equal distributions", name,
               exponent = exponent)
}

check_exponent <- function(exponent) {
  ok <- is.numeric(exponent) && length(exponent) == 1 && is.finite(exponent) && exponent > 0 && exponent < 2
  if (!ok) abort("value", "`exponent` must be a number between 0 and 2, not ", format_value(exponent))
  as.numeric(exponent)
}

samples_test <- function(statistic, found, estimate, method, name, ...) {
  sliced <- !is.null(found$slices)
  method <- paste0(method, " (", found$g, " groups, ", if (sliced) paste0(counted(found$slices, "slice"), ", "),
                   if (!is.null(found$kernels)) paste0(nrow(found$kernels), " kernels, "), null_text(found$null), ")")
  engine <- engine_used()
  if (sliced) engine[c("device", "precision")] <- c("cpu", "float64")
  as_test(statistic, found$null, estimate, method, name, found$n, pairwise = found$pairwise, sizes = found$sizes,
          engine = engine, slices = found$slices, stderr = found$stderr, ...)
}

# Compares groups by each kernel; pairwise results are those by the kernel with the largest statistic.
compared <- function(sample, ks, null, R, strata, slices) {
  if (!is.null(slices)) return(compared_by_slices(sample, ks[[1]], R, strata, check_slices(slices, ks, null)))
  check_distinct(sample$x)
  sizes <- tabulate(sample$codes)
  n <- nrow(sample$x)
  g <- length(sizes)
  strata <- check_strata(strata, n, null)
  plan <- relabellings(sample$codes, most_relabellings(null, R), strata, sizes)
  by_moments <- null == "moments" && !plan$exhaustive
  if (by_moments && has_atoms(row_codes(sample$x), sample$codes)) {
    tell_of_atoms()
    plan$count <- check_replicates(R)
    by_moments <- FALSE
  }
  each <- lapply(ks, sums_of_groups, sample, g, by_moments, if (length(ks) == 1) statistic_tol else product_tol)
  S <- lapply(each, `[[`, "S")
  statistic_of <- function(S) sum(outer(sizes, sizes) / outer(sizes, sizes, "+") * discrepancies(S, sizes)) / 2
  statistics <- vapply(unname(S), statistic_of, 0)
  names <- vapply(unname(ks), format, "")
  found <- if (by_moments) {
    units <- vapply(each, `[[`, 0, "unit")
    labels <- function(sizes) block_invariants(label_weights(sizes), sizes)
    largest_by_moments(statistics / units, lapply(each, `[[`, "invariants"), list(labels(sizes)), n, units, {
      cross <- cross_sums(ks, sample$x, lapply(each, `[[`, "centred"))
      permutation_covariances(cross, labels(sizes * cross$n / n), cross$n)
    }, names)
  } else {
    replicates <- in_blocks(plan$count, n, g - 1, function(at) {
      codes <- plan$codes(at)
      do.call(rbind, lapply(each, function(one) apply(block_sums(one$K, codes, one$sums, g), 3, statistic_of)))
    }, if (is.null(strata)) "null = \"moments\"")
    terms <- vapply(S, function(S) sum(abs(label_weights(sizes) * S)), 0)
    largest_by_replicates(statistics, matrix(replicates, length(ks)), plan$exhaustive, terms, names)
  }
  best <- if (is.null(found$z)) 1 else which.max(found$z)
  list(statistic = statistics[best], null = found, S = S[[best]], n = n, g = g, best = best,
       sizes = stats::setNames(sizes, sample$labels), pairwise = discrepancies(S[[best]], sizes, sample$labels),
       own = as.vector(rowsum(as.vector(diag(each[[best]]$K)), sample$codes)),
       kernels = if (!is.null(found$z)) data.frame(kernel = names, T = statistics, z = found$z,
                                                           row.names = kernel_labels(ks)))
}

# Sums a kernel over rows and over blocks of groups; for moments adds its invariants. Small centred kernels are kept.
sums_of_groups <- function(k, sample, g, by_moments, tol) {
  K <- k(sample$x)
  codes <- matrix(sample$codes)
  if (!by_moments) {
    sums <- finite_row_sums(K)
    return(list(K = K, sums = sums, S = unname(block_sums(K, codes, sums, g)[, , 1])))
  }
  centred <- centred_kernel(K, sample$x, tol, beside = label_columns(codes, g))
  KZ <- if (is.null(centred$beside)) K %*% label_columns(codes, g) else centred$beside * centred$unit
  list(K = K, S = unname(block_sums(K, codes, centred$sums * centred$unit, g, KZ)[, , 1]), unit = centred$unit,
       invariants = kernel_invariants(centred), centred = if (nrow(sample$x) <= rows_of_correlations) centred)
}

# The squared discrepancies of all pairs of groups, from the sums over blocks of the kernel.
discrepancies <- function(S, sizes, labels = NULL) {
  means <- S / outer(sizes, sizes)
  out <- outer(diag(means), diag(means), "+") - 2 * means
  diag(out) <- 0
  dimnames(out) <- if (!is.null(labels)) list(labels, labels)
  out
}

# Returns weights, by the groups of both rows, with which the statistic is a weighted sum of the kernel over pairs.
label_weights <- function(sizes) {
  pairs <- outer(sizes, sizes) / outer(sizes, sizes, "+")
  diag(pairs) <- 0
  weights <- -1 / outer(sizes, sizes, "+")
  diag(weights) <- rowSums(pairs) / sizes^2
  weights
}
