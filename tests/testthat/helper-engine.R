# Windows into the engine (src/windows/), which a package has that was configured with KERNWEAVE_TEST_WINDOWS=yes, as
# make does. Sourced by processes that tests begin, too.

windows <- getDLLRegisteredRoutines("kernweave")$.External

skip_without_windows <- function() if (!length(windows)) testthat::skip("installed without windows for tests")

# What is seen through one of them; a test that looks is skipped where there are none.
through <- function(name, ...) {
  skip_without_windows()
  .External(windows[[paste0("window_", name)]], ...)
}
