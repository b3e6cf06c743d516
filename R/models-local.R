# Local regression: means and lines weighed by a Gaussian of the distance.

#' Local regression
#'
#' At each place a mean (`degree` 0) or a plane (1) of the observations around, weighed by a Gaussian kernel, with
#' standard errors. One bandwidth for each variable, chosen by leave-one-out cross-validation, exactly and without
#' leaving out, or by the corrected criterion of Akaike. Weights are shifted by their largest, so that far away the
#' nearest observations speak and nothing is 0 / 0.
#'
#' @param x,y inputs, a matrix, data frame or vector, and the response, a vector or a matrix with a column for each; or
#'   `x` a formula
#' @param data,subset,na.action for a formula: where its variables are, which rows, what is done with missing ones
#' @param degree 0 or 1
#' @param bandwidth `"cv"`, `"aicc"`, or numbers, one or one for each variable: standard deviations of the kernel
#' @param weights of the observations
#' @param control of the search for bandwidths, [fit_control()]
#' @param ... not used
#' @return An object of class `local_reg`: `bandwidth`, `criterion`, `df` (the trace of the smoother), `df.residual`,
#'   `sigma`, `fitted.values`, `residuals`.
#' @seealso [kde_lazy()] for densities; [stats::loess()], whose neighbourhoods are a share of the points
#' @export
#' @examples
#' fit <- local_reg(accel ~ times, data = MASS::mcycle)
#' fit
#' predict(fit, data.frame(times = c(10, 20, 90)), se.fit = TRUE)
#' plot(fit)
local_reg <- function(x, ...) UseMethod("local_reg")

#' @rdname local_reg
#' @export
local_reg.default <- function(x, y, degree = 1, bandwidth = c("cv", "aicc"), weights = NULL, control = fit_control(),
                              ...) {
  refuse_more(...)
  check_control(control)
  if (missing(y)) abort("input", "`y` is not given")
  inputs <- fit_matrix(x)
  local_of(inputs, y, degree, bandwidth, weights, control, match.call())
}

#' @rdname local_reg
#' @export
local_reg.formula <- function(x, data = NULL, degree = 1, bandwidth = c("cv", "aicc"), weights = NULL, subset = NULL,
                              na.action = NULL, control = fit_control(), ...) {
  refuse_more(...)
  check_control(control)
  found <- formula_inputs(x, data, na.action, substitute(weights), substitute(subset))
  inputs <- found$inputs
  fit <- local_of(inputs, found$left, degree, bandwidth, inputs$weights, control, match.call())
  fit$formula <- x
  fit
}

local_of <- function(inputs, y, degree, bandwidth, weights, control, call) {
  inputs <- without_constants(inputs)
  y <- check_response(y, nrow(inputs$x))
  weights <- fit_weights(weights, nrow(inputs$x))
  if (!identical(as.numeric(degree), 0) && !identical(as.numeric(degree), 1)) {
    abort("value", "`degree` must be 0 or 1, not ", format_value(degree))
  }
  part <- list(x = unname(strip_term(inputs$x)), y = unname(y), w = weights %or% rep(1, nrow(y)))
  heavy <- part$w > 0
  used <- list(x = part$x[heavy, , drop = FALSE], y = part$y[heavy, , drop = FALSE], w = part$w[heavy])
  if (nrow(used$x) < 2) abort("data", "a regression needs at least 2 rows, not ", nrow(used$x))
  chosen <- local_bandwidth(used, degree, bandwidth, control, colnames(inputs$x) %or% inputs$names)
  own <- local_fit(used, degree, chosen$h)
  all <- if (all(heavy)) own else local_values(used, degree, chosen$h, part$x)
  fit <- new_fit("local_reg", call, inputs, data = used, weights = weights, bandwidth = chosen$h,
                 method = chosen$method, criterion = chosen$criterion %or% local_cv(used, own, warn_isolated = TRUE),
                 degree = degree, df = own$v1, df.residual = own$df, sigma = own$sigma, fitted.values = all$fit,
                 residuals = y - all$fit, leverage = own$leverage, limits = chosen$limits)
  fit[c("fitted.values", "residuals")] <- lapply(fit[c("fitted.values", "residuals")], as_response, y, inputs$x)
  fit
}

