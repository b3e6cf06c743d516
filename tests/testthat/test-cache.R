# Compiled kernels on disk: found again, never trusted blindly, never in the way.

a_source <- function(k) sprintf("extern \"C\" __global__ void kernel_%d(int* out) { *out = %d; }", k, k)
compiled <- function(k, folder, mb = 256) {
  with_kernweave({
    kernweave_options()  # options take effect when they are looked at
    through("cuda_compile", a_source(k), 90L)
  }, cache = folder, cache_mb = mb)
}
stored_in <- function(folder) list.files(folder, full.names = TRUE)

test_that("kernels are kept in R's folder, which a report does not make", {
  skip_if(gpu_is_ready(), "a report tries the GPU, with a kernel that is kept")
  home <- tempfile()
  before <- options(kernweave.cache = NULL)
  on.exit(options(before))
  with_variable("R_USER_CACHE_DIR", home, with_variable("KERNWEAVE_CACHE", "", {
    answer <- list(subset(kernweave_options(), option == "kernweave.cache")$value, kernweave_sitrep()$cache)
  }))
  expect_identical(answer[[1]], "TRUE")
  expect_match(answer[[2]], "kernweave: 0 kernels, 0 MB$")
  expect_false(file.exists(home))
})

test_that("what is no folder is refused", {
  expect_error(with_kernweave(kernweave_options(), cache = 3), "`cache` must be", class = "kernweave_error_settings")
  expect_error(with_kernweave(kernweave_options(), cache_mb = -1), "`cache_mb` must be",
               class = "kernweave_error_settings")
})

test_that("what was compiled once is found, whatever harm files come to", {
  skip_without_compiler()
  folder <- tempfile()
  first <- compiled(1, folder)
  expect_length(stored_in(folder), 1)
  expect_identical(compiled(1, folder), first)
  file <- stored_in(folder)
  whole <- readBin(file, "raw", file.size(file))
  # Marks the image, with its checksum left alone: if it were believed, it would come back.
  harmed <- list(raw(), whole[1:10], whole[-length(whole)],
                 replace(whole, length(whole), xor(whole[length(whole)], as.raw(255))),
                 replace(whole, 30, as.raw(255)), c(whole, as.raw(0)), rev(whole))
  for (bytes in harmed) {
    writeBin(bytes, file)
    expect_identical(compiled(1, folder), first)
    expect_identical(readBin(file, "raw", file.size(file)), whole)
  }
  expect_false(identical(compiled(2, folder), first))
  expect_length(stored_in(folder), 2)
  expect_identical(with_kernweave(kernweave_clear_cache(), cache = folder), 2L)
  expect_length(stored_in(folder), 0)
})

test_that("a file with a name that another text has as well is not believed", {
  skip_without_compiler()
  folder <- tempfile()
  compiled(1, folder)
  one <- stored_in(folder)
  compiled(2, folder)
  two <- setdiff(stored_in(folder), one)
  file.copy(two, one, overwrite = TRUE)
  expect_identical(compiled(1, folder), through("cuda_compile", a_source(1), 90L))
})

test_that("the oldest kernels leave when the folder is full", {
  skip_without_compiler()
  folder <- tempfile()
  compiled(1, folder)
  each <- file.size(stored_in(folder)) / 1e6
  for (k in 2:8) compiled(k, folder, mb = 4.5 * each)
  expect_lte(sum(file.size(stored_in(folder))) / 1e6, 4.5 * each)
  expect_gte(length(stored_in(folder)), 3)
})

test_that("a folder that cannot be written stops nothing, and the situation report says so", {
  skip_without_compiler()
  file <- tempfile()
  writeLines("", file)
  inside <- file.path(file, "folder")  # a file is no folder, even for root
  expect_identical(compiled(1, inside), through("cuda_compile", a_source(1), 90L))
  report <- with_kernweave(kernweave_sitrep(), cache = inside)
  expect_match(report$cache, "cannot be written")
  expect_true(any(grepl("cannot be kept on disk", report$problems)))
  unlink(file)
})

test_that("a disk that is full stops nothing, and no half of a file stays there", {
  skip_without_compiler()
  skip_on_os("windows")
  folder <- tempfile()
  script <- script_of(c(
    sprintf("options(kernweave.cache = %s)", deparse(folder)), "invisible(kernweave_options())",
    sprintf("cat(length(through('cuda_compile', %s, 90L)))", deparse(a_source(1)))
  ))
  # Files of this process end after two blocks of 512 bytes; the signal that says so is not heeded, so that writing
  # fails.
  command <- sprintf("trap '' XFSZ; ulimit -f 2; exec %s --vanilla %s", shQuote(file.path(R.home("bin"), "Rscript")),
                     shQuote(script))
  said <- system2("sh", c("-c", shQuote(command)), stdout = TRUE)
  image <- through("cuda_compile", a_source(1), 90L)
  expect_gt(length(image), 1024)
  expect_identical(said, as.character(length(image)))
  expect_true(dir.exists(folder))
  expect_length(stored_in(folder), 0)
})

test_that("ten processes may compile into one folder at once", {
  skip_without_compiler()
  skip_on_os("windows")
  skip_on_cran()
  folder <- tempfile()
  expected <- lapply(1:3, function(k) through("cuda_compile", a_source(k), 90L))
  found <- parallel::mclapply(1:10, function(process) lapply(1:3, compiled, folder = folder), mc.cores = 10)
  for (one in found) expect_identical(one, expected)
  expect_length(stored_in(folder), 3)
})
