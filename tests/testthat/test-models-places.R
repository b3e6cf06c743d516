# Places: kernels of chords and great circles, of some of the inputs, and points of the sf package.

earth <- 6371.0088
spots <- quakes[seq(1, 1000, by = 8), ]
spots <- spots[!duplicated(spots[c("long", "lat")]), ]
spots$long <- ifelse(spots$long > 180, spots$long - 360, spots$long)
lonlat <- as.matrix(spots[c("long", "lat")])
chord <- kernel_spec("matern32", scale = 300, metric = "chordal")
map <- function() sf::st_as_sf(spots, coords = c("long", "lat"), crs = 4326)
fixed <- function(x, data, kernel = chord, ...) {
  suppressMessages(gp_fit(x, data, kernel = kernel, variance = 7e4, nugget = 1500, ...))
}

test_that("great circles are those of geosphere and of haversine(), and chords are shorter by their sine", {
  circle <- kernel_spec("matern12", scale = 500, metric = "haversine")
  found <- -500 * log(as.matrix(circle(lonlat)))
  ours <- as.matrix(haversine(Vi(lonlat), Vj(lonlat), radius = earth))
  expect_equal(unname(found), unname(ours), tolerance = 1e-12)
  chords <- -500 * log(as.matrix(kernel_spec("matern12", scale = 500, metric = "chordal")(lonlat)))
  expect_equal(unname(chords), unname(2 * earth * sin(ours / 2 / earth)), tolerance = 1e-12)
  expect_equal(1 - 2 * sin(pi / 18) / (pi / 9), 0.005, tolerance = 0.02)
  every <- cbind(seq(-180, 175, by = 5), 60)
  circles <- kernel_spec("matern12", scale = 1, radius = 1, metric = "haversine")
  expect_false(anyNA(as.matrix(circles(every, cbind(every[, 1] - 180, -60)))))
  far <- rbind(c(20, 10), c(-160, -10))
  antipodes <- kernel_spec("matern12", scale = 500, metric = "haversine", radius = 1000)(far)
  expect_equal(as.matrix(antipodes)[1, 2], exp(-1000 * pi / 500), tolerance = 1e-6)
  expect_equal(as.matrix(circle(Vi(lonlat), Vj(lonlat))), as.matrix(circle(lonlat)), tolerance = 1e-12)
  skip_without_peer("geosphere")
  theirs <- geosphere::distm(lonlat, fun = function(a, b) geosphere::distHaversine(a, b, r = earth))
  expect_equal(unname(found), theirs, tolerance = 1e-12)
})

test_that("fits on a sphere are those of the dense matrix, by iteration and approximated, too", {
  D <- as.matrix(haversine(Vi(lonlat), Vj(lonlat), radius = earth))
  kernels <- list(list(kernel_spec("matern12", scale = 800, metric = "haversine"), exp(-D / 800)),
                  list(chord, local({
                    r <- sqrt(3) * 2 * earth * sin(D / 2 / earth) / 300
                    (1 + r) * exp(-r)
                  })))
  for (kernel in kernels) {
    fit <- fixed(depth ~ long + lat, spots, kernel[[1]])
    K <- 7e4 * kernel[[2]]
    inverse <- solve(K + diag(1500, nrow(K)))
    b <- sum(inverse %*% spots$depth) / sum(inverse)
    expect_equal(coef(fit)[[1]], b, tolerance = 1e-8)
    expect_equal(unname(fitted(fit)), c(b + K %*% inverse %*% (spots$depth - b)), tolerance = 1e-8)
    for (approximate in list(NULL, 1e-8)) {
      control <- fit_control(dense_n = 0, approximate = approximate)
      expect_equal(fitted(fixed(depth ~ long + lat, spots, kernel[[1]], control = control)), fitted(fit),
                   tolerance = 1e-5)
    }
  }
  local <- predict(fit, spots[1:5, ], method = "local", neighbours = nrow(spots), se.fit = TRUE)
  expect_equal(local[1:2], predict(fit, spots[1:5, ], se.fit = TRUE)[1:2], tolerance = 1e-7)
  turned <- transform(spots, long = long + 77)
  expect_equal(fitted(fixed(depth ~ long + lat, turned)), fitted(fit), tolerance = 1e-9)
  expect_equal(unname(as.matrix(fit$kernel(lonlat[1:3, ]))), unname(as.matrix(chord(lonlat[1:3, ]))))
})

