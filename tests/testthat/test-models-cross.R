# Cross-validation by folds: without refits, by refits, and of each kind of fit.

some <- quakes[seq(1, 1000, by = 12), ]
some$w <- replace(rep(c(0.5, 1, 2), 28), 7, 0)
process <- gp_fit(depth ~ long + lat, some, trend = ~ long, weights = w, kernel = "matern32")
ridge <- kernel_ridge(depth ~ long + lat, some, weights = w, standardize = FALSE, kernel = kernel_spec(scale = 3))
labels <- rep(1:4, 21)

test_that("folds without refits are exactly those of fits to the other rows", {
  skip_below("quick")
  found <- cross_validate(process, labels)
  expect_identical(nrow(found), 83L)
  expect_named(found, c(".fold", ".fitted", ".se", ".resid", ".lpd", ".crps", ".lower", ".upper", ".observed"))
  expect_identical(rownames(found), rownames(some)[-7])
  for (fold in c(1, 3)) {
    without <- gp_fit(depth ~ long + lat, some[labels != fold, ], trend = ~ long, weights = w, kernel = process$kernel,
                      variance = process$variance, nugget = process$nugget)
    out <- some[labels == fold & some$w > 0, ]
    there <- predict(without, out, se.fit = TRUE)
    mine <- found[found$.fold == fold, ]
    expect_equal(mine$.fitted, unname(there$fit), tolerance = 1e-8)
    expect_equal(mine$.se, unname(sqrt(there$se.fit^2 + process$nugget / out$w)), tolerance = 1e-8)
    expect_equal(mine$.resid, out$depth - mine$.fitted)
    by_ridge <- cross_validate(ridge, labels)
    other <- update(ridge, data = some[labels != fold, ], lambda = ridge$lambda)
    expect_equal(by_ridge$.fitted[found$.fold == fold], unname(predict(other, out)), tolerance = 1e-8)
  }
  expect_equal(found$.lpd, stats::dnorm(found$.resid, 0, found$.se, log = TRUE))
  one <- cross_validate(process, seq_len(84))
  expect_equal(one$.resid, unname(residuals(process, "loo")[-7]), tolerance = 1e-8)
  expect_equal(sum(one$.lpd), elpd(process)$elpd, tolerance = 1e-8)
  expect_equal(sum(cross_validate(ridge, seq_len(84))$.lpd), elpd(ridge)$elpd, tolerance = 1e-8)
})

test_that("folds are those of the rows as they came where a model sorts them", {
  fits <- lapply(c(Inf, 40), function(rows) {
    gp_fit(dist ~ speed, cars[50:1, ], kernel = kernel_spec(scale = 5), variance = 400, nugget = 200,
           weights = rep(c(0, 1, 2), c(1, 24, 25)), estimate_on = rows)
  })
  folds <- lapply(fits, cross_validate, rep_len(1:7, 50))
  expect_equal(folds[[2]], folds[[1]], tolerance = 1e-8)
})

test_that("beyond dense_n fits to the other rows tell the same", {
  skip_below("quick")
  products <- update(process, variance = process$variance, nugget = process$nugget, kernel = process$kernel,
                     control = fit_control(dense_n = 0))
  expect_equal(cross_validate(products, labels)$.fitted, cross_validate(process, labels)$.fitted, tolerance = 1e-4)
  expect_equal(cross_validate(products, labels)$.se, cross_validate(process, labels)$.se, tolerance = 1e-3)
  beyond <- update(ridge, lambda = ridge$lambda, control = fit_control(dense_n = 0))
  expect_equal(cross_validate(beyond, labels)$.fitted, cross_validate(ridge, labels)$.fitted, tolerance = 1e-4)
  line <- update(process, variance = 0)
  theirs <- vapply(1:4, function(k) {
    fit <- stats::lm(depth ~ long, some[labels != k, ], weights = w)
    predict(fit, some[labels == k, ])[[2]]
  }, 0)
  own <- cross_validate(line, labels)
  expect_equal(own[match(rownames(some)[4 + 1:4], rownames(own)), ".fitted"][c(1, 2, 4)], theirs[c(1, 2, 4)])
})

