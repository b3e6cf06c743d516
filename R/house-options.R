# One table of options: name, default, environment twin, meaning; and the settings that travel with a formula.

precisions <- c("float64", "float32", "float16")

options_table <- list(
  device = list(default = "auto",
                meaning = paste("where to compute: \"auto\", \"reference\", \"cpu\", \"gpu\", \"all\" GPUs,",
                                "or numbers of GPUs")),
  precision = list(default = "float64", meaning = "\"float64\", \"float32\" or \"float16\""),
  threads = list(default = NULL, meaning = "number of CPU threads; NULL lets kernweave decide"),
  workers = list(default = NULL, meaning = "kernweave_workers() that share the rows of large results; NULL: none"),
  max_dense_mb = list(default = 1024,
                      meaning = paste("largest result of as.matrix(), par_expand(), par_move(), par_join() and knn(),",
                                      "in megabytes")),
  cache = list(default = TRUE,
               meaning = paste("keep compiled GPU kernels on disk? TRUE: in R's folder for that (tools::R_user_dir()),",
                               "or the name of a folder; nothing is written without a GPU")),
  cache_mb = list(default = 256, meaning = "largest size of that folder, in megabytes; the oldest kernels go first"),
  gpu_mb = list(default = Inf,
                meaning = paste("most memory of each GPU that a call may take, in megabytes; larger calls are computed",
                                "part by part")),
  progress = list(default = NULL,
                  meaning = "show the progress of long computations? NULL: in an interactive session"),
  check = list(default = FALSE, meaning = "verify formula and plan between the stages of the engine")
)

# The settings that may travel with a formula, be given to a call, or be set for a while.
setting_names <- c("device", "precision", "threads", "workers")

#' Options of the package
#'
#' `kernweave_options()` lists all options with their present value and meaning. The value of an option is looked up in
#' this order: argument of the call, [lazy_set()] on the formula, [with_kernweave()], `options(kernweave.<name> = )`,
#' the environment variable `KERNWEAVE_<NAME>`.
#'
#' @section Devices:
#' * `"cpu"`: the CPU.
#' * `"gpu"`: the first NVIDIA GPU, through its driver and the run-time compiler NVRTC, both opened when first needed.
#'   Without NVRTC, kernels compiled at installation run most formulas, if the CUDA Toolkit was available then.
#' * `"all"`: all GPUs. Numbers select some of them: `1`, `c(0, 2)`, counted from 0, as in [kernweave_sitrep()]. Several
#'   GPUs share the rows of a result; the first of them computes restricted pairs and approximations. GPUs of one model
#'   give the same bits, however many there are.
#' * `"reference"`: two plain loops that compute the formula as it is written, in float64 on one thread. This device is
#'   accurate and slow; use it to check the other devices.
#' * `"auto"`: the CPU or the first GPU, whichever is expected to finish first, transfers included. If the GPU cannot be
#'   used, the CPU is used, and [kernweave_sitrep()] gives the reason.
#'
#' A request for a device that is not available is an error. A computation that needs more than the GPU memory, or more
#' than the option `kernweave.gpu_mb`, is done part by part, with identical bits.
#'
#' @section Precision and threads:
#' With `precision = "float32"` points are rounded once, after centring, and sums are added up in float64 between tiles.
#' `precision = "float16"` asks for three digits of each term. Numbers are stored as in float32; for the tensor cores of
#' a GPU each becomes one half-precision number, scaled so that none overflows, if the data allow that, and else two.
#' Formulas with whole numbers in them (row numbers, codes) are always computed in float64. In both precisions, numbers
#' beyond 3.4e38 are infinite, as the square of 2e19 is. On a GPU, float32 numbers below 1.2e-38 count as 0, and
#' divisors beyond 8.5e37 as infinite.
#'
#' The option `kernweave.threads` sets the number of threads. Without this option, the number is
#' * 1 in a worker of another package: a process forked by `mclapply()`, a node of `parallel::makeCluster()`, a worker
#'   of future or mirai. Such workers share the cores; `clusterCall(cl, options, kernweave.threads = 4)` gives each of
#'   them more threads,
#' * the number of cores assigned to this process, if there is an assignment: by affinity (`taskset`), the quota of a
#'   container, a batch scheduler (`SLURM_CPUS_PER_TASK`, `NSLOTS` and similar variables), the option `mc.cores` or the
#'   environment variable `MC_CORES`. The smallest of these numbers counts,
#' * half of the machine's cores otherwise.
#'
#' The environment variable `OMP_THREAD_LIMIT` is an upper limit and, without the option, so is `OMP_NUM_THREADS`.
#' In an interactive session `library(kernweave)` shows the number; [kernweave_sitrep()] also gives the reason. Results
#' are identical to the bit for any number of threads.
#'
#' @eval options_rd()
#' @return A data frame with one row per option and the columns `option` (the name), `value` (at present) and `meaning`,
#'   which is printed with each meaning below its option.
#' @seealso [lazy_set()], [with_kernweave()], [kernweave_sitrep()]
#' @concept parallel threads
#' @concept GPU CUDA
#' @concept single precision
#' @export
#' @examples
#' kernweave_options()
kernweave_options <- function() {
  value <- vapply(names(options_table), function(name) paste(format(option(name)), collapse = " "), "")
  out <- data.frame(option = paste0("kernweave.", names(options_table)), value = value,
                    meaning = vapply(options_table, `[[`, "", "meaning"), row.names = NULL)
  structure(out, class = c("kernweave_options", "data.frame"))
}

