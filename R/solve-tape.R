# solve() and logdet() as entries of the tape: the cotangent of a solution is a solution with the same matrix.

# Lowers a system by one level. Returns the lowered system and the values that were traced at its level.
lowered_system <- function(K, ...) {
  given <- list(...)
  operands <- traced_operands(K)
  level <- highest_level(c(lapply(operands, `[[`, "traced"), given))
  mine <- Filter(function(operand) level_of(operand$traced) == level, operands)
  found <- lowered_formula(K, level)
  list(K = found$F, level = level, operands = found$operands, values = lapply(mine, `[[`, "traced"),
       given = lapply(given, lowered, level))
}

# Computes cotangents of the operands of K from a sum over some entries of K, in one job for all operands.
through_sum <- function(system, R) {
  Map(function(g, value) shaped_like(g, plain_value(value)), vjp(R, wrt = system$operands, cotangent = 1),
      system$values)
}

# Computes cotangents of the operands of K if the cotangent of K is u v', summed over columns.
through_entries <- function(system, u, v) {
  if (!length(system$operands)) return(list())
  if (is_op(system$of)) return(through_approximation(system$of, system$level, v, u))
  through_sum(system, sum_of_entries(system, u, v))
}

sum_of_entries <- function(system, u, v) reduction((Vi(u) | Vj(v)) * system$K, "sum", index = "ij", call = FALSE)

# Starts to compile the kernels that carry cotangents of `columns` columns back through entries of K.
expect_through_entries <- function(system, columns) {
  if (is_op(system$of) || !length(system$operands) || !may_be_compiled(call_options(system$K$settings))) return()
  if (length(traced_operands(system$K))) return()
  zeros <- matrix(0, dim(system$K)[1], columns)
  expect_run(vjp(sum_of_entries(system, zeros, zeros), wrt = system$operands, cotangent = 1, call = FALSE))
}

solve_node <- function(K, b, ridge, ..., method, precondition, rank, local) {
  n <- check_square(K)
  if (isTRUE(precondition) && !(method == "dense" || method == "auto" && n <= small_system)) {
    ridges <- check_ridge(plain_value(ridge), n)
    if (may_be_compiled(call_options(K$settings))) products_of_system(plain_tensor(K), ridges, NCOL(plain_value(b)))
    precondition <- chosen_preconditioner(TRUE, plain_tensor(K), ridges, rank, local) %or% FALSE
  }
  again <- function(K, b, ridge) {
    solve(K, b, ridge = ridge, ..., method = method, precondition = precondition, rank = rank, local = local)
  }
  system <- lowered_system(K, b = b, ridge = ridge)
  expect_through_entries(system, NCOL(plain_value(b)))
  x <- again(system$K, system$given$b, system$given$ridge)
  record(c(system$values, list(b, ridge)), x, function(g) {
    l <- multiple_of_solution(x, system$given$b, g) %or% again(system$K, g, system$given$ridge)
    c(through_entries(system, -l, x), list(l, -diagonal_of_product(l, x, length(plain_value(ridge)))))
  })
}

# Returns the solution for g if g is a multiple of b, as in y'A^-1 y; else NULL.
multiple_of_solution <- function(x, b, g) {
  if (is_traced(x) || is_traced(b) || is_traced(g) || length(g) != length(b)) return(NULL)
  by <- sum(g * b) / sum(b^2)
  if (is.finite(by) && max(abs(g - by * b)) <= 1e-14 * max(abs(g))) by * x
}

# Returns the diagonal of l x', or its sum if one number is wanted.
diagonal_of_product <- function(l, x, n) {
  if (n == 1) return(sum(l * x))
  products <- l * x
  if (length(dim(products)) < 2) products else rearranged(products %*% rep(1, ncol(products)), as.vector)
}

# Solves by traced operations: solutions for the data and for the regressors, then a small dense system. The multiple of
# the trend that is first subtracted from the data changes no solution, so it changes no derivative.
solve_with_trend <- function(K, b, trend, ...) {
  least <- trend %*% qr.coef(qr(plain_value(trend)), plain_value(b))
  b <- b - if (is.null(dim(b))) rearranged(least, as.vector) else least
  of_data <- solve(K, b, ...)
  of_trend <- solve(K, trend, ...)
  of_data - of_trend %*% solve(crossprod(trend, of_trend), crossprod(trend, of_data))
}

