# Fits: methods for all classes of fits, and control settings of iterative fits.

#' Control settings for fits
#'
#' Collects the settings of iterative model fits: tolerances, bounds, and the method for large linear systems. Use it as
#' the `control` argument of [gp_fit()], [kernel_ridge()], [rbf_interpolate()], [local_reg()] and [kde_fit()].
#'
#' @param tol relative change of the criterion at which an optimisation stops
#' @param max_iter maximum number of iterations
#' @param lower,upper bounds on the estimates, on the scale of the estimates: one number for all variables or one per
#'   variable; for [gp_fit()] with names, `c(scale = 2)`
#' @param start for [gp_fit()]: starting values with names, `c(scale = 2, nugget = 1)`; coefficients of a formula of
#'   [gp_family()], such as `c(sigma.depth = -0.1)`, may be negative here and in `lower` and `upper`
#' @param verbose print each start or step?
#' @param dense_n number of rows up to which matrices are formed and factored; with more rows, or with `dense_n = 0`,
#'   linear systems are solved with matrix-vector products
#' @param approximate `FALSE` or `NULL` for exact products; `TRUE` or a tolerance to replace the sums over distant pairs
#'   of points by local expansions, see [approximate()]. Expansions are for [kernel_ridge()] and [gp_fit()] beyond
#'   `dense_n` rows, with kernels of a single distance in one, two or three dimensions. `"auto"` (the default) is `TRUE`
#'   where [gp_fit()] expects expansions to be faster, and `FALSE` in all other cases. `TRUE` takes the largest
#'   tolerance that keeps the system positive definite, at most 1e-4: the ridge or nugget divided by the number of rows
#'   and the largest value of the kernel. A number is an upper limit on the tolerance; `convergence$tolerance` of the
#'   fit is the tolerance that was used. The error of products, relative to the response, is typically tens to hundreds
#'   of times the tolerance, see `fit$convergence`; linear systems are solved to the larger of `tol` and a third of this
#'   error
#' @param probes,seed,rank number of random probes, seed, and rank of the preconditioner, for fits of more than
#'   `dense_n` rows; as in [ridge_path()]. With `probes = 0`, [kernel_ridge()] with a given `lambda` does not compute
#'   the degrees of freedom, which take most of its time
#' @return A list of class `kernweave_control`.
#' @seealso [kde_fit()], [local_reg()], [rbf_interpolate()], [kernel_ridge()], [gp_fit()]
#' @concept convergence tolerance
#' @concept optimisation settings
#' @concept large data sets
#' @export
#' @examples
#' fit_control(tol = 1e-8)
fit_control <- function(tol = 1e-6, max_iter = 500, lower = NULL, upper = NULL, verbose = FALSE, dense_n = 1000,
                        probes = 16, seed = 1, rank = NULL, start = NULL, approximate = "auto", ...) {
  refuse_more(...)
  if (!is.numeric(tol) || length(tol) != 1 || !isTRUE(tol > 0)) {
    abort("value", "`tol` must be a positive number, not ", format_value(tol))
  }
  check_flag(verbose, "verbose")
  if (!identical(probes, 0)) check_count(probes, "probes", least = 2)
  if (!is.null(seed)) check_count(seed, "seed", least = 0)
  if (!is.null(rank)) check_count(rank, "rank")
  tolerance <- is.numeric(approximate) && length(approximate) == 1 && isTRUE(approximate >= 1e-12 && approximate <= 0.1)
  if (!is.null(approximate) && !isTRUE(approximate) && !isFALSE(approximate) && !identical(approximate, "auto") &&
      !tolerance) {
    abort("tolerance", "`approximate` must be \"auto\", TRUE, FALSE or a number from 1e-12 to 0.1, not ",
          format_value(approximate))
  }
  if (isFALSE(approximate)) approximate <- NULL
  for (bound in list(lower, upper, start)) {
    if (!is.null(bound) && !(is.numeric(bound) && all(bound > 0 | grepl("^turn|[.]", names(bound) %or% "")))) {
      abort("value", "`lower`, `upper` and `start` must be positive numbers, but for coefficients of a formula, not ",
            format_value(bound))
    }
  }
  structure(list(tol = tol, max_iter = check_count(max_iter, "max_iter"), lower = lower, upper = upper,
                 verbose = verbose, dense_n = check_count(dense_n, "dense_n", least = 0), probes = probes, seed = seed,
                 rank = rank, start = start, approximate = approximate), class = "kernweave_control")
}

