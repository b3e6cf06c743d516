# The CPU engine: every instruction set of this machine against the reference, tails of all lengths, and what goes on
# around a call.

all_axes <- list(c("i", "j", "param"), c("j", "i", "i"), c("param", "j", "i"))

# Compares the CPU on every instruction set, in both precisions, with the reference.
on_all_lanes <- function(reference, run, label, check) {
  for (isa in instruction_sets) for (precision in test_precisions()) {
    check(with_isa(isa, run("cpu", precision)), reference, precision, paste(label, isa, precision))
  }
}

# Every operation, with its arguments along every axis, at more pairs than any strip and fewer than any tile.
test_that("every operation, on lanes of every instruction set, as the reference has it", {
  skip_below("quick")
  set.seed(7)
  operations <- kernweave_operations()
  for (k in seq_len(nrow(operations))) {
    shapes <- accepted_shapes(operations[k, ], 3, most = by_tier(1, 1, 2))
    cases <- combinations(shape = seq_along(shapes), axes = if (reaches("usual")) seq_along(all_axes) else 1 + k %% 3)
    for (case in seq_len(nrow(cases))) {
      shape <- shapes[[cases$shape[case]]]
      arguments <- Map(function(width, kind, axis) {
        data <- numbers_between(c(i = 37, j = 71, param = 1)[[axis]], width, 0.3, 1.8)
        operand_on(axis, if (kind == "logical") data > 1 else data, name = axis)
      }, shape$widths, shape$kinds, all_axes[[cases$axes[case]]][seq_along(shape$widths)])
      F <- lazy_call(operations$name[k], arguments, shape$attributes) +
        0 * (row_index(37) + col_index(71))
      run <- function(device, precision) as.matrix(lazy_set(F, device = device, precision = precision))
      on_all_lanes(run("reference", "float64"), run, operations$fn[k], function(actual, expected, precision, label) {
        expect_close(actual, expected, tolerance_of(precision), label = label)
      })
    }
  }
})

# The lengths of the tail: all for reductions with a state of their own and at night, some for other reductions.
tails <- c(1:18, 31:34, 63:66, 127:130)
test_that("every reduction, on lanes of every instruction set, whatever the length of the tail", {
  skip_below("quick")
  set.seed(8)
  x <- matrix(stats::rnorm(140 * 2), 140)
  y <- matrix(stats::rnorm(140 * 2), 140)
  reductions <- kernweave_reductions()
  for (k in seq_len(nrow(reductions))) {
    own <- reductions$name[k] == reductions$of[k]
    lengths <- if (own || reaches("all")) tails else c(1, 7, 34, 63)
    cases <- combinations(n = if (reaches("usual")) lengths else c(3, 17, 64, 129), index = c("i", "j", "ij"))
    for (case in seq_len(nrow(cases))) {
      n <- cases$n[case]
      # Each factor brings its own relative error along.
      product <- reductions$fn[k] == "prod"
      X <- Vi(x[seq_len(n), , drop = FALSE])
      Y <- Vj(y[seq_len(131 - n), , drop = FALSE])
      F <- if (wants_logical(reductions[k, ])) sqdist(X, Y) < 0.01
        else if (product) 1 + 0.01 * sqdist(X, Y)
        else sqdist(X, Y) - 1
      K <- if (reductions$inputs[k] == "value_k") 3
      weight <- if (reductions$inputs[k] == "value_weight") Vj(y[seq_len(131 - n), , drop = FALSE])^2
      run <- function(device, precision) {
        reduction(F, reductions$fn[k], index = cases$index[case], K = K, weight = weight, device = device,
                  precision = precision)
      }
      check <- function(actual, exact, precision, label) {
        tolerance <- tolerance_of(precision)
        # The reference rounds its arguments, too.
        expected <- if (precision == "float64") exact else run("reference", precision)
        if (precision == "float64" && reductions$results[k] == "index") {
          expect_identical(actual, expected, label = label)
        } else if (is.list(expected)) {
          expect_close(actual$value, expected$value, tolerance, scale = 10, label = label)
        } else if (reductions$results[k] == "value") {
          expect_close(actual, expected, tolerance * if (product) 10 else 1, scale = if (product) 1 else 1000,
                       label = label)
        }
      }
      on_all_lanes(run("reference", "float64"), run, paste(reductions$fn[k], cases$index[case], n), check)
    }
  }
})

