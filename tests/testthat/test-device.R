# Numbers that lie on a device: R sees an ordinary vector, and fetches it when it looks.

elsewhere <- function(x, length = base::length(x), tells = FALSE) through("elsewhere", x, length, tells)

test_that("a vector on a device is an ordinary vector to R", {
  for (x in list(matrix(c(1.5, NA, -Inf, 4), 2, dimnames = list(NULL, c("a", "b"))), c(3L, NA, 1L), 1:1000 / 7)) {
    expect_identical(elsewhere(x), x)
    y <- elsewhere(x)
    expect_true(is_on_device(y))
    expect_identical(dim(y), dim(x))
    expect_identical(y[2], x[2])
    expect_identical(y + 1, x + 1)
    expect_identical(sum(elsewhere(x), na.rm = TRUE), sum(x, na.rm = TRUE))
    expect_identical(unserialize(serialize(elsewhere(x), NULL)), x)
    expect_identical(rev(elsewhere(x)), rev(x))
    expect_output(print(elsewhere(x)), "1")
  }
})

test_that("what is written to a vector on a device stays in R, and changes no copy of it", {
  x <- c(1, 2, 3)
  y <- elsewhere(x)
  z <- y
  y[2] <- 7
  expect_identical(y, c(1, 7, 3))
  expect_identical(z, x)
  expect_identical(x, c(1, 2, 3))
})

test_that("numbers that cannot be fetched are a classed error, again and again", {
  skip_below("quick")
  gone <- elsewhere(c(1, 2), 3)
  for (k in 1:2) expect_error(gone + 1, "the device has gone", class = "kernweave_error_no_device")
  for (k in 1:2) {
    expect_error(sum(Vi(gone) * Vj(1), index = "j", device = "cpu"), "the device has gone",
                 class = "kernweave_error_no_device")
  }
  expect_identical(length(gone), 3L)
  gc()
})

test_that("the CPU computes with data that lie on a device", {
  x <- numbers_between(40, 3, 0, 1)
  b <- numbers_between(40, 1, -1, 1)
  K <- exp(-sqdist(Vi(elsewhere(x)), Vj(elsewhere(x))))
  expected <- exp(-sqdist(Vi(x), Vj(x))) %*% b
  for (device in c("cpu", "reference")) {
    expect_close(lazy_set(K, device = device) %*% elsewhere(b), expected, 1e-13, scale = 40)
  }
  expect_identical(dim(K), c(40L, 40L))
  f <- as.function(sum(Vi(dim = 3, name = "x") | Vj(dim = 3, name = "y"), index = "j"))
  expect_identical(f(elsewhere(x), x), f(x, elsewhere(x)))
})

test_that("verbs for arrays take what lies on a device as they take what does not", {
  x <- c(0.5, NA, 2, 7, 2)
  rising <- c(0.5, 2, 2, 7, NA)
  at <- c(1, 2, 2, 5, 3)
  whole <- c(3L, 1L, 4L)
  m <- matrix(1:6 / 2, 3, dimnames = list(NULL, c("a", "b")))
  calls <- list(
    function(to) par_order(to(x)), function(to) par_sort(to(whole)), function(to) par_order(list(to(at), to(x))),
    function(to) par_merge(to(rising), to(c(1, 2))), function(to) par_search(to(x), to(c(1, 2, 3))),
    function(to) par_set(to(rising), to(c(2, 3)), "union"), function(to) par_join(to(x), to(at), "outer"),
    function(to) par_reduce(to(x), "sum", par_segments(by = to(at)), na.rm = TRUE),
    function(to) par_reduce(to(whole)), function(to) par_reduce(to(m), "max", par_segments(offsets = to(c(0, 1, 3)))),
    function(to) lengths(par_segments(by = to(whole))), function(to) par_scan(to(x), "max"),
    function(to) par_remove(to(x), to(at)), function(to) par_insert(to(x), to(at), to(c(0, 5, 5, 1, 2))),
    function(to) par_expand(to(x), to(at)), function(to) par_expand(counts = to(at)),
    function(to) par_move(to(x), from = to(c(4, 1)), counts = to(c(2, 1))),
    function(to) par_move(to(x), to = to(1), counts = 5, into = to(c(x, x))),
    function(to) index_add(to(m), to(c(3, 3)), to(m[1:2, ])),
    function(to) index_add(to(whole), to(1:2), to(5:6), op = "max")
  )
  for (call in calls) {
    expect_identical(suppressMessages(call(elsewhere)), call(identity), label = deparse1(body(call)))
  }
})

