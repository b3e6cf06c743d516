# Trends of Gaussian processes: formulas of regressors and of grouped effects, on the data and at new places.

# Evaluates the variables of a trend: the `terms` of its regressors, its `groups`, the terms `all` of both, and a model
# frame, or NULL if there are no variables. `formulas` of a family's parameters become `parameters`; their variables are
# in the frame, too.
trend_variables <- function(trend, data, response = NULL, formulas = NULL) {
  tryCatch(force(trend), error = function(e) {
    abort("input", "`trend` is no formula, and has no value: ", message_of(e), ". A formula begins with a ",
          "tilde, as in trend = ~ long or trend = ~ (1 | site)")
  })
  if (!inherits(trend, "formula")) {
    abort("input", "`trend` must be a formula, such as ~ 1, ~ long + lat or ~ 0, not ", describe(trend))
  }
  if (length(trend) != 2) {
    abort("input", "`trend` has one side, as in ~ ", deparse1(trend[[3]]), ", not `", deparse1(trend), "`")
  }
  refuse_other_terms(trend, "the trend")
  known <- if (is.data.frame(data)) data[setdiff(names(data), response)]
  as_terms <- function(formula) if (is.null(known)) stats::terms(formula) else stats::terms(formula, data = known)
  parts <- parted_trend(trend)
  all <- as_terms(parts$all)
  parameters <- lapply(formulas, function(formula) list(terms = as_terms(formula)))
  every <- if (length(formulas)) as_terms(with_variables(parts$all, all, parameters)) else all
  if (length(attr(every, "variables")) == 1) {
    return(list(terms = all, all = all, formula = trend, parameters = parameters))
  }
  frame_of <- function(terms, place) {
    made <- function() stats::model.frame(terms, data, na.action = stats::na.pass, drop.unused.levels = TRUE)
    found_variables(made(), data, place)
  }
  for (name in names(formulas)) frame_of(parameters[[name]]$terms, paste0("the formula of `", name, "`"))
  frame <- frame_of(every, "the trend")
  every <- attr(frame, "terms")
  all <- if (length(formulas)) as_found_in(all, every) else every
  parameters <- lapply(parameters, function(one) {
    list(terms = as_found_in(one$terms, every), variables = columns_of_data(one$terms, data, nrow(frame)))
  })
  list(terms = if (length(parts$groups)) as_found_in(as_terms(parts$fixed), all) else all, all = all,
       parameters = parameters, groups = parts$groups, formula = trend, frame = frame,
       variables = columns_of_data(all, data, nrow(frame)))
}

# Adds the variables of parameters' formulas to a formula; one without variables takes the environment of the first.
with_variables <- function(formula, terms, parameters) {
  alone <- length(attr(terms, "variables")) == 1
  if (alone) environment(formula) <- environment(parameters[[1]]$terms)
  for (one in parameters) {
    for (variable in as.list(attr(one$terms, "variables"))[-1]) formula[[2]] <- call("+", formula[[2]], variable)
  }
  formula
}

# Gives terms the predvars of `all`, such as the knots of a spline.
as_found_in <- function(terms, all) {
  own <- match(as.list(attr(terms, "variables"))[-1], as.list(attr(all, "variables"))[-1])
  attr(terms, "predvars") <- as.call(c(quote(list), as.list(attr(all, "predvars"))[-1][own]))
  terms
}

