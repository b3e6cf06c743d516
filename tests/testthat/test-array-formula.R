# par_reduce() and par_scan() by formulas of .x and .y, against Reduce() of base R on each segment.

own <- list(
  sum = list(op = ~ .x + .y, f = function(x, y) x + y),
  largest = list(op = ~ pmax(.x, .y), f = function(x, y) pmax(x, y)),
  smallest = list(op = ~ pmin(.x, .y), f = function(x, y) pmin(x, y)),
  product = list(op = ~ .x * .y, f = function(x, y) x * y),
  compound = list(op = ~ .x + .y + .x * .y, f = function(x, y) x + y + x * y),
  logsumexp = list(op = ~ log(exp(.x) + exp(.y)), f = function(x, y) log(exp(x) + exp(y))),
  first = list(op = ~ .x, f = function(x, y) x),
  last = list(op = ~ .y, f = function(x, y) y),
  last_not_0 = list(op = ~ ifelse(.y == 0, .x, .y), f = function(x, y) if (!is.na(y) && y == 0) x else y),
  of_two = list(op = function(a, b) max2(a, b), f = function(x, y) pmax(x, y))
)

same_as <- function(found, expected) {
  expected <- as.double(expected)
  is.null(dim(found)) && is.double(found) && identical(is.nan(found), is.nan(expected)) &&
    identical(is.na(found), is.na(expected)) && isTRUE(all.equal(found, expected, tolerance = 1e-10))
}

running_of <- function(x, f, init = NULL) {
  if (is.null(init) && !length(x)) numeric() else Reduce(f, c(init, x), accumulate = TRUE)
}

# Items of which no grouping loses digits, as products of large and small ones do, or takes integers of R too far.
items_for <- function(name, n, missing) {
  type <- sample(c("double", "integer", "logical"), 1)
  x <- random_items(n, type, missing)
  if (name == "product" && type == "integer") x %% 5L - 2L
  else if (name == "compound" && type != "logical") abs(x) / 100
  else x
}

# Whether both verbs give of a layout what Reduce() gives of each of its segments.
agrees <- function(x, lengths, row) {
  s <- par_segments(lengths = lengths)
  parts <- lapply(places_in(lengths), function(at) as.double(x[at]))
  plain <- lapply(parts, running_of, row$f)
  begun <- lapply(parts, running_of, row$f, 0.5)
  last <- function(running) vapply(running, function(r) as.double(r[length(r)]), 0)
  c(same_as(par_scan(x, row$op, s), unlist(plain)),
    same_as(par_scan(x, row$op, s, init = 0.5), unlist(lapply(begun, `[`, -1))),
    same_as(par_scan(x, row$op, s, exclusive = TRUE, init = 0.5), unlist(lapply(begun, function(r) r[-length(r)]))),
    same_as(par_reduce(x, row$op, s, init = 0.5), last(begun)),
    any(lengths == 0) || same_as(par_reduce(x, row$op, s), last(plain)))
}

test_that("of random segments, formulas give what Reduce() gives of each", {
  skip_below("quick")
  set.seed(1)
  for (round in seq_len(by_tier(15, 40, 200))) for (kind in kinds_of_lengths) {
    lengths <- random_lengths(kind)
    name <- sample(names(own), 1)
    x <- items_for(name, sum(lengths), missing = round %% 3 == 0)
    good <- agrees(x, lengths, own[[name]])
    if (!all(good)) fail(paste(name, kind, round, typeof(x), paste(which(!good), collapse = " ")))
  }
  succeed()
})

test_that("long segments beside short ones have Reduce()'s numbers, and the same bits on any threads", {
  skip_below("quick")
  set.seed(2)
  for (lengths in list(c(1L, 30000L, 0L, 3L, 7000L), rep(3L, 9000), c(integer(7000), 5L, integer(4000)), 16385L)) {
    x <- stats::rnorm(sum(lengths)) / 1000
    for (name in c("compound", "last_not_0")) expect_true(all(agrees(x, lengths, own[[name]])), label = name)
    s <- par_segments(lengths = lengths)
    one <- with_threads(1, par_scan(x, own$compound$op, s))
    expect_identical(with_threads(4, par_scan(x, own$compound$op, s)), one)
  }
})

