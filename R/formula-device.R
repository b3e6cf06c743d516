# Data that stay on a GPU.

#' Keep data on a GPU
#'
#' Sends the numbers of `x` to the GPU and returns them as an ordinary vector or matrix that remembers its copy there.
#' Use it for data from which you make several operands, and for results that should stay on the GPU between reductions.
#' You do not need it for a single operand: `X <- Vi(x)` sends `x` once, however often `X` is used.
#'
#' Give the result to [Vi()], [Vj()] or `%*%` as often as you like: nothing is sent again. A reduction whose points are
#' all on the GPU leaves its result there too. That result is also an ordinary matrix: its numbers are copied to R when
#' something looks at them (`print`, arithmetic, `as.vector()`, `saveRDS()`), and not at all if it only serves the next
#' reduction.
#'
#' Assigning to elements changes R's numbers and discards the copy; the next use sends it again. GPU memory is freed
#' when R collects the vector.
#'
#' The array functions (`par_*`, [index_add()]) compute where the arrays are, if the CUDA Toolkit was there when the
#' package was installed. Results as long as an array stay there; single numbers come to R. Objects with a class, names
#' (in functions that move items) and your own operators are computed in R's memory instead, and a message says so once.
#'
#' @param x numbers: a matrix, a vector, or a data frame
#' @param integers keep integers, which the array functions accept? Formulas need doubles
#' @param device `"gpu"`, or the number of one; or `"auto"`: a GPU if there is one, otherwise `x` stays in R's memory.
#'   By default the option `kernweave.device`
#' @return `on_device()`: the numbers of `x`, double, or integer if asked. `is_on_device()`: `TRUE` or `FALSE`.
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
  if (!wanted || r_is_on_device(points$values) || !length(points$values)) return(points$values)
  number <- if (device %in% c("auto", "gpu")) "0" else device
  if (!grepl("^[0-9]+$", number)) abort("settings", "`device` must be one GPU to keep data on, not \"", device, "\"")
  r_on_device(points$values, as.integer(number))
}

#' @rdname on_device
#' @export
is_on_device <- function(x) r_is_on_device(x)
