# Choices made on a sample of rows before a Gaussian process is fitted to all: kernel, starting values, approximation.

#' Estimation of Gaussian processes
#'
#' How [gp_fit()] estimates covariance parameters, within which bounds, and what it does with many rows.
#'
#' @section Parameters:
#' All parameters except the direction of axes are positive and are estimated on the log scale. The optimiser takes
#' average-information steps (Gilmour, Thompson and Cullis, 1995) from the best of several starts on at most 300 rows.
#' With more than 2400 rows, it starts from a fit to one eighth of the rows (half chosen at random, half their nearest
#' neighbours), which starts in the same way. The full likelihood is then evaluated only two to four times.
#'
#' Beyond `control$dense_n` rows the gradient of the likelihood is estimated with random probes: four in the first
#' steps, all `probes` of [fit_control()] in the last ones. The element `convergence$noise` of the fit is the standard
#' deviation of an estimate due to the probes, divided by the standard error of the estimate: typically less than 0.1.
#' If it is more than 0.2, the number of probes is doubled; if it is still more than 0.2, there is a warning. Rows are
#' sorted by their inputs before probes and samples are drawn, so that estimates do not depend on the order of rows.
#'
#' Length-scales stay between a tenth of the shortest distance and ten times the diagonal of the points' bounding box
#' (with a scale for each input, 100 times the range of the input). If an estimate ends on a bound, you get a warning of
#' class `kernweave_warning_boundary`, or a message if the scale of one of several inputs is long, since the response
#' changes along a line with that input, or not at all. If the scale ends on its upper bound, or all points are equally
#' far apart, as levels of one factor are, variance and scale cannot be told apart, and have no confidence limits.
#' [fit_control()] sets other bounds, `lower = c(scale = 2)`, and starting values of the same form, `start = c(scale =
#' 2)`, which replace the search for starting values.
#'
#' The nugget has a lower bound: 1e-12 times the number of rows times the variance of the response. Beyond
#' `control$dense_n` rows it is at least 1e-8 times that variance, unless a Matern kernel is fitted by series. If it
#' ends at this bound, the data show no noise, and the fit is repeated with a tenth of the bound. If another estimate
#' moves by more than 0.1 standard errors, the bound is lowered further while the covariance matrix stays positive
#' definite. A message reports the effect of the last reduction; the warning comes only if other estimates depend on it.
#'
#' @section Many rows:
#' With up to `control$dense_n` rows the covariance matrix is factored. With more rows the matrix is never formed: the
#' same quantities come from matrix-vector products, and the log-determinant has a standard error.
#'
#' With `estimate_on`, the covariance parameters are estimated on `estimate_on` rows, half random, half their nearest
#' neighbours. The process is then fitted to all rows. `logLik()` computes the log-likelihood of all rows on request.
#'
#' Products are exact or by series, see [approximate()]. Series are used for the likelihood, the linear systems and the
#' means of `predict()`. Their tolerance depends on the nugget. A million points in two dimensions take minutes.
#'
#' By default (`approximate = "auto"` of [fit_control()]) series are used from 5000 rows on in one or two dimensions,
#' and from 20 000 rows on in three, if the kernel is a function of a single distance and the nugget is large enough.
#' `print()` shows the relative error of a product: "by series to 2e-07". Means of predictions have a larger error, of
#' some hundredths of their standard errors. `fit_control(approximate = FALSE)` asks for exact products.
#'
#' With series, standard errors of predictions are computed from the observations nearest to each point, see
#' [predict.gp_fit()]. Estimates on a subset of at most 3000 rows still use exact products.
#'
#' @section Panels:
#' Data in which each place is observed once at each time are a panel. If the kernel is a product of a kernel of the
#' place and a kernel of the time (`of` of [kernel_spec()]), the covariance matrix without the noise is a Kronecker
#' product, and the eigenvectors of both kernel matrices give those of the whole matrix. The likelihood, predictions,
#' standard errors, leave-one-out residuals and draws are then exact for any number of rows, and the matrix of all rows
#' is never formed. With 900 places and 100 times a likelihood takes 1 to 2 s.
#'
#' Beyond `control$dense_n` rows `gp_fit()` finds panels by counting the distinct places and times; the order of the
#' rows does not matter, and instead of places and times there may be any two sets of inputs. `print()` shows "a panel
#' of 900 x 100". The response must be normal, weights must be equal, and there must be no grouped effects. Each side
#' may have 1000 distinct points or, if that is more, a tenth of the number of rows, but not more than 3000. If a value
#' is missing, or if the kernel is a sum or is not separable, the fit uses products.
#'
#' [cross_validate()] does without refits for panels of up to 3000 rows. With more rows it is fast if each fold consists
#' of whole places or whole times, since the other rows are then a panel.
#'
#' @section Likelihoods:
#' `logLik()` is defined as for [nlme::gls()]. The restricted likelihood leaves out the term in `log|F'F|`: do not
#' compare restricted likelihoods, or their AIC, between different trends; use `method = "ML"` for that. Beyond
#' `control$dense_n` rows `logLik()` has an attribute `std.error`.
#' @references Gilmour, A. R., Thompson, R. and Cullis, B. R. (1995) Average information REML. Biometrics 51, 1440-1450.
#' @seealso [gp_fit()]; [profile.gp_fit()] for likelihoods around the estimates; [fit_control()]
#' @concept restricted maximum likelihood
#' @concept average information
#' @concept space-time panel, Kronecker product
#' @name gp_fit-estimation
NULL

