# Every verb for arrays beside one thread of C++'s standard library, base R and data.table.
#
#   Rscript bench/arrays.R [pattern] [threads] [scale of sizes]
#
# A ratio is how many times as fast a verb is, and a bar what is asked of it: 0.7 for each thread beside a serial
# algorithm, which is bound by memory as often as not.

source("bench/clock.R")
asked <- given(pattern = "", threads = 2L, scale = 1)
threads <- asked$threads
options(kernweave.threads = threads)
with_table <- have("data.table")
if (with_table) data.table::setDTthreads(threads)
Rcpp::sourceCpp("bench/arrays_serial.cpp")
size <- function(n) max(1, round(n * asked$scale))
n <- size(1e7)

# The bar beside a serial algorithm of the library. Bars beside other packages are given with the case.
usual <- c("std::" = 0.7 * threads)
case <- function(name, ours, ..., bars = numeric()) {
  say(name, clock(list(kernweave = ours, ...)), bars = c(bars, usual))
}
section <- function(title, run) {
  if (!grepl(asked$pattern, title)) return(invisible())
  set.seed(1)
  run()
  invisible(gc())
}
# Returns a call of data.table, made from its own namespace, or NULL if data.table is not installed.
by_table <- function(call, ...) {
  if (!with_table) return(NULL)
  tables <- lapply(list(...), data.table::as.data.table)
  function() eval(call, tables, asNamespace("data.table"))
}

begin(sprintf("verbs for arrays, %g items", n), "data.table")

section("reduce and scan", function() {
  x <- stats::runif(n)
  whole <- sample(100L, n, TRUE)
  case("sum", function() par_reduce(x), "std::" = function() serial_sum(x), base = function() sum(x))
  case("sum of integers", function() par_reduce(whole), "std::" = function() serial_sum_whole(whole),
       base = function() sum(whole))
  case("min", function() par_reduce(x, "min"), "std::" = function() serial_min(x), base = function() min(x))
  case("logsumexp", function() par_reduce(x, "logsumexp"), base = function() log(sum(exp(x - max(x)))) + max(x))
  case("running sum", function() par_scan(x), "std::" = function() serial_scan(x), base = function() cumsum(x))
  case("running sum of integers", function() par_scan(whole), base = function() cumsum(whole))
  case("running max", function() par_scan(x, "max"), base = function() cummax(x))
  zipf <- as.integer(n / seq_len(1e5)^1.2 / 6)
  zipf[1] <- zipf[1] + n - sum(zipf)
  for (layout in list(list("10 each", rep(10L, n / 10)), list("Zipf", zipf))) {
    s <- par_segments(lengths = layout[[2]])
    case(paste("sums of segments,", layout[[1]]), function() par_reduce(x, "sum", s),
         "std::" = function() serial_segmented_sum(x, layout[[2]]))
  }
})

section("groups", function() {
  x <- stats::runif(n)
  for (groups in c(10, 1e3, 1e6)) {
    by <- sample.int(groups, n, TRUE)
    s <- par_segments(by = by)
    total <- by_table(quote(t[, list(sum = sum(x)), keyby = by]), t = data.frame(by = by, x = x))
    case(sprintf("sums of %.0f groups, plan and all", groups), function() par_reduce(x, "sum", par_segments(by = by)),
         rowsum = function() rowsum(x, by), data.table = total, bars = c(rowsum = 3, data.table = 1))
    case(sprintf("sums of %.0f groups, plan made", groups), function() par_reduce(x, "sum", s), data.table = total,
         bars = c(data.table = 1))
  }
})

section("move", function() {
  x <- stats::runif(n)
  short <- rep(10L, n / 10)
  some <- x[seq_along(short)]
  gone <- which(stats::runif(n) < 0.5)
  after <- sort(sample(0:n, n / 2, TRUE))
  values <- x[seq_along(after)]
  case("remove half", function() par_remove(x, gone), "std::" = function() serial_remove(x, gone),
       base = function() x[-gone])
  case("insert half as many", function() par_insert(x, values, after),
       "std::" = function() serial_insert(x, values, after))
  case("expand, 10 each", function() par_expand(some, short), "std::" = function() serial_expand(some, short),
       base = function() rep(some, short))
  case("objects and ranks, 10 each", function() par_expand(counts = short), "std::" = function() serial_walk(short),
       base = function() list(rep(seq_along(short), short), sequence(short)))
  for (each in c(25, 5000)) {
    from <- sample(n - each, n / each, TRUE)
    counts <- rep(each, length(from))
    case(paste("gather stretches of", each), function() par_move(x, from, counts = counts),
         "std::" = function() serial_gather(x, from, counts), base = function() x[sequence(counts, from)])
  }
})

