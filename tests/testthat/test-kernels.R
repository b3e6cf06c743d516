# Ready kernels against their formulas in base R.

set.seed(4)
x <- matrix(stats::rnorm(8), 4)
y <- matrix(stats::rnorm(10), 5)

distances <- function(scale) {
  d <- 0
  for (k in 1:2) d <- d + (outer(x[, k], y[, k], "-") / rep_len(scale, 2)[k])^2
  sqrt(d)
}

test_that("every kernel has the values of its formula, with one scale and with one for each component", {
  for (s in list(0.7, c(0.5, 2))) {
    d <- distances(s)
    expected <- list(
      kernel_gaussian = exp(-d^2 / 2), kernel_laplacian = exp(-d), kernel_cauchy = 1 / (1 + d^2),
      kernel_inverse_multiquadric = 1 / sqrt(1 + d^2),
      kernel_energy = -d, kernel_thin_plate = d^2 * log(d), kernel_rational_quadratic = 1 / (1 + d^2 / 2)
    )
    for (name in names(expected)) expect_equal(as.matrix(get(name)(x, y, scale = s)), expected[[name]], label = name)
    matern <- list(exp(-d), (1 + sqrt(3) * d) * exp(-sqrt(3) * d), (1 + sqrt(5) * d + 5 * d^2 / 3) * exp(-sqrt(5) * d),
                   exp(-d^2 / 2))
    for (k in 1:4) expect_equal(as.matrix(kernel_matern(x, y, s, nu = c(0.5, 1.5, 2.5, Inf)[k])), matern[[k]])
    products <- 0
    for (k in 1:2) products <- products + outer(x[, k], y[, k]) / rep_len(s, 2)[k]^2
    expect_equal(as.matrix(kernel_polynomial(x, y, 3, 0.5, s)), (products + 0.5)^3)
    waves <- 0
    for (k in 1:2) waves <- waves + (sin(pi * outer(x[, k], y[, k], "-") / 1.7) / rep_len(s, 2)[k])^2
    expect_equal(as.matrix(kernel_periodic(x, y, s, period = 1.7)), exp(-2 * waves))
  }
})

test_that("the help's formula of Matern's kernel holds, and so does its range elsewhere", {
  of_range <- function(d, nu) 2^(1 - nu) / gamma(nu) * d^nu * besselK(d, nu)
  for (nu in c(1, 3, 5) / 2) {
    by_range <- of_range(distances(1) / (0.7 / sqrt(2 * nu)), nu)
    expect_equal(as.matrix(kernel_matern(x, y, scale = 0.7, nu = nu)), by_range)
  }
})

test_that("without `y` the points are on both sides, lazy tensors and scales to be differentiated are taken", {
  expect_equal(as.matrix(kernel_gaussian(x)), exp(-as.matrix(stats::dist(x))^2 / 2), ignore_attr = TRUE)
  X <- Vi(x)
  expect_equal(as.matrix(kernel_gaussian(X)), as.matrix(kernel_gaussian(x)))
  s <- Pm(0.7, name = "s")
  slope <- vjp(sum(kernel_laplacian(x, y, s), index = "ij", call = FALSE), s)
  total <- function(s) sum(exp(-distances(s)))
  expect_equal(slope, (total(0.7 + 1e-6) - total(0.7 - 1e-6)) / 2e-6, tolerance = 1e-7)
})

test_that("mistakes are refused by class", {
  expect_error(kernel_gaussian(x, y, -1), class = "kernweave_error_input")
  expect_error(kernel_gaussian(x, y, c(1, 2, 3)), class = "kernweave_error_shape")
  expect_error(kernel_gaussian(x, cbind(y, 1)), class = "kernweave_error_shape")
  expect_error(kernel_matern(x, y, nu = 6), class = "kernweave_error_value")
  expect_error(kernel_periodic(x, y, period = c(1, 2)), class = "kernweave_error_input")
})

