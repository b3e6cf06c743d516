# Systems of kernel matrices beside a product, on one device: Rscript bench/solve.R [device] [sizes, by commas]

source("bench/clock.R")
asked <- given(device = "cpu", sizes = "5000,20000,50000")

begin("systems by conjugate gradients, and one product")
for (n in as.numeric(strsplit(asked$sizes, ",")[[1]])) {
  set.seed(1)
  x <- matrix(stats::runif(3 * n), n)
  b <- stats::rnorm(n)
  for (kernel in c("matern32", "gaussian")) {
    scale <- sqrt(3) * if (kernel == "gaussian") 0.4 else 0.1
    K <- if (kernel == "gaussian") kernel_gaussian(x, x, scale) else kernel_matern(x, x, scale, nu = 1.5)
    K <- lazy_set(K, device = asked$device)
    report <- NULL
    times <- clock(list(solve = function() {
      report <<- solve_report(solve(K, b, ridge = 1e-3, method = "cg", report = TRUE))
    }, product = function() K %*% b))
    say(sprintf("%s, n = %g", kernel, n), times,
        also = c(iterations = max(report$iterations), products = 1e3 * report$iterating / times["product", "wall_ms"],
                 building_s = report$preconditioner$seconds, residual = max(report$residual)))
  }
}
