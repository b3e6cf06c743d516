# Second and higher derivatives of an estimated log-determinant.
#
# Let z and v be constant with mean z v' = I, and u = A^-1 z. The mean of u'dA v is the derivative at any A, so its own
# derivative, by u, is the second one. For a low rank plus a diagonal, at constant landmarks, the exact value is known,
# so the probes estimate only the difference between the matrix and this approximation.

# Gives `value` the derivative of an expression at this level, whose solutions are of the level below.
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

# Returns F, where F F' is the low rank that equals K at the landmarks.
landmark_columns <- function(K, landmarks) {
  columns <- take_points(K, landmarks, "j", "landmarks")
  own <- dense(take_points(columns, landmarks, "i", "landmarks"))
  t(overlay$backsolve(chol(own), t(dense(columns)), transpose = TRUE))
}

# Returns the first landmarks that fit the memory and are not nearly combinations of earlier ones: derivatives of a
# Cholesky factor have the square of its condition number.
independent_landmarks <- function(K, landmarks) {
  few <- utils::head(landmarks, floor(option("max_dense_mb") / 8 * 2^17 / dim(K)[1]))
  if (!length(few)) return(few)
  own <- dense(take_both(K, few, few))
  root <- suppressWarnings(chol.default(own, pivot = TRUE))
  known <- seq_len(attr(root, "rank"))
  few[attr(root, "pivot")[known][diag(root)[known]^2 > 1e-6 * root[1]^2]]
}
