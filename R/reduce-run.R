# Lazy reductions as values, and the one road from a value to numbers: a plan, data for its operands, a run.

#   outputs   what the engine computes over the pairs: value, weight, op, keep, K
#   groups    how outputs become results: added up, scattered to rows, shaped like an operand
#   results   names of results where each output is one of several; NULL where there is one, or are groups
#   extents   formulas whose variables say how many i and j there are
#   cache     the engine's plan, made again where it is missing (after saveRDS, say)

new_reduction <- function(outputs, extent, settings = NULL, pairs = NULL, groups = NULL, extents = NULL) {
  if (is.null(extents)) extents <- formulas_of(outputs)
  structure(
    list(outputs = outputs, groups = groups, extents = extents, extent = extent, settings = settings, pairs = pairs,
         cache = new.env(parent = topenv())),  # loads the namespace where a saved reduction is read
    class = "lazy_reduction"
  )
}

formulas_of <- function(outputs) {
  found <- c(lapply(outputs, `[[`, "value"), lapply(outputs, `[[`, "weight"))
  found[!vapply(found, is.null, NA)]
}

# The plan, its operands in order, and whether one of them has a history. Made again where an option has changed:
# options that have not are the same object, and the engine knows its plans.
prepared <- function(R, options = call_options(R$settings)) {
  cache <- R$cache
  ready <- cache$ready
  if (identical(ready$options, options) && !is_dead(ready$plan)) return(ready)
  ready <- r_prepare(R$outputs, R$extents, plan_options(R, options))
  refuse_named_axes(ready$operands)
  ready$bearing <- any(vapply(ready$operands, is_bearing, NA))
  ready$options <- options
  cache$ready <- ready
  ready
}

plan_options <- function(R, options) {
  list(precision = options$precision, rewrite = options$device != "reference", checks = isTRUE(options$check),
       pairs = !is.null(R$pairs), allowed = allowed_formula(R$pairs))
}

# An external pointer does not survive saveRDS.
is_dead <- function(pointer) identical(pointer, dead_pointer)
dead_pointer <- methods::new("externalptr")

# A reduction whose kernels a GPU compiles from now on, beside what comes before it.
expect_run <- function(R) {
  options <- call_options(R$settings)
  if (!may_be_compiled(options)) return(invisible())
  ready <- prepared(R, options)
  r_expect(ready$plan, operand_data(ready$operands), ready$operands, R$extent, options)
}

# Reduces data of all operands, or `given` data of some operands and the other operands' own data. What is kept with
# data is kept with their `owners`, operands or NULL.
run_reduction <- function(R, given_for = list(), given = list(), known = NULL, data = NULL, owners = NULL) {
  found <- run_pairs(R, given_for, given, known, data, owners)
  if (is.null(R$axes)) found else in_axes(found, R$axes)
}

run_pairs <- function(R, given_for, given, known, data, owners) {
  options <- call_options(R$settings)
  ready <- prepared(R, options)
  if (is.null(data)) {
    if (ready$bearing && !length(given_for)) return(as_results(R, lapply(members_of(R), reduction_node)))
    data <- operand_data(ready$operands, given_for, given, known)
  }
  pairs <- R$pairs
  if (!is.null(pairs)) pairs <- pair_argument(pairs, extent_of_call(R, data, ready$operands), options$precision)
  run <- function() run_anywhere(R, ready, data, owners %or% ready$operands, options, pairs)
  finish_results(R, if (interactive()) timed(run, options, R = R) else run(), data, ready$operands)
}

# Results as whoever asked for them has them, from those of the engine.
finish_results <- function(R, out, data, operands) {
  if (!is.null(R$groups)) return(finish_groups(R, out, data, operands))
  # Results are as if pairs had been gone through as they lie, and those that do not exist had not been met.
  if (!is.null(R$pairs)) out <- Map(function(result, output) {
    result <- with_empty_rows(R, result, output, data, operands)
    with_first_places(R, result, output, data, operands)
  }, out, R$outputs)
  as_results(R, if (is.null(R$drop)) out else lapply(out, dropped, R, length(batches_of(data))))
}

# Runs a reduction by workers, where there are workers and spreading pays, or here.
run_anywhere <- function(R, ready, data, owners, options, pairs) {
  w <- present_workers(options)
  found <- if (!is.null(w)) run_spread(w, R, ready, data, owners, options, pairs)
  found %or% r_run(ready$plan, data, owners, R$extent, options, pairs)
}

dropped <- function(result, R, batch_axes = 0) {
  if (is.null(R$drop)) return(result)
  drop <- function(x) without_column(x, length(dim(x)) - batch_axes)
  if (is.list(result)) lapply(result, rearranged, drop) else rearranged(result, drop)
}

# One number for each point, without the extent of the one column.
without_column <- function(result, at = length(dim(result))) {
  extents <- dim(result)
  if (!length(extents) || extents[at] != 1) return(result)
  names <- dimnames(result)
  if (length(extents) == 2) return(structure(as.vector(result), names = names[[1]]))
  array(result, extents[-at], names[-at])
}

# Data of each operand: its own, or what is given for it, or what a reduction computes for it. `known` keeps what has
# been computed: several may read it.
operand_data <- function(operands, given_for = list(), given = list(), known = NULL) {
  data <- lapply(operands, `[[`, "data")
  if (length(given_for)) {
    places <- match_operands(operands, given_for)
    here <- !is.na(places)
    data[here] <- given[places[here]]
  }
  for (k in seq_along(data)) {
    if (!is.null(data[[k]])) next
    operand <- operands[[k]]
    if (is.null(operand$from)) abort("no_data", "`", operand$name, "` is a placeholder and has no data")
    known <- known %or% new.env(parent = emptyenv())
    data[[k]] <- saved_value(operand$from, given_for, given, known)
  }
  data
}

# A part of the result of a forward pass, kept for its gradient.
saved_value <- function(from, given_for, given, known) {
  R <- from$reduction
  at <- match_operands(list(R$cache), known$caches)
  out <- if (!is.na(at)) known$results[[at]] else run_reduction(R, given_for, given, known)
  if (is.na(at)) {
    known$caches <- c(known$caches, list(R$cache))
    known$results <- c(known$results, list(out))
  }
  value <- if (is.null(from$part)) out else out[[from$part]]
  if (!is.null(from$column)) value <- one_column_of(value, from$column)
  storage.mode(value) <- "double"
  if (isTRUE(from$places)) value[is.na(value)] <- 1  # what is taken there is not used
  value
}

# Returns column k of a matrix, or of the matrix in each batch.
one_column_of <- function(x, k) {
  if (length(dim(x)) <= 2) return(x[, k, drop = FALSE])
  flat <- array(x, c(dim(x)[1:2], prod(batch_dim(x))))[, k, , drop = FALSE]
  array(flat, c(dim(x)[1], 1, batch_dim(x)))
}

# The operands that must be given data, those behind saved values included. Looked for once: outputs do not change.
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

# The reductions of one result each; where there is but one result, itself. What is kept for derivatives is kept with
# members, so they are made once. Their derivatives go through the same pairs, too: none is gathered at winners alone.
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
