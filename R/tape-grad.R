# Derivatives of reductions. The engine gives the formulas; here they become jobs and results.

#' Derivatives of a reduction
#'
#' Differentiates a reduction R with respect to its data or parameters. `vjp()` is reverse mode: the gradient of
#' `sum(cotangent * R)` with respect to the operands `wrt`, each gradient shaped like its operand. Use it for the
#' gradient of a sum, such as an energy or a log-likelihood. `jvp()` is forward mode: the derivative of R, shaped like
#' R, as the operands move along `tangent`.
#'
#' If R has placeholders, or with `call = FALSE`, the result is a `lazy_reduction` that takes, when called, any
#' cotangent or tangents that were not given. Derivatives are reductions too, so they can be differentiated again, to
#' any order, through every reduction that has a gradient.
#'
#' @param f a `lazy_reduction`, from [reduction()] with `call = FALSE` or with placeholders. For an R function, see
#'   [gradient()]; the result is then a function of the arguments of `f` and of `cotangent` or `tangent`
#' @param wrt an operand made by [Vi()], [Vj()], [Pm()] or [Vij()], a list of operands, or their names; for an index
#'   formula the names of arrays
#' @param cotangent numbers shaped like the result of `f`, or one number for all; by default 1. With `call = FALSE`, a
#'   missing cotangent becomes an argument of the resulting reduction
#' @param tangent numbers shaped like the operand; a list of tangents if `wrt` is a list
#' @param call compute the derivative now? With `FALSE`, the result is a `lazy_reduction`
#' @param ... settings: `device`, `precision`, `threads`
#' @return `vjp()`: an array for one `wrt`, a list of arrays for a list. `jvp()`: numbers shaped like the result of `f`.
#'   With placeholders or `call = FALSE`, a `lazy_reduction`.
#' @seealso [reduction()], [pair-derivatives] for derivatives of the formula itself
#' @concept gradient of a kernel sum
#' @concept automatic differentiation
#' @export
#' @examples
#' x <- Vi(matrix(runif(30), 10, 3), name = "x")
#' y <- Vj(matrix(runif(60), 20, 3), name = "y")
#' R <- reduction(exp(-sqdist(x, y)), "sum", call = FALSE)
#' vjp(R, wrt = x)
#' jvp(R, wrt = y, tangent = matrix(1, 20, 3))
#' # the Hessian of the total, times a direction
#' jvp(vjp(R, wrt = x, cotangent = 1, call = FALSE), wrt = x, tangent = matrix(1, 10, 3))
#' # towards the arrays of an index formula
#' A <- matrix(rnorm(6), 2)
#' B <- matrix(rnorm(12), 3)
#' C <- reduction(C[i, j] ~ A[i, k] * B[k, j], "sum", call = FALSE)
#' vjp(C, wrt = c("A", "B"), cotangent = matrix(1, 2, 4))
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
  if (!is.null(f$axes)) return(vjp_of_arrays(f, wrt, cotangent, call, ...))
  f <- with_settings(f, ...)
  call <- call && !length(free_operands(f))
  targets <- check_wrt(wrt, f)
  by_group <- cotangent_list(f, cotangent)
  cotangents <- Map(cotangent_operand, list(f), seq_along(by_group), by_group, call)
  R <- pulled_back(f, targets, cotangents)
  R$single <- is_lazy(wrt) || !is.list(wrt) && length(wrt) == 1
  R$labels <- names(wrt)
  if (call) run_reduction(R) else R
}

#' @rdname vjp
#' @export
jvp.lazy_reduction <- function(f, wrt, tangent = NULL, call = TRUE, ...) {
  check_flag(call, "call")
  if (!is.null(f$axes)) return(jvp_of_arrays(f, wrt, tangent, call, ...))
  f <- with_settings(f, ...)
  call <- call && !length(free_operands(f))
  targets <- check_wrt(wrt, f)
  if (!is.null(tangent) && (!is.list(tangent) || is.data.frame(tangent))) tangent <- list(tangent)
  if (!is.null(tangent) && length(tangent) != length(targets)) {
    abort("shape", "`tangent`: ", length(tangent), " given for ", length(targets), " operands")
  }
  tangents <- Map(tangent_operand, targets, if (is.null(tangent)) list(NULL) else tangent, call)
  R <- pushed_forward(f, targets, tangents)
  R$single <- f$single
  if (call) run_reduction(R) else R
}