#' @rdname fit_control
#' @param x a list returned by `fit_control()`
#' @param ... not used
#' @export
print.kernweave_control <- function(x, ...) {
  given <- Filter(Negate(is.null), unclass(x))
  one <- function(value) {
    each <- vapply(value, format, "", big.mark = ",", trim = TRUE)
    paste(if (is.null(names(value))) each else paste(names(value), "=", each), collapse = ", ")
  }
  say("Settings of fits\n", paste0("  ", format(names(given)), "  ", vapply(given, one, ""), "\n"))
  none <- setdiff(names(formals(fit_control)), c(names(given), "..."))
  if (length(none)) say("  not given: ", paste(none, collapse = ", "), "\n")
  invisible(x)
}

# Checks control settings. `series`: sums of the model may be approximated.
check_control <- function(control, series = FALSE) {
  if (!inherits(control, "kernweave_control")) {
    abort("input", "`control` must be what fit_control() returns, not ", describe(control))
  }
  if (!series && !is.null(without_auto(control)$approximate)) {
    abort("unsupported", "`approximate` of fit_control() is for kernel_ridge() and gp_fit()")
  }
}

# Bounds by variable, on the logarithmic scale.
log_bounds <- function(control, lower, upper) {
  list(lower = log(pmax(lower, control$lower %or% lower)), upper = log(pmin(upper, control$upper %or% upper)))
}

new_fit <- function(class, call, inputs, ...) {
  call[[1]] <- as.name(class)
  fit <- list(call = call, terms = inputs$terms, model = inputs$model, xlevels = inputs$xlevels,
              na.action = inputs$na.action, x = inputs$x, names = inputs$names, constant = inputs$constant,
              columns = inputs$columns, kinds = inputs$kinds, variables = inputs$variables, places = inputs$places,
              formula = inputs$formula)
  structure(c(fit, list(...), list(engine = engine_used())), class = c(class, "kernweave_fit"))
}

# Returns the device, precision and threads of the call.
engine_used <- function() {
  table <- kernweave_options()
  values <- stats::setNames(table$value, sub("kernweave.", "", table$option, fixed = TRUE))
  values[c("device", "precision", "threads")]
}

