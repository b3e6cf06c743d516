# Nearest neighbours, within radii too, against dense distances and other packages.

petals <- iris[, 1:4]

dense_neighbours <- function(D, k, self = TRUE) {
  if (self) diag(D) <- Inf
  index <- t(apply(D, 1, function(row) order(row)[seq_len(k)]))
  list(index = index, dist = t(sapply(seq_len(nrow(D)), function(i) D[i, index[i, ]])))
}

test_that("neighbours and their distances are those of FNN and of the dense matrix, whatever the metric", {
  nn <- knn(petals, k = 5)
  expect_equal(sum(nn$nn.dist), 267.867595019, tolerance = 1e-11)
  expect_identical(c(nn$nn.index[102, 1], nn$nn.index[143, 1]), c(143L, 102L))
  expect_equal(nn$nn.dist[102, 1], 0)
  set.seed(4)
  x <- matrix(stats::runif(80), 40)
  y <- matrix(stats::runif(24), 12)
  pairs <- function(f, a, b) outer(seq_len(nrow(a)), seq_len(nrow(b)), Vectorize(function(i, j) f(a[i, ], b[j, ])))
  by_hand <- list(
    euclidean = function(u, v) sqrt(sum((u - v)^2)), manhattan = function(u, v) sum(abs(u - v)),
    chebyshev = function(u, v) max(abs(u - v)), cosine = function(u, v) 1 - sum(u * v) / sqrt(sum(u^2) * sum(v^2)),
    canberra = function(u, v) sum(abs(u - v) / (u + v)), sqeuclidean = function(u, v) sum((u - v)^2),
    braycurtis = function(u, v) sum(abs(u - v)) / sum(u + v),
    hellinger = function(u, v) sqrt(sum((sqrt(u) - sqrt(v))^2) / 2)
  )
  for (name in names(by_hand)) {
    among <- dense_neighbours(pairs(by_hand[[name]], x, x), 3)
    found <- knn(x, k = 3, metric = name)
    expect_equal(found$nn.dist, among$dist, label = name)
    if (name != "hellinger") expect_equal(found$nn.index, among$index, label = name)
    expect_equal(knn(x, y, k = 3, metric = name)$nn.dist,
                 dense_neighbours(pairs(by_hand[[name]], y, x), 3, self = FALSE)$dist, label = name)
  }
  expect_equal(knn(x, k = 2, metric = function(x, y) abs(x[, , 1] - y[, , 1]))$nn.dist, knn(x[, 1], k = 2)$nn.dist)
  skip_without_peer("FNN")
  expect_equal(nn$nn.dist, FNN::get.knn(petals, 5)$nn.dist)
})

test_that("a point is left out by its number, and ties go to the smallest one", {
  x <- c(1, 1, 1, 1, 2, 2)
  nn <- knn(x, k = 2)
  expect_identical(nn$nn.index, matrix(c(2L, 1L, 1L, 1L, 6L, 5L, 3L, 3L, 2L, 2L, 1L, 1L), 6))
  expect_equal(attr(nn, "about")$tied, 6)
  expect_identical(knn(x, k = 2, exclude_self = FALSE)$nn.index[, 1], c(1L, 1L, 1L, 1L, 5L, 5L))
  expect_identical(dim(knn(x, k = 5)$nn.index), c(6L, 5L))
  many <- rep(0, 30)
  expect_true(all(knn(many, k = 3)$nn.index != row(matrix(0, 30, 3))))
})

test_that("all points within a radius are found, nearest first", {
  found <- radius_nn(petals, radius = 0.5)
  expect_equal(sum(lengths(found$id)), 1460)
  expect_equal(sum(unlist(found$dist)), 524.661866, tolerance = 1e-8)
  D <- as.matrix(stats::dist(petals, method = "manhattan"))
  near <- radius_nn(petals, radius = 0.75, metric = "manhattan")
  for (i in c(1, 42, 107, 150)) {
    expect_setequal(near$id[[i]], setdiff(which(D[i, ] <= 0.75), i))
    expect_false(is.unsorted(near$dist[[i]]))
  }
  query <- radius_nn(petals, petals[c(1, 42), ], radius = 0.75, metric = "manhattan")
  expect_equal(lengths(query$id), unname(rowSums(D[c(1, 42), ] <= 0.75)), ignore_attr = TRUE)
  expect_equal(lengths(radius_nn(1:3, radius = 0)$id), c(0, 0, 0))
  old <- options(kernweave.max_dense_mb = 0.001)
  on.exit(options(old))
  expect_error(radius_nn(petals, radius = 0.5), "1,460", class = "kernweave_error_memory")
})

