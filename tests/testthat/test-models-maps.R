# Maps end where data end, coordinates have equal scales, and pictures of many points stay pictures.

hill <- function(d) transform(d, z = sin(6 * d[[1]]) + d[[2]])
# Points of a square without its upper right quarter.
corner <- local({
  set.seed(1)
  d <- data.frame(x = stats::runif(400), y = stats::runif(400))
  hill(d[!(d$x > 0.5 & d$y > 0.5), ])
})
surface_of <- function(d, ...) pictured(rbf_interpolate(z ~ ., d, lambda = 0.1), ...)

test_that("a map is drawn up to a margin about the data, or as a rectangle", {
  surface <- surface_of(corner)$layers$surface
  far <- apply(surface[1:2], 1, function(at) sqrt(min((corner$x - at[1])^2 + (corner$y - at[2])^2)))
  expect_equal(surface$far / far, rep(surface$far[1] / far[1], nrow(surface)), tolerance = 1e-6)
  seen <- surface$far <= 1
  expect_true(all(seen[far < 0.05]))
  expect_false(any(seen[surface$x > 0.65 & surface$y > 0.65]))
  expect_true(all(seen[surface$x < 0.45 | surface$y < 0.45]))
  expect_true(all(surface_of(corner, whole = TRUE)$layers$surface$far == 0))
  expect_error(surface_of(corner, whole = 1), "whole", class = "kernweave_error_input")
  drawn <- kernweave:::seen_grid(surface)
  expect_true(all(range(drawn$z, na.rm = TRUE) >= range(surface$z[seen])[1] - 1e-12))
  expect_true(anyNA(drawn$z) && !anyNA(kernweave:::seen_grid(transform(surface, far = 0))$z))
})

test_that("the margin does not depend on units, nor on copies of points", {
  far <- function(d) surface_of(d, n = 9)$layers$surface$far
  own <- far(corner)
  expect_equal(far(transform(corner, x = 1e6 + 1e3 * x, y = 1e3 * y)), own, tolerance = 1e-6)
  unlike <- stats::setNames(corner, c("age", "dose", "z"))
  expect_equal(far(transform(unlike, dose = 1e3 * dose)), far(unlike), tolerance = 1e-6)
  expect_equal(far(rbind(corner, corner)), own)
})

test_that("coordinates have equal scales, degrees those of their latitude, other inputs none", {
  aspect <- function(names, by = 1, shift = 0) {
    kernweave:::map_aspect(cbind(corner$x, by * corner$y + shift), names)
  }
  for (names in list(c("x", "y"), c("X", "Y"), c("x_km", "y_km"), c("utm.x", "utm.y"), c("easting", "northing"),
                     c("East", "North"), c("coords.x1", "coords.x2"))) {
    expect_identical(aspect(names), 1, label = toString(names))
  }
  for (names in list(c("long", "lat"), c("lon", "lat"), c("longitude", "latitude"))) {
    expect_equal(aspect(names, 2, 50), 1 / cos(pi / 180 * (mean(range(2 * corner$y)) + 50)), label = toString(names))
  }
  for (names in list(c("age", "dose"), c("x1", "x2"), c("x", "z"), c("y", "x"), c("max", "may"), c("wt", "hp"))) {
    expect_null(aspect(names), label = toString(names))
  }
  expect_null(aspect(c("x", "y"), 1000))  # a strip
  expect_null(aspect(c("long", "lat"), 1000))  # not degrees
  expect_null(kernweave:::map_aspect(cbind(1:3, 2), c("x", "y")))
  skip_if_not_installed("ggplot2")
  fit <- rbf_interpolate(z ~ ., corner, lambda = 0.1)
  expect_identical(ggplot2::autoplot(fit)$coordinates$ratio, 1)
  in_nowhere({
    plot(fit)
    unit <- graphics::par("pin") / c(diff(graphics::par("usr")[1:2]), diff(graphics::par("usr")[3:4]))
    expect_equal(unit[1], unit[2])
  })
})

test_that("sf points have equal scales by their coordinate system", {
  skip_if_not_installed("sf")
  places <- function(d, crs) sf::st_as_sf(d, coords = 1:2, crs = crs)
  flat <- gp_fit(z ~ geometry, places(transform(corner, x = 1e5 * x, y = 1e5 * y), 28992), variance = 1, nugget = 0.1,
                 kernel = kernel_spec("matern32", 3e4))
  expect_identical(pictured(flat, n = 5)$asp, 1)
  globe <- suppressMessages(gp_fit(z ~ geometry, places(transform(corner, y = 60 + y), 4326), variance = 1,
                                   nugget = 0.1, kernel = kernel_spec("matern32", 50, metric = "chordal")))
  expect_equal(pictured(globe, n = 5)$asp, 1 / cos(pi / 180 * (60 + mean(range(corner$y)))))
})

