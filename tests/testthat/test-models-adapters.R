# Fits in the hands of other packages: caret's train(), emmeans.

# Packages that caret loads ask for the time zone, and warn where a system has no answer.
if (reaches("quick")) suppressWarnings(requireNamespace("caret", quietly = TRUE))
trained <- function(...) suppressPackageStartupMessages(caret::train(..., trControl = caret::trainControl("cv", 3)))

test_that("caret::train() tunes kernel_ridge(), and predicts as it does at the parameters found", {
  skip_without_peer("caret")
  skip_without_peer("MASS")
  houses <- MASS::Boston[201:350, ]
  grid <- expand.grid(lambda = c(0.1, 1), scale = c(1, 3))
  set.seed(1)
  found <- trained(medv ~ rm + lstat + chas, houses, method = caret_model("kernel_ridge", kernel = "matern52"),
                   tuneGrid = grid)
  best <- found$bestTune
  ours <- kernel_ridge(medv ~ rm + lstat + chas, houses, kernel = kernel_spec("matern52", scale = best$scale),
                       lambda = best$lambda)
  expect_identical(predict(found, houses), unname(predict(ours, houses)))
  expect_identical(names(found$results)[1:2], c("lambda", "scale"))
  expect_true(all(is.finite(found$results$RMSE)))
  weighed <- trained(houses[c("rm", "lstat")], houses$medv, method = caret_model("kernel_ridge"), tuneLength = 1,
                     weights = houses$tax)
  chosen <- kernel_ridge(medv ~ rm + lstat, houses, weights = tax)
  expect_equal(predict(weighed, houses[1:9, c("rm", "lstat")]), unname(predict(chosen, houses[1:9, ])))
})

test_that("caret::train() takes knn_fit() for classes and numbers, and gp_fit() without a grid", {
  skip_without_peer("caret")
  set.seed(2)
  found <- trained(Species ~ ., iris, method = caret_model("knn_fit", weights = "inverse"), tuneLength = 2)
  ours <- knn_fit(Species ~ ., iris, k = found$bestTune$k, weights = "inverse")
  expect_identical(predict(found, iris), predict(ours, iris))
  expect_equal(as.matrix(predict(found, iris, type = "prob")), predict(ours, iris, type = "prob"), ignore_attr = TRUE)
  numbers <- trained(dist ~ speed, cars, method = caret_model("knn_fit"), tuneGrid = data.frame(k = c(3, 0)))
  expect_s3_class(numbers$finalModel, "knn_fit")
  kernel <- kernel_spec("matern32", scale = 9)
  map <- trained(dist ~ speed, cars, method = caret_model("gp_fit", kernel = kernel, variance = 300, nugget = 200))
  ours <- gp_fit(dist ~ speed, cars, kernel = kernel, variance = 300, nugget = 200)
  expect_identical(predict(map, cars[1:4, ]), unname(predict(ours, cars[1:4, ])))
  expect_error(caret_model("kernel_ridge", kernal = 1), "did you mean `kernel`", class = "kernweave_error_input")
  expect_error(caret_model("gp"), NA)
  expect_error(caret_model("lm"), "`model`", class = "kernweave_error_input")
})

test_that("marginal means of a trend are those of nlme::gls() at the same covariance", {
  skip_without_peer("emmeans")
  skip_without_peer("nlme")
  places <- quakes[seq(1, 1000, by = 6), ]
  places <- places[!duplicated(places[c("long", "lat")]), ]
  places$side <- cut(places$long, c(0, 175, 182, 200), c("west", "middle", "east"))
  places$stations[3] <- NA
  complete <- places[-3, ]
  correlation <- nlme::corExp(c(3, 0.4), ~ long + lat, nugget = TRUE, fixed = TRUE)
  theirs <- nlme::gls(mag ~ side * stations, places, correlation, na.action = na.omit)
  sill <- theirs$sigma^2
  kernel <- kernel_spec("matern12", scale = 3)
  ours <- gp_fit(mag ~ long + lat, places, trend = ~ side * stations, kernel = kernel, variance = 0.6 * sill,
                 nugget = 0.4 * sill, subset = !is.na(stations))
  quietly <- function(...) suppressMessages(summary(emmeans::emmeans(...)))
  found <- quietly(ours, ~side)
  expected <- quietly(theirs, ~side, mode = "df.error", data = complete)
  expect_equal(found$emmean, expected$emmean, tolerance = 1e-8)
  expect_equal(found$SE, expected$SE, tolerance = 1e-8)
  slopes <- summary(emmeans::emtrends(ours, ~side, "stations"))$stations.trend
  expect_equal(slopes, unname(coef(theirs)[[4]] + c(0, coef(theirs)[5:6])), tolerance = 1e-8)
  expect_identical(unique(found$df), Inf)
  curved <- gp_fit(mag ~ long + lat, places, trend = ~ side + poly(lat, 2), kernel = kernel, variance = 1, nugget = 1)
  middle <- data.frame(side = levels(places$side), lat = mean(places$lat))
  expect_equal(quietly(curved, ~side)$emmean, c(kernweave:::new_trend(curved, middle, 3)$F %*% coef(curved)))
  x <- as.matrix(places[c("long", "lat")])
  of_matrix <- gp_fit(x, places$mag, trend = ~long, kernel = kernel_spec(scale = 3), variance = 1, nugget = 1)
  expect_equal(quietly(of_matrix, ~long)$emmean, sum(coef(of_matrix) * c(1, mean(x[, 1]))))
  ridge <- kernel_ridge(mag ~ long, places, lambda = 1)
  expect_error(emmeans::emmeans(ridge, ~long), "marginal_effects()", fixed = TRUE)
})
