# Subscripts of an index formula, and the arrays in front of them, as operands with named axes (formula-places.R); and
# the messages of errors if a right side cannot be evaluated.

# Makes a place of a bracket. `into`: if the bracket gives row numbers, the dimension that they index.
place_of_bracket <- function(expression, scope, into = NULL) {
  label <- deparse1(expression)
  x <- array_in_front(expression, label, scope)
  if (is_lazy(x)) abort("input", "`", label, "` reads a lazy tensor; brackets of an index formula read arrays")
  parts <- as.list(expression)[-(1:2)]
  if (!length(parts)) abort("input", label, " has nothing in its brackets")
  named <- names(parts)[nzchar(names(parts) %or% "")]
  if (length(named)) abort("input", "brackets of an index formula take no `", named[1], "`: leave it out of ", label)
  names <- names_of_dimensions(plain_value(x))
  specs <- lapply(seq_along(parts), function(k) {
    spec_of_expression(parts[[k]], scope, list(label = label, dimension = k, names = names[k][[1]]))
  })
  place <- new_place(if (is.null(into)) x else as_row_numbers(x, expression, into), specs, label)
  place$array <- deparse1(expression[[2]])
  place
}

# Returns the array that a bracket reads: a variable, or a part of a list variable.
array_in_front <- function(expression, label, scope) {
  front <- expression[[2]]
  if (is.name(front)) return(array_named(as.character(front), scope))
  if (is_part_of_list(front)) return(part_of_list(front, scope))
  abort("input", "in front of brackets stands the name of an array; in ", label, " it is ", deparse1(front), "; write ",
        named_in_front(expression, front))
}

# Returns the text to write in place of A[i][k], (A)[i, k] and t(A)[i, k].
named_in_front <- function(expression, front) {
  if (is_bracket(front)) return(deparse1(as.call(c(as.list(front), as.list(expression)[-(1:2)]))))
  in_round <- is.call(front) && identical(front[[1]], quote(`(`)) && is.name(front[[2]])
  expression[[2]] <- if (in_round) front[[2]] else quote(M)
  paste0(deparse1(expression), if (!in_round) paste0(" with M <- ", deparse1(front), " before the formula"))
}

# Tells whether an expression is fit$coef, l[["x"]] or object@x, applied to a variable or to another part.
is_part_of_list <- function(expression) {
  if (!is.call(expression) || length(expression) != 3 || !is.name(expression[[1]])) return(FALSE)
  takes <- switch(as.character(expression[[1]]), `$` = , `@` = TRUE, `[[` = !is.language(expression[[3]]), FALSE)
  takes && (is.name(expression[[2]]) || is_part_of_list(expression[[2]]))
}

part_of_list <- function(expression, scope) {
  root <- expression
  while (is.call(root)) root <- root[[2]]
  root <- as.character(root)
  refuse <- function(why) abort("input", "there is no array `", deparse1(expression), "`", why)
  x <- tryCatch(eval(expression, structure(list(array_named(root, scope)), names = root), scope),
                error = function(e) refuse(paste0(": ", message_of(e))))
  if (is.null(x)) refuse(": it is NULL")
  x
}

# Finds an array by its name. Functions are skipped, since base R has a t() and a c().
array_named <- function(name, scope) {
  here <- scope
  while (is.function(x <- get0(name, here))) {
    while (!exists(name, here, inherits = FALSE)) here <- parent.env(here)
    here <- parent.env(here)
  }
  if (!is.null(x)) return(x)
  if (exists(name, here)) abort("input", "`", name, "` is NULL, not an array")
  abort("input", "there is no array `", name, "`", near_hint(name, ls(scope), ""))
}

# Checks row numbers. A factor stands for its codes; names of rows are replaced by their numbers.
as_row_numbers <- function(x, expression, into) {
  if (is.factor(x)) return(array_or_vector(unclass(x)))
  label <- deparse1(expression)
  array <- deparse1(expression[[2]])
  if (is.logical(x)) {
    abort("input", "`", label, "` is logical, but row numbers of `", into$label, "` are whole numbers; which(", array,
          ") says which are TRUE")
  }
  if (!is.character(x)) return(x)
  if (is.null(into$names)) {
    abort("input", "`", label, "` is a character vector, but `", into$label, "` has no names in dimension ",
          into$dimension, "; row numbers are whole numbers, as from match(", array, ", unique(", array, "))")
  }
  at <- match(x, into$names)
  lost <- x[is.na(at) & !is.na(x)]
  if (length(lost)) no_such_name(lost[1], into)
  attributes(at) <- attributes(array_or_vector(x))
  at
}

