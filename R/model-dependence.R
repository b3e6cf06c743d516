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
#' levels are at distance 1. For two single variables, `energy::dcor2d()` is faster, as it does not compute all pairs.
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
#' @param x,y the two sets of variables, a row per observation: matrices, data frames, vectors or factors; or `x` a
#'   formula with variables on both sides, `cbind(a, b) ~ c + d`
#' @param kernel,kernel_y kernels of `x` and of `y`, as in [kernel_spec()]; a scale that is not given is
#'   [median_scale()]
#' @param exponent exponent of the distances, above 0 and below 2
#' @param null null distribution: `"moments"` (the default) or `"permutation"`
#' @param R number of permutations
#' @param data,subset,na.action for a formula: as in [stats::lm()]
#' @param ... for a formula: the other arguments
#' @return A test of class [kernweave_test] and `htest`. For `hsic_test()`, `estimate` has HSIC and its normalised form,
#'   which is 1 if the two matrices are equal; for `dcor_test()`, the distance covariance and correlations.
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
#' dcor_test(Ozone ~ Wind + Temp, airquality, null = "permutation", R = 199)
NULL

#' @rdname independence
#' @export
hsic_test <- function(x, ...) UseMethod("hsic_test")

#' @rdname independence
#' @export
hsic_test.default <- function(x, y, kernel = "gaussian", kernel_y = kernel, null = c("moments", "permutation"),
                              R = 999, ...) {
  refuse_more(...)
  name <- paste(deparse1(substitute(x)), "and", deparse1(substitute(y)))
  hsic_of(both_sets(x, if (!missing(y)) y), kernel, kernel_y, null, R, name)
}

#' @rdname independence
#' @export
hsic_test.formula <- function(x, data = NULL, kernel = "gaussian", kernel_y = kernel,
                              null = c("moments", "permutation"), R = 999, subset = NULL, na.action = NULL, ...) {
  refuse_more(...)
  sets <- formula_sets(x, data, na.action, substitute(subset))
  with_left_out(hsic_of(sets, kernel, kernel_y, null, R, deparse1(x)), sets$dropped)
}

#' @rdname independence
#' @export
dcor_test <- function(x, ...) UseMethod("dcor_test")

#' @rdname independence
#' @export
dcor_test.default <- function(x, y, exponent = 1, null = c("moments", "permutation"), R = 999, ...) {
  refuse_more(...)
  name <- paste(deparse1(substitute(x)), "and", deparse1(substitute(y)))
  dcor_of(both_sets(x, if (!missing(y)) y), exponent, null, R, name)
}

