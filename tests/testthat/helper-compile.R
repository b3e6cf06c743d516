# Compilers at hand, for tests that build what the package hands to them.

include_dir <- function() system.file("include", package = "kernweave")

cuda_file <- function(name) testthat::test_path("cuda", name)

toolkit <- function() {
  candidates <- c(Sys.getenv("CUDA_HOME"), Sys.getenv("CUDA_PATH"), dirname(dirname(Sys.which("nvcc"))),
                  "/usr/local/cuda")
  found <- Filter(function(dir) nzchar(dir) && file.exists(file.path(dir, "bin/nvcc")), candidates)
  if (!length(found)) testthat::skip("no CUDA toolkit here")
  found[[1]]
}

run_tool <- function(command, args) {
  output <- suppressWarnings(system2(command, args, stdout = TRUE, stderr = TRUE))
  status <- attr(output, "status")
  list(ok = is.null(status) || status == 0, output = paste(output, collapse = "\n"))
}

# Every row of the headers in a folder, by nvcc, to the assembler's text.
with_nvcc <- function(flags, headers) {
  ptx <- tempfile(fileext = ".ptx")
  flags <- c("-std=c++17", "-ptx", "-arch=sm_90", paste0("-I", headers), flags)
  tool <- run_tool(file.path(toolkit(), "bin/nvcc"), c(flags, "-o", ptx, cuda_file("every_row.cu")))
  c(tool, list(ptx = if (tool$ok) readLines(ptx)))
}

# Returns a compiler of every row by NVRTC, with no other header in reach: a function of flags and folder.
nvrtc_compiler <- function() {
  testthat::skip_on_os("windows")
  library_file <- Sys.glob(file.path(toolkit(), c("lib64", "lib", "targets/*/lib"), "libnvrtc.so*"))
  library_file <- library_file[!grepl("builtins|alt|static", library_file)]
  testthat::expect_true(length(library_file) > 0, label = "the toolkit has NVRTC")
  program <- tempfile("nvrtc")
  built <- run_cxx(c(cuda_file("nvrtc.cpp"), "-o", program, "-ldl"))
  testthat::expect_true(built$ok, label = built$output)
  function(flags, headers) run_tool(program, c(library_file[1], cuda_file("every_row.cu"), headers, "sm_90", flags))
}

# R's own C++ compiler.
run_cxx <- function(args) {
  compiler <- cxx17()
  run_tool(compiler[1], c(compiler[-1], "-std=c++17", args))
}
