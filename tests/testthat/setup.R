# Every test runs with the engine's own checks between stages, and on two threads at most.
library(kernweave)
options(kernweave.check = TRUE, kernweave.threads = 2L)
