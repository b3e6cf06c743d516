# Optimal transport between two clouds of points, smoothed by entropy.

#' Optimal transport with Sinkhorn's algorithm
#'
#' Computes the cost of transporting the masses of one cloud of points to another, with cost |x - y|^p and entropic
#' regularisation `epsilon`. Use it to compare two samples or images by a (Sinkhorn) Wasserstein distance, or to map one
#' to the other.
#'
#' The dual potentials are computed on the log scale, so that nothing under- or overflows. `epsilon` is halved from the
#' largest cost down to its final value, at which the iteration continues until both marginals are correct to `tol`. The
#' cost matrix is never formed.
#'
#' The regularised cost of a cloud to itself is not 0. `debias = TRUE` subtracts half of this cost for each cloud: the
#' resulting Sinkhorn `divergence` is 0 for equal clouds and positive otherwise.
#'
#' `GeomLoss` (p = 2) has costs `|x - y|^2 / 2`: its `blur^2` is `epsilon / 2`, and its value is half of the value here.
#'
#' @param x,y points: matrices, data frames or vectors; columns are matched by name if both have names
#' @param a,b masses of the points, equal by default; both must have the same sum, and are rescaled to sum to 1
#' @param epsilon entropic regularisation, in units of the cost; by default a hundredth of the mean cost
#' @param p power of the distance, at least 1
#' @param debias also compute the divergence? This doubles the time
#' @param tol tolerance on the marginals: sum of absolute differences of the masses
#' @param max_iter maximum number of iterations at the final `epsilon`
#' @return An object of class `sinkhorn`: `value`, the regularised cost; `cost`, that of the plan alone; `divergence`;
#'   `distance`, `max(divergence, 0)^(1 / p)`; the potentials `f` and `g`; `marginal_error`; `iterations`.
#' @seealso [transport_plan()], [energy_test()]
#' @concept Wasserstein distance
#' @concept earth mover's distance
#' @concept entropic regularisation
#' @concept Sinkhorn divergence
#' @concept transport map
#' @export
#' @examples
#' long <- as.matrix(iris[, 3:4])
#' found <- sinkhorn(long[1:50, ], long[51:100, ], epsilon = 0.1)
#' found
#' head(predict(found))  # where each point goes in the mean
#' plot(found)
sinkhorn <- function(x, y, a = NULL, b = NULL, epsilon = NULL, p = 2, debias = TRUE, tol = 1e-6, max_iter = 2000) {
  call <- match.call()
  check_flag(debias, "debias")
  if (!is.numeric(p) || length(p) != 1 || !isTRUE(p >= 1 && is.finite(p))) {
    abort("value", "`p` must be a number of at least 1, not ", format_value(p))
  }
  if (!is.numeric(tol) || length(tol) != 1 || !isTRUE(tol > 0)) {
    abort("value", "`tol` must be a positive number, not ", format_value(tol))
  }
  max_iter <- check_count(max_iter, "max_iter")
  clouds <- two_clouds(x, y, a, b)
  left <- clouds$x
  right <- clouds$y
  mean <- if (is.null(epsilon)) sum(left$mass * unname(pair_cost(left$at, right$at, p) %*% right$mass))
  if (identical(mean, 0)) abort("data", "all points are in one place; give `epsilon`")
  epsilon <- if (is.null(mean)) positive_number(epsilon, "epsilon") else mean / 100
  how <- list(epsilon = epsilon, p = p, tol = tol, max_iter = max_iter)
  begin_work("sinkhorn()", quicker = "a larger `epsilon`")
  on.exit(end_work("sinkhorn()"))
  across <- two_potentials(left, right, how)
  cost <- sum(sum(plan_pairs(left, right, across, how) * pair_cost(left$at, right$at, p), index = "j"))
  fit <- list(call = call, x = clouds$all, kept = left, target = right, epsilon = epsilon, p = p,
              value = sum(left$mass * across$f) + sum(right$mass * across$g), cost = cost, f = across$f, g = across$g,
              marginal_error = across$error, iterations = across$iterations, tol = tol, engine = engine_used())
  if (debias) {
    fit$own <- lapply(list(x = left, y = right), own_potential, how)
    fit$divergence <- fit$value - sum(left$mass * fit$own$x) - sum(right$mass * fit$own$y)
    fit$distance <- max(fit$divergence, 0)^(1 / p)
  }
  structure(c(fit, clouds$like), class = "sinkhorn")
}

# --- arguments ----------------------------------------------------------------------------------------------

