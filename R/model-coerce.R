# Neighbours as other packages have them: dbscan's classes and graphs of igraph.

#' Neighbours for the dbscan and igraph packages
#'
#' `as_kNN()` and `as_frNN()` make of what [knn()] and [radius_nn()] found the objects that `dbscan::kNN()` and
#' `dbscan::frNN()` return, for `dbscan::dbscan()`, `dbscan::sNN()` and others. Use them where neighbours by any of our
#' metrics are wanted there. `igraph::as.igraph()` makes a directed graph, with an edge from each point to each of its
#' neighbours, whose `weight` is the distance.
#'
#' Points are never their own neighbours there, so a point that was found as its own neighbour is left out, and `k` is
#' one less. Neighbours of a `query` are refused.
#'
#' @param nn,x what [knn()] returned, for `as_kNN()`, or [radius_nn()], for `as_frNN()`; either for `as.igraph()`
#' @param ... not used
#' @return Objects of class `kNN`, `frNN` and `igraph`.
#' @seealso [knn()], [nn_graph()] for a sparse matrix, [dbscan_lazy()]
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
