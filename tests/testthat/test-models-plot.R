# Pictures of fits and tests hold the numbers that they should, and both kinds of graphics draw them.

flowers <- as.matrix(iris[, 1:4])
long <- flowers[, 3:4]

# One of each class, and of each number of dimensions that is drawn differently.
all_pictures <- function() {
  skip_if_not_installed("MASS")
  set.seed(1)
  crash <- MASS::mcycle
  houses <- kernel_ridge(medv ~ rm + lstat + zn, MASS::Boston[1:80, ])
  groups <- kmeans_fit(flowers, flowers[c(1, 51, 101), ])
  list(
    density = kde_fit(~ eruptions, faithful), densities = kde_fit(faithful),
    line = local_reg(accel ~ times, crash, bandwidth = 2),
    plane = local_reg(mpg ~ wt + hp, mtcars, bandwidth = c(1, 50)),
    beyond = local_reg(mpg ~ wt + hp + qsec, mtcars, bandwidth = c(1, 50, 2)),
    smooth = rbf_interpolate(dist ~ speed, cars, lambda = 5),
    plate = rbf_interpolate(depth ~ long + lat, quakes[1:60, ], lambda = 1),
    cube = rbf_interpolate(Sepal.Length ~ ., iris[1:60, 1:4], "energy", degree = 0, lambda = 1),
    process = gp_fit(accel ~ times, crash, kernel = kernel_spec("matern52", 6.4), variance = 1900, nugget = 510),
    field = gp_fit(depth ~ long + lat, quakes[1:60, ], kernel = kernel_spec("matern32", 2.7), variance = 39000,
                   nugget = 3800),
    ridge = houses, effects = marginal_effects(houses), components = kpca_fit(flowers, 2),
    component = kpca_fit(flowers, 1), clusters = groups, widths = silhouette_widths(flowers, groups),
    permuted = energy_test(cbind(mpg, wt) ~ am, mtcars, R = 49),
    moments = hsic_test(mtcars$mpg, mtcars$wt, null = "moments"),
    signs = ksd_test(as.vector(scale(trees$Volume)), function(x) -x, R = 49),
    design = permanova(cbind(mpg, wt) ~ am + gear, mtcars, R = 49),
    near = knn(long, k = 3), within = radius_nn(long, radius = 0.2),
    map = sinkhorn(long[1:20, ], long[51:75, ], epsilon = 0.5), shift = sinkhorn(1:5, 2:7, epsilon = 0.5),
    middle = sinkhorn_barycentre(list(a = flowers[1:9, ], b = flowers[60:69, ]), epsilon = 2, tol = 0.1),
    middles = sinkhorn_barycentre(list(1:5, 2:7), epsilon = 1)
  )
}

test_that("every fit and every test is drawn, and is returned", {
  skip_below("quick")
  in_nowhere({
    pictures <- all_pictures()
    for (name in names(pictures)) {
      shown <- withVisible(plot(pictures[[name]]))
      expect_false(shown$visible, label = name)
      expect_identical(shown$value, pictures[[name]], label = name)
    }
  })
})

test_that("neighbours are drawn in order: distances to the last one, or how many there are", {
  distances <- as.matrix(stats::dist(long))
  diag(distances) <- Inf
  last <- apply(distances, 1, function(d) sort(d)[3])
  expect_equal(layer(knn(long, k = 3), "curve"), data.frame(x = 1:150, y = unname(sort(last))))
  counts <- rowSums(distances < 0.25)
  expect_equal(layer(radius_nn(long, radius = 0.25), "curve"), data.frame(x = 1:150, y = unname(sort(counts))))
  found <- knn(long, k = 3)
  expect_identical(summary(found), found)
})

