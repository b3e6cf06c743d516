# Errors of predictions by the nearest observations, and local kriging: against dense fits, dense formulas and gstat.

quietly <- function(code) suppressMessages(code)
by_series <- fit_control(dense_n = 0, approximate = 1e-6)
by_products <- fit_control(dense_n = 0)
given <- function(D, n, kernel, nugget, control = fit_control(), trend = ~ 1, scale = 0.3) {
  set.seed(D)
  x <- matrix(stats::runif(n * D), n, dimnames = list(NULL, paste0("x", 1:D)))
  y <- sin(5 * x[, 1]) + stats::rnorm(n, sd = 0.2)
  gp_fit(x, y, trend = trend, kernel = if (is.character(kernel)) kernel_spec(kernel, scale = scale) else kernel,
         variance = 1, nugget = nugget, control = control)
}
places <- function(D, n = 30) {
  set.seed(100 + D)
  matrix(stats::runif(n * D, -0.05, 1.05), n, dimnames = list(NULL, paste0("x", 1:D)))
}

few <- quakes[1:400, ]
few <- few[!duplicated(few[, c("long", "lat")]), ]
map <- gp_fit(depth ~ long + lat, few, kernel = kernel_spec("matern32", scale = 2.67), variance = 39000, nugget = 3800)
there <- data.frame(long = 181, lat = -20)

test_that("means and variances are those of gstat, where the trend is of all data and of the neighbours", {
  local <- predict(map, there, se.fit = TRUE, method = "local", neighbours = 40)
  expect_equal(c(local$fit, local$se.fit^2), c(577.0631, 795.7569), tolerance = 1e-7)
  global <- quietly(predict(update(map, control = by_series), there, se.fit = TRUE, neighbours = 40))
  expect_equal(global$se.fit^2, 791.474, tolerance = 1e-6)
  expect_equal(global$fit, unname(predict(map, there)), tolerance = 1e-5)
  skip_without_peer("gstat")
  at <- expand.grid(long = c(170, 181), lat = c(-30, -20))
  model <- gstat::vgm(39000, "Mat", 2.67 / sqrt(3), 3800, kappa = 1.5)
  peer <- gstat::krige(depth ~ 1, ~ long + lat, few, at, model, nmax = 40, debug.level = 0)
  found <- predict(map, at, se.fit = TRUE, method = "local", neighbours = 40)
  expect_equal(unname(found$fit), peer$var1.pred, tolerance = 1e-6)
  expect_equal(unname(found$se.fit)^2, peer$var1.var - 3800, tolerance = 1e-6)
})

test_that("by all observations as neighbours predictions and errors are the exact ones", {
  for (D in 1:3) for (trend in list(~ 0, ~ 1, ~ x1)) {
    fit <- given(D, 120, "matern52", 0.01, trend = trend)
    exact <- predict(fit, places(D), se.fit = TRUE)
    found <- predict(fit, places(D), se.fit = TRUE, method = "local", neighbours = 500)
    expect_equal(found, exact, tolerance = 1e-9)
    expect_identical(predict(fit, places(D), method = "local", neighbours = 120), found$fit)
  }
})

test_that("errors by neighbours are never below the exact ones, and fall as neighbours are more", {
  cases <- expand.grid(D = 1:3, kernel = c("matern12", "matern52", "gaussian", "cauchy"), nugget = c(0.5, 0.1, 1e-3),
                       stringsAsFactors = FALSE)
  for (row in seq_len(nrow(cases))) {
    case <- cases[row, ]
    fit <- given(case$D, 250, case$kernel, case$nugget, trend = ~ 0)
    exact <- predict(fit, places(case$D), se.fit = TRUE)$se.fit
    before <- Inf
    for (m in c(5, 20, 60, 250)) {
      found <- predict(fit, places(case$D), se.fit = TRUE, method = "local", neighbours = m)$se.fit
      expect_gt(min(found / exact), 1 - 1e-7, label = paste(case, collapse = " "))
      expect_true(all(found <= before * (1 + 1e-7)))
      before <- found
    }
  }
})

