# Tidy tables as pipelines use them: tibbles, intervals on demand, clusters and neighbours.

skip_below("quick")
skip_if_not_installed("generics")
tidy <- generics::tidy
glance <- generics::glance
augment <- generics::augment
flowers <- iris[seq(1, 150, by = 3), ]
petals <- flowers[3:4]

test_that("every table is a tibble where that package is installed, and row names are kept as broom keeps them", {
  skip_if_not_installed("tibble")
  skip_without_peer("broom")
  smooth <- kernel_spec("matern32", scale = 1)
  map <- gp_fit(mpg ~ wt, mtcars, kernel = smooth)
  folds <- cross_validate(map, folds = 3, seed = 1)
  ridge <- kernel_ridge(mpg ~ wt, mtcars, lambda = 0.1, kernel = smooth)
  near <- knn_fit(mpg ~ wt, mtcars)
  clusters <- list(kmeans_fit(petals, petals[c(1, 20, 40), ]), dbscan_fit(petals, 0.4), hdbscan_fit(petals))
  fits <- c(list(map, ridge, near, local_reg(mpg ~ wt, mtcars, bandwidth = 1), kde_fit(~wt, mtcars),
                 kpca_fit(petals, k = 2), rbf_interpolate(mpg ~ wt, mtcars, lambda = 1), folds), clusters)
  for (fit in fits) {
    data <- if (inherits(fit, c("kmeans", "dbscan", "hdbscan"))) flowers
    tables <- list(tidy(fit), glance(fit), if (is.null(data)) augment(fit) else augment(fit, data))
    for (table in tables) expect_s3_class(table, "tbl_df")
    expect_identical(nrow(tables[[2]]), 1L)
  }
  others <- list(elpd(map), marginal_effects(ridge), profile(map, "variance"), variogram(map), predictive_scores(map),
                 knn(petals, k = 2), radius_nn(petals, radius = 0.1),
                 pairwise_test(petals, flowers$Species, null = "moments"),
                 energy_test(petals, groups = flowers$Species, R = 19), silhouette_widths(petals, flowers$Species),
                 permanova(petals ~ Species, flowers, R = 19),
                 sinkhorn(petals[1:9, ], petals[20:30, ], epsilon = 1))
  for (one in others) expect_s3_class(tidy(one), "tbl_df")
  theirs <- stats::lm(mpg ~ wt, mtcars)
  expect_identical(names(augment(map, se_fit = FALSE)), names(broom::augment(theirs))[1:5])
  for (rows in list(1:4, c(7, 3))) {
    expect_identical(augment(map, newdata = mtcars[rows, ])$.rownames, rownames(mtcars)[rows])
  }
  expect_null(augment(gp_fit(dist ~ speed, cars, kernel = smooth, variance = 1, nugget = 1))[[".rownames"]])
})

test_that("intervals are there if they are asked for, at the level that is asked for", {
  smooth <- kernel_spec("matern32", scale = 5)
  map <- gp_fit(dist ~ speed, cars, kernel = smooth)
  ridge <- kernel_ridge(dist ~ speed, cars, lambda = 1, kernel = smooth)
  effects <- marginal_effects(ridge)
  for (one in list(map, ridge, effects, profile(map, "variance"))) {
    ends <- c("conf.low", "conf.high")
    full <- tidy(one)
    expect_identical(full, tidy(one, conf.int = TRUE, conf.level = 0.95), label = class(one)[1])
    expect_identical(tidy(one, conf.int = FALSE), full[!names(full) %in% ends])
    narrow <- tidy(one, conf.level = 0.5)
    known <- !is.na(full$conf.low)
    expect_true(all((narrow$conf.low > full$conf.low & narrow$conf.high < full$conf.high)[known]))
    expect_identical(narrow[!names(full) %in% ends], full[!names(full) %in% ends])
    expect_error(tidy(one, conf.int = NA), "conf.int", class = "kernweave_error_input")
  }
  expect_equal(as.matrix(tidy(effects, conf.level = 0.9)[ends]), confint(effects, level = 0.9), ignore_attr = TRUE)
  bare <- marginal_effects(ridge, se.fit = FALSE)
  expect_error(tidy(bare, conf.level = 0.9), "standard errors", class = "kernweave_error_input")
})

