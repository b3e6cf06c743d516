# Preconditioners, built from few entries of the matrix, with which large systems are solved quickly.

#' Preconditioner of a kernel matrix
#'
#' Builds an approximation of `K + ridge` that is cheap to solve with. [solve()][solve.lazy_tensor] and [logdet()] build
#' their own preconditioners; build one yourself to use it for several systems.
#'
#' A preconditioner has two parts. *Landmarks*, points chosen by randomly pivoted Cholesky, approximate the smooth part
#' of the matrix. The remainder is handled by a *sparse approximate inverse factor* (as in Vecchia's approximation):
#' each point depends on its nearest neighbours, the points with the largest correlation among the points before it in a
#' random order. If the remainder after the landmarks is less than the ridge, as for smooth kernels, there are no
#' neighbours: linear systems do not need them, but estimates of log-determinants gain from them. `local = "always"`
#' adds neighbours in this case too.
#'
#' @param K a lazy tensor of one component over the same points along i and j, symmetric and positive definite; or an
#'   operator: the sum of one, a diagonal, and `tcrossprod(as_op(V))` of a sparse matrix `V`
#' @param ridge a number, or one per point, added to the diagonal
#' @param rank number of landmarks; by default up to 1000, chosen such that building costs no more than a few products
#' @param local use neighbours if landmarks are not sufficient (`TRUE`, the default), never (`FALSE`), or `"always"`?
#' @param neighbours number of neighbours per point; by default 30
#' @param seed a whole number; the same seed and matrix give the same preconditioner
#' @param like a preconditioner of another matrix with as many points. Its landmarks and neighbours are reused: they
#'   depend little on the parameters of the kernel, and take longest to find. `rank`, `local`, `neighbours` and `seed`
#'   are then ignored
#' @param instead a preconditioner that the new one replaces. Its memory, a kilobyte per point, is freed first; it is
#'   rebuilt if it is used again
#' @return An object of class `kernweave_preconditioner`; `solve(P, b)` applies it. For a sum with a sparse `V`,
#'   `solve(P, b, effects = TRUE)` solves with `I + V' P^-1 V`, the matrix of effects, where P is the preconditioner
#'   without `V`. [gradient()] treats a preconditioner as a constant: it makes systems faster to solve, but has no
#'   derivative itself. A preconditioner that is saved, or sent to another process, is rebuilt there at its first use
#'   from its landmarks and neighbours, with the same bits.
#' @seealso [solve()][solve.lazy_tensor], [logdet()]; [lowrank()] for landmarks as an operator
#' @concept conjugate gradients
#' @concept Vecchia approximation
#' @concept randomly pivoted Cholesky
#' @concept inducing points
#' @export
#' @examples
#' x <- matrix(runif(3000), 1000)
#' K <- kernel_matern(x, x, scale = 0.3, nu = 1.5)
#' P <- preconditioner(K, ridge = 1e-3, rank = 100)
#' P
#' solve_report(solve(K, rnorm(1000), ridge = 1e-3, precondition = P, method = "cg", report = TRUE))
preconditioner <- function(K, ridge = 0, rank = NULL, local = TRUE, neighbours = 30, seed = 1, like = NULL,
                           instead = NULL) {
  own <- if (is_op(K)) kernel_and_ridge(K, effects = TRUE)
  if (!is.null(own)) {
    return(new_preconditioner(kernel_tensor(own$K), own$ridge + ridge, rank, local, neighbours, seed, like, instead,
                              own$effects))
  }
  new_preconditioner(K, ridge, rank, local, neighbours, seed, like, instead)
}

# `effects`: a sparse V; then the preconditioner is of K + V V' + ridge.
new_preconditioner <- function(K, ridge, rank = NULL, local = TRUE, neighbours = 30, seed = 1, like = NULL,
                               instead = NULL, effects = NULL) {
  n <- check_square(K)
  if (n == 0) abort("shape", "a preconditioner is of points, and there are none")
  traced <- is_traced_system(K, ridge)
  K <- as_masked(lazy_set(plain_tensor(untruncated(K)), precision = "float64"), "a preconditioner")
  ridge <- check_ridge(plain_value(ridge), n)
  if (!is.null(effects) && !is.finite(sum(effects))) {
    abort("value", "the sparse matrix `V` has numbers that are not finite")
  }
  if (!is.null(effects) && is.null(like)) local <- "always"
  if (!any(vapply(list(TRUE, FALSE, "always"), identical, NA, local))) {
    abort("input", "`local` must be TRUE, FALSE or \"always\", not ", format_value(local))
  }
  if (!is.null(name <- pairs_of(K))) {  # entries are gathered rows, which a matrix of pairs lacks
    abort("unsupported", "a preconditioner of a formula with the matrix of pairs `", name, "` is not built: ",
          "precondition = FALSE solves without")
  }
  started <- proc.time()[["elapsed"]]
  seed <- check_seed(seed)
  neighbours <- check_count(neighbours, "neighbours")
  diagonal <- check_diagonal(diag(of_few_pairs(K)), ridge)
  entries <- native_entries(K)
  support <- if (is.null(like)) found_support(K, ridge, entries, diagonal, rank, local, neighbours, seed)
             else support_of(like, n)
  if (!is.null(instead)) {
    check_preconditioner(instead, "instead")
    r_empty_preconditioner(instead$pointer)
  }
  P <- supported(K, ridge, support, entries, started, effects)
  if (n > 1e5) clear_memory(full = TRUE)  # the search for neighbours leaves ten copies
  P$traced <- traced
  P
}