test_that("autoplot() draws the same by ggplot2", {
  skip_below("quick")
  skip_if_not_installed("ggplot2")
  in_nowhere({
    pictures <- all_pictures()
    for (name in names(pictures)) {
      drawn <- ggplot2::autoplot(pictures[[name]])
      expect_s3_class(drawn, "ggplot")
      expect_silent(built <- ggplot2::ggplot_build(drawn))
      layers <- pictured(pictures[[name]])$layers
      expect_length(built$data, length(layers))
      for (k in seq_along(layers)) {
        expect_identical(nrow(built$data[[k]]) > 0, nrow(layers[[k]]) > 0, label = paste(name, names(layers)[k]))
      }
    }
    drawn <- ggplot2::autoplot(pictures$ridge, which = "gcv")
    expect_silent(built <- ggplot2::ggplot_build(drawn))
    expect_equal(built$data[[1]]$y, log10(pictures$ridge$gcv$criterion))
    expect_identical(built$plot$labels$x, "lambda")
  })
})

test_that("a density is drawn on a grid, with contours that hold so much of the points", {
  fit <- kde_fit(faithful$eruptions, bandwidth = 0.3)
  curve <- layer(fit, "curve", n = 50)
  expect_equal(curve$y, vapply(curve$x, function(at) mean(dnorm(at, faithful$eruptions, 0.3)), 0))
  expect_equal(range(curve$x), range(faithful$eruptions) + c(-0.9, 0.9))
  both <- kde_fit(faithful, bandwidth = c(0.3, 5))
  contours <- layer(both, "contours", mass = c(0.5, 0.9), n = 7)
  at <- function(x, y) mean(dnorm(x, faithful$eruptions, 0.3) * dnorm(y, faithful$waiting, 5))
  expect_equal(contours$z, mapply(at, contours$x, contours$y))
  own <- mapply(at, faithful$eruptions, faithful$waiting)
  expect_equal(attr(contours, "levels"), unname(quantile(own, c(0.5, 0.1))))
  expect_identical(attr(contours, "labels"), c("50 %", "90 %"))
})

test_that("curves and surfaces are predictions, with intervals", {
  skip_if_not_installed("MASS")
  fit <- local_reg(accel ~ times, MASS::mcycle, bandwidth = 2)
  drawn <- pictured(fit, n = 20, level = 0.9)
  expected <- predict(fit, data.frame(times = drawn$layers$curve$x), interval = "confidence", level = 0.9)
  expect_equal(drawn$layers$curve$y, unname(expected[, "fit"]))
  expect_equal(as.matrix(drawn$layers$band[, 2:3]), expected[, 2:3], ignore_attr = TRUE)
  expect_identical(drawn[c("xlab", "ylab")], list(xlab = "times", ylab = "accel"))
  for (fit in list(local_reg(depth ~ long + lat, quakes[1:60, ], bandwidth = 3),
                   rbf_interpolate(depth ~ long + lat, quakes[1:60, ], lambda = 1))) {
    surface <- layer(fit, "surface", n = 6)
    expect_identical(nrow(surface), 36L)
    expect_equal(surface$z, unname(predict(fit, data.frame(long = surface$x, lat = surface$y))))
    expect_equal(range(surface$y), range(quakes$lat[1:60]))
  }
  beyond <- local_reg(mpg ~ wt + hp + qsec, mtcars, bandwidth = c(1, 50, 2))
  expect_equal(layer(beyond, "points"), data.frame(x = unname(fitted(beyond)), y = mtcars$mpg))
})

test_that("a ridge regression shows residuals, its criterion, or effects", {
  skip_if_not_installed("MASS")
  fit <- kernel_ridge(medv ~ rm + lstat, MASS::Boston[1:80, ])
  expect_equal(layer(fit, "points"), data.frame(x = unname(fitted(fit)), y = unname(residuals(fit))))
  expect_equal(layer(fit, "curve", "gcv"), data.frame(x = fit$gcv$lambda, y = fit$gcv$criterion))
  effects <- marginal_effects(fit)
  drawn <- pictured(fit, "effects")
  widths <- vapply(MASS::Boston[1:80, rownames(effects)], stats::sd, 0)
  expect_equal(drawn$layers$intervals[, c("x", "xend")], data.frame(effects$conf.low, effects$conf.high) * widths,
               ignore_attr = TRUE)
  expect_identical(drawn$ticks$y[drawn$layers$estimates$y], rownames(effects))
  expect_null(layer(marginal_effects(fit, se.fit = FALSE), "intervals"))
})

