# Beside what R users have today, both in float64 and in turns: how many times as fast, and the bar. A package that is
# not installed is named and left out. Rscript bench/peers.R [pattern]

library(kernweave)
source("bench/cases.R")

given <- commandArgs(TRUE)
pattern <- if (length(given) > 0) given[1] else ""
threads <- as.integer(Sys.getenv("KERNWEAVE_THREADS", min(2, parallel::detectCores())))
options(kernweave.precision = "float64", kernweave.threads = threads)

# --- the same twice: by the engine, by a peer -----------------------------------------------------------------

engine_gauss <- function(x, y, b) exp(-sqdist(Vi(x), Vj(y))) %*% b
engine_nearest <- function(x, y, b) argKmin(sqdist(Vi(x), Vj(y)), K = 10)

kernel_mult <- function(x, y, b) kernlab::kernelMult(kernlab::rbfdot(sigma = 1), x, y, b)
nearest_by <- function(algorithm) function(x, y, b) FNN::get.knnx(y, x, k = 10, algorithm = algorithm)$nn.index

blocked <- function(x, y, b) {
  squares <- rowSums(y^2)
  blocks <- split(seq_len(nrow(x)), (seq_len(nrow(x)) - 1) %/% 500)
  do.call(rbind, lapply(blocks, function(at) {
    here <- x[at, , drop = FALSE]
    exp(-(outer(rowSums(here^2), squares, `+`) - 2 * tcrossprod(here, y))) %*% b
  }))
}

peers <- list(
  list(name = "kernelMult", package = "kernlab", n = 10000, D = 3, bar = 40, engine = engine_gauss, peer = kernel_mult),
  list(name = "kernelMult", package = "kernlab", n = 10000, D = 10, bar = 30, engine = engine_gauss,
       peer = kernel_mult),
  list(name = "kernelMult", package = "kernlab", n = 10000, D = 50, bar = 15, engine = engine_gauss,
       peer = kernel_mult),
  list(name = "blocked", package = "base", n = 10000, D = 3, bar = 33, engine = engine_gauss, peer = blocked),
  list(name = "kd_tree", package = "FNN", n = 20000, D = 3, bar = 0.75, engine = engine_nearest,
       peer = nearest_by("kd_tree")),
  list(name = "kd_tree", package = "FNN", n = 20000, D = 10, bar = 15, engine = engine_nearest,
       peer = nearest_by("kd_tree")),
  list(name = "kd_tree", package = "FNN", n = 20000, D = 50, bar = 100, turns = 1, engine = engine_nearest,
       peer = nearest_by("kd_tree"))
)

# --- in turns -------------------------------------------------------------------------------------------------

seconds <- function(f) system.time(f())[["elapsed"]]

# Medians of three turns (of one, where the peer takes minutes), of one call of the peer and three of the engine each;
# and whether both say the same.
compare <- function(case) {
  set.seed(1)
  x <- points(case$n, case$D)
  y <- points(case$n, case$D)
  b <- matrix(stats::rnorm(case$n))
  engine <- function() case$engine(x, y, b)
  peer <- function() case$peer(x, y, b)
  first <- engine()
  theirs <- NULL
  turns <- if (is.null(case$turns)) 3 else case$turns
  times <- replicate(turns, c(stats::median(replicate(3, seconds(engine))), seconds(function() theirs <<- peer())))
  list(seconds = apply(times, 1, stats::median), differs = max(abs(theirs - first)) / max(abs(first)))
}

show_case <- function(case) {
  start <- sprintf("%-12s %8.0f %4d", case$name, case$n, case$D)
  if (!nzchar(system.file(package = case$package))) {
    return(cat(start, " package ", case$package, " is not installed\n", sep = ""))
  }
  found <- compare(case)
  ratio <- found$seconds[2] / found$seconds[1]
  cat(sprintf("%s %10.1f %10.1f %8.2f %6.2f%s%s\n", start, found$seconds[1] * 1e3, found$seconds[2] * 1e3, ratio,
              case$bar,
              if (ratio < case$bar) " below" else "",
              if (found$differs > 1e-9) paste(" differs by", format(found$differs, digits = 2)) else ""))
}

version_of <- function(package) {
  if (nzchar(system.file(package = package))) paste(package, utils::packageVersion(package))
}

commit <- tryCatch(system2("git", c("rev-parse", "--short", "HEAD"), stdout = TRUE, stderr = FALSE),
                   error = function(e) "unknown")
cat(paste(c(version_of("kernweave"), paste("commit", commit), paste("R", getRversion()), version_of("kernlab"),
            version_of("FNN"),
            paste("BLAS", basename(extSoftVersion()[["BLAS"]])), paste(parallel::detectCores(), "cores"),
            kernweave:::r_instruction_sets()[1],
            paste(threads, "threads"), R.version$platform), collapse = ", "), "\n\n", sep = "")
cat(sprintf("%-12s %8s %4s %10s %10s %8s %6s\n", "peer", "n", "D", "engine ms", "peer ms", "ratio", "bar"))
for (case in Filter(function(case) grepl(pattern, case$name), peers)) show_case(case)
