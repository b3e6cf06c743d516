# Long work says what it will take and how far it has come.

begin_work <- kernweave:::begin_work
step_work <- kernweave:::step_work
end_work <- kernweave:::end_work
working <- kernweave:::working

shown <- function(code) {
  text <- paste(utils::capture.output(invisible(code), type = "message"), collapse = "\n")
  gsub("\n  (?=\\S)", " ", text, perl = TRUE)
}
# Works whose clock is run by hand: a step takes so many seconds. At `each_look`, too, so many have gone by.
by_hand <- function(seconds, steps, code, each_look = 0) {
  kept <- working$clock
  on.exit(working$clock <- kept)
  clock <- 0
  working$clock <- function() clock <<- clock + each_look
  force(code)(function() clock <<- clock + seconds)
}

test_that("of a long work the share and the seconds left are shown, and it is wiped away at its end", {
  options <- options(kernweave.progress = TRUE)
  on.exit(options(options))
  text <- shown(by_hand(1, 10, function(wait) {
    begin_work("work", steps = 10)
    for (k in 1:10) {
      wait()
      step_work("work")
    }
    end_work("work")
  }))
  expect_match(text, "work: 20 %, about 8 s to go", fixed = TRUE)
  expect_match(text, "work: 90 %, about 1 s to go", fixed = TRUE)
  expect_no_match(text, "10 %", fixed = TRUE)
  expect_no_match(text, "would be quicker", fixed = TRUE)
  expect_null(working$now)
})

test_that("a step of many sums counts when it has ended, and the forecast is by those that have", {
  text <- shown(by_hand(20, 10, function(wait) {
    begin_work("work", steps = 10, whole = TRUE)
    wait()
    for (share in c(0.5, 1)) kernweave:::progress_polled(share, 1)
    wait()
    step_work("work")
    end_work("work")
  }))
  expect_match(text, "work takes about 7 minutes in all", fixed = TRUE)
})

test_that("what takes more than a minute names what would be quicker, once, and in scripts, too", {
  text <- shown(by_hand(20, 10, function(wait) {
    begin_work("work", steps = 10, quicker = "a smaller `n`")
    for (k in 1:10) {
      wait()
      step_work("work")
    }
    end_work("work")
  }))
  expect_identical(text, "work takes about 3 minutes in all; a smaller `n` would be quicker")
  expect_message(begin_work("work", quicker = "less", expected = 7200), "about 2 hours in all; less would")
  end_work("work")
  options <- options(kernweave.progress = FALSE)
  on.exit(options(options))
  expect_silent(begin_work("work", expected = 7200))
  end_work("work")
})

test_that("works within works are not shown, and an error ends them", {
  begin_work("outer", steps = 2)
  begin_work("inner", steps = 5)
  step_work("inner")
  expect_identical(working$now$count, 0)
  end_work("inner")
  expect_identical(working$now$what, "outer")
  end_work("outer")
  expect_error(gp_fit(1:9, rep(1, 9)))
  expect_error(sinkhorn(matrix(1, 2, 2), matrix(1, 2, 2), max_iter = 1:2))
  expect_null(working$now)
})

test_that("within a step the engine's share counts, and nothing goes back", {
  options <- options(kernweave.progress = TRUE)
  on.exit(options(options))
  text <- shown(by_hand(3, 2, function(wait) {
    begin_work("work", steps = 2)
    for (share in c(0.5, 0.2, NA)) {
      wait()
      kernweave:::progress_polled(share, 1)
    }
    wait()
    step_work("work")
    end_work("work")
  }))
  for (line in c("25 %, about 9 s", "25 %, about 6 s", "25 %, about 3 s", "50 %, about 18 s")) {
    expect_match(text, paste("work:", line, "to go"), fixed = TRUE)
  }
  expect_error(begin_work("work", expected = stop("no estimate")), "no estimate")
  expect_null(working$now)
})