test_that("the bins of replicates hold all of them, and the curve has their moments", {
  set.seed(1)
  found <- energy_test(cbind(mpg, wt) ~ am, mtcars, R = 199)
  bins <- layer(found, "boxes")
  expect_equal(sum((bins$xmax - bins$xmin) * bins$ymax), 1)
  expect_lte(min(bins$xmin), min(found$replicates))
  expect_identical(layer(found, "upright")$x, unname(found$statistic))
  curve <- layer(energy_test(cbind(mpg, wt) ~ vs, mtcars, null = "moments"), "curve")
  expect_true(all(curve$y > 0, na.rm = TRUE))
})

test_that("bars, scores and arrows are those of the object", {
  table <- permanova(cbind(mpg, wt) ~ am + gear, mtcars, R = 9)
  drawn <- pictured(table)
  expect_identical(drawn$layers$boxes$ymax, table$R2[1:3])
  expect_identical(drawn$ticks$x, c("am", "gear", "Residual"))
  fit <- kpca_fit(flowers, 3)
  expect_equal(layer(fit, "points", c(3, 1)), data.frame(x = unname(fit$scores[, 3]), y = unname(fit$scores[, 1])))
  moved <- sinkhorn(long[1:20, ], long[51:75, ], epsilon = 0.5)
  arrows <- layer(moved, "arrows")
  expect_equal(as.matrix(arrows[c("xend", "yend")]), unname(predict(moved)), ignore_attr = TRUE)
  expect_equal(table(layer(moved, "points")$group), table(rep(c("x", "y"), c(20, 25))), ignore_attr = TRUE)
  expect_identical(nrow(layer(moved, "arrows", most = 7)), 7L)
})

test_that("clusters are drawn in their columns, or in principal components", {
  two <- kmeans_fit(long, long[c(1, 51, 101), ])
  expect_equal(layer(two, "points", long)[c("x", "y")], as.data.frame(unname(long)), ignore_attr = TRUE)
  expect_equal(layer(two, "centres", long), as.data.frame(two$centers), ignore_attr = TRUE)
  expect_equal(layer(two, "points"), layer(two, "points", long))
  four <- kmeans_fit(flowers, flowers[c(1, 51, 101), ])
  drawn <- layer(four, "points", flowers)
  expect_equal(abs(as.matrix(drawn[, 1:2])), abs(prcomp(flowers)$x[, 1:2]), ignore_attr = TRUE)
  expect_identical(as.integer(drawn$group), unname(four$cluster))
  expect_equal(layer(kmeans_fit(1:6, matrix(c(1, 6))), "points", 1:6)$y, rep(1:2, each = 3))
  expect_error(pictured(two, long[1:9, ]), "9 x 2", class = "kernweave_error_shape")
  widths <- silhouette_widths(flowers, iris$Species)
  bars <- layer(widths, "boxes")
  expect_identical(levels(bars$group), levels(iris$Species))
  expect_equal(sort(bars$ymax), sort(unname(widths[, "sil_width"])))
  texts <- pictured(silhouette_widths(long, rep(c("low", "high", "mid"), each = 50)))$ticks$x
  expect_identical(sub("\n.*", "", texts[nzchar(texts)]), c("high", "low", "mid"))
})

