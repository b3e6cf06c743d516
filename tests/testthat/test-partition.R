# Cuts of sorted lists into equal parts, on the CPU and as a GPU's compilers read them.

test_that("cuts are those of serial traces, for equal, disjoint and random lists", {
  skip_on_cran()
  program <- tempfile("partition")
  flags <- c("-O1", "-Wall", "-Wextra")
  built <- run_cxx(c(flags, paste0("-I", include_dir()), test_path("cpu/partition.cpp"), "-o", program))
  expect_identical(built$output, "")
  expect_identical(run_tool(program, character())$output, "held")
})
