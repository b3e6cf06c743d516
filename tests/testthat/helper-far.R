# Approximated matrices for tests: series even of few points, and random formulas of a distance with random points.

# The private parts of an approximation: its state, plan, products before their audit; the same sums by pairs.
approximation_of <- kernweave:::approximation_of
unaudited_product <- kernweave:::unaudited_product
plan_of_approximation <- kernweave:::plan_of_approximation
pair_sums <- kernweave:::pair_sums
new_approximation <- kernweave:::new_approximation
approximated_product <- kernweave:::approximated_product
checked_rows <- kernweave:::checked_rows
r_far_orders <- kernweave:::r_far_orders
derivative_terms <- kernweave:::derivative_terms

# Series even where pairs would be less work; derivatives have the same price.
eager <- function(A, price = 1e4) {
  state <- approximation_of(A)
  state$plan <- NULL
  state$prices <- c(price, 160000)
  A
}
random_price <- function() sample(c(1e3, 1e4, 1e5), 1)
plan_of <- function(A) plan_of_approximation(approximation_of(A))

# Formulas of a squared distance.
smooth_parts <- list(
  function(s) exp(-s), function(s) exp(-sqrt(s)), function(s) 1 / (1 + s), function(s) sqrt(1 + s),
  function(s) cos(sqrt(s)), function(s) log(1 + s), function(s) tanh(s), function(s) sin(s),
  function(s) s^1.5, function(s) 1 / (0.3 + sqrt(s)),
  function(s) log1p(s), function(s) 1 / cosh(sqrt(s)), function(s) xlogx(s), function(s) sinxdivx(s),
  function(s) erfc(s), function(s) erf(sqrt(s)), function(s) softplus(1 - s), function(s) atan(s),
  function(s) asinh(s), function(s) acos(1 / (1 + s)), function(s) atanh(1 / (2 + s)), function(s) acosh(2 + s)
)
rough_parts <- list(
  function(s) relu(1 - s), function(s) (s < 1), function(s) lazy_if(s < 0.5, 2, 1), function(s) abs(0.5 - s),
  function(s) min2(s, 1), function(s) max2(0.2, 1 - sqrt(s)), function(s) floor(2 * s), function(s) sign(0.4 - s),
  function(s) heaviside(1 - s), function(s) clamp(s, 0.1, 0.9), function(s) sinpi(s),
  function(s) lgamma(1 + s), function(s) s %% 1, function(s) round(s), function(s) 1 / (s - 0.3),
  function(s) log(s), function(s) sqrt(0.7 - s), function(s) digamma(s + 0.5),
  function(s) (s == 0)
)
random_profile <- function(s) {
  part <- function() sample(if (stats::runif(1) < 0.7) smooth_parts else rough_parts, 1)[[1]]
  one <- part()(s)
  switch(sample(5, 1), one, one + part()(s), one * part()(s), one * part()(2 * s) - 0.3, part()(abs(one) / 2))
}
far_kernels <- list(
  function(x, y, h) kernel_gaussian(x, y, h), function(x, y, h) kernel_laplacian(x, y, h),
  function(x, y, h) kernel_matern(x, y, h, nu = 1.5), function(x, y, h) kernel_matern(x, y, h, nu = 2.5),
  function(x, y, h) kernel_cauchy(x, y, h), function(x, y, h) kernel_inverse_multiquadric(x, y, h),
  function(x, y, h) kernel_rational_quadratic(x, y, h, alpha = 0.7), function(x, y, h) kernel_energy(x, y, h),
  function(x, y, h) kernel_energy(x, y, h, exponent = 0.5), function(x, y, h) kernel_thin_plate(x, y, h)
)
# The squared distances with a scale for each component, written in several ways.
written_distances <- list(
  function(x, y, h) sqdist(Vi(x), Vj(y)) / h[1]^2,
  function(x, y, h) sum(square(Vi(x) - Vj(y)) * Pm(rep_len(1 / h^2, ncol(x)))),
  function(x, y, h) sqnorm2((Vi(x) - Vj(y)) / Pm(rep_len(h, ncol(x)))),
  function(x, y, h) square(norm2(Vj(y) - Vi(x))) * (1 / h[1]^2),
  function(x, y, h) weighted_sqdist(Pm(as.vector(random_metric(ncol(x)) / h[1]^2)), Vi(x), Vj(y)),
  function(x, y, h) sqnorm2(matvecmult(Pm(as.vector(random_metric(ncol(x)) / h[1])), Vi(x) - Vj(y))),
  function(x, y, h) {
    squares <- lapply(seq_len(ncol(x)), function(k) square((Vi(x[, k]) - Vj(y[, k])) / Pm(rep_len(h, ncol(x))[k])))
    Reduce(`+`, squares)
  }
)
random_metric <- function(d) crossprod(matrix(stats::rnorm(d^2), d)) / d + diag(0.1, d)