# Products of this approximation take some seconds, so that the engine tells how far they are, and count as long ones.
long_approximation <- function(certify = "audit") {
  x <- with_local_seed(3, matrix(stats::runif(75000), 25000))
  A <- approximate(lazy_set(kernel_energy(x, x), threads = 1), 1e-10, certify = certify)
  state <- approximation_of(A)
  state$plan$levels$work <- state$plan$levels$work + 1e10
  A
}

test_that("long products of approximations say how far they are, and that a larger tolerance would be quicker", {
  skip_below("quick")
  options <- options(kernweave.progress = TRUE)
  on.exit(options(options))
  for (certify in c("audit", "proof")) {
    A <- long_approximation(certify)
    text <- shown(by_hand(0, 2, function(wait) A %*% matrix(1, 25000, 40), each_look = 40))
    expect_match(text, "approximated product takes about .* (minutes|hours) in all; .*a larger `tol` would be quicker")
    expect_match(text, "approximated product: [0-9]+ %, about")
    expect_identical(grepl("certify = \"audit\"", text), certify == "proof")
    expect_null(working$now)
  }
  plain <- matrix(stats::runif(20), 5)
  expect_error(approximate(kernel_gaussian(plain, plain)), class = "kernweave_error_dimension")
  expect_null(working$now)
})

test_that("shares of a product rise through its series and near pairs", {
  skip_below("all")
  set.seed(6)
  x <- matrix(stats::runif(3e5), 1e5)
  A <- approximate(kernel_energy(x, x), 1e-11, certify = "proof")
  options <- options(kernweave.progress = TRUE)
  on.exit(options(options))
  text <- shown(A %*% rep(1, 1e5))
  shares <- as.numeric(regmatches(text, gregexpr("[0-9]+(?= %, about)", text, perl = TRUE))[[1]])
  expect_gte(length(unique(shares)), 5)
  expect_false(is.unsorted(shares))
})

test_that("local_reg() says what its search is at, and that bandwidths by hand would be quicker", {
  set.seed(8)
  x <- stats::runif(300)
  y <- sin(6 * x) + stats::rnorm(300) / 5
  options <- options(kernweave.progress = TRUE)
  on.exit(options(options))
  text <- shown(by_hand(0, 1, function(wait) local_reg(x, y), each_look = 5))
  expect_match(text, "local_reg(): 300 rows, bandwidth 0.", fixed = TRUE)
  expect_match(text, "local_reg\\(\\) takes more than .* in all; `bandwidth` as numbers would be quicker")
  expect_length(gregexpr("takes more than", text)[[1]], 1)
  expect_identical(shown(by_hand(0, 1, function(wait) local_reg(x, y, bandwidth = 0.1), each_look = 5)), "")
  expect_null(working$now)
  expected <- function(n) {
    part <- list(x = matrix(seq_len(n) / n), y = matrix(seq_len(n)), w = rep(1, n))
    kernweave:::expected_of_search(part, 1, 0.1, errors = FALSE)
  }
  expect_identical(expected(4999), 0)
  expect_gt(expected(1e5), 0)
})

test_that("progressr is told of steps where it is loaded", {
  skip_if_not_installed("progressr")
  loadNamespace("progressr")
  told <- 0
  handler <- function(...) progressr::make_progression_handler("count", list(
    update = function(config, state, progression, ...) told <<- state$step
  ), ..., enable = TRUE, times = Inf, interval = 0)
  suppressWarnings(progressr::with_progress({
    begin_work("work", steps = 4)
    for (k in 1:3) step_work("work")
    end_work("work")
  }, handlers = handler(), enable = TRUE))
  expect_gte(told, 2)
  told <- 0
  A <- long_approximation()
  suppressWarnings(progressr::with_progress(A %*% rep(1, 25000), handlers = handler(), enable = TRUE))
  expect_gte(told, 1)
})

