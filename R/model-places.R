# Places: points on a sphere, points of the sf package, kernels of some of the inputs.

# --- kernels of places ------------------------------------------------------------------------------------------

place_metrics <- c("euclidean", "chordal", "haversine")

# Checks the places of a kernel: `metric` or NULL, `radius`, `terms`, the names of its inputs or NULL for all, and
# `times`, the names of the inputs by which it is multiplied.
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

# The points that a kernel is of, among all: by name, by number among model points, which have no names, and on the
# sphere.
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

# Returns some variables of a data frame as points, by the levels of this and of the data frame `beside`.
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

# exp(-d / scale) of the great-circle distance d, which is a function of the chord, and has a series where nothing is
# cut off: a trifle keeps antipodes below 1, whatever is rounded.
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

# The part of a sum or product that has a parameter.
part_of_parameter <- function(parts, name) {
  if (is.null(parts$op) || name == "variance") return(parts)
  side <- if (name %in% names(parts$keys[[1]])) 1 else 2
  part_of_parameter(kernel_parts(parts$of[[side]]), parts$keys[[side]][[name]])
}

# --- inputs as a kernel wants them ------------------------------------------------------------------------------

# Returns list(kernel, inputs, rule): a kernel that knows its columns by number, and the rule that makes model points of
# inputs. `pair`: the columns of longitudes and latitudes. `rest`: the other columns of a kernel. `fixed`: the model
# points that stay in their units. Without places and `of` nothing changes, and the rule is NULL.
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

# Inputs as points of the model.
model_points <- function(rule, x) {
  if (is.null(rule)) return(x)
  x <- unname(strip_term(x))
  rest <- x[, rule$rest, drop = FALSE]
  if (length(rule$pair)) cbind(on_sphere(x[, rule$pair, drop = FALSE], rule$radius), rest) else rest
}

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
  same <- is_constant(x)  # whose mean may be off by a rounding
  list(centre = ifelse(same, x[1, ], centre), width = ifelse(same | width == 0, 1, width))
}

is_constant <- function(x) colSums(x != rep(x[1, ], each = nrow(x))) == 0

scaled_columns <- function(x, to) t((t(model_points(to$rule, x)) - to$centre) / to$width)

# The kernels that a sum or product is made of.
leaf_parts <- function(kernel) {
  parts <- kernel_parts(kernel)
  if (is.null(parts$op)) list(parts) else do.call(c, lapply(parts$of, leaf_parts))
}

# A kernel with its leaves changed.
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

# Longitude and latitude among the columns, the same for all kernels that take them.
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

# A length in kilometres is no length of another input.
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

# --- points of sf -----------------------------------------------------------------------------------------------

# A formula and data of sf: the places become a matrix among plain variables, and are the right side where that is 1,
# and part of it where that has a dot.
sf_formula <- function(formula, data, trend = TRUE) {
  data <- as_sf(found_variables(data, NULL, "`data`"), all.vars(formula))
  if (!inherits(data, "sf")) return(list(formula = formula, data = data))
  name <- attr(data, "sf_column")
  if (inherits(formula, "formula") && identical(formula[[length(formula)]], 1)) {
    formula[[length(formula)]] <- as.name(name)
  }
  variables <- all.vars(formula[[length(formula)]])
  if (!any(c(name, ".") %in% variables)) {
    place <- "^(x|y|lon|long|lat|longitude|latitude|coords?|geom|geometry)$"
    absent <- Filter(function(name) {
      found <- get0(name, environment(formula))
      is.null(found) || NROW(found) != nrow(data) && grepl(place, tolower(name))
    }, setdiff(variables, names(data)))
    if (length(absent)) {
      abort("input", "`data` has no column `", absent[1], "`", near_hint(absent[1], setdiff(names(data), name)),
            "; its places are the geometry, `", name, "`: ~ ", name, ", or ~ 1, has them")
    }
    if (length(variables)) {
      # Other packages take places from the data, and covariates from the right side of a formula.
      message("kernweave: the ", name, " of `data` is not in the formula: distances are of ",
              paste0("`", variables, "`", collapse = ", "), " alone; ~ ", name, ", or ~ 1, has the places",
              if (trend) paste0(", and covariates belong in `trend = ~ ", paste(variables, collapse = " + "), "`"))
    }
    return(list(formula = formula, data = sf::st_drop_geometry(data)))
  }
  list(formula = formula, data = place_frame(data, name), places = about_places(data, name))
}

