# Kernel density estimates with any bandwidth matrix.

#' Kernel density estimation
#'
#' Estimates the density from which the points `x` are a sample, as a mean of normal densities centred at the points.
#' Use it for densities in any number of dimensions, with any bandwidth matrix. The estimate is exact at any point, and
#' is computed on the log scale, so that it never underflows.
#'
#' `bandwidth` is one of: `"nrd"`, the normal reference rule, which gives a full matrix; `"ml"`, one standard deviation
#' per variable, which maximises the leave-one-out likelihood; `"ucv"`, the same by unbiased cross-validation; or
#' numbers: standard deviations (one, or one per variable), or a covariance matrix.
#'
#' @param x points: a matrix, a data frame or a vector, or points of the sf, terra or sp packages, in their
#'   coordinates; or a formula, `~ a + b`, `~ geometry`
#' @param bandwidth `"nrd"`, `"ml"`, `"ucv"`, or numbers
#' @param weights mass of each point
#' @param control settings of the bandwidth search, from [fit_control()]
#' @param data,na.action,subset for a formula: as in [stats::lm()]
#' @param ... not used; for `plot()`, arguments of [graphics::plot()]
#' @return An object of class `kde_fit`: `bandwidth`, a matrix, with the `method` and `criterion` of its choice;
#'   `fitted.values`, the density at the points; `loo`, the leave-one-out log density at each point.
#' @seealso [stats::density()] for a curve on a grid; [local_reg()]
#' @concept multivariate density estimation
#' @concept bandwidth selection
#' @concept unbiased cross-validation
#' @concept score function
#' @export
#' @examples
#' fit <- kde_fit(~ eruptions + waiting, faithful)
#' fit
#' predict(fit, data.frame(eruptions = c(2, 9), waiting = c(55, 200)), log = TRUE)
#' plot(fit)
kde_fit <- function(x, ...) UseMethod("kde_fit")

#' @rdname kde_fit
#' @export
kde_fit.default <- function(x, bandwidth = c("nrd", "ml", "ucv"), weights = NULL, control = fit_control(), ...) {
  refuse_more(...)
  check_control(control)
  inputs <- fit_matrix(x)
  kde_of(inputs, bandwidth, fit_weights(weights, nrow(inputs$x)), control, match.call())
}

#' @rdname kde_fit
#' @export
kde_fit.formula <- function(x, data = NULL, bandwidth = c("nrd", "ml", "ucv"), weights = NULL, subset = NULL,
                             na.action = NULL, control = fit_control(), ...) {
  refuse_more(...)
  check_control(control)
  inputs <- formula_inputs(x, data, na.action, substitute(weights), substitute(subset), one_sided = TRUE)$inputs
  kde_of(inputs, bandwidth, fit_weights(inputs$weights, nrow(inputs$x)), control, match.call())
}

kde_of <- function(inputs, bandwidth, weights, control, call) {
  if (length(inputs$xlevels)) abort("input", "a density needs numbers, and there is a factor among the variables")
  if (!is.null(weights) && any(weights == 0)) {
    inputs$x <- structure(inputs$x[weights > 0, , drop = FALSE], term = attr(inputs$x, "term"))
    if (!is.null(inputs$model)) {
      inputs$model <- structure(inputs$model[weights > 0, , drop = FALSE], terms = inputs$terms)
    }
    weights <- weights[weights > 0]
  }
  x <- inputs$x
  n <- nrow(x)
  if (n < 2) abort("data", "a density needs at least 2 points, not ", n)
  constant <- apply(x, 2, function(v) all(v == v[1]))
  if (any(constant)) abort("data", "`", colnames(x)[constant][1] %or% "x", "` is constant: it has no density")
  mass <- if (is.null(weights)) rep(1 / n, n) else weights / sum(weights)
  middle <- sweep(strip_term(x), 2, colMeans(x))
  method <- if (is.character(bandwidth)) choice_of(bandwidth[1], c("nrd", "ml", "ucv"), "bandwidth") else "given"
  chosen <- switch(method, given = list(H = given_bandwidth(bandwidth, ncol(x))),
                   nrd = list(H = reference_bandwidth(middle, mass)),
                   searched_bandwidth(middle, mass, method, control))
  H <- chosen$H
  dimnames(H) <- rep(list(colnames(x) %or% inputs$names), 2)
  fit <- new_fit("kde_fit", call, inputs, bandwidth = H, weights = weights, mass = mass, method = method,
                 criterion = chosen$criterion)
  logs <- with_work("kde_fit()", kde_log(fit, strip_term(x)), 1, "a sample of the rows")
  fit$fitted.values <- stats::setNames(exp(logs), rownames(x))
  fit$loo <- stats::setNames(kde_others(fit, logs), rownames(x))
  fit
}

