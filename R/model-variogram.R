# Empirical variograms: mean squared differences of residuals in classes of distance.

#' Empirical variogram
#'
#' Computes half the mean squared difference of pairs of observations, by classes of their distance. It shows how
#' spatial correlation decreases with distance. For a [gp_fit()] the result includes the curve of the fitted covariance,
#' so that a plot shows whether the two agree.
#'
#' Distances are Euclidean distances between the inputs on the right-hand side of the formula. For a `gp_fit` they are
#' distances between the points of its model: on a sphere, chords in the unit of the `radius`. If the kernels of a fit
#' are `of` different inputs, as in a model of space and time, distances are between all inputs together, in their
#' units, and there is no curve, since the covariance is not a function of these distances. If distances combine several
#' units, or if ranges of the inputs differ tenfold, `print()` and the axis of `plot()` say so. For lags in space alone,
#' give a formula of the places and, as `subset`, one time.
#'
#' The residuals `r` are least-squares residuals of the trend; for a `gp_fit` those of its trend, at the rows that the
#' fit used. The semivariance of a class with N pairs is the mean of `(r_i - r_j)^2 / 2` or, with `cressie = TRUE`, the
#' robust estimate `mean(sqrt(abs(r_i - r_j)))^4 / (0.457 + 0.494 / N) / 2` (Cressie and Hawkins, 1980). A class
#' contains the distances above its lower end up to and including its upper end. The first class also contains distance
#' 0, between observations with the same inputs. Classes without pairs are left out. Weights of observations are unused.
#'
#' The curve of a fit is `nugget + variance * (1 - k(h))` at distance h. If the kernel depends on the direction and
#' `alpha` is `NULL`, there is a curve along each input, or along both axes of a kernel with `aniso`; `alpha = 90 -
#' angle + c(0, 90)` selects pairs along these axes. Kernels that are not a function of the difference of two points,
#' such as the polynomial kernel, have no curve. Compare points and curve at short distances: semivariances at long
#' distances depend on few independent differences, and residuals of a trend vary less than the process.
#'
#' @section Many rows:
#' If there are more pairs than `pairs`, the pairs among `sqrt(2 * pairs)` of the rows are used, and `print()` says so.
#' Half of these rows are chosen at random, and half are their nearest neighbours, so that short distances have pairs,
#' too. The choice is always the same, and does not change the state of the random number generator. All pairs
#' (`pairs = Inf`) take time proportional to their number, and little memory.
#'
#' @section gstat:
#' The result is also of class `gstatVariogram`, so that `gstat::fit.variogram()` reads it, and `gstat::variogram()` of
#' a `gp_fit` calls this method. With the same boundaries, the numbers are those of `gstat::variogram()`, whose default
#' cutoff differs slightly. The right side of the formula names the inputs, and covariates belong in `trend`; for points
#' of the sf, terra or sp packages it may be 1, as in [gp_fit()]. Distances of such points in longitudes and latitudes
#' are chords, in kilometres. A separate formula for locations is an error. If gstat is attached later than kernweave,
#' write `kernweave::variogram()`.
#'
#' @param x what [gp_fit()] returned, or a formula, response ~ inputs, as in [gp_fit()]; for methods: a variogram
#' @param data,subset,na.action as in [gp_fit()]
#' @param trend a one-sided formula for the trend, as in [gp_fit()]
#' @param cutoff the largest distance; by default a third of the diagonal of the bounding box of the points
#' @param width the width of each class of distances, by default `cutoff / 15`
#' @param breaks upper ends of the classes, instead of `cutoff` and `width`; a first value of 0 changes nothing
#' @param alpha directions in degrees, clockwise from the second input (north) to the first (east), for two inputs;
#'   `NULL` for pairs in all directions
#' @param tol.hor the largest angle between a pair of points and a direction, in degrees. Pairs at exactly this angle
#'   are included; in gstat rounding decides
#' @param cressie use the robust estimate?
#' @param pairs the largest number of pairs to use
#' @param digits significant digits
#' @param ... for `plot()` and `lines()`: graphical parameters; otherwise not used
#' @return A data frame of class `c("kernweave_variogram", "gstatVariogram", "data.frame")` with a row per class of
#'   distances and direction: number of pairs `np`, mean distance `dist`, semivariance `gamma`, directions `dir.hor`
#'   and `dir.ver` (always 0), and `id`, `"var1"` as in gstat. `plot()` draws points whose areas grow with `np`, and the
#'   curve of a fit, up to twice the highest point; dashed lines mark the nugget and the length-scales that are below
#'   the cutoff. `lines()` adds the curve to a plot.
#' @references Cressie, N. and Hawkins, D. M. (1980) Robust estimation of the variogram. Mathematical Geology 12,
#'   115-125.
#' @seealso [gp_fit()], [autoplot-fits]
#' @concept semivariogram
#' @concept nugget, sill and range
#' @concept spatial correlation
#' @concept directional variogram
#' @export
#' @examples
#' # deeper from east to west: without the trend, the variogram would have no sill
#' variogram(depth ~ long + lat, quakes, trend = ~ long + lat, cutoff = 6)
#' # along and across the trench
#' plot(variogram(depth ~ long + lat, quakes, alpha = c(20, 110), tol.hor = 30))
#' # a fit, and its curve
#' some <- quakes[seq(1, 1000, by = 5), ]
#' fit <- gp_fit(depth ~ long + lat, some, trend = ~ long + lat, kernel = "matern32")
#' found <- variogram(fit)
#' found
#' plot(found)
variogram <- function(x, ...) UseMethod("variogram")

