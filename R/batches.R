# Batches: operands whose data have further axes, and reductions of all batches at once. The engine knows points along i
# and j alone. Small batches are stacked: points lie batch behind batch, and pairs are those within a batch, blocks of a
# restriction, so that all are one job. Large ones, and formulas that cannot be stacked, go one after the other.

has_batches <- function(x) length(.subset2(x, "extent")) > 2

batch_dim <- function(data) if (length(dim(data)) > 2) dim(data)[-(1:2)] else integer()

any_batches <- function(data) {
  for (one in data) if (length(dim(one)) > 2) return(TRUE)
  FALSE
}

# The batch axes of a call, from those of its data: 1 goes with any number, and so does an axis that is not there.
met_batches <- function(data, operands) {
  met <- integer()
  for (k in seq_along(data)) {
    here <- batch_dim(data[[k]])
    axes <- seq_len(max(length(met), length(here)))
    a <- c(met, rep(1L, length(axes) - length(met)))
    b <- c(here, rep(1L, length(axes) - length(here)))
    differ <- which(a != b & a != 1 & b != 1)
    if (length(differ)) {
      abort("shape", "`", operands[[k]]$name, "` has ", b[differ[1]], " batches along batch axis ", differ[1],
            ", others have ", a[differ[1]])
    }
    met <- pmax(a, b)
    met[a == 0 | b == 0] <- 0L
  }
  met
}

# Of the batches of a call, in order, those of an array: its only one along an axis of extent 1.
places_of_batches <- function(own, batches) {
  own <- c(own, rep(1L, length(batches) - length(own)))
  along <- Map(function(own, all) if (own == 1) rep(1, all) else seq_len(all), own, batches)
  as.vector(do.call(`[`, c(list(array(seq_len(prod(own)), own)), along)))
}

# The numbers of one batch, as data of an operand are.
one_batch <- function(x, at, axis = "i") {
  if (length(dim(x)) <= 2) return(x)
  size <- dim(x)[1] * dim(x)[2]
  part <- x[(at - 1) * size + seq_len(size)]
  if (axis == "param") part else array(part, dim(x)[1:2], dimnames(x)[1:2])
}

#' Batches: many problems of the same size
#'
#' An array with more than two dimensions, given to [Vi()], [Vj()] or [Pm()], is a batch of points: an array of n x D x
#' B holds n points of D components in each of B batches. Use batches to compute many small problems in one call.
#' `take_batch()` extracts the formula of one batch, for functions that do not accept batches: operators and
#' [explain()].
#'
#' More batch dimensions are possible. For `Pm()` the first dimension is 1. Data without a batch dimension, or with one
#' of extent 1, are shared by all batches. Reductions, products and gradients are computed for each batch separately,
#' and their results have the batch dimensions last: a sum is an array of points x components x batches.
#' [solve()][solve.lazy_tensor] solves each batch, and [logdet()] takes the log-determinant of each. Many small batches
#' run as one job on all threads, large ones one after the other.
#'
#' @param F a lazy tensor
#' @param k the number of a batch, counted through all batch dimensions, the first of which varies fastest
#' @return A lazy tensor without batch dimensions.
#' @seealso [Vi()], [reduction()], [restrict()] for groups of different sizes
#' @concept batched computation
#' @concept many small matrices
#' @export
#' @examples
#' x <- array(runif(10 * 3 * 4), c(10, 3, 4))
#' y <- matrix(runif(20 * 3), 20)  # the same in all batches
#' K <- exp(-sqdist(Vi(x), Vj(y)))
#' K
#' dim(sum(K, index = "j"))
#' dim(K %*% rnorm(20))
#' take_batch(K, 2)
take_batch <- function(F, k) {
  if (!is_lazy(F) && !is_lazy_complex(F)) abort("input", "`F` must be a lazy tensor, not ", describe(F))
  batches <- (if (is_lazy_complex(F)) whole_of(F) else F)$extent[-(1:2)]
  k <- check_count(k, "k")
  if (k > prod(batches)) abort("index", "`k` is ", k, "; the formula has ", prod(batches), " in all")
  if (!is_lazy_complex(F)) return(of_batch(F, k, batches))
  parts <- each_part(F, of_batch, k, batches)
  if (!is.null(parts$re$pairs)) parts$im$pairs <- parts$re$pairs  # one rule for both
  parts
}

