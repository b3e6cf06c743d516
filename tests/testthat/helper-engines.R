# Engines of clusters for tests, on this machine: each has a folder of its own, listens on loopback, and ends with the
# code that has it.

skip_without_programs <- function(...) {
  testthat::skip_on_os(c("windows", "mac"))
  Sys.setenv(PATH = paste(Sys.getenv("PATH"), "/usr/sbin", sep = ":"))
  missing <- Filter(function(program) !nzchar(Sys.which(program)), c(...))
  if (length(missing)) testthat::skip(paste("not here:", paste(missing, collapse = ", ")))
}

with_engine <- function(start, end, code) {
  folder <- tempfile("engine")
  dir.create(folder, mode = "0700")
  on.exit({
    end(folder)
    unlink(folder, recursive = TRUE)
  })
  start(folder)
  code(folder)
}

write_program <- function(file, ...) {
  writeLines(c("#!/bin/sh", ...), file)
  Sys.chmod(file, "0755")
  file
}

# R as workers start it: with the libraries of this process.
rscript_for_workers <- function(folder) {
  libraries <- shQuote(paste(.libPaths(), collapse = ":"))
  write_program(file.path(folder, "rscript"), paste0("R_LIBS=", libraries, " exec ", R.home("bin/Rscript"), ' "$@"'))
}

cluster_by <- function(folder, hosts, shell) {
  parallel::makePSOCKcluster(hosts, master = "127.0.0.1", rshcmd = file.path(folder, shell), useXDR = FALSE,
                             rscript = rscript_for_workers(folder), setup_strategy = "sequential")
}

quietly <- function(command, ...) suppressWarnings(system2(command, c(...), stdout = FALSE, stderr = FALSE))
said_by <- function(command, ...) suppressWarnings(system2(command, c(...), stdout = TRUE, stderr = FALSE))

free_ports <- function(count) {
  is_free <- function(port) {
    socket <- tryCatch(serverSocket(port), error = function(e) NULL, warning = function(w) NULL)
    if (!is.null(socket)) close(socket)
    !is.null(socket)
  }
  utils::head(Filter(is_free, 21000 + (Sys.getpid() * 7) %% 9000 + 0:20), count)
}

# Asks processes whose numbers are in files of the folder to end, and waits until they have; numbers that are no
# processes of these programs are left alone.
end_processes <- function(folder, programs) {
  for (program in names(programs)) {
    file <- file.path(folder, programs[[program]])
    pid <- if (file.exists(file)) as.integer(readLines(file, 1, warn = FALSE))
    name <- tryCatch(readLines(file.path("/proc", pid, "comm")), error = function(e) "", warning = function(w) "")
    if (!identical(name, program)) next
    tools::pskill(pid)
    wait_until(has_ended(pid), 10)
    if (!has_ended(pid)) tools::pskill(pid, tools::SIGKILL)
  }
}

# --- ssh ------------------------------------------------------------------------------------------------------------

start_sshd <- function(folder) {
  at <- function(file) file.path(folder, file)
  port <- free_ports(1)
  for (key in c("host", "id")) quietly("ssh-keygen", "-q", "-t", "ed25519", "-N", "''", "-f", at(key))
  writeLines(c(paste("Port", port), "ListenAddress 127.0.0.1", paste("HostKey", at("host")),
               paste("PidFile", at("pid")), paste("AuthorizedKeysFile", at("id.pub")), "PermitRootLogin yes",
               "PasswordAuthentication no", "StrictModes no", "UsePAM no"), at("config"))
  write_program(at("rsh"), paste("exec ssh -p", port, "-i", at("id"), "-F none -o BatchMode=yes",
                                 "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
                                 '"$@"'))
  if (Sys.info()[["effective_user"]] == "root") dir.create("/run/sshd", showWarnings = FALSE)
  quietly(Sys.which("sshd"), "-f", at("config"), "-E", at("log"))
  wait_until(file.exists(at("pid")), 5)
  if (quietly(at("rsh"), "127.0.0.1", "true") != 0) testthat::skip("sshd cannot be used here")
}

