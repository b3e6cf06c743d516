# The reduction of a formula with named axes: checks its arguments and chooses how to compute it.

# Reduces over all axes that are not kept. keep(R, places, roles) is called for a reduction that ran in one pass.
reduce_named <- function(F, op, kept, K = NULL, weight = NULL, call = TRUE, ..., path = TRUE, nest = NULL,
                         known = NULL, keep = NULL) {
  check_flag(call, "call")
  whole <- check_named(named_parts(F, reduction_row(op), kept, K, weight, known))
  if (any(whole$extents == 0)) return(reduce_nothing(whole))
  around <- path && call && is.null(weight)
  found <- if (around) by_groups(whole, ...)
  if (!is.null(found)) return(found)
  nests <- nests_of(whole)
  found <- if (around) along_path(whole, min(nests$seconds), ...)
  if (!is.null(found)) return(found)
  at <- if (is.null(nest)) which.min(nests$seconds)
        else Position(function(one) identical(one, nest[names(nest) != "outer"]), nests$all)
  written <- whole
  form <- nests$forms[[nests$form[at]]]
  nest <- nest %or% nests$all[[at]]
  whole[names(form)] <- form
  roles <- roles_of(nest, whole)
  found <- if (whole$traced && call) by_way_of_tape(whole, roles, ...)
  if (!is.null(found)) return(found)
  R <- reduction_by_roles(whole, roles, ...)
  if (call) {
    found <- run_reduction(R)
    if (!is.null(keep)) keep(R, whole$places, roles)
    return(found)
  }
  R$axes[c("nest", "nests", "seconds")] <- list(nest[names(nest) != "outer"], nests$all, nests$seconds)
  R$axes$of <- list(formula = F$formula, op = whole$row$fn)
  R$axes$operands <- written$operands
  R$axes$again <- with_nest(F, op, kept, K, weight, c(list(known = known), list(...)))
  R
}

# Collects the parts of a reduction with named axes.
named_parts <- function(F, row, kept, K, weight, known) {
  if (!is.null(weight)) weight <- as_lazy(weight, F, "weight")
  operands <- do.call(operands_of, lapply(c(list(F), if (!is.null(weight)) list(weight)), `[[`, "formula"))
  places <- lapply(operands, place_of_operand)
  list(F = F, row = row, kept = kept, K = K, weight = weight, operands = operands, places = places,
       extents = extents_of_axes(places, known), traced = any(vapply(places, function(place) is_traced(place$x), NA)))
}

check_named <- function(whole) {
  F <- whole$F
  for (T in list(F, whole$weight)) if (is_lazy(T) && !is.null(T$pairs)) {
    abort("unsupported", "formulas with named axes go over all points: in place of restrict() and exclude_diag(), ",
          "multiply by a condition, such as (i != j), or write lazy_if(i == j, Inf, ...)")
  }
  if (whole$row$kind == "logical" && type_kind(F) != "logical") {
    abort("kind", whole$row$fn, "() needs a logical formula, not ", type_kind(F), " values",
          unknown_hint(whole$places) %or% "; write the comparison out")
  }
  lost <- setdiff(whole$kept, names(whole$extents))
  if (length(lost)) {
    abort("shape", "axis ", lost[1], " is on the left side, but nothing on the right side varies along it")
  }
  whole
}

# Restores names of results that were lost on the way.
named_whole <- function(x, whole) {
  names <- names_of_axes(whole$places, whole$kept)
  if (all(vapply(names, is.null, NA))) return(x)
  rearranged(x, function(x) {
    if (length(names) == 1) structure(x, names = names[[1]]) else `dimnames<-`(x, unname(names))
  })
}

# --- ways around one pass ---------------------------------------------------------------------------------------

# Reduces with gathers by groups: every point meets the rows of its group. NULL if groups gain nothing.
by_groups <- function(whole, ...) {
  groups <- gathered_groups(whole$places, whole$kept, whole$extents)
  if (is.null(groups)) return(NULL)
  own <- with_own_groups(whole, groups)
  if (!is.null(own)) return(run_reduction(reduction_by_roles(own$whole, own$roles, ...)))
  known <- whole$extents[names(whole$extents) != groups$axis]
  found <- reduce_groups(whole$F, whole$operands, whole$places, groups, whole$kept, function(F) {
    reduce_named(F, whole$row$fn, whole$kept, whole$K, NULL, TRUE, ..., known = known)
  })
  if (is.list(found)) found else named_whole(found, whole)
}

