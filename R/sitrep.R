# What this installation is, and what it lacks.

#' Situation report
#'
#' Versions, what `configure` chose at installation, devices, options, and one line for each problem with
#' its remedy. Paste it into a bug report.
#'
#' @return An object of class `kernweave_sitrep`, invisibly after printing.
#' @export
#' @examples
#' kernweave_sitrep()
kernweave_sitrep <- function() {
  report <- list(
    versions = c(kernweave = as.character(utils::packageVersion("kernweave")), R = as.character(getRversion()),
                 Rcpp = as.character(utils::packageVersion("Rcpp")), platform = R.version$platform, compiler = r_compiler()),
    configured = configured(),
    devices = r_devices(),
    gpu = r_gpu_report(),
    cache = cache_line(),
    cpu = c(instructions = r_use_instructions("present"), threads = r_threads())
  )
  asked <- tryCatch(kernweave_options(), kernweave_error = function(e) conditionMessage(e))
  report$options <- if (is.data.frame(asked)) asked else data.frame(option = character(), value = character())
  report$problems <- c(problems(report), if (is.character(asked)) paste0("An option, or its environment twin KERNWEAVE_*, is wrong: ", asked))
  structure(report, class = "kernweave_sitrep")
}

cache_line <- function() {
  folder <- tryCatch(cache_folder(option("cache")), kernweave_error = function(e) "")
  if (!nzchar(folder)) return("none; options(kernweave.cache = TRUE) keeps compiled kernels on disk")
  cache <- r_cache_report()
  paste0(cache$folder, ": ", cache$files, " kernels, ", round(cache$bytes / 1e6, 1), " MB", if (!cache$writable) ", cannot be written")
}

# Kernels compiled at installation, and what they are for on this machine.
ahead_line <- function(report) {
  if (!report$gpu$ahead) return("none")
  archs <- strsplit(report$configured[["Cuda-Archs"]], " ")[[1]]
  paste0("compiled for ", paste0("sm_", archs, collapse = ", "),
         if (!grepl("^NVRTC", report$gpu$compiler)) "; without NVRTC, formulas of less common kinds take some times as long on the GPU, and a few do not run there")
}

configured <- function() {
  file <- system.file("configured.dcf", package = "kernweave")
  if (!nzchar(file)) return(c(Cuda = "unknown"))
  fields <- read.dcf(file)
  structure(as.vector(fields), names = colnames(fields))
}

problems <- function(report) {
  cuda <- report$configured[["Cuda"]]
  found <- character()
  if (!identical(cuda, "yes")) {
    found <- c(found, paste0("No CUDA kernels were compiled at installation. With the CUDA Toolkit installed: ",
                             "install.packages(\"kernweave\", configure.args = \"--with-cuda=yes\")"))
  }
  if (!length(report$gpu$devices)) found <- c(found, paste0("No GPU: ", report$gpu$driver, "."))
  else if (nzchar(report$gpu$problem)) found <- c(found, paste0("The GPU cannot be used: ", report$gpu$problem, "."))
  if (grepl("cannot be written", report$cache)) found <- c(found, paste0("Kernels cannot be kept on disk: ", report$cache, "."))
  found
}

#' @export
print.kernweave_sitrep <- function(x, ...) {
  pairs <- function(values) cat(sprintf("  %-14s %s\n", names(values), values), sep = "")
  cat("kernweave\n")
  pairs(x$versions)
  cat("installed with\n")
  pairs(x$configured)
  cat("devices\n  ", paste(x$devices, collapse = ", "), "\ncpu\n", sep = "")
  pairs(x$cpu)
  cat("gpu\n")
  pairs(c(driver = x$gpu$driver, compiler = x$gpu$compiler, interpreter = ahead_line(x), device = x$gpu$devices, cache = x$cache))
  cat("options\n")
  cat(sprintf("  %-24s %s\n", x$options$option, x$options$value), sep = "")
  if (length(x$problems)) cat("to note\n", paste0("  ", x$problems, "\n"), sep = "")
  invisible(x)
}
