# Data that stay on a GPU.

#' Keep data on a GPU
#'
#' `on_device()` copies the numbers of `x` to a GPU and returns them as an ordinary vector or matrix that refers to this
#' copy. Use it for data from which you make several operands, and for results that should stay on the GPU between
#' reductions. You do not need it for a single operand: `X <- Vi(x)` copies `x` once, however often `X` is used.
#'
#' Use the returned vector or matrix in [Vi()], [Vj()] or `%*%` as often as you like: its numbers are not copied to the
#' GPU again. A reduction whose points are all on the GPU leaves its result on the GPU. The result is also an ordinary
#' matrix: its numbers are copied to R when R reads them (`print`, arithmetic, `as.vector()`, `saveRDS()`), and not at
#' all if only the next reduction uses them.
#'
#' Assigning to elements changes R's numbers and discards the copy on the GPU; the next use copies them again. GPU
#' memory is freed when R's garbage collector removes the vector.
#'
#' The array functions (`par_*`, [index_add()]) compute where the arrays are, if the CUDA Toolkit was available when the
#' package was installed. Results as long as an array stay on the GPU; single numbers are copied to R. Objects with a
#' class, names (in functions that move items) and your own operators are computed in R's memory; a message says so
#' once.
#'
#' @param x numbers: a matrix, a vector, or a data frame
#' @param integers if `TRUE`, an integer `x` stays integer, for the array functions; by default `FALSE`: formulas need
#'   doubles
#' @param device `"gpu"`, or the number of a GPU; or `"auto"`: a GPU if there is one, otherwise `x` stays in R's memory.
#'   The default is the option `kernweave.device`
#' @return `on_device()`: the numbers of `x`, as double, or as integer if asked. `is_on_device()`: `TRUE` or `FALSE`.
#' @seealso [kernweave_options()] for devices, [kernweave_sitrep()] for the devices found
#' @concept CUDA memory
#' @concept GPU
#' @export
#' @examples
#' x <- on_device(matrix(runif(300), 100, 3))
#' b <- on_device(runif(100))
#' K <- exp(-sqdist(Vi(x), Vj(x)))
#' v <- K %*% b
#' is_on_device(v) # where there is a GPU
#' sum(v)
on_device <- function(x, device = NULL, integers = FALSE) {
  check_flag(integers, "integers")
  points <- if (integers && is.integer(x) && !is.object(x)) list(values = x)
  else check_numbers(if (is.data.frame(x)) frame_matrix(x, "x") else x, "x")
  device <- check_device(device %or% current_options()$device)
  wanted <- switch(device, cpu = , reference = FALSE, auto = "gpu" %in% r_devices(), TRUE)
  if (!wanted || is_on_device(points$values) || !length(points$values)) return(points$values)
  number <- if (device %in% c("auto", "gpu")) "0" else device
  if (!grepl("^[0-9]+$", number)) abort("settings", "`device` must be one GPU to keep data on, not \"", device, "\"")
  r_on_device(points$values, as.integer(number))
}

#' @rdname on_device
#' @export
is_on_device <- function(x) r_home(x) == "device"