test_that("sums of great circles and chords are approximated as those of one distance", {
  set.seed(1)
  globe <- cbind(runif(3000, -180, 180), asin(runif(3000, -1, 1)) * 180 / pi)
  b <- rnorm(3000)
  P <- kernweave:::on_sphere(globe, earth)
  model <- kernweave:::placed_inputs(kernel_spec("matern12", scale = 900, metric = "haversine"),
                                     kernweave:::fit_matrix(globe))
  expect_equal(model$inputs$x, P, ignore_attr = TRUE)
  K <- model$kernel(Vi(P), Vj(P))
  expect_silent(series <- approximate(K, 1e-6))
  expect_equal(c(series %*% b), c(K %*% b), tolerance = 1e-5)
})

test_that("tests, scales and components by chords are those of points in space", {
  P <- kernweave:::on_sphere(lonlat, earth)
  by_chords <- kernel_spec("matern32", metric = "chordal")
  high <- spots$mag > 4.6
  expect_equal(mmd_test(lonlat, groups = high, kernel = by_chords, R = 1)$statistic,
               mmd_test(P, groups = high, kernel = "matern32", R = 1)$statistic)
  expect_equal(mmd_test(lonlat, groups = high, kernel = kernel_spec(of = "lat"), R = 1)$statistic,
               mmd_test(lonlat[, "lat"], groups = high, R = 1)$statistic)
  expect_equal(hsic_test(lonlat, high, kernel = by_chords, kernel_y = "gaussian", R = 1)$statistic,
               hsic_test(P, high, kernel = "matern32", kernel_y = "gaussian", R = 1)$statistic)
  expect_equal(silhouette_widths(lonlat, high, metric = "chordal"), silhouette_widths(P, high), ignore_attr = TRUE)
  expect_equal(permanova(lonlat ~ high, distance = "chordal", R = 1)$F, permanova(P ~ high, R = 1)$F)
  expect_equal(maxvar_scale(lonlat, by_chords), maxvar_scale(P, "matern32"))
  expect_equal(kpca_fit(lonlat, k = 2, kernel = by_chords)$values, kpca_fit(P, k = 2, kernel = "matern32")$values)
  fit <- fixed(depth ~ long + lat, spots, kernel_spec("matern32", scale = 3, of = c("lat", "long")))
  expect_equal(as.matrix(fit$kernel(lonlat[, 2:1])), as.matrix(kernel_spec("matern32", scale = 3)(lonlat)))
})

test_that("inputs with a metric are not standardised, and others are", {
  both <- kernel_spec(metric = "euclidean", of = c("long", "lat")) * kernel_spec(of = "mag")
  fit <- kernel_ridge(depth ~ long + mag + lat, spots, kernel = both, lambda = 1)
  expect_identical(fit$units$x$width, c(1, sd(spots$mag), 1))
  expect_equal(predict(fit, spots[3:5, ]), fitted(fit)[3:5])
  expect_output(print(fit), "of\\s+standardized inputs")
  expect_output(print(kernel_ridge(depth ~ long + lat, spots, kernel = chord, lambda = 1)), "6371.0088\n")
})

