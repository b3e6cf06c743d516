# Entropic optimal transport between two clouds of points.

#' Optimal transport with Sinkhorn's algorithm
#'
#' Computes the cost of transporting the masses of one cloud of points to another, with cost |x - y|^p and entropic
#' regularisation `epsilon`. Use it to compare two samples or images by a (Sinkhorn) Wasserstein distance, or to map one
#' to the other.
#'
#' The dual potentials are computed on the log scale, so that nothing under- or overflows. `epsilon` is halved from the
#' largest cost down to its final value, at which the iteration continues until both marginals are correct to `tol`. The
#' cost matrix is never formed. On a CPU and with points in one to three dimensions, an iteration with a small `epsilon`
#' skips the pairs that cannot change a sum. With ten million pairs or more the first iterations are computed in float16
#' (see [kernweave_options]), and the last ones in the precision of the session.
#'
#' The regularised cost from a cloud to itself is not 0. `debias = TRUE` subtracts half of this cost for each cloud: the
#' resulting Sinkhorn `divergence` is 0 for equal clouds and positive otherwise.
#'
#' With a finite `rho` the transport is unbalanced: the marginals of the plan P may differ from `a` and `b`, and
#' `sum(P * cost) + epsilon KL(P | a b') + rho KL(P 1 | a) + rho KL(P' 1 | b)` is minimised, with the generalised
#' Kullback-Leibler divergence `KL(p | q) = sum(p log(p / q) - p + q)`. Mass whose transport would cost much more than
#' `rho` stays where it is; `predict()` maps the mass that is moved. The masses `a` and `b` may then have different
#' sums, and are not rescaled. Their unit matters unless `epsilon` is small: sums near 1 are a good choice. With
#' `rho = c(x = Inf, y = 1)` transport is semi-unbalanced: all of `a` is moved, but the mass that arrives may differ
#' from `b`. The divergence of unbalanced transport has a further term, `epsilon / 2 * (sum(a) - sum(b))^2`: so it is
#' never negative, and 0 for equal clouds if `rho` is the same on both sides.
#'
#' `value` is the value of the dual problem, a lower bound of the optimal value. For balanced transport `value_bounds`
#' are bounds of the optimal value: the upper bound adds the marginal error times the range of the cost. Bounds hold
#' after any number of iterations, up to rounding errors. `divergence_bounds` combines those of the three transports.
#'
#' `GeomLoss` (p = 2) has costs `|x - y|^2 / 2`: its `blur^2` is `epsilon / 2`, and its value is half of the value here.
#'
#' @param x,y points: matrices, data frames, vectors or points of the sf, terra or sp packages, in their coordinates;
#'   columns are matched by name if both have names
#' @param a,b masses of the points; by default equal masses that sum to 1. If the transport is balanced, both must have
#'   the same sum, and are rescaled to sum to 1
#' @param epsilon entropic regularisation, in units of the cost; by default 0.01 of the mean cost of 5000 points
#' @param p power of the distance, at least 1
#' @param rho the penalty on marginals of the plan that differ from `a` and `b`, in units of the cost: a positive
#'   number, or two named ones, `c(x = , y = )`. `Inf` keeps the masses exactly
#' @param debias also compute the divergence? This doubles the time
#' @param tol tolerance on the marginals: the sum of absolute differences of the masses. If the transport is unbalanced,
#'   the tolerance on the mean step of the potential `g`, in units of `epsilon`
#' @param max_iter maximum number of iterations at the final `epsilon`
#' @param ... not used
#' @return An object of class `sinkhorn`: `value`, the regularised cost; `cost`, the cost of the plan alone; `mass`, the
#'   mass of the plan; `divergence`; `distance`, `max(divergence, 0)^(1 / p)`; `value_bounds` and `divergence_bounds`,
#'   which are `NA` for unbalanced transport; the potentials `f` and `g`; `marginal_error`, which `tol` bounds;
#'   `iterations`. `as.data.frame()` has a row for each point that has mass: its `cloud` and row, coordinates, mass and
#'   potential; or the largest entries of the plan, `mass` from point `i` of `x` to point `j` of `y`.
#' @seealso [transport_plan()], [hessian_product()], [sinkhorn_barycentre()], [energy_test()]
#' @concept Wasserstein distance
#' @concept earth mover's distance
#' @concept entropic regularisation
#' @concept Sinkhorn divergence
#' @concept transport map
#' @concept unbalanced transport
#' @export
#' @examples
#' long <- as.matrix(iris[, 3:4])
#' found <- sinkhorn(long[1:50, ], long[51:100, ], epsilon = 0.1)
#' found
#' head(predict(found))  # where each point goes in the mean
#' plot(found)
#' head(as.data.frame(found))
#' as.data.frame(found, which = "plan", most = 5)  # the pairs with the largest masses
#' # A tenth of the points lies far away, and stays there
#' sinkhorn(c(1:9, 100), 2:11, epsilon = 0.1, rho = 10)
sinkhorn <- function(x, y, a = NULL, b = NULL, epsilon = NULL, p = 2, rho = Inf, debias = TRUE, tol = 1e-6,
                     max_iter = 2000, ...) {
  refuse_more(...)
  call <- match.call()
  check_flag(debias, "debias")
  if (!is.numeric(p) || length(p) != 1 || !isTRUE(p >= 1 && is.finite(p))) {
    abort("value", "`p` must be a number of at least 1, not ", format_value(p))
  }
  if (!is.numeric(tol) || length(tol) != 1 || !isTRUE(tol > 0)) {
    abort("value", "`tol` must be a positive number, not ", format_value(tol))
  }
  max_iter <- check_count(max_iter, "max_iter")
  rho <- check_rho(rho)
  clouds <- two_clouds(x, y, a, b, rho)
  left <- clouds$x
  right <- clouds$y
  epsilon <- if (is.null(epsilon)) default_epsilon(left, right, p) else positive_number(epsilon, "epsilon")
  how <- list(epsilon = epsilon, p = p, rho = rho, tol = tol, max_iter = max_iter)
  begin_work("sinkhorn()", quicker = "a larger `epsilon`")
  on.exit(end_work("sinkhorn()"))
  across <- two_potentials(left, right, how)
  cost <- sum(sum(plan_pairs(left, right, across, how) * pair_cost(left$at, right$at, p), index = "j"))
  fit <- list(call = call, x = clouds$all, kept = left, target = right, epsilon = epsilon, p = p, rho = rho,
              value = across$value, value_bounds = across$value + c(lower = 0, upper = 1) * across$short, cost = cost,
              mass = sum(row_masses(left$mass, across$f, rho[["x"]])), f = across$f, g = across$g,
              marginal_error = across$error, iterations = across$iterations, tol = tol, engine = engine_used())
  if (debias) {
    own <- list(x = own_potential(left, how, rho[["x"]]), y = own_potential(right, how, rho[["y"]]))
    half <- function(part) (own$x[[part]] + own$y[[part]]) / 2
    fit$own <- lapply(own, `[[`, "f")
    fit$divergence <- fit$value - half("value") + epsilon / 2 * (sum(left$mass) - sum(right$mass))^2
    fit$divergence_bounds <- fit$divergence + c(lower = -half("short"), upper = across$short)
    fit$distance <- max(fit$divergence, 0)^(1 / p)
  }
  structure(c(fit, clouds$like), class = "sinkhorn")
}

