# Every row compiles for the GPU with nvcc and, without any standard header, with NVRTC. No GPU is needed.
# Where a toolkit is, it must work; where there is none, this is skipped.

include_dir <- function() system.file("include", package = "kernweave")
cuda_file <- function(name) testthat::test_path("cuda", name)

toolkit <- function() {
  candidates <- c(Sys.getenv("CUDA_HOME"), Sys.getenv("CUDA_PATH"), dirname(dirname(Sys.which("nvcc"))), "/usr/local/cuda")
  found <- Filter(function(dir) nzchar(dir) && file.exists(file.path(dir, "bin/nvcc")), candidates)
  if (!length(found)) skip("no CUDA toolkit here")
  found[[1]]
}

run_tool <- function(command, args) {
  output <- suppressWarnings(system2(command, args, stdout = TRUE, stderr = TRUE))
  status <- attr(output, "status")
  list(ok = is.null(status) || status == 0, output = paste(output, collapse = "\n"))
}

with_nvcc <- function(flags) {
  ptx <- tempfile(fileext = ".ptx")
  tool <- run_tool(file.path(toolkit(), "bin/nvcc"), c("-std=c++17", "-ptx", "-arch=sm_90", paste0("-I", include_dir()), flags,
                                                       "-o", ptx, cuda_file("every_row.cu")))
  c(tool, list(ptx = if (tool$ok) readLines(ptx)))
}

test_that("nvcc compiles every row in double and in float", {
  for (flags in list(NULL, "-DKW_TEST_FLOAT")) {
    tool <- with_nvcc(flags)
    expect_true(tool$ok, label = tool$output)
    expect_false(grepl("warning", tool$output), label = tool$output)
  }
})

test_that("a float kernel holds no double arithmetic, whatever literals its rows hold", {
  tool <- with_nvcc("-DKW_TEST_FLOAT")
  expect_true(tool$ok, label = tool$output)
  # CUDA's own sinf() reduces huge angles by one product with pi / 2^65 in double.
  huge_angles <- "[.]reg|cvt.rn.f64.s64|0d3BF921FB54442D19|cvt.rn.f32.f64|neg.f64|selp.f64"
  expect_identical(grep(huge_angles, grep("[.]f64", tool$ptx, value = TRUE), value = TRUE, invert = TRUE), character())
})

test_that("NVRTC compiles every row with no header but ours", {
  skip_on_os("windows")
  library_file <- Sys.glob(file.path(toolkit(), c("lib64", "lib", "targets/*/lib"), "libnvrtc.so*"))
  library_file <- library_file[!grepl("builtins|alt|static", library_file)]
  expect_true(length(library_file) > 0, label = "the toolkit has NVRTC")
  program <- tempfile("nvrtc")
  compiler <- cxx17()
  built <- run_tool(compiler[1], c(compiler[-1], "-std=c++17", cuda_file("nvrtc.cpp"), "-o", program, "-ldl"))
  expect_true(built$ok, label = built$output)
  for (flags in list(NULL, "-DKW_TEST_FLOAT")) {
    tool <- run_tool(program, c(library_file[1], cuda_file("every_row.cu"), include_dir(), "sm_90", flags))
    expect_true(tool$ok, label = tool$output)
    expect_match(tool$output, "^[0-9]+$")
  }
})

test_that("clang compiles every row too", {
  clang <- Sys.which("clang++")
  if (!nzchar(clang)) skip("no clang++ here")
  source <- tempfile(fileext = ".cpp")
  writeLines(c("#include \"kernweave/ops.hpp\"", "#include \"kernweave/reductions.hpp\"", "int main() {}"), source)
  tool <- run_tool(clang, c("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-fsyntax-only", paste0("-I", include_dir()), source))
  expect_true(tool$ok && !grepl("warning", tool$output), label = tool$output)
})
