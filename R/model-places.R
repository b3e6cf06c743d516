# Spatial inputs: points on a sphere, and kernels of some of the inputs.

# --- kernels of places ------------------------------------------------------------------------------------------

place_metrics <- c("euclidean", "chordal", "haversine")

# Checks the inputs of a kernel: `metric` or NULL, `radius`, `terms`, the names of its inputs or NULL for all, and
# `times`, the names of inputs that multiply the kernel.
kernel_places <- function(known, metric, radius, of, times) {
  if (!is.null(metric)) metric <- choice_of(metric[1], place_metrics, "metric")
  radius <- positive_number(radius, "radius")
  check_inputs_named(of, "of")
  check_inputs_named(times, "times")
  row <- if (is.null(known$fun)) kernel_rows[[known$name]]
  spherical <- !is.null(metric) && metric != "euclidean"
  if (spherical && is.null(known$fun) && is.null(row$of_square) && !has_time(known)) {
    abort("unsupported", "`metric` is for kernels of a distance, and ", known$title, " is none")
  }
  if (identical(metric, "haversine") && known$name != "matern12") {
    abort("unsupported", known$title, " by great circles (\"haversine\") is not positive definite, \"matern12\" is; ",
          "metric = \"chordal\" is for all kernels")
  }
  list(metric = metric, radius = radius, terms = of, times = times)
}

check_inputs_named <- function(names, argument) {
  if (is.null(names) || is.character(names) && length(names) && !anyNA(names) && !anyDuplicated(names)) return()
  abort("input", "`", argument, "` must be names of inputs, each once, not ", describe(names))
}

is_spherical <- function(parts) !is.null(parts$metric) && parts$metric != "euclidean"

# Selects the inputs of a kernel: by name, or by number from model points, which have no names. Places on a sphere
# become points in space.
kernel_points <- function(parts, x, beside = NULL) {
  named <- !is_lazy(x) && !is.null(parts$terms) && all(parts$terms %in% colnames(x))
  wide <- !is.null(parts$columns) && (if (is_lazy(x)) width(x) else NCOL(x)) >= max(parts$columns)
  if (wide && !named) {
    columns <- parts$columns
    if (is_lazy(x)) return(if (width(x) == length(columns) && !has_time(parts)) x else x[, , columns])
    term <- attr(x, "term")[columns]
    x <- as.matrix(x)[, columns, drop = FALSE]
    return(if (length(term)) structure(x, term = match(term, unique(term))) else x)
  }
  if (!is.null(parts$terms)) {
    if (is_lazy(x)) abort("input", "`of` of a kernel names columns, and lazy points have none: give the data")
    if (is.data.frame(x)) x <- named_points(parts$terms, x, beside)
    else x <- as_inputs(x, "x")[, known_inputs(parts$terms, colnames(x)), drop = FALSE]
  }
  if (!is_spherical(parts) || is_lazy(x) && width(x) == 3 + has_time(parts)) return(x)
  if (!has_time(parts)) return(structure(on_sphere(x, parts$radius), term = if (!is_lazy(x)) c(1L, 1L, 1L)))
  if (is_lazy(x)) c(on_sphere(x[, , 1:2], parts$radius), x[, , 3])
  else cbind(on_sphere(x[, -ncol(x), drop = FALSE], parts$radius), x[, ncol(x)])
}

# Selects variables of a data frame as points; factors have the levels of this data frame and of `beside`.
named_points <- function(names, x, beside, argument = "of") {
  x <- as.data.frame(x)[known_inputs(names, names(x), argument)]
  levels <- levels_of(x)
  if (is.data.frame(beside)) levels <- Map(function(a, b) sort(union(a, b)), levels, levels_of(beside)[names(levels)])
  as_inputs(x, "x", levels)
}

