# The only benchmark driver: every case of bench/cases.R as medians, beside its yardstick in the same run, with the
# machine and the commit. Rscript bench/run.R [isa] [pattern]: one instruction set, some cases.

library(kernweave)
source("bench/cases.R")

given <- commandArgs(TRUE)
isa <- kernweave:::r_use_instructions(if (length(given) > 0) given[1] else "")
pattern <- if (length(given) > 1) given[2] else ""
threads <- as.integer(Sys.getenv("KERNWEAVE_THREADS", min(2, parallel::detectCores())))

# Median seconds of a call, from about half a second of calls in at least five batches.
median_time <- function(f) {
  f()
  once <- max(system.time(f())[["elapsed"]], 1e-6)
  per_batch <- max(1, round(0.05 / once))
  stats::median(replicate(7, system.time(for (k in seq_len(per_batch)) f())[["elapsed"]] / per_batch))
}

# Yardsticks exist for vectors of 32 and 64 bytes.
yardstick <- file.path("bench/fused/build", paste0("fused-", isa))
has_yardstick <- function() {
  if (!isa %in% c("avx2", "avx512")) return(FALSE)
  file.exists(yardstick) || system2("make", c("-s", "-C", "bench/fused"), stdout = FALSE) == 0
}

run_yardstick <- function(case, precision, reps) {
  sizes <- c(case$M, case$N, case$D, case$E)
  sizes <- format(sizes, scientific = FALSE, trim = TRUE)
  out <- system2(yardstick, c(case$name, sub("float", "f", precision), sizes, threads, reps), stdout = TRUE)
  as.numeric(strsplit(out, " ")[[1]][9]) / 1e3
}

with_defaults <- function(case) {
  for (size in c("M", "N")) if (is.null(case[[size]])) case[[size]] <- 20000
  if (is.null(case$E)) case$E <- if (is.null(case$K)) 1 else case$K
  case
}

engine_call <- function(case, precision) {
  set.seed(1)
  X <- Vi(points(case$M, case$D), name = "x")
  B <- Vj(matrix(stats::rnorm(case$N * if (is.null(case$K)) case$E else 1), case$N), name = "b")
  F <- case$formula(X, Vj(points(case$N, case$D), name = "y"), B)
  R <- reduction(F, if (is.null(case$op)) "sum" else case$op, K = case$K, call = FALSE, precision = precision,
                 threads = threads)
  if (isTRUE(case$gradient)) R <- vjp(R, X, cotangent = matrix(stats::rnorm(case$M)), call = FALSE)
  function() as.matrix(R)
}

# Engine and yardstick take turns, so that a busy minute hurts both.
compare <- function(case, precision) {
  f <- engine_call(case, precision)
  f()
  rounds <- 3
  times <- replicate(rounds, c(stats::median(replicate(3, system.time(f())[["elapsed"]])),
                               if (has_yardstick()) run_yardstick(case, precision, 3) else NA))
  apply(times, 1, stats::median)
}

commit <- tryCatch(system2("git", c("rev-parse", "--short", "HEAD"), stdout = TRUE, stderr = FALSE),
                   error = function(e) "unknown")
cat("kernweave ", as.character(utils::packageVersion("kernweave")), ", commit ", commit, ", R ",
    as.character(getRversion()), ", ",
    parallel::detectCores(), " cores, ", isa, ", ", threads, " threads, ", R.version$platform, "\n\n", sep = "")

cat(sprintf("%-12s %12s %8s  %s\n", "call", "median ms", "bar ms", "what"))
for (case in Filter(function(case) grepl(pattern, case$name), call_cases)) {
  seconds <- median_time(case$make())
  cat(sprintf("%-12s %12.4f %8s  %s\n", case$name, seconds * 1e3, if (is.null(case$bar_ms)) "" else format(case$bar_ms),
              case$why))
}

cat(sprintf("\n%-12s %8s %8s %4s %4s %8s %9s %10s %6s %5s\n", "case", "M", "N", "D", "E, K", "", "ms", "Mpairs/s",
            "ratio", "bar"))
for (case in lapply(Filter(function(case) grepl(pattern, case$name), pair_cases), with_defaults)) {
  for (precision in c("float32", "float64")) {
    seconds <- compare(case, precision)
    ratio <- seconds[2] / seconds[1]
    cat(sprintf("%-12s %8.0f %8.0f %4d %4d %8s %9.1f %10.1f %6.2f %5.2f%s\n", case$name, case$M, case$N, case$D, case$E,
                precision, seconds[1] * 1e3,
                case$M * case$N / seconds[1] / 1e6, ratio, case$bar,
                if (!is.na(ratio) && ratio < case$bar) " below" else ""))
  }
}
