# The GPU engine: what it writes compiles without a GPU; where there is one, its numbers are the reference's.

gpu_is_ready <- function() "gpu" %in% kernweave:::r_devices()
skip_without_gpu <- function() if (!gpu_is_ready()) skip("no GPU here")

sources_of <- function(R, lanes = 1e5) kernweave:::r_cuda_sources(kernweave:::prepared(R)$plan, lanes)

# Where a toolkit is, its run-time compiler must work (test-compile.R); elsewhere there may be one, too.
skip_without_compiler <- function() {
  if (!grepl("^NVRTC", kernweave:::r_gpu_report()$compiler)) skip("no run-time compiler here")
}

expect_compiles <- function(R, label) {
  for (precision in test_precisions()) for (source in sources_of(lazy_set(R, precision = precision))) {
    code <- tryCatch(length(kernweave:::r_cuda_compile(source, 90L)), kernweave_error = conditionMessage)
    expect_true(is.numeric(code) && code > 1000, label = paste(label, precision, code))
  }
}

# Of every operation, its arguments along every axis.
operation_on <- function(row, shape, axes, M, N) {
  arguments <- Map(function(width, kind, axis) {
    data <- numbers_between(c(i = M, j = N, param = 1)[[axis]], width, 0.3, 1.8)
    operand_on(axis, if (kind == "logical") data > 1 else data, name = axis)
  }, shape$widths, shape$kinds, axes[seq_along(shape$widths)])
  kernweave:::lazy_call(row$name, arguments, shape$attributes) + 0 * (row_index(M) + col_index(N))
}

term_for <- function(row, X, Y) if (row$fn == "any") sqdist(X, Y) < 0.01 else sqdist(X, Y) - 1
weight_for <- function(row, y) if (row$inputs == "value_weight") Vj(y)^2

test_that("every operation compiles for a GPU", {
  skip_without_compiler()
  operations <- kernweave_operations()
  for (k in seq_len(nrow(operations))) for (shape in accepted_shapes(operations[k, ], 3, most = 1)) {
    F <- operation_on(operations[k, ], shape, c("i", "j", "param"), 4, 5)
    expect_compiles(reduction(F, "sum", call = FALSE), operations$fn[k])
  }
})

test_that("every reduction compiles for a GPU, over every axis", {
  skip_without_compiler()
  y <- numbers_between(5, 2, 0, 1)
  reductions <- kernweave_reductions()
  for (k in seq_len(nrow(reductions))) for (index in c("i", "j", "ij")) for (K in if (reductions$inputs[k] == "value_k") c(2, 40) else 1) {
    R <- reduction(term_for(reductions[k, ], Vi(y), Vj(y)), reductions$fn[k], index = index, K = if (reductions$inputs[k] == "value_k") K,
                   weight = weight_for(reductions[k, ], y), call = FALSE)
    expect_compiles(R, paste(reductions$fn[k], index))
  }
})

test_that("random formulas compile for a GPU", {
  skip_without_compiler()
  for (seed in 1:50) {
    formula <- random_formula(seed)
    expect_compiles(reduction_behind(as_kernel(formula, "auto")), formula$text)
  }
})

test_that("what tensor cores take part in compiles for a GPU", {
  skip_without_compiler()
  for (D in c(3, 8, 50, 300)) for (W in c(1, 4, 24, 100)) {
    x <- numbers_between(9, D, 0, 1)
    K <- exp(-sqdist(Vi(x), Vj(x)))
    expect_compiles(reduction(K, "sum", weight = Vj(numbers_between(9, W, 0, 1)), call = FALSE), paste(D, W))
    expect_compiles(reduction(1 / (1 + sqdist(Vi(x), Vj(x))), "sum", index = "i", weight = Vi(numbers_between(9, W, 0, 1)), call = FALSE), paste(D, W))
  }
})

test_that("a source depends on structure and shape, never on names, numbers or sizes", {
  x <- matrix(stats::runif(30), 10)
  text <- function(s, name, lanes) sources_of(sum(exp(-sqdist(Vi(x, name = name), Vj(x)) / s), index = "j", call = FALSE), lanes)
  expect_identical(text(2, "x", 1e5), text(3, "\"; #error", 2e5))
  expect_false(any(grepl("error", text(2, "#error", 1e5))))
})

