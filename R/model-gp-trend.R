# Trends of Gaussian processes: formulas of regressors, on the data and at new places.

# The variables of a trend, as they are in the data: terms, and a frame of them or NULL where there is none.
trend_variables <- function(trend, data, response = NULL) {
  if (!inherits(trend, "formula")) {
    abort("input", "`trend` must be a formula, such as ~ 1, ~ long + lat or ~ 0, not ", describe(trend))
  }
  if (length(trend) != 2) {
    abort("input", "`trend` has one side, as in ~ ", deparse1(trend[[3]]), ", not `", deparse1(trend), "`")
  }
  refuse_other_terms(trend)
  known <- if (is.data.frame(data)) data[setdiff(names(data), response)]
  terms <- if (is.null(known)) stats::terms(trend) else stats::terms(trend, data = known)
  if (length(attr(terms, "variables")) == 1) return(list(terms = terms, formula = trend))
  made <- function() stats::model.frame(terms, data, na.action = stats::na.pass, drop.unused.levels = TRUE)
  frame <- found_variables(made(), data, "the trend")
  list(terms = attr(frame, "terms"), formula = trend, frame = frame,
       variables = columns_of_data(terms, data, nrow(frame)))
}

# Random effects of lme4 and smooths of mgcv are kernels here.
refuse_other_terms <- function(trend) {
  for (one in as.list(attr(stats::terms(trend, allowDotAsName = TRUE), "variables"))[-1]) {
    while (is.call(one) && identical(one[[1]], quote(`(`))) one <- one[[2]]
    name <- if (is.call(one) && is.name(one[[1]])) as.character(one[[1]]) else ""
    if (name %in% c("|", "||")) {
      abort("unsupported", "`(", deparse1(one), ")` in the trend: random effects are kernels here; that of a factor ",
            "`g` is kernel_spec(\"linear\", of = \"g\", variance = NULL), added to other kernels, with `g` on the ",
            "right side of the formula")
    }
    if (!name %in% c("s", "te", "ti", "t2")) next
    known <- get0(name, environment(trend) %or% globalenv(), mode = "function")
    if (is.null(known) || environmentName(environment(known)) == "mgcv") {
      abort("unsupported", "`", deparse1(one), "` in the trend: smooth terms are kernels here, kernel_spec(of = ) for ",
            "each input on the right side of the formula; in a trend, splines::ns() is smooth")
    }
  }
}

# Returns the matrix of regressors and the offset at the used rows, and the terms that make both again at new places.
trend_columns <- function(trend, frame, n) {
  if (is.null(frame)) return(c(constant_trend(trend, n), trend[c("terms", "formula")]))
  found <- frame_columns(trend$terms, frame)
  check_complete(cbind(found$F, found$offset), "trend")
  c(found, trend[c("terms", "formula", "variables")], list(xlevels = stats::.getXlevels(trend$terms, frame)))
}

constant_trend <- function(trend, n) {
  intercept <- attr(trend$terms, "intercept")
  list(F = matrix(1, n, intercept, dimnames = list(NULL, rep("(Intercept)", intercept))), offset = numeric(n),
       assign = integer(intercept))
}

frame_columns <- function(terms, frame, contrasts = NULL) {
  attr(frame, "terms") <- terms
  F <- stats::model.matrix(terms, frame, contrasts.arg = contrasts)
  offset <- stats::model.offset(frame) %or% numeric(nrow(F))
  list(F = matrix(F, nrow(F), ncol(F), dimnames = list(NULL, colnames(F))), offset = offset, assign = attr(F, "assign"),
       contrasts = attr(F, "contrasts"))
}

# Returns the regressors and the offset at n new places.
new_trend <- function(object, newdata, n) {
  trend <- object$trend
  if (length(attr(trend$terms, "variables")) == 1) return(constant_trend(trend, n))
  if (is.null(object$terms)) newdata <- trend_data(columns_like(newdata, object, "newdata"), object$names)
  else if (!is.data.frame(newdata)) newdata <- as.data.frame(newdata)
  refuse_absent(trend$variables, newdata)
  made <- function() stats::model.frame(trend$terms, newdata, na.action = stats::na.pass, xlev = trend$xlevels)
  frame <- found_variables(made(), newdata, "`newdata`")
  frame_columns(trend$terms, frame, trend$contrasts)
}

# Points as a data frame for formulas: columns by their names, or x1, x2, ...
trend_data <- function(x, names) {
  if (is.data.frame(x)) return(x)
  if (is.null(dim(x))) return(stats::setNames(data.frame(x), names[1]))
  x <- as.matrix(x)
  if (ncol(x) == length(names)) colnames(x) <- names
  as.data.frame(x)
}

# Regressors as F = Q R with orthonormal Q, and y as Q b and what that leaves: systems are then of numbers no larger
# than they need be, whatever the mean. Beside an intercept the other columns are decomposed about their means, so
# that places far from 0 do not hide what the regressors differ by.
orthonormal_trend <- function(F, y) {
  n <- nrow(F)
  p <- ncol(F)
  if (n <= p) abort("data", "a trend of ", counted(p, "coefficient"), " needs more rows than that, not ", n)
  if (!p) return(list(Q = F, R = matrix(0, 0, 0), log_R = 0, b = numeric(), left = y))
  middle <- if (all(F[, 1] == 1)) c(0, colMeans(F[, -1, drop = FALSE])) else numeric(p)
  q <- qr(F - rep(middle, each = n))
  if (q$rank < p) {
    abort("singular", "the trend's columns are not independent: `", colnames(F)[q$pivot[q$rank + 1]],
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
