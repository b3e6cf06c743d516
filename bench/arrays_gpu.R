# The verbs for arrays on a GPU: medians of calls of the engine on arrays that lie there, waited for, checks and plans
# apart, beside the throughput asked of an H100. What index_add() takes stands beside what bench/index_add_torch.py has
# found, if its file is given.
#
#   Rscript bench/arrays_gpu.R [pattern of sections] [log2 of items] [file of index_add_torch.py]

library(kernweave)
engine <- asNamespace("kernweave")
given <- commandArgs(TRUE)
given <- c(given, c("", "28", "")[seq_len(3) > length(given)])
pattern <- given[1]
n <- 2^as.numeric(given[2])
torch <- if (nzchar(given[3])) utils::read.csv(given[3]) else NULL

there <- function(x) on_device(x, "gpu", integers = is.integer(x))
seconds <- function(call, like, turns = 7) {
  took <- vapply(seq_len(turns + 1), function(k) {
    gc(FALSE)
    engine$r_wait_there(like)
    before <- Sys.time()
    made <- call()
    engine$r_wait_there(like)
    as.numeric(Sys.time() - before, units = "secs")
  }, 0)
  stats::median(took[-1])
}
# `items` are counted by the rate, of 10^9 a second, or bytes where the bar is of bytes.
case <- function(name, call, like, items, bar = NA, turns = 7) {
  found <- tryCatch(seconds(call, like, turns), error = function(e) {
    cat(sprintf("%-34s %s\n", name, conditionMessage(e)))
    NULL
  })
  if (is.null(found)) return(invisible())
  rate <- items / found / 1e9
  cat(sprintf("%-34s %9.3f %9.1f %7s %6s\n", name, found * 1e3, rate, if (is.na(bar)) "" else format(bar),
              if (is.na(bar)) "" else sprintf("%.2f", rate / bar)))
}
section <- function(title, run) {
  if (!grepl(pattern, title)) return(invisible())
  set.seed(1)
  cat(sprintf("\n%-34s %9s %9s %7s %6s\n", title, "ms", "G/s", "bar", "ratio"))
  run()
  invisible(gc())
}
# As many numbers as asked for, some of the host's again and again.
many <- function(some, n) {
  from <- there(some)
  times <- ceiling(n / length(some))
  par_move(from, from = rep(1, times), counts = c(rep(length(some), times - 1), n - (times - 1) * length(some)))
}
random_integers <- function(n, most = .Machine$integer.max) many(sample.int(most, 2^22, TRUE), n)
random_doubles <- function(n) many(stats::runif(2^22), n)
one <- function(n) there(as.integer(c(0, n)))
even <- function(n, each) there(as.integer(seq(0, n, by = each)))

section("reduce and scan", function() {
  x <- random_integers(n, 3L)
  whole <- one(n)
  reduce <- function(x, op, offsets) function() engine$r_reduce_there(x, 1L, op, offsets, NULL, FALSE, NULL, TRUE)
  scan <- function(x, op, type) {
    function() engine$r_scan_there(x, 1L, op, whole, NULL, TRUE, NULL, type)
  }
  case("max of integers", reduce(x, "max", whole), x, n, 640)
  case("sum of integers", reduce(x, "whole_sum", whole), x, n, 640)
  case("running sum of integers", scan(x, "whole_sum", "integer"), x, n, 206)
  x <- random_doubles(n)
  case("sum of doubles", reduce(x, "sum", whole), x, n, 320)
  case("running sum of doubles", scan(x, "sum", "double"), x, n, 103)
  case("logsumexp", reduce(x, "logsumexp", whole), x, n)
  for (each in c(10, 500, 5000)) {
    bar <- c(915, 1380, 2050)[match(each, c(10, 500, 5000))]
    case(sprintf("sums of %d each, GB/s", each), reduce(x, "sum", even(n, each)), x, 8 * n, bar)
  }
  zipf <- n / seq_len(1e5)^1.2 / 6
  zipf <- as.integer(c(zipf[-1], n - sum(as.integer(zipf[-1]))))
  case("sums of segments, Zipf, GB/s", reduce(x, "sum", there(c(0L, as.integer(cumsum(as.numeric(zipf)))))), x, 8 * n)
})

section("move", function() {
  x <- random_integers(n)
  half <- there(seq.int(1L, as.integer(n), 2L))
  case("remove half", function() engine$r_remove_there(x, half), x, n, 206)
  some <- engine$r_remove_there(x, half)
  after <- there(seq_len(n / 2) - 1L)
  case("insert half as many", function() engine$r_insert_there(some, some, after), x, n, 176)
  each <- 25
  few <- random_integers(n %/% each)
  offsets <- even(n, each)
  all <- length(few) * each
  case("objects and ranks, 25 each", function() engine$r_walk_there(offsets, all), x, all, 203)
  case("expand, 25 each", function() engine$r_expand_there(few, offsets, all), x, all, 200)
  from <- there(sample.int(as.integer(n - each), length(few), TRUE))
  case("gather stretches of 25", function() engine$r_move_there(x, from, NULL, offsets, all, NULL), x, all, 120)
})