test_that("fits by series have errors by neighbours, audited once, and other fits exact ones", {
  skip_below("quick")
  fit <- given(2, 600, "matern32", 0.05)
  exact <- predict(fit, places(2), se.fit = TRUE)
  expect_null(attr(exact, "local"))
  products <- given(2, 600, "matern32", 0.05, by_products)
  expect_null(attr(predict(products, places(2), se.fit = TRUE), "local"))
  large <- given(2, 600, "matern32", 0.05, by_series)
  expect_message(found <- predict(large, places(2), se.fit = TRUE), "by the 60 nearest observations")
  about <- attr(found, "local")
  expect_equal(about$neighbours, 60)
  expect_gt(min(found$se.fit / exact$se.fit), 1 - 1e-5)
  expect_lt(max(found$se.fit / exact$se.fit), 1.05)
  x <- large$kept$exact$x
  bare <- given(2, 600, "matern32", 0.05, trend = ~ 0)
  known <- predict(bare, x, se.fit = TRUE)$se.fit
  expect_equal(large$kept$exact$variance, known^2, tolerance = 1e-3)
  ratio <- predict(bare, x, se.fit = TRUE, method = "local")$se.fit / known
  expect_equal(about$ratio, c(mean = mean(ratio), largest = max(ratio)), tolerance = 1e-3)
  expect_equal(found$fit, exact$fit, tolerance = 1e-4)
  expect_no_message(again <- predict(large, places(2)[3:5, ], se.fit = TRUE))
  expect_equal(again$se.fit, found$se.fit[3:5], tolerance = 1e-7)
  expect_null(attr(predict(large, places(2), method = "local", se.fit = TRUE), "local"))
  expect_message(all <- predict(large, places(2), se.fit = TRUE, method = "exact"), "all pairs")
  expect_equal(all$se.fit, exact$se.fit, tolerance = 1e-4)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(given(2, 600, "matern32", 0.05, by_series), file)
  expect_equal(quietly(predict(readRDS(file), places(2), se.fit = TRUE))$se.fit, found$se.fit, tolerance = 1e-4)
})

test_that("exact errors, of an audit and of blocks, are known also where little is left of a large variance", {
  skip_below("quick")
  set.seed(4)
  x <- matrix(stats::runif(16), 8)[sample(8, 1000, TRUE), ] + stats::rnorm(2000, sd = 0.03)
  y <- stats::rnorm(1000)
  of <- function(control) {
    gp_fit(x, y, kernel = kernel_spec("matern32", 3), variance = 40, nugget = 0.04, trend = ~ 0, control = control)
  }
  dense <- of(fit_control())
  large <- of(fit_control(dense_n = 100, approximate = TRUE))
  local <- attr(quietly(predict(large, x[1:2, ], se.fit = TRUE)), "local")
  expect_gt(local$ratio[["mean"]], 0.999)
  expect_equal(sqrt(large$kept$exact$variance), predict(dense, large$kept$exact$x, se.fit = TRUE)$se.fit,
               tolerance = 2e-3)
  blocks <- function(fit) predict(fit, x[1:3, ], block = c(0.1, 0.2), se.fit = TRUE, method = "exact")$se.fit
  expect_equal(quietly(blocks(large)), blocks(dense), tolerance = 2e-3)
})

test_that("neighbours are doubled until errors are near the exact ones, with a warning where that is not enough", {
  skip_below("quick")
  large <- given(2, 1200, "matern52", 0.5, by_series)
  held("fewest_neighbours", 10, environment())
  found <- quietly(predict(large, places(2), se.fit = TRUE))
  expect_true(attr(found, "local")$neighbours %in% c(20, 40, 80, 160, 320))
  expect_lte(attr(found, "local")$ratio[["largest"]], 1.1)
  expect_warning(few <- predict(large, places(2), se.fit = TRUE, neighbours = 10),
                 "by the 10 nearest observations are up to 1[.][0-9]+ times", class = "kernweave_warning_approximate")
  expect_identical(attr(few, "local")$neighbours, 10L)
  large$kept$audits <- NULL
  held("most_neighbours", 10, environment())
  expect_warning(predict(large, places(2), se.fit = TRUE), "more `neighbours`",
                 class = "kernweave_warning_approximate")
})

