# Preconditioners of a Gaussian process' systems: their strengths, and their use for several states.

# The number of landmarks besides neighbours: a landmark costs an approximated fit a hundred operations a row or more.
landmarks_beside_neighbours <- 100L

# Landmarks and neighbours, weak to strong. A process of many inputs with hardly any noise needs many of both: systems
# of 8000 rows, 8 inputs took 239 iterations with the first, 70 with 100 neighbours. Noisy ones take about 20.
strengths_of_gp <- list(rank = c(NA, 1000, 2000), neighbours = c(30, 100, 200))
# The iterations after which a stronger preconditioner is built; they cost as much as building it. On an H200 a product
# of 36 000 rows in 8 inputs took 9 ms, the second strength 2 s, and the third 11 s plus 8 s of traces in each state.
patience <- c(60, 400)

# The preconditioner, an environment: `P`, of landmarks and neighbours, since log-determinants are estimated relative to
# it; `values` of the parameters for which both were chosen; `strength`; and `smallest`, the smallest Ritz value of P^-1
# A so far. While no value changes by more than a factor of two, landmarks and neighbours are kept, so that the noise of
# the probes is the same smooth function in both states.
gp_preconditioner <- function(K, noise, control, values, near, effects = NULL) {
  before <- near$preconditioner
  if (!is.null(before) && identical(near$values, values)) return(before)
  kept <- list2env(list(values = values, strength = before$strength %or% 1, smallest = Inf, effects = effects),
                   parent = emptyenv())
  stays <- !is.null(before) && !are_apart(before$values, values)
  if (stays) kept$values <- before$values
  kept$P <- if (stays) preconditioner(beside_effects(K, effects), noise, like = before$P, instead = before$P)
            else built_preconditioner(K, noise, control, kept$strength, before$P, effects)
  kept
}

# The share of noise below which few landmarks are used. With many, the inverse matrix has elements of 1 / noise, and
# traces are small differences of these: with 1582 rows, 791 landmarks moved estimates by a standard error.
little_noise <- 1e-9

# Builds a preconditioner. A stronger one has at most n / 8 landmarks, but at least 300.
built_preconditioner <- function(K, noise, control, strength, instead, effects = NULL) {
  n <- dim(K)[1]
  few <- function() is_approximated(dim(K), control) || min(noise) < little_noise * max(abs(diag(K)))
  rank <- control$rank %or% if (few()) min(landmarks_beside_neighbours, n %/% 2)
          else if (strength > 1) min(n %/% 2, max(300, min(strengths_of_gp$rank[strength], n %/% 8)))
  preconditioner(beside_effects(K, effects), noise, rank = rank, local = "always",
                 neighbours = strengths_of_gp$neighbours[strength], instead = instead)
}

# Tells whether two values of a parameter differ by a factor above two, or two turns by more than log 2.
are_apart <- function(a, b) {
  a$groups <- b$groups <- NULL  # treated exactly, besides landmarks and neighbours
  a$responses <- b$responses <- NULL  # do not change the neighbours
  turns <- if (is_turning(a)) abs(a$kernel$turn - b$kernel$turn) > log(2)
  a$kernel$turn <- b$kernel$turn <- NULL
  any(turns, abs(log(unlist(a) / unlist(b))) > log(2), na.rm = TRUE)
}
