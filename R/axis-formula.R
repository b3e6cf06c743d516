# Index formulas: the right side is plain R in which axes are numbers. The call is walked once: each bracket becomes a
# place (formula-places.R), an axis outside of brackets becomes its number; R evaluates the rest as usual.

reduce_index_formula <- function(formula, op, K, weight, call, data, extents, said, ...) {
  if (missing(op)) abort("input", "`op` names the reduction of an index formula, such as \"sum\"")
  if (length(said)) abort("input", "an index formula takes no `", said[1], "`: its left side says which axes are kept")
  if (is.character(op) && length(op) > 1) {
    one <- function(op) {
      of <- function(given, inputs) if (reduction_row(op)$inputs == inputs) given
      reduce_index_formula(formula, op, of(K, "value_k"), of(weight, "value_weight"), call, data, extents, said, ...)
    }
    return(structure(lapply(op, one), names = result_names(names(op), op)))
  }
  if (length(formula) != 3) abort("input", "an index formula has a left side: the axes to keep, as in C[i, j] ~ ...")
  scope <- scope_of(data, environment(formula))
  asked <- if (isTRUE(call) && is.null(weight)) {
    list(left = formula[[2]], right = formula[[3]], op = op, K = K, extents = extents, more = list(...))
  }
  found <- planned_before(asked, scope)
  if (!is.null(found)) return(found[[1]])
  kept <- kept_axes(formula[[2]])
  check_extents(extents, unique(c(all.vars(formula), if (inherits(weight, "formula")) all.vars(weight))))
  F <- formula_of_places(formula[[3]], kept, scope, extents)
  if (!is.null(weight)) {
    beside <- extents_of_axes(places_of_tensor(F), extents)
    weight <- weight_of_places(weight, kept, scope, extents, beside)
    check_axes_of_weight(weight, kept, F, extents)
  }
  keep <- if (!is.null(asked)) function(R, places, roles) keep_plan(asked, scope, R, places, roles)
  reduce_named(F, op, kept, K, weight, call, ..., known = extents, keep = keep)
}

# Checks the lengths of axes that no array determines.
check_extents <- function(extents, words) {
  ok <- is.null(extents) || is.numeric(extents) && !anyDuplicated(names(extents)) && !is.null(names(extents)) &&
    all(nzchar(names(extents))) && all(is.finite(extents)) && all(extents >= 0) && all(extents == round(extents))
  if (!ok) abort("input", "`extents` are whole numbers named by axes, as in c(s = 3), not ", format_value(extents))
  if (any(extents > .Machine$integer.max)) {
    abort("unsupported", "axis ", names(extents)[which.max(extents)], " of ", format(max(extents)),
          " points; there may be ", .Machine$integer.max)
  }
  stray <- setdiff(names(extents), words)
  if (length(stray)) {
    abort("input", "`extents` tells the length of axis ", stray[1], ", which the formula does not mention",
          near_hint(stray[1], words))
  }
}

# Reduces lazy tensors with named axes: `index` names the axes that are folded.
reduce_named_axes <- function(F, op, index, K, weight, call, others, ...) {
  if (others) abort("input", "formulas with named axes take no `by` and no `tol`")
  check_flag(call, "call")
  axes <- axes_of_places(places_of_tensor(F))
  if (!is.character(index) || anyNA(index)) {
    abort("input", "`index` names the axes to reduce over, not ", describe(index))
  }
  if (identical(index, "ij") && !"ij" %in% axes) index <- c("i", "j")
  unknown <- setdiff(index, axes)
  if (length(unknown)) {
    abort("shape", "the formula does not vary along axis ", unknown[1], near_hint(unknown[1], axes, paste0(
      "; its axes are ", paste(axes, collapse = ", "))))
  }
  reduce_named(F, op, setdiff(axes, index), K, weight, call, ...)
}

kept_axes <- function(left) {
  if (is.name(left)) return(character())
  axes <- if (is.call(left) && identical(left[[1]], quote(`[`))) as.list(left)[-(1:2)]
  if (is.null(axes) || !all(vapply(axes, is.name, NA)) || !all(nzchar(vapply(axes, as.character, "")))) {
    abort("input", "the left side of an index formula names the axes to keep, as in C[i, j]; not ", deparse1(left))
  }
  names <- vapply(axes, as.character, "")
  if (anyDuplicated(names)) {
    abort("input", "axis ", names[anyDuplicated(names)], " is twice on the left side: each axis is an extent of the ",
          "result once")
  }
  names
}

# Returns the environment in which names are looked up: `data`, then the environment of the formula.
scope_of <- function(data, environment) {
  if (is.null(data)) return(environment)
  if (is.environment(data)) return(data)
  named <- is.list(data) && length(names(data)) == length(data) && all(nzchar(names(data)))
  if (!named) abort("input", "`data` must be a list, each part of it named, not ", describe(data))
  list2env(as.list(data), parent = environment)
}

weight_of_places <- function(weight, kept, scope, given, beside) {
  if (!inherits(weight, "formula") || length(weight) != 2) {
    abort("input", "the weight of an index formula is a formula, as in weight = ~ x[j, ]; not ",
          if (inherits(weight, "formula")) "one with a left side" else describe(weight))
  }
  formula_of_places(weight[[2]], union(kept, names(beside)), scope, given, beside, "the weight")
}

