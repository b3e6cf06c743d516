# A tree of boxes leaves out pairs that cannot matter, and changes no bit: all that is found is found among all pairs.

expect_boxes <- function(R, label) expect_match(why_boxes(R), "by boxes of points", fixed = TRUE, label = label)

distances <- list(
  sqdist = function(x, y) sqdist(x, y),
  euclidean = function(x, y) euclidean(x, y),
  manhattan = function(x, y) manhattan(x, y),
  chebyshev = function(x, y) chebyshev(x, y),
  minkowski = function(x, y) minkowski(x, y, 3),
  weighted = function(x, y) weighted_sqdist(Pm(0.3), x, y),
  power = function(x, y) sum(abs(x - y)^0.5),
  log = function(x, y) log(1 + sqdist(x, y)),
  cauchy = function(x, y) 1 / (1 + sqdist(x, y)),
  gauss = function(x, y) exp(-sqdist(x, y)),
  both = function(x, y) 2 * sqdist(x, y) + manhattan(x, y) - 1,
  inside = function(x, y) relu(1 - manhattan(x, y))
)

reductions <- c(box_reductions, list(
  function(F, index) reduction(F > 0.7, "count", index = index, call = FALSE),
  function(F, index) any(F < 0.1, index = index, call = FALSE),
  function(F, index) all(F < 3, index = index, call = FALSE)
))

test_that("boxes find what all pairs find, ties and numbers that are none included", {
  set.seed(1)
  for (k in seq_len(by_tier(200, 700, 6000))) {
    d <- sample(c(1, 2, 3, 4, 5, 8), 1)
    size <- function() sample(c(1, 2, 7, 16, 17, 65, 300), 1)
    kinds <- sample(names(box_clouds), 2, replace = TRUE)
    x <- box_clouds[[kinds[1]]](size(), d)
    y <- if (runif(1) < 0.3) x else box_clouds[[kinds[2]]](size(), d)
    distance <- sample(names(distances), 1)
    number <- sample(length(reductions), 1)
    precision <- sample(c("float64", "float32"), 1)
    R <- reductions[[number]](distances[[distance]](Vi(x), Vj(y)), sample(c("i", "j", "ij"), 1))
    R <- lazy_set(R, device = "cpu", precision = precision)
    same <- with_isa(sample(instruction_sets, 1), {
      identical(with_boxes(TRUE, run_reduction(R)), with_boxes(FALSE, run_reduction(R)))
    })
    if (!same) {
      fail(paste("problem", k, "d", d, nrow(x), "x", nrow(y), paste(kinds, collapse = " "), distance, "reduction",
                 number, precision))
    }
  }
  succeed()
})

test_that("several outputs go by boxes where all of them may", {
  set.seed(7)
  for (k in seq_len(by_tier(20, 60, 500))) {
    x <- box_clouds[[sample(names(box_clouds), 1)]](sample(c(17, 65, 200), 1), 2)
    F <- distances[[sample(names(distances), 1)]](Vi(x), Vj(x))
    if (runif(1) < 0.3) F <- exclude_diag(F)
    G <- list(a = F, b = sqdist(Vi(x), Vj(x)) < 0.5, c = F)
    R <- reduction(G, c("argKmin", "count", one_drawn(c("min", "max", "argmax"))), K = 3,
                   index = sample(c("i", "j"), 1), call = FALSE)
    R <- lazy_set(R, device = "cpu", precision = sample(c("float64", "float32"), 1), threads = sample(2, 1))
    expect_identical(with_boxes(TRUE, run_reduction(R)), with_boxes(FALSE, run_reduction(R)))
    expect_boxes(R, "three outputs")
  }
  few <- reduction(sqdist(Vi(x), Vj(x)), c("argKmin", "sum"), K = 3, call = FALSE)
  expect_false(grepl("boxes", why_boxes(few)))
})

