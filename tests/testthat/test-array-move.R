# Verbs that move items, against base R.

# Vectors of every kind, with and without names and classes.
vectors_of <- function(n) {
  list(seq_len(n) + 0.5, sample(n), rep_len(c(TRUE, NA, FALSE), n), complex(real = seq_len(n), imaginary = 1),
       as.raw(seq_len(n) %% 256), sample(letters, n, TRUE), as.list(seq_len(n)),
       stats::setNames(seq_len(n), paste0("n", seq_len(n))), factor(sample(c("u", "v"), n, TRUE), c("v", "w", "u")),
       as.Date("2024-01-01") + seq_len(n), as.POSIXct("2024-01-01", tz = "UTC") + seq_len(n),
       as.difftime(seq_len(n), units = "mins"))
}

test_that("items are removed as x[-i] removes them, whatever they are", {
  set.seed(1)
  for (round in trials(100)) {
    x <- sample(0:40, 1)
    at <- sample(x, sample(0:x, 1))
    expect_identical(par_remove(seq_len(x) + 0, at), if (length(at)) (seq_len(x) + 0)[-at] else seq_len(x) + 0)
  }
  for (x in vectors_of(30)) {
    expect_identical(par_remove(x, c(30, 2, 3, 2, 17)), x[-c(30, 2, 3, 2, 17)])
    expect_identical(par_remove(x, integer()), x)
    expect_identical(par_remove(x, 1:30), x[0])
    gone <- seq_len(30) %% 3 == 0
    expect_identical(par_remove(x, gone), x[!gone])
  }
  x <- stats::runif(200000)
  for (at in list(sample(200000, 70000), 1:150000, seq(2, 200000, 2), 100000)) {
    for (threads in 1:4) expect_identical(with_threads(threads, par_remove(x, at)), x[-at])
  }
})

test_that("values are inserted as a loop of append() inserts them", {
  by_append <- function(x, values, after) {
    order <- order(after)
    for (k in rev(order)) x <- append(x, values[k], after[k])
    x
  }
  set.seed(2)
  for (round in trials(150)) {
    x <- seq_len(sample(0:20, 1)) + 0
    after <- sample(0:length(x), sample(0:12, 1), TRUE)
    values <- 100 + seq_along(after)
    expect_identical(par_insert(x, values, after), by_append(x, values, after))
  }
  expect_identical(par_insert(paste0("A", 0:4), paste0("B", 0:4), c(1, 1, 2, 3, 3)),
                   c("A0", "B0", "B1", "A1", "B2", "A2", "B3", "B4", "A3", "A4"))
  for (x in vectors_of(12)) {
    found <- par_insert(x, x[c(3, 1)], c(12, 0))
    expect_identical(found, x[c(1, 1:12, 3)])
    expect_identical(par_insert(x, x[0], integer()), x)
    expect_identical(par_insert(x[0], x, 0), x)
  }
  expect_identical(par_insert(1:3, 10:12, after = 1), append(1:3, 10:12, 1))
  expect_identical(par_insert(1:2, 0.5, 1), c(1, 0.5, 2))
  expect_identical(par_insert(c(a = 1), 2, 0), c(2, a = 1))
  expect_identical(par_insert(1:2, "x", 1), c("1", "x", "2"))
  x <- stats::runif(100000)
  for (after in list(sample(0:100000, 90000, TRUE), rep(50000L, 100000), integer(80000))) {
    values <- -seq_along(after)
    expected <- c(x, values)[order(c(seq_along(x), sort(after)), rep(1:2, c(length(x), length(after))))]
    order <- order(after)
    expected[expected < 0] <- -order
    for (threads in 1:4) expect_identical(with_threads(threads, par_insert(x, values, after)), expected)
  }
})

test_that("items are repeated as rep() does it, and counted as sequence() does it", {
  set.seed(3)
  for (round in trials(30)) for (kind in kinds_of_lengths) {
    counts <- random_lengths(kind)
    x <- stats::rnorm(length(counts))
    expect_identical(par_expand(x, counts), rep(x, counts))
    objects <- rep(seq_along(counts), counts)
    expect_identical(par_expand(counts = counts), list(object = objects, rank = sequence(counts)))
  }
  for (x in vectors_of(9)) {
    counts <- c(1, 2, 1, 0, 4, 2, 3, 0, 2)
    expected <- x[rep(1:9, counts)]
    expect_identical(par_expand(x, counts), expected)
  }
  for (counts in long_lengths) {
    x <- seq_along(counts)
    for (threads in 1:4) {
      expect_identical(with_threads(threads, par_expand(x, counts)), rep(x, counts))
      expect_identical(with_threads(threads, par_expand(counts = counts)$rank), sequence(counts))
    }
  }
})