# Returns the matrix of regressors, the offset and the matrix of grouped effects at the used rows, and the terms that
# make all three again at new places.
trend_columns <- function(trend, frame, n) {
  parameters <- lapply(trend$parameters, function(one) {
    found <- if (is.null(frame)) constant_trend(one, n) else frame_columns(one$terms, frame)
    c(one, found[c("F", "contrasts")], list(xlevels = if (!is.null(frame)) stats::.getXlevels(one$terms, frame)))
  })
  phi <- lapply(parameters, `[[`, "F")
  trend$parameters <- lapply(parameters, replace, "F", list(NULL))
  kept <- trend[c("terms", "all", "formula", "parameters")]
  if (is.null(frame)) return(c(constant_trend(trend, n), kept, list(phi = phi)))
  groups <- grouped_terms(trend$groups, frame)
  found <- without_dependent(frame_columns(trend$terms, frame), trend$terms)
  found$z <- group_places(groups, frame)
  check_complete(do.call(cbind, c(list(found$F, found$offset, found$z), unname(phi))), "trend")
  c(found, kept, list(phi = phi, variables = trend$variables, groups = groups,
                      xlevels = stats::.getXlevels(trend$terms, frame)))
}

# Drops interaction columns that are linear combinations of the others, as for combinations of levels that no row has.
# `left_out`: the coefficients of the linear combinations.
without_dependent <- function(found, terms) {
  of_interaction <- c(0, attr(terms, "order"))[found$assign + 1] > 1
  rows <- stats::complete.cases(found$F)
  if (!any(of_interaction) || sum(rows) <= ncol(found$F)) return(found)
  F <- found$F[rows, , drop = FALSE]
  q <- qr(F)
  lost <- sort(q$pivot[-seq_len(q$rank)])
  if (!length(lost) || !all(of_interaction[lost])) return(found)
  names <- paste0("`", colnames(F)[lost], "`")
  tell("kernweave: the trend is without ", first_few(names), ", which the rows of the data do not determine: ",
       "they may lack combinations of levels")
  found$left_out <- round(qr.coef(qr(F[, -lost, drop = FALSE]), F[, lost, drop = FALSE]), 7)
  found$F <- found$F[, -lost, drop = FALSE]
  found$assign <- found$assign[-lost]
  found
}

# Drops the columns that the fit has dropped; warns of places where these are not the same linear combinations.
without_left_out <- function(found, left_out) {
  if (is.null(left_out)) return(found)
  lost <- match(colnames(left_out), colnames(found$F))
  kept <- found$F[, -lost, drop = FALSE]
  unknown <- sum(abs(found$F[, lost, drop = FALSE] - kept %*% left_out) > 1e-6, na.rm = TRUE)
  if (unknown) {
    warn("data", counted(unknown, "place"), " of `newdata` have levels together that no row of the data had: ",
         "the trend there is a guess")
  }
  found$F <- kept
  found
}

constant_trend <- function(trend, n) {
  intercept <- attr(trend$terms, "intercept")
  list(F = matrix(1, n, intercept, dimnames = list(NULL, rep("(Intercept)", intercept))), offset = numeric(n),
       assign = integer(intercept))
}

frame_columns <- function(terms, frame, contrasts = NULL) {
  frame <- frame[vapply(as.list(attr(terms, "variables"))[-1], deparse1, "")]
  for (name in if (is.null(contrasts)) names(Filter(is.character, frame))) refuse_number_texts(frame[[name]], name)
  attr(frame, "terms") <- terms
  F <- stats::model.matrix(terms, frame, contrasts.arg = contrasts)
  offset <- stats::model.offset(frame) %or% numeric(nrow(F))
  list(F = matrix(F, nrow(F), ncol(F), dimnames = list(NULL, colnames(F))), offset = offset, assign = attr(F, "assign"),
       contrasts = attr(F, "contrasts"))
}

# Returns regressors, offset and the matrix of grouped effects at n new places. `re.form`, `allow.new.levels`: as in
# predict(). The variables of grouped effects are needed only if these are predicted.
new_trend <- function(object, newdata, n, re.form = NULL, allow.new.levels = FALSE) {
  trend <- object$trend
  kept <- kept_groups(trend$groups, re.form)
  if (!any(kept)) trend$all <- trend$terms
  z <- if (length(kept) && !any(kept)) no_group_places(trend$groups, n)
  if (length(attr(trend$all, "variables")) == 1) return(c(constant_trend(trend, n), list(z = z)))
  newdata <- frame_of_trend(object, newdata)
  newdata <- variables_like(newdata, needed_of_trend(trend, re.form))
  check_kinds_of(trend, newdata)
  made <- function() stats::model.frame(trend$all, newdata, na.action = stats::na.pass, xlev = trend$xlevels)
  frame <- found_variables(made(), newdata, "`newdata`")
  c(without_left_out(frame_columns(trend$terms, frame, trend$contrasts), trend$left_out),
    list(z = z %or% group_places(trend$groups, frame, allow.new.levels, kept)))
}

