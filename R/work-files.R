# Points in files: a file of doubles as a matrix (src/r_map.cpp), and write_points(), which makes such a file.

#' Points in memory-mapped files
#'
#' `map_points()` maps a file of numbers as an ordinary numeric matrix that takes no memory. The operating system reads
#' parts of the file when they are used, and drops them when memory is short, so points may be larger than memory.
#' Formulas, reductions and models accept such a matrix like any other, do not copy it, and give the same numbers, bit
#' for bit. `write_points()` makes such a file from a matrix, a data frame, or any source that can be read by rows: a
#' csv file, a data base, HDF5, parquet.
#'
#' The file holds doubles in the native format of this machine, column after column, as R's matrices do. The packages
#' bigmemory (file-backed, one file for all columns), ff and bigstatsr store the same format, so `map_points()` takes
#' their objects without conversion.
#'
#' A mapped matrix is read-only. An assignment to its elements first copies the matrix into memory, and the file does
#' not change. The results of `x + 1` and `as.integer(x)` are in memory, and so are the ten rows of `x[1:10, ]`. Objects
#' with many rows that models make of points, such as residuals, are in memory too.
#'
#' A mapped matrix that is saved, or sent to another process, is stored as the name of its file, without its numbers. If
#' there is no file of this name, the first use is an error of class `kernweave_error_file_changed`. So is each use
#' after the file was written again, cut or removed: the size, the file number (inode) and the time of the file are
#' checked before each use. R crashes only if the file is cut short while a computation reads it, as with every program
#' that maps files. On Windows nobody can replace, cut or remove a file while a matrix maps it, until R has
#' garbage-collected that matrix.
#'
#' `write_points()` calls `read(from, to)` once for each block of rows, in order, so `read` may continue reading from a
#' connection. The file gets its name when it is complete on the disk. After an error in `read`, an interrupt or a full
#' disk, no partial file remains, and an older file of the same name is unchanged.
#'
#' @param file name of the file; for `map_points()` also a `big.matrix` or its descriptor, an `ff` matrix, or an `FBM`.
#'   `map_points()` refuses files of text, such as csv files
#' @param width number of columns, the components of each point; not needed for `x` and for objects of other packages
#' @param offset number of bytes to skip at the beginning of the file, such as a header; a multiple of 8, by default 0
#' @param x points to write: a numeric matrix or vector, a data frame of numbers, or one of the objects that
#'   `map_points()` takes
#' @param n total number of rows that `read` gives
#' @param read a function of two row numbers, the first and the last, that returns these rows: a matrix or a data frame
#'   of numbers with `width` columns, or a vector if there is one column. `NA` is allowed
#' @param rows number of rows to read at a time; by default as many as take 16 MB
#' @return `map_points()` returns a numeric matrix; `write_points()` the written file as a mapped matrix, invisibly.
#' @seealso [Vi()] and [reduction()] to compute with it, [kernweave-conditions] for errors
#' @concept larger than memory
#' @concept out of core
#' @concept memory-mapped file
#' @concept bigmemory
#' @concept big data
#' @export
#' @examples
#' file <- tempfile(fileext = ".dbl")
#' write_points(file, matrix(runif(3000), 1000, 3))
#' x <- map_points(file, width = 3)
#' dim(x)
#' x[1:2, ]
#' sum(exp(-sqdist(Vi(x), Vj(x))), index = "ij")
#'
#' # a csv file, some rows at a time
#' csv <- tempfile(fileext = ".csv")
#' write.csv(quakes[, 1:3], csv, row.names = FALSE)
#' lines <- file(csv, "r")
#' invisible(readLines(lines, 1))  # names of the columns
#' q <- write_points(tempfile(), n = 1000, width = 3, rows = 300, read = function(from, to) {
#'   read.csv(lines, header = FALSE, nrows = to - from + 1)
#' })
#' close(lines)
#' range(q[, 3] - quakes$depth)
#'
#' # the file has grown
#' at <- file(file, "ab")
#' writeBin(c(0.1, 0.2, 0.3), at)
#' close(at)
#' tryCatch(x[1, ], kernweave_error_file_changed = conditionMessage)
map_points <- function(file, width, offset = 0) {
  if (is.object(file)) {
    stored <- stored_matrix(file)
    if (!missing(width)) check_width(width, stored$width, "`file`")
    if (!missing(offset)) abort("input", "`offset` is for files; ", describe(file), " knows where its numbers begin")
  } else {
    if (missing(width)) abort("input", "`width`, the number of columns, is not given, and the file does not say it")
    ok <- is.numeric(offset) && length(offset) == 1 && isTRUE(offset >= 0 && offset <= 2^53 && offset %% 8 == 0)
    if (!ok) abort("input", "`offset` must be a multiple of 8 bytes, not ", format_value(offset))
    stored <- list(path = existing_file(file), width = check_count(width, "width"), offset = as.numeric(offset),
                   rows = NA_real_)
    refuse_no_doubles(stored$path, stored$offset)
  }
  r_map(stored$path, stored$width, stored$offset, stored$rows, stored$names)
}

