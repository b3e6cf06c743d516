# Pairs of a common kind on the CPU: which have loops of their own, and that these find what the reference finds,
# whatever the points are.

loops_of <- function(R, points = 1000) through("cpu_loops", plan_behind(R), points)
# In the forms that the CPU engine has a use for.
is_whole <- function(R) {
  loops <- loops_of(R)
  all(loops$whole[loops$form != "expanded"])
}

test_that("pairs of a common kind have loops of their own in every form of their plans, but where a call takes long", {
  for (precision in test_precisions()) for (index in c("j", "i")) {
    R <- common_pairs(cloud(7, 3), cloud(5, 3), cloud(if (index == "i") 7 else 5, 1), index, call = FALSE,
                      precision = precision)
    whole <- vapply(R, is_whole, NA)
    expect_identical(names(whole)[!whole], c("rational_quadratic", "thin_plate"))
  }
})

# Gradients with respect to these.
slopes_of <- function(x, y, b, of = "x", precision = "float64", device = "cpu") {
  operands <- list(x = Vi(x, name = "x"), y = Vj(y, name = "y"), b = Vj(b, name = "b"))
  d2 <- sqdist(operands$x, operands$y)
  kernels <- list(gauss = exp(-d2), laplace = exp(-sqrt(d2)), matern32 = (1 + sqrt(3 * d2)) * exp(-sqrt(3 * d2)),
                  cauchy = 1 / (1 + d2), multiquadric = 1 / sqrt(1 + d2))
  cotangent <- matrix(cos(seq_len(nrow(x))))
  lapply(kernels, function(K) {
    R <- reduction(K * operands$b, "sum", index = "j", call = FALSE, precision = precision, device = device)
    vjp(R, unname(operands[of]), cotangent, call = FALSE)
  })
}

test_that("gradients of the commonest kernels have loops of their own, and none does more than one would by hand", {
  points <- list(cloud(1000, 3), cloud(900, 3), cloud(900, 1))
  for (of in list("x", "y", "b", c("y", "b"), c("b", "x", "y"))) {
    whole <- vapply(do.call(slopes_of, c(points, list(of))), is_whole, NA)
    common <- if (identical(of, "b")) names(whole) else if (length(of) == 1) c("gauss", "laplace") else "gauss"
    expect_identical(names(whole)[whole], common, label = paste(of, collapse = ", "))
  }
  R <- do.call(slopes_of, points)
  steps <- vapply(R, function(r) sum(grepl("each pair", utils::capture.output(print(explain(r))))), 0L)
  expect_identical(steps, c(gauss = 4L, laplace = 8L, matern32 = 9L, cauchy = 6L, multiquadric = 7L))
})

# Points that coincide, that are far away, and that are none.
odd_points <- function(n, D) {
  x <- cloud(n, D)
  x[2, ] <- 0
  x[min(9, n), ] <- 1e30
  x
}
strange_points <- function(n, D) {
  x <- odd_points(n, D)
  x[3, 1] <- NaN
  x[min(12, n), D] <- Inf
  x
}

test_that("loops for pairs of a common kind find what the reference finds, for full strips and tails", {
  skip_below("quick")
  set.seed(21)
  for (D in c(1, 3)) for (index in c("j", "i")) {
    x <- odd_points(37, D)
    y <- odd_points(71, D)
    w <- cloud(if (index == "i") 37 else 71, 1)
    run <- function(...) common_pairs(x, y, w, index, ...)
    expected <- run(device = "reference")
    for (isa in instruction_sets) {
      found <- with_isa(isa, run(device = "cpu"))
      for (name in names(found))
        expect_close(unlist(found[[name]]), unlist(expected[[name]]), 1e-12, label = paste(name, D, index, isa))
    }
  }
  x <- cloud(37, 3)
  y <- rbind(cloud(66, 3), x[1:5, ])
  w <- cloud(71, 1)
  expected <- common_pairs(x, y, w, device = "reference")
  for (isa in instruction_sets) for (precision in test_precisions()) {
    found <- with_isa(isa, common_pairs(x, y, w, device = "cpu", precision = precision))
    for (name in names(found))
      expect_close(unlist(found[[name]]), unlist(expected[[name]]), tolerance_of(precision), scale = 10,
                   label = paste(name, isa, precision))
  }
})

