# Merging, searching and sets of sorted vectors, against base R and multiplicities.

two_sorted <- function(kind, most = 12) {
  list(x = par_sort(random_keys(sample(0:most, 1), kind)), y = par_sort(random_keys(sample(0:most, 1), kind)))
}

test_that("merged vectors are both of them, sorted, those of x first", {
  set.seed(1)
  for (trial in trials(200)) for (kind in key_kinds) {
    s <- two_sorted(kind)
    n <- length(s$x)
    m <- length(s$y)
    both <- c(s$x, s$y)
    expected <- order(both, method = "radix")
    merged <- par_merge(s$x, s$y, values = list(seq_len(n), n + seq_len(m)))
    expect_identical(merged, list(keys = both[expected], values = expected), label = kind)
    expect_identical(par_merge(s$x, s$y), both[expected], label = kind)
  }
})

test_that("places are those of findInterval(), from both sides", {
  set.seed(2)
  for (trial in trials(300)) for (kind in c("integer", "few", "double", "awkward")) {
    needles <- random_keys(sample(0:12, 1), kind)
    haystack <- sort(random_keys(sample(0:12, 1), kind))
    lower <- findInterval(needles, haystack, left.open = TRUE)
    upper <- findInterval(needles, haystack)
    expect_identical(par_search(needles, haystack), lower, label = kind)
    expect_identical(par_search(needles, haystack, side = "upper"), upper, label = kind)
    sorted <- par_sort(needles)
    known <- sorted[!is.na(sorted)]
    for (side in c("lower", "upper")) {
      found <- par_search(sorted, haystack, side, match = TRUE)
      back <- findInterval(haystack, known, left.open = side == "upper")
      expect_identical(found, list(at = par_search(sorted, haystack, side), matched = sorted %in% haystack,
                                   haystack_at = back, haystack_matched = haystack %in% known), label = kind)
    }
  }
})

test_that("places go by codes of characters and factors, by days and by 64 bits", {
  expect_identical(par_search(c("b", "B", NA, "c"), c("A", "a", "b", "b"), "upper"), c(4L, 1L, NA, 4L))
  levels <- c("low", "high")
  expect_identical(par_search(factor("high", levels), factor(c("low", "low", "high"), levels)), 2L)
  day <- as.Date("2024-03-01")
  expect_identical(par_search(day + 1, day + 0:3), 1L)
  expect_identical(par_search(int64(c(7, -1), c(0, 1)), int64(c(7, 7, 9), c(0, 0, 1))), c(0L, 3L))
  expect_identical(par_search(c(3, 3, 12, 16), c(0, 5, 5, 7, 12, 14, 16, 16)), c(1L, 1L, 4L, 6L))
  expect_identical(par_search(c(3, 3, 12, 16), c(0, 5, 5, 7, 12, 14, 16, 16), "upper"), c(1L, 1L, 5L, 8L))
})

# Multiplicities of all keys that occur; NA and NaN are two of them.
multiset_by_counts <- function(x, y, op, multiset) {
  both <- c(x, y)
  keys <- unique(both)
  keys <- keys[order(keys, is.nan(keys), method = "radix")]
  a <- tabulate(match(x, keys), length(keys))
  b <- tabulate(match(y, keys), length(keys))
  if (!multiset) {
    a <- pmin(a, 1)
    b <- pmin(b, 1)
  }
  keys[rep(seq_along(keys), switch(op, union = pmax(a, b), intersect = pmin(a, b), setdiff = pmax(a - b, 0),
                                   symdiff = abs(a - b)))]
}

set_ops <- c("union", "intersect", "setdiff", "symdiff")

test_that("sets and multisets have the multiplicities of their operation", {
  skip_below("quick")
  set.seed(3)
  for (trial in trials(200)) for (kind in c("logical", "integer", "few", "awkward", "factor")) {
    s <- two_sorted(kind)
    for (op in set_ops) for (multiset in c(TRUE, FALSE)) {
      expected <- if (kind == "factor") {
        codes <- multiset_by_counts(as.integer(s$x), as.integer(s$y), op, multiset)
        factor(levels(s$x)[codes], levels = levels(s$x))
      } else multiset_by_counts(s$x, s$y, op, multiset)
      expect_identical(par_set(s$x, s$y, op, multiset), expected, label = paste(kind, op, multiset))
    }
  }
  x <- c("a", "b", "b", NA)
  expect_identical(par_set(x, c("b", "c"), "union"), c("a", "b", "b", "c", NA))
  expect_identical(par_set(x, c("b", NA), "setdiff"), c("a", "b"))
})