# --- bandwidths ---------------------------------------------------------------------------------------------

# The normal reference rule, with the effective sample size 1 / sum(mass^2).
reference_bandwidth <- function(x, mass) {
  D <- ncol(x)
  n <- 1 / sum(mass^2)
  (4 / (n * (D + 2)))^(2 / (D + 4)) * stats::cov.wt(x, mass)$cov
}

given_bandwidth <- function(bandwidth, D) {
  if (!is.numeric(bandwidth) || !all(is.finite(bandwidth))) {
    abort("input", "`bandwidth` must be finite numbers, \"nrd\", \"ml\" or \"ucv\", not ", describe(bandwidth))
  }
  if (is.matrix(bandwidth) && D > 1) {
    if (!identical(dim(bandwidth), c(D, D))) {
      abort("shape", "`bandwidth` is ", nrow(bandwidth), " x ", ncol(bandwidth), " for points of ",
            counted(D, "component"))
    }
    if (!isSymmetric(unname(bandwidth))) abort("value", "`bandwidth` as a matrix must be symmetric")
    return(bandwidth)
  }
  if (!length(bandwidth) %in% c(1, D)) {
    abort("shape", "`bandwidth` has ", counted(length(bandwidth), "number"), " for points of ", counted(D, "component"))
  }
  if (any(bandwidth <= 0)) abort("value", "`bandwidth` must be positive, not ", format(min(bandwidth)))
  diag(rep_len(as.vector(bandwidth), D)^2, D)
}

searched_bandwidth <- function(x, mass, method, control) {
  spread <- apply(x, 2, stats::sd)
  bounds <- log_bounds(control, 1e-3 * spread, 10 * spread)
  loss <- (if (method == "ml") likelihood_loss else cross_validation_loss)(x, mass)
  o <- objective(loss, start = list(log_sd = log(sqrt(diag(reference_bandwidth(x, mass))))))
  # Densities depend on units, and may be tiny, so the criterion is scaled; log-densities need no scale.
  unit <- if (method == "ml") 1 else max(abs(o$fn(o$par)), .Machine$double.xmin)
  from <- function(by) {
    stats::optim(o$par + log(by), o$fn, o$gr, method = "L-BFGS-B", lower = bounds$lower, upper = bounds$upper,
                 control = list(factr = control$tol * 1e-2 / .Machine$double.eps, maxit = control$max_iter, pgtol = 0,
                                fnscale = unit))
  }
  # Least-squares cross-validation has several minima, the likelihood hardly ever.
  found <- lapply(if (method == "ml") 1 else c(1, 0.4, 2), from)
  if (is.null(control$lower)) found <- Filter(function(one) all(exp(one$par) >= 1.001e-3 * spread), found)
  if (!length(found)) {  # all bandwidths went to 0, because of repeated points
    twins <- sum(duplicated(x))
    abort("data", "the bandwidth goes to 0, since ", counted(twins, "row"), " of `x` ", if (twins == 1) "repeats" else
          "repeat", " another; bandwidth = \"nrd\" does not mind")
  }
  found <- found[[which.min(vapply(found, `[[`, 0, "value"))]]
  if (found$convergence != 0) {
    warn("convergence", "the search for a bandwidth ended early (", found$message, "); raise `max_iter` in `control`")
  }
  sds <- exp(unname(found$par))
  list(H = diag(sds^2, length(sds)), method = method, criterion = found$value * if (method == "ml") -1 else 1)
}

# Minus the mean leave-one-out log-density.
likelihood_loss <- function(x, mass) {
  D <- ncol(x)
  function(log_sd) {
    h <- exp(log_sd)
    logs <- Vj(log(mass)) - sqdist(Vi(x) / h, Vj(x) / h) / 2
    apart <- logsumexp(lazy_if(row_index() != col_index(), logs, -Inf)) - log(1 - mass)
    sum(log_sd) + D / 2 * log(2 * pi) - sum(mass * apart)
  }
}

