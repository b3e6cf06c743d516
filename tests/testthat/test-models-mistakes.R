# Tests that messages on mistakes of a first hour help: by class, with the argument, the name or the sizes.

flowers <- iris[, 1:4]
places <- as.matrix(quakes[1:40, 1:2])
geyser <- kde_fit(faithful)
by_formula <- kde_fit(~ eruptions + waiting, faithful)
stopping <- local_reg(dist ~ speed, cars, bandwidth = 2)
cars_of <- kernel_ridge(mpg ~ wt + hp + factor(cyl), mtcars, lambda = 1)
plate <- rbf_interpolate(places, quakes$depth[1:40], lambda = 1)
components <- kpca_fit(flowers)

test_that("what is not given or not there is named", {
  expect_said(kde_fit(), "input", "`x` is not given")
  expect_said(knn(), "input", "`x` is not given")
  expect_said(sinkhorn(flowers), "input", "`y` is not given")
  expect_said(local_reg(dist ~ speed, no_such_data), "input", "in `data`", "no_such_data")
  expect_said(local_reg(dist ~ speed, cars, weights = sped), "input", "in `weights`", "did you mean `speed`")
  expect_said(local_reg(dist ~ speed, cars, subset = sped > 3), "input", "in `subset`", "did you mean `speed`")
  expect_said(permanova(flowers ~ Species, iris, strata = species), "input", "in `strata`", "did you mean `Species`")
  expect_said(kernel_ridge(mpg ~ wt, mtcars, na.action = "na.exlude"), "input", "did you mean `na.exclude`")
  expect_said(marginal_effects(cars_of, "weight"), "input", "there are `wt`, `hp`, `factor(cyl)`")
})

test_that("an argument that is not there has its nearest beside it", {
  expect_said(kde_fit(faithful, bandwith = 1), "input", "`bandwith`", "did you mean `bandwidth`")
  expect_said(update(stopping, bandwith = 1), "input", "did you mean `bandwidth`")
  expect_said(kernel_ridge(mpg ~ wt, mtcars, lamda = 1), "input", "did you mean `lambda`")
  expect_said(kde_fit(faithful, colour = 1), "input", "`colour`; there are `x`, `bandwidth`, `weights`, `control`")
  expect_said(energy_test(mpg ~ am, mtcars, colour = 9), "input", "`colour`; there are", "`R`", "`subset`")
  expect_said(energy_test(mpg ~ am, mtcars, null = "permutaton"), "input", "did you mean `permutation`")
  expect_said(predict(stopping, cars, interval = "confidance"), "input", "did you mean `confidence`")
})

test_that("words may be cut short as base R's may, if there is one that they can mean", {
  expect_identical(predict(stopping, cars, interval = "conf"), predict(stopping, cars, interval = "confidence"))
  expect_identical(energy_test(mpg ~ am, mtcars, null = "mom")$p.value,
                   energy_test(mpg ~ am, mtcars, null = "moments")$p.value)
  expect_said(plot(cars_of, which = ""), "input", "`which` must be one of")
  expect_identical(choice_of("a", c("ab", "a", "abc"), "x"), "a")
  expect_said(choice_of("ab", c("abc", "abd"), "x"), "input", "`x` must be one of")
  expect_said(choice_of(NULL, c("abc", "abd"), "x"), "input", "not NULL")
})

test_that("predict() does not leave aside what it has not", {
  expect_said(predict(plate, se.fit = TRUE), "input", "no argument `se.fit`")
  expect_said(predict(geyser, se.fit = TRUE), "input", "no argument `se.fit`")
  expect_said(predict(components, k = 2), "input", "no argument `k`")
  expect_said(knn(as.matrix(flowers), "manhattan"), "input", "`query` must be points", "`metric` is given by name")
})