test_that("without a driver, asking for the GPU says what is missing, and auto is silent", {
  if (gpu_is_ready()) skip("there is a GPU here")
  x <- Vi(matrix(stats::runif(30), 10))
  expect_error(sum(sqdist(x, Vj(matrix(0, 5, 3))), index = "j", device = "gpu"), "driver|NVRTC", class = "kernweave_error_no_device")
  expect_silent(sum(sqdist(x, Vj(matrix(0, 5, 3))), index = "j", device = "auto"))
})

# --- on a GPU -----------------------------------------------------------------------------------------------------

test_that("every operation on the GPU, as the reference has it", {
  skip_without_gpu()
  set.seed(7)
  operations <- kernweave_operations()
  for (k in seq_len(nrow(operations))) for (shape in accepted_shapes(operations[k, ], 3, most = 2))
    for (axes in list(c("i", "j", "param"), c("j", "i", "i"), c("param", "j", "i"))) {
      F <- operation_on(operations[k, ], shape, axes, 37, 71)
      expected <- as.matrix(lazy_set(F, device = "reference"))
      for (precision in test_precisions())
        expect_close(as.matrix(lazy_set(F, device = "gpu", precision = precision)), expected, tolerance_of(precision),
                     label = paste(operations$fn[k], precision))
    }
})

# More than a tile, a block and a strip on either side, and one less.
gpu_sizes <- list(c(0, 5), c(5, 0), c(1, 1), c(1, 300), c(31, 33), c(32, 32), c(33, 31), c(255, 257), c(257, 255), c(256, 256),
                  c(513, 1), c(3, 5003), c(5003, 3), c(1031, 2053))

test_that("every reduction on the GPU, as the reference has it, at every size", {
  skip_without_gpu()
  set.seed(8)
  reductions <- kernweave_reductions()
  for (k in seq_len(nrow(reductions))) for (size in gpu_sizes) {
    # On a binary grid, so that ties are ties however a distance is rounded.
    x <- matrix(round(stats::rnorm(2 * size[1]) * 8) / 8, ncol = 2)
    y <- matrix(round(stats::rnorm(2 * size[2]) * 8) / 8, ncol = 2)
    F <- term_for(reductions[k, ], Vi(x), Vj(y))
    for (index in c("i", "j", "ij")) for (K in if (reductions$inputs[k] == "value_k") c(3, 40) else 1) for (precision in test_precisions()) {
      run <- function(device) {
        reduction(F, reductions$fn[k], index = index, K = if (reductions$inputs[k] == "value_k") K, weight = weight_for(reductions[k, ], y),
                  device = device, precision = precision)
      }
      actual <- run("gpu")
      expected <- run("reference")
      label <- paste(reductions$fn[k], index, paste(size, collapse = "x"), precision)
      if (reductions$results[k] == "index") {
        if (precision == "float64") expect_identical(actual, expected, label = label)
      } else if (is.list(expected)) {
        expect_close(actual$value, expected$value, tolerance_of(precision), scale = 10, label = label)
        if (precision == "float64") expect_identical(actual$index, expected$index, label = label)
      } else expect_close(actual, expected, tolerance_of(precision), scale = 10 * max(size), label = label)
    }
  }
})

test_that("the GPU gives the same bits, run to run", {
  skip_without_gpu()
  set.seed(9)
  x <- matrix(stats::rnorm(3 * 15000), ncol = 3)
  y <- matrix(stats::rnorm(3 * 23000), ncol = 3)
  K <- exp(-sqdist(Vi(x), Vj(y)))
  for (op in c("sum", "logsumexp", "min_argmin", "argKmin")) for (index in c("i", "j", "ij")) for (precision in test_precisions()) {
    run <- function() reduction(K, op, index = index, K = if (op == "argKmin") 4, precision = precision, device = "gpu")
    expect_identical(run(), run(), label = paste(op, index, precision))
  }
})

