# The door for data: points as numbers, from matrices, data frames, vectors and formulas.

# --- points that go with others ------------------------------------------------------------------------------

# What is kept of points, so that others can be known by it: `columns`, the names that the user gave them or NULL;
# `names`, these or those made for them, one for each variable; `xlevels`.
kept_of_points <- function(x) {
  columns <- colnames(x)
  names <- if (length(dim(x)) == 2 && ncol(x) > 1) paste0("x", seq_len(ncol(x))) else "x"
  levels <- levels_of(if (is.data.frame(x)) x else list(x = x))
  list(columns = columns, names = columns %or% names, xlevels = levels)
}

# Points beside others, of which `like` is kept: the same variables, their levels the same.
points_like <- function(x, like, argument) {
  x <- columns_like(x, like, argument)
  if (is.data.frame(x)) check_kinds(x, like$xlevels, argument)
  as_inputs(x, argument, like$xlevels)
}

# Columns in the order of those of `like`: by name where both have names, and then all must be there; else by place.
# Names that were made may be taken up, and need not be.
columns_like <- function(x, like, argument) {
  given <- colnames(x)
  wanted <- like$columns %or% if (all(like$names %in% given)) like$names
  if (is.null(wanted) || is.null(given)) {
    return(if (is.data.frame(x) && ncol(x) == length(like$names)) stats::setNames(x, like$names) else x)
  }
  if (identical(given, wanted)) return(x)
  absent <- setdiff(wanted, given)
  if (length(absent)) {
    hint <- near_hint(absent[1], setdiff(given, wanted), there_are(given))
    abort("shape", "`", argument, "` has no column `", absent[1], "`", hint)
  }
  if (!all(nzchar(wanted)) || anyDuplicated(wanted) || anyDuplicated(given[given %in% wanted])) {
    abort("shape", "columns of `", argument, "` cannot be found by their names, which are not all of one column: ",
          "give them in their order and without names")
  }
  x[, wanted, drop = FALSE]
}

# --- points as numbers --------------------------------------------------------------------------------------

# Points as a matrix of doubles whose attribute "term" says to which variable each column belongs. Factors, texts have
# a column for each level, times 1 / sqrt(2), so that two levels are at distance 1. Missing values stay.
as_inputs <- function(x, argument, levels = NULL) {
  check_given(x, argument)
  if (inherits(x, "dist")) {
    abort("input", "`", argument, "` is a `dist` object; the points themselves are wanted, a row for each")
  }
  if (is_lazy(x)) abort("input", "`", argument, "` is a lazy tensor; the points themselves are wanted, a row for each")
  if (is.data.frame(x)) return(inputs_of_frame(x, argument, levels))
  columns <- variable_columns(x, argument, levels[[1]])
  structure(columns, term = if (is.null(dim(x))) rep(1L, ncol(columns)) else seq_len(ncol(columns)))
}

check_given <- function(x, argument) if (missing(x)) abort("input", "`", argument, "` is not given")

inputs_of_frame <- function(x, argument, levels = NULL) {
  if (!ncol(x)) abort("shape", "`", argument, "` has no columns")
  parts <- lapply(names(x), function(name) variable_columns(x[[name]], name, levels[[name]]))
  columns <- do.call(cbind, parts)
  # Of rows that are counted through names would say nothing; after some have been left out they tell which are there.
  if (!identical(attr(x, "row.names"), seq_len(nrow(x)))) rownames(columns) <- row.names(x)
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
  attributes(columns) <- list(dim = dim(columns), dimnames = list(rownames(columns), names))
  storage.mode(columns) <- "double"
  columns
}

dense_columns <- function(v, name) {
  if (length(v) > 1e6) message("`", name, "` becomes a dense matrix of ", format(length(v), big.mark = ","), " numbers")
  as.matrix(v)
}

