# Every test runs with the engine's own checks between stages, on two threads at most, and keeps no kernels on disk.
library(kernweave)
options(kernweave.check = TRUE, kernweave.threads = 2L, kernweave.cache = FALSE)
Sys.setenv(KERNWEAVE_CACHE = "FALSE")  # of processes that tests begin
