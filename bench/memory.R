# Peak memory beside inputs and outputs, of Gaussian sums whose matrix of pairs could never be held, in MiB: at most as
# many as the bar. Rscript bench/memory.R

source("bench/clock.R")
most <- 60
cases <- list(c(200000, 200000), c(1e6, 100), c(100, 1e6))

status <- function(field) {
  line <- grep(paste0("^", field), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}

# A peak never falls, so each case has a process of its own. Data are shaped in place: a copy would be a peak.
run_case <- function(M, N) {
  set.seed(1)
  uniform <- function(n, d) {
    x <- stats::runif(n * d)
    dim(x) <- c(n, d)
    x
  }
  x <- uniform(M, 3)
  y <- uniform(N, 3)
  b <- uniform(N, 1)
  R <- reduction(exp(-sqdist(Vi(x), Vj(y))) * Vj(b), "sum", call = FALSE, precision = "float64")
  invisible(gc())
  before <- status("VmRSS")
  out <- NULL
  took <- clock(function() out <<- as.matrix(R), enough = 0)
  beside <- status("VmHWM") - before - as.numeric(utils::object.size(out)) / 2^20
  say(sprintf("%g x %g", M, N), took, also = c(MiB = beside, most = most, "data_MiB" = 32 * (M + N) / 2^20))
}

asked <- given(M = 0, N = 0)
if (asked$N > 0) {
  run_case(asked$M, asked$N)
} else if (file.exists("/proc/self/status")) {
  begin("peak memory beside data")
  for (case in cases) {
    system2(file.path(R.home("bin"), "Rscript"), c("bench/memory.R", format(case, scientific = FALSE, trim = TRUE)))
  }
}
