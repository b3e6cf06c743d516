# Means over blocks, against dense formulas and gstat's block kriging.

shakes <- quakes[1:400, ]
shakes <- shakes[!duplicated(shakes[c("long", "lat")]), ]
fit_of <- function(..., formula = depth ~ long + lat) {
  gp_fit(formula, shakes, kernel = kernel_spec("matern32", scale = 2.67), variance = 39000, nugget = 3800, ...)
}
middle <- data.frame(long = 181, lat = -20)
sixteen <- as.matrix(expand.grid(seq(-0.375, 0.375, 0.25), seq(-0.375, 0.375, 0.25)))
numbers <- function(fit, ...) {
  found <- predict(fit, ..., se.fit = TRUE)
  unname(c(found$fit, found$se.fit^2))
}

test_that("means over blocks are those of gstat, from all observations and from the nearest", {
  fit <- fit_of()
  expect_equal(numbers(fit, middle, block = c(1, 1)), c(575.2720, 430.959), tolerance = 1e-6)
  expect_equal(numbers(fit, middle, block = sixteen), c(575.555, 440.357), tolerance = 1e-6)
  skip_without_peer("gstat")
  skip_without_peer("sf")
  model <- gstat::vgm(39000, "Mat", 2.67 / sqrt(3), 3800, kappa = 1.5)
  sides <- list(all = Inf, near = 40)
  for (nmax in sides) for (block in list(c(1, 1), sixteen)) {
    theirs <- gstat::krige(depth ~ 1, sf::st_as_sf(shakes, coords = c("long", "lat")),
                           sf::st_as_sf(middle, coords = c("long", "lat")), model, nmax = nmax, block = block,
                           debug.level = 0)
    ours <- if (is.finite(nmax)) numbers(fit, middle, block = block, method = "local", neighbours = nmax)
            else numbers(fit, middle, block = block)
    expect_equal(ours, c(theirs$var1.pred, theirs$var1.var), tolerance = 1e-6)
  }
})

test_that("blocks average what predict() has at their nodes, with the trend, by iteration and by neighbours", {
  fit <- fit_of(trend = ~ long + I(lat^2))
  at <- data.frame(long = c(181, NA, 183), lat = c(-20, 1, -25))
  nodes <- data.frame(long = 181 + sixteen[, 1], lat = -20 + sixteen[, 2])
  found <- predict(fit, at, block = sixteen, se.fit = TRUE)
  expect_equal(found$fit[[1]], mean(predict(fit, nodes)), tolerance = 1e-10)
  expect_identical(is.na(found$se.fit), c(FALSE, TRUE, FALSE), ignore_attr = TRUE)
  expect_equal(predict(fit, at, block = sixteen, type = "trend")[[1]], mean(predict(fit, nodes, type = "trend")))
  draws <- colMeans(as.matrix(simulate(fit, 4000, newdata = nodes, seed = 1)))
  expect_equal(sd(draws), found$se.fit[[1]], tolerance = 0.06)
  tiny <- predict(fit, at, block = c(1e-7, 1e-7), se.fit = TRUE)
  expect_equal(tiny$se.fit, predict(fit, at, se.fit = TRUE)$se.fit, tolerance = 1e-6)
  iterated <- fit_of(trend = ~ long + I(lat^2), control = fit_control(dense_n = 0))
  expect_equal(predict(iterated, at, block = c(1, 2), se.fit = TRUE)[1:2],
               predict(fit, at, block = c(1, 2), se.fit = TRUE)[1:2], tolerance = 1e-4)
  local <- predict(fit, at, block = c(1, 2), method = "local", neighbours = nrow(shakes), se.fit = TRUE)
  expect_equal(local[1:2], predict(fit, at, block = c(1, 2), se.fit = TRUE)[1:2], tolerance = 1e-7)
  approximated <- fit_of(trend = ~ long + I(lat^2), control = fit_control(dense_n = 0, approximate = TRUE))
  some <- suppressMessages(predict(approximated, at, block = c(1, 2), se.fit = TRUE))
  expect_equal(some[1:2], predict(fit, at, block = c(1, 2), se.fit = TRUE)[1:2], tolerance = 0.02)
  ends <- predict(fit, at, block = c(1, 2), interval = "confidence")
  expect_identical(colnames(ends), c("fit", "lwr", "upr"))
})

