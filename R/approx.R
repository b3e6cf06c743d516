# Approximated kernel matrices: sums over far pairs by series of the formula, over near pairs one by one. The operator
# is of kind "function"; `approximated` is an environment, its state, with
#   tensor, tol, certify      the arguments of the user; `all`: the formula with all of its pairs
#   plan                      the boxes and pairs, in C++ (`pointer`) and in R; for a sum of formulas of different
#                             distances, the states of the summands (`parts`)
#   audit                     the audit of the first products: the `error`, and the number of `rows` that are not 0;
#                             `used`, `near`, `times`: the tolerance, the precision of near pairs, and the number of
#                             tries after failed audits
#   transposed, derivatives   states of t(tensor), and of the formula's derivatives; `derivative`: the operand of one
#   prices                    prices that replace the measured ones, for tests
#   sides                     the axis of each operand
# Parts that are made only when they are needed are NULL until then.

#' Approximate a kernel matrix in linear time
#'
#' Turns a kernel matrix into a linear operator whose products take time in proportion to the number of points, not of
#' pairs: a product of a million by a million points in three dimensions takes seconds. Use it in one, two or three
#' dimensions when a small, controlled error is acceptable. Points are sorted into boxes. For two boxes far apart, the
#' kernel is replaced by a local expansion in polynomials, or omitted if it is negligible; near pairs are computed
#' directly.
#'
#' `K` must be a formula of the distance between points in one, two or three dimensions: `sqdist()`, norms of
#' `Vi(x) - Vj(y)`, [weighted_sqdist()] with numbers or a matrix, sums of squares of single components, and functions of
#' these. The points may be any formula of one side, so the points and their differences may be scaled, shifted or
#' multiplied by a matrix. Factors that depend on the row or the column alone are allowed. There is no table of kernels:
#' the expansion is computed from the formula. A sum or difference of formulas of different distances, such as kernels
#' with different length-scales or of different components, is split into its terms, and each term is expanded.
#'
#' @section Accuracy:
#' The error of each number of `K %*% b` should be at most `tol * max|K| * sum|b|`: `tol` is relative to the largest
#' value of the formula times the sum of the absolute weights. For formulas of different distances `max|K|` is the sum
#' over the terms.
#'
#' `certify = "proof"` guarantees this bound: it adds up all omitted values, and bounds the error of each expansion by
#' evaluating the formula on complex discs. `certify = "audit"`, the default, assumes that errors cancel as they do in
#' practice, and checks 64 random rows of the first product (and of later products, until 16 of the checked rows were
#' not 0). With errors `e_i` of the checked rows i, each column must satisfy `sum_i e_i^2 <= tol^2 * max(sum_i (K
#' b)_i^2, sum_ij K_ij^2 b_j^2)`; the second sum is the expected size if terms have random signs. If the check fails,
#' near pairs are recomputed in double precision, if they were in single precision. Then the expansion is rebuilt, up to
#' four times, with a tolerance divided by 4, then by 16, 64 and 256, or by more if the error requires it. If the last
#' check fails, you get an error. An audit is faster than a proof, and errors are usually far below the bound.
#'
#' `error_bound()` gives the proved or expected bound for one product, row by row. A proved bound uses the moments of
#' the weights in each box and is about a tenth of the bound that `tol` promises; it is larger if a few weights make up
#' most of their sum. It includes the rounding errors of the expansions, but not the rounding errors of near pairs and
#' of the formula itself, which are as in any sum. If you need a guarantee for your weights only, try `10 * tol` and
#' look at the bound: in three dimensions this takes half the time.
#'
#' @section Sums, derivatives, GPUs:
#' `sum(F, index = "j", tol = 1e-6)` and the same call of `mean()`, see [reduction()], approximate one sum or mean of a
#' formula; `"i"` and `"ij"` work too. A `weight` that varies only along the axis reduced over is multiplied as a
#' vector. Any other `weight` becomes a factor of the formula, and the product must still be a formula of the distance.
#' `F` may be a formula times the difference of the points. The only restriction of pairs allowed is [exclude_diag()].
#'
#' Inside [gradient()] and similar functions, products have derivatives with respect to the vector and to everything in
#' the formula: points of both sides, length-scales, matrices, shifts, factors. Such a derivative is a formula of the
#' distance times the difference of the points, or times two components of the difference. Each derivative is expanded
#' separately with the same `tol` and `certify`, relative to its own largest value; a matrix that multiplies points
#' takes one expansion for each of its numbers. If a derivative has another form, you get an error of class
#' `kernweave_error_no_gradient` that names the derivative. Second derivatives exist only with respect to the vector.
#'
#' The result is a [linear_op]: `%*%`, `crossprod()`, `t()`, `+ ridge`, [solve()][solve.linear_op] and [keigen()] work.
#' Results are identical to the bit for any number of threads. A GPU is used if there is one ([kernweave_options()]):
#' points, boxes, expansions and results then stay on the GPU between products, and a vector that is already on the GPU
#' ([on_device()]) is not sent again.
#'
#' `K` keeps its two latest expansions: `approximate(K, tol)` with the same `tol` and `certify` uses them again. Their
#' memory is free when `K` and its approximations are removed.
#'
#' @param K a lazy tensor of one component, whose points along i and j have data
#' @param tol tolerance, from 1e-12 to 0.1; by default 1e-6
#' @param certify `"audit"`, the default, or `"proof"`
#' @param A the result of `approximate()` or of [sparsify()]
#' @param b a vector, or a matrix with a row for each column of `A`
#' @return `approximate()` returns a `linear_op`. `error_bound()` returns a matrix with the rows and columns of
#'   `A %*% b`: the proved or expected bound for the error of each number.
#' @seealso [explain()] for boxes, work and bounds, [audit()] to check more rows, [gradient()], [linear_op]; in more
#'   dimensions [lowrank()] for smooth kernels, [sparsify()] for kernels that vanish
#' @concept fast multipole method
#' @concept fast Gauss transform
#' @concept hierarchical matrix
#' @export
#' @examples
#' x <- matrix(runif(9000), 3000)
#' K <- kernel_matern(x, x, scale = 0.2, nu = 1.5)
#' A <- approximate(K, tol = 1e-5)
#' b <- rnorm(3000)
#' exact <- K %*% b
#' sqrt(sum((A %*% b - exact)^2) / sum(exact^2))
#' A
#'
#' # the gradient of an energy with respect to the points and the length-scale
#' energy <- function(x, scale) {
#'   A <- approximate(kernel_matern(x, x, scale, nu = 1.5), tol = 1e-5)
#'   sum(b * (A %*% b))
#' }
#' slope <- gradient(energy)(x, 0.2)
#' slope$scale
#' head(slope$x)
approximate <- function(K, tol = 1e-6, certify = c("audit", "proof")) {
  certify <- check_method(certify, c("audit", "proof"), "certify")
  approximated_as(K, tol, certify, "K")
}

