# rkeops's functions on our engine, for its scripts. Differences: vignettes/articles/coming-from-keops.Rmd.

#' rkeops-compatible operators and options
#'
#' These functions let scripts written for rkeops run with kernweave.
#'
#' `keops_kernel()` makes an operator from a text formula. Call the operator with a list of data and with `inner_dim`:
#' `"col"` if points are rows, `"row"` if points are columns. The text has the meaning it has in KeOps: positions count
#' from 0 (`Elem`, `Extract`, `OneHot`, `ArgMax`, `Var(3,1,0)`), and matrices and tensors are stored by rows
#' (`MatVecMult`, `TensorProd`, `TensorDot`, `GradMatrix`). In [kernel_op()] positions count from 1, and storage is by
#' columns. Row numbers in results always count from 1, as in R.
#'
#' `keops_grad()` turns an operator into the operator of its gradient with respect to one variable. The gradient takes
#' one more input `g`, numbers shaped like the result of the operator. Unlike in rkeops, it is the gradient of
#' `sum(g * result)`, and has the shape of the variable.
#'
#' `set_rkeops_options()` and the `rkeops_use_*()` functions set options of this package ([kernweave_options()]) and
#' print the options set, unless `rkeops_disable_verbosity()` was called. Computations are in float64 by default.
#' Nothing is compiled on a CPU, so there is no folder of compiled formulas to manage. If there is no usable GPU,
#' `rkeops_use_gpu()` says so and the CPU is used.
#'
#' @param formula text of a formula with its reduction, such as `"Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)"`
#' @param args declarations such as `c("x = Vi(3)", "y = Vj(3)", "b = Vj(1)")`
#' @param sum_scheme not used: sums are always accurate to rounding, tile by tile
#' @param operator an operator made by `keops_kernel()`, `keops_grad()` or [kernel_op()]
#' @param var name of a variable of the operator, or its position counted from 0
#' @param input a list of options by name: `backend` ("CPU" or "GPU"), `device_id`, `precision`, `verbosity`
#' @param option names of options; all of them by default
#' @param device number of a GPU, -1 for any
#' @param ncore number of threads; 0 or `NULL` for as many as there are cores
#' @param verbose print the situation report ([kernweave_sitrep()])?
#' @param x any object; for `elemT()` a lazy tensor of one component, or a number
#' @param m,n position `m` of the component among `n` components, counted from 1 as everywhere in R
#' @return `keops_kernel()` and `keops_grad()` return a function of `input`, a list of data, and `inner_dim`.
#'   `get_rkeops_options()` returns the value of one option, or a list of several values; `check_rkeops()` whether a
#'   small sum is correct. The functions `is.*()` return `TRUE` or `FALSE`: `is.LazyParameter()` for a single parameter
#'   of one component, `is.LazyVector()` for a formula with a parameter, `is.LazyMatrix()` for a formula with points.
#'   `elemT()` returns `n` components, all 0 except component `m`. The other functions return nothing.
#' @seealso [kernel_op()], the article "Coming from rkeops and KeOps" on the site
#' @concept pykeops
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
#' is.LazyMatrix(Vi(x))
#' elemT(7, 2, 3)
NULL

#' @rdname rkeops
#' @export
keops_kernel <- function(formula, args, sum_scheme = "auto") {
  operands <- text_operands(formula, args)
  R <- reduction_of_text(formula, operands, keops = TRUE)
  keops_operator(R, lapply(operands, function(x) x$formula$args))
}

#' @rdname rkeops
#' @export
keops_grad <- function(operator, var) {
  R <- attr(operator, "reduction")
  if (is.null(R)) {
    abort("input", "`operator` must be made by keops_kernel(), keops_grad() or kernel_op(), not ", describe(operator))
  }
  operands <- attr(operator, "operands")
  if (is.numeric(var) && length(var) == 1 && var %in% (seq_along(operands) - 1)) var <- operands[[var + 1]]$name
  G <- vjp(R, wrt = var, call = FALSE)
  cotangent <- Filter(function(operand) !holds(operands, operand), free_operands(G))
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
  lazy_function(call_it, R, operands)
}

#' @rdname rkeops
#' @export
set_rkeops_options <- function(input = NULL) {
  if (is.null(input)) input <- list(backend = "CPU", precision = "float64", verbosity = TRUE)
  if (!is.list(input) || is.null(names(input))) {
    abort("input", "`input` must be a list of options by name, not ", describe(input))
  }
  for (name in names(input)) {
    value <- input[[name]]
    switch(one_of(name, rkeops_options, "input", "settings"),
      backend = if (one_of(value, c("CPU", "GPU"), "backend", "settings") == "GPU") set_gpu(-1)
                else instead(kernweave.device = "cpu"),
      device_id = if (check_device_id(value) < 0) instead(kernweave.device = "auto") else set_gpu(value),
      precision = instead(kernweave.precision = one_of(value, precisions, "precision", "settings")),
      verbosity = {
        if (is.character(value) || !isTRUE(value %in% 0:1)) {
          abort("settings", "`verbosity` must be 0 or 1, not ", format_value(value))
        }
        verbosity$on <- as.logical(value)
      },
      cache_dir = instead(kernweave.cache = value),
      tell_verbosely("`", name, "` has no meaning here")
    )
  }
  invisible()
}

