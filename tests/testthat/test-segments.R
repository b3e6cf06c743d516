# Plans of segments, against base R.

test_that("a plan is made of lengths, offsets, heads or groups, and is the same", {
  s <- par_segments(lengths = c(a = 2, b = 0, c = 4))
  expect_identical(length(s), 3L)
  expect_identical(lengths(s), c(a = 2L, b = 0L, c = 4L))
  offsets <- function(...) unclass(par_segments(...))$offsets
  expect_identical(offsets(offsets = c(0, 2, 2, 6)), offsets(lengths = c(2L, 0L, 4L)))
  expect_identical(offsets(heads = c(1, 3, 3), n = 6), c(0L, 2L, 2L, 6L))
  expect_identical(offsets(heads = c(TRUE, FALSE, TRUE)), offsets(lengths = 2:1))
  for (none in list(par_segments(lengths = integer()), par_segments(heads = logical()), par_segments(by = integer()))) {
    expect_identical(length(none), 0L)
    expect_output(print(none), "<0 segments of 0 items", fixed = TRUE)
  }
})

test_that("groups are sorted, missing ones last, and items of a group keep their order", {
  set.seed(1)
  groups <- list(sample(c(3L, -1L, NA, 7L), 50, TRUE), sample(c(2.5, NA, NaN, -0, 0), 50, TRUE), rep(NA, 4),
                 sample(c("b", "a", NA, "Z"), 50, TRUE), factor(c("low", "high", "low"), c("low", "mid", "high")),
                 as.Date("2020-01-01") + sample(5, 20, TRUE), c(TRUE, FALSE, NA, TRUE),
                 c(5L, -2e9L, 2e9L, 5L), c(1L, 1L, 4L), rep(2L, 3), rep(NA_integer_, 3), c(b = 2L, a = 1L))
  for (by in groups) {
    plan <- par_segments(by = by)
    s <- list(offsets = unclass(plan)$offsets, order = ordered_items(plan, length(by)))
    known <- sort(unique(by[!is.na(by)]), method = "radix")
    expected <- c(lapply(known, function(g) unname(which(by == g))), if (anyNA(by)) list(unname(which(is.na(by)))))
    found <- Map(function(from, to) s$order[seq_len(to - from) + from], s$offsets[-length(s$offsets)], s$offsets[-1])
    expect_identical(unname(lapply(found, as.integer)), unname(expected))
    expect_identical(names(plan), as.character(c(known, if (anyNA(by)) NA)))
  }
})

test_that("plans print what is in them", {
  expect_output(print(par_segments(lengths = c(2, 0, 4))), "<3 segments of 6 items>\nlengths: 2 0 4", fixed = TRUE)
  expect_output(print(par_segments(by = c("b", "a", "b"))), "<2 segments of 3 items, by group>\nlengths: a: 1, b: 2",
                fixed = TRUE)
})

test_that("plans that cannot be are refused by name", {
  refused <- function(code, message, class = "kernweave_error_value") {
    expect_error(code, message, class = class, fixed = TRUE)
  }
  input <- function(code, message) refused(code, message, "kernweave_error_input")
  input(par_segments(), "one of `lengths`, `offsets`, `heads` and `by` must be given, not none")
  input(par_segments(lengths = 1, by = 1), "not `lengths` and `by`")
  input(par_segments(lengths = "a"), "`lengths` must be whole numbers, not a character vector")
  refused(par_segments(lengths = c(1, NA)), "`lengths` must be whole numbers of at least 0; number 2 of 2 is NA")
  refused(par_segments(lengths = c(1L, -2L)), "number 2 of 2 is -2")
  refused(par_segments(lengths = 1.5), "number 1 of 1 is 1.5")
  refused(par_segments(offsets = c(1, 2)), "`offsets` must begin with 0, not 1")
  refused(par_segments(offsets = c(0, 3, 2)), "`offsets` must ascend; number 3 is 2 behind 3")
  refused(par_segments(heads = 2, n = 3), "must begin with item 1, not with item 2")
  refused(par_segments(heads = c(1, 9), n = 3), "at most 4; number 2 of 2 is 9")
  input(par_segments(heads = 1), "needs `n`")
  refused(par_segments(heads = TRUE, n = 2), "`n` is 2, and `heads` has 1 flags", "kernweave_error_shape")
  input(par_segments(by = list(1)), "`by` must be a vector or a factor")
})

test_that("a plan is summarised and listed, and has no parts", {
  plan <- par_segments(by = c("b", "a", "b", "b"))
  expect_equal(as.data.frame(plan), data.frame(group = c("a", "b"), items = c(1L, 3L)))
  expect_equal(as.data.frame(par_segments(lengths = c(2, 0))), data.frame(items = c(2L, 0L)))
  expect_equal(summary(par_segments(lengths = c(3, 0, 1))),
               c(segments = 3, items = 4, empty = 1, shortest = 0, median = 1, longest = 3))
  expect_equal(summary(par_segments(lengths = integer()))[["segments"]], 0)
  for (code in expression(plan[1], plan[[1]], plan$offsets, c(plan, plan))) {
    expect_error(eval(code), "as.data.frame\\(\\)", class = "kernweave_error_index", label = deparse(code))
  }
})
