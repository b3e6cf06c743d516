# The clock of these benchmarks and the rows that they print. A script calls begin(), times calls beside each other by
# clock(), and prints what came of it by say(). `Rscript bench/clock.R old new` reads the rows of two files of
# bench/results and says how many times as fast the new ones are.

suppressPackageStartupMessages(library(kernweave))

# Arguments of the command line, in order; those that are missing are as named here.
given <- function(...) {
  asked <- list(...)
  said <- utils::head(commandArgs(TRUE), length(asked))
  for (k in seq_along(said)) asked[[k]] <- as.vector(said[k], typeof(asked[[k]]))
  asked
}

# --- this machine, as the package sees it -------------------------------------------------------------------------

has_gpu <- function() "gpu" %in% kernweave_sitrep()$devices
have <- function(package) requireNamespace(package, quietly = TRUE)
threads_and_cores <- function() as.integer(strsplit(kernweave_sitrep()$cpu[["threads"]], " ")[[1]][c(1, 3)])

begin <- function(what, packages = character()) {
  here <- kernweave_sitrep()
  commit <- tryCatch(system2("git", c("rev-parse", "--short", "HEAD"), stdout = TRUE, stderr = FALSE),
                     error = function(e) "unknown")
  beside <- vapply(Filter(have, packages), function(p) paste(p, utils::packageVersion(p)), "")
  cat("# ", what, "\n# ", paste(c(paste("kernweave", here$versions[["kernweave"]]), paste("commit", commit),
      paste("R", getRversion()), beside, here$cpu[["threads"]], here$cpu[["instructions"]], here$gpu$devices,
      R.version$platform), collapse = ", "), "\n", sep = "")
  print_row(names(columns))
}

# --- the clock ----------------------------------------------------------------------------------------------------

# Seconds by the clock and of all processors, one call's share of so many.
spent <- function(call, calls = 1) {
  if (inherits(call, "told")) return(call())
  now <- function() c(wall = as.numeric(Sys.time()), cpu = sum(proc.time()[1:2]))
  start <- now()
  for (k in seq_len(calls)) call()
  (now() - start) / calls
}
# A call that says itself how long it took, as spent() does: another program, or a part of what is asked for.
told <- function(call) structure(call, class = "told")

# The first call warms up, and shows the megabytes that R took beyond those before; the second, if the first was short,
# how many make a turn of 50 ms.
first_of <- function(call, enough) {
  before <- sum(gc(reset = TRUE)[, 2])
  took <- spent(call)
  mb <- sum(gc(full = FALSE)[, 6]) - before
  again <- if (took[["wall"]] > enough || inherits(call, "told")) took else spent(call)
  list(took = took, mb = mb, calls = max(1, ceiling(0.05 / max(again[["wall"]], 1e-6))))
}

# Seconds of each call that are enough, unless the environment says others.
patience <- as.numeric(Sys.getenv("BENCH_SECONDS", "1"))

# Named calls in turns, so that a busy minute meets all alike, until each has had `fewest` turns and `enough` seconds;
# one whose first call took longer than that has had its turn. Medians of both clocks, and the distance of quartiles as
# a share of the median on the one that counts, `by`.
clock <- function(calls, by = "wall", enough = patience, fewest = 3) {
  if (is.function(calls)) calls <- list(kernweave = calls)
  calls <- Filter(Negate(is.null), calls)
  first <- lapply(calls, first_of, enough)
  turns <- lapply(first, function(one) if (one$took[["wall"]] > enough) rbind(one$took))
  long <- lengths(turns) > 0
  due <- function(k) {
    !long[k] && (NROW(turns[[k]]) < fewest || sum(turns[[k]][, "wall"]) * first[[k]]$calls < enough)
  }
  while (length(now <- Filter(due, seq_along(calls)))) {
    gc(full = FALSE)
    for (k in now) turns[[k]] <- rbind(turns[[k]], spent(calls[[k]], first[[k]]$calls))
  }
  median_of <- function(column) vapply(turns, function(took) stats::median(took[, column]), 0)
  spread_of <- function(took) if (nrow(took) > 1) stats::IQR(took[, by]) / stats::median(took[, by]) else NA
  data.frame(who = names(calls), clock = by, wall_ms = 1e3 * median_of("wall"), cpu_ms = 1e3 * median_of("cpu"),
             spread = vapply(turns, spread_of, 0), mb = vapply(first, `[[`, 0, "mb"), row.names = names(calls))
}

