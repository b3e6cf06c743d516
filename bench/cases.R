# The benchmark cases, as one table: what is called from R, the yardstick that computes the same by hand, and the bar.

points <- function(n, d = 3) matrix(stats::runif(n * d), n, d)

# --- calls whose time is all overhead ---------------------------------------------------------------------

call_cases <- list(
  list(name = "expression", why = "ten operations are written down, none computed", bar_ms = 0.3, make = function() {
    X <- Vi(points(10))
    Y <- Vj(points(10))
    b <- Vj(stats::runif(10))
    function() sqrt(exp(-sqdist(X, Y) / 2) * b + 1) - square(elem(X, 1)) * (X | Y)
  }),
  list(name = "operands", why = "three operands are made from data", make = function() {
    x <- points(10)
    function() list(Vi(x), Vj(x), Pm(2))
  }),
  list(name = "prepared", why = "a prepared reduction is called at 10 x 10", bar_ms = 0.05, make = function() {
    K <- exp(-sqdist(Vi(dim = 3, name = "x"), Vj(dim = 3, name = "y")))
    f <- as.function(sum(K * Vj(dim = 1, name = "b"), index = "j"))
    x <- points(10)
    b <- stats::runif(10)
    function() f(x, x, b)
  }),
  list(name = "whole", why = "the same from operands to numbers", bar_ms = 0.3, make = function() {
    x <- points(10)
    b <- stats::runif(10)
    function() sum(exp(-sqdist(Vi(x), Vj(x))) * Vj(b), index = "j")
  }),
  list(name = "never_seen", why = "a formula never seen before, from text to numbers", bar_ms = 5, make = function() {
    x <- points(10)
    count <- 0
    function() {
      count <<- count + 1
      kernel_op(sprintf("Sum_Reduction(Exp(-SqDist(x, y) * %d) + Sqrt(SqNorm2(x - %d * y)), 1)", count, count),
                c("x = Vi(3)", "y = Vj(3)"), index = "j")(list(x, x))
    }
  })
)

# --- reductions beside their yardsticks -------------------------------------------------------------------
# `formula` gets operands X, Y, B along i, j, j; `fused` names the case of bench/fused; `bar` is the least share of its
# speed. `op`, `K`, `index` as for reduction().

plain <- function(f) function(X, Y, B) f(X, Y) * B
radial <- function(f) plain(function(X, Y) f(sqdist(X, Y)))

pair_cases <- list(
  list(name = "gauss", D = 3, bar = 0.80, formula = radial(function(d) exp(-d))),
  list(name = "gauss", D = 10, bar = 0.72, formula = radial(function(d) exp(-d))),
  list(name = "gauss", D = 50, bar = 0.85, formula = radial(function(d) exp(-d))),
  list(name = "gauss", D = 100, bar = 0.85, formula = radial(function(d) exp(-d))),
  list(name = "gradx", D = 3, bar = 0.80, gradient = TRUE, formula = radial(function(d) exp(-d))),
  list(name = "lse", D = 3, bar = 0.80, op = "logsumexp", formula = function(X, Y, B) -sqdist(X, Y)),
  list(name = "laplace", D = 3, bar = 0.80, formula = radial(function(d) exp(-sqrt(d)))),
  list(name = "cauchy", D = 3, bar = 0.80, formula = radial(function(d) 1 / (1 + d))),
  list(name = "imq", D = 3, bar = 0.80, formula = radial(function(d) 1 / sqrt(1 + d))),
  list(name = "matern32", D = 3, bar = 0.80, formula = radial(function(d) {
    r <- sqrt(3 * d)
    (1 + r) * exp(-r)
  })),
  list(name = "matern52", D = 3, bar = 0.80, formula = radial(function(d) {
    r <- sqrt(5 * d)
    (1 + r + 5 / 3 * d) * exp(-r)
  })),
  list(name = "argkmin", D = 3, bar = 0.85, op = "argKmin", K = 10, formula = function(X, Y, B) sqdist(X, Y)),
  list(name = "argkmin", D = 10, bar = 0.85, op = "argKmin", K = 10, formula = function(X, Y, B) sqdist(X, Y)),
  list(name = "argkmin", D = 50, bar = 0.85, op = "argKmin", K = 10, formula = function(X, Y, B) sqdist(X, Y)),
  list(name = "multi", D = 3, E = 10, bar = 0.75, formula = radial(function(d) exp(-d))),
  list(name = "multi", D = 3, E = 100, bar = 0.75, formula = radial(function(d) exp(-d))),
  list(name = "thin", D = 3, M = 100, N = 1e6, bar = 0.80, formula = radial(function(d) exp(-d))),
  list(name = "thin", D = 3, M = 1e6, N = 100, bar = 0.80, formula = radial(function(d) exp(-d))),
  list(name = "manhattan", D = 784, M = 5000, N = 5000, bar = 0.60,
       formula = plain(function(X, Y) exp(-sum(abs(X - Y)) / 784))),
  list(name = "minkowski", D = 784, M = 1000, N = 500, bar = 0.60,
       formula = plain(function(X, Y) exp(-sum(abs(X - Y)^1.5)^(1 / 1.5)))),
  list(name = "chain1", D = 5, bar = 0.50,
       formula = plain(function(X, Y) sum(cos(X - Y) * tanh(1.5 * X)) / (1 + sum(abs(X - Y))))),
  list(name = "chain2", D = 5, bar = 0.50, formula = plain(function(X, Y) {
    exp(-sqrt(1 + sum((X - Y)^2))) * (1 + (X | Y)) / (2 + cos(sum(X - Y)))
  })),
  list(name = "chain3", D = 5, bar = 0.50,
       formula = plain(function(X, Y) sum((X - Y)^2 / (1 + (X - Y)^2)) * exp(-sqdist(X, Y)))),
  list(name = "chain4", D = 5, bar = 0.50, formula = plain(function(X, Y) log(1 + exp(X | Y)) * tanh(sqdist(X, Y)))),
  list(name = "chain5", D = 5, bar = 0.50,
       formula = radial(function(d) (d + 1) * (d + 2) - d / (d + 3) + (d + 4) * (d + 5) - d * d * (d + 6))),
  list(name = "chain6", D = 5, M = 1e4, N = 1e4, bar = 0.50,
       formula = plain(function(X, Y) sum(abs(sin(X) - sin(Y) * tanh(X * Y)))))
)

# --- yardsticks -------------------------------------------------------------------------------------------

# A call of the case's yardstick, for the clock; NULL where there is none: they are for vectors of 32 and 64 bytes.
yardstick <- function(case, precision, threads = threads_and_cores()[1], times = 3) {
  instructions <- kernweave_sitrep()$cpu[["instructions"]]
  program <- file.path("bench/fused/build", paste0("fused-", instructions))
  if (!instructions %in% c("avx2", "avx512")) return(NULL)
  if (!file.exists(program) && system2("make", c("-s", "-C", "bench/fused"), stdout = FALSE) != 0) return(NULL)
  sizes <- format(c(case$M, case$N, case$D, case$E), scientific = FALSE, trim = TRUE)
  told(function() {
    out <- system2(program, c(case$name, sub("float", "f", precision), sizes, threads, times), stdout = TRUE)
    c(wall = as.numeric(strsplit(out, " ")[[1]][9]) / 1e3, cpu = NA)
  })
}
