# reduction(): computes a formula over pairs. Methods and shortcuts call it.

#' Reduce a formula over i, j or both
#'
#' Computes a sum, mean, minimum, list of nearest neighbours or another summary of a formula over all pairs of points.
#' Most reductions have a shortcut, such as `sum(F, index = "j")` or `argKmin(F, K = 5)`; use `reduction()` to choose
#' the reduction by name, or to compute several in one pass.
#'
#' `index = "j"` reduces over j and returns one row for each i; `"i"` reduces over i and returns one row for each j;
#' `"ij"` reduces over both and returns one row. If all operands have data, the result is numeric. With placeholders, or
#' with `call = FALSE`, it is a `lazy_reduction`: you can print, explain and save it, differentiate it with [vjp()] and
#' [jvp()], turn it into a function of its placeholders with [as.function()][as.function.lazy_reduction], or, without
#' placeholders, compute it with `as.matrix()`.
#'
#' The result is a matrix for any number of points: one row for each point kept, one column for each component, as from
#' `%*%`. `drop = TRUE` turns a single column into a plain vector.
#'
#' Row numbers in a result, as of `argmin`, count the reduced axis from 1; over `"ij"` they are positions in the matrix
#' of pairs, column by column, as `which.min()` counts. The result takes its row names from the first operand along the
#' kept axis that has row names (or names, if it is a vector).
#'
#' **Index formulas.** `reduction(C[i, j] ~ A[i, k] * B[k, j], "sum")` reduces arrays over any axes. The left side names
#' the axes to keep, in the order of the result; the name before the brackets has no effect. All other axes are reduced.
#' A name in brackets is always an axis, even if a variable has that name; `bquote()` inserts the value of a variable.
#' * `x[i, ]` is row i, a point of several components. `A[i, i]` is the diagonal. `fit$coef[k]` reads part of a list.
#' * `p[j, 1]` is the first number of row j; `p[j, "height"]` is the number of row j in the column of this name.
#' * `mu[g[i], a]` reads row `g[i]` of `mu`; `g` has row numbers or row names, or is a factor.
#' * `r[abs(i - j) + 1]` computes a row number, by arithmetic, `abs()`, `floor()`, `pmin()` and similar functions.
#' * `y[t + s - 1]` is a window. An axis that stands only in windows has the length in `extents` or, by default, the
#'   greatest length with all windows inside their arrays. An axis that also stands alone in brackets, as t in
#'   `y[t + 1] - y[t]`, is as long as that array; in `y[t + 0]` the windows determine the length of t.
#'
#' Outside brackets, an axis is its index, as in `i < j`, and any other name keeps its value. One kept axis gives a
#' vector, no kept axis a number. The names of the result along an axis come from the first array with names along it,
#' `g` of `g[i]` included, or else from the rows of `mu` that `mu[g[i], a]` reads. Positions over several axes count
#' these axes in the order in which the right side mentions them, the first fastest. A sum or mean of a product of
#' several arrays contracts two arrays at a time if that is less work. `weight` is then a formula, `weight = ~ V[s, ]`.
#' Index formulas have no `index`, `by`, `tol`, `drop` or placeholders. [along()] makes such formulas in programs; then
#' `index` names the axes to reduce over. [schedule()] shows the loop order.
#'
#' Several reductions of one formula, `op = c("sum", "max")`, or of several formulas over the same points,
#' `F = list(F, G)`, take a single pass over the pairs and share common work. The result is a list with the names of
#' `F`, or of `op`, or of the reductions.
#'
#' @param F a lazy tensor, or a list of them; or an index formula
#' @param op name of the reduction, as in [kernweave_reductions()], or several names: one for each formula in `F`, or
#'   all for a single formula
#' @param index the axis to reduce over: `"i"`, `"j"` (default) or `"ij"`
#' @param K number of results, for reductions that return the K best
#' @param weight a lazy tensor that weights the terms, for reductions that accept a weight; `sumsoftmaxweight` requires
#'   it. With several reductions, `K` and `weight` apply to the reductions that accept them
#' @param call if `TRUE` (default), computes the reduction now; `FALSE` returns a `lazy_reduction`
#' @param drop if `TRUE`, returns a result of one column as a vector, named after the points kept; by default `FALSE`.
#'   No other dimension is dropped, so the shape does not depend on the number of points
#' @param by groups of the points kept: a vector or factor with one entry per point. The result has one row per group,
#'   over the pairs of all its points; rows are sorted and named by group. Available for sums, products, counts, means,
#'   extremes, `any`, `all` and `logsumexp`. For pairs within groups see [restrict()]
#' @param tol a tolerance, for sums and means of a function of a distance: far pairs are approximated, see
#'   [approximate()]. The default, `NULL`, computes every pair
#' @param data for index formulas: a list, data frame or environment in which arrays are looked up first
#' @param extents for index formulas: a named vector of lengths of axes that no array determines, as in `c(s = 3)`
#' @param ... settings: `device`, `precision`, `threads`
#' @return A matrix with one row per point kept; for `K` results with several components, an array. For index formulas,
#'   an array with one dimension per kept axis, then the components, then the `K` results. `min_argmin` returns a list
#'   of two, several reductions return a list of results. With placeholders or `call = FALSE`, a `lazy_reduction`.
#' @seealso [lazy-reductions] for shortcuts and what each reduction does, [lazy-quantiles] for medians, [lazy-matrix]
#'   for `%*%`, [vjp()] for gradients, [explain()]
#' @concept kernel sum
#' @concept einsum
#' @concept tensor contraction
#' @concept moving sums
#' @concept row sums of a kernel matrix
#' @concept aggregate over pairs
#' @export
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' y <- matrix(runif(60), 20, 3)
#' K <- exp(-sqdist(Vi(x), Vj(y)))
#' w <- reduction(K, "sum", index = "j", drop = TRUE)
#' x / w  # a number for each row
#' reduction(K, "sum", index = "j")
#' reduction(sqdist(Vi(x), Vj(y)), "argKmin", K = 3)
#' str(reduction(K, c("sum", "max", "argmax")))
#' sum(K, index = "j", by = rep(c("a", "b"), 5))
#' R <- reduction(K, "sum", call = FALSE)
#' R
#'
#' # any axes: a bilinear form with a matrix for each group, and a moving average
#' g <- rep(1:2, 5)
#' W <- array(rnorm(18), c(3, 3, 2))
#' reduction(q[i] ~ x[i, a] * W[a, b, g[i]] * x[i, b], "sum")
#' z <- cumsum(rnorm(20))
#' w <- c(0.25, 0.5, 0.25)
#' reduction(m[t] ~ z[t + s - 1] * w[s], "sum")
#' reduction(d[t] ~ z[t + 1] - z[t + 0], "sum")  # diff(z)
#' reduction(a[i] ~ sum(x[i, ] * y[j, ]), "sumsoftmaxweight", weight = ~ y[j, ])  # attention
reduction <- function(F, op, index = "j", K = NULL, weight = NULL, call = TRUE, drop = FALSE, by = NULL, tol = NULL,
                      data = NULL, extents = NULL, ...) {
  refuse_assignment(substitute(F))
  if (is.call(F) && identical(F[[1]], quote(`~`))) F <- eval(F, parent.frame())
  if (inherits(F, "formula")) {
    said <- c(index = !missing(index), by = !is.null(by), tol = !is.null(tol), drop = !missing(drop))
    return(reduce_index_formula(F, op, K, weight, call, data, extents, names(said)[said], ...))
  }
  if (is.list(F) && !is.object(F) && any(vapply(F, inherits, NA, "formula"))) {
    abort("input", "index formulas come one at a time: lapply(F, reduction, op) makes a list of results")
  }
  # Several axes, which may also be named axes called "i" and "j".
  several <- is.character(index) && length(index) > 1 && all(index %in% c("i", "j"))
  if (is_lazy(F) && (several || has_named_axes(F))) {
    return(reduce_named_axes(F, op, index, K, weight, call, !is.null(by) || !is.null(tol), ...))
  }
  if (!is.null(tol)) {
    others <- c(K = !is.null(K), by = !is.null(by), call = !isTRUE(call))
    return(reduce_approximately(F, op, index, tol, weight, drop, others, ...))
  }
  if (!is.null(by)) return(reduce_by(F, op, index, by, K = K, weight = weight, call = call, drop = drop, ...))
  if (is_lazy_complex(F)) return(reduce_complex(F, op, index, K, weight, call, drop, ...))
  if (is_several(F, op)) return(reduce_several(F, op, index, K, weight, call, drop, ...))
  if (!is_lazy(F)) abort("input", "`F` must be a lazy tensor, not ", describe(F),
                         if (is.character(F)) "; as.formula() makes an index formula of text"
                         else "; make one with Vi(), Vj() or Pm()")
  check_flag(call, "call")
  make <- function() reduction_of(F, op, index, K, weight, drop, ...)
  # A reduction with a weight is not cached, since a weight may be traced.
  R <- if (is.null(weight)) made_once(F, list(op, index, K, drop, ...), make) else make()
  if (call && !length(free_operands(R))) run_reduction(R) else R
}

