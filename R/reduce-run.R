# Lazy reductions and their computation: a plan, data for its operands, a run of the engine.

#   outputs   the sums and other folds that the engine computes: value, weight, op, keep, K
#   groups    how outputs become results: added up, scattered to rows, shaped like an operand
#   results   names of results if each output is one of several; NULL for a single result, or with `groups`
#   extents   formulas whose variables give the numbers of i and j
#   cache     the engine's plan, made again if it is missing (for example after saveRDS)

new_reduction <- function(outputs, extent, settings = NULL, pairs = NULL, groups = NULL, extents = NULL) {
  if (is.null(extents)) extents <- formulas_of(outputs)
  structure(
    list(outputs = outputs, groups = groups, extents = extents, extent = extent, settings = settings, pairs = pairs,
         cache = new.env(parent = topenv())),  # readRDS() of a reduction loads the namespace
    class = "lazy_reduction"
  )
}

formulas_of <- function(outputs) {
  found <- c(lapply(outputs, `[[`, "value"), lapply(outputs, `[[`, "weight"))
  found[!vapply(found, is.null, NA)]
}

# Returns the plan, its operands in order, and whether an operand is traced. It is made again if an option
# has changed.
prepared <- function(R, options = call_options(R$settings)) {
  cache <- R$cache
  ready <- cache$ready
  if (identical(ready$options, options) && !is_dead(ready$plan)) return(ready)
  ready <- r_prepare(job_of(R, options))
  refuse_named_axes(ready$operands)
  ready$bearing <- any(vapply(ready$operands, is_bearing, NA))
  ready$options <- options
  cache$ready <- ready
  ready
}

# Returns all that a plan depends on, which does not include data.
job_of <- function(R, options) {
  list(outputs = R$outputs, extents = R$extents, precision = options$precision, rewrite = options$device != "reference",
       checks = isTRUE(options$check), pairs = !is.null(R$pairs), allowed = allowed_formula(R$pairs))
}

# Lists the arguments of the engine. Values cached with data are cached with their `owners`.
engine_call <- function(R, ready, data, options, owners = ready$operands) {
  pairs <- if (!is.null(R$pairs)) pair_argument(R$pairs, extent_of_call(R, data, ready$operands), options$precision)
  list(plan = ready$plan, data = data, operands = owners, extent = R$extent, settings = options, pairs = pairs)
}

# Starts the compilation of a reduction's GPU kernels, which goes on while other code runs.
expect_run <- function(R) {
  options <- call_options(R$settings)
  if (!is.null(R$pairs) || !may_be_compiled(options)) return(invisible())
  ready <- prepared(R, options)
  r_expect(engine_call(R, ready, operand_data(ready$operands), options))
}

# Reduces data: all `data`, or `given` data for some operands (by default those without data) and the other operands'
# own data. Values cached with data are cached with their `owners`, operands or NULL.
run_reduction <- function(R, given_for = list(), given = list(), known = NULL, data = NULL, owners = NULL) {
  found <- run_pairs(R, given_for, given, known, data, owners)
  if (is.null(R$axes)) found else in_axes(found, R$axes)
}

run_pairs <- function(R, given_for, given, known, data, owners) {
  options <- call_options(R$settings)
  ready <- prepared(R, options)
  if (is.null(data)) {
    if (ready$bearing && !length(given)) return(as_results(R, lapply(members_of(R), reduction_node)))
    data <- operand_data(ready$operands, given_for, given, known)
  }
  call <- engine_call(R, ready, data, options, owners %or% ready$operands)
  run <- function() {
    w <- present_workers(options)
    found <- if (!is.null(w)) run_spread(w, R, ready$operands, call)
    found %or% r_run(call)
  }
  finish_results(R, if (interactive()) timed(run, options, R = R) else run(), data, ready$operands)
}

# Turns the results of the engine into those that the user sees.
finish_results <- function(R, out, data, operands) {
  if (!is.null(R$groups)) return(finish_groups(R, out, data, operands))
  # Results refer to the original order of the points, and to existing pairs only.
  if (!is.null(R$pairs)) out <- Map(function(result, output) {
    result <- with_empty_rows(R, result, output, data, operands)
    with_first_places(R, result, output, data, operands)
  }, out, R$outputs)
  as_results(R, if (is.null(R$drop)) out else lapply(out, dropped, R, length(batches_of(data))))
}

