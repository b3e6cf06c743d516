# Data: conversion of matrices, data frames, vectors and formulas to numeric points.

# Converts points to a matrix of doubles; its attribute "term" has the number of each column's variable. A factor or
# text has a column for each level, times 1 / sqrt(2), so that two levels are at distance 1. Missing values stay.
as_inputs <- function(x, argument, levels = NULL) {
  check_given(x, argument)
  if (inherits(x, "dist")) {
    abort("input", "`", argument, "` is a `dist` object; the points themselves are wanted, a row for each")
  }
  if (is_lazy(x)) abort("input", "`", argument, "` is a lazy tensor; the points themselves are wanted, a row for each")
  x <- point_numbers(x, by_chords = TRUE)$x
  if (is.character(x) && is.matrix(x)) x <- as.data.frame(x)
  if (is.data.frame(x)) return(inputs_of_frame(x, argument, levels))
  columns <- variable_columns(x, argument, levels[[1]])
  structure(columns, term = if (is.null(dim(x))) rep(1L, ncol(columns)) else seq_len(ncol(columns)))
}

inputs_of_frame <- function(x, argument, levels = NULL) {
  if (!ncol(x)) abort("shape", "`", argument, "` has no columns")
  parts <- lapply(names(x), function(name) variable_columns(x[[name]], name, levels[[name]], argument))
  columns <- do.call(cbind, parts)
  # Row names 1 to n are dropped. Other row names are kept: they tell which rows are left.
  if (!identical(attr(x, "row.names"), seq_len(nrow(x)))) rownames(columns) <- row.names(x)
  structure(columns, term = rep(seq_along(parts), vapply(parts, ncol, 0L)))
}

# Returns the columns of one variable; `data`: the name of the data frame that has it, if any.
variable_columns <- function(v, name, levels = NULL, data = NULL) {
  if (is.character(v)) {
    if (is.null(levels)) refuse_number_texts(v, name, paste(c(data, name), collapse = "$"))
    v <- factor(v)
  }
  if (is.factor(v)) {
    known <- levels %or% base::levels(v)
    unseen <- setdiff(unique(as.character(v[!is.na(v)])), known)
    if (length(unseen)) abort("data", "`", name, "` has the new level `", unseen[1], "`")
    columns <- outer(match(as.character(v), known), seq_along(known), "==") / sqrt(2)
    return(structure(columns, dimnames = list(names(v), paste0(name, known))))
  }
  if (methods::is(v, "Matrix")) {
    if (length(v) > 1e6) tell("`", name, "` becomes a dense matrix of ", count_text(length(v), "number"))
    v <- as.matrix(v)
  }
  if (inherits(v, c("Date", "POSIXct", "difftime"))) v <- as.numeric(v)
  if (is.data.frame(v)) v <- inputs_of_frame(v, name)
  if (!is.numeric(v) && !is.logical(v) || length(dim(v)) > 2) {
    abort("input", "`", name, "` must be numbers, a factor or texts, not ", describe(v),
          if (inherits(v, "sfc")) "; sf::st_coordinates() has its numbers, and sf::st_as_sf() makes points of the data")
  }
  columns <- if (is.matrix(v)) v else matrix(v, ncol = 1, dimnames = list(names(v), name))
  if (!ncol(columns)) abort("shape", "`", name, "` has no columns")
  names <- colnames(columns) %or% paste0(name, seq_len(ncol(columns)))
  attributes(columns) <- list(dim = dim(columns), dimnames = list(rownames(columns), names))
  storage.mode(columns) <- "double"
  columns
}