test_that("wide points, many right-hand sides and long lists work on the GPU", {
  skip_without_gpu()
  set.seed(10)
  for (D in c(5, 20, 50, 128, 700, 3000)) {
    x <- matrix(stats::runif(60 * D), 60) / sqrt(D)
    y <- matrix(stats::runif(90 * D), 90) / sqrt(D)
    b <- matrix(stats::rnorm(90 * 7), 90)
    for (precision in test_precisions()) for (F in list(exp(-sqdist(Vi(x), Vj(y))), sqrt(sqdist(Vi(x), Vj(y))), manhattan(Vi(x), Vj(y)))) {
      expected <- reduction(F, "sum", weight = Vj(b), device = "reference")
      expect_close(reduction(F, "sum", weight = Vj(b), device = "gpu", precision = precision), expected, tolerance_of(precision),
                   scale = 90 * sqrt(D), label = paste(D, precision))
    }
    expect_identical(argKmin(sqdist(Vi(x), Vj(y)), K = 20, device = "gpu"), argKmin(sqdist(Vi(x), Vj(y)), K = 20, device = "reference"))
  }
  x <- matrix(stats::runif(400), 200)
  B <- matrix(stats::rnorm(200 * 100), 200)
  K <- exp(-sqdist(Vi(x), Vj(x)))
  for (precision in test_precisions())
    expect_close(reduction(K, "sum", weight = Vj(B), device = "gpu", precision = precision), reduction(K, "sum", weight = Vj(B), device = "reference"),
                 tolerance_of(precision), scale = 200)
})

test_that("a copy on the GPU follows its operand, not the name", {
  skip_without_gpu()
  x <- matrix(stats::runif(30000), ncol = 3)
  X <- Vi(x)
  f <- function(X) sum(X * Vj(1), index = "j", device = "gpu")
  expect_identical(f(X), x)
  x[1] <- 7
  expect_identical(f(X)[1] == 7, FALSE)
  expect_identical(f(Vi(x))[1], 7)
  g <- as.function(sum(Vi(dim = 3, name = "x") * Vj(1), index = "j", call = FALSE, device = "gpu"))
  expect_identical(g(x), x)
  expect_identical(g(2 * x), 2 * x)
})

test_that("a forked process is told that it cannot use its parent's GPU", {
  skip_without_gpu()
  skip_on_os("windows")
  x <- matrix(stats::runif(30), 10)
  K <- sqdist(Vi(x), Vj(x))
  sum(K, index = "j", device = "gpu")
  said <- parallel::mclapply(1:2, function(k) tryCatch(sum(K, index = "j", device = "gpu"), kernweave_error = conditionMessage), mc.cores = 2)
  for (answer in said) expect_match(answer, "forked")
  big <- Vi(matrix(stats::runif(3e5), ncol = 3))
  L <- exp(-sqdist(big, Vj(matrix(stats::runif(3e3), ncol = 3))))
  for (answer in parallel::mclapply(1:2, function(k) sum(L, index = "j"), mc.cores = 2)) expect_close(answer, sum(L, index = "j"), 1e-12, scale = 1000)
})

test_that("inner products on tensor cores are float32's, in any units and at every size", {
  skip_without_gpu()
  set.seed(12)
  for (D in c(8, 16, 50, 301)) for (size in list(c(128, 128), c(129, 1000), c(1500, 131))) {
    unit <- 10^stats::runif(1, -6, 6)
    x <- unit * matrix(stats::runif(size[1] * D), ncol = D) / sqrt(D)
    y <- unit * matrix(stats::runif(size[2] * D), ncol = D) / sqrt(D)
    near <- seq_len(min(size))
    y[near, ] <- x[near, ]  # coincident points
    b <- matrix(stats::rnorm(2 * size[2]), size[2])
    D2 <- sqdist(Vi(x), Vj(y)) * (3 / unit^2)
    run <- function(device) {
      K <- lazy_set(exp(-D2), device = device, precision = "float32")
      list(K %*% b, crossprod(K, matrix(stats::rnorm(1), size[1])), sum(K, index = "i"), sum(square(K) * Vj(b[, 1]), index = "j"),
           reduction(K, "sum", index = "ij"), logsumexp(lazy_set(-D2, device = device, precision = "float32"), index = "j"))
    }
    set.seed(1)
    actual <- run("gpu")
    set.seed(1)
    expected <- run("reference")
    for (k in seq_along(actual))
      expect_close(actual[[k]], expected[[k]], 5e-6, scale = if (k == 5) prod(size) else max(size), label = paste(D, paste(size, collapse = "x"), k))
  }
})

