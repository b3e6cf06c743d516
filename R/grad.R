# Derivatives of reductions. The formulas come from the engine; here they become jobs and results.

#' Derivatives of a reduction
#'
#' `vjp()` is reverse mode: for a reduction R of operands, the gradient of `sum(cotangent * R)` with
#' respect to the operands `wrt`, each shaped like its operand. `jvp()` is forward mode: the derivative
#' of R when the operands move along `tangent`, shaped like R.
#'
#' Where R stands on placeholders, or with `call = FALSE`, the result is a `lazy_reduction` whose
#' function also takes the cotangent or the tangents that were not given. The derivative of a sum is a
#' sum again, so these can be nested to any order.
#'
#' @param f a `lazy_reduction`, as [reduction()] makes with `call = FALSE` or of placeholders
#' @param wrt an operand made by [Vi()], [Vj()], [Pm()] or [Vij()], or a list of them, or their names
#' @param cotangent numbers shaped like the result of `f`, or one number for all. Without it, 1, or, with
#'   `call = FALSE`, an argument of the function that the result becomes
#' @param tangent numbers shaped like the operand; a list of such where `wrt` is a list
#' @param call compute now?
#' @param ... settings: `device`, `precision`, `threads`
#' @return For one `wrt` an array, for a list of them a list; or a `lazy_reduction`.
#' @seealso [reduction()], [pair-derivatives] for derivatives of the formula itself
#' @export
#' @examples
#' x <- Vi(matrix(runif(30), 10, 3), name = "x")
#' y <- Vj(matrix(runif(60), 20, 3), name = "y")
#' R <- reduction(exp(-sqdist(x, y)), "sum", call = FALSE)
#' vjp(R, wrt = x)
#' jvp(R, wrt = y, tangent = matrix(1, 20, 3))
#' # the Hessian of the total, times a direction
#' jvp(vjp(R, wrt = x, cotangent = 1, call = FALSE), wrt = x, tangent = matrix(1, 10, 3))
vjp <- function(f, ...) UseMethod("vjp")

#' @rdname vjp
#' @export
jvp <- function(f, ...) UseMethod("jvp")

#' @rdname vjp
#' @export
vjp.default <- function(f, ...) refuse_derivative(f)

#' @rdname vjp
#' @export
jvp.default <- function(f, ...) refuse_derivative(f)

refuse_derivative <- function(f) {
  abort("input", "`f` must be a lazy reduction, not ", describe(f), "; see reduction(call = FALSE)")
}

#' @rdname vjp
#' @export
vjp.lazy_reduction <- function(f, wrt, cotangent = NULL, call = TRUE, ...) {
  check_flag(call, "call")
  refuse_saved(f)
  f <- with_settings(f, ...)
  call <- call && !length(free_operands(f))
  targets <- check_wrt(wrt, f)
  by_group <- cotangent_list(f, cotangent)
  terms <- rep(list(list()), length(targets))
  for (group in seq_along(by_group)) {
    g <- cotangent_operand(f, group, by_group[[group]], call)
    for (output in group_outputs(f, group)) {
      form <- reduced_form(f, output)
      found <- r_pull_back(at_listed(form), shared_out(form, cotangent_at(g, output)), targets)
      finish <- c(list(results = "value"), output$finish[c("sign", "per", "less")])
      terms <- Map(function(before, new) c(before, lapply(new, c, list(finish = finish))), terms, found)
    }
  }
  outputs <- lapply(do.call(c, terms), function(term) {
    sum_output(term$value, term$keep, term$finish, term$rows, term$transposed)
  })
  first <- cumsum(lengths(terms)) - lengths(terms)
  as_group <- function(before, n, target) list(outputs = before + seq_len(n), like = target)
  groups <- Map(as_group, first, lengths(terms), targets)
  R <- new_reduction(outputs, f$extent, f$settings, f$pairs, groups, c(f$extents, row_formulas(outputs)))
  R$derivative <- TRUE
  R$single <- is_lazy(wrt) || !is.list(wrt) && length(wrt) == 1
  R$labels <- names(wrt)
  if (call) run_reduction(R) else R
}

