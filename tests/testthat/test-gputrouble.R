# Tests what can go wrong with a GPU, and what is said then.

test_that("without a driver, asking for the GPU says what is missing, and auto is silent", {
  if (gpu_is_ready()) skip("there is a GPU here")
  x <- Vi(matrix(stats::runif(30), 10))
  expect_error(sum(sqdist(x, Vj(matrix(0, 5, 3))), index = "j", device = "gpu"), "driver|NVRTC",
               class = "kernweave_error_no_device")
  expect_silent(sum(sqdist(x, Vj(matrix(0, 5, 3))), index = "j", device = "auto"))
})

test_that("a GPU too old for the compiler is told so", {
  skip_without_compiler()
  source <- "extern \"C\" __global__ void a(int* out) { *out = 1; }"
  expect_error(through("cuda_compile", source, 20L), "2.0, is too old", class = "kernweave_error_no_device")
})

test_that("a forked process is told that it cannot use its parent's GPU", {
  skip_without_gpu()
  skip_on_os("windows")
  x <- matrix(stats::runif(30), 10)
  K <- sqdist(Vi(x), Vj(x))
  sum(K, index = "j", device = "gpu")
  said <- parallel::mclapply(1:2,
                             function(k) tryCatch(sum(K, index = "j", device = "gpu"),
                                                  kernweave_error = conditionMessage), mc.cores = 2)
  for (answer in said) expect_match(answer, "forked")
  big <- Vi(matrix(stats::runif(3e5), ncol = 3))
  L <- exp(-sqdist(big, Vj(matrix(stats::runif(3e3), ncol = 3))))
  for (answer in parallel::mclapply(1:2, function(k) sum(L, index = "j"), mc.cores = 2)) {
    expect_close(answer, sum(L, index = "j"), 1e-12, scale = 1000)
  }
})

test_that("a call takes what memory there is, says what it needs where there is none, and the next one works", {
  skip_without_gpu()
  x <- matrix(stats::runif(9e6), ncol = 3)
  small <- matrix(stats::runif(30), ncol = 3)
  call <- function() sum(exp(-sqdist(Vi(x), Vj(small))), index = "j", device = "gpu")
  expected <- call()
  gc()
  through("gpu_trim")
  held <- list()
  # A block may take an eighth more than is asked for.
  free <- function() through("gpu_free_memory")
  while (free() > 60e6) held <- c(held, through("gpu_hold", 0.8 * (free() - 30e6)))
  expect_identical(call(), expected)
  through("gpu_trim")
  repeat {
    block <- tryCatch(through("gpu_hold", 1e6), kernweave_error_memory = function(e) NULL)
    if (is.null(block)) break
    held <- c(held, block)
  }
  expect_error(call(), "MB on the GPU", class = "kernweave_error_memory")
  held <- list()
  gc()
  expect_identical(call(), expected)
})

test_that("however little memory is left, a call gives its numbers or says that it lacks memory", {
  skip_without_gpu()
  x <- matrix(stats::runif(3 * 20001), ncol = 3)
  y <- matrix(stats::runif(3 * 5003), ncol = 3)
  b <- stats::runif(nrow(y))
  D <- lazy_set(sqdist(Vi(x), Vj(y)), device = "gpu")
  # Each K has kernels of its own, which take memory when they are loaded.
  calls <- list(nearest = function(k) argKmin(D, K = 2 + k), sum = function(k) exp(-D) %*% b,
                logsumexp = function(k) logsumexp(-D, index = "j"))
  free <- function() through("gpu_free_memory")
  held <- list()
  hold <- function(bytes) tryCatch(through("gpu_hold", bytes), kernweave_error_memory = function(e) NULL)
  for (k in 1:2) {
    through("gpu_trim")
    left <- c(20e6, 0)[k]
    while (free() > left + 2e6 && !is.null(block <- hold(0.8 * (free() - left)))) held <- c(held, block)
    short <- lapply(calls, function(call) tryCatch(call(k), kernweave_error_memory = function(e) NULL))
    held <- list()
    gc()
    for (name in names(calls))
      if (!is.null(short[[name]])) expect_identical(short[[name]], calls[[name]](k), label = paste(name, left))
  }
  expect_identical(calls$nearest(1), with_kernweave(calls$nearest(1), gpu_mb = 20))
})

test_that("a long call on the GPU is interrupted soon, and the next one works", {
  skip_without_gpu()
  x <- on_device(matrix(stats::runif(3e6), ncol = 3))
  long <- lazy_set(sum(exp(-sqrt(sqdist(Vi(x), Vj(x)))), index = "j", call = FALSE), device = "gpu",
                   precision = "float64")
  started <- Sys.time()
  setTimeLimit(elapsed = 0.5, transient = TRUE)
  expect_identical(tryCatch(as.matrix(long), condition = function(c) "stopped"), "stopped")
  setTimeLimit()
  expect_lt(as.numeric(Sys.time() - started, units = "secs"), 3)
  expect_identical(dim(sum(exp(-sqdist(Vi(x[1:10, ]), Vj(x[1:20, ]))), index = "j", device = "gpu")), c(10L, 1L))
})

test_that("two processes share a GPU", {
  skip_without_gpu()
  code <- c("set.seed(1); x <- matrix(runif(3e5), ncol = 3)",
            "for (k in 1:5) v <- sum(exp(-sqdist(Vi(x), Vj(x))), index = 'j', device = 'gpu')",
            "cat(sprintf('%a END', sum(v)))")
  both <- list(another_r(code), another_r(code))
  said <- vapply(both, wait_for, "", "END")
  expect_match(said[1], "0x.* END")
  expect_identical(said[1], said[2])
})
