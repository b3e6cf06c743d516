# Lazy objects are plain data: they survive saveRDS, a fresh process, and settings travel with them.

test_that("a lazy reduction brings the package into a fresh process, and is computed as here, its gradient too", {
  set.seed(7)
  x <- matrix(stats::rnorm(12), 4)
  X <- Vi(x, name = "x")
  R <- reduction(exp(-sqdist(X, Vj(x, name = "y"))), "logsumexp", call = FALSE)
  waiting <- sum(sqdist(Vi(dim = 3, name = "a"), Vj(dim = 3, name = "b")), index = "j")
  here <- list(as.matrix(R), vjp(R, "x"), as.function(waiting)(x, x))
  saved <- tempfile(fileext = ".rds")
  saveRDS(list(R = R, waiting = waiting, f = as.function(waiting), x = x), saved)
  there <- in_new_process(c(sprintf("s <- readRDS(%s)", deparse(saved)),
                            "list(as.matrix(s$R), kernweave::vjp(s$R, 'x'), s$f(s$x, s$x))"))
  expect_identical(there, here)
})

test_that("what is loaded brings the package with it: no library() is needed where it is used", {
  skip_below("quick")
  x <- matrix(stats::rnorm(12), 4)
  K <- exp(-sqdist(Vi(x), Vj(x)))
  objects <- list(K = K, counters = row_index(3) + 2 * col_index(2), counted = (row_index(3) + col_index(2))^2,
                  waiting = sum(sqdist(Vi(dim = 3), Vj(dim = 3)), index = "j"), R = sum(K, index = "j", call = FALSE),
                  none = reduction(row_index(3) * col_index(2), "sum", call = FALSE))
  for (name in by_tier("K", c("waiting", "none"), names(objects))) {
    saved <- tempfile(fileext = ".rds")
    saveRDS(objects[[name]], saved)
    use <- switch(name,
      waiting = "list(as.function(K)(matrix(1, 2, 3), matrix(0, 4, 3)), utils::capture.output(print(K)))",
      R = , none = "list(as.matrix(K), utils::capture.output(print(K)))",
      "list(dim(K), sum(K, index = 'j'), sum(K * 2, index = 'ij'), as.matrix(t(K) + 1), K %*% seq_len(ncol(K)),
            utils::capture.output(print(K), K))")
    there <- in_new_process(c(sprintf("K <- readRDS(%s)", deparse(saved)), use))
    expect_identical(there, eval(parse(text = use), list(K = objects[[name]])), label = name)
  }
})

test_that("a worker that was only sent a formula can compute it", {
  skip_on_os("windows")
  x <- matrix(stats::rnorm(12), 4)
  K <- exp(-sqdist(Vi(x), Vj(x)))
  workers <- parallel::makePSOCKcluster(1)
  on.exit(parallel::stopCluster(workers))
  parallel::clusterCall(workers, ".libPaths", c(dirname(system.file(package = "kernweave")), .libPaths()))
  f <- function(q, K) sum(K * q, index = "ij")
  environment(f) <- globalenv()
  expect_equal(parallel::parSapply(workers, 1:2, f, K = K), sum(as.matrix(K)) * 1:2)
})

test_that("a reduction that has been computed is saved with its data once, as before", {
  x <- matrix(stats::runif(6000), 2000)
  R <- reduction(exp(-sqdist(Vi(x), Vj(x))), "sum", call = FALSE)
  size <- function() length(serialize(R, NULL))
  before <- size()
  as.matrix(R)
  expect_lt(size(), before + 8 * length(x) / 2)
})

test_that("as.function has the placeholders as arguments, in order, with distinct names", {
  X <- Vi(dim = 2, name = "p")
  Y <- Vj(dim = 2, name = "p")
  f <- as.function(sum(sqdist(X, Y) * Pm(3), index = "j"))
  expect_named(formals(f), c("p", "p.1"))
  x <- matrix(1:6 + 0, 3)
  y <- matrix(1:4 + 0, 2)
  expect_equal(f(x, y), sum(3 * sqdist(Vi(x), Vj(y)), index = "j"))
  expect_equal(f(p.1 = y, p = x), f(x, y))
  expect_equal(f(as.data.frame(x), y), f(x, y))
  expect_equal(f(x[0, ], y), matrix(0, 0, 1))
})

test_that("settings travel, contradict each other aloud, and are looked up in order", {
  x <- matrix(stats::rnorm(6), 3)
  K <- lazy_set(sqdist(Vi(x), Vj(x)), device = "reference", threads = 1)
  expect_identical(exp(K + 1)$settings, K$settings)
  expect_identical(t(K[1:2, ])$settings, K$settings)
  expect_identical(reduction(K, "sum", call = FALSE)$settings, K$settings)
  expect_error(K + lazy_set(Vi(x), threads = 2), class = "kernweave_error_settings")
  used <- function(...) explain(reduction(K, "sum", call = FALSE, ...))$schedule$why
  expect_match(used(), "asked for by name")
  expect_match(used(device = "auto"), "only one here|fastest")
  expect_error(with_kernweave(sum(sqdist(Vi(x), Vj(x)), index = "j"), device = 99), class = "kernweave_error_no_device")
  expect_identical(with_kernweave(sum(K, index = "j"), device = 99), sum(K, index = "j"))
  with_variable("KERNWEAVE_DEVICE", "99", {
    expect_error(sum(sqdist(Vi(x), Vj(x)), index = "j"), class = "kernweave_error_no_device")
  })
  expect_null(getOption("kernweave.device"))
})