section("order", function() {
  numbers <- list(doubles = stats::runif(n), integers = sample.int(.Machine$integer.max, n, TRUE),
                  "integers to 1000" = sample.int(1000L, n, TRUE), "doubles, two digits" = round(stats::runif(n), 2),
                  "near their places" = seq_len(n) + stats::runif(n, -256, 256))
  for (name in names(numbers)) {
    x <- numbers[[name]]
    with_forder <- with_table && name %in% c("doubles", "integers")
    case(paste("order,", name), function() par_order(x), base = function() order(x, method = "radix"),
         data.table = if (with_forder) function() data.table:::forderv(x), bars = c(base = 1.5, data.table = 1))
  }
  case("order, nearly = 512", function() par_order(x, nearly = 512), "no promise" = function() par_order(x),
       bars = c("no promise" = 1.3))
  groups <- par_segments(lengths = rep(1000, n / 1000))
  g <- rep(seq_len(n / 1000), each = 1000)
  x <- numbers$doubles
  case("order in segments of 1000", function() par_order(x, groups), base = function() order(g, x, method = "radix"),
       bars = c(base = 1.5))
})

section("sorted", function() {
  m <- n / 2
  a <- as.numeric(sort(sample.int(m, m, TRUE)))
  b <- as.numeric(sort(sample.int(m, m, TRUE)))
  case("merge", function() par_merge(a, b), "std::" = function() serial_sorted(a, b, 0))
  ops <- c("union", "intersect", "setdiff", "symdiff")
  for (k in 1:4) {
    case(paste("set,", ops[k]), function() par_set(a, b, ops[k]), "std::" = function() serial_sorted(a, b, k))
  }
  few <- sample(a, m / 10)
  case("search, sorted needles", function() par_search(a, b, "upper"), findInterval = function() findInterval(a, b),
       bars = c(findInterval = 2))
  case("search, a tenth, not sorted", function() par_search(few, b, "upper"),
       findInterval = function() findInterval(few, b), bars = c(findInterval = 2))
})

section("join", function() {
  m <- n / 4
  joined <- quote(y[x, on = "k", allow.cartesian = TRUE, nomatch = NULL, list(i, j)])
  x <- sample.int(m, m, TRUE)
  y <- sample.int(m, m, TRUE)
  for (type in c("integers", "characters, a tenth")) {
    if (type != "integers") {
      x <- as.character(x[seq_len(m / 10)])
      y <- as.character(y[seq_len(m / 10)])
    }
    both <- by_table(joined, x = data.frame(k = x, i = seq_along(x)), y = data.frame(k = y, j = seq_along(y)))
    case(paste("join,", type), function() par_join(x, y), data.table = both, bars = c(data.table = 1))
  }
})

# Extents in R's order: the last varies slowest. `most`: the largest number of the index. The serial loop writes into a
# copy of the array, as index_add() does; sixteen threads are asked to be five times as fast. `copy` is what an array
# takes that is merely written.
add_slices <- function(label, extents, dim, items, most = extents[dim]) {
  index <- sample.int(most, items, TRUE)
  x <- array(0.5, extents)
  source <- array(stats::runif(prod(extents[-dim]) * items), replace(extents, dim, items))
  before <- prod(extents[seq_len(dim - 1)])
  case(label, function() index_add(x, index, source, dim),
       "serial loop" = function() serial_add(x, index, source, before, extents[dim]),
       copy = function() x + 0,
       bars = c("serial loop" = threads * 5 / 16))
}

section("index_add", function() {
  add_slices("2^25 numbers, 15 items", size(2^25), 1, 15, 1024)
  add_slices("1024 x 1024 x 32, 15 slices", c(1024, size(1024), 32), 3, 15)
  add_slices("32 x 1024 x 1024, 15 rows", c(32, 1024, size(1024)), 1, 15)
  add_slices("1024 x 32768, 1024 slices", c(size(1024), 32768), 2, 1024, 1024)
  add_slices("128 x 100 K, 200 K slices", c(128, size(1e5)), 2, size(2e5))
  add_slices("100 K x 128, 200 K rows", c(size(1e5), 128), 1, size(2e5))
  add_slices("1 M x 3 points, 1 M rows", c(size(1e6), 3), 1, size(1e6))
  add_slices("1 M numbers, 10 M items", size(1e6), 1, size(1e7))
  x <- stats::runif(n)
  for (groups in c(10, 1e3, 1e6)) {
    by <- sample.int(groups, n, TRUE)
    case(sprintf("10 M numbers into %.0f zeros", groups), function() index_add(numeric(groups), by, x),
         "serial loop" = function() serial_add(numeric(groups), by, x, 1, groups), rowsum = function() rowsum(x, by),
         data.table = by_table(quote(t[, list(sum = sum(x)), by = by]), t = data.frame(by = by, x = x)),
         bars = c(rowsum = 3, data.table = 1))
  }
})