dropped <- function(result, R, batch_axes = 0) {
  if (is.null(R$drop)) return(result)
  drop <- function(x) without_column(x, length(dim(x)) - batch_axes)
  if (is.list(result)) lapply(result, rearranged, drop) else rearranged(result, drop)
}

# Drops the dimension of a single column, so that there is one number for each point.
without_column <- function(result, at = length(dim(result))) {
  extents <- dim(result)
  if (!length(extents) || extents[at] != 1) return(result)
  names <- dimnames(result)
  if (length(extents) == 2) return(structure(as.vector(result), names = names[[1]]))
  array(result, extents[-at], names[-at])
}

# Returns the data of each operand: its own, or `given` data, or the result of a reduction. Results are stored in
# `known`, since several operands may need one.
operand_data <- function(operands, given_for = list(), given = list(), known = NULL) {
  data <- lapply(operands, `[[`, "data")
  if (length(given_for)) {
    places <- match_operands(operands, given_for)
    here <- !is.na(places)
    data[here] <- given[places[here]]
  } else if (length(given)) data[waiting_places(operands)] <- given
  for (k in seq_along(data)) {
    if (!is.null(data[[k]])) next
    operand <- operands[[k]]
    if (is.null(operand$from)) abort("no_data", "`", operand$name, "` is a placeholder and has no data")
    known <- known %or% new.env(parent = emptyenv())
    data[[k]] <- saved_value(operand$from, given_for, given, known)
  }
  data
}

# Returns the places of operands without data.
waiting_places <- function(operands) {
  which(vapply(operands, function(operand) is.null(operand$data) && is.null(operand$from), NA))
}

# Returns a part of the result of a forward pass, which its gradient needs.
saved_value <- function(from, given_for, given, known) {
  R <- from$reduction
  at <- match_operands(list(R$cache), known$caches)
  out <- if (!is.na(at)) known$results[[at]] else run_reduction(R, given_for, given, known)
  if (is.na(at)) {
    known$caches <- c(known$caches, list(R$cache))
    known$results <- c(known$results, list(out))
  }
  value <- if (is.null(from$part)) out else out[[from$part]]
  k <- from$column  # the column of the matrix, or of each batch's matrix
  if (!is.null(k)) value <- if (length(dim(value)) <= 2) value[, k, drop = FALSE] else {
    array(array(value, c(dim(value)[1:2], prod(batch_dim(value))))[, k, ], c(dim(value)[1], 1, batch_dim(value)))
  }
  storage.mode(value) <- "double"
  if (isTRUE(from$places)) value[is.na(value)] <- 1  # without a winner, any place: its value is not used
  value
}

# Returns the operands that need data, also those of saved values. The result is cached, since outputs do not change.
free_operands <- function(R) {
  if (!is.null(R$cache$free)) return(R$cache$free)
  formulas <- c(R$extents, formulas_of(R$outputs), condition_of(R$pairs))
  found <- lapply(r_operands(formulas), function(operand) {
    if (!is.null(operand$from)) free_operands(operand$from$reduction) else if (is.null(operand$data)) list(operand)
  })
  free <- unlist(found, recursive = FALSE)
  R$cache$free <- as.list(free[match_operands(free, free) == seq_along(free)])
}

# Returns the results of all members as the results of the reduction.
as_results <- function(R, found) {
  if (is.null(R$results)) return(found[[1]])
  if (isTRUE(R$complex)) complex_result(found) else structure(found, names = R$results)
}

# Returns a reduction for each result. Saved values for derivatives belong to these members, so members are cached.
# Their derivatives use the same pairs, too: none is gathered at the winners alone.
members_of <- function(R) {
  if (is.null(R$results)) return(list(R))
  known <- R$cache$members
  if (!is.null(known) && identical(known[[1]]$settings, R$settings)) return(known)
  R$cache$members <- lapply(R$outputs, function(output) {
    one <- new_reduction(list(output), R$extent, R$settings, R$pairs, extents = R$extents)
    one$drop <- R$drop
    one$all_pairs <- TRUE
    one
  })
}

# Returns complex numbers with the shape and the names of the parts. If a part is traced, returns the pair of parts.
complex_result <- function(found) {
  if (!is.list(found) || is_lazy_complex(found)) return(found)
  re <- found[[1]]
  if (is_traced(re) || is_traced(found[[2]])) return(new_complex(re, found[[2]]))
  out <- complex(real = as.vector(re), imaginary = as.vector(found[[2]]))
  attributes(out) <- attributes(re)
  out
}

