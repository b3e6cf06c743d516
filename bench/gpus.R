# Several GPUs of one host beside fewer: Rscript bench/gpus.R [points, by commas] [rows, by commas] [GPUs]. A product
# with the Gaussian kernel of so many points; the likelihood of so many rows with eight inputs, and its gradient, by
# products; two workers with half of the GPUs each beside one process with all. Ratios are those to the most GPUs. The
# script stops if results differ in a bit.

source("bench/clock.R")
asked <- given(points = "1e6,2e6,1e7", rows = "1e5,1e6", gpus = length(list.files("/proc/driver/nvidia/gpus")))
counts <- Filter(function(k) k <= asked$gpus, 2^(4:0))
stopifnot(asked$gpus > 1)
numbers <- function(text) as.numeric(strsplit(text, ",")[[1]])
on_gpus <- function(k, call) function() with_kernweave(call(), device = seq_len(k) - 1)

# Times a call on the first 1, 2, 4, ... GPUs. `share`: the least gain that is asked for, as a share of the GPUs.
beside <- function(case, call, share = NA) {
  calls <- lapply(counts, on_gpus, call)
  found <- lapply(calls, function(f) unlist(f()))
  stopifnot(vapply(found[-1], identical, NA, found[[1]]))
  say(case, clock(stats::setNames(calls, paste(counts, "GPU"))), bars = c("1 GPU" = share * counts[1]))
}

begin("several GPUs beside fewer")
set.seed(1)
for (n in numbers(asked$points)) {
  x <- matrix(stats::runif(3 * n), n)
  b <- stats::rnorm(n)
  K <- lazy_set(exp(-sqdist(Vi(x), Vj(x))), precision = "float32")
  beside(sprintf("Gaussian, %g points squared", n), function() as.vector(K %*% b),
         share = if (n >= 2e6) 0.9 else NA)
}
for (n in numbers(asked$rows)) {
  x <- matrix(stats::runif(8 * n), n)
  y <- sin(6 * x[, 1]) + x[, 2]^2 + 0.1 * stats::rnorm(n)
  value <- function(theta) {
    K <- exp(theta[2]) * kernel_matern(x, x, scale = exp(theta[1]), nu = 1.5)
    noise <- exp(theta[3])
    -(sum(y * solve(K, y, ridge = noise, tol = 0.5, method = "cg", rank = 100)) +
        logdet(K, ridge = noise, probes = 10, seed = 1, method = "lanczos", rank = 100)) / 2
  }
  beside(sprintf("likelihood and gradient, %g rows", n), function() value_and_gradient(value)(log(c(0.3, 1, 0.05))))
}

n <- max(numbers(asked$points))
x <- matrix(stats::runif(3 * n), n)
b <- stats::rnorm(n)
K <- exp(-sqdist(Vi(x), Vj(x)))
cluster <- parallel::makePSOCKcluster(2, useXDR = FALSE)
half <- counts[1] / 2
set_up <- parallel::clusterApply(cluster, 0:1, function(k, half) {
  Sys.setenv(CUDA_VISIBLE_DEVICES = paste(k * half + seq_len(half) - 1, collapse = ","))
  options(kernweave.device = "all")
}, half)
shared <- lazy_set(K, workers = kernweave_workers(cluster, always = TRUE))
stopifnot(identical(as.vector(shared %*% b), on_gpus(counts[1], function() as.vector(K %*% b))()))
say(sprintf("two workers, %g points squared", n),
    clock(list(workers = function() shared %*% b, "one process" = on_gpus(counts[1], function() K %*% b))),
    bars = c("one process" = 1 / 1.15))
parallel::stopCluster(cluster)