# Points with a mass, their masses as logarithms too; `all`: the first cloud as it was given.
two_clouds <- function(x, y, a, b) {
  check_given(y, "y")
  inputs <- fit_matrix(x)
  y <- check_complete(points_like(matched_columns(x, y)$y, inputs, "y"), "y")
  x <- inputs$x
  match_width(x, ncol(y), "`y` has", argument = "x")
  masses <- list(a = check_masses(a, nrow(x), "a"), b = check_masses(b, nrow(y), "b"))
  sums <- vapply(masses, sum, 0)
  if (!is.null(a) && !is.null(b) && abs(sums[1] - sums[2]) > 1e-8 * max(sums)) {
    abort("value", "the masses `a` sum to ", format(sums[[1]], digits = 10), ", and `b` to ",
          format(sums[[2]], digits = 10), ": they must be the same")
  }
  cloud <- function(points, mass) {
    heavy <- mass > 0
    mass <- mass[heavy] / sum(mass)
    list(at = unname(strip_term(points))[heavy, , drop = FALSE], mass = mass, log = log(mass), heavy = heavy)
  }
  list(x = cloud(x, masses$a), y = cloud(y, masses$b), all = strip_term(x), like = inputs[setdiff(names(inputs), "x")])
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

pair_cost <- function(x, y, p) {
  square <- sqdist(Vi(x), Vj(y))
  if (p == 2) square else if (p == 1) sqrt(square) else square^(p / 2)
}

# --- iterations ---------------------------------------------------------------------------------------------

# -epsilon log sum_j exp((potential_j - cost_ij) / epsilon) mass_j, at any places.
softmin <- function(at, cloud, potential, epsilon, p) {
  shifted <- Vj(potential / epsilon + cloud$log) - pair_cost(at, cloud$at, p) / epsilon
  -epsilon * as.vector(logsumexp(shifted, index = "j"))
}

# Values of epsilon before the given one: from the largest possible cost down, each half of the last.
falling <- function(x, y, how) {
  corners <- apply(rbind(x$at, y$at), 2, range)
  from <- sum((corners[2, ] - corners[1, ])^2)^(how$p / 2)
  if (from <= how$epsilon) return(numeric())
  how$epsilon * 2^(floor(log2(from / how$epsilon)):1)
}

# The number of points for a first potential, from which the potentials of all points are one step away.
coarse_points <- 5000

some_of_cloud <- function(cloud) {
  n <- length(cloud$mass)
  rows <- evenly_spaced(n, coarse_points)
  mass <- cloud$mass[rows] / sum(cloud$mass[rows])
  list(at = cloud$at[rows, , drop = FALSE], mass = mass, log = log(mass))
}

first_potential <- function(x, y, how) {
  if (max(length(x$mass), length(y$mass)) > 2 * coarse_points) {
    few <- some_of_cloud(x)
    rough <- replace(how, c("tol", "max_iter"), c(1e-2, 100))
    found <- two_potentials(few, some_of_cloud(y), rough, quiet = TRUE)
    return(softmin(y$at, few, found$f, how$epsilon, how$p))
  }
  g <- numeric(length(y$mass))
  for (epsilon in falling(x, y, how)) {
    f <- softmin(x$at, y, g, epsilon, how$p)
    g <- softmin(y$at, x, f, epsilon, how$p)
  }
  g
}

two_potentials <- function(x, y, how, quiet = FALSE) {
  g <- first_potential(x, y, how)
  past <- NULL
  reached <- -Inf
  for (iteration in seq_len(how$max_iter)) {
    f <- softmin(x$at, y, g, how$epsilon, how$p)
    value <- sum(x$mass * f) + sum(y$mass * g)
    # A plain step never lowers the value; one that did is taken back, and a plain one made in its place.
    if (!is.null(past) && !isTRUE(value >= reached - 1e-12 * abs(reached))) {
      g <- past$g + past$step
      past <- NULL
      f <- softmin(x$at, y, g, how$epsilon, how$p)
      value <- sum(x$mass * f) + sum(y$mass * g)
    }
    reached <- value
    step <- softmin(y$at, x, f, how$epsilon, how$p) - g
    # Masses that leave are right with this f; those that arrive are not, by so much.
    error <- sum(y$mass * abs(expm1(-step / how$epsilon)))
    if (is.finite(error) && error < how$tol || iteration == how$max_iter) break
    step_work("sinkhorn()", paste0("iteration ", iteration, ", masses wrong by ", format(error, digits = 2)))
    past <- accelerated(past, g, step, y$mass)
    g <- past$to
  }
  if (!quiet && !isTRUE(error < how$tol)) warn_of_masses(error, how)
  list(f = f, g = g, error = error, iterations = iteration)
}

# Anderson's acceleration: the last five differences of potentials and of their steps, and `to`, where that combination
# of them leads after which the step would be least.
accelerated <- function(past, g, step, mass, most = 5) {
  if (is.null(past)) return(list(g = g, step = step, to = g + step))
  last_few <- function(old, new) {
    all <- cbind(old, new)
    all[, seq(max(1, ncol(all) - most + 1), ncol(all)), drop = FALSE]
  }
  of_g <- last_few(past$of_g, g - past$g)
  of_step <- last_few(past$of_step, step - past$step)
  root <- sqrt(mass)
  shares <- qr.coef(qr(root * of_step), root * step)
  shares[is.na(shares)] <- 0  # differences that others already tell
  list(g = g, step = step, of_g = of_g, of_step = of_step, to = g + (step - as.vector((of_g + of_step) %*% shares)))
}

warn_of_masses <- function(error, how) {
  warn("convergence", "masses are wrong by ", format(error, digits = 3), " after ", how$max_iter, " iterations, not ",
       "by ", format(how$tol), ": a larger `epsilon` or `max_iter` would help")
}

# Computes the potential of a cloud to itself: a step takes the mean of old and new potential.
own_potential <- function(cloud, how) {
  f <- numeric(length(cloud$mass))
  for (epsilon in falling(cloud, cloud, how)) f <- (f + softmin(cloud$at, cloud, f, epsilon, how$p)) / 2
  for (iteration in seq_len(how$max_iter)) {
    new <- softmin(cloud$at, cloud, f, how$epsilon, how$p)
    error <- sum(cloud$mass * abs(expm1((f - new) / how$epsilon)))
    f <- (f + new) / 2
    if (is.finite(error) && error < how$tol) break
  }
  if (!isTRUE(error < how$tol)) warn_of_masses(error, how)
  f
}

# The plan as a formula: masses times exp((f + g - cost) / epsilon).
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
#' `%*%` transports such values, `sum()` gives the marginal masses, and `as.matrix()` gives the matrix if it is small.
#' Points without mass are left out.
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
  if (!inherits(object, "sinkhorn")) {
    abort("input", "`object` must be what sinkhorn() returned, not ", describe(object))
  }
  plan_pairs(object$kept, object$target, object, object)
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
  if (gradient) {  # potentials are stationary, so that squared distances alone have a derivative in the points
    if (!is.null(newdata)) abort("input", "the gradient is by the points of `x`; `newdata` has no place there")
    if (object$p != 2) abort("unsupported", "the gradient is known for p = 2, not for p = ", format(object$p))
    x <- object$kept
    own <- if (is.null(object$own)) x$at else mean_target(x$at, x, object$own$x, object)
    out <- 0 * object$x
    out[x$heavy, ] <- 2 * x$mass * (own - mean_target(x$at, object$target, object$g, object))
    return(out)
  }
  at <- if (is.null(newdata)) object$x else points_like(newdata, object, "newdata")
  match_width(at, ncol(object$x), "the clouds")
  map <- function(at) mean_target(unname(at), object$target, object$g, object)
  found <- at_complete(check_finite(at, "newdata"), map)
  colnames(found) <- colnames(object$x)
  found
}

