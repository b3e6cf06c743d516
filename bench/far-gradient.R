# Gradients through approximations: Rscript bench/far-gradient.R [points]. Of g' K b, Matern 3/2, D = 3, tol 1e-6, in
# the points of both sides, beside the exact one; one derivative, g times the sums over b of k'(s) (x - y), with its
# plan; and a plain product, its plan kept.

source("bench/clock.R")
asked <- given(points = 1e5)
scale <- 0.1
tol <- 1e-6

line <- function(n, most_exact = 3e5) {
  points <- function() matrix(stats::runif(3 * n), n)
  numbers <- function() matrix(stats::rnorm(n))
  x <- points()
  y <- points()
  b <- numbers()
  g <- numbers()
  kernel <- function(x, y) kernel_matern(x, y, scale = scale, nu = 1.5)
  slopes <- function(of) value_and_gradient(function(x, y) sum(g * (of(kernel(x, y)) %*% b)))(x, y)
  F <- exp(-sqrt(3 * sqdist(Vi(x), Vj(y)) / scale^2)) * (Vi(x) - Vj(y))
  plain <- approximate(kernel(x, y), tol)
  say(sprintf("n = %g", n), clock(list(
    gradient = function() slopes(function(K) approximate(K, tol)),
    exact = if (n <= most_exact) function() slopes(identity),
    "one derivative" = function() g[, c(1, 1, 1)] * sum(F, weight = Vj(b), index = "j", tol = tol),
    product = function() (plain %*% b)[1])))
}

begin("gradients through approximations")
set.seed(1)
for (n in asked$points * c(1, 10)) line(n)