found_support <- function(K, ridge, entries, diagonal, rank, local, neighbours, seed) {
  n <- length(diagonal)
  if (may_be_compiled(call_options(K$settings))) {  # compiles the products while landmarks are chosen
    lapply(thin_products(K, seq_len(min(rank %or% default_rank(n), n)), NULL), expected, K)
  }
  found <- if (is.null(rank)) default_landmarks(entries, diagonal, min(ridge), seed)
           else landmarks_of(entries, diagonal, min(check_count(rank, "rank"), n), seed)
  wanted <- if (is.character(local)) length(found$chosen) < n else local && found$residual > min(ridge)
  if (!wanted) return(found)
  order <- random_order(n, seed)
  points <- points_of_distance(K)
  some <- neighbours + ceiling(neighbours / 4)  # landmarks drop out, one in eight if there are few points
  nearest <- if (is.null(points)) nearest_before(K, order, sqrt(diagonal[order]), some)
             else kept_neighbours(points, K$settings, order, some, seed)
  c(found, conditioning_sets(order, nearest, found$chosen, neighbours))
}

check_preconditioner <- function(P, argument) {
  if (inherits(P, "kernweave_preconditioner")) return(invisible())
  abort("input", "`", argument, "` must be what preconditioner() returned, not ", describe(P))
}

support_of <- function(P, n) {
  check_preconditioner(P, "like")
  if (P$n != n) abort("shape", "the preconditioner `like` is of ", P$n, " points, the matrix of ", n)
  P$support
}

# Builds a preconditioner from its support: landmarks and, if there are any, neighbours.
supported <- function(K, ridge, support, entries = native_entries(K), started = proc.time()[["elapsed"]],
                      effects = NULL) {
  pointer <- r_preconditioner(native_support(K, ridge, support, entries, effects))
  structure(
    list(pointer = pointer, n = length(ridge), rank = length(support$chosen), landmarks = support$chosen,
         residual = support$residual, neighbours = NROW(support$neighbours), K = K,
         ridge = if (all(ridge == ridge[1])) ridge[1] else ridge, support = support, effects = effects, traced = FALSE,
         seconds = proc.time()[["elapsed"]] - started),
    class = "kernweave_preconditioner"
  )
}

#' @export
print.kernweave_preconditioner <- function(x, ...) {
  say("<preconditioner> of ", count_text(x$n, "point"), ": ", count_text(x$rank, "landmark"),
      if (x$neighbours) paste0(", ", x$neighbours, " neighbours a point"),
      if (!is.null(x$effects)) paste0(", ", count_text(ncol(x$effects), "effect")), "\n")
  say("  ridge ", paste(format(unique(range(x$ridge)), digits = 3), collapse = " to "), ", landmarks leave ",
      format(x$residual, digits = 3), " of the diagonal on average, built in ", format(x$seconds, digits = 2), " s\n")
  invisible(x)
}

#' @export
str.kernweave_preconditioner <- function(object, ...) {
  cat(" <preconditioner> of ", count_text(object$n, "point"), "\n", sep = "")
}

#' @export
solve.kernweave_preconditioner <- function(a, b, effects = FALSE, ...) {
  if (a$traced || is_traced(b)) abort("no_gradient", "a preconditioner has no derivative: solve(K, b) has")
  if (effects) {
    if (is.null(a$effects)) abort("input", "`effects` are those of a preconditioner of K + tcrossprod(as_op(V))")
    b <- right_hand_side(b, ncol(a$effects))
    return(shaped_as(r_level_inverse(live_pointer(a), b$values), b))
  }
  b <- right_hand_side(b, a$n)
  shaped_as(r_precondition(live_pointer(a), b$values), b)
}

