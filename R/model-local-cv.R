# Bandwidths of a local regression: criteria and their minimisation.

# The mean squared leave-one-out residual: residual / (1 - leverage) or, if 1 - leverage is too small for accuracy, a
# fit without the observation.
local_cv <- function(part, degree, h, fit = NULL) {
  fit <- fit %or% line_values(part, degree, h, part$x, seq_len(nrow(part$x)), errors = FALSE)
  left_out <- (part$y - fit$fit) / (1 - fit$leverage)
  lone <- which(fit$narrow | 1 - fit$leverage < 1e-3)
  if (length(lone)) {
    without <- pair_values(part, degree, h, part$x[lone, , drop = FALSE], lone, left_out = TRUE)
    left_out[lone, ] <- part$y[lone, ] - without$fit
  }
  sum(part$w * left_out^2) / sum(part$w)
}

local_aicc <- function(part, degree, h) {
  n <- nrow(part$x)
  fit <- local_values(part, degree, h, part$x, seq_len(n))
  spread <- sum(part$w * (part$y - fit$fit)^2) / sum(part$w)
  v1 <- sum(fit$leverage)
  if (n - v1 - 2 <= 0) return(Inf)
  log(spread) + (1 + v1 / n) / (1 - (v1 + 2) / n)
}

local_bandwidth <- function(part, degree, bandwidth, control, names) {
  D <- ncol(part$x)
  spans <- spans_of(part$x)
  spans[spans == 0] <- 1  # a variable may be constant in rows of positive weight
  if (is.numeric(bandwidth)) {
    if (!length(bandwidth) %in% c(1, D)) {
      abort("shape", "`bandwidth` has ", counted(length(bandwidth), "number"), " for ", counted(D, "input"))
    }
    right <- is.finite(bandwidth) & bandwidth > 0
    if (!all(right)) abort("value", "`bandwidth` must be positive and finite, not ", format(bandwidth[!right][1]))
    found <- list(h = rep_len(as.numeric(bandwidth), D), method = "given")
  } else {
    method <- choice_of(bandwidth[1], c("cv", "aicc"), "bandwidth")
    found <- searched_widths(part, degree, method, control, spans)
  }
  names(found$h) <- names
  c(found, list(limits = 100 * spans))
}

# Minimises a criterion, which has many narrow minima: on a grid, for at most 500 rows. The best minima are refined
# there, and the best two of these on four times as many rows, until all rows are used.
searched_widths <- function(part, degree, method, control, spans) {
  bounds <- log_bounds(control, 1e-3 * spans, 100 * spans)
  criterion <- if (method == "cv") local_cv else local_aicc
  n <- nrow(part$x)
  begin_work("local_reg()", quicker = "`bandwidth` as numbers",
             expected = expected_of_search(part, degree, spans, errors = method == "aicc"))
  on.exit(end_work("local_reg()"))
  rows <- min(n, 500)
  starts <- NULL
  repeat {
    some <- lapply(part, kept_rows, unique(round(seq(1, n, length.out = rows))))
    f <- function(h) {
      h <- exp(pmin(pmax(h, bounds$lower), bounds$upper))
      widths <- paste(vapply(h, format, "", digits = 2), collapse = " ")
      step_work("local_reg()", paste0(counted(rows, "row"), ", bandwidth ", widths))
      criterion(some, degree, h)
    }
    best <- best_minimum(f, starts %or% grid_minima(f, log(spans)), bounds, control)
    if (control$verbose) {
      tell(method, " of ", counted(rows, "row"), ": ", format(best$value, digits = 8), " at ",
           paste(format(exp(best$par), digits = 4), collapse = ", "))
    }
    if (rows == n) return(list(h = exp(best$par), method = method, criterion = best$value))
    more <- min(4 * rows, n)
    wide <- lapply(best$others, function(h) h > log(10 * spans))
    starts <- Map(function(h, wide) ifelse(wide, h, h - log(more / rows) / (length(h) + 4)), best$others, wide)
    # A variable without effect in few rows may have one in more rows.
    if (any(wide[[1]])) starts <- c(starts, list(ifelse(wide[[1]], log(spans / 2), starts[[1]])))
    rows <- more
  }
}

