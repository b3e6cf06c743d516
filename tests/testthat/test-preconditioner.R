# Tests what is solved with a preconditioner, what without, and what derivatives make of a preconditioner.

test_that("a formula with a matrix of pairs is solved with without a preconditioner, and says so", {
  skip_below("quick")
  set.seed(1)
  x <- matrix(stats::runif(1000), 500)
  M <- 1 / (1 + as.matrix(stats::dist(x)))
  b <- stats::rnorm(500)
  K <- kernel_gaussian(x, scale = 0.05) * Vij(M)
  expect_error(preconditioner(K, 1), "`M`", class = "kernweave_error_unsupported")
  forget_said("pairs")
  expect_message(found <- solve(K, b, ridge = 1, method = "cg", report = TRUE), "`M`.*without a preconditioner")
  expect_silent(solve(K, b, ridge = 1, method = "cg"))
  expect_null(solve_report(found)$preconditioner)
  expect_lt(max(abs(K %*% found + found - b)) / max(abs(b)), 1e-5)
  slope <- gradient(function(ridge) sum(b * solve(K, b, ridge = ridge, method = "cg")))(1)[[1]]
  expect_equal(slope, -sum(found^2), tolerance = 1e-5)
})

test_that("for derivatives a preconditioner is a constant, and has none itself", {
  set.seed(2)
  x <- matrix(stats::runif(600), 300)
  b <- stats::rnorm(300)
  K <- function(scale) exp(-sqdist(Vi(x), Vj(x)) / scale)
  by_hand <- function(scale) {
    P <- preconditioner(K(scale), 0.1, seed = 1)
    sum(b * solve(K(scale), b, ridge = 0.1, method = "cg", precondition = P, tol = 1e-10))
  }
  expect_equal(gradient(by_hand)(0.2), gradient(function(scale) sum(b * solve(K(scale), b, ridge = 0.1)))(0.2),
               tolerance = 1e-6)
  refused <- function(scale) sum(solve(preconditioner(K(scale), 0.1), b))
  expect_error(gradient(refused)(0.2), "solve\\(K, b\\) has", class = "kernweave_error_no_gradient")
  P <- preconditioner(K(0.2), 0.1)
  expect_error(gradient(function(b) sum(solve(P, b)))(b), "no derivative", class = "kernweave_error_no_gradient")
})

test_that("a preconditioner is a function of the matrix, and the last one is kept", {
  x <- matrix(seq(0, 1, length.out = 900)^2, 300)
  K <- function(scale = 0.2) exp(-sqdist(Vi(x), Vj(x)) / scale)
  of <- function(...) solve_report(solve(K(...), x[, 1], ridge = 0.1, method = "cg", report = TRUE))$preconditioner
  set.seed(1)
  drawn <- stats::runif(1)
  set.seed(1)
  first <- of()
  expect_identical(stats::runif(1), drawn)
  expect_identical(preconditioner(K(), 0.1)$landmarks, first$landmarks)
  expect_identical(of()$pointer, first$pointer)
  expect_false(identical(of(scale = 0.3)$pointer, first$pointer))
  x[1] <- 0.5
  expect_false(identical(of()$landmarks, first$landmarks) && identical(of()$pointer, first$pointer))
})

test_that("an inverse finds out once that its matrix is symmetric", {
  skip_below("quick")
  set.seed(4)
  x <- matrix(stats::runif(300), 150)
  y <- matrix(stats::runif(300), 150)
  looked <- 0
  what <- "check_symmetric_by_products"
  suppressMessages(trace(what, function() looked <<- looked + 1, where = asNamespace("kernweave"), print = FALSE))
  on.exit(suppressMessages(untrace(what, where = asNamespace("kernweave"))))
  K <- exp(-sqdist(Vi(x), Vj(x)))
  inverse <- solve(K, ridge = 0.1, method = "cg", tol = 1e-10)
  for (k in 1:2) expect_equal(inverse %*% y, solve(as.matrix(K) + diag(0.1, 150), y), tolerance = 1e-6)
  expect_identical(looked, 1)
  expect_error(solve(exp(-sqdist(Vi(x), Vj(y))), ridge = 0.1, method = "cg"), "not symmetric",
               class = "kernweave_error_indefinite")
})

