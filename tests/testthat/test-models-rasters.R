# Rasters of the terra and stars packages as new data: predictions are those of the cells, and have their grid.

set.seed(21)
d <- data.frame(long = stats::runif(50, 0, 4), lat = stats::runif(50, 0, 3), rain = stats::rnorm(50))
d$z <- sin(2 * d$long) + d$rain + stats::rnorm(50) / 5
d$count <- stats::rpois(50, exp(d$z / 2))
d$kind <- factor(ifelse(d$z > 0, "wet", "dry"))
kernel <- kernel_spec("matern32", scale = 1)
fit <- gp_fit(z ~ long + lat, d, trend = ~rain, kernel = kernel, variance = 1, nugget = 0.1)
cells <- data.frame(long = rep(seq(0.25, 3.75, by = 0.5), 6), lat = rep(seq(2.75, 0.25, by = -0.5), each = 8))
cells$rain <- round(cos(cells$long * cells$lat), 3)
missing <- c(3, 17)

grid_of_terra <- function(layers = "rain", crs = "") {
  r <- terra::rast(nrows = 6, ncols = 8, xmin = 0, xmax = 4, ymin = 0, ymax = 3, crs = crs, nlyrs = length(layers))
  names(r) <- layers
  if (length(layers)) terra::setValues(r, rep(replace(cells$rain, missing, NA), length(layers))) else r
}
grid_of_stars <- function(crs = NA) {
  s <- stars::st_as_stars(sf::st_bbox(c(xmin = 0, ymin = 0, xmax = 4, ymax = 3), crs = sf::st_crs(crs)), nx = 8,
                          ny = 6)
  s$rain <- array(replace(cells$rain, missing, NA), dim(s))
  s["rain"]
}
grids <- function() c(if (requireNamespace("terra", quietly = TRUE)) list(terra = grid_of_terra()),
                      if (requireNamespace("stars", quietly = TRUE)) list(stars = grid_of_stars()))
layers_of <- function(r) {
  if (inherits(r, "SpatRaster")) return(terra::values(r))
  vapply(unclass(r), as.vector, numeric(prod(dim(r))))
}
at_known <- function(values) {
  values <- unname(as.matrix(values))
  values[missing, ] <- NA
  values
}

test_that("predictions of a raster are those of its cells, and missing cells stay missing", {
  skip_without_peer("stars")
  counts <- gp_fit(count ~ long + lat, d, trend = ~rain, kernel = kernel, variance = 1, family = "poisson")
  for (grid in grids()) for (model in list(fit, counts)) {
    names_of <- function(...) {
      found <- predict(model, grid, ...)
      expect_identical(class(found), class(grid))
      values <- layers_of(found)
      ours <- predict(model, cells, ...)
      if (is.list(ours)) ours <- cbind(fit = ours$fit, se.fit = ours$se.fit)
      expect_equal(unname(values), at_known(ours), tolerance = 1e-12)
      colnames(values)
    }
    expect_identical(names_of(), "fit")
    expect_identical(names_of(se.fit = TRUE), c("fit", "se.fit"))
    expect_identical(names_of(interval = "prediction", level = 0.8), c("fit", "lwr", "upr"))
    expect_identical(names_of(type = "mean"), "fit")
    expect_identical(names_of(type = "link", block = 0.5), "fit")
    expect_identical(names_of(interval = "conf", method = "local"), c("fit", "lwr", "upr"))
  }
})

test_that("fits of all kinds take rasters, by the names of their variables", {
  skip_without_peer("stars")
  two <- cbind(a = d$z, b = d$count)
  fits <- list(kernel_ridge(z ~ long + lat + rain, d, kernel = kernel, lambda = 0.1),
               local_reg(z ~ rain, d, bandwidth = 1), rbf_interpolate(d[1:2], two),
               kde_fit(~ lat + long, d, bandwidth = 1), kpca_fit(d[c("lat", "long")], k = 2, kernel = kernel),
               gp_fit(as.matrix(d[1:2]), d$z, kernel = kernel, variance = 1, nugget = 0.1),
               gp_fit(unname(as.matrix(d[1:2])), d$z, kernel = kernel, variance = 1, nugget = 0.1))
  for (grid in grids()) for (model in fits) {
    at <- if (is.null(model$terms) && is.null(model$columns)) unname(as.matrix(cells[1:2])) else cells
    expect_equal(unname(layers_of(predict(model, grid))), at_known(predict(model, at)), tolerance = 1e-12,
                 label = class(model)[1])
  }
})

test_that("classes, shares and draws are layers", {
  skip_without_peer("stars")
  near <- knn_fit(kind ~ long + lat + rain, d, k = 5)
  for (grid in grids()) {
    classes <- predict(near, grid)
    if (inherits(grid, "SpatRaster")) {
      expect_true(terra::is.factor(classes))
      classes <- list(terra::values(classes, dataframe = TRUE)$fit)
    }
    expect_identical(as.character(classes[[1]]), as.character(replace(predict(near, cells), missing, NA)))
    shares <- layers_of(predict(near, grid, type = "prob"))
    expect_equal(shares, at_known(predict(near, cells, type = "prob")), ignore_attr = TRUE)
    expect_identical(colnames(shares), c("dry", "wet"))
    drawn <- layers_of(simulate(fit, 2, seed = 1, newdata = grid))
    expect_equal(drawn[-missing, ], as.matrix(simulate(fit, 2, seed = 1, newdata = cells[-missing, ])),
                 ignore_attr = TRUE)
  }
})

