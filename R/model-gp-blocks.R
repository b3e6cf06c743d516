# Block kriging: averages of a Gaussian process over rectangles, given nodes, or polygons.

# Predicts means over blocks in the form of predict(). They contain no noise (`nugget`), whose mean over a block is 0.
predict_blocks <- function(object, newdata, block, se.fit, interval, level, type, method, neighbours) {
  if (!is.null(object$family) && type %in% c("response", "mean")) {
    abort("unsupported", "with a family, means over blocks are of the linear predictor: type = \"link\"")
  }
  if (type != "trend") type <- "response"
  if (interval == "prediction") {
    abort("input", "the mean over a block has no noise to predict: interval = \"confidence\" is its own")
  }
  errors <- se.fit || interval != "none"
  by <- if (errors && type == "response" && method != "local") errors_by_neighbours(object, method, neighbours)
  m <- if (method == "local") neighbours %or% fewest_neighbours else by$neighbours
  nodes <- complete_nodes(object, block_nodes(object, newdata, block))
  found <- matrix(NA_real_, nodes$count, 2, dimnames = list(nodes$names, NULL))
  if (length(nodes$known)) found[nodes$known, ] <- block_values(object, nodes, errors, type, method == "local", m)
  as_prediction(object, found, se.fit, interval, level, by)
}

# Means and standard errors of the complete blocks, in rows.
block_values <- function(object, nodes, errors, type, local, m) {
  average <- function(v) unname(rowsum(v * nodes$weight, nodes$group, reorder = FALSE))
  F <- average(nodes$F)
  offset <- as.vector(average(matrix(nodes$offset)))
  beside <- as.vector(F %*% coef(object)) + offset
  if (type == "trend") return(cbind(beside, if (errors) sqrt(rowSums((F %*% object$vcov) * F)) else NA))
  if (local) return(local_blocks(object, nodes, F, offset, m))
  of_data <- average(gp_products(object, nodes$x, cbind(model_alpha(object), if (errors) object$U)))
  if (!errors) return(cbind(beside + of_data[, 1], NA))
  process <- if (is.null(m)) exact_block_variance(object, nodes)
             else local_blocks(object, nodes, NULL, offset, m)[, 2]^2
  at <- new_regressors(object$data, F)
  trend <- if (ncol(F)) rowSums((at %*% inverse_root(object$C) - of_data[, -1, drop = FALSE])^2) else 0
  cbind(beside + of_data[, 1], sqrt(pmax(process, 0) + trend))
}

# Prior variances of block means: weighted means over pairs of nodes. With a stationary kernel blocks of the same shape
# have the same variance.
block_variances <- function(object, nodes) {
  kernel <- object$data$kernel
  of_distance <- vapply(leaf_parts(kernel), function(p) is.null(p$fun) && !is.null(kernel_rows[[p$name]]$of_square), NA)
  alike <- nodes$alike && all(of_distance) && is.null(object$data$rule) && !length(object$data$groups)
  rows <- split(seq_along(nodes$group), nodes$group)
  one <- function(rows) {
    at <- nodes$x[rows, , drop = FALSE]
    w <- nodes$weight[rows]
    sum(w * (unname(as.matrix(gp_cross(object, at, at))) %*% w))
  }
  if (alike) rep(one(rows[[1]]), length(rows)) else vapply(rows, one, 0, USE.NAMES = FALSE)
}

# Posterior variances given all observations, 64 blocks at a time.
exact_block_variance <- function(object, nodes) {
  model <- object$data
  groups <- unique(nodes$group)
  system <- kept_system(object)
  own <- block_variances(object, nodes)
  left <- lapply(split(seq_along(groups), (seq_along(groups) - 1) %/% 64), function(some) {
    rows <- which(nodes$group %in% groups[some])
    weights <- outer(nodes$group[rows], groups[some], "==") * nodes$weight[rows]
    k <- unname(gp_cross(object, model_places(model), nodes$x[rows, , drop = FALSE]) %*% weights)
    variance_given_all(system, k, own[some])
  })
  unlist(left, use.names = FALSE)
}

# Predicts each block from the observations nearest to its middle: mean and standard error, with a trend estimated from
# these observations; without regressors `F`, the standard error of the process alone.
local_blocks <- function(object, nodes, F, offset, m) {
  model <- object$data
  middles <- unname(rowsum(nodes$x * nodes$weight, nodes$group, reorder = FALSE))
  near <- nearest_observations(object, middles, min(m, length(model$y)))$nn.index
  own <- block_variances(object, nodes)
  rows <- split(seq_along(nodes$group), nodes$group)
  at <- if (!is.null(F)) new_regressors(model, F)
  places <- model_places(model)
  found <- vapply(seq_along(rows), function(block) {
    S <- near[block, ]
    x <- places[S, , drop = FALSE]
    A <- unname(as.matrix(gp_cross(object, x, x))) + diag(model$values$nugget / model$w[S], length(S))
    k <- unname(as.matrix(gp_cross(object, x, nodes$x[rows[[block]], , drop = FALSE]))) %*% nodes$weight[rows[[block]]]
    after_neighbours(A, as.vector(k), own[block], model$y[S], model$Q[S, , drop = FALSE], if (!is.null(F)) at[block, ])
  }, numeric(2))
  beside <- if (is.null(F)) NA else as.vector(at %*% model$b) + offset
  cbind(beside + found[1, ], sqrt(pmax(found[2, ], 0)))
}

