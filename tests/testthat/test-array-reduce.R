# par_reduce() against base R, segment by segment.

expect_same_numbers <- function(found, expected, label) {
  found <- unname(found)
  expected <- unlist(expected)
  good <- length(found) == length(expected) && identical(is.na(found), is.na(expected)) &&
    identical(is.nan(found), is.nan(expected)) &&
    isTRUE(all.equal(as.double(found), as.double(expected) %or% numeric(), tolerance = 1e-13))
  expect_true(good, label = label)
}
`%or%` <- function(x, y) if (length(x)) x else y

test_that("every operator gives of random segments what base R gives of each", {
  set.seed(1)
  for (round in trials(60)) for (kind in kinds_of_lengths) {
    lengths <- random_lengths(kind)
    s <- par_segments(lengths = lengths)
    type <- sample(c("double", "integer", "logical"), 1)
    x <- random_items(sum(lengths), type, missing = round %% 2 == 0)
    na.rm <- round %% 4 == 0
    for (op in names(oracle_operators)) {
      expected <- lapply(places_in(lengths), function(at) oracle_operators[[op]](x[at], at, na.rm))
      expect_same_numbers(par_reduce(x, op, s, na.rm = na.rm), expected, paste(op, type, kind, round))
    }
  }
})

test_that("long and short segments that reach over pieces give base R's numbers, and the same bits on any threads", {
  skip_below("quick")
  set.seed(2)
  for (lengths in long_lengths) {
    s <- par_segments(lengths = lengths)
    x <- stats::rnorm(sum(lengths))
    ends <- cumsum(as.numeric(lengths))
    sums <- diff(c(0, c(0, cumsum(x))[ends + 1]))
    expect_equal(par_reduce(x, "sum", s), sums, tolerance = 1e-9)
    for (op in c("sum", "logsumexp", "argmin", "mean")) {
      one <- with_threads(1, par_reduce(x, op, s))
      for (threads in 2:4) expect_identical(with_threads(threads, par_reduce(x, op, s)), one)
    }
    largest <- vapply(split(x, factor(rep(seq_along(lengths), lengths), seq_along(lengths))),
                      function(x) if (length(x)) max(x) else -Inf, 0)
    expect_identical(par_reduce(x, "max", s), unname(largest))
  }
})

test_that("groups are reduced as rowsum() and tapply() do it, on any number of threads", {
  set.seed(3)
  for (groups in if (reaches("quick")) c(1, 3, 40, 3000, 30000) else c(3, 30000)) {
    by <- sample(c(NA, seq_len(groups)), 50000, TRUE)
    x <- stats::rnorm(50000)
    s <- par_segments(by = by)
    sums <- suppressWarnings(rowsum(x, by))
    expect_equal(par_reduce(x, "sum", s), sums[, 1], tolerance = 1e-12)
    known <- tapply(x, by, max)
    expect_identical(unname(par_reduce(x, "max", s))[seq_along(known)], as.vector(known))
    places <- par_reduce(x, "argmin", s)
    expect_identical(by[places], sort(unique(by), na.last = TRUE))
    expect_identical(x[places], unname(par_reduce(x, "min", s)))
    one <- with_threads(1, par_reduce(x, "sum", s))
    for (threads in 2:4) expect_identical(with_threads(threads, par_reduce(x, "sum", par_segments(by = by))), one)
  }
  words <- sample(c("b", "a", NA), 30, TRUE)
  expect_equal(par_reduce(1:30, "sum", par_segments(by = words)), suppressWarnings(rowsum(1:30, words)[, 1]))
  x[7] <- NA
  found <- par_reduce(c(NaN, 1, NA, 2, 3, NaN, 1, NA, 5), "sum", par_segments(by = c(1, 1, 2, 3, 3, 1, 2, 2, 3)))
  expect_identical(is.nan(found), c(`1` = TRUE, `2` = FALSE, `3` = FALSE))
  expect_identical(is.na(found), c(`1` = TRUE, `2` = TRUE, `3` = FALSE))
})