level_columns <- function(v, name, levels = NULL) {
  if (is.character(v)) v <- factor(v)
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
  if (is.finite(sum(x))) return(x)
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

# --- words ---------------------------------------------------------------------------------------------------

# What there is in the place of what was asked for.
there_are <- function(known) if (length(known)) paste0("; there are ", paste0("`", known, "`", collapse = ", "))

# As one_of(), of words that may be cut short where these are arguments of statistics, as base R's match.arg() has it:
# interval = "conf".
choice_of <- function(value, known, argument) {
  whole <- if (is.character(value) && length(value) == 1) pmatch(value, known) else NA
  if (is.na(whole)) one_of(value, known, argument) else known[whole]
}

# --- formulas -----------------------------------------------------------------------------------------------

# Both sides of a formula by the same rows: `left` as it evaluates, NULL where there is none, `right` a data frame of
# the variables, `weights` of the rows, `beside` what else has a row for each, `dropped` the rows that na.action left
# out. The left side is evaluated by itself, so that it may be a data frame.
formula_sides <- function(formula, data, na.action = NULL, one_sided = FALSE, weights = NULL, subset = NULL,
                          beside = NULL) {
  if (!inherits(formula, "formula")) abort("input", "`formula` must be a formula, not ", describe(formula))
  if (length(formula) != if (one_sided) 2 else 3) {
    abort("input", "the formula must have ", if (one_sided) "one side, as in ~ x" else "two sides, as in y ~ x",
          ", not be `", deparse1(formula), "`")
  }
  where <- environment(formula)
  data <- found_variables(framed(data), NULL, "`data`") %or% where
  left <- if (!one_sided) left_side(formula, data, where)
  if (inherits(left, "dist")) {
    abort("input", "the left side of the formula is a `dist` object; the points themselves are wanted, and `distance`")
  }
  terms <- right_terms(formula, data)
  right <- found_variables(stats::model.frame(terms, data, na.action = stats::na.pass, drop.unused.levels = TRUE), data)
  if (!is.null(left) && NROW(left) != nrow(right) && ncol(right)) {
    abort("shape", "the left side has ", counted(NROW(left), "row"), ", the right side ", nrow(right))
  }
  terms <- attr(right, "terms")  # they keep what scale() and poly() took from these rows, for rows to come
  if (length(weights) > 1 && length(weights) != nrow(right)) fit_weights(weights, nrow(right))  # which says so
  parts <- list(left = left, right = right, weights = weights, beside = beside)
  if (!is.null(subset)) parts <- lapply(parts, kept_rows, checked_subset(subset, nrow(right)))
  sides <- c(apply_na_action(parts, terms, na.action), list(variables = columns_of_data(terms, data, nrow(right))))
  if (ncol(right) && !nrow(sides$right)) {
    abort("data", if (!nrow(right)) "the data have no rows"
                  else if (!nrow(parts$right)) paste("`subset` keeps none of", counted(nrow(right), "row"))
                  else paste("no row is complete:", counted(nrow(parts$right), "row"), "with missing values"))
  }
  sides
}

# The variables of terms that have a row for each of n, which new data must have, too: others are constants, such as
# knots and powers, and stay where they are.
columns_of_data <- function(terms, data, n) {
  where <- if (is.environment(data)) data else environment(terms)
  columns <- if (is.list(data)) names(data)
  Filter(function(name) name %in% columns || NROW(get0(name, where)) == n, all.vars(terms))
}

checked_subset <- function(subset, n) {
  if (is.logical(subset) && length(subset) != n) {
    abort("shape", "`subset` has ", counted(length(subset), "number"), " for ", counted(n, "row"))
  }
  if (is.logical(subset)) return(subset)
  if (!is.numeric(subset)) abort("input", "`subset` must be logical or row numbers, not ", describe(subset))
  beyond <- !abs(subset) %in% seq_len(n)
  if (any(beyond)) abort("index", "`subset` has ", format(subset[beyond][1]), ", and there are ", counted(n, "row"))
  subset
}

framed <- function(data) {
  if (is.matrix(data)) return(as.data.frame(data))
  if (is.null(data) || is.list(data) || is.environment(data)) return(data)
  abort("input", "`data` must be a data frame, not ", describe(data))
}

# Which rows, looked for among the data.
subset_of <- function(subset, data, where) {
  if (is.null(subset)) return(NULL)
  data <- found_variables(framed(data), NULL, "`data`")
  found_variables(eval(subset, data, where), data, "`subset`")
}

# `.` stands for what the right side does not name.
left_side <- function(formula, data, where) {
  if (identical(formula[[2]], quote(.)) && is.data.frame(data)) {
    return(data[setdiff(names(data), all.vars(formula[[3]]))])
  }
  found_variables(eval(formula[[2]], data, where), data)
}

# Variables that are not there are an error of ours, with the nearest name.
found_variables <- function(value, data, place = "the formula") {
  withCallingHandlers(value, error = function(e) {
    if (inherits(e, "kernweave_error")) return()
    said <- conditionMessage(e)
    absent <- regmatches(said, regexpr("(?<=object ').*(?=' not found)", said, perl = TRUE))
    hint <- if (length(absent) && is.data.frame(data)) near_hint(absent, names(data))
    if (length(absent) && place == "`newdata`") abort("input", "`newdata` has no variable `", absent, "`", hint)
    abort("input", "in ", place, ": ", said, hint)
  })
}

# `.` stands for what the left side does not name.
right_terms <- function(formula, data) {
  right <- if (length(formula) == 3) formula[-2] else formula
  if (!is.data.frame(data)) return(stats::terms(right))
  if (length(formula) == 3 && "." %in% all.names(formula[[3]])) {
    data <- data[setdiff(names(data), all.vars(formula[[2]]))]
  }
  stats::terms(right, data = data)
}

kept_rows <- function(v, rows) {
  if (is.null(v)) return(NULL)
  if (is.logical(rows)) rows <- which(rows)
  if (is.null(dim(v))) v[rows] else droplevels_of(v[rows, , drop = FALSE])
}
droplevels_of <- function(v) if (is.data.frame(v) && ncol(v)) droplevels(v) else v

apply_na_action <- function(parts, terms, na.action) {
  na.action <- na.action %or% getOption("na.action") %or% "na.omit"
  if (is.character(na.action)) {
    na.action <- get0(na.action, asNamespace("stats"), mode = "function") %or%
      one_of(na.action, c("na.omit", "na.exclude", "na.fail", "na.pass"), "na.action")
  }
  present <- parts[!vapply(parts, function(part) is.null(part) || NCOL(part) == 0, NA)]
  missing <- Reduce(`|`, lapply(present, function(part) !stats::complete.cases(part)))
  out <- c(parts, list(terms = terms))
  if (!any(missing)) return(out)
  kept <- tryCatch(na.action(data.frame(row = ifelse(missing, NA, seq_along(missing)))), error = function(e) {
    abort("data", "the data have missing values in ", counted(sum(missing), "row"), ": ", first_few(which(missing)))
  })
  if (is.null(attr(kept, "na.action"))) return(out)
  dropped <- structure(which(missing), class = class(attr(kept, "na.action")))
  names(dropped) <- rownames(parts$right)[dropped]
  c(lapply(parts, kept_rows, !missing), list(terms = terms, dropped = dropped))
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

# --- fits and their new points ------------------------------------------------------------------------------

# What a fit keeps of its data: inputs and, of a formula, how to make them again. `names` are those of the terms.
# Those of a formula, and its left side. Weights and rows are expressions, as the call has them: of columns of the data.
formula_inputs <- function(formula, data, na.action, weights = NULL, subset = NULL, one_sided = FALSE,
                           beside = NULL) {
  data <- found_variables(framed(data), NULL, "`data`")
  where <- environment(formula)
  weights <- found_variables(eval(weights, data, where), data, "`weights`")
  subset <- subset_of(subset, data, where)
  sides <- formula_sides(formula, data, na.action, one_sided = one_sided, weights = weights, subset = subset,
                         beside = beside)
  list(inputs = fit_inputs(sides), left = sides$left, beside = sides$beside)
}

fit_inputs <- function(sides) {
  x <- kernel_inputs(sides)
  list(x = x, terms = sides$terms, xlevels = levels_of(sides$right), na.action = sides$dropped,
       names = names(sides$right), weights = sides$weights, variables = sides$variables)
}

levels_of <- function(variables) {
  found <- lapply(variables, function(v) if (is.factor(v)) levels(v) else if (is.character(v)) sort(unique(v)))
  found[!vapply(found, is.null, NA)]
}

fit_matrix <- function(x) {
  check_given(x, "x")
  c(list(x = complete_points(x, "x")), kept_of_points(x))
}

# Constant columns say nothing: they are left out, by name, with a warning.
without_constants <- function(inputs) {
  x <- inputs$x
  if (nrow(x) < 2) abort("data", "there ", if (nrow(x)) "is 1 row" else "are no rows", " to fit to; two are needed")
  constant <- apply(x, 2, function(v) all(v == v[1]))
  if (all(constant)) abort("data", "every column is constant: there is nothing to fit")
  if (!any(constant)) return(inputs)
  warn("dropped", column_text(x, which(constant)[1]), " is constant and is left out")
  term <- attr(x, "term")[!constant]
  inputs$x <- structure(x[, !constant, drop = FALSE], term = match(term, unique(term)))
  inputs$constant <- constant
  inputs
}

# "`depth`", or "column 2" where it has no name.
column_text <- function(x, column) {
  name <- colnames(x)[column]
  if (length(name) && nzchar(name)) paste0("`", name, "`") else paste("column", column)
}

# Points at which a fit is wanted, as its own were made. Rows with missing values have missing results.
new_points <- function(object, newdata) {
  if (is.null(object$terms)) {
    x <- points_like(newdata, object, "newdata")
  } else {
    if (!is.data.frame(newdata)) newdata <- as.data.frame(newdata)
    refuse_absent(object$variables, newdata)
    made <- function() stats::model.frame(object$terms, newdata, na.action = stats::na.pass)
    frame <- found_variables(made(), newdata, "`newdata`")
    check_kinds(frame, object$xlevels, "newdata")
    x <- inputs_of_frame(frame, "newdata", object$xlevels)
  }
  all <- length(object$constant)
  if (ncol(x) != if (all) all else ncol(object$x)) refuse_columns(x, newdata, object)
  if (all) x <- x[, !object$constant, drop = FALSE]
  check_finite(x, "newdata")
}

# A variable that is not there must not be what else has its name: a function such as rm(), or an object beside.
refuse_absent <- function(variables, newdata) {
  absent <- setdiff(variables, names(newdata))
  if (!length(absent)) return(invisible())
  hint <- near_hint(absent[1], setdiff(names(newdata), variables))
  abort("input", "`newdata` has no variable `", absent[1], "`", hint)
}

# Levels stay levels, and numbers numbers.
check_kinds <- function(frame, levels, argument) {
  for (name in names(frame)) {
    texts <- is.factor(frame[[name]]) || is.character(frame[[name]])
    if (texts == is.null(levels[[name]])) {
      abort("input", "`", name, "` was ", if (texts) "numbers" else "a factor", " in the ",
            if (argument == "newdata") "fit" else "points beside it", ", and is ", describe(frame[[name]]), " in `",
            argument, "`")
    }
  }
}

refuse_columns <- function(x, newdata, object) {
  wanted <- if (length(object$constant)) length(object$constant) else ncol(object$x)
  abort("shape", "`newdata` has ", counted(ncol(x), "column"), ", and the fit ", wanted, row_hint(newdata, wanted))
}

# Points that lost a dimension.
row_hint <- function(points, wanted) {
  if (is.null(dim(points)) && length(points) == wanted) ": one place is a row, as in rbind(c(1, 2))"
}

# f() of the rows that are complete, NA elsewhere: a vector, or a matrix with as many columns.
at_complete <- function(x, f) {
  force(x)  # generics of the methods package wrap the errors of what they evaluate
  known <- rowSums(is.na(x)) == 0
  value <- f(strip_term(x[known, , drop = FALSE]))
  out <- matrix(NA_real_, nrow(x), NCOL(value), dimnames = list(rownames(x), colnames(value)))
  out[known, ] <- value
  if (is.null(dim(value))) stats::setNames(out[, 1], rownames(x)) else out
}
