# The model of a Gaussian process: data without the trend, starting values, and checks of the data.

gp_model <- function(inputs, y, trend, settings, weights) {
  heavy <- which((weights %or% rep(1, length(y))) > 0)
  few <- min(settings$control$dense_n, settings$estimate_on)
  if (length(heavy) > few) {
    # Sort the rows, so that estimates do not depend on their order: iterative fits use landmarks, random signs and
    # samples by row number. Rows with equal inputs are sorted by their other variables.
    keys <- cbind(unname(strip_term(inputs$x)), y - trend$offset, weights, unname(trend$F), trend$z)
    keys <- do.call(cbind, c(list(keys), unname(trend$phi)))
    keys <- keys[heavy, , drop = FALSE]
    heavy <- heavy[do.call(order, c(lapply(seq_len(ncol(keys)), function(k) keys[, k]), method = "radix"))]
  }
  y <- unname(y - trend$offset)[heavy]
  basis <- if (is.null(settings$responses)) orthonormal_trend(trend$F[heavy, , drop = FALSE], y)
           else trends_of_responses(trend$F[heavy, , drop = FALSE], y, trend$z[heavy, ])
  x <- unname(strip_term(inputs$x))[heavy, , drop = FALSE]
  model <- list(x = x, y = basis$left, size = sum(y^2), w = weights[heavy] %or% rep(1, nrow(x)), Q = basis$Q,
                R = basis$R, log_R = basis$log_R, b = basis$b, term = attr(inputs$x, "term"), kernel = settings$kernel,
                method = settings$method, control = settings$control, dense = nrow(x) <= settings$control$dense_n,
                rows = heavy, rule = settings$rule, groups = trend$groups, z = trend$z[heavy, , drop = FALSE],
                unit = settings$responses$unit, stack = settings$responses$row, labels = term_labels(inputs),
                on_map = !is.null(inputs$places), standardize = settings$standardize)
  none <- identical(as.numeric(settings$variance), 0)
  if (!none && inherits(family_of(settings), "gp_gaussian")) model <- with_panel(model)
  if (none) model[c("dense", "control")] <- list(TRUE, replace(model$control, "approximate", list(NULL)))
  spread <- max(spread_of(model), 1e-300)
  numbers <- gp_start_numbers(settings, model, spread)
  # The nugget of a model without a process is the residual variance of a linear model.
  linear <- function() {
    alone <- replace(model, "groups", list(NULL))
    gp_weights(model, gp_system(alone, list(variance = 0, nugget = 1)))$form / gp_rows(model)
  }
  model$values <- list(variance = settings$variance %or% process_spread(model, spread), kernel = numbers$values,
                       nugget = settings$nugget %or% if (none) max(linear(), 1e-300) else spread / 10)
  if (length(model$groups)) {
    model$values$groups <- stats::setNames(group_start(model$groups, model$z, spread / 5), group_labels(model$groups))
  }
  if (!is.null(settings$responses)) {
    model$values <- values_of_responses(model, settings, c(process_spread(model, spread) / 2, spread / 10))
  }
  free <- c(if (is.null(settings$variance)) "variance", if (!none) numbers$free, if (length(model$groups)) "groups",
            if (is.null(settings$nugget)) "nugget")
  model$layout <- with_kernel_links(gp_layout(model$values, free, model$labels), settings$kernel)
  model
}

# The points of a model, with the columns of its groups, in the form of places of predictions.
model_places <- function(model) if (is.null(model$z)) model$x else cbind(model$x, model$z)

# Returns alpha in the order of the model's rows; fits store it in the order of the data.
model_alpha <- function(fit) {
  rows <- fit$data$rows
  if (is.null(rows) || !is.unsorted(rows)) fit$alpha else fit$alpha[order(order(rows))]
}

# Starting values of the kernel's open parameters: scales at the median distance, of each variable if `ard`.
gp_start_numbers <- function(settings, model, spread) {
  parts <- kernel_parts(settings$kernel)
  values <- parts$parameters[setdiff(names(parts$parameters), "variance")]
  free <- setdiff(parts$free, "variance")
  fixed <- Filter(function(name) is.null(values[[name]]), linear_scales(parts, parts$free, is.null(settings$variance)))
  values[fixed] <- 1
  free <- setdiff(free, fixed)
  if (parts$ard && "scale" %in% free && length(values$scale) == 1) values$scale <- rep(values$scale, max(model$term))
  for (name in names(values)[vapply(values, is.null, NA)]) {
    values[[name]] <- if (is_one_of(name, "variance")) process_spread(model, spread, name) / 2
    else if (!is_one_of(name, "scale")) start_between(kernel_ends(parts)[[name]], 1 - is_share(name, parts) / 2)
    else if (is.null(parts$op) && parts$ard) input_scales(model)
    else start_scale(points_of_scale(parts, name, model$x))
  }
  turned_numbers(list(values = values, free = free), parts)
}

