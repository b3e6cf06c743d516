# Windows into the engine (tests/windows/), which a package has that was configured with KERNWEAVE_TEST_WINDOWS=yes, as
# make does. Sourced by processes that tests begin, too.

windows <- getDLLRegisteredRoutines("kernweave")$.External

skip_without_windows <- function() if (!length(windows)) testthat::skip("installed without windows for tests")

# Calls a window by its name, or skips the test if there are no windows.
through <- function(name, ...) {
  skip_without_windows()
  .External(windows[[paste0("window_", name)]], ...)
}

# The plan and the operands that a reduction is run with, and the data of the operands.
prepared_for <- function(R) kernweave:::prepared(R)
plan_behind <- function(R) prepared_for(R)$plan
data_for <- function(ready) kernweave:::operand_data(ready$operands)

devices_here <- function() kernweave:::r_devices()
gpu_report <- function() kernweave:::r_gpu_report()
# "present" for those in use, "" for the best.
use_instructions <- function(name = "present") kernweave:::r_use_instructions(name)

# Threads that a call would take, and cores.
threads_here <- function() unlist(kernweave:::chosen_threads()[c("threads", "cores")], use.names = FALSE)

# Forgets what has been said, so that messages said once a session are said again.
forget_said <- function(names = ls(said)) {
  said <- kernweave:::said
  rm(list = intersect(names, ls(said)), envir = said)
}
