# Derivatives of second and higher order of a log-determinant that is estimated.
#
# With z and v held, for which the mean of z v' is the identity, and u = A^-1 z, the mean of u'dA v is the derivative,
# whatever the point at which A is taken: so is its own derivative, in u, the second one. What a low rank and a diagonal
# at landmarks that are held have of all this is known, and only what the matrix has beyond it is left to the probes.

# `value` with the derivative of an expression at this level, in which solutions are those of the level below.
logdet_of_higher_order <- function(K, ridge, system, lower, probes, seed, precondition, rank, local) {
  value <- logdet(system$K, lower, probes = probes, seed = seed, method = "lanczos", precondition = precondition,
                  rank = rank, local = local)
  numbers <- plain_tensor(K)
  ridges <- check_ridge(plain_value(ridge), dim(numbers)[1])
  P <- chosen_preconditioner(precondition, numbers, ridges, rank, local)
  held <- logdet_by_probes(numbers, ridges, P, probes, seed, vectors = TRUE)
  z <- numbers %*% held$u + ridges * held$u
  u <- solve(system$K, z, ridge = lower, tol = 1e-8, method = "cg", precondition = P %or% FALSE)
  sums <- sum(u * (K %*% held$v + ridge * held$v))
  S <- independent_landmarks(numbers, P$landmarks)
  if (!length(S)) return(record(list(sums), value, function(g) list(g / probes)))
  shift <- mean(diag(numbers) - rowSums(landmark_columns(numbers, S)^2))
  around <- function(K, ridge) {
    list(factor = landmark_columns(K, S), diagonal = rep(ridge, length.out = length(ridges)) + max(shift, 1e-14))
  }
  here <- woodbury(around(K, ridge))
  w <- woodbury_solution(woodbury(around(system$K, lower)), z)$x
  of_low_rank <- sum(w * (here$factor %*% crossprod(here$factor, held$v) + here$diagonal * held$v))
  record(list(here$logdet + (sums - of_low_rank) / probes), value, function(g) list(g))
}

# F of the low rank F F' that is K at the landmarks.
landmark_columns <- function(K, landmarks) {
  columns <- take_points(K, landmarks, "j", "landmarks")
  own <- dense(take_points(columns, landmarks, "i", "landmarks"))
  t(overlay$backsolve(chol(own), t(dense(columns)), transpose = TRUE))
}

# The first ones, as far as memory goes and none is nearly a combination of those before: derivatives of a Cholesky
# factor have its condition number squared.
independent_landmarks <- function(K, landmarks) {
  few <- utils::head(landmarks, floor(option("max_dense_mb") / 8 * 2^17 / dim(K)[1]))
  if (!length(few)) return(few)
  own <- dense(take_both(K, few, few))
  root <- suppressWarnings(chol.default(own, pivot = TRUE))
  known <- seq_len(attr(root, "rank"))
  few[attr(root, "pivot")[known][diag(root)[known]^2 > 1e-6 * root[1]^2]]
}
