# Permutational analysis of variance: sums of squares of a design from distances alone.

#' Permutational multivariate analysis of variance (PERMANOVA)
#'
#' Partitions the variation among points, measured by any distance, among the terms of a design and tests each term. Use
#' it as a multivariate analysis of variance when the variables are not normal, or when only a distance makes sense.
#'
#' With Euclidean distances, each sum of squares is the total of the sums of squares of the variables. With
#' `null = "permutation"`, the rows themselves are permuted for the first term and for the whole model. For the other
#' terms, the residuals under the preceding terms (`by = "terms"`) or under all other terms (`by = "margin"`) are
#' permuted. With `null = "moments"`, which is faster for many points, the p-value comes from exact moments as in
#' [mmd_test()], for the whole model or for a single term. If the rows of the design have at most `R` distinct orders
#' (with moments, at most 1000), all orders are used, and the test is exact.
#'
#' @param formula the points on the left (a matrix, a data frame or `cbind()` of variables), the design on the right
#' @param data a data frame with the variables of the formula
#' @param distance as `metric` in [knn()]: `"euclidean"`, `"bray"`, `"manhattan"` and others, or a function of two lazy
#'   points. `"canberra"` is a sum over columns; vegan divides it by the number of columns that are not 0 in both rows.
#'   `"hellinger"` takes rows as they are: for proportions, as in vegan, give `x / rowSums(x)`
#' @param by `"terms"`: each term after the preceding terms; `"margin"`: each term after all others that do not contain
#'   it; `"model"`: the whole model
#' @param null `"permutation"` or `"moments"`
#' @param R number of permutations
#' @param strata labels, evaluated in `data`; rows are permuted only within strata
#' @param subset,na.action as in [stats::lm()], for variables on either side
#' @param x,main,... for methods: what `permanova()` returned, a title, more arguments of [graphics::barplot()]
#' @return A data frame of classes `permanova` and `anova` with a row for each term, the residuals and the total, and
#'   columns `Df`, `SumOfSqs`, `R2`, `F` and `Pr(>F)`; attributes `replicates` (of F) or `moments` (of the sum of
#'   squares).
#' @seealso [energy_test()]
#' @concept PERMANOVA
#' @concept adonis
#' @concept multivariate analysis of variance, MANOVA
#' @concept permutation test
#' @concept distance-based analysis of variance
#' @export
#' @examples
#' set.seed(1)
#' permanova(iris[, 1:4] ~ Species, data = iris, R = 199)
#' permanova(cbind(mpg, wt) ~ factor(cyl) * am, data = mtcars, distance = "manhattan", R = 199)
#' permanova(USArrests ~ state.region, null = "moments")
permanova <- function(formula, data = NULL, distance = "euclidean", by = c("terms", "margin", "model"),
                      null = c("permutation", "moments"), R = 999, strata = NULL, subset = NULL,
                      na.action = NULL, ...) {
  refuse_more(...)
  by <- choice_of(by[1], c("terms", "margin", "model"), "by")
  null <- choice_of(null[1], c("permutation", "moments"), "null")
  subset <- subset_of(substitute(subset), data, environment(formula))
  sides <- formula_sides(formula, data, na.action, subset = subset, by_chords = missing(distance))
  strata <- strata_of(substitute(strata), data, environment(formula), subset, sides$dropped)
  x <- complete_points(sides$left, "left side")
  check_distinct(x)
  design <- design_blocks(sides, by)
  metric <- as_metric(distance, "distance")
  D2 <- if (metric$name == "euclidean") metric_pairs(as_metric("sqeuclidean"), x) else metric_pairs(metric, x)^2
  n <- nrow(x)
  strata <- check_strata(strata, n, null)
  fit <- partitioned(D2, design, n)
  found <- permanova_null(D2, fit, n, null, R, strata)
  permanova_table(fit, found, metric, n, by, sides$dropped)
}

# --- the design ---------------------------------------------------------------------------------------------