# --- derivatives --------------------------------------------------------------------------------------------------

# Every kernel as lazy formula, as a function of base R, and the order from which on its derivative is taken to be 0
# where points coincide.
distance_of <- function(f) {
  function(x, y, s) f(sqrt(Reduce(`+`, lapply(1:2, function(k) outer(x[, k], y[, k], "-")^2))) / s)
}
derived_kernels <- list(
  gaussian = list(kernel_gaussian, distance_of(function(d) exp(-d^2 / 2))),
  laplacian = list(kernel_laplacian, distance_of(function(d) exp(-d)), 1),
  matern12 = list(function(...) kernel_matern(..., nu = 1 / 2), distance_of(function(d) exp(-d)), 1),
  matern32 = list(function(...) kernel_matern(..., nu = 3 / 2),
                  distance_of(function(d) (1 + sqrt(3) * d) * exp(-sqrt(3) * d))),
  matern52 = list(function(...) kernel_matern(..., nu = 5 / 2),
                  distance_of(function(d) (1 + sqrt(5) * d + 5 * d^2 / 3) * exp(-sqrt(5) * d))),
  cauchy = list(kernel_cauchy, distance_of(function(d) 1 / (1 + d^2))),
  inverse_multiquadric = list(kernel_inverse_multiquadric, distance_of(function(d) 1 / sqrt(1 + d^2))),
  rational_quadratic = list(function(...) kernel_rational_quadratic(..., alpha = 1.5),
                            distance_of(function(d) (1 + d^2 / 3)^-1.5)),
  energy = list(kernel_energy, distance_of(function(d) -d), 1),
  thin_plate = list(kernel_thin_plate, distance_of(function(d) ifelse(d == 0, 0, d^2 * log(d))), 2),
  polynomial = list(function(x, y = NULL, s) kernel_polynomial(x, y, 3, 0.5, s),
                    function(x, y, s) (tcrossprod(x, y) / s^2 + 0.5)^3),
  periodic = list(function(...) kernel_periodic(..., period = 1.7), function(x, y, s) {
    exp(-2 / s^2 * Reduce(`+`, lapply(1:2, function(k) sinpi(outer(x[, k], y[, k], "-") / 1.7)^2)))
  })
)
slopes <- function(f, at, h = 1e-5) {
  vapply(seq_along(at), function(k) {
    step <- replace(0 * at, k, h)
    (f(at + step) - f(at - step)) / (2 * h)
  }, 0)
}
test_that("every kernel has derivatives of first and second order in points and scale, also where points coincide", {
  skip_below("quick")
  p <- list(x = rbind(x, x[1, ]), y = rbind(y, x[1:2, ]), s = 0.8)
  apart <- 1 * (distance_of(identity)(p$x, p$y, 1) > 0)
  for (name in names(derived_kernels)) {
    kernel <- derived_kernels[[name]]
    no_order <- if (length(kernel) > 2) kernel[[3]] else Inf
    value <- function(p, mask) sum(mask * kernel[[2]](p$x, p$y, p$s))
    slope <- function(p, one, order) {
      mask <- if (no_order <= order) apart else 1
      slopes(function(v) value(replace(p, one, list(v)), mask), p[[one]])
    }
    along <- list(x = p$x / 3, y = 0.5 - p$y, s = 0.3)
    everywhere(function(...) {
      tolerance <- if (list(...)$precision == "float32") 2e-4 else 1e-5
      lazy <- list(x = Vi(p$x, name = "x"), y = Vj(p$y, name = "y"), s = Pm(p$s, name = "s"))
      R <- sum(kernel[[1]](lazy$x, lazy$y, lazy$s), index = "ij", call = FALSE, ...)
      for (one in names(p)) {
        expect_close(vjp(R, one), slope(p, one, 1), tolerance, label = paste(name, one, ...))
        for (other in names(p)) {
          moved <- function(h) replace(p, other, list(p[[other]] + h * along[[other]]))
          # A short step: Matern's 3/2 has a jump in its third derivative where points coincide.
          bend <- (slope(moved(3e-5), one, 2) - slope(moved(-3e-5), one, 2)) / 6e-5
          first <- vjp(R, one, 1, call = FALSE)
          expect_close(jvp(first, other, along[[other]]), bend, 20 * tolerance, scale = 1 + max(abs(bend)),
                       label = paste(name, one, other, ...))
        }
      }
    })
  }
})

