# The common helpers of the scripts of this folder: loops of explain(code = TRUE), compiled and timed, and pictures.

source("bench/clock.R")
options(kernweave.threads = 1)

# g++ exchanges loops itself unless it is told not to. Lengths of axes are arguments, so it does not know them.
flags <- c("-O3", "-march=native", "-fno-loop-interchange", "-fno-loop-unroll-and-jam", "-shared", "-fPIC",
           "-std=c++17")

# A function around each, which tells its seconds by the clock and of the processor; .C() copies before and after.
timer <- "#include <ctime>
static double seconds_of(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}"
timed <- function(k, count) {
  arrays <- paste0("a", seq_len(count))
  c(sprintf("extern \"C\" void timed%d(const int* extents, %s, double* result, double* took) {", k,
            paste0("const double* ", arrays, collapse = ", ")),
    "  took[0] = -seconds_of(CLOCK_MONOTONIC), took[1] = -seconds_of(CLOCK_THREAD_CPUTIME_ID);",
    sprintf("  nest%d(extents, %s, result);", k, paste(arrays, collapse = ", ")),
    "  took[0] += seconds_of(CLOCK_MONOTONIC), took[1] += seconds_of(CLOCK_THREAD_CPUTIME_ID);", "}")
}

# Calls for clock(), one for each order of the loops of a reduction, all compiled in one file. Each result is compared
# with what is expected.
compiled_orders <- function(R, arrays, orders, block = NULL, expected = as.array(R)) {
  codes <- lapply(orders, function(order) {
    as.character(explain(R, code = TRUE, order = order, block = block[names(block) %in% order[duplicated(order)]]))
  })
  source <- tempfile("nests", fileext = ".cpp")
  named <- Map(sub, " nest(", sprintf(" nest%d(", seq_along(codes)), codes, fixed = TRUE)
  writeLines(c(timer, unlist(named), unlist(lapply(seq_along(codes), timed, length(arrays)))), source)
  built <- sub("cpp$", "so", source)
  compiler <- strsplit(system2(file.path(R.home("bin"), "R"), c("CMD", "config", "CXX17"), stdout = TRUE), " ")[[1]]
  if (system2(compiler[1], c(compiler[-1], flags, source, "-o", built)) != 0) stop("the loops do not compile")
  library <- dyn.load(built)
  given <- unname(lapply(arrays, as.double))
  calls <- lapply(seq_along(codes), function(k) {
    symbol <- getNativeSymbolInfo(paste0("timed", k), library)
    told(function() {
      found <- do.call(.C, c(list(symbol, as.integer(R$axes$all)), given,
                             list(result = numeric(length(expected)), took = numeric(2))))
      stopifnot(all.equal(found$result, as.vector(expected)))
      structure(found$took, names = c("wall", "cpu"))
    })
  })
  structure(calls, names = vapply(orders, paste, "", collapse = " "))
}

# Every order once: loops of one axis keep theirs.
distinct_orders <- function(axes) {
  if (length(axes) < 2) return(list(axes))
  do.call(c, lapply(unique(axes), function(first) {
    lapply(distinct_orders(axes[-match(first, axes)]), function(rest) c(first, rest))
  }))
}

draw <- function(...) array(stats::rnorm(prod(...)), c(...))

picture <- function(name, width, height, code) {
  file <- sprintf("bench/results/%s-%s.png", Sys.Date(), name)
  type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
  grDevices::png(file, width, height, res = 110, type = type)
  on.exit(grDevices::dev.off())
  graphics::par(mar = c(4, 5, 2, 1), las = 1)
  code
  invisible(file)
}