test_that("formulas that grow or fall with differences of points are bounded, and explain() says why others are not", {
  x <- Vi(matrix(rnorm(60), 20))
  y <- Vj(matrix(rnorm(90), 30))
  k <- function(F, ...) reduction(F, "argKmin", K = 3, call = FALSE, ...)
  scale <- Pm(2)
  less <- Pm(-2)
  for (name in names(distances)) expect_boxes(k(distances[[name]](x, y)), name)
  expect_boxes(k(sqdist(x, y) * scale), "a scale")
  expect_boxes(k(sqdist(x, y) * less), "a scale that turns the direction")
  expect_boxes(k(sqdist(sqrt(abs(x)), sqrt(abs(y)))), "what is made of the points of each axis")
  expect_boxes(k(sqdist(x[, , 1], y[, , 1]) + abs(x[, , 2] - y[, , 3])), "some components")
  expect_boxes(k(sum(x != y)), "how many differ")
  expect_boxes(reduction(sqdist(x, y) < 1, "count", call = FALSE), "how many are near")
  narrow <- function(F) lazy_set(k(F), precision = "float32")
  expect_boxes(narrow(exclude_diag(sqdist(x, y))), "no diagonal, whose row numbers float32 has exactly")
  expect_false(grepl("boxes", why_boxes(narrow(restrict(sqdist(x, y), where = row_index() + 1 < col_index())))))
  w <- Vj(runif(30))
  expect_boxes(k(sqdist(x, y) + w), "a part of the folded axis")
  for (F in list(sqdist(x, y) + Vi(runif(20)), canberra(x, y), cosine(x, y), sum(x * y))) {
    expect_match(why_boxes(k(F)), "all pairs: it depends on points otherwise than by their differences")
  }
  expect_match(why_boxes(k(sin(sqdist(x, y)))), "all pairs: sin() neither grows nor falls", fixed = TRUE)
  expect_match(why_boxes(k(sum(x - y))), "all pairs: ")
  expect_match(why_boxes(k(sqdist(x, y) * (4 - manhattan(x, y)))), "all pairs: multiply() neither", fixed = TRUE)
  for (R in list(max(sqdist(x, y), index = "ij", call = FALSE), any(sqdist(x, y) < 1, index = "ij", call = FALSE))) {
    expect_boxes(R, "both axes")
  }
  for (R in list(sum(sqdist(x, y), index = "j", call = FALSE), k(sqdist(x, y), index = "ij"))) {
    expect_false(grepl("boxes", why_boxes(R)))
  }
})

test_that("trends are those of the functions", {
  trends <- function(op, least, most) through("trend", op, least, most)
  expect_identical(trends("Sqrt", 0, Inf), "grows")
  expect_identical(trends("Sqrt", -1, 1), "uneven")
  expect_identical(trends("Square", 0, Inf), "grows")
  expect_identical(trends("Square", -Inf, 0), "falls")
  expect_identical(trends("Square", -1, 2), "uneven")
  expect_identical(trends("Acos", -1, 1), "falls")
  expect_identical(trends("Acos", -1, 2), "uneven")
  expect_identical(trends("Sin", 0, 1), "grows")
  expect_identical(trends("Sin", 0, 3), "uneven")
  expect_identical(trends("Gamma", 0, Inf), "uneven")
  expect_identical(trends("Gamma", 2, Inf), "grows")
  expect_identical(trends("Mult", c(0, -2), c(Inf, -1)), c("falls", "grows"))
  expect_identical(trends("Mod", c(0, 1e9), c(Inf, 1e9)), c("uneven", "flat"))
  expect_identical(trends("Mod", c(0, 1e9), c(10, 1e9)), c("grows", "flat"))
  expect_identical(trends("Powf", c(0, 0.3), c(Inf, 0.3)), c("grows", "flat"))
  expect_identical(trends("Powf", c(0, -2), c(Inf, -2)), c("falls", "flat"))
  expect_identical(trends("Max", 0, Inf), "grows")
  expect_identical(trends("LessThan", c(0, 3), c(Inf, 3)), c("falls", "flat"))
})

