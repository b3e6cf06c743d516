# Small values left out: what is promised of them, and that all others are as they were.

cloud <- function(n, d) {
  kind <- sample(c("uniform", "clusters", "twice", "outlier", "one place", "long"), 1)
  x <- matrix(stats::runif(n * d), n)
  if (kind == "clusters") x <- x[rep_len(1:4, n), , drop = FALSE] + 0.01 * x
  if (kind == "twice") x <- x[rep_len(seq_len(n / 2), n), , drop = FALSE]
  if (kind == "outlier") x[1, ] <- 1e5
  if (kind == "one place") x[] <- 0.5
  if (kind == "long") x[, 1] <- 100 * x[, 1]
  x
}
formulas <- list(
  gaussian = function(s) exp(-s * 20), laplacian = function(s) exp(-sqrt(s) * 8), cauchy = function(s) 1 / (1 + 50 * s),
  wendland = function(s) relu(1 - sqrt(s) * 3)^4 * (1 + sqrt(s) * 12), ball = function(s) (s < 0.04) * exp(-s),
  chosen = function(s) lazy_if(s < 0.1, 1 - s, 0), ring = function(s) exp(-300 * (s - 0.2)^2),
  wave = function(s) exp(-s * 5) * cos(20 * sqrt(s)), grows = function(s) s, negative = function(s) -exp(-s * 9)
)
# 1 where a pair is left.
left_of <- function(S) as.matrix(lazy_if(S > 0, 1, 1))
truncation_of <- function(S) kernweave:::truncation_of(S)

test_that("no value that is left out is larger than the tolerance, and all others are as they were", {
  skip_below("quick")
  left_out <- 0
  with_local_seed(51, for (name in names(formulas)) for (d in c(1, 2, 3, 5)) {
    x <- cloud(150, d)
    y <- if (stats::runif(1) < 0.5) x else cloud(90, d)
    tol <- sample(c(1e-8, 1e-4, 1e-2, 0), 1)
    u <- if (stats::runif(1) < 0.5) stats::rnorm(150) else rep(1, 150)
    K <- Vi(u) * formulas[[name]](sqdist(Vi(x), Vj(y)))
    S <- sparsify(K, tol)
    all <- as.matrix(K)
    left <- left_of(S) == 1
    label <- paste(name, d, tol)
    expect_equal(as.matrix(S), all * left, label = label)
    stated <- truncation_of(S)
    expect_lte(max(0, abs(all[!left])), stated$left_out, label = label)
    reachable <- max(abs(as.matrix(formulas[[name]](Vi(seq(0, 4, length.out = 1e4)) * Pm(1)))))
    most <- tol * reachable * max(abs(u)) * (1 + 1e-3)
    if (!name %in% c("grows", "ring")) expect_lte(stated$left_out, most, label = label)
    expect_equal(stated$kept, sum(left))
    left_out <- left_out + sum(!left)
  })
  expect_gt(left_out, 1e5)
})

test_that("a tolerance of 0 keeps every value that is not 0, and little else", {
  skip_below("quick")
  x <- with_local_seed(52, matrix(stats::runif(3000), ncol = 2))
  for (name in c("wendland", "ball", "chosen")) {
    K <- formulas[[name]](25 * sqdist(Vi(x), Vj(x)))
    S <- sparsify(K, tol = 0)
    expect_equal(as.matrix(S), as.matrix(K))
    expect_lt(mean(left_of(S)), 0.25)
  }
  K <- exp(-sqdist(Vi(x), Vj(x)))
  expect_true(all(left_of(sparsify(K, 0)) == 1))
})

