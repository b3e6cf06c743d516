# Operands with named axes. A place is an array and the content of each of its dimensions: an axis, a number, a sum of
# axes and a number (a window), row numbers that vary along axes (a gather), or nothing (the components). Until a
# reduction knows its kept axes, a place is a parameter of the formula; then it gets its role (axis-roles.R).

#' Arrays with named axes
#'
#' `along()` turns an array into a variable of a formula and names its axes: in `along(x, "i", "k")`, the first
#' dimension of `x` varies along the axis i and the second along k. Use it in programs, to write formulas of any number
#' of axes. In scripts, [reduction()] of an index formula such as `C[i, j] ~ A[i, k] * B[k, j]` says the same in one
#' line.
#'
#' Give one argument for each dimension of `x`. The name of an axis means that the dimension varies along that axis; the
#' same name for two dimensions selects the diagonal. Two names, `c("t", "s")`, define a window: the subscript is t +
#' s - 1. A number is a fixed subscript. `NA` makes the dimension the components of a point, like the empty subscript in
#' `x[i, ]`. With `at = list(i = g)`, the subscript along i is `g[i]`, and axis i is as long as `g`.
#'
#' `along(x, "i", NA)` is [Vi()], `along(x, "j", NA)` is [Vj()], `along(A, "i", "j")` is [Vij()], `along(p, NA)` is
#' [Pm()]. `reduction(F, op, index =)` computes formulas with other axes, where `index` names the axes to reduce over.
#' The result has one dimension for each remaining axis, in the order in which the formula mentions the axes, and then
#' one for the components. A single remaining axis gives a vector. Formulas of i and j alone give a matrix, as always.
#'
#' @param x a numeric vector, matrix or array
#' @param ... for each dimension the name of an axis, two names for a window, a number, or `NA` for components
#' @param at a list of integer vectors, named by axes: the subscripts at the points of the axis; by default empty
#' @param name name of the variable in messages; by default the name of the object given as `x`
#' @return A lazy tensor.
#' @seealso [reduction()] for index formulas, [Vi()] for formulas of pairs
#' @concept einsum
#' @concept tensor contraction
#' @concept named axes
#' @export
#' @examples
#' A <- matrix(rnorm(6), 2)
#' B <- matrix(rnorm(12), 3)
#' reduction(along(A, "i", "k") * along(B, "k", "l"), "sum", index = "k")
#' A %*% B
#' y <- c(1, 4, 9, 16)
#' reduction(along(y, c("t", "s")) * along(c(-1, 1), "s"), "sum", index = "s")
along <- function(x, ..., at = list(), name = NULL) {
  name <- check_name(name, default_name(substitute(x), "x"))
  given <- list(...)
  if (length(names(given))) abort("input", "along(): axes are given in the order of the dimensions, not by name")
  axes <- unlist(Filter(is.character, given))
  if (anyNA(axes) || any(!nzchar(axes))) abort("input", "along(): an axis is a word, not ", format_value(axes))
  if (!is.list(at) || length(at) && !all(names(at) %or% "" %in% axes)) {
    abort("input", "along(): `at` is a list of row numbers named by axes, here ", paste(unique(axes), collapse = ", "))
  }
  # Operands of the axes i and j alone are made by Vi(), Vj(), Vij() and Pm().
  text <- paste(vapply(given, function(one) if (length(one) == 1) as.character(one) else "...", ""), collapse = " ")
  make <- if (!length(at)) switch(text, "i NA" = , i = Vi, "j NA" = , j = Vj, "i j" = Vij, "NA" = Pm)
  if (!is.null(make) && length(given) == length(extents_of(x))) return(make(x, name = name))
  lazy_place(new_place(x, lapply(given, spec_of_argument, at), name))
}

