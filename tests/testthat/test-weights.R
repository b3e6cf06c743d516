# Sums with weights, however they come about: one by one with the strip, as differences of points, as a product of
# matrices.

# The sizes: every length around those of vectors, strips and tiles.
weigh_sizes <- list(c(1, 1), c(5, 3), c(17, 130), c(64, 257), c(133, 66))

for (isa in instruction_sets) {
  test_that(paste("sums with one weight and with many on", isa, "lanes, at every length of the tail"), {
    set.seed(21)
    for (size in weigh_sizes) for (width in c(1, 4:13, 29, 60)) {
      x <- matrix(stats::runif(size[1] * 2), size[1])
      y <- matrix(stats::runif(size[2] * 2), size[2])
      b <- matrix(stats::rnorm(size[2] * width), size[2])
      a <- matrix(stats::rnorm(size[1] * width), size[1])
      K <- exp(-outer(x[, 1], y[, 1], "-")^2 - outer(x[, 2], y[, 2], "-")^2)
      F <- exp(-sqdist(Vi(x), Vj(y)))
      for (precision in test_precisions()) with_isa(isa, {
        label <- paste(isa, precision, size[1], size[2], width)
        expect_close(sum(F * Vj(b), index = "j", precision = precision, device = "cpu"), K %*% b,
                     tolerance_of(precision), scale = size[2], label = label)
        expect_close(sum(F * Vi(a), index = "i", precision = precision, device = "cpu"), crossprod(K, a),
                     tolerance_of(precision), scale = size[1], label = label)
      })
    }
  })

  test_that(paste("differences of points as weights on", isa, "lanes, either way round"), {
    set.seed(22)
    for (size in weigh_sizes) for (width in c(1, 3, 9)) {
      x <- matrix(stats::runif(size[1] * width), size[1])
      y <- matrix(stats::runif(size[2] * width), size[2])
      b <- stats::rnorm(size[2])
      a <- stats::rnorm(size[1])
      K <- exp(-Reduce(`+`, lapply(seq_len(width), function(d) outer(x[, d], y[, d], "-")^2)))
      towards <- K %*% (b * y) - x * as.vector(K %*% b)
      F <- exp(-sqdist(Vi(x), Vj(y)))
      for (precision in test_precisions()) with_isa(isa, {
        label <- paste(isa, precision, size[1], size[2], width)
        run <- function(F, index) sum(F, index = index, precision = precision, device = "cpu")
        expect_close(run(F * Vj(b) * (Vj(y) - Vi(x)), "j"), towards, tolerance_of(precision), scale = size[2],
                     label = label)
        expect_close(run(F * Vj(b) * (Vi(x) - Vj(y)), "j"), -towards, tolerance_of(precision), scale = size[2],
                     label = label)
        expect_close(run(F * Vi(a) * (Vi(x) - Vj(y)), "i"), crossprod(K, a * x) - as.vector(crossprod(K, a)) * y,
                     tolerance_of(precision), scale = size[1], label = label)
      })
    }
  })
}

test_that("a difference that others read too is still there for them", {
  x <- matrix(stats::runif(60), 20)
  y <- matrix(stats::runif(90), 30)
  b <- stats::rnorm(30)
  D <- Vi(x) - Vj(y)
  both <- sum(exp(-sum(abs(D))) * Vj(b) * D, index = "j")
  expect_close(both, sum(exp(-sum(abs(Vi(x) - Vj(y)))) * Vj(b) * D, index = "j", device = "reference"), 1e-13,
               scale = 30)
})

test_that("differences weigh what is no plain sum, too", {
  set.seed(24)
  x <- matrix(stats::runif(60), 20)
  y <- matrix(stats::runif(90), 30)
  for (weight in list(Vj(y) - Vi(x), Vi(x) - Vj(y))) for (index in c("i", "j")) for (precision in test_precisions()) {
    run <- function(device) {
      reduction(-sqdist(Vi(x), Vj(y)), "sumsoftmaxweight", weight = weight, index = index, precision = precision,
                device = device)
    }
    expect_close(run("cpu"), run("reference"), tolerance_of(precision), label = paste(index, precision))
  }
})

test_that("NaN among many weights stays in its column of the result", {
  b <- matrix(1, 40, 12)
  b[7, 5] <- NaN
  out <- sum(exp(-sqdist(Vi(stats::runif(20)), Vj(stats::runif(40)))) * Vj(b), index = "j")
  expect_identical(is.nan(out), matrix(rep(seq_len(12) == 5, each = 20), 20))
})

test_that("many weights give the same bits for any number of threads", {
  set.seed(23)
  X <- Vi(matrix(stats::runif(900), 300))
  Y <- Vj(matrix(stats::runif(6000), 2000))
  B <- Vj(matrix(stats::rnorm(2000 * 17), 2000))
  one <- sum(exp(-sqdist(X, Y)) * B, index = "j", threads = 1)
  expect_identical(sum(exp(-sqdist(X, Y)) * B, index = "j", threads = 2), one)
})
