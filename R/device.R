# Data that stay on a GPU.

#' Keep data on a GPU
#'
#' `on_device(x)` sends the numbers of `x` to the GPU at once and returns the same numbers, dimensions and names, as an
#' ordinary vector or matrix that knows where its copy is. Give it to [Vi()], [Vj()] or `%*%` as often as you like:
#' nothing is sent again. A reduction whose points all lie on the GPU leaves its result there, too, and that result is
#' an ordinary matrix as well: its numbers come to R when something looks at them (`print`, arithmetic, `as.vector()`,
#' `saveRDS()`), not before, and as operand of the next reduction they need not come at all.
#'
#' Assigning to elements changes R's numbers and gives the copy up; the next use sends it anew. Memory of the GPU is
#' given back when R collects the vector.
#'
#' Verbs for arrays (`par_*`, [index_add()]) do their work where the arrays lie, if the CUDA Toolkit was there when the
#' package was installed, and leave results there that are as long as an array; a number for all of it comes to R. What
#' has a class or, where items move, names, and operators of one's own are fetched, which is said once.
#'
#' Operands keep copies of their own: `X <- Vi(x)` sends `x` once however often `X` is used. `on_device()` is for data
#' of which several operands are made, and for results that should not come back.
#'
#' @param x numbers: a matrix, a vector, or a data frame
#' @param integers shall integers stay integers, which verbs for arrays take? Formulas want doubles
#' @param device `"gpu"`, or the number of one; or `"auto"`: a GPU if there is one, else `x` stays in the memory of R.
#'   By default the option `kernweave.device`
#' @return `on_device()`: the numbers of `x`, double, or integer where asked. `is_on_device()`: `TRUE` or `FALSE`.
#' @seealso [kernweave_options()] for devices, [kernweave_sitrep()] for what was found
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
