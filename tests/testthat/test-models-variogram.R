# Variograms: classes of pairs against their definition and gstat, many rows, pictures, and mistakes that users make.

few <- quakes[seq(1, 1000, by = 5), ]

# Computes a variogram from all pairs at once: classes (a, b], the first with 0.
plain_variogram <- function(x, r, ends, cressie = FALSE) {
  d <- as.vector(stats::dist(x))
  difference <- abs(as.vector(stats::dist(r)))
  bin <- cut(d, ends, include.lowest = TRUE)
  N <- as.vector(table(bin))
  gamma <- if (!cressie) tapply(difference^2, bin, mean) / 2
           else tapply(sqrt(difference), bin, mean)^4 / (0.457 + 0.494 / N) / 2
  data.frame(np = N, dist = as.vector(tapply(d, bin, mean)), gamma = as.vector(gamma))[N > 0, ]
}

expect_same <- function(found, known, tolerance = 1e-13) {
  expect_equal(found$np, known$np)
  expect_lt(max(abs(found$dist / known$dist - 1)[known$dist > 0]), 1e-13)
  expect_lt(max(abs(found$gamma - known$gamma)) / max(known$gamma), tolerance)
}

test_that("semivariances are their definition, by classes that end where they say", {
  found <- variogram(depth ~ long + lat, few, trend = ~ long + lat)
  left <- stats::residuals(stats::lm(depth ~ long + lat, few))
  ends <- c(0, attr(found, "boundaries"))
  expect_length(ends, 16)
  expect_equal(ends[16], sqrt(diff(range(few$long))^2 + diff(range(few$lat))^2) / 3)
  expect_same(found, plain_variogram(few[c("long", "lat")], left, ends), 1e-12)
  expect_named(found, c("np", "dist", "gamma", "dir.hor", "dir.ver", "id"))
  expect_s3_class(found, c("kernweave_variogram", "gstatVariogram", "data.frame"), exact = TRUE)
  robust <- variogram(mag ~ long + lat, few, breaks = c(1, 2, 5), cressie = TRUE)
  expect_same(robust, plain_variogram(few[c("long", "lat")], few$mag, c(0, 1, 2, 5), cressie = TRUE))
  # three inputs, no trend, an offset
  cloud <- variogram(mag ~ long + lat + I(depth / 100), few, trend = ~ 0 + offset(depth / 1000), cutoff = 4, width = 3)
  expect_identical(attr(cloud, "boundaries"), c(3, 4))
  places <- cbind(few$long, few$lat, few$depth / 100)
  expect_same(cloud, plain_variogram(places, few$mag - few$depth / 1000, c(0, 3, 4)))
  expect_identical(variogram(depth ~ long + lat, few, breaks = c(0, 2)), variogram(depth ~ long + lat, few, breaks = 2),
                   ignore_attr = "about")
})

test_that("gstat finds the same pairs, means and directions, and reads what is found", {
  skip_if_not_installed("gstat")
  on_ends <- function(found, trend = depth ~ 1, ..., data = get("few", parent.frame())) {
    gstat::variogram(trend, ~ long + lat, data, boundaries = attr(found, "boundaries"), ...)
  }
  environment(on_ends) <- globalenv()  # as a user calls it: methods are looked for there, and tests are in the package
  found <- variogram(depth ~ long + lat, few)
  expect_same(found, on_ends(found))
  robust <- variogram(depth ~ long + lat, few, cressie = TRUE)
  expect_same(robust, on_ends(robust, cressie = TRUE))
  trended <- variogram(depth ~ long + lat, few, trend = ~ long + lat, cutoff = 6)
  expect_same(trended, on_ends(trended, depth ~ long + lat), 1e-12)
  ways <- c(0, 30, 90, 135)
  along <- variogram(depth ~ long + lat, few, cutoff = 6, alpha = ways, tol.hor = 20)
  theirs <- on_ends(along, alpha = ways, tol.hor = 20)
  expect_same(along, theirs)
  expect_identical(along$dir.hor, theirs$dir.hor)
  halves <- variogram(depth ~ long + lat, few, alpha = c(10, 100))
  expect_same(halves, on_ends(halves, alpha = c(10, 100)))
  expect_equal(sum(halves$np), sum(found$np))
  fit <- gp_fit(depth ~ long + lat, few, variance = 1e4, nugget = 100, kernel = kernel_spec("matern32", scale = 2))
  expect_identical(gstat::variogram(fit, cutoff = 5), variogram(fit, cutoff = 5))
  model <- gstat::fit.variogram(found, gstat::vgm(30000, "Exp", 3, 3000))
  theirs <- gstat::fit.variogram(on_ends(found), gstat::vgm(30000, "Exp", 3, 3000))
  expect_equal(model$psill, theirs$psill, tolerance = 1e-8)
  expect_equal(model$range, theirs$range, tolerance = 1e-8)
})

