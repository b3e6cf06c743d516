# Squared distances in exponents as inner products: where it happens, where it must not, and how exact it is.

test_that("distances in exponents are contracted, any others are not", {
  skip_below("quick")
  set.seed(20)
  X <- Vi(cloud(150, 6))
  Y <- Vj(cloud(140, 6))
  b <- Vj(stats::rnorm(140))
  s <- Pm(0.7)
  scale <- Pm(stats::runif(6))
  d <- sqdist(X, Y)
  contracted <- list(
    sum_of(exp(-d) * b), sum_of(exp(-d * s) * b), sum_of(exp(-d / s) * Vj(cloud(140, 3))),
    sum_of(exp(-sqdist(X * scale, Y * scale)) * b),
    sum_of(exp(-d) * exp(-d / 3) * b), sum_of(exp(b - d)), sum_of(exp(-d) * (X - Y)), sum_of(square(exp(-d))),
    sum_of(exp(-sum((X - Y)^2))), sum_of(exp(-d) / (1 + b * b)), reduction(-d, "logsumexp", call = FALSE),
    reduction(b - d / s, "logsumexp", call = FALSE),
    sum_of(exp(-d) * b, index = "ij"), reduction(exp(-sqdist(X[c(1:150, 3), ], Y)), "sum", call = FALSE),
    vjp(sum_of(exp(-d) * b), X, cotangent = matrix(1, 150), call = FALSE)
  )
  for (R in contracted) {
    expect_identical(form_of(R), "contracted variant", info = format(R))
    exact <- as.matrix(lazy_set(R, device = "reference"))
    expect_close(as.matrix(R), exact, 1e-13, scale = 140 * max(1, max(abs(exact))))
  }
  not_contracted <- list(
    sum_of(1 / (1 + d)), sum_of(1 - exp(-d)), sum_of(exp(-d) - exp(-2 * d)), sum_of(d), sum_of(exp(-d) * d),
    reduction(d, "argKmin", K = 3, call = FALSE), reduction(exp(-d), "min", call = FALSE), sum_of(exp(-d * b)),
    sum_of(exp(-sqdist(X * scale, Y))),
    sum_of(exp(-sqdist(X, Pm(1:6)) * b)), sum_of(exp(-sqdist(elem(X, 1), elem(Y, 1))))
  )
  for (R in not_contracted) expect_false(form_of(R) == "contracted variant", info = format(R))
})

test_that("inner products in exponents have a condition in float32, and stay what they are", {
  skip_below("quick")
  set.seed(22)
  x <- cloud(150, 16)
  y <- cloud(140, 16)
  w <- cloud(140, 30)
  F <- (Vi(x) | Vj(y)) / 4
  s <- Pm(0.3)
  with_condition <- list(
    sum_of(exp(F)), sum_of(exp(F) * Vj(w)), reduction(F, "logsumexp", call = FALSE),
    reduction(F * s - Vj(w[, 1]), "logsumexp", call = FALSE), sum_of(exp((Vi(x) * s | Vj(y)))),
    reduction(F, "sumsoftmaxweight", weight = Vj(w), call = FALSE), sum_of(exp(F - sqdist(Vi(x), Vj(y)))))
  for (R in with_condition) {
    R <- lazy_set(R, precision = "float32")
    expect_match(form_of(R), "contracted variant", info = format(R))
    exact <- as.matrix(lazy_set(R, device = "reference", precision = "float64"))
    expect_close(as.matrix(R), exact, 5e-6, scale = max(abs(exact)))
  }
  # An inner product elsewhere does not keep a distance from being contracted.
  both <- sum_of(exp(-sqdist(Vi(x), Vj(y))) * (Vi(x) | Vj(y)))
  expect_identical(form_of(lazy_set(both, precision = "float32")), "contracted variant")
  without <- list(sum_of(((Vi(x) | Vj(y)) + 1)^3), sum_of(exp(F) - exp(2 * F)), sum_of(exp(200 * F)),
                  sum_of(exp((Vi(x[, 1:7]) | Vj(y[, 1:7])))), sum_of(exp((Vi(replace(x, 3, Inf)) | Vj(y)) / 4)))
  for (R in without) expect_false(form_of(lazy_set(R, precision = "float32")) == "contracted variant", info = format(R))
  expect_false(form_of(sum_of(exp(F))) == "contracted variant")
})