#' Methods for fits
#'
#' Base R's methods for the fits that [kde_fit()], [local_reg()] and others return. `fitted()`, `residuals()`, `nobs()`
#' and the rest work as for [lm()]: with `na.action = na.exclude`, rows with missing values have missing fitted values.
#' `update()` changes the call and refits, with the variables that the call names where `update()` is called, or where
#' the formula was written. `lines()` adds the curve of a fit with one input to a plot. `tidy()`, `glance()` and
#' `augment()` of the generics package return data frames.
#'
#' @section Formulas:
#' If the fit was made from a formula, `terms()`, `formula()`, `model.frame()`, `case.names()` and `variable.names()`
#' return what they return for [lm()] with the same formula. `terms()` includes the response, which
#' [stats::delete.response()] removes; `model.frame()` has the original data of the rows that were used.
#' `model.matrix()` also has an intercept and factor contrasts, as for [lm()], although kernels use neither: to a kernel
#' a factor has one column per level.
#'
#' A [gp_fit()] has two formulas. `terms()` returns the terms of the kernel formula, or, without a process
#' (`variance = 0`), those of the trend with the response, without grouped effects, as for `lme4::lmer()`; the terms of
#' the trend are `fit$trend$terms`. `model.frame()` includes the variables of the trend. `model.matrix()` is the design
#' matrix of the trend, with one column per coefficient, as in `model.matrix(fit) %*% coef(fit)`.
#'
#' @section New data:
#' If the fit was made from a formula, `newdata` is a data frame with the variables of the formula. If the fit was made
#' from points, columns of `newdata` are matched by name if both have names: every column of the points must be present,
#' in any order, and extra columns are allowed; an error names the missing column. Without names, columns are matched by
#' position. Rows with missing values have missing results. The same holds for `query` of [knn()], `centers` of
#' [kmeans_fit()], and `y` of [sinkhorn()] and [energy_test()].
#'
#' `predict()` also takes rasters of the terra and stars packages, and returns rasters: see [gp_fit-methods].
#'
#' @param object,x,formula a fit
#' @param type type of residuals: `"response"`, observed minus fitted values. [gp_fit()] and fits with a `family` have
#'   other types, too
#' @param ... for `update()`: arguments to change; for `lines()` and `qqnorm()`: arguments of [graphics::lines()] and
#'   [stats::qqnorm()]
#' @return One number per observation; for `update()` a fit; for `terms()` and similar, what they return for [lm()].
#' @seealso [kde_fit()], [local_reg()], [rbf_interpolate()], [kernel_ridge()], [gp_fit()], [kpca_fit()]
#' @concept fitted values and residuals
#' @concept refit a model
#' @concept design matrix
#' @name kernweave_fit
#' @examplesIf requireNamespace("MASS", quietly = TRUE)
#' fit <- local_reg(accel ~ times, data = MASS::mcycle, bandwidth = 2)
#' head(cbind(fitted(fit), residuals(fit)))
#' nobs(fit)
#' plot(accel ~ times, MASS::mcycle)
#' lines(fit, col = "red")
#' lines(update(fit, bandwidth = 3), lty = 2)
NULL

#' @rdname kernweave_fit
#' @importFrom stats fitted
#' @export
fitted.kernweave_fit <- function(object, ...) {
  refuse_more(...)
  stats::napredict(object$na.action, object[["fitted.values"]])
}

#' @rdname kernweave_fit
#' @importFrom stats residuals
#' @export
residuals.kernweave_fit <- function(object, type = "response", ...) {
  refuse_more(...)
  choice_of(type, "response", "type")
  stats::naresid(object$na.action, object[["residuals"]])
}

#' @rdname kernweave_fit
#' @param y for `qqnorm()`: a fit, whose residuals are plotted; for a [gp_fit()] or [kernel_ridge()] its standardised
#'   residuals, see [rstandard()]
#' @importFrom stats qqnorm
#' @export
qqnorm.kernweave_fit <- function(y, ...) {
  left <- if (inherits(y, c("gp_fit", "kernel_ridge"))) rstandard(y) else residuals(y)
  if (is.null(left)) abort("unsupported", "a fit of class ", class(y)[1], " has no residuals")
  refuse_many(NCOL(left), "qqnorm()")
  stats::qqnorm(left, ...)
}

#' @rdname kernweave_fit
#' @importFrom stats nobs
#' @export
nobs.kernweave_fit <- function(object, ...) nrow(object$x)

#' @rdname kernweave_fit
#' @importFrom stats weights
#' @export
weights.kernweave_fit <- function(object, ...) stats::naresid(object$na.action, object$weights)

#' @rdname kernweave_fit
#' @importFrom stats terms
#' @export
terms.kernweave_fit <- function(x, ...) {
  x$terms %or% abort("input", "the fit was made of points, not of a formula")
}

#' @rdname kernweave_fit
#' @importFrom stats formula
#' @export
formula.kernweave_fit <- function(x, ...) if (has_no_input(x)) x$formula else stats::formula(terms.kernweave_fit(x))

#' @rdname kernweave_fit
#' @importFrom stats model.frame
#' @export
model.frame.kernweave_fit <- function(formula, data = NULL, ...) {
  terms <- terms(formula)
  if (is.null(data)) structure(formula$model, terms = terms) else stats::model.frame(terms, data, ...)
}

#' @rdname kernweave_fit
#' @importFrom stats model.matrix
#' @export
model.matrix.kernweave_fit <- function(object, data = model.frame(object), ...) {
  stats::model.matrix(terms(object), data, xlev = object$xlevels, ...)
}

