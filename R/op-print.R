# Prints linear operators as algebra. Printing computes no product.

#' @rdname lazy-print
#' @export
print.linear_op <- function(x, digits = getOption("digits"), ...) {
  say("<linear operator> ", op_shape_text(x), "\n  ", op_text(x, 500L, digits), "\n")
  for (op in Filter(function(op) op$kind == "lowrank", op_leaves(x))) {
    cat("  low rank: ", ncol(op$factor), if (is.null(op$landmarks)) " columns, from a sketch," else " landmarks",
        " leave ", format(op$residual, digits = 3), " of the trace\n", sep = "")
  }
  for (op in Filter(function(op) !is.null(approximation_of(op)), op_leaves(x))) say_lines(approximation_text(op))
  say_lines(settings_text(x$settings))
  invisible(x)
}

setMethod("show", "linear_op", function(object) print.linear_op(object))

#' @rdname lazy-print
#' @export
format.linear_op <- function(x, digits = getOption("digits"), ...) op_text(x, 100000L, digits)

#' @rdname lazy-print
#' @export
str.linear_op <- function(object, ...) {
  cat("<linear operator> ", op_shape_text(object), ": ", op_text(object, 60L), "\n", sep = "")
}

#' @rdname lazy-print
#' @export
summary.linear_op <- function(object, ...) {
  leaves <- op_leaves(object)
  kinds <- vapply(leaves, function(op) {
    switch(op$kind, lazy = "lazy tensor", dense = "matrix", lowrank = "low rank", `function` = op$label, op$kind)
  }, "")
  lazy <- leaves[kinds == "lazy tensor"]
  plans <- lapply(Filter(Negate(is.null), lapply(leaves, approximation_of)), plan_of_approximation)
  structure(
    list(operator = format(object), dim = dim(object), symmetric = object$symmetric, parts = table(kinds, dnn = NULL),
         pairs = sum(vapply(lazy, function(op) prod(op$dim), 0), vapply(plans, `[[`, 0, "near_pairs")),
         series = sum(vapply(plans, function(plan) sum(plan$levels$far_pairs), 0)),
         dense_mb = prod(object$dim) * 8 / 2^20),
    class = "summary.linear_op"
  )
}

#' @rdname lazy-print
#' @export
print.summary.linear_op <- function(x, ...) {
  symmetric <- if (is.na(x$symmetric)) "" else if (x$symmetric) ", symmetric" else ", not symmetric"
  cat("Linear operator of ", x$dim[1], " x ", x$dim[2], symmetric, "\n", sep = "")
  say("  operator    ", x$operator, "\n")
  cat("  parts       ", paste(names(x$parts), x$parts, sep = ": ", collapse = ", "), "\n", sep = "")
  cat("  a product   ", format(x$pairs, big.mark = ","), " pairs of points",
      if (x$series) paste0(", ", format(x$series, big.mark = ","), " pairs of boxes"), "\n", sep = "")
  cat("  as a matrix ", format(x$dense_mb, digits = 3), " MB, never made\n", sep = "")
  invisible(x)
}

op_shape_text <- function(x) paste0(size_text(x), if (isTRUE(x$symmetric)) ", symmetric")

# Writes an operator as text, cut after `budget` characters.
op_text <- function(x, budget, digits = getOption("digits")) {
  text <- tree_text(x, budget, digits)
  if (nchar(text) > budget) paste0(substr(text, 1, budget), "...") else text
}

tree_text <- function(x, budget, digits) {
  texts <- function(parts) vapply(parts, tree_text, "", budget, digits)
  switch(x$kind,
    lazy = formula_text(x$tensor$formula, budget, digits),
    diagonal = if (!length(x$values) || anyNA(x$values) || any(x$values != x$values[1])) "diag(d)"
               else if (x$values[1] == 1) "I" else paste(format(x$values[[1]], digits = digits), "* I"),
    dense = paste0("matrix(", size_text(x), ")"),
    lowrank = paste0("lowrank(", size_text(x), ", rank ", ncol(x$factor), ")"),
    `function` = paste0(x$label, "(", size_text(x), ")"),
    sum = sum_text(texts(x$parts), x$coefficients, digits),
    product = paste(vapply(texts(x$parts), in_parentheses, ""), collapse = " %*% "),
    block = paste0("[", paste(vapply(x$parts, function(row) {
      paste(vapply(row, function(part) if (is.null(part)) "0" else texts(list(part)), ""), collapse = ", ")
    }, ""), collapse = "; "), "]"),
    kronecker = paste0("kronecker(", paste(texts(x$parts), collapse = ", "), ")")
  )
}

sum_text <- function(texts, coefficients, digits) {
  sizes <- vapply(abs(coefficients), format, "", digits = digits)
  negative <- coefficients %in% coefficients[which(coefficients < 0)]
  inner <- ifelse(sizes == "1" & !negative, texts, vapply(texts, in_parentheses, ""))
  terms <- ifelse(sizes == "1", inner, paste(sizes, "*", inner))
  signs <- ifelse(negative, " - ", " + ")
  sub("^ [+] ", "", sub("^ - ", "-", paste0(signs, terms, collapse = "")))
}

# Puts a text in parentheses, unless it is a single call or a single word.
in_parentheses <- function(text) {
  outside <- text
  while (grepl("[(][^()]*[)]", outside)) outside <- gsub("[(][^()]*[)]", "", outside)
  if (grepl("[ ,]", outside) && !grepl("^\\[", outside)) paste0("(", text, ")") else text
}
