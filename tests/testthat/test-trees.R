# Tests trees of points against hclust(), dbscan and igraph: heights, merges, cuts, clusters, any order of rows.

cloud <- function(n, D, seed = 1) {
  set.seed(seed)
  matrix(stats::rnorm(n * D), n)
}
grid <- function(n) as.matrix(expand.grid(seq_len(n), seq_len(n)))
# Two partitions are the same if each cluster of one is a cluster of the other.
same_partition <- function(a, b) {
  met <- table(a, b) > 0
  all(rowSums(met) == 1) && all(colSums(met) == 1)
}

test_that("heights and merges are those of hclust(), in every dimension and metric", {
  for (D in c(1, 2, 3, 7)) for (n in c(2, 3, 17, 400)) {
    x <- cloud(n, D)
    for (metric in c("euclidean", "manhattan", "chebyshev")) {
      tree <- stats::hclust(stats::dist(x, sub("chebyshev", "maximum", metric)), "single")
      found <- hclust_fit(x, metric = metric)
      expect_close(found$height, tree$height, 1e-15)
      expect_identical(found$merge, tree$merge)
    }
    tree <- stats::hclust(stats::dist(x), "ward.D2")
    found <- hclust_fit(x, "ward.D2")
    expect_close(found$height, tree$height, 1e-12)
    expect_identical(found$merge, tree$merge)
  }
})

test_that("equal distances and equal rows leave the heights of hclust() as they are", {
  places <- list(as.matrix(iris[, 1:4]), grid(12), cloud(40, 2)[rep(1:40, 5), ], matrix(3, 30, 2),
                 cbind(c(0, -0, 0, 1, 1)), cbind(1.3^(1:300)), round(cloud(300, 3)))
  for (x in places) {
    found <- hclust_fit(x)
    tree <- stats::hclust(stats::dist(x), "single")
    expect_identical(found$height, tree$height)
    expect_identical(sort(found$order), seq_len(nrow(x)))
    between <- which(diff(found$height) > 1e-9)
    for (h in found$height[between] + diff(found$height)[between] / 2) {
      expect_true(same_partition(cut_tree(found, h = h), stats::cutree(tree, h = h)))
    }
    # Ward's method chooses among equal unions, and heights depend on the choice. Half their squares add up to the sum
    # of squares of all points.
    ward <- hclust_fit(x, "ward.D2")
    expect_false(is.unsorted(ward$height))
    expect_close(sum(ward$height^2) / 2, sum(scale(x, scale = FALSE)^2), 1e-12)
  }
})

test_that("a tree is the same for any order of rows and any number of threads", {
  x <- cloud(1500, 2)
  shuffled <- sample(1500)
  for (method in c("single", "ward.D2")) {
    found <- hclust_fit(x, method)
    expect_close(hclust_fit(x[shuffled, ], method)$height, found$height, if (method == "single") 0 else 1e-13)
    few <- with_kernweave(hclust_fit(x, method), threads = 1)
    many <- with_kernweave(hclust_fit(x, method), threads = 5)
    parts <- c("merge", "height", "order")
    expect_identical(few[parts], many[parts])
    # Equal rows add merges of height 0, and nothing else.
    twins <- hclust_fit(rbind(x, x[1:70, ]), "single")
    expect_identical(twins$height, c(numeric(70), hclust_fit(x)$height))
  }
  clusters <- hdbscan_fit(x, 10)
  again <- hdbscan_fit(x[shuffled, ], 10)
  expect_identical(again$cluster == 0, clusters$cluster[shuffled] == 0)
  expect_true(same_partition(again$cluster, clusters$cluster[shuffled]))
  expect_close(again$outlier_scores, clusters$outlier_scores[shuffled], 1e-14)
})

test_that("members are rows that stand for as many in one place", {
  x <- cloud(50, 3)
  members <- rep(1:5, 10)
  d <- stats::dist(x)
  pairs <- outer(members, members, function(a, b) sqrt(2 * a * b / (a + b)))
  tree <- stats::hclust(d * stats::as.dist(pairs), "ward.D2", members = members)
  expect_close(hclust_fit(x, "ward.D2", members = members)$height, tree$height, 1e-12)
  copies <- hclust_fit(x[rep(1:50, members), ], "ward.D2")
  expect_close(utils::tail(copies$height, 49), tree$height, 1e-12)
})

