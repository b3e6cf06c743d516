# Fit to a density by its score, against closed forms of kernels' derivatives.

# h(x, x') by hand for a kernel that is f of the squared distance, with its first and second derivative.
dense_stein <- function(x, score, f, f1, f2) {
  r <- dense_distance(x)^2
  D <- ncol(x)
  along <- Vectorize(function(i, j) sum(score[i, ] * (x[i, ] - x[j, ])))
  from_x <- outer(seq_len(nrow(x)), seq_len(nrow(x)), along)
  tcrossprod(score) * f(r) - 2 * f1(r) * from_x - 2 * f1(r) * t(from_x) - 2 * D * f1(r) - 4 * r * f2(r)
}
multiquadric <- list(function(r) (1 + r)^-0.5, function(r) -0.5 * (1 + r)^-1.5, function(r) 0.75 * (1 + r)^-2.5)
gauss <- list(function(r) exp(-r / 2), function(r) -0.5 * exp(-r / 2), function(r) 0.25 * exp(-r / 2))

geyser <- scale(faithful)
geyser_score <- -geyser %*% solve(stats::cor(geyser))

test_that("the statistics are those of the page and of derivatives by hand", {
  skip_below("quick")
  found <- ksd_test(geyser, geyser_score, kernel_spec("inverse_multiquadric", 1), R = 9)
  expect_equal(unname(found$statistic), 63.37260820, tolerance = 1e-9)
  expect_equal(unname(found$estimate), c(0.1874676617, 0.2329875301), tolerance = 1e-9)
  by_gauss <- ksd_test(geyser, geyser_score, kernel_spec("gaussian", 1), R = 9)
  expect_equal(by_gauss$estimate[["V"]], 0.3728859983, tolerance = 1e-9)
  H <- do.call(dense_stein, c(list(geyser, geyser_score), gauss))
  expect_equal(by_gauss$estimate[["V"]], mean(H))
  set.seed(1)
  x <- matrix(stats::rnorm(12), 12)
  H <- do.call(dense_stein, c(list(x, -x), multiquadric))
  set.seed(2)
  one <- ksd_test(x, function(x) -x, kernel_spec("inverse_multiquadric", 1), R = 20)
  set.seed(2)
  W <- matrix(sample(c(-1, 1), 240, replace = TRUE), 12)
  expect_equal(one$replicates, colSums(W * (H %*% W)) / 12)
})

test_that("few points take all signs, moments are those of all signs", {
  set.seed(3)
  x <- matrix(stats::rnorm(16), 8)
  H <- do.call(dense_stein, c(list(x, -x), multiquadric))
  k <- kernel_spec("inverse_multiquadric", 1)
  W <- t(as.matrix(expand.grid(rep(list(c(-1, 1)), 8))))
  T <- colSums(W * (H %*% W)) / 8
  found <- ksd_test(x, -x, k)
  expect_length(found$replicates, 128)
  expect_equal(sort(found$replicates), sort(T)[c(TRUE, FALSE)])
  expect_match(found$method, "all 128 signs")
  expect_equal(ksd_test(x, -x, k, null = "moments")[c("p.value", "replicates")], found[c("p.value", "replicates")])
  x <- matrix(stats::rnorm(22), 11)
  H <- do.call(dense_stein, c(list(x, -x), multiquadric))
  W <- t(as.matrix(expand.grid(rep(list(c(-1, 1)), 11))))
  expect_equal(ksd_test(x, -x, k, null = "moments")$moments, moments3(colSums(W * (H %*% W)) / 11))
})

test_that("scores come from functions, gradients and vectors; scales from the points", {
  set.seed(4)
  x <- stats::rnorm(40)
  by_vector <- ksd_test(x, -x, null = "moments")
  expect_equal(ksd_test(x, function(x) -x, null = "moments")$statistic, by_vector$statistic)
  log_density <- gradient(function(x) sum(-x^2 / 2))
  expect_equal(ksd_test(x, log_density, null = "moments")$statistic, by_vector$statistic)
  expect_equal(by_vector$scale, median_scale(x))
  expect_error(ksd_test(x, -x, "energy"), class = "kernweave_error_unsupported")
  expect_error(ksd_test(x), "score", class = "kernweave_error_input")
  expect_error(ksd_test(x, -x[-1]), class = "kernweave_error_shape")
  expect_error(ksd_test(x, "normal"), class = "kernweave_error_input")
  expect_error(ksd_test(c(x, NA), c(-x, 1)), class = "kernweave_error_data")
  expect_error(ksd_test(x, replace(-x, 3, NA)), class = "kernweave_error_data")
  expect_error(ksd_test(1, -1), class = "kernweave_error_data")
})

test_that("every row r times has the same V, and the level holds", {
  skip_below("quick")
  many <- geyser[rep(1:272, 4), ]
  scores <- geyser_score[rep(1:272, 4), ]
  k <- kernel_spec("inverse_multiquadric", 1)
  expect_equal(ksd_test(many, scores, k, null = "moments")$estimate[["V"]], 0.2329875301, tolerance = 1e-9)
  set.seed(5)
  p <- t(replicate(null_sets(), {
    x <- matrix(stats::rnorm(50), 25)
    c(ksd_test(x, -x, R = 99)$p.value, ksd_test(x, -x, null = "moments")$p.value)
  }))
  # Signs approximate the null law, from below at few points.
  for (k in 1:2) expect_lt(mean(p[, k] <= 0.05), 0.05 + 3.3 * sqrt(0.05 * 0.95 / nrow(p)))
  expect_lt(ksd_test(stats::rt(200, 2), function(x) -x, null = "moments")$p.value, 0.01)
})

test_that("scores of one sign, as densities are, draw a warning, and those of both signs none", {
  set.seed(7)
  z <- stats::rnorm(100)
  for (density in list(dnorm, pnorm, function(x) dnorm(x, log = TRUE), matrix(1, 100))) {
    expect_warning(ksd_test(z, density, null = "moments"), "function(z) -z", fixed = TRUE,
                   class = "kernweave_warning_score")
  }
  expect_silent(ksd_test(z, function(z) -z, null = "moments"))
  expect_silent(ksd_test(z + 90, function(z) -z, null = "moments"))
  expect_silent(ksd_test(-abs(z[1:19]), function(z) -z, null = "moments"))
})

test_that("a kernel without derivatives at its middle is refused, and a sum of kernels is taken", {
  for (kernel in list(kernel_spec("laplacian", 1), kernel_spec("gaussian", 1) + kernel_spec("matern12", 2))) {
    expect_error(ksd_test(c(0.3, -1, 2), function(x) -x, kernel = kernel), "cusp",
                 class = "kernweave_error_unsupported")
  }
  V <- function(k) ksd_test(c(0.3, -1, 2), function(x) -x, kernel = k)$estimate[["V"]]
  both <- kernel_spec("gaussian", 1) + kernel_spec("cauchy", 2)
  expect_equal(V(both), V(kernel_spec("gaussian", 1)) + V(kernel_spec("cauchy", 2)))
})
