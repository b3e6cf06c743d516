# Panels: each place at each time, once, and a product of a kernel of places and a kernel of times. A = variance K_s (x)
# K_t + noise has eigenvectors V_s (x) V_t, so that all is exact with matrices of S x S, T x T and S x T, for S places
# and T times. The first factor is called places, the second times, even if they are other inputs.

# The most places or times; their eigenvectors then take a minute.
most_of_side <- 3000

# Adds `panel` to a model whose rows form one: `at`, the row number by place and time, and two `sides` with their
# `kernel`, `columns` and points `x`.
with_panel <- function(model) {
  n <- length(model$y)
  mixed <- length(model$groups) || length(model$unit) || any(model$w != model$w[1])
  if (n <= model$control$dense_n || mixed) return(model)
  factors <- product_factors(model$kernel)
  columns <- lapply(factors, function(one) {
    unique(unlist(lapply(leaf_parts(one$kernel), function(part) {
      c(part$columns %or% seq_len(ncol(model$x)), part$factors)
    })))
  })
  sets <- sets_of_columns(columns)
  if (length(sets) < 2 || !has_plain_parts(model$kernel, factors)) return(model)
  for (one in if (length(sets) == 2) sets[1] else sets) {
    split <- list(one, setdiff(seq_along(factors), one))
    own <- lapply(split, function(k) unique(unlist(columns[k])))
    at <- panel_rows(model$x, own)
    if (is.null(at)) next
    first <- list(at[, 1], at[1, ])
    model$panel <- list(at = at, sides = lapply(1:2, function(k) {
      list(kernel = side_kernel(model$kernel, factors[split[[k]]]), columns = own[[k]],
           x = model$x[first[[k]], , drop = FALSE])
    }))
    model[c("dense", "control")] <- list(TRUE, replace(model$control, "approximate", list(NULL)))
    break
  }
  model
}

# Returns the factors of a product of kernels, each with its `keys`, the names of its parameters in the product.
product_factors <- function(kernel) {
  parts <- kernel_parts(kernel)
  names <- names(parts$parameters)
  if (!identical(parts$op, "*")) return(list(list(kernel = kernel, keys = stats::setNames(names, names))))
  do.call(c, lapply(1:2, function(k) {
    keys <- parts$keys[[k]]
    lapply(product_factors(parts$of[[k]]), function(one) {
      names(one$keys) <- names(keys)[match(names(one$keys), keys)]
      one
    })
  }))
}

# Tells whether inner products have variance 1; another variance would belong to no factor.
has_plain_parts <- function(kernel, factors) {
  parts <- kernel_parts(kernel)
  others <- setdiff(names(parts$parameters), c("variance", unlist(lapply(factors, function(one) names(one$keys)))))
  !any(others %in% parts$free) && all(vapply(parts$parameters[others], identical, NA, 1))
}

# Returns the sets of factors that have columns in common.
sets_of_columns <- function(columns) {
  unique(lapply(seq_along(columns), function(mine) {
    repeat {
      more <- which(vapply(columns, function(one) any(one %in% unlist(columns[mine])), NA))
      if (length(more) == length(mine)) return(more)
      mine <- more
    }
  }))
}

# Returns row numbers by place and time, NULL if the rows are no panel.
panel_rows <- function(x, columns) {
  of <- lapply(columns, function(own) distinct_rows(x[, own, drop = FALSE]))
  sizes <- vapply(of, max, 0)
  n <- nrow(x)
  if (prod(sizes) != n || max(sizes) > min(most_of_side, max(1000, n / 10))) return(NULL)
  at <- matrix(0L, sizes[1], sizes[2])
  at[do.call(cbind, of)] <- seq_len(n)
  if (all(at > 0)) at
}

# Numbers the distinct rows of a matrix.
distinct_rows <- function(x) {
  number <- function(v) match(v, unique(v))
  Reduce(function(found, k) number(found * nrow(x) + number(x[, k])), seq_len(ncol(x)), rep(1, nrow(x)))
}

