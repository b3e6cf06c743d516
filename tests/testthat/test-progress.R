# Long work says what it will take and how far it has come.

shown <- function(code) paste(utils::capture.output(code, type = "message"), collapse = "\n")
# Works whose clock is run by hand: a step takes so many seconds.
by_hand <- function(seconds, steps, code) {
  working <- kernweave:::working
  kept <- working$clock
  on.exit(working$clock <- kept)
  clock <- 0
  working$clock <- function() clock
  force(code)(function() clock <<- clock + seconds)
}

test_that("of a long work the share and the seconds left are shown, and it is wiped away at its end", {
  options <- options(kernweave.progress = TRUE)
  on.exit(options(options))
  text <- shown(by_hand(1, 10, function(wait) {
    kernweave:::begin_work("work", steps = 10)
    for (k in 1:10) {
      wait()
      kernweave:::step_work("work")
    }
    kernweave:::end_work("work")
  }))
  expect_match(text, "work: 20 %, about 8 s to go", fixed = TRUE)
  expect_match(text, "work: 90 %, about 1 s to go", fixed = TRUE)
  expect_no_match(text, "10 %", fixed = TRUE)
  expect_no_match(text, "would be quicker", fixed = TRUE)
  expect_null(kernweave:::working$now)
})

test_that("what takes more than a minute names what would be quicker, once, and in scripts, too", {
  text <- shown(by_hand(20, 10, function(wait) {
    kernweave:::begin_work("work", steps = 10, quicker = "a smaller `n`")
    for (k in 1:10) {
      wait()
      kernweave:::step_work("work")
    }
    kernweave:::end_work("work")
  }))
  expect_identical(text, "work takes about 3 minutes in all; a smaller `n` would be quicker")
  expect_message(kernweave:::begin_work("work", quicker = "less", expected = 7200), "about 2 hours in all; less would")
  kernweave:::end_work("work")
  options <- options(kernweave.progress = FALSE)
  on.exit(options(options))
  expect_silent(kernweave:::begin_work("work", expected = 7200))
  kernweave:::end_work("work")
})

test_that("works within works are not shown, and an error ends them", {
  kernweave:::begin_work("outer", steps = 2)
  kernweave:::begin_work("inner", steps = 5)
  kernweave:::step_work("inner")
  expect_identical(kernweave:::working$now$count, 0)
  kernweave:::end_work("inner")
  expect_identical(kernweave:::working$now$what, "outer")
  kernweave:::end_work("outer")
  expect_error(gp_fit(1:9, rep(1, 9)))
  expect_error(sinkhorn(matrix(1, 2, 2), matrix(1, 2, 2), max_iter = 1:2))
  expect_null(kernweave:::working$now)
})

test_that("progressr is told of steps where it is loaded", {
  skip_if_not_installed("progressr")
  loadNamespace("progressr")
  told <- 0
  handler <- function(...) progressr::make_progression_handler("count", list(
    update = function(config, state, progression, ...) told <<- state$step
  ), ..., enable = TRUE, times = Inf, interval = 0)
  suppressWarnings(progressr::with_progress({
    kernweave:::begin_work("work", steps = 4)
    for (k in 1:3) kernweave:::step_work("work")
    kernweave:::end_work("work")
  }, handlers = handler(), enable = TRUE))
  expect_gte(told, 2)
})

test_that("standard errors of approximated fits say that they are exact before they begin", {
  skip_below("quick")
  set.seed(5)
  x <- matrix(stats::runif(1200), 600)
  fit <- gp_fit(x, x[, 1] + stats::rnorm(600) / 5, kernel = kernel_spec("matern32", scale = 0.5), variance = 1,
                nugget = 0.04, control = fit_control(dense_n = 100, approximate = 1e-6))
  expect_message(predict(fit, x[1:3, ], se.fit = TRUE), "exact, from all pairs: about .* for 3 places; .*simulate")
  expect_silent(predict(fit, x[1:3, ]))
})