with_ssh <- function(code) {
  with_engine(start_sshd, function(folder) end_processes(folder, c(sshd = "pid")), code)
}

# --- Slurm ------------------------------------------------------------------------------------------------------------

# One node, four processors whatever there are. batchtools asks for the jobs of $USER: where there is none, a job that
# runs counts as lost.
slurm_settings <- function(folder, ports) {
  host <- sub("[.].*", "", Sys.info()[["nodename"]])
  at <- function(file) file.path(folder, file)
  c("ClusterName=one", sprintf("SlurmctldHost=%s(127.0.0.1)", host), "AuthType=auth/munge", "CryptoType=crypto/munge",
    paste0("AuthInfo=socket=", at("munge.socket")), "SlurmUser=root", "SlurmdUser=root",
    paste0("StateSaveLocation=", at("state")), paste0("SlurmdSpoolDir=", at("spool")),
    paste0("SlurmctldPidFile=", at("slurmctld.pid")), paste0("SlurmdPidFile=", at("slurmd.pid")),
    paste0("SlurmctldLogFile=", at("slurmctld.log")), paste0("SlurmdLogFile=", at("slurmd.log")),
    paste0("SlurmctldPort=", ports[1]), paste0("SlurmdPort=", ports[2]), "ProctrackType=proctrack/linuxproc",
    "TaskPlugin=task/none", "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core",
    "SchedulerType=sched/backfill", "AccountingStorageType=accounting_storage/none",
    "JobAcctGatherType=jobacct_gather/none", "MpiDefault=none", "SlurmdParameters=config_overrides",
    "ReturnToService=2", "KillWait=1", "SchedulerParameters=sched_min_interval=0,batch_sched_delay=0",
    sprintf("NodeName=%s NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 State=UNKNOWN", host),
    sprintf("PartitionName=main Nodes=%s Default=YES MaxTime=INFINITE State=UP", host))
}

start_slurm <- function(folder) {
  at <- function(file) file.path(folder, file)
  for (inside in c("state", "spool")) dir.create(at(inside))
  writeLines(slurm_settings(folder, free_ports(2)), at("slurm.conf"))
  key <- file("/dev/urandom", "rb", raw = TRUE)
  writeBin(readBin(key, "raw", 1024), at("munge.key"))
  close(key)
  Sys.chmod(at("munge.key"), "0400")
  Sys.setenv(SLURM_CONF = at("slurm.conf"), USER = "root")
  quietly("munged", "--force", paste0("--key-file=", at("munge.key")), paste0("--socket=", at("munge.socket")),
          paste0("--pid-file=", at("munged.pid")), paste0("--log-file=", at("munged.log")),
          paste0("--seed-file=", at("munged.seed")))
  for (daemon in c("slurmctld", "slurmd")) quietly(daemon, "-f", at("slurm.conf"))
  write_program(at("srun-rsh"), '[ "$1" = "-l" ] && shift 2', "host=$1; shift",
                'exec srun -N1 -n1 -c1 --oversubscribe -w "$host" sh -c "$*"')
  wait_until("idle" %in% said_by("sinfo", "-h", "-o", "%T"), 10)
  if (!"idle" %in% said_by("sinfo", "-h", "-o", "%T")) testthat::skip("Slurm cannot be started here")
}

end_slurm <- function(folder) {
  quietly("scancel", "--user=root")
  wait_until(!length(said_by("squeue", "-h")), 10)
  end_processes(folder, c(slurmd = "slurmd.pid", slurmctld = "slurmctld.pid", munged = "munged.pid"))
}

with_slurm <- function(code) {
  if (Sys.info()[["effective_user"]] != "root") testthat::skip("Slurm is started by root alone")
  old <- Sys.getenv(c("SLURM_CONF", "USER"), NA, names = TRUE)
  on.exit({
    Sys.unsetenv(names(old)[is.na(old)])
    if (any(!is.na(old))) do.call(Sys.setenv, as.list(old[!is.na(old)]))
  })
  with_engine(start_slurm, end_slurm, code)
}