test_that("refits choose again, for each kind of fit", {
  skip_below("quick")
  again <- cross_validate(process, labels, refit = TRUE)
  without <- gp_fit(depth ~ long + lat, some[labels != 2, ], trend = ~ long, weights = w, kernel = "matern32")
  out <- some[labels == 2, ]
  expect_equal(again$.fitted[again$.fold == 2], unname(predict(without, out)), tolerance = 1e-5)
  local <- local_reg(dist ~ speed, cars, bandwidth = 3)
  five <- rep(1:5, 10)
  found <- cross_validate(local, five)
  other <- local_reg(dist ~ speed, cars[five != 4, ], bandwidth = 3)
  expect_equal(found$.fitted[five == 4], unname(predict(other, cars[five == 4, ])))
  expect_s3_class(cross_validate(local_reg(dist ~ speed, cars), five, refit = TRUE), "cross_validate")
  near <- knn_fit(Species ~ ., iris, k = 5)
  thirds <- rep(1:3, 50)
  votes <- cross_validate(near, thirds)
  part <- knn_fit(Species ~ ., iris[thirds != 1, ], k = 5)
  expect_identical(as.character(votes$.fitted[thirds == 1]), unname(as.character(predict(part, iris[thirds == 1, ]))))
  expect_equal(summary(votes)["all", "errors"], mean(votes$.fitted != iris$Species))
  numbers <- cross_validate(knn_fit(dist ~ speed, cars, k = NULL), five, refit = TRUE)
  expect_true(all(is.na(numbers$.lpd)) && !anyNA(numbers$.resid))
  expect_s3_class(cross_validate(ridge, labels, refit = TRUE), "cross_validate")
})

test_that("folds are random, labels, or blocks of places", {
  skip_below("quick")
  expect_identical(cross_validate(process, 5, seed = 1), cross_validate(process, 5, seed = 1))
  expect_lte(diff(range(table(cross_validate(process, 5, seed = 1)$.fold))), 1)
  blocks <- cross_validate(process, 5, by = "place", seed = 1)
  expect_identical(nlevels(blocks$.fold), 5L)
  within <- stats::var(some$lat[-7] - stats::ave(some$lat[-7], blocks$.fold))
  expect_lt(within, stats::var(some$lat) / 2)
  expect_identical(class(utils::head(blocks)), "data.frame")
  expect_identical(blocks[, ".resid"], blocks$.resid)
  expect_output(print(blocks), "5 folds by place, without refits\n  rmse .*elpd .*\\(se ")
  table <- summary(blocks)
  expect_equal(table["all", "rmse"], sqrt(mean(blocks$.resid^2)))
  expect_equal(sum(table$elpd[1:5]), table["all", "elpd"])
  holes <- gp_fit(Ozone ~ Temp + Wind, airquality, kernel = kernel_spec(scale = 10), variance = 900, nugget = 300)
  months <- cross_validate(holes, airquality$Month)
  expect_identical(levels(months$.fold), as.character(5:9))
  expect_identical(nrow(months), 116L)
  skip_if_not_installed("generics")
  expect_identical(generics::tidy(months)$fold, as.character(5:9))
  expect_equal(generics::glance(months)$rmse, sqrt(mean(months$.resid^2)))
})

test_that("mistakes are errors that say what to do", {
  refused <- function(..., class = "input") expect_error(cross_validate(...), class = paste0("kernweave_error_", class))
  refused(stats::lm(dist ~ speed, cars))
  refused(process, 1:3, class = "shape")
  refused(process, 200, class = "value")
  refused(process, rep(1, 84), class = "data")
  refused(process, labels, by = "place")
  refused(process, by = "time")
  refused(kernel_ridge(cbind(mpg, hp) ~ wt, mtcars, lambda = 1), class = "unsupported")
  two <- gp_fit(dist ~ speed, cars, trend = ~ speed > 24, variance = 100, nugget = 200)
  refused(two, ifelse(cars$speed > 24, "a", "b"), class = "data")
})

test_that("the title of a picture of folds has the words of its axes", {
  shown <- pictured(cross_validate(process, labels))
  expect_identical(shown[c("xlab", "ylab", "main")],
                   list(xlab = "predicted", ylab = "observed", main = "Observed and predicted values"))
})
