# Plans of index formulas: the plan of a formula serves later calls whose arrays have equal types, extents and names. A
# plan holds no numbers of these arrays.

most_plans <- 64
most_points_of_plan <- 1e6  # a call of more points takes longer than its planning
known_plans <- new.env(parent = emptyenv())

# Returns the result by a plan made before, in a list; NULL if there is no plan.
planned_before <- function(asked, scope) {
  seen <- NULL
  for (k in seq_along(known_plans$all)) {
    plan <- known_plans$all[[k]]
    if (!identical(plan$asked, asked)) next
    if (is.null(seen)) seen <- seen_by_formula(plan$reads, scope)
    if (!identical(plan$kinds, seen$kinds)) next
    known_plans$all <- c(list(plan), known_plans$all[-k])
    arrays <- lapply(seen$arrays, `storage.mode<-`, "double")
    return(list(run_reduction(plan$R, data = lapply(plan$takes, data_taken, arrays))))
  }
}

# Keeps the plan of a reduction that has run. Its operands lose the numbers of the arrays.
keep_plan <- function(asked, scope, R, places, roles) {
  reads <- if (may_be_planned(places, roles)) reads_of(asked$right, names(roles$extents), scope)
  kinds <- if (!is.null(reads)) seen_by_formula(reads, scope)$kinds
  if (is.null(kinds) || any(vapply(kinds$arrays, is.null, NA))) return(invisible())
  operands <- prepared(R)$operands
  # The mean of a variance is computed from the arrays at each call.
  if (any(vapply(operands, function(operand) is.null(operand$data), NA))) return(invisible())
  at <- match_operands(operands, R$axes$operands)
  takes <- Map(function(operand, k) {
    if (is.na(k) || is.null(places[[k]]$array)) return(list(data = operand$data))
    take <- take_of(places[[k]], roles, attributes(operand$data))
    rm("data", envir = operand)  # the binding may be shared with other operands
    operand$kept <- operand$data <- NULL
    take
  }, operands, at)
  R$axes$operands <- R$axes$written <- NULL
  plan <- list(asked = asked, reads = reads, kinds = kinds, takes = unname(takes), R = R)
  known_plans$all <- utils::head(c(list(plan), known_plans$all), most_plans)
}

# Tells whether the choices for places depend on nothing but types, extents and names: groups of points (see
# gathered_groups()) and names of rows that are gathered depend on row numbers.
may_be_planned <- function(places, roles) {
  size <- vapply(places, function(place) prod(place$dim), 0)
  gathers <- vapply(places, function(place) any(gathers_of(place)), NA)
  named <- vapply(places, function(place) any(lengths(place$names[gathers_of(place)])), NA)
  points <- prod(roles$extents) * if (any(gathers)) max(size) else 1
  !any(named) && max(points, size) < most_points_of_plan
}
gathers_of <- function(place) vapply(place$specs, function(spec) spec$kind == "gather", NA)

# --- what a formula reads ---------------------------------------------------------------------------------------

# Lists what a right side reads: arrays by their texts, other words, functions. Returns NULL if the formula may mean
# something else the next time: if words are more than numbers, or functions are not known to depend on nothing else.
reads_of <- function(right, axes, scope) {
  found <- list(arrays = list(), words = character(), functions = character())
  fixed <- TRUE
  walk <- function(e, inside) {
    if (is_bracket(e)) {
      found$arrays[[deparse1(e[[2]])]] <<- e
      return(lapply(Filter(Negate(is_empty_place), as.list(e)[-(1:2)]), walk, TRUE))
    }
    if (is_empty_place(e) || !is.language(e) && (is.object(e) || !is.atomic(e))) fixed <<- FALSE
    else if (is.name(e) && !as.character(e) %in% axes) found$words <<- union(found$words, as.character(e))
    if (!is.call(e)) return()
    # Row numbers that are computed from an array are computed during planning.
    if (!is.name(e[[1]]) || inside && "[" %in% all.names(e)) fixed <<- FALSE
    found$functions <<- union(found$functions, as.character(e[[1]])[1])
    lapply(as.list(e)[-1], walk, inside)
  }
  walk(right, FALSE)
  numbers <- vapply(lapply(found$words, get0, scope), function(x) {
    (is.numeric(x) || is.logical(x)) && length(x) == 1 && !is.object(x)
  }, NA)
  steady <- vapply(lapply(found$functions, get0, scope, mode = "function"), function(f) {
    is.primitive(f) || is.function(f) && isNamespace(environment(f))
  }, NA)
  # Functions whose value depends on their arguments alone.
  known <- c(by_element, names(twins_of_points), known_operations()$fn)
  if (fixed && all(numbers, steady, found$functions %in% known)) found
}

# Returns the arrays that a formula reads now, and the inputs of its plan: types of arrays, all words and functions.
seen_by_formula <- function(reads, scope) {
  arrays <- lapply(reads$arrays, array_in_front, "", scope)
  kinds <- lapply(arrays, function(x) {
    plain <- !is.object(x) && (is.numeric(x) || is.logical(x)) && !is_on_device(x)
    if (plain) list(typeof(x), length(x), attributes(x), is.logical(x) && anyNA(x))
  })
  list(arrays = arrays, kinds = list(arrays = kinds, words = lapply(reads$words, get0, scope),
                                     functions = lapply(reads$functions, get0, scope, mode = "function")))
}

# --- numbers of arrays for a plan -------------------------------------------------------------------------------

# Describes how an operand gets its numbers: by new attributes alone, if dimensions have the role's order.
take_of <- function(place, roles, attributes) {
  role <- role_of_place(place, roles)
  dimensions <- lapply(seq_along(place$specs), function(k) {
    switch(place$specs[[k]]$kind, axis = place$specs[[k]]$axes, component = k)
  })
  if (identical(dimensions, role$order)) return(list(array = place$array, attributes = attributes))
  list(place = with_numbers(place, NULL), role = role, roles = roles)
}

data_taken <- function(take, arrays) {
  if (!is.null(take$data)) return(take$data)
  if (!is.null(take$place)) return(data_in_role(with_numbers(take$place, arrays), take$role, take$roles))
  x <- arrays[[take$array]]
  if (identical(attributes(x), take$attributes)) x else `attributes<-`(x, take$attributes)
}

# Gives a place the numbers of `arrays`; if `arrays` is NULL, removes its numbers.
with_numbers <- function(place, arrays) {
  if (!is.null(place$array)) place["x"] <- list(arrays[[place$array]])
  for (k in which(gathers_of(place))) place$specs[[k]]$by <- with_numbers(place$specs[[k]]$by, arrays)
  place
}
