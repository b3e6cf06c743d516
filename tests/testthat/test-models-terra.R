# Maps as people have them: points of terra and sp are those of sf, and variograms take all three.

spots <- quakes[seq(1, 1000, by = 10), ]
spots <- transform(spots, x = 100 * long, y = 110 * lat)
flat <- function() sf::st_as_sf(spots, coords = c("x", "y"), crs = 3857)
kernel <- kernel_spec("matern32", scale = 300)
of <- function(formula, data, ...) gp_fit(formula, data, kernel = kernel, variance = 5e4, nugget = 1500, ...)
kinds <- function(places) {
  c(list(sf = places), if (requireNamespace("terra", quietly = TRUE)) list(terra = terra::vect(places)),
    if (requireNamespace("sp", quietly = TRUE)) list(sp = sf::as_Spatial(places)))
}

test_that("points of terra and sp give the numbers of their coordinates, as data and as new data", {
  skip_without_peer("sf")
  plain <- of(depth ~ x + y, spots, ~mag)
  near <- knn_fit(depth ~ x + y, spots, standardize = FALSE)
  ridge <- kernel_ridge(depth ~ 1, flat(), lambda = 1)
  for (places in kinds(flat())) {
    expect_equal(logLik(of(depth ~ 1, places, ~mag)), logLik(plain), ignore_attr = TRUE)
    fit <- of(depth ~ geometry, places, ~mag)
    expect_equal(predict(fit, places[1:5, ], se.fit = TRUE), predict(plain, spots[1:5, ], se.fit = TRUE),
                 ignore_attr = TRUE)
    expect_equal(predict(fit, places[1:5, ], block = 20), predict(plain, spots[1:5, ], block = 20), ignore_attr = TRUE)
    draws <- simulate(fit, 2, seed = 1, newdata = places[1:5, ])
    expect_equal(draws, simulate(plain, 2, seed = 1, newdata = spots[1:5, ]), ignore_attr = TRUE)
    expect_equal(predictive_scores(fit, places[1:9, ]), predictive_scores(plain, spots[1:9, ]), ignore_attr = TRUE)
    augmented <- generics::augment(fit, newdata = places[1:5, ])
    expect_equal(augmented$.fitted, unname(predict(plain, spots[1:5, ])))
    expect_s3_class(augmented, "sf")
    expect_equal(predict(knn_fit(depth ~ 1, places), places), predict(near, spots), ignore_attr = TRUE)
    expect_equal(fitted(kernel_ridge(depth ~ 1, places, lambda = 1)), fitted(ridge), ignore_attr = TRUE)
    expect_equal(knn(places, places[1:4, ], k = 3)$nn.dist, knn(spots[6:7], spots[1:4, 6:7], k = 3)$nn.dist,
                 ignore_attr = TRUE)
    expect_identical(dbscan_fit(places, eps = 60)$cluster, dbscan_fit(spots[6:7], eps = 60)$cluster,
                     ignore_attr = TRUE)
  }
})

test_that("points of sp have names of coordinates, which a formula may use", {
  skip_without_peer("sp")
  skip_without_peer("sf")
  places <- spots
  sp::coordinates(places) <- ~ x + y
  plain <- of(depth ~ x + y, spots, ~mag)
  expect_silent(fit <- of(depth ~ x + y, places, ~mag))
  expect_equal(logLik(fit), logLik(plain))
  expect_equal(predict(fit, places[1:5, ]), predict(plain, spots[1:5, ]))
  expect_equal(predict(plain, places[1:5, ], block = 20), predict(plain, spots[1:5, ], block = 20))
  expect_equal(variogram(depth ~ x + y, places), variogram(depth ~ x + y, spots), ignore_attr = TRUE)
})

test_that("places of another system, or that the fit does not have, are refused by name", {
  skip_without_peer("sf")
  fit <- of(depth ~ 1, flat())
  for (places in kinds(sf::st_transform(flat(), 4326))) {
    expect_error(predict(fit, places), "and the fit in those of", class = "kernweave_error_data")
    expect_error(knn(flat(), places), "in the coordinates of", class = "kernweave_error_data")
  }
  for (places in kinds(flat())) {
    expect_error(predict(of(depth ~ x + y, spots), places), "no variable `x`.*st_coordinates",
                 class = "kernweave_error_input")
  }
})

test_that("variograms of points are those of their coordinates, by chords where these are degrees", {
  skip_without_peer("sf")
  plain <- variogram(depth ~ x + y, spots, trend = ~mag, alpha = c(0, 90))
  for (places in kinds(flat())) {
    for (formula in list(depth ~ 1, depth ~ geometry)) {
      expect_silent(found <- variogram(formula, places, trend = ~mag, alpha = c(0, 90)))
      expect_equal(found, plain, ignore_attr = TRUE)
    }
    expect_message(variogram(depth ~ mag, places), "the geometry of `data` is not in the formula")
  }
  round <- sf::st_as_sf(quakes[1:60, ], coords = c("long", "lat"), crs = 4326)
  expect_message(found <- variogram(depth ~ 1, round), "chords of a sphere")
  angle <- as.matrix(quakes[1:60, c("long", "lat")]) * pi / 180
  chords <- 6371.0088 * cbind(cos(angle[, 2]) * cos(angle[, 1]), cos(angle[, 2]) * sin(angle[, 1]), sin(angle[, 2]))
  expect_equal(found, variogram(depth ~ chords, data.frame(depth = quakes$depth[1:60], chords = I(chords))),
               ignore_attr = TRUE)
})