no_such_name <- function(name, into) {
  abort("index", "`", into$label, "` asks for \"", name, "\", but dimension ", into$dimension, " of that array ",
        if (is.null(into$names)) "has no names" else "has no such name",
        if (!is.null(into$names)) near_hint(name, into$names))
}

spec_of_expression <- function(part, scope, into) {
  if (is_empty_place(part)) return(list(kind = "component"))
  if (is.name(part)) return(list(kind = "axis", axes = as.character(part)))
  if (is_bracket(part)) return(list(kind = "gather", by = place_of_bracket(part, scope, into)))
  if (is.character(part)) {
    at <- match(part, into$names)
    if (is.na(at)) no_such_name(part, into)
    return(list(kind = "number", value = at))
  }
  sum <- linear_sum(part)
  if (is.null(sum) && is_by_element(part)) {
    axes <- axes_of_part(part)
    if (length(axes)) return(list(kind = "computed", axes = axes, part = part))
    return(list(kind = "number", value = rows_computed(part, list(), scope)))
  }
  if (is.null(sum)) {
    abort("input", "in brackets stand axes, numbers, sums of both, row numbers such as g[i], or nothing; not ",
          deparse1(part), " in ", into$label, remedy_in_brackets(part))
  }
  by <- sum$by[sum$by != 0]
  if (!length(by)) return(list(kind = "number", value = sum$plus))
  if (any(c(by, sum$plus) %% 1 != 0)) abort("input", "steps of a window are whole numbers; not ", deparse1(part))
  list(kind = "window", axes = names(by), by = unname(by), plus = sum$plus)
}

remedy_in_brackets <- function(part) {
  if (is.logical(part)) return("; an empty place takes all of a dimension, as in x[i, ]")
  if (!is.call(part)) return("")
  if (as.character(part[[1]])[1] %in% c(":", "c", "seq", "seq_len")) {
    return("; take that part of the array before the formula")
  }
  paste0("; other row numbers come from an array: r <- ... before the formula, and r[",
         paste(axes_of_part(part), collapse = ", "), "] in the brackets")
}

# --- row numbers that are computed, such as abs(i - j) + 1 ------------------------------------------------------

# The functions that work elementwise, and so compute many points at once.
by_element <- c("(", "+", "-", "*", "/", "^", "%%", "%/%", "abs", "sign", "sqrt", "floor", "ceiling", "trunc", "round",
                "pmin", "pmax", "ifelse", "<", ">", "<=", ">=", "==", "!=", "&", "|", "!")

is_by_element <- function(part) {
  if (is.name(part) || is.numeric(part) && length(part) == 1) return(!is_empty_place(part))
  if (!is.call(part)) return(FALSE)
  known <- is_bracket(part) && is.name(part[[2]]) || is.name(part[[1]]) && as.character(part[[1]]) %in% by_element
  known && all(vapply(as.list(part)[-1], is_by_element, NA))
}

axes_of_part <- function(part) {
  if (is.name(part)) return(if (!is_empty_place(part)) as.character(part))
  if (!is.call(part)) return(NULL)
  unique(unlist(lapply(as.list(part)[if (is_bracket(part)) -(1:2) else -1], axes_of_part)))
}

# Turns each computed subscript into a gather, as soon as the lengths of the axes are known.
with_rows_computed <- function(place, extents, scope) {
  with_specs(place, function(spec) {
    if (spec$kind == "gather") spec$by <- with_rows_computed(spec$by, extents, scope)
    if (spec$kind != "computed") return(spec)
    size <- extents[spec$axes]
    grid <- lapply(seq_along(size), along_dimension, size)
    rows <- rows_computed(spec$part, structure(grid, names = spec$axes), scope)
    own <- lapply(spec$axes, function(axis) list(kind = "axis", axes = axis))
    list(kind = "gather", by = new_place(array(rows, size), own, deparse1(spec$part)))
  })
}