test_that("columns of a matrix are reduced by one plan", {
  x <- matrix(c(1:6, NA, 8:12), 6, dimnames = list(NULL, c("a", "b")))
  by <- c("u", "v", "u", "v", "u", "u")
  expect_equal(par_reduce(x, "sum", par_segments(by = by)), rowsum(x, by))
  s <- par_segments(lengths = c(p = 2, q = 0, r = 4))
  expect_identical(par_reduce(x, "sum", s, na.rm = TRUE),
                   matrix(c(3L, 0L, 18L, 8L, 0L, 42L), 3, dimnames = list(c("p", "q", "r"), c("a", "b"))))
  expect_identical(dim(par_reduce(x, "range", s)), c(3L, 2L, 2L))
  expect_identical(par_reduce(x, "max", na.rm = TRUE), max(x, na.rm = TRUE))
})

test_that("types, classes and names are those of base R", {
  expect_identical(par_reduce(c(2L, NA, 5L), "sum", na.rm = TRUE), 7L)
  expect_identical(par_reduce(c(TRUE, TRUE)), 2L)
  expect_identical(par_reduce(c(TRUE, NA), "any"), TRUE)
  expect_identical(par_reduce(c(FALSE, NA), "any"), NA)
  expect_identical(par_reduce(c(FALSE, NA), "all"), FALSE)
  expect_identical(par_reduce(c(TRUE, NA), "all"), NA)
  expect_identical(par_reduce(logical(), "all"), TRUE)
  expect_identical(par_reduce(c(4L, 2L), "range"), c(2L, 4L))
  expect_identical(par_reduce(integer(), "max"), -Inf)
  expect_identical(par_reduce(double(), "argmax"), NA_integer_)
  expect_identical(par_reduce(1:3, "prod"), 6)
  day <- as.Date("2024-02-28") + 0:3
  expect_identical(par_reduce(day, "max"), max(day))
  pairs <- par_segments(lengths = c(a = 2, b = 2))
  expect_equal(par_reduce(day, "mean", pairs), c(a = mean(day[1:2]), b = mean(day[3:4])))
  time <- as.POSIXct(day, tz = "UTC")
  expect_identical(par_reduce(time, "min"), min(time))
  size <- factor(c("s", "l", "s"), c("s", "m", "l"), ordered = TRUE)
  expect_identical(par_reduce(size, "max"), max(size))
  expect_identical(par_reduce(day[2:4], "argmin"), 1L)
  expect_equal(par_reduce(c(1, 2), "sum", init = 10), 13)
  expect_identical(par_reduce(1:4, "max", par_segments(lengths = c(2, 0, 2)), init = 3L), c(3L, 3L, 4L))
})

test_that("sums of integers are exact, and doubles where they are too large, as those of sum()", {
  big <- .Machine$integer.max
  expect_identical(par_reduce(c(big, big, -big, -5L)), big - 5L)
  for (x in list(c(big, 7L), c(-big, -1L), c(-big, -big, 3L), rep(big, 3e4), rep(TRUE, 9))) {
    expect_silent(found <- par_reduce(x))
    expect_identical(found, sum(x))
  }
  expect_silent(found <- par_reduce(c(big, 1L, 3L, NA, 5L, NA), "sum", par_segments(lengths = c(2, 1, 1, 2))))
  expect_identical(found, c(big + 1, 3, NA, NA))
  expect_identical(par_reduce(c(big, NA, big), na.rm = TRUE), sum(c(big, NA, big), na.rm = TRUE))
  m <- cbind(a = c(big, big, 1L), b = 1:3)
  expect_identical(par_reduce(m, "sum", par_segments(by = c(2, 2, 1))),
                   rbind("1" = c(a = 1, b = 3), "2" = c(2 * big, 3)))
  many <- rep(c(big, -big + 1L), 1e5)
  expect_identical(par_reduce(many), 100000L)
})

