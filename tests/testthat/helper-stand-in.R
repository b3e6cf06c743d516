# Packages that cannot be had everywhere, as far as their contract with others goes: a namespace of these functions.

# Installs a package of plain R, whose functions are exported, and `more`, and returns its library.
stand_in <- function(name, lines, more = NULL) {
  into <- c(source = tempfile("source"), library = tempfile("library"))
  folder <- file.path(into[["source"]], name)
  for (each in c(into, file.path(folder, "R"))) dir.create(each, recursive = TRUE)
  writeLines(c(paste("Package:", name), "Version: 0.0.1", "Title: A Stand-In", "Description: A stand-in.",
               "License: MIT"), file.path(folder, "DESCRIPTION"))
  writeLines(c("exportPattern(\"^[a-z]\")", if (!is.null(more)) sprintf("export(%s)", more)),
             file.path(folder, "NAMESPACE"))
  writeLines(lines, file.path(folder, "R", "all.R"))
  flags <- c("--no-docs", "--no-multiarch", "--no-byte-compile", paste0("--library=", into[["library"]]))
  tool <- run_tool(file.path(R.home("bin"), "R"), c("CMD", "INSTALL", flags, folder))
  testthat::expect_true(tool$ok, label = tool$output)
  into[["library"]]
}

# Loads a stand-in from its library. R CMD check takes a name in a call of loadNamespace() for a package that
# DESCRIPTION must name.
load_stand_in <- function(name, library) loadNamespace(name, lib.loc = library)