test_that("tolerances may be of the values themselves", {
  x <- with_local_seed(53, matrix(stats::runif(1200), ncol = 3))
  K <- 1000 * exp(-50 * sqdist(Vi(x), Vj(x)))
  S <- sparsify(K, tol = 0.1, relative = FALSE)
  left <- left_of(S) == 1
  expect_lte(max(as.matrix(K)[!left]), 0.1)
  expect_gt(max(as.matrix(K)[!left]), 0.01)
  expect_equal(truncation_of(S)$left_out, 0.1)
  expect_equal(sum(left_of(sparsify(0 * Vi(x[, 1]) * K, tol = 1e-9, relative = FALSE))), 0)
})

test_that("bounds of sums hold, row by row, and say that rows far from what is left out lose nothing", {
  with_local_seed(54, {
    x <- matrix(stats::runif(1000), ncol = 2)
    b <- cbind(stats::rnorm(500), stats::runif(500))
    K <- Vi(x[, 1]) * exp(-80 * sqdist(Vi(x), Vj(x)))
    S <- sparsify(K, 1e-2)
    off <- abs(S %*% b - K %*% b)
    bound <- error_bound(S, b)
    expect_true(all(off <= bound))
    expect_gt(max(off), max(bound) / 1e4)
    expect_lte(max(bound), 1e-2 * max(x[, 1]) * max(colSums(abs(b))) * 1.001)
    expect_lt(max(error_bound(sparsify(K, 1e-300), b)), 1e-290)
    expect_error(error_bound(2 * S, b), "sparsify", class = "kernweave_error_input")
    expect_error(error_bound(S, b[-1, ]), class = "kernweave_error_shape")
  })
})

test_that("all that takes restricted formulas takes these", {
  skip_below("quick")
  with_local_seed(55, {
    x <- matrix(stats::runif(600), ncol = 2)
    y <- matrix(stats::runif(400), ncol = 2)
    b <- stats::rnorm(200)
    S <- sparsify(kernel_gaussian(x, y, scale = 0.1), 1e-5)
    left <- left_of(S) == 1
    all <- as.matrix(kernel_gaussian(x, y, scale = 0.1))
    none <- function(with) replace(all, !left, with)
    expect_equal(S %*% b, none(0) %*% b)
    expect_equal(t(S) %*% x[, 1], t(none(0)) %*% x[, 1])
    expect_equal(crossprod(S, x[, 1]), crossprod(none(0), x[, 1]))
    expect_equal(max(S, index = "j", drop = TRUE), apply(none(-Inf), 1, max))
    expect_equal(reduction(S, "argmax", drop = TRUE), apply(none(-Inf), 1, which.max))
    expect_equal(logsumexp(S, index = "i", drop = TRUE), log(colSums(exp(none(-Inf)))))
    expect_equal(reduction(S, "mean", drop = TRUE), rowMeans(none(NA), na.rm = TRUE))
    expect_equal(sum(S * Vj(b), index = "ij", drop = TRUE), sum(none(0) %*% b))
    square <- sparsify(kernel_matern(x, scale = 0.02, nu = 1.5), 1e-6)
    expect_lt(mean(left_of(square)), 0.9)
    expect_equal(as.matrix(square), t(as.matrix(square)))
    dense <- as.matrix(kernel_matern(x, scale = 0.02, nu = 1.5))
    rhs <- stats::rnorm(300)
    expect_equal(as.vector(solve(square, rhs, ridge = 0.1, tol = 1e-10)), solve(dense + diag(0.1, 300), rhs),
                 tolerance = 1e-4)
    more <- matrix(stats::runif(6000), ncol = 2)
    wide <- sparsify(kernel_matern(more, scale = 0.05, nu = 1.5), 1e-8)
    found <- solve(wide, more[, 1], ridge = 0.01, tol = 1e-8, method = "cg", report = TRUE)
    expect_lt(solve_report(found)$iterations, 40)
    expect_equal(wide %*% found + 0.01 * found, more[, 1, drop = FALSE], tolerance = 1e-7, ignore_attr = TRUE)
    alone <- solve(wide, more[, 1], ridge = 0.01, tol = 1e-8, method = "cg", precondition = FALSE, report = TRUE)
    expect_gt(solve_report(alone)$iterations, 2 * solve_report(found)$iterations)
    expect_equal(as.vector(found), as.vector(alone), tolerance = 1e-4)
    expect_equal(keigen(square, 2)$values, eigen(dense)$values[1:2], tolerance = 1e-4)
    apart <- sparsify(exclude_diag(kernel_gaussian(x, scale = 0.1)), 1e-5)
    expect_equal(diag(as.matrix(apart)), rep(0, 300))
  })
})