# Predicts a linear function of the process by universal kriging: mean and variance, given its covariances k with some
# observations, which also estimate the trend; without regressors `at`, the variance for a known trend.
after_neighbours <- function(A, k, own, y, Q, at) {
  if (is.null(at)) return(c(NA, own - sum(k * solve(A, k))))
  solved <- solve(A, cbind(k, y, Q))
  if (!ncol(Q)) return(c(sum(k * solved[, 2]), own - sum(k * solved[, 1])))
  of_trend <- solved[, -(1:2), drop = FALSE]
  inner <- crossprod(Q, of_trend)
  if (rcond(inner) < 1e-14) {
    abort("singular", "the trend cannot be estimated from ", length(y), " neighbours: raise `neighbours`")
  }
  b <- solve(inner, crossprod(Q, solved[, 2]))
  gap <- at - crossprod(Q, solved[, 1])
  c(sum(at * b) + sum(k * (solved[, 2] - of_trend %*% b)), own - sum(k * solved[, 1]) + sum(gap * solve(inner, gap)))
}

# --- nodes --------------------------------------------------------------------------------------------------------

# Nodes as new data: `data`, a row for each node; `group` and `weight` of each node; `count` and `names` of the groups;
# `alike`: all groups have nodes at the same offsets.
block_nodes <- function(object, newdata, block) {
  newdata <- as_sf(newdata, object$variables)
  if (is.list(block) && (!is.data.frame(block) || inherits(block, "sf"))) return(polygon_nodes(object, newdata, block))
  if (is.null(newdata)) abort("input", "`block` needs `newdata`, the middles of the blocks")
  x <- new_points(object, newdata)
  offsets <- block_offsets(block, block_variables(object))
  each <- rep(seq_len(nrow(x)), each = nrow(offsets$at))
  spread <- function(v) if (is.null(dim(v))) v[each] else v[each, , drop = FALSE]
  by <- offsets$at[rep(seq_len(nrow(offsets$at)), nrow(x)), , drop = FALSE]
  list(data = shifted(object, places_like(newdata, object$places), spread, by), group = each, alike = TRUE,
       weight = rep(offsets$weight, nrow(x)), count = nrow(x), names = rownames(x))
}

# Returns the variables along which blocks extend: the coordinates of a geometry, or the inputs, which must be numeric.
block_variables <- function(object) {
  if (!is.null(object$places)) return(c("X", "Y"))
  variables <- if (is.null(object$terms)) object$names else input_variables(object)
  columns <- if (length(object$constant)) length(object$constant) else ncol(object$x)
  if (length(object$xlevels) || length(variables) != columns) {
    abort("unsupported", "blocks are of inputs that are numbers, a column each")
  }
  if (length(variables) > 3) abort("unsupported", "blocks have up to three sides, and there are ", length(variables))
  variables
}

# Returns the offsets of nodes from the middle, with weights: 4 Gauss-Legendre nodes along each side, or given offsets.
# A single length applies to all sides.
block_offsets <- function(block, variables) {
  D <- length(variables)
  sides <- is.numeric(block) && is.null(dim(block))
  if (is.data.frame(block)) block <- as.matrix(block)
  if (!is.numeric(block) || !all(is.finite(block)) || !length(block) || sides && any(block <= 0)) {
    abort("value", "`block` must be positive lengths of sides, a matrix of offsets, or list(polygons = )")
  }
  if (sides && length(block) == 1 && is.null(names(block))) block <- rep(block, D)
  if ((if (sides) length(block) else ncol(block)) != D) {
    abort("shape", "`block` must have ", counted(D, if (sides) "number" else "column"), ", one for each input, not ",
          if (sides) length(block) else ncol(block))
  }
  names <- if (sides) names(block) else colnames(block)
  if (length(names)) {
    order <- block_order(names, variables)
    block <- if (sides) block[order] else block[, order, drop = FALSE]
  }
  if (!sides) return(list(at = unname(block), weight = rep(1 / nrow(block), nrow(block))))
  at <- c(-1, -1, 1, 1) * sqrt(3 / 7 + c(1, -1, -1, 1) * 2 / 7 * sqrt(6 / 5)) / 2
  weight <- (18 + c(-1, 1, 1, -1) * sqrt(30)) / 72
  list(at = unname(as.matrix(expand.grid(lapply(block, `*`, at)))),
       weight = Reduce(function(a, b) as.vector(outer(a, b)), rep(list(weight), D)))
}

