# Calls from R into C++: how many a product takes once its plan is known.

# Counts the doors that `code` goes through.
crossings <- function(code) {
  doors <- grep("^r_", ls(asNamespace("kernweave")), value = TRUE)
  count <- 0
  for (door in doors) {
    passed <- getFromNamespace(door, "kernweave")
    body(passed) <- bquote({
      .(function() count <<- count + 1)()
      .(body(passed))
    })
    held(door, passed, environment())
  }
  force(code)
  count
}

test_that("a product that is known crosses the border as often as is written here", {
  x <- matrix(sin(1:600), 200)
  b <- x[, 1]
  K <- exp(-sqdist(Vi(x), Vj(x)) / 0.01)
  A <- approximate(K)
  table <- list(list("K %*% b", 3, function() K %*% b), list("K %*% B", 3, function() K %*% cbind(b, b)),
                list("A %*% b", 6, function() A %*% b))
  for (row in table) {
    for (warm in 1:2) row[[3]]()
    expect_equal(crossings(row[[3]]()), row[[2]], label = row[[1]])
  }
})

test_that("two approximations of a formula share their plan and their near pairs", {
  x <- matrix(sin(1:3000), 1000)
  K <- exp(-sqdist(Vi(x), Vj(x)) / 0.01)
  first <- approximate(K)
  again <- approximate(K)
  state <- function(A) kernweave:::approximation_of(A)
  pointer <- function(A) state(A)$plan$pointer
  expect_identical(pointer(first), pointer(again))
  expect_false(identical(pointer(first), pointer(approximate(K, tol = 1e-8))))
  expect_identical(first %*% x[, 1], again %*% x[, 1])
  near <- function(A) kernweave:::native_approximation(state(A), 1L)$near
  expect_identical(near(first)$plans[[1]]$plan, near(again)$plans[[1]]$plan)
})