test_that("a raster keeps its grid and system, and is in the system of a fit to points of sf", {
  skip_without_peer("stars")
  points <- sf::st_as_sf(d, coords = c("long", "lat"), crs = 4326)
  map <- suppressMessages(gp_fit(z ~ 1, points, trend = ~rain, variance = 1, nugget = 0.1,
                                 kernel = kernel_spec("matern32", scale = 100)))
  at <- sf::st_as_sf(cells, coords = c("long", "lat"), crs = 4326)
  grids <- list(grid_of_stars(4326), if (requireNamespace("terra", quietly = TRUE)) grid_of_terra(crs = "EPSG:4326"))
  others <- list(grid_of_stars(3857), if (requireNamespace("terra", quietly = TRUE)) grid_of_terra(crs = "EPSG:3857"),
                 grid_of_stars())
  for (grid in Filter(Negate(is.null), grids)) {
    found <- predict(map, grid)
    expect_equal(unname(layers_of(found)), at_known(predict(map, at)))
    if (inherits(grid, "stars")) expect_identical(stars::st_dimensions(found), stars::st_dimensions(grid))
    else expect_true(terra::compareGeom(found, grid))
  }
  for (grid in Filter(Negate(is.null), others)) {
    remedy <- if (inherits(grid, "stars") && is.na(sf::st_crs(grid))) "st_set_crs(newdata, 4326)" else "st_transform"
    expect_error(predict(map, grid), remedy, fixed = TRUE, class = "kernweave_error_data")
  }
})

test_that("coordinates are x and y in order, or by names that say so; other layers are a mask", {
  skip_without_peer("terra")
  bare <- terra::rast(nrows = 6, ncols = 8, xmin = 0, xmax = 4, ymin = 0, ymax = 3)
  turned <- gp_fit(z ~ lat + long, d, kernel = kernel, variance = 1, nugget = 0.1)
  named <- transform(d, a = long, b = lat)
  plain <- gp_fit(z ~ a + b, named, kernel = kernel, variance = 1, nugget = 0.1)
  expected <- unname(predict(turned, cells))
  for (model in list(turned, plain)) {
    expect_equal(as.vector(terra::values(predict(model, bare))), expected)
    expect_equal(which(is.na(as.vector(terra::values(predict(model, grid_of_terra("mask")))))), missing)
  }
  expect_error(predict(fit, bare), "needs `long`, `lat`, `rain`", class = "kernweave_error_input")
  expect_error(predict(fit, grid_of_terra("rian")),
               "layers of `newdata`; there are `rian`", class = "kernweave_error_input")
  expect_error(predict(fit, grid_of_terra(c("rain", "long"))), "centres of cells", class = "kernweave_error_input")
  none <- terra::setValues(grid_of_terra(), rep(NA_real_, 48))
  expect_error(predict(fit, none), "no cell of `newdata` has a value in `rain`", class = "kernweave_error_data")
})

test_that("terra::interpolate() gives the same layers", {
  skip_without_peer("terra")
  bare <- terra::rast(nrows = 6, ncols = 8, xmin = 0, xmax = 4, ymin = 0, ymax = 3)
  plain <- gp_fit(z ~ long + lat, d, kernel = kernel, variance = 1, nugget = 0.1)
  theirs <- terra::interpolate(bare, plain, xyNames = c("long", "lat"))
  expect_identical(as.vector(terra::values(theirs)), as.vector(terra::values(predict(plain, bare))))
  both <- function(model, data, ...) as.data.frame(predict(model, data, se.fit = TRUE)[c("fit", "se.fit")])
  theirs <- terra::interpolate(bare, plain, fun = both, xyNames = c("long", "lat"))
  ours <- predict(plain, bare, se.fit = TRUE)
  expect_identical(unname(terra::values(theirs)), unname(terra::values(ours)))
  expect_identical(names(theirs), names(ours))
})

test_that("cubes and places of stars are told what to become", {
  skip_without_peer("stars")
  bands <- merge(c(grid_of_stars(), stats::setNames(grid_of_stars(), "other")), name = "band")
  expect_error(predict(fit, bands), "split(newdata, \"band\")", class = "kernweave_error_shape", fixed = TRUE)
  expect_equal(predict(fit, split(bands, "band")), predict(fit, grid_of_stars()))
  vectors <- stars::st_as_stars(sf::st_as_sf(d, coords = c("long", "lat")))
  expect_error(predict(fit, vectors), "sf::st_as_sf(newdata)", class = "kernweave_error_input", fixed = TRUE)
})

test_that("layers of numbers for a factor of the trend are named, and layers of factors are taken", {
  skip_without_peer("terra")
  kinds <- gp_fit(z ~ long + lat, d, trend = ~kind, kernel = kernel, variance = 1, nugget = 0.1)
  layer <- terra::setValues(grid_of_terra("kind"), rep(1:2, 24))
  expect_error(predict(kinds, layer), "`kind` was a factor in the fit.*as.factor\\(\\)",
               class = "kernweave_error_input")
  levels(layer) <- data.frame(value = 1:2, kind = c("dry", "wet"))
  values <- terra::values(predict(kinds, layer), mat = FALSE)
  expect_equal(values, unname(predict(kinds, transform(cells, kind = rep(c("dry", "wet"), 24)))), tolerance = 1e-12)
})

test_that("a posterior takes rasters as its fit does", {
  skip_without_peer("stars")
  post <- gp_posterior(gp_fit(z ~ long + lat, d, trend = ~rain, kernel = "matern32"), nsim = 50, seed = 1)
  ours <- predict(post, cells, se.fit = TRUE, interval = "prediction")
  for (grid in grids()) {
    found <- predict(post, grid, se.fit = TRUE, interval = "prediction")
    expect_identical(class(found), class(grid))
    expect_equal(unname(layers_of(found)), at_known(cbind(ours$fit, ours$se.fit)), tolerance = 1e-12)
  }
})
