# Workers for tests: processes of a cluster on this machine, ended with the code that has them.

with_cluster <- function(n, code, ...) {
  cluster <- new_cluster(n)
  on.exit(end_cluster(cluster))
  code(cluster, ...)
}

# stopCluster() ends at the first node that is gone.
end_cluster <- function(cluster) {
  for (k in seq_along(cluster)) {
    try(parallel::stopCluster(cluster[k]), silent = TRUE)
    try(close(cluster[[k]]$con), silent = TRUE)
  }
}

# CRAN's checks allow two.
new_cluster <- function(n) {
  if (few_processes()) n <- min(n, 2)
  old <- Sys.getenv("R_LIBS", NA)
  Sys.setenv(R_LIBS = paste(.libPaths(), collapse = ":"))
  on.exit(if (is.na(old)) Sys.unsetenv("R_LIBS") else Sys.setenv(R_LIBS = old))
  parallel::makePSOCKcluster(n, useXDR = FALSE, setup_strategy = "sequential")
}

with_workers <- function(n, code, ..., always = TRUE) {
  with_cluster(n, function(cluster) code(kernweave_workers(cluster, threads = 1, always = always, ...)))
}

few_processes <- function() nzchar(Sys.getenv("_R_CHECK_LIMIT_CORES_"))
skip_with_few_processes <- function() testthat::skip_if(few_processes(), "no more than two processes are allowed")

pid_of <- function(w, node) w$cards[[node]]$pid

wait_until <- function(condition, seconds = 30) {
  code <- substitute(condition)
  here <- parent.frame()
  end <- Sys.time() + seconds
  while (!eval(code, here) && Sys.time() < end) Sys.sleep(0.05)
}
