# Fits and tests as other packages' generics find them: data frames, whatever is attached.

set.seed(11)
plots <- data.frame(clay = stats::runif(40), slope = stats::runif(40, 0, 9), kind = factor(rep(c("oak", "fir"), 20)))
plots$yield <- sin(4 * plots$clay) + plots$slope / 9 + (plots$kind == "fir") + stats::rnorm(40, sd = 0.1)
places <- plots[c("clay", "slope")]
smooth <- kernel_spec("matern32", scale = 2)

test_that("augment() has the response and all variables of the model frame, or the data that are given", {
  skip_below("quick")
  skip_if_not_installed("generics")
  holes <- airquality[1:40, ]
  fits <- list(kernel_ridge(log(Ozone) ~ Temp + Wind, holes, lambda = 1),
               local_reg(log(Ozone) ~ Temp + Wind, holes, bandwidth = 5),
               rbf_interpolate(log(Ozone) ~ Temp + Wind, holes, lambda = 1),
               gp_fit(log(Ozone) ~ Temp + Wind, holes, kernel = smooth, nugget = 1, variance = 1))
  for (fit in fits) {
    all <- generics::augment(fit)
    frame <- model.frame(log(Ozone) ~ Temp + Wind, holes)
    expect_equal(as.data.frame(all)[names(frame)], frame, ignore_attr = TRUE, label = class(fit)[1])
    expect_equal(all$.fitted + all$.resid, frame[[1]])
    beside <- generics::augment(fit, data = holes)
    expect_equal(as.data.frame(beside)[names(holes)], holes[!is.na(holes$Ozone), ], ignore_attr = "row.names")
    expect_equal(beside$.resid, all$.resid)
    expect_identical(generics::augment(fit, holes[!is.na(holes$Ozone), ]), beside)
    expect_equal(generics::augment(fit, newdata = holes[1:2, ])$.fitted, unname(predict(fit, holes[1:2, ])))
    expect_error(generics::augment(fit, holes[1:3, ]), "newdata", class = "kernweave_error_shape")
  }
  expect_identical(setdiff(names(generics::augment(kde_fit(~Temp, holes), holes)), names(holes)), ".fitted")
  expect_identical(names(generics::augment(kpca_fit(places, k = 2))), c("clay", "slope", ".fittedPC1", ".fittedPC2"))
  expect_equal(generics::augment(kernel_ridge(places, plots$yield, lambda = 1))$response, plots$yield)
  two <- generics::augment(local_reg(cbind(yield, slope) ~ clay, plots, bandwidth = 1), se_fit = FALSE)
  expect_identical(names(two), c("cbind(yield, slope)", "clay", ".fitted", ".resid"))
  expect_identical(dim(two$.fitted), c(40L, 2L))
})

test_that("effects, tests and transports are data frames with what is in them", {
  skip_below("quick")
  skip_if_not_installed("generics")
  effects <- marginal_effects(kernel_ridge(yield ~ clay + kind, plots, lambda = 1))
  rows <- generics::tidy(effects)
  expect_s3_class(rows, "data.frame")
  expect_identical(rows$conf.high, effects$conf.high)
  ridge <- kernel_ridge(yield ~ clay, plots, lambda = 1)
  expect_identical(names(generics::tidy(marginal_effects(ridge, se.fit = FALSE))),
                   c("term", "contrast", "estimate"))
  set.seed(2)
  found <- mmd_test(places, groups = plots$kind, R = 49)
  row <- generics::tidy(found)
  expect_identical(as.data.frame(row[c("statistic", "p.value")]),
                   data.frame(statistic = found$statistic[[1]], p.value = found$p.value))
  expect_identical(unlist(row[c("estimate1", "estimate2")], use.names = FALSE), unname(found$estimate))
  expect_identical(generics::glance(found), row)
  expect_identical(generics::tidy(energy_test(places, groups = plots$kind, R = 49))$method,
                   "Energy test of equal distributions (2 groups, 49 permutations)")
  expect_identical(capture.output(summary(found)), capture.output(found))
  moved <- sinkhorn(places[1:20, ], places[21:40, ], epsilon = 1)
  expect_identical(unlist(generics::glance(moved)[c("value", "cost")]), c(value = moved$value, cost = moved$cost))
})

test_that("neighbours are a matrix as they are a data frame", {
  for (found in list(knn(places, k = 2), radius_nn(places, radius = 0.3))) {
    expect_identical(as.matrix(found), as.matrix(as.data.frame(found)))
    expect_identical(colnames(as.matrix(found)), c("query", "neighbour", "distance"))
  }
})

test_that("explain(), tidy(), glance() and augment() reach their methods in whatever order packages are attached", {
  skip_below("quick")
  lines <- c("x <- matrix(c(0.1, 0.5, 0.9, 0.2), 4)", "K <- kernel_gaussian(x)",
             "fit <- kernel_ridge(dist ~ speed, cars, lambda = 1)",
             "found <- list(explain(K), explain(sum(K, index = 'j', call = FALSE)), explain(approximate(K)))",
             "frames <- if (exists('tidy')) list(tidy(fit), glance(fit), augment(fit), tidy(marginal_effects(fit)))",
             "list(vapply(found, inherits, NA, 'kernweave_explanation'), vapply(frames, is.data.frame, NA))")
  expect_reached <- function(packages) {
    attached <- sprintf("suppressPackageStartupMessages(library(%s))", packages)
    frames <- if (any(packages %in% c("generics", "broom"))) rep(TRUE, 4) else logical()
    expect_identical(in_new_process(c(attached, lines)), list(rep(TRUE, 3), frames),
                     label = paste(packages, collapse = ", "))
  }
  others <- c("dplyr", "generics", "broom")
  for (other in others) skip_if_not_installed(other)
  if (reaches("all")) for (other in others) {
    expect_reached(c("kernweave", other))
    expect_reached(c(other, "kernweave"))
  }
  expect_reached(c("dplyr", "kernweave", "broom", "generics"))
  if (reaches("usual")) expect_reached(c("generics", "broom", "kernweave", "dplyr"))
})

test_that("explain() of what is not ours is left to the function that it stands before", {
  behind <- match("package:kernweave", search()) + 1L
  attach(list(explain = function(x, ...) "another"), pos = behind, name = "another package", warn.conflicts = FALSE)
  on.exit(detach("another package", character.only = TRUE))
  expect_identical(explain(1), "another")
})

test_that("explain() of what nobody knows is the error of who is asked, in each order of attaching", {
  skip_if_not_installed("dplyr")
  said <- function(packages) {
    lines <- c(sprintf("suppressPackageStartupMessages(library(%s))", packages),
               "explain.known <- function(x, ...) 'its'",
               "one <- function(x) tryCatch(explain(x), error = conditionMessage)",
               "c(one(data.frame(a = 1)), one(structure(1, class = 'zz')), one(structure(1, class = 'known')))")
    in_new_process(lines)
  }
  for (packages in list(c("dplyr", "kernweave"), c("kernweave", "dplyr"))) {
    found <- said(packages)
    expect_match(found[1:2], "no applicable method for 'explain'")
    expect_identical(found[3], "its")
  }
  expect_match(said("kernweave")[1], "must be a lazy tensor")
})