# Computes the second derivatives of the sum over y in a point: the Hessian of the kernel's formula, as it is at 0, too.
matern_hessian <- function(point, y, l, nu) {
  rate <- sqrt(2 * nu) / l
  of_one <- function(k) {
    d <- point - y[k, ]
    r <- sqrt(sum(d^2))
    one <- diag(length(d))
    along <- tcrossprod(d)
    if (nu == 3 / 2) return(-rate^2 * exp(-rate * r) * (one - if (r > 0) rate * along / r else 0 * along))
    -rate^2 / 3 * exp(-rate * r) * ((1 + rate * r) * one - rate^2 * along)
  }
  Reduce(`+`, lapply(seq_len(nrow(y)), of_one))
}

test_that("second derivatives of Matern's kernels are theirs where points coincide or nearly do, as in closed form", {
  skip_below("quick")
  for (D in c(1, 2, 3, 7)) for (nu in c(3, 5) / 2) for (scale in list(0.7, rep(0.7, D))) {
    x <- cloud(5, D)
    y <- rbind(x[1, ], x[1, ], x[2, ] + 1e-9, x[3, ] + 1e-5, cloud(2, D))
    expected <- vapply(1:5, function(i) matern_hessian(x[i, ], y, 0.7, nu), matrix(0, D, D))
    dim(expected) <- c(D, D, 5)
    for (device in c("reference", "cpu")) {
      K <- kernel_matern(Vi(x, name = "x"), y, scale, nu)
      first <- vjp(sum(K, index = "j", call = FALSE, device = device), "x", 1, call = FALSE)
      for (k in seq_len(D)) {
        bend <- jvp(first, "x", matrix(rep(replace(numeric(D), k, 1), each = 5), 5))
        expect_close(bend, t(matrix(expected[k, , ], D)), 1e-8, scale = 10, label = paste(D, nu, device))
      }
    }
  }
})

test_that("Laplacians of Matern's kernels at coincident points are those of the formula", {
  X <- Vi(x, name = "x")
  for (nu in c(3, 5) / 2) {
    at_0 <- if (nu == 3 / 2) -3 / 0.7^2 else -5 / 3 / 0.7^2
    L <- as.matrix(laplacian(kernel_matern(X, Vj(x, name = "y"), 0.7, nu), X))
    expect_equal(diag(L), rep(2 * at_0, 4))
  }
})

test_that("points given once are one operand, and its derivative moves both points of a pair", {
  p <- rbind(x, x[1, ])
  apart <- 1 * (distance_of(identity)(p, p, 1) > 0)
  for (name in names(derived_kernels)) {
    kernel <- derived_kernels[[name]]
    mask <- if (length(kernel) > 2) apart else 1
    slope <- slopes(function(v) sum(mask * kernel[[2]](v, v, 0.8)), p)
    everywhere(function(...) {
      R <- sum(kernel[[1]](p, s = 0.8), index = "ij", call = FALSE, ...)
      expect_close(vjp(R, "x"), slope, 2e-4, scale = 1 + max(abs(slope)), label = paste(name, ...))
    })
    twice <- vjp(sum(kernel[[1]](p, p, s = 0.8), index = "ij", call = FALSE), c("x", "y"))
    expect_close(twice$x + twice$y, slope, 1e-5, scale = 1 + max(abs(slope)), label = name)
  }
  expect_identical(names_in(kernel_gaussian(x)), "x")
  expect_identical(names_in(kernel_gaussian(x, y)), c("x", "y"))
})
