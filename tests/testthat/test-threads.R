# The CPU engine on several threads.

test_that("any number of threads gives the same bits, run to run", {
  skip_below("quick")
  set.seed(9)
  x <- matrix(stats::rnorm(3 * 1500), ncol = 3)
  y <- matrix(stats::rnorm(3 * 2300), ncol = 3)
  K <- exp(-sqdist(Vi(x), Vj(y)))
  for (op in c("sum", "logsumexp", "min_argmin", "argKmin")) for (index in c("i", "j", "ij"))
    for (precision in test_precisions()) {
    run <- function(threads) reduction(K, op, index = index, K = if (op == "argKmin") 4, precision = precision,
                                       threads = threads)
    once <- run(1)
    for (threads in c(2, 3, 7))
      expect_identical(run(threads), once, label = paste(op, index, precision, threads, "threads"))
    expect_identical(run(2), once)
  }
})

test_that("few rows and many columns are shared out too, and add up", {
  set.seed(10)
  y <- stats::runif(200000)
  b <- stats::rnorm(200000)
  x <- c(0.1, 0.5)
  expected <- vapply(x, function(at) sum(exp(-(at - y)^2) * b), 0)
  for (threads in 1:2) expect_close(exp(-sqdist(Vi(x), Vj(y))) %*% b, expected, 1e-12, scale = 1000)
  expect_close(sum(exp(-sqdist(Vi(x), Vj(y))), index = "ij"), sum(vapply(x, function(at) sum(exp(-(at - y)^2)), 0)),
               1e-13, scale = 4e5)
})

test_that("threads that wait are found again, after errors, in a forked process, and once they were dismissed", {
  x <- matrix(seq(0, 1, length.out = 6000), ncol = 2)
  run <- function() reduction(exp(-sqdist(Vi(x), Vj(x))), "sum", index = "j", threads = 3)
  once <- run()
  expect_identical(run(), once)
  r_dismiss_threads()
  expect_identical(run(), once)
  r_dismiss_threads()
  r_dismiss_threads()
  expect_identical(run(), once)
  skip_on_os("windows")
  for (answer in parallel::mclapply(1:4, function(k) list(run(), run()), mc.cores = 2))
    expect_identical(answer, list(once, once))
  expect_identical(run(), once)
})

test_that("threads that wait take no signals, which are for R", {
  skip_if_not(dir.exists("/proc/self/task"), "no list of threads")
  skip_if(with_kernweave(threads_here()[1], threads = 3) == 1, "one thread is allowed")
  r_dismiss_threads()
  before <- list.files("/proc/self/task")
  reduction(exp(-sqdist(Vi(1:300), Vj(1:3000))), "sum", index = "j", threads = 3)
  made <- setdiff(list.files("/proc/self/task"), before)
  expect_gt(length(made), 0)
  for (thread in made) {
    blocked <- grep("^SigBlk:", readLines(file.path("/proc/self/task", thread, "status")), value = TRUE)
    first_20 <- strtoi(substring(blocked, nchar(blocked) - 4), 16)
    ends_of_children_and_interrupts <- 0x10002
    expect_equal(bitwAnd(first_20, ends_of_children_and_interrupts), ends_of_children_and_interrupts)
  }
})

# --- how many -------------------------------------------------------------------------------------------

# A system's files below a folder of their own, each of one line or more.
system_of <- function(files) {
  root <- tempfile("system")
  for (name in names(files)) {
    path <- file.path(root, name)
    dir.create(dirname(path), FALSE, TRUE)
    writeLines(files[[name]], path)
  }
  root
}

test_that("quotas of control groups are found, of both versions, the least of a group and of those it is in", {
  own <- "proc/self/cgroup"
  v1 <- function(quota, at = "") {
    names <- paste0("sys/fs/cgroup/cpu", at, "/cpu.cfs_", c("quota", "period"), "_us")
    stats::setNames(c(quota, "100000"), names)
  }
  v2 <- function(text, at = "") stats::setNames(text, paste0("sys/fs/cgroup", at, "/cpu.max"))
  rows <- list(
    "no such files" = list(c(none = ""), Inf),
    "a container's own view" = list(c("0::/", v2("150000 100000")), 1.5),
    "no bound" = list(c("0::/", v2("max 100000")), Inf),
    "another period" = list(c("0::/", v2("50000 20000")), 2.5),
    "the group above has less" = list(c("0::/pod/app", v2("300000 100000", "/pod/app"),
                                        v2("200000 100000", "/pod")), 2),
    "the group itself has less" = list(c("0::/pod/app", v2("70000 100000", "/pod/app"), v2("max 100000", "/pod")), 0.7),
    "the host's name of a group that is not seen" = list(c("0::/docker/12ab", v2("400000 100000")), 4),
    "version 1" = list(c("5:cpuset:/x", v1("250000")), Inf),
    "version 1, two controllers" = list(c("4:cpuacct,cpu:/", v1("250000")), 2.5),
    "version 1, a group" = list(c("4:cpu,cpuacct:/job/7", v1("-1"), v1("600000", "/job"), v1("100000", "/job/7")), 1),
    "version 1 without bound" = list(c("4:cpu:/", v1("-1")), Inf),
    "what cannot be read" = list(c("0::nowhere", v2("much")), Inf))
  for (name in names(rows)) {
    files <- rows[[name]][[1]]
    names(files)[1] <- own
    root <- system_of(files)
    expect_equal(through("core_quota", root), rows[[name]][[2]], label = name)
    unlink(root, recursive = TRUE)
  }
  lines <- stats::setNames(list(c("7:cpu:/a", "0::/b")), own)
  both <- system_of(c(lines, v1("300000", "/a"), v2("200000 100000", "/b")))
  expect_equal(through("core_quota", both), 2)
})

test_that("what a scheduler granted bounds the cores, and calls take all of it", {
  variables <- c("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "PBS_NUM_PPN", "NCPUS", "LSB_DJOB_NUMPROC", "NSLOTS",
                 "PJM_VNODE_CORE", "OMP_THREAD_LIMIT", "OMP_NUM_THREADS", "_R_CHECK_LIMIT_CORES_")
  before <- Sys.getenv(variables, NA, names = TRUE)
  on.exit({
    Sys.unsetenv(variables)
    for (name in names(before)) if (!is.na(before[[name]])) do.call(Sys.setenv, as.list(before[name]))
  })
  Sys.unsetenv(variables)
  cores <- r_cores()
  threads <- r_threads(0L)
  expect_lte(threads, cores)
  for (name in variables[1:7]) for (granted in c("1", "2", "100000", "0", "", "many")) {
    do.call(Sys.setenv, stats::setNames(list(granted), name))
    count <- suppressWarnings(as.integer(granted))
    bound <- if (is.na(count) || count == 0) cores else min(count, cores)
    expect_identical(r_cores(), bound, label = paste(name, granted))
    expect_identical(r_threads(0L), min(threads, bound))
    expect_identical(r_threads(5L), 5L)
    Sys.unsetenv(name)
  }
})

test_that("affinity bounds the cores", {
  skip_on_os(c("windows", "mac", "solaris"))
  before <- parallel::mcaffinity()
  skip_if(is.null(before), "no affinity")
  on.exit(parallel::mcaffinity(before))
  for (many in unique(c(1, length(before)))) {
    parallel::mcaffinity(before[seq_len(many)])
    expect_lte(r_cores(), many)
  }
})
