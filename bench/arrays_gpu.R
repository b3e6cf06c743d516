# The verbs for arrays on a GPU, as users call them, checks included: arrays lie there, segments are made before.
# `limit` is what the throughput asked of an H100 takes, of items or of bytes. What index_add() takes, a copy of the
# array in it, stands beside what bench/index_add_torch.py has found in place, if its file is given.
#
#   Rscript bench/arrays_gpu.R [pattern of sections] [log2 of items] [file of index_add_torch.py]

source("bench/clock.R")
asked <- given(pattern = "", log2 = 28, torch = "")
stopifnot("a GPU is needed" = has_gpu())
n <- 2^asked$log2
torch <- if (nzchar(asked$torch)) utils::read.csv(asked$torch)

there <- function(x) on_device(x, "gpu", integers = is.integer(x))
# A number that is fetched has been waited for.
waited <- function(call) function() {
  made <- call()
  (if (is.list(made)) made[[1]] else made)[1]
}
tried <- function(name, call, ...) {
  times <- tryCatch(clock(waited(call)), error = function(e) cat("#", name, conditionMessage(e), "\n"))
  if (!is.null(times)) say(name, times, ...)
}
# `items` are counted by the rate, or bytes where the bar is of bytes.
case <- function(name, call, items, bar = NA) {
  tried(name, call, known = c(limit = items / bar / 1e6), bars = c(limit = 1), also = c(items = items))
}
section <- function(title, run) {
  if (!grepl(asked$pattern, title)) return(invisible())
  set.seed(1)
  run()
  invisible(gc())
}
# Returns n numbers on the GPU, which repeat `some` numbers of the host.
many <- function(some, n) {
  from <- there(some)
  times <- ceiling(n / length(some))
  par_move(from, from = rep(1, times), counts = c(rep(length(some), times - 1), n - (times - 1) * length(some)))
}
random_integers <- function(n, most = .Machine$integer.max) many(sample.int(most, 2^22, TRUE), n)
random_doubles <- function(n) many(stats::runif(2^22), n)
even <- function(n, each) par_segments(offsets = as.integer(seq(0, n, by = each)))

begin(sprintf("verbs for arrays on a GPU, 2^%g items", asked$log2))

section("reduce and scan", function() {
  x <- random_integers(n, 3L)
  case("max of integers", function() par_reduce(x, "max"), n, 640)
  case("sum of integers", function() par_reduce(x), n, 640)
  case("running sum of integers", function() par_scan(x), n, 206)
  x <- random_doubles(n)
  case("sum of doubles", function() par_reduce(x), n, 320)
  case("running sum of doubles", function() par_scan(x), n, 103)
  case("logsumexp", function() par_reduce(x, "logsumexp"), n)
  for (each in c(10, 500, 5000)) {
    inside <- n %/% each * each
    s <- even(inside, each)
    y <- if (inside == n) x else par_remove(x, there(seq.int(as.integer(inside) + 1L, as.integer(n))))
    case(sprintf("sums of %d each, GB/s", each), function() par_reduce(y, "sum", s), 8 * inside,
         c(915, 1380, 2050)[match(each, c(10, 500, 5000))])
  }
  zipf <- as.integer(n / seq_len(1e5)^1.2 / 6)
  s <- par_segments(lengths = c(zipf[-1], n - sum(zipf[-1])))
  case("sums of segments, Zipf, GB/s", function() par_reduce(x, "sum", s), 8 * n)
})

section("move", function() {
  x <- random_integers(n)
  half <- there(seq.int(1L, as.integer(n), 2L))
  case("remove half", function() par_remove(x, half), n, 206)
  some <- par_remove(x, half)
  after <- there(seq_len(n / 2) - 1L)
  case("insert half as many", function() par_insert(some, some, after), n, 176)
  each <- 25
  few <- random_integers(n %/% each)
  counts <- there(rep(as.integer(each), length(few)))
  all <- length(few) * each
  case("objects and ranks, 25 each", function() par_expand(counts = counts), all, 203)
  case("expand, 25 each", function() par_expand(few, counts), all, 200)
  from <- there(sample.int(as.integer(n - each), length(few), TRUE))
  case("gather stretches of 25", function() par_move(x, from, counts = counts), all, 120)
})

