# Approximated matrices on a GPU, and gradients: the same boxes and series as on the CPU, near pairs by the engine.

test_that("kernels for far pairs compile, with no header but ours", {
  skip_without_compiler()
  for (components in by_tier(2, 1:3, 1:3)) {
    expect_gt(length(through("cuda_compile", through("far_kernels", components), 90L)), 1000)
  }
})

test_that("near pairs are right in the order of boxes, and where data cannot be put in it", {
  set.seed(8)
  x <- matrix(stats::runif(6000), 2000)
  y <- matrix(stats::runif(3000), 1000)
  K <- Vi(stats::runif(2000)) * kernel_matern(x, y, scale = 0.1, nu = 1.5)
  square <- function(x, y) exclude_diag(1 / sqrt(sqdist(Vi(x), Vj(y))))
  rows <- with_local_seed(9, sample(2000))
  formulas <- list(K, t(K), K[rows, ], K[, 1000:1], square(x, x), square(x, x[2000:1, ]),
                   kernel_gaussian(matrix(1:40), matrix(5:30), 9))
  for (F in formulas) {
    v <- matrix(stats::rnorm(2 * dim(F)[2]), ncol = 2)
    expect_equal(unname(unclass(approximate(F, 1e-6) %*% v)), unname(F %*% v), tolerance = 1e-6)
  }
  in_order <- function(F) {
    state <- approximation_of(approximate(F))
    kernweave:::can_be_in_order(state, plan_of_approximation(state))
  }
  expect_identical(vapply(formulas[c(1, 2, 3, 5, 6)], in_order, NA), c(TRUE, TRUE, FALSE, TRUE, FALSE))
})

test_that("which axis of the matrix an operand is along is known where formulas are turned round or take rows", {
  x <- matrix(stats::runif(60), 20)
  y <- matrix(stats::runif(90), 30)
  sides <- function(K) kernweave:::sides_of_operands(new_approximation(K, 1e-6, "audit"))
  K <- Vi(stats::runif(20)) * kernel_energy(x, y)
  expect_identical(sides(K), c(1L, 1L, 2L))
  expect_identical(sides(t(K)), c(2L, 2L, 1L))
  expect_null(sides(K[20:1, ]))
  expect_null(sides(K[, c(1, 3)]))
})

# --- on a GPU -----------------------------------------------------------------------------------------------------

profiles <- list(gaussian = function(s) exp(-s / 2), energy = function(s) -sqrt(s),
                 matern32 = function(s) (1 + sqrt(3 * s)) * exp(-sqrt(3 * s)))

# Approximates by the same plan on the CPU and the GPU, with many series: pairs have a high price.
both <- function(K, tol = 1e-6, certify = "audit") {
  lapply(c(cpu = "cpu", gpu = "gpu"), function(device) {
    A <- approximate(lazy_set(K, device = device), tol, certify)
    state <- approximation_of(A)
    state$plan <- NULL
    state$prices <- c(30, 1e5)
    A
  })
}

# Approximates a formula times differences, or a formula of several components, on the CPU and the GPU.
both_states <- function(F, tol) {
  lapply(c(cpu = "cpu", gpu = "gpu"), function(device) {
    state <- new_approximation(lazy_set(F, device = device), tol, "proof")
    state$prices <- c(1e4, 2e4)
    state
  })
}

test_that("on a GPU products are those of the CPU, and the same bits each time", {
  skip_without_gpu()
  set.seed(5)
  for (d in 1:3) for (name in names(profiles)) for (same in c(TRUE, FALSE)) {
    x <- matrix(stats::runif(12000 * d), 12000)
    y <- if (same) x else matrix(stats::runif(9000 * d), 9000)
    weight <- stats::runif(12000)
    K <- profiles[[name]](sqdist(Vi(x), Vj(y)) / 0.2^2)
    if (name == "matern32") K <- -1.7 * Vi(weight) * K
    b <- matrix(stats::rnorm(2 * nrow(y)), nrow(y))
    A <- both(K)
    found <- A$gpu %*% b
    expect_true(is_on_device(found))
    expect_gt(sum(approximation_of(A$gpu)$plan$levels$far_pairs), 0)
    here <- A$cpu %*% b
    expect_lt(max(abs(found - here)), 5e-6 * max(abs(here)), label = paste(d, name, same))
    expect_identical(A$gpu %*% b, found)
    expect_identical(A$gpu %*% on_device(b), found)
  }
})