# --- the kernel ---------------------------------------------------------------------------------------------

# The kernels of kernel = "auto", from rough to smooth.
kernels_to_choose <- c("matern12", "matern32", "matern52")

# Returns a kernel; for "auto", a Matern 3/2 kernel that is marked as undecided.
gp_kernel <- function(kernel) {
  if (!identical(kernel, "auto")) return(kernel_spec(kernel))
  parts <- kernel_parts(kernel_spec("matern32"))
  parts$undecided <- TRUE
  new_kernel(parts)
}

# Replaces the kernel of a model by another with the same inputs and parameters.
with_kernel <- function(model, name) {
  model$kernel <- map_leaves(model$kernel, function(part) {
    part[c("name", "title")] <- list(name, kernel_rows[[name]]$title)
    part$undecided <- NULL
    part
  })
  model
}

rows_of_start <- 300

# A kernel whose log-likelihood on a sample is lower by more than this is not tried on the next, larger sample.
worse_by_far <- c(10, 3, 3)

# Chooses the kernel of largest likelihood: all kernels on 300 rows, then kernels near the best on larger samples; and
# whether inputs have one scale, one scale in units of `rule`, or each its own, by BIC on the 300 rows.
chosen_kernel <- function(model, rule) {
  few <- few_of_model(model, rows_of_start)
  all <- list(one = searched_kernels(few))
  if (!is.null(rule)) all$standardized <- searched_kernels(with_units(few, rule), most = 2)
  if (takes_scales(few)) all$each <- searched_kernels(with_scales(few), most = 2, goal = 1)
  scales <- if (length(all) > 1) compared_scales(all)
  found <- all[[scales_of(scales)]]
  model <- with_scales_of(model, scales, rule)
  # A close choice among many rows is made on an eighth of the rows, on which the estimation would start anyway: on 600
  # of a million rows of a Matern 3/2 field with noise, 5/2 was 1.4 better.
  n <- nrow(model$x)
  samples <- pmin(n, c(600, 1500, min(12000, n %/% 8)))
  for (k in seq_along(samples)) {
    table <- found$table
    near <- table$kernel[table$worse < worse_by_far[k]]
    if (length(near) == 1 || samples[k] <= found$rows) break
    found <- climbs_of(few_of_model(model, samples[k]), lapply(found$states[near], function(at) list(at$theta)),
                       goal = 1)
    table[match(near, table$kernel), ] <- found$table
    found$table <- table
  }
  c(found, list(scales = scales))
}

# Compares all kernels on the rows of a model. Maxima are searched for with one kernel; the others start from these,
# since similar parameters fit them.
searched_kernels <- function(model, most = 3, goal = 0.1) {
  ends <- gp_ends(with_kernel(model, kernel_of_search), gp_bounds(model), most, goal)
  climbs_of(model, lapply(stats::setNames(nm = kernels_to_choose), function(name) ends), goal)
}