# --- arguments ----------------------------------------------------------------------------------------------

check_rho <- function(rho) {
  sides <- c("x", "y")
  named <- length(rho) == 2 && setequal(names(rho), sides)
  if (is.numeric(rho) && (length(rho) == 1 && is.null(names(rho)) || named) && isTRUE(all(rho > 0))) {
    return(if (named) rho[sides] else c(x = rho[[1]], y = rho[[1]]))
  }
  abort("value", "`rho` must be a positive number, or c(x = , y = ), not ", format_value(rho),
        ": a small number moves little mass, and Inf moves all")
}

is_balanced <- function(rho) all(is.infinite(rho))

# Returns points of positive mass, with log-masses; `all`: the first cloud as given.
two_clouds <- function(x, y, a, b, rho) {
  check_given(y, "y")
  inputs <- fit_matrix(x)
  y <- place_numbers(y, inputs$places, "y")
  y <- check_complete(points_like(matched_columns(if (is.null(inputs$places)) x else inputs$x, y)$y, inputs, "y"), "y")
  x <- inputs$x
  match_width(x, ncol(y), "`y` has", argument = "x")
  masses <- list(a = check_masses(a, nrow(x), "a"), b = check_masses(b, nrow(y), "b"))
  sums <- vapply(masses, sum, 0)
  balanced <- is_balanced(rho)
  if (balanced && !is.null(a) && !is.null(b) && abs(sums[1] - sums[2]) > 1e-8 * max(sums)) {
    abort("value", "the masses `a` sum to ", format(sums[[1]], digits = 10), ", and `b` to ",
          format(sums[[2]], digits = 10), ": they must be the same, or `rho` finite")
  }
  units <- if (balanced) sums else c(1, 1)
  list(x = heavy_cloud(x, masses$a / units[1]), y = heavy_cloud(y, masses$b / units[2]), all = strip_term(x),
       like = inputs[setdiff(names(inputs), "x")])
}

