# What happens when the package is loaded: methods that are rows of a table are registered, and the engine is told where
# the headers are that kernels include.

.onLoad <- function(libname, pkgname) {
  fill_overlay()
  register_traced()
  register_refusals()
  r_set_header_folder(system.file("include", package = pkgname, lib.loc = libname))
  reg.finalizer(environment(fill_overlay), function(namespace) r_finish_compiling(), onexit = TRUE)
}

# The shared library stays loaded. It has asked to be called at every fork (base/threads.cpp, base/crew.cpp), and not
# each system forgets that when the code goes: a fork would end R. Who installs the package anew starts R anew.
.onUnload <- function(libpath) r_dismiss_threads()
