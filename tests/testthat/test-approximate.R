# Approximated matrices: what is stated of their errors, against every row computed pair by pair.

profiles <- list(gaussian = function(s) exp(-s / 2), energy = function(s) -sqrt(s),
                 matern32 = function(s) (1 + sqrt(3 * s)) * exp(-sqrt(3 * s)))

test_that("audited products are as near as they say", {
  skip_below("quick")
  set.seed(5)
  for (d in 1:3) for (name in c("gaussian", "matern32", "energy")) {
    x <- matrix(stats::runif(3000 * d), 3000)
    K <- profiles[[name]](sqdist(Vi(x), Vj(x)) / 0.3^2)
    A <- eager(approximate(K, 1e-5), 30)
    b <- stats::rnorm(3000)
    exact <- K %*% b
    found <- A %*% b
    expect_lt(sqrt(sum((found - exact)^2) / sum(exact^2)), 2e-5)
    expect_output(print(A), "(audited; ", fixed = TRUE)
    expect_lt(audit(A, rows = 50)$error, 1e-3)
  }
})

test_that("results are the same bits for any number of threads", {
  set.seed(6)
  x <- matrix(stats::runif(12000), ncol = 2)
  b <- matrix(stats::rnorm(12000), ncol = 2)
  K <- function(threads) lazy_set(kernel_matern(x, scale = 0.2, nu = 0.5), threads = threads)
  products <- lapply(1:3, function(threads) eager(approximate(K(threads), 1e-6, "proof"), 20) %*% b)
  expect_identical(products[[2]], products[[1]])
  expect_identical(products[[3]], products[[1]])
})

test_that("scales, weights, factors of either side and single components are found in the formula", {
  skip_below("quick")
  set.seed(7)
  x <- matrix(stats::runif(1200), ncol = 3)
  y <- matrix(stats::runif(900), ncol = 3)
  u <- stats::runif(400)
  v <- stats::runif(300)
  b <- stats::rnorm(300)
  X <- Vi(x)
  Y <- Vj(y)
  formulas <- list(
    kernel_matern(x, y, scale = c(0.2, 0.5, 1), nu = 1.5), exp(-norm2(X - Y) / 0.3), exp(-sum(square(X - Y) * Pm(1:3))),
    exp(-sqdist(2 * X, 2 * Y)), Vi(u) * exp(-sqdist(X, Y)) * Vj(v), -exp(-sqdist(X, Y)) / Vj(1 + v),
    exp(-abs(Vi(u) - Vj(v))), exp(-square(Vi(u) - Vj(v))) + 1 / (1 + abs(Vi(u) - Vj(v))), kernel_energy(x, y),
    exp(-sqdist(Pm(2) * sin(X), sin(Y) * 2)), kernel_rational_quadratic(x[, 1:2], y[, 1:2], alpha = 0.7)
  )
  for (K in formulas) {
    A <- eager(approximate(K, 1e-6, "proof"))
    exact <- K %*% b
    expect_lte(max(abs(A %*% b - exact)), max(error_bound(A, b)) + 1e-10)
    expect_lte(max(abs(t(A) %*% u - t(K) %*% u)), 1e-4 * sum(abs(u)))
  }
})

test_that("an approximation is an operator like others", {
  skip_below("quick")
  set.seed(8)
  x <- matrix(stats::runif(1200), ncol = 2)
  K <- kernel_matern(x, scale = 0.2, nu = 1.5)
  A <- eager(approximate(K, 1e-8, "proof"), 100)
  b <- stats::rnorm(600)
  expect_true(A$symmetric)
  expect_equal(dim(A), c(600L, 600L))
  expect_gt(sum(plan_of(A)$levels$far_pairs), 0)
  expect_equal((A + 0.1 * identity_op(600)) %*% b, K %*% b + 0.1 * b, tolerance = 1e-6)
  expect_equal(crossprod(A, b), crossprod(K, b), tolerance = 1e-6)
  expect_equal(as.vector(solve(A, b, ridge = 0.5, tol = 1e-8)), as.vector(solve(K, b, ridge = 0.5, tol = 1e-8)),
               tolerance = 1e-5)
  expect_equal(keigen(A, 2)$values, keigen(K, 2)$values, tolerance = 1e-6)
  again <- unserialize(serialize(A, NULL))
  expect_equal(again %*% b, A %*% b)
  expect_output(print(A), "proved")
})

