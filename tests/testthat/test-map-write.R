# Writing points: what read() gives is what the file has, by blocks, and what fails leaves nothing behind.

set.seed(29)
m <- matrix(stats::rnorm(3 * 50), ncol = 3)
rows_of_m <- function(from, to) m[from:to, , drop = FALSE]

# A folder in which one file is written, and what is in it then.
in_folder <- function(code) {
  folder <- tempfile("points")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  code(file.path(folder, "x.dbl"))
  list.files(folder, all.files = TRUE, no.. = TRUE)
}

test_that("rows come in order, each once, in blocks of any size", {
  for (rows in list(1, 7, 25, 49, 50, 51, NULL)) {
    asked <- integer()
    x <- write_points(tempfile(), n = 50, width = 3, rows = rows, read = function(from, to) {
      asked <<- c(asked, from:to)
      rows_of_m(from, to)
    })
    expect_identical(x, m)
    expect_identical(asked, 1:50)
  }
  expect_identical(write_points(tempfile(), 50, 3, rows_of_m), m)
})

test_that("matrices, vectors, data frames, integers, truths and missing values are written as doubles", {
  expect_identical(write_points(tempfile(), m), m)
  expect_identical(write_points(tempfile(), 1:5), matrix(1:5 + 0))
  expect_identical(write_points(tempfile(), c(a = 1, b = NA)), matrix(c(1, NA)))
  expect_identical(write_points(tempfile(), quakes, rows = 300), unname(as.matrix(quakes)))
  expect_identical(write_points(tempfile(), matrix(c(TRUE, NA), 1)), matrix(c(1, NA), 1))
  expect_identical(write_points(tempfile(), Matrix::Matrix(diag(4), sparse = TRUE)), diag(4))
  expect_identical(write_points(tempfile(), matrix(0, 0, 2)), matrix(0, 0, 2))
  expect_identical(write_points(tempfile(), n = 0, width = 2, read = stop), matrix(0, 0, 2))
  frames <- function(from, to) data.frame(a = from:to, b = c(NaN, Inf, -Inf, NA)[from:to])
  expect_identical(write_points(tempfile(), n = 4, width = 2, read = frames, rows = 3),
                   unname(as.matrix(frames(1, 4))))
  one_column <- write_points(tempfile(), n = 6, width = 1, read = function(from, to) from:to, rows = 4)
  expect_identical(one_column, matrix(1:6 + 0))
  expect_false(withVisible(write_points(tempfile(), m))$visible)
})

test_that("a csv file is read on, some rows at a time", {
  csv <- tempfile()
  utils::write.csv(quakes, csv, row.names = FALSE)
  lines <- file(csv, "r")
  on.exit(close(lines))
  readLines(lines, 1)
  read <- function(from, to) utils::read.csv(lines, header = FALSE, nrows = to - from + 1)
  expect_identical(write_points(tempfile(), n = 1000, width = 5, rows = 301, read = read), unname(as.matrix(quakes)))
})

mistakes <- list(
  list(function(from, to) rows_of_m(from, to)[-1, ], "shape", "`read(41, 50)` gave 9 rows, and 10 were asked for"),
  list(function(from, to) cbind(rows_of_m(from, to), 1), "shape", "`read(41, 50)` gave 4 columns, and `width` is 3"),
  list(function(from, to) from:to, "shape", "`read(41, 50)` gave 1 column, and `width` is 3"),
  list(function(from, to) letters, "input", "`read(41, 50)` must be numeric"),
  list(function(from, to) NULL, "input", "`read(41, 50)` must be numeric"),
  list(function(from, to) data.frame(u = letters[1:10], v = 1, w = 2), "input", "`read(41, 50)` has a column"),
  list(function(from, to) array(0, c(10, 3, 2)), "unsupported", "`read(41, 50)` is an array of 10 x 3 x 2")
)

test_that("what read() must not give is an error that names the rows, and leaves nothing behind", {
  for (mistake in mistakes) {
    late <- function(from, to) if (from > 40) mistake[[1]](from, to) else rows_of_m(from, to)
    left <- in_folder(function(path) {
      expect_error(write_points(path, n = 50, width = 3, read = late, rows = 10), mistake[[3]], fixed = TRUE,
                   class = paste0("kernweave_error_", mistake[[2]]))
    })
    expect_identical(left, character())
  }
})