# Formulas of the distance that turn, each at a place of its own: where a sample of numbers would have to be lucky.
turning <- list(
  gamma = function(d, a, w) gamma(clamp(d, Pm(1.4616 - w), Pm(1.4616 + w))),
  sine = function(d, a, w) sin(clamp(d, Pm(pi * (round(a) + 0.5) - w), Pm(pi * (round(a) + 0.5) + w))),
  far_sine = function(d, a, w) sin(Pm(100 * a) + Pm(1 + 9 * w) * tanh(d)),
  dip = function(d, a, w) d - Pm(2 * w) * exp(-((d - Pm(a)) / Pm(w))^2),
  bump = function(d, a, w) d + Pm(2 * w) * sin(d / Pm(w)),
  remainder = function(d, a, w) d %% Pm(a + 3),
  jump = function(d, a, w) lazy_if(d < Pm(a), d, d - Pm(w)),
  entropy = function(d, a, w) xlogx(clamp(d, Pm(0.3679 - w), Pm(a + 1))),
  back = function(d, a, w) clamp(d, Pm(a + 2 * w), Pm(a)),
  slow = function(d, a, w) lgamma(1 + clamp(d, Pm(0.46 - w), Pm(0.46 + w)))
)

test_that("what turns with the distance between any two numbers is looked for among all pairs", {
  set.seed(8)
  for (k in seq_len(by_tier(60, 200, 2000))) {
    x <- matrix(runif(400, 0, 4), 200)
    y <- matrix(runif(600, 0, 4), 300)
    name <- sample(names(turning), 1)
    d <- one_drawn(list(euclidean, manhattan, sqdist))(Vi(x), Vj(y))
    F <- turning[[name]](d, runif(1, 0.5, 4), runif(1, 0.01, 0.3))
    number <- sample(length(reductions), 1)
    R <- lazy_set(reductions[[number]](F, sample(c("i", "j", "ij"), 1)), device = "cpu",
                  precision = sample(c("float64", "float32"), 1))
    if (!identical(with_boxes(TRUE, run_reduction(R)), with_boxes(FALSE, run_reduction(R)))) {
      fail(paste("problem", k, name, "reduction", number))
    }
  }
  succeed()
})

test_that("functions of a difference that know its sign are looked for among all pairs, however large it is", {
  set.seed(9)
  a <- matrix(runif(600, -1, 1) * 3e11)
  b <- matrix(runif(500, -1, 1) * 3e11)
  bound <- Pm(1e11)
  d <- Vi(a) - Vj(b)
  found <- function(R) {
    R <- lazy_set(R, device = "cpu")
    expect_identical(with_boxes(TRUE, run_reduction(R)), with_boxes(FALSE, run_reduction(R)))
  }
  for (F in list(d < bound, d != bound, clamp(d, -bound, 2 * bound) > 0, (d / 1e12) %% bound > 0.2)) {
    found(reduction(F, "count", call = FALSE))
  }
  for (F in list(max2(d, bound), (d / 1e11)^Pm(3), atan(d / 1e11), lazy_if(d < bound, 1, 2))) {
    found(reduction(F, "argKmin", K = 4, call = FALSE))
  }
  even <- list(d^Pm(2), d^4, cos(clamp(abs(d), 0, 1)), abs(d)^Pm(0.3), cosh(d / 1e11), square(d), d != 0)
  for (F in even) {
    R <- reduction(F, "argKmin", K = 4, call = FALSE)
    expect_boxes(R, "an even function")
    found(R)
  }
})

test_that("any number of threads finds the same, and so does a second call, or one with other points", {
  set.seed(2)
  x <- matrix(rnorm(6000), 2000)
  near <- function(x, threads) {
    with_kernweave(with_boxes(TRUE, Kmin_argKmin(sqdist(Vi(x), Vj(x)), K = 5)), device = "cpu", threads = threads)
  }
  all <- function(x) with_boxes(FALSE, Kmin_argKmin(sqdist(Vi(x), Vj(x)), K = 5))
  one <- near(x, 1)
  expect_identical(one, all(x))
  expect_identical(near(x, 3), one)
  expect_identical(near(x, 3), one)
  x[7, 2] <- x[7, 2] + 1
  expect_identical(near(x, 2), all(x))
})