test_that("graphs link points to their neighbours, one way, either way or both", {
  x <- cbind(a = c(0, 1, 3, 7))
  rownames(x) <- letters[1:4]
  nn <- knn(x, k = 1)
  G <- nn_graph(nn, "distance")
  expect_s4_class(G, "dgCMatrix")
  expect_equal(as.matrix(G), matrix(c(0, 1, 0, 0, 1, 0, 2, 0, 0, 0, 0, 4, 0, 0, 0, 0), 4,
                                    dimnames = list(letters[1:4], letters[1:4])))
  expect_equal(as.matrix(nn_graph(nn, "distance", "union")), pmax(as.matrix(G), t(as.matrix(G))))
  expect_equal(as.matrix(nn_graph(nn, symmetrize = "mutual")), (as.matrix(G) > 0 & t(as.matrix(G)) > 0) * 1)
  few <- x[1:3, , drop = FALSE]
  expect_equal(nn_graph(radius_nn(few, radius = 2)), nn_graph(knn(few, k = 1), symmetrize = "union"))
  across <- nn_graph(knn(x, c(0.2, 6), k = 2))
  expect_equal(dim(across), c(2, 4))
  expect_error(nn_graph(knn(x, 1:2, k = 1), symmetrize = "union"), class = "kernweave_error_input")
  expect_error(nn_graph(list()), class = "kernweave_error_input")
})

test_that("neighbours print themselves, keep row names and take factors, integers and empty queries", {
  expect_output(print(knn(petals, k = 5)), "5 nearest neighbours of 150 points .euclidean, self left")
  expect_output(print(radius_nn(petals, radius = 0.5)), "1,460 in all, 0 to 32 each")
  cars <- knn(mtcars[, c("cyl", "gear")], k = 1)
  expect_identical(rownames(cars$nn.index), rownames(mtcars))
  mixed <- data.frame(f = factor(c("a", "b", "a")), i = c(1L, 1L, 3L))
  expect_equal(as.vector(knn(mixed, k = 1)$nn.dist), c(1, 1, 2))
  expect_identical(dim(knn(1:5, numeric(), k = 2)$nn.index), c(0L, 2L))
  expect_output(print(knn(1:5, numeric(), k = 2)), "0 points")
})

test_that("mistakes are refused by class, and classification is pointed to", {
  expect_error(knn(petals, petals, iris$Species), "class::knn", class = "kernweave_error_input")
  expect_error(knn(petals, petals, cl = iris$Species), "class::knn", class = "kernweave_error_input")
  expect_error(knn(petals, k = 150), "150.*149", class = "kernweave_error_value")
  expect_error(knn(petals, k = 0), class = "kernweave_error_input")
  expect_error(knn(petals, petals[, 1:2]), class = "kernweave_error_shape")
  expect_error(knn(airquality), "missing values", class = "kernweave_error_data")
  expect_error(knn(petals, metric = "euclidian"), "euclidean", class = "kernweave_error_input")
  expect_error(knn(petals, metric = function(x, y) x - y), class = "kernweave_error_input")
  expect_error(knn(rbind(0, 0, 1), metric = "braycurtis", k = 1), "1, 2", class = "kernweave_error_data")
  expect_error(radius_nn(petals), "radius", class = "kernweave_error_input")
  expect_error(radius_nn(petals, radius = -1), class = "kernweave_error_value")
  expect_error(knn(stats::dist(1:3)), class = "kernweave_error_input")
})

test_that("every row twice has its twin at distance 0 and then what it had", {
  once <- knn(petals[-143, ], k = 3)$nn.dist
  twice <- knn(rbind(petals[-143, ], petals[-143, ]), k = 3)$nn.dist
  expect_true(all(twice[, 1] == 0))
  expect_equal(twice[1:149, 2:3], once[, c(1, 1)], ignore_attr = TRUE)
})

test_that("columns of a query are found by name, and its levels are those of the points", {
  cars <- mtcars[, c("mpg", "hp")]
  expect_equal(knn(cars, cars[4:6, 2:1], k = 1)$nn.index[, 1], knn(cars, cars[4:6, ], k = 1)$nn.index[, 1])
  expect_equal(radius_nn(as.matrix(cars), as.matrix(cars)[4:6, 2:1], radius = 9)$id,
               radius_nn(as.matrix(cars), as.matrix(cars)[4:6, ], radius = 9)$id)
  expect_equal(knn(c("a", "b", "c"), c("c", "b"), k = 1)$nn.index[, 1], 3:2)
  expect_error(knn(c("a", "b"), c("b", "c"), k = 1), "new level `c`", class = "kernweave_error_data")
})

