# The hooks of the package: at loading, methods that are rows of a table are registered, and the engine is told where
# the headers are that kernels include; at attaching, the number of threads is told.

.onLoad <- function(libname, pkgname) {
  fill_overlay()
  session$started <- format(Sys.time(), "%H:%M:%OS6")
  register_traced()
  register_refusals()
  admit_to_marginaleffects()
  r_begin(worker_of(), system.file("include", package = pkgname, lib.loc = libname))
  reg.finalizer(environment(fill_overlay), function(namespace) r_finish_compiling(), onexit = TRUE)
}

# R tells by itself of functions that are masked, but of no generics that hand on to what they mask.
.onAttach <- function(libname, pkgname) {
  if (interactive()) packageStartupMessage(startup_text())
}

startup_text <- function() {
  had <- chosen_threads()
  paste0("kernweave ", utils::packageVersion("kernweave"), ": ", had$threads, " of ", counted(had$cores, "core"),
         "; options(kernweave.threads = ) sets the number.\n",
         "Generics mask colMeans, colSums, crossprod, diag, rowMeans, rowSums, tcrossprod.")
}

# Detaches the tables of S4 methods from the environments of their generics: nothing is looked up there, and with them
# the methods of package Matrix would be saved in this package, a third of a megabyte.
local({
  for (name in ls(topenv(), all.names = TRUE, pattern = "^[.]__T__")) {
    methods <- get(name, topenv())
    parent.env(methods) <- topenv()
  }
})

# Lets each export begin with a look at the arguments that it cannot do without, since R's own error has no class. A
# generic needs its first, and what a function looks for by missing() itself is its own affair.
local({
  path <- getNamespaceInfo(topenv(), "path")
  for (name in parseNamespaceFile(basename(path), dirname(path))$exports) {
    f <- topenv()[[name]]
    if (!is.function(f) || isS4(f) || is.primitive(f)) next
    code <- paste(deparse(body(f)), collapse = " ")
    needed <- names(Filter(function(default) identical(default, quote(expr = )), formals(f)))
    needed <- needed[if (grepl("UseMethod(", code, fixed = TRUE)) names(formals(f))[1] == needed else needed != "..."]
    looked_for <- vapply(needed, function(x) grepl(paste0("missing(", x, ")"), code, fixed = TRUE), NA)
    looks <- lapply(needed[!looked_for], function(x) bquote(if (missing(.(as.name(x)))) not_given(.(x))))
    begun <- is.call(body(f)) && identical(body(f)[[1]], as.name("{"))
    body(f) <- as.call(c(as.name("{"), looks, if (begun) as.list(body(f))[-1] else body(f)))
    assign(name, f, topenv())
  }
})

# The shared library stays loaded. It has asked to be called at every fork (base/threads.cpp), and not
# each system forgets that when the code goes: a fork would end R. Who installs the package anew starts R anew.
.onUnload <- function(libpath) r_dismiss_threads()

# Returns in words what kind of worker this process is, or "" if it is none. A worker shares the machine with siblings
# that do the same. The code that started a worker tells its kind. Of a process that was forked before the package was
# loaded, package parallel alone knows. Later forks are seen by the engine.
worker_of <- function(started = commandArgs(), forked = is_forked_already()) {
  if (forked) return("a forked process")
  begins <- c("a node of a cluster" = "[.](work|slave)RSOCK\\b", "a daemon of mirai" = "\\bmirai::daemon\\b")
  is_begun <- vapply(begins, function(code) any(grepl(code, started)), NA)
  if (any(is_begun)) names(begins)[is_begun][[1]] else ""
}

is_forked_already <- function() {
  if (.Platform$OS.type != "unix" || !isNamespaceLoaded("parallel")) return(FALSE)
  isTRUE(tryCatch(utils::getFromNamespace("isChild", "parallel")(), error = function(e) FALSE))
}
