# Scripts written for rkeops: its names, on our engine. What differs is said in vignette("coming-from-keops").

#' Operators and options under the names of rkeops
#'
#' For scripts written for rkeops. `keops_kernel()` makes an operator of a text formula, called with a list of data and `inner_dim`:
#' `"col"` where points are rows, `"row"` where they are columns. `keops_grad()` makes of it the operator of its gradient in one
#' variable, which takes one more input: numbers shaped like the result of the operator. Unlike rkeops', this is the gradient of
#' the sum of these numbers times the result, and has the shape of the variable.
#'
#' The helpers set options of this package ([kernweave_options()]) and say which: computations are in float64 unless told
#' otherwise, and nothing is compiled on a CPU, so that there is no folder of compiled formulas to look after.
#'
#' @param formula text of a formula with its reduction, such as `"Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)"`
#' @param args declarations such as `c("x = Vi(3)", "y = Vj(3)", "b = Vj(1)")`
#' @param sum_scheme not used: sums are always exact to rounding, tile by tile
#' @param operator what `keops_kernel()` or `keops_grad()` made
#' @param var name of a variable of the operator, or its position counted from 0
#' @param input a list of options by name: `backend` ("CPU" or "GPU"), `device_id`, `precision`
#' @param option names of options; all of them by default
#' @param device number of a GPU, -1 for any
#' @param ncore number of threads
#' @return For the first two a function of `input`, a list of data, and `inner_dim`; for `get_rkeops_options()` a list; else
#'   nothing.
#' @seealso [kernel_op()], `vignette("coming-from-keops")`
#' @name rkeops
#' @examples
#' op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)",
#'                    c("x = Vi(3)", "y = Vj(3)", "b = Vj(1)"))
#' x <- matrix(runif(30), 10, 3)
#' y <- matrix(runif(60), 20, 3)
#' b <- matrix(rnorm(20), 20)
#' op(list(x, y, b))
#' slope <- keops_grad(op, "x")
#' slope(list(x, y, b, matrix(1, 10)))
NULL

#' @rdname rkeops
#' @export
keops_kernel <- function(formula, args, sum_scheme = "auto") {
  operands <- declared_operands(args)
  R <- reduction_of_text(formula, operands)
  keops_operator(R, lapply(operands, function(x) x$formula$args))
}

#' @rdname rkeops
#' @export
keops_grad <- function(operator, var) {
  R <- attr(operator, "reduction")
  if (is.null(R)) abort("input", "`operator` must be made by keops_kernel() or keops_grad(), not ", describe(operator))
  operands <- attr(operator, "operands")
  if (is.numeric(var) && length(var) == 1 && var %in% (seq_along(operands) - 1)) var <- operands[[var + 1]]$name
  G <- vjp(R, wrt = var, call = FALSE)
  known <- function(operand) any(vapply(operands, identical, NA, operand))
  cotangent <- Filter(Negate(known), free_operands(G))
  keops_operator(G, c(operands, cotangent))
}

keops_operator <- function(R, operands) {
  run <- caller_of(R, operands)
  names <- make.unique(vapply(operands, `[[`, "", "name"))
  turn <- function(data, operand) if (operand$axis %in% c("i", "j") && is.matrix(data)) t(data) else data
  call_it <- function(input = NULL, inner_dim = "col") {
    if (is.null(input)) return(R)
    if (!is.list(input) || is.data.frame(input)) abort("input", "`input` must be a list of data, not ", describe(input))
    inner_dim <- one_of(as.character(inner_dim), c("col", "row", "1", "0"), "inner_dim")
    data <- in_order(input, names)
    run(if (inner_dim %in% c("row", "0")) Map(turn, data, operands) else unname(data))
  }
  structure(call_it, reduction = R, operands = operands)
}

#' @rdname rkeops
#' @export
set_rkeops_options <- function(input = NULL) {
  if (is.null(input)) input <- list(backend = "CPU", precision = "float64")
  if (!is.list(input) || is.null(names(input))) abort("input", "`input` must be a list of options by name, not ", describe(input))
  for (name in names(input)) set_one_option(name, input[[name]])
  invisible()
}

set_one_option <- function(name, value) {
  switch(one_of(name, c("backend", "device_id", "precision", "verbosity", "debug", "cache_dir", "formula_only"), "input", "settings"),
    backend = instead(kernweave.device = tolower(one_of(value, c("CPU", "GPU"), "backend", "settings"))),
    device_id = instead(kernweave.device = if (value < 0) "auto" else as.integer(value)),
    precision = instead(kernweave.precision = one_of(value, c("float32", "float64"), "precision", "settings")),
    cache_dir = instead(kernweave.cache = value),
    message("`", name, "` has no meaning here")
  )
}

# Sets an option, and says how it is set without rkeops.
instead <- function(...) {
  values <- list(...)
  shown <- if (is.character(values[[1]])) paste0("\"", values[[1]], "\"") else format(values[[1]])
  message("the same as options(", names(values), " = ", shown, ")")
  options(values)
  invisible()
}

#' @rdname rkeops
#' @export
get_rkeops_options <- function(option = NULL) {
  now <- current_options()
  all <- list(backend = if (now$device %in% c("auto", "cpu", "reference")) "CPU" else "GPU",
              device_id = if (is.numeric(now$device)) now$device else -1, precision = now$precision, cache_dir = now$cache)
  if (is.null(option)) return(all)
  all[vapply(option, one_of, "", names(all), "option")]
}

#' @rdname rkeops
#' @export
rkeops_use_gpu <- function(device = -1) instead(kernweave.device = if (device < 0) "gpu" else as.integer(device))

#' @rdname rkeops
#' @export
rkeops_use_cpu <- function(ncore = NULL) {
  instead(kernweave.device = "cpu")
  if (!is.null(ncore)) instead(kernweave.threads = as.integer(ncore))
}

#' @rdname rkeops
#' @export
rkeops_use_float32 <- function() instead(kernweave.precision = "float32")

#' @rdname rkeops
#' @export
rkeops_use_float64 <- function() instead(kernweave.precision = "float64")

#' @rdname rkeops
#' @export
check_rkeops <- function() kernweave_sitrep()
