# Pictures are drawn of what is there, and first points stay lazy.

x <- matrix(stats::runif(30), 10)
K <- exp(-sqdist(Vi(x), Vj(x)))

test_that("a picture shows all pairs, or some at even distances", {
  expect_equal(in_nowhere(plot(K)), as.matrix(K))
  expect_equal(in_nowhere(plot(K, most = 4)), as.matrix(K)[c(1, 4, 7, 10), c(1, 4, 7, 10)])
  A <- matrix(stats::rnorm(12), 3)
  expect_equal(in_nowhere(plot(Vij(A), most = 2)), A[c(1, 3), c(1, 4)])
  expect_silent(in_nowhere(plot(Vi(numeric(3)) * Vj(numeric(2)))))
})

test_that("a picture is one raster, without seams, where the pairs that are drawn are at uneven distances, too", {
  file <- tempfile(fileext = ".pdf")
  on.exit(unlink(file))
  grDevices::pdf(file, compress = FALSE)
  drawn <- plot(K, most = 3)
  grDevices::dev.off()
  expect_equal(drawn, as.matrix(K)[c(1, 6, 10), c(1, 6, 10)])
  expect_length(grep("/Subtype /Image", readLines(file, warn = FALSE), useBytes = TRUE), 1)
})

test_that("a picture takes its place among others and leaves the page as it was", {
  in_nowhere({
    graphics::par(mfrow = c(2, 2), mar = c(2, 2, 2, 2))
    before <- graphics::par(c("mfrow", "mar", "cex"))
    plot(K)
    expect_identical(graphics::par("mfg"), c(1L, 1L, 2L, 2L))
    plot(K)
    expect_identical(graphics::par("mfg"), c(1L, 2L, 2L, 2L))
    expect_identical(graphics::par(c("mfrow", "mar", "cex")), before)
  })
})

test_that("a scale is drawn of any values", {
  for (values in list(c(1, 1), c(NaN, 2), c(NaN, NaN), c(-Inf, 3), c(1e-300, 1e300), c(1e6, 1e6 + 1), 1e300)) {
    F <- Vi(values) + Vj(numeric(2))
    expect_silent(in_nowhere(plot(F)))
  }
})

test_that("what cannot be drawn is refused by class", {
  expect_error(plot(Vi(x) - Vj(x)), class = "kernweave_error_shape")
  expect_error(plot(Vi(dim = 1) * Vj(1:3)), class = "kernweave_error_no_data")
  expect_error(plot(Vi(numeric()) * Vj(1:3)), class = "kernweave_error_no_data")
  expect_error(plot(K, most = 0), class = "kernweave_error_input")
  for (zlim in list(1, c(1, 1), c(0, NA), "a")) {
    expect_error(in_nowhere(plot(K, zlim = zlim)), class = "kernweave_error_input")
  }
})

test_that("head and tail take points along i", {
  expect_equal(as.matrix(head(K, 3)), as.matrix(K)[1:3, ])
  expect_equal(as.matrix(tail(K, 2)), as.matrix(K)[9:10, ])
})
