# Tests what solve() and logdet() say of matrices that are not definite, and of arguments that are of no use.

cloud <- function(n, D, seed = 1) {
  set.seed(seed)
  matrix(stats::runif(n * D), n)
}

test_that("a determinant of a matrix that is not definite is an error of the class that optimisers expect", {
  x <- cloud(20, 2)
  twice <- rbind(x, x)
  K <- kernel_gaussian(twice, twice, 0.3)
  flip <- as_op(diag(2)[2:1, ])  # eigenvalues 1 and -1
  for (bad in list(K, -as_op(K), flip)) {
    expect_error(logdet(bad), "not positive definite", class = "kernweave_error_indefinite")
  }
  expect_identical(determinant(flip)$sign, -1L)
  o <- objective(function(s) as.numeric(logdet(exp(-sqdist(Vi(x), Vj(x)) / s^2))), 1)
  expect_message(far <- o$fn(30), "Inf here")
  expect_identical(far, Inf)
})

test_that("a diagonal that is taken away makes an operator as any other, which need not be definite", {
  x <- cloud(60, 2)
  K <- kernel_gaussian(x, x, 0.3)
  b <- stats::rnorm(60)
  shifted <- K - 0.5 * identity_op(60)
  dense <- as.matrix(K) - diag(0.5, 60)
  expect_equal(c(solve(shifted, b)), solve(dense, b), tolerance = 1e-8)
  expect_equal(c(solve(shifted, b, method = "minres", tol = 1e-10)), solve(dense, b), tolerance = 1e-6)
  expect_equal(as.vector(solve(shifted) %*% b), solve(dense, b), tolerance = 1e-8)
  expect_equal(c(determinant(shifted)$modulus), c(determinant(dense)$modulus), tolerance = 1e-8)
  expect_identical(determinant(shifted)$sign, determinant(dense)$sign)
  expect_equal(gradient(function(s) sum(b * solve(K - s * identity_op(60), b)))(0.5)$s,
               sum(solve(dense, b)^2), tolerance = 1e-6)
})

test_that("arguments that are not known, or of no use, are named", {
  x <- cloud(20, 2)
  K <- kernel_gaussian(x, x, 0.3)
  b <- stats::rnorm(20)
  expect_error(solve(K, b, ridg = 1, max_itr = 3), "no argument `max_itr`; did you mean `max_iter`",
               class = "kernweave_error_input")
  expect_error(solve(K %*% K, b, toll = 1), "no argument `toll`; did you mean `tol`", class = "kernweave_error_input")
  expect_error(solve(K, b, method = c("cg", "dense")), "`method`", class = "kernweave_error_input")
  for (se_tol in list(NA, "a", -1, 1:2)) {
    expect_error(logdet(K, 0.1, se_tol = se_tol), "`se_tol`", class = "kernweave_error_input")
  }
  expect_error(logdet(diag(3)), "as_op()", fixed = TRUE, class = "kernweave_error_input")
  expect_error(preconditioner(kernel_gaussian(x[0, ], x[0, ])), "there are none", class = "kernweave_error_shape")
})

test_that("solutions are plain numbers, which carry a report where that is asked for", {
  x <- cloud(40, 3)
  K <- kernel_matern(x, scale = 0.4)
  b <- stats::rnorm(40)
  B <- cbind(u = b, v = 1)
  A <- as.matrix(K) + diag(0.2, 40)
  thin <- kernel_matern(x, x[1:6, ], scale = 0.4)
  energy <- kernel_energy(x)
  ways <- list(
    list(solve, K, ridge = 0.2), list(solve, K, ridge = 0.2, method = "cg", tol = 1e-12),
    list(solve, K, ridge = 0.2, method = "block", tol = 1e-12), list(solve, K + 0.2 * identity_op(40)),
    list(solve, as_op(A)), list(solve, as_op(A), method = "cg", tol = 1e-12)
  )
  answer <- function(way, b, ...) do.call(way[[1]], c(way[2], list(b), way[-(1:2)], list(...)))
  for (k in seq_along(ways)) {
    expect_equal(answer(ways[[k]], b), solve(A, b), label = paste("way", k))
    expect_equal(answer(ways[[k]], B), solve(A, B), label = paste("way", k))
    expect_s3_class(solve_report(answer(ways[[k]], b, report = TRUE)), "kernweave_report")
  }
  least <- least_squares(thin, b, tol = 1e-13)
  expect_equal(least, qr.solve(as.matrix(thin), b))
  expect_null(attributes(least))
  for (K in list(K, energy)) for (of in list(b, B)) {
    found <- solve(K, of, ridge = 0.2, trend = matrix(1, 40))
    expect_setequal(names(attributes(found)), c(names(attributes(of)), "trend"))
    asked <- solve(K, of, ridge = 0.2, trend = matrix(1, 40), report = TRUE)
    expect_lt(audit(asked)$error, 1e-6)
    expect_identical(`attr<-`(asked, "report", NULL), found)
  }
  expect_error(solve_report(solve(energy + 9, b)), "`report = TRUE`", class = "kernweave_error_input")
  expect_error(audit(solve(energy + 9, b)), "report = TRUE", class = "kernweave_error_input")
  expect_error(solve(K, b, report = "yes"), "`report`", class = "kernweave_error_input")
})

test_that("str() of a solution is a few lines", {
  x <- cloud(30, 2)
  found <- solve(kernel_gaussian(x, x, 0.3), stats::rnorm(30), ridge = 0.1, method = "cg", report = TRUE)
  shown <- utils::capture.output(utils::str(found))
  expect_length(shown, 2)
  expect_match(shown[2], "<solve report> cg", fixed = TRUE)
  expect_output(utils::str(solve_report(found)$preconditioner), "<preconditioner> of 30 points", fixed = TRUE)
})