# Refuses texts of which at least 90 % are numbers or dates: as a factor they would have a level for each value. Two
# distinct values are accepted, since they may be labels.
refuse_number_texts <- function(v, name, code = name) {
  if (name != make.names(name)) code <- ""
  texts <- unique(as.character(v[!is.na(v)]))
  dates <- grepl("^\\s*[0-9]{4}([-/])[0-9]{1,2}\\1[0-9]{1,2}($|[T ])", texts)
  read <- if (any(dates)) dates else !is.na(suppressWarnings(as.numeric(texts)))
  if (length(texts) < 3 || mean(read) < 0.9) return(invisible())
  kind <- if (any(dates)) c("dates", "as.Date(") else c("numbers", "as.numeric(")
  abort("input", "`", name, "` has ", kind[1], " that are stored as texts, such as \"", texts[read][1], "\"",
        if (!all(read)) paste0(", and \"", texts[!read][1], "\""),
        ": ", kind[2], code, ") makes ", kind[1], " of them, and factor(", code, ") a factor if they are labels")
}

# Returns points without missing or infinite values, or signals an error with their rows. A message names factors
# beside numbers, unless `told`: clusters of such points would find the factor again.
complete_points <- function(x, argument, told = FALSE) {
  points <- check_complete(as_inputs(x, argument), argument)
  if (told || !is.data.frame(x) || inherits(x, "sf") || !is.null(working$now)) return(points)
  coded <- which(vapply(x, function(v) is.factor(v) || is.character(v), NA))
  if (!length(coded) || length(coded) == length(x)) return(points)
  tell("kernweave: levels of ", first_few(paste0("`", names(x)[coded], "`")), " are coded as ",
       sum(attr(points, "term") %in% coded), " columns of 0 and 0.7, so that two are at distance 1; leave them out (",
       if (make.names(argument) == argument) argument else "x", "[-",
       if (length(coded) == 1) coded else paste0("c(", toString(coded), ")"), "]) to compare numbers alone")
  points
}

# --- formulas -----------------------------------------------------------------------------------------------

# Evaluates both sides of a formula with the same rows: `left`, the value of the left side, or NULL; `right`, a data
# frame of the variables; `weights`; `beside`, other variables with a value for each row; `dropped`, the rows that
# na.action left out. The left side is evaluated separately, so it may be a data frame. `by_chords`: sf points in
# degrees become chords.
formula_sides <- function(formula, data, na.action = NULL, one_sided = FALSE, weights = NULL, subset = NULL,
                          beside = NULL, read = NULL, by_chords = TRUE) {
  if (!inherits(formula, "formula")) abort("input", "`formula` must be a formula, not ", describe(formula))
  if (length(formula) != if (one_sided) 2 else 3) {
    abort("input", "the formula must have ", if (one_sided) "one side, as in ~ x" else "two sides, as in y ~ x",
          ", not be `", deparse1(formula), "`")
  }
  refuse_other_terms(formula, "the formula")
  where <- environment(formula)
  data <- found_variables(framed(sf_variables(data, all.vars(formula), by_chords)), NULL, "`data`") %or% where
  rest <- !one_sided && identical(formula[[2]], quote(.)) && is.data.frame(data)  # `.`: all variables not on the right
  left <- if (rest) data[setdiff(names(data), all.vars(formula[[3]]))]
          else if (!one_sided) found_variables(eval(formula[[2]], data, where), data)
  if (inherits(left, "dist")) {
    abort("input", "the left side of the formula is a `dist` object; the points themselves are wanted, and `distance`")
  }
  terms <- right_terms(formula, data)
  right <- found_variables(stats::model.frame(terms, data, na.action = stats::na.pass, drop.unused.levels = TRUE), data)
  if (!is.null(left) && NROW(left) != nrow(right) && ncol(right)) {
    abort("shape", "the left side has ", counted(NROW(left), "row"), ", the right side ", nrow(right))
  }
  terms <- attr(right, "terms")  # terms with the predvars of scale() and poly()
  if (length(weights) > 1 && length(weights) != nrow(right)) fit_weights(weights, nrow(right))  # an error
  parts <- list(left = left, right = right, weights = weights, beside = beside)
  if (!is.null(subset)) parts <- lapply(parts, kept_rows, checked_subset(subset, nrow(right)))
  sides <- c(apply_na_action(parts, terms, na.action, read),
             list(variables = columns_of_data(terms, data, nrow(right))))
  if (ncol(right) && !nrow(sides$right)) {
    abort("data", if (!nrow(right)) "the data have no rows"
                  else if (!nrow(parts$right)) paste("`subset` keeps none of", counted(nrow(right), "row"))
                  else paste("no row is complete:", counted(nrow(parts$right), "row"), "with missing values"))
  }
  sides
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
  if (inherits(data, c("SpatVector", "SpatialPoints"))) return(as.data.frame(data))
  abort("input", "`data` must be a data frame, not ", describe(data),
        if (inherits(data, c("SpatRaster", "stars"))) "; as.data.frame(data, xy = TRUE) has a row for each cell")
}

