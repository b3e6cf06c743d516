# Folded axes of few points may lie inside a point: their sum becomes a sum over components, or a product with a matrix
# of components, and one pass of the engine computes it.

most_inside <- 64  # components: an 8 x 8 matrix for each point; more exceed registers and the first cache

# Returns the axes that may lie inside, alone and in pairs.
sets_inside <- function(whole) {
  extents <- whole$extents
  if (!whole$row$fn %in% c("sum", "mean") || !is.null(whole$weight) || !is_by_number(whole$F)) return(NULL)
  may <- Filter(function(axis) extents[[axis]] %in% 2:most_inside && may_lie_inside(axis, whole$places),
                setdiff(names(extents), whole$kept))
  pairs <- if (length(may) > 1) utils::combn(may, 2, simplify = FALSE)
  c(as.list(may), Filter(function(axes) prod(extents[axes]) <= most_inside, pairs))
}

# Returns the formula with the axes inside, its places, and the extents of the other axes; NULL for other sums.
form_inside <- function(inside, whole) {
  parts <- parted_factors(whole$F, whole$operands, whole$places)
  F <- if (length(inside) == 2) bilinear_inside(parts, inside) else {
    # Parts without the axis stand before the sum: sum_k a b_k = a sum_k b_k.
    has <- vapply(parts, function(part) inside %in% part$axes, NA)
    times_if_any(factors_inside(parts[!has], inside), lazy_call("Sum", list(factors_inside(parts[has], inside))))
  }
  if (is.null(F)) return(NULL)
  list(F = F, operands = operands_of(F$formula), places = places_of_tensor(F),
       left = whole$extents[!names(whole$extents) %in% inside], inside = inside)
}

# Tells whether every array has the axis at most once, in a dimension of its own.
may_lie_inside <- function(axis, places) {
  all(vapply(places, function(place) {
    here <- vapply(place$specs, function(spec) axis %in% axes_of_specs(list(spec)), NA)
    plain <- vapply(place$specs[here], function(spec) spec$kind == "axis", NA)
    !any(here) || sum(here) == 1 && plain && !any(components_of(place))
  }, NA))
}

# Returns the factors of a formula; each has its places, and is a function of the axes that will lie inside.
parted_factors <- function(F, operands, places) {
  lapply(factors_of(F$formula), function(factor) {
    own <- places[match_operands(operands_of(factor), operands)]
    list(places = own, axes = axes_of_places(own), with = function(inside) {
      of_places(list(formula = factor, settings = F$settings), operands, lapply(places, with_specs, function(spec) {
        if (spec$kind == "axis" && spec$axes %in% inside) list(kind = "component") else spec
      }))
    })
  })
}

factors_inside <- function(parts, inside) {
  if (length(parts)) Reduce(`*`, lapply(parts, function(part) part$with(inside)))
}
times_if_any <- function(a, b) if (is.null(a)) b else a * b

# Writes sum_ab u_a W_ab v_b as a matrix-vector product and a scalar product; NULL for other sums over two axes.
bilinear_inside <- function(parts, axes) {
  of <- vapply(parts, function(part) paste(axes[axes %in% part$axes], collapse = " "), "")
  both <- parts[of == paste(axes, collapse = " ")]
  # The order of the axes in arrays that have both; arrays that have one axis alone are not matrices.
  places <- Filter(function(place) any(axes %in% place$axes), unlist(lapply(both, `[[`, "places"), recursive = FALSE))
  order <- unique(lapply(places, function(place) intersect(unlist(lapply(place$specs, `[[`, "axes")), axes)))
  if (length(order) != 1 || !all(axes %in% of)) return(NULL)
  rows <- order[[1]][1]
  columns <- order[[1]][2]
  product <- lazy_call("MatVecMult", list(factors_inside(both, axes), factors_inside(parts[of == columns], axes)))
  sum <- lazy_call("Sum", list(product * factors_inside(parts[of == rows], axes)))
  times_if_any(factors_inside(parts[of == ""], axes), sum)
}

# Counts the operations of a formula on numbers; an operation on components counts once for each component.
work_of <- function(formula) {
  if (formula$op %in% c("Var", "Number")) return(0)
  own <- switch(formula$op, MatVecMult = formula$args[[1]]$type[1], Sum = formula$args[[1]]$type[1], formula$type[1])
  own + sum(vapply(formula$args, work_of, 0))
}

# Tells whether each number of a formula is computed elementwise, independent of the components beside it.
is_by_number <- function(F) {
  elementwise <- known_operations()$name[known_operations()$form == "elementwise"]
  by_number <- function(formula) {
    formula$op %in% c("Var", "Number") || formula$op %in% elementwise && all(vapply(formula$args, by_number, NA))
  }
  type_of(F)[1] == 1 && by_number(F$formula)
}

# Returns the factors of a formula. A divisor b is the factor 1 / b.
factors_of <- function(formula) {
  if (formula$op == "Mult") return(unlist(lapply(formula$args, factors_of), recursive = FALSE))
  if (formula$op != "Divide") return(list(formula))
  one <- function(formula) r_apply("Inv", list(formula), NULL)
  c(factors_of(formula$args[[1]]), lapply(factors_of(formula$args[[2]]), one))
}

# Returns the table of operations. It is looked up once, since it does not change.
known_operations <- function() op_forms$known %or% (op_forms$known <- kernweave_operations())
op_forms <- new.env(parent = emptyenv())
