# Prints lazy tensors and lazy reductions. Printing computes nothing.

shape_text <- function(x) {
  if (has_named_axes(x)) return(named_shape_text(x))
  n <- vapply(dim(x)[1:2], function(n) if (is.na(n)) "?" else format(n, big.mark = ",", scientific = FALSE), "")
  components <- if (width(x) == 1) "" else paste0(" x ", width(x), " components")
  batch <- if (length(x$extent) > 2) paste0(" x ", paste(x$extent[-(1:2)], collapse = " x "), " batches")
  paste0(n[1], " x ", n[2], " pairs", components, batch, ", ", type_kind(x))
}

# Returns a line for each operand, under its name in the formula. Numbers written in the formula have no line.
operand_lines <- function(formula) lines_of_operands(Filter(function(operand) !operand$literal, operands_of(formula)))

lines_of_operands <- function(operands) {
  names <- make.unique(vapply(operands, `[[`, "", "name"))
  sprintf("  `%s` %s", names, vapply(operands, operand_text, ""))
}

operand_text <- function(operand) {
  place <- operand$place
  if (!is.null(place)) {
    along <- if (length(place$axes)) paste("along", paste(place$axes, collapse = ", ")) else "one place"
    return(paste0(along, " (", paste(place$dim, collapse = " x "), " ", place$kind, ", width ", operand$width, ")"))
  }
  axis <- c(i = "along i", j = "along j", param = "parameter", pair = "each pair")[[operand$axis]]
  what <-
    if (!is.null(operand$from)) "saved from the forward pass"
    else if (is.null(operand$data)) "placeholder"
    else paste(count_text(if (operand$axis == "param") 1 else rows_of(operand$data), "point"), operand$kind)
  paste0(axis, " (", what, ", width ", operand$width, ")")
}

settings_text <- function(settings) {
  settings <- settings[names(settings) != "folded"]  # axes of a reduction, not set by the user
  if (!length(settings)) return(character())
  paste0("  set: ", paste0(names(settings), " = ", unlist(settings), collapse = ", "))
}

#' Print, format and summarise lazy objects
#'
#' These methods show a lazy object without computing it. `print()` shows the formula, `format()` returns the formula as
#' text (for an operator, its algebra), `summary()` adds the cost of the computation, and `str()` gives one line.
#'
#' `sum()`, `mean()`, `min()` and `max()` without `index` reduce the components of each pair and return a lazy tensor.
#' If such a reduction is the last step of a formula, `print()` says so.
#'
#' A printed variable has the name of its operand. An operand that is read along both axes, as in `kernel_gaussian(x)`,
#' is printed as `Vi(x)` and `Vj(x)`.
#'
#' @param x,object a lazy tensor, a lazy reduction, a linear operator, or a function made by [kernel_op()]
#' @param digits significant digits of the numbers in a formula; by default `getOption("digits")`
#' @param ... not used
#' @return `x`, invisibly; for `format` a string; for `summary` a list of class `summary.lazy_tensor`.
#' @seealso [explain()], [plot()][plot.lazy_tensor]
#' @name lazy-print
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' K <- exp(-sqdist(Vi(x), Vj(x)))
#' K
#' format(K)
#' summary(K)
NULL

#' @rdname lazy-print
#' @export
print.lazy_tensor <- function(x, digits = getOption("digits"), ...) {
  say_lines(paste("<lazy tensor>", shape_text(x)), paste0("  ", formula_text(x$formula, digits = digits)),
            utils::head(operand_lines(x$formula), 8), pair_lines(x$pairs), truncation_line(x),
            settings_text(x$settings), still_lazy(x$formula))
  invisible(x)
}

# Reports a reduction over the components of a pair, which is easily confused with a reduction over the pairs.
still_lazy <- function(formula) {
  of_parts <- c(Sum = "sum", Min = "min", Max = "max")
  args <- formula$args
  divisor <- if (formula$op == "Divide" && args[[1]]$op == "Sum") args[[2]]$args
  # A mean is a sum divided by the number of its components.
  mean <- is.environment(divisor) && divisor$literal && divisor$data == args[[1]]$args[[1]]$type[1]
  fold <- if (mean) "mean" else of_parts[formula$op]
  sprintf("  %s over components, still lazy; index = \"j\" reduces the pairs", fold[!is.na(fold)])
}

setMethod("show", "lazy_tensor", function(object) print.lazy_tensor(object))

#' @rdname lazy-print
#' @export
format.lazy_tensor <- function(x, digits = getOption("digits"), ...) formula_text(x$formula, 100000L, digits)

