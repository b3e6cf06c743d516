# The barycentre of clouds of points: the cloud of smallest mean divergence from them.

#' Barycentre of clouds of points
#'
#' Finds the cloud of `n` points whose mean Sinkhorn divergence to several clouds is smallest. Use it to average samples
#' or images: it is a typical cloud of the same shape, not their mixture.
#'
#' The cost is the squared distance. The points move freely, and their masses stay as they are. An iteration moves each
#' point by the mean of its transport maps to the clouds minus the map to its own cloud: a step of gradient descent.
#' Because the divergence is debiased, the barycentre does not shrink: that of translates of one cloud is its translate
#' by the mean. The problem is not convex, and the result may depend on `start`.
#'
#' Details smaller than `sqrt(epsilon)` have hardly any influence on the divergence, and remain as they are in `start`.
#'
#' @param clouds a list of clouds of points: matrices, data frames, vectors or points of sf, as in [sinkhorn()]
#' @param weights weights of the clouds, by default equal; they are rescaled to sum to 1
#' @param n number of points; by default that of the cloud with the largest weight
#' @param epsilon entropic regularisation, in units of squared distance; by default a hundredth of the mean cost from
#'   `start` to the clouds
#' @param a masses of the `n` points, equal by default, rescaled to sum to 1
#' @param b a list with the masses of the points of each cloud, `NULL` for equal ones, each rescaled to sum to 1
#' @param start starting points; by default points of the cloud with the largest weight, moved to the mean of all clouds
#' @param tol tolerance on the root mean square of the last move, relative to the standard deviation of all points
#' @param max_iter maximum number of iterations
#' @return An object of class `sinkhorn_barycentre`: the points `x`, their masses `a`, the `divergence` from each cloud,
#'   `value`, their weighted mean, `epsilon`, `move`, the root mean square of the last move, `iterations`, and the
#'   `clouds` as matrices. `as.data.frame()` has a row for each point, and its mass; `plot()` draws the clouds, and the
#'   barycentre as crosses: of more than two dimensions the first two principal components.
#' @seealso [sinkhorn()]
#' @concept Wasserstein barycentre
#' @concept barycenter
#' @concept mean of distributions
#' @export
#' @examples
#' species <- split(iris[, 3:4], iris$Species)
#' between <- sinkhorn_barycentre(species, epsilon = 0.1)
#' between
#' plot(between)
#' head(as.data.frame(between))
sinkhorn_barycentre <- function(clouds, weights = NULL, n = NULL, epsilon = NULL, a = NULL, b = NULL, start = NULL,
                                tol = 1e-3, max_iter = 200, ...) {
  refuse_more(...)
  call <- match.call()
  check_tolerance(tol)
  max_iter <- check_count(max_iter, "max_iter")
  if (!is.list(clouds) || inherits(clouds, c("data.frame", "sfc")) || !length(clouds)) {
    abort("input", "`clouds` must be a list of clouds of points, not ", describe(clouds))
  }
  weights <- check_masses(weights, length(clouds), "weights")
  weights <- weights / sum(weights)
  inputs <- fit_matrix(clouds[[1]])
  targets <- target_clouds(clouds, b, inputs)
  start <- if (is.null(start)) mean_start(targets, weights, n) else cloud_like(start, inputs, "start")
  if (!is.null(n) && nrow(start) != n) abort("shape", "`start` has ", counted(nrow(start), "point"), ", and `n` is ", n)
  mass <- check_masses(a, nrow(start), "a")
  x <- heavy_cloud(start, mass / sum(mass))
  epsilon <- if (is.null(epsilon)) default_epsilon(x, all_clouds(targets, weights), 2)
  else positive_number(epsilon, "epsilon")
  how <- list(epsilon = epsilon, p = 2, rho = c(x = Inf, y = Inf), tol = tol / 100, max_iter = 2000)
  begin_work("sinkhorn_barycentre()", quicker = "a larger `epsilon` or `tol`")
  on.exit(end_work("sinkhorn_barycentre()"))
  found <- descended(x, targets, weights, how, tol, max_iter)
  start[x$heavy, ] <- found$at
  dimnames(start) <- list(NULL, colnames(inputs$x))
  divergence <- stats::setNames(found$divergence, names(clouds))
  structure(list(call = call, x = start, a = mass / sum(mass), divergence = divergence,
                 value = sum(weights * divergence), weights = weights, epsilon = epsilon, move = found$size,
                 iterations = found$iterations, clouds = stats::setNames(lapply(targets, `[[`, "at"), names(clouds))),
            class = "sinkhorn_barycentre")
}

cloud_like <- function(points, inputs, argument) {
  at <- check_complete(points_like(points, inputs, argument), argument)
  match_width(at, ncol(inputs$x), "the first cloud has", argument = argument)
  strip_term(at)
}

target_clouds <- function(clouds, b, inputs) {
  if (!is.null(b) && (!is.list(b) || length(b) != length(clouds))) {
    abort("shape", "`b` must be a list of masses for ", counted(length(clouds), "cloud"), ", not ", describe(b))
  }
  lapply(seq_along(clouds), function(k) {
    of_cloud <- function(argument) paste0(argument, "[[", k, "]]")
    at <- cloud_like(clouds[[k]], inputs, of_cloud("clouds"))
    mass <- check_masses(b[[k]], nrow(at), of_cloud("b"))
    heavy_cloud(at, mass / sum(mass))
  })
}

