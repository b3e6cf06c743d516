# Gradients through approximations: Rscript bench/far-gradient.R. Of g' K b, Matern 3/2, D = 3, tol 1e-6, in the points
# of both sides; one derivative, g times the sums over b of k'(s) (x - y), with its plan kept; and a plain product.
# Milliseconds by the clock.

suppressPackageStartupMessages(library(kernweave))
scale <- 0.1

now <- function(code) {
  gc(FALSE)
  1000 * system.time(code)[["elapsed"]]
}
typical <- function(f, times = 3) {
  f()
  stats::median(vapply(seq_len(times), function(k) now(f()), 0))
}

line <- function(n, most_exact = 3e5) {
  points <- function() matrix(stats::runif(3 * n), n)
  numbers <- function() matrix(stats::rnorm(n))
  x <- points()
  y <- points()
  b <- numbers()
  g <- numbers()
  kernel <- function(x, y) kernel_matern(x, y, scale = scale, nu = 1.5)
  slopes <- function(tol) value_and_gradient(function(x, y) {
    K <- kernel(x, y)
    sum(g * ((if (is.null(tol)) K else approximate(K, tol)) %*% b))
  })(x, y)
  first <- now(slopes(1e-6))
  again <- typical(function() slopes(1e-6))
  exact <- if (n <= most_exact) typical(function() slopes(NULL), 1) else NA

  F <- exp(-sqrt(3 * sqdist(Vi(x), Vj(y)) / scale^2)) * (Vi(x) - Vj(y))
  state <- kernweave:::new_approximation(F, 1e-6, "audit")
  plan <- now(kernweave:::plan_of_approximation(state))
  sums <- function() kernweave:::unaudited_product(state, b, g)
  one <- now(found <- sums()[1])
  kept <- typical(function() sums()[1])
  error <- kernweave:::relative_error(state, b, matrix(sums(), n), g)
  plain <- kernweave:::approximation_of(approximate(kernel(x, y)))
  product <- typical(function() kernweave:::unaudited_product(plain, b)[1])
  cat(sprintf("%8g %9.0f%9.0f%9.0f %9.0f%9.0f%9.1f%9.0f%9.1g %9.1f\n", n, exact, first, again, plan, one, kept,
              state$plan$near_pairs / n, error, product))
}

set.seed(1)
cat(sprintf("%8s %27s %45s %9s\n", "", "value and gradient", "one derivative", "product"))
cat(sprintf("%8s %9s%9s%9s %9s%9s%9s%9s%9s %9s\n", "n", "exact", "first", "again", "plan", "first", "again", "near",
            "error", "again"))
invisible(utils::capture.output(line(2e4)))  # kernels are compiled
for (n in c(1e5, 1e6)) line(n)