# Matches the variables to the sides of a block by name. Default names, as of a grid, count as no names.
block_order <- function(names, variables) {
  if (!any(names %in% variables)) {
    if (all(grepl("^(Var|V)[0-9]+$", names))) return(seq_along(names))
    abort("input", "`block` has no side `", variables[1], "`", there_are(names))
  }
  unknown <- setdiff(names, variables)
  if (length(unknown) || anyDuplicated(names)) {
    abort("input", "`block` has a side `", c(unknown, names[duplicated(names)])[1], "`; its sides are ",
          paste0("`", variables, "`", collapse = ", "))
  }
  match(variables, names)
}

# Returns new data with a row for each node, at the node's coordinates.
shifted <- function(object, newdata, spread, by) {
  if (is.null(object$terms)) {
    x <- if (is.data.frame(newdata)) as.matrix(newdata) else if (is.null(dim(newdata))) matrix(newdata) else newdata
    return(spread(columns_like(x, object, "newdata")) + by)
  }
  out <- spread(as.data.frame(newdata))
  if (!is.null(object$places)) {
    out[[object$places$name]] <- out[[object$places$name]] + by
    return(out)
  }
  variables <- block_variables(object)
  for (k in seq_along(variables)) out[[variables[k]]] <- out[[variables[k]]] + by[, k]
  out
}

# Makes about 256 grid nodes in each polygon, with the polygon's other variables.
polygon_nodes <- function(object, newdata, block) {
  polygons <- if (!inherits(block, c("sf", "sfc"))) as_sf(block$polygons)
  if (!identical(names(block), "polygons") || !inherits(polygons, c("sf", "sfc"))) {
    abort("input", "`block` must be list(polygons = ), of the sf, terra or sp packages",
          if (inherits(block, c("sf", "sfc"))) ": block = list(polygons = block)")
  }
  if (!is.null(newdata)) abort("input", "polygons are places by themselves: `newdata` has no place beside them")
  if (length(block_variables(object)) != 2) abort("shape", "polygons are of two inputs")
  if (inherits(polygons, "sfc")) polygons <- sf::st_sf(geometry = polygons)
  nodes <- lapply(sf::st_geometry(polygons), nodes_within)
  group <- rep(seq_along(nodes), vapply(nodes, nrow, 1L))
  at <- do.call(rbind, nodes)
  data <- sf::st_drop_geometry(polygons)[group, , drop = FALSE]
  if (is.null(object$places)) data[block_variables(object)] <- as.data.frame(at)
  else {
    check_crs(polygons, object$places, "block$polygons", "the fit")
    data[[object$places$name]] <- at
  }
  list(data = data, group = group, weight = 1 / tabulate(group)[group], count = length(nodes),
       names = row.names(polygons), alike = FALSE)
}

# The centres of about 256 grid cells that lie in a polygon, or, if there are none, a point in the polygon.
nodes_within <- function(polygon) {
  polygon <- sf::st_sfc(polygon)
  box <- unname(unclass(sf::st_bbox(polygon)))
  step <- sqrt(as.numeric(sf::st_area(polygon)) / 256)
  if (!isTRUE(step > 0)) abort("data", "`block`: a polygon has no area")
  axes <- lapply(1:2, function(k) {
    n <- max(1, round((box[k + 2] - box[k]) / step))
    box[k] + (seq_len(n) - 0.5) / n * (box[k + 2] - box[k])
  })
  at <- unname(as.matrix(expand.grid(axes)))
  points <- sf::st_as_sf(as.data.frame(at), coords = 1:2)
  inside <- lengths(sf::st_intersects(points, polygon)) > 0
  if (any(inside)) at[inside, , drop = FALSE] else unname(sf::st_coordinates(sf::st_point_on_surface(polygon)))
}

# Returns model points and regressors of the nodes. Blocks that are not `known` have missing values.
complete_nodes <- function(object, nodes) {
  x <- new_points(object, nodes$data)
  trend <- new_trend(object, nodes$data, nrow(x), object$re.form, isTRUE(object$allow.new.levels))
  lost <- nodes$group[!stats::complete.cases(cbind(strip_term(x), trend$F, trend$offset, trend$z))]
  kept <- !nodes$group %in% lost
  list(known = setdiff(seq_len(nodes$count), lost), count = nodes$count, names = nodes$names, alike = nodes$alike,
       group = nodes$group[kept], weight = nodes$weight[kept], F = unname(trend$F)[kept, , drop = FALSE],
       x = cbind(model_points(object$data$rule, unname(strip_term(x))), trend$z)[kept, , drop = FALSE],
       offset = trend$offset[kept])
}
