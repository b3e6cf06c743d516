# The CPU engine on several threads.

test_that("any number of threads gives the same bits, run to run", {
  set.seed(9)
  x <- matrix(stats::rnorm(3 * 1500), ncol = 3)
  y <- matrix(stats::rnorm(3 * 2300), ncol = 3)
  K <- exp(-sqdist(Vi(x), Vj(y)))
  for (op in c("sum", "logsumexp", "min_argmin", "argKmin")) for (index in c("i", "j", "ij"))
    for (precision in test_precisions()) {
    run <- function(threads) reduction(K, op, index = index, K = if (op == "argKmin") 4, precision = precision,
                                       threads = threads)
    once <- run(1)
    for (threads in c(2, 3, 7))
      expect_identical(run(threads), once, label = paste(op, index, precision, threads, "threads"))
    expect_identical(run(2), once)
  }
})

test_that("few rows and many columns are shared out too, and add up", {
  set.seed(10)
  y <- stats::runif(200000)
  b <- stats::rnorm(200000)
  x <- c(0.1, 0.5)
  expected <- vapply(x, function(at) sum(exp(-(at - y)^2) * b), 0)
  for (threads in 1:2) expect_close(exp(-sqdist(Vi(x), Vj(y))) %*% b, expected, 1e-12, scale = 1000)
  expect_close(sum(exp(-sqdist(Vi(x), Vj(y))), index = "ij"), sum(vapply(x, function(at) sum(exp(-(at - y)^2)), 0)),
               1e-13, scale = 4e5)
})

test_that("threads that wait are found again, after errors, in a forked process, and once they were dismissed", {
  x <- matrix(seq(0, 1, length.out = 6000), ncol = 2)
  run <- function() reduction(exp(-sqdist(Vi(x), Vj(x))), "sum", index = "j", threads = 3)
  once <- run()
  expect_identical(run(), once)
  r_dismiss_threads()
  expect_identical(run(), once)
  r_dismiss_threads()
  r_dismiss_threads()
  expect_identical(run(), once)
  skip_on_os("windows")
  for (answer in parallel::mclapply(1:4, function(k) list(run(), run()), mc.cores = 2))
    expect_identical(answer, list(once, once))
  expect_identical(run(), once)
})

test_that("threads that wait take no signals, which are for R", {
  skip_if_not(dir.exists("/proc/self/task"), "no list of threads")
  r_dismiss_threads()
  before <- list.files("/proc/self/task")
  reduction(exp(-sqdist(Vi(1:300), Vj(1:3000))), "sum", index = "j", threads = 3)
  made <- setdiff(list.files("/proc/self/task"), before)
  expect_gt(length(made), 0)
  for (thread in made) {
    blocked <- grep("^SigBlk:", readLines(file.path("/proc/self/task", thread, "status")), value = TRUE)
    first_20 <- strtoi(substring(blocked, nchar(blocked) - 4), 16)
    ends_of_children_and_interrupts <- 0x10002
    expect_equal(bitwAnd(first_20, ends_of_children_and_interrupts), ends_of_children_and_interrupts)
  }
})