test_that("cut_tree() is cutree(), of all trees", {
  x <- cloud(300, 2)
  rownames(x) <- paste0("p", 1:300)
  for (tree in list(hclust_fit(x), stats::hclust(stats::dist(x), "average"), hclust_fit(x, "ward.D2"))) {
    for (k in c(1:20, 299, 300)) expect_identical(cut_tree(tree, k), stats::cutree(tree, k))
    expect_identical(cut_tree(tree, 2:4), stats::cutree(tree, 2:4))
    h <- c(0, stats::quantile(tree$height, c(0.2, 0.9), names = FALSE), tree$height[7], 99)
    expect_identical(cut_tree(tree, h = h), stats::cutree(tree, h = h))
  }
  if (requireNamespace("cluster", quietly = TRUE)) {
    nested <- cluster::agnes(x)
    expect_identical(unname(cut_tree(nested, 5)), stats::cutree(stats::as.hclust(nested), 5), ignore_attr = TRUE)
  }
  expect_error(cut_tree(stats::hclust(stats::dist(x), "centroid"), h = 1), "give `k`", class = "kernweave_error_data")
  expect_error(cut_tree(hclust_fit(x), 301), "from 1 to 300", class = "kernweave_error_value")
  expect_error(cut_tree(hclust_fit(x)), "`k` or `h`", class = "kernweave_error_input")
  expect_error(cut_tree(list(1)), "must be a tree", class = "kernweave_error_input")
  broken <- hclust_fit(x)
  broken$merge[1, 1] <- 400L
  expect_error(cut_tree(broken, 3), "no matrix of merges", class = "kernweave_error_data")
})

test_that("the spanning tree has the least length, and its edges make single linkage", {
  x <- cloud(200, 3)
  tree <- spanning_tree(x)
  expect_identical(tree$distance, hclust_fit(x)$height)
  expect_true(all(tree$from < tree$to) && !is.unsorted(tree$distance))
  expect_close(tree$distance, sqrt(rowSums((x[tree$from, ] - x[tree$to, ])^2)), 1e-15)
  if (requireNamespace("igraph", quietly = TRUE)) {
    whole <- igraph::graph_from_adjacency_matrix(as.matrix(stats::dist(x)), "undirected", weighted = TRUE)
    expect_close(sum(tree$distance), sum(igraph::E(igraph::mst(whole))$weight), 1e-13)
  }
  core <- stats::runif(200)
  reach <- pmax(as.matrix(stats::dist(x)), outer(core, core, pmax))
  expect_close(spanning_tree(x, core)$distance, stats::hclust(stats::as.dist(reach), "single")$height, 1e-15)
  expect_identical(nrow(spanning_tree(x[1, , drop = FALSE])), 0L)
  # Distances of other names have the order of Euclidean distances in other places.
  lonlat <- cbind(stats::runif(80, -180, 180), stats::runif(80, -90, 90))
  for (metric in c("haversine", "chordal", "cosine", "sqeuclidean")) {
    D <- as.matrix(kernweave:::metric_pairs(kernweave:::as_metric(metric), lonlat))
    expect_close(spanning_tree(lonlat, metric = metric)$distance,
                 stats::hclust(stats::as.dist(D), "single")$height, if (metric == "cosine") 1e-12 else 1e-10,
                 label = metric)
  }
})

# HDBSCAN by its definition, from the matrix of mutual reachability distances. A point leaves its cluster at its nearest
# reachability distance, or where the cluster splits.
by_definition <- function(x, least) {
  D <- as.matrix(stats::dist(x))
  core <- apply(D, 1, function(d) sort(d)[least])
  reach <- pmax(D, outer(core, core, pmax))
  diag(reach) <- Inf
  nearest <- apply(reach, 1, min)
  tree <- stats::hclust(stats::as.dist(reach), "single")
  levels <- rev(unique(tree$height))
  below <- function(e) stats::cutree(tree, h = max(c(-1, levels[levels < e])))
  glosh <- numeric(nrow(x))
  cluster <- function(S, birth) {
    for (e in levels[levels < birth]) {
      parts <- split(S, below(e)[S])
      large <- parts[lengths(parts) >= least]
      if (length(large) > 1) break
      large <- list()
    }
    rest <- setdiff(S, unlist(large))
    leave <- if (length(large)) pmax(nearest[rest], e) else nearest[rest]
    glosh[rest] <<- 1 - min(nearest[S]) / leave
    stability <- sum(1 / leave - 1 / birth) + length(unlist(large)) * (1 / e - 1 / birth)
    parts <- lapply(large, cluster, e)
    inner <- sum(vapply(parts, `[[`, 0, "best"))
    own <- !length(parts) || inner <= stability
    chosen <- if (own) list(S) else unlist(lapply(parts, `[[`, "chosen"), recursive = FALSE)
    list(best = if (own) stability else inner, chosen = chosen, parts = parts)
  }
  root <- cluster(seq_len(nrow(x)), max(levels) * (1 + 1e-12))
  chosen <- unlist(lapply(root$parts, `[[`, "chosen"), recursive = FALSE)
  found <- integer(nrow(x))
  for (k in seq_along(chosen)) found[chosen[[k]]] <- k
  list(cluster = found, outlier = glosh, total = sum(vapply(root$parts, `[[`, 0, "best")))
}