#' @rdname vjp
#' @export
jvp.lazy_reduction <- function(f, wrt, tangent = NULL, call = TRUE, ...) {
  check_flag(call, "call")
  refuse_saved(f)
  f <- with_settings(f, ...)
  call <- call && !length(free_operands(f))
  targets <- check_wrt(wrt, f)
  if (!is.null(tangent) && (!is.list(tangent) || is.data.frame(tangent))) tangent <- list(tangent)
  if (!is.null(tangent) && length(tangent) != length(targets)) {
    abort("shape", "`tangent`: ", length(tangent), " given for ", length(targets), " operands")
  }
  tangents <- Map(tangent_operand, targets, if (is.null(tangent)) list(NULL) else tangent, call)
  outputs <- lapply(f$outputs, function(output) {
    form <- reduced_form(f, output)
    term <- r_push_forward(form, targets, tangents)
    if (is.null(term)) term <- r_apply("SumT", list(number_formula(0)), result_width(output))
    else if (!is.null(form$listed)) term <- where_listed(form, term)
    sum_output(term, output$keep, output$finish, output$rows, output$transposed)
  })
  R <- new_reduction(outputs, f$extent, f$settings, f$pairs, f$groups, f$extents)
  R$derivative <- TRUE
  R$single <- f$single
  if (call) run_reduction(R) else R
}

# What is linear in the values of a reduction is finished as they are.
sum_output <- function(value, keep, finish = as_they_are, rows = NULL, transposed = FALSE) {
  finish$results <- "value"
  list(value = value, weight = NULL, op = "Sum", keep = keep, K = 1L, finish = finish, label = "sum", rows = rows,
       transposed = transposed)
}

row_formulas <- function(outputs) Filter(Negate(is.null), lapply(outputs, `[[`, "rows"))

number_formula <- function(value) list(op = "Number", args = value, attributes = NULL, type = c(1L, 2L, 0L))

# What a forward pass saved depends on the operands in a way the formula does not show. Where that is flat, as the sum
# of squares about a mean is in the mean, first derivatives are right.
refuse_saved <- function(R) {
  is_saved <- function(operand) !is.null(operand$from) && !(operand$from$flat && is.null(R$derivative))
  saved <- Filter(is_saved, r_operands(formulas_of(R$outputs)))
  if (length(saved)) {
    abort("unsupported", "a second derivative through ", saved[[1]]$from$reduction$outputs[[1]]$op,
          " is not built yet: `", saved[[1]]$name, "` depends on the operands")
  }
}

# Operands by themselves or by name.
check_wrt <- function(wrt, R) {
  known <- Filter(function(operand) !operand$literal, r_operands(c(formulas_of(R$outputs), R$extents)))
  if (is_lazy(wrt) || is.character(wrt)) wrt <- as.list(if (is_lazy(wrt)) list(wrt) else wrt)
  if (!is.list(wrt) || !length(wrt)) {
    abort("input", "`wrt` must be an operand, its name, or a list of them, not ", describe(wrt))
  }
  lapply(wrt, function(one) {
    if (is.character(one)) named_operand(one, known) else own_operand(one, known)
  })
}

named_operand <- function(name, known) {
  names <- vapply(known, `[[`, "", "name")
  at <- which(names == name)
  if (length(at) == 1) return(check_real(known[[at]]))
  if (length(at) > 1) abort("input", "`wrt`: ", length(at), " operands are named `", name, "`; give the operand itself")
  abort("input", "`wrt`: no operand is named `", name, "`; there are ", paste0("`", names, "`", collapse = ", "),
        near_hint(name, names))
}

own_operand <- function(one, known) {
  bare <- is_lazy(one) && one$formula$op == "Var" && is.environment(one$formula$args)
  if (!bare) {
    abort("input", "`wrt` must be an operand made by Vi(), Vj(), Pm() or Vij(), not ",
          if (is_lazy(one)) "a formula" else describe(one))
  }
  mine <- vapply(known, identical, NA, one$formula$args)
  if (!any(mine)) {
    abort("input", "`wrt`: the formula does not contain `", one$formula$args$name,
          "`; each call of Vi() makes a new operand")
  }
  check_real(one$formula$args)
}

check_real <- function(operand) {
  if (operand$kind == "logical") abort("no_gradient", "`", operand$name, "` is logical: it has no gradient")
  operand
}

