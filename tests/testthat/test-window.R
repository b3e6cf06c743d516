# Tests that work too large for a GPU's memory is computed part by part, and that rows are shared out among GPUs: with
# the same bits all the same.

windows <- function(R, lanes, sweep, bytes) {
  through("cuda_windows", plan_behind(R), lanes, sweep, 132, bytes)
}
gaussian_sum <- function(precision = "float32") {
  lazy_set(sum(exp(-sqdist(Vi(dim = 3, name = "x"), Vj(dim = 3, name = "y"))) * Vj(dim = 1, name = "b"), index = "j",
               call = FALSE), precision = precision)
}

test_that("windows are whole blocks and groups of splits, fit, and hold all where there is room", {
  for (precision in test_precisions()) for (m in c(1, 1000, 1e5, 1e7)) for (n in c(1, 1000, 1e6, 1e8)) {
    R <- gaussian_sum(precision)
    all <- windows(R, m, n, Inf)
    expect_identical(all[c("lanes", "sweep", "whole")], c(lanes = m, sweep = n, whole = 1))
    for (share in c(1e-3, 0.02, 0.3)) {
      w <- tryCatch(windows(R, m, n, all[["all"]] * share), kernweave_error_memory = identity)
      if (inherits(w, "condition")) next
      expect_true(w[["lanes"]] == m || (w[["lanes"]] > 0 && w[["lanes"]] %% w[["block"]] == 0))
      expect_true(w[["sweep"]] == n || (w[["sweep"]] > 0 && w[["sweep"]] %% w[["split"]] == 0))
      expect_lte(w[["takes"]], all[["all"]] * share)
    }
  }
})

test_that("a GPU of half a gigabyte can do with a part at a time, and one of nothing is told what is needed", {
  expect_identical(windows(gaussian_sum(), 1e8, 1e8, 1e9)[["whole"]], 0)
  expect_error(windows(gaussian_sum(), 1e5, 1e5, 1e4), "at least [0-9]+ MB on the GPU; it may take 0",
               class = "kernweave_error_memory")
  expect_error(with_kernweave(sum(Vi(1:3), index = "i"), gpu_mb = "much"), "`gpu_mb` must be a number of megabytes",
               class = "kernweave_error_settings")
})

test_that("devices are \"all\", or numbers of GPUs, each once", {
  F <- Vi(1:3) * Vj(1:3)
  for (wrong in list(-1, 0.5, c(1, 1), NA, "0,", "2-3", 1e9)) {
    expect_error(lazy_set(F, device = wrong), class = "kernweave_error_settings")
  }
  expect_error(sum(F, index = "j", device = 99), "device \"99\" cannot be used", class = "kernweave_error_no_device")
  if (!gpu_is_ready()) {
    for (device in list("all", 0, c(0, 1))) {
      expect_error(sum(F, index = "j", device = device), "driver|NVRTC", class = "kernweave_error_no_device")
    }
  }
  expect_error(on_device(1:3, device = c(0, 1)), "one GPU to keep data on", class = "kernweave_error_settings")
})

# --- on a GPU -----------------------------------------------------------------------------------------------------

# Reductions that take every way through the engine, of fresh data each time: copies that stay are none of a call's own.
cases <- function(m, n, d = 3) {
  x <- matrix(stats::runif(m * d), m)
  y <- matrix(stats::runif(n * d), n)
  b <- stats::rnorm(n)
  B <- matrix(stats::rnorm(30 * n), n)
  rows <- sample(n, m, replace = TRUE)
  D <- function() sqdist(Vi(x), Vj(y))
  list(
    sum = function() exp(-D()) %*% b,
    along_j = function() sum(exp(-D()) * Vj(b), index = "i"),
    nearest = function() argKmin(D(), K = 5),
    least = function() min_argmin(D(), index = "j"),
    logsumexp = function() logsumexp(-D(), index = "j"),
    lists = function() argKmin(D(), K = 20, index = "i"),
    gradient = function() sum(exp(-D()) * Vj(b) * (Vi(x) - Vj(y)), index = "j"),
    many = function() exp(-D()) %*% B,
    total = function() reduction(exp(-D()) * Vj(b), "sum", index = "ij"),
    first = function() reduction(D(), "argKmin", K = 3, index = "ij"),
    gathered = function() sum(sqdist(Vi(y)[rows, ], Vj(y)) * Vj(x)[, seq_len(n) %% m + 1], index = "j"),
    counted = function() sum(exp(-D()) * col_index() * row_index(), index = "j")
  )
}

