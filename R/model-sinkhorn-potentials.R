# Potentials of optimal transport by Sinkhorn's iterations, and bounds of the error of the value.

# Returns a function of a potential: -epsilon log sum_j exp((potential_j - cost_ij) / epsilon) mass_j, times rho / (rho
# + epsilon) if transport is unbalanced: the optimal potential given the other one.
softmin <- function(at, cloud, how, rho = Inf) {
  epsilon <- how$epsilon
  shifted <- Vj(dim = 1, name = "shift") - pair_cost(at, cloud$at, how$p) / epsilon
  log_sum <- as.function(logsumexp(shifted, index = "j", precision = how$precision, call = FALSE))
  function(potential) -epsilon / (1 + epsilon / rho) * as.vector(log_sum(potential / epsilon + cloud$log))
}

# The optimal potentials of two clouds: f given g, and g given f.
softmins <- function(x, y, how) {
  list(f = softmin(x$at, y, how, how$rho[["x"]]), g = softmin(y$at, x, how, how$rho[["y"]]))
}

# The number of pairs from which first iterations in float16 save time.
rough_pairs <- 1e7

# Iterates twice if pairs are many: in float16 while that reduces the error, then in the precision of the session.
in_two_precisions <- function(pairs, how, start, run) {
  if (pairs < rough_pairs || how$max_iter == 1) return(run(how, start, FALSE))
  rough <- utils::modifyList(how, list(precision = "float16", max_iter = how$max_iter - 1))
  first <- run(rough, start, TRUE)
  if (!is.finite(first$error)) return(run(how, start, FALSE))  # costs overflow float32
  how$max_iter <- how$max_iter - first$iterations
  found <- run(how, first$start, FALSE)
  found$iterations <- found$iterations + first$iterations
  found
}

# Tells whether the last five errors are not below the smallest error before.
has_stalled <- function(errors) {
  n <- length(errors)
  n > 5 && min(errors[(n - 4):n]) >= min(errors[seq_len(n - 5)])
}

# Returns bounds of the cost, from the clouds' boxes.
cost_range <- function(x, y, p) {
  ahead <- y$high - x$low
  behind <- x$high - y$low
  c(sum(pmax(-ahead, -behind, 0)^2), sum(pmax(ahead, behind)^2))^(p / 2)
}

# Returns values of epsilon, from the largest possible cost to twice the given epsilon, each half of the last.
falling <- function(x, y, how) {
  from <- cost_range(x, y, how$p)[2]
  if (from <= how$epsilon) return(numeric())
  how$epsilon * 2^(floor(log2(from / how$epsilon)):1)
}

# The number of points in a sample for first potentials, which one step extends to all points.
coarse_points <- 5000

# Samples points, with the total mass of all.
some_of_cloud <- function(cloud) {
  n <- length(cloud$mass)
  rows <- evenly_spaced(n, coarse_points)
  mass <- cloud$mass[rows] * (sum(cloud$mass) / sum(cloud$mass[rows]))
  c(places_of_cloud(cloud$at[rows, , drop = FALSE]), list(mass = mass, log = log(mass)))
}

# Settings of iterations whose result is only a start.
coarsely <- function(how) replace(how, c("tol", "max_iter"), c(1e-2, 100))

first_potential <- function(x, y, how) {
  if (max(length(x$mass), length(y$mass)) > 2 * coarse_points) {
    few <- some_of_cloud(x)
    found <- two_potentials(few, some_of_cloud(y), coarsely(how), quiet = TRUE)
    return(softmin(y$at, few, how, how$rho[["y"]])(found$f))
  }
  g <- numeric(length(y$mass))
  for (epsilon in falling(x, y, how)) {
    best <- softmins(x, y, replace(how, "epsilon", epsilon))
    g <- best$g(best$f(g))
  }
  g
}

# Returns the row sums of the plan, given the optimal potential f.
row_masses <- function(mass, f, rho) if (is.finite(rho)) mass * exp(-f / rho) else mass

# Returns the dual objective; f must be optimal given g.
dual_value <- function(x, y, f, g, epsilon, rho) {
  of_side <- function(mass, f, rho) if (is.finite(rho)) -rho * sum(mass * expm1(-f / rho)) else sum(mass * f)
  moved <- sum(row_masses(x$mass, f, rho[["x"]]))
  of_side(x$mass, f, rho[["x"]]) + of_side(y$mass, g, rho[["y"]]) - epsilon * (moved - sum(x$mass) * sum(y$mass))
}