#' @export
print.kernweave_options <- function(x, ...) {
  if (!all(c("option", "value", "meaning") %in% names(x))) return(NextMethod())
  say(paste0(x$option, " = ", x$value, "\n    ", x$meaning, "\n", recycle0 = TRUE))
  invisible(x)
}

options_rd <- function() {
  rows <- vapply(names(options_table), function(name) {
    meaning <- gsub("\"", "", options_table[[name]]$meaning, fixed = TRUE)
    paste0("\\item{\\code{kernweave.", name, "}}{", meaning, ". Default: \\code{",
           deparse(options_table[[name]]$default), "}.}")
  }, "")
  c("@section Options:", "\\describe{", rows, "}")
}

option_names <- c(paste0("kernweave.", names(options_table)), "mc.cores")  # mc.cores is an option of R itself
option_twins <- paste0("KERNWEAVE_", toupper(names(options_table)))

# Returns all options, checked. The list is kept until an option or an environment variable changes, since each small
# reduction asks for the options.
current_options <- function() {
  raw <- r_raw_options(option_names, option_twins)
  if (identical(raw, seen_options$raw)) return(seen_options$value)
  of_r <- length(option_names)
  cores <- raw[[1]][[of_r]]
  # An invalid `mc.cores` is ignored, not refused: other packages use the option, too.
  valid <- is.numeric(cores) && length(cores) == 1 && is.finite(cores) && cores >= 0
  r_note_cores(if (valid) as.integer(min(cores, .Machine$integer.max)) else -1L)
  value <- Map(function(name, option, twin) {
    if (!is.null(option)) return(option)
    if (is.na(twin) || !nzchar(twin)) options_table[[name]]$default else utils::type.convert(twin, as.is = TRUE)
  }, names(options_table), raw[[1]][-of_r], raw[[2]])
  checked <- check_settings(value[setting_names])
  value[names(checked)] <- checked
  for (limit in c("max_dense_mb", "cache_mb", "gpu_mb")) value[[limit]] <- check_limit(value[[limit]], limit)
  r_set_cache(cache_folder(value$cache), value$cache_mb * 1e6)
  seen_options$raw <- raw
  seen_options$value <- value
  value
}

check_limit <- function(mb, name) {
  if (!is.numeric(mb) || length(mb) != 1 || is.na(mb) || mb < 0) {
    abort("settings", "`", name, "` must be a number of megabytes, not ", format_value(mb))
  }
  mb
}

cache_folder <- function(cache) {
  if (isTRUE(cache)) return(tools::R_user_dir("kernweave", "cache"))
  if (isFALSE(cache)) return("")
  if (!is_word(cache)) {
    abort("settings", "`cache` must be TRUE, FALSE or the name of a folder, not ", format_value(cache))
  }
  normalizePath(cache, mustWork = FALSE)
}

#' Clear the cache of compiled GPU kernels
#'
#' `kernweave_clear_cache()` deletes all GPU kernels on disk. The package keeps kernels compiled for a formula in the
#' folder of the option `kernweave.cache`, for later sessions (`FALSE` keeps none); a message says so the first time.
#' You rarely need this function: several sessions may share the cache, and damaged files are replaced.
#'
#' @return The number of files removed, invisibly.
#' @seealso [kernweave_options()] for the option `kernweave.cache`
#' @export
#' @examples
#' with_kernweave(kernweave_clear_cache(), cache = tempfile())
kernweave_clear_cache <- function() {
  folder <- cache_folder(option("cache"))
  files <- if (nzchar(folder)) list.files(folder, "[.]kernels", full.names = TRUE) else character()
  invisible(sum(file.remove(files)))
}