test_that("an objective keeps landmarks and neighbours while parameters are near", {
  skip_below("quick")
  set.seed(3)
  x <- matrix(stats::runif(800), 400)
  y <- stats::rnorm(400)
  loss <- function(scale) {
    K <- exp(-sqrt(sqdist(Vi(x), Vj(x))) / scale)
    sum(y * solve(K, y, ridge = 0.01, method = "cg", tol = 1e-10)) +
      logdet(K, ridge = 0.01, method = "lanczos", seed = 1)
  }
  o <- objective(loss, list(scale = 0.2))
  last <- function() environment(o$fn)$supports$last
  values <- o$fn(0.2)
  first <- last()
  values <- c(values, o$fn(0.25), o$fn(0.3))
  expect_identical(last(), first)
  o$fn(0.5)
  expect_false(identical(last()$numbers, first$numbers))
  dense <- function(scale) {
    A <- exp(-as.matrix(stats::dist(x)) / scale) + diag(0.01, 400)
    sum(y * solve(A, y)) + as.numeric(determinant(A)$modulus)
  }
  expect_equal(values, vapply(c(0.2, 0.25, 0.3), dense, 0), tolerance = 1e-3)
})

test_that("of a smooth kernel that leaves much beside the ridge more landmarks are taken", {
  skip_below("quick")
  set.seed(4)
  x <- matrix(stats::runif(3000), 1000)
  rank <- function(K, ridge) preconditioner(K, ridge)$rank
  expect_equal(rank(kernel_gaussian(x, scale = 0.2), 1e-2), 300)
  expect_equal(rank(kernel_gaussian(x, scale = 0.2), 1e-7), 500)
  expect_equal(rank(kernel_matern(x, scale = 0.2, nu = 0.5), 1e-7), 300)
})

nearest_points <- function(...) structure(kernweave:::r_nearest_before(...), along = NULL)

test_that("the nearest before are found by boxes as by all pairs", {
  set.seed(11)
  x <- matrix(stats::runif(1200), ncol = 3)
  x[300:350, ] <- x[1:51, ]
  K <- kernel_matern(x, scale = c(0.2, 0.4, 0.3), nu = 1.5)
  points_of_distance <- kernweave:::points_of_distance
  points <- points_of_distance(K)
  expect_equal(as.matrix(stats::dist(points)), sqrt(3) * as.matrix(stats::dist(x %*% diag(1 / c(0.2, 0.4, 0.3)))))
  all <- kernweave:::nearest_before(K, seq_len(400), rep(1, 400), 5)
  boxes <- nearest_points(points, 5, 0)
  distance <- function(found) sqrt(rowSums((points[found, ] - points[col(found), ])^2))
  expect_equal(distance(boxes), distance(all))
  expect_null(points_of_distance(kernel_linear(x)))
  expect_null(points_of_distance(sqdist(Vi(x), Vj(x))))
})

test_that("the nearest before are those of all pairs, in order, with ties, for any number of threads", {
  nearest <- function(points, m) {
    apart <- as.matrix(stats::dist(points))^2
    vapply(seq_len(nrow(points)), function(k) order(apart[k, seq_len(k - 1)])[seq_len(m)], integer(m))
  }
  set.seed(12)
  clouds <- list(matrix(stats::rnorm(900), 300), matrix(sample(4, 600, TRUE), 200), matrix(stats::runif(301), 301),
                 matrix(1, 40, 2), matrix(stats::runif(10), 2), matrix(0, 1, 3))
  for (points in clouds) for (m in c(1, 7, 50)) {
    storage.mode(points) <- "double"
    found <- nearest_points(points, m, 1)
    expect_identical(found, matrix(nearest(points, m), m))
    expect_identical(nearest_points(points, m, 2), found)
  }
  expect_identical(dim(nearest_points(matrix(0, 0, 2), 3, 1)), c(3L, 0L))
})

test_that("probes of a seed are independent of the order of points of that seed", {
  for (seed in c(0, 1, 77)) {
    signs <- random_signs(4000, 2, seed)
    order <- random_order(4000, seed)
    for (part in split(order, rep(1:4, each = 1000))) expect_lt(max(abs(colMeans(signs[part, ]))), 4 / sqrt(1000))
  }
})

test_that("a matrix whose diagonal is 0 has no landmarks, and is solved without or refused as not definite", {
  set.seed(5)
  x <- matrix(stats::rnorm(40), 20)
  none <- 0 * kernel_gaussian(x)
  expect_equal(as.vector(solve(none, 1:20, ridge = 2, method = "cg")), 1:20 / 2, tolerance = 1e-6)
  expect_equal(as.numeric(logdet(none, ridge = 2, method = "lanczos")), 20 * log(2), tolerance = 1e-9)
  distances <- sqrt(sqdist(Vi(x), Vj(x)))
  for (call in expression(solve(distances, 1:20, ridge = 0.1, method = "cg"), preconditioner(distances, 0.1),
                          logdet(distances, 0.1, method = "lanczos"))) {
    expect_error(eval(call), class = "kernweave_error_indefinite")
  }
})