# Refuses axes that occur in the weight alone, since each term would count once for every point of such an axis.
check_axes_of_weight <- function(weight, kept, F, given) {
  places <- places_of_tensor(weight)
  axes <- names(extents_of_axes(places_of_tensor(F), given))
  extents_of_axes(c(places_of_tensor(F), places), given)  # says which do not agree
  stray <- setdiff(axes_of_places(places), c(kept, axes))
  if (!length(stray)) return(invisible())
  abort("shape", "axis ", stray[1], " stands in the weight alone: the formula does not vary along it, and the left ",
        "side does not keep it; the axes of the formula are ", paste(axes, collapse = ", "))
}

# --- the right side -------------------------------------------------------------------------------------------

# `given`: lengths of axes that no array determines. `beside`: lengths of axes of the formula that this one weights.
formula_of_places <- function(expression, kept, scope, given = NULL, beside = given, what = "the right side") {
  found <- new.env()
  found$places <- list()
  found$axes <- unique(c(kept, axes_in_brackets(expression), names(given)))
  written <- with_places(expression, found, scope)
  counted <- setdiff(names(found$counters), names(found$places))
  extents <- extents_of_axes(found$places, given)
  computed <- names(extents)[is.na(extents)]
  extents <- c(extents, beside[setdiff(names(beside), names(extents))])
  if (length(beside)) extents[computed] <- beside[computed]
  unknown <- setdiff(c(counted, computed), names(extents)[!is.na(extents)])
  if (length(unknown)) {
    abort("shape", "nothing says how long axis ", unknown[1], " is: it stands alone in no brackets; say it by ",
          "extents = c(", unknown[1], " = ...)")
  }
  found$places <- lapply(found$places, with_rows_computed, extents, scope)
  for (axis in counted) {
    found$places[[axis]] <- new_place(seq_len(extents[[axis]]), list(list(kind = "axis", axes = axis)), axis)
  }
  frame <- list2env(c(lapply(found$places, lazy_place), twins_of_points, lazy_twins_in(scope)), parent = scope)
  F <- of_formula(eval(written, frame), written, what, scope, extents, found$places)
  if (is_lazy(F)) return(F)
  loose <- loose_arrays(written, scope)
  abort("input", what, " of an index formula must read an array in brackets",
        if (length(loose)) paste0(", as in ", in_brackets(names(loose)[1], loose[[1]], extents)), "; it is ",
        describe(F))
}

is_empty_place <- function(expression) is.name(expression) && !nzchar(as.character(expression))

axes_in_brackets <- function(expression) {
  if (!is.call(expression)) return(character())
  if (is_bracket(expression)) return(unlist(lapply(as.list(expression)[-(1:2)], axes_of_part)))
  unlist(lapply(as.list(expression)[-1], axes_in_brackets))
}

# Replaces each place by a name and records the place in `found`.
with_places <- function(expression, found, scope) {
  if (is_bracket(expression)) {
    label <- deparse1(expression)
    if (is.null(found$places[[label]])) found$places[[label]] <- place_of_bracket(expression, scope)
    return(as.name(label))
  }
  if (is.name(expression) && as.character(expression) %in% found$axes) {
    found$counters[[as.character(expression)]] <- TRUE
    return(expression)
  }
  if (!is.call(expression) || is_part_of_list(expression)) return(expression)
  refuse_double_brackets(expression, found$axes)
  as.call(c(expression[[1]], lapply(as.list(expression)[-1], function(part) {
    if (is_empty_place(part)) part else with_places(part, found, scope)
  })))
}

# Returns a sum of axes times whole numbers plus a number, as a list; NULL for other expressions.
linear_sum <- function(expression) {
  if (is.numeric(expression) && length(expression) == 1) return(list(by = numeric(), plus = expression))
  if (is.name(expression)) return(list(by = structure(1, names = as.character(expression)), plus = 0))
  if (!is.call(expression) || !is.name(expression[[1]])) return(NULL)
  parts <- lapply(as.list(expression)[-1], linear_sum)
  if (any(vapply(parts, is.null, NA))) return(NULL)
  times <- function(a, k) list(by = a$by * k, plus = a$plus * k)
  plus <- function(a, b) {
    both <- c(a$by, b$by)
    list(by = if (length(both)) vapply(split(both, factor(names(both), unique(names(both)))), sum, 0) else both,
         plus = a$plus + b$plus)
  }
  a <- parts[[1]]
  switch(as.character(expression[[1]]), `(` = a,
         `+` = if (length(parts) == 1) a else plus(a, parts[[2]]),
         `-` = if (length(parts) == 1) times(a, -1) else plus(a, times(parts[[2]], -1)),
         `*` = if (!length(a$by)) times(parts[[2]], a$plus) else if (!length(parts[[2]]$by)) times(a, parts[[2]]$plus))
}

# The functions of base R that, in a formula, fold or count the components of a point.
twins_of_points <- list(
  sum = function(x, ...) if (is_one_point(x, ...)) lazy_call("Sum", list(x)) else base::sum(x, ...),
  mean = function(x, ...) if (is_one_point(x, ...)) lazy_call("Sum", list(x)) / width(x) else base::mean(x, ...),
  max = function(x, ...) if (is_one_point(x, ...)) lazy_call("Max", list(x)) else base::max(x, ...),
  min = function(x, ...) if (is_one_point(x, ...)) lazy_call("Min", list(x)) else base::min(x, ...),
  length = function(x) if (is_lazy(x)) width(x) else base::length(x)
)
is_one_point <- function(x, ...) is_lazy(x) && !...length()
