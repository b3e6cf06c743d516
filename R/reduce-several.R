# Several reductions over the same pairs in one pass, with a list of results. The members are reductions of one result
# each, and are used for derivatives and for traced values.

# Takes one formula and several reductions, several formulas and one reduction, or as many of both.
reduce_several <- function(F, op, index, K, weight, call, drop, ...) {
  formulas <- if (is_lazy(F)) list(F) else F
  named <- any(vapply(formulas, function(one) is_lazy(one) && has_named_axes(one), NA))
  n <- max(length(formulas), length(op))
  if (length(op) < 1) abort("input", "`op` must name a reduction; it is empty")
  if (!length(formulas) %in% c(1, n) || !length(op) %in% c(1, n)) {
    abort("shape", "`F` has ", length(formulas), " formulas, but `op` names ", length(op), " reductions; there must be",
          " one of either, or as many of both")
  }
  labels <- names(F) %or% names(op)
  rows <- lapply(rep_len(op, n), reduction_row)
  taken <- function(given, argument, inputs) {
    takes <- vapply(rows, function(row) row$inputs == inputs, NA)
    if (!is.null(given) && !any(takes)) {
      abort("unsupported", paste0(op, "()", collapse = ", "), ": none of them takes `", argument, "`")
    }
    lapply(takes, function(takes) if (takes) given)
  }
  one <- function(F, row, K, weight) {
    reduction(F, row$fn, index = index, K = K, weight = weight, call = if (named) call else FALSE,
              drop = if (named) FALSE else drop, ...)
  }
  members <- unname(Map(one, rep_len(formulas, n), rows, taken(K, "K", "value_k"),
                        taken(weight, "weight", "value_weight")))
  names <- result_names(labels, vapply(rows, `[[`, "", "fn"))
  if (named) return(structure(members, names = names))  # index formulas: each is computed separately
  meeting <- r_meet(c(formulas, if (!is.null(weight)) list(as_lazy(weight, formulas[[1]], "weight"))))
  R <- with_settings(joined(members, names, meeting), ...)
  if (call && !length(free_operands(R))) run_reduction(R) else R
}

is_several <- function(F, op) length(op) != 1 && is.character(op) || is.list(F) && !is_lazy(F) && !is.data.frame(F)

result_names <- function(labels, fn) {
  if (is.null(labels)) labels <- rep("", length(fn))
  labels[!nzchar(labels)] <- fn[!nzchar(labels)]
  make.unique(labels)
}

# Joins the members into one reduction over the pairs of `over`.
joined <- function(members, names, over) {
  all <- function(what) do.call(c, lapply(members, `[[`, what))
  R <- new_reduction(all("outputs"), over$extent, over$settings, over$pairs, extents = all("extents"))
  R$results <- names
  R$drop <- members[[1]]$drop
  R
}