spec_of_argument <- function(one, at) {
  if (length(one) == 1 && is.na(one)) return(list(kind = "component"))
  if (is.character(one) && length(one) == 2) {
    return(list(kind = "window", axes = unique(one), by = if (one[1] == one[2]) 2 else c(1, 1), plus = -1))
  }
  if (is.character(one) && length(one) == 1) {
    if (is.null(at[[one]])) return(list(kind = "axis", axes = one))
    return(list(kind = "gather", by = new_place(at[[one]], list(list(kind = "axis", axes = one)), paste0("at$", one))))
  }
  if (is.numeric(one) && length(one) == 1) return(list(kind = "number", value = one))
  abort("input", "along(): a dimension is the name of an axis, two names, a number or NA, not ", describe(one))
}

# --- places ---------------------------------------------------------------------------------------------------

new_place <- function(x, specs, name) {
  plain <- plain_value(x)
  if (is.data.frame(plain) || methods::is(plain, "Matrix")) {
    abort("input", "`", name, "` is ", describe(plain), "; as.matrix(", sub("\\[.*", "", name),
          "), before the formula, makes an array of it")
  }
  numbers <- check_numbers(plain, name)
  extents <- extents_of(plain)
  if (length(specs) != length(extents)) {
    abort("shape", "`", name, "` names ", counted(length(specs), "dimension"), " of an array that has ",
          length(extents), " (", paste(extents, collapse = " x "), "); an empty place, as in x[i, ], takes the ",
          "components of a point")
  }
  place <- list(x = if (is_traced(x)) x else numbers$values, kind = numbers$kind, specs = specs, name = name,
                axes = axes_of_specs(specs), dim = extents, names = names_of_dimensions(plain),
                unknown = is.logical(plain) && numbers$kind != "logical")
  check_numbers_in_range(place)
  if (width_of_place(place) == 0) abort("shape", "`", name, "` has no component: a dimension in brackets has extent 0")
  place
}

# Explains NA: a logical formula has no NA, so a logical array with NA counts as integers.
unknown_hint <- function(places) {
  for (place in places) if (isTRUE(place$unknown)) {
    return(paste0(": `", place$name, "` has NA, which logical formulas do not know; ", place$name,
                  " == TRUE takes NA for FALSE"))
  }
}

axes_of_specs <- function(specs) {
  unique(unlist(lapply(specs, function(spec) if (spec$kind == "gather") spec$by$axes else spec$axes)))
}

# Replaces the specs of a place by change(spec).
with_specs <- function(place, change) {
  place$specs <- lapply(place$specs, change)
  place["axes"] <- list(axes_of_specs(place$specs))
  place
}

extents_of <- function(x) dim(x) %or% length(x)
names_of_dimensions <- function(x) if (is.null(dim(x))) list(names(x)) else dimnames(x)

check_numbers_in_range <- function(place) {
  for (k in seq_along(place$specs)) {
    spec <- place$specs[[k]]
    if (spec$kind != "number") next
    inside <- is.finite(spec$value) && spec$value == round(spec$value) && spec$value >= 1 &&
      spec$value <= place$dim[k]
    if (!inside) {
      abort("index", "`", place$name, "` has ", place$dim[k], " places in dimension ", k, "; ", format(spec$value),
            " is none of them", if (isTRUE(spec$value < 0)) "; leave places out before the formula, as in x[-1]")
    }
  }
}

components_of <- function(place) vapply(place$specs, function(spec) spec$kind == "component", NA)
width_of_place <- function(place) as.integer(prod(place$dim[components_of(place)]))

# Takes some rows of an array along one dimension.
taken_along <- function(x, dim, k, rows) {
  if (is.null(base::dim(x))) base::dim(x) <- dim
  some <- rep(list(TRUE), length(dim))
  some[[k]] <- rows
  do.call(`[`, c(list(x), some, drop = FALSE))
}

# Returns a lazy tensor that consists of one place.
lazy_place <- function(place) {
  operand <- new_operand(place$name, "param", width_of_place(place), place$kind, numeric())
  operand$place <- place
  type <- c(operand$width, kind_codes[[place$kind]], 0L)
  new_lazy(list(op = "Var", args = operand, attributes = axis_codes[["param"]], type = type), c(NA_real_, NA_real_))
}

of_places <- function(F, operands, places) {
  leaves <- lapply(places, function(place) lazy_place(place)$formula)
  new_lazy(r_with_operands(list(F$formula), operands, leaves)[[1]], c(NA_real_, NA_real_), F$settings)
}

