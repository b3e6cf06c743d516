# The house rules of tools/house.R, where the source tree is at hand.

source_tree <- function() {
  root <- Sys.getenv("KERNWEAVE_SOURCE")
  if (!nzchar(root) || !file.exists(file.path(root, "tools/house.R"))) skip("not in the source tree")
  root
}

test_that("the house rules hold", {
  root <- source_tree()
  house <- new.env()
  sys.source(file.path(root, "tools/house.R"), envir = house)
  for (gate in names(house$gates)) expect_identical(house$gates[[gate]](), NULL, label = gate)
})

test_that("every exported function has a help page with an example", {
  root <- source_tree()
  lines <- readLines(file.path(root, "NAMESPACE"))
  exports <- sub("^export[(](.*)[)]$", "\\1", grep("^export[(]", lines, value = TRUE))
  pages <- lapply(list.files(file.path(root, "man"), pattern = "[.]Rd$", full.names = TRUE), readLines)
  for (name in exports) {
    page <- Filter(function(lines) any(lines == paste0("\\alias{", name, "}")), pages)
    expect_true(length(page) == 1 && any(grepl("^\\\\examples", page[[1]])), label = name)
  }
})

test_that("functions call and read only what exists in the package or is imported", {
  skip_below("usual")
  skip_if_not_installed("codetools")
  ns <- asNamespace("kernweave")
  unknown <- unlist(lapply(ls(ns, all.names = TRUE), function(name) {
    f <- get(name, ns)
    if (!is.function(f) || is.primitive(f)) return(NULL)
    used <- codetools::findGlobals(f, merge = FALSE)
    calls <- Filter(function(x) !exists(x, envir = ns, mode = "function"), used$functions)
    reads <- Filter(function(x) x != ".Generic" && !exists(x, envir = ns), used$variables)
    sprintf("%s needs %s", name, c(calls, reads))
  }))
  expect_identical(as.character(unknown), character())
})
