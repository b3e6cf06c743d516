# Clusters by density and outlier factors, against the dbscan package and dense distances.

petals <- iris[, 1:4]

# Finds clusters by the definition, from all distances.
dense_clusters <- function(D, eps, minPts, borders = TRUE) {
  near <- D <= eps
  core <- rowSums(near) >= minPts
  cluster <- integer(nrow(D))
  for (i in which(core)) {
    if (cluster[i]) next
    part <- i
    repeat {
      grown <- which(core & colSums(near[part, , drop = FALSE]) > 0)
      if (length(grown) == length(part)) break
      part <- grown
    }
    cluster[part] <- max(cluster) + 1L
  }
  for (i in which(!core & borders)) {
    at <- which(core)[which.min(D[i, core])]
    if (length(at) && near[i, at]) cluster[i] <- cluster[at]
  }
  list(cluster = cluster, core = core)
}

test_that("clusters are those of the definition, whatever the metric", {
  found <- dbscan_fit(petals, eps = 0.5)
  expect_s3_class(found, c("dbscan_fit", "dbscan_fast", "dbscan"), exact = TRUE)
  expect_identical(as.vector(table(found$cluster)), c(17L, 49L, 84L))
  expect_identical(sum(found$core), 117L)
  by <- list(euclidean = 0.5, manhattan = 0.8, maximum = 0.3, canberra = 0.12)
  for (name in names(by)) for (borders in c(TRUE, FALSE)) {
    among <- dense_clusters(as.matrix(stats::dist(petals, name)), by[[name]], 5, borders)
    found <- dbscan_fit(petals, by[[name]], metric = name, borderPoints = borders)
    expect_identical(found$core, unname(among$core), label = name)
    expect_identical(found$cluster, among$cluster, label = name)
  }
  expect_identical(dbscan_fit(petals, 0.25, metric = "sqeuclidean")$cluster, dbscan_fit(petals, 0.5)$cluster)
})

test_that("places on a sphere are clustered across the date line and at the poles", {
  set.seed(3)
  places <- cbind(stats::runif(400, -180, 180), asin(stats::runif(400, -1, 1)) * 180 / pi)
  places <- rbind(places, cbind(180, c(10, 10.5, 11)), cbind(-180, c(10, 10.5, 11)), cbind(c(0, 90, 180), 89.9))
  by_boxes <- dbscan_fit(places, 600, minPts = 4, metric = "haversine")
  by_pairs <- dbscan_fit(places, 600, minPts = 4, metric = function(x, y) haversine(x, y, radius = 6371.0088))
  expect_identical(by_boxes$cluster, by_pairs$cluster)
  expect_length(unique(by_boxes$cluster[401:406]), 1)
  expect_gt(max(by_boxes$cluster), 1)
})

test_that("cores and their clusters are those of dbscan, and a border point's cluster is in reach", {
  skip_without_peer("dbscan")
  set.seed(1)
  clouds <- rbind(matrix(stats::rnorm(2000), ncol = 2), matrix(stats::rnorm(2000, 3, 0.5), ncol = 2),
                  matrix(stats::runif(600, -5, 6), ncol = 2))
  for (minPts in c(3, 8, 20)) {
    ours <- dbscan_fit(clouds, 0.3, minPts)
    theirs <- dbscan::dbscan(clouds, 0.3, minPts)
    expect_identical(ours$core, dbscan::is.corepoint(clouds, 0.3, minPts))
    expect_identical(ours$cluster[ours$core], theirs$cluster[ours$core])
    expect_identical(ours$cluster == 0, theirs$cluster == 0)
    of_cores <- dbscan_fit(clouds, 0.3, minPts, borderPoints = FALSE)
    expect_identical(of_cores$cluster, dbscan::dbscan(clouds, 0.3, minPts, borderPoints = FALSE)$cluster)
  }
  expect_output(dbscan:::print.dbscan_fast(ours), "2300 objects")
  for (unit in c(1e-100, 1e100)) {
    expect_identical(dbscan_fit(clouds * unit, 0.3 * unit, 8)$core, dbscan::is.corepoint(clouds, 0.3, 8))
  }
  far <- clouds + 1e7
  both <- list(dbscan_fit(far, 0.3, 8, borderPoints = FALSE), dbscan::dbscan(far, 0.3, 8, borderPoints = FALSE))
  expect_identical(both[[1]]$cluster, both[[2]]$cluster)
  grid <- as.matrix(expand.grid(1:30, 1:30)) / 10
  expect_identical(dbscan_fit(grid, 0.1, 5)$core, dbscan::is.corepoint(grid, 0.1, 5))
  expect_equal(dbscan_fit(petals, 0.5)$cluster, dbscan::dbscan(petals, 0.5)$cluster)
})

