# Words of messages: counts, lists of names, and a value or its default.

`%or%` <- function(a, b) if (is.null(a)) b else a

counted <- function(n, what) paste0(n, " ", what, ifelse(n == 1, "", "s"))

count_text <- function(n, what) paste0(format(n, big.mark = ",", scientific = FALSE), " ", what, if (n != 1) "s")

# Prints as cat(sep = "") does, with lines no wider than the console: wider lines are broken at three blanks or, if the
# parts between are too wide, at any blank.
say <- function(...) {
  writeLines(as.character(unlist(lapply(utils::capture.output(cat(..., sep = "")), broken_line))))
}

# Signals a message whose lines are no wider than the console. A text of several lines shows code, and is not wrapped.
tell <- function(...) message(broken_text(paste0(...)))
broken_text <- function(text, width = getOption("width")) {
  if (grepl("\n", text, fixed = TRUE)) text else paste(broken_line(text, width), collapse = "\n")
}

say_lines <- function(...) if (length(c(...))) say(paste0(c(...), "\n"))

broken_line <- function(line, width = getOption("width")) {
  lead <- sub("[^ \t].*", "", line)
  at <- nchar(gsub("\t", strrep(" ", 8), lead, fixed = TRUE))
  text <- substring(line, nchar(lead) + 1)
  if (at + nchar(text) <= width) return(line)
  gap <- "   "
  parts <- strsplit(text, gap, fixed = TRUE)[[1]]
  if (any(at + 2 + nchar(parts) > width)) {
    gap <- " "
    parts <- strsplit(text, gap, fixed = TRUE)[[1]]
  }
  lines <- parts[1]
  for (part in parts[-1]) {
    k <- length(lines)
    joined <- paste0(lines[k], gap, part)
    if (at + 2 * (k > 1) + nchar(joined) <= width) lines[k] <- joined else lines <- c(lines, part)
  }
  paste0(lead, ifelse(seq_along(lines) > 1, "  ", ""), lines)
}

# Lists all known names.
there_are <- function(known) if (length(known)) paste0("; there are ", paste0("`", known, "`", collapse = ", "))

said <- new.env(parent = emptyenv())

say_once <- function(what, ...) {
  if (is.null(said[[what]])) tell(...)
  said[[what]] <- TRUE
}

size_text <- function(op) paste(vapply(op$dim, format, "", big.mark = ",", scientific = FALSE), collapse = " x ")

named <- function(result, rows, columns) {
  n <- c(length(rows), dim(result)[1])
  if (n[1] && n[1] != n[2]) {
    abort("shape", counted(n[1], "name"), ", of which the first is \"", rows[1], "\", for ", counted(n[2], "row"),
          "; unname() takes names off")
  }
  if (!is.null(rows) || !is.null(columns)) dimnames(result) <- list(rows, columns)
  result
}
