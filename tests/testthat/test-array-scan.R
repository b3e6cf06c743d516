# par_scan() against base R's running sums and extremes, segment by segment.

running <- list(sum = cumsum, prod = cumprod, min = cummin, max = cummax, mean = function(x) cumsum(x) / seq_along(x),
                logsumexp = function(x) log(cumsum(exp(x))),
                argmin = function(x) match(cummin(x), x), any = function(x) cumsum(x) > 0,
                all = function(x) cumsum(!x) == 0)
neutral <- list(sum = 0, prod = 1, min = Inf, max = -Inf, mean = NaN, logsumexp = -Inf, argmin = NA, any = FALSE,
                all = TRUE)

test_that("running results of random segments are those of base R", {
  set.seed(1)
  for (round in trials(20)) for (kind in kinds_of_lengths) for (op in names(running)) {
    lengths <- random_lengths(kind)
    s <- par_segments(lengths = lengths)
    logical <- op %in% c("any", "all")
    x <- random_items(sum(lengths), if (logical) "logical" else sample(c("double", "integer"), 1))
    places <- places_in(lengths)
    expected <- unlist(lapply(places, function(at) {
      out <- running[[op]](x[at])
      if (op == "argmin") at[out] else out
    }))
    expect_equal(par_scan(x, op, s), expected %or% x[0], tolerance = 1e-12)
    shifted <- unlist(lapply(places, function(at) {
      out <- running[[op]](x[at])
      if (op == "argmin") out <- at[out]
      c(neutral[[op]], out)[seq_along(at)]
    }))
    expect_equal(par_scan(x, op, s, exclusive = TRUE), shifted %or% par_scan(x[0], op, exclusive = TRUE),
                 tolerance = 1e-12)
  }
})
`%or%` <- function(x, y) if (length(x)) x else y

test_that("scans over several pieces have base R's numbers, and the same bits on any threads", {
  skip_below("quick")
  set.seed(2)
  for (lengths in long_lengths) {
    s <- par_segments(lengths = lengths)
    x <- stats::rnorm(sum(lengths))
    expected <- unlist(lapply(places_in(lengths), function(at) cumsum(x[at])))
    one <- with_threads(1, par_scan(x, "sum", s))
    expect_equal(one, expected, tolerance = 1e-10)
    for (threads in 2:4) expect_identical(with_threads(threads, par_scan(x, "sum", s)), one)
    whole <- sample(100L, sum(lengths), TRUE)
    expect_identical(par_scan(whole, "sum", s), unlist(lapply(places_in(lengths), function(at) cumsum(whole[at]))))
    expect_identical(par_scan(whole), cumsum(whole))
    expect_identical(par_scan(x, "max"), cummax(x))
  }
})

test_that("groups are scanned where their items lie", {
  set.seed(3)
  for (groups in c(2, 50, 20000)) {
    by <- sample(groups, 60000, TRUE)
    x <- sample(1000L, 60000, TRUE)
    expect_identical(par_scan(x, "sum", par_segments(by = by)), ave(x, by, FUN = cumsum))
    expect_identical(par_scan(x, "max", par_segments(by = by)), ave(x, by, FUN = cummax))
  }
})

test_that("missing values fill what comes after them, and integers that are too large are NA with a warning", {
  x <- c(a = 1, b = NA, c = 3)
  expect_identical(par_scan(x), cumsum(x))
  expect_identical(par_scan(c(2L, NA, 1L), "max"), cummax(c(2L, NA, 1L)))
  expect_identical(par_scan(c(2L, NA, 1L), "sum", par_segments(lengths = c(2, 1))), c(2L, NA, 1L))
  expect_identical(par_scan(c(NA, TRUE, FALSE), "any"), c(NA, TRUE, TRUE))
  big <- .Machine$integer.max
  for (x in list(c(1L, big, -big, 5L), c(-1L, -big, -1L), c(integer(80000), big, 1L, -big, integer(80000)))) {
    expect_warning(found <- par_scan(x), "too large for an integer", class = "kernweave_warning_overflow")
    expect_identical(found, suppressWarnings(cumsum(x)))
  }
})

test_that("segments begin with `init`, matrices are scanned column by column, classes are kept", {
  s <- par_segments(lengths = c(2, 1))
  expect_identical(par_scan(1:3, "sum", s, init = 10L), c(11L, 13L, 13L))
  expect_identical(par_scan(1:3, "sum", s, exclusive = TRUE, init = 10L), c(10L, 11L, 10L))
  expect_identical(par_scan(1:3, "max", init = 2L, exclusive = TRUE), c(2L, 2L, 2L))
  m <- matrix(1:6, 3, dimnames = list(NULL, c("a", "b")))
  expect_identical(par_scan(m, "sum", s), rbind(m[1, ], m[1, ] + m[2, ], m[3, ]))
  expect_identical(par_scan(m), cumsum(m))
  day <- as.Date("2024-01-03") - c(0, 2, 1)
  expect_identical(par_scan(day, "min"), as.Date("2024-01-03") - c(0, 2, 2))
  expect_identical(par_scan(double()), double())
  expect_identical(par_scan(integer(), "sum", par_segments(lengths = integer())), integer())
  expect_error(par_scan(1:3, "range"), "must be one of", class = "kernweave_error_input")
  expect_error(par_scan(1:3, "sum", par_segments(lengths = 2)), "`segments` are of 2 items",
               class = "kernweave_error_shape")
})