test_that("k-means has the tables that broom makes of it", {
  skip_without_peer("broom")
  found <- kmeans_fit(petals, petals[c(1, 20, 40), ])
  plain <- structure(found, class = "kmeans")
  expect_equal(tidy(found), broom::tidy(plain), ignore_attr = TRUE)
  expect_equal(glance(found), broom::glance(plain), ignore_attr = TRUE)
  expect_equal(augment(found, flowers)$.cluster, unname(broom::augment(plain, flowers)$.cluster))
  expect_identical(as.vector(augment(found, newdata = iris[1:7, 3:4])$.cluster),
                   as.character(predict(found, iris[1:7, 3:4])))
  one <- kmeans_fit(c(1, 2, 9), 2)
  expect_identical(names(tidy(one)), c("x1", "size", "withinss", "cluster"))
  expect_error(augment(found), "`data` is not given", class = "kernweave_error_input")
  expect_error(augment(found, petals[1:9, ]), "50 rows, not 9 rows; other places", class = "kernweave_error_shape")
  expect_error(augment(found, petals, new_data = petals), "did you mean `newdata`", class = "kernweave_error_input")
})

test_that("density clusters have the columns of the dbscan package, noise first", {
  x <- rbind(petals, c(99, 99))
  for (found in list(dbscan_fit(x, eps = 0.4), hdbscan_fit(x))) {
    rows <- tidy(found)
    of_trees <- inherits(found, "hdbscan")
    expect_identical(names(rows), c("cluster", "size", if (of_trees) "cluster_score", "noise"))
    expect_identical(rows$size, as.vector(table(factor(found$cluster, levels(rows$cluster)))))
    expect_identical(which(rows$noise), 1L)
    expect_identical(unlist(glance(found)), c(nobs = 51L, n.clusters = nrow(rows) - 1L, nexcluded = rows$size[1]))
    beside <- augment(found, x)
    expect_identical(as.vector(beside$.cluster), as.character(found$cluster))
    expect_identical(levels(beside$.cluster), levels(rows$cluster))
    new <- augment(found, newdata = x[c(1, 51), ])
    expect_identical(as.vector(new$.cluster), as.character(predict(found, x[c(1, 51), ])))
    more <- if (of_trees) paste0(".", c("coredist", "membership_prob", "outlier_scores")) else "noise"
    expect_identical(setdiff(names(beside), c(names(x), ".rownames")), c(".cluster", more))
    if (of_trees) expect_identical(beside$.outlier_scores, unname(found$outlier_scores))
  }
  alone <- dbscan_fit(petals[1:3, ], eps = 1e-9, minPts = 2)
  expect_identical(as.list(glance(alone)), list(nobs = 3L, n.clusters = 0L, nexcluded = 3L))
  expect_identical(tidy(alone)$noise, TRUE)
})

test_that("neighbours have a row for each pair", {
  for (found in list(knn(petals, k = 2), radius_nn(petals, radius = 0.2), radius_nn(petals, radius = 0))) {
    expect_equal(as.data.frame(tidy(found)), as.data.frame(found), ignore_attr = TRUE)
    row <- glance(found)
    expect_identical(c(row$nobs, row$neighbours), c(50L, nrow(tidy(found))))
    expect_equal(row$mean.distance, mean(tidy(found)$distance))
  }
})

test_that("posteriors have the means of their draws, with intervals between quantiles", {
  set.seed(7)
  places <- data.frame(x = stats::runif(40), y = stats::runif(40))
  places$z <- sin(6 * places$x) + places$y + stats::rnorm(40, sd = 0.3)
  post <- gp_posterior(gp_fit(z ~ x + y, places, kernel = kernel_spec("matern32")), seed = 1)
  rows <- tidy(post, conf.level = 0.9)
  expect_equal(unname(as.matrix(rows[-1])), unname(summary(post)[, c("mean", "sd", "5 %", "95 %")]))
  expect_identical(names(tidy(post, conf.int = FALSE)), c("term", "estimate", "std.error"))
  expect_identical(unlist(glance(post)[c("nobs", "draws")]), c(nobs = 40L, draws = 1000L))
})