test_that("columns called longitude and latitude get one hint to distances on a sphere, others none", {
  hint <- function(code) {
    said <- get("said", asNamespace("kernweave"))
    rm(list = intersect("degrees", ls(said)), envir = said)
    found <- character()
    withCallingHandlers(code, message = function(m) {
      found <<- c(found, conditionMessage(m))
      invokeRestart("muffleMessage")
    })
    grep("look like longitudes", found, value = TRUE)
  }
  some <- transform(quakes[1:30, ], lon = long, longitude = long, latitude = lat, lng = long - 360, north = lat)
  fit <- function(formula, k = kernel_spec("matern32", scale = 3)) {
    gp_fit(formula, some, kernel = k, variance = 1, nugget = 1)
  }
  for (formula in list(depth ~ long + lat, depth ~ lat + lon, depth ~ longitude + latitude, depth ~ lng + lat)) {
    said <- hint({
      fit(formula)
      fit(formula)
    })
    expect_length(said, 1)
    expect_match(said, "kernel_spec(metric = \"chordal\")", fixed = TRUE)
  }
  expect_length(hint(kernel_ridge(depth ~ long + lat, some, lambda = 1)), 1)
  time <- kernel_spec("matern32", scale = 3, of = c("long", "lat")) * kernel_spec("matern12", scale = 1, of = "mag")
  expect_length(hint(fit(depth ~ long + lat + mag, time)), 1)
  of <- function(...) kernel_spec("matern32", scale = 3, ...)
  none <- list(of(metric = "chordal"), of(metric = "euclidean"), kernel_spec("matern32", scale = 3:4, ard = TRUE),
               kernel_spec("linear", scale = 1))
  for (k in none) expect_length(hint(fit(depth ~ long + lat, k)), 0)
  expect_error(hint(gp_fit(as.matrix(some[1, c("long", "lat")]), 1, kernel = of())), class = "kernweave_error_data")
  some$long <- some$long * 1000
  for (formula in list(depth ~ long + lat, depth ~ lon + north, depth ~ mag + stations, depth ~ lon)) {
    expect_length(hint(fit(formula)), 0)
  }
})

test_that("longitudes and latitudes out of range are refused by name, on every way to a sphere", {
  far <- cbind(c(1, 400), c(2, 3))
  for (code in expression(knn(far, k = 1, metric = "chordal"), hclust_fit(far, metric = "haversine"),
                          gp_fit(far, 1:2, kernel = kernel_spec("matern32", scale = 1, metric = "chordal")))) {
    expect_error(eval(code), "longitudes, from -360 to 360, and row 2 has 400", class = "kernweave_error_data")
  }
  expect_error(knn(far[, 2:1], k = 1, metric = "chordal"), "latitudes, from -90 to 90, and row 2 has 400",
               class = "kernweave_error_data")
  turned <- cbind(c(-360, 0, 360), c(1, 1, 1))
  expect_lt(max(knn(turned, k = 2, metric = "chordal")$nn.dist), 1e-8)
})

test_that("clusters of points are drawn on these points", {
  skip_without_peer("sf")
  pdf(NULL)
  on.exit(dev.off())
  for (places in kinds(flat())) for (found in list(dbscan_fit(places, eps = 60), hdbscan_fit(places))) {
    expect_identical(plot_data(found, places)$points$x, plot_data(found, sf::st_geometry(flat()))$points$x)
    expect_invisible(plot(found, places))
  }
})

test_that("what is no column of points of sf, and geometries where they are not taken, are answered", {
  skip_without_peer("sf")
  places <- flat()[c("depth", "mag")]
  expect_error(gp_fit(depth ~ east + north, places), "no column `east`.*or ~ 1", class = "kernweave_error_input")
  x <- y <- 1:3
  expect_error(gp_fit(depth ~ x + y, places), "no column `x`", class = "kernweave_error_input")
  expect_error(knn_fit(depth ~ magn, places), "did you mean `mag`", class = "kernweave_error_input")
  w <- seq_len(nrow(places))
  k <- 2
  expect_message(knn_fit(depth ~ I(w / k), places), "the geometry of `data` is not in the formula")
  flat_line <- local_reg(depth ~ mag, spots, bandwidth = 1)
  for (points in kinds(places)) {
    line <- suppressMessages(local_reg(depth ~ mag, points, bandwidth = 1))
    expect_equal(fitted(line), fitted(flat_line), ignore_attr = TRUE)
  }
  skip_without_peer("terra")
  raster <- terra::rast(nrows = 2, ncols = 2, vals = 1:4)
  expect_error(gp_fit(depth ~ x, raster), "as.data.frame\\(data, xy = TRUE\\)", class = "kernweave_error_input")
})