# Reverse mode: computes the gradients of operands, a group of results for each operand. `cotangents`: an operand for
# each group of results of f, or for each of its results; or NULL.
pulled_back <- function(f, targets, cotangents) {
  if (is.null(f$results)) return(pulled_one(f, targets, cotangents))
  back <- Map(function(member, g) pulled_one(member, targets, list(g)), members_of(f), cotangents)
  # Gradients of the same targets are one job.
  R <- back[[1]]
  for (more in back[-1]) {
    before <- length(R$outputs)
    R$groups <- Map(function(a, b) list(outputs = c(a$outputs, before + b$outputs), like = a$like), R$groups,
                    more$groups)
    R$outputs <- c(R$outputs, more$outputs)
    R$extents <- c(R$extents, more$extents)
  }
  R$outputs <- riding_along(R$outputs)
  R$cache <- new.env(parent = topenv())
  R
}

# Computes the gradient of a reduction with one result, or with groups. A saved value of the forward pass is an operand
# of the gradient. If the saved value moves with the targets, its cotangent flows on through the reduction that computes
# it.
pulled_one <- function(f, targets, cotangents) {
  f <- at_winners(f)
  saved <- moving_saved(f, targets)
  all <- c(targets, saved)
  if (!is.null(f$derivative)) {  # targets may be operands of formulas that are no longer computed
    behind <- c(list(f), lapply(saved, function(operand) operand$from$reduction))
    f$extents <- c(f$extents, do.call(c, lapply(behind, function(R) formulas_of(R$outputs))))
  }
  terms <- terms_back(f, all, cotangents)
  for (place in length(targets) + seq_along(saved)) {
    if (!length(terms[[place]])) next
    g <- saved_like(all[[place]], "cotangent", gradient_reduction(f, terms[place], all[place]))
    terms <- Map(c, terms, terms_back(all[[place]]$from$reduction, all, list(g)))
  }
  gradient_reduction(f, terms[seq_along(targets)], targets)
}

# Returns the terms of sums that flow back into each target from the formulas of f alone.
terms_back <- function(f, targets, cotangents) {
  terms <- rep(list(list()), length(targets))
  for (group in which(!vapply(cotangents, is.null, NA))) {
    g <- lazy_operand(cotangents[[group]])
    outputs <- if (is.null(f$groups)) f$outputs else f$outputs[f$groups[[group]]$outputs]
    for (output in outputs) {
      form <- reduced_form(f, output)
      found <- r_pull_back(at_listed(form), shared_out(form, cotangent_at(g, output)), targets)
      finish <- c(list(results = "value"), output$finish[c("sign", "per", "less")])
      terms <- Map(function(before, new) c(before, lapply(new, c, list(finish = finish))), terms, found)
    }
  }
  terms
}

# Adds up the terms of each target, in a result shaped like the target.
gradient_reduction <- function(f, terms, targets) {
  outputs <- riding_along(lapply(do.call(c, terms), function(term) {
    sum_output(term$value, term$keep, term$finish, term$rows, term$transposed)
  }))
  first <- cumsum(lengths(terms)) - lengths(terms)
  as_group <- function(before, n, target) list(outputs = before + seq_len(n), like = target)
  groups <- Map(as_group, first, lengths(terms), targets)
  # The caller adds up the results over the axes that f folds as outer axes.
  settings <- f$settings[names(f$settings) != "folded"]
  R <- new_reduction(outputs, f$extent, if (length(settings)) settings, f$pairs, groups,
                     c(f$extents, Filter(Negate(is.null), lapply(outputs, `[[`, "rows"))))
  R$derivative <- TRUE
  R$single <- length(targets) == 1
  R
}

# The engine passes over the pairs once for outputs that keep i, and once for outputs that keep j. Outputs that keep
# neither (gradients of parameters) join one of these passes and are added up at the end, without a state for each lane.
riding_along <- function(outputs) {
  keeps <- vapply(outputs, `[[`, "", "keep")
  other <- intersect(c("j", "i"), keeps)
  if (length(other)) for (k in which(keeps == "none")) outputs[[k]]$keep <- other[1]
  outputs
}

# Forward mode: a saved result of the forward pass moves along the derivative of its own reduction as its tangent.
pushed_forward <- function(f, targets, tangents) {
  if (!is.null(f$results)) {
    R <- joined(lapply(members_of(f), pushed_forward, targets, tangents), f$results, f)
    return(if (isTRUE(f$complex)) of_complex_numbers(R) else R)
  }
  f <- at_winners(f)
  for (saved in rev(moving_saved(f, targets))) {
    along <- saved_like(saved, "tangent", moved_outputs(saved$from$reduction, targets, tangents))
    targets <- c(targets, list(saved))
    tangents <- c(tangents, list(along))
  }
  moved_outputs(f, targets, tangents)
}

