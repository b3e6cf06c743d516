# Steps of the average information algorithm: their lengths and expected gains.

# The longest step along a parameter on the log scale: a factor of e^2.
longest_step <- 2

# The rows of the variances of the process, one or one for each response.
of_process <- function(layout) which(layout$part == "variance" | layout$part == "responses" & layout$link == "log")

# Returns lower bounds; a nugget is at least a share of the process' variance.
lower_bounds <- function(theta, model, bounds) {
  layout <- model$layout
  v <- of_process(layout)
  g <- which(layout$part == "nugget")
  lower <- bounds$lower
  if (length(g)) {
    variance <- if (length(v)) max(theta[v]) else log(model$values$variance)
    lower[g] <- pmax(lower[g], variance + bounds$floor)
  }
  lower
}

within_bounds <- function(theta, model, bounds) {
  theta <- pmin(theta, bounds$upper)
  pmax(theta, lower_bounds(theta, model, bounds))
}

# Returns feasible directions, in columns: one for each parameter, except parameters at a bound towards which the score
# points. A nugget at its smallest share moves with the variance.
free_directions <- function(at, model, bounds) {
  lower <- lower_bounds(at$theta, model, bounds)
  low <- at$theta <= lower + 1e-9 & at$score < 0
  stuck <- low | at$theta >= bounds$upper - 1e-9 & at$score > 0
  Z <- diag(1, length(stuck))
  v <- of_process(model$layout)
  if (length(v)) v <- v[which.max(at$theta[v])]
  g <- which(model$layout$part == "nugget" & low & lower > bounds$lower)
  if (length(v) && length(g)) Z[g, v] <- 1
  Z[, !stuck, drop = FALSE]
}

next_theta <- function(at, model, bounds) {
  move <- limited_step(at$information, at$score, free_directions(at, model, bounds), 0, bounds$longest)
  within_bounds(at$theta + move, model, bounds)
}

# Returns the distance from the maximum in standard errors: sqrt(2 * expected gain of a step). Steps are limited: a tiny
# nugget has a tiny score and even less information, so its distance would otherwise seem to be many standard errors.
decrement_of <- function(at, H, model, bounds) {
  move <- limited_step(H, at$score, free_directions(at, model, bounds), 0, bounds$longest)
  sqrt(max(0, sum(move * (2 * at$score - as.vector(H %*% move)))))
}

# Returns (H + mu diag H)^-1 score along Z, without directions of nearly zero information.
damped_step <- function(H, score, Z, mu) limited_step(H, score, Z, mu, most = Inf)

# Computes the damped step, with moves of at most `most`. The largest move is cut to `most` and the rest is solved
# again, until all moves are within `most`. If all moves were shortened alike, one badly determined parameter would slow
# down all others.
limited_step <- function(H, score, Z, mu, most = longest_step) {
  if (!ncol(Z)) return(0 * score)
  most <- rep_len(most, nrow(Z))[max.col(t(Z), "first")]
  B <- crossprod(Z, H %*% Z)
  slope <- as.vector(crossprod(Z, score))
  z <- rep(NA_real_, ncol(Z))
  repeat {
    open <- is.na(z)
    if (!any(open)) break
    pushed <- slope[open] - as.vector(B[open, !open, drop = FALSE] %*% z[!open])
    inner <- B[open, open, drop = FALSE]
    unit <- sqrt(pmax(diag(inner), 1e-10 * max(diag(inner), 1e-10)))
    e <- eigen(inner / outer(unit, unit), symmetric = TRUE)
    along <- crossprod(e$vectors, pushed / unit) / (pmax(e$values, 1e-8) + mu)
    found <- replace(z, open, as.vector((e$vectors %*% along) / unit))
    far <- which.max(abs(found) / most)
    if (!isTRUE(abs(found[far]) > most[far])) {
      z <- found
      break
    }
    z[far] <- most[far] * sign(found[far])
  }
  as.vector(Z %*% z)
}
