# Orders and sorts, against base R's.

test_that("orders of any kind of key are base R's", {
  skip_below("quick")
  set.seed(1)
  for (trial in trials(400)) for (kind in key_kinds) {
    x <- random_keys(sample(0:40, 1), kind)
    for (decreasing in c(FALSE, TRUE)) {
      expect_identical(par_order(x, decreasing = decreasing), base_order(list(x), decreasing), label = kind)
    }
  }
})

test_that("later columns decide where those before are tied, each in its direction", {
  set.seed(2)
  for (trial in trials(300)) {
    n <- sample(0:40, 1)
    columns <- lapply(sample(key_kinds, sample(2:4, 1), TRUE), random_keys, n = n)
    decreasing <- sample(c(TRUE, FALSE), length(columns), TRUE)
    expected <- base_order(columns, decreasing)
    expect_identical(par_order(columns, decreasing = decreasing), expected)
    frame <- as.data.frame(columns, col.names = paste0("c", seq_along(columns)))
    expect_identical(par_order(frame, decreasing = decreasing), expected)
  }
})

# Longer than what one thread sorts by itself, with digits that tell all, some or nothing.
long_keys <- function(n) {
  list(uniform = stats::runif(n), whole = sample.int(1e9, n), few = sample.int(5L, n, TRUE), skewed = stats::rexp(n)^9,
       outlier = 1 + c(1e300, stats::runif(n - 1) * 1e-9), rising = sort(stats::runif(n)), tied = rep(1, n),
       steps = sort(sample.int(10L, n, TRUE)), falling = rev(seq_len(n)),
       missing = sample(c(stats::runif(3), NA), n, TRUE))
}

test_that("long vectors are ordered as short ones are, by any number of threads", {
  skip_below("quick")
  set.seed(3)
  for (n in c(5e4, 3e5)) {
    keys <- long_keys(n)
    for (name in names(keys)) for (threads in c(1, 3)) {
      found <- with_kernweave(par_order(keys[[name]]), threads = threads)
      expect_identical(found, order(keys[[name]], method = "radix"), label = paste(name, n, threads))
    }
    columns <- list(keys$few, keys$missing, keys$skewed, keys$uniform)
    expect_identical(with_kernweave(par_order(columns), threads = 2), base_order(columns))
    doubles <- list(keys$tied, keys$missing, round(keys$uniform, 2), keys$skewed, keys$uniform)
    expect_identical(with_kernweave(par_order(doubles, decreasing = TRUE), threads = 2), base_order(doubles, TRUE))
  }
})

test_that("few distinct numbers are counted, missing ones and segments included", {
  set.seed(6)
  codes <- sample(c(-3:90, NA), 3e5, TRUE)
  group <- rep(1:3, c(1, 2.9e5, 9999))
  for (threads in c(1, 3)) with_kernweave(threads = threads, code = {
    for (decreasing in c(FALSE, TRUE))
      expect_identical(par_order(codes, decreasing = decreasing), base_order(list(codes), decreasing))
    expect_identical(par_order(codes, par_segments(lengths = tabulate(group))), order(group, codes, method = "radix"))
    plan <- par_segments(by = as.numeric(codes))
    expect_identical(unname(lengths(plan)), as.integer(table(codes, useNA = "ifany")))
  })
})

test_that("segments are ordered each by itself", {
  set.seed(4)
  check <- function(lengths) {
    x <- sample(c(stats::rnorm(5), NA), sum(lengths), TRUE)
    group <- rep(seq_along(lengths), lengths)
    plan <- par_segments(lengths = lengths)
    expect_identical(par_order(x, plan), order(group, x, method = "radix"))
    expect_identical(par_sort(x, plan), x[order(group, x, method = "radix")])
  }
  for (trial in trials(200)) check(sample(0:5, sample(0:8, 1), TRUE))
  check(c(0, 200000, rep(1, 1000), 0, rep(3, 500), 40000))
  g <- c("b", "a", "b", NA, "a", "b")
  x <- c(2, 9, 1, 5, 3, NA)
  expect_identical(par_order(x, par_segments(by = g)), order(g, x, method = "radix"))
  expect_identical(par_order(list(x, x), par_segments(by = g), decreasing = TRUE),
                   order(g, -x, method = "radix"))
})

