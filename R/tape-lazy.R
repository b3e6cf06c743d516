# Lazy tensors on the tape. An operand made from a traced value remembers the value as `traced`, and a reduction with
# such operands is one entry of the tape. Its value is the value of the plain reduction; its pull is the vector-Jacobian
# product of all traced operands in one job, which is itself a template, with the cotangent as one more input.

# --- operands ---------------------------------------------------------------------------------------------------

# Returns the operands of a formula or a reduction that were made from traced values.
traced_operands <- function(F) {
  formulas <- if (is_lazy(F)) list(F$formula) else c(F$extents, formulas_of(F$outputs))
  Filter(is_bearing, r_operands(formulas))
}

# --- entries ----------------------------------------------------------------------------------------------------

# Computes a reduction with operands that were made from traced values.
reduction_node <- function(R) {
  found <- template_of(R)
  dropped(template_value(found$template, lapply(found$operands, value_borne), found$operands), R)
}

# Computes a prepared reduction for data of its free operands, some of them traced.
prepared_node <- function(R, free, given) {
  found <- own_template(R)
  owners <- found$operands
  places <- match_operands(owners, free)
  for (k in which(!is.na(places))) {
    x <- given[[places[k]]]
    owners[[k]] <- bearing(new_operand(owners[[k]]$name, owners[[k]]$axis, owners[[k]]$width, "real",
                                       as_operand_data(plain_value(x), owners[[k]])), x)
  }
  dropped(template_value(found$template, lapply(owners, value_borne), owners), R)
}

value_borne <- function(operand) operand$traced %or% operand$data

# Returns the results of a template for values of any level.
template_value <- function(template, values, owners) {
  level <- highest_level(values)
  if (level == 0L) return(plain_run(template, values, owners))
  inner <- lapply(values, lowered, level)
  out <- template_value(template, inner, owners)
  # Places, counts and logical values do not vary smoothly.
  smooth <- function(output) output$finish$results != "index" && output$value$type[2] != kind_codes[["logical"]]
  if (!all(vapply(template$reduction$outputs, smooth, NA))) return(out)
  traced <- which(vapply(values, level_of, 0L) == level)
  back <- function(cotangents) flow_back(template, inner, traced, cotangents, owners, out)
  record_results(template$reduction, values[traced], out, back)
}

# Computes the cotangents of some values of a template, by their places. `cotangents`: a list with the cotangent of each
# result, or NULL. A rule that contains a reduction, such as a solver's, finds the template and the values by
# template_of(), lowers the values and calls flow_back().
flow_back <- function(template, values, places, cotangents, owners, out = NULL) {
  given <- which(!vapply(cotangents, is.null, NA))
  step <- step_back(template, places, given)
  if (step$reads_result && is.null(out)) out <- template_value(template, values, owners)
  values <- c(values, cotangents[given], if (step$reads_result) list(out))
  unname(template_value(step$template, values, c(owners, vector("list", length(values) - length(owners)))))
}

# `back` takes a list with the cotangent of each result of the reduction, NULL for a result without one.
record_results <- function(R, parents, out, back) {
  if (is.null(R$groups) || R$single) {
    record_value <- function(value) record(parents, value, function(g) back(list(shaped_like(g, value))))
    if (!is.list(out)) return(record_value(out))
    out$value <- record_value(out$value)
    return(out)
  }
  # Several results share one entry, whose cotangent is the list of their cotangents, so that one job serves all.
  together <- record(parents, out, function(g) back(unclass(g)))
  for (k in seq_along(out)) out[[k]] <- record(list(together), out[[k]], part_of_cotangent(k, length(out), out[[k]]))
  out
}

part_of_cotangent <- function(k, n, value) {
  k; value  # forces the values of this turn of a loop
  function(g) {
    parts <- vector("list", n)
    parts[[k]] <- shaped_like(g, value)
    list(structure(parts, class = "kernweave_parts"))
  }
}

#' @export
`+.kernweave_parts` <- function(e1, e2) {
  for (k in seq_along(e1)) {
    if (is.null(e2[[k]])) next
    e1[[k]] <- if (is.null(e1[[k]])) e2[[k]] else e1[[k]] + e2[[k]]
  }
  e1
}

# Returns the template of the cotangents of some inputs of a template, by their places, given the cotangents of some of
# its results. Its inputs are the template's inputs, these cotangents and, if the derivative reads it, the result.
step_back <- function(template, traced, given) {
  R <- template$reduction
  name <- paste(c(traced, "of", given), collapse = " ")
  known <- R$cache$steps[[name]]
  if (!is.null(known)) return(known)
  places <- if (is.null(R$groups)) 1 else seq_along(R$groups)
  cotangents <- lapply(places, function(group) if (group %in% given) cotangent_operand(R, group, NULL, FALSE))
  back <- pulled_back(R, template$inputs[traced], cotangents)
  back$single <- FALSE
  result <- R$cache$saved$result$value$formula$args
  reads_result <- !is.null(result) && holds(r_operands(formulas_of(back$outputs)), result)
  inputs <- c(template$inputs, cotangents[given], if (reads_result) list(result))
  step <- list(template = list(reduction = back, inputs = inputs), reads_result = reads_result)
  R$cache$steps[[name]] <- step
  step
}

beside_lazy <- function(f, name) {
  otherwise <- overlay[[name]]
  stands_for_matrix <- function(x) inherits(x, c("lazy_tensor", "linear_op", "kernweave_preconditioner"))
  function(...) if (any(vapply(list(...), stands_for_matrix, NA))) f(...) else otherwise(...)
}

# Replaces the operands of a formula that hold values of this level by operands of the values one level below. Returns
# the formula and these operands, in the order of traced_operands().
lowered_formula <- function(F, level) {
  operands <- Filter(function(operand) level_of(operand$traced) == level, traced_operands(F))
  lower <- lapply(operands, function(operand) {
    bearing(new_operand(operand$name, operand$axis, operand$width, operand$kind, operand$data),
            value_of(operand$traced))
  })
  F$formula <- home_bound(r_with_operands(list(F$formula), operands, lower)[[1]])
  list(F = F, operands = lapply(lower, lazy_operand))
}

# Returns a lazy tensor with the plain numbers of its traced operands.
plain_tensor <- function(K) {
  while (length(operands <- traced_operands(K))) {
    K <- lowered_formula(K, highest_level(lapply(operands, `[[`, "traced")))$F
  }
  K
}