test_that("clusters of all radii are those of the definition, for any order of rows, and near those of dbscan", {
  set.seed(4)
  mixed <- rbind(matrix(stats::rnorm(300, 0, 0.3), 150), matrix(stats::rnorm(300, 3, 0.5), 150),
                 matrix(stats::runif(200, -2, 5), 100))
  places <- list(mixed, as.matrix(unique(iris[, 1:4])), unique(as.matrix(datasets::faithful)), grid(14),
                 unique(round(cloud(300, 2), 1)))
  for (x in places) for (least in c(4, 5, 12)) {
    exact <- by_definition(x, least)
    mine <- hdbscan_fit(x, least)
    expect_true(same_partition(mine$cluster, exact$cluster))
    expect_identical(mine$cluster == 0, exact$cluster == 0, ignore_attr = TRUE)
    expect_close(unname(mine$outlier_scores), exact$outlier, 1e-12)
    expect_close(sum(mine$cluster_scores), exact$total, 1e-9, scale = max(1, exact$total))
    expect_true(all(mine$cluster_scores > 0))
    shuffled <- sample(nrow(x))
    again <- hdbscan_fit(x[shuffled, ], least)
    expect_true(same_partition(again$cluster, mine$cluster[shuffled]))
    expect_close(unname(again$outlier_scores), unname(mine$outlier_scores[shuffled]), 1e-14)
  }
  skip_if_not_installed("dbscan")
  theirs <- dbscan::hdbscan(mixed, 12)
  mine <- hdbscan_fit(mixed, 12)
  expect_close(mine$hc$height, theirs$hc$height, 1e-15)
  expect_close(unname(mine$coredist), theirs$coredist, 1e-15)
  # dbscan takes merges of one height one by one.
  expect_gt(sum(apply(table(mine$cluster, theirs$cluster), 1, max)), 0.95 * nrow(mixed))
})

test_that("clusters of copies, of all points alike and of few points are told apart from noise", {
  copies <- matrix(rep(c(0, 5, 9), each = 20), ncol = 1)
  expect_identical(hdbscan_fit(copies, 5)$cluster, rep(1:3, each = 20))
  expect_true(all(is.finite(hdbscan_fit(copies, 5)$cluster_scores)))
  alike <- hdbscan_fit(matrix(1, 30, 2), 5)
  expect_identical(alike$cluster, integer(30))
  expect_identical(alike$outlier_scores, numeric(30))
  expect_identical(hdbscan_fit(cloud(3, 2), 3)$cluster, integer(3))
  x <- rbind(cloud(60, 2), cloud(60, 2) + 9)
  rownames(x) <- seq_len(120) * 10
  fit <- hdbscan_fit(x, 10)
  expect_identical(predict(fit), fit$cluster)
  inside <- fit$cluster > 0
  expect_identical(predict(fit, x[inside, ]), fit$cluster[inside])
  expect_identical(unname(predict(fit, rbind(c(50, 50), NA, x[which(inside)[1], ]))),
                   c(0L, NA, unname(fit$cluster[inside][1])))
  expect_output(print(fit), "2 clusters")
  expect_named(plot_data(fit), names(plot_data(kmeans_fit(x, 2), x)))
})

