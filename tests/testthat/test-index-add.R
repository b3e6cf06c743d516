# index_add(), against the loop in base R, rowsum() and what it must refuse.

random_case <- function() {
  rank <- sample(5, 1)
  extents <- sample(0:4, rank, TRUE)
  if (stats::runif(1) < 0.3) extents[1] <- sample(300, 1)
  dim <- sample(rank, 1)
  extents[dim] <- max(extents[dim], 1L)
  index <- sample(extents[dim], sample(c(0:6, 15:17, 64, 65), 1), TRUE)
  wide <- replace(extents, dim, length(index))
  if (stats::runif(1) < 0.3) wide[sample(rank, sample(rank, 1))] <- 1L
  types <- c("integer", "logical", "double", "awkward")
  source <- random_array(wide, sample(types, 1))
  list(x = random_array(extents, sample(types, 1)), index = index, dim = dim,
       source = if (stats::runif(1) < 0.2 || is.null(dim(source)) && rank > 1) 3L else source,
       alpha = sample(list(1, -1, 2L, 0.5), 1)[[1]], op = sample(c("sum", "prod", "min", "max", "mean"), 1),
       include = stats::runif(1) < 0.5)
}

test_that("any rank, dimension, type and operation gives what the loop gives", {
  set.seed(1)
  for (trial in trials(1200)) {
    case <- random_case()
    expected <- if (length(case$index)) suppressWarnings(do.call(loop_index_add, case)) else case$x
    found <- suppressWarnings(do.call(index_add, case))
    expect_identical(attributes(found), attributes(case$x))
    if (!isTRUE(all.equal(found, expected)) || typeof(found) != typeof(expected)) {
      expect_equal(found, expected, info = paste(case$op, case$dim, deparse(dim(case$x))))
    }
    if (trial %% 3 || !length(case$index)) next
    plan <- par_segments(by = case$index)
    expect_equal(suppressWarnings(do.call(index_add, c(case, list(plan = plan)))), expected)
    case$index <- NULL
    sorted <- is.null(unclass(plan)$codes)
    expect_equal(suppressWarnings(do.call(index_add, c(case, list(plan = plan)))), expected, info = sorted)
  }
})

# Sizes at which different ways are taken: extents of x, dimension, number of items.
sizes <- list(list(c(7), 1, 1e5), list(c(5, 3), 1, 2e5), list(c(3, 5), 2, 4e4), list(c(3e4), 1, 5e4),
              list(c(4e5), 1, 50), list(c(2e6), 1, 1e5), list(c(300, 40), 1, 3000), list(c(40, 3e4), 2, 7e4),
              list(c(2000, 3, 2), 1, 7),
              list(c(2, 50, 70), 2, 500), list(c(65, 9), 2, 1e4), list(c(3, 4, 5), 2, 8192 * 4))

test_that("every way gives the same bits on any number of threads, with a plan and without", {
  skip_below("quick")
  set.seed(2)
  cases <- combinations(size = seq_along(sizes), op = c("sum", "mean"), type = c("double", "integer"), times = 2)
  for (case in seq_len(nrow(cases))) {
    size <- sizes[[cases$size[case]]]
    op <- cases$op[case]
    type <- cases$type[case]
    extents <- size[[1]]
    dim <- size[[2]]
    index <- sample(extents[dim], size[[3]], TRUE, prob = seq_len(extents[dim])^-1.1)
    source <- random_array(replace(extents, dim, length(index)), type)
    x <- random_array(extents, type)
    if (length(extents) == 1) source <- as.vector(source)
    once <- with_kernweave(index_add(x, index, source, dim, -2, op), threads = 1)
    label <- paste(op, type, deparse(extents))
    expect_identical(with_kernweave(index_add(x, index, source, dim, -2, op), threads = 3), once, label = label)
    plan <- par_segments(by = index)
    expect_identical(with_kernweave(index_add(x, index, source, dim, -2, op, plan = plan), threads = 2), once,
                     label = label)
    expect_equal(index_add(x, index, source, dim, -2, op, deterministic = FALSE), once, label = label)
    if (op == "sum" && length(extents) < 3) {
      rows <- function(a) if (dim == 2) t(a) else as.matrix(a)
      sums <- rowsum(rows(source) * -2, index)
      by_row <- rows(x) + 0
      at <- as.integer(rownames(sums))
      by_row[at, ] <- by_row[at, , drop = FALSE] + sums
      expect_equal(rows(once) + 0, by_row, ignore_attr = TRUE, label = label)
    }
  }
})

test_that("shapes in which few slices are added to many, and many to few, are what the loop gives", {
  skip_below("quick")
  set.seed(3)
  check <- function(extents, dim, items, most) {
    x <- random_array(extents, "double")
    index <- sample.int(most, items, TRUE)
    source <- array(stats::rnorm(prod(extents) / extents[dim] * items), replace(extents, dim, items))
    expect_identical(index_add(x, index, source, dim), loop_index_add(x, index, source, dim))
  }
  for (items in c(15, 16, 17, 64, 65)) {
    check(2^15, 1, items, 1024)
    check(c(32, 2048), 2, items, 1024)
    check(c(2048, 32), 1, items, 1024)
    check(c(32, 31, 32), 3, items, 32)
    check(c(32, 31, 32), 1, items, 32)
  }
  check(2^15, 1, 1024, 1024)
  for (run in c(1, 3, 4, 5, 31, 32)) check(c(run, 2048), 2, 1024, 1024)
})

