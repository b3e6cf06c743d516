# Tests what new data are to a fit, and what base R's methods find in a fit.

set.seed(11)
plots <- data.frame(clay = stats::runif(40), slope = stats::runif(40, 0, 9), kind = factor(rep(c("oak", "fir"), 20)))
plots$yield <- sin(4 * plots$clay) + plots$slope / 9 + (plots$kind == "fir") + stats::rnorm(40, sd = 0.1)
places <- plots[c("clay", "slope")]
smooth <- kernel_spec("matern32", scale = 2)

# Fits of points whose columns have names, each with what it says of new ones.
fits_of <- function(x) {
  list(gp_fit(x, plots$yield, trend = ~ 1, kernel = smooth, variance = 1, nugget = 0.1),
       kernel_ridge(x, plots$yield, lambda = 1), local_reg(x, plots$yield, bandwidth = 3),
       rbf_interpolate(x, plots$yield, lambda = 1), kde_fit(x), kpca_fit(x), kmeans_fit(x, x[c(1, 9, 30), ]))
}

test_that("columns of new data are found by their names, in any order and among others", {
  skip_below("quick")
  for (fit in fits_of(places)) {
    expected <- predict(fit, as.matrix(places[3:8, ]))
    expect_equal(predict(fit, plots[3:8, c("kind", "slope", "yield", "clay")]), expected, label = class(fit)[1])
    expect_equal(predict(fit, as.matrix(places[3:8, 2:1])), expected)
    expect_equal(predict(fit, unname(as.matrix(places[3:8, ]))), expected, ignore_attr = TRUE)
  }
  expect_equal(knn(places, plots[5:9, c("slope", "kind", "clay")], k = 2)$nn.index,
               knn(as.matrix(places), unname(as.matrix(places[5:9, ])), k = 2)$nn.index, ignore_attr = TRUE)
})

test_that("a column that is not there is never another one: it is an error with the nearest name", {
  skip_below("quick")
  wrong <- data.frame(slope = 5, cley = 0.5)
  for (fit in fits_of(places)) {
    for (newdata in list(wrong, as.matrix(wrong), cbind(wrong, third = 1))) {
      expect_error(predict(fit, newdata), "`newdata` has no column `clay`; did you mean `cley`",
                   class = "kernweave_error_shape")
    }
  }
  expect_error(knn(places, wrong, k = 2), "`query` has no column `clay`", class = "kernweave_error_shape")
  expect_error(radius_nn(as.matrix(places), as.matrix(wrong), radius = 1), "`query` has no column `clay`",
               class = "kernweave_error_shape")
  expect_error(kmeans_fit(places, wrong[c(1, 1), ]), "`centers` has no column `clay`", class = "kernweave_error_shape")
  expect_error(plot_data(kmeans_fit(places, 2), stats::setNames(places, c("slope", "cley"))), "no column `clay`",
               class = "kernweave_error_shape")
  expect_error(energy_test(places, stats::setNames(places, c("slope", "cley"))), "`y` has no column `clay`",
               class = "kernweave_error_shape")
  expect_error(sinkhorn(places, stats::setNames(places, c("slope", "cley"))), "`y` has no column `clay`",
               class = "kernweave_error_shape")
  process <- gp_fit(places, plots$yield, kernel = smooth, nugget = 0.1)
  expect_error(simulate(process, newdata = wrong), "no column `clay`", class = "kernweave_error_shape")
  effects <- kernel_ridge(places, plots$yield, lambda = 1)
  expect_error(marginal_effects(effects, newdata = wrong), "no column `clay`", class = "kernweave_error_shape")
})

test_that("names that are not the user's are no condition, and bind where they are all taken up", {
  skip_below("quick")
  bare <- unname(as.matrix(places))
  for (fit in fits_of(bare)) {
    expected <- predict(fit, bare[3:8, ])
    expect_equal(predict(fit, places[3:8, ]), expected, ignore_attr = TRUE, label = class(fit)[1])
    expect_equal(predict(fit, data.frame(x2 = bare[3:8, 2], x1 = bare[3:8, 1])), expected, ignore_attr = TRUE)
  }
  trended <- gp_fit(bare, plots$yield, trend = ~ x2, kernel = smooth, variance = 1, nugget = 0.1)
  expect_equal(predict(trended, places[1:3, ]), predict(trended, bare[1:3, ]), ignore_attr = TRUE)
  named <- gp_fit(places, plots$yield, trend = ~ slope, kernel = smooth, variance = 1, nugget = 0.1)
  expect_equal(predict(named, places[1:3, 2:1]), predict(trended, bare[1:3, ]), ignore_attr = TRUE)
  one <- local_reg(plots$clay, plots$yield, bandwidth = 1)
  expect_equal(predict(one, plots["clay"]), predict(one, plots$clay), ignore_attr = TRUE)
  expect_equal(predict(one, data.frame(any = plots$clay)), predict(one, plots$clay), ignore_attr = TRUE)
})

