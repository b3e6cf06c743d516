# Words of messages: counts, lists of names, and a value or its default.

`%or%` <- function(a, b) if (is.null(a)) b else a

counted <- function(n, what) paste0(n, " ", what, ifelse(n == 1, "", "s"))

count_text <- function(n, what) paste0(format(n, big.mark = ",", scientific = FALSE), " ", what, if (n != 1) "s")

# Names of all that could have been asked for.
there_are <- function(known) if (length(known)) paste0("; there are ", paste0("`", known, "`", collapse = ", "))

said <- new.env(parent = emptyenv())

say_once <- function(what, ...) {
  if (is.null(said[[what]])) message(...)
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