test_that("points of sf give the numbers of their coordinates, and stay sf", {
  skip_without_peer("sf")
  places <- map()
  expect_message(fit <- gp_fit(depth ~ 1, places, trend = ~mag, kernel = kernel_spec("matern32", scale = 300),
                               variance = 7e4, nugget = 1500), "metric = \"chordal\"")
  plain <- fixed(depth ~ long + lat, spots, trend = ~mag)
  expect_identical(fitted(fit), fitted(plain))
  expect_identical(coef(fit), coef(plain))
  for (se in c(FALSE, TRUE)) {
    expect_identical(predict(fit, places[1:4, ], se.fit = se), predict(plain, spots[1:4, ], se.fit = se))
  }
  expect_output(print(fit), "by chords of a sphere of radius 6371.0088.*depth ~ geometry, trend ~ mag")
  ridge <- suppressMessages(kernel_ridge(depth ~ geometry, places, lambda = 0.1))
  expect_identical(unname(ridge$alpha), unname(kernel_ridge(depth ~ long + lat, spots, lambda = 0.1,
                                                            kernel = kernel_spec(metric = "chordal"))$alpha))
  expect_identical(ridge$units$x$width, rep(1, 3))
  expect_output(print(summary(ridge)), "by chords")
  expect_error(kernel_ridge(places, spots$depth), "a formula takes places", class = "kernweave_error_input")
  projected <- sf::st_transform(places, 3857)
  xy <- data.frame(spots, sf::st_coordinates(projected))
  expect_identical(fitted(fixed(depth ~ 1, projected, kernel_spec(scale = 3e5))),
                   fitted(fixed(depth ~ X + Y, xy, kernel_spec(scale = 3e5))))
  skip_if_not_installed("generics")
  flat <- fixed(depth ~ 1, places)
  at <- generics::augment(flat, newdata = places[1:3, ])
  expect_s3_class(at, "sf")
  expect_equal(at$.fitted, unname(predict(flat, places[1:3, ])))
  expect_s3_class(generics::augment(flat, data = places), "sf")
  expect_equal(unname(predict(flat, sf::st_geometry(places)[1:3])), at$.fitted)
  expect_identical(dim(simulate(flat, 2, newdata = places[1:3, ])), 3:2)
  expect_identical(vapply(plot_data(flat)$layers, nrow, 1L)[["surface"]], 1600L)
})

test_that("neighbours of sf are by chords, or in the projected plane", {
  skip_without_peer("sf")
  places <- map()
  expect_message(found <- knn(places, k = 3), "chords")
  expect_identical(found, knn(lonlat, k = 3, metric = "chordal"), ignore_attr = TRUE)
  P <- kernweave:::on_sphere(lonlat, earth)
  expect_identical(found$nn.index, knn(P, k = 3)$nn.index, ignore_attr = TRUE)
  expect_equal(found$nn.dist, knn(P, k = 3)$nn.dist, ignore_attr = TRUE)
  near <- suppressMessages(radius_nn(places[-1, ], places[1, ], radius = 200))
  expect_identical(near$id, radius_nn(P[-1, ], P[1, , drop = FALSE], radius = 200)$id, ignore_attr = TRUE)
  projected <- sf::st_transform(places, 3857)
  expect_silent(flat <- knn(projected, projected[1:2, ], k = 2))
  xy <- sf::st_coordinates(projected)
  expect_identical(flat$nn.index, knn(xy, xy[1:2, ], k = 2)$nn.index, ignore_attr = TRUE)
  votes <- suppressMessages(knn_fit(depth ~ 1, places, k = 4))
  near <- knn(P, P[1:3, ], k = 4)$nn.index
  expect_equal(unname(predict(votes, places[1:3, ])), rowMeans(matrix(spots$depth[near], 3)))
  lof <- suppressMessages(lof_scores(places))
  expect_equal(lof, lof_scores(P), ignore_attr = TRUE)
  by_chords <- dbscan_fit(lonlat, eps = 100, minPts = 4, metric = "chordal")
  of_sf <- suppressMessages(dbscan_fit(places, eps = 100, minPts = 4))
  expect_identical(of_sf$cluster, by_chords$cluster, ignore_attr = TRUE)
  expect_identical(predict(of_sf, places[1:9, ]), predict(by_chords, lonlat[1:9, ]), ignore_attr = TRUE)
  expect_identical(by_chords$cluster, dbscan_fit(P, eps = 100, minPts = 4)$cluster, ignore_attr = TRUE)
})

