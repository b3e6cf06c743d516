# The only benchmark driver: every case of bench/cases.R, as medians, with the machine and the commit.

library(kernweave)
source("bench/cases.R")

# Median seconds of a call, from about half a second of calls in at least five batches.
median_time <- function(f) {
  f()
  once <- max(system.time(f())[["elapsed"]], 1e-6)
  per_batch <- max(1, round(0.05 / once))
  stats::median(replicate(7, system.time(for (k in seq_len(per_batch)) f())[["elapsed"]] / per_batch))
}

commit <- tryCatch(system2("git", c("rev-parse", "--short", "HEAD"), stdout = TRUE, stderr = FALSE), error = function(e) "unknown")
cat("kernweave ", as.character(utils::packageVersion("kernweave")), ", commit ", commit, ", R ", as.character(getRversion()), ", ",
    parallel::detectCores(), " cores, ", R.version$platform, "\n\n", sep = "")
cat(sprintf("%-22s %14s %14s  %s\n", "case", "median ms", "bar ms", "what"))
for (case in bench_cases) {
  seconds <- median_time(case$make())
  note <- if (is.null(case$pairs)) "" else sprintf(" (%.1f ns a pair)", seconds / case$pairs * 1e9)
  bar <- if (is.null(case$bar_ms)) "" else format(case$bar_ms)
  cat(sprintf("%-22s %14.4f %14s  %s%s\n", case$name, seconds * 1e3, bar, case$why, note))
}