test_that("a restricted metric leaves places empty where a point has no more neighbours", {
  within <- function(x, y) restrict(sqdist(x, y), by = c(1, 1, 2, 2, 2, 2))
  found <- knn(1:6, k = 2, metric = within)
  expect_equal(found$nn.index, rbind(c(2, NA), c(1, NA), c(4, 5), c(3, 5), c(4, 6), c(5, 4)))
  expect_output(print(found), "min 1, median 1, max 4")
  expect_equal(sum(nn_graph(found)), 10)
  expect_output(print(radius_nn(numeric(), radius = 1)), "0 points")
})

test_that("distances of amounts refuse negative numbers", {
  for (metric in c("hellinger", "bray")) {
    expect_error(knn(c(-1, 1, 2), k = 1, metric = metric), "row 1 is negative", class = "kernweave_error_data")
    expect_error(permanova(mpg - 20 ~ am, mtcars, distance = metric), "negative", class = "kernweave_error_data")
  }
})

test_that("neighbours are a data frame, a row for each, the nearest of the first point first", {
  x <- as.matrix(iris[1:20, 1:4])
  nn <- knn(x, k = 3)
  frame <- as.data.frame(nn)
  expect_named(frame, c("query", "neighbour", "distance"))
  expect_identical(frame$query, rep(1:20, each = 3))
  expect_identical(frame$neighbour, as.vector(t(unname(nn$nn.index))))
  expect_identical(frame$distance, as.vector(t(unname(nn$nn.dist))))
  expect_identical(row.names(frame), as.character(1:60))
  near <- radius_nn(x, radius = 0.3)
  frame <- as.data.frame(near)
  expect_identical(frame$query, rep(1:20, lengths(near$id)))
  expect_identical(frame$distance, unlist(near$dist, use.names = FALSE))
  expect_equal(nrow(as.data.frame(radius_nn(x, radius = 0))), 2 * sum(dist(x) == 0))
})

test_that("a distance with a unit is converted to that of the distances, or refused by name", {
  skip_if_not_installed("sf")
  metre <- sf::st_crs(28992)$ud_unit
  globe <- sf::st_as_sf(data.frame(lon = c(179.9, -179.9, 0, 10, 10.2), lat = c(0, 0, 50, 50, 50)), coords = 1:2,
                        crs = 4326)
  plane <- sf::st_as_sf(data.frame(x = c(0, 3, 50, 90), y = c(0, 4, 0, 0)), coords = 1:2, crs = 28992)
  for (points in list(list(globe, 40, 40000 * metre), list(plane, 6, 6 * metre))) {
    expect_equal(radius_nn(points[[1]], radius = points[[3]]), radius_nn(points[[1]], radius = points[[2]]))
    expect_equal(dbscan_fit(points[[1]], points[[3]], 2), dbscan_fit(points[[1]], points[[2]], 2), ignore_attr = TRUE)
  }
  kilogram <- metre
  units(kilogram) <- "m"
  attr(kilogram, "units")$numerator <- "kg"
  for (call in list(function(v, of) radius_nn(of, radius = v), function(v, of) dbscan_fit(of, v, 2))) {
    expect_said(call(kilogram, globe), "input", "[kg]")
    expect_said(call(metre, cbind(1:3, 1:3)), "input", "1 [m]", "a number is wanted")
  }
  expect_said(variogram(x ~ 1, transform(plane, x = 1:4), cutoff = metre), "value", "`cutoff`", "1 [m]")
})

test_that("columns called lon and lat are answered by what gp_fit() says of them, unless a metric is given", {
  degrees <- data.frame(lon = c(3, 40, 9, 120), lat = c(5, 60, 7, 8))
  said_of <- function(call) {
    rm(list = intersect("degrees", ls(kernweave:::said)), envir = kernweave:::said)
    grep("look like longitudes", capture_messages(call), value = TRUE)
  }
  expect_match(said_of(knn(degrees, k = 1)), "metric = \"chordal\"")
  for (call in list(quote(radius_nn(degrees, radius = 1)), quote(lof_scores(degrees, k = 2)),
                    quote(dbscan_fit(as.matrix(degrees), 1, 2)), quote(hdbscan_fit(degrees[2:1], 2)),
                    quote(spanning_tree(degrees)), quote(hclust_fit(degrees)))) {
    expect_length(said_of(eval(call)), 1)
  }
  for (call in list(quote(knn(degrees, k = 1, metric = "euclidean")), quote(knn(100 * degrees, k = 1)),
                    quote(knn(unname(as.matrix(degrees)), k = 1)), quote(knn(cbind(degrees, z = 1), k = 1)))) {
    expect_length(said_of(eval(call)), 0)
  }
  expect_equal(knn(degrees, k = 2)$nn.dist, knn(unname(as.matrix(degrees)), k = 2)$nn.dist, ignore_attr = TRUE)
})