moved_outputs <- function(f, targets, tangents) {
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
  R
}

# Checks `wrt`: operands, or names of operands.
check_wrt <- function(wrt, R) {
  known <- Filter(function(operand) !operand$literal, r_operands(c(formulas_of(R$outputs), R$extents)))
  if (is_lazy(wrt) || is.character(wrt)) wrt <- as.list(if (is_lazy(wrt)) list(wrt) else wrt)
  if (!is.list(wrt) || !length(wrt)) {
    abort("input", "`wrt` must be an operand, its name, or a list of them, not ", describe(wrt))
  }
  names <- vapply(known, `[[`, "", "name")
  lapply(wrt, function(one) {
    if (is.character(one)) {
      at <- which(names == one)
      if (length(at) == 1) return(check_real(known[[at]]))
      if (length(at)) abort("input", "`wrt`: ", length(at), " operands are named `", one, "`; give the operand itself")
      abort("input", "`wrt`: no operand is named `", one, "`; there are ", paste0("`", names, "`", collapse = ", "),
            near_hint(one, names))
    }
    operand <- bare_operand(one, "Vi(), Vj(), Pm() or Vij()")
    if (!holds(known, operand)) {
      abort("input", "`wrt`: the formula does not contain `", operand$name, "`; each call of Vi() makes a new operand")
    }
    check_real(operand)
  })
}

bare_operand <- function(wrt, makers) {
  if (is_lazy(wrt) && wrt$formula$op == "Var" && is.environment(wrt$formula$args)) return(wrt$formula$args)
  abort("input", "`wrt` must be an operand made by ", makers, ", not ",
        if (is_lazy(wrt)) "a formula" else describe(wrt))
}

check_real <- function(operand) {
  if (operand$kind == "logical") abort("no_gradient", "`", operand$name, "` is logical: it has no gradient")
  operand
}

# Returns one cotangent for each group of results.
cotangent_list <- function(R, cotangent) {
  if (is.null(R$results) && (is.null(R$groups) || R$single)) return(list(cotangent))
  n <- length(R$groups %or% R$outputs)
  if (isTRUE(R$complex) && !is.null(cotangent) && !is.list(cotangent)) return(list(Re(cotangent), Im(cotangent)))
  if (is.null(cotangent)) return(rep(list(NULL), n))
  if (!is.list(cotangent) || length(cotangent) != n) {
    abort("shape", "`cotangent` must be a list of ", n, ", one for each result")
  }
  cotangent
}

# Returns the operand with a group's cotangent: shaped like the operand that the group is a gradient of, or along the
# axis that a plain reduction keeps.
cotangent_operand <- function(R, group, cotangent, call) {
  like <- R$groups[[group]]$like
  plain <- R$outputs[[if (is.null(R$groups)) group else 1]]
  axis <- like$axis %or% kept_axis(plain$keep)
  width <- like$width %or% result_width(plain)
  if (is.null(cotangent) && !call) return(new_operand("cotangent", axis, width, "real"))
  if (is.null(cotangent)) cotangent <- if (isTRUE(R$complex) && group == 2) 0 else 1
  plain <- plain_value(cotangent)
  if (!is.numeric(plain) && !is.data.frame(plain)) abort("input", "`cotangent` must be numbers, not ", describe(plain))
  if (length(plain) == 1) {
    for_all <- rearranged(cotangent, function(one) rep(as.vector(one), width))
    return(bearing(new_operand("cotangent", "param", width, "real", as.numeric(plain_value(for_all))), for_all))
  }
  operand <- new_operand("cotangent", axis, width, "real")
  operand$data <- as_operand_data(plain, operand)
  bearing(operand, cotangent)
}

# Returns the cotangent for one output: along the axis that it keeps, or read at the rows to which it is scattered.
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
  if (length(plain_value(tangent)) == 1 && !is.null(target$data)) {
    tangent <- rearranged(tangent, function(one) array(as.vector(one), pair_dim(target$data) %or% rows))
  }
  operand$data <- as_operand_data(plain_value(tangent), operand)
  if (!is.null(target$data) && rows_of(operand$data) != rows) {
    abort("shape", "`tangent` has ", rows_of(operand$data), " rows, but `", target$name, "` has ", rows)
  }
  bearing(operand, tangent)
}
