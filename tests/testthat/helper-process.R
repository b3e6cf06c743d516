# Runs lines of R in a process of its own, to which the package is known but not attached; what the last one gives.
in_new_process <- function(lines) {
  answer <- tempfile(fileext = ".rds")
  script <- tempfile(fileext = ".R")
  libraries <- c(dirname(system.file(package = "kernweave")), .libPaths())
  opening <- sprintf(".libPaths(%s)", paste(deparse(libraries), collapse = ""))
  writeLines(c(opening, "answer <- {", lines, "}", sprintf("saveRDS(answer, %s)", deparse(answer))), script)
  said <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script), stdout = TRUE, stderr = TRUE)
  if (file.exists(answer)) readRDS(answer) else paste(said, collapse = "\n")
}

# Code under a variable of the environment, which NA unsets.
with_variable <- function(name, value, code) {
  put <- function(value) {
    if (is.na(value)) Sys.unsetenv(name) else do.call(Sys.setenv, stats::setNames(list(value), name))
  }
  before <- Sys.getenv(name, NA)
  on.exit(put(before))
  put(value)
  force(code)
}

# Gives nodes of a cluster on this machine, which find the package where it is here.
with_nodes <- function(count, code) {
  libraries <- paste(c(dirname(system.file(package = "kernweave")), .libPaths()), collapse = .Platform$path.sep)
  nodes <- with_variable("R_LIBS", libraries, parallel::makePSOCKcluster(count))
  on.exit(parallel::stopCluster(nodes))
  code(nodes)
}