same_in_parts <- function(calls, budgets) {
  for (name in names(calls)) for (precision in test_precisions())
  with_kernweave(device = "gpu", precision = precision, {
    expected <- calls[[name]]()
    for (mb in budgets) {
      expect_identical(with_kernweave(calls[[name]](), gpu_mb = mb), expected, label = paste(name, precision, mb))
    }
  })
}

test_that("part by part, results have the same bits: rows in parts", {
  skip_without_gpu()
  set.seed(3)
  same_in_parts(cases(150001, 300), c(20, 12))
})

test_that("part by part, results have the same bits: columns in parts", {
  skip_without_gpu()
  set.seed(4)
  same_in_parts(cases(300, 200003), c(30, 20))
})

test_that("part by part, results have the same bits: both, and wide points", {
  skip_without_gpu()
  set.seed(5)
  same_in_parts(cases(40001, 50003)[c("sum", "along_j", "nearest", "logsumexp", "total")], c(10, 6))
  same_in_parts(cases(20001, 30003, 40)[c("sum", "along_j", "nearest", "many")], c(30, 20))
})

test_that("part by part, pairs of matrices and pairs kept have the same bits", {
  skip_without_gpu()
  set.seed(6)
  A <- matrix(stats::runif(3000 * 2001), 3000)
  x <- matrix(stats::runif(9000), ncol = 3)
  y <- matrix(stats::runif(6003), ncol = 3)
  same_in_parts(list(
    sum = function() sum(Vij(A) * exp(-sqdist(Vi(x), Vj(y))), index = "j"),
    swapped = function() sum(t(Vij(A)) * exp(-sqdist(Vi(y), Vj(x))), index = "i"),
    all = function() as.matrix(exp(-sqdist(Vi(x), Vj(y)))),
    both = function() as.matrix(Vij(A) * sqdist(Vi(x), Vj(y)))
  ), c(40, 15))
})

test_that("data and results that stay have the same bits where memory is short", {
  skip_without_gpu()
  set.seed(7)
  x <- on_device(matrix(stats::runif(3e5), ncol = 3))
  b <- on_device(stats::runif(1e5))
  call <- function() exp(-sqdist(Vi(x), Vj(x))) %*% b
  expected <- with_kernweave(call(), device = "gpu")
  part <- with_kernweave(call(), device = "gpu", gpu_mb = 6)
  expect_true(is_on_device(part))
  expect_identical(part, expected)
})

test_that("all GPUs together give the bits of one", {
  skip_without_gpu()
  set.seed(8)
  through("gpu_pretend", 3)
  on.exit(through("gpu_pretend", 0))
  devices <- list("all", c(0, 1), 1, c(2, 0))
  for (calls in list(cases(5001, 7001), cases(100, 200))) for (name in names(calls))
  for (precision in test_precisions()) {
    expected <- with_kernweave(calls[[name]](), device = "gpu", precision = precision)
    for (device in devices)
      expect_identical(with_kernweave(calls[[name]](), device = device, precision = precision), expected,
                       label = paste(name, precision, paste(device, collapse = ",")))
  }
})

test_that("a long call on several GPUs is interrupted soon, and the next one works", {
  skip_without_gpu()
  through("gpu_pretend", 2)
  on.exit(through("gpu_pretend", 0))
  x <- Vi(matrix(stats::runif(6e6), ncol = 3))
  y <- Vj(matrix(stats::runif(6e6), ncol = 3))
  started <- Sys.time()
  setTimeLimit(elapsed = 0.5, transient = TRUE)
  expect_identical(tryCatch(sum(exp(-sqrt(sqdist(x, y))), index = "j", device = c(0, 1)),
                            condition = function(c) "stopped"), "stopped")
  setTimeLimit()
  expect_lt(as.numeric(Sys.time() - started, units = "secs"), 3)
  expect_identical(dim(sum(exp(-sqdist(Vi(diag(3)), Vj(diag(3)))), index = "j", device = c(0, 1))), c(3L, 1L))
})