input_scales <- function(model) {
  vapply(seq_len(max(model$term)), function(one) start_scale(model$x[, model$term == one, drop = FALSE]), 0)
}

# Returns the middle of two bounds, plus `share` of half their distance; `otherwise` if there are no bounds.
start_between <- function(ends, otherwise, share = 0) {
  if (is.null(ends)) otherwise
  else if (all(is.finite(ends))) mean(ends) + share * diff(ends) / 2
  else min(max(otherwise, ends[1]), ends[2])
}

# Names the scales of linear kernels that a free variance makes redundant, since both multiply the kernel.
linear_scales <- function(parts, free, multiplied) {
  if (is.null(parts$op)) return(if (parts$name == "linear" && (multiplied || "variance" %in% free)) "scale")
  inner <- lapply(parts$keys, function(keys) unname(keys[names(keys) %in% free]))
  unlist(lapply(1:2, function(k) {
    other <- 3 - k
    by_other <- parts$op == "*" &&
      (multiplied || scaled_by_parts(kernel_parts(parts$of[[other]]), inner[[other]], top = FALSE))
    keys <- parts$keys[[k]]
    names(keys)[match(linear_scales(kernel_parts(parts$of[[k]]), inner[[k]], by_other), keys)]
  }))
}

# Tells whether parameters of the parts of a sum or product multiply the whole.
scaled_by_parts <- function(parts, free, top = TRUE) {
  if (!top && "variance" %in% free) return(TRUE)
  if (is.null(parts$op)) return(FALSE)
  inner <- vapply(1:2, function(k) {
    keys <- parts$keys[[k]]
    scaled_by_parts(kernel_parts(parts$of[[k]]), unname(keys[names(keys) %in% free]), top = FALSE)
  }, NA)
  if (parts$op == "+") all(inner) else any(inner)
}

# Marks the columns of linear kernels and polynomials that are levels of factors.
with_levels <- function(kernel, inputs, rule) {
  if (!length(inputs$xlevels)) return(kernel)
  of <- attr(inputs$x, "term")
  names <- term_labels(inputs)
  map_leaves(kernel, function(part) {
    if (!part$name %in% c("linear", "polynomial") || !is.null(part$fun)) return(part)
    at <- if (is.null(rule)) seq_along(of) else columns_of_part(part, of, names)
    replace(part, "levels", list(names[of[at]] %in% names(inputs$xlevels)))
  })
}

spans_of <- function(x) apply(x, 2, function(v) diff(range(v)))

start_scale <- function(x) {
  tryCatch(median_scale(x), kernweave_error_data = function(e) {
    sqrt(sum(spans_of(x)^2)) / 3
  })
}

# Returns bounds of scales, with `apart`, the shortest distance between points in the inputs of the kernel.
ends_of_scales <- function(model, rows, spans) {
  parts <- kernel_parts(model$kernel)
  if (parts$ard && is.null(parts$op)) {
    own <- vapply(rows$index, function(term) sqrt(sum(spans[model$term == term]^2)), 0)
    return(list(apart = own * shortest_distance(t(t(model$x) / spans)), far = 100 * own))
  }
  ends <- vapply(unique(rows$name), function(name) {
    x <- points_of_scale(parts, name, model$x)
    diagonal <- sqrt(sum(spans_of(x)^2))
    c(shortest_distance(x), 10 * if (diagonal > 0) diagonal else 1)
  }, c(0, 0))
  list(apart = ends[1, rows$name], far = ends[2, rows$name])
}

shortest_distance <- function(x) {
  x <- unique(x)
  if (nrow(x) > 1) min(knn(x, k = 1)$nn.dist) else 1
}