# Returns orthonormal columns of each term given the terms before it: list(label, Q, before). `before`: columns that are
# projected out of both sides when residuals are permuted.
design_blocks <- function(sides, by) {
  incomplete <- which(!stats::complete.cases(sides$right))
  if (ncol(sides$right) && length(incomplete)) {
    abort("data", "the design has missing values in ", counted(length(incomplete), "row"), ": ", first_few(incomplete))
  }
  terms <- sides$terms
  if (!is.null(attr(terms, "offset"))) abort("input", "offset() has no place in a design of distances")
  attr(terms, "intercept") <- 1L
  X <- stats::model.matrix(terms, sides$right)
  if (ncol(X) == 1) abort("input", "the right side of the formula names no variable")
  labels <- attr(terms, "term.labels")
  assign <- attr(X, "assign")
  blocks <- if (by == "model") list(block_after(X, assign == 0, assign > 0, "Model"))
            else lapply(if (by == "terms") seq_along(labels) else match(stats::drop.scope(terms), labels), function(k) {
              block_after(X, if (by == "terms") assign < k else assign != k, assign == k, labels[k])
            })
  aliased <- vapply(blocks, function(block) ncol(block$Q) == 0, NA)
  if (any(aliased)) {
    warn("dropped", "nothing is left of `", blocks[[which(aliased)[1]]]$label, "` after the other terms: it is dropped")
  }
  if (all(aliased)) abort("data", "the right side of the formula is constant")
  list(blocks = blocks[!aliased], all = block_after(X, assign == 0, assign > 0, "Model")$Q, codes = row_codes(X))
}

# Finds orthonormal bases of the columns `before` of X, and of the part that the columns `own` add.
block_after <- function(X, before, own, label) {
  decomposition <- qr(cbind(X[, before, drop = FALSE], X[, own, drop = FALSE]))
  first <- seq_len(decomposition$rank)
  Q <- qr.Q(decomposition)[, first, drop = FALSE]
  is_own <- decomposition$pivot[first] > sum(before)
  list(label = label, Q = Q[, is_own, drop = FALSE], before = Q[, !is_own, drop = FALSE])
}

# --- sums of squares ----------------------------------------------------------------------------------------

# Returns q'Gq, with G = -1/2 H D^2 H, for columns q of sum 0.
squares_of <- function(D2, V) -0.5 * colSums(V * (D2 %*% V))

partitioned <- function(D2, design, n) {
  df <- vapply(design$blocks, function(block) ncol(block$Q), 0L)
  residual_df <- n - 1L - ncol(design$all)
  if (residual_df < 1) {
    abort("data", "the design has ", counted(ncol(design$all) + 1, "column"), " for ", counted(n, "row"),
          ": nothing is left for residuals")
  }
  total <- sum(finite_row_sums(D2)) / (2 * n)
  if (total < 1e-290) abort("data", "all squared distances are 0 in double precision, or too near it to be compared")
  ss <- vapply(design$blocks, function(block) sum(squares_of(D2, block$Q)), 0)
  explained <- sum(squares_of(D2, design$all))
  list(blocks = design$blocks, all = design$all, codes = design$codes, df = df, residual_df = residual_df, ss = ss,
       total = total, residual = total - explained, F = (ss / df) / ((total - explained) / residual_df))
}

permanova_null <- function(D2, fit, n, null, R, strata) {
  one <- length(fit$blocks) == 1
  if (null == "moments" && !one) {
    abort("unsupported", "moments are those of one term or the whole model: give by = \"model\", or permute")
  }
  if (null == "moments" && ncol(fit$blocks[[1]]$before) > 1) {
    abort("unsupported", "moments are those of raw rows; residuals under other terms are permuted")
  }
  most <- most_relabellings(null, R)
  first <- match(seq_len(max(fit$codes)), fit$codes)  # a row of each kind
  # The levels of a single factor can be exchanged if they have equal numbers of rows.
  alike <- if (one && length(first) <= 10) swappable(tcrossprod(fit$all[first, , drop = FALSE]), tabulate(fit$codes))
  plan <- relabellings(fit$codes, most, strata, alike)
  if (plan$exhaustive) {
    # Returns row orders that lead to the arrangements of codes.
    places <- function(at) apply(plan$codes(at), 2, function(codes) replace(codes, order(fit$codes), order(codes)))
    return(permanova_permutations(D2, fit, n, replace(plan, "codes", list(places)), strata))
  }
  if (null == "permutation") {
    return(permanova_permutations(D2, fit, n, relabellings(seq_len(n), most, strata), strata))
  }
  centred <- centred_kernel(-0.5 * D2)
  moments <- permutation_moments(kernel_invariants(centred), projection_invariants(fit$blocks[[1]]$Q), n)
  from_moments(fit$ss / centred$unit, moments, centred$unit)
}

