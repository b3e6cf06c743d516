# Potentials of optimal transport, by Sinkhorn's iterations, and bounds of the value that they reach.

# Returns a function of a potential: -epsilon log sum_j exp((potential_j - cost_ij) / epsilon) mass_j, at any places;
# times rho / (rho + epsilon), the best potential where masses may differ at the price of rho.
softmin <- function(at, cloud, how, rho = Inf) {
  epsilon <- how$epsilon
  shifted <- Vj(dim = 1, name = "shift") - pair_cost(at, cloud$at, how$p) / epsilon
  log_sum <- as.function(logsumexp(shifted, index = "j", precision = how$precision, call = FALSE))
  function(potential) -epsilon / (1 + epsilon / rho) * as.vector(log_sum(potential / epsilon + cloud$log))
}

# The best potentials of two clouds: f as a function of g, and g of f.
softmins <- function(x, y, how) {
  list(f = softmin(x$at, y, how, how$rho[["x"]]), g = softmin(y$at, x, how, how$rho[["y"]]))
}

# The number of pairs from which first iterations in float16, which are quicker, are worth a second preparation.
rough_pairs <- 1e7

# Iterates twice if pairs are many: in float16 while that reduces the error, then in the precision of the session.
in_two_precisions <- function(pairs, how, start, run) {
  if (pairs < rough_pairs || how$max_iter == 1) return(run(how, start, FALSE))
  rough <- utils::modifyList(how, list(precision = "float16", max_iter = how$max_iter - 1))
  first <- run(rough, start, TRUE)
  if (!is.finite(first$error)) return(run(how, start, FALSE))  # costs beyond float32
  how$max_iter <- how$max_iter - first$iterations
  found <- run(how, first$start, FALSE)
  found$iterations <- found$iterations + first$iterations
  found
}

# Tells whether the last five errors are no less than the least before them.
has_stalled <- function(errors) {
  n <- length(errors)
  n > 5 && min(errors[(n - 4):n]) >= min(errors[seq_len(n - 5)])
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
    return(softmin(y$at, few, how, how$rho[["y"]])(found$f))
  }
  g <- numeric(length(y$mass))
  for (epsilon in falling(x, y, how)) {
    best <- softmins(x, y, replace(how, "epsilon", epsilon))
    g <- best$g(best$f(g))
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
  if (is_balanced(rho)) return(0)
  log_mass <- function(mass, f, rho) log(sum(mass)) + log1p(sum(mass * expm1(-f / rho)) / sum(mass))
  constant <- (log_mass(y$mass, g, rho[["y"]]) - log_mass(x$mass, f, rho[["x"]])) / sum(1 / rho)
  if (is.finite(constant)) constant else 0
}

# Potentials f and g, and by how much at most the value is `short` of the optimal one: neither the best potential nor a
# softmin varies by more than the cost, and f is a softmin.
two_potentials <- function(x, y, how, quiet = FALSE, g = first_potential(x, y, how)) {
  pairs <- as.numeric(length(x$mass)) * length(y$mass)
  found <- in_two_precisions(pairs, how, list(g = g), function(how, start, rough) {
    iterated_pair(x, y, how, start, rough)
  })
  if (!quiet && !isTRUE(found$error < how$tol)) warn_of_masses(found$error, how)
  found$short <- if (is_balanced(how$rho)) {
    found$error * (diff(cost_range(x, y, how$p)) + diff(range(found$g))) / 2
  } else NA_real_
  found
}

iterated_pair <- function(x, y, how, start, rough) {
  epsilon <- how$epsilon
  g <- start$g
  past <- start$past
  best <- softmins(x, y, how)
  reached <- -Inf
  errors <- numeric()
  for (iteration in seq_len(how$max_iter)) {
    f <- best$f(g)
    value <- dual_value(x, y, f, g, epsilon, how$rho)
    # A plain step never lowers the value; one that did is taken back, and a plain one made in its place.
    if (!is.null(past) && !isTRUE(value >= reached - (if (rough) 1e-6 else 1e-12) * abs(reached))) {
      g <- past$g + past$step
      past <- NULL
      f <- best$f(g)
      value <- dual_value(x, y, f, g, epsilon, how$rho)
    }
    reached <- value
    to <- best$g(f)
    step <- to + best_constant(x, y, f, to, how$rho) - g
    # Masses that leave are right with this f; those that arrive are not, by so much.
    error <- sum(y$mass * abs(expm1(-step / epsilon))) / sum(y$mass)
    errors <- c(errors, if (is.finite(error)) error else Inf)
    if (is.finite(error) && error < how$tol || iteration == how$max_iter || rough && has_stalled(errors)) break
    step_work("sinkhorn()", paste0("iteration ", iteration, ", masses wrong by ", format(error, digits = 2)))
    past <- accelerated(past, g, step, y$mass)
    g <- past$to
  }
  list(f = f, g = g, value = value, error = error, iterations = iteration, start = list(g = g, past = past))
}