# Data of sf as a plain data frame, in which the places are a matrix if `variables` has the geometry or a dot.
sf_variables <- function(data, variables, by_chords) {
  if (inherits(data, c("SpatVector", "SpatialPoints")) && !any(c("geometry", ".") %in% variables)) return(data)
  data <- as_sf(data, variables)
  if (!inherits(data, "sf")) return(data)
  name <- attr(data, "sf_column")
  out <- sf::st_drop_geometry(data)
  if (any(c(name, ".") %in% variables)) out[[name]] <- point_numbers(data, by_chords)$x
  out
}

# Points and polygons of the terra and sp packages as those of sf; anything else as it is. Points of sp have names of
# coordinates, and are a data frame where `variables` has these.
as_sf <- function(x, variables = NULL) {
  if (!inherits(x, c("SpatVector", "SpatialPoints", "SpatialPolygons"))) return(x)
  named <- inherits(x, "SpatialPoints") && any(colnames(x@coords) %in% variables)
  if (named && requireNamespace("sp", quietly = TRUE)) return(as.data.frame(x))
  if (!requireNamespace("sf", quietly = TRUE)) {
    abort("input", "an object of class ", class(x)[1], " is read by the sf package, which is not installed")
  }
  sf::st_as_sf(x)
}

about_places <- function(x, name = "geometry") {
  kind <- class(sf::st_geometry(x)[[1]] %or% sf::st_point())[1]
  if (kind %in% c("XYZ", "XYZM")) {
    message("kernweave: places are by X and Y; the Z of their points is not used; as a column of the data, ",
            "sf::st_coordinates(data)[, \"Z\"], it can be an input")
  }
  list(name = name, crs = sf::st_crs(x), longlat = sf::st_is_longlat(x))
}

# The variables of sf data, with the places as a matrix of this name.
place_frame <- function(x, name) {
  geometry <- sf::st_geometry(x)
  out <- if (inherits(x, "sf")) as.data.frame(sf::st_drop_geometry(x))
         else as.data.frame(matrix(0, length(geometry), 0))
  out[[name]] <- place_matrix(geometry)
  out
}

place_matrix <- function(geometry) {
  if (!inherits(geometry, "sfc_POINT")) {
    kind <- sub("^sfc_", "", class(geometry)[1])
    abort("data", "places must be points, not ", tolower(kind), " geometries; sf::st_centroid() or ",
          "sf::st_point_on_surface() makes them")
  }
  out <- unname(sf::st_coordinates(geometry)[, 1:2, drop = FALSE])
  out[is.nan(out)] <- NA
  colnames(out) <- if (isTRUE(sf::st_is_longlat(geometry))) c("longitude", "latitude") else c("X", "Y")
  out
}

# New places of a fit, or of neighbours, in the coordinates of its own.
places_like <- function(newdata, places, argument = "newdata", beside = "the fit") {
  newdata <- as_sf(newdata)
  if (is.null(places) || !inherits(newdata, c("sf", "sfc"))) return(newdata)
  check_crs(newdata, places, argument, beside)
  place_frame(newdata, places$name)
}

check_crs <- function(newdata, places, argument, beside) {
  crs <- sf::st_crs(newdata)
  if (crs != places$crs) {
    abort("data", "`", argument, "` is in the coordinates of ", crs_text(crs), ", and ", beside, " in those of ",
          crs_text(places$crs), "; sf::st_transform() turns one into the other")
  }
}

# Points of sf as neighbours: matrices, by chords where they are longitudes and latitudes and no metric `is_given`.
sf_neighbours <- function(x, query, metric, is_given) {
  check_given(x, "x")
  x <- as_sf(x)
  if (!inherits(x, c("sf", "sfc"))) return(list(x = x, query = query, metric = metric))
  places <- about_places(x)
  if (isTRUE(places$longlat) && !is_given) {
    metric <- "chordal"
    tell_of_chords(earth_radius)
  }
  list(x = place_matrix(sf::st_geometry(x)), query = place_numbers(query, places, "query"), metric = metric,
       places = places)
}