test_that("factors are found by name like numbers, their levels in the order of the fit", {
  skip_below("quick")
  mixed <- plots[c("kind", "clay")]
  fit <- kernel_ridge(mixed, plots$yield, lambda = 1)
  new <- data.frame(clay = c(0.2, 0.7), kind = c("oak", "fir"))
  expect_equal(predict(fit, new), predict(fit, data.frame(kind = factor(c("oak", "fir")), clay = c(0.2, 0.7))))
  expect_error(predict(fit, data.frame(kind = 1:2, clay = 1:2)), "`kind` was a factor",
               class = "kernweave_error_input")
  clusters <- kmeans_fit(mixed, 3)
  expect_equal(predict(clusters, plots), clusters$cluster, ignore_attr = TRUE)
  expect_error(predict(clusters, data.frame(kinds = "oak", clay = 1)), "did you mean `kinds`",
               class = "kernweave_error_shape")
  expect_error(knn(mixed, data.frame(kind = 1, clay = 1), k = 1), "`kind` was a factor",
               class = "kernweave_error_input")
  alone <- kernel_ridge(plots$kind, plots$yield, lambda = 1)
  expect_equal(predict(alone, data.frame(tree = plots$kind[1:2])), predict(alone, plots$kind[1:2]), ignore_attr = TRUE)
  # levels that only one cloud has are not taken for the other's
  expect_error(sinkhorn(data.frame(g = c("a", "b")), data.frame(g = c("b", "c"))), "new level `c`",
               class = "kernweave_error_data")
})

test_that("two clouds and two samples are of the same variables, in any order", {
  cost <- function(y) sinkhorn(places[1:20, ], y, epsilon = 1)$value
  expect_equal(cost(places[21:40, 2:1]), cost(as.matrix(places[21:40, ])))
  moved <- sinkhorn(places[1:20, ], places[21:40, 2:1], epsilon = 1)
  expect_equal(predict(moved, plots[1:3, 2:1]), predict(moved)[1:3, ], ignore_attr = TRUE)
  expect_error(predict(moved, data.frame(slope = 1, cley = 1)), "no column `clay`", class = "kernweave_error_shape")
})

test_that("names that several columns have, or none, are not searched by", {
  x <- cbind(a = plots$clay, plots$slope)
  fit <- kernel_ridge(x, plots$yield, lambda = 1)
  expect_equal(predict(fit, x[1:3, ]), predict(fit, unname(x[1:3, ])), ignore_attr = TRUE)
  expect_error(predict(fit, x[, 2:1]), "without names", class = "kernweave_error_shape")
  named <- kernel_ridge(places, plots$yield, lambda = 1)
  expect_error(predict(named, cbind(clay = 1, slope = 2, clay = 3)), "without names", class = "kernweave_error_shape")
})

test_that("a variable of the data is asked of new data, whatever else has its name; constants stay where they are", {
  clay <- 0.5
  slope <- 3
  power <- 2
  fit <- kernel_ridge(yield ~ clay + I(slope^power), plots, lambda = 1)
  expect_error(predict(fit, data.frame(slope = 1)), "no variable `clay`", class = "kernweave_error_input")
  expect_length(predict(fit, data.frame(slope = 1, clay = 1)), 1)
  process <- gp_fit(yield ~ clay, plots, trend = ~ slope, kernel = smooth, nugget = 0.1)
  expect_error(predict(process, data.frame(clay = 1)), "no variable `slope`", class = "kernweave_error_input")
  u <- plots$clay
  v <- plots$yield
  own <- local_reg(v ~ u, bandwidth = 1, subset = v > 0)
  expect_error(predict(own, data.frame(w = 1)), "no variable `u`", class = "kernweave_error_input")
})

# --- base R's methods ---------------------------------------------------------------------------------------

