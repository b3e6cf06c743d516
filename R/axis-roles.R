# Roles: the engine's axis for each axis of a formula. One axis is the lane, and each of its points has a result; one is
# the sweep, which is folded, or, if nothing is swept, the columns, which are kept; one may be the components; all
# others are outer axes, and the engine runs once for each of their points. Folded outer axes come last, and their
# states are merged.

# --- which axis is which ----------------------------------------------------------------------------------------

# Describes a nest for the engine. Outer axes are in the order of mention, unless the nest names them.
roles_of <- function(nest, whole) {
  extents <- whole$extents
  folded <- setdiff(names(extents), whole$kept)
  outer <- nest$outer %or% setdiff(names(extents), unlist(nest))
  outer <- c(outer[outer %in% whole$kept], outer[!outer %in% whole$kept])
  folds <- length(setdiff(outer, whole$kept))
  second <- nest$sweep %or% nest$columns
  extent <- function(axis) if (is.null(axis)) 1 else extents[[axis]]
  c(nest[c("lane", "sweep", "components", "columns", "inside")],
    list(second = second, outer = outer, kept = whole$kept, folded = folded, extents = extents,
         index = if (length(whole$kept)) "j" else "ij", names = names_of_axes(whole$places, whole$kept),
         extent = as.numeric(c(extent(nest$lane), extent(second))), settings = if (folds) list(folded = folds)))
}

# Returns the names of results along axes. Names come from the first array that names the axis, row-number vectors
# included; else from the first array whose named rows such a vector takes.
names_of_axes <- function(places, axes) {
  sapply(axes, function(axis) axis_names(places, axis) %or% names_gathered(places, axis), simplify = FALSE)
}

axis_names <- function(places, axis) {
  for (place in places) for (k in seq_along(place$specs)) {
    spec <- place$specs[[k]]
    names <- if (spec$kind == "gather") axis_names(list(spec$by), axis)
             else if (spec$kind == "axis" && spec$axes == axis) place$names[[k]]
    if (!is.null(names)) return(names)
  }
}

names_gathered <- function(places, axis) {
  for (place in places) for (k in seq_along(place$specs)) {
    spec <- place$specs[[k]]
    if (spec$kind != "gather" || is.null(place$names[[k]])) next
    if (is_plain_list(spec$by) && spec$by$axes == axis) return(place$names[[k]][row_numbers_of(place, k)])
  }
}

# --- arrays in their roles ----------------------------------------------------------------------------------------

# Turns a place into an operand: along the lane, the sweep or the columns, both or neither. All other axes of the place
# are outer axes.
operand_in_role <- function(place, roles) {
  role <- role_of_place(place, roles)
  x <- if (!role$window) numbers_in_role(place, role, roles)
  data <- data_in_role(place, role, roles, plain_value(x))
  bearing(new_operand(place$name, role$axis, role$width, place$kind, data), x)
}

# The role of a place: its axis in the engine, the order and the extents of its numbers, and whether it is a window.
role_of_place <- function(place, roles) {
  along <- c(any(roles$lane %in% place$axes), any(roles$second %in% place$axes))
  axis <- if (all(along)) "pair" else if (along[1]) "i" else if (along[2]) "j" else "param"
  own <- which(components_of(place))
  wide <- if (length(own)) own else roles$components
  points <- switch(axis, i = list(roles$lane, wide), j = list(roles$second, wide), param = list(NULL, wide),
                   pair = list(roles$lane, roles$second))
  parts <- lapply(c(points, as.list(roles$outer)), function(part) {
    if (is.numeric(part)) part else intersect(part, place$axes)
  })
  size <- vapply(parts, function(part) prod(if (is.numeric(part)) place$dim[part] else roles$extents[part]), 0)
  list(axis = axis, order = unlist(lapply(parts, as.list), recursive = FALSE), size = size,
       width = if (axis == "pair") 1L else as.integer(size[2]), window = is_window_of_pairs(place, roles))
}

numbers_in_role <- function(place, role, roles) {
  x <- in_order_of(place, role$order, roles$extents)
  if (identical(as.numeric(dim(x)), role$size)) x else rearranged(x, function(x) `dim<-`(x, role$size))
}

# Returns the numbers in the engine's form. A parameter without outer axes is a vector.
data_in_role <- function(place, role, roles, data = numbers_in_role(place, role, roles)) {
  if (role$window) return(window_of_pairs(place, roles))
  if (!is.double(data)) storage.mode(data) <- "double"
  if (role$axis == "param" && all(role$size[-2] == 1)) as.vector(data) else data
}

# Returns the numbers of a place as an array of the given axes (by name) and components (by dimension), in order.
in_order_of <- function(place, order, extents) {
  place <- with_rows_taken(place)
  kinds <- vapply(place$specs, `[[`, "", "kind")
  plain <- vapply(place$specs[kinds == "axis"], `[[`, "", "axes")
  if (all(kinds %in% c("axis", "component", "number")) && !anyDuplicated(plain)) return(permuted(place, order))
  size <- vapply(order, function(one) if (is.numeric(one)) place$dim[one] else extents[[one]], 0)
  fitting_in_memory(take(place$x, positions_of(place, order, size)), place, size)
}

# Explains memory errors: windows over matrices, gathers and diagonals are copied, with a number for each point.
fitting_in_memory <- function(code, place, size) {
  withCallingHandlers(code, error = function(e) {
    if (!grepl("cannot allocate", message_of(e), fixed = TRUE)) return()
    abort("memory", "not enough memory for the ", format(prod(size)), " numbers that `", place$name,
          "` reads, one for each point: ", paste(size, collapse = " x "))
  })
}