heavy_cloud <- function(points, mass) {
  heavy <- mass > 0
  mass <- mass[heavy]
  c(places_of_cloud(unname(strip_term(points))[heavy, , drop = FALSE]),
    list(mass = mass, log = log(mass), heavy = heavy))
}

# Returns the part of a cloud that changes when points move: the points and their box.
places_of_cloud <- function(at) {
  box <- vapply(seq_len(ncol(at)), function(k) range(at[, k]), numeric(2))
  list(at = at, low = box[1, ], high = box[2, ])
}

check_masses <- function(mass, n, argument) {
  if (!n) abort("data", "a cloud needs a point, and there is none beside `", argument, "`")
  if (is.null(mass)) return(rep(1 / n, n))
  if (!is.numeric(mass) || length(mass) != n) {
    abort("shape", "`", argument, "` must be ", counted(n, "number"), ", one for each point, not ", describe(mass))
  }
  if (!all(is.finite(mass) & mass >= 0) || !sum(mass) > 0) {
    abort("value", "`", argument, "` must be masses, 0 or more and not all 0")
  }
  as.numeric(mass)
}

# Returns a hundredth of the mean cost, from a sample of large clouds.
default_epsilon <- function(x, y, p) {
  x <- some_of_cloud(x)
  y <- some_of_cloud(y)
  mean <- sum(x$mass * unname(pair_cost(x$at, y$at, p) %*% y$mass)) / (sum(x$mass) * sum(y$mass))
  if (mean == 0) abort("data", "all points are in one place; give `epsilon`")
  mean / 100
}

pair_cost <- function(x, y, p) {
  square <- sqdist(Vi(x), Vj(y))
  if (p == 2) square else if (p == 1) sqrt(square) else square^(p / 2)
}

# Returns the plan as a formula: a_i b_j exp((f_i + g_j - cost_ij) / epsilon).
plan_pairs <- function(x, y, potentials, how) {
  exp(Vi(potentials$f / how$epsilon + x$log) + Vj(potentials$g / how$epsilon + y$log) -
        pair_cost(x$at, y$at, how$p) / how$epsilon)
}

# --- methods ------------------------------------------------------------------------------------------------

