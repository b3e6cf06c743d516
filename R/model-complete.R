# Checks for missing and infinite values, whose errors name the rows and the columns.

check_complete <- function(x, argument) {
  force(x)  # generics of the methods package wrap errors of their arguments
  if (is.finite(sum(x))) return(x)
  refuse_rows(x, is.na(x), argument, "missing", "; na.omit() drops such rows")
  check_finite(x, argument)
}

check_finite <- function(x, argument) refuse_rows(x, is.infinite(x), argument, "infinite")

# Signals an error that names the columns and the rows, by row names if there are any.
refuse_rows <- function(x, bad, argument, what, remedy = NULL) {
  rows <- which(rowSums(bad) > 0)
  if (!length(rows)) return(x)
  columns <- setdiff(colnames(x)[colSums(bad) > 0], c("", argument))
  if (!is.null(rownames(x))) rows <- rownames(x)[rows]
  abort("data", "`", argument, "` has ", what, " values ", in_rows_text(rows),
        if (length(columns)) paste0(" (", first_few(paste0("`", columns, "`")), ")"), remedy)
}

first_few <- function(rows) {
  paste0(paste(utils::head(rows, 5), collapse = ", "), if (length(rows) > 5) ", ...")
}

in_rows_text <- function(rows) paste0("in ", counted(length(rows), "row"), ": ", first_few(rows))