# Rebuilds the preconditioner of another session from its saved parts: the matrix, its ridge, and the support, which
# takes longest to find. All copies of P share the pointer.
live_pointer <- function(P) {
  if (is.null(P)) return(NULL)
  if (is_dead(P$pointer)) r_preconditioner(native_support(P$K, rep_len(P$ridge, P$n), P$support, effects = P$effects),
                                             P$pointer)
  P$pointer
}

# --- checks ---------------------------------------------------------------------------------------------------

# R collects unused memory when there is as much of it as of used memory, and the heap keeps the gaps: for a likelihood
# of a million rows this was more than half of the memory. The columns of a step are young objects: a collection of
# young objects finds them in a twentieth of the time.
clear_memory <- function(full = FALSE) {
  gc(verbose = FALSE, full = full)
  r_trim_heap()
}

check_diagonal <- function(diagonal, ridge) {
  if (anyNA(diagonal)) abort("value", "the diagonal of the matrix has NaN at point ", which(is.na(diagonal))[1])
  if (any(diagonal + ridge <= 0)) {
    abort("indefinite", "the matrix is not positive definite: its diagonal has ",
          format(min(diagonal + ridge), digits = 3), " at point ", which.min(diagonal + ridge))
  }
  if (!any(diagonal > 0)) abort("indefinite", "the diagonal of the matrix is 0, so that no point is a landmark")
  diagonal
}

# --- parts ----------------------------------------------------------------------------------------------------

# The number of points to choose landmarks from: with more, their distribution hardly changes, but their cost rises.
landmark_pool <- 20000
# Iterations fall slowly with the rank, and the cost of building rises with its square: for 50 000 points of a Matern
# kernel 300 landmarks and 23 products were cheaper than 1000 and 16. For more points, products grow faster than
# building. More landmarks pay only if the second half reduced the residual of the first half to a quarter, and it is
# still large beside the ridge: for a smooth kernel of 5000 points 690 iterations became 52.
default_landmarks <- function(entries, diagonal, ridge, seed) {
  rank <- default_rank(length(diagonal))
  most <- most_landmarks(length(diagonal))
  found <- landmarks_of(entries, diagonal, rank, seed)
  if (found$residual <= 100 * ridge || rank == most) return(found)
  half <- landmarks_of(entries, diagonal, max(1L, rank %/% 2L), seed)
  if (found$residual > half$residual / 4) found else landmarks_of(entries, diagonal, most, seed)
}

most_landmarks <- function(n) as.integer(max(1, min(n %/% 2, 1000)))
default_rank <- function(n) min(most_landmarks(n), as.integer(max(300, 1.35 * sqrt(n))))

landmarks_of <- function(entries, diagonal, rank, seed) {
  n <- length(diagonal)
  pool <- if (n > landmark_pool) sort(random_order(n, seed + 1)[seq_len(landmark_pool)]) else seq_len(n)
  r_landmarks(entries, as.numeric(pool), diagonal[pool], rank, seed)
}

# Landmarks leave the order and are nobody's neighbours; each point keeps up to m other neighbours. Points are sorted
# along the search's boxes, so that factors read contiguous memory; `sequence` is their order before.
conditioning_sets <- function(order, nearest, landmarks, m) {
  out <- match(landmarks, order)
  place <- integer(length(order))
  place[-out] <- seq_len(length(order) - length(out))
  left <- r_first_neighbours(nearest[, -out, drop = FALSE], place, Inf, min(m, nrow(nearest)))
  along <- place[attr(nearest, "along") %or% seq_along(order)]
  along <- along[along > 0]
  place <- integer(length(along))
  place[along] <- seq_along(along)
  neighbours <- matrix(place[left[, along]], nrow(left))
  list(order = as.numeric(order[-out][along]), neighbours = neighbours, sequence = as.numeric(place))
}

# Returns products with the columns at the landmarks, for the points in `rest`, or for all points.
thin_products <- function(K, landmarks, rest) {
  at <- function(K, rows, axis) if (is.null(rows)) K else take_points(K, rows, axis, "points")
  from <- at(at(K, landmarks, "j"), rest, "i")
  to <- at(at(K, landmarks, "i"), rest, "j")
  list(from = native_lazy(from, widest_product, ladder = TRUE), to = native_lazy(to, widest_product, ladder = TRUE))
}

# Computes few numbers on the host if the data lie there: a GPU would take a second to compile the kernels.
of_few_pairs <- function(K) {
  there <- vapply(operands_of(K$formula), function(operand) is_on_device(operand$data), NA)
  if (may_be_compiled(call_options(K$settings)) && !any(there)) lazy_set(K, device = "cpu") else K
}

