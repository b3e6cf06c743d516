# Leverages of smooth processes, which depend on many observations: variances given the nearest observations and some
# weighted sums of all observations, which are never too small; and an audit of leverages and Cook's distances.

# The largest number of sums, and of the elements of their weights.
most_sums <- 128
most_numbers_of_sums <- 2^25

# The largest ratio of a leverage or Cook's distance to the exact one without a warning.
most_leverage_ratio <- 1.1

# The numbers of neighbours used with sums; a pair of neighbours then costs a hundred times as much as a plain pair.
most_pairs_of_rows <- 1e8
neighbours_beside_sums <- c(least = 30, most = 120)

# Returns list(B, AB): columns of B are weights of sums B'y; they span the landmarks' space, most informative first.
sums_of_all <- function(process, system) {
  model <- process$data
  n <- length(model$y)
  root <- sqrt(system$noise)
  landmarks <- system$preconditioner$P$landmarks
  some <- utils::head(landmarks, max(1, min(most_sums, most_numbers_of_sums %/% n)))
  M <- unname(as.matrix(gp_cross(process, model_places(model), model_places(model)[some, , drop = FALSE]))) / root
  e <- eigen(crossprod(M), symmetric = TRUE)
  keep <- e$values > 1e-10 * e$values[1]
  B <- M %*% (e$vectors[, keep, drop = FALSE] / rep(sqrt(e$values[keep]), each = ncol(M))) / root
  list(B = B, AB = matrix(as.vector(system$products$A %*% B), n) + system$noise * B)
}

# Posterior variances of the process at rows, given all observations, with `by` times the nugget. Given the sums B'y,
# the covariance of y is A - W W'.
variance_after_sums <- function(process, sums, m, rows, by = 1) {
  model <- process$data
  n <- length(model$y)
  noise <- by * process$nugget / model$w
  AB <- sums$AB + (noise - process$nugget / model$w) * sums$B
  G <- crossprod(sums$B, AB)
  R <- chol((G + t(G)) / 2)
  W <- t(backsolve(R, t(AB), transpose = TRUE))
  of_noise <- t(backsolve(R, t(sums$B[rows, , drop = FALSE] * noise[rows]), transpose = TRUE))
  unlist(in_row_blocks(length(rows), size = places_at_once, function(k) {
    at <- model_places(model)[rows[k], , drop = FALSE]
    near <- nearest_observations(process, at, min(m, n))$nn.index
    both <- rbind(model_places(model), at)
    told <- rbind(W, W[rows[k], , drop = FALSE] - of_noise[k, , drop = FALSE])
    K <- gp_cross(process, both, both) - (Vi(told) | Vj(told))
    unname(conditional(K, NULL, seen = seq_len(n), ridge = noise, neighbours = near)$variance)
  }))
}

# Computes (A^-1)_ii of rows and, with `squares`, (A^-1 W^-1 A^-1)_ii: from the m nearest other observations and, with
# `closer`, from its sums and neighbours. Both are lower bounds of (A^-1)_ii, so the larger bound is taken. (A^-1 W^-1
# A^-1)_ii is minus the derivative of (A^-1)_ii by the ridge.
parts_left_out <- function(process, m, closer, squares, rows = seq_along(process$data$y)) {
  w <- process$data$w[rows]
  ridge <- process$nugget
  step <- 1e-3
  slope <- function(f) (f(1 + step) - f(1 - step)) / (2 * step * ridge)
  others <- function(by) variance_left_out(replace(process, "nugget", by * ridge), m, rows)
  own <- 1 / others(1)
  square <- if (squares) own^2 * slope(others)
  if (is.null(closer)) return(list(own = own, square = square))
  by_sums <- function(by) variance_after_sums(process, closer$sums, closer$neighbours, rows, by)
  more <- (1 - by_sums(1) * w / ridge) * w / ridge
  better <- more > own
  own <- ifelse(better, more, own)
  if (squares) square[better] <- (w^2 * slope(by_sums) - w + 2 * ridge * own)[better] / ridge^2
  list(own = own, square = square)
}

# Returns NULL if an audit shows that neighbours suffice for leverages, else sums, and the number of neighbours.
audited_sums <- function(process, system, audit) {
  if (process$nugget == 0) return(NULL)
  rows <- audit$exact$rows
  n <- length(process$data$y)
  bounds <- neighbours_beside_sums
  most <- min(max(bounds[["least"]], min(bounds[["most"]], sqrt(most_pairs_of_rows / n))), n)
  trend <- rowSums(process$U[rows, , drop = FALSE]^2)
  hat <- function(parts) pmax(1 - process$nugget * (parts$own - trend) / process$data$w[rows], least_leverage)
  at_rows <- function(closer) parts_left_out(process, audit$neighbours, closer, FALSE, rows)
  too_large <- function(parts) max(hat(parts) / hat(audit$exact)) > most_ratio_of_rows
  if (!too_large(at_rows(NULL))) return(NULL)
  step_work("leaving one out", "sums of all observations")
  closer <- list(sums = sums_of_all(process, system), neighbours = min(bounds[["least"]], n))
  while (closer$neighbours < floor(most) && too_large(at_rows(closer))) {
    closer$neighbours <- min(2 * closer$neighbours, floor(most))
  }
  closer
}

# The smallest leverage that is distinguished from 0.
least_leverage <- 1e-6

# Returns the mean, smallest and largest ratio of reported to exact values at audited rows; warns of large errors.
audited_ratio <- function(model, what, reported, exact) {
  ratio <- reported / exact
  ratio <- ratio[is.finite(ratio)]
  found <- c(mean = mean(ratio), smallest = min(ratio), largest = max(ratio))
  kept <- as_process(model)$kept
  if (!what %in% kept$told && max(found[["largest"]], 1 / found[["smallest"]]) > most_leverage_ratio) {
    kept$told <- c(kept$told, what)
    warn("approximate", what, " are ", format(found[["smallest"]], digits = 3), " to ",
         format(found[["largest"]], digits = 3), " times the exact ones, at ", length(reported), " rows: beyond ",
         model$control$dense_n, " rows of fit_control(dense_n = ) they are by neighbours and sums of all observations")
  }
  found
}
