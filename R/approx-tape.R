# Approximations on the tape. The derivative of a formula of the distance is a formula of the distance and of the
# differences of the points, and has its own series.

# Multiplies an approximation by numbers; the formula or the numbers may be traced.
approximated_entry <- function(op, v) {
  state <- approximation_of(op)
  level <- max(level_of(v), level_of_op(op))
  if (level == 0L) return(approximated_product(state, v))
  lower <- lowered_op(op, level)
  inner <- lowered(v, level)
  values <- Filter(function(x) level_of(x) == level, traced_values(op$tensor))
  record(c(values, list(v)), approximated_entry(lower, inner), function(g) {
    c(if (length(values)) through_approximation(op, level, inner, g),
      list(if (level_of(v) == level) operator_product(t(lower), g)))
  })
}

# Returns the cotangents of the traced operands of a level, from the cotangent of the product with v.
through_approximation <- function(op, level, v, g) {
  state <- approximation_of(op)
  found <- lowered_formula(op$tensor, level)
  if (length(traced_operands(found$F)) || is_traced(v) || is_traced(g)) {
    abort("no_gradient", "in what an approximated formula is made of there are first derivatives alone; without `tol` ",
          "there are those of any order")
  }
  values <- Filter(function(x) level_of(x) == level, traced_values(op$tensor))
  operands <- lapply(found$operands, function(F) F$formula$args)
  terms <- derivative_terms(found$F, operands)
  places <- match_operands(operands, r_operands(list(found$F$formula)))
  # If several operands are made of one value, the value's cotangent is the sum of the operands' cotangents.
  first <- match_operands(values, values)
  lapply(seq_along(values), function(k) {
    if (first[k] != k) return(NULL)
    own <- first == k
    sums <- through_terms(state, do.call(c, terms[own]), operands[[k]]$name, paste(places[own], collapse = " "), v, g)
    shaped_like(sums, plain_value(values[[k]]))
  })
}

# Returns the derivatives of a formula in some operands at each pair: formulas, and the axis that their sums keep.
derivative_terms <- function(F, operands) {
  R <- new_reduction(list(sum_output(F$formula, "i")), F$extent, F$settings)
  form <- reduced_form(R, R$outputs[[1]])
  Map(function(operand, terms) {
    lapply(terms, function(term) {
      if (!is.null(term$rows) || isTRUE(term$transposed)) {
        abort("no_gradient", "an approximation has no derivative in `", operand$name,
              "`, of which the formula takes some rows; take them before")
      }
      list(keep = term$keep, F = new_lazy(home_bound(term$value), F$extent, F$settings, F$pairs))
    })
  }, operands, r_pull_back(form, number_formula(1), operands))
}

# Adds up all terms: over j if a term keeps i, over i if it keeps j, or over both. `key` names a derivative.
through_terms <- function(state, terms, name, key, v, g) {
  keeps <- vapply(terms, `[[`, "", "keep")
  total <- 0
  for (keep in unique(keeps)) {
    own <- lapply(terms[keeps == keep], `[[`, "F")
    known <- paste(key, keep)
    if (is.null(state$derivatives[[known]])) {
      turned <- c(if (keep != "j") FALSE, if (keep != "i") TRUE)
      state$derivatives[[known]] <- derivative_pieces(state, own, name, turned)
    }
    total <- total + derivative_sums(state$derivatives[[known]], max(vapply(own, width, 0)), keep == "none", v, g)
  }
  total
}

# Sums the products of all pieces, a column for each component. With `all`, sums over both axes.
derivative_sums <- function(pieces, components, all, v, u) {
  total <- 0
  for (piece in pieces) {
    of_rows <- if (piece$turned) v else u
    of_weights <- if (piece$turned) u else v
    sums <- if (is_lazy(piece$sums)) sums_of_one_side(piece$sums, of_weights, of_rows)
            else approximated_product(piece$sums, of_weights, of_rows)
    if (all) sums <- matrix(colSums(sums), 1)
    at <- piece$component %or% seq_len(components)
    own <- matrix(0, nrow(sums), components)
    own[, at] <- sums
    total <- total + own
  }
  if (all) drop(total) else total
}

# Approximates the sum of some terms as a whole, if it is a formula of the distance; else term by term, and each term
# component by component. A piece is an approximation, or a formula that varies along at most one axis. The state keeps
# the pieces for the next cotangent. `turned`: sums over i (TRUE) or j; sums over both axes may use either.
derivative_pieces <- function(state, terms, name, turned, component = NULL) {
  F <- Reduce(`+`, terms)
  piece <- function(sums, turned) list(list(sums = sums, turned = turned, component = component))
  splits <- length(terms) > 1 || width(F) > 1
  for (k in seq_along(turned)) {
    own <- if (turned[k]) t(F) else F
    if (!(has_axis(F, "i") && has_axis(F, "j"))) return(piece(own, turned[k]))
    made <- new_approximation(own, state$tol, state$certify)
    made$derivative <- name
    made$prices <- state$prices
    is_known <- function() !is.null(plan_of_approximation(made))
    # The last try signals the reason.
    known <- if (!splits && k == length(turned)) is_known()
             else tryCatch(is_known(), kernweave_error_no_gradient = function(e) FALSE)
    if (known) return(piece(made, turned[k]))
  }
  parts <- if (length(terms) > 1) lapply(terms, list) else lapply(seq_len(width(F)), function(k) list(F[, , k]))
  at <- if (length(terms) > 1) list(component) else seq_along(parts)
  do.call(c, Map(function(part, k) derivative_pieces(state, part, name, turned, k), parts, at))
}

# Computes the sums of a formula that does not vary along both axes, without computing pairs.
sums_of_one_side <- function(F, v, u) {
  along_j <- has_axis(F, "j")
  axis <- if (along_j) "j" else if (has_axis(F, "i")) "i" else "none"
  f <- run_single(new_lazy(F$formula, ifelse(c("i", "j") == axis, F$extent[1:2], NA), F$settings), axis)
  columns <- lapply(seq_len(ncol(f)), function(d) {
    of_weights <- if (along_j) v * f[, d] else v
    of_rows <- if (along_j) u else u * f[, d]
    sums <- drop(of_rows %*% colSums(of_weights))
    if (is.null(F$pairs)) return(sums)
    both <- seq_len(min(nrow(u), nrow(v)))
    replace(sums, both, sums[both] - rowSums(of_rows[both, , drop = FALSE] * of_weights[both, , drop = FALSE]))
  })
  matrix(unlist(columns), nrow(u), ncol(f))
}