# Returns the places of a lazy tensor, including operands along i and j, in the order of mention; and their axes.
places_of_tensor <- function(F) lapply(operands_of(F$formula), place_of_operand)
axes_of_places <- function(places) unique(unlist(lapply(places, `[[`, "axes")))

place_of_operand <- function(operand) {
  if (!is.null(operand$place)) return(operand$place)
  x <- operand$traced %or% operand$data
  if (is.null(x)) abort("no_data", "`", operand$name, "` has no data; formulas with named axes have no placeholders")
  if (length(extents_of(x)) > 2) {
    abort("unsupported", "`", operand$name, "` has batches; name the axes of its array by along()")
  }
  axis <- function(name) list(kind = "axis", axes = name)
  component <- list(kind = "component")
  specs <- switch(operand$axis, i = list(axis("i"), component), j = list(axis("j"), component), param = list(component),
                  pair = list(axis("i"), axis("j")))
  new_place(x, specs[seq_along(extents_of(x))], operand$name)
}

# Tells whether a formula has named axes. Each reduction asks this, so the answer is kept.
has_named_axes <- function(F, kept = r_kept(F)) {
  if (is.null(kept$named)) {
    kept$named <- any(vapply(operands_of(F$formula), function(operand) !is.null(operand$place), NA))
  }
  kept$named
}

# Refuses named axes: a place has numbers only when it has a role, so other functions cannot compute with it.
refuse_named_axes <- function(operands) {
  for (operand in operands) if (!is.null(operand$place)) {
    abort("unsupported", "`", operand$name, "` has named axes: reduction(F, op, index =) computes such formulas, with ",
          "the names of the axes to reduce over")
  }
}

# --- extents --------------------------------------------------------------------------------------------------

# Returns the lengths of the axes, named, in the order of mention. An axis that occurs only in windows is as long as all
# elements stay inside; NA if nothing else determines it and it may stay `open`.
extents_of_axes <- function(places, given = NULL, open = FALSE) {
  known <- lapply(given, function(n) list(extent = as.numeric(n), name = "extents"))
  note <- function(axis, extent, name) {
    before <- known[[axis]]
    if (!is.null(before) && before$extent != extent) {
      if (before$name == name) {
        abort("shape", "axis ", axis, " stands for two dimensions of `", name, "`, of ", before$extent, " and ", extent,
              " places: it takes the diagonal, so they must be as long")
      }
      abort("shape", "axis ", axis, " has ", before$extent, " points in `", before$name, "`, but ", extent, " in `",
            name, "`")
    }
    if (is.null(before)) known[[axis]] <<- list(extent = extent, name = name)
  }
  windows <- list()
  each_spec(places, function(spec, extent, name) {
    if (spec$kind == "axis") note(spec$axes, extent, name)
    if (spec$kind == "window") windows[[length(windows) + 1]] <<- c(spec, list(extent = extent, name = name))
  })
  known <- extents_of_windows(known, windows, open)
  order <- axes_of_places(places)
  if (length(order) > 16) abort("unsupported", "a formula of ", length(order), " axes; there may be 16")
  structure(vapply(known[order], function(one) as.numeric(one$extent %or% NA), 0), names = order)
}

# Calls f(spec, extent of the dimension, name) for each dimension, also of gathers within gathers.
each_spec <- function(places, f) {
  for (place in places) for (k in seq_along(place$specs)) {
    spec <- place$specs[[k]]
    if (spec$kind == "gather") each_spec(list(spec$by), f)
    f(spec, place$dim[k], place$name)
  }
}

extents_of_windows <- function(known, windows, may_stay_open = FALSE) {
  unknown <- function() setdiff(unique(unlist(lapply(windows, `[[`, "axes"))), names(known))
  while (length(open <- unknown())) {
    found <- FALSE
    for (axis in open) {
      here <- Filter(function(window) identical(setdiff(window$axes, names(known)), axis), windows)
      if (!length(here)) next
      most <- min(vapply(here, most_in_window, 0, axis, known))
      known[[axis]] <- list(extent = most, name = here[[1]]$name, window = TRUE)
      found <- TRUE
    }
    if (!found && may_stay_open) return(known)
    if (!found) {
      abort("shape", "the axes ", paste(open, collapse = " and "), " stand in windows alone, so nothing says how long ",
            "they are; say it by extents = c(", open[length(open)], " = ...)")
    }
  }
  for (window in windows) check_window(window, known)
  known
}

