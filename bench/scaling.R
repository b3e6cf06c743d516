# How time falls with the number of threads, beside the yardstick's: Rscript bench/scaling.R [isa]

given <- commandArgs(TRUE)
library(kernweave)
isa <- kernweave:::r_use_instructions(if (length(given)) given[1] else "")
yardstick <- file.path("bench/fused/build", paste0("fused-", isa))
if (!file.exists(yardstick)) system2("make", c("-s", "-C", "bench/fused"), stdout = FALSE)

n <- 40000
set.seed(1)
x <- matrix(stats::runif(3 * n), n)
y <- matrix(stats::runif(3 * n), n)
b <- stats::rnorm(n)

engine_seconds <- function(precision, threads) {
  R <- reduction(exp(-sqdist(Vi(x), Vj(y))) * Vj(b), "sum", call = FALSE, precision = precision, threads = threads)
  as.matrix(R)
  stats::median(replicate(5, system.time(as.matrix(R))[["elapsed"]]))
}
yardstick_seconds <- function(precision, threads) {
  out <- system2(yardstick, c("gauss", sub("float", "f", precision), n, n, 3, 1, threads, 5), stdout = TRUE)
  as.numeric(strsplit(out, " ")[[1]][9]) / 1e3
}

counts <- Filter(function(t) t <= parallel::detectCores(), c(1, 2, 4, 8, 16))
cat(sprintf("%-8s %8s %12s %12s %8s %14s\n", isa, "threads", "engine x", "yardstick x", "share", "of yardstick"))
for (precision in c("float32", "float64")) {
  seconds <- vapply(counts, function(t) c(engine_seconds(precision, t), yardstick_seconds(precision, t)), numeric(2))
  gain <- seconds[, 1] / seconds
  cat(sprintf("%-8s %8d %12.2f %12.2f %8.2f %14.2f\n", precision, counts, gain[1, ], gain[2, ], gain[1, ] / gain[2, ],
              seconds[2, ] / seconds[1, ]), sep = "")
}