known_inputs <- function(wanted, known, argument = "of") {
  unknown <- setdiff(wanted, known)
  if (length(unknown)) {
    abort("input", "a kernel is `", argument, "` the input `", unknown[1], "`, which is not there",
          near_hint(unknown[1], known, paste0(there_are(known), ": inputs stand on the right side of a formula")))
  }
  match(wanted, known)
}

term_labels <- function(inputs) {
  if (length(inputs$names) == max(attr(inputs$x, "term"))) return(inputs$names)
  colnames(inputs$x) %or% seq_len(ncol(inputs$x))
}

# exp(-d / scale), where the great-circle distance d = 2 radius asin(chord / (2 radius)). The radius is slightly larger,
# so that rounding never gives antipodes an argument above 1.
great_circle_value <- function(x, y, scale, radius) {
  half <- -kernel_energy(x, y, scale = 2 * radius * (1 + 4 * .Machine$double.eps))
  exp(-2 * radius * asin(half) / scale)
}

places_text <- function(parts) {
  paste0(if (!is.null(parts$terms)) paste0(", of ", paste(parts$terms, collapse = " and ")),
         if (!is.null(parts$times)) paste0(", times ", paste(parts$times, collapse = " and ")),
         if (is_spherical(parts)) {
           paste0(if (parts$metric == "chordal") ", by chords" else ", by great circles", " of a sphere of radius ",
                  format(parts$radius, digits = 8))
         })
}

# Returns the part of a sum or product to which a parameter belongs.
part_of_parameter <- function(parts, name) {
  if (is.null(parts$op) || name == "variance") return(parts)
  side <- if (name %in% names(parts$keys[[1]])) 1 else 2
  part_of_parameter(kernel_parts(parts$of[[side]]), parts$keys[[side]][[name]])
}

# --- inputs in the form of a kernel -----------------------------------------------------------------------------

# Returns list(kernel, inputs, rule): a kernel with column numbers, and the rule that converts inputs to model points.
# `pair`: the columns of longitude and latitude. `rest`: the other columns of a kernel. `fixed`: columns of model points
# that are not standardised. Without places and `of` nothing changes, and `rule` is NULL.
placed_inputs <- function(kernel, inputs) {
  places <- inputs$places
  if (!isTRUE(places$name %in% term_labels(inputs))) places <- NULL  # y ~ . - geometry
  if (isTRUE(places$longlat)) kernel <- with_chords(kernel, places$name)
  parts <- leaf_parts(kernel)
  for (part in parts) tell_of_degrees(part, inputs)
  if (is.null(places) && all(vapply(parts, function(p) is.null(c(p$metric, p$terms, p$times)), NA))) {
    return(list(kernel = kernel, inputs = inputs))
  }
  of <- attr(inputs$x, "term")
  names <- term_labels(inputs)
  taken <- lapply(parts, columns_of_part, of, names)
  factors <- unlist(lapply(parts, function(part) factor_columns(part$times, of, names, inputs)))
  absent <- setdiff(seq_along(of), c(unlist(taken), factors))
  if (length(absent)) abort("input", "no kernel is `of` the input `", names[of[absent[1]]], "`")
  geometry <- which(of == match(places$name, names, 0L))
  pair <- sphere_columns(parts, taken, places, geometry, names[of])
  one_scale <- !vapply(parts, function(part) isTRUE(part$ard) || has_time(part), NA)
  for (k in which(one_scale)) tell_of_mixture(unique(names[of[taken[[k]]]]), places)
  rest <- lapply(seq_along(parts), function(k) if (is_spherical(parts[[k]])) setdiff(taken[[k]], pair) else taken[[k]])
  rest <- sort(unique(c(unlist(rest), factors)))
  metric <- unlist(taken[!vapply(lapply(parts, `[[`, "metric"), is.null, NA)])
  sphere <- length(pair) > 0
  rule <- list(pair = pair, rest = rest, radius = if (sphere) Find(is_spherical, parts)$radius,
               fixed = c(logical(3 * sphere) | sphere, rest %in% c(metric, geometry, factors)))
  term <- c(rep(0L, 3 * sphere), of[rest])
  labels <- c(if (sphere) paste(unique(names[of[pair]]), collapse = ":"), names[unique(of[rest])])
  inputs$x <- structure(model_points(rule, inputs$x), term = match(term, unique(term)))
  inputs$names <- labels
  columns <- function(part) {
    at <- columns_of_part(part, of, names)
    own <- is_spherical(part)
    part$columns <- c(if (own) 1:3, 3L * sphere + match(if (own) setdiff(at, pair) else at, rest))
    if (!is.null(part$times)) part$factors <- 3L * sphere + match(factor_columns(part$times, of, names, inputs), rest)
    with_time_unit(part, at, of, names, inputs)
  }
  list(kernel = map_leaves(kernel, columns), inputs = inputs, rule = rule)
}