test_that("terms, frames, designs and names of a formula's fit are those of lm()", {
  skip_below("quick")
  holes <- transform(airquality, month = factor(Month), Month = NULL)
  same <- function(fit, peer) {
    expect_equal(attributes(terms(fit)), attributes(terms(peer)), ignore_formula_env = TRUE)
    expect_equal(stats::delete.response(terms(fit)), stats::delete.response(terms(peer)), ignore_formula_env = TRUE)
    expect_equal(formula(fit), formula(peer), ignore_formula_env = TRUE)
    expect_equal(model.frame(fit), model.frame(peer), ignore_attr = TRUE)
    expect_equal(attributes(attr(model.frame(fit), "terms")), attributes(terms(fit)))
    expect_equal(attr(model.frame(fit), "na.action"), attr(model.frame(peer), "na.action"))
    if (!inherits(peer, "mlm")) expect_identical(stats::case.names(fit), stats::case.names(peer))
    expect_identical(stats::na.action(fit), stats::na.action(peer))
    if (inherits(fit, "gp_fit")) return()
    expect_equal(model.matrix(fit), model.matrix(peer))
    if (is.null(peer$call$subset)) expect_equal(model.matrix(fit, holes), model.matrix(peer, data = holes))
    expect_identical(stats::variable.names(fit), stats::variable.names(peer))
  }
  cases <- list(Ozone ~ Temp + month, log(Ozone) ~ poly(Temp, 2) + Wind, Ozone ~ ., cbind(Ozone, Wind) ~ . - month,
                sqrt(Ozone) ~ scale(Temp) + I(Wind^2))
  for (case in cases) same(kernel_ridge(case, holes, lambda = 1), stats::lm(case, holes))
  weighed <- kernel_ridge(Ozone ~ Temp, holes, lambda = 1, weights = Day - 1, subset = Wind > 6)
  same(weighed, stats::lm(Ozone ~ Temp, holes, weights = Day - 1, subset = Wind > 6))
  holed <- update(weighed, na.action = na.exclude)
  expect_identical(stats::case.names(holed), stats::case.names(weighed))
  expect_s3_class(stats::na.action(holed), "exclude")
  same(local_reg(Ozone ~ Temp, holes, bandwidth = 5), stats::lm(Ozone ~ Temp, holes))
  same(rbf_interpolate(Ozone ~ Temp, holes, lambda = 1), stats::lm(Ozone ~ Temp, holes))
  same(gp_fit(Ozone ~ Temp, holes, kernel = smooth, nugget = 1), stats::lm(Ozone ~ Temp, holes))
  expect_identical(names(model.frame(kpca_fit(~ Temp + Wind, holes))), c("Temp", "Wind"))
  expect_identical(nrow(model.frame(kde_fit(~Temp, holes, weights = Day - 1))), sum(holes$Day > 1))
  expect_error(terms(kernel_ridge(plots$clay, plots$yield, lambda = 1)), "not of a formula",
               class = "kernweave_error_input")
})

test_that("the design of a Gaussian process is that of its trend, and its frame has the variables of both formulas", {
  fit <- gp_fit(yield ~ clay, plots, trend = ~ kind * slope, kernel = smooth, variance = 1, nugget = 0.1)
  peer <- stats::lm(yield ~ kind * slope, plots)
  expect_equal(model.matrix(fit), model.matrix(peer))
  expect_equal(model.matrix(fit, plots[4:9, ]), model.matrix(peer, data = plots[4:9, ]), ignore_attr = TRUE)
  expect_equal(drop(model.matrix(fit) %*% coef(fit)), predict(fit, type = "trend"), ignore_attr = TRUE)
  expect_identical(stats::variable.names(fit), names(coef(fit)))
  expect_identical(names(model.frame(fit)), c("yield", "clay", "kind", "slope"))
  expect_equal(predict(fit, model.frame(fit)), fitted(fit), ignore_attr = TRUE)
  plain <- gp_fit(plots["clay"], plots$yield, kernel = smooth, variance = 1, nugget = 0.1)
  expect_equal(model.matrix(plain), model.matrix(~ 1, plots), ignore_attr = TRUE)
  expect_identical(dimnames(model.matrix(plain)), dimnames(model.matrix(~ 1, plots)))
})

test_that("what a fit says of its data is what they were, whatever has become of them", {
  held <- plots
  fit <- local_reg(yield ~ clay, held, bandwidth = 1)
  held$clay <- 0
  expect_equal(model.frame(fit)$clay, plots$clay)
  away <- (function(formula) {
    hidden <- plots
    kernel_ridge(formula, hidden, lambda = 1)
  })(yield ~ clay)
  expect_equal(model.frame(away), model.frame(yield ~ clay, plots), ignore_formula_env = TRUE)
})

test_that("update() leaves rows out one by one as fits made by hand do, in a loop of any function", {
  skip_below("quick")
  predicted <- function(fit) vapply(1:6, function(i) predict(update(fit, subset = -i), plots[i, ]), 0)
  by_hand <- function(make) vapply(1:6, function(i) predict(make(plots[-i, ]), plots[i, ]), 0)
  make <- list(function(d) kernel_ridge(yield ~ clay + kind, d, lambda = 1),
               function(d) local_reg(yield ~ clay, d, bandwidth = 0.2),
               function(d) gp_fit(yield ~ clay, d, trend = ~ slope, kernel = smooth, variance = 1, nugget = 0.1))
  fits <- list(kernel_ridge(yield ~ clay + kind, plots, lambda = 1), local_reg(yield ~ clay, plots, bandwidth = 0.2),
               gp_fit(yield ~ clay, plots, trend = ~ slope, kernel = smooth, variance = 1, nugget = 0.1))
  for (k in seq_along(fits)) expect_equal(predicted(fits[[k]]), by_hand(make[[k]]))
  folds <- rep(1:4, 10)
  for (fold in 1:4) {
    out <- folds == fold
    expect_equal(predict(update(fits[[1]], subset = !out), plots[out, ]),
                 predict(make[[1]](plots[!out, ]), plots[out, ]))
  }
})