# Returns the regressors of the trend, which have coefficients.
#' @export
model.matrix.gp_fit <- function(object, data = NULL, ...) {
  refuse_more(...)
  F <- if (is.null(data)) object$regressors$F else new_trend(object, data, NROW(data), re.form = NA)$F
  rows <- if (is.null(data)) case.names(object, full = TRUE) else rownames(data)
  out <- structure(F, dimnames = list(rows, colnames(F)), assign = object$trend$assign)
  if (length(object$trend$contrasts)) attr(out, "contrasts") <- object$trend$contrasts
  out
}

#' @rdname kernweave_fit
#' @param data for `model.frame()` and `model.matrix()`: data to use instead of those of the fit
#' @param full for `case.names()`: include rows of weight 0?
#' @importFrom stats case.names
#' @export
case.names.kernweave_fit <- function(object, full = FALSE, ...) {
  rows <- rownames(object$x) %or% as.character(seq_len(nrow(object$x)))
  if (full || is.null(object$weights)) rows else rows[object$weights != 0]
}

#' @rdname kernweave_fit
#' @importFrom stats variable.names
#' @export
variable.names.kernweave_fit <- function(object, ...) colnames(model.matrix(object))

#' @rdname kernweave_fit
#' @param formula. a new formula, in which `.` stands for the corresponding part of the old formula; only for fits made
#'   from a formula. In a new `trend` of [gp_fit()], `.` stands for the old trend: `update(fit, trend = ~ . + depth)`
#' @param evaluate refit, or return the new call?
#' @export
update.kernweave_fit <- function(object, formula., ..., evaluate = TRUE) {
  call <- kept_call(object)
  if (!missing(formula.)) {
    if (!inherits(formula., "formula") && !is_word(formula.)) {
      abort("input", "`formula.` must be a formula, not ", describe(formula.), "; other arguments are given by name",
            if (is.data.frame(formula.)) ", `data = `")
    }
    call$x <- stats::update.formula(formula(object), formula.)
  }
  given <- match.call(expand.dots = FALSE)$...
  if (!is.null(object$trend) && "trend" %in% names(given)) {
    trend <- eval(given$trend, parent.frame())
    dotted <- inherits(trend, "formula") && "." %in% all.vars(trend)
    given$trend <- if (dotted) changed_trend(object, trend) else given$trend
  }
  for (name in names(given)) call[name] <- list(given[[name]])  # an argument may be NULL
  if (evaluate) evaluated_fit(call, parent.frame(), fit_frame(object, parent.frame()), names(given)) else call
}

# Returns a fit's call, with the kernel that was chosen, and with its formula instead of a variable that had it.
kept_call <- function(fit) {
  call <- fit$call
  if (is.name(call$x) && !is.null(fit$terms)) call$x <- formula(fit)
  if (is.null(fit$chosen)) return(call)
  name <- fit$chosen$kernel[which.min(fit$chosen$worse)]
  call$standardize <- is_standardized(fit$data)
  call$kernel <- if (kernel_parts(fit$kernel)$ard) bquote(kernweave::kernel_spec(.(name), ard = TRUE)) else name
  call
}

# Returns the environment in which a fit's formula was written, and its call as a rule; that of points is not known.
fit_frame <- function(object, frame) if (is.null(object$formula)) frame else environment(object$formula)

# Evaluates a call in `frame`, with local variables of where it was `made` unless `frame` has local variables of these
# names, as update() of other fits takes them. Arguments that are `new` are of `frame` alone.
evaluated_fit <- function(call, frame, made = frame, new = NULL) {
  is_local <- function(name, at) {
    top <- topenv(at)
    while (!identical(at, top) && !exists(name, at, inherits = FALSE)) at <- parent.env(at)
    !identical(at, top)
  }
  names <- unique(all.names(call[!names(call) %in% new]))
  theirs <- Filter(function(name) is_local(name, made) && !is_local(name, frame), names)
  if (length(theirs)) frame <- list2env(mget(theirs, envir = made, inherits = TRUE), parent = frame)
  for (argument in setdiff(names(call)[-1], c("weights", "subset"))) {
    given <- call[[argument]]
    of_data <- argument %in% c("x", "y", "data")  # a function of this name, as data(), is no data
    there <- function(name) exists(name, frame) && !(of_data && is.function(get(name, frame)))
    if (!is.name(given) || there(as.character(given))) next
    abort("input", "`", given, "`, the `", argument, "` of the fit, is not there, and the fit does not keep it: ",
          "update(fit, ", argument, " = ) gives it")
  }
  call[[1]] <- call("::", as.name(utils::packageName()), call[[1]])  # works if the package is not attached
  eval(call, frame)
}

