# Verbs for arrays beside what one thread does with the standard library, and beside base R and data.table, in one run.
#
#   Rscript bench/arrays.R [pattern] [threads]
#
# A ratio is how many times as fast a verb is: beside the serial algorithm, at least 0.7 times the threads is asked for;
# beside rowsum() three times, beside data.table as fast.

library(kernweave)

given <- c(commandArgs(TRUE), c("", "2")[-seq_along(commandArgs(TRUE))])
pattern <- given[1]
threads <- as.integer(given[2])
options(kernweave.threads = threads)
source_of <- sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))
Rcpp::sourceCpp(file.path(dirname(c(source_of, "bench/arrays.R")[1]), "arrays_serial.cpp"))
n <- 1e7

# Least of some runs, in turns, so that a busy machine meets all alike.
seconds <- function(calls, turns = 5) {
  times <- replicate(turns, vapply(calls, function(call) {
    gc(FALSE)
    system.time(call())[[3]]
  }, 0))
  apply(matrix(times, length(calls)), 1, min)
}

compare <- function(name, ...) {
  if (!grepl(pattern, name)) return(invisible())
  calls <- list(...)
  took <- seconds(calls)
  ratios <- took[-1] / took[1]
  cat(sprintf("%-42s %7.1f ms", name, took[1] * 1e3))
  cat(sprintf("  %s %.1f ms: x %.1f", names(calls)[-1], took[-1] * 1e3, ratios), "\n")
}

set.seed(1)
x <- stats::runif(n)
whole <- sample(100L, n, TRUE)
short <- rep(10L, n / 10)
zipf <- as.integer(n / seq_len(1e5)^1.2 / 7)
zipf[1] <- zipf[1] + n - sum(zipf)

compare("sum", function() par_reduce(x), std = function() serial_sum(x), base = function() sum(x))
compare("sum of integers", function() par_reduce(whole), std = function() serial_sum_whole(whole),
        base = function() sum(whole))
compare("min", function() par_reduce(x, "min"), std = function() serial_min(x), base = function() min(x))
compare("logsumexp", function() par_reduce(x, "logsumexp"), base = function() log(sum(exp(x - max(x)))) + max(x))
compare("scan", function() par_scan(x), std = function() serial_scan(x), base = function() cumsum(x))
compare("scan of integers", function() par_scan(whole), base = function() cumsum(whole))
compare("scan, running max", function() par_scan(x, "max"), base = function() cummax(x))
for (layout in list(list("10 each", short), list("Zipf", zipf))) {
  s <- par_segments(lengths = layout[[2]])
  compare(paste("segmented sum,", layout[[1]]), function() par_reduce(x, "sum", s),
          std = function() serial_segmented_sum(x, layout[[2]]))
  compare(paste("segmented min,", layout[[1]]), function() par_reduce(x, "min", s))
}

for (groups in c(10, 1e3, 1e6)) {
  if (!grepl(pattern, "grouped sum")) next
  by <- sample.int(groups, n, TRUE)
  s <- par_segments(by = by)
  data.table::setDTthreads(threads)
  table <- data.table::data.table(by = by, x = x)
  total <- quote(sum(x))
  compare(paste("grouped sum,", groups, "groups, plan and all"),
          function() par_reduce(x, "sum", par_segments(by = by)), rowsum = function() rowsum(x, by),
          data.table = function() table[, eval(total), keyby = by])
  compare(paste("grouped sum,", groups, "groups, plan made"), function() par_reduce(x, "sum", s))
}

gone <- which(stats::runif(n) < 0.5)
compare("remove half", function() par_remove(x, gone), std = function() serial_remove(x, gone),
        base = function() x[-gone])
after <- sort(sample(0:n, n / 2, TRUE))
values <- x[seq_along(after)]
compare("insert half as many", function() par_insert(x, values, after),
        std = function() serial_insert(x, values, after))
some <- x[seq_along(short)]
compare("expand, 10 each", function() par_expand(some, short), std = function() serial_expand(some, short),
        base = function() rep(some, short))
compare("expand, Zipf", function() par_expand(some[seq_along(zipf)], zipf),
        std = function() serial_expand(some[seq_along(zipf)], zipf))
compare("objects and ranks, 10 each", function() par_expand(counts = short), std = function() serial_walk(short),
        base = function() list(rep(seq_along(short), short), sequence(short)))
for (each in c(25, 5000)) {
  from <- sample(n - each, n / each, TRUE)
  counts <- rep(each, length(from))
  compare(paste("gather stretches of", each), function() par_move(x, from, counts = counts),
          std = function() serial_gather(x, from, counts), base = function() x[sequence(counts, from)])
}