# Estimates the seconds of a search: the number of passes, by the number of variables, times the seconds of a pass, from
# some rows. The first pass is not timed, since it may compile a kernel.
expected_of_search <- function(part, degree, h, errors) {
  n <- nrow(part$x)
  if (n < 5000) return(0)
  rows <- seq_len(500)
  pass <- function() line_values(part, degree, h, part$x[rows, , drop = FALSE], rows, errors)
  pass()
  30 * ncol(part$x)^1.5 * n / length(rows) * system.time(pass())[["elapsed"]]
}

# Returns the best local minima on a grid of bandwidths, from very wide to very narrow: coordinate descent from three
# points, then all evaluated points without a better neighbour.
grid_minima <- function(f, unit, most = 4) {
  D <- length(unit)
  levels <- log(c(100, 2 * 0.0015^seq(0, 1, length.out = if (D == 1) 23 else 11)))
  seen <- list()
  value <- function(at) {
    key <- paste(at, collapse = " ")
    if (is.null(seen[[key]])) seen[[key]] <<- list(at = at, value = f(unit + levels[at]))
    seen[[key]]$value
  }
  for (at in lapply(1 + 0:2 * length(levels) %/% 3, rep, D)) repeat {
    from <- at
    for (k in seq_len(D)) {
      at[k] <- which.min(vapply(seq_along(levels), function(level) value(replace(at, k, level)), 0))
    }
    if (identical(at, from)) break
  }
  places <- do.call(rbind, lapply(seen, `[[`, "at"))
  values <- vapply(seen, `[[`, 0, "value")
  least <- Filter(function(i) {
    beside <- rowSums(abs(sweep(places, 2, places[i, ]))) == 1
    all(values[beside] >= values[i])
  }, which(is.finite(values)))
  if (!length(least)) abort("data", "so few rows have no criterion for a bandwidth; give `bandwidth` as numbers")
  lapply(utils::head(least[order(values[least])], most), function(i) unit + levels[places[i, ]])
}

# Minimises f roughly from each start, then accurately from the best. `others`: the best two points.
best_minimum <- function(f, starts, bounds, control) {
  rough <- replace(control, "tol", max(control$tol, 1e-2))
  found <- lapply(starts, function(start) minimised(f, start, bounds, rough))
  found <- found[order(vapply(found, `[[`, 0, "value"))]
  found[[1]] <- minimised(f, found[[1]]$par, bounds, control)
  c(found[[1]], list(others = lapply(utils::head(found, 2), `[[`, "par")))
}

# Minimises f by L-BFGS-B with numerical derivatives; with a single variable by golden section.
minimised <- function(f, start, bounds, control) {
  start <- pmin(pmax(start, bounds$lower), bounds$upper)
  if (length(start) == 1) {
    ends <- pmin(pmax(start + log(2) * c(-1, 1), bounds$lower), bounds$upper)
    found <- stats::optimize(f, ends, tol = sqrt(control$tol) * 1e-2)
    if (min(abs(found$minimum - ends)) > 1e-3) return(list(par = found$minimum, value = found$objective))
    start <- found$minimum
  }
  from <- f(start)
  finite <- function(h) {
    value <- f(h)
    if (is.finite(value)) value else from + 1e3 * (1 + abs(from))
  }
  found <- stats::optim(start, finite, method = "L-BFGS-B", lower = bounds$lower, upper = bounds$upper,
                        control = list(factr = control$tol * 1e-2 / .Machine$double.eps, maxit = control$max_iter,
                                       fnscale = max(abs(from), 1e-300)))
  list(par = found$par, value = found$value)
}
