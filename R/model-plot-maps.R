# Maps: surfaces of two inputs, drawn near the data, with equal scales for coordinates.

# Draws a function of two inputs, x fastest, with its name `zlab`. `whole`: draw the whole rectangle of the axes?
# `near`: the points to draw; the map ends where no points are near. `group`: classes of the points, with the name
# `glab`; colours of the map are then grey.
surface_picture <- function(axes, height, points, labels, zlab, whole = FALSE, fit = NULL,
                            main = paste("Fitted", zlab), near = TRUE, group = NULL, glab = NULL) {
  check_flag(whole, "whole")
  asp <- map_aspect(points, labels, fit)
  grid <- data.frame(x = rep(axes[[1]], length(axes[[2]])), y = rep(axes[[2]], each = length(axes[[1]])),
                     z = as.vector(height))
  grid$far <- if (whole) 0 else gaps_from(points, as.matrix(grid[1:2]), asp)
  if (all(grid$far > 1)) grid$far <- 0  # no place of a coarse grid is near the data
  points <- data.frame(x = points[, 1], y = points[, 2])
  points$group <- group
  ends <- range(seen_heights(grid))
  flat <- diff(ends) <= 1e-10 * max(abs(ends))
  if (flat) grid$z[] <- mean(ends)
  if (!is.null(group)) attr(grid, "colours") <- light_greys()
  picture(labels[1], labels[2], surface = grid,
          contours = if (!flat) structure(grid, levels = pretty(seen_heights(grid), 10)),
          points = unique(points[near, , drop = FALSE]), zlab = zlab, asp = asp, glab = glab,
          main = if (flat) paste0(main, ": constant, ", format(mean(ends), digits = 3)) else main, most = 500)
}

seen_heights <- function(grid) grid$z[grid$far <= 1 & is.finite(grid$z)]

# Sets the range of colours to the values inside the frame, or to `zlim`.
with_seen_colours <- function(layers, zlim = NULL) {
  usr <- graphics::par("usr")
  for (kind in intersect(c("surface", "map"), names(layers))) {
    d <- layers[[kind]]
    # a cell at the edge is seen in part
    step <- if (kind == "map") c(0, 0) else c(diff(sort(unique(d$x))[1:2]), diff(sort(unique(d$y))[1:2])) / 2
    inside <- d$x >= usr[1] - step[1] & d$x <= usr[2] + step[1] & d$y >= usr[3] - step[2] & d$y <= usr[4] + step[2]
    part <- if (any(inside)) d[inside, , drop = FALSE] else d
    own <- if (kind == "map") about_zero(part$z) else range(seen_heights(if (any(part$far <= 1)) part else d))
    attr(layers[[kind]], "ends") <- zlim %or% own
  }
  layers
}

# Returns the values at the ends of the colour scale of a surface or map.
colour_ends <- function(d) {
  attr(d, "ends") %or% if (is.null(d$far)) about_zero(d$z) else range(seen_heights(d))
}

# Returns the aspect ratio of a map: 1 for coordinates in the same unit (names that differ by x and y or by east and
# north, and projected sf points); for degrees 1 / cos(middle latitude). Returns NULL for other inputs, and if the map
# would be a narrow strip.
map_aspect <- function(points, labels, fit = NULL) {
  if (length(labels) != 2 || ncol(points) != 2) return(NULL)
  ends <- apply(points, 2, range)
  names <- tolower(labels)
  of_globe <- grepl("^(.*[^a-z])?(lon|long|lng|longitude)$", names[1]) && grepl("^(.*[^a-z])?lat(itude)?$", names[2])
  degrees <- of_globe || isTRUE(fit$places$longlat)
  if (degrees && (any(abs(ends[, 2]) > 90) || any(abs(ends[, 1]) > 360))) return(NULL)
  pairs <- list(c("(^|[^a-z])x([^a-z]|$)", "(^|[^a-z])y([^a-z]|$)"), c("()east()", "()north()"),
                c("(coords[.]x)1()", "(coords[.]x)2()"))  # names of the sp package
  alike <- function(pair) {
    all(mapply(grepl, pair, names)) && sub(pair[1], "\\1*\\2", names[1]) == sub(pair[2], "\\1*\\2", names[2])
  }
  if (!degrees && !isFALSE(fit$places$longlat) && !any(vapply(pairs, alike, NA))) return(NULL)
  asp <- if (degrees) 1 / max(cos(mean(ends[, 2]) * pi / 180), 0.05) else 1
  strip <- asp * diff(ends[, 2]) / diff(ends[, 1])
  if (is.finite(strip) && strip > 0.1 && strip < 10) asp
}

