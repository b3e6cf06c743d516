# Sums, neighbours, orders and scattered sums from C.

link_sum <- function(kernel, scale, x, y, b, threads = 0L) .Call(C_link_sum, kernel, scale, x, y, b, threads)
link_reduce <- function(pointer, size, ...) .Call(C_link_reduce, pointer, as.numeric(size), list(...))
link_nearest <- function(query, x, k, self = FALSE, threads = 0L) {
  as.list(.Call(C_link_nearest, query, x, k, self, threads))
}
link_radius <- function(query, x, radius, self = FALSE) as.list(.Call(C_link_radius, query, x, radius, self))
link_order <- function(x, decreasing = FALSE, threads = 0L) .Call(C_link_order, x, decreasing, threads)
link_index_add <- function(x, index, source, alpha = 1) .Call(C_link_index_add, x, index, source, alpha)

# A formula of this package, planned once when the package is loaded.
own <- new.env()
.onLoad <- function(libname, pkgname) {
  x <- Vi(dim = 2, name = "x")
  y <- Vj(dim = 2, name = "y")
  own$nearby <- reduction_pointer(reduction(sqdist(x, y) < 0.1, "count", index = "j"))
}
