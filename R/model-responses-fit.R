# Fits of several responses of a Gaussian process: checks, the stacked fit, and the conversion to the user's units.

most_responses <- 10

# Checks a matrix of responses, in which single numbers may be missing.
check_responses <- function(y, n) {
  if (is.data.frame(y) && !all(vapply(y, is.numeric, NA))) {
    abort("input", "the responses must be numbers, and `", names(y)[!vapply(y, is.numeric, NA)][1], "` is ",
          describe(y[[which(!vapply(y, is.numeric, NA))[1]]]))
  }
  y <- as.matrix(y)
  if (!is.numeric(y)) abort("input", "the responses must be numbers, not ", describe(y))
  if (nrow(y) != n) abort("shape", "the responses have ", counted(nrow(y), "row"), ", and the inputs have ", n)
  if (ncol(y) > most_responses) {
    abort("unsupported", "there are ", ncol(y), " responses, and at most ", most_responses, " are fitted together: ",
          "their covariances alone are ", choose(ncol(y) + 1, 2), " parameters; fit some of them, or each alone")
  }
  storage.mode(y) <- "double"
  names <- colnames(y) %or% rep("", ncol(y))
  colnames(y) <- make.unique(ifelse(nzchar(names), names, paste0("y", seq_len(ncol(y)))))
  wrong <- which(is.infinite(y), arr.ind = TRUE)
  if (length(wrong)) abort("value", "the response `", colnames(y)[wrong[1, 2]], "` is infinite in row ", wrong[1, 1])
  empty <- colSums(!is.na(y)) == 0
  if (any(empty)) abort("data", "the response `", colnames(y)[empty][1], "` has no number at all; leave it out")
  y
}

# Finds the unit of each response: the residual sd of its trend.
units_of_responses <- function(y, trend) {
  vapply(colnames(y), function(name) {
    rows <- which(!is.na(y[, name]))
    F <- trend$F[rows, , drop = FALSE]
    if (length(rows) < ncol(F) + 2) {
      abort("data", "the response `", name, "` has ", counted(length(rows), "number"), ", too few for a trend of ",
            counted(ncol(F), "coefficient"))
    }
    of <- y[rows, name] - trend$offset[rows]
    left <- if (ncol(F)) qr.resid(qr(F), of) else of
    unit <- sqrt(sum(left^2) / (length(rows) - ncol(F)))
    if (unit <= 450 * .Machine$double.eps * sqrt(mean(of^2))) {
      abort("data", "apart from the trend the response `", name, "` is constant: there is nothing to estimate")
    }
    unit
  }, 0)
}

# Stacks inputs: `row` is the row of the data for each element of the responses.
stacked_inputs <- function(inputs, row) {
  inputs$x <- structure(inputs$x[row, , drop = FALSE], term = attr(inputs$x, "term"))
  inputs
}

# --- the fit ------------------------------------------------------------------------------------------------------

#' @export
gp_of_family.gp_several <- function(inputs, placed, y, trend, settings, weights, call) {
  n <- nrow(inputs$x)
  y <- check_responses(y, n)
  if (length(trend$groups)) {
    abort("unsupported", "grouped effects beside several responses are not built; fit each response alone, or take ",
          "kernel_spec(\"same\", of = ) as a part of the kernel")
  }
  weights <- fit_weights(weights, n)
  unit <- units_of_responses(y, trend)
  seen <- which(!is.na(y))
  row <- row(y)[seen]
  code <- col(y)[seen]
  settings <- settings_of_responses(settings, unit)
  settings$responses$row <- row
  for (k in which(settings$nugget == 0)) {
    twins <- row[code == k][coincident_rows(placed$x[row[code == k], , drop = FALSE])]
    if (length(twins)) {
      abort("data", "rows ", twins[1], " and ", twins[2], " coincide, and the nugget of `", colnames(y)[k], "` is 0; ",
            "estimate it (`nugget = NULL`)")
    }
  }
  stacked <- stacked_trend(trend, row, code, unit)
  response <- y[seen] / unit[code]
  model <- gp_model(stacked_inputs(placed, row), response, stacked, settings, weights[row])
  check_gp_data(model, settings, inputs)
  found <- gp_fitted(model, settings)
  fit <- gp_object(found, stacked_inputs(inputs, row), matrix(response), stacked, settings, weights[row], call)
  as_responses(fit, inputs, y, trend, weights, cbind(row, code))
}

# Converts a stacked fit to a fit of several responses in their units. `cells`: row and column of each element.
as_responses <- function(fit, inputs, y, trend, weights, cells) {
  model <- fit$data
  unit <- model$unit
  values <- model$values
  out <- fit
  of_cells <- function(values) replace(0 * y, cells, values * unit[cells[, 2]])
  out[c("fitted.values", "residuals")] <- lapply(lapply(fit[c("fitted.values", "residuals")], of_cells), as_response, y,
                                                 inputs$x)
  B <- response_covariance(values$responses)$value * outer(unit, unit)
  out$variance <- structure(B, dimnames = list(names(unit), names(unit)))
  out$nugget <- values$nugget * unit^2
  out$sigma <- sqrt(out$nugget)
  by <- rep(unit, each = ncol(trend$F))
  out$coefficients <- fit$coefficients * by
  out$vcov <- fit$vcov * outer(by, by)
  out$x <- inputs$x
  out["weights"] <- list(weights)
  out$regressors <- trend[c("F", "offset")]
  # The nugget is 1 and the weights contain it, so that leave-one-out methods see one noise variance.
  model$w <- model$w / unname(values$nugget)[model$z[, 1]]
  model$values$nugget <- 1
  fit$nugget <- fit$sigma <- 1
  fit$data <- model
  fit["na.action"] <- list(NULL)
  out$stacked <- fit
  out$cells <- cells
  class(out) <- c("gp_responses", class(fit))
  out
}

# Returns the fit of stacked rows, for methods by rows.
stacked_fit <- function(fit) fit$stacked %or% fit

# Returns a stacked fit that predicts all responses at each place: the first response at all places, then the next one.
fit_of_places <- function(fit) {
  out <- fit$stacked
  out[c("x", "regressors", "response")] <- list(fit$x, fit$regressors, TRUE)
  out$nugget <- fit$data$values$nugget
  out
}

# Regressors and codes of all responses at places.
trend_of_places <- function(object, trend) {
  unit <- object$data$unit
  n <- nrow(trend$F)
  stacked_trend(trend, rep(seq_len(n), length(unit)), rep(seq_along(unit), each = n), unit)
}
