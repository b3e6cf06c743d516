# Classification and regression by nearest neighbours.

#' Classification and regression by nearest neighbours
#'
#' Predicts a factor by a vote among the `k` nearest observations, and a number by their mean. Use it as a benchmark for
#' many rows and any distance: it assumes only that near observations are alike.
#'
#' With `weights = "inverse"` the weight of an observation is the inverse of its distance; if any observations are at
#' distance 0, only these count. If several classes have the most votes, the prediction is the class with the nearest
#' observation, and at equal distances the first level. Nothing is random.
#'
#' `fitted()`, `residuals()` and `predict()` without `newdata` leave each observation out, since it would be its own
#' nearest neighbour. `criterion` is the share of errors of these predictions, or their mean squared residual. With `k =
#' NULL`, `k` is the number from 1 to 50 with the smallest criterion, the smallest such number if there are several. A
#' single search finds the neighbours for all numbers.
#'
#' The standard error of a mean is the standard deviation of the neighbours' responses, divided by `sqrt(k)`; with
#' weights, its weighted form. It ignores that the neighbours differ from the new observation in their inputs.
#'
#' @param x,y the inputs (a matrix, data frame or vector) and the response: a factor or texts for classification; a
#'   vector, or a matrix with one column per response, for regression. Or `x` a formula
#' @param data,subset,na.action for a formula: as in [stats::lm()]
#' @param k number of neighbours, or `NULL` to choose it by leave-one-out cross-validation
#' @param weights weights of the neighbours: `"equal"` or `"inverse"`
#' @param metric the distance, as in [knn()]
#' @param standardize standardise the inputs to standard deviation 1? Must be `FALSE` for `"hellinger"`, `"braycurtis"`,
#'   `"haversine"` and `"chordal"`. `FALSE` is the default for the geometry of points of the sf package
#' @param ... for `plot()`: more arguments of [graphics::plot()]; otherwise not used
#' @return An object of class `knn_fit`: `k`, `criterion`, `cv` (a data frame with the criterion for each `k`, if `k`
#'   was chosen), `fitted.values`, and for numbers `residuals`. `predict()`: a factor, a matrix with the share of the
#'   votes for each class, or numbers.
#' @seealso [knn()] for the neighbours themselves, [local_reg()] and [kernel_ridge()] for smooth regression
#' @concept k-nearest-neighbour classifier
#' @concept nearest-neighbour regression
#' @concept supervised classification
#' @export
#' @examples
#' fit <- knn_fit(Species ~ ., iris, k = NULL)
#' fit
#' table(fitted(fit), iris$Species)
#' predict(fit, iris[c(1, 71, 107), ], type = "prob")
#' plot(fit)
#' predict(knn_fit(dist ~ speed, cars), data.frame(speed = 10:12), se.fit = TRUE)
knn_fit <- function(x, ...) UseMethod("knn_fit")

#' @rdname knn_fit
#' @export
knn_fit.default <- function(x, y, k = 5, weights = c("equal", "inverse"), metric = "euclidean", standardize = TRUE,
                            ...) {
  refuse_more(...)
  check_given(y, "y")
  nearest_of(fit_matrix(x, y), y, k, weights, metric, standardize, match.call())
}

#' @rdname knn_fit
#' @export
knn_fit.formula <- function(x, data = NULL, k = 5, weights = c("equal", "inverse"), metric = "euclidean",
                            standardize = TRUE, subset = NULL, na.action = NULL, ...) {
  refuse_more(...)
  placed <- sf_formula(x, data)
  found <- formula_inputs(placed$formula, placed$data, na.action, NULL, substitute(subset))
  inputs <- c(found$inputs, list(places = placed$places))
  if (!is.null(placed$places) && missing(standardize)) standardize <- FALSE
  if (isFALSE(standardize)) tell_of_mixture(inputs$names, placed$places)
  if (isTRUE(placed$places$longlat) && missing(metric)) {
    metric <- "chordal"
    tell_of_chords(earth_radius)
  }
  nearest_of(inputs, found$left, k, weights, metric, standardize, match.call())
}

