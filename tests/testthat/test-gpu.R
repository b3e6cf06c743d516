# The GPU engine: what it writes compiles without a GPU; where there is one, its numbers are the reference's.

test_that("every operation compiles for a GPU", {
  skip_below("usual")
  skip_without_compiler()
  # An alias is a formula of the others.
  operations <- subset(kernweave_operations(), form != "alias")
  formulas <- list()
  for (k in seq_len(nrow(operations))) for (shape in accepted_shapes(operations[k, ], 3, most = 1)) {
    F <- operation_on(operations[k, ], shape, c("i", "j", "param"), 4, 5)
    formulas[[operations$fn[k]]] <- if (width(F) > 1) sum(F) else F
  }
  # One by one at night; what of several does not compile is found among these.
  together <- split(formulas, (seq_along(formulas) - 1) %/% by_tier(1, 8, 1))
  for (some in together) expect_compiles(reduction(Reduce(`+`, some), "sum", call = FALSE), toString(names(some)))
})

test_that("every reduction compiles for a GPU, over every axis at night", {
  skip_below("usual")
  skip_without_compiler()
  y <- numbers_between(5, 2, 0, 1)
  # For derived reductions there is nothing to compile: they hand another formula to one of these reductions.
  reductions <- subset(kernweave_reductions(), name == of)
  axes <- function(k) if (reaches("all")) c("i", "j", "ij") else c("j", "ij")[1 + k %% 2]
  for (k in seq_len(nrow(reductions))) for (index in axes(k))
  for (K in if (reductions$inputs[k] == "value_k") c(2, 40) else 1) {
    R <- reduction(term_for(reductions[k, ], Vi(y), Vj(y)), reductions$fn[k], index = index,
                   K = if (reductions$inputs[k] == "value_k") K,
                   weight = weight_for(reductions[k, ], y), call = FALSE)
    expect_compiles(R, paste(reductions$fn[k], index))
  }
})

test_that("random formulas compile for a GPU", {
  skip_below("usual")
  skip_without_compiler()
  for (seed in seq_len(by_tier(3, 3, 50))) {
    formula <- random_formula(seed)
    expect_compiles(reduction_behind(as_kernel(formula, "auto")), formula$text)
  }
})

test_that("what a sum begins with is there in every pass", {
  skip_without_compiler()
  X <- Vi(cloud(5, 3))
  Y <- Vj(cloud(6, 3))
  Z <- Vj(cloud(6, 1))
  operations <- list(elem(X, 1) - elem(Y, 2), elem(X, 1) * elem(Y, 2), elem(X, 1) + elem(Y, 2))
  for (w in operations[seq_len(by_tier(1, 1, 3))]) {
    R <- sum_of(cos(w + sqdist(X, Y)) + Z * w, index = "j")
    expect_compiles(R, format(R))
    expect_compiles(vjp(R, list(X, Z), call = FALSE), format(R))
    if (gpu_is_ready()) {
      expect_close(as.matrix(lazy_set(R, device = "gpu", precision = "float64")),
                   as.matrix(lazy_set(R, device = "reference")), 1e-13, scale = 10)
    }
  }
})