test_that("the example of multisets is what it is there", {
  A <- c(1, 1, 2, 3, 3, 3, 5, 6, 6, 6, 6, 7, 7, 8, 8, 9)
  B <- c(1, 2, 2, 3, 3, 3, 3, 6, 6, 6, 6, 8)
  expect_identical(par_set(A, B, "intersect"), c(1, 2, 3, 3, 3, 6, 6, 6, 6, 8))
  expect_identical(par_set(A, B), c(1, 1, 2, 2, 3, 3, 3, 3, 5, 6, 6, 6, 6, 7, 7, 8, 8, 9))
  expect_identical(par_set(A, B, "setdiff"), c(1, 5, 7, 7, 8, 9))
  expect_identical(par_set(A, B, "symdiff"), c(1, 2, 3, 5, 7, 7, 8, 9))
})

test_that("long vectors are cut into pieces, with the same items for any number of threads", {
  skip_below("quick")
  set.seed(4)
  draws <- list(spread = function(n) sample.int(2e5, n, TRUE), tied = function(n) sample.int(3L, n, TRUE),
                doubles = function(n) round(stats::rnorm(n), 4))
  for (draw in draws) {
    x <- sort(draw(1.5e5))
    y <- sort(draw(1e5))
    for (threads in c(1, 3)) with_kernweave(threads = threads, code = {
      expect_identical(par_merge(x, y), sort(c(x, y)))
      expect_identical(par_search(x, y), findInterval(x, y, left.open = TRUE))
      shuffled <- sample(x)
      expect_identical(par_search(shuffled, y, "upper"), findInterval(shuffled, y))
      for (op in set_ops) for (multiset in c(TRUE, FALSE))
        expect_identical(par_set(x, y, op, multiset), multiset_by_counts(x, y, op, multiset))
    })
  }
})

test_that("classes stay, names go, types meet", {
  day <- as.Date("2024-03-01")
  expect_identical(par_merge(day + c(a = 0, b = 2), day + 1), day + 0:2)
  expect_identical(par_merge(1:2, 1.5), c(1, 1.5, 2))
  expect_identical(par_set(c(TRUE, NA), 0:1), c(0L, 1L, NA))
  expect_identical(par_merge(int64(c(5, 6), c(0, 1)), int64(1, 1)), int64(c(5, 1, 6), c(0, 1, 1)))
  frames <- list(data.frame(v = c("x", "z")), data.frame(v = "y"))
  expect_identical(par_merge(c(1, 3), 2, values = frames)$values$v, c("x", "y", "z"))
  expect_identical(par_merge(numeric(), integer()), numeric())
})

test_that("what is not sorted, or not of one kind, is said by argument and place", {
  error <- function(code, says, class) expect_error(code, says, class = paste0("kernweave_error_", class), fixed = TRUE)
  error(par_merge(c(1, 3, 2), 1), "`x` must be sorted, as par_sort() sorts: of 3 items, number 3", "value")
  error(par_merge(1, c(NA, 1)), "`y` must be sorted", "value")
  error(par_set(c(NA, 1L), 1L), "`x` must be sorted", "value")
  error(par_set(c("b", "a"), "a"), "`x` must be sorted", "value")
  error(par_search(1, c(2, 1)), "`haystack` must be sorted", "value")
  error(par_search(1, c(2, NA)), "`haystack` has missing values", "value")
  error(par_search(c(2, 1), 1, match = TRUE), "`needles` must be sorted", "value")
  error(par_search(1, 1, side = "left"), "`side` must be one of", "input")
  error(par_merge(1, "a"), "`x` is numbers, `y` is characters", "input")
  error(par_merge(list(1), 1), "`x` must be a vector", "input")
  error(par_merge(1:2, 1, values = 1:3), "`values` must be a list of two", "input")
  error(par_merge(1:2, 1, values = list(1, 1)), "`values` has 1 and 1 items, `x` and `y` have 2 and 1", "shape")
  error(par_set(1, 1, "xor"), "`op` must be one of", "input")
  error(par_set(1, 1, multiset = NA), "`multiset` must be TRUE or FALSE", "input")
  expect_length(par_merge(c(3, 1), c(2, 0), check = FALSE), 4)
  expect_error(par_merge(rev(seq_len(1e5)), seq_len(1e5), check = FALSE), "are not",
               class = "kernweave_error_input")
})
