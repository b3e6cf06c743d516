# The door for data: points as numbers, from matrices, data frames, vectors and formulas.

# Points as a matrix of doubles whose attribute "term" says to which variable each column belongs. Factors, texts have
# a column for each level, times 1 / sqrt(2), so that two levels are at distance 1. Missing values stay.
as_inputs <- function(x, argument, levels = NULL) {
  if (inherits(x, "dist")) {
    abort("input", "`", argument, "` is a `dist` object; the points themselves are wanted, a row for each")
  }
  if (is_lazy(x)) abort("input", "`", argument, "` is a lazy tensor; the points themselves are wanted, a row for each")
  if (is.data.frame(x)) return(inputs_of_frame(x, argument, levels))
  columns <- variable_columns(x, argument, levels[[1]])
  structure(columns, term = if (is.null(dim(x))) rep(1L, ncol(columns)) else seq_len(ncol(columns)))
}

inputs_of_frame <- function(x, argument, levels = NULL) {
  if (!ncol(x)) abort("shape", "`", argument, "` has no columns")
  parts <- lapply(names(x), function(name) variable_columns(x[[name]], name, levels[[name]]))
  columns <- do.call(cbind, parts)
  if (is.character(attr(x, "row.names"))) rownames(columns) <- attr(x, "row.names")
  structure(columns, term = rep(seq_along(parts), vapply(parts, ncol, 0L)))
}

# The columns of one variable.
variable_columns <- function(v, name, levels = NULL) {
  if (is.factor(v) || is.character(v)) return(level_columns(v, name, levels))
  if (methods::is(v, "Matrix")) v <- dense_columns(v, name)
  if (inherits(v, c("Date", "POSIXct", "difftime"))) v <- as.numeric(v)
  if (is.data.frame(v)) v <- inputs_of_frame(v, name)
  if (!is.numeric(v) && !is.logical(v) || length(dim(v)) > 2) {
    abort("input", "`", name, "` must be numbers, a factor or texts, not ", describe(v))
  }
  columns <- if (is.matrix(v)) v else matrix(v, ncol = 1, dimnames = list(names(v), name))
  if (!ncol(columns)) abort("shape", "`", name, "` has no columns")
  names <- colnames(columns) %or% paste0(name, seq_len(ncol(columns)))
  matrix(as.numeric(columns), nrow(columns), ncol(columns), dimnames = list(rownames(columns), names))
}

dense_columns <- function(v, name) {
  if (length(v) > 1e6) message("`", name, "` becomes a dense matrix of ", format(length(v), big.mark = ","), " numbers")
  as.matrix(v)
}

level_columns <- function(v, name, levels = NULL) {
  if (is.character(v)) v <- factor(v, levels %or% sort(unique(v)))
  known <- levels %or% base::levels(v)
  unseen <- setdiff(unique(as.character(v[!is.na(v)])), known)
  if (length(unseen)) abort("data", "`", name, "` has the new level `", unseen[1], "`")
  codes <- match(as.character(v), known)
  columns <- outer(codes, seq_along(known), "==") / sqrt(2)
  dimnames(columns) <- list(names(v), paste0(name, known))
  columns
}

# Points without missing or infinite values, or an error that tells how many rows have them.
complete_points <- function(x, argument) check_complete(as_inputs(x, argument), argument)

check_complete <- function(x, argument) {
  force(x)  # generics of the methods package wrap the errors of what they evaluate
  missing <- which(rowSums(is.na(x)) > 0)
  if (length(missing)) {
    abort("data", "`", argument, "` has missing values in ", counted(length(missing), "row"), ": ", first_few(missing))
  }
  check_finite(x, argument)
}

check_finite <- function(x, argument) {
  infinite <- which(rowSums(is.infinite(x)) > 0)
  if (!length(infinite)) return(x)
  abort("data", "`", argument, "` has infinite values in ", counted(length(infinite), "row"), ": ", first_few(infinite))
}

first_few <- function(rows) {
  paste0(paste(utils::head(rows, 5), collapse = ", "), if (length(rows) > 5) ", ...")
}

# --- formulas -----------------------------------------------------------------------------------------------

# Both sides of a formula by the same rows: `left` as it evaluates, `right` a data frame of the variables, `dropped` the
# rows that na.action left out. The left side is evaluated by itself, so that it may be a data frame.
formula_sides <- function(formula, data, na.action = NULL) {
  if (length(formula) != 3) {
    abort("input", "the formula must have two sides, as in y ~ x, not `", deparse1(formula), "`")
  }
  data <- data %or% environment(formula)
  if (is.matrix(data)) data <- as.data.frame(data)
  left <- eval(formula[[2]], data, environment(formula))
  if (inherits(left, "dist")) {
    abort("input", "the left side of the formula is a `dist` object; the points themselves are wanted")
  }
  terms <- stats::terms(formula[-2], data = if (is.data.frame(data)) data)
  if (any(all.names(formula[[3]]) == ".") && is.data.frame(data)) terms <- without_left(terms, formula, data)
  right <- stats::model.frame(terms, data, na.action = stats::na.pass, drop.unused.levels = TRUE)
  if (NROW(left) != nrow(right) && ncol(right)) {
    abort("shape", "the left side has ", counted(NROW(left), "row"), ", the right side ", nrow(right))
  }
  apply_na_action(left, right, terms, na.action)
}

# `.` stands for what the left side does not name.
without_left <- function(terms, formula, data) {
  rest <- setdiff(names(data), all.vars(formula[[2]]))
  stats::terms(stats::reformulate(sprintf("`%s`", rest), env = environment(formula)), data = data)
}

apply_na_action <- function(left, right, terms, na.action) {
  na.action <- na.action %or% getOption("na.action") %or% "na.omit"
  if (is.character(na.action)) na.action <- get(na.action, mode = "function", envir = asNamespace("stats"))
  missing <- !stats::complete.cases(left) | if (ncol(right)) !stats::complete.cases(right) else FALSE
  if (!any(missing)) return(list(left = left, right = right, terms = terms))
  kept <- tryCatch(na.action(data.frame(row = ifelse(missing, NA, seq_along(missing)))), error = function(e) {
    abort("data", "the data have missing values in ", counted(sum(missing), "row"), ": ", first_few(which(missing)))
  })
  dropped <- attr(kept, "na.action")
  if (is.null(dropped)) return(list(left = left, right = right, terms = terms))
  without <- function(v) if (is.null(dim(v))) v[!missing] else v[!missing, , drop = FALSE]
  list(left = without(left), right = without(right), terms = terms, dropped = dropped)
}

# The variables of a kernel: no interactions, which a kernel has of itself.
kernel_inputs <- function(sides) {
  if (any(attr(sides$terms, "order") > 1)) {
    abort("input", "`:` and `*` in the formula: a kernel has its interactions already; write `+`")
  }
  if (!is.null(attr(sides$terms, "offset"))) abort("input", "offset() has no place among the variables of a kernel")
  if (!ncol(sides$right)) abort("input", "the right side of the formula names no variable")
  check_complete(inputs_of_frame(sides$right, "data"), "data")
}