check_file_name <- function(file) {
  if (!is_word(file)) abort("input", "`file` must be the name of a file, not ", describe(file))
  path.expand(file)
}

# Returns a file's whole name, so that the file is found from any folder, and by other processes.
existing_file <- function(file) {
  path <- check_file_name(file)
  if (!file.exists(path)) abort("input", "there is no file `", file, "`", in_folder(path))
  if (dir.exists(path)) abort("input", "`file`, `", file, "`, is a folder")
  normalizePath(path)
}

# Names the folder in which a relative path is searched.
in_folder <- function(path) if (!grepl("^([/\\\\]|[A-Za-z]:)", path)) paste(" in", getwd())

# First bytes of other file formats, whose files are not doubles one after the other.
other_formats <- list(gzip = c(0x1f, 0x8b, 0x08), HDF5 = c(0x89, 0x48, 0x44, 0x46), parquet = c(0x50, 0x41, 0x52, 0x31),
                      npy = c(0x93, 0x4e, 0x55, 0x4d), arrow = c(0x41, 0x52, 0x52, 0x4f, 0x57, 0x31),
                      "zip, such as xlsx" = c(0x50, 0x4b, 0x03, 0x04), bzip2 = c(0x42, 0x5a, 0x68),
                      xz = c(0xfd, 0x37, 0x7a, 0x58, 0x5a), "R's saveRDS()" = c(0x58, 0x0a, 0x00, 0x00, 0x00))

# A text may have the size of doubles by chance; read as doubles it has no meaning. Doubles are text by chance only if
# there are one or two. Letters beyond ASCII are bytes beyond 127; in UTF-16 every other byte of most texts is 0.
refuse_no_doubles <- function(path, offset) {
  if (file.size(path) <= offset) return(invisible())  # reading from a pipe would wait for a writer
  bytes <- file(path, "rb")
  on.exit(close(bytes))
  seek(bytes, offset)
  first <- as.integer(readBin(bytes, "raw", 1024))
  is_text <- function(bytes, least) {
    breaks <- bytes %in% c(9, 10, 12, 13)
    length(bytes) >= 16 && all(bytes >= 32 | breaks) && mean(bytes %in% 32:126 | breaks) >= least
  }
  marked <- setequal(first[1:2], c(254L, 255L))  # the mark at the beginning of UTF-16
  halves <- split(if (marked) first[-(1:2)] else first, rep_len(1:2, length(first) - 2 * marked))
  wide <- vapply(1:2, function(k) all(halves[[k]] == 0) && is_text(halves[[3 - k]], 1), NA)
  # If doubles happen to be letters throughout, their last bytes (signs, exponents) take few values.
  mixed <- length(unique(first[seq_along(first) %% 8 == 0])) > 4
  text <- any(wide) || is_text(first, if (mixed) 0.5 else 0.9)
  format <- if (offset == 0) names(Filter(function(start) all(first[seq_along(start)] == start), other_formats))
  if (!text && !length(format)) return(invisible())
  abort("data", "`file`, `", basename(path), "`, is ", if (text) "text" else paste("of the format", format),
        ", and not doubles as memory has them; write_points(read = ) makes such a file of what `read` gives, some ",
        "rows at a time")
}

# --- objects of other packages -----------------------------------------------------------------------------

# Returns where an object of another package stores its numbers: path, rows, width, offset in bytes, names. The file
# must contain doubles by columns. The package of the object need not be installed.
stored_matrix <- function(x) {
  if (inherits(x, c("big.matrix", "big.matrix.descriptor"))) return(stored_big_matrix(x))
  if (inherits(x, "ff")) return(stored_ff(x))
  if (inherits(x, "FBM")) return(stored_fbm(x))
  abort("input", "`file` must be the name of a file, or an object that has one, not ", describe(x))
}

refuse_stored <- function(x, holds, why) if (!isTRUE(holds)) abort("unsupported", "`file` is ", describe(x), " ", why)
needs_doubles <- "of another type than double; write_points() makes a file of it"

stored_big_matrix <- function(x) {
  d <- if (inherits(x, "big.matrix.descriptor")) x@description
       else getExportedValue("bigmemory", "describe")(x)@description
  refuse_stored(x, identical(d$sharedType, "FileBacked"), "that lies in memory; x[, ] gives its matrix")
  refuse_stored(x, identical(d$type, "double"), needs_doubles)
  refuse_stored(x, !isTRUE(d$separated), "with a file for each column; write_points() makes one file of it")
  refuse_stored(x, d$nrow == d$totalRows, "of some rows of a file; write_points() makes a file of it")
  names <- if (!is.null(d$rowNames) || !is.null(d$colNames)) list(d$rowNames, d$colNames)
  list(path = existing_file(file.path(d$dirname, d$filename)), rows = d$nrow, width = as.integer(d$ncol),
       offset = 8 * d$colOffset[1] * d$totalRows, names = names)
}