test_that("Ctrl-C is answered at once and leaves everything usable", {
  skip_on_os("windows")
  skip_on_cran()
  many_by_many <- "F <- exp(-sqdist(Vi(x), Vj(x)))"
  # A GPU is done with these before it is interrupted.
  many_by_few <- paste("options(kernweave.device = 'cpu'); F <- sqdist(Vi(as.vector(x)), Vj(1:7))",
                       "for (k in 1:16) F <- lgamma(F + 1)", sep = "; ")
  for (formula in c(many_by_many, if (reaches("usual")) many_by_few)) {
    script <- tempfile(fileext = ".R")
    writeLines(c(sprintf("library(kernweave, lib.loc = '%s')", dirname(system.file(package = "kernweave"))),
                 "x <- matrix(runif(1e7), ncol = 5); pid <- Sys.getpid()", formula,
                 "system(paste0('(sleep 1; kill -INT ', pid, ') &'))",
                 "t <- Sys.time()",
                 "out <- tryCatch(sum(F, index = 'j'), interrupt = function(e) 'stopped')",
                 "took <- as.numeric(Sys.time() - t, units = 'secs')",
                 "again <- sum(Vi(1:3) * Vj(1:2), index = 'j')",
                 "cat(identical(out, 'stopped'), took < 2, identical(as.vector(again), c(3, 6, 9)))"), script)
    answer <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script), stdout = TRUE, stderr = FALSE)
    expect_identical(utils::tail(answer, 1), "TRUE TRUE TRUE", info = formula)
  }
})

test_that("a limit of time is an error of its own class, with R's message", {
  skip_on_cran()
  points <- matrix(sin(seq_len(2e5)), ncol = 2)
  many <- exp(-sqdist(Vi(points), Vj(points)))
  right <- points[, 1]
  late <- function(code) {
    on.exit(setTimeLimit())
    setTimeLimit(elapsed = 0.5, transient = TRUE)
    tryCatch(code, kernweave_error_time_limit = conditionMessage, error = class)
  }
  reached <- gettext("reached elapsed time limit", domain = "R")
  expect_match(late(sum(many, index = "j")), reached)
  expect_match(late(many %*% right), reached)
  expect_match(late(argKmin(lgamma(many), K = 3)), reached)
  expect_match(late(with_kernweave(sum(many, index = "j"), device = "reference")), reached)
  expect_match(late(solve(many + identity_op(1e5), right)), reached)
  expect_identical(drop(sum(Vi(right[1:3]) * Vj(1:2), index = "j")), 3 * right[1:3])
})

test_that("a change of option between two calls of a prepared function is heard", {
  f <- as.function(sum(sqdist(Vi(dim = 2, name = "x"), Vj(dim = 2, name = "y")), index = "j"))
  x <- matrix(stats::rnorm(6), 3)
  expect_equal(f(x, x), with_kernweave(f(x, x), device = "reference"), tolerance = 1e-14)
  expect_error(with_kernweave(f(x, x), device = 99), class = "kernweave_error_no_device")
  expect_error(with_kernweave(f(x, x), precision = "half"), class = "kernweave_error_settings")
  expect_identical(dim(f(x, x)), c(3L, 1L))
})

test_that("literals are not operands, and keep their name", {
  X <- Vi(matrix(1, 2, 1))
  F <- X * 2 + Vj(1:2) * 2
  expect_match(format(F), "* 2 + ", fixed = TRUE)
  expect_false(grepl("2.1", format(F), fixed = TRUE))
  expect_error(vjp(reduction(F, "sum", call = FALSE), "2"), class = "kernweave_error_input")
})

test_that("a result too large for memory is a condition of ours", {
  skip_on_os(c("windows", "mac"))
  skip_on_cran()  # a sanitizer stops the process that asks for so much
  big <- Vi(numeric(1e7)) - Vj(numeric(1e7))
  expect_error(with_kernweave(as.matrix(big), max_dense_mb = Inf), class = "kernweave_error_memory")
})

test_that("what an approximation weighs in a file does not grow by the products that it has been asked for", {
  x <- with_local_seed(5, matrix(stats::runif(9000), 3000))
  A <- approximate(lazy_set(kernel_matern(x, x, scale = 0.1, nu = 1.5), device = "cpu"), 1e-5)
  before <- length(serialize(A, NULL))
  b <- with_local_seed(6, stats::rnorm(3000))
  product <- A %*% b
  expect_lt(length(serialize(A, NULL)), before + 2000)  # what the audit has found
  expect_identical(unserialize(serialize(A, NULL)) %*% b, product)
})
