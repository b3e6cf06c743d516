# Fits: what they have in common, and the settings of those that are found by iteration.

#' Settings of fits
#'
#' @param tol relative change of the criterion at which an optimisation ends
#' @param max_iter most iterations
#' @param lower,upper bounds of what is estimated, for each variable or for all, in its own units; for [gp_fit()] by
#'   name
#' @param start for [gp_fit()]: where its parameters begin, by name, as `c(scale = 2, nugget = 1)`
#' @param verbose tell of each start or step?
#' @param dense_n up to so many rows matrices are made and factored; beyond, and with 0, systems are solved by products
#' @param approximate sums over pairs of points that are far from each other by series, see [approximate()]; `NULL`:
#'   exact. For [kernel_ridge()] and [gp_fit()] beyond `dense_n` rows, of kernels of one distance of points in one, two
#'   or three dimensions. `TRUE`: to the tolerance that the system bears, so that it stays positive definite, its ridge
#'   or nugget divided by the number of rows and the kernel's largest value; a number: to no more than that. What was
#'   taken is the `tolerance` in `convergence` of the fit. Products are off, relative to the response, by some tens to
#'   hundreds of times the tolerance; fits say it there, too, and systems are solved to a third of that or to `tol`
#' @param probes,seed,rank of estimates and preconditioners beyond `dense_n` rows, as in [ridge_path()]; with 0 probes,
#'   [kernel_ridge()] with a `lambda` leaves out its degrees of freedom, which take most of its time
#' @return A list of class `kernweave_control`.
#' @seealso [kde_lazy()], [local_reg()], [rbf_interpolate()], [kernel_ridge()], [gp_fit()]
#' @export
#' @examples
#' fit_control(tol = 1e-8)
fit_control <- function(tol = 1e-6, max_iter = 500, lower = NULL, upper = NULL, verbose = FALSE, dense_n = 1000,
                        probes = 16, seed = 1, rank = NULL, start = NULL, approximate = NULL) {
  if (!is.numeric(tol) || length(tol) != 1 || !isTRUE(tol > 0)) {
    abort("value", "`tol` must be a positive number, not ", format_value(tol))
  }
  check_flag(verbose, "verbose")
  if (!identical(probes, 0)) check_count(probes, "probes", least = 2)
  if (!is.null(seed)) check_count(seed, "seed", least = 0)
  if (!is.null(rank)) check_count(rank, "rank")
  check_series(approximate)
  for (bound in list(lower, upper, start)) {
    if (!is.null(bound) && !(is.numeric(bound) && all(bound > 0))) {
      abort("value", "`lower`, `upper` and `start` must be positive numbers, not ", format_value(bound))
    }
  }
  structure(list(tol = tol, max_iter = check_count(max_iter, "max_iter"), lower = lower, upper = upper,
                 verbose = verbose, dense_n = check_count(dense_n, "dense_n", least = 0), probes = probes, seed = seed,
                 rank = rank, start = start, approximate = approximate), class = "kernweave_control")
}

#' @rdname fit_control
#' @param x what `fit_control()` returned
#' @param ... not used
#' @export
print.kernweave_control <- function(x, ...) {
  given <- Filter(Negate(is.null), unclass(x))
  one <- function(value) {
    each <- vapply(value, format, "", big.mark = ",", trim = TRUE)
    paste(if (is.null(names(value))) each else paste(names(value), "=", each), collapse = ", ")
  }
  cat("Settings of fits\n", paste0("  ", format(names(given)), "  ", vapply(given, one, ""), "\n"), sep = "")
  none <- setdiff(names(formals(fit_control)), names(given))
  if (length(none)) cat("  not given: ", paste(none, collapse = ", "), "\n", sep = "")
  invisible(x)
}

check_series <- function(tol) {
  if (is.null(tol) || isTRUE(tol)) return(invisible())
  if (is.numeric(tol) && length(tol) == 1 && isTRUE(tol >= 1e-12 && tol <= 0.1)) return(invisible())
  abort("tolerance", "`approximate` must be TRUE, a number from 1e-12 to 0.1, or NULL, not ", format_value(tol))
}

# `series`: may sums be approximated?
check_control <- function(control, series = FALSE) {
  if (!inherits(control, "kernweave_control")) {
    abort("input", "`control` must be what fit_control() returns, not ", describe(control))
  }
  if (!series && !is.null(control$approximate)) {
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
              columns = inputs$columns, variables = inputs$variables)
  structure(c(fit, list(...), list(engine = engine_used())), class = c(class, "kernweave_fit"))
}