test_that("many clusters are printed by the largest, and small ones name `minPts`", {
  x <- cloud(3000, 2)
  printed <- function(fit) utils::capture.output(print(fit))
  many <- hdbscan_fit(x, minPts = 3)
  size <- sort(table(many$cluster[many$cluster > 0]), decreasing = TRUE)
  lines <- printed(many)
  expect_lt(length(lines), 17)
  expect_match(lines[4], paste0("^", names(size)[1], " +", size[1], " "))
  expect_match(paste(lines, collapse = " "), paste(length(size) - 10, "smaller clusters"))
  expect_match(paste(lines, collapse = " "), "larger `minPts`, such as\\s+12")
  expect_no_match(paste(printed(hdbscan_fit(x, minPts = 60)), collapse = " "), "larger")
  by_radius <- dbscan_fit(x, eps = 0.03)
  expect_match(printed(by_radius)[3], paste0("largest: [0-9]+: ", max(table(by_radius$cluster[by_radius$cluster > 0]))))
})

test_that("a large tree is drawn by its top branches, and becomes a dendrogram of as many", {
  x <- cloud(3000, 2)
  for (method in c("single", "ward.D2")) {
    tree <- hclust_fit(x, method)
    few <- stats::as.dendrogram(tree, k = 12)
    expect_identical(attr(few, "members"), 12L)
    sizes <- table(cut_tree(tree, 12))
    labels <- labels(few)
    expect_identical(sum(grepl("^[(]", labels)), sum(sizes > 1))
    shown <- as.integer(gsub("[()]", "", labels[grepl("^[(]", labels)]))
    expect_identical(sort(shown), sort(as.integer(sizes[sizes > 1])))
    expect_close(attr(few, "height"), max(tree$height), 0)
    grDevices::pdf(NULL)
    expect_message(drawn <- plot(tree), "top 50 branches.*rect.hclust\\(plot\\(tree\\), k\\)")
    expect_length(identify(tree, N = 0), 0)
    expect_lte(0.75 * 50 * kernweave:::label_size(50) * graphics::par("cin")[2], graphics::par("pin")[1] + 1e-9)
    boxes <- stats::rect.hclust(drawn, 3)
    grDevices::dev.off()
    # Rectangles hold the branches of three clusters of all points.
    labels <- vapply(boxes, function(branch) {
      sum(ifelse(grepl("^[(]", drawn$labels[branch]), as.integer(gsub("[^0-9]", "", drawn$labels[branch])), 1L))
    }, 1L)
    expect_identical(sort(labels), sort(tabulate(cut_tree(tree, 3))))
  }
  small <- hclust_fit(iris[1:30, 1:4])
  expect_identical(attr(stats::as.dendrogram(small), "members"), 30L)
  expect_identical(class(stats::cophenetic(small)), "dist")
})

test_that("a long search ends at once when its time is over", {
  skip_below("usual")
  x <- cloud(2e5, 4)
  for (method in c("single", "ward.D2")) {
    setTimeLimit(elapsed = 0.2, transient = TRUE)
    expect_error(hclust_fit(x, method), class = "kernweave_error_time_limit")
    setTimeLimit()
  }
})

test_that("mistakes with trees are told with their remedies", {
  x <- cloud(9, 2)
  expect_error(hclust_fit(stats::dist(x)), "points themselves", class = "kernweave_error_input")
  expect_error(hclust_fit(x, "average"), "kmeans_fit", class = "kernweave_error_unsupported")
  expect_error(hclust_fit(x, "ward.D"), "ward.D2", class = "kernweave_error_unsupported")
  expect_error(hclust_fit(x, "sinlge"), "single", class = "kernweave_error")
  expect_error(hclust_fit(x, "ward.D2", metric = "manhattan"), "Euclidean", class = "kernweave_error_unsupported")
  expect_error(hclust_fit(x, metric = function(x, y) sqdist(x, y)), "function", class = "kernweave_error_unsupported")
  expect_error(hclust_fit(x[1, , drop = FALSE]), "two|2", class = "kernweave_error_data")
  expect_error(hclust_fit(replace(x, 3, NA)), "missing values", class = "kernweave_error_data")
  expect_error(hclust_fit(replace(x, 3, Inf)), "infinite", class = "kernweave_error_data")
  expect_error(hclust_fit(replace(x, 3, 1e200)), "1e150", class = "kernweave_error_value")
  expect_error(hclust_fit(x, "ward.D2", members = 1:3), "9 rows", class = "kernweave_error_shape")
  expect_error(hclust_fit(x, "ward.D2", members = 0:8), "positive", class = "kernweave_error_value")
  expect_error(spanning_tree(x, core = 1:3), "9 rows", class = "kernweave_error_shape")
  expect_error(hdbscan_fit(x, 10), "from 2 to 9", class = "kernweave_error_value")
  expect_error(hdbscan_fit(x, 1), "from 2 to 9", class = "kernweave_error_value")
})
