# Text formulas, read by our own parser, never by R's or a compiler's.

#' Make a reduction from a formula given as text
#'
#' Turns a formula written as text into an R function of its data. Use it for formulas that come from a file or from
#' another program; otherwise plain R with [Vi()] and [Vj()] is easier.
#'
#' The text may use R's infix operators, every operation of [kernweave_operations()] under either of its two names, and
#' the names declared in `args`. The text may include a reduction, as in `"Sum_Reduction(Exp(-SqDist(x, y)), 1)"`, where
#' the number is the axis to sum over (0 for i, 1 for j), and the derivative of a reduction, as in
#' `"Grad(Sum_Reduction(f, 1), x, e)"`.
#'
#' Components and attributes count from 1 and matrices are stored by columns, as everywhere in R. KeOps counts from 0
#' and stores by rows: use [keops_kernel()] for texts written for KeOps.
#'
#' @param formula the formula: one string
#' @param args declarations such as `c("x = Vi(3)", "y = Vj(3)", "s = Pm(1)")`, optionally with positions counted
#'   from 0, as in `"x = Vi(0, 3)"`
#' @param reduction name of the reduction, as in [kernweave_reductions()] or in KeOps; by default the one in the text,
#'   or `"sum"`
#' @param index the axis to reduce over; overrides the axis in the text. By default the axis in the text, or `"j"`
#' @param K number of results, for reductions that return the K best
#' @param weight text of a formula that weights the terms, for reductions that accept a weight
#' @param ... settings: `device`, `precision`, `threads`
#' @return A function of the data. It takes them as a list (by name, or in the order of `args`) or as separate
#'   arguments. Printing the function shows the formula and its variables.
#' @seealso [kernweave_operations()] for the names, [keops_kernel()] for KeOps texts,
#'   [as.function()][as.function.lazy_reduction]
#' @concept parse a formula
#' @export
#' @examples
#' args <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(1)", "s = Pm(1)")
#' gauss <- kernel_op("exp(-s * sqdist(x, y)) * b", args)
#' x <- matrix(runif(30), 10, 3)
#' y <- matrix(runif(60), 20, 3)
#' gauss(list(x = x, y = y, b = rnorm(20), s = 2))
kernel_op <- function(formula, args, reduction = NULL, index = NULL, K = NULL, weight = NULL, ...) {
  operands <- text_operands(formula, args)
  R <- reduction_of_text(formula, operands, reduction, index, K, weight, ...)
  operands <- lapply(operands, function(x) x$formula$args)
  run <- caller_of(R, operands)
  names <- vapply(operands, `[[`, "", "name")
  lazy_function(function(...) {
    data <- list(...)
    if (length(data) == 1 && is.list(data[[1]]) && !is.data.frame(data[[1]])) data <- data[[1]]
    run(in_order(data, names))
  }, R, operands)
}

# Makes the reduction of a text formula, over declared operands.
reduction_of_text <- function(formula, operands, name = NULL, index = NULL, K = NULL, weight = NULL, keops = FALSE,
                              ...) {
  parsed <- parsed_text(formula, operands, keops)
  if (nzchar(parsed$folded) && !all(is.null(name), is.null(K), is.null(weight))) {
    abort("input", "`reduction`, `K` and `weight` go with a formula, not with the derivative of a sum")
  }
  if (is.null(index)) index <- if (nzchar(parsed$folded)) parsed$folded else index_of_axis(parsed$axis)
  if (parsed$K > 0 && is.null(K)) K <- parsed$K
  if (is.null(weight)) weight <- parsed$weight
  else weight <- parsed_text(check_text(weight, "weight"), operands, keops)$formula
  R <- if (!nzchar(parsed$folded)) {
    F <- tensor_of(parsed$formula)
    op <- reduction_in_keops(name %or% parsed$reduction)
    if (op == "MaxSumShiftExp") max_and_rest(F, index, tensor_of(weight), ...)
    else reduction(F, op, index = index, K = K, weight = tensor_of(weight), call = FALSE, ...)
  } else {
    # A derivative may not depend on the reduced axis; the operands give the number of its terms.
    with_settings(new_reduction(list(sum_output(parsed$formula, kept(check_index(index)))), c(NA_real_, NA)), ...)
  }
  R$extents <- c(R$extents, lapply(operands, `[[`, "formula"))
  R
}

parsed_text <- function(text, operands, keops = FALSE) {
  formulas <- lapply(operands, `[[`, "formula")
  r_parse(text, c(names(operands), places_in_text(operands)), rep(formulas, 2), keops)
}

tensor_of <- function(formula) if (!is.null(formula)) new_lazy(formula, c(NA_real_, NA))

# Translates the name of a reduction in KeOps: Min_ArgMin is MinArgMin, and some weighted reductions have another name.
reduction_in_keops <- function(name) {
  if (!is.character(name) || length(name) != 1 || name %in% reduction_rows$fn) return(name)
  if (!nzchar(name)) return("Sum")
  bare <- gsub("_", "", sub("_Reduction$", "", name), fixed = TRUE)
  same <- c(LogSumExpWeight = "LogSumExp", SoftMax = "SumSoftMaxWeight", SumSoftMax = "SumSoftMaxWeight",
            MaxSumShiftExp = "MaxSumShiftExp", MaxSumShiftExpWeight = "MaxSumShiftExp")
  if (bare %in% names(same)) same[[bare]] else if (bare %in% reduction_rows$name) bare else name
}