test_that("maps have a key of their colours, which moves nothing", {
  skip_below("quick")
  skip_if_not_installed("ggplot2")
  volcanic <- expand.grid(east = 1:12, north = 1:9)
  volcanic$height <- as.vector(datasets::volcano[5 * 1:12, 5 * 1:9])
  plate <- rbf_interpolate(height ~ east + north, volcanic, lambda = 0.1)
  process <- gp_fit(height ~ east + north, volcanic, kernel = kernel_spec("matern32", 4), variance = 500, nugget = 5)
  expect_identical(pictured(plate)$zlab, "height")
  expect_identical(pictured(process, which = "se", n = 5)$zlab, "standard error")
  expect_identical(ggplot2::autoplot(plate)$labels$fill, "height")
  in_nowhere({
    for (right in c(0.5, 2.1, 5)) {
      old <- graphics::par(mfrow = c(2, 2), mar = c(4, 4, 3, right))
      before <- graphics::par("mar")
      plot(plate, n = 10, asp = NA)
      expect_equal(graphics::par("usr"), c(1, 12, 1, 9) + 0.015 * c(-11, 11, -8, 8))
      expect_identical(graphics::par("mar"), before)
      plot(process, n = 10, asp = NA, col = grDevices::topo.colors(7))
      expect_identical(graphics::par("mfg"), c(1L, 2L, 2L, 2L))
      graphics::par(old)
    }
  })
  coarse <- kernweave:::grid_matrix(layer(plate, "surface", n = 5))
  fine <- kernweave:::finer_grid(coarse, 41)
  expect_equal(fine$z[seq(1, 41, 10), seq(1, 41, 10)], coarse$z)
  expect_equal(fine$z[6, 1], mean(coarse$z[1:2, 1]))
})

test_that("effects are drawn in one unit, and titles in the width that there is", {
  fit <- kernel_ridge(mpg ~ wt + disp + am, mtcars, lambda = 1)
  effects <- marginal_effects(fit)
  drawn <- layer(effects, "estimates")
  expect_equal(drawn$x, effects$estimate * c(sd(mtcars$wt), sd(mtcars$disp), 1))  # am is a contrast
  expect_equal(layer(effects, "intervals")$xend, effects$conf.high * c(sd(mtcars$wt), sd(mtcars$disp), 1))
  in_nowhere({
    graphics::par(mfrow = c(3, 3))
    fitting_title <- kernweave:::fitting_title
    title <- fitting_title("A test of equal distributions of some variables, with 999 permutations")
    expect_gt(length(strsplit(title, "\n")[[1]]), 1)
    expect_identical(fitting_title("short"), "short")
    expect_identical(fitting_title(quote(x^2)), quote(x^2))
  })
})

test_that("colours and symbols are for points, texts and ranges for the frame", {
  in_nowhere({
    fit <- kpca_fit(flowers, 2)
    expect_silent(plot(fit, col = iris$Species, pch = 3, main = "flowers", xlab = "first", xlim = c(-1, 1), asp = 1))
    expect_silent(plot(rbf_interpolate(depth ~ long + lat, quakes[1:60, ], lambda = 1), col = gray.colors(9)))
    plot(fit, xlim = c(-5, 5), xaxs = "i")
    expect_equal(par("usr")[1:2], c(-5, 5))
  })
  for (responses in list(local_reg(cbind(mpg, wt) ~ hp, mtcars, bandwidth = 50),
                         rbf_interpolate(cbind(mpg, wt) ~ hp, mtcars, lambda = 1))) {
    expect_error(plot(responses), "one response", class = "kernweave_error_unsupported")
  }
})