# Records a log-determinant. The derivative for a small matrix is its inverse. For a large one tr(A^-1 dA) is tr(P^-1
# dA), which is known if P has neighbours, plus the mean of (u - v)'dA v over probes w, with z = G'^-1 w, u = A^-1 z and
# v = P^-1 z. Without the known part the noise would not vanish as P nears A.
logdet_node <- function(K, ridge, probes, seed, method, precondition, rank, local, ...) {
  n <- check_square(kernel_tensor(K))
  system <- lowered_system(kernel_tensor(K), ridge = ridge)
  system$of <- K
  products <- if (is_op(K)) lowered_op(K, system$level) else system$K
  lower <- system$given$ridge
  if (method == "dense" || method == "auto" && n <= small_system) {
    value <- logdet(system$K, lower, method = "dense")
    if (!is_traced(value)) value <- as.numeric(value)
    return(record(c(system$values, list(ridge)), value, function(g) {
      inverse <- solve(system$K, diag(n), ridge = lower, method = "dense")
      through_logdet(system, g * inverse, diag(n), length(plain_value(ridge)))
    }))
  }
  seed <- check_seed(seed)
  if (is_traced_system(system$K, lower)) {
    if (is_op(K)) {
      abort("no_gradient", "the logarithm of an approximated determinant has first derivatives alone; that of the ",
            "lazy tensor has those of any order")
    }
    return(logdet_of_higher_order(K, ridge, system, lower, probes, seed, precondition, rank, local))
  }
  diagonal <- check_ridge(lower, n)
  expect_through_entries(system, probes)
  P <- chosen_preconditioner(precondition, system$K, diagonal, rank, local)
  found <- logdet_by_probes(products, diagonal, P, probes, seed, vectors = TRUE)
  record(c(system$values, list(ridge)), found$value, function(g) {
    ridges <- length(plain_value(ridge))
    if (is.null(P)) return(through_logdet(system, g * found$u / probes, found$v, ridges))
    if (P$neighbours) {
      return(Map(`+`, through_logdet(system, g * (found$u - found$v) / probes, found$v, ridges),
                 through_inverse(system, P, g, ridges)))
    }
    Map(`+`, through_logdet(system, g * found$u / probes, found$v, ridges),
        through_low_rank(system, P, found$v, g, ridges))
  })
}

through_logdet <- function(system, u, v, ridges) {
  c(through_entries(system, u, v), list(diagonal_of_product(u, v, ridges)))
}

# Computes the cotangents of the trace of P^-1 A for a preconditioner of landmarks and neighbours.
through_inverse <- function(system, P, g, ridges) {
  W <- inverse_weights(P, seq_len(P$rank))
  of_operands <- if (length(system$operands)) {
    of_pairs <- lapply(some_at_a_time(length(P$support$order), pairs_at_once), function(points) {
      pairs <- r_weighted_pairs(P$pointer, points[1] - 1, length(points))
      through_sum(system, sum_of_pairs(system$K, pairs))
    })
    of_landmarks <- lapply(sums_at_landmarks(system$K, W), through_sum, system = system)
    Reduce(function(a, b) Map(`+`, a, b), c(of_pairs, of_landmarks))
  }
  lapply(c(of_operands, list(if (ridges == 1) sum(W$diagonal) else W$diagonal)), `*`, g)
}

# The number of points whose pairs, some 500 each, are listed together: 200 MB.
pairs_at_once <- 16384

# Computes the cotangents of the trace of (P^-1 - V V'/p) dP for a low-rank preconditioner with constant landmarks.
through_low_rank <- function(system, P, v, g, ridges) {
  W <- r_low_rank_weights(live_pointer(P), v)
  of_operands <- if (length(system$operands)) {
    rows <- take_points(system$K, P$landmarks, "i", "landmarks")
    own <- of_few_pairs(take_points(rows, P$landmarks, "j", "landmarks"))
    Map(`+`, through_sum(system, sum_of_weighted(own, W$own)), through_sum(system, sum_of_weighted(rows, W$cross)))
  }
  lapply(c(of_operands, list(if (ridges == 1) sum(W$diagonal) else W$diagonal)), `*`, g)
}

sums_at_landmarks <- function(K, W, call = FALSE) {
  if (!length(W$some)) return(list())
  rows <- take_points(K, W$some, "i", "landmarks")
  list(sum_of_weighted(of_few_pairs(take_points(rows, W$of$chosen, "j", "landmarks")), W$own, call),
       sum_of_weighted(take_points(rows, W$of$order, "j", "points"), W$cross, call))
}

sum_of_weighted <- function(K, weights, call = FALSE) reduction(K * Vij(weights), "sum", index = "ij", call = call)

# Sums listed entries of K times their weights.
sum_of_pairs <- function(K, pairs) {
  at <- function(places, name) lazy_operand(new_operand(name, "i", 1L, "integer", places))$formula
  K <- as_masked(K, "entries")
  entries <- r_apply("Take", list(K$formula, at(pairs$rows, "rows")), 0L)
  entries <- r_apply("Take", list(entries, at(pairs$columns, "columns")), 1L)
  entries <- new_lazy(entries, c(as.numeric(length(pairs$rows)), NA), K$settings)
  reduction(Vi(pairs$weights) * entries, "sum", index = "i", call = FALSE)
}