#' @export
variogram.default <- function(x, ...) {
  abort("input", "variogram() takes what gp_fit() returned, or a formula, not ", describe(x),
        if (inherits(x, c("gstat", "Spatial", "sf"))) "; gstat::variogram() is meant")
}

#' @rdname variogram
#' @export
variogram.formula <- function(x, data = NULL, trend = ~ 1, subset = NULL, na.action = NULL, cutoff = NULL,
                              width = cutoff / 15, breaks = NULL, alpha = NULL, tol.hor = 90 / max(1, length(alpha)),
                              cressie = FALSE, pairs = 2e7, ...) {
  refuse_gstat(x, data, names(list(...)))
  refuse_more(...)
  placed <- sf_formula(x, data)
  x <- placed$formula
  data <- placed$data
  trend <- trend_variables(trend, framed(data), if (length(x) == 3) all.vars(x[[2]]))
  if (length(trend$groups)) {
    abort("unsupported", "a variogram has no grouped effects: variogram(gp_fit(..., trend = ", deparse1(trend$formula),
          ")) has the curve of a fit with them")
  }
  found <- formula_inputs(x, data, na.action, NULL, substitute(subset), beside = trend$frame)
  placed <- variogram_points(found$inputs, placed$places)
  points <- placed$points
  y <- check_response(found$left, nrow(points))
  if (ncol(y) > 1) abort("unsupported", "a variogram is of one response, not of ", ncol(y))
  columns <- trend_columns(trend, found$beside, nrow(points))
  left <- trend_residuals(columns$F, as.vector(y) - columns$offset)
  about <- list(formula = x, trend = trend$formula, na.action = found$inputs$na.action, seed = fit_control()$seed,
                distances = placed$distances)
  variogram_of(points, left, variogram_ends(points, cutoff, if (!missing(width)) width, breaks),
               variogram_directions(points, alpha, if (!missing(tol.hor)) tol.hor), cressie, pairs, about)
}

#' @rdname variogram
#' @rawNamespace S3method(gstat::variogram, gp_fit)
#' @export
variogram.gp_fit <- function(x, cutoff = NULL, width = cutoff / 15, breaks = NULL, alpha = NULL,
                             tol.hor = 90 / max(1, length(alpha)), cressie = FALSE, pairs = 2e7, ...) {
  refuse_more(...)
  refuse_responses(x, "variogram()", "variogram(response ~ inputs, data) has that of each")
  if (!is.null(x$family)) {
    abort("unsupported", "the covariance of a family other than gaussian() is that of the linear predictor, which is ",
          "not observed; variogram(response ~ inputs, data) is that of the response")
  }
  points <- x$data$x
  about <- list(formula = x$formula, trend = x$trend$formula, na.action = x$na.action, seed = x$control$seed, fit = x,
                distances = distances_of(x))
  rows <- x$data$rows
  left <- if (is.null(x$model)) x$data$y  # trend residuals of the stored response, if there is one
          else trend_residuals(x$regressors$F[rows, , drop = FALSE],
                               (as.vector(x$model[[1]]) - x$regressors$offset)[rows])
  variogram_of(points, left, variogram_ends(points, cutoff, if (!missing(width)) width, breaks),
               variogram_directions(points, alpha, if (!missing(tol.hor)) tol.hor), cressie, pairs, about)
}

# Returns the points between which distances are computed (sf longitudes and latitudes: on a sphere), and axis labels.
variogram_points <- function(inputs, places) {
  if (isTRUE(places$longlat) && places$name %in% inputs$names) {
    tell_of_chords(earth_radius)
    points <- on_sphere(unname(strip_term(inputs$x)), earth_radius)
    return(list(points = points, distances = list(label = "distance, km")))
  }
  points <- strip_term(without_constants(inputs)$x)
  list(points = unname(points), distances = distances_between(points, colnames(points)))
}

