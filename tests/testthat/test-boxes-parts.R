# Boxes of formulas with a part that depends on folded points alone: least terms bit for bit, sums of exponentials up to
# rounding.

by_boxes <- function(R) grepl("by boxes of points", why_boxes(R), fixed = TRUE)
expect_boxes <- function(R, label) expect_true(by_boxes(R), label = label)

clouds <- box_clouds[c("uniform", "lattice", "equal", "clusters", "far", "wild")]

# Numbers of points that change some terms or all, are equal, say nothing, or are none.
parts <- list(
  small = function(n) rnorm(n) * 0.05,
  large = function(n) rnorm(n) * 1e10,
  ties = function(n) sample(-2:2, n, replace = TRUE) + 0,
  equal = function(n) rep(0.3, n),
  missing = function(n) ifelse(runif(n) < 0.3, -Inf, rnorm(n)),
  nothing = function(n) rep(-Inf, n),
  wild = function(n) {
    h <- rnorm(n)
    h[sample(n, min(n, 4))] <- c(NaN, Inf, -Inf, 1e200)[seq_len(min(n, 4))]
    h
  },
  none = function(n) rep(NaN, n)
)

# Formulas of a distance d and a part h, larger where points are near, or smaller.
combined <- list(
  potential = function(d, h) h - d,
  cost = function(d, h) d + h,
  transform = function(d, h) d - h,
  turned = function(d, h) -(h - d),
  scaled = function(d, h) (h - d) * Pm(1000),
  root = function(d, h) sqrt(d) - 2 * h,
  two = function(d, h) h - d - square(h) / 7,
  squashed = function(d, h) atan(h - d),
  clipped = function(d, h) relu(1 + h - d),
  exponential = function(d, h) exp(h - d)
)

reductions <- c(box_reductions, list(function(F, index) any(F > 0.9, index = index, call = FALSE)))

# A problem with points of both axes, and the part on the axis that is folded.
problem <- function(index, d = sample(3, 1)) {
  size <- function() sample(c(1, 2, 7, 16, 17, 65, 300), 1)
  x <- one_drawn(clouds)(size(), d)
  y <- if (runif(1) < 0.3) x else one_drawn(clouds)(size(), d)
  kind <- sample(names(parts), 1)
  h <- parts[[kind]](nrow(if (index == "i") x else y))
  list(d = one_drawn(list(sqdist, manhattan, euclidean))(Vi(x), Vj(y)), x = x, y = y, kind = kind,
       h = if (index == "i") Vi(h) else Vj(h))
}

test_that("least terms and counts of formulas with a part of folded points are those of all pairs", {
  set.seed(1)
  taken <- c()
  for (k in seq_len(by_tier(150, 600, 5000))) {
    index <- sample(c("i", "j", "ij"), 1)
    p <- problem(index)
    name <- sample(names(combined), 1)
    number <- sample(length(reductions), 1)
    R <- lazy_set(reductions[[number]](combined[[name]](p$d, p$h), index), device = "cpu",
                  precision = sample(c("float64", "float32"), 1))
    same <- with_isa(sample(instruction_sets, 1), {
      identical(with_boxes(TRUE, run_reduction(R)), with_boxes(FALSE, run_reduction(R)))
    })
    if (!same) fail(paste("problem", k, name, p$kind, nrow(p$x), "x", nrow(p$y), ncol(p$x), index, "reduction", number))
    if (by_boxes(R)) taken <- union(taken, name)
  }
  expect_setequal(taken, names(combined))
})

# Sums of exponentials without boxes, and in plain R.
plain_logsumexp <- function(E) {
  top <- apply(E, 1, max)
  top + log(rowSums(exp(E - ifelse(is.finite(top), top, 0))))
}

test_that("logsumexp by boxes is that of all pairs up to rounding, whatever the parts and however small epsilon", {
  set.seed(2)
  for (k in seq_len(by_tier(120, 500, 4000))) {
    index <- sample(c("i", "j", "ij"), 1)
    p <- problem(index)
    epsilon <- 10^-sample(0:6, 1)
    E <- if (runif(1) < 0.2) -p$d / epsilon else p$h - p$d / epsilon
    precision <- sample(c("float64", "float32"), 1)
    R <- lazy_set(logsumexp(E, index = index, call = FALSE), device = "cpu", precision = precision)
    with_isa(sample(instruction_sets, 1), {
      boxes <- with_boxes(TRUE, run_reduction(R))
      all <- with_boxes(FALSE, run_reduction(R))
    })
    finite <- is.finite(all)
    off <- abs(boxes - all)[finite] / (1 + abs(all[finite]))
    if (!identical(boxes[!finite], all[!finite]) || any(!(off < if (precision == "float64") 1e-14 else 2e-6))) {
      fail(paste("problem", k, p$kind, nrow(p$x), "x", nrow(p$y), ncol(p$x), index, epsilon, precision, max(off)))
    }
  }
  succeed()
})

