# Operations on plain numbers give their values at once.

operations <- kernweave_operations()
taken <- kernweave_reductions()$fn  # argmax() and argmin() are reductions in R
exported <- operations[operations$fn %in% setdiff(getNamespaceExports("kernweave"), taken), ]
called <- function(row, args, attributes) {
  args <- unname(args)
  # The table has latitude first, in radians; the function longitude, as R's packages do.
  if (row$fn == "haversine") args <- c(lapply(args, rev), unit = "radian")
  do.call(row$fn, c(args, exported_attributes(row, attributes)))
}

# Lists that the engine keeps behind their lengths, as the arguments of the function.
exported_attributes <- function(row, attributes) {
  if (is.null(attribute_lists[[row$name]])) as.list(attributes) else listed_attributes(attributes)
}

test_that("every exported operation gives of plain vectors what the oracle says", {
  set.seed(1)
  for (k in seq_len(nrow(exported))) {
    row <- exported[k, ]
    for (shape in accepted_shapes(row, 3)) {
      args <- Map(function(width, kind) {
        numbers <- stats::runif(width, smooth_range(row)[1], smooth_range(row)[2])
        if (kind == "logical") numbers > 1 else numbers
      }, shape$widths, shape$kinds)
      expected <- do.call(oracle_ops[[row$name]], c(unname(args), as.list(shape$attributes)))
      expect_close(called(row, args, shape$attributes), expected, 1e-12, label = row$fn)
    }
  }
})

test_that("at edges, numbers are what the table says", {
  expect_identical(square(2), 4)
  expect_identical(relu(1:10), as.numeric(1:10))
  expect_identical(xlogx(c(0, 1, NA)), c(0, 0, NA))
  expect_identical(rsqrt(c(0, 4)), c(0, 0.5))
  expect_identical(heaviside(c(-1, 0, NaN)), c(0, 1, NaN))
  expect_identical(sinxdivx(0), 1)
  expect_identical(norm2(c(0, 0)), 0)
  expect_identical(lazy_if(c(TRUE, FALSE), 1, 2), c(1, 2))
  expect_identical(square(numeric()), numeric())
  expect_identical(elem(5:7, 3), 7)
})

test_that("element by element, dimensions and names stay, and one number goes with many", {
  m <- matrix(-3:2, 2, dimnames = list(c("a", "b"), NULL))
  expect_identical(relu(m), (m + abs(m)) / 2)
  expect_identical(max2(1, c(p = 0, q = 2)), c(p = 1, q = 2))
  expect_identical(clamp(m, -1, 1), pmin(pmax(m, -1), 1) + 0)
  expect_identical(square(Matrix::Matrix(m)), m^2)
  expect_identical(square(data.frame(u = 1:2)), matrix(c(1, 4), dimnames = list(NULL, "u")))
})

test_that("an option for the device changes nothing about numbers", {
  expect_identical(with_kernweave(erf(0.5), device = "cpu", precision = "float32"), erf(0.5))
})

test_that("lengths that differ, matrices of points and what is no number are refused", {
  expect_error(max2(1:3, 1:2), class = "kernweave_error_shape")
  expect_error(max2(1:3, numeric()), class = "kernweave_error_shape")
  expect_error(sqdist(1:3, 1:2), class = "kernweave_error_shape")
  expect_error(norm2(numeric()), class = "kernweave_error_shape")
  expect_error(norm2(matrix(1, 2, 2)), class = "kernweave_error_input")
  expect_error(square("2"), class = "kernweave_error_input")
  expect_error(square(NULL), class = "kernweave_error_input")
  expect_error(square(1i), class = "kernweave_error_unsupported")
  expect_error(lazy_if(1, 2, 3), class = "kernweave_error_kind")
})