test_that("twins are at distance 0, constant responses have none, and classes without pairs are left out", {
  twins <- data.frame(a = c(1, 1, 2, 9, 9), b = c(1, 1, 2, 9, 9), y = c(1, 3, 2, 4, 8))
  found <- variogram(y ~ a + b, twins, breaks = c(0.5, 1, 2, 20), alpha = c(0, 45), tol.hor = 10)
  expect_identical(found$np, c(2, 2, 2, 6))
  expect_identical(found$dist[1:2], c(0, 0))
  expect_identical(found$gamma[1:2], c(5, 5))  # of (1 - 3)^2 and (4 - 8)^2, in every direction
  expect_identical(found$dir.hor, c(0, 45, 45, 45))
  level <- variogram(rep(7, 5) ~ a + b, twins, cutoff = 20)
  expect_identical(unique(level$gamma), 0)
  expect_identical(in_nowhere(plot(level)), level)
})

test_that("classes are looked up as a search finds them, whatever their widths", {
  d <- with_local_seed(2, stats::runif(1e5))
  for (ends in list(c(0, 0:7 / 7 + 1e-9), c(0, 1e-7, 1), 0:5000 / 5000, c(0, 1e-130, 3e-130))) {
    most <- max(ends)
    at <- c(d * most, ends, ends * (1 - 2^-53), pmin(ends * (1 + 2^-52), most))
    expect_identical(classes_of(at, ends, class_cells(ends)), findInterval(at, c(-1, ends[-1]), left.open = TRUE))
  }
})

test_that("pairs at the very angle and the very end of a class belong to it", {
  grid <- expand.grid(a = 1:6, b = 1:6)
  grid$y <- sin(grid$a) + cos(2 * grid$b)
  along <- variogram(y ~ a + b, grid, breaks = c(1, 1.5), alpha = c(0, 90, 45), tol.hor = 45)
  expect_identical(along$np, c(30, 50, 30, 50, 60, 25))  # diagonals of both kinds in 0 and 90, of one in 45
  expect_identical(variogram(y ~ a + b, grid, alpha = 20, tol.hor = 90)$np, variogram(y ~ a + b, grid)$np)
  far <- transform(grid, a = 5e6 + 100 * a, b = 3e5 + 100 * b)
  expect_equal(variogram(y ~ a + b, far, trend = ~ a, cutoff = 300)$gamma,
               variogram(y ~ a + b, grid, trend = ~ a, cutoff = 3)$gamma, tolerance = 1e-12)
})

test_that("rows without a value are left out, and rows of a subset are looked for in the data", {
  gaps <- few
  gaps$depth[3] <- NA
  gaps$lat[9] <- NA
  gaps$mag[11] <- NA
  found <- variogram(depth ~ long + lat, gaps, trend = ~ mag)
  expect_equal(found, variogram(depth ~ long + lat, few[-c(3, 9, 11), ], trend = ~ mag), ignore_attr = "about")
  expect_output(print(found), "3 rows with missing values left out")
  expect_error(variogram(depth ~ long + lat, gaps, na.action = na.fail), class = "kernweave_error_data")
  expect_equal(variogram(depth ~ long + lat, few, subset = mag > 4.5),
               variogram(depth ~ long + lat, few[few$mag > 4.5, ]), ignore_attr = "about")
})