section("order", function() {
  x <- random_integers(n)
  case("sort, integers", function() par_sort(x), n, 10.4)
  case("order, integers", function() par_order(x), n, 7.2)
  for (each in c(100, 1000, 1e5)) {
    inside <- n %/% each * each
    s <- even(inside, each)
    y <- if (inside == n) x else par_remove(x, there(seq.int(as.integer(inside) + 1L, as.integer(n))))
    case(sprintf("order, segments of %d", each), function() par_order(y, s), inside,
         c(25, 23, 12.6)[match(each, c(100, 1000, 1e5))])
  }
  x <- random_doubles(n)
  case("sort, doubles", function() par_sort(x), n)
  case("order, doubles", function() par_order(x), n)
})

section("sorted", function() {
  m <- n / 2
  a <- par_sort(random_integers(m))
  b <- par_sort(random_integers(m))
  case("merge", function() par_merge(a, b, check = FALSE), n, 144)
  ops <- c("union", "intersect", "setdiff", "symdiff")
  for (k in 1:4) case(paste("set,", ops[k]), function() par_set(a, b, ops[k], check = FALSE), n, c(81, 102, 97, 87)[k])
  needles <- par_sort(random_integers(n / 4))
  hay <- par_sort(random_integers(3 * n / 4))
  case("search, 1 to 3", function() par_search(needles, hay, check = FALSE), n, 132)
  case("search and flags", function() par_search(needles, hay, match = TRUE, check = FALSE), n, 115)
})

# For joins, a speed is asked of sorted keys alone.
section("join", function() {
  m <- n / 8
  x <- random_integers(m, 2^30)
  y <- random_integers(m, 2^30)
  for (sorted in c(TRUE, FALSE)) for (type in c("inner", "outer")) {
    a <- if (sorted) par_sort(x) else x
    b <- if (sorted) par_sort(y) else y
    pairs <- length(par_join(a, b, type)$x)
    case(paste0("join, ", type, if (sorted) " of sorted keys, GB/s" else ", sorting too, GB/s"),
         function() par_join(a, b, type), 4 * 2 * m + 8 * pairs,
         if (sorted) c(inner = 239, outer = 353)[[type]] else NA)
  }
})

# Extents as R has them: the reverse of those in bench/index_add_torch.py. `like` says which numbers an index takes.
add <- function(name, before, extent, items, like, key = sub(":.*", "", name)) {
  x <- random_doubles(before * extent)
  source <- random_doubles(before * items)
  dim(x) <- c(before, extent)
  dim(source) <- c(before, items)
  index <- there(as.integer(switch(like, first = sample.int(min(extent, 1024), items, TRUE),
                                   uniform = sample.int(extent, items, TRUE),
                                   hot = ifelse(stats::runif(items) < 0.5, 1, sample.int(extent, items, TRUE)),
                                   zipf = floor(stats::runif(items, extent^-0.1)^-10))))
  found <- torch[torch$case == key, ]
  tried(paste("index_add", name), function() index_add(x, index, source, 2),
        known = stats::setNames(found$ms, paste(found$type, found$mode)))
  gc(FALSE)
}
section("index_add, few items", function() {
  add("1: 15 of 2^25", 1, 2^25, 15, "first")
  add("2: 15 rows of 1024", 1024, 32768, 15, "first")
  add("3: 15 slices of 2^20", 2^20, 32, 15, "first")
  add("4: 1024 of 2^25", 1, 2^25, 1024, "first")
  add("5: 1024 rows of 1024", 1024, 32768, 1024, "first")
})
section("index_add, many items", function() {
  add("6: hot row, 128", 128, 1.72e6, 7.77e6, "hot")
  add("7: Zipf, 128", 128, 1.72e6, 7.77e6, "zipf")
  add("8: 500 K rows into 100 K", 128, 1e5, 5e5, "uniform")
  add("9: 4 M rows into 4 M", 128, 4e6, 4e6, "uniform")
  for (groups in c(10, 1e3, 1e6)) {
    add(sprintf("10: 10^8 into %.0f", groups), 1, groups, 1e8, "uniform", sprintf("10-%.0f", groups))
  }
})