test_that("lists are right whatever a first look at some of the terms has shown", {
  set.seed(12)
  n <- 3000
  columns <- list(
    ties = sample(0:20, n, replace = TRUE) + 0, alike = rep(1, n), falling = n:1 + 0, rising = 1:n + 0,
    near_zero = sample(c(-1, 0, 1), n, replace = TRUE) * 2^-140, late = c(rep(Inf, n - 7), 7:1 + 0),
    few = c(rep(NaN, n - 5), 1, Inf, 1, -Inf, 0), unbounded = sample(c(-Inf, Inf, 1, 2), n, replace = TRUE),
    huge = sample(1:9, n, replace = TRUE) * 2^124
  )
  cases <- combinations(name = names(columns), K = c(1, 3, 10, 40), index = c("i", "j", "ij"), times = 3)
  for (case in seq_len(nrow(cases))) {
    name <- cases$name[case]
    K <- cases$K[case]
    index <- cases$index[case]
    F <- Vj(columns[[name]]) + Vi(c(0, 0, -1, 2, NaN))
    G <- Vi(columns[[name]]) + Vj(c(0, 0, -1, 2, NaN))
    list_of <- function(F, ...) reduction(F, "Kmin_argKmin", K = K, index = index, ...)
    expected <- lapply(list(F, G), list_of, device = "reference")
    for (isa in instruction_sets) for (precision in test_precisions())
      expect_equal(with_isa(isa, lapply(list(F, G), list_of, device = "cpu", precision = precision)), expected,
                   tolerance = 0, label = paste(name, K, index, isa, precision))
  }
})

test_that("numbers for which a function has no short way are right among others that it is for", {
  set.seed(11)
  functions <- list(sin = sin, cos = cos, rsqrt = rsqrt, inverse_root = function(x) 1 / sqrt(x), tanh = tanh)
  odd <- list(0, -0.0, 2^-100, 2^100, -1, 1e6, Inf, -Inf, NaN, c(1e6, NaN, 0, Inf))
  for (isa in instruction_sets) for (precision in test_precisions()) for (name in names(functions))
    for (numbers in odd) {
    x <- stats::runif(70, 0.5, 2)
    x[sample(70, length(numbers))] <- numbers
    F <- functions[[name]](Vi(x) + 0 * col_index(5))
    expect_close(with_isa(isa, as.matrix(lazy_set(F, device = "cpu", precision = precision))),
                 as.matrix(lazy_set(F, device = "reference")), tolerance_of(precision),
                 label = paste(name, "of", paste(numbers, collapse = ", "), isa, precision))
  }
})

test_that("primitives keep their bounds in units of the last place, on every instruction set", {
  skip_below("usual")
  source <- testthat::test_path("cpu", "ulp.cpp")
  root <- Sys.getenv("KERNWEAVE_SOURCE")
  compiler <- cxx17()
  if (!nzchar(Sys.which(compiler[1])) || !nzchar(root) || !grepl("x86_64", R.version$platform))
    skip("no source tree, no compiler, or not x86_64")
  flags <- list(base = "-DKW_TEST_BYTES=16", avx2 = c("-mavx2", "-mfma", "-DKW_TEST_BYTES=32"),
                avx512 = c("-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma", "-DKW_TEST_BYTES=64"))
  for (isa in instruction_sets) {
    program <- tempfile(isa)
    args <- c(compiler[-1], "-std=gnu++17", "-O2", flags[[isa]], if (!reaches("all")) "-DKW_TEST_SHARE=7",
              paste0("-I", file.path(root, c("src", "inst/include"))), source, "-o", program)
    expect_identical(system2(compiler[1], args), 0L, label = paste("compiling for", isa))
    table <- system2(program, stdout = TRUE)
    expect_null(attr(table, "status"), label = paste(c(isa, table), collapse = "\n"))
  }
})