seen_options <- new.env(parent = emptyenv())

option <- function(name) current_options()[[name]]

# Settings as given, checked. NULL entries are dropped.
check_settings <- function(settings) {
  if (!length(settings)) return(list())
  settings <- settings[!vapply(settings, is.null, NA)]
  if (length(settings) && !all(nzchar(names(settings) %or% ""))) {
    abort("input", "an argument without a name is left over: ", describe(settings[[1]]))
  }
  unknown <- setdiff(names(settings), setting_names)
  if (length(unknown)) {
    abort("settings", "there is no setting `", unknown[1], "`", there_are(setting_names),
          near_hint(unknown[1], setting_names))
  }
  if (!is.null(settings$precision)) one_of(settings$precision, precisions, "precision", "settings")
  if (!is.null(settings$device)) settings$device <- check_device(settings$device)
  if (!is.null(settings$threads)) settings$threads <- check_count(settings$threads, "threads", "settings")
  if (!is.null(settings$workers)) check_workers(settings$workers, settings$device)
  settings
}

check_device <- function(device) {
  if (!is.numeric(device) && !(is.character(device) && any(grepl("^[0-9]", device)))) {
    return(one_of(device, c("auto", "reference", "cpu", "gpu", "all"), "device", "settings"))
  }
  numbers <- paste(device, collapse = ",")
  if (!grepl("^[0-9]{1,4}(,[0-9]{1,4})*$", numbers) || anyDuplicated(strsplit(numbers, ",")[[1]])) {
    abort("settings", "`device` must be the numbers of GPUs, from 0 and each once, not ", numbers)
  }
  numbers
}

check_degree <- function(n, argument) check_count(n, argument, least = 0)

# Returns whole numbers as the engine stores them: the length, then the numbers.
check_list <- function(x, argument) {
  whole <- is.null(x) || (is.numeric(x) && !is.object(x) && all(is.finite(x)) && all(x == round(x)) &&
                          all(abs(x) <= .Machine$integer.max))
  if (!whole) abort("input", "`", argument, "` must be whole numbers, not ", describe(x))
  c(length(x), as.integer(x))
}

format_value <- function(x) {
  x <- plain_value(x)
  if (is.character(x) && length(x) == 1) encodeString(x, quote = "\"")
  else if (is.atomic(x) && length(x) == 1) format(x)
  else describe(x)
}

# Merges the settings of two formulas; settings that contradict each other are an error.
merge_settings <- function(a, b) {
  if (is.null(a) || identical(a, b)) return(b)
  if (is.null(b)) return(a)
  for (name in intersect(names(a), names(b))) {
    if (!identical(a[[name]], b[[name]])) {
      abort("settings", "one formula was set to ", name, " = ", format(a[[name]]), ", the other to ", format(b[[name]]))
    }
  }
  a[names(b)] <- b
  a
}

# Returns the options of a call: the settings of the formula, else the global options.
call_options <- function(settings) {
  options <- current_options()
  if (length(settings)) options[names(settings)] <- settings
  options
}

# Overrides the settings of the object by the settings of the call.
with_settings <- function(F, ...) {
  if (...length() == 0) return(F)
  given <- check_settings(list(...))
  settings <- F$settings
  settings[names(given)] <- given
  if (length(settings)) F$settings <- settings
  F
}

#' Set options while some code runs
#'
#' `with_kernweave()` evaluates `code` with other values of options and restores the previous values afterwards.
#'
#' @param code the code to run
#' @param ... options by their short names: `device`, `precision`, `threads`, `workers`, `max_dense_mb`, `check`
#' @return The value of `code`.
#' @seealso [kernweave_options()], [lazy_set()]
#' @export
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' with_kernweave(sum(exp(-sqdist(Vi(x), Vj(x))), index = "j"), device = "reference")
with_kernweave <- function(code, ...) {
  given <- list(...)
  if (!length(given)) return(code)
  unknown <- setdiff(names(given) %or% "", names(options_table))
  if (length(unknown)) {
    abort("settings", "there is no option `", unknown[1], "`",
          near_hint(unknown[1], names(options_table), "; see kernweave_options()"))
  }
  check_settings(given[intersect(names(given), setting_names)])
  names(given) <- paste0("kernweave.", names(given))
  before <- options(given)
  on.exit(options(before))
  force(code)
}