# Refuses C[i] <- A[i, k], which R would take as an assignment.
refuse_assignment <- function(typed) {
  if (!is.call(typed) || !identical(typed[[1]], quote(`<-`)) || !is_bracket(typed[[2]])) return(invisible())
  typed[[1]] <- quote(`~`)
  abort("input", "an index formula has a tilde between its sides: write ", deparse1(typed))
}

# Makes a reduction, without looking in the cache.
reduction_of <- function(F, op, index, K, weight, drop, ...) {
  row <- reduction_row(op)
  index <- check_index(index)
  check_flag(drop, "drop")
  parts <- list(F = F)
  parts$weight <- check_weight(weight, F, row)
  for (axis in strsplit(index, "")[[1]]) {
    if (!any(vapply(parts, has_axis, NA, axis))) {
      abort("shape", row$fn, "(): the formula `", r_show(F$formula, 60L), "` has no variable along ", axis,
            ", so there is nothing to reduce")
    }
  }
  if (row$name != row$of) parts$F <- derived_value(F, row, index, ...)
  meeting <- r_meet(parts)
  output <- list(value = parts$F$formula, weight = parts$weight$formula, op = row$of, keep = kept(index),
                 K = check_places(K, row), finish = finish_of(row, index), label = row$fn)
  R <- with_settings(new_reduction(list(output), meeting$extent, meeting$settings, meeting$pairs), ...)
  if (!is.null(R$pairs)) R <- over_pairs(R, parts$F, row)
  R$drop <- if (drop) TRUE
  R
}

