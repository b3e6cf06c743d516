# Faults in the middle of something: a result is right, or there is an error that says what was lost; it is never that
# of another call.

set.seed(7)
x <- matrix(stats::runif(3 * 4001), ncol = 3)
y <- matrix(stats::runif(3 * 3007), ncol = 3)
b <- matrix(stats::rnorm(4 * 3007), ncol = 4)
K <- exp(-sqdist(Vi(x), Vj(y)))

# R as a process of its own that runs `code`, with `folder` as its one argument.
run_apart <- function(folder, code) {
  file <- file.path(folder, "code.R")
  writeLines(c(sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")),
               "folder <- commandArgs(TRUE)", "writeLines(as.character(Sys.getpid()), file.path(folder, 'pid'))",
               "suppressMessages(library(kernweave))", deparse(code)), file)
  system2(file.path(R.home("bin"), "Rscript"), c(file, folder), stdout = FALSE, stderr = FALSE, wait = FALSE)
}
lines_in <- function(folder, name) {
  file <- file.path(folder, name)
  if (file.exists(file)) readLines(file, warn = FALSE) else character()
}
with_process <- function(code, drive) {
  folder <- tempfile("apart")
  dir.create(folder)
  on.exit({
    if (!has_ended(as.integer(lines_in(folder, "pid")))) tools::pskill(lines_in(folder, "pid"), tools::SIGKILL)
    unlink(folder, recursive = TRUE)
  })
  run_apart(folder, code)
  wait_until(length(lines_in(folder, "pid")) == 1)
  drive(folder, as.integer(lines_in(folder, "pid")))
}

# Replaces what a worker does when it is to compute rows by `f`; `original` is what it would do.
on_rows <- function(cluster, f) {
  parallel::clusterCall(cluster, function(f) {
    package <- asNamespace("kernweave")
    environment(f) <- list2env(list(original = get("rows_of_whole", package)))
    unlockBinding("rows_of_whole", package)
    assign("rows_of_whole", f, package)
    NULL
  }, f)
}

interrupted <- quote({
  cluster <- parallel::makePSOCKcluster(2, useXDR = FALSE, setup_strategy = "sequential")
  w <- kernweave_workers(cluster, threads = 1, always = TRUE)
  set.seed(7)
  x <- matrix(runif(12000), 4000)
  y <- matrix(runif(9000), 3000)
  b <- matrix(rnorm(12000), 3000)
  K <- exp(-sqdist(Vi(x), Vj(y)))
  here <- K %*% b
  far <- lazy_set(K, workers = w)
  for (k in seq_len(as.integer(readLines(file.path(folder, "rounds"))))) {
    tryCatch({
      cat(k, "\n", file = file.path(folder, "begun"), append = TRUE)
      repeat far %*% b
    }, interrupt = function(e) NULL)
    right <- identical(far %*% b, here)
    own <- tryCatch({
      said <- unlist(parallel::clusterCall(cluster, function(k) k, k))
      if (identical(said, c(k, k))) "right" else "wrong"
    }, error = function(e) if (nrow(w$lost)) "refused" else "failed")
    cat(right, own, "\n", file = file.path(folder, "done"), append = TRUE)
    if (nrow(w$lost)) {
      parallel::stopCluster(cluster)
      cluster <- parallel::makePSOCKcluster(2, useXDR = FALSE, setup_strategy = "sequential")
      w <- kernweave_workers(cluster, threads = 1, always = TRUE)
      far <- lazy_set(K, workers = w)
    }
  }
  parallel::stopCluster(cluster)
})

test_that("after an interrupt at any moment the next call is right, and never one behind", {
  skip_below("all")
  skip_with_few_processes()
  skip_on_os("windows")
  skip_below("usual")
  old <- Sys.getenv("R_LIBS", NA)
  Sys.setenv(R_LIBS = paste(.libPaths(), collapse = ":"))
  on.exit(if (is.na(old)) Sys.unsetenv("R_LIBS") else Sys.setenv(R_LIBS = old))
  times <- numeric()
  rounds <- by_tier(6, 6, 20)
  with_process(interrupted, function(folder, pid) {
    writeLines(as.character(rounds), file.path(folder, "rounds"))
    for (k in seq_len(rounds)) {
      wait_until(length(lines_in(folder, "begun")) == k)
      Sys.sleep(0.02 + (k * 7) %% 20 / 50)
      start <- Sys.time()
      tools::pskill(pid, tools::SIGINT)
      wait_until(length(lines_in(folder, "done")) == k)
      times[k] <<- as.numeric(Sys.time() - start, units = "secs")
    }
    said <- trimws(lines_in(folder, "done"))
    expect_length(said, rounds)
    expect_true(all(said %in% c("TRUE right", "TRUE refused")), info = paste(said, collapse = "; "))
    wait_until(has_ended(pid), 20)
    expect_true(has_ended(pid))
  })
  expect_lt(stats::median(times), 5)
})