# Makes an output that is a sum. A term linear in the values of a reduction has the `finish` of the reduction.
sum_output <- function(value, keep, finish = as_they_are, rows = NULL, transposed = FALSE) {
  finish$results <- "value"
  list(value = value, weight = NULL, op = "Sum", keep = keep, K = 1L, finish = finish, label = "sum", rows = rows,
       transposed = transposed)
}

number_formula <- function(value) list(op = "Number", args = value, attributes = NULL, type = c(1L, 2L, 0L))

kept_axis <- function(keep) c(i = "i", j = "j", none = "param", both = "pair")[[keep]]

# Makes an operand along the kept axis, whose data are the result of R.
saved_operand <- function(R, part, name, keep, width = result_width(R$outputs[[1]]), kind = "real", flat = FALSE) {
  lazy_operand(new_operand(name, kept_axis(keep), width, kind, from = list(reduction = R, part = part, flat = flat)))
}

result_width <- function(output) max(output$value$type[1], output$weight$type[1]) * output$K

# Counts the pairs that are reduced into each result.
terms_of_pairs <- function(R, keep) {
  new_reduction(list(sum_output(number_formula(1), keep)), R$extent, R$settings, R$pairs, extents = R$extents)
}

# Makes a mean over existing pairs the sum of F / number of pairs, and gives rows without pairs their value.
over_pairs <- function(R, F, row) {
  output <- R$outputs[[1]]
  if (row$terms != "none") {
    terms <- saved_operand(terms_of_pairs(R, output$keep), NULL, "terms", output$keep)
    output$value <- (F / (terms - output$finish$less))$formula
    output$finish <- utils::modifyList(output$finish, as_they_are[c("per", "less")])
  }
  # A row without pairs has the sum 0; a minimum has NaN, which stands for pairs that do not exist. These values are
  # replaced.
  picks <- row$of == "MinArgMin" && row$results == "value_index"
  output$empty <- if (row$terms != "none") NaN else if (picks) Inf * row$sign
  new_reduction(list(output), R$extent, R$settings, R$pairs)
}

with_empty_rows <- function(R, result, output, data, operands) {
  if (is.null(output$empty)) return(result)
  value <- if (is.list(result)) result$value else result
  doubtful <- if (is.nan(output$empty)) rep(TRUE, length(value)) else is.nan(value)
  if (!any(doubtful)) return(result)
  counts <- run_reduction(terms_of_pairs(R, output$keep), operands, data)
  # All components of a point have the same number of pairs, in each batch.
  batches <- prod(dim(counts)[-(1:2)])
  none <- matrix(counts == 0, ncol = batches)[, rep(seq_len(batches), each = length(value) / length(counts))]
  value[doubtful & none] <- output$empty
  if (is.list(result)) replace(result, "value", list(value)) else value
}

# Returns the first of equal values in the order of the data. If both axes are reduced and the points were sorted, the
# engine returns the first in the sorted order. So each row is searched separately, and the first of the smallest values
# is taken.
with_first_places <- function(R, result, output, data, operands) {
  finds <- output$op %in% c("MinArgMin", "KMinArgKMin") && output$finish$results != "value"
  if (!isTRUE(R$pairs$rule$ordered) || output$keep != "none" || !finds) return(result)
  output$keep <- "i"
  output$finish$results <- "value_index"
  by_rows <- new_reduction(list(output), R$extent, R$settings, R$pairs, extents = R$extents)
  rows <- run_reduction(by_rows, operands, data)
  n <- nrow(rows$value)
  if (n == 0) return(result)
  width <- length(rows$value) / n / output$K
  places <- array((rows$index - 1) * n + seq_len(n), c(n, output$K, width))
  values <- array(rows$value * output$finish$sign, dim(places))
  first <- vapply(seq_len(width), function(k) {
    at <- order(values[, , k], places[, , k])[seq_len(output$K)]
    places[, , k][at]
  }, numeric(output$K))
  index <- if (is.list(result)) result$index else result
  index[] <- if (is.integer(index)) as.integer(first) else first
  if (is.list(result)) replace(result, "index", list(index)) else index
}
