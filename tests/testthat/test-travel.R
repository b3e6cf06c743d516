# Tests that what the package makes is used in other processes as at home: with the same bits, weighing little.

weight <- function(x) length(serialize(x, NULL))
numbers <- function(n, columns, seed) with_local_seed(seed, matrix(stats::runif(n * columns), n))

# Uses objects here and in a process that has seen nothing of them. `uses` are functions of an object, by its name.
expect_same_abroad <- function(objects, uses) {
  here <- Map(function(use, object) use(object), uses[names(objects)], objects)
  uses <- lapply(uses, function(use) {
    environment(use) <- globalenv()
    use
  })
  with_nodes(1, function(nodes) {
    for (name in names(objects)) {
      there <- parallel::clusterCall(nodes, function(use, object) use(object), uses[[name]], objects[[name]])[[1]]
      expect_identical(there, here[[name]], label = name)
    }
  })
}

test_that("formulas, reductions and index formulas are computed elsewhere with the bits of home", {
  x <- numbers(700, 3, 1)
  y <- numbers(300, 3, 2)
  b <- x[, 1]
  K <- exp(-sqdist(Vi(x), Vj(x, name = "y")))
  prepared <- reduction(K, "logsumexp", call = FALSE)
  as.matrix(prepared)
  A <- numbers(30, 40, 3)
  objects <- list(tensor = K, reduction = reduction(K, "sum", call = FALSE), prepared = prepared,
                  restricted = exclude_diag(K), several = reduction(K, c("sum", "min"), call = FALSE),
                  index = reduction(C[i, k] ~ A[i, j] * A[k, j], "sum", call = FALSE))
  objects$waiting <- as.function(sum(sqdist(Vi(x), Vj(dim = 3, name = "p")), index = "j"))
  expect_same_abroad(objects, list(
    tensor = function(K) list(K %*% (1:700 / 700), sum(t(K), index = "j"), as.matrix(K[1:3, ])),
    reduction = as.matrix, prepared = function(R) list(as.matrix(R), kernweave::vjp(R, "y", 1)),
    restricted = function(K) K %*% rep(1, 700), several = as.matrix, index = as.matrix,
    waiting = function(f) f(matrix(1:6 / 7, 2))))
})

test_that("operators multiply and solve elsewhere with the bits of home", {
  x <- numbers(2500, 2, 4)
  K <- kernel_matern(x, x, scale = 0.2, nu = 1.5)
  A <- approximate(K, 1e-5)
  audited <- approximate(K, 1e-6)
  audited %*% x
  objects <- list(ridge = K + 0.1 * identity_op(2500), approximation = A, audited = audited,
                  ridged = A + 0.1 * identity_op(2500),
                  crossed = approximate(kernel_gaussian(x, x[1:2000, ], scale = 0.3), 1e-5),
                  low = lowrank(K, rank = 40), sparse = as_op(Matrix::sparseMatrix(1:3, c(2, 3, 1), x = 1:3)),
                  block = block_op(list(list(diagonal_op(1:3), NULL), list(NULL, function_op(function(v) 2 * v, 2)))))
  of <- function(columns) eval(bquote(function(A) A %*% matrix(sin(1:.(2 * columns)), .(columns))))
  expect_same_abroad(objects, list(
    ridge = function(A) solve(A, sin(1:2500), tol = 1e-6), approximation = of(2500), audited = of(2500),
    ridged = function(A) solve(A, sin(1:2500), tol = 1e-3),
    crossed = function(A) list(A %*% sin(1:2000), t(A) %*% sin(1:2500)), low = of(2500), sparse = of(3),
    block = of(5)))
})