# Returns least-squares residuals. With a constant trend equal responses have exactly equal residuals: a rounding error
# of 1e-13 would affect robust estimates, which take its root.
trend_residuals <- function(F, y) {
  if (ncol(F) == 1 && all(F == 1)) y - mean(y) else orthonormal_trend(F, y)$left
}

# --- arguments ----------------------------------------------------------------------------------------------

# Arguments of gstat::variogram() that do not exist here.
gstat_arguments <- c("locations", "cloud", "covariogram", "map", "g", "beta", "projected", "PR", "dX", "tol.ver",
                     "boundaries", "object")

refuse_gstat <- function(formula, data, more) {
  theirs <- intersect(more, gstat_arguments)
  spatial <- inherits(data, c("formula", "ST", "stars"))
  no_places <- !length(all.vars(formula[[length(formula)]])) && !inherits(as_sf(data), "sf")
  if (!length(theirs) && !spatial && !no_places) return(invisible())
  abort("input", "variogram() takes response ~ inputs and a data frame, the trend by itself, as in ",
        "variogram(depth ~ long + lat, quakes, trend = ~ long); here ",
        if (length(theirs)) paste0("`", theirs[1], "` is given")
        else if (spatial) paste("`data` is", describe(data)) else "the right side names no inputs",
        "; gstat::variogram() is meant", if ("boundaries" %in% theirs) ", or `breaks`")
}

# Returns the bounds of the distance classes, from 0.
variogram_ends <- function(x, cutoff, width, breaks) {
  check_span(x, 1e150)
  if (!is.null(breaks)) {
    if (!is.null(cutoff) || !is.null(width)) abort("input", "`breaks` is given, and `cutoff` or `width`, too")
    if (!is.numeric(breaks)) abort("input", "`breaks` must be numbers, not ", describe(breaks))
    ends <- c(0, if (isTRUE(breaks[1] == 0)) breaks[-1] else breaks)
    if (length(ends) < 2 || !all(is.finite(ends)) || any(diff(ends) <= 0)) {
      abort("value", "`breaks` must be increasing, positive and finite distances")
    }
    return(as.vector(ends, "double"))
  }
  cutoff <- positive_number(cutoff %or% (sqrt(sum(spans_of(x)^2)) / 3), "cutoff")
  width <- positive_number(width %or% (cutoff / 15), "width")
  if (width > cutoff || cutoff / width > 1e5) {
    abort("value", "`width` must be between a hundred-thousandth of `cutoff`, ", format(cutoff), ", and that, not ",
          format(width))
  }
  inner <- width * seq_len(ceiling(cutoff / width * (1 - 1e-9)) - 1)
  c(0, inner, cutoff)
}

# Returns directions and their tolerance in degrees; NULL for all directions.
variogram_directions <- function(x, alpha, tol) {
  if (is.null(alpha)) {
    if (!is.null(tol)) abort("input", "`tol.hor` is given, and no direction `alpha`")
    return(NULL)
  }
  if (!is.numeric(alpha) || !length(alpha) || !all(is.finite(alpha))) {
    abort("value", "`alpha` must be numbers of degrees, not ", format_value(alpha))
  }
  if (ncol(x) != 2) abort("shape", "directions (`alpha`) are for two inputs, not for ", ncol(x))
  tol <- positive_number(tol %or% (90 / length(alpha)), "tol.hor")
  if (tol > 90) abort("value", "`tol.hor` must be at most 90 degrees, not ", format(tol))
  list(alpha = as.vector(alpha, "double"), tol = tol)
}

# --- pairs --------------------------------------------------------------------------------------------------

variogram_of <- function(x, r, ends, directions, cressie, pairs, about) {
  check_flag(cressie, "cressie")
  if (!(is.numeric(pairs) && length(pairs) == 1 && isTRUE(pairs >= 1))) {
    abort("value", "`pairs` must be a number of at least 1, or Inf, not ", format_value(pairs))
  }
  n <- nrow(x)
  rows <- if (n * (n - 1) / 2 > pairs) rows_for_estimate(x, max(2, floor(sqrt(2 * pairs))), about$seed)
  if (!is.null(rows)) {
    x <- x[rows, , drop = FALSE]
    r <- r[rows]
  }
  sums <- sums_of_pairs(x, r, ends, directions, cressie)
  table <- do.call(rbind, Map(semivariances, sums, directions$alpha %or% 0, cressie))
  if (!nrow(table)) {
    abort("data", "no two rows are within ", format(max(ends)), " of each other",
          if (!is.null(directions)) " in these directions", ": give a larger `cutoff`")
  }
  about <- c(about[setdiff(names(about), "fit")],
             list(n = n, rows = length(r), cressie = cressie, ends = ends, directions = directions,
                  fitted = if (!is.null(about$fit)) fitted_variogram(about$fit, max(ends), directions)))
  structure(table, class = c("kernweave_variogram", "gstatVariogram", "data.frame"), about = about,
            direct = data.frame(id = factor("var1"), is.direct = TRUE), boundaries = ends[-1], pseudo = 0,
            what = if (cressie) "Cressie's semivariance" else "semivariance")
}