test_that("large problems are boxes' by themselves where that pays, and a trial leaves them where not", {
  skip_below("quick")
  set.seed(3)
  x <- matrix(runif(3 * 30000), 30000)
  R <- reduction(sqdist(Vi(x), Vj(x)), "argKmin", K = 3, call = FALSE)
  R <- lazy_set(R, device = "cpu")
  expect_match(explain(R)$schedule$why, "by boxes")
  expect_identical(run_reduction(R), with_boxes(FALSE, run_reduction(R)))
  few <- reduction(sqdist(Vi(x[1:2000, ]), Vj(x[1:2000, ])), "argKmin", K = 3, call = FALSE)
  expect_false(grepl("by boxes", explain(lazy_set(few, device = "cpu"))$schedule$why))
  # All are as near: nobody can be left out.
  y <- matrix(1, 30000, 3)
  expect_identical(argKmin(sqdist(Vi(y), Vj(y)), K = 3), matrix(rep(1:3, each = 30000), 30000))
})

test_that("restricted pairs are found among those that exist: without the diagonal, in windows, in groups", {
  skip_below("quick")
  set.seed(4)
  restrictions <- list(
    diagonal = function(F, n) exclude_diag(F),
    window = function(F, n) restrict(F, where = abs(row_index() - col_index()) < 40),
    parity = function(F, n) restrict(F, where = (row_index() + col_index()) %% 2 == 0, exclude_diag = TRUE),
    nothing = function(F, n) restrict(F, where = row_index() > 1e9),
    groups = function(F, n) restrict(F, by = list(sample(5, n, TRUE), sample(5, n, TRUE))),
    sorted = function(F, n) restrict(F, by = sort(sample(letters[1:4], n, TRUE))),
    ranges = function(F, n) restrict(F, ranges = ranges(c(10, n - 10), c(n - 5, 5), diag(2) > 0)),
    both = function(F, n) restrict(F, by = sample(3, n, TRUE), exclude_diag = TRUE),
    windows = function(F, n) restrict(F, by = sample(3, n, TRUE), where = abs(row_index() - col_index()) < 40),
    blocks = function(F, n) restrict(F, ranges = ranges(c(10, n - 10), c(n - 5, 5), diag(2) > 0), exclude_diag = TRUE)
  )
  taken <- c()
  for (k in seq_len(by_tier(75, 300, 2500, cran = 75))) {
    n <- sample(c(30, 65, 200), 1)
    d <- sample(1:4, 1)
    x <- box_clouds[[sample(names(box_clouds), 1)]](n, d)
    how <- sample(names(restrictions), 1)
    distance <- sample(names(distances), 1)
    F <- restrictions[[how]](distances[[distance]](Vi(x), Vj(x)), n)
    number <- sample(length(reductions), 1)
    R <- lazy_set(reductions[[number]](F, sample(c("i", "j", "ij"), 1)), device = "cpu",
                  precision = sample(c("float64", "float32"), 1))
    same <- with_isa(sample(instruction_sets, 1), {
      identical(with_boxes(TRUE, run_reduction(R)), with_boxes(FALSE, run_reduction(R)))
    })
    if (!same) {
      fail(paste("problem", k, "d", d, n, how, distance, "reduction", number))
    }
    if (grepl("boxes of points", why_boxes(R))) taken <- union(taken, how)
  }
  expect_setequal(taken, names(restrictions))
})

test_that("every instruction set finds what two plain loops find", {
  set.seed(5)
  for (isa in instruction_sets) with_isa(isa, for (d in 1:3) for (precision in c("float64", "float32")) {
    # Whole numbers: nothing is rounded, and most are as near as others.
    x <- box_clouds$lattice(150, d)
    y <- box_clouds$lattice(210, d)
    for (index in c("i", "j")) {
      R <- reduction(manhattan(Vi(x), Vj(y)), "Kmin_argKmin", K = 5, index = index, call = FALSE)
      boxes <- with_boxes(TRUE, run_reduction(lazy_set(R, device = "cpu", precision = precision)))
      expect_identical(boxes, run_reduction(lazy_set(R, device = "reference")),
                       label = paste(isa, d, index, precision))
    }
  })
})