test_that("verbs for arrays say once that the CPU works on what lies on a device, and leave it as it is", {
  here <- c(1, 2, 3)
  there <- elsewhere(here)
  calls <- list(par_order, par_reduce, function(x) par_expand(counts = x), function(x) par_segments(by = x),
                function(x) index_add(x, 1, 5), function(x) par_remove(x, 2))
  for (call in calls) {
    forget_said("arrays")
    expect_silent(call(here))
    expect_message(call(there), "fetched, and worked on by the CPU")
    expect_silent(call(there))
  }
  expect_identical(there, here)
  gone <- elsewhere(c(1, 2), 3)
  for (call in list(par_sort, par_reduce, par_scan)) {
    expect_error(call(gone), "the device has gone", class = "kernweave_error_no_device")
  }
})

test_that("on_device() gives back the same numbers, with a GPU and without", {
  x <- matrix(stats::runif(6), 2, dimnames = list(c("a", "b"), NULL))
  expect_identical(on_device(x), x)
  expect_identical(on_device(data.frame(u = 1:2, v = c(0.5, 1))), as.matrix(data.frame(u = 1:2, v = c(0.5, 1))))
  expect_identical(on_device(1:3), c(1, 2, 3))
  expect_identical(on_device(numeric()), numeric())
  expect_identical(is_on_device(on_device(x, device = "cpu")), FALSE)
  expect_error(on_device("a"), "must be numeric", class = "kernweave_error_input")
  expect_error(on_device(x, device = 99), "GPU 99 cannot be used", class = "kernweave_error_no_device")
})

test_that("without a GPU, on_device(device = \"gpu\") says so", {
  if (gpu_is_ready()) skip("there is a GPU here")
  expect_error(on_device(1, device = "gpu"), "driver|NVRTC", class = "kernweave_error_no_device")
})

# --- on a GPU -----------------------------------------------------------------------------------------------------

test_that("results stay on the GPU where the data are, and are the same numbers", {
  skip_without_gpu()
  set.seed(11)
  x <- matrix(stats::rnorm(3 * 700), ncol = 3)
  b <- stats::rnorm(700)
  here <- list(X = Vi(x), Y = Vj(x), b = b)
  there <- list(X = Vi(on_device(x)), Y = Vj(on_device(x)), b = on_device(b))
  calls <- list(
    function(d) exp(-sqdist(d$X, d$Y)) %*% d$b,
    function(d) argKmin(sqdist(d$X, d$Y), K = 3),
    function(d) min_argmin(sqdist(d$X, d$Y), index = "i"),
    function(d) logsumexp(-sqdist(d$X, d$Y), index = "j"),
    function(d) reduction(exp(-sqdist(d$X, d$Y)), "sum", index = "ij"),
    function(d) sum(exp(-sqdist(d$X, d$Y)) * Vj(d$b) * (d$X - d$Y), index = "j"),
    function(d) reduction(sqdist(d$X, d$Y) < 1, "any", index = "j")
  )
  for (call in calls) for (precision in test_precisions()) with_kernweave(device = "gpu", precision = precision, {
    expected <- call(here)
    expect_false(any(rapply(list(expected), is_on_device)))
    actual <- call(there)
    if (is.double(unlist(expected))) expect_true(all(rapply(list(actual), is_on_device)))
    expect_identical(actual, expected)
  })
  v <- exp(-sqdist(there$X, there$Y)) %*% there$b
  w <- exp(-sqdist(there$X, there$Y)) %*% v
  expect_true(is_on_device(w))
  expect_close(w, exp(-sqdist(here$X, here$Y)) %*% (exp(-sqdist(here$X, here$Y)) %*% b), 1e-12, scale = 1e5)
  y <- on_device(b)
  y[1] <- 1000
  expect_close(exp(-sqdist(there$X, there$Y)) %*% y, exp(-sqdist(here$X, here$Y)) %*% c(1000, b[-1]), 1e-13,
               scale = 2000)
})

test_that("repeated calls leave the memory of the GPU flat", {
  skip_without_gpu()
  x <- on_device(matrix(stats::runif(3e5), ncol = 3))
  b <- on_device(stats::runif(10))
  R <- lazy_set(sum(Vi(x)[, , 1] * Vj(b), index = "j", call = FALSE), device = "gpu")
  free <- function() {
    gc()
    through("gpu_free_memory")
  }
  for (k in 1:3000) as.matrix(R)
  before <- free()
  for (k in 1:10000) as.matrix(R)
  expect_lt(before - free(), 10000 * 256)  # the least that a call could leave there
})