test_that("a system of an approximation has the preconditioner of its formula", {
  skip_below("quick")
  set.seed(10)
  x <- matrix(stats::runif(3000), ncol = 3)
  y <- sin(6 * x[, 1]) + stats::rnorm(1000, sd = 0.1)
  K <- kernel_matern(x, scale = 0.3, nu = 1.5)
  A <- approximate(K, 1e-9, "proof")
  exact <- solve(K, y, ridge = 1e-2, method = "dense")
  found <- solve(A, y, ridge = 1e-2, method = "cg", tol = 1e-8, report = TRUE)
  expect_equal(as.vector(found), as.vector(exact), tolerance = 1e-5)
  expect_lt(solve_report(found)$iterations, 40)
  with_diagonal <- solve(2 * A + diagonal_op(rep(0.02, 1000)), 2 * y, method = "cg", tol = 1e-8)
  expect_equal(as.vector(with_diagonal), as.vector(exact), tolerance = 1e-5)
  plain <- solve(A, y, ridge = 1e-2, method = "cg", tol = 1e-4, precondition = FALSE, report = TRUE)
  expect_gt(solve_report(plain)$iterations, solve_report(found)$iterations)
  expect_error(solve(A, y, ridge = 1e-2, method = "cg", ranks = 5), class = "kernweave_error_input")
})

test_that("pairs of a point with itself are left out, whatever they are, near or far, of as many points or not", {
  skip_below("quick")
  set.seed(19)
  formulas <- list(inverse = function(s) 1 / sqrt(s), smooth = function(s) exp(-s), log = function(s) log(s))
  cases <- combinations(name = names(formulas), rows = c(300, 200, 400))
  for (case in seq_len(nrow(cases))) {
    name <- cases$name[case]
    rows <- cases$rows[case]
    x <- matrix(stats::runif(600), 300)
    y <- rbind(x, x + 1)[seq_len(rows), ]
    K <- exclude_diag(formulas[[name]](sqdist(Vi(x), Vj(y))))
    dense <- as.matrix(lazy_set(formulas[[name]](sqdist(Vi(x), Vj(y))), precision = "float64"))
    dense[cbind(seq_len(min(300, rows)), seq_len(min(300, rows)))] <- 0
    b <- cbind(stats::rnorm(rows), 1)
    for (price in c(1, 1e6)) for (certify in c("audit", "proof")) {
      label <- paste(name, rows, price, certify)
      expect_equal(eager(approximate(K, 1e-7, certify), price) %*% b, dense %*% b, tolerance = 1e-6, label = label)
      expect_equal(eager(approximate(t(K), 1e-7, certify), price) %*% b[rep_len(seq_len(rows), 300), ],
                   t(dense) %*% b[rep_len(seq_len(rows), 300), ], tolerance = 1e-6, label = label)
    }
    for (fn in c("sum", "mean")) for (index in c("i", "j", "ij")) {
      expect_equal(reduction(K, fn, index, tol = 1e-7), reduction(K, fn, index), tolerance = 1e-6,
                   label = paste(name, rows, fn, index))
    }
  }
})

