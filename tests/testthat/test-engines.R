# Workers on the engines that clusters have: by ssh, by Slurm's srun, as jobs of a scheduler, under MPI. The numbers are
# those of the plain call on each.

set.seed(9)
x <- matrix(stats::runif(3 * 2001), ncol = 3)
y <- matrix(stats::runif(3 * 1500), ncol = 3)
b <- stats::rnorm(1500)

calls <- list(
  `a product` = function() exp(-sqdist(Vi(x), Vj(y))) %*% b,
  `nearest points` = function() reduction(sqdist(Vi(x), Vj(y)), "Kmin_argKmin", K = 4),
  `both axes` = function() sum(sqrt(sqdist(Vi(x), Vj(y))))
)

expect_same_bits <- function(w) {
  for (name in names(calls)) {
    expect_identical(with_kernweave(calls[[name]](), workers = w), calls[[name]](), label = name)
  }
}

expect_same_bits_of_jobs <- function(folder) {
  skip_if_not_installed("future.batchtools")
  template <- file.path(folder, "job.tmpl")
  writeLines(c("#!/bin/sh", "#SBATCH --job-name=<%= job.name %>", "#SBATCH --output=<%= log.file %>",
               "#SBATCH --ntasks=1", "#SBATCH --cpus-per-task=1",
               paste(rscript_for_workers(folder), "-e 'batchtools::doJobCollection(\"<%= uri %>\")'")), template)
  settings <- options(future.cache.path = folder, batchtools.progress = FALSE)
  old <- future::plan(future.batchtools::batchtools_slurm, template = template, workers = 4)
  on.exit({
    future::plan(old)
    options(settings)
  })
  w <- kernweave_workers("future", always = TRUE)
  few <- function() exp(-sqdist(Vi(x[1:400, ]), Vj(y))) %*% b  # two blocks
  expect_identical(with_kernweave(few(), workers = w), few())
}

test_that("processes by ssh", {
  skip_below("usual")
  skip_without_programs("ssh", "sshd", "ssh-keygen")
  with_ssh(function(folder) {
    cluster <- cluster_by(folder, rep("127.0.0.1", 2), "rsh")
    on.exit(parallel::stopCluster(cluster))
    expect_same_bits(kernweave_workers(cluster, threads = 1, always = TRUE))
  })
})

test_that("processes by srun, one of which is cancelled, and futures as jobs of the scheduler", {
  skip_below("usual")
  skip_without_programs("srun", "slurmctld", "slurmd", "munged")
  with_slurm(function(folder) {
    cluster <- cluster_by(folder, said_by("sinfo", "-h", "-o", "%n")[c(1, 1)], "srun-rsh")
    on.exit(try(parallel::stopCluster(cluster), silent = TRUE))
    w <- kernweave_workers(cluster, threads = 1, always = TRUE)
    expect_same_bits(w)
    jobs <- parallel::clusterCall(cluster, Sys.getenv, "SLURM_JOB_ID")
    expect_true(all(nzchar(jobs)) && jobs[[1]] != jobs[[2]])
    quietly("scancel", jobs[[2]])
    wait_until(has_ended(pid_of(w, 2)), 5)
    expect_same_bits(w)
    expect_identical(w$lost$node, 2L)
    expect_same_bits_of_jobs(folder)
  })
})

# A power iteration by blocks of rows.
spmd <- '
rank <- 0
size <- 1
if (nzchar(Sys.getenv("OMPI_COMM_WORLD_SIZE"))) {
  library(Rmpi)
  rank <- mpi.comm.rank(0)
  size <- mpi.comm.size(0)
}
suppressMessages(library(kernweave))
set.seed(1)
x <- matrix(stats::runif(9000), ncol = 3)
K <- lazy_set(exp(-sqdist(Vi(x), Vj(x))), threads = 1)
v <- rep(1, 3000)
for (k in 1:5) {
  w <- mine <- reduction_block(sum(K * Vj(v), index = "j", call = FALSE), rank + 1, of = size)
  if (size > 1) {
    counts <- mpi.allgather(length(mine), 1, integer(size), comm = 0)
    w <- mpi.allgatherv(as.double(mine), 2, numeric(sum(counts)), counts, comm = 0)
  }
  v <- as.vector(w) / sqrt(sum(w^2))
}
if (rank == 0) writeLines(sprintf("%a", c(sqrt(sum(w^2)), v)), commandArgs(TRUE))
if (nzchar(Sys.getenv("OMPI_COMM_WORLD_SIZE"))) mpi.quit()
'

test_that("processes of MPI that each compute a block have the digits of one process", {
  skip_below("usual")
  skip_without_programs("mpirun")
  if (!nzchar(system.file(package = "Rmpi"))) skip("not here: Rmpi")  # loading it would start MPI in this process
  folder <- tempfile("mpi")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  writeLines(spmd, file.path(folder, "power.R"))
  found <- lapply(0:2, function(ranks) {
    out <- file.path(folder, ranks)
    script <- c(rscript_for_workers(folder), file.path(folder, "power.R"), out)
    run <- c("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks)
    do.call(quietly, as.list(if (ranks == 0) script else c(run, script)))
    readLines(out)
  })
  expect_length(found[[1]], 3001)
  expect_identical(found[[2]], found[[1]])
  expect_identical(found[[3]], found[[1]])
})