#' @rdname lazy-print
#' @export
summary.lazy_tensor <- function(object, ...) {
  extent <- dim(object)
  pairs <- prod(extent)
  structure(
    list(formula = format(object), dim = extent, width = width(object), kind = type_kind(object), pairs = pairs,
         dense_mb = pairs * width(object) * 8 / 2^20, operations = r_size(object$formula),
         operands = trimws(operand_lines(object$formula)),
         restricted = if (!is.null(object$pairs)) pair_text(object$pairs)),
    class = "summary.lazy_tensor"
  )
}

#' @rdname lazy-print
#' @export
print.summary.lazy_tensor <- function(x, ...) {
  components <- if (x$width == 1) " component, " else " components, "
  named <- !is.null(names(x$dim))
  points <- if (named) paste(names(x$dim), x$dim, collapse = " x ") else paste(x$dim[1], "x", x$dim[2], "pairs")
  cat("Lazy tensor of ", points, ", ", x$width, components, x$kind, "\n", sep = "")
  say("  formula     ", x$formula, "\n")
  cat("  operands    ", paste(x$operands, collapse = "\n              "), "\n", sep = "")
  if (!is.null(x$restricted)) cat("  pairs       ", x$restricted, "\n", sep = "")
  cat("  operations  ", x$operations, " for each ", if (named) "point" else "pair", " at most\n", sep = "")
  cat("  as a", if (named) "n array " else " matrix ", format(x$dense_mb, digits = 3), " MB, never made\n", sep = "")
  invisible(x)
}

#' @rdname lazy-print
#' @export
print.lazy_complex <- function(x, digits = getOption("digits"), ...) {
  if (!is_lazy(x$re)) {
    cat("<traced complex numbers>\n")
    return(invisible(x))
  }
  whole <- whole_of(x)
  say_lines(paste("<complex lazy tensor>", sub(", [a-z]+$", "", shape_text(whole))),
            sprintf("  %s  %s", c("re", "im"), format(x, digits = digits)),
            utils::head(operand_lines(whole$formula), 8), pair_lines(whole$pairs), settings_text(whole$settings))
  invisible(x)
}

setMethod("show", "lazy_complex", function(object) print.lazy_complex(object))

output_text <- function(output, budget = 500L, digits = getOption("digits"), axes = NULL) {
  row <- reduction_row(output$op)
  weight <- if (is.null(output$weight)) "" else paste0(", weight = ", formula_text(output$weight, budget, digits))
  places <- if (row$inputs == "value_k") paste0(", K = ", output$K) else ""
  over <- if (!is.null(axes)) over_axes_text(axes)
          else switch(output$keep, i = "over j", j = "over i", none = "over i and j", both = "at each pair")
  value <- axes$written %or% output$value
  paste0(output$label, " ", over, " of ", formula_text(value, budget, digits), weight, places)
}

#' @rdname lazy-print
#' @export
print.lazy_reduction <- function(x, digits = getOption("digits"), ...) {
  say_lines(paste("<lazy reduction>", state_text(x)), paste0("  ", format(x, digits = digits)), pair_lines(x$pairs),
            settings_text(x$settings))
  invisible(x)
}

state_text <- function(x) {
  free <- vapply(free_operands(x), `[[`, "", "name")
  if (length(free)) paste0("waits for ", paste0("`", free, "`", collapse = ", ")) else "ready: as.matrix() computes it"
}

#' @rdname lazy-print
#' @export
format.lazy_reduction <- function(x, digits = getOption("digits"), ...) {
  vapply(x$outputs, output_text, "", digits = digits, axes = x$axes)
}

#' @rdname lazy-print
#' @importFrom utils str
#' @export
str.lazy_tensor <- function(object, ...) {
  cat("<lazy tensor> ", shape_text(object), ": ", formula_text(object$formula, 60L), "\n", sep = "")
}

#' @rdname lazy-print
#' @export
str.lazy_reduction <- function(object, ...) {
  others <- length(object$outputs) - 1
  cat("<lazy reduction> ", output_text(object$outputs[[1]], 60L, axes = object$axes),
      if (others) paste(" and", others, "more"), "; ",
      state_text(object), "\n", sep = "")
}

#' @rdname lazy-print
#' @export
print.lazy_function <- function(x, digits = getOption("digits"), ...) {
  R <- attr(x, "reduction")
  say_lines(paste("<function> of", named_data(x)), paste0("  ", format(x, digits = digits)),
            lines_of_operands(attr(x, "operands")), pair_lines(R$pairs), settings_text(R$settings))
  invisible(x)
}