# Of a formula that goes with so many batches, itself or by what restricts it.
of_batch <- function(F, k, batches) {
  from <- Filter(function(operand) length(batch_dim(operand$data)) > 0, operands_of(F$formula))
  to <- lapply(from, function(operand) {
    at <- places_of_batches(batch_dim(operand$data), batches)[k]
    new_operand(operand$name, operand$axis, operand$width, operand$kind, one_batch(operand$data, at, operand$axis))
  })
  new_lazy(home_bound(r_restate(list(F$formula), from, to)[[1]]), F$extent[1:2], F$settings,
           pairs_of_batch(F$pairs, k, batches))
}

pairs_of_batch <- function(pairs, k, batches) {
  said <- if (!is.null(pairs)) said_of(pairs)
  if (is.null(said$where) || !has_batches(said$where)) return(pairs)
  said$where <- of_batch(said$where, k, batches)
  new_pairs(said, pairs$swapped)
}

refuse_batches_of <- function(x, what) {
  if (!has_batches(x)) return(invisible())
  abort("unsupported", what, " of a formula with batches is not defined; take_batch() gives the formula of one of them")
}

# Systems of each batch; right-hand sides may be the same for all.
solve_batches <- function(K, b, ...) {
  batches <- K$extent[-(1:2)]
  if (is_traced(b) || length(traced_operands(K))) {
    abort("no_gradient", "solve() with batches has no gradient; write it batch by batch, with take_batch()")
  }
  if (!is.numeric(b)) abort("input", "`b` must be numbers, not ", describe(b))
  own <- batch_dim(b)
  fits <- length(own) <= length(batches) && all(own == 1 | own == batches[seq_along(own)])
  if (!fits) {
    abort("shape", "`b` has batches ", paste(own, collapse = " x "), ", the formula has ",
          paste(batches, collapse = " x "))
  }
  at <- places_of_batches(own, batches)
  if (!prod(batches)) return(array(0, c(if (length(dim(b)) < 2) length(b) else dim(b)[1:2], batches)))
  found <- lapply(seq_len(prod(batches)), function(k) {
    x <- solve(take_batch(K, k), one_batch(b, at[k]), ...)
    array(x, c(NROW(x), NCOL(x)))
  })
  out <- together(found, batches, FALSE)
  if (length(dim(b)) < 2) without_components(out) else out
}

logdet_batches <- function(K, ...) {
  batches <- K$extent[-(1:2)]
  found <- lapply(seq_len(prod(batches)), function(k) {
    value <- logdet(take_batch(K, k), ...)
    if (!is_traced(value)) return(c(value, attr(value, "se")))
    abort("no_gradient", "logdet() with batches has no gradient; write it batch by batch, with take_batch()")
  })
  each <- function(k) array(vapply(found, `[`, 0, k), batches)
  structure(each(1), se = each(2))
}

# --- reductions -------------------------------------------------------------------------------------------------

run_batches <- function(R, operands, data) {
  batches <- met_batches(data, operands)
  R$extent <- R$extent[1:2]
  if (can_be_stacked(R, operands, data, prod(batches))) stacked_run(R, operands, data, batches)
  else batch_by_batch(R, operands, data, batches)
}

# --- one after the other ---

batch_by_batch <- function(R, operands, data, batches) {
  at <- lapply(data, function(one) places_of_batches(batch_dim(one), batches))
  axes <- vapply(operands, `[[`, "", "axis")
  drop <- R$drop
  R$drop <- NULL
  runs <- lapply(seq_len(max(1, prod(batches))), function(k) {
    here <- Map(function(one, places, axis) if (prod(batches)) one_batch(one, places[k], axis) else no_batch(one, axis),
                data, at, axes)
    run_reduction(R, data = here, owners = vector("list", length(here)))
  })
  if (is.null(R$groups)) return(together(runs, batches, drop))
  of_group <- function(k, result) {
    own <- data[[which(vapply(operands, identical, NA, R$groups[[k]]$like))]]
    back_to(side_by_side(result), own, batches)
  }
  if (R$single) return(of_group(1, runs))
  structure(lapply(seq_along(R$groups), function(k) of_group(k, lapply(runs, `[[`, k))), names = names(runs[[1]]))
}

# In place of a batch, where there is none: what has its shape.
no_batch <- function(x, axis) {
  if (length(dim(x)) <= 2) return(x)
  if (axis == "param") numeric(ncol(x)) else matrix(0, nrow(x), ncol(x))
}