test_that("a source depends on structure and shape, never on names, numbers or sizes", {
  x <- matrix(stats::runif(30), 10)
  text <- function(s, name, lanes) {
    sources_of(sum(exp(-sqdist(Vi(x, name = name), Vj(x)) / s), index = "j", call = FALSE), lanes)
  }
  expect_identical(text(2, "x", 1e5), text(3, "\"; #error", 2e5))
  expect_false(any(grepl("error", text(2, "#error", 1e5))))
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
gpu_sizes <- list(c(0, 5), c(5, 0), c(1, 1), c(1, 300), c(31, 33), c(32, 32), c(33, 31), c(255, 257), c(257, 255),
                  c(256, 256),
                  c(513, 1), c(3, 5003), c(5003, 3), c(1031, 2053))

test_that("pairs of a common kind on the GPU, as the reference has them", {
  skip_without_gpu()
  set.seed(9)
  # If the compiler is a run-time compiler, each number of components is compiled anew: some will do.
  ahead <- !grepl("^NVRTC", gpu_report()$compiler)
  sizes <- if (ahead) list(c(1, 1), c(31, 300), c(513, 7), c(700, 1031)) else list(c(700, 1031))
  for (size in sizes) for (D in if (ahead) c(1, 3, 12) else 3) for (index in c("j", "i")) {
    # If points are on a binary grid, they are exact in float32, but not when their centre has been taken off: then ties
    # may be none.
    points <- function(n) matrix(round(stats::rnorm(n * D) * 64) / 64, ncol = D)
    weights <- matrix(stats::runif(2 * size[if (index == "i") 1 else 2]), ncol = 2)
    x <- points(size[1])
    y <- points(size[2])
    run <- function(...) common_pairs(x, y, if (D == 3) weights else weights[, 1, drop = FALSE], index, ...)
    expected <- run(device = "reference")
    for (precision in test_precisions()) {
      found <- run(device = "gpu", precision = precision)
      for (name in names(found)) {
        label <- paste(name, D, paste(size, collapse = "x"), index, precision)
        which <- if (is.list(found[[name]]) && precision == "float32") "values" else TRUE
        # Sums of up to a thousand terms of some size, and of cubes.
        expect_close(unlist(found[[name]][which]), unlist(expected[[name]][which]), 5 * tolerance_of(precision),
                     label = label)
      }
    }
  }
})

test_that("every reduction on the GPU, as the reference has it, at every size", {
  skip_without_gpu()
  set.seed(8)
  reductions <- kernweave_reductions()
  for (k in seq_len(nrow(reductions))) for (size in gpu_sizes) {
    # If points are on a binary grid, ties are ties however a distance is rounded.
    x <- matrix(round(stats::rnorm(2 * size[1]) * 8) / 8, ncol = 2)
    y <- matrix(round(stats::rnorm(2 * size[2]) * 8) / 8, ncol = 2)
    F <- term_for(reductions[k, ], Vi(x), Vj(y))
    for (index in c("i", "j", "ij")) for (K in if (reductions$inputs[k] == "value_k") c(3, 40) else 1)
    for (precision in test_precisions()) {
      run <- function(device) {
        reduction(F, reductions$fn[k], index = index, K = if (reductions$inputs[k] == "value_k") K,
                  weight = weight_for(reductions[k, ], y),
                  device = device, precision = precision)
      }
      actual <- run("gpu")
      expected <- run("reference")
      label <- paste(reductions$fn[k], index, paste(size, collapse = "x"), precision)
      # Each of up to two million factors brings its own error.
      slack <- if (reductions$fn[k] == "prod") 10 else 1
      if (reductions$results[k] == "index") {
        if (precision == "float64") expect_identical(actual, expected, label = label)
      } else if (is.list(expected)) {
        expect_close(actual$value, expected$value, tolerance_of(precision), scale = 10, label = label)
        if (precision == "float64") expect_identical(actual$index, expected$index, label = label)
      } else expect_close(actual, expected, slack * tolerance_of(precision),
                          scale = if (slack > 1) 1 else 10 * max(size), label = label)
    }
  }
})

test_that("exponents of a row may all be far below 0 on the GPU", {
  skip_without_gpu()
  for (precision in test_precisions()) {
    expect_equal(far_exponents("gpu", precision), far_exponents("reference", precision),
                 tolerance = tolerance_of(precision))
  }
})

test_that("exponents may leap, and weights be of any size, on the GPU", {
  skip_without_gpu()
  for (precision in test_precisions()) expect_leaping_sums("gpu", precision)
})

test_that("the GPU gives the same bits, run to run", {
  skip_without_gpu()
  set.seed(9)
  x <- matrix(stats::rnorm(3 * 15000), ncol = 3)
  y <- matrix(stats::rnorm(3 * 23000), ncol = 3)
  K <- exp(-sqdist(Vi(x), Vj(y)))
  for (op in c("sum", "logsumexp", "min_argmin", "argKmin")) for (index in c("i", "j", "ij"))
  for (precision in test_precisions()) {
    run <- function() reduction(K, op, index = index, K = if (op == "argKmin") 4, precision = precision, device = "gpu")
    expect_identical(run(), run(), label = paste(op, index, precision))
  }
})

test_that("a softmax with many weights is right on the GPU whatever order and size its exponents have", {
  skip_without_gpu()
  set.seed(11)
  x <- matrix(stats::rnorm(150 * 16), 150)
  y <- matrix(stats::rnorm(140 * 16), 140)
  weights <- matrix(stats::rnorm(140 * 40), 140)
  shift <- sort(stats::rnorm(140, sd = 30))
  without <- replace(shift, c(3, 70, 71), -Inf)
  softmax <- function(shift, weights, ...) {
    sumsoftmaxweight((Vi(x) | Vj(y)) / 4 + Vj(shift), weight = Vj(weights), ...)
  }
  cases <- list(rising = list(shift, weights), falling = list(rev(shift), weights), masked = list(without, weights),
                one = list(replace(rep(-Inf, 140), 70, 1), weights), none = list(rep(-Inf, 140), weights),
                large = list(shift * 1e4, weights), infinite = list(replace(shift, 5, Inf), weights),
                unknown = list(replace(shift, 5, NaN), weights),
                infinite_weight = list(shift, replace(weights, 900, Inf)),
                unknown_weight = list(shift, replace(weights, 900, NaN)))
  for (name in names(cases)) for (precision in c("float32", "float16")) {
    found <- do.call(softmax, c(cases[[name]], device = "gpu", precision = precision))
    expected <- do.call(softmax, c(cases[[name]], device = "reference"))
    expect_close(found, expected, if (precision == "float16") 4e-3 else 1e-5 * (1 + 50 * (name == "large")),
                 label = paste(name, precision))
  }
})

test_that("wide points, many right-hand sides and long lists work on the GPU", {
  skip_without_gpu()
  set.seed(10)
  for (D in c(5, 20, 50, 128, 700, 3000)) {
    x <- matrix(stats::runif(60 * D), 60) / sqrt(D)
    y <- matrix(stats::runif(90 * D), 90) / sqrt(D)
    b <- matrix(stats::rnorm(90 * 7), 90)
    for (precision in test_precisions())
    for (F in list(exp(-sqdist(Vi(x), Vj(y))), sqrt(sqdist(Vi(x), Vj(y))), manhattan(Vi(x), Vj(y)))) {
      expected <- reduction(F, "sum", weight = Vj(b), device = "reference")
      expect_close(reduction(F, "sum", weight = Vj(b), device = "gpu", precision = precision), expected,
                   tolerance_of(precision),
                   scale = 90 * sqrt(D), label = paste(D, precision))
    }
    expect_identical(argKmin(sqdist(Vi(x), Vj(y)), K = 20, device = "gpu"),
                     argKmin(sqdist(Vi(x), Vj(y)), K = 20, device = "reference"))
  }
  # Inner products in exponents: the logarithm of their sum, and shares as weights of one block of threads or of two.
  for (D in c(17, 64)) for (columns in c(0, 30, 130)) for (precision in test_precisions()) {
    x <- matrix(stats::rnorm(300 * D), 300)
    y <- matrix(stats::rnorm(210 * D), 210)
    softmax <- function(...) {
      F <- (Vi(x) | Vj(y)) / sqrt(D)
      if (columns == 0) logsumexp(F, ...)
      else sumsoftmaxweight(F, weight = Vj(matrix(sin(seq_len(210 * columns)), 210)), ...)
    }
    expect_close(softmax(device = "gpu", precision = precision), softmax(device = "reference"),
                 2 * tolerance_of(precision), scale = 10, label = paste(D, columns, precision))
  }
  x <- matrix(stats::runif(400), 200)
  B <- matrix(stats::rnorm(200 * 100), 200)
  K <- exp(-sqdist(Vi(x), Vj(x)))
  for (precision in test_precisions())
    expect_close(reduction(K, "sum", weight = Vj(B), device = "gpu", precision = precision),
                 reduction(K, "sum", weight = Vj(B), device = "reference"),
                 tolerance_of(precision), scale = 200)
})

test_that("a formula too long to compile is interpreted or refused, at once", {
  skip_without_gpu()
  series <- cloud(300, 20)
  W <- softdtw(Vi(series), Vj(series), 0.5)
  took <- system.time(value <- tryCatch(sum(W, index = "j", device = "gpu"),
                                        kernweave_error = conditionMessage))[["elapsed"]]
  expect_lt(took, 20)
  if (is.character(value)) {
    expect_match(value, "too long to compile")
  } else {
    expect_close(value, sum(W, index = "j", device = "cpu"), 1e-12)
  }
  expect_close(suppressMessages(sum(W, index = "j", device = "auto")), sum(W, index = "j", device = "cpu"), 1e-12)
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

test_that("random formulas on the GPU, as the CPU has them", {
  skip_without_gpu()
  for (seed in 101:140) {
    formula <- random_formula(seed)
    data <- random_operands(seed, 700, 1300)[vapply(formula$operands, `[[`, "", "name")]
    on_cpu <- as_kernel(formula, "cpu")(data)
    on_gpu <- as_kernel(formula, "gpu")(data)
    expect_identical(is.finite(on_gpu), is.finite(on_cpu), label = formula$text)
    scale <- max(1, abs(on_cpu[is.finite(on_cpu)]))
    expect_close(on_gpu[is.finite(on_cpu)], on_cpu[is.finite(on_cpu)], 1e-9, scale = scale, label = formula$text)
  }
})

test_that("100 001 points, and more than 2^40 pairs, are right where one looks", {
  skip_without_gpu()
  set.seed(16)
  for (n in c(1e5 + 1, 2^20 + 1)) for (precision in if (n < 2^20) test_precisions() else "float32") {
    x <- matrix(stats::runif(3 * n), n)
    b <- stats::rnorm(n)
    look <- c(1, sample(n, 4), n)
    K <- function(x, y) exp(-sqdist(Vi(x), Vj(y)))
    found <- reduction(K(x, x), "sum", weight = Vj(b), device = "gpu", precision = precision)
    expect_close(found[look, ], reduction(K(x[look, ], x), "sum", weight = Vj(b), device = "cpu")[, 1],
                 tolerance_of(precision), scale = n, label = paste(n, precision))
    nearest <- reduction(sqdist(Vi(x), Vj(x)), "argKmin", K = 2, device = "gpu", precision = precision)
    expect_identical(nearest[look, 1], as.integer(look))
  }
})
