# Gathers that take one of a few matrices for each point. A plain gather would store a matrix for every point. So the
# groups become an axis, of which each point meets one index; or each group of points has a formula of its own.

fewest_of_group <- 200  # points of a group on average that justify a call of their own
fewest_gathered <- 1e6  # numbers that a gather must make before groups are worth it

# Returns the axis whose points have groups, and the group of each point; NULL if groups gain nothing.
gathered_groups <- function(places, kept, extents) {
  for (place in places) for (k in seq_along(place$specs)) {
    spec <- place$specs[[k]]
    if (spec$kind != "gather" || !is_plain_list(spec$by) || !spec$by$axes %in% kept) next
    axis <- spec$by$axes
    beside <- prod(place$dim[-k])
    n <- extents[[axis]]
    if (beside == 1 || n * beside < fewest_gathered || !may_be_parted(places, axis)) next
    rows <- row_numbers_of(place, k)
    if (n >= fewest_of_group * length(unique(rows))) return(list(axis = axis, rows = rows, x = spec$by$x))
  }
}

# Tells whether every place has the axis either by itself or in plain gathers.
may_be_parted <- function(places, axis) {
  parts <- function(spec) {
    if (spec$kind == "gather") is_plain_list(spec$by) || !axis %in% spec$by$axes
    else spec$kind != "window" || !axis %in% spec$axes
  }
  all(vapply(places, function(place) !is_traced(place$x) && all(vapply(place$specs, parts, NA)), NA))
}

# Sweeps a sum over the groups if all folded axes lie inside; each point meets its own group. NULL for other sums.
with_own_groups <- function(whole, groups) {
  if (whole$row$fn != "sum" || !identical(whole$kept, groups$axis)) return(NULL)
  places <- lapply(lapply(whole$places, with_groups_known, groups), with_specs, function(spec) {
    if (isTRUE(spec$own)) list(kind = "axis", axes = axis_of_groups) else spec
  })
  F <- of_places(whole$F, whole$operands, places)
  whole[c("F", "operands", "places")] <- list(F, operands_of(F$formula), places_of_tensor(F))
  whole$extents <- extents_of_axes(whole$places, whole$extents)
  folded <- setdiff(names(whole$extents), c(groups$axis, axis_of_groups))
  inside <- Find(function(inside) setequal(inside, folded), sets_inside(whole))
  form <- if (!is.null(inside)) form_inside(inside, whole)
  if (is.null(form)) return(NULL)
  whole[names(form)] <- form
  roles <- roles_of(new_nest(groups$axis, sweep = axis_of_groups, inside = form$inside), whole)
  list(whole = whole, roles = c(roles, list(own = as.integer(groups$rows))))
}

axis_of_groups <- ".group"

# Reduces each group with its own formula. `reduce`: a function that reduces a formula of some points along the axis.
reduce_groups <- function(F, operands, places, groups, kept, reduce) {
  found <- NULL
  places <- lapply(places, with_groups_known, groups)
  for (at in split(seq_along(groups$rows), as.integer(groups$rows))) {
    some <- lapply(places, place_of_group, groups, at)
    leaves <- lapply(some, function(place) lazy_place(place)$formula)
    part <- reduce(new_lazy(r_with_operands(list(F$formula), operands, leaves)[[1]], c(NA_real_, NA_real_), F$settings))
    found <- with_part(found, part, at, match(groups$axis, kept), length(groups$rows))
  }
  found
}

# Marks, once, the gathers that take the rows of the groups.
with_groups_known <- function(place, groups) {
  with_specs(place, function(spec) {
    if (spec$kind == "gather") c(spec, list(own = identical(spec$by$x, groups$x))) else spec
  })
}

# Returns the place for the points of one group.
place_of_group <- function(place, groups, at) {
  for (k in seq_along(place$specs)) {
    spec <- place$specs[[k]]
    if (spec$kind == "axis" && spec$axes == groups$axis) {
      place$x <- taken_along(place$x, place$dim, k, at)
      place$dim[k] <- length(at)
    }
    if (spec$kind != "gather" || spec$by$axes != groups$axis) next
    if (spec$own) place$specs[[k]] <- list(kind = "number", value = groups$rows[at[1]])
    else place$specs[[k]]$by[c("x", "dim")] <- list(spec$by$x[at], length(at))
  }
  place$axes <- axes_of_specs(place$specs)
  place$names <- NULL
  place
}

# Puts the results of some points among the results of all points, along one axis.
with_part <- function(found, part, at, along, n) {
  if (is.list(part)) {
    before <- found %or% lapply(part, function(one) NULL)
    return(Map(with_part, before, part, list(at), along, n))
  }
  size <- dim(part) %or% length(part)
  size[along] <- n
  if (is.null(found)) found <- if (length(size) == 1) rep(part[NA_integer_], n) else array(part[NA_integer_], size)
  places <- rep(list(TRUE), length(size))
  places[[along]] <- at
  do.call(`[<-`, c(list(found), places, list(value = part)))
}