# Inputs as points of the model, in units of `width` if the rule has it.
model_points <- function(rule, x) {
  if (is.null(rule)) return(x)
  x <- unname(strip_term(x))
  points <- x[, rule$rest, drop = FALSE]
  if (length(rule$pair)) points <- cbind(on_sphere(x[, rule$pair, drop = FALSE], rule$radius), points)
  if (is.null(rule$width)) points else t(t(points) / rule$width)
}

# Gives a rule units: the units of another fit or, by default, the standard deviations of the model points.
standardized_rule <- function(rule, x, units = NULL) {
  x <- unname(strip_term(x))
  rule <- rule %or% list(pair = integer(), rest = seq_len(ncol(x)), fixed = logical(ncol(x)))
  replace(rule, "width", list(units %or% column_units(x, rep(1, nrow(x)), TRUE, rule)$width))
}
is_standardized <- function(model) any(model$rule$width != 1)

# Computes centres and widths of columns, or, with a rule, of the model points that the rule makes of inputs.
column_units <- function(x, w, standardize, rule = NULL) {
  if (!is.null(rule)) {
    to <- column_units(model_points(rule, x), w, standardize)
    to$centre[rule$fixed] <- 0
    to$width[rule$fixed] <- 1
    return(c(to, list(rule = rule)))
  }
  if (!standardize) return(list(centre = rep(0, ncol(x)), width = rep(1, ncol(x))))
  n <- nrow(x)
  centre <- colSums(w * x) / sum(w)
  width <- sqrt(colSums(w * t(t(x) - centre)^2) / sum(w) * n / (n - 1))
  same <- is_constant(x)  # then the mean may have a rounding error
  list(centre = ifelse(same, x[1, ], centre), width = ifelse(same | width == 0, 1, width))
}

is_constant <- function(x) colSums(x != rep(x[1, ], each = nrow(x))) == 0

scaled_columns <- function(x, to) t((t(model_points(to$rule, x)) - to$centre) / to$width)

# Returns the kernels in a sum or product.
leaf_parts <- function(kernel) {
  parts <- kernel_parts(kernel)
  if (is.null(parts$op)) list(parts) else do.call(c, lapply(parts$of, leaf_parts))
}

# Changes the kernels in a sum or product.
map_leaves <- function(kernel, change) {
  parts <- kernel_parts(kernel)
  if (is.null(parts$op)) return(new_kernel(change(parts)))
  parts$of <- lapply(parts$of, map_leaves, change)
  new_kernel(parts)
}

columns_of_part <- function(part, of, names) {
  terms <- if (is.null(part$terms)) setdiff(seq_along(names), match(part$times, names))
           else known_inputs(part$terms, names)
  unlist(lapply(terms, function(one) which(of == one)))
}

