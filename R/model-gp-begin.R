# Choices that few rows make before a Gaussian process is fitted to all: the kernel, the start, series or products.

# --- the kernel ---------------------------------------------------------------------------------------------

# Kernels among which data choose, from the rough to the smooth.
kernels_to_choose <- c("matern12", "matern32", "matern52")

# Returns a kernel, for "auto" one that stands for the choice until that is made.
gp_kernel <- function(kernel) {
  if (!identical(kernel, "auto")) return(kernel_spec(kernel))
  parts <- kernel_parts(kernel_spec("matern32"))
  parts$undecided <- TRUE
  new_kernel(parts)
}

# Gives a model another kernel, of the same places and parameters.
with_kernel <- function(model, name) {
  model$kernel <- map_leaves(model$kernel, function(part) {
    part[c("name", "title")] <- list(name, kernel_rows[[name]]$title)
    part$undecided <- NULL
    part
  })
  model
}

rows_of_start <- 300

# A kernel that is worse on the sample before by more, in its log-likelihood, is not tried on the next.
worse_by_far <- c(10, 3, 3)

# Chooses the kernel of the largest likelihood: all of them on 300 rows, and those that are near the best on more. One
# kernel is searched for maxima; the others climb from these, since the same parameters suit them nearly as well.
chosen_kernel <- function(model) {
  few <- few_of_model(model, rows_of_start)
  ends <- gp_ends(with_kernel(few, kernel_of_search), gp_bounds(few))
  found <- climbs_of(few, lapply(stats::setNames(nm = kernels_to_choose), function(name) ends))
  # A close choice among many rows is made on an eighth of them, where estimates would start anyway: on 600 of a million
  # rows of a Matern 3/2 field with noise 5/2 was 1.4 better.
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
  found
}

kernel_of_search <- "matern32"

# Compares kernels by their largest likelihoods on the rows of `few`. `starts` has a list of parameters for each kernel.
# Climbs end `goal` standard errors from the maximum, and half of the square of what is left is added.
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

# Some rows of a model, by their factor, or by few products where that takes too long.
few_of_model <- function(model, rows) {
  few <- some_of_model(model, rows)
  if (rows > few_rows) return(climbing(with_products_settled(few)))
  few$dense <- TRUE
  few$control["approximate"] <- list(NULL)
  few
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

# A model with its kernel chosen, `begun`, the parameters by few rows from which estimates start, and with products made
# as its settings say or, where these leave it open, as is quicker.
begun_model <- function(model, rows) {
  estimated <- nrow(model$layout) && model$values$variance > 0
  open <- isTRUE(kernel_parts(model$kernel)$undecided)
  if (estimated && (open || !model$dense)) {
    part <- model_rows(model, rows)
    if (open) {
      model$begun <- chosen_kernel(part)
      model$chosen <- model$begun$table
      model <- with_kernel(model, model$begun$kernel)
    } else {
      few <- few_of_model(part, rows_of_start)
      model$begun <- list(state = list(theta = gp_start(few, gp_bounds(few))), rows = nrow(few$x))
    }
  }
  if (open && !estimated) model <- with_kernel(model, kernel_parts(model$kernel)$name)
  with_products_settled(model)
}

# Numbers near those that will be estimated.
begun_values <- function(model) {
  if (is.null(model$begun)) model$values else gp_values(model$values, model$layout, model$begun$state$theta)
}

# --- products -----------------------------------------------------------------------------------------------

# Rows from which series are quicker than all pairs, in one, two and three dimensions.
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
  # A nugget that is estimated stays above what series bear.
  bears <- any(model$layout$part == "nugget") || !asked_of(model)$nugget ||
    tolerance_for(values$nugget / model$w, values$variance * max(diag(K)), n) >= tolerances[["least"]]
  bears && takes_series(K)
}

takes_series <- function(K) {
  tryCatch({
    approximate(K)
    TRUE
  }, kernweave_error = function(e) FALSE)
}
