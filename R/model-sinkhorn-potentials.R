# Potentials of optimal transport, by Sinkhorn's iterations, and bounds of the value that they reach.

# -epsilon log sum_j exp((potential_j - cost_ij) / epsilon) mass_j, at any places; times rho / (rho + epsilon), the best
# potential where masses may differ at the price of rho.
softmin <- function(at, cloud, potential, epsilon, p, rho = Inf) {
  shifted <- Vj(potential / epsilon + cloud$log) - pair_cost(at, cloud$at, p) / epsilon
  -epsilon / (1 + epsilon / rho) * as.vector(logsumexp(shifted, index = "j"))
}

# The smallest and largest cost that points of two boxes around the clouds can have.
cost_range <- function(x, y, p) {
  of_x <- apply(x$at, 2, range)
  of_y <- apply(y$at, 2, range)
  ahead <- of_y[2, ] - of_x[1, ]
  behind <- of_x[2, ] - of_y[1, ]
  c(sum(pmax(-ahead, -behind, 0)^2), sum(pmax(ahead, behind)^2))^(p / 2)
}

# Values of epsilon before the given one: from the largest possible cost down, each half of the last.
falling <- function(x, y, how) {
  from <- cost_range(x, y, how$p)[2]
  if (from <= how$epsilon) return(numeric())
  how$epsilon * 2^(floor(log2(from / how$epsilon)):1)
}

# The number of points for a first potential, from which the potentials of all points are one step away.
coarse_points <- 5000

# Some of the points, with all of the mass.
some_of_cloud <- function(cloud) {
  n <- length(cloud$mass)
  rows <- evenly_spaced(n, coarse_points)
  mass <- cloud$mass[rows] * (sum(cloud$mass) / sum(cloud$mass[rows]))
  list(at = cloud$at[rows, , drop = FALSE], mass = mass, log = log(mass))
}

first_potential <- function(x, y, how) {
  if (max(length(x$mass), length(y$mass)) > 2 * coarse_points) {
    few <- some_of_cloud(x)
    rough <- replace(how, c("tol", "max_iter"), c(1e-2, 100))
    found <- two_potentials(few, some_of_cloud(y), rough, quiet = TRUE)
    return(softmin(y$at, few, found$f, how$epsilon, how$p, how$rho[["y"]]))
  }
  g <- numeric(length(y$mass))
  for (epsilon in falling(x, y, how)) {
    f <- softmin(x$at, y, g, epsilon, how$p, how$rho[["x"]])
    g <- softmin(y$at, x, f, epsilon, how$p, how$rho[["y"]])
  }
  g
}

# Masses of the rows of a plan with the best potential f.
row_masses <- function(mass, f, rho) mass * exp(-f / rho)

# The value of the dual problem, for potentials of which f is the best one for g.
dual_value <- function(x, y, f, g, epsilon, rho) {
  of_side <- function(mass, f, rho) if (is.finite(rho)) -rho * sum(mass * expm1(-f / rho)) else sum(mass * f)
  moved <- sum(row_masses(x$mass, f, rho[["x"]]))
  of_side(x$mass, f, rho[["x"]]) + of_side(y$mass, g, rho[["y"]]) - epsilon * (moved - sum(x$mass) * sum(y$mass))
}

# The best constant to move from f to g, which makes the masses of both marginals equal; 0 for balanced transport.
best_constant <- function(x, y, f, g, rho) {
  log_mass <- function(mass, f, rho) log(sum(mass)) + log1p(sum(mass * expm1(-f / rho)) / sum(mass))
  constant <- (log_mass(y$mass, g, rho[["y"]]) - log_mass(x$mass, f, rho[["x"]])) / sum(1 / rho)
  if (is.finite(constant)) constant else 0
}

# Potentials f and g, and by how much at most the value is `short` of the optimal one: neither the best potential nor a
# softmin varies by more than the cost, and f is a softmin.
two_potentials <- function(x, y, how, quiet = FALSE, g = first_potential(x, y, how)) {
  epsilon <- how$epsilon
  best_f <- function(g) softmin(x$at, y, g, epsilon, how$p, how$rho[["x"]])
  force(g)
  past <- NULL
  reached <- -Inf
  for (iteration in seq_len(how$max_iter)) {
    f <- best_f(g)
    value <- dual_value(x, y, f, g, epsilon, how$rho)
    # A plain step never lowers the value; one that did is taken back, and a plain one made in its place.
    if (!is.null(past) && !isTRUE(value >= reached - 1e-12 * abs(reached))) {
      g <- past$g + past$step
      past <- NULL
      f <- best_f(g)
      value <- dual_value(x, y, f, g, epsilon, how$rho)
    }
    reached <- value
    to <- softmin(y$at, x, f, epsilon, how$p, how$rho[["y"]])
    step <- to + best_constant(x, y, f, to, how$rho) - g
    # Masses that leave are right with this f; those that arrive are not, by so much.
    error <- sum(y$mass * abs(expm1(-step / epsilon))) / sum(y$mass)
    if (is.finite(error) && error < how$tol || iteration == how$max_iter) break
    step_work("sinkhorn()", paste0("iteration ", iteration, ", masses wrong by ", format(error, digits = 2)))
    past <- accelerated(past, g, step, y$mass)
    g <- past$to
  }
  if (!quiet && !isTRUE(error < how$tol)) warn_of_masses(error, how)
  short <- if (is_balanced(how$rho)) error * (diff(cost_range(x, y, how$p)) + diff(range(g))) / 2 else NA_real_
  list(f = f, g = g, value = value, short = short, error = error, iterations = iteration)
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
  warn("convergence", if (is_balanced(how$rho)) "masses are wrong by " else "steps in units of `epsilon` are ",
       format(error, digits = 3), " after ", how$max_iter, " iterations, not ", format(how$tol),
       ": a larger `epsilon` or `max_iter` would help")
}

# Computes the potential of a cloud to itself: a step takes the mean of old and new potential. Its value is that of the
# pair of both.
own_potential <- function(cloud, how, rho, f = NULL) {
  best <- function(f, epsilon) softmin(cloud$at, cloud, f, epsilon, how$p, rho)
  if (is.null(f)) {
    f <- numeric(length(cloud$mass))
    for (epsilon in falling(cloud, cloud, how)) f <- (f + best(f, epsilon)) / 2
  }
  for (iteration in seq_len(how$max_iter)) {
    old <- f
    new <- best(old, how$epsilon)
    f <- (old + new) / 2
    moved <- cloud$mass * exp((old - new) / how$epsilon)
    error <- sum(abs(moved - cloud$mass)) / sum(cloud$mass)
    if (is.finite(error) && error < how$tol) break
  }
  if (!isTRUE(error < how$tol)) warn_of_masses(error, how)
  # A constant makes the mass of the plan of `old` right; both its marginals are then wrong.
  short <- if (is.finite(rho)) NA_real_ else {
    sum(abs(moved / sum(moved) - cloud$mass)) * (diff(cost_range(cloud, cloud, how$p)) + diff(range(old)))
  }
  list(f = f, value = dual_value(cloud, cloud, new, old, how$epsilon, c(x = rho, y = rho)), short = short)
}
