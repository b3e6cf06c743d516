# Formulas whose kernels are compiled at installation, by the names that fused.def has for them (one formula may have
# several, for the several forms of its plan). `w`: weights of the points that are summed over; `...`: for reduction().

common_pairs <- function(x, y, w, index = "j", ..., s = 0.7) {
  X <- Vi(x)
  Y <- Vj(y)
  W <- if (index == "i") Vi(w) else Vj(w)
  first <- if (index == "i") Vi(w[, 1]) else Vj(w[, 1])
  d2 <- sqdist(X, Y)
  products <- sum(X * Y)
  kernels <- list(
    gauss_scaled = exp(-d2 / (2 * s^2)), laplace_scaled = exp(-sqrt(d2) / s),
    laplace_of_scale = kernel_laplacian(x, y, s),
    manhattan_laplace = exp(-manhattan(X, Y) / s), matern32 = kernel_matern(x, y, s, nu = 1.5),
    matern52 = kernel_matern(x, y, s, nu = 2.5), cauchy = 1 / (1 + d2),
    cauchy_of_scale = kernel_cauchy(x, y, s),
    multiquadric = 1 / sqrt(1 + d2), multiquadric_of_scale = kernel_inverse_multiquadric(x, y, s),
    rational_quadratic = kernel_rational_quadratic(x, y, alpha = 3.3, scale = s), squares = d2, distances = sqrt(d2),
    thin_plate = kernel_thin_plate(x, y), manhattan = manhattan(X, Y), products = products, cubes = (products + 0.5)^3
  )
  passed <- list(...)
  reduced <- function(F, by, index_of = index, ...) do.call(reduction, c(list(F, by, index = index_of, ...), passed))
  sums <- lapply(kernels, function(K) reduced(K * W, "sum"))
  c(sums, list(
    energy = reduced(kernel_energy(x, y) * first, "sum"), gauss_of_all = reduced(exp(-d2 / (2 * s^2)), "sum", "ij"),
    logsumexp = reduced(-d2 / (2 * s^2), "logsumexp"),
    logsumexp_negative = reduced(-d2, "logsumexp", weight = abs(first)),
    transport = reduced(first - d2 / s, "logsumexp"), softmax = reduced(-d2 / s, "sumsoftmaxweight", weight = W),
    softmax_negative = reduced(-d2, "sumsoftmaxweight", weight = W),
    attention = reduced(products / s, "sumsoftmaxweight", weight = W),
    least = reduced(d2, "min"), nearest = reduced(d2, "min_argmin"),
    several_nearest = reduced(d2, "Kmin_argKmin", K = 5),
    several_nearest_distances = reduced(sqrt(d2), "Kmin", K = 3), most_alike = reduced(products, "max_argmax"),
    several_most_alike = reduced(products, "Kmax", K = 9)
  ))
}

# Rows whose exponents are all far below 0, by what reduces them. Farther out a float32 has no digits for what tells
# terms apart.
far_exponents <- function(device, precision = "float64") {
  x <- matrix(if (precision == "float64") c(1e3, 1e5, 1e12, 1e18, 0) else c(1e3, 1e5))
  y <- matrix(c(0.1, 0.2, 0.3, 0.4, 2e6, rep(0.5, 12)))
  d2 <- sqdist(Vi(x), Vj(y)) / (2 * 0.7^2)
  run <- function(...) reduction(-d2, index = "j", device = device, precision = precision, ...)
  list(logsumexp = run("logsumexp"), weighed = run("logsumexp", weight = Vj(1 + y / 1e7)),
       softmax = run("sumsoftmaxweight", weight = Vj(1 + 0 * y)))
}

# Exponents that leap, so that the scale of a sum is wrong from one term to the next, and weights of all sizes; by what
# is the matter. All numbers but the largest are what they are in float32.
leaping_exponents <- function(n = 700) {
  one <- rep(1, n)
  mixed <- function(...) sample(rep_len(c(...), n))
  some <- mixed(-2, 0, 3)
  far <- mixed(0, 500)
  list(
    rising = list(-2800 + 8 * seq_len(n), one), falling = list(2800 - 8 * seq_len(n), one),
    leaping = list(mixed(-2000, -1000, -100, 0, 90, 100), one),
    late = list(rep(c(-1000, 0), c(n - 5, 5)), one), weighed = list(mixed(-80, 0, 60), mixed(1e-30, 1, 1e25)),
    signed = list(some, mixed(-1, 2, 3)),
    unweighed = list(far, ifelse(far == 0, 1, 0)), weighed_late = list(some, rep(0:1, c(300, n - 300))),
    nothing_first = list(replace(some, 1:300, -Inf), one),
    nothing = list(rep(-Inf, n), one), infinite = list(replace(some, 555, Inf), one),
    missing = list(replace(some, 555, NaN), one),
    no_number_weighs = list(some, replace(one, 444, NaN)), back_from_afar = list(rep(c(-4e9, 0), c(300, n - 300)), one),
    far_off = list(rep(c(0, 4e9), c(300, n - 300)), one)
  )
}
# Computes a case's reductions that have a scale, in loops that are compiled whole and in loops that are not, beside
# what base R finds.
leaping_sums <- function(case, device, precision) {
  x <- matrix(rep_len(c(0, 1, 2.5, 3), 45))
  y <- matrix(rep_len(c(0, 0.5, 2), length(case[[1]])))
  V <- Vj(matrix(case[[1]]))
  W <- Vj(matrix(case[[2]]))
  forms <- list(squared = V - sqdist(Vi(x), Vj(y)), plain = V - abs(Vi(x) - Vj(y)))
  exponents <- list(squared = -outer(c(x), c(y), "-")^2, plain = -abs(outer(c(x), c(y), "-")))
  found <- list()
  for (form in names(forms)) for (op in c("LogSumExp", "SumSoftMaxWeight")) {
    expected <- apply(exponents[[form]], 1, function(e) oracle_reductions[[op]](case[[1]] + e, case[[2]], 1L)$value)
    actual <- as.matrix(reduction(forms[[form]], tolower(op), weight = W, index = "j", call = FALSE, device = device,
                                  precision = precision))
    found[[paste(form, op)]] <- list(actual = actual, expected = expected)
  }
  found
}
expect_leaping_sums <- function(device, precision, label = device) {
  set.seed(25)
  cases <- leaping_exponents()
  for (name in names(cases)) {
    sums <- leaping_sums(cases[[name]], device, precision)
    for (of in names(sums)) {
      expect_close(sums[[of]]$actual, sums[[of]]$expected, 2 * tolerance_of(precision), scale = 10,
                   label = paste(name, of, precision, label))
    }
  }
}