test_that("no method leaves aside an argument that it does not know", {
  process <- gp_fit(dist ~ speed, cars, kernel = kernel_spec("matern32", scale = 10))
  of_places <- kernel_gaussian(places)
  calls <- alist(
    predict(cars_of, new_data = mtcars), predict(process, new_data = cars), predict(stopping, new_data = cars),
    predict(kmeans_fit(flowers, 2), new_data = flowers), predict(sinkhorn(flowers[1:9, ], flowers[10:15, ]), news = 1),
    coef(process, whch = "covariance"), vcov(process, whch = "covariance"), vcov(cars_of, whole = TRUE),
    confint(process, levl = 0.9), confint(marginal_effects(cars_of), levl = 0.9),
    confint(logdet(of_places, ridge = 1), levl = 0.9), residuals(process, typ_ = "loo"), residuals(cars_of, typ_ = "a"),
    simulate(geyser, size = 3), coef(kernel_spec("gaussian", scale = 1), whch = "free"),
    audit(sum(of_places, index = "j", call = FALSE), n = 3), audit(solve(of_places, 1:40, ridge = 1), n = 3),
    audit(approximate(of_places), n = 3), explain(of_places, axis = 1), explain(approximate(of_places), cuda = TRUE),
    explain(sum(of_places, index = "j", call = FALSE), index = "i"), knn(flowers, K = 2)
  )
  for (call in calls) {
    said <- tryCatch({ eval(call); "nothing" }, kernweave_error_input = conditionMessage)
    expect_match(said, "there is no argument `", fixed = TRUE, label = deparse1(call))
  }
  expect_said(predict(cars_of, new_data = mtcars), "input", "did you mean `newdata`")
  expect_said(residuals(cars_of, "pearson"), "input", "`type` must be one of \"response\"")
  expect_identical(residuals(cars_of, "response"), residuals(cars_of))
  expect_said(confint(logdet(of_places, ridge = 1), level = 95), "value", "`level` must be")
})

test_that("augment() takes places as newdata and nothing else", {
  skip_if_not_installed("generics")
  for (fit in list(geyser, stopping, cars_of, plate, components)) {
    expect_said(generics::augment(fit, new_data = cars), "input", "no argument `new_data`; did you mean `newdata`")
  }
})

test_that("settings of fits are looked at where they are given, and shown in a line each", {
  skip_below("quick")
  expect_said(fit_control(probes = 1), "input", "`probes` must be a whole number of at least 2, not 1")
  expect_said(kernel_ridge(flowers[, 1:2], 1:150, control = fit_control(dense_n = 0, probes = 0)), "input",
              "`probes` of fit_control() is 0")
  expect_said(fit_control(seed = "a"), "input", "`seed` must be")
  expect_said(fit_control(rank = 0.5), "input", "`rank` must be")
  shown <- capture.output(print(fit_control(start = c(scale = 2, nugget = 1), approximate = 1e-6)))
  expect_identical(shown, c("Settings of fits", "  tol          1e-06", "  max_iter     500", "  verbose      FALSE",
                            "  dense_n      1,000", "  probes       16", "  seed         1",
                            "  start        scale = 2, nugget = 1", "  approximate  1e-06",
                            "  not given: lower, upper, rank"))
})

test_that("the rows a covariance is estimated on are more than its parameters and the trend's columns", {
  skip_below("quick")
  few <- function(...) gp_fit(mpg ~ wt, mtcars, ...)
  expect_said(few(estimate_on = 4), "value", paste0("`estimate_on` must be at least 5, not 4: the covariance has ",
                                                    "3 parameters, and the trend 1 column"))
  expect_said(few(estimate_on = 4, trend = ~wt, nugget = 1), "value",
              "at least 5, not 4: the covariance has 2 parameters, and the trend 2 columns")
  expect_silent(suppressWarnings(few(estimate_on = 5)))
  # If nothing is estimated, there is nothing to refuse.
  all_given <- function(on) few(kernel = kernel_spec("matern52", 1), variance = 30, nugget = 5, estimate_on = on)
  expect_equal(fitted(all_given(3)), fitted(all_given(Inf)))
  expect_said(gp_fit(mpg ~ wt, mtcars[1:4, ], estimate_on = 4), "data", "4 rows are too few")
})

