# Templates: one reduction computes all reductions of the same structure, so that repeated calls of a function plan and
# differentiate nothing anew. A template has
#   reduction   over stand-ins: placeholders for the operands of the reductions that it computes
#   inputs      the stand-ins, in the order of these operands
# Derivatives of a template are kept with it.

templates <- new.env(parent = emptyenv())
most_templates <- 256

# Returns the template of a reduction, and the operands of the reduction in the order of the template's inputs.
template_of <- function(R) {
  if (!is.null(R$pairs)) return(own_template(R))
  structure <- structure_of(R)
  given <- without_saved(structure$operands)
  at <- match(structure$key, templates$keys)
  if (is.na(at)) {
    inputs <- lapply(given, function(operand) new_operand(operand$name, operand$axis, operand$width, operand$kind))
    names <- list2env(list(from = given, to = inputs), parent = emptyenv())
    template <- list(reduction = restated(R, names), inputs = inputs)
    # Numbers written in formulas belong to the structure: other numbers at each call would fill the memory.
    full <- length(templates$keys) >= most_templates
    templates$keys <- c(if (!full) templates$keys, structure$key)
    templates$values <- c(if (!full) templates$values, list(template))
    at <- length(templates$keys)
  }
  list(template = templates$values[[at]], operands = given)
}

# Returns the template of a reduction that waits for data: the reduction itself.
own_template <- function(R) {
  if (is.null(R$cache$inputs)) R$cache$inputs <- without_saved(structure_of(R)$operands)
  list(template = list(reduction = R, inputs = R$cache$inputs), operands = R$cache$inputs)
}

without_saved <- function(operands) operands[vapply(operands, function(operand) is.null(operand$from), NA)]

# Describes a reduction and the reductions behind its saved operands as a text, and lists the operands of all.
structure_of <- function(R) {
  parts <- list(R)
  operands <- list()
  key <- NULL
  k <- 0
  while (k < length(parts)) {
    part <- parts[[k <- k + 1]]
    read <- r_structure(job_of(part, call_options(part$settings)))
    operands <- c(operands, read$operands[is.na(match_operands(read$operands, operands))])
    for (operand in read$operands) {
      if (is.null(operand$from) || !is.na(place_among(operand$from$reduction, parts))) next
      parts <- c(parts, list(operand$from$reduction))
    }
    key <- c(key, read$key, marks_of(part, read$operands, operands, parts))
  }
  list(key = paste(key, collapse = " "), operands = operands)
}

# Finds a reduction in a list: two reductions are the same if they share their cache.
place_among <- function(R, parts) match_operands(list(R$cache), lapply(parts, `[[`, "cache"))

# Lists the properties of a part that are not in its plan.
marks_of <- function(part, read, operands, parts) {
  saved <- lapply(read, function(operand) {
    if (!is.null(operand$from)) c(place_among(operand$from$reduction, parts), unlist(operand$from[-1]))
  })
  groups <- lapply(part$groups, function(group) c(match_operands(list(group$like), operands), "of", group$outputs))
  outputs <- lapply(part$outputs, function(output) c(output$label, is.null(output$rows), isTRUE(output$transposed)))
  unlist(list(match_operands(read, operands), saved, groups, outputs, part$extent, names(part$settings), part$settings,
              part$single, part$labels, part$derivative))
}

# Puts other operands into a reduction. `names` maps operands to their replacements, and gains saved results.
restated <- function(R, names) {
  for (operand in r_operands(c(R$extents, formulas_of(R$outputs)))) {
    if (is.null(operand$from) || holds(names$from, operand)) next
    from <- operand$from
    from$reduction <- restated(from$reduction, names)
    twin <- new_operand(operand$name, operand$axis, operand$width, operand$kind, from = from)
    names$from <- c(names$from, list(operand))
    names$to <- c(names$to, list(twin))
  }
  over <- function(formulas) r_with_operands(formulas, names$from, names$to)
  R$outputs <- lapply(R$outputs, function(output) {
    formulas <- Filter(Negate(is.null), output[c("value", "weight", "rows")])
    output[names(formulas)] <- over(formulas)
    output
  })
  R$groups <- lapply(R$groups, function(group) {
    group$like <- names$to[[match_operands(list(group$like), names$from)]]
    group
  })
  if (!length(R$groups)) R$groups <- NULL
  R$extents <- over(R$extents)
  R$drop <- R$axes <- NULL
  R$cache <- new.env(parent = topenv())
  R
}

# Runs a template for plain values of its inputs. Values cached with data are cached with their owners, operands or
# NULL.
plain_run <- function(template, values, owners) {
  ready <- prepared(template$reduction)
  values <- lapply(values, function(x) {
    if (!is.double(x)) storage.mode(x) <- "double"
    x
  })
  data <- operand_data(ready$operands, template$inputs, values)
  run_reduction(template$reduction, data = data, owners = owners[match_operands(ready$operands, template$inputs)])
}