test_that("an operator is asked once, and combines a few times as many items as there are", {
  asked <- 0
  expect_equal(par_reduce(as.double(1:5000), function(a, b) {
    asked <<- asked + 1
    a + b
  }), sum(1:5000))
  expect_identical(asked, 1)
  for (lengths in list(65536, 65535, 3^10, c(40000, rep(1, 40000)), rep(3, 30000), c(rep(2, 9), 50000))) {
    done <- 0
    counting <- function(x, y) {
      done <<- done + length(x)
      x + y
    }
    x <- as.double(seq_len(sum(lengths)) %% 7)
    kernweave:::reduced_segments(x, lengths, counting)
    expect_lte(done, 2 * length(x))
    done <- 0
    sums <- par_scan(x, "sum", par_segments(lengths = lengths))
    expect_equal(kernweave:::scanned_segments(x, lengths, counting), sums)
    expect_lte(done, 4 * length(x))
  }
})

test_that("named operators and formulas agree on groups, which are scanned where their items lie", {
  set.seed(3)
  by <- sample(c(NA, letters), 3000, TRUE)
  s <- par_segments(by = by)
  x <- stats::rnorm(3000)
  for (name in c("sum", "max", "logsumexp")) {
    op <- list(sum = own$sum$op, max = own$largest$op, logsumexp = own$logsumexp$op)[[name]]
    expect_equal(par_reduce(x, op, s), par_reduce(x, name, s), tolerance = 1e-12)
    expect_equal(par_scan(x, op, s), par_scan(x, name, s), tolerance = 1e-12)
  }
  expect_identical(par_reduce(x, ~ .y, s), stats::setNames(x[par_reduce(seq_along(x), "max", s)], names(s)))
})

test_that("matrices are combined column by column where there are segments, and keep names", {
  set.seed(4)
  m <- matrix(stats::rnorm(21), 7, dimnames = list(letters[1:7], c("a", "b", "c")))
  for (s in list(par_segments(lengths = c(u = 3, v = 4)), par_segments(by = c(2, 1, 2, 1, 1, 2, 2)))) {
    for (row in own[c("compound", "first", "last")]) {
      expect_equal(par_reduce(m, row$op, s), apply(m, 2, par_reduce, row$op, s))
      scanned <- par_scan(m, row$op, s)
      expect_identical(dimnames(scanned), dimnames(m))
      expect_equal(unname(scanned), unname(apply(m, 2, par_scan, row$op, s)))
    }
    expect_identical(dim(par_reduce(m[, 0], ~ .x + .y, s)), c(2L, 0L))
  }
  expect_equal(par_reduce(m, ~ .x + .y), sum(m))
  expect_identical(par_scan(m, ~ .y), as.vector(m))
  expect_identical(par_scan(c(a = 2L, b = 1L), ~ pmax(.x, .y)), c(a = 2, b = 2))
  expect_identical(par_scan(integer(), ~ .x + .y), double())
  expect_identical(par_reduce(double(), ~ .x + .y, init = 3L), 3)
  expect_identical(par_reduce(double(), ~ .x + .y, par_segments(lengths = integer())), double())
})

test_that("numbers and variables where a formula was written are its parameters", {
  saturating <- function(x, most) par_reduce(x, ~ min2(.x + .y, most))
  expect_identical(saturating(c(1, 2, 3), 5), 5)
  expect_identical(saturating(c(1, 2, 3), 50), 6)
  most <- Pm(4)
  expect_identical(par_scan(c(1, 2, 3), ~ min2(.x + .y, most)), c(1, 3, 4))
  pmax <- function(x, y) x + y
  expect_identical(par_reduce(c(1, 2, 3), ~ pmax(.x, .y)), 6)
})

test_that("float32 and another device are no matter of arrays", {
  x <- c(1, 1e-12, 1e-12)
  expect_identical(with_kernweave(par_reduce(x, ~ .x + .y), precision = "float32", device = "reference"),
                   par_reduce(x, ~ .x + .y))
  expect_gt(par_reduce(x, ~ .x + .y), 1)
})