#' The plan of an optimal transport
#'
#' Returns how much mass goes from each point of one cloud to each point of the other, as a lazy tensor. Use it to
#' transport values that belong to the points.
#'
#' `%*%` transports such values, `sum()` gives the marginal masses, and `as.matrix()` gives the matrix if it is small;
#' `as.data.frame(object, which = "plan")` has the largest entries of any plan. Points without mass are left out.
#'
#' @param object what [sinkhorn()] returned
#' @return A lazy tensor of one component.
#' @concept transport plan
#' @concept coupling
#' @seealso [sinkhorn()]
#' @export
#' @examples
#' found <- sinkhorn(c(0, 1, 2), c(0.5, 2.5), epsilon = 0.01)
#' plan <- transport_plan(found)
#' round(as.matrix(plan), 3)
#' sum(plan, index = "i")
transport_plan <- function(object) {
  check_sinkhorn(object)
  plan_pairs(object$kept, object$target, object, object)
}

check_sinkhorn <- function(object) {
  if (inherits(object, "sinkhorn")) return(invisible())
  abort("input", "`object` must be what sinkhorn() returned, not ", describe(object))
}

#' @rdname sinkhorn
#' @param object,newdata for `predict()`: what `sinkhorn()` returned, and new points; by default the points of `x`
#' @param gradient return the gradient with respect to the points of `x` instead? It is the gradient of the divergence
#'   or, with `debias = FALSE`, of the value, and is available for p = 2
#' @param ... not used
#' @export
predict.sinkhorn <- function(object, newdata = NULL, gradient = FALSE, ...) {
  refuse_more(...)
  check_flag(gradient, "gradient")
  if (gradient) {
    if (!is.null(newdata)) abort("input", "the gradient is by the points of `x`; `newdata` has no place there")
    return(transport_gradient(object))
  }
  at <- if (is.null(newdata)) object$x else points_like(newdata, object, "newdata")
  match_width(at, ncol(object$x), "the clouds")
  map <- function(at) mean_target(unname(at), object$target, object$g, object)
  found <- at_complete(check_finite(at, "newdata"), map)
  colnames(found) <- colnames(object$x)
  found
}

# Returns the barycentric projection of mass at places: the mean target under the plan.
mean_target <- function(at, cloud, potential, how) {
  f <- softmin(at, cloud, how)(potential)
  shares <- exp(Vi(f / how$epsilon) + Vj(potential / how$epsilon + cloud$log) -
                  pair_cost(at, cloud$at, how$p) / how$epsilon)
  unname(shares %*% cloud$at)
}

#' @rdname sinkhorn
#' @param digits significant digits
#' @export
print.sinkhorn <- function(x, digits = 5, ...) {
  short <- function(v) format(v, digits = digits)
  brief <- function(v) format(v, digits = 2)
  count <- function(cloud) format(length(cloud$mass), big.mark = ",")
  worst <- function(value, bounds) brief(max(abs(bounds - value)))
  balanced <- is_balanced(x$rho)
  several <- !is.null(x$divergence)
  say("Optimal transport, ", count(x$kept), " and ", count(x$target), " points in ", counted(ncol(x$x), "dimension"),
      "   cost |x - y|", if (x$p != 1) paste0("^", format(x$p)), ", epsilon ", short(x$epsilon), "\n")
  if (!balanced) {
    say("  rho ", paste(unique(vapply(x$rho, short, "")), collapse = " and "), "   mass of the plan ", short(x$mass),
        " of ", short(sum(x$kept$mass)), " and ", short(sum(x$target$mass)), "\n")
  }
  say("  cost of the plan ", short(x$cost),
      if (several) paste0("   debiased divergence ", short(x$divergence), "   distance ", short(x$distance)), "\n",
      if (balanced) paste0("  error of the value below ", worst(x$value, x$value_bounds),
                           if (several) paste0(", of the divergence below ", worst(x$divergence, x$divergence_bounds)),
                           "\n"),
      "  ", if (balanced) "marginal error " else "last step ", brief(x$marginal_error), " after ",
      counted(x$iterations, "iteration"), "\n")
  invisible(x)
}