test_that("points that float32 cannot tell apart are near in float64 where the formula needs it", {
  set.seed(20)
  x <- c(stats::runif(1000), 1 + 1e-9 * stats::runif(50))
  w <- stats::rnorm(1050)
  K <- exclude_diag(1 / sqrt(sqdist(Vi(x), Vj(x))))
  exact <- lazy_set(K, precision = "float64") %*% w
  expect_equal(eager(approximate(K, 1e-4), 1) %*% w, exact, tolerance = 1e-7)
  toward <- sign(Vi(x) - Vj(x)) * exp(-abs(Vi(x) - Vj(x)))
  expect_equal(eager(approximate(toward, 1e-4), 1) %*% abs(w), lazy_set(toward, precision = "float64") %*% abs(w),
               tolerance = 1e-5)
  wide <- 1000 * stats::runif(1050)^4
  inside <- sqdist(Vi(wide), Vj(wide)) < 0.01
  expect_equal(eager(approximate(inside, 1e-4), 1) %*% w, lazy_set(inside, precision = "float64") %*% w)
  B <- eager(approximate(exp(-sqdist(Vi(x), Vj(x))), 1e-5), 1)
  invisible(B %*% w)
  expect_equal(B %*% (1e40 * abs(w)), 1e40 * (B %*% abs(w)), tolerance = 1e-5)
})

test_that("explain() shows the formula of the distance, the levels, the work and the bound", {
  x <- with_local_seed(11, matrix(stats::runif(6000), ncol = 2))
  shown <- function(A) utils::capture.output(explain(A))
  A <- eager(approximate(Vi(x[, 1]) * (kernel_matern(x, scale = 0.1, nu = 0.5) + 2), 1e-6, "proof"), 30)
  lines <- shown(A)
  expect_match(lines, "exp[(]-sqrt[(]100 [*] s[)][)] [+] 2$", all = FALSE)
  expect_match(lines, "times factors of rows$", all = FALSE)
  expect_match(lines, "[(]proved[)]", all = FALSE)
  found <- explain(A)
  kept <- plan_of(A)
  expect_true(all(found$work > 0))
  expect_identical(found$near_pairs, kept$near_pairs)
  expect_match(lines, paste0("% near pairs, ", round(100 * found$work[["series"]] / sum(found$work)), " % series"),
               all = FALSE)
  expect_identical(sum(grepl("^ +[0-9.]+( +[0-9,]+){6}$", lines)), nrow(found$levels))
  rough <- approximate(floor(sqdist(Vi(x[1:100, ]), Vj(x[1:100, ]))), 1e-6)
  expect_match(shown(rough), "`floor` has no series: pairs are left out or near", all = FALSE)
  expect_match(shown(rough), "not audited yet", all = FALSE)
  rough %*% rep(1, 100)
  expect_match(shown(rough), "(audited; ", fixed = TRUE, all = FALSE)
  expect_match(shown(approximate(exp(-abs(Vi(x[1:9, 1]) - Vj(x[1:9, 2])) %% 2))), "`%%` has no series", all = FALSE)
  for (smooth in list(log(sqdist(Vi(x[1:9, ]), Vj(x[1:9, ]))), 1 / sqdist(Vi(x[1:9, ]), Vj(x[1:9, ]))))
    expect_no_match(shown(approximate(smooth)), "has no series")
  expect_error(explain(identity_op(3)), "approximate", class = "kernweave_error_input")
})

test_that("who has waited for a sum is told once of the tolerance, if it would be worth it", {
  seen <- kernweave:::seen_options
  before <- mget(c("told_of_cores", "told_of_tolerance"), seen, ifnotfound = list(NULL))
  on.exit(list2env(before, seen))
  list2env(list(told_of_cores = TRUE, told_of_tolerance = NULL), seen)
  x <- with_local_seed(13, matrix(stats::runif(4000), ncol = 2))
  waited <- function(F, index = "j", patience = 0, op = "sum") {
    kernweave:::timed(function() 7, list(device = "cpu"), patience, reduction(F, op, index = index, call = FALSE))
  }
  K <- kernel_gaussian(x)
  skip_if("gpu" %in% kernweave:::r_devices(), "where there is a GPU, nothing is said")
  expect_silent(waited(K, patience = 60))
  for (other in list(list(K, "ij"), list(K, "j", 0, "max"), list(exclude_diag(K)), list(Vi(x) | Vj(x)),
                     list(exp(Vi(x[, 1]) - Vj(x))), list(kernel_gaussian(matrix(0, 9, 4)))))
    expect_silent(do.call(waited, other))
  hint <- function(K, seconds, ...) {
    kernweave:::with_tolerance(reduction(K, "sum", index = "j", call = FALSE), seconds, ...)
  }
  many <- kernel_matern(with_local_seed(14, stats::runif(20000)), scale = 0.05)
  said <- hint(many, 1e5, 5000)
  expect_match(said, "^With `tol = 1e-06` this sum would take about [0-9e+]+ s ")
  predicted <- as.numeric(sub(".* about ([0-9e+]+) s .*", "\\1", said))
  plan <- plan_of(approximate(many))
  work <- (plan$near_pairs + sum(plan$levels$work) / 3) / prod(dim(many))
  expect_lt(abs(log(predicted / (1e5 * work))), log(2.5))
  expect_null(hint(many, 1e-9, 5000))
  expect_null(hint(floor(sqdist(Vi(x), Vj(x))), 1e5))
})

