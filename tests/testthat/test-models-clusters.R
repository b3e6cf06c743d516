# Silhouettes and k-means against the packages cluster and stats.

petals <- iris[, 1:4]
start <- petals[c(1, 51, 101), ]

test_that("k-means is that of stats by Lloyd's iteration, in every field", {
  found <- kmeans_fit(petals, start)
  expect_equal(found$tot.withinss, 78.8514414261, tolerance = 1e-11)
  expect_identical(found$size, c(50L, 62L, 38L))
  expect_s3_class(found, "kmeans")
  for (k in 2:5) {
    centers <- as.matrix(petals[seq(1, 150, length.out = k), ])
    peer <- stats::kmeans(petals, centers, iter.max = 100, algorithm = "Lloyd")
    expect_equal(structure(unclass(kmeans_fit(petals, centers)), sample = NULL), unclass(peer))
  }
  expect_warning(short <- kmeans_fit(petals, start, iter.max = 2), class = "kernweave_warning_convergence")
  suppressWarnings(peer <- stats::kmeans(petals, start, iter.max = 2, algorithm = "Lloyd"))
  expect_equal(short$centers, peer$centers)
  expect_equal(short$iter, peer$iter)
})

test_that("a number of clusters is started by set.seed(), and weights are rows again", {
  set.seed(1)
  one <- kmeans_fit(petals, 3)
  set.seed(1)
  expect_identical(kmeans_fit(petals, 3), one)
  expect_equal(one$tot.withinss, 78.851441, tolerance = 1e-6)
  weights <- rep(c(1, 2, 3), 50)
  heavy <- kmeans_fit(petals, start, weights = weights)
  many <- kmeans_fit(petals[rep(1:150, weights), ], start)
  expect_equal(heavy$centers, many$centers)
  expect_equal(heavy$tot.withinss, many$tot.withinss)
  some <- kmeans_fit(petals, start, weights = rep(c(1, 0), 75))
  expect_equal(some$centers, kmeans_fit(petals[c(TRUE, FALSE), ], start)$centers)
  expect_length(some$cluster, 150)
})

test_that("an empty cluster takes the farthest point, with a warning", {
  x <- c(1, 2, 3, 4, 100)
  expect_warning(found <- kmeans_fit(x, rbind(2, 3, 1000)), class = "kernweave_warning_empty")
  expect_true(all(found$size > 0))
  expect_equal(found$cluster[5], 3)
  grid <- as.matrix(expand.grid(1:7, 1:5, 1:2))
  far <- rbind(grid[c(3, 40), ], c(90, 0, 0), c(0, -90, 0))
  mass <- rep(1:2, 35)
  lost <- "cluster 3, 4 lost"
  expect_warning(found <- kmeans_fit(grid, far, weights = mass), lost, class = "kernweave_warning_empty")
  expect_true(all(found$size > 0))
  means <- rowsum(mass * grid, found$cluster) / as.vector(rowsum(mass, found$cluster))
  expect_equal(unname(found$centers), unname(means))
})

test_that("points are put into clusters by predict(), missing ones into none", {
  found <- kmeans_fit(petals, start)
  expect_identical(predict(found), found$cluster)
  new <- petals[c(1, 60, 150), ]
  new[2, 1] <- NA
  expect_equal(predict(found, new), found$cluster[c(1, 60, 150)] * c(1, NA, 1), ignore_attr = TRUE)
  expect_error(predict(found, new[, 1:2]), class = "kernweave_error_shape")
})

test_that("silhouettes are those of the cluster package, whatever the labels", {
  cluster <- kmeans_fit(petals, start)$cluster
  found <- silhouette_widths(petals, cluster)
  expect_equal(mean(found[, "sil_width"]), 0.552819012356, tolerance = 1e-12)
  expect_equal(as.vector(tapply(found[, "sil_width"], cluster, mean)), c(0.7981404884, 0.4173199215, 0.4511050604),
               tolerance = 1e-9)
  skip_without_peer("cluster")
  bare <- function(s) matrix(s, ncol = 3)
  expect_equal(bare(found), bare(cluster::silhouette(cluster, stats::dist(petals))), tolerance = 1e-12)
  labels <- c(7L, 2L, 40L)[cluster]
  expect_equal(bare(silhouette_widths(petals, labels)), bare(cluster::silhouette(labels, stats::dist(petals))))
  city <- cluster::silhouette(cluster, stats::dist(petals, "manhattan"))
  named <- factor(c("c", "a", "b")[cluster], c("c", "a", "b"))
  expect_equal(bare(silhouette_widths(petals, named, "manhattan")), bare(city))
  expect_equal(bare(silhouette_widths(petals, kmeans_fit(petals, start))), bare(found))
  lonely <- c(1L, rep(2:3, c(70, 79)))
  expect_equal(bare(silhouette_widths(petals, lonely)), bare(cluster::silhouette(lonely, stats::dist(petals))))
  expect_equal(summary(found)$avg.width, mean(found[, "sil_width"]))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(found))
})