# Returns the least and the largest sum of the terms of a window, without the term of axis `but`.
reach_of_window <- function(window, known, but = NULL) {
  others <- !window$axes %in% but
  last <- vapply(window$axes[others], function(axis) as.numeric(known[[axis]]$extent), 0)
  ends <- rbind(window$by[others], window$by[others] * last)
  window$plus + c(sum(apply(ends, 2, min)), sum(apply(ends, 2, max)))
}

most_in_window <- function(window, axis, known) {
  by <- sum(window$by[window$axes == axis])
  reach <- reach_of_window(window, known, axis)
  room <- floor(if (by > 0) (window$extent - reach[2]) / by else (reach[1] - 1) / -by)
  others <- vapply(known[setdiff(window$axes, axis)], `[[`, 0, "extent")
  # If not even one point stays inside, check_window() reports it.
  max(if (any(others == 0)) 0 else 1, room)
}

check_window <- function(window, known) {
  if (any(vapply(known[window$axes], `[[`, 0, "extent") == 0)) return(invisible())
  reach <- reach_of_window(window, known)
  if (reach[1] >= 1 && reach[2] <= window$extent) return(invisible())
  by_array <- vapply(window$axes, function(axis) is.null(known[[axis]]$window) && known[[axis]]$name != "extents", NA)
  long <- Map(function(axis, told) {
    paste0(axis, ": ", format(known[[axis]]$extent), if (told) paste0(", as in `", known[[axis]]$name, "`"))
  }, window$axes, by_array)
  abort("shape", "a window of `", window$name, "` reaches from ", reach[1], " to ", reach[2], " of ", window$extent,
        " (", paste(long, collapse = "; "), ")", if (any(by_array)) paste0(
          ". An axis that stands alone in brackets is as long as its array: z[", window$axes[by_array][1],
          " + 0] leaves the length to the windows"))
}

# --- how places print -----------------------------------------------------------------------------------------

axes_text <- function(extents) {
  paste0(names(extents), " (", format(extents, trim = TRUE, big.mark = ","), ")", collapse = ", ")
}

# Returns the text of dim() with names of axes: "i 5 x k 7".
named_shape_text <- function(F) {
  n <- dim(F)
  points <- ifelse(is.na(n), "?", format(n, trim = TRUE, big.mark = ",", scientific = FALSE))
  components <- if (width(F) > 1) paste0(" x ", width(F), " components")
  paste0(paste(names(n), points, collapse = " x "), components, ", ", type_kind(F))
}

over_axes_text <- function(axes) {
  over <- if (length(axes$folded)) paste("over", paste(names(axes$folded), collapse = ", ")) else "over nothing"
  paste0(over, if (length(axes$kept)) paste0(", for each ", paste(axes$kept, collapse = ", "), ","))
}

# Describes the engine's roles of the axes, for explain().
roles_text <- function(axes) {
  of <- function(which) axes$all[axes$roles[[which]]]
  outer <- of("outer")
  folded <- names(outer) %in% names(axes$folded)
  c(if (length(of("lane"))) paste("lanes along", axes_text(of("lane"))),
    if (length(of("sweep"))) paste("sweep along", axes_text(of("sweep"))),
    if (length(of("columns"))) paste("columns along", axes_text(of("columns"))),
    if (length(of("components"))) paste("components along", axes_text(of("components"))),
    if (length(of("inside"))) paste("inside each point", axes_text(of("inside"))),
    if (any(!folded)) paste("a run for each of", axes_text(outer[!folded])),
    if (any(folded)) paste("runs that are folded together along", axes_text(outer[folded])))
}

is_bracket <- function(expression) is.call(expression) && identical(expression[[1]], quote(`[`))