test_that("missing items make missing results, NaN stays NaN, and `na.rm` leaves both out", {
  s <- par_segments(lengths = c(3, 2, 2))
  x <- c(1, NA, NaN, NaN, 2, 3, 4)
  found <- par_reduce(x, ~ .x + .y, s)
  expect_identical(is.nan(found), c(FALSE, TRUE, FALSE))
  expect_identical(is.na(found), c(TRUE, TRUE, FALSE))
  found <- par_scan(x, ~ exp(.x) * log(.y), s)
  expect_identical(is.na(found) & !is.nan(found), c(FALSE, TRUE, TRUE, FALSE, FALSE, FALSE, FALSE))
  expect_identical(par_reduce(x, ~ .x + .y, s, na.rm = TRUE, init = 0), c(1, 2, 7))
  expect_error(par_reduce(x, ~ .x + .y, par_segments(lengths = c(a = 1, b = 2, c = 4)), na.rm = TRUE),
               "segment 2, `b`, has no items", class = "kernweave_error_input")
  expect_identical(par_reduce(c(NA, 2L), ~ pmax(.x, .y)), NA_real_)
  expect_identical(par_reduce(c(1, 2), ~ .x + .y, init = NA), NA_real_)
})

test_that("`check` tells what is not associative, by numbers, and lets pass what is", {
  set.seed(5)
  x <- stats::rnorm(50)
  for (row in own) expect_silent(par_reduce(x, row$op, check = TRUE))
  expect_silent(par_scan(c(1e300, 2, 0), ~ .x * .y, check = TRUE))
  expect_silent(par_reduce(numeric(), ~ .x - .y, init = 0, check = TRUE))
  for (op in list(~ .x - .y, ~ (.x + .y) / 2, ~ .x + 2 * .y)) {
    expect_error(par_reduce(x, op, check = TRUE), "not associative: of -?[0-9.]+, -?[0-9.]+ and -?[0-9.]+ it makes",
                 class = "kernweave_error_value")
    expect_error(par_scan(1:6, op, check = TRUE), "from the left and", class = "kernweave_error_value")
  }
})

test_that("what is no operator is refused by name", {
  refused <- function(code, class, message) {
    expect_error(code, message, class = paste0("kernweave_error_", class), fixed = TRUE)
  }
  x <- c(1, 2, 4)
  along_j <- Vj(x, name = "w")
  along_i <- Vi(x, name = "v")
  refused(par_reduce(x, z ~ .x + .y), "input", "one-sided formula such as ~ .x + .y; this one has `z` on its left")
  refused(par_reduce(x, ~ 3), "input", "~3 has neither")
  refused(par_scan(x, ~ along_i + along_j), "input", "has neither")
  refused(par_reduce(x, function(a, b) 1), "input", "has neither")
  refused(par_reduce(x, function(a) a), "input", "unused argument")
  refused(par_reduce(x, ~ .x + .z), "input", "object '.z' not found")
  refused(par_reduce(x, ~ foo(.x, .y)), "unknown_op", "`op` calls `foo()`, and there is no such function")
  refused(par_reduce(x, ~ mx2(.x, .y)), "unknown_op", "did you mean `max2`?")
  refused(par_reduce(x, ~ fft(.x)), "input", "`op` cannot be evaluated on formulas")
  refused(par_reduce(x, ~ .x + .y * along_j), "shape", "`w` varies along j")
  refused(par_reduce(x, ~ .x + .y * along_i), "shape", "`v` varies along i")
  refused(par_reduce(x, ~ .x + row_index()), "shape", "row_index() and col_index() count points")
  refused(par_reduce(x, ~ c(.x, .y)), "shape", "must give one number, not 2 components")
  refused(par_reduce(x, ~ .x + c(1, 2) * .y), "shape", "2 numbers beside a formula of 1 component")
  refused(par_reduce(x, ~ sum(.x * .y, index = "i")), "input", "must give a formula of .x and .y, not a lazy reduction")
  refused(par_reduce(x, ~ pmax(.x, .y, na.rm = TRUE)), "unsupported", "`na.rm` is not possible")
  refused(par_reduce(numeric(), ~ .x + .y), "input", "`x` has no items")
  refused(par_reduce(x, ~ .x + .y, par_segments(lengths = c(1, 0, 2))), "input", "segment 2 has no items")
  refused(par_scan(x, ~ .x + .y, exclusive = TRUE), "input", "your own operator needs `init`")
  refused(par_reduce(x, ~ .x + .y, init = 1:2), "input", "`init` must be a number")
  refused(par_reduce(x, ~ .x + .y, check = NA), "input", "`check` must be TRUE or FALSE")
  refused(par_reduce(Sys.Date(), ~ .x + .y), "input", "a formula of an object of class Date has no meaning")
  refused(gradient(function(a) par_reduce(x, ~ .x + a * .y))(2), "no_gradient", "`op` reads a traced value")
})