test_that("slopes of common kernels are what the reference finds, also where points coincide or are none", {
  set.seed(22)
  kinds <- list(cloud = cloud, odd = odd_points, strange = strange_points)
  wrt <- list("x", "y", c("b", "y"))
  cases <- combinations(D = 1:4, kind = names(kinds), of = seq_along(wrt), times = 4)
  for (case in seq_len(nrow(cases))) {
    D <- cases$D[case]
    of <- wrt[[cases$of[case]]]
    points <- kinds[[cases$kind[case]]]
    x <- points(37, D)
    y <- points(71, D)
    b <- cloud(71, 1)
    run <- function(device) lapply(slopes_of(x, y, b, of, device = device), function(s) unlist(as.matrix(s)))
    expected <- run("reference")
    for (isa in instruction_sets) {
      found <- with_isa(isa, run("cpu"))
      for (name in names(found))
        expect_close(found[[name]], expected[[name]], 1e-12, label = paste(name, D, isa, paste(of, collapse = ", ")))
    }
  }
})

test_that("inverses and inverse roots of all numbers are right in loops that look at their sums alone", {
  set.seed(23)
  odd <- list(0, 2^-500, 2^-140, 2^-70, 2^60, 1e19, 2^63, 2^500, Inf, NaN, c(0, NaN, Inf, 2^-130))
  functions <- list(inverse_root = function(d) 1 / sqrt(d), rsqrt = rsqrt, shifted = function(d) 1 / sqrt(1 + d),
                    scaled = function(d) 1 / sqrt(1 + 3 * d), inverse = function(d) 1 / d,
                    inverse_shifted = function(d) 1 / (1 + d), inverse_scaled = function(d) 1 / (1 + 3 * d))
  cases <- combinations(number = seq_along(odd), name = names(functions), n = c(70, 71), times = 4)
  for (case in seq_len(nrow(cases))) {
    numbers <- odd[[cases$number[case]]]
    name <- cases$name[case]
    n <- cases$n[case]
    y <- matrix(stats::runif(2 * n, 0.5, 2), n)
    y[sample(n, length(numbers)), ] <- numbers
    F <- functions[[name]](sqdist(Vi(rbind(c(0, 0), c(1, 1), matrix(0.25, 20, 2))), Vj(y)))
    expected <- as.matrix(reduction(F, "sum", index = "j", device = "reference"))
    expect_identical(is_whole(sum_of(F, index = "j")), grepl("shifted|scaled", name), label = name)
    for (isa in instruction_sets) for (precision in test_precisions()) {
      # For float32, skip numbers that are too large or too small.
      if (precision == "float32" && any(is.finite(numbers) & numbers != 0 & abs(log2(abs(numbers))) > 62)) next
      expect_close(with_isa(isa, as.matrix(reduction(F, "sum", index = "j", device = "cpu", precision = precision))),
                   expected, tolerance_of(precision),
                   label = paste(name, "of", paste(numbers, collapse = ", "), n, isa, precision))
    }
  }
})

test_that("distances that are small beside what is added to them keep their digits", {
  for (D in c(3, 4, 5, 1000)) {
    x <- matrix(0, 40, D)
    y <- matrix(1e-4 * (1 + stats::runif(40 * D) / 5), 40)
    for (f in list(function(d) 1 / (1 + d), function(d) 1 / sqrt(1 + d))) {
      F <- f(sqdist(Vi(x), Vj(y)))
      expected <- as.matrix(sum_of(F, index = "j", device = "reference"))
      for (isa in instruction_sets) {
        expect_close(with_isa(isa, as.matrix(sum_of(F, index = "j", device = "cpu", precision = "float32"))), expected,
                     1e-6, scale = 40, label = paste(D, isa))
      }
    }
  }
})

test_that("equal rows have equal sums", {
  set.seed(24)
  x <- cloud(1, 3)[rep(1, 40), ]
  y <- cloud(29, 3)
  w <- cloud(29, 1)
  for (isa in instruction_sets) for (precision in test_precisions()) {
    found <- with_isa(isa, common_pairs(x, y, w, precision = precision, device = "cpu"))
    for (name in names(found)) {
      rows <- as.matrix(as.data.frame(found[[name]]))
      expect_identical(rows, rows[rep(1, nrow(rows)), , drop = FALSE], label = paste(name, isa, precision))
    }
  }
})

test_that("exponents of a row may all be far below 0", {
  for (precision in test_precisions()) {
    expected <- far_exponents("reference", precision)
    for (isa in instruction_sets) {
      found <- with_isa(isa, far_exponents("cpu", precision))
      for (name in names(found))
        expect_close(found[[name]], expected[[name]], tolerance_of(precision), label = paste(name, isa, precision))
    }
  }
})

test_that("exponents may leap, and weights be of any size", {
  skip_below("quick")
  expect_leaping_sums("reference", "float64")
  for (isa in instruction_sets) for (precision in test_precisions())
    with_isa(isa, expect_leaping_sums("cpu", precision, isa))
})