# Returns the product of some factors, whose parameters keep their names.
side_kernel <- function(kernel, factors) {
  parts <- kernel_parts(kernel)
  keys <- lapply(factors, `[[`, "keys")
  own <- unlist(lapply(keys, names))
  new_kernel(replace(parts, c("of", "keys", "parameters", "free"), list(
    lapply(factors, `[[`, "kernel"), keys, c(parts$parameters[own], list(variance = 1)), intersect(parts$free, own)
  )))
}

# Returns a side as a model, with its values, and the `rows` of its parameters in the layout.
on_side <- function(model, values, k) {
  side <- model$panel$sides[[k]]
  own <- names(kernel_parts(side$kernel)$parameters)
  values$kernel <- values$kernel[intersect(names(values$kernel), own)]
  rows <- which(model$layout$part == "kernel" & model$layout$name %in% own)
  list(model = list(x = side$x, kernel = side$kernel, layout = model$layout[rows, ]), values = values, rows = rows)
}

# Covariances between the points of a side and others.
side_cross <- function(model, values, k, x, from = model$panel$sides[[k]]$x) {
  on <- on_side(model, values, k)
  pairs <- lapply(list(from, x), function(points) points[, seq_len(ncol(model$x)), drop = FALSE])
  pairs <- list(Vi(pairs[[1]]), Vj(pairs[[2]]))
  unname(as.matrix(do.call(on$model$kernel, c(pairs, gp_numbers(on$model, on$values)))))
}

# --- the system -------------------------------------------------------------------------------------------------

# Makes the system with the eigenvalues `d` of A; NULL if A is not definite.
panel_gp_system <- function(model, values, noise) {
  sides <- lapply(1:2, function(k) {
    K <- side_cross(model, values, k, model$panel$sides[[k]]$x)
    if (!all(is.finite(K))) return(NULL)
    found <- eigen(K, symmetric = TRUE)
    list(K = K, V = found$vectors, to = t(found$vectors), values = pmax(found$values, 0))
  })
  if (any(vapply(sides, is.null, NA))) return(NULL)
  at <- model$panel$at
  d <- numeric(length(at))
  d[at] <- values$variance * outer(sides[[1]]$values, sides[[2]]$values) + noise[1]
  if (!all(is.finite(d)) || min(d) <= .Machine$double.eps * max(d)) return(NULL)
  new_system("gp_panel", model, values, noise, at = at, sides = sides, d = d, logdet = sum(log(d)))
}

# Multiplies columns, each a matrix of places and times, by A from the left and by B' from the right.
panel_times <- function(at, x, A, B) {
  x <- as.matrix(x)
  sizes <- c(dim(at), ncol(x))
  turned <- aperm(array(A %*% matrix(x[at, ], sizes[1]), sizes), c(2, 1, 3))
  x[at, ] <- aperm(array(B %*% matrix(turned, sizes[2]), sizes[c(2, 1, 3)]), c(2, 1, 3))
  x
}

to_eigenvectors <- function(system, x) panel_times(system$at, x, system$sides[[1]]$to, system$sides[[2]]$to)

#' @export
solve.gp_panel <- function(a, b, ...) {
  panel_times(a$at, to_eigenvectors(a, b) / a$d, a$sides[[1]]$V, a$sides[[2]]$V)
}

#' @export
forms_of_columns.gp_panel <- function(system, x, tol) {
  list(value = crossprod(to_eigenvectors(system, x) / sqrt(system$d)))
}