test_that("many points are put in order by a GPU as by the host, which fetches them when it needs them", {
  skip_without_gpu()
  set.seed(9)
  for (d in 1:3) for (same in c(TRUE, FALSE)) {
    x <- matrix(round(stats::rnorm(80000 * d), 3), 80000)
    y <- if (same) x else matrix(stats::runif(70000 * d), 70000)
    states <- both_states(kernel_gaussian(on_device(x), y, scale = 0.2), 1e-4)
    plans <- lapply(states, plan_of_approximation)
    orders <- lapply(plans, function(plan) r_far_orders(plan$pointer))
    expect_identical(orders$gpu, orders$cpu)
    expect_identical(plans$gpu[c("near_pairs", "levels", "scale")], plans$cpu[c("near_pairs", "levels", "scale")])
    b <- matrix(stats::rnorm(nrow(y)))
    found <- lapply(plans, function(plan) kernweave:::r_far_bounds(plan$pointer, b, 0L))
    expect_identical(found$gpu, found$cpu)
    there <- unaudited_product(states$gpu, b)
    here <- unaudited_product(states$cpu, b)
    expect_lt(max(abs(there - here)), 1e-9 * max(abs(here)))
  }
  few <- matrix(1e6 * stats::rnorm(3 * 70000) + 1e9, ncol = 3)
  states <- both_states(kernel_energy(few), 1e-4)
  found <- lapply(states, function(state) r_far_orders(plan_of_approximation(state)$pointer))
  expect_identical(found$gpu, found$cpu)
})

test_that("on a GPU a proof holds, crossprod() and pairs without the diagonal included", {
  skip_without_gpu()
  set.seed(6)
  x <- matrix(stats::rnorm(9000), 3000)
  b <- stats::rnorm(3000)
  K <- profiles$matern32(sqdist(Vi(x), Vj(x)) / 0.5^2)
  for (tol in c(1e-3, 1e-8, 1e-10)) {
    A <- both(K, tol, "proof")$gpu
    exact <- lazy_set(K, device = "cpu", precision = "float64") %*% b
    expect_true(all(abs(A %*% b - exact) <= error_bound(A, b) + 1e-12 * max(abs(exact)) * sqrt(length(b))))
  }
  D <- both(exclude_diag(K))$gpu
  expect_lt(max(abs(D %*% b - (exact - b))), 1e-5 * max(abs(exact)))
  y <- matrix(stats::rnorm(6000), 2000)
  E <- profiles$energy(sqdist(Vi(x), Vj(y)))
  expect_lt(max(abs(crossprod(both(E)$gpu, b) - t(lazy_set(E, device = "cpu")) %*% b)), 1e-5 * sum(abs(b)))
})

test_that("on a GPU a weight that is not finite is an error, wherever it lies", {
  skip_without_gpu()
  x <- matrix(stats::runif(3000), 1000)
  A <- approximate(lazy_set(kernel_energy(x, x), device = "gpu"))
  b <- replace(stats::rnorm(1000), 77, Inf)
  expect_error(A %*% b, class = "kernweave_error_value")
  expect_error(A %*% on_device(b), class = "kernweave_error_value")
})

test_that("on a GPU boxes of many points, many terms, coincident points and none are right", {
  skip_without_gpu()
  set.seed(7)
  x <- rbind(matrix(stats::runif(9000, 0, 1e-3), 3000), matrix(stats::runif(30000), 10000),
             matrix(rep(0.5, 3 * 2000), 2000))
  b <- stats::rnorm(nrow(x))
  for (tol in c(1e-4, 1e-11)) {
    K <- profiles$gaussian(sqdist(Vi(x), Vj(x)) / 0.3^2)
    A <- both(K, tol)
    here <- A$cpu %*% b
    expect_lt(max(abs(A$gpu %*% b - here)), 1e-2 * tol * sum(abs(b)))
  }
  one <- x[1, , drop = FALSE]
  K <- profiles$energy(sqdist(Vi(x), Vj(one)))
  expect_equal(as.vector(both(K)$gpu %*% 2), as.vector(lazy_set(K, device = "cpu") %*% 2), tolerance = 1e-6)
})