# Finds for each point the m points before it in the order that correlate most with the point; NA if there are fewer.
# The search doubles its prefix of the order, so that two thirds of all pairs are computed.
nearest_before <- function(K, order, deviation, m) {
  n <- length(order)
  m <- min(m, max(n - 1, 1))
  found <- matrix(NA_integer_, m, n)
  high <- min(n, first_prefix)
  low <- 0
  while (low < n) {
    rows <- seq.int(low + 1, high)
    among <- take_both(K, order[rows], order[seq_len(high)])
    nearness <- among / (Vi(deviation[rows]) * Vj(deviation[seq_len(high)]))
    before <- col_index() < row_index() + low
    at <- reduction(lazy_if(before, nearness, -Inf), "argKmax", K = min(m, high))
    found[seq_len(ncol(at)), rows] <- r_first_neighbours(t(at), NULL, low + 1, ncol(at))
    low <- high
    high <- min(n, 2 * high)
  }
  found
}

# Finds the neighbours before each point by distance. Kernel parameters do not change distances: neighbours are kept.
kept_neighbours <- function(points, settings, order, m, seed) {
  points <- on_fine_grid(points)
  key <- list(points, settings, m, seed)
  if (identical(preconditioners$nearest$key, key)) return(preconditioners$nearest$found)
  n <- nrow(points)
  found <- if (ncol(points) <= most_axes_of_boxes) {
    r_nearest_before(points[order, , drop = FALSE], min(m, max(n - 1, 1)), call_options(settings)$threads %or% 0L)
  } else {
    distances <- lazy_set(sqdist(Vi(points), Vj(points)), precision = "float64")
    nearest_before(-distances, order, rep(1, n), m)
  }
  if (8 * length(points) + 4 * length(found) <= most_kept) preconditioners$nearest <- list(key = key, found = found)
  found
}

# Rounds points to a grid: with other parameters, a formula may give its points with another origin and other rounding.
on_fine_grid <- function(points) {
  least <- vapply(seq_len(ncol(points)), function(axis) min(points[, axis]), 0)
  points <- points - rep(least, each = nrow(points))
  reach <- max(points)
  if (reach > 0) floor(points * (2^30 / reach) + 0.5) else points
}

# The most axes for a search by boxes. With more axes, boxes leave out few pairs, and a GPU is quicker with all pairs.
# With few axes a GPU would also be quicker, but its kernel takes seconds to compile.
most_axes_of_boxes <- 5

# Returns the points of a formula that falls with a distance between points of one set. NULL for other formulas.
points_of_distance <- function(K) {
  if (!is.null(K$pairs)) return(NULL)
  r_far_points(plan_as_written(K), rep(as.numeric(K$extent[1]), 2))
}

# The first prefix: some millions of pairs take no time, and a smaller one would need more prefixes.
first_prefix <- 2048

# --- for C++ --------------------------------------------------------------------------------------------------

# Makes plans that read K at given rows and columns: each row with each column, or number by number.
native_entries <- function(K) {
  K <- as_masked(K, "entries")
  list(block = entries_plan(K, c("i", "j"), "both"), pairs = entries_plan(K, c("i", "i"), "i"),
       settings = call_options(K$settings))
}

# Collects the parts of a preconditioner for C++.
native_support <- function(K, ridge, support, entries = native_entries(K), effects = NULL) {
  by_rows <- if (!is.null(effects)) methods::as(methods::as(Matrix::t(effects), "generalMatrix"), "CsparseMatrix")
  c(list(entries = entries, ridge = ridge, threads = call_options(K$settings)$threads %or% 0L,
         shift = if (is.null(support$neighbours)) ridge + max(support$residual, 1e-14)),
    list(landmarks = support$chosen, order = support$order, neighbours = support$neighbours,
         sequence = support$sequence,
         effects = if (!is.null(by_rows)) {
           list(starts = by_rows@p, columns = by_rows@i, values = by_rows@x, count = nrow(by_rows))
         }),
    thin_products(K, support$chosen, support$order))
}

entries_plan <- function(K, axes, keep) {
  places <- Map(function(name, axis) lazy_operand(new_operand(name, axis, 1L, "integer")), c("rows", "columns"), axes)
  formula <- r_apply("Take", list(K$formula, places$rows$formula), 0L)
  formula <- r_apply("Take", list(formula, places$columns$formula), 1L)
  ready <- prepared(new_reduction(list(sum_output(formula, keep)), c(NA_real_, NA), K$settings))
  at <- match_operands(lapply(places, function(place) place$formula$args), ready$operands)
  data <- lapply(ready$operands, `[[`, "data")
  data[at] <- list(1)
  list(plan = ready$plan, operands = ready$operands, data = data, rows = at[1] - 1L, columns = at[2] - 1L)
}