test_that("blocks of rows are the whole, and of many rows some tell nearly the same", {
  skip_below("quick")
  set.seed(5)
  x <- data.frame(a = stats::runif(5000), b = stats::runif(5000))
  x$z <- sin(5 * x$a) + x$b + stats::rnorm(5000) / 3
  before <- .Random.seed
  found <- variogram(z ~ a + b, x, cutoff = 0.3)
  expect_same(found, plain_variogram(x[1:2], x$z, c(0, attr(found, "boundaries"))), 1e-12)
  expect_output(print(found), "5,000 points, all pairs")
  some <- variogram(z ~ a + b, x, cutoff = 0.3, pairs = 5e5)
  expect_identical(.Random.seed, before)
  expect_identical(variogram(z ~ a + b, x, cutoff = 0.3, pairs = 5e5), some)
  expect_output(print(some), "pairs among 1,000 of them, half at random, half their nearest\\s+neighbours")
  expect_lt(sum(some$np), 5e5)
  expect_lt(max(abs(some$gamma / found$gamma - 1)), 0.15)
  nearest <- variogram(z ~ a + b, x, breaks = c(0.005, 0.01, 0.3), pairs = 5e5)
  expect_gt(nearest$np[1], 2 * 499500 * pi * 0.005^2)  # twice what rows at random have
})

test_that("a fit's residuals are those of its trend, and its curve is that of its covariance", {
  spec <- kernel_spec("matern32", scale = 2)
  fit <- gp_fit(depth ~ long + lat, few, trend = ~ long, kernel = spec, variance = 3e4, nugget = 2000)
  found <- variogram(fit, cutoff = 6)
  expect_equal(found, variogram(depth ~ long + lat, few, trend = ~ long, cutoff = 6), ignore_attr = "about")
  curve <- layer(found, "curve")
  h <- curve$x / 2
  k <- as.vector(as.matrix(spec(cbind(curve$x, 0), matrix(0, 1, 2))))
  expect_equal(curve$y, 2000 + 3e4 * (1 - k))
  expect_identical(layer(found, "across")$y, 2000)
  expect_identical(layer(found, "upright")$x, 2)
  expect_null(layer(variogram(fit, cutoff = 1), "upright"))
  expect_output(print(found), "trend ~ long\n  200 points, all pairs\n  fitted: variance 30000, scale 2, nugget 2000")
  # rows of weight 0 are in no pair, and matrices have the numbers of formulas
  light <- update(fit, weights = rep(0:1, c(50, 150)))
  expect_equal(variogram(light, cutoff = 6), variogram(update(fit, data = few[51:200, ]), cutoff = 6),
               ignore_attr = "about")
  bare <- gp_fit(few[c("long", "lat")], few$depth, trend = ~ long, kernel = spec, variance = 3e4, nugget = 2000)
  expect_equal(variogram(bare, cutoff = 6), found, ignore_attr = "about")
  expect_output(print(variogram(bare)), "Variogram, trend ~ long")
})

test_that("scales of their own have a curve for each direction, and kernels of places none", {
  two <- kernel_spec("gaussian", scale = c(1, 3), ard = TRUE)
  fit <- gp_fit(depth ~ long + lat, few, kernel = two, variance = 3e4, nugget = 2000)
  curve <- layer(variogram(fit), "curve")
  expect_identical(levels(curve$group), c("long", "lat"))
  turned <- layer(variogram(fit, alpha = c(0, 90, 45)), "curve")
  expect_identical(levels(turned$group), c("0", "90", "45"))
  expect_equal(turned$y[turned$group == "0"], curve$y[curve$group == "lat"])
  expect_equal(turned$y[turned$group == "90"], curve$y[curve$group == "long"])
  h <- turned$x[turned$group == "45"]
  expect_equal(turned$y[turned$group == "45"], 2000 + 3e4 * (1 - exp(-h^2 / 4 * (1 + 1 / 9))))
  line <- gp_fit(few$long, few$depth, kernel = kernel_spec("linear", scale = 1), variance = 1, nugget = 1e4)
  expect_null(layer(variogram(line), "curve"))
  expect_output(print(variogram(line)), "no curve, as the kernel depends on\\s+places")
  expect_error(lines(variogram(line)), class = "kernweave_error_unsupported")
})