#' @rdname independence
#' @export
dcor_test.formula <- function(x, data = NULL, exponent = 1, null = c("moments", "permutation"), R = 999,
                              subset = NULL, na.action = NULL, ...) {
  refuse_more(...)
  sets <- formula_sets(x, data, na.action, substitute(subset))
  with_left_out(dcor_of(sets, exponent, null, R, deparse1(x)), sets$dropped)
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

hsic_of <- function(sets, kernel, kernel_y, null, R, name) {
  null <- choice_of(null[1], c("moments", "permutation"), "null")
  k <- test_kernel(kernel, sets$x)
  l <- test_kernel(kernel_y, sets$y)
  if (ignores_place(k)) sets$x <- near_origin(sets$x)
  if (ignores_place(l)) sets$y <- near_origin(sets$y)
  found <- dependence(sets, k, l, null, R)
  statistic <- found$sums[1] * found$unit / found$n
  estimate <- c(HSIC = statistic / found$n, normalised = found$sums[1] / sqrt(found$sums[2] * found$sums[3]))
  as_test(c(nHSIC = statistic), found$null, estimate,
          paste0("Kernel test of independence (", null_text(found$null), ")"), name, found$n,
          kernel = c(x = format(k), y = format(l)), engine = engine_used())
}

dcor_of <- function(sets, exponent, null, R, name) {
  null <- choice_of(null[1], c("moments", "permutation"), "null")
  k <- kernel_spec("energy", scale = 1, exponent = check_exponent(exponent))
  points <- lapply(sets[c("x", "y")], unit_points)
  found <- dependence(list(x = points$x$x, y = points$y$x), k, k, null, R)
  unit <- (points$x$unit * points$y$unit)^exponent
  statistic <- found$sums[1] * found$unit * unit / found$n
  share <- found$sums[1] / sqrt(found$sums[2] * found$sums[3])
  estimate <- c(dCov = sqrt(max(0, statistic / found$n)), dCor = sqrt(max(0, share)), "bc-dCor" = corrected(found))
  as_test(c("nV^2" = statistic), in_unit(found$null, unit), estimate,
          paste0("Distance covariance test of independence (", null_text(found$null), ")"), name, found$n,
          exponent = exponent, engine = engine_used())
}

# The sums over pairs of A B, A^2 and B^2, of the centred matrices and as they are, in one pass; each in the unit of its
# matrix, `unit` is that of A B.
dependence <- function(sets, k, l, null, R) {
  centred <- list(centred_kernel(k(sets$x)), centred_kernel(l(sets$y)))
  A <- centred_lazily(centred[[1]])
  B <- centred_lazily(centred[[2]])
  K <- centred[[1]]$K
  L <- centred[[2]]$K
  sums <- vapply(reduction(list(A * B, A^2, B^2, K * L, K^2, L^2), "sum"), sum, 0, USE.NAMES = FALSE)
  n <- nrow(sets$x)
  unit <- centred[[1]]$unit * centred[[2]]$unit
  moved <- moved_side(sets, k, l, most_relabellings(null, R))
  moved$unit <- centred[[3 - moved$beside]]$unit
  asked <- null == "moments" && !moved$plan$exhaustive
  codes <- if (asked) lapply(sets[c("x", "y")], row_codes)
  discrete <- asked && has_atoms(codes$x, codes$y)
  if (discrete) {
    tell_of_atoms()
    moved$plan$count <- check_replicates(R)
  }
  found <- if (discrete && max(unlist(codes)) <= most_labels) {
    firsts <- lapply(codes, function(labels) match(seq_len(max(labels)), labels))
    null_by_tables(unname(as.matrix(A[firsts$x, firsts$x])), unname(as.matrix(B[firsts$y, firsts$y])), codes$x,
                   codes$y, moved$plan$count, unit / n)
  } else if (asked && !discrete) {
    invariants <- lapply(centred, kernel_invariants)
    moments_null(sums[1], invariants[[1]], invariants[[2]], n, unit / n)
  } else in_unit(pair_permutations(sums[1] / n, list(A, B)[[moved$beside]], moved), unit)
  list(n = n, unit = unit, sums = sums[1:3], raw = sums[4:6], rows = lapply(centred, `[[`, "sums"), null = found)
}

# Chooses the side that is put in other orders: y, or x if only x has few orders, since many of its rows are alike.
moved_side <- function(sets, k, l, most) {
  side <- function(v, kernel, beside) {
    codes <- row_codes(v)
    own <- structure(v[match(seq_len(max(codes)), codes), , drop = FALSE], term = attr(v, "term"))
    alike <- if (max(codes) <= 10) swappable(as.matrix(kernel(own)), tabulate(codes))
    plan <- relabellings(codes, most, alike = alike)
    list(v = v, kernel = kernel, codes = codes, plan = plan, beside = beside)
  }
  of_y <- side(sets$y, l, 1)
  if (of_y$plan$exhaustive) return(of_y)
  of_x <- side(sets$x, k, 2)
  if (of_x$plan$exhaustive) of_x else of_y
}

# A pass over the pairs for each permutation, planned once: several that share A take no less.
pair_permutations <- function(statistic, A, moved) {
  v <- moved$v
  n <- nrow(v)
  points <- lapply(list(Vi, Vj), function(V) V(dim = ncol(v), name = "moved"))
  K <- moved$kernel(structure(points[[1]], term = attr(v, "term")), points[[2]])
  pass <- as.function(sum(A * K, index = "ij", call = FALSE))
  v <- unname(strip_term(v))
  plan <- moved$plan
  begin_work("relabelling", steps = plan$count, quicker = "null = \"moments\"")
  on.exit(end_work("relabelling"))
  replicates <- vapply(seq_len(plan$count), function(k) {
    order <- match(plan$codes(k)[, 1], moved$codes)
    out <- pass(v[order, , drop = FALSE], v[order, , drop = FALSE])[1] / (n * moved$unit)
    step_work("relabelling")
    out
  }, 0)
  from_replicates(statistic, replicates, plan$exhaustive)
}

# The correlation of U-centred matrices, from sums of the matrices as they are.
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