test_that("gradients are those of the pairs that are left", {
  with_local_seed(56, {
    x <- matrix(stats::runif(800), ncol = 2)
    b <- stats::rnorm(400)
    full <- function(x, h) sum(exp(-sqdist(Vi(x), Vj(x)) / h) * Vj(b), index = "ij", drop = TRUE)
    part <- function(x, h) sum(sparsify(exp(-sqdist(Vi(x), Vj(x)) / h), 1e-10) * Vj(b), index = "ij", drop = TRUE)
    expect_lt(mean(left_of(sparsify(exp(-sqdist(Vi(x), Vj(x)) / 0.001), 1e-10))), 0.7)
    expect_equal(gradient(part)(x, 0.001), gradient(full)(x, 0.001), tolerance = 1e-6)
    expect_equal(gradient(part, "h")(x, 0.001), gradient(full, "h")(x, 0.001), tolerance = 1e-6)
  })
})

test_that("points that are no numbers meet all others, and there may be none", {
  x <- with_local_seed(57, matrix(stats::runif(600), ncol = 2))
  x[c(3, 40), 1] <- c(NaN, Inf)
  K <- exp(-300 * sqdist(Vi(x), Vj(x)))
  S <- sparsify(K, 1e-6)
  left <- left_of(S)
  expect_true(all(left[c(3, 40), ] == 1) && all(left[, c(3, 40)] == 1))
  expect_lt(mean(left), 0.9)
  expect_equal(as.matrix(S)[-c(3, 40), -c(3, 40)], (as.matrix(K) * left)[-c(3, 40), -c(3, 40)])
  wild <- matrix(NaN, 5, 2)
  expect_equal(sum(left_of(sparsify(exp(-sqdist(Vi(wild), Vj(wild))), 1e-6))), 25)
  none <- matrix(0, 0, 2)
  expect_identical(sum(sparsify(exp(-sqdist(Vi(x[1:2, ]), Vj(none)))), index = "j", drop = TRUE), c(0, 0))
  expect_identical(dim(sparsify(exp(-sqdist(Vi(none), Vj(none))))), c(0L, 0L))
  expect_equal(as.matrix(sparsify(exp(-sqdist(Vi(1), Vj(2))))), matrix(exp(-1)))
})

test_that("what is left does not depend on the number of threads", {
  x <- with_local_seed(58, matrix(stats::runif(9000), ncol = 3))
  kept <- lapply(1:3, function(threads) {
    S <- sparsify(lazy_set(kernel_gaussian(x, scale = 0.05), threads = threads), 1e-4)
    list(S$pairs$rule$said$ranges[c("rectangles", "order")], rowSums(S))
  })
  expect_identical(kept[[2]], kept[[1]])
  expect_identical(kept[[3]], kept[[1]])
})

