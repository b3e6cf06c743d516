# Peak memory beside inputs and outputs, of Gaussian sums whose matrix of pairs could never be held.
# Rscript bench/memory.R

bar <- 60
cases <- list(c(200000, 200000), c(1e6, 100), c(100, 1e6))
threads <- as.integer(Sys.getenv("KERNWEAVE_THREADS", min(2, parallel::detectCores())))
mib <- 1024^2

status <- function(field) {
  line <- grep(paste0("^", field), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) * 1024
}

# A peak never falls, so each case has a process of its own. Data are shaped in place: a copy would be a peak.
run_case <- function(M, N) {
  library(kernweave)
  set.seed(1)
  uniform <- function(n, d) {
    x <- stats::runif(n * d)
    dim(x) <- c(n, d)
    x
  }
  x <- uniform(M, 3)
  y <- uniform(N, 3)
  b <- uniform(N, 1)
  R <- reduction(exp(-sqdist(Vi(x), Vj(y))) * Vj(b), "sum", call = FALSE, precision = "float64", threads = threads)
  invisible(gc())
  before <- status("VmRSS")
  seconds <- system.time(out <- as.matrix(R))[["elapsed"]]
  beside <- (status("VmHWM") - before - utils::object.size(out)) / mib
  data <- 8 * (4 * N + 4 * M) / mib
  cat(sprintf("%9.0f %9.0f %8.2f %12.1f %8.1f %6.0f%s\n", M, N, seconds, data, beside, bar,
              if (beside > bar) " above" else ""))
}

show_cases <- function() {
  commit <- tryCatch(system2("git", c("rev-parse", "--short", "HEAD"), stdout = TRUE, stderr = FALSE),
                     error = function(e) "unknown")
  cat("kernweave ", as.character(utils::packageVersion("kernweave")), ", commit ", commit, ", R ",
      as.character(getRversion()), ", ",
      parallel::detectCores(), " cores, ", kernweave:::r_instruction_sets()[1], ", ", threads, " threads, ",
      R.version$platform, "\n\n", sep = "")
  cat(sprintf("%9s %9s %8s %12s %8s %6s\n", "M", "N", "s", "in, out MiB", "beside", "bar"))
  for (case in cases) {
    system2(file.path(R.home("bin"), "Rscript"), c("bench/memory.R", format(case, scientific = FALSE, trim = TRUE)))
  }
}

given <- as.numeric(commandArgs(TRUE))
if (length(given) == 2) run_case(given[1], given[2]) else if (file.exists("/proc/self/status")) show_cases()