check_response <- function(y, n) {
  if (is.factor(y) || is.character(y)) {
    abort("input", "the response must be numbers, not ", describe(y), ": this is regression only")
  }
  if (is.data.frame(y)) y <- as.matrix(y)
  if (!is.numeric(y) && !is.logical(y)) {
    abort("input", "the response must be numbers, not ", describe(y),
          if (inherits(y, "formula")) "; a formula goes first, then the data")
  }
  if (NROW(y) != n) abort("shape", "the response has ", counted(NROW(y), "row"), ", and the inputs have ", n)
  y <- if (is.matrix(y)) y else matrix(y, ncol = 1)
  storage.mode(y) <- "double"
  check_complete(y, "response")
}

# A vector where the response is one, with the names of the rows.
as_response <- function(values, y, x) {
  if (ncol(y) == 1) return(stats::setNames(as.vector(values), rownames(x)))
  dimnames(values) <- list(rownames(x), colnames(y))
  values
}

# --- one pass -----------------------------------------------------------------------------------------------

# Fits at places, with the length of each row of the smoother, by weighed sums of products of coordinates with each
# other and with the responses. Weights are divided by the largest of each place, which is `own` at the observations.
local_values <- function(part, degree, h, at, own = FALSE) {
  centre <- list(x = colMeans(part$x), y = colSums(part$w * part$y) / sum(part$w))
  scaled <- list(x = t((t(part$x) - centre$x) / h), y = sweep(part$y, 2, centre$y), w = part$w)
  at <- t((t(matrix(at, ncol = ncol(part$x))) - centre$x) / h)
  found <- solved_line(line_moments(scaled, degree, at, own))
  # Where few points are in reach, or all far from the centre, coordinates are taken from the nearest point.
  again <- which(degree == 1 & (found$neff < ncol(at) + 2 | found$narrow))
  if (length(again)) {
    near <- solved_line(pair_moments(scaled, at[again, , drop = FALSE]))
    for (name in names(found)) {
      if (is.matrix(found[[name]])) found[[name]][again, ] <- near[[name]] else found[[name]][again] <- near[[name]]
    }
  }
  found$fit <- sweep(found$fit, 2, centre$y, "+")
  found
}

pair_weights <- function(scaled, at, own = FALSE) {
  logs <- Vj(log(scaled$w)) - sqdist(Vi(at), Vj(scaled$x)) / 2
  exp(logs - Vi(if (own) log(scaled$w) else max(logs, index = "j", drop = TRUE)))
}

# Where each product of a symmetric matrix is among those of its lower triangle, column by column.
moment_places <- function(p) {
  places <- matrix(0L, p, p)
  places[lower.tri(places, diag = TRUE)] <- seq_len(p * (p + 1) / 2)
  pmax(places, t(places))
}

# Products with columns: of 1 and the coordinates with each other, and with the responses. `away`: of the places.
line_moments <- function(scaled, degree, at, own) {
  W <- pair_weights(scaled, at, own)
  one <- if (degree == 0) matrix(1, nrow(scaled$x)) else cbind(1, scaled$x)
  p <- ncol(one)
  q <- ncol(scaled$y)
  places <- moment_places(p)
  pairs <- which(lower.tri(places, diag = TRUE), arr.ind = TRUE)
  squares <- one[, pairs[, 1], drop = FALSE] * one[, pairs[, 2], drop = FALSE]
  with_y <- one[, rep(seq_len(p), each = q), drop = FALSE] * scaled$y[, rep(seq_len(q), p), drop = FALSE]
  sums <- unname(W %*% cbind(squares, with_y))
  long <- unname(W^2 %*% squares)
  list(M = array(sums[, places], c(nrow(sums), p, p)), long = array(long[, places], c(nrow(sums), p, p)),
       Y = sums[, -seq_len(nrow(pairs)), drop = FALSE], away = if (degree == 1) at else at[, 0, drop = FALSE])
}

# The same pair by pair, about the point nearest to each place.
pair_moments <- function(scaled, at) {
  p <- ncol(at) + 1
  nearest <- scaled$x[as.vector(argmin(sqdist(Vi(at), Vj(scaled$x)))), , drop = FALSE]
  W <- pair_weights(scaled, at)
  m <- c(Pm(1), Vj(scaled$x) - Vi(nearest))
  squares <- tensorprod(m, m)
  sums <- unname(reduction(c(W * squares, W^2 * squares, W * tensorprod(m, Vj(scaled$y))), "sum"))
  shape <- c(nrow(sums), p, p)
  list(M = array(sums[, seq_len(p^2)], shape), long = array(sums[, p^2 + seq_len(p^2)], shape),
       Y = sums[, -seq_len(2 * p^2), drop = FALSE], away = at - nearest)
}