test_that("on a GPU formulas of differences, of several components, are those of the CPU and of all pairs", {
  skip_without_gpu()
  set.seed(9)
  for (d in 1:3) for (tol in c(1e-4, 1e-8)) {
    x <- matrix(stats::runif(4000 * d), 4000)
    y <- matrix(stats::runif(3000 * d), 3000)
    v <- matrix(stats::rnorm(6000), 3000)
    u <- matrix(stats::rnorm(8000), 4000)
    p <- seq_len(d) + 0.5
    X <- Vi(x)
    Y <- Vj(y)
    k <- profiles$matern32(sqdist(X, Y) / 0.2^2)
    formulas <- list(k * (X - Y), k * square(X - Y) * Pm(p), -1.7 * Vi(u[, 1]) * k * (Y - X)^3 * Vj(v[, 1]),
                     k * (X - Y) * Vi(x), k * Pm(p) * Vi(x), k)
    for (F in formulas) for (rows in list(NULL, u)) {
      label <- paste(d, tol, kernweave:::formula_text(F$formula, 100L), is.null(rows))
      states <- both_states(F, tol)
      sums <- lapply(states, unaudited_product, v, rows)
      expect_true(is_on_device(sums$gpu))
      expect_gt(sum(states$gpu$plan$levels$far_pairs), 0)
      expect_lt(max(abs(sums$gpu - sums$cpu)), 1e-11 * max(abs(sums$cpu)), label = label)
      exact <- pair_sums(lazy_set(F, device = "cpu", precision = "float64"), v, rows)
      expect_lt(sqrt(mean((sums$gpu - exact)^2)), 10 * tol * sqrt(mean(exact^2)), label = label)
      expect_identical(unaudited_product(states$gpu, v, rows), sums$gpu)
      expect_identical(unaudited_product(states$gpu, on_device(v), if (!is.null(rows)) on_device(rows)),
                       sums$gpu)
    }
  }
})

test_that("on a GPU gradients are those of the CPU and of all pairs: points of either side, scales, factors, weights", {
  skip_without_gpu()
  set.seed(10)
  for (d in 1:3) for (tol in c(1e-4, 1e-8)) for (same in c(TRUE, FALSE)) {
    x <- matrix(stats::runif(4000 * d), 4000)
    y <- matrix(stats::runif(3000 * d), 3000)
    w <- stats::runif(4000)
    b <- matrix(stats::rnorm(if (same) 8000 else 6000), ncol = 2)
    g <- matrix(stats::rnorm(8000), 4000)
    slopes <- function(device, tol = NULL) {
      gradient(function(x, y, s, w, b) {
        K <- kernel_matern(x, if (same) x else y, s, nu = 1.5)
        K <- lazy_set(Vi(w) * (if (same) exclude_diag(K) else K), device = device)
        sum(g * ((if (is.null(tol)) K else eager(approximate(K, tol, "proof"))) %*% b))
      }, wrt = c("x", if (!same) "y", "s", "w", "b"))(x, y, seq(0.1, 0.2, length.out = d), w, b)
    }
    exact <- slopes("cpu")
    here <- slopes("cpu", tol)
    there <- slopes("gpu", tol)
    size <- function(a) sqrt(sum(a^2))
    for (name in names(exact)) {
      label <- paste(d, tol, same, name)
      expect_lt(size(there[[name]] - here[[name]]), 1e-9 * size(here[[name]]), label = label)
      expect_lt(size(there[[name]] - exact[[name]]), 10 * tol * size(exact[[name]]), label = label)
    }
    expect_identical(slopes("gpu", tol), there)
  }
})
