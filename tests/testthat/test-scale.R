# Coefficients of distances in exponents that go into the points: where it happens, where it must not, and how exact it is.

test_that("coefficients of exponents go into points that nothing else reads, any others stay", {
  set.seed(30)
  X <- Vi(cloud(150, 3))
  Y <- Vj(cloud(140, 3))
  b <- Vj(stats::rnorm(140))
  s <- Pm(0.7)
  scale <- Pm(stats::runif(3))
  d <- sqdist(X, Y)
  scaled <- list(
    sum_of(exp(-d) * b), sum_of(exp(-d / (2 * s^2)) * b), sum_of(exp(-sqrt(d))), sum_of(exp(-sqrt(d) / s) * b), sum_of(1 - exp(-d)),
    sum_of(exp(-sqdist(X * scale, Y * scale) / s)), sum_of(exp(-d), index = "ij"), sum_of(exp(-d), index = "i"), reduction(exp(-d), "min", call = FALSE),
    sum_of(exp(-sqdist(X[c(1:150, 3), ], Y))), sum_of(exp(-sum((X - Y)^2)) * b)
  )
  for (R in scaled) {
    expect_identical(form_of(R), "scaled variant", info = format(R))
    exact <- as.matrix(lazy_set(R, device = "reference"))
    expect_close(as.matrix(R), exact, 1e-13, scale = 140 * max(1, max(abs(exact))))
    expect_close(as.matrix(lazy_set(R, precision = "float32")), exact, 5e-6, scale = 140 * max(1, max(abs(exact))))
  }
  direct <- list(
    sum_of(exp(-d) - exp(-2 * d)), sum_of(exp(-d) * d), sum_of(exp(-d) * (X - Y)), sum_of(exp(-sqrt(d)) * (1 + sqrt(d))), sum_of(exp(-d * b)),
    sum_of(exp(d)), sum_of(exp(-d * Pm(-1))), sum_of(exp(-sqdist(X * scale, Y))), sum_of(1 / (1 + d)), sum_of(exp(-sqdist(X, Pm(1:3)) * b))
  )
  for (R in direct) {
    expect_identical(form_of(R), "direct variant", info = format(R))
    exact <- as.matrix(lazy_set(R, device = "reference"))
    expect_close(as.matrix(R), exact, 1e-13, scale = 140 * max(1, max(abs(exact))))
  }
})

test_that("points far from 0 are scaled; outliers, narrow kernels, few points and what is not finite are not", {
  set.seed(31)
  form <- function(x, y, s = 1, ...) form_of(sum_of(exp(-sqdist(Vi(x), Vj(y)) * s), ...))
  with_entry <- function(x, entry) replace(x, 7, entry)
  for (precision in c("float64", "float32")) {
    x <- cloud(200, 3, 1e4)
    y <- cloud(300, 3, 1e4)
    expect_identical(form(x, y, precision = precision), "scaled variant")
    expect_identical(form(x, y, 0, precision = precision), "scaled variant")
    for (s in c(5000, Inf, NaN, -1)) expect_identical(form(x, y, s, precision = precision), "direct variant")
    expect_identical(form(x[1:20, ], y, precision = precision), "direct variant")
    for (entry in c(0, NaN, Inf)) expect_identical(form(with_entry(x, entry), y, precision = precision), "direct variant")
    K <- exp(-sqdist(Vi(x), Vj(y)))
    exact <- sum(K, index = "j", device = "reference")
    expect_close(sum(K, index = "j", precision = precision), exact, if (precision == "float64") 1e-13 else 5e-6, scale = max(exact))
  }
})

test_that("at the edge of what is allowed, sums keep their accuracy, coincident points included", {
  set.seed(32)
  for (precision in c("float64", "float32")) for (rooted in c(FALSE, TRUE)) {
    most <- if (precision == "float64") 1e-13 / 2^-53 else 5e-6 / 2^-24
    x <- cloud(300, 3) - 0.5
    y <- x[sample(300, 260), ]
    s <- 0.9 * most / (2 * max(rowSums(sweep(x, 2, colMeans(x))^2))) * log(2)^(1 + rooted)
    distance <- if (rooted) sqrt(sqdist(Vi(x), Vj(y))) * sqrt(s) else sqdist(Vi(x), Vj(y)) * s
    R <- sum_of(exp(-distance), precision = precision)
    expect_identical(form_of(R), "scaled variant")
    exact <- as.matrix(lazy_set(R, device = "reference", precision = "float64"))
    expect_close(as.matrix(R) / exact, exact / exact, if (precision == "float64") 1e-13 else 5e-6)
  }
})