# Lines through the mean of what is in reach. Where that has no width in a direction the line is level there.
solved_line <- function(moments) {
  D <- ncol(moments$away)
  mass <- moments$M[, 1, 1]
  long <- moments$long[, 1, 1]
  mean <- matrix(moments$M[, 1, 1 + seq_len(D)] / mass, length(mass), D)
  S <- moments$M[, 1 + seq_len(D), 1 + seq_len(D), drop = FALSE]
  for (k in seq_len(D)) for (l in seq_len(D)) S[, k, l] <- S[, k, l] / mass - mean[, k] * mean[, l]
  step <- moments$away - mean
  solved <- solve_each(S, step)
  q <- ncol(moments$Y) / (D + 1)
  constant <- moments$Y[, seq_len(q), drop = FALSE] / mass
  out <- list(fit = constant, square = long / mass^2, leverage = 1 / mass, neff = mass^2 / long, narrow = solved$narrow)
  for (k in seq_len(D)) {
    slope <- solved$x[, k] / mass
    of_y <- moments$Y[, k * q + seq_len(q), drop = FALSE]
    out$fit <- out$fit + slope * (of_y - mean[, k] * constant * mass)
    out$leverage <- out$leverage + slope * step[, k]
    cross <- moments$long[, 1, k + 1] - mean[, k] * long
    out$square <- out$square + 2 / mass * slope * cross
    for (l in seq_len(D)) {
      both <- moments$long[, k + 1, l + 1] - mean[, k] * moments$long[, 1, l + 1] - mean[, l] * cross
      out$square <- out$square + slope * solved$x[, l] / mass * both
    }
  }
  out
}

# Many small systems at once, by Cholesky, level where a direction has no width. `narrow`: where rounding may show.
solve_each <- function(S, b) {
  D <- ncol(b)
  L <- array(0, dim(S))
  narrow <- logical(nrow(b))
  for (k in seq_len(D)) for (i in k:D) {
    left <- S[, i, k]
    for (l in seq_len(k - 1)) left <- left - L[, i, l] * L[, k, l]
    if (i == k) narrow <- narrow | left < 1e-8 * (1 + b[, k]^2)
    L[, i, k] <- if (i == k) sqrt(ifelse(left < 1e-10, Inf, left)) else left / L[, k, k]
  }
  x <- b
  for (k in seq_len(D)) {
    for (l in seq_len(k - 1)) x[, k] <- x[, k] - L[, k, l] * x[, l]
    x[, k] <- x[, k] / L[, k, k]
  }
  for (k in rev(seq_len(D))) {
    for (l in seq_len(D)[seq_len(D) > k]) x[, k] <- x[, k] - L[, l, k] * x[, l]
    x[, k] <- x[, k] / L[, k, k]
  }
  list(x = x, narrow = narrow)
}

# At the observations themselves: fits, leverages, degrees of freedom and the deviation of the noise.
local_fit <- function(part, degree, h) {
  found <- local_values(part, degree, h, part$x, own = TRUE)
  n <- nrow(part$x)
  # An observation's own weight is 1 once all are divided by it.
  residuals <- part$y - found$fit
  v1 <- sum(found$leverage)
  df <- n - 2 * v1 + sum(found$square)
  sigma <- sqrt(colSums(part$w * residuals^2) / max(df, 1e-8))
  c(found, list(residuals = residuals, v1 = v1, df = df, sigma = sigma))
}

# --- criteria -----------------------------------------------------------------------------------------------

# Mean square of what each observation differs from its fit without it. One that stands alone has its nearest for it.
local_cv <- function(part, fit, warn_isolated = FALSE) {
  alone <- 1 - fit$leverage < 1e-8
  left_out <- fit$residuals / (1 - fit$leverage)
  if (any(alone)) {
    nearest <- knn(part$x, part$x[alone, , drop = FALSE], k = 2, exclude_self = FALSE)$nn.index
    other <- ifelse(nearest[, 1] == which(alone), nearest[, 2], nearest[, 1])
    left_out[alone, ] <- part$y[alone, ] - part$y[other, ]
    if (warn_isolated) {
      warn("approximate", counted(sum(alone), "observation"), " alone within the bandwidth: cross-validation takes ",
           "the nearest for them")
    }
  }
  sum(part$w * left_out^2) / sum(part$w)
}