test_that("sums with many weights on tensor cores are float32's, whatever the sizes of terms and weights", {
  skip_without_gpu()
  set.seed(13)
  for (D in c(3, 50)) for (W in c(24, 57, 113)) for (size in list(c(1, 1), c(63, 65), c(129, 500), c(500, 129))) {
    x <- matrix(stats::runif(size[1] * D), ncol = D) / sqrt(D)
    y <- matrix(stats::runif(size[2] * D), ncol = D) / sqrt(D)
    # Rows whose terms are tiny, and columns of weights of all sizes.
    x[sample(size[1], 1), 1] <- 3
    b <- matrix(stats::rnorm(W * size[2]), size[2]) * rep(10^stats::runif(W, -20, 20), each = size[2])
    for (f in list(function(d) exp(-d), function(d) 1 / (1 + d))) {
      K <- f(sqdist(Vi(x), Vj(y)))
      expected <- lazy_set(K, device = "reference") %*% b
      size_of_terms <- lazy_set(K, device = "reference") %*% abs(b)
      expect_close((lazy_set(K, device = "gpu", precision = "float32") %*% b) / size_of_terms, expected / size_of_terms, 5e-6, label = paste(D, W, paste(size, collapse = "x")))
    }
  }
})

test_that("where halves cannot tell a number, tensor cores stand back", {
  skip_without_gpu()
  set.seed(14)
  x <- matrix(stats::runif(3 * 300), ncol = 3)
  b <- matrix(stats::runif(30 * 300), 300)
  b[7, 3] <- Inf
  b[9, 4] <- NaN
  b[11, 5] <- 1e38
  same <- function(K, b) {
    actual <- lazy_set(K, device = "gpu", precision = "float32") %*% b
    expected <- lazy_set(K, device = "reference") %*% b
    expect_identical(is.finite(actual), is.finite(expected))
    expect_identical(is.nan(actual), is.nan(expected))
    finite <- is.finite(expected)
    expect_close(actual[finite] / 1e3, expected[finite] / 1e3, 1e-5, scale = max(1, abs(expected[finite])))
  }
  same(exp(-sqdist(Vi(x), Vj(x))), b)
  same(1 / sqdist(Vi(x), Vj(x)), matrix(stats::runif(30 * 300), 300))  # infinite where points meet
  x[5, 2] <- NaN
  same(exp(-sqdist(Vi(x), Vj(x))), matrix(stats::runif(30 * 300), 300))
})

test_that("few components, expanded, keep the accuracy of every term on the GPU", {
  skip_without_gpu()
  set.seed(15)
  for (D in 3:4) for (unit in c(1e-6, 1, 1e6)) for (precision in test_precisions()) {
    x <- unit * matrix(stats::runif(300 * D), ncol = D)
    y <- x[sample(300, 260), ]
    reach <- 2 * max(rowSums(sweep(x, 2, colMeans(x))^2))
    bound <- if (precision == "float64") 1e-13 / 2^-53 else 5e-6 / 2^-24
    s <- 0.9 * bound / max(1 + 1.8 + 0.7 * sqrt(D), D / 22) / reach
    R <- sum(exp(-sqdist(Vi(x), Vj(y)) * s), index = "j", call = FALSE)
    expect_match(explain(lazy_set(R, device = "gpu", precision = precision))$schedule$why, "expanded")
    exact <- as.matrix(lazy_set(R, device = "reference"))
    expect_close(as.matrix(lazy_set(R, device = "gpu", precision = precision)) / exact, exact / exact, tolerance_of(precision), label = paste(D, unit, precision))
  }
})