# Returns KeOps's form of a logsumexp: m = max(F), and sum(exp(F - m)).
max_and_rest <- function(F, index, weight, ...) {
  if (width(F) != 1) abort("shape", "Max_SumShiftExp_Reduction() needs a formula of one component, not ", width(F))
  largest <- reduction(F, "max", index = index, call = FALSE, ...)
  m <- saved_operand(largest, NULL, "max", kept(index))
  rest <- exp(F - lazy_if(m == -Inf, 0, m))
  if (!is.null(weight)) rest <- rest * weight
  first <- switch(index, i = row_index() == 1, j = col_index() == 1, ij = (row_index() == 1) & (col_index() == 1))
  reduction(c(lazy_if(first, m, 0), rest), "sum", index = index, call = FALSE, ...)
}

check_text <- function(text, argument) {
  if (!is.character(text) || length(text) != 1 || is.na(text)) {
    abort("input", "`", argument, "` must be one text, not ", describe(text))
  }
  text
}

# Returns the declared operands, and the operands that the text itself declares, such as Var(3, 1, 0) in KeOps.
text_operands <- function(formula, args) {
  declared <- declared_operands(args)
  check_text(formula, "formula")
  variable <- "\\bVar *[(] *[0-9]{1,8} *, *[1-9][0-9]{0,8} *, *[012] *[)]"
  named <- unique(gsub(" ", "", regmatches(formula, gregexpr(variable, formula))[[1]], fixed = TRUE))
  more <- setdiff(named, places_in_text(declared))
  if (!length(more)) return(declared)
  numbers <- lapply(strsplit(gsub("[^0-9,]", "", more), ","), as.integer)
  more <- more[order(vapply(numbers, `[`, 0L, 1L))]
  place <- sort(vapply(numbers, `[`, 0L, 1L))
  wrong <- which(place != length(declared) + seq_along(place) - 1L)
  if (length(wrong)) {
    abort("input", "`", more[wrong[1]], "` is no argument: `args` declares those from 0 to ", length(declared) - 1,
          ", as ", paste0("`", places_in_text(declared), "`", collapse = ", "))
  }
  c(declared, operands_of_declarations(lapply(paste0("Var", place, " = ", more), r_parse_declaration)))
}

# Writes operands as KeOps does.
places_in_text <- function(operands) {
  formulas <- lapply(operands, function(x) x$formula$args)
  axis <- vapply(formulas, function(operand) axis_codes[[operand$axis]], 0L)
  sprintf("Var(%d,%d,%d)", seq_along(operands) - 1L, vapply(formulas, `[[`, 0L, "width"), axis)
}

declared_operands <- function(args) {
  if (!is.character(args) || !length(args) || anyNA(args)) {
    abort("input", "`args` must be declarations such as \"x = Vi(3)\", not ", describe(args))
  }
  declared <- lapply(args, r_parse_declaration)
  names <- vapply(declared, `[[`, "", "name")
  if (anyDuplicated(names)) abort("input", "`args` declares `", names[anyDuplicated(names)], "` twice")
  places <- vapply(declared, `[[`, 0L, "place")
  if (all(is.na(places))) return(operands_of_declarations(declared))
  if (anyNA(match(seq_along(places) - 1L, places))) {
    abort("input", "`args`: positions must be 0 to ", length(places) - 1, ", each once, as in \"x = Vi(0, 3)\"")
  }
  operands_of_declarations(declared[order(places)])
}

operands_of_declarations <- function(declared) {
  operands <- lapply(declared, function(d) {
    lazy_operand(new_operand(d$name, names(axis_codes)[d$axis + 1L], d$width, "real"))
  })
  structure(operands, names = vapply(declared, `[[`, "", "name"))
}

# Returns the reduced axis by the number in the text; j if there is none.
index_of_axis <- function(axis) {
  if (is.na(axis)) return("j")
  if (!axis %in% 0:1) abort("syntax", "the axis of a reduction is 0 (i summed away) or 1 (j summed away), not ", axis)
  index <- c("i", "j")[axis + 1]
  say_once("axis", "The ", axis, " in the text of a reduction is the axis summed away, here ", index,
           ": 0 is i, 1 is j, as in the code of rkeops. `index` of kernel_op() says it in words. (Said once.)")
  index
}

in_order <- function(data, names) {
  if (length(data) != length(names)) {
    abort("input", "expected ", length(names), " data (", paste0("`", names, "`", collapse = ", "), "), got ",
          length(data))
  }
  given <- names(data)
  if (is.null(given) || all(!nzchar(given))) return(data)
  missing <- setdiff(names, given)
  if (length(missing)) {
    abort("input", "no data are named `", missing[1], "`; given are ", paste0("`", given, "`", collapse = ", "),
          near_hint(missing[1], given))
  }
  data[names]
}