# The derivative of A by a parameter of places is variance dK_s (x) K_t; its trace with A^-1 is the trace of dK_s with a
# matrix of places.
#' @export
system_slopes.gp_panel <- function(system) {
  model <- system$model
  sides <- system$sides
  inverse <- 1 / matrix(system$d[system$at], nrow(system$at))
  of <- lapply(1:2, function(k) {
    on <- on_side(model, system$values, k)
    slopes <- gp_slopes(on$model, on$values)
    if (!length(slopes$of)) return(list(rows = on$rows))
    each <- Map(function(B, by) by * unname(as.matrix(B)), slopes$of, slopes$by)
    V <- sides[[k]]$V
    weights <- as.vector((if (k == 1) inverse else t(inverse)) %*% sides[[3 - k]]$values)
    within <- tcrossprod(V * rep(sqrt(weights), each = nrow(V)))
    list(rows = on$rows, of = each, traces = vapply(each, function(B) sum(B * within), 0))
  })
  order <- order(c(of[[1]]$rows, of[[2]]$rows))
  of_noise <- sum(inverse) * system$noise[1]
  traces <- c(length(inverse) - of_noise, c(of[[1]]$traces, of[[2]]$traces)[order], of_noise)
  list(logdet = system$logdet, traces = traces, each = rbind(traces, traces), applied = function(u) {
    places <- lapply(of[[1]]$of, function(B) panel_times(system$at, u, B, sides[[2]]$K))
    times <- lapply(of[[2]]$of, function(B) panel_times(system$at, u, sides[[1]]$K, B))
    c(places, times)[order]
  })
}

#' @export
covariance_times.gp_panel <- function(system, x) {
  system$values$variance * panel_times(system$at, x, system$sides[[1]]$K, system$sides[[2]]$K)
}

#' @export
system_inverse.gp_panel <- function(system) solve(system, diag(length(system$d)))

#' @export
inverse_diagonal.gp_panel <- function(system) panel_diagonal(system, 1 / system$d)

#' @export
inverse_squares.gp_panel <- function(system, w) panel_diagonal(system, 1 / (system$d^2 * w))

# The diagonal of V diag(d) V', V the eigenvectors of A.
panel_diagonal <- function(system, d) {
  as.vector(panel_times(system$at, d, system$sides[[1]]$V^2, system$sides[[2]]$V^2))
}

#' @export
inverse_forms.gp_panel <- function(system, k) colSums(to_eigenvectors(system, k)^2 / system$d)

# --- places -----------------------------------------------------------------------------------------------------

# The covariances of places and data are products of the covariances of both sides, also in the basis of eigenvectors.
#' @export
explained_at_places.gp_panel <- function(system, object, x) {
  inverse <- object$variance^2 / matrix(system$d[system$at], nrow(system$at))
  in_row_blocks(nrow(x), work = "predict()", function(rows) {
    k <- lapply(1:2, function(one) {
      (system$sides[[one]]$to %*% side_cross(object$data, object$data$values, one, x[rows, , drop = FALSE]))^2
    })
    colSums(k[[1]] * (inverse %*% k[[2]]))
  })
}

# Multiplies the covariances of places and data by columns.
panel_products <- function(fit, at, x) {
  model <- fit$data
  x <- as.matrix(x)
  S <- nrow(model$panel$at)
  do.call(rbind, in_row_blocks(nrow(at), function(rows) {
    k <- lapply(1:2, function(one) side_cross(model, model$values, one, at[rows, , drop = FALSE]))
    found <- apply(x, 2, function(v) colSums(k[[1]] * (matrix(v[model$panel$at], S) %*% k[[2]])))
    fit$variance * matrix(found, length(rows))
  }))
}

# Prior draws of the process at places, from a grid of their places and times; NULL if these are too many.
panel_draws <- function(fit, x, nsim) {
  sides <- fit$data$panel$sides
  of <- lapply(sides, function(side) distinct_rows(x[, side$columns, drop = FALSE]))
  if (max(unlist(of)) > most_of_side) return(NULL)
  roots <- lapply(1:2, function(k) {
    own <- x[!duplicated(of[[k]]), , drop = FALSE]
    found <- eigen(side_cross(fit$data, fit$data$values, k, own, own), symmetric = TRUE)
    found$vectors * rep(sqrt(pmax(found$values, 0)), each = nrow(own))
  })
  sizes <- vapply(roots, nrow, 0L)
  replicate(nsim, {
    drawn <- roots[[1]] %*% matrix(stats::rnorm(prod(sizes)), sizes[1])
    sqrt(fit$variance) * tcrossprod(drawn, roots[[2]])[do.call(cbind, of)]
  })
}