test_that("points far from 0 are contracted; outliers, narrow kernels, few points and what is not finite are not", {
  set.seed(21)
  form <- function(x, y, s = 1, ...) form_of(sum_of(exp(-sqdist(Vi(x), Vj(y)) * s), ...))
  with_entry <- function(x, entry) replace(x, 7, entry)
  for (precision in c("float64", "float32")) {
    x <- cloud(200, 8, 1e4)
    y <- cloud(300, 8, 1e4)
    expect_identical(form(x, y, precision = precision), "contracted variant")
    expect_identical(form(x, y, 1000, precision = precision), "direct variant")
    expect_identical(form(x, y, Inf, precision = precision), "direct variant")
    expect_identical(form(x[1:20, ], y, precision = precision), "direct variant")
    for (entry in c(0, NaN, Inf)) {
      expect_identical(form(with_entry(x, entry), y, precision = precision), "direct variant")
      expect_identical(form(x, with_entry(y, entry), precision = precision), "direct variant")
    }
    K <- exp(-sqdist(Vi(x), Vj(y)))
    exact <- sum(K, index = "j", device = "reference")
    expect_close(sum(K, index = "j", precision = precision), exact, if (precision == "float64") 1e-13 else 5e-6,
                 scale = max(exact))
  }
})

# The guard's own arithmetic: what the farthest points may have, in exponents.
edge_of_guard <- function(d, precision) {
  wide <- precision == "float64"
  part <- ceiling(d / ceiling(d / if (wide) 64 else 20))
  near <- 1 + (1.8 + 0.7 * sqrt(part)) * sqrt(part / d)
  (if (wide) 1e-13 / 2^-53 else 5e-6 / 2^-24) / max(near, d / (if (wide) 22 else 50))
}

expect_accurate_at_edge <- function(device, unit, share = 0.9) {
  for (precision in c("float64", "float32"))
    for (d in c(5, 17, 64, 200)) {
      x <- unit * (cloud(300, d) - 0.5)
      y <- x[sample(300, 260), ]
      reach <- 2 * max(rowSums(sweep(x, 2, colMeans(x))^2))
      s <- share * edge_of_guard(d, precision) / reach
      R <- sum_of(exp(-sqdist(Vi(x), Vj(y)) * s), precision = precision)
      expect_identical(form_of(R), "contracted variant")
      exact <- as.matrix(lazy_set(R, device = "reference", precision = "float64"))
      expect_close(as.matrix(lazy_set(R, device = device)) / exact, exact / exact,
                   if (precision == "float64") 1e-13 else 5e-6, label = paste(d, precision))
    }
}

test_that("at the edge of what is allowed, every term keeps its accuracy, coincident points included, in any units", {
  skip_below("quick")
  set.seed(22)
  units <- if (reaches("usual")) c(1, 1e-7, 1e7) else 1e7
  cases <- combinations(device = setdiff(test_devices(), "reference"), unit = units)
  for (case in seq_len(nrow(cases))) expect_accurate_at_edge(cases$device[case], cases$unit[case])
})

test_that("tensor cores keep the accuracy of every term at the edge of what is left to them", {
  skip_without_gpu()
  set.seed(23)
  for (unit in c(1, 1e-7, 1e7)) expect_accurate_at_edge("gpu", unit, 0.29)
})

test_that("exponents are taken apart where the condition bounds them, and nowhere else", {
  set.seed(24)
  X <- Vi(cloud(150, 3), name = "x")
  Y <- Vj(cloud(140, 3), name = "y")
  f <- Vi(stats::rnorm(150), name = "f")
  g <- Vj(stats::rnorm(140), name = "g")
  expanded <- function(F) {
    passes <- explain(sum_of(F))$passes
    passes$outcome[passes$pass == "expand"]
  }
  powers <- function(F) regmatches(expanded(F), gregexpr("exp2", expanded(F)))[[1]]
  expect_length(powers(exp(-sqdist(X, Y))), 3)
  # one distance for both: its squares are in no one exponent
  expect_length(powers(exp(-sqdist(X, Y)) * exp(-sqdist(X, Y) / 3)), 2)
  # Potentials of transport may be of any size: only with the distance they are small.
  together <- expanded(exp(f + g - sqdist(X, Y)))
  expect_false(any(grepl("exp2\\((f|g)\\)", together)))
  expect_length(expanded(1 / (1 + sqdist(X, Y))), 0)
})