test_that("fits say how they were solved, in which units the kernel is, and its name as it was typed", {
  skip_below("quick")
  bumps <- function(x, y, scale = 1) kernel_cauchy(x, y, scale)
  through <- function(k) kernel_ridge(mpg ~ wt, mtcars, lambda = 1, kernel = k)
  local_one <- function() {
    inner <- bumps
    through(inner)
  }
  says <- function(fit) paste(capture.output(print(fit)), collapse = "\n")
  expect_match(says(through(bumps)), "32 points, dense\n  bumps, scale [0-9.]+, of standardized inputs\n")
  expect_match(says(local_one()), "  inner, scale ")
  expect_match(says(through(function(x, y) exp(-sqdist(x, y)))), "  own kernel, of")
  expect_match(says(kernel_ridge(mpg ~ wt, mtcars, lambda = 1, kernel = bumps)), "  bumps, scale ")
  expect_match(says(kpca_fit(flowers, kernel = bumps)), " bumps, scale ")
  expect_match(format(eval(quote(kernel_spec(bumps)))), "^bumps,")
  plain <- kernel_ridge(mpg ~ wt, mtcars, lambda = 1, standardize = FALSE,
                        control = fit_control(dense_n = 0, approximate = 1e-6))
  expect_match(says(plain), "32 points, by series to 1e-06\n  Gaussian, scale [0-9.]+\n")
})

test_that("rows that are left are counted", {
  expect_said(kernel_ridge(flowers[0, ], numeric(0)), "data", "there are no rows to fit to")
  expect_said(gp_fit(flowers[1, ], 1), "data", "there is 1 row to fit to; two are needed")
  expect_said(kernel_ridge(mpg ~ wt, mtcars, subset = cyl == 5), "data", "`subset` keeps none of 32 rows")
  expect_said(kernel_ridge(mpg ~ wt, mtcars, subset = "a"), "input", "`subset` must be")
  expect_said(kernel_ridge(mpg ~ wt, mtcars, subset = 1:99), "index", "`subset` has 33", "32 rows")
  expect_said(kernel_ridge(mpg ~ wt, mtcars, subset = c(TRUE, FALSE)), "shape", "2 numbers for 32 rows")
  expect_said(local_reg(mpg ~ wt, transform(mtcars, wt = NA_real_)), "data", "no row is complete: 32 rows")
  expect_said(local_reg(mpg ~ wt, mtcars[0, ]), "data", "no rows")
  expect_equal(nobs(local_reg(mpg ~ wt, mtcars, subset = -(1:2), bandwidth = 1)), 30)
  expect_said(energy_test(airquality$Ozone, airquality$Wind), "data", "`x` has missing values in 37 rows")
  expect_said(energy_test(airquality$Wind, airquality$Ozone), "data", "`y` has missing values in 37 rows")
  for (call in expression(kde_fit(airquality), knn(airquality, k = 3), kmeans_fit(airquality, 3), kpca_fit(airquality),
                          knn_fit(airquality[-1], airquality$Ozone))) {
    expect_said(eval(call), "data", "missing values in", "na.omit() drops such rows")
  }
  expect_said(kmeans_fit(airquality, 3), "data", "(`Ozone`, `Solar.R`)")
})

test_that("an infinite number is found by its variable and its row", {
  d <- transform(mtcars, mpg = replace(mpg, 3, NA), disp = replace(disp, 5, 0), vs = vs + 1)
  for (fit in list(gp_fit, kernel_ridge, local_reg, rbf_interpolate)) {
    expect_said(fit(log(disp) ~ wt + hp, d), "data", "`log(disp)` has infinite values in 1 row: Hornet Sportabout")
    expect_said(fit(mpg ~ wt + log(disp), d), "data", "`data` has infinite values in 1 row", "Sportabout (`log(disp)`)")
    expect_said(fit(mpg ~ wt, d, weights = "vs"), "shape", "`weights = vs` takes a column of `data`")
    expect_said(fit(mpg ~ wt, d, weights = ~vs), "shape", "`weights = vs` takes a column of `data`")
    expect_said(fit(disp ~ wt, d, weights = vs - 1.5), "value", "number 1 is -0.5")
  }
})

test_that("what other packages and other methods call otherwise is answered by our word", {
  process <- gp_fit(depth ~ long + lat, quakes[1:40, ], kernel = kernel_spec("matern32", 1), variance = 1, nugget = 1)
  expect_said(local_reg(depht ~ long + lat, quakes), "input", "did you mean `depth`")
  for (word in c("range", "lengthscale")) {
    expect_said(do.call(kernel_spec, stats::setNames(list(1), word)), "input", "did you mean `scale`")
  }
  expect_said(predict(process, cbind(180, -20)), "input", "cbind(long = , lat = )")
  expect_said(cross_validate(process, replace(rep(1:4, 10), 7, NA)), "data", "in 1 row: 7")
  expect_said(plot(process, type = "se"), "input", "did you mean `which = \"se\"`")
  for (fit in list(process, geyser, stopping, plate)) {
    expect_said(plot(fit, colr = 1), "input", "there is no argument `colr` of this plot; did you mean `col")
  }
  expect_said(gp_fit(y ~ day, data.frame(y = 1:9, day = paste(1973, 5, 1:9, sep = "-"))), "input", "as.Date(data$day)")
  expect_said(kmeans_fit(cbind(day = paste(1973, 5, 1:9, sep = "/")), 2), "input", "dates that are stored as texts")
})

