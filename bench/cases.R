# The benchmark cases: name, why it exists, the bar where there is one, and how to make the call that is timed.

points <- function(n, d = 3) matrix(stats::runif(n * d), n, d)

bench_cases <- list(
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
  list(name = "prepared", why = "a prepared reduction is called at 10 x 10", bar_ms = 0.1, make = function() {
    f <- as.function(sum(exp(-sqdist(Vi(dim = 3, name = "x"), Vj(dim = 3, name = "y"))) * Vj(dim = 1, name = "b"), index = "j"))
    x <- points(10)
    b <- stats::runif(10)
    function() f(x, x, b)
  }),
  list(name = "whole", why = "the same from operands to numbers", make = function() {
    x <- points(10)
    b <- stats::runif(10)
    function() sum(exp(-sqdist(Vi(x), Vj(x))) * Vj(b), index = "j")
  }),
  list(name = "gaussian", why = "the reference device, for its cost constant", pairs = 1e6, make = function() {
    x <- points(1000)
    K <- exp(-sqdist(Vi(x), Vj(x)) / 2)
    b <- stats::runif(1000)
    function() K %*% b
  })
)
