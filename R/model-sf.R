# Points of the sf, terra and sp packages as numbers: in formulas, as points, and as new data.

# Returns a formula and data in which sf points are a matrix among plain variables. The points become the right side if
# the right side is 1, and a part of it if it contains a dot.
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
      # In other packages the data give the places, and the right side of a formula the covariates.
      tell("kernweave: the ", name, " of `data` is not in the formula: distances are of ",
           paste0("`", variables, "`", collapse = ", "), " alone; ~ ", name, ", or ~ 1, has the places",
           if (trend) paste0(", and covariates belong in `trend = ~ ", paste(variables, collapse = " + "), "`"))
    }
    return(list(formula = formula, data = sf::st_drop_geometry(data)))
  }
  list(formula = formula, data = place_frame(data, name), places = about_places(data, name))
}

# Converts sf data to a plain data frame, with the points as a matrix if `variables` has the geometry or a dot.
sf_variables <- function(data, variables, by_chords) {
  if (inherits(data, c("SpatVector", "SpatialPoints")) && !any(c("geometry", ".") %in% variables)) return(data)
  data <- as_sf(data, variables)
  if (!inherits(data, "sf")) return(data)
  name <- attr(data, "sf_column")
  out <- sf::st_drop_geometry(data)
  if (any(c(name, ".") %in% variables)) out[[name]] <- point_numbers(data, by_chords)$x
  out
}

# Converts points and polygons of terra and sp to sf; other objects stay. sp points whose coordinate names are in
# `variables` become a data frame.
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
    tell("kernweave: places are by X and Y; the Z of their points is not used; as a column of the data, ",
         "sf::st_coordinates(data)[, \"Z\"], it can be an input")
  }
  list(name = name, crs = sf::st_crs(x), longlat = sf::st_is_longlat(x))
}

# Returns the variables of sf data, with the points as a matrix called `name`.
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

# Converts new sf places to a data frame; they must be in the coordinate system of the fit.
places_like <- function(newdata, places, argument = "newdata", beside = "the fit") {
  newdata <- as_sf(newdata)
  if (is.null(places) || !inherits(newdata, c("sf", "sfc"))) return(newdata)
  check_crs(newdata, places, argument, beside)
  place_frame(newdata, places$name)
}

check_crs <- function(newdata, places, argument, beside) {
  crs <- sf::st_crs(newdata)
  if (crs != places$crs) {
    known <- Filter(Negate(is.na), c(crs$epsg, places$crs$epsg))
    epsg <- if (length(known)) known[1] else "<epsg>"
    abort("data", "`", argument, "` is in the coordinates of ", crs_text(crs), ", and ", beside, " in those of ",
          crs_text(places$crs),
          if (is.na(crs)) paste0("; sf::st_set_crs(", argument, ", ", epsg, ") says that it is in these")
          else if (is.na(places$crs)) paste0("; sf::st_set_crs(data, ", epsg, ") of the first data would say which")
          else "; sf::st_transform() turns one into the other")
  }
}

# Converts sf points to matrices for neighbours; the default metric of longitudes and latitudes is "chordal".
sf_neighbours <- function(x, query, metric, is_given) {
  check_given(x, "x")
  x <- as_sf(x)
  if (!inherits(x, c("sf", "sfc"))) {
    if (!is_given) say_degrees(colnames(x), data.matrix(x), "metric = \"chordal\"")
    return(list(x = x, query = query, metric = metric))
  }
  places <- about_places(x)
  if (isTRUE(places$longlat) && !is_given) {
    metric <- "chordal"
    tell_of_chords(earth_radius)
  }
  list(x = place_matrix(sf::st_geometry(x)), query = place_numbers(query, places, "query"), metric = metric,
       places = places)
}

# Converts sf points to a matrix, with their `places`; other objects stay. Longitudes and latitudes stay in degrees or,
# `by_chords`, become points in space.
point_numbers <- function(x, by_chords = FALSE) {
  x <- as_sf(x)
  if (!inherits(x, c("sf", "sfc"))) return(list(x = x))
  places <- about_places(x)
  places$sphere <- by_chords && isTRUE(places$longlat)
  if (places$sphere) tell_of_chords(earth_radius)
  else if (isTRUE(places$longlat)) tell_of_plane()
  list(x = place_numbers(x, places, "x"), places = places)
}

# Converts sf points, in the coordinate system of `places`, to a matrix; other objects stay.
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

# Returns the number of a distance of the units package: in kilometres on a sphere, in the unit of projected places.
plain_distance <- function(value, argument, metric, places) {
  if (!inherits(value, "units")) return(value)
  to <- if (metric$name %in% c("chordal", "haversine")) "km"
        else if (isFALSE(places$longlat) && metric$name == "euclidean") places$crs$ud_unit
  if (is.null(to)) {
    abort("input", "`", argument, "` has a unit, ", format(value), ", and the distances by metric = \"", metric$name,
          "\" have none: a number is wanted")
  }
  tryCatch(units(value) <- to, error = function(e) {
    abort("input", "`", argument, "` is ", format(value), ", and distances are in ", format(to), ": ", message_of(e))
  })
  as.vector(unclass(value), "double")
}

tell_of_chords <- function(radius) {
  tell("kernweave: places are longitudes and latitudes; distances are chords of a sphere of radius ",
       format(radius, digits = 8), ", by metric = \"chordal\"")
}

tell_of_plane <- function() {
  tell("kernweave: places are longitudes and latitudes; distances are those of a plane, in degrees; ",
       "sf::st_transform() projects them")
}

# Returns 1 for names of a longitude, 2 for names of a latitude, and 0 for other names.
kinds_of_degrees <- function(names) {
  grepl("^(lon|long|lng|longitude)$", tolower(names)) + 2 * grepl("^(lat|latitude)$", tolower(names))
}

# Says once that two columns look like longitude and latitude, and that `remedy` has distances on a sphere.
say_degrees <- function(names, x, remedy) {
  kinds <- kinds_of_degrees(names)
  if (length(names) != 2 || !setequal(kinds, 1:2)) return(invisible())
  reach <- apply(abs(x), 2, max)[order(kinds)]
  if (!isTRUE(all(reach <= c(360, 90)))) return(invisible())
  say_once("degrees", "kernweave: `", names[1], "` and `", names[2], "` look like longitudes and latitudes, ",
           "and distances are those of a plane, in degrees; ", remedy, " has distances on a ",
           "sphere, in kilometres, of longitude and latitude in this order. (Said once.)")
}

crs_text <- function(crs) if (is.na(crs)) "no known system (NA)" else crs$input %or% "an unnamed system"