# Results of batches side by side, the batch axes last; of lists, item by item.
together <- function(runs, batches, drop) {
  if (is.list(runs[[1]])) {
    return(lapply(stats::setNames(seq_along(runs[[1]]), names(runs[[1]])), function(k) {
      together(lapply(runs, `[[`, k), batches, drop)
    }))
  }
  extents <- dim(runs[[1]])
  names <- dimnames(runs[[1]])
  values <- if (prod(batches)) unlist(runs) else runs[[1]][0]
  out <- array(values, c(extents, batches), if (!is.null(names)) c(names, vector("list", length(batches))))
  if (isTRUE(drop)) without_components(out) else out
}

# Batches come last.
without_components <- function(x) without_column(x, 2)

side_by_side <- function(runs) vapply(runs, as.vector, as.vector(runs[[1]]))

# What flows back to data that may be the same in several batches: a column for each batch.
back_to <- function(columns, own, batches) {
  if (!prod(batches)) return(own * 0)
  dim(columns) <- c(length(columns) / prod(batches), prod(batches))
  places <- places_of_batches(batch_dim(own), batches)
  sums <- if (anyDuplicated(places) || !length(places)) {
    par <- matrix(0, nrow(columns), max(1, prod(batch_dim(own))))
    for (k in seq_along(places)) par[, places[k]] <- par[, places[k]] + columns[, k]
    par
  } else columns
  if (is.null(dim(own))) structure(as.vector(sums), names = names(own)) else array(sums, dim(own), dimnames(own))
}

# --- all at once ---

# Pairs of a batch from which on it has work for all threads by itself: some milliseconds, beside the tenth of one that
# a call costs.
most_stacked <- 4e6

can_be_stacked <- function(R, operands, data, count) {
  axes <- vapply(operands, `[[`, "", "axis")
  points <- extents_of_data(R, operands, data)
  plain <- vapply(R$outputs, function(output) {
    output$keep %in% c("i", "j") && is.null(output$rows) && !isTRUE(output$transposed)
  }, NA)
  count > 1 && prod(points) <= most_stacked && all(points > 0) && all(plain) && is.null(R$pairs) &&
    !"pair" %in% axes && !any(axes == "param" & lengths(lapply(data, batch_dim)) > 0) &&
    call_options(R$settings)$device %in% c("auto", "cpu", "gpu") &&
    !any(vapply(c(R$extents, formulas_of(R$outputs)), reads_places, NA, anyNA(R$extent)))
}

# Row numbers, and points that are read by them, mean those of a batch; where axes are exchanged, data do not say how
# many points there are.
reads_places <- function(formula, unknown) {
  pending <- list(formula)
  seen <- 0
  while (length(pending)) {
    one <- pending[[1]]
    pending <- pending[-1]
    if (one$op %in% c("Take", "Gather", if (unknown) "Swap")) return(TRUE)
    if (one$op == "Var" && is.null(one$args)) return(TRUE)
    if (is.list(one$args)) pending <- c(one$args, pending)
    if ((seen <- seen + 1) > 10000) return(TRUE)  # not worth the look
  }
  FALSE
}

extents_of_data <- function(R, operands, data) {
  along <- function(axis, known) {
    if (!is.na(known)) return(known)
    rows <- vapply(which(vapply(operands, `[[`, "", "axis") == axis), function(k) NROW(data[[k]]), 0L)
    c(rows, 1)[1]
  }
  as.numeric(c(along("i", R$extent[1]), along("j", R$extent[2])))
}

stacked_run <- function(R, operands, data, batches) {
  points <- extents_of_data(R, operands, data)
  whole <- kept_stack(R, operands, points, prod(batches))
  stacked <- Map(stacked_operand, operands, data, MoreArgs = list(batches = batches))
  stacked <- stacked[match_operands(prepared(whole$reduction)$operands, whole$operands)]
  results <- run_reduction(whole$reduction, data = lapply(stacked, `[[`, "data"), owners = stacked)
  found <- Map(function(result, output) as_one_batch_has_it(result, output, points, batches), results, R$outputs)
  if (is.null(R$groups)) return(as_results(R, lapply(found, dropped, R, without_components)))
  groups_of_batches(R, found, operands, data, batches)
}

# The reduction of all batches at once waits for its data, so that one does for all calls with as many points.
kept_stack <- function(R, operands, points, count) {
  whole <- R$cache$stacked
  if (!identical(whole$points, c(points, count))) {
    R$cache$stacked <- whole <- list(points = c(points, count), operands = lapply(operands, waiting_operand))
    whole$reduction <- stacked_reduction(R, operands, whole$operands, points, count)
    R$cache$stacked <- whole
  }
  whole$reduction$settings <- R$settings
  whole
}

