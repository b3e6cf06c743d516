# Rasters of the terra and stars packages as new data: cells become rows of a data frame, predictions become layers.

is_raster <- function(x) inherits(x, c("SpatRaster", "stars"))

# Predicts the cells by `predict(object, cells, ...)`; cells with missing layers stay missing.
over_cells <- function(object, raster, predict, ...) {
  if (inherits(raster, "stars")) raster <- checked_stars(raster)
  cells <- raster_cells(object, raster)
  found <- prediction_layers(predict(object, cells$data, ...))
  if (is.factor(found)) {
    values <- factor(rep(NA, cells$total), levels(found))
    values[cells$known] <- found
  } else {
    values <- matrix(NA_real_, cells$total, ncol(found))
    values[cells$known, ] <- found
  }
  raster_like(raster, values, colnames(found) %or% "fit")
}

checked_stars <- function(raster) {
  if (inherits(raster, "stars_proxy")) raster <- stars::st_as_stars(raster)
  all <- stars::st_dimensions(raster)
  plane <- attr(all, "raster")$dimensions
  if (anyNA(plane)) {
    abort("input", "`newdata` of stars has no raster dimensions; sf::st_as_sf(newdata) has its places as rows")
  }
  beside <- setdiff(names(all), plane)
  if (length(beside)) {
    abort("shape", "`newdata` has the dimension `", beside[1], "` beside `", plane[1], "` and `", plane[2],
          "`: split(newdata, \"", beside[1], "\") makes layers of it")
  }
  raster
}

# Returns the `known` cells of `total`, and their `data`: coordinates of centres, and layers by name. If the fit uses no
# layer, cells that are missing in all layers are left out.
raster_cells <- function(object, raster) {
  needed <- c(if (is.null(object$terms)) object$columns %or% object$names else object$variables,
              needed_of_trend(object$trend, object$re.form), unlist(lapply(object$trend$parameters, `[[`, "variables")))
  layers <- intersect(needed, names(raster))
  data <- raster_layers(raster, layers)
  known <- if (length(layers)) stats::complete.cases(data) else seen_cells(raster)
  if (!any(known)) {
    abort("data", "no cell of `newdata` has a value", if (length(layers)) paste0(" in `", layers, "`", collapse = ","))
  }
  places <- object$places
  if (!is.null(places)) check_crs(raster_crs(raster), places, "newdata", "the fit")
  absent <- setdiff(needed, c(layers, places$name))
  if (!length(places) && !length(absent) %in% c(0, 2)) refuse_cells(absent, names(raster))
  data <- data[known, , drop = FALSE]
  if (length(absent) || isTRUE(places$name %in% needed)) {
    centres <- cell_centres(raster, which(known))
    if (!is.null(places)) {
      colnames(centres) <- if (isTRUE(places$longlat)) c("longitude", "latitude") else c("X", "Y")
      data[[places$name]] <- centres
    } else data[in_xy_order(absent)] <- list(centres[, 1], centres[, 2])
  }
  attr(data, "row.names") <- seq_len(nrow(data))
  list(data = data, known = which(known), total = length(known))
}

refuse_cells <- function(absent, layers) {
  abort("input", "centres of cells are two coordinates, and the fit needs ", paste0("`", absent, "`", collapse = ", "),
        ", which are not among the layers of `newdata`", there_are(layers))
}

# Orders the names of coordinates, x first unless names say otherwise.
in_xy_order <- function(names) {
  is_y <- grepl("^(y|lat|latitude|northing|north)$", tolower(names))
  if (is_y[1] && !is_y[2]) rev(names) else names
}

# --- the two packages ---------------------------------------------------------------------------------------

is_terra <- function(raster) inherits(raster, "SpatRaster")

raster_crs <- function(raster) {
  if (!is_terra(raster)) return(sf::st_crs(raster))
  text <- terra::crs(raster)
  sf::st_crs(if (nzchar(text)) text else NA)
}

# The values of layers, a row for each cell.
raster_layers <- function(raster, names) {
  if (!length(names)) return(data.frame(row.names = seq_len(cell_count(raster))))
  if (is_terra(raster)) return(terra::values(raster[[names]], dataframe = TRUE))
  data.frame(lapply(unclass(raster)[names], function(layer) `dim<-`(layer, NULL)), check.names = FALSE)
}

cell_count <- function(raster) if (is_terra(raster)) terra::ncell(raster) else prod(dim(raster))

seen_cells <- function(raster) {
  if (is_terra(raster) && !terra::hasValues(raster)) return(rep(TRUE, terra::ncell(raster)))
  rowSums(!is.na(raster_layers(raster, names(raster)))) > 0
}

cell_centres <- function(raster, cells) {
  if (is_terra(raster)) {
    columns <- terra::ncol(raster)
    return(cbind(terra::xFromCol(raster)[(cells - 1L) %% columns + 1L],
                 terra::yFromRow(raster)[(cells - 1L) %/% columns + 1L]))
  }
  plane <- attr(stars::st_dimensions(raster), "raster")$dimensions
  unname(as.matrix(sf::st_coordinates(raster)[cells, plane]))
}

# Names layers of predictions; columns of a matrix keep their names.
prediction_layers <- function(found) {
  named <- function(value, name) {
    if (is.null(dim(value))) return(matrix(value, dimnames = list(NULL, name)))
    labels <- colnames(value) %or% paste0("fit", seq_len(ncol(value)))
    matrix(value, nrow(value), dimnames = list(NULL, if (name == "fit") labels else paste(labels, name, sep = ".")))
  }
  if (is.factor(found)) return(unname(found))
  if (is.data.frame(found)) return(as.matrix(found))
  if (!is.list(found)) return(named(found, "fit"))
  cbind(named(found$fit, "fit"), named(found$se.fit, "se.fit"))
}

# A raster with the grid of another: `values` is a factor, or a matrix with a column for each layer.
raster_like <- function(raster, values, names) {
  if (is_terra(raster)) {
    out <- terra::rast(raster, nlyrs = NCOL(values), names = names)
    return(terra::setValues(out, values))
  }
  each <- if (is.factor(values)) list(values) else lapply(seq_along(names), function(layer) values[, layer])
  layers <- lapply(each, `dim<-`, dim(raster))
  stars::st_as_stars(stats::setNames(layers, names), dimensions = stars::st_dimensions(raster))
}
