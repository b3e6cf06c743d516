# Plans that are kept: a formula that was reduced before is not planned again, and no other is taken for it.

points <- function(n, d = 2, seed = 1) {
  set.seed(seed)
  matrix(runif(n * d), n, d)
}

test_that("more formulas than are kept, in any order and again, each get their own plan", {
  skip_below("quick")
  x <- points(5)
  y <- points(7, seed = 2)
  d <- as.matrix(dist(rbind(x, y)))[1:5, 6:12]^2
  set.seed(3)
  for (k in c(sample(200), sample(200, 50))) {
    found <- sum(exp(-k * sqdist(Vi(x), Vj(y))), index = "j")
    expect_equal(c(found), unname(rowSums(exp(-k * d))), tolerance = 1e-12)
  }
})

test_that("what differs in one part alone is another plan", {
  x <- points(6)
  y <- points(4, seed = 2)
  D <- function() sqdist(Vi(x), Vj(y))
  d <- as.matrix(dist(rbind(x, y)))[1:6, 7:10]^2
  expect_equal(c(sum(D(), index = "j")), unname(rowSums(d)), tolerance = 1e-12)
  expect_equal(c(sum(D(), index = "i")), unname(colSums(d)), tolerance = 1e-12)
  expect_equal(c(mean(D(), index = "j")), unname(rowMeans(d)), tolerance = 1e-12)
  expect_equal(c(max(D(), index = "j")), unname(apply(d, 1, max)), tolerance = 1e-12)
  expect_equal(dim(reduction(D(), "argKmin", K = 2)), c(6L, 2L))
  expect_equal(dim(reduction(D(), "argKmin", K = 3)), c(6L, 3L))
  expect_equal(c(reduction(D(), "sum", weight = Vj(1:4 + 0))), c(unname(d %*% 1:4)), tolerance = 1e-12)
  single <- c(reduction(D(), "sum", precision = "float32"))
  expect_false(identical(single, c(sum(D(), index = "j"))))
  expect_equal(c(reduction(D(), "sum", device = "reference")), unname(rowSums(d)), tolerance = 1e-12)
})

test_that("a failure names the data of this call, though the plan is that of another", {
  first <- points(5)
  second <- points(3)
  sum(sqdist(Vi(first), Vj(second)), index = "j")
  f <- as.function(sum(sqdist(Vi(dim = 2, name = "left"), Vj(dim = 2, name = "right")), index = "j"))
  g <- as.function(sum(sqdist(Vi(dim = 2, name = "above"), Vj(dim = 2, name = "below")), index = "j"))
  expect_error(f(points(3), points(3, 4)), "right", class = "kernweave_error_shape")
  expect_error(g(points(3), points(3, 4)), "below", class = "kernweave_error_shape")
})

test_that("options and their twins in the environment are heard at the next call", {
  x <- points(5)
  f <- as.function(sum(exp(-sqdist(Vi(dim = 2, name = "x"), Vj(dim = 2, name = "y"))), index = "j"))
  double <- f(x, x)
  with_variable("KERNWEAVE_PRECISION", "float32", {
    expect_false(identical(f(x, x), double))
    old <- options(kernweave.precision = "float64")
    expect_identical(f(x, x), double)
    options(old)
  })
  with_variable("KERNWEAVE_PRECISION", NA, expect_identical(f(x, x), double))
})

test_that("what the engines make of a formula is a text without operands' names and addresses, and says what differs", {
  text <- function(D, name) {
    R <- reduction(exp(-sqdist(Vi(cloud(7, D), name = name), Vj(cloud(5, D)))), "sum", index = "j", call = FALSE)
    options <- list(precision = "float64", rewrite = TRUE, checks = TRUE, pairs = FALSE)
    through("replay", R$outputs, R$extents, options, 1e5)
  }
  first <- text(3, "a")
  expect_named(first, c("plan", "cpu", "cuda", "script", "price"))
  expect_true(all(grepl("SqDist", first[names(first) != "price"])))
  expect_identical(text(3, "b"), first)
  expect_true(all(text(2, "a") != first))
})
