# Helpers that tests of the GPU share.

gpu_is_ready <- function() "gpu" %in% devices_here()

# Tells whether this process is one of found_under_driver().
under_driver <- function() nzchar(Sys.getenv("ON_HOST"))

skip_without_gpu <- function() if (!gpu_is_ready()) skip("no GPU here")

sources_of <- function(R, lanes = 1e5) through("cuda_sources", plan_behind(R), lanes)

# Skips a test without a run-time compiler. A toolkit's compiler must work (test-compile.R); there may be a compiler
# without a toolkit, too.
skip_without_compiler <- function() {
  skip_below("quick")
  skip_without_windows()
  if (!grepl("^NVRTC", gpu_report()$compiler)) skip("no run-time compiler here")
}

# In both precisions at night, else in one of `precisions`, the next call in the other: a kernel takes a second.
compiled_at_last <- new.env()
compiled_at_last$precision <- "float32"
expect_compiles <- function(R, label, precisions = test_precisions()) {
  turn <- c(setdiff(precisions, compiled_at_last$precision), precisions)[1]
  compiled_at_last$precision <- turn
  if (reaches("all")) turn <- test_precisions()
  for (precision in turn) for (source in sources_of(lazy_set(R, precision = precision))) {
    code <- tryCatch(length(through("cuda_compile", source, 90L)), kernweave_error = conditionMessage)
    expect_true(is.numeric(code) && code > 1000, label = paste(label, precision, code))
  }
}

# A program of tests/testthat/cuda, which carries out device code on the host, says so of all it has checked.
expect_right_on_host <- function(file, defines = character()) {
  testthat::skip_on_os("windows")
  testthat::skip_on_cran()
  compiler <- cxx17()
  if (!nzchar(Sys.which(compiler[1]))) skip("no compiler")
  program <- tempfile("on_host")
  args <- c(compiler[-1], "-std=gnu++17", "-O1", "-pthread", defines,
            paste0("-I", system.file("include", package = "kernweave")), testthat::test_path("cuda", file), "-o",
            program)
  expect_identical(system2(compiler[1], args), 0L, label = paste("compiling", file))
  said <- suppressWarnings(system2(program, stdout = TRUE))
  expect_match(said[length(said)], "^[0-9]{3,} right, 0 wrong$", label = paste(said, collapse = "\n"))
}

# A file of code for another R, which sees the same packages.
script_of <- function(code) {
  script <- tempfile(fileext = ".R")
  begin <- c(paste0(".libPaths(", paste(deparse(.libPaths()), collapse = ""), ")"), "library(kernweave)",
             sprintf("source(%s)", deparse(normalizePath(testthat::test_path("helper-engine.R")))))
  writeLines(c(begin, code), script)
  script
}

# Runs code in another R. Returns the file of what this R says.
another_r <- function(code, env = character()) {
  script <- script_of(code)
  said <- tempfile()
  file.create(said)  # it may take a while to start
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script), stdout = said, stderr = said, wait = FALSE,
          env = env)
  said
}

wait_for <- function(said, pattern, seconds = 60) {
  for (k in seq_len(10 * seconds)) {
    if (any(grepl(pattern, readLines(said, warn = FALSE)))) break
    Sys.sleep(0.1)
  }
  paste(readLines(said, warn = FALSE), collapse = " ")
}

# A folder, one for all that this process asks: a driver of no GPU (tests/testthat/cuda/driver.cpp), and our headers
# with words for the host in place of those of tensor cores.
driver_of_no_gpu <- function() {
  folder <- file.path(tempdir(), "driver")
  if (!dir.exists(folder)) {
    dir.create(folder)
    built <- run_cxx(c("-O1", "-shared", "-fPIC", cuda_file("driver.cpp"), "-o", file.path(folder, "libcuda.so.1"),
                       "-ldl"))
    expect_true(built$ok, label = built$output)
    file.copy(include_dir(), folder, recursive = TRUE)
    gpu <- file.path(folder, "include/kernweave/gpu")
    file.copy(cuda_file("tensor_words.hpp"), gpu, overwrite = TRUE)
    for (file in list.files(gpu, full.names = TRUE)) {
      writeLines(sub("^  __shared__", "  static", readLines(file)), file)
    }
  }
  folder
}

# Returns what a function finds with each list of arguments under such a driver: memory is the host's, and the host
# carries out the kernels. Runs in another R, since a process opens a driver once.
found_under_driver <- function(f, cases, seconds = 60) {
  testthat::skip_on_cran()
  testthat::skip_on_os("windows")
  folder <- driver_of_no_gpu()
  found <- tempfile(fileext = ".rds")
  code <- c(
    "Sys.setenv(R_USER_CACHE_DIR = tempfile())",
    paste("f <-", paste(deparse(f), collapse = "\n")),
    paste0("cases <- ", paste(deparse(cases), collapse = "")),
    sprintf("saveRDS(lapply(cases, function(case) do.call(f, case)), \"%s\")", found),
    "cat('all done')"
  )
  compiler <- c(cxx17(), "-std=gnu++17", "-O1", "-shared", "-fPIC", paste0("-I", folder, "/include"), "-include",
                normalizePath(cuda_file("on_host.hpp")))
  said <- another_r(code, env = c(paste0("LD_LIBRARY_PATH=", folder, ":", Sys.getenv("LD_LIBRARY_PATH")),
                                  paste0("KERNWEAVE_NVRTC=", folder, "/libcuda.so.1"),
                                  paste0("ON_HOST_FOLDER=", folder),
                                  paste0("ON_HOST=", shQuote(paste(compiler, collapse = " ")))))
  expect_match(wait_for(said, "all done|^Error|halted|segfault", seconds), "all done$")
  readRDS(found)
}

# Applies an operation to arguments along the given axes.
operation_on <- function(row, shape, axes, M, N) {
  arguments <- Map(function(width, kind, axis) {
    data <- numbers_between(c(i = M, j = N, param = 1)[[axis]], width, 0.3, 1.8)
    operand_on(axis, if (kind == "logical") data > 1 else data, name = axis)
  }, shape$widths, shape$kinds, axes[seq_along(shape$widths)])
  lazy_call(row$name, arguments, shape$attributes) + 0 * (row_index(M) + col_index(N))
}

term_for <- function(row, X, Y) {
  if (wants_logical(row)) return(sqdist(X, Y) < 0.01)
  # For a product, take factors that are exact and next to 1.
  if (row$fn == "prod") 1 + sqdist(X, Y) / 4096 else sqdist(X, Y) - 1
}
weight_for <- function(row, y) if (row$inputs == "value_weight") Vj(y)^2