# What the gradient rows of the engine ask for: the formulas, and what they save of the forward pass.
reduced_form <- function(R, output) {
  if (identical(output$finish$results, "index")) {
    abort("no_gradient", output$label, "() has no gradient: its result does not vary smoothly with the formula")
  }
  saves <- reduction_row(output$op)$saves
  result <- if (saves %in% c("result", "softmax", "cofactor")) saved_operand(R, NULL, "result", output$keep)$formula
  saved <- switch(saves, softmax = logarithm_of_norm(R, output), cofactor = product_of_others(R, output))
  here <- if (saves %in% c("winner", "nan_or_winner")) winner_here(R, output, saves == "nan_or_winner")
  listed <- if (saves == "winners") winners_here(R, output)
  list(value = output$value, weight = output$weight, op = output$op, result = result, saved = saved$formula,
       here = here, listed = listed)
}

# Another reduction of a formula over the same pairs.
beside <- function(R, output, op, value = output$value, K = 1L) {
  R$outputs <- list(list(value = value, weight = NULL, op = op, keep = output$keep, K = K, finish = NULL, label = op))
  R$cache <- new.env(parent = emptyenv())
  R
}

logarithm_of_norm <- function(R, output) saved_operand(beside(R, output, "LogSumExp"), NULL, "norm", output$keep)

# Of values of which just one is 0; where more are, each product of others has a 0 left.
product_of_others <- function(R, output) {
  is_zero <- r_apply("Equal", list(output$value, number_formula(0)), NULL)
  without <- beside(R, output, "Prod", r_apply("Select", list(is_zero, number_formula(1), output$value), NULL))
  zeros <- beside(R, output, "Sum", r_apply("Select", list(is_zero, number_formula(1), number_formula(0)), NULL))
  saved <- function(R, name) saved_operand(R, NULL, name, output$keep)
  lazy_if(saved(zeros, "zeros") == 1, saved(without, "others"), 0)
}

# An operand along the kept axis whose data are a result of R.
saved_operand <- function(R, part, name, keep, width = result_width(R$outputs[[1]]), kind = "real", flat = FALSE) {
  operand <- new_operand(name, kept_axis(keep), width, kind, from = list(reduction = R, part = part, flat = flat))
  lazy_operand(operand)
}

result_width <- function(output) max(output$value$type[1], output$weight$type[1]) * output$K

# True at the pair that holds the smallest value: its row number is the saved one.
winner_here <- function(R, output, nan_wins) {
  search <- beside(R, output, "MinArgMin", if (nan_wins) nan_first(output$value) else output$value)
  winner <- saved_operand(search, "index", "winner", output$keep, kind = "integer")
  (place_of_pair(R, output) == winner)$formula
}

place_of_pair <- function(R, output) {
  switch(output$keep, i = col_index(), j = row_index(), none = row_index() + (col_index() - 1) * row_count(R))
}

# Of a list of K results: is the pair the first of them, the second, ...?
winners_here <- function(R, output) {
  if (output$value$type[1] > 1) {
    abort("unsupported", "the gradient of ", output$label, "() of a formula of several components is not built yet")
  }
  search <- beside(R, output, "KMinArgKMin", K = output$K)
  winners <- saved_operand(search, "index", "winners", output$keep, width = output$K, kind = "integer")
  (place_of_pair(R, output) == winners)$formula
}

where_listed <- function(form, value) r_apply("Select", list(form$listed, value, number_formula(0)), NULL)
# Pairs that are none of the results are left out, not multiplied by 0: their slopes may be infinite.
at_listed <- function(form) {
  if (!is.null(form$listed)) {
    form$here <- r_apply("LessThan", list(number_formula(0), r_apply("Sum", list(form$listed), NULL)), NULL)
  }
  form
}
# Each pair has the cotangents of the results that it is.
shared_out <- function(form, g) if (is.null(form$listed)) g else r_apply("Sum", list(where_listed(form, g)), NULL)

# The formula with NaN as the smallest value there is.
nan_first <- function(formula) {
  known <- r_apply("Equal", list(formula, formula), NULL)
  r_apply("Select", list(known, formula, number_formula(-Inf)), NULL)
}

row_count <- function(R) {
  if (is.na(R$extent[1])) abort("no_data", "the gradient of a minimum over both axes needs data")
  R$extent[1]
}

# A plain reduction is one group of one output.
group_outputs <- function(R, group) if (is.null(R$groups)) R$outputs else R$outputs[R$groups[[group]]$outputs]

