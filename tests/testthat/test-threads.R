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

# Code with none of the variables of the environment, and no option, that say how many cores there are.
grants <- c("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "PBS_NUM_PPN", "NCPUS", "LSB_DJOB_NUMPROC", "NSLOTS",
            "PJM_VNODE_CORE", "MC_CORES")
untold <- function(code) {
  variables <- c(grants, "OMP_THREAD_LIMIT", "OMP_NUM_THREADS", "_R_CHECK_LIMIT_CORES_")
  before <- Sys.getenv(variables, NA, names = TRUE)
  options <- options(mc.cores = NULL, kernweave.threads = NULL)
  on.exit({
    options(options)
    Sys.unsetenv(variables)
    for (name in names(before)) if (!is.na(before[[name]])) do.call(Sys.setenv, as.list(before[name]))
  })
  Sys.unsetenv(variables)
  force(code)
}
allowance <- function() kernweave:::chosen_threads()

test_that("what a scheduler granted bounds the cores, and calls take all of it", {
  untold({
    free <- allowance()
    for (name in grants) for (granted in c("1", "2", "100000", "0", "", "many")) {
      with_variable(name, granted, {
        count <- suppressWarnings(as.integer(granted))
        nothing <- is.na(count) || count == 0
        expect_identical(allowance()$cores, if (nothing) free$cores else min(count, free$cores),
                         label = paste(name, granted))
        expect_identical(allowance()$threads, if (nothing) free$threads else allowance()$cores)
        if (!nothing && count < free$cores) expect_identical(allowance()$why, paste("given by", name))
        expect_identical(r_allowance(5L)$threads, 5L)
      })
    }
  })
})

test_that("half of the machine's cores are taken where nobody has said, and the least where several have", {
  untold({
    free <- allowance()
    skip_if(free$why != "half of the machine's", "somebody has said")
    expect_identical(free$threads, max(1L, free$cores %/% 2L))
    with_variable("NSLOTS", "100000", expect_identical(allowance()$threads, free$cores))
    with_variable("NSLOTS", "2", with_variable("NCPUS", "1", expect_identical(allowance()$why, "given by NCPUS")))
    with_variable("OMP_NUM_THREADS", "1", with_variable("NSLOTS", "2", expect_identical(allowance()$threads, 1L)))
  })
})

test_that("mc.cores is heard as soon as it is set, 0 meaning this process alone; MC_CORES where there is no option", {
  untold({
    free <- allowance()
    for (said in list(1, 0, 0L, "4", NA, -1, NULL, c(1, 2))) {
      options(mc.cores = said)
      heard <- is.numeric(said) && length(said) == 1 && !is.na(said) && said >= 0
      expect_identical(allowance()[c("threads", "cores")],
                       if (heard) list(threads = 1L, cores = 1L) else free[c("threads", "cores")])
    }
    options(mc.cores = 100000)
    expect_identical(allowance()$threads, free$cores)
    with_variable("MC_CORES", "1", {
      expect_identical(allowance()$threads, free$cores)
      options(mc.cores = NULL)
      expect_identical(allowance()$threads, 1L)
    })
    options(mc.cores = 1)
    expect_identical(with_kernweave(allowance()$threads, threads = 3), 3L)
  })
})

test_that("a control group of one core gives one thread, and of half a core, too", {
  skip_if_not(dir.exists("/proc/self"), "no control groups")
  untold({
    cores <- allowance()$cores
    for (quota in c(1, 0.5)) expect_identical(through("cores_within", quota), 1L)
    expect_identical(through("cores_within", Inf), cores)
  })
})

test_that("one core of affinity gives one thread", {
  skip_on_os(c("windows", "mac", "solaris"))
  skip_if_not(nzchar(Sys.which("taskset")), "no taskset")
  script <- tempfile(fileext = ".R")
  writeLines(c(sprintf("library(kernweave, lib.loc = '%s')", dirname(system.file(package = "kernweave"))),
               "cat(kernweave_sitrep()$cpu[['threads']])"), script)
  first <- parallel::mcaffinity()[1] - 1L
  said <- untold(system2("taskset", c("-c", first, file.path(R.home("bin"), "Rscript"), "--vanilla", script),
                         stdout = TRUE, stderr = FALSE))
  expect_match(said, "^1 of 1 core, ")
})

# --- workers --------------------------------------------------------------------------------------------

test_that("a node of a cluster that nobody told takes one thread, and what it is told", {
  untold(with_nodes(1, function(nodes) {
    line <- function() parallel::clusterCall(nodes, function() kernweave::kernweave_sitrep()$cpu[["threads"]])[[1]]
    expect_match(line(), "^1 of .*, in a node of a cluster$")
    parallel::clusterCall(nodes, options, kernweave.threads = 3)
    expect_match(line(), "^3 of .*, asked for$")
    hinted <- parallel::clusterCall(nodes, function() {
      options(kernweave.threads = NULL)
      kernweave::kernweave_sitrep()$problems
    })[[1]]
    expect_false(any(grepl("Calls use", hinted)))
    inherited <- parallel::clusterCall(nodes, function() {
      Sys.setenv(SLURM_CPUS_PER_TASK = "2")  # as all nodes do from the process that has these cores
      kernweave::kernweave_sitrep()$cpu[["threads"]]
    })[[1]]
    expect_match(inherited, "^1 of")
  }))
})

test_that("workers are known by the code that they were started with", {
  worker_of <- function(...) kernweave:::worker_of(c("/usr/lib/R/bin/exec/R", "--no-echo", "-e", ...), forked = FALSE)
  expect_identical(worker_of("workRSOCK~+~<-~+~tryCatch(parallel:::.workRSOCK,~+~error=f);~+~workRSOCK()"),
                   "a node of a cluster")
  expect_identical(worker_of("parallel:::.slaveRSOCK()", "--args", "MASTER=localhost"), "a node of a cluster")
  expect_identical(worker_of("mirai::daemon('tcp://localhost:5555')"), "a daemon of mirai")
  expect_identical(worker_of("mirai::daemons(4)"), "")
  expect_identical(kernweave:::worker_of(), "")
})

test_that("a forked process takes one thread, whether the package was loaded before the fork or is after it", {
  skip_on_os("windows")
  forked <- "parallel::mclapply(1:2, function(k) kernweave::kernweave_sitrep()$cpu[['threads']], mc.cores = 2)"
  for (before in c("loadNamespace('kernweave')", "loadNamespace('parallel')")) {
    lines <- untold(in_new_process(c(before, forked)))
    for (line in lines) expect_match(line, "^1 of .*, in a forked process$", info = before)
  }
})

test_that("affinity bounds the cores", {
  skip_on_os(c("windows", "mac", "solaris"))
  before <- parallel::mcaffinity()
  skip_if(is.null(before), "no affinity")
  on.exit(parallel::mcaffinity(before))
  for (many in unique(c(1, length(before)))) {
    parallel::mcaffinity(before[seq_len(many)])
    expect_lte(allowance()$cores, many)
  }
})
