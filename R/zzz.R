# What happens when the package is loaded: methods that are rows of a table are registered.

.onLoad <- function(libname, pkgname) {
  register_refusals()
}