# Tells whether a place is a window over a vector along the lane and the sweep: pairs read it without a copy.
is_window_of_pairs <- function(place, roles) {
  spec <- place$specs[[1]]
  alone <- length(place$specs) == 1 && identical(roles$outer, character()) && !is_traced(place$x) &&
    !is_on_device(place$x)
  alone && spec$kind == "window" && length(spec$axes) == 2 && length(roles$second) == 1 &&
    setequal(spec$axes, c(roles$lane, roles$second)) && spec$by[spec$axes == roles$lane] == 1
}

window_of_pairs <- function(place, roles) {
  spec <- place$specs[[1]]
  apart <- spec$by[spec$axes == roles$second]
  reach <- reach_of_window(spec, lapply(roles$extents, function(n) list(extent = n)))
  x <- place$x
  if (!identical(reach, c(1, length(x)))) x <- x[reach[1]:reach[2]]
  structure(as.vector(x), window = as.numeric(c(roles$extents[c(roles$lane, roles$second)], apart)))
}

# Takes rows that a vector of row numbers selects; the place then varies along the axis of that vector.
with_rows_taken <- function(place) {
  for (k in seq_along(place$specs)) {
    spec <- place$specs[[k]]
    if (spec$kind != "gather" || !is_plain_list(spec$by) || spec$by$axes %in% axes_of_specs(place$specs[-k])) next
    rows <- row_numbers_of(place, k)
    place$x <- rearranged(place$x, function(x) taken_along(x, place$dim, k, rows))
    place$dim[k] <- length(rows)
    place$specs[[k]] <- spec$by$specs[[1]]
  }
  place
}
is_plain_list <- function(place) length(place$specs) == 1 && place$specs[[1]]$kind == "axis"

# Puts the dimensions of a place in order. Each dimension is an axis by itself, a component or a number.
permuted <- function(place, order) {
  kinds <- vapply(place$specs, `[[`, "", "kind")
  at <- vapply(order, function(one) {
    if (is.numeric(one)) one else which(vapply(place$specs, function(spec) identical(spec$axes, one), NA))
  }, 0)
  numbers <- which(kinds == "number")
  perm <- c(at, numbers)
  rearranged(place$x, function(x) {
    if (!identical(dim(x), as.integer(place$dim))) dim(x) <- place$dim
    if (is.unsorted(perm)) x <- aperm(x, perm)
    if (!length(numbers)) return(x)
    some <- c(lapply(place$dim[at], seq_len), lapply(place$specs[numbers], `[[`, "value"))
    do.call(`[`, c(list(x), some, drop = FALSE))
  })
}

# --- results ------------------------------------------------------------------------------------------------------

# Describes the way from the engine's result to an array of the kept axes: the extents as stored, their order, and the
# meaning of positions along folded axes.
results_in_axes <- function(roles, wide, row, K, divide) {
  outer <- intersect(roles$outer, roles$kept)
  lies <- c(if (length(roles$kept)) roles$lane, roles$columns, if (!is.null(K)) ".K", roles$components %or% ".c", outer)
  size <- c(roles$extents, .K = K, .c = wide)[lies]
  meant <- c(roles$kept, if (wide > 1) ".c", if (!is.null(K)) ".K")
  # A single component is not an axis.
  list(size = unname(size), order = match(c(meant, setdiff(lies, meant)), lies), extents = unname(size[meant]),
       names = unname(c(roles$names, rep(list(NULL), length(meant) - length(roles$kept)))), results = row$results,
       engine = roles$extents[intersect(c(roles$lane, roles$sweep, roles$outer), roles$folded)],
       folded = roles$extents[roles$folded], divide = divide,
       roles = roles[c("lane", "sweep", "columns", "components", "inside", "outer")], kept = roles$kept,
       all = roles$extents)
}

in_axes <- function(out, axes) {
  position <- function(x) one_in_axes(meant_positions(x, axes$engine, axes$folded), axes)
  switch(axes$results, index = position(out), value = one_in_axes(out, axes),
         value_index = list(value = one_in_axes(out$value, axes), index = position(out$index)))
}

one_in_axes <- function(x, axes) {
  x <- rearranged(x, function(x) {
    if (!identical(dim(x), as.integer(axes$size))) dim(x) <- axes$size
    if (is.unsorted(axes$order)) x <- aperm(x, axes$order)
    if (length(axes$extents) < 2) return(structure(as.vector(x), names = if (length(axes$names)) axes$names[[1]]))
    if (!identical(dim(x), as.integer(axes$extents))) dim(x) <- axes$extents
    if (!all(vapply(axes$names, is.null, NA))) dimnames(x) <- axes$names
    x
  })
  if (is.null(axes$divide)) x else x / axes$divide
}

# Translates positions among all folded points: the axis that was mentioned first varies fastest.
meant_positions <- function(at, engine, folded) {
  if (identical(names(engine), names(folded))) return(at)
  left <- at - 1
  step <- cumprod(c(1, folded))[seq_along(folded)]
  names(step) <- names(folded)
  found <- 1
  for (axis in names(engine)) {
    found <- found + step[[axis]] * (left %% engine[[axis]])
    left <- left %/% engine[[axis]]
  }
  if (is.integer(at)) storage.mode(found) <- "integer"
  found
}