test_that("sums into zeros are those of rowsum()", {
  set.seed(4)
  values <- matrix(stats::rnorm(6e4), ncol = 3)
  group <- sample(500, nrow(values), TRUE)
  expect_equal(index_add(matrix(0, 500, 3), group, values), rowsum(values, group), ignore_attr = TRUE)
  expect_identical(index_add(integer(500), group, 1L), tabulate(group, 500))
})

test_that("totals of integers are exact, and NA with a warning where they are too large", {
  most <- .Machine$integer.max
  expect_identical(index_add(most, c(1, 1, 1), c(most, -most, -1L)), most - 1L)
  expect_identical(index_add(c(5L, 5L), c(1, 1, 1, 2), c(most, most, 0L, 2L), op = "prod"), c(0L, 10L))
  expect_warning(lost <- index_add(c(a = most, b = 1L), 1:2, 1L), class = "kernweave_warning_overflow")
  expect_identical(lost, c(a = NA, b = 2L))
  expect_warning(lost <- index_add(1L, 1, most, alpha = -2), class = "kernweave_warning_overflow")
  expect_identical(lost, NA_integer_)
  expect_silent(missing <- index_add(c(1L, 2L), c(1, 1), c(NA, most), op = "sum"))
  expect_identical(missing, c(NA, 2L))
  expect_warning(by_blocks <- index_add(0L, rep(1, 1e5), most), class = "kernweave_warning_overflow")
  expect_identical(by_blocks, NA_integer_)
  expect_identical(index_add(0L, rep(1, 1e5), rep(c(most, -most), 5e4)), 0L)
  expect_identical(index_add(c(TRUE, FALSE), c(1, 1), TRUE), c(3L, 0L))
  expect_identical(index_add(1L, 1, 1L, alpha = 0.5), 1.5)
  expect_identical(index_add(1:2, 1, 2, op = "max"), c(2, 2))
})

test_that("what is not indexed keeps its bits, and attributes stay", {
  x <- structure(c(-0, NaN, NA, 3), names = letters[1:4], note = "kept")
  far <- index_add(x, rep(4, 1e5), 1)
  expect_identical(1 / far[[1]], -Inf)
  expect_true(is.nan(far[[2]]) && identical(far[[3]], NA_real_))
  expect_identical(attributes(far), attributes(x))
  expect_identical(index_add(x, integer(), numeric()), x)
  expect_identical(index_add(1:3, c(TRUE, FALSE, TRUE), 10L), c(11L, 2L, 13L))
  expect_identical(index_add(1:3, logical(3), 10L), 1:3)
  frame <- matrix(1:4, 2, dimnames = list(c("a", "b"), NULL))
  expect_identical(index_add(frame, 2, matrix(1L, 1, 2)), frame + c(0L, 1L))
})

test_that("what does not fit is refused by class, and nothing is written", {
  x <- matrix(1, 3, 2)
  before <- x + 0
  error <- function(code, says, class) expect_error(code, says, class = paste0("kernweave_error_", class), fixed = TRUE)
  error(index_add(x, c(1, 4), 1), "at least 1 and at most 3, the extent of `x`; number 2 of 2 is 4", "index")
  error(index_add(x, c(1L, NA), 1), "number 2 of 2 is NA", "index")
  error(index_add(x, c(2, NaN), 1), "number 2 of 2 is NA", "index")
  error(index_add(x, 0L, 1), "is 0", "index")
  error(index_add(x, -1, 1), "is -1", "index")
  error(index_add(x, 1.5, 1), "is 1.5", "index")
  error(index_add(x, 12345678, 1), "is 12345678", "index")
  error(index_add(x, c(TRUE, NA, FALSE), 1), "number 2 is the first", "index")
  error(index_add(x, c(TRUE, FALSE), 1), "2 logical values, and `x` 3 slices", "shape")
  error(index_add(x, "a", 1), "`index` must be whole numbers or logical values", "input")
  error(index_add(x, factor(1), 1), "`index` must be", "input")
  error(index_add(x, 1:2, matrix(1, 3, 2)), "of 2 x 2, with 1 where one serves all, not of 3 x 2", "shape")
  error(index_add(x, 1:2, c(1, 2)), "not of 2", "shape")
  error(index_add(x, 1, 1, dim = 3), "`dim` must be a dimension of `x`, which has 2, not 3", "shape")
  error(index_add("a", 1, 1), "`x` must be numbers", "input")
  error(index_add(factor("a"), 1, 1), "`x` must be numbers", "input")
  error(index_add(int64(1, 0), 1, 1), "`x` must be numbers", "input")
  error(index_add(1, 1, as.Date("2024-01-01")), "`source` must be numbers", "input")
  error(index_add(1, 1, 1, alpha = 1:2), "`alpha` must be one number", "input")
  error(index_add(1, 1, 1, op = "median"), "`op` must be one of", "input")
  error(index_add(1, 1, 1, deterministic = NA), "`deterministic` must be TRUE or FALSE", "input")
  error(index_add(1, source = 1), "`index` is not given", "input")
  plan <- par_segments(by = c(3, 1, 3))
  many <- integer(20)
  error(index_add(many, c(3, 1, 2), 1L, plan = plan), "of another index, as its group 2 shows", "input")
  error(index_add(many, c(2, 2, 2), 1L, plan = plan), "its group 2 shows", "input")
  error(index_add(x, 3, 1, plan = plan), "`plan` is of 3 items, and `index` has 1", "shape")
  error(index_add(x, 1, 1, plan = par_segments(lengths = 1)), "not another plan", "input")
  error(index_add(matrix(1, 2, 2), , 1, plan = plan), "is 3", "index")
  error(gradient(function(v) sum(index_add(x, 1, v, op = "max")))(2), "op = \"sum\" alone", "no_gradient")
  expect_identical(x, before)
})