local_aicc <- function(part, fit) {
  n <- nrow(part$x)
  spread <- sum(part$w * fit$residuals^2) / sum(part$w)
  if (n - fit$v1 - 2 <= 0) return(Inf)
  log(spread) + (1 + fit$v1 / n) / (1 - (fit$v1 + 2) / n)
}

local_bandwidth <- function(part, degree, bandwidth, control, names) {
  D <- ncol(part$x)
  spans <- apply(part$x, 2, function(v) diff(range(v)))
  found <- if (is.numeric(bandwidth)) list(h = check_widths(bandwidth, D), method = "given")
           else searched_widths(part, degree, choice_of(bandwidth[1], c("cv", "aicc"), "bandwidth"), control, spans)
  names(found$h) <- names
  c(found, list(limits = 100 * spans))
}

check_widths <- function(bandwidth, D) {
  if (!length(bandwidth) %in% c(1, D)) {
    abort("shape", "`bandwidth` has ", counted(length(bandwidth), "number"), " for ", counted(D, "input"))
  }
  right <- is.finite(bandwidth) & bandwidth > 0
  if (!all(right)) abort("value", "`bandwidth` must be positive and finite, not ", format(bandwidth[!right][1]))
  rep_len(as.numeric(bandwidth), D)
}

# Minimised from several starts on at most 2000 rows, then once for each variable without its say; the best is polished
# on all rows.
searched_widths <- function(part, degree, method, control, spans) {
  D <- length(spans)
  n <- nrow(part$x)
  rows <- unique(round(seq(1, n, length.out = min(n, 2000))))
  few <- list(x = part$x[rows, , drop = FALSE], y = part$y[rows, , drop = FALSE], w = part$w[rows])
  bounds <- log_bounds(control, 1e-3 * spans, 100 * spans)
  criterion <- if (method == "cv") local_cv else local_aicc
  on_rows <- function(part) function(h) criterion(part, local_fit(part, degree, exp(h)))
  from <- function(start, label) {
    out <- minimised(on_rows(few), start, bounds, control)
    if (control$verbose) message("from ", label, ": ", method, " ", format(out$value, digits = 8))
    out
  }
  better <- function(a, b) if (b$value < a$value) b else a
  silverman <- log(apply(part$x, 2, stats::sd)) - log(length(rows)) / (D + 4)
  best <- Reduce(better, lapply(c(0.5, 1, 3), function(by) from(silverman + log(by), paste(by, "x Silverman"))))
  if (D > 1) for (k in seq_len(D)) {
    best <- better(best, from(replace(best$par, k, bounds$upper[k]), paste("all but variable", k)))
  }
  if (n > length(rows)) {
    start <- ifelse(best$par > log(10 * spans), best$par, best$par - log(n / length(rows)) / (D + 4))
    best <- minimised(on_rows(part), start, bounds, control)
  }
  list(h = exp(best$par), method = method, criterion = best$value)
}

# By differences, which cost a pass each; one variable by golden section around the best of a few.
minimised <- function(f, start, bounds, control) {
  start <- pmin(pmax(start, bounds$lower), bounds$upper)
  if (length(start) == 1) {
    at <- pmin(pmax(start + log(c(0.5, 0.75, 1, 1.5, 2)), bounds$lower), bounds$upper)
    centre <- at[which.min(vapply(at, f, 0))]
    ends <- pmin(pmax(centre + log(2) * c(-1, 1), bounds$lower), bounds$upper)
    found <- stats::optimize(f, ends, tol = sqrt(control$tol) * 1e-2)
    if (min(abs(found$minimum - ends)) > 1e-3 || any(ends == c(bounds$lower, bounds$upper))) {
      return(list(par = found$minimum, value = found$objective))
    }
    start <- found$minimum
  }
  found <- stats::optim(start, f, method = "L-BFGS-B", lower = bounds$lower, upper = bounds$upper,
                        control = list(factr = control$tol * 1e-2 / .Machine$double.eps, maxit = control$max_iter,
                                       fnscale = max(abs(f(start)), 1e-300)))
  list(par = found$par, value = found$value)
}