test_that("fits by exact products of many rows have errors by neighbours, where their kernel has a distance", {
  skip_below("quick")
  held("many_points", 200, environment())
  errors <- function(...) quietly(predict(..., se.fit = TRUE))
  found <- errors(given(4, 300, "matern32", 0.1, by_products), places(4))
  expect_gte(attr(found, "local")$neighbours, 60)
  expect_gt(min(found$se.fit / predict(given(4, 300, "matern32", 0.1), places(4), se.fit = TRUE)$se.fit), 1 - 1e-5)
  expect_null(attr(errors(given(2, 300, "linear", 0.1, by_products), places(2)), "local"))
})

test_that("pictures of many rows have errors by neighbours, without an audit, and say so", {
  fit <- given(2, 300, "matern32", 0.1)
  exact <- pictured(fit, "se", n = 4)
  expect_identical(exact$zlab, "standard error")
  held("many_points", 200, environment())
  fit$data$dense <- FALSE
  expect_silent(quick <- pictured(fit, "se", n = 4))
  expect_identical(quick$zlab, "standard error (60 neighbours)")
  expect_gt(min(quick$layers$surface$z / exact$layers$surface$z), 1 - 1e-5)
  expect_null(fit$kept$audits)
})

test_that("places at observations without noise, missing values, twins and weights are met", {
  fit <- given(2, 100, "matern32", 0, trend = ~ x1)
  local <- function(fit, at, m) predict(fit, at, se.fit = TRUE, method = "local", neighbours = m)
  found <- local(fit, rbind(fit$x[c(5, 9), ], c(NA, 1), places(2)[1, ]), 20)
  expect_identical(unname(found$se.fit[1:3]), c(0, 0, NA))
  expect_equal(unname(found$fit[1:2]), unname(fitted(fit)[c(5, 9)]), tolerance = 1e-8)
  expect_gt(found$se.fit[4], 0)
  noisy <- function(x, y, ...) gp_fit(x, y, kernel = fit$kernel, variance = 1, nugget = 0.2, ...)
  twice <- noisy(fit$x[rep(1:100, 2), ], rep(fitted(fit), 2))
  once <- noisy(fit$x, fitted(fit), weights = rep(2, 100))
  expect_equal(local(twice, places(2), 40)[1:2], local(once, places(2), 20)[1:2], tolerance = 1e-8)
  expect_length(local(once, places(2)[0, ], 20)$se.fit, 0)
  expect_error(predict(fit, places(2), neighbours = 0), "neighbours", class = "kernweave_error_input")
  expect_error(predict(fit, places(2), method = "near"), "method", class = "kernweave_error_input")
})

test_that("neighbours are near by the kernel's own distance, or that of its first part", {
  scales <- c(0.05, 5)
  fit <- given(2, 200, "matern32", 0.1, scale = scales)
  at <- places(2)
  scaled <- function(x) t(t(unname(x)) / scales)
  near <- knn(scaled(fit$x), scaled(at), k = 15)$nn.index
  both <- unname(rbind(fit$x, at))
  expected <- function(fit) {
    conditional(fit$kernel(both), as.vector(fitted(fit) + residuals(fit)), ridge = 0.1, trend = matrix(1, 230, 1),
                neighbours = near)
  }
  check <- function(fit) {
    found <- predict(fit, at, se.fit = TRUE, method = "local", neighbours = 15)
    expect_equal(unname(found$se.fit^2), unname(expected(fit)$variance), tolerance = 1e-9)
    expect_equal(unname(found$fit), unname(expected(fit)$mean), tolerance = 1e-9)
  }
  check(fit)
  first <- kernel_spec("matern32", scale = scales, variance = 0.7)
  check(given(2, 200, first + kernel_spec("gaussian", scale = 1), 0.1))
})

test_that("intervals and pictures have the same errors", {
  skip_below("quick")
  large <- given(1, 400, "matern32", 0.1, by_series)
  at <- places(1)
  found <- quietly(predict(large, at, se.fit = TRUE))
  ends <- predict(large, at, interval = "confidence", level = 0.9)
  expect_equal(unname(ends[, "upr"] - ends[, "fit"]), unname(stats::qnorm(0.95) * found$se.fit))
  curve <- kernweave:::plot_data(large, "se", n = 20)$layers$curve
  drawn <- predict(large, matrix(curve$x, dimnames = list(NULL, "x1")), se.fit = TRUE)
  expect_equal(curve$y, unname(drawn$se.fit))
})