#' @rdname kernweave_fit
#' @export
coef.kernweave_fit <- function(object, ...) object$coefficients %or% object$bandwidth

#' @rdname kernweave_fit
#' @export
summary.kernweave_fit <- function(object, ...) object

# Registers the method for classes whose summary() is the object.
#' @rawNamespace
#' S3method(summary, dbscan_fit, summary.kernweave_fit)
#' S3method(summary, hdbscan_fit, summary.kernweave_fit)
#' S3method(summary, elpd, summary.kernweave_fit)
#' S3method(summary, kernel_spec, summary.kernweave_fit)
#' S3method(summary, kmeans_fit, summary.kernweave_fit)
#' S3method(summary, pairwise_test, summary.kernweave_fit)
#' S3method(summary, predictive_scores, summary.kernweave_fit)
#' S3method(summary, sinkhorn, summary.kernweave_fit)
#' S3method(summary, sinkhorn_barycentre, summary.kernweave_fit)
NULL

#' @rdname kernweave_fit
#' @importFrom stats sigma
#' @export
sigma.kernweave_fit <- function(object, ...) {
  object$sigma %or% abort("unsupported", "a fit of class ", class(object)[1], " has no residual standard deviation")
}

#' @rdname kernweave_fit
#' @importFrom stats deviance
#' @export
deviance.kernweave_fit <- function(object, ...) {
  if (!is.null(object$deviance)) return(object$deviance)
  if (is.null(object[["residuals"]])) abort("unsupported", "a fit of class ", class(object)[1], " has no residuals")
  squares <- (object$weights %or% 1) * object[["residuals"]]^2
  if (is.matrix(squares)) colSums(squares, na.rm = TRUE) else sum(squares)
}

#' @rdname kernweave_fit
#' @importFrom stats family
#' @export
family.kernweave_fit <- function(object, ...) object$family %or% stats::gaussian()

with_interval <- function(fit, se, object, interval, level) {
  check_level(level)
  if (interval == "prediction") se <- sqrt(se^2 + object$sigma^2)
  freedom <- if (is.na(object$df.residual)) Inf else object$df.residual
  half <- stats::qt((1 + level) / 2, freedom) * se
  cbind(fit = fit, lwr = fit - half, upr = fit + half)
}

heavy_of <- function(fit) if (is.null(fit$weights)) seq_len(nrow(fit$x)) else which(fit$weights > 0)

# Returns the numbers of the rows of positive weight, the number of all rows, and the dropped rows.
places_of_rows <- function(fit) {
  total <- nrow(fit$x) + length(fit$na.action)
  list(at = setdiff(seq_len(total), fit$na.action)[heavy_of(fit)], total = total, dropped = fit$na.action)
}

# Returns the response of a fit: a factor, or a matrix of numbers.
response_of <- function(fit) UseMethod("response_of")

# Fits the same model to some rows, by points rather than by a formula, with the parameters chosen before or, with
# `again`, chosen anew.
refit_to <- function(fit, rows, again) UseMethod("refit_to")

some_rows <- function(fit, rows) {
  list(inputs = list(x = inputs_of_rows(fit, rows), names = fit$names), y = response_of(fit)[rows, , drop = FALSE],
       weights = fit$weights[rows])
}

inputs_of_rows <- function(fit, rows, constant = NULL) {
  x <- unname(strip_term(fit$x))[rows, , drop = FALSE]
  if (is.null(constant)) return(structure(x, term = attr(fit$x, "term")))
  term <- attr(fit$x, "term")[!constant]
  structure(x[, !constant, drop = FALSE], term = match(term, unique(term)))
}
