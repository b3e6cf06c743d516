# Runs a part of a file of tests, each n-th test from the k-th on: Rscript tools/part.R NAME k n. Says on one line how
# many expectations passed, failed and were skipped, then what failed.

suppressPackageStartupMessages({
  library(testthat)
  library(kernweave)
})
asked <- commandArgs(TRUE)
part <- as.integer(asked[2])
of <- as.integer(asked[3])
Sys.setenv(TESTTHAT = "true")
setwd("tests/testthat")
code <- parse(sprintf("test-%s.R", asked[1]), keep.source = FALSE)
is_test <- vapply(code, function(line) is.call(line) && identical(line[[1]], quote(test_that)), NA)
mine <- !is_test | (cumsum(is_test) - 1) %% of == part - 1
file <- sprintf("test-part-%s-%d.R", asked[1], part)
writeLines(unlist(lapply(code[mine], deparse)), file)
results <- test_file(file, package = "kernweave", load_package = "installed", reporter = "silent",
                     stop_on_failure = FALSE)
unlink(file)

table <- as.data.frame(results)
cat(sprintf("%s %d of %d: %d passed, %d failed, %d skipped, %.0f s\n", asked[1], part, of, sum(table$passed),
            sum(table$failed + table$error), sum(table$skipped), sum(table$real)))
for (k in which(table$failed > 0 | table$error)) {
  cat("  ", table$test[k], "\n", sep = "")
  failed <- Filter(function(one) inherits(one, c("expectation_failure", "expectation_error")), table$result[[k]])
  for (one in failed) cat("    ", substr(conditionMessage(one), 1, 400), "\n", sep = "")
}