# Uses the tape: the engine's own derivatives of some reductions know two axes only, and winners of one component.
by_way_of_tape <- function(whole, roles, ...) {
  fn <- whole$row$fn
  folds <- length(roles$settings) > 0
  if (fn == "variance" && folds) {
    # The engine's variance computes its own mean; here the mean is an array of the tape.
    sum_of <- function(F, op) reduce_named(F, op, whole$kept, ..., known = whole$extents)
    axes <- lapply(whole$kept, function(axis) list(kind = "axis", axes = axis))
    specs <- c(axes, if (width(whole$F) > 1 || !length(whole$kept)) list(list(kind = "component")))
    mean <- lazy_place(new_place(sum_of(whole$F, "mean"), specs, "mean"))
    return(sum_of((whole$F - mean)^2, "sum") / (prod(whole$extents[roles$folded]) - 1))
  }
  if (!fn %in% names(places_only) || !folds && width(whole$F) == 1) return(NULL)
  reduce_at_winners(whole$F, whole$row, whole$kept, whole$extents, whole$operands, whole$places, whole$K, ...)
}

# --- one pass ---------------------------------------------------------------------------------------------------

# Makes the reduction for the engine: its operands have their roles.
reduction_by_roles <- function(whole, roles, ...) {
  to <- Map(operand_in_role, whole$places, list(roles))
  leaves <- lapply(to, function(operand) lazy_operand(operand)$formula)
  again <- function(T) {
    formula <- r_with_operands(list(T$formula), whole$operands, leaves)[[1]]
    new_lazy(formula, roles$extent, merge_settings(T$settings, roles$settings))
  }
  row <- whole$row
  # A mean divides at the end: the engine's derivative would divide by the points of two axes alone.
  mean <- row$fn == "mean" && (length(setdiff(roles$outer, roles$kept)) || length(roles$inside))
  if (mean) row <- reduction_row("sum")
  here <- again(whole$F)
  at_roles <- lazy_axes(here, roles)
  if (!is.null(roles$own)) at_roles <- restrict(at_roles, by = list(roles$own, seq_len(roles$extent[2])))
  weight <- if (!is.null(whole$weight)) again(whole$weight)
  R <- if (is.null(roles$columns)) reduction_of(at_roles, row$fn, roles$index, whole$K, weight, FALSE, ...)
       else with_settings(new_reduction(list(sum_output(here$formula, "both")), here$extent, here$settings), ...)
  wide <- max(width(whole$F), if (!is.null(weight)) width(weight))
  divide <- if (mean) prod(whole$extents[roles$folded])
  R$axes <- results_in_axes(roles, wide, row, if (row$inputs == "value_k") whole$K, divide)
  if (!identical(at_roles, here)) R$axes$written <- whole$F$formula
  R$axes$operands <- to
  R
}

# Returns a function that makes the reduction with another nest, or with other arrays.
with_nest <- function(F, op, kept, K, weight, settings) {
  force(F)
  function(nest = NULL, call = FALSE, arrays = NULL, more = NULL) {
    if (length(arrays)) F <- with_arrays(F, arrays)
    if (length(arrays) && !is.null(weight)) weight <- with_arrays(weight, arrays)
    settings[names(more)] <- more
    do.call(reduce_named, c(list(F, op, kept, K, weight, call = call, nest = nest), settings), quote = TRUE)
  }
}

# Makes a formula vary along each reduced axis, even an axis of one point.
lazy_axes <- function(F, roles) {
  for (axis in strsplit(roles$index, "")[[1]]) {
    if (has_axis(F, axis)) next
    n <- roles$extent[axis_codes[[axis]] + 1L]
    nothing <- lazy_operand(new_operand("nothing", axis, 1L, "integer", numeric(n)))
    F <- if (type_kind(F) == "logical") F & nothing < 1 else F + nothing
  }
  F
}

# --- no points ----------------------------------------------------------------------------------------------------

# Handles extents of 0: returns the neutral element of the fold for each kept point. Traced arrays are linked to it, so
# that their gradient is 0.
reduce_nothing <- function(whole) {
  out <- neutral_elements(whole$F, whole$row, whole$extents[whole$kept], whole$K, whole$weight)
  if (whole$row$results == "index") return(out)
  for (place in Filter(function(place) is_traced(place$x), whole$places)) {
    nothing <- sum(take(place$x, numeric()))
    if (whole$row$results == "value") out <- out + nothing else out$value <- out$value + nothing
  }
  out
}

neutral_elements <- function(F, row, size, K, weight) {
  none <- Vi(numeric(prod(size))) + Vj(numeric())
  out <- if (row$fn == "sumsoftmaxweight") reduction(none, row$fn, weight = Vj(matrix(0, 0, width(weight))))
         else if (row$kind == "logical") reduction(none > 0, row$fn)
         else reduction(none, row$fn, K = K)
  wide <- if (row$fn == "sumsoftmaxweight") 1 else width(F)
  rearrange <- function(x) {
    columns <- as.vector(x)
    if (wide > 1) columns <- rep(matrix(columns, prod(size)), wide)
    dim <- c(size, if (wide > 1) wide, K)
    if (length(dim) <= 1) columns else array(columns, unname(dim))
  }
  if (is.list(out)) lapply(out, rearrange) else rearrange(out)
}