# `argument`: the name of the formula in the user's call.
approximated_as <- function(K, tol, certify, argument) {
  check_approximated(K, argument)
  if (width(K) != 1) abort("shape", "`", argument, "` must have one component, not ", width(K))
  approximation_op(told_of_near(new_approximation(plain_tensor(K), tol, certify, argument)), K)
}

# Returns the approximation of sums with a tolerance. The formula keeps the approximation, which is planned once.
summed_approximation <- function(F, tol) {
  check_approximated(F, "F")
  made_once(F, list("approximation", tol), function() told_of_near(new_approximation(F, tol, "audit", "F")))
}

told_of_near <- function(state) {
  tell_of_near(plan_of_approximation(state), as.numeric(state$tensor$extent[1:2]))
  state
}

# Makes the operator of an approximation. `K`: the formula, which may have traced operands.
approximation_op <- function(state, K) {
  extent <- as.numeric(K$extent[1:2])
  traced <- length(traced_operands(K)) > 0
  symmetric <- !traced && extent[1] == extent[2] && plan_of_approximation(state)$same
  new_op("function", extent, apply = function(v) approximated_product(state, v),
         apply_transposed = function(v) approximated_product(transposed_approximation(state), v),
         dimnames = list(point_names(K, "i"), point_names(K, "j")), label = "approximation",
         symmetric = if (symmetric) TRUE else NA, settings = K$settings, approximated = state,
         tensor = if (traced) K)
}