test_that("a preconditioner is made again elsewhere, of the same ridge and of what it stands on: same bits", {
  skip_below("all")
  x <- numbers(2200, 2, 5)
  K <- kernel_matern(x, x, scale = 0.2, nu = 0.5)
  ridge <- seq(0.01, 0.1, length.out = 2200)
  both <- preconditioner(K, ridge, rank = 40, neighbours = 8)
  expect_gt(both$neighbours, 0)
  expect_identical(both$ridge, ridge)
  smooth <- preconditioner(kernel_gaussian(x, x, scale = 1), 0.1, rank = 80)
  expect_identical(smooth$neighbours, 0L)
  use <- function(P) {
    b <- sin(1:2200)
    list(solve(P, b), solve(P, cbind(b, -b)))
  }
  expect_same_abroad(list(both = both, smooth = smooth), list(both = use, smooth = use))
  expect_same_abroad(list(system = list(K = K, P = both)), list(system = function(s) {
    b <- sin(1:2200)
    list(solve(s$K, b, ridge = 0.05, precondition = s$P, method = "cg"),
         as.numeric(kernweave::logdet(s$K, ridge = 0.05, precondition = s$P, seed = 1, method = "lanczos")),
         solve(kernweave::preconditioner(s$K, 0.02, like = s$P), b))
  }))
  again <- unserialize(serialize(both, NULL))
  expect_identical(again$ridge, ridge)
  expect_output(print(again), "0.01 to 0.10")
  # Copies of it share what has been made again, which may then travel on.
  copy <- again
  solve(again, sin(1:2200))
  expect_identical(copy$pointer, again$pointer)
  expect_identical(solve(unserialize(serialize(copy, NULL)), sin(1:2200)), solve(both, sin(1:2200)))
  rm(again, copy)
  expect_silent(gc())
})

test_that("fits predict elsewhere with the bits of home, and results of tests arrive whole", {
  x <- numbers(120, 2, 6)
  y <- sin(4 * x[, 1]) + x[, 2]^2
  d <- data.frame(y = y, a = x[, 1], b = x[, 2])
  objects <- list(gp = suppressWarnings(gp_fit(y ~ a + b, d, kernel = "matern32")),
                  ridge = kernel_ridge(y ~ a + b, d, lambda = 0.01),
                  rbf = rbf_interpolate(x, y), local = local_reg(x, y, bandwidth = 0.3),
                  kde = kde_fit(x, bandwidth = 0.2),
                  test = with_local_seed(3, mmd_test(x[1:60, ], x[61:120, ])))
  frame <- function(fit) {
    new <- data.frame(a = c(0.2, 0.7), b = c(0.5, 0.1))
    list(predict(fit, new), coef(fit), residuals(fit), capture.output(print(fit)))
  }
  rows <- function(fit) predict(fit, cbind(c(0.2, 0.7), c(0.5, 0.1)))
  expect_same_abroad(objects, list(gp = frame, ridge = frame, rbf = rows, local = rows, kde = rows,
                                   test = function(t) list(t$statistic, t$p.value, capture.output(print(t)))))
})

test_that("fits by products predict elsewhere with their standard errors, after they have done so here, too", {
  skip_below("all")
  x <- numbers(400, 2, 13)
  d <- data.frame(y = sin(4 * x[, 1]) + with_local_seed(14, stats::rnorm(400)) / 10, a = x[, 1], b = x[, 2])
  by_products <- fit_control(dense_n = 0)
  kernel <- kernel_spec("matern32", scale = 0.4)
  gp <- gp_fit(y ~ a + b, d, kernel = kernel, variance = 1, nugget = 0.01, control = by_products)
  ridge <- kernel_ridge(y ~ a + b, d, kernel = kernel, lambda = 0.01, control = by_products)
  use <- function(fit) predict(fit, data.frame(a = c(0.2, 0.7), b = c(0.5, 0.1)), se.fit = TRUE)
  expect_same_abroad(list(gp = gp, ridge = ridge), list(gp = use, ridge = use))
  # If a fit has predicted, it keeps the preconditioner that it has made for that: the preconditioner goes along.
  expect_same_abroad(list(gp = gp, ridge = ridge), list(gp = use, ridge = use))
})

# --- weight ---------------------------------------------------------------------------------------------------

