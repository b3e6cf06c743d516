# Kernel principal components against eigenvalues of dense centred matrices, and the numbers of kernlab.

flowers <- as.matrix(iris[, 1:4])
of_kernlab <- kernel_spec("gaussian", scale = sqrt(2.5))

test_that("values, scores, shares and predictions are those of kernlab", {
  fit <- kpca_fit(flowers, 3, of_kernlab)
  expect_equal(unname(fit$values), c(48.72565994535, 17.85912993593, 5.31710403650), tolerance = 1e-8)
  expect_equal(fit$total, 86.2959360223, tolerance = 1e-8)
  expect_equal(unname(abs(fit$scores[1, ])), c(0.824496546, 0.0565829898, 0.092239071), tolerance = 1e-8)
  expect_equal(unname(abs(predict(fit, flowers[1:2, ] + 0.1)[, 1])), c(0.809635170, 0.803671881), tolerance = 1e-8)
  expect_output(print(fit), "Cumulative +0.565 +0.772 +0.833")
  expect_output(print(fit), "Kernel PCA of 150 points, Gaussian, scale 1.581")
})

test_that("scores are dense eigenvectors, with signs by the largest entry, and predict themselves, centred or not", {
  set.seed(2)
  x <- cbind(a = stats::rnorm(40), b = stats::runif(40), c = stats::rnorm(40))
  for (center in c(TRUE, FALSE)) {
    fit <- kpca_fit(x, 5, kernel_spec("gaussian", scale = 0.8), center = center)
    K <- dense_gaussian(x, 0.8)
    e <- eigen(if (center) centred(K) else K, symmetric = TRUE)
    expect_equal(unname(fit$values), e$values[1:5], tolerance = 1e-9)
    expect_equal(fit$total, sum(e$values), tolerance = 1e-9)
    expect_equal(abs(unname(fit$scores)), abs(e$vectors[, 1:5] %*% diag(sqrt(e$values[1:5]))), tolerance = 1e-7)
    expect_true(all(apply(fit$scores, 2, function(v) v[which.max(abs(v))]) > 0))
    expect_equal(fit$sdev, unname(sqrt(fit$values / 39)))
    expect_equal(predict(fit, x), fit$scores, tolerance = 1e-7, ignore_attr = TRUE)
  }
})

test_that("a linear kernel gives prcomp, and squared distances give cmdscale", {
  linear <- kpca_fit(flowers, 3, "linear")
  plain <- stats::prcomp(flowers)
  expect_equal(linear$sdev, plain$sdev[1:3], tolerance = 1e-8)
  expect_equal(abs(linear$scores), abs(plain$x[, 1:3]), tolerance = 1e-6, ignore_attr = TRUE)
  scaling <- kpca_fit(flowers, 2, kernel_spec("energy", scale = 1, exponent = 2))
  expect_equal(abs(unname(scaling$scores)), abs(unname(stats::cmdscale(stats::dist(flowers)))) * sqrt(2),
               tolerance = 1e-6)
})

test_that("points repeated have their values as often", {
  once <- kpca_fit(flowers, 3, of_kernlab)
  expect_equal(kpca_fit(flowers[rep(1:150, 4), ], 3, of_kernlab)$values, 4 * once$values, tolerance = 1e-8)
})

test_that("formulas, factors, missing values and scales by the points go through the door", {
  holes <- airquality[1:40, ]
  fit <- kpca_fit(~ Ozone + Wind, holes, k = 2, na.action = stats::na.exclude)
  expect_equal(nrow(fit$scores), sum(stats::complete.cases(holes[, c("Ozone", "Wind")])))
  expect_equal(which(is.na(predict(fit)[, 1])), which(!stats::complete.cases(holes[, c("Ozone", "Wind")])),
               ignore_attr = TRUE)
  expect_true(is.na(predict(fit, data.frame(Ozone = c(1, NA), Wind = 3))[2, 1]))
  expect_equal(coef(fit$kernel)[["scale"]], median_scale(stats::na.omit(holes[, c("Ozone", "Wind")])))
  by_term <- kpca_fit(~ Species + Petal.Width, iris, kernel = kernel_spec("gaussian", ard = TRUE))
  expect_equal(dim(predict(by_term, iris[1:3, ])), c(3, 2))
  expect_identical(rownames(kpca_fit(USArrests)$scores), rownames(USArrests))
  file <- tempfile()
  saveRDS(fit, file)
  expect_equal(predict(readRDS(file), holes), predict(fit, holes))
  expect_equal(update(fit, k = 1)$values, fit$values[1], tolerance = 1e-8)
})

test_that("components of nothing are told and left out; what cannot be is refused by class", {
  line <- kernel_spec("linear", scale = 1)
  expect_warning(flat <- kpca_fit(cbind(1:10), 3, line), class = "kernweave_warning_dropped")
  expect_equal(dim(predict(flat, cbind(1:4))), c(4, 1))
  expect_warning(fit <- kpca_fit(cbind(1, stats::rnorm(9)), 2), class = "kernweave_warning_dropped")
  expect_equal(dim(predict(fit, cbind(1, 1:2))), c(2, 2))
  expect_error(kpca_fit(flowers[c(1, 60, 120), ], 4), class = "kernweave_error_shape")
  expect_error(kpca_fit(flowers[1, , drop = FALSE]), class = "kernweave_error_data")
  expect_error(kpca_fit(c(1, NA, 3)), class = "kernweave_error_data")
  expect_error(kpca_fit(flowers, kernel = "thin_plate"), class = "kernweave_error_unsupported")
  expect_error(kpca_fit(flowers, kernel = "energy", center = FALSE), class = "kernweave_error_unsupported")
  expect_error(kpca_fit(flowers, components = 3), class = "kernweave_error")
})

test_that("scores are drawn, and told as data frames", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fit <- kpca_fit(flowers, 3, of_kernlab)
  expect_identical(plot(fit, col = iris$Species), fit)
  expect_silent(plot(kpca_fit(flowers, 1, of_kernlab)))
  expect_error(plot(fit, components = 3:4), class = "kernweave_error_index")
  skip_if_not_installed("generics")
  expect_equal(generics::tidy(fit)$cumulative, unname(cumsum(fit$values) / fit$total))
  expect_equal(generics::glance(fit)$total, fit$total)
  expect_equal(generics::augment(fit)$.fittedPC1, unname(fit$scores[, 1]))
})