#' @rdname sinkhorn
#' @param most maximum number of arrows of `plot()`, or of entries of the plan
#' @export
plot.sinkhorn <- function(x, most = 200, ...) drawn(x, plot_data(x, most), ...)

# Plots arrows from points to mean targets; in one dimension the target against the point.
#' @export
plot_data.sinkhorn <- function(object, most = 200, ...) {
  clouds <- list(object$kept$at, object$target$at)
  rows <- evenly_spaced(nrow(clouds[[1]]), check_count(most, "most"))
  from <- clouds[[1]][rows, , drop = FALSE]
  to <- unname(predict(object, from))
  if (ncol(object$x) == 1) {
    return(picture("from", "to", points = data.frame(x = from[, 1], y = to[, 1]),
                   line = data.frame(intercept = 0, slope = 1)))
  }
  names <- colnames(object$x) %or% c("x1", "x2")
  all <- do.call(rbind, clouds)
  group <- factor(rep(c("x", "y"), vapply(clouds, nrow, 0L)))
  if (ncol(all) > 2) {
    turned <- stats::prcomp(all)
    all <- turned$x
    from <- stats::predict(turned, from)
    to <- stats::predict(turned, to)
    names <- c("PC1", "PC2")
  }
  picture(names[1], names[2], arrows = data.frame(x = from[, 1], y = from[, 2], xend = to[, 1], yend = to[, 2]),
          points = data.frame(x = all[, 1], y = all[, 2], group = group), glab = "cloud",
          beside = data.frame(label = "mean transport", pch = NA, lty = 1, col = "grey60"))
}

#' @rdname sinkhorn
#' @param row.names,optional as in [base::as.data.frame()]
#' @param which for `as.data.frame()`: `"potentials"`, or `"plan"` for the largest entries of [transport_plan()]
#' @export
as.data.frame.sinkhorn <- function(x, row.names = NULL, optional = FALSE, which = c("potentials", "plan"), most = 1000,
                                   ...) {
  which <- choice_of(which[1], c("potentials", "plan"), "which")
  if (which == "plan") return(as.data.frame(largest_entries(x, check_count(most, "most")), row.names, optional, ...))
  side <- function(name, cloud, potential) {
    at <- cloud$at
    colnames(at) <- colnames(x$x) %or% if (ncol(at) == 1) "x" else paste0("x", seq_len(ncol(at)))
    data.frame(cloud = factor(name, c("x", "y")), point = base::which(cloud$heavy), at, mass = cloud$mass,
               potential = potential, check.names = FALSE)
  }
  as.data.frame(rbind(side("x", x$kept, x$f), side("y", x$target, x$g)), row.names, optional, ...)
}

# Returns the `most` largest entries of a plan. If all candidates of a row are among these, the row may have more: it is
# searched again with more candidates.
largest_entries <- function(object, most) {
  plan <- transport_plan(object)
  n <- dim(plan)
  found <- data.frame(i = integer(), j = integer(), mass = numeric())
  rows <- seq_len(n[1])
  k <- min(n[2], max(4, ceiling(2 * most / n[1])))
  while (length(rows)) {
    best <- Kmax_argKmax(plan[rows, ], K = k)
    found <- rbind(found[!found$i %in% rows, ],
                   data.frame(i = rep(rows, k), j = as.vector(best$index), mass = as.vector(best$value)))
    found <- utils::head(found[order(-found$mass, found$i, found$j), ], most)
    rows <- if (k < n[2]) rows[nrow(found) < most | best$value[, k] > found$mass[nrow(found)]]
    k <- min(n[2], 4 * k)
  }
  data.frame(i = base::which(object$kept$heavy)[found$i], j = base::which(object$target$heavy)[found$j],
             mass = found$mass)
}