# Returns the optimal constant to move from f to g, which makes the total masses of both marginals equal; 0 if balanced.
best_constant <- function(x, y, f, g, rho) {
  if (is_balanced(rho)) return(0)
  log_mass <- function(mass, f, rho) log(sum(mass)) + log1p(sum(mass * expm1(-f / rho)) / sum(mass))
  constant <- (log_mass(y$mass, g, rho[["y"]]) - log_mass(x$mass, f, rho[["x"]])) / sum(1 / rho)
  if (is.finite(constant)) constant else 0
}

# Computes potentials f and g, and `short`, a bound of optimum - value: neither the optimal potential nor a softmin
# varies by more than the cost, and f is a softmin.
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
    # A plain step never decreases the value; an accelerated step that did is replaced by a plain one.
    if (!is.null(past) && !isTRUE(value >= reached - (if (rough) 1e-6 else 1e-12) * abs(reached))) {
      g <- past$g + past$step
      past <- NULL
      f <- best$f(g)
      value <- dual_value(x, y, f, g, epsilon, how$rho)
    }
    reached <- value
    to <- best$g(f)
    step <- to + best_constant(x, y, f, to, how$rho) - g
    # Row sums of the plan are right for this f; column sums have this relative error.
    error <- sum(y$mass * abs(expm1(-step / epsilon))) / sum(y$mass)
    errors <- c(errors, if (is.finite(error)) error else Inf)
    if (is.finite(error) && error < how$tol || iteration == how$max_iter || rough && has_stalled(errors)) break
    step_work("sinkhorn()", paste0("iteration ", iteration, ", masses wrong by ", format(error, digits = 2)))
    past <- accelerated(past, g, step, y$mass)
    g <- past$to
  }
  list(f = f, g = g, value = value, error = error, iterations = iteration, start = list(g = g, past = past))
}

# Anderson acceleration with the last five changes of g and of its step. `to`: the combination of these changes with the
# smallest expected step, by normal equations, whose products are stored. Linearly dependent changes get the weight 0.
accelerated <- function(past, g, step, mass, most = 5) {
  if (is.null(past)) return(list(g = g, step = step, to = g + step, products = matrix(0, 0, 0)))
  change <- step - past$step
  kept <- utils::tail(seq_along(past$changes), most - 1)
  moves <- c(past$moves[kept], list(g - past$g + change))
  changes <- c(past$changes[kept], list(change))
  heavy <- mass * change
  with_change <- vapply(changes, function(change) drop(crossprod(change, heavy)), 0)
  k <- length(changes)
  products <- matrix(0, k, k)
  products[-k, -k] <- past$products[kept, kept]
  products[k, ] <- products[, k] <- with_change
  with_step <- c(past$with_step[kept] + with_change[-k], sum(heavy * step))
  size <- sqrt(diag(products))
  size[size == 0] <- 1
  shares <- qr.coef(qr(products / size / rep(size, each = k), tol = 1e-12), with_step / size) / size
  shares[is.na(shares)] <- 0
  to <- g + step
  for (m in seq_along(moves)) to <- to - shares[m] * moves[[m]]
  list(g = g, step = step, moves = moves, changes = changes, products = products, with_step = with_step, to = to)
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
    found <- iterated_own(few, coarsely(how), rho, first_own_potential(few, how, rho), FALSE)
    return(softmin(cloud$at, few, how, rho)(found$start))
  }
  f <- numeric(n)
  for (epsilon in falling(cloud, cloud, how)) {
    f <- (f + softmin(cloud$at, cloud, replace(how, "epsilon", epsilon), rho)(f)) / 2
  }
  f
}

# Computes the potential of a cloud to itself; a step takes the mean of the old and the new potential. The value is the
# value of the pair (new, old).
own_potential <- function(cloud, how, rho, f = NULL) {
  f <- f %or% first_own_potential(cloud, how, rho)
  pairs <- length(cloud$mass)^2
  found <- in_two_precisions(pairs, how, f, function(how, f, rough) iterated_own(cloud, how, rho, f, rough))
  if (!isTRUE(found$error < how$tol)) warn_of_masses(found$error, how)
  # A constant corrects the total mass of the plan of `old`; the error of both marginals is left.
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