test_that("of many points some are drawn, of each group, and a note says how many", {
  picture <- kernweave:::picture
  many <- data.frame(x = 1:30000, y = 1, group = factor(rep(c("a", "b", NA), c(29000, 30, 970))))
  shown <- picture("", "", points = many, most = 3000)
  counts <- table(shown$layers$points$group, useNA = "always")
  expect_identical(as.vector(counts), c(2900L, 20L, 97L))
  expect_identical(shown$note, "3,017 of 30,000 points drawn")
  expect_identical(picture("", "", points = many[1:3000, ], most = 3000)$layers$points, many[1:3000, ])
  expect_null(picture("", "", points = many[1:3000, ], most = 3000)$note)
  every <- transform(many, group = factor(seq_len(30000) %/% 2))
  expect_lte(nrow(picture("", "", points = every, most = 100)$layers$points), 15001)
  fit <- rbf_interpolate(z ~ x + y, corner, lambda = 0.1)
  expect_identical(nrow(layer(fit, "points")), nrow(corner))
  expect_identical(nrow(layer(rbf_interpolate(z ~ x + y, corner[rep(1:300, 2), ], lambda = 0.1), "points")), 300L)
  shown <- pictured(rbf_interpolate(z ~ x + y, hill(data.frame(x = 1:600 %% 23, y = 1:600 %/% 23)), lambda = 1))
  expect_identical(nrow(shown$layers$points), 500L)
  expect_identical(shown[c("main", "note")], list(main = "Fitted z", note = "500 of 600 points drawn"))
})

test_that("colours given for all points are those of the points that are drawn", {
  in_nowhere({
    fit <- kpca_fit(as.matrix(iris[, 1:4]), 2)
    found <- NULL
    shown <- pictured(fit)
    shown$layers$points <- structure(shown$layers$points[c(1, 60), ], rows = c(1, 60), of = 150)
    painters <- kernweave:::painters
    expect_silent(kernweave:::draw_picture(shown, col = iris$Species))
  })
})

test_that("noise is grey, clusters have colours of their own, and both are drawn without the points", {
  skip_if_not_installed("ggplot2")
  set.seed(1)
  x <- rbind(matrix(stats::rnorm(200, 0, 0.1), ncol = 2), matrix(stats::rnorm(200, 3, 0.1), ncol = 2), c(9, 9))
  found <- dbscan_fit(x, eps = 0.2)
  points <- layer(found, "points")
  expect_equal(points, layer(found, "points", x))
  expect_true(is.na(points$group[201]))
  colours <- kernweave:::group_colours(points$group, "black")
  expect_identical(colours[201], "grey75")
  expect_identical(length(unique(colours[1:200])), nlevels(points$group))
  built <- ggplot2::ggplot_build(ggplot2::autoplot(found))
  expect_identical(unique(built$data[[1]]$colour), "grey75")
  expect_setequal(built$data[[2]]$colour, colours[!is.na(points$group)])
  for (n in c(2, 7, 30)) {
    apart <- as.matrix(stats::dist(grDevices::convertColor(t(grDevices::col2rgb(kernweave:::distinct_colours(n))) / 255,
                                                           "sRGB", "Lab")))
    expect_gt(min(apart[upper.tri(apart)]), if (n < 10) 20 else 4)
  }
  centres <- kmeans_fit(x, x[c(1, 101), ])
  expect_equal(layer(centres, "points"), layer(centres, "points", x))
  expect_output(print(kmeans_fit(x[rep(1:200, 50), ], x[c(1, 101), ])), "of 10,000 points: 2 clusters")
  expect_lt(length(utils::capture.output(print(kmeans_fit(matrix(stats::rnorm(5000), 500), 40, nstart = 1)))), 30)
})

test_that("cross-validation, elpd and profiles are drawn by both kinds of graphics", {
  skip_if_not_installed("ggplot2")
  fit <- gp_fit(depth ~ long, quakes[1:60, ], kernel = "matern32")
  folds <- cross_validate(fit, folds = 4, seed = 1)
  points <- layer(folds, "points")
  expect_equal(points, data.frame(x = folds$.fitted, y = quakes$depth[1:60]))
  expect_equal(layer(folds, "boxes", "folds")$ymax, summary(folds)$rmse[1:4])
  expect_equal(layer(folds, "across", "folds")$y, sqrt(mean(folds$.resid^2)))
  classes <- cross_validate(knn_fit(Species ~ ., iris, k = 5), folds = 3, seed = 1)
  expect_equal(layer(classes, "boxes")$ymax, summary(classes)$errors[1:3])
  one <- elpd(fit)
  expect_equal(layer(one, "points")$y, unname(one$pointwise))
  expect_identical(layer(one, "labels")$label, order(one$pointwise)[1:3])
  both <- elpd(fit, flat = update(fit, variance = 0))
  expect_equal(layer(both, "intervals")$xend - layer(both, "intervals")$x, 2 * both$se_diff)
  in_nowhere({
    for (one in list(folds, classes, one, both)) {
      expect_identical(plot(one), one)
      expect_silent(ggplot2::ggplot_build(ggplot2::autoplot(one)))
    }
    curves <- suppressWarnings(profile(fit))
    panels <- ggplot2::ggplot_build(ggplot2::autoplot(curves))$data[[1]]
    for (k in seq_along(curves)) expect_identical(sum(panels$PANEL == k), nrow(curves[[k]]))
    expect_silent(ggplot2::ggplot_build(ggplot2::autoplot(curves, "scale")))
  })
})