test_that("inputs may be a matrix, one or three, or places on a sphere", {
  x <- as.matrix(shakes[c("long", "lat")])
  kernel <- kernel_spec("matern32", scale = 2.67)
  of_matrix <- gp_fit(x, shakes$depth, kernel = kernel, variance = 39000, nugget = 3800)
  expect_equal(predict(of_matrix, cbind(181, -20), block = c(1, 1)), predict(fit_of(), middle, block = c(1, 1)))
  line <- gp_fit(dist ~ speed, cars, kernel = kernel, variance = 500, nugget = 200)
  fine <- 10 + ((1:1000) - 0.5) / 500
  expect_equal(predict(line, data.frame(speed = 11), block = 2)[[1]], mean(predict(line, data.frame(speed = fine))),
               tolerance = 1e-4)
  on_sphere <- gp_fit(depth ~ long + lat, shakes, kernel = kernel_spec("matern32", scale = 290, metric = "chordal"),
                      variance = 39000, nugget = 3800)
  nodes <- data.frame(long = 181 + sixteen[, 1], lat = -20 + sixteen[, 2])
  expect_equal(predict(on_sphere, middle, block = sixteen)[[1]], mean(predict(on_sphere, nodes)), tolerance = 1e-10)
  skip_without_peer("sf")
  places <- sf::st_as_sf(shakes, coords = c("long", "lat"), crs = 4326)
  of_sf <- update(on_sphere, x = depth ~ geometry, data = places)
  at <- sf::st_as_sf(middle, coords = c("long", "lat"), crs = 4326)
  expect_equal(numbers(of_sf, at, block = c(1, 1)), numbers(on_sphere, middle, block = c(1, 1)), tolerance = 1e-9)
  corners <- cbind(c(180.5, 181.5, 181.5, 180.5, 180.5), c(-20.5, -20.5, -19.5, -19.5, -20.5))
  square <- sf::st_sf(size = 2, geometry = sf::st_sfc(sf::st_polygon(list(corners)), crs = 4326))
  expect_equal(numbers(of_sf, block = list(polygons = square)), numbers(of_sf, at, block = c(1, 1)), tolerance = 0.01)
  sf::st_crs(square) <- NA
  expect_equal(numbers(fit_of(), block = list(polygons = square)), c(575.2720, 430.959), tolerance = 0.01)
  expect_error(predict(of_sf, block = list(polygons = square)), "EPSG:4326", class = "kernweave_error_data")
  disc <- sf::st_sf(geometry = sf::st_buffer(sf::st_sfc(sf::st_point(c(181, -20))), 1, nQuadSegs = 90))
  fine <- as.matrix(expand.grid(seq(-1, 1, 0.04), seq(-1, 1, 0.04)))
  fine <- fine[rowSums(fine^2) < 1, ]
  expect_equal(numbers(fit_of(), block = list(polygons = disc)), numbers(fit_of(), middle, block = fine),
               tolerance = 0.003)
})

test_that("slips with blocks are named", {
  fit <- fit_of()
  error <- function(code, says, class = "input") {
    expect_error(code, says, fixed = TRUE, class = paste0("kernweave_error_", class))
  }
  error(predict(fit, block = c(1, 1)), "`block` needs `newdata`")
  error(predict(fit, middle, block = 1:3), "2 numbers, one for each input, not 3", "shape")
  error(predict(fit, middle, block = cbind(1, 2, 3)), "2 columns", "shape")
  error(predict(fit, middle, block = c(-1, 1)), "positive lengths", "value")
  error(predict(fit, middle, block = "a"), "positive lengths", "value")
  error(predict(fit, middle, block = list(1)), "list(polygons = )")
  error(predict(fit, middle, block = c(1, 1), interval = "prediction"), "no noise to predict")
  of_factor <- fit_of(formula = depth ~ long + lat + factor(mag > 5))
  error(predict(of_factor, shakes[1, ], block = c(1, 1, 1)), "inputs that are numbers", "unsupported")
})

test_that("sides of a block are matched by name, and one is that of all", {
  fit <- fit_of()
  wide <- predict(fit, middle, block = c(4, 1))
  expect_identical(predict(fit, middle, block = c(lat = 1, long = 4)), wide)
  corners <- expand.grid(lat = c(-1, 1), long = c(-2, 0, 2))
  expect_identical(predict(fit, middle, block = corners), predict(fit, middle, block = unname(as.matrix(corners[2:1]))))
  expect_identical(predict(fit, middle, block = 2), predict(fit, middle, block = c(2, 2)))
  error <- function(block, says, class = "input") {
    expect_error(predict(fit, middle, block = block), says, fixed = TRUE, class = paste0("kernweave_error_", class))
  }
  error(c(long = 1, latt = 2), "a side `latt`")
  error(c(x = 1, y = 2), "no side `long`")
  error(c(long = 1), "2 numbers", "shape")
  skip_without_peer("sf")
  square <- sf::st_buffer(sf::st_sfc(sf::st_point(c(181, -20))), 1)
  for (one in list(square, sf::st_sf(geometry = square))) {
    expect_error(predict(fit, block = one), "block = list(polygons = block)", fixed = TRUE)
  }
})