test_that("counts and variances are those of length() and var(), of each segment", {
  set.seed(6)
  for (round in trials(20)) for (kind in kinds_of_lengths) {
    lengths <- random_lengths(kind)
    s <- par_segments(lengths = lengths)
    x <- 1e6 + random_items(sum(lengths), sample(c("double", "integer", "logical"), 1), missing = round %% 2 == 0)
    na.rm <- round %% 4 == 0
    here <- lapply(places_in(lengths), function(at) if (na.rm) x[at][!is.na(x[at])] else x[at])
    expect_identical(par_reduce(x, "count", s, na.rm = na.rm), lengths(here), label = kind)
    expect_equal(par_reduce(x, "var", s, na.rm = na.rm), vapply(here, function(v) as.double(var(c(v))), 0))
  }
  by <- sample(c("b", "a", NA), 40, TRUE)
  m <- cbind(u = runif(40), v = 1e8 + runif(40))
  expected <- rbind(a = diag(var(m[which(by == "a"), ])), b = diag(var(m[which(by == "b"), ])))
  expect_equal(par_reduce(m, "var", par_segments(by = by))[1:2, ], expected, tolerance = 1e-7)
  expect_identical(par_reduce(c("a", NA), "count", na.rm = TRUE), 1L)
  expect_identical(par_reduce(m, "count"), 80L)
  expect_equal(par_reduce(m, "var"), var(c(m)))
})

test_that("of a data frame each column is reduced by itself", {
  x <- data.frame(n = c(1L, NA, 3L, 4L), yes = c(TRUE, FALSE, NA, FALSE), day = as.Date("2025-03-01") + 0:3)
  s <- par_segments(by = c("v", "u", "v", "u"))
  expect_identical(par_reduce(x, "max", s, na.rm = TRUE),
                   data.frame(n = 4:3, yes = 0:1, day = x$day[4:3], row.names = c("u", "v")))
  expect_identical(par_reduce(x, "range", na.rm = TRUE)[c("n.min", "n.max", "day.max")],
                   data.frame(n.min = 1L, n.max = 4L, day.max = x$day[4]))
  expect_identical(par_reduce(x[1:2], ~ pmin(.x, .y), s)$n, unname(par_reduce(x$n, ~ pmin(.x, .y), s)))
  expect_equal(par_reduce(iris[1:4], "var", par_segments(by = iris$Species)),
               data.frame(aggregate(iris[1:4], iris["Species"], var), row.names = 1))
  expect_identical(dim(par_reduce(x[0, ], "count")), c(1L, 3L))
  expect_error(par_reduce(iris, "mean"), "column `Species`: \"mean\" of an object of class factor",
               class = "kernweave_error_input", fixed = TRUE)
  expect_error(par_reduce(x, "sum", par_segments(lengths = 3)), "of 3 items", class = "kernweave_error_shape")
})

test_that("what cannot be reduced is refused by name", {
  refused <- function(code, class, message) {
    expect_error(code, message, class = paste0("kernweave_error_", class), fixed = TRUE)
  }
  s <- par_segments(lengths = c(2, 3))
  refused(par_reduce(1:4, "sum", s), "shape", "`segments` are of 5 items, and `x` has 4")
  refused(par_reduce(1:4, "sum", 2), "input", "`segments` must be a plan by par_segments()")
  refused(par_reduce(1:4, "summ"), "input", "did you mean `sum`")
  refused(par_reduce("a"), "input", "`x` must be a vector or matrix of numbers, not a character vector of length 1")
  refused(par_reduce(list(1)), "input", "not a list of length 1")
  refused(par_reduce(1i), "unsupported", "complex")
  refused(par_reduce(factor("a"), "max"), "input", "\"max\" of an object of class factor has no meaning")
  refused(par_reduce(Sys.Date(), "sum"), "input", "\"sum\" of an object of class Date")
  refused(par_reduce(c(0, 1), "any"), "kind", "needs logical values")
  refused(par_reduce(1, "mean", init = 1), "unsupported", "\"mean\" takes no `init`")
  refused(par_reduce(1, "var", init = 1), "unsupported", "\"var\" takes no `init`")
  refused(par_reduce(1, "sum", init = "a"), "input", "`init` must be a number")
  refused(gradient(function(x) par_reduce(x))(1:3 / 2), "no_gradient", "no derivative")
})