rows_computed <- function(part, grid, scope) {
  tryCatch(as.numeric(eval(part, c(grid, `[` = element_at), scope)), error = function(e) {
    abort("index", "the row numbers ", deparse1(part), " cannot be computed: ", message_of(e))
  })
}

# Computes x[i, j] at many points. Base R would drop subscripts of 0, and read a matrix as a vector.
element_at <- function(x, ...) {
  at <- list(...)
  size <- extents_of(x)
  if (length(at) != length(size)) {
    abort("index", "an array of ", counted(length(size), "dimension"), " has ", length(at), " in brackets")
  }
  for (k in seq_along(at)) if (!all(at[[k]] %in% seq_len(size[k]))) {
    abort("index", "places from ", min(at[[k]]), " to ", max(at[[k]]), " of an array that has ", size[k])
  }
  as.vector((if (is.factor(x)) as.integer(x) else x)[do.call(cbind, at)])
}

refuse_double_brackets <- function(expression, axes) {
  if (!identical(expression[[1]], quote(`[[`))) return(invisible())
  inside <- unlist(lapply(as.list(expression)[-(1:2)], all.vars))
  if (!any(inside %in% axes)) return(invisible())
  single <- expression
  single[[1]] <- quote(`[`)
  abort("input", "brackets of an index formula are single: write ", deparse1(single), " for ", deparse1(expression))
}

# --- right sides that cannot be evaluated ---------------------------------------------------------------------

# Gives errors of base R a class; for arrays without brackets, the error tells the brackets to write.
of_formula <- function(code, written, what, scope, extents, places) {
  withCallingHandlers(code, error = function(e) {
    if (inherits(e, "kernweave_error_shape")) {
      loose <- loose_arrays(written, scope)
      named <- vapply(names(loose), function(name) grepl(paste0("`", name, "`"), message_of(e), fixed = TRUE), NA)
      for (name in names(loose)[named]) {
        abort("shape", "`", name, "` is ", describe(loose[[name]]), " and stands in no brackets; write ",
              in_brackets(name, loose[[name]], extents), " to read it along axes")
      }
    }
    hint <- if (inherits(e, "kernweave_error_kind")) unknown_hint(places)
    if (!is.null(hint)) abort("kind", sub("; write the comparison.*", "", message_of(e)), hint)
    wrong <- intersect(names(by_point), all.names(written))
    remedy <- if (length(wrong)) paste0("; for each point write ", by_point[wrong[1]], " in place of ", wrong[1])
    if (inherits(e, "kernweave_error_unsupported") && length(wrong)) {
      abort("unsupported", what, " has ", wrong[1], " of points", remedy)
    }
    if (inherits(e, "kernweave_error")) return()
    abort("input", what, " cannot be evaluated as a formula: ", message_of(e),
          remedy %or% function_hint(conditionCall(e), written))
  })
}
by_point <- c(`if` = "ifelse(test, yes, no)", `&&` = "&", `||` = "|", `%*%` = "sum(x[i, ] * y[j, ])",
              is.na = "M[i, k], with M <- is.na(x) before the formula,")

# Names a C function in the error: such functions cannot take formulas, and their errors do not say so.
function_hint <- function(call, written) {
  name <- if (is.call(call) && is.name(call[[1]])) as.character(call[[1]])
  if (!length(intersect(name, setdiff(all.names(written), all.vars(written))))) return("")
  paste0(" in ", name, "(); kernweave_operations() lists what formulas are made of")
}

# Returns, by name, the arrays of more than one number that stand outside of brackets.
loose_arrays <- function(written, scope) {
  names <- all.vars(written)
  values <- lapply(names, function(name) plain_value(get0(name, scope)))
  several <- vapply(values, function(x) is.atomic(x) && length(x) > 1, NA)
  structure(values[several], names = names[several])
}

# Returns the text that reads an array along axes as long as its dimensions: "w[k]".
in_brackets <- function(name, x, extents) {
  left <- extents
  axes <- character()
  for (n in extents_of(x)) {
    fits <- names(left)[left == n]
    axes <- c(axes, if (length(fits)) fits[1] else "...")
    left <- left[setdiff(names(left), fits[1])]
  }
  paste0(name, "[", paste(axes, collapse = ", "), "]")
}