test_that("logsumexp by boxes is what R computes, with weights of 0 and with NaN", {
  set.seed(3)
  for (d in 1:3) for (epsilon in c(1, 1e-2, 1e-4)) {
    x <- matrix(runif(70 * d), 70)
    y <- matrix(runif(400 * d), 400)
    h <- log(pmax(runif(400) - 0.3, 0))
    cost <- outer(rowSums(x^2), rowSums(y^2), "+") - 2 * tcrossprod(x, y)
    R <- function(h) {
      lazy_set(logsumexp(Vj(h) - sqdist(Vi(x), Vj(y)) / epsilon, index = "j", call = FALSE), device = "cpu")
    }
    expect_boxes(R(h), "a potential")
    E <- rep(h, each = 70) - cost / epsilon
    expect_equal(as.vector(with_boxes(TRUE, run_reduction(R(h)))), plain_logsumexp(E), tolerance = 1e-11)
    h[17] <- NaN
    expect_true(all(is.nan(with_boxes(TRUE, run_reduction(R(h))))))
    expect_identical(as.vector(with_boxes(TRUE, run_reduction(R(rep(-Inf, 400))))), rep(-Inf, 70))
  }
})

test_that("terms that are many are not passed over, however small each of them is", {
  n <- 1e5
  x <- matrix(0)
  for (far in c(30, 38, 45)) {
    y <- matrix(c(0, rep(sqrt(far), n)))
    found <- with_boxes(TRUE, logsumexp(-sqdist(Vi(x), Vj(y)), index = "j"))
    expect_equal(as.vector(found), log1p(n * exp(-far)), tolerance = 1e-3 + 2e-16 / (n * exp(-far)))
  }
})

test_that("any number of threads finds the same sums, again with other parts, and with points that changed places", {
  set.seed(4)
  x <- matrix(rnorm(4000), 2000)
  y <- matrix(rnorm(4000), 2000)
  sums <- function(x, y, h, threads, on = TRUE) {
    with_kernweave(with_boxes(on, logsumexp(Vj(h) - sqdist(Vi(x), Vj(y)) / 1e-3, index = "j")), device = "cpu",
                   threads = threads)
  }
  for (k in 1:3) {
    h <- rnorm(2000)
    one <- sums(x, y, h, 1)
    expect_identical(sums(x, y, h, 3), one)
    expect_equal(one, sums(x, y, h, 1, on = FALSE), tolerance = 1e-14)
    expect_equal(sums(y, x, h, 2), sums(y, x, h, 1, on = FALSE), tolerance = 1e-14)
    expect_identical(sums(x, y, h, 2), one)
  }
})

test_that("a trial takes boxes where epsilon is small and leaves them where it is not, without a clock", {
  skip_below("quick")
  set.seed(5)
  x <- matrix(runif(4e4), 2e4)
  h <- rnorm(2e4) * 0.05
  R <- function(epsilon) {
    lazy_set(logsumexp(Vj(h / epsilon) - sqdist(Vi(x), Vj(x)) / epsilon, index = "j", call = FALSE), device = "cpu")
  }
  for (epsilon in c(1, 1e-4)) {
    expect_match(explain(R(epsilon))$schedule$why, "by boxes of points", fixed = TRUE)
    found <- run_reduction(R(epsilon))
    expect_true(identical(found, with_boxes(epsilon < 1e-3, run_reduction(R(epsilon)))))
    expect_equal(found, with_boxes(FALSE, run_reduction(R(epsilon))), tolerance = 1e-14)
  }
})

test_that("restricted pairs have the sums and the least terms of those that exist", {
  set.seed(6)
  x <- matrix(rnorm(400), 200)
  h <- rnorm(200)
  E <- Vj(h) - sqdist(Vi(x), Vj(x)) / 1e-2
  restrictions <- list(
    diagonal = exclude_diag(E),
    window = restrict(E, where = abs(row_index() - col_index()) < 40),
    groups = restrict(E, by = sample(3, 200, TRUE)),
    nothing = restrict(E, where = row_index() > 1e9)
  )
  for (F in restrictions) {
    R <- lazy_set(logsumexp(F, index = "j", call = FALSE), device = "cpu")
    expect_boxes(R, "restricted pairs")
    expect_equal(with_boxes(TRUE, run_reduction(R)), with_boxes(FALSE, run_reduction(R)), tolerance = 1e-14)
    R <- lazy_set(reduction(F, "Kmax_argKmax", K = 3, index = "j", call = FALSE), device = "cpu")
    expect_identical(with_boxes(TRUE, run_reduction(R)), with_boxes(FALSE, run_reduction(R)))
  }
})

test_that("parts of both axes, products with parts and weights take all pairs, and explain() says why", {
  x <- Vi(matrix(rnorm(60), 20))
  y <- Vj(matrix(rnorm(90), 30))
  h <- Vj(runif(30))
  k <- function(F, ...) reduction(F, "min", call = FALSE, ...)
  expect_match(why_boxes(k(h * sqdist(x, y))), "all pairs: multiply() neither grows nor falls", fixed = TRUE)
  expect_match(why_boxes(k(Vi(runif(20)) - sqdist(x, y))), "all pairs: it depends on points otherwise")
  expect_match(why_boxes(k(sin(h - sqdist(x, y)))), "all pairs: sin() neither grows nor falls", fixed = TRUE)
  expect_false(by_boxes(logsumexp(h - sqdist(x, y), weight = h, index = "j", call = FALSE)))
})