test_that("new data that do not fit say what they lack", {
  skip_below("quick")
  expect_said(predict(geyser, data.frame(eruptions = 3)), "shape", "`newdata` has no column `waiting`")
  expect_said(predict(geyser, c(3, 70)), "shape", "one place is a row")
  expect_said(predict(by_formula, data.frame(eruptions = 3)), "input", "`newdata` has no variable `waiting`")
  beside <- mtcars
  hp <- mtcars$hp
  cyl <- stopping
  bend <- 2
  two <- kernel_ridge(mpg ~ I(wt^bend) + hp, beside, lambda = 1)
  expect_said(predict(two, data.frame(wt = 3)), "input", "`newdata` has no variable `hp`")
  expect_length(predict(two, data.frame(wt = 3, hp = 100)), 1)
  trended <- gp_fit(mpg ~ wt, beside, trend = ~cyl, kernel = kernel_spec("matern32", scale = 1), nugget = 1)
  expect_said(predict(trended, data.frame(wt = 3)), "input", "`newdata` has no variable `cyl`")
  expect_said(predict(trended, data.frame(wt = 3, cy = 4)), "input", "did you mean `cy`")
  expect_said(predict(stopping, data.frame(sped = 3)), "input", "no variable `speed`; did you mean `sped`")
  expect_said(predict(components, flowers[1:3]), "shape", "`newdata` has no column `Petal.Width`")
  expect_said(predict(plate, data.frame(long = 180)), "shape", "`newdata` has no column `lat`")
  rooms <- kernel_ridge(mpg ~ wt + hp, mtcars, lambda = 1)
  expect_said(predict(rooms, mtcars[1:3, "hp", drop = FALSE]), "input", "`newdata` has no variable `wt`")
  expect_said(predict(kmeans_fit(flowers, 2), flowers[1:3]), "shape", "`newdata` has no column `Petal.Width`")
  expect_said(knn(as.matrix(flowers), unlist(flowers[1, ])), "shape", "one place is a row")
  expect_said(knn(flowers, flowers[1:2, 1:3]), "shape", "`query` has no column `Petal.Width`")
  dropped <- suppressWarnings(kernel_ridge(cbind(mtcars$wt, 1, mtcars$hp), mtcars$mpg, lambda = 1))
  expect_said(predict(dropped, cbind(1, 2)), "shape", "2 columns, and the fit 3")
  expect_length(predict(dropped, cbind(1, 1, 2)), 1)
})

test_that("texts are not taken for numbers, nor numbers for levels", {
  expect_said(predict(stopping, data.frame(speed = "12")), "input", "`speed` was numbers in the fit", "character")
  expect_said(predict(geyser, data.frame(eruptions = "3", waiting = 70)), "input", "`eruptions` was numbers")
  grouped <- kernel_ridge(mpg ~ wt + g, transform(mtcars, g = factor(cyl)), lambda = 1)
  expect_said(predict(grouped, data.frame(wt = 3, g = 4)), "input", "`g` was a factor in the fit")
  expect_equal(predict(grouped, data.frame(wt = 3, g = "4")), predict(grouped, data.frame(wt = 3, g = factor(4, 4:6))))
  expect_said(predict(cars_of, data.frame(wt = 3, hp = 100, cyl = 5)), "data", "new level `5`")
  expect_said(kernel_ridge(mtcars, "mpg"), "input", "the response must be numbers", "character vector of length 1")
  expect_said(kernel_ridge(mtcars, mpg ~ wt), "input", "`y` is a formula, which stands first")
  expect_said(kernel_ridge(mpg ~ wt, "mtcars"), "input", "`data` must be a data frame, not a character vector")
  expect_said(permanova(flowers ~ Species, 1:3), "input", "`data` must be a data frame")
})