test_that("a worker that is killed in the middle of a block loses it and nothing else", {
  skip_with_few_processes()
  skip_on_os("windows")
  here <- K %*% b
  with_workers(3, with = with_cluster, function(w) {
    far <- lazy_set(K, workers = w)
    on_rows(w$cluster[2], function(R, task) {
      system(paste("(sleep 0.2; kill -9", Sys.getpid(), ") &"))
      repeat original(R, task)
    })
    expect_identical(far %*% b, here)
    expect_identical(w$lost$node, 2L)
    expect_identical(far %*% b, here)
    expect_identical(parallel::clusterCall(w$cluster[-2], function() "alive"), list("alive", "alive"))
  })
})

test_that("workers whose cluster was stopped are lost, however many", {
  skip_with_few_processes()
  for (n in if (reaches("all")) c(2, 4) else 4) {
    with_workers(n, with = with_cluster, function(w) {
      far <- lazy_set(K, workers = w)
      expect_identical(far %*% b, K %*% b)
      parallel::stopCluster(w$cluster)
      expect_error(far %*% b, "all workers are lost", class = "kernweave_error_worker_lost")
    })
  }
})

test_that("a block that ends three workers is an error that names its rows, and the fourth lives", {
  skip_with_few_processes()
  skip_on_os("windows")
  with_workers(4, with = with_cluster, function(w) {
    on_rows(w$cluster, function(R, task) {
      if (task$rows[1] == 1) tools::pskill(Sys.getpid(), tools::SIGKILL)
      original(R, task)
    })
    far <- lazy_set(K, workers = w)
    expect_error(far %*% b, "rows 1 to [0-9]+ have ended three workers", class = "kernweave_error_worker_lost")
    expect_identical(nrow(w$lost), 3L)
    left <- setdiff(1:4, w$lost$node)
    expect_identical(parallel::clusterCall(w$cluster[left], function() "alive"), list("alive"))
  })
})

test_that("what a worker says after its patience is read by nobody, and the cluster can be stopped", {
  skip_with_few_processes()
  skip_on_os("windows")
  here <- K %*% b
  with_cluster(3, function(cluster) {
    w <- kernweave_workers(cluster, threads = 1, always = TRUE, patience = 0.5)
    on_rows(cluster[2], function(R, task) {
      Sys.sleep(1)
      original(R, task)
    })
    expect_identical(lazy_set(K, workers = w) %*% b, here)
    expect_identical(w$lost$why, "did not answer")
    Sys.sleep(0.8)
    expect_error(parallel::clusterCall(cluster, function() "alive"))
    expect_identical(parallel::clusterCall(cluster[1], function() "alive"), list("alive"))
    expect_silent(parallel::stopCluster(cluster))
    wait_until(has_ended(pid_of(w, 3)), 5)
    expect_true(has_ended(pid_of(w, 3)))
  })
})

long_job <- quote({
  set.seed(7)
  x <- matrix(runif(60000), 20000)
  y <- matrix(runif(30000), 10000)
  options(kernweave.threads = 1)
  R <- reduction(exp(-sqdist(Vi(x), Vj(y))), "sum", call = FALSE)
  kernweave_job(R, file.path(folder, "job"))
})

test_that("a job killed at any moment goes on where it was", {
  skip_with_few_processes()
  skip_on_os("windows")
  skip_below("usual")
  set.seed(7)
  x <- matrix(stats::runif(60000), 20000)
  y <- matrix(stats::runif(30000), 10000)
  R <- reduction(exp(-sqdist(Vi(x), Vj(y))), "sum", call = FALSE)
  blocks <- function(job) list.files(job, "^block.*rds$")
  dir.create(job <- tempfile("job"))
  on.exit(unlink(job, recursive = TRUE))
  for (k in seq_len(by_tier(2, 3, 10))) {
    before <- blocks(job)
    with_process(long_job, function(folder, pid) {
      file.symlink(job, file.path(folder, "job"))
      wait_until(dir.exists(file.path(job, "lock")) || has_ended(pid))
      Sys.sleep(0.01 + (k * 13) %% 10 / 50)
      tools::pskill(pid, tools::SIGKILL)
      wait_until(has_ended(pid))
      unlink(file.path(folder, "job"))
    })
    expect_true(all(before %in% blocks(job)))
  }
  expect_identical(kernweave_job(R, job), as.matrix(R))
  expect_length(list.files(job, "part$|^lock"), 0)
})
