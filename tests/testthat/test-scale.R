# Coefficients of distances in exponents that go into the points: where it happens, where it must not, and how exact it
# is.

test_that("coefficients of exponents go into points that nothing else reads, any others stay", {
  skip_below("quick")
  set.seed(30)
  X <- Vi(cloud(150, 3))
  Y <- Vj(cloud(140, 3))
  b <- Vj(stats::rnorm(140))
  s <- Pm(0.7)
  scale <- Pm(stats::runif(3))
  d <- sqdist(X, Y)
  scaled <- list(
    sum_of(exp(-d) * b), sum_of(exp(-d / (2 * s^2)) * b), sum_of(exp(-sqrt(d))), sum_of(exp(-sqrt(d) / s) * b),
    sum_of(1 - exp(-d)),
    sum_of(exp(-sqdist(X * scale, Y * scale) / s)), sum_of(exp(-d), index = "ij"), sum_of(exp(-d), index = "i"),
    reduction(exp(-d), "min", call = FALSE),
    sum_of(exp(-sqdist(X[c(1:150, 3), ], Y))), sum_of(exp(-sum((X - Y)^2)) * b)
  )
  for (R in scaled) {
    expect_identical(form_of(R), "scaled variant", info = format(R))
    exact <- as.matrix(lazy_set(R, device = "reference"))
    expect_close(as.matrix(R), exact, 1e-13, scale = 140 * max(1, max(abs(exact))))
    expect_close(as.matrix(lazy_set(R, precision = "float32")), exact, 5e-6, scale = 140 * max(1, max(abs(exact))))
  }
  direct <- list(
    sum_of(exp(-d) - exp(-2 * d)), sum_of(exp(-d) * d), sum_of(exp(-sqrt(d)) * (1 + sqrt(d))), sum_of(exp(-d * b)),
    sum_of(exp(d)), sum_of(exp(-d * Pm(-1))), sum_of(exp(-sqdist(X * scale, Y))), sum_of(1 / (1 + d)),
    sum_of(exp(-sqdist(X, Pm(1:3)) * b))
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
    for (entry in c(0, NaN, Inf)) {
      expect_identical(form(with_entry(x, entry), y, precision = precision), "direct variant")
    }
    K <- exp(-sqdist(Vi(x), Vj(y)))
    exact <- sum(K, index = "j", device = "reference")
    expect_close(sum(K, index = "j", precision = precision), exact, if (precision == "float64") 1e-13 else 5e-6,
                 scale = max(exact))
  }
})

