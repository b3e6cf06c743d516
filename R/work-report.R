# A report on this installation: its properties and problems.

#' Report on this installation
#'
#' Shows versions, the choices of `configure` at installation, devices, the number of threads used and its reason,
#' options, and for each problem found one line with its remedy. Paste it into a bug report.
#'
#' @return An object of class `kernweave_sitrep`.
#' @seealso [kernweave_options()], [explain()]
#' @concept session information
#' @export
#' @examples
#' kernweave_sitrep()
kernweave_sitrep <- function() {
  had <- chosen_threads()
  report <- list(
    versions = c(kernweave = version_of("kernweave"), R = as.character(getRversion()), Rcpp = version_of("Rcpp"),
                 platform = R.version$platform, compiler = r_compiler()),
    configured = configured(),
    devices = r_devices(),
    gpu = r_gpu_report(),
    cache = cache_line(),
    cpu = c(instructions = r_use_instructions("present"),
            threads = paste0(had$threads, " of ", counted(had$cores, "core"), ", ", had$why))
  )
  asked <- tryCatch(kernweave_options(), kernweave_error = function(e) message_of(e))
  report$options <- if (is.data.frame(asked)) asked else data.frame(option = character(), value = character())
  wrong <- if (is.character(asked)) paste0("An option, or its environment variable KERNWEAVE_*, is wrong: ", asked)
  report$problems <- c(problems(report), more_cores(had$threads, had$cores, had$why), wrong)
  structure(report, class = "kernweave_sitrep")
}

version_of <- function(package) as.character(utils::packageVersion(package))

# Returns the threads of a call that sets no number, the reason for this number, and the cores of this process.
chosen_threads <- function() r_allowance(tryCatch(option("threads"), kernweave_error = function(e) NULL) %or% 0L)

# Returns the formula of a plain sum over one axis of all pairs; NULL for other reductions.
summed_over_pairs <- function(R) {
  output <- R$outputs[[1]]
  plain <- length(R$outputs) == 1 && output$op == "Sum" && output$keep %in% c("i", "j") && is.null(R$pairs) &&
    is.null(R$groups) && length(R$extent) == 2 && !anyNA(R$extent)
  if (!plain) return(NULL)
  K <- new_lazy(output$value, R$extent, R$settings)
  if (width(K) == 1 && has_axis(K, "i") && has_axis(K, "j") && !length(traced_operands(K))) K
}

cache_line <- function() {
  folder <- tryCatch(cache_folder(option("cache")), kernweave_error = function(e) "")
  if (!nzchar(folder)) return("none; options(kernweave.cache = TRUE) keeps compiled kernels on disk")
  cache <- r_cache_report()
  paste0(cache$folder, ": ", cache$files, " kernels, ", round(cache$bytes / 1e6, 1), " MB",
         if (!cache$writable) ", cannot be written")
}

# Describes the kernels compiled at installation, and their use on this machine.
ahead_line <- function(report) {
  if (!report$gpu$ahead) return("none")
  archs <- strsplit(report$configured[["Cuda-Archs"]], " ")[[1]]
  slower <- paste0("; without NVRTC, formulas of less common kinds take some times as long on the GPU, ",
                   "and a few do not run there")
  paste0("compiled for ", paste0("sm_", archs, collapse = ", "), if (!grepl("^NVRTC", report$gpu$compiler)) slower)
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
  unkept <- if (grepl("cannot be written", report$cache)) paste0("Kernels cannot be kept on disk: ", report$cache, ".")
  c(found, unkept)
}

#' @export
print.kernweave_sitrep <- function(x, ...) {
  pairs <- function(values) {
    writeLines(formatDL(paste0("  ", names(values)), values, width = getOption("width"), indent = 17))
  }
  cat("kernweave\n")
  pairs(x$versions)
  cat("installed with\n")
  pairs(x$configured)
  cat("devices\n  ", paste(x$devices, collapse = ", "), "\ncpu\n", sep = "")
  pairs(x$cpu)
  cat("gpu\n")
  pairs(c(driver = x$gpu$driver, compiler = x$gpu$compiler, interpreter = ahead_line(x), device = x$gpu$devices,
          cache = x$cache))
  cat("options\n")
  cat(sprintf("  %-24s %s\n", x$options$option, x$options$value), sep = "")
  if (length(x$problems)) say("to note\n", paste0("  ", x$problems, "\n"))
  invisible(x)
}

# Tells the user, after a slow call, how to get results sooner: each hint once a session.
timed <- function(run, options, patience = 5, R = NULL) {
  started <- proc.time()[[3]]
  out <- run()
  seconds <- proc.time()[[3]] - started
  on_cpu <- options$device %in% c("auto", "cpu") && !"gpu" %in% r_devices()
  if (seconds < patience || !on_cpu) return(out)
  if (is.null(seen_options$told_of_cores)) {
    had <- r_allowance(options$threads %or% 0L)
    hint <- more_cores(had$threads, had$cores, had$why)
    if (length(hint)) tell("kernweave: that took ", round(seconds), " s. ", hint, " This is said once.")
    seen_options$told_of_cores <- TRUE
  }
  if (!is.null(R) && seconds >= 2 * patience && is.null(seen_options$told_of_tolerance)) {
    hint <- with_tolerance(R, seconds)
    if (length(hint)) {
      tell("kernweave: that took ", round(seconds), " s. ", hint, " This is said once.")
      seen_options$told_of_tolerance <- TRUE
    }
  }
  out
}

# Tells how to use all cores, if some are idle. In a worker, the other cores belong to other workers.
more_cores <- function(threads, cores, why = "") {
  if (threads >= cores || grepl("^in a", why)) return(NULL)
  limit <- Sys.getenv("OMP_THREAD_LIMIT")
  if (nzchar(limit) && r_allowance(cores)$threads < cores) {
    return(paste0("OMP_THREAD_LIMIT=", limit, " in the environment limits calls to that many of ", cores, " cores."))
  }
  paste0("Calls use ", counted(threads, "thread"), " on ", cores, " cores; all of them: ",
         "options(kernweave.threads = ", cores, "), or KERNWEAVE_THREADS=", cores, " in the environment.")
}

# Tells the expected time of a sum with a tolerance, if that is at most a fifth of the time taken. The approximation is
# planned for a sample of points: near pairs per point, and work per point, hardly depend on the sample.
with_tolerance <- function(R, seconds, points = 20000, tol = 1e-6) {
  K <- summed_over_pairs(R)
  if (is.null(K)) return(NULL)
  extent <- K$extent[1:2]
  started <- proc.time()[[3]]
  for (side in 1:2) {
    n <- extent[side]
    if (n > points) K <- take_points(K, random_order(n, 1)[seq_len(points)], c("i", "j")[side], "some")
  }
  state <- new_approximation(K, tol, "audit")
  plan <- tryCatch(plan_of_approximation(state), kernweave_error = function(e) NULL)
  if (is.null(plan)) return(NULL)
  planned <- proc.time()[[3]] - started
  price <- prices_of_pairs(state, gpu_of(call_options(K$settings)))[1]
  work <- max(extent / K$extent[1:2]) * (plan$near_pairs + sum(plan$levels$work) / price)
  later <- seconds * work / prod(extent) + planned
  if (later > seconds / 5) return(NULL)
  paste0("With `tol = ", format(tol), "` this sum would take about ", format(later, digits = 1),
         " s (see approximate()).")
}