stored_ff <- function(x) {
  physical <- attributes(attr(x, "physical"))
  virtual <- attributes(attr(x, "virtual"))
  extents <- virtual$Dim %or% c(virtual$Length, 1L)
  refuse_stored(x, identical(physical$vmode, "double"), needs_doubles)
  refuse_stored(x, length(extents) == 2 && identical(order(virtual$Dimorder %or% 1:2), 1:2) && is.null(virtual$VW),
                "whose columns do not lie one after the other; write_points() makes a file of it")
  list(path = existing_file(physical$filename), rows = extents[1], width = as.integer(extents[2]), offset = 0,
       names = virtual$Dimnames)
}

stored_fbm <- function(x) {
  refuse_stored(x, identical(names(x$type), "double"), needs_doubles)
  list(path = existing_file(x$backingfile), rows = x$nrow, width = as.integer(x$ncol), offset = 0)
}

# --- writing -----------------------------------------------------------------------------------------------

#' @rdname map_points
#' @export
write_points <- function(file, x, width, read = NULL, rows = NULL, n = x) {
  path <- check_file_name(file)
  if (dir.exists(path)) abort("input", "`file`, `", file, "`, is a folder")
  if (!dir.exists(dirname(path))) abort("input", "there is no folder `", dirname(path), "`", in_folder(path))
  # The absolute path is kept, since `read` may change the working directory; a link is resolved to its file.
  path <- if (file.exists(path)) normalizePath(path) else file.path(normalizePath(dirname(path)), basename(path))
  if (is.null(read)) {
    if (missing(x)) abort("input", "neither `x`, the points, nor `read`, a function that gives them, is given")
    source <- rows_of_value(plain_value(x))
    if (!missing(width)) check_width(width, source$width, "`x`")
  } else {
    if (!is.function(read)) abort("input", "`read` must be a function of two row numbers, not ", describe(read))
    if (missing(n) && missing(x)) abort("input", "`n`, the number of rows that `read` will give, is not given")
    if (missing(width)) abort("input", "`width`, the number of columns that `read` will give, is not given")
    source <- list(n = check_size(n, "n", "points"), width = check_count(width, "width"), read = read, called = "read")
  }
  write_by_rows(path, source, if (is.null(rows)) max(1, 2^21 %/% source$width) else check_count(rows, "rows"))
  invisible(r_map(path, source$width, 0, NA_real_, NULL))
}

check_width <- function(width, own, what) {
  if (isTRUE(all.equal(width, own, check.attributes = FALSE))) return(invisible())
  abort("shape", "`width` is ", format_value(width), ", and ", what, " has ", count_text(own, "column"))
}

# Returns points in memory as a source of rows. A type that is not numeric is refused before the file is begun.
rows_of_value <- function(x) {
  if (is.function(x)) abort("input", "`x` is a function: give it as `read`, with `n` and `width`")
  extents <- if (is.null(dim(x))) c(length(x), 1) else dim(x)
  if (length(extents) != 2) abort("shape", "`x` must be a matrix of points in rows, not ", describe(x))
  read <- if (is.null(dim(x))) function(from, to) x[from:to] else function(from, to) x[from:to, , drop = FALSE]
  source <- list(n = as.numeric(extents[1]), width = as.integer(extents[2]), read = read, called = "x")
  if (source$width == 0) abort("shape", "`x` has no columns")
  if (is.null(dim(x)) || is.data.frame(x)) as_points(utils::head(x, 1), "x")
  source
}

write_by_rows <- function(path, source, at_once) {
  part <- tempfile(paste0(basename(path), "-"), dirname(path), ".part")
  written <- r_new_file(part, path, 8 * source$n * source$width)
  on.exit(r_end_file(written, FALSE))
  from <- 1
  while (from <= source$n) {
    to <- min(from + at_once - 1, source$n)
    r_write_rows(written, rows_read(source, from, to), from, source$n)
    from <- to + 1
  }
  r_end_file(written, TRUE)
}

# Reads rows from a source, and checks their number and type.
rows_read <- function(source, from, to) {
  call <- if (source$called == "x") "x"
          else paste0("read(", paste(format(c(from, to), scientific = FALSE, trim = TRUE), collapse = ", "), ")")
  values <- as_points(source$read(from, to), call)$values
  refuse_batches(dim(values), call)
  if (NROW(values) != to - from + 1) {
    abort("shape", "`", call, "` gave ", count_text(NROW(values), "row"), ", and ", number_text(to - from + 1),
          " were asked for")
  }
  if (NCOL(values) != source$width) {
    abort("shape", "`", call, "` gave ", count_text(NCOL(values), "column"), ", and `width` is ", source$width)
  }
  values
}
