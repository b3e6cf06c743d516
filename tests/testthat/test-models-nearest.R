# Classification and regression by nearest neighbours, against other packages and by hand.

set.seed(9)
near_iris <- as.data.frame(lapply(iris[sample(150, 60), 1:4], function(v) v + stats::runif(60, -0.3, 0.3)))
x <- matrix(stats::rnorm(300), 100)
y <- stats::rnorm(100)
at <- matrix(stats::rnorm(60), 20)

test_that("votes are those of class, means those of FNN", {
  skip_without_peer("FNN")
  skip_without_peer("class")
  fit <- knn_fit(Species ~ ., iris, k = 7, standardize = FALSE)
  voted <- class::knn(iris[, 1:4], near_iris, iris$Species, 7, prob = TRUE)
  expect_identical(as.character(predict(fit, near_iris)), as.character(voted))
  expect_equal(apply(predict(fit, near_iris, type = "prob"), 1, max), attr(voted, "prob"), tolerance = 1e-12,
               ignore_attr = TRUE)
  means <- knn_fit(x, y, k = 4, standardize = FALSE)
  expect_equal(predict(means, at), FNN::knn.reg(x, at, y, 4)$pred, tolerance = 1e-12)
  expect_equal(fitted(means), FNN::knn.reg(x, y = y, k = 4)$pred, tolerance = 1e-12)
  expect_equal(means$criterion, mean(residuals(means)^2), tolerance = 1e-12)
})

test_that("errors of means are those of the neighbours, with weights their weighted form", {
  D <- dense_distance(x, at[1, , drop = FALSE])
  near <- order(D)[1:4]
  one <- predict(knn_fit(x, y, k = 4, standardize = FALSE), at, se.fit = TRUE)
  expect_equal(one$se.fit[1], stats::sd(y[near]) / 2)
  p <- 1 / D[near] / sum(1 / D[near])
  two <- predict(knn_fit(x, y, k = 4, weights = "inverse", standardize = FALSE), at, se.fit = TRUE)
  mean <- sum(p * y[near])
  expect_equal(c(two$fit[1], two$se.fit[1]),
               c(mean, sqrt(sum(p * (y[near] - mean)^2) / (1 - sum(p^2)) * sum(p^2))))
  expect_true(all(is.na(predict(knn_fit(x, y, k = 1), at, se.fit = TRUE)$se.fit)))
  both <- predict(knn_fit(x, cbind(a = y, b = 2 * y), k = 4, standardize = FALSE), at, se.fit = TRUE)
  expect_equal(both$fit, cbind(a = one$fit, b = 2 * one$fit))
  expect_equal(both$se.fit, cbind(a = one$se.fit, b = 2 * one$se.fit))
})

test_that("ties go to the nearer class, then to the first level; copies count alone", {
  fit <- knn_fit(c(0, 3, 10, 12), factor(c("b", "a", "b", "a")), k = 2, standardize = FALSE)
  expect_identical(as.character(predict(fit, c(1, 2, 1.5, 11, 11.5))), c("b", "a", "a", "a", "a"))
  expect_identical(predict(fit, 1, type = "prob"), matrix(0.5, 1, 2, dimnames = list(NULL, c("a", "b"))))
  exact <- knn_fit(c(0, 0, 1, 2), c(1, 3, 9, 9), k = 3, weights = "inverse", standardize = FALSE)
  expect_equal(predict(exact, c(0, 1)), c(2, 9))
  votes <- knn_fit(c(0, 1, 1.1, 5), c("u", "v", "v", "v"), k = 3, weights = "inverse", standardize = FALSE)
  expect_identical(as.character(predict(votes, c(0, 0.1, 0.9))), c("u", "u", "v"))
})

test_that("the number of neighbours is that of the smallest error when each is left out", {
  fit <- knn_fit(Species ~ ., iris, k = NULL)
  expect_identical(dim(fit$cv), c(50L, 2L))
  expect_identical(fit$k, which.min(fit$cv$criterion))
  for (weights in c("equal", "inverse")) {
    classes <- knn_fit(Species ~ ., iris, k = NULL, weights = weights)
    numbers <- knn_fit(x, y, k = NULL, weights = weights)
    for (k in c(1, 6, 31)) {
      given <- knn_fit(Species ~ ., iris, k = k, weights = weights)
      expect_equal(mean(fitted(given) != iris$Species), classes$cv$criterion[k])
      expect_equal(mean(residuals(knn_fit(x, y, k = k, weights = weights))^2), numbers$cv$criterion[k])
    }
  }
  left <- knn_fit(Species ~ ., iris[-7, ], k = 5, standardize = FALSE)
  whole <- knn_fit(Species ~ ., iris, k = 5, standardize = FALSE)
  expect_identical(unname(predict(left, iris[7, ])), unname(fitted(whole)[7]))
  expect_identical(nrow(knn_fit(1:4, c(1, 2, 3, 5), k = NULL)$cv), 3L)
})

