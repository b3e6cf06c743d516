# Bytes and seconds of each object, of a room or of a file alone, beside those recorded in tools/compiled.txt.
#
#   Rscript tools/compiled.R          compiles all of src/ once more, without debug information, and compares
#   Rscript tools/compiled.R record   the same, and writes the figures
#
# The gate of tools/house.R looks at the bytes of objects that are there.

recorded_in <- "tools/compiled.txt"
# The largest size of an object before the figures are written anew, and the longest time that any object may take a
# processor: with a whole room in it, about a quarter of the time of an installation on two processors.
slack <- function(bytes) pmax(1.3 * bytes, bytes + 20000)
most_seconds <- 60

# Lists the objects that Makevars.in names and, of kernels, the objects that are compiled without nvcc.
objects_of <- function(root) {
  lines <- paste(readLines(file.path(root, "src", "Makevars.in")), collapse = " ")
  named <- unique(unlist(regmatches(lines, gregexpr("[A-Za-z0-9_/]+[.]o\\b", lines))))
  Filter(function(object) file.exists(file.path(root, "src", sub("[.]o$", ".cpp", object))), named)
}

# Code and data of objects, by the linker's own tool; NA where it cannot tell.
bytes_of <- function(files) {
  lines <- suppressWarnings(tryCatch(system2("size", shQuote(files), stdout = TRUE, stderr = FALSE),
                                     error = function(e) NULL))
  if (length(lines) != length(files) + 1) return(rep(NA_real_, length(files)))
  rowSums(utils::read.table(text = lines[-1])[1:3])
}

read_compiled <- function(root) utils::read.table(file.path(root, recorded_in), header = TRUE, comment.char = "#")

# Sentences about objects that are larger than recorded, or not recorded at all.
too_large <- function(root, built = file.path(root, "src")) {
  here <- Filter(function(object) file.exists(file.path(built, object)), objects_of(root))
  if (!length(here)) return(NULL)
  bytes <- bytes_of(file.path(built, here))
  limit <- read_compiled(root)
  allowed <- slack(limit$bytes[match(here, limit$object)])
  allowed[is.na(allowed)] <- 1e5  # of a file that is new
  over <- which(bytes > allowed)
  if (length(over)) sprintf("%s has %.0f bytes of code, more than %.0f", here[over], bytes[over], allowed[over])
}

compile <- function(root, object, to) {
  makeconf <- function(name) system2(file.path(R.home("bin"), "R"), c("CMD", "config", name), stdout = TRUE)
  linked <- vapply(c("Rcpp", "RcppEigen"), function(p) system.file("include", package = p), "")
  flags <- c("-DNDEBUG", paste0("-I", c(R.home("include"), linked, "../inst/include", ".")))
  command <- paste("cd", shQuote(file.path(root, "src")), "&&", makeconf("CXX17"), makeconf("CXX17STD"),
                   paste(flags, collapse = " "),
                   makeconf("CXX17PICFLAGS"), "-fvisibility=hidden -O2 -c", sub("[.]o$", ".cpp",
                                                                                object), "-o", shQuote(to))
  before <- proc.time()
  if (system(command)) stop(object, " does not compile", call. = FALSE)
  sum((proc.time() - before)[4:5])
}

main <- function(given) {
  root <- Sys.getenv("KERNWEAVE_SOURCE", ".")
  built <- tempfile()
  objects <- objects_of(root)
  for (folder in unique(dirname(objects))) dir.create(file.path(built, folder), FALSE, TRUE)
  seconds <- vapply(objects, function(object) compile(root, object, file.path(built, object)), 0)
  if (identical(given, "record")) {
    compiler <- system2(file.path(R.home("bin"), "R"), c("CMD", "config", "CXX17"), stdout = TRUE)
    lines <- sprintf("%-32s %9.0f %8.1f", objects, bytes_of(file.path(built, objects)), seconds)
    writeLines(c("# Code of each object in bytes, seconds to compile it. Written by: Rscript tools/compiled.R record",
                 paste("# compiler:", compiler), sprintf("%-32s %9s %8s", "object", "bytes", "seconds"), lines),
               file.path(root, recorded_in))
    return(invisible())
  }
  slow <- seconds > most_seconds
  wrong <- c(too_large(root, built),
             if (any(slow)) sprintf("%s takes %.0f s, more than %d", objects[slow], seconds[slow], most_seconds))
  cat(sprintf("%-32s %8.1f s\n", objects, seconds), sprintf("%.0f s in all\n", sum(seconds)), wrong, sep = "")
  if (length(wrong)) quit(status = 1)
}

if (sys.nframe() == 0L) main(commandArgs(TRUE))