test_that("rows of a cross-validation that are left are counted and scored", {
  fit <- gp_fit(depth ~ long, quakes[1:60, ], kernel = "matern32")
  folds <- cross_validate(fit, folds = 4, seed = 1)
  left <- folds
  kept <- folds$.fold == "2"
  left <- structure(as.data.frame(unclass(folds))[kept, ], title = attr(folds, "title"), level = attr(folds, "level"),
                    scored = attr(folds, "scored"), class = class(folds))  # as dplyr::filter() does
  expect_output(print(left), "1 fold, without refits, 15 of 60 rows")
  expect_output(print(folds), "4 folds, without refits\n", fixed = TRUE)
  expect_equal(summary(left)["all", "rmse"], sqrt(mean(folds$.resid[kept]^2)))
  expect_equal(summary(left)["2", ], summary(folds)["2", ])
  expect_equal(predictive_scores(left)["all", "crps"], mean(folds$.crps[kept]))
  expect_output(print(summary(folds)), "rmse")
  expect_lt(max(nchar(utils::capture.output(print(summary(folds))))), 60)
  expect_equal(folds$.observed, quakes$depth[1:60])
})

test_that("a map holds the values in `at`, of inputs and of covariates", {
  d <- transform(corner, depth = x + y^2, kind = factor(rep(c("a", "b"), length.out = nrow(corner))))
  d$time <- rep_len(0:9 / 9, nrow(d))
  k <- kernel_spec("matern32", 1)
  fit <- gp_fit(z ~ x + y, d, trend = ~ depth + kind, kernel = k, variance = 1, nugget = 0.1)
  expect_null(layer(fit, "surface"))
  expect_identical(pictured(fit)$note, "for a map give depth, kind in `at`")
  surface <- layer(fit, "surface", n = 5, at = list(depth = 2, kind = "b"))
  expect_equal(surface$z, unname(predict(fit, data.frame(surface[1:2], depth = 2, kind = "b"))))
  held <- pictured(fit, n = 5, at = list(depth = 0.7, kind = "b"))
  expect_match(held$main, "^Fitted z, depth = 0.7 \\(points within 0.0[0-9]+\\), kind = b$")
  within <- as.numeric(sub(".*within (.*)\\).*", "\\1", held$main))
  expect_equal(held$layers$points, d[abs(d$depth - 0.7) <= within & d$kind == "b", c("x", "y")], ignore_attr = TRUE)
  se <- layer(fit, "surface", which = "se", n = 5, at = list(depth = 2, kind = "b"))
  expect_equal(se$z, unname(predict(fit, data.frame(surface[1:2], depth = 2, kind = "b"), se.fit = TRUE)$se.fit))
  days <- gp_fit(z ~ x + y + time, d, kernel = k, variance = 1, nugget = 0.1)
  surface <- layer(days, "surface", n = 5, at = list(time = 0.3))
  expect_equal(surface$z, unname(predict(days, data.frame(surface[1:2], time = 0.3))))
  along <- layer(days, "curve", n = 5, at = list(x = 0.2, y = 0.3))
  expect_equal(along$y, unname(predict(days, data.frame(x = 0.2, y = 0.3, time = along$x))))
  expect_equal(range(along$x), c(0, 1))
  of_time <- d[d$time == 0, ]
  expect_equal(layer(days, "points", n = 5, at = list(time = 0)), of_time[c("x", "y")], ignore_attr = TRUE)
  line <- gp_fit(z ~ x + time, d, kernel = k, variance = 1, nugget = 0.1)
  expect_equal(layer(line, "points", at = list(time = 0)), of_time[c("x", "z")], ignore_attr = TRUE)
  titles <- c(fit = "Fitted z, time = 0", se = "Standard error of z, time = 0")
  for (which in names(titles)) expect_identical(pictured(line, which, at = list(time = 0))$main, titles[[which]])
  dated <- transform(d, day = as.Date("2026-01-01") + 100 * time)
  rows <- function(at) which(kernweave:::held_rows(list(x = as.matrix(d[1:2]), model = dated), list(day = at))$near)
  expect_identical(rows(dated$day[1]), which(dated$day == dated$day[1]))
  expect_identical(rows(dated$day[1] + 3), which(abs(dated$day - dated$day[1] - 3) <= 5))
  expect_identical(rows("2026-01-01"), which(dated$day == dated$day[1]))
  expect_error(pictured(fit, at = list(dpth = 1)), "depth", class = "kernweave_error_input")
  for (wrong in list(1, list(1), list(depth = 1:2))) {
    expect_error(pictured(fit, at = wrong), "list of single values", class = "kernweave_error_input")
  }
})

