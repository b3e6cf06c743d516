# Neighbours as other packages have them, against what those find themselves.

test_that("neighbours are those of dbscan, in its classes, and go into its functions", {
  x <- iris[!duplicated(iris[, 1:4]), 1:4]
  by_count <- as_kNN(knn(x, k = 4))
  expect_s3_class(by_count, c("kNN", "NN"), exact = TRUE)
  expect_identical(by_count[c("k", "sort")], list(k = 4L, sort = TRUE))
  expect_identical(dimnames(by_count$id), list(rownames(x), as.character(1:4)))
  near <- as_frNN(radius_nn(x, radius = 0.5))
  expect_s3_class(near, c("frNN", "NN"), exact = TRUE)
  expect_identical(near[c("eps", "sort")], list(eps = 0.5, sort = TRUE))
  skip_without_peer("dbscan")
  expect_equal(by_count$dist, dbscan::kNN(x, 4)$dist)
  theirs <- dbscan::frNN(x, 0.5)
  expect_equal(near$dist, theirs$dist)
  expect_identical(lapply(near$id, sort), lapply(theirs$id, sort))
  expect_identical(dbscan::dbscan(near, minPts = 5)$cluster, dbscan::dbscan(x, 0.5, 5)$cluster)
  expect_identical(dim(dbscan::sNN(by_count, k = 4)$shared), c(149L, 4L))
})

test_that("a point that was found as its own neighbour is left out", {
  x <- c(1, 1, 2, 4)
  own <- as_kNN(knn(x, k = 3, exclude_self = FALSE))
  expect_identical(own$k, 2L)
  expect_equal(own[c("id", "dist")], as_kNN(knn(x, k = 2))[c("id", "dist")])
  expect_identical(as_frNN(radius_nn(x, radius = 1, exclude_self = FALSE)), as_frNN(radius_nn(x, radius = 1)))
})

test_that("mistakes are refused by class", {
  x <- 1:6
  expect_error(as_kNN(radius_nn(x, radius = 1)), "that of radius_nn", class = "kernweave_error_input")
  expect_error(as_frNN(knn(x, k = 1)), "that of knn", class = "kernweave_error_input")
  expect_error(as_frNN(list()), class = "kernweave_error_input")
  expect_error(as_kNN(knn(x, 1:2, k = 1)), "query", class = "kernweave_error_input")
  expect_error(as_frNN(radius_nn(x, 1:2, radius = 1)), "query", class = "kernweave_error_input")
  expect_error(as_kNN(knn(x, k = 1, exclude_self = FALSE)), class = "kernweave_error_value")
  within <- function(x, y) restrict(sqdist(x, y), by = c(1, 1, 2, 2, 2, 2))
  expect_error(as_kNN(knn(x, k = 2, metric = within)), class = "kernweave_error_data")
})

test_that("graphs have an edge for each neighbour, weighted by distance", {
  skip_without_peer("igraph")
  cars <- knn(mtcars[, c("mpg", "wt")], k = 3)
  graph <- igraph::as.igraph(cars)
  expect_true(igraph::is_directed(graph))
  expect_identical(igraph::V(graph)$name, rownames(mtcars))
  expect_equal(as.matrix(igraph::as_adjacency_matrix(graph, attr = "weight")), as.matrix(nn_graph(cars, "distance")))
  expect_equal(igraph::ecount(igraph::as.igraph(knn(c(1, 1, 1), k = 2))), 6)
  expect_equal(igraph::vcount(igraph::as.igraph(radius_nn(1:3, radius = 0.5))), 3)
  expect_error(igraph::as.igraph(knn(1:3, 1:2, k = 1)), class = "kernweave_error_input")
})