# Tells the user if most pairs are near and the computation takes long, since the approximation then gains nothing.
tell_of_near <- function(plan, extent) {
  for (part in plan$parts) tell_of_near(plan_of_approximation(part), extent)
  if (!is.null(plan$parts)) return(invisible())
  share <- plan$near_pairs / max(prod(extent), 1)
  if (share < 0.5 || plan$near_pairs < 1e9) return(invisible())
  why <- if (nzchar(plan$no_series)) plan$no_series
  else "points may lie in a few tight clusters far apart, or the formula has no useful expansion"
  tell("kernweave: ", round(100 * share), " % of all pairs are near, and computed one by one: ", why)
}

# Returns the state of an approximation, or NULL for other operators.
approximation_of <- function(op) if (is_op(op)) .subset2(op, "approximated")

check_approximated <- function(K, argument) {
  check_all_pairs(K, argument, "approximate()")
  if (is.null(K$pairs)) return(invisible())
  said <- said_of(K$pairs)
  others <- said[c("by", "ranges", "pattern")]
  distinct <- row_index() != col_index()
  known <- all(vapply(others, is.null, NA)) && format(said$where) %in% c(format(distinct), format(t(distinct)))
  if (!known) {
    abort("unsupported", "`", argument, "` is restricted to some of its pairs; approximate() knows exclude_diag() ",
          "alone")
  }
}

# Refuses a formula that has no points along one of the axes.
check_all_pairs <- function(K, argument, fun) {
  if (!is_lazy(K)) abort("input", "`", argument, "` must be a lazy tensor, not ", describe(K))
  refuse_batches_of(K, fun)
  for (axis in c("i", "j")) need_extent(K, axis, fun)
}

new_approximation <- function(tensor, tol, certify, argument = "K") {
  usable <- is.numeric(tol) && length(tol) == 1 && !is.na(tol) && tol >= 1e-12 && tol <= 0.1
  if (!usable) abort("tolerance", "`tol` must be a number from 1e-12 to 0.1, not ", format_value(tol))
  state <- new.env(parent = topenv())
  state$tensor <- tensor
  state$all <- if (is.null(tensor$pairs)) tensor else made_once(tensor, "all pairs", function() without_pairs(tensor))
  state$tol <- state$used <- tol
  state$certify <- certify
  state$argument <- argument
  state
}

# Returns the plan. It is made when it is first needed, and anew in another session.
plan_of_approximation <- function(state) {
  if (!is.null(state$plan) && !is_dead(state$plan$pointer)) return(state$plan)
  plan <- plan_of_formula(state)
  if (is.numeric(plan)) {
    abort("dimension", "`", state$argument, "` is a formula of points of ", plan, " components; expansions pay in ",
          "up to 3: use lowrank() for smooth kernels, sparsify() for kernels that vanish")
  }
  if (is.character(plan)) plan <- plan_of_summands(state, plan)
  else if (!is.null(state$tensor$pairs) && length(far <- r_far_from_themselves(plan$pointer))) {
    # Series include the pairs of a point with itself, so products subtract the values of these pairs. Near pairs of a
    # point with itself may be infinite, and are not computed at all.
    plan$diagonal <- matrix(0, state$tensor$extent[1], width(state$tensor))
    plan$diagonal[far, ] <- as.matrix(diag(state$all, names = FALSE))[far, ]
  }
  state$plan <- plan
}

# Makes the plan of a formula in C++. The formula keeps its latest plans, so approximations of one formula share a plan.
plan_of_formula <- function(state) {
  K <- state$tensor
  options <- call_options(K$settings)
  gpu <- gpu_of(options)
  prices <- prices_of_pairs(state, gpu)
  proof <- state$certify == "proof"
  made_once(K, list(state$used, proof, prices, gpu), sort = "far", most = 2, make = function() {
    begin_work("approximate()", quicker = quicker_approximation(state))
    on.exit(end_work("approximate()"))
    r_far_plan(written_plan(state), as.numeric(K$extent[1:2]), state$used, proof, prices, options$threads %or% 0L,
               gpu %or% -1L)
  })
}

# Returns the plan of the formula as it is written, and its data. The formula keeps the plan, so that the plan is not
# saved: otherwise the data would be saved twice.
written_plan <- function(state) made_once(state$all, "as written", function() plan_as_written(state$all))