test_that("update() adds variables and takes data of the frame it is called in", {
  skip_below("quick")
  fit <- kernel_ridge(yield ~ clay, plots, lambda = 1)
  expect_equal(fitted(update(fit, . ~ . + slope)), fitted(kernel_ridge(yield ~ clay + slope, plots, lambda = 1)))
  expect_equal(fitted(update(kernel_ridge(yield ~ ., plots, lambda = 1), . ~ . - kind)),
               fitted(kernel_ridge(yield ~ clay + slope, plots, lambda = 1)))
  again <- function(fit) {
    half <- plots[1:20, ]
    update(fit, sqrt(yield + 3) ~ ., data = half)
  }
  expect_equal(fitted(again(fit)), fitted(kernel_ridge(sqrt(yield + 3) ~ clay, plots[1:20, ], lambda = 1)))
})

test_that("effects by shifted columns and means over grids of the model frame go through predict()", {
  fit <- kernel_ridge(yield ~ clay + kind, plots, lambda = 0.1)
  frame <- model.frame(fit)
  step <- 1e-5
  up <- predict(fit, transform(frame, clay = clay + step))
  down <- predict(fit, transform(frame, clay = clay - step))
  effects <- marginal_effects(fit)
  expect_equal(mean(up - down) / (2 * step), effects$estimate[effects$term == "clay"], tolerance = 1e-6)
  grid <- expand.grid(kind = levels(frame$kind), clay = mean(frame$clay))
  expect_length(predict(fit, grid), 2)
  process <- gp_fit(yield ~ clay, plots, trend = ~ kind, kernel = smooth, variance = 1, nugget = 0.1)
  at <- expand.grid(kind = process$trend$xlevels$kind, clay = 0.5)
  X <- model.matrix(stats::delete.response(process$trend$terms), at, contrasts.arg = process$trend$contrasts)
  expect_equal(drop(X %*% coef(process)), predict(process, at, type = "trend"), ignore_attr = TRUE)
})

test_that("the quantiles of a fit's residuals are drawn against the normal", {
  fit <- local_reg(yield ~ clay, plots, bandwidth = 1)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_equal(stats::qqnorm(fit, main = "left"), stats::qqnorm(residuals(fit)))
  expect_error(stats::qqnorm(kde_fit(places)), "no residuals", class = "kernweave_error_unsupported")
})

test_that("predictions for no rows are no numbers, whatever the model", {
  some <- quakes[1:120, ]
  process <- function(...) {
    gp_fit(depth ~ long + lat, some, kernel = kernel_spec(scale = 3), variance = 4e4, nugget = 1e3, ...)
  }
  fits <- list(process(trend = ~ mag + stations), process(), kernel_ridge(depth ~ long + lat, some, lambda = 1),
               local_reg(depth ~ long + lat, some, bandwidth = c(3, 3)),
               rbf_interpolate(depth ~ long + lat, unique(some)))
  for (fit in fits) expect_identical(as.numeric(predict(fit, some[0, ])), numeric(), label = class(fit)[1])
  for (fit in fits[1:2]) {
    found <- predict(fit, some[0, ], se.fit = TRUE, interval = "confidence")
    expect_identical(dim(found$fit), c(0L, 3L))
    expect_length(found$se.fit, 0)
  }
})

test_that("variables taken off by a minus are no inputs", {
  found <- function(formula) colnames(kernel_ridge(formula, cars2, lambda = 1)$x)
  cars2 <- data.frame(cars, other = sin(1:50), more = cos(1:50))
  expect_identical(found(dist ~ . - other), c("speed", "more"))
  expect_identical(found(dist ~ speed + other + more - other), c("speed", "more"))
  fit <- kernel_ridge(dist ~ . - other - more, cars2, lambda = 1)
  plain <- kernel_ridge(dist ~ speed, cars, lambda = 1)
  expect_identical(predict(fit, cars2[3:5, ]), predict(plain, cars[3:5, ]))
  flat <- function(formula) gp_fit(formula, cars2, kernel = kernel_spec(scale = 5), variance = 500, nugget = 200)
  expect_identical(predict(flat(dist ~ speed + other - other), cars2[3, ], block = 2),
                   predict(flat(dist ~ speed), cars[3, ], block = 2))
  expect_error(kernel_ridge(dist ~ speed - speed, cars), "names no variable", class = "kernweave_error_input")
})