# Anderson's acceleration, from the last five changes of the step and of the potential it leads to: `to` is where that
# combination of them leads after which the step would be least, by normal equations, whose products are kept. A change
# that the others tell gets no share.
accelerated <- function(past, g, step, mass, most = 5) {
  if (is.null(past)) return(list(g = g, step = step, to = g + step))
  last_few <- function(old, new) c(utils::tail(old, most - 1), list(new))
  change <- step - past$step
  moves <- last_few(past$moves, g - past$g + change)
  changes <- last_few(past$changes, change)
  products_with <- function(v) vapply(changes, function(change) sum(change * v), 0)
  k <- length(changes)
  products <- matrix(products_with(mass * change), k, k)
  products[k, ] <- products[, k]
  kept <- utils::tail(seq_along(past$changes), k - 1)
  if (k > 1) products[-k, -k] <- past$products[kept, kept]
  size <- sqrt(diag(products))
  size[size == 0] <- 1
  shares <- qr.coef(qr(products / size / rep(size, each = k), tol = 1e-12), products_with(mass * step) / size) / size
  shares[is.na(shares)] <- 0
  list(g = g, step = step, moves = moves, changes = changes, products = products,
       to = g + step - Reduce(`+`, Map(`*`, moves, shares)))
}

warn_of_masses <- function(error, how) {
  warn("convergence", if (is_balanced(how$rho)) "masses are wrong by " else "steps in units of `epsilon` are ",
       format(error, digits = 3), " after ", how$max_iter, " iterations, not ", format(how$tol),
       ": a larger `epsilon` or `max_iter` would help")
}

first_own_potential <- function(cloud, how, rho) {
  n <- length(cloud$mass)
  if (n > 2 * coarse_points) {
    few <- some_of_cloud(cloud)
    rough <- replace(how, c("tol", "max_iter"), c(1e-2, 100))
    found <- iterated_own(few, rough, rho, first_own_potential(few, how, rho), FALSE)
    return(softmin(cloud$at, few, how, rho)(found$start))
  }
  f <- numeric(n)
  for (epsilon in falling(cloud, cloud, how)) {
    f <- (f + softmin(cloud$at, cloud, replace(how, "epsilon", epsilon), rho)(f)) / 2
  }
  f
}

# Computes the potential of a cloud to itself: a step takes the mean of old and new potential. Its value is that of the
# pair of both.
own_potential <- function(cloud, how, rho, f = NULL) {
  f <- f %or% first_own_potential(cloud, how, rho)
  pairs <- length(cloud$mass)^2
  found <- in_two_precisions(pairs, how, f, function(how, f, rough) iterated_own(cloud, how, rho, f, rough))
  if (!isTRUE(found$error < how$tol)) warn_of_masses(found$error, how)
  # A constant makes the mass of the plan of `old` right; both its marginals are then wrong.
  short <- if (is.finite(rho)) NA_real_ else {
    sum(abs(found$moved / sum(found$moved) - cloud$mass)) * (diff(cost_range(cloud, cloud, how$p)) +
                                                               diff(range(found$old)))
  }
  list(f = found$start, value = dual_value(cloud, cloud, found$new, found$old, how$epsilon, c(x = rho, y = rho)),
       short = short)
}

iterated_own <- function(cloud, how, rho, f, rough) {
  best <- softmin(cloud$at, cloud, how, rho)
  errors <- numeric()
  for (iteration in seq_len(how$max_iter)) {
    old <- f
    new <- best(old)
    f <- (old + new) / 2
    moved <- cloud$mass * exp((old - new) / how$epsilon)
    error <- sum(abs(moved - cloud$mass)) / sum(cloud$mass)
    errors <- c(errors, if (is.finite(error)) error else Inf)
    if (is.finite(error) && error < how$tol || rough && has_stalled(errors)) break
  }
  list(start = f, old = old, new = new, moved = moved, error = error, iterations = iteration)
}