nearest_of <- function(inputs, y, k, weights, metric, standardize, call) {
  given <- tryCatch(weights[1], error = function(e) {
    abort("input", "`weights` is \"equal\" or \"inverse\", by which neighbours count, and rows have no weights; ",
          message_of(e))
  })
  weights <- choice_of(given, c("equal", "inverse"), "weights")
  metric <- as_metric(metric)
  check_flag(standardize, "standardize")
  if (standardize && metric$name %in% c("haversine", "chordal", "hellinger", "braycurtis")) {
    abort("input", "\"", metric$name, "\" has no meaning for standardized inputs: `standardize = FALSE` is needed")
  }
  if (standardize) inputs <- without_constants(inputs)
  n <- nrow(inputs$x)
  y <- classes_or_numbers(y, n)
  if (n < 2) abort("data", "neighbours need at least 2 rows, not ", n)
  most <- if (is.null(k)) min(50L, n - 1L) else check_count(k, "k")
  if (most > n - 1) {
    abort("value", "`k` is ", k, ", and each of ", counted(n, "row"), " has ", n - 1, " others to be neighbours")
  }
  units <- column_units(unname(strip_term(inputs$x)), rep(1, n), standardize)
  fit <- new_fit("knn_fit", call, inputs, y = y, units = units, weighting = weights, metric = metric,
                 standardize = standardize)
  found <- neighbours_of(fit, most, NULL)
  each <- loo_errors(fit, found)
  fit$k <- if (is.null(k)) which.min(each) else most
  fit$cv <- if (is.null(k)) data.frame(k = seq_len(most), criterion = each)
  fit$criterion <- each[fit$k]
  loo_values(fit, lapply(found, function(values) values[, seq_len(fit$k), drop = FALSE]))
}

# Returns a factor, or a matrix of numbers.
classes_or_numbers <- function(y, n) {
  if (is.data.frame(y) && ncol(y) == 1) y <- y[[1]]
  if (!is.factor(y) && !is.character(y)) return(check_response(y, n))
  if (length(y) != n) abort("shape", "the response has ", counted(length(y), "row"), ", and the inputs have ", n)
  if (anyNA(y)) {
    abort("data", "`response` has missing values ", in_rows_text(which(is.na(y))), "; na.omit() drops such rows")
  }
  if (is.character(y) && length(unique(y)) > n / 2) refuse_number_texts(y, "response", "")
  as.factor(y)
}

# Returns neighbours of places (of the fit's rows, without themselves, if `at` is NULL), in units of the fit.
neighbours_of <- function(fit, k, at) {
  x <- scaled_columns(unname(strip_term(fit$x)), fit$units)
  if (!is.null(at)) at <- scaled_columns(unname(strip_term(at)), fit$units)
  found <- knn(x, at, k = k, metric = if (fit$metric$name == "own metric") fit$metric$of else fit$metric$name)
  if (anyNA(found$nn.index)) abort("data", "`metric` leaves some points with fewer than ", counted(k, "neighbour"))
  list(index = unname(found$nn.index), dist = unname(found$nn.dist))
}

# Returns weights; observations at distance 0, if there are any, have all the weight.
neighbour_weights <- function(dist, weighting) {
  if (weighting == "equal") return(array(1, dim(dist)))
  w <- 1 / dist
  exact <- which(is.infinite(w[, 1]))
  w[exact, ] <- is.infinite(w[exact, ])
  w
}

# Computes leave-one-out errors by the first neighbour, the first two neighbours, and so on.
loo_errors <- function(fit, found) {
  w <- neighbour_weights(found$dist, fit$weighting)
  errors <- numeric(ncol(w))
  if (is.factor(fit$y)) {
    votes <- NULL
    for (place in seq_along(errors)) {
      votes <- with_votes(votes, fit, found, w, place)
      errors[place] <- mean(winner_of(votes) != as.integer(fit$y))
    }
    return(errors)
  }
  total <- 0
  sums <- 0
  for (place in seq_along(errors)) {
    total <- total + w[, place]
    sums <- sums + w[, place] * fit$y[found$index[, place], ]
    errors[place] <- mean((fit$y - sums / total)^2)
  }
  errors
}