test_that("sums over components of one operation of a row and a column are right, whoever else reads it", {
  skip_below("quick")
  set.seed(31)
  operations <- list(less = function(a, b) a - b, more = function(a, b) a + b, below = function(a, b) a < b,
                     over = function(a, b) a / b, of_one = function(a, b) a - sum(b), apart = function(a, b) 1 - a * b,
                     twice = function(a, b) (a - b) * (a - b)^3)
  for (D in c(1, 2, 7, 40)) for (name in names(operations)) for (index in c("i", "j")) {
    x <- cloud(21, D)
    y <- rbind(x[1:3, , drop = FALSE], cloud(30, D))
    f <- operations[[name]]
    run <- function(device) {
      X <- Vi(x)
      Y <- Vj(y)
      as.matrix(sum_of(cos(sum(f(X, Y))) + sum(f(Y, X)), index = index, device = device))
    }
    expected <- run("reference")
    for (isa in instruction_sets)
      expect_close(with_isa(isa, run("cpu")), expected, 1e-12, scale = max(1, abs(expected)),
                   label = paste(name, D, index, isa))
  }
})

# The value of an operation for numbers whatever its kind is.
number_of <- function(name, ...) 1 * lazy_call(name, list(...))

test_that("sums and products with a number are right wherever they are made, whoever else reads them", {
  set.seed(32)
  operations <- kernweave_operations()
  operations <- operations[operations$form == "elementwise" & operations$arity == 2, ]
  often <- function(x) x * exp(-x)
  formulas <- list(
    own = function(f, d, e, X, Y) f(exp(-d), exp(-d) + 2), own_first = function(f, d, e, X, Y) f(exp(-d) + 2, exp(-d)),
    own_twice = function(f, d, e, X, Y) f(e, 2 * e), beside = function(f, d, e, X, Y) f(exp(-e), d + 2) - d,
    beside_first = function(f, d, e, X, Y) f(d + 2, exp(-e)) - d,
    scaled = function(f, d, e, X, Y) f(exp(-e), 1.5 * d) - d,
    scaled_first = function(f, d, e, X, Y) f(1.5 * d, exp(-e)) - d,
    gone = function(f, d, e, X, Y) f(exp(-d) + 2, exp(-e)), both = function(f, d, e, X, Y) f(exp(-d) + 2, exp(-e) * 3),
    both_of_one = function(f, d, e, X, Y) f(d + 1, d + 2),
    overwritten = function(f, d, e, X, Y) f(e * exp(-e), exp(-d) + 2),
    twice = function(f, d, e, X, Y) f(d + 1, exp(-e)) - f(e, d + 1),
    gone_twice = function(f, d, e, X, Y) f(often(often(often(e) * (exp(-d) + 3))), exp(-d) + 2),
    gone_in_turn = function(f, d, e, X, Y) f(often(often(e) / (exp(-d) * 3)) + exp(-d) * 2, often(e)),
    of_points = function(f, d, e, X, Y) f(exp(-d), elem(X, 1) + elem(Y, 1)),
    product_of_points = function(f, d, e, X, Y) f(elem(X, 1) * elem(Y, 1), exp(-d)),
    inside = function(f, d, e, X, Y) sum(f((X - Y)^2, 1 + (X - Y)^2)),
    inside_first = function(f, d, e, X, Y) sum(f(X * Y + 2, exp(-(X - Y)^2)) * exp(-X * Y))
  )
  cases <- combinations(name = operations$name, form = names(formulas), times = 4)
  for (D in if (reaches("all")) c(3, 11) else 3) {
    x <- numbers_between(19, D, 0.3, 1.8)
    y <- numbers_between(37, D, 0.3, 1.8)
    for (case in seq_len(nrow(cases))) {
      name <- cases$name[case]
      form <- cases$form[case]
      run <- function(device, precision = "float64") {
        X <- Vi(x)
        Y <- Vj(y)
        F <- formulas[[form]](function(a, b) number_of(name, a, b), sqdist(X, Y) / D, (X | Y) / D, X, Y)
        as.matrix(sum_of(F, "j", device = device, precision = precision))
      }
      expected <- run("reference")
      for (isa in instruction_sets) for (precision in test_precisions())
        expect_close(with_isa(isa, run("cpu", precision)), expected, tolerance_of(precision),
                     scale = 37 * max(1, abs(expected)), label = paste(name, form, D, isa, precision))
    }
  }
})