test_that("landmarks and neighbours may be those of another matrix, whose numbers are near", {
  skip_below("quick")
  set.seed(6)
  x <- matrix(stats::runif(1200), 600)
  b <- stats::rnorm(600)
  for (nu in c(0.5, 2.5)) {
    first <- preconditioner(kernel_matern(x, scale = 0.3, nu = nu), 0.01)
    K <- kernel_matern(x, scale = 0.4, nu = nu)
    P <- preconditioner(K, 0.02, like = first)
    expect_identical(P[c("landmarks", "neighbours")], first[c("landmarks", "neighbours")])
    found <- solve(K, b, ridge = 0.02, method = "cg", precondition = P, tol = 1e-9, report = TRUE)
    expect_equal(as.vector(found), as.vector(solve(K, b, ridge = 0.02)), tolerance = 1e-6)
    own <- solve(K, b, ridge = 0.02, method = "cg", tol = 1e-9, report = TRUE)
    expect_lte(solve_report(found)$iterations, 2 * solve_report(own)$iterations)
  }
  expect_error(preconditioner(K, like = 3), "`like`", class = "kernweave_error_input")
  few <- kernel_gaussian(x[1:9, ])
  expect_error(preconditioner(few, 1, like = first), "600 points", class = "kernweave_error_shape")
})

test_that("neighbours are there always if they are asked for so, and make log-determinants more precise", {
  skip_below("quick")
  set.seed(3)
  x <- matrix(stats::runif(1200), 600)
  for (case in list(list(nu = 1.5, ridge = 0.1), list(nu = 0.5, ridge = 0.1), list(nu = 1.5, ridge = 0.01))) {
    K <- kernel_matern(x, scale = 0.3, nu = case$nu)
    exact <- logdet(K, case$ridge, method = "dense")
    few <- logdet(K, case$ridge, 32, seed = 1, method = "lanczos", rank = 100, local = FALSE)
    both <- logdet(K, case$ridge, 32, seed = 1, method = "lanczos", rank = 100, local = "always")
    expect_lt(attr(both, "se"), 0.3 * attr(few, "se"), label = case$ridge)
    expect_lt(abs(both - exact), 4 * attr(both, "se") + 1e-8)
  }
  smooth <- kernel_gaussian(x)
  expect_identical(preconditioner(smooth, 0.1)$neighbours, 0L)
  P <- preconditioner(smooth, 0.1, rank = 20, local = "always")
  expect_identical(P$neighbours, 30L)
  expect_lt(max(abs(solve(smooth, x, ridge = 0.1, precondition = P, method = "cg", tol = 1e-9) -
                      solve(as.matrix(smooth) + diag(0.1, 600), x))), 1e-6)
  expect_identical(preconditioner(kernel_gaussian(x[1:20, ]), 0.1, rank = 20, local = "always")$neighbours, 0L)
  expect_error(preconditioner(smooth, 1, local = "never"), "`local`.*\"always\"", class = "kernweave_error_input")
})

test_that("derivatives of log-determinants along matrices are traces, which probes tell to within their noise", {
  skip_below("quick")
  set.seed(4)
  n <- 500
  x <- matrix(stats::runif(2 * n), n)
  noise <- stats::runif(n, 0.05, 0.2)
  K <- kernel_matern(x, scale = 0.3, nu = 1.5)
  B <- kernel_gaussian(x, scale = 0.5)
  along <- list(B, noise, K)
  inverse <- solve(as.matrix(K) + diag(noise))
  wanted <- c(sum(inverse * as.matrix(B)), sum(diag(inverse) * noise), sum(inverse * as.matrix(K)))
  expect_equal(attr(logdet(K, noise, method = "dense", along = along), "along")$value, wanted, tolerance = 1e-9)
  ways <- list(list(K = K, along = along), list(K = approximate(K, 1e-6), along = list(approximate(B, 1e-6), noise, K)))
  for (way in ways) for (precondition in c(TRUE, FALSE)) {
    found <- attr(do.call(logdet, c(way, list(ridge = noise, probes = 64, seed = 1, method = "lanczos", rank = 30,
                                              precondition = precondition))), "along")
    expect_equal(found$value, colMeans(found$each))
    se <- apply(found$each, 2, stats::sd) / 8
    expect_lt(max(abs(found$value - wanted) / (se + 1e-3)), 4, label = paste(class(way$K)[1], precondition))
    if (precondition) expect_lt(max(se / wanted), 0.02)
  }
  P <- preconditioner(B, 0.1)
  expect_error(logdet(B, 0.1, method = "lanczos", precondition = P, along = along), "local = \"always\"",
               class = "kernweave_error_input")
  expect_error(gradient(function(r) logdet(K, r, method = "lanczos", along = along))(0.1), "`along`",
               class = "kernweave_error_no_gradient")
})