test_that("it prints what is left, and says why it cannot be", {
  x <- with_local_seed(59, matrix(stats::runif(400), ncol = 2))
  S <- sparsify(exp(-900 * sqdist(Vi(x), Vj(x))), 1e-6)
  expect_output(print(S), "[0-9] % of pairs, left-out values <= 1e-06")
  expect_false(any(grepl("left-out", utils::capture.output(print(2 * S)))))
  K <- exp(-sqdist(Vi(x), Vj(x)))
  refused <- function(code, class, pattern = "") {
    expect_error(code, pattern, class = paste0("kernweave_error_", class))
  }
  refused(sparsify(Vi(x) | Vj(x)), "not_a_distance", "scalprod")
  refused(sparsify(manhattan(Vi(x), Vj(x))), "not_a_distance", "manhattan")
  refused(sparsify(S), "unsupported", "ranges")
  refused(sparsify(K, -1), "tolerance")
  refused(sparsify(K, 1), "tolerance")
  refused(sparsify(K, NA), "tolerance")
  refused(sparsify(K, Inf, relative = FALSE), "tolerance")
  refused(sparsify(K, 0.1, relative = NA), "input")
  refused(sparsify(x), "input", "lazy tensor")
  refused(sparsify(Vi(x) - Vj(x)), "shape", "one component")
  refused(sparsify(exp(-sqdist(Vi(x), Vj(d = 2)))), "no_data")
  refused(sparsify(Vi(c(1, NA, rep(1, 198))) * K), "input", "factor of point 2 along i")
})

test_that("rows and columns are those of the matrix, also turned, taken twice and beside other conditions", {
  skip_below("quick")
  x <- with_local_seed(59, matrix(stats::runif(240), ncol = 2))
  y <- with_local_seed(60, matrix(stats::runif(160), ncol = 2))
  rownames(x) <- paste0("p", seq_len(120))
  all <- sparsify(kernel_gaussian(x, y, scale = 0.03))
  A <- as.matrix(all)
  rows <- list(c(100, 3, 3, 7, 120), 120:1, -(1:60), integer(0), c("p9", "p4"), rep(c(TRUE, FALSE, FALSE), 40))
  columns <- c(80, 2, 2, 11:60)
  forms <- list(
    plain = list(all, A),
    beside = list(restrict(all, where = row_index() < col_index(), by = list(rep(1:2, 60), rep(1:2, 40))),
                  A * (row(A) < col(A)) * (row(A) %% 2 == col(A) %% 2)),
    turned = list(t(exclude_diag(t(all))), A * (row(A) != col(A)))
  )
  for (name in names(forms)) for (at in rows) {
    S <- forms[[name]][[1]]
    D <- forms[[name]][[2]]
    expect_equal(as.matrix(S[at, ]), D[at, , drop = FALSE], label = name)
    expect_equal(as.matrix(t(S)[columns, at]), t(D)[columns, at, drop = FALSE], label = name)
    expect_equal(as.matrix(S[at, ][, columns]), D[at, columns, drop = FALSE], label = name)
  }
  expect_null(truncation_of(all[1:9, ]))
  lengths <- ranges(c(50, 30, 40), c(20, 60), rbind(c(TRUE, FALSE), c(FALSE, TRUE), TRUE))
  B <- restrict(kernel_gaussian(x, y, scale = 0.3), ranges = lengths)
  expect_equal(as.matrix(B[c(110, 60, 1), columns]), as.matrix(B)[c(110, 60, 1), columns])
  expect_equal(as.matrix(as_op(B)[c(110, 60, 1), columns]), as.matrix(B)[c(110, 60, 1), columns])
})

test_that("audit() computes rows of sums and solutions of what is left", {
  x <- with_local_seed(61, matrix(stats::runif(400), ncol = 2))
  S <- sparsify(kernel_gaussian(x, scale = 0.05))
  for (index in c("i", "j")) {
    expect_lt(audit(sum(S, index = index, call = FALSE), rows = 200)$error, 1e-13)
    single <- audit(sum(lazy_set(S, precision = "float32"), index = index, call = FALSE), rows = 50, seed = 1)$error
    expect_gt(single, 1e-9)
    expect_lt(single, 1e-5)
  }
  b <- with_local_seed(62, stats::rnorm(200))
  found <- suppressMessages(solve(S, b, ridge = 0.5, method = "cg", tol = 1e-3, report = TRUE))
  exact <- as.matrix(S) %*% found + 0.5 * found - b
  expect_equal(audit(found, rows = 200)$error, max(abs(exact)) / sqrt(mean(b^2)), tolerance = 1e-6)
})