# Returns distances of places from the nearest point, relative to the distance up to which the map is drawn: 1.8 mean
# distances between neighbours, at least a twentieth of the map. Without equal scales, inputs are scaled to range 1.
gaps_from <- function(points, places, asp = NULL) {
  span <- pmax(apply(points, 2, function(v) diff(range(v))), .Machine$double.xmin)
  unit <- if (is.null(asp)) span else max(span * c(1, asp)) / c(1, asp)
  in_units <- function(x) t(t(unname(x)) / unit)
  points <- in_units(points)
  some <- unique(points[evenly_spaced(nrow(points), most_drawn), , drop = FALSE])
  hull <- some[grDevices::chull(some), , drop = FALSE]
  onward <- hull[c(seq_len(nrow(hull))[-1], 1), , drop = FALSE]
  area <- abs(sum(hull[, 1] * onward[, 2] - onward[, 1] * hull[, 2])) / 2
  gap <- max(0.05, 1.8 * sqrt(max(area, 1 / nrow(some)) / nrow(some)))
  knn(points[evenly_spaced(nrow(points), 2e5), , drop = FALSE], in_units(places), k = 1)$nn.dist[, 1] / gap
}

# Returns the values of a grid as a matrix, with its axes.
grid_matrix <- function(d, column = "z") {
  x <- unique(d$x)
  list(x = x, y = unique(d$y), z = matrix(d[[column]], length(x)))
}

# Interpolates a coarse grid bilinearly.
finer_grid <- function(grid, n = 240) {
  if (anyNA(grid$z) || min(dim(grid$z)) < 2) return(grid)
  between <- function(z, at, to) matrix(apply(z, 2, function(one) stats::approx(at, one, to)$y), length(to))
  x <- seq(min(grid$x), max(grid$x), length.out = max(n, length(grid$x)))
  y <- seq(min(grid$y), max(grid$y), length.out = max(n, length(grid$y)))
  list(x = x, y = y, z = t(between(t(between(grid$z, grid$x, x)), grid$y, y)))
}

# Returns a fine grid, with NA far from all data; layers without distances are not interpolated.
seen_grid <- function(d) {
  grid <- grid_matrix(d)
  if (is.null(d$far)) return(grid)
  far <- grid_matrix(d, "far")
  if (!anyNA(grid$z)) {
    grid <- finer_grid(grid)
    far <- finer_grid(far)
  }
  ends <- colour_ends(d)
  grid$z[] <- pmin(pmax(grid$z, ends[1]), ends[2])
  grid$z[far$z > 1] <- NA
  grid
}

# Finds rows with the values in `at`; if fewer than ten rows have a value, rows within a twentieth of its range, and
# `title` says so.
held_rows <- function(fit, at) {
  near <- rep(TRUE, nrow(fit$x))
  titles <- vapply(names(at), function(name) {
    text <- paste(name, "=", format(at[[name]], digits = 4))
    values <- if (name %in% names(fit$model)) fit$model[[name]] else if (name %in% colnames(fit$x)) fit$x[, name]
    if (is.null(values)) return(text)
    ordered <- !is.factor(values) && !is.character(values) && !is.character(at[[name]])  # numbers, times
    number <- if (ordered) as.numeric else as.character
    here <- number(values) == number(at[[name]])
    if (ordered && sum(here) < 10) {
      within <- signif(diff(range(number(values))) / 20, 2)
      here <- abs(number(values) - number(at[[name]])) <= within
      text <- paste0(text, " (points within ", format(within), ")")
    }
    near <<- near & here
    text
  }, "")
  list(near = near, title = if (length(at)) paste(titles, collapse = ", "))
}

# Names the prediction of a fit: for two classes, the probability of the second.
fitted_name <- function(fit) {
  classes <- response_classes(fit)
  if (is.null(classes)) response_name(fit) else sprintf("P(%s = %s)", response_name(fit), levels(classes)[2])
}

# Returns the two classes of a binomial response as a factor; the second is predicted. NULL for other responses.
response_classes <- function(fit) {
  y <- fit$model[[1]]
  if (!identical(fit$family$family, "binomial") || NCOL(y) > 1 || length(unique(y)) != 2) return(NULL)
  if (is.factor(y) || is.logical(y) || all(y %in% 0:1)) factor(y)
}
