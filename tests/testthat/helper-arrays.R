# Layouts of segments that are hard on those who share out work, and what base R makes of each segment.

# Lengths of segments: all equal, none, one huge among tiny, a few that have most, random, runs of none.
random_lengths <- function(kind, most = 12) {
  n <- sample(0:most, 1)
  switch(kind, equal = rep(sample(0:9, 1), n), none = integer(n), huge = sample(c(rep(1L, n), 200L)),
         zipf = sample(as.integer(ceiling(60 / seq_len(n)^1.2))), random = sample(0:9, n, TRUE),
         zeros = c(integer(n), sample(0:3, n, TRUE), integer(3)), one = sample(0:300, 1))
}
kinds_of_lengths <- c("equal", "none", "huge", "zipf", "random", "zeros", "one")

# Lengths that reach over several pieces of 32768 items.
long_lengths <- list(200000L, c(1L, 150000L, 0L, 3L, 70000L), rep(7L, 20000), c(integer(70000), 5L, integer(40000)),
                     c(32768L, 32768L, 32767L, 1L), 40000:40002)

# The items of each segment, by their places.
places_in <- function(lengths) Map(function(from, n) from + seq_len(n), cumsum(lengths) - lengths, lengths)

# The oracle of each operator for some items; `at` are their places.
oracle_operators <- list(
  sum = function(x, at, na.rm) sum(x, na.rm = na.rm), prod = function(x, at, na.rm) prod(x, na.rm = na.rm),
  min = function(x, at, na.rm) suppressWarnings(min(x, na.rm = na.rm)),
  max = function(x, at, na.rm) suppressWarnings(max(x, na.rm = na.rm)),
  mean = function(x, at, na.rm) mean(x, na.rm = na.rm),
  logsumexp = function(x, at, na.rm) log(sum(exp(x), na.rm = na.rm)),
  argmin = function(x, at, na.rm) c(at[which.min(x)], NA)[1], argmax = function(x, at, na.rm) c(at[which.max(x)], NA)[1]
)

with_threads <- function(threads, code) with_kernweave(code, threads = threads)

# Missing values of one kind, so that base R's answer does not hang on the order of additions.
random_items <- function(n, type, missing = FALSE) {
  x <- switch(type, double = stats::rnorm(n), integer = sample(-50:50, n, TRUE),
              logical = sample(c(TRUE, FALSE), n, TRUE))
  if (missing && n) x[sample(n, ceiling(n / 10))] <- NA
  x
}

# Segment after segment.
ordered_items <- function(plan, n) par_order(numeric(n), plan)