test_that("exponents that grow are those of unscaled points, even where all points are one", {
  for (spread in c(0, 1e-200, 1)) for (precision in c("float64", "float32")) {
    x <- matrix(0.5 + spread * seq_len(400) / 400, 200)
    for (K in list(exp(3 * sqdist(Vi(x), Vj(x))), exp(-Pm(-2) * sqrt(sqdist(Vi(x), Vj(x)))))) {
      exact <- sum(K, index = "j", device = "reference", precision = "float64")
      expect_equal(sum(K, index = "j", precision = precision), exact, tolerance = 1e-5)
    }
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

test_that("what else reads the points reads them as they are", {
  set.seed(33)
  X <- Vi(cloud(150, 3))
  Y <- Vj(cloud(140, 3))
  b <- Vj(stats::rnorm(140))
  scale <- Pm(stats::runif(3))
  gathered <- X[c(1:150, 3), ]
  d <- sqdist(X, Y)
  scaled <- list(
    sum_of(exp(-d) * (X - Y)), sum_of(exp(-d / 2) * b * (X - Y)), sum_of(exp(-d) * (b * (Y - X))),
    sum_of(b * (X - Y) * exp(-sqrt(d) * 3)),
    sum_of(exp(-sqdist(X * scale, Y * scale)) * b * (X * scale - Y * scale)),
    sum_of(exp(-sqdist(gathered, Y)) * b * (gathered - Y)),
    sum_of(exp(-d) * b * (X - Y) * X), sum_of(exp(-d) * b * (X - Y), index = "ij"), sum_of(exp(-0 * d) * b * (X - Y)),
    sum_of(exp(-d) * elem(X, 1) * elem(Y, 2))
  )
  for (R in scaled) expect_identical(form_of(R), "scaled variant", info = format(R))
  others <- list(sum_of(exp(-d) * b * square(X - Y)), sum_of(exp(-d) * b * (X + Y)),
                 sum_of(exp(-d) * b * (X - Y) - exp(-2 * d) * (X - Y)))
  for (R in c(scaled, others)) {
    exact <- as.matrix(lazy_set(R, device = "reference"))
    expect_close(as.matrix(R), exact, 1e-13, scale = 150 * 140 * max(1, max(abs(exact))))
    expect_close(as.matrix(lazy_set(R, precision = "float32")), exact, 5e-6, scale = 140 * max(1, max(abs(exact))))
  }
})

test_that("what jumps between differences jumps where it should, for whole numbers and halves, near 0 and far off", {
  skip_below("quick")
  set.seed(35)
  for (unit in c(1, 0.5, 1024)) for (offset in c(0, 7, 1e6)) for (precision in test_precisions()) {
    X <- Vi(unit * matrix(sample(0:9, 200, replace = TRUE) + offset))
    Y <- Vj(unit * matrix(sample(0:9, 210, replace = TRUE) + offset))
    b <- Vj(stats::runif(210))
    K <- exp(-sqdist(X, Y) * (0.3 / unit^2))
    jump <- (X - Y) / unit >= 1
    for (R in list(sum_of(K * b * floor((X - Y) / unit)), sum_of(K * b * lazy_if(jump, 1, 0)),
                   reduction(lazy_if(jump, K, 2), "min", index = "j", call = FALSE)))
      expect_close(as.matrix(lazy_set(R, precision = precision)), as.matrix(lazy_set(R, device = "reference")),
                   tolerance_of(precision), scale = 210)
    least <- reduction(lazy_if(jump, (X - Y) / unit, 20), "argmin", index = "j", call = FALSE)
    expect_identical(as.matrix(lazy_set(least, precision = precision)),
                     as.matrix(lazy_set(least, device = "reference")))
  }
})

test_that("gradients within clusters that are far apart keep what the points' differences have", {
  set.seed(36)
  for (spread in c(1e-2, 1e-3, 1e-6)) {
    x <- spread * cloud(200, 3) + 20 * rep(0:1, each = 100)
    X <- Vi(x)
    Y <- Vj(x + spread * cloud(200, 3))
    R <- sum_of(exp(-sqdist(X, Y)) * Vj(stats::rnorm(200)) * (X - Y))
    expect_identical(form_of(R), "scaled variant")
    expect_close(as.matrix(R), as.matrix(lazy_set(R, device = "reference")), 1e-13, scale = 100 * spread)
  }
})

test_that("gradients of Gaussian sums are scaled, and as exact as direct ones, for narrow and wide kernels far off", {
  set.seed(34)
  for (s in c(1e-3, 1, 1e3)) for (offset in c(0, 1e4)) for (precision in test_precisions()) {
    x <- cloud(150, 3, offset)
    y <- rbind(cloud(130, 3, offset), x[1:10, ])
    X <- Vi(x)
    Y <- Vj(y)
    B <- Vj(matrix(stats::rnorm(140)))
    R <- sum_of(exp(-sqdist(X, Y) * s) * B, precision = precision)
    g <- matrix(stats::rnorm(150))
    found <- vjp(R, list(X, Y, B), cotangent = g)
    exact <- vjp(lazy_set(R, precision = "float64", device = "reference"), list(X, Y, B), cotangent = g)
    for (k in seq_along(found)) {
      expect_close(found[[k]], exact[[k]], tolerance_of(precision),
                   scale = max(abs(exact[[k]])) * if (offset > 0 && precision == "float64") 1e4 else 1)
    }
  }
})

# Returns what the GPU's engine says of each form of a reduction: seconds, NA if it cannot run the form.
gpu_prices <- function(R) {
  options <- list(precision = "float32", rewrite = TRUE, checks = FALSE, pairs = FALSE)
  lines <- strsplit(through("replay", R$outputs, R$extents, options, 1e5)[["price"]], "\n")[[1]]
  of_gpu <- grep("^gpu ", lines, value = TRUE)
  prices <- suppressWarnings(as.numeric(sub("^gpu ([^ ]*) seconds$", "\\1", of_gpu)))
  stats::setNames(prices, grep("^(cpu|gpu) ", lines, value = TRUE, invert = TRUE))
}

test_that("a GPU can run scaled points beside the same points as they are, and its price says that it should not", {
  X <- Vi(cloud(7, 3))
  Y <- Vj(cloud(5, 3))
  b <- Vj(cloud(5, 1))
  d <- sqdist(X, Y)
  once <- list(exp(-d) * b, exp(-sqrt(d)), exp(-d) * b * X, exp(-d) * Y, exp(-sqrt(d)) * sum(Y))
  for (F in once) expect_lt(gpu_prices(sum_of(F))[["scaled"]], gpu_prices(sum_of(F))[["direct"]])
  twice <- list(exp(-d) * b * (X - Y), exp(-sqrt(d)) * b * (X - Y), exp(-d) * b * sum(abs(X - Y)))
  for (F in twice) {
    prices <- gpu_prices(sum_of(F))
    expect_false(anyNA(prices), label = format(F))
    expect_lt(prices[["direct"]], prices[["scaled"]], label = format(F))
  }
})
