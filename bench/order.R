# Verbs that order, beside base R's, data.table's and the serial algorithms of C++'s library, in turns.
#   Rscript bench/order.R [items] [threads]

library(kernweave)

given <- as.numeric(commandArgs(TRUE))
n <- if (length(given) > 0) given[1] else 1e7
threads <- if (length(given) > 1) given[2] else 2
options(kernweave.threads = threads)
with_table <- requireNamespace("data.table", quietly = TRUE)
if (with_table) data.table::setDTthreads(threads)

Rcpp::sourceCpp(code = '
#include <Rcpp.h>
// [[Rcpp::export]]
double serial(Rcpp::NumericVector a, Rcpp::NumericVector b, int op) {
  const double *x = a.begin(), *y = b.begin(), *xe = a.end(), *ye = b.end();
  Rcpp::NumericVector out = Rcpp::no_init(a.size() + b.size());
  double* const to = out.begin();
  switch (op) {
    case 0: return std::merge(x, xe, y, ye, to) - to;
    case 1: return std::set_union(x, xe, y, ye, to) - to;
    case 2: return std::set_intersection(x, xe, y, ye, to) - to;
    case 3: return std::set_difference(x, xe, y, ye, to) - to;
  }
  return std::set_symmetric_difference(x, xe, y, ye, to) - to;
}')

# Seconds by the clock and of processors, the least of some turns each: another process takes time from all of them.
turns <- function(calls, times = 5) {
  seconds <- lapply(calls, function(call) matrix(Inf, 0, 2))
  for (turn in seq_len(times)) for (k in seq_along(calls)) {
    spent <- system.time(calls[[k]]())
    seconds[[k]] <- rbind(seconds[[k]], c(spent[["elapsed"]], spent[["user.self"]] + spent[["sys.self"]]))
  }
  vapply(seconds, function(s) apply(s, 2, min), numeric(2))
}

show <- function(what, bar, ours, other, name) {
  s <- turns(list(ours, other))
  cat(sprintf("%-34s %8.3f %8.3f %7.2f %6.1f %9.2f  %s\n", what, s[1, 1], s[1, 2], s[1, 2] / s[1, 1], bar,
              s[2, 2] / s[2, 1], name))
}

cat(sprintf("%.0f items, %d threads\n", n, threads))
cat(sprintf("%-34s %8s %8s %7s %6s %9s\n", "", "s", "other s", "ratio", "bar", "CPU ratio"))
set.seed(1)
numbers <- list(doubles = stats::runif(n), integers = sample.int(.Machine$integer.max, n, TRUE),
                "integers to 1000" = sample.int(1000L, n, TRUE), "doubles, two digits" = round(stats::runif(n), 2),
                "near their places" = seq_len(n) + stats::runif(n, -256, 256))
for (name in names(numbers)) {
  x <- numbers[[name]]
  show(paste("order", name), 1.5, function() par_order(x), function() order(x, method = "radix"), "base")
  if (with_table && name %in% c("doubles", "integers"))
    show(paste("order", name), 1, function() par_order(x), function() data.table:::forderv(x), "data.table")
}
show("nearly = 512", 1.3, function() par_order(x, nearly = 512), function() par_order(x), "no promise")
groups <- par_segments(lengths = rep(1000, n / 1000))
g <- rep(seq_len(n / 1000), each = 1000)
x <- numbers$doubles
show("order in segments of 1000", 1.5, function() par_order(x, groups), function() order(g, x, method = "radix"),
     "base")
rm(numbers, g, groups)

m <- n / 2
a <- as.numeric(sort(sample.int(m, m, TRUE)))
b <- as.numeric(sort(sample.int(m, m, TRUE)))
show("merge", 0.7 * threads, function() par_merge(a, b), function() serial(a, b, 0), "std::merge")
ops <- c("union", "intersect", "setdiff", "symdiff")
for (k in 1:4) show(ops[k], 0.7 * threads, function() par_set(a, b, ops[k]), function() serial(a, b, k), "std::set_*")
show("search, sorted needles", 2, function() par_search(a, b, "upper"), function() findInterval(a, b), "findInterval")
few <- sample(a, m / 10)
show("search, a tenth, not sorted", 2, function() par_search(few, b, "upper"), function() findInterval(few, b),
     "findInterval")
if (with_table) {
  join <- function(x, y) {
    X <- data.table::data.table(k = x, i = seq_along(x))
    Y <- data.table::data.table(k = y, j = seq_along(y))
    merge <- quote(Y[X, on = "k", allow.cartesian = TRUE, nomatch = NULL, list(i, j)])
    eval(merge, list(X = X, Y = Y), asNamespace("data.table"))
  }
  x <- sample.int(m, m, TRUE)
  y <- sample.int(m, m, TRUE)
  show("join integers", 1, function() par_join(x, y), function() join(x, y), "data.table")
  x <- as.character(x[seq_len(m / 10)])
  y <- as.character(y[seq_len(m / 10)])
  show("join characters, a tenth", 1, function() par_join(x, y), function() join(x, y), "data.table")
}