#' Methods of fits
#'
#' What [kde_lazy()], [local_reg()] and others return has base R's methods: rows that a formula's `na.action` left out
#' have missing fitted values where that is `na.exclude`; `update()` changes the call and runs it anew. `tidy()`,
#' `glance()` and `augment()` of the generics package make data frames. `lines()` adds the curve of a fit of one input
#' to a picture.
#'
#' @section Formulas:
#' Of a fit made of a formula, `terms()`, `formula()`, `model.frame()`, `case.names()` and `variable.names()` are what
#' they are of [lm()] with the same formula: `terms()` has the response, which [stats::delete.response()] takes off, and
#' `model.frame()` the data of the rows that were used, as they were. So is `model.matrix()`, with an intercept and
#' contrasts of factors, though kernels have neither: they see a column for each level.
#'
#' A [gp_fit()] has two formulas. Its `terms()` are those of the kernel, its `model.frame()` has the trend's variables,
#' too, and its `model.matrix()` is the design of the trend: the columns that have coefficients, as in
#' `model.matrix(fit) %*% coef(fit)`. `fit$trend$terms` are its terms.
#'
#' @section New data:
#' Of a fit made of a formula, `newdata` is a data frame with the formula's variables. Of a fit made of points, its
#' columns are found by name where both have names: all must be there, in any order and perhaps among others, else it is
#' an error that names the one that lacks. Without names on either side columns go by their place. Rows with missing
#' values have missing results. This holds for `query` of [knn()], `centers` of [kmeans_lazy()], `y` of [sinkhorn()] and
#' of [energy_test()], too.
#'
#' @param object,x,formula a fit
#' @param type of residuals: the response less what is fitted is all there is; [gp_fit()] has others
#' @param ... for `update()`: arguments that change; for `lines()` and `qqnorm()` those of [graphics::lines()] and
#'   [stats::qqnorm()]
#' @return Numbers, a row for each observation; of `update()` a fit; of `terms()` and its like what they are of [lm()].
#' @seealso [kde_lazy()], [local_reg()], [rbf_interpolate()], [kernel_ridge()], [gp_fit()],
#'   [kpca_lazy()]
#' @name kernweave_fit
#' @examples
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
fitted.kernweave_fit <- function(object, ...) stats::napredict(object$na.action, object[["fitted.values"]])

#' @rdname kernweave_fit
#' @importFrom stats residuals
#' @export
residuals.kernweave_fit <- function(object, type = "response", ...) {
  refuse_more(...)
  choice_of(type, "response", "type")
  stats::naresid(object$na.action, object[["residuals"]])
}

#' @rdname kernweave_fit
#' @param y for `qqnorm()`: a fit, whose residuals are drawn
#' @importFrom stats qqnorm
#' @export
qqnorm.kernweave_fit <- function(y, ...) {
  left <- residuals(y)
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
formula.kernweave_fit <- function(x, ...) stats::formula(terms(x))

#' @rdname kernweave_fit
#' @importFrom stats model.frame
#' @export
model.frame.kernweave_fit <- function(formula, data = NULL, ...) {
  terms <- terms(formula)
  if (is.null(data)) formula$model else stats::model.frame(terms, data, ...)
}

#' @rdname kernweave_fit
#' @importFrom stats model.matrix
#' @export
model.matrix.kernweave_fit <- function(object, data = model.frame(object), ...) {
  stats::model.matrix(terms(object), data, xlev = object$xlevels, ...)
}

# The regressors of the trend, which are those that have coefficients.
#' @export
model.matrix.gp_fit <- function(object, data = NULL, ...) {
  refuse_more(...)
  F <- if (is.null(data)) object$regressors$F else new_trend(object, data, NROW(data))$F
  rows <- if (is.null(data)) case.names(object, full = TRUE) else rownames(data)
  out <- structure(F, dimnames = list(rows, colnames(F)), assign = object$trend$assign)
  if (length(object$trend$contrasts)) attr(out, "contrasts") <- object$trend$contrasts
  out
}

#' @rdname kernweave_fit
#' @param data for `model.frame()` and `model.matrix()`: other data than those of the fit
#' @param full for `case.names()`: rows of weight 0, too?
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
#' @param formula. a new formula, in which `.` stands for what was there; only for fits made of one
#' @param evaluate run the new call, or return it?
#' @export
update.kernweave_fit <- function(object, formula., ..., evaluate = TRUE) {
  call <- object$call
  if (!missing(formula.)) call$x <- stats::update.formula(formula(object), formula.)
  given <- match.call(expand.dots = FALSE)$...
  for (name in names(given)) call[[name]] <- given[[name]]
  if (!evaluate) return(call)
  call[[1]] <- call("::", as.name(utils::packageName()), call[[1]])  # it need not be attached
  eval(call, parent.frame())
}

#' @rdname kernweave_fit
#' @export
coef.kernweave_fit <- function(object, ...) object$bandwidth

#' @rdname kernweave_fit
#' @export
summary.kernweave_fit <- function(object, ...) object

#' @rdname kernweave_fit
#' @importFrom stats sigma
#' @export
sigma.kernweave_fit <- function(object, ...) {
  found <- if (inherits(object, "rbf_interpolate")) rbf_sigma(object) else object$sigma
  found %or% abort("unsupported", "a fit of class ", class(object)[1], " has no deviation of noise")
}

#' @rdname kernweave_fit
#' @importFrom stats deviance
#' @export
deviance.kernweave_fit <- function(object, ...) {
  if (is.null(object[["residuals"]])) abort("unsupported", "a fit of class ", class(object)[1], " has no residuals")
  squares <- (object$weights %or% 1) * object[["residuals"]]^2
  if (is.matrix(squares)) colSums(squares) else sum(squares)
}

# Rows of weight 0 take no part.
fit_weights <- function(weights, n) {
  if (is.null(weights)) return(NULL)
  if (length(weights) == 1) weights <- rep(weights, n)
  check_mass(weights, n)
}

# "(37 rows with missing values left out)", of what na.action dropped; nothing where it dropped none.
left_out_text <- function(dropped) {
  if (length(dropped)) {
    paste0("(", counted(format(length(dropped), big.mark = ","), "row"), " with missing values left out)\n")
  }
}
