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

test_that("text, and files of other formats, are no doubles, and doubles are never text", {
  path <- tempfile()
  set.seed(28)
  m <- matrix(stats::rnorm(600), 200)
  y <- m[1:40, ]
  refused <- function(says, ...) {
    expect_error(map_points(path, ...), says, class = "kernweave_error_data")
    expect_error(map_points(path, ...), "write_points(read = )", fixed = TRUE)
  }
  for (write in list(function() utils::write.csv(quakes[1:20, ], path),
                     function() writeLines(rep("1.5 2.5", 100), path),
                     function() utils::write.table(m, path, eol = "\r\n"),
                     function() writeLines("1,2\n3,4\n5,6\n7,8,9", path),
                     function() writeLines(c("name,\u00e4\u00f6\u00fc", rep("0.123,4.567", 50)), path))) {
    write()
    for (pad in seq_len(-file.size(path) %% 8)) cat("\n", file = path, append = TRUE)
    refused("is text", width = 1)
  }
  writeBin(c(charToRaw(strrep(" ", 64)), writeBin(as.vector(y), raw())), path)
  expect_identical(map_points(path, 3, offset = 64), y, ignore_attr = TRUE)
  writeBin(c(writeBin(as.vector(y), raw()), charToRaw(strrep("1,2\n", 500))), path)
  refused("is text", width = 1, offset = 8 * length(y))
  saveRDS(m, path)
  while (file.size(path) %% 8) writeBin(c(readBin(path, "raw", file.size(path)), as.raw(0)), path)
  refused("gzip", width = 1)
  # Letters of other alphabets, in one byte each or two; a few numbers; nothing but ends of lines
  swedish <- strrep("r\u00e4ksm\u00f6rg\u00e5s;1,5\n", 200)
  encoded <- lapply(c("latin1", "UTF-8"), function(to) iconv(swedish, "UTF-8", to, toRaw = TRUE)[[1]])
  marked <- c(as.raw(c(255, 254)), iconv(strrep("1,23456\n", 50), "UTF-8", "UTF-16LE", toRaw = TRUE)[[1]][1:798])
  few <- lapply(c("1.25\n2.50\n3.75\n4\n", strrep("\n", 16)), charToRaw)
  for (bytes in c(encoded, list(marked), few)) {
    writeBin(c(bytes, rep(charToRaw("\n"), -length(bytes) %% 8)), path)
    refused("is text", width = 1)
  }
  ascii <- iconv(strrep("1,2\n", 100), "UTF-8", "UTF-16BE", toRaw = TRUE)[[1]]
  writeBin(ascii, path)
  refused("is text", width = 1)
  starts <- list(arrow = charToRaw("ARROW1"), zip = c(charToRaw("PK"), as.raw(3:4)), bzip2 = charToRaw("BZh"),
                 saveRDS = serialize(m, NULL)[1:8])
  for (name in names(starts)) {
    bytes <- c(starts[[name]], as.raw(sample(0:255, 800, TRUE)))
    writeBin(bytes[seq_len(800)], path)
    refused(name, width = 1)
  }
  for (values in list(0, 1, 0.1, -2.5, pi, 1e300, NA, NaN, Inf, 1:9 / 7, 2^(-9:9), stats::rnorm(500),
                      1e5 + seq_len(500), as.numeric(Sys.time()) + 1:40, c(quakes$lat, quakes$long))) {
    for (times in c(1, 100)) {
      values <- rep(as.numeric(values), times)
      writeBin(values, path)
      expect_identical(as.vector(map_points(path, 1)), values)
    }
  }
  printable <- readBin(charToRaw(strrep("1,2,3,4\n", 40)), "double", 40)
  expect_identical(as.vector(write_points(tempfile(), printable)), printable)
})
