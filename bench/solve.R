# Systems of kernel matrices: iterations, time in single products, building, on one device.
#   Rscript bench/solve.R [device] [sizes, by commas]

library(kernweave)

given <- commandArgs(TRUE)
device <- if (length(given) > 0) given[1] else "cpu"
sizes <- if (length(given) > 1) as.numeric(strsplit(given[2], ",")[[1]]) else c(5e3, 2e4, 5e4)

seconds_of <- function(f) {
  f()
  stats::median(replicate(3, system.time(f())[["elapsed"]]))
}

cat(sprintf("%8s %-8s %5s %5s %10s %10s %12s %9s %9s\n", "n", "kernel", "lf", "its", "product s", "build s",
            "its/products", "total s", "residual"))
for (n in sizes) {
  set.seed(1)
  x <- matrix(stats::runif(3 * n), n)
  b <- stats::rnorm(n)
  for (kernel in c("matern32", "gaussian")) {
    scale <- sqrt(3) * if (kernel == "gaussian") 0.4 else 0.1
    K <- if (kernel == "gaussian") kernel_gaussian(x, x, scale) else kernel_matern(x, x, scale, nu = 1.5)
    K <- lazy_set(K, device = device)
    product <- seconds_of(function() K %*% b)
    report <- solve_report(solve(K, b, ridge = 1e-3, method = "cg", report = TRUE))
    cat(sprintf("%8.0f %-8s %5.1f %5d %10.4f %10.3f %12.2f %9.3f %9.1e\n", n, kernel, scale / sqrt(3),
                max(report$iterations), product, report$preconditioner$seconds, report$iterating / product,
                report$seconds, max(report$residual)))
  }
}