# --- rows ---------------------------------------------------------------------------------------------------------

# The formats of columns. At least two blanks are between columns, and never inside a column; "-" is an unknown value.
columns <- c(case = "%-44s", who = "%-14s", clock = "%-5s", wall_ms = "%9s", cpu_ms = "%9s", spread = "%6s",
             ratio = "%8s", bar = "%6s", judged = "%-6s", also = "%s")
print_row <- function(fields) cat(paste(sprintf(columns, fields), collapse = "  "), "\n", sep = "")

# The rows of a case. `known` are milliseconds that are not measured here: limits, records, what nothing can beat. The
# ratio is the time of each of these and of those timed, beside the first: how many times as fast that is. `bars` are
# the least of them. `also` are other numbers of the first row.
say <- function(case, times, known = numeric(), bars = numeric(), also = NULL) {
  known <- known[!is.na(known)]
  rows <- times[c("who", "clock", "wall_ms", "cpu_ms", "spread")]
  if (length(known)) {
    rows <- rbind(rows, data.frame(who = names(known), clock = rows$clock[1], wall_ms = known, cpu_ms = known,
                                   spread = NA))
  }
  took <- rows[[paste0(rows$clock[1], "_ms")]]
  rows$ratio <- c(NA, took[-1] / took[1])
  rows$bar <- unname(bars[rows$who])
  print_rows(case, rows, also)
}
print_rows <- function(case, rows, also = NULL) {
  plain <- function(x) ifelse(is.na(x), "-", vapply(signif(x, 4), format, "", scientific = FALSE, digits = 4))
  judged <- ifelse(is.na(rows$bar), "-", ifelse(rows$ratio >= rows$bar, "met", "missed"))
  also <- if (length(also)) paste0(names(also), "=", vapply(also, format, "", digits = 3), collapse = " ") else "-"
  for (k in seq_len(nrow(rows))) {
    numbers <- vapply(rows[k, c("wall_ms", "cpu_ms", "spread", "ratio", "bar")], plain, "")
    print_row(c(case, rows$who[k], rows$clock[k], numbers, judged[k], if (k == 1) also else "-"))
  }
}

# --- rows of files ------------------------------------------------------------------------------------------------

read_rows <- function(file) {
  fields <- strsplit(trimws(readLines(file)), " {2,}")
  fields <- Filter(function(row) length(row) == length(columns) && row[1] != "case", fields)
  rows <- as.data.frame(matrix(unlist(fields), ncol = length(columns), byrow = TRUE))
  names(rows) <- names(columns)
  numbers <- c("wall_ms", "cpu_ms", "spread", "ratio", "bar")
  rows[rows == "-"] <- NA
  rows[numbers] <- lapply(rows[numbers], as.numeric)
  rows
}
compare_files <- function(old, new) {
  both <- merge(read_rows(old), read_rows(new), c("case", "who", "clock"), suffixes = c("", "_new"), sort = FALSE)
  times <- function(suffix) {
    ifelse(both$clock == "cpu", both[[paste0("cpu_ms", suffix)]], both[[paste0("wall_ms", suffix)]])
  }
  cat(sprintf("%-44s  %-14s  %-5s  %9.4g  %9.4g  %6.2f\n", both$case, both$who, both$clock, times(""), times("_new"),
              times("") / times("_new")), sep = "")
}
if (sys.nframe() == 0L) do.call(compare_files, as.list(commandArgs(TRUE)))