test_that("few points, none, and those in one place", {
  for (n in c(1, 2, 33)) for (d in 1:3) {
    x <- matrix(stats::runif(n * d), n)
    K <- kernel_gaussian(x)
    expect_equal(approximate(K, 1e-6, "proof") %*% rep(1, n), K %*% rep(1, n), tolerance = 1e-6)
  }
  same <- matrix(0.3, 500, 2)
  expect_equal(as.vector(eager(approximate(kernel_matern(same), 1e-6)) %*% rep(1, 500)), rep(500, 500))
  apart <- Vi(same) - Vj(same)
  expect_equal(sum(apart^3 / (1 + sqdist(Vi(same), Vj(same))), index = "j", tol = 1e-5), matrix(0, 500, 2))
})

test_that("a formula that is 0 at all distances has sums of 0, and one that is no number is refused", {
  x <- with_local_seed(21, matrix(stats::runif(400), 200))
  compact <- function(x, y) relu(1 - sqdist(Vi(x), Vj(y)))^3
  for (K in list(0 * kernel_gaussian(x), compact(x, x + 10), compact(matrix(1e7, 1, 2), x), Pm(0) * compact(x, x))) {
    expect_identical(as.vector(eager(approximate(K)) %*% rep(1, 200)), rep(0, nrow(K)))
  }
  v <- gradient(function(v) sum((approximate(Pm(v) * kernel_gaussian(x)) %*% rep(1, 200))))(0)$v
  expect_equal(v, sum(kernel_gaussian(x), index = "ij")[1], tolerance = 1e-5)
  expect_error(approximate(sqrt(-1 - sqdist(Vi(x), Vj(x)))), "not a number", class = "kernweave_error_input")
})

test_that("an audit asks for as many terms as clusters that are far smaller than the kernel need", {
  skip_below("quick")
  set.seed(22)
  x <- matrix(stats::runif(900), 300) * 1e-4 + sample(3, 300, replace = TRUE)
  s <- sqdist(Vi(x), Vj(x))
  F <- exclude_diag((Vi(x) - Vj(x)) / (s + 0.02)^1.5)
  b <- cbind(stats::rnorm(300), 1)
  # For no pair is the value as large as at distance 0.
  x <- matrix(stats::runif(4000), 2000)
  soft <- exclude_diag((sqdist(Vi(x), Vj(x)) + 1e-8)^-1.5)
  expect_equal(sum(soft, index = "j", tol = 1e-5), sum(soft, index = "j"), tolerance = 1e-5)
  for (tol in 10^-(3:6)) {
    state <- new_approximation(F, tol, "audit")
    state$prices <- c(1e5, 160000)
    expect_equal(approximated_product(state, b), pair_sums(F, b), tolerance = tol)
  }
})