# Returns the columns of longitude and latitude, which must be the same for all spherical kernels.
sphere_columns <- function(parts, taken, places, geometry, names) {
  spherical <- vapply(parts, is_spherical, NA)
  if (!any(spherical)) return(integer())
  if (isFALSE(places$longlat)) {
    abort("input", "the places are in the projected coordinates of ", crs_text(places$crs), ", and metric = \"",
          Find(is_spherical, parts)$metric, "\" is of longitudes and latitudes")
  }
  pairs <- lapply(which(spherical), function(k) {
    at <- taken[[k]]
    own <- if (length(geometry)) intersect(at, geometry) else if (has_time(parts[[k]])) at[-length(at)] else at
    if (length(own) != 2) refuse_sphere(length(own))
    own
  })
  refuse_chord_beside(parts[spherical], taken[spherical], pairs, names)
  radii <- vapply(parts[spherical], `[[`, 0, "radius")
  if (length(unique(pairs)) > 1 || length(unique(radii)) > 1) {
    abort("unsupported", "kernels of places on a sphere must have the same columns and radius")
  }
  pairs[[1]]
}

# Refuses one scale for kilometres and for another input.
refuse_chord_beside <- function(parts, taken, pairs, names) {
  for (k in seq_along(parts)) {
    beside <- setdiff(taken[[k]], pairs[[k]])
    if (!length(beside) || isTRUE(parts[[k]]$ard) || has_time(parts[[k]])) next
    place <- unique(names[pairs[[k]]])
    abort("shape", "one scale would be of `", place[1], "` in kilometres and of `", names[beside[1]], "`, too: ",
          "kernel_spec(of = \"", place[1], "\") * kernel_spec(of = \"", names[beside[1]], "\") has one for each, ",
          "and so has kernel_spec(ard = TRUE)")
  }
}

# --- messages about places ---------------------------------------------------------------------------------------

# Tells of two columns that look like longitude and latitude and enter a kernel of plane distances.
tell_of_degrees <- function(part, inputs) {
  names <- term_labels(inputs)
  of <- if (is.null(part$terms)) seq_along(names) else match(part$terms, names)
  kinds <- kinds_of_degrees(names[of])
  if (identical(part$metric, "chordal") && identical(as.numeric(kinds), c(2, 1))) {
    abort("data", "distances on a sphere are of longitude and latitude in this order, and `", names[of[1]],
          "` comes before `", names[of[2]], "`: write ~ ", names[of[2]], " + ", names[of[1]])
  }
  if (isTRUE(inputs$places$longlat)) return()
  plane <- is.null(part$metric) && !isTRUE(part$ard) && !is_aniso(part) && !has_time(part)
  if (!plane || is.null(kernel_rows[[part$name]]$of_square)) return()
  say_degrees(names[of], inputs$x[, match(of, attr(inputs$x, "term")), drop = FALSE],
              "kernel_spec(metric = \"chordal\")")
}

# Tells of a kernel with one scale for places and covariates, unless inputs have their own scales or are standardised.
tell_of_mixture <- function(names, places) {
  covariates <- setdiff(names, places$name)
  if (!length(covariates) || !isTRUE(places$name %in% names)) return(invisible())
  shown <- paste0("`", covariates, "`", collapse = ", ")
  tell("kernweave: one distance is of the places, `", places$name, "`, and of ", shown, ", in their units; ",
       "covariates belong in `trend = ~ ", paste(covariates, collapse = " + "), "` of gp_fit(), and ",
       "kernel_spec(ard = TRUE) has a scale for each input")
}

# Sets metric = "chordal" for kernels of longitude and latitude without a metric.
with_chords <- function(kernel, name) {
  changed <- NULL
  out <- map_leaves(kernel, function(part) {
    free <- is.null(part$metric) || is_aniso(part) || has_time(part)
    if (!free || !is.null(part$terms) && !name %in% part$terms) return(part)
    if (is_aniso(part)) {
      abort("unsupported", "`aniso` turns axes of a plane, and the places are longitudes and latitudes; ",
            "sf::st_transform() projects them")
    }
    changed <<- part$radius
    replace(part, "metric", "chordal")
  })
  if (!is.null(changed)) tell_of_chords(changed)
  out
}