# One cotangent for each group of results.
cotangent_list <- function(R, cotangent) {
  n <- if (is.null(R$groups)) 1 else length(R$groups)
  if (is.null(R$groups) || R$single) return(list(cotangent))
  if (is.null(cotangent)) return(rep(list(NULL), n))
  if (!is.list(cotangent) || length(cotangent) != n) {
    abort("shape", "`cotangent` must be a list of ", n, ", one for each result")
  }
  cotangent
}

# The operand that holds a group's cotangent: shaped like the operand the group is the gradient of, or
# along the axis a plain reduction keeps.
cotangent_operand <- function(R, group, cotangent, call) {
  like <- R$groups[[group]]$like
  axis <- like$axis %or% kept_axis(R$outputs[[1]]$keep)
  width <- like$width %or% result_width(R$outputs[[1]])
  if (is.null(cotangent) && !call) return(lazy_operand(new_operand("cotangent", axis, width, "real")))
  if (is.null(cotangent)) cotangent <- 1
  if (!is.numeric(cotangent) && !is.data.frame(cotangent)) {
    abort("input", "`cotangent` must be numbers, not ", describe(cotangent))
  }
  if (length(cotangent) == 1) {
    return(lazy_operand(new_operand("cotangent", "param", width, "real", rep(as.numeric(cotangent), width))))
  }
  operand <- new_operand("cotangent", axis, width, "real")
  operand$data <- as_operand_data(cotangent, operand)
  lazy_operand(operand)
}

kept_axis <- function(keep) c(i = "i", j = "j", none = "param")[[keep]]

# The cotangent as one output sees it: along the axis it keeps, or read at the rows it is scattered to.
cotangent_at <- function(g, output) {
  along <- g$formula$args$axis
  if (along == "param") return(g$formula)
  if (!is.null(output$rows)) return(r_apply("Take", list(g$formula, output$rows), axis_codes[[along]]))
  turned <- isTRUE(output$transposed) || output$keep %in% c("i", "j") && output$keep != along
  if (turned) r_apply("Swap", list(g$formula), NULL) else g$formula
}

tangent_operand <- function(target, tangent, call) {
  operand <- new_operand(paste0("tangent_", target$name), target$axis, target$width, "real")
  if (is.null(tangent)) {
    if (call) abort("input", "`tangent` is needed: numbers shaped like `", target$name, "`")
    return(operand)
  }
  rows <- rows_of(target$data)
  if (length(tangent) == 1 && !is.null(target$data)) {
    tangent <- array(as.numeric(tangent), pair_dim(target$data) %or% rows)
  }
  operand$data <- as_operand_data(tangent, operand)
  if (!is.null(target$data) && rows_of(operand$data) != rows) {
    abort("shape", "`tangent` has ", rows_of(operand$data), " rows, but `", target$name, "` has ", rows)
  }
  operand
}

# The results of one operand's gradient: terms added up, gathered rows scattered, shaped and named like the operand.
finish_group <- function(group, out, data, operands, outputs) {
  like <- group$like
  own <- data[[which(vapply(operands, identical, NA, like))]]
  total <- 0
  for (k in group$outputs) {
    part <- out[[k]]
    rows <- outputs[[k]]$rows
    if (!is.null(rows)) part <- r_scatter_add(part, row_numbers(rows, data, operands), NROW(own))
    if (isTRUE(outputs[[k]]$transposed)) part <- t(part)
    total <- total + part
  }
  shape <- pair_dim(own)
  if (!length(group$outputs)) total <- rep(0, prod(shape %or% length(own)))
  if (is.null(shape)) structure(as.vector(total), names = names(own)) else array(total, shape, pair_dimnames(own))
}

# The numbers behind a formula of row numbers: a variable, or one gathered by another.
row_numbers <- function(formula, data, operands) {
  if (formula$op == "Gather") {
    return(row_numbers(formula$args[[1]], data, operands)[row_numbers(formula$args[[2]], data, operands)])
  }
  as.vector(data[[which(vapply(operands, identical, NA, formula$args))]])
}

finish_groups <- function(R, out, data, operands) {
  results <- lapply(R$groups, finish_group, out, data, operands, R$outputs)
  if (R$single) return(results[[1]])
  structure(results, names = R$labels %or% vapply(R$groups, function(group) group$like$name, ""))
}
