# Every case of bench/cases.R: calls that are all overhead beside their limits, sums beside the loops fused by hand in
# bench/fused. Rscript bench/run.R [pattern]. KERNWEAVE_THREADS in the environment asks for other threads.

source("bench/clock.R")
source("bench/cases.R")
asked <- given(pattern = "")

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
  R <- reduction(F, if (is.null(case$op)) "sum" else case$op, K = case$K, call = FALSE, precision = precision)
  if (isTRUE(case$gradient)) R <- vjp(R, X, cotangent = matrix(stats::rnorm(case$M)), call = FALSE)
  function() as.matrix(R)
}

begin("calls and sums, beside limits and loops fused by hand")
wanted <- function(cases) Filter(function(case) grepl(asked$pattern, case$name), cases)
for (case in wanted(call_cases)) {
  limit <- if (is.null(case$bar_ms)) NA else case$bar_ms
  say(case$name, clock(case$make()), known = c(limit = limit), bars = c(limit = 1), also = c(what = case$why))
}
for (case in lapply(wanted(pair_cases), with_defaults)) for (precision in c("float32", "float64")) {
  times <- clock(list(kernweave = engine_call(case, precision), yardstick = yardstick(case, precision)))
  say(sprintf("%s, %g x %g, D = %d, E = %d, %s", case$name, case$M, case$N, case$D, case$E, precision), times,
      bars = c(yardstick = case$bar), also = c("Mpairs/s" = case$M * case$N / times$wall_ms[1] / 1e3))
}