test_that("pictures are drawn by both systems, with the curves of fits", {
  fit <- gp_fit(depth ~ long + lat, few, variance = 3e4, nugget = 200, kernel = kernel_spec("matern32", scale = 2))
  found <- variogram(fit, alpha = c(0, 90))
  expect_identical(layer(found, "points")$size, found$np)
  in_nowhere({
    expect_identical(plot(found, col = "red", main = "two ways"), found)
    expect_identical(lines(found, lty = 2), found)
    plot(variogram(depth ~ long + lat, few))
    expect_identical(lines(fit, col = "blue"), fit)
    curve <- gp_fit(mag ~ long, few, variance = 1, nugget = 1, kernel = kernel_spec("matern32", scale = 2))
    expect_identical(lines(curve), curve)
    expect_identical(lines(curve, "variogram"), curve)
    expect_error(lines(fit, "fit"), "fits of one input", class = "kernweave_error_unsupported")
    expect_error(lines(variogram(depth ~ long + lat, few)), "has none", class = "kernweave_error_unsupported")
  })
  expect_identical(nrow(found[1:3, ]), 3L)
  expect_output(print(found[1:3, ], digits = 2), "np +dist +gamma +dir.hor *\n")
  expect_output(print(variogram(fit)), "np +dist +gamma *\n")
  skip_if_not_installed("generics")
  tidied <- generics::tidy(found)
  expect_false(inherits(tidied, "kernweave_variogram"))
  expect_identical(tidied$gamma, found$gamma)
  skip_if_not_installed("ggplot2")
  drawn <- ggplot2::autoplot(found)
  expect_identical(drawn$labels$size, "pairs")
  expect_identical(nrow(ggplot2::layer_data(drawn, 2)), nrow(found))
})

test_that("mistakes are errors that say what to do", {
  of <- function(...) variogram(depth ~ long + lat, few, ...)
  expect_error(variogram(depth ~ 1, ~ long + lat, few), "gstat::variogram\\(\\)", class = "kernweave_error_input")
  expect_error(variogram(depth ~ 1, locations = ~ long + lat, data = few), "`locations`.*gstat::variogram\\(\\)",
               class = "kernweave_error_input")
  expect_error(variogram(depth ~ 1, few), "no inputs; gstat::variogram\\(\\)", class = "kernweave_error_input")
  expect_error(of(boundaries = 1:3), "or `breaks`", class = "kernweave_error_input")
  expect_error(variogram(structure(list(), class = "gstat")), "gstat::variogram", class = "kernweave_error_input")
  expect_error(variogram(few), "a formula, not", class = "kernweave_error_input")
  expect_error(of(cutoffs = 3), "did you mean `cutoff`", class = "kernweave_error_input")
  for (wrong in list(-1, 0, Inf, NA, "a", 1:2)) expect_error(of(cutoff = wrong), class = "kernweave_error_value")
  expect_error(of(cutoff = 2, width = 3), "`width` must be between", class = "kernweave_error_value")
  expect_error(of(width = 1e-9), class = "kernweave_error_value")
  expect_error(of(breaks = 1:3, cutoff = 3), class = "kernweave_error_input")
  for (wrong in list(c(2, 1), c(1, 1), -1:3, NA_real_, 0, numeric())) {
    expect_error(of(breaks = wrong), class = "kernweave_error_value")
  }
  expect_error(of(breaks = "all"), class = "kernweave_error_input")
  expect_error(of(alpha = "north"), class = "kernweave_error_value")
  expect_error(of(alpha = 0, tol.hor = 91), class = "kernweave_error_value")
  expect_error(of(tol.hor = 20), "no direction", class = "kernweave_error_input")
  expect_error(variogram(depth ~ long, few, alpha = 0), "two inputs", class = "kernweave_error_shape")
  expect_error(of(cressie = NA), class = "kernweave_error_input")
  expect_error(of(pairs = 0), class = "kernweave_error_value")
  expect_error(of(cutoff = 1e-9), "no two rows", class = "kernweave_error_data")
  expect_error(variogram(cbind(depth, mag) ~ long + lat, few), "one response", class = "kernweave_error_unsupported")
  expect_error(variogram(letters[1:4] ~ c(1:4)), class = "kernweave_error_input")
  expect_error(variogram(depth ~ long + lat, few[1, ]), class = "kernweave_error_data")
  expect_error(variogram(depth ~ long + lat, few[c(1, 1, 1), ]), "constant", class = "kernweave_error_data")
  expect_error(of(trend = ~ Depth), class = "kernweave_error_input")
})

