# The hooks of the package. Loading registers the methods that are rows of a table, and tells the engine the folder of
# the headers for kernels; attaching prints the number of threads.

.onLoad <- function(libname, pkgname) {
  fill_overlay()
  session$started <- format(Sys.time(), "%H:%M:%OS6")
  register_traced()
  register_refusals()
  admit_to_marginaleffects()
  r_begin(worker_of(), system.file("include", package = pkgname, lib.loc = libname))
  reg.finalizer(environment(fill_overlay), function(namespace) r_finish_compiling(), onexit = TRUE)
}

# R reports masked functions by itself, but not generics that pass calls on to the functions that they mask.
.onAttach <- function(libname, pkgname) {
  if (interactive()) packageStartupMessage(startup_text())
}

startup_text <- function() {
  had <- chosen_threads()
  paste0("kernweave ", utils::packageVersion("kernweave"), ": ", had$threads, " of ", counted(had$cores, "core"),
         "; options(kernweave.threads = ) sets the number.\n",
         "Generics mask colMeans, colSums, crossprod, diag, rowMeans, rowSums, tcrossprod.")
}

# Detaches the tables of S4 methods from the environments of their generics. No lookup needs these environments, and
# they would save the methods of package Matrix in this package, a third of a megabyte.
local({
  for (name in ls(topenv(), all.names = TRUE, pattern = "^[.]__T__")) {
    methods <- get(name, topenv())
    parent.env(methods) <- topenv()
  }
})

# Lets each export begin with a check of its required arguments, since R's own error has no class. A generic requires
# only its first argument; arguments that a function checks by missing() are left to it.
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

# The shared library stays loaded: it has registered a function for forks (base/threads.cpp), and not every system
# forgets it at unloading, so that a fork would end R. After a new installation R must be restarted.
.onUnload <- function(libpath) r_dismiss_threads()

# Returns in words what kind of worker this process is, or "" if it is none. A worker shares the machine with siblings
# that do the same. The code that started a worker tells its kind. For a process that was forked before the package was
# loaded, only package parallel knows. The engine detects later forks.
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