reduction_row <- function(op) {
  known <- reduction_rows
  if (!is.character(op) || length(op) != 1) {
    abort("input", "`op` must be the name of a reduction, such as \"sum\", not ", describe(op))
  }
  at <- match(op, known$fn, nomatch = match(op, known$name))
  if (is.na(at)) {
    twin <- names_in_r[op]
    abort("unknown_op", "unknown reduction `", op, "`",
          if (!is.na(twin)) paste0("; did you mean `", twin, "`?")
          else near_hint(op, known$fn, "; kernweave_reductions() lists what there is"))
  }
  lapply(known, `[`, at)
}

# Maps names of reductions in base R to our names.
names_in_r <- c(which.min = "argmin", which.max = "argmax", var = "variance", sd = "variance", length = "count",
                `+` = "sum", `*` = "prod", pmin = "min", pmax = "max", average = "mean", avg = "mean")

# Returns the formula to which the underlying reduction of a derived reduction is applied.
derived_value <- function(F, row, index, ...) {
  if (row$kind == "logical" && type_kind(F) != "logical") {
    abort("kind", row$fn, "() needs a logical formula, not ", type_kind(F), " values; write the comparison out")
  }
  make <- derived_formulas[[row$name]]
  if (!"mean" %in% all.vars(body(make))) return(make(F))
  mean <- reduction(F, "mean", index = index, call = FALSE, ...)
  make(F, saved_operand(mean, NULL, "mean", kept(index), flat = TRUE))
}

# Returns the wanted results and their divisor: the number of points along `per`, minus `less`.
finish_of <- function(row, index) {
  list(results = row$results, sign = row$sign, per = if (row$terms == "none") "" else index,
       less = as.integer(row$terms == "n - 1"))
}
as_they_are <- list(results = "value", sign = 1, per = "", less = 0L)

check_index <- function(index) {
  if (is_lazy(index)) {
    abort("input", "`index` must be \"i\", \"j\" or \"ij\", not a lazy tensor; a weight is given by name, weight = ")
  }
  one_of(index, c("i", "j", "ij"), "index")
}
kept <- function(index) c(i = "j", j = "i", ij = "none")[[index]]

check_weight <- function(weight, F, row) {
  if (is.null(weight) && row$name == "SumSoftMaxWeight") {
    abort("input", row$fn, "() needs `weight`: the result is the mean of the weights, each weighted by exp() of a ",
          "value")
  }
  if (is.null(weight)) return(NULL)
  if (row$inputs != "value_weight") abort("unsupported", row$fn, "() takes no weight")
  as_lazy(weight, F, "weight")
}

check_places <- function(K, row) {
  if (row$inputs != "value_k") {
    if (!is.null(K)) abort("unsupported", row$fn, "() takes no `K`")
    return(1L)
  }
  if (is.null(K)) abort("input", row$fn, "() needs `K`, the number of results")
  check_count(K, "K")
}