test_that("an error in read(), an interrupt or a jump leaves nothing behind, and a file that was there as it was", {
  ends <- list(
    error = function() stop("mine"),
    interrupt = function() {
      tools::pskill(Sys.getpid(), tools::SIGINT)
      Sys.sleep(1)
    },
    jump = function() invokeRestart("leave"))
  if (.Platform$OS.type == "windows") ends$interrupt <- NULL
  for (end in ends) {
    read <- function(from, to) if (from > 20) end() else rows_of_m(from, to)
    attempt <- function(path) {
      withRestarts(tryCatch(write_points(path, n = 50, width = 3, read = read, rows = 10), error = conditionMessage,
                            interrupt = function(e) "interrupted"), leave = function() "left")
    }
    expect_identical(in_folder(attempt), character())
    left <- in_folder(function(path) {
      before <- write_points(path, m[1:4, ])
      attempt(path)
      expect_identical(before, m[1:4, ])
    })
    expect_identical(left, "x.dbl")
  }
})

test_that("arguments that cannot be are errors that name them, before anything is written", {
  path <- tempfile()
  says <- function(code, class, message) expect_error(code, message, class = paste0("kernweave_error_", class))
  says(write_points(path), "input", "neither `x`")
  says(write_points(path, read = rows_of_m), "input", "`n`, the number of rows")
  says(write_points(path, n = 50, read = rows_of_m), "input", "`width`, the number of columns")
  says(write_points(path, n = -1, width = 3, read = rows_of_m), "input", "`n` must be")
  says(write_points(path, n = 50, width = 0, read = rows_of_m), "input", "`width` must be")
  says(write_points(path, n = 50, width = 3, read = "a"), "input", "`read` must be a function")
  says(write_points(path, rows_of_m), "input", "give it as `read`")
  says(write_points(path, m, rows = 0), "input", "`rows` must be")
  says(write_points(path, m, width = 4), "shape", "`width` is 4, and `x` has 3 columns")
  says(write_points(path, matrix(0, 3, 0)), "shape", "`x` has no columns")
  says(write_points(path, array(0, c(2, 2, 2))), "shape", "`x` must be a matrix")
  says(write_points(path, iris), "input", "`Species`")
  says(write_points(path, letters), "input", "`x` must be numeric")
  says(write_points(tempdir(), m), "input", "is a folder")
  says(write_points(file.path(tempdir(), "none", "x"), m), "input", "there is no folder")
  says(write_points(1, m), "input", "`file` must be")
  expect_false(file.exists(path))
})

test_that("where the disk takes no more, nothing is left, by class", {
  says <- "write_points(file.path(folder, 'x'), matrix(0, 1e6, 2)); 'written'"
  lines <- function(folder) c("library(kernweave)", paste("folder <-", deparse(folder)),
                              paste("said <- tryCatch({", says, "}, kernweave_error_disk = conditionMessage)"),
                              "list(said, list.files(folder))")
  expect_error(write_points(tempfile(), n = 2^40, width = 2^20, read = stop), class = "kernweave_error_disk")
  expect_error(write_points(tempfile(), n = 1e300, width = 3, read = stop), class = "kernweave_error_disk")
  skip_below("all")
  folder <- tempfile("small")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  mounted <- suppressWarnings(system2("mount", c("-t tmpfs -o size=1m tmpfs", folder), stdout = FALSE, stderr = FALSE))
  if (mounted != 0) skip("no small disk can be made here")
  answer <- in_new_process(lines(folder))
  system2("umount", folder)
  expect_match(answer[[1]], "cannot be written: No space left on device")
  expect_identical(answer[[2]], character())
})

test_that("a device or another thing that is no file is not replaced", {
  skip_on_os("windows")
  pipe <- tempfile()
  if (system2("mkfifo", pipe, stdout = FALSE, stderr = FALSE) != 0) skip("no pipes with names here")
  expect_error(write_points(pipe, m), "it is no file of a disk", class = "kernweave_error_disk")
  expect_error(map_points(pipe, 1), "not a file of a disk", class = "kernweave_error_input")
  unlink(pipe)
})

test_that("a name is of the folder where the call was made, and may have any letters", {
  left <- in_folder(function(path) {
    before <- setwd(dirname(path))
    on.exit(setwd(before))
    x <- write_points("x.dbl", n = 50, width = 3, read = function(from, to) {
      setwd(tempdir())
      rows_of_m(from, to)
    })
    setwd(before)
    expect_identical(x, m)
  })
  expect_identical(left, "x.dbl")
  skip_if(!l10n_info()[["UTF-8"]])
  path <- file.path(tempdir(), "p\u00fcnkte \u03b1.dbl")
  expect_identical(write_points(path, m), m)
  expect_identical(unserialize(serialize(map_points(path, 3), NULL)), m)
  unlink(path)
})

test_that("a link to a file stays one", {
  skip_on_os("windows")
  path <- tempfile()
  link <- tempfile()
  write_points(path, 1:3)
  file.symlink(path, link)
  write_points(link, m)
  expect_identical(Sys.readlink(link), path)
  expect_identical(map_points(path, 3), m)
})