test_that("r copies of each row with r times the neighbours predict the same", {
  one <- knn_fit(x, y, k = 3, standardize = FALSE)
  many <- knn_fit(x[rep(1:100, 4), ], rep(y, 4), k = 12, standardize = FALSE)
  expect_equal(predict(many, at), predict(one, at), tolerance = 1e-12)
})

test_that("fits have what other fits have", {
  fit <- knn_fit(Species ~ ., iris)
  expect_output(print(fit), "3 classes.*k = 5 .given., equal weights, euclidean, standardized inputs.*% errors")
  expect_identical(predict(fit), fitted(fit))
  expect_identical(update(fit, k = 3)$k, 3L)
  expect_identical(dim(predict(fit, iris[0, ], type = "prob")), c(0L, 3L))
  expect_identical(levels(predict(fit, iris[0, ])), levels(iris$Species))
  expect_equal(predict(fit, iris), predict(fit, iris[, 5:1]))
  scaled <- iris
  scaled[[2]] <- scaled[[2]] * 1000 + 5
  expect_equal(predict(knn_fit(Species ~ ., scaled), scaled), predict(fit, iris))
  weather <- transform(airquality, hot = factor(Temp > 80))
  hot <- knn_fit(hot ~ Ozone + Wind, weather, na.action = stats::na.exclude)
  expect_identical(sum(is.na(fitted(hot))), 37L)
  expect_equal(is.na(predict(hot, weather)), is.na(fitted(hot)), ignore_attr = TRUE)
  expect_equal(which(is.na(predict(hot, weather, type = "prob")[, 1])), which(is.na(weather$Ozone)),
               ignore_attr = TRUE)
  ordered <- knn_fit(1:6, factor(c("lo", "lo", "lo", "hi", "hi", "hi"), c("lo", "hi"), ordered = TRUE), k = 2)
  expect_s3_class(predict(ordered, 3), "ordered")
  numbers <- knn_fit(dist ~ speed, cars)
  expect_named(kernweave:::plot_data(numbers)$layers, c("points", "line"))
  expect_named(kernweave:::plot_data(fit)$layers, "boxes")
  expect_named(kernweave:::plot_data(update(fit, k = NULL))$layers, "curve")
  skip_without_peer("generics")
  expect_identical(generics::glance(fit)$k, 5L)
  expect_identical(nrow(generics::tidy(update(fit, k = NULL))), 50L)
  expect_identical(generics::augment(fit)$.fitted, unname(fitted(fit)))
  expect_equal(generics::augment(numbers)$.resid, unname(residuals(numbers)))
})

test_that("mistakes are refused by class", {
  expect_error(knn_fit(x, y, k = 100), "100 rows has 99 others", class = "kernweave_error_value")
  expect_error(knn_fit(x, y, k = 0), class = "kernweave_error_input")
  expect_error(knn_fit(x), "`y`", class = "kernweave_error_input")
  expect_error(knn_fit(x, c("a", NA)[rep(1:2, 50)]), "50 rows", class = "kernweave_error_data")
  expect_error(knn_fit(x, "a"), class = "kernweave_error_shape")
  expect_error(knn_fit(x, y, weights = 1), class = "kernweave_error_input")
  expect_error(knn_fit(x, y, metric = "haversine"), "standardize", class = "kernweave_error_input")
  expect_error(predict(knn_fit(x, y), at, type = "class"), class = "kernweave_error_input")
  expect_error(predict(knn_fit(Species ~ ., iris), iris, se.fit = TRUE), class = "kernweave_error_unsupported")
  kinds <- knn_fit(mpg ~ factor(cyl), mtcars)
  expect_error(predict(kinds, data.frame(cyl = 5)), "new level `5`", class = "kernweave_error_data")
  expect_error(predict(knn_fit(Species ~ ., iris), iris[, 1:2]), class = "kernweave_error_input")
  expect_warning(knn_fit(cbind(x, 1), y), class = "kernweave_warning_dropped")
})

test_that("weights of rows are answered by the two words that `weights` has", {
  for (call in list(quote(knn_fit(mpg ~ wt, mtcars, weights = hp)), quote(knn_fit(mtcars$wt, mtcars$mpg, weights = hp)),
                    quote(knn_fit(mpg ~ wt, mtcars, weights = mtcars$hp)))) {
    expect_said(eval(call), "input", "`weights`", "\"equal\"", "\"inverse\"")
  }
})
