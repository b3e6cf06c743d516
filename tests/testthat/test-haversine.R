# The distance on a sphere, against angles in space.

degrees <- rbind(c(2.35, 48.86), c(-0.13, 51.51), c(179, -60), c(-179, 60), c(0, 90), c(12, -90), c(-1, 60))

by_angle <- function(x, y) {
  on_sphere <- function(p) cbind(cos(p[, 2]) * cos(p[, 1]), cos(p[, 2]) * sin(p[, 1]), sin(p[, 2]))
  cosines <- tcrossprod(on_sphere(x * pi / 180), on_sphere(y * pi / 180))
  acos(array(pmin(1, pmax(-1, cosines)), dim(cosines)))
}

test_that("points are degrees, longitude first, unless one says radian", {
  angles <- by_angle(degrees, degrees)
  radians <- degrees * pi / 180
  expect_equal(as.matrix(haversine(Vi(degrees), Vj(degrees))), angles, tolerance = 1e-7)
  expect_equal(as.matrix(haversine(Vi(radians), Vj(radians), unit = "radian")), angles, tolerance = 1e-7)
  to_pole <- haversine(Vi(degrees), c(0, 90), radius = 90)
  expect_equal(sum(to_pole + 0 * Vj(1), index = "j"), matrix((90 - degrees[, 2]) * pi / 2), tolerance = 1e-7)
  expect_equal(haversine(c(0, 0), c(90, 0), radius = 2), pi)
  # The distance from Paris to London, in km.
  expect_equal(haversine(c(2.35, 48.86), c(-0.13, 51.51), radius = 6371.0088), 343.47, tolerance = 1e-4)
})

test_that("the radius may be a formula and has a derivative", {
  r <- Pm(2, name = "r")
  R <- sum(haversine(Vi(degrees), Vj(degrees), radius = r), index = "ij", call = FALSE)
  expect_equal(vjp(R, r), sum(by_angle(degrees, degrees)), tolerance = 1e-7)
})

test_that("its gradient is 0 where points coincide or are opposite, and else that of differences", {
  X <- Vi(degrees, name = "x")
  Y <- degrees[c(1, 4), ]
  everywhere(function(...) {
    got <- vjp(sum(haversine(X, Vj(Y)), index = "j", call = FALSE, ...), X)
    expect_true(all(is.finite(got)))
    apart <- c(2, 6, 7)
    total <- function(v) sum(as.matrix(haversine(Vi(v), Vj(Y)))[apart, ])
    slope <- vapply(seq_along(degrees), function(k) {
      step <- replace(0 * degrees, k, 1e-4)
      (total(degrees + step) - total(degrees - step)) / 2e-4
    }, 0)
    expect_close(got[apart, ], matrix(slope, ncol = 2)[apart, ], 1e-4)
  })
  one <- Vi(degrees[1, , drop = FALSE], name = "x")
  expect_identical(vjp(sum(haversine(one, Vj(Y[1, , drop = FALSE])), index = "j", call = FALSE), one)[1, ], c(0, 0))
})

test_that("a text has latitude first, in radians", {
  turned <- degrees[, 2:1] * pi / 180
  found <- kernel_op("haversine(x, y)", c("x = Vi(2)", "y = Vj(2)"))(turned, turned)
  expect_equal(found, sum(haversine(Vi(degrees), Vj(degrees)), index = "j"))
})

test_that("mistakes are refused by class", {
  expect_error(haversine(Vi(degrees), Vj(1:3)), "2|longitude", class = "kernweave_error_shape")
  expect_error(haversine(Vi(degrees), c(1, 2), unit = "rad"), class = "kernweave_error_input")
  expect_error(haversine(Vi(degrees), c(1, 2), radius = -1), class = "kernweave_error_input")
  expect_error(haversine(Vi(degrees), c(1, 2), radius = Vi(degrees)), class = "kernweave_error_input")
})