# Computes the mean target of the plan for mass at places.
mean_target <- function(at, cloud, potential, how) {
  f <- softmin(at, cloud, potential, how$epsilon, how$p)
  shares <- exp(Vi(f / how$epsilon) + Vj(potential / how$epsilon + cloud$log) -
                  pair_cost(at, cloud$at, how$p) / how$epsilon)
  unname(shares %*% cloud$at)
}

#' @rdname sinkhorn
#' @param digits significant digits
#' @export
print.sinkhorn <- function(x, digits = 5, ...) {
  short <- function(v) format(v, digits = digits)
  count <- function(cloud) format(length(cloud$mass), big.mark = ",")
  cat("Optimal transport, ", count(x$kept), " and ", count(x$target), " points in ", counted(ncol(x$x), "dimension"),
      ", cost |x - y|", if (x$p != 1) paste0("^", format(x$p)), ", epsilon ", short(x$epsilon), "\n  cost of the plan ",
      short(x$cost), sep = "")
  if (!is.null(x$divergence)) {
    cat("   debiased divergence ", short(x$divergence), "   distance ", short(x$distance), sep = "")
  }
  cat("\n  marginal error ", format(x$marginal_error, digits = 2), " after ", counted(x$iterations, "iteration"), "\n",
      sep = "")
  invisible(x)
}

#' @rdname sinkhorn
#' @param most for `plot()`: maximum number of arrows
#' @export
plot.sinkhorn <- function(x, most = 200, ...) drawn(x, plot_data(x, most), ...)

# Arrows of the map; of one dimension, where each point goes.
#' @export
plot_data.sinkhorn <- function(object, most = 200, ...) {
  if (ncol(object$x) > 2) abort("unsupported", "plot() draws clouds of 1 or 2 dimensions, not of ", ncol(object$x))
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
  picture(names[1], names[2], arrows = data.frame(x = from[, 1], y = from[, 2], xend = to[, 1], yend = to[, 2]),
          points = data.frame(x = all[, 1], y = all[, 2], group = group), glab = "sample")
}
