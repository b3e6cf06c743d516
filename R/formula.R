# Text formulas: read by our own parser, never by R's or a compiler's.

#' An operator from a text formula
#'
#' The formula may use R's infix, every operation of [kernweave_operations()] by either of its names,
#' and the names declared in `args`. It may be wrapped in a reduction, as in
#' `"Sum_Reduction(Exp(-SqDist(x, y)), 1)"`, where the whole number is the axis summed away (0 for i, 1
#' for j). Components and attributes are counted from 1.
#'
#' @param formula text
#' @param args declarations such as `c("x = Vi(3)", "y = Vj(3)", "s = Pm(1)")`, with positions counted from 0 if wanted, as in `"x = Vi(0, 3)"`
#' @param reduction name of the reduction, as in [kernweave_reductions()]; `"sum"` if the text has none
#' @param index the axis folded away; overrules the text
#' @param K number of results, for reductions that give a list of them
#' @param weight text of a formula that weighs the terms, for reductions that take one
#' @param ... settings: `device`, `precision`, `threads`
#' @return A function of a list of data (by name, or in the order of `args`), or of the data themselves.
#' @seealso [kernweave_operations()] for the names, [keops_kernel()] for texts as KeOps reads them,
#'   [as.function()][as.function.lazy_reduction]
#' @export
#' @examples
#' args <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(1)", "s = Pm(1)")
#' gauss <- kernel_op("exp(-s * sqdist(x, y)) * b", args)
#' x <- matrix(runif(30), 10, 3)
#' y <- matrix(runif(60), 20, 3)
#' gauss(list(x = x, y = y, b = rnorm(20), s = 2))
kernel_op <- function(formula, args, reduction = NULL, index = NULL, K = NULL, weight = NULL, ...) {
  operands <- declared_operands(args)
  R <- reduction_of_text(formula, operands, reduction, index, K, weight, ...)
  data_function(R, lapply(operands, function(x) x$formula$args))
}

# The reduction that a text tells of, over operands that have been declared.
reduction_of_text <- function(formula, operands, reduction = NULL, index = NULL, K = NULL, weight = NULL, ...) {
  check_text(formula, "formula")
  parsed <- r_parse(formula, names(operands), lapply(operands, `[[`, "formula"))
  op <- reduction %or% (if (nzchar(parsed$reduction)) parsed$reduction else "sum")
  index <- index %or% index_of_axis(parsed$axis)
  F <- new_lazy(parsed$formula, c(NA_real_, NA))
  W <- parsed_weight(weight, parsed, operands)
  if (parsed$K > 0 && is.null(K)) K <- parsed$K
  R <- reduction(F, op, index = index, K = K, weight = W, call = FALSE, ...)
  R$extents <- c(R$extents, lapply(operands, `[[`, "formula"))
  R
}

check_text <- function(text, argument) {
  if (!is.character(text) || length(text) != 1 || is.na(text)) abort("input", "`", argument, "` must be one text, not ", describe(text))
}

declared_operands <- function(args) {
  if (!is.character(args) || !length(args) || anyNA(args)) abort("input", "`args` must be declarations such as \"x = Vi(3)\", not ", describe(args))
  declared <- lapply(args, r_parse_declaration)
  names <- vapply(declared, `[[`, "", "name")
  if (anyDuplicated(names)) abort("input", "`args` declares `", names[anyDuplicated(names)], "` twice")
  places <- vapply(declared, `[[`, 0L, "place")
  if (any(places >= 0)) {
    if (anyNA(match(seq_along(places) - 1L, places))) abort("input", "`args`: positions must be 0 to ", length(places) - 1, ", each once, as in \"x = Vi(0, 3)\"")
    declared <- declared[order(places)]
    names <- names[order(places)]
  }
  operands <- lapply(declared, function(d) lazy_operand(new_operand(d$name, names(axis_codes)[d$axis + 1L], d$width, "real")))
  structure(operands, names = names)
}

# The text's number is the axis summed away. Without any word on it, j.
index_of_axis <- function(axis) {
  if (axis == -1) return("j")
  if (!axis %in% 0:1) abort("syntax", "the axis of a reduction is 0 (i summed away) or 1 (j summed away), not ", axis)
  c("i", "j")[axis + 1]
}

parsed_weight <- function(weight, parsed, operands) {
  if (is.null(weight)) return(if (!is.null(parsed$weight)) new_lazy(parsed$weight, c(NA_real_, NA)))
  check_text(weight, "weight")
  again <- r_parse(weight, names(operands), lapply(operands, `[[`, "formula"))
  new_lazy(again$formula, c(NA_real_, NA))
}

data_function <- function(R, operands) {
  run <- caller_of(R, operands)
  names <- vapply(operands, `[[`, "", "name")
  function(...) {
    data <- list(...)
    if (length(data) == 1 && is.list(data[[1]]) && !is.data.frame(data[[1]])) data <- data[[1]]
    run(in_order(data, names))
  }
}

in_order <- function(data, names) {
  if (length(data) != length(names)) {
    abort("input", "expected ", length(names), " data (", paste0("`", names, "`", collapse = ", "), "), got ", length(data))
  }
  given <- names(data)
  if (is.null(given) || all(!nzchar(given))) return(data)
  missing <- setdiff(names, given)
  if (length(missing)) abort("input", "no data are named `", missing[1], "`; given are ", paste0("`", given, "`", collapse = ", "), near_hint(missing[1], given))
  data[names]
}
