# What the border does with arrays on a GPU, where there is none: the tests of GPUs, on a device whose memory is the
# host's, with verbs that are those of the CPU (src/windows/verbs.cpp).

test_that("on a device whose memory is the host's, arrays are what they are on the CPU, and stay there", {
  skip_below("quick")
  skip_without_windows()
  skip_if(identical(kernweave_sitrep()$configured[["Cuda"]], "yes"), "the verbs of a GPU were compiled")
  found <- found_under_driver(function(file) {
    library(testthat)
    run <- as.data.frame(test_file(file, reporter = "silent", package = "kernweave", load_package = "installed",
                                   stop_on_failure = FALSE))
    list(wrong = run$test[run$failed > 0 | run$error | run$skipped], right = sum(run$passed))
  }, list(list(normalizePath(test_path("test-arrays-gpu.R")))), seconds = 300)
  expect_identical(found[[1]]$wrong, character())
  expect_gt(found[[1]]$right, 5000)
})
