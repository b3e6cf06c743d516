# What happens when the package is loaded: methods that are rows of a table are registered.

.onLoad <- function(libname, pkgname) {
  home <- topenv()
  for (generic in names(refusals)) {
    registerS3method(generic, "lazy_tensor", refuse_method(generic), envir = home)
  }
}
