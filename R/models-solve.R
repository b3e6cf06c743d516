# What fits by linear systems have in common: kernels with their numbers, curves of generalised cross-validation.

# A kernel whose numbers are all set, the scale by the points where it is open, a number for each of their columns.
settled_kernel <- function(k, x) {
  k <- with_scale(k, x)
  parts <- kernel_parts(k)
  if (parts$ard && is.null(parts$op)) update(k, scale = scale_of_columns(parts$parameters$scale, x)) else k
}

# The kernel between two sets of points, which are one of them twice where `y` is not given. One's own functions take
# lazy tensors alone.
kernel_pairs <- function(k, x, y = x) k(Vi(x), Vj(y))

check_order <- function(k, most, what) {
  if (!isTRUE(kernel_order(k) > most)) return(k)
  abort("unsupported", kernel_parts(k)$title, " is conditionally definite of order ", kernel_order(k), ", and ", what,
        " take kernels of order ", most, if (most > 0) " and less")
}