permanova_permutations <- function(D2, fit, n, plan, strata) {
  found <- lapply(seq_along(fit$blocks), function(k) {
    block <- fit$blocks[[k]]
    columns <- cbind(block$before[, -1, drop = FALSE], block$Q)
    left <- fit$all - columns %*% crossprod(columns, fit$all)
    others <- svd(left, nv = 0)$u[, seq_len(ncol(fit$all) - ncol(columns)), drop = FALSE]  # a basis of other terms
    own <- ncol(columns) - ncol(block$Q) + seq_len(ncol(block$Q))
    list(block = block, basis = cbind(columns, others), own = own)
  })
  width <- ncol(fit$all) * length(found)
  replicates <- in_blocks(plan$count, n, width, function(at) {
    orders <- plan$codes(at)
    do.call(rbind, lapply(found, permuted_F, D2, orders, fit))
  }, if (is.null(strata)) "null = \"moments\" of the whole model")
  replicates <- matrix(replicates, length(found))
  p <- vapply(seq_along(found), function(k) replicate_p(fit$F[k], replicates[k, ], plan$exhaustive), 0)
  list(p.value = p, replicates = t(replicates), exhaustive = plan$exhaustive)
}

# Computes F of a term for permuted residuals under the terms before it.
permuted_F <- function(term, D2, orders, fit) {
  width <- ncol(term$basis)
  moved <- apply(orders, 2, function(order) {
    back <- term$basis
    back[order, ] <- term$basis
    back
  })
  before <- term$block$before
  V <- matrix(moved, nrow(orders))
  V <- V - before %*% crossprod(before, V)
  squares <- matrix(squares_of(D2, V), width)
  of_term <- colSums(squares[term$own, , drop = FALSE])
  of_before <- if (ncol(before) < 2) 0 else sum(squares_of(D2, before[, -1, drop = FALSE]))
  residual <- fit$total - of_before - colSums(squares)
  (of_term / length(term$own)) / (residual / fit$residual_df)
}

# --- the table ----------------------------------------------------------------------------------------------

permanova_table <- function(fit, found, metric, n, by, dropped) {
  labels <- vapply(fit$blocks, `[[`, "", "label")
  out <- data.frame(Df = c(fit$df, fit$residual_df, n - 1L), SumOfSqs = c(fit$ss, fit$residual, fit$total),
                    R2 = c(fit$ss, fit$residual, fit$total) / fit$total, F = c(fit$F, NA, NA),
                    p = c(found$p.value, NA, NA), row.names = c(labels, "Residual", "Total"))
  names(out)[5] <- "Pr(>F)"
  order <- c(terms = ", terms in order", margin = ", each term after the others", model = "")[[by]]
  heading <- paste0("Analysis of variance by distances\n(", metric$name, ", ", counted(n, "row"), ", ",
                    null_text(replace(found, "replicates", list(found$replicates[, 1]))), order, ")")
  structure(out, heading = c(heading, trimws(left_out_text(dropped))), replicates = found$replicates,
            moments = found$moments, na.action = dropped, class = c("permanova", "anova", "data.frame"))
}

#' @rdname permanova
#' @export
plot.permanova <- function(x, main = "Shares of the sum of squares", ...) {
  drawn(x, plot_data(x), main = main, ylim = c(0, 1), ...)
}

#' @export
plot_data.permanova <- function(object, ...) {
  bars_picture(object$R2[-nrow(object)], rownames(object)[-nrow(object)], "R2")
}