# Compares the scales of inputs by half of BIC.
compared_scales <- function(all) {
  value <- vapply(all, function(one) max(one$table$logLik) - length(one$state$theta) / 2 * log(one$rows), 0)
  data.frame(scales = names(all), BIC = -2 * unname(value), rows = all[[1]]$rows, worse = unname(max(value) - value))
}

# Returns the scales with the smallest BIC: "one" if there was no choice, or if no likelihood is finite.
scales_of <- function(scales) c(scales$scales[which.min(scales$worse)], "one")[1]

with_scales_of <- function(model, scales, rule) {
  switch(scales_of(scales), each = with_scales(model), standardized = with_units(model, rule), model)
}

# Divides the inputs by the units of a rule, with one scale, which starts at the median distance.
with_units <- function(model, rule) {
  model$x <- model_points(rule, model$x)
  model$rule <- rule
  model$values$kernel$scale <- start_scale(model$x)
  model
}

# Returns the units of standardized inputs, if a model may have them: of two inputs or more that are not the coordinates
# of a map and whose standard deviations differ by more than a factor of 2.
rule_of_choice <- function(model) {
  if (!is.null(model$standardize) || !has_open_scale(model)) return(NULL)
  rule <- standardized_rule(NULL, model$x)
  if (max(rule$width) > 2 * min(rule$width)) rule
}

# Tells whether there are two inputs or more that are not the coordinates of a map, with one scale without a given start
# or bound.
has_open_scale <- function(model) {
  on_map <- model$on_map || identical(sort(kinds_of_degrees(model$labels)), c(1, 2))
  given <- vapply(model$control[c("start", "lower", "upper")], function(one) {
    !is.null(one) && "scale" %in% (names(one) %or% "scale")
  }, NA)
  max(model$term) > 1 && !on_map && is.null(model$rule) && sum(model$layout$name == "scale") == 1 && !any(given)
}

# Tells whether the inputs of a model may have scales of their own: up to twenty inputs with ten rows for each.
takes_scales <- function(model) {
  inputs <- max(model$term)
  has_open_scale(model) && inputs <= 20 && nrow(model$x) >= 10 * inputs
}

# Gives each input of a model a scale, which starts at the median distance of the input.
with_scales <- function(model) {
  start <- input_scales(model)
  layout <- model$layout[rep(seq_len(nrow(model$layout)), ifelse(model$layout$name == "scale", length(start), 1)), ]
  rownames(layout) <- NULL
  scale <- layout$name == "scale"
  layout$label[scale] <- paste0("scale.", model$labels)
  layout$index[scale] <- seq_along(start)
  model$layout <- layout
  model$values$kernel$scale <- replace(start, start == 0, 1)  # an input may be constant on few rows
  model$kernel <- map_leaves(model$kernel, function(part) replace(part, "ard", TRUE))
  model
}

kernel_of_search <- "matern32"

# Compares kernels by their maximal likelihoods on the rows of `few`. `starts`: a list of starting values for each
# kernel. A climb ends `goal` standard errors from the maximum; the remaining gain, decrement^2 / 2, is added.
climbs_of <- function(few, starts, goal = 0.1) {
  bounds <- gp_bounds(few)
  climbs <- lapply(stats::setNames(nm = names(starts)), function(name) {
    one <- with_kernel(few, name)
    each <- lapply(starts[[name]], function(start) gp_climb(one, within_bounds(start, one, bounds), bounds, goal))
    each[[which.max(vapply(each, function(climb) climb$state$value, 0))]]
  })
  states <- lapply(climbs, `[[`, "state")
  top <- vapply(climbs, function(one) one$state$value + if (is.finite(one$decrement)) one$decrement^2 / 2 else 0, 0)
  top[is.na(top)] <- -Inf
  best <- names(starts)[which.max(top)]
  table <- data.frame(kernel = names(starts), logLik = unname(top), rows = nrow(few$x), worse = unname(max(top) - top))
  list(kernel = best, state = states[[best]], states = states, rows = nrow(few$x), table = table)
}