# --- methods ------------------------------------------------------------------------------------------------

#' @rdname local_reg
#' @param object,newdata for `predict()`: a fit, and places; by default the fit's own
#' @param se.fit standard errors, too?
#' @param interval,level as in [stats::predict.lm()]
#' @export
predict.local_reg <- function(object, newdata = NULL, se.fit = FALSE,
                              interval = c("none", "confidence", "prediction"), level = 0.95, ...) {
  refuse_more(...)
  interval <- choice_of(interval[1], c("none", "confidence", "prediction"), "interval")
  q <- ncol(object$data$y)
  if (q > 1 && interval != "none") abort("unsupported", "intervals are those of one response, not of ", q)
  x <- if (is.null(newdata)) object$x else new_points(object, newdata)
  found <- at_complete(x, function(at) {
    values <- local_values(object$data, object$degree, object$bandwidth, unname(at))
    cbind(values$fit, values$square, values$neff)
  })
  if (is.null(newdata)) found <- stats::napredict(object$na.action, found)
  fit <- found[, seq_len(q), drop = FALSE]
  if (q == 1) fit <- fit[, 1] else colnames(fit) <- colnames(object$fitted.values)
  se <- outer(sqrt(found[, q + 1]), object$sigma)
  if (q == 1) se <- stats::setNames(se[, 1], names(fit))
  if (interval != "none") fit <- with_interval(fit, se, object, interval, level)
  if (!se.fit) return(fit)
  list(fit = fit, se.fit = se, df = object$df.residual, residual.scale = object$sigma, n_eff = found[, q + 2])
}

with_interval <- function(fit, se, object, interval, level) {
  check_level(level)
  if (interval == "prediction") se <- sqrt(se^2 + object$sigma^2)
  freedom <- if (is.na(object$df.residual)) Inf else object$df.residual
  half <- stats::qt((1 + level) / 2, freedom) * se
  cbind(fit = fit, lwr = fit - half, upr = fit + half)
}

#' @rdname local_reg
#' @param digits significant digits
#' @export
print.local_reg <- function(x, digits = 4, ...) {
  title <- if (is.null(x$formula)) paste(counted(ncol(x$x), "input")) else deparse1(x$formula)
  cat("Local ", c("constant", "linear")[x$degree + 1], " regression, ", title, ", ",
      format(nrow(x$x), big.mark = ","), " points\n", sep = "")
  widths <- ifelse(x$bandwidth > 0.3 * x$limits, c("Inf (drops out)", "Inf (linear)")[x$degree + 1],
                   vapply(x$bandwidth, format, "", digits = digits))
  how <- if (x$method == "given") "given" else paste(x$method, format(x$criterion, digits = digits + 1))
  cat("  bandwidth: ", paste(names(x$bandwidth), widths, collapse = ", "), " (", how, ")   df ",
      format(x$df, digits = digits - 1), "   sigma ", paste(format(x$sigma, digits = digits), collapse = " "), "\n",
      sep = "")
  cat(left_out_text(x$na.action))
  invisible(x)
}

#' @rdname local_reg
#' @param n for `plot()` of one or two inputs: places along each
#' @export
plot.local_reg <- function(x, n = NULL, level = 0.95, ...) {
  draw_picture(plot_data(x, n, level), ...)
  invisible(x)
}

#' @export
plot_data.local_reg <- function(object, n = NULL, level = 0.95, ...) {
  part <- object$data
  refuse_many(ncol(part$y))
  D <- ncol(part$x)
  axes <- plot_axes(part$x, check_count(n %or% c(200, 60)[min(D, 2)], "n", least = 2))
  at <- if (D < 3) unname(as.matrix(expand.grid(axes))) else part$x
  values <- local_values(part, object$degree, object$bandwidth, at)
  fit <- values$fit[, 1]
  labels <- names(object$bandwidth)
  if (D > 2) return(observed_picture(fit, part$y, response_name(object)))
  if (D == 2) return(surface_picture(axes, fit, part$x, labels, response_name(object)))
  band <- with_interval(fit, object$sigma * sqrt(values$square), object, "confidence", level)
  curve_picture(at[, 1], fit, part$x, part$y, labels, response_name(object), band[, 2:3])
}