test_that("every row r times has the silhouettes that follow from the sums", {
  r <- 20
  cluster <- kmeans_fit(petals, start)$cluster
  D <- as.matrix(stats::dist(petals))
  S <- D %*% outer(cluster, 1:3, "==")
  size <- tabulate(cluster)
  a <- r * S[cbind(1:150, cluster)] / (r * size[cluster] - 1)
  S <- sweep(S, 2, size, "/")
  S[cbind(1:150, cluster)] <- Inf
  b <- apply(S, 1, min)
  many <- silhouette_widths(petals[rep(1:150, r), ], rep(cluster, r))
  expect_equal(many[1:150, "sil_width"], (b - a) / pmax(a, b), ignore_attr = TRUE)
})

test_that("mistakes are refused by class, and silhouettes print themselves", {
  cluster <- kmeans_fit(petals, start)$cluster
  expect_output(print(silhouette_widths(petals, iris$Species)), "150 points in 3 clusters: mean 0.503")
  expect_output(print(summary(kmeans_fit(petals, 3))), "K-means clustering of 150 points: 3 clusters")
  expect_error(silhouette_widths(petals), "`cluster`", class = "kernweave_error_input")
  expect_error(silhouette_widths(petals, rep(1, 150)), class = "kernweave_error_data")
  expect_error(silhouette_widths(petals, c(NA, cluster[-1])), class = "kernweave_error_data")
  expect_error(silhouette_widths(petals, cluster[-1]), class = "kernweave_error_shape")
  expect_error(kmeans_fit(petals), "centers", class = "kernweave_error_input")
  expect_error(kmeans_fit(c(1, 1, 2), 3), "2 distinct rows", class = "kernweave_error_data")
  expect_error(kmeans_fit(petals, start[, 1:2]), class = "kernweave_error_shape")
  expect_error(kmeans_fit(petals, rbind(start, start)), class = "kernweave_error_data")
  expect_error(kmeans_fit(airquality, 2), class = "kernweave_error_data")
  expect_error(kmeans_fit(petals, 3, weights = 1:3), class = "kernweave_error_shape")
  expect_error(kmeans_fit(petals, 3, weights = -(1:150)), class = "kernweave_error_value")
})

test_that("new points go into clusters by the names of their columns", {
  found <- kmeans_fit(iris[, 1:4], iris[c(1, 51, 101), 1:4])
  expect_equal(predict(found, iris[, 5:1]), found$cluster, ignore_attr = TRUE)
})

test_that("silhouettes take what the cluster package found, and tell points from clusters", {
  skip_without_peer("cluster")
  for (found in list(cluster::pam(petals, 3), cluster::clara(petals, 3))) {
    expect_equal(silhouette_widths(petals, found)[, "sil_width"],
                 silhouette_widths(petals, found$clustering)[, "sil_width"])
  }
  expect_error(silhouette_widths(found$clustering, dist(petals)), "the points go first",
               class = "kernweave_error_input")
  expect_error(silhouette_widths(found$clustering, petals), "the points go first", class = "kernweave_error_input")
})

test_that("a factor beside numbers is told of once where points are compared, and not where it is an input", {
  told <- function(code) {
    count <- 0
    withCallingHandlers(code, message = function(m) {
      text <- gsub("\n *", " ", conditionMessage(m))
      count <<- count + grepl("`Species` are coded as 3 columns.*\\(x\\[-5\\]\\)", text)
      invokeRestart("muffleMessage")
    })
    count
  }
  a <- iris[1:50, ]
  b <- iris[51:100, ]
  for (call in expression(hdbscan_fit(iris), kmeans_fit(iris, 3), dbscan_fit(iris, eps = 0.5), knn(iris, k = 3),
                          sinkhorn(a, b), energy_test(a, b), pairwise_test(iris, iris$Species, R = 99),
                          hclust_fit(iris), kpca_fit(iris))) {
    expect_identical(told(eval(call)), 1, label = deparse1(call))
  }
  for (call in expression(kmeans_fit(iris[-5], 3), hclust_fit(iris["Species"]), knn_fit(iris[-1], iris[, 1]),
                          kernel_ridge(Sepal.Length ~ ., iris, lambda = 1))) {
    expect_identical(told(eval(call)), 0, label = deparse1(call))
  }
})
