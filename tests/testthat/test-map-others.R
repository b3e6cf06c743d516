# Files of other packages, as they are: the numbers are those that these packages read from them.

set.seed(30)
m <- matrix(stats::rnorm(4 * 300), ncol = 4)
y <- matrix(stats::rnorm(4 * 20), ncol = 4)
folder <- tempfile("others")
dir.create(folder)
within_folder <- function(name) file.path(folder, name)
said_unsupported <- function(code, message) expect_error(code, message, class = "kernweave_error_unsupported")
sums <- function(x) sum(exp(-sqdist(Vi(y), Vj(x))), index = "j")

# A big.matrix in a file.
big <- function(x, name, type = "double", ...) {
  bigmemory::as.big.matrix(x, type = type, backingfile = name, backingpath = folder,
                           descriptorfile = paste0(name, ".desc"), ...)
}

test_that("a file-backed big.matrix, its descriptor and its file are the numbers that bigmemory reads", {
  skip_without_peer("bigmemory")
  named <- m
  dimnames(named) <- list(NULL, letters[1:4])
  x <- big(named, "plain.bin")
  expect_identical(map_points(x), x[, ])
  expect_identical(map_points(bigmemory::describe(x)), named)
  expect_identical(map_points(dget(within_folder("plain.bin.desc"))), named)
  expect_identical(map_points(within_folder("plain.bin"), 4), m)
  expect_identical(map_points(x, 4), named)
  expect_identical(sums(map_points(x)), sums(named))
  expect_error(Vi(x), "an object of class big.matrix; map_points(x) gives its matrix", fixed = TRUE,
               class = "kernweave_error_input")
  columns <- bigmemory::sub.big.matrix(x, firstCol = 2, lastCol = 3)
  expect_identical(map_points(columns), columns[, ])
  expect_error(map_points(x, 3), "`width` is 3, and `file` has 4 columns", class = "kernweave_error_shape")
  expect_error(map_points(x, offset = 8), "`offset`", class = "kernweave_error_input")
})

test_that("what bigmemory writes later is noticed", {
  skip_without_peer("bigmemory")
  x <- big(m, "later.bin")
  bigmemory::flush(x)
  before <- map_points(x)
  Sys.sleep(0.05)
  x[1, 1] <- 5
  bigmemory::flush(x)
  noticed <- tryCatch(is.numeric(before[1, ]), kernweave_error_file_changed = function(e) "changed")
  # Disks in memory keep no time for what is written through a map.
  if (identical(noticed, "changed")) expect_identical(map_points(x)[1, 1], 5) else expect_identical(before[1, 1], 5)
})

test_that("a big.matrix that is no such file is an error that says why, and write_points() takes it", {
  skip_without_peer("bigmemory")
  said_unsupported(map_points(bigmemory::as.big.matrix(m)), "lies in memory")
  integers <- big(matrix(1:6, 3), "integers.bin", "integer")
  said_unsupported(map_points(integers), "of another type than double")
  said_unsupported(map_points(big(m, "apart.bin", separated = TRUE)), "a file for each column")
  rows <- bigmemory::sub.big.matrix(big(m, "rows.bin"), firstRow = 2)
  said_unsupported(map_points(rows), "of some rows of a file")
  expect_identical(write_points(tempfile(), integers), matrix(1:6 + 0, 3))
  expect_identical(write_points(tempfile(), rows, rows = 100), m[-1, ])
  expect_identical(write_points(tempfile(), bigmemory::as.big.matrix(m)), m)
})

test_that("a file of ff is the numbers that ff reads", {
  skip_without_peer("ff")
  x <- ff::ff(m, dim = dim(m), filename = within_folder("plain.ff"))
  expect_identical(map_points(x), x[, ])
  expect_identical(map_points(within_folder("plain.ff"), 4), m)
  expect_identical(sums(map_points(x)), sums(m))
  expect_identical(map_points(ff::ff(m[, 1], filename = within_folder("vector.ff"))), m[, 1, drop = FALSE])
  by_rows <- ff::ff(m, dim = dim(m), dimorder = 2:1, filename = within_folder("rows.ff"))
  said_unsupported(map_points(by_rows), "do not lie one after the other")
  said_unsupported(map_points(t(x)), "do not lie one after the other")
  said_unsupported(map_points(ff::ff(1:5, filename = within_folder("integers.ff"))), "of another type than double")
  expect_identical(write_points(tempfile(), by_rows, rows = 70), m)
  close(x)
  close(by_rows)
})

test_that("an FBM of bigstatsr, by its fields, is its file", {
  fbm <- methods::setRefClass("FBM", fields = list(backingfile = "character", nrow = "numeric", ncol = "numeric",
                                                   type = "integer"), where = globalenv())
  on.exit(methods::removeClass("FBM", where = globalenv()))
  path <- within_folder("plain.bk")
  writeBin(as.vector(m), path)
  made <- function(type) fbm$new(backingfile = path, nrow = 300, ncol = 4, type = type)
  expect_identical(map_points(made(c(double = 8L))), m)
  said_unsupported(map_points(made(c(float = 6L))), "of another type than double")
})

test_that("an object whose file is gone or too short is an error that names the file", {
  skip_on_os("windows")  # which cuts no mapped file
  skip_without_peer("bigmemory")
  x <- bigmemory::describe(big(m, "short.bin"))
  writeBin(1, within_folder("short.bin"))
  expect_error(map_points(x), "8 bytes of numbers, too few for 300 rows of 4 doubles", class = "kernweave_error_shape")
  unlink(within_folder("short.bin"))
  expect_error(map_points(x), "there is no file", class = "kernweave_error_input")
})

unlink(folder, recursive = TRUE)