test_that("lines() adds the curve of any fit of one input, and refuses others", {
  skip_below("quick")
  drawn <- function(fit) {
    in_nowhere({
      plot(1:2)
      expect_identical(lines(fit, col = "red"), fit)
    })
    kernweave:::fitted_curve(fit)
  }
  ridge <- kernel_ridge(dist ~ speed, cars, lambda = 1)
  at <- drawn(ridge)
  expect_equal(at$y, predict(ridge, data.frame(speed = at$x)))
  process <- gp_fit(dist ~ speed, cars, kernel = kernel_spec("matern52", 5), variance = 400, nugget = 200)
  for (fit in list(local_reg(dist ~ speed, cars, bandwidth = 2), rbf_interpolate(dist ~ speed, cars, lambda = 5),
                   process)) {
    at <- drawn(fit)
    expect_equal(at$y, as.vector(predict(fit, data.frame(speed = at$x))), tolerance = 1e-8)
  }
  at <- drawn(kde_fit(~ speed, cars))
  expect_equal(sum(at$y) * diff(at$x[1:2]), 1, tolerance = 1e-3)
  expect_error(lines(kde_fit(faithful)), "fits of one input; this has 2", class = "kernweave_error_unsupported")
  expect_error(lines(kpca_fit(cars$speed, 1)), "kpca_fit", class = "kernweave_error_unsupported")
  expect_equal(layer(ridge, "points", "curve"), data.frame(x = cars$speed, y = cars$dist))
  expect_error(plot(kernel_ridge(mpg ~ wt + hp, mtcars, lambda = 1), which = "curve"), "of one input",
               class = "kernweave_error_unsupported")
})

test_that("a key above the frame has few groups, and labels of the second axis are not cut", {
  group <- function(n) data.frame(x = 1:24, y = 1:24, group = gl(n, 24 / n))
  shown <- function(n, ...) kernweave:::picture("x", "y", points = group(n), glab = "cluster", ...)
  key <- function(picture) in_nowhere({
    kernweave:::draw_picture(picture)
    kernweave:::group_key(picture)
  })
  expect_identical(key(shown(3)), c("cluster:", "1", "2", "3"))
  expect_identical(key(shown(2, beside = data.frame(label = "noise", pch = 20, lty = NA, col = "grey")))[4], "noise")
  expect_null(key(shown(24)))
  expect_null(key(kernweave:::picture("x", "y", points = group(3))))
  in_nowhere({
    plot(1)
    expect_identical(kernweave:::fitting_size("a"), 1)
    expect_identical(kernweave:::key_marks(c(0, 1)), seq(0, 1, by = 0.2))
    long <- strrep("m", 8)
    expect_lte(graphics::strwidth(long, "inches", cex = kernweave:::fitting_size(long)), graphics::par("mai")[2])
    graphics::par(mfrow = c(4, 4), mar = c(2, 2, 1, 1))
    plot(1)
    at <- kernweave:::key_marks(c(0, 123456))
    expect_lt(sum(graphics::strwidth(format(at), "inches", cex = 0.7)), 1.1 * graphics::par("pin")[2])
  })
})

test_that("a constant map says its number, and a map of two classes of which class it is the probability", {
  d <- data.frame(expand.grid(x = 1:5, y = 1:5), z = rep(c(3, 5, 4, 4, 4), 5))
  flat <- gp_fit(z ~ x + y, d, kernel = kernel_spec(scale = 1e-3), variance = 0)
  expect_identical(pictured(flat)$main, "Fitted z: constant, 4")
  expect_null(layer(flat, "contours"))
  in_nowhere(expect_silent(plot(flat)))
  d$class <- factor(rep(c("no", "yes"), length.out = 25))
  for (given in list(d$class, d$class == "yes", as.numeric(d$class) - 1)) {
    d$z <- given
    fit <- gp_fit(z ~ x + y, d, kernel = kernel_spec(scale = 1), variance = 1, family = binomial)
    shown <- pictured(fit)
    second <- as.character(sort(unique(given))[2])
    expect_identical(shown[c("zlab", "glab")], list(zlab = paste0("P(z = ", second, ")"), glab = "z"))
    expect_identical(as.character(shown$layers$points$group), as.character(given))
    curve <- pictured(kernel_ridge(z ~ x, d, lambda = 1, family = binomial), "curve")
    expect_identical(curve$ylab, shown$zlab)
  }
  in_nowhere(expect_silent(plot(fit)))
})
