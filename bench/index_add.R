# Adding where an index says, beside a serial loop, rowsum() and data.table: all in one run, in turns.
#   Rscript bench/index_add.R [scale of sizes, 1 for all] [threads, by commas]
# The loop is compiled, and writes into a copy of the array as index_add() does.

library(kernweave)

given <- commandArgs(TRUE)
scale <- if (length(given) > 0) as.numeric(given[1]) else 1
threads <- if (length(given) > 1) as.integer(strsplit(given[2], ",")[[1]]) else c(1L, 2L)

Rcpp::sourceCpp(code = "
#include <Rcpp.h>
// [[Rcpp::export]]
SEXP serial_loop(SEXP x, Rcpp::IntegerVector index, Rcpp::NumericVector source, double before, double extent) {
  Rcpp::Shield<SEXP> out(Rf_duplicate(x));
  double* const to = REAL(out);
  const R_xlen_t b = before, n = extent, items = index.size(), after = source.size() / (b * items);
  for (R_xlen_t a = 0; a < after; ++a)
    for (R_xlen_t s = 0; s < items; ++s) {
      double* const row = to + b * (index[s] - 1 + n * a);
      const double* const from = source.begin() + b * (s + items * a);
      for (R_xlen_t k = 0; k < b; ++k) row[k] += from[k];
    }
  return out;
}")

# Seconds of the clock and of all processors: least of some rounds, in turns, as others may use the machine.
in_turns <- function(ways, rounds = 3) {
  for (f in ways) f()
  seconds <- function(f) {
    gc(FALSE)
    took <- system.time(f(), gcFirst = FALSE)
    c(took[["elapsed"]], took[["user.self"]] + took[["sys.self"]])
  }
  apply(replicate(rounds, vapply(ways, seconds, c(0, 0))), 1:2, min)
}

# Milliseconds, and how many times as fast as the first: by the clock, by processors.
report <- function(label, times) {
  cat(label, "\n")
  cat(sprintf("    %-12s %8.1f ms %6.2f   %8.1f ms %6.2f\n", colnames(times), 1e3 * times[1, ],
              times[1, 1] / times[1, ], 1e3 * times[2, ], times[2, 1] / times[2, ]), sep = "")
}

ours <- function(call) {
  stats::setNames(lapply(threads, function(n) function() with_kernweave(call(), threads = n)),
                  paste0("ours/", threads))
}

# Extents in R's order: the last varies slowest. `most`: the largest number of the index.
shape <- function(label, extents, dim, items, most = extents[dim]) {
  index <- sample.int(most, items, TRUE)
  x <- array(0.5, extents)
  source <- array(stats::runif(prod(extents[-dim]) * items), replace(extents, dim, items))
  before <- prod(extents[seq_len(dim - 1)])
  loop <- function() serial_loop(x, index, source, before, extents[dim])
  stopifnot(identical(index_add(x, index, source, dim), loop()))
  report(label, in_turns(c(list(loop = loop), ours(function() index_add(x, index, source, dim)),
                           list(copy = function() x + 0))))
}

set.seed(1)
k <- function(n) max(1, round(n * scale))
cat("by the clock and by processors: ms, and times as fast as the serial loop; sizes times ", scale, "; `copy` is\n",
    "what an array takes that is merely written\n\n", sep = "")
shape("1  2^25 numbers, 15 items", k(2^25), 1, 15, 1024)
shape("3  1024 x 1024 x 32, 15 slices", c(1024, k(1024), 32), 3, 15)
shape("3' 32 x 1024 x 1024, by rows", c(32, 1024, k(1024)), 1, 15)
shape("5  1024 x 32768, 1024 slices", c(1024, k(32768)), 2, 1024, 1024)
shape("8  128 x 100 K, 500 K slices", c(128, k(1e5)), 2, k(5e5))
shape("8' 100 K x 128, by rows", c(k(1e5), 128), 1, k(5e5))
shape("11 1 M x 3 points, 1 M rows", c(k(1e6), 3), 1, k(1e6))
shape("   vector of 1 M, 10 M items", k(1e6), 1, k(1e7))
shape("   vector of 30 M, 10 M items", k(3e7), 1, k(1e7))

cat("\nsums by group, of 10 M numbers: into zeros\n")
has_table <- requireNamespace("data.table", quietly = TRUE)
for (groups in c(10, 1e3, 1e6)) {
  group <- sample.int(groups, k(1e7), TRUE)
  values <- stats::runif(length(group))
  ways <- list(loop = function() serial_loop(numeric(groups), group, values, 1, groups))
  ways <- c(ways, ours(function() index_add(numeric(groups), group, values)),
            list(rowsum = function() rowsum(values, group)))
  if (has_table) {
    table <- data.table::data.table(group = group, values = values)
    data.table::setDTthreads(max(threads))
    ways$data.table <- function() table[, list(sum = sum(values)), by = "group"]
  }
  report(sprintf("%.0f groups", groups), in_turns(ways, 2))
}