# Checks that regressors of new data are factors, or numbers, as they were in the fit.
check_kinds_of <- function(trend, newdata) {
  own <- vapply(as.list(attr(trend$terms, "variables"))[-1], deparse1, "")
  check_kinds(newdata[intersect(own, names(newdata))], trend$xlevels, "newdata")
}

# New places as a data frame for the formulas of a fit.
frame_of_trend <- function(object, newdata) {
  if (is.null(object$terms)) trend_data(columns_like(newdata, object, "newdata"), object$names)
  else new_frame(newdata)
}

# Returns the variables of the trend that new data must have: without grouped effects, the variables of regressors.
needed_of_trend <- function(trend, re.form) {
  if (is.null(trend$variables) || any(kept_groups(trend$groups, re.form))) return(trend$variables)
  structure(intersect(trend$variables, all.vars(trend$terms)), kinds = attr(trend$variables, "kinds"))
}

# Points as a data frame for formulas: columns by their names, or x1, x2, ...
trend_data <- function(x, names) {
  if (is.data.frame(x)) return(x)
  if (is.null(dim(x))) return(stats::setNames(data.frame(x), names[1]))
  x <- as.matrix(x)
  if (ncol(x) == length(names)) colnames(x) <- names
  as.data.frame(x)
}

# Decomposes F = Q R with orthonormal Q, and y = Q b + residuals, so that systems do not contain a large mean. If there
# is an intercept, the other columns are centred first, for accuracy at coordinates far from 0. `name`: the name of the
# regressors in error messages.
orthonormal_trend <- function(F, y, name = "the trend") {
  n <- nrow(F)
  p <- ncol(F)
  if (n <= p) abort("data", name, " has ", counted(p, "coefficient"), " and needs more rows than that, not ", n)
  if (!p) return(list(Q = F, R = matrix(0, 0, 0), log_R = 0, b = numeric(), left = y))
  middle <- if (all(F[, 1] == 1)) c(0, colMeans(F[, -1, drop = FALSE])) else numeric(p)
  q <- qr(F - rep(middle, each = n))
  if (q$rank < p) {
    abort("singular", "the columns of ", name, " are not independent: `", colnames(F)[q$pivot[q$rank + 1]],
          "` is a linear combination of the others; leave it out")
  }
  R <- unname(qr.R(q))
  R[1, ] <- R[1, ] + R[1, 1] * middle
  list(Q = unname(qr.Q(q)), R = R, log_R = sum(log(abs(diag(R)))), b = qr.qty(q, y)[seq_len(p)], left = qr.resid(q, y))
}

changed_trend <- function(object, change) {
  change <- stats::as.formula(change)
  if (length(change) == 2) change <- stats::as.formula(call("~", quote(.), change[[2]]))
  stats::update.formula(object$trend$formula, change[-2])
}

# Returns the terms of the trend, with the response, for a fit without a process: these have its coefficients.
#' @export
terms.gp_fit <- function(x, ...) {
  kernel <- NextMethod()
  if (!all(x$variance == 0)) return(kernel)
  classes <- attr(kernel, "dataClasses")
  trend <- x$trend$terms
  own <- vapply(as.list(attr(trend, "variables"))[-1], deparse1, "")
  attr(trend, "dataClasses") <- c(attr(x$trend$all, "dataClasses")[own], classes[names(classes) == "(weights)"])
  with_response(trend, stats::formula(kernel)[[2]], classes[[1]])
}