test_that("whatever is read again is still there, in random formulas that share their parts", {
  cases <- combinations(seed = seq_len(by_tier(20, 30, 150)), D = c(2, 5, 9))
  for (case in seq_len(nrow(cases))) {
    seed <- cases$seed[case]
    D <- cases$D[case]
    set.seed(seed)
    F <- shared_formula(Vi(numbers_between(11, D, 0.3, 1)), Vj(numbers_between(21, D, 0.3, 1)), D)
    run <- function(device) as.matrix(sum_of(F, index = "j", device = device))
    expected <- run("reference")
    for (isa in instruction_sets)
      expect_close(with_isa(isa, run("cpu")), expected, 1e-11, scale = max(1, abs(expected)),
                   label = paste(seed, D, isa))
  }
})

test_that("folds go on from component to component, whatever their second argument is and however many there are", {
  set.seed(33)
  folds <- list(
    sum = function(a, b) sum(a), max = function(a, b) max(a), min = function(a, b) min(a),
    scalprod = function(a, b) a | b, turned = function(a, b) b | a, sqdist = function(a, b) sqdist(a, b),
    manhattan = function(a, b) manhattan(b, a)
  )
  seconds <- list(of_row = function(X, Y) X, of_column = function(X, Y) Y, of_pair = function(X, Y) exp(X * Y),
                  shared = function(X, Y) cos(X - Y) + 2)
  cases <- combinations(D = c(2:9, 20), fold = names(folds), second = names(seconds), times = 6)
  for (case in seq_len(nrow(cases))) {
    D <- cases$D[case]
    fold <- cases$fold[case]
    second <- cases$second[case]
    x <- cloud(19, D)
    y <- cloud(37, D)
    run <- function(device) {
      X <- Vi(x)
      Y <- Vj(y)
      as.matrix(sum_of(folds[[fold]](cos(X - Y), seconds[[second]](X, Y)) * exp(-sqdist(X, Y)), "j", device = device))
    }
    expected <- run("reference")
    for (isa in instruction_sets)
      expect_close(with_isa(isa, run("cpu")), expected, 1e-12, scale = max(1, abs(expected)),
                   label = paste(D, fold, second, isa))
  }
})

test_that("float32 stays accurate far from the origin, and over many terms", {
  set.seed(11)
  x <- matrix(stats::runif(300), 100) + 1e4
  y <- matrix(stats::runif(60000), 20000) + 1e4
  K <- exp(-sqdist(Vi(x), Vj(y)))
  exact <- sum(K, index = "j")
  A <- matrix(stats::runif(500), 100) + 1e4
  D <- abs(Vij(A) - Vi(x[, 1])) * Vj(rep(1, 5))
  expect_close(sum(D, index = "j", precision = "float32"), rowSums(abs(A - x[, 1])), 5e-6, scale = 5)
  expect_close(sum(K, index = "j", precision = "float32"), exact, 5e-6, scale = max(exact))
})

test_that("float32 leaves row numbers and codes exact", {
  big <- 2^24 + 1:3
  expect_identical(sum(Vi(big) * (Vj(1L) + 0), index = "j", precision = "float64")[, 1], big)
  expect_identical(sum((row_index(3) + 16777216L) * Vj(1L), index = "j", precision = "float32")[, 1], big)
})

test_that("a long thin sum needs little memory beside its data", {
  skip_if_not(file.exists("/proc/self/status"))
  skip_on_cran()  # sanitizers have memory of their own
  peak <- function() as.numeric(sub("[^0-9]*([0-9]+).*", "\\1",
                                    grep("^VmHWM", readLines("/proc/self/status"), value = TRUE))) / 1024
  x <- matrix(stats::runif(3e6), 1e6)
  y <- matrix(stats::runif(300), 100)
  b <- stats::runif(100)
  K <- exp(-sqdist(Vi(x), Vj(y)))
  invisible(gc())
  before <- peak()
  out <- K %*% b
  expect_lt(peak() - before, 60 + 8)
  expect_close(out[1:5, 1], vapply(1:5, function(i) sum(exp(-colSums((t(y) - x[i, ])^2)) * b), 0), 1e-13, scale = 100)
})

test_that("an unknown instruction set is refused, and the best one stays", {
  expect_error(use_instructions("mmx"), "base", class = "kernweave_error_unsupported")
  expect_identical(use_instructions(), through("instruction_sets")[1])
})
