# Balls of every operation against values of points in them, real and complex.

rows_of_ops <- kernweave_operations()
elementwise <- rows_of_ops[rows_of_ops$form == "elementwise", ]

# The error function on complex numbers: from the real axis upwards, by Gauss' rule on each of 60 pieces.
gauss <- eigen({
  k <- 1:9
  off <- k / sqrt(4 * k^2 - 1)
  m <- matrix(0, 10, 10)
  m[cbind(k, k + 1)] <- m[cbind(k + 1, k)] <- off
  m
})
complex_erf <- function(z) {
  vapply(z, function(z) {
    x <- Re(z)
    nodes <- as.vector(outer((gauss$values + 1) / 2, 0:59, `+`)) / 60
    weights <- rep(gauss$vectors[1, ]^2, 60) / 60
    y <- Im(z)
    2 * stats::pnorm(x * sqrt(2)) - 1 + 2i / sqrt(pi) * y * sum(weights * exp(-(x + 1i * y * nodes)^2))
  }, 0i)
}

# The functions on complex numbers of all operations that may say anything there.
complex_values <- list(
  Add = function(x, y) x + y, Subtract = function(x, y) x - y, Mult = function(x, y) x * y,
  Divide = function(x, y) x / y, Inv = function(x) 1 / x, Minus = function(x) -x, Square = function(x) x * x, Exp = exp,
  Log = log, Sqrt = sqrt, Rsqrt = function(x) 1 / sqrt(x), InvSqrt = function(x) 1 / sqrt(x),
  Exp2 = function(x) exp(x * log(2)), Exp2Minus = function(x) exp(-x * log(2)), Sin = sin, Cos = cos,
  Tan = function(x) sin(x) / cos(x), Sinh = sinh, Cosh = cosh, Tanh = function(x) 1 - 2 / (exp(2 * x) + 1),
  Expm1 = function(x) exp(x) - 1, Log1p = function(x) log(1 + x), XLogX = function(x) x * log(x),
  SinXDivX = function(x) sin(x) / x, Sigmoid = function(x) 1 / (1 + exp(-x)), Powf = function(x, y) exp(y * log(x)),
  SinPi = function(x) sin(pi * x), CosPi = function(x) cos(pi * x), TanPi = function(x) sin(pi * x) / cos(pi * x),
  Atan = atan, Asinh = asinh, Asin = asin, Acos = acos, Atanh = atanh,
  Acosh = function(x) log(x + sqrt(x - 1) * sqrt(x + 1)),
  Softplus = function(x) ifelse(Re(x) > 0, x + log(1 + exp(-x)), log(1 + exp(x))), Erf = complex_erf,
  Erfc = function(x) 1 - complex_erf(x),
  Equal = function(x, y) 0 * x, NotEqual = function(x, y) 0 * x + 1, Select = function(x, y, z) y
)

# Balls of the arguments, those behind the first often numbers alone, as in formulas.
random_balls <- function(arity, complex) {
  centre <- vapply(seq_len(arity), function(k) {
    at <- sample(c(-1, 1), 1) * random_size(-2, 2)
    if (stats::runif(1) < 0.4) at <- round(2 * at) / 2
    at + if (complex) 1i * sample(c(0, 1, -1), 1) * random_size(-2, 2) else 0i
  }, 0i)
  radius <- vapply(seq_len(arity), function(k) random_size(-4, 1.5), 0)
  if (stats::runif(1) < 0.3) radius[1] <- Mod(centre[1])
  real <- rep(!complex, arity)
  fixed <- seq_len(arity) > 1 & stats::runif(arity) < 0.5
  centre[fixed] <- sample(c(-2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 70), sum(fixed), TRUE)
  radius[fixed] <- 0
  real[fixed] <- TRUE
  list(centre = centre, radius = radius, real = real)
}

# Points of a ball: within, at the edge, and of intervals the halves in it, at which something may jump.
points_of <- function(centre, radius, real, count) {
  if (real) {
    middle <- Re(centre)
    grid <- seq(ceiling(2 * (middle - radius)), by = 1, length.out = 9) / 2
    inside <- pmin(pmax(c(middle + radius * c(-1, 0, 1), grid), middle - radius), middle + radius)
    return(complex(real = sample(c(inside, stats::runif(count, middle - radius, middle + radius)), count)))
  }
  centre + radius * sqrt(sample(c(1, stats::runif(1)), count, TRUE)) * exp(2i * pi * stats::runif(count))
}

# Measures how far values of the operation lie outside of its ball, relative to the ball's numbers; NULL where the ball
# is infinite.
outside_ball <- function(op, complex) {
  arity <- elementwise$arity[elementwise$name == op]
  balls <- random_balls(arity, complex)
  args <- lapply(seq_len(arity), function(k) points_of(balls$centre[k], balls$radius[k], balls$real[k], 40))
  found <- through("ball", op, balls$centre, balls$radius, balls$real, Re(do.call(cbind, args)))
  if (!is.finite(found$radius)) return(NULL)
  value <- if (!complex) found$values
  else if (is.null(complex_values[[op]])) NaN
  else do.call(complex_values[[op]], args)
  beyond <- Mod(value - found$centre) - found$radius
  beyond[is.na(beyond)] <- Inf
  max(beyond) / (Mod(found$centre) + found$radius + 1e-3)
}

test_that("tiny values have balls that are as tight", {
  for (at in c(-30, -37, -45, -200) + c(0.7i, -2i, 0i, 1i)) {
    ball <- through("ball", "Softplus", at, 0, FALSE, matrix(Re(at)))
    small <- exp(at)
    expect_lt(Mod(ball$centre - small * (1 - small / 2)), 1e-13 * Mod(small))
    expect_lt(ball$radius, 1e-13 * Mod(small))
  }
})

test_that("balls of numbers whose squares are none hold their values", {
  for (size in c(1e-100, 1e100, 1e160, 1e200, 1e300)) for (complex in c(FALSE, TRUE)) {
    ball <- through("ball", "Inv", size, size / 2, !complex, matrix(size * c(0.5, 1, 1.5)))
    expect_lt(max(Mod(1 / (size * c(0.5, 1, 1.5)) - ball$centre) - ball$radius), 1e-13 / size + 1e-300)
    expect_lte(ball$radius, 1.1 / size + 1e-299)
  }
})

test_that("values of every operation lie in the ball of its arguments' balls", {
  skip_below("quick")
  with_local_seed(31, for (op in elementwise$name) for (complex in c(FALSE, TRUE)) {
    known <- !complex || op %in% names(complex_values)
    draw <- function() outside_ball(op, complex)
    beyond <- if (known) drawn(by_tier(40, 60, 5000), draw) else unlist(replicate(by_tier(40, 60, 5000), draw()))
    expect_lt(max(0, beyond), 1e-11, label = paste(op, if (complex) "of complex" else "of real", "numbers"))
    expect_identical(length(beyond) > 0, known, label = paste("balls of", op, if (complex) "of complex numbers"))
  })
})