test_that("kernels `of` some inputs are multiplied and added, for space and time", {
  both <- kernel_spec("matern32", scale = 300, metric = "chordal", of = c("long", "lat")) *
    kernel_spec("matern12", scale = 4, of = "mag")
  fit <- fixed(depth ~ mag + long + lat, spots, both)
  P <- kernweave:::on_sphere(lonlat, earth)
  K <- as.matrix(kernel_matern(P, scale = 300, nu = 3 / 2)) * exp(-abs(outer(spots$mag, spots$mag, "-")) / 4)
  inverse <- solve(7e4 * K + diag(1500, nrow(K)))
  b <- sum(inverse %*% spots$depth) / sum(inverse)
  expect_equal(unname(fitted(fit)), c(b + 7e4 * K %*% inverse %*% (spots$depth - b)), tolerance = 1e-8)
  expect_equal(predict(fit, spots[5:6, ]), fitted(fit)[5:6], tolerance = 1e-9)
  expect_output(print(fit), "of long and lat, by chords")
  metric <- fixed(depth ~ place + mag, transform(spots, place = I(lonlat)),
                  kernel_spec("matern32", scale = c(300, 4), metric = "euclidean", ard = TRUE))
  expect_identical(names(coef(metric, "covariance"))[2:3], c("scale.place", "scale.mag"))
  expect_equal(as.matrix(kernel_spec(scale = 1, of = "lat")(lonlat)), as.matrix(kernel_gaussian(lonlat[, 2])),
               ignore_attr = TRUE)
  skip_without_peer("sf")
  joint <- fixed(depth ~ geometry + mag, map(), kernel_spec("matern32", scale = c(300, 4), ard = TRUE))
  by_hand <- fixed(depth ~ x + y + z + mag, data.frame(spots, x = P[, 1], y = P[, 2], z = P[, 3]),
                   kernel_spec("matern32", scale = c(300, 300, 300, 4), ard = TRUE))
  expect_equal(fitted(joint), fitted(by_hand), tolerance = 1e-9)
  free <- suppressMessages(gp_fit(depth ~ geometry + mag, map(), kernel = kernel_spec("matern32", of = "geometry") +
                                    kernel_spec("matern32", scale = 1, of = "mag")))
  expect_gt(coef(free, "covariance")[["scale.geometry"]], 50)
})

test_that("what has no meaning on a map is refused by name", {
  error <- function(code, says, class = "input") {
    expect_error(suppressMessages(code), says, fixed = TRUE, class = paste0("kernweave_error_", class))
  }
  for (name in c("gaussian", "matern32", "cauchy")) {
    error(kernel_spec(name, metric = "haversine"), "metric = \"chordal\"", "unsupported")
  }
  error(kernel_spec("periodic", metric = "chordal"), "kernels of a distance", "unsupported")
  error(kernel_spec(metric = "chords"), "did you mean `chordal`")
  error(kernel_spec(radius = -1), "`radius` must be a positive number", "value")
  error(kernel_spec(of = 2), "`of` must be names")
  error(gp_fit(depth ~ lat + long, spots, kernel = chord), "`lat` comes before `long`: write ~ long + lat", "data")
  error(gp_fit(depth ~ long + lat + mag, spots, kernel = chord), "two columns, longitude and latitude", "shape")
  error(gp_fit(depth ~ long + lat + mag, spots, kernel = kernel_spec(of = "mag")), "no kernel is `of` the input `long`")
  error(gp_fit(depth ~ long + lat, spots, kernel = kernel_spec(of = "latt")), "did you mean `lat`")
  error(marginal_effects(kernel_ridge(depth ~ long + lat, spots, kernel = chord, lambda = 1)), "on a sphere",
        "unsupported")
  skip_without_peer("sf")
  places <- map()
  projected <- sf::st_transform(places, 3857)
  fit <- fixed(depth ~ 1, places)
  error(predict(fit, projected), "EPSG:3857", "data")
  error(predict(fit, projected), "EPSG:4326", "data")
  error(knn(places, projected, k = 2), "`query` is in the coordinates of EPSG:3857, and `x`", "data")
  error(predict(fit, spots), "`newdata` has no variable `geometry`")
  error(gp_fit(depth ~ 1, sf::st_buffer(projected, 1)), "sf::st_centroid()", "data")
  error(gp_fit(depth ~ 1, projected, kernel = chord), "projected coordinates of EPSG:3857")
  empty <- places
  empty$geometry[3] <- sf::st_point()
  lost <- fixed(depth ~ 1, empty)
  expect_identical(nobs(lost), nrow(spots) - 1L)
  expect_identical(which(is.na(predict(fit, empty))), 3L, ignore_attr = TRUE)
  error(knn(empty, k = 2), "missing values in 1 row: 3", "data")
  error(predict(fit, sf::st_set_crs(places, NA)), "st_set_crs(newdata, 4326) says", "data")
  error(predict(fixed(depth ~ 1, sf::st_set_crs(places, NA)), places), "st_set_crs(data, 4326) of the first", "data")
  error(predict(fit, quakes[1:3, ]), "sf::st_as_sf(newdata, coords = , crs = )")
})