test_that("the order of rows changes nothing but numbers of clusters, threads nothing at all", {
  set.seed(2)
  x <- matrix(stats::runif(4000), ncol = 2)
  one <- dbscan_fit(x, 0.025, minPts = 5)
  p <- sample(2000)
  two <- dbscan_fit(x[p, ], 0.025, minPts = 5)
  expect_identical(one$core[p], two$core)
  expect_identical(nrow(unique(cbind(one$cluster[p], two$cluster))), length(unique(one$cluster)))
  expect_length(unique(two$cluster), length(unique(one$cluster)))
  threads <- lapply(1:3, function(k) with_kernweave(threads = k, dbscan_fit(x, 0.025, minPts = 5)$cluster))
  expect_identical(threads[[1]], threads[[2]])
  expect_identical(threads[[1]], threads[[3]])
  # A chain in an order that passes labels on slowly.
  chain <- dbscan_fit(sample(3000) * 1, 1, minPts = 2)
  expect_identical(unique(chain$cluster), 1L)
  # r copies of each point with r times the neighbours.
  many <- dbscan_fit(rbind(x, x, x), 0.025, minPts = 15)
  expect_identical(many$cluster, rep(one$cluster, 3))
})

test_that("noise alone, twins, single points and no points are clustered", {
  expect_identical(dbscan_fit(c(1, 5, 9), 0.5, minPts = 2)$cluster, c(0L, 0L, 0L))
  expect_identical(dbscan_fit(c(4, 1, 4, 1, 2), 0, minPts = 2)$cluster, c(1L, 2L, 1L, 2L, 0L))
  expect_identical(dbscan_fit(1, 1, minPts = 1)$cluster, 1L)
  expect_warning(none <- dbscan_fit(petals, 1, minPts = 151), "150 points", class = "kernweave_warning_empty")
  expect_true(all(none$cluster == 0))
  expect_identical(predict(none, petals[1:2, ]), c(0L, 0L))
  expect_warning(expect_identical(dbscan_fit(numeric(), 1)$cluster, integer()), class = "kernweave_warning_empty")
  named <- dbscan_fit(mtcars[, c("mpg", "wt")], 1, minPts = 3)
  expect_named(named$cluster, rownames(mtcars))
})

test_that("new points take the cluster of their nearest core", {
  found <- dbscan_fit(petals, 0.5)
  expect_identical(predict(found), found$cluster)
  expect_identical(predict(found, petals), found$cluster)
  expect_equal(predict(found, petals[c(1, 51), 4:1]), c(`1` = 1, `51` = 2))
  absent <- petals[1:3, ]
  absent[2, 3] <- NA
  expect_identical(predict(found, absent), c(1L, NA, 1L))
  expect_identical(predict(found, petals[0, ]), integer())
  expect_error(predict(found, petals[, 1:2]), "Petal.Length", class = "kernweave_error_shape")
  expect_error(predict(found, matrix(1, 2, 3)), "3 columns", class = "kernweave_error_shape")
  expect_output(print(found), "2 clusters, 117 cores, 16 border points, 17 noise")
  drawn <- kernweave:::plot_data(found, petals)$layers$points$group
  expect_identical(levels(drawn), c("1", "2"))  # noise is grey
  expect_identical(sum(is.na(drawn)), 17L)
  expect_identical(nrow(kernweave:::plot_data(found)$layers$points), 150L)
})

test_that("mistakes are refused by class", {
  expect_error(dbscan_fit(petals), "eps", class = "kernweave_error_input")
  for (eps in list(-1, Inf, NA_real_, "1", c(1, 2))) {
    expect_error(dbscan_fit(petals, eps), class = "kernweave_error_value")
  }
  expect_error(dbscan_fit(petals, 1, minPts = 0), class = "kernweave_error_input")
  expect_error(dbscan_fit(petals, 1, borderPoints = 1), class = "kernweave_error_input")
  expect_error(dbscan_fit(airquality, 1), "missing values", class = "kernweave_error_data")
  expect_error(dbscan_fit(stats::dist(petals), 1), class = "kernweave_error_input")
  expect_error(dbscan_fit(petals, 1, metric = "euclidian"), class = "kernweave_error_input")
  expect_error(lof_scores(petals, k = 150), class = "kernweave_error_value")
  expect_error(lof_scores(airquality), class = "kernweave_error_data")
})

test_that("outlier factors are those of dbscan, and of the definition", {
  set.seed(5)
  x <- rbind(matrix(stats::rnorm(300), ncol = 3), c(5, 5, 5))
  D <- dense_distance(x)
  diag(D) <- Inf
  near <- lapply(1:101, function(i) order(D[i, ])[1:6])
  kd <- vapply(1:101, function(i) sort(D[i, ])[6], 0)
  density <- vapply(1:101, function(i) 1 / mean(pmax(D[i, near[[i]]], kd[near[[i]]])), 0)
  factor <- vapply(1:101, function(i) mean(density[near[[i]]]) / density[i], 0)
  expect_equal(lof_scores(x, k = 6), factor, tolerance = 1e-14)
  expect_identical(which.max(factor), 101L)
  expect_message(copies <- lof_scores(c(1, 1, 1, 2, 3, 4.5), k = 2), "^3 points with as many copies")
  expect_equal(copies[c(1:3, 4)], c(1, 1, 1, Inf))
  expect_named(lof_scores(mtcars), rownames(mtcars))
  skip_without_peer("dbscan")
  expect_equal(lof_scores(x, k = 6), dbscan::lof(x, minPts = 7), tolerance = 4e-16 * 8)
})
