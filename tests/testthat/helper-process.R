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
