# Workers beside one process, on this machine: Rscript bench/scale.R [points]. Two workers of one thread, points
# resident, against one process of two threads; a wave of one block that has nothing to do; solvers; futures; a job.

source("bench/clock.R")
n <- given(n = 30000L)$n
set.seed(1)
x <- matrix(stats::runif(3 * n), n)
b <- stats::rnorm(n)
K <- exp(-sqdist(Vi(x), Vj(x)))
cluster <- parallel::makePSOCKcluster(2, useXDR = FALSE)
w <- kernweave_workers(cluster, threads = 1, always = TRUE)
far <- lazy_set(K, workers = w)
options(kernweave.threads = 2)
stopifnot(identical(far %*% b, K %*% b))

begin("workers beside one process", "future")
# Processor time of all three: proc.time() knows of this process alone.
of_all <- function(call) told(function() {
  used <- function() sum(unlist(parallel::clusterCall(cluster, function() sum(proc.time()[1:2]))), proc.time()[1:2])
  start <- c(wall = as.numeric(Sys.time()), cpu = used())
  call()
  c(wall = as.numeric(Sys.time()), cpu = used()) - start
})
say(sprintf("product, %d^2", n), clock(list(workers = of_all(function() far %*% b),
                                            `one process` = of_all(function() K %*% b))))
small <- lazy_set(abs(Vi(1:10) - Vj(1:9)), workers = w)
say("a wave of one small block", clock(list(workers = function() sum(small, index = "j"))))
some <- x[seq_len(min(n, 20000)), ]
S <- exp(-sqdist(Vi(some), Vj(some)) / 0.01)
T <- lazy_set(S, workers = w)
solve_by <- function(K) function() suppressWarnings(solve(K, b[seq_len(nrow(some))], ridge = 1e-3, max_iter = 50))
say("50 conjugate gradients, 20 000", clock(list(workers = of_all(solve_by(T)), `one process` = of_all(solve_by(S)))))
R <- reduction(K * Vj(b), "sum", call = FALSE)
say("a job", clock(list(job = function() {
  folder <- tempfile()
  kernweave_job(R, folder)
  unlink(folder, recursive = TRUE)
}, call = function() as.matrix(R))))
if (have("future")) {
  future::plan(future::cluster, workers = cluster)
  later <- lazy_set(K, workers = kernweave_workers("future", always = TRUE))
  say("product by futures", clock(list(futures = of_all(function() later %*% b),
                                       `one process` = of_all(function() K %*% b))))
}
parallel::stopCluster(cluster)