rkeops_options <- c("backend", "device_id", "precision", "verbosity", "debug", "cache_dir", "formula_only")

# Selects a GPU by number; -1 is any GPU. Without a GPU selects the CPU, as rkeops does.
set_gpu <- function(number) {
  if ("gpu" %in% r_devices()) return(instead(kernweave.device = if (number < 0) "gpu" else as.integer(number)))
  tell_verbosely("No GPU can be used here (kernweave_sitrep() says why): computing on the CPU")
  instead(kernweave.device = "cpu")
}

check_device_id <- function(device) {
  if (!is_whole(device, -1)) {
    abort("settings", "the number of a GPU must be whole, from 0, or -1 for any, not ",
                 if (is.numeric(device)) format_value(device) else describe(device))
  }
  device
}

# Switches the messages of the helpers on or off.
verbosity <- new.env(parent = emptyenv())
verbosity$on <- TRUE
tell_verbosely <- function(...) if (verbosity$on) tell(...)

# Sets an option, and says how to set it without rkeops.
instead <- function(...) {
  values <- list(...)
  shown <- if (is.character(values[[1]])) paste0("\"", values[[1]], "\"") else format(values[[1]])
  tell_verbosely("the same as options(", names(values), " = ", shown, ")")
  options(values)
  invisible()
}

#' @rdname rkeops
#' @export
get_rkeops_options <- function(option = NULL) {
  now <- current_options()
  all <- list(backend = if (now$device %in% c("auto", "cpu", "reference")) "CPU" else "GPU",
              device_id = if (grepl("^[0-9]+$", now$device)) as.integer(now$device) else -1L,
              precision = now$precision, verbosity = as.integer(verbosity$on), cache_dir = now$cache)
  if (is.null(option)) return(all)
  chosen <- all[vapply(option, one_of, "", names(all), "option", "settings")]
  if (length(chosen) == 1) chosen[[1]] else chosen
}

#' @rdname rkeops
#' @export
rkeops_use_gpu <- function(device = -1) {
  check_device_id(device)
  set_gpu(device)
}

#' @rdname rkeops
#' @export
rkeops_use_cpu <- function(ncore = NULL) {
  if (is.character(ncore)) abort("settings", "`ncore` must be a number, not a text")
  ncore <- check_count(ncore %or% 0, "ncore", "settings", least = 0)
  instead(kernweave.device = "cpu")
  instead(kernweave.threads = if (ncore == 0) chosen_threads()$cores else ncore)
}

#' @rdname rkeops
#' @export
rkeops_use_float32 <- function() instead(kernweave.precision = "float32")

#' @rdname rkeops
#' @export
rkeops_use_float64 <- function() instead(kernweave.precision = "float64")

#' @rdname rkeops
#' @export
rkeops_enable_verbosity <- function() set_rkeops_options(list(verbosity = TRUE))

#' @rdname rkeops
#' @export
rkeops_disable_verbosity <- function() set_rkeops_options(list(verbosity = FALSE))

#' @rdname rkeops
#' @export
check_rkeops <- function(verbose = TRUE) {
  check_flag(verbose, "verbose")
  if (verbose) print(kernweave_sitrep())
  x <- Vi(c(0, 3), name = "x")
  invisible(identical(as.vector(sum(sqdist(x, Vj(c(0, 4))), index = "j")), c(16, 10)))
}

# --- lazy tensors under the names of rkeops ------------------------------------------------------------

#' @rdname rkeops
#' @export
is.LazyTensor <- function(x) is_lazy(x) || is_lazy_complex(x)

#' @rdname rkeops
#' @export
is.LazyParameter <- function(x) is.LazyTensor(x) && width(x) == 1 && identical(unique(axes_of_operands(x)), "param")

#' @rdname rkeops
#' @export
is.LazyVector <- function(x) is.LazyTensor(x) && "param" %in% axes_of_operands(x)

#' @rdname rkeops
#' @export
is.LazyMatrix <- function(x) is.LazyTensor(x) && any(axes_of_operands(x) != "param")

axes_of_operands <- function(x) {
  x <- if (is_lazy_complex(x)) whole_of(x) else x
  vapply(operands_of(x$formula), `[[`, "", "axis")
}

#' @rdname rkeops
#' @export
elemT <- function(x, m, n) {
  n <- check_count(n, "n")
  m <- check_count(m, "m")
  if (m > n) abort("input", "`m`, the place of the component, must be at most `n` = ", n, ", not ", m)
  components <- if (is_lazy(x)) width(x) else length(x)
  if (components != 1) abort("shape", "`x` must have one component, not ", components)
  extractt(x, m, n)
}