loo_values <- function(fit, found) {
  if (is.factor(fit$y)) {
    fit$fitted.values <- as_classes(winner_of(class_votes(fit, found)), fit)
    names(fit$fitted.values) <- rownames(fit$x)
    return(fit)
  }
  own <- neighbour_means(fit, found)$fit
  fit$fitted.values <- as_response(own, fit$y, fit$x)
  fit$residuals <- as_response(fit$y - own, fit$y, fit$x)
  fit
}

# Weighted means and their standard errors, NA if there is one neighbour; with equal weights, errors of a plain mean.
neighbour_means <- function(fit, found) {
  w <- neighbour_weights(found$dist, fit$weighting)
  p <- w / rowSums(w)
  squares <- rowSums(p^2)
  each <- lapply(seq_len(ncol(fit$y)), function(column) {
    values <- matrix(fit$y[found$index, column], nrow(p))
    mean <- rowSums(p * values)
    spread <- rowSums(p * (values - mean)^2) / (1 - squares)
    list(fit = mean, se = sqrt(ifelse(squares < 1 - 1e-12, spread * squares, NA)))
  })
  lapply(list(fit = "fit", se = "se"), function(part) do.call(cbind, lapply(each, `[[`, part)))
}

# Adds the votes of one more neighbour: `sum` has a column for each class, `near` the distance of its nearest neighbour.
with_votes <- function(votes, fit, found, w, place) {
  if (is.null(votes)) {
    sum <- matrix(0, nrow(w), nlevels(fit$y), dimnames = list(NULL, levels(fit$y)))
    votes <- list(sum = sum, near = sum + Inf)
  }
  at <- cbind(seq_len(nrow(w)), as.integer(fit$y)[found$index[, place]])
  votes$sum[at] <- votes$sum[at] + w[, place]
  votes$near[at] <- pmin(votes$near[at], found$dist[, place])
  votes
}

class_votes <- function(fit, found) {
  w <- neighbour_weights(found$dist, fit$weighting)
  votes <- NULL
  for (place in seq_len(ncol(w))) votes <- with_votes(votes, fit, found, w, place)
  votes
}

# Returns the class with most votes; sums that differ by rounding are ties, which the nearer class wins.
winner_of <- function(votes) {
  most <- do.call(pmax, lapply(seq_len(ncol(votes$sum)), function(class) votes$sum[, class]))
  votes$near[votes$sum < most * (1 - 1e-12)] <- Inf
  max.col(-votes$near, ties.method = "first")
}

as_classes <- function(codes, fit) factor(levels(fit$y)[codes], levels(fit$y), ordered = is.ordered(fit$y))

# --- methods ------------------------------------------------------------------------------------------------

#' @rdname knn_fit
#' @param object,newdata for `predict()`: a fit, and new inputs; by default the inputs of the fit
#' @param type for a factor `"class"`, the default, or `"prob"`, the shares of votes; for numbers `"response"`
#' @param se.fit return standard errors? For numbers only
#' @export
predict.knn_fit <- function(object, newdata = NULL, type = NULL, se.fit = FALSE, ...) {
  refuse_more(...)
  if (is_raster(newdata)) return(over_cells(object, newdata, predict.knn_fit, type, se.fit))
  known <- if (is.factor(object$y)) c("class", "prob") else "response"
  type <- choice_of(type %or% known[1], known, "type")
  check_flag(se.fit, "se.fit")
  if (se.fit && type != "response") abort("unsupported", "standard errors are those of means, not of classes")
  x <- if (is.null(newdata)) object$x else new_points(object, newdata)
  q <- NCOL(object$y)
  found <- at_complete(x, function(at) {
    near <- neighbours_of(object, object$k, if (!is.null(newdata)) at)
    if (type == "response") return(do.call(cbind, neighbour_means(object, near)))
    votes <- class_votes(object, near)
    if (type == "class") winner_of(votes) else votes$sum / rowSums(votes$sum)
  })
  if (type == "class") {
    classes <- as_classes(found, object)
    names(classes) <- names(found)
    return(if (is.null(newdata)) stats::napredict(object$na.action, classes) else classes)
  }
  if (is.null(newdata)) found <- stats::napredict(object$na.action, found)
  if (type == "prob") return(found)
  shaped <- of_responses(found, x, colnames(object$y))
  if (se.fit) list(fit = shaped(seq_len(q)), se.fit = shaped(q + seq_len(q))) else shaped(seq_len(q))
}

