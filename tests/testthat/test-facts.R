# Facts of points that lie on a device are found there, and are those of the same points on the host.

elsewhere <- function(x, tells) through("elsewhere", x, length(x), tells)

# Points by name: what has no row, one, many, a NaN, lies far from the origin.
clouds_of_facts <- function(n = 5000) {
  set.seed(21)
  many <- cloud(n, 12)
  hole <- many
  hole[n - 7, 3] <- NaN
  endless <- many
  endless[2, 12] <- -Inf
  list(none = many[0, , drop = FALSE], one = many[1, , drop = FALSE], many = many, far = many + 1e5, hole = hole,
       endless = endless)
}

bytes_fetched_by <- function(code) {
  before <- through("elsewhere_fetched")
  force(code)
  through("elsewhere_fetched") - before
}

# Drops the seconds: sending data that lie elsewhere costs more, and changes nothing else.
without_seconds <- function(schedule) schedule[names(schedule) != "seconds"]

gaussian_sums <- function(x, y, b, precision, device = "cpu") {
  lazy_set(reduction(exp(-sqdist(Vi(x), Vj(y))) * Vj(b), "sum", index = "j", call = FALSE), precision = precision,
           device = device)
}

test_that("points that lie on a device are asked there for facts: of all of them few are fetched, if it can tell", {
  y <- cloud(500, 12)
  b <- stats::runif(500)
  clouds <- clouds_of_facts()
  for (name in names(clouds)) for (precision in test_precisions()) for (tells in c(TRUE, FALSE)) {
    x <- clouds[[name]]
    label <- paste(name, precision, tells)
    here <- gaussian_sums(x, y, b, precision)
    there <- gaussian_sums(elsewhere(x, tells), y, b, precision)
    rows <- nrow(x) / max(1, nrow(x) %/% 1000)
    schedule <- NULL
    fetched <- bytes_fetched_by(schedule <- explain(there)$schedule)
    again <- bytes_fetched_by(explain(there))
    expect_identical(fetched, 8 * 12 * if (tells) ceiling(rows) else nrow(x), label = label)
    expect_identical(again, 0, label = label)
    expect_identical(without_seconds(schedule), without_seconds(explain(here)$schedule), label = label)
    expect_identical(as.matrix(there), as.matrix(here), label = label)
  }
})

test_that("kernels for facts compile, with no header but ours", {
  skip_without_compiler()
  expect_gt(length(through("cuda_compile", through("cloud_kernels"), 90L)), 1000)
})

# --- on a device --------------------------------------------------------------------------------------------------

asked_of_device <- function(rows, columns, step, offset, odd) {
  set.seed(rows)
  x <- matrix(stats::runif(rows * columns), rows) + offset
  x[odd$at] <- odd$number
  c(list(x = x, centre = rep(offset + 0.25, columns)),
    through("cloud", x, step, rep(offset + 0.25, columns)))
}
questions <- list(
  list(0, 3, 1, 0, NULL), list(1, 3, 1, 0, NULL), list(5000, 3, 5, 0, NULL), list(5001, 1, 5, 1e6, NULL),
  list(70000, 2, 70, 0, NULL), list(999, 12, 1, -1e300, NULL), list(70000, 2, 70, 0, list(at = 69999, number = NaN)),
  list(5000, 3, 5, 0, list(at = 4999, number = -Inf)), list(5000, 3, 5, 0, list(at = 1, number = 1e200)),
  list(1, 1, 1, 0, list(at = 1, number = NA_real_)), list(20000, 1, 20, 0, list(at = 1, number = NaN))
)

expect_right_answer <- function(answer, step) {
  x <- answer$x
  expect_identical(answer$rows, as.vector(x[seq_len(nrow(x)) %% step == 1 %% step, , drop = FALSE]))
  reach <- max(0, colSums((t(x) - answer$centre)^2))
  if (is.finite(reach)) expect_equal(answer$reach, reach, tolerance = 1e-14)
  else expect_identical(is.nan(answer$reach), TRUE)
}

test_that("a device finds some rows and the reach, whatever the order of its threads", {
  answers <- found_under_driver(asked_of_device, questions)
  for (k in seq_along(questions)) expect_right_answer(answers[[k]], questions[[k]][[3]])
})

test_that("the schedule for points that lie on a device is the one for the same points on the host", {
  schedules <- function(offset, number) {
    set.seed(22)
    x <- matrix(stats::runif(12 * 20000), ncol = 12) + offset
    x[20000, 7] <- number
    y <- x[1:999, ]
    lapply(list(x, on_device(x, "gpu")), function(x) {
      R <- reduction(exp(-sqdist(Vi(x), Vj(y))), "sum", index = "j", call = FALSE)
      explain(lazy_set(R, precision = "float32", device = "gpu"))$schedule$why
    })
  }
  found <- found_under_driver(schedules, list(list(0, 0.5), list(1e5, 1e5), list(1e5, 2e5), list(0, NaN)))
  for (pair in found) expect_identical(pair[[2]], pair[[1]])
  expect_length(unique(unlist(found)), 2)
})

test_that("a GPU finds some rows and the reach", {
  skip_without_gpu()
  for (question in questions) expect_right_answer(do.call(asked_of_device, question), question[[3]])
})

test_that("on a GPU points that lie there give the bits that the same points give from the host", {
  skip_without_gpu()
  y <- cloud(300, 12)
  b <- stats::runif(300)
  for (n in c(5000, 40000)) {
    clouds <- clouds_of_facts(n)
    for (name in names(clouds)) {
      x <- clouds[[name]]
      here <- gaussian_sums(x, y, b, "float32", "gpu")
      there <- gaussian_sums(on_device(x), y, b, "float32", "gpu")
      expect_identical(form_of(there), form_of(here), label = paste(n, name))
      expect_identical(as.matrix(there), as.matrix(here), label = paste(n, name))
    }
  }
})