cross_validation_loss <- function(x, mass) {
  D <- ncol(x)
  function(log_sd) {
    h <- exp(log_sd)
    q <- sqdist(Vi(x) / h, Vj(x) / h)
    pairs <- Vi(mass) * Vj(mass)
    wide <- sum(pairs * exp(-q / 4), index = "ij")
    apart <- sum(pairs * exp(-q / 2), index = "ij") - sum(mass^2)
    (wide / 2^(D / 2) - 2 * apart / (1 - sum(mass^2))) / (2 * pi)^(D / 2) / exp(sum(log_sd))
  }
}

# --- values -------------------------------------------------------------------------------------------------

# Logarithms of the density at points.
kde_log <- function(fit, at) {
  root <- bandwidth_root(fit$bandwidth)
  unname(logsumexp(kde_terms(fit, at, root), drop = TRUE)) + kde_constant(root)
}
kde_constant <- function(root) -sum(log(diag(root))) - ncol(root) / 2 * log(2 * pi)

# Returns leave-one-out log-densities at the fit's points. A point's own kernel is subtracted, or, if it is nearly all
# of the density, left out of a new sum.
kde_others <- function(fit, logs) {
  root <- bandwidth_root(fit$bandwidth)
  share <- exp(log(fit$mass) + kde_constant(root) - logs)
  out <- logs + log1p(-pmin(share, 1))
  lonely <- which(share > 0.999)
  if (length(lonely)) {
    terms <- kde_terms(fit, strip_term(fit$x[lonely, , drop = FALSE]), root)
    others <- lazy_if(Vi(lonely) != col_index(), terms, -Inf)
    out[lonely] <- logsumexp(others, drop = TRUE) + kde_constant(root)
  }
  out - log(1 - fit$mass)
}

# Points are centred, so that their distance from 0 does not matter.
kde_terms <- function(fit, at, root) {
  centre <- colMeans(fit$x)
  whiten <- function(x) t(backsolve(root, t(unname(strip_term(x))) - centre, transpose = TRUE))
  Vj(log(fit$mass)) - sqdist(Vi(whiten(at)), Vj(whiten(fit$x))) / 2
}

bandwidth_root <- function(H) {
  tryCatch(chol(H), error = function(e) abort("indefinite", "`bandwidth` is not positive definite"))
}

#' @rdname kde_fit
#' @param object,newdata,log for `predict()`: a fit; new points, by default the points of the fit; return log densities?
#' @param loo leave each point out of its own density? Only for the points of the fit
#' @param type `"density"`, or `"score"`, the gradient of the log density
#' @export
predict.kde_fit <- function(object, newdata = NULL, log = FALSE, loo = FALSE, type = c("density", "score"), ...) {
  refuse_more(...)
  if (is_raster(newdata)) return(over_cells(object, newdata, predict.kde_fit, log, loo, type))
  type <- choice_of(type[1], c("density", "score"), "type")
  check_flag(log, "log")
  check_flag(loo, "loo")
  if (loo && !is.null(newdata)) abort("input", "`loo = TRUE` is for the fit's own points; leave out `newdata`")
  x <- if (is.null(newdata)) object$x else new_points(object, newdata)
  out <- at_complete(x, function(at) {
    if (type == "density") {
      logs <- if (loo) object$loo else with_work("predict()", kde_log(object, at), 1)
      return(if (log) logs else exp(logs))
    }
    terms <- kde_terms(object, at, bandwidth_root(object$bandwidth))
    if (loo) terms <- lazy_if(row_index() != col_index(), terms, -Inf)
    towards <- sumsoftmaxweight(terms, weight = Vj(unname(strip_term(object$x)))) - unname(at)
    structure(t(solve(object$bandwidth, t(towards))), dimnames = list(NULL, colnames(object$bandwidth)))
  })
  if (is.null(newdata)) stats::napredict(object$na.action, out) else out
}

#' @rdname kde_fit
#' @importFrom stats logLik
#' @export
logLik.kde_fit <- function(object, ...) {
  weight <- object$weights %or% rep(1, nrow(object$x))
  structure(sum(weight * object$loo), df = length(diag(object$bandwidth)), nobs = nrow(object$x), class = "logLik")
}