test_that("polygons of terra and sp are blocks as those of sf are", {
  skip_without_peer("sf")
  fit <- of(depth ~ 1, flat())
  around <- sf::st_buffer(flat()[1:2, ], 50)
  blocks <- lapply(kinds(around), function(polygons) predict(fit, block = list(polygons = polygons)))
  for (found in blocks) expect_equal(found, blocks[[1]], ignore_attr = TRUE)
})

test_that("a latitude before its longitude is refused on a sphere, with the formula that is meant", {
  fit <- function(formula) {
    gp_fit(formula, quakes[1:60, ], kernel = kernel_spec("matern32", scale = 500, metric = "chordal"), variance = 1e4,
           nugget = 1e3)
  }
  expect_error(fit(depth ~ lat + long), "`lat` comes before `long`: write ~ long + lat", fixed = TRUE,
               class = "kernweave_error_data")
  expect_s3_class(fit(depth ~ long + lat), "gp_fit")
})

test_that("clusters, tests, densities, surfaces and transport of points give the numbers of their coordinates", {
  skip_without_peer("sf")
  few <- spots[1:40, ]
  xy <- few[c("x", "y")]
  group <- rep(1:2, 20)
  answers <- function(points, other, groups, z) {
    means <- kmeans_fit(points, if (is.data.frame(points) && !inherits(points, "sf")) xy[1:3, ] else points[1:3, ])
    surface <- rbf_interpolate(points, z)
    transport <- sinkhorn(points, other, epsilon = 1e5, debias = FALSE, tol = 1e-3)
    list(means$cluster, predict(means, other), kernweave:::plot_data(means, points)$layers$points,
         energy_test(points, other, null = "moments")$statistic, mmd_test(points, groups = groups, R = 9)$statistic,
         dcor_test(points, z)$estimate, silhouette_widths(points, groups)[, 3],
         predict(kde_fit(points), other), predict(local_reg(points, z, bandwidth = 300), other),
         predict(surface, other), median_scale(points), transport$value, predict(transport, other),
         sinkhorn_barycentre(list(points, other), epsilon = 1e6, tol = 0.3)$x)
  }
  expected <- answers(xy, xy[11:30, ], group, few$depth)
  places <- flat()[1:40, ]
  expect_equal(answers(places, places[11:30, ], group, few$depth), expected, ignore_attr = TRUE)
  for (points in kinds(places)) {
    expect_identical(kernweave:::point_numbers(points)$x, kernweave:::point_numbers(places)$x)
    expect_equal(predict(kmeans_fit(points, unname(as.matrix(xy[1:3, ]))), points[11:30, ]), expected[[2]],
                 ignore_attr = TRUE)
  }
  places$group <- group
  expect_equal(fitted(kde_fit(~ geometry, places)), fitted(kde_fit(xy)), ignore_attr = TRUE)
  line <- local_reg(depth ~ 1, places, bandwidth = 300)
  expect_equal(predict(line, places[11:30, ]), expected[[9]], ignore_attr = TRUE)
  between <- energy_test(xy, groups = group, null = "moments")$statistic
  for (points in kinds(places)) {
    expect_equal(energy_test(geometry ~ group, points, null = "moments")$statistic, between)
  }
  expect_equal(permanova(geometry ~ group, places, R = 9)$F, permanova(xy ~ group, R = 9)$F)
  expect_equal(dcor_test(depth ~ geometry, places)$estimate, expected[[6]])
})

test_that("tests of longitudes and latitudes are by chords; clusters of them are of a plane, with a message", {
  skip_without_peer("sf")
  globe <- sf::st_as_sf(spots[1:40, ], coords = c("long", "lat"), crs = 4326)
  degrees <- as.matrix(spots[1:40, c("long", "lat")])
  space <- kernweave:::on_sphere(degrees, kernweave:::earth_radius)
  expect_message(found <- energy_test(globe[1:20, ], globe[21:40, ], null = "moments"), "chords")
  expect_equal(found$statistic, energy_test(space[1:20, ], space[21:40, ], null = "moments")$statistic)
  expect_message(table <- permanova(geometry ~ I(depth > 300), globe, distance = "haversine", R = 9), "plane")
  expect_message(clusters <- kmeans_fit(globe, unname(degrees[1:2, ])), "in degrees")
  expect_equal(clusters$centers, kmeans_fit(degrees, degrees[1:2, ])$centers, ignore_attr = TRUE)
  projected <- sf::st_transform(globe, 3857)
  for (other in list(function() energy_test(globe, projected), function() sinkhorn(globe, projected))) {
    expect_error(suppressMessages(other()), "coordinates of", class = "kernweave_error_data")
  }
  expect_error(energy_test(degrees, globe), "`y` is points of sf", class = "kernweave_error_input")
  expect_error(predict(kmeans_fit(degrees, degrees[1:2, ]), globe), "points of sf", class = "kernweave_error_input")
  expect_error(kmeans_fit(sf::st_buffer(projected, 1), 2), "must be points", class = "kernweave_error_data")
})
