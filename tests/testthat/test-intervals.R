# Intervals of values, and trends, are those of every operation: numbers from the arguments' intervals show none wrong.

elementwise <- subset(kernweave_operations(), form == "elementwise")
trends_of <- function(op, least, most) through("trend", op, least, most)

# Intervals of the arguments, those behind the first often numbers alone, as in formulas. Some have no end.
random_intervals <- function(arity) {
  ends <- vapply(seq_len(arity), function(k) {
    at <- sample(c(-1, 1, 1), 1) * random_size(-2, 2)
    if (stats::runif(1) < 0.4) at <- round(2 * at) / 2
    wide <- random_size(-4, 2)
    if (stats::runif(1) < 0.3) at <- 0
    if (k > 1 && stats::runif(1) < 0.6) {
      at <- if (stats::runif(1) < 0.5) sample(c(-2, -1, 0, 0.5, 1, 2, 3), 1) else at
      wide <- 0
    }
    c(at, if (k == 1 && stats::runif(1) < 0.2) Inf else at + wide)
  }, c(0, 0))
  list(least = ends[1, ], most = ends[2, ])
}
numbers_in <- function(least, most, count) {
  if (least == most) return(rep(least, count))
  last <- if (is.finite(most)) most else least + 1e4
  halves <- pmin(pmax(seq(ceiling(2 * least), by = 1, length.out = 9) / 2, least), last)
  near <- if (is.finite(most)) stats::runif(count, least, last) else least + random_size(-3, 4) * stats::runif(count)
  sort(sample(c(least, last, halves, near), count)) + 0  # no -0, whose inverse is another one
}

# Tells whether a value is outside of the interval that is told; NULL if no interval is told.
outside_interval <- function(op) {
  arity <- elementwise$arity[elementwise$name == op]
  of <- random_intervals(arity)
  args <- vapply(seq_len(arity), function(k) sample(numbers_in(of$least[k], of$most[k], 40)), numeric(40))
  found <- through("interval", op, of$least, of$most, args)
  values <- found$values
  if (found$nan && found$least == -Inf && found$most == Inf) return(NULL)
  any(values < found$least | values > found$most | (found$whole & values != floor(values)), na.rm = TRUE) ||
    (!found$nan && anyNA(values))
}

# Tells whether values go against the trend in an argument, by more than their last digits.
against_trend <- function(op) {
  arity <- elementwise$arity[elementwise$name == op]
  of <- random_intervals(arity)
  trends <- trends_of(op, of$least, of$most)
  unlist(lapply(which(trends != "uneven" & of$least < of$most), function(k) {
    along <- numbers_in(of$least[k], of$most[k], 100)
    args <- vapply(seq_len(arity), function(a) {
      if (a == k) along else rep(sample(numbers_in(of$least[a], of$most[a], 20), 1), 100)
    }, numeric(100))
    values <- through("interval", op, of$least, of$most, args)$values
    before <- values[-100]
    after <- values[-1]
    digits <- 1e-12 * pmin(abs(after), 1e300)
    any(anyNA(values), trends[k] != "falls" & after < before - digits, trends[k] != "grows" & after > before + digits)
  }))
}

test_that("values of every operation lie in the interval of its arguments' intervals", {
  skip_below("quick")
  with_local_seed(41, for (op in elementwise$name) {
    beyond <- drawn(by_tier(20, 40, 5000), function() outside_interval(op))
    expect_false(any(beyond), label = paste("values outside of the interval of", op))
    expect_gt(length(beyond), 0, label = paste("intervals of", op))
  })
})

test_that("no value goes against a trend that is told", {
  with_local_seed(42, for (op in elementwise$name) {
    against <- unlist(replicate(by_tier(20, 40, 5000), against_trend(op)))
    expect_false(any(against), label = paste("values against the trends of", op))
  })
})

test_that("a trend is told of an operation that turns or jumps only where it does neither", {
  told <- function(op, ...) {
    ends <- list(...)
    trends_of(op, vapply(ends, `[`, 0, 1), vapply(ends, function(e) e[length(e)], 0))[1]
  }
  expect_identical(told("Gamma", c(1.4, 1.5)), "uneven")
  expect_identical(told("Gamma", c(1.47, 1.5)), "grows")
  expect_identical(told("Lgamma", c(1.1, 1.4)), "falls")
  expect_identical(told("Sin", c(101, 103)), "uneven")
  expect_identical(told("Sin", c(4.1, 4.7)), "falls")
  expect_identical(told("Cos", c(4.1, 4.9)), "grows")
  expect_identical(told("SinPi", c(3.6, 4.4)), "grows")
  expect_identical(told("Tan", c(1.5, 1.6)), "uneven")
  expect_identical(told("Tan", c(-1.5, 1.5)), "grows")
  expect_identical(told("Inv", c(-1, 1)), "uneven")
  expect_identical(told("Inv", c(0, Inf)), "falls")
  expect_identical(told("XLogX", c(0.36, 0.37)), "uneven")
  expect_identical(told("XLogX", c(1, Inf)), "grows")
  expect_identical(told("Mod", c(0.2, 0.7), 0.6), "uneven")
  expect_identical(told("IntDiv", c(-7, 9), 0.6), "grows")
  expect_identical(told("IntDiv", c(-7, 9), -0.6), "falls")
  expect_identical(told("Clamp", c(-Inf, Inf), -0.3, 7), "grows")
  expect_identical(told("Clamp", c(-Inf, Inf), 7, -0.3), "falls")
  expect_identical(told("Clamp", c(8, 9), 1, 7), "flat")
  expect_identical(told("Max2", c(-Inf, Inf), c(1, 2)), "grows")
  for (op in c("Step", "Sign", "ReLU", "Ceil", "Nearest", "Trunc")) expect_identical(told(op, c(-3, 5)), "grows")
  expect_identical(told("Equal", c(0, Inf), 0), "falls")
  expect_identical(told("Equal", c(-1, Inf), 0), "uneven")
  expect_identical(told("NotEqual", c(-5, 2), 2), "falls")
  expect_identical(told("Select", c(0, 1), 3, 2), "grows")
  expect_identical(told("Powf", c(-2, 2), 3), "grows")
  expect_identical(told("Powf", c(-2, 2), 2), "uneven")
  expect_identical(told("Powf", c(0, Inf), 1e-3), "grows")
})
