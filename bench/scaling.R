# Measures the fall of time with the number of threads, beside the yardstick's: Rscript bench/scaling.R [points]. The
# ratio of "one thread" is the gain, that of "yardstick" the share of its speed.

source("bench/clock.R")
source("bench/cases.R")
asked <- given(points = 40000)
n <- asked$points
set.seed(1)
x <- points(n)
y <- points(n)
b <- stats::rnorm(n)

engine_call <- function(precision, threads) {
  R <- reduction(exp(-sqdist(Vi(x), Vj(y))) * Vj(b), "sum", call = FALSE, precision = precision, threads = threads)
  function() as.matrix(R)
}

begin("Gaussian sums of more and more threads")
case <- list(name = "gauss", M = n, N = n, D = 3, E = 1)
counts <- Filter(function(threads) threads <= threads_and_cores()[2], c(1, 2, 4, 8, 16))
for (precision in c("float32", "float64")) for (threads in counts) {
  say(sprintf("%g x %g, %s, %d threads", n, n, precision, threads), clock(list(
    kernweave = engine_call(precision, threads), yardstick = yardstick(case, precision, threads, 5),
    "one thread" = engine_call(precision, 1), "yardstick's one" = yardstick(case, precision, 1, 5))))
}