#' @rdname knn_fit
#' @param digits significant digits
#' @export
print.knn_fit <- function(x, digits = 3, ...) {
  of_classes <- is.factor(x$y)
  title <- if (is.null(x$formula)) counted(ncol(x$x), "input") else deparse1(x$formula)
  say("Nearest-neighbour ", if (of_classes) "classification" else "regression", ", ", title, ", ",
      format(nrow(x$x), big.mark = ","), " points", if (of_classes) paste(" of", nlevels(x$y), "classes"), "\n")
  say("  k = ", x$k, if (is.null(x$cv)) " (given)" else " (leave-one-out)", ", ", x$weighting, " weights, ",
      x$metric$name, if (x$standardize) ", standardized inputs", "\n")
  say("  left out one by one: ", if (of_classes) paste(format(100 * x$criterion, digits = digits), "% errors")
      else paste("mean squared error", format(x$criterion, digits = digits)), "\n")
  cat(left_out_text(x$na.action))
  invisible(x)
}

#' @rdname knn_fit
#' @export
plot.knn_fit <- function(x, ...) drawn(x, plot_data(x), ...)

# Plots the criterion against k if k was chosen; else errors by class, or observed against fitted values.
#' @export
plot_data.knn_fit <- function(object, ...) {
  of_classes <- is.factor(object$y)
  label <- if (of_classes) "share of errors" else "mean squared error"
  if (!is.null(object$cv)) {
    return(picture("neighbours", label, curve = data.frame(x = object$cv$k, y = object$cv$criterion)))
  }
  if (of_classes) {
    wrong <- tapply(object$fitted.values != object$y, object$y, mean)
    return(bars_picture(as.vector(wrong), names(wrong), label))
  }
  refuse_many(ncol(object$y))
  observed_picture(object$fitted.values, object$y, response_name(object))
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.knn_fit <- function(x, ...) as_tidy(columns = x$cv %or% data.frame(k = x$k, criterion = x$criterion))

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.knn_fit <- function(x, ...) {
  as_tidy(nobs = nobs(x), k = x$k, weights = x$weighting, metric = x$metric$name, criterion = x$criterion)
}

#' @rdname tidy-fits
#' @exportS3Method generics::augment
#' @rawNamespace S3method(generics::augment, rbf_interpolate, augment.knn_fit)
augment.knn_fit <- function(x, data = NULL, newdata = NULL, ...) {
  refuse_more(...)
  out <- augmented_rows(x, data, newdata)
  out$.fitted <- unname(if (is.null(newdata)) x$fitted.values else predict(x, newdata))
  if (is.null(newdata)) out$.resid <- unname(x$residuals)  # NULL for classes
  as_tidy(columns = out)
}

#' @export
response_of.knn_fit <- function(fit) if (is.factor(fit$y)) fit$y else as.matrix(fit$y)

#' @export
refit_to.knn_fit <- function(fit, rows, again) {
  k <- if (again && !is.null(fit$cv)) NULL else min(fit$k, length(rows) - 1)
  metric <- if (fit$metric$name == "own metric") fit$metric$of else fit$metric$name
  inputs <- fit_matrix(strip_term(fit$x)[rows, , drop = FALSE])
  nearest_of(inputs, kept_rows(response_of(fit), rows), k, fit$weighting, metric, fit$standardize, fit$call)
}

#' @export
predicted_rows.knn_fit <- function(part, fit, out) {
  x <- strip_term(fit$x)[out, , drop = FALSE]
  if (is.factor(fit$y)) predict(part, x, type = "prob") else cbind(as.vector(predict(part, x)), NA)
}