test_that("exact standard errors of approximated fits say how long they take before they begin", {
  skip_below("quick")
  set.seed(5)
  x <- matrix(stats::runif(1200), 600)
  fit <- gp_fit(x, x[, 1] + stats::rnorm(600) / 5, kernel = kernel_spec("matern32", scale = 0.5), variance = 1,
                nugget = 0.04, control = fit_control(dense_n = 100, approximate = 1e-6))
  expect_message(predict(fit, x[1:3, ], se.fit = TRUE, method = "exact"),
                 "are from all pairs: about .* for 3 places; .*simulate")
  expect_silent(predict(fit, x[1:3, ]))
})

test_that("whoever knows better than a count of steps says how long it will take", {
  options <- options(kernweave.progress = TRUE)
  on.exit(options(options))
  text <- shown(by_hand(30, 1, function(wait) {
    begin_work("work", quicker = "a smaller `n`")
    wait()
    step_work("work", "step 1, 2.4 s.e. from the maximum", left = 200)
    end_work("work")
  }))
  expect_match(text, "takes about 4 minutes in all; a smaller `n` would be quicker", fixed = TRUE)
  expect_match(text, "step 1, 2.4 s.e. from the maximum, about 3 minutes to go", fixed = TRUE)
})

test_that("predict() and simulate() tell what they will take, and how far they are", {
  skip_below("quick")
  options <- options(kernweave.progress = TRUE)
  on.exit(options(options))
  set.seed(5)
  x <- matrix(stats::runif(600), 300)
  fit <- gp_fit(x, x[, 1] + stats::rnorm(300) / 5, kernel = kernel_spec("matern32", scale = 0.5), variance = 1,
                nugget = 0.04, control = fit_control(dense_n = 100))
  dense <- update(fit, control = fit_control())
  at <- matrix(stats::runif(5000), 2500)
  # every look at the clock takes ten seconds
  taken <- function(code) shown(by_hand(0, 1, function(wait) code, each_look = 10))
  near <- taken(predict(fit, at, method = "local", neighbours = 240))
  expect_match(near, "predict\\(\\) takes (about|more than) .* in all; fewer `neighbours` would be quicker")
  expect_match(near, "predict\\(\\): [0-9]+ %, about")
  expect_match(taken(predict(dense, at, se.fit = TRUE)), "predict\\(\\): [0-9]+ %, about")
  folds <- taken(cross_validate(fit, 5, seed = 1))
  expect_match(folds, "cross_validate\\(\\) takes about .* in all; fewer `folds` would be quicker")
  expect_match(folds, "cross_validate\\(\\): 20 %, about")
  expect_match(taken(predict(fit, at[1:3, ], se.fit = TRUE)), "predict\\(\\): exact standard errors at 3 places")
  drawn <- taken(simulate(fit, 2, seed = 1, newdata = at))
  expect_match(drawn, "simulate\\(\\) takes more than .* in all; a smaller `nsim` would be quicker")
  expect_match(drawn, "simulate\\(\\): draws")
  expect_null(working$now)
  expect_equal(predict(fit, at, method = "local", neighbours = 61)[2000:2010],
               predict(fit, at[2000:2010, ], method = "local", neighbours = 61))
})

test_that("the time to go does not rise between steps, nor after a part that was faster than the rest", {
  options <- options(kernweave.progress = TRUE)
  on.exit(options(options))
  left_of <- function(seconds, looks) {
    text <- shown(by_hand(1, length(seconds), function(wait) {
      begin_work("work", steps = length(seconds))
      for (s in seconds) {
        for (k in seq_len(s)) {
          wait()
          if (looks && k < s) kernweave:::show_work(working$now)
        }
        step_work("work")
      }
      end_work("work")
    }))
    as.numeric(unlist(regmatches(text, gregexpr("[0-9.]+(?= s to go)", text, perl = TRUE))))
  }
  even <- left_of(rep(9, 10), looks = TRUE)
  expect_true(all(diff(even) <= 0))
  slower <- left_of(rep(c(1, 4), c(3, 12)), looks = FALSE)
  expect_lt(sum(diff(slower) > 0), 4)
  expect_equal(utils::tail(slower, 4), c(12, 8, 4, 0), tolerance = 0.1)
})