test_that("the distance of a fit says what it is of", {
  d <- transform(quakes[1:60, ], day = 5 * sin(1:60))
  label <- function(kernel) {
    shown <- variogram(suppressMessages(gp_fit(depth ~ long + lat + day, d, kernel = kernel, variance = 1, nugget = 1)))
    list(axis = kernweave:::plot_data(shown)$xlab, print = paste(utils::capture.output(print(shown)), collapse = " "))
  }
  of <- function(scale, ...) kernel_spec("matern12", scale = scale, ...)
  for (kernel in list(of(2, of = c("long", "lat")) * of(1, of = "day"), of(2) + of(1, of = "day"),
                      kernel_spec("gneiting", scale = 2, time = list(scale = 1, alpha = 1, beta = 1),
                                  of = c("long", "lat", "day")))) {
    mixed <- label(kernel)
    expect_match(mixed$axis, "distance of long, lat and day together, each in its unit", fixed = TRUE)
    expect_match(mixed$print, "distances are of long, lat and day together", fixed = TRUE)
  }
  expect_identical(label(of(2))$axis, "distance")
  expect_no_match(label(of(2))$print, "together")
  on_earth <- gp_fit(depth ~ long + lat, d, kernel = of(500, metric = "chordal"), variance = 1, nugget = 1)
  expect_identical(kernweave:::plot_data(variogram(on_earth))$xlab, "distance, km")
})

test_that("inputs of several units are named, curves do not hide points, and equal curves are one", {
  d <- transform(quakes[1:60, ], day = 365 * sin(1:60))
  of_formula <- variogram(depth ~ long + lat + day, d)
  expect_match(kernweave:::plot_data(of_formula)$xlab, "long, lat and day together")
  expect_identical(kernweave:::plot_data(variogram(depth ~ long + lat, d))$xlab, "distance")
  kernel <- kernel_spec("matern32", scale = c(3, 3, 90))
  fit <- gp_fit(depth ~ long + lat + day, d, kernel = kernel, variance = 1e7, nugget = 1)
  found <- variogram(fit)
  expect_output(print(found), "each in its unit")
  seen <- kernweave:::plot_data(found)
  expect_identical(levels(seen$layers$curve$group), c("long, lat", "day"))
  expect_lte(max(seen$layers$curve$y, na.rm = TRUE), 2 * max(found$gamma))
  expect_identical(as.character(seen$layers$upright$group), c("long, lat", "long, lat", "day"))
  expect_identical(seen$glab, "curve along")
  in_nowhere(plot(found))
  skip_if_not_installed("ggplot2")
  drawn <- ggplot2::autoplot(found)
  expect_setequal(ggplot2::layer_data(drawn, 3)$colour, kernweave:::distinct_colours(2))
})