# Points of sf as a matrix, with their `places`; anything else as it is. Longitudes and latitudes stay in degrees or,
# `by_chords`, are points in space.
point_numbers <- function(x, by_chords = FALSE) {
  x <- as_sf(x)
  if (!inherits(x, c("sf", "sfc"))) return(list(x = x))
  places <- about_places(x)
  places$sphere <- by_chords && isTRUE(places$longlat)
  if (places$sphere) tell_of_chords(earth_radius)
  else if (isTRUE(places$longlat)) tell_of_plane()
  list(x = place_numbers(x, places, "x"), places = places)
}

# Points of sf beside others as a matrix; anything else as it is.
place_numbers <- function(x, places, argument) {
  x <- as_sf(x)
  spatial <- inherits(x, c("sf", "sfc"))
  if (is.null(places) && spatial) {
    abort("input", "`", argument, "` is points of sf, and `x` is none; sf::st_coordinates(", argument,
          ") has their numbers")
  }
  if (is.data.frame(x) && !is.null(places) && !spatial) {
    abort("input", "`x` is points of sf, and `", argument, "` a plain data frame: sf::st_as_sf(", argument,
          ", coords = ) makes it points")
  }
  if (!spatial) return(x)
  at <- places_like(x, places, argument, "`x`")[[places$name]]
  if (isTRUE(places$sphere)) on_sphere(at, earth_radius) else at
}

tell_of_chords <- function(radius) {
  message("kernweave: places are longitudes and latitudes; distances are chords of a sphere of radius ",
          format(radius, digits = 8), ", by metric = \"chordal\"")
}

tell_of_plane <- function() {
  message("kernweave: places are longitudes and latitudes; distances are those of a plane, in degrees; ",
          "sf::st_transform() projects them")
}

# Two columns that are called longitude and latitude, and range like these, to a kernel of distances in the plane.
tell_of_degrees <- function(part, inputs) {
  names <- term_labels(inputs)
  of <- if (is.null(part$terms)) seq_along(names) else match(part$terms, names)
  kinds <- grepl("^(lon|long|lng|longitude)$", tolower(names[of])) + 2 * grepl("^(lat|latitude)$", tolower(names[of]))
  if (identical(part$metric, "chordal") && identical(as.numeric(kinds), c(2, 1))) {
    abort("data", "distances on a sphere are of longitude and latitude in this order, and `", names[of[1]],
          "` comes before `", names[of[2]], "`: write ~ ", names[of[2]], " + ", names[of[1]])
  }
  if (isTRUE(inputs$places$longlat)) return()
  plane <- is.null(part$metric) && !isTRUE(part$ard) && !is_aniso(part) && !has_time(part)
  if (!setequal(kinds, 1:2) || length(of) != 2 || !plane || is.null(kernel_rows[[part$name]]$of_square)) return()
  columns <- match(of[order(kinds)], attr(inputs$x, "term"))
  reach <- apply(abs(inputs$x[, columns, drop = FALSE]), 2, max)
  if (reach[1] > 360 || reach[2] > 90) return()
  say_once("degrees", "kernweave: `", names[of[1]], "` and `", names[of[2]], "` look like longitudes and latitudes, ",
           "and distances are those of a plane, in degrees; kernel_spec(metric = \"chordal\") has distances on a ",
           "sphere, in kilometres, of longitude and latitude in this order. (Said once.)")
}

# One distance of places and covariates has a meaning where each has its own scale, or all have been standardised.
tell_of_mixture <- function(names, places) {
  covariates <- setdiff(names, places$name)
  if (!length(covariates) || !isTRUE(places$name %in% names)) return(invisible())
  shown <- paste0("`", covariates, "`", collapse = ", ")
  message("kernweave: one distance is of the places, `", places$name, "`, and of ", shown, ", in their units; ",
          "covariates belong in `trend = ~ ", paste(covariates, collapse = " + "), "` of gp_fit(), and ",
          "kernel_spec(ard = TRUE) has a scale for each input")
}

crs_text <- function(crs) if (is.na(crs)) "no known system (NA)" else crs$input %or% "an unnamed system"

# Longitudes and latitudes are points on a sphere to each kernel of them that has no metric.
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