refuse_plan <- function(state, why) {
  if (is.null(state$derivative)) check_is_of_distance(why, state$argument)
  abort("no_gradient", "an approximation has no derivative in `", state$derivative, "`, which is not a formula of the ",
        "distance and differences of the points: ", why, "; `K %*% b` itself has one")
}

# Refuses a formula that is not of one distance: for such a formula, C++ returns a text.
check_is_of_distance <- function(plan, argument) {
  if (is.character(plan)) {
    abort("not_a_distance", "`", argument, "` is not a formula of one distance: ", plan, "; use sqdist(x, y) or ",
          "norm2(x - y), with any formulas x of i and y of j")
  }
}

# Plans the formula without rewriting it; returns the plan and the data.
plan_as_written <- function(K) {
  R <- reduction(lazy_set(K, device = "reference", precision = "float64"), "sum", index = "j", call = FALSE)
  ready <- prepared(R)
  list(plan = ready$plan, data = operand_data(ready$operands), operands = ready$operands)
}

threads_of <- function(K) call_options(K$settings)$threads %or% 0L

# Returns the price of a pair in coefficients of a series, and the price up to which a pair of boxes is not split, as
# measured (design/024-far.md).
prices_of_pairs <- function(state, gpu) {
  single <- near_precision(state) == "float32"
  if (!is.null(state$prices)) state$prices
  else if (is.null(gpu)) c(if (single) 3 else 5, 160000)
  else c(if (single) 1 else 4, 1e6)
}

# Returns the precision for the tolerance. Errors of float32 are about 1e-7: too large for tolerances below 1e-6.
near_precision <- function(state) {
  state$near %or% if (state$certify == "audit" && state$used >= 1e-6) "float32" else "float64"
}

transposed_approximation <- function(state) {
  if (plan_of_approximation(state)$same) return(state)
  if (is.null(state$transposed)) {
    state$transposed <- new_approximation(t(state$tensor), state$used, state$certify)
    state$transposed$near <- state$near
    state$transposed$prices <- state$prices
    state$transposed$audit <- state$audit
  }
  state$transposed
}

# --- products ----------------------------------------------------------------------------------------------------

# Computes sum_j F_ij v_j for each column of v, components of F side by side; with `u`, sum_j F_ij (u_i . v_j), the sum
# over the columns.
approximated_product <- function(state, v, u = NULL) {
  out <- unaudited_product(state, v, u)
  # Near pairs may have values beyond the range of float32.
  if (!is_on_device(out) && !all(is.finite(out)) && near_in_float64(state)) out <- unaudited_product(state, v, u)
  if (!wants_audit(state) || !length(v)) return(out)
  checked <- checked_rows(state, v, out, u)
  for (improve in c(near_in_float64, rep(list(series_of_more_terms), 4))) {
    if (checked$error <= state$tol || !improve(state, checked$error)) next
    state$audit <- NULL  # the audit was of the product before the improvement
    out <- unaudited_product(state, v, u)
    checked <- checked_rows(state, v, out, u)
  }
  if (checked$error > state$tol) {
    abort("audit_failed", "the relative error of the product is ", format(checked$error, digits = 2), " on ",
          checked$rows, " random rows, more than `tol` = ", format(state$tol), "; `certify = \"proof\"` bounds it ",
          "beforehand")
  }
  state$audit <- list(error = max(checked$error, state$audit$error), rows = sum(checked$rows, state$audit$rows))
  out
}

unaudited_product <- function(state, v, u = NULL) {
  if (!is_on_device(v)) v <- columns_of_numbers(v)
  native <- native_approximation(state, NCOL(v))
  if (sum(native$work) * NCOL(v) >= 1e10) {  # takes seconds; quicker products may come by the hundred
    begin_work("approximated product", steps = 1, quicker = quicker_approximation(state))
  }
  on.exit(end_work("approximated product"))
  out <- r_operator_product(native, v, TRUE, if (!is.null(u)) columns_of_numbers(u))
  step_work("approximated product")
  out
}

columns_of_numbers <- function(v) {
  v <- unname(as.matrix(v))
  storage.mode(v) <- "double"
  v
}

# Computes sum_j F_ij v_j, or sum_j F_ij (u_i . v_j), pair by pair.
pair_sums <- function(F, v, u = NULL) {
  if (is.null(u) && width(F) == 1) F %*% v
  else reduction(weighed(F, Vj(v), if (!is.null(u)) Vi(u)), "sum")
}

