# Conversions of neighbours to the classes of other packages: dbscan and igraph.

#' Neighbours for the dbscan and igraph packages
#'
#' `as_kNN()` converts neighbours from [knn()] to the class of `dbscan::kNN()`, and `as_frNN()` converts neighbours from
#' [radius_nn()] to the class of `dbscan::frNN()`, for use in `dbscan::dbscan()`, `dbscan::sNN()` and others. Use them
#' to run these functions with any metric of this package. `igraph::as.igraph()` makes a directed graph, with an edge
#' from each point to each of its neighbours; the `weight` of an edge is the distance.
#'
#' In the classes of dbscan a point is never its own neighbour: if points were found as their own neighbours, these
#' neighbours are dropped, and `k` is one less. Neighbours of a `query` are an error.
#'
#' @param nn,x a result of [knn()] for `as_kNN()`, of [radius_nn()] for `as_frNN()`, of either for `as.igraph()`
#' @param ... not used
#' @return `as_kNN()`: an object of class `kNN`. `as_frNN()`: of class `frNN`. `as.igraph()`: of class `igraph`.
#' @seealso [knn()], [nn_graph()] for a sparse matrix, [dbscan_fit()]
#' @concept dbscan package
#' @concept igraph package
#' @concept neighbourhood graph
#' @name as_kNN
#' @examples
#' str(as_kNN(knn(iris[1:5, 1:4], k = 2)))
#' near <- as_frNN(radius_nn(iris[, 1:4], radius = 0.8, metric = "manhattan"))
#' if (requireNamespace("dbscan", quietly = TRUE)) dbscan::dbscan(near, minPts = 5)
NULL

#' @rdname as_kNN
#' @export
as_kNN <- function(nn) {
  about <- about_own_neighbours(nn, "knn", "as_kNN()")
  index <- nn$nn.index
  if (anyNA(index)) abort("data", "some points have fewer than ", ncol(index), " neighbours, which `kNN` cannot have")
  places <- seq_len(ncol(index) - !about$exclude_self)
  if (!length(places)) abort("value", "without the points themselves no neighbours are left; choose a larger `k`")
  at <- neighbour_places(index, !about$exclude_self)
  as_theirs <- function(values) {
    out <- at(values, places)
    dimnames(out) <- list(rownames(values), places)
    out
  }
  structure(list(dist = as_theirs(nn$nn.dist), id = as_theirs(index), k = length(places), sort = TRUE),
            class = c("kNN", "NN"))
}

#' @rdname as_kNN
#' @export
as_frNN <- function(nn) {
  about <- about_own_neighbours(nn, "radius", "as_frNN()")
  id <- nn$id
  dist <- nn$dist
  if (!about$exclude_self) {
    others <- lapply(seq_along(id), function(i) id[[i]] != i)
    id[] <- Map(`[`, id, others)
    dist[] <- Map(`[`, dist, others)
  }
  structure(list(dist = dist, id = id, eps = nn$radius, sort = TRUE), class = c("frNN", "NN"))
}

about_own_neighbours <- function(nn, kind, caller) {
  about <- attr(nn, "about")
  if (!inherits(nn, "kernweave_nn") || about$kind != kind) {
    wanted <- c(knn = "knn()", radius = "radius_nn()")
    found <- if (inherits(nn, "kernweave_nn")) paste("that of", wanted[[about$kind]]) else describe(nn)
    abort("input", caller, " takes what ", wanted[[kind]], " returned, not ", found)
  }
  if (!about$same) abort("input", caller, " takes neighbours of points among themselves; these are of `query`")
  about
}

#' @rdname as_kNN
#' @exportS3Method igraph::as.igraph
as.igraph.kernweave_nn <- function(x, ...) {
  about <- attr(x, "about")
  if (!about$same) abort("input", "as.igraph() takes neighbours of points among themselves; these are of `query`")
  edges <- nn_edges(x, about)
  graph <- igraph::make_graph(rbind(edges$i, edges$j), n = about$n, directed = TRUE)
  graph <- igraph::set_edge_attr(graph, "weight", value = as.numeric(edges$x))
  if (is.null(edges$names)) return(graph)
  igraph::set_vertex_attr(graph, "name", value = edges$names[[1]])
}