# Evaluates `subset` in the data.
subset_of <- function(subset, data, where) {
  if (is.null(subset)) return(NULL)
  data <- found_variables(framed(data), NULL, "`data`")
  found_variables(eval(subset, data, where), data, "`subset`")
}

# Returns the terms of the right side; `.` stands for all columns that the left side does not name.
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
  if (is.null(dim(v))) return(v[rows])
  v <- v[rows, , drop = FALSE]
  if (is.data.frame(v) && ncol(v)) droplevels(v) else v
}

# Applies na.action. `read`: a function that converts the left side, with NA for rows without a response.
apply_na_action <- function(parts, terms, na.action, read = NULL) {
  na.action <- na.action %or% getOption("na.action") %or% "na.omit"
  if (is.character(na.action)) {
    na.action <- get0(na.action, asNamespace("stats"), mode = "function") %or%
      one_of(na.action, c("na.omit", "na.exclude", "na.fail", "na.pass"), "na.action")
  }
  present <- parts[!vapply(parts, function(part) is.null(part) || NCOL(part) == 0, NA)]
  if (!is.null(read)) present$left <- read(parts$left)
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

# Returns the variables of a kernel. Interactions are refused, since a kernel contains them.
kernel_inputs <- function(sides) {
  if (any(attr(sides$terms, "order") > 1)) {
    abort("input", "`:` and `*` in the formula: a kernel has its interactions already; write `+`")
  }
  if (!is.null(attr(sides$terms, "offset"))) abort("input", "offset() has no place among the variables of a kernel")
  right <- without_idle(sides$right, sides$terms)
  if (!ncol(right)) {
    abort("input", "the right side of the formula names no variable: it has the inputs of the kernel; in gp_fit() ",
          "`variance = 0` with a `trend`, such as `trend = ~ x + (1 | site)`, fits a model without a process")
  }
  check_complete(inputs_of_frame(right, "data"), "data")
}

# Drops variables of a model frame that are in no term, such as x in `- x`.
without_idle <- function(frame, terms) {
  factors <- attr(terms, "factors")
  frame[if (length(factors)) which(rowSums(factors) > 0) else integer()]
}

# --- data that fits store -------------------------------------------------------------------------------------

# Returns the data of a formula that a fit stores: the inputs, the terms that make inputs of new data, and the left
# side. `names`: names of the terms. `weights` and `subset` are unevaluated expressions of columns of the data.
formula_inputs <- function(formula, data, na.action, weights = NULL, subset = NULL, one_sided = FALSE,
                           beside = NULL, read = NULL) {
  placed <- sf_formula(formula, data, trend = FALSE)
  if (isTRUE(placed$places$longlat)) tell_of_plane()
  formula <- placed$formula
  data <- found_variables(framed(placed$data), NULL, "`data`")
  where <- environment(formula)
  weights <- found_variables(eval(weights, data, where), data, "`weights`")
  subset <- subset_of(subset, data, where)
  sides <- formula_sides(formula, data, na.action, one_sided = one_sided, weights = weights, subset = subset,
                         beside = beside, read = read)
  x <- kernel_inputs(sides)
  frame <- kept_frame(sides, formula)
  right <- without_idle(sides$right, sides$terms)
  inputs <- list(x = x, terms = attr(frame, "terms"), model = frame, xlevels = levels_of(right),
                 na.action = sides$dropped, names = names(right), weights = sides$weights, variables = sides$variables,
                 formula = formula)
  inputs$places <- placed$places
  list(inputs = inputs, left = sides$left, beside = sides$beside)
}

# Returns the model frame of the rows used, as lm() stores it: response, variables, variables of the trend, weights.
kept_frame <- function(sides, formula) {
  terms <- sides$terms
  n <- nrow(sides$right)
  left <- if (length(formula) == 3) {
    response <- formula[[2]]
    if (identical(response, quote(.))) response <- as.call(c(quote(cbind), lapply(names(sides$left), as.name)))
    values <- if (is.data.frame(sides$left)) as.matrix(sides$left) else sides$left
    terms <- with_response(terms, response, stats::.MFclass(values))
    stats::setNames(list(values), deparse1(response))
  }
  beside <- sides$beside[setdiff(names(sides$beside), c(names(left), names(sides$right)))]
  weights <- if (!is.null(sides$weights)) list(`(weights)` = rep_len(sides$weights, n))
  attr(terms, "dataClasses") <- c(attr(terms, "dataClasses"), vapply(weights, stats::.MFclass, ""))
  structure(c(left, sides$right, beside, weights), row.names = attr(sides$right, "row.names"), class = "data.frame",
            terms = terms, na.action = sides$dropped)
}

levels_of <- function(variables) {
  found <- lapply(variables, function(v) if (is.factor(v)) levels(v) else if (is.character(v)) sort(unique(v)))
  found[!vapply(found, is.null, NA)]
}

# Returns the record by which other points are recognised: `columns`, the names that the user gave or NULL; `names`,
# given or made, one for each variable; `xlevels`; `kinds`.
kept_of_points <- function(x) {
  columns <- colnames(x)
  names <- if (length(dim(x)) == 2 && ncol(x) > 1) paste0("x", seq_len(ncol(x))) else "x"
  levels <- levels_of(if (is.data.frame(x)) x else list(x = x))
  list(columns = columns, names = columns %or% names, xlevels = levels,
       kinds = kinds_of(if (is.data.frame(x)) x else stats::setNames(rep(list(x), length(names)), columns %or% names)))
}

fit_matrix <- function(x, y = NULL, told = !is.null(y)) {
  check_given(x, "x")
  refuse_one_text(x)
  if (inherits(y, "formula")) {
    abort("input", "`y` is a formula, which stands first, before the data: `x = ", deparse1(y), ", data = `")
  }
  if (!is.null(y) && inherits(x, c("sf", "sfc", "SpatVector", "Spatial"))) {
    abort("input", "`x` is ", describe(x), "; a formula takes places, as in z ~ geometry, with `data`")
  }
  given <- point_numbers(x)
  inputs <- c(list(x = complete_points(given$x, "x", told)), kept_of_points(given$x))
  inputs$places <- given$places
  inputs
}

# Refuses a single text as points: most often a formula or a name in quotation marks.
refuse_one_text <- function(x, argument = "x") {
  if (!is.character(x) || length(x) != 1) return(invisible())
  abort("input", "`", argument, "` is the text \"", x, "\", and ", if (grepl("~", x)) "a formula has no quotation marks"
        else "points are wanted: a matrix, a data frame or a vector")
}

check_mass <- function(weights, n) {
  if (is.null(weights)) return(NULL)
  if (!is.numeric(weights) || length(weights) != n) {
    name <- if (inherits(weights, "formula")) deparse1(weights[[length(weights)]])
            else if (is.character(weights)) weights
    abort("shape", "`weights` must be a number for each of ", counted(n, "row"), ", not ", describe(weights),
          if (!is.null(name)) paste0("; `weights = ", name[1], "` takes a column of `data`, as in lm()"))
  }
  wrong <- which(!is.finite(weights) | weights < 0)
  if (length(wrong)) {
    abort("value", "`weights` must be finite and not negative; number ", wrong[1], " is ", format(weights[[wrong[1]]]))
  }
  if (!any(weights > 0)) abort("value", "all `weights` are 0")
  as.numeric(weights)
}

# Returns the weights of a fit, one for each row; rows of weight 0 are not used.
fit_weights <- function(weights, n) {
  if (is.null(weights)) return(NULL)
  if (length(weights) == 1) weights <- rep(weights, n)
  check_mass(weights, n)
}

# Checks a numeric response. `families`: the model has other families than gaussian(). `model`: the formula's frame.
check_response <- function(y, n, families = FALSE, model = NULL) {
  if (is.character(y)) refuse_number_texts(y, "response", "")
  if (is.factor(y) || is.character(y)) {
    classes <- length(unique(y[!is.na(y)]))
    abort("input", "the response must be numbers, not ", describe(y), ": this is regression only",
          if (families) "; family = binomial is for two classes",
          if (families && classes != 2) paste0(", not ", classes, ", \"ordinal\" for ordered ones, knn_fit() for more"))
  }
  if (inherits(y, "Surv")) {
    abort("unsupported", "a Surv response is for gp_fit() with family = \"weibull\", \"exponential\", \"lognormal\", ",
          "\"loglogistic\" or \"tobit\"")
  }
  if (is.data.frame(y)) y <- as.matrix(y)
  if (!is.numeric(y) && !is.logical(y)) {
    abort("input", "the response must be numbers, not ", describe(y),
          if (inherits(y, "formula")) "; a formula goes first, then the data")
  }
  if (NROW(y) != n) abort("shape", "the response has ", counted(NROW(y), "row"), ", and the inputs have ", n)
  y <- if (is.matrix(y)) y else matrix(y, ncol = 1)
  storage.mode(y) <- "double"
  if (!is.finite(sum(y))) {
    check_complete(structure(y, dimnames = list(rownames(model), colnames(y))), names(model)[1] %or% "response")
  }
  y
}

# Returns a function that selects columns of `found`, the values at points x: a vector if the response is a vector.
of_responses <- function(found, x, names) {
  function(columns) {
    part <- found[, columns, drop = FALSE]
    if (length(columns) == 1) part[, 1] else structure(part, dimnames = list(rownames(x), names))
  }
}

# Returns a vector, with the names of the rows, if there is one response, else a matrix.
as_response <- function(values, y, x) {
  if (ncol(y) == 1) return(stats::setNames(as.vector(values), rownames(x)))
  dimnames(values) <- list(rownames(x), colnames(y))
  values
}

# Returns "(37 rows with missing values left out)" for the rows that na.action dropped, if any.
left_out_text <- function(dropped) {
  if (length(dropped)) {
    paste0("(", counted(format(length(dropped), big.mark = ","), "row"), " with missing values left out)\n")
  }
}

# Drops constant columns, with a warning that names the first.
without_constants <- function(inputs) {
  x <- inputs$x
  if (nrow(x) < 2) abort("data", "there ", if (nrow(x)) "is 1 row" else "are no rows", " to fit to; two are needed")
  constant <- apply(x, 2, function(v) all(v == v[1]))
  if (all(constant)) abort("data", "every column is constant: there is nothing to fit")
  if (!any(constant)) return(inputs)
  first <- which(constant)[1]
  name <- colnames(x)[first]
  warn("dropped", if (length(name) && nzchar(name)) paste0("`", name, "`") else paste("column", first),
       " is constant and is left out")
  term <- attr(x, "term")[!constant]
  inputs$x <- structure(x[, !constant, drop = FALSE], term = match(term, unique(term)))
  inputs$constant <- constant
  inputs
}

# Refuses a sum as several variables on the left side of a formula.
refuse_sum <- function(formula) {
  left <- formula[[2]]
  if (length(formula) < 3 || !is.call(left) || !identical(left[[1]], quote(`+`))) return(invisible())
  abort("input", "`", deparse1(left), "` is one variable, the sum: write cbind(", toString(all.vars(left)),
        ") for several, or I(", deparse1(left), ") for the sum")
}
