# Workers for tests: processes of a cluster on this machine, ended with the code that has them, or lent to the next.

with_cluster <- function(n, code, ...) {
  cluster <- new_cluster(n)
  on.exit(end_cluster(cluster))
  code(cluster, ...)
}

# A node takes seconds to start: one that answers, and holds what code of this file can take away, is lent once more.
lent <- new.env()
lent$nodes <- list()
lent$asked <- 0
with_lent_cluster <- function(n, code) {
  if (few_processes()) n <- min(n, 2)
  ready <- utils::head(lent$nodes, n)
  lent$nodes <- utils::tail(lent$nodes, -n)
  if (length(ready) < n) ready <- c(ready, unclass(new_cluster(n - length(ready))))
  cluster <- structure(ready, class = c("SOCKcluster", "cluster"))
  on.exit(for (k in seq_along(cluster)) {
    if (is_emptied(cluster[[k]])) lent$nodes <- c(lent$nodes, unclass(cluster)[k]) else end_cluster(cluster[k])
  })
  code(cluster)
}

# Tells whether a node forgets what it holds, and answers this and nothing that was asked before.
is_emptied <- function(node) {
  empty <- function(mark) {
    held <- get("held", asNamespace("kernweave"))
    rm(list = names(held), envir = held)
    mark
  }
  environment(empty) <- baseenv()
  lent$asked <- mark <- lent$asked + 1
  task <- list(type = "EXEC", data = list(fun = empty, args = list(mark), return = TRUE, tag = NULL), tag = NULL)
  answers <- function() {
    serialize(task, node$con, xdr = FALSE)
    socketSelect(list(node$con), timeout = 5) && identical(unserialize(node$con)$value, mark)
  }
  isTRUE(tryCatch(answers(), error = function(e) FALSE))
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

# `with` is with_cluster() where code changes what nodes do.
with_workers <- function(n, code, ..., always = TRUE, with = with_lent_cluster) {
  with(n, function(cluster) code(kernweave_workers(cluster, threads = 1, always = always, ...)))
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