test_that("a promise of nearness changes no order, kept or not", {
  skip_below("quick")
  set.seed(5)
  for (n in c(10, 1e5, 123456)) for (off in c(0, 3, 700)) {
    x <- seq_len(n) + stats::runif(n, -off, off)
    x[sample(n, 5)] <- x[1]
    coarse <- round(x / 50)
    for (nearly in c(0, 5, 1500)) for (keys in list(x, coarse, list(coarse, x)))
      expect_identical(par_order(keys, nearly = nearly), base_order(if (is.list(keys)) keys else list(keys)))
  }
  expect_identical(par_order(rev(seq_len(1e5)), nearly = 2), rev(seq_len(1e5)))
})

test_that("whole numbers of 64 bits are ordered by all of them", {
  low <- c(5L, 1L, 7L, 0L, -1L, 5L)
  high <- c(3L, 3L, -2L, NA, 0L, 3L)
  unsigned <- ifelse(low < 0, low + 2^32, low)
  expect_identical(par_order(int64(low, high)), order(high, unsigned, method = "radix"))
  expect_identical(par_order(int64(low, high), decreasing = TRUE),
                   order(high, unsigned, decreasing = TRUE, method = "radix"))
  plan <- par_segments(by = c(1, 2, 1, 2, 1, 2))
  expect_identical(par_order(int64(low, high), plan), order(c(1, 2, 1, 2, 1, 2), high, unsigned, method = "radix"))
})

test_that("what is sorted keeps names, classes and columns", {
  x <- c(b = 2, a = NA, c = 1)
  expect_identical(par_sort(x), c(c = 1, b = 2, a = NA))
  days <- as.Date("2024-03-01") + c(3, 1, 2)
  expect_identical(par_sort(days), sort(days))
  times <- as.POSIXct("2024-03-01", tz = "UTC") + c(3, 1, 2)
  expect_identical(par_sort(times, decreasing = TRUE), sort(times, decreasing = TRUE))
  expect_identical(par_order(as.POSIXlt(times)), order(times))
  levels <- factor(c("low", "high", "low"), levels = c("low", "high"))
  expect_identical(par_sort(levels), sort(levels))
  frame <- data.frame(a = c(2, 1, 1), b = c("x", "z", "y"))
  expect_identical(par_sort(frame), frame[c(3, 2, 1), ])
  expect_identical(par_sort(list(c(2, 1), k = c("x", "y"))), list(c(1, 2), k = c("y", "x")))
  expect_identical(par_sort(integer()), integer())
  expect_identical(par_order(NA), 1L)
})

test_that("what cannot be ordered is said by argument, column and size", {
  expect_error(par_order(1i), "`x` cannot be ordered: it is a complex vector", class = "kernweave_error_input")
  expect_error(par_order(list(a = 1:2, b = list(1, 2))), "`x$b` cannot be ordered", fixed = TRUE,
               class = "kernweave_error_input")
  expect_error(par_order(list(1:3, k = 1:2)), "`x[[1]]` has 3, `x$k` has 2", fixed = TRUE,
               class = "kernweave_error_shape")
  expect_error(par_order(list()), "no columns", class = "kernweave_error_shape")
  expect_error(par_order(data.frame()), "no columns", class = "kernweave_error_shape")
  expect_error(par_order(1:3, decreasing = NA), "`decreasing`", class = "kernweave_error_input")
  expect_error(par_order(list(1:3, 1:3), decreasing = c(TRUE, FALSE, TRUE)), "each of 2 columns",
               class = "kernweave_error_input")
  expect_error(par_order(1:3, nearly = -1), "`nearly`", class = "kernweave_error_input")
  expect_error(par_order(1:3, segments = c(0, 3)), "par_segments()", fixed = TRUE, class = "kernweave_error_input")
  expect_error(par_order(1:3, segments = par_segments(lengths = 4)), "4 items, and `x` has 3",
               class = "kernweave_error_shape")
})