test_that("a few points far from all others are near to all, and the others as without them", {
  skip_below("quick")
  cases <- combinations(d = 1:3, far = c(1e4, 1e9))
  with_local_seed(12, for (case in seq_len(nrow(cases))) {
    d <- cases$d[case]
    far <- cases$far[case]
    x <- matrix(stats::runif(3000 * d), ncol = d)
    x[c(7, 2000, 2001), ] <- far * stats::runif(3 * d, 1, 2)
    b <- stats::rnorm(3000)
    for (K in list(kernel_matern(x, scale = 0.5, nu = 1.5), kernel_energy(x, x[1:2500, ]))) {
      v <- b[seq_len(ncol(K))]
      exact <- K %*% v
      audited <- eager(approximate(K, 1e-4), 30)
      plan <- plan_of(audited)
      expect_equal(plan$outliers, 3 + sum(c(7, 2000, 2001) <= ncol(K)))
      expect_lt(plan$near_pairs / prod(dim(K)), if (d == 3) 0.75 else 0.35)
      expect_lte(sqrt(sum((audited %*% v - exact)^2) / sum(exact^2)), 2e-4)
      proved <- eager(approximate(K, 1e-4, "proof"), 30)
      size <- 1e-11 * as.vector(abs(K) %*% abs(v))
      expect_true(all(abs(proved %*% v - exact) <= error_bound(proved, v) + size))
      expect_true(all(error_bound(proved, v)[c(7, 2000, 2001)] == 0))
      turned <- error_bound(eager(approximate(t(K), 1e-4, "proof"), 30), b)
      expect_lte(max(abs(t(proved) %*% b - crossprod(K, b))), max(turned) + max(size))
    }
  })
})

test_that("points in two tiny places far apart, which share a box each, are told of", {
  x <- c(stats::runif(40000), 1e13 + seq_len(100))
  expect_message(approximate(kernel_laplacian(x)), "% of all pairs are near")
  expect_silent(approximate(kernel_laplacian(c(x[1:40000], 1e13))))
})

test_that("what cannot be approximated says why", {
  x <- matrix(stats::runif(60), 20)
  X <- Vi(x)
  Y <- Vj(x)
  refused <- function(code, class, pattern = "") {
    expect_error(code, pattern, class = paste0("kernweave_error_", class))
  }
  refused(approximate(X | Y), "not_a_distance", "kernel_linear|scalprod")
  refused(approximate(manhattan(X, Y)), "not_a_distance", "manhattan")
  refused(approximate(exp(-sqdist(X, Y)) + Vj(x[, 1])), "not_a_distance", "beside the distance")
  refused(approximate(exp(-sqdist(X, Y)) * exp(-sqdist(2 * X, Y))), "not_a_distance", "several distances")
  refused(approximate(exp(-sqdist(X, Y)) * row_index()), "not_a_distance", "row numbers")
  refused(approximate(kernel_gaussian(matrix(0, 5, 4))), "dimension", "4 components")
  refused(approximate(kernel_gaussian(x), 1e-14), "tolerance")
  refused(approximate(restrict(kernel_gaussian(x), by = rep(1:2, 10))), "unsupported", "exclude_diag")
  refused(approximate(x), "input")
  refused(approximate(kernel_gaussian(replace(x, 5, NaN))), "input", "^point 5 along i .* finite: see row 5 of `x`$")
  refused(approximate(kernel_gaussian(x) / Vj(c(1:6, 0, 8:20))), "input", "the factor of point 7 along j .* finite$")
  weight <- replace(x[, 1], 8, Inf)
  refused(approximate(exp(-sqdist(X, Y)) * Vj(weight)), "input", "factor of point 8 along j .*: see row 8 of `weight`$")
  refused(approximate(exp(-sqdist(X, Vj(replace(x, 43, NA), name = "y")))), "input", "point 3 along j .* row 3 of `y`$")
  # Data read by row numbers have other rows, and those that are finite are not to blame.
  refused(approximate(exp(-sqdist(Vi(replace(x, 5, NaN))[20:1, ], Y))), "input", "point 16 along i is not finite$")
  refused(approximate(exp(-sqdist(X * Vi(replace(x[, 1], 2, 1e200))^2, Y))), "input", "point 2 along i is not finite$")
  refused(approximate(kernel_gaussian(x)) %*% c(NA, 1:19), "value")
  refused(approximate(kernel_gaussian(x)) %*% 1:3, "shape")
})