all_clouds <- function(clouds, weights) {
  mass <- unlist(Map(function(cloud, weight) weight * cloud$mass, clouds, weights))
  heavy_cloud(do.call(rbind, lapply(clouds, `[[`, "at")), mass)
}

mean_of_cloud <- function(cloud) colSums(cloud$mass * cloud$at)

# Returns starting points: the cloud of largest weight, or all clouds, shifted to the overall mean.
mean_start <- function(clouds, weights, n) {
  to <- mean_of_cloud(all_clouds(clouds, weights))
  centred <- function(cloud) cloud$at + rep(to - mean_of_cloud(cloud), each = nrow(cloud$at))
  at <- centred(clouds[[which.max(weights)]])
  n <- check_count(n %or% nrow(at), "n")
  if (n > nrow(at)) at <- do.call(rbind, lapply(clouds, centred))
  if (n > nrow(at)) abort("value", "`n` is ", n, ", and all clouds have ", counted(nrow(at), "point"), ": give `start`")
  at[evenly_spaced(nrow(at), n), , drop = FALSE]
}

# Gradient descent until points move by less than `tol` times the sd of all clouds. The tolerance of potentials is a
# hundredth of the move: a smaller one would take most of the iterations.
descended <- function(x, targets, weights, how, tol, max_iter) {
  all <- all_clouds(targets, weights)
  spread <- sqrt(sum(all$mass * (all$at - rep(mean_of_cloud(all), each = nrow(all$at)))^2))
  rough <- replace(how, "tol", max(how$tol, 1e-2))
  found <- list(each = lapply(targets, function(y) list(g = first_potential(x, y, how))))
  for (iteration in seq_len(max_iter)) {
    repeat {
      found <- next_move(x, targets, weights, rough, found)
      enough <- max(how$tol, found$size / spread / 100)
      if (rough$tol <= 3 * enough && found$size > tol * spread || rough$tol <= enough) break
      rough$tol <- enough
    }
    if (found$size <= tol * spread || iteration == max_iter) break
    step_work("sinkhorn_barycentre()", paste0("iteration ", iteration, ", moves by ", format(found$size, digits = 2)))
    x <- utils::modifyList(x, places_of_cloud(x$at + found$move))
  }
  if (found$size > tol * spread) {
    warn("convergence", "points still move by ", format(found$size, digits = 3), " after ", max_iter,
         " iterations, not by ", format(tol * spread, digits = 3), ": a larger `max_iter` or `epsilon` would help")
    found <- next_move(x, targets, weights, how, found)
  }
  value <- function(parts) vapply(parts, `[[`, 0, "value")
  divergence <- value(found$each) - (found$own$value + value(lapply(targets, own_potential, how, Inf))) / 2
  list(at = x$at, divergence = divergence, size = found$size, iterations = iteration)
}

# Updates the potentials, and returns the next move of the points, with its root mean square.
next_move <- function(x, targets, weights, how, last) {
  own <- own_potential(x, how, Inf, last$own$f)
  each <- Map(function(y, last) two_potentials(x, y, how, g = last$g), targets, last$each)
  maps <- Map(function(y, found, weight) weight * mean_target(x$at, y, found$g, how), targets, each, weights)
  move <- Reduce(`+`, maps) - mean_target(x$at, x, own$f, how)
  list(own = own, each = each, move = move, size = sqrt(sum(x$mass * move^2)))
}

#' @rdname sinkhorn_barycentre
#' @param x what `sinkhorn_barycentre()` returned
#' @param row.names,optional,... as in [base::as.data.frame()]; for `plot()`, arguments of [graphics::plot()]
#' @param digits significant digits
#' @export
print.sinkhorn_barycentre <- function(x, digits = 5, ...) {
  short <- function(v) format(v, digits = digits)
  say("Barycentre of ", counted(length(x$weights), "cloud"), ", ", counted(nrow(x$x), "point"), " in ",
      counted(ncol(x$x), "dimension"), ", epsilon ", short(x$epsilon), "\n  mean divergence ", short(x$value),
      "   last move ", format(x$move, digits = 2), " after ", counted(x$iterations, "iteration"), "\n")
  invisible(x)
}

#' @rdname sinkhorn_barycentre
#' @export
as.data.frame.sinkhorn_barycentre <- function(x, row.names = NULL, optional = FALSE, ...) {
  as.data.frame(cbind(x$x, mass = x$a), row.names = row.names, optional = optional, ...)
}

#' @rdname sinkhorn_barycentre
#' @export
plot.sinkhorn_barycentre <- function(x, ...) drawn(x, plot_data(x), ...)

# Plots the clouds in colours; in one dimension a line for each cloud, with the barycentre at the bottom.
#' @export
plot_data.sinkhorn_barycentre <- function(object, ...) {
  at <- unname(do.call(rbind, object$clouds))
  labels <- make.unique(names(object$clouds) %or% as.character(seq_along(object$clouds)))
  cloud <- rep(seq_along(labels), vapply(object$clouds, nrow, 0L))
  group <- factor(cloud, seq_along(labels), labels)
  if (ncol(at) == 1) {
    return(picture(colnames(object$x) %or% "x", "", points = data.frame(x = at[, 1], y = cloud + 1, group = group),
                   centres = data.frame(x = object$x[, 1], y = 1), glab = "cloud",
                   ticks = list(y = c("barycentre", labels))))
  }
  seen <- clusters_picture(at, list(cluster = cloud), object$x, unname(object$x), "barycentre")
  seen$layers$points$group <- group[attr(seen$layers$points, "rows") %or% seq_along(group)]
  seen$glab <- "cloud"
  seen
}