test_that("points are not taken for numbers of neighbours", {
  expect_said(knn(flowers, 5), "shape", "`query` has 1 column", "`k` and `radius` are given by name")
  expect_said(radius_nn(flowers, 0.5), "input", "`radius` is not given", "by name")
  expect_said(knn(flowers, metric = function(x) x), "input", "`metric` must be a function of two points", "1 argument")
  expect_said(permanova(flowers ~ Species, iris, distance = function(x) x), "input", "`distance` must be a function")
  expect_s3_class(knn(flowers, k = 2, metric = manhattan), "kernweave_nn")
  expect_said(local_reg(dist ~ speed, cars, bandwidth = -1), "value", "`bandwidth`", "not -1")
})

test_that("deviance and the deviation of the noise are those of the residuals", {
  expect_equal(sigma(stopping)^2 * df.residual(stopping), deviance(stopping))
  expect_equal(deviance(stopping), sum((cars$dist - fitted(stopping))^2))
  weighed <- kernel_ridge(mpg ~ wt, mtcars, weights = hp, lambda = 1)
  expect_equal(deviance(weighed), sum(mtcars$hp * residuals(weighed)^2))
  expect_equal(deviance(local_reg(cbind(mpg, hp) ~ wt, mtcars, bandwidth = 1))[["mpg"]],
               deviance(local_reg(mpg ~ wt, mtcars, bandwidth = 1)))
  expect_equal(sigma(plate)^2, deviance(plate) / (40 - plate$edf))
  expect_said(sigma(geyser), "unsupported", "kde_fit")
  expect_said(deviance(components), "unsupported", "kpca_fit")
})

test_that("after rows are left out, names tell which are there", {
  skip_below("quick")
  fits <- list(kernel_ridge(Ozone ~ Wind, airquality, lambda = 1), local_reg(Ozone ~ Wind, airquality, bandwidth = 2),
               rbf_interpolate(Ozone ~ Wind, airquality, lambda = 1),
               gp_fit(Ozone ~ Wind, airquality, kernel = kernel_spec("matern52", 5), variance = 900, nugget = 600))
  kept <- names(residuals(lm(Ozone ~ Wind, airquality)))
  for (fit in fits) {
    expect_identical(names(residuals(fit)), kept)
    expect_identical(names(fitted(fit)), kept)
    expect_identical(names(predict(fit, airquality[c(3, 7), ])), c("3", "7"))
    expect_null(names(predict(fit, data.frame(Wind = 7:9))))
    every <- update(fit, na.action = na.exclude)
    expect_length(residuals(every), 153)
    expect_identical(unname(residuals(every)[as.integer(kept)]), unname(residuals(fit)))
  }
  expect_null(names(fitted(stopping)))
  expect_identical(names(fitted(local_reg(dist ~ speed, cars, subset = speed > 9, bandwidth = 2))),
                   as.character(which(cars$speed > 9)))
})

test_that("fits print how many rows with missing values were left out", {
  cars <- transform(mtcars, wt = replace(wt, 4:5, NA))
  fits <- list(kernel_ridge(mpg ~ wt, cars, lambda = 1), local_reg(mpg ~ wt, cars, bandwidth = 1),
               kde_fit(~ wt, cars, bandwidth = 1), rbf_interpolate(mpg ~ wt, cars, lambda = 1),
               kpca_fit(~ mpg + wt, cars), gp_fit(mpg ~ wt, cars, kernel = kernel_spec("matern32", 1), nugget = 1))
  for (fit in fits) expect_output(print(fit), "\n(2 rows with missing values left out)", fixed = TRUE)
  expect_output(print(summary(fits[[6]])), "(2 rows with missing values left out)", fixed = TRUE)
  expect_false(any(grepl("left out", capture.output(local_reg(mpg ~ wt, mtcars, bandwidth = 1)))))
})

test_that("a constant column without a name is named by its number", {
  x <- cbind(mtcars$wt, 2, mtcars$hp)
  constant <- function(said) {
    expect_warning(kernel_ridge(x, mtcars$mpg, lambda = 1), said, class = "kernweave_warning_dropped")
  }
  colnames(x) <- c("a", "", "c")
  constant("^column 2 is constant")
  colnames(x) <- c("", "b", "")
  constant("^`b` is constant")
  x[, 1:2] <- c(rep(5, 32), mtcars$wt)
  constant("^column 1 is constant")
})