# Points of one of several kinds, and those they meet.
clouds <- function(n, d) {
  x <- matrix(stats::runif(n * d), n)
  y <- x
  kind <- sample(c("uniform", "clusters", "twice", "outlier", "one place", "apart", "other", "long", "one", "grid"), 1)
  if (kind == "clusters") x <- y <- x[rep_len(1:5, n), , drop = FALSE] + random_size(-4, -1) * x
  if (kind == "twice") x <- y <- x[rep_len(seq_len(n / 2), n), , drop = FALSE]
  if (kind == "outlier") x[1, ] <- y[1, ] <- random_size(1, 9)
  if (kind == "one place") x[] <- y[] <- 0.5
  if (kind == "apart") y <- y[sample(n), , drop = FALSE] + 3
  if (kind == "other") y <- matrix(stats::runif(70 * d), 70)
  if (kind == "long") x[, 1] <- y[, 1] <- 1000 * x[, 1]
  if (kind == "one") x <- x[1, , drop = FALSE]
  if (kind == "grid") x <- y <- round(8 * x)
  list(kind = kind, x = x, y = y)
}

# Points of a kind, far from the origin or not, in a unit, and scales for their components.
random_points <- function() {
  d <- sample(3, 1)
  cloud <- clouds(if (d == 3) 120 else 240, d)
  unit <- random_size(-3, 3)
  offset <- sample(c(0, 0, 1e3, 1e6), 1) * unit
  h <- random_size(-1.5, 1) * unit * if (stats::runif(1) < 0.3) stats::runif(d, 0.5, 2) else 1
  list(d = d, x = cloud$x * unit + offset, y = cloud$y * unit + offset, h = h,
       text = paste(cloud$kind, "D", d, "unit", format(unit, digits = 3), "offset", offset))
}
random_tolerance <- function(d) 10^-sample(if (d == 3) 1:6 else 1:10, 1)
random_weights <- function(n) {
  b <- matrix(stats::rnorm(2 * n), ncol = 2) * if (stats::runif(1) < 0.2) 10^stats::runif(n, -10, 10) else 1
  b[, 2] <- abs(b[, 2])
  if (stats::runif(1) < 0.3) b[-sample(n, 1), 1] <- 0  # of which no moment is small, so that bounds are nearly met
  b
}

# Draws a random problem: a matrix, a tolerance and weights.
random_problem <- function() {
  p <- random_points()
  x <- p$x
  y <- p$y
  h <- p$h
  number <- sample(length(far_kernels) + 14, 1)
  K <- if (number <= length(far_kernels)) far_kernels[[number]](x, y, h)
       else random_profile(sample(written_distances, 1)[[1]](x, y, h))
  if (stats::runif(1) < 0.3) K <- K * Vj(stats::rnorm(nrow(y)) * random_size(-6, 6))
  if (stats::runif(1) < 0.3) K <- Vi(stats::runif(nrow(x)) * random_size(-6, 6)) * K
  if (stats::runif(1) < 0.3) K <- -K
  if (stats::runif(1) < 0.3) K <- K * random_size(-12, 12)
  tol <- random_tolerance(p$d)
  list(K = K, tol = tol, b = random_weights(nrow(y)),
       text = paste(p$text, "tol", tol, kernweave:::formula_text(K$formula, 400L)))
}

# Draws a problem with a formula times the difference of the points, or its square, component by component: as it is
# written, or as the derivative of a kernel in points or scales.
random_difference <- function() {
  p <- random_points()
  X <- Vi(p$x)
  Y <- Vj(p$y)
  s <- if (length(p$h) == 1) sqdist(X, Y) / p$h^2 else sum(square((X - Y) / p$h))
  F <- random_profile(s) * if (stats::runif(1) < 0.7) (X - Y) / p$h[1] else square(X - Y) * Pm(stats::rnorm(p$d))
  if (stats::runif(1) < 0.4) {
    scales <- Pm(rep_len(p$h, p$d), name = "scales")
    K <- sample(far_kernels, 1)[[1]](X, Y, scales)
    wrt <- sample(list(X, scales), 1)[[1]]
    F <- derivative_terms(K, list(wrt$formula$args))[[1]][[1]]$F
  } else if (stats::runif(1) < 0.3) {
    # For one number of a metric, which has axes of its own.
    metric <- Pm(as.vector(random_metric(p$d) / p$h[1]^2), name = "metric")
    K <- random_profile(weighted_sqdist(metric, X, Y))
    terms <- derivative_terms(K, list(metric$formula$args))[[1]]
    if (length(terms)) F <- Reduce(`+`, lapply(terms, `[[`, "F"))[, , sample(p$d^2, 1)]
  }
  if (stats::runif(1) < 0.3) F <- F * Vj(stats::rnorm(nrow(p$y)) * random_size(-6, 6))
  if (stats::runif(1) < 0.3) F <- Vi(stats::runif(nrow(p$x)) * random_size(-6, 6)) * F
  if (stats::runif(1) < 0.3) F <- F * Vi(matrix(stats::rnorm(nrow(p$x) * width(F)), nrow(p$x)))
  if (stats::runif(1) < 0.1 && width(F) > 1) F <- sum(F)
  if (stats::runif(1) < 0.3) F <- -F
  tol <- random_tolerance(p$d)
  list(F = F, tol = tol, b = random_weights(nrow(p$y)),
       text = paste(p$text, "tol", tol, kernweave:::formula_text(F$formula, 400L)))
}