named_data <- function(f) {
  names <- make.unique(vapply(attr(f, "operands"), `[[`, "", "name"))
  if (length(names)) paste0("`", names, "`", collapse = ", ") else "no data"
}

#' @rdname lazy-print
#' @export
format.lazy_function <- function(x, digits = getOption("digits"), ...) format(attr(x, "reduction"), digits = digits)

#' @rdname lazy-print
#' @export
str.lazy_function <- function(object, ...) {
  R <- attr(object, "reduction")
  cat("<function> of ", named_data(object), ": ", output_text(R$outputs[[1]], 60L, axes = R$axes), "\n", sep = "")
}

#' @rdname lazy-print
#' @export
summary.lazy_reduction <- function(object, ...) explain(object)

#' Explain how a formula would be computed
#'
#' `explain()` shows how kernweave would compute a lazy tensor or reduction. Use it before a long computation: nothing
#' is computed. The output contains the formula as written and after simplification, the rules applied, and the steps of
#' the plan, which run for each i, each j or each pair. If the data are known, it also contains the device and the
#' reason for it, the expected time and memory, and the decision: how the points are taken. The text
#' `$schedule$decision` has all settings with which another machine computes the same bits.
#'
#' For the result of [approximate()], `explain()` shows the formula in terms of the squared distance `s` of the scaled
#' points, the boxes of each level, how many classes of pairs of boxes are skipped, expanded or split, the number of
#' near pairs, their share of the work, and the error bound.
#'
#' For a reduction of an index formula, made with `call = FALSE`, `code = TRUE` shows a C++ function that computes it:
#' plain loops, without vector instructions, threads or copies, ready to compile. The package does not run this code;
#' [schedule()] shows the loops that it runs. The code shows the meaning of a loop order and lets you time a loop order
#' without the package. `order` names the loops, the outermost first; an axis named twice is cut into blocks of the size
#' in `block`. The C++ function takes pointers: to the lengths of the axes (whole numbers), to the arrays named in its
#' head (`double`, but row numbers are whole numbers), and to the result. Code exists for formulas of single numbers,
#' without components, and for the reductions `sum`, `count`, `max` and `min`.
#'
#' `dplyr::explain()` and `generics::explain()` also find these methods, in whatever order packages are attached.
#'
#' @param x a lazy tensor, a lazy reduction, or an operator made by [approximate()]
#' @param index for a lazy tensor: the axis to sum over, by default `"j"`
#' @param cuda if `TRUE`, also shows the code for a GPU, even if there is none. By default `FALSE`
#' @param code if `TRUE`, shows the loops of an index formula as C++ instead. By default `FALSE`
#' @param order with `code`: the names of all axes, the outermost loop first; by default as the package chooses
#' @param block with `code`: for each axis that `order` names several times, the sizes of its blocks, the largest first
#' @param ... not used
#' @return An object of class `kernweave_explanation`, which `print()` shows. With `code`, an object of class
#'   `kernweave_code`, whose lines `as.character()` returns.
#' @seealso [summary()][summary.lazy_tensor] for a shorter look, [kernweave_rules()] for the rules, [kernweave_sitrep()]
#' @concept execution plan
#' @concept computing time
#' @export
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' d <- Vi(x) - Vj(x)
#' explain(exp(-sum(d * d) / 2))
#' explain(exp(-sum(d * d) / 2), cuda = TRUE)
#' explain(approximate(kernel_gaussian(x)))
#' A <- matrix(rnorm(6), 2)
#' B <- matrix(rnorm(12), 3)
#' R <- reduction(C[i, j] ~ A[i, k] * B[k, j], "sum", call = FALSE)
#' explain(R, code = TRUE, order = c("k", "j", "k", "i"), block = c(k = 64))
#' @rawNamespace
#' S3method(dplyr::explain, lazy_tensor)
#' S3method(dplyr::explain, lazy_reduction)
#' S3method(dplyr::explain, linear_op)
#' S3method(generics::explain, lazy_tensor)
#' S3method(generics::explain, lazy_reduction)
#' S3method(generics::explain, linear_op)
explain <- function(x, ...) UseMethod("explain")