test_that("a dot holds the geometry, and no scale is of kilometres and of another input", {
  skip_without_peer("sf")
  places <- map()
  expect_identical(fitted(fixed(depth ~ ., places["depth"])), fitted(fixed(depth ~ 1, places)))
  without <- kernel_ridge(depth ~ . - geometry, places, lambda = 1)
  expect_equal(unname(fitted(without)), unname(fitted(kernel_ridge(depth ~ mag + stations, spots, lambda = 1))))
  for (formula in list(depth ~ geometry + mag, depth ~ .)) {
    for (of in list(gp_fit, kernel_ridge)) {
      expect_error(suppressMessages(of(formula, places)), "kernel_spec(of = \"geometry\")", fixed = TRUE,
                   class = "kernweave_error_shape")
    }
  }
  expect_error(suppressMessages(knn_fit(depth ~ ., places)), "two columns", class = "kernweave_error_shape")
  each <- kernel_spec("matern32", scale = c(300, 1, 1), ard = TRUE)
  expect_identical(ncol(fixed(depth ~ ., places, each)$x), 4L)
})

test_that("a metric that is given is obeyed, also for longitudes and latitudes of sf", {
  skip_without_peer("sf")
  places <- map()
  expect_silent(flat <- knn(places, k = 3, metric = "euclidean"))
  expect_equal(flat$nn.dist, knn(lonlat, k = 3)$nn.dist, ignore_attr = TRUE)
  expect_silent(lof <- lof_scores(places, metric = "euclidean"))
  expect_equal(lof, lof_scores(lonlat), ignore_attr = TRUE)
  expect_error(suppressMessages(knn(places, spots[1:2, ], k = 2)), "sf::st_as_sf(query", fixed = TRUE)
})

test_that("a geometry that is not in the formula, or beside covariates, is spoken of once", {
  skip_without_peer("sf")
  places <- sf::st_transform(map(), 3857)
  said <- function(code) {
    out <- character()
    withCallingHandlers(code, message = function(m) {
      out <<- c(out, conditionMessage(m))
      invokeRestart("muffleMessage")
    })
    grep("kernweave: ", out, value = TRUE)
  }
  process <- function(...) gp_fit(..., variance = 7e4, nugget = 1500)
  mag <- kernel_spec("matern32", scale = 1)
  for (code in expression(gp_fit(depth ~ mag, places, kernel = mag, variance = 7e4, nugget = 1500),
                          kernel_ridge(depth ~ mag, places, lambda = 1), knn_fit(depth ~ mag, places))) {
    one <- said(fit <- eval(code))
    expect_length(one, 1)
    expect_match(one, "the geometry of `data` is not in the formula: distances are of `mag` alone", fixed = TRUE)
    expect_match(one, "~ geometry, or ~ 1", fixed = TRUE)
    expect_match(one, "trend = ~ mag", fixed = TRUE)
    expect_identical(unname(fitted(fit)), unname(fitted(suppressMessages(update(fit, data = spots)))))
    expect_length(said(predict(fit, places[1:3, ])), 0)
  }
  far <- kernel_spec("matern32", scale = 3e5)
  some <- places[c("depth", "mag")]
  for (code in expression(process(depth ~ geometry + mag, places, kernel = far), process(depth ~ ., some, kernel = far),
                          kernel_ridge(depth ~ geometry + mag, places, lambda = 1),
                          knn_fit(depth ~ geometry + mag, places))) {
    one <- said(eval(code))
    expect_length(one, 1)
    expect_match(one, "one distance is of the places, `geometry`, and of `mag`", fixed = TRUE)
    expect_match(one, "trend = ~ mag", fixed = TRUE)
  }
  each <- kernel_spec("matern32", scale = c(3e5, 1), ard = TRUE)
  apart <- kernel_spec("matern32", scale = 3e5, of = "geometry") + kernel_spec("matern32", scale = 1, of = "mag")
  for (code in expression(process(depth ~ 1, places, kernel = far), process(depth ~ geometry, places, ~mag, far),
                          process(depth ~ . - geometry, some, kernel = mag), knn_fit(depth ~ geometry, places),
                          process(depth ~ geometry + mag, places, kernel = each),
                          process(depth ~ geometry + mag, places, kernel = apart),
                          knn_fit(depth ~ geometry + mag, places, standardize = TRUE))) {
    expect_length(said(eval(code)), 0)
  }
})