# Returns the terms of the sums in pair_sums().
weighed <- function(F, v, u = NULL) {
  if (!is.null(u)) (u | v) * F
  else if (width(F) == 1 || width(v) == 1) F * v
  else tensorprod(F, v)
}

# Returns the precision of near pairs. If some points are far away, float32 keeps few digits of the other points; if
# points are nearly equal, float32 keeps no digits of their distance.
precision_beside <- function(state, plan) if (plan$outliers > 0 || plan$rough) "float64" else near_precision(state)

#' @rdname approximate
#' @export
error_bound <- function(A, b) {
  state <- approximation_of(A)
  truncated <- if (is_lazy(A)) truncation_of(A)
  if (is.null(state) && is.null(truncated)) {
    abort("input", "`A` must be what approximate() or sparsify() returned, not ", describe(A))
  }
  b <- unname(as.matrix(plain_value(b)))
  if (nrow(b) != dim(A)[2]) abort("shape", "`b` has ", nrow(b), " rows, and `A` ", dim(A)[2], " columns")
  if (is.null(truncated)) return(bound_of(state, b))
  # The total weight of left-out pairs is the weight of all pairs minus the weight of the kept pairs.
  size <- abs(b)
  kept <- reduction(lazy_set(with_pairs(Vj(size), A$pairs), precision = "float64"), "sum", index = "j")
  truncated$left_out * pmax(rep(colSums(size), each = nrow(kept)) * (1 + 1e-12) - kept, 0)
}

bound_of <- function(state, v) {
  v <- columns_of_numbers(v)
  plan <- plan_of_approximation(state)
  if (!is.null(plan$parts)) return(Reduce(`+`, lapply(plan$parts, bound_of, v)))
  r_far_bounds(plan$pointer, v, threads_of(state$tensor))
}

# --- reductions --------------------------------------------------------------------------------------------------

# Computes sums and means with a tolerance, as products with the weights.
reduce_approximately <- function(F, op, index, tol, weight, drop, others, ...) {
  if (!is_lazy(F)) abort("input", "`F` must be a lazy tensor where there is a `tol`, not ", describe(F))
  if (is_several(F, op)) abort("unsupported", "`tol` is for one reduction, not for several")
  if (any(others)) abort("unsupported", "a reduction with `tol` takes no `", names(others)[others][1], "`")
  row <- reduction_row(op)
  index <- check_index(index)
  if (!row$fn %in% c("sum", "mean")) abort("unsupported", "`tol` is for sums and means, not for ", row$fn, "()")
  weight <- check_weight(weight, F, row)
  # A weight that is a vector along the folded axis is multiplied. Any other weight is a factor of the formula.
  along <- if (index == "i") c("i", "j") else c("j", "i")
  beside <- !is.null(weight) && (!has_axis(weight, along[1]) || has_axis(weight, along[2]))
  F <- do.call(lazy_set, c(list(if (beside) F * weight else F), list(...)))
  if (index == "i") F <- t(F)
  n <- need_extent(F, "j", "a reduction with `tol`")
  w <- if (is.null(weight) || beside) matrix(1, n) else run_single(if (index == "i") t(weight) else weight, "j")
  out <- approximated_sums(F, tol, w)
  terms <- if (is.null(F$pairs)) rep(n, F$extent[1]) else n - (seq_len(F$extent[1]) <= n)
  if (index == "ij") {
    out <- unname(rep(1, F$extent[1]) %*% out)
    terms <- sum(terms)
  }
  if (row$fn == "mean") out <- out / terms
  if (drop) rearranged(out, without_column) else out
}

approximated_sums <- function(F, tol, w) {
  traced <- length(traced_operands(F)) > 0
  if (width(F) == 1) {
    A <- if (traced) approximated_as(F, tol, "audit", "F") else approximation_op(summed_approximation(F, tol), F)
    return(A %*% w)
  }
  if (traced || is_traced(w)) {
    abort("no_gradient", "approximated sums of several components have no derivative; take one component after the ",
          "other")
  }
  named(approximated_product(summed_approximation(F, tol), w), point_names(F, "i"), NULL)
}