# Calls, for an object of another package, the next explain() on the search path: dplyr's, perhaps.
#' @export
explain.default <- function(x, ...) {
  places <- search()
  own <- match(paste0("package:", utils::packageName()), places, nomatch = length(places))
  for (place in utils::tail(places, -own)) {
    other <- get0("explain", as.environment(place), mode = "function", inherits = FALSE)
    # The call is made from the global environment: called here, the other explain() would dispatch back to this one.
    if (!is.null(other)) return(do.call(other, list(x, ...), quote = TRUE, envir = globalenv()))
  }
  abort("input", "`x` must be a lazy tensor, a lazy reduction or what approximate() returned, not ", describe(x),
        "; see Vi() and Vj()")
}

#' @rdname explain
#' @export
explain.lazy_tensor <- function(x, index = "j", cuda = FALSE, ...) {
  refuse_more(...)
  refuse_named_axes(operands_of(x$formula))
  index <- check_index(index)
  folded <- if (index == "ij" || has_axis(x, index)) index else if (has_axis(x, "i")) "i"
  if (is.null(folded)) abort("shape", "the formula `", format(x), "` varies along neither i nor j")
  explain(reduction(x, "sum", index = folded, call = FALSE), cuda = cuda)
}

#' @rdname explain
#' @export
explain.lazy_reduction <- function(x, cuda = FALSE, code = FALSE, order = NULL, block = NULL, ...) {
  refuse_more(...)
  check_flag(code, "code")
  if (code) return(explain_code(x, order, block))
  if (!is.null(order) || !is.null(block)) abort("input", "`order` and `block` are those of the loops of code = TRUE")
  refuse_batches_of(x, "explain()")
  chosen <- call_options(x$settings)
  job <- job_of(x, chosen)
  call <- if (!length(free_operands(x))) engine_call(x, prepared(x), operand_data(prepared(x)$operands), chosen)
  plan <- r_explain(job, call, isTRUE(cuda))
  extent <- if (!is.null(call$pairs)) extent_of_call(x, call$data, call$operands)
  written <- c(format(x, digits = 15), if (!is.null(x$axes)) roles_text(x$axes))
  more <- list(written = written, precision = job$precision, threads = chosen$threads %or% 0L,
               rewrite = job$rewrite, pairs = explained_pairs(x$pairs, extent, job$precision))
  structure(c(plan, more), class = "kernweave_explanation")
}

#' @rdname explain
#' @param digits significant digits of the numbers shown; by default `getOption("digits")`
#' @export
print.kernweave_explanation <- function(x, digits = getOption("digits"), ...) {
  say_lines("as written", paste0("  ", few_digits(x$written, digits)))
  for (k in seq_len(nrow(x$passes))) {
    cat(x$passes$pass[k], " (", format(x$passes$microseconds[k], digits = 2), " us)\n", sep = "")
    outcome <- few_digits(strsplit(x$passes$outcome[k], "\n", fixed = TRUE)[[1]], digits)
    say_lines(paste0("  ", outcome))
  }
  if (!x$rewrite) cat("no rewriting: the reference device computes the formula as written\n")
  cat("plan ", x$key, "\n", sep = "")
  if (nrow(x$steps)) say_lines(sprintf("  %-15s %4s = %s", x$steps$when, x$steps$slot, x$steps$step))
  if (!is.null(x$pairs)) say_lines("pairs", paste0("  ", x$pairs))
  print_schedule(x$schedule, x$precision, x$threads)
  for (source in x$cuda) {
    cat("CUDA\n", paste0("  ", indented(strsplit(source, "\n", fixed = TRUE)[[1]]), "\n"), sep = "")
  }
  invisible(x)
}

# Indents lines of code by the depth of their braces.
indented <- function(lines) {
  count <- function(brace) lengths(regmatches(lines, gregexpr(brace, lines, fixed = TRUE)))
  before <- cumsum(c(0, count("{") - count("}")))[seq_along(lines)]
  paste0(strrep("  ", pmax(0, before - startsWith(lines, "}"))), lines)
}

print_schedule <- function(s, precision, threads) {
  if (is.null(s)) return(cat("schedule\n  chosen when the data are there\n"))
  say_lines("schedule", paste0("  ", s$why))
  cat("  ", format(s$M, big.mark = ","), " x ", format(s$N, big.mark = ","), " pairs, about ",
      format(s$seconds, digits = 2), " s and ", format(s$bytes / 1024, digits = 2), " KB of work space\n", sep = "")
  decision <- sub("; strain .*", "", strsplit(s$decision, "\n", fixed = TRUE)[[1]])  # for execute() alone
  say_lines("decision", paste0("  ", decision))
  if (s$device != "reference") return(invisible())
  if (precision != "float64") cat("  the reference device computes in float64, whatever the precision asked for\n")
  if (threads > 1) cat("  the reference device uses one thread, whatever the number asked for\n")
}