stacked_reduction <- function(R, from, to, points, count) {
  restate <- function(formulas) r_restate(formulas, from, to)
  outputs <- lapply(R$outputs, function(output) {
    given <- Filter(Negate(is.null), output[c("value", "weight")])
    output[names(given)] <- restate(given)
    output$finish[c("per", "less")] <- list("", 0L)  # numbers of points are those of a batch
    output
  })
  blocks <- ranges(rep(points[1], count), rep(points[2], count), cbind(seq_len(count), seq_len(count)))
  whole <- new_reduction(outputs, points * count, R$settings, new_pairs(list(ranges = blocks)),
                         extents = restate(R$extents))
  whole$results <- as.character(seq_along(outputs))
  whole
}

waiting_operand <- function(operand, numbers = NULL) {
  new_operand(operand$name, operand$axis, operand$width, operand$kind, numbers)
}

# What is found out about numbers is kept with the operand that has them; so is the stacked one with that of a batch.
stacked_operand <- function(operand, one, batches) {
  if (operand$axis == "param") return(if (is.null(operand$data)) waiting_operand(operand, one) else operand)
  known <- operand$stacked
  if (!is.null(operand$data) && identical(known$batches, batches)) return(known$operand)
  stacked <- waiting_operand(operand, stack_up(one, batches))
  if (!is.null(operand$data)) operand$stacked <- list(batches = batches, operand = stacked)
  stacked
}

# Points of all batches, one batch behind the other.
stack_up <- function(x, batches) {
  n <- NROW(x)
  width <- NCOL(x)
  places <- places_of_batches(batch_dim(x), batches)
  x <- stretches(x, n, outer((places - 1) * width, seq_len(width), `+`))
  r_dress(x, list(dim = c(n * length(places), width), dimnames = NULL))
}

# Some of the stretches of so many numbers that an array is made of, where its numbers lie.
stretches <- function(x, size, which) {
  from <- (as.vector(which) - 1) * size + 1
  offsets <- size * c(0, seq_along(which))
  r_move(x, from, NULL, offsets, size * length(which), NULL, FALSE, FALSE, array_threads())
}

# Numbers of one output, with the batches last; places counted within a batch, and divided by its points.
as_one_batch_has_it <- function(result, output, points, batches) {
  if (is.list(result)) {
    result$value <- unstacked(result$value, batches)
    result$index <- within_batch(unstacked(result$index, batches), output, points, batches)
    return(result)
  }
  result <- unstacked(result, batches)
  if (identical(output$finish$results, "index")) return(within_batch(result, output, points, batches))
  per <- strsplit(output$finish$per, "")[[1]]
  if (!length(per)) return(result)
  terms <- prod(points[match(per, c("i", "j"))]) - output$finish$less
  result / (if (terms > 0) terms else NaN)
}

unstacked <- function(x, batches) {
  count <- prod(batches)
  points <- dim(x)[1] / count
  others <- dim(x)[-1]
  if (prod(others) > 1) {
    x <- stretches(x, points, outer((seq_len(prod(others)) - 1) * count, seq_len(count), `+`))
  }
  r_dress(x, list(dim = c(points, others, batches)))
}

within_batch <- function(x, output, points, batches) {
  folded <- points[if (output$keep == "i") 2 else 1]
  before <- rep((seq_len(prod(batches)) - 1) * folded, each = length(x) / prod(batches))
  mode <- storage.mode(x)
  x[] <- x - before
  storage.mode(x) <- mode
  x
}

groups_of_batches <- function(R, found, operands, data, batches) {
  results <- lapply(R$groups, function(group) {
    own <- data[[which(vapply(operands, identical, NA, group$like))]]
    total <- 0
    for (k in group$outputs) {
      part <- array(found[[k]], c(dim(found[[k]])[1:2], prod(batches)))
      total <- total + if (group$like$axis == "param") colSums(part) else part
    }
    if (!length(group$outputs)) total <- rep(0, length(own) * prod(batches) / max(1, prod(batch_dim(own))))
    back_to(total, own, batches)
  })
  if (R$single) return(results[[1]])
  structure(results, names = R$labels %or% vapply(R$groups, function(group) group$like$name, ""))
}
