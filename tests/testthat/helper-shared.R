# Random formulas whose parts are read again and again: what shows whether a value is still where the next one looks for
# it.

# Mostly one of the last.
recent <- function(made) {
  if (stats::runif(1) < 0.6) made[[length(made) + 1 - sample.int(min(3, length(made)), 1)]] else pick(made)
}

# Each makes a number of numbers s, t, values of several components v, w and a constant c.
shared_numbers <- list(
  function(s, t, v, w, c) s + c, function(s, t, v, w, c) s * c, function(s, t, v, w, c) s / (1 + s^2),
  function(s, t, v, w, c) cos(s) * t,
  function(s, t, v, w, c) (s + c) * cos(t + 1), function(s, t, v, w, c) (s + c) - cos(t) * c,
  function(s, t, v, w, c) (cos(s) * c) / (cos(t)^2 + c),
  function(s, t, v, w, c) min2(s, t * c), function(s, t, v, w, c) exp(-abs(s)) * c + t,
  function(s, t, v, w, c) sum(cos(v)),
  function(s, t, v, w, c) cos(v) | (w / (1 + w^2)), function(s, t, v, w, c) max(v * cos(s))
)
# Each makes values of several components.
shared_values <- list(
  function(s, t, v, w, c) v + c, function(s, t, v, w, c) cos(v) * c, function(s, t, v, w, c) (v * c) / (w^2 + c),
  function(s, t, v, w, c) (v + c) * cos(s)
)

# Draws a formula of points X and Y with D components.
shared_formula <- function(X, Y, D) {
  numbers <- list(sqdist(X, Y) / D, (X | Y) / D)
  values <- list(X - Y, X * Y, X + 2 * Y, X, Y)
  for (k in seq_len(sample(4:18, 1))) {
    of_several <- stats::runif(1) < 0.25
    f <- pick(if (of_several) shared_values else shared_numbers)
    made <- f(recent(numbers), recent(numbers), recent(values), recent(values), pick(c(2, 3, 0.5, 1.5)))
    if (of_several) values <- c(values, list(made)) else numbers <- c(numbers, list(made))
  }
  bounded <- lapply(utils::tail(numbers, 3), function(s) s / (1 + abs(s)))
  Reduce(`+`, bounded) + sum(cos(values[[length(values)]])) + 0.1 * numbers[[1]]
}
