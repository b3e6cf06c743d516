# The nearest on the CPU are told by inner products before their distances are computed. Nothing of that is to be seen
# in any answer.

# A distance times 1 has the same bits, and no screen.
least_of <- function(x, y, op, plain = FALSE, index = "j", ...) {
  d2 <- sqdist(Vi(x), Vj(y))
  reduction(if (plain) d2 * Pm(1) else d2, op, index = index, device = "cpu", ...)
}
reductions_of_least <- list(list("Kmin_argKmin", K = 10), list("Kmin_argKmin", K = 1), list("Kmin_argKmin", K = 60),
                            list("min_argmin"))

expect_screen_unseen <- function(x, y, label, index = "j", isas = instruction_sets) {
  for (isa in isas) for (precision in test_precisions()) for (op in reductions_of_least) {
    found <- function(plain) {
      with_isa(isa, do.call(least_of, c(list(x, y, plain = plain, index = index, precision = precision), op)))
    }
    expect_identical(found(FALSE), found(TRUE), label = paste(label, isa, precision, op[[1]], op$K))
  }
}
normal <- function(n, d) matrix(stats::rnorm(n * d), n)

test_that("distances of which only the least enter are screened, whatever they are called, and no others", {
  screened <- function(R) through("cpu_loops", plan_behind(R), 1000)$screened
  x <- cloud(20, 5)
  y <- cloud(30, 5)
  d2 <- sqdist(Vi(x), Vj(y))
  of <- function(f, op, index = "j", ...) reduction(f, op, call = FALSE, index = index, ...)
  for (R in list(of(d2, "argKmin", K = 3), of(d2, "Kmin", K = 3), of(d2, "argmin"),
                 of(sum((Vi(x) - Vj(y))^2), "min_argmin"), of(-d2, "argKmax", K = 2),
                 of(d2, "argmin", "i"))) expect_true(all(screened(R)), info = format(R))
  narrow <- sqdist(Vi(x[, 1]), Vj(y[, 1]))
  for (R in list(of(d2, "min"), of(d2 * Pm(2), "argmin"), of(d2, "sum"), of(d2, "argKmax", K = 2),
                 of(Vi(x) | Vj(y), "argmin"), of(narrow, "argmin")))
    expect_false(any(screened(R)), info = format(R))
})

test_that("what is told first has the bits of distances that are all computed, for full strips and tails", {
  skip_below("quick")
  set.seed(41)
  for (d in c(2, 3, 7, 33)) for (size in list(c(1, 1), c(3, 127), c(70, 129), c(33, 1001))) {
    x <- normal(size[1], d)
    y <- normal(size[2], d)
    expect_screen_unseen(x, y, paste(d, size[1], size[2]))
    expect_screen_unseen(y, x, paste("turned", d, size[1], size[2]), "i")
  }
  expect_screen_unseen(normal(300, 3), normal(20011, 3), "many columns")
})

test_that("the nearest are those of the reference", {
  set.seed(42)
  x <- normal(60, 4)
  y <- normal(700, 4)
  expect_identical(least_of(x, y, "argKmin", K = 7),
                   reduction(sqdist(Vi(x), Vj(y)), "argKmin", K = 7, index = "j", device = "reference"))
})

test_that("ties, units, offsets, outliers and an order that deceives change nothing", {
  skip_below("quick")
  set.seed(43)
  grid <- function(n) matrix(sample(0:1, n * 4, replace = TRUE) + 0, n)
  ties <- grid(200)
  expect_screen_unseen(ties, rbind(grid(900), ties), "ties")
  x <- normal(100, 4)
  y <- normal(3000, 4)
  # Each is nearer than all that came before: every distance has to be looked at.
  falling <- matrix(rep(seq(1000, 1, length.out = 3000), 4), ncol = 4)
  settings <- list(coincident = list(y[1:200, ], y), small = list(x * 1e-22, y * 1e-22),
                   smallest = list(x * 1e-40, y * 1e-40), large = list(x * 1e17, y * 1e17),
                   offset = list(x + 1e4, y + 1e4), apart = list(x - 1e4, y + 1e4), falling = list(x, falling),
                   outlier = list(x, rbind(y, 1e7)),
                   clusters = list(rbind(x, x + 1e3), rbind(y, y + 1e3)))
  for (name in names(settings)) expect_screen_unseen(settings[[name]][[1]], settings[[name]][[2]], name)
})

test_that("squares and sums that overflow, infinite numbers and NaN change nothing", {
  skip_below("quick")
  set.seed(44)
  x <- normal(100, 4)
  y <- normal(3000, 4)
  for (most in c(1e18, 5e18, 9e18, 1.6e19, 3e19, 1e38, 1e150, 4e153, 1e154, 1e200, 1e308)) {
    huge <- matrix(sample(c(-1, 1, 0.5), 300 * 4, replace = TRUE) * most, ncol = 4)
    expect_screen_unseen(rbind(x, huge[1:30, ]), rbind(y, huge), paste("huge", most),
                         isas = instruction_sets[length(instruction_sets)])
    expect_screen_unseen(huge[1:30, ], rbind(huge[271:300, ], y), paste("huge first", most), isas = instruction_sets[1])
  }
  for (entry in c(NaN, Inf, -Inf)) {
    odd <- replace(x, 7, entry)
    many <- replace(y, sample(length(y), 300), entry)
    expect_screen_unseen(odd, replace(y, 5000, entry), paste("one", entry))
    expect_screen_unseen(odd, many, paste("many", entry))
    expect_screen_unseen(odd, y * entry, paste("all", entry))
  }
})

test_that("the screen finds the same whatever the number of threads", {
  set.seed(45)
  x <- normal(1000, 6)
  y <- normal(3000, 6)
  for (threads in 2:5) {
    expect_identical(least_of(x, y, "Kmin_argKmin", K = 5, threads = threads),
                     least_of(x, y, "Kmin_argKmin", K = 5, threads = 1))
  }
})
