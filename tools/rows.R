# Reads ops.def and reductions.def: a row is an R call. Used by the generator, the house rules and the tests.

read_rows <- function(file) {
  lines <- readLines(file)
  lines <- lines[!grepl("^\\s*(//|#)", lines)]
  as.list(parse(text = lines, keep.source = FALSE))
}

row_columns <- list(
  UNARY = c("name", "fn", "kind", "value", "adjoint_x", "binding", "doc"),
  BINARY = c("name", "fn", "kind", "value", "adjoint_x", "adjoint_y", "binding", "doc"),
  TERNARY = c("name", "fn", "kind", "value", "adjoint_x", "adjoint_y", "adjoint_z", "binding", "doc"),
  FOLD1 = c("name", "fn", "kind", "start", "value", "adjoint_x", "binding", "doc"),
  FOLD2 = c("name", "fn", "kind", "start", "value", "adjoint_x", "adjoint_y", "binding", "doc"),
  LOOP1 = c("name", "fn", "kind", "width", "attributes", "adjoint_x", "binding", "doc"),
  LOOP2 = c("name", "fn", "kind", "width", "attributes", "adjoint_x", "adjoint_y", "binding", "doc"),
  LOOKUP = c("name", "fn", "kind", "width", "attributes", "adjoint_x", "binding", "doc"),
  ALIAS1 = c("name", "fn", "attributes", "value", "binding", "doc"),
  ALIAS2 = c("name", "fn", "attributes", "value", "binding", "doc"),
  ALIAS3 = c("name", "fn", "attributes", "value", "binding", "doc"),
  SMOOTH1 = c("name", "fn", "value", "adjoint_x", "binding", "doc"),
  REDUCTION = c("name", "fn", "inputs", "results", "kind", "saves", "gradient_x", "gradient_w", "binding", "doc"),
  DERIVED = c("name", "fn", "of", "kind", "formula", "results", "sign", "terms", "binding", "doc")
)

# One row as a list of its columns, with its class and arguments.
as_row <- function(call) {
  class <- as.character(call[[1]])
  columns <- row_columns[[class]]
  if (is.null(columns)) stop("unknown row class ", class)
  if (length(call) != length(columns) + 1) {
    stop("row ", deparse(call[[2]]), " has ", length(call) - 1, " columns, not ", length(columns))
  }
  row <- structure(as.list(call)[-1], names = columns)
  row$class <- class
  row$name <- as.character(row$name)
  row$fn <- as.character(row$fn)
  arity <- switch(class, BINARY = , FOLD2 = , LOOP2 = , LOOKUP = , ALIAS2 = 2, TERNARY = , ALIAS3 = 3, 1)
  row$arguments <- c("x", "y", "z")[seq_len(arity)]
  row$attributes <- attribute_forms(row$attributes)
  row$doc <- eval(row$doc)
  row
}

# The words of the column by name: "number", "list", or "maybe", a list that may be left out.
attribute_forms <- function(column) {
  if (is.null(column) || identical(column, quote(none))) return(character())
  parts <- if (is.call(column) && identical(column[[1]], quote(c))) as.list(column)[-1] else list(column)
  structure(vapply(parts, function(part) if (is.call(part)) as.character(part[[1]]) else "number", ""),
            names = vapply(parts, all.vars, ""))
}

op_table <- function(root = ".") lapply(read_rows(file.path(root, "inst/include/kernweave/ops.def")), as_row)
reduction_table <- function(root = ".") {
  rows <- lapply(read_rows(file.path(root, "inst/include/kernweave/reductions.def")), as_row)
  names(rows) <- vapply(rows, `[[`, "", "name")
  unname(lapply(rows, function(row) {
    if (row$class == "DERIVED") derived_columns(row, rows[[as.character(row$of)]]) else as_it_is(row)
  }))
}

# Adds the columns of derived reductions to a row that is not derived: R reads them of every reduction.
as_it_is <- function(row) c(row, list(of = row$name, formula = quote(x), sign = 1, terms = "none"))
derived_columns <- function(row, base) {
  row$inputs <- if (as.character(base$inputs) == "value_k") "value_k" else "value"
  row$saves <- base$saves
  row$sign <- eval(row$sign)
  row$terms <- paste(deparse(row$terms), collapse = "")
  row
}

# "Ops" of Ops("+"), or the bare word
binding_of <- function(row) if (is.call(row$binding)) as.character(row$binding[[1]]) else as.character(row$binding)