test_that("points on both sides travel once", {
  x <- numbers(3000, 3, 7)
  of_points <- list(plain = exp(-sqdist(Vi(x), Vj(x, name = "y"))), kernel = kernel_matern(x, x, scale = 0.1, nu = 1.5),
                    columns_first = sqdist(Vj(x), Vi(x)), thrice = sqdist(Vi(x), Vj(x)) + sqdist(Vi(x), Vj(x)))
  for (name in names(of_points)) expect_lt(weight(of_points[[name]]), 1.1 * weight(x), label = name)
  K <- of_points$plain
  R <- reduction(K, "sum", call = FALSE)
  first <- as.matrix(R)
  expect_lt(weight(R), 1.1 * weight(x))
  again <- unserialize(serialize(list(K, K + 1), NULL))
  expect_lt(weight(again), 1.2 * weight(x))
  expect_identical(sum(again[[1]], index = "j"), first)
  # The formula's variables are two, as before.
  expect_identical(vjp(R, "y", 1), vjp(reduction(again[[1]], "sum", call = FALSE), "y", 1))
  x[1, 1] <- 7  # of the caller's alone
  expect_identical(K[1:2, ] %*% x[, 2], again[[1]][1:2, ] %*% x[, 2])
  expect_identical(as.matrix(R), first)
})

test_that("vectors that are equal but not one, or short, are each operand's own", {
  x <- numbers(1000, 2, 8)
  twin <- x + 0
  K <- sqdist(Vi(x), Vj(twin))
  expect_gt(weight(K), 1.9 * weight(x))
  few <- x[1:3, ]
  expect_identical(sum(unserialize(serialize(sqdist(Vi(few), Vj(few)), NULL)), index = "j"),
                   sum(sqdist(Vi(few), Vj(few)), index = "j"))
  for (k in 1:20) Vi(x + k)  # of which none is kept
  expect_lt(weight(sqdist(Vi(x), Vj(x))), 1.1 * weight(x))
})

test_that("an approximation weighs little more than its formula, before and after products", {
  x <- numbers(6000, 2, 9)
  y <- numbers(5000, 2, 10)
  formulas <- list(one = kernel_matern(x, x, scale = 0.1, nu = 1.5), two = kernel_gaussian(x, y, scale = 0.2),
                   sum = kernel_matern(x, x, scale = 0.1, nu = 1.5) + kernel_gaussian(x, x, scale = 0.3))
  for (name in names(formulas)) {
    A <- approximate(formulas[[name]], 1e-5)
    expect_lt(weight(A), 1.1 * weight(formulas[[name]]), label = name)
    product <- A %*% rep(1, ncol(A))
    crossprod(A, rep(1, 6000))
    expect_lt(weight(A), 1.1 * weight(formulas[[name]]), label = paste(name, "after products"))
    expect_identical(unserialize(serialize(A, NULL)) %*% rep(1, ncol(A)), product)
  }
})

test_that("a preconditioner weighs as much as its points, landmarks and neighbours", {
  x <- numbers(3000, 2, 11)
  P <- preconditioner(kernel_matern(x, x, scale = 0.2, nu = 0.5), 0.01, rank = 30, neighbours = 5)
  expect_lt(weight(P), 1.1 * (weight(x) + weight(P$support)))
  solve(P, rep(1, 3000))
  expect_lt(weight(P), 1.1 * (weight(x) + weight(P$support)))
})

# --- random numbers -------------------------------------------------------------------------------------------

test_that("a fit leaves R's random numbers alone, here and in a worker", {
  x <- numbers(100, 2, 12)
  y <- sin(4 * x[, 1])
  fit <- function(x, y) {
    set.seed(1)
    before <- .Random.seed
    suppressWarnings(kernweave::kernel_ridge(x, y))  # the penalty is at its bound
    kernweave::kernel_ridge(x, y, lambda = 0.1)
    predict(suppressWarnings(kernweave::gp_fit(x, y)), x[1:3, ])
    K <- kernweave::kernel_matern(x, x, scale = 0.3, nu = 1.5)
    solve(K, y, ridge = 0.1, method = "cg")
    kernweave::approximate(K, 1e-4) %*% y
    identical(before, .Random.seed)
  }
  expect_true(with_local_seed(3, fit(x, y)))
  environment(fit) <- globalenv()
  with_nodes(1, function(nodes) {
    expect_true(parallel::clusterCall(nodes, fit, x, y)[[1]])
    none <- parallel::clusterCall(nodes, function(x, y) {
      rm(".Random.seed", envir = globalenv())
      kernweave::kernel_ridge(x, y)
      exists(".Random.seed", globalenv())
    }, x, y)[[1]]
    expect_false(none)
  })
})