# Returns some rows of a model: dense, or with few probes if a factorisation would take too long.
few_of_model <- function(model, rows) {
  few <- some_of_model(model, rows)
  if (rows > few_rows) return(climbing(with_products_settled(few)))
  few$dense <- TRUE
  few$control["approximate"] <- list(NULL)
  few
}

# "a scale for each input chosen by BIC: one scale is 62 worse, on 300 rows"
scales_text <- function(chosen) {
  texts <- c(one = "one scale", standardized = "one scale of standardized inputs", each = "a scale for each input")
  best <- match(scales_of(chosen), chosen$scales)
  worse <- paste(texts[chosen$scales[-best]], "is", format(round(chosen$worse[-best]), trim = TRUE), "worse")
  paste0(texts[[chosen$scales[best]]], " chosen by BIC: ", paste(worse, collapse = ", "), ", on ",
         format(chosen$rows[1], big.mark = ",", trim = TRUE), " rows")
}

# "smoothness 1/2 by likelihood: 3/2 is 21 worse, 5/2 is 33 worse, on 300 rows"
choice_text <- function(chosen) {
  short <- function(name) sub("^Matern ", "", kernel_rows[[name]]$title)
  best <- which.min(chosen$worse)
  others <- chosen[-best, ]
  worse <- vapply(others$worse, function(one) if (is.finite(one)) format(round(one, one < 9.95)) else "far", "")
  each <- paste0(vapply(others$kernel, short, ""), " is ", worse, " worse")
  rows <- paste("on", format(others$rows, big.mark = ",", trim = TRUE), "rows")
  each <- if (length(unique(rows)) == 1) paste0(paste(each, collapse = ", "), ", ", rows[1])
          else paste(each, rows, collapse = ", ")
  paste0("smoothness ", short(chosen$kernel[best]), " chosen by likelihood: ", each)
}

# --- the start ----------------------------------------------------------------------------------------------

# Chooses the kernel of a model, its `begun` (starting values from a sample of rows), and, if the settings leave it
# open, whether products are approximated.
begun_model <- function(model, rows) {
  estimated <- nrow(model$layout) && model$values$variance > 0
  open <- isTRUE(kernel_parts(model$kernel)$undecided)
  if (estimated && (open || !model$dense)) {
    part <- model_rows(model, rows)
    if (open) {
      rule <- rule_of_choice(model)
      begun <- chosen_kernel(part, rule)
      model <- with_kernel(with_scales_of(model, begun$scales, rule), begun$kernel)
      model[c("begun", "chosen", "chosen_scales")] <- list(begun, begun$table, begun$scales)
    } else {
      few <- few_of_model(part, rows_of_start)
      model$begun <- list(state = list(theta = gp_start(few, gp_bounds(few))), rows = nrow(few$x))
    }
  }
  if (open && !estimated) model <- with_kernel(model, kernel_parts(model$kernel)$name)
  tell_of_ranges(model)
  with_products_settled(model)
}

# Returns values near the estimates.
begun_values <- function(model) {
  if (is.null(model$begun)) model$values else gp_values(model$values, model$layout, model$begun$state$theta)
}

# --- products -----------------------------------------------------------------------------------------------

# The numbers of rows from which series are faster than all pairs, in one, two and three dimensions.
rows_for_series <- c(5000, 5000, 20000)

with_products_settled <- function(model) {
  if (is_auto(model$control)) model$control["approximate"] <- list(if (pays_series(model)) TRUE)
  model
}

pays_series <- function(model) {
  n <- length(model$y)
  D <- ncol(model$x)
  if (model$dense || D > 3 || n < rows_for_series[D]) return(FALSE)
  values <- begun_values(model)
  few <- few_of_model(model, 100)
  K <- gp_pairs(few, gp_numbers(few, values))
  # An estimated nugget stays large enough for the accuracy of series; a given nugget may be too small.
  bears <- any(model$layout$part == "nugget") || !asked_of(model)$nugget ||
    tolerance_for(gp_noise(model, values), values$variance * max(diag(K)), n) >= tolerances[["least"]]
  bears && takes_series(K)
}

takes_series <- function(K) {
  tryCatch({
    approximate(K)
    TRUE
  }, kernweave_error = function(e) FALSE)
}