#' @rdname kde_fit
#' @param nsim,seed for `simulate()`: number of points to draw, and a seed, as in [stats::simulate()]
#' @export
simulate.kde_fit <- function(object, nsim = 1, seed = NULL, ...) {
  refuse_more(...)
  nsim <- check_count(nsim, "nsim")
  drawn <- function() {
    rows <- sample.int(nrow(object$x), nsim, replace = TRUE, prob = object$mass)
    noise <- matrix(stats::rnorm(nsim * ncol(object$x)), nsim) %*% bandwidth_root(object$bandwidth)
    unname(strip_term(object$x)[rows, , drop = FALSE]) + noise
  }
  structure(with_state(seed, drawn())$value, dimnames = list(NULL, colnames(object$bandwidth)))
}

#' @rdname kde_fit
#' @param digits significant digits
#' @export
print.kde_fit <- function(x, digits = 4, ...) {
  D <- ncol(x$x)
  say("Kernel density, ", format(nrow(x$x), big.mark = ","), " points in ", counted(D, "dimension"), ", Gaussian\n")
  sds <- vapply(sqrt(diag(x$bandwidth)), format, "", digits = digits)
  how <- if (x$method == "given") "given" else paste0("chosen by \"", x$method, "\"")
  full <- any(x$bandwidth[upper.tri(x$bandwidth)] != 0)
  say("  bandwidth (sd): ", paste(rownames(x$bandwidth), sds, collapse = ", "), if (full) ", with correlation", "   (",
      how, ")\n")
  total <- as.numeric(logLik(x))
  say("  leave-one-out log-likelihood: ", format(total, digits = digits + 3), ", mean ",
      format(sum(x$mass * x$loo), digits = digits + 1), "\n")
  cat(left_out_text(x$na.action))
  invisible(x)
}

#' @rdname kde_fit
#' @param mass for `plot()` in two dimensions: probability mass within each contour
#' @param n for `plot()`: grid points along each axis
#' @export
plot.kde_fit <- function(x, mass = c(0.25, 0.5, 0.75, 0.95), n = NULL, ...) drawn(x, plot_data(x, mass, n), ...)

#' @export
plot_data.kde_fit <- function(object, mass = c(0.25, 0.5, 0.75, 0.95), n = NULL, ...) {
  x <- unname(strip_term(object$x))
  D <- ncol(x)
  fine <- max(60, min(150, floor(sqrt(4e8 / nrow(x)))))  # places of a map, whose pairs with the data take a second
  n <- check_count(n %or% c(512, fine)[min(D, 2)], "n", least = 2)
  if (!is.numeric(mass) || !all(mass > 0 & mass < 1)) {
    abort("value", "`mass` must be shares between 0 and 1, not ", format_value(mass))
  }
  if (D > 2) abort("unsupported", "plot() draws densities of one or two dimensions, not ", D, "; fit two at a time")
  axes <- lapply(seq_len(D), function(k) {
    seq(min(x[, k]), max(x[, k]), length.out = n) + 3 * sqrt(object$bandwidth[k, k]) * seq(-1, 1, length.out = n)
  })
  names <- colnames(object$bandwidth)
  places <- unname(as.matrix(expand.grid(axes)))
  height <- exp(kde_log(object, places))
  if (D == 1) {
    return(picture(names, "Density", curve = data.frame(x = axes[[1]], y = height), rug = data.frame(x = x[, 1])))
  }
  levels <- unname(stats::quantile(object$fitted.values, 1 - mass))  # exceeded at a share `mass` of the points
  grid <- structure(data.frame(x = places[, 1], y = places[, 2], z = height), levels = levels,
                    labels = paste0(100 * mass, " %"))
  # shades go from level to level, evenly
  steps <- sort(unique(c(0, levels, max(height))))
  marks <- match(levels, steps) - 1
  shades <- structure(transform(grid, z = stats::approx(steps, seq_along(steps) - 1, height)$y, far = 0),
                      marks = stats::setNames(marks, attr(grid, "labels")), levels = NULL, labels = NULL,
                      colours = light_greys())
  picture(names[1], names[2], surface = shades, points = data.frame(x = x[, 1], y = x[, 2]),
          contours = grid, zlab = "share of points within", main = "Density", asp = map_aspect(x, names))
}
