# Prepared reductions: their computation, and functions of their data.

#' Turn a prepared reduction into a function of its data
#'
#' `as.function()` makes an R function that takes the data of each placeholder and computes the reduction. Use it for a
#' formula that you evaluate on many data sets: the formula is prepared only once.
#'
#' @param x a `lazy_reduction`
#' @param ... not used
#' @return A function with one argument for each placeholder, in order of appearance. If every operand has data, the
#'   function has no arguments.
#' @seealso [reduction()], [kernel_op()] for formulas from text
#' @export
#' @examples
#' x <- Vi(dim = 3, name = "x")
#' y <- Vj(dim = 3, name = "y")
#' kde <- as.function(sum(exp(-sqdist(x, y)), index = "j"))
#' kde(matrix(runif(30), 10, 3), matrix(runif(60), 20, 3))
as.function.lazy_reduction <- function(x, ...) {
  free <- free_operands(x)
  names <- make.unique(vapply(free, `[[`, "", "name"))
  run <- caller_of(x, free)
  call_it <- function(values) run(given(values, parent.frame()))
  formals <- structure(rep(list(quote(expr = )), length(names)), names = names)
  values <- as.call(c(quote(list), lapply(names, as.name)))
  f <- as.function(c(formals, call("call_it", values)))
  environment(f) <- list2env(list(call_it = call_it), parent = topenv())
  lazy_function(f, x, free)
}

# Returns a function that runs a reduction on a list of data for its free operands.
caller_of <- function(R, free) {
  prepared(R)
  function(values) {
    if (any(vapply(values, is_traced, NA))) return(as_results(R, lapply(members_of(R), prepared_node, free, values)))
    for (k in seq_along(free)) values[[k]] <- as_operand_data(values[[k]], free[[k]])
    run_reduction(R, free, values)
  }
}

# Marks a function of the data of operands, so that print() shows the reduction that it computes.
lazy_function <- function(f, R, operands) {
  structure(f, reduction = R, operands = unname(operands), class = c("lazy_function", "function"))
}

#' Compute a prepared reduction
#'
#' `as.matrix()` computes a reduction made with `call = FALSE` and returns its numbers.
#'
#' @param x a `lazy_reduction` without placeholders
#' @param ... not used
#' @return What [reduction()] would have returned with `call = TRUE`.
#' @seealso [reduction()], [as.function()][as.function.lazy_reduction]
#' @export
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' R <- reduction(sqdist(Vi(x), Vj(x)), "min", call = FALSE)
#' as.matrix(R)
as.matrix.lazy_reduction <- function(x, ...) {
  free <- free_operands(x)
  if (length(free)) {
    abort("no_data", "the reduction waits for `", free[[1]]$name, "`; as.function() makes a function of it")
  }
  run_reduction(x)
}

#' @rdname as.matrix.lazy_reduction
#' @export
as.array.lazy_reduction <- function(x, ...) as.matrix(x)

# Computes the values of a formula: a "sum" of one term each.
run_single <- function(x, keep) {
  out <- run_reduction(new_reduction(list(sum_output(x$formula, keep)), x$extent, x$settings, x$pairs))
  if (type_kind(x) == "logical") storage.mode(out) <- "logical"
  out
}

#' Call a prepared reduction from C or C++
#'
#' `reduction_pointer()` makes an external pointer of a reduction with placeholders. C and C++ code of another package
#' computes the reduction with it, as often as needed, from plain arrays: see the function `kernweave_reduce()` of the
#' header `kernweave/api.h`. The formula is written, checked and planned once, in R.
#'
#' The header also has functions that need no pointer: `kernweave_sum()` for sums of common kernels,
#' `kernweave_nearest()`, `kernweave_radius()`, `kernweave_order()` and `kernweave_index_add()`. The article "Use it
#' from C++" shows a package that uses them.
#'
#' Operands with data keep their data. Only placeholders are given in each call, in the order of `print()`. A result has
#' a row for each point kept, then the `K` results, then the components; row numbers count from 1.
#'
#' A pointer lasts as long as its session. In a package, make it when the package is loaded.
#'
#' @param x a `lazy_reduction` of one result with placeholders, of all pairs, not a gradient
#' @return An external pointer of class `reduction_pointer`.
#' @seealso [as.function()][as.function.lazy_reduction] for a function in R
#' @concept R_RegisterCCallable
#' @concept LinkingTo
#' @export
#' @examples
#' x <- Vi(dim = 2, name = "x")
#' y <- Vj(dim = 2, name = "y")
#' b <- Vj(dim = 1, name = "b")
#' reduction_pointer(sum(exp(-sqdist(x, y)) * b, index = "j"))
#' system.file("include", "kernweave", "api.h", package = "kernweave")
reduction_pointer <- function(x) {
  if (!is_reduction(x)) abort("input", "`x` must be a lazy_reduction with placeholders, not ", describe(x))
  ready <- prepared(x, options <- call_options(x$settings))
  computed <- vapply(ready$operands, function(operand) !is.null(operand$from), NA)
  refused <- c("several results" = !is.null(x$results), "the groups of a gradient" = !is.null(x$groups),
               "restricted pairs" = !is.null(x$pairs), "named axes" = !is.null(x$axes),
               "the result of another reduction" = any(computed), "traced values" = ready$bearing)
  if (any(refused)) {
    abort("unsupported", "reduction_pointer() is of one pass over all pairs, and this reduction has ",
          names(refused)[refused][1])
  }
  waiting <- waiting_places(ready$operands)
  call <- engine_call(x, ready, lapply(ready$operands, `[[`, "data"), options)
  structure(r_pointed_reduction(call, waiting), operands = lines_of_operands(ready$operands[waiting]),
            class = "reduction_pointer")
}

#' @rdname reduction_pointer
#' @param ... not used
#' @export
print.reduction_pointer <- function(x, ...) {
  cat("Pointer to a reduction for C and C++, of this session. Operands in order:\n")
  writeLines(attr(x, "operands"))
  invisible(x)
}