test_that("stretches are gathered, scattered and copied as subscripts by sequence() do it", {
  set.seed(4)
  for (round in trials(150)) {
    counts <- random_lengths(sample(kinds_of_lengths, 1), 6)
    n <- sum(counts) + sample(1:20, 1)
    x <- stats::runif(n)
    from <- vapply(counts, function(count) sample(n - count + 1, 1), 1L)
    rows <- sequence(counts, from)
    expect_identical(par_move(x, from, counts = counts), x[rows])
    gaps <- sample(0:3, length(counts), TRUE)
    shuffled <- sample(length(counts))
    to <- integer(length(counts))
    to[shuffled] <- cumsum(gaps + c(0, counts[shuffled])[seq_along(counts)]) + 1L
    into <- stats::runif(sum(counts) + sum(gaps) + 1)
    expected <- replace(into, sequence(counts, to), x[rows])
    expect_identical(par_move(x, from, to, counts, into), expected)
    expect_identical(par_move(x[rows], to = to, counts = counts, into = into), expected)
  }
  for (x in vectors_of(7)) {
    expect_identical(par_move(x, c(5, 1), counts = 2:3), x[c(5, 6, 1, 2, 3)])
    expect_identical(par_move(x, c(5, 1), c(2, 5), 2:3, into = x), replace(x, c(2, 3, 5:7), x[c(5, 6, 1:3)]))
  }
  expect_identical(par_move(1:5, to = c(7, 1), counts = c(2, 3)), c(3L, 4L, 5L, NA, NA, NA, 1L, 2L))
  expect_identical(par_move(letters[1:2], to = c(4, 1), counts = 1), c("b", NA, NA, "a"))
  x <- stats::runif(1e5)
  from <- sample(1e5 - 100, 2000)
  one <- with_threads(1, par_move(x, from, counts = 100))
  expect_identical(one, x[sequence(rep(100, 2000), from)])
  for (threads in 2:4) expect_identical(with_threads(threads, par_move(x, from, counts = 100)), one)
})

test_that("what cannot be moved is refused by name, with the sizes", {
  refused <- function(code, class, message) {
    expect_error(code, message, class = paste0("kernweave_error_", class), fixed = TRUE)
  }
  refused(par_remove(1:3, 4), "index", "`at` must be whole numbers of at least 1 and at most 3; number 1 of 1 is 4")
  refused(par_remove(1:3, c(1, NA)), "value", "number 2 of 2 is NA")
  refused(par_remove(1:3, TRUE), "shape", "`at` has 1 flag, and `x` has 3 items")
  refused(par_remove(1:3, c(TRUE, NA, FALSE)), "value", "`at` has missing values; number 2")
  refused(par_remove(iris, 1), "input", "`x` must be a vector, not an object of class data.frame; move the numbers")
  refused(par_insert(1:3, 1:2, 1:3), "shape", "`after` has 3 places, and `values` has 2 items")
  refused(par_insert(1:3, 1, 4), "index", "`after` must be whole numbers of at least 0 and at most 3")
  refused(par_insert(factor("a"), factor("b"), 0), "input", "factors of 1 and 1 levels that differ")
  refused(par_insert(Sys.Date(), 1, 0), "input", "make them of one class first")
  refused(par_expand(1:3, 1:2), "shape", "`counts` has 2 numbers, and `x` has 3 items")
  refused(par_expand(1:2, c(1, -1)), "value", "number 2 of 2 is -1")
  refused(par_expand(1:2, c(1L, NA)), "value", "number 2 of 2 is NA")
  refused(par_move(1:3, counts = 1), "input", "`from` or `to` must be given")
  refused(par_move(1:3, 1:2, counts = 1:3), "shape", "`from` has 2, and `counts` 3 numbers")
  refused(par_move(1:3, 2, counts = 3), "index", "`from`: stretch 1 goes from 2 to 4, and `x` has 3 items")
  refused(par_move(1:3, to = 2, counts = 3, into = 1:3), "index", "`to`: stretch 1 goes from 2 to 4, and `into` has 3")
  refused(par_move(1:3, to = 1, counts = 2), "shape", "`counts` add up to 2, and `x` has 3 items")
  refused(par_move(1:4, to = c(3, 2), counts = 2), "value", "stretches 2 and 1 would both be written to place 3")
})

test_that("an argument that is not given is named, in every verb", {
  missing <- list(x = quote(par_order()), x = quote(par_sort()), x = quote(par_reduce()), x = quote(par_scan()),
                  y = quote(par_merge(1)), y = quote(par_set(1)), y = quote(par_join(1)),
                  haystack = quote(par_search(1)), at = quote(par_remove(1)), values = quote(par_insert(1)),
                  counts = quote(par_expand(1)), counts = quote(par_move(1:3, 1)), source = quote(index_add(1:3, 1)))
  for (k in seq_along(missing)) {
    expect_error(eval(missing[[k]]), paste0("`", names(missing)[k], "` is not given"), class = "kernweave_error_input",
                 label = deparse1(missing[[k]]))
  }
})
