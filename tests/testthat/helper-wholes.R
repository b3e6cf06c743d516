# Formulas whose kernels are compiled at installation, by the names that wholes.def has for them (one formula may have several, for the
# several forms of its plan). `w`: weights of the points that are summed over; `...`: for reduction().

common_pairs <- function(x, y, w, index = "j", ..., s = 0.7) {
  X <- Vi(x)
  Y <- Vj(y)
  W <- if (index == "i") Vi(w) else Vj(w)
  first <- if (index == "i") Vi(w[, 1]) else Vj(w[, 1])
  d2 <- sqdist(X, Y)
  products <- sum(X * Y)
  kernels <- list(
    gauss_scaled = exp(-d2 / (2 * s^2)), laplace_scaled = exp(-sqrt(d2) / s), laplace_of_scale = kernel_laplacian(x, y, s),
    manhattan_laplace = exp(-manhattan(X, Y) / s), matern32 = (1 + sqrt(3 * d2)) * exp(-sqrt(3 * d2)),
    matern32_of_scale = kernel_matern(x, y, s, nu = 1.5), matern52 = (1 + sqrt(5 * d2) + 5 / 3 * d2) * exp(-sqrt(5 * d2)),
    matern52_of_scale = kernel_matern(x, y, s, nu = 2.5), cauchy = 1 / (1 + d2), cauchy_of_scale = kernel_cauchy(x, y, s),
    multiquadric = 1 / sqrt(1 + d2), multiquadric_of_scale = kernel_inverse_multiquadric(x, y, s),
    rational_quadratic = kernel_rational_quadratic(x, y, alpha = 3.3, scale = s), squares = d2, distances = sqrt(d2),
    thin_plate = kernel_thin_plate(x, y), manhattan = manhattan(X, Y), products = products, cubes = (products + 0.5)^3
  )
  passed <- list(...)
  reduced <- function(F, by, index_of = index, ...) do.call(reduction, c(list(F, by, index = index_of, ...), passed))
  sums <- lapply(kernels, function(K) reduced(K * W, "sum"))
  c(sums, list(
    energy = reduced(kernel_energy(x, y) * first, "sum"), gauss_of_all = reduced(exp(-d2 / (2 * s^2)), "sum", "ij"),
    logsumexp = reduced(-d2 / (2 * s^2), "logsumexp"), logsumexp_negative = reduced(-d2, "logsumexp", weight = abs(first)),
    transport = reduced(first - d2 / s, "logsumexp"), softmax = reduced(-d2 / s, "sumsoftmaxweight", weight = W),
    softmax_negative = reduced(-d2, "sumsoftmaxweight", weight = W), attention = reduced(products / s, "sumsoftmaxweight", weight = W),
    least = reduced(d2, "min"), nearest = reduced(d2, "min_argmin"), several_nearest = reduced(d2, "Kmin_argKmin", K = 5),
    several_nearest_distances = reduced(sqrt(d2), "Kmin", K = 3), most_alike = reduced(products, "max_argmax"),
    several_most_alike = reduced(products, "Kmax", K = 9)
  ))
}

# Rows whose exponents are all far below 0, by what reduces them. Farther out a float32 has no digits for what tells terms apart.
far_exponents <- function(device, precision = "float64") {
  x <- matrix(if (precision == "float64") c(1e3, 1e5, 1e12, 1e18, 0) else c(1e3, 1e5))
  y <- matrix(c(0.1, 0.2, 0.3, 0.4, 2e6, rep(0.5, 12)))
  d2 <- sqdist(Vi(x), Vj(y)) / (2 * 0.7^2)
  run <- function(...) reduction(-d2, index = "j", device = device, precision = precision, ...)
  list(logsumexp = run("logsumexp"), weighed = run("logsumexp", weight = Vj(1 + y / 1e7)), softmax = run("sumsoftmaxweight", weight = Vj(1 + 0 * y)))
}
