# Every row compiles for the GPU with nvcc and, without any standard header, with NVRTC. No GPU is needed.
# Where a toolkit is, it must work; where there is none, this is skipped.

test_that("nvcc compiles every row in double", {
  skip_below("all")  # it compiles the kernels of the installation, and NVRTC below these
  tool <- with_nvcc(NULL, include_dir())
  expect_true(tool$ok, label = tool$output)
  expect_false(grepl("warning", tool$output), label = tool$output)
})

test_that("nvcc compiles every row in float to a kernel without double arithmetic, whatever literals its rows hold", {
  skip_below("usual")
  tool <- with_nvcc("-DKW_TEST_FLOAT", include_dir())
  expect_true(tool$ok, label = tool$output)
  expect_false(grepl("warning", tool$output), label = tool$output)
  # CUDA's own sinf() reduces huge angles by one product with pi / 2^65 in double.
  huge_angles <- "[.]reg|cvt.rn.f64.s64|0d3BF921FB54442D19|cvt.rn.f32.f64|neg.f64|selp.f64"
  expect_identical(grep(huge_angles, grep("[.]f64", tool$ptx, value = TRUE), value = TRUE, invert = TRUE), character())
})

test_that("NVRTC compiles every row with no header but ours", {
  skip_below("usual")
  compile <- nvrtc_compiler()
  for (flags in if (reaches("all")) list(NULL, "-DKW_TEST_FLOAT") else list(NULL)) {
    tool <- compile(flags, include_dir())
    expect_true(tool$ok, label = tool$output)
    expect_match(tool$output, "^[0-9]+$")
  }
})

test_that("clang compiles every row too", {
  clang <- Sys.which("clang++")
  if (!nzchar(clang)) skip("no clang++ here")
  source <- tempfile(fileext = ".cpp")
  writeLines(c("#include \"kernweave/ops.hpp\"", "#include \"kernweave/reductions.hpp\"", "int main() {}"), source)
  flags <- c("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-fsyntax-only", paste0("-I", include_dir()))
  tool <- run_tool(clang, c(flags, source))
  expect_true(tool$ok && !grepl("warning", tool$output), label = tool$output)
})

test_that("the code for points in memory is not much longer than the code for points in registers", {
  skip_below("usual")
  skip_without_compiler()
  length_of <- function(D) {
    square <- sqdist(Vi(cloud(5, D)), Vj(cloud(6, D)))
    R <- sum(exp(-square) * square, index = "j", call = FALSE, precision = "float64")
    sum(vapply(sources_of(R), function(source) length(through("cuda_compile", source, 90L)), 0))
  }
  expect_lt(length_of(64), 2 * length_of(40))
})