# Returns a matrix for each direction, with a row for each class: the number of pairs, and sums of distances and
# differences. Blocks of half a million pairs fit into the cache.
sums_of_pairs <- function(x, r, ends, directions, cressie) {
  n <- nrow(x)
  classes <- length(ends) - 1
  sums <- rep(list(matrix(0, classes, 3)), max(1, length(directions$alpha)))
  step <- max(1, 5e5 %/% n)
  cells <- class_cells(ends)
  firsts <- seq(1, n - 1, by = step)
  begin_work("variogram()", steps = length(firsts), quicker = "a smaller `pairs`")
  on.exit(end_work("variogram()"))
  for (first in firsts) {
    rows <- first:min(n, first - 1 + step)
    found <- pairs_within(x, rows, max(ends))
    difference <- of_pairs(found, rows, r, abs)
    difference <- if (cressie) sqrt(difference) else difference^2
    bin <- classes_of(found$d, ends, cells)
    offsets <- if (isTRUE(directions$tol < 90)) lapply(1:2, function(k) of_pairs(found, rows, x[, k], identity))
    for (k in seq_along(sums)) {
      # Pairs at distance 0 belong to every direction. Pairs exactly at the tolerance, such as diagonals of a grid,
      # belong to both directions, up to rounding.
      unit <- direction_of(directions$alpha[k] %or% 0)
      along <- if (!is.null(offsets)) abs(offsets[[1]] * unit[1] + offsets[[2]] * unit[2])
      chosen <- if (!is.null(along)) which(along >= (cos(directions$tol * pi / 180) - 1e-12) * found$d)
      sums[[k]] <- sums[[k]] + class_sums(bin, found$d, difference, chosen, classes)
    }
    step_work("variogram()")
  }
  sums
}

# Returns a lookup table, which halves the time: the class of each of 4096 cells of distance, NA near a class end.
class_cells <- function(ends, count = 4096) {
  unit <- ends[length(ends)] / count
  class <- function(d) .bincode(pmax(d, 0), c(ends, Inf), right = TRUE, include.lowest = TRUE)
  first <- class(unit * (-1:(count - 1)))
  list(unit = unit, class = ifelse(first == class(unit * (2:(count + 2))), first, NA))
}

classes_of <- function(d, ends, cells) {
  class <- cells$class[as.integer(d / cells$unit + 1)]
  open <- which(is.na(class))
  class[open] <- .bincode(d[open], ends, right = TRUE, include.lowest = TRUE)
  class
}

# Returns pairs of `rows` with later rows, up to the distance `most`: indices of the distance matrix, and distances.
pairs_within <- function(x, rows, most) {
  D <- as.matrix(sqrt(sqdist(Vi(x[rows, , drop = FALSE]), Vj(x[rows[1]:nrow(x), , drop = FALSE]))))
  at <- which(D <= most)
  m <- length(rows)  # above the diagonal in the first m columns
  own <- seq_len(sum(D[seq_len(m^2)] <= most))
  above <- (at[own] - 1) %% m < (at[own] - 1) %/% m
  at <- c(at[own][above], at[-own])
  list(at = at, d = D[at])
}

# Evaluates f at the differences of a variable, for these pairs.
of_pairs <- function(found, rows, v, f) as.matrix(f(Vi(v[rows]) - Vj(v[rows[1]:length(v)])))[found$at]

class_sums <- function(bin, d, difference, chosen, classes) {
  if (!is.null(chosen)) {
    bin <- bin[chosen]
    d <- d[chosen]
    difference <- difference[chosen]
  }
  sums <- function(v) if (length(v)) index_add(numeric(classes), bin, v) else numeric(classes)
  cbind(tabulate(bin, classes), sums(d), sums(difference))
}

direction_of <- function(alpha) c(sin(alpha * pi / 180), cos(alpha * pi / 180))

semivariances <- function(sums, alpha, cressie) {
  sums <- sums[sums[, 1] > 0, , drop = FALSE]
  np <- sums[, 1]
  mean <- sums[, 3] / np
  data.frame(np = np, dist = sums[, 2] / np, gamma = if (cressie) mean^4 / (0.457 + 0.494 / np) / 2 else mean / 2,
             dir.hor = rep(alpha, length(np)), dir.ver = numeric(length(np)),
             id = factor(rep("var1", length(np)), levels = "var1"))
}