test_that("symbols on a map are for the points, which pch = NA leaves out", {
  d <- expand.grid(x = 1:6, y = 1:6)
  fit <- local_reg(d, sin(d$x) + d$y, bandwidth = 1, degree = 0)
  drawn_with <- function(...) {
    file <- tempfile(fileext = ".svg")
    grDevices::svg(file)
    plot(fit, ...)
    grDevices::dev.off()
    sum(nchar(readLines(file)))
  }
  skip_if_not(capabilities("cairo"))
  expect_lt(drawn_with(pch = NA), drawn_with() - 36 * 50)
})

test_that("the ends of a map's colours are those of what is drawn, and a fit of three inputs has a title", {
  fit <- rbf_interpolate(z ~ x + y, corner, lambda = 1e-6)
  surface <- pictured(fit)$layers$surface
  seen <- surface$z[surface$far <= 1]
  if (requireNamespace("ggplot2", quietly = TRUE)) {
    expect_equal(ggplot2::autoplot(fit)$scales$get_scales("fill")$limits, range(seen))
  }
  expect_lt(max(seen), max(surface$z) + 1e-12)
  three <- gp_fit(mag ~ long + lat + depth, quakes[1:40, ], kernel = kernel_spec(scale = 9), variance = 1, nugget = 1)
  expect_identical(pictured(three)$note, "for a map give values of all but two inputs in `at`")
  other <- rbf_interpolate(mag ~ long + lat + depth, quakes[1:40, ], lambda = 1)
  expect_identical(pictured(other)$main, "Observed and fitted values")
})

test_that("the colours of a map are of what is in the frame, or of zlim, and no point is cut", {
  fit <- rbf_interpolate(z ~ x + y, corner, lambda = 0.1)
  shown <- pictured(fit)
  colours <- function(xlim, ...) in_nowhere({
    plot(0, 0, xlim = xlim, ylim = c(0, 1), xaxs = "i")
    kernweave:::colour_ends(kernweave:::with_seen_colours(shown$layers, ...)$surface)
  })
  whole <- kernweave:::colour_ends(shown$layers$surface)
  expect_identical(colours(c(-1, 2)), whole)
  surface <- shown$layers$surface
  left <- surface$z[surface$far <= 1 & surface$x <= 0.21]
  expect_equal(colours(c(0, 0.2)), range(left), tolerance = 0.1)
  expect_lt(diff(colours(c(0, 0.2))), diff(whole))
  expect_identical(colours(c(5, 6)), whole)
  expect_identical(colours(c(0, 1), zlim = c(-3, 3)), c(-3, 3))
  in_nowhere({
    plot(fit)
    expect_true(all(graphics::par("usr")[c(1, 3)] < 0 & graphics::par("usr")[c(2, 4)] > 0.99))
    expect_silent(plot(fit, xlim = c(0, 0.2), zlim = c(0, 1)))
    expect_equal(graphics::par("usr")[3:4], grDevices::extendrange(corner$y, f = 0.015), tolerance = 0.01)
  })
})

test_that("the note of a plot without a map names what a curve or a map needs, and with it there is one", {
  d <- data.frame(a = rep(1:6, 6), b = rep(1:6, each = 6), c = (1:36 %% 7) / 7)
  d$y <- d$a - d$b + sin(1:36)
  plain <- function(formula, trend, variance = NULL) {
    gp_fit(formula, d, trend = trend, variance = variance, kernel = kernel_spec("matern32", scale = 2), nugget = 1)
  }
  line <- plain(y ~ 1, ~ a + b, 0)
  plane <- plain(y ~ a + b, ~ c, 1)
  expect_match(pictured(line)$note, "^for a curve give b in `at`")
  expect_match(pictured(plane)$note, "^for a map give c in `at`")
  expect_match(pictured(plain(y ~ a + b + c, ~ 1, 1))$note, "all but two inputs")
  expect_equal(layer(line, "curve", at = list(b = 2))$y,
               unname(predict(line, data.frame(a = layer(line, "curve", at = list(b = 2))$x, b = 2))))
  expect_no_match(pictured(plane, at = list(c = 0.5))$note %||% "", "in `at`")
  expect_no_match(pictured(plain(y ~ log(a + 1) + b, ~ 1, 1))$note %||% "", "give  in")
})