check_gp_data <- function(model, settings, inputs) {
  n <- length(model$y)
  if (nrow(model$layout) && spread_of(model) <= (450 * .Machine$double.eps)^2 * model$size / n) {
    abort("data", "apart from the trend the response is constant, in all ", n, " rows: there is nothing to estimate")
  }
  twins <- if (identical(as.numeric(settings$nugget), 0)) coincident_rows(model$x)
  if (length(twins)) {
    abort("data", "rows ", model$rows[twins[1]], " and ", model$rows[twins[2]], " coincide, and the nugget is 0; ",
          "remove one of each such pair, or estimate the nugget (`nugget = NULL`)")
  }
  check_grouped(model)
  check_estimate_on(model, settings$estimate_on)
  scales <- sum(model$layout$name == "scale")
  if (scales > 20 && n < 10 * scales) {
    abort("data", n, " rows are too few to estimate ", scales, " scales, one for each variable: give ard = FALSE, or ",
          "10 rows for each")
  }
  parts <- kernel_parts(model$kernel)
  of_own <- Filter(function(name) is.null(parts$parameters[[name]]), setdiff(parts$free, c("scale", names(parts$ends))))
  if (!is.null(parts$fun) && length(of_own)) {
    say_once("positive", "kernweave: `", of_own[1], "` of the kernel is taken to be positive; `lower = c(", of_own[1],
             " = -Inf)` of kernel_spec() lets it be negative. (Said once.)")
  }
  if (is_equidistant(model)) {
    name <- inputs$names[1]
    of <- if (length(inputs$names) == 1 && nzchar(name)) c(paste0("`", name, "`"), name) else c("the input", "input")
    tell("Values of ", of[1], " are equally far apart, so that `variance` and `scale` cannot be told apart: ",
         "variance = 0 with trend = ~ ", of[2], " or ~ (1 | ", of[2], ") is a model without them")
  }
}

# Tells whether the places are levels of one factor, or two, and leave a variance and a scale that make the same model.
is_equidistant <- function(model) {
  x <- model$x
  both <- identical(model$layout$name[model$layout$part %in% c("variance", "kernel")], c("variance", "scale"))
  constant <- function() all(abs(model$Q %*% colSums(model$Q) - 1) < 1e-8)
  both && is.null(kernel_parts(model$kernel)$op) && constant() &&
    if (ncol(x) == 1) length(unique(x[, 1])) == 2 else all(x == 0 | x == max(x)) && all(rowSums(x != 0) == 1)
}

tell_of_ranges <- function(model) {
  spans <- spans_of(model$x)
  one <- sum(model$layout$name == "scale") == 1 && is.null(model$chosen_scales)
  if (one && is.null(model$rule) && max(spans) > 10 * min(spans)) {
    tell("Ranges of the inputs differ by a factor of ", format(max(spans) / min(spans), digits = 2),
         ", and they have one scale: consider kernel_spec(\"",
         kernel_parts(model$kernel)$name, "\", ard = TRUE), or scale() of each input")
  }
}

spread_of <- function(model) {
  left <- model$y - model$Q %*% crossprod(model$Q, model$y)
  sum(left^2) / max(1, length(left) - ncol(model$Q))
}

# The variance of the response divided by the mean variance of the kernel, or of the part with parameter `name`.
process_spread <- function(model, spread = spread_of(model), name = NULL) {
  parts <- kernel_parts(model$kernel)
  size <- kernel_size(if (is.null(name)) parts else part_of_parameter(parts, name), model$x)
  if (size > 0) spread / size else spread
}

# Refuses data with too few rows for the number of estimated parameters.
check_estimate_on <- function(model, rows) {
  estimated <- nrow(model$layout)
  n <- length(model$y)
  least <- estimated + ncol(model$Q) + 1
  if (estimated && n < least) {
    abort("data", counted(n, "row"), if (n == 1) " is" else " are", " too few: the covariance has ",
          counted(estimated, "parameter"), " to be estimated, the trend ", counted(ncol(model$Q), "column"), ", and ",
          least, " rows are needed; numbers for `variance`, `nugget` or the kernel need none")
  }
  if (!estimated || rows >= least) return(invisible())
  # Some families are estimated on at most `dense_n` rows, since they need a dense matrix.
  abort("value", if (rows == model$control$dense_n) "`dense_n` of fit_control()" else "`estimate_on`",
        " must be at least ", least, ", not ", rows, ": the covariance has ",
        counted(estimated, "parameter"), ", and the trend ", counted(ncol(model$Q), "column"))
}
