# The guard that noise cannot blur: instructions a pair in one thread on AVX2 lanes, counted by valgrind, beside those
# recorded. Rscript bench/instructions.R fails where a case needs 5 % more; with "record" it writes the figures anew.

root <- Sys.getenv("KERNWEAVE_SOURCE", ".")
recorded_in <- file.path(root, "bench/results/instructions-avx2.txt")
slack <- 0.05

# The sizes. The difference of two sizes cancels a call's fixed cost. Both are small: valgrind takes half a microsecond
# for a fused multiplication and addition.
rows <- 256
columns <- c(1024, 2048)

gauss <- function(X, Y, B) exp(-sqdist(X, Y)) * B
counted_cases <- list(
  list(name = "gauss", D = 3, precision = "float32", formula = gauss),
  list(name = "gauss", D = 50, precision = "float64", formula = gauss),
  list(name = "gradx", D = 3, precision = "float64", formula = gauss, gradient = TRUE),
  list(name = "argkmin", D = 3, precision = "float32", op = "argKmin", K = 10,
       formula = function(X, Y, B) sqdist(X, Y)),
  list(name = "chain", D = 5, precision = "float64", formula = function(X, Y, B) {
    d <- sqdist(X, Y)
    exp(-sqrt(d)) * (1 + d) / (2 + d) * B
  })
)

# --- under valgrind -------------------------------------------------------------------------------------------

points <- function(n, d) matrix(stats::runif(n * d), n, d)

engine_call <- function(case, n) {
  set.seed(1)
  X <- Vi(points(rows, case$D), name = "x")
  F <- case$formula(X, Vj(points(n, case$D), name = "y"), Vj(stats::rnorm(n), name = "b"))
  R <- reduction(F, if (is.null(case$op)) "sum" else case$op, K = case$K, call = FALSE, precision = case$precision,
                 threads = 1)
  if (isTRUE(case$gradient)) R <- vjp(R, X, cotangent = matrix(stats::rnorm(rows)), call = FALSE)
  R
}

run_cases <- function(switch) {
  library(kernweave)
  dyn.load(switch)
  kernweave:::r_use_instructions("avx2")  # valgrind has no wider lanes
  for (case in counted_cases) for (n in columns) {
    R <- engine_call(case, n)
    as.matrix(R)  # what is made once and kept: the program, workspaces
    .C("count_from_here")
    as.matrix(R)
    .C("count_to_here")
  }
}

# --- around it ------------------------------------------------------------------------------------------------

r_command <- function(...) {
  libraries <- paste0("R_LIBS=", shQuote(paste(.libPaths(), collapse = ":")))
  suppressWarnings(system2(file.path(R.home("bin"), "R"), c(...), stdout = TRUE, stderr = TRUE, env = libraries))
}

# Figures hold for one compiler only.
compiler <- function() {
  program <- strsplit(r_command("CMD", "config", "CXX17"), " ")[[1]][1]
  flags <- r_command("CMD", "config", "CXX17FLAGS")
  level <- regmatches(flags, regexpr("-O[^ ]*", flags))
  paste(basename(program), sub("[.].*", "", system2(program, "-dumpversion", stdout = TRUE)), level)
}

build_switch <- function() {
  source <- file.path(tempdir(), "instructions.c")
  file.copy(file.path(root, "bench/instructions.c"), source, overwrite = TRUE)
  said <- r_command("CMD", "SHLIB", shQuote(source))
  library <- sub("[.]c$", .Platform$dynlib.ext, source)
  if (!file.exists(library)) {
    stop("valgrind's header is not there, or cannot be compiled:\n", paste(said, collapse = "\n"), call. = FALSE)
  }
  library
}

# One R for all cases. Counts only inside the engine's one entry for numbers, and writes a file each time it is left.
# Not the looks for the user's interrupt, which come by the clock: each is R's tryCatch(), 100 000 instructions.
count_instructions <- function() {
  entry <- "_kernweave_r_run"
  at <- tempfile("callgrind")
  tool <- paste0("valgrind --tool=callgrind --instr-atstart=no --toggle-collect=", entry, " --dump-after=", entry,
                 " --toggle-collect=kernweave::poll_interrupt() --callgrind-out-file=", at)
  script <- shQuote(file.path(root, "bench/instructions.R"))
  said <- r_command("-d", shQuote(tool), "--vanilla", "-q", "-f", script, "--args", "run", shQuote(build_switch()))
  dumps <- paste0(at, ".", seq_len(length(counted_cases) * length(columns)))
  if (!all(file.exists(dumps))) {
    stop("valgrind gave no counts; it said:\n", paste(utils::tail(said, 20), collapse = "\n"), call. = FALSE)
  }
  total_of <- function(dump) as.numeric(sub("totals: ", "", grep("^totals: ", readLines(dump), value = TRUE)))
  totals <- vapply(dumps, total_of, 0)
  unlink(c(at, dumps))
  apply(matrix(totals, length(columns)), 2, diff) / (rows * diff(columns))
}

# --- beside those recorded ------------------------------------------------------------------------------------

read_recorded <- function() {
  named <- grep("^# compiler: ", readLines(recorded_in), value = TRUE)
  list(compiler = sub("^# compiler: ", "", named),
       table = utils::read.table(recorded_in, header = TRUE, comment.char = "#"))
}

labels <- function() {
  vapply(counted_cases, function(case) sprintf("%-8s %4d %8s", case$name, case$D, case$precision), "")
}

record <- function(counted) {
  commit <- system2("git", c("-C", shQuote(root), "rev-parse", "--short", "HEAD"), stdout = TRUE)
  writeLines(c(
    "# Instructions a pair on AVX2 lanes in one thread, for make guard.",
    "# Written by: Rscript bench/instructions.R record",
    sprintf("# kernweave %s, commit %s, R %s, %s, %d x %d to %d", utils::packageVersion("kernweave"), commit,
            getRversion(), R.version$platform, rows, columns[1], columns[2]),
    paste("# compiler:", compiler()),
    sprintf("%-8s %4s %8s %12s", "case", "D", "floats", "instructions"),
    sprintf("%s %12.3f", labels(), counted)
  ), recorded_in)
}

# Tells whether every case is within the slack.
compare <- function(counted, recorded) {
  if (length(counted) != length(recorded)) stop("other cases than those recorded: record them anew", call. = FALSE)
  ratio <- counted / recorded
  remark <- ifelse(ratio > 1 + slack, " over", ifelse(ratio < 1 - slack, " less: record it", ""))
  cat(sprintf("%-8s %4s %8s %12s %9s %6s\n", "case", "D", "floats", "instructions", "recorded", "ratio"))
  cat(sprintf("%s %12.3f %9.3f %6.3f%s\n", labels(), counted, recorded, ratio, remark), sep = "")
  all(ratio <= 1 + slack)
}

main <- function(given) {
  if (identical(given[1], "run")) return(run_cases(given[2]))
  if (identical(given[1], "record")) return(record(count_instructions()))
  recorded <- read_recorded()
  within <- compare(count_instructions(), recorded$table$instructions)
  if (recorded$compiler != compiler()) {
    cat("recorded with ", recorded$compiler, ", here is ", compiler(), ": not judged\n", sep = "")
  } else if (!within) {
    quit(status = 1)
  }
}

if (sys.nframe() == 0L) main(commandArgs(TRUE))