section("order", function() {
  x <- random_integers(n)
  case("sort, integers", function() engine$r_sort_there(x, FALSE), x, n, 10.4)
  case("order, integers", function() engine$r_order_there(list(x), FALSE, NULL), x, n, 7.2)
  for (each in c(100, 1000, 1e5)) {
    bar <- c(25, 23, 12.6)[match(each, c(100, 1000, 1e5))]
    offsets <- even(n, each)
    inside <- (length(offsets) - 1) * each
    y <- if (inside == n) x else engine$r_remove_there(x, there(seq.int(as.integer(inside) + 1L, as.integer(n))))
    case(sprintf("order, segments of %d", each), function() engine$r_order_there(list(y), FALSE, offsets), x, inside,
         bar)
  }
  x <- random_doubles(n)
  case("sort, doubles", function() engine$r_sort_there(x, FALSE), x, n)
  case("order, doubles", function() engine$r_order_there(list(x), FALSE, NULL), x, n)
})

section("sorted", function() {
  m <- n / 2
  a <- par_sort(random_integers(m))
  b <- par_sort(many(sample.int(.Machine$integer.max, 2^22, TRUE), m))
  case("merge", function() engine$r_merge_there(a, b, FALSE), a, n, 144)
  case("merge, rows", function() engine$r_merge_there(a, b, TRUE), a, n, 108)
  for (k in 1:4) {
    case(paste("set,", c("union", "intersect", "setdiff", "symdiff")[k]),
         function() engine$r_set_there(a, b, k - 1L, TRUE), a, n, c(81, 102, 97, 87)[k])
  }
  needles <- par_sort(random_integers(n / 4))
  hay <- par_sort(random_integers(3 * n / 4))
  case("search, 1 to 3", function() engine$r_search_there(needles, hay, FALSE, TRUE), a, n, 132)
  case("search, both and flags", function() engine$r_search_both_there(needles, hay, FALSE), a, n, 115)
})

# What is asked for is of keys that are sorted.
section("join", function() {
  m <- n / 8
  x <- random_integers(m, 2^30)
  y <- random_integers(m, 2^30)
  for (sorted in c(TRUE, FALSE)) for (type in c("inner", "outer")) {
    outer <- type == "outer"
    a <- if (sorted) par_sort(x) else x
    b <- if (sorted) par_sort(y) else y
    pairs <- length(engine$r_join_there(a, b, outer, outer, TRUE)$x)
    case(paste0("join, ", type, if (sorted) " of sorted keys, GB/s" else ", sorting too, GB/s"),
         function() engine$r_join_there(a, b, outer, outer, TRUE), x, 4 * 2 * m + 8 * pairs,
         if (sorted) c(239, 353)[outer + 1] else NA)
  }
})

# In place, extents as R has them: the reverse of those in bench/index_add_torch.py. `like` says which numbers an
# index takes. Calls of few items follow each other, twenty before they are waited for: a share of these.
add <- function(name, before, extent, items, like, key = name) {
  x <- random_doubles(before * extent)
  source <- random_doubles(before * items)
  index <- there(as.integer(switch(like, first = sample.int(min(extent, 1024), items, TRUE),
                                   uniform = sample.int(extent, items, TRUE),
                                   hot = ifelse(stats::runif(items) < 0.5, 1, sample.int(extent, items, TRUE)),
                                   zipf = floor(stats::runif(items, extent^-0.1)^-10))))
  calls <- if (items < 2000) 20 else 1
  took <- tryCatch(seconds(function() for (k in seq_len(calls)) {
    engine$r_index_add_there(x, TRUE, index, source, c(before, extent, 1), c(1, before, 0), 1, "sum", FALSE, NULL)
  }, x) * 1e3 / calls, error = function(e) {
    cat(name, conditionMessage(e), "\n")
    NA
  })
  found <- function(type, mode) {
    ms <- torch$ms[torch$case == key & torch$type == type & torch$mode == mode]
    if (length(ms)) sprintf("%9.3f", ms) else sprintf("%9s", "")
  }
  cat(sprintf("%-28s %9.3f %s %s %s\n", name, took, found("float64", "atomic"), found("float64", "deterministic"),
              found("float32", "atomic")))
}
added <- function(title) {
  if (!grepl(pattern, title)) return(FALSE)
  set.seed(1)
  cat(sprintf("\n%-28s %9s %9s %9s %9s\n", paste0(title, ", ms"), "float64", "torch 64", "ordered", "torch 32"))
  TRUE
}
if (added("index_add, few items")) {
  add("1: 15 of 2^25", 1, 2^25, 15, "first", "1")
  add("2: 15 rows of 1024", 1024, 32768, 15, "first", "2")
  add("3: 15 slices of 2^20", 2^20, 32, 15, "first", "3")
  add("4: 1024 of 2^25", 1, 2^25, 1024, "first", "4")
  add("5: 1024 rows of 1024", 1024, 32768, 1024, "first", "5")
}
if (added("index_add, many items")) {
  add("6: hot row, 128", 128, 1.72e6, 7.77e6, "hot", "6")
  gc(FALSE)
  add("7: Zipf, 128", 128, 1.72e6, 7.77e6, "zipf", "7")
  gc(FALSE)
  add("8: 500 K rows into 100 K", 128, 1e5, 5e5, "uniform", "8")
  add("9: 4 M rows into 4 M", 128, 4e6, 4e6, "uniform", "9")
  gc(FALSE)
  for (groups in c(10, 1e3, 1e6)) add(sprintf("10: 10^8 into %.0f", groups), 1, groups, 1e8, "uniform",
                                      sprintf("10-%.0f", groups))
}
